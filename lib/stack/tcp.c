/* SPDX-License-Identifier: BSD-3-Clause */
/* TCP, in: whose is the segment; what becomes of those that are nobody's; and what routers say of
 * the ones that we sent. */
#include "wire/tcp.h"

#include "base/bytes.h"
#include "stack/session.h"
#include "wire/proto.h"

/* Out */

void segment_output(struct iface *from, const struct flow_key *key, const struct tcp_hdr *h,
                    tick_t now)
{
    struct stack *s = from->stack;
    struct pkt *p = stack_alloc(s);
    if (!p)
        return;
    uint32_t len = (uint32_t)tcp_header_len(&h->options);
    uint8_t *at = pkt_put(p, len);
    assert(at && "a packet of the pool holds the longest header");
    tcp_emit(h, checksum_pseudo(&key->local, &key->remote, IP_PROTO_TCP, len), at);
    counter_add(s->counters, COUNTER_TCP_TX_SEGMENTS, 1);
    struct ip_tx tx = {.iface = from,
                       .src = key->local,
                       .dst = key->remote,
                       .proto = IP_PROTO_TCP,
                       .dont_fragment = true};
    ip_output(s, p, &tx, now);
}

/* RFC 9293 3.10.7.1 */
static void reset(const struct ip_rx *rx, const struct flow_key *key, const struct tcp_hdr *h,
                  tick_t now)
{
    struct stack *s = rx->iface->stack;
    if ((h->flags & TCP_RST) || !limit_take(&s->reset_limit, now))
        return;
    struct tcp_hdr answer = {
        .src_port = key->local_port, .dst_port = key->remote_port, .flags = TCP_RST};
    if (h->flags & TCP_ACK) {
        answer.seq = h->ack;
    } else {
        answer.flags |= TCP_ACK;
        answer.ack = seq32_add(h->seq, tcp_seq_len(h, rx->p->total));
    }
    counter_add(s->counters, COUNTER_TCP_RESETS_TX, 1);
    segment_output(rx->iface, key, &answer, now);
}

void segment_refuse(struct ip_rx *rx, const struct flow_key *key, const struct tcp_hdr *h,
                    enum drop why, tick_t now)
{
    reset(rx, key, h, now);
    stack_drop(rx->iface->stack, rx->p, why);
}

/* In */

/* Options may reach past what ip_in.c has put together behind long extension headers. */
static int parse(const struct ip_rx *rx, struct tcp_hdr *h)
{
    struct pkt *p = rx->p;
    uint32_t want = rx->upper_at + TCP_HEADER_MAX;
    if (want > p->total)
        want = p->total;
    if (p->len < want)
        pkt_pullup(p, want); /* where that fails the parser finds it short */
    if (p->len < rx->upper_at)
        return -WIRE_TCP_SHORT;
    return tcp_parse(p->data + rx->upper_at, p->len - rx->upper_at, p->total - rx->upper_at, h);
}

static bool checksum_bad(const struct ip_rx *rx)
{
    const struct pkt *p = rx->p;
    if (p->flags & (PKT_RX_L4_CSUM_OK | PKT_RX_L4_CSUM_BAD))
        return p->flags & PKT_RX_L4_CSUM_BAD;
    uint32_t len = p->total - rx->upper_at;
    struct checksum c = checksum_pseudo(&rx->src, &rx->dst, IP_PROTO_TCP, len);
    return !checksum_ok(checksum_pkt(p, rx->upper_at, len, c));
}

static void conn_input(struct conn *c, struct ip_rx *rx, const struct tcp_hdr *h, tick_t now)
{
    seq32_t una = c->tcp.sender.una;
    tcp_input(&c->tcp, h, rx->p, rx->traffic_class & ECN_CE, now);
    if (!seq32_eq(una, c->tcp.sender.una)) {
        conn_progress(c, now);
        session_sent(c);
    }
    conn_settle(c, now);
}

/* Of no connection and no TIME-WAIT. */
static void stranger_input(struct ip_rx *rx, const struct flow_key *key, const struct tcp_hdr *h,
                           tick_t now)
{
    struct listener *l = listener_find(rx->iface->stack, &rx->dst, h->dst_port);
    if (l)
        listener_input(l, rx, key, h, NULL, now);
    else
        segment_refuse(rx, key, h, DROP_TCP_PORT, now);
}

static void dispatch(struct ip_rx *rx, const struct tcp_hdr *h, tick_t now)
{
    struct stack *s = rx->iface->stack;
    struct flow_key key = flow_key_of(&rx->dst, h->dst_port, &rx->src, h->src_port, IP_PROTO_TCP);
    struct flow *f = flow_find(s->flows, &key);
    rx->p = pkt_advance(rx->p, rx->upper_at + h->len);
    if (!f)
        stranger_input(rx, &key, h, now);
    else if (f->kind == FLOW_CONN)
        conn_input(conn_of_flow(f), rx, h, now);
    else
        time_wait_input(time_wait_of_flow(f), rx, &key, h, now);
}

void segment_input(struct ip_rx *rx, tick_t now)
{
    struct stack *s = rx->iface->stack;
    struct tcp_hdr h;
    stack_count(s, rx->p, COUNTER_TCP_RX_SEGMENTS, 1);
    /* RFC 9293 3.9.2.3, MUST-57 */
    int n = rx->group || rx->link_group ? -(int)DROP_TCP_DESTINATION : parse(rx, &h);
    if (n > 0 && checksum_bad(rx))
        n = -WIRE_TCP_CHECKSUM;
    if (n < 0)
        stack_drop(s, rx->p, (enum drop) - n);
    else
        dispatch(rx, &h, now);
}

/* What ICMP says */

/* The connection that sent what is quoted, if that is in flight: nobody off the path can know
 * (RFC 5927 4.1). NULL: none. */
static struct conn *quoted_conn(const struct ip_rx *rx, const struct segment_quote *q)
{
    if (!rx->local || !ip_eq(q->src, &rx->dst) || q->len < 8)
        return NULL;
    struct flow_key key =
        flow_key_of(q->src, load_be16(q->upper), q->dst, load_be16(q->upper + 2), IP_PROTO_TCP);
    struct flow *f = flow_find(rx->iface->stack->flows, &key);
    if (!f || f->kind != FLOW_CONN)
        return NULL;
    struct conn *c = conn_of_flow(f);
    return tcp_in_flight(&c->tcp, seq32(load_be32(q->upper + 4))) ? c : NULL;
}

void segment_error(struct ip_rx *rx, const struct segment_quote *q, tick_t now)
{
    struct stack *s = rx->iface->stack;
    struct conn *c = quoted_conn(rx, q);
    if (!c) {
        stack_drop(s, rx->p, DROP_ICMP_ERROR_UNMATCHED);
        return;
    }
    counter_add(s->counters, COUNTER_ICMP_RX_ERRORS, 1);
    if (q->trouble == SEGMENT_TOO_BIG) {
        icmp_too_big(rx, q->dst, q->mtu, q->sent, now);
        conn_refresh(c, now);
    } else {
        tcp_unreachable(&c->tcp, q->trouble == SEGMENT_UNREACHABLE_HARD, now);
        pkt_free(rx->p);
    }
    conn_settle(c, now);
}
