/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/rng.h"
#include "http2/internal.h"
#include "support/heap.h"
#include "support/unit.h"

#define STREAMS 200u

static struct heap heap;
static struct h2_streams table;
static struct h2_stream stream[STREAMS];

static void setup(void)
{
    heap_init(&heap);
    table = (struct h2_streams){0};
    for (uint32_t i = 0; i < STREAMS; i++)
        stream[i] = (struct h2_stream){.id = 2 * i + 1};
}

static void teardown(void)
{
    ck_assert_uint_eq(heap.blocks, 0);
}

static void end(void)
{
    h2_streams_clear(&table);
    h2_streams_tidy(&table, &heap.mem);
}

START_TEST(an_empty_table_has_no_memory_and_no_streams)
{
    uint32_t at = 0;
    ck_assert_ptr_null(h2_streams_find(&table, 1));
    ck_assert_ptr_null(h2_streams_next(&table, &at));
    h2_streams_tidy(&table, &heap.mem);
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
    for (uint32_t i = 0; i < 4; i++)
        ck_assert(h2_streams_add(&table, &heap.mem, &stream[i]));
    heap.limit = heap.bytes;
    ck_assert(!h2_streams_add(&table, &heap.mem, &stream[4]));
    ck_assert_uint_eq(table.n, 4);
    ck_assert_ptr_eq(h2_streams_find(&table, 7), &stream[3]);
    end();
}
END_TEST

START_TEST(memory_goes_when_the_last_stream_has_gone)
{
    h2_streams_add(&table, &heap.mem, &stream[0]);
    h2_streams_tidy(&table, &heap.mem);
    ck_assert_uint_gt(heap.blocks, 0);
    h2_streams_remove(&table, &stream[0]);
    h2_streams_tidy(&table, &heap.mem);
}
END_TEST

/* Identifiers far apart share homes, and gaps are closed. */
START_TEST(each_is_found_whatever_came_and_went)
{
    struct rng rng;
    bool in[STREAMS] = {0};
    rng_seed(&rng, 7);
    for (uint32_t i = 0; i < STREAMS; i++)
        stream[i].id = i % 3 == 0 ? 16 * i + 1 : H2_STREAM_MAX - 32 * i;
    for (unsigned step = 0; step < 20000; step++) {
        uint32_t i = (uint32_t)rng_below(&rng, step % 5000 < 2500 ? STREAMS : 12);
        if (in[i])
            h2_streams_remove(&table, &stream[i]);
        else
            ck_assert(h2_streams_add(&table, &heap.mem, &stream[i]));
        in[i] = !in[i];
        uint32_t k = (uint32_t)rng_below(&rng, STREAMS);
        ck_assert_ptr_eq(h2_streams_find(&table, stream[k].id), in[k] ? &stream[k] : NULL);
    }
    uint32_t n = 0, at = 0;
    for (const struct h2_stream *s; (s = h2_streams_next(&table, &at)); n++)
        ck_assert(in[s - stream]);
    ck_assert_uint_eq(n, table.n);
    end();
}
END_TEST

START_TEST(closed_streams_are_remembered_for_a_while)
{
    struct h2_closed_ring r = {0};
    ck_assert_uint_eq(h2_closed_how(&r, 1), H2_CLOSED_UNUSED);
    h2_closed_note(&r, 1, H2_CLOSED_IN_ORDER);
    h2_closed_note(&r, 3, H2_CLOSED_BY_US);
    h2_closed_note(&r, 5, H2_CLOSED_BY_PEER);
    ck_assert_uint_eq(h2_closed_how(&r, 1), H2_CLOSED_IN_ORDER);
    ck_assert_uint_eq(h2_closed_how(&r, 3), H2_CLOSED_BY_US);
    ck_assert_uint_eq(h2_closed_how(&r, 5), H2_CLOSED_BY_PEER);
    h2_closed_note(&r, 3, H2_CLOSED_BY_PEER); /* the latest word counts */
    ck_assert_uint_eq(h2_closed_how(&r, 3), H2_CLOSED_BY_PEER);
    for (uint32_t i = 0; i < H2_CLOSED_KEPT - 4; i++)
        h2_closed_note(&r, 101 + 2 * i, H2_CLOSED_BY_US);
    ck_assert_uint_eq(h2_closed_how(&r, 1), H2_CLOSED_IN_ORDER);
    h2_closed_note(&r, 999, H2_CLOSED_BY_US);
    ck_assert_uint_eq(h2_closed_how(&r, 1), H2_CLOSED_FORGOTTEN);
    ck_assert_uint_eq(h2_closed_how(&r, 999), H2_CLOSED_BY_US);
}
END_TEST

UNIT_MAIN("streams", setup, teardown, an_empty_table_has_no_memory_and_no_streams,
          without_memory_nothing_changes, memory_goes_when_the_last_stream_has_gone,
          each_is_found_whatever_came_and_went, closed_streams_are_remembered_for_a_while)
