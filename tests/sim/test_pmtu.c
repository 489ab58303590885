/* SPDX-License-Identifier: BSD-3-Clause */
/* The path grows narrower, and wide again. */
#include "sim/capture.h"
#include "sim/delay.h"
#include "sim/mtu.h"
#include "sim/plan.h"
#include "sim/run.h"
#include "wire/ether.h"

#define PINGER 100
#define WAY    (10 * TICK_MS)

static struct sim s;
static struct sim_host *host;
static struct pinger *pinger;
static struct mtu *mtu;
static struct capture *line; /* side 0 is the host's */

/* pinger - narrow link - 10 ms - host. The pinger's own packets always fit. */
static void build_with(unsigned pinger_number, uint16_t n_workers)
{
    sim_init(&s, run_seed(1));
    struct sim_host_config hc = plan_host(1);
    hc.n_workers = n_workers;
    host = sim_host_create(&s, &hc);
    struct pinger_config pc = plan_pinger(pinger_number);
    pc.mtu = 1280;
    pinger = pinger_create(&s, &pc);
    mtu = mtu_create(&s, 1500);
    line = capture_create(&s, run_capture());
    node_chain((struct node *[]){&host->node, &line->node, delay_create(&s, WAY, 0), &mtu->node,
                                 &pinger->node, NULL});
    sim_run(&s, 3 * TICK_SEC);
}

static void build(void)
{
    build_with(PINGER, 1);
}

static bool ping(unsigned family, uint32_t size)
{
    struct ip_addr to = plan_addr(1, family);
    uint32_t n = pinger_ping(pinger, &to, size);
    line->longest[0] = 0;
    sim_run(&s, TICK_SEC);
    return pinger_rtt(pinger, n) != TICK_NEVER;
}

START_TEST(ipv6_replies_get_through_after_one_message)
{
    build();
    ck_assert(ping(1, 3000));
    ck_assert_uint_eq(line->longest[0], ETHER_LEN + 1496); /* fragments come in units of 8 */
    mtu->mtu = 1300;
    ck_assert(!ping(1, 3000));
    ck_assert_uint_eq(sim_host_count(host, COUNTER_PMTU_LOWERED), 1);
    for (unsigned i = 0; i < 10; i++)
        ck_assert(ping(1, 3000));
    ck_assert_uint_eq(line->longest[0], ETHER_LEN + 1296);
    ck_assert_uint_eq(mtu->refused[0], 2); /* of three fragments the last was short */
    ck_assert_uint_eq(sim_host_count(host, COUNTER_PMTU_LOWERED), 1);
    ck_assert_uint_eq(sim_host_count(host, COUNTER_ICMP_RX_ERRORS), 2);
    sim_fini(&s);
}
END_TEST

START_TEST(a_packet_that_was_whole_is_cut)
{
    build();
    mtu->mtu = 1300;
    ck_assert(!ping(1, 1400));
    ck_assert(ping(1, 1400));
    ck_assert(ping(1, 65507));
    ck_assert_uint_le(line->longest[0], ETHER_LEN + 1300);
    sim_fini(&s);
}
END_TEST

START_TEST(it_grows_narrower_twice)
{
    build();
    mtu->mtu = 1400;
    ck_assert(!ping(1, 3000));
    ck_assert(ping(1, 3000));
    mtu->mtu = 1280;
    ck_assert(!ping(1, 3000));
    ck_assert(ping(1, 3000));
    ck_assert_uint_eq(sim_host_count(host, COUNTER_PMTU_LOWERED), 2);
    sim_fini(&s);
}
END_TEST

/* RFC 8201 4: ten minutes after it was last lowered, the path is tried as a whole again. */
START_TEST(what_was_learnt_ends_after_ten_minutes)
{
    build();
    mtu->mtu = 1300;
    tick_t start = s.now;
    ck_assert(!ping(1, 3000));
    mtu->mtu = 1500;
    sim_run(&s, 599 * TICK_SEC);
    /* The stack was told three ways after the ping, and is asked one way after this one. */
    ck_assert_uint_eq(s.now - start, 600 * TICK_SEC);
    ck_assert(ping(1, 3000));
    ck_assert_uint_eq(line->longest[0], ETHER_LEN + 1296);
    ck_assert(ping(1, 3000));
    ck_assert_uint_eq(line->longest[0], ETHER_LEN + 1496);

    mtu->mtu = 1300; /* and where that was too early, one message says so */
    ck_assert(!ping(1, 3000));
    ck_assert(ping(1, 3000));
    sim_fini(&s);
}
END_TEST

/* The router's message is for the worker whose packet it quotes, whoever the router is. */
START_TEST(it_reaches_the_worker_who_sent)
{
    bool busy[SIM_WORKERS_MAX] = {0};
    for (unsigned n = 0; n < 16; n++) {
        build_with(PINGER + n, SIM_WORKERS_MAX);
        mtu->mtu = 1300;
        ck_assert(!ping(1, 3000));
        ck_assert(ping(1, 3000));
        for (unsigned w = 0; w < SIM_WORKERS_MAX; w++) {
            const struct counters *c = &host->worker[w].counters;
            busy[w] |= counter_get(c, COUNTER_ICMP_TX_ECHO) > 0;
            ck_assert_uint_eq(counter_get(c, COUNTER_PMTU_LOWERED),
                              counter_get(c, COUNTER_ICMP_TX_ECHO) / 2);
        }
        sim_fini(&s);
    }
    for (unsigned w = 0; w < SIM_WORKERS_MAX; w++)
        ck_assert(busy[w]);
}
END_TEST

/* Of IPv4 replies routers may make fragments. */
START_TEST(ipv4_replies_are_cut_on_the_way)
{
    build();
    mtu->mtu = 576;
    for (unsigned i = 0; i < 5; i++)
        ck_assert(ping(0, 1400 + i * 1000));
    ck_assert_uint_gt(mtu->cut, 5);
    ck_assert_uint_eq(mtu->refused[0], 0);
    sim_fini(&s);
}
END_TEST

/* A router that tells nobody: nothing is learnt, nothing is left behind. */
START_TEST(black_hole)
{
    build();
    mtu->mtu = 1300;
    mtu->mute = true;
    for (unsigned i = 0; i < 5; i++)
        ck_assert(!ping(1, 3000));
    ck_assert(ping(1, 1000));
    ck_assert_uint_eq(sim_host_count(host, COUNTER_PMTU_LOWERED), 0);
    mtu->mute = false;
    ck_assert(!ping(1, 3000));
    ck_assert(ping(1, 3000));
    sim_fini(&s);
}
END_TEST

/* The host's own link is the narrow one, and it is the host who tells. */
START_TEST(requests_too_long_for_the_stack)
{
    sim_init(&s, run_seed(2));
    struct sim_host_config hc = plan_host(1);
    hc.iface.mtu = 1300;
    host = sim_host_create(&s, &hc);
    struct pinger_config pc = plan_pinger(PINGER);
    pinger = pinger_create(&s, &pc);
    line = capture_create(&s, NULL);
    node_chain((struct node *[]){&host->node, &line->node, &pinger->node, NULL});
    sim_run(&s, 3 * TICK_SEC);
    ck_assert(!ping(1, 1400));
    ck_assert_uint_eq(pinger->too_big, 1);
    ck_assert_uint_eq(sim_host_drops(host, DROP_TOO_BIG), 1);
    ck_assert(ping(1, 1400));
    sim_fini(&s);
}
END_TEST

SIM_MAIN("pmtu", ipv6_replies_get_through_after_one_message, a_packet_that_was_whole_is_cut,
         it_grows_narrower_twice, what_was_learnt_ends_after_ten_minutes,
         it_reaches_the_worker_who_sent, ipv4_replies_are_cut_on_the_way, black_hole,
         requests_too_long_for_the_stack)
