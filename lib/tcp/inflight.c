/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/inflight.h"

#include <assert.h>
#include <string.h>

#include "base/invariant.h"

#define FIRST_RECORDS 8u

void inflight_init(struct inflight *f, struct mem *mem, uint32_t max)
{
    assert(max > 0 && max <= UINT32_C(1) << 30 && "positions wrap");
    *f = (struct inflight){.mem = mem, .max = max};
}

void inflight_clear(struct inflight *f)
{
    seq32_t order = f->order;
    mem_free(f->mem, f->seg, ((size_t)f->mask + 1) * sizeof(*f->seg));
    inflight_init(f, f->mem, f->max);
    f->order = order;
}

uint32_t inflight_position(const struct inflight *f, const struct tcp_seg *g)
{
    uint32_t slot = (uint32_t)(g - f->seg);
    uint32_t pos = f->head + ((slot - f->head) & f->mask);
    assert(pos - f->head < inflight_count(f) && "a record in flight");
    return pos;
}

static bool grow(struct inflight *f)
{
    uint32_t old = f->seg ? f->mask + 1 : 0;
    uint32_t size = old ? 2 * old : FIRST_RECORDS;
    struct tcp_seg *seg = mem_alloc(f->mem, size * sizeof(*seg), _Alignof(struct tcp_seg));
    if (!seg)
        return false;
    for (uint32_t p = f->head; p != f->tail; p++)
        seg[p & (size - 1)] = *inflight_at(f, p);
    mem_free(f->mem, f->seg, old * sizeof(*seg));
    f->seg = seg;
    f->mask = size - 1;
    return true;
}

bool inflight_reserve(struct inflight *f)
{
    uint32_t n = inflight_count(f);
    if (n >= f->max)
        return false;
    return (f->seg && n <= f->mask) || grow(f);
}

/* ---- the list in order of sending ---- */

static void unlink_flying(struct inflight *f, uint32_t pos)
{
    assert(f->flying > 0 && "it is in the list");
    const struct tcp_seg *g = inflight_at(f, pos);
    if (pos == f->oldest)
        f->oldest = g->later;
    else
        inflight_at(f, g->earlier)->later = g->later;
    if (pos == f->newest)
        f->newest = g->earlier;
    else
        inflight_at(f, g->later)->earlier = g->earlier;
    f->flying--;
}

static void link_newest(struct inflight *f, uint32_t pos)
{
    if (f->flying++ == 0) {
        f->oldest = f->newest = pos;
        return;
    }
    inflight_at(f, pos)->earlier = f->newest;
    inflight_at(f, f->newest)->later = pos;
    f->newest = pos;
}

/* before is in the list. */
static void link_before(struct inflight *f, uint32_t pos, uint32_t before)
{
    struct tcp_seg *g = inflight_at(f, pos), *b = inflight_at(f, before);
    g->later = before;
    g->earlier = b->earlier;
    if (before == f->oldest)
        f->oldest = pos;
    else
        inflight_at(f, g->earlier)->later = pos;
    b->earlier = pos;
    f->flying++;
}

/* ---- records ---- */

void inflight_push(struct inflight *f, seq32_t seq, uint32_t len, tick_t now)
{
    assert(len > 0 && f->seg && inflight_count(f) <= f->mask && "room was reserved");
    uint32_t pos = f->tail++;
    *inflight_at(f, pos) =
        (struct tcp_seg){.seq = seq, .len = len, .sent = now, .sends = 1, .order = f->order};
    f->order = seq32_add(f->order, 1);
    link_newest(f, pos);
}

static void shift(uint32_t *p, uint32_t head, uint32_t pos)
{
    if (*p - head > pos - head)
        ++*p;
}

/* Makes a gap behind pos: all positions beyond it are one more. */
static void open_gap(struct inflight *f, uint32_t pos)
{
    for (uint32_t p = f->tail; p != pos + 1; p--)
        *inflight_at(f, p) = *inflight_at(f, p - 1);
    f->tail++;
    for (uint32_t p = f->head; p != f->tail; p++) {
        shift(&inflight_at(f, p)->earlier, f->head, pos);
        shift(&inflight_at(f, p)->later, f->head, pos);
    }
    shift(&f->oldest, f->head, pos);
    shift(&f->newest, f->head, pos);
    if ((int32_t)(f->lost_from - f->head) > 0)
        shift(&f->lost_from, f->head, pos);
}

static void link_second_half(struct inflight *f, uint32_t pos)
{
    struct tcp_seg *first = inflight_at(f, pos), *second = inflight_at(f, pos + 1);
    if (first->flags & TCP_SEG_SACKED) {
        second->later = first->later;
        first->later = pos + 1;
        f->sacked_records++;
    } else if (!(first->flags & TCP_SEG_LOST)) {
        if (pos == f->newest)
            link_newest(f, pos + 1);
        else
            link_before(f, pos + 1, first->later);
    }
}

bool inflight_split(struct inflight *f, uint32_t pos, uint32_t len)
{
    assert(len > 0 && len < inflight_at(f, pos)->len && "two records");
    if (!inflight_reserve(f))
        return false;
    open_gap(f, pos);
    struct tcp_seg *first = inflight_at(f, pos), *second = inflight_at(f, pos + 1);
    *second = *first;
    second->seq = seq32_add(first->seq, len);
    second->len = first->len - len;
    first->len = len;
    link_second_half(f, pos);
    return true;
}

void inflight_pop(struct inflight *f)
{
    assert(f->head != f->tail && "there is a lowest record");
    const struct tcp_seg *g = inflight_at(f, f->head);
    if (g->flags & TCP_SEG_SACKED) {
        f->sacked -= g->len;
        f->sacked_records--;
    } else if (g->flags & TCP_SEG_LOST) {
        f->lost -= g->len;
    } else {
        unlink_flying(f, f->head);
    }
    f->head++;
}

void inflight_trim(struct inflight *f, uint32_t len)
{
    struct tcp_seg *g = inflight_at(f, f->head);
    assert(f->head != f->tail && len < g->len && "something of it remains");
    if (g->flags & TCP_SEG_SACKED)
        f->sacked -= len;
    else if (g->flags & TCP_SEG_LOST)
        f->lost -= len;
    g->seq = seq32_add(g->seq, len);
    g->len -= len;
}

/* ---- finding ---- */

uint32_t inflight_find(const struct inflight *f, seq32_t seq)
{
    uint32_t at = f->head, n = inflight_count(f);
    while (n > 0) {
        uint32_t half = n / 2;
        if (seq32_lt(inflight_at(f, at + half)->seq, seq)) {
            at += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return at;
}

uint32_t inflight_skip_sacked(struct inflight *f, uint32_t pos)
{
    uint32_t end = pos;
    while (end != f->tail && (inflight_at(f, end)->flags & TCP_SEG_SACKED))
        end = inflight_at(f, end)->later;
    while (pos != end) { /* whoever comes this way again goes straight there */
        uint32_t next = inflight_at(f, pos)->later;
        inflight_at(f, pos)->later = end;
        pos = next;
    }
    return end;
}

uint32_t inflight_lowest_lost(struct inflight *f)
{
    assert(f->lost > 0 && "there is one");
    if ((int32_t)(f->lost_from - f->head) < 0)
        f->lost_from = f->head;
    while (!(inflight_at(f, f->lost_from)->flags & TCP_SEG_LOST))
        f->lost_from++;
    return f->lost_from;
}

/* ---- states ---- */

static void note_lost(struct inflight *f, uint32_t pos)
{
    struct tcp_seg *g = inflight_at(f, pos);
    if (f->lost == 0 || (int32_t)(pos - f->lost_from) < 0)
        f->lost_from = pos;
    g->flags |= TCP_SEG_LOST;
    f->lost += g->len;
}

static void drop_lost(struct inflight *f, struct tcp_seg *g)
{
    g->flags &= (uint16_t)~TCP_SEG_LOST;
    f->lost -= g->len;
}

void inflight_sack(struct inflight *f, uint32_t pos)
{
    struct tcp_seg *g = inflight_at(f, pos);
    assert(!(g->flags & TCP_SEG_SACKED) && "newly");
    if (g->flags & TCP_SEG_LOST)
        drop_lost(f, g);
    else
        unlink_flying(f, pos);
    g->flags |= TCP_SEG_SACKED;
    g->later = pos + 1;
    f->sacked += g->len;
    f->sacked_records++;
}

void inflight_lose(struct inflight *f, uint32_t pos)
{
    assert(!(inflight_at(f, pos)->flags & (TCP_SEG_SACKED | TCP_SEG_LOST)) && "it was flying");
    unlink_flying(f, pos);
    note_lost(f, pos);
}

void inflight_resend(struct inflight *f, uint32_t pos, tick_t now)
{
    struct tcp_seg *g = inflight_at(f, pos);
    assert(!(g->flags & TCP_SEG_SACKED) && "it has arrived");
    if (g->flags & TCP_SEG_LOST)
        drop_lost(f, g);
    else
        unlink_flying(f, pos);
    g->flags |= TCP_SEG_RESENT;
    g->sent = now;
    g->order = f->order;
    f->order = seq32_add(f->order, 1);
    g->sends = (uint16_t)(g->sends + (g->sends < UINT16_MAX));
    link_newest(f, pos);
}

void inflight_renege(struct inflight *f)
{
    for (uint32_t p = f->head; p != f->tail; p++) {
        struct tcp_seg *g = inflight_at(f, p);
        if (!(g->flags & TCP_SEG_SACKED))
            continue;
        g->flags &= (uint16_t)~TCP_SEG_SACKED;
        note_lost(f, p);
    }
    f->sacked = f->sacked_records = 0;
}

/* Into the list by its order, looking from `near` in the list on; nearly always it goes there. */
static void link_by_order(struct inflight *f, uint32_t pos, uint32_t near)
{
    const struct tcp_seg *g = inflight_at(f, pos);
    while (near != f->oldest &&
           seq32_gt(inflight_at(f, inflight_at(f, near)->earlier)->order, g->order))
        near = inflight_at(f, near)->earlier;
    while (seq32_le(inflight_at(f, near)->order, g->order)) {
        if (near == f->newest) {
            link_newest(f, pos);
            return;
        }
        near = inflight_at(f, near)->later;
    }
    link_before(f, pos, near);
}

void inflight_unlose(struct inflight *f)
{
    uint32_t near = f->oldest;
    for (uint32_t p = f->head; f->lost > 0; p++) {
        struct tcp_seg *g = inflight_at(f, p);
        if (!(g->flags & TCP_SEG_LOST))
            continue;
        drop_lost(f, g);
        if (f->flying == 0)
            link_newest(f, p);
        else
            link_by_order(f, p, near);
        near = p;
    }
}

/* ---- invariants ---- */

static bool list_ok(const struct inflight *f)
{
    seq32_t order = f->flying > 0 ? inflight_at(f, f->oldest)->order : f->order;
    uint32_t p = f->oldest;
    for (uint32_t n = f->flying; n > 0; n--) {
        const struct tcp_seg *g = inflight_at(f, p);
        if (p - f->head >= inflight_count(f) || (g->flags & (TCP_SEG_SACKED | TCP_SEG_LOST)) ||
            seq32_lt(g->order, order))
            return false;
        if (n == 1)
            return p == f->newest;
        if (inflight_at(f, g->later)->earlier != p)
            return false;
        order = g->order;
        p = g->later;
    }
    return true;
}

bool inflight_ok(const struct inflight *f)
{
    uint32_t flying = 0, sacked = 0, sacked_records = 0, lost = 0;
    for (uint32_t p = f->head; p != f->tail; p++) {
        const struct tcp_seg *g = inflight_at(f, p);
        bool is_sacked = g->flags & TCP_SEG_SACKED, is_lost = g->flags & TCP_SEG_LOST;
        if (g->len == 0 || (is_sacked && is_lost) ||
            (p != f->head && !seq32_eq(tcp_seg_end(inflight_at(f, p - 1)), g->seq)) ||
            (is_lost && (int32_t)(p - f->lost_from) < 0) ||
            (is_sacked && g->later - p - 1 >= f->tail - p))
            return false;
        sacked += is_sacked ? g->len : 0;
        sacked_records += is_sacked;
        lost += is_lost ? g->len : 0;
        flying += !is_sacked && !is_lost;
    }
    return flying == f->flying && sacked == f->sacked && sacked_records == f->sacked_records &&
           lost == f->lost && list_ok(f) && inflight_count(f) <= f->max;
}
