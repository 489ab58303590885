/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_RECOVERY_H
#define MILLRACE_TCP_RECOVERY_H

/* The sender's states, what cwnd is in each, and what proves that one was entered for nothing. A
 * part of sender.c. */

#include <stdbool.h>
#include <stdint.h>

#include "tcp/rack.h"
#include "tcp/sender.h"

/* There is loss: RECOVERY, unless that or LOSS is on. d: of the acknowledgment that has told it, or
 * NULL. */
void recovery_enter(struct tcp_sender *s, const struct delivery *d, tick_t now);
/* The window is reduced without anything to be sent again: CWR. Only in OPEN and DISORDER. */
void recovery_enter_cwr(struct tcp_sender *s, const struct delivery *d, bool ecn, tick_t now);
/* A retransmission timeout: LOSS. */
void recovery_time_out(struct tcp_sender *s, tick_t now);
/* RECOVERY, CWR or LOSS is over, if una has come so far. */
void recovery_leave(struct tcp_sender *s);
/* Duplicate ACKs and partial ACKs without SACK (RFC 5681 3.2, 6582 3.2): do they say that the first
 * segment is lost? It is LOST then. */
bool recovery_detect_reno(struct tcp_sender *s, const struct delivery *d);
/* cwnd after d, in RECOVERY and CWR. */
void recovery_reduce(struct tcp_sender *s, const struct delivery *d);

/* seg is being sent again. */
void recovery_resent(struct tcp_sender *s, const struct tcp_seg *seg, tick_t now);
/* Does the acknowledgment prove that the last reduction was a mistake? Then all is as before it. */
void recovery_check_undo(struct tcp_sender *s, const struct delivery *d, tick_t echoed, tick_t now);
/* F-RTO waited for new data in vain. */
void recovery_give_up_frto(struct tcp_sender *s);

#endif
