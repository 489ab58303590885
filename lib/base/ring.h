/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_RING_H
#define MILLRACE_BASE_RING_H

/*
 * Deque of pointers in a power-of-two ring indexed by mask. Head and tail are free-running 32-bit
 * counts, so full and empty differ without a spare slot. Grows by doubling up to a bound; within
 * its capacity it never allocates. One thread's.
 */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct ring {
    void **slot;
    uint32_t head; /* first member, when not empty */
    uint32_t tail; /* one past the last */
    uint32_t mask; /* capacity - 1 */
    uint32_t max;  /* capacity it may grow to */
    struct mem *mem;
};

/* capacity <= max <= 2^31, both rounded up to powers of two. False: no memory. */
bool ring_init(struct ring *r, struct mem *mem, uint32_t capacity, uint32_t max);
/* Members are the caller's to free first. Harmless on a zeroed ring, and twice. */
void ring_fini(struct ring *r);

static inline uint32_t ring_count(const struct ring *r)
{
    return r->tail - r->head;
}

static inline bool ring_empty(const struct ring *r)
{
    return r->tail == r->head;
}

/* i-th from the head; i < ring_count. */
static inline void *ring_at(const struct ring *r, uint32_t i)
{
    assert(i < ring_count(r));
    return r->slot[(r->head + i) & r->mask];
}

/* Doubles the capacity. False at the bound or without memory; nothing has changed then. */
bool ring_grow(struct ring *r);

/* False where the ring is at its bound or out of memory. */
static inline bool ring_push_back(struct ring *r, void *item)
{
    if (ring_count(r) > r->mask && !ring_grow(r))
        return false;
    r->slot[r->tail++ & r->mask] = item;
    return true;
}

static inline bool ring_push_front(struct ring *r, void *item)
{
    if (ring_count(r) > r->mask && !ring_grow(r))
        return false;
    r->slot[--r->head & r->mask] = item;
    return true;
}

/* NULL where empty. */
static inline void *ring_pop_front(struct ring *r)
{
    return ring_empty(r) ? NULL : r->slot[r->head++ & r->mask];
}

static inline void *ring_pop_back(struct ring *r)
{
    return ring_empty(r) ? NULL : r->slot[--r->tail & r->mask];
}

#endif
