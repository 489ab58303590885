/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUBIC (RFC 9438). A stage of congestion avoidance begins with the first acknowledgment after slow
 * start or after a recovery; from there the window follows
 *
 *     W(t) = C * (t - K)^3 + w_max
 *
 * or w_est, what Reno's window would be, where that is larger. Time in which the window was not in
 * use is no part of t.
 */
#include "tcp/cc_cubic.h"

#include "base/invariant.h"
#include "tcp/cc.h"

#define BETA     70 /* percent: RFC 9438 4.6 */
#define BETA_ECN 85 /* RFC 8511 3.1 */
/* alpha until w_est is where the window was: 3 * (1 - beta) / (1 + beta) (RFC 9438 4.3). */
#define ALPHA_NUM 9
#define ALPHA_DEN 17

/* C = 0.4 segments/s^3 * US_MAX^3 is over 2^32 segments, more than any window. */
#define US_MAX UINT64_C(2207000000)

uint32_t tcp_cube_root(uint64_t n)
{
    uint32_t root = 0;
    for (uint32_t bit = UINT32_C(1) << 21; bit > 0; bit >>= 1) {
        uint64_t r = root | bit;
        if (r <= n / (r * r)) /* r^3 itself may pass 2^64 */
            root = (uint32_t)r;
    }
    return root;
}

uint64_t tcp_cubic_rise(uint32_t mss, uint64_t us)
{
    if (us > US_MAX)
        us = US_MAX;
    /* s^2 in thousandths, then s^3 in billionths: below 2^64, and exact to C * t / 1000 segments.
     */
    uint64_t cube = us * us / 1000000000 * us;
    uint64_t whole = cube / 1000000000;
    uint64_t part = cube % 1000000000;
    return whole * mss * 2 / 5 + part * mss * 2 / 5 / 1000000000;
}

uint32_t tcp_cubic_time(uint32_t mss, uint32_t bytes)
{
    uint64_t cube = bytes * UINT64_C(2500000000) / mss; /* bytes / (C * mss) in ms^3 */
    unsigned bits = 0;                                  /* of the root that lie behind the point */
    while (bits < 20 && cube < UINT64_C(1) << 61) {
        cube <<= 3;
        bits++;
    }
    return (uint32_t)((uint64_t)tcp_cube_root(cube) * 1000 >> bits);
}

/* ssthresh becomes known: what was HyStart's room is ours. */
static void begin(struct tcp_cubic *q)
{
    *q = (struct tcp_cubic){.stage.epoch = TICK_NEVER};
}

/* RFC 9438 4.2, 4.8 and 4.10 */
static void begin_stage(struct tcp_cc *c, tick_t now)
{
    struct tcp_cubic_stage *s = &c->cubic.stage;
    if (s->w_max < c->cwnd)
        s->w_max = c->cwnd;
    s->k = tcp_cubic_time(c->mss, s->w_max - c->cwnd);
    s->epoch = now;
    s->w_est = c->cwnd;
    c->cubic.updated = now;
    c->cubic.est_rest = 0;
    c->counted = 0;
}

/* Takes out of the stage's time what passed without use of the window (RFC 9438 4.2). Where the
 * window is in use, acknowledgments come at least once a round trip; a longer pause was silence. */
static void take_pause(struct tcp_cubic *q, const struct tcp_cc_ack *a, tick_t now)
{
    tick_t gap = tick_since(now, q->updated);
    q->updated = now;
    if (!a->limited)
        q->stage.epoch += gap;
    else if (a->srtt > 0 && gap > 2 * a->srtt)
        q->stage.epoch += gap - a->srtt;
}

/* RFC 9438 4.2, figure 1, in bytes. */
static uint64_t curve(const struct tcp_cc *c, tick_t t)
{
    const struct tcp_cubic_stage *s = &c->cubic.stage;
    uint64_t us = t / TICK_US;
    if (us >= s->k)
        return s->w_max + tcp_cubic_rise(c->mss, us - s->k);
    uint64_t below = tcp_cubic_rise(c->mss, s->k - us);
    return below < s->w_max ? s->w_max - below : 0;
}

/* RFC 9438 4.3, figure 4 */
static void grow_estimate(struct tcp_cc *c, uint32_t acked)
{
    struct tcp_cubic *q = &c->cubic;
    uint64_t n = (uint64_t)acked * c->mss;
    if (q->stage.w_est < q->stage.prior)
        n = n * ALPHA_NUM / ALPHA_DEN;
    uint64_t w = q->stage.w_est + tcp_cc_share(n, c->cwnd, &q->est_rest);
    q->stage.w_est = w < c->max ? (uint32_t)w : c->max;
}

/* RFC 9438 4.4 and 4.5: towards where the curve is a round trip from now. */
static void follow_curve(struct tcp_cc *c, uint32_t acked, tick_t ahead)
{
    uint64_t target = curve(c, ahead);
    uint32_t highest = c->cwnd + c->cwnd / 2;
    if (target <= c->cwnd)
        return;
    uint64_t by = (target < highest ? target : highest) - c->cwnd;
    c->cwnd += (uint32_t)tcp_cc_share(by * acked, c->cwnd, &c->counted);
}

static void avoid(struct tcp_cc *c, const struct tcp_cc_ack *a, tick_t now)
{
    struct tcp_cubic_stage *s = &c->cubic.stage;
    if (s->epoch == TICK_NEVER)
        begin_stage(c, now);
    take_pause(&c->cubic, a, now);
    if (!a->limited)
        return; /* RFC 9438 5.8 */
    uint32_t n = a->acked < c->cwnd ? a->acked : c->cwnd;
    tick_t t = tick_since(now, s->epoch);
    grow_estimate(c, n);
    if (curve(c, t) < s->w_est)
        c->cwnd = s->w_est > c->cwnd ? s->w_est : c->cwnd; /* RFC 9438 4.3 */
    else
        follow_curve(c, n, t + a->srtt);
    if (c->cwnd > c->max)
        c->cwnd = c->max;
}

static void acked(struct tcp_cc *c, const struct tcp_cc_ack *a, tick_t now)
{
    if (!tcp_cc_slow_start(c)) {
        c->after_timeout = false;
        avoid(c, a, now);
    } else if (tcp_cc_known(c)) {
        c->cubic.stage.epoch = TICK_NEVER;
        tcp_cc_slow_start_acked(c, a);
    } else {
        tcp_cc_slow_start_acked(c, a);
        if (tcp_cc_known(c))
            begin(&c->cubic);
    }
    invariant(tcp_cc_ok(c));
}

/* RFC 9438 4.6 and 4.7 */
static void reduce(struct tcp_cc *c, uint32_t in_flight, uint32_t percent, uint32_t floor)
{
    struct tcp_cubic *q = &c->cubic;
    if (!tcp_cc_known(c))
        begin(q);
    q->before = q->stage;
    uint64_t w_max = c->cwnd;
    if (c->cwnd < q->stage.w_max)
        w_max = w_max * (100 + BETA) / 200;
    q->stage.w_max = (uint32_t)w_max;
    q->stage.prior = c->cwnd;
    q->stage.epoch = TICK_NEVER;
    tcp_cc_reduce(c, in_flight, percent, floor);
}

static void congested(struct tcp_cc *c, uint32_t in_flight, bool ecn, tick_t now)
{
    (void)now;
    /* Slow start overshoots by more than ABE takes back. ECN brings the window down to one segment
     * (RFC 9438 4.6). */
    bool mild = ecn && !tcp_cc_slow_start(c);
    reduce(c, in_flight, mild ? BETA_ECN : BETA, ecn ? 1 : 2);
    invariant(tcp_cc_ok(c));
}

static void timed_out(struct tcp_cc *c, uint32_t in_flight, tick_t now)
{
    (void)now;
    reduce(c, in_flight, BETA, 2);
    c->cubic.stage.w_max = 0; /* RFC 9438 4.8 */
    c->after_timeout = true;
    invariant(tcp_cc_ok(c));
}

/* RFC 9438 4.9 */
static void undone(struct tcp_cc *c, tick_t now)
{
    (void)now;
    tcp_cc_undo(c);
    if (tcp_cc_known(c))
        c->cubic.stage = c->cubic.before;
    invariant(tcp_cc_ok(c));
}

static void restarted(struct tcp_cc *c, tick_t now)
{
    (void)now;
    if (tcp_cc_known(c))
        c->cubic.stage.epoch = TICK_NEVER;
    tcp_cc_restart(c);
    invariant(tcp_cc_ok(c));
}

/* K was in segments of another size. */
static void resized(struct tcp_cc *c)
{
    if (!tcp_cc_known(c))
        return;
    c->cubic.stage.epoch = TICK_NEVER;
    c->cubic.before.epoch = TICK_NEVER;
}

const struct tcp_cc_ops tcp_cc_cubic = {
    .name = "cubic",
    .acked = acked,
    .congested = congested,
    .timed_out = timed_out,
    .undone = undone,
    .restarted = restarted,
    .resized = resized,
};
