/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_SENDER_TIMER_H
#define MILLRACE_TCP_SENDER_TIMER_H

/* The sender's timers, of which one runs at a time. A part of sender.c. */

#include "tcp/rack.h"
#include "tcp/sender.h"

/* Something that they depend on has changed. */
void sender_timer_set(struct tcp_sender *s);
/* una has moved, or the first of what is in flight was sent again: the retransmission timer starts
 * anew (RFC 6298 5.1, 5.3). */
void sender_timer_restart(struct tcp_sender *s, tick_t now);
/* What d says about the tail loss probe that is out (RFC 8985 7.4.2). True: it has repaired a loss,
 * which calls for a reduction. A D-SACK that answers the probe is taken out of d: it tells nothing
 * about reordering, or about other retransmissions. */
bool sender_probe_answered(struct tcp_sender *s, struct delivery *d);

#endif
