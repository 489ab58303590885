/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CAPTURE_RING_H
#define MILLRACE_APP_CAPTURE_RING_H

/*
 * Captured packets on their way from one worker to the control thread: a ring of bytes with one
 * producer and one consumer. Neither waits; what finds no room is counted.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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
    uint32_t size;      /* of this record in the ring, a multiple of 8; 0: go on at the start */
    uint8_t bytes[];
};

struct capture_ring {
    uint32_t size; /* bytes of data, a power of two */
    uint32_t snaplen;
    _Alignas(64) _Atomic uint64_t tail; /* written by the worker */
    _Atomic uint64_t lost[IFACE_MAX];   /* written by the worker */
    _Alignas(64) _Atomic uint64_t head; /* written by the control thread */
    _Alignas(64) uint8_t data[];
};

/* size: a power of two, with room for several packets of snaplen bytes. NULL: no memory. */
struct capture_ring *capture_ring_create(uint32_t size, uint32_t snaplen);
void capture_ring_destroy(struct capture_ring *r);

/* Worker: copies up to snaplen bytes of the packet. */
void capture_ring_put(struct capture_ring *r, const struct pkt *p, uint16_t iface,
                      enum capture_direction direction, tick_t now);

/* Control thread: the oldest packet, valid until capture_ring_pop; NULL: none. */
const struct capture_packet *capture_ring_peek(struct capture_ring *r);
void capture_ring_pop(struct capture_ring *r);

/* Any thread: packets of an interface that found no room. */
static inline uint64_t capture_ring_lost(const struct capture_ring *r, uint16_t iface)
{
    return atomic_load_explicit(&r->lost[iface], memory_order_relaxed);
}

#endif
