/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/receiver.h"

#include "base/invariant.h"

/* Segments acknowledged at once while a sender's window is small: at the start and after loss. */
#define QUICK_ACKS 16
/* What every host takes (RFC 9293 3.7.1): full-sized segments are not taken for shorter. */
#define SEGMENT_MIN 536u
/* Below it a delay or a round is shorter than what workers and peers take to turn around. */
#define ROUND_MIN TICK_MS
/* A round that took so many times the round trip says nothing of the rate. */
#define ROUND_LATE 4
/* Memory for data out of order, as a multiple of the window's size. Full-sized segments take 1.6
 * times what they hold, those just too long to be copied together 2.3 times. */
#define COST_FACTOR 3u
#define COST_SPARE  (16 * PKT_COST) /* for small windows */

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Bytes that the other side may send, as it has been told. */
static uint32_t offered(const struct tcp_receiver *r)
{
    return (uint32_t)seq32_diff(r->right, r->nxt);
}

void receiver_init(struct tcp_receiver *r, const struct receiver_args *a)
{
    seq32_t nxt = seq32_add(a->irs, 1);
    uint16_t segment = (uint16_t)min_u32(a->mss, SEGMENT_MIN);
    *r = (struct tcp_receiver){
        .nxt = nxt,
        .right = seq32_add(nxt, min_u32(a->size, UINT16_MAX)),
        .size = a->size,
        .size_max = a->size_max,
        .ack_delay = a->ack_delay,
        .quick = QUICK_ACKS,
        .mss = a->mss,
        .segment = segment,
        .acked = nxt,
    };
    reorder_init(&r->reorder, a->mem);
    invariant(receiver_ok(r));
}

void receiver_fini(struct tcp_receiver *r)
{
    reorder_fini(&r->reorder);
}

void receiver_prune(struct tcp_receiver *r)
{
    reorder_fini(&r->reorder);
    invariant(receiver_ok(r));
}

void receiver_tidy(struct tcp_receiver *r)
{
    reorder_tidy(&r->reorder);
}

uint8_t receiver_scale_for(uint32_t size_max)
{
    uint8_t scale = 0;
    while (scale < TCP_WSCALE_MAX && (uint32_t)UINT16_MAX << scale < size_max)
        scale++;
    return scale;
}

void receiver_negotiated(struct tcp_receiver *r, bool sack, bool scaled, uint8_t scale)
{
    assert(scale <= TCP_WSCALE_MAX && "RFC 7323 2.3");
    r->sack = sack;
    r->scale = scaled ? scale : 0;
}

bool receiver_acceptable(const struct tcp_receiver *r, seq32_t seq, uint32_t len)
{
    /* RFC 9293 3.10.7.4 */
    if (len == 0)
        return seq32_eq(seq, r->nxt) || seq32_between(seq, r->nxt, r->right);
    return seq32_lt(seq, r->right) && seq32_gt(seq32_add(seq, len), r->nxt);
}

/* ---- segments in ---- */

/* A FIN stands at `at`. Returns why it is of no use. */
static enum drop note_fin(struct tcp_receiver *r, seq32_t at)
{
    if (seq32_ge(at, r->right))
        return DROP_TCP_SEQUENCE;
    if (r->fin_known && !seq32_eq(at, r->fin_seq))
        return DROP_TCP_SEQUENCE;
    if (r->fin_known || seq32_lt(at, r->nxt))
        return DROP_TCP_DUPLICATE;
    r->fin_known = true;
    r->fin_seq = at;
    reorder_cut(&r->reorder, at);
    return DROP_NONE;
}

/* A segment on its way in: what is left of it, and the first part that was here before, left ==
 * right: none. */
struct arrival {
    seq32_t seq;
    struct pkt *p;
    struct tcp_sack dup;
};

/* Cuts it to what is within the window and before the end. Returns why nothing is left. */
static enum drop cut(const struct tcp_receiver *r, struct arrival *a)
{
    seq32_t end = seq32_add(a->seq, a->p->total);
    seq32_t left = seq32_max(a->seq, r->nxt);
    seq32_t right = seq32_min(end, r->fin_known ? r->fin_seq : r->right);
    if (seq32_lt(a->seq, r->nxt))
        a->dup = (struct tcp_sack){.left = a->seq, .right = seq32_min(end, r->nxt)};
    if (seq32_le(end, r->nxt))
        return DROP_TCP_DUPLICATE;
    if (!seq32_lt(left, right))
        return DROP_TCP_SEQUENCE;
    pkt_trim(a->p, (uint32_t)seq32_diff(right, a->seq));
    a->p = pkt_advance(a->p, (uint32_t)seq32_diff(left, a->seq));
    a->seq = left;
    return DROP_NONE;
}

static uint32_t cost_max(const struct tcp_receiver *r)
{
    uint64_t most = (uint64_t)r->size * COST_FACTOR + COST_SPARE;
    return most > UINT32_MAX ? UINT32_MAX : (uint32_t)most;
}

/* Puts it among what has arrived out of order, which it touches if it is the next. */
static enum drop insert(struct tcp_receiver *r, struct arrival *a, bool next)
{
    struct tcp_sack dup;
    enum reorder_outcome outcome =
        reorder_insert(&r->reorder, a->seq, a->p, next ? UINT32_MAX : cost_max(r), &dup);
    if (seq32_eq(a->dup.left, a->dup.right)) /* RFC 2883 4.2: the first */
        a->dup = dup;
    assert((!next || outcome == REORDER_KEPT) && "what joins a range needs no place of its own");
    switch (outcome) {
    case REORDER_KEPT: return DROP_NONE;
    case REORDER_DUPLICATE: return DROP_TCP_DUPLICATE;
    case REORDER_FULL:
    case REORDER_MEMORY: break;
    }
    return DROP_TCP_REORDER_LIMIT;
}

static void take_data(struct tcp_receiver *r, struct arrival *a, bool lean,
                      struct receiver_result *result)
{
    bool next = seq32_eq(a->seq, r->nxt);
    result->reordered = !next;
    if (next && !reorder_reaches(&r->reorder, seq32_add(a->seq, a->p->total))) {
        result->data = a->p;
    } else if (!next && lean) {
        pkt_free(a->p);
        result->drop = DROP_TCP_REORDER_LIMIT;
    } else {
        result->drop = insert(r, a, next);
        result->data = next ? reorder_take(&r->reorder, a->seq) : NULL;
    }
    if (!result->data)
        return;
    result->bytes = result->data->total;
    r->nxt = seq32_add(r->nxt, result->bytes);
    r->unconsumed += result->bytes;
    r->unacked += result->bytes;
}

static void learn_segment(struct tcp_receiver *r, uint32_t len)
{
    uint16_t n = (uint16_t)min_u32(len, r->mss);
    if (n > r->segment || (n == r->length && n >= SEGMENT_MIN))
        r->segment = n;
    r->length = n;
}

/* RFC 9293 3.8.6.3: at most for the time allowed; no longer than a sender that waits for it would
 * take to notice. */
static tick_t ack_delay(const struct tcp_receiver *r)
{
    if (r->rtt == 0)
        return r->ack_delay;
    return tick_min(r->ack_delay, r->rtt > ROUND_MIN ? r->rtt : ROUND_MIN);
}

static void acknowledge(struct tcp_receiver *r, bool at_once, tick_t now)
{
    /* RFC 5681 4.2: at least every second full-sized segment */
    if (at_once || r->quick > 0 || r->unacked >= 2u * r->segment) {
        r->ack = RECEIVER_ACK_NOW;
    } else if (r->ack == RECEIVER_ACK_NONE) {
        r->ack = RECEIVER_ACK_DELAYED;
        r->ack_due = tick_after(now, ack_delay(r));
    }
    if (r->quick > 0)
        r->quick--;
}

static void reach_fin(struct tcp_receiver *r, struct receiver_result *result)
{
    if (!r->fin_known || r->fin_reached || !seq32_eq(r->nxt, r->fin_seq))
        return;
    r->nxt = seq32_add(r->nxt, 1);
    r->fin_reached = true;
    result->end = true;
}

static void input_data(struct tcp_receiver *r, struct arrival *a, bool lean,
                       struct receiver_result *result)
{
    learn_segment(r, a->p->total);
    result->drop = cut(r, a);
    if (result->drop)
        pkt_free(a->p);
    else
        take_data(r, a, lean, result);
    if (r->sack && !seq32_eq(a->dup.left, a->dup.right)) {
        r->dsack = a->dup;
        r->dsack_due = true;
    }
}

void receiver_input(struct tcp_receiver *r, seq32_t seq, struct pkt *p, bool fin, bool lean,
                    tick_t now, struct receiver_result *result)
{
    assert((fin || p) && "a bare ACK is not for here");
    uint32_t len = p ? p->total : 0;
    struct arrival a = {.seq = seq, .p = p, .dup = {.left = seq, .right = seq}};
    bool gap = !reorder_empty(&r->reorder);
    *result = (struct receiver_result){0};
    r->lean = lean;
    enum drop fin_drop = fin ? note_fin(r, seq32_add(seq, len)) : DROP_NONE;
    if (len > 0) {
        input_data(r, &a, lean, result);
    } else {
        pkt_free(p);
        result->drop = fin_drop;
        result->reordered = !fin_drop && !seq32_eq(seq, r->nxt);
    }
    if (fin && !fin_drop)
        result->drop = DROP_NONE; /* the end is news, whatever came with it */
    reach_fin(r, result);
    /* RFC 5681 4.2: at once what is out of order or fills a gap; and whatever was not all new, so
     * that a sender who is wrong about us learns it. */
    if (gap || result->reordered)
        r->quick = QUICK_ACKS;
    acknowledge(r, fin || result->bytes < len, now);
    invariant(receiver_ok(r));
}

/* ---- the window's size ---- */

void receiver_rtt(struct tcp_receiver *r, tick_t rtt)
{
    if (rtt == 0)
        return;
    if (r->rtt == 0 || rtt < r->rtt)
        r->rtt = rtt;
    else /* the sender's pauses make samples too long, nothing makes them too short */
        r->rtt += (rtt - r->rtt) / 8;
}

/* The most that the window field can tell. */
static uint32_t field_max(const struct tcp_receiver *r)
{
    return (uint32_t)UINT16_MAX << r->scale;
}

static void grow(struct tcp_receiver *r, uint32_t most)
{
    uint64_t want = (uint64_t)r->round_bytes * 2;
    if (r->round_bytes > r->round_before)
        want += (uint64_t)(r->round_bytes - r->round_before) * 4;
    most = min_u32(most, min_u32(r->size_max, field_max(r)));
    if (want > most)
        want = most;
    if (want > r->size)
        r->size = (uint32_t)want;
}

static void begin_round(struct tcp_receiver *r, tick_t now)
{
    r->round_at = now;
    r->round_end = r->right;
    r->round_before = r->round_bytes;
    r->round_bytes = 0;
    r->slow = false;
}

/* A round is a round trip, by its estimate. When there is data in it that could not be sent before
 * we had said something in it, too, it has taken a round trip at least. */
static void count_round(struct tcp_receiver *r, uint32_t n, uint32_t most, tick_t now)
{
    if (r->round_at == 0)
        return;
    r->round_bytes += n;
    tick_t took = tick_since(now, r->round_at);
    if (seq32_gt(r->nxt, r->round_end) && (r->rtt == 0 || took < r->rtt))
        receiver_rtt(r, took);
    tick_t round = r->rtt > ROUND_MIN ? r->rtt : ROUND_MIN;
    if (r->rtt == 0 || took < round)
        return;
    /* Where the service is what is slow, more would only wait, or be lost on its way. */
    if (!r->lean && !r->slow && took <= ROUND_LATE * round)
        grow(r, most);
    begin_round(r, now);
}

/* ---- the window ---- */

/* Bytes from nxt on that could be offered. */
static uint32_t window_room(const struct tcp_receiver *r)
{
    return r->size - r->unconsumed;
}

bool receiver_consumed(struct tcp_receiver *r, uint32_t n, uint32_t most, tick_t now)
{
    assert(n <= r->unconsumed && "only what was given out can be consumed");
    r->unconsumed -= n;
    count_round(r, n, most, now);
    invariant(receiver_ok(r));
    uint32_t known = offered(r);
    uint32_t opening = min_u32(window_room(r), field_max(r)) - known;
    uint32_t enough = known < r->segment ? r->segment : 2u * r->segment;
    if (r->fin_reached || known > r->size / 2 || opening < min_u32(enough, r->size / 2))
        return false;
    r->ack = RECEIVER_ACK_NOW;
    return true;
}

uint16_t receiver_window(struct tcp_receiver *r, bool syn, bool lean)
{
    uint8_t scale = syn ? 0 : r->scale; /* RFC 7323 2.2: that of a SYN is never scaled */
    uint32_t known = offered(r);
    uint32_t room = min_u32(window_room(r), (uint32_t)UINT16_MAX << scale);
    if (lean || room < known)
        room = known;
    /* RFC 9293 3.8.6.2.2: not by a little */
    bool opens = room - known >= min_u32(r->size / 2, r->segment);
    uint32_t units = (opens ? room : known) >> scale;
    /* Rounded down, the window would seem to shrink (RFC 7323 2.4): up, where there is room. */
    if (units << scale < known && (units + 1) << scale <= room)
        units++;
    if (syn && units > UINT16_MAX) /* again, after an ACK that could tell more */
        units = UINT16_MAX;
    r->right = seq32_max(r->right, seq32_add(r->nxt, units << scale));
    assert(units <= UINT16_MAX && "never more is offered than the field can tell");
    invariant(receiver_ok(r));
    return (uint16_t)units;
}

/* ---- acknowledgments ---- */

unsigned receiver_sacks(const struct tcp_receiver *r, struct tcp_sack *to, unsigned max)
{
    if (!r->sack || max == 0)
        return 0;
    unsigned n = 0;
    if (r->dsack_due)
        to[n++] = r->dsack; /* RFC 2883 4: first */
    return n + reorder_sacks(&r->reorder, to + n, max - n);
}

void receiver_acked(struct tcp_receiver *r, tick_t now)
{
    r->ack = RECEIVER_ACK_NONE;
    r->unacked = 0;
    r->acked = r->nxt;
    r->dsack_due = false;
    if (r->round_at == 0)
        begin_round(r, now);
}

void receiver_expire(struct tcp_receiver *r, tick_t now)
{
    if (r->ack == RECEIVER_ACK_DELAYED && now >= r->ack_due)
        r->ack = RECEIVER_ACK_NOW;
}

uint32_t receiver_cost(const struct tcp_receiver *r)
{
    return r->reorder.cost + r->reorder.room * (uint32_t)sizeof(*r->reorder.range);
}

/* What waits lies behind a gap, within the window, and before the end. */
static bool waiting_ok(const struct tcp_receiver *r)
{
    const struct tcp_reorder *o = &r->reorder;
    if (!reorder_ok(o))
        return false;
    if (reorder_empty(o))
        return true;
    seq32_t last = o->range[o->n - 1].right;
    return seq32_gt(o->range[0].left, r->nxt) && seq32_le(last, r->right) && !r->fin_reached &&
           (!r->fin_known || seq32_le(last, r->fin_seq));
}

bool receiver_ok(const struct tcp_receiver *r)
{
    if (!waiting_ok(r) || seq32_gt(r->nxt, r->right) || seq32_gt(r->acked, r->nxt))
        return false;
    if (r->fin_known && r->fin_reached != seq32_lt(r->fin_seq, r->nxt))
        return false;
    if (r->fin_reached && !r->fin_known)
        return false;
    return (uint64_t)offered(r) + r->unconsumed <= r->size && r->segment <= r->mss;
}
