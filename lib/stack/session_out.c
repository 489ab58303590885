/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session's way out: frames of HTTP/2, a record at a time, through TLS, to TCP.
 *
 * What is in TCP's queue is in its order for good. So little more is put there than the connection
 * may send at once: a response of more urgency, or of another stream, that comes a moment later
 * then waits behind that only.
 *
 * Nor does what a peer leaves there keep others out: a connection may have a part of what is free
 * of half of TCP's memory. Many that read nothing have little each, and the other half is for what
 * arrives and for new ones. One that reads has a record at least: what waits for it, as of tunnels,
 * may be what fills the memory.
 */
#include <string.h>

#include "stack/session.h"

#define RECORDS      4 /* of one session in a turn */
#define UNSENT_AHEAD (2 * TLS_RECORD_MAX)
#define FREE_PARTS   8
#define PART_LEAST   2700 /* two segments of a usual path, which are acknowledged at once */
#define PART_MOVING  (TLS_RECORD_MAX + 2048) /* a record with what TLS adds, of one that reads */

static struct tcp_conn *tcp_of(const struct session *x)
{
    return &x->conn->tcp;
}

/* What it may hold of the memory that is free. */
static uint32_t part_of_memory(const struct tcp_conn *c)
{
    uint64_t most = c->tcp->memory_max / 2;
    uint64_t part = c->tcp->memory < most ? (most - c->tcp->memory) / FREE_PARTS : 0;
    bool moving = sender_room(&c->sender) >= TLS_RECORD_MAX && tcp_usable(c) >= TLS_RECORD_MAX;
    uint32_t least = moving ? PART_MOVING : PART_LEAST;
    return part < least ? least : part > UINT32_MAX ? UINT32_MAX : (uint32_t)part;
}

/* Whoever waits for that has something under way, and goes on when it arrives (session_sent). */
static bool has_its_part(const struct tcp_conn *c)
{
    return vec_queue_count(&c->stream.out) > 0 && stream_cost(&c->stream) >= part_of_memory(c);
}

static bool has_room(const struct session *x)
{
    const struct tcp_conn *c = tcp_of(x);
    if (has_its_part(c))
        return false;
    uint32_t flight = sender_in_flight(&c->sender);
    uint32_t cwnd = c->sender.cc.cwnd;
    uint32_t most = cwnd > flight ? cwnd - flight : 0;
    if (most < UNSENT_AHEAD)
        most = UNSENT_AHEAD;
    return stream_writable(&c->stream) && tcp_unsent(c) < most;
}

bool session_can_write(const struct session *x)
{
    return x->phase == SESSION_OPEN && (x->held || h2_wants_output(&x->h2)) && has_room(x);
}

/* What TLS has made. False: the connection has failed with that. */
static bool flush(struct session *x, tick_t now)
{
    struct pkt *p = x->secure ? tls_take(&x->tls) : NULL;
    if (!p)
        return true;
    stream_write_pkt(&tcp_of(x)->stream, p);
    if (!stream_over(&tcp_of(x)->stream))
        return true;
    session_abort(x, STREAM_NO_MEMORY, now);
    return false;
}

static struct pkt *clear_pkt(struct session *x, const uint8_t *bytes, uint32_t len)
{
    struct pkt *p = pkt_alloc_len(x->stack->env.pool, len);
    pkt_for_each (v, p) {
        memcpy(v->data, bytes, v->len);
        bytes += v->len;
    }
    return p;
}

/* False: there are no packets. */
static bool send(struct session *x, const uint8_t *bytes, uint32_t len, tick_t now)
{
    if (x->secure)
        return tls_write(&x->tls, bytes, len, now);
    struct pkt *p = clear_pkt(x, bytes, len);
    if (!p)
        return false;
    stream_write_pkt(&tcp_of(x)->stream, p);
    return true;
}

static void drop_held(struct session *x)
{
    mem_free(x->stack->env.mem, x->held, x->held_len);
    x->held = NULL;
    x->held_len = 0;
}

/* HTTP/2 has given these bytes out and will not again. False: no memory for that either. */
static bool hold(struct session *x, const uint8_t *bytes, uint32_t len)
{
    x->held = mem_alloc(x->stack->env.mem, len, 1);
    if (!x->held)
        return false;
    memcpy(x->held, bytes, len);
    x->held_len = len;
    return true;
}

static bool write_held(struct session *x, tick_t now)
{
    if (!send(x, x->held, x->held_len, now))
        return false;
    drop_held(x);
    return true;
}

static uint32_t record_size(const struct session *x, tick_t now)
{
    uint32_t size = x->secure ? tls_record_size(&x->tls, now) : TLS_RECORD_MAX;
    uint32_t part = part_of_memory(tcp_of(x));
    return size < part ? size : part;
}

/* Of what has gathered since the last, as far as one record holds it. False: that was all, for now.
 */
static bool write_record(struct session *x, tick_t now)
{
    if (x->held)
        return write_held(x, now);
    uint8_t *bytes = x->stack->sessions.scratch;
    uint32_t n = h2_output(&x->h2, bytes, record_size(x, now), now);
    if (n == 0)
        return false;
    if (send(x, bytes, n, now))
        return true;
    if (!hold(x, bytes, n))
        session_abort(x, STREAM_NO_MEMORY, now);
    return false;
}

void session_write(struct session *x, tick_t now)
{
    if (!flush(x, now))
        return;
    for (unsigned n = 0; n < RECORDS && session_can_write(x); n++)
        if (!write_record(x, now) || !flush(x, now))
            break;
    if (x->conn && stream_over(&tcp_of(x)->stream))
        session_abort(x, STREAM_NO_MEMORY, now);
    else if (x->phase == SESSION_OPEN && x->secure && (x->tls.flags & TLS_CONN_FAILED))
        session_tls_failed(x, now); /* in a write: there is nothing more to be read */
}

void session_end(struct session *x, tick_t now)
{
    session_wants_writing(x);
    if (x->secure && !tls_end(&x->tls, now))
        return; /* no packets: again in the next turn */
    if (!flush(x, now))
        return;
    x->phase = SESSION_CLOSING;
    wheel_cancel(&x->stack->wheel, &x->timer);
    handshake_leave(x);
    stream_end(&tcp_of(x)->stream);
    session_drop_input(x);
    session_consume(x);
}
