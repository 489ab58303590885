/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/udp.h"

#include "support/exact.h"
#include "support/unit.h"
#include "wire/error.h"
#include "wire/proto.h"

/* 192.0.2.2:5353 to 192.0.2.1:7, "hi!". */
static const uint8_t datagram[] = {0x14, 0xe9, 0x00, 0x07, 0x00, 0x0b, 0xdd, 0x7a, 'h', 'i', '!'};

static struct checksum pseudo(uint32_t len)
{
    struct ip_addr src = ip_from_v4(0xc0000202);
    struct ip_addr dst = ip_from_v4(0xc0000201);
    return checksum_pseudo(&src, &dst, IP_PROTO_UDP, len);
}

static int parse_len(uint16_t len, size_t contiguous, size_t available)
{
    uint8_t bytes[sizeof(datagram)];
    memcpy(bytes, datagram, sizeof(bytes));
    bytes[4] = (uint8_t)(len >> 8);
    bytes[5] = (uint8_t)len;
    struct udp_hdr h;
    return udp_parse(bytes, contiguous, available, false, &h);
}

START_TEST(reads_a_header)
{
    struct udp_hdr h;
    ck_assert_int_eq(udp_parse(datagram, sizeof(datagram), sizeof(datagram), false, &h), UDP_LEN);
    ck_assert_uint_eq(h.src_port, 5353);
    ck_assert_uint_eq(h.dst_port, 7);
    ck_assert_uint_eq(h.len, 11);
    ck_assert(h.has_checksum);
    ck_assert(checksum_ok(checksum_add(pseudo(11), datagram, 11)));
}
END_TEST

START_TEST(cut_anywhere_is_short)
{
    struct udp_hdr h;
    for (size_t n = 0; n < UDP_LEN; n++) {
        uint8_t *cut = exact(datagram, n);
        ck_assert_int_eq(udp_parse(cut, n, n, false, &h), -WIRE_UDP_SHORT);
        free(cut);
    }
    for (size_t n = UDP_LEN; n < sizeof(datagram); n++) {
        uint8_t *cut = exact(datagram, n);
        ck_assert_int_eq(udp_parse(cut, n, n, false, &h), -WIRE_UDP_LENGTH);
        free(cut);
    }
}
END_TEST

START_TEST(length_against_what_there_is)
{
    ck_assert_int_eq(parse_len(7, 11, 11), -WIRE_UDP_LENGTH);
    ck_assert_int_eq(parse_len(0, 11, 11), -WIRE_UDP_LENGTH);
    ck_assert_int_eq(parse_len(8, 11, 11), UDP_LEN);
    ck_assert_int_eq(parse_len(12, 11, 11), -WIRE_UDP_LENGTH);
    /* The rest lies in later views. */
    ck_assert_int_eq(parse_len(65535, 8, 65535), UDP_LEN);
    ck_assert_int_eq(parse_len(65535, 8, 65534), -WIRE_UDP_LENGTH);
}
END_TEST

START_TEST(only_ipv4_goes_without_a_checksum)
{
    uint8_t bytes[sizeof(datagram)];
    memcpy(bytes, datagram, sizeof(bytes));
    bytes[6] = bytes[7] = 0;
    struct udp_hdr h;
    ck_assert_int_eq(udp_parse(bytes, 11, 11, false, &h), UDP_LEN);
    ck_assert(!h.has_checksum);
    ck_assert_int_eq(udp_parse(bytes, 11, 11, true, &h), -WIRE_UDP_CHECKSUM);
    bytes[7] = 1;
    ck_assert_int_eq(udp_parse(bytes, 11, 11, true, &h), UDP_LEN);
}
END_TEST

START_TEST(emit_undoes_parse)
{
    struct udp_hdr h;
    udp_parse(datagram, sizeof(datagram), sizeof(datagram), false, &h);
    uint8_t out[UDP_LEN];
    ck_assert_uint_eq(udp_emit(&h, checksum_add(pseudo(11), datagram + 8, 3), out), UDP_LEN);
    ck_assert_mem_eq(out, datagram, UDP_LEN);
}
END_TEST

START_TEST(a_sum_of_zero_is_sent_as_ones)
{
    struct udp_hdr h = {.src_port = 1, .dst_port = 2, .len = 10};
    uint8_t out[10] = {0};
    /* Data that makes the rest add up to 0xffff. */
    udp_emit(&h, pseudo(10), out);
    out[8] = out[6];
    out[9] = out[7];
    udp_emit(&h, checksum_add(pseudo(10), out + 8, 2), out);
    ck_assert_uint_eq(out[6], 0xff);
    ck_assert_uint_eq(out[7], 0xff);
    ck_assert(checksum_ok(checksum_add(pseudo(10), out, 10)));
}
END_TEST

START_TEST(leaves_the_sum_to_the_device)
{
    struct udp_hdr h = {.src_port = 5353, .dst_port = 7, .len = 11};
    uint8_t out[sizeof(datagram)];
    memcpy(out, datagram, sizeof(out));
    ck_assert_uint_eq(udp_emit_offload(&h, pseudo(11), out), UDP_LEN);
    ck_assert_mem_eq(out, datagram, 6);
    /* What the device does: sum the datagram as it stands and put the complement in its place. */
    ck_assert_uint_eq(checksum_finish(checksum_add(CHECKSUM_EMPTY, out, 11)), 0xdd7a);
}
END_TEST

UNIT_MAIN("udp", NULL, NULL, reads_a_header, cut_anywhere_is_short, length_against_what_there_is,
          only_ipv4_goes_without_a_checksum, emit_undoes_parse, a_sum_of_zero_is_sent_as_ones,
          leaves_the_sum_to_the_device)
