/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/wheel.h"

#include <assert.h>

#include "base/invariant.h"

/* A slot of no more timers is left alone until base enters it. */
#define CROWD 16

_Static_assert(WHEEL_GRAIN_BITS + (WHEEL_LEVELS - 1) * WHEEL_STEP_BITS + 6 >= 64,
               "every tick has a slot");
_Static_assert(WHEEL_SLOTS == 64, "a level's slots are the bits of one word");
_Static_assert(WHEEL_SLOTS >= 2 << WHEEL_STEP_BITS, "a level reaches over two coarser slots");

static struct timer *timer_of(struct list *node)
{
    return container_of(node, struct timer, node);
}

static unsigned width_bits(unsigned level)
{
    return WHEEL_GRAIN_BITS + level * WHEEL_STEP_BITS;
}

/* Slots of a level are numbered from tick 0 on. */
static uint64_t number_of(tick_t when, unsigned level)
{
    return when >> width_bits(level);
}

static unsigned slot_of(uint64_t number)
{
    return number % WHEEL_SLOTS;
}

static bool is_occupied(const struct wheel *w, unsigned level, unsigned slot)
{
    return w->occupied[level] >> slot & 1;
}

static bool fires_before(const struct timer *a, const struct timer *b)
{
    return a->when != b->when ? a->when < b->when : a->order < b->order;
}

/* Are these in no slot, in the order they will fire, and due within [from, to]? */
static bool queue_ok(const struct list *head, bool sorted, tick_t from, tick_t to, uint64_t *count)
{
    const struct timer *before = NULL;
    list_for_each (node, head) {
        const struct timer *t = timer_of(node);
        if (t->level != WHEEL_LEVELS || t->when < from || t->when > to)
            return false;
        if (before && (sorted ? !fires_before(before, t) : before->order >= t->order))
            return false;
        before = t;
        ++*count;
    }
    return true;
}

/* The first tick of an occupied slot. */
static tick_t slot_start(const struct wheel *w, unsigned level, unsigned slot)
{
    uint64_t base = number_of(w->base, level);
    return (base + slot_of(slot - base)) << width_bits(level);
}

static bool slot_ok(const struct wheel *w, unsigned level, unsigned slot, uint64_t *count)
{
    tick_t start = slot_start(w, level, slot);
    uint32_t n = 0;
    list_for_each (node, &w->slot[level][slot]) {
        const struct timer *t = timer_of(node);
        if (t->level != level || t->slot != slot || t->when < w->earliest[level][slot] ||
            w->earliest[level][slot] < start || start <= w->base)
            return false;
        n++;
    }
    *count += n;
    return n == w->count[level][slot] && (n > 0) == is_occupied(w, level, slot);
}

/* As outside wheel_expire. */
static bool wheel_ok(const struct wheel *w)
{
    uint64_t count = 0;
    tick_t grain_end = w->now | ((UINT64_C(1) << WHEEL_GRAIN_BITS) - 1);
    if (!queue_ok(&w->overdue, false, 0, w->now, &count) ||
        !queue_ok(&w->near, true, w->now + 1, grain_end, &count))
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
    *w = (struct wheel){.now = now, .base = now};
    list_init(&w->near);
    list_init(&w->overdue);
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++)
            list_init(&w->slot[level][slot]);
    }
}

/* The finest level where when's slot is among the 63 after base's; when is in a later grain. */
static unsigned level_for(const struct wheel *w, tick_t when)
{
    unsigned level = 0;
    while (number_of(when, level) - number_of(w->base, level) >= WHEEL_SLOTS)
        level++;
    return level;
}

static void enter_slot(struct wheel *w, struct timer *t, unsigned level)
{
    unsigned slot = slot_of(number_of(t->when, level));
    tick_t *earliest = &w->earliest[level][slot];
    if (w->count[level][slot]++ == 0 || t->when < *earliest)
        *earliest = t->when;
    w->occupied[level] |= UINT64_C(1) << slot;
    w->levels |= UINT32_C(1) << level;
    t->level = (uint8_t)level;
    t->slot = (uint8_t)slot;
    list_push_back(&w->slot[level][slot], &t->node);
}

static bool is_near(const struct wheel *w, const struct timer *t)
{
    return number_of(t->when, 0) == number_of(w->base, 0);
}

static void insert_near(struct wheel *w, struct timer *t)
{
    struct list *after = w->near.prev;
    while (after != &w->near && fires_before(t, timer_of(after)))
        after = after->prev;
    list_insert_between(&t->node, after, after->next);
}

static void mark_empty(struct wheel *w, unsigned level, unsigned slot)
{
    w->occupied[level] &= ~(UINT64_C(1) << slot);
    if (!w->occupied[level])
        w->levels &= ~(UINT32_C(1) << level);
}

/* Out of its slot or queue. */
static void withdraw(struct wheel *w, struct timer *t)
{
    list_remove(&t->node);
    if (t->level == WHEEL_LEVELS)
        return;
    if (--w->count[t->level][t->slot] == 0)
        mark_empty(w, t->level, t->slot);
    t->level = WHEEL_LEVELS;
}

void wheel_cancel(struct wheel *w, struct timer *t)
{
    if (timer_armed(t)) {
        withdraw(w, t);
        w->armed--;
    }
    t->when = TICK_NEVER;
    invariant(w->expiring || wheel_ok(w));
}

/* Is t in a slot that base enters no later than when? */
static bool may_stay(const struct wheel *w, const struct timer *t, tick_t when)
{
    return t->level < WHEEL_LEVELS && slot_start(w, t->level, t->slot) <= when && when > w->now;
}

static void put(struct wheel *w, struct timer *t)
{
    if (t->when <= w->now)
        list_push_back(&w->overdue, &t->node);
    else if (is_near(w, t))
        insert_near(w, t);
    else
        enter_slot(w, t, level_for(w, t->when));
}

void wheel_arm(struct wheel *w, struct timer *t, tick_t when)
{
    bool stays = when != TICK_NEVER && may_stay(w, t, when);
    if (!stays)
        wheel_cancel(w, t);
    if (when == TICK_NEVER)
        return;
    t->when = when;
    t->order = w->arms++;
    if (stays) {
        tick_t *earliest = &w->earliest[t->level][t->slot];
        *earliest = tick_min(*earliest, when);
    } else {
        w->armed++;
        put(w, t);
    }
    invariant(w->expiring || wheel_ok(w));
}

/* The first occupied slot after base's, at a level that has one. */
static unsigned first_slot(const struct wheel *w, unsigned level)
{
    unsigned next = slot_of(number_of(w->base, level) + 1);
    uint64_t bits = w->occupied[level];
    uint64_t from_next = next ? bits >> next | bits << (WHEEL_SLOTS - next) : bits;
    return slot_of(next + (unsigned)__builtin_ctzll(from_next));
}

static unsigned lowest_level(uint32_t levels)
{
    return (unsigned)__builtin_ctz(levels);
}

/* No timer in a slot is due before this; TICK_NEVER where there is none. */
static tick_t earliest_in_slots(const struct wheel *w)
{
    tick_t earliest = TICK_NEVER;
    for (uint32_t levels = w->levels; levels; levels &= levels - 1) {
        unsigned level = lowest_level(levels);
        earliest = tick_min(earliest, w->earliest[level][first_slot(w, level)]);
    }
    return earliest;
}

tick_t wheel_next(const struct wheel *w)
{
    if (!list_empty(&w->overdue))
        return w->now;
    if (!list_empty(&w->near))
        return timer_of(w->near.next)->when; /* slots begin after base's grain */
    return earliest_in_slots(w);
}

/* Both end in NULL and have no valid prev, as has the result. */
static struct list *merge(struct list *a, struct list *b)
{
    struct list *first = NULL;
    struct list **end = &first;
    while (a && b) {
        struct list **from = fires_before(timer_of(a), timer_of(b)) ? &a : &b;
        *end = *from;
        end = &(*end)->next;
        *from = *end;
    }
    *end = a ? a : b;
    return first;
}

/* Merge sort: run[i], where i < runs, is NULL or 2^i timers in order. */
static void sort(struct list *head)
{
    struct list *run[32]; /* 2^32 timers would not fit in memory */
    unsigned runs = 0;
    head->prev->next = NULL;
    for (struct list *node = head->next, *next; node; node = next) {
        next = node->next;
        node->next = NULL;
        unsigned i = 0;
        for (; i < runs && run[i]; run[i++] = NULL)
            node = merge(run[i], node);
        run[i] = node;
        runs = i < runs ? runs : i + 1;
    }
    struct list *all = NULL;
    for (unsigned i = 0; i < runs; i++)
        all = merge(run[i], all);
    list_init(head);
    for (struct list *next; all; all = next) {
        next = all->next;
        list_push_back(head, all);
    }
}

/* The timers of a slot that base has entered go to other slots, or, unsorted, to near. */
static void open_slot(struct wheel *w, unsigned level, unsigned slot)
{
    struct list members;
    list_init(&members);
    list_splice_back(&members, &w->slot[level][slot]);
    w->count[level][slot] = 0;
    mark_empty(w, level, slot);
    /* The list falls apart as it is read: nothing is written to neighbours, which may not be in the
     * cache. */
    for (struct list *node = members.next, *next; node != &members; node = next) {
        struct timer *t = timer_of(node);
        next = node->next;
        t->level = WHEEL_LEVELS;
        if (is_near(w, t))
            list_push_back(&w->near, node);
        else
            enter_slot(w, t, level_for(w, t->when));
    }
}

/* Opens the slots that base has entered by moving to where it is. At each level there is one at
 * most. */
static void open_entered(struct wheel *w)
{
    bool opened = false;
    for (uint32_t levels = w->levels; levels; levels &= levels - 1) {
        unsigned level = lowest_level(levels);
        unsigned slot = slot_of(number_of(w->base, level));
        if (is_occupied(w, level, slot)) {
            open_slot(w, level, slot);
            opened = true;
        }
    }
    if (opened && w->near.next != w->near.prev)
        sort(&w->near);
}

/* Moves base on, to the next time that a timer may be due at, but no further than now. False where
 * it is not due yet. */
static bool advance(struct wheel *w)
{
    tick_t earliest = earliest_in_slots(w);
    w->base = tick_min(earliest, w->now);
    open_entered(w);
    return earliest <= w->now && earliest != TICK_NEVER;
}

static void fire(struct wheel *w, struct timer *t)
{
    list_remove(&t->node);
    w->armed--;
    t->when = TICK_NEVER;
    t->fire(t, w->now);
}

static void fire_overdue(struct wheel *w)
{
    struct list due; /* what callbacks make overdue is for the next call */
    list_init(&due);
    list_splice_back(&due, &w->overdue);
    while (!list_empty(&due))
        fire(w, timer_of(due.next));
}

static void fire_near(struct wheel *w)
{
    while (!list_empty(&w->near) && timer_of(w->near.next)->when <= w->now)
        fire(w, timer_of(w->near.next));
}

/* n * part / whole, rounded down; part <= whole, whole > 0. */
static uint64_t share(uint32_t n, uint64_t part, uint64_t whole)
{
    while (whole > UINT32_MAX) {
        whole >>= 8;
        part >>= 8;
    }
    return n * part / whole;
}

/*
 * Thins out the slots that base will enter next. A crowded one loses the share of its timers that
 * the time passed since `before` is of what was then left until its entry, and so is down to a few
 * when that comes. The level below reaches over all of it.
 */
static void thin_out(struct wheel *w, tick_t before)
{
    for (uint32_t levels = w->levels & ~UINT32_C(1); levels; levels &= levels - 1) {
        unsigned level = lowest_level(levels);
        uint64_t number = number_of(w->base, level) + 1;
        unsigned slot = slot_of(number);
        uint32_t count = w->count[level][slot];
        if (count <= CROWD)
            continue;
        tick_t entry = number << width_bits(level);
        for (uint64_t n = share(count, w->now - before, entry - before); n > 0; n--) {
            struct timer *t = timer_of(w->slot[level][slot].next);
            withdraw(w, t);
            enter_slot(w, t, level_for(w, t->when));
        }
        __builtin_prefetch(w->slot[level][slot].next); /* the next call's first */
    }
}

void wheel_expire(struct wheel *w, tick_t now)
{
    assert(!w->expiring && "a callback does not call wheel_expire");
    tick_t before = w->now;
    w->expiring = true;
    if (now > w->now)
        w->now = now;
    fire_overdue(w);
    do
        fire_near(w);
    while (advance(w));
    thin_out(w, before);
    w->expiring = false;
    invariant(wheel_ok(w));
}
