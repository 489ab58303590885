/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/watchdog.h"

#include "app/log.h"

#define LOOK_MAX (500 * TICK_MS) /* between two looks, as far as it counts */

bool watchdog_look(struct watchdog *d, unsigned worker, uint64_t turns, tick_t limit, tick_t now)
{
    bool was = atomic_load(&d->stuck);
    tick_t stalled = atomic_load(&d->stalled);
    stalled += tick_min(tick_since(now, d->looked), LOOK_MAX);
    d->looked = now;
    if (turns != d->turns) {
        if (was)
            log_warning("worker %u moves again after %llu ms", worker,
                        (unsigned long long)(stalled / TICK_MS));
        d->turns = turns;
        stalled = 0;
    }
    bool stuck = limit > 0 && stalled >= limit;
    if (stuck && !was)
        log_error("worker %u has stood still for %llu ms; is something else running on its core?",
                  worker, (unsigned long long)(stalled / TICK_MS));
    atomic_store(&d->stalled, stalled);
    atomic_store(&d->stuck, stuck);
    return !stuck;
}
