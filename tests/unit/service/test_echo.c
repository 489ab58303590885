/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire.h"

#include "base/rng.h"

static void setup(void)
{
    wire_open(&service_echo, 64);
}

START_TEST(sends_back_what_came)
{
    wire_arrived("hello, ", 7, 3);
    wire_arrived("world", 5, 0);
    ck_assert_uint_eq(wire.consumed, 12);
    ck_assert_uint_gt(wire.woken, 0);
    char out[13] = {0};
    wire_taken(out, 12);
    ck_assert_str_eq(out, "hello, world");
    ck_assert(!wire_ended());
}
END_TEST

START_TEST(the_same_packet_goes_back)
{
    struct pkt *p = pkt_alloc_len(&wire.pool.pool, 290);
    memset(p->data, 'x', 290);
    const uint8_t *there = p->data;
    stream_arrived(&wire.stream, p);
    wire_run();
    ck_assert_uint_eq(wire.pool.held, 1);
    struct pkt *sent = vec_queue_slice(&wire.stream.out, &wire.pool.pool, 0, 290, 1);
    ck_assert_ptr_eq(sent->data, there);
    pkt_free(sent);
}
END_TEST

START_TEST(ends_behind_the_last_byte)
{
    stream_arrived(&wire.stream, heap_pkt(&wire.pool, "last", 4, 2));
    wire_arrived_end();
    ck_assert(wire_ended());
    ck_assert_uint_eq(wire_queued(), 4);
    char out[4];
    wire_taken(out, 4);
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

START_TEST(a_peer_that_does_not_read_is_stopped)
{
    static uint8_t bytes[2000];
    wire_arrived(bytes, 999, 0);
    ck_assert_uint_eq(wire.consumed, 999);
    wire_arrived(bytes, 300, 0);
    wire_arrived(bytes, 300, 0);
    ck_assert_uint_eq(wire.consumed, 1299);
    ck_assert_uint_eq(wire_queued(), 1299); /* the other 300 wait */
    wire_taken(bytes, 898);
    ck_assert_uint_eq(wire.consumed, 1299);
    wire_taken(bytes, 1);
    ck_assert_uint_eq(wire.consumed, 1599);
    ck_assert_uint_eq(wire_queued(), 700);
}
END_TEST

START_TEST(the_end_comes_through_while_it_is_stopped)
{
    static uint8_t bytes[1500];
    wire_arrived(bytes, 1500, 1200);
    wire_arrived_end();
    ck_assert(!wire_ended());
    ck_assert_uint_eq(wire_queued(), 1200);
    wire_taken(bytes, 1200);
    ck_assert(wire_ended());
    wire_taken(bytes, 300);
    wire_finished();
    ck_assert_uint_eq(wire.consumed, 1500);
}
END_TEST

START_TEST(a_reset_frees_all)
{
    wire_arrived("unread", 6, 0);
    stream_arrived(&wire.stream, heap_pkt(&wire.pool, "unheard", 7, 2));
    stream_failed(&wire.stream, STREAM_RESET);
    wire_run();
    ck_assert(stream_over(&wire.stream));
    ck_assert_uint_eq(wire.consumed, 13);
    ck_assert_uint_eq(wire.pool.held, 0);
    ck_assert_uint_eq(wire.aborted, 0);
}
END_TEST

START_TEST(a_storm_of_bytes_that_nobody_reads_holds)
{
    static uint8_t out[3000];
    for (uint32_t i = 0; i < 3000; i++) {
        struct pkt *p = pkt_alloc(&wire.pool.pool);
        *pkt_put(p, 1) = (uint8_t)i;
        stream_arrived(&wire.stream, p);
        wire_run();
    }
    ck_assert_uint_eq(wire.aborted, 0);
    ck_assert_uint_eq(wire.consumed, 1000);
    ck_assert_uint_le(wire.pool.held, 12);
    for (uint32_t i = 0; i < 3000; i += 500)
        wire_taken(out + i, 500);
    for (uint32_t i = 0; i < 3000; i++)
        ck_assert_uint_eq(out[i], (uint8_t)i);
}
END_TEST

START_TEST(more_packets_than_it_has_promises_wait)
{
    for (uint32_t i = 0; i < 100; i++)
        wire_arrived("x", 1, 0); /* without room behind it */
    ck_assert_uint_eq(wire_queued(), 32);
    ck_assert_uint_eq(wire.consumed, 32);
    uint8_t out[32];
    wire_taken(out, 16);
    ck_assert_uint_eq(wire_queued(), 32);
    wire_taken(out, 32);
    wire_taken(out, 32);
    wire_taken(out, 20);
    ck_assert_uint_eq(wire_queued(), 0);
    ck_assert_uint_eq(wire.consumed, 100);
    ck_assert_uint_eq(wire.aborted, 0);
}
END_TEST

START_TEST(without_memory_it_gives_up)
{
    wire.heap.limit = 0;
    wire_arrived("x", 1, 0);
    ck_assert_uint_eq(wire.aborted, 1);
    ck_assert_uint_eq(wire.consumed, 1);
    ck_assert_uint_eq(wire.pool.held, 0);
}
END_TEST

/* A peer with a window sends and reads at random. */
START_TEST(any_conversation_comes_back)
{
    enum { ALL = 200000, WINDOW = 4000 };
    static uint8_t out[8192];
    struct rng rng;
    rng_seed(&rng, 1);
    uint32_t sent = 0;
    uint32_t read = 0;
    while (read < ALL) {
        uint32_t n = 1 + (uint32_t)rng_below(&rng, 300);
        uint8_t bytes[300];
        for (uint32_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)((sent + i) * 7 / 3);
        if (sent + n <= ALL + 300 && sent - wire.consumed + n <= WINDOW && rng_below(&rng, 3)) {
            wire_arrived(bytes, n, 1 + rng_below(&rng, 300));
            sent += n;
        }
        ck_assert(!stream_over(&wire.stream));
        ck_assert_uint_lt(wire_queued(), 1300);
        n = (uint32_t)rng_below(&rng, wire_queued() + 1);
        wire_taken(out, n);
        for (uint32_t i = 0; i < n; i++)
            ck_assert_uint_eq(out[i], (uint8_t)((read + i) * 7 / 3));
        read += n;
    }
    wire_arrived_end();
    wire_taken(out, wire_queued());
    ck_assert_uint_eq(wire.consumed, sent);
    wire_finished();
}
END_TEST

UNIT_MAIN("echo", setup, wire_close, sends_back_what_came, the_same_packet_goes_back,
          ends_behind_the_last_byte, an_end_alone_is_answered, a_peer_that_does_not_read_is_stopped,
          the_end_comes_through_while_it_is_stopped, a_reset_frees_all,
          a_storm_of_bytes_that_nobody_reads_holds, more_packets_than_it_has_promises_wait,
          without_memory_it_gives_up, any_conversation_comes_back)
