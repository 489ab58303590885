/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_HTTP2_STREAMS_H
#define MILLRACE_HTTP2_STREAMS_H

/*
 * Which stream of a connection an identifier names: a table of open addressing by identifier, half
 * full at most, which an idle connection does not have. And the streams that were closed last, with
 * how, for frames that come for them late (RFC 9113 5.1, "closed").
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct h2_stream;

struct h2_streams {
    struct h2_stream **slot;
    uint32_t capacity; /* a power of two; 0: no table */
    uint32_t n;
};

enum h2_closed {
    H2_CLOSED_IN_ORDER,  /* END_STREAM both ways */
    H2_CLOSED_BY_PEER,   /* RST_STREAM received */
    H2_CLOSED_BY_US,     /* RST_STREAM sent: the other side may not know yet */
    H2_CLOSED_FORGOTTEN, /* long ago */
    H2_CLOSED_UNUSED,    /* never opened, but passed over (RFC 9113 5.1.1) */
};

#define H2_CLOSED_KEPT 32u

struct h2_closed_ring {
    uint32_t id[H2_CLOSED_KEPT];
    uint64_t how;  /* of each, two bits: enum h2_closed, the first three */
    uint32_t next; /* free-running */
};

/* NULL: none of that identifier. */
struct h2_stream *h2_streams_find(const struct h2_streams *t, uint32_t id);
/* s->id is in no slot yet. False: no memory. */
bool h2_streams_add(struct h2_streams *t, struct mem *mem, struct h2_stream *s);
/* The table's memory goes at h2_streams_tidy. */
void h2_streams_remove(struct h2_streams *t, struct h2_stream *s);
void h2_streams_tidy(struct h2_streams *t, struct mem *mem);
/* Each stream in no order; *at 0 at first. NULL: no more. The table may not change meanwhile. */
struct h2_stream *h2_streams_next(const struct h2_streams *t, uint32_t *at);

/* Forgets all. */
void h2_streams_clear(struct h2_streams *t);

void h2_closed_note(struct h2_closed_ring *r, uint32_t id, enum h2_closed how);
enum h2_closed h2_closed_how(const struct h2_closed_ring *r, uint32_t id);

#endif
