/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/byte_ring.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What stands before a record. As records start at multiples of its size, there is always room for
 * one up to the end of the ring. */
struct header {
    uint32_t size; /* of the record with this; 0: go on at the start of the ring */
    uint32_t unused;
};

_Static_assert(sizeof(struct header) == BYTE_RING_HEADER, "what the header file says");

struct byte_ring *byte_ring_create(uint32_t size)
{
    assert((size & (size - 1)) == 0 && size >= 64);
    struct byte_ring *r = aligned_alloc(64, sizeof(*r) + size);
    if (!r)
        return NULL;
    memset(r, 0, sizeof(*r)); /* data costs nothing until it is used */
    r->size = size;
    return r;
}

void byte_ring_destroy(struct byte_ring *r)
{
    free(r);
}

static struct header *at(struct byte_ring *r, uint64_t position)
{
    return (struct header *)(void *)(r->data + (position & (r->size - 1)));
}

/* Bytes from position to the end of the ring's memory. */
static uint32_t to_end(const struct byte_ring *r, uint64_t position)
{
    return r->size - (uint32_t)(position & (r->size - 1));
}

void *byte_ring_reserve(struct byte_ring *r, uint32_t n)
{
    assert(n <= r->size / 2 - BYTE_RING_HEADER && "the caller knows the ring's size");
    uint32_t size = (BYTE_RING_HEADER + n + BYTE_RING_HEADER - 1) & ~(BYTE_RING_HEADER - 1);
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
    uint32_t skip = size > to_end(r, tail) ? to_end(r, tail) : 0; /* a record is in one piece */
    if (tail - head + skip + size > r->size)
        return NULL;
    if (skip)
        at(r, tail)->size = 0;
    r->reserved = skip + size;
    struct header *h = at(r, tail + skip);
    h->size = size;
    return h + 1;
}

void byte_ring_commit(struct byte_ring *r)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    atomic_store_explicit(&r->tail, tail + r->reserved, memory_order_release);
}

const void *byte_ring_peek(struct byte_ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    if (head == tail)
        return NULL;
    if (at(r, head)->size == 0) {
        head += to_end(r, head);
        atomic_store_explicit(&r->head, head, memory_order_release);
    }
    return at(r, head) + 1;
}

void byte_ring_pop(struct byte_ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    atomic_store_explicit(&r->head, head + at(r, head)->size, memory_order_release);
}
