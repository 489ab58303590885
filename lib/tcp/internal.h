/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_INTERNAL_H
#define MILLRACE_TCP_INTERNAL_H

/*
 * What the files of a connection share and nobody else sees: conn.c (life), input.c (segments in),
 * output.c (segments out), timers.c (time), path.c (segment size).
 */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "tcp/conn.h"

#define TCP_IP_LEN4 20u
#define TCP_IP_LEN6 40u
/* The least segment that we cut for a peer: what one asks for below this costs more in headers
 * than it can be worth to anybody but an attacker. */
#define TCP_MSS_MIN 48u

static inline bool conn_has(const struct tcp_conn *c, enum tcp_conn_flag f)
{
    return c->flags & f;
}

static inline void conn_set(struct tcp_conn *c, enum tcp_conn_flag f)
{
    c->flags |= f;
}

static inline void conn_clear(struct tcp_conn *c, enum tcp_conn_flag f)
{
    c->flags &= ~(uint32_t)f;
}

static inline void conn_count(struct tcp_conn *c, enum counter which, uint64_t n)
{
    counter_add(c->tcp->counters, which, n);
}

static inline void conn_drop(struct tcp_conn *c, struct pkt *p, enum drop why)
{
    counter_drop(c->tcp->counters, why);
    pkt_free(p);
}

/* Number of the first byte that is in the stream's outbound queue. */
static inline seq32_t conn_data_start(const struct tcp_conn *c)
{
    return conn_has(c, TCP_CONN_SYN_ACKED) ? c->sender.una : seq32_add(c->iss, 1);
}

/* Bytes of the outbound queue that have been sent at least once. FIN_SENT takes a number too. */
static inline uint64_t conn_sent_bytes(const struct tcp_conn *c)
{
    int32_t n = seq32_diff(c->sender.nxt, conn_data_start(c));
    return n <= 0 ? 0 : (uint64_t)n - conn_has(c, TCP_CONN_FIN_SENT);
}

static inline uint64_t conn_unsent(const struct tcp_conn *c)
{
    return vec_queue_bytes(&c->stream.out) - conn_sent_bytes(c);
}

/* Is the FIN, and nothing before it, still to be sent? */
static inline bool conn_fin_next(const struct tcp_conn *c)
{
    return (c->stream.bits & STREAM_OUT_END) && !conn_has(c, TCP_CONN_FIN_SENT) &&
           conn_unsent(c) == 0;
}

/* Anything for the first time: data or FIN. */
static inline bool conn_has_new(const struct tcp_conn *c)
{
    return conn_unsent(c) > 0 || conn_fin_next(c);
}

/* May data go (our SYN is acknowledged) and is our direction not over? */
static inline bool conn_may_send(const struct tcp_conn *c)
{
    return c->state == TCP_ESTABLISHED || c->state == TCP_CLOSE_WAIT ||
           c->state == TCP_FIN_WAIT_1 || c->state == TCP_CLOSING || c->state == TCP_LAST_ACK;
}

/* conn.c */
void conn_set_state(struct tcp_conn *c, enum tcp_state to);
/* The peer's numbers start at irs. */
void conn_begin_receiving(struct tcp_conn *c, seq32_t irs);
/* Options of the peer's SYN, as far as we want them too. */
void conn_negotiate(struct tcp_conn *c, const struct tcp_hdr *syn);
/* Our SYN has been acknowledged and the peer's has come. */
void conn_established(struct tcp_conn *c, tick_t now);
/* It is over at once: CLOSED, and the service, if it knows of it, is told code. */
void conn_fail(struct tcp_conn *c, enum stream_code code);
/* Both directions are over in order. */
void conn_finish(struct tcp_conn *c);
/* tcp->memory follows what the connection holds. */
void conn_charge(struct tcp_conn *c);

/* input.c */
/* An ACK that nobody is owed, if the limit allows (RFC 5961 7). */
void conn_challenge(struct tcp_conn *c, tick_t now);

/* output.c */
/* <SEQ=seq><CTL=RST>, outside of the connection's own sequence (RFC 9293 3.10.7). */
void conn_reset_at(struct tcp_conn *c, seq32_t seq, tick_t now);
/* Would something new be sent but for pacing? */
bool conn_new_ready(const struct tcp_conn *c);
/* Our FIN has the number before nxt. */
void conn_fin_sent(struct tcp_conn *c);

/* timers.c */
/* Timers that follow from what the connection has come to. */
void conn_arm(struct tcp_conn *c, tick_t now);

/* path.c */
/* Payload of the largest segment, timestamps taken off. */
uint32_t conn_mss(const struct tcp_conn *c);
/* The MSS that we announce (RFC 9293 3.7.1). */
uint16_t conn_mss_announced(const struct tcp_conn *c);
/* Timeouts in a row: are large segments lost on the way for being large? (RFC 4821 7.7) */
void conn_suspect_path(struct tcp_conn *c, tick_t now);
void conn_raise_path(struct tcp_conn *c);

#endif
