/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_HOST_H
#define MILLRACE_TESTS_HOST_H

/*
 * One stack to talk to: its interface 0 is on a link with a peer, interface 1 on another. A test
 * reads like the conversation: hear_…() is what the stack hears, said() what it says to that,
 * pass() lets time go by and wakes the stack whenever it asked for it.
 *
 *     hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &US4);
 *     ck_assert_int_eq(said()->arp.op, ARP_REPLY);
 *     silence();
 */

#include "stack/stack.h"
#include "support/frame.h"
#include "support/heap.h"
#include "support/unit.h"
#include "wire/proto.h"

extern const struct mac_addr US_MAC, PEER_MAC, OTHER_MAC;
extern const struct ip_addr US4, PEER4, OTHER4, FAR4; /* 192.0.2.1, .2, .3; 198.51.100.9 */
extern const struct ip_addr US6, PEER6, OTHER6, FAR6; /* 2001:db8::1, ::2, ::3; 2001:db8:ffff::9 */
extern const struct ip_addr US_LL, PEER_LL;           /* US_LL: what the stack makes of US_MAC */
extern const struct ip_addr US_B4, US_B6; /* of interface 1: 203.0.113.1, 2001:db8:b::1 */
extern const struct ip_addr ALL_NODES6;

#define HOST_OUT_MAX 4096 /* packets */

struct host {
    struct heap heap;
    struct heap_pool pool;
    struct counters counters;
    struct counters mark;
    struct iface_config iface[2];
    struct stack_config config;
    struct stack *stack;
    tick_t now;
    uint32_t wakes; /* times that pass() had to wake the stack */

    unsigned handed; /* packets handed to other workers */
    uint16_t handed_to;
    struct pkt *handed_pkt; /* the last one */

    struct {
        struct pkt *p[HOST_OUT_MAX];
        unsigned first, end;
    } out[2]; /* what connections have sent on each interface, and was not looked at yet */
    struct frame frame;      /* to be heard next */
    uint8_t said[FRAME_MAX]; /* last said */
    uint32_t said_len;
    struct frame_seen seen;
    struct pkt meta; /* metadata of what was last said */
    unsigned views;
};

extern struct host host;

/* The fixture. A test may change host.config and host.iface before host_create or host_boot. */
void host_setup(void);
void host_teardown(void);

/* Creates the stack at host.now. */
void host_create(void);
/* The same, and lets it settle: addresses tried and announced, what it said forgotten, counts
 * marked. */
void host_boot(void);
void host_destroy(void);
/* host.config, applied. */
int host_configure(void);

/* Wakes the stack whenever it wants to be woken. */
void pass(tick_t d);
/* The same, and the stack says nothing. */
void quiet(tick_t d);
/* Something is said within the time; no more of it passes. */
const struct frame_seen *said_within(tick_t d);
/* Like quiet, but at its very end something is said. */
const struct frame_seen *said_after(tick_t d);

/* host.frame reaches interface 0; or another, in views of so many bytes, with these metadata. */
void hear(void);
void hear_on(uint16_t iface, uint32_t view, uint16_t flags, uint16_t vlan);
/* Two views, of which the first holds `first` bytes and has room for more. */
void hear_split(uint32_t first);

void hear_arp(enum arp_op op, const struct mac_addr *to, const struct mac_addr *sender,
              const struct ip_addr *sender_ip, const struct ip_addr *target_ip);
/* Around what host.frame is now: an IP packet, in a frame from the peer to the stack. */
void hear_ip4(const struct ip_addr *src, const struct ip_addr *dst, uint8_t proto);
void hear_ip6(const struct ip_addr *src, const struct ip_addr *dst, uint8_t proto);
/* Echo requests of so many bytes of data, from the peer. */
void hear_echo4(uint32_t n);
void hear_echo6(uint32_t n);
/* What host.frame is now, cut into fragments of `piece` bytes (a multiple of 8). */
void hear_fragments4(const struct ip_addr *src, uint8_t proto, uint32_t piece);
void hear_fragments6(const struct ip_addr *src, uint8_t proto, uint32_t piece);
/* Neighbour discovery from the MAC address in its option. dst NULL: the target's solicited-node
 * group. */
void hear_solicit(const struct ip_addr *src, const struct ip_addr *dst,
                  const struct ip_addr *target, const struct mac_addr *mac);
void hear_advert(const struct ip_addr *src, const struct ip_addr *dst, const struct ip_addr *target,
                 const struct mac_addr *mac, bool solicited, bool override);
/* The peer introduces itself, so that the stack can answer it. */
void meet4(void);
void meet6(void);

/* The next frame to leave interface 0, which must be sound. Valid until the next call. */
const struct frame_seen *said(void);
const struct frame_seen *said_on(uint16_t iface);
/* All fragments of the next datagram, which must tile it, their payload put together in host.said.
 * Returns its length; *n: how many there were. */
uint32_t said_fragments(unsigned *n, uint32_t mtu);
void silence(void);
/* Services run and connections send, as in a worker's turn. Everything above does that where time
 * passes or something is looked at. */
void turn(void);
/* Takes and forgets what is said. Returns how many frames. */
unsigned ignore(void);

/* Since the last of these or mark(): exactly this drop reason has grown, by one, or n. */
void dropped(enum drop why);
void dropped_n(enum drop why, unsigned n);
void no_drops(void);
/* What was counted until now is forgotten. */
void mark(void);
uint64_t added(enum counter c);

/* The stack's neighbour entry for this address. False: none. */
bool neighbour(const struct ip_addr *a, struct ctl_neighbour *row);
enum ctl_neighbour_state neighbour_state(const struct ip_addr *a);
/* The state of an address of the stack's. */
enum ctl_address_state address_state(const struct ip_addr *a);
/* 0: no path is known. */
uint16_t path_mtu(const struct ip_addr *a);

#define ck_assert_ip(is, should)  ck_assert_mem_eq((is).b, (should).b, 16)
#define ck_assert_mac(is, should) ck_assert_mem_eq((is).b, (should).b, 6)

#endif
