/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_INFLIGHT_H
#define MILLRACE_TCP_INFLIGHT_H

/*
 * What has been sent and not acknowledged, segment by segment: the scoreboard of RFC 6675 3 with
 * the times that RFC 8985 needs. Records, no bytes: those are promises in the stream.
 *
 * A power-of-two ring in order of sequence numbers, so that a position is found by bisection. A
 * record is in one of three states, and its two links serve the one it is in:
 *
 *   flying   believed to be on its way: in a list in order of the last transmission, which RACK
 *            walks from its old end
 *   SACKED   `later` skips to a record that may not be SACKED, so that a block that is told again
 *            and again costs nothing
 *   LOST     to be sent again; no links
 *
 * Positions are free-running like head and tail. SYN and FIN take a number and have records of
 * their own or share their segment's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/serial.h"
#include "base/tick.h"

enum tcp_seg_flag {
    TCP_SEG_SACKED = 1u << 0,
    TCP_SEG_LOST = 1u << 1,   /* and not sent again since */
    TCP_SEG_RESENT = 1u << 2, /* at least once (Karn) */
};

struct tcp_seg {
    seq32_t seq;
    uint32_t len;     /* of sequence space, > 0 */
    tick_t sent;      /* last time */
    uint32_t earlier; /* flying: neighbours in order of sending, where there are any */
    uint32_t later;
    uint16_t flags; /* enum tcp_seg_flag */
    uint16_t sends; /* transmissions, saturating */
    seq32_t order;  /* of the last transmission: many have the same time */
};

_Static_assert(sizeof(struct tcp_seg) == 32, "two to a cache line");

struct inflight {
    struct tcp_seg *seg; /* NULL until something is sent */
    uint32_t head;       /* position of the lowest sequence number */
    uint32_t tail;
    uint32_t mask;
    uint32_t max;    /* segments it may hold */
    uint32_t oldest; /* positions; valid while flying > 0 */
    uint32_t newest;
    uint32_t flying;         /* records in the list */
    seq32_t order;           /* of the next transmission */
    uint32_t sacked;         /* bytes of SACKED segments */
    uint32_t sacked_records; /* their number */
    uint32_t lost;           /* bytes of LOST ones */
    uint32_t lost_from;      /* no LOST one lies before this position; it may be before head */
    struct mem *mem;
};

/* Takes no memory. */
void inflight_init(struct inflight *f, struct mem *mem, uint32_t max);
/* Gives all memory back; empty afterwards, and usable. The order of sending goes on. */
void inflight_clear(struct inflight *f);

static inline uint32_t inflight_count(const struct inflight *f)
{
    return f->tail - f->head;
}
/* pos: head up to, not including, tail. */
static inline struct tcp_seg *inflight_at(const struct inflight *f, uint32_t pos)
{
    return &f->seg[pos & f->mask];
}
static inline seq32_t tcp_seg_end(const struct tcp_seg *g)
{
    return seq32_add(g->seq, g->len);
}
uint32_t inflight_position(const struct inflight *f, const struct tcp_seg *g);

/* There is room for another record, made where needed. False: at max, or no memory. Pointers to
 * records are invalid afterwards. */
bool inflight_reserve(struct inflight *f);
/* Sent just now, behind all others; only after inflight_reserve. */
void inflight_push(struct inflight *f, seq32_t seq, uint32_t len, tick_t now);
/* The record becomes two, the first of len numbers, 0 < len < its own; O(records), for it is rare.
 * False: no room. Pointers and positions beyond pos are invalid afterwards. */
bool inflight_split(struct inflight *f, uint32_t pos, uint32_t len);

/* The lowest record is acknowledged. */
void inflight_pop(struct inflight *f);
/* And of the lowest one only the first len numbers, fewer than it has. */
void inflight_trim(struct inflight *f, uint32_t len);

/* The first record that begins at or after seq, or tail. O(log records). */
uint32_t inflight_find(const struct inflight *f, seq32_t seq);
/* The first record from pos on that is not SACKED, or tail. */
uint32_t inflight_skip_sacked(struct inflight *f, uint32_t pos);
/* The lowest LOST record; only while lost > 0. */
uint32_t inflight_lowest_lost(struct inflight *f);

/* Not SACKED becomes SACKED. */
void inflight_sack(struct inflight *f, uint32_t pos);
/* Flying becomes LOST. */
void inflight_lose(struct inflight *f, uint32_t pos);
/* LOST or flying was sent again. */
void inflight_resend(struct inflight *f, uint32_t pos, tick_t now);
/* What was SACKED is LOST: the other side may have thrown it away (RFC 2018 8). O(records). */
void inflight_renege(struct inflight *f);
/* What is LOST is flying after all, since it was last sent. O(records) and a little. */
void inflight_unlose(struct inflight *f);

/* For invariant(); O(records). */
bool inflight_ok(const struct inflight *f);

#endif
