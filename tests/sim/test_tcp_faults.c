/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP between two hosts over networks at random, with all faults at once, seed by seed. Every byte
 * arrives as it was sent (sim/talk.h sees to that), both directions of every connection end in
 * order, and then all is silent and nothing is held.
 */
#include "sim/bottleneck.h"
#include "sim/capture.h"
#include "sim/corrupt.h"
#include "sim/delay.h"
#include "sim/duplicate.h"
#include "sim/loss.h"
#include "sim/mtu.h"
#include "sim/plan.h"
#include "sim/reorder.h"
#include "sim/run.h"
#include "sim/strip.h"
#include "sim/talk.h"

#define SEEDS      (SIM_SLOW ? 200 : 10000)
#define TALKS_MOST 4
#define HOUR       (3600 * TICK_SEC)

struct network {
    struct sim sim;
    struct sim_host *host[2];
    struct talks *talks;
    struct loss *loss;
    struct mtu *mtu;
    struct strip *strip;
};

/* Over the seeds of one process. */
static struct {
    uint64_t seeds, lost, stripped, cookies, too_big, bytes;
    uint64_t retransmits, timeouts, probes, recoveries, undone, black_holes, reordered;
} total;

/* True in so many of a hundred cases. */
static bool percent(struct sim *s, unsigned n)
{
    return sim_chance(s, n * SIM_PERCENT);
}

/* Mostly none at all; else up to so many percent. */
static uint32_t rate(struct sim *s, uint32_t most)
{
    return percent(s, 50) ? 0 : (uint32_t)sim_between(s, 0, most * SIM_PERCENT);
}

static struct tcp_settings any_settings(struct sim *s)
{
    return (struct tcp_settings){
        .congestion = percent(s, 30) ? TCP_NEWRENO : TCP_CUBIC,
        .ecn = (enum tcp_ecn)sim_between(s, 0, 2),
        .no_timestamps = percent(s, 20),
        .no_sack = percent(s, 20),
        .no_window_scaling = percent(s, 20),
        .nagle = percent(s, 20),
        .no_pacing = percent(s, 50),
        .receive_buffer = percent(s, 30) ? (uint32_t)sim_between(s, 2000, 20000) : 0,
        .send_buffer = percent(s, 30) ? (uint32_t)sim_between(s, 1000, 20000) : 0,
        /* However bad the luck, nobody gives up. */
        .connect_timeout = HOUR,
        .accept_timeout = HOUR,
        .user_timeout = HOUR,
        .fin_timeout = HOUR,
        .time_wait = HOUR / 2,
    };
}

static uint32_t any_offload(struct sim *s)
{
    const uint32_t checksums = IFACE_TX_IP_CSUM | IFACE_TX_TCP_CSUM;
    switch (sim_between(s, 0, 3)) {
    case 0: return 0; /* single views only */
    case 1: return IFACE_TX_MULTI_SEGS;
    case 2: return checksums | (percent(s, 50) ? IFACE_TX_MULTI_SEGS : 0);
    default: return checksums | IFACE_TX_MULTI_SEGS | IFACE_TX_TSO;
    }
}

static struct sim_host *add_host(struct sim *s, unsigned n)
{
    static const size_t views[] = {0, 512, 1000, 2048};
    static const uint16_t mtus[] = {1280, 1500, 1500, 1500, 4000, 9000};
    struct sim_host_config c = plan_host(n);
    c.tcp = any_settings(s);
    c.limits.flows = 64;
    c.limits.time_wait = 64;
    c.iface.mtu = mtus[sim_between(s, 0, 5)];
    c.iface.offload = any_offload(s);
    if (c.iface.mtu > 1500) /* its packets take more than one view */
        c.iface.offload |= IFACE_TX_MULTI_SEGS;
    c.view = views[sim_between(s, 0, 3)];
    c.n_workers = (uint16_t)sim_between(s, 1, 3);
    talks_listen(&c);
    if (percent(s, 20))
        c.listener[0].backlog = 1;
    return sim_host_create(s, &c);
}

static uint32_t any_options(struct sim *s)
{
    uint32_t options = 0;
    options |= percent(s, 30) ? STRIP_SACK_PERMITTED | STRIP_SACK : 0;
    options |= percent(s, 30) ? STRIP_TIMESTAMPS : 0;
    options |= percent(s, 30) ? STRIP_WSCALE : 0;
    options |= percent(s, 10) ? STRIP_MSS : 0;
    return options;
}

static uint16_t any_path_mtu(struct sim *s)
{
    return (uint16_t)(percent(s, 70) ? 9000 : sim_between(s, 1280, 1500));
}

static void build(struct network *n, uint64_t seed)
{
    struct sim *s = &n->sim;
    sim_init(s, seed);
    for (unsigned i = 0; i < 2; i++)
        n->host[i] = add_host(s, i + 1);
    struct capture *capture = capture_create(s, run_capture());
    n->loss = loss_create(s, rate(s, 10));
    if (percent(s, 20)) {
        n->loss->pattern = sim_between(s, 1, 7); /* up to three in a row, over and over */
        n->loss->period = (unsigned)sim_between(s, 16, 64);
    }
    n->mtu = mtu_create(s, any_path_mtu(s));
    n->mtu->mute = percent(s, 20);
    n->strip = strip_create(s, percent(s, 30) ? any_options(s) : 0);
    n->strip->one_way = percent(s, 50);
    if (n->strip->one_way) /* or one side holds the other to what it has never heard of */
        n->strip->options &= ~(uint32_t)(STRIP_TIMESTAMPS | STRIP_WSCALE);
    uint64_t slow = percent(s, 20) ? sim_between(s, 200, 10000) * 1000 : UINT64_C(1000000000);
    tick_t way = percent(s, 50) ? sim_between(s, 0, 2 * TICK_MS) : sim_between(s, 0, 100 * TICK_MS);
    node_chain((struct node *[]){
        &n->host[0]->node, &capture->node, &n->loss->node,
        &duplicate_create(s, rate(s, 10), sim_between(s, 0, 5 * TICK_MS))->node,
        &reorder_create(s, rate(s, 20), sim_between(s, 1, 20 * TICK_MS))->node,
        &corrupt_create(s, rate(s, 5))->node, &n->strip->node, delay_create(s, way, way / 10),
        &bottleneck_create(s, slow, sim_between(s, 5000, 100000))->node, &n->mtu->node,
        &n->host[1]->node, NULL});
    n->talks = talks_create(s);
}

static struct talk_way any_way(struct sim *s)
{
    static const uint32_t most[] = {0, 1, 100, 3000, 30000, 30000, 100000};
    struct talk_way w = {.bytes = sim_between(s, 0, most[sim_between(s, 0, 6)]),
                         .chunk = (uint32_t)sim_between(s, 1, percent(s, 10) ? 100 : 20000),
                         .packets = percent(s, 40),
                         .last = percent(s, 30)};
    if (percent(s, 1))
        w.bytes = 1000000;
    if (w.bytes / w.chunk > 500)
        w.chunk = (uint32_t)(w.bytes / 500);
    if (percent(s, 20))
        w.think = sim_between(s, 1, 200 * TICK_MS);
    return w;
}

static void open_some(struct network *n)
{
    struct sim *s = &n->sim;
    unsigned talks = (unsigned)sim_between(s, 1, TALKS_MOST);
    for (unsigned i = 0; i < talks; i++) {
        unsigned from = (unsigned)sim_between(s, 0, 1);
        struct sim_host *client = n->host[from];
        struct talk_plan p = {.family = (unsigned)sim_between(s, 0, 1),
                              .worker = (unsigned)sim_between(s, 0, client->n_workers - 1u),
                              .way = {any_way(s), any_way(s)}};
        if (p.way[0].last && p.way[1].last)
            p.way[1].last = false; /* or both wait for ever */
        talk_open(n->talks, client, n->host[1 - from], &p);
        sim_run(s, sim_between(s, 0, 500 * TICK_MS));
    }
}

/* The path changes its mind about what it carries, as long as that is allowed to a path. */
static void change_mtu(struct network *n)
{
    if (percent(&n->sim, 10))
        n->mtu->mtu = any_path_mtu(&n->sim);
}

static void print_talks(const struct network *n)
{
    for (uint32_t i = 0; i < n->talks->n; i++)
        for (unsigned side = 0; side < 2; side++) {
            const struct talk_end *e = &n->talks->talk[i]->end[side];
            printf("# talk %u %s: %llu of %llu written, %llu got%s%s%s%s %s\n", i,
                   side ? "server" : "client", (unsigned long long)e->written,
                   (unsigned long long)e->way.bytes, (unsigned long long)e->got,
                   e->opened ? ", opened" : "", e->end ? ", end" : "", e->ended ? ", ended" : "",
                   e->reset ? ", reset" : "", e->reset ? stream_code_name(e->code) : "");
        }
    fflush(stdout);
}

/*
 * With a SYN cookie nothing is known of a connection before the client's first segment. Where that
 * is lost or late, what follows it is of no connection, and is reset.
 */
static bool was_cookie(const struct talk *k)
{
    const struct talk_end *client = &k->end[0], *server = &k->end[1];
    return client->reset && client->code == STREAM_RESET && !server->ended &&
           sim_host_count(server->host, COUNTER_TCP_COOKIES_TX) > 0;
}

static bool all_over(const struct network *n)
{
    for (uint32_t i = 0; i < n->talks->n; i++)
        if (!talk_is_over(n->talks->talk[i]) && !was_cookie(n->talks->talk[i]))
            return false;
    return true;
}

static void all_end(struct network *n)
{
    for (unsigned i = 0; i < 600 && !all_over(n); i++) {
        sim_run(&n->sim, i < 100 ? TICK_SEC : 60 * TICK_SEC);
        change_mtu(n);
    }
    if (all_over(n))
        return;
    print_talks(n);
    ck_abort_msg("not all conversations have ended");
}

static void falls_silent(struct network *n)
{
    n->loss->millionths = 0;
    n->loss->period = 0;
    sim_run(&n->sim, 3 * HOUR);
    for (unsigned i = 0; i < 2; i++) {
        struct sim_host *h = n->host[i];
        must(sim_host_connections(h) == 0);
        must(sim_host_count(h, COUNTER_TCP_OPENED) == sim_host_count(h, COUNTER_TCP_CLOSED));
        must(h->pool.held == 0);
        for (unsigned w = 0; w < h->n_workers; w++)
            must(stack_deadline(h->worker[w].stack) == TICK_NEVER);
    }
    must(n->sim.wire.held == 0);
}

static uint64_t count(const struct network *n, enum counter which)
{
    return sim_host_count(n->host[0], which) + sim_host_count(n->host[1], which);
}

static void add_to_total(const struct network *n)
{
    total.seeds++;
    total.lost += n->loss->lost[0] + n->loss->lost[1];
    total.stripped += n->strip->stripped;
    total.too_big += n->mtu->refused[0] + n->mtu->refused[1];
    total.cookies += count(n, COUNTER_TCP_COOKIES_RX);
    total.bytes += count(n, COUNTER_TCP_RX_BYTES);
    total.retransmits += count(n, COUNTER_TCP_RETRANSMITS);
    total.timeouts += count(n, COUNTER_TCP_RTO);
    total.probes += count(n, COUNTER_TCP_TLP);
    total.recoveries += count(n, COUNTER_TCP_RECOVERIES);
    total.undone += count(n, COUNTER_TCP_SPURIOUS);
    total.black_holes += count(n, COUNTER_TCP_BLACK_HOLES);
    total.reordered += count(n, COUNTER_TCP_REORDERED);
}

static void one(uint64_t seed)
{
    static struct network n;
    build(&n, seed);
    sim_run(&n.sim, 3 * TICK_SEC);
    open_some(&n);
    all_end(&n);
    add_to_total(&n);
    falls_silent(&n);
    sim_fini(&n.sim);
}

START_TEST(every_byte_arrives_and_both_sides_end)
{
    run_seeds_shared(SEEDS, one);
}
END_TEST

/* The faults were there, and every part of TCP had to do with them. */
START_TEST(the_faults_are_there)
{
    if (run_asked())
        return;
    run_seeds(400, one);
    ck_assert_uint_gt(total.bytes, 400 * 10000);
    ck_assert_uint_gt(total.lost, 400 * 5);
    ck_assert_uint_gt(total.reordered, 400 * 5);
    ck_assert_uint_gt(total.retransmits, 400 * 5);
    ck_assert_uint_gt(total.recoveries, 100);
    ck_assert_uint_gt(total.timeouts, 100);
    ck_assert_uint_gt(total.probes, 100);
    ck_assert_uint_gt(total.undone, 20);
    ck_assert_uint_gt(total.stripped, 100);
    ck_assert_uint_gt(total.too_big, 100);
    ck_assert_uint_gt(total.black_holes, 5);
    ck_assert_uint_gt(total.cookies, 0);
}
END_TEST

SIM_MAIN("tcp_faults", every_byte_arrives_and_both_sides_end, the_faults_are_there)
