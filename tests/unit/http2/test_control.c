/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

static const struct h2_conn *const server = &pair.server.conn;

START_TEST(settings_out_of_range_end_the_connection)
{
    static const struct {
        uint16_t id;
        uint32_t good, bad;
        enum h2_error error;
    } cases[] = {
        {H2_SETTINGS_ENABLE_PUSH, 1, 2, H2_PROTOCOL_ERROR},
        {H2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW_MAX, H2_WINDOW_MAX + 1u, H2_FLOW_CONTROL_ERROR},
        {H2_SETTINGS_MAX_FRAME_SIZE, 16384, 16383, H2_PROTOCOL_ERROR},
        {H2_SETTINGS_MAX_FRAME_SIZE, 16777215, 16777216, H2_PROTOCOL_ERROR},
        {H2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1, 2, H2_PROTOCOL_ERROR},
        {H2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1, 0, H2_PROTOCOL_ERROR}, /* taken back */
        {H2_SETTINGS_NO_RFC7540_PRIORITIES, 0, 1, H2_PROTOCOL_ERROR},   /* changed */
    };
    wire_greet();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (i > 0)
            wire_again();
        wire_setting(cases[i].id, cases[i].good);
        wire_take(false);
        ck_assert_uint_eq(wire_n, H2_FRAME_HEADER); /* the ACK */
        wire_setting(cases[i].id, cases[i].bad);
        wire_expect_end(cases[i].error);
    }
}
END_TEST

START_TEST(a_setting_that_is_not_known_is_acknowledged)
{
    wire_greet();
    wire_setting(0x7777, 5);
    wire_take(false);
    ck_assert_uint_eq(wire_out[3], H2_SETTINGS);
    ck_assert_uint_eq(wire_out[4], H2_FLAG_ACK);
}
END_TEST

START_TEST(a_frame_of_settings_has_so_many_entries_and_no_more)
{
    wire_greet();
    wire_zeroes(H2_SETTINGS, 0, 0, 32 * H2_SETTINGS_ENTRY);
    ck_assert(!h2_has(server, H2_CONN_FAILED));
    wire_zeroes(H2_SETTINGS, 0, 0, 33 * H2_SETTINGS_ENTRY);
    wire_expect_end(H2_ENHANCE_YOUR_CALM);
}
END_TEST

/* So many at once, one more ends the connection, unless time has passed. */
static void check_burst(void (*send)(void), uint32_t burst, enum counter limit, tick_t refill)
{
    for (unsigned late = 0; late < 2; late++) {
        wire_again();
        for (uint32_t i = 0; i < burst; i++)
            send();
        ck_assert(!h2_has(server, H2_CONN_FAILED));
        if (late)
            pair.now += refill;
        send();
        ck_assert(h2_has(server, H2_CONN_FAILED) == !late);
        ck_assert_uint_eq(counter_get(&pair.server.counters, limit), !late);
    }
}

static void send_ping(void)
{
    wire_zeroes(H2_PING, 0, 0, 8);
}

static void send_settings(void)
{
    wire_zeroes(H2_SETTINGS, 0, 0, 0);
}

START_TEST(floods_of_frames_that_are_answered_have_an_end)
{
    wire_greet();
    check_burst(send_ping, 200, COUNTER_H2_LIMIT_PING, TICK_SEC);
    check_burst(send_settings, 19, COUNTER_H2_LIMIT_SETTINGS, TICK_SEC); /* one had come */
}
END_TEST

static uint32_t next_id;

static void send_reset(void)
{
    if (h2_is_idle(server, 1))
        next_id = 1;
    wire_request(next_id, "/echo", false);
    wire_word(H2_RST_STREAM, next_id, H2_CANCEL);
    next_id += 2;
    h2_pair_serve();
    h2_output(&pair.server.conn, wire_out, sizeof(wire_out), pair.now);
}

static void send_error(void)
{
    if (h2_is_idle(server, 1))
        next_id = 1;
    wire_request(next_id, "/echo", false);
    wire_word(H2_WINDOW_UPDATE, next_id, 0);
    next_id += 2;
    h2_pair_serve();
    h2_output(&pair.server.conn, wire_out, sizeof(wire_out), pair.now);
}

START_TEST(resets_of_either_side_have_an_end)
{
    wire_greet();
    check_burst(send_reset, 1000, COUNTER_H2_LIMIT_RST, TICK_SEC);
    check_burst(send_error, 200, COUNTER_H2_LIMIT_RESET, TICK_SEC);
}
END_TEST

START_TEST(a_ping_is_answered_with_what_it_said)
{
    wire_greet();
    wire_frame(H2_PING, 0, 0, "12345678", 8);
    wire_take(false);
    ck_assert_uint_eq(wire_n, H2_PING_SIZE);
    ck_assert_uint_eq(wire_out[4], H2_FLAG_ACK);
    ck_assert_mem_eq(wire_out + H2_FRAME_HEADER, "12345678", 8);
}
END_TEST

START_TEST(a_goaway_never_names_a_later_stream)
{
    wire_greet();
    wire_request(1, "/echo", false); /* or it would be over */
    wire_frame(H2_GOAWAY, 0, 0,
               "\x00\x00\x00\x05\x00\x00\x00\x00"
               "debug",
               13);
    wire_frame(H2_GOAWAY, 0, 0, "\x00\x00\x00\x03\x00\x00\x00\x00", 8);
    ck_assert(!h2_has(server, H2_CONN_FAILED));
    wire_frame(H2_GOAWAY, 0, 0, "\x00\x00\x00\x04\x00\x00\x00\x00", 8);
    wire_expect_end(H2_PROTOCOL_ERROR);
}
END_TEST

START_TEST(a_window_may_reach_its_most_and_not_exceed_it)
{
    wire_greet();
    wire_word(H2_WINDOW_UPDATE, 0, H2_WINDOW_MAX - H2_WINDOW_FIRST);
    ck_assert_int_eq(server->send_window, H2_WINDOW_MAX);
    wire_request(1, "/echo", false);
    wire_request(3, "/echo", false);
    wire_word(H2_WINDOW_UPDATE, 1, H2_WINDOW_MAX - H2_WINDOW_FIRST);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), -1);
    wire_word(H2_WINDOW_UPDATE, 1, 1); /* a stream's is the stream's error */
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_FLOW_CONTROL_ERROR);
    wire_word(H2_WINDOW_UPDATE, 0, 1);
    wire_expect_end(H2_FLOW_CONTROL_ERROR);
}
END_TEST

/* RFC 9113 6.9.2 */
START_TEST(the_first_window_moves_those_of_open_streams)
{
    wire_greet();
    wire_request(1, "/echo", false);
    wire_word(H2_WINDOW_UPDATE, 1, 10);
    wire_setting(H2_SETTINGS_INITIAL_WINDOW_SIZE, 0);
    const struct h2_stream *s = h2_streams_find(&server->streams, 1);
    ck_assert_int_eq(s->send_window, 10);
    wire_setting(H2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW_MAX - 10);
    ck_assert_int_eq(s->send_window, H2_WINDOW_MAX);
    wire_setting(H2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW_MAX - 9);
    wire_expect_end(H2_FLOW_CONTROL_ERROR);
}
END_TEST

START_TEST(an_increment_of_nothing_is_an_error)
{
    wire_greet();
    wire_request(1, "/echo", false);
    wire_word(H2_WINDOW_UPDATE, 1, 0);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_PROTOCOL_ERROR);
    wire_word(H2_WINDOW_UPDATE, 0, 0);
    wire_expect_end(H2_PROTOCOL_ERROR);
}
END_TEST

START_TEST(an_idle_stream_can_neither_be_reset_nor_given_room)
{
    wire_greet();
    wire_word(H2_RST_STREAM, 1, H2_CANCEL);
    wire_expect_end(H2_PROTOCOL_ERROR);
    wire_again();
    wire_word(H2_WINDOW_UPDATE, 1, 1);
    wire_expect_end(H2_PROTOCOL_ERROR);
}
END_TEST

START_TEST(a_priority_of_a_wrong_length_is_its_streams_error)
{
    wire_greet();
    wire_zeroes(H2_PRIORITY, 0, 5, 5);
    wire_request(7, "/echo", false);
    wire_zeroes(H2_PRIORITY, 0, 7, 4);
    wire_take(true);
    ck_assert_int_eq(wire_reset(7), H2_FRAME_SIZE_ERROR);
}
END_TEST

UNIT_MAIN("control", h2_pair_setup, h2_pair_teardown, settings_out_of_range_end_the_connection,
          a_setting_that_is_not_known_is_acknowledged,
          a_frame_of_settings_has_so_many_entries_and_no_more,
          floods_of_frames_that_are_answered_have_an_end, resets_of_either_side_have_an_end,
          a_ping_is_answered_with_what_it_said, a_goaway_never_names_a_later_stream,
          a_window_may_reach_its_most_and_not_exceed_it,
          the_first_window_moves_those_of_open_streams, an_increment_of_nothing_is_an_error,
          an_idle_stream_can_neither_be_reset_nor_given_room,
          a_priority_of_a_wrong_length_is_its_streams_error)
