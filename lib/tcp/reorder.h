/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_REORDER_H
#define MILLRACE_TCP_REORDER_H

/*
 * Data that arrived ahead of a gap: a bounded number of ranges, in order, apart from each other,
 * each a chain of views. Bytes that are here stay, whatever a later segment says of the same
 * numbers: first come, first kept, as for what was delivered. Memory is counted by what views hold,
 * not by what they say, and bounded by the connection's window; small segments are copied together,
 * so that a flood of them does not pin a buffer each.
 *
 * At a bound it is the new segment that is refused, wherever it lies. RFC 2018 8 would allow to
 * give up what a SACK has told of, but a sender learns of that by a timeout only, whereas it finds
 * a refused segment lost and sends it again; and the segment that fills the gap never waits here.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/serial.h"
#include "buf/pkt.h"
#include "wire/tcp.h"

#define TCP_REORDER_RANGES 128 /* enough for a window of 4 MiB at 4 % of random loss */

struct tcp_range {
    seq32_t left;
    seq32_t right;
    seq32_t touched;  /* by a count of arrivals: the newest comes first in a SACK */
    uint32_t cost;    /* of the chain's views */
    struct pkt *head; /* chain of the bytes [left, right), without a gap */
    struct pkt *last;
};

struct tcp_reorder {
    struct tcp_range *range; /* NULL until something has arrived out of order, and when tidied */
    uint16_t n;
    uint16_t room; /* of range: grows by doubling, up to TCP_REORDER_RANGES */
    seq32_t arrivals;
    uint32_t bytes; /* of data held */
    uint32_t cost;  /* of the views' memory, see pkt_cost */
    struct mem *mem;
};

enum reorder_outcome {
    REORDER_KEPT,      /* all or part of it is new */
    REORDER_DUPLICATE, /* nothing of it is */
    REORDER_FULL,      /* ranges, or cost_max */
    REORDER_MEMORY,
};

void reorder_init(struct tcp_reorder *o, struct mem *mem);
void reorder_fini(struct tcp_reorder *o);
/*
 * p, which is taken, not empty, starts at seq, which is not before the expected number. cost_max
 * bounds o->cost. dup, if not NULL, is set to the first part that was here already, left == right:
 * none.
 *
 * A segment around ranges takes their bytes over into its own memory. Where that is shared, only
 * what lies before the first of them is kept of it.
 */
enum reorder_outcome reorder_insert(struct tcp_reorder *o, seq32_t seq, struct pkt *p,
                                    uint32_t cost_max, struct tcp_sack *dup);
/* What follows from nxt on without a gap, as a chain, the caller's; NULL: nothing. Bytes before nxt
 * are dropped. */
struct pkt *reorder_take(struct tcp_reorder *o, seq32_t nxt);
/* Drops all from end on. */
void reorder_cut(struct tcp_reorder *o, seq32_t end);
/* Ranges in the order of a SACK option: the one touched last first. */
unsigned reorder_sacks(const struct tcp_reorder *o, struct tcp_sack *to, unsigned max);
/* Gives the table back while it holds nothing: for connections that have become idle. */
void reorder_tidy(struct tcp_reorder *o);
static inline bool reorder_empty(const struct tcp_reorder *o)
{
    return o->n == 0;
}
/* Is anything here that begins at end or before it? */
static inline bool reorder_reaches(const struct tcp_reorder *o, seq32_t end)
{
    return o->n > 0 && seq32_le(o->range[0].left, end);
}
bool reorder_ok(const struct tcp_reorder *o);

#endif
