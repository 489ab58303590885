/* SPDX-License-Identifier: BSD-3-Clause */
#include "buf/vec.h"

#include <string.h>

#include "base/invariant.h"

#define FIRST_CAPACITY 8u

static void pkt_flatten(const struct vec *v, uint32_t offset, uint8_t *dst, uint32_t len)
{
    pkt_copy_out(v->of.pkt, offset, dst, len);
}

static void pkt_discard(struct vec *v)
{
    pkt_free(v->of.pkt);
}

static struct pkt *pkt_part(const struct vec *v, struct pkt_pool *pool, uint32_t offset,
                            uint32_t len)
{
    return pkt_slice(pool, v->of.pkt, offset, len);
}

static uint32_t pkt_held(const struct vec *v)
{
    return pkt_cost(v->of.pkt);
}

static const struct vec_ops pkt_vec_ops = {
    .flatten = pkt_flatten, .discard = pkt_discard, .slice = pkt_part, .cost = pkt_held};

struct vec vec_of_pkt(struct pkt *p)
{
    return (struct vec){.ops = &pkt_vec_ops, .of.pkt = p, .len = p->total};
}

static void const_flatten(const struct vec *v, uint32_t offset, uint8_t *dst, uint32_t len)
{
    memcpy(dst, (const uint8_t *)v->of.bytes + offset, len);
}

struct vec vec_of_const(const void *bytes, uint32_t len)
{
    static const struct vec_ops ops = {.flatten = const_flatten};
    return (struct vec){.ops = &ops, .of.bytes = bytes, .len = len};
}

static struct vec_slot *slot_at(const struct vec_queue *q, uint32_t index)
{
    return &q->slot[index & q->mask];
}

static uint32_t vec_cost(const struct vec *v)
{
    return v->ops->cost ? v->ops->cost(v) : 0;
}

/* Ends rise strictly from beyond the front to the back. */
static bool vec_queue_ok(const struct vec_queue *q)
{
    uint64_t end = q->front;
    uint32_t cost = 0;
    for (uint32_t i = q->head; i != q->tail; i++) {
        const struct vec_slot *s = slot_at(q, i);
        if (s->end <= end || (i != q->head && s->end - end != s->vec.len))
            return false;
        end = s->end;
        cost += vec_cost(&s->vec);
    }
    return end == q->back && cost == q->cost;
}

void vec_queue_init(struct vec_queue *q, struct mem *mem, uint32_t max)
{
    assert(max > 0 && max <= UINT32_C(1) << 31 && "free-running counts tell full from empty");
    uint32_t bound = 1;
    while (bound < max)
        bound <<= 1;
    *q = (struct vec_queue){.mem = mem, .max = bound};
}

void vec_queue_lend(struct vec_queue *q, struct vec_slot *slot)
{
    assert(!q->slot && "memory to start with");
    q->slot = slot;
    q->mask = 0;
    q->lent = true;
}

static size_t slots_size(uint32_t capacity)
{
    return (size_t)capacity * sizeof(struct vec_slot);
}

static void give_back(struct vec_queue *q)
{
    if (q->slot && !q->lent)
        mem_free(q->mem, q->slot, slots_size(q->mask + 1));
    q->slot = NULL;
    q->lent = false;
}

static bool grow(struct vec_queue *q)
{
    uint32_t old = q->slot ? q->mask + 1 : 0;
    uint32_t capacity = old > 1 ? old * 2 : FIRST_CAPACITY;
    if (capacity > q->max)
        capacity = q->max;
    if (capacity <= old)
        return false;
    struct vec_slot *slot = mem_alloc(q->mem, slots_size(capacity), _Alignof(struct vec_slot));
    if (!slot)
        return false;
    for (uint32_t i = q->head; i != q->tail; i++)
        slot[i & (capacity - 1)] = *slot_at(q, i);
    give_back(q);
    q->slot = slot;
    q->mask = capacity - 1;
    return true;
}

bool vec_queue_push(struct vec_queue *q, struct vec v)
{
    assert(v.len > 0 && "a promise of nothing would never be dropped");
    bool full = !q->slot || vec_queue_count(q) > q->mask;
    if (full && !grow(q))
        return false;
    q->back += v.len;
    q->cost += vec_cost(&v);
    *slot_at(q, q->tail++) = (struct vec_slot){.vec = v, .end = q->back};
    invariant(vec_queue_ok(q));
    return true;
}

/* The last promise, where it is a packet of one view. */
static struct vec_slot *open_slot(const struct vec_queue *q)
{
    if (vec_queue_count(q) == 0)
        return NULL;
    struct vec_slot *last = slot_at(q, q->tail - 1);
    return last->vec.ops == &pkt_vec_ops && !last->vec.of.pkt->next ? last : NULL;
}

bool vec_queue_push_pkt(struct vec_queue *q, struct pkt *p)
{
    struct vec_slot *last = open_slot(q);
    uint32_t n = p->total;
    if (!last || !pkt_merge(last->vec.of.pkt, p))
        return vec_queue_push(q, vec_of_pkt(p));
    last->vec.of.pkt->total += n;
    last->vec.len += n;
    last->end += n;
    q->back += n;
    invariant(vec_queue_ok(q));
    return true;
}

/* Index of the promise that holds the byte at position, which is neither dropped nor past the end.
 */
static uint32_t find(const struct vec_queue *q, uint64_t position)
{
    uint32_t low = 0;
    uint32_t high = vec_queue_count(q) - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (slot_at(q, q->head + middle)->end <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return q->head + low;
}

void vec_queue_flatten(const struct vec_queue *q, uint64_t offset, void *dst, uint32_t len)
{
    assert(offset <= vec_queue_bytes(q) && len <= vec_queue_bytes(q) - offset);
    if (len == 0)
        return;
    uint64_t position = q->front + offset;
    uint8_t *to = dst;
    for (uint32_t i = find(q, position); len > 0; i++) {
        const struct vec_slot *s = slot_at(q, i);
        uint32_t left = (uint32_t)(s->end - position);
        uint32_t n = len < left ? len : left;
        s->vec.ops->flatten(&s->vec, s->vec.len - left, to, n);
        to += n;
        position += n;
        len -= n;
    }
}

struct pkt *vec_queue_pkt(const struct vec_queue *q, struct pkt_pool *pool, uint64_t offset,
                          uint32_t len)
{
    struct pkt *p = pkt_alloc_len(pool, len);
    pkt_for_each (v, p) {
        vec_queue_flatten(q, offset, v->data, v->len);
        offset += v->len;
    }
    return p;
}

/* The last of the promises from index i on that have to be flattened, one after the other, up to
 * end. */
static uint32_t flat_run(const struct vec_queue *q, uint32_t i, uint64_t end)
{
    while (slot_at(q, i)->end < end && !slot_at(q, i + 1)->vec.ops->slice)
        i++;
    return i;
}

/* Views of the bytes from position *at on, which stands in promise *i, of that promise or of a run
 * to be flattened, up to end. Both move on. */
static struct pkt *slice_part(const struct vec_queue *q, struct pkt_pool *pool, uint32_t *i,
                              uint64_t *at, uint64_t end)
{
    const struct vec_slot *s = slot_at(q, *i);
    uint64_t from = *at;
    if (!s->vec.ops->slice)
        *i = flat_run(q, *i, end);
    uint64_t stop = slot_at(q, (*i)++)->end;
    *at = stop < end ? stop : end;
    uint32_t len = (uint32_t)(*at - from);
    if (!s->vec.ops->slice)
        return vec_queue_pkt(q, pool, from - q->front, len);
    return s->vec.ops->slice(&s->vec, pool, s->vec.len - (uint32_t)(s->end - from), len);
}

struct pkt *vec_queue_slice(const struct vec_queue *q, struct pkt_pool *pool, uint64_t offset,
                            uint32_t len, unsigned max_views)
{
    assert(offset <= vec_queue_bytes(q) && len <= vec_queue_bytes(q) - offset);
    assert(len > 0 && "a packet of nothing has a view all the same");
    uint64_t at = q->front + offset;
    uint64_t end = at + len;
    uint32_t i = find(q, at);
    unsigned views = 0;
    struct pkt *head = NULL;
    struct pkt **tail = &head;
    while (at < end) {
        *tail = slice_part(q, pool, &i, &at, end);
        if (!*tail)
            goto fail;
        for (; *tail; tail = &(*tail)->next)
            views++;
        if (views > max_views)
            goto fail;
    }
    head->total = len;
    invariant(pkt_ok(head));
    return head;

fail:
    pkt_free(head);
    return NULL;
}

void vec_queue_tidy(struct vec_queue *q)
{
    assert(vec_queue_count(q) == 0 && "promises stand in the ring");
    give_back(q);
}

void vec_queue_drop(struct vec_queue *q, uint64_t n)
{
    assert(n <= vec_queue_bytes(q) && "only what is queued can be dropped");
    q->front += n;
    while (q->head != q->tail && slot_at(q, q->head)->end <= q->front) {
        struct vec *v = &slot_at(q, q->head++)->vec;
        q->cost -= vec_cost(v);
        if (v->ops->discard)
            v->ops->discard(v);
    }
    invariant(vec_queue_ok(q));
}

void vec_queue_fini(struct vec_queue *q)
{
    vec_queue_drop(q, vec_queue_bytes(q));
    vec_queue_tidy(q);
}
