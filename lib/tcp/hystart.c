/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/hystart.h"

/* RFC 9406 4.3 */
#define MIN_RTT_THRESH  (4 * TICK_MS)
#define MAX_RTT_THRESH  (16 * TICK_MS)
#define MIN_RTT_DIVISOR 8
#define N_RTT_SAMPLE    8
#define CSS_ROUNDS      5

void hystart_init(struct tcp_hystart *h)
{
    *h = (struct tcp_hystart){.last_min = TICK_NEVER, .round_min = TICK_NEVER};
}

static void begin_round(struct tcp_hystart *h, seq32_t nxt)
{
    h->last_min = h->round_min;
    h->round_min = TICK_NEVER;
    h->samples = 0;
    h->round_end = nxt;
    h->started = true;
}

/* Round trips have become so much longer that a queue is to be suspected. */
static bool slower(const struct tcp_hystart *h)
{
    if (h->last_min == TICK_NEVER)
        return false;
    tick_t threshold = tick_min(h->last_min / MIN_RTT_DIVISOR, MAX_RTT_THRESH);
    if (threshold < MIN_RTT_THRESH)
        threshold = MIN_RTT_THRESH;
    return h->round_min >= h->last_min + threshold;
}

static void sample(struct tcp_hystart *h, tick_t rtt)
{
    h->round_min = tick_min(h->round_min, rtt);
    if (h->samples < N_RTT_SAMPLE)
        h->samples++;
    if (h->samples < N_RTT_SAMPLE)
        return;
    if (!h->css && slower(h)) {
        h->css = true;
        h->css_rounds = 0;
        h->baseline = h->round_min;
    } else if (h->css && h->round_min < h->baseline) {
        h->css = false; /* it was jitter */
    }
}

/* RFC 9406 4.2 */
bool hystart_acked(struct tcp_hystart *h, const struct tcp_cc_ack *a)
{
    if (!h->started)
        begin_round(h, a->nxt);
    if (a->rtt)
        sample(h, a->rtt);
    if (seq32_lt(a->una, h->round_end))
        return false;
    begin_round(h, a->nxt);
    /* The round in which it began counts as one. */
    return h->css && ++h->css_rounds == CSS_ROUNDS;
}
