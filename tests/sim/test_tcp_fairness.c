/* SPDX-License-Identifier: BSD-3-Clause */
/* Two connections share a bottleneck: how evenly, by Jain's index (Jain, Chiu and Hawe, 1984),
 * which is 1 where both get the same and 1/2 where one gets all. */
#include "sim/bottleneck.h"
#include "sim/delay.h"
#include "sim/lan.h"
#include "sim/plan.h"
#include "sim/run.h"
#include "sim/table.h"
#include "sim/talk.h"

#define MBIT    20
#define SERVER  10
#define SETTLE  (30 * TICK_SEC)      /* from the second one's start on */
#define MEASURE (SIM_SLOW ? 20 : 60) /* seconds */

struct flow {
    enum tcp_congestion congestion;
    unsigned rtt; /* ms */
};

struct pair {
    struct flow flow[2];
    unsigned queue; /* ms of the line's rate */
};

struct outcome {
    double mbit[2];
    double jain;
};

static struct sim_host *add_host(struct sim *s, unsigned n, enum tcp_congestion congestion)
{
    struct sim_host_config c = plan_host(n);
    c.tcp = (struct tcp_settings){.congestion = congestion};
    talks_listen(&c);
    return sim_host_create(s, &c);
}

static double jain(double a, double b)
{
    return (a + b) * (a + b) / (2 * (a * a + b * b));
}

static struct outcome measure(const struct pair *p)
{
    struct sim s;
    sim_init(&s, run_seed(p->flow[0].rtt * 1000 + p->flow[1].rtt));
    struct sim_host *server = add_host(&s, SERVER, TCP_CUBIC);
    struct lan *lan = lan_create(&s);
    node_chain((struct node *[]){
        &lan->node, &bottleneck_create(&s, MBIT * 1000000, (uint64_t)p->queue * MBIT * 125)->node,
        &server->node, NULL});
    struct sim_host *client[2];
    for (unsigned i = 0; i < 2; i++) {
        client[i] = add_host(&s, i + 1, p->flow[i].congestion);
        node_chain((struct node *[]){
            &client[i]->node, delay_create(&s, p->flow[i].rtt * TICK_MS / 2, 0), &lan->node, NULL});
    }
    struct talks *talks = talks_create(&s);
    sim_run(&s, 5 * TICK_SEC);
    struct talk *k[2];
    for (unsigned i = 0; i < 2; i++) {
        struct talk_plan plan = {.way = {{.bytes = UINT64_C(1) << 40, .chunk = 1 << 20}, {0}}};
        k[i] = talk_open(talks, client[i], server, &plan);
        sim_run(&s, 10 * TICK_SEC);
    }
    sim_run(&s, SETTLE);
    uint64_t before[2] = {k[0]->end[1].got, k[1]->end[1].got};
    sim_run(&s, MEASURE * TICK_SEC);
    struct outcome o;
    for (unsigned i = 0; i < 2; i++)
        o.mbit[i] = (double)(k[i]->end[1].got - before[i]) * 8 / 1e6 / MEASURE;
    o.jain = jain(o.mbit[0], o.mbit[1]);
    talks_forget(talks, server);
    talks_forget(talks, client[0]);
    talks_forget(talks, client[1]);
    sim_fini(&s);
    return o;
}

START_TEST(two_flows_share_a_bottleneck)
{
    static const struct pair pairs[] = {
        {{{TCP_CUBIC, 40}, {TCP_CUBIC, 40}}, 40},     {{{TCP_CUBIC, 40}, {TCP_CUBIC, 160}}, 40},
        {{{TCP_NEWRENO, 40}, {TCP_NEWRENO, 40}}, 40}, {{{TCP_NEWRENO, 40}, {TCP_NEWRENO, 160}}, 40},
        {{{TCP_CUBIC, 40}, {TCP_NEWRENO, 40}}, 40},   {{{TCP_NEWRENO, 40}, {TCP_CUBIC, 40}}, 40},
        {{{TCP_CUBIC, 10}, {TCP_NEWRENO, 10}}, 10},   {{{TCP_CUBIC, 10}, {TCP_CUBIC, 10}}, 100},
    };
    /* Equal ones share equally; CUBIC takes no more than its due where Reno does well (RFC 9438
     * 3.2), and the longer way gets less. */
    static const double least[] = {0.9, 0.55, 0.9, 0.55, 0.7, 0.7, 0.7, 0.9};
    static struct table t;
    table_print(&t, "Two connections over %u Mbit/s, the second 10 s later; Mbit/s after 30 s.\n\n",
                MBIT);
    table_print(&t, "first      ms  second     ms  queue      first  second    sum   Jain\n");
    for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const struct pair *p = &pairs[i];
        struct outcome o = measure(p);
        table_print(&t, "%-8s %4u  %-8s %4u  %3u ms  %9.2f %7.2f %6.2f  %.3f\n",
                    tcp_congestion_name(p->flow[0].congestion), p->flow[0].rtt,
                    tcp_congestion_name(p->flow[1].congestion), p->flow[1].rtt, p->queue, o.mbit[0],
                    o.mbit[1], o.mbit[0] + o.mbit[1], o.jain);
        ck_assert_msg(o.mbit[0] + o.mbit[1] > 0.9 * MBIT, "pair %u: the line is not filled: %.2f",
                      i, o.mbit[0] + o.mbit[1]);
        ck_assert_msg(o.jain >= least[i], "pair %u: Jain's index is %.3f (%.2f and %.2f)", i,
                      o.jain, o.mbit[0], o.mbit[1]);
        if (SIM_SLOW)
            break;
    }
    if (!SIM_SLOW)
        run_golden("tcp_fairness.txt", t.text);
}
END_TEST

SIM_MAIN("tcp_fairness", two_flows_share_a_bottleneck)
