/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STACK_STACK_H
#define MILLRACE_STACK_STACK_H

/*
 * One worker's network stack: interfaces, neighbours, ICMP, paths and flows. It owns no device and
 * no clock: packets go in by stack_input, come out by stack_output, and stack_deadline says when it
 * wants stack_expire. One thread's at a time.
 *
 * Several workers run a stack each over the same interfaces and addresses. The one with worker == 0
 * speaks for the host: it answers ARP and neighbour discovery and runs duplicate address detection;
 * the others only listen, for which the application hands each of them a copy, marked PKT_COPY, of
 * what steer_owner (stack/steer.h) calls STEER_ALL. Copies teach, but are not counted.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/tick.h"
#include "buf/pkt.h"
#include "ctl/request.h"
#include "http2/settings.h"
#include "sched/sched.h"
#include "stack/iface.h"
#include "stats/counter.h"
#include "stream/http.h"
#include "stream/stream.h"
#include "tcp/settings.h"
#include "tls/context.h"

struct stack;

/* Every bound that a peer can push against. Zero takes the default. */
struct stack_limits {
    uint32_t neighbours;      /* entries, per worker: 4096 */
    uint32_t neighbour_queue; /* packets waiting for one neighbour: 64, which is also the most */
    uint32_t paths;           /* path MTU entries: 4096 */
    uint32_t reass_datagrams; /* incomplete at once: 256 */
    uint32_t reass_bytes;     /* held by them: 4 MiB */
    uint32_t flows;           /* connections: 1,048,576 */
    uint32_t time_wait;       /* connections in TIME-WAIT; the oldest makes room: 65,536 */
    uint32_t streams;         /* HTTP/2 streams open at once: 1,048,576 */
    uint64_t tcp_memory;      /* bytes that connections hold for their peers (PKT_COST): 64 MiB */
    uint32_t tx_queue;        /* packets waiting for one device: 4096 */
};

struct stack_icmp {
    bool echo;            /* answer echo requests */
    bool errors;          /* send unreachable, time exceeded, too big, parameter problem */
    uint32_t error_rate;  /* per second, all together (RFC 4443 2.4 f, RFC 1812 4.3.2.8); 0: 100 */
    uint32_t error_burst; /* 0: 50 */
};

#define STACK_LISTENERS_MAX     64
#define STACK_LISTENER_NAME_MAX 32

/* What stands between TCP and the service. */
enum stack_carrier {
    STACK_CARRIER_TCP,   /* nothing */
    STACK_CARRIER_HTTP2, /* HTTP/2, over TLS where the listener has a context, else with prior
                            knowledge (RFC 9113 3.3) */
};

/* A TCP port that we answer on. */
struct stack_listener {
    char name[STACK_LISTENER_NAME_MAX]; /* unique */
    struct ip_addr addr; /* ours; 0.0.0.0: every IPv4 one; :: : every one of both families */
    uint16_t port;       /* 1..65535; of listeners on one port the most specific address wins */
    const struct stream_service *service; /* of HTTP with a carrier of HTTP, else of bytes */
    uint32_t backlog; /* half-open connections kept in a worker, then SYN cookies; 0: 1024 */
    bool no_cookies;  /* then SYNs are dropped instead */
    enum stack_carrier carrier;
    struct tls_context *tls;     /* NULL: cleartext. Held by the listener and its connections. */
    enum sched_policy scheduler; /* of HTTP/2: whose content is next */
    const void *context;         /* of the service (http_peer.context): a struct origin, which the
                                    listener holds (service/origin.h says how), by these; or NULL */
    void (*context_hold)(const void *context, uint16_t worker);
    void (*context_release)(const void *context, uint16_t worker);
    uint32_t handshakes;        /* TLS handshakes under way in a worker, see handshakes.c: 1,024 */
    uint32_t prefix_handshakes; /* of these, from one /24 or /56: 512 */
    tick_t handshake_timeout;   /* 10 s */
};

struct stack_config {
    uint16_t worker; /* this one's index */
    uint16_t n_workers;
    uint16_t n_ifaces;                /* 1..IFACE_MAX */
    const struct iface_config *iface; /* copied */
    struct stack_icmp icmp;
    struct stack_limits limits;
    struct tcp_settings tcp;
    struct h2_settings http2;
    bool log;                              /* requests, by stack_env.log */
    tick_t ticket_lifetime;                /* of TLS; 0: 1 h; what stack_create got, stays */
    uint16_t n_listeners;                  /* 0..STACK_LISTENERS_MAX */
    const struct stack_listener *listener; /* copied; no two with one address and port */
};

/* What a stack is given to live on. All of it outlives the stack. */
struct stack_env {
    struct mem *mem;
    struct pkt_pool *pool;
    struct counters *counters;
    /* Gives p, which is taken, to another worker's stack_input: a reassembled datagram whose flow
     * is not ours. May be NULL with one worker. */
    void (*handoff)(void *ctx, uint16_t worker, struct pkt *p);
    /* The access log of HTTP services (stream/http.h). NULL: off. */
    void (*log)(void *ctx, const struct http_peer *peer, const struct http_record *r);
    struct connect *connect; /* of the service `connect`, see http_env; NULL: none */
    void *ctx;
    uint8_t seed[32]; /* from the system's random source, the same for all workers of a host */
};

enum stack_error {
    STACK_E_MEMORY = -1,
    STACK_E_CONFIG = -2, /* an address, MTU, count or setting outside of what is allowed */
    STACK_E_NO_ROUTE = -3,
    STACK_E_NO_SOURCE = -4, /* no usable address of ours to speak from */
    STACK_E_NO_PORT = -5,   /* every port of the range is in use with that destination */
    STACK_E_LIMIT = -6,     /* bound of connections or of memory */
};

/* NULL: no memory, or a configuration outside iface.h's bounds; *error (may be NULL) says which. */
struct stack *stack_create(const struct stack_config *config, const struct stack_env *env,
                           tick_t now, enum stack_error *error);
void stack_destroy(struct stack *s);

/*
 * New addresses, gateways, MTU, ICMP settings, TCP and HTTP/2 settings and listeners; the number,
 * names and MACs of the interfaces must be the same. Addresses that stay keep their state, and
 * connections live on with the settings they began with where those cannot change (of HTTP/2 and of
 * TLS: all), also those of a listener that is no more; what its service serves (context) is the
 * new for requests from now on. 0 or an error, and then nothing has changed.
 */
int stack_configure(struct stack *s, const struct stack_config *config, tick_t now);

/*
 * Packets from an interface's device (p->iface), starting at the Ethernet header, in order. All are
 * taken. Answers wait in the stack until stack_output.
 */
void stack_input(struct stack *s, struct pkt *const *burst, unsigned n, tick_t now);

/*
 * Up to room packets to transmit on iface, the caller's from here on. Returns how many. Services
 * run here, and connections cut their segments, as many as the device takes: what it does not take
 * stays in the connections.
 */
unsigned stack_output(struct stack *s, uint16_t iface, struct pkt **burst, unsigned room,
                      tick_t now);

/* The time of day: nanoseconds of the Unix epoch when ticks were 0. Unknown (0) at first. */
void stack_set_wall(struct stack *s, int64_t wall);

/* Packets waiting in stack_output; at least 1 where a connection wants to send, or a service is to
 * be told something, now. */
unsigned stack_pending(const struct stack *s, uint16_t iface);

/* When to call stack_expire at the latest; TICK_NEVER: nothing is waiting. */
tick_t stack_deadline(const struct stack *s);
void stack_expire(struct stack *s, tick_t now);

/*
 * Opens a TCP connection; the service hears opened or reset. The source port is one whose answers
 * the devices bring to this worker (stack/steer.h). NULL: *error (may be NULL) says why; the
 * service hears nothing then.
 */
struct stack_connect {
    struct ip_addr remote;
    uint16_t port;
    struct ip_addr local; /* an address of ours; :: : the best */
    const struct stream_service *service;
    void *user; /* of the stream */
};
struct stream *stack_connect(struct stack *s, const struct stack_connect *to, tick_t now,
                             enum stack_error *error);

/* Is a an address of ours, whatever its state? */
bool stack_owns(const struct stack *s, const struct ip_addr *a);
/* Is there an address of that family to speak from to more than a link? */
bool stack_speaks(const struct stack *s, bool v6);

/* Before the end: HTTP/2 connections, new ones too, are drained (h2_shutdown_by). The application
 * goes on calling all of this until they are gone, or it will wait no longer. Once more: another
 * end. */
void stack_shutdown(struct stack *s, tick_t by, tick_t now);

/* Answers a request of the control core in place. */
void stack_control(struct stack *s, struct ctl_request *r, tick_t now);

#endif
