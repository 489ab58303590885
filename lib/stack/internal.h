/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STACK_INTERNAL_H
#define MILLRACE_STACK_INTERNAL_H

/*
 * What the files of lib/stack share and nobody else sees. The way in: stack.c (Ethernet) -> arp.c,
 * or ip_in.c -> reass.c, icmp.c, nd.c, udp.c, tcp.c. The way out: ip_out.c -> route.c, pmtu.c,
 * frag.c -> neigh.c -> link.c -> the interface's ring. TCP's own affairs are in stack/conn.h.
 *
 * Ownership: a function that takes `struct pkt *p` or `struct ip_rx *rx` takes the packet with it,
 * and counts it where it is lost.
 */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/limit.h"
#include "base/ring.h"
#include "base/rng.h"
#include "base/slab.h"
#include "base/tick.h"
#include "base/wheel.h"
#include "buf/pkt.h"
#include "ctl/request.h"
#include "http2/conn.h"
#include "stack/flow.h"
#include "stack/iface.h"
#include "stack/neigh.h"
#include "stack/pmtu.h"
#include "stack/reass.h"
#include "stack/stack.h"
#include "stack/steer.h"
#include "stats/counter.h"
#include "tcp/conn.h"
#include "tcp/settings.h"
#include "tls/conn.h"
#include "wire/ether.h"
#include "wire/ipv6.h"

struct iface;

/* An address of ours. Timer: while tentative, the next probe or the end of the wait (dad.c); then,
 * IPv4, announcements. */
struct local {
    struct ip_prefix prefix;
    struct iface *iface;
    enum ctl_address_state state;
    bool link_local; /* made by the stack from the MAC */
    uint8_t sent;    /* probes or announcements */
    tick_t defended; /* when a conflict was last answered; 0: never (RFC 5227 2.4) */
    struct timer timer;
};

/* A multicast group of an interface's, or one it has just left. */
struct mld_group {
    struct ip_addr addr;
    bool member;
    bool asked;   /* a query is to be answered */
    uint8_t left; /* times that the last change is still to be reported */
};

/* So many records fit in one report of 1,280 bytes: all addresses' groups and 28 that were left. */
#define MLD_GROUPS_MAX 61u

struct mld {
    struct timer change; /* the next report of changes */
    struct timer answer; /* to queries; armed while a group is asked for */
    tick_t v1_until;     /* a querier of version 1 is about; 0: none yet */
    uint8_t n;
    struct mld_group group[MLD_GROUPS_MAX];
};

#define LOCALS_MAX (IFACE_ADDRS_MAX + 1)

struct iface {
    struct stack *stack;
    struct iface_config cfg;
    uint16_t index;
    uint16_t n_locals;
    uint16_t n_nets;
    struct local local[LOCALS_MAX];
    /* What packets are looked up in, for addresses may be many. */
    uint64_t local_bits;              /* local_bit of each */
    struct ip_prefix net[LOCALS_MAX]; /* their networks, each once */
    struct mld mld;
    struct ring tx;      /* struct pkt *, bounded by limits.tx_queue */
    struct list sending; /* connections that want to send here, or are to be looked at */
};

struct session_settings;

/* Of connections that carry more than bytes, see stack/session.h. */
struct sessions {
    struct slab *slab;
    struct list handshakes;            /* of these, that have input: in TLS's handshake */
    struct list reading;               /* and later */
    struct list writing;               /* that may have output */
    struct session_settings *settings; /* of new ones */
    uint8_t *scratch;                  /* a record's content */
    struct siphash_key prefix_key;
    uint32_t header_fields; /* what h2.fields has room for */
    uint32_t header_list;
    uint8_t steps;    /* of handshakes, left in this turn */
    bool draining;    /* new ones are told at once, too */
    tick_t drain_by;  /* when those that are told before they are open end, unless it is past */
    uint32_t drained; /* that were told from outside, and live */
    bool tls_ready;   /* tls and h2 are there */
    bool h2_ready;
};

#define FRAG_IDS 64 /* counters that identifications of fragments are taken from */

struct stack {
    struct stack_env env;
    struct stack_limits limits; /* defaults filled in */
    struct stack_icmp icmp;
    uint16_t worker;
    uint16_t n_workers;
    uint16_t n_ifaces;
    struct iface iface[IFACE_MAX];
    struct counters *counters;
    struct wheel wheel;
    struct rng rng;
    struct neigh_cache *neigh;
    struct reass *reass;
    struct pmtu *pmtu;
    struct limit error_limit; /* ICMP errors sent */
    struct steer steer;
    struct siphash_key frag_key; /* this worker's own */
    struct siphash_key dad_key;  /* all workers' */
    uint32_t frag_id[FRAG_IDS];

    struct tcp tcp;
    struct tcp_settings tcp_settings; /* defaults filled in */
    struct flow_table *flows;         /* of connections, in TIME-WAIT too (stack/conn.h) */
    struct slab *conns;
    struct slab *waits;      /* TIME-WAIT */
    struct list wait_list;   /* those, the longest waiting first */
    struct timer wait_timer; /* the end of the first of them */
    struct limit reset_limit;
    struct listener *listener[STACK_LISTENERS_MAX]; /* by port, the most specific address first */
    uint16_t n_listeners;
    uint16_t path_generation; /* changes when routes or paths may have */
    struct list retired;      /* listeners that are no more, but connections of theirs are */
    struct siphash_key port_key;
    uint32_t port_next; /* of active opens, see connect.c */
    uint32_t prune_at;  /* slot of conns, see conns_prune */

    struct http_env http;
    struct tls tls;
    struct h2 h2;
    struct sessions sessions;
};

#define IP_DSCP_MASK 0xfcu /* of the traffic class; the rest is ECN's (RFC 3168 5) */

/* A received IP packet on its way up. */
struct ip_rx {
    struct pkt *p; /* starts at the IP header, ends with the IP packet */
    struct iface *iface;
    struct ip_addr src;
    struct ip_addr dst;
    const struct local *local;  /* of a unicast dst; NULL for a group */
    const struct ipv6_hdr *ip6; /* IPv6: the header as parsed */
    uint16_t upper_at;          /* offset of the upper-layer header */
    uint8_t proto;
    uint8_t traffic_class; /* DSCP and ECN */
    bool v4;
    bool group;          /* dst is multicast or broadcast */
    bool link_group;     /* the frame was */
    bool later_fragment; /* IPv4: not the first, so without an upper-layer header */
};

/* Enough of a chain's head for any header chain that we accept and the fixed part of what follows.
 */
#define HEADERS_MAX 256u

static inline void headers_together(struct pkt *p)
{
    uint32_t want = p->total < HEADERS_MAX ? p->total : HEADERS_MAX;
    if (p->len < want)
        pkt_pullup(p, want); /* where that fails the parser finds it short */
}

/* The error of a parser as the reason of a drop. */
static inline enum drop drop_of(int wire_error)
{
    assert(wire_error < 0 && wire_error > -WIRE_ERROR_END);
    return (enum drop) - wire_error;
}

/* Counts something received, but for a copy, which another worker counts. */
static inline void stack_count(struct stack *s, const struct pkt *p, enum counter which, uint64_t n)
{
    if (!(p->flags & PKT_COPY))
        counter_add(s->counters, which, n);
}

/* A change of routes or paths: connections look at theirs before they send again. */
static inline void stack_paths_changed(struct stack *s)
{
    s->path_generation++;
}

static inline void stack_drop(struct stack *s, struct pkt *p, enum drop why)
{
    if (!(p->flags & PKT_COPY))
        counter_drop(s->counters, why);
    pkt_free(p);
}

/* stack.c: does this worker speak for the host? */
static inline bool stack_is_primary(const struct stack *s)
{
    return s->worker == 0;
}

/* local.c: addresses of ours. NULL: not ours, or another host's as we found out. */
struct local *local_on(struct iface *i, const struct ip_addr *a);
/* For a packet at i: of any interface, but link-local ones only of i (RFC 4007 5, RFC 3927 2.6). */
const struct local *local_any(struct iface *i, const struct ip_addr *a);
/* Is a the broadcast address of one of i's IPv4 networks, or 255.255.255.255? */
bool local_is_broadcast(const struct iface *i, const struct ip_addr *a);
/* Is a multicast group that i listens to? */
bool local_is_group(const struct iface *i, const struct ip_addr *a);
/* The best preferred address of i to send to dst from (RFC 6724 5, rules 1, 2 and 8). NULL: none of
 * that family. */
const struct local *local_source(const struct iface *i, const struct ip_addr *dst);
/* No address of an interface has another bit than these, and few others have one of them. */
static inline uint64_t local_bit(const struct ip_addr *a)
{
    return UINT64_C(1) << (a->b[15] & 63);
}
static inline bool local_usable(const struct local *l)
{
    return l->state == CTL_ADDRESS_PREFERRED;
}

/* dad.c: duplicate address detection and announcement. */
void dad_init(struct local *l);
void dad_start(struct local *l, tick_t now);
/* Another host uses l, which is tentative. */
void dad_conflict(struct local *l, tick_t now);
/* Is l, an IPv4 address in use, still being tried? */
bool dad_probing4(const struct local *l);

/* mld.c: the groups of IPv6 addresses, told to who forwards them (RFC 3810). Only the primary
 * speaks. */
void mld_init(struct iface *i);
/* The addresses of i have changed, or their states. */
void mld_update(struct iface *i, tick_t now);
/* There is a link-local address to report from at last (RFC 3590 4). */
void mld_repeat(struct iface *i, tick_t now);
void mld_input(struct ip_rx *rx, tick_t now);

/* route.c */
struct route {
    struct iface *iface;
    struct ip_addr next_hop;
};
/* from: prefer this interface (may be NULL; required for link-local and multicast). False: no
 * route. */
bool route_find(struct stack *s, struct iface *from, const struct ip_addr *dst, struct route *r);
bool route_is_gateway(const struct iface *i, const struct ip_addr *a);

/* link.c: Ethernet, out. Counts what it loses. */
/* p starts at the payload; room for the header must be there. */
void link_output(struct iface *i, struct pkt *p, const struct mac_addr *dst, uint16_t type);
/* A fresh packet, or NULL, counted as NO_MEMORY. */
struct pkt *stack_alloc(struct stack *s);

/* arp.c */
void arp_input(struct iface *i, struct pkt *p, const struct ether_hdr *eth, tick_t now);
void arp_solicit(struct iface *i, const struct ip_addr *target, const struct mac_addr *to);
/* A request that asks nothing: announces our address (RFC 5227 2.3). */
void arp_announce(struct local *l);
/* A request from nobody for our address (RFC 5227 2.1.1). */
void arp_probe(struct local *l);

/* nd.c */
void nd_input(struct ip_rx *rx, tick_t now);
void nd_solicit(struct iface *i, const struct ip_addr *target, const struct mac_addr *to);
void nd_probe(struct local *l);
void nd_announce(struct local *l);

/* ip_in.c: p starts at the IP header. */
void ip4_input(struct iface *i, struct pkt *p, bool link_group, tick_t now);
void ip6_input(struct iface *i, struct pkt *p, bool link_group, tick_t now);

/* For reass.h: a fragment was given up and its sender may want to know. */
void ip_given_up(void *ctx, enum drop why, struct pkt *p, tick_t now);

/* ip_out.c */
struct ip_tx {
    struct iface *iface; /* NULL: by route */
    struct ip_addr src;  /* a preferred address of ours */
    struct ip_addr dst;
    uint8_t proto;
    uint8_t hop_limit;     /* 0: 64 */
    uint8_t traffic_class; /* DSCP and ECN */
    bool dont_fragment;    /* larger than the path is TOO_BIG instead */
};
/* p starts at the upper-layer header, its checksum done. Counts what it loses. */
void ip_output(struct stack *s, struct pkt *p, const struct ip_tx *tx, tick_t now);

/* icmp.c, icmpv6.c */
void icmp4_input(struct ip_rx *rx, tick_t now);
void icmp6_input(struct ip_rx *rx, tick_t now);
/* The path to dst takes no more than mtu, and not the packet of `sent` bytes, says rx, which is
 * taken. */
void icmp_too_big(struct ip_rx *rx, const struct ip_addr *dst, uint32_t mtu, uint32_t sent,
                  tick_t now);

/* icmp_error.c: about rx's packet, which stays the caller's; limited, and silent where the RFCs ask
 * for silence. */
enum icmp_error_kind {
    ICMP_ERROR_PROTOCOL, /* no such protocol: v4 unreachable 2, v6 parameter problem 1 */
    ICMP_ERROR_PORT,     /* no listener */
    ICMP_ERROR_REASSEMBLY_TIME,
    ICMP_ERROR_PARAMETER, /* code and pointer in value: code << 16 | pointer */
    ICMP_ERROR_TOO_BIG,   /* value: the MTU */
};
void icmp_error(struct stack *s, const struct ip_rx *rx, enum icmp_error_kind kind, uint32_t value,
                tick_t now);

/* udp.c */
void udp_input(struct ip_rx *rx, tick_t now);

/* tcp.c */
void segment_input(struct ip_rx *rx, tick_t now);

/* What an ICMP error says about a segment that it quotes. */
enum segment_trouble { SEGMENT_TOO_BIG, SEGMENT_UNREACHABLE_HARD, SEGMENT_UNREACHABLE_SOFT };
struct segment_quote {
    const struct ip_addr *src;
    const struct ip_addr *dst;
    const uint8_t *upper; /* the TCP header, as far as it is quoted: len bytes */
    size_t len;
    enum segment_trouble trouble;
    uint32_t mtu;  /* with TOO_BIG */
    uint32_t sent; /* bytes of the packet */
};
/* rx is taken. */
void segment_error(struct ip_rx *rx, const struct segment_quote *q, tick_t now);

#endif
