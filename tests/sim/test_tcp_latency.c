/* SPDX-License-Identifier: BSD-3-Clause */
/* How long small exchanges take, by loss: what a user of a shell or of a small service waits for.
 */
#include <stdlib.h>

#include "sim/delay.h"
#include "sim/loss.h"
#include "sim/plan.h"
#include "sim/run.h"
#include "sim/table.h"
#include "sim/talk.h"

#define RTT       (20 * TICK_MS)
#define SIZE      64
#define EXCHANGES (SIM_SLOW ? 500u : 5000u)

static tick_t took[5000];
static unsigned n_took;
static tick_t asked;

/* The client has its answer, and asks again at once. */
static void answered(struct talk_end *e)
{
    if (e != e->talk->end || e->got % SIZE != 0)
        return;
    tick_t now = e->host->node.sim->now;
    took[n_took++] = now - asked;
    asked = now;
}

static int by_time(const void *a, const void *b)
{
    tick_t x = *(const tick_t *)a, y = *(const tick_t *)b;
    return x < y ? -1 : x > y;
}

static struct sim_host *add_host(struct sim *s, unsigned n)
{
    struct sim_host_config c = plan_host(n);
    talks_listen(&c);
    return sim_host_create(s, &c);
}

/* Fills took, sorted. */
static void measure(uint32_t loss)
{
    struct sim s;
    sim_init(&s, run_seed(loss));
    struct sim_host *client = add_host(&s, 1), *server = add_host(&s, 2);
    struct loss *line = loss_create(&s, 0);
    node_chain((struct node *[]){&client->node, &line->node, delay_create(&s, RTT / 2, 0),
                                 &server->node, NULL});
    struct talks *talks = talks_create(&s);
    talks->progress = answered;
    sim_run(&s, 5 * TICK_SEC);
    uint64_t bytes = (uint64_t)SIZE * EXCHANGES;
    struct talk_plan p = {.way = {{.bytes = bytes, .ask = SIZE, .answer = SIZE},
                                  {.bytes = bytes, .ask = SIZE, .answer = SIZE}}};
    struct talk *k = talk_open(talks, client, server, &p);
    while (!k->end[0].opened)
        sim_run(&s, TICK_MS);
    line->millionths = loss;
    n_took = 0;
    asked = k->end[0].opened_at;
    for (unsigned i = 0; i < 3600 && !talk_is_over(k); i++)
        sim_run(&s, TICK_SEC);
    must(talk_is_over(k) && n_took == EXCHANGES);
    qsort(took, n_took, sizeof(took[0]), by_time);
    sim_fini(&s);
}

static double ms(tick_t t)
{
    return (double)t / (double)TICK_MS;
}

static double mean(void)
{
    double sum = 0;
    for (unsigned i = 0; i < n_took; i++)
        sum += ms(took[i]);
    return sum / n_took;
}

START_TEST(small_exchanges)
{
    static const uint32_t losses[] = {0, 1000, 10000, 30000, 100000};
    static struct table t;
    table_print(&t,
                "Milliseconds from a question of %u bytes to its answer of as many, one after the "
                "other; round trip %.0f ms.\n\n",
                SIZE, ms(RTT));
    table_print(&t, "  loss      mean    half     95 %%     99 %%     most\n");
    for (unsigned i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
        measure(losses[i]);
        tick_t half = took[n_took / 2], most = took[n_took - 1];
        table_print(&t, "%5.1f %% %8.2f %7.2f %8.2f %8.2f %8.2f\n", losses[i] / 10000.0, mean(),
                    ms(half), ms(took[n_took * 95 / 100]), ms(took[n_took * 99 / 100]), ms(most));
        /* Nothing waits for a delayed ACK or Nagle. */
        ck_assert_uint_eq(half, RTT);
        if (losses[i] == 0)
            ck_assert_uint_eq(most, RTT);
        /* A loss costs a timeout of 200 ms or little more, now and then two. */
        ck_assert_double_le(mean(), ms(RTT) + 2.5 * losses[i] / 1e6 * 300 + (SIM_SLOW ? 3 : 0.01));
    }
    if (!SIM_SLOW)
        run_golden("tcp_latency.txt", t.text);
}
END_TEST

SIM_MAIN("tcp_latency", small_exchanges)
