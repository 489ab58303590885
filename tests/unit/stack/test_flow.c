/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/flow.h"

#include <string.h>

#include "base/rng.h"
#include "support/heap.h"
#include "support/unit.h"

#define MANY 20000u

static struct heap heap;
static struct rng rng;
static struct flow_table *table;
static struct flow flow[MANY];
static const struct siphash_key secret = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

static struct flow_key key4(uint32_t remote, uint16_t port)
{
    struct ip_addr local = ip_from_v4(UINT32_C(0xc0000201));
    struct ip_addr far = ip_from_v4(remote);
    return flow_key_of(&local, 443, &far, port, 6);
}

static struct flow_key key6(uint64_t n)
{
    struct ip_addr local = {{0x20, 1, 0xd, 0xb8, [15] = 1}};
    struct ip_addr far = {{0x20, 1, 0xd, 0xb8, 1}};
    memcpy(far.b + 8, &n, sizeof(n));
    return flow_key_of(&local, 443, &far, 1, 132);
}

/* Both families, no two alike. */
static struct flow_key key_nth(uint32_t n)
{
    return n % 3 ? key4(n, (uint16_t)n) : key6(n);
}

static void setup(void)
{
    heap_init(&heap);
    rng_seed(&rng, 1);
    table = flow_table_create(&heap.mem, &secret, MANY);
    ck_assert_ptr_nonnull(table);
    for (uint32_t i = 0; i < MANY; i++)
        flow[i].key = key_nth(i);
}

static void teardown(void)
{
    flow_table_destroy(table);
    ck_assert_uint_eq(heap.blocks, 0);
    ck_assert_uint_eq(heap.bytes, 0);
}

static void insert(uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        ck_assert_int_eq(flow_insert(table, &flow[i]), 0);
}

/* The table's hash of a key is learnt from another table with the same secret. */
static uint64_t hash_of(struct flow_key key)
{
    struct flow f = {.key = key};
    struct flow_table *t = flow_table_create(&heap.mem, &secret, 1);
    ck_assert_int_eq(flow_insert(t, &f), 0);
    flow_table_destroy(t);
    return f.hash;
}

/* Gives flow[0 .. n) keys whose hash has these bits. */
static void crowd(uint32_t n, uint64_t mask, uint64_t bits)
{
    uint32_t i = 0;
    for (uint32_t k = 0; i < n; k++) {
        flow[i].key = key4(k, 7);
        if ((hash_of(flow[i].key) & mask) == bits)
            i++;
    }
}

START_TEST(finds_what_is_there)
{
    ck_assert_ptr_null(flow_find(table, &flow[0].key));
    insert(0, 3);
    ck_assert_uint_eq(flow_count(table), 3);
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_eq(flow_find(table, &flow[i].key), &flow[i]);
    flow_remove(table, &flow[1]);
    ck_assert_ptr_eq(flow_find(table, &flow[0].key), &flow[0]);
    ck_assert_ptr_null(flow_find(table, &flow[1].key));
    ck_assert_ptr_eq(flow_find(table, &flow[2].key), &flow[2]);
    ck_assert_uint_eq(flow_count(table), 2);
}
END_TEST

START_TEST(every_byte_of_the_key_counts)
{
    insert(0, 2);
    for (int i = 0; i < 2; i++)
        for (size_t at = 0; at < offsetof(struct flow_key, zero); at++) {
            struct flow_key other = flow[i].key;
            ((uint8_t *)&other)[at] ^= 0x40;
            ck_assert_ptr_null(flow_find(table, &other));
        }
}
END_TEST

START_TEST(both_directions_are_two_flows)
{
    struct ip_addr a = ip_from_v4(1);
    struct ip_addr b = ip_from_v4(2);
    flow[0].key = flow_key_of(&a, 10, &b, 20, 17);
    flow[1].key = flow_key_of(&b, 20, &a, 10, 17);
    insert(0, 2);
    ck_assert_ptr_eq(flow_find(table, &flow[0].key), &flow[0]);
    ck_assert_ptr_eq(flow_find(table, &flow[1].key), &flow[1]);
}
END_TEST

START_TEST(refuses_a_second_flow_with_the_same_key)
{
    insert(0, 1000);
    struct flow again = {.key = flow[500].key};
    ck_assert_int_eq(flow_insert(table, &again), FLOW_E_EXISTS);
    ck_assert_int_eq(flow_insert(table, &flow[500]), FLOW_E_EXISTS);
    ck_assert_uint_eq(flow_count(table), 1000);
    ck_assert_ptr_eq(flow_find(table, &again.key), &flow[500]);
}
END_TEST

START_TEST(refuses_more_than_its_bound)
{
    struct flow_table *t = flow_table_create(&heap.mem, &secret, 5);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(flow_insert(t, &flow[i]), 0);
    ck_assert_int_eq(flow_insert(t, &flow[5]), FLOW_E_FULL);
    ck_assert_ptr_null(flow_find(t, &flow[5].key));
    ck_assert_int_eq(flow_insert(t, &flow[4]), FLOW_E_EXISTS);
    flow_remove(t, &flow[2]);
    ck_assert_int_eq(flow_insert(t, &flow[5]), 0);
    ck_assert_uint_eq(flow_count(t), 5);
    flow_table_destroy(t);
}
END_TEST

START_TEST(grows_and_shrinks)
{
    size_t empty = heap.bytes;
    insert(0, MANY);
    ck_assert_int_eq(flow_insert(table, &flow[0]), FLOW_E_EXISTS);
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_ptr_eq(flow_find(table, &flow[i].key), &flow[i]);
    size_t full = heap.bytes;
    ck_assert_uint_lt(full / MANY, 64);
    for (uint32_t i = 0; i < MANY; i += 2)
        flow_remove(table, &flow[i]);
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_ptr_eq(flow_find(table, &flow[i].key), i % 2 ? &flow[i] : NULL);
    for (uint32_t i = 1; i < MANY; i += 2)
        flow_remove(table, &flow[i]);
    ck_assert_uint_eq(flow_count(table), 0);
    /* One segment again; only the directory of pointers has kept its size. */
    ck_assert_uint_lt(heap.bytes, empty + full / 64);
    insert(0, 1000);
    ck_assert_ptr_eq(flow_find(table, &flow[999].key), &flow[999]);
}
END_TEST

/* Memory that notes the largest block asked for since the last look. */
struct watched {
    struct mem mem;
    size_t bytes;
};

static void *watched_alloc(struct mem *mem, size_t size, size_t align)
{
    ((struct watched *)mem)->bytes += size;
    return mem_alloc(&heap.mem, size, align);
}

static void watched_free(struct mem *mem, void *block, size_t size)
{
    (void)mem;
    mem_free(&heap.mem, block, size);
}

START_TEST(no_insert_moves_a_whole_table)
{
    struct watched w = {.mem = {.alloc = watched_alloc, .free = watched_free}};
    struct flow_table *t = flow_table_create(&w.mem, &secret, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        w.bytes = 0;
        ck_assert_int_eq(flow_insert(t, &flow[i]), 0);
        ck_assert_uint_le(w.bytes, 8192); /* a segment, and the directory doubled */
    }
    flow_table_destroy(t);
}
END_TEST

/* 40 flows of one home bucket fill eight, beyond the segment's last into its first. */
START_TEST(a_crowded_bucket_spills_and_recovers)
{
    const uint32_t n = 40;
    for (uint64_t home = 0; home < 64; home += 63) {
        crowd(n, UINT64_C(63) << 32, home << 32);
        struct flow_key stranger = flow[n - 1].key;
        insert(0, n - 1);
        ck_assert_ptr_null(flow_find(table, &stranger));
        for (uint32_t i = 0; i < n - 1; i++)
            ck_assert_ptr_eq(flow_find(table, &flow[i].key), &flow[i]);
        for (uint32_t i = 0; i < n - 1; i += 2)
            flow_remove(table, &flow[i]);
        for (uint32_t i = 0; i < n - 1; i++)
            ck_assert_ptr_eq(flow_find(table, &flow[i].key), i % 2 ? &flow[i] : NULL);
        for (uint32_t i = 0; i < n - 1; i += 2)
            ck_assert_int_eq(flow_insert(table, &flow[i]), 0);
        for (uint32_t i = n - 1; i-- > 0;) {
            flow_remove(table, &flow[i]);
            ck_assert_ptr_null(flow_find(table, &flow[i].key));
        }
        ck_assert_uint_eq(flow_count(table), 0);
    }
}
END_TEST

/* Flows that no split can part are refused before their segment is full, and the others live on. */
START_TEST(a_segment_that_cannot_split_refuses)
{
    struct flow_table *t = flow_table_create(&heap.mem, &secret, 1000);
    crowd(320, UINT64_C(0x3f) << 58, 0);
    uint32_t in = 0;
    while (in < 320 && flow_insert(t, &flow[in]) == 0)
        in++;
    ck_assert_uint_eq(in, 320 * 9 / 10);
    ck_assert_int_eq(flow_insert(t, &flow[in]), FLOW_E_FULL);
    ck_assert_uint_eq(flow_count(t), in);
    for (uint32_t i = 0; i < in; i++)
        ck_assert_ptr_eq(flow_find(t, &flow[i].key), &flow[i]);
    ck_assert_ptr_null(flow_find(t, &flow[in].key));
    struct flow other = {.key = key6(1)};
    while (hash_of(other.key) >> 58 == 0)
        other.key.remote.b[15]++;
    ck_assert_int_eq(flow_insert(t, &other), 0);
    ck_assert_ptr_eq(flow_find(t, &other.key), &other);
    flow_table_destroy(t);
}
END_TEST

/* The upper half is two segments, of which one is empty; the lower half is nearly so. */
START_TEST(a_half_that_was_split_again_is_not_joined)
{
    const uint64_t top = UINT64_C(1) << 63;
    crowd(200, top, top);
    insert(0, 200);
    struct flow lower[2] = {{.key = key6(1)}, {.key = key6(2)}};
    for (int i = 0; i < 2; i++) {
        while (hash_of(lower[i].key) & top)
            lower[i].key.remote.b[14]++;
        ck_assert_int_eq(flow_insert(table, &lower[i]), 0);
    }
    uint32_t left = 200;
    for (int i = 0; i < 200; i++)
        if (!(flow[i].hash & top >> 1)) {
            flow_remove(table, &flow[i]);
            left--;
        }
    ck_assert_uint_gt(left, 60);
    flow_remove(table, &lower[0]);
    for (int i = 0; i < 200; i++)
        ck_assert_ptr_eq(flow_find(table, &flow[i].key), flow[i].hash & top >> 1 ? &flow[i] : NULL);
    ck_assert_ptr_eq(flow_find(table, &lower[1].key), &lower[1]);
    flow_remove(table, &lower[1]);
}
END_TEST

struct hashed {
    uint64_t hash;
    uint32_t n;
};

static int by_hash(const void *a, const void *b)
{
    uint64_t x = ((const struct hashed *)a)->hash;
    uint64_t y = ((const struct hashed *)b)->hash;
    return (x > y) - (x < y);
}

static struct flow_key key_of_ports(uint32_t n)
{
    struct flow_key key = key4(1, (uint16_t)n);
    key.local_port = (uint16_t)(n >> 16);
    return key;
}

/* Among so many there are two whose hashes share the upper half; only their ports differ. */
START_TEST(flows_with_one_tag_are_told_apart)
{
    enum { N = 300000 };
    static struct hashed all[N];
    struct flow_table *t = flow_table_create(&heap.mem, &secret, 1);
    for (uint32_t i = 0; i < N; i++) {
        struct flow f = {.key = key_of_ports(i)};
        ck_assert_int_eq(flow_insert(t, &f), 0);
        all[i] = (struct hashed){f.hash, i};
        flow_remove(t, &f);
    }
    flow_table_destroy(t);
    qsort(all, N, sizeof(all[0]), by_hash);
    uint32_t twins = 0;
    for (uint32_t i = 1; i < N; i++) {
        if (all[i].hash >> 32 != all[i - 1].hash >> 32)
            continue;
        twins++;
        flow[0].key = key_of_ports(all[i].n);
        flow[1].key = key_of_ports(all[i - 1].n);
        insert(0, 1);
        struct flow *found[2];
        struct flow_key keys[2] = {flow[0].key, flow[1].key};
        flow_find_burst(table, keys, 2, found);
        ck_assert_ptr_eq(found[0], &flow[0]);
        ck_assert_ptr_null(found[1]);
        insert(1, 2);
        flow_find_burst(table, keys, 2, found);
        ck_assert_ptr_eq(found[0], &flow[0]);
        ck_assert_ptr_eq(found[1], &flow[1]);
        uint64_t cursor = 0;
        ck_assert_ptr_eq(flow_next(table, &cursor), &flow[1]);
        ck_assert_ptr_eq(flow_next(table, &cursor), &flow[0]);
        ck_assert_ptr_null(flow_next(table, &cursor));
        flow_remove(table, &flow[0]);
        ck_assert_ptr_eq(flow_find(table, &flow[1].key), &flow[1]);
        flow_remove(table, &flow[1]);
    }
    ck_assert_uint_gt(twins, 0);
}
END_TEST

START_TEST(without_memory_it_refuses_and_goes_on_later)
{
    insert(0, 100);
    heap.limit = heap.bytes;
    uint32_t in = 100;
    int error = 0;
    while (in < MANY && (error = flow_insert(table, &flow[in])) == 0)
        in++;
    ck_assert_int_eq(error, FLOW_E_MEMORY);
    ck_assert_uint_eq(in, 320 * 9 / 10);
    ck_assert_uint_eq(flow_count(table), in);
    ck_assert_ptr_null(flow_find(table, &flow[in].key));
    heap.limit += 64; /* the directory doubles, but the segment does not come */
    ck_assert_int_eq(flow_insert(table, &flow[in]), FLOW_E_MEMORY);
    heap.limit = SIZE_MAX;
    insert(in, 2000);
    for (uint32_t i = 0; i < 2000; i++)
        ck_assert_ptr_eq(flow_find(table, &flow[i].key), &flow[i]);
}
END_TEST

START_TEST(creation_without_memory_leaves_nothing)
{
    size_t before = heap.bytes;
    int made = 0;
    for (size_t room = 0; room < 8192 && !made; room += 8) {
        heap.limit = before + room;
        struct flow_table *t = flow_table_create(&heap.mem, &secret, MANY);
        made = t != NULL;
        if (t)
            flow_table_destroy(t);
        ck_assert_uint_eq(heap.bytes, before);
    }
    ck_assert(made);
}
END_TEST

START_TEST(a_burst_finds_what_single_lookups_find)
{
    enum { N = 100 };
    struct flow_key keys[N];
    struct flow *found[N + 1];
    insert(0, 5000);
    for (unsigned n = 0; n <= N; n = n < 34 ? n + 1 : n + 33) {
        for (unsigned i = 0; i < n; i++)
            keys[i] = flow[rng_below(&rng, 10000)].key;
        found[n] = &flow[1];
        flow_find_burst(table, keys, n, found);
        for (unsigned i = 0; i < n; i++)
            ck_assert_ptr_eq(found[i], flow_find(table, &keys[i]));
        ck_assert_ptr_eq(found[n], &flow[1]);
    }
}
END_TEST

START_TEST(a_burst_finds_flows_that_were_displaced)
{
    enum { N = 40 };
    struct flow_key keys[N];
    struct flow *found[N];
    crowd(N, UINT64_C(63) << 32, UINT64_C(17) << 32);
    insert(0, N);
    for (int i = 0; i < N; i += 3)
        flow_remove(table, &flow[i]); /* their tags stay behind in free slots */
    for (int i = 0; i < N; i++)
        keys[i] = flow[i].key;
    flow_find_burst(table, keys, N, found);
    for (int i = 0; i < N; i++)
        ck_assert_ptr_eq(found[i], i % 3 ? &flow[i] : NULL);
}
END_TEST

START_TEST(a_secret_decides_where_flows_lie)
{
    const struct siphash_key other = {1, 2};
    struct flow_table *t = flow_table_create(&heap.mem, &other, 1);
    ck_assert_int_eq(flow_insert(t, &flow[0]), 0);
    ck_assert_uint_ne(flow[0].hash, hash_of(flow[0].key));
    flow_table_destroy(t);
}
END_TEST

START_TEST(lists_each_flow_once)
{
    static const uint32_t sizes[] = {0, 1, 5, 300, 5000};
    uint32_t in = 0;
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        static uint8_t seen[MANY];
        memset(seen, 0, sizeof(seen));
        insert(in, sizes[k]);
        in = sizes[k];
        uint64_t cursor = 0;
        uint32_t n = 0;
        struct flow *f;
        while ((f = flow_next(table, &cursor))) {
            ck_assert_uint_eq(seen[f - flow]++, 0);
            n++;
        }
        ck_assert_uint_eq(n, in);
        ck_assert_ptr_null(flow_next(table, &cursor)); /* the end stays the end */
    }
}
END_TEST

/* Flows below STAY stay, while the others fill and empty the table between every two steps. */
START_TEST(a_listing_survives_growing_and_shrinking)
{
    enum { STAY = 500, STEP = 60 };
    static uint8_t seen[MANY];
    insert(0, STAY);
    uint64_t cursor = 0;
    uint32_t in = STAY;
    bool filling = true;
    uint32_t turns = 0;
    struct flow *f;
    while ((f = flow_next(table, &cursor))) {
        seen[f - flow]++;
        for (int i = 0; i < STEP; i++) {
            if (filling)
                ck_assert_int_eq(flow_insert(table, &flow[in++]), 0);
            else
                flow_remove(table, &flow[--in]);
        }
        if (filling ? in + STEP > 6000 : in < STAY + STEP) {
            filling = !filling;
            turns++;
        }
    }
    for (int i = 0; i < STAY; i++)
        ck_assert_uint_eq(seen[i], 1);
    ck_assert_uint_ge(turns, 4);
}
END_TEST

START_TEST(agrees_with_a_model_over_random_histories)
{
    enum { N = 1500 };
    static bool in[N];
    uint32_t count = 0;
    for (uint32_t step = 0; step < 60000; step++) {
        /* The table swells and empties in waves. */
        bool grow = rng_below(&rng, 10) < (step / 6000 % 2 ? 3 : 7);
        uint32_t i = (uint32_t)rng_below(&rng, N);
        if (grow) {
            ck_assert_int_eq(flow_insert(table, &flow[i]), in[i] ? FLOW_E_EXISTS : 0);
            count += !in[i];
            in[i] = true;
        } else if (in[i]) {
            flow_remove(table, &flow[i]);
            in[i] = false;
            count--;
        }
        uint32_t look = (uint32_t)rng_below(&rng, N);
        ck_assert_ptr_eq(flow_find(table, &flow[look].key), in[look] ? &flow[look] : NULL);
        ck_assert_uint_eq(flow_count(table), count);
    }
}
END_TEST

UNIT_MAIN("flow", setup, teardown, finds_what_is_there, every_byte_of_the_key_counts,
          both_directions_are_two_flows, refuses_a_second_flow_with_the_same_key,
          refuses_more_than_its_bound, grows_and_shrinks, no_insert_moves_a_whole_table,
          a_crowded_bucket_spills_and_recovers, a_segment_that_cannot_split_refuses,
          a_half_that_was_split_again_is_not_joined, flows_with_one_tag_are_told_apart,
          without_memory_it_refuses_and_goes_on_later, creation_without_memory_leaves_nothing,
          a_burst_finds_what_single_lookups_find, a_burst_finds_flows_that_were_displaced,
          a_secret_decides_where_flows_lie, lists_each_flow_once,
          a_listing_survives_growing_and_shrinking, agrees_with_a_model_over_random_histories)
