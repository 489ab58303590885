/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/tree.h"

#include <assert.h>

#include "base/invariant.h"
#include "sched/heap.h"

static struct sched_tree_node *of(struct sched_node *n)
{
    return container_of(n, struct sched_tree_node, node);
}

static struct sched_tree_node *of_sibling(struct list *l)
{
    return container_of(l, struct sched_tree_node, sibling);
}

/* Is there anybody to serve, it or below it? Such nodes are in their parent's heap. */
static bool is_active(const struct sched_tree_node *n)
{
    return n->node.ready || n->active;
}

static unsigned depth(const struct sched_tree_node *n)
{
    unsigned levels = 0;
    for (; n->parent; n = n->parent)
        levels++;
    return levels;
}

/* How many levels are below it. */
static unsigned height(struct sched_tree_node *n)
{
    unsigned levels = 0;
    list_for_each (it, &n->children) {
        unsigned below = 1 + height(of_sibling(it));
        levels = below > levels ? below : levels;
    }
    return levels;
}

static bool is_below(const struct sched_tree_node *n, const struct sched_tree_node *above)
{
    while (n && n != above)
        n = n->parent;
    return n;
}

/* The time among its siblings. The key of a node that has no parent is what it is ahead. */
static uint64_t time_of(const struct sched_tree_node *n)
{
    return n->parent ? n->parent->now : 0;
}

/* What it has not used of its share is not saved up. */
static void catch_up(struct sched_tree_node *n)
{
    if (n->node.key >= time_of(n))
        return;
    n->node.key = time_of(n);
    n->remainder = 0;
}

/* Behind those of the same key. */
static void enqueue(struct sched_tree_node *n)
{
    n->node.turn = ++n->parent->turns;
    heap_push(&n->parent->active, &n->node);
}

static void dequeue(struct sched_tree_node *n)
{
    heap_remove(&n->parent->active, &n->node);
}

static void activate(struct sched_tree_node *n)
{
    for (bool already = false; n->parent && !already; n = n->parent) {
        already = is_active(n->parent);
        catch_up(n);
        enqueue(n);
    }
}

static void deactivate(struct sched_tree_node *n)
{
    for (; n->parent && !is_active(n); n = n->parent)
        dequeue(n);
}

static void attach(struct sched_tree_node *n, struct sched_tree_node *parent)
{
    n->node.key += parent->now;
    n->parent = parent;
    list_push_back(&parent->children, &n->sibling);
    if (is_active(n))
        activate(n);
}

static void detach(struct sched_tree_node *n)
{
    struct sched_tree_node *parent = n->parent;
    if (is_active(n)) {
        dequeue(n);
        deactivate(parent);
    }
    catch_up(n);
    n->node.key -= parent->now;
    n->parent = NULL;
    list_remove(&n->sibling);
}

static void reweight(struct sched_tree_node *n, uint16_t weight)
{
    catch_up(n);
    uint64_t ahead = (n->node.key - time_of(n)) * n->node.p.weight + n->remainder;
    n->node.p.weight = weight;
    n->node.key = time_of(n) + ahead / weight;
    n->remainder = (uint8_t)(ahead % weight);
}

/* All that depends on n depends on parent. */
static void move_children(struct sched_tree_node *n, struct sched_tree_node *parent)
{
    list_for_each_safe (it, &n->children) {
        struct sched_tree_node *child = of_sibling(it);
        detach(child);
        attach(child, parent);
    }
}

void sched_tree_node_init(struct sched_tree_node *n)
{
    *n = (struct sched_tree_node){0};
    sched_node_init(&n->node, &sched_priority_default);
    list_init(&n->sibling);
    list_init(&n->children);
}

/* The nearest place to parent, from there up, where what is `below` levels high is not too deep. */
static struct sched_tree_node *high_enough(struct sched_tree_node *parent, unsigned below)
{
    for (unsigned d = depth(parent); d + 1 + below > SCHED_TREE_DEPTH; d--) {
        parent = parent->parent;
        assert(parent && "what is in a tree has less than its depth below it");
    }
    return parent;
}

static void place(struct sched_tree_node *n, struct sched_tree_node *parent, bool exclusive)
{
    if (exclusive)
        move_children(parent, n);
    attach(n, parent);
}

bool sched_tree_depend(struct sched_tree_node *n, struct sched_tree_node *parent, uint16_t weight,
                       bool exclusive)
{
    assert(weight > 0 && weight <= SCHED_WEIGHT_MAX);
    assert(n != parent && "RFC 7540 5.3.1 makes that an error of the stream");
    /* RFC 7540 5.3.3 */
    if (n->parent && is_below(parent, n)) {
        struct sched_tree_node *above = n->parent;
        detach(parent);
        attach(parent, above);
    }
    if (n->parent)
        detach(n);
    reweight(n, weight);
    unsigned below = height(n);
    unsigned high = exclusive ? height(parent) : 0;
    bool fits = depth(parent) + 1 + (high > below ? high : below) <= SCHED_TREE_DEPTH;
    place(n, high_enough(parent, below), exclusive && fits);
    return fits;
}

void sched_tree_reweight(struct sched_tree_node *n, uint16_t weight)
{
    assert(weight > 0 && weight <= SCHED_WEIGHT_MAX);
    bool queued = n->parent && is_active(n);
    if (queued)
        dequeue(n);
    reweight(n, weight);
    if (queued)
        enqueue(n);
}

/* part of all of the weight: to the nearest, so that equal ones stay equal. */
static uint16_t share(uint16_t weight, uint16_t part, uint32_t all)
{
    uint32_t w = (2u * weight * part + all) / (2 * all);
    return (uint16_t)(w > 0 ? w : 1);
}

void sched_tree_close(struct sched_tree_node *n)
{
    assert(!n->node.ready && n->parent);
    struct sched_tree_node *parent = n->parent;
    uint32_t all = 0;
    list_for_each (it, &n->children)
        all += of_sibling(it)->node.p.weight;
    /* What was sent for them, they go on owing: they start at its key, which has what they have
     * sent already, but for what they are ahead of each other. */
    catch_up(n);
    uint64_t ahead = n->node.key - parent->now;
    if (n->active)
        n->now = n->active->key;
    /* RFC 7540 5.3.4 */
    list_for_each_safe (it, &n->children) {
        struct sched_tree_node *child = of_sibling(it);
        detach(child);
        reweight(child, share(n->node.p.weight, child->node.p.weight, all));
        child->node.key += ahead;
        attach(child, parent);
    }
    detach(n);
}

/* Its place among its siblings, but for the heap. */
static void copy_place(struct sched_tree_node *n, const struct sched_tree_node *old)
{
    n->node.key = old->node.key;
    n->node.p.weight = old->node.p.weight;
    n->remainder = old->remainder;
    n->parent = old->parent;
}

void sched_tree_replace(struct sched_tree_node *old, struct sched_tree_node *n)
{
    assert(!old->node.ready && old->parent && !n->node.ready && !n->parent);
    if (is_active(old))
        dequeue(old);
    copy_place(n, old);
    list_insert_between(&n->sibling, &old->sibling, old->sibling.next);
    list_remove(&old->sibling);
    old->parent = NULL;
    list_splice_back(&n->children, &old->children);
    list_for_each (it, &n->children)
        of_sibling(it)->parent = n;
    n->active = old->active;
    old->active = NULL;
    n->now = old->now;
    n->turns = old->turns;
    if (is_active(n))
        enqueue(n);
}

void sched_tree_ready(struct sched_tree_node *n)
{
    assert(n->parent && n->node.ready);
    if (!n->active)
        activate(n);
}

void sched_tree_remove(struct sched_tree_node *n)
{
    assert(!n->node.ready);
    deactivate(n);
}

struct sched_tree_node *sched_tree_pick(struct sched_tree_node *root)
{
    struct sched_tree_node *n = root;
    while (!n->node.ready && n->active)
        n = of(n->active);
    return n->node.ready ? n : NULL;
}

static void advance(struct sched_tree_node *n, uint32_t bytes)
{
    struct sched_tree_node *parent = n->parent;
    uint64_t cost = (uint64_t)bytes * SCHED_TREE_SCALE + n->remainder;
    parent->now = parent->active->key; /* n's, unless somebody has come since it was picked */
    dequeue(n);
    n->node.key += cost / n->node.p.weight;
    n->remainder = (uint8_t)(cost % n->node.p.weight);
    enqueue(n);
}

void sched_tree_charge(struct sched_tree_node *n, uint32_t bytes)
{
    assert(n->node.ready);
    /* A turn without bytes costs one, so that those with an equal key have theirs. */
    for (; n->parent; n = n->parent)
        advance(n, bytes > 0 ? bytes : 1);
}

static bool child_ok(const struct sched_tree_node *n, const struct sched_tree_node *parent)
{
    uint16_t weight = n->node.p.weight;
    return n->parent == parent && weight > 0 && weight <= SCHED_WEIGHT_MAX && n->remainder < weight;
}

static bool level_ok(const struct sched_tree_node *n, unsigned level)
{
    size_t active = 0;
    list_for_each (it, &n->children) {
        struct sched_tree_node *child = of_sibling(it);
        if (!child_ok(child, n) || !level_ok(child, level + 1))
            return false;
        active += is_active(child);
    }
    return level <= SCHED_TREE_DEPTH && heap_count_ok(n->active) == active &&
           (!n->active || n->active->key >= n->now);
}

bool sched_tree_ok(const struct sched_tree_node *root)
{
    return !root->parent && !root->node.ready && level_ok(root, 0);
}
