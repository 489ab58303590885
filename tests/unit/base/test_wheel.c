/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/wheel.h"

#include "base/rng.h"
#include "support/dies.h"
#include "support/heap.h"
#include "support/unit.h"
#include "support/wheel_model.h"

#define T0 (UINT64_C(3) * TICK_SEC)

static struct wheel w;

/* A timer that writes its name down when it fires, and may then do one more thing. */
struct note {
    struct timer timer;
    char name;
    void (*then)(struct note *n, tick_t now);
    struct note *other;
    tick_t again;
};

static char fired[64];
static size_t fired_len;
static tick_t fired_at;

static void write_down(struct timer *t, tick_t now)
{
    struct note *n = container_of(t, struct note, timer);
    ck_assert(!timer_armed(t));
    ck_assert_uint_lt(fired_len, sizeof(fired) - 1);
    fired[fired_len++] = n->name;
    fired[fired_len] = 0;
    fired_at = now;
    if (n->then)
        n->then(n, now);
}

static struct note note(char name)
{
    return (struct note){.name = name};
}

static void arm(struct note *n, tick_t when)
{
    if (!n->timer.fire)
        timer_init(&n->timer, write_down);
    wheel_arm(&w, &n->timer, when);
}

#define MANY  10000
#define STEP  (100 * TICK_US)
#define SPELL (200 * TICK_MS)

static struct note many[MANY];

/* What one expire fires, by name, in order. */
static const char *expire(tick_t now)
{
    fired_len = 0;
    fired[0] = 0;
    wheel_expire(&w, now);
    return fired;
}

static void setup(void)
{
    wheel_init(&w, T0);
}

START_TEST(fires_at_its_time_and_never_before)
{
    static const tick_t delays[] = {1,
                                    63,
                                    64,
                                    65,
                                    4095,
                                    4096,
                                    TICK_US,
                                    TICK_MS,
                                    TICK_SEC,
                                    60 * TICK_SEC,
                                    UINT64_C(1) << 40,
                                    UINT64_C(1) << 62};
    for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
        struct note a = note('a');
        wheel_init(&w, T0);
        arm(&a, T0 + delays[i]);
        ck_assert(timer_armed(&a.timer));
        ck_assert_uint_eq(wheel_next(&w), T0 + delays[i]);
        ck_assert_str_eq(expire(T0 + delays[i] - 1), "");
        ck_assert_uint_eq(wheel_next(&w), T0 + delays[i]);
        ck_assert_str_eq(expire(T0 + delays[i]), "a");
        ck_assert_uint_eq(fired_at, T0 + delays[i]);
        ck_assert(!timer_armed(&a.timer));
        ck_assert_uint_eq(wheel_next(&w), TICK_NEVER);
        ck_assert_str_eq(expire(T0 + delays[i] + TICK_SEC), "");
    }
}
END_TEST

START_TEST(fires_in_order_of_time)
{
    struct note a = note('a'), b = note('b'), c = note('c'), d = note('d');
    arm(&d, T0 + 3600 * TICK_SEC);
    arm(&b, T0 + 1001);
    arm(&a, T0 + 1000);
    arm(&c, T0 + TICK_SEC);
    ck_assert_str_eq(expire(T0 + 7200 * TICK_SEC), "abcd");
    ck_assert_uint_eq(fired_at, T0 + 7200 * TICK_SEC);
}
END_TEST

START_TEST(same_time_fires_in_order_of_arming)
{
    struct note a = note('a'), b = note('b'), c = note('c');
    tick_t when = T0 + 10 * TICK_SEC;
    arm(&b, when);
    ck_assert_str_eq(expire(when - TICK_SEC), ""); /* b moves to finer levels on the way */
    arm(&a, when);
    ck_assert_str_eq(expire(when - 1), "");
    arm(&c, when);
    arm(&b, when); /* and behind the others by being armed again */
    ck_assert_str_eq(expire(when), "acb");
}
END_TEST

START_TEST(overdue_fires_in_the_next_call_ahead_of_the_others)
{
    struct note a = note('a'), b = note('b'), c = note('c'), d = note('d');
    ck_assert_str_eq(expire(T0 + 100), "");
    arm(&d, T0 + 101);
    arm(&b, T0 + 100); /* now */
    arm(&a, T0 + 50);  /* past; order of arming, not of time */
    arm(&c, 0);
    ck_assert_uint_eq(wheel_next(&w), T0 + 100);
    ck_assert_str_eq(expire(T0 + 101), "bacd");
}
END_TEST

static void rearm_for_now(struct note *n, tick_t now)
{
    arm(n, now);
}

static void rearm_later(struct note *n, tick_t now)
{
    (void)now;
    arm(n, n->again);
}

START_TEST(rearmed_by_its_callback_for_the_past_waits_for_the_next_call)
{
    struct note a = note('a'), b = note('b');
    a.then = rearm_for_now;
    b.then = rearm_later;
    b.again = T0 + 5; /* passed, when it fires */
    arm(&a, T0 + 10);
    arm(&b, T0 + 11);
    ck_assert_str_eq(expire(T0 + 20), "ab");
    ck_assert_uint_eq(wheel_next(&w), T0 + 20);
    ck_assert_str_eq(expire(T0 + 20), "ab"); /* time need not pass */
    ck_assert_str_eq(expire(T0 + 30), "ab");
}
END_TEST

START_TEST(rearmed_by_its_callback_for_between_waits_too)
{
    struct note a = note('a'), b = note('b');
    a.then = rearm_later;
    a.again = T0 + 15; /* after its time, before the expire's */
    arm(&a, T0 + 10);
    arm(&b, T0 + 20);
    ck_assert_str_eq(expire(T0 + 20), "ab");
    a.then = NULL;
    ck_assert_str_eq(expire(T0 + 20), "a");
}
END_TEST

START_TEST(rearmed_by_its_callback_for_later_fires_then)
{
    struct note a = note('a');
    a.then = rearm_later;
    a.again = T0 + TICK_SEC;
    arm(&a, T0 + 10);
    ck_assert_str_eq(expire(T0 + 20), "a");
    ck_assert_uint_eq(wheel_next(&w), T0 + TICK_SEC);
    ck_assert_str_eq(expire(T0 + TICK_SEC - 1), "");
    a.then = NULL;
    ck_assert_str_eq(expire(T0 + TICK_SEC), "a");
}
END_TEST

static void cancel_other(struct note *n, tick_t now)
{
    (void)now;
    wheel_cancel(&w, &n->other->timer);
}

static void postpone_other(struct note *n, tick_t now)
{
    arm(n->other, now + 1);
}

START_TEST(callback_cancels_what_is_due_in_the_same_call)
{
    struct note a = note('a'), b = note('b'), c = note('c'), d = note('d');
    a.then = cancel_other;
    a.other = &b;
    c.then = cancel_other;
    c.other = &d;
    arm(&a, T0 + 1);
    arm(&b, T0 + 1); /* same slot */
    arm(&c, T0 + 2);
    arm(&d, T0 + TICK_SEC); /* another level */
    ck_assert_str_eq(expire(T0 + 2 * TICK_SEC), "ac");
    ck_assert_uint_eq(w.armed, 0);
    ck_assert_uint_eq(wheel_next(&w), TICK_NEVER);
}
END_TEST

START_TEST(callback_cancels_and_postpones_the_overdue)
{
    struct note a = note('a'), b = note('b'), c = note('c'), d = note('d');
    a.then = cancel_other;
    a.other = &b;
    c.then = postpone_other;
    c.other = &d;
    arm(&a, T0);
    arm(&b, T0);
    arm(&c, T0 + 5);
    arm(&d, T0 + 6);
    ck_assert_str_eq(expire(T0 + 10), "ac");
    ck_assert_str_eq(expire(T0 + 11), "d");
}
END_TEST

static struct heap heap;

static void free_owner(struct note *n, tick_t now)
{
    (void)now;
    mem_free(&heap.mem, n, sizeof(*n));
}

START_TEST(callback_frees_the_owner)
{
    heap_init(&heap);
    for (int i = 0; i < 3; i++) {
        struct note *n = mem_alloc(&heap.mem, sizeof(*n), 8);
        *n = note('x');
        n->then = free_owner;
        arm(n, T0 + 7);
    }
    ck_assert_str_eq(expire(T0 + 8), "xxx");
    ck_assert_uint_eq(heap.blocks, 0);
}
END_TEST

static void expire_within(struct note *n, tick_t now)
{
    (void)n;
    wheel_expire(&w, now);
}

static void expire_one(void *arg)
{
    (void)arg;
    wheel_expire(&w, T0 + 1);
}

START_TEST(expire_from_a_callback_is_caught)
{
    struct note a = note('a');
    a.then = expire_within;
    arm(&a, T0 + 1);
    ck_assert(dies(expire_one, NULL));
}
END_TEST

START_TEST(cancelled_never_fires)
{
    struct note a = note('a'), b = note('b'), c = note('c');
    arm(&a, T0 + 5);
    arm(&b, T0 + 5);
    arm(&c, T0);
    wheel_cancel(&w, &a.timer);
    wheel_cancel(&w, &a.timer); /* not armed: nothing */
    arm(&c, TICK_NEVER);
    ck_assert(!timer_armed(&a.timer) && !timer_armed(&c.timer));
    ck_assert_uint_eq(w.armed, 1);
    ck_assert_str_eq(expire(T0 + TICK_SEC), "b");
}
END_TEST

START_TEST(next_is_exact_until_something_is_cancelled)
{
    struct rng rng;
    tick_t earliest = TICK_NEVER;
    rng_seed(&rng, 7);
    for (int i = 0; i < 500; i++) {
        tick_t when = T0 + 1 + (rng_u64(&rng) >> (1 + rng_below(&rng, 63)));
        earliest = tick_min(earliest, when);
        many[i] = note('m');
        arm(&many[i], when);
        ck_assert_uint_eq(wheel_next(&w), earliest);
    }
    wheel_init(&w, T0);
    struct note a = note('a'), b = note('b');
    arm(&a, T0 + 10 * TICK_SEC);
    arm(&b, T0 + 10 * TICK_SEC + 5);
    wheel_cancel(&w, &a.timer);
    tick_t early = wheel_next(&w);
    ck_assert_uint_le(early, T0 + 10 * TICK_SEC + 5);
    ck_assert_str_eq(expire(early), "");
    ck_assert_uint_eq(wheel_next(&w), T0 + 10 * TICK_SEC + 5);
}
END_TEST

START_TEST(put_off_again_and_again_fires_once_and_on_time)
{
    struct note a = note('a'), b = note('b');
    tick_t now = T0;
    for (int i = 0; i < 5000; i++, now += 100 * TICK_US) {
        arm(&a, now + 200 * TICK_MS);
        arm(&b, now + 200 * TICK_MS);
        arm(&b, now + 190 * TICK_MS); /* and back, before a, maybe in the same slot */
        ck_assert_uint_le(wheel_next(&w), now + 190 * TICK_MS);
        ck_assert_str_eq(expire(now), "");
    }
    now -= 100 * TICK_US;
    ck_assert_uint_eq(w.armed, 2);
    ck_assert_str_eq(expire(now + 190 * TICK_MS - 1), "");
    ck_assert_str_eq(expire(now + 200 * TICK_MS - 1), "b");
    ck_assert_uint_eq(wheel_next(&w), now + 200 * TICK_MS);
    ck_assert_str_eq(expire(now + 200 * TICK_MS), "a");
}
END_TEST

START_TEST(an_idle_age_costs_nothing)
{
    struct note a = note('a'), b = note('b');
    arm(&a, T0 + 1);
    arm(&b, UINT64_MAX - 1);
    ck_assert_str_eq(expire(UINT64_C(500) * 365 * 86400 * TICK_SEC), "a");
    ck_assert_str_eq(expire(UINT64_MAX - 2), "");
    ck_assert_uint_eq(wheel_next(&w), UINT64_MAX - 1);
    ck_assert_str_eq(expire(UINT64_MAX - 1), "b");
}
END_TEST

START_TEST(the_end_of_time)
{
    struct note a = note('a'), b = note('b'), c = note('c');
    wheel_init(&w, UINT64_MAX - 100);
    arm(&b, UINT64_MAX - 1);
    arm(&a, UINT64_MAX - 64);
    arm(&c, UINT64_MAX); /* never */
    ck_assert(!timer_armed(&c.timer));
    ck_assert_str_eq(expire(UINT64_MAX - 65), "");
    ck_assert_str_eq(expire(UINT64_MAX - 64), "a");
    ck_assert_str_eq(expire(UINT64_MAX), "b");
}
END_TEST

START_TEST(a_clock_that_goes_back_stands_still)
{
    struct note a = note('a'), b = note('b');
    arm(&a, T0 + 100);
    ck_assert_str_eq(expire(T0 + 50), "");
    ck_assert_str_eq(expire(T0 - TICK_SEC), "");
    ck_assert_uint_eq(w.now, T0 + 50);
    arm(&b, T0 + 40);
    ck_assert_str_eq(expire(0), "b");
    ck_assert_uint_eq(fired_at, T0 + 50);
    ck_assert_str_eq(expire(T0 + 100), "a");
}
END_TEST

/* How many have fired or moved to another level since levels was filled in. */
static unsigned disturbed(uint8_t *levels)
{
    unsigned n = 0;
    for (size_t i = 0; i < MANY; i++) {
        n += many[i].timer.level != levels[i];
        levels[i] = many[i].timer.level;
    }
    return n;
}

static uint64_t fired_of_many;
static struct note *fired_last;

static void in_order(struct timer *t, tick_t now)
{
    struct note *n = container_of(t, struct note, timer);
    ck_assert(n->again <= now && n->again > now - STEP); /* again: when it was armed for */
    ck_assert(!fired_last || fired_last->again < n->again ||
              (fired_last->again == n->again && fired_last < n));
    fired_last = n;
    fired_of_many++;
}

/* No call does the work of many: timers are fired and moved in proportion to the time that passes.
 */
START_TEST(a_crowd_moves_a_few_at_a_time)
{
    static uint8_t levels[MANY];
    struct rng rng;
    rng_seed(&rng, 3);
    for (size_t i = 0; i < MANY; i++) {
        many[i].again = T0 + SPELL + rng_below(&rng, SPELL);
        timer_init(&many[i].timer, in_order);
        wheel_arm(&w, &many[i].timer, many[i].again);
    }
    (void)disturbed(levels);
    unsigned most = 0;
    for (tick_t now = T0; now <= T0 + 2 * SPELL; now += STEP) {
        wheel_expire(&w, now);
        unsigned n = disturbed(levels);
        most = n > most ? n : most;
    }
    ck_assert_uint_eq(fired_of_many, MANY);
    ck_assert_uint_eq(w.armed, 0);
    ck_assert_uint_lt(most, 100); /* five are due in a step; a slot holds thousands */
}
END_TEST

START_TEST(a_crowd_due_at_once_fires_in_order)
{
    struct rng rng;
    rng_seed(&rng, 4);
    for (size_t i = 0; i < MANY; i++) {
        many[i].again = T0 + SPELL + rng_below(&rng, STEP / 32); /* many at the same time */
        timer_init(&many[i].timer, in_order);
        wheel_arm(&w, &many[i].timer, many[i].again);
    }
    wheel_expire(&w, T0 + SPELL - 1);
    ck_assert_uint_eq(fired_of_many, 0);
    wheel_expire(&w, T0 + SPELL + STEP / 32);
    ck_assert_uint_eq(fired_of_many, MANY);
}
END_TEST

START_TEST(random_histories_agree_with_the_model)
{
    uint8_t bytes[4096];
    struct rng rng;
    uint64_t total = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        rng_seed(&rng, seed);
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)rng_u64(&rng);
        total += wheel_model_run(bytes, sizeof(bytes));
    }
    ck_assert_uint_gt(total, 20000); /* the histories do exercise it */
}
END_TEST

UNIT_MAIN("wheel", setup, NULL, fires_at_its_time_and_never_before, fires_in_order_of_time,
          same_time_fires_in_order_of_arming, overdue_fires_in_the_next_call_ahead_of_the_others,
          rearmed_by_its_callback_for_the_past_waits_for_the_next_call,
          rearmed_by_its_callback_for_between_waits_too,
          rearmed_by_its_callback_for_later_fires_then,
          callback_cancels_what_is_due_in_the_same_call, callback_cancels_and_postpones_the_overdue,
          callback_frees_the_owner, expire_from_a_callback_is_caught, cancelled_never_fires,
          next_is_exact_until_something_is_cancelled,
          put_off_again_and_again_fires_once_and_on_time, an_idle_age_costs_nothing,
          the_end_of_time, a_clock_that_goes_back_stands_still, a_crowd_moves_a_few_at_a_time,
          a_crowd_due_at_once_fires_in_order, random_histories_agree_with_the_model)
