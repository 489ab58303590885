/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames out. First the queue, in which SETTINGS come before all else; then what gives the other
 * side room (WINDOW_UPDATE); then content, DATA frames of whom the scheduler names, while the
 * windows last.
 */
#include "http2/internal.h"

/* No DATA frame is cut to less than this only because a record is nearly full. */
#define PIECE_MIN 1024u

static uint32_t smaller(uint32_t a, uint64_t b)
{
    return a < b ? a : (uint32_t)b;
}

/* ---- credit ---- */

static uint32_t connection_window(const struct h2_conn *c)
{
    uint32_t w = c->settings->connection_window;
    return w > H2_WINDOW_FIRST ? w : H2_WINDOW_FIRST;
}

/* Is a WINDOW_UPDATE of the connection due, from now on? */
static bool connection_due(struct h2_conn *c)
{
    if (c->credit < connection_window(c) / 2 || h2_has(c, H2_CONN_WINDOW_DUE) || h2_is_pressed(c))
        return false;
    h2_set(c, H2_CONN_WINDOW_DUE);
    return true;
}

void h2_credit(struct h2_conn *c, uint32_t n)
{
    c->credit += n;
    if (connection_due(c))
        h2_wake(c);
}

void h2_stream_credit(struct h2_stream *s, uint32_t n)
{
    struct h2_conn *c = s->conn;
    s->credit += n;
    bool due = s->credit >= c->own_window / 2 && s->credit > 0 && !list_linked(&s->crediting);
    if (due)
        list_push_back(&c->crediting, &s->crediting);
    if (due || connection_due(c)) /* it holds less than before */
        h2_wake(c);
}

static uint32_t put_update(struct h2_conn *c, uint8_t *out, uint32_t id, int64_t *window,
                           uint32_t *credit)
{
    uint32_t n = h2_window_update_write(out, id, *credit);
    *window += *credit;
    *credit = 0;
    c->tx_frames++;
    return n;
}

static uint32_t put_credit(struct h2_conn *c, uint8_t *out, uint32_t room)
{
    uint32_t n = 0;
    if (h2_has(c, H2_CONN_WINDOW_DUE) && room >= H2_WINDOW_UPDATE_SIZE) {
        h2_clear(c, H2_CONN_WINDOW_DUE);
        n += put_update(c, out, 0, &c->receive_window, &c->credit);
    }
    while (!list_empty(&c->crediting) && room - n >= H2_WINDOW_UPDATE_SIZE) {
        struct h2_stream *s = container_of(list_first(&c->crediting), struct h2_stream, crediting);
        list_remove(&s->crediting);
        n += put_update(c, out + n, s->id, &s->receive_window, &s->credit);
    }
    return n;
}

/* ---- content ---- */

/* Bytes of the next DATA frame of s in so much room for its payload; 0: it had better wait for the
 * next record. */
static uint32_t piece_of(const struct h2_conn *c, const struct h2_stream *s, uint32_t room,
                         bool fresh)
{
    uint32_t n = smaller(c->peers.max_frame, vec_queue_bytes(&s->http.stream.out));
    n = smaller(n, (uint64_t)s->send_window);
    n = smaller(n, (uint64_t)c->send_window);
    if (n <= room)
        return n;
    return fresh || room >= PIECE_MIN ? room : 0;
}

static void put_data(struct h2_conn *c, struct h2_stream *s, uint8_t *out, uint32_t n)
{
    struct stream *st = &s->http.stream;
    bool end = n == vec_queue_bytes(&st->out) && (st->bits & STREAM_OUT_END) && !s->out;
    struct h2_frame f = {
        .length = n, .type = H2_DATA, .flags = end ? H2_FLAG_END_STREAM : 0, .stream = s->id};
    vec_queue_flatten(&st->out, 0, h2_frame_write(out, &f), n);
    s->send_window -= n;
    c->send_window -= n;
    s->sent += n;
    h2_expect_updates(c);
    c->sent += n;
    c->tx_frames++;
    sched_charge(&c->sched, &s->place.node, H2_FRAME_HEADER + n, false);
    if (end)
        s->flags |= H2_STREAM_END_SAID;
    stream_acked(st, n);
    h2_stream_account(s);
    h2_stream_look(s);
}

static uint32_t put_content(struct h2_conn *c, uint8_t *out, uint32_t room, bool fresh)
{
    uint32_t n = 0;
    while (c->send_window > 0 && !sched_empty(&c->sched) && room - n > H2_FRAME_HEADER) {
        struct h2_stream *s = h2_stream_of_node(sched_pick(&c->sched));
        uint32_t piece = piece_of(c, s, room - n - H2_FRAME_HEADER, fresh && n == 0);
        if (piece == 0)
            break;
        put_data(c, s, out + n, piece);
        n += H2_FRAME_HEADER + piece;
    }
    return n;
}

uint32_t h2_output(struct h2_conn *c, uint8_t *out, uint32_t room, tick_t now)
{
    c->h2->env->now = now;
    h2_streams_reap(c);
    if (h2_has(c, H2_CONN_ENDED))
        return 0;
    uint64_t frames = c->tx_frames;
    uint64_t content = c->sent;
    uint32_t n = h2_queue_take(&c->out, out, room);
    if (h2_queue_bytes(&c->out) == 0 && !h2_has(c, H2_CONN_FAILED)) {
        n += put_credit(c, out + n, room - n);
        n += put_content(c, out + n, room - n, n == 0);
        n += h2_queue_take(&c->out, out + n, room - n); /* ends that came with content */
        connection_due(c);                              /* streams hold less than before */
    }
    if (c->sent > content)
        h2_count(c, COUNTER_H2_TX_CONTENT, c->sent - content);
    h2_count(c, COUNTER_H2_TX_FRAMES, c->tx_frames - frames);
    invariant(h2_conn_ok(c));
    return n;
}

bool h2_wants_output(const struct h2_conn *c)
{
    if (!list_empty(&c->done))
        return true;
    if (h2_has(c, H2_CONN_ENDED))
        return false;
    if (h2_queue_bytes(&c->out) > 0)
        return true;
    if (h2_has(c, H2_CONN_FAILED))
        return false;
    return h2_has(c, H2_CONN_WINDOW_DUE) || !list_empty(&c->crediting) ||
           (c->send_window > 0 && !sched_empty(&c->sched));
}
