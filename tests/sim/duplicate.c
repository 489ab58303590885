/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/duplicate.h"

static void input(struct node *n, unsigned side, struct pkt *p)
{
    struct duplicate *d = (struct duplicate *)n;
    unsigned to = node_across(side);
    if (sim_chance(n->sim, d->millionths)) {
        d->doubled++;
        node_output_at(n, to, frame_copy(n->sim, p), n->sim->now + d->later);
    }
    node_output(n, to, p);
}

static const struct node_ops ops = {.input = input};

struct duplicate *duplicate_create(struct sim *s, uint32_t millionths, tick_t later)
{
    struct duplicate *d = node_create(s, &ops, sizeof(*d), 2);
    d->millionths = millionths;
    d->later = later;
    return d;
}
