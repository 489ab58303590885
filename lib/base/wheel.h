/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_WHEEL_H
#define MILLRACE_BASE_WHEEL_H

/*
 * Hierarchical timer wheel (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987).
 * Arm, re-arm and cancel are O(1) and allocate nothing: the timer is embedded in what it belongs
 * to. A timer fires in the first wheel_expire whose now has reached its time, exactly to the tick
 * and never before.
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
    tick_t when;    /* valid while armed, as are the next three */
    uint64_t order; /* of arming */
    uint8_t level;  /* where its slot is; WHEEL_LEVELS: in no slot */
    uint8_t slot;
    timer_fire fire;
};

#define WHEEL_GRAIN_BITS 16 /* a slot of the finest level is 65.5 us wide */
#define WHEEL_STEP_BITS  5  /* and one of each level 32 times as wide as the next finer's */
#define WHEEL_SLOTS      64
#define WHEEL_LEVELS     10 /* 16 + 9 * 5 + 6 >= 64 bits: every tick has a slot */

/*
 * Time is cut into slots, at each level of another width. A timer is put in the finest level where
 * its slot is one of the 63 after base's; when base enters that slot it moves to a finer one, and
 * in the end to `near`, which is sorted. Armed again for a time that is not before its slot it
 * stays there, so that putting off a timer, the commonest thing, touches nothing but the timer.
 *
 * A level reaches twice as far as the next coarser one's slot is wide, so that a full slot can be
 * emptied bit by bit while base is in the one before it: no single wheel_expire has to move all its
 * timers.
 */
struct wheel {
    tick_t now;  /* newest that wheel_expire was given */
    tick_t base; /* is now, except while wheel_expire works its way there */
    bool expiring;
    uint32_t levels; /* a bit for each level that holds timers */
    uint64_t
        occupied[WHEEL_LEVELS]; /* a bit for each slot that holds timers, by number modulo 64 */
    struct list slot[WHEEL_LEVELS][WHEEL_SLOTS];
    uint32_t count[WHEEL_LEVELS][WHEEL_SLOTS];
    /* Of an occupied slot: a time in it, no later than any of its timers. */
    tick_t earliest[WHEEL_LEVELS][WHEEL_SLOTS];
    struct list near;    /* due in the grain that base is in, in the order they will fire */
    struct list overdue; /* in order of arming */
    uint64_t armed;      /* timers in the wheel */
    uint64_t arms;       /* so far */
};

/* The wheel must not move in memory while timers are armed. */
void wheel_init(struct wheel *w, tick_t now);

static inline void timer_init(struct timer *t, timer_fire fire)
{
    list_init(&t->node);
    t->when = TICK_NEVER;
    t->order = 0;
    t->level = WHEEL_LEVELS;
    t->fire = fire;
}

static inline bool timer_armed(const struct timer *t)
{
    return list_linked(&t->node);
}

/*
 * Arms or re-arms. TICK_NEVER cancels. O(1), except that a time within the grain of 65.5 us that
 * now is in is sorted in among the timers due later in it.
 */
void wheel_arm(struct wheel *w, struct timer *t, tick_t when);

/* Does nothing to a timer that is not armed. */
void wheel_cancel(struct wheel *w, struct timer *t);

/*
 * When to call wheel_expire next: TICK_NEVER where no timer is armed, w->now where one is overdue,
 * else the time of the earliest timer. It is earlier than that only where a timer due still earlier
 * has been cancelled or moved since; the wheel_expire at that time may fire nothing, but sorts out
 * the slot where it happened. Costs a bit scan for each level in use.
 */
tick_t wheel_next(const struct wheel *w);

/*
 * Fires what is due. A now before an earlier one counts as that one. The cost is that of the timers
 * fired and of those moved to a finer level, each at most WHEEL_LEVELS times in its life and a
 * share of the crowd in each call; a long time passed costs nothing by itself.
 */
void wheel_expire(struct wheel *w, tick_t now);

#endif
