/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/tick.h"

#include "support/unit.h"

START_TEST(units)
{
    ck_assert_uint_eq(1000 * TICK_US, TICK_MS);
    ck_assert_uint_eq(1000 * TICK_MS, TICK_SEC);
    ck_assert_uint_gt(TICK_NEVER, UINT64_C(584) * 365 * 86400 * TICK_SEC);
}
END_TEST

START_TEST(after_stops_at_never)
{
    ck_assert_uint_eq(tick_after(5, 7), 12);
    ck_assert_uint_eq(tick_after(TICK_NEVER - 5, 4), TICK_NEVER - 1);
    ck_assert_uint_eq(tick_after(TICK_NEVER - 5, 5), TICK_NEVER);
    ck_assert_uint_eq(tick_after(TICK_NEVER - 5, 6), TICK_NEVER);
    ck_assert_uint_eq(tick_after(1, TICK_NEVER), TICK_NEVER);
    ck_assert_uint_eq(tick_after(0, TICK_NEVER), TICK_NEVER);
    ck_assert_uint_eq(tick_after(TICK_NEVER, 0), TICK_NEVER);
    ck_assert_uint_eq(tick_after(TICK_NEVER, TICK_NEVER), TICK_NEVER);
}
END_TEST

START_TEST(since_stops_at_zero)
{
    ck_assert_uint_eq(tick_since(12, 5), 7);
    ck_assert_uint_eq(tick_since(5, 5), 0);
    ck_assert_uint_eq(tick_since(5, 12), 0);
    ck_assert_uint_eq(tick_since(TICK_NEVER, 0), TICK_NEVER);
    ck_assert_uint_eq(tick_since(0, TICK_NEVER), 0);
}
END_TEST

START_TEST(min)
{
    ck_assert_uint_eq(tick_min(1, 2), 1);
    ck_assert_uint_eq(tick_min(2, 1), 1);
    ck_assert_uint_eq(tick_min(TICK_NEVER, 3), 3);
}
END_TEST

UNIT_MAIN("tick", NULL, NULL, units, after_stops_at_never, since_stops_at_zero, min)
