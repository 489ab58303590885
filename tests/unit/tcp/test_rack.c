/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/rack.h"

#include "sender_talk.h"

#define RTT (100 * MS)

static void setup(void)
{
    talk_init();
    open_talk(true, RTT);
    warm(4, RTT); /* 0 .. 3 */
}

/* n segments, a millisecond between each two. */
static void spread(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        push(1);
        pass(1 * MS);
    }
}

/* Reordering is known of, and costs nothing yet. */
static void see_reordering(void)
{
    s.reordering_seen = true;
}

START_TEST(three_sacked_segments_are_enough)
{
    spread(5);
    pass(RTT - 5 * MS + 1 * MS); /* 5 arrives */
    sack(4, 5, 6);
    pass(1 * MS);
    sack(4, 5, 7);
    ck_assert_int_eq(s.state, SENDER_DISORDER);
    pass(1 * MS);
    sack(4, 5, 8);
    ck_assert_int_eq(s.state, SENDER_RECOVERY);
    run(0);
    expect_again(4);
    ck_assert_uint_eq(count(COUNTER_TCP_RECOVERIES), 1);
}
END_TEST

START_TEST(fewer_wait_for_a_quarter_of_the_round_trip)
{
    push(2); /* 4, 5 */
    pass(RTT);
    sack(4, 5, 6);
    ck_assert_int_eq(s.state, SENDER_DISORDER);
    ck_assert_uint_eq(sender_deadline(&s), now + RTT / 4);
    ck_assert_int_eq(fire(), SENDER_RESEND);
    ck_assert_int_eq(s.state, SENDER_RECOVERY);
    run(0);
    expect_again(4);
}
END_TEST

START_TEST(what_comes_in_time_was_reordered)
{
    push(2);
    pass(RTT);
    sack(4, 5, 6);
    pass(RTT / 8);
    ack(6);
    ck_assert_int_eq(s.state, SENDER_OPEN);
    ck_assert(s.reordering_seen);
    ck_assert_uint_eq(count(COUNTER_TCP_RECOVERIES), 0);
}
END_TEST

START_TEST(where_there_is_reordering_three_are_not_enough)
{
    see_reordering();
    push(5);
    pass(RTT);
    sack(4, 5, 9);
    ck_assert_int_eq(s.state, SENDER_DISORDER);
    ck_assert_uint_eq(sender_deadline(&s), now + RTT / 4);
    pass(RTT / 5);
    ack(9);
    ck_assert_int_eq(s.state, SENDER_OPEN);
    run(0);
    expect_none_again();
}
END_TEST

START_TEST(each_segment_has_its_own_time)
{
    see_reordering();
    spread(3); /* 4 .. 6 */
    pass(RTT - 3 * MS);
    pass(2 * MS);
    sack(4, 6, 7);
    ck_assert_int_eq(fire(), SENDER_RESEND);
    run(0);
    expect_again(4);
    tick_t first = now;
    ck_assert_int_eq(fire(), SENDER_RESEND);
    ck_assert_uint_eq(now - first, 1 * MS);
    run(0);
    expect_again(5);
    ck_assert_uint_eq(count(COUNTER_TCP_RECOVERIES), 1);
}
END_TEST

START_TEST(a_lost_retransmission_is_found)
{
    push(6); /* 4 .. 9 */
    pass(RTT);
    sack(4, 5, 8);
    ck_assert_uint_eq(run(2), 0);
    expect_again(4);
    pass(1 * MS);
    sack(4, 5, 10);
    ck_assert_uint_eq(run(2), 2); /* 10, 11 */
    expect_none_again();
    pass(RTT);
    sack(4, 5, 11); /* 10 was sent with or after it */
    run(2);
    expect_again(4);
    ck_assert_uint_eq(count(COUNTER_TCP_RECOVERIES), 1);
    ck_assert_uint_eq(count(COUNTER_TCP_RTO), 0);
}
END_TEST

START_TEST(too_fast_an_answer_is_the_originals)
{
    push(6);
    pass(RTT);
    sack(4, 5, 8);
    run(0);
    expect_again(4);
    seq32_t order = s.rack_order;
    pass(1 * MS); /* no round trip is so short */
    ack(5);
    ck_assert_uint_eq(s.rack_order.v, order.v);
}
END_TEST

START_TEST(dsack_widens_the_window_once_a_round_trip)
{
    push(4); /* 4 .. 7 */
    sack(4, 2, 3);
    ck_assert_uint_eq(s.reo_steps, 2);
    ck_assert_uint_eq(s.reo_persist, 16);
    sack(4, 1, 2);
    ck_assert_uint_eq(s.reo_steps, 2);
    pass(RTT);
    ack(8);
    push(4);
    sack(8, 2, 3);
    ck_assert_uint_eq(s.reo_steps, 3);
    see_reordering();
    pass(RTT);
    sack(8, 11, 12);
    ck_assert_uint_eq(sender_deadline(&s), now + 3 * RTT / 4);
}
END_TEST

START_TEST(what_was_late_widens_it_as_far)
{
    push(2); /* 4, 5 */
    pass(RTT);
    sack(4, 5, 6);
    pass(RTT / 2);
    ack(6);
    push(2); /* 6, 7 */
    pass(RTT);
    sack(6, 7, 8);
    ck_assert_uint_gt(sender_deadline(&s), now + RTT / 2);
    ck_assert_uint_lt(sender_deadline(&s), now + 3 * RTT / 4);
}
END_TEST

START_TEST(what_was_late_for_having_been_sent_again_does_not)
{
    push(6);
    pass(RTT);
    sack(4, 5, 8);
    run(0);
    expect_again(4);
    pass(RTT);
    ack(10);
    ck_assert_uint_eq(s.reo_late, 0);
}
END_TEST

START_TEST(what_fits_the_usual_window_does_not)
{
    push(2);
    pass(RTT);
    sack(4, 5, 6);
    pass(RTT / 8);
    ack(6);
    ck_assert_uint_eq(s.reo_late, 0);
    ck_assert_uint_eq(s.reo_persist, 0);
}
END_TEST

START_TEST(it_is_never_wider_than_a_round_trip)
{
    see_reordering();
    s.reo_steps = 200;
    push(4);
    pass(RTT);
    sack(4, 7, 8);
    ck_assert_uint_eq(s.reorder_at, now + s.rtt.srtt);
}
END_TEST

START_TEST(sixteen_recoveries_later_it_is_narrow_again)
{
    push(2);
    sack(4, 2, 3);
    pass(RTT);
    ack(6);
    s.reo_late = 64;
    for (uint32_t k = 6, i = 1; i <= 16; i++, k += 6) {
        ck_assert_uint_eq(s.reo_steps, 2);
        push(6);
        pass(RTT);
        sack(k, k + 1, k + 6);
        ck_assert_int_eq(s.state, SENDER_RECOVERY);
        run(0);
        pass(RTT);
        ack(k + 6);
        ck_assert_int_eq(s.state, SENDER_OPEN);
    }
    ck_assert_uint_eq(s.reo_steps, 1);
    ck_assert_uint_eq(s.reo_late, 0);
}
END_TEST

START_TEST(only_what_was_sent_before_is_late)
{
    spread(4); /* 4 .. 7 */
    pass(RTT - 4 * MS + 1 * MS);
    sack(4, 5, 6);
    ck_assert_uint_eq(s.inflight.lost, 0);
    ck_assert_int_eq(fire(), SENDER_RESEND);
    ck_assert_uint_eq(s.inflight.lost, MSS); /* 4, not 6 and 7 */
    ck_assert_uint_eq(s.inflight.flying, 2);
}
END_TEST

START_TEST(a_timeout_spares_what_was_sent_just_before)
{
    push(3); /* 4 .. 6 */
    pass(s.rtt.rto - 1 * MS);
    push(1); /* 7 */
    pass(1 * MS);
    s.tlp_out = true; /* so that this is the timeout */
    sender_probed(&s, false, now - s.rtt.rto);
    ck_assert_int_eq(sender_expire(&s, now), SENDER_TIMED_OUT);
    ck_assert_uint_eq(s.inflight.lost, 3 * MSS);
    ck_assert_uint_eq(s.inflight.flying, 1);
    run(0);
    expect_again(4);
}
END_TEST

UNIT_MAIN("rack", setup, talk_end, three_sacked_segments_are_enough,
          fewer_wait_for_a_quarter_of_the_round_trip, what_comes_in_time_was_reordered,
          where_there_is_reordering_three_are_not_enough, each_segment_has_its_own_time,
          a_lost_retransmission_is_found, too_fast_an_answer_is_the_originals,
          dsack_widens_the_window_once_a_round_trip, what_was_late_widens_it_as_far,
          what_was_late_for_having_been_sent_again_does_not, what_fits_the_usual_window_does_not,
          it_is_never_wider_than_a_round_trip, sixteen_recoveries_later_it_is_narrow_again,
          only_what_was_sent_before_is_late, a_timeout_spares_what_was_sent_just_before)
