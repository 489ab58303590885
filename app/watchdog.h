/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_WATCHDOG_H
#define MILLRACE_APP_WATCHDOG_H

/*
 * Watches the workers' heartbeat, their count of turns. One that has not moved for limit is stuck:
 * said once in the log, and once more when it moves again. Time in which the control thread itself
 * did not look, for it was stopped or the whole machine was, counts as one look only. Written by
 * the control thread, read by any.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "stack/stack.h"

struct watchdog {
    uint64_t turns; /* as last seen */
    tick_t looked;  /* last */
    _Atomic tick_t stalled;
    _Atomic bool stuck;
};

/* Looks at one worker; limit 0: off. Returns whether it is in order. */
bool watchdog_look(struct watchdog *d, unsigned worker, uint64_t turns, tick_t limit, tick_t now);

#endif
