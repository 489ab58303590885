/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_WHEEL_MODEL_H
#define MILLRACE_TESTS_WHEEL_MODEL_H

/*
 * Drives a wheel by bytes, from a random generator or a fuzzer, beside a plain array of what is
 * armed, and asserts that the two agree: on who fires, when, in which order, on what is armed, and
 * on the next deadline.
 */

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/wheel.h"

#define MODEL_TIMERS 80

struct wheel_model {
    struct wheel wheel;
    struct reader in; /* zeroes when it has run out */
    tick_t now;
    unsigned reach;  /* log2 of the distance of most, so that slots get crowded */
    uint64_t arming; /* counts arms */
    uint32_t fired;
    bool moved; /* a timer was cancelled or re-armed since the wheel was last empty */
    struct model_timer {
        struct timer timer;
        struct wheel_model *model;
        tick_t when;
        uint64_t order; /* of arming */
        bool armed;
        bool overdue;
        bool due; /* to fire in the expire at work */
    } timer[MODEL_TIMERS];
};

static inline struct model_timer *model_pick(struct wheel_model *m)
{
    return &m->timer[reader_u8(&m->in) % MODEL_TIMERS];
}

/* A time at any distance from now, mostly after it, often the same as another's. */
static inline tick_t model_when(struct wheel_model *m)
{
    uint8_t how = reader_u8(&m->in);
    unsigned shift = how & 3 ? m->reach : how % 60;
    tick_t distance = (tick_t)reader_u8(&m->in) << shift >> (how >> 2 & 3);
    if (how >= 250)
        return TICK_NEVER - (how - 250);
    if (how >= 235)
        return tick_since(m->now, distance);
    if (how >= 200)
        return model_pick(m)->when;
    return tick_after(m->now, distance);
}

static inline void model_arm(struct wheel_model *m, struct model_timer *t, tick_t when)
{
    m->moved |= t->armed;
    wheel_arm(&m->wheel, &t->timer, when);
    t->armed = when != TICK_NEVER;
    t->when = when;
    t->order = m->arming++;
    t->overdue = when <= m->now;
    t->due = false;
}

static inline void model_cancel(struct wheel_model *m, struct model_timer *t)
{
    m->moved |= t->armed;
    wheel_cancel(&m->wheel, &t->timer);
    t->armed = t->due = false;
}

static inline bool model_before(const struct model_timer *a, const struct model_timer *b)
{
    if (a->overdue != b->overdue)
        return a->overdue;
    if (!a->overdue && a->when != b->when)
        return a->when < b->when;
    return a->order < b->order;
}

static inline struct model_timer *model_first_due(struct wheel_model *m)
{
    struct model_timer *first = NULL;
    for (int i = 0; i < MODEL_TIMERS; i++) {
        struct model_timer *t = &m->timer[i];
        if (t->due && (!first || model_before(t, first)))
            first = t;
    }
    return first;
}

static inline void model_act(struct wheel_model *m)
{
    struct model_timer *t = model_pick(m);
    if (reader_u8(&m->in) & 3)
        model_arm(m, t, model_when(m));
    else
        model_cancel(m, t);
}

static inline void model_fire(struct timer *timer, tick_t now)
{
    struct model_timer *t = container_of(timer, struct model_timer, timer);
    struct wheel_model *m = t->model;
    assert(now == m->now && "the callback is told the time of the expire");
    assert(t == model_first_due(m) && "timers fire in order, and only those due");
    assert(!timer_armed(timer));
    t->armed = t->due = false;
    m->fired++;
    if (m->arming < 100000) {
        for (unsigned acts = reader_u8(&m->in) % 4; acts > 0; acts--)
            model_act(m);
    }
}

static inline void model_expire(struct wheel_model *m, tick_t now)
{
    if (now > m->now)
        m->now = now;
    for (int i = 0; i < MODEL_TIMERS; i++) {
        struct model_timer *t = &m->timer[i];
        t->due = t->armed && t->when <= m->now;
    }
    wheel_expire(&m->wheel, now);
    assert(!model_first_due(m) && "all that was due has fired");
}

/* When the wheel should say it is to be called. */
static inline tick_t model_next(const struct wheel_model *m)
{
    tick_t next = TICK_NEVER;
    for (int i = 0; i < MODEL_TIMERS; i++) {
        const struct model_timer *t = &m->timer[i];
        if (t->armed)
            next = tick_min(next, t->overdue ? m->now : t->when);
    }
    return next;
}

static inline void model_check(struct wheel_model *m)
{
    uint64_t armed = 0;
    for (int i = 0; i < MODEL_TIMERS; i++) {
        const struct model_timer *t = &m->timer[i];
        assert(timer_armed(&t->timer) == t->armed);
        assert(!t->armed || t->timer.when == t->when);
        armed += t->armed;
    }
    assert(m->wheel.armed == armed);
    m->moved &= armed > 0;
    tick_t next = wheel_next(&m->wheel);
    assert(next >= m->now && next <= model_next(m));
    if (!m->moved)
        assert(next == model_next(m) && "exact unless something was cancelled or moved");
}

/* Sleeps as the wheel says until something fires. Each early call opens a slot at least. */
static inline void model_sleep(struct wheel_model *m)
{
    uint32_t fired = m->fired;
    for (unsigned woken = 0; m->wheel.armed > 0 && m->fired == fired; woken++) {
        assert(woken <= WHEEL_LEVELS * MODEL_TIMERS && "each early call opens a slot");
        model_expire(m, wheel_next(&m->wheel));
    }
}

static inline void model_step(struct wheel_model *m)
{
    switch (reader_u8(&m->in) % 8) {
    case 0:
    case 1: model_expire(m, model_when(m)); break;
    case 2: model_expire(m, m->now + reader_u8(&m->in)); break;
    case 3: model_sleep(m); break;
    default: model_act(m); break;
    }
    model_check(m);
}

/* Returns how many timers fired. */
static inline uint32_t wheel_model_run(const uint8_t *bytes, size_t len)
{
    struct wheel_model m = {.in = reader_of(bytes, len)};
    m.now = reader_u64(&m.in) >> (reader_u8(&m.in) & 63);
    m.reach = reader_u8(&m.in) % 56;
    wheel_init(&m.wheel, m.now);
    for (int i = 0; i < MODEL_TIMERS; i++) {
        m.timer[i].model = &m;
        timer_init(&m.timer[i].timer, model_fire);
    }
    while (reader_left(&m.in) > 0)
        model_step(&m);
    return m.fired;
}

#endif
