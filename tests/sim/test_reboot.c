/* SPDX-License-Identifier: BSD-3-Clause */
/* Whoever comes back with another device address is found again within ten seconds. */
#include "sim/capture.h"
#include "sim/delay.h"
#include "sim/lan.h"
#include "sim/plan.h"
#include "sim/run.h"

#define PINGER 100
#define WAY    TICK_MS
#define PAUSE  (100 * TICK_MS) /* between pings */

static struct sim s;
static struct sim_host *host;
static struct pinger *pinger;

static void build(uint16_t n_workers)
{
    sim_init(&s, run_seed(1));
    struct lan *lan = lan_create(&s);
    struct sim_host_config hc = plan_host(1);
    hc.n_workers = n_workers;
    host = sim_host_create(&s, &hc);
    struct pinger_config pc = plan_pinger(PINGER);
    pinger = pinger_create(&s, &pc);
    struct capture *line = capture_create(&s, run_capture());
    node_chain((struct node *[]){&host->node, delay_create(&s, WAY / 2, 0), &lan->node,
                                 delay_create(&s, WAY / 2, 0), &line->node, &pinger->node, NULL});
    sim_run(&s, 3 * TICK_SEC);
}

/* Pings again and again, from now on and for up to `most`, until one is answered: when was that
 * asked? */
static tick_t recovery(unsigned family, tick_t most)
{
    struct ip_addr to = plan_addr(1, family);
    tick_t start = s.now;
    uint32_t first = pinger->n_pings;
    while (s.now - start < most) {
        pinger_ping(pinger, &to, 100);
        sim_run(&s, PAUSE);
        for (uint32_t i = first; i < pinger->n_pings; i++)
            if (pinger->ping[i].replies > 0)
                return pinger->ping[i].asked - start;
    }
    return TICK_NEVER;
}

/* Pings for so long; all must be answered. */
static void ping_steadily(unsigned family, tick_t length)
{
    uint32_t first = pinger->n_pings;
    struct ip_addr to = plan_addr(1, family);
    for (tick_t end = s.now + length; s.now < end; sim_run(&s, PAUSE))
        pinger_ping(pinger, &to, 100);
    for (uint32_t i = first; i < pinger->n_pings; i++)
        ck_assert_uint_ne(pinger_rtt(pinger, i), TICK_NEVER);
}

static void fix_target(unsigned family)
{
    struct ip_addr to = plan_addr(1, family);
    struct mac_addr mac = plan_mac(1);
    pinger_fix(pinger, &to, &mac);
}

/* It asks before it speaks, as all do that have just started; and so tells who it is. */
START_TEST(neighbour_that_asks_is_found_at_once)
{
    for (unsigned family = 0; family < 2; family++) {
        struct mac_addr mac = plan_mac(101);
        build(2);
        ping_steadily(family, 20 * TICK_SEC);
        pinger_reboot(pinger, &mac);
        ck_assert_uint_eq(recovery(family, 10 * TICK_SEC), 0);
        ping_steadily(family, 60 * TICK_SEC);
        ck_assert_uint_ge(sim_host_count(host, COUNTER_NEIGH_CHANGES), 1);
        sim_fini(&s);
    }
}
END_TEST

/* The stack announces its addresses when it starts. */
START_TEST(stack_that_starts_again_is_found)
{
    for (unsigned family = 0; family < 2; family++) {
        struct mac_addr mac = plan_mac(102);
        build(2);
        ping_steadily(family, 20 * TICK_SEC);
        sim_host_reboot(host, &mac);
        tick_t took = recovery(family, 10 * TICK_SEC);
        /* Once the address has been tried; an IPv4 probe teaches nobody (RFC 5227 1.1). */
        ck_assert_uint_le(took, (family ? 2 : 1) * TICK_SEC + PAUSE);
        ping_steadily(family, 60 * TICK_SEC);
        sim_fini(&s);
    }
}
END_TEST

/* It says nothing, but had been silent: five seconds of trust, three questions (RFC 4861 10). */
START_TEST(silent_change_of_a_stale_neighbour)
{
    for (unsigned family = 0; family < 2; family++) {
        struct mac_addr mac = plan_mac(103);
        struct ip_addr me = plan_addr(PINGER, family);
        struct ctl_neighbour row;
        build(1);
        fix_target(family);
        ping_steadily(family, 20 * TICK_SEC);
        sim_run(&s, 60 * TICK_SEC);
        ck_assert(sim_host_neighbour(host, 0, &me, &row) && row.state == CTL_NEIGHBOUR_STALE);
        pinger_replace_mac(pinger, &mac);
        tick_t took = recovery(family, 10 * TICK_SEC);
        ck_assert_uint_ge(took, 8 * TICK_SEC - PAUSE);
        ck_assert_uint_le(took, 8 * TICK_SEC + PAUSE);
        ping_steadily(family, 60 * TICK_SEC);
        sim_fini(&s);
    }
}
END_TEST

/* The worst: it had just answered, and is believed in for as long as that may be. */
START_TEST(silent_change_of_a_reachable_neighbour)
{
    for (unsigned family = 0; family < 2; family++) {
        struct mac_addr mac = plan_mac(104);
        build(1);
        fix_target(family);
        ping_steadily(family, TICK_SEC);
        pinger_replace_mac(pinger, &mac);
        tick_t took = recovery(family, 60 * TICK_SEC);
        ck_assert_uint_ge(took, (15 + 8 - 1) * TICK_SEC - PAUSE);
        ck_assert_uint_le(took, (45 + 8) * TICK_SEC + PAUSE);
        sim_fini(&s);
    }
}
END_TEST

SIM_MAIN("reboot", neighbour_that_asks_is_found_at_once, stack_that_starts_again_is_found,
         silent_change_of_a_stale_neighbour, silent_change_of_a_reachable_neighbour)
