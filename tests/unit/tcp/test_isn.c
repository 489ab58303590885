/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/isn.h"

#include "base/rng.h"
#include "support/unit.h"
#include "wire/proto.h"

static const struct siphash_key secret = {UINT64_C(0x0706050403020100),
                                          UINT64_C(0x0f0e0d0c0b0a0908)};
static struct flow_key flow;

static void setup(void)
{
    struct ip_addr us = ip_from_v4(0xc0000201);
    struct ip_addr peer = ip_from_v4(0xc0000202);
    flow = flow_key_of(&us, 7, &peer, 40000, IP_PROTO_TCP);
}

static unsigned bits_apart(uint32_t a, uint32_t b)
{
    return (unsigned)__builtin_popcount(a ^ b);
}

START_TEST(the_clock_ticks_every_four_microseconds)
{
    seq32_t start = tcp_isn(&secret, &flow, 0);
    ck_assert_uint_eq(tcp_isn(&secret, &flow, 3999).v, start.v);
    ck_assert_int_eq(seq32_diff(tcp_isn(&secret, &flow, 4000), start), 1);
    ck_assert_int_eq(seq32_diff(tcp_isn(&secret, &flow, TICK_SEC), start), 250000);
}
END_TEST

START_TEST(the_clock_wraps_with_the_numbers)
{
    /* 2^32 ticks of 4 microseconds are 4.77 hours. */
    tick_t round = (UINT64_C(1) << 32) * 4000;
    seq32_t start = tcp_isn(&secret, &flow, 5 * TICK_SEC);
    ck_assert_uint_eq(tcp_isn(&secret, &flow, 5 * TICK_SEC + round).v, start.v);
    ck_assert_int_eq(seq32_diff(tcp_isn(&secret, &flow, 5 * TICK_SEC + round - 4000), start), -1);
}
END_TEST

START_TEST(each_part_of_the_flow_counts)
{
    struct flow_key other[5] = {flow, flow, flow, flow, flow};
    other[0].local.b[15] ^= 1;
    other[1].remote.b[15] ^= 1;
    other[2].local_port ^= 1;
    other[3].remote_port ^= 1;
    other[4].protocol ^= 1;
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_uint_gt(
            bits_apart(tcp_isn(&secret, &flow, 0).v, tcp_isn(&secret, &other[i], 0).v), 5);
        ck_assert_uint_gt(
            bits_apart(tcp_ts_offset(&secret, &flow), tcp_ts_offset(&secret, &other[i])), 5);
    }
}
END_TEST

START_TEST(each_bit_of_the_secret_counts)
{
    for (unsigned bit = 0; bit < 128; bit++) {
        struct siphash_key other = secret;
        *(bit < 64 ? &other.k0 : &other.k1) ^= UINT64_C(1) << bit % 64;
        ck_assert_uint_ne(tcp_isn(&secret, &flow, 0).v, tcp_isn(&other, &flow, 0).v);
        ck_assert_uint_ne(tcp_ts_offset(&secret, &flow), tcp_ts_offset(&other, &flow));
    }
}
END_TEST

START_TEST(one_number_tells_nothing_of_the_other)
{
    struct rng r;
    rng_seed(&r, 6528);
    unsigned bits = 0;
    for (int i = 0; i < 1000; i++) {
        flow.remote_port = (uint16_t)rng_u32(&r);
        bits += bits_apart(tcp_isn(&secret, &flow, 0).v, tcp_ts_offset(&secret, &flow));
    }
    /* 16,000 expected; a standard deviation is 89. */
    ck_assert_uint_gt(bits, 15500);
    ck_assert_uint_lt(bits, 16500);
}
END_TEST

START_TEST(timestamps_tick_every_millisecond)
{
    ck_assert_uint_eq(tcp_ts_now(0xfffffffe, 0), 0xfffffffe);
    ck_assert_uint_eq(tcp_ts_now(0xfffffffe, 999999), 0xfffffffe);
    ck_assert_uint_eq(tcp_ts_now(0xfffffffe, TICK_MS), 0xffffffff);
    ck_assert_uint_eq(tcp_ts_now(0xfffffffe, 2 * TICK_MS), 0);
    ck_assert_uint_eq(tcp_ts_now(5, (UINT64_C(1) << 32) * TICK_MS), 5);
}
END_TEST

UNIT_MAIN("isn", setup, NULL, the_clock_ticks_every_four_microseconds,
          the_clock_wraps_with_the_numbers, each_part_of_the_flow_counts,
          each_bit_of_the_secret_counts, one_number_tells_nothing_of_the_other,
          timestamps_tick_every_millisecond)
