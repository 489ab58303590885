/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Networks at random, with all faults at once, seed by seed. Whatever comes back is exact (the
 * pinger sees to that), neighbours change their states as they may (the host does), the network
 * heals when the faults end, and then everything falls silent and nothing is held.
 */
#include "sim/bottleneck.h"
#include "sim/capture.h"
#include "sim/corrupt.h"
#include "sim/delay.h"
#include "sim/duplicate.h"
#include "sim/lan.h"
#include "sim/loss.h"
#include "sim/plan.h"
#include "sim/reorder.h"
#include "sim/run.h"

#define SEEDS     (SIM_SLOW ? 50 : 2000)
#define HOSTS_MAX 3
#define PINGS     16
#define PINGER    100

/* A line with its faults. */
struct line {
    struct loss *loss;
    struct duplicate *duplicate;
    struct reorder *reorder;
    struct corrupt *corrupt;
};

struct network {
    struct sim sim;
    unsigned n_hosts;
    struct sim_host *host[HOSTS_MAX];
    struct pinger *pinger;
    struct line line[HOSTS_MAX + 1];
    unsigned n_lines;
};

/* Over all seeds: were there any faults, and answers in spite of them? */
static struct {
    uint64_t seeds, pings, answered, short_pings, short_answered;
    uint64_t lost, doubled, held, spoilt;
} total;

static void shuffle(struct sim *s, struct node **nodes, unsigned n)
{
    for (unsigned i = n; i > 1; i--) {
        unsigned k = (unsigned)sim_between(s, 0, i - 1);
        struct node *swapped = nodes[i - 1];
        nodes[i - 1] = nodes[k];
        nodes[k] = swapped;
    }
}

/* Joins a and b by a line of all kinds of faults, in any order, each up to so many percent. */
static void join(struct network *n, struct node *a, struct node *b, uint32_t loss, uint32_t other)
{
    struct sim *s = &n->sim;
    struct line *l = &n->line[n->n_lines++];
    l->loss = loss_create(s, (uint32_t)sim_between(s, 0, loss * SIM_PERCENT));
    l->duplicate = duplicate_create(s, (uint32_t)sim_between(s, 0, other * SIM_PERCENT),
                                    sim_between(s, 0, 5 * TICK_MS));
    l->reorder = reorder_create(s, (uint32_t)sim_between(s, 0, other * SIM_PERCENT),
                                sim_between(s, 1, 20 * TICK_MS));
    l->corrupt = corrupt_create(s, (uint32_t)sim_between(s, 0, other * SIM_PERCENT / 2));
    struct node *middle[] = {
        &l->loss->node,
        &l->duplicate->node,
        &l->reorder->node,
        &l->corrupt->node,
        delay_create(s, sim_between(s, 0, 50 * TICK_MS), sim_between(s, 0, 5 * TICK_MS)),
        &bottleneck_create(s, sim_between(s, 10, 1000) * 1000000, 256 << 10)->node,
    };
    shuffle(s, middle, 6);
    node_chain((struct node *[]){a, middle[0], middle[1], middle[2], middle[3], middle[4],
                                 middle[5], b, NULL});
}

static uint16_t any_mtu(struct sim *s)
{
    static const uint16_t mtus[] = {1280, 1500, 1500, 1500, 4000, 9000};
    return mtus[sim_between(s, 0, 5)];
}

static void add_host(struct network *n, struct lan *lan, uint16_t mtu, uint16_t vlan)
{
    static const size_t views[] = {0, 512, 1000, 2048};
    struct sim *s = &n->sim;
    struct sim_host_config c = plan_host(n->n_hosts + 1);
    c.iface.vlan = vlan;
    c.iface.mtu = sim_chance(s, 25 * SIM_PERCENT) ? any_mtu(s) : mtu;
    if (c.iface.mtu <= 1500 && sim_chance(s, 50 * SIM_PERCENT))
        c.iface.offload = 0; /* its device takes single views only */
    c.view = views[sim_between(s, 0, 3)];
    c.n_workers = (uint16_t)sim_between(s, 1, 3);
    struct sim_host *h = sim_host_create(s, &c);
    n->host[n->n_hosts++] = h;
    join(n, &h->node, &lan->node, 2, 4);
}

static void build(struct network *n, uint64_t seed)
{
    *n = (struct network){0};
    struct sim *s = &n->sim;
    sim_init(s, seed);
    struct lan *lan = lan_create(s);
    uint16_t mtu = any_mtu(s);
    uint16_t vlan = sim_chance(s, 25 * SIM_PERCENT) ? 100 : 0;
    unsigned hosts = (unsigned)sim_between(s, 1, HOSTS_MAX);
    for (unsigned i = 0; i < hosts; i++)
        add_host(n, lan, mtu, vlan);
    struct pinger_config c = plan_pinger(PINGER);
    c.mtu = mtu;
    c.vlan = vlan;
    c.remember = 5 * TICK_SEC; /* faults may have taught it a wrong address */
    n->pinger = pinger_create(s, &c);
    struct capture *capture = capture_create(s, run_capture());
    node_link(&n->pinger->node, &capture->node);
    join(n, &capture->node, &lan->node, 20, 10);
}

/* As many short as long ones, the longest that there are among them. */
static uint32_t any_size(struct sim *s)
{
    static const uint32_t most[] = {0, 1, 64, 1472, 1473, 4096, 20000, 65507};
    return (uint32_t)sim_between(s, 0, most[sim_between(s, 0, 7)]);
}

static void ping_at_random(struct network *n)
{
    struct sim *s = &n->sim;
    for (unsigned i = 0; i < PINGS; i++) {
        struct ip_addr to = plan_addr((unsigned)sim_between(s, 1, n->n_hosts), i);
        uint32_t size = any_size(s);
        pinger_ping(n->pinger, &to, size);
        /* Mostly in a row; now and then long enough apart for neighbours to grow stale. */
        sim_run(s, sim_between(s, 0, sim_chance(s, 10 * SIM_PERCENT) ? 60 * TICK_SEC : TICK_SEC));
    }
    sim_run(s, 5 * TICK_SEC);
}

static void add_to_total(const struct network *n)
{
    total.seeds++;
    total.pings += n->pinger->n_pings;
    total.answered += pinger_answered(n->pinger);
    for (uint32_t i = 0; i < n->pinger->n_pings; i++) {
        const struct ping *p = &n->pinger->ping[i];
        total.short_pings += p->size <= 1000;
        total.short_answered += p->size <= 1000 && p->replies > 0;
    }
    for (unsigned i = 0; i < n->n_lines; i++) {
        const struct line *l = &n->line[i];
        total.lost += l->loss->lost[0] + l->loss->lost[1];
        total.doubled += l->duplicate->doubled;
        total.held += l->reorder->held;
        total.spoilt += l->corrupt->spoilt;
    }
}

/* After the faults: a wrong address may be believed for 45 s, doubted for 5 and asked about for 3
 * (RFC 4861 10). Then every host answers. */
static void heals(struct network *n)
{
    for (unsigned i = 0; i < n->n_lines; i++) {
        struct line *l = &n->line[i];
        l->loss->millionths = l->duplicate->millionths = 0;
        l->reorder->millionths = l->corrupt->millionths = 0;
    }
    uint32_t last[HOSTS_MAX][2];
    for (unsigned k = 0; k < 60; k++) {
        for (unsigned i = 0; i < n->n_hosts; i++)
            for (unsigned family = 0; family < 2; family++) {
                struct ip_addr to = plan_addr(i + 1, family);
                last[i][family] = pinger_ping(n->pinger, &to, 3000);
            }
        sim_run(&n->sim, TICK_SEC);
    }
    sim_run(&n->sim, 5 * TICK_SEC);
    for (unsigned i = 0; i < n->n_hosts; i++)
        for (unsigned family = 0; family < 2; family++)
            ck_assert_msg(pinger_rtt(n->pinger, last[i][family]) != TICK_NEVER,
                          "host %u does not answer %s after the faults", i + 1,
                          family ? "IPv6" : "IPv4");
}

/* Then nothing is left to do: fragments have been given up, neighbours have grown stale. */
static void falls_silent(struct network *n)
{
    sim_run(&n->sim, 150 * TICK_SEC);
    for (unsigned i = 0; i < n->n_hosts; i++) {
        struct sim_host *h = n->host[i];
        ck_assert_uint_eq(h->pool.held, 0);
        for (unsigned w = 0; w < h->n_workers; w++)
            ck_assert_uint_eq(stack_deadline(h->worker[w].stack), TICK_NEVER);
    }
    ck_assert_uint_eq(n->pinger->pool.held, 0);
    ck_assert_uint_eq(n->sim.wire.held, 0);
}

static void one(uint64_t seed)
{
    static struct network n;
    build(&n, seed);
    sim_run(&n.sim, 3 * TICK_SEC);
    ping_at_random(&n);
    add_to_total(&n);
    heals(&n);
    falls_silent(&n);
    sim_fini(&n.sim);
}

START_TEST(what_arrives_is_exact_and_all_heals)
{
    run_seeds(SEEDS, one);
    if (total.seeds < SEEDS)
        return; /* one seed alone, or shared out */
    /* The faults were there, and did not hide everything. */
    ck_assert_uint_gt(total.lost, total.seeds * 10);
    ck_assert_uint_gt(total.doubled, total.seeds * 5);
    ck_assert_uint_gt(total.held, total.seeds * 5);
    ck_assert_uint_gt(total.spoilt, total.seeds * 2);
    ck_assert_uint_gt(total.answered, total.pings * 3 / 10);
    ck_assert_uint_lt(total.answered, total.pings * 7 / 10);
    ck_assert_uint_gt(total.short_answered, total.short_pings * 6 / 10);
}
END_TEST

SIM_MAIN("faults", what_arrives_is_exact_and_all_heals)
