/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/recovery.h"

#include "sender_talk.h"

#define RTT (100 * MS)

static void setup(void)
{
    talk_init();
    open_talk(true, RTT);
    warm(4, RTT); /* 0 .. 3 */
    s.cc.cwnd = 10 * MSS;
}

static void setup_without_sack(void)
{
    talk_end();
    talk_init();
    open_talk(false, RTT);
    warm(4, RTT);
    s.cc.cwnd = 10 * MSS;
}

static void dups(uint32_t k, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        ack(k);
}

/* ---- fast recovery with SACK ---- */

/* 10 segments, 4 .. 13, of which the first is lost and the next three arrive. */
static void lose_first_of_ten(void)
{
    push(10);
    pass(RTT);
    sack(4, 5, 6);
    sack(4, 5, 7);
    sack(4, 5, 8);
    ck_assert_int_eq(s.state, SENDER_RECOVERY);
}

START_TEST(halves_the_window_of_new_reno)
{
    lose_first_of_ten();
    ck_assert_uint_eq(s.cc.ssthresh, 5 * MSS);
    ck_assert_uint_eq(s.recovery_end.v, at(14).v);
    run(0);
    expect_again(4);
    pass(RTT);
    ack(14);
    ck_assert_int_eq(s.state, SENDER_OPEN);
    ck_assert_uint_eq(s.cc.cwnd, 5 * MSS);
}
END_TEST

/* RFC 9937 8, figure 1 in small: while the pipe is larger than ssthresh, one new segment for two
 * that are delivered. */
START_TEST(reduces_in_proportion)
{
    push(20); /* 4 .. 23 */
    s.cc.cwnd = 20 * MSS;
    pass(RTT);
    sack(4, 5, 8);
    run(0);
    expect_again(4);
    ck_assert_uint_eq(s.cc.ssthresh, 10 * MSS);
    unsigned sent = 0;
    for (uint32_t r = 9; r <= 24; r++) {
        sack(4, 5, r);
        bool above = sender_in_flight(&s) > s.cc.ssthresh;
        sent += run(2);
        /* RFC 9937 6.2: delivered * ssthresh / RecoverFS, of which the first is sent again. */
        if (above)
            ck_assert_uint_eq(sent + 1, (r - 5) / 2);
        ck_assert_uint_le(sent + 1, (r - 5 + 1) / 2);
    }
    expect_none_again();
    ck_assert_uint_eq(sender_in_flight(&s), 10 * MSS); /* in the end, as large as it should be */
    pass(RTT);
    ack(24);
    ck_assert_uint_eq(s.cc.cwnd, 10 * MSS);
}
END_TEST

/* RFC 9937 8: a burst of losses leaves less in flight than ssthresh. */
START_TEST(after_many_losses_conserves_packets_then_catches_up)
{
    push(20);
    s.cc.cwnd = 20 * MSS;
    pass(RTT);
    sack(4, 20, 23); /* 4 .. 19 lost */
    ck_assert_uint_eq(s.inflight.lost, 16 * MSS);
    run(0);
    ck_assert_uint_eq(n_again, 3); /* as many as were delivered: new losses make it careful */
    n_again = 0;
    sack(4, 20, 24);
    run(0);
    expect_again(7);
    pass(RTT);
    ack(5); /* moves on, nothing new is lost: two for one */
    run(0);
    expect_again(8, 9);
    ack(6);
    run(0);
    expect_again(10, 11);
    for (uint32_t k = 7; k < 15; k++) {
        ack(k);
        run(0);
        ck_assert_uint_le(sender_in_flight(&s), s.cc.ssthresh);
    }
    ck_assert_uint_eq(count(COUNTER_TCP_RTO), 0);
}
END_TEST

START_TEST(the_first_retransmission_goes_in_any_case)
{
    push(30); /* more than the window, as after its reduction */
    pass(RTT);
    sack(4, 5, 8);
    ck_assert_uint_gt(sender_in_flight(&s), s.cc.ssthresh);
    run(0);
    expect_again(4);
}
END_TEST

START_TEST(loss_behind_the_window_is_another_event)
{
    lose_first_of_ten();
    run(0);
    push(4); /* 14 .. 17 */
    n_again = 0;
    pass(RTT);
    uint32_t half = s.cc.ssthresh;
    sack(14, 15, 18);
    ck_assert_int_eq(s.state, SENDER_RECOVERY);
    ck_assert_uint_eq(count(COUNTER_TCP_RECOVERIES), 2);
    ck_assert_uint_lt(s.cc.ssthresh, half);
    run(0);
    expect_again(14);
}
END_TEST

START_TEST(also_where_it_was_found_before_the_end)
{
    lose_first_of_ten();
    run(0);
    push(4); /* 14 .. 17 */
    pass(RTT);
    sack(8, 15, 18);
    ck_assert_uint_eq(s.inflight.lost, 7 * MSS); /* 8 .. 14 */
    ack(14);
    ck_assert_int_eq(s.state, SENDER_RECOVERY);
    ck_assert_uint_eq(s.recovery_end.v, at(18).v);
    ck_assert_uint_eq(count(COUNTER_TCP_RECOVERIES), 2);
}
END_TEST

START_TEST(segments_are_not_cut_for_want_of_room)
{
    lose_first_of_ten();
    run(0);
    inflight_lose(&s.inflight, s.inflight.oldest);
    s.cc.cwnd = sender_in_flight(&s) + MSS - 1;
    ck_assert_uint_eq(sender_room(&s), 0);
    ck_assert(!sender_resends(&s));
    s.cc.cwnd++;
    ck_assert(sender_resends(&s));
}
END_TEST

START_TEST(blocks_that_are_no_news_change_nothing)
{
    push(6);
    pass(RTT);
    sack(4, 7, 8);
    struct tcp_sender before = s;
    sack(4, 7, 8);
    sack(4, 11, 12); /* never sent */
    sack(4, 9, 12);  /* partly */
    sack(4, 4, 6);   /* from una on it would be acknowledged */
    sack(4, 9, 8);   /* backwards */
    take_ack(at(4), &(struct tcp_sack){seq32_add(at(8), 1), seq32_sub(at(9), 1)}, 1, false);
    ck_assert_uint_eq(s.inflight.sacked, before.inflight.sacked);
    ck_assert_uint_eq(s.cc.cwnd, before.cc.cwnd);
    ck_assert_int_eq(s.state, SENDER_DISORDER);
}
END_TEST

/* ---- without SACK ---- */

START_TEST(limited_transmit_for_two_duplicates)
{
    setup_without_sack();
    push(10);
    pass(RTT);
    ck_assert_uint_eq(run(5), 0);
    dups(4, 1);
    ck_assert_int_eq(s.state, SENDER_DISORDER);
    ck_assert_uint_eq(run(5), 1);
    dups(4, 1);
    ck_assert_uint_eq(run(5), 1);
    ck_assert_uint_eq(s.cc.cwnd, 10 * MSS);
    dups(4, 1);
    ck_assert_int_eq(s.state, SENDER_RECOVERY);
    run(0);
    expect_again(4);
}
END_TEST

START_TEST(new_reno_takes_one_loss_a_partial_ack)
{
    setup_without_sack();
    push(10); /* 4 .. 13; 4, 7 and 9 are lost */
    pass(RTT);
    dups(4, 7);
    run(0);
    expect_again(4);
    pass(RTT);
    ck_assert_uint_eq(s.prr_delivered, 5 * MSS); /* 10 .. 13 and the third */
    ack(7);
    ck_assert_uint_eq(s.prr_delivered, 6 * MSS); /* 4; 5 and 6 have been counted */
    run(0);
    expect_again(7);
    ck_assert_int_eq(s.state, SENDER_RECOVERY);
    pass(RTT);
    ack(9);
    run(0);
    expect_again(9);
    pass(RTT);
    ack(14);
    ck_assert_int_eq(s.state, SENDER_OPEN);
    ck_assert_uint_eq(s.cc.cwnd, 5 * MSS);
    ck_assert_uint_eq(count(COUNTER_TCP_RECOVERIES), 1);
    ck_assert_uint_eq(count(COUNTER_TCP_RTO), 0);
}
END_TEST

START_TEST(duplicates_keep_new_data_going)
{
    setup_without_sack();
    push(10);
    pass(RTT);
    dups(4, 3);
    unsigned sent = run(10);
    for (unsigned i = 0; i < 6; i++) {
        dups(4, 1);
        sent += run(10);
    }
    expect_again(4);
    ck_assert_uint_eq(sent, 4); /* and the retransmission: half of ten */
}
END_TEST

START_TEST(duplicates_after_a_timeout_are_no_second_loss)
{
    setup_without_sack();
    push(6); /* 4 .. 9 */
    fire();
    run(0);
    expect_again(4);
    pass(RTT);
    ack(10); /* all of it had arrived */
    push(1);
    dups(10, 1);
    s.recovery_end = at(10);
    push(5);
    dups(10, 4);
    ck_assert_int_ne(s.state, SENDER_RECOVERY); /* RFC 6582 3.2: una is not past it */
}
END_TEST

START_TEST(more_duplicates_than_segments_say_nothing)
{
    setup_without_sack();
    push(10);
    pass(RTT);
    dups(4, 3);
    run(0);
    dups(4, 1000);
    ck_assert_uint_eq(s.dup_acks, 9); /* all but the first */
    ck_assert_uint_le(run(100), 5);
    ck_assert_uint_le(s.cc.cwnd, s.cc.ssthresh);
}
END_TEST

START_TEST(what_is_not_plain_is_no_duplicate)
{
    setup_without_sack();
    push(10);
    for (unsigned i = 0; i < 5; i++) {
        struct sender_ack a = {.ack = at(4), .echoed = TICK_NEVER};
        sender_ack(&s, &a, now, &result);
    }
    ck_assert_int_eq(s.state, SENDER_OPEN);
}
END_TEST

/* ---- timeouts ---- */

START_TEST(a_timeout_begins_with_one_segment)
{
    push(8); /* 4 .. 11 */
    s.tlp_out = true;
    s.tlp_end = at(12);
    sender_set_mss(&s, MSS, false); /* the timer is set anew */
    ck_assert_int_eq(fire(), SENDER_TIMED_OUT);
    ck_assert_int_eq(s.state, SENDER_LOSS);
    ck_assert_uint_eq(s.inflight.lost, 8 * MSS);
    ck_assert_uint_eq(s.cc.cwnd, MSS);
    ck_assert_uint_eq(s.cc.ssthresh, 4 * MSS);
    ck_assert_uint_eq(run(3), 0);
    expect_again(4);
    ck_assert_int_eq(fire(), SENDER_TIMED_OUT);
    ck_assert_uint_eq(s.cc.ssthresh, 4 * MSS); /* the same segment again: held */
    run(0);
    expect_again(4);
}
END_TEST

static void time_out(void)
{
    while (s.state != SENDER_LOSS)
        fire();
    run(0);
    expect_again(4);
}

START_TEST(goes_back_and_spares_what_was_sacked)
{
    push(8); /* 4 .. 11 */
    pass(RTT);
    sack(4, 6, 8);
    s.reordering_seen = true;
    fire(); /* fast recovery; its retransmissions are lost, too */
    run(0);
    n_again = 0;
    while (count(COUNTER_TCP_RTO) == 0)
        fire();
    run(0);
    expect_again(4);
    pass(RTT);
    ack(5);
    fire(); /* nothing new to try F-RTO with */
    run(0);
    expect_again(5, 8);
    pass(RTT);
    ack(8);
    run(0);
    expect_again(9, 10);
}
END_TEST

START_TEST(what_was_sacked_may_have_been_thrown_away)
{
    push(4); /* 4 .. 7 */
    pass(RTT);
    sack(4, 5, 8);
    run(0);
    expect_again(4);
    pass(RTT);
    ack(5); /* and not 8, as it should */
    while (count(COUNTER_TCP_RTO) == 0)
        fire();
    ck_assert_uint_eq(s.inflight.sacked, 0);
    ck_assert_uint_eq(s.inflight.lost, 3 * MSS);
    run(0);
    expect_again(5);
    pass(RTT);
    ack(6);
    run(0);
    expect_again(6, 7);
}
END_TEST

START_TEST(a_timeout_within_a_recovery_is_the_same_event)
{
    lose_first_of_ten();
    run(0);
    uint32_t ssthresh = s.cc.ssthresh;
    while (count(COUNTER_TCP_RTO) == 0)
        fire();
    ck_assert_uint_eq(s.cc.ssthresh, ssthresh);
    ck_assert_uint_eq(s.cc.cwnd, MSS);
}
END_TEST

/* ---- F-RTO ---- */

START_TEST(a_delay_is_told_by_what_was_never_sent_again)
{
    push(8); /* 4 .. 11, all late */
    time_out();
    pass(1 * MS);
    ack(5);
    ck_assert(!sender_resends(&s));
    ck_assert_uint_eq(run(5), 2); /* new data, not old */
    expect_none_again();
    ack(6);
    ck_assert_int_eq(s.state, SENDER_OPEN);
    ck_assert_uint_ge(s.cc.cwnd, 10 * MSS);
    ck_assert_uint_eq(s.cc.ssthresh, UINT32_MAX);
    ck_assert_uint_eq(s.inflight.lost, 0);
    ck_assert_uint_eq(count(COUNTER_TCP_SPURIOUS), 1);
    run(0);
    expect_none_again();
}
END_TEST

START_TEST(so_it_is_without_sack)
{
    setup_without_sack();
    push(8);
    time_out();
    pass(1 * MS);
    ack(5);
    ck_assert_uint_eq(run(5), 2);
    ack(6);
    ck_assert_uint_eq(count(COUNTER_TCP_SPURIOUS), 1);
    ck_assert_uint_eq(s.inflight.lost, 0);
}
END_TEST

START_TEST(real_loss_is_told_by_duplicates)
{
    setup_without_sack();
    push(8);
    time_out();
    pass(RTT);
    ack(6); /* 5 had arrived, 6 had not */
    ck_assert_uint_eq(run(5), 2);
    pass(RTT);
    dups(6, 1);
    ck_assert_int_eq(s.state, SENDER_LOSS);
    run(0);
    ck_assert_uint_gt(n_again, 0);
    ck_assert_uint_eq(again[0], 6);
    ck_assert_uint_eq(count(COUNTER_TCP_SPURIOUS), 0);
}
END_TEST

START_TEST(with_sack_new_data_alone_proves_the_loss)
{
    push(8); /* 4 .. 11 */
    time_out();
    pass(RTT);
    ack(5);
    ck_assert_uint_eq(run(5), 2);
    pass(RTT);
    sack(5, 12, 13);
    ck_assert_int_eq(s.state, SENDER_LOSS);
    run(0);
    ck_assert_uint_eq(again[0], 5);
    ck_assert_uint_eq(count(COUNTER_TCP_SPURIOUS), 0);
}
END_TEST

START_TEST(without_new_data_old_data_goes_a_moment_later)
{
    push(8);
    time_out();
    pass(RTT);
    ack(5);
    ck_assert_uint_eq(run(0), 0);
    expect_none_again();
    tick_t asked = now;
    ck_assert_int_eq(fire(), SENDER_RESEND);
    ck_assert_uint_le(now - asked, 1 * MS);
    run(0);
    expect_again(5, 6);
}
END_TEST

/* ---- undo ---- */

START_TEST(a_timestamp_tells_that_the_original_came)
{
    tick_t sent = now;
    lose_first_of_ten();
    pass(2 * MS);
    run(0);
    expect_again(4);
    pass(1 * MS);
    echoes(sent);
    ack(8);
    ck_assert_int_eq(s.state, SENDER_OPEN);
    ck_assert_uint_ge(s.cc.cwnd, 10 * MSS);
    ck_assert_uint_eq(s.cc.ssthresh, UINT32_MAX);
    ck_assert_uint_eq(count(COUNTER_TCP_SPURIOUS), 1);
    ck_assert(s.reordering_seen);
}
END_TEST

START_TEST(or_that_it_did_not)
{
    lose_first_of_ten();
    run(0);
    tick_t again_at = now;
    pass(RTT);
    echoes(again_at);
    ack(8);
    ck_assert_int_eq(s.state, SENDER_RECOVERY);
    echoes(again_at - RTT); /* only the first answer counts */
    ack(9);
    ck_assert_int_eq(s.state, SENDER_RECOVERY);
    ck_assert_uint_eq(count(COUNTER_TCP_SPURIOUS), 0);
}
END_TEST

START_TEST(in_the_same_millisecond_nobody_knows)
{
    lose_first_of_ten();
    pass(300 * TICK_US);
    run(0);
    echoes(now - 200 * TICK_US);
    pass(1 * MS);
    ack(8);
    ck_assert_uint_eq(count(COUNTER_TCP_SPURIOUS), 0);
}
END_TEST

START_TEST(a_timeout_is_undone_by_a_timestamp)
{
    tick_t sent = now;
    push(8);
    time_out();
    pass(1 * MS);
    echoes(sent);
    ack(5);
    ck_assert_int_eq(s.state, SENDER_OPEN);
    ck_assert_uint_ge(s.cc.cwnd, 10 * MSS);
    ck_assert_uint_eq(s.inflight.lost, 0);
    ck_assert_uint_eq(s.backoff, 0);
}
END_TEST

START_TEST(what_comes_before_it_was_sent_again_was_not_lost)
{
    push(6); /* 4 .. 9 */
    pass(RTT);
    uint32_t cwnd = s.cc.cwnd, ssthresh = s.cc.ssthresh;
    sack(4, 5, 8);
    ck_assert_int_eq(s.state, SENDER_RECOVERY);
    pass(1 * MS);
    ack(8);
    ck_assert_int_eq(s.state, SENDER_OPEN);
    ck_assert_uint_ge(s.cc.cwnd, cwnd);
    ck_assert_uint_eq(s.cc.ssthresh, ssthresh);
    ck_assert_uint_eq(count(COUNTER_TCP_SPURIOUS), 1);
}
END_TEST

START_TEST(dsacks_of_all_that_was_sent_again_undo)
{
    s.cc.cwnd = 20 * MSS;
    push(20); /* 4 .. 23 */
    pass(RTT);
    sack(4, 6, 16); /* 4, 5 seem lost */
    run(0);
    expect_again(4, 5);
    pass(1 * MS);
    ack(24); /* they were late: and without timestamps nobody knows */
    ck_assert_int_eq(s.state, SENDER_OPEN);
    ck_assert_uint_eq(s.cc.cwnd, 10 * MSS);
    pass(RTT);
    sack(24, 4, 5);
    ck_assert(result.dsack);
    ck_assert_uint_eq(s.cc.cwnd, 10 * MSS);
    sack(24, 5, 6);
    ck_assert_uint_eq(s.cc.cwnd, 20 * MSS);
    ck_assert_uint_eq(s.cc.ssthresh, UINT32_MAX);
    ck_assert_uint_eq(count(COUNTER_TCP_SPURIOUS), 1);
    ck_assert_uint_eq(count(COUNTER_TCP_DSACK_RX), 2);
}
END_TEST

START_TEST(a_dsack_of_something_else_does_not)
{
    lose_first_of_ten();
    run(0);
    pass(RTT);
    ack(14);
    sack(14, 2, 3);
    ck_assert_uint_eq(s.cc.cwnd, 5 * MSS);
    ck_assert_uint_eq(count(COUNTER_TCP_DSACK_RX), 1);
}
END_TEST

START_TEST(a_dsack_within_a_block_counts)
{
    push(10);
    pass(RTT);
    sack2(4, 6, 7, 5, 9);
    ck_assert(result.dsack);
    ck_assert_uint_eq(s.inflight.sacked, 4 * MSS);
    sack2(4, 9, 10, 5, 9); /* two blocks, no duplicate */
    ck_assert(!result.dsack);
}
END_TEST

/* ---- ECN ---- */

START_TEST(one_reduction_a_window_for_echoes)
{
    push(10); /* 4 .. 13 */
    pass(RTT);
    congestion_echo(5);
    ck_assert_int_eq(s.state, SENDER_CWR);
    ck_assert(s.cwr_due);
    uint32_t ssthresh = s.cc.ssthresh;
    ck_assert_uint_lt(ssthresh, 10 * MSS);
    unsigned sent = 0;
    for (uint32_t k = 6; k < 14; k++) {
        congestion_echo(k);
        sent += run(2);
        ck_assert_uint_eq(s.cc.ssthresh, ssthresh);
    }
    ck_assert_uint_gt(sent, 0); /* it comes down by and by */
    ck_assert_uint_lt(sent, 8);
    ck_assert_uint_eq(count(COUNTER_TCP_ECE_RX), 1);
    ack(14);
    ck_assert_int_eq(s.state, SENDER_OPEN);
    ck_assert_uint_eq(s.cc.cwnd, ssthresh);
    push(1);
    congestion_echo(15);
    ck_assert_uint_eq(count(COUNTER_TCP_ECE_RX), 2);
}
END_TEST

START_TEST(an_echo_is_heeded_once_until_the_answer_has_arrived)
{
    push(2); /* 4, 5 */
    pass(RTT);
    congestion_echo(6);
    ck_assert_uint_eq(count(COUNTER_TCP_ECE_RX), 1);
    ck_assert_int_eq(s.state, SENDER_OPEN); /* nothing is in flight */
    uint32_t cwnd = s.cc.cwnd;
    congestion_echo(6); /* with data of the other side's */
    push(2);            /* 6 has CWR */
    congestion_echo(6);
    ck_assert_uint_eq(s.cc.cwnd, cwnd);
    ck_assert_uint_eq(count(COUNTER_TCP_ECE_RX), 1);
    congestion_echo(7);
    ck_assert_uint_eq(count(COUNTER_TCP_ECE_RX), 2);
}
END_TEST

START_TEST(a_reduction_for_an_echo_is_not_undone)
{
    lose_first_of_ten();
    run(0);
    pass(RTT);
    ack(14);
    push(2);
    pass(RTT);
    congestion_echo(15);
    uint32_t ssthresh = s.cc.ssthresh;
    sack(15, 4, 5);
    ck_assert(result.dsack);
    ck_assert_uint_eq(s.cc.ssthresh, ssthresh);
    ck_assert_uint_eq(count(COUNTER_TCP_SPURIOUS), 0);
}
END_TEST

START_TEST(loss_in_such_a_window_reduces_no_more)
{
    push(10);
    pass(RTT);
    congestion_echo(5);
    uint32_t ssthresh = s.cc.ssthresh;
    sack(5, 6, 9);
    ck_assert_int_eq(s.state, SENDER_RECOVERY);
    ck_assert_uint_eq(s.cc.ssthresh, ssthresh);
    run(0);
    expect_again(5);
}
END_TEST

START_TEST(loss_tells_the_other_side_that_the_window_is_reduced)
{
    lose_first_of_ten();
    ck_assert(s.cwr_due);
    congestion_echo(4);
    ck_assert_uint_eq(count(COUNTER_TCP_ECE_RX), 0);
}
END_TEST

UNIT_MAIN("recovery", setup, talk_end, halves_the_window_of_new_reno, reduces_in_proportion,
          after_many_losses_conserves_packets_then_catches_up,
          the_first_retransmission_goes_in_any_case, loss_behind_the_window_is_another_event,
          also_where_it_was_found_before_the_end, segments_are_not_cut_for_want_of_room,
          blocks_that_are_no_news_change_nothing, limited_transmit_for_two_duplicates,
          new_reno_takes_one_loss_a_partial_ack, duplicates_keep_new_data_going,
          duplicates_after_a_timeout_are_no_second_loss, more_duplicates_than_segments_say_nothing,
          what_is_not_plain_is_no_duplicate, a_timeout_begins_with_one_segment,
          goes_back_and_spares_what_was_sacked, what_was_sacked_may_have_been_thrown_away,
          a_timeout_within_a_recovery_is_the_same_event,
          a_delay_is_told_by_what_was_never_sent_again, so_it_is_without_sack,
          real_loss_is_told_by_duplicates, with_sack_new_data_alone_proves_the_loss,
          without_new_data_old_data_goes_a_moment_later, a_timestamp_tells_that_the_original_came,
          or_that_it_did_not, in_the_same_millisecond_nobody_knows,
          a_timeout_is_undone_by_a_timestamp, what_comes_before_it_was_sent_again_was_not_lost,
          dsacks_of_all_that_was_sent_again_undo, a_dsack_of_something_else_does_not,
          a_dsack_within_a_block_counts, one_reduction_a_window_for_echoes,
          an_echo_is_heeded_once_until_the_answer_has_arrived,
          a_reduction_for_an_echo_is_not_undone, loss_in_such_a_window_reduces_no_more,
          loss_tells_the_other_side_that_the_window_is_reduced)
