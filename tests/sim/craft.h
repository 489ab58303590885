/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_CRAFT_H
#define MILLRACE_SIM_CRAFT_H

/* Frames by hand, for scripted hosts and routers. */

#include "sim/node.h"
#include "wire/ether.h"

#define CRAFT_MAX                                                                   \
    (65535 + 40 + ETHER_TAGGED_LEN) /* the longest IPv6 packet, on no link anywhere \
                                     */

/* The header, tagged where vlan is not 0, then the bytes of the chain p, which stays the
 * caller's. */
struct pkt *craft_frame(struct sim *s, const struct mac_addr *dst, const struct mac_addr *src,
                        uint16_t vlan, uint16_t type, const struct pkt *p);

struct craft_head {
    struct ip_addr src, dst;
    uint8_t proto;
    uint8_t hop_limit; /* 0: 64 */
    uint16_t id;       /* IPv4 */
    bool dont_fragment;
};

/* Writes the IP header of a packet with len bytes above it; returns the header's length. dst holds
 * 40 bytes. */
uint32_t craft_head_emit(const struct craft_head *h, uint32_t len, uint8_t *dst);

/* A packet too big message (ICMP or ICMPv6, by the packet's family) of a router `from` about the
 * packet of len bytes at `packet`, with its IP header, from pool. */
struct pkt *craft_too_big(struct heap_pool *pool, const struct ip_addr *from, const uint8_t *packet,
                          uint32_t len, uint16_t mtu);

/* A UDP datagram of len zero bytes with its IP header, from pool. */
struct pkt *craft_udp(struct heap_pool *pool, const struct craft_head *h, uint16_t sport,
                      uint16_t dport, uint32_t len);

#endif
