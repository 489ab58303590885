/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/sim.h"

#include "sim/node.h"
#include "sim/run.h"

/* More steps than any crowd of events at one time needs: somebody arms a timer for now, again and
 * again. */
#define STEPS_AT_ONE_TIME_MAX 100000

void sim_init(struct sim *s, uint64_t seed)
{
    *s = (struct sim){.now = SIM_START, .seed = seed};
    run_begins(seed);
    rng_seed(&s->rng, seed);
    wheel_init(&s->wheel, s->now);
    heap_init(&s->heap);
    heap_pool_init(&s->wire, 0, 0);
    list_init(&s->nodes);
    list_init(&s->transits);
}

void sim_fini(struct sim *s)
{
    transits_free(s);
    while (!list_empty(&s->nodes))
        node_destroy(container_of(list_last(&s->nodes), struct node, in_sim));
    must(s->wire.held == 0);
    must(s->heap.blocks == 0);
    must(wheel_next(&s->wheel) == TICK_NEVER);
    run_ends();
}

static void step(struct sim *s, tick_t when)
{
    s->steps++;
    if (when > s->now)
        s->steps_at_now = 0;
    else
        must_msg(++s->steps_at_now < STEPS_AT_ONE_TIME_MAX, "time stands still");
    s->now = when > s->now ? when : s->now;
    wheel_expire(&s->wheel, s->now);
}

void sim_run(struct sim *s, tick_t length)
{
    tick_t end = tick_after(s->now, length);
    for (;;) {
        tick_t next = wheel_next(&s->wheel);
        if (next > end || next == TICK_NEVER)
            break;
        step(s, next);
    }
    s->now = end;
}

bool sim_chance(struct sim *s, uint32_t millionths)
{
    return millionths > 0 && rng_below(&s->rng, SIM_ALWAYS) < millionths;
}

uint64_t sim_between(struct sim *s, uint64_t low, uint64_t high)
{
    return low + rng_below(&s->rng, high - low + 1);
}
