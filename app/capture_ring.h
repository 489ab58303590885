/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CAPTURE_RING_H
#define MILLRACE_APP_CAPTURE_RING_H

/*
 * Captured packets on their way from one worker to the control thread. What finds no room is
 * counted.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "app/byte_ring.h"
#include "buf/pkt.h"
#include "stack/iface.h"
#include "stack/stack.h"

enum capture_direction {
    CAPTURE_IN = 1, /* as in a pcapng packet's flags */
    CAPTURE_OUT = 2,
};

struct capture_packet {
    tick_t tick;
    uint32_t length;   /* of the packet as it was */
    uint32_t captured; /* bytes at `bytes` */
    uint16_t iface;
    uint16_t direction; /* enum capture_direction */
    uint8_t bytes[];
};

struct capture_ring {
    struct byte_ring *ring;
    uint32_t snaplen;
    _Atomic uint64_t lost[IFACE_MAX]; /* written by the worker */
};

/* size: a power of two, with room for several packets of snaplen bytes. NULL: no memory. */
struct capture_ring *capture_ring_create(uint32_t size, uint32_t snaplen);
void capture_ring_destroy(struct capture_ring *r);

/* Worker: copies up to snaplen bytes of the packet. */
void capture_ring_put(struct capture_ring *r, const struct pkt *p, uint16_t iface,
                      enum capture_direction direction, tick_t now);

/* Control thread: the oldest packet, valid until capture_ring_pop; NULL: none. */
static inline const struct capture_packet *capture_ring_peek(struct capture_ring *r)
{
    return byte_ring_peek(r->ring);
}

static inline void capture_ring_pop(struct capture_ring *r)
{
    byte_ring_pop(r->ring);
}

/* Any thread: packets of an interface that found no room. */
static inline uint64_t capture_ring_lost(const struct capture_ring *r, uint16_t iface)
{
    return atomic_load_explicit(&r->lost[iface], memory_order_relaxed);
}

#endif
