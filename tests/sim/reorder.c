/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/reorder.h"

static void input(struct node *n, unsigned side, struct pkt *p)
{
    struct reorder *r = (struct reorder *)n;
    unsigned to = node_across(side);
    if (!sim_chance(n->sim, r->millionths)) {
        node_output(n, to, p);
        return;
    }
    r->held++;
    node_output_at(n, to, p, n->sim->now + sim_between(n->sim, 1, r->by));
}

static const struct node_ops ops = {.input = input};

struct reorder *reorder_create(struct sim *s, uint32_t millionths, tick_t by)
{
    struct reorder *r = node_create(s, &ops, sizeof(*r), 2);
    r->millionths = millionths;
    r->by = by;
    return r;
}
