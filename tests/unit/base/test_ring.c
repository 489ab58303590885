/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/ring.h"

#include "base/rng.h"
#include "support/dies.h"
#include "support/heap.h"
#include "support/unit.h"

static struct heap heap;
static struct ring r;
static int item[600]; /* members, told apart by address */

static void setup(void)
{
    heap_init(&heap);
    ck_assert(ring_init(&r, &heap.mem, 4, 16));
}

static void teardown(void)
{
    ring_fini(&r);
    ck_assert_uint_eq(heap.blocks, 0);
}

START_TEST(both_ends_are_queues_and_stacks)
{
    ck_assert(ring_empty(&r));
    ck_assert_ptr_null(ring_pop_front(&r));
    ck_assert_ptr_null(ring_pop_back(&r));
    ck_assert(ring_push_back(&r, &item[1]) && ring_push_back(&r, &item[2]));
    ck_assert(ring_push_front(&r, &item[0]));
    ck_assert_uint_eq(ring_count(&r), 3);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_ptr_eq(ring_at(&r, i), &item[i]);
    ck_assert_ptr_eq(ring_pop_front(&r), &item[0]);
    ck_assert_ptr_eq(ring_pop_back(&r), &item[2]);
    ck_assert_ptr_eq(ring_pop_back(&r), &item[1]);
    ck_assert(ring_empty(&r));
}
END_TEST

START_TEST(grows_to_its_bound_and_no_further)
{
    for (int i = 0; i < 16; i++)
        ck_assert(ring_push_back(&r, &item[i]));
    ck_assert_uint_eq(r.mask, 15);
    ck_assert(!ring_push_back(&r, &item[16]));
    ck_assert(!ring_push_front(&r, &item[16]));
    ck_assert(!ring_grow(&r));
    for (int i = 0; i < 16; i++)
        ck_assert_ptr_eq(ring_pop_front(&r), &item[i]);
}
END_TEST

START_TEST(sizes_are_rounded_up)
{
    struct ring odd;
    ck_assert(ring_init(&odd, &heap.mem, 5, 9));
    ck_assert_uint_eq(odd.mask, 7);
    ck_assert_uint_eq(odd.max, 16);
    ring_fini(&odd);
    ck_assert(ring_init(&odd, &heap.mem, 0, 1)); /* at least one */
    ck_assert(ring_push_back(&odd, &item[0]));
    ck_assert(!ring_push_back(&odd, &item[1]));
    ring_fini(&odd);
    ring_fini(&odd);
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
    struct ring none;
    for (int i = 0; i < 4; i++)
        ck_assert(ring_push_back(&r, &item[i]));
    heap.limit = heap.bytes;
    ck_assert(!ring_push_back(&r, &item[4]));
    ck_assert(!ring_push_front(&r, &item[4]));
    ck_assert(!ring_init(&none, &heap.mem, 1, 1));
    ring_fini(&none);
    for (int i = 0; i < 4; i++)
        ck_assert_ptr_eq(ring_at(&r, (uint32_t)i), &item[i]);
    ck_assert_ptr_eq(ring_pop_front(&r), &item[0]);
    ck_assert(ring_push_back(&r, &item[4])); /* within its capacity it needs none */
}
END_TEST

START_TEST(its_bound_is_two_to_the_31)
{
    struct ring big;
    heap.limit = heap.bytes;
    ck_assert(!ring_init(&big, &heap.mem, UINT32_C(1) << 31, UINT32_C(1) << 31));
    ck_assert_uint_eq(big.mask, 0x7fffffff);
}
END_TEST

/* An array that moves its members is the model; counts start where they wrap. */
START_TEST(random_histories_agree_with_the_model)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct rng rng;
        struct ring q;
        int *model[600];
        uint32_t n = 0;
        rng_seed(&rng, seed);
        ck_assert(ring_init(&q, &heap.mem, 1, 512));
        q.head = q.tail = (uint32_t) - (int)rng_below(&rng, 300);
        for (int step = 0; step < 3000; step++) {
            int *x = &item[rng_below(&rng, 600)];
            uint64_t what = rng_below(&rng, 9);
            if (what < 3) { /* back */
                ck_assert(ring_push_back(&q, x) == (n < 512));
                if (n < 512)
                    model[n++] = x;
            } else if (what < 5) {
                ck_assert(ring_push_front(&q, x) == (n < 512));
                if (n < 512) {
                    memmove(model + 1, model, n++ * sizeof(model[0]));
                    model[0] = x;
                }
            } else if (what < 7) {
                ck_assert_ptr_eq(ring_pop_front(&q), n ? model[0] : NULL);
                if (n)
                    memmove(model, model + 1, --n * sizeof(model[0]));
            } else if (what < 8) {
                ck_assert_ptr_eq(ring_pop_back(&q), n ? model[n - 1] : NULL);
                n -= n > 0;
            }
            ck_assert_uint_eq(ring_count(&q), n);
            if (n) {
                uint32_t i = (uint32_t)rng_below(&rng, n);
                ck_assert_ptr_eq(ring_at(&q, i), model[i]);
            }
        }
        ring_fini(&q);
    }
}
END_TEST

static void read_past_the_end(void *arg)
{
    (void)arg;
    (void)ring_at(&r, 1);
}

START_TEST(reading_past_the_end_is_caught)
{
    ck_assert(ring_push_back(&r, &item[0]));
    ck_assert(dies(read_past_the_end, NULL));
}
END_TEST

UNIT_MAIN("ring", setup, teardown, both_ends_are_queues_and_stacks,
          grows_to_its_bound_and_no_further, sizes_are_rounded_up, without_memory_nothing_changes,
          its_bound_is_two_to_the_31, random_histories_agree_with_the_model,
          reading_past_the_end_is_caught)
