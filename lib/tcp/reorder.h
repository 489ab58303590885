/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_REORDER_H
#define MILLRACE_TCP_REORDER_H

/*
 * Data that arrived ahead of a gap: a bounded number of ranges, in order, apart from each other,
 * each a chain of views. Bytes that are here stay, whatever a later segment says of the same
 * numbers: first come, first kept, as for what was delivered. Memory is counted by what views hold,
 * not by what they say, and bounded by the connection's window; small segments are copied together.
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
    uint32_t touched; /* by a count of arrivals: the newest comes first in a SACK */
    struct pkt *head; /* chain of the bytes [left, right), without a gap */
    struct pkt *last;
};

struct tcp_reorder {
    struct tcp_range *range; /* NULL while empty for long */
    uint16_t n;
    uint16_t room; /* of range: grows by doubling, up to TCP_REORDER_RANGES */
    uint32_t arrivals;
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
/* p, which is taken, not empty, starts at seq, which is after the expected number. dup, if not
 * NULL, is set to the part that was here already, left == right: none. */
enum reorder_outcome reorder_insert(struct tcp_reorder *o, seq32_t seq, struct pkt *p,
                                    uint32_t cost_max, struct tcp_sack *dup);
/* What follows from nxt on without a gap, as a chain, the caller's; NULL: nothing. Bytes before nxt
 * are dropped. */
struct pkt *reorder_take(struct tcp_reorder *o, seq32_t nxt);
/* Ranges in the order of a SACK option: the one touched last first. */
unsigned reorder_sacks(const struct tcp_reorder *o, struct tcp_sack *to, unsigned max);
static inline bool reorder_empty(const struct tcp_reorder *o)
{
    return o->n == 0;
}
bool reorder_ok(const struct tcp_reorder *o);

#endif
