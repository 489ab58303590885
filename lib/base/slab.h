/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_SLAB_H
#define MILLRACE_BASE_SLAB_H

/*
 * Objects of one size, named by handles that carry a generation: a handle kept past its object's
 * end finds nothing, where a pointer would find another object. Memory grows by chunks that never
 * move, up to a bound; freed slots are reused, last freed first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/* Slot index in the low half, generation in the high half. Never 0 for a live object, so 0 may
 * stand for none. */
typedef uint64_t handle_t;
#define HANDLE_NONE UINT64_C(0)

struct slab;

/* Objects of size bytes (> 0) at the given alignment, at most max (1 .. 2^31). NULL: no memory. */
struct slab *slab_create(struct mem *mem, size_t size, size_t align, uint32_t max);
/* Objects still live go with it. s may be NULL. */
void slab_destroy(struct slab *s);

/* A zeroed object and its handle. NULL where the bound is met or memory is out; handle is then
 * HANDLE_NONE. */
void *slab_alloc(struct slab *s, handle_t *handle);
/* object must be live (asserted). Its handle is stale from here on. */
void slab_free(struct slab *s, void *object);
/* The object, or NULL where the handle is stale, HANDLE_NONE or was never given out. */
void *slab_get(const struct slab *s, handle_t handle);
handle_t slab_handle(const struct slab *s, const void *object);

uint32_t slab_live(const struct slab *s);
uint32_t slab_max(const struct slab *s);
/* The object in that slot; NULL: none is live there. slot < slab_slots. */
void *slab_at(const struct slab *s, uint32_t slot);
/* Slots that have ever been in use. */
uint32_t slab_slots(const struct slab *s);
/* The first live object at or after slot *cursor, advancing *cursor past it; NULL at the end.
 * Stable while objects come and go. */
void *slab_next(const struct slab *s, uint32_t *cursor);

#endif
