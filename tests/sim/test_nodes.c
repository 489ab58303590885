/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes do what they say, no more and no less: what the other simulations prove rests on it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/siphash.h"
#include "sim/bottleneck.h"
#include "sim/capture.h"
#include "sim/corrupt.h"
#include "sim/craft.h"
#include "sim/delay.h"
#include "sim/duplicate.h"
#include "sim/lan.h"
#include "sim/loss.h"
#include "sim/mtu.h"
#include "sim/plan.h"
#include "sim/reorder.h"
#include "sim/run.h"
#include "wire/icmp.h"
#include "wire/icmpv6.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/proto.h"

#define HEARD_MAX 4096

/* An end of a line: what it hears, and when. Frames are told apart by their first bytes. */
struct end {
    struct capture *line;
    unsigned n;
    struct heard {
        tick_t when;
        uint32_t number;
        uint32_t len;
    } heard[HEARD_MAX];
    uint8_t last[CRAFT_MAX];
};

static void note(void *ctx, unsigned side, const struct pkt *p, tick_t now)
{
    (void)side;
    struct end *e = ctx;
    ck_assert_uint_lt(e->n, HEARD_MAX);
    ck_assert_uint_ge(p->len, 4);
    e->heard[e->n++] =
        (struct heard){.when = now - SIM_START, .number = load_be32(p->data), .len = p->len};
    memcpy(e->last, p->data, p->len);
}

static void end_create(struct end *e, struct sim *s)
{
    memset(e, 0, sizeof(*e));
    e->line = capture_create(s, NULL);
    e->line->seen = note;
    e->line->ctx = e;
}

static void send_len(struct end *e, uint32_t number, uint32_t len)
{
    uint8_t bytes[2000] = {0};
    ck_assert_uint_le(len, sizeof(bytes));
    store_be32(bytes, number);
    node_output(&e->line->node, 0, frame_create(e->line->node.sim, bytes, len));
}

static void send(struct end *e, uint32_t number)
{
    send_len(e, number, 100);
}

static struct sim s;
static struct end a, b;

/* a - n - b */
static void between(struct node *n)
{
    end_create(&a, &s);
    end_create(&b, &s);
    node_chain((struct node *[]){&a.line->node, n, &b.line->node, NULL});
}

START_TEST(delay_is_exact_both_ways)
{
    sim_init(&s, 1);
    between(delay_create(&s, 3 * TICK_MS, 0));
    send(&a, 1);
    sim_run(&s, TICK_MS);
    send(&b, 2);
    send(&a, 3);
    sim_run(&s, 10 * TICK_MS);
    ck_assert_uint_eq(b.n, 2);
    ck_assert_uint_eq(b.heard[0].number, 1);
    ck_assert_uint_eq(b.heard[0].when, 3 * TICK_MS);
    ck_assert_uint_eq(b.heard[1].when, 4 * TICK_MS);
    ck_assert_uint_eq(a.n, 1);
    ck_assert_uint_eq(a.heard[0].when, 4 * TICK_MS);
    ck_assert_uint_eq(s.now, SIM_START + 11 * TICK_MS);
    sim_fini(&s);
}
END_TEST

START_TEST(jitter_keeps_order)
{
    sim_init(&s, 2);
    between(delay_create(&s, TICK_MS, 5 * TICK_MS));
    for (unsigned i = 0; i < 1000; i++) {
        send(&a, i);
        sim_run(&s, 100 * TICK_US);
    }
    sim_run(&s, 10 * TICK_MS);
    ck_assert_uint_eq(b.n, 1000);
    tick_t least = TICK_NEVER, most = 0;
    for (unsigned i = 0; i < 1000; i++) {
        ck_assert_uint_eq(b.heard[i].number, i);
        tick_t took = b.heard[i].when - i * 100 * TICK_US;
        ck_assert(took >= TICK_MS && took <= 6 * TICK_MS);
        least = tick_min(least, took);
        most = took > most ? took : most;
    }
    ck_assert_uint_gt(most - least, 3 * TICK_MS);
    sim_fini(&s);
}
END_TEST

START_TEST(loss_follows_its_pattern)
{
    sim_init(&s, 3);
    struct loss *l = loss_pattern_create(&s, 0x5, 4); /* the first and third of four */
    between(&l->node);
    for (unsigned i = 0; i < 8; i++)
        send(&a, i);
    send(&b, 100); /* each direction counts for itself */
    send(&b, 101);
    ck_assert_uint_eq(b.n, 4);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(b.heard[i].number, 2 * i + 1);
    ck_assert_uint_eq(a.n, 1);
    ck_assert_uint_eq(a.heard[0].number, 101);
    ck_assert_uint_eq(l->lost[0], 4);
    ck_assert_uint_eq(l->passed[0], 4);
    sim_fini(&s);
}
END_TEST

START_TEST(loss_is_as_likely_as_asked)
{
    sim_init(&s, 4);
    struct loss *l = loss_create(&s, 20 * SIM_PERCENT);
    between(&l->node);
    for (unsigned i = 0; i < 4000; i++)
        send(&a, i);
    ck_assert_uint_gt(b.n, 3100); /* 3200, standard deviation 25 */
    ck_assert_uint_lt(b.n, 3300);
    l->millionths = SIM_ALWAYS;
    unsigned before = b.n;
    for (unsigned i = 0; i < 100; i++)
        send(&a, i);
    ck_assert_uint_eq(b.n, before);
    sim_fini(&s);
}
END_TEST

START_TEST(duplicate_sends_twice)
{
    sim_init(&s, 5);
    struct duplicate *d = duplicate_create(&s, SIM_ALWAYS, 2 * TICK_MS);
    between(&d->node);
    send_len(&a, 7, 60);
    sim_run(&s, 10 * TICK_MS);
    ck_assert_uint_eq(b.n, 2);
    ck_assert_uint_eq(b.heard[0].when, 0);
    ck_assert_uint_eq(b.heard[1].when, 2 * TICK_MS);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_uint_eq(b.heard[i].number, 7);
        ck_assert_uint_eq(b.heard[i].len, 60);
    }
    ck_assert_uint_eq(d->doubled, 1);
    sim_fini(&s);
}
END_TEST

START_TEST(reorder_lets_others_overtake)
{
    sim_init(&s, 6);
    struct reorder *r = reorder_create(&s, 30 * SIM_PERCENT, TICK_MS);
    between(&r->node);
    for (unsigned i = 0; i < 1000; i++) {
        send(&a, i);
        sim_run(&s, 100 * TICK_US);
    }
    sim_run(&s, TICK_MS);
    ck_assert_uint_eq(b.n, 1000);
    static bool heard[1000];
    unsigned overtaken = 0;
    for (unsigned i = 0; i < 1000; i++) {
        ck_assert(!heard[b.heard[i].number]);
        heard[b.heard[i].number] = true;
        overtaken += i > 0 && b.heard[i].number < b.heard[i - 1].number;
        ck_assert_uint_le(b.heard[i].when, b.heard[i].number * 100 * TICK_US + TICK_MS);
    }
    ck_assert_uint_gt(overtaken, 150);
    ck_assert_uint_gt(r->held, 200);
    ck_assert_uint_lt(r->held, 400);
    sim_fini(&s);
}
END_TEST

START_TEST(corrupt_sets_one_bit)
{
    sim_init(&s, 7);
    struct corrupt *c = corrupt_create(&s, SIM_ALWAYS);
    between(&c->node);
    static unsigned where[50];
    for (unsigned i = 0; i < 2000; i++) {
        uint8_t bytes[50];
        memset(bytes, 0x0f, sizeof(bytes));
        node_output(&a.line->node, 0, frame_create(&s, bytes, sizeof(bytes)));
        unsigned bits = 0;
        for (unsigned k = 0; k < sizeof(bytes); k++)
            if (b.last[k] != 0x0f) {
                ck_assert_uint_eq(b.last[k] & 0x0f, 0x0f);
                bits += (unsigned)__builtin_popcount(b.last[k] ^ 0x0fu);
                where[k]++;
            }
        ck_assert_uint_eq(bits, 1);
    }
    for (unsigned k = 0; k < 50; k++)
        ck_assert_uint_gt(where[k], 10); /* 40, standard deviation 6 */
    ck_assert_uint_eq(c->spoilt, 2000);
    sim_fini(&s);
}
END_TEST

START_TEST(bottleneck_queues_then_loses)
{
    sim_init(&s, 8);
    struct bottleneck *n = bottleneck_create(&s, 8000000, 5000); /* a byte a microsecond */
    between(&n->node);
    for (unsigned i = 0; i < 6; i++)
        send_len(&a, i, 1000);
    send_len(&b, 10, 1000); /* the other way is free */
    sim_run(&s, 1500 * TICK_US);
    send_len(&a, 6, 1000); /* half of the second has gone: that is not enough room */
    sim_run(&s, 500 * TICK_US);
    send_len(&a, 7, 1000);
    sim_run(&s, 20 * TICK_MS);
    ck_assert_uint_eq(b.n, 7);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_uint_eq(b.heard[i].number, i);
        ck_assert_uint_eq(b.heard[i].when, (i + 1) * 1000 * TICK_US);
    }
    ck_assert_uint_eq(b.heard[5].number, 6); /* the first had gone, though */
    ck_assert_uint_eq(b.heard[6].number, 7);
    ck_assert_uint_eq(b.heard[6].when, 7000 * TICK_US);
    ck_assert_uint_eq(n->lost[0], 1);
    ck_assert_uint_eq(a.heard[0].when, 1000 * TICK_US);
    sim_fini(&s);
}
END_TEST

/* An echo request of that many bytes with its IP header, as a frame from host 1 to host 2. */
static struct pkt *ip_frame(unsigned family, uint32_t total, bool dont_fragment)
{
    struct heap_pool pool;
    heap_pool_init(&pool, 0, 0);
    struct craft_head h = {.src = plan_addr(1, family),
                           .dst = plan_addr(2, family),
                           .proto = IP_PROTO_UDP,
                           .dont_fragment = dont_fragment};
    uint32_t head = family % 2 == 0 ? IPV4_LEN : IPV6_LEN;
    struct pkt *ip = craft_udp(&pool, &h, 7, 9, total - head - 8);
    ck_assert_uint_eq(ip->total, total);
    struct mac_addr src = plan_mac(1), dst = plan_mac(2);
    struct pkt *frame =
        craft_frame(&s, &dst, &src, 0, family % 2 == 0 ? ETHER_TYPE_IPV4 : ETHER_TYPE_IPV6, ip);
    pkt_free(ip);
    return frame;
}

START_TEST(mtu_cuts_what_may_be_cut)
{
    sim_init(&s, 9);
    struct mtu *m = mtu_create(&s, 600);
    between(&m->node);
    node_output(&a.line->node, 0, ip_frame(0, 600, true));
    ck_assert_uint_eq(b.n, 1);
    node_output(&a.line->node, 0, ip_frame(0, 1500, false));
    ck_assert_uint_eq(b.n, 4); /* 576 + 576 + 328 bytes behind headers */
    ck_assert_uint_eq(b.heard[1].len, ETHER_LEN + 596);
    ck_assert_uint_eq(b.heard[3].len, ETHER_LEN + 348);
    ck_assert_uint_eq(m->cut, 1);
    ck_assert_uint_eq(a.n, 0);
    sim_fini(&s);
}
END_TEST

/* What a has last heard: an IP packet of a good checksum for host 1; its ICMP message. */
static const uint8_t *message(unsigned family, uint32_t len, uint32_t *message_len)
{
    const uint8_t *ip = a.last + ETHER_LEN;
    struct ip_addr to = plan_addr(1, family);
    struct mac_addr mac = plan_mac(1);
    ck_assert_mem_eq(a.last, mac.b, 6);
    if (family % 2 == 0) {
        struct ipv4_hdr h;
        int n = ipv4_parse(ip, len - ETHER_LEN, len - ETHER_LEN, false, &h);
        ck_assert_int_gt(n, 0);
        ck_assert(ip_eq(&h.dst, &to));
        *message_len = h.total_len - (uint32_t)n;
        ck_assert(checksum_ok(checksum_add(CHECKSUM_EMPTY, ip + n, *message_len)));
        return ip + n;
    }
    struct ipv6_hdr h;
    ck_assert_int_gt(ipv6_parse(ip, len - ETHER_LEN, len - ETHER_LEN, &h), 0);
    ck_assert(ip_eq(&h.dst, &to));
    *message_len = h.total_len - IPV6_LEN;
    struct checksum c = checksum_pseudo(&h.src, &h.dst, IP_PROTO_ICMPV6, *message_len);
    ck_assert(checksum_ok(checksum_add(c, ip + IPV6_LEN, *message_len)));
    return ip + IPV6_LEN;
}

START_TEST(mtu_tells_the_sender)
{
    sim_init(&s, 10);
    struct mtu *m = mtu_create(&s, 1300);
    between(&m->node);
    uint32_t len;
    node_output(&a.line->node, 0, ip_frame(0, 1400, true));
    ck_assert_uint_eq(a.n, 1);
    const uint8_t *at = message(0, a.heard[0].len, &len);
    struct icmp_hdr h4;
    ck_assert_int_gt(icmp_parse(at, len, &h4), 0);
    ck_assert(h4.type == ICMP_UNREACHABLE && h4.code == ICMP_FRAG_NEEDED && h4.mtu == 1300);

    node_output(&a.line->node, 0, ip_frame(1, 1400, false));
    ck_assert_uint_eq(a.n, 2);
    at = message(1, a.heard[1].len, &len);
    struct icmpv6_hdr h6;
    ck_assert_int_gt(icmpv6_parse(at, len, &h6), 0);
    ck_assert(h6.type == ICMPV6_TOO_BIG && h6.mtu == 1300);
    ck_assert_uint_eq(b.n, 0);
    ck_assert_uint_eq(m->refused[0], 2);

    m->mute = true;
    node_output(&a.line->node, 0, ip_frame(1, 1400, false));
    ck_assert_uint_eq(a.n, 2);
    sim_fini(&s);
}
END_TEST

static void send_to(struct end *e, unsigned from, unsigned to)
{
    struct mac_addr dst = to ? plan_mac(to) : MAC_BROADCAST, src = plan_mac(from);
    uint8_t bytes[60] = {0};
    struct ether_hdr h = {.dst = dst, .src = src, .type = 0x88b5};
    ether_emit(&h, bytes);
    node_output(&e->line->node, 0, frame_create(&s, bytes, sizeof(bytes)));
}

START_TEST(lan_learns_and_floods)
{
    static struct end c;
    sim_init(&s, 11);
    struct lan *l = lan_create(&s);
    end_create(&a, &s);
    end_create(&b, &s);
    end_create(&c, &s);
    node_link(&a.line->node, &l->node);
    node_link(&b.line->node, &l->node);
    node_link(&c.line->node, &l->node);
    send_to(&a, 1, 2); /* nobody knows 2 yet */
    ck_assert(a.n == 0 && b.n == 1 && c.n == 1);
    send_to(&b, 2, 1);
    ck_assert(a.n == 1 && b.n == 1 && c.n == 1);
    send_to(&a, 1, 2);
    ck_assert(a.n == 1 && b.n == 2 && c.n == 1);
    send_to(&c, 3, 0); /* everybody */
    ck_assert(a.n == 2 && b.n == 3 && c.n == 1);
    send_to(&c, 1, 2); /* 1 has moved */
    send_to(&b, 2, 1);
    ck_assert(a.n == 2 && b.n == 4 && c.n == 2);
    sim_fini(&s);
}
END_TEST

START_TEST(lan_forgets_the_oldest)
{
    sim_init(&s, 12);
    struct lan *l = lan_create(&s);
    end_create(&a, &s);
    end_create(&b, &s);
    node_link(&a.line->node, &l->node);
    node_link(&b.line->node, &l->node);
    for (unsigned i = 1; i <= LAN_TABLE; i++)
        send_to(&a, i, i);
    uint64_t flooded = l->flooded;
    send_to(&b, 200, 2); /* 200 takes the place of 1 */
    ck_assert_uint_eq(l->flooded, flooded);
    send_to(&b, 200, 1);
    ck_assert_uint_eq(l->flooded, flooded + 1);
    sim_fini(&s);
}
END_TEST

START_TEST(capture_writes_pcapng)
{
    char path[] = "/tmp/millrace-sim-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    sim_init(&s, 13);
    between(&capture_create(&s, path)->node);
    send_len(&a, 0x01020304, 61);
    sim_run(&s, 5);
    send_len(&b, 2, 64);
    sim_fini(&s);

    uint32_t w[256];
    ssize_t n = read(fd, w, sizeof(w));
    close(fd);
    unlink(path);
    ck_assert_int_eq(n, 28 + 32 + (32 + 64) + (32 + 64));
    ck_assert_uint_eq(w[0], 0x0a0d0d0a);
    ck_assert(w[1] == 28 && w[2] == 0x1a2b3c4d && w[6] == 28);
    ck_assert(w[7] == 1 && w[8] == 32 && w[14] == 32);
    ck_assert_uint_eq(w[9] & 0xffff, 1); /* Ethernet */
    const uint32_t *p = w + 15;
    uint64_t when = (uint64_t)p[3] << 32 | p[4];
    ck_assert(p[0] == 6 && p[1] == 96 && p[2] == 0 && p[23] == 96);
    ck_assert_uint_eq(when, SIM_START);
    ck_assert(p[5] == 61 && p[6] == 61);
    ck_assert_uint_eq(load_be32((const uint8_t *)(p + 7)), 0x01020304);
    p += 24;
    when = (uint64_t)p[3] << 32 | p[4];
    ck_assert_uint_eq(when, SIM_START + 5);
    ck_assert(p[5] == 64 && p[23] == 96);
}
END_TEST

/* A hash of all that happens in a lossy network. */
static uint64_t digest;

static void add_to_digest(void *ctx, unsigned side, const struct pkt *p, tick_t now)
{
    (void)ctx;
    struct siphash_key key = {digest, now + side};
    digest = siphash13(&key, p->data, p->len);
}

static uint64_t run_of(uint64_t seed)
{
    sim_init(&s, seed);
    struct sim_host_config config = plan_host(1);
    struct sim_host *h = sim_host_create(&s, &config);
    struct pinger_config pc = plan_pinger(2);
    struct pinger *p = pinger_create(&s, &pc);
    struct capture *c = capture_create(&s, NULL);
    c->seen = add_to_digest;
    node_chain((struct node *[]){&p->node, &loss_create(&s, 10 * SIM_PERCENT)->node,
                                 delay_create(&s, TICK_MS, TICK_MS), &c->node, &h->node, NULL});
    digest = 0;
    for (unsigned i = 0; i < 20; i++) {
        struct ip_addr to = plan_addr(1, i);
        pinger_ping(p, &to, 3000);
        sim_run(&s, TICK_SEC);
    }
    sim_run(&s, 100 * TICK_SEC);
    sim_fini(&s);
    return digest;
}

START_TEST(a_seed_repeats_to_the_bit)
{
    uint64_t first = run_of(42);
    ck_assert_uint_eq(run_of(42), first);
    ck_assert_uint_ne(run_of(43), first);
}
END_TEST

SIM_MAIN("nodes", delay_is_exact_both_ways, jitter_keeps_order, loss_follows_its_pattern,
         loss_is_as_likely_as_asked, duplicate_sends_twice, reorder_lets_others_overtake,
         corrupt_sets_one_bit, bottleneck_queues_then_loses, mtu_cuts_what_may_be_cut,
         mtu_tells_the_sender, lan_learns_and_floods, lan_forgets_the_oldest, capture_writes_pcapng,
         a_seed_repeats_to_the_bit)
