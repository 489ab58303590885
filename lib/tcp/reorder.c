/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/reorder.h"

#include <stdalign.h>
#include <string.h>

#include "base/invariant.h"

#define ROOM_MIN 4

/* Up to so many bytes are copied behind others rather than kept in a view of their own: what costs
 * less than the memory that they would pin. */
#define COALESCE_MAX 1024

void reorder_init(struct tcp_reorder *o, struct mem *mem)
{
    *o = (struct tcp_reorder){.mem = mem};
}

void reorder_tidy(struct tcp_reorder *o)
{
    if (o->n > 0)
        return;
    mem_free(o->mem, o->range, o->room * sizeof(*o->range));
    o->range = NULL;
    o->room = 0;
}

/* Forgets the ranges [from, to), whose chains are gone or elsewhere. */
static void remove_ranges(struct tcp_reorder *o, unsigned from, unsigned to)
{
    if (from == to)
        return;
    for (unsigned i = from; i < to; i++) {
        o->cost -= o->range[i].cost;
        o->bytes -= (uint32_t)seq32_diff(o->range[i].right, o->range[i].left);
    }
    memmove(&o->range[from], &o->range[to], (o->n - to) * sizeof(*o->range));
    o->n = (uint16_t)(o->n - (to - from));
}

static void drop_ranges(struct tcp_reorder *o, unsigned from)
{
    for (unsigned i = from; i < o->n; i++)
        pkt_free(o->range[i].head);
    remove_ranges(o, from, o->n);
}

void reorder_fini(struct tcp_reorder *o)
{
    drop_ranges(o, 0);
    reorder_tidy(o);
}

/* The first range that ends at seq or after it; n: none. */
static unsigned find(const struct tcp_reorder *o, seq32_t seq)
{
    unsigned low = 0;
    unsigned high = o->n;
    while (low < high) {
        unsigned mid = (low + high) / 2;
        if (seq32_lt(o->range[mid].right, seq))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct pkt *last_view(struct pkt *p)
{
    while (p->next)
        p = p->next;
    return p;
}

static bool all_writable(const struct pkt *p)
{
    while (p && pkt_writable(p))
        p = p->next;
    return !p;
}

/* Copies the bytes of from over those of to, from offset on. */
static void overwrite(struct pkt *to, uint32_t offset, const struct pkt *from)
{
    uint32_t done = 0;
    for (struct pkt *v = to; done < from->total; v = v->next) {
        if (offset >= v->len) {
            offset -= v->len;
            continue;
        }
        uint32_t n = v->len - offset;
        if (n > from->total - done)
            n = from->total - done;
        pkt_copy_out(from, done, v->data + offset, n);
        done += n;
        offset = 0;
    }
}

static bool fits_behind(const struct tcp_range *a, const struct pkt *p)
{
    return p->total <= COALESCE_MAX && p->total <= a->last->tailroom && pkt_writable(a->last);
}

/* One range of a and of b, which follows it. */
static struct tcp_range join(struct tcp_range a, struct tcp_range b)
{
    uint32_t bytes = b.head->total;
    if (fits_behind(&a, b.head)) {
        pkt_copy_out(b.head, 0, a.last->data + a.last->len, bytes);
        pkt_free(b.head);
        a.last->len += bytes;
        a.last->tailroom = (uint16_t)(a.last->tailroom - bytes);
    } else {
        a.last->next = b.head;
        a.last = b.last;
        a.cost += b.cost;
    }
    a.head->total += bytes;
    a.right = b.right;
    a.touched = seq32_max(a.touched, b.touched);
    return a;
}

/* r takes the place of the ranges [from, to); with from == to, there is room for it. */
static void replace(struct tcp_reorder *o, unsigned from, unsigned to, const struct tcp_range *r)
{
    if (from == to) {
        memmove(&o->range[from + 1], &o->range[from], (o->n - from) * sizeof(*r));
        o->n++;
    } else {
        remove_ranges(o, from + 1, to);
        o->cost -= o->range[from].cost;
        o->bytes -= (uint32_t)seq32_diff(o->range[from].right, o->range[from].left);
    }
    o->range[from] = *r;
    o->cost += r->cost;
    o->bytes += (uint32_t)seq32_diff(r->right, r->left);
}

static enum reorder_outcome make_room(struct tcp_reorder *o)
{
    if (o->n < o->room)
        return REORDER_KEPT;
    if (o->room == TCP_REORDER_RANGES)
        return REORDER_FULL;
    unsigned room = o->room ? o->room * 2u : ROOM_MIN;
    struct tcp_range *range = mem_alloc(o->mem, room * sizeof(*range), alignof(struct tcp_range));
    if (!range)
        return REORDER_MEMORY;
    if (o->n > 0)
        memcpy(range, o->range, o->n * sizeof(*range));
    mem_free(o->mem, o->range, o->room * sizeof(*range));
    o->range = range;
    o->room = (uint16_t)room;
    return REORDER_KEPT;
}

/* Where new bytes belong: piece lies around the ranges [from, to) and apart from all others, but
 * that it may touch those at either side. */
struct place {
    struct tcp_range piece;
    unsigned from;
    unsigned to;
    bool before; /* range[from - 1] ends where it starts */
    bool after;  /* range[to] starts where it ends */
};

static void note_duplicate(struct tcp_sack *dup, seq32_t left, seq32_t right)
{
    if (seq32_eq(dup->left, dup->right)) /* RFC 2883 4: the first of them */
        *dup = (struct tcp_sack){.left = left, .right = right};
}

/* Cuts from the piece's end what is here already. */
static void cut_end(const struct tcp_reorder *o, struct place *at, struct tcp_sack *dup)
{
    struct tcp_range *piece = &at->piece;
    bool writable = all_writable(piece->head);
    unsigned i = at->from;
    for (; i < o->n && seq32_lt(o->range[i].left, piece->right); i++) {
        const struct tcp_range *r = &o->range[i];
        note_duplicate(dup, r->left, seq32_min(r->right, piece->right));
        if (writable && seq32_le(r->right, piece->right))
            continue;
        piece->right = r->left;
        pkt_trim(piece->head, (uint32_t)seq32_diff(piece->right, piece->left));
        break;
    }
    at->to = i;
    at->after = i < o->n && seq32_eq(o->range[i].left, piece->right);
}

/* Finds the place of p and cuts p to it. False: nothing of it is new. */
static bool find_place(struct tcp_reorder *o, seq32_t seq, struct pkt *p, struct place *at,
                       struct tcp_sack *dup)
{
    seq32_t end = seq32_add(seq, p->total);
    unsigned i = find(o, seq);
    *at = (struct place){.from = i};
    if (i < o->n && seq32_le(o->range[i].left, seq)) {
        struct tcp_range *r = &o->range[i];
        uint32_t overlap = (uint32_t)seq32_diff(seq32_min(r->right, end), seq);
        note_duplicate(dup, seq, seq32_add(seq, overlap));
        if (overlap == p->total) {
            r->touched = o->arrivals; /* RFC 2018 4: the block of this segment comes first */
            return false;
        }
        p = pkt_advance(p, overlap);
        seq = r->right;
        at->before = true;
        at->from = i + 1;
    }
    at->piece = (struct tcp_range){.left = seq, .right = end, .touched = o->arrivals, .head = p};
    cut_end(o, at, dup);
    at->piece.last = last_view(at->piece.head);
    at->piece.cost = pkt_cost(at->piece.head);
    return true;
}

static enum reorder_outcome admit(struct tcp_reorder *o, const struct place *at, uint32_t cost_max)
{
    const struct tcp_range *piece = &at->piece;
    bool copied = at->before && fits_behind(&o->range[at->from - 1], piece->head);
    if (!copied && (o->cost > cost_max || piece->cost > cost_max - o->cost))
        return REORDER_FULL;
    bool replaces = at->before || at->after || at->from < at->to;
    return replaces ? REORDER_KEPT : make_room(o);
}

static void settle(struct tcp_reorder *o, struct place *at)
{
    struct tcp_range r = at->piece;
    for (unsigned i = at->from; i < at->to; i++) {
        struct tcp_range *old = &o->range[i];
        overwrite(r.head, (uint32_t)seq32_diff(old->left, r.left), old->head);
        pkt_free(old->head);
    }
    if (at->before)
        r = join(o->range[--at->from], r);
    if (at->after)
        r = join(r, o->range[at->to++]);
    replace(o, at->from, at->to, &r);
}

enum reorder_outcome reorder_insert(struct tcp_reorder *o, seq32_t seq, struct pkt *p,
                                    uint32_t cost_max, struct tcp_sack *dup)
{
    assert(p->total > 0 && "an empty segment has no place");
    struct tcp_sack seen = {.left = seq, .right = seq};
    struct place at;
    o->arrivals = seq32_add(o->arrivals, 1);
    enum reorder_outcome outcome = REORDER_DUPLICATE;
    if (find_place(o, seq, p, &at, &seen)) {
        p = at.piece.head;
        outcome = admit(o, &at, cost_max);
    }
    if (outcome == REORDER_KEPT)
        settle(o, &at);
    else
        pkt_free(p);
    if (dup)
        *dup = seen;
    invariant(reorder_ok(o));
    return outcome;
}

struct pkt *reorder_take(struct tcp_reorder *o, seq32_t nxt)
{
    unsigned i = 0;
    for (; i < o->n && seq32_le(o->range[i].right, nxt); i++)
        pkt_free(o->range[i].head);
    struct pkt *p = NULL;
    if (i < o->n && seq32_le(o->range[i].left, nxt)) {
        struct tcp_range *r = &o->range[i++];
        p = pkt_advance(r->head, (uint32_t)seq32_diff(nxt, r->left));
    }
    remove_ranges(o, 0, i);
    invariant(reorder_ok(o));
    return p;
}

void reorder_cut(struct tcp_reorder *o, seq32_t end)
{
    unsigned i = find(o, end);
    if (i < o->n && seq32_lt(o->range[i].left, end)) {
        struct tcp_range r = o->range[i];
        r.right = end;
        pkt_trim(r.head, (uint32_t)seq32_diff(end, r.left));
        r.last = last_view(r.head);
        r.cost = pkt_cost(r.head);
        replace(o, i, i + 1, &r);
        i++;
    } else if (i < o->n && seq32_eq(o->range[i].right, end)) {
        i++;
    }
    drop_ranges(o, i);
    invariant(reorder_ok(o));
}

unsigned reorder_sacks(const struct tcp_reorder *o, struct tcp_sack *to, unsigned max)
{
    assert(max <= TCP_SACK_MAX && "an option holds no more");
    const struct tcp_range *newest[TCP_SACK_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < o->n && max > 0; i++) {
        const struct tcp_range *r = &o->range[i];
        if (n == max && seq32_le(r->touched, newest[n - 1]->touched))
            continue;
        unsigned at = n < max ? n++ : n - 1;
        for (; at > 0 && seq32_lt(newest[at - 1]->touched, r->touched); at--)
            newest[at] = newest[at - 1];
        newest[at] = r;
    }
    for (unsigned i = 0; i < n; i++)
        to[i] = (struct tcp_sack){.left = newest[i]->left, .right = newest[i]->right};
    return n;
}

static bool range_ok(const struct tcp_range *r)
{
    return seq32_lt(r->left, r->right) && pkt_ok(r->head) &&
           r->head->total == (uint32_t)seq32_diff(r->right, r->left) &&
           r->last == last_view(r->head) && r->cost == pkt_cost(r->head);
}

bool reorder_ok(const struct tcp_reorder *o)
{
    if (o->n > o->room || o->room > TCP_REORDER_RANGES || !o->range != (o->room == 0))
        return false;
    uint32_t bytes = 0;
    uint32_t cost = 0;
    for (unsigned i = 0; i < o->n; i++) {
        const struct tcp_range *r = &o->range[i];
        if (!range_ok(r) || seq32_gt(r->touched, o->arrivals))
            return false;
        if (i > 0 && !seq32_lt(r[-1].right, r->left))
            return false;
        bytes += r->head->total;
        cost += r->cost;
    }
    return bytes == o->bytes && cost == o->cost;
}
