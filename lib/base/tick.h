/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_TICK_H
#define MILLRACE_BASE_TICK_H

/*
 * Time as an argument. A tick is one nanosecond since an arbitrary start that the caller chose; 64
 * bits last 584 years, so ticks are compared with plain < and never wrap. Nothing under lib/ reads
 * a clock.
 */

#include <stdint.h>

typedef uint64_t tick_t;

#define TICK_NEVER UINT64_MAX /* later than every other tick */
#define TICK_US    UINT64_C(1000)
#define TICK_MS    UINT64_C(1000000)
#define TICK_SEC   UINT64_C(1000000000)

/* now + delay, or TICK_NEVER where that would pass it. */
static inline tick_t tick_after(tick_t now, tick_t delay)
{
    return delay > TICK_NEVER - now ? TICK_NEVER : now + delay;
}

/* Time from then to now; 0 where then lies in the future. */
static inline tick_t tick_since(tick_t now, tick_t then)
{
    return now > then ? now - then : 0;
}

static inline tick_t tick_min(tick_t a, tick_t b)
{
    return a < b ? a : b;
}

#endif
