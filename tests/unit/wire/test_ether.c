/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/ether.h"

#include "support/exact.h"
#include "support/unit.h"
#include "wire/error.h"

static const uint8_t plain[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x52,
                                0x54, 0x00, 0x12, 0x34, 0x56, 0x08, 0x06};
static const uint8_t tagged[] = {0x33, 0x33, 0x00, 0x00, 0x00, 0x01, 0x52, 0x54, 0x00,
                                 0x12, 0x34, 0x56, 0x81, 0x00, 0xe0, 0x2a, 0x86, 0xdd};

START_TEST(reads_an_untagged_header)
{
    struct ether_hdr h;
    ck_assert_int_eq(ether_parse(plain, sizeof(plain), &h), ETHER_LEN);
    ck_assert(mac_eq(&h.dst, &MAC_BROADCAST));
    ck_assert_mem_eq(h.src.b, plain + 6, 6);
    ck_assert_uint_eq(h.type, ETHER_TYPE_ARP);
    ck_assert(!h.tagged);
    ck_assert_uint_eq(ether_len(&h), 14);
}
END_TEST

START_TEST(reads_a_tag)
{
    struct ether_hdr h;
    ck_assert_int_eq(ether_parse(tagged, sizeof(tagged), &h), ETHER_TAGGED_LEN);
    ck_assert(h.tagged);
    ck_assert_uint_eq(h.tci, 0xe02a);
    ck_assert_uint_eq(h.tci & ETHER_VLAN_MASK, 42);
    ck_assert_uint_eq(h.type, ETHER_TYPE_IPV6);
}
END_TEST

START_TEST(leaves_a_second_tag)
{
    uint8_t twice[22];
    memcpy(twice, tagged, 16);
    memcpy(twice + 16, tagged + 12, 6);
    struct ether_hdr h;
    ck_assert_int_eq(ether_parse(twice, sizeof(twice), &h), ETHER_TAGGED_LEN);
    ck_assert_uint_eq(h.type, ETHER_TYPE_VLAN);
}
END_TEST

START_TEST(cut_anywhere_is_short)
{
    struct ether_hdr h;
    for (size_t n = 0; n < sizeof(tagged); n++) {
        uint8_t *cut = exact(tagged, n);
        ck_assert_int_eq(ether_parse(cut, n, &h), -WIRE_ETHER_SHORT);
        free(cut);
    }
    for (size_t n = 0; n < sizeof(plain); n++) {
        uint8_t *cut = exact(plain, n);
        ck_assert_int_eq(ether_parse(cut, n, &h), -WIRE_ETHER_SHORT);
        free(cut);
    }
}
END_TEST

START_TEST(emit_undoes_parse)
{
    struct ether_hdr h;
    uint8_t out[ETHER_TAGGED_LEN];
    ether_parse(plain, sizeof(plain), &h);
    ck_assert_uint_eq(ether_emit(&h, out), sizeof(plain));
    ck_assert_mem_eq(out, plain, sizeof(plain));
    ether_parse(tagged, sizeof(tagged), &h);
    ck_assert_uint_eq(ether_emit(&h, out), sizeof(tagged));
    ck_assert_mem_eq(out, tagged, sizeof(tagged));
}
END_TEST

UNIT_MAIN("ether", NULL, NULL, reads_an_untagged_header, reads_a_tag, leaves_a_second_tag,
          cut_anywhere_is_short, emit_undoes_parse)
