/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/slab_model.h"

#include "base/rng.h"
#include "support/dies.h"
#include "support/unit.h"

static struct heap heap;
static struct slab *s;

static void setup(void)
{
    heap_init(&heap);
    s = slab_create(&heap.mem, 100, 8, 1000);
    ck_assert_ptr_nonnull(s);
}

static void teardown(void)
{
    slab_destroy(s);
    ck_assert_uint_eq(heap.blocks, 0);
    ck_assert_uint_eq(heap.bytes, 0);
}

START_TEST(a_handle_finds_its_object_until_it_is_freed)
{
    handle_t a, b;
    void *at_a = slab_alloc(s, &a);
    void *at_b = slab_alloc(s, &b);
    ck_assert(a != HANDLE_NONE && b != HANDLE_NONE && a != b);
    ck_assert_ptr_eq(slab_get(s, a), at_a);
    ck_assert_ptr_eq(slab_get(s, b), at_b);
    ck_assert_uint_eq(slab_handle(s, at_a), a);
    ck_assert_uint_eq(slab_live(s), 2);
    slab_free(s, at_a);
    ck_assert_ptr_null(slab_get(s, a));
    ck_assert_ptr_eq(slab_get(s, b), at_b);
    ck_assert_uint_eq(slab_live(s), 1);
}
END_TEST

START_TEST(a_reused_slot_has_another_handle_and_zeroed_bytes)
{
    handle_t a, b;
    unsigned char *first = slab_alloc(s, &a);
    memset(first, 0xff, 100);
    slab_free(s, first);
    unsigned char *second = slab_alloc(s, &b);
    ck_assert_ptr_eq(first, second); /* last freed, first reused */
    ck_assert_uint_ne(a, b);
    ck_assert_ptr_null(slab_get(s, a));
    ck_assert_ptr_eq(slab_get(s, b), second);
    ck_assert(model_filled(second, 100, 0));
}
END_TEST

START_TEST(handles_never_given_out_find_nothing)
{
    handle_t a;
    ck_assert_ptr_null(slab_get(s, HANDLE_NONE));
    ck_assert_ptr_null(slab_get(s, 1));
    void *at = slab_alloc(s, &a);
    for (uint64_t generation = 0; generation < 4; generation++) {
        handle_t h = generation << 32 | (uint32_t)a;
        ck_assert_ptr_eq(slab_get(s, h), h == a ? at : NULL);
    }
    ck_assert_ptr_null(slab_get(s, a + 1)); /* the next slot, not yet used */
    ck_assert_ptr_null(slab_get(s, UINT64_MAX));
    slab_free(s, at);
    ck_assert_ptr_null(slab_get(s, a + (UINT64_C(1) << 32))); /* the free slot's own generation */
}
END_TEST

START_TEST(generations_wrap_past_zero)
{
    handle_t h, none = HANDLE_NONE;
    void *at = slab_alloc(s, &h);
    ck_assert_uint_eq((uint32_t)h, 0); /* slot 0: only the generation keeps its handle from 0 */
    slab_free(s, at);
    trailer_of(s, at)->generation = UINT32_MAX - 1;
    handle_t last;
    ck_assert_ptr_eq(slab_alloc(s, &last), at);
    ck_assert_uint_eq(last >> 32, UINT32_MAX);
    slab_free(s, at);
    ck_assert_uint_eq(trailer_of(s, at)->generation, 0);
    ck_assert_ptr_null(slab_get(s, none));
    handle_t first;
    ck_assert_ptr_eq(slab_alloc(s, &first), at);
    ck_assert_uint_eq(first, UINT64_C(1) << 32);
    ck_assert_ptr_null(slab_get(s, last));
    ck_assert_ptr_null(slab_get(s, none));
}
END_TEST

START_TEST(the_bound_is_met_and_survived)
{
    static void *all[1000];
    handle_t h;
    for (int i = 0; i < 1000; i++) {
        all[i] = slab_alloc(s, &h);
        ck_assert_ptr_nonnull(all[i]);
    }
    ck_assert_uint_eq(slab_live(s), slab_max(s));
    ck_assert_ptr_null(slab_alloc(s, &h));
    ck_assert_uint_eq(h, HANDLE_NONE);
    slab_free(s, all[500]);
    ck_assert_ptr_eq(slab_alloc(s, &h), all[500]);
    ck_assert_ptr_null(slab_alloc(s, &h));
    ck_assert_uint_eq(slab_live(s), 1000);
}
END_TEST

START_TEST(out_of_memory_leaves_it_as_it_was)
{
    handle_t h, before;
    void *at = slab_alloc(s, &before);
    heap.limit = heap.bytes;
    uint32_t n = 1;
    while (slab_alloc(s, &h))
        n++;
    ck_assert_uint_eq(h, HANDLE_NONE);
    ck_assert_uint_lt(n, 1000); /* a chunk is smaller than the bound */
    ck_assert_uint_eq(slab_live(s), n);
    ck_assert_ptr_eq(slab_get(s, before), at);
    heap.limit = SIZE_MAX;
    ck_assert_ptr_nonnull(slab_alloc(s, &h));
    ck_assert_ptr_eq(slab_get(s, before), at);
}
END_TEST

START_TEST(creation_without_memory_fails)
{
    handle_t h;
    struct heap none;
    heap_init(&none);
    none.limit = 0;
    ck_assert_ptr_null(slab_create(&none.mem, 1, 1, 1));
    none.limit = SIZE_MAX;
    struct slab *small = slab_create(&none.mem, 1, 1, 1);
    none.limit = none.bytes; /* no room for the table of chunks */
    ck_assert_ptr_null(slab_alloc(small, &h));
    none.limit += 16 * sizeof(void *); /* nor for a chunk */
    ck_assert_ptr_null(slab_alloc(small, &h));
    none.limit = SIZE_MAX;
    ck_assert_ptr_nonnull(slab_alloc(small, &h));
    ck_assert_ptr_null(slab_alloc(small, &h));
    slab_destroy(small);
    slab_destroy(NULL);
    ck_assert_uint_eq(none.blocks, 0);
}
END_TEST

START_TEST(chunks_do_not_move_and_keep_the_alignment)
{
    static const struct {
        size_t size, align;
    } shapes[] = {{1, 1}, {3, 64}, {64, 64}, {65, 64}, {4096, 4096}, {70000, 8}, {12, 4}};
    static void *at[3000];
    static handle_t handle[3000];
    for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
        struct slab *t = slab_create(&heap.mem, shapes[k].size, shapes[k].align, 3000);
        for (uint32_t i = 0; i < 3000; i++) {
            at[i] = slab_alloc(t, &handle[i]);
            ck_assert_ptr_nonnull(at[i]);
            ck_assert_uint_eq((uintptr_t)at[i] & (shapes[k].align - 1), 0);
            memset(at[i], (int)(i & 0xff), shapes[k].size);
        }
        for (uint32_t i = 0; i < 3000; i++) {
            ck_assert_ptr_eq(slab_get(t, handle[i]), at[i]);
            ck_assert(model_filled(at[i], shapes[k].size, (uint8_t)i));
        }
        slab_destroy(t);
    }
}
END_TEST

START_TEST(a_walk_sees_each_live_object_once)
{
    handle_t h[10];
    for (int i = 0; i < 10; i++)
        *(int *)slab_alloc(s, &h[i]) = i;
    slab_free(s, slab_get(s, h[0]));
    slab_free(s, slab_get(s, h[4]));
    slab_free(s, slab_get(s, h[9]));
    uint32_t cursor = 0;
    int expect[] = {1, 2, 3, 5, 6, 8};
    for (int i = 0; i < 6; i++) {
        int *o = slab_next(s, &cursor);
        ck_assert_int_eq(*o, expect[i]);
        if (*o == 6)
            slab_free(s, slab_get(s, h[7])); /* goes while the walk stands before it */
        if (*o == 2)
            slab_free(s, o); /* and the one it stands on */
    }
    ck_assert_ptr_null(slab_next(s, &cursor));
    ck_assert_ptr_null(slab_next(s, &cursor));
}
END_TEST

START_TEST(a_slot_has_an_object_or_none)
{
    handle_t h[3];
    ck_assert_uint_eq(slab_slots(s), 0);
    for (int i = 0; i < 3; i++)
        *(int *)slab_alloc(s, &h[i]) = i;
    slab_free(s, slab_get(s, h[1]));
    ck_assert_uint_eq(slab_slots(s), 3);
    ck_assert_ptr_eq(slab_at(s, 0), slab_get(s, h[0]));
    ck_assert_ptr_null(slab_at(s, 1));
    ck_assert_ptr_eq(slab_at(s, 2), slab_get(s, h[2]));
}
END_TEST

static void free_it(void *object)
{
    slab_free(s, object);
}

static void handle_of(void *object)
{
    (void)slab_handle(s, object);
}

START_TEST(freeing_twice_is_caught)
{
    handle_t h;
    void *at = slab_alloc(s, &h);
    slab_free(s, at);
    ck_assert(dies(free_it, at));
    ck_assert(dies(handle_of, at));
}
END_TEST

START_TEST(freeing_anothers_object_is_caught)
{
    handle_t h;
    struct slab *other = slab_create(&heap.mem, 100, 8, 1000);
    void *at = slab_alloc(other, &h);
    ck_assert_ptr_nonnull(slab_alloc(s, &h));
    ck_assert(dies(free_it, at));
    slab_destroy(other);
}
END_TEST

START_TEST(random_histories_agree_with_the_model)
{
    uint8_t bytes[2048];
    struct rng rng;
    uint32_t wraps = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        rng_seed(&rng, seed);
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)rng_u64(&rng);
        if (seed & 1)
            bytes[0] = 0; /* small objects, many to a chunk */
        wraps += slab_model_run(bytes, sizeof(bytes));
    }
    ck_assert_uint_gt(wraps, 500);
}
END_TEST

UNIT_MAIN("slab", setup, teardown, a_handle_finds_its_object_until_it_is_freed,
          a_reused_slot_has_another_handle_and_zeroed_bytes, handles_never_given_out_find_nothing,
          generations_wrap_past_zero, the_bound_is_met_and_survived,
          out_of_memory_leaves_it_as_it_was, creation_without_memory_fails,
          chunks_do_not_move_and_keep_the_alignment, a_walk_sees_each_live_object_once,
          a_slot_has_an_object_or_none, freeing_twice_is_caught, freeing_anothers_object_is_caught,
          random_histories_agree_with_the_model)
