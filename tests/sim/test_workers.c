/* SPDX-License-Identifier: BSD-3-Clause */
/* Several workers' stacks behind one device are one host to everybody else. */
#include "sim/capture.h"
#include "sim/delay.h"
#include "sim/lan.h"
#include "sim/plan.h"
#include "sim/run.h"

#define PINGERS 12
#define FIRST   100 /* number of the first pinger */
#define WAY     TICK_MS

/* Host 1 has one worker, host 2 several. */
static struct sim s;
static struct sim_host *single, *several;
static struct pinger *pinger[PINGERS];

static struct sim_host *add_host(struct lan *lan, unsigned n, uint16_t n_workers)
{
    struct sim_host_config c = plan_host(n);
    c.n_workers = n_workers;
    c.limits.neighbours = SIM_NEIGHBOURS_WATCHED; /* half of them for those not confirmed yet */
    struct sim_host *h = sim_host_create(&s, &c);
    node_chain((struct node *[]){&h->node, delay_create(&s, WAY, 0), &lan->node, NULL});
    return h;
}

static void build(uint16_t n_workers)
{
    sim_init(&s, run_seed(n_workers));
    struct lan *lan = lan_create(&s);
    single = add_host(lan, 1, 1);
    several = add_host(lan, 2, n_workers);
    for (unsigned i = 0; i < PINGERS; i++) {
        struct pinger_config c = plan_pinger(FIRST + i);
        pinger[i] = pinger_create(&s, &c);
        node_link(&pinger[i]->node, &lan->node);
    }
    sim_run(&s, 4 * TICK_SEC);
}

/* Both hosts get the same; both must have answered it the same. */
static void compare(enum counter which)
{
    ck_assert_msg(sim_host_count(single, which) == sim_host_count(several, which),
                  "%s: %llu of one worker, %llu of several", counter_name(which),
                  (unsigned long long)sim_host_count(single, which),
                  (unsigned long long)sim_host_count(several, which));
}

/* Packets that were to be answered, and answers. */
static uint64_t lost(const struct sim_host *h)
{
    uint64_t sum = 0;
    for (enum drop d = DROP_FRAG_OVERLAP; d < DROP_END; d++)
        if (d != DROP_ND_NOT_OURS)
            sum += sim_host_drops(h, d);
    return sum;
}

static void ping_all(uint32_t size)
{
    for (unsigned i = 0; i < PINGERS; i++)
        for (unsigned n = 1; n <= 2; n++)
            for (unsigned family = 0; family < 2; family++) {
                struct ip_addr to = plan_addr(n, family);
                pinger_ping(pinger[i], &to, size);
            }
    sim_run(&s, TICK_SEC / 2);
}

START_TEST(one_answer_to_each_question)
{
    static const uint32_t sizes[] = {0, 56, 1472, 1473, 9000, 65507};
    for (uint16_t n_workers = 2; n_workers <= SIM_WORKERS_MAX; n_workers++) {
        build(n_workers);
        compare(COUNTER_ARP_TX_REQUESTS); /* announcements */
        compare(COUNTER_ND_TX_SOLICITS);  /* probes */
        compare(COUNTER_ND_TX_ADVERTS);
        for (unsigned i = 0; i < 6; i++)
            ping_all(sizes[i]);
        for (unsigned i = 0; i < PINGERS; i++) {
            ck_assert_uint_eq(pinger[i]->replies, pinger[i]->n_pings);
            ck_assert_uint_eq(pinger[i]->duplicates, 0);
            ck_assert_uint_eq(pinger[i]->arp_replies, 2); /* one a host */
            ck_assert_uint_eq(pinger[i]->adverts, 2);
            for (uint32_t k = 4; k < pinger[i]->n_pings; k++) /* once they are acquainted */
                ck_assert_uint_eq(pinger_rtt(pinger[i], k), 2 * WAY);
        }
        compare(COUNTER_ICMP_TX_ECHO);
        compare(COUNTER_FRAG_REASSEMBLED);
        compare(COUNTER_FRAG_TX);
        compare(COUNTER_ARP_TX_REPLIES);
        compare(COUNTER_ND_TX_ADVERTS);
        ck_assert_uint_eq(lost(single), 0);
        ck_assert_uint_eq(lost(several), 0);
        for (unsigned w = 0; w < n_workers; w++)
            ck_assert_uint_gt(counter_get(&several->worker[w].counters, COUNTER_ICMP_TX_ECHO), 0);
        sim_fini(&s);
    }
}
END_TEST

/* Steady traffic, so that each worker has its neighbours confirmed for itself, and nobody is lost
 * while it does. */
START_TEST(every_worker_confirms_its_neighbours)
{
    build(2);
    for (unsigned i = 0; i < 200; i++)
        ping_all(100);
    for (unsigned i = 0; i < PINGERS; i++) {
        ck_assert_uint_eq(pinger[i]->replies, pinger[i]->n_pings);
        ck_assert_uint_eq(pinger[i]->duplicates, 0);
    }
    ck_assert_uint_eq(sim_host_drops(several, DROP_NEIGH_UNREACHABLE), 0);
    sim_fini(&s);
}
END_TEST

/* Fragments go by addresses, the datagram by its ports: the worker that put it together hands it
 * over. */
START_TEST(a_datagram_in_fragments_reaches_its_owner)
{
    build(2);
    ping_all(0);
    for (uint16_t port = 1; port <= 20; port++)
        for (unsigned i = 0; i < PINGERS; i++)
            for (unsigned n = 1; n <= 2; n++) {
                struct ip_addr to = plan_addr(n, port);
                pinger_udp(pinger[i], &to, (uint16_t)(40000 + port), 9, 3000);
                sim_run(&s, 20 * TICK_MS); /* under the limit on errors */
            }
    sim_run(&s, TICK_SEC);
    ck_assert_uint_eq(sim_host_drops(single, DROP_UDP_PORT), 20 * PINGERS);
    ck_assert_uint_eq(sim_host_drops(several, DROP_UDP_PORT), 20 * PINGERS);
    compare(COUNTER_ICMP_TX_ERRORS);
    ck_assert_uint_gt(several->handed_over, 20 * PINGERS / 4);
    ck_assert_uint_lt(several->handed_over, 20 * PINGERS * 3 / 4);
    for (unsigned i = 0; i < PINGERS; i++)
        ck_assert_uint_eq(pinger[i]->port_unreachable, 2 * 20);
    sim_fini(&s);
}
END_TEST

static enum ctl_address_state state_of(struct sim_host *h, unsigned worker, const struct ip_addr *a)
{
    enum ctl_address_state state;
    must(sim_host_address(h, worker, a, &state));
    return state;
}

/* Somebody already has the address. */
START_TEST(conflict_is_seen_by_all)
{
    sim_init(&s, run_seed(4));
    struct lan *lan = lan_create(&s);
    struct pinger_config c = plan_pinger(FIRST);
    c.addr6 = plan_addr6(2);
    struct pinger *owner = pinger_create(&s, &c);
    node_link(&owner->node, &lan->node);
    several = add_host(lan, 2, 3);
    struct ip_addr taken = plan_addr6(2);
    struct ip_addr own = ip_link_local_of(&several->cfg.iface.mac);
    sim_run(&s, 5 * TICK_SEC);
    for (unsigned w = 0; w < 3; w++) {
        ck_assert_int_eq(state_of(several, w, &taken), CTL_ADDRESS_DUPLICATE);
        ck_assert_int_eq(state_of(several, w, &own), CTL_ADDRESS_PREFERRED);
    }
    struct pinger_config other = plan_pinger(FIRST + 1);
    struct pinger *p = pinger_create(&s, &other);
    node_link(&p->node, &lan->node);
    struct mac_addr mac = plan_mac(2);
    pinger_fix(p, &taken, &mac);
    pinger_ping(p, &taken, 56);
    pinger_ping(p, &own, 56);
    sim_run(&s, TICK_SEC);
    ck_assert_uint_eq(pinger_rtt(p, 0), TICK_NEVER);
    ck_assert_uint_ne(pinger_rtt(p, 1), TICK_NEVER);
    sim_fini(&s);
}
END_TEST

/* Two hosts start with one address: never do both believe they have it, and all workers of one are
 * of one mind. */
static void two_of_one_address(uint64_t seed)
{
    sim_init(&s, seed);
    struct lan *lan = lan_create(&s);
    struct sim_host *h[2];
    struct ip_addr both = plan_addr6(50);
    for (unsigned i = 0; i < 2; i++) {
        struct sim_host_config c = plan_host(i + 1);
        c.n_workers = (uint16_t)sim_between(&s, 1, 3);
        c.iface.addr[1].addr = both;
        h[i] = sim_host_create(&s, &c);
        node_chain((struct node *[]){
            &h[i]->node, delay_create(&s, sim_between(&s, 0, 50 * TICK_MS), 0), &lan->node, NULL});
        /* One may have it long since when the other comes. */
        sim_run(&s, sim_between(&s, 0, 3 * TICK_SEC));
    }
    sim_run(&s, 5 * TICK_SEC);
    unsigned preferred = 0;
    for (unsigned i = 0; i < 2; i++) {
        enum ctl_address_state state = state_of(h[i], 0, &both);
        must(state != CTL_ADDRESS_TENTATIVE);
        preferred += state == CTL_ADDRESS_PREFERRED;
        for (unsigned w = 1; w < h[i]->n_workers; w++)
            must_msg(state_of(h[i], w, &both) == state, "host %u: worker 0 says %s, %u says %s",
                     i + 1, ctl_address_state_name(state), w,
                     ctl_address_state_name(state_of(h[i], w, &both)));
    }
    must_msg(preferred < 2, "both hosts have the address");
    sim_fini(&s);
}

START_TEST(an_address_has_one_owner_at_most)
{
    run_seeds(500, two_of_one_address);
}
END_TEST

SIM_MAIN("workers", one_answer_to_each_question, every_worker_confirms_its_neighbours,
         a_datagram_in_fragments_reaches_its_owner, conflict_is_seen_by_all,
         an_address_has_one_owner_at_most)
