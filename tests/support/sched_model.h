/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_SCHED_MODEL_H
#define MILLRACE_TESTS_SCHED_MODEL_H

/*
 * Drives a scheduler of any flat policy by bytes, from a random generator or a fuzzer, beside a
 * model that looks at everybody each time: who has waited longest is the one whose `place`, a
 * number that grows with every turn given out, is the smallest. It asserts that the two agree on
 * who is next, and, of the two alike, what a policy promises:
 *
 *  - nobody who waits sees anybody else begin a second turn (in turn);
 *  - of two that wait, none comes further ahead than a quantum and two frames (DEFICIT, classes of
 *    URGENCY), or, by weight, than a frame of its own and one of the other (WEIGHTED);
 *  - a class has min_share of the bytes while it has ready nodes (URGENCY).
 */

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "sched/sched.h"

#define MODEL_NODES 14

struct model_node {
    struct sched_node node;
    struct sched_priority p;
    bool ready;
    bool begun;
    uint64_t place;
    int64_t deficit;
    uint64_t start; /* WEIGHTED: in 1/256 byte of weight 1 */
    uint64_t rest;  /* and what is too little to show there, times weight */
};

struct model_class {
    uint64_t place; /* of the member that all which are not incremental are */
    int64_t wait;   /* 1/1,000 bytes until it is due */
    uint64_t since; /* all bytes, of the time with ready nodes */
    uint64_t sent;  /* its own of them */
};

/* What was between two of those who wait. */
struct model_pair {
    int64_t ahead; /* what the one has sent more than the other, each by the other's weight */
    int64_t low;   /* the least it was */
    bool turned;   /* the other has begun a turn while the one waited */
};

struct sched_model {
    struct sched sched;
    struct sched_settings settings;
    struct reader in; /* zeroes when it has run out */
    enum sched_policy policy;
    bool odd; /* WEIGHTED: weights that do not divide 256; only what is promised is compared */
    uint64_t places;
    int64_t quantum;
    uint64_t now; /* WEIGHTED */
    int64_t largest;
    int64_t unit; /* of the held one, so far */
    struct model_node *held;
    struct model_node node[MODEL_NODES];
    struct model_class class[SCHED_URGENCIES];
    struct model_pair pair[MODEL_NODES][MODEL_NODES];
    uint32_t picks;
};

static inline bool model_in_turn(const struct sched_model *m, const struct model_node *n)
{
    return m->policy == SCHED_DEFICIT || m->policy == SCHED_ROUND_ROBIN ||
           m->policy == SCHED_PACKET || (m->policy == SCHED_URGENCY && n->p.incremental);
}

static inline bool model_by_quanta(const struct sched_model *m)
{
    return m->policy == SCHED_DEFICIT || m->policy == SCHED_URGENCY;
}

/* ---- who is next ---- */

static inline struct model_node *model_serial_first(struct sched_model *m, unsigned class)
{
    struct model_node *first = NULL;
    for (struct model_node *n = m->node; n < m->node + MODEL_NODES; n++) {
        if (!n->ready || n->p.incremental || n->p.urgency != class)
            continue;
        if (!first || n->p.order < first->p.order ||
            (n->p.order == first->p.order && n->place < first->place))
            first = n;
    }
    return first;
}

static inline unsigned model_class_size(const struct sched_model *m, unsigned class)
{
    unsigned size = 0;
    for (const struct model_node *n = m->node; n < m->node + MODEL_NODES; n++)
        size += n->ready && n->p.urgency == class;
    return size;
}

static inline unsigned model_class_next(const struct sched_model *m)
{
    unsigned next = SCHED_URGENCIES;
    int64_t least = 0;
    for (unsigned i = 0; i < SCHED_URGENCIES; i++) {
        if (model_class_size(m, i) == 0)
            continue;
        if (next == SCHED_URGENCIES) {
            next = i;
        } else if (m->class[i].wait <= least) {
            least = m->class[i].wait;
            next = i;
        }
    }
    return next;
}

static inline struct model_node *model_urgency_next(struct sched_model *m)
{
    unsigned class = model_class_next(m);
    struct model_node *next = model_serial_first(m, class);
    uint64_t place = next ? m->class[class].place : UINT64_MAX;
    for (struct model_node *n = m->node; n < m->node + MODEL_NODES; n++) {
        if (n->ready && n->p.incremental && n->p.urgency == class && n->place < place) {
            place = n->place;
            next = n;
        }
    }
    return next;
}

static inline uint64_t model_key(const struct sched_model *m, const struct model_node *n)
{
    switch (m->policy) {
    case SCHED_FIRST_COME: return n->p.order;
    case SCHED_PRIORITY: return n->p.priority;
    case SCHED_WEIGHTED: return n->start;
    default: return 0;
    }
}

static inline struct model_node *model_next(struct sched_model *m)
{
    struct model_node *next = NULL;
    if (m->held)
        return m->held;
    if (m->policy == SCHED_URGENCY)
        return model_urgency_next(m);
    for (struct model_node *n = m->node; n < m->node + MODEL_NODES; n++) {
        if (!n->ready)
            continue;
        if (!next || model_key(m, n) < model_key(m, next) ||
            (model_key(m, n) == model_key(m, next) && n->place < next->place))
            next = n;
    }
    return next;
}

/* ---- what happens ---- */

static inline void model_cover(struct sched_model *m, const struct model_node *n)
{
    if (n->deficit + m->quantum <= 0)
        m->quantum = 1 - n->deficit;
}

/* The member of a class that is one for several has another to stand for it. */
static inline void model_hand_on(struct sched_model *m, unsigned class, struct model_node *was)
{
    struct model_node *is = model_serial_first(m, class);
    if (is == was || !is)
        return;
    if (was) {
        is->deficit = was->deficit;
        is->begun = was->begun;
        was->deficit = 0;
        was->begun = false;
    } else {
        m->class[class].place = ++m->places;
        model_cover(m, is);
    }
}

static inline void model_put(struct sched_model *m, struct model_node *n)
{
    struct model_class *c = &m->class[n->p.urgency];
    struct model_node *was = model_serial_first(m, n->p.urgency);
    if (m->policy == SCHED_URGENCY && model_class_size(m, n->p.urgency) == 0)
        c->since = c->sent = 0;
    n->ready = true;
    n->place = ++m->places;
    if (m->policy == SCHED_URGENCY && !n->p.incremental)
        model_hand_on(m, n->p.urgency, was);
    else if (model_by_quanta(m))
        model_cover(m, n);
}

static inline void model_take(struct sched_model *m, struct model_node *n)
{
    struct model_class *c = &m->class[n->p.urgency];
    struct model_node *was = model_serial_first(m, n->p.urgency);
    n->ready = false;
    if (m->policy != SCHED_URGENCY)
        return;
    if (!n->p.incremental)
        model_hand_on(m, n->p.urgency, was);
    if (model_class_size(m, n->p.urgency) == 0 && c->wait < 0)
        c->wait = 0;
}

/* n is compared with the others from now on. */
static inline void model_compare_afresh(struct sched_model *m, const struct model_node *n)
{
    size_t k = (size_t)(n - m->node);
    for (size_t i = 0; i < MODEL_NODES; i++)
        m->pair[k][i] = m->pair[i][k] = (struct model_pair){0};
}

static inline void model_ready(struct sched_model *m, struct model_node *n)
{
    bool nobody = m->sched.n == 0;
    sched_ready(&m->sched, &n->node);
    if (n->ready)
        return;
    if (nobody)
        m->quantum = m->settings.quantum;
    if (n->start < m->now)
        n->start = m->now;
    model_compare_afresh(m, n);
    model_put(m, n);
}

static inline void model_remove(struct sched_model *m, struct model_node *n)
{
    sched_remove(&m->sched, &n->node);
    if (!n->ready)
        return;
    model_take(m, n);
    if (m->held == n)
        m->held = NULL;
    n->begun = false;
    if (n->deficit > 0)
        n->deficit = 0;
}

/* Weights whose parts of a byte 256ths can tell, or any. */
static inline struct sched_priority model_priority(struct sched_model *m)
{
    uint8_t a = reader_u8(&m->in);
    uint8_t b = reader_u8(&m->in);
    uint16_t weight = m->odd ? (uint16_t)(1 + a) : (uint16_t)(1u << a % 9);
    return (struct sched_priority){.order = b % 16,
                                   .weight = weight,
                                   .priority = a % 4,
                                   .urgency = a & 0x40 ? a % SCHED_URGENCIES : 3,
                                   .incremental = b & 0x40};
}

/* What makes it move, at each policy. */
static inline bool model_moves(const struct sched_model *m, const struct sched_priority *a,
                               const struct sched_priority *b)
{
    switch (m->policy) {
    case SCHED_FIRST_COME: return a->order != b->order;
    case SCHED_PRIORITY: return a->priority != b->priority;
    case SCHED_WEIGHTED: return a->weight != b->weight;
    case SCHED_URGENCY:
        return a->urgency != b->urgency || a->incremental != b->incremental ||
               (!a->incremental && a->order != b->order);
    default: return false;
    }
}

static inline void model_advance(struct model_node *n, uint64_t cost, uint16_t weight)
{
    n->start += (cost + n->rest) / weight;
    n->rest = (cost + n->rest) % weight;
}

/* It has sent as many bytes more than its share as before. */
static inline void model_reweight(const struct sched_model *m, struct model_node *n,
                                  uint16_t weight)
{
    uint64_t ahead = n->start > m->now ? n->start - m->now : 0;
    if (n->p.weight == weight)
        return;
    n->start = m->now;
    model_advance(n, ahead * n->p.weight, weight);
}

static inline void model_prioritise(struct sched_model *m, struct model_node *n)
{
    struct sched_priority p = model_priority(m);
    sched_prioritise(&m->sched, &n->node, &p);
    bool moves = n->ready && model_moves(m, &n->p, &p);
    if (moves)
        model_take(m, n);
    if (m->policy == SCHED_WEIGHTED)
        model_reweight(m, n, p.weight);
    if (moves)
        model_compare_afresh(m, n);
    n->p = p;
    if (moves)
        model_put(m, n);
}

/* Another stream in its place, at once. */
static inline void model_reopen(struct sched_model *m, struct model_node *n)
{
    model_remove(m, n);
    memset(n, 0xa5, sizeof(*n));
    *n = (struct model_node){.p = model_priority(m)};
    sched_node_init(&n->node, &n->p);
}

/* ---- what is promised ---- */

static inline int64_t model_weight(const struct sched_model *m, const struct model_node *n)
{
    return m->policy == SCHED_WEIGHTED ? n->p.weight : 1;
}

static inline bool model_comparable(const struct sched_model *m, const struct model_node *a,
                                    const struct model_node *b)
{
    if (!a->ready || !b->ready)
        return false;
    if (m->policy == SCHED_URGENCY)
        return a->p.urgency == b->p.urgency && a->p.incremental && b->p.incremental;
    return m->policy == SCHED_DEFICIT || m->policy == SCHED_WEIGHTED;
}

static inline int64_t model_bound(const struct sched_model *m, const struct model_node *a,
                                  const struct model_node *b)
{
    if (m->policy == SCHED_WEIGHTED)
        return (m->largest + 1) * (a->p.weight + b->p.weight);
    return m->quantum + 2 * m->largest;
}

/* a has sent more, while b may have waited. */
static inline void model_gain(struct sched_model *m, const struct model_node *a, int64_t bytes)
{
    size_t i = (size_t)(a - m->node);
    for (size_t k = 0; k < MODEL_NODES; k++) {
        struct model_node *b = &m->node[k];
        struct model_pair *ab = &m->pair[i][k];
        struct model_pair *ba = &m->pair[k][i];
        ab->turned = false; /* it waits no more */
        if (k == i || !model_comparable(m, a, b))
            continue;
        ab->ahead += bytes * model_weight(m, b);
        ba->ahead -= bytes * model_weight(m, b);
        if (ba->ahead < ba->low)
            ba->low = ba->ahead;
        assert(ab->ahead - ab->low <= model_bound(m, a, b) && "it has its share, and no more");
    }
}

static inline void model_begins(struct sched_model *m, struct model_node *a)
{
    size_t i = (size_t)(a - m->node);
    for (size_t k = 0; k < MODEL_NODES; k++) {
        const struct model_node *b = &m->node[k];
        if (k == i || !b->ready || !model_in_turn(m, a) || !model_in_turn(m, b))
            continue;
        if (m->policy == SCHED_URGENCY && a->p.urgency != b->p.urgency)
            continue;
        assert(!m->pair[k][i].turned && "nobody has two turns while another waits");
        m->pair[k][i].turned = true;
    }
}

/* ---- a frame ---- */

static inline void model_class_charge(struct sched_model *m, unsigned class, uint32_t bytes)
{
    bool in_order = true;
    int64_t share = m->settings.min_share < 142 ? m->settings.min_share : 142;
    for (unsigned i = 0; i < SCHED_URGENCIES; i++) {
        struct model_class *c = &m->class[i];
        if (model_class_size(m, i) == 0)
            continue;
        c->wait -= bytes * share;
        c->since += bytes;
        in_order &= i >= class;
    }
    struct model_class *c = &m->class[class];
    c->wait += bytes * INT64_C(1000);
    c->sent += bytes;
    if (in_order && c->wait > m->settings.quantum * INT64_C(1000))
        c->wait = m->settings.quantum * INT64_C(1000);
    for (unsigned i = 0; i < SCHED_URGENCIES; i++) {
        c = &m->class[i];
        int64_t slack = 1000 * (m->settings.quantum + 4 * m->largest) + share * 8 * m->largest;
        assert((int64_t)c->since * share <= (int64_t)c->sent * 1000 + slack &&
               "no class is starved");
    }
}

static inline void model_quanta_charge(struct sched_model *m, struct model_node *n, uint32_t bytes,
                                       bool part)
{
    struct model_node *first = n;
    if (m->policy == SCHED_URGENCY && !n->p.incremental)
        first = model_serial_first(m, n->p.urgency);
    if (!first->begun) {
        first->begun = true;
        first->deficit += m->quantum;
        model_begins(m, first);
    }
    first->deficit -= bytes;
    if (part)
        return;
    if (bytes == 0 && m->held != n) {
        first->deficit = first->deficit > 0 ? 0 : first->deficit;
        model_compare_afresh(m, n); /* it has given up a turn */
    }
    if (first->deficit > 0 && first->deficit >= bytes / 2)
        return;
    first->begun = false;
    model_cover(m, first);
    if (first->p.incremental || m->policy == SCHED_DEFICIT)
        first->place = ++m->places;
    else
        m->class[n->p.urgency].place = ++m->places;
}

static inline void model_weighted_charge(struct sched_model *m, struct model_node *n,
                                         uint32_t bytes, bool part)
{
    if (m->held != n)
        m->now = n->start;
    if (bytes == 0 && !part) {
        bytes = 1;
        model_compare_afresh(m, n);
    }
    model_advance(n, UINT64_C(256) * bytes, n->p.weight);
    n->place = ++m->places;
}

static inline void model_turn_charge(struct sched_model *m, struct model_node *n, bool part)
{
    if (m->policy == SCHED_PACKET ? !n->begun : m->held != n)
        model_begins(m, n);
    n->begun = m->policy == SCHED_PACKET;
    if (m->policy != SCHED_PACKET && !part)
        n->place = ++m->places;
}

static inline void model_charge(struct sched_model *m, struct model_node *n, uint32_t bytes,
                                bool part)
{
    m->unit = (m->held == n ? m->unit : 0) + bytes;
    m->largest = m->unit > m->largest ? m->unit : m->largest;
    if (m->policy == SCHED_URGENCY)
        model_class_charge(m, n->p.urgency, bytes);
    if (model_by_quanta(m))
        model_quanta_charge(m, n, bytes, part);
    else if (m->policy == SCHED_WEIGHTED)
        model_weighted_charge(m, n, bytes, part);
    else if (model_in_turn(m, n) || m->policy == SCHED_PRIORITY)
        model_turn_charge(m, n, part);
    model_gain(m, n, bytes);
    m->held = part ? n : NULL;
}

static inline void model_packet_end(struct sched_model *m)
{
    struct model_node *first = model_next(m);
    sched_packet_end(&m->sched);
    if (m->policy != SCHED_PACKET || !first)
        return;
    if (first->begun && !m->held)
        first->place = ++m->places;
    if (!m->held)
        first->begun = false;
}

/* Sizes of frames: none, small, all the same, large. */
static inline uint32_t model_bytes(struct sched_model *m)
{
    uint8_t b = reader_u8(&m->in);
    switch (b >> 6) {
    case 0: return b & 0x3f;
    case 1: return 1000;
    case 2: return (b & 0x3fu) << 8;
    default: return 16384u + (b & 0x3fu) * (b & 0x38 ? 0 : 4096);
    }
}

static inline void model_send(struct sched_model *m)
{
    struct sched_node *picked = sched_pick(&m->sched);
    uint8_t how = reader_u8(&m->in);
    uint32_t bytes = model_bytes(m);
    if (!picked)
        return;
    struct model_node *n = container_of(picked, struct model_node, node);
    bool part = how % 8 == 0;
    model_charge(m, n, bytes, part);
    sched_charge(&m->sched, picked, bytes, part);
    m->picks++;
    if (how >= 0xc0) { /* it has nothing more, or not at once */
        model_remove(m, n);
        if (how >= 0xe0)
            model_ready(m, n);
    }
}

/* ---- all of it ---- */

static inline void model_check(struct sched_model *m)
{
    uint32_t ready = 0;
    for (struct model_node *n = m->node; n < m->node + MODEL_NODES; n++) {
        assert(sched_is_ready(&n->node) == n->ready);
        ready += n->ready;
    }
    assert(m->sched.n == ready && sched_empty(&m->sched) == (ready == 0));
    assert(sched_ok(&m->sched));
    struct sched_node *picked = sched_pick(&m->sched);
    assert(picked == sched_pick(&m->sched));
    assert((picked == NULL) == (ready == 0));
    if (!picked || m->policy == SCHED_RANDOM || (m->odd && m->policy == SCHED_WEIGHTED)) {
        assert(!picked || sched_is_ready(picked));
        return;
    }
    assert(picked == &model_next(m)->node && "who has waited longest, by the policy's measure");
}

static inline void model_step(struct sched_model *m)
{
    uint8_t how = reader_u8(&m->in);
    struct model_node *n = &m->node[(how >> 4) % MODEL_NODES];
    switch (how % 16) {
    case 0:
    case 1:
    case 2: model_ready(m, n); break;
    case 3: model_remove(m, n); break;
    case 4: model_prioritise(m, n); break;
    case 5: model_reopen(m, n); break;
    case 6:
    case 7: model_packet_end(m); break;
    default: model_send(m); break;
    }
    model_check(m);
}

/* Returns how many frames were sent. */
static inline uint32_t sched_model_run(const uint8_t *bytes, size_t len)
{
    static const uint32_t quanta[] = {0, 1, 1500, 65536};
    static const uint32_t shares[] = {0, 1, 100, 1000};
    static const enum sched_policy policies[] = {
        SCHED_DEFICIT,  SCHED_ROUND_ROBIN, SCHED_URGENCY,  SCHED_FIRST_COME,
        SCHED_PACKET,   SCHED_PRIORITY,    SCHED_WEIGHTED, SCHED_RANDOM,
        SCHED_WEIGHTED, SCHED_URGENCY,     SCHED_DEFICIT};
    struct sched_model m = {.in = reader_of(bytes, len)};
    uint8_t which = reader_u8(&m.in);
    uint8_t how = reader_u8(&m.in);
    m.policy = policies[which % (sizeof(policies) / sizeof(policies[0]))];
    m.odd = how & 1;
    m.settings = (struct sched_settings){quanta[how >> 1 & 3], shares[how >> 3 & 3]};
    sched_settings_fill(&m.settings);
    m.quantum = m.settings.quantum;
    sched_init(&m.sched, m.policy, &m.settings, how);
    for (unsigned i = 0; i < SCHED_URGENCIES; i++)
        m.class[i].wait = m.settings.quantum * INT64_C(1000);
    for (struct model_node *n = m.node; n < m.node + MODEL_NODES; n++) {
        n->p = sched_priority_default;
        sched_node_init(&n->node, &n->p);
    }
    while (reader_left(&m.in) > 0)
        model_step(&m);
    return m.picks;
}

#endif
