/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_CONN_H
#define MILLRACE_TCP_CONN_H

/*
 * A TCP connection (RFC 9293), sans-I/O: segments in by tcp_input, segments out by tcp_output
 * through the worker's `transmit`, time by tcp_deadline and tcp_expire. The service's side of it is
 * its stream. It is complete but for three things of its owner (lib/stack): finding it by its
 * addresses, what happens to segments of no connection, and TIME-WAIT, which is a smaller object
 * (tcp/time_wait.h).
 *
 * After each call of any function here, and after each run of the ready list that may have reached
 * its service, the owner looks: tcp_wants_output, tcp_deadline, and tcp_is_over. A service's calls
 * reach the owner through `wake`.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/limit.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/serial.h"
#include "base/siphash.h"
#include "base/tick.h"
#include "buf/pkt.h"
#include "stats/counter.h"
#include "stream/stream.h"
#include "tcp/receiver.h"
#include "tcp/sender.h"
#include "tcp/settings.h"
#include "wire/flow_key.h"
#include "wire/tcp.h"

/* X(enumerator, name): RFC 9293 3.3.2 */
#define TCP_STATES(X)               \
    X(CLOSED, "closed")             \
    X(SYN_SENT, "syn-sent")         \
    X(SYN_RECEIVED, "syn-received") \
    X(ESTABLISHED, "established")   \
    X(FIN_WAIT_1, "fin-wait-1")     \
    X(FIN_WAIT_2, "fin-wait-2")     \
    X(CLOSE_WAIT, "close-wait")     \
    X(CLOSING, "closing")           \
    X(LAST_ACK, "last-ack")         \
    X(TIME_WAIT, "time-wait")

enum tcp_state {
#define X(id, name) TCP_##id,
    TCP_STATES(X)
#undef X
        TCP_STATE_END
};

const char *tcp_state_name(enum tcp_state s);

struct tcp_conn;

/* ECN field of the IP header (RFC 3168 5). */
enum tcp_ecn_field { ECN_NOT_ECT = 0, ECN_ECT1 = 1, ECN_ECT0 = 2, ECN_CE = 3 };

/* What all connections of a worker share. Set up by the owner. */
struct tcp {
    struct mem *mem;
    struct pkt_pool *pool;
    struct counters *counters;
    struct rng *rng;
    const struct tcp_settings *settings; /* filled */
    struct stream_ready ready;           /* services that are to be told something */
    struct limit challenges;             /* see tcp_challenge */
    tick_t challenge_round;              /* when its numbers change next; 0: at once */
    struct siphash_key secret; /* initial sequence numbers, timestamps, cookies; of all workers */
    tick_t now;                /* of the owner's present call: services know no time */
    uint64_t memory;           /* held by connections, see tcp_cost */
    uint64_t memory_max;
    bool starved; /* a window stays shut for want of memory; the owner's to clear */

    /* p starts at the TCP header, checksum done or left to the device as path says; taken.
     * ecn: the field for the IP header. */
    void (*transmit)(struct tcp_conn *c, struct pkt *p, uint8_t ecn, tick_t now);
    /* The service did something: call tcp_output soon. Many times is once. */
    void (*wake)(struct tcp_conn *c);
};

/* Is memory short? lean: keep nothing out of order, open no window; full: no new connections. */
static inline bool tcp_lean(const struct tcp *t)
{
    return t->memory > t->memory_max - t->memory_max / 8;
}
static inline bool tcp_full(const struct tcp *t)
{
    return t->memory > t->memory_max / 4 * 3;
}

/*
 * May a challenge ACK go to somebody who need not be who he says (RFC 5961 7)? Counts either way.
 * The limit is settings' on average, and another each second: one that stood still could be counted
 * out from outside, and would tell a stranger which numbers of a connection he has guessed (Cao et
 * al., "Off-Path TCP Exploits", 2016).
 */
bool tcp_challenge(struct tcp *t, tick_t now);

/* The way to the other side, as far as segments depend on it. */
struct tcp_path {
    uint16_t mtu;       /* of the path, for IP packets */
    uint16_t iface_mtu; /* of our link: what MSS we announce */
    bool checksum;      /* the device fills TCP checksums */
    bool multi;         /* it takes chains */
    bool tso;           /* it cuts segments */
};

enum tcp_conn_flag {
    TCP_CONN_PASSIVE = 1u << 0,
    TCP_CONN_COOKIE = 1u << 1, /* made from a SYN cookie */
    /* Agreed in the handshake; until then, what we are ready for. */
    TCP_CONN_TIMESTAMPS = 1u << 2,
    TCP_CONN_SACK = 1u << 3,
    TCP_CONN_SCALED = 1u << 4,
    TCP_CONN_ECN = 1u << 5,
    TCP_CONN_SYN_ACKED = 1u << 6,
    TCP_CONN_FIN_SENT = 1u << 7,
    /* What is to be sent, and why tcp_output has to run. */
    TCP_CONN_SYN_DUE = 1u << 8,  /* SYN or SYN-ACK, the first time or again */
    TCP_CONN_ACK_DUE = 1u << 9,  /* an ACK whatever the receiver says: a challenge, a handshake's */
    TCP_CONN_RST_DUE = 1u << 10, /* the end, aborted by us */
    TCP_CONN_PROBE_DUE = 1u << 11, /* a window probe */
    TCP_CONN_KEEP_DUE = 1u << 12,  /* a keepalive */
    TCP_CONN_TLP_DUE = 1u << 13,   /* a tail loss probe */
    TCP_CONN_PROBE_OUT = 1u << 14, /* a window probe took the number nxt and may be acknowledged */
    TCP_CONN_ECE_DUE = 1u << 15,   /* each ACK echoes congestion until the sender says CWR */
    TCP_CONN_NO_ECT = 1u << 16,    /* with ECN, but one of the SYNs was without */
    /* Each of these has tcp_output do something at once; in CLOSED there is none. */
    TCP_CONN_DUE = TCP_CONN_SYN_DUE | TCP_CONN_ACK_DUE | TCP_CONN_RST_DUE | TCP_CONN_PROBE_DUE |
                   TCP_CONN_KEEP_DUE | TCP_CONN_TLP_DUE,
};

struct tcp_conn {
    struct stream stream;
    struct tcp *tcp;
    const struct flow_key *key; /* the owner's */
    struct tcp_path path;
    uint32_t flags;        /* enum tcp_conn_flag */
    uint8_t state;         /* enum tcp_state */
    uint8_t probes;        /* window probes or keepalives unanswered */
    uint8_t probe_backoff; /* window probes since the window was last open */

    /* Send sequence space (RFC 9293 3.3.1); una and nxt are sender's. */
    uint8_t snd_scale;
    struct tcp_sender sender;
    seq32_t iss;
    uint32_t snd_wnd; /* scaled */
    uint32_t snd_wnd_max;
    seq32_t snd_wl1;
    seq32_t snd_wl2;
    uint16_t mss;       /* the peer's, as it said or by default */
    uint16_t mss_limit; /* by black-hole detection; 0: none */

    /* Receive sequence space. */
    struct tcp_receiver receiver;
    seq32_t irs;
    uint32_t ts_offset; /* of our timestamp clock (RFC 7323 7.1) */
    uint32_t ts_recent; /* RFC 7323 4.3 */
    uint32_t charged;   /* of tcp->memory */
    tick_t ts_recent_at;

    /* Timers but the sender's and receiver's (timers.c); TICK_NEVER: not running. */
    tick_t state_end; /* of SYN-SENT, SYN-RECEIVED, FIN-WAIT-2, TIME-WAIT */
    tick_t probe_at;  /* window probe */
    tick_t keepalive_at;
    tick_t pace_at;       /* nothing new leaves before */
    tick_t path_raise_at; /* try the path's full MTU again after a black hole */
    tick_t opened_at;
    tick_t heard_at; /* last segment that was acceptable */

    uint64_t rx_bytes; /* in order */
    uint64_t tx_bytes; /* first transmissions */
    uint64_t rx_segments;
    uint64_t tx_segments;
};

/* ---- opening ---- */

/* CLOSED. service may be told of it from here on. */
void tcp_conn_init(struct tcp_conn *c, struct tcp *t, const struct flow_key *key,
                   const struct tcp_path *path, const struct stream_service *service);
/* Frees all that it holds. Nobody is told anything. */
void tcp_conn_fini(struct tcp_conn *c);

/* Active: SYN-SENT. iss: from tcp_isn, or where it follows a TIME-WAIT, after that one's snd_nxt.
 */
void tcp_connect(struct tcp_conn *c, seq32_t iss, tick_t now);
/* Passive: a SYN (without ACK, RST, FIN) has come to a listener: SYN-RECEIVED. Data on it is not
 * kept. ecn: the IP header's field. */
void tcp_accept(struct tcp_conn *c, const struct tcp_hdr *syn, seq32_t iss, uint8_t ecn,
                tick_t now);
/* Passive, from an ACK whose cookie (tcp/cookie.h) was found valid; syn is the SYN as it must have
 * been: ESTABLISHED. The ACK itself goes to tcp_input next. False: no memory, it is to end. */
bool tcp_accept_cookie(struct tcp_conn *c, const struct tcp_hdr *syn, seq32_t iss, tick_t now);

/* ---- running ---- */

/*
 * A segment of this connection, checksum verified. p, which is taken, starts at the segment's data.
 * ecn: the IP header's field. What is dropped is counted under one drop reason.
 */
void tcp_input(struct tcp_conn *c, const struct tcp_hdr *h, struct pkt *p, uint8_t ecn, tick_t now);

/* Sends up to `segments` segments, of at most `bytes` bytes of data together (a segment more may
 * pass that). Returns how many; tcp_wants_output says whether there is more. */
unsigned tcp_output(struct tcp_conn *c, unsigned segments, uint32_t bytes, tick_t now);
/* Would tcp_output send something at `now`? */
bool tcp_wants_output(const struct tcp_conn *c, tick_t now);

tick_t tcp_deadline(const struct tcp_conn *c);
void tcp_expire(struct tcp_conn *c, tick_t now);

/* ---- the network's word, after the owner has found the connection ---- */

/* Is seq that of something in flight? An ICMP error that quotes anything else is not believed
 * (RFC 5927 4.1). */
bool tcp_in_flight(const struct tcp_conn *c, seq32_t seq);
/* The path carries less than before (RFC 1191, 8201), or more. */
void tcp_path_changed(struct tcp_conn *c, const struct tcp_path *path, tick_t now);
/* Hard errors end a connection that is not established yet; else all are soft (RFC 5927 5.2). */
void tcp_unreachable(struct tcp_conn *c, bool hard, tick_t now);

/* ---- ending ---- */

/* The operator's: RST to the peer, STREAM_KILLED to the service. */
void tcp_kill(struct tcp_conn *c, tick_t now);
/* The connection is no more, or is in TIME-WAIT, has nothing to send, and its service has been told
 * all: tcp_conn_fini is due. In TIME-WAIT, make a tcp_time_wait of it first. */
bool tcp_is_over(const struct tcp_conn *c);

/* Gives back what it holds out of order, which its peer has to send again (RFC 2018 8). */
void tcp_prune(struct tcp_conn *c);

/* Bytes queued that were never sent. */
uint64_t tcp_unsent(const struct tcp_conn *c);
/* Sequence numbers that the peer's window leaves after nxt. */
static inline uint32_t tcp_usable(const struct tcp_conn *c)
{
    int32_t used = seq32_diff(c->sender.nxt, c->sender.una);
    assert(used >= 0 && "una is never past nxt");
    return (uint32_t)used < c->snd_wnd ? c->snd_wnd - (uint32_t)used : 0;
}

/* Memory that it holds for its peer, in tcp->memory. */
uint32_t tcp_cost(const struct tcp_conn *c);

/* For invariant(). */
bool tcp_conn_ok(const struct tcp_conn *c);

#endif
