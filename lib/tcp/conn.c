/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection's life: how it begins, what states it goes through, how it ends. */
#include "tcp/conn.h"

#include <string.h>

#include "base/invariant.h"
#include "tcp/internal.h"
#include "tcp/isn.h"

static const char *const state_names[] = {
#define X(id, name) [TCP_##id] = name,
    TCP_STATES(X)
#undef X
};

const char *tcp_state_name(enum tcp_state s)
{
    assert(s < TCP_STATE_END);
    return state_names[s];
}

#define TO(id) (1u << TCP_##id)

/* RFC 9293 3.3.2, figure 5, with the ways to CLOSED that resets and timeouts are. */
static const uint16_t successors[TCP_STATE_END] = {
    /* tcp_connect; tcp_accept */
    [TCP_CLOSED] = TO(SYN_SENT) | TO(SYN_RECEIVED),
    /* SYN, ACK; SYN alone (simultaneous open); refused, timed out */
    [TCP_SYN_SENT] = TO(ESTABLISHED) | TO(SYN_RECEIVED) | TO(CLOSED),
    /* ACK of our SYN; reset, timed out */
    [TCP_SYN_RECEIVED] = TO(ESTABLISHED) | TO(CLOSED),
    /* our FIN sent; the peer's received */
    [TCP_ESTABLISHED] = TO(FIN_WAIT_1) | TO(CLOSE_WAIT) | TO(CLOSED),
    /* ACK of our FIN; the peer's FIN first */
    [TCP_FIN_WAIT_1] = TO(FIN_WAIT_2) | TO(CLOSING) | TO(CLOSED),
    /* the peer's FIN; given up after fin_timeout */
    [TCP_FIN_WAIT_2] = TO(TIME_WAIT) | TO(CLOSED),
    /* our FIN sent */
    [TCP_CLOSE_WAIT] = TO(LAST_ACK) | TO(CLOSED),
    /* ACK of our FIN */
    [TCP_CLOSING] = TO(TIME_WAIT) | TO(CLOSED),
    [TCP_LAST_ACK] = TO(CLOSED),
    /* its time is over, or its owner made a smaller object of it */
    [TCP_TIME_WAIT] = TO(CLOSED),
};

void conn_set_state(struct tcp_conn *c, enum tcp_state to)
{
    bool edge = successors[c->state] & 1u << to;
    assert(edge && "of RFC 9293's figure 5");
    (void)edge;
    c->state = (uint8_t)to;
    if (to == TCP_CLOSED)
        c->flags &= ~(uint32_t)TCP_CONN_DUE;
}

/* ---- the service's side ---- */

static struct tcp_conn *conn_of(struct stream *s)
{
    return container_of(s, struct tcp_conn, stream);
}

/*
 * What a receive window may grow to by the memory that is free: a part of what is left of a
 * quarter, so that windows of many together, were they all filled, leave room for what they are to
 * be sent on by.
 */
static uint32_t window_most(const struct tcp *t)
{
    uint64_t most = t->memory_max / 4;
    uint64_t part = t->memory < most ? (most - t->memory) / 4 : 0;
    return part < UINT32_MAX ? (uint32_t)part : UINT32_MAX;
}

static void carrier_consume(struct stream *s, uint32_t n)
{
    struct tcp_conn *c = conn_of(s);
    if (receiver_consumed(&c->receiver, n, window_most(c->tcp), c->tcp->now))
        c->tcp->wake(c);
}

static void carrier_ready(struct stream *s)
{
    struct tcp_conn *c = conn_of(s);
    c->tcp->wake(c);
}

static void carrier_abort(struct stream *s)
{
    struct tcp_conn *c = conn_of(s);
    conn_set(c, TCP_CONN_RST_DUE);
    c->tcp->wake(c);
}

static const struct stream_carrier carrier = {
    .consume = carrier_consume,
    .ready = carrier_ready,
    .abort = carrier_abort,
};

/* ---- opening ---- */

void tcp_conn_init(struct tcp_conn *c, struct tcp *t, const struct flow_key *key,
                   const struct tcp_path *path, const struct stream_service *service)
{
    const struct tcp_settings *s = t->settings;
    memset(c, 0, sizeof(*c));
    c->tcp = t;
    c->key = key;
    c->path = *path;
    c->state_end = c->probe_at = c->keepalive_at = TICK_NEVER;
    c->path_raise_at = TICK_NEVER;
    c->mss = ip_is_v4(&key->remote) ? TCP_MSS_DEFAULT4 : TCP_MSS_DEFAULT6;
    stream_init(&c->stream, service, &carrier, &t->ready, t->mem, s->promises);
    stream_set_marks(&c->stream, s->send_buffer, s->send_buffer / 2);
    counter_add(t->counters, COUNTER_TCP_OPENED, 1);
}

void tcp_conn_fini(struct tcp_conn *c)
{
    stream_fini(&c->stream);
    sender_fini(&c->sender);
    receiver_fini(&c->receiver);
    c->tcp->memory -= c->charged;
    c->charged = 0;
    conn_count(c, COUNTER_TCP_CLOSED, 1);
}

/* Records of what is in flight are memory that the peer's MSS and ACKs can pin, and that is not
 * charged: there are enough for a full window of segments of 512 bytes; of smaller ones, for a part
 * of it. */
static uint32_t records_max(const struct tcp_settings *s)
{
    uint32_t n = s->send_buffer_max / 512;
    return n < 1024 ? 1024 : n > 1u << 16 ? 1u << 16 : n;
}

/* What both ways to open have in common. */
static void begin(struct tcp_conn *c, seq32_t iss, tick_t timeout, tick_t now)
{
    const struct tcp_settings *s = c->tcp->settings;
    c->iss = iss;
    c->opened_at = c->heard_at = now;
    c->ts_offset = tcp_ts_offset(&c->tcp->secret, c->key);
    c->state_end = now + timeout;
    struct sender_args args = {.mem = c->tcp->mem,
                               .counters = c->tcp->counters,
                               .iss = iss,
                               .mss = conn_mss(c),
                               .congestion = s->congestion,
                               .initial_window = s->initial_window,
                               .cwnd_max = s->send_buffer_max,
                               .rto_min = s->rto_min,
                               .segments_max = records_max(s)};
    sender_init(&c->sender, &args);
    conn_set(c, TCP_CONN_SYN_DUE);
}

void conn_begin_receiving(struct tcp_conn *c, seq32_t irs)
{
    const struct tcp_settings *s = c->tcp->settings;
    c->irs = irs;
    struct receiver_args args = {.mem = c->tcp->mem,
                                 .irs = irs,
                                 .size = s->receive_buffer,
                                 .size_max = s->receive_buffer_max,
                                 .ack_delay = (uint32_t)s->delayed_ack,
                                 .mss = conn_mss_announced(c)};
    receiver_init(&c->receiver, &args);
}

/* What we would agree to. */
static void offer(struct tcp_conn *c)
{
    const struct tcp_settings *s = c->tcp->settings;
    c->flags |= s->no_timestamps ? 0 : TCP_CONN_TIMESTAMPS;
    c->flags |= s->no_sack ? 0 : TCP_CONN_SACK;
    c->flags |= s->no_window_scaling ? 0 : TCP_CONN_SCALED;
}

void conn_negotiate(struct tcp_conn *c, const struct tcp_hdr *syn)
{
    const struct tcp_options *o = &syn->options;
    if (!o->has_timestamps)
        conn_clear(c, TCP_CONN_TIMESTAMPS);
    if (!o->sack_permitted)
        conn_clear(c, TCP_CONN_SACK);
    if (!o->has_wscale)
        conn_clear(c, TCP_CONN_SCALED);
    if (o->has_mss)
        c->mss = o->mss;
    if (conn_has(c, TCP_CONN_TIMESTAMPS))
        c->ts_recent = o->ts_value; /* RFC 7323 4.3 (1) */
    c->snd_scale = conn_has(c, TCP_CONN_SCALED) ? o->wscale : 0;
    c->snd_wnd = c->snd_wnd_max = syn->window; /* RFC 7323 2.2: not scaled in a SYN */
    c->snd_wl1 = syn->seq;
    sender_negotiated(&c->sender, conn_has(c, TCP_CONN_SACK), conn_mss(c));
    bool scaled = conn_has(c, TCP_CONN_SCALED);
    receiver_negotiated(&c->receiver, conn_has(c, TCP_CONN_SACK), scaled,
                        scaled ? receiver_scale_for(c->tcp->settings->receive_buffer_max) : 0);
}

void tcp_connect(struct tcp_conn *c, seq32_t iss, tick_t now)
{
    const struct tcp_settings *s = c->tcp->settings;
    begin(c, iss, s->connect_timeout, now);
    offer(c);
    if (s->ecn == TCP_ECN_REQUEST)
        conn_set(c, TCP_CONN_ECN);
    conn_set_state(c, TCP_SYN_SENT);
    conn_arm(c, now);
}

/* RFC 3168 6.1.1: an ECN-setup SYN; and in no ECN-capable packet. */
static bool asks_for_ecn(const struct tcp_hdr *syn, uint8_t ecn)
{
    return (syn->flags & (TCP_ECE | TCP_CWR)) == (TCP_ECE | TCP_CWR) && ecn == ECN_NOT_ECT;
}

void tcp_accept(struct tcp_conn *c, const struct tcp_hdr *syn, seq32_t iss, uint8_t ecn, tick_t now)
{
    begin(c, iss, c->tcp->settings->accept_timeout, now);
    offer(c);
    conn_set(c, TCP_CONN_PASSIVE);
    conn_begin_receiving(c, syn->seq);
    conn_negotiate(c, syn);
    c->ts_recent_at = now;
    if (c->tcp->settings->ecn != TCP_ECN_OFF && asks_for_ecn(syn, ecn))
        conn_set(c, TCP_CONN_ECN);
    conn_set_state(c, TCP_SYN_RECEIVED);
    conn_arm(c, now);
}

bool tcp_accept_cookie(struct tcp_conn *c, const struct tcp_hdr *syn, seq32_t iss, tick_t now)
{
    tcp_accept(c, syn, iss, ECN_NOT_ECT, now);
    if (!sender_can_send(&c->sender))
        return false;
    conn_set(c, TCP_CONN_COOKIE);
    conn_clear(c, TCP_CONN_SYN_DUE); /* it went out as a cookie, and its answer is here */
    sender_sent(&c->sender, 1, false, now);
    sender_last(&c->sender)->flags |= TCP_SEG_RESENT; /* nobody knows when */
    conn_arm(c, now);
    return true;
}

void conn_established(struct tcp_conn *c, tick_t now)
{
    conn_set_state(c, TCP_ESTABLISHED);
    c->state_end = TICK_NEVER;
    conn_clear(c, TCP_CONN_SYN_DUE);
    conn_count(c, conn_has(c, TCP_CONN_PASSIVE) ? COUNTER_TCP_ACCEPTED : COUNTER_TCP_CONNECTED, 1);
    receiver_rtt(&c->receiver, c->sender.rtt.srtt); /* of one sample, if any */
    c->heard_at = now;
    stream_opened(&c->stream);
}

/* ---- ending ---- */

/* Did the service ever hear of it, or ask for it? */
static bool service_knows(const struct tcp_conn *c)
{
    return !conn_has(c, TCP_CONN_PASSIVE) || c->state >= TCP_ESTABLISHED;
}

void conn_fail(struct tcp_conn *c, enum stream_code code)
{
    bool knows = service_knows(c);
    conn_set_state(c, TCP_CLOSED);
    if (knows)
        stream_failed(&c->stream, code);
    else
        stream_withdraw(&c->stream);
}

void conn_finish(struct tcp_conn *c)
{
    stream_finished(&c->stream);
}

void tcp_kill(struct tcp_conn *c, tick_t now)
{
    if (c->state == TCP_CLOSED)
        return;
    if (c->state != TCP_SYN_SENT && c->state != TCP_TIME_WAIT) /* RFC 9293 3.10.5 */
        conn_reset_at(c, c->sender.nxt, now);
    conn_fail(c, STREAM_KILLED);
}

bool tcp_is_over(const struct tcp_conn *c)
{
    if (c->state == TCP_CLOSED)
        return stream_over(&c->stream);
    return c->state == TCP_TIME_WAIT && stream_over(&c->stream) &&
           !(c->flags & (TCP_CONN_ACK_DUE | TCP_CONN_RST_DUE)) &&
           c->receiver.ack == RECEIVER_ACK_NONE;
}

void tcp_unreachable(struct tcp_conn *c, bool hard, tick_t now)
{
    (void)now;
    /* RFC 5927 5.2, RFC 9293 3.9.2.2: later only a matter of interest. */
    if (hard && (c->state == TCP_SYN_SENT || c->state == TCP_SYN_RECEIVED))
        conn_fail(c, STREAM_UNREACHABLE);
}

bool tcp_in_flight(const struct tcp_conn *c, seq32_t seq)
{
    return c->state != TCP_CLOSED && seq32_between(seq, c->sender.una, c->sender.nxt);
}

/* Of what is in flight a SYN is none of them; a FIN follows the last. */
uint64_t tcp_unsent(const struct tcp_conn *c)
{
    uint64_t queued = vec_queue_bytes(&c->stream.out);
    int32_t flight = seq32_diff(c->sender.nxt, c->sender.una);
    if (c->state < TCP_ESTABLISHED)
        return queued;
    return flight >= 0 && queued > (uint32_t)flight ? queued - (uint32_t)flight : 0;
}

/* ---- memory ---- */

uint32_t tcp_cost(const struct tcp_conn *c)
{
    return stream_cost(&c->stream) + receiver_cost(&c->receiver);
}

void conn_charge(struct tcp_conn *c)
{
    uint32_t cost = tcp_cost(c);
    c->tcp->memory += cost;
    c->tcp->memory -= c->charged;
    c->charged = cost;
}

void tcp_prune(struct tcp_conn *c)
{
    if (reorder_empty(&c->receiver.reorder))
        return;
    receiver_prune(&c->receiver);
    conn_charge(c);
    invariant(tcp_conn_ok(c));
}

bool tcp_conn_ok(const struct tcp_conn *c)
{
    if (c->state >= TCP_STATE_END)
        return false;
    if (c->state == TCP_CLOSED || conn_has(c, TCP_CONN_RST_DUE)) /* its queue is gone */
        return true;
    if (!sender_ok(&c->sender))
        return false;
    if (c->state >= TCP_ESTABLISHED) {
        if (!receiver_ok(&c->receiver) || !conn_has(c, TCP_CONN_SYN_ACKED))
            return false;
        if (conn_sent_bytes(c) > vec_queue_bytes(&c->stream.out))
            return false;
    }
    bool fin_state =
        c->state != TCP_ESTABLISHED && c->state != TCP_CLOSE_WAIT && c->state > TCP_SYN_RECEIVED;
    return fin_state == conn_has(c, TCP_CONN_FIN_SENT);
}
