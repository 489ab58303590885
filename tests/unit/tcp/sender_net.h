/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_SENDER_NET_H
#define MILLRACE_TESTS_SENDER_NET_H

/*
 * A sender, a path and a receiver, small enough to see through: segments wait in a queue, take
 * time, get lost, overtaken and doubled by one seed; the receiver acknowledges every second one or
 * after a delay, at once where there is a gap, with SACK, D-SACK and timestamps as the run says.
 * What the sender is told to do, its owner does as conn.c would.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/heap.h"
#include "support/unit.h"
#include "tcp/sender.h"

#define NET_MSS     1000u
#define NET_PACKETS 4096u
#define NET_BYTES   (1u << 20)

/* As ck_assert, which notes each success and so takes longer than what it looks at. */
#define net_must(ok)                 \
    do {                             \
        if (!(ok))                   \
            ck_abort_msg("%s", #ok); \
    } while (0)

struct net_packet {
    tick_t due;
    uint64_t order; /* of equal due times */
    bool is_ack;
    seq32_t seq; /* or acknowledgment */
    uint32_t len;
    uint32_t ts; /* ms; or echo */
    uint8_t n_sack;
    struct tcp_sack sack[TCP_SACK_MAX];
};

struct net_args {
    uint64_t seed;
    uint32_t bytes;
    bool sack;
    bool timestamps;
    enum tcp_congestion congestion;
    tick_t delay;         /* one way */
    tick_t jitter;        /* up to so much more, which reorders; 0: in order */
    tick_t serial;        /* for one segment to leave the queue */
    uint32_t queue;       /* segments it holds */
    uint32_t loss;        /* of 1000 segments */
    uint32_t ack_loss;    /* of 1000 ACKs */
    uint32_t dup;         /* of 1000 segments */
    uint32_t window;      /* cwnd_max, bytes */
    uint32_t lose_first;  /* first transmissions that are lost: bits of segments 0 .. 31 */
    uint32_t black_at_ms; /* nothing passes in this time */
    uint32_t black_for_ms;
};

struct net {
    struct net_args a;
    struct heap heap;
    struct counters counters;
    struct tcp_sender s;
    struct rng rng;
    tick_t now;
    seq32_t start; /* of data */
    seq32_t end;
    /* path */
    struct net_packet packet[NET_PACKETS];
    unsigned packets;
    uint64_t orders;
    tick_t queue_free; /* when what is in the queue will have left */
    tick_t ack_free;
    unsigned dropped;
    /* receiver */
    uint8_t *got;  /* a byte for each of data's */
    uint32_t rcv;  /* offset of the first that is missing */
    uint32_t seen; /* offset behind the last that is there */
    uint32_t ts_recent;
    uint32_t last_acked;
    tick_t ack_due;
    unsigned unacked;
    /* owner */
    bool probe_due;
    unsigned resent;
    unsigned expiries;
};

/* ---- path ---- */

static void net_put(struct net *n, struct net_packet p)
{
    net_must(n->packets < NET_PACKETS);
    p.order = n->orders++;
    n->packet[n->packets++] = p;
}

static bool net_chance(struct net *n, uint32_t of1000)
{
    return of1000 > 0 && rng_below(&n->rng, 1000) < of1000;
}

static bool net_black(const struct net *n)
{
    tick_t from = n->a.black_at_ms * TICK_MS;
    return n->now >= from && n->now < from + n->a.black_for_ms * TICK_MS;
}

static void net_send(struct net *n, seq32_t seq, uint32_t len, bool first)
{
    uint32_t k = (seq.v - n->start.v) / NET_MSS;
    tick_t from = n->queue_free > n->now ? n->queue_free : n->now;
    bool full = n->a.serial > 0 && from - n->now > n->a.queue * n->a.serial;
    bool chosen = first && k < 32 && (n->a.lose_first >> k & 1);
    if (full || chosen || net_black(n) || net_chance(n, n->a.loss)) {
        n->dropped++;
        return;
    }
    n->queue_free = from + n->a.serial;
    struct net_packet p = {.seq = seq, .len = len, .ts = (uint32_t)(n->now / TICK_MS)};
    p.due = n->queue_free + n->a.delay;
    if (n->a.jitter)
        p.due += rng_below(&n->rng, n->a.jitter);
    net_put(n, p);
    if (net_chance(n, n->a.dup)) {
        p.due += n->a.delay / 8;
        net_put(n, p);
    }
}

/* ---- receiver ---- */

static uint32_t net_edge(const struct net *n, uint32_t from, bool there)
{
    while (from < n->seen && n->got[from] == there)
        from++;
    return from;
}

static uint32_t net_back(const struct net *n, uint32_t from)
{
    while (from > 0 && n->got[from - 1])
        from--;
    return from;
}

static void net_block(const struct net *n, struct net_packet *p, uint32_t l, uint32_t r)
{
    struct tcp_sack b = {seq32_add(n->start, l), seq32_add(n->start, r)};
    for (unsigned i = 0; i < p->n_sack; i++)
        if (seq32_eq(p->sack[i].left, b.left) && seq32_eq(p->sack[i].right, b.right))
            return;
    if (p->n_sack < TCP_SACK_MAX - 1)
        p->sack[p->n_sack++] = b;
}

static void net_ack(struct net *n, uint32_t from, uint32_t to, bool duplicate)
{
    struct net_packet p = {.is_ack = true, .seq = seq32_add(n->start, n->rcv), .ts = n->ts_recent};
    n->unacked = 0;
    n->ack_due = TICK_NEVER;
    n->last_acked = n->rcv;
    if (n->a.sack && duplicate)
        net_block(n, &p, from, to);
    if (n->a.sack && n->seen > n->rcv) {
        if (from >= n->rcv && to > from) /* the newest first (RFC 2018 4) */
            net_block(n, &p, net_back(n, from), net_edge(n, from, true));
        for (uint32_t at = n->rcv; at < n->seen;) {
            uint32_t l = net_edge(n, at, false);
            at = net_edge(n, l, true);
            net_block(n, &p, l, at);
        }
    }
    if (net_black(n) || net_chance(n, n->a.ack_loss))
        return;
    p.due = n->now + n->a.delay;
    if (p.due < n->ack_free)
        p.due = n->ack_free;
    n->ack_free = p.due;
    net_put(n, p);
}

static void net_receive(struct net *n, const struct net_packet *p)
{
    uint32_t from = p->seq.v - n->start.v, to = from + p->len, before = n->rcv;
    bool new = false, gap = n->seen > n->rcv;
    for (uint32_t i = from; i < to; i++) {
        new |= !n->got[i];
        n->got[i] = 1;
    }
    if (from <= n->last_acked) /* RFC 7323 4.3 (2) */
        n->ts_recent = p->ts;
    if (to > n->seen)
        n->seen = to;
    n->rcv = net_edge(n, n->rcv, true);
    n->unacked++;
    if (!new || gap || n->rcv == before || n->unacked >= 2)
        net_ack(n, from, to, !new);
    else if (n->ack_due == TICK_NEVER)
        n->ack_due = n->now + 40 * TICK_MS;
}

/* ---- the sender's owner ---- */

static void net_sent_again(struct net *n, struct tcp_seg *g)
{
    if (g->len > n->s.mss)
        sender_split(&n->s, &g, n->s.mss);
    net_send(n, g->seq, g->len, false);
    n->resent++;
    sender_resent(&n->s, g, n->now);
}

static bool net_new(struct net *n, uint32_t room)
{
    uint32_t left = n->end.v - n->s.nxt.v;
    uint32_t len = left < n->s.mss ? left : n->s.mss;
    if (len == 0 || (len > room && !sender_idle(&n->s)) || !sender_can_send(&n->s))
        return false;
    net_send(n, n->s.nxt, len, true);
    sender_sent(&n->s, len, len == left, n->now);
    return true;
}

static void net_probe(struct net *n)
{
    n->probe_due = false;
    bool new = net_new(n, UINT32_MAX);
    if (!new)
        net_sent_again(n, sender_last(&n->s));
    sender_probed(&n->s, !new, n->now);
}

static void net_output(struct net *n)
{
    if (sender_idle(&n->s))
        sender_wakes(&n->s, n->now);
    if (n->probe_due && !sender_idle(&n->s))
        net_probe(n);
    n->probe_due = false;
    while (sender_resends(&n->s))
        net_sent_again(n, sender_resend(&n->s));
    for (uint32_t room; (room = sender_room(&n->s)) > 0;)
        if (!net_new(n, room))
            break;
}

static void net_take_ack(struct net *n, const struct net_packet *p)
{
    if (seq32_lt(p->seq, n->s.una))
        return;
    struct sender_ack a = {.ack = p->seq,
                           .sack = p->sack,
                           .n_sack = p->n_sack,
                           .echoed = n->a.timestamps ? p->ts * TICK_MS : TICK_NEVER,
                           .plain = true};
    struct sender_result r;
    sender_ack(&n->s, &a, n->now, &r);
}

static void net_expire(struct net *n)
{
    n->expiries++;
    enum sender_action action = sender_expire(&n->s, n->now);
    n->probe_due = action == SENDER_PROBE;
    net_output(n);
    net_must(sender_deadline(&n->s) > n->now); /* no timer is overdue for ever */
}

/* ---- running ---- */

static void net_open(struct net *n, const struct net_args *a)
{
    memset(n, 0, sizeof(*n));
    n->a = *a;
    heap_init(&n->heap);
    rng_seed(&n->rng, a->seed);
    n->now = 1000 * TICK_MS;
    n->a.black_at_ms += 1000;
    uint32_t iss = 0u - 1 - (uint32_t)rng_below(&n->rng, a->bytes);
    struct sender_args args = {.mem = &n->heap.mem,
                               .counters = &n->counters,
                               .iss = seq32(iss),
                               .mss = NET_MSS,
                               .congestion = a->congestion,
                               .initial_window = 10,
                               .cwnd_max = a->window,
                               .rto_min = 200 * TICK_MS,
                               .segments_max = 2048};
    sender_init(&n->s, &args);
    net_must(sender_can_send(&n->s));
    sender_sent(&n->s, 1, false, n->now);
    n->now += 2 * a->delay;
    sender_negotiated(&n->s, a->sack, NET_MSS);
    struct sender_ack syn = {.ack = seq32(iss + 1), .echoed = TICK_NEVER};
    struct sender_result r;
    sender_ack(&n->s, &syn, n->now, &r);
    n->start = seq32(iss + 1);
    n->end = seq32_add(n->start, a->bytes);
    n->got = calloc(a->bytes + 1, 1);
    n->ack_due = TICK_NEVER;
    n->last_acked = 0;
}

static void net_close(struct net *n)
{
    free(n->got);
    sender_fini(&n->s);
    net_must(n->heap.blocks == 0);
}

static unsigned net_next(const struct net *n)
{
    unsigned best = 0;
    for (unsigned i = 1; i < n->packets; i++)
        if (n->packet[i].due < n->packet[best].due ||
            (n->packet[i].due == n->packet[best].due && n->packet[i].order < n->packet[best].order))
            best = i;
    return best;
}

/* False: nothing will happen any more. */
static bool net_step(struct net *n)
{
    unsigned i = n->packets ? net_next(n) : 0;
    tick_t packet = n->packets ? n->packet[i].due : TICK_NEVER;
    tick_t timer = sender_deadline(&n->s);
    tick_t next = tick_min(packet, tick_min(timer, n->ack_due));
    if (next == TICK_NEVER)
        return false;
    net_must(next >= n->now);
    n->now = next;
    if (next == packet) {
        struct net_packet p = n->packet[i];
        n->packet[i] = n->packet[--n->packets];
        if (p.is_ack)
            net_take_ack(n, &p);
        else
            net_receive(n, &p);
    } else if (next == n->ack_due) {
        net_ack(n, 0, 0, false);
    } else {
        net_expire(n);
    }
    net_output(n);
    return true;
}

/* Until all is acknowledged. Returns the time that took; 0: it never ended. */
static tick_t net_run(struct net *n)
{
    tick_t begun = n->now;
    net_output(n);
    for (unsigned i = 0; i < 2000000; i++) {
        if (seq32_eq(n->s.una, n->end))
            return n->now - begun;
        if (!net_step(n) || n->now > begun + 3600 * TICK_SEC)
            break;
    }
    return 0;
}

static inline uint64_t net_count(const struct net *n, enum counter which)
{
    return counter_get(&n->counters, which);
}

#endif
