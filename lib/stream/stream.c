/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream/stream.h"

#include "base/invariant.h"

/* What is noted and may still be told. */
#define TELL                                                                           \
    (STREAM_TELL_OPENED | STREAM_TELL_END | STREAM_TELL_WRITABLE | STREAM_TELL_ENDED | \
     STREAM_TELL_RESET)

/* The carrier has given it up, in order or not. */
#define GONE (STREAM_TELL_ENDED | STREAM_TELL_RESET)

const char *stream_code_name(enum stream_code code)
{
    static const char *const name[] = {[STREAM_OK] = "ok",
#define X(id, name, text) [STREAM_##id] = name,
                                       STREAM_CODES(X)
#undef X
    };
    assert(code < STREAM_CODE_END);
    return name[code];
}

static bool inbound_ok(const struct stream *s)
{
    if (!s->in)
        return s->in_cost == 0;
    const struct pkt *last = s->in;
    for (; last->next; last = last->next)
        if (last->len == 0)
            return false;
    return last->len > 0 && last == s->in_last && pkt_ok(s->in) && pkt_cost(s->in) == s->in_cost;
}

static bool above_high(const struct stream *s)
{
    return vec_queue_bytes(&s->out) >= s->high || vec_queue_count(&s->out) >= s->out.max / 2;
}

static bool stream_ok(const struct stream *s)
{
    if (s->bits & STREAM_OVER)
        return !(s->bits & (TELL | STREAM_FULL | STREAM_HELD)) && !list_linked(&s->node) &&
               !s->in && s->unconsumed == 0 && vec_queue_count(&s->out) == 0;
    if ((s->bits & STREAM_FULL) && (s->bits & STREAM_TELL_WRITABLE))
        return false;
    bool owed = s->bits & (STREAM_FULL | STREAM_OUT_END);
    return inbound_ok(s) && (owed || !above_high(s));
}

static void set(struct stream *s, unsigned bits)
{
    s->bits = (uint16_t)(s->bits | bits);
}

static void clear(struct stream *s, unsigned bits)
{
    s->bits = (uint16_t)(s->bits & ~bits);
}

static bool has_data(const struct stream *s)
{
    return s->in || (s->bits & STREAM_TELL_END);
}

/* Is there something that may be told now? */
static bool has_news(const struct stream *s)
{
    if (s->bits & (STREAM_TELL_OPENED | STREAM_TELL_WRITABLE))
        return true;
    return has_data(s) ? !(s->bits & STREAM_HELD) : s->bits & GONE;
}

static void join_if_news(struct stream *s)
{
    if (has_news(s) && !list_linked(&s->node))
        list_push_back(&s->ready->list, &s->node);
}

static void note(struct stream *s, enum stream_bit what)
{
    set(s, what);
    join_if_news(s);
}

/* Notes that the outbound queue is above its high mark, or that it was and has fallen to the low
 * one. By count as by bytes, for small promises. */
static void look_at_marks(struct stream *s)
{
    if (s->bits & (STREAM_OVER | STREAM_OUT_END | STREAM_TELL_RESET))
        return;
    if (above_high(s)) {
        set(s, STREAM_FULL);
        clear(s, STREAM_TELL_WRITABLE);
    } else if ((s->bits & STREAM_FULL) && vec_queue_bytes(&s->out) <= s->low &&
               vec_queue_count(&s->out) <= s->out.max / 4) {
        clear(s, STREAM_FULL);
        note(s, STREAM_TELL_WRITABLE);
    }
}

static void drop_inbound(struct stream *s)
{
    pkt_free(s->in);
    s->in = NULL;
    s->in_cost = 0;
}

/* Nothing more is told. What the service has not consumed, it will not. */
static void finish(struct stream *s)
{
    uint32_t n = s->unconsumed + (s->in ? s->in->total : 0);
    clear(s, TELL | STREAM_FULL | STREAM_HELD);
    set(s, STREAM_OVER);
    list_remove(&s->node);
    drop_inbound(s);
    s->unconsumed = 0;
    vec_queue_drop(&s->out, vec_queue_bytes(&s->out));
    if (n > 0)
        s->carrier->consume(s, n);
}

/* ---- for services ---- */

/* Has the other side gone, so that what is written leads nowhere? */
static bool lost(const struct stream *s)
{
    return s->bits & (STREAM_OVER | STREAM_TELL_RESET);
}

static void written(struct stream *s)
{
    look_at_marks(s);
    invariant(stream_ok(s));
    s->carrier->ready(s);
}

bool stream_write(struct stream *s, struct vec v)
{
    if (lost(s)) {
        if (v.ops->discard)
            v.ops->discard(&v);
        return true;
    }
    assert(!(s->bits & STREAM_OUT_END) && "nothing follows the end");
    if (!vec_queue_push(&s->out, v))
        return false;
    written(s);
    return true;
}

void stream_write_pkt(struct stream *s, struct pkt *p)
{
    if (lost(s) || p->total == 0) {
        pkt_free(p);
        return;
    }
    assert(!(s->bits & STREAM_OUT_END) && "nothing follows the end");
    if (vec_queue_push_pkt(&s->out, p)) {
        written(s);
        return;
    }
    pkt_free(p);
    stream_abort(s);
}

void stream_end(struct stream *s)
{
    if (s->bits & (STREAM_OVER | STREAM_OUT_END))
        return;
    clear(s, STREAM_FULL | STREAM_TELL_WRITABLE);
    set(s, STREAM_OUT_END);
    invariant(stream_ok(s));
    if (!lost(s))
        s->carrier->ready(s);
}

void stream_consume(struct stream *s, uint32_t n)
{
    if (n == 0 || (s->bits & STREAM_OVER))
        return;
    assert(n <= s->unconsumed && "only what was given can be consumed");
    s->unconsumed -= n;
    s->carrier->consume(s, n);
}

void stream_hold(struct stream *s)
{
    if (!lost(s))
        set(s, STREAM_HELD);
}

void stream_release(struct stream *s)
{
    clear(s, STREAM_HELD);
    join_if_news(s);
}

void stream_abort(struct stream *s)
{
    if (s->bits & STREAM_OVER)
        return;
    bool gone = s->bits & GONE;
    finish(s);
    invariant(stream_ok(s));
    if (gone)
        s->carrier->ready(s);
    else
        s->carrier->abort(s);
}

/* ---- for carriers ---- */

void stream_init(struct stream *s, const struct stream_service *service,
                 const struct stream_carrier *carrier, struct stream_ready *ready, struct mem *mem,
                 uint32_t max_promises)
{
    assert(service->data && "a service that hears nothing would stop its peer");
    assert(max_promises > 1 && "one could never be below half of it");
    *s = (struct stream){.service = service, .carrier = carrier, .ready = ready, .high = 1};
    list_init(&s->node);
    vec_queue_init(&s->out, mem, max_promises);
    invariant(stream_ok(s));
}

void stream_fini(struct stream *s)
{
    list_remove(&s->node);
    drop_inbound(s);
    vec_queue_fini(&s->out);
}

void stream_set_marks(struct stream *s, uint32_t high, uint32_t low)
{
    assert(low < high && "or writable would be told before it is so");
    s->high = high;
    s->low = low;
    look_at_marks(s);
    invariant(stream_ok(s));
}

void stream_opened(struct stream *s)
{
    assert(!(s->bits & (STREAM_TELL_OPENED | STREAM_OPENED)) && "it opens once");
    if (!(s->bits & STREAM_OVER))
        note(s, STREAM_TELL_OPENED);
}

void stream_opened_now(struct stream *s, bool end)
{
    assert(!(s->bits & (STREAM_TELL_OPENED | STREAM_OPENED | STREAM_OVER)) && "it opens once");
    set(s, end ? STREAM_OPENED | STREAM_IN_END : STREAM_OPENED);
}

void stream_in_ended_now(struct stream *s)
{
    assert(!s->in && !(s->bits & (STREAM_TELL_END | STREAM_IN_END)) && "before any content");
    set(s, STREAM_IN_END);
}

/* Appends the view, which stands alone. */
static void append(struct stream *s, struct pkt *view)
{
    uint32_t len = view->len;
    view->total = len;
    if (s->in && pkt_merge(s->in_last, view)) {
        s->in->total += len;
        return;
    }
    s->in_cost += pkt_cost(view);
    if (s->in) {
        s->in->total += len;
        s->in_last->next = view;
    } else {
        s->in = view;
    }
    s->in_last = view;
}

void stream_arrived(struct stream *s, struct pkt *p)
{
    assert(p->total > 0 && "data arrives, or the end does");
    if (s->bits & STREAM_OVER) {
        uint32_t n = p->total;
        pkt_free(p);
        s->carrier->consume(s, n);
        return;
    }
    assert(!(s->bits & (STREAM_TELL_END | STREAM_IN_END | GONE)) && "nothing follows the end");
    while (p) {
        struct pkt *view = p;
        p = p->next;
        view->next = NULL;
        if (view->len > 0)
            append(s, view);
        else
            pkt_free(view);
    }
    join_if_news(s);
    invariant(stream_ok(s));
}

void stream_arrived_end(struct stream *s)
{
    if (!(s->bits & (STREAM_OVER | STREAM_TELL_END | STREAM_IN_END | GONE)))
        note(s, STREAM_TELL_END);
}

void stream_acked(struct stream *s, uint64_t n)
{
    if (lost(s))
        return;
    vec_queue_drop(&s->out, n);
    look_at_marks(s);
    invariant(stream_ok(s));
}

void stream_finished(struct stream *s)
{
    if (s->bits & (STREAM_OVER | GONE))
        return;
    assert((s->bits & STREAM_OUT_END) && (s->bits & (STREAM_TELL_END | STREAM_IN_END)) &&
           vec_queue_bytes(&s->out) == 0 && "both directions have ended, all is acknowledged");
    note(s, STREAM_TELL_ENDED);
}

void stream_withdraw(struct stream *s)
{
    assert(!(s->bits & (STREAM_TELL_OPENED | STREAM_OPENED)) && "nobody has heard of it");
    set(s, STREAM_OVER);
    invariant(stream_ok(s));
}

void stream_failed(struct stream *s, enum stream_code code)
{
    assert(code > STREAM_OK && code < STREAM_CODE_END);
    if (s->bits & (STREAM_OVER | GONE))
        return;
    vec_queue_drop(&s->out, vec_queue_bytes(&s->out));
    clear(s, STREAM_FULL | STREAM_TELL_WRITABLE | STREAM_HELD);
    s->code = (uint8_t)code;
    note(s, STREAM_TELL_RESET);
    invariant(stream_ok(s));
}

uint32_t stream_cost(const struct stream *s)
{
    return s->in_cost + s->out.cost;
}

/* ---- telling ---- */

/* Was it noted? It is not any more. */
static bool take(struct stream *s, enum stream_bit what)
{
    bool noted = s->bits & what;
    clear(s, what);
    return noted;
}

static void tell_opened(struct stream *s)
{
    if (!take(s, STREAM_TELL_OPENED))
        return;
    set(s, STREAM_OPENED);
    if (s->service->opened)
        s->service->opened(s);
}

static void tell_writable(struct stream *s)
{
    if (take(s, STREAM_TELL_WRITABLE) && s->service->writable)
        s->service->writable(s);
}

static struct pkt *next_view(struct stream *s)
{
    struct pkt *view = s->in;
    if (!view)
        return NULL;
    s->in = view->next;
    if (s->in)
        s->in->total = view->total - view->len;
    view->next = NULL;
    view->total = view->len;
    s->in_cost -= pkt_cost(view);
    s->unconsumed += view->len;
    return view;
}

static void tell_data(struct stream *s, unsigned views)
{
    while (views-- > 0 && has_data(s) && !(s->bits & STREAM_HELD)) {
        struct pkt *view = next_view(s);
        bool end = !s->in && take(s, STREAM_TELL_END);
        if (end)
            set(s, STREAM_IN_END);
        s->service->data(s, view, end);
    }
}

/* Tells how it ended, behind everything else. */
static void tell_last(struct stream *s)
{
    const struct stream_service *service = s->service;
    bool ended = s->bits & STREAM_TELL_ENDED;
    finish(s);
    if (ended && service->ended)
        service->ended(s);
    else if (!ended && service->reset)
        service->reset(s, s->code);
    s->carrier->ready(s);
}

static void serve(struct stream *s, unsigned views)
{
    tell_opened(s);
    tell_writable(s);
    tell_data(s, views);
    if (!has_data(s) && (s->bits & GONE))
        tell_last(s);
    /* What was noted meanwhile may have been told, and what was told may have left more. */
    if (has_news(s))
        join_if_news(s);
    else
        list_remove(&s->node);
    invariant(stream_ok(s));
}

bool stream_ready_run(struct stream_ready *r, unsigned max, unsigned views)
{
    assert(max > 0 && views > 0 && "a turn brings something on its way");
    struct list turn; /* a stream's end takes it out of here as well */
    list_init(&turn);
    list_splice_back(&turn, &r->list);
    for (; max > 0 && !list_empty(&turn); max--) {
        struct list *node = turn.next;
        list_remove(node);
        serve(container_of(node, struct stream, node), views);
    }
    /* Those whose turn has not come are first the next time. */
    list_splice_back(&turn, &r->list);
    list_splice_back(&r->list, &turn);
    return !stream_ready_empty(r);
}
