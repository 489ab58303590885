/* SPDX-License-Identifier: BSD-3-Clause */
/* Each kind of frame with each of its bits wrong, one at a time: where nobody looks at the bit it
 * is answered all the same, else it is one drop under one reason. */
#include "sim/capture.h"
#include "sim/plan.h"
#include "sim/run.h"
#include "wire/ether.h"

#define FRAMES_MAX 16
#define PINGER     100

static struct sim s;
static struct sim_host *host;
static struct pinger *pinger;
static struct pkt *frame[FRAMES_MAX]; /* that the pinger has sent */
static unsigned n_frames;

static void keep(void *ctx, unsigned side, const struct pkt *p, tick_t now)
{
    (void)ctx;
    (void)now;
    if (side != 0)
        return;
    ck_assert_uint_lt(n_frames, FRAMES_MAX);
    frame[n_frames++] = frame_copy(&s, p);
}

static void forget_frames(void)
{
    for (unsigned i = 0; i < n_frames; i++)
        pkt_free(frame[i]);
    n_frames = 0;
}

/* After which frame[0] is a question for the host's address, frame[1] an echo request. */
static void build(unsigned family)
{
    sim_init(&s, run_seed(1));
    struct sim_host_config hc = plan_host(1);
    host = sim_host_create(&s, &hc);
    struct pinger_config pc = plan_pinger(PINGER);
    pinger = pinger_create(&s, &pc);
    struct capture *c = capture_create(&s, NULL);
    node_chain((struct node *[]){&pinger->node, &c->node, &host->node, NULL});
    sim_run(&s, 3 * TICK_SEC);
    c->seen = keep;
    struct ip_addr to = plan_addr(1, family);
    pinger_ping(pinger, &to, 56);
    sim_run(&s, TICK_SEC);
    ck_assert_uint_eq(pinger->replies, 1);
    ck_assert_uint_eq(n_frames, 2);
    c->seen = NULL;
}

static void finish(void)
{
    forget_frames();
    sim_fini(&s);
}

struct outcome {
    uint64_t drops;
    uint64_t answers;
};

/* What the host does with a frame of which this bit is wrong. No time passes. */
static struct outcome try(const struct pkt *p, uint32_t bit, enum counter answer)
{
    uint64_t drops = sim_host_all_drops(host);
    uint64_t answers = sim_host_count(host, answer);
    struct pkt *spoilt = frame_copy(&s, p);
    spoilt->data[bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
    host->node.ops->input(&host->node, 0, spoilt);
    return (struct outcome){sim_host_all_drops(host) - drops,
                            sim_host_count(host, answer) - answers};
}

struct range {
    uint32_t from, to; /* bits of the frame */
};

static bool is_in(uint32_t bit, const struct range *r, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (bit >= r[i].from && bit < r[i].to)
            return true;
    return false;
}

/* unseen: the bits that nobody looks at. */
static void every_bit(const struct pkt *p, enum counter answer, const struct range *unseen,
                      unsigned n)
{
    for (uint32_t bit = 0; bit < p->len * 8; bit++) {
        struct outcome o = try(p, bit, answer);
        bool harmless = is_in(bit, unseen, n);
        ck_assert_msg(o.drops == !harmless && o.answers == harmless,
                      "bit %u of byte %u: %u drops, %u answers", bit % 8, bit / 8,
                      (unsigned)o.drops, (unsigned)o.answers);
    }
}

/* The frame's source but for its group bit. */
#define SOURCE \
    {48, 55},  \
    {          \
        56, 96 \
    }
/* Offset of a bit of the IP packet. */
#define IP(bit) (ETHER_LEN * 8 + (bit))

START_TEST(ipv4_echo_request)
{
    static const struct range unseen[] = {SOURCE};
    build(0);
    every_bit(frame[1], COUNTER_ICMP_TX_ECHO, unseen, 2);
    finish();
}
END_TEST

START_TEST(ipv6_echo_request)
{
    static const struct range unseen[] = {
        SOURCE,
        {7, 8},                /* the destination's group bit: RFC 8200 does not forbid it */
        {IP(4), IP(32)},       /* traffic class and flow label */
        {IP(7 * 8), IP(8 * 8)} /* hop limit */
    };
    build(1);
    every_bit(frame[1], COUNTER_ICMP_TX_ECHO, unseen, 5);
    finish();
}
END_TEST

START_TEST(neighbour_solicitation)
{
    static const struct range unseen[] = {SOURCE, {IP(4), IP(32)}};
    build(1);
    /* Of the destination, the first byte says that it is a group; the rest is the device's affair,
     * and devices let all groups through. */
    const struct pkt *p = frame[0];
    for (uint32_t bit = 0; bit < p->len * 8; bit++) {
        struct outcome o = try(p, bit, COUNTER_ND_TX_ADVERTS);
        bool harmless = is_in(bit, unseen, 3) || (bit < 48 && bit != 7);
        ck_assert_msg(o.drops == !harmless && o.answers == harmless,
                      "bit %u of byte %u: %u drops, %u answers", bit % 8, bit / 8,
                      (unsigned)o.drops, (unsigned)o.answers);
    }
    finish();
}
END_TEST

/* ARP has no checksum, so a wrong bit may be believed; but a frame has one outcome, and a question
 * about another address no answer. */
START_TEST(arp_request)
{
    build(0);
    const struct pkt *p = frame[0];
    uint64_t answered = 0;
    for (uint32_t bit = 0; bit < p->len * 8; bit++) {
        struct outcome o = try(p, bit, COUNTER_ARP_TX_REPLIES);
        ck_assert_uint_le(o.drops + o.answers, 1);
        if (bit < 8 * 6 && bit != 7) /* the destination, still a group */
            ck_assert_uint_eq(o.answers, 1);
        if (bit >= IP(0) && bit < IP(6 * 8)) /* the formats */
            ck_assert_uint_eq(o.drops, 1);
        if (bit >= IP(24 * 8)) /* the target */
            ck_assert_uint_eq(o.answers, 0);
        answered += o.answers;
    }
    ck_assert_uint_gt(answered, p->len * 8 / 3);
    finish();
}
END_TEST

SIM_MAIN("corruption", ipv4_echo_request, ipv6_echo_request, neighbour_solicitation, arp_request)
