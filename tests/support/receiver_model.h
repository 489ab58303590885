/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_RECEIVER_MODEL_H
#define MILLRACE_TESTS_RECEIVER_MODEL_H

/*
 * TCP's receiving half against one integer and a map of bytes. `history` is read as a series of
 * segments (any place, length, content, end, cut into views, memory short or shared), of ACKs and
 * of bytes consumed. After each, what the receiver said and gave is compared with what follows from
 * looking at every byte. For tests (from seeded random bytes) and for fuzzing. Aborts where they
 * differ.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/heap.h"
#include "tcp/receiver.h"

#define require(ok) \
    ((ok) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #ok), abort(), (void)0))

#define MODEL_SPAN (1u << 18) /* bytes of the stream that a history may reach */
#define MODEL_LONG 4096u      /* longest segment */

struct receiver_model {
    struct heap heap;
    struct heap_pool pool;
    struct tcp_receiver r;
    seq32_t base; /* number of byte 0 */
    tick_t now;
    uint32_t high; /* first byte never touched */
    uint32_t nxt, right, unconsumed, arrivals;
    bool fin_known, fin_reached;
    uint32_t fin;
    uint8_t byte[MODEL_SPAN];
    uint32_t touched[MODEL_SPAN]; /* of a byte that is here: by which arrival; 0: missing */
};

/* A segment as the history asks for it. */
struct model_segment {
    uint32_t start, end;
    bool fin, lean, shared;
    uint8_t seed;
    uint16_t view;
};

static inline seq32_t model_seq(const struct receiver_model *m, uint32_t at)
{
    return seq32_add(m->base, at);
}

static inline void model_init(struct receiver_model *m, uint8_t setup)
{
    static const uint32_t sizes[] = {100, 1500, 4000, 16000};
    memset(m->touched, 0, m->high * sizeof(*m->touched));
    heap_init(&m->heap);
    heap_pool_init(&m->pool, 64, 2048);
    struct receiver_args a = {
        .mem = &m->heap.mem,
        .irs = seq32(0xfffff800),
        .size = sizes[setup & 3],
        .size_max = setup & 4 ? 40000 : sizes[setup & 3],
        .ack_delay = 40 * TICK_MS,
        .mss = 1460,
    };
    receiver_init(&m->r, &a);
    receiver_negotiated(&m->r, true, setup & 8, setup & 8 ? (setup >> 4) & 7 : 0);
    /* The model's 0 is far enough before the first byte for what starts too early. */
    m->base = seq32_sub(m->r.nxt, MODEL_LONG);
    m->nxt = MODEL_LONG;
    m->right = m->nxt + sizes[setup & 3];
    m->high = m->nxt;
    m->now = TICK_SEC;
    m->unconsumed = m->arrivals = 0;
    m->fin_known = m->fin_reached = false;
}

static inline uint8_t model_byte(uint32_t at, uint8_t seed)
{
    return (uint8_t)(at * 31 + (at >> 8) + seed);
}

static inline struct pkt *model_packet(struct receiver_model *m, const struct model_segment *s)
{
    uint8_t bytes[MODEL_LONG];
    uint32_t len = s->end - s->start;
    if (len == 0)
        return NULL;
    for (uint32_t i = 0; i < len; i++)
        bytes[i] = model_byte(s->start + i, s->seed);
    if (s->view > 0 || len > m->pool.pool.room)
        return heap_pkt(&m->pool, bytes, len, s->view);
    struct pkt *p = pkt_alloc(&m->pool.pool);
    memcpy(pkt_put(p, len), bytes, len);
    return p;
}

static inline bool model_gap(const struct receiver_model *m)
{
    for (uint32_t i = m->nxt; i < m->high; i++)
        if (m->touched[i])
            return true;
    return false;
}

/* What a D-SACK has to tell of s: its first part that was here. False: there is none. */
static inline bool model_dup(const struct receiver_model *m, const struct model_segment *s,
                             struct tcp_sack *dup)
{
    uint32_t limit = m->fin_known ? m->fin : m->right;
    uint32_t end = s->end < limit ? s->end : limit;
    uint32_t left = s->start;
    uint32_t right = s->end < m->nxt ? s->end : m->nxt;
    if (left >= m->nxt) {
        while (left < end && !m->touched[left])
            left++;
        for (right = left; right < end && m->touched[right]; right++)
            ;
        if (s->lean && s->start > m->nxt)
            return false;
    }
    *dup = (struct tcp_sack){.left = model_seq(m, left), .right = model_seq(m, right)};
    return left < right;
}

static inline enum drop model_fin(struct receiver_model *m, uint32_t at)
{
    if (at >= m->right || (m->fin_known && at != m->fin))
        return DROP_TCP_SEQUENCE;
    if (m->fin_known || at < m->nxt)
        return DROP_TCP_DUPLICATE;
    m->fin_known = true;
    m->fin = at;
    for (uint32_t i = at; i < m->high; i++)
        m->touched[i] = 0;
    return DROP_NONE;
}

/* Fills [start, end) but for what is here; all that now hangs together was touched. Returns whether
 * anything was new. */
static inline bool model_fill(struct receiver_model *m, uint32_t start, uint32_t end, uint8_t seed)
{
    bool news = false;
    m->arrivals++;
    for (uint32_t i = start; i < end; i++) {
        if (!m->touched[i]) {
            m->byte[i] = model_byte(i, seed);
            news = true;
        }
        m->touched[i] = m->arrivals;
    }
    for (uint32_t i = start; i > m->nxt && m->touched[i - 1]; i--)
        m->touched[i - 1] = m->arrivals;
    m->high = end > m->high ? end : m->high;
    for (uint32_t i = end; i < m->high && m->touched[i]; i++)
        m->touched[i] = m->arrivals;
    return news;
}

/* Bytes of [start, end) that are here. */
static inline uint32_t model_count(const struct receiver_model *m, uint32_t start, uint32_t end)
{
    uint32_t n = 0;
    for (uint32_t i = start; i < end; i++)
        n += m->touched[i] > 0;
    return n;
}

/* Was a segment with something new refused? Only at a bound. */
static inline bool model_refused(const struct receiver_model *m, uint32_t left, uint32_t right)
{
    const struct tcp_reorder *o = &m->r.reorder;
    bool news = model_count(m, left, right) < right - left;
    if (!news || o->bytes != model_count(m, m->nxt, m->high))
        return false;
    require(o->n == TCP_REORDER_RANGES || o->cost + (right - left + 1) * PKT_COST > 3 * m->r.size);
    return true;
}

/* Shared memory around a range that is here: what lies behind that is not kept. */
static inline uint32_t model_shared_end(const struct receiver_model *m, uint32_t start,
                                        uint32_t end)
{
    uint32_t i = start;
    while (i < end && m->touched[i])
        i++;
    while (i < end && !m->touched[i])
        i++;
    return i < end ? i : end;
}

static inline void model_data(struct receiver_model *m, const struct model_segment *s,
                              enum drop *drop, bool *reordered)
{
    uint32_t left = s->start > m->nxt ? s->start : m->nxt;
    uint32_t limit = m->fin_known ? m->fin : m->right;
    uint32_t right = s->end < limit ? s->end : limit;
    *reordered = false;
    *drop = s->end <= m->nxt ? DROP_TCP_DUPLICATE : DROP_TCP_SEQUENCE;
    if (s->end <= m->nxt || left >= right)
        return;
    *reordered = left > m->nxt;
    *drop = DROP_TCP_REORDER_LIMIT;
    if (*reordered && (s->lean || model_refused(m, left, right)))
        return;
    if (s->shared)
        right = model_shared_end(m, left, right);
    *drop = model_fill(m, left, right, s->seed) ? DROP_NONE : DROP_TCP_DUPLICATE;
}

/* What has become next goes out; compares it. */
static inline void model_deliver(struct receiver_model *m, struct receiver_result *result)
{
    uint32_t at = m->nxt;
    uint32_t bytes = 0;
    pkt_for_each (v, result->data) {
        for (uint32_t i = 0; i < v->len; i++, at++) {
            require(at < m->high && m->touched[at]);
            require(v->data[i] == m->byte[at]);
        }
        bytes += v->len;
    }
    require(at == m->high || !m->touched[at]);
    require(result->bytes == bytes && (!result->data || result->data->total == bytes));
    require(!result->data || pkt_ok(result->data));
    pkt_free(result->data);
    m->nxt = at;
    m->unconsumed += bytes;
    bool end = m->fin_known && !m->fin_reached && m->nxt == m->fin;
    require(result->end == end);
    if (end) {
        m->fin_reached = true;
        m->nxt++;
    }
    m->high = m->nxt > m->high ? m->nxt : m->high;
}

static inline void model_state(const struct receiver_model *m)
{
    const struct tcp_receiver *r = &m->r;
    require(receiver_ok(r));
    require(seq32_eq(r->nxt, model_seq(m, m->nxt)) && seq32_eq(r->right, model_seq(m, m->right)));
    require(r->unconsumed == m->unconsumed);
    require(r->fin_known == m->fin_known && r->fin_reached == m->fin_reached);
    require(m->pool.held * PKT_COST == r->reorder.cost);
}

static inline bool model_sack_is(const struct tcp_sack *a, const struct tcp_sack *b)
{
    return seq32_eq(a->left, b->left) && seq32_eq(a->right, b->right);
}

static inline void model_segment(struct receiver_model *m, const struct model_segment *s)
{
    uint32_t len = s->end - s->start;
    if (len + s->fin == 0)
        return;
    bool in = s->start < m->right && s->end + s->fin > m->nxt;
    require(receiver_acceptable(&m->r, model_seq(m, s->start), len + s->fin) == in);

    struct receiver_result result;
    struct pkt *p = model_packet(m, s);
    struct pkt *other = s->shared && p ? pkt_slice(&m->pool.pool, p, 0, len) : NULL;
    receiver_input(&m->r, model_seq(m, s->start), p, s->fin, s->lean, m->now, &result);
    pkt_free(other);

    uint32_t nxt = m->nxt;
    bool gap = model_gap(m);
    enum drop fin_drop = s->fin ? model_fin(m, s->end) : DROP_NONE;
    enum drop drop = fin_drop;
    bool reordered = s->fin && !fin_drop && s->end > nxt;
    struct tcp_sack dup;
    bool dups = len > 0 && model_dup(m, s, &dup);
    if (len > 0)
        model_data(m, s, &drop, &reordered);
    require(result.drop == (s->fin && !fin_drop ? DROP_NONE : drop));
    require(result.reordered == reordered);
    require(!dups || (m->r.dsack_due && model_sack_is(&m->r.dsack, &dup)));
    model_deliver(m, &result);
    if (gap || reordered || dups || s->fin || drop || m->nxt - nxt < len)
        require(m->r.ack == RECEIVER_ACK_NOW);
    require(m->r.ack != RECEIVER_ACK_NONE);
    model_state(m);
}

/* The run of bytes out of order that was touched last before arrival `before`; 0: none. */
static inline uint32_t model_newest(const struct receiver_model *m, uint32_t before,
                                    struct tcp_sack *block)
{
    uint32_t newest = 0;
    for (uint32_t i = m->nxt; i < m->high; i++) {
        if (!m->touched[i] || m->touched[i] <= newest || m->touched[i] >= before)
            continue;
        newest = m->touched[i];
        block->left = model_seq(m, i);
        while (i < m->high && m->touched[i])
            i++;
        block->right = model_seq(m, i);
    }
    return newest;
}

static inline void model_sacks(const struct receiver_model *m, unsigned max)
{
    struct tcp_sack told[TCP_SACK_MAX];
    unsigned n = receiver_sacks(&m->r, told, max);
    unsigned i = 0;
    if (m->r.dsack_due && max > 0)
        i++;
    struct tcp_sack block = {0};
    for (uint32_t before = UINT32_MAX; i < max && (before = model_newest(m, before, &block)); i++)
        require(i < n && model_sack_is(&told[i], &block));
    require(i == n);
}

static inline void model_window(struct receiver_model *m, bool lean)
{
    struct tcp_receiver *r = &m->r;
    uint32_t unit = 1u << r->scale;
    uint32_t room = r->size - m->unconsumed;
    uint32_t known = m->right - m->nxt;
    uint32_t told = (uint32_t)receiver_window(r, false, lean) << r->scale;
    uint32_t least = r->segment < r->size / 2 ? r->segment : r->size / 2;
    require(told <= (lean ? known : room));
    if (!lean && room - known >= least)
        require(told + unit > room);
    else
        require(told < known + unit); /* not opened by a little */
    if (told < known)
        require(told + unit > (lean ? known : room));
    if (told > known)
        m->right = m->nxt + told;
}

static inline void model_acked(struct receiver_model *m, unsigned max, bool lean)
{
    model_sacks(m, max);
    model_window(m, lean);
    receiver_acked(&m->r, m->now);
    require(m->r.ack == RECEIVER_ACK_NONE && !m->r.dsack_due && m->r.unacked == 0);
    model_state(m);
}

static inline void model_consume(struct receiver_model *m, uint32_t n)
{
    uint32_t size = m->r.size;
    m->unconsumed -= n;
    bool tell = receiver_consumed(&m->r, n, UINT32_MAX, m->now);
    require(!tell || m->r.ack == RECEIVER_ACK_NOW);
    require(m->r.size >= size && (m->r.size == size || m->r.size <= m->r.size_max));
    model_state(m);
}

/* Six bytes of history: a segment at, around, or ahead of what is expected, or at either edge. */
static inline void model_read_segment(struct receiver_model *m, const uint8_t *b)
{
    static const uint32_t longest[] = {8, 64, 600, MODEL_LONG};
    uint32_t at = (uint32_t)b[1] << 8 | b[2];
    uint32_t len = b[3] * longest[b[4] & 3] / 255;
    uint32_t ahead = m->high > m->nxt ? m->high - m->nxt : 1;
    uint32_t start = m->nxt;
    switch (b[0] & 7) {
    case 0: break;
    case 1: start = m->right + at % 128 - 64; break;
    case 2: start += at % 128 - 64; break;
    case 3: start += at % 64; break;
    case 4: start -= at % MODEL_LONG; break;
    default: start += at % (ahead + 200);
    }
    struct model_segment s = {
        .start = start,
        .end = start + len,
        .fin = b[5] % 64 == 0,
        .lean = b[5] % 16 == 1,
        .shared = b[5] % 16 == 2,
        .seed = b[5],
        .view = (uint16_t)(b[4] & 4 ? 0 : 1 + b[4] * 8),
    };
    model_segment(m, &s);
}

static inline void model_run(struct receiver_model *m, const uint8_t *history, size_t len)
{
    if (len == 0)
        return;
    model_init(m, history[0]);
    for (size_t i = 1; i + 6 <= len && m->right < MODEL_SPAN - 16384; i += 6) {
        const uint8_t *b = &history[i];
        m->now += (tick_t)b[1] * TICK_MS / 8;
        if (b[0] < 192)
            model_read_segment(m, b);
        else if (b[0] < 224)
            model_acked(m, b[1] % (TCP_SACK_MAX + 1), b[2] % 8 == 0);
        else
            model_consume(m, m->unconsumed * b[2] / 255);
    }
    receiver_fini(&m->r);
    require(m->pool.held == 0 && m->heap.blocks == 0);
}

#endif
