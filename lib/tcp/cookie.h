/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_COOKIE_H
#define MILLRACE_TCP_COOKIE_H

/*
 * SYN cookies (RFC 4987 3.6): when the backlog is full, what a half-open connection would remember
 * travels to the client and back as our initial sequence number. 24 bits of it are a keyed hash of
 * the flow, the client's sequence number, the rest and the time; 8 bits name, under a mask from the
 * same hash, an MSS of a table, the window scale and whether SACK is permitted. Timestamps are seen
 * from the ACK itself, which carries them where the SYN did, and their offset is a hash of the flow
 * (tcp/isn.h). ECN is lost.
 *
 * A cookie is valid for one to two periods of 64 seconds.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/serial.h"
#include "base/siphash.h"
#include "base/tick.h"
#include "wire/flow_key.h"
#include "wire/tcp.h"

#define TCP_COOKIE_PERIOD (64 * TICK_SEC)

/* The sequence number to answer syn with. mss_default: where syn says none. */
seq32_t tcp_cookie(const struct siphash_key *secret, const struct flow_key *flow,
                   const struct tcp_hdr *syn, uint16_t mss_default, tick_t now);

/*
 * ack acknowledges a SYN-ACK of ours, perhaps. True: it was a cookie's, and *syn is filled with
 * what the SYN must have said: ports, seq, options (has_timestamps and ts_value from ack). An MSS
 * that the table has not comes back as the next smaller one, or as its least, 64.
 */
bool tcp_cookie_check(const struct siphash_key *secret, const struct flow_key *flow,
                      const struct tcp_hdr *ack, tick_t now, struct tcp_hdr *syn);

#endif
