/* SPDX-License-Identifier: BSD-3-Clause */
/* A client and a server of ours, and what passes between them. */
#include "pair.h"

#include <string.h>

static void setup(void)
{
    h2_pair_setup();
}

static void teardown(void)
{
    h2_pair_teardown();
}

static void again(void)
{
    teardown();
    setup();
}

static uint64_t counted(const struct h2_side *s, enum counter which)
{
    return counter_get(&s->counters, which);
}

START_TEST(settings_are_exchanged)
{
    h2_pair_connect();
    h2_pair_run();
    ck_assert(h2_has(&pair.client.conn, H2_CONN_SETTINGS_DONE));
    ck_assert(h2_has(&pair.server.conn, H2_CONN_SETTINGS_DONE));
    ck_assert(h2_has(&pair.client.conn, H2_CONN_ACKED));
    ck_assert(h2_has(&pair.server.conn, H2_CONN_ACKED));
    ck_assert_uint_eq(pair.client.conn.peers.max_streams, pair.settings[1].max_streams);
    ck_assert_uint_eq(pair.client.conn.peers.initial_window, pair.settings[1].stream_window);
    ck_assert_int_eq(pair.client.conn.send_window, pair.settings[1].connection_window);
}
END_TEST

START_TEST(a_request_is_answered)
{
    struct h2_answer a;
    h2_pair_connect();
    ck_assert_ptr_nonnull(h2_pair_request(HTTP_GET, "/11", true, &a));
    h2_pair_run();
    ck_assert_uint_eq(a.status, 200);
    ck_assert_uint_eq(a.bytes, 11);
    ck_assert_uint_eq(a.sum, 55);
    ck_assert(a.ended);
    ck_assert_uint_eq(pair.requests, 1);
    ck_assert_uint_eq(pair.server.conn.n_objects, 0);
    ck_assert_uint_eq(pair.client.conn.n_objects, 0);
    ck_assert_uint_eq(counted(&pair.server, COUNTER_H2_REQUESTS), 1);
}
END_TEST

START_TEST(an_answer_without_content_ends_with_its_head)
{
    struct h2_answer a;
    h2_pair_connect();
    h2_pair_request(HTTP_GET, "/empty", true, &a);
    h2_pair_run();
    ck_assert_uint_eq(a.status, 204);
    ck_assert(a.head_end && a.ended);
}
END_TEST

/* Sizes of the views in which it comes. */
static const uint32_t pieces[] = {0, 1, 7, 9, 1000};
#define PIECES (sizeof(pieces) / sizeof(pieces[0]))

/* Views as short as that have no room for others, and each counts as a whole packet. */
static void cut_into(uint32_t piece)
{
    pair.piece = piece;
    pair.settings[0].memory = pair.settings[1].memory = 1u << 30;
}

static void download(void)
{
    struct h2_answer a[3];
    pair.settings[0].stream_window = 5000;
    h2_pair_connect();
    for (unsigned i = 0; i < 3; i++)
        h2_pair_request(HTTP_GET, "/200000", true, &a[i]);
    h2_pair_run();
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(a[i].bytes, 200000);
        ck_assert(a[i].ended);
        ck_assert_uint_eq(a[i].sum, a[0].sum);
    }
    ck_assert_uint_eq(counted(&pair.server, COUNTER_H2_TX_CONTENT), 600000);
}

START_TEST(content_comes_whole)
{
    for (unsigned i = 0; i < PIECES; i++) {
        if (i > 0)
            again();
        cut_into(pieces[i]);
        download();
    }
}
END_TEST

static void upload(struct h2_answer *a, uint32_t n)
{
    static uint8_t bytes[100000];
    memset(bytes, 1, sizeof(bytes));
    struct http_stream *s = h2_pair_request(HTTP_POST, "/echo", false, a);
    ck_assert(stream_write(&s->stream, vec_of_const(bytes, n)));
}

START_TEST(an_upload_comes_back)
{
    for (unsigned i = 0; i < PIECES; i++) {
        struct h2_answer a;
        if (i > 0)
            again();
        cut_into(pieces[i]);
        h2_pair_connect();
        uint32_t n = pieces[i] > 0 && pieces[i] < 100 ? 10000 : 100000;
        upload(&a, n);
        stream_end(&a.stream->stream);
        h2_pair_run();
        ck_assert_uint_eq(a.bytes, n);
        ck_assert_uint_eq(a.sum, n);
        ck_assert(a.ended);
    }
}
END_TEST

START_TEST(trailers_pass_both_ways)
{
    struct h2_answer a;
    struct http_field field = {HTTP_TEXT("x-sum"), HTTP_TEXT("1"), false};
    h2_pair_connect();
    upload(&a, 10);
    http_trailers(a.stream, &field, 1);
    h2_pair_run();
    ck_assert_uint_eq(a.bytes, 10);
    ck_assert_uint_eq(a.trailers, 1);
    ck_assert(a.ended);
}
END_TEST

START_TEST(an_abort_resets_the_stream_alone)
{
    struct h2_answer a, b;
    h2_pair_connect();
    upload(&a, 10);
    h2_pair_run();
    stream_abort(&a.stream->stream);
    h2_pair_request(HTTP_GET, "/5", true, &b);
    h2_pair_run();
    ck_assert_uint_eq(b.bytes, 5);
    ck_assert_uint_eq(pair.server.conn.n_objects, 0);
    ck_assert_uint_eq(counted(&pair.server, COUNTER_H2_RESETS_RX), 1);
}
END_TEST

START_TEST(a_graceful_end_serves_what_is_open)
{
    struct h2_answer a, b;
    h2_pair_connect();
    upload(&a, 10);
    h2_pair_run();
    h2_shutdown(&pair.server.conn, pair.now);
    h2_pair_run();
    ck_assert(h2_has(&pair.server.conn, H2_CONN_CLOSING));
    ck_assert_ptr_null(h2_pair_request(HTTP_GET, "/5", true, &b));
    ck_assert(!h2_is_done(&pair.server.conn));
    stream_end(&a.stream->stream);
    h2_pair_run();
    ck_assert(a.ended);
    ck_assert(h2_is_done(&pair.server.conn));
    ck_assert(h2_is_done(&pair.client.conn));
}
END_TEST

START_TEST(garbage_ends_the_connection)
{
    h2_pair_connect();
    h2_pair_inject(&pair.server, "GET / HTTP/1.1\r\n\r\n", 18);
    ck_assert(h2_has(&pair.server.conn, H2_CONN_FAILED));
    ck_assert_uint_eq(pair.server.conn.error, H2_PROTOCOL_ERROR);
    uint8_t out[256];
    ck_assert_uint_gt(h2_output(&pair.server.conn, out, sizeof(out), pair.now), 0);
    ck_assert(h2_is_done(&pair.server.conn));
}
END_TEST

START_TEST(the_transport_ends_all)
{
    struct h2_answer a;
    h2_pair_connect();
    upload(&a, 10);
    h2_pair_run();
    h2_input_end(&pair.client.conn, pair.now);
    h2_pair_serve();
    ck_assert_uint_eq(a.reset, STREAM_RESET);
    ck_assert(h2_is_done(&pair.client.conn));
    h2_failed(&pair.server.conn, STREAM_TIMEOUT, pair.now);
    h2_pair_serve();
    ck_assert_uint_eq(h2_output(&pair.server.conn, (uint8_t[64]){0}, 64, pair.now), 0);
    ck_assert(h2_is_over(&pair.server.conn));
}
END_TEST

/* More than a window that is smaller than the first one came before that was in force. */
START_TEST(a_small_window_opens_again)
{
    struct h2_answer a;
    pair.settings[1].stream_window = 4096;
    h2_pair_connect();
    h2_pair_flush(&pair.client, &pair.server);
    upload(&a, 20000);
    h2_pair_flush(&pair.client, &pair.server);
    h2_pair_run();
    ck_assert(stream_write(&a.stream->stream, vec_of_const("more", 4)));
    stream_end(&a.stream->stream);
    h2_pair_run();
    ck_assert_uint_eq(a.bytes, 20004);
    ck_assert(a.ended);
}
END_TEST

/* RFC 9113 6.4: RST_STREAM for a stream that is idle would be an error of ours. */
START_TEST(a_request_that_is_too_large_leaves_nothing)
{
    struct h2_answer a;
    char path[2001] = "/";
    memset(path + 1, 'x', sizeof(path) - 2);
    pair.settings[1].header_list = 1024;
    h2_pair_connect();
    h2_pair_run();
    ck_assert_ptr_null(h2_pair_request(HTTP_GET, path, true, &a));
    ck_assert_uint_eq(pair.client.conn.n_objects, 0);
    ck_assert_int_eq(a.reset, STREAM_OK);
    h2_pair_request(HTTP_GET, "/11", true, &a);
    h2_pair_run();
    ck_assert(a.ended);
    ck_assert_uint_eq(counted(&pair.client, COUNTER_H2_RESETS_TX), 0);
    ck_assert(!h2_has(&pair.server.conn, H2_CONN_FAILED));
}
END_TEST

/* A peer of our making: its frames, after a preface and SETTINGS. */
static void begin_by_hand(void)
{
    static const char hello[] = H2_PREFACE "\0\0\0\4\0\0\0\0\0";
    h2_pair_connect();
    h2_pair_inject(&pair.server, hello, sizeof(hello) - 1);
}

/* What the server says until it says no more. */
static size_t said(uint8_t *out, size_t room)
{
    size_t n = 0;
    for (uint32_t one;
         (one = h2_output(&pair.server.conn, out + n, (uint32_t)(room - n), pair.now));)
        n += one;
    return n;
}

/* The last frame of those. */
static struct h2_frame last_frame(const uint8_t *out, size_t n, const uint8_t **payload)
{
    struct h2_frame f = {.type = UINT8_MAX};
    for (size_t at = 0; at < n; at += H2_FRAME_HEADER + f.length) {
        f = h2_frame_parse(out + at);
        *payload = out + at + H2_FRAME_HEADER;
    }
    return f;
}

/* RFC 9113 6.8 */
START_TEST(goaway_is_answered_before_the_end)
{
    uint8_t out[1024];
    const uint8_t *payload;
    begin_by_hand();
    said(out, sizeof(out));
    h2_pair_inject(&pair.server,
                   "\0\0\10\7\0\0\0\0\0"
                   "\0\0\0\0\0\0\0\0",
                   17);
    ck_assert(!h2_is_done(&pair.server.conn));
    struct h2_frame f = last_frame(out, said(out, sizeof(out)), &payload);
    ck_assert_uint_eq(f.type, H2_GOAWAY);
    ck_assert_uint_eq(h2_u32(payload + 4), H2_NO_ERROR);
    ck_assert(h2_is_done(&pair.server.conn));
    h2_shutdown(&pair.server.conn, pair.now);
    ck_assert_uint_eq(said(out, sizeof(out)), 0); /* the largest identifier may not follow */
}
END_TEST

START_TEST(goaway_without_end_is_a_glitch)
{
    static struct h2_answer a; /* of a stream that outlives the test */
    h2_pair_connect();
    upload(&a, 10);
    h2_pair_run();
    for (unsigned i = 0; i < 2000; i++)
        h2_pair_inject(&pair.server,
                       "\0\0\10\7\0\0\0\0\0"
                       "\0\0\0\0\0\0\0\0",
                       17);
    ck_assert(h2_has(&pair.server.conn, H2_CONN_FAILED));
    ck_assert_uint_eq(pair.server.conn.error, H2_ENHANCE_YOUR_CALM);
}
END_TEST

/* Opens and resets streams, whose services are not told. */
START_TEST(streams_of_which_nobody_has_heard_stop_the_input)
{
    struct h2_answer a;
    h2_pair_connect();
    h2_pair_run();
    for (unsigned i = 0; i < 256; i++) {
        upload(&a, 1);
        h2_pair_flush(&pair.client, &pair.server);
        stream_abort(&a.stream->stream);
        h2_pair_flush(&pair.client, &pair.server);
    }
    ck_assert(!h2_blocked(&pair.server.conn));
    upload(&a, 1);
    stream_abort(&a.stream->stream);
    h2_pair_flush(&pair.client, &pair.server);
    ck_assert(h2_blocked(&pair.server.conn));
    pair.server.woken = false;
    h2_pair_serve();
    ck_assert(pair.server.woken);
    h2_pair_flush(&pair.server, &pair.client);
    ck_assert(!h2_blocked(&pair.server.conn));
    ck_assert_uint_eq(pair.server.conn.n_objects, 0);
}
END_TEST

/* RFC 6585 5: with 431, or where the client takes no head at all with a reset. */
START_TEST(a_head_that_is_too_large_is_always_answered)
{
    char path[3001] = "/";
    memset(path + 1, 'x', sizeof(path) - 2);
    for (unsigned i = 0; i < 2; i++) {
        struct h2_answer a;
        if (i > 0)
            again();
        pair.settings[0].header_list = 1024;
        h2_pair_connect();
        h2_pair_run();
        pair.settings[1].header_list = 2048;
        if (i > 0)
            pair.server.conn.peers.header_list = 10;
        pair.client.conn.peers.header_list = UINT32_MAX;
        h2_pair_request(HTTP_GET, path, true, &a);
        h2_pair_run();
        ck_assert_uint_eq(a.status, i ? 0 : 431);
        ck_assert_uint_eq(a.reset, i ? STREAM_RESET : STREAM_OK);
    }
}
END_TEST

/* From its frame's header on; the largest wait is the same whatever has come of the block. */
START_TEST(headers_are_waited_for)
{
    static const char head[] = "\0\0\4\1\5\0\0\0\1"
                               "\x82\x86\x84\x41";
    for (unsigned n = H2_FRAME_HEADER; n < sizeof(head) - 1; n++) {
        if (n > H2_FRAME_HEADER)
            again();
        begin_by_hand();
        pair.server.conn.settings_at = pair.server.conn.tidy_at = TICK_NEVER;
        h2_pair_inject(&pair.server, head, n);
        ck_assert_uint_eq(h2_deadline(&pair.server.conn),
                          pair.now + pair.settings[1].headers_timeout);
        h2_expire(&pair.server.conn, h2_deadline(&pair.server.conn));
        ck_assert_uint_eq(pair.server.conn.error, H2_ENHANCE_YOUR_CALM);
    }
}
END_TEST

/* A peer that reads nothing may answer TCP's probes for ever. */
START_TEST(last_words_are_given_up_in_time)
{
    begin_by_hand();
    h2_pair_inject(&pair.server, "\0\0\0\6\0\0\0\0\0", 9);
    ck_assert(h2_has(&pair.server.conn, H2_CONN_FAILED));
    tick_t at = pair.now + pair.settings[1].drain_timeout;
    ck_assert_uint_eq(h2_deadline(&pair.server.conn), at);
    h2_expire(&pair.server.conn, at - 1);
    ck_assert(!h2_is_done(&pair.server.conn));
    h2_expire(&pair.server.conn, at);
    ck_assert(h2_is_done(&pair.server.conn));
    ck_assert_uint_eq(h2_deadline(&pair.server.conn), TICK_NEVER);
}
END_TEST

/* RFC 9113 5.1.2 */
START_TEST(a_client_keeps_to_the_number_of_streams)
{
    struct h2_answer a;
    static struct h2_answer b; /* of a stream that outlives the test */
    pair.settings[1].max_streams = 1;
    h2_pair_connect();
    h2_pair_run();
    upload(&a, 1);
    ck_assert_ptr_null(h2_pair_request(HTTP_GET, "/5", true, &b));
    stream_end(&a.stream->stream);
    h2_pair_run();
    ck_assert(a.ended);
    ck_assert_ptr_nonnull(h2_pair_request(HTTP_GET, "/5", true, &b));
}
END_TEST

static void inject(const char *bytes, size_t n)
{
    h2_pair_inject(&pair.server, bytes, n);
    ck_assert_msg(!h2_has(&pair.server.conn, H2_CONN_FAILED), "%u", pair.server.conn.error);
}
#define INJECT(literal) inject(literal, sizeof(literal) - 1)

/* RFC 9113 6.8: the table follows their blocks, and the window their content. */
START_TEST(streams_beyond_goaway_are_passed_over)
{
    struct h2_conn *c = &pair.server.conn;
    uint8_t out[1024];
    begin_by_hand();
    INJECT("\0\0\6\1\4\0\0\0\1"
           "\x83\x87\x84\x41\1a"); /* not ended */
    h2_shutdown(c, pair.now);
    INJECT("\0\0\10\6\1\0\0\0\0"
           "millrace");
    ck_assert(h2_has(c, H2_CONN_CLOSING));
    ck_assert_uint_eq(c->goaway_sent, 1);
    int64_t window = c->receive_window + c->credit;
    INJECT("\0\0\11\1\4\0\0\0\3"
           "\x82\x87\x84\xbe\x40\1x\1y");
    INJECT("\0\0\5\0\1\0\0\0\3"
           "hello");
    INJECT("\0\0\4\1\5\0\0\0\5"
           "\x82\x87\x84\xbf"); /* :authority has moved on by one */
    said(out, sizeof(out));
    ck_assert_uint_eq(pair.requests, 1);
    ck_assert_int_eq(c->receive_window + c->credit, window);
    ck_assert_uint_eq(c->streams.n, 1);
}
END_TEST

#define CONNECT_HEAD "\2\7CONNECT\1" /* and its :authority, in clear */

/* RFC 9113 8.5, RFC 9110 9.3.6 */
START_TEST(what_is_no_tunnel_is_not_waited_for)
{
    uint8_t out[1024];
    const uint8_t *payload;
    begin_by_hand();
    INJECT("\0\0\23\1\4\0\0\0\1" CONNECT_HEAD "\10nobody:1");
    ck_assert_uint_eq(pair.server.conn.streams.n, 1);
    said(out, sizeof(out));
    pair.now += H2_EARLY_TIME;
    h2_expire(&pair.server.conn, pair.now);
    ck_assert_uint_eq(pair.server.conn.streams.n, 0);
    struct h2_frame f = last_frame(out, said(out, sizeof(out)), &payload);
    ck_assert_uint_eq(f.type, H2_RST_STREAM);
    ck_assert_uint_eq(h2_u32(payload), H2_NO_ERROR);
}
END_TEST

START_TEST(a_tunnel_takes_content_alone)
{
    uint8_t out[1024];
    const uint8_t *payload;
    begin_by_hand();
    INJECT("\0\0\23\1\4\0\0\0\1" CONNECT_HEAD "\10tunnel:1");
    INJECT("\0\0\5\0\0\0\0\0\1"
           "hello");
    INJECT("\0\0\5\1\5\0\0\0\1"
           "\0\1x\1y");
    struct h2_frame f = last_frame(out, said(out, sizeof(out)), &payload);
    ck_assert_uint_eq(f.type, H2_RST_STREAM);
    ck_assert_uint_eq(h2_u32(payload), H2_PROTOCOL_ERROR);
}
END_TEST

/* What a connection holds once nothing was asked for some time: the tables of HPACK, in short, and
 * what its object has. It goes on as before. */
START_TEST(an_idle_connection_holds_little)
{
    struct h2_answer a;
    h2_pair_connect();
    for (unsigned i = 0; i < 3; i++) {
        h2_pair_request(HTTP_GET, "/11", true, &a);
        h2_pair_run();
        ck_assert_uint_eq(a.status, 200);
        ck_assert_uint_eq(a.sum, 55);
        size_t busy = pair.heap.bytes;
        pair.now += 2 * TICK_SEC;
        h2_expire(&pair.client.conn, pair.now);
        h2_expire(&pair.server.conn, pair.now);
        ck_assert_uint_lt(pair.heap.bytes, busy - (size_t)2 * 3000);
        ck_assert_uint_eq(h2_cost(&pair.server.conn), 0);
    }
    ck_assert_uint_eq(pair.requests, 3);
}
END_TEST

/* Not even WINDOW_UPDATE, though content that nobody takes any more is credited. */
START_TEST(a_failed_connection_wants_nothing)
{
    uint8_t out[1024];
    struct h2_conn *c = &pair.server.conn;
    begin_by_hand();
    h2_credit(c, pair.settings[1].connection_window / 2);
    h2_fail(c, H2_PROTOCOL_ERROR);
    ck_assert(h2_has(c, H2_CONN_WINDOW_DUE));
    ck_assert(h2_wants_output(c));
    said(out, sizeof(out));
    ck_assert(!h2_wants_output(c));
}
END_TEST

UNIT_MAIN("conn", setup, teardown, settings_are_exchanged, a_request_is_answered,
          an_answer_without_content_ends_with_its_head, content_comes_whole, an_upload_comes_back,
          trailers_pass_both_ways, an_abort_resets_the_stream_alone,
          a_graceful_end_serves_what_is_open, garbage_ends_the_connection, the_transport_ends_all,
          a_small_window_opens_again, a_request_that_is_too_large_leaves_nothing,
          goaway_is_answered_before_the_end, goaway_without_end_is_a_glitch,
          streams_of_which_nobody_has_heard_stop_the_input,
          a_head_that_is_too_large_is_always_answered, headers_are_waited_for,
          last_words_are_given_up_in_time, a_client_keeps_to_the_number_of_streams,
          streams_beyond_goaway_are_passed_over, what_is_no_tunnel_is_not_waited_for,
          a_tunnel_takes_content_alone, an_idle_connection_holds_little,
          a_failed_connection_wants_nothing)
