/* SPDX-License-Identifier: BSD-3-Clause */
/* Eight stacks on a clean LAN: duplicate address detection, resolution and echo, each at its exact
 * time. */
#include "sim/capture.h"
#include "sim/delay.h"
#include "sim/lan.h"
#include "sim/plan.h"
#include "sim/run.h"
#include "wire/arp.h"
#include "wire/icmpv6.h"
#include "wire/ipv6.h"
#include "wire/nd.h"

#define HOSTS  8
#define PINGER 100

static struct sim s;
static struct sim_host *host[HOSTS];
static struct capture *line[HOSTS]; /* side 1 is the host's */
static struct pinger *pinger;

/* Host i + 1 is i + 1 ms away, the pinger 100 us. */
static tick_t way(unsigned i)
{
    return (i + 1) * TICK_MS + 100 * TICK_US;
}

static void build(uint64_t seed)
{
    sim_init(&s, seed);
    struct lan *lan = lan_create(&s);
    for (unsigned i = 0; i < HOSTS; i++) {
        struct sim_host_config config = plan_host(i + 1);
        host[i] = sim_host_create(&s, &config);
        line[i] = capture_create(&s, NULL);
        node_chain((struct node *[]){&lan->node, delay_create(&s, (i + 1) * TICK_MS, 0),
                                     &line[i]->node, &host[i]->node, NULL});
    }
    struct pinger_config config = plan_pinger(PINGER);
    pinger = pinger_create(&s, &config);
    node_chain(
        (struct node *[]){&lan->node, delay_create(&s, 100 * TICK_US, 0), &pinger->node, NULL});
}

/* What a host says of its addresses as it starts. */
struct start {
    tick_t probe[2], preferred[2]; /* link-local, global */
    unsigned arp;
    tick_t arp_at[3];
};

static unsigned which(const struct ip_addr *a)
{
    return ip_is_link_local(a) ? 0 : 1;
}

static void watch_start(void *ctx, unsigned side, const struct pkt *p, tick_t now)
{
    struct start *st = ctx;
    struct ether_hdr eth;
    struct ipv6_hdr ip;
    struct nd_msg m;
    ck_assert_int_gt(ether_parse(p->data, p->len, &eth), 0);
    if (side != 1)
        return;
    const uint8_t *at = p->data + ETHER_LEN;
    uint32_t len = p->len - ETHER_LEN;
    if (eth.type == ETHER_TYPE_ARP) {
        struct arp_msg arp;
        ck_assert_int_gt(arp_parse(at, len, &arp), 0);
        if (st->arp == 0) /* the probe, then announcements */
            ck_assert(ip_is_unspecified(&arp.sender_ip));
        else
            ck_assert(ip_eq(&arp.sender_ip, &arp.target_ip));
        ck_assert_uint_lt(st->arp, 3);
        st->arp_at[st->arp++] = now;
        return;
    }
    int n = ipv6_parse(at, len, len, &ip);
    ck_assert_int_gt(n, 0);
    if (nd_parse(at + n, len - (uint32_t)n, &ip, &m) < 0)
        return; /* it joins its groups */
    if (m.type == ICMPV6_NEIGH_SOLICIT) {
        ck_assert(ip_is_unspecified(&ip.src));
        ck_assert_uint_eq(st->probe[which(&m.target)], 0);
        st->probe[which(&m.target)] = now;
    } else {
        ck_assert_uint_eq(st->preferred[which(&m.target)], 0);
        st->preferred[which(&m.target)] = now;
    }
}

START_TEST(addresses_are_tried_before_use)
{
    struct start start[HOSTS] = {0};
    build(run_seed(1));
    for (unsigned i = 0; i < HOSTS; i++) {
        line[i]->seen = watch_start;
        line[i]->ctx = &start[i];
    }
    sim_run(&s, 10 * TICK_SEC);
    for (unsigned i = 0; i < HOSTS; i++) {
        const struct start *st = &start[i];
        /* RFC 5227 2 */
        ck_assert_uint_eq(st->arp, 3);
        ck_assert_uint_eq(st->arp_at[0], SIM_START);
        ck_assert_uint_eq(st->arp_at[1], SIM_START + TICK_SEC);
        ck_assert_uint_eq(st->arp_at[2], SIM_START + 3 * TICK_SEC);
        for (unsigned k = 0; k < 2; k++) {
            /* RFC 4862 5.4.2: up to a second of random delay, then a second of silence */
            ck_assert_uint_ge(st->probe[k], SIM_START);
            ck_assert_uint_lt(st->probe[k], SIM_START + TICK_SEC);
            ck_assert_uint_eq(st->preferred[k], st->probe[k] + TICK_SEC);
        }
        ck_assert_uint_ne(st->probe[0], st->probe[1]);
        if (i > 0)
            ck_assert_uint_ne(st->probe[1], start[i - 1].probe[1]);
        ck_assert_uint_eq(sim_host_count(host[i], COUNTER_DAD_DUPLICATES), 0);
    }
    sim_fini(&s);
}
END_TEST

START_TEST(tentative_address_does_not_answer)
{
    build(run_seed(2));
    struct ip_addr to = plan_addr6(1);
    struct mac_addr mac = plan_mac(1);
    enum ctl_address_state state;
    sim_run(&s, TICK_SEC / 2);
    ck_assert(sim_host_address(host[0], 0, &to, &state) && state == CTL_ADDRESS_TENTATIVE);
    pinger_fix(pinger, &to, &mac);
    uint32_t early = pinger_ping(pinger, &to, 56);
    sim_run(&s, 2 * TICK_SEC);
    ck_assert(sim_host_address(host[0], 0, &to, &state) && state == CTL_ADDRESS_PREFERRED);
    ck_assert_uint_eq(pinger_rtt(pinger, early), TICK_NEVER);
    ck_assert_uint_eq(sim_host_drops(host[0], DROP_IP_TENTATIVE), 1);
    uint32_t late = pinger_ping(pinger, &to, 56);
    sim_run(&s, TICK_SEC);
    ck_assert_uint_ne(pinger_rtt(pinger, late), TICK_NEVER);
    sim_fini(&s);
}
END_TEST

/* The first reply takes four ways, question and answer included, each later one two. */
START_TEST(replies_come_at_their_exact_time)
{
    static const enum counter questions[] = {COUNTER_ARP_TX_REQUESTS, COUNTER_ND_TX_SOLICITS};
    build(run_seed(3));
    sim_run(&s, 4 * TICK_SEC);
    for (unsigned family = 0; family < 2; family++)
        for (unsigned i = 0; i < HOSTS; i++) {
            struct ip_addr to = plan_addr(i + 1, family);
            uint32_t first = pinger_ping(pinger, &to, 56);
            sim_run(&s, TICK_SEC);
            uint32_t second = pinger_ping(pinger, &to, 65507);
            sim_run(&s, TICK_SEC);
            ck_assert_uint_eq(pinger_rtt(pinger, first), 4 * way(i));
            ck_assert_uint_eq(pinger_rtt(pinger, second), 2 * way(i));
            /* It was asked, so it need not ask: these tried and announced its addresses. */
            ck_assert_uint_eq(sim_host_count(host[i], questions[family]), family ? 2 : 3);
        }
    ck_assert_uint_eq(pinger->replies, 4 * HOSTS);
    ck_assert_uint_eq(pinger->arp_replies, HOSTS);
    for (unsigned i = 0; i < HOSTS; i++) {
        ck_assert_uint_eq(sim_host_count(host[i], COUNTER_ICMP_TX_ECHO), 4);
        ck_assert_uint_eq(sim_host_count(host[i], COUNTER_FRAG_REASSEMBLED), 2);
    }
    sim_fini(&s);
}
END_TEST

/* The pinger knows where the host is, which must itself find the pinger. */
START_TEST(stack_resolves_whom_it_answers)
{
    build(run_seed(4));
    sim_run(&s, 3 * TICK_SEC);
    for (unsigned family = 0; family < 2; family++)
        for (unsigned i = 0; i < HOSTS; i++) {
            struct ip_addr to = plan_addr(i + 1, family);
            struct mac_addr mac = plan_mac(i + 1);
            pinger_fix(pinger, &to, &mac);
            uint32_t first = pinger_ping(pinger, &to, 56);
            sim_run(&s, TICK_SEC);
            ck_assert_uint_eq(pinger_rtt(pinger, first), 4 * way(i));
        }
    for (unsigned i = 0; i < HOSTS; i++) {
        struct ip_addr p = plan_addr6(PINGER);
        struct ctl_neighbour row;
        ck_assert(sim_host_neighbour(host[i], 0, &p, &row));
        ck_assert_int_eq(row.state, CTL_NEIGHBOUR_REACHABLE);
        ck_assert(mac_eq(&row.mac, &pinger->cfg.mac));
    }
    sim_fini(&s);
}
END_TEST

START_TEST(packets_wait_for_a_neighbour_up_to_the_bound)
{
    build(run_seed(5));
    sim_run(&s, 3 * TICK_SEC);
    struct ip_addr to = plan_addr4(1);
    struct mac_addr mac = plan_mac(1);
    pinger_fix(pinger, &to, &mac);
    for (unsigned i = 0; i < 68; i++)
        pinger_ping(pinger, &to, 56);
    sim_run(&s, TICK_SEC);
    ck_assert_uint_eq(pinger->replies, 64);
    ck_assert_uint_eq(sim_host_drops(host[0], DROP_NEIGH_QUEUE_FULL), 4);
    for (unsigned i = 0; i < 68; i++) /* RFC 4861 7.2.2: the oldest make room */
        ck_assert_int_eq(pinger_rtt(pinger, i) != TICK_NEVER, i >= 4);
    sim_fini(&s);
}
END_TEST

START_TEST(absent_neighbour_is_asked_three_times)
{
    build(run_seed(6));
    sim_run(&s, 3 * TICK_SEC);
    pinger->cfg.silent = true;
    struct ip_addr to = plan_addr4(1), me = plan_addr4(PINGER);
    struct mac_addr mac = plan_mac(1);
    struct ctl_neighbour row;
    pinger_fix(pinger, &to, &mac);
    uint64_t asked = sim_host_count(host[0], COUNTER_ARP_TX_REQUESTS);
    pinger_ping(pinger, &to, 56);
    sim_run(&s, way(0) + 2999 * TICK_MS);
    ck_assert(sim_host_neighbour(host[0], 0, &me, &row));
    ck_assert(row.state == CTL_NEIGHBOUR_INCOMPLETE && row.queued == 1);
    sim_run(&s, TICK_MS);
    ck_assert(sim_host_neighbour(host[0], 0, &me, &row));
    ck_assert(row.state == CTL_NEIGHBOUR_FAILED && row.queued == 0);
    ck_assert_uint_eq(sim_host_drops(host[0], DROP_NEIGH_UNREACHABLE), 1);
    ck_assert_uint_eq(sim_host_count(host[0], COUNTER_ARP_TX_REQUESTS), asked + 3);
    sim_run(&s, TICK_SEC);
    ck_assert(!sim_host_neighbour(host[0], 0, &me, &row));
    sim_fini(&s);
}
END_TEST

/* From another network: replies go to the gateway, which is asked for like any neighbour. */
START_TEST(replies_go_by_the_gateway)
{
    sim_init(&s, run_seed(7));
    struct sim_host_config hc = plan_host(1);
    hc.iface.gateway4 = plan_addr4(PINGER);
    hc.iface.gateway6 = plan_addr6(PINGER);
    host[0] = sim_host_create(&s, &hc);
    struct pinger_config pc = plan_pinger(PINGER);
    ck_assert(ip_parse("192.0.2.9", &pc.behind4) && ip_parse("2001:db8:2::9", &pc.behind6));
    pinger = pinger_create(&s, &pc);
    node_chain(
        (struct node *[]){&host[0]->node, delay_create(&s, TICK_MS, 0), &pinger->node, NULL});
    sim_run(&s, 3 * TICK_SEC);
    for (unsigned family = 0; family < 2; family++) {
        struct ip_addr to = plan_addr(1, family), gateway = plan_addr(PINGER, family);
        struct mac_addr mac = plan_mac(1);
        struct ctl_neighbour row;
        pinger_fix(pinger, &to, &mac);
        uint32_t first = pinger_ping(pinger, &to, 3000);
        sim_run(&s, TICK_SEC);
        uint32_t second = pinger_ping(pinger, &to, 65507);
        sim_run(&s, TICK_SEC);
        ck_assert_uint_eq(pinger_rtt(pinger, first), 4 * TICK_MS);
        ck_assert_uint_eq(pinger_rtt(pinger, second), 2 * TICK_MS);
        ck_assert(sim_host_neighbour(host[0], 0, &gateway, &row));
        ck_assert(row.router && row.state == CTL_NEIGHBOUR_REACHABLE);
    }
    ck_assert_uint_eq(sim_host_neighbours(host[0], 0), 2);
    sim_fini(&s);
}
END_TEST

SIM_MAIN("lan", replies_go_by_the_gateway, addresses_are_tried_before_use,
         tentative_address_does_not_answer, replies_come_at_their_exact_time,
         stack_resolves_whom_it_answers, packets_wait_for_a_neighbour_up_to_the_bound,
         absent_neighbour_is_asked_three_times)
