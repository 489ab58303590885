/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/sender.h"

#include <assert.h>
#include <string.h>

#include "base/invariant.h"
#include "tcp/rack.h"
#include "tcp/recovery.h"
#include "tcp/sender_timer.h"

#define RTO_AFTER_LOST_SYN (3 * TICK_SEC) /* RFC 6298 5.7 */
#define LIMITED_TRANSMIT   2u             /* segments: RFC 3042 2 */
#define DSACK_AGE          (UINT32_C(1) << 30)

const char *sender_state_name(enum sender_state s)
{
    static const char *const names[] = {
#define X(id, name) [SENDER_##id] = (name),
        SENDER_STATES(X)
#undef X
    };
    assert(s < SENDER_STATE_END && "a state");
    return names[s];
}

static uint32_t flight_size(const struct tcp_sender *s)
{
    return s->nxt.v - s->una.v;
}

void sender_init(struct tcp_sender *s, const struct sender_args *a)
{
    memset(s, 0, sizeof(*s));
    s->una = s->nxt = s->recovery_end = s->fack = a->iss;
    s->mss = a->mss;
    s->counters = a->counters;
    s->reo_steps = 1;
    s->timer = s->reorder_at = TICK_NEVER;
    inflight_init(&s->inflight, a->mem, a->segments_max);
    tcp_rtt_init(&s->rtt, a->rto_min);
    tcp_cc_init(&s->cc, a->congestion, a->mss, a->initial_window, a->cwnd_max);
    invariant(sender_ok(s));
}

void sender_fini(struct tcp_sender *s)
{
    inflight_clear(&s->inflight);
}

void sender_negotiated(struct tcp_sender *s, bool sack, uint32_t mss)
{
    bool syn_lost = s->cc.cwnd < tcp_cc_initial(&s->cc);
    s->sack = sack;
    s->mss = mss;
    tcp_cc_begin(&s->cc, mss);
    s->undo_cwnd = s->cc.cwnd;
    if (syn_lost)
        s->cc.cwnd = mss; /* RFC 5681 3.1 */
    invariant(sender_ok(s));
}

void sender_set_mss(struct tcp_sender *s, uint32_t mss, bool lost)
{
    struct inflight *f = &s->inflight;
    s->mss = mss;
    tcp_cc_set_mss(&s->cc, mss);
    for (uint32_t p = f->head; lost && p != f->tail; p++) {
        const struct tcp_seg *g = inflight_at(f, p);
        if (g->len > mss && !(g->flags & (TCP_SEG_SACKED | TCP_SEG_LOST)))
            inflight_lose(f, p);
    }
    sender_timer_set(s);
    invariant(sender_ok(s));
}

/* ---- sending ---- */

bool sender_can_send(struct tcp_sender *s)
{
    return inflight_reserve(&s->inflight);
}

void sender_wakes(struct tcp_sender *s, tick_t now)
{
    if (!sender_idle(s) || s->last_sent == 0 || tick_since(now, s->last_sent) <= s->rtt.rto)
        return;
    s->cc.ops->restarted(&s->cc, now); /* RFC 5681 4.1 */
    invariant(sender_ok(s));
}

/* Bytes that duplicate ACKs say have left the network (RFC 6582 3.2 step 2). */
static uint32_t duplicated(const struct tcp_sender *s)
{
    uint32_t n = s->dup_acks, records = inflight_count(&s->inflight);
    if (n == 0 || records == 0)
        return 0;
    if (s->state == SENDER_DISORDER && n > LIMITED_TRANSMIT)
        n = LIMITED_TRANSMIT;
    return (uint32_t)((uint64_t)n * flight_size(s) / records);
}

uint32_t sender_in_flight(const struct tcp_sender *s)
{
    uint32_t n = flight_size(s) - s->inflight.sacked - s->inflight.lost;
    uint32_t gone = duplicated(s);
    return n > gone ? n - gone : 0;
}

/* RFC 5682 2.1: nothing after the first segment, then two new ones, until the ACKs tell. */
static uint32_t frto_room(const struct tcp_sender *s)
{
    uint32_t sent = s->nxt.v - s->recovery_end.v;
    if (s->resend_due)
        return s->mss;
    if (s->frto == SENDER_FRTO_RESENT || sent >= 2 * s->mss)
        return 0;
    return 2 * s->mss - sent;
}

uint32_t sender_room(const struct tcp_sender *s)
{
    uint32_t in_flight = sender_in_flight(s);
    uint32_t room = s->cc.cwnd > in_flight ? s->cc.cwnd - in_flight : 0;
    uint32_t lost = s->inflight.lost;
    if (s->frto != SENDER_FRTO_OFF)
        return frto_room(s);
    if (lost == 0)
        return room;
    uint32_t segment = lost < s->mss ? lost : s->mss;
    if (s->resend_due || in_flight == 0)
        return room > segment ? room : segment;
    return room < segment ? 0 : room; /* segments are not cut for want of room */
}

bool sender_resends(const struct tcp_sender *s)
{
    return s->inflight.lost > 0 && (s->frto == SENDER_FRTO_OFF || s->resend_due) &&
           sender_room(s) > 0;
}

struct tcp_seg *sender_resend(struct tcp_sender *s)
{
    if (s->inflight.lost == 0 || (s->frto != SENDER_FRTO_OFF && !s->resend_due))
        return NULL;
    return inflight_at(&s->inflight, inflight_lowest_lost(&s->inflight));
}

bool sender_split(struct tcp_sender *s, struct tcp_seg **seg, uint32_t len)
{
    uint32_t pos = inflight_position(&s->inflight, *seg);
    bool done = inflight_split(&s->inflight, pos, len);
    *seg = inflight_at(&s->inflight, pos);
    invariant(sender_ok(s));
    return done;
}

/* Is the window what limits us? Where pacing spreads the segments of a round trip, half of it in
 * flight fills it in slow start (RFC 7661 4.3). The answer holds for a round trip. */
static void note_use(struct tcp_sender *s, bool limited)
{
    uint32_t in_flight = sender_in_flight(s);
    bool used = in_flight + s->mss > s->cc.cwnd;
    if (!limited && tcp_cc_slow_start(&s->cc) && in_flight > s->cc.cwnd / 2)
        used = true;
    if (used || (s->full && seq32_ge(s->una, s->full_until))) {
        s->full = used;
        s->full_until = s->nxt;
    }
}

void sender_sent(struct tcp_sender *s, uint32_t len, bool limited, tick_t now)
{
    if (sender_idle(s)) {
        sender_timer_restart(s, now);
        s->stalled_since = now;
    }
    inflight_push(&s->inflight, s->nxt, len, now);
    s->nxt = seq32_add(s->nxt, len);
    s->last_sent = now;
    if (s->state == SENDER_RECOVERY || s->state == SENDER_CWR)
        s->prr_out += len;
    note_use(s, limited);
    sender_timer_set(s);
    invariant(sender_ok(s));
}

void sender_resent(struct tcp_sender *s, struct tcp_seg *seg, tick_t now)
{
    uint32_t pos = inflight_position(&s->inflight, seg);
    inflight_resend(&s->inflight, pos, now);
    if (pos == s->inflight.head)
        sender_timer_restart(s, now);
    recovery_resent(s, seg, now);
    s->retransmitted += seg->len;
    s->last_sent = now;
    note_use(s, true);
    sender_timer_set(s);
    invariant(sender_ok(s));
}

struct tcp_seg *sender_last(struct tcp_sender *s)
{
    return sender_idle(s) ? NULL : inflight_at(&s->inflight, s->inflight.tail - 1);
}

/* ---- receiving: the scoreboard ---- */

/* echoed: TICK_NEVER where it is not about g. */
static void delivered(struct tcp_sender *s, const struct tcp_seg *g, tick_t echoed, tick_t now,
                      struct delivery *d)
{
    seq32_t end = tcp_seg_end(g);
    rack_delivered(s, g, echoed, now);
    d->high_end = seq32_max(d->high_end, end);
    if (g->flags & TCP_SEG_RESENT) {
        d->resent = true;
        return;
    }
    if (!d->once || g->sent < d->earliest)
        d->earliest = g->sent;
    if (!d->once || g->sent > d->latest)
        d->latest = g->sent;
    d->low_end = d->once ? seq32_min(d->low_end, end) : end;
    d->once = true;
    tick_t late = rack_lateness(d, g, now);
    d->late = late > d->late ? late : d->late;
}

static void acknowledge(struct tcp_sender *s, const struct sender_ack *a, tick_t now,
                        struct delivery *d)
{
    struct inflight *f = &s->inflight;
    while (f->head != f->tail && seq32_le(tcp_seg_end(inflight_at(f, f->head)), a->ack)) {
        const struct tcp_seg *g = inflight_at(f, f->head);
        if (!(g->flags & TCP_SEG_SACKED)) {
            delivered(s, g, a->echoed, now, d);
            d->fresh += g->len;
        }
        inflight_pop(f);
        d->records++;
    }
    if (f->head == f->tail)
        return;
    const struct tcp_seg *g = inflight_at(f, f->head);
    if (seq32_lt(g->seq, a->ack)) {
        uint32_t part = a->ack.v - g->seq.v;
        d->fresh += g->flags & TCP_SEG_SACKED ? 0 : part;
        inflight_trim(f, part);
    }
}

/* A block that is not of what is in flight says nothing; one that covers a part of a record says
 * nothing about the rest. */
static void sack_block(struct tcp_sender *s, const struct tcp_sack *b, const struct sender_ack *a,
                       tick_t now, struct delivery *d)
{
    struct inflight *f = &s->inflight;
    if (!seq32_lt(b->left, b->right) || seq32_le(b->left, a->ack) || seq32_gt(b->right, s->nxt))
        return;
    uint32_t p = inflight_skip_sacked(f, inflight_find(f, b->left));
    while (p != f->tail && seq32_le(tcp_seg_end(inflight_at(f, p)), b->right)) {
        /* Only what comes in order is echoed (RFC 7323 4.3). */
        delivered(s, inflight_at(f, p), TICK_NEVER, now, d);
        d->sacked += inflight_at(f, p)->len;
        inflight_sack(f, p);
        p = inflight_skip_sacked(f, p + 1);
    }
}

/* RFC 2883 4: a first block below the acknowledgment, or within the second block. */
static void find_dsack(struct tcp_sender *s, const struct sender_ack *a, struct delivery *d)
{
    if (!s->sack || a->n_sack == 0)
        return;
    const struct tcp_sack *b = a->sack;
    uint32_t age = a->ack.v - b->left.v;
    bool below = seq32_lt(b->left, b->right) && seq32_le(b->right, a->ack) && age < DSACK_AGE;
    bool within = a->n_sack > 1 && seq32_lt(b->left, b->right) && seq32_ge(b->left, b[1].left) &&
                  seq32_le(b->right, b[1].right) && seq32_gt(b[1].left, a->ack) &&
                  seq32_le(b[1].right, s->nxt);
    if (!below && !within)
        return;
    counter_add(s->counters, COUNTER_TCP_DSACK_RX, 1);
    d->dsack = true;
    d->duplicated = *b;
}

/* Without SACK each duplicate stands for a segment that has arrived somewhere beyond una; what una
 * then passes has been counted already (RFC 9937 6.1: DeliveredData). */
static void count_duplicates(struct tcp_sender *s, const struct sender_ack *a, struct delivery *d)
{
    uint32_t records = inflight_count(&s->inflight);
    d->duplicate = d->acked == 0 && a->plain && a->n_sack == 0;
    if (s->sack)
        return;
    if (d->acked > 0) {
        uint32_t told = d->records > 1 ? d->records - 1 : 0;
        told = told < s->dup_acks ? told : s->dup_acks;
        if (s->state == SENDER_RECOVERY && told > 0)
            d->fresh -= (uint32_t)((uint64_t)d->acked * told / d->records);
        if (s->state != SENDER_RECOVERY)
            told = s->dup_acks;
        s->dup_acks -= told;
        if (s->dup_acks >= records)
            s->dup_acks = records > 0 ? records - 1 : 0;
    } else if (d->duplicate && s->state != SENDER_LOSS && s->dup_acks + 1 < records) {
        s->dup_acks++;
        d->fresh += d->flight / records;
    }
}

static void take(struct tcp_sender *s, const struct sender_ack *a, tick_t now, struct delivery *d)
{
    d->flight = flight_size(s);
    d->acked = a->ack.v - s->una.v;
    d->high_end = a->ack;
    d->rack_order = s->rack_order;
    d->rack_rtt = s->rack_rtt;
    find_dsack(s, a, d);
    acknowledge(s, a, now, d);
    for (unsigned i = 0; s->sack && i < a->n_sack; i++)
        sack_block(s, &a->sack[i], a, now, d);
    s->una = a->ack;
    d->first = !s->answered;
    s->answered |= d->fresh + d->sacked > 0;
    count_duplicates(s, a, d);
}

/* ---- receiving: what follows from it ---- */

/* RFC 6298 3: of what was sent once; RFC 7323 4.1: or by its timestamp, where una moves. Without
 * SACK, what una passes together with a retransmission may have arrived long ago. Returns the
 * shortest time seen; 0: none that is exact. */
static tick_t measure(struct tcp_sender *s, const struct sender_ack *a, const struct delivery *d,
                      tick_t now)
{
    uint32_t samples = d->flight / (2 * s->mss) + 1; /* RFC 7323 appendix G */
    tick_t least = 0;
    if (d->once && (s->sack || !d->resent)) {
        tick_t rtt = tick_since(now, d->earliest);
        least = tick_since(now, d->latest);
        least += least == 0;
        tcp_rtt_sample(&s->rtt, rtt > least ? rtt : least, least, samples, now);
    } else if (d->acked > 0 && d->resent && a->echoed != TICK_NEVER && a->echoed <= now) {
        tick_t rtt = now - a->echoed + (now == a->echoed);
        tcp_rtt_sample(&s->rtt, rtt, rtt, samples, now);
    } else {
        return 0;
    }
    s->backoff = 0; /* RFC 6298 5.7 */
    return least;
}

static void moved(struct tcp_sender *s, const struct delivery *d, tick_t now)
{
    if (d->acked == 0)
        return;
    sender_timer_restart(s, now); /* RFC 6298 5.3 */
    s->stalled_since = now;
    if (d->first && s->backoff > 0 && s->rtt.srtt == 0) {
        s->rtt.rto = RTO_AFTER_LOST_SYN;
        s->backoff = 0;
    }
    /* Numbers that are compared with una stay near it. */
    if (s->state < SENDER_CWR && seq32_diff(s->una, s->recovery_end) > (int32_t)DSACK_AGE) {
        s->recovery_end = seq32_sub(s->una, 1);
        s->undo_ok = false;
    }
}

/* RFC 3168 6.1.2 */
static void heed_ecn(struct tcp_sender *s, const struct sender_ack *a, const struct delivery *d,
                     tick_t now)
{
    if (s->ecn_wait && seq32_gt(s->una, s->ecn_end))
        s->ecn_wait = false;
    if (!a->ece || s->ecn_wait || s->state > SENDER_DISORDER)
        return;
    counter_add(s->counters, COUNTER_TCP_ECE_RX, 1);
    recovery_enter_cwr(s, d, true, now);
}

static void note_disorder(struct tcp_sender *s)
{
    if (s->state <= SENDER_DISORDER)
        s->state = s->inflight.sacked || s->dup_acks ? SENDER_DISORDER : SENDER_OPEN;
}

static void find_losses(struct tcp_sender *s, struct delivery *d, tick_t now)
{
    bool left_over = s->state <= SENDER_DISORDER && d->lost;
    d->lost = rack_detect(s, now);
    d->lost |= recovery_detect_reno(s, d);
    if (d->lost || left_over)
        recovery_enter(s, d, now);
}

/* RFC 5681 3.1: outside of recovery by what una moves. After a timeout, what had been SACKED before
 * is no sign of a path that is free. state: before the acknowledgment. */
static void grow(struct tcp_sender *s, const struct delivery *d, enum sender_state state,
                 uint32_t in_flight, tick_t rtt, tick_t now)
{
    bool handshake = d->first && d->acked == 1;
    uint32_t acked = state == SENDER_LOSS ? d->fresh + d->sacked : d->acked;
    if (acked == 0 || handshake || state == SENDER_RECOVERY || state == SENDER_CWR)
        return;
    struct tcp_cc_ack a = {.acked = acked,
                           .in_flight = in_flight,
                           .rtt = rtt,
                           .min_rtt = s->rtt.min,
                           .srtt = s->rtt.srtt,
                           .una = s->una,
                           .nxt = s->nxt,
                           .limited = s->full};
    s->cc.ops->acked(&s->cc, &a, now);
}

static void react(struct tcp_sender *s, const struct sender_ack *a, struct delivery *d, tick_t now)
{
    bool repaired = sender_probe_answered(s, d);
    rack_acked(s, d);
    recovery_check_undo(s, d, a->echoed, now);
    enum sender_state before = s->state;
    recovery_leave(s);
    /* What was lost after the window that is over is a new event. */
    d->lost = before >= SENDER_CWR && s->state == SENDER_OPEN && s->inflight.lost > 0;
    note_disorder(s);
    heed_ecn(s, a, d, now);
    find_losses(s, d, now);
    if (repaired && s->state <= SENDER_DISORDER)
        recovery_enter_cwr(s, d, false, now); /* RFC 8985 7.4.2 */
}

void sender_ack(struct tcp_sender *s, const struct sender_ack *a, tick_t now,
                struct sender_result *r)
{
    assert(seq32_le(s->una, a->ack) && seq32_le(a->ack, s->nxt) && "conn.c has looked");
    struct delivery d = {0};
    uint32_t in_flight = sender_in_flight(s);
    take(s, a, now, &d);
    *r = (struct sender_result){.acked = d.acked, .sacked = d.sacked, .dsack = d.dsack};
    tick_t rtt = measure(s, a, &d, now);
    moved(s, &d, now);
    enum sender_state before = s->state;
    react(s, a, &d, now);
    if (s->state == SENDER_RECOVERY || s->state == SENDER_CWR)
        recovery_reduce(s, &d);
    else
        grow(s, &d, before, in_flight, rtt, now);
    recovery_leave(s);
    sender_timer_set(s);
    invariant(sender_ok(s));
}

/* ---- figures ---- */

void sender_tidy(struct tcp_sender *s)
{
    assert(sender_idle(s) && "its records are needed");
    inflight_clear(&s->inflight);
}

bool sender_ok(const struct tcp_sender *s)
{
    const struct inflight *f = &s->inflight;
    if (!inflight_ok(f) || seq32_gt(s->una, s->nxt) || s->state >= SENDER_STATE_END)
        return false;
    if (sender_idle(s))
        return seq32_eq(s->una, s->nxt) && s->timer == TICK_NEVER;
    return seq32_eq(inflight_at(f, f->head)->seq, s->una) &&
           seq32_eq(tcp_seg_end(inflight_at(f, f->tail - 1)), s->nxt) &&
           f->sacked + f->lost <= flight_size(s) && s->timer != TICK_NEVER && s->cc.cwnd >= s->mss;
}
