/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/node.h"

#include <assert.h>

void *node_create(struct sim *s, const struct node_ops *ops, size_t size, unsigned n_sides)
{
    assert(n_sides <= NODE_SIDES_MAX);
    struct node *n = mem_alloc(&s->heap.mem, size, _Alignof(max_align_t));
    assert(n && "the heap of a simulation has no limit");
    n->sim = s;
    n->ops = ops;
    n->size = size;
    n->n_sides = n_sides;
    list_init(&n->in_sim);
    list_push_back(&s->nodes, &n->in_sim);
    return n;
}

void node_destroy(struct node *n)
{
    if (n->ops->destroy)
        n->ops->destroy(n);
    list_remove(&n->in_sim);
    mem_free(&n->sim->heap.mem, n, n->size);
}

static unsigned free_side(const struct node *n)
{
    unsigned side = 0;
    while (side < n->n_sides && n->peer[side].node)
        side++;
    assert(side < n->n_sides && "a side is free");
    return side;
}

void node_link(struct node *a, struct node *b)
{
    unsigned at_a = free_side(a);
    unsigned at_b = free_side(b);
    a->peer[at_a] = (struct node_end){b, at_b};
    b->peer[at_b] = (struct node_end){a, at_a};
}

void node_chain(struct node *const *nodes)
{
    for (; nodes[0] && nodes[1]; nodes++)
        node_link(nodes[0], nodes[1]);
}

void node_output(struct node *n, unsigned side, struct pkt *p)
{
    struct node_end to = n->peer[side];
    if (to.node)
        to.node->ops->input(to.node, to.side, p);
    else
        pkt_free(p);
}

/* A frame on its way. */
struct transit {
    struct list in_sim;
    struct timer timer;
    struct node *node;
    unsigned side;
    struct pkt *frame;
};

static void transit_free(struct transit *t)
{
    struct sim *s = t->node->sim;
    wheel_cancel(&s->wheel, &t->timer);
    list_remove(&t->in_sim);
    mem_free(&s->heap.mem, t, sizeof(*t));
}

static void arrive(struct timer *timer, tick_t now)
{
    (void)now;
    struct transit *t = container_of(timer, struct transit, timer);
    struct node *n = t->node;
    unsigned side = t->side;
    struct pkt *p = t->frame;
    transit_free(t);
    node_output(n, side, p);
}

void node_output_at(struct node *n, unsigned side, struct pkt *p, tick_t when)
{
    struct sim *s = n->sim;
    struct transit *t = mem_alloc(&s->heap.mem, sizeof(*t), _Alignof(struct transit));
    assert(t && "the heap of a simulation has no limit");
    t->node = n;
    t->side = side;
    t->frame = p;
    timer_init(&t->timer, arrive);
    list_init(&t->in_sim);
    list_push_back(&s->transits, &t->in_sim);
    wheel_arm(&s->wheel, &t->timer, when);
}

void transits_free(struct sim *s)
{
    list_for_each_safe (it, &s->transits) {
        struct transit *t = container_of(it, struct transit, in_sim);
        pkt_free(t->frame);
        transit_free(t);
    }
}

struct pkt *frame_create(struct sim *s, const void *bytes, size_t len)
{
    struct pkt *p = heap_pkt(&s->wire, bytes, len, 0);
    assert(p && "the wire has no limit");
    return p;
}

struct pkt *frame_copy(struct sim *s, const struct pkt *p)
{
    assert(p->len == p->total && "frames on the wire are one view");
    return frame_create(s, p->data, p->len);
}
