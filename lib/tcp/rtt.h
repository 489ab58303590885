/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_RTT_H
#define MILLRACE_TCP_RTT_H

/* Round-trip time and retransmission timeout (RFC 6298), and the minimum that RACK and HyStart++
 * ask for. */

#include <stdint.h>

#include "base/tick.h"

#define TCP_RTO_INITIAL    (1 * TICK_SEC)  /* RFC 6298 2.1 */
#define TCP_RTO_MAX        (60 * TICK_SEC) /* RFC 6298 2.5 */
#define TCP_RTT_MIN_WINDOW (60 * TICK_SEC) /* the path may have become longer */

struct tcp_rtt {
    tick_t srtt; /* 0: none measured yet */
    tick_t rttvar;
    tick_t rto;          /* without backoff, within rto_min .. TCP_RTO_MAX */
    tick_t min;          /* least of the last TCP_RTT_MIN_WINDOW; TICK_NEVER: none */
    uint32_t min_second; /* when that was measured */
    uint32_t rto_min_us;
};

static inline tick_t tcp_rtt_rto_min(const struct tcp_rtt *r)
{
    return r->rto_min_us * TICK_US;
}

/* rto_min: of whole microseconds, at most TCP_RTO_MAX. */
void tcp_rtt_init(struct tcp_rtt *r, tick_t rto_min);
/* A sample, > 0, by Karn's rule of what was sent once or is told by its timestamp. samples: how
 * many are expected in a round trip, so that many do not shorten the memory (RFC 7323 appendix G).
 * least: the shortest time seen with it, which no delayed acknowledgment has lengthened. */
void tcp_rtt_sample(struct tcp_rtt *r, tick_t rtt, tick_t least, uint32_t samples, tick_t now);
/* rto after `backoff` expiries in a row (RFC 6298 5.5). */
tick_t tcp_rtt_backed_off(const struct tcp_rtt *r, unsigned backoff);

#endif
