/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STACK_CONN_H
#define MILLRACE_STACK_CONN_H

/*
 * What the stack adds to a TCP connection (tcp/conn.h): its flow, its timer, its listener, its way
 * out, and its place in the list of those that want to send.
 *
 * After each call into a connection comes conn_settle, which does what the owner owes: arms the
 * timer, joins the interface's list, makes it a TIME-WAIT, or frees it. A service's calls reach a
 * connection by the list alone (tcp->wake), so that nothing is freed while services run: whoever is
 * in the list is settled when its turn comes (conns_output), whether it has something to send or
 * not.
 *
 *   tcp.c       segments in, resets, what ICMP says    conn.c       life, segments out
 *   listen.c    listeners, SYNs, cookies               connect.c    active opens, their ports
 *   time_wait.c TIME-WAIT                              tcp_ctl.c    what the control core sees
 *   prefetch.c  a burst's connections, fetched at once
 *   session.h   what stands on a connection: TLS, HTTP/2
 *
 * Timers: each connection's, for tcp_deadline; and one of the stack's for the first TIME-WAIT to
 * end.
 */

#include "stack/internal.h"
#include "tcp/time_wait.h"

/* What a flow is embedded in. */
enum flow_kind { FLOW_CONN, FLOW_TIME_WAIT };

/* Places that the networks of those in handshakes are counted in, see handshakes.c. */
#define LISTENER_PREFIXES 512u

struct listener {
    struct stack_listener cfg; /* holds its TLS context and its service's */
    struct list retired;       /* in stack.retired, once the configuration has it no more */
    uint32_t connections;      /* that point here */
    uint32_t half_open;        /* of these, in SYN-RECEIVED */
    uint64_t accepted;
    uint64_t cookies;
    uint64_t refused;
    uint32_t sessions;   /* that point here, some without a connection any more */
    uint32_t handshakes; /* of TLS under way */
    struct list waiting; /* their sessions, the longest under way first */
    uint64_t handshakes_refused;
    uint16_t prefix[LISTENER_PREFIXES];
    tick_t cookie_end; /* ACKs until then may be answers to cookies; 0: none was sent */
};

struct conn {
    struct flow flow;
    struct timer timer;
    struct list sending;       /* in its interface's */
    struct listener *listener; /* NULL: opened by us */
    uint32_t confirmed;        /* second in which the neighbour was last confirmed */
    uint16_t path_generation;  /* the stack's, when path was read */
    uint8_t iface;             /* the way out */
    bool half_open : 1;        /* counts in listener->half_open */
    bool homeless : 1;         /* its address is ours no more: nothing is sent from it */
    struct tcp_conn tcp;
};

_Static_assert(IFACE_MAX <= UINT8_MAX, "conn.iface");
/* With what the slab adds, 64 to a chunk of 60 KiB. The flow table has 26 to 52 bytes for each. */
_Static_assert(sizeof(struct conn) <= 960 - 8, "a kilobyte for an idle connection");

struct time_wait {
    struct flow flow;
    struct list place; /* in stack.wait_list */
    tick_t since;
    struct tcp_time_wait tcp;
};

static inline struct conn *conn_of(struct tcp_conn *c)
{
    return container_of(c, struct conn, tcp);
}

static inline struct conn *conn_of_flow(struct flow *f)
{
    assert(f->kind == FLOW_CONN);
    return container_of(f, struct conn, flow);
}

static inline struct time_wait *time_wait_of_flow(struct flow *f)
{
    assert(f->kind == FLOW_TIME_WAIT);
    return container_of(f, struct time_wait, flow);
}

static inline struct stack *stack_of(const struct conn *c)
{
    return container_of(c->tcp.tcp, struct stack, tcp);
}

/* tcp.c */
/* A segment without data, outside of any connection, to key's other end. from: the interface to
 * prefer. Counts what it loses. */
void segment_output(struct iface *from, const struct flow_key *key, const struct tcp_hdr *h,
                    tick_t now);
/* Nobody here wants the segment rx, which is taken: a reset goes back where RFC 9293 3.10.7.1 asks
 * for one and the limit allows, and it is dropped as why. */
void segment_refuse(struct ip_rx *rx, const struct flow_key *key, const struct tcp_hdr *h,
                    enum drop why, tick_t now);

/* prefetch.c */
void segments_prefetch(const struct stack *s, struct pkt *const *burst, unsigned n);

/* conn.c */
void conns_init(struct stack *s, tick_t now);
/* Takes memory. False: there is not enough. */
bool conns_create(struct stack *s);
void conns_fini(struct stack *s);
/* Takes settings, and what follows from them. */
void conns_set(struct stack *s, const struct tcp_settings *settings, tick_t now);
/* CLOSED. i: the way out. NULL: no memory, or at the bound of connections: *why. key is of no flow
 * yet. */
struct conn *conn_create(struct iface *i, const struct flow_key *key,
                         const struct stream_service *service, tick_t now, enum drop *why);
/* Ends c, of which nobody has heard. */
void conn_discard(struct conn *c);
void conn_settle(struct conn *c, tick_t now);
/* Its path is read again. */
void conn_refresh(struct conn *c, tick_t now);
/* It has heard of progress: so has its neighbour (RFC 4861 7.3.1). */
void conn_progress(struct conn *c, tick_t now);
/* A few connections give back what they hold out of order, as long as that is needed. */
void conns_prune(struct stack *s, bool (*needed)(const struct tcp *));
/* Services run. */
void conns_serve(struct stack *s, tick_t now);
/* Connections whose way out is i send up to room segments. */
void conns_output(struct iface *i, unsigned room, tick_t now);
/* Ends the connections whose address is no longer ours. */
void conns_check_addresses(struct stack *s, tick_t now);

/* listen.c */
bool listeners_ok(const struct stack_config *config);
/* False: no memory, and nothing has changed. */
bool listeners_set(struct stack *s, const struct stack_config *config);
void listeners_fini(struct stack *s);
/* NULL: nobody listens there. */
struct listener *listener_find(const struct stack *s, const struct ip_addr *addr, uint16_t port);
/* A connection of l is no more. */
void listener_leave(struct stack *s, struct listener *l);
/* Frees l, where the configuration has it no more and nobody points there. */
void listener_tidy(struct stack *s, struct listener *l);
/* A segment to a listener, of no connection. old: its flow is in this TIME-WAIT, which a new
 * connection may end; may be NULL. rx is taken, its packet starts at the data. */
void listener_input(struct listener *l, struct ip_rx *rx, const struct flow_key *key,
                    const struct tcp_hdr *h, struct time_wait *old, tick_t now);

/* time_wait.c */
void time_waits_init(struct stack *s);
/* The settings may have changed. */
void time_waits_arm(struct stack *s);
/* c, whose flow has left the table, has come to TIME-WAIT. */
void time_wait_enter(struct stack *s, const struct flow_key *key, const struct tcp_conn *c,
                     tick_t now);
void time_wait_end(struct stack *s, struct time_wait *w);
/* rx is taken, its packet starts at the data. */
void time_wait_input(struct time_wait *w, struct ip_rx *rx, const struct flow_key *key,
                     const struct tcp_hdr *h, tick_t now);

/* tcp_ctl.c */
void list_connections(struct stack *s, struct ctl_request *r, tick_t now);
void show_connection(struct stack *s, struct ctl_request *r, tick_t now);
void reset_connection(struct stack *s, struct ctl_request *r, tick_t now);
void shutdown_session(struct stack *s, struct ctl_request *r, tick_t now);
void list_listeners(const struct stack *s, struct ctl_request *r);

#endif
