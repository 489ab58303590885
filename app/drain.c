/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/drain.h"

#include <stdio.h>

#include "app/engine.h"
#include "app/log.h"
#include "app/notify.h"

#define LOOK_STOP (50 * TICK_MS)
#define LOOK      TICK_SEC /* where workers are asked */
#define ANSWER_MS 100
#define TOLD      512 /* connections told at once: some hundred microseconds of a worker's time */
#define ROWS      32  /* connections asked for at once, */
#define PAGES     64  /* so many times, in search of one that is to be waited for */

bool drain_stops(const struct runtime *rt)
{
    return atomic_load(&rt->drain.stop_by) != 0;
}

uint64_t drain_connections(const struct runtime *rt)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < rt->n_workers; i++) {
        const struct counters *k = &rt->worker[i].counters;
        uint64_t closed = counter_get(k, COUNTER_H2_CLOSED); /* first: n is never less than 0 */
        n += counter_get(k, COUNTER_H2_OPENED) - closed;
    }
    return n;
}

/* ---- beginning ---- */

static int tell(struct runtime *rt, unsigned worker, tick_t patience)
{
    struct ctl_request r = {.kind = CTL_SESSIONS_SHUTDOWN, .max = TOLD, .patience = patience};
    int error = 0;
    do
        error = runtime_control(rt, worker, &r, ANSWER_MS);
    while (!error && r.more);
    return error;
}

/* All that answer are told, though one does not. */
static int tell_all(struct runtime *rt, tick_t patience)
{
    int first = 0;
    for (unsigned w = 0; w < rt->n_workers; w++) {
        int error = tell(rt, w, patience);
        if (error && !first)
            first = error;
    }
    return first;
}

int runtime_drain(struct runtime *rt, bool stop, tick_t patience)
{
    struct drain *d = &rt->drain;
    tick_t now = engine_now(rt);
    if (!stop && drain_stops(rt))
        return RUNTIME_E_REFUSED;
    if (patience == TICK_NEVER)
        patience = rt->config->http2.drain_timeout;
    d->on = true;
    d->until = tick_after(now, patience);
    d->look_at = now;
    if (!stop)
        return tell_all(rt, patience);
    log_notice("stopping when HTTP connections (%llu) have ended, or in %llu seconds",
               (unsigned long long)drain_connections(rt),
               (unsigned long long)(patience / TICK_SEC));
    atomic_store(&d->stop_by, d->until);
    notify_stopping(patience);
    return 0;
}

/* ---- how far it is ---- */

/* Those that were told and have not ended. A worker that does not answer has none. */
static uint64_t told(struct runtime *rt)
{
    uint64_t n = 0;
    for (unsigned w = 0; w < rt->n_workers; w++) {
        struct ctl_request r = {.kind = CTL_SESSIONS_SHUTDOWN};
        if (runtime_control(rt, w, &r, ANSWER_MS) == 0)
            n += r.n;
    }
    return n;
}

void runtime_draining(struct runtime *rt, struct runtime_draining *to)
{
    const struct drain *d = &rt->drain;
    tick_t now = engine_now(rt);
    *to = (struct runtime_draining){.on = d->on, .stop = drain_stops(rt)};
    if (!d->on)
        return;
    to->connections = to->stop ? drain_connections(rt) : told(rt);
    to->left = now < d->until ? d->until - now : 0;
}

/* Whether connections of a listener have bytes that the other side has not acknowledged. A worker
 * that does not answer has none that could be waited for. */
static bool sends(struct runtime *rt, unsigned worker, const char *listener)
{
    struct ctl_connection row[ROWS];
    struct ctl_request r = {.kind = CTL_CONNECTIONS, .rows.connection = row, .max = ROWS};
    snprintf(r.filter.listener, sizeof(r.filter.listener), "%s", listener);
    for (unsigned page = 0; page < PAGES; page++) {
        if (runtime_control(rt, worker, &r, ANSWER_MS) != 0)
            return false;
        for (uint32_t i = 0; i < r.n; i++)
            if (row[i].unsent > 0 || row[i].in_flight > 0)
                return true;
        if (!r.more)
            return false;
    }
    return true;
}

/* A connection of HTTP/2 is over when all its bytes are TCP's, which may still be sending them. */
static bool sending(struct runtime *rt)
{
    const struct config *c = rt->config;
    for (unsigned w = 0; w < rt->n_workers; w++)
        for (unsigned i = 0; i < c->n_listeners; i++)
            if (c->listener[i].carrier != STACK_CARRIER_TCP && sends(rt, w, c->listener[i].name))
                return true;
    return false;
}

static bool look_at_stop(struct runtime *rt, bool late)
{
    uint64_t n = drain_connections(rt);
    if (late && n > 0)
        log_notice("HTTP connections that have not ended: %llu", (unsigned long long)n);
    return late || (n == 0 && !sending(rt));
}

/* At its end workers have ended those that were left, or are about to. */
static void look_at_told(struct runtime *rt, bool late)
{
    uint64_t n = told(rt);
    rt->drain.on = n > 0 && !late;
    if (rt->drain.on) {
        notify_draining(n);
        return;
    }
    log_notice("HTTP connections are drained");
    notify_ready();
}

bool drain_look(struct runtime *rt)
{
    struct drain *d = &rt->drain;
    tick_t now = engine_now(rt);
    if (!d->on || now < d->look_at)
        return false;
    d->look_at = tick_after(now, drain_stops(rt) ? LOOK_STOP : LOOK);
    if (drain_stops(rt))
        return look_at_stop(rt, now >= d->until);
    look_at_told(rt, now >= tick_after(d->until, LOOK));
    return false;
}
