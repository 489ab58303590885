/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/corrupt.h"

#include <assert.h>

/* The first clear bit from a random place on. */
static void spoil(struct sim *s, struct pkt *p)
{
    assert(p->len > 0 && pkt_writable(p));
    uint64_t bits = (uint64_t)p->len * 8;
    uint64_t start = sim_between(s, 0, bits - 1);
    for (uint64_t i = 0; i < bits; i++) {
        uint64_t bit = (start + i) % bits;
        uint8_t mask = (uint8_t)(0x80u >> bit % 8);
        if (p->data[bit / 8] & mask)
            continue;
        p->data[bit / 8] |= mask;
        return;
    }
}

static void input(struct node *n, unsigned side, struct pkt *p)
{
    struct corrupt *c = (struct corrupt *)n;
    if (sim_chance(n->sim, c->millionths)) {
        c->spoilt++;
        spoil(n->sim, p);
    }
    node_output(n, node_across(side), p);
}

static const struct node_ops ops = {.input = input};

struct corrupt *corrupt_create(struct sim *s, uint32_t millionths)
{
    struct corrupt *c = node_create(s, &ops, sizeof(*c), 2);
    c->millionths = millionths;
    return c;
}
