/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_PINGER_H
#define MILLRACE_SIM_PINGER_H

/*
 * A scripted host that asks for echoes and holds each reply against its request, byte by byte: a
 * reply that is not exact, or to nothing that was asked, fails the run. It finds its targets by ARP
 * and neighbour discovery, answers for its own addresses, cuts and reassembles, and sends shorter
 * packets where a router asks for them.
 */

#include "sim/node.h"
#include "stack/reass.h"
#include "stats/counter.h"
#include "wire/ether.h"

#define PINGER_TARGETS 32
#define PINGER_WAITING 64

struct pinger_config {
    struct mac_addr mac;
    struct ip_addr addr4;
    struct ip_addr addr6;
    struct ip_addr behind4; /* not zero: asks from here, on another network, and is the gateway */
    struct ip_addr behind6;
    uint16_t mtu;    /* 0: 1500 */
    uint16_t vlan;   /* 0: untagged */
    tick_t remember; /* how long a target's device address is believed; 0: until told otherwise */
    bool silent;     /* answers no questions about its addresses */
};

struct ping {
    struct ip_addr dst;
    uint32_t size; /* bytes behind the ICMP header */
    uint32_t replies;
    tick_t asked;    /* pinger_ping was called */
    tick_t answered; /* first reply; TICK_NEVER: none */
};

struct pinger_target {
    struct ip_addr addr;
    struct mac_addr mac;
    bool known;
    bool fixed; /* never asks */
    tick_t heard;
    uint16_t mtu; /* of the path */
    struct timer timer;
    unsigned tries;
    uint16_t waiting[PINGER_WAITING]; /* pings */
    unsigned n_waiting;
    struct pinger *pinger;
};

struct pinger {
    struct node node;
    struct pinger_config cfg;
    struct heap heap;
    struct heap_pool pool;
    struct counters counters; /* of reassembly */
    struct reass *reass;
    uint16_t id;
    uint32_t frag_id;
    struct ping *ping; /* its number is the sequence number */
    uint32_t n_pings;
    uint32_t max_pings;
    struct pinger_target target[PINGER_TARGETS];
    unsigned n_targets;
    /* Heard. */
    uint64_t replies, duplicates;
    uint64_t arp_replies, adverts; /* to us alone */
    uint64_t too_big, port_unreachable, other_errors;
};

struct pinger *pinger_create(struct sim *s, const struct pinger_config *config);

/* Asks for an echo of size bytes. Returns the ping's number, up to 65,535. */
uint32_t pinger_ping(struct pinger *p, const struct ip_addr *dst, uint32_t size);
/* Pings with a reply. */
uint32_t pinger_answered(const struct pinger *p);
/* From request to first reply; TICK_NEVER: none. */
tick_t pinger_rtt(const struct pinger *p, uint32_t ping);

/* Sends to dst by this device address from now on, without asking. */
void pinger_fix(struct pinger *p, const struct ip_addr *dst, const struct mac_addr *mac);
/* New device address; forgets what it knew and asks again before it sends. */
void pinger_reboot(struct pinger *p, const struct mac_addr *mac);
/* New device address, which nobody is told. */
void pinger_replace_mac(struct pinger *p, const struct mac_addr *mac);

/* A UDP datagram of size zero bytes to a target whose address is known. */
void pinger_udp(struct pinger *p, const struct ip_addr *dst, uint16_t sport, uint16_t dport,
                uint32_t size);

#endif
