/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_MEMORY_H
#define MILLRACE_APP_MEMORY_H

/*
 * Memory for a worker's stack, from the process's heap: tables that grow with peers have no size to
 * plan for beforehand, as DPDK's memory without hugepages would ask. Whoever touches a page first
 * has it on its NUMA node, so a worker creates its own stack. Any thread's.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/stack.h"

struct memory {
    struct mem mem;
    _Atomic uint64_t bytes; /* held now */
};

void memory_init(struct memory *m);

#endif
