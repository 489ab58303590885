/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments out: what may go (windows, pacing, Nagle, silly windows), in which order (resets, SYN,
 * what was lost, probes, new data, a bare ACK), and how a segment is put together. Data is taken
 * from the stream's promises at each transmission; where the device takes chains, packets that
 * wait there are sliced, not copied.
 */
#include "base/invariant.h"
#include "tcp/internal.h"
#include "tcp/isn.h"
#include "wire/proto.h"

/* Payload from which slices are worth their descriptors. */
#define SLICE_MIN 256u
/* A device that takes chains takes at least so many views, one of them the headers'. */
#define VIEWS_MAX 7u
/* Payload of one TSO packet, at most. */
#define TSO_MAX 61440u
/* What pacing may catch up on after it was late. */
#define PACE_SLACK (TICK_MS / 4)
/* Shorter round trips are not worth a timer for each burst. */
#define PACE_RTT_MIN TICK_MS

/* ---- one segment ---- */

struct segment {
    seq32_t seq;
    uint32_t len; /* of data */
    uint16_t flags;
    bool again; /* a retransmission or a probe */
};

static void fill_options(struct tcp_conn *c, bool syn, tick_t now, struct tcp_options *o)
{
    *o = (struct tcp_options){0};
    if (conn_has(c, TCP_CONN_TIMESTAMPS)) {
        o->has_timestamps = true;
        o->ts_value = tcp_ts_now(c->ts_offset, now);
        o->ts_echo = c->ts_recent;
    }
    if (syn) {
        o->has_mss = true;
        o->mss = conn_mss_announced(c);
        o->sack_permitted = conn_has(c, TCP_CONN_SACK);
        o->has_wscale = conn_has(c, TCP_CONN_SCALED);
        o->wscale = receiver_scale_for(c->tcp->settings->receive_buffer_max);
        return;
    }
    unsigned room = tcp_sack_room(o);
    o->n_sack = (uint8_t)receiver_sacks(&c->receiver, o->sack, room);
}

/* Where the option takes more room than usual, the data has less (RFC 9293 3.7.1, RFC 6691 2). */
static uint32_t payload_room(const struct tcp_conn *c, const struct tcp_options *o)
{
    uint32_t usual = conn_has(c, TCP_CONN_TIMESTAMPS) ? TCP_LEN + TCP_TIMESTAMPS_LEN : TCP_LEN;
    return c->sender.mss - ((uint32_t)tcp_header_len(o) - usual);
}

/* Data of the stream, with headroom before it. NULL: no memory. */
static struct pkt *payload(struct tcp_conn *c, seq32_t seq, uint32_t len)
{
    struct pkt_pool *pool = c->tcp->pool;
    if (len == 0)
        return pkt_alloc(pool);
    uint64_t offset = (uint64_t)(uint32_t)seq32_diff(seq, conn_data_start(c));
    const struct vec_queue *q = &c->stream.out;
    if (!c->path.multi || len < SLICE_MIN)
        return vec_queue_pkt(q, pool, offset, len);
    struct pkt *data = vec_queue_slice(q, pool, offset, len, VIEWS_MAX);
    if (!data)
        return vec_queue_pkt(q, pool, offset, len);
    struct pkt *head = pkt_alloc(pool);
    if (head)
        pkt_append(head, data);
    else
        pkt_free(data);
    return head;
}

/* The header goes before p, with its checksum or what the device makes one of. */
static void put_header(struct tcp_conn *c, struct pkt *p, struct tcp_hdr *h)
{
    const struct flow_key *k = c->key;
    uint32_t data = p->total;
    size_t len = tcp_header_len(&h->options);
    uint32_t total = data + (uint32_t)len;
    uint8_t *at = pkt_push(p, (uint16_t)len);
    assert(at && "packets of the pool have headroom for every header");
    if (c->path.checksum) {
        /* A device that cuts segments adds each one's length itself. */
        uint32_t summed = p->flags & PKT_TX_TSO ? 0 : total;
        struct checksum pseudo = checksum_pseudo(&k->local, &k->remote, IP_PROTO_TCP, summed);
        tcp_emit_offload(h, pseudo, at);
        p->flags |= PKT_TX_L4_CSUM;
        p->l4_proto = IP_PROTO_TCP;
        p->l4_len = (uint16_t)len;
    } else {
        struct checksum sum = checksum_pseudo(&k->local, &k->remote, IP_PROTO_TCP, total);
        tcp_emit(h, checksum_pkt(p, (uint32_t)len, data, sum), at);
    }
}

/* RFC 3168 6.1.4, 6.1.5: only data, and only the first time, is sent as ECN-capable. */
static uint8_t ecn_field(const struct tcp_conn *c, const struct segment *s)
{
    return conn_has(c, TCP_CONN_ECN) && !conn_has(c, TCP_CONN_NO_ECT) && s->len > 0 && !s->again &&
                   !(s->flags & TCP_SYN)
               ? ECN_ECT0
               : ECN_NOT_ECT;
}

static uint16_t ecn_flags(struct tcp_conn *c, const struct segment *s)
{
    if (!conn_has(c, TCP_CONN_ECN))
        return 0;
    if (s->flags & TCP_SYN) { /* RFC 3168 6.1.1; 6.1.1.1: without it where it may be why a SYN is
                                 lost */
        if (s->flags & TCP_ACK)
            return TCP_ECE;
        if (!s->again)
            return TCP_ECE | TCP_CWR;
        conn_set(c, TCP_CONN_NO_ECT); /* RFC 3168 6.1.1 */
        return 0;
    }
    uint16_t flags = conn_has(c, TCP_CONN_ECE_DUE) ? TCP_ECE : 0;
    if (c->sender.cwr_due && s->len > 0 && !s->again) {
        flags |= TCP_CWR;
        c->sender.cwr_due = false;
    }
    return flags;
}

/* Header fields and options of s; everything but the sequence of SYN-SENT acknowledges. */
static void fill_header(struct tcp_conn *c, const struct segment *s,
                        const struct tcp_options *options, struct tcp_hdr *h)
{
    bool syn = s->flags & TCP_SYN;
    *h = (struct tcp_hdr){.src_port = c->key->local_port,
                          .dst_port = c->key->remote_port,
                          .seq = s->seq,
                          .flags = (uint16_t)(s->flags | ecn_flags(c, s)),
                          .options = *options};
    if (!(s->flags & TCP_ACK)) { /* the receiver has not begun */
        uint32_t size = c->tcp->settings->receive_buffer;
        h->window = size > UINT16_MAX ? UINT16_MAX : (uint16_t)size;
        return;
    }
    h->ack = c->receiver.nxt;
    bool lean = tcp_lean(c->tcp);
    c->receiver.slow |= (c->stream.bits & STREAM_HELD) != 0;
    h->window = receiver_window(&c->receiver, syn, lean);
    c->tcp->starved |= lean && h->window == 0 && c->receiver.unconsumed < c->receiver.size;
}

/* It carries an acknowledgment: none is due any more. */
static void acked_by(struct tcp_conn *c, const struct segment *s, tick_t now)
{
    if (!(s->flags & TCP_ACK))
        return;
    conn_clear(c, TCP_CONN_ACK_DUE);
    if (c->receiver.dsack_due)
        conn_count(c, COUNTER_TCP_DSACK_TX, 1);
    receiver_acked(&c->receiver, now);
}

/* mss: 0, or p is for the device to cut in so large pieces. False: no memory. */
static bool transmit(struct tcp_conn *c, const struct segment *s, const struct tcp_options *options,
                     uint32_t mss, tick_t now)
{
    struct pkt *p = payload(c, s->seq, s->len);
    if (!p) {
        counter_drop(c->tcp->counters, DROP_NO_MEMORY);
        return false;
    }
    if (mss) {
        p->flags |= PKT_TX_TSO;
        p->tso_mss = (uint16_t)mss;
    }
    uint8_t ecn = ecn_field(c, s);
    struct tcp_hdr h;
    fill_header(c, s, options, &h);
    put_header(c, p, &h);
    acked_by(c, s, now);
    unsigned n = mss ? (s->len + mss - 1) / mss : 1;
    c->tx_segments += n;
    conn_count(c, COUNTER_TCP_TX_SEGMENTS, n);
    c->tcp->transmit(c, p, ecn, now);
    return true;
}

/* A segment without data. */
static bool transmit_bare(struct tcp_conn *c, seq32_t seq, uint16_t flags, tick_t now)
{
    struct segment s = {.seq = seq, .flags = flags, .again = true};
    struct tcp_options options;
    fill_options(c, false, now, &options);
    return transmit(c, &s, &options, 0, now);
}

/* ---- resets ---- */

void conn_reset_at(struct tcp_conn *c, seq32_t seq, tick_t now)
{
    bool synchronized = c->state > TCP_SYN_RECEIVED;
    struct segment s = {
        .seq = seq, .flags = synchronized ? TCP_RST | TCP_ACK : TCP_RST, .again = true};
    struct tcp_options options = {0};
    if (transmit(c, &s, &options, 0, now))
        conn_count(c, COUNTER_TCP_RESETS_TX, 1);
}

/* The service wants no more of it (RFC 9293 3.10.5). */
static unsigned abort_now(struct tcp_conn *c, tick_t now)
{
    bool tell = c->state == TCP_SYN_RECEIVED || c->state == TCP_ESTABLISHED ||
                c->state == TCP_FIN_WAIT_1 || c->state == TCP_FIN_WAIT_2 ||
                c->state == TCP_CLOSE_WAIT;
    conn_clear(c, TCP_CONN_RST_DUE);
    if (tell)
        conn_reset_at(c, c->sender.nxt, now);
    if (c->state != TCP_CLOSED)
        conn_fail(c, STREAM_KILLED);
    return tell;
}

/* ---- SYN ---- */

static unsigned send_syn(struct tcp_conn *c, tick_t now)
{
    bool first = seq32_eq(c->sender.nxt, c->iss);
    struct segment s = {.seq = c->iss,
                        .flags = c->state == TCP_SYN_SENT ? TCP_SYN : TCP_SYN | TCP_ACK,
                        .again = !first};
    if (first && !sender_can_send(&c->sender))
        return 0;
    struct tcp_options options;
    fill_options(c, true, now, &options);
    if (!transmit(c, &s, &options, 0, now))
        return 0;
    conn_clear(c, TCP_CONN_SYN_DUE);
    if (first) {
        sender_sent(&c->sender, 1, false, now);
    } else {
        conn_count(c, COUNTER_TCP_RETRANSMITS, 1);
        sender_resent(&c->sender, sender_last(&c->sender), now);
    }
    return 1;
}

/* ---- what was sent before ---- */

/* Numbers of seg that are data: not the FIN behind it. */
static uint32_t data_of(const struct tcp_conn *c, const struct tcp_seg *seg)
{
    bool fin =
        conn_has(c, TCP_CONN_FIN_SENT) && seq32_eq(seq32_add(seg->seq, seg->len), c->sender.nxt);
    return seg->len - fin;
}

/* A record as a segment once more. False: no memory. */
static bool resend(struct tcp_conn *c, struct tcp_seg *seg, tick_t now)
{
    struct tcp_options options;
    fill_options(c, false, now, &options);
    uint32_t most = payload_room(c, &options);
    if (data_of(c, seg) > most)
        sender_split(&c->sender, &seg, most);
    uint32_t data = data_of(c, seg);
    struct segment s = {.seq = seg->seq, .len = data, .flags = TCP_ACK, .again = true};
    if (data > most) /* no memory for two records: what is missing will be found lost again */
        s.len = most;
    else
        s.flags |= data < seg->len ? TCP_FIN : TCP_PSH;
    if (!transmit(c, &s, &options, 0, now))
        return false;
    conn_count(c, COUNTER_TCP_RETRANSMITS, 1);
    conn_count(c, COUNTER_TCP_RETRANSMIT_BYTES, s.len);
    sender_resent(&c->sender, seg, now);
    return true;
}

/* ---- what is new ---- */

static bool paced(const struct tcp_conn *c)
{
    return !c->tcp->settings->no_pacing && c->sender.rtt.srtt >= PACE_RTT_MIN;
}

static void pace(struct tcp_conn *c, uint32_t len, tick_t now)
{
    uint64_t rate = tcp_cc_pacing_rate(&c->sender.cc, c->sender.rtt.srtt);
    if (!paced(c) || rate == 0)
        return;
    tick_t from = now > PACE_SLACK ? now - PACE_SLACK : 0;
    if (c->pace_at > from)
        from = c->pace_at;
    c->pace_at = from + len * TICK_SEC / rate;
}

/* RFC 9293 3.8.6.2.1: is a segment of len bytes, of which there are more, worth sending? */
static bool worth_sending(const struct tcp_conn *c, uint32_t len, uint64_t unsent)
{
    if (len >= c->sender.mss)
        return true;
    if (c->tcp->settings->nagle && !sender_idle(&c->sender)) /* RFC 9293 3.7.4: waits for more */
        return len == unsent && (c->stream.bits & STREAM_OUT_END);
    if (len == unsent) /* all there is */
        return true;
    return len >= c->snd_wnd_max / 2 && len > 0;
}

/* Bytes of the next new segment by all windows, before options take their room; *fin: the FIN goes
 * with it. False: nothing. */
static bool next_new(const struct tcp_conn *c, uint32_t *len, bool *fin)
{
    *len = 0;
    *fin = false;
    const struct inflight *f = &c->sender.inflight;
    if (!conn_may_send(c) || !conn_has_new(c) || f->tail - f->head >= f->max)
        return false;
    uint32_t usable = tcp_usable(c);
    uint32_t room = sender_room(&c->sender);
    if (usable == 0 || room == 0)
        return false;
    uint64_t unsent = conn_unsent(c);
    uint32_t n = c->sender.mss;
    if (n > unsent)
        n = (uint32_t)unsent;
    if (n > usable)
        n = usable;
    if (n > room && !sender_idle(&c->sender)) /* no crumbs: an ACK will make room for all of it */
        return false;
    if (unsent > 0 && !worth_sending(c, n, unsent))
        return false;
    *len = n;
    *fin = n == unsent && n < usable && (c->stream.bits & STREAM_OUT_END) &&
           !conn_has(c, TCP_CONN_FIN_SENT);
    return n > 0 || *fin;
}

bool conn_new_ready(const struct tcp_conn *c)
{
    uint32_t len;
    bool fin;
    return next_new(c, &len, &fin);
}

void conn_fin_sent(struct tcp_conn *c)
{
    conn_set(c, TCP_CONN_FIN_SENT);
    conn_set_state(c, c->state == TCP_ESTABLISHED ? TCP_FIN_WAIT_1 : TCP_LAST_ACK);
}

/* As many full segments as go out as one packet that the device cuts; len where it cuts none. */
static uint32_t widen_for_tso(const struct tcp_conn *c, uint32_t len, uint32_t most)
{
    if (!c->path.tso || !c->path.multi || len < c->sender.mss)
        return len;
    uint64_t n = conn_unsent(c);
    uint32_t usable = tcp_usable(c), room = sender_room(&c->sender);
    const struct inflight *f = &c->sender.inflight;
    uint64_t records = f->mask + 1 - (f->tail - f->head); /* that need no memory any more */
    n = n < records * c->sender.mss ? n : records * c->sender.mss;
    n = n < usable ? n : usable;
    n = n < room ? n : room;
    n = n < most ? n : most;
    n = n < TSO_MAX ? n : TSO_MAX;
    n -= n % c->sender.mss;
    return n > len ? (uint32_t)n : len;
}

/* The records of what went out as one packet. */
static void record_sent(struct tcp_conn *c, uint32_t len, bool fin, uint32_t mss, tick_t now)
{
    bool limited = conn_unsent(c) <= len;
    conn_clear(c, TCP_CONN_PROBE_OUT); /* its number is nxt no more */
    while (len > mss) {
        sender_sent(&c->sender, mss, limited, now);
        len -= mss;
    }
    sender_sent(&c->sender, len + fin, limited, now);
}

/* 0, or how many segments: nothing may go, or no memory. */
static unsigned send_new(struct tcp_conn *c, uint32_t most, tick_t now)
{
    uint32_t len;
    bool fin;
    if (sender_idle(&c->sender))
        sender_wakes(&c->sender, now);
    if (!next_new(c, &len, &fin) || !sender_can_send(&c->sender))
        return 0;
    struct tcp_options options;
    fill_options(c, false, now, &options);
    uint32_t mss = payload_room(c, &options);
    if (len > mss) {
        len = mss;
        fin = false;
    }
    uint32_t wide = fin || options.n_sack ? len : widen_for_tso(c, len, most);
    struct segment s = {.seq = c->sender.nxt, .len = wide, .flags = TCP_ACK};
    if (fin)
        s.flags |= TCP_FIN;
    if (wide == conn_unsent(c) && wide > 0)
        s.flags |= TCP_PSH; /* RFC 9293 3.9.1.2 */
    if (!transmit(c, &s, &options, wide > mss ? mss : 0, now))
        return 0;
    record_sent(c, wide, fin, mss, now);
    if (fin)
        conn_fin_sent(c);
    c->tx_bytes += wide;
    conn_count(c, COUNTER_TCP_TX_BYTES, wide);
    pace(c, wide, now);
    return (wide + mss - 1) / mss + (wide == 0);
}

/* ---- probes ---- */

/* Tail loss probe: something new if the window has room for it, else the last again. */
static unsigned send_tlp(struct tcp_conn *c, tick_t now)
{
    const struct inflight *f = &c->sender.inflight;
    conn_clear(c, TCP_CONN_TLP_DUE);
    if (sender_idle(&c->sender) || f->sacked > 0 || f->lost > 0) /* word of it has come meanwhile */
        return 0;
    uint64_t unsent = conn_unsent(c);
    uint32_t usable = tcp_usable(c);
    uint32_t len = c->sender.mss;
    len = len < unsent ? len : (uint32_t)unsent;
    len = len < usable ? len : usable;
    if (len == 0 || !conn_may_send(c) || !sender_can_send(&c->sender)) {
        bool sent = resend(c, sender_last(&c->sender), now);
        if (sent)
            sender_probed(&c->sender, true, now);
        return sent;
    }
    struct tcp_options options;
    fill_options(c, false, now, &options);
    uint32_t mss = payload_room(c, &options);
    len = len < mss ? len : mss;
    struct segment s = {.seq = c->sender.nxt, .len = len, .flags = TCP_ACK | TCP_PSH};
    if (!transmit(c, &s, &options, 0, now))
        return 0;
    record_sent(c, len, false, mss, now);
    sender_probed(&c->sender, false, now);
    c->tx_bytes += len;
    conn_count(c, COUNTER_TCP_TX_BYTES, len);
    return 1;
}

/*
 * The peer's window is shut, or too small for a segment, and nothing in flight will bring word of
 * another (RFC 9293 3.8.6.1): one byte beyond it, which is noted as sent only when it is taken; or
 * what the window has room for (3.8.6.2.1, the override).
 */
static unsigned send_window_probe(struct tcp_conn *c, tick_t now)
{
    conn_clear(c, TCP_CONN_PROBE_DUE);
    if (!conn_may_send(c) || !conn_has_new(c) || !sender_idle(&c->sender))
        return 0;
    struct tcp_options options;
    fill_options(c, false, now, &options);
    uint64_t unsent = conn_unsent(c);
    uint32_t usable = tcp_usable(c), most = payload_room(c, &options);
    bool beyond = usable == 0;
    if (beyond)
        usable = 1;
    if (usable < most)
        most = usable;
    struct segment s = {.seq = c->sender.nxt, .flags = TCP_ACK, .again = true};
    s.len = most < unsent ? most : (uint32_t)unsent;
    if (unsent == 0)
        s.flags |= TCP_FIN;
    if (!beyond && !sender_can_send(&c->sender))
        return 0;
    if (!transmit(c, &s, &options, 0, now))
        return 0;
    conn_count(c, COUNTER_TCP_WINDOW_PROBES, 1);
    if (beyond) {
        conn_set(c, TCP_CONN_PROBE_OUT);
        return 1;
    }
    record_sent(c, s.len, unsent == 0, c->sender.mss, now);
    if (unsent == 0)
        conn_fin_sent(c);
    c->tx_bytes += s.len;
    conn_count(c, COUNTER_TCP_TX_BYTES, s.len);
    return 1;
}

/* RFC 9293 3.8.4: a number that was acknowledged, so that the peer answers. */
static unsigned send_keepalive(struct tcp_conn *c, tick_t now)
{
    conn_clear(c, TCP_CONN_KEEP_DUE);
    if (!transmit_bare(c, seq32_sub(c->sender.nxt, 1), TCP_ACK, now))
        return 0;
    conn_count(c, COUNTER_TCP_KEEPALIVES, 1);
    return 1;
}

/* ---- all of it ---- */

static bool ack_due(const struct tcp_conn *c)
{
    return conn_has(c, TCP_CONN_ACK_DUE) || c->receiver.ack == RECEIVER_ACK_NOW;
}

static bool in_handshake(const struct tcp_conn *c)
{
    return c->state == TCP_SYN_SENT || c->state == TCP_SYN_RECEIVED;
}

/* Only what one call of tcp_output sends before data. */
static unsigned send_probes(struct tcp_conn *c, tick_t now)
{
    unsigned n = 0;
    if (conn_has(c, TCP_CONN_TLP_DUE))
        n += send_tlp(c, now);
    if (conn_has(c, TCP_CONN_PROBE_DUE))
        n += send_window_probe(c, now);
    if (conn_has(c, TCP_CONN_KEEP_DUE))
        n += send_keepalive(c, now);
    return n;
}

/* Retransmissions and new data. */
static unsigned send_data(struct tcp_conn *c, unsigned segments, uint32_t bytes, tick_t now)
{
    unsigned n = 0;
    uint32_t again = 0; /* counts like what is new: others wait for it as long */
    while (n < segments && again < bytes && sender_resends(&c->sender)) {
        struct tcp_seg *seg = sender_resend(&c->sender);
        again += seg ? data_of(c, seg) : 0;
        if (!seg || !resend(c, seg, now))
            return n;
        n++;
    }
    uint64_t budget = c->tx_bytes + (again < bytes ? bytes - again : 0);
    while (n < segments && c->tx_bytes < budget && now >= c->pace_at) {
        unsigned sent = send_new(c, (uint32_t)(budget - c->tx_bytes), now);
        if (sent == 0)
            break;
        n += sent;
    }
    return n;
}

static unsigned output(struct tcp_conn *c, unsigned segments, uint32_t bytes, tick_t now)
{
    if (conn_has(c, TCP_CONN_RST_DUE))
        return abort_now(c, now);
    if (c->state == TCP_CLOSED)
        return 0;
    if (conn_has(c, TCP_CONN_SYN_DUE))
        return send_syn(c, now);
    if (in_handshake(c)) /* RFC 5961: challenges in SYN-RECEIVED */
        return conn_has(c, TCP_CONN_ACK_DUE) && transmit_bare(c, c->sender.nxt, TCP_ACK, now);
    unsigned n = send_probes(c, now);
    if (n < segments)
        n += send_data(c, segments - n, bytes, now);
    if (ack_due(c) && transmit_bare(c, c->sender.nxt, TCP_ACK, now))
        n++;
    return n;
}

unsigned tcp_output(struct tcp_conn *c, unsigned segments, uint32_t bytes, tick_t now)
{
    c->tcp->now = now;
    unsigned n = output(c, segments, bytes, now);
    conn_arm(c, now);
    conn_charge(c);
    invariant(tcp_conn_ok(c));
    return n;
}

bool tcp_wants_output(const struct tcp_conn *c, tick_t now)
{
    if (c->flags & TCP_CONN_DUE)
        return true;
    if (c->state == TCP_CLOSED || in_handshake(c))
        return false;
    return ack_due(c) || sender_resends(&c->sender) || (now >= c->pace_at && conn_new_ready(c));
}
