/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_WHEEL_H
#define MILLRACE_BASE_WHEEL_H

/*
 * Hierarchical timer wheel (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987).
 * Arm, re-arm and cancel are O(1) and allocate nothing: the timer is embedded in what it belongs
 * to. A timer fires in the first wheel_expire whose now has reached its time, never before; timers
 * due in one call fire in order of time, those of the same time in order of arming.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/tick.h"

struct timer;

/*
 * The timer is no longer armed when this runs and may be armed again, or its owner freed. It may
 * arm and cancel any timer of the wheel, but not call wheel_expire. A timer armed for a time <= now
 * fires in this same call of wheel_expire only if that is its own doing at most once per call: a
 * timer re-armed for the past waits for the next call.
 */
typedef void (*timer_fire)(struct timer *t, tick_t now);

struct timer {
    struct list node;
    tick_t when; /* valid while armed */
    timer_fire fire;
};

#define WHEEL_GRAIN_BITS 16 /* finest slot: 65.5 us */
#define WHEEL_SLOT_BITS  6
#define WHEEL_SLOTS      (1u << WHEEL_SLOT_BITS)
#define WHEEL_LEVELS     8 /* 16 + 8 * 6 = 64 bits: every tick has a slot */

struct wheel {
    tick_t now;                      /* all slots before it are empty */
    uint64_t occupied[WHEEL_LEVELS]; /* a bit for each slot that holds timers */
    struct list slot[WHEEL_LEVELS][WHEEL_SLOTS];
    struct list due; /* past or present; what an expire is working through */
    uint64_t armed;  /* timers in the wheel */
};

void wheel_init(struct wheel *w, tick_t now);

static inline void timer_init(struct timer *t, timer_fire fire)
{
    list_init(&t->node);
    t->when = TICK_NEVER;
    t->fire = fire;
}

static inline bool timer_armed(const struct timer *t)
{
    return list_linked(&t->node);
}

/* Arms or re-arms. TICK_NEVER cancels. */
void wheel_arm(struct wheel *w, struct timer *t, tick_t when);

/* Does nothing to a timer that is not armed. */
void wheel_cancel(struct wheel *w, struct timer *t);

/*
 * A time no later than the earliest timer, and exact where that timer is within the finest level's
 * reach; TICK_NEVER where none is armed. A sleeper that wakes then and calls wheel_expire makes
 * progress: it either fires a timer or moves one to a finer level.
 */
tick_t wheel_next(const struct wheel *w);

/* Fires what is due. A now before an earlier one counts as that one. */
void wheel_expire(struct wheel *w, tick_t now);

#endif
