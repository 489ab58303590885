/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_CTL_REQUEST_H
#define MILLRACE_CTL_REQUEST_H

/*
 * What the control core asks of one worker's stack, and the answer, as one struct that travels over
 * a ring and comes back. The stack fills the answer and keeps no pointer to it. Listings are paged:
 * each call fills up to max rows from cursor on.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"
#include "wire/addr.h"

/* X(enumerator, name) */
#define CTL_NEIGHBOUR_STATES(X) \
    X(INCOMPLETE, "incomplete") \
    X(REACHABLE, "reachable")   \
    X(STALE, "stale")           \
    X(DELAY, "delay")           \
    X(PROBE, "probe")           \
    X(FAILED, "failed")

/* RFC 4861 7.3.2, for ARP as well; FAILED: no answer, kept for a moment so that a flood does not
 * ask again for each packet. */
enum ctl_neighbour_state {
#define X(id, name) CTL_NEIGHBOUR_##id,
    CTL_NEIGHBOUR_STATES(X)
#undef X
};

struct ctl_neighbour {
    struct ip_addr addr;
    struct mac_addr mac; /* zero in INCOMPLETE and FAILED */
    uint16_t iface;
    enum ctl_neighbour_state state;
    bool router;      /* a configured gateway */
    uint32_t queued;  /* packets waiting for it */
    tick_t confirmed; /* age of the last confirmation, TICK_NEVER: never */
};

#define CTL_ADDRESS_STATES(X) \
    X(TENTATIVE, "tentative") \
    X(PREFERRED, "preferred") \
    X(DUPLICATE, "duplicate")

enum ctl_address_state {
#define X(id, name) CTL_ADDRESS_##id,
    CTL_ADDRESS_STATES(X)
#undef X
};

struct ctl_address {
    struct ip_prefix prefix;
    uint16_t iface;
    enum ctl_address_state state;
    bool link_local; /* made by the stack */
};

struct ctl_path {
    struct ip_addr remote;
    uint16_t mtu;
    tick_t expires; /* from now */
};

/* Names a connection for as long as it lives, and no other afterwards. 0: none. */
typedef uint64_t ctl_id_t;

#define CTL_NAME_MAX 32

enum ctl_connection_flag {
    CTL_CONNECTION_TIMESTAMPS = 1u << 0,
    CTL_CONNECTION_SACK = 1u << 1,
    CTL_CONNECTION_ECN = 1u << 2,
    CTL_CONNECTION_SCALED = 1u << 3,
    CTL_CONNECTION_COOKIE = 1u << 4,  /* made from a SYN cookie */
    CTL_CONNECTION_PASSIVE = 1u << 5, /* the other side opened it */
};

#define CTL_SERVER_NAME_MAX 64

/* TLS on a connection. */
struct ctl_tls {
    const char *version; /* "TLSv1.3"; "": still in the handshake; NULL: none */
    const char *cipher;
    const char *group; /* of the key exchange; "": not known */
    bool resumed;
    char server_name[CTL_SERVER_NAME_MAX]; /* as the client asked, cut; "": it did not */
};

/* HTTP/2 on a connection. */
struct ctl_http2 {
    const char *goaway;     /* NULL: none of HTTP/2. "none"; "announced" (the first, with no last
                               stream) or "sent" by us, "received", "both"; "failed": with an error */
    tick_t drain;           /* until its streams end, while it is drained; TICK_NEVER: it is not */
    uint32_t streams;       /* open */
    uint64_t total_streams; /* ever opened */
    uint64_t requests;      /* told to the service */
    int64_t send_window;    /* bytes of content, of the connection */
    int64_t receive_window;
    uint32_t glitches; /* points, see the counters h2_glitch_ */
    uint64_t rx_frames;
    uint64_t tx_frames;
    uint32_t memory;          /* bytes pinned by its streams, tables and frames */
    uint32_t rx_header_table; /* bounds of HPACK's tables: of what comes, of what goes */
    uint32_t tx_header_table;
};

/* One connection, as `ss -ti` shows one. Names are constants or the connection's own copies. */
struct ctl_connection {
    ctl_id_t id;
    struct ip_addr local;
    struct ip_addr remote;
    uint16_t local_port;
    uint16_t remote_port;
    uint8_t protocol; /* enum ip_proto */
    uint8_t flags;    /* enum ctl_connection_flag */
    const char *state;
    const char *recovery;   /* state of loss recovery; "" in TIME-WAIT */
    const char *congestion; /* algorithm */
    const char *service;
    char listener[CTL_NAME_MAX]; /* "": opened by us */
    tick_t age;
    tick_t idle; /* since a segment was last received */
    tick_t srtt; /* 0: not measured */
    tick_t rttvar;
    tick_t min_rtt;    /* 0: not measured */
    tick_t rto;        /* with backoff */
    tick_t timer;      /* until the next timer; TICK_NEVER: none */
    uint32_t cwnd;     /* bytes */
    uint32_t ssthresh; /* bytes; UINT32_MAX: not known */
    uint32_t mss;      /* payload of a full segment sent */
    uint32_t mss_peer; /* as it announced */
    uint32_t path_mtu;
    uint32_t send_window;    /* the peer's, bytes */
    uint32_t receive_window; /* ours */
    uint8_t send_scale;
    uint8_t receive_scale;
    uint8_t backoff;
    uint32_t in_flight; /* bytes */
    uint32_t lost;      /* bytes believed lost and not sent again */
    uint32_t sacked;    /* bytes */
    uint32_t unsent;    /* bytes queued to be sent the first time */
    uint32_t unread;    /* bytes that arrived and the service has not consumed */
    uint32_t reordered; /* bytes held out of order */
    uint64_t rx_bytes;
    uint64_t tx_bytes;
    uint64_t retransmit_bytes;
    uint64_t rx_segments;
    uint64_t tx_segments;
    uint64_t pacing_rate; /* bytes a second; 0: not paced */
    uint32_t memory;      /* bytes held for the peer */
    struct ctl_tls tls;
    struct ctl_http2 http2;
};

/* A filter of connections: what is zero or empty matches all. */
struct ctl_connection_filter {
    uint8_t protocol;
    char state[CTL_NAME_MAX];
    char listener[CTL_NAME_MAX];
};

/* A listener and what came of it in this worker. */
struct ctl_listener {
    char name[CTL_NAME_MAX];
    struct ip_addr addr;
    uint16_t port;
    const char *service;
    uint32_t connections; /* open, half-open ones too */
    uint32_t half_open;
    uint32_t backlog;
    uint64_t accepted;
    uint64_t cookies;    /* SYN cookies sent */
    uint64_t refused;    /* SYNs dropped at a bound */
    const char *carrier; /* "tcp", "http2" */
    bool tls;
    uint32_t handshakes;         /* of TLS under way */
    uint64_t handshakes_refused; /* connections reset at a bound of those */
};

#define CTL_USER_MAX      64
#define CTL_AUTHORITY_MAX 272 /* the longest name, in brackets or not, and a port */

/* A tunnel of CONNECT. */
struct ctl_tunnel {
    ctl_id_t id;
    ctl_id_t connection; /* the client's, of the same worker */
    struct ip_addr client;
    struct ip_addr target; /* that answered; :: none has yet */
    uint16_t client_port;
    uint16_t target_port;
    const char *state;
    char listener[CTL_NAME_MAX];
    char proxy[CTL_NAME_MAX];
    char user[CTL_USER_MAX];           /* "": nobody in particular */
    char authority[CTL_AUTHORITY_MAX]; /* as the client asked, cut to what is here */
    uint64_t to_target;                /* bytes */
    uint64_t to_client;
    tick_t age;
    tick_t resolved;  /* after it began; 0: was not, or was given as an address */
    tick_t connected; /* after it began; 0: was not */
};

/* A filter of tunnels: what is empty matches all. */
struct ctl_tunnel_filter {
    char state[CTL_NAME_MAX];
    char listener[CTL_NAME_MAX];
    char proxy[CTL_NAME_MAX];
    char user[CTL_USER_MAX];
    bool by_target;
    struct ip_prefix target; /* valid by_target: what answered is within */
};

#define CTL_REQUESTS(X)                                               \
    X(NEIGHBOURS, "neighbours")                                       \
    X(NEIGHBOURS_FLUSH, "neighbours_flush")                           \
    X(ADDRESSES, "addresses")                                         \
    X(PATHS, "paths")                                                 \
    X(CONNECTIONS, "connections")                                     \
    X(CONNECTION, "connection")                                       \
    X(CONNECTION_RESET, "connection_reset")                           \
    X(SESSION_SHUTDOWN, "session_shutdown")                           \
    X(SESSIONS_SHUTDOWN, "sessions_shutdown")                         \
    X(LISTENERS, "listeners")                                         \
    X(TUNNELS, "tunnels") /* this and the next are not the stack's */ \
    X(TUNNEL_KILL, "tunnel_kill")

enum ctl_request_kind {
#define X(id, name) CTL_##id,
    CTL_REQUESTS(X)
#undef X
        CTL_REQUEST_END
};

struct ctl_request {
    enum ctl_request_kind kind;
    union {
        struct ctl_neighbour *neighbour;
        struct ctl_address *address;
        struct ctl_path *path;
        struct ctl_connection *connection;
        struct ctl_listener *listener;
        struct ctl_tunnel *tunnel;
    } rows;          /* in: room for max rows */
    uint32_t max;    /* in */
    uint64_t cursor; /* in: 0 at first; out: where the next page starts */
    uint32_t n; /* out: rows filled; for a flush, neighbours forgotten; for a reset, a shutdown or
                   a kill, 0 or 1; of SESSIONS_SHUTDOWN, those that were told, by any such, and have
                   not ended */
    bool more;  /* out: another page follows; of CONNECTIONS and TUNNELS also after an empty one, as
                   a page looks at so many and no more, however few pass the filter */
    ctl_id_t id; /* in: of CONNECTION, CONNECTION_RESET, SESSION_SHUTDOWN and TUNNEL_KILL */
    union {
        struct ctl_connection_filter filter;    /* in: of CONNECTIONS */
        struct ctl_tunnel_filter tunnel_filter; /* in: of TUNNELS */
    };
    tick_t patience; /* in: of SESSIONS_SHUTDOWN, which tells `max` at most: how long streams may go
                        on */
};

const char *ctl_neighbour_state_name(enum ctl_neighbour_state s);
const char *ctl_address_state_name(enum ctl_address_state s);
const char *ctl_request_name(enum ctl_request_kind k);

#endif
