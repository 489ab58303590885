/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/icmp.h"

#include "support/exact.h"
#include "support/unit.h"
#include "wire/error.h"

static const uint8_t echo[] = {0x08, 0x00, 0x21, 0x62, 0x12, 0x34, 0x00, 0x07, 'a', 'b', 'c'};
static const uint8_t frag_needed[] = {0x03, 0x04, 0xf7, 0x73, 0x00, 0x00, 0x05, 0x88};

static void expect_round_trip(const struct icmp_hdr *h)
{
    uint8_t out[ICMP_LEN];
    ck_assert_uint_eq(icmp_emit(h, CHECKSUM_EMPTY, out), ICMP_LEN);
    ck_assert(checksum_ok(checksum_add(CHECKSUM_EMPTY, out, ICMP_LEN)));
    struct icmp_hdr back;
    ck_assert_int_eq(icmp_parse(out, ICMP_LEN, &back), ICMP_LEN);
    ck_assert_uint_eq(back.type, h->type);
    ck_assert_uint_eq(back.code, h->code);
    ck_assert_uint_eq(back.pointer, h->pointer);
    ck_assert_uint_eq(back.id, h->id);
    ck_assert_uint_eq(back.seq, h->seq);
    ck_assert_uint_eq(back.mtu, h->mtu);
}

START_TEST(reads_an_echo)
{
    struct icmp_hdr h;
    ck_assert_int_eq(icmp_parse(echo, sizeof(echo), &h), ICMP_LEN);
    ck_assert_uint_eq(h.type, ICMP_ECHO);
    ck_assert_uint_eq(h.id, 0x1234);
    ck_assert_uint_eq(h.seq, 7);
    ck_assert_uint_eq(h.mtu, 0);
    ck_assert(checksum_ok(checksum_add(CHECKSUM_EMPTY, echo, sizeof(echo))));
}
END_TEST

START_TEST(reads_the_next_hops_mtu)
{
    struct icmp_hdr h;
    ck_assert_int_eq(icmp_parse(frag_needed, sizeof(frag_needed), &h), ICMP_LEN);
    ck_assert_uint_eq(h.mtu, 1416);
    ck_assert_uint_eq(h.id, 0);
    uint8_t port[ICMP_LEN];
    memcpy(port, frag_needed, ICMP_LEN);
    port[1] = ICMP_PORT_UNREACHABLE;
    icmp_parse(port, ICMP_LEN, &h);
    ck_assert_uint_eq(h.mtu, 0);
}
END_TEST

START_TEST(cut_anywhere_is_short)
{
    struct icmp_hdr h;
    for (size_t n = 0; n < ICMP_LEN; n++) {
        uint8_t *cut = exact(echo, n);
        ck_assert_int_eq(icmp_parse(cut, n, &h), -WIRE_ICMP4_SHORT);
        free(cut);
    }
}
END_TEST

START_TEST(emits_with_the_bodys_sum)
{
    uint8_t out[ICMP_LEN];
    struct icmp_hdr h = {.type = ICMP_ECHO, .id = 0x1234, .seq = 7};
    /* An odd body must not turn the header's bytes around. */
    icmp_emit(&h, checksum_add(CHECKSUM_EMPTY, "abc", 3), out);
    ck_assert_mem_eq(out, echo, ICMP_LEN);
    h = (struct icmp_hdr){.type = ICMP_UNREACHABLE, .code = ICMP_FRAG_NEEDED, .mtu = 1416};
    icmp_emit(&h, CHECKSUM_EMPTY, out);
    ck_assert_mem_eq(out, frag_needed, ICMP_LEN);
}
END_TEST

START_TEST(every_type_comes_back)
{
    expect_round_trip(&(struct icmp_hdr){.type = ICMP_ECHO, .id = 1, .seq = 65535});
    expect_round_trip(&(struct icmp_hdr){.type = ICMP_ECHO_REPLY, .id = 65535, .seq = 1});
    expect_round_trip(
        &(struct icmp_hdr){.type = ICMP_UNREACHABLE, .code = ICMP_FRAG_NEEDED, .mtu = 576});
    expect_round_trip(&(struct icmp_hdr){.type = ICMP_UNREACHABLE, .code = ICMP_PORT_UNREACHABLE});
    expect_round_trip(
        &(struct icmp_hdr){.type = ICMP_TIME_EXCEEDED, .code = ICMP_REASSEMBLY_EXCEEDED});
    expect_round_trip(&(struct icmp_hdr){.type = ICMP_PARAM_PROBLEM, .pointer = 20});
}
END_TEST

START_TEST(fields_of_other_types_stay_zero)
{
    struct icmp_hdr h = {
        .type = ICMP_TIME_EXCEEDED, .code = 4, .pointer = 1, .id = 2, .seq = 3, .mtu = 4};
    static const uint8_t zero[4];
    uint8_t out[ICMP_LEN];
    icmp_emit(&h, CHECKSUM_EMPTY, out);
    ck_assert_mem_eq(out + 4, zero, 4);
    h = (struct icmp_hdr){.type = ICMP_UNREACHABLE, .code = ICMP_PORT_UNREACHABLE, .mtu = 4};
    icmp_emit(&h, CHECKSUM_EMPTY, out);
    ck_assert_mem_eq(out + 4, zero, 4);
}
END_TEST

START_TEST(knows_errors)
{
    ck_assert(icmp_is_error(ICMP_UNREACHABLE) && icmp_is_error(ICMP_TIME_EXCEEDED) &&
              icmp_is_error(ICMP_PARAM_PROBLEM) && icmp_is_error(ICMP_REDIRECT) &&
              icmp_is_error(ICMP_SOURCE_QUENCH));
    ck_assert(!icmp_is_error(ICMP_ECHO) && !icmp_is_error(ICMP_ECHO_REPLY) && !icmp_is_error(13));
}
END_TEST

UNIT_MAIN("icmp", NULL, NULL, reads_an_echo, reads_the_next_hops_mtu, cut_anywhere_is_short,
          emits_with_the_bodys_sum, every_type_comes_back, fields_of_other_types_stay_zero,
          knows_errors)
