/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All timers of a connection:
 *
 *   sender        retransmission, tail loss probe, RACK's reordering (tcp/sender.h). While anything
 *                 is in flight. Fires: tcp_output sends what is due; the user timeout ends it all.
 *   receiver      a delayed ACK (tcp/receiver.h). From data that need not be acknowledged at once
 *                 until an ACK leaves.
 *   probe_at      while there is something to send, nothing in flight and the peer's window in the
 *                 way. Fires: a window probe; again after twice the time (RFC 9293 3.8.6.1); the
 *                 end, where memory is short and the window has been shut for long.
 *   keepalive_at  while established and nothing is to be sent. Counted from the last segment heard,
 *                 and not moved by each: it fires and looks (RFC 9293 3.8.4).
 *   state_end     until established: given up. In FIN-WAIT-2, where a peer may never send its FIN:
 *                 reset, unless the service has not read what came. In TIME-WAIT: CLOSED.
 *   pace_at       when the next new data may leave, if that is all it waits for.
 *   tidying       a second after an idle connection that holds memory was last heard of: gives it
 *                 back.
 *   path_raise_at ten minutes after a black hole was found: full segments are tried again.
 *   user timeout  data unacknowledged for so long, or probes unanswered (RFC 9293 3.8.3).
 */
#include "base/invariant.h"
#include "tcp/internal.h"

#define TIDY_AFTER TICK_SEC
/* While memory is short, or once our service has ended, a window that stays shut for so many probes
 * ends the connection (RFC 6429 3): that is a minute or more. */
#define SHUT_PROBES 8

static bool established(const struct tcp_conn *c)
{
    return c->state >= TCP_ESTABLISHED && c->state != TCP_TIME_WAIT;
}

static void give_up(struct tcp_conn *c, tick_t now)
{
    conn_count(c, COUNTER_TCP_TIMED_OUT, 1);
    if (c->state > TCP_SYN_RECEIVED)
        conn_reset_at(c, c->sender.nxt, now);
    conn_fail(c, STREAM_TIMEOUT);
}

/* ---- window probes ---- */

static bool needs_window_probe(const struct tcp_conn *c)
{
    return conn_may_send(c) && sender_idle(&c->sender) && conn_has_new(c) && !conn_new_ready(c);
}

static tick_t probe_interval(const struct tcp_conn *c)
{
    unsigned shift = c->probe_backoff < 10 ? c->probe_backoff : 10;
    tick_t t = c->sender.rtt.rto << shift;
    return t < TCP_RTO_MAX ? t : TCP_RTO_MAX;
}

static void arm_probe(struct tcp_conn *c, tick_t now)
{
    if (!needs_window_probe(c)) {
        c->probe_at = TICK_NEVER;
        c->probe_backoff = 0;
        conn_clear(c, TCP_CONN_PROBE_DUE);
    } else if (c->probe_at == TICK_NEVER && !conn_has(c, TCP_CONN_PROBE_DUE)) {
        c->probe_at = now + probe_interval(c);
    }
}

/* ---- keepalive ---- */

static bool wants_keepalive(const struct tcp_conn *c)
{
    return established(c) && c->tcp->settings->keepalive != TICK_NEVER && sender_idle(&c->sender) &&
           !conn_has_new(c);
}

static void arm_keepalive(struct tcp_conn *c)
{
    if (!wants_keepalive(c))
        c->keepalive_at = TICK_NEVER;
    else if (c->keepalive_at == TICK_NEVER)
        c->keepalive_at = tick_after(c->heard_at, c->tcp->settings->keepalive);
}

static void count_probe(struct tcp_conn *c, tick_t now)
{
    if (c->probes == 0)
        c->sender.stalled_since = now;
    if (c->probes < UINT8_MAX)
        c->probes++;
}

static void expire_keepalive(struct tcp_conn *c, tick_t now)
{
    const struct tcp_settings *s = c->tcp->settings;
    if (c->probes == 0 && c->keepalive_at < tick_after(c->heard_at, s->keepalive)) {
        c->keepalive_at = tick_after(c->heard_at, s->keepalive); /* it was heard of since */
        return;
    }
    if (c->probes >= s->keepalive_probes) {
        give_up(c, now);
        return;
    }
    count_probe(c, now);
    c->keepalive_at = now + s->keepalive_interval;
    conn_set(c, TCP_CONN_KEEP_DUE);
}

/* ---- the user timeout ---- */

static tick_t user_timeout_at(const struct tcp_conn *c)
{
    tick_t limit = c->tcp->settings->user_timeout;
    if (!established(c))
        return TICK_NEVER;
    if (!sender_idle(&c->sender)) {
        /* A peer that shut its window and answers is alive (RFC 9293 3.8.6.1), as long as that
         * keeps nobody else out. */
        tick_t from = c->sender.stalled_since;
        if (c->snd_wnd == 0 && c->heard_at > from && !tcp_full(c->tcp))
            from = c->heard_at;
        return tick_after(from, limit);
    }
    if (c->probes > 0 && needs_window_probe(c))
        return tick_after(c->sender.stalled_since, limit);
    return TICK_NEVER;
}

/* ---- memory of an idle connection ---- */

static bool is_idle(const struct tcp_conn *c)
{
    return sender_idle(&c->sender) && vec_queue_count(&c->stream.out) == 0;
}

/* That it would give back. */
static bool holds_memory(const struct tcp_conn *c)
{
    const struct tcp_reorder *o = &c->receiver.reorder;
    return c->sender.inflight.seg || c->stream.out.slot || (o->range && reorder_empty(o));
}

static tick_t tidy_at(const struct tcp_conn *c)
{
    return is_idle(c) && holds_memory(c) ? tick_after(c->heard_at, TIDY_AFTER) : TICK_NEVER;
}

static void tidy(struct tcp_conn *c)
{
    sender_tidy(&c->sender);
    receiver_tidy(&c->receiver);
    vec_queue_tidy(&c->stream.out);
}

/* ---- all of them ---- */

static void disarm_all(struct tcp_conn *c)
{
    c->state_end = c->probe_at = c->keepalive_at = TICK_NEVER;
    c->path_raise_at = TICK_NEVER;
}

void conn_arm(struct tcp_conn *c, tick_t now)
{
    if (c->state == TCP_CLOSED || conn_has(c, TCP_CONN_RST_DUE)) {
        disarm_all(c);
        return;
    }
    if (c->state < TCP_ESTABLISHED)
        return;
    arm_probe(c, now);
    arm_keepalive(c);
    if (c->state != TCP_FIN_WAIT_2 && c->state != TCP_TIME_WAIT)
        c->state_end = TICK_NEVER;
}

tick_t tcp_deadline(const struct tcp_conn *c)
{
    if (c->state == TCP_CLOSED || conn_has(c, TCP_CONN_RST_DUE))
        return TICK_NEVER;
    tick_t t = tick_min(sender_deadline(&c->sender), c->state_end);
    if (c->state < TCP_ESTABLISHED)
        return t;
    t = tick_min(t, receiver_deadline(&c->receiver));
    t = tick_min(t, tick_min(c->probe_at, c->keepalive_at));
    t = tick_min(t, tidy_at(c));
    t = tick_min(t, tick_min(c->path_raise_at, user_timeout_at(c)));
    if (c->pace_at > c->tcp->now && conn_new_ready(c))
        t = tick_min(t, c->pace_at);
    return t;
}

static void expire_sender(struct tcp_conn *c, tick_t now)
{
    enum sender_action action = sender_expire(&c->sender, now);
    if (c->state < TCP_ESTABLISHED) {
        if (action != SENDER_NOTHING)
            conn_set(c, TCP_CONN_SYN_DUE);
    } else if (action == SENDER_PROBE) {
        conn_set(c, TCP_CONN_TLP_DUE);
    } else if (action == SENDER_TIMED_OUT) {
        conn_suspect_path(c, now);
    }
}

static void expire_state(struct tcp_conn *c, tick_t now)
{
    if (c->state == TCP_TIME_WAIT) {
        conn_set_state(c, TCP_CLOSED);
        return;
    }
    if (c->receiver.unconsumed > 0) { /* it is our service that keeps the peer from its FIN */
        c->state_end = now + c->tcp->settings->fin_timeout;
        return;
    }
    give_up(c, now);
}

/* Has our service said all that it has to say? */
static bool service_ended(const struct tcp_conn *c)
{
    return c->stream.bits & (STREAM_OUT_END | STREAM_OVER);
}

static void expire_probe(struct tcp_conn *c, tick_t now)
{
    if ((tcp_full(c->tcp) || service_ended(c)) && c->probe_backoff >= SHUT_PROBES) {
        give_up(c, now);
        return;
    }
    c->probe_at = TICK_NEVER;
    count_probe(c, now);
    if (c->probe_backoff < UINT8_MAX)
        c->probe_backoff++;
    conn_set(c, TCP_CONN_PROBE_DUE);
}

static void expire(struct tcp_conn *c, tick_t now)
{
    if ((c->state < TCP_ESTABLISHED && c->state_end <= now) || user_timeout_at(c) <= now) {
        give_up(c, now);
        return;
    }
    if (c->state_end <= now) {
        expire_state(c, now);
        return;
    }
    if (sender_deadline(&c->sender) <= now)
        expire_sender(c, now);
    if (c->state < TCP_ESTABLISHED)
        return;
    receiver_expire(&c->receiver, now);
    if (c->probe_at <= now) {
        expire_probe(c, now);
        if (c->state == TCP_CLOSED)
            return;
    }
    if (tidy_at(c) <= now)
        tidy(c);
    if (c->path_raise_at <= now)
        conn_raise_path(c);
    if (c->keepalive_at <= now)
        expire_keepalive(c, now);
}

void tcp_expire(struct tcp_conn *c, tick_t now)
{
    c->tcp->now = now;
    if (c->state == TCP_CLOSED || conn_has(c, TCP_CONN_RST_DUE))
        return;
    expire(c, now);
    conn_arm(c, now);
    conn_charge(c);
    invariant(tcp_conn_ok(c));
}
