/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_ISN_H
#define MILLRACE_TCP_ISN_H

/* Numbers that a stranger must not guess: where a connection's sequence numbers and its timestamp
 * clock start. */

#include <stdint.h>

#include "base/serial.h"
#include "base/siphash.h"
#include "base/tick.h"
#include "wire/flow_key.h"

/* RFC 6528 3: a clock of 4 microseconds plus a keyed hash of the flow. */
seq32_t tcp_isn(const struct siphash_key *secret, const struct flow_key *flow, tick_t now);

/* RFC 7323 5.4: our clock ticks each millisecond; 7.1: from a keyed hash of the flow on, so that
 * it tells nobody how long we have been running. */
uint32_t tcp_ts_offset(const struct siphash_key *secret, const struct flow_key *flow);
static inline uint32_t tcp_ts_now(uint32_t offset, tick_t now)
{
    return offset + (uint32_t)(now / TICK_MS);
}

#endif
