/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/reorder.h"

#include <string.h>

#include "base/rng.h"
#include "support/heap.h"
#include "support/unit.h"

#define SPAN  4096
#define ROOMY UINT32_MAX /* of memory */

static struct heap heap;
static struct heap_pool pool;
static struct tcp_reorder o;
static struct tcp_sack dup;

/* Byte 0 of the stream stands just below the wrap. */
static seq32_t at(uint32_t i)
{
    return seq32(UINT32_MAX - 50 + i);
}

static void setup(void)
{
    heap_init(&heap);
    heap_pool_init(&pool, 64, 2048);
    reorder_init(&o, &heap.mem);
}

static void teardown(void)
{
    reorder_fini(&o);
    ck_assert_uint_eq(o.cost, 0);
    ck_assert_uint_eq(o.bytes, 0);
    ck_assert_uint_eq(pool.held, 0);
    ck_assert_uint_eq(heap.blocks, 0);
}

/* Bytes [from, to), each a c, in views of at most `view` bytes without room behind them (0: one
 * view with room). */
static struct pkt *packet(uint32_t from, uint32_t to, char c, uint32_t view)
{
    char bytes[SPAN];
    memset(bytes, c, to - from);
    if (view > 0)
        return heap_pkt(&pool, bytes, to - from, view);
    struct pkt *p = pkt_alloc(&pool.pool);
    memcpy(pkt_put(p, to - from), bytes, to - from);
    return p;
}

static enum reorder_outcome insert(uint32_t from, uint32_t to, char c)
{
    enum reorder_outcome outcome =
        reorder_insert(&o, at(from), packet(from, to, c, SPAN), ROOMY, &dup);
    ck_assert(reorder_ok(&o));
    return outcome;
}

static void assert_dup(uint32_t from, uint32_t to)
{
    ck_assert_uint_eq(dup.left.v, at(from).v);
    ck_assert_uint_eq(dup.right.v, at(to).v);
}

static void assert_no_dup(void)
{
    ck_assert_uint_eq(dup.left.v, dup.right.v);
}

static void assert_ranges(unsigned n, const uint32_t *edges)
{
    ck_assert_uint_eq(o.n, n);
    for (unsigned i = 0; i < n; i++) {
        ck_assert_uint_eq(o.range[i].left.v, at(edges[2 * i]).v);
        ck_assert_uint_eq(o.range[i].right.v, at(edges[2 * i + 1]).v);
    }
}
#define RANGES(...)                                                         \
    assert_ranges(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t) / 2, \
                  (uint32_t[]){__VA_ARGS__})

/* What follows from `from` on reads as text. */
static void assert_takes(uint32_t from, const char *text)
{
    char bytes[SPAN + 1] = "";
    struct pkt *p = reorder_take(&o, at(from));
    ck_assert_ptr_nonnull(p);
    ck_assert(pkt_ok(p));
    ck_assert_uint_eq(p->total, strlen(text));
    pkt_copy_out(p, 0, bytes, p->total);
    ck_assert_str_eq(bytes, text);
    pkt_free(p);
}

START_TEST(keeps_ranges_apart_and_in_order)
{
    insert(60, 70, 'c');
    insert(20, 30, 'a');
    insert(40, 50, 'b');
    assert_no_dup();
    RANGES(20, 30, 40, 50, 60, 70);
    ck_assert_uint_eq(o.bytes, 30);
    ck_assert_uint_eq(o.cost, 3 * PKT_COST);
    ck_assert_ptr_null(reorder_take(&o, at(19)));
    assert_takes(20, "aaaaaaaaaa");
    assert_takes(40, "bbbbbbbbbb");
    assert_takes(60, "cccccccccc");
    ck_assert(reorder_empty(&o));
}
END_TEST

START_TEST(joins_what_touches)
{
    insert(20, 23, 'a');
    insert(26, 29, 'c');
    insert(23, 26, 'b');
    RANGES(20, 29);
    insert(29, 31, 'd');
    insert(18, 20, 'z');
    RANGES(18, 31);
    assert_takes(18, "zzaaabbbcccdd");
}
END_TEST

START_TEST(first_bytes_stay)
{
    insert(20, 24, 'a');
    ck_assert_int_eq(insert(22, 26, 'b'), REORDER_KEPT);
    assert_dup(22, 24);
    ck_assert_int_eq(insert(18, 21, 'c'), REORDER_KEPT);
    assert_dup(20, 21);
    ck_assert_int_eq(insert(16, 28, 'd'), REORDER_KEPT);
    assert_dup(18, 26);
    assert_takes(16, "ddccaaaabbdd");
}
END_TEST

START_TEST(a_segment_over_several_ranges_fills_the_gaps)
{
    insert(20, 22, 'a');
    insert(24, 26, 'b');
    insert(28, 30, 'c');
    ck_assert_int_eq(insert(21, 29, 'x'), REORDER_KEPT);
    assert_dup(21, 22);
    RANGES(20, 30);
    ck_assert_int_eq(insert(18, 32, 'y'), REORDER_KEPT);
    assert_dup(20, 30);
    ck_assert_uint_eq(pool.held, 1);
    assert_takes(18, "yyaaxxbbxxccyy");
}
END_TEST

START_TEST(a_chain_over_several_ranges_fills_the_gaps)
{
    insert(20, 22, 'a');
    insert(24, 29, 'b');
    reorder_insert(&o, at(18), packet(18, 31, 'x', 3), ROOMY, NULL);
    RANGES(18, 31);
    assert_takes(18, "xxaaxxbbbbbxx");
}
END_TEST

START_TEST(shared_memory_is_not_written)
{
    insert(24, 26, 'b');
    struct pkt *p = packet(20, 30, 'x', SPAN);
    struct pkt *other = pkt_slice(&pool.pool, p, 0, 10);
    ck_assert_int_eq(reorder_insert(&o, at(20), p, ROOMY, &dup), REORDER_KEPT);
    RANGES(20, 26);
    ck_assert_int_eq(other->data[4], 'x');
    assert_takes(20, "xxxxbb");
    pkt_free(other);
}
END_TEST

START_TEST(nothing_new_is_a_duplicate)
{
    insert(20, 30, 'a');
    insert(40, 50, 'b');
    ck_assert_int_eq(insert(20, 30, 'x'), REORDER_DUPLICATE);
    assert_dup(20, 30);
    ck_assert_int_eq(insert(23, 24, 'x'), REORDER_DUPLICATE);
    assert_dup(23, 24);
    ck_assert_uint_eq(pool.held, 2);
    assert_takes(20, "aaaaaaaaaa");
}
END_TEST

START_TEST(the_wrap_within_a_segment)
{
    insert(45, 55, 'b'); /* from 0xfffffffa to 4 */
    insert(40, 46, 'a');
    insert(51, 60, 'c');
    RANGES(40, 60);
    assert_takes(40, "aaaaabbbbbbbbbbccccc");
}
END_TEST

START_TEST(takes_from_the_middle)
{
    insert(20, 24, 'a');
    insert(26, 30, 'b');
    insert(40, 44, 'c');
    assert_takes(28, "bb");
    RANGES(40, 44);
    ck_assert_ptr_null(reorder_take(&o, at(44)));
    ck_assert(reorder_empty(&o));
}
END_TEST

START_TEST(cuts_what_lies_behind_an_end)
{
    static const struct {
        uint32_t end;
        unsigned n;
        uint32_t last;
    } cuts[] = {{31, 2, 30}, {30, 2, 30}, {28, 2, 28}, {26, 1, 24}, {24, 1, 24}, {20, 0, 0}};
    insert(20, 24, 'a');
    insert(26, 30, 'b');
    insert(40, 44, 'c');
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        reorder_cut(&o, at(cuts[i].end));
        ck_assert(reorder_ok(&o));
        ck_assert_uint_eq(o.n, cuts[i].n);
        if (o.n > 0)
            ck_assert_uint_eq(o.range[o.n - 1].right.v, at(cuts[i].last).v);
    }
}
END_TEST

START_TEST(the_newest_range_is_told_first)
{
    struct tcp_sack told[TCP_SACK_MAX];
    for (uint32_t i = 0; i < 6; i++)
        insert(100 * i, 100 * i + 10, 'a');
    insert(100, 105, 'x'); /* a duplicate is news, too */
    insert(310, 320, 'b');
    ck_assert_uint_eq(reorder_sacks(&o, told, 4), 4);
    ck_assert_uint_eq(told[0].left.v, at(300).v);
    ck_assert_uint_eq(told[0].right.v, at(320).v);
    ck_assert_uint_eq(told[1].left.v, at(100).v);
    ck_assert_uint_eq(told[2].left.v, at(500).v);
    ck_assert_uint_eq(told[3].left.v, at(400).v);
    ck_assert_uint_eq(reorder_sacks(&o, told, 0), 0);
}
END_TEST

START_TEST(a_flood_of_single_bytes_shares_buffers)
{
    for (uint32_t i = 0; i < 2000; i++)
        ck_assert_int_eq(reorder_insert(&o, at(10 + i), packet(0, 1, 'a', 0), ROOMY, NULL),
                         REORDER_KEPT);
    RANGES(10, 2010);
    ck_assert_uint_eq(pool.held, 1);
    ck_assert_uint_eq(o.cost, PKT_COST);
}
END_TEST

START_TEST(large_segments_are_not_copied)
{
    struct pkt *p = packet(0, 1400, 'b', SPAN);
    reorder_insert(&o, at(10), packet(0, 100, 'a', 0), ROOMY, NULL);
    reorder_insert(&o, at(110), p, ROOMY, NULL);
    ck_assert_ptr_eq(o.range[0].last, p);
    ck_assert_uint_eq(pool.held, 2);
}
END_TEST

START_TEST(the_number_of_ranges_is_bounded)
{
    for (uint32_t i = 0; i < TCP_REORDER_RANGES; i++)
        ck_assert_int_eq(insert(10 + 4 * i, 12 + 4 * i, 'a'), REORDER_KEPT);
    ck_assert_int_eq(insert(1000, 1001, 'x'), REORDER_FULL);
    ck_assert_int_eq(insert(5, 6, 'x'), REORDER_FULL);
    ck_assert_uint_eq(pool.held, TCP_REORDER_RANGES);
    /* What joins others, or takes the place of one, needs none. */
    ck_assert_int_eq(insert(9, 13, 'b'), REORDER_KEPT);
    ck_assert_int_eq(insert(13, 14, 'b'), REORDER_KEPT);
    ck_assert_uint_eq(o.n, TCP_REORDER_RANGES - 1);
    ck_assert_int_eq(insert(1000, 1001, 'x'), REORDER_KEPT);
}
END_TEST

START_TEST(memory_is_bounded_and_what_was_told_of_stays)
{
    uint32_t most = 3 * PKT_COST;
    ck_assert_int_eq(reorder_insert(&o, at(50), packet(0, 30, 'a', 10), most, NULL), REORDER_KEPT);
    ck_assert_int_eq(reorder_insert(&o, at(20), packet(0, 10, 'b', 10), most, NULL), REORDER_FULL);
    ck_assert_int_eq(reorder_insert(&o, at(45), packet(0, 50, 'b', 50), most, NULL), REORDER_FULL);
    RANGES(50, 80);
    ck_assert_uint_eq(pool.held, 3);
    /* Copying takes no more memory. */
    reorder_cut(&o, at(0));
    reorder_insert(&o, at(50), packet(0, 10, 'a', 0), PKT_COST, NULL);
    ck_assert_int_eq(reorder_insert(&o, at(60), packet(0, 10, 'b', 10), PKT_COST, NULL),
                     REORDER_KEPT);
    RANGES(50, 70);
}
END_TEST

START_TEST(survives_a_lack_of_memory)
{
    heap.limit = 0;
    ck_assert_int_eq(insert(10, 20, 'a'), REORDER_MEMORY);
    heap.limit = SIZE_MAX;
    for (uint32_t i = 0; i < o.room || i == 0; i++)
        insert(10 + 10 * i, 15 + 10 * i, 'a');
    heap.limit = 0;
    ck_assert_int_eq(insert(1000, 1010, 'a'), REORDER_MEMORY);
    ck_assert_int_eq(insert(15, 20, 'b'), REORDER_KEPT);
    heap.limit = SIZE_MAX;
}
END_TEST

START_TEST(tidies_only_what_is_empty)
{
    insert(10, 20, 'a');
    reorder_tidy(&o);
    ck_assert_uint_gt(heap.blocks, 0);
    assert_takes(10, "aaaaaaaaaa");
    ck_assert_uint_gt(heap.blocks, 0);
    reorder_tidy(&o);
    ck_assert_uint_eq(heap.blocks, 0);
    insert(30, 40, 'b');
    assert_takes(30, "bbbbbbbbbb");
}
END_TEST

/* ---- against a map of bytes ---- */

static char map[SPAN + 1]; /* 0: missing */

static uint32_t runs(void)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < SPAN; i++)
        n += map[i] && !map[i + 1];
    return n;
}

static void random_insert(struct rng *rng)
{
    uint32_t from = (uint32_t)rng_below(rng, SPAN - 300);
    uint32_t to = from + 1 + (uint32_t)rng_below(rng, 300);
    char c = (char)('a' + rng_below(rng, 26));
    uint32_t view = rng_below(rng, 2) ? 0 : 1 + (uint32_t)rng_below(rng, 300);
    bool news = memchr(map + from, 0, to - from);
    enum reorder_outcome outcome =
        reorder_insert(&o, at(from), packet(from, to, c, view), ROOMY, NULL);
    ck_assert_int_eq(outcome, news ? REORDER_KEPT : REORDER_DUPLICATE);
    for (uint32_t i = from; i < to; i++)
        if (!map[i])
            map[i] = c;
}

static void random_take(struct rng *rng)
{
    uint32_t from = (uint32_t)rng_below(rng, SPAN);
    if (map[from])
        assert_takes(from, map + from);
    else
        ck_assert_ptr_null(reorder_take(&o, at(from)));
    memset(map, 0, from + strlen(map + from));
}

static void random_cut(struct rng *rng)
{
    uint32_t end = (uint32_t)rng_below(rng, SPAN);
    reorder_cut(&o, at(end));
    memset(map + end, 0, SPAN - end);
}

START_TEST(agrees_with_a_map_of_bytes)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct rng rng;
        rng_seed(&rng, seed);
        memset(map, 0, sizeof(map));
        for (int i = 0; i < 60; i++) {
            uint64_t what = rng_below(&rng, 30);
            (what > 1 ? random_insert : what ? random_take : random_cut)(&rng);
            ck_assert_msg(reorder_ok(&o) && o.n == runs(), "seed %u", (unsigned)seed);
            ck_assert_uint_eq(pool.held * PKT_COST, o.cost);
        }
        for (uint32_t i = 0; i < SPAN; i++)
            if (map[i] && (i == 0 || !map[i - 1]))
                assert_takes(i, map + i);
        ck_assert(reorder_empty(&o));
        ck_assert_uint_eq(pool.held, 0);
    }
}
END_TEST

UNIT_MAIN("reorder", setup, teardown, keeps_ranges_apart_and_in_order, joins_what_touches,
          first_bytes_stay, a_segment_over_several_ranges_fills_the_gaps,
          a_chain_over_several_ranges_fills_the_gaps, shared_memory_is_not_written,
          nothing_new_is_a_duplicate, the_wrap_within_a_segment, takes_from_the_middle,
          cuts_what_lies_behind_an_end, the_newest_range_is_told_first,
          a_flood_of_single_bytes_shares_buffers, large_segments_are_not_copied,
          the_number_of_ranges_is_bounded, memory_is_bounded_and_what_was_told_of_stays,
          survives_a_lack_of_memory, tidies_only_what_is_empty, agrees_with_a_map_of_bytes)
