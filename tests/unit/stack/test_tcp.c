/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "base/bytes.h"
#include "peer.h"
#include "wire/icmp.h"
#include "wire/icmpv6.h"

static void ready(void)
{
    service = (struct service){0};
    host_setup();
}

static void boot(void)
{
    listen_on("note", 7);
    host_boot();
    meet4();
    meet6();
}

/* ---- a connection from end to end ---- */

static const uint8_t answer[64000];

static void conversation(struct peer p)
{
    uint32_t n;
    boot();
    peer_open(&p);
    peer_says(&p, TCP_ACK | TCP_PSH, 1000);
    ck_assert_uint_eq(service.bytes, 1000);
    peer_hears(&p, TCP_ACK, NULL);
    ck_assert(stream_write(service.stream, vec_of_const(answer, 500)));
    peer_hears(&p, TCP_ACK | TCP_PSH, &n);
    ck_assert_uint_eq(n, 500);
    peer_says(&p, TCP_ACK, 0);
    stream_end(service.stream);
    peer_hears(&p, TCP_ACK | TCP_FIN, NULL);
    peer_says(&p, TCP_ACK | TCP_FIN, 0);
    peer_hears(&p, TCP_ACK, NULL);
    ck_assert(service.end);
    ck_assert_uint_eq(service.ended, 1);
    silence();
    no_drops();
}

START_TEST(a_conversation_in_ipv4)
{
    conversation(peer4(1024, 7));
}
END_TEST

START_TEST(a_conversation_in_ipv6)
{
    conversation(peer6(1024, 7));
}
END_TEST

/* RFC 9293 3.10.7.4, MUST-58 and MUST-59 */
START_TEST(segments_that_come_together_share_an_ack)
{
    struct peer p = peer4(1024, 7);
    boot();
    peer_open(&p);
    for (unsigned i = 0; i < 4; i++) {
        struct tcp_hdr h = peer_header(&p, TCP_ACK);
        frame_payload(&host.frame, 1000);
        frame_push_tcp(&host.frame, &h, &p.addr, &p.us);
        hear_ip4(&p.addr, &p.us, IP_PROTO_TCP);
        p.seq = seq32_add(p.seq, 1000);
    }
    const struct tcp_hdr *h = peer_hears(&p, TCP_ACK, NULL);
    ck_assert_uint_eq(h->ack.v, p.seq.v);
    silence();
    ck_assert_uint_eq(service.bytes, 4000);
}
END_TEST

START_TEST(each_segment_reaches_its_own_connection)
{
    struct peer p[8];
    boot();
    for (unsigned i = 0; i < 8; i++) {
        p[i] = i % 2 ? peer6((uint16_t)(1024 + i / 2), 7) : peer4((uint16_t)(1024 + i / 2), 7);
        peer_open(&p[i]);
    }
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 8; i++) {
            peer_says(&p[i], TCP_ACK | TCP_PSH, 100 * (i + 1));
            peer_hears(&p[i], TCP_ACK, NULL);
        }
    for (unsigned i = 0; i < 8; i++) {
        struct ctl_connection row;
        ck_assert(connection(&p[i], &row));
        ck_assert_uint_eq(row.rx_bytes, 300 * (i + 1));
    }
    no_drops();
}
END_TEST

/* ---- what is not a segment ---- */

START_TEST(a_checksum_counts_unless_the_device_has_looked)
{
    struct peer p = peer4(1024, 7);
    struct tcp_hdr h = peer_header(&p, TCP_SYN);
    uint16_t flags[] = {0, PKT_RX_L4_CSUM_BAD, PKT_RX_L4_CSUM_OK};
    boot();
    for (unsigned i = 0; i < 3; i++) {
        frame_payload(&host.frame, 0);
        frame_push_tcp(&host.frame, &h, &PEER4, &US4);
        if (flags[i] != PKT_RX_L4_CSUM_BAD)
            host.frame.at[16] ^= 1; /* of the checksum */
        frame_push_ip4(&host.frame,
                       &(struct ipv4_hdr){.src = PEER4, .dst = US4, .proto = IP_PROTO_TCP});
        frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
        hear_on(0, 0, flags[i], 0);
        if (i < 2) {
            silence();
            dropped(DROP_TCP_CHECKSUM);
        }
    }
    p.seq = seq32_add(p.seq, 1);
    peer_hears(&p, TCP_SYN | TCP_ACK, NULL);
}
END_TEST

START_TEST(nobody_speaks_tcp_to_a_group)
{
    struct peer p = peer4(1024, 7);
    struct tcp_hdr h = peer_header(&p, TCP_SYN);
    boot();
    frame_payload(&host.frame, 0);
    frame_push_tcp(&host.frame, &h, &PEER4, &(struct ip_addr){{[10] = 0xff, 0xff, 192, 0, 2, 255}});
    frame_push_ip4(&host.frame, &(struct ipv4_hdr){.src = PEER4,
                                                   .dst = {{[10] = 0xff, 0xff, 192, 0, 2, 255}},
                                                   .proto = IP_PROTO_TCP});
    frame_push_ether(&host.frame, &MAC_BROADCAST, &PEER_MAC, ETHER_TYPE_IPV4);
    hear();
    silence();
    dropped(DROP_TCP_DESTINATION);
    frame_payload(&host.frame, 0);
    frame_push_tcp(&host.frame, &h, &PEER6, &ALL_NODES6);
    hear_ip6(&PEER6, &ALL_NODES6, IP_PROTO_TCP);
    silence();
    dropped(DROP_TCP_DESTINATION);
}
END_TEST

START_TEST(headers_may_come_in_pieces)
{
    for (uint32_t first = 1; first < 80; first++) {
        struct peer p = peer6((uint16_t)(1024 + first), 7);
        struct tcp_hdr h = peer_header(&p, TCP_SYN);
        if (first == 1)
            boot();
        frame_payload(&host.frame, 0);
        frame_push_tcp(&host.frame, &h, &PEER6, &US6);
        frame_push_ip6(&host.frame,
                       &(struct ipv6_hdr){.src = PEER6, .dst = US6, .next = IP_PROTO_TCP});
        frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV6);
        hear_split(first);
        p.seq = seq32_add(p.seq, 1);
        peer_hears(&p, TCP_SYN | TCP_ACK, NULL);
    }
    no_drops();
}
END_TEST

/* ---- resets (RFC 9293 3.10.7.1) ---- */

START_TEST(a_closed_port_resets_a_syn)
{
    for (int v4 = 0; v4 < 2; v4++) {
        struct peer p = v4 ? peer4(1024, 8) : peer6(1024, 8);
        if (v4 == 0)
            boot();
        peer_says(&p, TCP_SYN, 10);
        const struct tcp_hdr *h = peer_hears(&p, TCP_RST | TCP_ACK, NULL);
        ck_assert_uint_eq(h->seq.v, 0);
        ck_assert_uint_eq(h->ack.v, PEER_ISS + 11);
        dropped(DROP_TCP_PORT);
        ck_assert_uint_eq(connections(), 0);
    }
    ck_assert_uint_eq(added(COUNTER_TCP_RESETS_TX), 2);
}
END_TEST

START_TEST(an_ack_of_nothing_is_reset_at_its_number)
{
    static const uint16_t ports[] = {7, 8};
    boot();
    for (unsigned i = 0; i < 2; i++) {
        struct peer p = peer4(1024, ports[i]);
        p.ack = seq32(0xfffffff8);
        peer_says(&p, TCP_ACK, 20);
        const struct tcp_hdr *h = peer_hears(&p, TCP_RST, NULL);
        ck_assert_uint_eq(h->seq.v, 0xfffffff8);
        dropped(DROP_TCP_PORT);
    }
}
END_TEST

START_TEST(a_fin_of_nothing_is_reset)
{
    struct peer p = peer4(1024, 8);
    boot();
    peer_says(&p, TCP_FIN, 20);
    const struct tcp_hdr *h = peer_hears(&p, TCP_RST | TCP_ACK, NULL);
    ck_assert_uint_eq(h->ack.v, PEER_ISS + 21);
}
END_TEST

START_TEST(a_reset_is_never_answered)
{
    static const uint16_t ports[] = {7, 8};
    boot();
    for (unsigned i = 0; i < 2; i++)
        for (unsigned flags = 0; flags < 0x100; flags++) {
            struct peer p = peer4(1024, ports[i]);
            peer_says(&p, (uint16_t)(flags | TCP_RST), 0);
            silence();
        }
}
END_TEST

START_TEST(resets_are_limited)
{
    host.config.tcp.reset_rate = 50;
    boot();
    for (unsigned i = 0; i < 20; i++) {
        struct peer p = peer4(1024, 8);
        peer_says(&p, TCP_SYN, 0);
    }
    ck_assert_uint_eq(ignore(), 6); /* a burst of a tenth of a second's and one */
    dropped_n(DROP_TCP_PORT, 20);
    pass(TICK_SEC / 50);
    struct peer p = peer4(1024, 8);
    peer_says(&p, TCP_SYN, 0);
    peer_hears(&p, TCP_RST | TCP_ACK, NULL);
    peer_says(&p, TCP_SYN, 0);
    silence();
}
END_TEST

START_TEST(a_syn_in_name_only)
{
    static const uint16_t flags[] = {0, TCP_SYN | TCP_FIN, TCP_FIN, TCP_URG | TCP_PSH};
    boot();
    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct peer p = peer4(1024, 7);
        peer_says(&p, flags[i], 1);
        silence();
        dropped(DROP_TCP_FLAGS);
    }
    ck_assert_uint_eq(connections(), 0);
}
END_TEST

/* ---- ICMP about segments ---- */

/* What the host has last said comes back in an ICMP error. */
static void quote4(uint8_t type, uint8_t code, uint16_t mtu, uint32_t bytes)
{
    static uint8_t quoted[2048];
    uint32_t n = host.said_len - ETHER_LEN;
    memcpy(quoted, host.said + ETHER_LEN, n);
    frame_bytes(&host.frame, quoted, bytes < n ? bytes : n);
    frame_push_icmp(&host.frame, &(struct icmp_hdr){.type = type, .code = code, .mtu = mtu});
    hear_ip4(&OTHER4, &US4, IP_PROTO_ICMP);
    turn();
}

static void quote6(uint8_t type, uint8_t code, uint32_t value)
{
    static uint8_t quoted[1232];
    uint32_t n = host.said_len - ETHER_LEN;
    n = n < sizeof(quoted) ? n : sizeof(quoted);
    memcpy(quoted, host.said + ETHER_LEN, n);
    frame_bytes(&host.frame, quoted, n);
    struct icmpv6_hdr h = {.type = type, .code = code};
    if (type == ICMPV6_TOO_BIG)
        h.mtu = value;
    else
        h.pointer = value;
    frame_push_icmp6(&host.frame, &h, &OTHER6, &US6);
    hear_ip6(&OTHER6, &US6, IP_PROTO_ICMPV6);
    turn();
}

/* Data is on its way to p, the last of it at hand. */
static void in_flight(struct peer *p, uint32_t len)
{
    uint32_t n = 0;
    peer_open(p);
    ck_assert(stream_write(service.stream, vec_of_const(answer, len)));
    for (uint32_t got = 0; got < len; got += n) {
        said();
        n = host.seen.upper_len - host.seen.tcp.len;
    }
}

START_TEST(too_big_lowers_the_segments_of_ipv4)
{
    struct peer p = peer4(1024, 7);
    struct ctl_connection row;
    boot();
    in_flight(&p, 1400);
    ck_assert_uint_eq(host.said_len, ETHER_LEN + 40 + 1400);
    quote4(ICMP_UNREACHABLE, ICMP_FRAG_NEEDED, 1000, 28);
    ck_assert_uint_eq(path_mtu(&PEER4), 1000);
    ck_assert_uint_eq(added(COUNTER_PMTU_LOWERED), 1);
    ck_assert(connection(&p, &row));
    ck_assert_uint_eq(row.path_mtu, 1000);
    ck_assert_uint_eq(row.mss, 960);
    no_drops();
}
END_TEST

START_TEST(too_big_lowers_the_segments_of_ipv6)
{
    struct peer p = peer6(1024, 7);
    struct ctl_connection row;
    boot();
    in_flight(&p, 1400);
    quote6(ICMPV6_TOO_BIG, 0, 1300);
    ck_assert_uint_eq(path_mtu(&PEER6), 1300);
    ck_assert(connection(&p, &row));
    ck_assert_uint_eq(row.mss, 1240);
    no_drops();
}
END_TEST

START_TEST(another_connection_to_the_place_learns_when_it_sends)
{
    struct peer p = peer4(1024, 7);
    struct peer q = peer4(1025, 7);
    uint32_t n;
    boot();
    peer_open(&q);
    struct stream *other = service.stream;
    in_flight(&p, 1400);
    quote4(ICMP_UNREACHABLE, ICMP_FRAG_NEEDED, 1000, 100);
    ignore();
    ck_assert(stream_write(other, vec_of_const(answer, 1400)));
    peer_hears(&q, TCP_ACK, &n);
    ck_assert_uint_eq(n, 960);
    no_drops();
}
END_TEST

START_TEST(a_path_that_forgot_its_limit_is_used_in_full_again)
{
    struct peer p = peer4(1024, 7);
    struct ctl_connection row;
    uint32_t n;
    boot();
    in_flight(&p, 1400);
    quote4(ICMP_UNREACHABLE, ICMP_FRAG_NEEDED, 1000, 100);
    ignore();
    p.ack = seq32_add(p.ack, 1400);
    peer_says(&p, TCP_ACK, 0);
    ignore();
    pass(601 * TICK_SEC);
    ignore();
    meet4();
    ck_assert(stream_write(service.stream, vec_of_const(answer, 1400)));
    peer_hears(&p, TCP_ACK | TCP_PSH, &n);
    ck_assert_uint_eq(n, 1400);
    ck_assert(connection(&p, &row));
    ck_assert_uint_eq(row.path_mtu, 1500);
}
END_TEST

START_TEST(what_is_not_in_flight_is_not_believed)
{
    struct peer p = peer4(1024, 7);
    struct ctl_connection row;
    boot();
    in_flight(&p, 1400);
    uint8_t *seq = host.said + ETHER_LEN + 20 + 4;
    seq32_t is = seq32(load_be32(seq));
    uint32_t wrong[] = {is.v - 1, is.v + 1400, is.v + 100000, is.v - 100000};
    for (unsigned i = 0; i < 4; i++) {
        store_be32(seq, wrong[i]);
        quote4(ICMP_UNREACHABLE, ICMP_FRAG_NEEDED, 600, 28);
        dropped(DROP_ICMP_ERROR_UNMATCHED);
    }
    store_be32(seq, is.v);
    host.said[ETHER_LEN + 20] ^= 1; /* the port */
    quote4(ICMP_UNREACHABLE, ICMP_FRAG_NEEDED, 600, 28);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
    ck_assert(connection(&p, &row));
    ck_assert_uint_eq(row.path_mtu, 1500);
    ck_assert_uint_eq(path_mtu(&PEER4), 0);
}
END_TEST

START_TEST(too_little_is_quoted)
{
    struct peer p = peer4(1024, 7);
    boot();
    in_flight(&p, 1400);
    quote4(ICMP_UNREACHABLE, ICMP_FRAG_NEEDED, 600, 27);
    dropped(DROP_ICMP_ERROR_UNMATCHED);
}
END_TEST

START_TEST(an_mtu_no_less_than_what_was_sent_is_made_up)
{
    struct peer p = peer4(1024, 7);
    boot();
    in_flight(&p, 1400);
    quote4(ICMP_UNREACHABLE, ICMP_FRAG_NEEDED, 1440, 28);
    dropped(DROP_ICMP_MTU);
    ck_assert_uint_eq(path_mtu(&PEER4), 0);
}
END_TEST

START_TEST(an_unreachable_port_ends_an_attempt)
{
    struct peer p = peer4(9, 0);
    boot();
    ck_assert_ptr_nonnull(connect_to(&p, NULL));
    ck_assert_int_eq(said()->kind, FRAME_TCP);
    quote4(ICMP_UNREACHABLE, ICMP_PORT_UNREACHABLE, 0, 28);
    ck_assert_uint_eq(service.reset, 1);
    ck_assert_int_eq(service.code, STREAM_UNREACHABLE);
    ck_assert_uint_eq(connections(), 0);
    ck_assert_uint_eq(added(COUNTER_ICMP_RX_ERRORS), 1);
}
END_TEST

START_TEST(in_ipv6_too)
{
    static const struct {
        uint8_t type, code;
    } hard[] = {{ICMPV6_UNREACHABLE, ICMPV6_PORT_UNREACHABLE},
                {ICMPV6_PARAM_PROBLEM, ICMPV6_BAD_NEXT_HEADER}};
    struct peer p = peer6(9, 0);
    boot();
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_ptr_nonnull(connect_to(&p, NULL));
        ck_assert_int_eq(said()->kind, FRAME_TCP);
        quote6(hard[i].type, hard[i].code, 0);
        ck_assert_uint_eq(service.reset, i + 1);
        ck_assert_int_eq(service.code, STREAM_UNREACHABLE);
    }
}
END_TEST

START_TEST(other_errors_are_only_noted)
{
    static const struct {
        uint8_t type, code;
    } soft[] = {{ICMP_UNREACHABLE, 0},
                {ICMP_UNREACHABLE, 1},
                {ICMP_TIME_EXCEEDED, 0},
                {ICMP_PARAM_PROBLEM, 0},
                {ICMP_SOURCE_QUENCH, 0}};
    struct peer p = peer4(9, 0);
    boot();
    ck_assert_ptr_nonnull(connect_to(&p, NULL));
    ck_assert_int_eq(said()->kind, FRAME_TCP);
    for (unsigned i = 0; i < sizeof(soft) / sizeof(soft[0]); i++)
        quote4(soft[i].type, soft[i].code, 0, 28);
    ck_assert_uint_eq(service.reset, 0);
    ck_assert_uint_eq(connections(), 1);
    no_drops();
}
END_TEST

START_TEST(an_established_connection_survives_all_of_them)
{
    struct peer p = peer4(1024, 7);
    boot();
    in_flight(&p, 1000);
    quote4(ICMP_UNREACHABLE, ICMP_PORT_UNREACHABLE, 0, 28);
    quote4(ICMP_UNREACHABLE, ICMP_PROTO_UNREACHABLE, 0, 28);
    quote4(ICMP_SOURCE_QUENCH, 0, 0, 28);
    ck_assert_uint_eq(service.reset, 0);
    ck_assert_uint_eq(connections(), 1);
}
END_TEST

UNIT_MAIN("tcp", ready, host_teardown, a_conversation_in_ipv4, a_conversation_in_ipv6,
          segments_that_come_together_share_an_ack, each_segment_reaches_its_own_connection,
          a_checksum_counts_unless_the_device_has_looked, nobody_speaks_tcp_to_a_group,
          headers_may_come_in_pieces, a_closed_port_resets_a_syn,
          an_ack_of_nothing_is_reset_at_its_number, a_fin_of_nothing_is_reset,
          a_reset_is_never_answered, resets_are_limited, a_syn_in_name_only,
          too_big_lowers_the_segments_of_ipv4, too_big_lowers_the_segments_of_ipv6,
          another_connection_to_the_place_learns_when_it_sends,
          a_path_that_forgot_its_limit_is_used_in_full_again, what_is_not_in_flight_is_not_believed,
          too_little_is_quoted, an_mtu_no_less_than_what_was_sent_is_made_up,
          an_unreachable_port_ends_an_attempt, in_ipv6_too, other_errors_are_only_noted,
          an_established_connection_survives_all_of_them)
