/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/cc.h"

#include "cc_flow.h"

#define LARGE (UINT32_C(1) << 30)

static struct flow f;

static void setup(void)
{
    flow_open(&f, TCP_NEWRENO, LARGE);
}

START_TEST(slow_start_doubles_each_round_trip)
{
    for (unsigned i = 1; i <= 12; i++) {
        flow_round(&f, 2 * MSS); /* delayed acknowledgments */
        ck_assert_uint_eq(f.cc.cwnd, 10 * MSS << i);
    }
}
END_TEST

START_TEST(one_acknowledgment_counts_for_eight_segments_at_first)
{
    flow_ack(&f, 9 * MSS);
    ck_assert_uint_eq(f.cc.cwnd, 18 * MSS);
}
END_TEST

START_TEST(and_for_two_later)
{
    f.cc.ssthresh = 100 * MSS;
    flow_ack(&f, 9 * MSS);
    ck_assert_uint_eq(f.cc.cwnd, 12 * MSS);
}
END_TEST

START_TEST(after_a_timeout_for_one)
{
    f.cc.cwnd = 40 * MSS;
    flow_time_out(&f);
    ck_assert_uint_eq(f.cc.ssthresh, 20 * MSS);
    flow_ack(&f, MSS);
    ck_assert_uint_eq(f.cc.cwnd, 2 * MSS);
    flow_ack(&f, 39 * MSS); /* the hole is filled */
    ck_assert_uint_eq(f.cc.cwnd, 3 * MSS);
    /* Until this slow start is over. */
    while (tcp_cc_slow_start(&f.cc))
        flow_ack(&f, MSS);
    flow_ack(&f, MSS);
    f.cc.cwnd = 10 * MSS;
    flow_ack(&f, 2 * MSS);
    ck_assert_uint_eq(f.cc.cwnd, 12 * MSS);
}
END_TEST

START_TEST(slow_start_ends_at_ssthresh)
{
    f.cc.ssthresh = 10 * MSS + 100;
    flow_ack(&f, MSS);
    ck_assert_uint_eq(f.cc.cwnd, 10 * MSS + 100);
    ck_assert(!tcp_cc_slow_start(&f.cc));
}
END_TEST

START_TEST(longer_round_trips_end_it)
{
    flow_round(&f, MSS);
    f.rtt += 20 * TICK_MS;
    while (!f.cc.hystart.css)
        flow_ack(&f, MSS);
    uint32_t before = f.cc.cwnd;
    for (int i = 0; i < 4; i++)
        flow_ack(&f, MSS);
    ck_assert_uint_eq(f.cc.cwnd, before + MSS); /* a quarter of the pace */
    for (int i = 0; i < 6; i++)
        flow_round(&f, MSS);
    ck_assert(!tcp_cc_slow_start(&f.cc));
    ck_assert_uint_lt(f.cc.ssthresh, 80 * MSS); /* not the 1280 of seven doublings */
}
END_TEST

START_TEST(then_one_segment_a_round_trip)
{
    f.cc.cwnd = f.cc.ssthresh = 20 * MSS;
    for (unsigned i = 1; i <= 500; i++) {
        flow_round(&f, MSS);
        ck_assert_uint_eq(f.cc.cwnd, (20 + i) * MSS);
    }
}
END_TEST

START_TEST(whatever_the_acknowledgments_cover)
{
    f.cc.cwnd = f.cc.ssthresh = 20 * MSS;
    for (unsigned i = 1; i <= 100; i++) {
        flow_round(&f, i % 2 ? 100 : 13 * MSS + 77);
        ck_assert_uint_eq(f.cc.cwnd, (20 + i) * MSS);
    }
    flow_ack(&f, 10 * f.cc.cwnd); /* no more than a segment for one */
    ck_assert_uint_eq(f.cc.cwnd, 121 * MSS);
}
END_TEST

START_TEST(what_is_over_counts_for_the_next)
{
    f.cc.cwnd = f.cc.ssthresh = 20 * MSS;
    flow_ack(&f, 15 * MSS);
    flow_ack(&f, 15 * MSS);
    ck_assert_uint_eq(f.cc.cwnd, 21 * MSS);
    flow_ack(&f, 11 * MSS);
    ck_assert_uint_eq(f.cc.cwnd, 22 * MSS);
}
END_TEST

START_TEST(a_window_not_in_use_does_not_grow)
{
    f.unused = true;
    flow_round(&f, MSS);
    ck_assert_uint_eq(f.cc.cwnd, 10 * MSS);
    f.cc.ssthresh = f.cc.cwnd;
    for (int i = 0; i < 100; i++)
        flow_round(&f, MSS);
    ck_assert_uint_eq(f.cc.cwnd, 10 * MSS);
}
END_TEST

START_TEST(never_grows_beyond_the_maximum)
{
    flow_open(&f, TCP_NEWRENO, 33 * MSS + 5);
    for (int i = 0; i < 5; i++)
        flow_round(&f, MSS);
    ck_assert_uint_eq(f.cc.cwnd, 33 * MSS + 5);
    f.cc.cwnd = f.cc.ssthresh = 33 * MSS;
    for (int i = 0; i < 5; i++)
        flow_round(&f, MSS);
    ck_assert_uint_eq(f.cc.cwnd, 33 * MSS + 5);
}
END_TEST

START_TEST(loss_halves)
{
    f.cc.cwnd = f.cc.ssthresh = 41 * MSS;
    f.cc.ops->congested(&f.cc, 41 * MSS, false, f.now);
    ck_assert_uint_eq(f.cc.ssthresh, 41 * MSS / 2);
    ck_assert_uint_eq(f.cc.cwnd, 41 * MSS); /* the caller's affair */
}
END_TEST

START_TEST(what_is_in_flight_counts_not_what_could_be)
{
    f.cc.cwnd = f.cc.ssthresh = 40 * MSS;
    f.cc.ops->congested(&f.cc, 16 * MSS, false, f.now);
    ck_assert_uint_eq(f.cc.ssthresh, 8 * MSS);
}
END_TEST

START_TEST(limited_transmit_does_not_count)
{
    f.cc.cwnd = f.cc.ssthresh = 40 * MSS;
    f.cc.ops->congested(&f.cc, 42 * MSS, false, f.now);
    ck_assert_uint_eq(f.cc.ssthresh, 20 * MSS);
}
END_TEST

START_TEST(two_segments_always_remain)
{
    for (int i = 0; i < 10; i++)
        flow_lose(&f);
    ck_assert_uint_eq(f.cc.cwnd, 2 * MSS);
    flow_time_out(&f);
    ck_assert_uint_eq(f.cc.ssthresh, 2 * MSS);
}
END_TEST

START_TEST(ecn_takes_a_fifth)
{
    f.cc.cwnd = f.cc.ssthresh = 40 * MSS;
    f.cc.ops->congested(&f.cc, 40 * MSS, true, f.now);
    ck_assert_uint_eq(f.cc.ssthresh, 32 * MSS);
}
END_TEST

START_TEST(ecn_in_slow_start_halves)
{
    f.cc.ops->congested(&f.cc, 10 * MSS, true, f.now);
    ck_assert_uint_eq(f.cc.ssthresh, 5 * MSS);
}
END_TEST

START_TEST(a_mistake_in_slow_start_leaves_nothing_behind)
{
    struct tcp_cc before = f.cc;
    flow_time_out(&f);
    flow_ack(&f, MSS);
    f.cc.cwnd = before.cwnd;
    f.cc.ssthresh = before.ssthresh;
    f.cc.ops->undone(&f.cc, f.now);
    flow_ack(&f, 8 * MSS);
    ck_assert_uint_eq(f.cc.cwnd, 18 * MSS);
}
END_TEST

START_TEST(nor_in_a_later_one)
{
    f.cc.ssthresh = 100 * MSS;
    flow_time_out(&f);
    f.cc.cwnd = 10 * MSS;
    f.cc.ssthresh = 100 * MSS;
    f.cc.ops->undone(&f.cc, f.now);
    flow_ack(&f, 2 * MSS);
    ck_assert_uint_eq(f.cc.cwnd, 12 * MSS);
}
END_TEST

START_TEST(begins_anew_after_a_silence)
{
    f.cc.cwnd = f.cc.ssthresh = 50 * MSS;
    flow_ack(&f, MSS);
    f.cc.ops->restarted(&f.cc, f.now);
    ck_assert_uint_eq(f.cc.cwnd, 10 * MSS);
    ck_assert_uint_eq(f.cc.ssthresh, 50 * MSS);
    flow_round(&f, MSS);
    ck_assert_uint_eq(f.cc.cwnd, 20 * MSS);
}
END_TEST

START_TEST(a_silence_does_not_open_a_small_window)
{
    f.cc.cwnd = f.cc.ssthresh = 3 * MSS;
    f.cc.ops->restarted(&f.cc, f.now);
    ck_assert_uint_eq(f.cc.cwnd, 3 * MSS);
}
END_TEST

UNIT_MAIN("newreno", setup, NULL, slow_start_doubles_each_round_trip,
          one_acknowledgment_counts_for_eight_segments_at_first, and_for_two_later,
          after_a_timeout_for_one, slow_start_ends_at_ssthresh, longer_round_trips_end_it,
          then_one_segment_a_round_trip, whatever_the_acknowledgments_cover,
          what_is_over_counts_for_the_next, a_window_not_in_use_does_not_grow,
          never_grows_beyond_the_maximum, loss_halves, what_is_in_flight_counts_not_what_could_be,
          limited_transmit_does_not_count, two_segments_always_remain, ecn_takes_a_fifth,
          ecn_in_slow_start_halves, a_mistake_in_slow_start_leaves_nothing_behind,
          nor_in_a_later_one, begins_anew_after_a_silence, a_silence_does_not_open_a_small_window)
