/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/serial.h"

#include "base/rng.h"
#include "support/unit.h"

START_TEST(order_holds_across_the_wrap)
{
    static const uint32_t starts[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    static const uint32_t steps[] = {1, 2, 0x1000, 0x7ffffffe, 0x7fffffff};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        seq32_t a = seq32(starts[i]);
        ck_assert(seq32_eq(a, a) && seq32_le(a, a) && seq32_ge(a, a));
        ck_assert(!seq32_lt(a, a) && !seq32_gt(a, a));
        for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
            seq32_t b = seq32_add(a, steps[k]);
            ck_assert(seq32_lt(a, b) && seq32_le(a, b) && !seq32_gt(a, b) && !seq32_ge(a, b));
            ck_assert(seq32_gt(b, a) && seq32_ge(b, a) && !seq32_lt(b, a) && !seq32_le(b, a));
            ck_assert(!seq32_eq(a, b));
            ck_assert_uint_eq(seq32_max(a, b).v, b.v);
            ck_assert_uint_eq(seq32_max(b, a).v, b.v);
            ck_assert_uint_eq(seq32_min(a, b).v, a.v);
            ck_assert_uint_eq(seq32_min(b, a).v, a.v);
            ck_assert_int_eq(seq32_diff(b, a), (int32_t)steps[k]);
            ck_assert_int_eq(seq32_diff(a, b), -(int32_t)steps[k]);
            ck_assert_uint_eq(seq32_sub(b, steps[k]).v, a.v);
        }
    }
}
END_TEST

START_TEST(half_the_space_apart_is_neither)
{
    seq32_t a = seq32(0xc0000000), b = seq32(0x40000000);
    ck_assert(!seq32_lt(a, b) && !seq32_lt(b, a) && !seq32_le(a, b) && !seq32_le(b, a));
    ck_assert(!seq32_gt(a, b) && !seq32_gt(b, a) && !seq32_ge(a, b) && !seq32_ge(b, a));
    ck_assert_int_eq(seq32_diff(a, b), INT32_MIN);
    ck_assert_uint_eq(seq32_max(a, b).v, a.v);
    ck_assert_uint_eq(seq32_min(a, b).v, a.v);
    seq16_t c = seq16(0xc000), d = seq16(0x4000);
    ck_assert(!seq16_lt(c, d) && !seq16_lt(d, c) && !seq16_le(c, d) && !seq16_le(d, c));
    ck_assert_int_eq(seq16_diff(c, d), INT16_MIN);
}
END_TEST

START_TEST(between_is_half_open_and_wraps)
{
    seq32_t first = seq32(0xfffffff0), end = seq32(0x10);
    ck_assert(!seq32_between(seq32(0xffffffef), first, end));
    ck_assert(seq32_between(first, first, end));
    ck_assert(seq32_between(seq32(0), first, end));
    ck_assert(seq32_between(seq32(0xf), first, end));
    ck_assert(!seq32_between(end, first, end));
    ck_assert(!seq32_between(first, first, first));         /* empty */
    ck_assert(seq32_between(seq32(5), seq32(1), seq32(0))); /* all but one */
    ck_assert(!seq32_between(seq32(0), seq32(1), seq32(0)));
    ck_assert(seq16_between(seq16(0xffff), seq16(0xfff0), seq16(1)));
    ck_assert(seq16_between(seq16(0), seq16(0xfff0), seq16(1)));
    ck_assert(!seq16_between(seq16(1), seq16(0xfff0), seq16(1)));
    ck_assert(!seq16_between(seq16(0xffef), seq16(0xfff0), seq16(1)));
}
END_TEST

/* RFC 1982 3.2 word by word, on plain integers. */
static bool rfc1982_less(uint64_t i1, uint64_t i2, int bits)
{
    uint64_t half = UINT64_C(1) << (bits - 1);
    return (i1 < i2 && i2 - i1 < half) || (i1 > i2 && i1 - i2 > half);
}

START_TEST(sixteen_bits_agree_with_the_rfc)
{
    static const uint16_t starts[] = {0, 1, 77, 0x7fff, 0x8000, 0xffff};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        for (uint32_t y = 0; y <= 0xffff; y++) {
            seq16_t a = seq16(starts[i]), b = seq16((uint16_t)y);
            bool less = rfc1982_less(a.v, b.v, 16), more = rfc1982_less(b.v, a.v, 16);
            ck_assert(seq16_lt(a, b) == less && seq16_gt(a, b) == more);
            ck_assert(seq16_le(a, b) == (less || a.v == b.v));
            ck_assert(seq16_ge(a, b) == (more || a.v == b.v));
            ck_assert(seq16_eq(a, b) == (a.v == b.v));
            ck_assert(seq16_eq(seq16_add(a, (uint16_t)seq16_diff(b, a)), b));
            ck_assert(seq16_eq(seq16_sub(b, (uint16_t)seq16_diff(b, a)), a));
            ck_assert_uint_eq(seq16_max(a, b).v, less ? b.v : a.v);
            ck_assert_uint_eq(seq16_min(a, b).v, more ? b.v : a.v);
        }
    }
}
END_TEST

START_TEST(thirty_two_bits_agree_with_the_rfc)
{
    struct rng rng;
    rng_seed(&rng, 1982);
    for (int i = 0; i < 200000; i++) {
        seq32_t a = seq32(rng_u32(&rng)), b = seq32(rng_u32(&rng) >> rng_below(&rng, 32));
        if (i & 1)
            b = seq32_add(a, b.v);
        ck_assert(seq32_lt(a, b) == rfc1982_less(a.v, b.v, 32));
        ck_assert(seq32_gt(a, b) == rfc1982_less(b.v, a.v, 32));
        ck_assert(seq32_le(a, b) == (rfc1982_less(a.v, b.v, 32) || a.v == b.v));
    }
}
END_TEST

UNIT_MAIN("serial", NULL, NULL, order_holds_across_the_wrap, half_the_space_apart_is_neither,
          between_is_half_open_and_wraps, sixteen_bits_agree_with_the_rfc,
          thirty_two_bits_agree_with_the_rfc)
