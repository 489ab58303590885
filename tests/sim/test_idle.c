/* SPDX-License-Identifier: BSD-3-Clause */
/* Hours with little or nothing to do: stacks then do little or nothing. */
#include "sim/capture.h"
#include "sim/delay.h"
#include "sim/lan.h"
#include "sim/plan.h"
#include "sim/run.h"

#define HOSTS  8
#define PINGER 100
#define HOUR   (3600 * TICK_SEC)

static struct sim s;
static struct sim_host *host[HOSTS];
static struct pinger *pinger;
static struct capture *line; /* the pinger's */

static void build(void)
{
    sim_init(&s, run_seed(1));
    struct lan *lan = lan_create(&s);
    for (unsigned i = 0; i < HOSTS; i++) {
        struct sim_host_config config = plan_host(i + 1);
        config.n_workers = (uint16_t)(1 + i % 2);
        host[i] = sim_host_create(&s, &config);
        node_chain(
            (struct node *[]){&lan->node, delay_create(&s, TICK_MS, 0), &host[i]->node, NULL});
    }
    struct pinger_config config = plan_pinger(PINGER);
    pinger = pinger_create(&s, &config);
    line = capture_create(&s, run_capture());
    node_chain((struct node *[]){&lan->node, &line->node, &pinger->node, NULL});
}

static uint64_t expires(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < HOSTS; i++)
        sum += sim_host_expires(host[i]);
    return sum;
}

START_TEST(a_day_without_a_packet)
{
    build();
    sim_run(&s, 10 * TICK_SEC);
    /* Two addresses to try, two announcements, a few reports, of up to two stacks each. */
    ck_assert_uint_le(expires(), HOSTS * 2 * 20);
    uint64_t before = expires();
    uint64_t steps = s.steps;
    sim_run(&s, 24 * HOUR);
    ck_assert_uint_eq(expires(), before);
    ck_assert_uint_eq(s.steps, steps);
    for (unsigned i = 0; i < HOSTS; i++)
        for (unsigned w = 0; w < host[i]->n_workers; w++)
            ck_assert_uint_eq(stack_deadline(host[i]->worker[w].stack), TICK_NEVER);
    sim_fini(&s);
}
END_TEST

/* A ping a minute to each: a minute is longer than a neighbour stays reachable, so each has to be
 * confirmed anew, and no more than that. */
START_TEST(twelve_hours_of_a_ping_a_minute)
{
    enum { MINUTES = 12 * 60 };
    build();
    sim_run(&s, 10 * TICK_SEC);
    uint64_t expired = expires();
    uint64_t frames = line->frames[0] + line->frames[1];
    for (unsigned m = 0; m < MINUTES; m++) {
        for (unsigned i = 0; i < HOSTS; i++) {
            struct ip_addr to = plan_addr(i + 1, m);
            pinger_ping(pinger, &to, 100);
        }
        sim_run(&s, 60 * TICK_SEC);
    }
    ck_assert_uint_eq(pinger->replies, MINUTES * HOSTS);
    ck_assert_uint_eq(pinger->duplicates, 0);
    /* DELAY and REACHABLE end once a ping. */
    ck_assert_uint_le(expires() - expired, MINUTES * HOSTS * 4);
    /* Request, reply, and a question with its answer. */
    ck_assert_uint_le(line->frames[0] + line->frames[1] - frames, MINUTES * HOSTS * 4 + HOSTS * 8);
    /* And then all is silent. */
    sim_run(&s, 100 * TICK_SEC);
    uint64_t steps = s.steps;
    sim_run(&s, 24 * HOUR);
    ck_assert_uint_eq(s.steps, steps);
    sim_fini(&s);
}
END_TEST

SIM_MAIN("idle", a_day_without_a_packet, twelve_hours_of_a_ping_a_minute)
