/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/wheel.h"

#include <assert.h>

#include "base/invariant.h"

_Static_assert(WHEEL_SLOT_BITS *WHEEL_LEVELS >= 64, "every tick has a slot");
_Static_assert(WHEEL_SLOTS == 64, "a level's slots are the bits of one word");

static unsigned lowest_bit(uint64_t bits)
{
    return (unsigned)__builtin_ctzll(bits);
}

static unsigned level_of(const struct wheel *w, tick_t when)
{
    uint64_t differs = (when ^ w->base) | 1; /* level 0 where they are equal */
    return (63 - (unsigned)__builtin_clzll(differs)) / WHEEL_SLOT_BITS;
}

static unsigned slot_of(tick_t when, unsigned level)
{
    return (unsigned)(when >> (level * WHEEL_SLOT_BITS)) & (WHEEL_SLOTS - 1);
}

/* The first tick of the slot that holds when at this level. */
static tick_t slot_start(tick_t when, unsigned level)
{
    unsigned shift = level * WHEEL_SLOT_BITS;
    return when >> shift << shift;
}

static bool overdue_ok(const struct wheel *w, uint64_t *count)
{
    list_for_each (node, &w->overdue) {
        if (container_of(node, struct timer, node)->when > w->now)
            return false;
        ++*count;
    }
    return true;
}

static bool slot_ok(const struct wheel *w, unsigned level, unsigned slot, uint64_t *count)
{
    const struct list *head = &w->slot[level][slot];
    if (list_empty(head) != !(w->occupied[level] >> slot & 1))
        return false;
    list_for_each (node, head) {
        tick_t when = container_of(node, struct timer, node)->when;
        if (when <= w->base || when < w->earliest[level][slot])
            return false;
        if (level_of(w, when) != level || slot_of(when, level) != slot)
            return false;
        ++*count;
    }
    return true;
}

/* As outside wheel_expire: every timer stands in the slot that its time and base give, and is
 * counted. */
static bool wheel_ok(const struct wheel *w)
{
    uint64_t count = 0;
    if (!overdue_ok(w, &count))
        return false;
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        if ((w->occupied[level] != 0) != (w->levels >> level & 1))
            return false;
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++) {
            if (!slot_ok(w, level, slot, &count))
                return false;
        }
    }
    return w->base == w->now && count == w->armed;
}

void wheel_init(struct wheel *w, tick_t now)
{
    w->now = now;
    w->base = now;
    w->expiring = false;
    w->levels = 0;
    w->armed = 0;
    list_init(&w->overdue);
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        w->occupied[level] = 0;
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++) {
            w->earliest[level][slot] = TICK_NEVER;
            list_init(&w->slot[level][slot]);
        }
    }
}

/* Into the slot of its time, behind those already there. */
static void place(struct wheel *w, struct timer *t)
{
    unsigned level = level_of(w, t->when);
    unsigned slot = slot_of(t->when, level);
    tick_t *earliest = &w->earliest[level][slot];
    uint64_t bit = UINT64_C(1) << slot;
    if (!(w->occupied[level] & bit) || t->when < *earliest)
        *earliest = t->when;
    w->occupied[level] |= bit;
    w->levels |= UINT32_C(1) << level;
    list_push_back(&w->slot[level][slot], &t->node);
}

static void mark_empty(struct wheel *w, unsigned level, unsigned slot)
{
    w->occupied[level] &= ~(UINT64_C(1) << slot);
    if (!w->occupied[level])
        w->levels &= ~(UINT32_C(1) << level);
}

static void unlink_timer(struct wheel *w, struct timer *t)
{
    /*
     * A timer that is overdue, or about to be fired, stands in no slot; the slot its time names is
     * then another's, and is still marked by what it holds.
     */
    unsigned level = level_of(w, t->when);
    unsigned slot = slot_of(t->when, level);
    list_remove(&t->node);
    w->armed--;
    if (list_empty(&w->slot[level][slot]))
        mark_empty(w, level, slot);
}

void wheel_arm(struct wheel *w, struct timer *t, tick_t when)
{
    if (timer_armed(t))
        unlink_timer(w, t);
    t->when = when;
    if (when != TICK_NEVER) {
        w->armed++;
        if (when <= w->now)
            list_push_back(&w->overdue, &t->node);
        else
            place(w, t);
    }
    invariant(w->expiring || wheel_ok(w));
}

void wheel_cancel(struct wheel *w, struct timer *t)
{
    if (timer_armed(t))
        unlink_timer(w, t);
    t->when = TICK_NEVER;
    invariant(w->expiring || wheel_ok(w));
}

/* The level and slot of the earliest timers. False where no slot is occupied. */
static bool first_slot(const struct wheel *w, unsigned *level, unsigned *slot)
{
    if (!w->levels)
        return false;
    *level = lowest_bit(w->levels);
    *slot = lowest_bit(w->occupied[*level]);
    return true;
}

tick_t wheel_next(const struct wheel *w)
{
    unsigned level;
    unsigned slot;
    if (!list_empty(&w->overdue))
        return w->now;
    return first_slot(w, &level, &slot) ? w->earliest[level][slot] : TICK_NEVER;
}

static void fire_all(struct wheel *w, struct list *due)
{
    for (struct list *node = list_first(due); node; node = list_first(due)) {
        struct timer *t = container_of(node, struct timer, node);
        list_remove(node);
        w->armed--;
        t->when = TICK_NEVER;
        t->fire(t, w->now);
    }
}

/* Empties a slot that w->now has reached, with base as close to its timers as is safe, so that each
 * moves as far as it can. */
static void open_slot(struct wheel *w, unsigned level, unsigned slot)
{
    struct list members;
    list_init(&members);
    list_splice_back(&members, &w->slot[level][slot]);
    mark_empty(w, level, slot);
    w->base = tick_min(w->earliest[level][slot], w->now);
    if (level == 0) {
        fire_all(w, &members);
        return;
    }
    list_for_each_safe (node, &members) {
        list_remove(node);
        place(w, container_of(node, struct timer, node));
    }
}

void wheel_expire(struct wheel *w, tick_t now)
{
    assert(!w->expiring && "a callback does not call wheel_expire");
    w->expiring = true;
    if (now > w->now)
        w->now = now;

    struct list overdue;
    list_init(&overdue);
    list_splice_back(&overdue, &w->overdue);
    fire_all(w, &overdue);

    unsigned level;
    unsigned slot;
    while (first_slot(w, &level, &slot) && slot_start(w->earliest[level][slot], level) <= w->now)
        open_slot(w, level, slot);

    w->base = w->now;
    w->expiring = false;
    invariant(wheel_ok(w));
}
