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
    bool limited; /* the window was in use: only then may it grow (RFC 9293 3.8.4, RFC 7661 4.3) */
};

/* What happens. in_flight is FlightSize of RFC 5681: bytes sent and not acknowledged, lost ones
 * among them. */
struct tcp_cc_ops {
    const char *name;
    /* Outside of recovery, and in slow start after a timeout: grow. */
    void (*acked)(struct tcp_cc *c, const struct tcp_cc_ack *a, tick_t now);
    /* Loss or an ECN echo: sets ssthresh; cwnd is still as it was, the caller brings it there. */
    void (*congested)(struct tcp_cc *c, uint32_t in_flight, bool ecn, tick_t now);
    /* A retransmission timeout; the same, and the caller makes cwnd one segment. Not to be called
     * for a segment that has timed out before: ssthresh is held then (RFC 5681 3.1). */
    void (*timed_out)(struct tcp_cc *c, uint32_t in_flight, tick_t now);
    /* The last congested or timed_out was a mistake; cwnd and ssthresh are back as they were. */
    void (*undone)(struct tcp_cc *c, tick_t now);
    /* Nothing was sent for longer than the RTO, and now something will be: cwnd shrinks. */
    void (*restarted)(struct tcp_cc *c, tick_t now);
    /* mss is another. */
    void (*resized)(struct tcp_cc *c);
};

/* RFC 9406: leaves slow start when round trips get longer, before there is loss (hystart.h). */
struct tcp_hystart {
    tick_t last_min;  /* least round trip of the round before; TICK_NEVER: none */
    tick_t round_min; /* of the present one; the same */
    tick_t baseline;  /* while in conservative slow start: CSS_BASELINE_MIN_RTT */
    seq32_t round_end;
    uint8_t samples; /* of this round, up to as many as matter */
    uint8_t css_rounds;
    bool css;
    bool started; /* round_end is valid */
};

/* One stage of congestion avoidance as CUBIC sees it. */
struct tcp_cubic_stage {
    tick_t epoch;   /* when it began, moved on by pauses; TICK_NEVER: not yet */
    uint32_t k;     /* microseconds from epoch until w_max is reached again */
    uint32_t w_max; /* bytes; 0: not known, then it is cwnd when the stage begins */
    uint32_t prior; /* cwnd before the last reduction, bytes */
    uint32_t w_est; /* of a Reno flow in its place, bytes */
};

struct tcp_cubic {
    struct tcp_cubic_stage stage;
    struct tcp_cubic_stage before; /* the last reduction: to undo it */
    tick_t updated;                /* the last acknowledgment of this stage */
    uint32_t est_rest;             /* of w_est's growth, not yet a byte: in bytes squared */
};

struct tcp_cc {
    const struct tcp_cc_ops *ops;
    uint32_t cwnd;     /* bytes */
    uint32_t ssthresh; /* bytes; UINT32_MAX: not known yet */
    uint32_t mss;      /* payload bytes of a full segment */
    uint32_t max;      /* that cwnd may grow to */
    uint32_t counted; /* acknowledged, but not enough yet for cwnd to grow; each phase's own unit */
    uint16_t initial_window; /* segments */
    bool after_timeout;      /* this slow start follows a timeout */
    union {
        struct tcp_hystart hystart; /* while ssthresh is not known */
        struct tcp_cubic cubic;     /* CUBIC's, from then on */
    };
};

/* Initial window: RFC 6928 for 10 segments: min(10 mss, max(2 mss, 14600)), in proportion for other
 * numbers. max: bytes; never taken for less than one segment or more than TCP's largest window. */
void tcp_cc_init(struct tcp_cc *c, enum tcp_congestion which, uint32_t mss, uint16_t initial_window,
                 uint32_t max);
/* The same anew, with segments of another size. */
void tcp_cc_begin(struct tcp_cc *c, uint32_t mss);
/* The initial window in bytes. */
uint32_t tcp_cc_initial(const struct tcp_cc *c);
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

/* For invariant(). */
bool tcp_cc_ok(const struct tcp_cc *c);

/* ---- shared by the algorithms ---- */

static inline bool tcp_cc_known(const struct tcp_cc *c)
{
    return c->ssthresh != UINT32_MAX;
}

/* An acknowledgment in slow start: cwnd grows, no further than ssthresh. The first one of a
 * connection may find that it is over, then ssthresh is known. */
void tcp_cc_slow_start_acked(struct tcp_cc *c, const struct tcp_cc_ack *a);
/* ssthresh becomes percent of what is in flight, no less than `floor` segments. */
void tcp_cc_reduce(struct tcp_cc *c, uint32_t in_flight, uint32_t percent, uint32_t floor);
/* After a silence, and after a reduction that was a mistake: what the algorithms have in common. */
void tcp_cc_restart(struct tcp_cc *c);
void tcp_cc_undo(struct tcp_cc *c);

/* n / by, where *rest carries the remainder from call to call. */
static inline uint64_t tcp_cc_share(uint64_t n, uint32_t by, uint32_t *rest)
{
    n += *rest;
    *rest = (uint32_t)(n % by);
    return n / by;
}

#endif
