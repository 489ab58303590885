/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/icmpv6.h"

#include "support/exact.h"
#include "support/unit.h"
#include "wire/error.h"
#include "wire/proto.h"

/* fe80::1 to fe80::2. */
static const uint8_t echo[] = {0x80, 0x00, 0xac, 0x17, 0x12, 0x34, 0x00, 0x07, 'a', 'b', 'c'};

static struct checksum pseudo(uint32_t len)
{
    struct ip_addr src;
    struct ip_addr dst;
    ck_assert(ip_parse("fe80::1", &src) && ip_parse("fe80::2", &dst));
    return checksum_pseudo(&src, &dst, IP_PROTO_ICMPV6, len);
}

static void expect_round_trip(const struct icmpv6_hdr *h)
{
    uint8_t out[ICMPV6_LEN];
    ck_assert_uint_eq(icmpv6_emit(h, pseudo(8), out), ICMPV6_LEN);
    ck_assert(checksum_ok(checksum_add(pseudo(8), out, ICMPV6_LEN)));
    struct icmpv6_hdr back;
    ck_assert_int_eq(icmpv6_parse(out, ICMPV6_LEN, &back), ICMPV6_LEN);
    ck_assert_uint_eq(back.type, h->type);
    ck_assert_uint_eq(back.code, h->code);
    ck_assert_uint_eq(back.id, h->id);
    ck_assert_uint_eq(back.seq, h->seq);
    ck_assert_uint_eq(back.mtu, h->mtu);
    ck_assert_uint_eq(back.pointer, h->pointer);
}

START_TEST(reads_an_echo)
{
    struct icmpv6_hdr h;
    ck_assert_int_eq(icmpv6_parse(echo, sizeof(echo), &h), ICMPV6_LEN);
    ck_assert_uint_eq(h.type, ICMPV6_ECHO);
    ck_assert_uint_eq(h.code, 0);
    ck_assert_uint_eq(h.id, 0x1234);
    ck_assert_uint_eq(h.seq, 7);
    ck_assert_uint_eq(h.mtu, 0);
    ck_assert_uint_eq(h.pointer, 0);
    ck_assert(checksum_ok(checksum_add(pseudo(11), echo, 11)));
}
END_TEST

START_TEST(cut_anywhere_is_short)
{
    struct icmpv6_hdr h;
    for (size_t n = 0; n < ICMPV6_LEN; n++) {
        uint8_t *cut = exact(echo, n);
        ck_assert_int_eq(icmpv6_parse(cut, n, &h), -WIRE_ICMP6_SHORT);
        free(cut);
    }
}
END_TEST

START_TEST(emits_with_the_rests_sum)
{
    struct icmpv6_hdr h = {.type = ICMPV6_ECHO, .id = 0x1234, .seq = 7};
    uint8_t out[ICMPV6_LEN];
    icmpv6_emit(&h, checksum_add(pseudo(11), "abc", 3), out);
    ck_assert_mem_eq(out, echo, ICMPV6_LEN);
}
END_TEST

START_TEST(every_type_comes_back)
{
    expect_round_trip(&(struct icmpv6_hdr){.type = ICMPV6_ECHO, .id = 9, .seq = 65535});
    expect_round_trip(&(struct icmpv6_hdr){.type = ICMPV6_ECHO_REPLY, .id = 65535, .seq = 9});
    expect_round_trip(
        &(struct icmpv6_hdr){.type = ICMPV6_UNREACHABLE, .code = ICMPV6_PORT_UNREACHABLE});
    expect_round_trip(&(struct icmpv6_hdr){.type = ICMPV6_TOO_BIG, .mtu = 0xfffffffe});
    expect_round_trip(&(struct icmpv6_hdr){.type = ICMPV6_TIME_EXCEEDED, .code = 1});
    expect_round_trip(&(struct icmpv6_hdr){
        .type = ICMPV6_PARAM_PROBLEM, .code = ICMPV6_BAD_OPTION, .pointer = 0x10002});
}
END_TEST

START_TEST(knows_errors)
{
    ck_assert(icmpv6_is_error(ICMPV6_UNREACHABLE) && icmpv6_is_error(127));
    ck_assert(!icmpv6_is_error(ICMPV6_ECHO) && !icmpv6_is_error(ICMPV6_REDIRECT));
}
END_TEST

UNIT_MAIN("icmpv6", NULL, NULL, reads_an_echo, cut_anywhere_is_short, emits_with_the_rests_sum,
          every_type_comes_back, knows_errors)
