/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/cc.h"

#include "base/rng.h"
#include "cc_flow.h"

#define LARGE (UINT32_C(1) << 30)

static uint32_t initial(uint32_t mss, uint16_t segments)
{
    struct tcp_cc c;
    tcp_cc_init(&c, TCP_CUBIC, mss, segments, LARGE);
    ck_assert_uint_eq(c.cwnd, tcp_cc_initial(&c));
    return c.cwnd;
}

START_TEST(the_initial_window_is_rfc_6928s)
{
    ck_assert_uint_eq(initial(536, 10), 5360);
    ck_assert_uint_eq(initial(1460, 10), 14600);
    ck_assert_uint_eq(initial(4000, 10), 14600);
    ck_assert_uint_eq(initial(8960, 10), 17920);
    ck_assert_uint_eq(initial(1460, 1), 1460);
    ck_assert_uint_eq(initial(8960, 1), 8960);
    ck_assert_uint_eq(initial(1460, 32), 32 * 1460);
}
END_TEST

START_TEST(names_are_those_of_the_settings)
{
    struct tcp_cc c;
    tcp_cc_init(&c, TCP_CUBIC, MSS, 10, LARGE);
    ck_assert_str_eq(c.ops->name, "cubic");
    tcp_cc_init(&c, TCP_NEWRENO, MSS, 10, LARGE);
    ck_assert_str_eq(c.ops->name, "newreno");
}
END_TEST

START_TEST(a_small_maximum_holds_from_the_start)
{
    struct tcp_cc c;
    tcp_cc_init(&c, TCP_CUBIC, MSS, 10, 4000);
    ck_assert_uint_eq(c.cwnd, 4000);
    tcp_cc_init(&c, TCP_CUBIC, MSS, 10, 100); /* but for one segment */
    ck_assert_uint_eq(c.cwnd, MSS);
    tcp_cc_init(&c, TCP_CUBIC, MSS, 10, UINT32_MAX);
    ck_assert_uint_eq(c.max, LARGE);
}
END_TEST

START_TEST(windows_are_bytes_when_segments_change)
{
    struct tcp_cc c;
    tcp_cc_init(&c, TCP_CUBIC, MSS, 10, LARGE);
    c.ssthresh = 20000;
    tcp_cc_set_mss(&c, 512);
    ck_assert_uint_eq(c.cwnd, 14600);
    ck_assert_uint_eq(c.ssthresh, 20000);
    c.cwnd = 512;
    c.ssthresh = 1024;
    tcp_cc_set_mss(&c, 8960);
    ck_assert_uint_eq(c.cwnd, 8960);
    ck_assert_uint_eq(c.ssthresh, 8960);
}
END_TEST

START_TEST(paces_at_two_windows_a_round_trip_then_five_quarters)
{
    struct tcp_cc c;
    tcp_cc_init(&c, TCP_CUBIC, MSS, 10, LARGE);
    ck_assert_uint_eq(tcp_cc_pacing_rate(&c, 0), 0);
    ck_assert_uint_eq(tcp_cc_pacing_rate(&c, 100 * TICK_MS), 292000);
    c.ssthresh = c.cwnd;
    ck_assert_uint_eq(tcp_cc_pacing_rate(&c, 100 * TICK_MS), 182500);
}
END_TEST

START_TEST(paces_any_window_at_any_round_trip)
{
    struct tcp_cc c;
    tcp_cc_init(&c, TCP_CUBIC, MSS, 10, LARGE);
    c.cwnd = LARGE;
    ck_assert_uint_eq(tcp_cc_pacing_rate(&c, 1), 2 * UINT64_C(1073741824) * TICK_SEC);
    ck_assert_uint_eq(tcp_cc_pacing_rate(&c, TICK_SEC), UINT64_C(2147483648));
    c.cwnd = MSS;
    ck_assert_uint_eq(tcp_cc_pacing_rate(&c, 1000000 * TICK_SEC), 1);
}
END_TEST

START_TEST(shares_lose_nothing)
{
    uint32_t rest = 0;
    uint64_t sum = 0;
    for (uint32_t i = 1; i <= 1000; i++)
        sum += tcp_cc_share(i, 7, &rest);
    ck_assert_uint_eq(sum * 7 + rest, 1000 * 1001 / 2);
}
END_TEST

/* Anything that can happen, in any order, to any connection. */
static void happen(struct flow *f, struct rng *rng)
{
    struct tcp_cc *c = &f->cc;
    uint32_t before = c->cwnd;
    static const tick_t pauses[] = {0, 1, TICK_MS, TICK_SEC, 86400 * TICK_SEC};
    f->now += rng_below(rng, 5) ? f->rtt : pauses[rng_below(rng, 5)];
    f->rtt = 1 + rng_below(rng, rng_below(rng, 9) ? TICK_SEC : 1000 * TICK_SEC);
    switch (rng_below(rng, 16)) {
    case 0: flow_lose(f); break;
    case 1:
        c->ops->congested(c, (uint32_t)rng_below(rng, UINT32_MAX), true, f->now);
        c->cwnd = c->ssthresh < c->cwnd ? c->ssthresh : c->cwnd;
        break;
    case 2: flow_time_out(f); break;
    case 3: c->ops->restarted(c, f->now); break;
    case 4: tcp_cc_set_mss(c, 1 + (uint32_t)rng_below(rng, UINT16_MAX)); break;
    case 5: {
        uint32_t ssthresh = c->ssthresh;
        c->ops->congested(c, c->cwnd, false, f->now);
        c->cwnd = before;
        c->ssthresh = ssthresh;
        c->ops->undone(c, f->now);
        break;
    }
    case 6:
        f->unused = true;
        flow_ack(f, (uint32_t)rng_below(rng, UINT32_MAX));
        ck_assert_uint_eq(c->cwnd, before);
        f->unused = false;
        break;
    default: flow_ack(f, (uint32_t)rng_below(rng, rng_below(rng, 2) ? 100000 : UINT32_MAX));
    }
}

START_TEST(stays_within_bounds_whatever_happens)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct rng rng;
        rng_seed(&rng, seed);
        struct flow f;
        flow_open(&f, seed % 2 ? TCP_CUBIC : TCP_NEWRENO,
                  1 + (uint32_t)rng_below(&rng, seed % 3 ? LARGE : 100000));
        for (int i = 0; i < 1000; i++) {
            happen(&f, &rng);
            if (!tcp_cc_ok(&f.cc) || tcp_cc_pacing_rate(&f.cc, f.rtt) == 0)
                ck_abort_msg("seed %lu, step %d", (unsigned long)seed, i);
        }
    }
}
END_TEST

UNIT_MAIN("cc", NULL, NULL, the_initial_window_is_rfc_6928s, names_are_those_of_the_settings,
          a_small_maximum_holds_from_the_start, windows_are_bytes_when_segments_change,
          paces_at_two_windows_a_round_trip_then_five_quarters, paces_any_window_at_any_round_trip,
          shares_lose_nothing, stays_within_bounds_whatever_happens)
