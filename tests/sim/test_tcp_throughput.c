/* SPDX-License-Identifier: BSD-3-Clause */
/* What one connection makes of a line, by loss, round trip and bandwidth, for each congestion
 * control: tables to be compared with the committed ones, and with what arithmetic says. */
#include <math.h>

#include "sim/bottleneck.h"
#include "sim/capture.h"
#include "sim/delay.h"
#include "sim/loss.h"
#include "sim/plan.h"
#include "sim/run.h"
#include "sim/table.h"
#include "sim/talk.h"

#define MSS 1448.0 /* with timestamps */

static const unsigned mbits[] = {10, 100, 1000};
static const unsigned seconds[] = {SIM_SLOW ? 5 : 20, 8, 3};   /* that each is measured for */
static const unsigned rtts[] = {1, 10, 50, 200};               /* ms */
static const unsigned losses[] = {0, 100, 1000, 10000, 30000}; /* millionths */

#define N(array) (sizeof(array) / sizeof(array[0]))

struct line {
    enum tcp_congestion congestion;
    unsigned mbit;
    unsigned rtt;
    unsigned loss;
    unsigned seconds;
    bool acks_only; /* nothing else is lost */
};

static struct sim_host *add_host(struct sim *s, unsigned n, enum tcp_congestion congestion)
{
    struct sim_host_config c = plan_host(n);
    c.tcp = (struct tcp_settings){
        .congestion = congestion, .receive_buffer_max = 64 << 20, .send_buffer_max = 64 << 20};
    c.limits.tcp_memory = UINT64_C(1) << 30;
    talks_listen(&c);
    return sim_host_create(s, &c);
}

/* A queue of one round trip, and room for some segments where that is short. */
static uint64_t depth(const struct line *l)
{
    uint64_t product = (uint64_t)l->mbit * 125 * l->rtt;
    return product > 64000 ? product : 64000;
}

/* Mbit/s of data that arrived. */
static double measure(const struct line *l)
{
    struct sim s;
    sim_init(&s, run_seed(l->mbit * 1000000 + l->rtt * 1000 + l->loss / 100));
    struct sim_host *client = add_host(&s, 1, l->congestion);
    struct sim_host *server = add_host(&s, 2, l->congestion);
    struct loss *loss = loss_create(&s, 0);
    struct capture *capture = capture_create(&s, run_capture());
    node_chain(
        (struct node *[]){&client->node, &capture->node, &loss->node,
                          &bottleneck_create(&s, (uint64_t)l->mbit * 1000000, depth(l))->node,
                          delay_create(&s, l->rtt * TICK_MS / 2, 0), &server->node, NULL});
    struct talks *talks = talks_create(&s);
    sim_run(&s, 5 * TICK_SEC);
    struct talk_plan p = {.way = {{.bytes = UINT64_C(1) << 40, .chunk = 1 << 20}, {0}}};
    struct talk *k = talk_open(talks, client, server, &p);
    for (unsigned i = 0; i < 1000 && !k->end[1].opened; i++)
        sim_run(&s, TICK_MS); /* the handshake is not what is measured */
    must(k->end[1].opened);
    uint64_t before = k->end[1].got;
    loss->millionths = l->loss;
    loss->spared[0] = l->acks_only;
    sim_run(&s, l->seconds * TICK_SEC);
    uint64_t bytes = k->end[1].got - before;
    talks_forget(talks, client);
    talks_forget(talks, server);
    sim_fini(&s);
    return (double)bytes * 8 / 1e6 / l->seconds;
}

/* What the line carries, and what Mathis and others (1997) say that Reno makes of random loss. */
static double expected(const struct line *l)
{
    double most = l->mbit * MSS / (MSS + 66);
    if (l->loss == 0)
        return most;
    double reno = MSS * 8 / (l->rtt / 1e3) * sqrt(1.5 / (l->loss / 1e6)) / 1e6;
    return reno < most ? reno : most;
}

static void compare(const struct line *l, double is)
{
    double should = expected(l);
    /* The start takes its time where the line is long and the measurement short; and where the
     * round trip is short and much is lost, a timeout is long. */
    double least = l->mbit == 1000 && l->rtt >= 50 ? 0.2 : 0.4;
    ck_assert_msg(is <= l->mbit && is >= least * should,
                  "%u Mbit/s, %u ms, %u millionths lost: %.2f Mbit/s, %.2f expected", l->mbit,
                  l->rtt, l->loss, is, should);
}

static void print_line(struct table *t, enum tcp_congestion congestion, unsigned i, unsigned loss)
{
    table_print(t, "%6.2f %%", loss / 10000.0);
    for (unsigned k = SIM_SLOW ? 2 : 0; k < N(rtts); k++) {
        struct line l = {congestion, mbits[i], rtts[k], loss, seconds[i], false};
        double is = measure(&l);
        compare(&l, is);
        table_print(t, " %9.2f", is);
    }
    table_print(t, "\n");
}

static void print_all(enum tcp_congestion congestion, const char *file)
{
    static struct table t;
    table_print(&t,
                "Mbit/s of one connection with %s, by bandwidth, loss in each direction and round "
                "trip;\nqueue of one round trip.\n",
                tcp_congestion_name(congestion));
    /* The slow build leaves out the fastest, whose packets are most. */
    for (unsigned i = 0; i < N(mbits) - (SIM_SLOW ? 2 : 0); i++) {
        table_print(&t, "\n%4u Mbit/s", mbits[i]);
        for (unsigned k = 0; k < N(rtts); k++)
            table_print(&t, "%4u ms%s", rtts[k], k + 1 < N(rtts) ? "   " : "\n");
        for (unsigned k = 0; k < N(losses); k++)
            print_line(&t, congestion, i, losses[k]);
    }
    if (!SIM_SLOW)
        run_golden(file, t.text);
}

START_TEST(cubic)
{
    print_all(TCP_CUBIC, "tcp_cubic.txt");
}
END_TEST

START_TEST(newreno)
{
    print_all(TCP_NEWRENO, "tcp_newreno.txt");
}
END_TEST

/* An acknowledgment stands for all before it: of those many may be lost. */
START_TEST(lost_acknowledgments_cost_little)
{
    for (enum tcp_congestion c = 0; c < TCP_CONGESTION_END; c++) {
        struct line l = {c, 10, 50, 200000, 20, true};
        double is = measure(&l);
        ck_assert_msg(is > 8, "%s: %.2f Mbit/s", tcp_congestion_name(c), is);
    }
}
END_TEST

SIM_MAIN("tcp_throughput", cubic, newreno, lost_acknowledgments_cost_little)
