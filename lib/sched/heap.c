/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/heap.h"

#include <assert.h>

/* Both are roots. */
static struct sched_node *merge(struct sched_node *a, struct sched_node *b)
{
    if (heap_before(b, a)) {
        struct sched_node *first = b;
        b = a;
        a = first;
    }
    b->heap.prev = a;
    b->heap.next = a->heap.child;
    if (b->heap.next)
        b->heap.next->heap.prev = b;
    a->heap.child = b;
    return a;
}

/* Pairs of siblings, from the first on; the result is in reverse order. */
static struct sched_node *merge_pairs(struct sched_node *n)
{
    struct sched_node *pairs = NULL;
    while (n) {
        struct sched_node *a = n;
        struct sched_node *b = n->heap.next;
        n = b ? b->heap.next : NULL;
        if (b)
            a = merge(a, b);
        a->heap.next = pairs;
        pairs = a;
    }
    return pairs;
}

/* The children of a node that goes, as one. */
static struct sched_node *merge_children(const struct sched_node *of)
{
    struct sched_node *pairs = merge_pairs(of->heap.child);
    struct sched_node *root = NULL;
    while (pairs) {
        struct sched_node *pair = pairs;
        pairs = pair->heap.next;
        root = root ? merge(root, pair) : pair;
    }
    if (root)
        root->heap.prev = root->heap.next = NULL;
    return root;
}

void heap_push(struct sched_node **root, struct sched_node *n)
{
    n->heap.child = n->heap.prev = n->heap.next = NULL;
    *root = *root ? merge(*root, n) : n;
}

static void cut(struct sched_node *n)
{
    struct sched_node *before = n->heap.prev;
    assert(before && "only the root has nothing before it");
    if (before->heap.child == n)
        before->heap.child = n->heap.next;
    else
        before->heap.next = n->heap.next;
    if (n->heap.next)
        n->heap.next->heap.prev = before;
}

void heap_remove(struct sched_node **root, struct sched_node *n)
{
    struct sched_node *children = merge_children(n);
    if (*root == n) {
        *root = children;
        return;
    }
    cut(n);
    if (children)
        *root = merge(*root, children);
}

/* The node after n, where children come before siblings. */
static const struct sched_node *next_in_tree(const struct sched_node *n)
{
    if (n->heap.child)
        return n->heap.child;
    while (n && !n->heap.next) {
        while (n->heap.prev && n->heap.prev->heap.child != n)
            n = n->heap.prev;
        n = n->heap.prev;
    }
    return n ? n->heap.next : NULL;
}

static bool links_ok(const struct sched_node *n)
{
    const struct sched_node *child = n->heap.child;
    const struct sched_node *next = n->heap.next;
    if (next && next->heap.prev != n)
        return false;
    for (const struct sched_node *c = child; c; c = c->heap.next) {
        if (heap_before(c, n))
            return false;
    }
    return !child || child->heap.prev == n;
}

size_t heap_count_ok(const struct sched_node *root)
{
    size_t count = 0;
    if (root && (root->heap.prev || root->heap.next))
        return SIZE_MAX;
    for (const struct sched_node *n = root; n; n = next_in_tree(n)) {
        if (!links_ok(n))
            return SIZE_MAX;
        count++;
    }
    return count;
}
