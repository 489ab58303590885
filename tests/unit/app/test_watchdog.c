/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/watchdog.h"

#include "support/unit.h"

static struct watchdog d;

static void setup(void)
{
    d = (struct watchdog){0};
}

START_TEST(a_worker_that_moves_is_in_order)
{
    for (uint64_t i = 1; i < 50; i++)
        ck_assert(watchdog_look(&d, 0, i, TICK_SEC, i * 100 * TICK_MS));
    ck_assert_uint_eq(atomic_load(&d.stalled), 0);
}
END_TEST

/* Looks every 100 ms, as the control thread does, until `until`. Returns the last verdict. */
static bool look_until(uint64_t turns, tick_t limit, tick_t until)
{
    bool ok = true;
    for (tick_t t = d.looked + 100 * TICK_MS; t <= until; t += 100 * TICK_MS)
        ok = watchdog_look(&d, 0, turns, limit, t);
    return ok;
}

START_TEST(a_worker_that_stands_still_is_stuck_at_the_limit)
{
    ck_assert(watchdog_look(&d, 0, 7, TICK_SEC, TICK_SEC));
    ck_assert(look_until(7, TICK_SEC, 1900 * TICK_MS));
    ck_assert_uint_eq(atomic_load(&d.stalled), 900 * TICK_MS);
    ck_assert(!atomic_load(&d.stuck));
    ck_assert(!look_until(7, TICK_SEC, 2 * TICK_SEC));
    ck_assert(atomic_load(&d.stuck));
    ck_assert(!look_until(7, TICK_SEC, 9 * TICK_SEC));
    ck_assert_uint_eq(atomic_load(&d.stalled), 8 * TICK_SEC);
    ck_assert(look_until(8, TICK_SEC, 9100 * TICK_MS));
    ck_assert(!atomic_load(&d.stuck));
    ck_assert_uint_eq(atomic_load(&d.stalled), 0);
}
END_TEST

/* A virtual machine that was paused: the first look after it finds the worker where it was. */
START_TEST(nobody_is_blamed_for_a_pause_of_all)
{
    ck_assert(watchdog_look(&d, 0, 7, TICK_SEC, TICK_SEC));
    ck_assert(watchdog_look(&d, 0, 7, TICK_SEC, 3600 * TICK_SEC));
    ck_assert(watchdog_look(&d, 0, 8, TICK_SEC, 3601 * TICK_SEC));
    ck_assert(!atomic_load(&d.stuck));
}
END_TEST

START_TEST(off_it_reports_nobody)
{
    ck_assert(watchdog_look(&d, 0, 7, 0, TICK_SEC));
    ck_assert(look_until(7, 0, 1000 * TICK_SEC));
    ck_assert(!atomic_load(&d.stuck));
    ck_assert_uint_eq(atomic_load(&d.stalled), 999 * TICK_SEC);
}
END_TEST

UNIT_MAIN("watchdog", setup, NULL, a_worker_that_moves_is_in_order,
          a_worker_that_stands_still_is_stuck_at_the_limit, nobody_is_blamed_for_a_pause_of_all,
          off_it_reports_nobody)
