/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/bottleneck.h"

#include <assert.h>

static tick_t time_of(const struct bottleneck *b, uint64_t bytes)
{
    return bytes * 8 * TICK_SEC / b->rate;
}

static void input(struct node *n, unsigned side, struct pkt *p)
{
    struct bottleneck *b = (struct bottleneck *)n;
    tick_t now = n->sim->now;
    tick_t start = b->idle_at[side] > now ? b->idle_at[side] : now;
    tick_t end = start + time_of(b, p->total);
    if (end - now > time_of(b, b->depth)) {
        b->lost[side]++;
        pkt_free(p);
        return;
    }
    b->idle_at[side] = end;
    node_output_at(n, node_across(side), p, end);
}

static const struct node_ops ops = {.input = input};

struct bottleneck *bottleneck_create(struct sim *s, uint64_t rate, uint64_t depth)
{
    assert(rate > 0 && depth < UINT64_C(1) << 30 && "times of it fit in a tick");
    struct bottleneck *b = node_create(s, &ops, sizeof(*b), 2);
    b->rate = rate;
    b->depth = depth;
    return b;
}
