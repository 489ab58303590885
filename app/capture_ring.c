/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/capture_ring.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Records start at multiples of this, so that a header never straddles the end of the ring: where
 * fewer bytes are left than a header takes, both sides go on at the start without a word. */
#define RECORD_ALIGN 8u

struct capture_ring *capture_ring_create(uint32_t size, uint32_t snaplen)
{
    assert((size & (size - 1)) == 0 && snaplen < size / 2);
    struct capture_ring *r = aligned_alloc(64, sizeof(*r) + size);
    if (!r)
        return NULL;
    memset(r, 0, sizeof(*r));
    r->size = size;
    r->snaplen = snaplen;
    return r;
}

void capture_ring_destroy(struct capture_ring *r)
{
    free(r);
}

static struct capture_packet *at(struct capture_ring *r, uint64_t position)
{
    return (struct capture_packet *)(void *)(r->data + (position & (r->size - 1)));
}

/* Bytes from position to the end of the ring's memory. */
static uint32_t to_end(const struct capture_ring *r, uint64_t position)
{
    return r->size - (uint32_t)(position & (r->size - 1));
}

/* Room for size bytes in one piece; *tail moves past what is skipped for it. */
static struct capture_packet *reserve(struct capture_ring *r, uint64_t *tail, uint32_t size)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
    uint32_t end = to_end(r, *tail);
    uint32_t skip = size > end ? end : 0;
    if (*tail - head + skip + size > r->size)
        return NULL;
    if (skip >= sizeof(struct capture_packet))
        at(r, *tail)->size = 0;
    *tail += skip;
    return at(r, *tail);
}

void capture_ring_put(struct capture_ring *r, const struct pkt *p, uint16_t iface,
                      enum capture_direction direction, tick_t now)
{
    uint32_t captured = p->total < r->snaplen ? p->total : r->snaplen;
    uint32_t size = (uint32_t)sizeof(struct capture_packet) + captured;
    size = (size + RECORD_ALIGN - 1) & ~(RECORD_ALIGN - 1);
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    struct capture_packet *c = reserve(r, &tail, size);
    if (!c) {
        uint64_t lost = capture_ring_lost(r, iface);
        atomic_store_explicit(&r->lost[iface], lost + 1, memory_order_relaxed);
        return;
    }
    *c = (struct capture_packet){
        .tick = now,
        .length = p->total,
        .captured = captured,
        .iface = iface,
        .direction = (uint16_t)direction,
        .size = size,
    };
    pkt_copy_out(p, 0, c->bytes, captured);
    atomic_store_explicit(&r->tail, tail + size, memory_order_release);
}

const struct capture_packet *capture_ring_peek(struct capture_ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    if (head == tail)
        return NULL;
    uint32_t end = to_end(r, head);
    if (end < sizeof(struct capture_packet) || at(r, head)->size == 0) {
        head += end;
        atomic_store_explicit(&r->head, head, memory_order_release);
    }
    return at(r, head);
}

void capture_ring_pop(struct capture_ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    atomic_store_explicit(&r->head, head + at(r, head)->size, memory_order_release);
}
