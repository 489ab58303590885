/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/ring.h"

#include <stdalign.h>

#define RING_MAX (UINT32_C(1) << 31)

static uint32_t power_of_two(uint32_t n)
{
    assert(n <= RING_MAX && "free-running counts of 32 bits reach no further");
    uint32_t p = 1;
    while (p < n)
        p <<= 1;
    return p;
}

static void **alloc_slots(struct mem *mem, uint32_t capacity)
{
    return mem_alloc(mem, capacity * sizeof(void *), alignof(void *));
}

static void free_slots(struct ring *r)
{
    if (r->slot)
        mem_free(r->mem, r->slot, ((size_t)r->mask + 1) * sizeof(void *));
}

bool ring_init(struct ring *r, struct mem *mem, uint32_t capacity, uint32_t max)
{
    assert(capacity <= max && "it starts within its bound");
    capacity = power_of_two(capacity);
    *r = (struct ring){.mem = mem, .mask = capacity - 1, .max = power_of_two(max)};
    r->slot = alloc_slots(mem, capacity);
    return r->slot != NULL;
}

void ring_fini(struct ring *r)
{
    free_slots(r);
    r->slot = NULL;
    r->head = r->tail = 0;
}

bool ring_grow(struct ring *r)
{
    uint32_t capacity = r->mask + 1;
    if (capacity >= r->max)
        return false;
    void **slot = alloc_slots(r->mem, 2 * capacity);
    if (!slot)
        return false;
    /* A free-running count names another place under the wider mask. */
    for (uint32_t i = r->head; i != r->tail; i++)
        slot[i & (2 * capacity - 1)] = r->slot[i & r->mask];
    free_slots(r);
    r->slot = slot;
    r->mask = 2 * capacity - 1;
    return true;
}
