/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/rng.h"

#include "support/unit.h"

/* The authors' generators, run by hand from these states. */
START_TEST(published_vectors)
{
    static const uint64_t expect[] = {UINT64_C(11520),
                                      UINT64_C(0),
                                      UINT64_C(1509978240),
                                      UINT64_C(1215971899390074240),
                                      UINT64_C(1216172134540287360),
                                      UINT64_C(607988272756665600),
                                      UINT64_C(16172922978634559625),
                                      UINT64_C(8476171486693032832),
                                      UINT64_C(10595114339597558777),
                                      UINT64_C(2904607092377533576)};
    struct rng r = {.s = {1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof(expect) / sizeof(expect[0]); i++)
        ck_assert_uint_eq(rng_u64(&r), expect[i]);
}
END_TEST

START_TEST(seeds_are_spread_by_splitmix64)
{
    static const uint64_t expect[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                      UINT64_C(9817491932198370423), UINT64_C(4593380528125082431)};
    struct rng r;
    rng_seed(&r, 1234567);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(r.s[i], expect[i]);
    rng_seed(&r, 0);
    ck_assert((r.s[0] | r.s[1] | r.s[2] | r.s[3]) != 0);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_sequence)
{
    struct rng a, b, c;
    rng_seed(&a, 5);
    rng_seed(&b, 5);
    rng_seed(&c, 6);
    int same = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t x = rng_u64(&a);
        ck_assert_uint_eq(x, rng_u64(&b));
        same += x == rng_u64(&c);
    }
    ck_assert_int_eq(same, 0);
    ck_assert_uint_eq(rng_u32(&a), rng_u64(&b) >> 32);
}
END_TEST

START_TEST(below_stays_below_and_is_even)
{
    struct rng r;
    unsigned seen[7] = {0};
    rng_seed(&r, 9);
    for (int i = 0; i < 70000; i++) {
        uint64_t x = rng_below(&r, 7);
        ck_assert_uint_lt(x, 7);
        seen[x]++;
    }
    for (int i = 0; i < 7; i++)
        ck_assert(seen[i] > 9500 && seen[i] < 10500); /* five standard deviations are 463 */
    for (int i = 0; i < 100; i++) {
        ck_assert_uint_eq(rng_below(&r, 1), 0);
        ck_assert_uint_lt(rng_below(&r, UINT64_MAX), UINT64_MAX);
    }
}
END_TEST

/* Of three quarters of the space, a plain modulo would give the lower third twice as often as the
 * rest. */
START_TEST(below_has_no_modulo_bias)
{
    struct rng r;
    unsigned low = 0;
    uint64_t n = UINT64_C(3) << 62;
    rng_seed(&r, 10);
    for (int i = 0; i < 30000; i++)
        low += rng_below(&r, n) < n / 3;
    ck_assert(low > 9600 && low < 10400);
}
END_TEST

UNIT_MAIN("rng", NULL, NULL, published_vectors, seeds_are_spread_by_splitmix64,
          the_same_seed_gives_the_same_sequence, below_stays_below_and_is_even,
          below_has_no_modulo_bias)
