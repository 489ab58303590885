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

struct vec vec_of_pkt(struct pkt *p)
{
    static const struct vec_ops ops = {.flatten = pkt_flatten, .discard = pkt_discard};
    return (struct vec){.ops = &ops, .of.pkt = p, .len = p->total};
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

/* Ends rise strictly from beyond the front to the back. */
static bool vec_queue_ok(const struct vec_queue *q)
{
    uint64_t end = q->front;
    for (uint32_t i = q->head; i != q->tail; i++) {
        const struct vec_slot *s = slot_at(q, i);
        if (s->end <= end || (i != q->head && s->end - end != s->vec.len))
            return false;
        end = s->end;
    }
    return end == q->back;
}

void vec_queue_init(struct vec_queue *q, struct mem *mem, uint32_t max)
{
    assert(max > 0 && max <= UINT32_C(1) << 31 && "free-running counts tell full from empty");
    uint32_t bound = 1;
    while (bound < max)
        bound <<= 1;
    *q = (struct vec_queue){.mem = mem, .max = bound};
}

static size_t slots_size(uint32_t capacity)
{
    return (size_t)capacity * sizeof(struct vec_slot);
}

static bool grow(struct vec_queue *q)
{
    uint32_t old = q->slot ? q->mask + 1 : 0;
    uint32_t capacity = old ? old * 2 : FIRST_CAPACITY;
    if (capacity > q->max)
        capacity = q->max;
    if (capacity <= old)
        return false;
    struct vec_slot *slot = mem_alloc(q->mem, slots_size(capacity), _Alignof(struct vec_slot));
    if (!slot)
        return false;
    for (uint32_t i = q->head; i != q->tail; i++)
        slot[i & (capacity - 1)] = *slot_at(q, i);
    mem_free(q->mem, q->slot, slots_size(old));
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
    *slot_at(q, q->tail++) = (struct vec_slot){.vec = v, .end = q->back};
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

void vec_queue_drop(struct vec_queue *q, uint64_t n)
{
    assert(n <= vec_queue_bytes(q) && "only what is queued can be dropped");
    q->front += n;
    while (q->head != q->tail && slot_at(q, q->head)->end <= q->front) {
        struct vec *v = &slot_at(q, q->head++)->vec;
        if (v->ops->discard)
            v->ops->discard(v);
    }
    invariant(vec_queue_ok(q));
}

void vec_queue_fini(struct vec_queue *q)
{
    vec_queue_drop(q, vec_queue_bytes(q));
    if (q->slot)
        mem_free(q->mem, q->slot, slots_size(q->mask + 1));
    q->slot = NULL;
}
