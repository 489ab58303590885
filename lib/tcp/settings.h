/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_SETTINGS_H
#define MILLRACE_TCP_SETTINGS_H

/*
 * What an operator may choose about TCP, one set for all connections of a worker. Zero takes the
 * default where a value is named in the comment. Each key of the configuration's section `tcp` is
 * one of these.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

#define TCP_CONGESTIONS(X)                                         \
    X(CUBIC, "cubic", "CUBIC with HyStart++ (RFC 9438, RFC 9406)") \
    X(NEWRENO, "newreno", "NewReno with HyStart++ (RFC 5681, RFC 9406)")

enum tcp_congestion {
#define X(id, name, text) TCP_##id,
    TCP_CONGESTIONS(X)
#undef X
        TCP_CONGESTION_END
};

enum tcp_ecn {
    TCP_ECN_ACCEPT,  /* where the other side asks for it: the default */
    TCP_ECN_REQUEST, /* ask for it, too */
    TCP_ECN_OFF,
};

struct tcp_settings {
    enum tcp_congestion congestion;
    enum tcp_ecn ecn;
    bool no_timestamps;
    bool no_sack;
    bool no_window_scaling;
    bool nagle;     /* RFC 9293 3.7.4 */
    bool no_pacing; /* otherwise connections whose round trip takes over a millisecond are paced */
    uint16_t initial_window;     /* segments: 10 (RFC 6928) */
    uint32_t receive_buffer;     /* bytes offered at first: 64 KiB */
    uint32_t receive_buffer_max; /* up to which it grows with the bandwidth: 4 MiB */
    uint32_t send_buffer;        /* high mark of what is queued, at first: 64 KiB */
    uint32_t send_buffer_max;    /* up to which it grows with cwnd: 4 MiB */
    uint32_t promises;           /* vectors queued to send by one connection: 1024 */
    uint32_t challenge_rate;     /* challenge ACKs a second by one worker (RFC 5961 7): 1000 */
    uint32_t reset_rate;         /* resets a second to segments of no connection: 1000 */
    tick_t rto_min;              /* 200 ms */
    tick_t delayed_ack;          /* 40 ms (RFC 9293 3.8.6.3 allows 500) */
    tick_t connect_timeout;      /* of an active open: 3 min (RFC 1122 4.2.3.5) */
    tick_t accept_timeout;       /* of a passive one, in SYN-RECEIVED: 60 s */
    tick_t user_timeout;         /* data unacknowledged for so long: 5 min (RFC 5482) */
    tick_t fin_timeout;          /* in FIN-WAIT-2 without data: 60 s */
    tick_t time_wait;            /* 60 s: twice an MSL of 30 s */
    tick_t keepalive; /* idle until the first probe; 0, TICK_NEVER: none (RFC 9293 3.8.4) */
    tick_t keepalive_interval; /* 75 s */
    uint16_t keepalive_probes; /* unanswered ones that end it: 9 */
    uint16_t port_min;         /* of active opens: 32768 (RFC 6056 3.2) */
    uint16_t port_max;         /* 60999 */
};

/* s with the defaults in place of zeroes; a buffer's default gives way to a bound that was chosen,
 * and a bound's to a buffer. False: two values contradict each other, or one is outside of what the
 * protocol can do. */
bool tcp_settings_fill(struct tcp_settings *s);

const char *tcp_congestion_name(enum tcp_congestion c);

#endif
