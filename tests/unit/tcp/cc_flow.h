/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_CC_FLOW_H
#define MILLRACE_TESTS_CC_FLOW_H

/* A bulk transfer as congestion control sees it: the window is always full, unless said otherwise.
 */

#include "support/unit.h"
#include "tcp/cc.h"

#define MSS 1460u

struct flow {
    struct tcp_cc cc;
    tick_t now;
    tick_t rtt;
    seq32_t una;
    bool unused; /* the application has not sent what it might have */
};

static inline void flow_open(struct flow *f, enum tcp_congestion which, uint32_t max)
{
    *f = (struct flow){.now = TICK_SEC, .rtt = 100 * TICK_MS, .una = seq32(UINT32_MAX - 5000)};
    tcp_cc_init(&f->cc, which, MSS, 10, max);
}

/* As a reduction leaves it: congestion avoidance with this window. */
static inline void flow_avoid(struct flow *f, uint32_t cwnd)
{
    f->cc.cwnd = cwnd;
    f->cc.ops->congested(&f->cc, cwnd, false, f->now);
    f->cc.cwnd = f->cc.ssthresh;
}

static inline void flow_ack(struct flow *f, uint32_t bytes)
{
    struct tcp_cc_ack a = {
        .acked = bytes,
        .in_flight = f->cc.cwnd,
        .rtt = f->rtt,
        .min_rtt = f->rtt,
        .srtt = f->rtt,
        .una = seq32_add(f->una, bytes),
        .nxt = seq32_add(f->una, f->cc.cwnd),
        .limited = !f->unused,
    };
    f->una = a.una;
    f->cc.ops->acked(&f->cc, &a, f->now);
}

/* A round trip: the window is acknowledged in pieces of `bytes`. */
static inline void flow_round(struct flow *f, uint32_t bytes)
{
    uint32_t window = f->cc.cwnd;
    tick_t start = f->now;
    for (uint32_t done = 0; done < window;) {
        uint32_t n = window - done < bytes ? window - done : bytes;
        done += n;
        f->now = start + f->rtt * done / window;
        flow_ack(f, n);
    }
}

static inline void flow_lose(struct flow *f)
{
    f->cc.ops->congested(&f->cc, f->cc.cwnd, false, f->now);
    f->cc.cwnd = f->cc.ssthresh;
}

static inline void flow_time_out(struct flow *f)
{
    f->cc.ops->timed_out(&f->cc, f->cc.cwnd, f->now);
    f->cc.cwnd = f->cc.mss;
}

#endif
