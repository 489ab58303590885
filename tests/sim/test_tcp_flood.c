/* SPDX-License-Identifier: BSD-3-Clause */
/* A hundred thousand SYNs from hosts that do not exist, and clients that do: these get in, and the
 * server's memory stays what it was. */
#include "base/bytes.h"
#include "sim/capture.h"
#include "sim/craft.h"
#include "sim/delay.h"
#include "sim/lan.h"
#include "sim/plan.h"
#include "sim/run.h"
#include "sim/talk.h"
#include "wire/ipv6.h"
#include "wire/proto.h"
#include "wire/tcp.h"

#define ATTACKER 66
#define WAY      TICK_MS
#define SYNS     (SIM_SLOW ? 10000u : 100000u)
#define BACKLOG  256u

static struct sim s;
static struct sim_host *client, *server;
static struct talks *talks;
static struct capture *attacker; /* an end of a line; what it hears is lost */

static struct sim_host *add_host(struct lan *lan, const struct sim_host_config *c)
{
    struct sim_host *h = sim_host_create(&s, c);
    node_chain((struct node *[]){&h->node, delay_create(&s, WAY, 0), &lan->node, NULL});
    return h;
}

static void build(bool no_cookies)
{
    sim_init(&s, run_seed(1));
    struct lan *lan = lan_create(&s);
    struct sim_host_config a = plan_host(1), b = plan_host(2);
    b.iface.addr[0].len = 8; /* so that all sources are on the link */
    b.limits.neighbours = 1024;
    b.limits.neighbour_queue = 16;
    talks_listen(&b);
    b.listener[0].backlog = BACKLOG;
    b.listener[0].no_cookies = no_cookies;
    b.tcp.accept_timeout = 10 * TICK_SEC;
    client = add_host(lan, &a);
    server = add_host(lan, &b);
    attacker = capture_create(&s, NULL);
    node_link(&attacker->node, &lan->node);
    talks = talks_create(&s);
    sim_run(&s, 5 * TICK_SEC);
}

/* The i-th source: on the link, and nobody. */
static struct ip_addr source(uint32_t i, unsigned family)
{
    if (family == 0)
        return ip_from_v4(0x0a010000u + i); /* 10.1.0.0 .. 10.2.134.159 */
    struct ip_addr a = plan_addr6(0);
    store_be32(a.b + 8, i + 1);
    return a;
}

static void send_syn(uint32_t i)
{
    unsigned family = i % 2;
    struct ip_addr src = source(i, family), dst = plan_addr(2, family);
    struct tcp_hdr h = {.src_port = (uint16_t)(1024 + i % 60000),
                        .dst_port = TALK_PORT,
                        .seq = seq32(i * 7919),
                        .flags = TCP_SYN,
                        .window = 65535,
                        .options = {.has_mss = true, .mss = 1460, .sack_permitted = true}};
    uint32_t len = (uint32_t)tcp_header_len(&h.options);
    uint8_t bytes[IPV6_LEN + TCP_HEADER_MAX];
    struct craft_head head = {.src = src, .dst = dst, .proto = IP_PROTO_TCP};
    uint32_t n = craft_head_emit(&head, len, bytes);
    tcp_emit(&h, checksum_pseudo(&src, &dst, IP_PROTO_TCP, len), bytes + n);
    struct heap_pool pool;
    heap_pool_init(&pool, 0, 0);
    struct pkt *p = heap_pkt(&pool, bytes, n + len, 0);
    struct mac_addr to = plan_mac(2), from = plan_mac(ATTACKER);
    uint16_t type = family ? ETHER_TYPE_IPV6 : ETHER_TYPE_IPV4;
    node_output(&attacker->node, 0, craft_frame(&s, &to, &from, 0, type, p));
    pkt_free(p);
}

/* Two thousand a second, with a client every 100 ms in between. Returns the most bytes held. */
static size_t flood(void)
{
    struct talk_plan p = {.way = {{.bytes = 500}, {.bytes = 5000}}};
    size_t most = 0;
    for (uint32_t i = 0; i < SYNS; i++) {
        send_syn(i);
        if (i % 200 == 0) {
            p.family = i / 200;
            talk_open(talks, client, server, &p);
        }
        sim_run(&s, TICK_MS / 2);
        most = server->heap.bytes > most ? server->heap.bytes : most;
    }
    return most;
}

START_TEST(clients_get_in_by_cookies)
{
    build(false);
    size_t before = server->heap.bytes;
    size_t most = flood();
    /* The backlog's connections, the clients', and what is left of those in TIME-WAIT. */
    uint32_t clients = talks->n;
    ck_assert_uint_le(most - before, (BACKLOG + 64 + clients) * 2048);
    sim_run(&s, 5 * TICK_SEC);
    ck_assert(talks_are_over(talks));
    for (uint32_t i = 0; i < clients; i++) /* a round trip, and the neighbours' the first time */
        ck_assert_uint_le(talks->talk[i]->end[0].opened_at - talks->talk[i]->asked, 10 * WAY);
    ck_assert_uint_eq(sim_host_drops(server, DROP_TCP_BACKLOG), 0);
    ck_assert_uint_gt(sim_host_count(server, COUNTER_TCP_COOKIES_RX), clients / 2);
    ck_assert_uint_gt(sim_host_count(server, COUNTER_TCP_COOKIES_TX), SYNS / 2);
    sim_run(&s, 120 * TICK_SEC);
    ck_assert_uint_eq(sim_host_connections(server), 0);
    ck_assert_uint_eq(server->pool.held, 0);
    sim_fini(&s);
}
END_TEST

/* Without cookies the backlog is the bound, and clients have to be lucky. */
START_TEST(without_cookies_the_backlog_is_the_bound)
{
    build(true);
    size_t before = server->heap.bytes;
    size_t most = flood();
    ck_assert_uint_le(most - before, (BACKLOG + 64 + talks->n) * 2048);
    ck_assert_uint_gt(sim_host_drops(server, DROP_TCP_BACKLOG), SYNS / 2);
    ck_assert_uint_eq(sim_host_count(server, COUNTER_TCP_COOKIES_TX), 0);
    talks_forget(talks, client);
    talks_forget(talks, server);
    sim_fini(&s);
}
END_TEST

SIM_MAIN("tcp_flood", clients_get_in_by_cookies, without_cookies_the_backlog_is_the_bound)
