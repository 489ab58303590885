/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_TUNNELS_H
#define MILLRACE_APP_TUNNELS_H

/*
 * A worker's tunnels (service/connect.h), and what they need of the rest: connections of its stack,
 * answers of the control core, its counters and its log.
 */

#include <stdbool.h>

#include "app/questions.h"
#include "ctl/request.h"
#include "service/connect.h"

struct worker;

struct tunnels {
    struct connect *connect;     /* the worker's own */
    struct questions *questions; /* set up by the control thread before the worker runs */
    uint32_t max;                /* 0: the service's own bound */
};

/* On the worker, before its stack is made. False: no memory. */
bool tunnels_start(struct worker *w, tick_t now);
/* After its stack is no more. */
void tunnels_stop(struct worker *w);

/* Hears answers and fires timers. Returns how much was done. */
unsigned tunnels_turn(struct worker *w, tick_t now);
tick_t tunnels_deadline(const struct worker *w);

/* Answers r where it is about tunnels. False: it is not. */
bool tunnels_control(struct worker *w, struct ctl_request *r);

#endif
