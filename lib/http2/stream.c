/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream's states (RFC 9113 5.1), and what its service asks of it. An object comes with the head
 * that opens the stream. When the protocol is done with it, it leaves the table and stands in
 * conn->leaving until its service has heard of the end; then in conn->done until the next output.
 */
#include <string.h>

#include "http2/internal.h"

static bool can_send(const struct h2_stream *s)
{
    return s->state == H2_OPEN || s->state == H2_HALF_CLOSED_REMOTE;
}

static bool can_receive(const struct h2_stream *s)
{
    return s->state == H2_OPEN || s->state == H2_HALF_CLOSED_LOCAL;
}

bool h2_stream_ok(const struct h2_stream *s)
{
    bool sends = sched_is_ready(&s->place.node);
    bool bytes = vec_queue_bytes(&s->http.stream.out) > 0;
    if (sends && !(bytes && s->send_window > 0 && can_send(s) && (s->flags & H2_STREAM_SENDS)))
        return false;
    if (s->send_window > (int64_t)H2_WINDOW_MAX || (!can_receive(s) && list_linked(&s->crediting)))
        return false;
    return s->state != H2_CLOSED || list_linked(&s->leaving);
}

/* ---- leaving ---- */

static void set_wanting(struct h2_stream *s, bool wants)
{
    struct h2_conn *c = s->conn;
    if (wants == ((s->flags & H2_STREAM_WANTING) != 0))
        return;
    s->flags ^= H2_STREAM_WANTING;
    s->flags &= (uint8_t)~H2_STREAM_MARKED;
    c->n_wanting += wants ? 1 : UINT32_MAX;
    if (h2_timer_progress(c)) {
        s->flags |= H2_STREAM_MARKED;
        s->sent_mark = s->sent;
    }
}

void h2_stream_awaits(struct h2_stream *s)
{
    s->flags |= H2_STREAM_AWAITING;
    s->conn->n_awaiting++;
    h2_timer_progress(s->conn);
}

static void awaits_no_more(struct h2_stream *s)
{
    if (!(s->flags & H2_STREAM_AWAITING))
        return;
    s->flags ^= H2_STREAM_AWAITING;
    s->conn->n_awaiting--;
    h2_timer_progress(s->conn);
}

/* What is to come of the frame being received is thrown away. Padding was credited when its length
 * was read. */
static void stop_receiving(struct h2_stream *s)
{
    struct h2_conn *c = s->conn;
    if (c->rx.stream != s)
        return;
    c->rx.stream = NULL;
    h2_credit(c, c->rx.left > c->rx.pad ? c->rx.left - c->rx.pad : 0);
}

/* Closed, but for the table. */
static void detach(struct h2_stream *s, enum h2_closed how)
{
    struct h2_conn *c = s->conn;
    assert(s->state != H2_CLOSED && "it closes once");
    s->state = H2_CLOSED;
    stop_receiving(s);
    sched_remove(&c->sched, &s->place.node);
    h2_priority_close(s);
    list_remove(&s->crediting);
    set_wanting(s, false);
    awaits_no_more(s);
    h2_closed_note(&c->closed, s->id, how);
    list_push_back(&c->leaving, &s->leaving);
    if (s->flags & H2_STREAM_OWN)
        c->n_own--;
    else
        c->n_peer--;
}

static void leave(struct h2_stream *s, enum h2_closed how)
{
    struct h2_conn *c = s->conn;
    detach(s, how);
    h2_streams_remove(&c->streams, s);
    if (c->streams.n == 0)
        h2_streams_changed(c);
}

void h2_stream_fail(struct h2_stream *s, enum stream_code code, enum h2_closed how)
{
    leave(s, how);
    stream_failed(&s->http.stream, code);
    h2_stream_account(s);
}

void h2_streams_fail(struct h2_conn *c, enum stream_code code)
{
    uint32_t at = 0;
    for (struct h2_stream *s; (s = h2_streams_next(&c->streams, &at));) {
        detach(s, H2_CLOSED_BY_US);
        stream_failed(&s->http.stream, code);
        h2_stream_account(s);
    }
    h2_streams_clear(&c->streams);
    h2_streams_changed(c);
}

void h2_stream_error(struct h2_conn *c, uint32_t id, struct h2_stream *s, enum h2_error error)
{
    if (h2_has(c, H2_CONN_FAILED))
        return;
    h2_rst_output(c, id, error);
    if (s)
        h2_stream_fail(s, STREAM_RESET, H2_CLOSED_BY_US);
    else
        h2_closed_note(&c->closed, id, H2_CLOSED_BY_US);
    if (!limit_take(&c->reset_limit, h2_now(c)))
        h2_calm(c, COUNTER_H2_LIMIT_RESET);
    else
        h2_glitched(c, H2_GLITCH_STREAM_ERROR, 1);
}

void h2_stream_malformed(struct h2_conn *c, uint32_t id, struct h2_stream *s)
{
    h2_count(c, COUNTER_H2_MALFORMED, 1);
    h2_stream_error(c, id, s, H2_PROTOCOL_ERROR);
}

/* ---- its ends ---- */

static void finish(struct h2_stream *s)
{
    leave(s, H2_CLOSED_IN_ORDER);
    stream_finished(&s->http.stream);
}

void h2_stream_ended(struct h2_stream *s)
{
    assert(can_receive(s));
    list_remove(&s->crediting);
    awaits_no_more(s);
    stream_arrived_end(&s->http.stream);
    if (s->state == H2_HALF_CLOSED_LOCAL)
        finish(s);
    else
        s->state = H2_HALF_CLOSED_REMOTE;
}

bool h2_stream_is_early(const struct h2_stream *s)
{
    return s->state == H2_HALF_CLOSED_LOCAL && !(s->flags & (H2_STREAM_OWN | H2_STREAM_TUNNEL));
}

void h2_stream_stop(struct h2_stream *s)
{
    h2_rst_output(s->conn, s->id, H2_NO_ERROR);
    if (s->state == H2_CLOSED) /* the connection has failed just now */
        return;
    stream_arrived_end(&s->http.stream);
    leave(s, H2_CLOSED_BY_US);
    stream_finished(&s->http.stream);
}

void h2_stream_sent_end(struct h2_stream *s)
{
    struct h2_conn *c = s->conn;
    if (s->state == H2_HALF_CLOSED_REMOTE) {
        finish(s);
        return;
    }
    s->state = H2_HALF_CLOSED_LOCAL;
    if (h2_stream_is_early(s) && c->early_at == TICK_NEVER)
        c->early_at = h2_now(c) + H2_EARLY_TIME;
}

/* All content was sent, and nothing follows: END_STREAM goes by a frame of its own, which no window
 * holds back (RFC 9113 6.9.1). */
static void send_end(struct h2_stream *s)
{
    struct h2_conn *c = s->conn;
    bool sent = true;
    if (s->out) {
        sent = h2_trailers_output(c, s->id, s->out);
    } else if (!(s->flags & H2_STREAM_END_SAID)) {
        struct h2_frame f = {.type = H2_DATA, .flags = H2_FLAG_END_STREAM, .stream = s->id};
        uint8_t *to = h2_queue_room(c, H2_FRAME_HEADER);
        sent = to;
        if (to) {
            h2_frame_write(to, &f);
            h2_queue_push(c, H2_FRAME_HEADER);
        }
    }
    if (sent)
        h2_stream_sent_end(s);
    else if (s->state != H2_CLOSED)
        h2_stream_error(c, s->id, s, H2_INTERNAL_ERROR);
}

void h2_stream_look(struct h2_stream *s)
{
    const struct stream *st = &s->http.stream;
    bool may = can_send(s) && (s->flags & H2_STREAM_SENDS);
    bool bytes = vec_queue_bytes(&st->out) > 0;
    set_wanting(s, may && bytes);
    if (may && bytes && s->send_window > 0) {
        sched_ready(&s->conn->sched, &s->place.node);
        return;
    }
    sched_remove(&s->conn->sched, &s->place.node);
    if (may && !bytes && (st->bits & STREAM_OUT_END))
        send_end(s);
}

/* ---- what its service asks ---- */

static void carrier_consume(struct stream *st, uint32_t n)
{
    struct h2_stream *s = h2_stream_of(st);
    h2_stream_account(s);
    if (can_receive(s))
        h2_stream_credit(s, n);
}

static void carrier_ready(struct stream *st)
{
    struct h2_stream *s = h2_stream_of(st);
    struct h2_conn *c = s->conn;
    h2_stream_account(s);
    if (s->state != H2_CLOSED) {
        h2_stream_look(s);
    } else if (stream_over(st)) {
        list_remove(&s->leaving);
        list_push_back(&c->done, &s->leaving);
    }
    h2_wake(c);
}

/* RFC 9113 8.1: where the answer has gone whole, only the rest of the request is not wanted. It is
 * no error then, and a client that waits for the stream to close knows that it has everything. */
static enum h2_error abort_code(const struct h2_stream *s)
{
    if (s->code)
        return (enum h2_error)(s->code - 1);
    return h2_stream_is_early(s) ? H2_NO_ERROR : H2_CANCEL;
}

static void carrier_abort(struct stream *st)
{
    struct h2_stream *s = h2_stream_of(st);
    struct h2_conn *c = s->conn;
    h2_stream_account(s);
    h2_rst_output(c, s->id, abort_code(s));
    if (s->state != H2_CLOSED) /* or the connection has failed just now */
        leave(s, H2_CLOSED_BY_US);
    list_remove(&s->leaving);
    list_push_back(&c->done, &s->leaving);
    h2_wake(c);
}

static const struct stream_carrier carrier = {
    .consume = carrier_consume, .ready = carrier_ready, .abort = carrier_abort};

/* What stream_abort, which comes next, is to say. */
static void http_set_code(struct http_stream *h, enum http_abort why)
{
    static const uint8_t code[] = {[HTTP_ABORT_DONE] = 1 + H2_NO_ERROR,
                                   [HTTP_ABORT_CONNECT_ERROR] = 1 + H2_CONNECT_ERROR,
                                   [HTTP_ABORT_INTERNAL] = 1 + H2_INTERNAL_ERROR};
    h2_stream_of(&h->stream)->code = code[why];
}

static bool http_send_head(struct http_stream *h, const struct http_head *head, bool end)
{
    struct h2_stream *s = h2_stream_of(&h->stream);
    if (!h2_head_output(s->conn, s->id, head, end))
        return false;
    if (head->status >= 200)
        s->flags |= H2_STREAM_SENDS;
    if (head->status >= 300)
        h2_stream_no_tunnel(s);
    if (end)
        s->flags |= H2_STREAM_END_SAID;
    h2_wake(s->conn);
    return true;
}

static bool http_send_trailers(struct http_stream *h, const struct http_field *field, uint32_t n)
{
    struct h2_stream *s = h2_stream_of(&h->stream);
    s->out = h2_trailers_copy(h2_mem(s->conn), field, n);
    return s->out;
}

static const struct http_field *http_get_trailers(struct http_stream *h, uint32_t *n)
{
    const struct h2_stream *s = h2_stream_of(&h->stream);
    *n = s->in ? s->in->n : 0;
    return s->in ? s->in->field : NULL;
}

static const struct http_carrier http_carrier = {.abort = http_set_code,
                                                 .respond = http_send_head,
                                                 .trailers = http_send_trailers,
                                                 .received_trailers = http_get_trailers};

/* ---- objects ---- */

struct h2_stream *h2_stream_open(struct h2_conn *c, uint32_t id,
                                 const struct stream_service *service)
{
    handle_t handle;
    struct h2_stream *s = slab_alloc(c->h2->streams, &handle);
    if (!s)
        return NULL;
    s->conn = c;
    s->id = id;
    if (!h2_streams_add(&c->streams, h2_mem(c), s)) {
        slab_free(c->h2->streams, s);
        return NULL;
    }
    stream_init(&s->http.stream, service, &carrier, &c->h2->ready, h2_mem(c), H2_PROMISES);
    vec_queue_lend(&s->http.stream.out, &s->slot);
    stream_set_marks(&s->http.stream, H2_STREAM_HIGH, H2_STREAM_LOW);
    s->http.http = &http_carrier;
    s->http.peer = c->peer;
    sched_tree_node_init(&s->place);
    s->place.node.p.order = id;
    list_init(&s->crediting);
    list_init(&s->leaving);
    s->send_window = c->peers.initial_window;
    s->receive_window = c->own_window;
    s->length_left = HTTP_LENGTH_NONE;
    c->n_objects++;
    if (h2_is_peers(c, id)) {
        c->n_peer++;
    } else {
        s->flags |= H2_STREAM_OWN;
        c->n_own++;
    }
    h2_expect_updates(c);
    c->idle_at = c->tidy_at = TICK_NEVER;
    h2_count(c, COUNTER_H2_STREAMS_OPENED, 1);
    return s;
}

void h2_stream_free(struct h2_stream *s)
{
    struct h2_conn *c = s->conn;
    if (s->state != H2_CLOSED)
        detach(s, H2_CLOSED_BY_US);
    list_remove(&s->leaving);
    stream_fini(&s->http.stream);
    c->in_held -= s->in_cost;
    c->out_held -= s->out_cost;
    h2_trailers_free(h2_mem(c), s->out);
    h2_trailers_free(h2_mem(c), s->in);
    slab_free(c->h2->streams, s);
    c->n_objects--;
    h2_count(c, COUNTER_H2_STREAMS_CLOSED, 1);
}

void h2_stream_forget(struct h2_stream *s)
{
    leave(s, H2_CLOSED_BY_US);
    h2_stream_free(s);
}

void h2_streams_reap(struct h2_conn *c)
{
    for (struct list *first; (first = list_first(&c->done));)
        h2_stream_free(container_of(first, struct h2_stream, leaving));
}

void h2_stream_account(struct h2_stream *s)
{
    struct h2_conn *c = s->conn;
    uint32_t in = s->http.stream.in_cost;
    uint32_t out = s->http.stream.out.cost;
    c->in_held += in;
    c->in_held -= s->in_cost;
    c->out_held += out;
    c->out_held -= s->out_cost;
    s->in_cost = in;
    s->out_cost = out;
}

/* What all may hold and the connection's window still opens: half of the bound, but no more than
 * half of what the worker has to spare, so that one connection leaves others theirs. */
static uint64_t pressed_at(const struct h2_conn *c)
{
    uint64_t most = c->settings->memory / 2;
    uint64_t part = c->h2->spare / 2 > H2_PRESSED_LEAST ? c->h2->spare / 2 : H2_PRESSED_LEAST;
    return part < most ? part : most;
}

void h2_look_at_memory(struct h2_conn *c)
{
    if (c->in_held > c->settings->memory)
        h2_calm(c, COUNTER_H2_LIMIT_MEMORY);
}

bool h2_is_pressed(struct h2_conn *c)
{
    return c->in_held > pressed_at(c);
}

/* ---- trailers ---- */

static char *keep_text(struct http_text *t, char *to)
{
    if (t->n > 0)
        memcpy(to, t->p, t->n);
    t->p = to;
    return to + t->n;
}

struct h2_trailers *h2_trailers_copy(struct mem *mem, const struct http_field *field, uint32_t n)
{
    size_t size = sizeof(struct h2_trailers) + n * sizeof(*field);
    size_t texts = size;
    for (uint32_t i = 0; i < n; i++)
        size += (size_t)field[i].name.n + field[i].value.n;
    struct h2_trailers *t = mem_alloc(mem, size, _Alignof(struct h2_trailers));
    if (!t)
        return NULL;
    t->size = size;
    t->n = n;
    char *to = (char *)t + texts;
    for (uint32_t i = 0; i < n; i++) {
        t->field[i] = field[i];
        to = keep_text(&t->field[i].name, to);
        to = keep_text(&t->field[i].value, to);
    }
    return t;
}

void h2_trailers_free(struct mem *mem, struct h2_trailers *t)
{
    if (t)
        mem_free(mem, t, t->size);
}
