/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/capture_ring.h"

#include <string.h>

#include "support/heap.h"
#include "support/unit.h"

#define RING    4096u
#define SNAPLEN 1000u
#define HEADER  (BYTE_RING_HEADER + sizeof(struct capture_packet))

static struct heap_pool pool;
static struct capture_ring *ring;
static uint8_t bytes[2000];

static void setup(void)
{
    heap_pool_init(&pool, 0, 2000);
    ring = capture_ring_create(RING, SNAPLEN);
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
}

static void teardown(void)
{
    capture_ring_destroy(ring);
    ck_assert_uint_eq(pool.held, 0);
}

static void put(uint32_t length, size_t view, uint16_t iface, tick_t now)
{
    struct pkt *p = heap_pkt(&pool, bytes, length, view);
    capture_ring_put(ring, p, iface, now % 2 ? CAPTURE_IN : CAPTURE_OUT, now);
    pkt_free(p);
}

static void expect(uint32_t length, uint16_t iface, tick_t tick)
{
    const struct capture_packet *c = capture_ring_peek(ring);
    ck_assert_ptr_nonnull(c);
    ck_assert_uint_eq(c->tick, tick);
    ck_assert_uint_eq(c->length, length);
    ck_assert_uint_eq(c->captured, length < SNAPLEN ? length : SNAPLEN);
    ck_assert_uint_eq(c->iface, iface);
    ck_assert_uint_eq(c->direction, tick % 2 ? CAPTURE_IN : CAPTURE_OUT);
    ck_assert_mem_eq(c->bytes, bytes, c->captured);
    capture_ring_pop(ring);
}

START_TEST(what_goes_in_comes_out)
{
    ck_assert_ptr_null(capture_ring_peek(ring));
    put(60, 0, 0, 1);
    put(999, 100, 3, 2); /* a chain */
    put(1, 0, 1, 3);
    expect(60, 0, 1);
    expect(999, 3, 2);
    expect(1, 1, 3);
    ck_assert_ptr_null(capture_ring_peek(ring));
}
END_TEST

START_TEST(a_long_packet_is_cut)
{
    put(2000, 300, 0, 1);
    expect(2000, 0, 1);
}
END_TEST

START_TEST(what_finds_no_room_is_counted)
{
    uint32_t size = (uint32_t)((HEADER + 1000 + 7) & ~7u);
    unsigned room = RING / size;
    for (unsigned i = 0; i < room; i++)
        put(1000, 0, 2, i);
    ck_assert_uint_eq(capture_ring_lost(ring, 2), 0);
    put(1000, 0, 2, 99);
    put(1000, 0, 5, 99);
    put(1000, 0, 5, 99);
    ck_assert_uint_eq(capture_ring_lost(ring, 2), 1);
    ck_assert_uint_eq(capture_ring_lost(ring, 5), 2);
    for (unsigned i = 0; i < room; i++)
        expect(1000, 2, i);
    ck_assert_ptr_null(capture_ring_peek(ring));
    put(1000, 0, 2, 100);
    expect(1000, 2, 100);
}
END_TEST

/* Every length against every position near the end, so that each way to skip it is met. */
START_TEST(records_pass_the_end_of_the_ring)
{
    tick_t tick = 0;
    for (uint32_t length = 0; length <= SNAPLEN; length += 3) {
        put(length, 64, 1, ++tick);
        put(length / 2, 0, 2, ++tick);
        expect(length, 1, tick - 1);
        expect(length / 2, 2, tick);
    }
    ck_assert_uint_eq(capture_ring_lost(ring, 1) + capture_ring_lost(ring, 2), 0);
    ck_assert_uint_gt(atomic_load(&ring->ring->tail), 20 * RING);
}
END_TEST

/* Against a plain count of what is in it. */
START_TEST(it_is_a_queue)
{
    struct {
        uint32_t length;
        tick_t tick;
    } model[512];
    unsigned head = 0, tail = 0;
    uint32_t seed = 1;
    for (tick_t t = 1; t < 20000; t++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t length = (seed >> 8) % 1200;
        if (seed >> 31) {
            uint64_t lost = capture_ring_lost(ring, 0);
            put(length, 0, 0, t);
            if (capture_ring_lost(ring, 0) == lost) {
                model[tail % 512].length = length;
                model[tail++ % 512].tick = t;
            }
        } else if (head != tail) {
            expect(model[head % 512].length, 0, model[head % 512].tick);
            head++;
        } else {
            ck_assert_ptr_null(capture_ring_peek(ring));
        }
    }
    ck_assert_uint_gt(capture_ring_lost(ring, 0), 0);
}
END_TEST

UNIT_MAIN("capture_ring", setup, teardown, what_goes_in_comes_out, a_long_packet_is_cut,
          what_finds_no_room_is_counted, records_pass_the_end_of_the_ring, it_is_a_queue)
