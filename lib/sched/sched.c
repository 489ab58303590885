/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/sched.h"

#include <assert.h>

static const char *const names[] = {
#define X(id, name, text) name,
    SCHED_POLICIES(X)
#undef X
};

const char *sched_policy_name(enum sched_policy p)
{
    assert(p < SCHED_POLICY_END);
    return names[p];
}

const struct sched_priority sched_priority_default = {.weight = SCHED_WEIGHT_DEFAULT,
                                                      .urgency = SCHED_URGENCY_DEFAULT};

void sched_settings_fill(struct sched_settings *s)
{
    if (s->quantum == 0)
        s->quantum = 16384;
    if (s->min_share == 0)
        s->min_share = 10;
}

void sched_init(struct sched *s, enum sched_policy policy, const struct sched_settings *settings,
                uint64_t seed)
{
    *s = (struct sched){.settings = settings, .policy = (uint8_t)policy};
    rng_seed(&s->rng, seed);
    for (unsigned i = 0; i < SCHED_URGENCIES; i++)
        list_init(&s->class[i].ring);
}

void sched_node_init(struct sched_node *n, const struct sched_priority *p)
{
    *n = (struct sched_node){.p = *p};
    list_init(&n->ring);
}

void sched_prioritise(struct sched *s, struct sched_node *n, const struct sched_priority *p)
{
    (void)s;
    n->p = *p;
}

bool sched_is_ready(const struct sched_node *n)
{
    return list_linked(&n->ring);
}

void sched_ready(struct sched *s, struct sched_node *n)
{
    if (sched_is_ready(n))
        return;
    list_push_back(&s->class[0].ring, &n->ring);
    s->n++;
}

void sched_remove(struct sched *s, struct sched_node *n)
{
    if (!sched_is_ready(n))
        return;
    list_remove(&n->ring);
    s->n--;
}

struct sched_node *sched_pick(const struct sched *s)
{
    if (s->n == 0)
        return NULL;
    return container_of(s->class[0].ring.next, struct sched_node, ring);
}

void sched_charge(struct sched *s, struct sched_node *n, uint32_t bytes, bool part)
{
    assert(sched_is_ready(n));
    s->sent += bytes;
    if (part)
        return;
    list_remove(&n->ring);
    list_push_back(&s->class[0].ring, &n->ring);
}

void sched_packet_end(struct sched *s)
{
    (void)s;
}

bool sched_ok(const struct sched *s)
{
    return s->policy < SCHED_POLICY_END;
}
