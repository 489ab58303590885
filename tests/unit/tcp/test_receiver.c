/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/receiver.h"

#include <string.h>

#include "base/rng.h"
#include "support/receiver_model.h"
#include "support/unit.h"

#define MSS   1460u
#define SIZE  65536u
#define DELAY (40 * TICK_MS)

static struct heap heap;
static struct heap_pool pool;
static struct tcp_receiver r;
static struct receiver_result result;
static tick_t now;
static seq32_t first; /* number of the stream's byte 1 */

static void create(uint32_t size, uint32_t size_max, uint8_t scale)
{
    struct receiver_args a = {
        .mem = &heap.mem,
        .irs = seq32_sub(first, 1),
        .size = size,
        .size_max = size_max,
        .ack_delay = DELAY,
        .mss = MSS,
    };
    receiver_fini(&r);
    receiver_init(&r, &a);
    receiver_negotiated(&r, true, scale > 0, scale);
}

static void setup(void)
{
    heap_init(&heap);
    heap_pool_init(&pool, 64, 2048);
    now = TICK_SEC;
    first = seq32(0xffffff00);
    reorder_init(&r.reorder, &heap.mem);
    create(SIZE, SIZE, 0);
    receiver_acked(&r, now);
}

static void teardown(void)
{
    receiver_fini(&r);
    ck_assert_uint_eq(pool.held, 0);
    ck_assert_uint_eq(heap.blocks, 0);
}

/* Bytes are numbered from 1. */
static seq32_t at(uint32_t i)
{
    return seq32_add(first, i - 1);
}

/* Bytes [from, to) of the stream, all c, arrive. */
static void send_of(uint32_t from, uint32_t to, char c, bool fin, bool lean)
{
    char bytes[70000];
    memset(bytes, c, to - from);
    struct pkt *p = to > from ? heap_pkt(&pool, bytes, to - from, 0) : NULL;
    receiver_input(&r, at(from), p, fin, lean, now, &result);
    ck_assert(receiver_ok(&r));
}

static void send(uint32_t from, uint32_t to)
{
    send_of(from, to, 'a', false, false);
}

static void send_fin(uint32_t from, uint32_t to)
{
    send_of(from, to, 'a', true, false);
}

/* The data that came out has so many bytes; it is dropped. */
static void expect(uint32_t bytes)
{
    ck_assert_uint_eq(result.bytes, bytes);
    ck_assert_uint_eq(result.data ? result.data->total : 0, bytes);
    pkt_free(result.data);
    result.data = NULL;
}

static void expect_text(const char *text)
{
    char bytes[100] = "";
    ck_assert_ptr_nonnull(result.data);
    ck_assert_uint_lt(result.bytes, sizeof(bytes));
    pkt_copy_out(result.data, 0, bytes, result.bytes);
    ck_assert_str_eq(bytes, text);
    expect((uint32_t)strlen(text));
}

static void expect_drop(enum drop why)
{
    ck_assert_int_eq(result.drop, why);
    expect(0);
}

/* Data in order, consumed at once. */
static void stream(uint32_t from, uint32_t to)
{
    send(from, to);
    expect(to - from);
    receiver_consumed(&r, to - from, UINT32_MAX, now);
}

static void assert_nxt(uint32_t i)
{
    ck_assert_uint_eq(r.nxt.v, at(i).v);
}

/* An ACK goes: the window it tells. */
static uint32_t ack(void)
{
    uint32_t window = (uint32_t)receiver_window(&r, false, false) << r.scale;
    receiver_acked(&r, now);
    ck_assert_int_eq(r.ack, RECEIVER_ACK_NONE);
    return window;
}

/* The segment just sent is acknowledged at once. */
static void expect_ack(void)
{
    ck_assert_int_eq(r.ack, RECEIVER_ACK_NOW);
    ack();
}

static void expect_delay(tick_t delay)
{
    ck_assert_int_eq(r.ack, RECEIVER_ACK_DELAYED);
    ck_assert_uint_eq(receiver_deadline(&r), now + delay);
}

/* Past the quick acknowledgments of the start, with full-sized segments known. Returns the next
 * byte's number. */
static uint32_t settle(void)
{
    uint32_t i = 1;
    for (; r.quick > 0; i += MSS) {
        stream(i, i + MSS);
        ack();
    }
    return i;
}

static void expect_sacks(unsigned n, const uint32_t *edges)
{
    struct tcp_sack told[TCP_SACK_MAX];
    ck_assert_uint_eq(receiver_sacks(&r, told, TCP_SACK_MAX), n);
    for (unsigned i = 0; i < n; i++) {
        ck_assert_uint_eq(told[i].left.v, at(edges[2 * i]).v);
        ck_assert_uint_eq(told[i].right.v, at(edges[2 * i + 1]).v);
    }
}
#define SACKS(...)                                                         \
    expect_sacks(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t) / 2, \
                 (uint32_t[]){__VA_ARGS__})

/* ---- order ---- */

START_TEST(gives_what_comes_in_order)
{
    send(1, 101);
    ck_assert_int_eq(result.drop, DROP_NONE);
    ck_assert(!result.reordered && !result.end);
    expect(100);
    send(101, 301); /* over the wrap */
    expect(200);
    assert_nxt(301);
    ck_assert_uint_eq(r.unconsumed, 300);
}
END_TEST

START_TEST(gives_what_waited_behind_a_gap)
{
    send_of(4, 6, 'b', false, false);
    ck_assert(result.reordered);
    expect(0);
    send_of(8, 10, 'd', false, false);
    expect(0);
    send_of(1, 4, 'a', false, false);
    ck_assert(!result.reordered);
    expect_text("aaabb");
    send_of(6, 8, 'c', false, false);
    expect_text("ccdd");
    assert_nxt(10);
    ck_assert_uint_eq(r.reorder.cost, 0);
}
END_TEST

START_TEST(the_first_bytes_stay)
{
    send_of(3, 6, 'a', false, false);
    send_of(5, 8, 'b', false, false);
    send_of(1, 10, 'c', false, false);
    expect_text("ccaaabbcc");
    send_of(1, 11, 'd', false, false);
    expect_text("d");
}
END_TEST

START_TEST(a_longer_retransmission_adds_its_end)
{
    send_of(1, 2001, 'a', false, false);
    expect(2000);
    send_of(1, 4091, 'b', false, false);
    ck_assert_uint_eq(result.bytes, 2090);
    ck_assert_int_eq(result.data->data[0], 'b');
    expect(2090);
    assert_nxt(4091);
}
END_TEST

START_TEST(what_came_before_is_a_duplicate)
{
    send(1, 101);
    expect(100);
    send(1, 101);
    expect_drop(DROP_TCP_DUPLICATE);
    send(50, 60);
    expect_drop(DROP_TCP_DUPLICATE);
    send(200, 300);
    send(210, 220);
    expect_drop(DROP_TCP_DUPLICATE);
    assert_nxt(101);
}
END_TEST

START_TEST(short_of_memory_keeps_nothing_out_of_order)
{
    send_of(3, 5, 'b', false, true);
    expect_drop(DROP_TCP_REORDER_LIMIT);
    expect_ack();
    send_of(1, 3, 'a', false, true);
    expect_text("aa");
    send_of(5, 7, 'c', false, false);
    send_of(3, 6, 'b', false, true); /* what is there stays */
    expect_text("bbcc");
}
END_TEST

START_TEST(forgets_what_waits)
{
    send_of(3, 5, 'b', false, false);
    send_of(6, 7, 'x', true, false);
    receiver_prune(&r);
    ck_assert_uint_eq(receiver_cost(&r), 0);
    send_of(1, 3, 'a', false, false);
    expect_text("aa");
    send_of(3, 7, 'c', false, false); /* and then the end that was told */
    expect_text("cccc");
    ck_assert(result.end);
}
END_TEST

START_TEST(refuses_what_memory_has_no_room_for)
{
    heap.limit = 0;
    send(5, 10);
    expect_drop(DROP_TCP_REORDER_LIMIT);
    heap.limit = SIZE_MAX;
    send(5, 10);
    ck_assert_int_eq(result.drop, DROP_NONE);
    expect(0);
}
END_TEST

START_TEST(memory_out_of_order_is_bounded_by_the_window)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < 60000; i++)
        if (send(2 + i, 3 + i), !result.drop)
            n++;
    ck_assert_uint_gt(n, 50); /* without room behind them they cannot be copied together */
    ck_assert_uint_le(r.reorder.cost, 3 * SIZE + 16 * PKT_COST);
    send(1, 2);
    expect(n + 1);
    ck_assert_uint_eq(r.reorder.cost, 0);
}
END_TEST

START_TEST(gives_memory_back)
{
    send(5, 10);
    ck_assert_uint_gt(receiver_cost(&r), PKT_COST);
    send(1, 5);
    expect(9);
    receiver_tidy(&r);
    ck_assert_uint_eq(receiver_cost(&r), 0);
}
END_TEST

/* ---- the window's edges ---- */

START_TEST(accepts_what_lies_in_the_window)
{
    create(1000, 1000, 0); /* [1, 1001) */
    static const struct {
        uint32_t from, len;
        bool ok;
    } cases[] = {
        {1, 0, true},     {1000, 0, true},  {1001, 0, false}, {1, 1, true},      {1000, 1, true},
        {1001, 1, false}, {900, 200, true}, {1, 2000, true},  {1001, 50, false}, {50000, 50, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(receiver_acceptable(&r, at(cases[i].from), cases[i].len) == cases[i].ok,
                      "case %zu", i);
    ck_assert(!receiver_acceptable(&r, seq32_sub(first, 1), 0));
    ck_assert(!receiver_acceptable(&r, seq32_sub(first, 10), 10));
    ck_assert(receiver_acceptable(&r, seq32_sub(first, 10), 11));
    ck_assert(receiver_acceptable(&r, seq32_sub(first, 10), 5000));
}
END_TEST

START_TEST(a_closed_window_accepts_only_bare_acks_in_place)
{
    create(1000, 1000, 0);
    send(1, 1001);
    expect(1000);
    ck_assert_uint_eq(ack(), 0);
    ck_assert(receiver_acceptable(&r, at(1001), 0));
    ck_assert(!receiver_acceptable(&r, at(1001), 1));
    ck_assert(!receiver_acceptable(&r, at(1000), 0));
    ck_assert(!receiver_acceptable(&r, at(1002), 0));
    send(1001, 1002); /* a probe */
    expect_drop(DROP_TCP_SEQUENCE);
    expect_ack();
    send_fin(1001, 1001);
    expect_drop(DROP_TCP_SEQUENCE);
    ck_assert(!r.fin_known);
}
END_TEST

START_TEST(cuts_at_both_edges)
{
    create(1000, 1000, 0);
    send(1, 11);
    expect(10);
    send(5, 3000);
    expect(990);
    assert_nxt(1001);
    expect_ack();
    receiver_consumed(&r, 1000, UINT32_MAX, now);
    ack();
    send(1900, 2100); /* out of order, over the right edge */
    SACKS(1900, 2001);
    send(2001, 2002);
    expect_drop(DROP_TCP_SEQUENCE);
}
END_TEST

START_TEST(the_right_edge_never_moves_back)
{
    seq32_t right = r.right;
    send(1, 60001);
    expect(60000);
    ck_assert_uint_eq(ack(), 5535);
    ck_assert_uint_eq(r.right.v, right.v);
    send(60001, 65536);
    expect(5535);
    ck_assert_uint_eq(ack(), 0); /* not a byte more, though size is 65536 */
}
END_TEST

START_TEST(opens_by_no_silly_window)
{
    create(10000, 10000, 0);
    r.segment = MSS;
    send(1, 10001);
    expect(10000);
    ck_assert_uint_eq(ack(), 0);
    ck_assert(!receiver_consumed(&r, MSS - 1, UINT32_MAX, now));
    ck_assert_uint_eq(ack(), 0);
    ck_assert(receiver_consumed(&r, 1, UINT32_MAX, now)); /* from nothing: a segment is enough */
    ck_assert_int_eq(r.ack, RECEIVER_ACK_NOW);
    ck_assert_uint_eq(ack(), MSS);
    ck_assert(!receiver_consumed(&r, MSS, UINT32_MAX, now));
    ck_assert(receiver_consumed(&r, MSS, UINT32_MAX, now)); /* two */
    ck_assert_uint_eq(ack(), 3 * MSS);
}
END_TEST

START_TEST(a_tiny_window_opens_by_half)
{
    create(100, 100, 0);
    send(1, 101);
    expect(100);
    ack();
    ck_assert(!receiver_consumed(&r, 49, UINT32_MAX, now));
    ck_assert_uint_eq(ack(), 0);
    ck_assert(receiver_consumed(&r, 1, UINT32_MAX, now));
    ck_assert_uint_eq(ack(), 50);
}
END_TEST

START_TEST(an_open_window_waits_for_its_acks)
{
    send(1, 2921);
    expect(2920);
    ack();
    ck_assert(!receiver_consumed(&r, 2920, UINT32_MAX, now)); /* 62615 are still to come */
    ck_assert_uint_eq(ack(), 65535);
}
END_TEST

START_TEST(scaling_neither_shrinks_nor_exceeds)
{
    create(100000, 100000, 7);
    uint32_t window = ack();
    uint32_t edge = 1 + window;
    ck_assert_uint_eq(window, 99968); /* 781 units of 128 */
    for (uint32_t i = 1; i < 90000; i += 777) {
        send(i, i + 777);
        expect(777);
        window = ack();
        ck_assert_uint_eq(window % 128, 0);
        ck_assert_uint_ge(i + 777 + window + 127, edge); /* memory is full: less by rounding */
        ck_assert_uint_le(i + 777 + window, 100001);
        edge = i + 777 + window > edge ? i + 777 + window : edge;
    }
    ck_assert_uint_eq(r.right.v, at(edge).v);
    receiver_consumed(&r, r.unconsumed, UINT32_MAX, now);
    uint32_t next = (uint32_t)seq32_diff(r.nxt, at(0));
    edge = next + ack();
    send(next, next + 1000); /* there is room: not even by rounding */
    expect(1000);
    receiver_consumed(&r, 1000, UINT32_MAX, now);
    r.segment = MSS;
    ck_assert_uint_ge(next + 1000 + ack(), edge);
}
END_TEST

START_TEST(a_syn_tells_an_unscaled_window)
{
    create(SIZE, SIZE, 3);
    ck_assert_uint_eq(receiver_window(&r, true, false), 65535);
    ck_assert_uint_eq(receiver_window(&r, false, false), SIZE >> 3);
    create(1000, 1000, 3);
    ck_assert_uint_eq(receiver_window(&r, true, false), 1000);
}
END_TEST

START_TEST(short_of_memory_opens_no_further)
{
    stream(1, 30001);
    ck_assert_uint_eq(receiver_window(&r, false, true), 35535);
    ck_assert_uint_eq(receiver_window(&r, false, true), 35535);
    ck_assert(receiver_consumed(&r, 0, UINT32_MAX, now) == false);
    ck_assert_uint_eq(receiver_window(&r, false, false), 65535);
}
END_TEST

START_TEST(the_scale_is_the_smallest_that_will_do)
{
    ck_assert_uint_eq(receiver_scale_for(1000), 0);
    ck_assert_uint_eq(receiver_scale_for(65535), 0);
    ck_assert_uint_eq(receiver_scale_for(65536), 1);
    ck_assert_uint_eq(receiver_scale_for(4u << 20), 7);
    ck_assert_uint_eq(receiver_scale_for(UINT32_MAX), TCP_WSCALE_MAX);
}
END_TEST

/* ---- the end ---- */

START_TEST(ends_once)
{
    send_fin(1, 11);
    ck_assert(result.end);
    expect(10);
    assert_nxt(12);
    expect_ack();
    send_fin(1, 11);
    ck_assert(!result.end);
    expect_drop(DROP_TCP_DUPLICATE);
    expect_ack();
    send_fin(11, 11);
    ck_assert(!result.end);
    expect_drop(DROP_TCP_DUPLICATE);
    assert_nxt(12);
}
END_TEST

START_TEST(a_fin_ahead_of_a_gap_waits)
{
    send_fin(11, 21);
    ck_assert(result.reordered && !result.end);
    expect(0);
    send(1, 6);
    ck_assert(!result.end);
    expect(5);
    send(6, 11);
    ck_assert(result.end);
    expect(15);
    assert_nxt(22);
}
END_TEST

START_TEST(a_bare_fin_ahead_of_a_gap_waits)
{
    send_fin(11, 11);
    ck_assert_int_eq(result.drop, DROP_NONE);
    ck_assert(result.reordered && !result.end);
    expect_ack();
    send(1, 11);
    ck_assert(result.end);
    expect(10);
}
END_TEST

START_TEST(a_lost_fin_comes_again_with_its_data)
{
    send(1, 11);
    expect(10);
    send_fin(1, 11);
    ck_assert_int_eq(result.drop, DROP_NONE);
    ck_assert(result.end);
    expect(0);
    assert_nxt(12);
}
END_TEST

START_TEST(the_window_is_of_no_interest_after_the_end)
{
    create(1000, 1000, 0);
    send_fin(1, 1000);
    expect(999);
    ack();
    ck_assert(!receiver_consumed(&r, 999, UINT32_MAX, now));
}
END_TEST

START_TEST(nothing_follows_the_end)
{
    send_fin(1, 11);
    expect(10);
    send(11, 20);
    expect_drop(DROP_TCP_SEQUENCE);
    send(12, 20);
    expect_drop(DROP_TCP_SEQUENCE);
    assert_nxt(12);
}
END_TEST

START_TEST(an_end_that_is_known_cuts_what_comes)
{
    send_fin(11, 16);
    send(14, 30);
    expect_drop(DROP_TCP_DUPLICATE);
    send(16, 30);
    expect_drop(DROP_TCP_SEQUENCE);
    send(1, 30);
    ck_assert(result.end);
    expect(15);
}
END_TEST

START_TEST(an_end_drops_what_waits_behind_it)
{
    send(5, 10);
    send(20, 30);
    send_fin(8, 8);
    SACKS(5, 8);
    send(1, 5);
    ck_assert(result.end);
    expect(7);
    ck_assert_uint_eq(pool.held, 0);
}
END_TEST

START_TEST(the_first_end_stays)
{
    send_fin(21, 21);
    send_fin(11, 11);
    expect_drop(DROP_TCP_SEQUENCE);
    send_fin(1, 11);
    ck_assert(!result.end);
    expect(10);
    send_fin(5, 5);
    ck_assert(result.drop && !result.end);
    send(11, 21);
    ck_assert(result.end);
    expect(10);
}
END_TEST

START_TEST(an_end_beyond_the_window_is_cut_off)
{
    create(100, 100, 0);
    send_fin(51, 101); /* its number would be 101, the edge */
    ck_assert(!r.fin_known);
    send(1, 51);
    ck_assert(!result.end);
    expect(100);
    receiver_consumed(&r, 100, UINT32_MAX, now);
    ack();
    send_fin(101, 101);
    ck_assert(result.end);
}
END_TEST

/* ---- acknowledgments ---- */

START_TEST(the_first_segments_are_acknowledged_at_once)
{
    for (uint32_t i = 1; i <= 16; i++) {
        stream(i, i + 1);
        expect_ack();
    }
    stream(17, 18);
    expect_delay(DELAY);
}
END_TEST

START_TEST(every_second_full_segment_is_acknowledged)
{
    uint32_t i = settle();
    for (int n = 0; n < 4; n++, i += 2 * MSS) {
        stream(i, i + MSS);
        expect_delay(DELAY);
        now += TICK_MS;
        stream(i + MSS, i + 2 * MSS);
        expect_ack();
    }
}
END_TEST

START_TEST(segments_of_a_smaller_path_are_full_too)
{
    uint32_t i = settle();
    stream(i, i + 1000);
    stream(i + 1000, i + 2000); /* now they are known */
    ack();
    stream(i + 2000, i + 3000);
    expect_delay(DELAY);
    stream(i + 3000, i + 4000);
    expect_ack();
}
END_TEST

START_TEST(the_delay_counts_from_the_first_segment)
{
    uint32_t i = settle();
    stream(i, i + 10);
    tick_t due = now + DELAY;
    now += 30 * TICK_MS;
    stream(i + 10, i + 20);
    ck_assert_uint_eq(receiver_deadline(&r), due);
    receiver_expire(&r, due - 1);
    ck_assert_int_eq(r.ack, RECEIVER_ACK_DELAYED);
    receiver_expire(&r, due);
    expect_ack();
    ck_assert_uint_eq(receiver_deadline(&r), TICK_NEVER);
}
END_TEST

START_TEST(the_delay_is_a_round_trip_where_that_is_short)
{
    uint32_t i = settle();
    receiver_rtt(&r, 5 * TICK_MS);
    stream(i, i + 10);
    expect_delay(5 * TICK_MS);
    ack();
    receiver_rtt(&r, 50 * TICK_US);
    stream(i + 10, i + 20);
    expect_delay(TICK_MS);
}
END_TEST

START_TEST(gaps_are_acknowledged_at_once_and_for_a_while)
{
    uint32_t i = settle();
    send(i + 10, i + 20);
    expect_ack();
    send(i, i + 5); /* a part of the gap */
    expect(5);
    expect_ack();
    send(i + 5, i + 10);
    expect(15);
    expect_ack();
    for (uint32_t n = 0; n < 15; n++) {
        stream(i + 20 + n, i + 21 + n);
        expect_ack();
    }
    stream(i + 35, i + 36);
    expect_delay(DELAY);
}
END_TEST

START_TEST(duplicates_and_ends_are_acknowledged_at_once)
{
    uint32_t i = settle();
    receiver_negotiated(&r, false, false, 0);
    send(1, 11);
    expect_ack();
    send(i - 5, i + 5);
    expect(5);
    expect_ack();
    send_fin(i + 5, i + 5);
    expect_ack();
}
END_TEST

START_TEST(remembers_what_it_acknowledged_last)
{
    ck_assert_uint_eq(r.acked.v, at(1).v);
    send(1, 11);
    expect(10);
    ck_assert_uint_eq(r.acked.v, at(1).v);
    ack();
    ck_assert_uint_eq(r.acked.v, at(11).v);
}
END_TEST

/* ---- SACK ---- */

START_TEST(tells_the_newest_block_first)
{
    send(11, 21);
    send(31, 41);
    send(51, 61);
    SACKS(51, 61, 31, 41, 11, 21);
    send(21, 26);
    SACKS(11, 26, 51, 61, 31, 41);
    send(1, 11);
    expect(25);
    SACKS(51, 61, 31, 41);
}
END_TEST

START_TEST(tells_duplicates_once)
{
    send(1, 101);
    expect(100);
    send(41, 51);
    SACKS(41, 51);
    expect_ack();
    expect_sacks(0, NULL);
    send(51, 151); /* a part */
    expect(50);
    SACKS(51, 101);
}
END_TEST

START_TEST(a_duplicate_within_a_block_comes_before_it)
{
    send(11, 21);
    send(31, 41);
    ack();
    send(13, 15);
    SACKS(13, 15, 11, 21, 31, 41);
    send(9, 25); /* an end and what it leads to */
    SACKS(11, 21, 9, 25, 31, 41);
}
END_TEST

START_TEST(says_nothing_to_who_cannot_hear)
{
    receiver_negotiated(&r, false, false, 0);
    send(11, 21);
    send(11, 21);
    expect_sacks(0, NULL);
}
END_TEST

/* ---- the window's size ---- */

/* A sender that sends `bytes` each round trip, in pieces. Returns the next byte's number. */
static uint32_t rounds(uint32_t i, uint32_t bytes, unsigned n, tick_t rtt)
{
    for (uint32_t end = i + bytes * n; i < end; i += bytes / 40) {
        now += rtt / 40;
        stream(i, i + bytes / 40);
        ack();
    }
    return i;
}

START_TEST(grows_to_twice_what_a_round_trip_brings)
{
    create(SIZE, 4u << 20, 7);
    receiver_rtt(&r, 20 * TICK_MS);
    ack();
    uint32_t i = rounds(1, 20000, 10, 20 * TICK_MS);
    uint32_t small = r.size; /* the first round looks like a start from nothing */
    ck_assert_uint_le(small, 120000);
    rounds(i, 100000, 10, 20 * TICK_MS);
    ck_assert_uint_ge(r.size, 200000);
    ck_assert_uint_le(r.size, 600000);
}
END_TEST

START_TEST(does_not_hold_back_a_slow_start)
{
    create(SIZE, 4u << 20, 7);
    receiver_rtt(&r, 100 * TICK_MS);
    ack();
    uint32_t i = 1;
    for (uint32_t cwnd = 14600; cwnd < 1 << 20; cwnd *= 2) {
        ck_assert_msg((uint32_t)seq32_diff(r.right, r.nxt) >= cwnd, "at %u", cwnd);
        i = rounds(i, cwnd, 1, 100 * TICK_MS);
    }
}
END_TEST

START_TEST(grows_no_further_than_allowed)
{
    create(SIZE, 100000, 7);
    receiver_rtt(&r, 20 * TICK_MS);
    ack();
    rounds(1, 60000, 20, 20 * TICK_MS);
    ck_assert_uint_eq(r.size, 100000);
    /* nor than the field can tell */
    create(SIZE, 4u << 20, 1);
    receiver_rtt(&r, 20 * TICK_MS);
    ack();
    rounds(1, 60000, 20, 20 * TICK_MS);
    ck_assert_uint_eq(r.size, 131070);
}
END_TEST

START_TEST(does_not_grow_when_memory_is_short)
{
    create(SIZE, 4u << 20, 7);
    receiver_rtt(&r, 20 * TICK_MS);
    ack();
    for (uint32_t i = 1; i < 600000; i += 5000) {
        now += 2 * TICK_MS;
        send_of(i, i + 5000, 'a', false, true);
        expect(5000);
        receiver_consumed(&r, 5000, UINT32_MAX, now);
        ack();
    }
    ck_assert_uint_eq(r.size, SIZE);
}
END_TEST

START_TEST(does_not_grow_for_a_service_that_is_slow)
{
    create(SIZE, 4u << 20, 7);
    receiver_rtt(&r, 10 * TICK_MS);
    uint32_t i = 1;
    for (int n = 0; n < 20; n++) {
        uint32_t window = ack();
        send(i, i + window);
        expect(window);
        i += window;
        now += TICK_SEC;
        receiver_consumed(&r, r.unconsumed, UINT32_MAX, now);
    }
    ck_assert_uint_eq(r.size, SIZE);
}
END_TEST

START_TEST(measures_the_round_trip_by_a_window)
{
    create(SIZE, 4u << 20, 7);
    uint32_t window = ack();
    now += 30 * TICK_MS;
    stream(1, 1 + window / 2);
    ack();
    now += 5 * TICK_MS;
    stream(1 + window / 2, 1 + window);
    ck_assert_uint_eq(r.rtt, 0); /* all of this could have been sent at once */
    now += 5 * TICK_MS;
    stream(1 + window, 101 + window);
    ck_assert_uint_eq(r.rtt, 40 * TICK_MS);
    ck_assert_uint_gt(r.size, SIZE);
}
END_TEST

START_TEST(a_window_corrects_a_round_trip_that_was_too_long)
{
    receiver_rtt(&r, 100 * TICK_MS);
    uint32_t window = ack();
    stream(1, 1 + window);
    ack();
    now += 40 * TICK_MS;
    stream(1 + window, 101 + window);
    ck_assert_uint_eq(r.rtt, 40 * TICK_MS);
    ack();
    now += 50 * TICK_MS;
    stream(101 + window, 201 + window);
    ck_assert_uint_eq(r.rtt,
                      40 * TICK_MS); /* longer ones say nothing: the sender may have paused */
}
END_TEST

START_TEST(short_samples_count_more_than_long_ones)
{
    receiver_rtt(&r, 80 * TICK_MS);
    receiver_rtt(&r, 0);
    ck_assert_uint_eq(r.rtt, 80 * TICK_MS);
    receiver_rtt(&r, 160 * TICK_MS);
    ck_assert_uint_eq(r.rtt, 90 * TICK_MS);
    receiver_rtt(&r, 20 * TICK_MS);
    ck_assert_uint_eq(r.rtt, 20 * TICK_MS);
}
END_TEST

/* ---- against a map of bytes ---- */

START_TEST(agrees_with_a_map_of_bytes)
{
    static struct receiver_model model;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        uint8_t history[1 + 6 * 80];
        struct rng rng;
        rng_seed(&rng, seed);
        for (size_t i = 0; i < sizeof(history); i++)
            history[i] = (uint8_t)rng_u32(&rng);
        model_run(&model, history, sizeof(history));
    }
}
END_TEST

UNIT_MAIN("receiver", setup, teardown, gives_what_comes_in_order, gives_what_waited_behind_a_gap,
          the_first_bytes_stay, a_longer_retransmission_adds_its_end,
          what_came_before_is_a_duplicate, short_of_memory_keeps_nothing_out_of_order,
          forgets_what_waits, refuses_what_memory_has_no_room_for,
          memory_out_of_order_is_bounded_by_the_window, gives_memory_back,
          accepts_what_lies_in_the_window, a_closed_window_accepts_only_bare_acks_in_place,
          cuts_at_both_edges, the_right_edge_never_moves_back, opens_by_no_silly_window,
          a_tiny_window_opens_by_half, an_open_window_waits_for_its_acks,
          scaling_neither_shrinks_nor_exceeds, a_syn_tells_an_unscaled_window,
          short_of_memory_opens_no_further, the_scale_is_the_smallest_that_will_do, ends_once,
          a_fin_ahead_of_a_gap_waits, a_bare_fin_ahead_of_a_gap_waits,
          a_lost_fin_comes_again_with_its_data, the_window_is_of_no_interest_after_the_end,
          nothing_follows_the_end, an_end_that_is_known_cuts_what_comes,
          an_end_drops_what_waits_behind_it, the_first_end_stays,
          an_end_beyond_the_window_is_cut_off, the_first_segments_are_acknowledged_at_once,
          every_second_full_segment_is_acknowledged, segments_of_a_smaller_path_are_full_too,
          the_delay_counts_from_the_first_segment, the_delay_is_a_round_trip_where_that_is_short,
          gaps_are_acknowledged_at_once_and_for_a_while,
          duplicates_and_ends_are_acknowledged_at_once, remembers_what_it_acknowledged_last,
          tells_the_newest_block_first, tells_duplicates_once,
          a_duplicate_within_a_block_comes_before_it, says_nothing_to_who_cannot_hear,
          grows_to_twice_what_a_round_trip_brings, does_not_hold_back_a_slow_start,
          grows_no_further_than_allowed, does_not_grow_when_memory_is_short,
          does_not_grow_for_a_service_that_is_slow, measures_the_round_trip_by_a_window,
          a_window_corrects_a_round_trip_that_was_too_long, short_samples_count_more_than_long_ones,
          agrees_with_a_map_of_bytes)
