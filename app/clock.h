/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CLOCK_H
#define MILLRACE_APP_CLOCK_H

/*
 * Ticks from the time stamp counter: tick = cycles * mult / 2^CLOCK_SHIFT in 128 bits, counted from
 * the moment the clock was set. One multiplication, no drift from rounding in between, and
 * monotonic where the counter is.
 */

#include <stdint.h>

#include "stack/stack.h"

#define CLOCK_SHIFT 32

struct clock {
    uint64_t start; /* TSC at tick 0 */
    uint64_t hz;
    uint64_t mult; /* nanoseconds in a cycle, in units of 2^-CLOCK_SHIFT */
};

static inline void clock_set(struct clock *c, uint64_t tsc, uint64_t hz)
{
    c->start = tsc;
    c->hz = hz;
    c->mult = (uint64_t)(((unsigned __int128)TICK_SEC << CLOCK_SHIFT) / hz);
}

/* Counters of two cores may differ by a few cycles: what lies before tick 0 is tick 0. */
static inline tick_t clock_tick(const struct clock *c, uint64_t tsc)
{
    if (tsc < c->start)
        return 0;
    return (tick_t)(((unsigned __int128)(tsc - c->start) * c->mult) >> CLOCK_SHIFT);
}

#endif
