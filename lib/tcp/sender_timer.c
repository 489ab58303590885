/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One runs at a time: the one that is due first of
 *
 *   RTO      while anything is in flight. Starts with the first segment, anew when una moves, when
 *            the first segment is sent again, and with each expiry (RFC 6298 5). Firing: LOSS.
 *   TLP      while nothing is suspicious, in place of RTO and never later: two round trips after
 *            what was sent last or una moved last (RFC 8985 7.2). Firing: the owner sends a probe,
 *            and RTO starts anew.
 *   REORDER  while a segment may be late by reordering (RFC 8985 6.2 step 5). Firing: it is LOST.
 *   FRTO     a moment after F-RTO has asked for new data. Firing: there is none, old data goes.
 *
 * Each expiry makes the next deadline later or sends something, so that none is overdue for ever.
 */
#include "tcp/sender_timer.h"

#include <assert.h>

#include "base/invariant.h"
#include "tcp/recovery.h"

#define FRTO_WAIT   TICK_MS       /* from when una has moved, for the owner to send something new */
#define PROBE_SLACK (2 * TICK_MS) /* so that the other side's timers and scheduler are no loss */

/* RFC 8985 7.2: one probe, with SACK, outside of recovery, and while nothing is SACKED. A round
 * trip has been measured, so this is no handshake. */
static bool may_probe(const struct tcp_sender *s)
{
    return s->sack && !s->tlp_out && s->rtt.srtt > 0 && s->inflight.sacked == 0 &&
           s->inflight.lost == 0 && (s->state == SENDER_OPEN || s->state == SENDER_CWR);
}

static tick_t probe_at(const struct tcp_sender *s)
{
    tick_t wait = 2 * s->rtt.srtt + PROBE_SLACK;
    if (inflight_count(&s->inflight) == 1)
        wait += tcp_rtt_rto_min(&s->rtt); /* its acknowledgment may be delayed */
    tick_t from = s->last_sent > s->rto_from ? s->last_sent : s->rto_from;
    return tick_after(from, wait);
}

static void earlier(struct tcp_sender *s, tick_t at, enum sender_timer kind)
{
    if (at > s->timer)
        return;
    s->timer = at;
    s->timer_kind = (uint8_t)kind;
}

void sender_timer_set(struct tcp_sender *s)
{
    s->timer = TICK_NEVER;
    s->timer_kind = SENDER_TIMER_NONE;
    if (sender_idle(s))
        return;
    tick_t rto_at = s->rto_from + tcp_rtt_backed_off(&s->rtt, s->backoff);
    earlier(s, rto_at, SENDER_TIMER_RTO);
    if (may_probe(s))
        earlier(s, tick_min(probe_at(s), rto_at), SENDER_TIMER_TLP); /* RFC 8985 7.2 */
    earlier(s, s->reorder_at, SENDER_TIMER_REORDER);
    if (s->frto == SENDER_FRTO_NEW && seq32_eq(s->nxt, s->recovery_end))
        earlier(s, s->rto_from + FRTO_WAIT, SENDER_TIMER_FRTO);
}

void sender_timer_restart(struct tcp_sender *s, tick_t now)
{
    s->rto_from = now;
}

bool sender_probe_answered(struct tcp_sender *s, struct delivery *d)
{
    if (!s->tlp_out || seq32_lt(s->una, s->tlp_end))
        return false;
    if (!s->tlp_resent) {
        s->tlp_out = false;
    } else if (d->dsack && seq32_eq(d->duplicated.right, s->tlp_end)) {
        s->tlp_out = false;
        d->dsack = false;
    } else if (seq32_gt(s->una, s->tlp_end)) {
        s->tlp_out = false;
        return true;
    } else if (d->duplicate) {
        s->tlp_out = false;
    }
    return false;
}

tick_t sender_deadline(const struct tcp_sender *s)
{
    return s->timer;
}

static enum sender_action reorder_expired(struct tcp_sender *s, tick_t now)
{
    if (!rack_detect(s, now))
        return SENDER_NOTHING;
    recovery_enter(s, NULL, now);
    sender_timer_restart(s, now); /* what is sent again has time to arrive */
    return SENDER_RESEND;
}

static enum sender_action rto_expired(struct tcp_sender *s, tick_t now)
{
    counter_add(s->counters, COUNTER_TCP_RTO, 1);
    recovery_time_out(s, now);
    s->backoff = (uint8_t)(s->backoff + (s->backoff < UINT8_MAX)); /* RFC 6298 5.5 */
    sender_timer_restart(s, now);
    return SENDER_TIMED_OUT;
}

/* RFC 8985 7.3: whether the owner manages to send the probe or not, the timeout is next. */
static enum sender_action probe_expired(struct tcp_sender *s, tick_t now)
{
    s->tlp_out = true;
    s->tlp_resent = false;
    s->tlp_end = s->nxt;
    sender_timer_restart(s, now);
    return SENDER_PROBE;
}

static enum sender_action expired(struct tcp_sender *s, tick_t now)
{
    switch ((enum sender_timer)s->timer_kind) {
    case SENDER_TIMER_RTO: return rto_expired(s, now);
    case SENDER_TIMER_TLP: return probe_expired(s, now);
    case SENDER_TIMER_REORDER: return reorder_expired(s, now);
    case SENDER_TIMER_FRTO:
        recovery_give_up_frto(s); /* RFC 5682 2.1 step 2b */
        return SENDER_RESEND;
    case SENDER_TIMER_NONE: break;
    }
    return SENDER_NOTHING;
}

enum sender_action sender_expire(struct tcp_sender *s, tick_t now)
{
    if (now < s->timer)
        return SENDER_NOTHING;
    enum sender_action action = expired(s, now);
    sender_timer_set(s);
    invariant(sender_ok(s));
    return action;
}

void sender_probed(struct tcp_sender *s, bool resent, tick_t now)
{
    assert(!sender_idle(s) && "it has been sent");
    counter_add(s->counters, COUNTER_TCP_TLP, 1);
    s->tlp_out = true;
    s->tlp_resent = resent;
    s->tlp_end = s->nxt;
    sender_timer_restart(s, now); /* RFC 8985 7.3 */
    sender_timer_set(s);
    invariant(sender_ok(s));
}
