/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/time_wait.h"

#include "base/rng.h"
#include "support/unit.h"
#include "tcp/conn.h"
#include "tcp/isn.h"

/* Both sides' numbers, just below the wrap: our FIN was SND_NXT - 1, the peer's RCV_NXT - 1. */
#define SND_NXT seq32(0xfffffffe)
#define RCV_NXT seq32(1)
#define TS      0xfffffff0u
#define DAY     (86400 * TICK_SEC)

static struct tcp_settings settings;
static struct tcp tcp;
static struct tcp_conn conn;
static struct tcp_time_wait w;
static tick_t now;
static enum drop why;

/* A connection that has come to TIME-WAIT, with timestamps. */
static void setup(void)
{
    now = 100 * TICK_SEC;
    settings = (struct tcp_settings){0};
    tcp = (struct tcp){.settings = &settings};
    conn = (struct tcp_conn){.tcp = &tcp,
                             .flags = TCP_CONN_TIMESTAMPS,
                             .ts_recent = TS,
                             .ts_recent_at = now - TICK_SEC,
                             .ts_offset = 0xffff0000};
    conn.sender.nxt = SND_NXT;
    conn.receiver.nxt = RCV_NXT;
    conn.receiver.right = seq32_add(RCV_NXT, 1000 << 7);
    conn.receiver.scale = 7;
    tcp_time_wait_init(&w, &conn);
}

static void without_timestamps(void)
{
    conn.flags = 0;
    conn.ts_recent = 0;
    conn.ts_recent_at = 0;
    tcp_time_wait_init(&w, &conn);
}

/* With the peer's timestamp a little after its last, and acknowledging all. */
static struct tcp_hdr segment(uint16_t flags, seq32_t seq)
{
    struct tcp_hdr h = {.flags = flags, .seq = seq, .ack = SND_NXT, .window = 500};
    h.options.has_timestamps = true;
    h.options.ts_value = TS + 8;
    return h;
}

static struct tcp_hdr plain_segment(uint16_t flags, seq32_t seq)
{
    struct tcp_hdr h = segment(flags, seq);
    h.options = (struct tcp_options){0};
    return h;
}

static enum time_wait_verdict input(struct tcp_hdr h, uint32_t payload)
{
    why = DROP_END;
    return tcp_time_wait_input(&w, &h, payload, now, &why);
}

static void assert_says(struct tcp_hdr h, uint32_t payload, enum time_wait_verdict verdict,
                        enum drop reason)
{
    ck_assert_int_eq(input(h, payload), verdict);
    ck_assert_int_eq(why, reason);
}

static enum time_wait_verdict syn(int32_t seq_ahead, int32_t ts_ahead)
{
    struct tcp_hdr h = segment(TCP_SYN, seq32_add(RCV_NXT, (uint32_t)seq_ahead));
    h.ack = seq32(0);
    h.options.ts_value = w.ts_recent + (uint32_t)ts_ahead;
    return input(h, 0);
}

static enum time_wait_verdict plain_syn(int32_t seq_ahead)
{
    return input(plain_segment(TCP_SYN, seq32_add(RCV_NXT, (uint32_t)seq_ahead)), 0);
}

START_TEST(keeps_what_the_connection_knew)
{
    ck_assert_uint_eq(w.snd_nxt.v, SND_NXT.v);
    ck_assert_uint_eq(w.rcv_nxt.v, RCV_NXT.v);
    ck_assert(w.timestamps && w.may_timestamp);
    ck_assert_uint_eq(w.ts_recent, TS);
    ck_assert_uint_eq(w.ts_recent_at, now - TICK_SEC);
    ck_assert_uint_eq(w.ts_offset, 0xffff0000);
    ck_assert_uint_eq(w.window, 1000);

    without_timestamps();
    ck_assert(!w.timestamps && w.may_timestamp);
    settings.no_timestamps = true;
    tcp_time_wait_init(&w, &conn);
    ck_assert(!w.may_timestamp);
}
END_TEST

START_TEST(the_window_fits_its_field)
{
    conn.receiver.scale = 0;
    conn.receiver.right = seq32_add(RCV_NXT, 100000);
    tcp_time_wait_init(&w, &conn);
    ck_assert_uint_eq(w.window, 65535);
    /* The FIN was accepted one past a closed window. */
    conn.receiver.right = seq32_sub(RCV_NXT, 1);
    tcp_time_wait_init(&w, &conn);
    ck_assert_uint_eq(w.window, 0);
}
END_TEST

START_TEST(answers_with_where_both_sides_are)
{
    struct tcp_hdr h;
    tcp_time_wait_ack(&w, 7, 40000, now, &h);
    ck_assert_uint_eq(h.src_port, 7);
    ck_assert_uint_eq(h.dst_port, 40000);
    ck_assert_uint_eq(h.seq.v, SND_NXT.v);
    ck_assert_uint_eq(h.ack.v, RCV_NXT.v);
    ck_assert_uint_eq(h.flags, TCP_ACK);
    ck_assert_uint_eq(h.window, 1000);
    ck_assert_uint_eq(h.urgent, 0);
    ck_assert(h.options.has_timestamps);
    ck_assert_uint_eq(h.options.ts_value, tcp_ts_now(0xffff0000, now));
    ck_assert_uint_eq(h.options.ts_echo, TS);
    ck_assert(!h.options.has_mss && !h.options.has_wscale && !h.options.sack_permitted);
    ck_assert_uint_eq(h.options.n_sack, 0);

    without_timestamps();
    tcp_time_wait_ack(&w, 7, 40000, now, &h);
    ck_assert(!h.options.has_timestamps);
}
END_TEST

START_TEST(the_fin_again_starts_the_wait_again)
{
    /* RFC 9293 3.10.7.8 */
    struct tcp_hdr fin = segment(TCP_FIN | TCP_ACK, seq32_sub(RCV_NXT, 1));
    assert_says(fin, 0, TIME_WAIT_AGAIN, DROP_TCP_DUPLICATE);
    /* With data in front of it that had been lost, or so it seems to the peer. */
    fin.seq = seq32_sub(RCV_NXT, 101);
    assert_says(fin, 100, TIME_WAIT_AGAIN, DROP_TCP_DUPLICATE);
    /* In a simultaneous close the peer has not seen our FIN when it sends its own. */
    fin.ack = seq32_sub(SND_NXT, 1);
    assert_says(fin, 100, TIME_WAIT_AGAIN, DROP_TCP_DUPLICATE);

    without_timestamps();
    assert_says(plain_segment(TCP_FIN | TCP_ACK, seq32_sub(RCV_NXT, 1)), 0, TIME_WAIT_AGAIN,
                DROP_TCP_DUPLICATE);
}
END_TEST

START_TEST(its_timestamp_is_echoed)
{
    input(segment(TCP_FIN | TCP_ACK, seq32_sub(RCV_NXT, 1)), 0);
    ck_assert_uint_eq(w.ts_recent, TS + 8);
    ck_assert_uint_eq(w.ts_recent_at, now);
    struct tcp_hdr h;
    tcp_time_wait_ack(&w, 7, 40000, now, &h);
    ck_assert_uint_eq(h.options.ts_echo, TS + 8);
}
END_TEST

START_TEST(another_fin_is_not_it)
{
    for (int32_t ahead = -4; ahead < 4; ahead++) {
        struct tcp_hdr fin = segment(TCP_FIN | TCP_ACK, seq32_add(RCV_NXT, (uint32_t)ahead));
        enum time_wait_verdict expect = ahead == -1 ? TIME_WAIT_AGAIN : TIME_WAIT_ACK;
        ck_assert_int_eq(input(fin, 0), expect);
    }
}
END_TEST

START_TEST(the_last_ack_again_is_of_no_use)
{
    assert_says(segment(TCP_ACK, RCV_NXT), 0, TIME_WAIT_DROP, DROP_TCP_STATE);
    ck_assert_uint_eq(w.ts_recent, TS + 8);
}
END_TEST

START_TEST(old_data_is_acknowledged)
{
    assert_says(segment(TCP_ACK, seq32_sub(RCV_NXT, 500)), 499, TIME_WAIT_ACK, DROP_TCP_DUPLICATE);
    assert_says(segment(TCP_ACK, seq32_sub(RCV_NXT, 5000)), 1, TIME_WAIT_ACK, DROP_TCP_DUPLICATE);
    assert_says(segment(TCP_ACK, seq32_sub(RCV_NXT, 1)), 1, TIME_WAIT_ACK, DROP_TCP_DUPLICATE);
    ck_assert_uint_eq(w.ts_recent, TS); /* RFC 7323 4.3: only of what was acceptable */
}
END_TEST

START_TEST(nothing_can_follow_the_fin)
{
    assert_says(segment(TCP_ACK, RCV_NXT), 1, TIME_WAIT_ACK, DROP_TCP_SEQUENCE);
    assert_says(segment(TCP_ACK, seq32_sub(RCV_NXT, 2)), 3, TIME_WAIT_ACK, DROP_TCP_SEQUENCE);
    assert_says(segment(TCP_ACK, seq32_add(RCV_NXT, 1)), 0, TIME_WAIT_ACK, DROP_TCP_SEQUENCE);
    assert_says(segment(TCP_ACK, seq32_add(RCV_NXT, UINT32_C(1) << 30)), 0, TIME_WAIT_ACK,
                DROP_TCP_SEQUENCE);
}
END_TEST

START_TEST(an_ack_of_what_was_never_sent_does_not_prolong_it)
{
    struct tcp_hdr fin = segment(TCP_FIN | TCP_ACK, seq32_sub(RCV_NXT, 1));
    fin.ack = seq32_add(SND_NXT, 1);
    assert_says(fin, 0, TIME_WAIT_ACK, DROP_TCP_ACK);
    fin = segment(TCP_FIN, seq32_sub(RCV_NXT, 1));
    assert_says(fin, 0, TIME_WAIT_DROP, DROP_TCP_FLAGS);
    ck_assert_uint_eq(w.ts_recent, TS);
}
END_TEST

START_TEST(a_reset_is_not_obeyed)
{
    /* RFC 1337: neither exactly in sequence nor elsewhere. */
    for (int32_t ahead = -2; ahead < 3; ahead++) {
        seq32_t seq = seq32_add(RCV_NXT, (uint32_t)ahead);
        assert_says(segment(TCP_RST, seq), 0, TIME_WAIT_DROP, DROP_TCP_STATE);
        assert_says(plain_segment(TCP_RST | TCP_ACK, seq), 0, TIME_WAIT_DROP, DROP_TCP_STATE);
        assert_says(segment(TCP_RST | TCP_SYN, seq), 0, TIME_WAIT_DROP, DROP_TCP_STATE);
    }
}
END_TEST

START_TEST(an_old_timestamp_is_answered)
{
    struct tcp_hdr fin = segment(TCP_FIN | TCP_ACK, seq32_sub(RCV_NXT, 1));
    fin.options.ts_value = TS - 1;
    assert_says(fin, 0, TIME_WAIT_ACK, DROP_TCP_PAWS);
    fin.options.ts_value = TS;
    assert_says(fin, 0, TIME_WAIT_AGAIN, DROP_TCP_DUPLICATE);
    fin.options.ts_value = 3; /* beyond the wrap */
    assert_says(fin, 0, TIME_WAIT_AGAIN, DROP_TCP_DUPLICATE);
}
END_TEST

START_TEST(a_missing_timestamp_is_dropped)
{
    assert_says(plain_segment(TCP_FIN | TCP_ACK, seq32_sub(RCV_NXT, 1)), 0, TIME_WAIT_DROP,
                DROP_TCP_PAWS);
}
END_TEST

START_TEST(a_timestamp_of_weeks_ago_says_nothing)
{
    /* RFC 7323 5.5 */
    struct tcp_hdr fin = segment(TCP_FIN | TCP_ACK, seq32_sub(RCV_NXT, 1));
    fin.options.ts_value = TS - 1;
    now = w.ts_recent_at + 24 * DAY;
    assert_says(fin, 0, TIME_WAIT_ACK, DROP_TCP_PAWS);
    now++;
    assert_says(fin, 0, TIME_WAIT_AGAIN, DROP_TCP_DUPLICATE);
    ck_assert_uint_eq(w.ts_recent, TS - 1);

    now += 24 * DAY + 1;
    ck_assert_int_eq(syn(0, -1), TIME_WAIT_NEW);
    ck_assert_int_eq(syn(-1, 1), TIME_WAIT_ACK);
}
END_TEST

START_TEST(a_later_timestamp_makes_a_new_connection)
{
    /* RFC 6191 2, first case: whatever the sequence number. */
    ck_assert_int_eq(syn(1000, 1), TIME_WAIT_NEW);
    ck_assert_int_eq(why, DROP_NONE);
    ck_assert_int_eq(syn(-1000, 1), TIME_WAIT_NEW);
    ck_assert_int_eq(syn(-1000, 0x7fffffff), TIME_WAIT_NEW);
    ck_assert_int_eq(syn(-1000, -1), TIME_WAIT_ACK);
    ck_assert_int_eq(why, DROP_TCP_SYN);
    ck_assert_int_eq(syn(1000, -1), TIME_WAIT_ACK);
}
END_TEST

START_TEST(with_the_same_timestamp_the_number_decides)
{
    ck_assert_int_eq(syn(-1, 0), TIME_WAIT_ACK); /* the FIN's */
    ck_assert_int_eq(syn(0, 0), TIME_WAIT_NEW);
    ck_assert_int_eq(syn(0x7fffffff, 0), TIME_WAIT_NEW);
    ck_assert_int_eq(syn(-1000, 0), TIME_WAIT_ACK);
}
END_TEST

START_TEST(without_a_timestamp_the_number_decides)
{
    ck_assert_int_eq(plain_syn(-1), TIME_WAIT_ACK);
    ck_assert_int_eq(why, DROP_TCP_SYN);
    ck_assert_int_eq(plain_syn(0), TIME_WAIT_NEW);
    ck_assert_int_eq(plain_syn(100000), TIME_WAIT_NEW);
    ck_assert_int_eq(plain_syn(-100000), TIME_WAIT_ACK);

    without_timestamps();
    ck_assert_int_eq(plain_syn(-1), TIME_WAIT_ACK);
    ck_assert_int_eq(plain_syn(0), TIME_WAIT_NEW);
}
END_TEST

START_TEST(timestamps_where_there_were_none_make_a_new_connection)
{
    without_timestamps();
    ck_assert_int_eq(syn(-1000, 1), TIME_WAIT_NEW);
    ck_assert_int_eq(syn(-1000, -1), TIME_WAIT_NEW);
    /* But for us, who would not use them. */
    settings.no_timestamps = true;
    tcp_time_wait_init(&w, &conn);
    ck_assert_int_eq(syn(-1000, 1), TIME_WAIT_ACK);
    ck_assert_int_eq(syn(0, -1), TIME_WAIT_NEW);
}
END_TEST

START_TEST(only_a_bare_syn_makes_a_new_connection)
{
    static const uint16_t flags[] = {TCP_SYN | TCP_ACK, TCP_SYN | TCP_FIN};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        assert_says(segment(flags[i], seq32_add(RCV_NXT, 1000)), 0, TIME_WAIT_ACK, DROP_TCP_SYN);
    struct tcp_hdr h = segment(TCP_SYN | TCP_ECE | TCP_CWR, seq32_add(RCV_NXT, 1000));
    assert_says(h, 0, TIME_WAIT_NEW, DROP_NONE);
}
END_TEST

START_TEST(a_syn_leaves_the_rest_as_it_is)
{
    struct tcp_time_wait before = w;
    syn(-1000, -1);
    syn(1000, 5);
    plain_syn(3);
    ck_assert_uint_eq(w.ts_recent, before.ts_recent);
    ck_assert_uint_eq(w.ts_recent_at, before.ts_recent_at);
    ck_assert_uint_eq(w.rcv_nxt.v, before.rcv_nxt.v);
}
END_TEST

/* Whatever comes: a reset changes nothing, only the FIN's own number prolongs, timestamps only go
 * forward, and every verdict has a reason. */
START_TEST(holds_whatever_comes)
{
    struct rng r;
    rng_seed(&r, 1337);
    for (int i = 0; i < 200000; i++) {
        struct tcp_time_wait before = w;
        struct tcp_hdr h = segment((uint16_t)rng_below(&r, 64),
                                   seq32_add(RCV_NXT, (uint32_t)rng_below(&r, 8) - 4));
        h.ack = seq32_add(SND_NXT, (uint32_t)rng_below(&r, 5) - 2);
        h.options.has_timestamps = rng_below(&r, 8) > 0;
        h.options.ts_value = w.ts_recent + (uint32_t)rng_below(&r, 5) - 2;
        uint32_t payload = (uint32_t)rng_below(&r, 4);
        enum time_wait_verdict v = input(h, payload);

        ck_assert_int_ne(why, DROP_END);
        ck_assert_int_eq(v == TIME_WAIT_NEW, why == DROP_NONE);
        ck_assert_uint_eq(w.snd_nxt.v, SND_NXT.v);
        ck_assert_uint_eq(w.rcv_nxt.v, RCV_NXT.v);
        ck_assert_int_ge((int32_t)(w.ts_recent - before.ts_recent), 0);
        if (h.flags & TCP_RST)
            ck_assert(v == TIME_WAIT_DROP && w.ts_recent == before.ts_recent);
        if (v == TIME_WAIT_AGAIN) {
            ck_assert((h.flags & (TCP_FIN | TCP_ACK | TCP_SYN)) == (TCP_FIN | TCP_ACK));
            ck_assert_uint_eq(h.seq.v + payload, RCV_NXT.v - 1);
        }
        if (v == TIME_WAIT_NEW)
            ck_assert((h.flags & (TCP_SYN | TCP_ACK)) == TCP_SYN);
        now += TICK_MS;
    }
}
END_TEST

UNIT_MAIN("time_wait", setup, NULL, keeps_what_the_connection_knew, the_window_fits_its_field,
          answers_with_where_both_sides_are, the_fin_again_starts_the_wait_again,
          its_timestamp_is_echoed, another_fin_is_not_it, the_last_ack_again_is_of_no_use,
          old_data_is_acknowledged, nothing_can_follow_the_fin,
          an_ack_of_what_was_never_sent_does_not_prolong_it, a_reset_is_not_obeyed,
          an_old_timestamp_is_answered, a_missing_timestamp_is_dropped,
          a_timestamp_of_weeks_ago_says_nothing, a_later_timestamp_makes_a_new_connection,
          with_the_same_timestamp_the_number_decides, without_a_timestamp_the_number_decides,
          timestamps_where_there_were_none_make_a_new_connection,
          only_a_bare_syn_makes_a_new_connection, a_syn_leaves_the_rest_as_it_is,
          holds_whatever_comes)
