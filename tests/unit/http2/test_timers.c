/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

static struct h2_conn *const server = &pair.server.conn;

static void expire_at(tick_t at)
{
    pair.now = at;
    h2_expire(server, at);
}

/* It fires at that time and not before; nothing else does. */
static void expect_at(tick_t at)
{
    ck_assert_uint_eq(h2_deadline(server), at);
    expire_at(at - 1);
    ck_assert(!h2_has(server, H2_CONN_FAILED));
    ck_assert_uint_eq(h2_deadline(server), at);
    expire_at(at);
}

START_TEST(a_preface_has_its_time)
{
    h2_pair_connect();
    tick_t start = pair.now;
    expire_at(start + TICK_SEC); /* tidies up */
    expect_at(start + 10 * TICK_SEC);
    wire_expect_end(H2_ENHANCE_YOUR_CALM);
    ck_assert_uint_eq(counter_get(&pair.server.counters, COUNTER_H2_TIMED_OUT), 1);
}
END_TEST

START_TEST(settings_are_acknowledged_in_time)
{
    pair.settings[1].preface_timeout = 60 * TICK_SEC;
    pair.settings[1].settings_timeout = 20 * TICK_SEC;
    h2_pair_connect();
    tick_t start = pair.now;
    h2_pair_inject(&pair.server, H2_PREFACE, H2_PREFACE_SIZE);
    wire_zeroes(H2_SETTINGS, 0, 0, 0);
    wire_request(1, "/echo", false);
    wire_take(true);
    expect_at(start + 20 * TICK_SEC);
    wire_expect_end(H2_SETTINGS_TIMEOUT);
}
END_TEST

START_TEST(a_block_ends_in_time_however_it_trickles)
{
    uint8_t block[64];
    wire_greet();
    tick_t start = pair.now;
    uint32_t n = wire_block(block, false, "/empty");
    wire_request(1, "/echo", false);
    wire_take(true);
    wire_frame(H2_HEADERS, H2_FLAG_END_STREAM, 3, block, 1);
    for (unsigned i = 1; i < 5; i++) {
        expire_at(start + i * TICK_SEC);
        wire_frame(H2_CONTINUATION, 0, 3, block + i, 1);
    }
    expect_at(start + 10 * TICK_SEC);
    wire_expect_end(H2_ENHANCE_YOUR_CALM);
    (void)n;
}
END_TEST

START_TEST(the_end_of_a_block_stops_its_time)
{
    uint8_t block[64];
    wire_greet();
    uint32_t n = wire_block(block, true, "/echo");
    wire_frame(H2_HEADERS, 0, 1, block, n);
    wire_zeroes(H2_CONTINUATION, H2_FLAG_END_HEADERS, 1, 0);
    ck_assert_uint_eq(server->headers_at, TICK_NEVER);
    ck_assert_uint_eq(pair.requests, 1);
}
END_TEST

START_TEST(an_idle_connection_ends_gracefully)
{
    wire_greet();
    wire_request(1, "/empty", true);
    pair.now += TICK_SEC;
    wire_take(true);
    tick_t start = server->idle_at - pair.settings[1].idle_timeout;
    expire_at(start + TICK_SEC); /* tidies up */
    expect_at(start + 300 * TICK_SEC);
    wire_take(false);
    ck_assert_int_eq(wire_goaway(), H2_NO_ERROR);
    ck_assert(!h2_has(server, H2_CONN_FAILED));
}
END_TEST

START_TEST(the_second_goaway_waits_for_a_ping_or_a_second)
{
    wire_greet();
    wire_request(1, "/echo", false);
    h2_shutdown(server, pair.now);
    wire_take(true);
    expect_at(pair.now + TICK_SEC);
    ck_assert(h2_has(server, H2_CONN_CLOSING));
    wire_take(false);
    struct h2_frame f;
    ck_assert_uint_eq(h2_u32(wire_find(H2_GOAWAY, 0, &f)), 1);
}
END_TEST

START_TEST(streams_that_do_not_end_are_not_waited_for_forever)
{
    wire_greet();
    wire_request(1, "/echo", false);
    tick_t start = pair.now;
    h2_shutdown(server, start);
    expire_at(start + TICK_SEC);
    wire_take(true);
    expect_at(start + 30 * TICK_SEC);
    ck_assert(h2_has(server, H2_CONN_FAILED));
    ck_assert_uint_eq(server->error, H2_NO_ERROR);
    ck_assert_uint_eq(server->streams.n, 0);
}
END_TEST

START_TEST(how_long_they_are_waited_for_may_be_said)
{
    wire_greet();
    wire_request(1, "/echo", false);
    tick_t start = pair.now;
    h2_shutdown_by(server, start + 100 * TICK_SEC, start);
    expire_at(start + TICK_SEC);
    h2_shutdown_by(server, start + 7 * TICK_SEC, pair.now); /* the last word counts */
    wire_take(true);
    expect_at(start + 7 * TICK_SEC);
    ck_assert(h2_has(server, H2_CONN_FAILED));
    ck_assert_uint_eq(server->streams.n, 0);
    h2_shutdown_by(server, start + 200 * TICK_SEC, pair.now); /* too late */
    ck_assert_uint_lt(server->drain_at, start + 100 * TICK_SEC);
}
END_TEST

/* A response of 65,535 bytes fills the connection's window, and more waits. */
static void stall(void)
{
    wire_greet();
    wire_request(1, "/200000", true);
    wire_take(true);
    ck_assert_int_eq(server->send_window, 0);
}

START_TEST(content_that_does_not_leave_is_given_up)
{
    stall();
    tick_t start = pair.now;
    ck_assert_uint_eq(server->progress_at, start + 30 * TICK_SEC);
    expire_at(start + 30 * TICK_SEC); /* so much has left since it was armed */
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), -1);
    expire_at(start + 60 * TICK_SEC);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_CANCEL);
    ck_assert_uint_eq(counter_get(&pair.server.counters, COUNTER_H2_GLITCH_STALLED), 1);
}
END_TEST

START_TEST(a_drip_of_updates_is_no_progress)
{
    stall();
    wire_word(H2_WINDOW_UPDATE, 1, 100000);
    expire_at(pair.now + 30 * TICK_SEC);
    for (unsigned i = 0; i < 29; i++) {
        pair.now += TICK_SEC;
        wire_word(H2_WINDOW_UPDATE, 0, 35);
        wire_take(true);
    }
    expire_at(server->progress_at);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_CANCEL);
}
END_TEST

START_TEST(enough_progress_keeps_a_stream)
{
    stall();
    wire_word(H2_WINDOW_UPDATE, 1, 100000);
    for (unsigned i = 0; i < 5; i++) {
        wire_word(H2_WINDOW_UPDATE, 0, 1024);
        wire_take(true);
        expire_at(server->progress_at);
        wire_take(true);
        ck_assert_int_eq(wire_reset(1), -1);
    }
}
END_TEST

/* What others send does not save it. */
START_TEST(a_stream_that_stands_still_is_given_up_alone)
{
    wire_greet();
    wire_request(1, "/200000", true);
    wire_take(true);
    wire_word(H2_WINDOW_UPDATE, 0, 1000000);
    wire_request(3, "/200000", true);
    wire_take(true);
    for (unsigned i = 0; i < 2; i++) {
        wire_word(H2_WINDOW_UPDATE, 3, 2000);
        wire_take(true);
        expire_at(server->progress_at);
    }
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_CANCEL);
    ck_assert_int_eq(wire_reset(3), -1);
}
END_TEST

START_TEST(a_request_that_brings_nothing_is_given_up)
{
    wire_greet();
    wire_request(1, "/echo", false);
    wire_request(3, "/echo", false);
    wire_take(true);
    tick_t start = pair.now;
    while (pair.now < start + pair.settings[1].idle_timeout) {
        ck_assert_int_eq(wire_reset(1), -1);
        wire_zeroes(H2_DATA, 0, 3, 1024);
        wire_zeroes(H2_DATA, 0, 1, 16);
        wire_take(true);
        expire_at(server->progress_at);
        wire_take(true);
    }
    ck_assert_int_eq(wire_reset(1), H2_CANCEL);
    ck_assert_int_eq(wire_reset(3), -1);
}
END_TEST

/* RFC 9113 8.1 */
START_TEST(a_request_that_was_answered_early_may_go_on_for_a_while)
{
    wire_greet();
    wire_request(1, "/empty", false);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), -1);
    wire_zeroes(H2_DATA, 0, 1, 1000);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), -1);
    expect_at(pair.now + H2_EARLY_TIME);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_NO_ERROR);
    ck_assert_uint_eq(server->n_objects, 0);
    ck_assert_int_eq(server->receive_window + server->credit, pair.settings[1].connection_window);
}
END_TEST

START_TEST(it_may_bring_so_much_and_no_more)
{
    wire_greet();
    wire_request(1, "/empty", false);
    for (unsigned i = 0; i < 4; i++)
        wire_zeroes(H2_DATA, 0, 1, 16384);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), -1);
    wire_zeroes(H2_DATA, 0, 1, 1);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_NO_ERROR);
    ck_assert_int_eq(server->receive_window + server->credit, pair.settings[1].connection_window);
}
END_TEST

START_TEST(buffers_are_given_back_a_second_after_the_last_stream)
{
    wire_greet();
    wire_request(1, "/echo", false);
    wire_frame(H2_DATA, H2_FLAG_END_STREAM, 1, "x", 1);
    wire_take(true);
    ck_assert_uint_gt(server->out.room, 0);
    expect_at(server->tidy_at);
    ck_assert_uint_eq(server->out.room, 0);
    ck_assert_uint_eq(server->streams.capacity, 0);
    ck_assert_uint_eq(h2_cost(server), 0);
}
END_TEST

UNIT_MAIN("timers", h2_pair_setup, h2_pair_teardown, a_preface_has_its_time,
          settings_are_acknowledged_in_time, a_block_ends_in_time_however_it_trickles,
          the_end_of_a_block_stops_its_time, an_idle_connection_ends_gracefully,
          the_second_goaway_waits_for_a_ping_or_a_second,
          streams_that_do_not_end_are_not_waited_for_forever,
          how_long_they_are_waited_for_may_be_said, content_that_does_not_leave_is_given_up,
          a_drip_of_updates_is_no_progress, enough_progress_keeps_a_stream,
          a_stream_that_stands_still_is_given_up_alone, a_request_that_brings_nothing_is_given_up,
          a_request_that_was_answered_early_may_go_on_for_a_while, it_may_bring_so_much_and_no_more,
          buffers_are_given_back_a_second_after_the_last_stream)
