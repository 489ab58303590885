/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/checksum.h"

static const struct ip_addr ALL4 = {{[10] = 0xff, 0xff, 224, 0, 0, 1}};
static const struct ip_addr NET4 = {{[10] = 0xff, 0xff, 192, 0, 2, 255}};
static const struct ip_addr EVERYONE = {{[10] = 0xff, 0xff, 255, 255, 255, 255}};

START_TEST(an_echo_comes_back_byte_for_byte)
{
    host_boot();
    meet4();
    for (uint32_t n = 0; n < 200; n++) {
        hear_echo4(n);
        const struct frame_seen *s = said();
        ck_assert_int_eq(s->icmp.type, ICMP_ECHO_REPLY);
        ck_assert_uint_eq(s->icmp.id, 7);
        ck_assert_uint_eq(s->icmp.seq, 9);
        ck_assert_ip(s->src, US4);
        ck_assert_ip(s->dst, PEER4);
        ck_assert_uint_eq(s->upper_len, ICMP_LEN + n);
        ck_assert_mem_eq(s->upper + ICMP_LEN, host.frame.at + ETHER_LEN + 20 + ICMP_LEN, n);
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
    meet4();
    host.pool.limit = 1; /* not one packet more */
    hear_echo4(100);
    ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
    ck_assert_uint_eq(host.views, 1);
    no_drops();
}
END_TEST

/* The sum of a request's other words decides its checksum; every value of it, the two zeros of
 * one's complement among them. frame_parse checks the reply's. */
START_TEST(checksums_around_both_zeros)
{
    static const uint16_t words[] = {0,      1,      0x07ff, 0x0800, 0x0801, 0xf7fe,
                                     0xf7ff, 0xf800, 0xf801, 0xfffe, 0xffff};
    host_boot();
    meet4();
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        for (unsigned k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
            frame_bytes(&host.frame, NULL, 0);
            frame_push_echo(&host.frame, ICMP_ECHO, words[i], words[k]);
            hear_ip4(&PEER4, &US4, IP_PROTO_ICMP);
            ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
            ck_assert_uint_eq(host.seen.icmp.id, words[i]);
        }
    no_drops();
}
END_TEST

START_TEST(a_chain_goes_back_as_a_chain)
{
    host_boot();
    meet4();
    static const uint32_t views[] = {43, 64, 299, 300, 301};
    for (unsigned i = 0; i < 5; i++) {
        hear_echo4(1001);
        said();
        hear_on(0, views[i] < 300 ? 600 + views[i] : views[i], 0, 0);
        ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
        ck_assert_uint_gt(host.views, 1);
        ck_assert_uint_eq(host.seen.upper_len, 1009);
    }
    no_drops();
}
END_TEST

START_TEST(groups_get_no_echo)
{
    const struct ip_addr *groups[] = {&ALL4, &NET4, &EVERYONE};
    host_boot();
    meet4();
    for (int i = 0; i < 3; i++) {
        frame_payload(&host.frame, 8);
        frame_push_echo(&host.frame, ICMP_ECHO, 1, 1);
        hear_ip4(&PEER4, groups[i], IP_PROTO_ICMP);
        silence();
        dropped(DROP_ICMP_ECHO_GROUP);
    }
}
END_TEST

START_TEST(echo_can_be_off)
{
    host.config.icmp.echo = false;
    host_boot();
    hear_echo4(8);
    silence();
    dropped(DROP_ICMP_ECHO_OFF);
    ck_assert_uint_eq(added(COUNTER_ICMP_RX_ECHO), 1);
    ck_assert_uint_eq(added(COUNTER_ICMP_TX_ECHO), 0);
}
END_TEST

START_TEST(the_class_of_service_comes_back_without_congestion)
{
    host_boot();
    meet4();
    frame_payload(&host.frame, 8);
    frame_push_echo(&host.frame, ICMP_ECHO, 1, 1);
    frame_push_ip4(&host.frame, &(struct ipv4_hdr){
                                    .src = PEER4, .dst = US4, .proto = IP_PROTO_ICMP, .tos = 0xbb});
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
    hear();
    ck_assert_uint_eq(said()->ip4.tos, 0xb8);
}
END_TEST

START_TEST(malformed_messages)
{
    host_boot();
    for (uint32_t n = 0; n < ICMP_LEN; n++) {
        frame_payload(&host.frame, n);
        hear_ip4(&PEER4, &US4, IP_PROTO_ICMP);
        dropped(DROP_ICMP4_SHORT);
    }
    hear_echo4(8);
    ignore();
    mark();
    for (uint32_t bit = 0; bit < 16 * 8; bit++) {
        uint8_t *at = host.frame.at + ETHER_LEN + 20 + bit / 8;
        *at ^= (uint8_t)(1u << bit % 8);
        hear();
        dropped(DROP_ICMP4_CHECKSUM);
        *at ^= (uint8_t)(1u << bit % 8);
    }
    silence();
}
END_TEST

START_TEST(types_of_no_use)
{
    host_boot();
    for (int t = 0; t < 256; t++) {
        if (t == ICMP_ECHO || (icmp_is_error((uint8_t)t) && t != ICMP_REDIRECT))
            continue;
        frame_payload(&host.frame, 40);
        frame_push_icmp(&host.frame, &(struct icmp_hdr){.type = (uint8_t)t});
        hear_ip4(&PEER4, &US4, IP_PROTO_ICMP);
        silence();
        dropped(DROP_ICMP_TYPE);
    }
}
END_TEST

/* An error from `from` about a packet of `total` bytes that src sent to PEER4, quoted up to
 * `quoted` bytes. */
static void hear_error(const struct icmp_hdr *h, const struct ip_addr *src, uint8_t proto,
                       uint8_t first, uint16_t total, uint32_t quoted)
{
    frame_payload(&host.frame, total - 20u);
    host.frame.at[0] = first;
    frame_push_ip4(&host.frame,
                   &(struct ipv4_hdr){.src = *src, .dst = PEER4, .proto = proto, .ttl = 1});
    host.frame.len = quoted;
    frame_push_icmp(&host.frame, h);
    hear_ip4(&OTHER4, &US4, IP_PROTO_ICMP);
}

static void hear_frag_needed(uint16_t mtu, uint16_t total)
{
    struct icmp_hdr h = {.type = ICMP_UNREACHABLE, .code = ICMP_FRAG_NEEDED, .mtu = mtu};
    hear_error(&h, &US4, IP_PROTO_ICMP, ICMP_ECHO_REPLY, total, 28);
}

/* RFC 1191 */
START_TEST(a_router_says_what_the_path_takes)
{
    host_boot();
    meet4();
    hear_frag_needed(1400, 1500);
    silence();
    no_drops();
    ck_assert_uint_eq(path_mtu(&PEER4), 1400);
    ck_assert_uint_eq(added(COUNTER_PMTU_LOWERED), 1);
    ck_assert_uint_eq(added(COUNTER_ICMP_RX_ERRORS), 1);
    hear_echo4(1400);
    unsigned n;
    ck_assert_uint_eq(said_fragments(&n, 1400), 1408);
    ck_assert_uint_eq(n, 2);
    hear_frag_needed(1450, 1500); /* it never rises */
    ck_assert_uint_eq(path_mtu(&PEER4), 1400);
    no_drops();
    hear_frag_needed(100, 1500); /* nor falls so far */
    ck_assert_uint_eq(path_mtu(&PEER4), 552);
    pass(601 * TICK_SEC);
    ck_assert_uint_eq(path_mtu(&PEER4), 0);
}
END_TEST

/* RFC 1191 7.1 */
START_TEST(an_old_router_leaves_it_to_be_guessed)
{
    static const struct {
        uint16_t sent, guess;
    } table[] = {{1500, 1492}, {1492, 1006}, {1006, 552}, {8166, 4352}, {65535, 32000}};
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        host_destroy();
        host_setup();
        host_boot();
        hear_frag_needed(0, table[i].sent);
        ck_assert_uint_eq(path_mtu(&PEER4), table[i].guess);
        no_drops();
    }
}
END_TEST

START_TEST(an_mtu_that_the_packet_fitted)
{
    host_boot();
    hear_frag_needed(1500, 1500);
    dropped(DROP_ICMP_MTU);
    hear_frag_needed(65535, 1500);
    dropped(DROP_ICMP_MTU);
    ck_assert_uint_eq(path_mtu(&PEER4), 0);
    silence();
}
END_TEST

START_TEST(errors_about_what_we_never_sent)
{
    struct icmp_hdr h = {.type = ICMP_UNREACHABLE, .code = ICMP_FRAG_NEEDED, .mtu = 600};
    host_boot();
    hear_error(&h, &OTHER4, IP_PROTO_ICMP, ICMP_ECHO_REPLY, 1500, 28);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    hear_error(&h, &US4, IP_PROTO_TCP, 0, 1500, 28);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    hear_error(&h, &US4, IP_PROTO_ICMP, ICMP_ECHO, 1500, 28);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    hear_error(&h, &US4, IP_PROTO_ICMP, ICMP_ECHO_REPLY, 1500, 20); /* quoted without its type */
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    hear_error(&h, &US4, IP_PROTO_ICMP, ICMP_ECHO_REPLY, 1500, 19);
    dropped(DROP_ICMP4_SHORT);
    ck_assert_uint_eq(path_mtu(&PEER4), 0);
    ck_assert_uint_eq(added(COUNTER_ICMP_RX_ERRORS), 0);
    silence();
}
END_TEST

START_TEST(errors_sent_to_another_of_our_addresses)
{
    host.config.n_ifaces = 2;
    host_boot();
    struct icmp_hdr h = {.type = ICMP_UNREACHABLE, .code = ICMP_FRAG_NEEDED, .mtu = 600};
    hear_error(&h, &US_B4, IP_PROTO_ICMP, ICMP_ECHO_REPLY, 1500, 28);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    frame_payload(&host.frame, 8); /* or to a group */
    frame_push_ip4(&host.frame,
                   &(struct ipv4_hdr){.src = US4, .dst = PEER4, .proto = IP_PROTO_ICMP});
    frame_push_icmp(&host.frame, &h);
    hear_ip4(&OTHER4, &ALL4, IP_PROTO_ICMP);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    frame_payload(&host.frame, 1480); /* as if the group itself had sent it */
    host.frame.at[0] = ICMP_ECHO_REPLY;
    frame_push_ip4(&host.frame,
                   &(struct ipv4_hdr){.src = ALL4, .dst = PEER4, .proto = IP_PROTO_ICMP});
    host.frame.len = 28;
    frame_push_icmp(&host.frame, &h);
    hear_ip4(&OTHER4, &ALL4, IP_PROTO_ICMP);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    ck_assert_uint_eq(path_mtu(&PEER4), 0);
}
END_TEST

START_TEST(a_later_fragment_of_ours_is_quoted_without_its_type)
{
    host_boot();
    frame_payload(&host.frame, 8);
    frame_push_ip4(
        &host.frame,
        &(struct ipv4_hdr){.src = US4, .dst = PEER4, .proto = IP_PROTO_ICMP, .frag_offset = 1480});
    store_be16(host.frame.at + 2, 1500); /* it was longer than what is quoted */
    frame_push_icmp(
        &host.frame,
        &(struct icmp_hdr){.type = ICMP_UNREACHABLE, .code = ICMP_FRAG_NEEDED, .mtu = 900});
    hear_ip4(&OTHER4, &US4, IP_PROTO_ICMP);
    ck_assert_uint_eq(path_mtu(&PEER4), 900);
    no_drops();
}
END_TEST

START_TEST(other_errors_about_our_replies_are_heard)
{
    static const uint8_t types[] = {ICMP_UNREACHABLE, ICMP_SOURCE_QUENCH, ICMP_TIME_EXCEEDED,
                                    ICMP_PARAM_PROBLEM};
    host_boot();
    for (int i = 0; i < 4; i++) {
        struct icmp_hdr h = {.type = types[i]};
        hear_error(&h, &US4, IP_PROTO_ICMP, ICMP_ECHO_REPLY, 100, 28);
        no_drops();
    }
    ck_assert_uint_eq(added(COUNTER_ICMP_RX_ERRORS), 4);
    silence();
}
END_TEST

UNIT_MAIN("icmp", host_setup, host_teardown, an_echo_comes_back_byte_for_byte,
          it_is_the_packet_itself_that_goes_back, checksums_around_both_zeros,
          a_chain_goes_back_as_a_chain, groups_get_no_echo, echo_can_be_off,
          the_class_of_service_comes_back_without_congestion, malformed_messages, types_of_no_use,
          a_router_says_what_the_path_takes, an_old_router_leaves_it_to_be_guessed,
          an_mtu_that_the_packet_fitted, errors_about_what_we_never_sent,
          errors_sent_to_another_of_our_addresses,
          a_later_fragment_of_ours_is_quoted_without_its_type,
          other_errors_about_our_replies_are_heard)
