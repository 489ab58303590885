/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

static const struct h2_conn *const server = &pair.server.conn;

START_TEST(only_a_client_opens_streams_and_only_in_order)
{
    wire_greet();
    wire_request(2, "/empty", true);
    wire_expect_end(H2_PROTOCOL_ERROR);
    wire_again();
    wire_request(5, "/empty", true);
    wire_request(3, "/empty", true); /* passed over */
    wire_expect_end(H2_PROTOCOL_ERROR);
}
END_TEST

START_TEST(a_block_for_a_closed_stream_is_judged_by_how_it_closed)
{
    wire_greet(); /* in order */
    wire_request(1, "/empty", true);
    wire_take(true);
    wire_request(1, "/empty", true);
    wire_expect_end(H2_STREAM_CLOSED);

    wire_again(); /* by the client */
    wire_request(1, "/echo", false);
    wire_word(H2_RST_STREAM, 1, H2_CANCEL);
    wire_request(1, "/empty", true);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_STREAM_CLOSED);

    wire_again(); /* by us, and then by the client, too */
    wire_request(1, "/echo", false);
    wire_word(H2_WINDOW_UPDATE, 1, 0);
    wire_take(true);
    wire_request(1, "/empty", true);
    wire_take(true);
    ck_assert_uint_eq(wire_n, 0);
    wire_word(H2_RST_STREAM, 1, H2_CANCEL);
    wire_request(1, "/empty", true);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_STREAM_CLOSED);
}
END_TEST

START_TEST(a_stream_that_was_closed_long_ago_costs_a_glitch)
{
    wire_greet();
    for (uint32_t id = 1; id < 2 * H2_CLOSED_KEPT + 4; id += 2) {
        wire_request(id, "/empty", true);
        wire_take(true);
    }
    wire_request(1, "/empty", true);
    wire_take(true);
    ck_assert(!h2_has(server, H2_CONN_FAILED));
    ck_assert_uint_eq(counter_get(&pair.server.counters, COUNTER_H2_GLITCH_CLOSED_STREAM), 1);
}
END_TEST

START_TEST(a_head_behind_the_end_resets_the_stream)
{
    wire_greet();
    wire_request(1, "/echo", true);
    wire_request(3, "/echo", false);
    wire_zeroes(H2_DATA, H2_FLAG_END_STREAM, 3, 1);
    wire_request(3, "/echo", true);
    wire_take(false);
    ck_assert_int_eq(wire_reset(3), H2_STREAM_CLOSED);
    ck_assert_int_eq(wire_reset(1), -1);
}
END_TEST

START_TEST(trailers_end_a_request_or_are_malformed)
{
    static const uint8_t field[] = {0x00, 1, 'x', 1, 'y'};
    wire_greet();
    wire_request(1, "/echo", false);
    wire_frame(H2_HEADERS, H2_FLAG_END_HEADERS | H2_FLAG_END_STREAM, 1, field, sizeof(field));
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), -1);
    ck_assert_uint_eq(server->streams.n, 0);

    wire_request(3, "/echo", false); /* without the end */
    wire_frame(H2_HEADERS, H2_FLAG_END_HEADERS, 3, field, sizeof(field));
    wire_request(5, "/echo", false); /* with pseudo-header fields */
    wire_request(5, "/echo", true);
    wire_take(true);
    ck_assert_int_eq(wire_reset(3), H2_PROTOCOL_ERROR);
    ck_assert_int_eq(wire_reset(5), H2_PROTOCOL_ERROR);
    ck_assert_uint_eq(counter_get(&pair.server.counters, COUNTER_H2_MALFORMED), 2);
}
END_TEST

/* RFC 9113 8.1.1 */
START_TEST(content_is_as_long_as_it_was_said_to_be)
{
    static const struct {
        uint32_t data;
        bool end, ok;
    } cases[] = {{2, true, true}, {1, true, false}, {3, false, false}, {0, true, false}};
    uint8_t block[64];
    wire_greet();
    uint32_t n = wire_block(block, true, "/echo");
    memcpy(block + n,
           "\x0f\x0d\x01"
           "2",
           4); /* content-length: 2, by its place in the table */
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t id = 2 * i + 1;
        wire_frame(H2_HEADERS, H2_FLAG_END_HEADERS, id, block, n + 4);
        wire_zeroes(H2_DATA, cases[i].end ? H2_FLAG_END_STREAM : 0, id, cases[i].data);
        wire_take(true);
        ck_assert_int_eq(wire_reset(id), cases[i].ok ? -1 : H2_PROTOCOL_ERROR);
    }
    wire_frame(H2_HEADERS, H2_FLAG_END_HEADERS | H2_FLAG_END_STREAM, 9, block, n + 4);
    wire_take(true);
    ck_assert_int_eq(wire_reset(9), H2_PROTOCOL_ERROR);
}
END_TEST

START_TEST(so_many_streams_may_be_open_and_no_more)
{
    pair.settings[1].max_streams = 3;
    wire_greet();
    for (uint32_t id = 1; id <= 7; id += 2)
        wire_request(id, "/echo", false);
    wire_take(true);
    ck_assert_int_eq(wire_reset(5), -1);
    ck_assert_int_eq(wire_reset(7), H2_REFUSED_STREAM);
    ck_assert_uint_eq(server->n_peer, 3);
    wire_word(H2_RST_STREAM, 1, H2_CANCEL);
    wire_request(9, "/echo", false);
    wire_take(true);
    ck_assert_int_eq(wire_reset(9), -1);
    ck_assert_uint_eq(counter_get(&pair.server.counters, COUNTER_H2_GLITCH_REFUSED), 1);
}
END_TEST

START_TEST(the_last_stream_of_all_begins_the_end)
{
    pair.settings[1].total_streams = 2;
    wire_greet();
    wire_request(1, "/empty", true);
    wire_take(true);
    ck_assert_int_eq(wire_goaway(), -1);
    wire_request(3, "/empty", true);
    wire_take(true);
    ck_assert_int_eq(wire_goaway(), H2_NO_ERROR);
    ck_assert_uint_eq(pair.requests, 2);
}
END_TEST

START_TEST(a_stream_beyond_our_goaway_is_read_and_not_served)
{
    wire_greet();
    wire_request(1, "/echo", false);
    h2_shutdown(&pair.server.conn, pair.now);
    wire_frame(H2_PING, H2_FLAG_ACK, 0, h2_close_ping, 8);
    wire_request(3, "/empty", true);
    wire_take(true);
    struct h2_frame f;
    ck_assert_ptr_null(wire_find(H2_HEADERS, 3, &f));
    ck_assert_int_eq(wire_reset(3), -1);
    ck_assert_uint_eq(pair.requests, 1);
    wire_zeroes(H2_DATA, 0, 3, 1000);
    ck_assert(!h2_has(server, H2_CONN_FAILED));
    ck_assert_int_eq(server->receive_window + server->credit, pair.settings[1].connection_window);
}
END_TEST

START_TEST(a_block_that_does_not_decode_ends_the_connection)
{
    wire_greet();
    wire_frame(H2_HEADERS, H2_FLAG_END_HEADERS, 1, "\xff\xff\xff", 3);
    wire_expect_end(H2_COMPRESSION_ERROR);
}
END_TEST

START_TEST(too_many_fields_are_answered_431)
{
    uint8_t block[600];
    pair.settings[1].header_fields = 20;
    wire_greet();
    uint32_t n = wire_block(block, false, "/empty");
    for (unsigned i = 0; i < 20; i++, n += 5)
        memcpy(block + n, "\x00\x01x\x01y", 5);
    wire_frame(H2_HEADERS, H2_FLAG_END_HEADERS | H2_FLAG_END_STREAM, 1, block, n);
    wire_take(true);
    struct h2_frame f;
    ck_assert_ptr_nonnull(wire_find(H2_HEADERS, 1, &f));
    ck_assert_uint_eq(f.flags & H2_FLAG_END_STREAM, H2_FLAG_END_STREAM);
    ck_assert_uint_eq(pair.requests, 0);
    ck_assert_uint_eq(counter_get(&pair.server.counters, COUNTER_H2_GLITCH_HEADER_LIST), 1);
}
END_TEST

START_TEST(a_stream_may_not_depend_on_itself)
{
    uint8_t block[64] = {0, 0, 0, 1, 16};
    wire_greet();
    uint32_t n = wire_block(block + 5, false, "/empty");
    wire_frame(H2_HEADERS, H2_FLAG_END_HEADERS | H2_FLAG_END_STREAM | H2_FLAG_PRIORITY, 1, block,
               n + 5);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_PROTOCOL_ERROR);
    ck_assert_uint_eq(pair.requests, 0);
}
END_TEST

/* A CONNECT of our client, and an answer with content-length: 5 that ends at once. */
static void answer_connect(const char *status, struct h2_answer *a)
{
    uint8_t head[] = {0x08, 3, 0, 0, 0, 0x0f, 0x0d, 1, '5'};
    uint8_t bytes[H2_FRAME_HEADER + sizeof(head)];
    struct h2_frame f = {.length = sizeof(head),
                         .type = H2_HEADERS,
                         .flags = H2_FLAG_END_HEADERS | H2_FLAG_END_STREAM,
                         .stream = pair.client.conn.next_own};
    memcpy(head + 2, status, 3);
    h2_pair_request(HTTP_CONNECT, "", false, a);
    memcpy(h2_frame_write(bytes, &f), head, sizeof(head));
    h2_pair_inject(&pair.client, bytes, sizeof(bytes));
    h2_pair_serve();
}

/* RFC 9110 9.3.6 */
START_TEST(a_tunnel_has_no_content_length)
{
    struct h2_answer a, b;
    h2_pair_connect();
    h2_pair_run();
    answer_connect("200", &a);
    ck_assert_uint_eq(a.status, 200);
    ck_assert_ptr_nonnull(a.stream);
    answer_connect("404", &b); /* and is none, so that the content is missing */
    ck_assert_uint_eq(b.heads, 0);
    ck_assert_uint_eq(b.reset, STREAM_RESET);
    stream_abort(&a.stream->stream);
}
END_TEST

UNIT_MAIN("headers", h2_pair_setup, h2_pair_teardown, only_a_client_opens_streams_and_only_in_order,
          a_block_for_a_closed_stream_is_judged_by_how_it_closed,
          a_stream_that_was_closed_long_ago_costs_a_glitch, a_head_behind_the_end_resets_the_stream,
          trailers_end_a_request_or_are_malformed, content_is_as_long_as_it_was_said_to_be,
          so_many_streams_may_be_open_and_no_more, the_last_stream_of_all_begins_the_end,
          a_stream_beyond_our_goaway_is_read_and_not_served,
          a_block_that_does_not_decode_ends_the_connection, too_many_fields_are_answered_431,
          a_stream_may_not_depend_on_itself, a_tunnel_has_no_content_length)
