/* SPDX-License-Identifier: BSD-3-Clause */
/* NewReno: RFC 5681, with bytes counted (RFC 3465) and ABE (RFC 8511). */
#include "base/invariant.h"
#include "tcp/cc.h"

#define BETA     50 /* percent: RFC 5681 3.1, equation 4 */
#define BETA_ECN 80 /* RFC 8511 3.1 */

/* RFC 5681 3.1, RFC 3465 2.1: a segment for each window acknowledged. */
static void avoid(struct tcp_cc *c, uint32_t acked)
{
    c->counted += acked < c->cwnd ? acked : c->cwnd;
    if (c->counted < c->cwnd)
        return;
    c->counted -= c->cwnd;
    c->cwnd = c->max - c->cwnd < c->mss ? c->max : c->cwnd + c->mss;
}

static void acked(struct tcp_cc *c, const struct tcp_cc_ack *a, tick_t now)
{
    (void)now;
    if (tcp_cc_slow_start(c)) {
        tcp_cc_slow_start_acked(c, a);
    } else {
        c->after_timeout = false;
        if (a->limited)
            avoid(c, a->acked);
    }
    invariant(tcp_cc_ok(c));
}

static void congested(struct tcp_cc *c, uint32_t in_flight, bool ecn, tick_t now)
{
    (void)now;
    /* Slow start overshoots by more than ABE takes back. */
    bool mild = ecn && !tcp_cc_slow_start(c);
    tcp_cc_reduce(c, in_flight, mild ? BETA_ECN : BETA, 2);
    invariant(tcp_cc_ok(c));
}

static void timed_out(struct tcp_cc *c, uint32_t in_flight, tick_t now)
{
    (void)now;
    tcp_cc_reduce(c, in_flight, BETA, 2);
    c->after_timeout = true;
    invariant(tcp_cc_ok(c));
}

static void undone(struct tcp_cc *c, tick_t now)
{
    (void)now;
    tcp_cc_undo(c);
    invariant(tcp_cc_ok(c));
}

static void restarted(struct tcp_cc *c, tick_t now)
{
    (void)now;
    tcp_cc_restart(c);
    invariant(tcp_cc_ok(c));
}

static void resized(struct tcp_cc *c)
{
    (void)c;
}

const struct tcp_cc_ops tcp_cc_newreno = {
    .name = "newreno",
    .acked = acked,
    .congested = congested,
    .timed_out = timed_out,
    .undone = undone,
    .restarted = restarted,
    .resized = resized,
};
