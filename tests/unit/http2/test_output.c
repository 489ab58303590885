/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

static struct h2_conn *const server = &pair.server.conn;

static uint32_t once(uint32_t room)
{
    h2_pair_serve();
    return h2_output(server, wire_out, room, pair.now);
}

/* Lets everything through but for the connection's first window. */
static void open_windows(void)
{
    wire_setting(H2_SETTINGS_INITIAL_WINDOW_SIZE, 1u << 24);
    wire_word(H2_WINDOW_UPDATE, 0, 1u << 24);
    wire_take(true);
}

START_TEST(a_data_frame_fills_a_record)
{
    wire_greet();
    open_windows();
    wire_request(1, "/100000", true);
    uint32_t n = once(16384); /* its head, and what there is room for */
    ck_assert_uint_eq(n, 16384);
    ck_assert_uint_eq(once(16384), 16384);
    struct h2_frame f = h2_frame_parse(wire_out);
    ck_assert_uint_eq(f.type, H2_DATA);
    ck_assert_uint_eq(f.length, 16375);
}
END_TEST

START_TEST(a_peer_that_takes_more_is_given_no_more_than_a_record)
{
    wire_greet();
    open_windows();
    wire_setting(H2_SETTINGS_MAX_FRAME_SIZE, 1u << 20);
    wire_request(1, "/100000", true);
    once(16384);
    ck_assert_uint_eq(once(16384), 16384);
    ck_assert_uint_eq(h2_frame_parse(wire_out).length, 16375);
}
END_TEST

START_TEST(streams_take_turns)
{
    wire_greet();
    open_windows();
    for (uint32_t id = 1; id <= 5; id += 2)
        wire_request(id, "/60000", true);
    once(16384);
    uint32_t before = 0;
    for (unsigned i = 0; i < 6; i++) {
        once(16384);
        uint32_t id = h2_frame_parse(wire_out).stream;
        ck_assert_uint_ne(id, before);
        before = id;
    }
}
END_TEST

START_TEST(a_window_is_filled_to_its_last_byte)
{
    wire_greet();
    wire_setting(H2_SETTINGS_INITIAL_WINDOW_SIZE, 1000);
    wire_request(1, "/1500", true);
    wire_take(true);
    ck_assert_int_eq(h2_streams_find(&server->streams, 1)->send_window, 0);
    ck_assert(!h2_wants_output(server));
    wire_word(H2_WINDOW_UPDATE, 1, 499);
    wire_take(true);
    struct h2_frame f;
    ck_assert_ptr_nonnull(wire_find(H2_DATA, 1, &f));
    ck_assert_uint_eq(f.length, 499);
    ck_assert_uint_eq(f.flags, 0);
    wire_word(H2_WINDOW_UPDATE, 1, 1);
    wire_take(true);
    ck_assert_ptr_nonnull(wire_find(H2_DATA, 1, &f));
    ck_assert_uint_eq(f.length, 1);
    ck_assert_uint_eq(f.flags, H2_FLAG_END_STREAM);
}
END_TEST

/* RFC 9113 6.9.1 */
START_TEST(an_end_without_content_waits_for_no_window)
{
    struct h2_frame f;
    wire_greet();
    wire_setting(H2_SETTINGS_INITIAL_WINDOW_SIZE, 0);
    wire_request(1, "/echo", false);
    wire_zeroes(H2_DATA, H2_FLAG_END_STREAM, 1, 0);
    wire_take(true);
    ck_assert_ptr_nonnull(wire_find(H2_DATA, 1, &f));
    ck_assert_uint_eq(f.length, 0);
    ck_assert_uint_eq(f.flags, H2_FLAG_END_STREAM);
    ck_assert_uint_eq(server->streams.n, 0);
}
END_TEST

START_TEST(windows_are_opened_again_when_half_is_used)
{
    struct h2_frame f;
    pair.settings[1].stream_window = 2000;
    pair.settings[1].connection_window = 65536;
    wire_greet();
    wire_request(1, "/echo", false);
    wire_zeroes(H2_DATA, 0, 1, 999);
    wire_take(true);
    ck_assert_ptr_null(wire_find(H2_WINDOW_UPDATE, 1, &f));
    wire_zeroes(H2_DATA, 0, 1, 1);
    wire_take(true);
    const uint8_t *p = wire_find(H2_WINDOW_UPDATE, 1, &f);
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq(h2_u32(p), 1000);
    for (unsigned i = 0; i < 31; i++) {
        wire_zeroes(H2_DATA, 0, 1, 1000);
        wire_take(true);
        ck_assert_ptr_null(wire_find(H2_WINDOW_UPDATE, 0, &f));
    }
    wire_zeroes(H2_DATA, 0, 1, 768); /* 32,768 */
    wire_take(true);
    p = wire_find(H2_WINDOW_UPDATE, 0, &f);
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq(h2_u32(p), 32768);
}
END_TEST

START_TEST(a_stream_that_has_ended_is_given_no_window)
{
    struct h2_frame f;
    pair.settings[1].stream_window = 2000;
    wire_greet();
    wire_request(1, "/echo", false);
    wire_zeroes(H2_DATA, H2_FLAG_END_STREAM, 1, 2000);
    wire_take(true);
    ck_assert_ptr_null(wire_find(H2_WINDOW_UPDATE, 1, &f));
}
END_TEST

START_TEST(a_large_head_goes_in_frames_that_the_peer_takes)
{
    struct h2_frame f;
    static char value[40000];
    memset(value, '~', sizeof(value)); /* 13 bits, by Huffman: literal is shorter */
    struct http_field field = {HTTP_TEXT("x-big"), {value, sizeof(value)}, false};
    struct http_head h = {
        .status = 200, .content_length = HTTP_LENGTH_NONE, .field = &field, .n_fields = 1};
    wire_greet();
    wire_request(1, "/echo", false);
    ck_assert(h2_head_output(server, 1, &h, false));
    wire_n = 0; /* the response to /echo comes before it */
    wire_take(false);
    const uint8_t *p = wire_find(H2_CONTINUATION, 1, &f);
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq(f.length, 16384);
    ck_assert_uint_eq(f.flags, 0);
    f = h2_frame_parse(p + f.length);
    ck_assert_uint_eq(f.type, H2_CONTINUATION);
    ck_assert_uint_eq(f.flags, H2_FLAG_END_HEADERS);
}
END_TEST

/* Whatever fails, nothing is lost and nothing leaks (h2_pair_teardown). */
START_TEST(memory_may_fail_at_any_place)
{
    for (size_t spare = 0; spare < 60000; spare += 97) {
        struct h2_answer a, b;
        if (spare > 0) {
            h2_pair_teardown();
            h2_pair_setup();
        }
        h2_pair_connect();
        pair.heap.limit = pair.heap.bytes + spare;
        h2_pair_request(HTTP_POST, "/echo", false, &a);
        if (a.stream)
            stream_write(&a.stream->stream, vec_of_const("0123456789", 10));
        if (a.stream && !stream_over(&a.stream->stream))
            stream_end(&a.stream->stream);
        h2_pair_request(HTTP_GET, "/100000", true, &b);
        h2_pair_run();
        pair.heap.limit = SIZE_MAX;
    }
}
END_TEST

START_TEST(packets_may_run_out_at_any_place)
{
    for (size_t spare = 0; spare < 40; spare++) {
        struct h2_answer a;
        if (spare > 0) {
            h2_pair_teardown();
            h2_pair_setup();
        }
        h2_pair_connect();
        h2_pair_run();
        wire_request(1, "/echo", false);
        for (unsigned i = 0; i < 10; i++) {
            struct h2_frame f = {.length = 10, .type = H2_DATA, .stream = 1};
            uint8_t bytes[2 * (H2_FRAME_HEADER + 10)] = {0};
            h2_frame_write(bytes, &f);
            h2_frame_write(bytes + H2_FRAME_HEADER + 10, &f);
            struct pkt *p = heap_pkt(&pair.pool, bytes, sizeof(bytes), 0);
            pair.pool.limit = pair.pool.held + (spare > i ? spare - i : 0);
            h2_input(server, p, pair.now);
            pair.pool.limit = SIZE_MAX;
        }
        wire_take(true);
        ck_assert(!h2_has(server, H2_CONN_FAILED));
        h2_pair_request(HTTP_GET, "/5", true, &a);
        stream_abort(&a.stream->stream);
    }
}
END_TEST

UNIT_MAIN("output", h2_pair_setup, h2_pair_teardown, a_data_frame_fills_a_record,
          a_peer_that_takes_more_is_given_no_more_than_a_record, streams_take_turns,
          a_window_is_filled_to_its_last_byte, an_end_without_content_waits_for_no_window,
          windows_are_opened_again_when_half_is_used, a_stream_that_has_ended_is_given_no_window,
          a_large_head_goes_in_frames_that_the_peer_takes, memory_may_fail_at_any_place,
          packets_may_run_out_at_any_place)
