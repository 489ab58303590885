/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/arp.h"

#include "support/exact.h"
#include "support/unit.h"
#include "wire/error.h"

/* Who has 192.0.2.1? Tell 192.0.2.2 at 52:54:00:12:34:56. */
static const uint8_t request[ARP_LEN] = {
    0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x52, 0x54, 0x00, 0x12, 0x34, 0x56,
    192,  0,    2,    2,    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 192,  0,    2,    1,
};

static int parse_with(size_t at, uint8_t value)
{
    uint8_t bytes[ARP_LEN];
    memcpy(bytes, request, ARP_LEN);
    bytes[at] = value;
    struct arp_msg m;
    return arp_parse(bytes, ARP_LEN, &m);
}

START_TEST(reads_a_request)
{
    struct arp_msg m;
    ck_assert_int_eq(arp_parse(request, ARP_LEN, &m), ARP_LEN);
    ck_assert_int_eq((int)m.op, ARP_REQUEST);
    ck_assert_mem_eq(m.sender_mac.b, request + 8, 6);
    ck_assert_uint_eq(ip_v4(&m.sender_ip), 0xc0000202);
    ck_assert_mem_eq(m.target_mac.b, request + 18, 6);
    ck_assert_uint_eq(ip_v4(&m.target_ip), 0xc0000201);
}
END_TEST

START_TEST(ignores_padding)
{
    uint8_t frame[46] = {0};
    memcpy(frame, request, ARP_LEN);
    struct arp_msg m;
    ck_assert_int_eq(arp_parse(frame, sizeof(frame), &m), ARP_LEN);
}
END_TEST

START_TEST(cut_anywhere_is_short)
{
    struct arp_msg m;
    for (size_t n = 0; n < ARP_LEN; n++) {
        uint8_t *cut = exact(request, n);
        ck_assert_int_eq(arp_parse(cut, n, &m), -WIRE_ARP_SHORT);
        free(cut);
    }
}
END_TEST

START_TEST(refuses_other_formats)
{
    for (size_t i = 0; i < 6; i++)
        ck_assert_int_eq(parse_with(i, request[i] ^ 1), -WIRE_ARP_FORMAT);
    ck_assert_int_eq(parse_with(7, 0), -WIRE_ARP_FORMAT);
    ck_assert_int_eq(parse_with(7, 2), ARP_LEN);
    ck_assert_int_eq(parse_with(7, 3), -WIRE_ARP_FORMAT);
    ck_assert_int_eq(parse_with(6, 1), -WIRE_ARP_FORMAT);
}
END_TEST

START_TEST(refuses_a_group_as_sender)
{
    ck_assert_int_eq(parse_with(8, 0x53), -WIRE_ARP_SENDER);
    ck_assert_int_eq(parse_with(18, 0xff), ARP_LEN);
}
END_TEST

START_TEST(emit_undoes_parse)
{
    struct arp_msg m;
    uint8_t out[ARP_LEN];
    arp_parse(request, ARP_LEN, &m);
    ck_assert_uint_eq(arp_emit(&m, out), ARP_LEN);
    ck_assert_mem_eq(out, request, ARP_LEN);
    m.op = ARP_REPLY;
    arp_emit(&m, out);
    ck_assert_uint_eq(out[7], 2);
}
END_TEST

UNIT_MAIN("arp", NULL, NULL, reads_a_request, ignores_padding, cut_anywhere_is_short,
          refuses_other_formats, refuses_a_group_as_sender, emit_undoes_parse)
