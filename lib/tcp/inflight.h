/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_INFLIGHT_H
#define MILLRACE_TCP_INFLIGHT_H

/*
 * What has been sent and not acknowledged, segment by segment: the scoreboard of RFC 6675 3 with
 * the times that RFC 8985 needs. Records, no bytes: those are promises in the stream.
 *
 * A power-of-two ring in order of sequence numbers, so that a position is found by bisection; and
 * through its slots a list in order of the last transmission, which RACK walks from its old end.
 * SYN and FIN take a number and have records of their own or share their segment's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/serial.h"
#include "base/tick.h"

enum tcp_seg_flag {
    TCP_SEG_SACKED = 1u << 0,
    TCP_SEG_LOST = 1u << 1,    /* and not sent again since */
    TCP_SEG_RESENT = 1u << 2,  /* at least once (Karn) */
    TCP_SEG_PENDING = 1u << 3, /* resent, and that transmission still counts as in flight */
    TCP_SEG_LIMITED = 1u << 4, /* sent while the application, not the window, was the limit */
};

struct tcp_seg {
    seq32_t seq;
    uint32_t len;     /* of sequence space, > 0 */
    tick_t sent;      /* last time */
    uint32_t earlier; /* slots: neighbours in order of sending */
    uint32_t later;
    uint16_t flags; /* enum tcp_seg_flag */
    uint16_t sends; /* transmissions, saturating */
};

_Static_assert(sizeof(struct tcp_seg) == 32, "two to a cache line");

struct inflight {
    struct tcp_seg *seg; /* NULL while nothing is in flight for long */
    uint32_t head;       /* free-running: lowest sequence number */
    uint32_t tail;
    uint32_t mask;
    uint32_t max; /* segments it may hold */
    uint32_t oldest; /* slots; valid while not empty */
    uint32_t newest;
    uint32_t sacked; /* bytes of SACKED segments */
    uint32_t lost;   /* of LOST ones */
    uint32_t pending; /* of PENDING ones */
    struct mem *mem;
};

#endif
