/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STACK_NEIGH_H
#define MILLRACE_STACK_NEIGH_H

/*
 * Neighbour cache for both families: the state machine of RFC 4861 7.3, which ARP follows as well
 * (RFC 1122 2.3.2 asks for no less). It knows states, timers and waiting packets; what a
 * solicitation looks like is arp.c's and nd.c's affair.
 *
 * Bounds: entries (the least recently used unconfirmed one makes room first, so that asking for
 * addresses that do not exist cannot push out neighbours that answered, RFC 6583; configured
 * gateways stay), packets waiting for one entry (the oldest makes room) and buffers of those that
 * wait for any (the oldest packet of whoever is asked for longest makes room), which keeps a flood
 * from the packet pool.
 *
 * Timers, one for each entry:
 *   INCOMPLETE  retransmit the solicitation each second, three in all; then FAILED
 *   REACHABLE   30 s, made random by 0.5 .. 1.5; then STALE
 *   STALE       none; the first packet sent makes it DELAY
 *   DELAY       5 s; then PROBE
 *   PROBE       a unicast solicitation each second, three in all; then the entry goes
 *   FAILED      one second in which packets are refused; then the entry goes
 *
 * After PROBE the next packet asks everyone anew (RFC 4861 7.3.3).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/siphash.h"
#include "base/tick.h"
#include "base/wheel.h"
#include "buf/pkt.h"
#include "ctl/request.h"
#include "stats/counter.h"
#include "wire/addr.h"

struct neigh_cache;

#define NEIGH_QUEUE_MAX 64

struct neigh_args {
    struct mem *mem;
    struct wheel *wheel;
    struct counters *counters;
    struct siphash_key key;
    uint64_t seed;
    uint32_t max;     /* entries */
    uint32_t queue;   /* packets waiting for one, up to NEIGH_QUEUE_MAX */
    uint32_t waiting; /* buffers of what waits for all of them, >= queue */
    /* Ask for addr: by multicast or broadcast where to is NULL, else to this address. Must not call
     * back. */
    void (*solicit)(void *ctx, uint16_t iface, const struct ip_addr *addr,
                    const struct mac_addr *to, tick_t now);
    /* p, which is taken, starts at the IP header and goes to mac on iface. Must not call back. */
    void (*transmit)(void *ctx, uint16_t iface, struct pkt *p, const struct mac_addr *mac,
                     tick_t now);
    /* Is addr a configured gateway? Asked when an entry is made; such an entry never makes room. */
    bool (*is_router)(void *ctx, uint16_t iface, const struct ip_addr *addr);
    void *ctx;
};

/* What was heard about a neighbour. RFC 4861 7.2.3 .. 7.2.5 in terms that ARP has too. */
struct neigh_news {
    const struct mac_addr *mac; /* NULL: an advertisement without the option */
    bool solicited;             /* it answers a question of ours: reachability is confirmed */
    bool override;              /* may replace a known, different address */
    bool create; /* make an entry where there is none (a solicitation from a neighbour) */
};

/* NULL: no memory. */
struct neigh_cache *neigh_create(const struct neigh_args *args);
/* Waiting packets are freed uncounted. */
void neigh_destroy(struct neigh_cache *c);

/*
 * Sends p, which is taken, to addr on iface: at once where the address is known, else when it is. A
 * packet that cannot be sent is counted as NEIGH_QUEUE_FULL, NEIGH_UNREACHABLE or NEIGH_TABLE_FULL.
 */
void neigh_send(struct neigh_cache *c, uint16_t iface, const struct ip_addr *addr, struct pkt *p,
                tick_t now);

/* Returns false where nothing is known of addr and nothing was to be made. */
bool neigh_learn(struct neigh_cache *c, uint16_t iface, const struct ip_addr *addr,
                 const struct neigh_news *news, tick_t now);

/* An upper layer saw progress through this neighbour (RFC 4861 7.3.1). */
void neigh_confirm(struct neigh_cache *c, uint16_t iface, const struct ip_addr *addr, tick_t now);

/* Forgets all, or all of one interface (iface < UINT16_MAX). Waiting packets count as ADMIN_DOWN.
 * Returns how many. */
uint32_t neigh_flush(struct neigh_cache *c, uint16_t iface);

/* Fills up to max rows from *cursor on, moving it; true where there are more. */
bool neigh_list(const struct neigh_cache *c, struct ctl_neighbour *rows, uint32_t max,
                uint64_t *cursor, uint32_t *n, tick_t now);

uint32_t neigh_count(const struct neigh_cache *c);

#endif
