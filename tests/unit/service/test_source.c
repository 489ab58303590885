/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

#include "base/rng.h"

static void setup(void)
{
    wire_open(&service_source, 8);
}

static void is_pattern(const uint8_t *bytes, uint64_t from, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        ck_assert_uint_eq(bytes[i], (from + i) % 251);
}

START_TEST(fills_the_queue_at_once)
{
    ck_assert_uint_eq(wire_queued(), 1000);
    ck_assert_uint_eq(stream_cost(&wire.stream), 0);
    ck_assert_uint_gt(wire.woken, 0);
    uint8_t out[1000];
    vec_queue_flatten(&wire.stream.out, 0, out, 1000);
    is_pattern(out, 0, 1000);
}
END_TEST

START_TEST(refills_at_the_low_mark)
{
    uint8_t out[1000];
    wire_taken(out, 599);
    ck_assert_uint_eq(wire_queued(), 401);
    wire_taken(out, 1);
    ck_assert_uint_eq(wire_queued(), 1000);
    vec_queue_flatten(&wire.stream.out, 0, out, 1000);
    is_pattern(out, 600, 1000);
}
END_TEST

START_TEST(ignores_what_it_is_sent)
{
    wire_arrived("stop!", 5, 2);
    ck_assert_uint_eq(wire.consumed, 5);
    ck_assert_uint_eq(wire_queued(), 1000);
    ck_assert_uint_eq(wire.pool.held, 0);
    ck_assert(!wire_ended());
}
END_TEST

START_TEST(ends_when_the_peer_does)
{
    wire_arrived_end();
    ck_assert(wire_ended());
    uint8_t out[1000];
    wire_taken(out, 700);
    ck_assert_uint_eq(wire_queued(), 300); /* what was promised is sent, no more */
    wire_taken(out, 300);
    is_pattern(out, 700, 300);
    wire_finished();
}
END_TEST

START_TEST(a_peer_that_does_not_listen_is_reset)
{
    stream_failed(&wire.stream, STREAM_RESET);
    wire_run();
    ck_assert(stream_over(&wire.stream));
}
END_TEST

START_TEST(without_memory_it_gives_up)
{
    wire_close();
    wire_open(&service_source, 8);
    stream_fini(&wire.stream);
    wire.heap.limit = 0;
    stream_init(&wire.stream, &service_source, &wire_carrier, &wire.ready, &wire.heap.mem, 8);
    stream_set_marks(&wire.stream, 1000, 400);
    stream_opened(&wire.stream);
    wire_run();
    ck_assert_uint_eq(wire.aborted, 1);
    ck_assert(stream_over(&wire.stream));
}
END_TEST

/* Marks that move, segments of any size, some read twice. */
START_TEST(the_pattern_goes_on_for_ever)
{
    static uint8_t out[100000];
    struct rng rng;
    rng_seed(&rng, 1);
    uint64_t read = 0;
    while (read < 3000000) {
        uint32_t offset = (uint32_t)rng_below(&rng, wire_queued() + 1);
        uint32_t n = (uint32_t)rng_below(&rng, wire_queued() - offset + 1);
        vec_queue_flatten(&wire.stream.out, offset, out, n);
        is_pattern(out, read + offset, n);
        uint32_t high = 100 + (uint32_t)rng_below(&rng, 50000);
        stream_set_marks(&wire.stream, high, high / 2);
        n = (uint32_t)rng_below(&rng, wire_queued() + 1);
        wire_taken(out, n);
        is_pattern(out, read, n);
        read += n;
        ck_assert_uint_gt(wire_queued(), 0);
        ck_assert_uint_le(vec_queue_count(&wire.stream.out), 3);
    }
}
END_TEST

UNIT_MAIN("source", setup, wire_close, fills_the_queue_at_once, refills_at_the_low_mark,
          ignores_what_it_is_sent, ends_when_the_peer_does, a_peer_that_does_not_listen_is_reset,
          without_memory_it_gives_up, the_pattern_goes_on_for_ever)
