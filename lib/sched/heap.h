/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SCHED_HEAP_H
#define MILLRACE_SCHED_HEAP_H

/*
 * Nodes by key: an intrusive pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986). Its root is
 * the first of them: that of the smallest key, among equal keys that of the smallest turn. A
 * push costs O(1), a removal O(log n) over any sequence of them; neither recurses.
 */

#include <stdbool.h>

#include "sched/sched.h"

static inline bool heap_before(const struct sched_node *a, const struct sched_node *b)
{
    return a->key != b->key ? a->key < b->key : a->turn < b->turn;
}

/* n is in no heap. Its key and turn do not change while it is in one. */
void heap_push(struct sched_node **root, struct sched_node *n);
/* n is in this heap. */
void heap_remove(struct sched_node **root, struct sched_node *n);

/* How many there are, or SIZE_MAX where a link or the order is wrong. */
size_t heap_count_ok(const struct sched_node *root);

#endif
