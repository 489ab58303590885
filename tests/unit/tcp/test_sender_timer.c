/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/sender_timer.h"

#include "sender_talk.h"

#define RTT (100 * MS)

static void setup(void)
{
    talk_init();
    open_talk(true, RTT);
}

static void setup_without_sack(void)
{
    talk_end();
    talk_init();
    open_talk(false, RTT);
}

static void probe_with_last(void)
{
    ck_assert_int_eq(fire(), SENDER_PROBE);
    send_again(sender_last(&s));
    sender_probed(&s, true, now);
}

static void probe_with_new(void)
{
    ck_assert_int_eq(fire(), SENDER_PROBE);
    push(1);
    sender_probed(&s, false, now);
}

START_TEST(nothing_runs_while_nothing_is_in_flight)
{
    ck_assert_uint_eq(sender_deadline(&s), TICK_NEVER);
    ck_assert_int_eq(sender_expire(&s, now + TICK_SEC), SENDER_NOTHING);
    push(1);
    ck_assert_uint_ne(sender_deadline(&s), TICK_NEVER);
    pass(RTT);
    ack(1);
    ck_assert_uint_eq(sender_deadline(&s), TICK_NEVER);
}
END_TEST

/* ---- RTO ---- */

START_TEST(a_syn_times_out_after_a_second_then_two)
{
    talk_end();
    talk_init();
    send_len(1);
    ck_assert_uint_eq(sender_deadline(&s), now + TICK_SEC);
    ck_assert_int_eq(fire(), SENDER_TIMED_OUT);
    send_again(sender_last(&s));
    ck_assert_uint_eq(sender_deadline(&s), now + 2 * TICK_SEC);
    ck_assert_int_eq(fire(), SENDER_TIMED_OUT);
    ck_assert_uint_eq(count(COUNTER_TCP_RTO), 2);
    ck_assert_uint_eq(s.backoff, 2);
}
END_TEST

START_TEST(after_a_lost_syn_one_segment_and_three_seconds)
{
    talk_end();
    talk_init();
    send_len(1);
    fire();
    send_again(sender_last(&s));
    pass(RTT);
    sender_negotiated(&s, true, MSS);
    ack(0);
    ck_assert_uint_eq(s.cc.cwnd, MSS);
    ck_assert_uint_eq(s.cc.ssthresh, UINT32_MAX);
    ck_assert_uint_eq(s.rtt.srtt, 0); /* Karn */
    ck_assert_int_eq(s.state, SENDER_OPEN);
    push(1);
    ck_assert_uint_eq(sender_deadline(&s), now + 3 * TICK_SEC);
}
END_TEST

START_TEST(a_syn_that_was_only_late_costs_nothing)
{
    talk_end();
    talk_init();
    tick_t first = now;
    send_len(1);
    fire();
    send_again(sender_last(&s));
    pass(1 * MS);
    sender_negotiated(&s, true, MSS);
    echoes(first);
    ack(0);
    ck_assert_uint_eq(s.cc.cwnd, 10 * MSS);
    ck_assert_uint_eq(s.rtt.srtt, TICK_SEC + 1 * MS);
    ck_assert_uint_eq(s.backoff, 0);
}
END_TEST

START_TEST(rto_starts_anew_when_una_moves)
{
    setup_without_sack();
    push(3);
    ck_assert_uint_eq(sender_deadline(&s), now + 300 * MS); /* srtt + 4 * rttvar */
    pass(50 * MS);
    ck_assert_uint_eq(sender_deadline(&s), now + 250 * MS);
    push(1);
    ck_assert_uint_eq(sender_deadline(&s), now + 250 * MS); /* it was running */
    pass(50 * MS);
    ack(1);
    ck_assert_uint_eq(sender_deadline(&s), now + s.rtt.rto);
    tick_t running = sender_deadline(&s);
    pass(10 * MS);
    ack(1);
    ck_assert_uint_eq(sender_deadline(&s), running); /* a duplicate */
}
END_TEST

START_TEST(rto_starts_anew_when_the_first_segment_is_sent_again)
{
    setup_without_sack();
    push(10);
    pass(RTT);
    for (unsigned i = 0; i < 3; i++)
        ack(0);
    run(0);
    expect_again(0);
    ck_assert_uint_eq(sender_deadline(&s), now + s.rtt.rto);
}
END_TEST

START_TEST(an_overdue_timeout_waits_for_what_reordering_has_found)
{
    push(2);
    pass(RTT);
    sack(0, 1, 2);
    pass(TICK_SEC); /* nobody came to look */
    ck_assert_int_eq(sender_expire(&s, now), SENDER_RESEND);
    ck_assert_uint_eq(sender_deadline(&s), now + s.rtt.rto);
    ck_assert_uint_eq(count(COUNTER_TCP_RTO), 0);
}
END_TEST

START_TEST(rto_doubles_up_to_a_minute)
{
    setup_without_sack();
    push(1);
    tick_t wait = 300 * MS;
    for (unsigned i = 0; i < 12; i++) {
        tick_t from = now;
        ck_assert_int_eq(fire(), SENDER_TIMED_OUT);
        ck_assert_uint_eq(now - from, wait < 60 * TICK_SEC ? wait : 60 * TICK_SEC);
        ck_assert_uint_eq(run(0), 0);
        expect_again(0);
        wait *= 2;
    }
    ck_assert_uint_eq(s.backoff, 12);
    ck_assert_uint_eq(s.stalled_since, 7 * TICK_SEC + RTT);
}
END_TEST

START_TEST(backoff_stays_until_there_is_a_sample)
{
    setup_without_sack();
    push(1);
    fire();
    run(0);
    pass(RTT);
    ack(1); /* of the first or the second: nobody knows */
    ck_assert_uint_eq(s.backoff, 1);
    push(1);
    ck_assert_uint_eq(sender_deadline(&s), now + 600 * MS);
    pass(RTT);
    ack(2);
    ck_assert_uint_eq(s.backoff, 0);
}
END_TEST

START_TEST(a_timestamp_tells_of_which)
{
    setup_without_sack();
    push(1);
    fire();
    tick_t again_at = now;
    run(0);
    pass(80 * MS);
    echoes(again_at);
    ack(1);
    ck_assert_uint_eq(s.backoff, 0);
    tick_t rtt = now - (again_at - again_at % MS);
    ck_assert_uint_eq(s.rtt.srtt, (7 * RTT + rtt) / 8);
}
END_TEST

START_TEST(a_timeout_that_nobody_acts_upon_comes_again_later)
{
    push(2);
    ck_assert_int_eq(fire(), SENDER_PROBE); /* and is not sent */
    for (unsigned i = 0; i < 10; i++)
        ck_assert_int_eq(fire(), SENDER_TIMED_OUT);
    run(0);
    expect_again(0);
}
END_TEST

/* ---- TLP ---- */

START_TEST(probes_after_two_round_trips)
{
    push(3);
    ck_assert_uint_eq(sender_deadline(&s), now + 2 * RTT + 2 * MS);
    pass(30 * MS);
    push(1); /* and once more after each new segment */
    ck_assert_uint_eq(sender_deadline(&s), now + 2 * RTT + 2 * MS);
    probe_with_last();
    expect_again(3);
    ck_assert_uint_eq(count(COUNTER_TCP_TLP), 1);
    ck_assert_uint_eq(s.cc.cwnd, 10 * MSS);
    ck_assert_uint_eq(sender_deadline(&s), now + 300 * MS); /* now the timeout */
}
END_TEST

START_TEST(a_single_segment_may_wait_for_a_delayed_ack)
{
    warm(4, 10 * MS);
    warm(4, 10 * MS);
    push(1);
    tick_t allowed = now + 2 * s.rtt.srtt + 2 * MS + 200 * MS;
    tick_t rto = now + s.rtt.rto;
    ck_assert_uint_eq(sender_deadline(&s), allowed < rto ? allowed : rto);
    push(1);
    ck_assert_uint_eq(sender_deadline(&s), now + 2 * s.rtt.srtt + 2 * MS);
}
END_TEST

START_TEST(where_the_timeout_is_no_later_a_probe_goes_in_its_place)
{
    for (unsigned i = 0; i < 30; i++)
        warm(2, RTT); /* the variance is gone: RTO = 200 ms */
    push(2);
    ck_assert_uint_lt(s.rtt.rto, 2 * RTT + 2 * MS);
    ck_assert_uint_eq(sender_deadline(&s), now + s.rtt.rto);
    ck_assert_int_eq(fire(), SENDER_PROBE);
}
END_TEST

START_TEST(one_probe_for_a_tail)
{
    push(2);
    probe_with_last();
    ck_assert_int_eq(fire(), SENDER_TIMED_OUT);
    ck_assert_uint_eq(count(COUNTER_TCP_TLP), 1);
}
END_TEST

START_TEST(no_probe_without_sack_or_measure_or_when_something_is_amiss)
{
    push(4);
    pass(RTT);
    sack(0, 3, 4);
    ck_assert_int_eq(s.state, SENDER_DISORDER);
    ck_assert_int_eq(s.timer_kind, SENDER_TIMER_REORDER);
    setup_without_sack();
    push(2);
    ck_assert_int_eq(s.timer_kind, SENDER_TIMER_RTO);
    talk_end();
    talk_init();
    sender_negotiated(&s, true, MSS);
    send_len(1);
    ck_assert_int_eq(s.timer_kind, SENDER_TIMER_RTO);
}
END_TEST

START_TEST(a_probe_that_repairs_a_loss_is_a_loss)
{
    push(4);
    probe_with_last(); /* 3 was lost */
    pass(RTT);
    ack(4);
    ck_assert(s.tlp_out); /* was it? */
    push(1);
    pass(RTT);
    ack(5);
    ck_assert(!s.tlp_out);
    ck_assert_uint_eq(s.cc.cwnd, s.cc.ssthresh);
    ck_assert_uint_lt(s.cc.ssthresh, 10 * MSS);
}
END_TEST

START_TEST(a_probe_that_was_needless_is_none)
{
    push(4);
    probe_with_last();
    pass(10 * MS);
    ack(4);
    pass(90 * MS);
    sack(4, 3, 4); /* the probe came twice */
    ck_assert(!s.tlp_out);
    ck_assert(result.dsack);
    ck_assert_uint_eq(s.reo_steps, 1); /* it says nothing about reordering */
    push(1);
    pass(RTT);
    ack(5);
    ck_assert_uint_eq(s.cc.ssthresh, UINT32_MAX);
}
END_TEST

START_TEST(a_duplicate_without_dsack_says_so_too)
{
    push(4);
    probe_with_last();
    pass(10 * MS);
    ack(4);
    push(1);
    pass(90 * MS);
    ack(4);
    ck_assert(!s.tlp_out);
    pass(10 * MS);
    ack(5);
    ck_assert_uint_eq(s.cc.ssthresh, UINT32_MAX);
}
END_TEST

START_TEST(a_probe_with_new_data_reveals_the_loss)
{
    push(4);
    probe_with_new();
    pass(RTT);
    sack(3, 4, 5); /* 3 was lost; RACK sees it when reordering is excluded */
    ck_assert_int_eq(s.state, SENDER_RECOVERY);
    ck_assert(!s.tlp_out);
    run(0);
    expect_again(3);
}
END_TEST

START_TEST(a_probe_with_new_data_is_answered_by_una)
{
    push(4);
    probe_with_new();
    pass(RTT);
    ack(5);
    ck_assert(!s.tlp_out);
    ck_assert_uint_eq(s.cc.ssthresh, UINT32_MAX);
    push(2);
    ck_assert_int_eq(s.timer_kind, SENDER_TIMER_TLP);
}
END_TEST

UNIT_MAIN("sender_timer", setup, talk_end, nothing_runs_while_nothing_is_in_flight,
          a_syn_times_out_after_a_second_then_two, after_a_lost_syn_one_segment_and_three_seconds,
          a_syn_that_was_only_late_costs_nothing, rto_starts_anew_when_una_moves,
          rto_starts_anew_when_the_first_segment_is_sent_again,
          an_overdue_timeout_waits_for_what_reordering_has_found, rto_doubles_up_to_a_minute,
          backoff_stays_until_there_is_a_sample, a_timestamp_tells_of_which,
          a_timeout_that_nobody_acts_upon_comes_again_later, probes_after_two_round_trips,
          a_single_segment_may_wait_for_a_delayed_ack,
          where_the_timeout_is_no_later_a_probe_goes_in_its_place, one_probe_for_a_tail,
          no_probe_without_sack_or_measure_or_when_something_is_amiss,
          a_probe_that_repairs_a_loss_is_a_loss, a_probe_that_was_needless_is_none,
          a_duplicate_without_dsack_says_so_too, a_probe_with_new_data_reveals_the_loss,
          a_probe_with_new_data_is_answered_by_una)
