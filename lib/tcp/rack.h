/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_RACK_H
#define MILLRACE_TCP_RACK_H

/* RACK (RFC 8985 6): a segment is lost when one that was sent later has been delivered, and the
 * time that reordering may take is over. A part of sender.c. */

#include <stdbool.h>
#include <stdint.h>

#include "tcp/sender.h"

/* What one acknowledgment has newly delivered, and found. */
struct delivery {
    uint32_t flight;  /* FlightSize before it */
    uint32_t acked;   /* numbers that una moved by */
    uint32_t records; /* that left at the low end */
    uint32_t fresh;   /* bytes of acked that had not been SACKED */
    uint32_t sacked;  /* bytes newly SACKED */
    bool first;       /* nothing had been acknowledged before */
    bool resent;      /* some of it had been sent more than once */
    bool once;        /* some only once: then the next three are valid, of those */
    bool duplicate;   /* without SACK: it counts as a duplicate */
    bool lost;        /* segments newly found LOST */
    tick_t earliest;  /* sent */
    tick_t latest;
    seq32_t low_end;    /* the end of the lowest of them */
    seq32_t high_end;   /* of all, or una */
    seq32_t rack_order; /* RACK's before it, to find the most by which one is late: */
    tick_t rack_rtt;
    tick_t late;
    bool dsack; /* it reports a duplicate (RFC 2883 4), namely: */
    struct tcp_sack duplicated;
};

/* seg is newly acknowledged, one way or the other. echoed: when the segment that has made the other
 * side say so was sent; TICK_NEVER: unknown. */
void rack_delivered(struct tcp_sender *s, const struct tcp_seg *seg, tick_t echoed, tick_t now);
/* How much later seg, sent once, has been delivered than RACK's latest would have it; 0: it is not
 * late. */
tick_t rack_lateness(const struct delivery *d, const struct tcp_seg *seg, tick_t now);
/* All of d has been delivered: what it says about reordering. */
void rack_acked(struct tcp_sender *s, const struct delivery *d);
/* A recovery is over (RFC 8985 6.2 step 4). */
void rack_recovered(struct tcp_sender *s);
/* Segments whose time is over become LOST; when that of the next is over stands in reorder_at
 * afterwards. True: there were some. O(found). */
bool rack_detect(struct tcp_sender *s, tick_t now);
/* The same after a retransmission timeout (RFC 8985 6.3): the first segment in any case. Without
 * SACK, all. */
void rack_timed_out(struct tcp_sender *s, tick_t now);

#endif
