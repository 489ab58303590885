/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_SIM_H
#define MILLRACE_SIM_SIM_H

/*
 * A network in virtual time. Whole stacks (sim/host.h) and scripted hosts (sim/pinger.h) are joined
 * by nodes (sim/node.h) that delay, lose, double, reorder and spoil frames. All that is random
 * comes from one seed, so that a run can be repeated to the bit.
 *
 *     struct sim s;
 *     sim_init(&s, seed);
 *     ... create nodes, link them ...
 *     sim_run(&s, 10 * TICK_SEC);
 *     sim_fini(&s);
 *
 * Failures are Check's; what fails between sim_init and sim_fini is reported with the seed and the
 * command that repeats it (sim/run.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/rng.h"
#include "base/tick.h"
#include "base/wheel.h"
#include "support/heap.h"

/* Virtual time at the start: not 0, which some code might take for "never". */
#define SIM_START (3600 * TICK_SEC)

/* A probability in millionths. */
#define SIM_ALWAYS  1000000u
#define SIM_PERCENT 10000u

struct sim {
    tick_t now;
    uint64_t seed;
    struct rng rng;
    struct wheel wheel;    /* the event queue: each event is a timer */
    struct heap heap;      /* nodes, and events that carry frames */
    struct heap_pool wire; /* frames on their way: one view each, with nothing around it */
    struct list nodes;     /* in order of creation */
    struct list transits;
    uint64_t steps;        /* times that time moved, or more was due at the same time */
    uint32_t steps_at_now; /* of these, at one time */
};

void sim_init(struct sim *s, uint64_t seed);
/* Destroys the nodes and frees frames on their way, then checks that nothing is held. */
void sim_fini(struct sim *s);

/* All events of the next `length`, its end included. */
void sim_run(struct sim *s, tick_t length);

bool sim_chance(struct sim *s, uint32_t millionths);
/* Uniform in [low, high]. */
uint64_t sim_between(struct sim *s, uint64_t low, uint64_t high);

#endif
