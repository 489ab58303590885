/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/byte_ring.h"

#include <stdbool.h>
#include <string.h>

#include "support/unit.h"

#define RING 256u

static struct byte_ring *ring;

static void setup(void)
{
    ring = byte_ring_create(RING);
    ck_assert_ptr_nonnull(ring);
}

static void teardown(void)
{
    byte_ring_destroy(ring);
}

static bool put(uint8_t fill, uint32_t n)
{
    void *to = byte_ring_reserve(ring, n);
    if (!to)
        return false;
    ck_assert_uint_eq((uintptr_t)to % 8, 0);
    memset(to, fill, n);
    byte_ring_commit(ring);
    return true;
}

static void expect(uint8_t fill, uint32_t n)
{
    const uint8_t *p = byte_ring_peek(ring);
    ck_assert_ptr_nonnull(p);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_uint_eq(p[i], fill);
    byte_ring_pop(ring);
}

START_TEST(a_record_is_seen_when_it_is_committed)
{
    ck_assert_ptr_nonnull(byte_ring_reserve(ring, 10));
    ck_assert_ptr_null(byte_ring_peek(ring));
    ck_assert(put(1, 20)); /* the one before was never there */
    expect(1, 20);
    ck_assert_ptr_null(byte_ring_peek(ring));
}
END_TEST

START_TEST(a_full_ring_takes_no_more)
{
    unsigned n = 0;
    while (put((uint8_t)n, 24))
        n++;
    ck_assert_uint_eq(n, RING / 32);
    expect(0, 24);
    ck_assert(put(99, 24));
    ck_assert(!put(100, 0));
    for (unsigned i = 1; i < n; i++)
        expect((uint8_t)i, 24);
    expect(99, 24);
}
END_TEST

/* Of every length, from every position. */
START_TEST(records_are_in_one_piece)
{
    for (unsigned round = 0; round < 40; round++)
        for (uint32_t n = 0; n <= RING / 2 - BYTE_RING_HEADER; n += 1 + round % 7) {
            ck_assert(put((uint8_t)(n + round), n));
            expect((uint8_t)(n + round), n);
        }
    ck_assert_ptr_null(byte_ring_peek(ring));
}
END_TEST

UNIT_MAIN("byte_ring", setup, teardown, a_record_is_seen_when_it_is_committed,
          a_full_ring_takes_no_more, records_are_in_one_piece)
