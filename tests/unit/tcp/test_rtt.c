/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/rtt.h"

#include "support/unit.h"

#define MS TICK_MS

static struct tcp_rtt r;

static void setup(void)
{
    tcp_rtt_init(&r, 200 * MS);
}

static void sample(tick_t rtt, tick_t now)
{
    tcp_rtt_sample(&r, rtt, rtt, 1, now);
}

START_TEST(starts_with_a_second)
{
    ck_assert_uint_eq(r.rto, TICK_SEC);
    ck_assert_uint_eq(r.srtt, 0);
    ck_assert_uint_eq(r.min, TICK_NEVER);
    tcp_rtt_init(&r, 3 * TICK_SEC);
    ck_assert_uint_eq(r.rto, 3 * TICK_SEC);
}
END_TEST

START_TEST(the_first_sample_sets_the_second_smooths)
{
    sample(400 * MS, 1);
    ck_assert_uint_eq(r.srtt, 400 * MS);
    ck_assert_uint_eq(r.rttvar, 200 * MS);
    ck_assert_uint_eq(r.rto, 1200 * MS);
    sample(480 * MS, 2);
    ck_assert_uint_eq(r.rttvar, 170 * MS); /* 3/4 * 200 + 1/4 * 80, with srtt as it was */
    ck_assert_uint_eq(r.srtt, 410 * MS);
    ck_assert_uint_eq(r.rto, 1090 * MS);
    sample(330 * MS, 3);
    ck_assert_uint_eq(r.rttvar, 147500 * TICK_US);
    ck_assert_uint_eq(r.srtt, 400 * MS);
}
END_TEST

START_TEST(rto_stays_within_its_bounds)
{
    sample(1, 1);
    ck_assert_uint_eq(r.rto, 200 * MS);
    sample(90 * TICK_SEC, 2);
    sample(90 * TICK_SEC, 3);
    ck_assert_uint_eq(r.rto, 60 * TICK_SEC);
    sample(TICK_NEVER / 2, 4);
    ck_assert_uint_eq(r.rto, 60 * TICK_SEC);
}
END_TEST

START_TEST(many_samples_a_round_trip_weigh_less)
{
    sample(100 * MS, 1);
    tcp_rtt_sample(&r, 180 * MS, 180 * MS, 10, 2);
    ck_assert_uint_eq(r.srtt, 101 * MS);
    ck_assert_uint_eq(r.rttvar, 50 * MS + 30 * MS / 40);
}
END_TEST

START_TEST(the_minimum_is_of_the_shortest_and_ages)
{
    tcp_rtt_sample(&r, 50 * MS, 40 * MS, 1, 1);
    ck_assert_uint_eq(r.min, 40 * MS);
    ck_assert_uint_eq(r.srtt, 50 * MS);
    sample(60 * MS, TICK_SEC);
    ck_assert_uint_eq(r.min, 40 * MS);
    sample(60 * MS, TICK_SEC + TCP_RTT_MIN_WINDOW);
    ck_assert_uint_eq(r.min, 60 * MS);
    sample(55 * MS, TICK_SEC + TCP_RTT_MIN_WINDOW + 1);
    ck_assert_uint_eq(r.min, 55 * MS);
}
END_TEST

START_TEST(backs_off_by_doubling_up_to_a_minute)
{
    sample(100 * MS, 1); /* 300 ms */
    ck_assert_uint_eq(tcp_rtt_backed_off(&r, 0), 300 * MS);
    ck_assert_uint_eq(tcp_rtt_backed_off(&r, 3), 2400 * MS);
    ck_assert_uint_eq(tcp_rtt_backed_off(&r, 7), 38400 * MS);
    ck_assert_uint_eq(tcp_rtt_backed_off(&r, 8), 60 * TICK_SEC);
    ck_assert_uint_eq(tcp_rtt_backed_off(&r, 255), 60 * TICK_SEC);
}
END_TEST

UNIT_MAIN("rtt", setup, NULL, starts_with_a_second, the_first_sample_sets_the_second_smooths,
          rto_stays_within_its_bounds, many_samples_a_round_trip_weigh_less,
          the_minimum_is_of_the_shortest_and_ages, backs_off_by_doubling_up_to_a_minute)
