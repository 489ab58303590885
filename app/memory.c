/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE (UINT64_C(2) << 20)

static void account(struct memory *m, uint64_t delta)
{
    atomic_fetch_add_explicit(&m->bytes, delta, memory_order_relaxed);
}

/* Large tables are looked up at random: huge pages spare their address translations. */
static size_t alignment(size_t size, size_t align)
{
    if (size >= HUGE && align < HUGE)
        return HUGE;
    return align < sizeof(void *) ? sizeof(void *) : align;
}

static void *memory_alloc(struct mem *mem, size_t size, size_t align)
{
    struct memory *m = (struct memory *)mem;
    void *block;
    if (posix_memalign(&block, alignment(size, align), size) != 0)
        return NULL;
    if (size >= HUGE)
        madvise(block, size, MADV_HUGEPAGE); /* a wish */
    memset(block, 0, size);
    account(m, size);
    return block;
}

static void memory_free(struct mem *mem, void *block, size_t size)
{
    account((struct memory *)mem, (uint64_t)0 - size);
    free(block);
}

void memory_init(struct memory *m)
{
    *m = (struct memory){.mem = {.alloc = memory_alloc, .free = memory_free}};
}
