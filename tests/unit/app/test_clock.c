/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/clock.h"

#include "support/unit.h"

START_TEST(a_second_is_a_second)
{
    struct clock c;
    static const uint64_t hz[] = {1000000000, 2600000000, 3792000123, 25000000};
    for (unsigned i = 0; i < sizeof(hz) / sizeof(hz[0]); i++) {
        clock_set(&c, 1000, hz[i]);
        ck_assert_uint_eq(clock_tick(&c, 1000), 0);
        tick_t second = clock_tick(&c, 1000 + hz[i]);
        ck_assert_uint_le(TICK_SEC - second, 8);
    }
}
END_TEST

/* The factor is rounded once: a second or two in a hundred years. */
START_TEST(it_does_not_drift)
{
    struct clock c;
    uint64_t hz = 2600000003, seconds = UINT64_C(100) * 365 * 86400;
    clock_set(&c, 0, hz);
    tick_t t = clock_tick(&c, hz * seconds);
    ck_assert_uint_le(t, seconds * TICK_SEC);
    ck_assert_uint_le(seconds * TICK_SEC - t, 2 * seconds);
}
END_TEST

START_TEST(it_never_goes_back)
{
    struct clock c;
    clock_set(&c, 5, 2999999999);
    tick_t last = 0;
    for (uint64_t tsc = 5; tsc < 100000; tsc++) {
        tick_t t = clock_tick(&c, tsc);
        ck_assert_uint_ge(t, last);
        last = t;
    }
    ck_assert_uint_eq(clock_tick(&c, 4), 0);
    ck_assert_uint_eq(clock_tick(&c, 0), 0);
}
END_TEST

UNIT_MAIN("clock", NULL, NULL, a_second_is_a_second, it_does_not_drift, it_never_goes_back)
