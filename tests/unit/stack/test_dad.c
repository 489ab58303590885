/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include "base/bytes.h"

static void only_ipv4(void)
{
    host.iface[0].n_addrs = 1;
    host.iface[0].ipv6 = false;
}

/* Its link-local address alone. */
static void only_link_local(void)
{
    host.iface[0].n_addrs = 0;
}

static void expect_announcement4(const struct frame_seen *s)
{
    ck_assert_int_eq(s->arp.op, ARP_REQUEST);
    ck_assert_mac(s->eth.dst, MAC_BROADCAST);
    ck_assert_ip(s->arp.sender_ip, US4);
    ck_assert_ip(s->arp.target_ip, US4);
}

static void expect_probe4(const struct frame_seen *s)
{
    ck_assert_int_eq(s->arp.op, ARP_REQUEST);
    ck_assert_mac(s->eth.dst, MAC_BROADCAST);
    ck_assert(ip_is_unspecified(&s->arp.sender_ip));
    ck_assert_ip(s->arp.target_ip, US4);
}

/* RFC 5227 2.1.1, 2.3; in use from the start */
START_TEST(an_ipv4_address_is_tried_and_announced_twice)
{
    only_ipv4();
    host_create();
    ck_assert_int_eq(address_state(&US4), CTL_ADDRESS_PREFERRED);
    silence(); /* nothing before the first wake-up */
    expect_probe4(said_after(0));
    expect_announcement4(said_after(TICK_SEC));
    expect_announcement4(said_after(2 * TICK_SEC));
    ck_assert_uint_eq(stack_deadline(host.stack), TICK_NEVER);
    quiet(3600 * TICK_SEC);
    no_drops();
}
END_TEST

START_TEST(an_ipv4_address_that_another_has_is_given_up)
{
    only_ipv4();
    host_create();
    expect_probe4(said_after(0));
    hear_arp(ARP_REPLY, &US_MAC, &OTHER_MAC, &US4, &US4);
    dropped(DROP_ARP_CONFLICT);
    ck_assert_uint_eq(added(COUNTER_DAD_DUPLICATES), 1);
    ck_assert_int_eq(address_state(&US4), CTL_ADDRESS_DUPLICATE);
    quiet(60 * TICK_SEC);
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &US4);
    silence(); /* the other answers */
}
END_TEST

/* RFC 5227 2.4 */
START_TEST(an_ipv4_address_that_was_announced_is_defended)
{
    only_ipv4();
    host_create();
    expect_probe4(said_after(0));
    expect_announcement4(said_after(TICK_SEC));
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &OTHER_MAC, &US4, &US4);
    dropped(DROP_ARP_CONFLICT);
    expect_announcement4(said());
    ck_assert_int_eq(address_state(&US4), CTL_ADDRESS_PREFERRED);
}
END_TEST

/* A report that the group of a, and no other, is joined. */
static void expect_join(const struct frame_seen *s, const struct ip_addr *a)
{
    struct ip_addr group = ip_solicited_node(a);
    ck_assert_uint_eq(s->icmp6.type, 143);
    ck_assert_uint_eq(load_be16(s->upper + 6), 1);
    ck_assert_uint_eq(s->upper[8], 4);
    ck_assert_mem_eq(s->upper + 12, group.b, 16);
}

static void expect_probe(const struct frame_seen *s, const struct ip_addr *a)
{
    struct ip_addr group = ip_solicited_node(a);
    ck_assert_int_eq(s->nd.type, ICMPV6_NEIGH_SOLICIT);
    ck_assert_ip(s->src, IP_ADDR_ANY6);
    ck_assert_ip(s->dst, group);
    ck_assert_mac(s->eth.dst, mac_of_multicast(&group));
    ck_assert_ip(s->nd.target, *a);
    ck_assert(!s->nd.has_source_link); /* RFC 4861 4.3 */
}

/* Runs to the probe for the link-local address. */
static tick_t run_to_probe(void)
{
    host_create();
    tick_t start = host.now;
    silence();
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_TENTATIVE);
    tick_t delay = stack_deadline(host.stack) - host.now;
    ck_assert_uint_lt(delay, TICK_SEC);
    expect_join(said_after(delay), &US_LL);
    expect_probe(said(), &US_LL);
    silence();
    return host.now - start;
}

/* RFC 4862 5.4 */
START_TEST(an_ipv6_address_is_tried_then_announced)
{
    only_link_local();
    run_to_probe();
    ck_assert_uint_eq(added(COUNTER_DAD_PROBES), 1);
    tick_t probed = host.now;
    while (host.now < probed + TICK_SEC - 1) { /* but for the second report of the group */
        tick_t next = stack_deadline(host.stack);
        pass((next < probed + TICK_SEC ? next : probed + TICK_SEC - 1) - host.now);
    }
    ck_assert_uint_le(ignore(), 1);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_TENTATIVE);
    const struct frame_seen *s = said_after(1);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_PREFERRED);
    ck_assert_int_eq(s->nd.type, ICMPV6_NEIGH_ADVERT);
    ck_assert_ip(s->src, US_LL);
    ck_assert_ip(s->dst, ALL_NODES6);
    ck_assert_ip(s->nd.target, US_LL);
    ck_assert(s->nd.override && !s->nd.solicited && !s->nd.router);
    ck_assert_mac(s->nd.target_link, US_MAC);
    expect_join(said(), &US_LL); /* now from an address (RFC 3590 4) */
    ck_assert_ip(host.seen.src, US_LL);
    silence();
    quiet(3600 * TICK_SEC);
    ck_assert_uint_eq(stack_deadline(host.stack), TICK_NEVER);
    no_drops();
}
END_TEST

START_TEST(the_delay_is_random)
{
    only_link_local();
    tick_t first = run_to_probe();
    unsigned same = 0;
    for (uint8_t i = 0; i < 8; i++) {
        host_destroy();
        host.now += i;
        struct stack_env env = {.mem = &host.heap.mem,
                                .pool = &host.pool.pool,
                                .counters = &host.counters,
                                .seed = {i, 77}};
        host.stack = stack_create(&host.config, &env, host.now, NULL);
        same += stack_deadline(host.stack) - host.now == first;
    }
    ck_assert_uint_eq(same, 0);
}
END_TEST

static void expect_duplicate(void)
{
    dropped(DROP_ND_CONFLICT);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_DUPLICATE);
    ck_assert_uint_eq(counter_get(&host.counters, COUNTER_DAD_DUPLICATES), 1);
    ignore(); /* the group is left: test_mld.c */
    pass(10 * TICK_SEC);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_DUPLICATE);
    ck_assert_uint_eq(stack_deadline(host.stack), TICK_NEVER);
    ignore();
    mark();
    hear_solicit(&PEER_LL, NULL, &US_LL, &PEER_MAC); /* it is not ours */
    silence();
    dropped(DROP_IP_DESTINATION);
}

/* RFC 4862 5.4.3 */
START_TEST(another_that_tries_the_same_is_a_conflict)
{
    only_link_local();
    run_to_probe();
    hear_solicit(&IP_ADDR_ANY6, NULL, &US_LL, NULL);
    expect_duplicate();
}
END_TEST

START_TEST(it_is_even_before_our_own_probe)
{
    only_link_local();
    host_create();
    hear_solicit(&IP_ADDR_ANY6, NULL, &US_LL, NULL);
    expect_duplicate();
}
END_TEST

/* RFC 4862 5.4.4; hosts advertise from the very address */
START_TEST(one_that_has_it_says_so)
{
    only_link_local();
    run_to_probe();
    hear_advert(&US_LL, &ALL_NODES6, &US_LL, &OTHER_MAC, false, true);
    expect_duplicate();
}
END_TEST

START_TEST(or_says_so_from_another_address)
{
    only_link_local();
    run_to_probe();
    hear_advert(&PEER_LL, &ALL_NODES6, &US_LL, &OTHER_MAC, false, true);
    expect_duplicate();
}
END_TEST

START_TEST(our_own_probe_come_back_is_no_conflict)
{
    only_link_local();
    run_to_probe();
    frame_bytes(&host.frame, host.said, host.said_len); /* the probe, from a loop */
    hear();
    dropped(DROP_ETHER_SOURCE);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_TENTATIVE);
}
END_TEST

START_TEST(a_question_about_a_tentative_address_is_not_answered)
{
    only_link_local();
    run_to_probe();
    hear_solicit(&PEER_LL, NULL, &US_LL, &PEER_MAC);
    silence();
    dropped(DROP_IP_TENTATIVE);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_TENTATIVE);
}
END_TEST

START_TEST(a_claim_on_a_preferred_address_changes_nothing)
{
    only_link_local();
    host_boot();
    hear_advert(&PEER_LL, &ALL_NODES6, &US_LL, &OTHER_MAC, false, true);
    silence();
    dropped(DROP_ND_CONFLICT);
    hear_advert(&US_LL, &ALL_NODES6, &US_LL, &OTHER_MAC, false, true);
    silence();
    dropped(DROP_IP_SOURCE);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_PREFERRED);
}
END_TEST

/* It hears what the primary hears, and must not take it otherwise: it tries just as long. */
START_TEST(another_worker_tries_when_the_primary_does)
{
    only_link_local();
    host.config.n_workers = 2;
    host_create();
    tick_t delay = stack_deadline(host.stack) - host.now;
    host_destroy();
    host.config.worker = 1;
    host_create();
    quiet(delay + TICK_SEC - 1);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_TENTATIVE);
    quiet(1);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_PREFERRED);
    host_destroy();
    host_create();
    quiet(delay + TICK_SEC - 1);
    hear_advert(&US_LL, &ALL_NODES6, &US_LL, &OTHER_MAC, false, true);
    dropped(DROP_ND_CONFLICT);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_DUPLICATE);
    quiet(10 * TICK_SEC);
}
END_TEST

START_TEST(the_holder_of_a_duplicate_can_be_talked_to)
{
    host.iface[0].addr[1].addr = PEER6; /* both of us have it */
    host_create();
    hear_advert(&PEER6, &ALL_NODES6, &PEER6, &PEER_MAC, false, true);
    dropped(DROP_ND_CONFLICT);
    pass(4 * TICK_SEC);
    ignore();
    mark();
    frame_payload(&host.frame, 8);
    frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO}, &PEER6, &US_LL);
    hear_ip6(&PEER6, &US_LL, IP_PROTO_ICMPV6);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->nd.type, ICMPV6_NEIGH_SOLICIT);
    ck_assert_ip(s->nd.target, PEER6);
    hear_advert(&PEER6, &US_LL, &PEER6, &PEER_MAC, true, true);
    s = said();
    ck_assert_int_eq(s->icmp6.type, ICMPV6_ECHO_REPLY);
    ck_assert_mac(s->eth.dst, PEER_MAC);
    no_drops();
}
END_TEST

START_TEST(an_empty_pool_does_not_stop_the_clock)
{
    only_link_local();
    host_create();
    host.pool.limit = 0;
    pass(4 * TICK_SEC);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_PREFERRED);
    ck_assert_uint_eq(stack_deadline(host.stack), TICK_NEVER);
    silence();
}
END_TEST

UNIT_MAIN("dad", host_setup, host_teardown, an_ipv4_address_is_tried_and_announced_twice,
          an_ipv4_address_that_another_has_is_given_up,
          an_ipv4_address_that_was_announced_is_defended, an_ipv6_address_is_tried_then_announced,
          the_delay_is_random, another_that_tries_the_same_is_a_conflict,
          it_is_even_before_our_own_probe, one_that_has_it_says_so, or_says_so_from_another_address,
          our_own_probe_come_back_is_no_conflict,
          a_question_about_a_tentative_address_is_not_answered,
          a_claim_on_a_preferred_address_changes_nothing,
          another_worker_tries_when_the_primary_does, the_holder_of_a_duplicate_can_be_talked_to,
          an_empty_pool_does_not_stop_the_clock)
