/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_MEM_H
#define MILLRACE_BASE_MEM_H

/*
 * Memory as an argument. Objects take it when they are created or when a table grows, never at
 * packet rate. The caller of mem_free names the size it asked for, so that an owner can account
 * without a header in front of each block.
 */

#include <stddef.h>

struct mem {
    /* Zeroed memory aligned to align (a power of two), or NULL. size > 0. */
    void *(*alloc)(struct mem *mem, size_t size, size_t align);
    void (*free)(struct mem *mem, void *block, size_t size);
};

static inline void *mem_alloc(struct mem *mem, size_t size, size_t align)
{
    return mem->alloc(mem, size, align);
}

/* block may be NULL. */
static inline void mem_free(struct mem *mem, void *block, size_t size)
{
    if (block)
        mem->free(mem, block, size);
}

#endif
