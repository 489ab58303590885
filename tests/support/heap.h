/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_HEAP_H
#define MILLRACE_TESTS_HEAP_H

/*
 * Memory and packets for code under test, from the heap, so that AddressSanitizer sees every byte,
 * with a count of what is still held and a way to run out on purpose.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "buf/pkt.h"

struct heap {
    struct mem mem;
    size_t bytes;  /* held now */
    size_t blocks; /* held now */
    size_t peak;
    size_t limit; /* bytes; an allocation beyond it fails. SIZE_MAX at first */
};

void heap_init(struct heap *h);

struct heap_pool {
    struct pkt_pool pool;
    size_t held;  /* packets and views not freed */
    size_t limit; /* an allocation beyond it fails. SIZE_MAX at first */
};

/* room and headroom as in struct pkt_pool. */
void heap_pool_init(struct heap_pool *p, uint16_t headroom, uint16_t room);

/* A packet of these bytes, split into views of at most `view` bytes (0: one view). NULL only at the
 * pool's limit. */
struct pkt *heap_pkt(struct heap_pool *p, const void *bytes, size_t len, size_t view);

#endif
