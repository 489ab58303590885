/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/inflight.h"

#include <string.h>

#include "base/rng.h"
#include "support/heap.h"
#include "support/unit.h"

#define MAX   300u
#define FIRST (0u - 1234u)

static struct heap heap;
static struct inflight f;
static struct rng rng;
static seq32_t nxt;
static tick_t now;

static void setup(void)
{
    heap_init(&heap);
    inflight_init(&f, &heap.mem, MAX);
    f.head = f.tail = 0u - 20u; /* positions wrap, too */
    nxt = seq32(FIRST);
    now = 1;
}

static void teardown(void)
{
    inflight_clear(&f);
    ck_assert_uint_eq(heap.blocks, 0);
}

static bool push(uint32_t len)
{
    if (!inflight_reserve(&f))
        return false;
    inflight_push(&f, nxt, len, now);
    nxt = seq32_add(nxt, len);
    return true;
}

START_TEST(takes_memory_with_the_first_and_doubles)
{
    ck_assert_uint_eq(heap.blocks, 0);
    push(10);
    size_t few = heap.bytes;
    for (unsigned i = 1; i < 8; i++)
        push(10);
    ck_assert_uint_eq(heap.bytes, few);
    push(10);
    ck_assert_uint_eq(heap.bytes, 2 * few);
    ck_assert(inflight_ok(&f));
    inflight_clear(&f);
    ck_assert_uint_eq(heap.blocks, 0);
    ck_assert(push(10));
}
END_TEST

START_TEST(is_bounded)
{
    for (unsigned i = 0; i < MAX; i++)
        ck_assert(push(1));
    ck_assert(!push(1));
    inflight_pop(&f);
    ck_assert(push(1));
    ck_assert(!push(1));
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
    for (unsigned i = 0; i < 8; i++)
        ck_assert(push(5));
    heap.limit = heap.bytes;
    ck_assert(!push(5));
    ck_assert(!inflight_split(&f, f.head + 2, 2));
    ck_assert(inflight_ok(&f));
    ck_assert_uint_eq(inflight_count(&f), 8);
}
END_TEST

START_TEST(finds_across_the_wrap)
{
    for (unsigned i = 0; i < 200; i++)
        push(10);
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t pos = inflight_find(&f, seq32(FIRST + i));
        ck_assert_uint_eq(pos - f.head, (i + 9) / 10);
    }
    ck_assert_uint_eq(inflight_find(&f, seq32(FIRST + 5000)), f.tail);
}
END_TEST

START_TEST(lists_in_order_of_sending)
{
    for (unsigned i = 0; i < 5; i++)
        push(10);
    uint32_t h = f.head;
    inflight_lose(&f, h + 1);
    now = 5;
    inflight_resend(&f, h + 1, now);
    inflight_resend(&f, h + 0, now);
    static const uint32_t want[] = {2, 3, 4, 1, 0};
    uint32_t p = f.oldest;
    for (unsigned i = 0; i < 5; i++, p = inflight_at(&f, p)->later)
        ck_assert_uint_eq(p - h, want[i]);
    ck_assert_uint_eq(f.newest, h);
    ck_assert(inflight_ok(&f));
}
END_TEST

START_TEST(halves_stay_together)
{
    for (unsigned i = 0; i < 4; i++)
        push(10);
    uint32_t h = f.head;
    inflight_sack(&f, h + 1);
    inflight_lose(&f, h + 2);
    for (unsigned i = 4; i-- > 0;) {
        ck_assert(inflight_split(&f, h + i, 3));
        ck_assert(inflight_ok(&f));
    }
    ck_assert_uint_eq(inflight_count(&f), 8);
    ck_assert_uint_eq(f.sacked, 10);
    ck_assert_uint_eq(f.lost, 10);
    ck_assert_uint_eq(f.flying, 4);
    ck_assert_uint_eq(inflight_lowest_lost(&f), h + 4);
    ck_assert_uint_eq(inflight_skip_sacked(&f, h + 2), h + 4);
    ck_assert_uint_eq(inflight_at(&f, h + 5)->len, 7);
    ck_assert_uint_eq(inflight_at(&f, f.oldest)->later, h + 1);
}
END_TEST

START_TEST(a_part_of_the_lowest_goes)
{
    push(10);
    push(10);
    inflight_sack(&f, f.head + 1);
    inflight_trim(&f, 4);
    ck_assert_uint_eq(inflight_at(&f, f.head)->len, 6);
    ck_assert_uint_eq(inflight_at(&f, f.head)->seq.v, FIRST + 4);
    inflight_lose(&f, f.head);
    inflight_trim(&f, 1);
    ck_assert_uint_eq(f.lost, 5);
    inflight_pop(&f);
    ck_assert_uint_eq(f.lost, 0);
    inflight_trim(&f, 3);
    ck_assert_uint_eq(f.sacked, 7);
    ck_assert(inflight_ok(&f));
}
END_TEST

START_TEST(what_was_sacked_is_lost_when_forgotten)
{
    for (unsigned i = 0; i < 5; i++)
        push(10);
    inflight_sack(&f, f.head);
    inflight_sack(&f, f.head + 3);
    inflight_renege(&f);
    ck_assert_uint_eq(f.sacked, 0);
    ck_assert_uint_eq(f.lost, 20);
    ck_assert_uint_eq(inflight_lowest_lost(&f), f.head);
    ck_assert(inflight_ok(&f));
}
END_TEST

START_TEST(what_was_lost_flies_again_in_its_place)
{
    for (unsigned i = 0; i < 6; i++, now++)
        push(10);
    uint32_t h = f.head;
    for (unsigned i = 0; i < 4; i++)
        inflight_lose(&f, h + i);
    inflight_resend(&f, h, now++);
    inflight_resend(&f, h + 1, now++);
    inflight_lose(&f, h);
    inflight_unlose(&f);
    ck_assert_uint_eq(f.lost, 0);
    ck_assert_uint_eq(f.flying, 6);
    ck_assert(inflight_ok(&f)); /* in order of sending */
    ck_assert_uint_eq(f.oldest, h + 2);
    ck_assert_uint_eq(f.newest, h + 1);
}
END_TEST

/* ---- against a model: an array, searched from its start ---- */

struct model {
    struct tcp_seg seg[MAX];
    unsigned n;
};

static unsigned model_find(const struct model *m, uint32_t offset)
{
    unsigned i = 0;
    while (i < m->n && seq32_lt(m->seg[i].seq, seq32(FIRST + offset)))
        i++;
    return i;
}

static bool same_record(const struct tcp_seg *a, const struct tcp_seg *b)
{
    return seq32_eq(a->seq, b->seq) && a->len == b->len && a->sent == b->sent &&
           a->flags == b->flags;
}

static unsigned model_unsacked(const struct model *m, unsigned i)
{
    while (i < m->n && (m->seg[i].flags & TCP_SEG_SACKED))
        i++;
    return i;
}

/* Plain ifs: an assertion of Check is slow. */
static bool same(const struct model *m)
{
    if (!inflight_ok(&f) || inflight_count(&f) != m->n)
        return false;
    bool lost = false;
    for (unsigned i = 0; i < m->n; i++) {
        if (!same_record(inflight_at(&f, f.head + i), &m->seg[i]))
            return false;
        bool is_lost = m->seg[i].flags & TCP_SEG_LOST;
        if (is_lost && !lost && inflight_lowest_lost(&f) != f.head + i)
            return false;
        lost |= is_lost;
        if (rng_below(&rng, 8) == 0 &&
            inflight_skip_sacked(&f, f.head + i) - f.head != model_unsacked(m, i))
            return false;
    }
    return lost == (f.lost > 0);
}

static void model_cut(struct model *m, unsigned i, unsigned n)
{
    memmove(&m->seg[i], &m->seg[i + n], (m->n - i - n) * sizeof(m->seg[0]));
    m->n -= n;
}

static void step(struct model *m)
{
    uint32_t len = 2 + (uint32_t)rng_below(&rng, 50);
    unsigned i = m->n ? (unsigned)rng_below(&rng, m->n) : 0;
    struct tcp_seg *g = &m->seg[i];
    unsigned what = m->n ? (unsigned)rng_below(&rng, 11) : 0;
    now += rng_below(&rng, 3);
    if (what <= 3) {
        struct tcp_seg new = {.seq = nxt, .len = len, .sent = now};
        if (push(len))
            m->seg[m->n++] = new;
        else
            ck_assert_uint_eq(m->n, MAX);
    } else if (what == 4 && rng_below(&rng, 4) == 0) {
        inflight_pop(&f);
        model_cut(m, 0, 1);
    } else if (what == 5 && g->len > 1 && m->n < MAX) {
        uint32_t first = 1 + (uint32_t)rng_below(&rng, g->len - 1);
        ck_assert(inflight_split(&f, f.head + i, first));
        memmove(g + 1, g, (m->n - i) * sizeof(*g));
        m->n++;
        g[1].seq = seq32_add(g->seq, first);
        g[1].len -= first;
        g->len = first;
    } else if (what == 6 && !(g->flags & TCP_SEG_SACKED)) {
        inflight_sack(&f, f.head + i);
        g->flags = (uint16_t)((g->flags | TCP_SEG_SACKED) & ~TCP_SEG_LOST);
    } else if (what == 7 && !(g->flags & (TCP_SEG_SACKED | TCP_SEG_LOST))) {
        inflight_lose(&f, f.head + i);
        g->flags |= TCP_SEG_LOST;
    } else if (what == 8 && !(g->flags & TCP_SEG_SACKED)) {
        inflight_resend(&f, f.head + i, now);
        g->flags = (uint16_t)((g->flags | TCP_SEG_RESENT) & ~TCP_SEG_LOST);
        g->sent = now;
    } else if (what == 9 && rng_below(&rng, 20) == 0) {
        inflight_renege(&f);
        for (unsigned k = 0; k < m->n; k++)
            if (m->seg[k].flags & TCP_SEG_SACKED)
                m->seg[k].flags ^= TCP_SEG_SACKED | TCP_SEG_LOST;
    } else if (what == 10 && rng_below(&rng, 20) == 0) {
        inflight_unlose(&f);
        for (unsigned k = 0; k < m->n; k++)
            m->seg[k].flags &= (uint16_t)~TCP_SEG_LOST;
    }
    uint32_t offset = (uint32_t)rng_below(&rng, nxt.v - FIRST + 100);
    if (m->n > 0 && seq32_ge(seq32(FIRST + offset), m->seg[0].seq))
        ck_assert_uint_eq(inflight_find(&f, seq32(FIRST + offset)) - f.head, model_find(m, offset));
}

START_TEST(agrees_with_a_plain_array)
{
    for (unsigned seed = 0; seed < 60; seed++) {
        rng_seed(&rng, seed);
        struct model m = {.n = 0};
        for (unsigned i = 0; i < 1500; i++) {
            step(&m);
            ck_assert_msg(same(&m), "seed %u step %u", seed, i);
        }
        teardown();
        setup();
    }
}
END_TEST

UNIT_MAIN("inflight", setup, teardown, takes_memory_with_the_first_and_doubles, is_bounded,
          without_memory_nothing_changes, finds_across_the_wrap, lists_in_order_of_sending,
          halves_stay_together, a_part_of_the_lowest_goes, what_was_sacked_is_lost_when_forgotten,
          what_was_lost_flies_again_in_its_place, agrees_with_a_plain_array)
