/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens to connections in the long run: days of silence, hosts that restart, many workers,
 * peers that do not read. */
#include "sim/bottleneck.h"
#include "sim/capture.h"
#include "sim/delay.h"
#include "sim/loss.h"
#include "sim/plan.h"
#include "sim/run.h"
#include "sim/talk.h"

#define HOUR (3600 * TICK_SEC)
#define WAY  (5 * TICK_MS)

static struct sim s;
static struct sim_host *client, *server;
static struct talks *talks;
static struct capture *line;
static struct loss *cut;

static struct sim_host_config host_config(unsigned n)
{
    struct sim_host_config c = plan_host(n);
    talks_listen(&c);
    return c;
}

static void build(const struct sim_host_config *of_client, const struct sim_host_config *of_server)
{
    sim_init(&s, run_seed(1));
    client = sim_host_create(&s, of_client);
    server = sim_host_create(&s, of_server);
    line = capture_create(&s, run_capture());
    cut = loss_create(&s, 0);
    node_chain((struct node *[]){&client->node, &line->node, &cut->node,
                                 &bottleneck_create(&s, 20000000, 50000)->node,
                                 delay_create(&s, WAY, 0), &server->node, NULL});
    talks = talks_create(&s);
    sim_run(&s, 5 * TICK_SEC);
}

/* Each side waits for the other to end first, so nobody does. */
static const struct talk_plan idle = {
    .way = {{.bytes = 100, .last = true}, {.bytes = 100, .last = true}}};

static void tear_down(void)
{
    talks_forget(talks, client);
    talks_forget(talks, server);
    sim_fini(&s);
}

/* Connections without a word: a question every two hours, and its answer. */
START_TEST(days_of_silence)
{
    enum { CONNECTIONS = SIM_SLOW ? 10 : 100, DAYS = SIM_SLOW ? 1 : 3 };
    struct sim_host_config a = host_config(1), b = host_config(2);
    b.tcp.keepalive = 2 * HOUR;
    build(&a, &b);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        talk_open(talks, client, server, &idle);
        sim_run(&s, 30 * TICK_SEC);
    }
    uint64_t frames = line->frames[0] + line->frames[1];
    uint64_t calls = sim_host_expires(client) + sim_host_expires(server);
    uint64_t before = sim_host_count(server, COUNTER_TCP_KEEPALIVES);
    sim_run(&s, DAYS * 24 * HOUR);
    uint64_t probes = sim_host_count(server, COUNTER_TCP_KEEPALIVES) - before;
    ck_assert_uint_eq(probes, CONNECTIONS * DAYS * 12);
    ck_assert_uint_eq(sim_host_count(client, COUNTER_TCP_KEEPALIVES), 0);
    /* A probe and its answer, and for both a neighbour that has to be confirmed. */
    frames = line->frames[0] + line->frames[1] - frames;
    ck_assert_uint_ge(frames, 2 * probes);
    ck_assert_uint_le(frames, 6 * probes);
    calls = sim_host_expires(client) + sim_host_expires(server) - calls;
    ck_assert_uint_le(calls, 10 * probes);
    ck_assert_uint_eq(sim_host_connections(client), CONNECTIONS);
    ck_assert_uint_eq(sim_host_connections(server), CONNECTIONS);
    /* An idle connection holds no packets, and little else. */
    ck_assert_uint_eq(client->pool.held + server->pool.held, 0);
    tear_down();
}
END_TEST

/* What idle connections cost the server in memory. */
START_TEST(idle_connections_are_small)
{
    enum { CONNECTIONS = SIM_SLOW ? 100 : 1000 };
    struct sim_host_config a = host_config(1), b = host_config(2);
    build(&a, &b);
    size_t before = server->heap.bytes;
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        talk_open(talks, client, server, &idle);
        sim_run(&s, 10 * TICK_MS);
    }
    sim_run(&s, 60 * TICK_SEC);
    ck_assert_uint_eq(sim_host_connections(server), CONNECTIONS);
    ck_assert_uint_eq(server->pool.held, 0);
    ck_assert_uint_le((server->heap.bytes - before) / CONNECTIONS, SIM_SLOW ? 4096 : 1024 + 256);
    tear_down();
}
END_TEST

/* The cable is out for half a minute in the middle of a transfer. */
START_TEST(the_line_is_cut_and_back)
{
    struct sim_host_config a = host_config(1), b = host_config(2);
    build(&a, &b);
    enum { BYTES = 4000000 };
    struct talk_plan p = {.way = {{.bytes = BYTES}, {.bytes = BYTES}}};
    struct talk *k = talk_open(talks, client, server, &p);
    sim_run(&s, 60 * TICK_MS);
    ck_assert_uint_gt(k->end[1].got, 0);
    cut->millionths = SIM_ALWAYS;
    sim_run(&s, 30 * TICK_SEC);
    uint64_t got = k->end[1].got;
    cut->millionths = 0;
    for (unsigned i = 0; i < 60 && !talk_is_over(k); i++)
        sim_run(&s, TICK_SEC);
    ck_assert_uint_lt(got, BYTES);
    ck_assert(talk_is_over(k));
    tear_down();
}
END_TEST

/* A server restarts while it receives, sends, and has nothing to do: whoever has something to say
 * to it finds out at once, the rest by keepalive, and all can come back. */
static void restart(uint16_t n_workers)
{
    struct sim_host_config a = host_config(1), b = host_config(2);
    a.tcp.keepalive = 60 * TICK_SEC;
    a.n_workers = b.n_workers = n_workers;
    build(&a, &b);
    struct talk_plan busy = {.way = {{.bytes = UINT64_C(1) << 32}, {.bytes = 0, .last = true}}};
    struct talk *sends = talk_open(talks, client, server, &busy);
    struct talk *waits = talk_open(talks, client, server, &idle);
    sim_run(&s, 2 * TICK_SEC);
    ck_assert(sends->end[1].got > 100000 && waits->end[0].got == 100);
    talks_forget(talks, server);
    struct mac_addr mac = plan_mac(2);
    sim_host_reboot(server, &mac);
    sim_run(&s, 10 * TICK_SEC); /* IPv4 addresses are in use at once */
    ck_assert(sends->end[0].reset && sends->end[0].code == STREAM_RESET);
    ck_assert(!waits->end[0].reset);
    sim_run(&s, 60 * TICK_SEC);
    ck_assert(waits->end[0].reset && waits->end[0].code == STREAM_RESET);
    ck_assert_uint_eq(sim_host_connections(client), 0);
    struct talk_plan more = {.way = {{.bytes = 100000}, {.bytes = 100000}}};
    struct talk *again = talk_open(talks, client, server, &more);
    sim_run(&s, 10 * TICK_SEC);
    ck_assert(talk_is_over(again));
    tear_down();
}

START_TEST(a_peer_restarts)
{
    restart(1);
    restart(3);
}
END_TEST

/* A peer that is gone for good: what it was sent is given up by the user timeout. */
START_TEST(a_peer_is_gone)
{
    struct sim_host_config a = host_config(1), b = host_config(2);
    a.tcp.user_timeout = 120 * TICK_SEC;
    a.tcp.keepalive = 120 * TICK_SEC;
    a.tcp.keepalive_interval = 10 * TICK_SEC;
    build(&a, &b);
    struct talk_plan busy = {.way = {{.bytes = UINT64_C(1) << 32}, {.bytes = 0, .last = true}}};
    struct talk *sends = talk_open(talks, client, server, &busy);
    struct talk *waits = talk_open(talks, client, server, &idle);
    sim_run(&s, 2 * TICK_SEC);
    cut->millionths = SIM_ALWAYS;
    sim_run(&s, 115 * TICK_SEC);
    ck_assert(!sends->end[0].reset && !waits->end[0].reset);
    sim_run(&s, 6 * TICK_SEC);
    ck_assert(sends->end[0].reset && sends->end[0].code == STREAM_TIMEOUT);
    ck_assert(!waits->end[0].reset);
    sim_run(&s, 100 * TICK_SEC);
    ck_assert(waits->end[0].reset && waits->end[0].code == STREAM_TIMEOUT);
    ck_assert_uint_eq(sim_host_connections(client), 0);
    ck_assert_uint_eq(client->pool.held, 0);
    tear_down();
}
END_TEST

/* Each worker opens connections whose answers come back to it: nothing has to be handed over. */
START_TEST(connections_of_many_workers_stay_with_them)
{
    enum { CONNECTIONS = SIM_SLOW ? 100 : 200 };
    for (uint16_t n = 1; n <= SIM_WORKERS_MAX; n++) {
        struct sim_host_config a = host_config(1), b = host_config(2);
        a.n_workers = n;
        b.n_workers = (uint16_t)(SIM_WORKERS_MAX + 1 - n);
        build(&a, &b);
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            struct talk_plan p = {
                .family = i / n, .worker = i % n, .way = {{.bytes = 1000}, {.bytes = 1000}}};
            talk_open(talks, client, server, &p);
            sim_run(&s, TICK_MS);
        }
        sim_run(&s, 10 * TICK_SEC);
        ck_assert(talks_are_over(talks));
        ck_assert_uint_eq(client->handed_over + server->handed_over, 0);
        ck_assert_uint_eq(sim_host_drops(client, DROP_TCP_PORT), 0);
        for (unsigned w = 0; w < n; w++)
            ck_assert_uint_eq(counter_get(&client->worker[w].counters, COUNTER_TCP_CONNECTED),
                              (unsigned)(CONNECTIONS / n + (w < CONNECTIONS % n)));
        for (unsigned w = 0; w < b.n_workers; w++) /* the ports are spread over them */
            ck_assert_uint_gt(counter_get(&server->worker[w].counters, COUNTER_TCP_ACCEPTED), 5);
        tear_down();
    }
}
END_TEST

/* Clients that ask for much and do not read: what waits for them fills the server's memory up to
 * its bound, where it lets nobody in any more. Those that are in get all of it, and then the
 * others. */
START_TEST(memory_is_bounded)
{
    enum { CONNECTIONS = 60, MOST = 2 << 20 };
    struct sim_host_config a = host_config(1), b = host_config(2);
    a.tcp.connect_timeout = HOUR;
    b.limits.tcp_memory = MOST;
    build(&a, &b);
    size_t most = 0;
    struct talk_plan p = {.way = {{.think = 20 * TICK_SEC}, {.bytes = 300000, .packets = true}}};
    for (unsigned i = 0; i < 10000 && !(i > 600 && talks_are_over(talks)); i++) {
        if (i < CONNECTIONS)
            talk_open(talks, client, server, &p);
        sim_run(&s, 100 * TICK_MS);
        most = server->pool.held > most ? server->pool.held : most;
    }
    ck_assert(talks_are_over(talks));
    ck_assert_uint_gt(most * PKT_COST, MOST / 2);
    ck_assert_uint_le(most * PKT_COST, MOST);
    ck_assert_uint_gt(sim_host_drops(server, DROP_TCP_MEMORY), 0);
    tear_down();
}
END_TEST

SIM_MAIN("tcp_life", days_of_silence, idle_connections_are_small, the_line_is_cut_and_back,
         a_peer_restarts, a_peer_is_gone, connections_of_many_workers_stay_with_them,
         memory_is_bounded)
