/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_TIME_WAIT_H
#define MILLRACE_TCP_TIME_WAIT_H

/* What remains of a connection in TIME-WAIT: enough to answer a FIN sent again, and to tell a new
 * connection of the same flow from an old segment (RFC 9293 3.6.1, RFC 6191). */

#include <stdbool.h>
#include <stdint.h>

#include "base/serial.h"
#include "base/tick.h"
#include "stats/drop.h"
#include "wire/tcp.h"

struct tcp_conn;

struct tcp_time_wait {
    seq32_t snd_nxt;
    seq32_t rcv_nxt;
    uint32_t ts_recent; /* with timestamps */
    uint32_t ts_offset;
    tick_t ts_recent_at;
    uint16_t window; /* as last sent, not scaled up */
    bool timestamps;
    bool may_timestamp; /* a new connection would, if its SYN does */
};

void tcp_time_wait_init(struct tcp_time_wait *w, const struct tcp_conn *c);

enum time_wait_verdict {
    TIME_WAIT_DROP,  /* *why says why */
    TIME_WAIT_ACK,   /* answer with tcp_time_wait_ack, if the limit of challenge ACKs allows */
    TIME_WAIT_AGAIN, /* the FIN again: answer so, and wait anew (RFC 9293 3.10.7.8) */
    TIME_WAIT_NEW,   /* a SYN for a new connection: this one ends (RFC 6191, RFC 9293 MAY-2) */
};

/* What to do about a segment of the same flow with `payload` bytes. *why is set for DROP, and for
 * ACK and AGAIN to what to count the segment as when it is dropped after the answer. */
enum time_wait_verdict tcp_time_wait_input(struct tcp_time_wait *w, const struct tcp_hdr *h,
                                           uint32_t payload, tick_t now, enum drop *why);
/* The header of the answer; ports are those of the flow, ours first. */
void tcp_time_wait_ack(const struct tcp_time_wait *w, uint16_t src_port, uint16_t dst_port,
                       tick_t now, struct tcp_hdr *h);

#endif
