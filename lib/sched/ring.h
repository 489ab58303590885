/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SCHED_RING_H
#define MILLRACE_SCHED_RING_H

/*
 * Those that go in turn: a circle of nodes, of which the owner points to the first; NULL where
 * there is nobody. The last stands before the first, so that to send the first to the back is to
 * point to the next.
 */

#include "base/list.h"

static inline void ring_push_back(struct list **ring, struct list *n)
{
    if (*ring)
        list_insert_between(n, (*ring)->prev, *ring);
    else
        *ring = n;
}

static inline void ring_remove(struct list **ring, struct list *n)
{
    if (*ring == n)
        *ring = list_linked(n) ? n->next : NULL;
    list_remove(n);
}

static inline void ring_to_back(struct list **ring, struct list *n)
{
    if (*ring == n) {
        *ring = n->next;
        return;
    }
    list_remove(n);
    ring_push_back(ring, n);
}

/* n, which is in no ring, takes the place of old. */
static inline void ring_replace(struct list **ring, struct list *old, struct list *n)
{
    list_insert_between(n, old, old->next);
    if (*ring == old)
        *ring = n;
    list_remove(old);
}

#endif
