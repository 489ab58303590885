/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

static const struct ip_addr ANY4 = {{[10] = 0xff, 0xff}};

START_TEST(a_request_for_us_is_answered_to_the_asker_alone)
{
    host_boot();
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &US4);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->kind, FRAME_ARP);
    ck_assert_mac(s->eth.dst, PEER_MAC);
    ck_assert_int_eq(s->arp.op, ARP_REPLY);
    ck_assert_mac(s->arp.sender_mac, US_MAC);
    ck_assert_ip(s->arp.sender_ip, US4);
    ck_assert_mac(s->arp.target_mac, PEER_MAC);
    ck_assert_ip(s->arp.target_ip, PEER4);
    silence();
    ck_assert_uint_eq(added(COUNTER_ARP_RX_REQUESTS), 1);
    ck_assert_uint_eq(added(COUNTER_ARP_TX_REPLIES), 1);
    no_drops();
    ck_assert_int_eq(neighbour_state(&PEER4), CTL_NEIGHBOUR_STALE); /* RFC 826: we will need it */
}
END_TEST

START_TEST(a_probe_is_answered_and_teaches_nothing)
{
    host_boot();
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &ANY4, &US4); /* RFC 5227 1.1 */
    ck_assert_int_eq(said()->arp.op, ARP_REPLY);
    silence();
    no_drops();
    struct ctl_neighbour row;
    ck_assert(!neighbour(&ANY4, &row));
}
END_TEST

START_TEST(a_question_about_another_is_not_ours)
{
    host_boot();
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &OTHER4);
    silence();
    dropped(DROP_ARP_NOT_OURS);
    struct ctl_neighbour row;
    ck_assert(!neighbour(&PEER4, &row)); /* nobody is remembered for asking others */
}
END_TEST

START_TEST(a_known_neighbour_that_asks_another_is_heard)
{
    host_boot();
    meet4();
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &OTHER_MAC, &PEER4, &OTHER4); /* it has a new MAC */
    silence();
    no_drops();
    ck_assert_uint_eq(added(COUNTER_NEIGH_CHANGES), 1);
    struct ctl_neighbour row;
    ck_assert(neighbour(&PEER4, &row));
    ck_assert_mac(row.mac, OTHER_MAC);
}
END_TEST

START_TEST(gratuitous_arp_updates_but_does_not_create)
{
    host_boot();
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &PEER4);
    dropped(DROP_ARP_NOT_OURS);
    meet4();
    hear_arp(ARP_REPLY, &MAC_BROADCAST, &OTHER_MAC, &PEER4, &PEER4);
    no_drops();
    struct ctl_neighbour row;
    ck_assert(neighbour(&PEER4, &row));
    ck_assert_mac(row.mac, OTHER_MAC);
    ck_assert_int_eq(row.state, CTL_NEIGHBOUR_STALE);
    ck_assert_uint_eq(row.confirmed, TICK_NEVER);
    silence();
}
END_TEST

START_TEST(our_own_question_is_asked_of_all_and_answered)
{
    host_boot();
    hear_echo4(8);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->arp.op, ARP_REQUEST);
    ck_assert_mac(s->eth.dst, MAC_BROADCAST);
    ck_assert_ip(s->arp.sender_ip, US4);
    ck_assert_ip(s->arp.target_ip, PEER4);
    hear_arp(ARP_REPLY, &US_MAC, &PEER_MAC, &PEER4, &US4);
    s = said();
    ck_assert_int_eq(s->icmp.type, ICMP_ECHO_REPLY);
    ck_assert_mac(s->eth.dst, PEER_MAC);
    silence();
    no_drops();
    ck_assert_int_eq(neighbour_state(&PEER4), CTL_NEIGHBOUR_REACHABLE);
    ck_assert_uint_eq(added(COUNTER_ARP_TX_REQUESTS), 1);
    ck_assert_uint_eq(added(COUNTER_ARP_RX_REPLIES), 1);
}
END_TEST

START_TEST(a_broadcast_reply_is_no_proof)
{
    host_boot();
    hear_echo4(8);
    ck_assert_int_eq(said()->arp.op, ARP_REQUEST);
    hear_arp(ARP_REPLY, &MAC_BROADCAST, &PEER_MAC, &PEER4, &US4);
    ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
    ck_assert_int_eq(neighbour_state(&PEER4), CTL_NEIGHBOUR_DELAY);
}
END_TEST

START_TEST(a_reply_that_nobody_asked_for_creates_nothing)
{
    host_boot();
    hear_arp(ARP_REPLY, &US_MAC, &PEER_MAC, &PEER4, &US4);
    no_drops(); /* it may be for another worker */
    struct ctl_neighbour row;
    ck_assert(!neighbour(&PEER4, &row));
    hear_arp(ARP_REPLY, &US_MAC, &PEER_MAC, &PEER4, &OTHER4);
    dropped(DROP_ARP_NOT_OURS);
}
END_TEST

START_TEST(a_probe_of_a_neighbour_goes_to_it_alone)
{
    host_boot();
    meet4();
    hear_echo4(8);
    ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
    const struct frame_seen *s = said_after(5 * TICK_SEC);
    ck_assert_int_eq(s->arp.op, ARP_REQUEST);
    ck_assert_mac(s->eth.dst, PEER_MAC);
}
END_TEST

/* RFC 5227 2.4 c */
START_TEST(a_conflict_is_defended_once_in_ten_seconds)
{
    host_boot();
    for (int i = 0; i < 3; i++) {
        hear_arp(ARP_REQUEST, &MAC_BROADCAST, &OTHER_MAC, &US4, &PEER4);
        dropped(DROP_ARP_CONFLICT);
        const struct frame_seen *s = said();
        ck_assert_int_eq(s->arp.op, ARP_REQUEST);
        ck_assert_mac(s->eth.dst, MAC_BROADCAST);
        ck_assert_ip(s->arp.sender_ip, US4);
        ck_assert_ip(s->arp.target_ip, US4);
        quiet(10 * TICK_SEC - 1);
        hear_arp(ARP_REPLY, &US_MAC, &OTHER_MAC, &US4, &US4);
        dropped(DROP_ARP_CONFLICT);
        quiet(1);
    }
    ck_assert_int_eq(address_state(&US4), CTL_ADDRESS_PREFERRED);
}
END_TEST

START_TEST(our_own_message_come_back_under_another_source_is_no_conflict)
{
    host_boot();
    struct arp_msg m = {
        .op = ARP_REQUEST, .sender_mac = US_MAC, .sender_ip = US4, .target_ip = US4};
    uint8_t body[ARP_LEN];
    arp_emit(&m, body);
    frame_bytes(&host.frame, body, sizeof(body));
    frame_push_ether(&host.frame, &MAC_BROADCAST, &OTHER_MAC, ETHER_TYPE_ARP);
    hear();
    silence();
    dropped(DROP_ARP_CONFLICT);
}
END_TEST

START_TEST(senders_that_no_host_can_be)
{
    static const struct ip_addr bad[] = {
        {{[10] = 0xff, 0xff, 224, 0, 0, 1}},
        {{[10] = 0xff, 0xff, 127, 0, 0, 1}},
        {{[10] = 0xff, 0xff, 255, 255, 255, 255}},
        {{[10] = 0xff, 0xff, 192, 0, 2, 255}},
    };
    host_boot();
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &bad[i], &US4);
        silence();
        dropped(DROP_IP_SOURCE);
    }
    ck_assert_uint_eq(added(COUNTER_ARP_RX_REQUESTS), 0);
}
END_TEST

START_TEST(malformed_messages_are_counted_as_the_parser_says)
{
    host_boot();
    struct arp_msg m = {
        .op = ARP_REQUEST, .sender_mac = PEER_MAC, .sender_ip = PEER4, .target_ip = US4};
    uint8_t body[ARP_LEN];
    arp_emit(&m, body);
    frame_bytes(&host.frame, body, ARP_LEN - 1);
    frame_push_ether(&host.frame, &MAC_BROADCAST, &PEER_MAC, ETHER_TYPE_ARP);
    hear();
    dropped(DROP_ARP_SHORT);
    body[7] = 3;
    frame_bytes(&host.frame, body, ARP_LEN);
    frame_push_ether(&host.frame, &MAC_BROADCAST, &PEER_MAC, ETHER_TYPE_ARP);
    hear();
    dropped(DROP_ARP_FORMAT);
    body[7] = 1;
    body[8] |= 1;
    frame_bytes(&host.frame, body, ARP_LEN);
    frame_push_ether(&host.frame, &MAC_BROADCAST, &PEER_MAC, ETHER_TYPE_ARP);
    hear();
    dropped(DROP_ARP_SENDER);
    silence();
}
END_TEST

START_TEST(padding_behind_a_request_is_ignored)
{
    host_boot();
    struct arp_msg m = {
        .op = ARP_REQUEST, .sender_mac = PEER_MAC, .sender_ip = PEER4, .target_ip = US4};
    uint8_t body[46] = {0};
    arp_emit(&m, body);
    frame_bytes(&host.frame, body, sizeof(body));
    frame_push_ether(&host.frame, &MAC_BROADCAST, &PEER_MAC, ETHER_TYPE_ARP);
    hear();
    ck_assert_int_eq(said()->arp.op, ARP_REPLY);
    no_drops();
}
END_TEST

START_TEST(another_worker_learns_in_silence)
{
    host.config.n_workers = 2;
    host.config.worker = 1;
    host_boot();
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &US4);
    silence();
    no_drops();
    ck_assert_int_eq(neighbour_state(&PEER4), CTL_NEIGHBOUR_STALE);
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &OTHER_MAC, &US4, &PEER4);
    silence();
    dropped(DROP_ARP_CONFLICT);
    hear_echo4(8); /* its own packets go out, of course */
    ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
}
END_TEST

START_TEST(an_empty_pool_costs_the_answer_alone)
{
    host_boot();
    host.pool.limit = 1; /* the request itself */
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &US4);
    silence();
    dropped(DROP_NO_MEMORY);
    ck_assert_int_eq(neighbour_state(&PEER4), CTL_NEIGHBOUR_STALE);
}
END_TEST

START_TEST(without_an_ipv4_address_nothing_is_ours)
{
    host.iface[0].n_addrs = 0;
    host_boot();
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &US4);
    silence();
    dropped(DROP_ARP_NOT_OURS);
}
END_TEST

UNIT_MAIN("arp", host_setup, host_teardown, a_request_for_us_is_answered_to_the_asker_alone,
          a_probe_is_answered_and_teaches_nothing, a_question_about_another_is_not_ours,
          a_known_neighbour_that_asks_another_is_heard, gratuitous_arp_updates_but_does_not_create,
          our_own_question_is_asked_of_all_and_answered, a_broadcast_reply_is_no_proof,
          a_reply_that_nobody_asked_for_creates_nothing, a_probe_of_a_neighbour_goes_to_it_alone,
          a_conflict_is_defended_once_in_ten_seconds,
          our_own_message_come_back_under_another_source_is_no_conflict,
          senders_that_no_host_can_be, malformed_messages_are_counted_as_the_parser_says,
          padding_behind_a_request_is_ignored, another_worker_learns_in_silence,
          an_empty_pool_costs_the_answer_alone, without_an_ipv4_address_nothing_is_ours)
