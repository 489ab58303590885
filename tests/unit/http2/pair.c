/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <string.h>

struct h2_pair pair;

/* ---- the server's service ---- */

static void zeroes(const struct vec *v, uint32_t offset, uint8_t *dst, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        dst[i] = (uint8_t)(v->arg + offset + i);
}

static const struct vec_ops counting = {.flatten = zeroes};

static void echo_data(struct stream *s, struct pkt *view, bool end)
{
    if (view) {
        uint32_t n = view->len;
        if (s->bits & STREAM_OUT_END) /* answered before it came */
            pkt_free(view);
        else
            stream_write_pkt(s, view);
        stream_consume(s, n);
    }
    if (!end && !(s->bits & STREAM_OUT_END) && !stream_writable(s))
        stream_hold(s);
    if (!end)
        return;
    uint32_t n;
    const struct http_field *f = http_received_trailers(http_of(s), &n);
    if (n > 0)
        http_trailers(http_of(s), f, n);
    else
        stream_end(s);
}

static void serve_head(struct http_stream *s, const struct http_head *h, bool end)
{
    struct http_head answer = {.status = 200, .content_length = HTTP_LENGTH_NONE};
    pair.requests++;
    if (h->method == HTTP_CONNECT) {
        answer.status = http_text_eq(h->authority, HTTP_TEXT("tunnel:1")) ? 200 : 501;
        http_respond(s, &answer, answer.status == 501);
        return;
    }
    if (http_text_eq(h->path, HTTP_TEXT("/empty"))) {
        answer.status = 204;
        http_respond(s, &answer, true);
        return;
    }
    if (http_text_eq(h->path, HTTP_TEXT("/echo"))) {
        http_respond(s, &answer, false);
        if (end)
            stream_end(&s->stream);
        return;
    }
    char digits[16] = "";
    memcpy(digits, h->path.p + 1, h->path.n - 1);
    uint32_t n = (uint32_t)atoi(digits);
    answer.content_length = n;
    http_respond(s, &answer, n == 0);
    if (n > 0) {
        stream_write(&s->stream, (struct vec){.ops = &counting, .len = n});
        stream_end(&s->stream);
    }
}

static const struct http_service server_service = {
    .stream = {.name = "test", .http = true, .data = echo_data, .writable = stream_release},
    .head = serve_head,
};

/* ---- the client's ---- */

static void note_head(struct http_stream *s, const struct http_head *h, bool end)
{
    struct h2_answer *a = s->stream.user;
    a->heads++;
    a->status = h->status;
    a->head_end = end;
    a->end |= end;
}

static void note_data(struct stream *s, struct pkt *view, bool end)
{
    struct h2_answer *a = s->user;
    if (view) {
        a->bytes += view->len;
        for (uint32_t i = 0; i < view->len; i++)
            a->sum += view->data[i];
        stream_consume(s, view->len);
        pkt_free(view);
    }
    a->end |= end;
    if (end)
        http_received_trailers(http_of(s), &a->trailers);
}

static void note_ended(struct stream *s)
{
    struct h2_answer *a = s->user;
    a->ended = true;
    a->stream = NULL;
}

static void note_reset(struct stream *s, enum stream_code code)
{
    struct h2_answer *a = s->user;
    a->reset = code;
    a->stream = NULL;
}

static const struct http_service client_service = {
    .stream = {.name = "client",
               .http = true,
               .data = note_data,
               .ended = note_ended,
               .reset = note_reset},
    .head = note_head,
};

/* ---- both ---- */

static void wake(struct h2_conn *c)
{
    struct h2_side *s = container_of(c, struct h2_side, conn);
    s->woken = true;
}

void h2_pair_setup(void)
{
    memset(&pair, 0, sizeof(pair));
    pair.now = TICK_SEC;
    heap_init(&pair.heap);
    heap_pool_init(&pair.pool, 64, 2048);
    h2_settings_fill(&pair.settings[0]);
    h2_settings_fill(&pair.settings[1]);
}

static void side_init(struct h2_side *s, const struct h2_settings *settings)
{
    s->env = (struct http_env){.mem = &pair.heap.mem, .pool = &pair.pool.pool};
    s->peer = (struct http_peer){.env = &s->env, .listener = "test", .protocol = "h2"};
    ck_assert(h2_init(&s->h2, &s->env, &s->counters, 1u << 16, settings, wake));
}

void h2_pair_connect(void)
{
    side_init(&pair.client, &pair.settings[0]);
    side_init(&pair.server, &pair.settings[1]);
    ck_assert(h2_connect(&pair.client.conn, &pair.client.h2, &pair.settings[0], &pair.client.peer,
                         pair.now));
    ck_assert(h2_accept(&pair.server.conn, &pair.server.h2, &pair.settings[1], &server_service,
                        &pair.server.peer, pair.now));
}

static void side_fini(struct h2_side *s)
{
    h2_failed(&s->conn, STREAM_RESET, pair.now);
    h2_pair_serve();
    h2_conn_fini(&s->conn);
    h2_fini(&s->h2);
}

void h2_pair_teardown(void)
{
    side_fini(&pair.client);
    side_fini(&pair.server);
    ck_assert_uint_eq(pair.pool.held, 0);
    ck_assert_uint_eq(pair.heap.bytes, 0);
}

void h2_pair_serve(void)
{
    pair.client.env.now = pair.server.env.now = pair.now;
    while (stream_ready_run(&pair.client.h2.ready, 64, 16))
        ;
    while (stream_ready_run(&pair.server.h2.ready, 64, 16))
        ;
}

void h2_pair_inject(struct h2_side *to, const void *bytes, size_t n)
{
    h2_input(&to->conn, heap_pkt(&pair.pool, bytes, n, pair.piece), pair.now);
}

void h2_pair_flush(struct h2_side *from, struct h2_side *to)
{
    uint8_t record[16384];
    uint32_t n;
    while ((n = h2_output(&from->conn, record, sizeof(record), pair.now)) > 0)
        h2_pair_inject(to, record, n);
}

void h2_pair_run(void)
{
    do {
        h2_pair_flush(&pair.client, &pair.server);
        h2_pair_serve();
        h2_pair_flush(&pair.server, &pair.client);
        h2_pair_serve();
    } while (h2_wants_output(&pair.client.conn) || h2_wants_output(&pair.server.conn));
}

struct http_stream *h2_pair_request(enum http_method m, const char *path, bool end,
                                    struct h2_answer *a)
{
    struct http_head h = {.method = m,
                          .scheme = HTTP_TEXT("https"),
                          .authority = HTTP_TEXT("example.org"),
                          .path = {path, (uint32_t)strlen(path)},
                          .content_length = HTTP_LENGTH_NONE};
    *a = (struct h2_answer){0};
    a->stream = h2_request(&pair.client.conn, &h, end, &client_service, a, pair.now);
    return a->stream;
}
