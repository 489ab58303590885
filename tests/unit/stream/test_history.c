/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream/stream.h"

#include <string.h>

#include "base/rng.h"
#include "support/heap.h"
#include "support/unit.h"

/*
 * Seeded histories. Both sides do at random what they may; a few numbers say what each has to see.
 * Inbound byte n is n, outbound byte n is 255 - n, both modulo 256.
 */
#define LIVES 6u

struct life {
    struct stream stream;
    uint64_t arrived;
    uint64_t given;
    uint64_t consumed;
    uint64_t written;
    uint64_t acked;
    unsigned run; /* the last in which it was told anything */
    unsigned aborted;
    bool opened, arrived_end, end, ended, gone, last, woken;
};

static struct heap heap;
static struct heap_pool pool;
static struct stream_ready ready;
static struct life lives[LIVES];
static struct rng rng;
static unsigned runs;
static struct life *at_turn;
static unsigned views_told;
static unsigned views_max;
static uint64_t lasts;
static uint64_t writables;

static uint32_t below(uint32_t n)
{
    return (uint32_t)rng_below(&rng, n);
}

static void setup(void)
{
    heap_init(&heap);
    heap_pool_init(&pool, 16, 200);
    stream_ready_init(&ready);
}

static void teardown(void)
{
    ck_assert_uint_eq(pool.held, 0);
    ck_assert_uint_eq(heap.blocks, 0);
}

static struct life *life_of(struct stream *s)
{
    return container_of(s, struct life, stream);
}

static struct pkt *numbered(uint64_t from, uint32_t len, uint8_t flip)
{
    uint8_t p[300];
    for (uint32_t i = 0; i < len; i++)
        p[i] = (uint8_t)(from + i) ^ flip;
    if (len <= 100 && below(2)) {
        struct pkt *room = pkt_alloc(&pool.pool);
        memcpy(pkt_put(room, len), p, len);
        return room;
    }
    return heap_pkt(&pool, p, len, below(2) ? 0 : 1 + below(len));
}

static void random_write(struct life *l)
{
    struct stream *s = &l->stream;
    if (l->ended || stream_over(s))
        return;
    bool lost = s->bits & STREAM_TELL_RESET;
    uint32_t len = 1 + below(below(4) ? 20 : 300);
    struct pkt *p = numbered(l->written, len, 255);
    if (below(2)) {
        stream_write_pkt(s, p);
    } else if (!stream_write(s, vec_of_pkt(p))) {
        pkt_free(p);
        return;
    }
    if (!lost && !stream_over(s))
        l->written += len;
}

static void random_action(struct life *l)
{
    struct stream *s = &l->stream;
    uint32_t what = below(400);
    if (what < 140) {
        stream_consume(s, below(stream_unconsumed(s) + 1));
    } else if (what < 150) {
        stream_hold(s);
    } else if (what < 160) {
        stream_release(s);
    } else if (what < 360) {
        for (unsigned i = 0; i < 5 && stream_writable(s); i++)
            random_write(l);
    } else if (what < 394) {
        random_write(l);
    } else if (what < 399) {
        l->ended = true;
        stream_end(s);
    } else {
        stream_abort(s);
    }
}

static struct life *told(struct stream *s)
{
    struct life *l = life_of(s);
    ck_assert(!l->last && "nothing follows the last word");
    if (at_turn != l) {
        ck_assert(l->run != runs && "each is served once");
        views_told = 0;
    }
    l->run = runs;
    at_turn = l;
    return l;
}

static void act(struct life *l)
{
    for (unsigned i = below(3); i > 0; i--)
        random_action(below(4) ? l : &lives[below(LIVES)]);
}

static void life_opened(struct stream *s)
{
    struct life *l = told(s);
    ck_assert(!l->opened && l->given == 0 && !l->end);
    l->opened = true;
    act(l);
}

static void life_data(struct stream *s, struct pkt *view, bool end)
{
    struct life *l = told(s);
    ck_assert(l->opened && !l->end && (view || end));
    ck_assert(!(s->bits & STREAM_HELD));
    ck_assert_uint_lt(views_told++, views_max);
    for (uint32_t i = 0; view && i < view->len; i++)
        ck_assert_uint_eq(view->data[i], (uint8_t)(l->given + i));
    l->given += view ? view->total : 0;
    l->end = end;
    ck_assert(!end || (l->arrived_end && l->given == l->arrived));
    pkt_free(view);
    act(l);
}

static void life_writable(struct stream *s)
{
    struct life *l = told(s);
    ck_assert(stream_writable(s));
    writables++;
    act(l);
}

static void life_last(struct stream *s)
{
    struct life *l = told(s);
    ck_assert(l->gone && l->given == l->arrived);
    ck_assert(stream_over(s));
    act(l);
    l->last = true;
    l->woken = false;
    lasts++;
}

static void life_reset(struct stream *s, enum stream_code code)
{
    ck_assert_uint_eq(code, STREAM_TIMEOUT);
    life_last(s);
}

static void life_ended(struct stream *s)
{
    struct life *l = life_of(s);
    ck_assert(l->end && l->ended && l->acked == l->written);
    life_last(s);
}

static const struct stream_service life_service = {
    .name = "life",
    .opened = life_opened,
    .data = life_data,
    .writable = life_writable,
    .ended = life_ended,
    .reset = life_reset,
};

static void life_consume(struct stream *s, uint32_t n)
{
    ck_assert_uint_gt(n, 0);
    life_of(s)->consumed += n;
}

static void life_ready(struct stream *s)
{
    life_of(s)->woken = true;
}

static void life_abort(struct stream *s)
{
    struct life *l = life_of(s);
    ck_assert(!l->gone && l->aborted++ == 0);
}

static const struct stream_carrier life_carrier = {
    .consume = life_consume,
    .ready = life_ready,
    .abort = life_abort,
};

static void life_begin(struct life *l)
{
    *l = (struct life){.woken = false};
    stream_init(&l->stream, &life_service, &life_carrier, &ready, &heap.mem, 32);
    stream_set_marks(&l->stream, 500, 200);
}

static void life_check(struct life *l)
{
    struct stream *s = &l->stream;
    uint64_t outstanding = stream_over(s) ? 0 : l->arrived - l->consumed;
    ck_assert_uint_eq(stream_unconsumed(s) + (s->in ? s->in->total : 0), outstanding);
    if (stream_over(s))
        ck_assert_uint_eq(l->consumed, l->arrived);
    bool lost = s->bits & (STREAM_OVER | STREAM_TELL_RESET);
    uint32_t queued = lost ? 0 : (uint32_t)(l->written - l->acked);
    ck_assert_uint_eq(vec_queue_bytes(&s->out), queued);
    uint8_t out[20];
    uint32_t n = queued < 20 ? queued : 20;
    vec_queue_flatten(&s->out, 0, out, n);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_uint_eq(out[i], 255 ^ (uint8_t)(l->acked + i));
}

static void life_acked(struct life *l)
{
    uint32_t n = below((uint32_t)vec_queue_bytes(&l->stream.out) + 1);
    stream_acked(&l->stream, n);
    l->acked += n;
}

static bool life_done(const struct life *l)
{
    return l->arrived_end && l->ended && l->acked == l->written;
}

static void life_step(struct life *l)
{
    struct stream *s = &l->stream;
    if (stream_over(s)) {
        ck_assert(l->aborted || l->woken);
        stream_fini(s);
        life_begin(l);
    }
    if (!(s->bits & (STREAM_OPENED | STREAM_TELL_OPENED)))
        stream_opened(s);
    uint32_t what = below(64);
    if (what < 20 && !l->arrived_end && !l->gone) {
        uint32_t n = 1 + below(100);
        stream_arrived(s, numbered(l->arrived, n, 0));
        l->arrived += n;
    } else if (what < 40) {
        life_acked(l);
    } else if (what == 40 && !l->gone) {
        l->arrived_end = true;
        stream_arrived_end(s);
    } else if (what < 50 && !l->gone && life_done(l)) {
        l->gone = true;
        stream_finished(s);
    } else if (what == 50 && !l->gone && below(8) == 0) {
        l->gone = true;
        stream_failed(s, STREAM_TIMEOUT);
    } else if (what == 51 && below(8) == 0) {
        stream_fini(s);
        life_begin(l);
    } else if (what < 58 && what > 52) {
        stream_release(s);
    } else if (what == 52) {
        uint32_t high = 2 + below(1000);
        stream_set_marks(s, high, below(high));
    }
}

static bool run_some(void)
{
    runs++;
    at_turn = NULL;
    views_max = 1 + below(4);
    return stream_ready_run(&ready, 1 + below(LIVES), views_max);
}

static void live(unsigned steps)
{
    for (unsigned i = 0; i < steps; i++) {
        life_step(&lives[below(LIVES)]);
        if (below(4) == 0)
            run_some();
        for (unsigned k = 0; k < LIVES; k++)
            life_check(&lives[k]);
    }
    for (unsigned i = 0; i < LIVES; i++)
        stream_release(&lives[i].stream);
    for (unsigned i = 0; i < 1000; i++) {
        run_some();
        stream_release(&lives[i % LIVES].stream);
    }
}

START_TEST(any_history_keeps_its_promises)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        rng_seed(&rng, seed);
        for (unsigned i = 0; i < LIVES; i++)
            life_begin(&lives[i]);
        live(3000);
        ck_assert(stream_ready_empty(&ready));
        for (unsigned i = 0; i < LIVES; i++) {
            if (!stream_over(&lives[i].stream))
                ck_assert_uint_eq(lives[i].given, lives[i].arrived);
            stream_fini(&lives[i].stream);
        }
        ck_assert_uint_eq(pool.held, 0);
    }
    ck_assert_uint_gt(lasts, 100);
    ck_assert_uint_gt(writables, 100);
}
END_TEST

UNIT_MAIN("history", setup, teardown, any_history_keeps_its_promises)
