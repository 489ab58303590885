/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/rng.h"
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

/* ---- who sends next, by each policy that a listener may have ---- */

static const enum sched_policy by[] = {SCHED_DEFICIT, SCHED_ROUND_ROBIN, SCHED_URGENCY, SCHED_TREE};
#define POLICIES (sizeof(by) / sizeof(by[0]))
#define FRAME    16384u

static uint8_t text[1u << 20];

/* The first window of streams, and that of the connection. */
static void greet_by(enum sched_policy policy, uint32_t stream_window, uint32_t window)
{
    h2_pair_connect();
    h2_schedule(server, policy);
    h2_pair_inject(&pair.server, H2_PREFACE, H2_PREFACE_SIZE);
    wire_setting(H2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window);
    wire_zeroes(H2_SETTINGS, H2_FLAG_ACK, 0, 0);
    if (window > H2_WINDOW_FIRST)
        wire_word(H2_WINDOW_UPDATE, 0, window - H2_WINDOW_FIRST);
    wire_take(true);
}

/* For the next policy. */
static void part(void)
{
    struct h2_settings same = pair.settings[1];
    h2_pair_teardown();
    h2_pair_setup();
    pair.settings[1] = same;
}

static struct h2_stream *stream_at(uint32_t id)
{
    struct h2_stream *s = h2_streams_find(&server->streams, id);
    ck_assert_ptr_nonnull(s);
    return s;
}

/* A request that goes on, whose answer has begun. */
static struct h2_stream *ask(uint32_t id)
{
    wire_request(id, "/echo", false);
    wire_take(true);
    return stream_at(id);
}

/* More of the answer. */
static struct stream *promise(uint32_t id, uint32_t n)
{
    struct stream *s = &stream_at(id)->http.stream;
    ck_assert(stream_write(s, vec_of_const(text, n)));
    return s;
}

/* Adds whose DATA frames come in an output of so much room: stream 1 is a, 3 is b. */
static void add_order(char *names, uint32_t room)
{
    char *end = names + strlen(names);
    h2_pair_serve();
    wire_n = h2_output(server, wire_out, room, pair.now);
    for (uint32_t at = 0; at < wire_n;) {
        struct h2_frame f = h2_frame_parse(wire_out + at);
        if (f.type == H2_DATA && f.length > 0)
            *end++ = (char)('a' + f.stream / 2);
        at += H2_FRAME_HEADER + f.length;
    }
    *end = 0;
}

/* By urgency these go one after the other, else each in turn. */
static void expect_order(enum sched_policy policy, const char *in_turn, const char *one_by_one)
{
    char names[64] = "";
    add_order(names, sizeof(wire_out));
    ck_assert_str_eq(names, policy == SCHED_URGENCY ? one_by_one : in_turn);
}

/* Reset by the other side, aborted by the service, ended in order: each third. */
static void close_somehow(uint32_t id)
{
    struct h2_stream *s = h2_streams_find(&server->streams, id);
    if (!s)
        return;
    switch (id / 2 % 3) {
    case 0: wire_word(H2_RST_STREAM, id, H2_CANCEL); break;
    case 1: stream_abort(&s->http.stream); break;
    default: wire_zeroes(H2_DATA, H2_FLAG_END_STREAM, id, 0); break;
    }
}

/* From stream `first` on; a few are open at a time, and both windows are used up soon. */
static void open_and_close(uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = first + 2 * i;
        ask(id);
        if (id / 2 % 3 < 2)
            promise(id, 1000);
        if (i >= 8)
            close_somehow(id - 16);
        wire_take(true);
    }
    for (uint32_t i = n > 8 ? n - 8 : 0; i < n; i++)
        close_somehow(first + 2 * i);
    wire_take(true);
}

START_TEST(ten_thousand_opens_and_closes_without_an_update_leave_nothing)
{
    struct h2_settings *set = &pair.settings[1];
    set->glitches = set->rst_burst = 1u << 20;
    for (unsigned p = 0; p < POLICIES; p++) {
        greet_by(by[p], H2_WINDOW_FIRST, H2_WINDOW_FIRST);
        open_and_close(1, 500);
        ck_assert_int_eq(server->send_window, 0);
        size_t bytes = pair.heap.bytes;
        open_and_close(1001, 9500);
        ck_assert(!h2_has(server, H2_CONN_FAILED));
        ck_assert_uint_eq(server->requests, 10000);
        ck_assert_uint_eq(server->n_objects, 0);
        ck_assert_uint_eq(server->n_wanting, 0);
        ck_assert(sched_empty(&server->sched));
        ck_assert_uint_le(server->priorities.n_kept, set->max_streams + H2_KEPT_MORE);
        ck_assert_uint_le(pair.heap.bytes,
                          bytes + (by[p] == SCHED_TREE ? h2_priorities_cost(server) : 0));
        part();
    }
}
END_TEST

/* ---- streams that close in the middle of things ---- */

static struct {
    struct stream *neighbour; /* aborted, too */
    unsigned writable, ended;
} closing;

static void abort_both(struct stream *s)
{
    struct stream *neighbour = closing.neighbour;
    closing.neighbour = NULL;
    stream_abort(s);
    if (neighbour)
        stream_abort(neighbour);
}

static void abort_when_writable(struct stream *s)
{
    closing.writable++;
    abort_both(s);
}

static void abort_when_ended(struct stream *s)
{
    closing.ended++;
    abort_both(s);
}

static void answer_head(struct http_stream *s, const struct http_head *h, bool end)
{
    struct http_head answer = {.status = 200, .content_length = HTTP_LENGTH_NONE};
    (void)h;
    (void)end;
    http_respond(s, &answer, false);
}

static void drop_data(struct stream *s, struct pkt *view, bool end)
{
    (void)end;
    if (view)
        stream_consume(s, view->len);
    pkt_free(view);
}

static const struct http_service closing_service = {.stream = {.name = "closing",
                                                               .http = true,
                                                               .data = drop_data,
                                                               .writable = abort_when_writable,
                                                               .ended = abort_when_ended},
                                                    .head = answer_head};

/* Frames until nothing comes any more, services in between. Returns bytes of stream id's content.
 */
static uint32_t drain(uint32_t id)
{
    uint32_t bytes = 0;
    for (h2_pair_serve(); (wire_n = h2_output(server, wire_out, FRAME, pair.now)) > 0;
         h2_pair_serve()) {
        for (uint32_t at = 0; at < wire_n;) {
            struct h2_frame f = h2_frame_parse(wire_out + at);
            if (f.type == H2_DATA && f.stream == id)
                bytes += f.length;
            at += H2_FRAME_HEADER + f.length;
        }
    }
    return bytes;
}

/* Stream 1, made writable by its own frame, closes itself and 3; 5 goes on. */
START_TEST(a_stream_may_close_inside_its_own_turn)
{
    for (unsigned p = 0; p < POLICIES; p++) {
        greet_by(by[p], 1u << 20, 1u << 20);
        server->service = &closing_service;
        memset(&closing, 0, sizeof(closing));
        for (uint32_t id = 1; id <= 5; id += 2)
            ask(id);
        promise(1, H2_STREAM_HIGH);
        closing.neighbour = promise(3, 60000);
        promise(5, 50000);
        ck_assert_uint_eq(drain(5), 50000);
        ck_assert_uint_eq(closing.writable, 1);
        ck_assert_uint_eq(server->streams.n, 1);
        ck_assert(sched_empty(&server->sched));
        part();
    }
}
END_TEST

/* The last frame of 1 ends it, within the output; its service then closes 3. */
START_TEST(a_stream_may_end_by_its_own_frame)
{
    for (unsigned p = 0; p < POLICIES; p++) {
        greet_by(by[p], 1u << 20, 1u << 20);
        server->service = &closing_service;
        memset(&closing, 0, sizeof(closing));
        for (uint32_t id = 1; id <= 5; id += 2)
            ask(id);
        wire_zeroes(H2_DATA, H2_FLAG_END_STREAM, 1, 0);
        stream_end(promise(1, 20000));
        closing.neighbour = promise(3, 60000);
        promise(5, 50000);
        ck_assert_uint_eq(drain(5), 50000);
        ck_assert_uint_eq(closing.ended, 1);
        ck_assert_uint_eq(server->streams.n, 1);
        ck_assert(sched_empty(&server->sched));
        part();
    }
}
END_TEST

/* ---- ready, and not ready ---- */

START_TEST(ready_by_three_paths_is_ready_once)
{
    for (unsigned p = 0; p < POLICIES; p++) {
        greet_by(by[p], 0, 1u << 20);
        ask(1);
        ask(3);
        promise(1, FRAME);
        promise(3, 3 * FRAME);
        ck_assert(sched_empty(&server->sched));
        wire_setting(H2_SETTINGS_INITIAL_WINDOW_SIZE, FRAME);
        wire_word(H2_WINDOW_UPDATE, 1, 2 * FRAME);
        wire_word(H2_WINDOW_UPDATE, 3, 2 * FRAME);
        promise(1, 2 * FRAME);
        ck_assert_uint_eq(server->sched.n, 2);
        expect_order(by[p], "ababab", "aaabbb");
        ck_assert(sched_empty(&server->sched));
        part();
    }
}
END_TEST

/* Whose frames come, where the connection's window opens by so much, again and again. */
static void order_by_steps(enum sched_policy policy, uint32_t step, char *names)
{
    greet_by(policy, 1u << 20, 4 * FRAME);
    for (uint32_t id = 1; id <= 7; id += 2)
        ask(id);
    for (uint32_t id = 1; id <= 7; id += 2)
        promise(id, id < 7 ? 5 * FRAME : FRAME);
    for (unsigned frames = 0; frames < 16; frames = (unsigned)strlen(names)) {
        while (server->send_window > 0)
            add_order(names, FRAME + H2_FRAME_HEADER);
        struct sched before;
        memcpy(&before, &server->sched, sizeof(before)); /* with what is between members */
        ck_assert_uint_eq(h2_output(server, wire_out, FRAME, pair.now), 0);
        ck_assert(!h2_wants_output(server));
        ck_assert_mem_eq(&before, &server->sched, sizeof(before));
        wire_word(H2_WINDOW_UPDATE, 0, step);
        ck_assert_mem_eq(&before, &server->sched, sizeof(before));
        if (sched_empty(&server->sched))
            break;
    }
}

START_TEST(nothing_rotates_while_the_connections_window_is_shut)
{
    for (unsigned p = 0; p < POLICIES; p++) {
        char at_once[64] = "", by_steps[64] = "";
        order_by_steps(by[p], 12 * FRAME, at_once);
        part();
        order_by_steps(by[p], FRAME, by_steps);
        part();
        ck_assert_uint_eq(strlen(at_once), 16);
        ck_assert_str_eq(by_steps, at_once);
    }
}
END_TEST

/* Stream 1 closes in the middle of its turn, and 5 has its memory before the next frame. */
START_TEST(a_slot_used_again_has_nothing_of_the_last_stream)
{
    pair.settings[1].sched.quantum = 8 * FRAME;
    for (unsigned p = 0; p < POLICIES; p++) {
        greet_by(by[p], 1u << 20, 4 * FRAME);
        const struct h2_stream *gone = ask(1);
        ask(3);
        promise(1, 5 * FRAME);
        promise(3, 5 * FRAME);
        char names[64] = "";
        for (unsigned i = 0; i < 4; i++)
            add_order(names, FRAME + H2_FRAME_HEADER);
        ck_assert_int_eq(server->send_window, 0);
        wire_word(H2_RST_STREAM, 1, H2_CANCEL);
        wire_take(true); /* frees it */
        wire_word(H2_RST_STREAM, 1, H2_CANCEL);
        wire_word(H2_WINDOW_UPDATE, 1, FRAME);
        struct h2_stream *s = ask(5);
        promise(5, 2 * FRAME);
        ck_assert_ptr_eq(s, gone);
        ck_assert_int_eq(s->send_window, 1 << 20);
        ck_assert_uint_eq(s->sent, 0);
        ck_assert_int_eq(s->place.node.deficit, 0);
        wire_word(H2_WINDOW_UPDATE, 0, 1u << 20);
        names[0] = 0;
        add_order(names, sizeof(wire_out));
        ck_assert_ptr_null(strchr(names, 'a'));
        ck_assert_ptr_nonnull(strstr(names, "c"));
        ck_assert(sched_empty(&server->sched));
        part();
    }
}
END_TEST

/* ---- windows ---- */

#define OPEN 4u

/* Both windows as the other side counts them. */
static struct {
    int64_t connection, stream[OPEN];
    uint32_t first;
} window;

static void expect_within_windows(void)
{
    for (uint32_t at = 0; at < wire_n;) {
        struct h2_frame f = h2_frame_parse(wire_out + at);
        at += H2_FRAME_HEADER + f.length;
        if (f.type != H2_DATA || f.length == 0)
            continue;
        ck_assert_int_le(f.length, window.connection);
        ck_assert_int_le(f.length, window.stream[f.stream / 2]);
        window.connection -= f.length;
        window.stream[f.stream / 2] -= f.length;
    }
}

/* Whatever both windows allow has been sent. */
static void expect_no_room_left(void)
{
    for (uint32_t i = 0; i < OPEN; i++) {
        bool waits = vec_queue_bytes(&stream_at(2 * i + 1)->http.stream.out) > 0;
        ck_assert(!waits || window.connection == 0 || window.stream[i] <= 0);
    }
}

static void change_windows(struct rng *rng)
{
    uint32_t i = (uint32_t)rng_below(rng, OPEN), n = 1 + (uint32_t)rng_below(rng, 20000);
    struct stream *s = &stream_at(2 * i + 1)->http.stream;
    switch (rng_below(rng, 8)) {
    case 0:
        wire_word(H2_WINDOW_UPDATE, 0, n);
        window.connection += n;
        break;
    case 1:
        wire_word(H2_WINDOW_UPDATE, 2 * i + 1, n);
        window.stream[i] += n;
        break;
    case 2: /* RFC 9113 6.9.2: windows may be below 0 after it */
        wire_setting(H2_SETTINGS_INITIAL_WINDOW_SIZE, n);
        for (uint32_t k = 0; k < OPEN; k++)
            window.stream[k] += (int64_t)n - window.first;
        window.first = n;
        break;
    default:
        if (stream_writable(s))
            stream_write(s, vec_of_const(text, n));
    }
}

START_TEST(no_offer_exceeds_the_smaller_window)
{
    pair.settings[1].settings_burst = 1u << 20;
    pair.settings[1].glitches = 1u << 20;
    for (unsigned p = 0; p < POLICIES; p++) {
        struct rng rng;
        rng_seed(&rng, p);
        greet_by(by[p], 1000, H2_WINDOW_FIRST);
        window.connection = H2_WINDOW_FIRST;
        window.first = 1000;
        for (uint32_t i = 0; i < OPEN; i++) {
            window.stream[i] = 1000;
            ask(2 * i + 1);
        }
        for (unsigned n = 0; n < 2000; n++) {
            change_windows(&rng);
            wire_take(true);
            expect_within_windows();
            expect_no_room_left();
        }
        ck_assert(!h2_has(server, H2_CONN_FAILED));
        part();
    }
}
END_TEST

/* RFC 9113 6.9.1. Stream 3 and the connection are shut; 1 has nothing to send but its end. */
START_TEST(an_end_without_content_waits_for_neither_window)
{
    for (unsigned p = 0; p < POLICIES; p++) {
        struct h2_frame f;
        greet_by(by[p], H2_WINDOW_FIRST, H2_WINDOW_FIRST);
        ask(1);
        ask(3);
        struct stream *s = promise(1, H2_WINDOW_FIRST);
        wire_take(true);
        promise(3, 1000);
        wire_take(true);
        ck_assert_uint_eq(vec_queue_bytes(&s->out), 0);
        ck_assert_int_eq(server->send_window, 0);
        ck_assert_int_eq(stream_at(1)->send_window, 0);
        stream_end(s);
        wire_take(true);
        ck_assert_ptr_nonnull(wire_find(H2_DATA, 1, &f));
        ck_assert_uint_eq(f.length, 0);
        ck_assert_uint_eq(f.flags, H2_FLAG_END_STREAM);
        part();
    }
}
END_TEST

static void setup(void)
{
    h2_pair_setup();
}

static void teardown(void)
{
    if (pair.server.conn.h2)
        h2_pair_teardown();
}

UNIT_MAIN("output", setup, teardown, a_data_frame_fills_a_record,
          a_peer_that_takes_more_is_given_no_more_than_a_record, streams_take_turns,
          a_window_is_filled_to_its_last_byte, an_end_without_content_waits_for_no_window,
          windows_are_opened_again_when_half_is_used, a_stream_that_has_ended_is_given_no_window,
          a_large_head_goes_in_frames_that_the_peer_takes, memory_may_fail_at_any_place,
          packets_may_run_out_at_any_place,
          ten_thousand_opens_and_closes_without_an_update_leave_nothing,
          a_stream_may_close_inside_its_own_turn, a_stream_may_end_by_its_own_frame,
          ready_by_three_paths_is_ready_once, nothing_rotates_while_the_connections_window_is_shut,
          a_slot_used_again_has_nothing_of_the_last_stream, no_offer_exceeds_the_smaller_window,
          an_end_without_content_waits_for_neither_window)
