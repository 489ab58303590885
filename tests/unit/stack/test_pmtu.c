/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/pmtu.h"

#include "base/rng.h"
#include "support/heap.h"
#include "support/unit.h"

#define MAX 8u

static struct heap heap;
static struct pmtu *pmtu;
static struct pmtu_args args;

static struct ip_addr v4(uint32_t n)
{
    return ip_from_v4(UINT32_C(0x0a000000) + n);
}

static struct ip_addr v6(uint8_t n)
{
    return (struct ip_addr){{0x20, 1, 0xd, 0xb8, [15] = n}};
}

static bool lower(struct ip_addr a, uint16_t mtu, tick_t now)
{
    return pmtu_lower(pmtu, &a, mtu, now);
}

static uint16_t get(struct ip_addr a, tick_t now)
{
    return pmtu_get(pmtu, &a, 1500, now);
}

static void setup(void)
{
    heap_init(&heap);
    args = (struct pmtu_args){.mem = &heap.mem, .key = {1, 2}, .max = MAX};
    pmtu = pmtu_create(&args);
    ck_assert_ptr_nonnull(pmtu);
}

static void teardown(void)
{
    pmtu_destroy(pmtu);
    ck_assert_uint_eq(heap.blocks, 0);
}

START_TEST(a_path_is_as_wide_as_its_link_until_told)
{
    ck_assert_uint_eq(get(v4(1), 0), 1500);
    ck_assert(lower(v4(1), 1400, 0));
    ck_assert_uint_eq(get(v4(1), 0), 1400);
    ck_assert_uint_eq(get(v4(2), 0), 1500);
    struct ip_addr a = v4(1);
    ck_assert_uint_eq(pmtu_get(pmtu, &a, 1300, 0), 1300);
    ck_assert(lower(v6(1), 1280, 0));
    ck_assert_uint_eq(get(v6(1), 0), 1280);
}
END_TEST

START_TEST(a_message_never_raises)
{
    ck_assert(lower(v6(1), 1400, 0));
    ck_assert(!lower(v6(1), 1450, 1));
    ck_assert_uint_eq(get(v6(1), 1), 1400);
    ck_assert(!lower(v6(1), 1400, 2));
    ck_assert(lower(v6(1), 1399, 3));
    ck_assert_uint_eq(get(v6(1), 3), 1399);
}
END_TEST

START_TEST(narrow_ipv6_is_not_believed_and_narrow_ipv4_is_floored)
{
    ck_assert(!lower(v6(1), 1279, 0));
    ck_assert(!lower(v6(1), 0, 0));
    ck_assert_uint_eq(pmtu_count(pmtu), 0);
    ck_assert(lower(v4(1), 68, 0));
    ck_assert_uint_eq(get(v4(1), 0), 552);
    ck_assert(!lower(v4(1), 0, 0)); /* the floor again, no less than before */
    ck_assert_uint_eq(get(v4(1), 0), 552);

    pmtu_destroy(pmtu);
    args.floor4 = 68;
    pmtu = pmtu_create(&args);
    ck_assert(lower(v4(1), 100, 0));
    ck_assert_uint_eq(get(v4(1), 0), 100);
    ck_assert(lower(v4(1), 20, 0));
    ck_assert_uint_eq(get(v4(1), 0), 68);
}
END_TEST

START_TEST(forgets_after_ten_minutes)
{
    const tick_t t = 1000 * TICK_SEC;
    ck_assert(lower(v4(1), 1400, t));
    ck_assert_uint_eq(get(v4(1), t + 600 * TICK_SEC - 1), 1400);
    ck_assert_uint_eq(pmtu_count(pmtu), 1);
    ck_assert_uint_eq(get(v4(1), t + 600 * TICK_SEC), 1500);
    ck_assert_uint_eq(pmtu_count(pmtu), 0);
    /* After that a message counts anew, even with more than was known before. */
    ck_assert(lower(v4(2), 1300, t));
    ck_assert(lower(v4(2), 1400, t + 600 * TICK_SEC));
    ck_assert_uint_eq(get(v4(2), t + 600 * TICK_SEC), 1400);
}
END_TEST

START_TEST(only_a_decrease_prolongs)
{
    ck_assert(lower(v4(1), 1400, 0));
    ck_assert(!lower(v4(1), 1400, 300 * TICK_SEC));
    ck_assert(lower(v4(2), 1400, 0));
    ck_assert(lower(v4(2), 1300, 300 * TICK_SEC));
    ck_assert_uint_eq(get(v4(1), 600 * TICK_SEC), 1500);
    ck_assert_uint_eq(get(v4(2), 600 * TICK_SEC), 1300);
}
END_TEST

START_TEST(the_least_recently_used_makes_room)
{
    for (uint32_t i = 0; i < MAX; i++)
        ck_assert(lower(v4(i), 1400, i));
    ck_assert_uint_eq(get(v4(0), 10), 1400); /* used: 1 is the oldest now */
    ck_assert(lower(v4(100), 1400, 10));
    ck_assert_uint_eq(pmtu_count(pmtu), MAX);
    ck_assert_uint_eq(get(v4(1), 10), 1500);
    ck_assert_uint_eq(get(v4(0), 10), 1400);
    ck_assert_uint_eq(get(v4(100), 10), 1400);
    for (uint32_t i = 2; i < MAX; i++)
        ck_assert_uint_eq(get(v4(i), 10), 1400);
}
END_TEST

START_TEST(one_entry_is_enough)
{
    pmtu_destroy(pmtu);
    args.max = 1;
    pmtu = pmtu_create(&args);
    for (uint32_t i = 0; i < 100; i++) {
        ck_assert(lower(v4(i), 1000, i));
        ck_assert_uint_eq(get(v4(i), i), 1000);
        ck_assert_uint_eq(pmtu_count(pmtu), 1);
    }
    ck_assert_uint_eq(get(v4(98), 100), 1500);
}
END_TEST

START_TEST(lists_by_pages)
{
    struct ctl_path rows[MAX];
    uint64_t cursor = 0;
    uint32_t n = 99;
    ck_assert(!pmtu_list(pmtu, rows, MAX, &cursor, &n, 0));
    ck_assert_uint_eq(n, 0);
    for (uint32_t i = 0; i < 5; i++)
        ck_assert(lower(v4(i), (uint16_t)(1400 + i), i * TICK_SEC));
    const tick_t now = 601 * TICK_SEC; /* 0 and 1 have ended */
    cursor = 0;
    ck_assert(pmtu_list(pmtu, rows, 2, &cursor, &n, now));
    ck_assert_uint_eq(n, 2);
    ck_assert(!pmtu_list(pmtu, rows + 2, 2, &cursor, &n, now));
    ck_assert_uint_eq(n, 1);
    for (uint32_t i = 0; i < 3; i++) {
        struct ip_addr a = v4(i + 2);
        ck_assert(ip_eq(&rows[i].remote, &a));
        ck_assert_uint_eq(rows[i].mtu, 1402 + i);
        ck_assert_uint_eq(rows[i].expires, (i + 1) * TICK_SEC);
    }
    ck_assert(!pmtu_list(pmtu, rows, MAX, &cursor, &n, now));
    ck_assert_uint_eq(n, 0);
    cursor = 0;
    ck_assert(pmtu_list(pmtu, rows, 0, &cursor, &n, now));
    cursor = UINT32_MAX; /* from a caller that is mistaken */
    ck_assert(!pmtu_list(pmtu, rows, MAX, &cursor, &n, now));
    ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(agrees_with_a_model)
{
    enum { N = 40 };
    struct model {
        uint16_t mtu;
        tick_t ends;
    } model[N] = {0};
    pmtu_destroy(pmtu);
    args.max = N; /* nothing makes room here */
    pmtu = pmtu_create(&args);
    struct rng rng;
    rng_seed(&rng, 5);
    tick_t now = 0;
    for (int step = 0; step < 20000; step++) {
        now += rng_below(&rng, 20 * TICK_SEC);
        uint32_t i = (uint32_t)rng_below(&rng, N);
        struct model *m = &model[i];
        struct ip_addr a = i % 2 ? v4(i) : v6((uint8_t)i);
        if (m->ends <= now)
            m->mtu = 1500;
        if (rng_below(&rng, 4) == 0) {
            uint16_t mtu = (uint16_t)(1280 + rng_below(&rng, 220));
            bool lowered = mtu < m->mtu;
            ck_assert(lower(a, mtu, now) == lowered);
            if (lowered)
                *m = (struct model){mtu, now + PMTU_LIFETIME};
        }
        ck_assert_uint_eq(get(a, now), m->mtu);
    }
}
END_TEST

START_TEST(creation_without_memory_leaves_nothing)
{
    size_t before = heap.bytes;
    bool made = false;
    for (size_t room = 0; room < 4096 && !made; room += 8) {
        heap.limit = before + room;
        struct pmtu *p = pmtu_create(&args);
        made = p != NULL;
        if (p)
            pmtu_destroy(p);
        ck_assert_uint_eq(heap.bytes, before);
    }
    ck_assert(made);
}
END_TEST

UNIT_MAIN("pmtu", setup, teardown, a_path_is_as_wide_as_its_link_until_told, a_message_never_raises,
          narrow_ipv6_is_not_believed_and_narrow_ipv4_is_floored, forgets_after_ten_minutes,
          only_a_decrease_prolongs, the_least_recently_used_makes_room, one_entry_is_enough,
          lists_by_pages, agrees_with_a_model, creation_without_memory_leaves_nothing)
