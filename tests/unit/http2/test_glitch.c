/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/glitch.h"

#include <string.h>

#include "support/unit.h"

static struct h2_settings settings;
static struct counters counters;
static struct h2_glitches g;

static void setup(void)
{
    settings = (struct h2_settings){.glitches = 100, .glitches_recover = 2};
    ck_assert(h2_settings_fill(&settings));
    memset(&counters, 0, sizeof(counters));
    h2_glitches_init(&g, &settings, TICK_SEC);
}

static enum h2_verdict unknown_frames(uint32_t times, tick_t now)
{
    return h2_glitch(&g, &counters, H2_GLITCH_UNKNOWN_FRAME, times, now);
}

START_TEST(drains_at_three_quarters_and_ends_at_the_limit)
{
    ck_assert_uint_eq(h2_glitches_used(&g), 0);
    ck_assert_int_eq(unknown_frames(74, TICK_SEC), H2_VERDICT_FINE);
    ck_assert_int_eq(unknown_frames(1, TICK_SEC), H2_VERDICT_DRAIN);
    ck_assert_uint_eq(h2_glitches_used(&g), 75);
    ck_assert_int_eq(unknown_frames(24, TICK_SEC), H2_VERDICT_DRAIN);
    ck_assert_int_eq(unknown_frames(1, TICK_SEC), H2_VERDICT_END);
    ck_assert_uint_eq(h2_glitches_used(&g), 100);
    ck_assert_int_eq(unknown_frames(1, TICK_SEC), H2_VERDICT_END);
}
END_TEST

START_TEST(forgives_slowly)
{
    ck_assert_int_eq(unknown_frames(74, TICK_SEC), H2_VERDICT_FINE);
    ck_assert_int_eq(unknown_frames(20, 11 * TICK_SEC), H2_VERDICT_FINE); /* 20 were forgiven */
    ck_assert_uint_eq(h2_glitches_used(&g), 74);
    ck_assert_int_eq(unknown_frames(0, 1000 * TICK_SEC), H2_VERDICT_FINE);
    ck_assert_uint_eq(h2_glitches_used(&g), 0);
}
END_TEST

/* However many at once, and however heavy. */
START_TEST(does_not_overflow)
{
    ck_assert_int_eq(h2_glitch(&g, &counters, H2_GLITCH_STALLED, UINT32_MAX, TICK_SEC),
                     H2_VERDICT_END);
    settings.glitches = UINT32_MAX;
    h2_glitches_init(&g, &settings, TICK_SEC);
    ck_assert_int_eq(unknown_frames(UINT32_MAX / 2, TICK_SEC), H2_VERDICT_FINE);
    ck_assert_int_eq(unknown_frames(UINT32_MAX / 4 + 2, TICK_SEC), H2_VERDICT_DRAIN);
    ck_assert_int_eq(unknown_frames(UINT32_MAX / 2, TICK_SEC), H2_VERDICT_END);
}
END_TEST

START_TEST(a_single_one_may_be_too_much)
{
    settings.glitches = 1;
    h2_glitches_init(&g, &settings, TICK_SEC);
    ck_assert_int_eq(unknown_frames(1, TICK_SEC), H2_VERDICT_END);
}
END_TEST

static const struct {
    enum counter counter;
    const char *counter_text;
    uint32_t weight;
} kinds[] = {
#define X(id, name, weight, text) {COUNTER_H2_GLITCH_##id, "h2_glitch_" name, weight},
    H2_GLITCHES(X)
#undef X
};

START_TEST(counts_each_kind_under_its_name)
{
    settings.glitches = 100000;
    h2_glitches_init(&g, &settings, TICK_SEC);
    for (unsigned i = 0; i < H2_GLITCH_END; i++) {
        uint32_t before = h2_glitches_used(&g);
        h2_glitch(&g, &counters, (enum h2_glitch)i, i + 2, TICK_SEC);
        ck_assert_uint_eq(counter_get(&counters, kinds[i].counter), i + 2);
        ck_assert_uint_eq(h2_glitches_used(&g) - before, kinds[i].weight * (i + 2));
        ck_assert_str_eq(counter_name(kinds[i].counter), kinds[i].counter_text);
        ck_assert_str_eq(h2_glitch_name((enum h2_glitch)i), kinds[i].counter_text + 10);
    }
}
END_TEST

UNIT_MAIN("glitch", setup, NULL, drains_at_three_quarters_and_ends_at_the_limit, forgives_slowly,
          does_not_overflow, a_single_one_may_be_too_much, counts_each_kind_under_its_name)
