/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client and a server of ours, joined, whose services do what the input says: requests,
 * responses, content, ends, trailers, aborts, holds, late consumption; over a transport that cuts
 * where it likes and may end, while packets and memory may run out and time may pass; streams are
 * scheduled by any policy of a listener, and the client says priorities. The models:
 * what a stream brings is what its other side wrote, in order, and all of it where nobody aborted
 * and nothing was short; no credit is lost; who has something to send has said so; all streams that
 * were opened are closed, and no memory is left.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "http2/internal.h"
#include "support/heap.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define OPS_MAX     400u
#define STREAMS_MAX 64u
#define ROUNDS_MAX  4000u

/* What a service knows of its stream. */
struct talk {
    struct http_stream *s; /* NULL: not begun, or over */
    uint32_t written;
    uint32_t read;
    uint32_t trailers;
    bool begun;
    bool late;   /* consumes only when it is told to */
    bool tunnel; /* CONNECT */
    bool answer_is_head_only;
    bool in_end;
    bool out_end;
    bool whole; /* what it wrote went out in order, as far as it knows */
    bool early; /* a server: it answered before the request was whole, and may see less of it */
    bool aborted;
    bool reset;
};

struct side {
    struct h2 h2;
    struct http_env env;
    struct counters counters;
    struct h2_conn conn;
    struct h2_settings settings;
    struct http_peer peer;
    struct talk talk[STREAMS_MAX];
    bool woken; /* or given something: output is due */
};

static struct heap heap;
static struct heap_pool pool;
static struct side client;
static struct side server;
static tick_t now;
static bool rough; /* something was short, or late, or cut off: streams may fail */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct side *side_of(const struct http_stream *s)
{
    return h2_stream_of((struct stream *)&s->stream)->conn == &client.conn ? &client : &server;
}

static uint32_t index_of(const struct http_stream *s)
{
    return h2_stream_of((struct stream *)&s->stream)->id / 2;
}

static struct talk *talk_of(struct stream *s)
{
    return &side_of(http_of(s))->talk[index_of(http_of(s))];
}

/* Byte `at` of what that side writes in a stream. */
static uint8_t content(const struct side *from, uint32_t stream, uint32_t at)
{
    return (uint8_t)(at * 31 + (at >> 8) + stream * 3 + (from == &client ? 5 : 9));
}

static struct side *other(const struct side *s)
{
    return s == &client ? &server : &client;
}

/* ---- services ---- */

static void flatten(const struct vec *v, uint32_t offset, uint8_t *dst, uint32_t len)
{
    const struct talk *t = v->of.context;
    const struct side *from = t >= client.talk && t < client.talk + STREAMS_MAX ? &client : &server;
    for (uint32_t i = 0; i < len; i++)
        dst[i] = content(from, (uint32_t)(t - from->talk), v->arg + offset + i);
}

static const struct vec_ops writing = {.flatten = flatten};

static void write_some(struct talk *t, uint32_t n)
{
    struct vec v = {.ops = &writing, .of.context = t, .len = n, .arg = t->written};
    if (n > 0 && stream_write(&t->s->stream, v))
        t->written += n;
}

static void take_data(struct stream *st, struct pkt *view, bool end)
{
    struct talk *t = talk_of(st);
    require(!t->in_end && !t->aborted);
    if (view) {
        struct side *from = other(side_of(http_of(st)));
        for (uint32_t i = 0; i < view->len; i++)
            require(view->data[i] == content(from, index_of(http_of(st)), t->read++));
        require(t->read <= from->talk[index_of(http_of(st))].written);
        if (!t->late)
            stream_consume(st, view->len);
        pkt_free(view);
    }
    t->in_end = end;
    if (end)
        http_received_trailers(http_of(st), &t->trailers);
}

static void take_head(struct http_stream *s, const struct http_head *h, bool end)
{
    struct talk *t = talk_of(&s->stream);
    require(h->n_fields <= 2);
    if (h->status == 0) {
        require(!t->begun && http_text_eq(h->authority, HTTP_TEXT("fuzz.example")));
        t->begun = true;
        t->s = s;
        t->tunnel = h->method == HTTP_CONNECT;
        t->answer_is_head_only = h->method == HTTP_HEAD;
    }
    t->in_end |= end;
}

static void took_end(struct stream *st)
{
    struct talk *t = talk_of(st);
    require(t->in_end && t->out_end && !t->aborted);
    t->whole = true;
    t->s = NULL;
}

static void took_reset(struct stream *st, enum stream_code code)
{
    struct talk *t = talk_of(st);
    require(code != STREAM_OK && !t->aborted);
    t->reset = true;
    t->s = NULL;
}

static const struct http_service service = {
    .stream =
        {.name = "fuzz", .http = true, .data = take_data, .ended = took_end, .reset = took_reset},
    .head = take_head,
};

/* ---- what services are told to do ---- */

static const struct http_field field = {HTTP_TEXT("priority"), HTTP_TEXT("u=1, i"), false};

static void forget_if_over(struct talk *t)
{
    if (t->s && stream_over(&t->s->stream)) {
        t->aborted = true;
        t->s = NULL;
    }
}

static void request(uint8_t how)
{
    static const enum http_method methods[4] = {HTTP_GET, HTTP_POST, HTTP_HEAD, HTTP_CONNECT};
    struct http_head h = {.method = methods[how & 3],
                          .authority = HTTP_TEXT("fuzz.example"),
                          .content_length = HTTP_LENGTH_NONE,
                          .field = &field,
                          .n_fields = how >> 2 & 1};
    if (h.method != HTTP_CONNECT) {
        h.scheme = HTTP_TEXT("https");
        h.path = HTTP_TEXT("/some/path");
    }
    uint32_t i = client.conn.next_own / 2;
    bool end = how & 8;
    if (i >= STREAMS_MAX)
        return;
    struct talk *t = &client.talk[i];
    *t = (struct talk){.begun = true, .late = how & 16, .out_end = end};
    t->tunnel = h.method == HTTP_CONNECT;
    t->s = h2_request(&client.conn, &h, end, &service, NULL, now);
    t->aborted = !t->s && client.conn.next_own / 2 > i;
    t->begun = t->s || t->aborted;
}

static void respond(struct talk *t, uint8_t how)
{
    struct http_head h = {.status = how & 1 ? 103 : 200,
                          .content_length = HTTP_LENGTH_NONE,
                          .field = &field,
                          .n_fields = how >> 1 & 1};
    if (t->s->status)
        return;
    uint32_t n = (how >> 4) * 100u;
    bool counted = (how & 8) && !t->tunnel && h.status == 200 && !t->answer_is_head_only;
    bool end = h.status == 200 && (t->answer_is_head_only || (counted ? n == 0 : how & 4));
    if (counted)
        h.content_length = n;
    t->out_end |= end;
    if (!http_respond(t->s, &h, end) || !counted || end)
        return;
    write_some(t, n);
    t->out_end = true;
    stream_end(&t->s->stream);
}

static bool may_write(const struct talk *t, const struct side *s)
{
    return !t->out_end && (s == &client || t->s->status);
}

static void consume(struct talk *t, uint8_t how)
{
    uint32_t n = stream_unconsumed(&t->s->stream);
    stream_consume(&t->s->stream, how & 1 ? n : n / 2);
}

static void act_on_stream(struct side *s, struct talk *t, uint8_t what, struct reader *in)
{
    uint8_t how = reader_u8(in);
    switch (what) {
    case 0:
        if (s == &server)
            respond(t, how);
        break;
    case 1:
        if (may_write(t, s))
            write_some(t, how * (how & 1 ? 1u : 200u));
        break;
    case 2:
        if (!may_write(t, s))
            break;
        t->out_end = true;
        stream_end(&t->s->stream);
        break;
    case 3:
        if (!may_write(t, s) || t->tunnel)
            break;
        t->out_end = true;
        http_trailers(t->s, &field, how & 1);
        break;
    case 4:
        t->aborted = true;
        stream_abort(&t->s->stream);
        break;
    case 5: stream_hold(&t->s->stream); break;
    case 6: stream_release(&t->s->stream); break;
    case 7: consume(t, how); break;
    default: break;
    }
    forget_if_over(t);
}

/* ---- the transport ---- */

/* In so many views at most, for invariants look at each again and again. */
#define VIEWS_MAX 128u

static void deliver(struct side *to, const uint8_t *bytes, uint32_t n, uint32_t piece)
{
    if (piece < n / VIEWS_MAX)
        piece = n / VIEWS_MAX;
    for (uint32_t at = 0; at < n; at += piece) {
        uint32_t len = n - at < piece ? n - at : piece;
        size_t limit = pool.limit;
        pool.limit = SIZE_MAX;
        struct pkt *p = heap_pkt(&pool, bytes + at, len, len > 3 ? len / 2 : 0);
        pool.limit = limit;
        h2_input(&to->conn, p, now);
        to->woken = true;
    }
}

/* One call's output. False: there was none. */
static bool move(struct side *from, uint32_t room, uint32_t piece)
{
    static uint8_t bytes[16384];
    struct side *to = other(from);
    if (h2_blocked(&to->conn))
        return false;
    uint32_t n = h2_output(&from->conn, bytes, room, now);
    require(n <= room);
    if (n == 0)
        from->woken = false;
    deliver(to, bytes, n, piece);
    return n > 0;
}

static void serve(struct side *s)
{
    stream_ready_run(&s->h2.ready, 8, 4);
}

static void run(void)
{
    bool moved = true;
    for (unsigned n = 0; moved; n++) {
        require(n < ROUNDS_MAX);
        moved = move(&client, 16384, 16384);
        moved |= move(&server, 16384, 16384);
        moved |= !stream_ready_empty(&client.h2.ready) || !stream_ready_empty(&server.h2.ready);
        serve(&client);
        serve(&server);
    }
}

static void pass(uint8_t how)
{
    if (how >= 64)
        rough = true;
    now += how < 64 ? how * TICK_MS : (how & 63) * TICK_SEC;
    client.env.now = server.env.now = now;
    if (h2_deadline(&client.conn) <= now)
        h2_expire(&client.conn, now);
    if (h2_deadline(&server.conn) <= now)
        h2_expire(&server.conn, now);
    client.woken = server.woken = true;
}

static void fail(struct side *s, uint8_t how)
{
    rough = true;
    if (how & 1)
        h2_input_end(&s->conn, now);
    else
        h2_failed(&s->conn, STREAM_TIMEOUT, now);
}

static void starve(uint8_t how)
{
    rough = true;
    if (how & 1)
        pool.limit = pool.held + (how >> 1 & 7);
    else
        heap.limit = heap.bytes + (how >> 1) * 16u;
}

/* A client's PRIORITY, of any stream. */
static struct h2_frame make_dependency(uint8_t *payload, uint32_t id, uint8_t how, uint8_t more)
{
    uint32_t on = more & 31 ? (more & 31) * 2u - 1 : 0;
    if (on == id)
        on = 0;
    store_be32(payload, on | (how & 64 ? 1u << 31 : 0));
    payload[4] = more;
    return (struct h2_frame){.length = 5, .type = H2_PRIORITY, .stream = id};
}

/* Its PRIORITY_UPDATE, of one that it has opened: RFC 9218 7.1 bounds what is said too early. */
static struct h2_frame make_update(uint8_t *payload, uint32_t id, uint8_t more)
{
    store_be32(payload, id);
    memcpy(payload + 4, "u=0,i", 5);
    payload[6] = (uint8_t)('0' + (more & 7));
    return (struct h2_frame){.length = more & 8 ? 9 : 7, .type = H2_PRIORITY_UPDATE};
}

/* Behind what it has to say already. */
static void say_priority(uint8_t how, uint8_t more)
{
    uint8_t payload[16];
    struct h2_conn *c = &client.conn;
    uint32_t id = (how & 31) * 2u + 1;
    bool update = (how & 32) && id < c->next_own;
    struct h2_frame f =
        update ? make_update(payload, id, more) : make_dependency(payload, id, how, more);
    if (c->flags & (H2_CONN_FAILED | H2_CONN_ENDED))
        return;
    uint8_t *to = h2_queue_room(c, H2_FRAME_HEADER + f.length);
    if (!to)
        return;
    memcpy(h2_frame_write(to, &f), payload, f.length);
    h2_queue_push(c, H2_FRAME_HEADER + f.length);
    client.woken = true;
}

static void act_on_connection(struct side *s, uint8_t what, struct reader *in)
{
    uint8_t how = reader_u8(in);
    switch (what & 15) {
    case 0:
    case 1:
    case 2: request(how); break;
    case 3: pass(how); break;
    case 4:
        if (how < 16)
            h2_shutdown(&s->conn, now);
        break;
    case 5:
        if (how < 4)
            fail(s, how);
        break;
    case 6:
        if (how < 128)
            starve(how);
        return; /* for the next operation, too */
    case 7:
    case 8:
    case 9: serve(s); break;
    case 10: run(); break;
    case 11: say_priority(how, reader_u8(in)); break;
    default: move(s, 64 + how * 64u, 1 + (uint32_t)(reader_u8(in) << (how & 7))); break;
    }
    pool.limit = heap.limit = SIZE_MAX;
}

static void check_side(const struct side *s)
{
    require(h2_conn_ok(&s->conn));
    require(s->woken || !h2_wants_output(&s->conn));
}

static void act(struct reader *in)
{
    uint8_t what = reader_u8(in);
    struct side *s = what & 0x80 ? &server : &client;
    if (what & 0x40) {
        act_on_connection(s, what, in);
    } else {
        struct talk *t = &s->talk[reader_u8(in) % (client.conn.next_own / 2 + 1) % STREAMS_MAX];
        if (t->s)
            act_on_stream(s, t, what & 7, in);
    }
    for (unsigned i = 0; i < STREAMS_MAX; i++) {
        forget_if_over(&client.talk[i]);
        struct talk *t = &server.talk[i];
        forget_if_over(t);
        t->early |= t->out_end && !t->in_end && !t->tunnel;
    }
    check_side(&client);
    check_side(&server);
}

/* ---- the end ---- */

static void release(struct talk *t)
{
    if (!t->s)
        return;
    t->late = false;
    stream_release(&t->s->stream);
    stream_consume(&t->s->stream, stream_unconsumed(&t->s->stream));
}

static void conclude(struct side *s, struct talk *t)
{
    if (!t->s)
        return;
    if (s == &server && !t->s->status)
        respond(t, 4);
    if (t->s && !stream_over(&t->s->stream) && may_write(t, s)) {
        t->out_end = true;
        stream_end(&t->s->stream);
    }
    forget_if_over(t);
}

/* The client's first, so that servers need not answer early. */
static void conclude_all(void)
{
    for (unsigned i = 0; i < STREAMS_MAX; i++) {
        release(&client.talk[i]);
        release(&server.talk[i]);
    }
    run();
    for (unsigned i = 0; i < STREAMS_MAX; i++)
        conclude(&client, &client.talk[i]);
    run();
    for (unsigned i = 0; i < STREAMS_MAX; i++)
        conclude(&server, &server.talk[i]);
    run();
}

static void check_talks(void)
{
    for (unsigned i = 0; i < STREAMS_MAX; i++) {
        const struct talk *c = &client.talk[i];
        const struct talk *s = &server.talk[i];
        require(!c->s && !s->s);
        if (!c->begun || !s->begun || c->aborted || s->aborted)
            continue;
        require(c->read == s->written && c->in_end);
        if (s->whole && c->whole && !s->early)
            require(s->read == c->written);
    }
}

static void check_credit(const struct side *s)
{
    const struct h2_conn *c = &s->conn;
    require(c->receive_window + c->credit == c->settings->connection_window);
    require(c->receive_window == other(s)->conn.send_window);
    require(c->streams.n == 0 && c->n_wanting == 0 && list_empty(&c->crediting));
}

static bool failed(const struct side *s)
{
    return s->conn.flags & (H2_CONN_FAILED | H2_CONN_ENDED);
}

static void check_whole(void)
{
    require(rough || !(failed(&client) || failed(&server)));
    if (failed(&client) || failed(&server))
        return;
    if (!rough)
        check_talks();
    check_credit(&client);
    check_credit(&server);
}

static void wake(struct h2_conn *c)
{
    container_of(c, struct side, conn)->woken = true;
}

/* Returns its byte of the input. */
static uint8_t side_init(struct side *s, struct reader *in)
{
    memset(s, 0, sizeof(*s));
    uint8_t how = reader_u8(in);
    s->settings = (struct h2_settings){.max_streams = 1u + how % 64u,
                                       .stream_window = 1024u << (how & 7),
                                       .connection_window = 65535u << (how >> 3 & 1),
                                       .header_table = how & 16 ? 64 : 4096,
                                       .max_frame = how & 32 ? 16384 : 20000,
                                       .connect_protocol = how & 64,
                                       .glitches = UINT32_MAX,
                                       .memory = 1u << 30,
                                       .reset_burst = 100000,
                                       .rst_burst = 100000};
    require(h2_settings_fill(&s->settings));
    s->env = (struct http_env){.mem = &heap.mem, .pool = &pool.pool};
    s->peer = (struct http_peer){.env = &s->env};
    s->woken = true;
    require(h2_init(&s->h2, &s->env, &s->counters, 1024, &s->settings, wake));
    return how;
}

/* A listener's. */
static const enum sched_policy policies[4] = {SCHED_DEFICIT, SCHED_TREE, SCHED_URGENCY,
                                              SCHED_ROUND_ROBIN};

static void side_fini(struct side *s)
{
    h2_failed(&s->conn, STREAM_RESET, now);
    while (!stream_ready_empty(&s->h2.ready))
        stream_ready_run(&s->h2.ready, 64, 16);
    h2_conn_fini(&s->conn);
    h2_fini(&s->h2);
    require(counter_get(&s->counters, COUNTER_H2_STREAMS_OPENED) ==
            counter_get(&s->counters, COUNTER_H2_STREAMS_CLOSED));
}

/* As a client that follows the old signals: one of ours says that it does not (RFC 9218 2.1). */
static void say_tree(void)
{
    uint8_t *settings = client.conn.out.bytes + H2_PREFACE_SIZE;
    struct h2_frame f = h2_frame_parse(settings);
    uint8_t *last = settings + H2_FRAME_HEADER + f.length - H2_SETTINGS_ENTRY;
    require(h2_setting_id(last) == H2_SETTINGS_NO_RFC7540_PRIORITIES);
    h2_setting_write(last, H2_SETTINGS_NO_RFC7540_PRIORITIES, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader in = reader_of(data, size);
    now = TICK_SEC;
    rough = false;
    heap_init(&heap);
    heap_pool_init(&pool, 64, 2048);
    unsigned which = side_init(&client, &in) >> 7;
    which |= side_init(&server, &in) >> 6 & 2u;
    require(h2_connect(&client.conn, &client.h2, &client.settings, &client.peer, now));
    require(h2_accept(&server.conn, &server.h2, &server.settings, &service, &server.peer, now));
    h2_schedule(&server.conn, policies[which]);
    if (policies[which] == SCHED_TREE)
        say_tree();
    for (unsigned n = 0; n < OPS_MAX && reader_left(&in) > 0; n++)
        act(&in);
    pool.limit = heap.limit = SIZE_MAX;
    run();
    conclude_all();
    check_whole();
    side_fini(&client);
    side_fini(&server);
    require(pool.held == 0 && heap.blocks == 0);
    return 0;
}
