/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include "base/bytes.h"

static void compose(bool v4, uint32_t n)
{
    frame_payload(&host.frame, n);
    frame_push_udp(&host.frame, 1000, 2000, v4 ? &PEER4 : &PEER6, v4 ? &US4 : &US6);
}

static void send(bool v4)
{
    if (v4)
        hear_ip4(&PEER4, &US4, IP_PROTO_UDP);
    else
        hear_ip6(&PEER6, &US6, IP_PROTO_UDP);
}

static uint8_t *udp_of(bool v4)
{
    return host.frame.at + ETHER_LEN + (v4 ? 20 : 40);
}

START_TEST(a_datagram_meets_a_closed_port)
{
    host_boot();
    meet4();
    meet6();
    for (int v4 = 0; v4 < 2; v4++)
        for (uint32_t n = 0; n < 40; n++) {
            pass(10 * TICK_MS);
            compose(v4, n);
            send(v4);
            ck_assert_uint_eq(ignore(), 1);
            dropped(DROP_UDP_PORT);
        }
}
END_TEST

START_TEST(headers_cut_short)
{
    host_boot();
    for (int v4 = 0; v4 < 2; v4++)
        for (uint32_t n = 0; n < UDP_LEN; n++) {
            frame_payload(&host.frame, n);
            send(v4);
            silence();
            dropped(DROP_UDP_SHORT);
        }
}
END_TEST

START_TEST(lengths_that_cannot_be)
{
    static const uint16_t lengths[] = {0, 1, 7, 29, 65535};
    host_boot();
    for (int v4 = 0; v4 < 2; v4++)
        for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            compose(v4, 20);
            store_be16(host.frame.at + 4, lengths[i]);
            send(v4);
            silence();
            dropped(DROP_UDP_LENGTH);
        }
}
END_TEST

START_TEST(a_length_under_the_packet_s)
{
    host_boot();
    for (int v4 = 0; v4 < 2; v4++) {
        compose(v4, 20);
        uint8_t tail[32] = {0};
        for (uint32_t i = 0; i < 28; i++)
            tail[i] = host.frame.at[i];
        frame_bytes(&host.frame, tail, 32); /* four bytes behind it are nobody's */
        send(v4);
        dropped(DROP_UDP_PORT);
        ignore();
    }
}
END_TEST

START_TEST(wrong_checksums)
{
    host_boot();
    for (int v4 = 0; v4 < 2; v4++) {
        compose(v4, 21);
        send(v4);
        ignore();
        mark();
        uint8_t *at = udp_of(v4);
        for (uint32_t bit = 0; bit < 29 * 8; bit++) {
            if (bit / 8 == 4 || bit / 8 == 5) /* the length is another fault */
                continue;
            at[bit / 8] ^= (uint8_t)(1u << bit % 8);
            hear();
            silence();
            dropped(DROP_UDP_CHECKSUM);
            at[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}
END_TEST

/* RFC 768, RFC 8200 8.1 */
START_TEST(no_checksum)
{
    host_boot();
    compose(true, 20);
    store_be16(host.frame.at + 6, 0);
    send(true);
    ignore();
    dropped(DROP_UDP_PORT);
    compose(false, 20);
    store_be16(host.frame.at + 6, 0);
    send(false);
    silence();
    dropped(DROP_UDP_CHECKSUM);
}
END_TEST

START_TEST(the_device_s_word_on_the_checksum)
{
    host_boot();
    compose(true, 20);
    host.frame.at[7] ^= 1;
    send(true);
    dropped(DROP_UDP_CHECKSUM);
    hear_on(0, 0, PKT_RX_L4_CSUM_BAD, 0);
    dropped(DROP_UDP_CHECKSUM);
    hear_on(0, 0, PKT_RX_L4_CSUM_OK, 0); /* it is believed */
    dropped(DROP_UDP_PORT);
    ignore();
    host.frame.at[ETHER_LEN + 20 + 7] ^= 1;
    hear_on(0, 0, PKT_RX_L4_CSUM_BAD, 0); /* devices err about what they do not know: asked again */
    dropped(DROP_UDP_PORT);
    ignore();
}
END_TEST

START_TEST(a_fragment_s_checksum_is_not_the_datagram_s)
{
    host_boot();
    compose(true, 2000);
    host.frame.at[500] ^= 1;
    uint8_t part[2008];
    for (uint32_t i = 0; i < 2008; i++)
        part[i] = host.frame.at[i];
    for (uint16_t at = 0; at < 2008; at = (uint16_t)(at + 1480)) {
        frame_bytes(&host.frame, part + at, at ? 528 : 1480);
        frame_push_ip4(&host.frame, &(struct ipv4_hdr){.src = PEER4,
                                                       .dst = US4,
                                                       .proto = IP_PROTO_UDP,
                                                       .frag_offset = at,
                                                       .more_fragments = at == 0});
        frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
        hear_on(0, 0, PKT_RX_L4_CSUM_OK, 0);
    }
    silence();
    dropped(DROP_UDP_CHECKSUM);
}
END_TEST

UNIT_MAIN("udp", host_setup, host_teardown, a_datagram_meets_a_closed_port, headers_cut_short,
          lengths_that_cannot_be, a_length_under_the_packet_s, wrong_checksums, no_checksum,
          the_device_s_word_on_the_checksum, a_fragment_s_checksum_is_not_the_datagram_s)
