/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * URGENCY: RFC 9218 10. Classes are served strictly in order, but for what keeps them alive.
 *
 * In one class, incremental nodes go in turn, a quantum of bytes each; those that are not go one
 * after the other by `order`, and all of these together are one member of that ring, in which the
 * first of them stands. (RFC 9218 10 leaves open how the two kinds share.) That member's deficit is
 * the first's, and handed on to the next that is first.
 *
 * A class with ready nodes that others go before has at least min_share of the bytes. `due` says
 * when it is to be served out of order, on a clock of min_share a byte that anybody sends; 1,000 a
 * byte of its own move it on. So over time it has its share of the bytes exactly, whatever the
 * sizes of frames. At first it waits until a quantum is due to it. The clock stands for a class
 * with nobody ready, where `due` is what it had still to wait: who leaves and comes back gains
 * nothing and loses nothing. What a class was sent in order shortens no other's share, and defers
 * its own by a quantum's worth at most.
 */
#include "sched/heap.h"
#include "sched/policy.h"
#include "sched/ring.h"

#define WHOLE     1000u
#define SHARE_MAX (WHOLE / (SCHED_URGENCIES - 1)) /* so that all have theirs */

static uint64_t clock_of(const struct sched *s)
{
    uint32_t share = s->settings->min_share;
    return s->sent * (share < SHARE_MAX ? share : SHARE_MAX);
}

static uint64_t first_wait(const struct sched *s)
{
    return (uint64_t)s->settings->quantum * WHOLE;
}

static void urgency_init(struct sched *s)
{
    for (unsigned i = 0; i < SCHED_URGENCIES; i++)
        s->class[i].due = first_wait(s);
}

static void class_wakes(struct sched *s, struct sched_class *c)
{
    s->classes |= (uint8_t)(1u << (c - s->class));
    c->due += clock_of(s);
}

static void class_sleeps(struct sched *s, struct sched_class *c)
{
    uint64_t now = clock_of(s);
    s->classes &= (uint8_t) ~(1u << (c - s->class));
    c->due = c->due > now ? c->due - now : 0;
}

/* Of those that are not incremental, was is no longer the first. */
static void hand_on(struct sched *s, struct sched_class *c, struct sched_node *was)
{
    struct sched_node *is = c->heap;
    if (is == was)
        return;
    if (was && is) {
        is->deficit = was->deficit;
        is->begun = was->begun;
        was->deficit = 0;
        was->begun = false;
        ring_replace(&c->ring, &was->ring, &is->ring);
    } else if (was) {
        ring_remove(&c->ring, &was->ring);
    } else {
        sched_cover(s, is);
        ring_push_back(&c->ring, &is->ring);
    }
}

static void put(struct sched *s, struct sched_node *n)
{
    struct sched_class *c = &s->class[n->p.urgency];
    if (!c->ring)
        class_wakes(s, c);
    if (n->p.incremental) {
        sched_cover(s, n);
        ring_push_back(&c->ring, &n->ring);
        return;
    }
    struct sched_node *was = c->heap;
    n->key = n->p.order;
    n->turn = ++s->turns;
    heap_push(&c->heap, n);
    hand_on(s, c, was);
}

static void take(struct sched *s, struct sched_node *n)
{
    struct sched_class *c = &s->class[n->p.urgency];
    struct sched_node *was = c->heap;
    if (n->p.incremental) {
        ring_remove(&c->ring, &n->ring);
    } else {
        heap_remove(&c->heap, n);
        hand_on(s, c, was);
    }
    if (!c->ring)
        class_sleeps(s, c);
}

static void urgency_enter(struct sched *s, struct sched_node *n)
{
    if (s->n == 1) /* nobody else */
        s->quantum = s->settings->quantum;
    put(s, n);
}

static void urgency_leave(struct sched *s, struct sched_node *n)
{
    take(s, n);
    sched_end_turn(n);
}

static void urgency_prioritise(struct sched *s, struct sched_node *n,
                               const struct sched_priority *p)
{
    bool moves = n->ready && (n->p.urgency != p->urgency || n->p.incremental != p->incremental ||
                              (!p->incremental && n->p.order != p->order));
    if (moves)
        take(s, n);
    n->p = *p;
    if (moves)
        put(s, n);
}

/* The first, unless another is due; of several, the one that has been for longest. */
static struct sched_node *urgency_first(const struct sched *s)
{
    unsigned first = (unsigned)__builtin_ctz(s->classes);
    unsigned others = s->classes & (s->classes - 1u);
    uint64_t longest_due = clock_of(s);
    for (; others; others &= others - 1) {
        unsigned i = (unsigned)__builtin_ctz(others);
        uint64_t due = s->class[i].due;
        if (due <= longest_due) {
            longest_due = due;
            first = i;
        }
    }
    return sched_of_ring(s->class[first].ring);
}

static void urgency_charge(struct sched *s, struct sched_node *n, uint32_t bytes, bool part)
{
    struct sched_class *c = &s->class[n->p.urgency];
    bool in_order = (s->classes & ((1u << n->p.urgency) - 1)) == 0;
    uint64_t latest = clock_of(s) + first_wait(s);
    c->due += (uint64_t)bytes * WHOLE;
    if (in_order && c->due > latest)
        c->due = latest;
    struct sched_node *member = n->p.incremental ? n : c->heap;
    sched_deficit_charge(s, &c->ring, member, bytes, s->held == n, part);
}

static bool class_ok(const struct sched *s, unsigned i, size_t *n)
{
    const struct sched_class *c = &s->class[i];
    size_t in_turn = sched_ring_count_ok(c->ring);
    size_t by_key = heap_count_ok(c->heap);
    if (in_turn == SIZE_MAX || by_key == SIZE_MAX)
        return false;
    if (c->heap && !list_linked(&c->heap->ring) && c->ring != &c->heap->ring)
        return false;
    *n += in_turn - (c->heap ? 1 : 0) + by_key;
    return (s->classes >> i & 1) == (c->ring != NULL);
}

static bool urgency_ok(const struct sched *s)
{
    size_t n = 0;
    for (unsigned i = 0; i < SCHED_URGENCIES; i++) {
        if (!class_ok(s, i, &n))
            return false;
    }
    return n == s->n && s->quantum >= s->settings->quantum;
}

const struct sched_rules sched_urgency = {
    .init = urgency_init,
    .enter = urgency_enter,
    .leave = urgency_leave,
    .first = urgency_first,
    .charge = urgency_charge,
    .prioritise = urgency_prioritise,
    .ok = urgency_ok,
};
