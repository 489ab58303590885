/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/limit.h"

#include "base/rng.h"
#include "support/unit.h"

static struct limit l;

/* How many of n events at this time pass. */
static uint32_t passing(uint32_t n, tick_t now)
{
    uint32_t passed = 0;
    while (n-- > 0)
        passed += limit_take(&l, now);
    return passed;
}

START_TEST(lets_a_burst_pass_and_then_the_rate)
{
    limit_init(&l, 100, 50, 1000);
    ck_assert_uint_eq(passing(60, 1000), 50);
    ck_assert(!limit_take(&l, 1000 + 10 * TICK_MS - 1));
    ck_assert(limit_take(&l, 1000 + 10 * TICK_MS));
    ck_assert(!limit_take(&l, 1000 + 10 * TICK_MS));
    ck_assert_uint_eq(passing(60, 1000 + 110 * TICK_MS), 10);
}
END_TEST

START_TEST(never_saves_more_than_a_burst)
{
    limit_init(&l, 100, 50, 0);
    ck_assert_uint_eq(passing(50, 0), 50);
    ck_assert_uint_eq(passing(1000, 3600 * TICK_SEC), 50);
    ck_assert_uint_eq(passing(1000, TICK_NEVER - 1), 50);
}
END_TEST

START_TEST(a_clock_that_stands_or_steps_back_earns_nothing)
{
    limit_init(&l, 10, 1, 100 * TICK_SEC);
    ck_assert(limit_take(&l, 100 * TICK_SEC));
    ck_assert(!limit_take(&l, 100 * TICK_SEC));
    ck_assert(!limit_take(&l, 50 * TICK_SEC));
    ck_assert(!limit_take(&l, 0));
    ck_assert(!limit_take(&l, 100 * TICK_SEC + 100 * TICK_MS - 1));
    ck_assert(limit_take(&l, 100 * TICK_SEC + 100 * TICK_MS));
}
END_TEST

/* Asked at odd times, a rate that does not divide a second still gives its exact number. */
START_TEST(loses_nothing_to_rounding)
{
    struct rng rng;
    rng_seed(&rng, 3);
    const uint32_t rate = 333333;
    limit_init(&l, rate, rate, 0);
    ck_assert_uint_eq(passing(rate, 0), rate);
    uint32_t passed = 0;
    for (tick_t now = 0; now < 3 * TICK_SEC; now += rng_below(&rng, 5000))
        passed += passing(5, now);
    passed += passing(2 * rate, 3 * TICK_SEC);
    ck_assert_uint_eq(passed, 3 * rate);
}
END_TEST

START_TEST(extremes_hold)
{
    limit_init(&l, UINT32_MAX, UINT32_MAX, 0);
    ck_assert_uint_eq(passing(1000, 0), 1000);
    ck_assert_uint_eq(passing(1000, TICK_NEVER), 1000);
    limit_init(&l, 0, 2, 0);
    ck_assert_uint_eq(passing(10, 0), 2);
    ck_assert_uint_eq(passing(10, TICK_NEVER), 0);
    limit_init(&l, 100, 0, 0);
    ck_assert_uint_eq(passing(10, TICK_NEVER), 0);
}
END_TEST

START_TEST(a_change_keeps_what_was_earned)
{
    limit_init(&l, 100, 50, 0);
    ck_assert_uint_eq(passing(20, 0), 20);
    limit_change(&l, 10, 100, 0);
    ck_assert_uint_eq(passing(100, 0), 30);
    ck_assert_uint_eq(passing(100, TICK_SEC), 10);
    limit_init(&l, 100, 50, 0);
    limit_change(&l, 100, 5, 0);
    ck_assert_uint_eq(passing(100, 0), 5);
}
END_TEST

START_TEST(takes_several_or_none)
{
    limit_init(&l, 1, 10, 0);
    ck_assert(limit_take_n(&l, 7, 0));
    ck_assert_uint_eq(limit_left(&l), 3);
    ck_assert(!limit_take_n(&l, 4, 0));
    ck_assert(!limit_take_n(&l, UINT32_MAX, 0));
    ck_assert_uint_eq(limit_left(&l), 3);
    ck_assert(limit_take_n(&l, 0, 0));
    ck_assert(!limit_take_n(&l, 4, TICK_SEC - 1));
    ck_assert_uint_eq(limit_left(&l), 3);
    ck_assert(limit_take_n(&l, 4, TICK_SEC));
    ck_assert_uint_eq(limit_left(&l), 0);
}
END_TEST

UNIT_MAIN("limit", NULL, NULL, lets_a_burst_pass_and_then_the_rate, never_saves_more_than_a_burst,
          a_clock_that_stands_or_steps_back_earns_nothing, loses_nothing_to_rounding, extremes_hold,
          a_change_keeps_what_was_earned, takes_several_or_none)
