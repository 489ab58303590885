/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

static struct h2_conn *const server = &pair.server.conn;

static struct http_stream *stream_at(uint32_t id)
{
    struct h2_stream *s = h2_streams_find(&server->streams, id);
    ck_assert_ptr_nonnull(s);
    return &s->http;
}

static void expect_all_credit(void)
{
    ck_assert_int_eq(server->receive_window + server->credit, pair.settings[1].connection_window);
}

START_TEST(an_abort_says_cancel_unless_the_service_says_otherwise)
{
    wire_greet();
    wire_request(1, "/echo", false);
    wire_request(3, "/echo", false);
    wire_take(true);
    stream_abort(&stream_at(1)->stream);
    http_abort(stream_at(3), HTTP_ABORT_CONNECT_ERROR);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_CANCEL);
    ck_assert_int_eq(wire_reset(3), H2_CONNECT_ERROR);
    ck_assert_uint_eq(server->n_objects, 0);
}
END_TEST

/* RFC 9113 8.1 */
START_TEST(an_abort_behind_the_whole_answer_is_no_error)
{
    wire_greet();
    for (uint32_t id = 1; id <= 5; id += 2) {
        wire_request(id, "/echo", false);
        wire_take(true);
        stream_end(&stream_at(id)->stream);
        wire_take(true);
        ck_assert_int_eq(h2_stream_of(&stream_at(id)->stream)->state, H2_HALF_CLOSED_LOCAL);
    }
    stream_abort(&stream_at(1)->stream);
    http_abort(stream_at(3), HTTP_ABORT_CANCEL);
    http_abort(stream_at(5), HTTP_ABORT_INTERNAL);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_NO_ERROR);
    ck_assert_int_eq(wire_reset(3), H2_NO_ERROR);
    ck_assert_int_eq(wire_reset(5), H2_INTERNAL_ERROR);
    ck_assert_uint_eq(server->n_objects, 0);
}
END_TEST

START_TEST(what_an_aborted_stream_had_not_consumed_is_credited)
{
    wire_greet();
    wire_request(1, "/echo", false);
    wire_take(true);
    wire_zeroes(H2_DATA, 0, 1, 10000);
    stream_abort(&stream_at(1)->stream);
    expect_all_credit();
    wire_take(true);
}
END_TEST

/* The rest of the frame is thrown away, and its padding was credited before. */
START_TEST(an_abort_in_the_middle_of_a_frame_loses_no_credit)
{
    uint8_t bytes[H2_FRAME_HEADER + 100] = {0};
    struct h2_frame f = {.length = 1000, .type = H2_DATA, .flags = H2_FLAG_PADDED, .stream = 1};
    wire_greet();
    wire_request(1, "/echo", false);
    wire_take(true);
    h2_frame_write(bytes, &f)[0] = 200;
    h2_pair_inject(&pair.server, bytes, sizeof(bytes));
    stream_abort(&stream_at(1)->stream);
    expect_all_credit();
    h2_pair_inject(&pair.server, (uint8_t[900]){0}, 900);
    wire_frame(H2_PING, 0, 0, "12345678", 8); /* frames go on behind it */
    wire_take(true);
    struct h2_frame ping;
    ck_assert_ptr_nonnull(wire_find(H2_PING, 0, &ping));
    expect_all_credit();
}
END_TEST

START_TEST(a_reset_delivers_what_had_come_and_drops_what_was_to_go)
{
    wire_greet();
    wire_setting(H2_SETTINGS_INITIAL_WINDOW_SIZE, 0);
    wire_request(1, "/echo", false);
    wire_zeroes(H2_DATA, 0, 1, 1000);
    wire_take(true);
    ck_assert_uint_eq(server->n_wanting, 1);
    wire_word(H2_RST_STREAM, 1, H2_CANCEL);
    ck_assert_uint_eq(server->n_wanting, 0);
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), -1);
    ck_assert_uint_eq(server->n_objects, 0);
    expect_all_credit();
}
END_TEST

/* Less than that ends the connection, more serves the request. */
START_TEST(want_of_objects_refuses_a_stream)
{
    unsigned refused = 0;
    wire_greet();
    for (size_t spare = 0; spare < 20000 && pair.requests == 0; spare += 500) {
        wire_again();
        pair.heap.limit = pair.heap.bytes + spare;
        wire_request(1, "/empty", true);
        pair.heap.limit = SIZE_MAX;
        wire_take(true);
        refused += wire_reset(1) == H2_REFUSED_STREAM && !h2_has(server, H2_CONN_FAILED);
    }
    ck_assert_uint_gt(refused, 0);
}
END_TEST

START_TEST(memory_that_a_peer_pins_has_a_bound)
{
    pair.settings[1].memory = 64u << 10;
    pair.settings[1].connection_window = 1u << 20;
    wire_greet();
    wire_request(1, "/echo", false);
    for (unsigned i = 0; i < 100 && !h2_has(server, H2_CONN_FAILED); i++)
        wire_zeroes(H2_DATA, 0, 1, 2000); /* nobody takes it */
    ck_assert(h2_has(server, H2_CONN_FAILED));
    ck_assert_uint_eq(counter_get(&pair.server.counters, COUNTER_H2_LIMIT_MEMORY), 1);
    ck_assert_uint_le(server->in_held, 4 * pair.settings[1].memory);
}
END_TEST

/* What services have queued for a client that does not read, too, as it comes and as it goes. */
START_TEST(all_that_waits_is_in_its_cost)
{
    wire_greet();
    wire_setting(H2_SETTINGS_INITIAL_WINDOW_SIZE, 1000);
    wire_request(1, "/echo", false);
    wire_take(true);
    uint32_t idle = h2_cost(server);
    wire_zeroes(H2_DATA, 0, 1, 9000);
    ck_assert_uint_ge(server->in_held, PKT_COST);
    ck_assert_uint_eq(server->out_held, 0);
    wire_take(true);
    ck_assert_uint_eq(server->in_held, 0);
    ck_assert_uint_ge(server->out_held, PKT_COST);
    ck_assert_uint_ge(h2_cost(server), idle + PKT_COST);
    wire_word(H2_WINDOW_UPDATE, 1, 8000);
    wire_take(true);
    ck_assert_uint_eq(server->out_held, 0);
    wire_zeroes(H2_DATA, 0, 1, 5000);
    wire_take(true);
    ck_assert_uint_ge(server->out_held, PKT_COST);
    wire_word(H2_RST_STREAM, 1, H2_CANCEL);
    wire_take(true);
    ck_assert_uint_eq(server->in_held + server->out_held, 0);
}
END_TEST

START_TEST(trailers_without_memory_abort_the_stream)
{
    struct http_field field = {HTTP_TEXT("x-sum"), HTTP_TEXT("1"), false};
    wire_greet();
    wire_request(1, "/echo", false);
    wire_take(true);
    pair.heap.limit = pair.heap.bytes;
    ck_assert(!http_trailers(stream_at(1), &field, 1));
    pair.heap.limit = SIZE_MAX;
    wire_take(true);
    ck_assert_int_eq(wire_reset(1), H2_CANCEL);
}
END_TEST

START_TEST(trailers_are_copied_with_their_texts)
{
    char name[] = "x-a";
    char value[] = "12";
    struct http_field field[2] = {{{name, 3}, {value, 2}, true}, {{name, 3}, {NULL, 0}, false}};
    wire_greet();
    struct h2_trailers *t = h2_trailers_copy(&pair.heap.mem, field, 2);
    memset(name, '-', 3);
    memset(value, '-', 2);
    ck_assert_uint_eq(t->n, 2);
    ck_assert(http_text_eq(t->field[0].name, HTTP_TEXT("x-a")));
    ck_assert(http_text_eq(t->field[0].value, HTTP_TEXT("12")));
    ck_assert(t->field[0].sensitive && t->field[1].value.n == 0);
    h2_trailers_free(&pair.heap.mem, t);
}
END_TEST

UNIT_MAIN("stream", h2_pair_setup, h2_pair_teardown,
          an_abort_says_cancel_unless_the_service_says_otherwise,
          an_abort_behind_the_whole_answer_is_no_error,
          what_an_aborted_stream_had_not_consumed_is_credited,
          an_abort_in_the_middle_of_a_frame_loses_no_credit,
          a_reset_delivers_what_had_come_and_drops_what_was_to_go, want_of_objects_refuses_a_stream,
          memory_that_a_peer_pins_has_a_bound, all_that_waits_is_in_its_cost,
          trailers_without_memory_abort_the_stream, trailers_are_copied_with_their_texts)
