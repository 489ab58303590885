/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/loss.h"

#include <assert.h>

static bool is_lost(struct loss *l, unsigned side)
{
    if (l->spared[side])
        return false;
    uint64_t nth = l->passed[side] + l->lost[side];
    if (l->period > 0 && l->pattern >> nth % l->period & 1)
        return true;
    return sim_chance(l->node.sim, l->millionths);
}

static void input(struct node *n, unsigned side, struct pkt *p)
{
    struct loss *l = (struct loss *)n;
    if (is_lost(l, side)) {
        l->lost[side]++;
        pkt_free(p);
        return;
    }
    l->passed[side]++;
    node_output(n, node_across(side), p);
}

static const struct node_ops ops = {.input = input};

struct loss *loss_create(struct sim *s, uint32_t millionths)
{
    struct loss *l = node_create(s, &ops, sizeof(*l), 2);
    l->millionths = millionths;
    return l;
}

struct loss *loss_pattern_create(struct sim *s, uint64_t pattern, unsigned period)
{
    assert(period > 0 && period <= 64);
    struct loss *l = loss_create(s, 0);
    l->pattern = pattern;
    l->period = period;
    return l;
}
