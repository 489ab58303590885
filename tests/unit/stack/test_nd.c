/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <string.h>

START_TEST(a_solicitation_is_answered_to_the_asker_alone)
{
    host_boot();
    hear_solicit(&PEER6, NULL, &US6, &PEER_MAC);
    const struct frame_seen *s = said();
    ck_assert_mac(s->eth.dst, PEER_MAC);
    ck_assert_ip(s->src, US6);
    ck_assert_ip(s->dst, PEER6);
    ck_assert_uint_eq(s->ip6.hop_limit, 255);
    ck_assert_int_eq(s->nd.type, ICMPV6_NEIGH_ADVERT);
    ck_assert_ip(s->nd.target, US6);
    ck_assert(s->nd.solicited && s->nd.override && !s->nd.router);
    ck_assert(s->nd.has_target_link);
    ck_assert_mac(s->nd.target_link, US_MAC);
    silence();
    no_drops();
    ck_assert_uint_eq(added(COUNTER_ND_RX_SOLICITS), 1);
    ck_assert_uint_eq(added(COUNTER_ND_TX_ADVERTS), 1);
    ck_assert_int_eq(neighbour_state(&PEER6), CTL_NEIGHBOUR_STALE); /* RFC 4861 7.2.3 */
}
END_TEST

START_TEST(the_link_local_address_answers_for_itself)
{
    host_boot();
    hear_solicit(&PEER_LL, NULL, &US_LL, &PEER_MAC);
    const struct frame_seen *s = said();
    ck_assert_ip(s->src, US_LL);
    ck_assert_ip(s->nd.target, US_LL);
    no_drops();
}
END_TEST

/* RFC 4861 7.2.4 */
START_TEST(one_that_tries_our_address_is_told_with_all)
{
    host_boot();
    hear_solicit(&IP_ADDR_ANY6, NULL, &US6, NULL);
    const struct frame_seen *s = said();
    ck_assert_ip(s->dst, ALL_NODES6);
    ck_assert_mac(s->eth.dst, mac_of_multicast(&ALL_NODES6));
    ck_assert(!s->nd.solicited && s->nd.override);
    ck_assert_ip(s->nd.target, US6);
    silence();
    no_drops();
    ck_assert_int_eq(address_state(&US6), CTL_ADDRESS_PREFERRED);
}
END_TEST

START_TEST(one_without_its_address_is_looked_up)
{
    host_boot();
    hear_solicit(&PEER6, &US6, &US6, NULL);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->nd.type, ICMPV6_NEIGH_SOLICIT);
    ck_assert_ip(s->nd.target, PEER6);
    struct ip_addr group = ip_solicited_node(&PEER6);
    ck_assert_ip(s->dst, group);
    ck_assert_mac(s->eth.dst, mac_of_multicast(&group));
    ck_assert_mac(s->nd.source_link, US_MAC);
    hear_advert(&PEER6, &US6, &PEER6, &PEER_MAC, true, true);
    s = said();
    ck_assert_int_eq(s->nd.type, ICMPV6_NEIGH_ADVERT);
    ck_assert_ip(s->dst, PEER6);
    ck_assert_mac(s->eth.dst, PEER_MAC);
    ck_assert_uint_eq(s->ip6.hop_limit, 255);
    ck_assert(s->nd.solicited);
    silence();
    no_drops();
}
END_TEST

/* A neighbour's probe, unicast, while we know it. */
START_TEST(a_probe_without_option_is_answered_from_the_cache)
{
    host_boot();
    meet6();
    hear_solicit(&PEER6, &US6, &US6, NULL);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->nd.type, ICMPV6_NEIGH_ADVERT);
    ck_assert_mac(s->eth.dst, PEER_MAC);
    silence();
}
END_TEST

START_TEST(a_solicitation_from_a_new_mac_is_believed)
{
    host_boot();
    meet6();
    hear_solicit(&PEER6, NULL, &US6, &OTHER_MAC);
    ck_assert_mac(said()->eth.dst, OTHER_MAC);
    struct ctl_neighbour row;
    ck_assert(neighbour(&PEER6, &row));
    ck_assert_mac(row.mac, OTHER_MAC);
    ck_assert_uint_eq(added(COUNTER_NEIGH_CHANGES), 1);
}
END_TEST

START_TEST(a_target_that_is_not_ours)
{
    host_boot();
    hear_solicit(&PEER6, &US6, &OTHER6, &PEER_MAC);
    silence();
    dropped(DROP_ND_NOT_OURS);
    struct ctl_neighbour row;
    ck_assert(!neighbour(&PEER6, &row));
    hear_solicit(&PEER6, NULL, &OTHER6, &PEER_MAC); /* to a group we are not in */
    dropped(DROP_IP_DESTINATION);
}
END_TEST

START_TEST(an_echo_is_answered_once_the_neighbour_is)
{
    host_boot();
    hear_echo6(16);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->nd.type, ICMPV6_NEIGH_SOLICIT);
    ck_assert_ip(s->src, US6);
    hear_advert(&PEER6, &US6, &PEER6, &PEER_MAC, true, true);
    s = said();
    ck_assert_int_eq(s->icmp6.type, ICMPV6_ECHO_REPLY);
    ck_assert_mac(s->eth.dst, PEER_MAC);
    ck_assert_int_eq(neighbour_state(&PEER6), CTL_NEIGHBOUR_REACHABLE);
    no_drops();
    ck_assert_uint_eq(added(COUNTER_ND_RX_ADVERTS), 1);
    ck_assert_uint_eq(added(COUNTER_ND_TX_SOLICITS), 1);
}
END_TEST

START_TEST(a_neighbour_s_own_probe_goes_to_it_alone)
{
    host_boot();
    meet6();
    hear_echo6(16);
    ck_assert_int_eq(said()->icmp6.type, ICMPV6_ECHO_REPLY);
    const struct frame_seen *s = said_after(5 * TICK_SEC);
    ck_assert_int_eq(s->nd.type, ICMPV6_NEIGH_SOLICIT);
    ck_assert_ip(s->dst, PEER6);
    ck_assert_mac(s->eth.dst, PEER_MAC);
    ck_assert_mac(s->nd.source_link, US_MAC);
}
END_TEST

START_TEST(an_unsolicited_advertisement_of_an_unknown_neighbour)
{
    host_boot();
    hear_advert(&PEER6, &ALL_NODES6, &PEER6, &PEER_MAC, false, true);
    silence();
    dropped(DROP_ND_NOT_OURS);
    hear_advert(&PEER6, &US6, &PEER6, &PEER_MAC, true, true); /* another worker asked, maybe */
    no_drops();
    struct ctl_neighbour row;
    ck_assert(!neighbour(&PEER6, &row));
}
END_TEST

START_TEST(an_unsolicited_advertisement_of_a_known_one)
{
    host_boot();
    meet6();
    hear_advert(&PEER6, &ALL_NODES6, &PEER6, &OTHER_MAC, false, true);
    no_drops();
    struct ctl_neighbour row;
    ck_assert(neighbour(&PEER6, &row));
    ck_assert_mac(row.mac, OTHER_MAC);
    hear_advert(&PEER6, &ALL_NODES6, &PEER6, &PEER_MAC, false, false); /* no override */
    ck_assert(neighbour(&PEER6, &row));
    ck_assert_mac(row.mac, OTHER_MAC);
}
END_TEST

static void hear_forged(uint8_t type, uint8_t code, uint8_t hop_limit)
{
    uint8_t body[64] = {type, code};
    memcpy(body + 8, US6.b, 16);
    uint32_t n = type == ICMPV6_REDIRECT ? 40 : 24;
    memcpy(body + 24, FAR6.b, 16);
    frame_bytes(&host.frame, body, n);
    frame_sum6(&host.frame, 2, &PEER_LL, &US6);
    frame_push_ip6(&host.frame, &(struct ipv6_hdr){.src = PEER_LL,
                                                   .dst = US6,
                                                   .next = IP_PROTO_ICMPV6,
                                                   .hop_limit = hop_limit});
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV6);
    hear();
}

/* RFC 4861 7.1 */
START_TEST(messages_that_a_router_has_forwarded)
{
    host_boot();
    for (int t = ICMPV6_ROUTER_SOLICIT; t <= ICMPV6_REDIRECT; t++) {
        hear_forged((uint8_t)t, 0, 254);
        dropped(DROP_ND_INVALID);
        hear_forged((uint8_t)t, 1, 255);
        dropped(DROP_ND_INVALID);
    }
    silence();
}
END_TEST

START_TEST(routers_are_configured_and_not_heard)
{
    host_boot();
    hear_forged(ICMPV6_ROUTER_SOLICIT, 0, 255);
    dropped(DROP_ND_OPTION); /* the target is taken for options */
    static const uint8_t advert[16] = {ICMPV6_ROUTER_ADVERT};
    frame_bytes(&host.frame, advert, sizeof(advert));
    frame_sum6(&host.frame, 2, &PEER_LL, &ALL_NODES6);
    frame_push_ip6(&host.frame, &(struct ipv6_hdr){.src = PEER_LL,
                                                   .dst = ALL_NODES6,
                                                   .next = IP_PROTO_ICMPV6,
                                                   .hop_limit = 255});
    struct mac_addr to = mac_of_multicast(&ALL_NODES6);
    frame_push_ether(&host.frame, &to, &PEER_MAC, ETHER_TYPE_IPV6);
    hear();
    dropped(DROP_ICMP_TYPE);
    hear_forged(ICMPV6_REDIRECT, 0, 255);
    dropped(DROP_ND_INVALID); /* a target that is neither a router nor the destination */
    silence();
}
END_TEST

/* RFC 6980 5: once whole it would look like any other. */
START_TEST(fragments_are_refused_even_when_whole)
{
    host_boot();
    struct nd_msg m = {.type = ICMPV6_NEIGH_SOLICIT,
                       .target = US6,
                       .has_source_link = true,
                       .source_link = PEER_MAC};
    uint8_t body[ND_EMIT_MAX];
    uint32_t n = (uint32_t)nd_emit(&m, &PEER6, &US6, body);
    for (uint32_t at = 0; at < n; at += 24) {
        frame_bytes(&host.frame, body + at, n - at < 24 ? n - at : 24);
        frame_push_frag6(&host.frame, &(struct ipv6_frag){.next = IP_PROTO_ICMPV6,
                                                          .offset = (uint16_t)at,
                                                          .more = at + 24 < n,
                                                          .id = 9});
        frame_push_ip6(&host.frame,
                       &(struct ipv6_hdr){
                           .src = PEER6, .dst = US6, .next = IP_PROTO_FRAGMENT, .hop_limit = 255});
        frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV6);
        hear();
    }
    ck_assert_uint_eq(added(COUNTER_FRAG_REASSEMBLED), 1);
    silence();
    dropped(DROP_ND_INVALID);
    frame_bytes(&host.frame, body, n); /* an atomic fragment */
    frame_push_frag6(&host.frame, &(struct ipv6_frag){.next = IP_PROTO_ICMPV6, .id = 9});
    frame_push_ip6(
        &host.frame,
        &(struct ipv6_hdr){.src = PEER6, .dst = US6, .next = IP_PROTO_FRAGMENT, .hop_limit = 255});
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV6);
    hear();
    silence();
    dropped(DROP_ND_INVALID);
}
END_TEST

START_TEST(a_message_whose_views_cannot_be_joined)
{
    host_boot();
    struct nd_msg m = {.type = ICMPV6_NEIGH_SOLICIT, .target = US6};
    uint8_t body[24 + 400] = {0};
    nd_emit(&m, &PEER6, &US6, body);
    for (unsigned at = 24; at < sizeof(body); at += 8) {
        body[at] = 200; /* options that nobody knows */
        body[at + 1] = 1;
    }
    frame_bytes(&host.frame, body, sizeof(body));
    frame_sum6(&host.frame, 2, &PEER6, &US6);
    frame_push_ip6(
        &host.frame,
        &(struct ipv6_hdr){.src = PEER6, .dst = US6, .next = IP_PROTO_ICMPV6, .hop_limit = 255});
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV6);
    hear_on(0, 300, 0, 0); /* the first view has no room behind it */
    silence();
    dropped(DROP_ND_SHORT);
    hear();
    ck_assert_int_eq(said()->nd.type, ICMPV6_NEIGH_SOLICIT); /* to answer, it asks back */
    no_drops();
}
END_TEST

START_TEST(another_worker_learns_in_silence)
{
    host.config.n_workers = 2;
    host.config.worker = 1;
    host_boot();
    hear_solicit(&PEER6, NULL, &US6, &PEER_MAC);
    silence();
    no_drops();
    ck_assert_int_eq(neighbour_state(&PEER6), CTL_NEIGHBOUR_STALE);
    hear_solicit(&IP_ADDR_ANY6, NULL, &US6, NULL);
    silence();
    hear_solicit(&OTHER6, &US6, &US6, NULL);
    silence();
    no_drops();
}
END_TEST

START_TEST(without_ipv6_nothing_is_heard)
{
    host.iface[0].n_addrs = 1;
    host.iface[0].ipv6 = false;
    host_boot();
    hear_solicit(&PEER6, NULL, &US6, &PEER_MAC);
    silence();
    dropped(DROP_ETHER_TYPE);
}
END_TEST

START_TEST(an_empty_pool_costs_the_answer_alone)
{
    host_boot();
    host.pool.limit = 1; /* the question itself */
    hear_solicit(&PEER6, NULL, &US6, &PEER_MAC);
    silence();
    dropped(DROP_NO_MEMORY);
    ck_assert_int_eq(neighbour_state(&PEER6), CTL_NEIGHBOUR_STALE);
    hear_solicit(&PEER6, &US6, &US6, NULL);
    silence();
    dropped(DROP_NO_MEMORY);
}
END_TEST

UNIT_MAIN("nd", host_setup, host_teardown, a_solicitation_is_answered_to_the_asker_alone,
          the_link_local_address_answers_for_itself, one_that_tries_our_address_is_told_with_all,
          one_without_its_address_is_looked_up, a_probe_without_option_is_answered_from_the_cache,
          a_solicitation_from_a_new_mac_is_believed, a_target_that_is_not_ours,
          an_echo_is_answered_once_the_neighbour_is, a_neighbour_s_own_probe_goes_to_it_alone,
          an_unsolicited_advertisement_of_an_unknown_neighbour,
          an_unsolicited_advertisement_of_a_known_one, messages_that_a_router_has_forwarded,
          routers_are_configured_and_not_heard, fragments_are_refused_even_when_whole,
          a_message_whose_views_cannot_be_joined, another_worker_learns_in_silence,
          without_ipv6_nothing_is_heard, an_empty_pool_costs_the_answer_alone)
