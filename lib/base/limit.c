/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/limit.h"

#include <assert.h>

/* A nanosecond earns `rate` units of the TICK_SEC that make a token, so nothing is ever rounded. */

static uint64_t limit_full(const struct limit *l)
{
    return l->burst * TICK_SEC; /* < 2^62 */
}

static void limit_earn(struct limit *l, tick_t now)
{
    uint64_t room = limit_full(l) - l->credit;
    tick_t passed = tick_since(now, l->counted);
    l->counted += passed;
    if (l->rate == 0)
        return;
    l->credit += passed > room / l->rate ? room : passed * l->rate;
    assert(l->credit <= limit_full(l) && "passed * rate <= room");
}

void limit_init(struct limit *l, uint32_t rate, uint32_t burst, tick_t now)
{
    *l = (struct limit){.rate = rate, .burst = burst, .counted = now};
    l->credit = limit_full(l);
}

void limit_change(struct limit *l, uint32_t rate, uint32_t burst, tick_t now)
{
    limit_earn(l, now);
    l->rate = rate;
    l->burst = burst;
    if (l->credit > limit_full(l))
        l->credit = limit_full(l);
}

bool limit_take_n(struct limit *l, uint32_t n, tick_t now)
{
    limit_earn(l, now);
    if (l->credit < n * TICK_SEC)
        return false;
    l->credit -= n * TICK_SEC;
    return true;
}

bool limit_take(struct limit *l, tick_t now)
{
    return limit_take_n(l, 1, now);
}

uint32_t limit_left(const struct limit *l)
{
    return (uint32_t)(l->credit / TICK_SEC);
}
