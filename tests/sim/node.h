/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_NODE_H
#define MILLRACE_SIM_NODE_H

/*
 * What a network is made of. A node has sides; frames come in at a side and go out at sides. Hosts
 * have one side, a switch (sim/lan.h) many, all else two: what comes in at one goes out at the
 * other, or does not, or differently.
 *
 * Ownership. A node belongs to its sim, which destroys it. A frame belongs to the node that it was
 * given to; on the wire it is one view of sim->wire.
 */

#include <stddef.h>
#include <stdint.h>

#include "buf/pkt.h"
#include "sim/sim.h"

#define NODE_SIDES_MAX 32

struct node;

struct node_ops {
    /* p, which is taken, has arrived at this side. */
    void (*input)(struct node *n, unsigned side, struct pkt *p);
    /* Frees what the node holds; the node itself is freed by the caller. NULL: nothing. */
    void (*destroy)(struct node *n);
};

/* The first member of each kind of node. */
struct node {
    struct list in_sim;
    struct sim *sim;
    const struct node_ops *ops;
    size_t size;
    unsigned n_sides;
    struct node_end {
        struct node *node; /* NULL: nothing is connected there */
        unsigned side;
    } peer[NODE_SIDES_MAX];
};

/* Zeroed memory of a node of this size. */
void *node_create(struct sim *s, const struct node_ops *ops, size_t size, unsigned n_sides);
void node_destroy(struct node *n);

/* Joins the first free side of each. */
void node_link(struct node *a, struct node *b);
/* Joins each to the next, up to a NULL. */
void node_chain(struct node *const *nodes);
/* Gives p to what is connected to that side: now, or at a time to come. Where nothing is, it is
 * lost. */
void node_output(struct node *n, unsigned side, struct pkt *p);
void node_output_at(struct node *n, unsigned side, struct pkt *p, tick_t when);

/* The other side of a node with two. */
static inline unsigned node_across(unsigned side)
{
    return side ^ 1u;
}

/* A frame with these bytes, and another frame's copy. */
struct pkt *frame_create(struct sim *s, const void *bytes, size_t len);
struct pkt *frame_copy(struct sim *s, const struct pkt *p);

/* For sim.c: frees what is on its way. */
void transits_free(struct sim *s);

#endif
