/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_SCHED_TREE_MODEL_H
#define MILLRACE_TESTS_SCHED_TREE_MODEL_H

/*
 * Drives a dependency tree by bytes, from a random generator or a fuzzer, beside a table of who
 * depends on whom. The table knows no heap and no list and remembers nothing that it can work out:
 * who is active, who is next and how deep something is, is searched for each time. After every
 * step the two agree on all dependencies, weights and keys.
 *
 * Now and then many turns go by without a change, and it is only counted who was served: of two
 * siblings that could both be served all that time, neither is more than a frame ahead of its
 * share.
 */

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "sched/tree.h"

#define TREE_MODEL_NODES 100              /* more than there are levels */
#define TREE_MODEL_NONE  TREE_MODEL_NODES /* the parent of what is in no tree */
#define TREE_MODEL_FRAME 16384u

struct tree_model {
    struct sched_tree_node node[TREE_MODEL_NODES]; /* 0 is the root */
    struct reader in;                              /* zeroes when it has run out */
    uint64_t served;
    struct tree_model_row {
        unsigned parent; /* an index; the root's is its own */
        uint64_t key;
        uint64_t now; /* of its children */
        uint64_t sent;
        uint16_t weight;
        uint8_t remainder;
        bool live;
        bool ready;
        unsigned ready_below; /* at it or below, counted anew after each change */
    } row[TREE_MODEL_NODES + 1];
};

static inline bool tree_model_is_child(const struct tree_model *m, unsigned i, unsigned parent)
{
    return i > 0 && m->row[i].live && m->row[i].parent == parent;
}

/* Is there anybody to serve, at i or below? */
static inline bool tree_model_active(const struct tree_model *m, unsigned i)
{
    return m->row[i].ready_below > 0;
}

static inline unsigned tree_model_depth(const struct tree_model *m, unsigned i)
{
    return i == 0 || i == TREE_MODEL_NONE ? 0 : 1 + tree_model_depth(m, m->row[i].parent);
}

static inline bool tree_model_below(const struct tree_model *m, unsigned i, unsigned above)
{
    while (i != 0 && i != TREE_MODEL_NONE && i != above)
        i = m->row[i].parent;
    return i == above;
}

/* How deep it goes below i. */
static inline unsigned tree_model_height(const struct tree_model *m, unsigned i)
{
    unsigned deepest = 0;
    for (unsigned c = 1; c < TREE_MODEL_NODES; c++) {
        if (!m->row[c].live || !tree_model_below(m, c, i))
            continue;
        unsigned d = tree_model_depth(m, c) - tree_model_depth(m, i);
        deepest = d > deepest ? d : deepest;
    }
    return deepest;
}

/* What i is ahead of its siblings, never less than nothing. */
static inline uint64_t tree_model_ahead(struct tree_model *m, unsigned i)
{
    struct tree_model_row *r = &m->row[i];
    uint64_t now = m->row[r->parent].now;
    if (r->key < now)
        r->remainder = 0;
    return r->key < now ? 0 : r->key - now;
}

static inline void tree_model_place(struct tree_model *m, unsigned i, unsigned parent,
                                    uint64_t ahead)
{
    m->row[i].parent = parent;
    m->row[i].key = m->row[parent].now + ahead;
}

static inline void tree_model_move(struct tree_model *m, unsigned i, unsigned parent)
{
    tree_model_place(m, i, parent, tree_model_ahead(m, i));
}

/* In parts of a byte it owes what it did. */
static inline uint64_t tree_model_reweigh(struct tree_model *m, unsigned i, uint16_t weight)
{
    struct tree_model_row *r = &m->row[i];
    uint64_t parts = tree_model_ahead(m, i) * r->weight + r->remainder;
    r->weight = weight;
    r->remainder = (uint8_t)(parts % weight);
    return parts / weight;
}

static inline void tree_model_row_depend(struct tree_model *m, unsigned i, unsigned parent,
                                         uint16_t weight, bool exclusive)
{
    if (tree_model_below(m, parent, i)) /* RFC 7540 5.3.3 */
        tree_model_move(m, parent, m->row[i].parent);
    uint64_t ahead = tree_model_reweigh(m, i, weight);
    m->row[i].parent = TREE_MODEL_NONE;
    unsigned below = tree_model_height(m, i);
    unsigned high = exclusive ? tree_model_height(m, parent) : 0;
    high = high > below ? high : below;
    exclusive &= tree_model_depth(m, parent) + 1 + high <= SCHED_TREE_DEPTH;
    while (tree_model_depth(m, parent) + 1 + below > SCHED_TREE_DEPTH)
        parent = m->row[parent].parent;
    for (unsigned c = 1; c < TREE_MODEL_NODES && exclusive; c++) {
        if (tree_model_is_child(m, c, parent))
            tree_model_move(m, c, i);
    }
    tree_model_place(m, i, parent, ahead);
}

/* The smallest key of those that are next below i. */
static inline uint64_t tree_model_first(const struct tree_model *m, unsigned i)
{
    uint64_t first = UINT64_MAX;
    for (unsigned c = 1; c < TREE_MODEL_NODES; c++) {
        if (tree_model_is_child(m, c, i) && tree_model_active(m, c) && m->row[c].key < first)
            first = m->row[c].key;
    }
    return first != UINT64_MAX ? first : m->row[i].now;
}

static inline void tree_model_row_close(struct tree_model *m, unsigned i)
{
    struct tree_model_row *r = &m->row[i];
    uint64_t all = 0, ahead = tree_model_ahead(m, i);
    for (unsigned c = 1; c < TREE_MODEL_NODES; c++)
        all += tree_model_is_child(m, c, i) ? m->row[c].weight : 0;
    r->now = tree_model_first(m, i);
    for (unsigned c = 1; c < TREE_MODEL_NODES; c++) {
        if (!tree_model_is_child(m, c, i))
            continue;
        uint64_t w = (2 * (uint64_t)r->weight * m->row[c].weight + all) / (2 * all);
        uint64_t own = tree_model_reweigh(m, c, (uint16_t)(w > 0 ? w : 1));
        tree_model_place(m, c, r->parent, ahead + own);
    }
    r->live = false;
}

static inline void tree_model_row_charge(struct tree_model *m, unsigned i, uint32_t bytes)
{
    for (; i != 0; i = m->row[i].parent) {
        struct tree_model_row *r = &m->row[i];
        uint64_t parts = (uint64_t)bytes * SCHED_TREE_SCALE + r->remainder;
        m->row[r->parent].now = r->key;
        r->key += parts / r->weight;
        r->remainder = (uint8_t)(parts % r->weight);
        r->sent += bytes;
    }
}

static inline void tree_model_count(struct tree_model *m)
{
    for (unsigned i = 0; i < TREE_MODEL_NODES; i++)
        m->row[i].ready_below = m->row[i].live && m->row[i].ready;
    for (unsigned i = 1; i < TREE_MODEL_NODES; i++) {
        for (unsigned at = i; m->row[i].live && m->row[i].ready && at != 0;) {
            at = m->row[at].parent;
            m->row[at].ready_below++;
        }
    }
}

/* Who is active from now on starts at its siblings' time, if it was not further already. */
static inline void tree_model_refresh(struct tree_model *m)
{
    bool was[TREE_MODEL_NODES];
    for (unsigned i = 1; i < TREE_MODEL_NODES; i++)
        was[i] = tree_model_active(m, i);
    tree_model_count(m);
    for (unsigned i = 1; i < TREE_MODEL_NODES; i++) {
        if (tree_model_active(m, i) && !was[i])
            tree_model_move(m, i, m->row[i].parent);
    }
}

static inline void tree_model_check(struct tree_model *m)
{
    for (unsigned i = 1; i < TREE_MODEL_NODES; i++) {
        struct tree_model_row *r = &m->row[i];
        struct sched_tree_node *n = &m->node[i];
        assert(n->parent == (r->live ? &m->node[r->parent] : NULL));
        if (!r->live)
            continue;
        assert(n->node.ready == r->ready && n->node.p.weight == r->weight && n->now == r->now);
        if (tree_model_active(m, i))
            assert(n->node.key == r->key && n->remainder == r->remainder);
    }
    assert(sched_tree_ok(m->node));
}

/* Is it its turn, beside its siblings, at each level, and is nobody above it to be served? */
static inline void tree_model_is_next(const struct tree_model *m, unsigned i)
{
    assert(m->row[i].ready);
    for (; i != 0; i = m->row[i].parent) {
        unsigned parent = m->row[i].parent;
        assert(!m->row[parent].ready);
        for (unsigned c = 1; c < TREE_MODEL_NODES; c++) {
            if (tree_model_is_child(m, c, parent) && tree_model_active(m, c))
                assert(m->row[i].key <= m->row[c].key);
        }
    }
}

/* 0: nobody is ready. */
static inline unsigned tree_model_pick(const struct tree_model *m, struct sched_tree_node *root)
{
    struct sched_tree_node *n = sched_tree_pick(root);
    assert(!n == !tree_model_active(m, 0));
    return n ? (unsigned)(n - m->node) : 0;
}

static inline void tree_model_serve(struct tree_model *m, uint32_t bytes)
{
    unsigned i = tree_model_pick(m, m->node);
    if (i == 0)
        return;
    tree_model_is_next(m, i);
    sched_tree_charge(&m->node[i], bytes);
    tree_model_row_charge(m, i, bytes);
    m->served++;
}

static inline bool tree_model_can_be_served(const struct tree_model *m, unsigned i)
{
    bool can = m->row[i].live && tree_model_active(m, i);
    for (unsigned at = i; at != 0 && can; at = m->row[at].parent)
        can = !m->row[m->row[at].parent].ready;
    return can;
}

/* a is not more than its share and a frame ahead of b. */
static inline void tree_model_compare(const struct tree_model *m, unsigned a, unsigned b)
{
    const struct tree_model_row *ra = &m->row[a], *rb = &m->row[b];
    assert(ra->sent * rb->weight <= rb->sent * ra->weight + TREE_MODEL_FRAME * rb->weight +
                                        TREE_MODEL_FRAME * ra->weight +
                                        /* A key is exact but for less than one part of a byte. */
                                        ra->weight + rb->weight);
}

/* Turns without a change: first until what was owed from before is paid, then counted. Whoever has
 * been served in the first half is owed nothing from before. */
static inline void tree_model_spell(struct tree_model *m, unsigned turns)
{
    struct rng rng;
    rng_seed(&rng, turns);
    bool paid[TREE_MODEL_NODES];
    for (int half = 0; half < 2; half++) {
        for (unsigned i = 0; i < TREE_MODEL_NODES; i++) {
            paid[i] = half > 0 && m->row[i].sent > 0 && tree_model_can_be_served(m, i);
            m->row[i].sent = 0;
        }
        for (unsigned t = 0; t < turns; t++) {
            unsigned i = tree_model_pick(m, m->node);
            uint32_t bytes = 1 + (uint32_t)rng_below(&rng, TREE_MODEL_FRAME);
            if (i == 0)
                return;
            sched_tree_charge(&m->node[i], bytes);
            tree_model_row_charge(m, i, bytes);
            m->served++;
        }
    }
    for (unsigned a = 1; a < TREE_MODEL_NODES; a++) {
        for (unsigned b = 1; b < TREE_MODEL_NODES; b++) {
            if (paid[a] && paid[b] && m->row[a].parent == m->row[b].parent)
                tree_model_compare(m, a, b);
        }
    }
}

static inline uint16_t tree_model_weight(struct tree_model *m)
{
    static const uint16_t weights[] = {1, 2, 3, 16, 200, 255, 256};
    uint8_t w = reader_u8(&m->in);
    return w < sizeof(weights) / sizeof(weights[0]) ? weights[w] : w;
}

/* Mostly the deepest ones that there are, so that there are deep ones. */
static inline unsigned tree_model_parent(struct tree_model *m)
{
    uint8_t how = reader_u8(&m->in);
    unsigned at = how % TREE_MODEL_NODES;
    while (!m->row[at].live)
        at = (at + TREE_MODEL_NODES - 1) % TREE_MODEL_NODES;
    return at;
}

static inline void tree_model_depend(struct tree_model *m, unsigned i)
{
    unsigned parent = tree_model_parent(m);
    uint16_t weight = tree_model_weight(m);
    bool exclusive = reader_u8(&m->in) & 1;
    if (parent == i)
        return;
    if (!m->row[i].live) {
        sched_tree_node_init(&m->node[i]);
        m->row[i] = (struct tree_model_row){
            .live = true, .parent = TREE_MODEL_NONE, .weight = SCHED_WEIGHT_DEFAULT};
    }
    sched_tree_depend(&m->node[i], &m->node[parent], weight, exclusive);
    tree_model_row_depend(m, i, parent, weight, exclusive);
}

static inline void tree_model_set_ready(struct tree_model *m, unsigned i, bool ready)
{
    if (m->row[i].ready == ready)
        return;
    m->row[i].ready = m->node[i].node.ready = ready;
    if (ready) {
        sched_tree_ready(&m->node[i]);
    } else {
        sched_tree_remove(&m->node[i]);
    }
}

static inline void tree_model_close(struct tree_model *m, unsigned i)
{
    tree_model_set_ready(m, i, false);
    sched_tree_close(&m->node[i]);
    tree_model_row_close(m, i);
}

/* Another node in its place is no change to the table, when all is done twice. */
static inline void tree_model_replace(struct tree_model *m, unsigned i)
{
    struct sched_tree_node other;
    tree_model_set_ready(m, i, false);
    tree_model_refresh(m);
    sched_tree_node_init(&other);
    sched_tree_replace(&m->node[i], &other);
    assert(!m->node[i].parent && list_empty(&m->node[i].children) && sched_tree_ok(m->node));
    sched_tree_node_init(&m->node[i]);
    sched_tree_replace(&other, &m->node[i]);
}

static inline void tree_model_reweight(struct tree_model *m, unsigned i, uint16_t weight)
{
    struct tree_model_row *r = &m->row[i];
    sched_tree_reweight(&m->node[i], weight);
    r->key = tree_model_reweigh(m, i, weight) + m->row[r->parent].now;
}

static inline void tree_model_step(struct tree_model *m)
{
    uint8_t how = reader_u8(&m->in);
    unsigned i = 1 + reader_u8(&m->in) % (TREE_MODEL_NODES - 1);
    if (!m->row[i].live || how % 16 < 3) {
        tree_model_depend(m, i);
        return;
    }
    switch (how % 16) {
    case 3: tree_model_close(m, i); break;
    case 4: tree_model_reweight(m, i, tree_model_weight(m)); break;
    case 5: tree_model_replace(m, i); break;
    case 6:
    case 7: tree_model_set_ready(m, i, true); break;
    case 8:
    case 9: tree_model_set_ready(m, i, false); break;
    case 10: tree_model_spell(m, reader_u8(&m->in)); break;
    default: tree_model_serve(m, 1 + reader_u16(&m->in) % TREE_MODEL_FRAME); break;
    }
}

/* Returns how many turns there were. */
static inline uint64_t tree_model_run(const uint8_t *bytes, size_t len)
{
    static struct tree_model m;
    m = (struct tree_model){.in = reader_of(bytes, len), .row[0].live = true};
    for (unsigned i = 0; i < TREE_MODEL_NODES; i++)
        sched_tree_node_init(&m.node[i]);
    while (reader_left(&m.in) > 0) {
        tree_model_step(&m);
        tree_model_refresh(&m);
        tree_model_check(&m);
    }
    return m.served;
}

#endif
