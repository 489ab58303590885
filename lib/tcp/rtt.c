/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/rtt.h"

#include <assert.h>

static tick_t bounded(const struct tcp_rtt *r, tick_t rto)
{
    tick_t least = tcp_rtt_rto_min(r); /* RFC 6298 2.4, with a shorter minimum than its second */
    return tick_min(rto > least ? rto : least, TCP_RTO_MAX);
}

void tcp_rtt_init(struct tcp_rtt *r, tick_t rto_min)
{
    assert(rto_min >= TICK_US && "a timeout that is already over");
    assert(rto_min <= TCP_RTO_MAX);
    *r = (struct tcp_rtt){.min = TICK_NEVER, .rto_min_us = (uint32_t)(rto_min / TICK_US)};
    r->rto = bounded(r, TCP_RTO_INITIAL); /* RFC 6298 2.1 */
}

/* a is to move towards b by 1/parts of their distance. */
static tick_t towards(tick_t a, tick_t b, uint64_t parts)
{
    return b > a ? a + (b - a) / parts : a - (a - b) / parts;
}

static void smooth(struct tcp_rtt *r, tick_t rtt, uint32_t samples)
{
    if (r->srtt == 0) { /* RFC 6298 2.2 */
        r->srtt = rtt;
        r->rttvar = rtt / 2;
        return;
    }
    tick_t off = rtt > r->srtt ? rtt - r->srtt : r->srtt - rtt;
    r->rttvar = towards(r->rttvar, off, 4 * (uint64_t)samples); /* RFC 6298 2.3, RFC 7323 G */
    r->srtt = towards(r->srtt, rtt, 8 * (uint64_t)samples);
}

void tcp_rtt_sample(struct tcp_rtt *r, tick_t rtt, tick_t least, uint32_t samples, tick_t now)
{
    assert(rtt > 0 && least > 0 && least <= rtt && samples > 0);
    rtt = tick_min(rtt, 2 * TCP_RTO_MAX); /* a longer one says no more */
    smooth(r, rtt, samples);
    r->rto = bounded(r, r->srtt + 4 * r->rttvar); /* RFC 6298 2.3 */
    uint32_t second = (uint32_t)(now / TICK_SEC);
    if (least <= r->min || second - r->min_second > TCP_RTT_MIN_WINDOW / TICK_SEC) {
        r->min = least;
        r->min_second = second;
    }
}

tick_t tcp_rtt_backed_off(const struct tcp_rtt *r, unsigned backoff)
{
    if (backoff >= 32 || r->rto > TCP_RTO_MAX >> backoff)
        return TCP_RTO_MAX;
    return r->rto << backoff;
}
