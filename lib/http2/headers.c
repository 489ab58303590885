/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of fields: in, to a head that a service is told, or to trailers; and out. */
#include <string.h>

#include "http2/head.h"
#include "http2/internal.h"

/* A head that does not fit in so much is more than anybody would take. */
#define BLOCK_FIRST 1024u
#define BLOCK_MOST  (256u << 10)

/* ---- out ---- */

/* Frames that n bytes of a block take. */
static uint32_t frames_of(const struct h2_conn *c, uint32_t n)
{
    return n == 0 ? 1 : (n + c->peers.max_frame - 1) / c->peers.max_frame;
}

/* The block stands behind room for one header: makes room for the others, from the last on, and
 * writes them. */
static uint32_t cut(const struct h2_conn *c, uint8_t *at, uint32_t id, uint32_t n, bool end)
{
    uint32_t max = c->peers.max_frame;
    uint32_t frames = frames_of(c, n);
    for (uint32_t i = frames; i-- > 0;) {
        uint32_t from = i * max;
        uint32_t len = n - from < max ? n - from : max;
        uint8_t *to = at + from + i * H2_FRAME_HEADER;
        if (i > 0)
            memmove(to + H2_FRAME_HEADER, at + H2_FRAME_HEADER + from, len);
        struct h2_frame f = {.length = len, .stream = id, .type = i ? H2_CONTINUATION : H2_HEADERS};
        f.flags = (uint8_t)((i == frames - 1 ? H2_FLAG_END_HEADERS : 0) |
                            (i == 0 && end ? H2_FLAG_END_STREAM : 0));
        h2_frame_write(to, &f);
    }
    return n + frames * H2_FRAME_HEADER;
}

/* What is encoded: a head, or trailers. */
static int encode(struct h2_conn *c, const struct http_head *h, const struct h2_trailers *t,
                  uint8_t *to, size_t room)
{
    return h ? hpack_encode_head(&c->encoder, h, to, room)
             : hpack_encode_trailers(&c->encoder, t->field, t->n, to, room);
}

/* The head that was sent last, again. */
static bool repeat_output(struct h2_conn *c, uint32_t id, const struct http_head *h, bool end)
{
    uint8_t *to = h2_queue_room(c, H2_FRAME_HEADER + H2_MEMO_ANSWERED);
    uint32_t n = to ? h2_memo_answered(&c->h2->memo, c, h->same, to + H2_FRAME_HEADER) : 0;
    if (n > 0)
        h2_queue_push(c, cut(c, to, id, n, end));
    return n > 0;
}

static bool block_output(struct h2_conn *c, uint32_t id, const struct http_head *h,
                         const struct h2_trailers *t, bool end)
{
    for (uint32_t room = BLOCK_FIRST; room <= BLOCK_MOST; room *= 4) {
        uint8_t *to = h2_queue_room(c, room + H2_FRAME_HEADER * frames_of(c, room));
        if (!to)
            return false;
        int n = encode(c, h, t, to + H2_FRAME_HEADER, room);
        if (n >= 0) {
            h2_memo_answer(&c->h2->memo, c, h ? h->same : 0, to + H2_FRAME_HEADER, (uint32_t)n);
            h2_queue_push(c, cut(c, to, id, (uint32_t)n, end));
            return true;
        }
        if (n != HPACK_E_ROOM) {
            h2_fail(c, H2_INTERNAL_ERROR); /* the other side's table would not be ours */
            return false;
        }
    }
    return false;
}

bool h2_head_output(struct h2_conn *c, uint32_t id, const struct http_head *h, bool end)
{
    if (h->same && repeat_output(c, id, h, end))
        return true;
    if (c->peers.header_list != UINT32_MAX && hpack_list_size(h) > c->peers.header_list)
        return false;
    return block_output(c, id, h, NULL, end);
}

bool h2_trailers_output(struct h2_conn *c, uint32_t id, const struct h2_trailers *t)
{
    return block_output(c, id, NULL, t, true);
}

/* ---- in: requests ---- */

/* RFC 9113 8.1.1: content-length says what DATA will bring. */
static bool length_ok(const struct http_head *h, bool end)
{
    return !end || h->content_length == HTTP_LENGTH_NONE || h->content_length == 0;
}

/* RFC 6585 5, without a service. */
static void too_large(struct h2_conn *c, uint32_t id, bool end)
{
    struct http_head answer = {.status = 431, .content_length = 0};
    if (!h2_glitched(c, H2_GLITCH_HEADER_LIST, 1))
        return;
    bool answered = h2_head_output(c, id, &answer, true);
    if (h2_has(c, H2_CONN_FAILED))
        return;
    if (!end || !answered) /* the other side may take no head as large as that */
        h2_rst_output(c, id, answered ? H2_NO_ERROR : H2_CANCEL);
    h2_closed_note(&c->closed, id, end && answered ? H2_CLOSED_IN_ORDER : H2_CLOSED_BY_US);
}

static void refuse(struct h2_conn *c, uint32_t id)
{
    h2_rst_output(c, id, H2_REFUSED_STREAM);
    h2_closed_note(&c->closed, id, H2_CLOSED_BY_US);
}

static void tell_request(struct h2_conn *c, uint32_t id, const struct http_head *h, bool end)
{
    struct h2_stream *s = h2_stream_open(c, id, &c->service->stream);
    if (!s) {
        refuse(c, id);
        return;
    }
    s->state = end ? H2_HALF_CLOSED_REMOTE : H2_OPEN;
    s->flags |= H2_STREAM_ANSWERED;
    if (h->method == HTTP_CONNECT)
        s->flags |= H2_STREAM_TUNNEL;
    else
        s->length_left = h->content_length;
    if (!end && h->method != HTTP_CONNECT)
        h2_stream_awaits(s);
    h2_priority_open(s, h, &c->rx.depends);
    c->requests++;
    h2_count(c, COUNTER_H2_REQUESTS, 1);
    http_tell_head(&s->http, h, end, h2_now(c));
}

/* Is there room for one more? */
static bool admit(struct h2_conn *c, uint32_t id)
{
    c->last_peer = id;
    if (++c->total >= c->settings->total_streams && !h2_has(c, H2_CONN_DRAINING)) {
        h2_count(c, COUNTER_H2_LIMIT_STREAMS, 1);
        h2_shutdown(c, h2_now(c));
    }
    if (c->n_peer < c->settings->max_streams)
        return true;
    if (h2_glitched(c, H2_GLITCH_REFUSED, 1))
        refuse(c, id);
    return false;
}

static void serve(struct h2_conn *c, uint32_t id, const struct http_head *h, bool end)
{
    if (!length_ok(h, end) || c->rx.self_dependent)
        h2_stream_malformed(c, id, NULL);
    else
        tell_request(c, id, h, end);
}

static void request_input(struct h2_conn *c, uint32_t id, bool end, const uint8_t *block,
                          uint32_t len)
{
    struct h2_fields *f = &c->h2->fields;
    struct http_head head;
    if (id > c->goaway_sent || !admit(c, id)) /* RFC 9113 6.8: not served, and not answered */
        return;
    if (f->too_large) {
        too_large(c, id, end);
    } else if (h2_head_parse(f, H2_BLOCK_REQUEST, c->settings->connect_protocol, &head) !=
               H2_HEAD_OK) {
        h2_stream_malformed(c, id, NULL);
    } else {
        h2_memo_ask(&c->h2->memo, c, block, len, &head);
        serve(c, id, &head, end);
    }
}

/* ---- in: responses ---- */

/* RFC 9110 6.4.1: these have no content, whatever content-length says. */
static bool is_bodiless(const struct h2_stream *s, const struct http_head *h)
{
    return s->http.method == HTTP_HEAD || h->status == 204 || h->status == 304;
}

static void response_input(struct h2_conn *c, struct h2_stream *s, bool end)
{
    struct http_head head;
    struct h2_fields *f = &c->h2->fields;
    if (f->too_large || h2_head_parse(f, H2_BLOCK_RESPONSE, false, &head) != H2_HEAD_OK) {
        h2_stream_malformed(c, s->id, s);
        return;
    }
    bool final = head.status >= 200;
    bool bodiless = is_bodiless(s, &head);
    if (head.status >= 300)
        h2_stream_no_tunnel(s);
    bool counts = final && !bodiless && !(s->flags & H2_STREAM_TUNNEL); /* RFC 9110 9.3.6 */
    if ((!final && end) || (counts && !length_ok(&head, end))) {
        h2_stream_malformed(c, s->id, s);
        return;
    }
    if (final) {
        s->flags |= H2_STREAM_ANSWERED;
        if (!(s->flags & H2_STREAM_TUNNEL))
            s->length_left = bodiless ? 0 : head.content_length;
    }
    http_tell_head(&s->http, &head, end, h2_now(c));
    if (end && s->state != H2_CLOSED)
        h2_stream_ended(s);
}

/* ---- in: trailers ---- */

static void trailers_input(struct h2_conn *c, struct h2_stream *s, bool end)
{
    struct http_head head = {0};
    struct h2_fields *f = &c->h2->fields;
    bool whole = s->length_left == 0 || s->length_left == HTTP_LENGTH_NONE;
    /* RFC 9113 8.1, 8.5 */
    if (!end || !whole || f->too_large || (s->flags & H2_STREAM_TUNNEL) ||
        h2_head_parse(f, H2_BLOCK_TRAILERS, false, &head) != H2_HEAD_OK) {
        h2_stream_malformed(c, s->id, s);
        return;
    }
    s->in = h2_trailers_copy(h2_mem(c), head.field, head.n_fields);
    if (s->in)
        h2_stream_ended(s);
    else
        h2_stream_error(c, s->id, s, H2_INTERNAL_ERROR);
}

/* ---- in: whose they are ---- */

static void stream_block(struct h2_conn *c, struct h2_stream *s, bool end)
{
    if (s->state == H2_HALF_CLOSED_REMOTE) /* RFC 9113 5.1 */
        h2_stream_error(c, s->id, s, H2_STREAM_CLOSED);
    else if (c->rx.self_dependent)
        h2_stream_error(c, s->id, s, H2_PROTOCOL_ERROR);
    else if (!(s->flags & H2_STREAM_ANSWERED))
        response_input(c, s, end);
    else
        trailers_input(c, s, end);
}

/* RFC 9113 5.1, "closed", and 5.1.1. */
static void late_block(struct h2_conn *c, uint32_t id)
{
    switch (h2_closed_how(&c->closed, id)) {
    case H2_CLOSED_UNUSED: h2_fail(c, H2_PROTOCOL_ERROR); break;
    case H2_CLOSED_IN_ORDER: h2_fail(c, H2_STREAM_CLOSED); break;
    case H2_CLOSED_BY_PEER: h2_stream_error(c, id, NULL, H2_STREAM_CLOSED); break;
    case H2_CLOSED_BY_US: h2_odd(c, H2_GLITCH_CLOSED_STREAM); break; /* was under way */
    case H2_CLOSED_FORGOTTEN: h2_glitched(c, H2_GLITCH_CLOSED_STREAM, 1); break;
    }
}

/* The decoder has seen the block, whatever comes of it: its table follows all blocks (4.3). */
static bool decode(struct h2_conn *c, const uint8_t *block, uint32_t len)
{
    const struct h2_settings *s = c->settings;
    c->h2->memo.from = NULL; /* its head stood where this one will */
    int e = hpack_decode(&c->decoder, &c->h2->fields, block, len, true, true, s->header_fields,
                         s->header_list);
    if (e == HPACK_E_BOMB)
        h2_calm(c, COUNTER_H2_LIMIT_BOMB);
    else if (e < 0)
        h2_fail(c, e == HPACK_E_MEMORY ? H2_INTERNAL_ERROR : H2_COMPRESSION_ERROR);
    return e == 0;
}

void h2_block_input(struct h2_conn *c, uint32_t id, uint8_t flags, const uint8_t *block,
                    uint32_t len)
{
    bool end = flags & H2_FLAG_END_STREAM;
    bool opens = !h2_has(c, H2_CONN_CLIENT) && h2_is_peers(c, id) && h2_is_idle(c, id);
    const struct http_head *again = opens ? h2_memo_asked(&c->h2->memo, c, block, len) : NULL;
    if (again) {
        if (id <= c->goaway_sent && admit(c, id))
            serve(c, id, again, end);
        return;
    }
    if (!decode(c, block, len))
        return;
    struct h2_stream *s = h2_streams_find(&c->streams, id);
    if (s && c->rx.depends.weight > 0 && !c->rx.self_dependent)
        h2_priority_depend(c, id, &c->rx.depends);
    if (s)
        stream_block(c, s, end);
    else if (opens)
        request_input(c, id, end, block, len);
    else if (!h2_is_idle(c, id))
        late_block(c, id);
    else
        h2_fail(c, H2_PROTOCOL_ERROR); /* only a client opens streams, with odd numbers */
}

/* ---- a client's requests ---- */

struct http_stream *h2_request(struct h2_conn *c, const struct http_head *head, bool end,
                               const struct http_service *service, void *user, tick_t now)
{
    c->h2->env->now = now;
    assert(h2_has(c, H2_CONN_CLIENT));
    if ((c->flags &
         (H2_CONN_GOAWAY_RECEIVED | H2_CONN_DRAINING | H2_CONN_FAILED | H2_CONN_ENDED)) ||
        c->n_own >= c->peers.max_streams || c->next_own > H2_STREAM_MAX)
        return NULL;
    struct h2_stream *s = h2_stream_open(c, c->next_own, &service->stream);
    if (!s)
        return NULL;
    c->next_own += 2;
    s->http.stream.user = user;
    s->http.method = (uint8_t)head->method;
    s->flags |= H2_STREAM_SENDS | (head->method == HTTP_CONNECT ? H2_STREAM_TUNNEL : 0);
    stream_opened_now(&s->http.stream, false);
    if (!h2_head_output(c, s->id, head, end)) {
        if (s->state != H2_CLOSED) /* it is idle to the other side: no RST_STREAM (RFC 9113 6.4) */
            h2_stream_forget(s);
        else
            stream_abort(&s->http.stream);
        return NULL;
    }
    if (end) {
        s->flags |= H2_STREAM_END_SAID;
        stream_end(&s->http.stream);
    }
    h2_wake(c);
    invariant(h2_conn_ok(c));
    return &s->http;
}
