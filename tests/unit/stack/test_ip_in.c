/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <string.h>

#include "base/bytes.h"
#include "stack/internal.h"

static struct ip_addr ip(const char *text)
{
    struct ip_addr a;
    ck_assert_msg(ip_parse(text, &a), "%s", text);
    return a;
}

static void echo4(const struct ip_addr *src, const struct ip_addr *dst)
{
    frame_payload(&host.frame, 8);
    frame_push_echo(&host.frame, ICMP_ECHO, 1, 2);
    hear_ip4(src, dst, IP_PROTO_ICMP);
}

static void echo6(const struct ip_addr *src, const struct ip_addr *dst)
{
    frame_payload(&host.frame, 8);
    frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO}, src, dst);
    hear_ip6(src, dst, IP_PROTO_ICMPV6);
}

/* RFC 1122 3.2.1.3, RFC 4291 2.5; and from ourselves (the LAND attack). */
START_TEST(sources_that_no_host_can_have)
{
    static const char *const v4[] = {"0.0.0.0",         "0.1.2.3",     "127.0.0.1", "224.0.0.1",
                                     "255.255.255.255", "192.0.2.255", "192.0.2.1", "203.0.113.1"};
    static const char *const v6[] = {"::",          "::1",           "ff02::1",        "ff0e::1",
                                     "2001:db8::1", "2001:db8:b::1", "fe80::ff:fe00:1"};
    host.config.n_ifaces = 2;
    host_boot();
    for (unsigned i = 0; i < sizeof(v4) / sizeof(v4[0]); i++) {
        struct ip_addr src = ip(v4[i]);
        echo4(&src, &US4);
        silence();
        dropped(DROP_IP_SOURCE);
    }
    for (unsigned i = 0; i < sizeof(v6) / sizeof(v6[0]); i++) {
        struct ip_addr src = ip(v6[i]);
        echo6(&src, &US6);
        silence();
        dropped(DROP_IP_SOURCE);
    }
    ck_assert_uint_eq(added(COUNTER_ICMP_RX_ECHO), 0);
}
END_TEST

START_TEST(destinations_that_are_not_ours)
{
    static const char *const v4[] = {"192.0.2.9", "0.0.0.0",   "127.0.0.1",  "192.0.2.0",
                                     "224.0.0.2", "239.1.1.1", "203.0.113.1"};
    static const char *const v6[] = {"2001:db8::9", "::",      "::1",
                                     "ff02::2",     "ff01::1", "ff02::1:ff12:3456"};
    host_boot();
    for (unsigned i = 0; i < sizeof(v4) / sizeof(v4[0]); i++) {
        struct ip_addr dst = ip(v4[i]);
        echo4(&PEER4, &dst);
        silence();
        dropped(DROP_IP_DESTINATION);
    }
    for (unsigned i = 0; i < sizeof(v6) / sizeof(v6[0]); i++) {
        struct ip_addr dst = ip(v6[i]);
        echo6(&PEER6, &dst);
        silence();
        dropped(DROP_IP_DESTINATION);
    }
}
END_TEST

START_TEST(any_interface_s_address_is_ours_but_not_link_local)
{
    host.config.n_ifaces = 2;
    host_boot();
    meet4();
    meet6();
    echo4(&PEER4, &US_B4);
    ck_assert_ip(said()->src, US_B4);
    echo6(&PEER6, &US_B6);
    ck_assert_ip(said()->src, US_B6);
    no_drops();
    struct ip_addr theirs = ip_link_local_of(&host.iface[1].mac);
    ck_assert_int_eq(address_state(&theirs), CTL_ADDRESS_PREFERRED);
    echo6(&PEER6, &theirs);
    silence();
    dropped(DROP_IP_DESTINATION);
}
END_TEST

/* RFC 4862 5.4 */
START_TEST(a_tentative_destination)
{
    host_create();
    echo6(&PEER6, &US6);
    silence();
    dropped(DROP_IP_TENTATIVE);
    frame_payload(&host.frame, 8); /* nor does an error come from it */
    frame_push_udp(&host.frame, 1, 2, &PEER6, &US6);
    hear_ip6(&PEER6, &US6, IP_PROTO_UDP);
    silence();
    dropped(DROP_IP_TENTATIVE);
}
END_TEST

/* RFC 1122 3.3.6 */
START_TEST(unicast_in_a_broadcast_frame)
{
    host_boot();
    meet4();
    frame_payload(&host.frame, 8);
    frame_push_echo(&host.frame, ICMP_ECHO, 1, 2);
    frame_push_ip4(&host.frame,
                   &(struct ipv4_hdr){.src = PEER4, .dst = US4, .proto = IP_PROTO_ICMP});
    frame_push_ether(&host.frame, &MAC_BROADCAST, &PEER_MAC, ETHER_TYPE_IPV4);
    hear();
    silence();
    dropped(DROP_IP_DESTINATION);
}
END_TEST

START_TEST(a_source_route_ends_here)
{
    static const uint8_t routes[] = {131, 137};
    host_boot();
    for (int i = 0; i < 2; i++) {
        frame_payload(&host.frame, 8);
        frame_push_echo(&host.frame, ICMP_ECHO, 1, 2);
        frame_push_ip4(&host.frame, &(struct ipv4_hdr){.src = PEER4,
                                                       .dst = US4,
                                                       .proto = IP_PROTO_ICMP,
                                                       .options = {routes[i], 7, 4, 192, 0, 2, 1},
                                                       .options_len = 8});
        frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
        hear();
        silence();
        dropped(DROP_IP_SOURCE_ROUTE);
    }
}
END_TEST

START_TEST(other_options_are_ignored)
{
    host_boot();
    meet4();
    frame_payload(&host.frame, 8);
    frame_push_echo(&host.frame, ICMP_ECHO, 1, 2);
    frame_push_ip4(&host.frame, &(struct ipv4_hdr){.src = PEER4,
                                                   .dst = US4,
                                                   .proto = IP_PROTO_ICMP,
                                                   .options = {7, 7, 4, 0, 0, 0, 0, 1},
                                                   .options_len = 8});
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
    hear();
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->icmp.type, ICMP_ECHO_REPLY);
    ck_assert_uint_eq(s->ip4.options_len, 0);
    ck_assert_uint_eq(s->upper_len, 16);
    no_drops();
}
END_TEST

/* The whole frame comes in, padded as short frames are. */
START_TEST(what_is_behind_the_packet_is_not_the_packet_s)
{
    host_boot();
    meet4();
    meet6();
    uint8_t pad[100];
    hear_echo4(4);
    said();
    memcpy(pad, host.frame.at, host.frame.len);
    memset(pad + host.frame.len, 0xee, sizeof(pad) - host.frame.len);
    frame_bytes(&host.frame, pad, sizeof(pad));
    hear();
    ck_assert_uint_eq(said()->upper_len, 12);
    hear_echo6(4);
    said();
    memcpy(pad, host.frame.at, host.frame.len);
    memset(pad + host.frame.len, 0xee, sizeof(pad) - host.frame.len);
    frame_bytes(&host.frame, pad, sizeof(pad));
    hear();
    ck_assert_uint_eq(said()->upper_len, 12);
    no_drops();
}
END_TEST

START_TEST(the_device_s_word_on_the_header_checksum)
{
    host_boot();
    meet4();
    hear_echo4(8);
    said();
    host.frame.at[ETHER_LEN + 10] ^= 1;
    hear();
    silence();
    dropped(DROP_IP4_CHECKSUM);
    hear_on(0, 0, PKT_RX_IP_CSUM_OK, 0); /* it is believed */
    ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
    host.frame.at[ETHER_LEN + 10] ^= 1;
    hear_on(0, 0, PKT_RX_IP_CSUM_BAD, 0);
    silence();
    dropped(DROP_IP4_CHECKSUM);
}
END_TEST

START_TEST(headers_split_over_views)
{
    host_boot();
    meet4();
    meet6();
    for (unsigned family = 0; family < 2; family++)
        for (uint32_t first = 1; first < 100; first++) {
            (family ? hear_echo6 : hear_echo4)(100);
            said();
            hear_split(first);
            ck_assert_uint_eq(said()->upper_len, 108);
        }
    no_drops();
}
END_TEST

/* An interface set to less than its link carries tells senders as a router would. */
START_TEST(more_than_the_interface_takes)
{
    host.iface[0].mtu = 1280;
    host_boot();
    meet4();
    meet6();
    hear_echo6(1300 - 48);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->icmp6.type, ICMPV6_TOO_BIG);
    ck_assert_uint_eq(s->icmp6.mtu, 1280);
    ck_assert_uint_eq(host.said_len, ETHER_LEN + 1280);
    dropped(DROP_TOO_BIG);
    hear_echo6(1280 - 48);
    ck_assert_int_eq(said()->icmp6.type, ICMPV6_ECHO_REPLY);

    frame_payload(&host.frame, 1300);
    frame_push_echo(&host.frame, ICMP_ECHO, 1, 2);
    frame_push_ip4(&host.frame,
                   &(struct ipv4_hdr){
                       .src = PEER4, .dst = US4, .proto = IP_PROTO_ICMP, .dont_fragment = true});
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
    hear();
    s = said();
    ck_assert_int_eq(s->icmp.type, ICMP_UNREACHABLE);
    ck_assert_int_eq(s->icmp.code, ICMP_FRAG_NEEDED);
    ck_assert_uint_eq(s->icmp.mtu, 1280);
    dropped(DROP_TOO_BIG);
    hear_echo4(1300); /* who lets it be cut has no need to know */
    unsigned n;
    ck_assert_uint_eq(said_fragments(&n, 1280), 1308);
    ck_assert_uint_eq(n, 2);
    no_drops();
}
END_TEST

/* The largest there is, both ways. */
START_TEST(sixty_five_thousand_bytes_over_ipv4)
{
    host_boot();
    meet4();
    frame_payload(&host.frame, 65507);
    frame_push_echo(&host.frame, ICMP_ECHO, 7, 9);
    hear_fragments4(&PEER4, IP_PROTO_ICMP, 1480);
    ck_assert_uint_eq(added(COUNTER_FRAG_RX), 45);
    ck_assert_uint_eq(added(COUNTER_FRAG_REASSEMBLED), 1);
    unsigned n;
    uint32_t len = said_fragments(&n, 1500);
    ck_assert_uint_eq(n, 45);
    ck_assert_uint_eq(added(COUNTER_FRAG_TX), 45);
    ck_assert_uint_eq(len, 65515);
    ck_assert_uint_eq(host.said[0], ICMP_ECHO_REPLY);
    ck_assert(checksum_ok(checksum_add(CHECKSUM_EMPTY, host.said, len)));
    frame_payload(&host.frame, 65507);
    ck_assert_mem_eq(host.said + ICMP_LEN, host.frame.at, 65507);
    silence();
    no_drops();
}
END_TEST

START_TEST(sixty_five_thousand_bytes_over_ipv6)
{
    host_boot();
    meet6();
    frame_payload(&host.frame, 65527);
    frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO, .id = 7, .seq = 9},
                     &PEER6, &US6);
    hear_fragments6(&PEER6, IP_PROTO_ICMPV6, 1448);
    unsigned n;
    uint32_t len = said_fragments(&n, 1500);
    ck_assert_uint_eq(n, 46);
    ck_assert_uint_eq(len, 65535);
    ck_assert_uint_eq(host.said[0], ICMPV6_ECHO_REPLY);
    struct checksum c = checksum_pseudo(&US6, &PEER6, IP_PROTO_ICMPV6, len);
    ck_assert(checksum_ok(checksum_add(c, host.said, len)));
    frame_payload(&host.frame, 65527);
    ck_assert_mem_eq(host.said + ICMPV6_LEN, host.frame.at, 65527);
    silence();
    no_drops();
}
END_TEST

START_TEST(fragments_of_all_sizes)
{
    static const uint32_t pieces[] = {8, 24, 64, 552, 1480};
    host_boot();
    meet4();
    meet6();
    for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        frame_payload(&host.frame, 900);
        frame_push_echo(&host.frame, ICMP_ECHO, 7, 9);
        hear_fragments4(&PEER4, IP_PROTO_ICMP, pieces[i]);
        ck_assert_uint_eq(said()->upper_len, 908);
        frame_payload(&host.frame, 900);
        frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO}, &PEER6, &US6);
        hear_fragments6(&PEER6, IP_PROTO_ICMPV6, pieces[i]);
        ck_assert_uint_eq(said()->upper_len, 908);
    }
    no_drops();
}
END_TEST

/* Hop-by-hop, destination options, a routing header that is used up, an atomic fragment. */
START_TEST(extension_headers_are_stepped_over)
{
    host_boot();
    meet6();
    frame_payload(&host.frame, 4);
    frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO, .id = 3}, &PEER6, &US6);
    static const uint8_t options[8] = {0, 0, 1, 4};
    memcpy(frame_push(&host.frame, 8), options, 8);
    host.frame.at[0] = IP_PROTO_ICMPV6;
    frame_push_frag6(&host.frame, &(struct ipv6_frag){.next = IP_PROTO_DEST_OPTIONS});
    memset(frame_push(&host.frame, 8), 0, 8);
    host.frame.at[0] = IP_PROTO_FRAGMENT;
    memcpy(frame_push(&host.frame, 8), options, 8);
    host.frame.at[0] = IP_PROTO_ROUTING;
    hear_ip6(&PEER6, &US6, IP_PROTO_HOP_BY_HOP);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->icmp6.type, ICMPV6_ECHO_REPLY);
    ck_assert_uint_eq(s->icmp6.id, 3);
    ck_assert_uint_eq(s->ip6.upper_at, IPV6_LEN); /* and left behind */
    no_drops();
}
END_TEST

START_TEST(fragments_that_never_meet_are_given_up)
{
    host_boot();
    meet4();
    meet6();
    frame_payload(&host.frame, 900);
    frame_push_udp(&host.frame, 5, 6, &PEER4, &US4);
    frame_push_ip4(
        &host.frame,
        &(struct ipv4_hdr){
            .src = PEER4, .dst = US4, .id = 5, .proto = IP_PROTO_UDP, .more_fragments = true});
    host.frame.len -= 4; /* a multiple of eight: 904 bytes */
    store_be16(host.frame.at + 2, 924);
    store_be16(host.frame.at + 10, 0);
    store_be16(host.frame.at + 10,
               checksum_finish(checksum_add(CHECKSUM_EMPTY, host.frame.at, 20)));
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
    hear();
    quiet(30 * TICK_SEC - 1);
    const struct frame_seen *s = said_after(1); /* RFC 1122 3.3.2 */
    ck_assert_int_eq(s->icmp.type, ICMP_TIME_EXCEEDED);
    ck_assert_int_eq(s->icmp.code, ICMP_REASSEMBLY_EXCEEDED);
    dropped(DROP_FRAG_TIMEOUT);

    frame_payload(&host.frame, 64);
    frame_push_frag6(&host.frame, &(struct ipv6_frag){.next = IP_PROTO_UDP, .more = true});
    hear_ip6(&PEER6, &US6, IP_PROTO_FRAGMENT);
    for (int i = 0; i < 60; i++) { /* the first answer makes the neighbour a known one */
        pass(TICK_SEC);
        while (stack_pending(host.stack, 0) > 0) {
            s = said();
            if (s->kind == FRAME_ICMP6 && s->icmp6.type == ICMPV6_TIME_EXCEEDED)
                break;
        }
    }
    ck_assert_int_eq(s->icmp6.type, ICMPV6_TIME_EXCEEDED); /* RFC 8200 4.5 */
    ck_assert_int_eq(s->icmp6.code, ICMPV6_REASSEMBLY_EXCEEDED);
    dropped(DROP_FRAG_TIMEOUT);
    frame_payload(&host.frame, 64); /* without the first, nobody can be told */
    frame_push_frag6(&host.frame, &(struct ipv6_frag){.next = IP_PROTO_UDP, .offset = 64});
    hear_ip6(&PEER6, &US6, IP_PROTO_FRAGMENT);
    pass(61 * TICK_SEC);
    ignore();
    dropped(DROP_FRAG_TIMEOUT);
    ck_assert_uint_eq(added(COUNTER_ICMP_TX_ERRORS), 2);
}
END_TEST

/* RFC 7112 5 */
START_TEST(a_first_fragment_without_its_headers)
{
    host_boot();
    meet6();
    static const uint8_t options[8] = {IP_PROTO_UDP, 0, 1, 4};
    frame_bytes(&host.frame, options, 8);
    frame_push_frag6(&host.frame, &(struct ipv6_frag){.next = IP_PROTO_DEST_OPTIONS, .more = true});
    hear_ip6(&PEER6, &US6, IP_PROTO_FRAGMENT);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->icmp6.type, ICMPV6_PARAM_PROBLEM);
    ck_assert_int_eq(s->icmp6.code, ICMPV6_TINY_FRAGMENT);
    ck_assert_uint_eq(s->icmp6.pointer, 0);
    dropped(DROP_FRAG_TINY);
}
END_TEST

/* RFC 8200 4.5; the parser sees one, reassembly the other */
START_TEST(fragments_beyond_the_longest_packet)
{
    host_boot();
    meet6();
    frame_payload(&host.frame, 64);
    frame_push_frag6(&host.frame,
                     &(struct ipv6_frag){.next = IP_PROTO_UDP, .offset = 65528, .id = 3});
    hear_ip6(&PEER6, &US6, IP_PROTO_FRAGMENT);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->icmp6.code, ICMPV6_BAD_FIELD);
    ck_assert_uint_eq(s->icmp6.pointer, 42);
    dropped(DROP_IP6_FRAGMENT);

    frame_payload(&host.frame, 60); /* not a multiple of eight */
    frame_push_frag6(&host.frame, &(struct ipv6_frag){.next = IP_PROTO_UDP, .more = true, .id = 4});
    hear_ip6(&PEER6, &US6, IP_PROTO_FRAGMENT);
    s = said();
    ck_assert_int_eq(s->icmp6.code, ICMPV6_BAD_FIELD);
    ck_assert_uint_eq(s->icmp6.pointer, 4);
    dropped(DROP_IP6_FRAGMENT);
}
END_TEST

START_TEST(an_ipv6_packet_for_a_device_without_ipv6)
{
    host.iface[0].ipv6 = false;
    host.iface[0].n_addrs = 1;
    host_boot();
    echo6(&PEER6, &US6);
    silence();
    dropped(DROP_ETHER_TYPE);
}
END_TEST

/* Fragments come by address, their datagram belongs where its ports say. */
START_TEST(a_whole_datagram_goes_to_the_worker_of_its_flow)
{
    host.config.n_workers = 4;
    host_boot();
    meet4();
    struct steer steer;
    steer_init(&steer, 4);
    unsigned kept = 0;
    for (uint16_t port = 1000; port < 1040; port++) {
        unsigned handed = host.handed;
        frame_payload(&host.frame, 2000);
        frame_push_udp(&host.frame, port, 53, &PEER4, &US4);
        hear_fragments4(&PEER4, IP_PROTO_UDP, 1480);
        uint16_t owner = steer_worker(&steer, steer_hash(&PEER4, &US4, port, 53));
        if (owner == 0) {
            ck_assert_uint_eq(host.handed, handed);
            ck_assert_int_eq(said()->icmp.code, ICMP_PORT_UNREACHABLE);
            dropped(DROP_UDP_PORT);
            kept++;
            continue;
        }
        ck_assert_uint_eq(host.handed, handed + 1);
        ck_assert_uint_eq(host.handed_to, owner);
        ck_assert(host.handed_pkt->flags & PKT_REASSEMBLED);
        ck_assert_uint_eq(host.handed_pkt->total, ETHER_LEN + 20 + 8 + 2000);
        ck_assert_uint_eq(steer_owner(&steer, host.handed_pkt), owner);
        silence();
        no_drops();
    }
    ck_assert_uint_gt(kept, 2);
    ck_assert_uint_gt(host.handed, 20);
}
END_TEST

START_TEST(and_is_taken_there)
{
    host.iface[0].vlan = 12;
    host.config.n_workers = 2;
    host_boot();
    frame_payload(&host.frame, 2000);
    uint16_t port = 1000;
    struct steer steer;
    steer_init(&steer, 2);
    while (steer_worker(&steer, steer_hash(&PEER4, &US4, port, 53)) == 0)
        port++;
    frame_push_udp(&host.frame, port, 53, &PEER4, &US4);
    uint8_t udp[2008];
    memcpy(udp, host.frame.at, sizeof(udp));
    for (uint16_t at = 0; at < 2008; at = (uint16_t)(at + 1480)) {
        frame_bytes(&host.frame, udp + at, at == 0 ? 1480 : 528);
        frame_push_ip4(&host.frame, &(struct ipv4_hdr){.src = PEER4,
                                                       .dst = US4,
                                                       .id = 3,
                                                       .proto = IP_PROTO_UDP,
                                                       .frag_offset = at,
                                                       .more_fragments = at == 0});
        frame_push_tagged(&host.frame, &US_MAC, &PEER_MAC, 12, ETHER_TYPE_IPV4);
        hear();
    }
    ck_assert_uint_eq(host.handed, 1);
    struct pkt *p = host.handed_pkt;
    host.handed_pkt = NULL;
    uint32_t len = p->total;
    uint8_t bytes[3000];
    pkt_copy_out(p, 0, bytes, len);
    uint16_t flags = p->flags, vlan = p->vlan;
    pkt_free(p);
    host_destroy();

    host.config.worker = 1;
    host_boot();
    frame_bytes(&host.frame, bytes, len);
    hear_on(0, 0, flags, vlan);
    dropped(DROP_UDP_PORT);
    ck_assert_uint_eq(added(COUNTER_RX_PACKETS), 0); /* its fragments were, by the other worker */
    ck_assert_uint_eq(added(COUNTER_RX_BYTES), 0);
    ck_assert_uint_eq(host.handed, 1); /* it goes no further */
}
END_TEST

UNIT_MAIN("ip_in", host_setup, host_teardown, sources_that_no_host_can_have,
          destinations_that_are_not_ours, any_interface_s_address_is_ours_but_not_link_local,
          a_tentative_destination, unicast_in_a_broadcast_frame, a_source_route_ends_here,
          other_options_are_ignored, what_is_behind_the_packet_is_not_the_packet_s,
          the_device_s_word_on_the_header_checksum, headers_split_over_views,
          more_than_the_interface_takes, sixty_five_thousand_bytes_over_ipv4,
          sixty_five_thousand_bytes_over_ipv6, fragments_of_all_sizes,
          extension_headers_are_stepped_over, fragments_that_never_meet_are_given_up,
          a_first_fragment_without_its_headers, fragments_beyond_the_longest_packet,
          an_ipv6_packet_for_a_device_without_ipv6, a_whole_datagram_goes_to_the_worker_of_its_flow,
          and_is_taken_there)
