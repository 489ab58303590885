/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

static const struct h2_conn *const server = &pair.server.conn;

START_TEST(a_preface_may_come_byte_by_byte)
{
    h2_pair_connect();
    for (unsigned i = 0; i < H2_PREFACE_SIZE; i++)
        h2_pair_inject(&pair.server, &H2_PREFACE[i], 1);
    wire_zeroes(H2_SETTINGS, 0, 0, 0);
    ck_assert(h2_has(server, H2_CONN_SETTINGS_DONE));
}
END_TEST

START_TEST(a_preface_with_another_last_byte_is_refused)
{
    char bytes[] = H2_PREFACE;
    bytes[H2_PREFACE_SIZE - 1] = 'x';
    h2_pair_connect();
    h2_pair_inject(&pair.server, bytes, H2_PREFACE_SIZE - 1);
    ck_assert(!h2_has(server, H2_CONN_FAILED));
    h2_pair_inject(&pair.server, bytes + H2_PREFACE_SIZE - 1, 1);
    ck_assert(h2_has(server, H2_CONN_FAILED));
}
END_TEST

START_TEST(settings_come_before_all_else)
{
    static const uint8_t flags[] = {0, H2_FLAG_ACK};
    static const uint8_t types[] = {H2_PING, H2_SETTINGS};
    for (unsigned i = 0; i < 2; i++) {
        if (i > 0) {
            h2_pair_teardown();
            h2_pair_setup();
        }
        h2_pair_connect();
        h2_pair_inject(&pair.server, H2_PREFACE, H2_PREFACE_SIZE);
        wire_zeroes(types[i], flags[i], 0, types[i] == H2_PING ? 8 : 0);
        wire_expect_end(H2_PROTOCOL_ERROR);
    }
}
END_TEST

/* RFC 9113 4.2, 6 */
START_TEST(each_type_keeps_to_its_stream_and_its_length)
{
    static const struct {
        uint8_t type, flags;
        uint32_t stream, length;
        enum h2_error error;
    } bad[] = {
        {H2_DATA, 0, 0, 1, H2_PROTOCOL_ERROR},
        {H2_HEADERS, 4, 0, 1, H2_PROTOCOL_ERROR},
        {H2_PRIORITY, 0, 0, 5, H2_PROTOCOL_ERROR},
        {H2_RST_STREAM, 0, 0, 4, H2_PROTOCOL_ERROR},
        {H2_RST_STREAM, 0, 1, 3, H2_FRAME_SIZE_ERROR},
        {H2_RST_STREAM, 0, 1, 5, H2_FRAME_SIZE_ERROR},
        {H2_SETTINGS, 0, 1, 0, H2_PROTOCOL_ERROR},
        {H2_SETTINGS, 0, 0, 5, H2_FRAME_SIZE_ERROR},
        {H2_SETTINGS, H2_FLAG_ACK, 0, 6, H2_FRAME_SIZE_ERROR},
        {H2_PUSH_PROMISE, 4, 1, 4, H2_PROTOCOL_ERROR},
        {H2_PING, 0, 1, 8, H2_PROTOCOL_ERROR},
        {H2_PING, 0, 0, 7, H2_FRAME_SIZE_ERROR},
        {H2_PING, 0, 0, 9, H2_FRAME_SIZE_ERROR},
        {H2_GOAWAY, 0, 1, 8, H2_PROTOCOL_ERROR},
        {H2_GOAWAY, 0, 0, 7, H2_FRAME_SIZE_ERROR},
        {H2_WINDOW_UPDATE, 0, 0, 3, H2_FRAME_SIZE_ERROR},
        {H2_WINDOW_UPDATE, 0, 1, 5, H2_FRAME_SIZE_ERROR},
        {H2_CONTINUATION, 4, 1, 1, H2_PROTOCOL_ERROR},
        {H2_PRIORITY_UPDATE, 0, 1, 4, H2_PROTOCOL_ERROR},
        {H2_PRIORITY_UPDATE, 0, 0, 3, H2_FRAME_SIZE_ERROR},
        {0x42, 0, 0, 16385, H2_FRAME_SIZE_ERROR},
    };
    wire_greet();
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (i > 0)
            wire_again();
        wire_request(1, "/echo", false);
        wire_zeroes(bad[i].type, bad[i].flags, bad[i].stream, bad[i].length);
        wire_expect_end(bad[i].error);
    }
}
END_TEST

START_TEST(an_unknown_type_is_passed_over)
{
    wire_greet();
    wire_zeroes(0x42, 0xff, 7, 16384);
    wire_request(1, "/empty", true);
    ck_assert_uint_eq(pair.requests, 1);
}
END_TEST

START_TEST(nothing_comes_within_a_block)
{
    static const uint8_t types[] = {H2_PING, 0x42, H2_DATA, H2_HEADERS, H2_CONTINUATION};
    wire_greet();
    for (unsigned i = 0; i < sizeof(types); i++) {
        uint8_t block[64];
        if (i > 0)
            wire_again();
        uint32_t n = wire_block(block, false, "/empty");
        wire_frame(H2_HEADERS, H2_FLAG_END_STREAM, 1, block, n);
        wire_zeroes(types[i], 0, types[i] == H2_PING ? 0 : 3, 8); /* of another stream */
        wire_expect_end(H2_PROTOCOL_ERROR);
    }
}
END_TEST

START_TEST(a_block_may_have_so_many_continuations_and_no_more)
{
    wire_greet();
    for (unsigned more = 0; more < 2; more++) {
        uint8_t block[64];
        if (more)
            wire_again();
        uint32_t n = wire_block(block, false, "/empty");
        wire_frame(H2_HEADERS, H2_FLAG_END_STREAM, 1, block, n - 7);
        for (unsigned i = 0; i < 7 + more; i++)
            wire_frame(H2_CONTINUATION, 0, 1, block + n - 7 + i, i < 7);
        ck_assert(!h2_has(server, H2_CONN_FAILED));
        wire_zeroes(H2_CONTINUATION, H2_FLAG_END_HEADERS, 1, 0);
        ck_assert_uint_eq(pair.requests, more ? 0 : 1);
        pair.requests = 0;
    }
    wire_expect_end(H2_ENHANCE_YOUR_CALM);
    ck_assert_uint_eq(counter_get(&pair.server.counters, COUNTER_H2_LIMIT_CONTINUATION), 1);
}
END_TEST

START_TEST(padding_fits_in_its_frame)
{
    static const uint8_t data[] = {2, 'x', 0, 0};
    wire_greet();
    wire_request(1, "/echo", false);
    wire_frame(H2_DATA, H2_FLAG_PADDED, 1, data, 4);
    wire_frame(H2_DATA, H2_FLAG_PADDED | H2_FLAG_END_STREAM, 1, (const uint8_t[]){1, 0}, 2);
    h2_pair_serve();
    ck_assert(!h2_has(server, H2_CONN_FAILED));
    ck_assert_uint_eq(counter_get(&pair.server.counters, COUNTER_H2_RX_CONTENT), 1);
    ck_assert_int_eq(server->receive_window + server->credit, pair.settings[1].connection_window);
    wire_frame(H2_DATA, H2_FLAG_PADDED, 1, data, 2);
    wire_expect_end(H2_PROTOCOL_ERROR);
    wire_again();
    wire_request(1, "/echo", false);
    wire_zeroes(H2_DATA, H2_FLAG_PADDED, 1, 0);
    wire_expect_end(H2_FRAME_SIZE_ERROR);
}
END_TEST

START_TEST(the_last_byte_of_a_window_is_taken_and_none_beyond)
{
    pair.settings[1].stream_window = 2000;
    wire_greet();
    wire_request(1, "/echo", false);
    wire_zeroes(H2_DATA, 0, 1, 1999);
    wire_zeroes(H2_DATA, 0, 1, 1);
    ck_assert_int_eq(h2_streams_find(&server->streams, 1)->receive_window, 0);
    wire_zeroes(H2_DATA, 0, 1, 0);
    wire_take(false);
    ck_assert_int_eq(wire_reset(1), -1);
    wire_zeroes(H2_DATA, 0, 1, 1);
    wire_take(false);
    ck_assert_int_eq(wire_reset(1), H2_FLOW_CONTROL_ERROR);
    ck_assert(!h2_has(server, H2_CONN_FAILED));
}
END_TEST

START_TEST(the_connection_has_a_window_too)
{
    pair.settings[1].connection_window = 65535;
    pair.settings[1].memory = 1u << 30;
    wire_greet();
    wire_request(1, "/echo", false);
    for (unsigned i = 0; i < 3; i++)
        wire_zeroes(H2_DATA, 0, 1, 16384);
    wire_zeroes(H2_DATA, 0, 1, 65535 - 3 * 16384);
    ck_assert_int_eq(server->receive_window, 0);
    wire_zeroes(H2_DATA, 0, 1, 1);
    wire_expect_end(H2_FLOW_CONTROL_ERROR);
}
END_TEST

/* RFC 9113 6.9.1, 6.9.2 */
START_TEST(an_end_without_content_passes_a_negative_window)
{
    pair.settings[1].stream_window = 1024;
    h2_pair_connect();
    h2_pair_inject(&pair.server, H2_PREFACE, H2_PREFACE_SIZE);
    wire_zeroes(H2_SETTINGS, 0, 0, 0);
    wire_request(1, "/echo", false);
    wire_zeroes(H2_DATA, 0, 1, 16384);
    wire_zeroes(H2_SETTINGS, H2_FLAG_ACK, 0, 0);
    ck_assert_int_eq(h2_streams_find(&server->streams, 1)->receive_window, 1024 - 16384);
    wire_zeroes(H2_DATA, H2_FLAG_END_STREAM, 1, 0);
    wire_take(false);
    ck_assert_int_eq(wire_reset(1), -1);
    ck_assert_uint_eq(h2_streams_find(&server->streams, 1)->state, H2_HALF_CLOSED_REMOTE);
}
END_TEST

START_TEST(data_for_a_closed_stream_is_judged_by_how_it_closed)
{
    wire_greet(); /* in order */
    wire_request(1, "/empty", true);
    wire_take(true);
    wire_zeroes(H2_DATA, 0, 1, 10);
    wire_expect_end(H2_STREAM_CLOSED);

    wire_again(); /* by the client */
    wire_request(1, "/echo", false);
    wire_word(H2_RST_STREAM, 1, H2_CANCEL);
    wire_zeroes(H2_DATA, 0, 1, 10);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_STREAM_CLOSED);

    wire_again(); /* by us: late, and its windows are given back */
    wire_request(1, "/echo", false);
    wire_word(H2_WINDOW_UPDATE, 1, 0);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_PROTOCOL_ERROR);
    wire_zeroes(H2_DATA, 0, 1, 1000);
    wire_take(true);
    ck_assert_uint_eq(wire_n, 0);
    ck_assert_int_eq(server->receive_window + server->credit, pair.settings[1].connection_window);

    wire_again(); /* never opened, and passed over */
    wire_request(5, "/empty", true);
    wire_zeroes(H2_DATA, 0, 3, 10);
    wire_take(true);
    ck_assert_int_eq(wire_reset(3), H2_STREAM_CLOSED);

    wire_again(); /* idle */
    wire_zeroes(H2_DATA, 0, 1, 10);
    wire_expect_end(H2_PROTOCOL_ERROR);
}
END_TEST

START_TEST(data_behind_the_end_resets_the_stream)
{
    wire_greet();
    wire_request(1, "/echo", false);
    wire_zeroes(H2_DATA, H2_FLAG_END_STREAM, 1, 1);
    wire_zeroes(H2_DATA, 0, 1, 1);
    wire_take(false);
    ck_assert_int_eq(wire_reset(1), H2_STREAM_CLOSED);
    ck_assert(!h2_has(server, H2_CONN_FAILED));
}
END_TEST

START_TEST(want_of_packets_costs_one_stream)
{
    uint8_t bytes[H2_FRAME_HEADER + 8];
    struct h2_frame f = {.length = 1000, .type = H2_DATA, .stream = 1};
    wire_greet();
    wire_request(1, "/echo", false);
    h2_frame_write(bytes, &f);
    struct pkt *p = heap_pkt(&pair.pool, bytes, sizeof(bytes), 0);
    struct pkt *rest = heap_pkt(&pair.pool, (uint8_t[1000]){0}, 992 + 8, 0);
    h2_input(&pair.server.conn, p, pair.now);
    pair.pool.limit = pair.pool.held; /* the end of a frame in a larger view asks for one more */
    h2_input(&pair.server.conn, rest, pair.now);
    pair.pool.limit = SIZE_MAX;
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_INTERNAL_ERROR);
    ck_assert_int_eq(server->receive_window + server->credit, pair.settings[1].connection_window);
}
END_TEST

UNIT_MAIN("input", h2_pair_setup, h2_pair_teardown, a_preface_may_come_byte_by_byte,
          a_preface_with_another_last_byte_is_refused, settings_come_before_all_else,
          each_type_keeps_to_its_stream_and_its_length, an_unknown_type_is_passed_over,
          nothing_comes_within_a_block, a_block_may_have_so_many_continuations_and_no_more,
          padding_fits_in_its_frame, the_last_byte_of_a_window_is_taken_and_none_beyond,
          the_connection_has_a_window_too, an_end_without_content_passes_a_negative_window,
          data_for_a_closed_stream_is_judged_by_how_it_closed,
          data_behind_the_end_resets_the_stream, want_of_packets_costs_one_stream)
