/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_SENDER_H
#define MILLRACE_TCP_SENDER_H

/*
 * The sending half of a connection as arithmetic: what is in flight, what of it is lost, when to
 * send what again, and how much may go. It knows sequence numbers and times, no bytes and no
 * packets, so that it is tested without either; conn.h owns one and does what it says.
 *
 *   RFC 6298  RTO with Karn's rule and backoff      RFC 8985  RACK-TLP
 *   RFC 6675  SACK-based recovery                   RFC 9937  proportional rate reduction
 *   RFC 6582, 3042  NewReno and limited transmit,   RFC 5682  F-RTO
 *             where there is no SACK
 *   RFC 3168  one reduction a window for ECN        RFC 2883, 3522  undoing what D-SACK or
 *   RFC 5681 4.1  restart after idle                          timestamps prove needless
 *
 * How it is used, by one thread:
 *
 *   to send    while ((n = sender_room(s)) > 0): if sender_resend names a segment, send that and
 *              say sender_resent; else send new data, as far as it fits in n or nothing is in
 *              flight, and say sender_sent.
 *   to receive sender_ack, with what conn.c has validated: una <= ack <= nxt.
 *   timers     sender_deadline and sender_expire, which says what to do.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/serial.h"
#include "base/tick.h"
#include "stats/counter.h"
#include "tcp/cc.h"
#include "tcp/inflight.h"
#include "tcp/rtt.h"
#include "wire/tcp.h"

/* Bits that can be printed: X(enumerator, name) */
#define SENDER_STATES(X)                                               \
    X(OPEN, "open")         /* nothing suspicious */                   \
    X(DISORDER, "disorder") /* SACKs or duplicate ACKs, no loss yet */ \
    X(CWR, "cwr")           /* window reduced for ECN */               \
    X(RECOVERY, "recovery") /* fast recovery */                        \
    X(LOSS, "loss")         /* after a retransmission timeout */

enum sender_state {
#define X(id, name) SENDER_##id,
    SENDER_STATES(X)
#undef X
        SENDER_STATE_END
};

const char *sender_state_name(enum sender_state s);

/* F-RTO (RFC 5682): where it stands. */
enum sender_frto {
    SENDER_FRTO_OFF,
    SENDER_FRTO_RESENT, /* only the first segment has been sent again: step 2 */
    SENDER_FRTO_NEW,    /* up to two new segments may go, then the next ACK tells: step 3 */
};

enum sender_timer {
    SENDER_TIMER_NONE,
    SENDER_TIMER_RTO,
    SENDER_TIMER_TLP,
    SENDER_TIMER_REORDER, /* RACK's */
    SENDER_TIMER_FRTO,    /* there was nothing new to send */
};

struct tcp_sender {
    seq32_t una;     /* lowest not acknowledged */
    seq32_t nxt;     /* one past the highest sent */
    uint32_t mss;    /* payload bytes of a full segment, as sent now */
    uint8_t state;   /* enum sender_state */
    bool sack;       /* the other side sends SACK */
    bool answered;   /* something has been acknowledged */
    uint8_t backoff; /* retransmission timeouts since the last RTT sample, saturating */
    struct inflight inflight;
    struct tcp_rtt rtt;
    struct tcp_cc cc;
    struct counters *counters;

    /* Recovery (RFC 6675 5): over when una reaches this. Without SACK none begins again before una
     * is past it (RFC 6582 3.2). */
    seq32_t recovery_end;
    uint32_t dup_acks; /* without SACK: segments that duplicates say have left the network */
    bool resend_due;   /* the first retransmission of RECOVERY or LOSS goes in any case */
    /* The last send found the window in use, and una has not passed full_until since. */
    bool full;
    /* TLP (RFC 8985 7.2). */
    bool tlp_out;    /* a probe awaits its answer */
    bool tlp_resent; /* and it was a retransmission */
    seq32_t tlp_end;
    seq32_t full_until;
    /* PRR (RFC 9937 6.2), valid in CWR and RECOVERY; bytes. */
    uint32_t prr_delivered;
    uint32_t prr_out;
    uint32_t prr_flight; /* RecoverFS */

    /* RACK (RFC 8985 5.2): of the most recently sent of what has been delivered. */
    tick_t rack_rtt;   /* 0: nothing yet */
    tick_t reorder_at; /* when the next segment's time to be late is over; TICK_NEVER: none */
    seq32_t rack_order;
    seq32_t rack_dsack_round; /* while rack_round */
    seq32_t fack;             /* highest acknowledged, cumulatively or selectively */
    uint8_t reo_steps;        /* reo_wnd_mult */
    uint8_t reo_persist;      /* recoveries until it falls back to 1 */
    uint8_t reo_late;         /* what has been seen to be late, in 128ths of srtt */
    bool reordering_seen;
    bool rack_round;

    /* Undo: what was before the last reduction, valid while undo_ok. */
    bool undo_ok;
    bool eifel;   /* the first ACK of eifel_end has still to come, and tells (RFC 3522) */
    uint8_t frto; /* enum sender_frto */
    seq32_t undo_una;
    uint32_t undo_cwnd;
    uint32_t undo_ssthresh;
    uint32_t undo_resent; /* bytes sent again in that episode and not yet proven needless */
    seq32_t eifel_end;
    tick_t resent_at; /* of the first retransmission of the episode, while eifel */

    /* ECN (RFC 3168 6.1.2): while ecn_wait, no further reduction before una is past this: then the
     * segment with CWR has arrived, and the other side has stopped to echo what it told before. */
    seq32_t ecn_end;
    bool ecn_wait;
    bool cwr_due; /* the next new data carries CWR; conn.c clears it */

    uint8_t timer_kind;    /* enum sender_timer */
    seq32_t timed_out_una; /* una at the last retransmission timeout */
    tick_t timer;          /* the one that runs; TICK_NEVER: none */
    tick_t rto_from;       /* the retransmission timer runs from here */
    tick_t last_sent;      /* of anything; 0: nothing yet */
    tick_t stalled_since;  /* the oldest unacknowledged data was first sent or una last moved; with
                              inflight empty, conn.c's: the first probe unanswered */
    uint64_t retransmitted;
};

struct sender_args {
    struct mem *mem;
    struct counters *counters;
    seq32_t iss;
    uint32_t mss;
    enum tcp_congestion congestion;
    uint16_t initial_window; /* segments */
    uint32_t cwnd_max;       /* bytes */
    tick_t rto_min;
    uint32_t segments_max; /* records in flight */
};

/* una = nxt = iss. */
void sender_init(struct tcp_sender *s, const struct sender_args *a);
void sender_fini(struct tcp_sender *s);
/* What the handshake agreed on; before any data is sent. */
void sender_negotiated(struct tcp_sender *s, bool sack, uint32_t mss);
/* Segments are smaller from now on (path MTU), or larger again. Those in flight that are larger
 * than mss are LOST at once, without congestion, if `lost`. */
void sender_set_mss(struct tcp_sender *s, uint32_t mss, bool lost);

/* ---- sending ---- */

/* May there be one more record? Where not, nothing new is sent. */
bool sender_can_send(struct tcp_sender *s);
/* Something is about to be sent after a silence: restarts cwnd if that was long. */
void sender_wakes(struct tcp_sender *s, tick_t now);
/* Bytes that may leave now by cwnd, PRR, limited transmit and loss state; 0: none. The peer's
 * window is conn.c's affair. In RECOVERY and LOSS it allows the first retransmission in any case.
 */
uint32_t sender_room(const struct tcp_sender *s);
/* Would sender_resend name a segment, and is there room for it? */
bool sender_resends(const struct tcp_sender *s);
/* The lowest LOST segment, to be sent again before anything new; NULL: none, or F-RTO wants to see
 * new data first. Its len may be longer than mss: then sender_split first. */
struct tcp_seg *sender_resend(struct tcp_sender *s);
/* The record is cut in two, the first of len bytes; false: no room for a record, then it is sent
 * whole. Pointers to records are invalid afterwards; returns through *seg the first part. */
bool sender_split(struct tcp_sender *s, struct tcp_seg **seg, uint32_t len);
/* New data (or SYN, FIN) of len numbers was sent at nxt, which moves. limited: the application had
 * no more. Only after sender_can_send. */
void sender_sent(struct tcp_sender *s, uint32_t len, bool limited, tick_t now);
/* seg was sent again. */
void sender_resent(struct tcp_sender *s, struct tcp_seg *seg, tick_t now);

/* ---- receiving ---- */

struct sender_ack {
    seq32_t ack;
    const struct tcp_sack *sack; /* as received; blocks outside of what was sent are ignored */
    unsigned n_sack;
    tick_t echoed; /* when what this answers was sent, by its timestamp; TICK_NEVER: unknown */
    bool ece;      /* on a connection with ECN */
    bool plain;    /* no data, no SYN, no FIN, window as before: may be a duplicate ACK */
};

struct sender_result {
    uint32_t acked;  /* numbers of sequence space that una moved by */
    uint32_t sacked; /* bytes newly acknowledged selectively */
    bool dsack;      /* it reported a duplicate */
};

/* Everything about ack: scoreboard, RTT, RACK, states, cwnd, timer; una moves. */
void sender_ack(struct tcp_sender *s, const struct sender_ack *a, tick_t now,
                struct sender_result *r);

/* ---- timers ---- */

enum sender_action {
    SENDER_NOTHING,
    SENDER_RESEND,    /* there is something to send again: sender_room and sender_resend say what */
    SENDER_PROBE,     /* a tail loss probe: a new segment if the peer's window has room for one,
                         else the last one again, sender_last; then sender_probed */
    SENDER_TIMED_OUT, /* RTO: as RESEND, and conn.c looks at backoff and stalled_since */
};

tick_t sender_deadline(const struct tcp_sender *s);
enum sender_action sender_expire(struct tcp_sender *s, tick_t now);
/* The highest segment in flight; NULL: none. */
struct tcp_seg *sender_last(struct tcp_sender *s);
/* The probe has gone (after sender_sent or sender_resent). */
void sender_probed(struct tcp_sender *s, bool resent, tick_t now);

/* ---- figures ---- */

/* Bytes believed to be on their way (RFC 6675's pipe). */
uint32_t sender_in_flight(const struct tcp_sender *s);
static inline bool sender_idle(const struct tcp_sender *s)
{
    return s->inflight.head == s->inflight.tail;
}
/* Gives memory back that an idle connection does not need; only while sender_idle. */
void sender_tidy(struct tcp_sender *s);
/* For invariant(). */
bool sender_ok(const struct tcp_sender *s);

#endif
