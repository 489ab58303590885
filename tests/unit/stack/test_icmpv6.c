/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <string.h>

#include "base/bytes.h"

START_TEST(an_echo_comes_back_byte_for_byte)
{
    host_boot();
    meet6();
    for (uint32_t n = 0; n < 200; n++) {
        hear_echo6(n);
        const struct frame_seen *s = said();
        ck_assert_int_eq(s->icmp6.type, ICMPV6_ECHO_REPLY);
        ck_assert_uint_eq(s->icmp6.id, 7);
        ck_assert_uint_eq(s->icmp6.seq, 9);
        ck_assert_ip(s->src, US6);
        ck_assert_ip(s->dst, PEER6);
        ck_assert_uint_eq(s->upper_len, ICMPV6_LEN + n);
        ck_assert_mem_eq(s->upper + ICMPV6_LEN, host.frame.at + ETHER_LEN + 40 + ICMPV6_LEN, n);
    }
    ck_assert_uint_eq(added(COUNTER_ICMP_RX_ECHO), 200);
    ck_assert_uint_eq(added(COUNTER_ICMP_TX_ECHO), 200);
    silence();
    no_drops();
}
END_TEST

START_TEST(it_is_the_packet_itself_that_goes_back)
{
    host_boot();
    meet6();
    host.pool.limit = 1;
    hear_echo6(100);
    ck_assert_int_eq(said()->icmp6.type, ICMPV6_ECHO_REPLY);
    no_drops();
}
END_TEST

/* Every checksum that a request can have; frame_parse checks the reply's. */
START_TEST(checksums_of_all_values)
{
    host_boot();
    meet6();
    for (uint32_t w = 0; w < 0x10000; w += w < 0xff00 && w > 0x100 ? 0x35 : 1) {
        frame_bytes(&host.frame, NULL, 0);
        frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO, .id = (uint16_t)w},
                         &PEER6, &US6);
        hear_ip6(&PEER6, &US6, IP_PROTO_ICMPV6);
        ck_assert_uint_eq(said()->icmp6.id, w);
    }
    no_drops();
}
END_TEST

/* RFC 4443 4.2: from one of our addresses */
START_TEST(a_group_s_echo_comes_from_one_of_our_addresses)
{
    host_boot();
    meet6();
    for (uint32_t n = 0; n < 40; n++) {
        frame_payload(&host.frame, n);
        frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO, .id = 5}, &PEER6,
                         &ALL_NODES6);
        hear_ip6(&PEER6, &ALL_NODES6, IP_PROTO_ICMPV6);
        const struct frame_seen *s = said();
        ck_assert_int_eq(s->icmp6.type, ICMPV6_ECHO_REPLY);
        ck_assert_ip(s->src, US6);
        ck_assert_ip(s->dst, PEER6);
    }
    hear_solicit(&PEER_LL, NULL, &US_LL, &PEER_MAC);
    ignore();
    frame_payload(&host.frame, 3);
    frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO}, &PEER_LL, &ALL_NODES6);
    hear_ip6(&PEER_LL, &ALL_NODES6, IP_PROTO_ICMPV6);
    ck_assert_ip(said()->src, US_LL);
    no_drops();
}
END_TEST

START_TEST(a_group_s_echo_while_no_address_is_ready)
{
    host_create();
    frame_payload(&host.frame, 3);
    frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO}, &PEER_LL, &ALL_NODES6);
    hear_ip6(&PEER_LL, &ALL_NODES6, IP_PROTO_ICMPV6);
    silence();
    dropped(DROP_NO_SOURCE);
}
END_TEST

START_TEST(echo_can_be_off)
{
    host.config.icmp.echo = false;
    host_boot();
    hear_echo6(8);
    silence();
    dropped(DROP_ICMP_ECHO_OFF);
}
END_TEST

START_TEST(the_class_of_service_comes_back_without_congestion)
{
    host_boot();
    meet6();
    frame_payload(&host.frame, 8);
    frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO}, &PEER6, &US6);
    frame_push_ip6(&host.frame,
                   &(struct ipv6_hdr){
                       .src = PEER6, .dst = US6, .next = IP_PROTO_ICMPV6, .traffic_class = 0xbb});
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV6);
    hear();
    ck_assert_uint_eq(said()->ip6.traffic_class, 0xb8);
}
END_TEST

START_TEST(malformed_messages)
{
    host_boot();
    for (uint32_t n = 0; n < ICMPV6_LEN; n++) {
        frame_payload(&host.frame, n);
        hear_ip6(&PEER6, &US6, IP_PROTO_ICMPV6);
        dropped(DROP_ICMP6_SHORT);
    }
    hear_echo6(8);
    ignore();
    mark();
    for (uint32_t bit = 0; bit < 16 * 8; bit++) {
        uint8_t *at = host.frame.at + ETHER_LEN + 40 + bit / 8;
        *at ^= (uint8_t)(1u << bit % 8);
        hear();
        dropped(DROP_ICMP6_CHECKSUM);
        *at ^= (uint8_t)(1u << bit % 8);
    }
    host.frame.at[ETHER_LEN + 8 + 15] ^= 8; /* the source is summed too */
    hear();
    dropped(DROP_ICMP6_CHECKSUM);
    silence();
}
END_TEST

START_TEST(types_of_no_use)
{
    host_boot();
    for (int t = 0; t < 256; t++) {
        bool known = (t >= 1 && t <= 4) || t == ICMPV6_ECHO || t == 130 || (t >= 133 && t <= 137);
        if (known)
            continue;
        frame_payload(&host.frame, 40);
        frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = (uint8_t)t}, &PEER6, &US6);
        hear_ip6(&PEER6, &US6, IP_PROTO_ICMPV6);
        silence();
        dropped(DROP_ICMP_TYPE);
    }
}
END_TEST

static void hear_error(const struct icmpv6_hdr *h, const struct ip_addr *src, uint8_t next,
                       uint8_t first, uint16_t total, uint32_t quoted)
{
    frame_payload(&host.frame, total - 40u);
    host.frame.at[0] = first;
    frame_push_ip6(&host.frame, &(struct ipv6_hdr){.src = *src, .dst = PEER6, .next = next});
    host.frame.len = quoted;
    frame_push_icmp6(&host.frame, h, &OTHER6, &US6);
    hear_ip6(&OTHER6, &US6, IP_PROTO_ICMPV6);
}

static void hear_too_big(uint32_t mtu, uint16_t total)
{
    struct icmpv6_hdr h = {.type = ICMPV6_TOO_BIG, .mtu = mtu};
    hear_error(&h, &US6, IP_PROTO_ICMPV6, ICMPV6_ECHO_REPLY, total, 48);
}

/* RFC 8201 */
START_TEST(a_router_says_what_the_path_takes)
{
    host_boot();
    meet6();
    hear_too_big(1400, 1500);
    silence();
    no_drops();
    ck_assert_uint_eq(path_mtu(&PEER6), 1400);
    ck_assert_uint_eq(added(COUNTER_PMTU_LOWERED), 1);
    hear_echo6(1400);
    unsigned n;
    ck_assert_uint_eq(said_fragments(&n, 1400), 1408);
    ck_assert_uint_eq(n, 2);
    hear_too_big(1450, 1500);
    ck_assert_uint_eq(path_mtu(&PEER6), 1400);
    ck_assert_uint_eq(added(COUNTER_PMTU_LOWERED), 1);
    hear_too_big(1280, 1400);
    ck_assert_uint_eq(path_mtu(&PEER6), 1280);
    no_drops();
    hear_too_big(1279, 1400); /* RFC 8201 4 */
    dropped(DROP_ICMP_MTU);
    hear_too_big(0, 1400);
    dropped(DROP_ICMP_MTU);
    ck_assert_uint_eq(path_mtu(&PEER6), 1280);
    pass(601 * TICK_SEC);
    ck_assert_uint_eq(path_mtu(&PEER6), 0);
}
END_TEST

START_TEST(an_mtu_that_the_packet_fitted)
{
    host_boot();
    hear_too_big(1500, 1500);
    dropped(DROP_ICMP_MTU);
    hear_too_big(UINT32_MAX, 1500);
    dropped(DROP_ICMP_MTU);
    hear_too_big(65536 + 1300, 1500);
    dropped(DROP_ICMP_MTU);
    ck_assert_uint_eq(path_mtu(&PEER6), 0);
}
END_TEST

START_TEST(a_fragment_of_ours_is_quoted)
{
    host_boot();
    frame_payload(&host.frame, 100);
    frame_push_frag6(&host.frame,
                     &(struct ipv6_frag){.next = IP_PROTO_ICMPV6, .offset = 1448, .more = true});
    frame_push_ip6(&host.frame,
                   &(struct ipv6_hdr){.src = US6, .dst = PEER6, .next = IP_PROTO_FRAGMENT});
    store_be16(host.frame.at + 4, 1456); /* it was longer than what is quoted */
    frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_TOO_BIG, .mtu = 1300},
                     &OTHER6, &US6);
    hear_ip6(&OTHER6, &US6, IP_PROTO_ICMPV6);
    no_drops();
    ck_assert_uint_eq(path_mtu(&PEER6), 1300);
}
END_TEST

START_TEST(errors_about_what_we_never_sent)
{
    struct icmpv6_hdr h = {.type = ICMPV6_TOO_BIG, .mtu = 1300};
    host_boot();
    hear_error(&h, &OTHER6, IP_PROTO_ICMPV6, ICMPV6_ECHO_REPLY, 1500, 48);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    hear_error(&h, &US6, IP_PROTO_UDP, 0, 1500, 48);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    hear_error(&h, &US6, IP_PROTO_ICMPV6, ICMPV6_ECHO, 1500, 48);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    hear_error(&h, &US6, IP_PROTO_ICMPV6, ICMPV6_ECHO_REPLY, 1500, 40);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    hear_error(&h, &US_LL, IP_PROTO_ICMPV6, ICMPV6_ECHO_REPLY, 1500, 48);
    dropped(DROP_ICMP_ERROR_UNMATCHED); /* ours, but not the one that the error was sent to */
    hear_error(&h, &US6, IP_PROTO_ICMPV6, ICMPV6_ECHO_REPLY, 1500, 39);
    dropped(DROP_ICMP6_SHORT);
    ck_assert_uint_eq(path_mtu(&PEER6), 0);
    silence();
}
END_TEST

START_TEST(an_error_to_a_group_about_what_the_group_sent)
{
    host_boot();
    frame_payload(&host.frame, 1400);
    host.frame.at[0] = ICMPV6_ECHO_REPLY;
    frame_push_ip6(&host.frame,
                   &(struct ipv6_hdr){.src = ALL_NODES6, .dst = PEER6, .next = IP_PROTO_ICMPV6});
    host.frame.len = 48;
    frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_TOO_BIG, .mtu = 1300},
                     &OTHER6, &ALL_NODES6);
    hear_ip6(&OTHER6, &ALL_NODES6, IP_PROTO_ICMPV6);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    ck_assert_uint_eq(path_mtu(&PEER6), 0);
}
END_TEST

START_TEST(other_errors_about_our_replies_are_heard)
{
    host_boot();
    for (uint8_t t = 1; t <= 4; t++) {
        struct icmpv6_hdr h = {.type = t, .mtu = t == 2 ? 1300 : 0};
        hear_error(&h, &US6, IP_PROTO_ICMPV6, ICMPV6_ECHO_REPLY, 1400, 48);
        no_drops();
    }
    ck_assert_uint_eq(added(COUNTER_ICMP_RX_ERRORS), 4);
    silence();
}
END_TEST

UNIT_MAIN("icmpv6", host_setup, host_teardown, an_echo_comes_back_byte_for_byte,
          it_is_the_packet_itself_that_goes_back, checksums_of_all_values,
          a_group_s_echo_comes_from_one_of_our_addresses, a_group_s_echo_while_no_address_is_ready,
          echo_can_be_off, the_class_of_service_comes_back_without_congestion, malformed_messages,
          types_of_no_use, a_router_says_what_the_path_takes, an_mtu_that_the_packet_fitted,
          a_fragment_of_ours_is_quoted, errors_about_what_we_never_sent,
          an_error_to_a_group_about_what_the_group_sent, other_errors_about_our_replies_are_heard)
