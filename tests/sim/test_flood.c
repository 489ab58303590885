/* SPDX-License-Identifier: BSD-3-Clause */
/* A hundred thousand hosts that do not exist speak to a stack. Those who do exist notice nothing,
 * and it takes no more memory. */
#include "base/bytes.h"
#include "sim/capture.h"
#include "sim/craft.h"
#include "sim/delay.h"
#include "sim/lan.h"
#include "sim/plan.h"
#include "sim/run.h"
#include "wire/arp.h"
#include "wire/checksum.h"
#include "wire/icmp.h"
#include "wire/icmpv6.h"
#include "wire/ipv6.h"
#include "wire/nd.h"
#include "wire/proto.h"

#define PINGER     100
#define ATTACKER   66
#define WAY        TICK_MS
#define SOURCES    (SIM_SLOW ? 10000u : 100000u)
#define NEIGHBOURS 1024 /* entries that the stack has */
#define QUEUE      16

static struct sim s;
static struct sim_host *host;
static struct pinger *pinger;
static struct capture *attacker; /* an end of a line; what it hears is lost */

static void build(void)
{
    sim_init(&s, run_seed(1));
    struct lan *lan = lan_create(&s);
    struct sim_host_config hc = plan_host(1);
    hc.iface.addr[0].len = 8; /* so that all sources are on the link */
    hc.limits.neighbours = NEIGHBOURS;
    hc.limits.neighbour_queue = QUEUE;
    host = sim_host_create(&s, &hc);
    struct pinger_config pc = plan_pinger(PINGER);
    pinger = pinger_create(&s, &pc);
    attacker = capture_create(&s, NULL);
    node_chain(
        (struct node *[]){&host->node, delay_create(&s, WAY, 0), &lan->node, &pinger->node, NULL});
    node_link(&attacker->node, &lan->node);
    sim_run(&s, 3 * TICK_SEC);
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

static void attack(uint16_t type, const void *bytes, uint32_t len)
{
    struct heap_pool pool;
    heap_pool_init(&pool, 0, 0);
    struct pkt *p = heap_pkt(&pool, bytes, len, 0);
    struct mac_addr dst = plan_mac(1), src = plan_mac(ATTACKER);
    node_output(&attacker->node, 0, craft_frame(&s, &dst, &src, 0, type, p));
    pkt_free(p);
}

/* An echo request, whose reply has to wait until its source is found. */
static void ask_for_echo(uint32_t i, unsigned family)
{
    struct ip_addr src = source(i, family), dst = plan_addr(1, family);
    uint8_t bytes[IPV6_LEN + ICMP_LEN];
    struct craft_head h = {
        .src = src, .dst = dst, .proto = family ? IP_PROTO_ICMPV6 : IP_PROTO_ICMP};
    uint32_t n = craft_head_emit(&h, ICMP_LEN, bytes);
    if (family == 0) {
        struct icmp_hdr echo = {.type = ICMP_ECHO};
        icmp_emit(&echo, CHECKSUM_EMPTY, bytes + n);
        attack(ETHER_TYPE_IPV4, bytes, n + ICMP_LEN);
    } else {
        struct icmpv6_hdr echo = {.type = ICMPV6_ECHO};
        icmpv6_emit(&echo, checksum_pseudo(&src, &dst, IP_PROTO_ICMPV6, ICMPV6_LEN), bytes + n);
        attack(ETHER_TYPE_IPV6, bytes, n + ICMPV6_LEN);
    }
}

/* A question for the stack's address, which makes it note the asker's. */
static void ask_for_address(uint32_t i, unsigned family)
{
    struct ip_addr src = source(i, family), dst = plan_addr(1, family);
    uint8_t bytes[IPV6_LEN + ND_EMIT_MAX];
    if (family == 0) {
        struct arp_msg m = {.op = ARP_REQUEST,
                            .sender_mac = plan_mac(ATTACKER),
                            .sender_ip = src,
                            .target_ip = dst};
        attack(ETHER_TYPE_ARP, bytes, (uint32_t)arp_emit(&m, bytes));
        return;
    }
    struct nd_msg m = {.type = ICMPV6_NEIGH_SOLICIT,
                       .target = dst,
                       .has_source_link = true,
                       .source_link = plan_mac(ATTACKER)};
    uint32_t len = (uint32_t)nd_emit(&m, &src, &dst, bytes + IPV6_LEN);
    struct craft_head h = {
        .src = src, .dst = dst, .proto = IP_PROTO_ICMPV6, .hop_limit = ND_HOP_LIMIT};
    craft_head_emit(&h, len, bytes);
    attack(ETHER_TYPE_IPV6, bytes, IPV6_LEN + len);
}

/* Pings in both families. */
static void ping_both(void)
{
    for (unsigned family = 0; family < 2; family++) {
        struct ip_addr to = plan_addr(1, family);
        pinger_ping(pinger, &to, 100);
    }
}

/* For so long that the stack has asked the pinger, and been answered. */
static void get_acquainted(void)
{
    for (unsigned i = 0; i < 20; i++) {
        ping_both();
        sim_run(&s, TICK_SEC / 2);
    }
    ck_assert_uint_eq(pinger_answered(pinger), pinger->n_pings);
}

/* All sources, a thousand a second, with a ping every 50 ms in between: 100 s, in which each
 * neighbour has to be confirmed again. Returns the most packets that were ever held. */
static size_t flood(void (*one)(uint32_t i, unsigned family), unsigned family)
{
    size_t most = 0;
    size_t bytes = host->heap.bytes;
    uint32_t first = pinger->n_pings;
    for (uint32_t i = 0; i < SOURCES; i++) {
        one(i, family);
        if (i % 50 == 0)
            ping_both();
        sim_run(&s, TICK_MS);
        most = host->pool.held > most ? host->pool.held : most;
        must(sim_host_neighbours(host, 0) <= NEIGHBOURS || i % 1000);
    }
    sim_run(&s, 5 * TICK_SEC);
    ck_assert_uint_eq(host->heap.bytes, bytes);
    ck_assert_uint_eq(host->pool.held, 0);
    for (uint32_t i = first; i < pinger->n_pings; i++)
        must_msg(pinger_rtt(pinger, i) == 2 * WAY, "ping %u", i);
    return most;
}

START_TEST(echo_requests_from_nobody)
{
    for (unsigned family = 0; family < 2; family++) {
        build();
        get_acquainted();
        uint64_t replies = sim_host_count(host, COUNTER_ICMP_TX_ECHO);
        size_t most = flood(ask_for_echo, family);
        uint64_t ours = pinger->n_pings - 40;
        ck_assert_uint_eq(sim_host_count(host, COUNTER_ICMP_TX_ECHO) - replies, SOURCES + ours);
        /* Each reply to nobody was given up once. */
        ck_assert_uint_eq(sim_host_drops(host, DROP_NEIGH_TABLE_FULL) +
                              sim_host_drops(host, DROP_NEIGH_UNREACHABLE),
                          SOURCES);
        ck_assert_uint_le(most, NEIGHBOURS / 2 + 2);
        sim_fini(&s);
    }
}
END_TEST

START_TEST(questions_from_nobody)
{
    static const enum counter answers[] = {COUNTER_ARP_TX_REPLIES, COUNTER_ND_TX_ADVERTS};
    for (unsigned family = 0; family < 2; family++) {
        build();
        get_acquainted();
        uint64_t before = sim_host_count(host, answers[family]);
        flood(ask_for_address, family);
        ck_assert_uint_eq(sim_host_count(host, answers[family]) - before, SOURCES);
        struct ip_addr me = plan_addr(PINGER, family);
        struct ctl_neighbour row;
        ck_assert(sim_host_neighbour(host, 0, &me, &row));
        ck_assert_uint_ne(row.confirmed, TICK_NEVER);
        sim_fini(&s);
    }
}
END_TEST

SIM_MAIN("flood", echo_requests_from_nobody, questions_from_nobody)
