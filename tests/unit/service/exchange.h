/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_SERVICE_EXCHANGE_H
#define MILLRACE_TESTS_SERVICE_EXCHANGE_H

/*
 * Requests to the service `origin` and its answers, over a carrier that is the test. One exchange
 * at a time; the response is copied, for its texts are valid during the call only.
 */

#include <stdio.h>
#include <string.h>

#include "service/origin.h"
#include "service/service.h"
#include "support/heap.h"
#include "support/unit.h"

#define WALL INT64_C(1700000000) /* Tue, 14 Nov 2023 22:13:20 GMT */

struct exchange {
    struct heap heap;
    struct heap_pool pool;
    struct stream_ready ready;
    struct http_env env;
    struct http_peer peer;
    struct http_stream http;
    struct origin *origin;
    struct http_field request[16]; /* of the next request */
    uint32_t n_request;
    uint64_t request_length; /* content-length of the next request */
    bool open;               /* the stream is initialised */
    bool refuse;             /* the carrier takes no response */

    /* Of the response. */
    unsigned interim;
    unsigned responses;
    uint16_t status;
    uint64_t length; /* content-length */
    bool head_ends;
    struct http_field field[32];
    uint32_t n_fields;
    char text[32768];
    uint32_t text_len;
    uint8_t body[1 << 17];
    uint32_t body_len;

    uint32_t consumed;
    unsigned aborted;

    /* The access log. */
    unsigned logged;
    struct http_record record;
    char record_text[1024];
};

static struct exchange ex;

static void ex_consume(struct stream *s, uint32_t n)
{
    (void)s;
    ex.consumed += n;
}

static void ex_ready(struct stream *s)
{
    (void)s;
}

static void ex_abort(struct stream *s)
{
    (void)s;
    ex.aborted++;
}

static const struct stream_carrier ex_carrier = {
    .consume = ex_consume, .ready = ex_ready, .abort = ex_abort};

static struct http_text ex_copy(struct http_text t)
{
    ck_assert_uint_le(ex.text_len + t.n, sizeof(ex.text));
    struct http_text copy = {ex.text + ex.text_len, t.n};
    if (t.n > 0)
        memcpy(ex.text + ex.text_len, t.p, t.n);
    ex.text_len += t.n;
    return copy;
}

static bool ex_respond(struct http_stream *s, const struct http_head *h, bool end)
{
    (void)s;
    if (ex.refuse)
        return false;
    if (h->status < 200) {
        ex.interim++;
        return true;
    }
    ex.responses++;
    ex.status = h->status;
    ex.length = h->content_length;
    ex.head_ends = end;
    ck_assert_uint_le(h->n_fields, 32);
    for (uint32_t i = 0; i < h->n_fields; i++)
        ex.field[i] = (struct http_field){ex_copy(h->field[i].name), ex_copy(h->field[i].value),
                                          h->field[i].sensitive};
    ex.n_fields = h->n_fields;
    return true;
}

static bool ex_trailers(struct http_stream *s, const struct http_field *field, uint32_t n)
{
    (void)s;
    (void)field;
    (void)n;
    return true;
}

static const struct http_carrier ex_http = {.respond = ex_respond, .trailers = ex_trailers};

static inline struct http_text ex_text(const char *p)
{
    return (struct http_text){p, (uint32_t)strlen(p)};
}

static inline void ex_init(const struct origin_options *o)
{
    memset(&ex, 0, sizeof(ex));
    heap_init(&ex.heap);
    heap_pool_init(&ex.pool, 16, 300);
    stream_ready_init(&ex.ready);
    http_env_init(&ex.env, &ex.heap.mem, &ex.pool.pool, 3);
    ex.env.wall = WALL * (int64_t)TICK_SEC;
    ex.origin = origin_create(&ex.heap.mem, "site", o);
    ck_assert_ptr_nonnull(ex.origin);
    ex.peer = (struct http_peer){.env = &ex.env, .context = ex.origin, .protocol = "h2"};
    ex.request_length = HTTP_LENGTH_NONE;
}

/* The exchange is no more, whatever its state. */
static inline void ex_close(void)
{
    if (ex.open)
        stream_fini(&ex.http.stream);
    ex.open = false;
    ck_assert_uint_eq(origin_users(ex.origin), 0);
    ck_assert_uint_eq(ex.pool.held, 0);
}

static inline void ex_fini(void)
{
    ex_close();
    if (ex.env.notes)
        ck_assert_uint_eq(slab_live(ex.env.notes), 0);
    http_env_fini(&ex.env);
    origin_destroy(ex.origin);
    ck_assert_uint_eq(ex.heap.blocks, 0);
}

static inline void ex_add(const char *path, const char *body)
{
    struct origin_entry e = {.path = ex_text(path), .body = ex_text(body)};
    ck_assert_int_eq(origin_add(ex.origin, &e), 0);
}

/* One more field of the next request. */
static inline void ex_with(const char *name, const char *value)
{
    ck_assert_uint_lt(ex.n_request, 16);
    ex.request[ex.n_request++] = (struct http_field){ex_text(name), ex_text(value), false};
}

static inline void ex_run(void)
{
    for (unsigned i = 0; i < 100 && stream_ready_run(&ex.ready, 10, 10); i++)
        ;
    ck_assert(stream_ready_empty(&ex.ready));
}

static inline bool ex_ended(void)
{
    return ex.http.stream.bits & STREAM_OUT_END;
}

/* The client takes what is promised, up to n bytes. */
static inline void ex_take(uint32_t n)
{
    struct vec_queue *q = &ex.http.stream.out;
    while (n > 0 && vec_queue_bytes(q) > 0) {
        uint32_t part = (uint32_t)(vec_queue_bytes(q) < n ? vec_queue_bytes(q) : n);
        ck_assert_uint_le(ex.body_len + part, sizeof(ex.body));
        vec_queue_flatten(q, 0, ex.body + ex.body_len, part);
        ex.body_len += part;
        n -= part;
        stream_acked(&ex.http.stream, part);
        ex_run();
    }
}

/* A request is made; end: without content. Nothing of the answer is taken. */
static inline void ex_begin(const char *method, struct http_text path, bool end)
{
    ex_close();
    ex.interim = ex.responses = 0;
    ex.status = 0;
    ex.text_len = ex.body_len = ex.n_fields = 0;
    ex.consumed = 0;
    ex.aborted = 0;
    memset(&ex.http, 0, sizeof(ex.http));
    stream_init(&ex.http.stream, &service_origin.stream, &ex_carrier, &ex.ready, &ex.heap.mem, 16);
    stream_set_marks(&ex.http.stream, 1000, 400);
    ex.open = true;
    ex.http.http = &ex_http;
    ex.http.peer = &ex.peer;
    struct http_head h = {.method = http_method_of(ex_text(method)),
                          .method_name = ex_text(method),
                          .scheme = HTTP_TEXT("https"),
                          .authority = HTTP_TEXT("example.org"),
                          .path = path,
                          .content_length = ex.request_length,
                          .field = ex.request,
                          .n_fields = ex.n_request};
    http_tell_head(&ex.http, &h, end, ex.env.now);
    ex.n_request = 0;
    ex.request_length = HTTP_LENGTH_NONE;
}

/* All content is taken, both sides end in order. */
static inline void ex_finish(void)
{
    ex_take(UINT32_MAX);
    ck_assert_uint_eq(ex.responses, 1);
    ck_assert(ex_ended());
    ck_assert_uint_eq(ex.aborted, 0);
    ck_assert_uint_eq(ex.http.sent, ex.body_len);
    if (ex.length != HTTP_LENGTH_NONE && ex.http.method != HTTP_HEAD)
        ck_assert_uint_eq(ex.length, ex.body_len);
    ck_assert(!ex.head_ends || ex.body_len == 0);
    stream_finished(&ex.http.stream);
    ex_run();
    ck_assert(stream_over(&ex.http.stream));
    ex_close();
}

/* A whole exchange; the request has no content. */
static inline void ex_request(const char *method, const char *path)
{
    ex_begin(method, ex_text(path), true);
    ex_finish();
}

static inline void ex_get(const char *path)
{
    ex_request("GET", path);
}

/* The response's field of that name; "" where there is none. */
static inline const char *ex_value(const char *name)
{
    static char value[16384];
    value[0] = 0;
    for (uint32_t i = 0; i < ex.n_fields; i++)
        if (http_text_eq(ex.field[i].name, ex_text(name)))
            snprintf(value, sizeof(value), "%.*s", (int)ex.field[i].value.n, ex.field[i].value.p);
    return value;
}

static inline void ex_body_is(const char *expected)
{
    ck_assert_uint_eq(ex.body_len, strlen(expected));
    ck_assert(memcmp(ex.body, expected, ex.body_len) == 0);
}

/* Content of the request comes. */
static inline void ex_send(const void *bytes, size_t len, size_t view)
{
    stream_arrived(&ex.http.stream, heap_pkt(&ex.pool, bytes, len, view));
    ex_run();
}

static inline void ex_send_end(void)
{
    stream_arrived_end(&ex.http.stream);
    ex_run();
}

static inline void ex_log(void *ctx, const struct http_peer *peer, const struct http_record *r)
{
    (void)ctx;
    ck_assert_ptr_eq(peer, &ex.peer);
    ex.logged++;
    ex.record = *r;
    snprintf(ex.record_text, sizeof(ex.record_text), "%.*s %.*s %.*s (%.*s) <%.*s>",
             (int)r->method.n, r->method.p, (int)r->authority.n, r->authority.p, (int)r->path.n,
             r->path.p, (int)r->user_agent.n, r->user_agent.p, (int)r->referer.n, r->referer.p);
}

#endif
