/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_CONVERSATIONS_WORLD_H
#define MILLRACE_CONVERSATIONS_WORLD_H

/*
 * One whole stack with one interface, in virtual time, and the peer that a script speaks for. The
 * peer answers questions about its device address by itself; of what the stack sends only TCP
 * reaches the script. A service (service.h) listens on port 7.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script.h"
#include "segment.h"
#include "stack/stack.h"
#include "stream/stream.h"

#define WORLD_FLOWS     4096u
#define WORLD_SAID      8192u
#define WORLD_LISTENER  7u
#define WORLD_PEER_PORT 40000u /* and the flow's number */

/* A connection, as the script numbers them: by the peer's port. */
struct flow {
    bool used;
    uint16_t our_port;
    bool ours_known; /* iss is valid: a SYN of ours was heard */
    bool ts_known;
    uint32_t iss;
    uint32_t irs;
    uint32_t ts_base; /* of our timestamps, as the script counts */
    /* The service's side. */
    struct stream *stream; /* NULL: none, or over */
    uint64_t written;
    uint8_t *got; /* bytes that came, in order */
    size_t n_got;
    size_t checked; /* of these, by the script */
    uint32_t unread;
    unsigned told; /* 1u << verb: not claimed by the script yet */
    enum stream_code code;
};

/* A segment that the stack has sent and the script has not expected yet. */
struct said {
    tick_t at;
    unsigned flow;
    int ecn;
    uint32_t len;
    uint8_t *bytes; /* from the TCP header on */
};

/* Makes the world, and lets the stack settle. ours: where its first initial sequence number lies
 * when all begins at the usual time (NULL: not known); it begins so much later that the number lies
 * where it should. */
void world_begin(const struct script_settings *settings, const uint32_t *ours);
/* Takes it down, and fails where something is left. */
void world_end(void);

tick_t world_now(void);
const struct script_settings *world_settings(void);

/* Flow n, whose numbers count from nothing at first. */
struct flow *flow_of(unsigned n);
/* n of the flow whose peer has that port; fails where there is none. */
unsigned flow_by_port(uint16_t port);

/* Time passes up to `until`; returns early when something was said and not taken, if `waiting`. */
void world_pass(tick_t until, bool waiting);
/* What a call of the stack's may have caused happens: services run, segments leave. */
void world_settle(void);

/* The peer sends these. */
void world_hear(const struct segment *s);
void world_hear_icmp(const struct event *e);

/* The oldest that was said; NULL: nothing. */
const struct said *world_said(void);
void world_take_said(void);
/* Taken apart, by the numbers of its flow. */
void said_parse(const struct said *w, struct segment *s);

/* Opens a connection to the peer. */
void world_connect(unsigned flow);
/* Row of the flow in the stack's list; false: none. n: how many there are. */
bool world_row(unsigned flow, struct ctl_connection *row, uint32_t *n);
bool world_kill(unsigned flow);
uint64_t world_count(enum counter c);
uint64_t world_drops(enum drop d);

#endif
