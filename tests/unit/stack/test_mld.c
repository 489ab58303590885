/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/mld.h"

static const struct ip_addr REPORTERS = {{0xff, 2, [15] = 0x16}};
static const struct ip_addr ROUTERS = {{0xff, 2, [15] = 2}};
static const struct ip_addr US_THIRD = {{0x20, 1, 0xd, 0xb8, [13] = 9, 9, 9}};

/* A report of version 2 from src; returns its records. */
static unsigned expect_report(const struct frame_seen *s, const struct ip_addr *src)
{
    ck_assert_uint_eq(s->icmp6.type, MLD2_REPORT);
    ck_assert_ip(s->src, *src);
    ck_assert_ip(s->dst, REPORTERS);
    ck_assert_mac(s->eth.dst, mac_of_multicast(&REPORTERS));
    ck_assert_uint_eq(s->ip6.hop_limit, 1);
    ck_assert(s->ip6.router_alert);
    unsigned n = load_be16(s->upper + 6);
    ck_assert_uint_eq(s->upper_len, mld2_report_len(n));
    return n;
}

static void expect_record(const struct frame_seen *s, unsigned k, enum mld_record_type type,
                          const struct ip_addr *a)
{
    struct ip_addr group = ip_solicited_node(a);
    const uint8_t *r = s->upper + 8 + k * MLD2_RECORD_LEN;
    ck_assert_uint_eq(r[0], type);
    ck_assert_uint_eq(load_be16(r + 2), 0);
    ck_assert_mem_eq(r + 4, group.b, 16);
}

static void query(const struct ip_addr *group, uint16_t delay_ms, bool v1)
{
    uint8_t body[28] = {MLD_QUERY};
    store_be16(body + 4, delay_ms);
    memcpy(body + 8, group->b, 16);
    const struct ip_addr *dst = ip_is_unspecified(group) ? &ALL_NODES6 : group;
    frame_bytes(&host.frame, body, v1 ? 24 : 28);
    frame_sum6(&host.frame, 2, &PEER_LL, dst);
    ipv6_alert_emit(IP_PROTO_ICMPV6, frame_push(&host.frame, IPV6_ALERT_LEN));
    frame_push_ip6(&host.frame, &(struct ipv6_hdr){.src = PEER_LL,
                                                   .dst = *dst,
                                                   .next = IP_PROTO_HOP_BY_HOP,
                                                   .hop_limit = MLD_HOP_LIMIT});
    struct mac_addr to = mac_of_multicast(dst);
    frame_push_ether(&host.frame, &to, &PEER_MAC, ETHER_TYPE_IPV6);
    hear();
}

/* One group more, its reports made and forgotten. */
static void join_third(void)
{
    host.iface[0].addr[host.iface[0].n_addrs++] = (struct ip_prefix){US_THIRD, 64};
    ck_assert_int_eq(host_configure(), 0);
    pass(3 * TICK_SEC);
    ignore();
    mark();
}

/* US_LL and US6 share a group, as they often do: an interface identifier ends both. */
START_TEST(addresses_of_one_group_join_it_once)
{
    host_create();
    unsigned reports = 0;
    while (host.now < 1003 * TICK_SEC) {
        tick_t next = stack_deadline(host.stack);
        if (next == TICK_NEVER)
            break;
        pass(next - host.now);
        while (stack_pending(host.stack, 0) > 0) {
            const struct frame_seen *s = said();
            if (s->kind != FRAME_ICMP6 || s->icmp6.type != MLD2_REPORT)
                continue;
            reports++;
            ck_assert_uint_eq(load_be16(s->upper + 6), 1);
            expect_record(s, 0, MLD_TO_EXCLUDE, &US6);
        }
    }
    ck_assert_uint_eq(reports, 3); /* two, and one when the link-local address is there */
    ck_assert_uint_eq(added(COUNTER_MLD_TX_REPORTS), 3);
    ck_assert_uint_eq(stack_deadline(host.stack), TICK_NEVER);
}
END_TEST

/* RFC 3810 6.1 */
START_TEST(what_is_joined_and_left_is_said_twice)
{
    host_boot();
    host.iface[0].addr[host.iface[0].n_addrs++] = (struct ip_prefix){US_THIRD, 64};
    ck_assert_int_eq(host_configure(), 0);
    silence(); /* until it is probed for */
    const struct frame_seen *s = said_within(TICK_SEC);
    ck_assert_uint_eq(expect_report(s, &US_LL), 1);
    expect_record(s, 0, MLD_TO_EXCLUDE, &US_THIRD);
    tick_t first = host.now;
    ck_assert_int_eq(said()->nd.type, ICMPV6_NEIGH_SOLICIT);
    s = said_within(TICK_SEC);
    ck_assert_uint_gt(host.now, first);
    ck_assert_uint_eq(expect_report(s, &US_LL), 1);
    expect_record(s, 0, MLD_TO_EXCLUDE, &US_THIRD);
    ck_assert_int_eq(said_within(TICK_SEC)->nd.type, ICMPV6_NEIGH_ADVERT);
    quiet(60 * TICK_SEC);

    host.iface[0].n_addrs--;
    ck_assert_int_eq(host_configure(), 0);
    s = said();
    ck_assert_uint_eq(expect_report(s, &US_LL), 1);
    expect_record(s, 0, MLD_TO_INCLUDE, &US_THIRD);
    s = said_within(TICK_SEC);
    expect_record(s, 0, MLD_TO_INCLUDE, &US_THIRD);
    quiet(60 * TICK_SEC);
    ck_assert_uint_eq(stack_deadline(host.stack), TICK_NEVER);
}
END_TEST

START_TEST(a_group_that_another_address_is_in_is_not_left)
{
    host_boot();
    host.iface[0].n_addrs = 1; /* US6 goes, US_LL stays */
    ck_assert_int_eq(host_configure(), 0);
    quiet(60 * TICK_SEC);
}
END_TEST

START_TEST(one_that_is_left_and_joined_again)
{
    host_boot();
    join_third();
    host.iface[0].n_addrs--;
    ck_assert_int_eq(host_configure(), 0);
    expect_record(said(), 0, MLD_TO_INCLUDE, &US_THIRD);
    host.iface[0].n_addrs++;
    ck_assert_int_eq(host_configure(), 0);
    unsigned joins = 0;
    for (tick_t end = host.now + 5 * TICK_SEC; stack_deadline(host.stack) < end;) {
        pass(stack_deadline(host.stack) - host.now);
        while (stack_pending(host.stack, 0) > 0) {
            const struct frame_seen *s = said();
            if (s->icmp6.type == MLD2_REPORT)
                joins += s->upper[8] == MLD_TO_EXCLUDE;
        }
    }
    ck_assert_uint_eq(joins, 2);
}
END_TEST

START_TEST(changes_at_different_times_are_each_said_twice)
{
    static const struct ip_addr fourth = {{0x20, 1, 0xd, 0xb8, [13] = 8, 8, 8}};
    host_boot();
    join_third();
    host.iface[0].addr[host.iface[0].n_addrs++] = (struct ip_prefix){fourth, 64};
    ck_assert_int_eq(host_configure(), 0);
    expect_record(said_within(TICK_SEC), 0, MLD_TO_EXCLUDE, &fourth);
    ignore();
    host.iface[0].addr[2] = host.iface[0].addr[3]; /* the third goes */
    host.iface[0].n_addrs--;
    ck_assert_int_eq(host_configure(), 0);
    const struct frame_seen *s = said();
    ck_assert_uint_eq(expect_report(s, &US_LL), 2);
    expect_record(s, 0, MLD_TO_INCLUDE, &US_THIRD);
    expect_record(s, 1, MLD_TO_EXCLUDE, &fourth);
    s = said_within(TICK_SEC);
    ck_assert_uint_eq(expect_report(s, &US_LL), 1);
    expect_record(s, 0, MLD_TO_INCLUDE, &US_THIRD);
}
END_TEST

START_TEST(a_duplicate_leaves_its_group)
{
    host_boot();
    host.iface[0].addr[host.iface[0].n_addrs++] = (struct ip_prefix){US_THIRD, 64};
    ck_assert_int_eq(host_configure(), 0);
    said_within(TICK_SEC);
    ignore();
    hear_advert(&US_THIRD, &ALL_NODES6, &US_THIRD, &PEER_MAC, false, true);
    const struct frame_seen *s = said();
    ck_assert_uint_eq(expect_report(s, &US_LL), 1);
    expect_record(s, 0, MLD_TO_INCLUDE, &US_THIRD);
}
END_TEST

/* RFC 3810 6.2, 6.3 */
START_TEST(a_general_query_is_answered_within_its_delay)
{
    host_boot();
    join_third();
    query(&IP_ADDR_ANY6, 10000, false);
    silence();
    tick_t asked = host.now;
    const struct frame_seen *s = said_within(10 * TICK_SEC);
    ck_assert_uint_eq(expect_report(s, &US_LL), 2);
    expect_record(s, 0, MLD_IS_EXCLUDE, &US6);
    expect_record(s, 1, MLD_IS_EXCLUDE, &US_THIRD);
    silence();
    ck_assert_uint_gt(host.now, asked);
    quiet(60 * TICK_SEC);
    ck_assert_uint_eq(added(COUNTER_MLD_RX_QUERIES), 1);
    no_drops();
}
END_TEST

START_TEST(a_query_for_a_group_is_answered_with_it)
{
    host_boot();
    join_third();
    struct ip_addr group = ip_solicited_node(&US_THIRD);
    query(&group, 1000, false);
    const struct frame_seen *s = said_within(TICK_SEC);
    ck_assert_uint_eq(expect_report(s, &US_LL), 1);
    expect_record(s, 0, MLD_IS_EXCLUDE, &US_THIRD);
    quiet(60 * TICK_SEC);
}
END_TEST

START_TEST(queries_that_meet_are_answered_together_and_in_time)
{
    host_boot();
    join_third();
    struct ip_addr group = ip_solicited_node(&US_THIRD);
    query(&group, 30000, false);
    query(&IP_ADDR_ANY6, 1, false);
    const struct frame_seen *s = said_within(TICK_MS);
    ck_assert_uint_eq(expect_report(s, &US_LL), 2);
    quiet(60 * TICK_SEC);
    query(&IP_ADDR_ANY6, 1, false);
    query(&group, 30000, false); /* does not put the first one off */
    ck_assert_uint_eq(expect_report(said_within(TICK_MS), &US_LL), 2);
    quiet(60 * TICK_SEC);
}
END_TEST

START_TEST(a_query_without_delay_is_answered_at_once)
{
    host_boot();
    query(&IP_ADDR_ANY6, 0, false);
    ck_assert_uint_eq(expect_report(said_after(0), &US_LL), 1);
}
END_TEST

/* RFC 3810 8.2.1, RFC 2710 4 */
START_TEST(an_old_querier_gets_old_reports_for_a_while)
{
    host_boot();
    join_third();
    query(&IP_ADDR_ANY6, 1, true);
    tick_t asked = host.now;
    const struct ip_addr *of[] = {&US6, &US_THIRD};
    for (int i = 0; i < 2; i++) {
        struct ip_addr group = ip_solicited_node(of[i]);
        const struct frame_seen *s = i == 0 ? said_within(TICK_MS) : said();
        ck_assert_uint_eq(s->icmp6.type, MLD1_REPORT);
        ck_assert_ip(s->dst, group);
        ck_assert_mem_eq(s->upper + 8, group.b, 16);
        ck_assert_uint_eq(s->upper_len, MLD1_LEN);
        ck_assert_uint_eq(s->ip6.hop_limit, 1);
        ck_assert(s->ip6.router_alert);
    }
    silence();
    host.iface[0].n_addrs--;
    ck_assert_int_eq(host_configure(), 0);
    const struct frame_seen *s = said();
    ck_assert_uint_eq(s->icmp6.type, MLD1_DONE);
    ck_assert_ip(s->dst, ROUTERS);
    pass(2 * TICK_SEC);
    ignore();

    quiet(asked + 260 * TICK_SEC - 1 - host.now); /* RFC 3810 9.12 */
    query(&IP_ADDR_ANY6, 0, false);
    ck_assert_uint_eq(said_after(0)->icmp6.type, MLD1_REPORT);
    quiet(1);
    query(&IP_ADDR_ANY6, 0, false);
    ck_assert_uint_eq(said_after(0)->icmp6.type, MLD2_REPORT);
}
END_TEST

START_TEST(a_query_for_a_group_we_are_not_in)
{
    struct ip_addr group = ip_solicited_node(&US_THIRD);
    host_boot();
    query(&group, 1, false);
    dropped(DROP_IP_DESTINATION);
    quiet(60 * TICK_SEC);
}
END_TEST

START_TEST(malformed_queries)
{
    host_boot();
    uint8_t body[26] = {MLD_QUERY};
    frame_bytes(&host.frame, body, sizeof(body));
    frame_sum6(&host.frame, 2, &PEER_LL, &ALL_NODES6);
    hear_ip6(&PEER_LL, &ALL_NODES6, IP_PROTO_ICMPV6);
    dropped(DROP_MLD_SHORT);
    frame_bytes(&host.frame, body, 24);
    frame_sum6(&host.frame, 2, &PEER_LL, &ALL_NODES6);
    hear_ip6(&PEER_LL, &ALL_NODES6, IP_PROTO_ICMPV6); /* hop limit 64, no router alert */
    dropped(DROP_MLD_INVALID);
    quiet(60 * TICK_SEC);
    ck_assert_uint_eq(added(COUNTER_MLD_RX_QUERIES), 0);
}
END_TEST

/* All addresses an interface can have, exchanged for others again and again. */
START_TEST(groups_are_bounded)
{
    host_boot();
    struct iface_config *c = &host.iface[0];
    for (uint8_t round = 1; round < 6; round++) {
        c->n_addrs = IFACE_ADDRS_MAX;
        for (uint8_t k = 0; k < IFACE_ADDRS_MAX; k++)
            c->addr[k] = (struct ip_prefix){{{0x20, 1, [13] = round, k, 5}}, 64};
        ck_assert_int_eq(host_configure(), 0);
        while (stack_pending(host.stack, 0) > 0) /* what it says is sound */
            said();
        for (tick_t end = host.now + 1200 * TICK_MS; stack_deadline(host.stack) < end;) {
            pass(stack_deadline(host.stack) - host.now);
            while (stack_pending(host.stack, 0) > 0)
                ck_assert_uint_le(said()->ip6.total_len, 1280);
        }
    }
    pass(60 * TICK_SEC);
    ignore();
    query(&IP_ADDR_ANY6, 0, false);
    ck_assert_uint_eq(expect_report(said_after(0), &US_LL), IFACE_ADDRS_MAX + 1);
    silence();
    ck_assert_uint_eq(stack_deadline(host.stack), TICK_NEVER);
}
END_TEST

START_TEST(only_the_primary_reports)
{
    host.config.n_workers = 2;
    host.config.worker = 1;
    host_create();
    pass(4 * TICK_SEC);
    ck_assert_uint_eq(added(COUNTER_MLD_TX_REPORTS), 0);
    silence();
    query(&IP_ADDR_ANY6, 0, false);
    quiet(TICK_SEC);
    no_drops();
}
END_TEST

START_TEST(an_empty_pool_costs_reports_alone)
{
    host_boot();
    query(&IP_ADDR_ANY6, 1, false);
    host.pool.limit = 0;
    quiet(TICK_SEC);
    dropped(DROP_NO_MEMORY);
    host.pool.limit = SIZE_MAX;
    query(&IP_ADDR_ANY6, 1, true);
    host.pool.limit = 0;
    quiet(TICK_SEC);
    dropped(DROP_NO_MEMORY);
}
END_TEST

UNIT_MAIN("mld", host_setup, host_teardown, addresses_of_one_group_join_it_once,
          what_is_joined_and_left_is_said_twice, a_group_that_another_address_is_in_is_not_left,
          one_that_is_left_and_joined_again, changes_at_different_times_are_each_said_twice,
          a_duplicate_leaves_its_group, a_general_query_is_answered_within_its_delay,
          a_query_for_a_group_is_answered_with_it,
          queries_that_meet_are_answered_together_and_in_time,
          a_query_without_delay_is_answered_at_once, an_old_querier_gets_old_reports_for_a_while,
          a_query_for_a_group_we_are_not_in, malformed_queries, groups_are_bounded,
          only_the_primary_reports, an_empty_pool_costs_reports_alone)
