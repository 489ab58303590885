/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/hystart.h"

#include "support/unit.h"

#define WINDOW 100000u

static struct tcp_hystart hystart;
static seq32_t una;

static void setup(void)
{
    hystart_init(&hystart);
    una = seq32(UINT32_MAX - WINDOW / 2);
}

/* One acknowledgment of n bytes: is slow start over? What follows it ends WINDOW further on. */
static bool ack(uint32_t n, tick_t rtt)
{
    una = seq32_add(una, n);
    struct tcp_cc_ack a = {.acked = n, .rtt = rtt, .una = una, .nxt = seq32_add(una, WINDOW)};
    return hystart_acked(&hystart, &a);
}

/* A round of so many acknowledgments, all with this round trip. */
static bool round_of(unsigned acks, tick_t rtt)
{
    bool over = false;
    for (unsigned i = 0; i < acks && !over; i++)
        over = ack(i > 0 ? WINDOW / acks : WINDOW - WINDOW / acks * (acks - 1), rtt);
    return over;
}

static void begin(tick_t rtt)
{
    ck_assert(!ack(0, rtt));
}

START_TEST(steady_round_trips_go_on_for_ever)
{
    begin(20 * TICK_MS);
    for (int i = 0; i < 1000; i++)
        ck_assert(!round_of(10, 20 * TICK_MS));
    ck_assert(!hystart.css);
}
END_TEST

START_TEST(slightly_longer_is_not_suspicious)
{
    begin(40 * TICK_MS);
    round_of(10, 40 * TICK_MS);
    ck_assert(!round_of(10, 45 * TICK_MS - 1)); /* an eighth less one */
    ck_assert(!hystart.css);
}
END_TEST

START_TEST(an_eighth_longer_is)
{
    begin(40 * TICK_MS);
    round_of(10, 40 * TICK_MS);
    ck_assert(!round_of(10, 45 * TICK_MS));
    ck_assert(hystart.css);
}
END_TEST

START_TEST(less_than_four_milliseconds_is_noise)
{
    begin(TICK_MS);
    round_of(10, TICK_MS);
    round_of(10, 5 * TICK_MS - 1);
    ck_assert(!hystart.css);
    setup();
    begin(TICK_MS);
    round_of(10, TICK_MS);
    round_of(10, 5 * TICK_MS);
    ck_assert(hystart.css);
}
END_TEST

START_TEST(sixteen_milliseconds_are_always_suspicious)
{
    begin(800 * TICK_MS);
    round_of(10, 800 * TICK_MS);
    round_of(10, 816 * TICK_MS);
    ck_assert(hystart.css);
}
END_TEST

START_TEST(judges_by_the_shortest_of_a_round)
{
    begin(40 * TICK_MS);
    round_of(10, 40 * TICK_MS);
    for (int i = 0; i < 9; i++)
        ack(1, i == 3 ? 40 * TICK_MS : 90 * TICK_MS);
    ck_assert(!hystart.css);
}
END_TEST

START_TEST(eight_samples_are_needed)
{
    begin(20 * TICK_MS);
    round_of(10, 20 * TICK_MS);
    round_of(7, 60 * TICK_MS);
    ck_assert(!hystart.css);
    round_of(10, 20 * TICK_MS);
    round_of(8, 60 * TICK_MS);
    ck_assert(hystart.css);
}
END_TEST

START_TEST(acknowledgments_without_a_sample_do_not_count)
{
    begin(20 * TICK_MS);
    round_of(10, 20 * TICK_MS);
    round_of(10, 0);
    ck_assert(!hystart.css);
    /* Nor is there a round before to compare with. */
    round_of(10, 60 * TICK_MS);
    ck_assert(!hystart.css);
}
END_TEST

START_TEST(over_after_five_rounds)
{
    begin(20 * TICK_MS);
    round_of(10, 20 * TICK_MS);
    ck_assert(!round_of(10, 30 * TICK_MS)); /* the round in which it began is the first */
    for (int i = 0; i < 3; i++)
        ck_assert(!round_of(10, 30 * TICK_MS));
    ck_assert(round_of(10, 30 * TICK_MS));
}
END_TEST

START_TEST(shorter_again_was_jitter)
{
    begin(20 * TICK_MS);
    round_of(10, 20 * TICK_MS);
    round_of(10, 30 * TICK_MS);
    ck_assert(hystart.css);
    for (int i = 0; i < 3; i++)
        round_of(10, 30 * TICK_MS);
    ck_assert(!round_of(10, 30 * TICK_MS - 1));
    ck_assert(!hystart.css);
    /* And the five begin anew. */
    ck_assert(!round_of(10, 50 * TICK_MS));
    for (int i = 0; i < 3; i++)
        ck_assert(!round_of(10, 50 * TICK_MS));
    ck_assert(round_of(10, 50 * TICK_MS));
}
END_TEST

UNIT_MAIN("hystart", setup, NULL, steady_round_trips_go_on_for_ever,
          slightly_longer_is_not_suspicious, an_eighth_longer_is,
          less_than_four_milliseconds_is_noise, sixteen_milliseconds_are_always_suspicious,
          judges_by_the_shortest_of_a_round, eight_samples_are_needed,
          acknowledgments_without_a_sample_do_not_count, over_after_five_rounds,
          shorter_again_was_jitter)
