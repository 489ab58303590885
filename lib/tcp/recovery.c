/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/recovery.h"

#include <assert.h>

#define DUP_THRESH 3u /* RFC 5681 3.2 */

static uint32_t flight_size(const struct tcp_sender *s)
{
    return s->nxt.v - s->una.v;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void set_cwnd(struct tcp_sender *s, uint32_t cwnd)
{
    cwnd = least(cwnd, s->cc.max);
    s->cc.cwnd = cwnd > s->mss ? cwnd : s->mss;
}

/* ---- proportional rate reduction (RFC 9937 6.2) ---- */

static void begin_prr(struct tcp_sender *s, uint32_t delivered)
{
    /* What was SACKED before will not be delivered any more. */
    s->prr_flight = sender_in_flight(s) + s->inflight.lost + delivered;
    s->prr_flight += s->prr_flight == 0;
    s->prr_delivered = s->prr_out = 0;
}

static uint32_t delivered_by(const struct delivery *d)
{
    return d ? d->fresh + d->sacked : 0;
}

/* While more is in flight than there should be in the end, in proportion. */
static uint64_t proportional(const struct tcp_sender *s)
{
    uint64_t target =
        ((uint64_t)s->prr_delivered * s->cc.ssthresh + s->prr_flight - 1) / s->prr_flight;
    return target > s->prr_out ? target - s->prr_out : 0;
}

/* Then packet conservation, or slow start towards ssthresh while ACKs move on and nothing new is
 * found lost. */
static uint64_t catch_up(const struct tcp_sender *s, uint32_t delivered, uint32_t in_flight,
                         bool safe)
{
    uint64_t n = s->prr_delivered > s->prr_out ? s->prr_delivered - s->prr_out : 0;
    n = n > delivered ? n : delivered;
    n += safe ? s->mss : 0;
    return n < s->cc.ssthresh - in_flight ? n : s->cc.ssthresh - in_flight;
}

void recovery_reduce(struct tcp_sender *s, const struct delivery *d)
{
    uint32_t delivered = delivered_by(d), in_flight = sender_in_flight(s);
    bool first = s->state == SENDER_RECOVERY && s->prr_out == 0;
    if (delivered == 0 && !first)
        return;
    s->prr_delivered += delivered;
    bool safe = d && d->acked > 0 && !d->lost;
    uint64_t n =
        in_flight > s->cc.ssthresh ? proportional(s) : catch_up(s, delivered, in_flight, safe);
    if (first && n < s->mss)
        n = s->mss; /* fast retransmit */
    set_cwnd(s, (uint32_t)(in_flight + (n < s->cc.max ? n : s->cc.max)));
}

/* ---- entering and leaving ---- */

/* What the reduction that follows would be undone to. */
static void remember(struct tcp_sender *s)
{
    s->undo_ok = true;
    s->undo_una = s->una;
    s->undo_cwnd = s->cc.cwnd;
    s->undo_ssthresh = s->cc.ssthresh;
    s->undo_resent = 0;
    s->eifel = false;
}

static void begin_window(struct tcp_sender *s, enum sender_state state)
{
    s->state = (uint8_t)state;
    s->recovery_end = s->nxt;
    s->tlp_out = false; /* RFC 8985 7.1 */
    s->frto = SENDER_FRTO_OFF;
    /* RFC 3168 6.1.2: an echo from this window asks for no more. */
    s->ecn_wait = true;
    s->ecn_end = s->nxt;
    s->cwr_due = true;
}

void recovery_enter_cwr(struct tcp_sender *s, const struct delivery *d, bool ecn, tick_t now)
{
    assert(s->state <= SENDER_DISORDER && "reduced already");
    s->undo_ok = false;
    s->cc.ops->congested(&s->cc, d->flight, ecn, now);
    begin_window(s, SENDER_CWR);
    begin_prr(s, delivered_by(d));
}

void recovery_enter(struct tcp_sender *s, const struct delivery *d, tick_t now)
{
    if (s->state >= SENDER_RECOVERY)
        return;
    counter_add(s->counters, COUNTER_TCP_RECOVERIES, 1);
    if (s->state != SENDER_CWR) { /* one reduction a window: RFC 3168 6.1.2 */
        remember(s);
        s->cc.ops->congested(&s->cc, d ? d->flight : flight_size(s), false, now);
        begin_window(s, SENDER_RECOVERY);
        begin_prr(s, delivered_by(d));
    } else {
        begin_window(s, SENDER_RECOVERY);
    }
    s->resend_due = true;
    if (!d)
        recovery_reduce(s, NULL);
}

/* RFC 5681 3.1: not again for the segment that has timed out before; nor in a window for which it
 * has been done. A handshake says nothing about the path's capacity. */
static void reduce_by_timeout(struct tcp_sender *s, tick_t now)
{
    bool again = s->state == SENDER_LOSS && !seq32_gt(s->una, s->timed_out_una);
    if (s->state == SENDER_RECOVERY || s->state == SENDER_CWR || again)
        return;
    remember(s);
    s->undo_ok = s->state != SENDER_LOSS;
    if (s->answered)
        s->cc.ops->timed_out(&s->cc, flight_size(s), now);
}

void recovery_time_out(struct tcp_sender *s, tick_t now)
{
    struct inflight *f = &s->inflight;
    bool frto = s->state != SENDER_LOSS && s->answered;
    reduce_by_timeout(s, now);
    if (inflight_at(f, f->head)->flags & TCP_SEG_SACKED) { /* RFC 2018 8 */
        inflight_renege(f);
        s->fack = s->una;
        frto = false;
    }
    rack_timed_out(s, now);
    begin_window(s, SENDER_LOSS);
    s->dup_acks = 0;
    s->resend_due = true;
    s->timed_out_una = s->una;
    s->frto = frto ? SENDER_FRTO_RESENT : SENDER_FRTO_OFF; /* RFC 5682 2.1 step 1 */
    set_cwnd(s, s->mss);                                   /* RFC 5681 3.1 */
}

void recovery_leave(struct tcp_sender *s)
{
    if (s->state < SENDER_CWR || seq32_lt(s->una, s->recovery_end))
        return;
    if (s->state != SENDER_LOSS)
        set_cwnd(s, s->cc.ssthresh);
    if (s->state != SENDER_CWR)
        rack_recovered(s);
    s->state = SENDER_OPEN;
    s->frto = SENDER_FRTO_OFF;
    s->resend_due = false;
    s->dup_acks = 0;
}

bool recovery_detect_reno(struct tcp_sender *s, const struct delivery *d)
{
    struct inflight *f = &s->inflight;
    if (s->sack || s->state == SENDER_LOSS || sender_idle(s))
        return false;
    bool found = s->state == SENDER_RECOVERY
                     ? d->acked > 0 /* a partial ACK: RFC 6582 3.2 step 3 */
                     : s->dup_acks >= DUP_THRESH &&
                           (s->state == SENDER_CWR || seq32_gt(s->una, s->recovery_end));
    if (!found || (inflight_at(f, f->head)->flags & TCP_SEG_LOST))
        return false;
    inflight_lose(f, f->head);
    return true;
}

/* ---- undoing ---- */

void recovery_resent(struct tcp_sender *s, const struct tcp_seg *seg, tick_t now)
{
    if (s->state == SENDER_RECOVERY || s->state == SENDER_CWR)
        s->prr_out += seg->len;
    if (s->state < SENDER_RECOVERY)
        return;
    if (s->resend_due && s->undo_resent == 0) {
        s->eifel = true;
        s->eifel_end = tcp_seg_end(seg);
        s->resent_at = now;
    }
    s->resend_due = false;
    s->undo_resent += seg->len;
}

static void undo(struct tcp_sender *s, tick_t now)
{
    counter_add(s->counters, COUNTER_TCP_SPURIOUS, 1);
    if (s->cc.cwnd < s->undo_cwnd)
        set_cwnd(s, s->undo_cwnd);
    if (s->cc.ssthresh < s->undo_ssthresh)
        s->cc.ssthresh = s->undo_ssthresh;
    s->cc.ops->undone(&s->cc, now); /* no harm where a handshake's timeout has changed nothing */
    inflight_unlose(&s->inflight);
    s->state = SENDER_OPEN;
    s->frto = SENDER_FRTO_OFF;
    s->undo_ok = s->eifel = s->resend_due = s->ecn_wait = false;
    s->dup_acks = 0;
    /* What seemed lost was late: RACK has to know, or it finds the same again. */
    s->reordering_seen = true;
}

/* RFC 3522 3.2: is it the original that has been acknowledged? */
static bool eifel_says_so(struct tcp_sender *s, tick_t echoed)
{
    if (!s->eifel || seq32_lt(s->una, s->eifel_end))
        return false;
    s->eifel = false;
    return echoed != TICK_NEVER && echoed < s->resent_at - s->resent_at % TICK_MS;
}

/* RFC 3708 2: all that was sent again has been reported as duplicate. */
static bool dsack_says_so(struct tcp_sender *s, const struct delivery *d)
{
    const struct tcp_sack *b = &d->duplicated;
    if (!d->dsack || s->undo_resent == 0 || seq32_lt(b->left, s->undo_una) ||
        seq32_gt(b->right, s->recovery_end))
        return false;
    s->undo_resent -= least(s->undo_resent, b->right.v - b->left.v);
    return s->undo_resent == 0;
}

/* RFC 5682 2.1 and, with SACK, 3.1. */
static bool frto_says_so(struct tcp_sender *s, const struct delivery *d)
{
    bool moved = d->acked > 0;
    if (s->frto == SENDER_FRTO_RESENT) {
        if (moved && seq32_lt(s->una, s->recovery_end)) { /* step 2b */
            s->frto = SENDER_FRTO_NEW;
        } else if (moved || d->sacked || d->duplicate) { /* 2a */
            s->frto = SENDER_FRTO_OFF;
        }
        return false;
    }
    if (s->frto == SENDER_FRTO_OFF || (!moved && !d->sacked && !d->duplicate))
        return false;
    s->frto = SENDER_FRTO_OFF;
    bool original = s->sack ? d->once && seq32_le(d->low_end, s->recovery_end) : moved;
    if (original && seq32_gt(s->nxt, s->recovery_end)) /* step 3b */
        return true;
    if (!moved) { /* 3a */
        set_cwnd(s, least(s->cc.cwnd, 3 * s->mss));
        s->resend_due = true;
    }
    return false;
}

/* All that seemed lost has been delivered before any of it was sent again. */
static bool came_by_itself(const struct tcp_sender *s)
{
    return s->state == SENDER_RECOVERY && s->resend_due && s->inflight.lost == 0;
}

void recovery_check_undo(struct tcp_sender *s, const struct delivery *d, tick_t echoed, tick_t now)
{
    bool dsack = dsack_says_so(s, d);
    bool eifel = eifel_says_so(s, echoed);
    bool frto = frto_says_so(s, d);
    if (s->undo_ok && (dsack || eifel || frto || came_by_itself(s)))
        undo(s, now);
}

void recovery_give_up_frto(struct tcp_sender *s)
{
    s->frto = SENDER_FRTO_OFF;
}
