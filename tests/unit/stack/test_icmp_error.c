/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <string.h>

#include "base/bytes.h"

static const struct ip_addr ALL4 = {{[10] = 0xff, 0xff, 224, 0, 0, 1}};
static const struct ip_addr NET4 = {{[10] = 0xff, 0xff, 192, 0, 2, 255}};

static void hear_udp4(uint32_t n)
{
    frame_payload(&host.frame, n);
    frame_push_udp(&host.frame, 1000, 2000, &PEER4, &US4);
    hear_ip4(&PEER4, &US4, IP_PROTO_UDP);
}

static void hear_udp6(uint32_t n)
{
    frame_payload(&host.frame, n);
    frame_push_udp(&host.frame, 1000, 2000, &PEER6, &US6);
    hear_ip6(&PEER6, &US6, IP_PROTO_UDP);
}

static void boot(void)
{
    host_boot();
    meet4();
    meet6();
}

/* The message quotes what was heard last, up to the longest that the family allows. */
static void expect_quote(const struct frame_seen *s, uint32_t most)
{
    const uint8_t *packet = host.frame.at + ETHER_LEN;
    uint32_t total = host.frame.len - ETHER_LEN;
    uint32_t n = s->upper_len - 8;
    uint32_t room = most - (s->v4 ? 20u : 40u) - 8;
    ck_assert_uint_eq(n, total < room ? total : room);
    ck_assert_mem_eq(s->upper + 8, packet, n);
}

/* RFC 1122 4.1.3.1, RFC 1812 4.3.2.3 */
START_TEST(a_closed_port_over_ipv4)
{
    static const uint32_t sizes[] = {0, 1, 20, 519, 520, 521, 1400};
    boot();
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        hear_udp4(sizes[i]);
        const struct frame_seen *s = said();
        ck_assert_int_eq(s->icmp.type, ICMP_UNREACHABLE);
        ck_assert_int_eq(s->icmp.code, ICMP_PORT_UNREACHABLE);
        ck_assert_ip(s->src, US4);
        ck_assert_ip(s->dst, PEER4);
        ck_assert_uint_le(host.said_len, ETHER_LEN + 576);
        expect_quote(s, 576);
        silence();
        dropped(DROP_UDP_PORT);
    }
    ck_assert_uint_eq(added(COUNTER_ICMP_TX_ERRORS), 7);
}
END_TEST

/* RFC 4443 2.4 c, 3.1 */
START_TEST(a_closed_port_over_ipv6)
{
    static const uint32_t sizes[] = {0, 1, 20, 1183, 1184, 1185, 1400};
    boot();
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        hear_udp6(sizes[i]);
        const struct frame_seen *s = said();
        ck_assert_int_eq(s->icmp6.type, ICMPV6_UNREACHABLE);
        ck_assert_int_eq(s->icmp6.code, ICMPV6_PORT_UNREACHABLE);
        ck_assert_ip(s->src, US6);
        ck_assert_uint_le(host.said_len, ETHER_LEN + 1280);
        expect_quote(s, 1280);
        dropped(DROP_UDP_PORT);
    }
}
END_TEST

START_TEST(a_quote_out_of_many_views)
{
    boot();
    hear_udp4(900);
    ignore();
    hear_on(0, 300, 0, 0);
    expect_quote(said(), 576);
}
END_TEST

START_TEST(no_such_protocol)
{
    boot();
    frame_payload(&host.frame, 50);
    hear_ip4(&PEER4, &US4, IP_PROTO_SCTP);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->icmp.type, ICMP_UNREACHABLE);
    ck_assert_int_eq(s->icmp.code, ICMP_PROTO_UNREACHABLE);
    expect_quote(s, 576);
    dropped(DROP_IP_PROTOCOL);

    frame_payload(&host.frame, 50); /* RFC 4443 3.4: the field that names it */
    hear_ip6(&PEER6, &US6, IP_PROTO_SCTP);
    s = said();
    ck_assert_int_eq(s->icmp6.type, ICMPV6_PARAM_PROBLEM);
    ck_assert_int_eq(s->icmp6.code, ICMPV6_BAD_NEXT_HEADER);
    ck_assert_uint_eq(s->icmp6.pointer, 6);
    dropped(DROP_IP_PROTOCOL);

    static const uint8_t options[8] = {IP_PROTO_ICMP, 0, 1, 4};
    frame_payload(&host.frame, 50);
    memcpy(frame_push(&host.frame, 8), options, 8);
    hear_ip6(&PEER6, &US6, IP_PROTO_DEST_OPTIONS);
    ck_assert_uint_eq(said()->icmp6.pointer, 40);
    dropped(DROP_IP_PROTOCOL);

    frame_payload(&host.frame, 50); /* RFC 8200 4.7 */
    hear_ip6(&PEER6, &US6, IP_PROTO_NONE);
    silence();
    dropped(DROP_IP_PROTOCOL);
}
END_TEST

START_TEST(none_to_groups_or_about_them)
{
    host_boot();
    meet4();
    meet6();
    const struct ip_addr *groups[] = {&ALL4, &NET4, &IP_ADDR_ANY6};
    for (int i = 0; i < 2; i++) {
        frame_payload(&host.frame, 8);
        frame_push_udp(&host.frame, 1, 2, &PEER4, groups[i]);
        hear_ip4(&PEER4, groups[i], IP_PROTO_UDP);
        silence();
        dropped(DROP_UDP_PORT);
        frame_payload(&host.frame, 8);
        hear_ip4(&PEER4, groups[i], IP_PROTO_SCTP);
        silence();
        dropped(DROP_IP_PROTOCOL);
    }
    frame_payload(&host.frame, 8);
    frame_push_udp(&host.frame, 1, 2, &PEER6, &ALL_NODES6);
    hear_ip6(&PEER6, &ALL_NODES6, IP_PROTO_UDP);
    silence();
    dropped(DROP_UDP_PORT);
    frame_payload(&host.frame, 8); /* RFC 4443 2.4 e.4: a link-layer group is enough */
    frame_push_udp(&host.frame, 1, 2, &PEER6, &US6);
    frame_push_ip6(&host.frame, &(struct ipv6_hdr){.src = PEER6, .dst = US6, .next = IP_PROTO_UDP});
    frame_push_ether(&host.frame, &MAC_BROADCAST, &PEER_MAC, ETHER_TYPE_IPV6);
    hear();
    silence();
    dropped(DROP_UDP_PORT);
    ck_assert_uint_eq(added(COUNTER_ICMP_TX_ERRORS), 0);
}
END_TEST

static void hear_options6(uint8_t type, const struct ip_addr *dst, const struct mac_addr *mac,
                          uint8_t ext, uint8_t upper, uint8_t upper_type)
{
    uint8_t body[16] = {upper, 0, 1, 0, type, 2, 0, 0, upper_type};
    frame_bytes(&host.frame, body, sizeof(body));
    frame_push_ip6(&host.frame, &(struct ipv6_hdr){.src = PEER6, .dst = *dst, .next = ext});
    frame_push_ether(&host.frame, mac, &PEER_MAC, ETHER_TYPE_IPV6);
    hear();
}

/* RFC 8200 4.2: the two high bits of an option that is not known */
START_TEST(unknown_options_ask_for_their_treatment)
{
    static const struct {
        uint8_t type;
        bool error, error_to_group;
    } table[] = {{0x5e, false, false}, {0x9e, true, true}, {0xde, true, false}};
    static const uint8_t exts[] = {IP_PROTO_HOP_BY_HOP, IP_PROTO_DEST_OPTIONS};
    boot();
    struct mac_addr group = mac_of_multicast(&ALL_NODES6);
    for (int e = 0; e < 2; e++)
        for (int i = 0; i < 3; i++) {
            hear_options6(table[i].type, &US6, &US_MAC, exts[e], IP_PROTO_UDP, 0);
            if (table[i].error) {
                const struct frame_seen *s = said();
                ck_assert_int_eq(s->icmp6.type, ICMPV6_PARAM_PROBLEM);
                ck_assert_int_eq(s->icmp6.code, ICMPV6_BAD_OPTION);
                ck_assert_uint_eq(s->icmp6.pointer, 44);
                ck_assert_ip(s->src, US6);
                expect_quote(s, 1280);
            }
            silence();
            dropped(DROP_IP6_EXT_OPTION);
            hear_options6(table[i].type, &ALL_NODES6, &group, exts[e], IP_PROTO_UDP, 0);
            if (table[i].error_to_group)
                ck_assert_uint_eq(said()->icmp6.pointer, 44);
            silence();
            dropped(DROP_IP6_EXT_OPTION);
            /* The same rule for the link's groups: RFC 4443 2.4 e.4 */
            hear_options6(table[i].type, &US6, &MAC_BROADCAST, exts[e], IP_PROTO_UDP, 0);
            if (table[i].error_to_group)
                ck_assert_uint_eq(said()->icmp6.pointer, 44);
            silence();
            dropped(DROP_IP6_EXT_OPTION);
        }
}
END_TEST

/* RFC 4443 2.4 e.1, e.2 */
START_TEST(none_about_errors_behind_a_faulty_header)
{
    boot();
    for (int t = 0; t < 256; t++) {
        hear_options6(0x9e, &US6, &US_MAC, IP_PROTO_DEST_OPTIONS, IP_PROTO_ICMPV6, (uint8_t)t);
        bool error = t >= 128 && t != ICMPV6_REDIRECT;
        ck_assert_uint_eq(ignore(), error ? 1 : 0);
        dropped(DROP_IP6_EXT_OPTION);
        pass(20 * TICK_MS); /* the limit is not what keeps it */
        ignore();
    }
}
END_TEST

START_TEST(routing_headers_with_segments_left)
{
    boot();
    uint8_t body[32] = {IP_PROTO_UDP, 2, 0, 1};
    frame_bytes(&host.frame, body, sizeof(body));
    hear_ip6(&PEER6, &US6, IP_PROTO_ROUTING);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->icmp6.code, ICMPV6_BAD_FIELD);
    ck_assert_uint_eq(s->icmp6.pointer, 42);
    dropped(DROP_IP6_ROUTING);
}
END_TEST

START_TEST(hop_by_hop_that_is_not_first)
{
    boot();
    static const uint8_t body[24] = {IP_PROTO_HOP_BY_HOP, 0, 1, 4, 0, 0, 0, 0,
                                     IP_PROTO_UDP,        0, 1, 4};
    frame_bytes(&host.frame, body, sizeof(body));
    hear_ip6(&PEER6, &US6, IP_PROTO_DEST_OPTIONS);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->icmp6.code, ICMPV6_BAD_NEXT_HEADER);
    ck_assert_uint_eq(s->icmp6.pointer, 40);
    dropped(DROP_IP6_EXT_ORDER);
}
END_TEST

START_TEST(faulty_headers_of_packets_for_others)
{
    boot();
    hear_options6(0x9e, &OTHER6, &US_MAC, IP_PROTO_DEST_OPTIONS, IP_PROTO_UDP, 0);
    silence();
    dropped(DROP_IP6_EXT_OPTION);
}
END_TEST

/* RFC 1122 3.2.1.8, 3.2.2.5 */
static void hear_bad_option4(const struct ip_addr *dst, uint16_t offset)
{
    frame_payload(&host.frame, 8);
    frame_push_udp(&host.frame, 1, 2, &PEER4, dst);
    struct ipv4_hdr h = {.src = PEER4,
                         .dst = *dst,
                         .proto = IP_PROTO_UDP,
                         .frag_offset = offset,
                         .options = {1, 7, 9},
                         .options_len = 4};
    frame_push_ip4(&host.frame, &h);
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
    hear();
}

START_TEST(an_ipv4_option_longer_than_its_header)
{
    boot();
    hear_bad_option4(&US4, 0);
    const struct frame_seen *s = said();
    ck_assert_int_eq(s->icmp.type, ICMP_PARAM_PROBLEM);
    ck_assert_int_eq(s->icmp.code, 0);
    ck_assert_uint_eq(s->icmp.pointer, 21);
    expect_quote(s, 576);
    dropped(DROP_IP4_OPTION);
    hear_bad_option4(&US4, 80); /* RFC 1122 3.2.2: not the first fragment */
    silence();
    dropped(DROP_IP4_OPTION);
    hear_bad_option4(&OTHER4, 0);
    silence();
    dropped(DROP_IP_DESTINATION);
}
END_TEST

START_TEST(none_about_icmp_errors)
{
    boot();
    frame_payload(&host.frame, 8);
    frame_push_icmp(&host.frame, &(struct icmp_hdr){.type = ICMP_UNREACHABLE});
    frame_push_ip4(&host.frame, &(struct ipv4_hdr){.src = PEER4,
                                                   .dst = US4,
                                                   .proto = IP_PROTO_ICMP,
                                                   .options = {1, 7, 9},
                                                   .options_len = 4});
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
    hear();
    silence();
    dropped(DROP_IP4_OPTION);
}
END_TEST

START_TEST(as_many_as_the_limit_allows)
{
    host.config.icmp.error_rate = 10;
    host.config.icmp.error_burst = 3;
    boot();
    for (int i = 0; i < 5; i++)
        hear_udp4(8);
    ck_assert_uint_eq(ignore(), 3);
    dropped_n(DROP_UDP_PORT, 5);
    ck_assert_uint_eq(added(COUNTER_ICMP_TX_ERRORS), 3);
    ck_assert_uint_eq(added(COUNTER_ICMP_ERRORS_LIMITED), 2);
    quiet(100 * TICK_MS - 1);
    hear_udp4(8);
    silence();
    quiet(1);
    hear_udp6(8); /* one limit for both families */
    ck_assert_int_eq(said()->icmp6.code, ICMPV6_PORT_UNREACHABLE);
    ck_assert_uint_eq(added(COUNTER_ICMP_ERRORS_LIMITED), 3);
}
END_TEST

START_TEST(errors_can_be_off)
{
    host.config.icmp.errors = false;
    boot();
    hear_udp4(8);
    hear_udp6(8);
    silence();
    dropped_n(DROP_UDP_PORT, 2);
    ck_assert_uint_eq(added(COUNTER_ICMP_ERRORS_LIMITED), 0);
}
END_TEST

START_TEST(no_packet_to_write_it_in)
{
    boot();
    host.pool.limit = 1;
    hear_udp4(8);
    silence();
    ck_assert_uint_eq(counter_drops(&host.counters, DROP_NO_MEMORY), 1); /* the error's */
    ck_assert_uint_eq(counter_drops(&host.counters, DROP_UDP_PORT), 1);
    ck_assert_uint_eq(added(COUNTER_ICMP_TX_ERRORS), 0);
}
END_TEST

START_TEST(an_error_about_a_group_comes_from_the_interface)
{
    boot();
    struct mac_addr group = mac_of_multicast(&ALL_NODES6);
    hear_options6(0x9e, &ALL_NODES6, &group, IP_PROTO_DEST_OPTIONS, IP_PROTO_UDP, 0);
    ck_assert_ip(said()->src, US6);
    host_destroy();
    host_create(); /* no address is ready: nothing can be said */
    hear_options6(0x9e, &ALL_NODES6, &group, IP_PROTO_DEST_OPTIONS, IP_PROTO_UDP, 0);
    silence();
}
END_TEST

UNIT_MAIN("icmp_error", host_setup, host_teardown, a_closed_port_over_ipv4, a_closed_port_over_ipv6,
          a_quote_out_of_many_views, no_such_protocol, none_to_groups_or_about_them,
          unknown_options_ask_for_their_treatment, none_about_errors_behind_a_faulty_header,
          routing_headers_with_segments_left, hop_by_hop_that_is_not_first,
          faulty_headers_of_packets_for_others, an_ipv4_option_longer_than_its_header,
          none_about_icmp_errors, as_many_as_the_limit_allows, errors_can_be_off,
          no_packet_to_write_it_in, an_error_about_a_group_comes_from_the_interface)
