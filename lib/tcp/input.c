/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A segment arrives (RFC 9293 3.10.7), in the order of that text: is it in the window, is it a
 * reset, a SYN; then its acknowledgment, its data, its FIN.
 */
#include "base/invariant.h"
#include "tcp/internal.h"
#include "tcp/isn.h"

/* RFC 7323 5.5: a timestamp is no judge after so long a silence. */
#define PAWS_IDLE (UINT64_C(24) * 24 * 3600 * TICK_SEC)

/* So many bursts of challenges make a second's. */
#define CHALLENGE_BURST 10u

/* A segment while it is being dealt with. */
struct arrival {
    struct tcp_hdr h; /* SYN is taken off where it repeats the handshake's */
    struct pkt *p;    /* its data; NULL once taken */
    uint32_t payload;
    uint32_t seq_len;
    uint8_t ecn;
    bool repeated; /* it had something that was taken off */
    tick_t echoed; /* when what it answers was sent, by its timestamp; TICK_NEVER: unknown */
    tick_t now;
};

static void drop(struct tcp_conn *c, struct arrival *a, enum drop why)
{
    conn_drop(c, a->p, why);
    a->p = NULL;
}

bool tcp_challenge(struct tcp *t, tick_t now)
{
    if (now >= t->challenge_round) {
        uint32_t rate = t->settings->challenge_rate;
        rate = rate / 2 + (uint32_t)rng_below(t->rng, rate) + 1; /* from half to one and a half */
        limit_init(&t->challenges, rate, rate / CHALLENGE_BURST + 1, now);
        t->challenge_round = now + TICK_SEC;
    }
    bool may = limit_take(&t->challenges, now);
    counter_add(t->counters, may ? COUNTER_TCP_CHALLENGES : COUNTER_TCP_CHALLENGES_LIMITED, 1);
    return may;
}

void conn_challenge(struct tcp_conn *c, tick_t now)
{
    if (tcp_challenge(c->tcp, now))
        conn_set(c, TCP_CONN_ACK_DUE);
}

/* The time at which our clock showed what the segment echoes, to its millisecond. */
static tick_t echoed_at(const struct tcp_conn *c, const struct tcp_hdr *h, tick_t now)
{
    if (!conn_has(c, TCP_CONN_TIMESTAMPS) || !h->options.has_timestamps || !(h->flags & TCP_ACK))
        return TICK_NEVER;
    uint32_t age = tcp_ts_now(c->ts_offset, now) - h->options.ts_echo; /* ms */
    tick_t ms = now / TICK_MS;
    if (age > ms || (ms - age) < c->opened_at / TICK_MS) /* older than the connection */
        return TICK_NEVER;
    return (ms - age) * TICK_MS;
}

/* ---- SYN-SENT ---- */

static void syn_sent_ack_bad(struct tcp_conn *c, struct arrival *a)
{
    if (!(a->h.flags & TCP_RST))
        conn_reset_at(c, a->h.ack, a->now);
    drop(c, a, DROP_TCP_ACK);
}

/* Is ack of something that was sent and not acknowledged? */
static bool acks_new(const struct tcp_conn *c, seq32_t ack)
{
    const struct tcp_sender *s = &c->sender;
    return seq32_between(ack, seq32_add(s->una, 1), seq32_add(s->nxt, 1));
}

/* Passes the acknowledgment of our SYN on. */
static void take_syn_ack(struct tcp_conn *c, const struct arrival *a)
{
    struct sender_result r;
    struct sender_ack ack = {.ack = a->h.ack, .echoed = a->echoed};
    sender_ack(&c->sender, &ack, a->now, &r);
    conn_set(c, TCP_CONN_SYN_ACKED);
    c->snd_wl2 = a->h.ack;
}

static void open_by_syn(struct tcp_conn *c, struct arrival *a)
{
    conn_begin_receiving(c, a->h.seq);
    conn_negotiate(c, &a->h);
    c->ts_recent_at = a->now;
}

/* RFC 9293 3.10.7.3 */
static void in_syn_sent(struct tcp_conn *c, struct arrival *a)
{
    const struct tcp_hdr *h = &a->h;
    bool acks = h->flags & TCP_ACK;
    if (acks && !acks_new(c, h->ack)) {
        syn_sent_ack_bad(c, a);
        return;
    }
    if ((h->flags & TCP_RST) && acks) {
        conn_count(c, COUNTER_TCP_RESETS_RX, 1);
        conn_fail(c, STREAM_REFUSED);
        return;
    }
    if (h->flags & TCP_RST) { /* anybody could have sent it */
        drop(c, a, DROP_TCP_RST);
        return;
    }
    if (!(h->flags & TCP_SYN)) {
        drop(c, a, DROP_TCP_STATE);
        return;
    }
    open_by_syn(c, a);
    /* RFC 3168 6.1.1: the answer to an ECN-setup SYN has ECE without CWR. */
    uint16_t ecn = h->flags & (TCP_ECE | TCP_CWR);
    if (acks ? ecn != TCP_ECE : ecn != (TCP_ECE | TCP_CWR))
        conn_clear(c, TCP_CONN_ECN);
    pkt_free(a->p); /* data on a SYN will come again */
    a->p = NULL;
    if (acks) {
        take_syn_ack(c, a);
        conn_set(c, TCP_CONN_ACK_DUE);
        conn_established(c, a->now);
    } else { /* both at once (RFC 9293 3.5, figure 7) */
        conn_set_state(c, TCP_SYN_RECEIVED);
        conn_set(c, TCP_CONN_SYN_DUE);
    }
}

/* ---- its data and FIN ---- */

/* RFC 3168 6.1.3 */
static void take_congestion(struct tcp_conn *c, const struct arrival *a)
{
    if (!conn_has(c, TCP_CONN_ECN))
        return;
    if (a->h.flags & TCP_CWR)
        conn_clear(c, TCP_CONN_ECE_DUE);
    if (a->ecn == ECN_CE) {
        conn_set(c, TCP_CONN_ECE_DUE);
        conn_count(c, COUNTER_TCP_CE_RX, 1);
    }
}

static void peer_finished(struct tcp_conn *c, tick_t now)
{
    stream_arrived_end(&c->stream);
    switch (c->state) {
    case TCP_ESTABLISHED: conn_set_state(c, TCP_CLOSE_WAIT); break;
    case TCP_FIN_WAIT_1: conn_set_state(c, TCP_CLOSING); break;
    case TCP_FIN_WAIT_2:
        conn_set_state(c, TCP_TIME_WAIT);
        c->state_end = now + c->tcp->settings->time_wait;
        conn_finish(c);
        break;
    default: assert(false && "a second end of the peer's data");
    }
}

/* At the bound of memory not even what windows had promised is kept. Its last part is for
 * connections that hold nothing: those whose services and peers read. */
static bool has_room(const struct tcp_conn *c, const struct pkt *p)
{
    const struct tcp *t = c->tcp;
    uint64_t most = c->charged > 0 ? t->memory_max - t->memory_max / 16 : t->memory_max;
    return t->memory + pkt_cost(p) <= most;
}

static void take_data(struct tcp_conn *c, struct arrival *a)
{
    struct receiver_result r;
    if (a->payload > 0 && !has_room(c, a->p)) {
        drop(c, a, DROP_TCP_MEMORY);
        return;
    }
    struct pkt *p = a->payload > 0 ? a->p : NULL;
    if (!p)
        pkt_free(a->p);
    a->p = NULL;
    take_congestion(c, a);
    if (a->echoed != TICK_NEVER && a->payload > 0)
        receiver_rtt(&c->receiver, tick_since(a->now, a->echoed) + TICK_MS);
    receiver_input(&c->receiver, a->h.seq, p, a->h.flags & TCP_FIN, tcp_lean(c->tcp), a->now, &r);
    if (r.drop != DROP_NONE)
        counter_drop(c->tcp->counters, r.drop);
    if (r.reordered)
        conn_count(c, COUNTER_TCP_REORDERED, 1);
    if (r.bytes > 0) {
        c->rx_bytes += r.bytes;
        conn_count(c, COUNTER_TCP_RX_BYTES, r.bytes);
        stream_arrived(&c->stream, r.data);
    }
    if (r.end)
        peer_finished(c, a->now);
    if (c->state == TCP_FIN_WAIT_2 && r.bytes > 0) /* what is repeated moves nothing */
        c->state_end = a->now + c->tcp->settings->fin_timeout;
}

/* ---- later states: is it acceptable? ---- */

/* RFC 7323 5.3 R1; false: it was dropped. */
static bool paws_ok(struct tcp_conn *c, struct arrival *a)
{
    const struct tcp_options *o = &a->h.options;
    if (!conn_has(c, TCP_CONN_TIMESTAMPS) || (a->h.flags & TCP_RST))
        return true;
    if (!o->has_timestamps && (a->h.flags & TCP_SYN))
        return true;          /* answered whatever it is like: RFC 5961 4.2 */
    if (!o->has_timestamps) { /* RFC 7323 3.2 */
        drop(c, a, DROP_TCP_PAWS);
        return false;
    }
    bool older = seq32_lt(seq32(o->ts_value), seq32(c->ts_recent));
    if (!older || tick_since(a->now, c->ts_recent_at) > PAWS_IDLE)
        return true;
    conn_challenge(c, a->now);
    drop(c, a, DROP_TCP_PAWS);
    return false;
}

/* RFC 7323 4.3 (2) */
static void remember_timestamp(struct tcp_conn *c, const struct arrival *a)
{
    const struct tcp_options *o = &a->h.options;
    if (!conn_has(c, TCP_CONN_TIMESTAMPS) || !o->has_timestamps)
        return;
    if (seq32_ge(seq32(o->ts_value), seq32(c->ts_recent)) &&
        seq32_le(a->h.seq, c->receiver.acked)) {
        c->ts_recent = o->ts_value;
        c->ts_recent_at = a->now;
    } else if (tick_since(a->now, c->ts_recent_at) > PAWS_IDLE) {
        c->ts_recent = o->ts_value;
        c->ts_recent_at = a->now;
    }
}

/*
 * A keepalive, a probe, or the last FIN again: its sender is owed an answer. What it acknowledges
 * counts, for where each side has taken a window probe's byte, and the other does not know that
 * yet, all ACKs are numbered so. False: it was dropped.
 */
static bool last_number_again(struct tcp_conn *c, struct arrival *a)
{
    conn_set(c, TCP_CONN_ACK_DUE);
    if (c->state == TCP_SYN_RECEIVED || (a->h.flags & TCP_SYN)) {
        drop(c, a, DROP_TCP_DUPLICATE);
        return false;
    }
    if (c->state == TCP_TIME_WAIT && (a->h.flags & TCP_FIN)) /* RFC 9293 3.10.7.4, "eighth" */
        c->state_end = a->now + c->tcp->settings->time_wait;
    a->repeated = true;
    a->h.seq = c->receiver.nxt;
    a->h.flags &= (uint16_t)~TCP_FIN;
    a->seq_len = 0;
    return true;
}

/* The first step (RFC 9293 3.10.7.4). False: it was dropped. */
static bool sequence_ok(struct tcp_conn *c, struct arrival *a)
{
    const struct tcp_receiver *r = &c->receiver;
    if (receiver_acceptable(r, a->h.seq, a->seq_len))
        return true;
    /* "If the RCV.WND is zero ... special allowance should be made to accept valid ACKs". */
    if (seq32_eq(a->h.seq, r->nxt))
        return true;
    if (a->h.flags & TCP_RST) {
        drop(c, a, DROP_TCP_RST);
        return false;
    }
    /* So an ACK is numbered that follows a full window of which something was lost. */
    if (a->seq_len == 0 && seq32_eq(a->h.seq, r->right))
        return true;
    if (a->payload == 0 && a->seq_len <= 1 && seq32_eq(a->h.seq, seq32_sub(r->nxt, 1)))
        return last_number_again(c, a);
    if (a->payload > 0 && !(a->h.flags & TCP_SYN) && seq32_lt(a->h.seq, r->nxt)) {
        /* Received before: told by D-SACK (RFC 2883 4), and its sender is answered. */
        take_data(c, a);
        conn_set(c, TCP_CONN_ACK_DUE);
    } else {
        conn_challenge(c, a->now);
        drop(c, a, DROP_TCP_SEQUENCE);
    }
    return false;
}

/* The second (RFC 9293 3.10.7.4, RFC 5961 3.2). */
static void on_reset(struct tcp_conn *c, struct arrival *a)
{
    if (c->state == TCP_TIME_WAIT) { /* RFC 1337 3 */
        drop(c, a, DROP_TCP_RST);
        return;
    }
    if (!seq32_eq(a->h.seq, c->receiver.nxt)) {
        conn_challenge(c, a->now);
        drop(c, a, DROP_TCP_RST);
        return;
    }
    conn_count(c, COUNTER_TCP_RESETS_RX, 1);
    conn_fail(c, c->state == TCP_SYN_RECEIVED ? STREAM_REFUSED : STREAM_RESET);
}

/*
 * The handshake's SYN once more, in SYN-RECEIVED: ours was lost, or crossed with it (then it has an
 * ACK). False: it was dropped.
 */
static bool repeated_syn(struct tcp_conn *c, struct arrival *a)
{
    if (a->h.flags & TCP_ACK) {
        a->h.seq = seq32_add(a->h.seq, 1);
        a->h.window = (uint16_t)(a->h.window >> c->snd_scale);   /* RFC 7323 2.2: as it stands */
        a->h.flags &= (uint16_t) ~(TCP_SYN | TCP_ECE | TCP_CWR); /* no echo: RFC 3168 6.1.1 */
        a->seq_len--;
        conn_set(c, TCP_CONN_ACK_DUE);
        return true;
    }
    if ((a->h.flags & (TCP_ECE | TCP_CWR)) != (TCP_ECE | TCP_CWR))
        conn_set(c, TCP_CONN_NO_ECT); /* the peer may not heed it any more: RFC 3168 6.1.1 */
    conn_set(c, TCP_CONN_SYN_DUE);
    drop(c, a, DROP_TCP_DUPLICATE);
    return false;
}

/* ---- its acknowledgment ---- */

/* Everything of ours that ack covers may go. */
static void acknowledged(struct tcp_conn *c, uint32_t numbers)
{
    if (numbers == 0)
        return;
    uint64_t bytes = numbers;
    if (!conn_has(c, TCP_CONN_SYN_ACKED)) {
        conn_set(c, TCP_CONN_SYN_ACKED);
        bytes--;
    }
    uint64_t queued = vec_queue_bytes(&c->stream.out);
    if (bytes > queued) { /* and the FIN, behind all of it */
        assert(bytes == queued + 1 && conn_has(c, TCP_CONN_FIN_SENT));
        bytes = queued;
    }
    stream_acked(&c->stream, bytes);
}

static bool fin_acked(const struct tcp_conn *c)
{
    return conn_has(c, TCP_CONN_FIN_SENT) && seq32_eq(c->sender.una, c->sender.nxt);
}

/* More may be queued where more may be in flight. */
static void widen_marks(struct tcp_conn *c)
{
    uint32_t most = c->tcp->settings->send_buffer_max;
    uint64_t want = 2 * (uint64_t)c->sender.cc.cwnd;
    if (want > most)
        want = most;
    if (want > c->stream.high && !tcp_lean(c->tcp))
        stream_set_marks(&c->stream, (uint32_t)want, (uint32_t)want / 2);
}

/* RFC 9293 3.10.7.4, "fifth"; and where una moves in any case, or the window that is not taken
 * would move on with it. True: the window changed. */
static bool take_window(struct tcp_conn *c, const struct tcp_hdr *h)
{
    uint32_t window = (uint32_t)h->window << c->snd_scale;
    bool newer = seq32_gt(h->ack, c->sender.una) || seq32_lt(c->snd_wl1, h->seq) ||
                 (seq32_eq(c->snd_wl1, h->seq) && seq32_le(c->snd_wl2, h->ack));
    if (!newer)
        return false;
    bool changed = window != c->snd_wnd;
    c->snd_wnd = window;
    c->snd_wl1 = h->seq;
    c->snd_wl2 = h->ack;
    if (window > c->snd_wnd_max)
        c->snd_wnd_max = window;
    return changed;
}

/* A window probe's byte was taken: it counts as sent after all. */
static void probe_taken(struct tcp_conn *c, const struct arrival *a)
{
    if (!conn_has(c, TCP_CONN_PROBE_OUT) || !seq32_eq(a->h.ack, seq32_add(c->sender.nxt, 1)) ||
        !sender_can_send(&c->sender))
        return;
    bool fin = conn_fin_next(c);
    sender_sent(&c->sender, 1, true, a->now);
    if (fin) {
        conn_fin_sent(c);
    } else {
        c->tx_bytes++;
        conn_count(c, COUNTER_TCP_TX_BYTES, 1);
    }
    conn_clear(c, TCP_CONN_PROBE_OUT);
}

/* Is this an acknowledgment to believe? RFC 5961 5.2. False: it was dropped. */
static bool ack_ok(struct tcp_conn *c, struct arrival *a)
{
    probe_taken(c, a);
    seq32_t oldest = seq32_sub(c->sender.una, c->snd_wnd_max);
    if (seq32_le(a->h.ack, c->sender.nxt) && seq32_ge(a->h.ack, oldest))
        return true;
    conn_challenge(c, a->now);
    drop(c, a, DROP_TCP_ACK);
    return false;
}

static void take_ack(struct tcp_conn *c, struct arrival *a)
{
    if (seq32_lt(a->h.ack, c->sender.una)) /* an older one than we know */
        return;
    bool changed = take_window(c, &a->h);
    bool ece = conn_has(c, TCP_CONN_ECN) && (a->h.flags & TCP_ECE);
    struct sender_ack ack = {.ack = a->h.ack,
                             .sack = a->h.options.sack,
                             .n_sack = conn_has(c, TCP_CONN_SACK) ? a->h.options.n_sack : 0,
                             .echoed = a->echoed,
                             .ece = ece,
                             .plain = a->seq_len == 0 && !a->repeated && !changed};
    struct sender_result r;
    sender_ack(&c->sender, &ack, a->now, &r);
    acknowledged(c, r.acked);
    if (r.acked > 0)
        widen_marks(c);
}

/* In SYN-RECEIVED the acknowledgment has to be of our SYN. False: it was dropped. */
static bool complete_handshake(struct tcp_conn *c, struct arrival *a)
{
    if (!acks_new(c, a->h.ack)) {
        conn_reset_at(c, a->h.ack, a->now);
        drop(c, a, DROP_TCP_ACK);
        return false;
    }
    take_syn_ack(c, a);
    c->snd_wl1 = a->h.seq;
    c->snd_wnd = (uint32_t)a->h.window << c->snd_scale;
    c->snd_wnd_max = c->snd_wnd;
    conn_established(c, a->now);
    return true;
}

/* Our FIN is acknowledged. */
static void after_fin_acked(struct tcp_conn *c, tick_t now)
{
    switch (c->state) {
    case TCP_FIN_WAIT_1:
        conn_set_state(c, TCP_FIN_WAIT_2);
        c->state_end = now + c->tcp->settings->fin_timeout;
        break;
    case TCP_CLOSING:
        conn_set_state(c, TCP_TIME_WAIT);
        c->state_end = now + c->tcp->settings->time_wait;
        conn_finish(c);
        break;
    case TCP_LAST_ACK:
        conn_set_state(c, TCP_CLOSED);
        conn_finish(c);
        break;
    default: break;
    }
}

/* ---- all of it ---- */

static void in_connection(struct tcp_conn *c, struct arrival *a)
{
    const struct tcp_hdr *h = &a->h;
    if (!paws_ok(c, a))
        return;
    if (c->state == TCP_SYN_RECEIVED && (h->flags & TCP_SYN) && seq32_eq(h->seq, c->irs) &&
        !(h->flags & TCP_RST) && !repeated_syn(c, a))
        return;
    if (!sequence_ok(c, a))
        return;
    if (h->flags & TCP_RST) {
        on_reset(c, a);
        return;
    }
    if (h->flags & TCP_SYN) {
        drop(c, a, DROP_TCP_SYN);
        if (c->state == TCP_SYN_RECEIVED && conn_has(c, TCP_CONN_PASSIVE))
            conn_fail(c, STREAM_RESET); /* back to LISTEN: RFC 9293 3.10.7.4, fourth */
        else
            conn_challenge(c, a->now); /* RFC 5961 4.2 */
        return;
    }
    if (!(h->flags & TCP_ACK)) {
        drop(c, a, DROP_TCP_FLAGS);
        return;
    }
    if (c->state == TCP_SYN_RECEIVED ? !complete_handshake(c, a) : !ack_ok(c, a))
        return;
    remember_timestamp(c, a);
    c->heard_at = a->now;
    c->probes = 0;
    take_ack(c, a);
    if (fin_acked(c))
        after_fin_acked(c, a->now);
    if (a->seq_len > 0 && c->state != TCP_CLOSED)
        take_data(c, a);
}

void tcp_input(struct tcp_conn *c, const struct tcp_hdr *h, struct pkt *p, uint8_t ecn, tick_t now)
{
    struct arrival a = {.h = *h,
                        .p = p,
                        .payload = p->total,
                        .seq_len = tcp_seq_len(h, p->total),
                        .ecn = ecn,
                        .echoed = echoed_at(c, h, now),
                        .now = now};
    c->tcp->now = now;
    c->rx_segments++;
    if (c->state == TCP_CLOSED)
        drop(c, &a, DROP_TCP_STATE);
    else if (conn_has(c, TCP_CONN_RST_DUE)) /* aborted: what it sends is of no interest any more */
        drop(c, &a, DROP_TCP_CLOSED);
    else if (c->state == TCP_SYN_SENT)
        in_syn_sent(c, &a);
    else
        in_connection(c, &a);
    pkt_free(a.p); /* an acknowledgment alone, or a reset that was obeyed */
    conn_arm(c, now);
    conn_charge(c);
    invariant(tcp_conn_ok(c));
}
