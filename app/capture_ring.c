/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/capture_ring.h"

#include <stdlib.h>

struct capture_ring *capture_ring_create(uint32_t size, uint32_t snaplen)
{
    struct capture_ring *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->snaplen = snaplen;
    r->ring = byte_ring_create(size);
    if (r->ring)
        return r;
    free(r);
    return NULL;
}

void capture_ring_destroy(struct capture_ring *r)
{
    if (r)
        byte_ring_destroy(r->ring);
    free(r);
}

void capture_ring_put(struct capture_ring *r, const struct pkt *p, uint16_t iface,
                      enum capture_direction direction, tick_t now)
{
    uint32_t captured = p->total < r->snaplen ? p->total : r->snaplen;
    struct capture_packet *c =
        byte_ring_reserve(r->ring, (uint32_t)sizeof(struct capture_packet) + captured);
    if (!c) {
        uint64_t lost = capture_ring_lost(r, iface);
        atomic_store_explicit(&r->lost[iface], lost + 1, memory_order_relaxed);
        return;
    }
    c->tick = now;
    c->length = p->total;
    c->captured = captured;
    c->iface = iface;
    c->direction = (uint16_t)direction;
    pkt_copy_out(p, 0, c->bytes, captured);
    byte_ring_commit(r->ring);
}
