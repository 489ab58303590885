/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/rack.h"

#define DUP_THRESH  3u /* RFC 5681 3.2 */
#define LATE_PARTS  128u
#define REO_PERSIST 16u /* recoveries: RFC 8985 6.2 step 4 */

/* RFC 8985 6.2 steps 1 and 2 */
void rack_delivered(struct tcp_sender *s, const struct tcp_seg *seg, tick_t echoed, tick_t now)
{
    tick_t rtt = tick_since(now, seg->sent);
    if (seg->flags & TCP_SEG_RESENT) {
        /* Was it the original that has arrived? Timestamps tick in milliseconds. */
        if (echoed != TICK_NEVER && echoed + TICK_MS <= seg->sent)
            return;
        if (s->rtt.min != TICK_NEVER && rtt < s->rtt.min)
            return;
    }
    /* RFC 8985 6.2's RACK_sent_after without its guess at the order within a burst. */
    if (s->rack_rtt > 0 && !seq32_gt(seg->order, s->rack_order))
        return;
    s->rack_order = seg->order;
    s->rack_rtt = rtt > 0 ? rtt : 1;
}

/* RFC 8985 6.2 step 4: each round trip with a D-SACK widens the window by a step. */
static void adapt(struct tcp_sender *s, bool dsack)
{
    if (s->rack_round && seq32_ge(s->una, s->rack_dsack_round))
        s->rack_round = false;
    if (!dsack || s->rack_round)
        return;
    s->rack_round = true;
    s->rack_dsack_round = s->nxt;
    s->reo_steps = (uint8_t)(s->reo_steps + (s->reo_steps < UINT8_MAX));
    s->reo_persist = REO_PERSIST;
}

tick_t rack_lateness(const struct delivery *d, const struct tcp_seg *seg, tick_t now)
{
    tick_t took = tick_since(now, seg->sent);
    bool overtaken = d->rack_rtt > 0 && seq32_lt(seg->order, d->rack_order);
    return overtaken && took > d->rack_rtt ? took - d->rack_rtt : 0;
}

/* What is that late again shall not seem lost: the RFC's steps alone are too short for that where
 * what comes early makes the shortest round trip, of which each is a quarter, next to nothing. */
static void learn(struct tcp_sender *s, tick_t late)
{
    if (late <= s->rtt.min / 4 || s->rtt.srtt == 0)
        return;
    s->reo_persist = REO_PERSIST;
    tick_t parts = tick_min(late + late / 8, s->rtt.srtt) * LATE_PARTS / s->rtt.srtt + 1;
    if (parts > s->reo_late)
        s->reo_late = (uint8_t)parts;
}

void rack_acked(struct tcp_sender *s, const struct delivery *d)
{
    /* RFC 8985 6.2 step 3 */
    if (d->once && seq32_lt(d->low_end, s->fack))
        s->reordering_seen = true;
    s->fack = seq32_max(s->fack, d->high_end);
    adapt(s, d->dsack);
    learn(s, d->late);
}

void rack_recovered(struct tcp_sender *s)
{
    if (s->reo_persist > 0 && --s->reo_persist == 0) {
        s->reo_steps = 1;
        s->reo_late = 0;
    }
}

/* RFC 8985 6.2 step 4 */
static tick_t reordering_window(const struct tcp_sender *s)
{
    if (!s->reordering_seen &&
        (s->state >= SENDER_RECOVERY || s->inflight.sacked_records >= DUP_THRESH))
        return 0;
    if (s->rtt.min == TICK_NEVER)
        return 0;
    tick_t window = s->reo_steps * (s->rtt.min / 4), late = s->rtt.srtt * s->reo_late / LATE_PARTS;
    return tick_min(window > late ? window : late, s->rtt.srtt);
}

/* RFC 8985 6.2 step 5. The list is in order of sending: where the first is not late, none is. The
 * timer is for the first alone, which is no later than the RFC's for all. */
bool rack_detect(struct tcp_sender *s, tick_t now)
{
    struct inflight *f = &s->inflight;
    bool found = false;
    s->reorder_at = TICK_NEVER;
    if (!s->sack || s->rack_rtt == 0)
        return false;
    tick_t allowed = s->rack_rtt + reordering_window(s);
    while (f->flying > 0) {
        const struct tcp_seg *g = inflight_at(f, f->oldest);
        if (!seq32_gt(s->rack_order, g->order))
            break;
        if (g->sent + allowed > now) {
            s->reorder_at = g->sent + allowed;
            break;
        }
        inflight_lose(f, f->oldest);
        found = true;
    }
    return found;
}

void rack_timed_out(struct tcp_sender *s, tick_t now)
{
    struct inflight *f = &s->inflight;
    tick_t allowed = s->sack && s->rack_rtt > 0 ? s->rack_rtt + reordering_window(s) : 0;
    while (f->flying > 0 && inflight_at(f, f->oldest)->sent + allowed <= now)
        inflight_lose(f, f->oldest);
    if (!(inflight_at(f, f->head)->flags & (TCP_SEG_LOST | TCP_SEG_SACKED)))
        inflight_lose(f, f->head);
    s->reorder_at = TICK_NEVER;
}
