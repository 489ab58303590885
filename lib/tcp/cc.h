/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_CC_H
#define MILLRACE_TCP_CC_H

/*
 * Congestion control as a table of functions over one small state. Bytes, not segments. Loss
 * detection (sender.h) says what happened; this says how much may be in flight. While a recovery
 * runs, proportional rate reduction decides (sender.h) and only ssthresh of this counts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/serial.h"
#include "base/tick.h"
#include "tcp/settings.h"

struct tcp_cc;

/* What an acknowledgment that moved una or the scoreboard means to congestion control. */
struct tcp_cc_ack {
    uint32_t acked;     /* bytes newly acknowledged, cumulatively or selectively */
    uint32_t in_flight; /* before it */
    tick_t rtt;         /* its sample; 0: none */
    tick_t min_rtt;     /* of the connection; TICK_NEVER: none */
    tick_t srtt;        /* 0: none */
    seq32_t una;        /* after it */
    seq32_t nxt;        /* next to be sent */
    bool limited;       /* the window was in use: only then may it grow (RFC 9293 3.8.4, RFC 7661 4.3) */
};

struct tcp_cc_ops {
    const char *name;
    void (*init)(struct tcp_cc *c);
    /* Outside of recovery: grow. */
    void (*acked)(struct tcp_cc *c, const struct tcp_cc_ack *a, tick_t now);
    /* Loss or an ECN echo: sets ssthresh; the caller brings cwnd there. */
    void (*congested)(struct tcp_cc *c, uint32_t in_flight, bool ecn, tick_t now);
    /* A retransmission timeout; the same. */
    void (*timed_out)(struct tcp_cc *c, uint32_t in_flight, tick_t now);
    /* The last congested or timed_out was a mistake; cwnd and ssthresh are back as they were. */
    void (*undone)(struct tcp_cc *c, tick_t now);
    /* Nothing was sent for longer than the RTO, and now something will be. */
    void (*restarted)(struct tcp_cc *c, tick_t now);
};

/* RFC 9406: leaves slow start when round trips get longer, before there is loss. */
struct tcp_hystart {
    tick_t last_min;  /* least round trip of the round before; TICK_NEVER: none */
    tick_t round_min; /* of the present one */
    tick_t baseline;  /* while in conservative slow start: CSS_BASELINE_MIN_RTT */
    seq32_t round_end;
    uint16_t samples; /* of this round */
    uint8_t css_rounds;
    bool css;
    bool done;
    bool started; /* round_end is valid */
};

struct tcp_cubic {
    tick_t epoch;      /* when this growth began; 0: not yet */
    tick_t k;          /* from epoch until w_max is reached again */
    uint32_t w_max;    /* bytes */
    uint32_t w_start;  /* cwnd at epoch */
    uint64_t w_est;    /* of a Reno flow in its place, 1/256 bytes */
    uint32_t credit;   /* less than a segment's growth kept for the next */
    uint32_t prior_w_max; /* to undo */
};

struct tcp_cc {
    const struct tcp_cc_ops *ops;
    uint32_t cwnd;     /* bytes */
    uint32_t ssthresh; /* bytes; UINT32_MAX: not known yet */
    uint32_t mss;      /* payload bytes of a full segment */
    uint32_t initial;  /* the initial window in bytes */
    uint32_t max;      /* that cwnd may grow to */
    uint32_t counted;  /* NewReno: bytes acked towards the next segment of growth */
    struct tcp_hystart hystart;
    struct tcp_cubic cubic;
};

/* ops by name. Initial window: RFC 6928 for 10: min(10 mss, max(2 mss, 14600)), in proportion for
 * other numbers. */
void tcp_cc_init(struct tcp_cc *c, enum tcp_congestion which, uint32_t mss, uint16_t initial_window,
                 uint32_t max);
/* The path's segments have another size: windows stay what they are in bytes, but no less than one
 * segment. */
void tcp_cc_set_mss(struct tcp_cc *c, uint32_t mss);

static inline bool tcp_cc_slow_start(const struct tcp_cc *c)
{
    return c->cwnd < c->ssthresh;
}

/* Bytes a second to pace at: twice cwnd a round trip in slow start, 1.25 times after. 0: not paced,
 * srtt is not known. */
uint64_t tcp_cc_pacing_rate(const struct tcp_cc *c, tick_t srtt);

extern const struct tcp_cc_ops tcp_cc_cubic;
extern const struct tcp_cc_ops tcp_cc_newreno;

#endif
