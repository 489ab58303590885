/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SCHED_TREE_H
#define MILLRACE_SCHED_TREE_H

/*
 * The dependency tree of RFC 7540 5.3: each node depends on another one, or on the root. A node is
 * served while it is ready; what depends on it only while it is not. Siblings share by weight.
 *
 * Among siblings it is start-time fair queueing (Goyal, Vin, Cheng 1996): each has a key, how far
 * it has come in virtual time, to which every byte sent in its subtree adds SCHED_TREE_SCALE /
 * weight; the smallest is next. What a division leaves is carried over, so a key is exact.
 * Whoever comes, or is back, starts at its key or at its siblings' time, whichever is later.
 *
 * Nodes that are never ready themselves stand for streams that are closed or not open yet. The
 * tree allocates nothing and has as many nodes as its owner gives it, and at most SCHED_TREE_DEPTH
 * levels. Reweight costs O(log n), ready, remove, pick and charge O(depth * log n), a change of
 * dependency as much as there are nodes that it moves, or makes deeper.
 */

#include "sched/sched.h"

#define SCHED_TREE_DEPTH 64u /* levels below the root */
#define SCHED_TREE_SCALE 256u

/* All of it is the tree's own. A key would wrap only after 2^56 bytes of one connection. */
struct sched_tree_node {
    struct sched_node node;         /* its key and weight as its parent's child; first */
    struct sched_tree_node *parent; /* NULL: in no tree, or the root */
    struct list sibling;
    struct list children;
    struct sched_node *active; /* heap of those children that are ready or above one that is */
    uint64_t now;              /* the children's virtual time: the key of the last one served */
    uint64_t turns;            /* given out to them */
    uint8_t remainder;         /* of the key: of a byte's parts, less than weight */
};

/* In no tree, or, for the owner's root, a tree of its own. */
void sched_tree_node_init(struct sched_tree_node *n);

/* n, in a tree or in none yet, depends on parent from now on. exclusive: all that depended on
 * parent depends on n. parent may be below n, but not n itself. It may be called while n is ready
 * (once it is in a tree). False: it stands higher than asked for, or without its exclusive flag,
 * for the tree would become too deep. */
bool sched_tree_depend(struct sched_tree_node *n, struct sched_tree_node *parent, uint16_t weight,
                       bool exclusive);

/* 1..256. What it is ahead of its siblings, in bytes, stays. */
void sched_tree_reweight(struct sched_tree_node *n, uint16_t weight);

/* n, which is not ready, leaves the tree. What depended on it depends on its parent, and shares
 * its weight in proportion (RFC 7540 5.3.4), each at least 1. */
void sched_tree_close(struct sched_tree_node *n);

/* n, in no tree, stands from now on where old stood, with its children, its weight and what it was
 * ahead; old, which is not ready, stands in none. */
void sched_tree_replace(struct sched_tree_node *old, struct sched_tree_node *n);

/* n, in a tree, has become ready, or is so no longer: node.ready, which sched.c writes, says so. */
void sched_tree_ready(struct sched_tree_node *n);
void sched_tree_remove(struct sched_tree_node *n);

/* NULL: nobody is ready. */
struct sched_tree_node *sched_tree_pick(struct sched_tree_node *root);

/* n, which is ready and was picked, has sent bytes. */
void sched_tree_charge(struct sched_tree_node *n, uint32_t bytes);

bool sched_tree_ok(const struct sched_tree_node *root);

#endif
