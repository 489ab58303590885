/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_BYTE_RING_H
#define MILLRACE_APP_BYTE_RING_H

/*
 * Records of any length on their way from one worker to the control thread: a ring of bytes with
 * one producer and one consumer, neither of which waits.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define BYTE_RING_HEADER 8u /* bytes before each record, which starts at a multiple of 8 */

struct byte_ring {
    uint32_t size;                      /* of data, a power of two */
    uint32_t reserved;                  /* producer's: bytes up to the end of the open record */
    _Alignas(64) _Atomic uint64_t tail; /* written by the producer */
    _Alignas(64) _Atomic uint64_t head; /* written by the consumer */
    _Alignas(64) uint8_t data[];
};

/* size: a power of two, at least 64. NULL: no memory. */
struct byte_ring *byte_ring_create(uint32_t size);
void byte_ring_destroy(struct byte_ring *r);

/* Producer: room for a record of n bytes, at most half the ring, which the consumer sees from
 * byte_ring_commit on. NULL: no room. */
void *byte_ring_reserve(struct byte_ring *r, uint32_t n);
void byte_ring_commit(struct byte_ring *r);

/* Consumer: the oldest record, valid until byte_ring_pop; NULL: none. */
const void *byte_ring_peek(struct byte_ring *r);
void byte_ring_pop(struct byte_ring *r);

#endif
