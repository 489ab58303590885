/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_WHEEL_H
#define MILLRACE_BASE_WHEEL_H

/*
 * Hierarchical timer wheel (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987).
 * Arm, re-arm and cancel are O(1) and allocate nothing: the timer is embedded in what it belongs
 * to. Slots of the finest level are one tick wide, so times are kept exactly: a timer fires in the
 * first wheel_expire whose now has reached its time, never before.
 *
 * Order. One wheel_expire fires the timers that were overdue when they were armed, in order of
 * arming; then the others in order of time, those of the same time in order of arming.
 *
 * Overdue. A timer armed for a time that is not after the newest now given to wheel_expire (or
 * wheel_init) is overdue: the next call of wheel_expire fires it. So one armed by a callback for
 * its own now or earlier waits for the next call, and no call can be kept running by timers that
 * re-arm themselves.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/tick.h"

struct timer;

/*
 * now is the one that wheel_expire was given. The timer is no longer armed when this runs: it may
 * be armed again, or its owner freed. The callback may arm and cancel any timer of the wheel, those
 * due in this same call included, but not call wheel_expire.
 */
typedef void (*timer_fire)(struct timer *t, tick_t now);

struct timer {
    struct list node;
    tick_t when; /* valid while armed */
    timer_fire fire;
};

#define WHEEL_SLOT_BITS 6
#define WHEEL_SLOTS     (1u << WHEEL_SLOT_BITS)
#define WHEEL_LEVELS    11 /* 11 * 6 >= 64 bits: every tick has a slot */

/*
 * Seen from base, a timer stands at the level of the highest bit in which its time differs from
 * base, in the slot that the six bits of its time there name. So all of a level's timers are due
 * before all of the next level's, and no level wraps around.
 */
struct wheel {
    tick_t now;  /* newest that wheel_expire was given */
    tick_t base; /* no later than any timer in a slot; is now, but while wheel_expire works */
    bool expiring;
    uint32_t levels;                 /* a bit for each level that holds timers */
    uint64_t occupied[WHEEL_LEVELS]; /* a bit for each slot that holds timers */
    /* Of an occupied slot: a time in it, no later than any of its timers. */
    tick_t earliest[WHEEL_LEVELS][WHEEL_SLOTS];
    struct list slot[WHEEL_LEVELS][WHEEL_SLOTS];
    struct list overdue;
    uint64_t armed; /* timers in the wheel */
};

/* The wheel must not move in memory while timers are armed. */
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
 * When to call wheel_expire next: TICK_NEVER where no timer is armed, w->now where one is overdue,
 * else the time of the earliest timer. It is earlier than that only where a timer due still earlier
 * has been cancelled or moved since; the wheel_expire at that time may fire nothing, but leaves the
 * exact time behind. Costs two bit scans.
 */
tick_t wheel_next(const struct wheel *w);

/*
 * Fires what is due. A now before an earlier one counts as that one. The cost is that of the timers
 * fired, and of moving those in the slots that now has entered to a finer level (each timer at most
 * WHEEL_LEVELS times in its life); however long the time passed.
 */
void wheel_expire(struct wheel *w, tick_t now);

#endif
