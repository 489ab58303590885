/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

static void setup(void)
{
    wire_open(&service_discard, 8);
}

START_TEST(takes_everything_at_once)
{
    static uint8_t bytes[5000];
    wire_arrived(bytes, 5000, 300);
    ck_assert_uint_eq(wire.consumed, 5000);
    ck_assert_uint_eq(wire.pool.held, 0);
    ck_assert_uint_eq(wire_queued(), 0);
    ck_assert_uint_eq(wire.heap.blocks, 0);
    ck_assert(!wire_ended());
}
END_TEST

START_TEST(ends_when_the_peer_does)
{
    stream_arrived(&wire.stream, heap_pkt(&wire.pool, "last", 4, 2));
    wire_arrived_end();
    ck_assert(wire_ended());
    ck_assert_uint_eq(wire.consumed, 4);
    wire_finished();
}
END_TEST

START_TEST(an_end_alone_is_answered)
{
    wire_arrived_end();
    ck_assert(wire_ended());
    wire_finished();
}
END_TEST

UNIT_MAIN("discard", setup, wire_close, takes_everything_at_once, ends_when_the_peer_does,
          an_end_alone_is_answered)
