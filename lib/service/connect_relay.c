/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes each way, without a copy: a view that has come from one side is the view that goes to the
 * other, and its credit goes back at once, as long as the other side's queue is below its high
 * mark. Above it no more is taken, so that a reader that stops stops its sender: what a tunnel
 * holds each way is at most the receive window of one side and the send queue of the other.
 */
#include "service/tunnel.h"

#define LEASE (64u << 10) /* bytes that are asked for of the user's account at a time */

/* The other side of s. NULL: it is over. */
static struct stream *client_of(const struct tunnel *t)
{
    return t->client ? &t->client->stream : NULL;
}

/* ---- the user's bytes a second ---- */

/* Until bytes may pass, or there are none to be had: what is taken may be less than what is owed.
 */
static void borrow(struct tunnel *t)
{
    tick_t again = TICK_NEVER;
    uint32_t n;
    do {
        n = proxy_take(t->account, LEASE, t->connect->now, &again);
        t->allowance += n;
    } while (n > 0 && t->allowance <= 0);
    t->paused = t->allowance <= 0;
    t->resume_at = again;
}

/* n more have passed. */
static void charge(struct tunnel *t, uint32_t n)
{
    t->active = t->connect->now;
    t->allowance -= n;
    if (t->allowance <= 0 && !t->paused)
        borrow(t);
}

/* ---- taking or not ---- */

/* May `from` be taken from, to be written to `to`? */
static void look(const struct tunnel *t, struct stream *from, const struct stream *to)
{
    if (!from)
        return;
    if (to && (t->paused || !stream_writable(to)))
        stream_hold(from);
    else
        stream_release(from);
}

static void look_both(struct tunnel *t)
{
    look(t, t->target, client_of(t));
    look(t, client_of(t), t->target);
}

void relay_resume(struct tunnel *t)
{
    borrow(t);
    look_both(t);
}

/* ---- ends ---- */

static void part_with_target(struct tunnel *t)
{
    if (t->target)
        stream_abort(t->target);
    t->target = NULL;
}

static void part_with_client(struct tunnel *t, enum http_abort why)
{
    if (t->client)
        http_abort(t->client, why);
    t->client = NULL;
}

/* Has the client had all that the target said, to its end? Some never end their own direction then,
 * as curl does not, and it would be no error to them. */
static bool has_all(const struct tunnel *t)
{
    const struct stream *to = client_of(t);
    return to && t->target_ended && !t->late && vec_queue_bytes(&to->out) == 0;
}

void relay_cut(struct tunnel *t, enum tunnel_end why)
{
    tunnel_ends(t, why);
    search_end(t);
    part_with_target(t);
    bool done = why == TUNNEL_HALF_OPEN && has_all(t);
    part_with_client(t, done ? HTTP_ABORT_DONE : HTTP_ABORT_CANCEL);
}

/* What came of the target before its reset goes first. */
static void pass_on_reset(struct tunnel *t)
{
    struct stream *to = client_of(t);
    while (to && t->late && stream_writable(to)) {
        struct pkt *p = t->late;
        t->late = p->next;
        p->next = NULL;
        p->total = p->len;
        stream_write_pkt(to, p);
        if (stream_over(to))
            t->client = NULL;
        to = client_of(t);
    }
    if (!to || t->late)
        return;
    if (vec_queue_bytes(&to->out) > 0)
        stream_set_marks(to, 1, 0); /* writable is told when it is empty */
    else
        part_with_client(t, HTTP_ABORT_CONNECT_ERROR);
}

/* ---- both ---- */

/* p, which is taken. False: there was no memory for it. */
static bool pass(struct tunnel *t, struct stream *from, struct stream *to, struct pkt *p)
{
    uint32_t n = p->len;
    stream_write_pkt(to, p);
    stream_consume(from, n);
    charge(t, n);
    return !stream_over(to);
}

static void keep_late(struct tunnel *t, struct pkt *p)
{
    if (t->late)
        t->late_last->next = p;
    else
        t->late = p;
    t->late_last = p;
}

/* ---- the target's side ---- */

static void target_data(struct stream *s, struct pkt *view, bool end)
{
    struct tunnel *t = s->user;
    struct stream *to = client_of(t);
    tunnel_enter(t);
    if (view)
        t->to_client += view->len;
    if (!to) {
        pkt_free(view);
        stream_consume(s, stream_unconsumed(s));
    } else if (view && (t->late || !stream_writable(to))) { /* it was reset, and holds no more */
        keep_late(t, view);
        return;
    } else if (view && !pass(t, s, to, view)) {
        t->client = NULL;
        tunnel_ends(t, TUNNEL_NO_MEMORY);
        part_with_target(t);
        tunnel_settle(t);
        return;
    }
    if (end) {
        t->target_ended = true;
        t->active = t->connect->now;
        t->state = TUNNEL_STATE_HALF_CLOSED;
        if (to)
            stream_end(to);
    } else {
        look(t, s, to);
    }
    tunnel_settle(t);
}

static void target_writable(struct stream *s)
{
    struct tunnel *t = s->user;
    look(t, client_of(t), s);
}

static void target_ended(struct stream *s)
{
    struct tunnel *t = s->user;
    tunnel_enter(t);
    t->target = NULL;
    tunnel_settle(t);
}

static void target_reset(struct stream *s, enum stream_code code)
{
    struct tunnel *t = s->user;
    tunnel_enter(t);
    t->target = NULL;
    tunnel_ends(t, code == STREAM_TIMEOUT  ? TUNNEL_TARGET_TIMEOUT
                   : code == STREAM_KILLED ? TUNNEL_KILLED
                                           : TUNNEL_TARGET_RESET);
    t->target_lost = true;
    t->active = t->connect->now;
    if (t->client)
        stream_release(client_of(t)); /* what it says now is thrown away */
    pass_on_reset(t);
    tunnel_settle(t);
}

static const struct stream_service target = {.name = "connect",
                                             .data = target_data,
                                             .writable = target_writable,
                                             .ended = target_ended,
                                             .reset = target_reset};

/* ---- the client's side ---- */

/* The target was reset; or it is not there yet and this side was, for until then it is held. Then
 * no target is looked for any more, to which what follows would go behind a hole. */
static void client_data_lost(struct tunnel *t, struct pkt *view)
{
    struct stream *s = client_of(t);
    pkt_free(view);
    stream_consume(s, stream_unconsumed(s));
    if (t->target_lost)
        pass_on_reset(t);
    else
        search_end(t);
    tunnel_settle(t);
}

static void client_data(struct stream *s, struct pkt *view, bool end)
{
    struct tunnel *t = s->user;
    tunnel_enter(t);
    if (end) {
        t->client_ended = true;
        t->active = t->connect->now;
        t->state = t->target ? TUNNEL_STATE_HALF_CLOSED : t->state;
    }
    if (!t->target) {
        client_data_lost(t, view);
        return;
    }
    if (view) {
        t->to_target += view->len;
        if (!pass(t, s, t->target, view)) {
            t->target = NULL;
            tunnel_ends(t, TUNNEL_NO_MEMORY);
            part_with_client(t, HTTP_ABORT_INTERNAL);
            tunnel_settle(t);
            return;
        }
    }
    if (end)
        stream_end(t->target);
    else
        look(t, s, t->target);
    tunnel_settle(t);
}

static void client_writable(struct stream *s)
{
    struct tunnel *t = s->user;
    tunnel_enter(t);
    if (t->target_lost) {
        t->active = t->connect->now;
        pass_on_reset(t);
    } else {
        look(t, t->target, s);
    }
    tunnel_settle(t);
}

static void client_ended(struct stream *s)
{
    struct tunnel *t = s->user;
    tunnel_enter(t);
    t->client = NULL;
    tunnel_settle(t);
}

static void client_reset(struct stream *s, enum stream_code code)
{
    struct tunnel *t = s->user;
    tunnel_enter(t);
    t->client = NULL;
    tunnel_ends(t, code == STREAM_KILLED ? TUNNEL_KILLED : TUNNEL_CLIENT_RESET);
    search_end(t);
    part_with_target(t);
    tunnel_settle(t);
}

const struct stream_service connect_client = {.name = "connect",
                                              .data = client_data,
                                              .writable = client_writable,
                                              .ended = client_ended,
                                              .reset = client_reset};

/* ---- the beginning ---- */

/* RFC 9110 9.3.6: no content-length and no transfer-encoding. */
static bool accept_request(struct tunnel *t)
{
    struct http_head a = {.status = 200, .content_length = HTTP_LENGTH_NONE};
    struct http_field date = {.name = HTTP_TEXT("date"), .value = http_date(t->connect->http)};
    a.field = &date;
    a.n_fields = date.value.n > 0 ? 1 : 0;
    t->status = 200;
    return http_respond(t->client, &a, false);
}

void relay_begin(struct tunnel *t, struct stream *s)
{
    tick_t now = t->connect->now;
    t->target = s;
    t->state = t->client_ended ? TUNNEL_STATE_HALF_CLOSED : TUNNEL_STATE_OPEN;
    t->connected = tick_since(now, t->began);
    t->active = now;
    s->service = &target;
    if (t->connect->env.opened)
        t->connect->env.opened(t->connect->env.ctx);
    if (!accept_request(t)) {
        t->client = NULL;
        tunnel_ends(t, TUNNEL_NO_MEMORY);
        part_with_target(t);
        return;
    }
    if (t->client_ended)
        stream_end(s);
    look_both(t);
}
