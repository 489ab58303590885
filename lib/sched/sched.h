/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SCHED_SCHED_H
#define MILLRACE_SCHED_SCHED_H

/*
 * Who sends next: of the streams of one connection (or of anything else) that have something to
 * send. It knows no protocol and allocates nothing; a node is embedded in what it stands for.
 *
 *     sched_ready(s, n)        n has something to send
 *     n = sched_pick(s)        whose turn it is
 *     sched_charge(s, n, ...)  it has sent so much, and may be ready still
 *     sched_remove(s, n)       it has nothing more to send
 *
 * The owner picks only when it can send (a window is open, there is room): a pick does not change
 * anything, and what was picked stays first until it is charged or removed, so that nothing rotates
 * without progress. A node that stops being ready keeps its debt: what it had above its share
 * counts against it when it is back. What it did not use is not saved up. Clocks here are bytes, in
 * small parts, in 64 bits: good for 2^55 bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

/* X(enumerator, name in the configuration, meaning) */
#define SCHED_POLICIES(X)                                                              \
    X(DEFICIT, "deficit", "each in turn, a quantum of bytes a turn (fair bandwidth)")  \
    X(ROUND_ROBIN, "round-robin", "each in turn, one frame or message a turn")         \
    X(URGENCY, "urgency", "by the client's urgency and incremental (RFC 9218)")        \
    X(TREE, "tree", "by the client's dependencies and weights (RFC 7540 5.3)")         \
    X(FIRST_COME, "first-come", "the first to come goes on until it has nothing more") \
    X(PACKET, "round-robin-packet", "each in turn, one packet a turn (RFC 8260 3.3)")  \
    X(PRIORITY, "priority", "the lowest priority number first, in turn where equal")   \
    X(WEIGHTED, "weighted", "bytes in proportion to weights (weighted fair queueing)") \
    X(RANDOM, "random", "any of them; to compare with")

enum sched_policy {
#define X(id, name, text) SCHED_##id,
    SCHED_POLICIES(X)
#undef X
        SCHED_POLICY_END
};

const char *sched_policy_name(enum sched_policy p);

/* Zero takes the default. */
struct sched_settings {
    uint32_t quantum;   /* DEFICIT and URGENCY: bytes a turn: 16,384 */
    uint32_t min_share; /* URGENCY: of a class that others go before, in 1/1,000: 10 */
    /* 1,000 / 7 is the most that makes sense; more than that is that. */
};

#define SCHED_URGENCIES       8u
#define SCHED_URGENCY_DEFAULT 3u /* RFC 9218 4.1 */
#define SCHED_WEIGHT_MAX      256u
#define SCHED_WEIGHT_DEFAULT  16u /* RFC 7540 5.3.5 */

/* What the policies look at, each at its own. */
struct sched_priority {
    uint64_t order;    /* FIRST_COME, URGENCY of those not incremental: smaller goes first */
    uint16_t weight;   /* WEIGHTED, TREE: 1..256 */
    uint16_t priority; /* PRIORITY: 0 is first */
    uint8_t urgency;   /* URGENCY: 0..7, 0 is first */
    bool incremental;  /* URGENCY */
};

/* All of it is the scheduler's own. What a turn touches comes first, in 50 bytes. */
struct sched_node {
    struct list ring; /* of those that go in turn */
    /* DEFICIT, URGENCY: what is left of its turn, or its debt. WEIGHTED: what a division left */
    int64_t deficit;
    const void *ahead; /* who came SCHED_AHEAD turns after it the last time, or was there */
    struct sched_priority p;
    bool ready;
    bool begun; /* DEFICIT, URGENCY: it has the quantum of its turn already */
    struct {
        struct sched_node *child;
        struct sched_node *next;
        struct sched_node *prev;
    } heap;        /* of those that go by key */
    uint64_t key;  /* smaller goes first, */
    uint64_t turn; /* and of equal ones the one that has waited for longer */
};

_Static_assert(sizeof(struct sched_node) <= 96, "it is in every stream");

/* One class of URGENCY; the other policies use the first. */
struct sched_class {
    struct list *ring;       /* the first of those that go in turn, NULL: nobody */
    struct sched_node *heap; /* the first of those that go by key */
    uint64_t due;            /* URGENCY: see urgency.c */
};

#define SCHED_AHEAD 16u /* turns */

struct sched_tree_node;

struct sched {
    const struct sched_settings *settings; /* filled */
    struct sched_node *held; /* in the middle of what it sends: nobody goes before it */
    uint8_t policy;
    uint8_t classes;  /* URGENCY: a bit for each that has ready nodes */
    bool filling;     /* PACKET: the first has sent something in this packet */
    uint32_t n;       /* ready nodes */
    uint64_t sent;    /* bytes charged */
    uint64_t quantum; /* settings' at least, and more than anybody's debt */
    uint64_t turns;   /* given out */
    uint64_t seed;
    union {
        uint64_t now;                 /* WEIGHTED, RANDOM: virtual time, the key last served */
        struct sched_tree_node *tree; /* TREE: the root, which its owner sets after sched_init */
    };
    union {
        struct sched_class class[SCHED_URGENCIES];
        struct { /* DEFICIT, ROUND_ROBIN, PACKET */
            struct sched_class only;
            struct sched_node *lately[SCHED_AHEAD]; /* had the last turns, and are ready still */
        };
    };
};

_Static_assert(sizeof(struct sched) <= 256, "it is in every connection");

/* s with the defaults in place of zeroes. */
void sched_settings_fill(struct sched_settings *s);

/* settings, filled, outlive it. seed: of RANDOM. */
void sched_init(struct sched *s, enum sched_policy policy, const struct sched_settings *settings,
                uint64_t seed);
/* The defaults of struct sched_priority, order 0. */
extern const struct sched_priority sched_priority_default;
/* Not ready. p is copied. */
void sched_node_init(struct sched_node *n, const struct sched_priority *p);

/* Another priority, at any time; it keeps what it has of its turn. */
void sched_prioritise(struct sched *s, struct sched_node *n, const struct sched_priority *p);

/* Twice is once. */
void sched_ready(struct sched *s, struct sched_node *n);
void sched_remove(struct sched *s, struct sched_node *n);
bool sched_is_ready(const struct sched_node *n);

/* NULL: nobody is ready. The same until somebody is charged, removed, or (by URGENCY, PRIORITY,
 * FIRST_COME, TREE, WEIGHTED) comes who goes before it. */
struct sched_node *sched_pick(const struct sched *s);

/* n, which is ready and was picked, has sent bytes (0 is allowed: a turn, given up without cost).
 * part: the unit that it sends (a message, where its fragments may not be interleaved with others')
 * goes on, so it stays first, whoever comes. */
void sched_charge(struct sched *s, struct sched_node *n, uint32_t bytes, bool part);

/* PACKET: the packet that was being filled is full: whoever has sent in it and is first still goes
 * last. */
void sched_packet_end(struct sched *s);

static inline bool sched_empty(const struct sched *s)
{
    return s->n == 0;
}

bool sched_ok(const struct sched *s);

#endif
