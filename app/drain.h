/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_DRAIN_H
#define MILLRACE_APP_DRAIN_H

/*
 * HTTP connections that are to end in order: those there are, for clients to come anew, or all
 * before the appliance stops. What asks for it is in app/runtime.h: runtime_drain.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "stack/stack.h"

struct runtime;

struct drain {
    _Atomic tick_t stop_by; /* workers end all by then, new ones too; 0: they do not */
    bool on;                /* one is under way, and what follows is valid */
    tick_t until;           /* those that are left end */
    tick_t look_at;         /* whether there are any */
};

/* The appliance is to stop at its end. Any thread. */
bool drain_stops(const struct runtime *rt);
/* HTTP connections, whether told or not. Any thread. */
uint64_t drain_connections(const struct runtime *rt);
/* Looks how far it is, now and then. True: now the appliance is to stop. Control thread only. */
bool drain_look(struct runtime *rt);

#endif
