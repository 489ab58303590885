/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SCHED_POLICY_H
#define MILLRACE_SCHED_POLICY_H

/* What a policy is, inside of this library. */

#include "base/list.h"
#include "sched/sched.h"

/* All but first may be NULL: nothing to do. */
struct sched_rules {
    void (*init)(struct sched *s);
    /* n has become ready, and is in no ring or heap. */
    void (*enter)(struct sched *s, struct sched_node *n);
    /* n is no longer ready. */
    void (*leave)(struct sched *s, struct sched_node *n);
    struct sched_node *(*first)(const struct sched *s);
    /* s->sent has the bytes, s->held is still what it was before. */
    void (*charge)(struct sched *s, struct sched_node *n, uint32_t bytes, bool part);
    void (*packet_end)(struct sched *s);
    /* n has p from now on; it may be ready or not. NULL: it copies p, and that is all. */
    void (*prioritise)(struct sched *s, struct sched_node *n, const struct sched_priority *p);
    /* Is what it holds in order, and s->n nodes? */
    bool (*ok)(const struct sched *s);
};

extern const struct sched_rules sched_deficit;     /* ring.c */
extern const struct sched_rules sched_round_robin; /* ring.c */
extern const struct sched_rules sched_packet;      /* ring.c */
extern const struct sched_rules sched_urgency;     /* urgency.c */
extern const struct sched_rules sched_first_come;  /* keyed.c */
extern const struct sched_rules sched_priority;    /* keyed.c */
extern const struct sched_rules sched_weighted;    /* keyed.c */
extern const struct sched_rules sched_random;      /* keyed.c */

static inline struct sched_node *sched_of_ring(struct list *l)
{
    return container_of(l, struct sched_node, ring);
}

static inline bool sched_priority_ok(const struct sched_priority *p)
{
    return p->urgency < SCHED_URGENCIES && p->weight > 0 && p->weight <= SCHED_WEIGHT_MAX;
}

/* ---- of the rings whose members have quanta of bytes: DEFICIT, the classes of URGENCY ---- */

/* The quantum pays any debt in one turn, so that who comes first can always send. */
void sched_cover(struct sched *s, const struct sched_node *n);

/* A member of ring has sent bytes; goes_on: it had begun before. */
void sched_deficit_charge(struct sched *s, struct list **ring, struct sched_node *n, uint32_t bytes,
                          bool goes_on, bool part);

/* It has no turn any more. What it has not used is not saved up; what it owes stays. */
static inline void sched_end_turn(struct sched_node *n)
{
    n->begun = false;
    if (n->deficit > 0)
        n->deficit = 0;
}

/* How many there are, or SIZE_MAX where one is not ready. */
size_t sched_ring_count_ok(struct list *ring);

#endif
