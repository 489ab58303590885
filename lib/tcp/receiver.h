/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_RECEIVER_H
#define MILLRACE_TCP_RECEIVER_H

/*
 * The receiving half of a connection: what has arrived and in which order, the window it may fill,
 * when to acknowledge, and which SACK blocks to tell. It takes segments that conn.c has found to
 * belong to the connection and gives back bytes in order.
 *
 *   RFC 9293 3.8.6  window, silly windows, delayed ACKs   RFC 2018, 2883  SACK, D-SACK
 *   RFC 5681 4.2    ACK at once on gaps                   RFC 7323 2.4    window scale
 *
 * The window never shrinks: what was offered stays acceptable (RFC 9293 3.8.6). It opens by a
 * credit scheme: bytes given to the service and not consumed are not offered again. Its size grows
 * with what the service consumes in a round trip (dynamic right-sizing: Fisk and Feng, 2001): to
 * twice that, so that the window is not what limits a sender, and by as much more as a sender in
 * slow start will have doubled when it hears of it. Not where the service is what is slow.
 *
 * Of bytes that come twice the first stay; of two ends, too. An end before data that waits behind a
 * gap cuts that off, for nothing can follow it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/serial.h"
#include "base/tick.h"
#include "buf/pkt.h"
#include "stats/drop.h"
#include "tcp/reorder.h"
#include "wire/tcp.h"

enum receiver_ack {
    RECEIVER_ACK_NONE,    /* nothing to acknowledge */
    RECEIVER_ACK_DELAYED, /* soon, or with the next data: receiver_ack_due says when */
    RECEIVER_ACK_NOW,
};

struct tcp_receiver {
    seq32_t nxt;   /* next number expected; all before it have arrived */
    seq32_t right; /* right edge of the window that was offered; never moves back */
    seq32_t acked; /* the acknowledgment last sent */
    uint32_t size; /* bytes that may be offered and not yet consumed, together */
    uint32_t size_max;
    uint32_t unconsumed; /* bytes given out in order and not yet consumed */
    uint16_t mss;        /* that we announced */
    uint16_t segment;    /* estimate of the peer's segment size, at most mss */
    uint16_t length;     /* of the last segment, at most mss */
    bool lean;           /* memory was short when it came */
    uint8_t scale;       /* of the window field, ours; 0 without window scaling */
    bool sack;           /* we may send SACK */
    bool fin_known;      /* a FIN has been seen, at fin_seq */
    bool fin_reached;    /* and everything before it has arrived: nxt is one past it */
    seq32_t fin_seq;
    struct tcp_reorder reorder;
    /* Acknowledging. */
    uint8_t ack;   /* enum receiver_ack: what is due */
    uint8_t quick; /* segments still to be acknowledged at once: at the start, after gaps */
    bool dsack_due;
    bool slow;             /* the service held in this round, when we spoke: the owner says so */
    struct tcp_sack dsack; /* to be told with the next ACK; valid with dsack_due */
    uint32_t ack_delay;    /* the most, in ticks (settings.delayed_ack) */
    tick_t ack_due;        /* with RECEIVER_ACK_DELAYED */
    uint32_t unacked;      /* bytes in order since the last ACK was sent */
    /* Right-sizing. */
    seq32_t round_end;    /* right at round_at: what lies beyond it can only come a round trip on */
    uint32_t round_bytes; /* consumed in the present round */
    uint32_t round_before; /* consumed in the one before */
    tick_t round_at;       /* when the present one began; 0: not yet */
    tick_t rtt;            /* estimate on this side; 0: none */
};

struct receiver_args {
    struct mem *mem;
    seq32_t irs;   /* nxt is one past it: the SYN has been received */
    uint32_t size; /* first window */
    uint32_t size_max;
    uint32_t ack_delay; /* ticks */
    uint16_t mss;       /* that we announced */
};

/* As much of size as a SYN's window field can tell counts as offered: our SYN, whether it goes
 * before or after the peer's, says so. */
void receiver_init(struct tcp_receiver *r, const struct receiver_args *a);
/* Frees what waits. */
void receiver_fini(struct tcp_receiver *r);
/* scaled: both sides sent the option; scale is what we announced. */
void receiver_negotiated(struct tcp_receiver *r, bool sack, bool scaled, uint8_t scale);

/* The smallest scale with which size_max can be offered. */
uint8_t receiver_scale_for(uint32_t size_max);

/*
 * Is any part of [seq, seq + len) acceptable (RFC 9293 3.10.7.4, the four cases)? len counts SYN
 * and FIN. Wider than the RFC's letter in one point: a segment that starts before the window and
 * ends behind it has a part within it, too.
 */
bool receiver_acceptable(const struct tcp_receiver *r, seq32_t seq, uint32_t len);

struct receiver_result {
    struct pkt *data; /* in order, the caller's; NULL: none */
    uint32_t bytes;   /* of it */
    bool end;         /* the peer's FIN has been reached by this segment */
    bool reordered;   /* it arrived out of order */
    enum drop drop;   /* DROP_NONE, or why nothing of it was kept: TCP_DUPLICATE, TCP_REORDER_LIMIT,
                         TCP_SEQUENCE (outside of the window, or after the end) */
};

/*
 * A segment with data or FIN: p, which is taken, starts at its first byte, numbered seq; p may be
 * NULL for a bare FIN. What lies outside of the window is cut off, a FIN included. lean: memory is
 * short, keep nothing out of order. Sets ack as RFC 5681 4.2 asks. The dropped packet is freed, and
 * counted by the caller.
 */
void receiver_input(struct tcp_receiver *r, seq32_t seq, struct pkt *p, bool fin, bool lean,
                    tick_t now, struct receiver_result *result);

/*
 * n bytes given out were consumed. True: the window could open by so much that the other side
 * should hear of it now; ack is then RECEIVER_ACK_NOW. That is, by two segments, or by one while it
 * is smaller than that, or by half of its size (RFC 9293 3.8.6.2.2); and not while more than half
 * of it is still to come, for then the ACKs of that will tell. n == 0 asks again, after memory was
 * short. most: what the size may grow to now.
 */
bool receiver_consumed(struct tcp_receiver *r, uint32_t n, uint32_t most, tick_t now);
/* An estimate of the round trip, from the handshake, or by a timestamp. */
void receiver_rtt(struct tcp_receiver *r, tick_t rtt);

/* An ACK is being sent: the window field for it, and right moves. syn: not scaled. lean: memory is
 * short, open no further. */
uint16_t receiver_window(struct tcp_receiver *r, bool syn, bool lean);
/* Up to max blocks for it: D-SACK first, then the most recently changed (RFC 2018 4, RFC 2883 4).
 */
unsigned receiver_sacks(const struct tcp_receiver *r, struct tcp_sack *to, unsigned max);
/* It was sent. */
void receiver_acked(struct tcp_receiver *r, tick_t now);
/* What waits out of order is forgotten. */
void receiver_prune(struct tcp_receiver *r);
/* The connection is idle: memory that holds nothing is given back. */
void receiver_tidy(struct tcp_receiver *r);

static inline tick_t receiver_deadline(const struct tcp_receiver *r)
{
    return r->ack == RECEIVER_ACK_DELAYED ? r->ack_due : TICK_NEVER;
}
/* The delayed ACK is due: ack becomes RECEIVER_ACK_NOW where the time has come. */
void receiver_expire(struct tcp_receiver *r, tick_t now);

/* Memory held for what is out of order: views, see pkt_cost, and the table of them. */
uint32_t receiver_cost(const struct tcp_receiver *r);
bool receiver_ok(const struct tcp_receiver *r);

#endif
