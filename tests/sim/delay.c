/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/delay.h"

struct delay {
    struct node node;
    tick_t delay;
    tick_t jitter;
    tick_t last[2]; /* arrival at that side: nothing overtakes */
};

static void input(struct node *n, unsigned side, struct pkt *p)
{
    struct delay *d = (struct delay *)n;
    unsigned to = node_across(side);
    tick_t when = n->sim->now + d->delay;
    if (d->jitter > 0)
        when += sim_between(n->sim, 0, d->jitter);
    if (when < d->last[to])
        when = d->last[to];
    d->last[to] = when;
    node_output_at(n, to, p, when);
}

static const struct node_ops ops = {.input = input};

struct node *delay_create(struct sim *s, tick_t delay, tick_t jitter)
{
    struct delay *d = node_create(s, &ops, sizeof(*d), 2);
    d->delay = delay;
    d->jitter = jitter;
    return &d->node;
}
