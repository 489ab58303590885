/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/time_wait.h"

#include "tcp/conn.h"
#include "tcp/isn.h"

#define TS_VALID (24 * 86400 * TICK_SEC) /* RFC 7323 5.5 */

/* As the peer has heard last. Its FIN may stand one past the window. */
static uint16_t window_of(const struct tcp_receiver *r)
{
    int32_t window = seq32_diff(r->right, r->nxt);
    if (window < 0)
        return 0;
    window >>= r->scale;
    return window > UINT16_MAX ? UINT16_MAX : (uint16_t)window;
}

void tcp_time_wait_init(struct tcp_time_wait *w, const struct tcp_conn *c)
{
    *w = (struct tcp_time_wait){
        .snd_nxt = c->sender.nxt,
        .rcv_nxt = c->receiver.nxt,
        .ts_recent = c->ts_recent,
        .ts_offset = c->ts_offset,
        .ts_recent_at = c->ts_recent_at,
        .window = window_of(&c->receiver),
        .timestamps = c->flags & TCP_CONN_TIMESTAMPS,
        .may_timestamp = !c->tcp->settings->no_timestamps,
    };
}

/* Numbers that a new connection starts with are beyond the old one's last, its FIN's. */
static bool beyond(const struct tcp_time_wait *w, seq32_t seq)
{
    return seq32_ge(seq, w->rcv_nxt);
}

/* Steps from the peer's last timestamp to h's; 0 where that one says nothing any more. */
static int32_t ts_ahead(const struct tcp_time_wait *w, const struct tcp_hdr *h, tick_t now)
{
    if (tick_since(now, w->ts_recent_at) > TS_VALID)
        return 0;
    return seq32_diff(seq32(h->options.ts_value), seq32(w->ts_recent));
}

/* Is h the SYN of a new connection, and not an old one again? RFC 6191 2 */
static bool is_new(const struct tcp_time_wait *w, const struct tcp_hdr *h, tick_t now)
{
    if ((h->flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) != TCP_SYN)
        return false;
    bool timestamps = h->options.has_timestamps && w->may_timestamp;
    if (!timestamps)
        return beyond(w, h->seq);
    if (!w->timestamps)
        return true; /* it will tell old segments by their having none */
    int32_t ahead = ts_ahead(w, h, now);
    return ahead > 0 || (ahead == 0 && beyond(w, h->seq));
}

static enum time_wait_verdict say(enum time_wait_verdict v, enum drop reason, enum drop *why)
{
    *why = reason;
    return v;
}

/* RFC 7323 4.3 */
static void keep_timestamp(struct tcp_time_wait *w, const struct tcp_hdr *h, tick_t now)
{
    if (!w->timestamps)
        return;
    w->ts_recent = h->options.ts_value;
    w->ts_recent_at = now;
}

/* RFC 9293 3.10.7.4, from the sequence number on. With the FIN at rcv_nxt - 1 the peer has said
 * all, so that the window is none: only an empty segment at rcv_nxt is acceptable. */
static enum time_wait_verdict check_sequence(struct tcp_time_wait *w, const struct tcp_hdr *h,
                                             uint32_t payload, tick_t now, enum drop *why)
{
    uint32_t len = tcp_seq_len(h, payload);
    seq32_t end = seq32_add(h->seq, len);
    bool fin_again = (h->flags & TCP_FIN) && seq32_eq(end, w->rcv_nxt);
    bool empty = len == 0 && seq32_eq(h->seq, w->rcv_nxt);
    if (!fin_again && !empty)
        return say(TIME_WAIT_ACK,
                   seq32_le(end, w->rcv_nxt) ? DROP_TCP_DUPLICATE : DROP_TCP_SEQUENCE, why);
    if (!(h->flags & TCP_ACK))
        return say(TIME_WAIT_DROP, DROP_TCP_FLAGS, why);
    if (seq32_gt(h->ack, w->snd_nxt))
        return say(TIME_WAIT_ACK, DROP_TCP_ACK, why); /* RFC 5961 5.2 */
    keep_timestamp(w, h, now);
    if (fin_again)
        return say(TIME_WAIT_AGAIN, DROP_TCP_DUPLICATE, why);
    return say(TIME_WAIT_DROP, DROP_TCP_STATE, why);
}

enum time_wait_verdict tcp_time_wait_input(struct tcp_time_wait *w, const struct tcp_hdr *h,
                                           uint32_t payload, tick_t now, enum drop *why)
{
    if (h->flags & TCP_RST) /* RFC 1337 3: an old one would open the way for old data */
        return say(TIME_WAIT_DROP, DROP_TCP_STATE, why);
    if (is_new(w, h, now))
        return say(TIME_WAIT_NEW, DROP_NONE, why);
    if (h->flags & TCP_SYN)
        return say(TIME_WAIT_ACK, DROP_TCP_SYN, why); /* RFC 5961 4.2 */
    if (w->timestamps && !h->options.has_timestamps)
        return say(TIME_WAIT_DROP, DROP_TCP_PAWS, why); /* RFC 7323 3.2 */
    if (w->timestamps && ts_ahead(w, h, now) < 0)
        return say(TIME_WAIT_ACK, DROP_TCP_PAWS, why); /* RFC 7323 5.3 R1 */
    return check_sequence(w, h, payload, now, why);
}

void tcp_time_wait_ack(const struct tcp_time_wait *w, uint16_t src_port, uint16_t dst_port,
                       tick_t now, struct tcp_hdr *h)
{
    *h = (struct tcp_hdr){
        .src_port = src_port,
        .dst_port = dst_port,
        .seq = w->snd_nxt,
        .ack = w->rcv_nxt,
        .flags = TCP_ACK,
        .window = w->window,
    };
    if (w->timestamps) {
        h->options.has_timestamps = true;
        h->options.ts_value = tcp_ts_now(w->ts_offset, now);
        h->options.ts_echo = w->ts_recent;
    }
}
