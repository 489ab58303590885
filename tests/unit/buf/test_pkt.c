/* SPDX-License-Identifier: BSD-3-Clause */
#include "buf/pkt.h"

#include <string.h>

#include "support/heap.h"
#include "support/unit.h"

#define HEADROOM 32
#define ROOM     64

static struct heap_pool pool;
static uint8_t ramp[256];

static void setup(void)
{
    heap_pool_init(&pool, HEADROOM, ROOM);
    for (size_t i = 0; i < sizeof(ramp); i++)
        ramp[i] = (uint8_t)(i + 1);
}

static void teardown(void)
{
    ck_assert_uint_eq(pool.held, 0);
}

/* A packet of one view with room at both ends. */
static struct pkt *roomy(uint32_t len)
{
    struct pkt *p = pkt_alloc(&pool.pool);
    memcpy(pkt_put(p, len), ramp, len);
    return p;
}

static uint32_t views(const struct pkt *p)
{
    uint32_t n = 0;
    for (; p; p = p->next)
        n++;
    return n;
}

/* p holds len bytes of the ramp from its first on. */
static void assert_ramp(const struct pkt *p, uint32_t first, uint32_t len)
{
    uint8_t bytes[sizeof(ramp)];
    ck_assert(pkt_ok(p));
    ck_assert_uint_eq(p->total, len);
    pkt_copy_out(p, 0, bytes, len);
    ck_assert_mem_eq(bytes, ramp + first, len);
}

START_TEST(push_pull_and_put_keep_to_the_room)
{
    struct pkt *p = roomy(10);
    ck_assert_ptr_null(pkt_push(p, HEADROOM + 1));
    ck_assert_ptr_eq(pkt_push(p, HEADROOM), p->data);
    ck_assert_uint_eq(p->headroom, 0);
    ck_assert_uint_eq(p->total, HEADROOM + 10);
    pkt_pull(p, HEADROOM + 4);
    ck_assert_uint_eq(p->headroom, HEADROOM + 4);
    assert_ramp(p, 4, 6);
    ck_assert_ptr_null(pkt_put(p, ROOM - 10 + 1));
    ck_assert_ptr_nonnull(pkt_put(p, ROOM - 10));
    ck_assert_uint_eq(p->tailroom, 0);
    ck_assert_uint_eq(p->total, ROOM - 4);
    pkt_free(p);
}
END_TEST

START_TEST(headroom_stops_at_its_types_end)
{
    static uint8_t big[UINT16_MAX];
    struct pkt *p = heap_pkt(&pool, big, sizeof(big), 0);
    pkt_pull(p, sizeof(big));
    ck_assert_uint_eq(p->headroom, UINT16_MAX);
    ck_assert_uint_eq(p->total, 0);
    pkt_free(p);
}
END_TEST

START_TEST(trim_cuts_views_and_gives_back_tailroom)
{
    struct pkt *p = heap_pkt(&pool, ramp, 100, 30); /* 30 30 30 10 */
    ck_assert_uint_eq(views(p), 4);
    pkt_trim(p, 100);
    ck_assert_uint_eq(views(p), 4);
    pkt_trim(p, 90);
    ck_assert_uint_eq(views(p), 3);
    pkt_trim(p, 45);
    ck_assert_uint_eq(views(p), 2);
    ck_assert_uint_eq(p->next->tailroom, 15);
    assert_ramp(p, 0, 45);
    pkt_trim(p, 0);
    ck_assert_uint_eq(views(p), 1);
    ck_assert_uint_eq(p->tailroom, 30);
    ck_assert_uint_eq(p->total, 0);
    ck_assert_uint_eq(pool.held, 1);
    pkt_free(p);
}
END_TEST

START_TEST(advances_over_views)
{
    for (uint32_t n = 0; n <= 50; n++) {
        struct pkt *p = heap_pkt(&pool, ramp, 50, 20); /* 20 20 10 */
        p->iface = 5;
        p = pkt_advance(p, n);
        assert_ramp(p, n, 50 - n);
        ck_assert_uint_eq(views(p), n < 20 ? 3 : n < 40 ? 2 : 1);
        ck_assert_uint_eq(p->iface, 5);
        ck_assert(p->len > 0 || n == 50);
        pkt_free(p);
    }
}
END_TEST

START_TEST(append_keeps_the_heads_metadata)
{
    struct pkt *a = heap_pkt(&pool, ramp, 50, 20);
    struct pkt *b = heap_pkt(&pool, ramp + 50, 30, 20);
    a->iface = 3;
    b->iface = 4;
    pkt_append(a, b);
    assert_ramp(a, 0, 80);
    ck_assert_uint_eq(a->iface, 3);
    ck_assert_uint_eq(views(a), 5);
    pkt_append(a, heap_pkt(&pool, ramp, 0, 0));
    ck_assert_uint_eq(views(a), 5);
    pkt_free(a);
}
END_TEST

START_TEST(append_to_an_empty_head)
{
    struct pkt *a = pkt_alloc(&pool.pool);
    pkt_append(a, heap_pkt(&pool, ramp, 20, 0));
    assert_ramp(a, 0, 20);
    ck_assert(pkt_pullup(a, 20));
    ck_assert_uint_eq(a->len, 20);
    pkt_free(a);
}
END_TEST

START_TEST(pullup_gathers_over_views)
{
    struct pkt *p = roomy(10);
    pkt_append(p, heap_pkt(&pool, ramp + 10, 30, 8)); /* 10 8 8 8 6 */
    ck_assert(pkt_pullup(p, 10));
    ck_assert_uint_eq(views(p), 5);
    ck_assert(pkt_pullup(p, 20));
    ck_assert_uint_eq(p->len, 20);
    ck_assert_uint_eq(views(p), 4);
    ck_assert_uint_eq(p->next->len, 6);
    ck_assert_uint_eq(p->tailroom, ROOM - 20);
    assert_ramp(p, 0, 40);
    ck_assert(pkt_pullup(p, 40));
    ck_assert_uint_eq(views(p), 1);
    assert_ramp(p, 0, 40);
    pkt_free(p);
}
END_TEST

START_TEST(pullup_refuses_what_does_not_fit)
{
    struct pkt *p = roomy(ROOM - 2);
    pkt_append(p, heap_pkt(&pool, ramp + ROOM - 2, 10, 5));
    ck_assert(!pkt_pullup(p, ROOM + 1)); /* beyond the tailroom */
    ck_assert(!pkt_pullup(p, ROOM + 9)); /* beyond the chain */
    ck_assert_uint_eq(p->len, ROOM - 2);
    ck_assert_uint_eq(views(p), 3);
    assert_ramp(p, 0, ROOM + 8);
    ck_assert(pkt_pullup(p, ROOM));
    struct pkt *s = pkt_slice(&pool.pool, p, 0, 1);
    pkt_trim(p, ROOM + 4);
    ck_assert(!pkt_pullup(p, ROOM + 1));
    pkt_free(s);
    pkt_free(p);
}
END_TEST

START_TEST(copies_out_any_range)
{
    struct pkt *p = heap_pkt(&pool, ramp, 64, 7);
    for (uint32_t from = 0; from <= 64; from++) {
        for (uint32_t len = 0; len <= 64 - from; len++) {
            uint8_t bytes[65];
            memset(bytes, 0, sizeof(bytes));
            pkt_copy_out(p, from, bytes, len);
            ck_assert_mem_eq(bytes, ramp + from, len);
            ck_assert_uint_eq(bytes[len], 0);
        }
    }
    pkt_free(p);
}
END_TEST

START_TEST(slices_any_range)
{
    struct pkt *p = heap_pkt(&pool, ramp, 40, 7);
    for (uint32_t from = 0; from <= 40; from++) {
        for (uint32_t len = 0; len <= 40 - from; len++) {
            struct pkt *s = pkt_slice(&pool.pool, p, from, len);
            assert_ramp(s, from, len);
            pkt_for_each (v, s)
                ck_assert(v->len > 0 || len == 0);
            pkt_free(s);
        }
    }
    assert_ramp(p, 0, 40);
    ck_assert_uint_eq(p->refs, 1);
    pkt_free(p);
}
END_TEST

START_TEST(shared_memory_is_read_only)
{
    struct pkt *p = roomy(20);
    struct pkt *s = pkt_slice(&pool.pool, p, 0, 10);
    ck_assert(!pkt_writable(p));
    ck_assert(!pkt_writable(s));
    /* Were the push granted, the caller would overwrite the slice. */
    pkt_pull(p, 10);
    ck_assert_ptr_null(pkt_push(p, 10));
    ck_assert_ptr_null(pkt_put(p, 1));
    ck_assert_ptr_null(pkt_put(s, 1));
    assert_ramp(p, 10, 10);
    assert_ramp(s, 0, 10);
    pkt_free(s);
    ck_assert(pkt_writable(p));
    ck_assert_ptr_nonnull(pkt_push(p, 10));
    assert_ramp(p, 0, 20);
    pkt_free(p);
}
END_TEST

START_TEST(the_last_slice_owns_all_the_room)
{
    struct pkt *p = roomy(20);
    struct pkt *a = pkt_slice(&pool.pool, p, 5, 10);
    struct pkt *b = pkt_slice(&pool.pool, a, 2, 3);
    ck_assert_ptr_eq(b->base, p);
    ck_assert_uint_eq(p->refs, 3);
    pkt_free(p);
    ck_assert(!pkt_writable(a));
    pkt_free(a);
    ck_assert_uint_eq(pool.held, 2); /* the memory and b */
    ck_assert(pkt_writable(b));
    assert_ramp(b, 7, 3);
    ck_assert_uint_eq(b->headroom, HEADROOM + 7);
    ck_assert_uint_eq(b->tailroom, ROOM - 10);
    memset(pkt_push(b, HEADROOM + 7), 0, HEADROOM + 7);
    memset(pkt_put(b, ROOM - 10), 0, ROOM - 10);
    ck_assert_uint_eq(b->total, HEADROOM + ROOM);
    pkt_free(b);
}
END_TEST

START_TEST(a_slice_outlives_the_rest_of_its_chain)
{
    struct pkt *p = heap_pkt(&pool, ramp, 60, 20);
    struct pkt *s = pkt_slice(&pool.pool, p, 25, 10);
    p->flags = PKT_RX_HASH;
    struct pkt *whole = pkt_slice(&pool.pool, p, 0, 60);
    ck_assert_uint_eq(whole->flags, PKT_RX_HASH);
    ck_assert_uint_eq(views(whole), 3);
    pkt_free(p);
    pkt_free(whole);
    ck_assert_uint_eq(pool.held, 2);
    assert_ramp(s, 25, 10);
    pkt_free(s);
}
END_TEST

START_TEST(a_copy_is_independent)
{
    struct pkt *p = heap_pkt(&pool, ramp, 150, 13);
    p->iface = 7;
    p->vlan = 0x123;
    p->hash = 99;
    struct pkt *c = pkt_copy(&pool.pool, p);
    ck_assert_uint_eq(views(c), 3); /* 64 64 22 */
    ck_assert_uint_eq(c->headroom, HEADROOM);
    ck_assert_uint_eq(c->iface, 7);
    ck_assert_uint_eq(c->vlan, 0x123);
    ck_assert_uint_eq(c->hash, 99);
    memset(p->data, 0, p->len);
    assert_ramp(c, 0, 150);
    pkt_free(p);
    struct pkt *empty = pkt_alloc(&pool.pool);
    struct pkt *e = pkt_copy(&pool.pool, empty);
    assert_ramp(e, 0, 0);
    pkt_free(empty);
    pkt_free(e);
    pkt_free(c);
}
END_TEST

START_TEST(an_empty_pool_changes_nothing)
{
    struct pkt *p = heap_pkt(&pool, ramp, 150, 50);
    for (size_t spare = 0; spare < 3; spare++) {
        pool.limit = 3 + spare;
        ck_assert_ptr_null(pkt_slice(&pool.pool, p, 10, 130));
        ck_assert_ptr_null(pkt_copy(&pool.pool, p));
        ck_assert_uint_eq(pool.held, 3);
        pkt_for_each (v, p)
            ck_assert(pkt_writable(v));
    }
    pool.limit = 6;
    struct pkt *s = pkt_slice(&pool.pool, p, 10, 130);
    assert_ramp(s, 10, 130);
    pkt_free(s);
    pkt_free(p);
    pkt_free(NULL);
}
END_TEST

START_TEST(merges_few_bytes_into_room_of_its_own)
{
    struct pkt *p = roomy(10);
    struct pkt *q = heap_pkt(&pool, ramp + 10, 20, 7);
    struct pkt *slice = pkt_slice(&pool.pool, p, 0, 10);
    ck_assert(!pkt_merge(p, q)); /* somebody else looks at it */
    pkt_free(slice);
    ck_assert(pkt_merge(p, q));
    p->total += 20;
    assert_ramp(p, 0, 30);
    ck_assert_uint_eq(p->tailroom, ROOM - 30);
    ck_assert_uint_eq(pool.held, 1);
    q = heap_pkt(&pool, ramp + 30, ROOM - 29, 0);
    ck_assert(!pkt_merge(p, q)); /* one too many */
    pkt_trim(q, ROOM - 30);
    ck_assert(pkt_merge(p, q));
    p->total = ROOM;
    assert_ramp(p, 0, ROOM);
    pkt_free(p);
}
END_TEST

START_TEST(does_not_copy_many_to_save_a_buffer)
{
    struct heap_pool large;
    heap_pool_init(&large, 0, 1000);
    struct pkt *p = pkt_alloc_len(&large.pool, 1);
    struct pkt *q = pkt_alloc_len(&large.pool, PKT_MERGE_MAX + 1);
    ck_assert(!pkt_merge(p, q));
    pkt_trim(q, PKT_MERGE_MAX);
    ck_assert(pkt_merge(p, q));
    pkt_free(p);
    ck_assert_uint_eq(large.held, 0);
}
END_TEST

UNIT_MAIN("pkt", setup, teardown, push_pull_and_put_keep_to_the_room,
          headroom_stops_at_its_types_end, trim_cuts_views_and_gives_back_tailroom,
          advances_over_views, append_keeps_the_heads_metadata, append_to_an_empty_head,
          pullup_gathers_over_views, pullup_refuses_what_does_not_fit, copies_out_any_range,
          slices_any_range, shared_memory_is_read_only, the_last_slice_owns_all_the_room,
          a_slice_outlives_the_rest_of_its_chain, a_copy_is_independent,
          merges_few_bytes_into_room_of_its_own, does_not_copy_many_to_save_a_buffer,
          an_empty_pool_changes_nothing)
