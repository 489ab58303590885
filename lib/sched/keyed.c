/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Those that go by key.
 *
 * WEIGHTED is start-time fair queueing (Goyal, Vin, Cheng 1996): a node's key is how far it has
 * come in virtual time, to which each byte adds SCALE / weight; the smallest is next. What a
 * division leaves is carried over. Virtual time is the key of the one served last: who comes, or is
 * back, starts at its own key or at that, whichever is later, so it saves up nothing and keeps its
 * debt.
 *
 * RANDOM does the same with random costs. As these are distributed exponentially, who is next does
 * not depend on who was before: each pick is of any of them, alike.
 */
#include <assert.h>

#include "base/rng.h"
#include "sched/heap.h"
#include "sched/policy.h"

#define SCALE 256 /* a byte moves even the heaviest */

/* Behind those of the same key. */
static void keyed_push(struct sched *s, struct sched_node *n)
{
    n->turn = ++s->turns;
    heap_push(&s->class[0].heap, n);
}

static void keyed_leave(struct sched *s, struct sched_node *n)
{
    heap_remove(&s->class[0].heap, n);
}

static struct sched_node *keyed_first(const struct sched *s)
{
    return s->class[0].heap;
}

static bool keyed_ok(const struct sched *s)
{
    return heap_count_ok(s->class[0].heap) == s->n;
}

/* ---- by order ---- */

static void first_come_enter(struct sched *s, struct sched_node *n)
{
    n->key = n->p.order;
    keyed_push(s, n);
}

static void first_come_prioritise(struct sched *s, struct sched_node *n,
                                  const struct sched_priority *p)
{
    bool moves = n->ready && n->p.order != p->order;
    if (moves)
        keyed_leave(s, n);
    n->p = *p;
    if (moves)
        first_come_enter(s, n);
}

const struct sched_rules sched_first_come = {
    .enter = first_come_enter,
    .leave = keyed_leave,
    .first = keyed_first,
    .prioritise = first_come_prioritise,
    .ok = keyed_ok,
};

/* ---- by priority ---- */

static void priority_enter(struct sched *s, struct sched_node *n)
{
    n->key = n->p.priority;
    keyed_push(s, n);
}

/* RFC 8260 3.4: equal ones in turn. */
static void priority_charge(struct sched *s, struct sched_node *n, uint32_t bytes, bool part)
{
    (void)bytes;
    if (part)
        return;
    keyed_leave(s, n);
    keyed_push(s, n);
}

static void priority_prioritise(struct sched *s, struct sched_node *n,
                                const struct sched_priority *p)
{
    bool moves = n->ready && n->p.priority != p->priority;
    if (moves)
        keyed_leave(s, n);
    n->p = *p;
    if (moves)
        priority_enter(s, n);
}

const struct sched_rules sched_priority = {
    .enter = priority_enter,
    .leave = keyed_leave,
    .first = keyed_first,
    .charge = priority_charge,
    .prioritise = priority_prioritise,
    .ok = keyed_ok,
};

/* ---- by virtual time ---- */

static void virtual_enter(struct sched *s, struct sched_node *n)
{
    if (n->key < s->now)
        n->key = s->now;
    keyed_push(s, n);
}

/* Whoever is in the middle of something has begun at the key that it had then. */
static void virtual_serve(struct sched *s, const struct sched_node *n)
{
    if (s->held != n)
        s->now = s->class[0].heap->key; /* n's, unless somebody has come since it was picked */
}

static void weighted_charge(struct sched *s, struct sched_node *n, uint32_t bytes, bool part)
{
    virtual_serve(s, n);
    if (bytes == 0 && !part)
        bytes = 1; /* a turn of nothing, or it would be first again */
    uint64_t cost = (uint64_t)bytes * SCALE + (uint64_t)n->deficit;
    assert(n->p.weight > 0);
    keyed_leave(s, n);
    n->key += cost / n->p.weight;
    n->deficit = (int64_t)(cost % n->p.weight);
    keyed_push(s, n);
}

/* What it is ahead of the time is a number of bytes; it stays that. */
static void reweight(const struct sched *s, struct sched_node *n, uint16_t weight)
{
    uint64_t ahead = n->key > s->now ? n->key - s->now : 0;
    uint64_t cost = ahead * n->p.weight + (uint64_t)n->deficit;
    n->key = s->now + cost / weight;
    n->deficit = (int64_t)(cost % weight);
}

static void weighted_prioritise(struct sched *s, struct sched_node *n,
                                const struct sched_priority *p)
{
    bool moves = n->p.weight != p->weight;
    if (moves && n->ready)
        keyed_leave(s, n);
    if (moves)
        reweight(s, n, p->weight);
    n->p = *p;
    if (moves && n->ready)
        keyed_push(s, n);
}

static bool virtual_ok(const struct sched *s)
{
    const struct sched_node *first = s->class[0].heap;
    return keyed_ok(s) && (!first || first->key >= s->now);
}

const struct sched_rules sched_weighted = {
    .enter = virtual_enter,
    .leave = keyed_leave,
    .first = keyed_first,
    .charge = weighted_charge,
    .prioritise = weighted_prioritise,
    .ok = virtual_ok,
};

/* ---- by chance ---- */

/* -log2 of a random number in (0, 1), in 1/65,536. */
static uint64_t exponential(uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed);
    uint64_t u = rng_u64(&rng) | 1;
    unsigned zeros = (unsigned)__builtin_clzll(u);
    uint64_t x = u << zeros >> 32; /* 2^31 is 1, and it is in [1, 2) */
    uint64_t log = 0;
    for (int i = 0; i < 16; i++) {
        x = x * x >> 31;
        log = log << 1 | x >> 32;
        x >>= x >> 32;
    }
    return ((uint64_t)(zeros + 1) << 16) - log;
}

static void random_enter(struct sched *s, struct sched_node *n)
{
    n->key = s->now + exponential(s->seed++);
    keyed_push(s, n);
}

static void random_charge(struct sched *s, struct sched_node *n, uint32_t bytes, bool part)
{
    (void)bytes;
    if (part)
        return;
    s->now = s->class[0].heap->key;
    keyed_leave(s, n);
    random_enter(s, n);
}

const struct sched_rules sched_random = {
    .enter = random_enter,
    .leave = keyed_leave,
    .first = keyed_first,
    .charge = random_charge,
    .ok = virtual_ok,
};
