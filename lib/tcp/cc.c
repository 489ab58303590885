/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/cc.h"

#include <assert.h>

#include "base/invariant.h"
#include "tcp/hystart.h"

_Static_assert(sizeof(struct tcp_cc) <= 96, "there are as many of these as connections");

#define WINDOW_MAX (UINT32_C(1) << 30) /* RFC 7323 2.3 */

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

uint32_t tcp_cc_initial(const struct tcp_cc *c)
{
    uint32_t segments = c->initial_window;
    uint32_t bytes = least(segments * c->mss, most(2 * c->mss, segments * 1460)); /* RFC 6928 2 */
    return least(bytes, c->max);
}

void tcp_cc_begin(struct tcp_cc *c, uint32_t mss)
{
    assert(mss > 0 && mss <= UINT16_MAX && "what an IP packet can carry");
    *c = (struct tcp_cc){.ops = c->ops,
                         .ssthresh = UINT32_MAX,
                         .mss = mss,
                         .max = most(c->max, mss),
                         .initial_window = c->initial_window};
    c->cwnd = tcp_cc_initial(c);
    hystart_init(&c->hystart);
    invariant(tcp_cc_ok(c));
}

void tcp_cc_init(struct tcp_cc *c, enum tcp_congestion which, uint32_t mss, uint16_t initial_window,
                 uint32_t max)
{
    static const struct tcp_cc_ops *const ops[] = {
        [TCP_CUBIC] = &tcp_cc_cubic,
        [TCP_NEWRENO] = &tcp_cc_newreno,
    };
    assert(initial_window > 0 && "or nothing could ever be sent");
    c->ops = ops[which];
    c->max = least(max, WINDOW_MAX);
    c->initial_window = initial_window;
    tcp_cc_begin(c, mss);
}

void tcp_cc_set_mss(struct tcp_cc *c, uint32_t mss)
{
    assert(mss > 0 && mss <= UINT16_MAX && "what an IP packet can carry");
    if (mss == c->mss)
        return;
    c->mss = mss;
    c->max = most(c->max, mss);
    c->cwnd = most(c->cwnd, mss);
    c->ssthresh = most(c->ssthresh, mss);
    c->ops->resized(c);
    invariant(tcp_cc_ok(c));
}

/* What one acknowledgment counts for at most. */
static uint32_t slow_start_limit(const struct tcp_cc *c)
{
    if (!tcp_cc_known(c))
        return 8 * c->mss; /* RFC 9406 4.2 */
    if (c->after_timeout)
        return c->mss; /* RFC 3465 2.3 */
    return 2 * c->mss; /* RFC 3465 2.2 */
}

void tcp_cc_slow_start_acked(struct tcp_cc *c, const struct tcp_cc_ack *a)
{
    bool first = !tcp_cc_known(c);
    if (first && hystart_acked(&c->hystart, a)) {
        c->ssthresh = c->cwnd;
        c->counted = 0;
        return;
    }
    if (!a->limited)
        return;
    uint32_t n = least(a->acked, slow_start_limit(c));
    if (first && c->hystart.css)
        n = (uint32_t)tcp_cc_share(n, HYSTART_SLOWER, &c->counted);
    uint32_t end = least(c->ssthresh, c->max);
    c->cwnd = end - c->cwnd < n ? end : c->cwnd + n;
}

void tcp_cc_reduce(struct tcp_cc *c, uint32_t in_flight, uint32_t percent, uint32_t floor)
{
    /* What limited transmit has sent beyond cwnd does not count (RFC 5681 3.2). */
    uint64_t flight = least(in_flight, c->cwnd);
    c->ssthresh = least(most((uint32_t)(flight * percent / 100), floor * c->mss), c->max);
    c->counted = 0;
}

void tcp_cc_restart(struct tcp_cc *c)
{
    c->cwnd = most(least(c->cwnd, tcp_cc_initial(c)), c->mss); /* RFC 5681 4.1 */
    c->counted = 0;
    if (!tcp_cc_known(c))
        hystart_init(&c->hystart);
}

void tcp_cc_undo(struct tcp_cc *c)
{
    c->cwnd = most(c->cwnd, c->mss); /* segments may have grown meanwhile */
    c->ssthresh = most(c->ssthresh, c->mss);
    c->counted = 0;
    c->after_timeout = false;
    if (!tcp_cc_known(c))
        hystart_init(&c->hystart);
}

uint64_t tcp_cc_pacing_rate(const struct tcp_cc *c, tick_t srtt)
{
    if (srtt == 0)
        return 0;
    uint64_t window = tcp_cc_slow_start(c) ? 2 * (uint64_t)c->cwnd : c->cwnd + c->cwnd / 4;
    uint64_t rate = window * TICK_SEC / srtt;
    return rate > 0 ? rate : 1;
}

bool tcp_cc_ok(const struct tcp_cc *c)
{
    return c->mss > 0 && c->cwnd >= c->mss && c->cwnd <= c->max && c->max <= WINDOW_MAX &&
           c->ssthresh >= c->mss && (!c->after_timeout || tcp_cc_known(c));
}
