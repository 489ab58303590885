/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/sched.h"

#include <assert.h>

#include "base/invariant.h"
#include "sched/policy.h"
#include "sched/tree.h"

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

/* ---- TREE, whose nodes begin with a struct sched_node ---- */

static struct sched_tree_node *in_tree(struct sched_node *n)
{
    return container_of(n, struct sched_tree_node, node);
}

static void tree_enter(struct sched *s, struct sched_node *n)
{
    (void)s;
    sched_tree_ready(in_tree(n));
}

static void tree_leave(struct sched *s, struct sched_node *n)
{
    (void)s;
    sched_tree_remove(in_tree(n));
}

static struct sched_node *tree_first(const struct sched *s)
{
    struct sched_tree_node *first = sched_tree_pick(s->tree);
    assert(first && "somebody is ready");
    return &first->node;
}

static void tree_charge(struct sched *s, struct sched_node *n, uint32_t bytes, bool part)
{
    (void)s;
    (void)part;
    sched_tree_charge(in_tree(n), bytes);
}

/* The tree has weights only; who depends on whom is between it and the owner. */
static void tree_prioritise(struct sched *s, struct sched_node *n, const struct sched_priority *p)
{
    (void)s;
    sched_tree_reweight(in_tree(n), p->weight);
    n->p = *p;
}

static bool tree_ok(const struct sched *s)
{
    return !s->tree || sched_tree_ok(s->tree);
}

static const struct sched_rules tree = {
    .enter = tree_enter,
    .leave = tree_leave,
    .first = tree_first,
    .charge = tree_charge,
    .prioritise = tree_prioritise,
    .ok = tree_ok,
};

/* ---- the policies ---- */

static const struct sched_rules *const policies[] = {
    [SCHED_DEFICIT] = &sched_deficit,       [SCHED_ROUND_ROBIN] = &sched_round_robin,
    [SCHED_URGENCY] = &sched_urgency,       [SCHED_TREE] = &tree,
    [SCHED_FIRST_COME] = &sched_first_come, [SCHED_PACKET] = &sched_packet,
    [SCHED_PRIORITY] = &sched_priority,     [SCHED_WEIGHTED] = &sched_weighted,
    [SCHED_RANDOM] = &sched_random,
};

_Static_assert(sizeof(policies) / sizeof(policies[0]) == SCHED_POLICY_END, "one of each");

static const struct sched_rules *rules_of(const struct sched *s)
{
    return policies[s->policy];
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
    assert(policy < SCHED_POLICY_END && settings->quantum > 0 && settings->min_share > 0);
    *s = (struct sched){.settings = settings,
                        .policy = (uint8_t)policy,
                        .quantum = settings->quantum,
                        .seed = seed};
    if (rules_of(s)->init)
        rules_of(s)->init(s);
}

void sched_node_init(struct sched_node *n, const struct sched_priority *p)
{
    *n = (struct sched_node){.p = *p};
    list_init(&n->ring);
}

void sched_prioritise(struct sched *s, struct sched_node *n, const struct sched_priority *p)
{
    assert(sched_priority_ok(p));
    if (rules_of(s)->prioritise)
        rules_of(s)->prioritise(s, n, p);
    else
        n->p = *p;
    invariant(sched_ok(s));
}

bool sched_is_ready(const struct sched_node *n)
{
    return n->ready;
}

void sched_ready(struct sched *s, struct sched_node *n)
{
    if (n->ready)
        return;
    assert(sched_priority_ok(&n->p));
    n->ready = true;
    s->n++;
    rules_of(s)->enter(s, n);
    invariant(sched_ok(s));
}

void sched_remove(struct sched *s, struct sched_node *n)
{
    if (!n->ready)
        return;
    assert(s->n > 0);
    n->ready = false;
    s->n--;
    if (s->held == n)
        s->held = NULL;
    rules_of(s)->leave(s, n);
    invariant(sched_ok(s));
}

struct sched_node *sched_pick(const struct sched *s)
{
    if (s->n == 0)
        return NULL;
    return s->held ? s->held : rules_of(s)->first(s);
}

void sched_charge(struct sched *s, struct sched_node *n, uint32_t bytes, bool part)
{
    assert(n->ready);
    assert((!s->held || s->held == n) && "nobody was picked while another is in the middle");
    s->sent += bytes;
    if (rules_of(s)->charge)
        rules_of(s)->charge(s, n, bytes, part);
    s->held = part ? n : NULL;
    invariant(sched_ok(s));
}

void sched_packet_end(struct sched *s)
{
    if (rules_of(s)->packet_end)
        rules_of(s)->packet_end(s);
    invariant(sched_ok(s));
}

bool sched_ok(const struct sched *s)
{
    if (s->policy >= SCHED_POLICY_END || (s->n == 0 && s->held) || (s->held && !s->held->ready))
        return false;
    return rules_of(s)->ok(s);
}
