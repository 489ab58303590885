/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_FRAME_H
#define MILLRACE_TESTS_FRAME_H

/*
 * Whole frames as bytes: built from the inside out, and taken apart again. A frame is built by
 * putting the innermost part first and each header in front of it:
 *
 *     frame_payload(&f, 56);
 *     frame_push_echo(&f, ICMP_ECHO, 1, 1);
 *     frame_push_ip4(&f, &(struct ipv4_hdr){...});
 *     frame_push_ether(&f, &to, &from, ETHER_TYPE_IPV4);
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/addr.h"
#include "wire/arp.h"
#include "wire/ether.h"
#include "wire/icmp.h"
#include "wire/icmpv6.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/nd.h"
#include "wire/tcp.h"
#include "wire/udp.h"

#define FRAME_ROOM 256u   /* for headers */
#define FRAME_MAX  66000u /* of payload, at most */

struct frame {
    uint32_t len;
    uint8_t *at; /* the first byte */
    uint8_t bytes[FRAME_ROOM + FRAME_MAX];
};

/* Starts with n bytes of a pattern that tells places apart. */
void frame_payload(struct frame *f, uint32_t n);
/* Starts with these bytes. */
void frame_bytes(struct frame *f, const void *bytes, uint32_t n);
/* n bytes more in front, for the caller to fill. */
uint8_t *frame_push(struct frame *f, uint32_t n);

/* Each fills in lengths and checksums. A member of the header that is 0 and cannot be takes a
 * sensible value: time to live and hop limit 64. */
void frame_push_echo(struct frame *f, uint8_t icmp_type, uint16_t id, uint16_t seq);
void frame_push_icmp(struct frame *f, const struct icmp_hdr *h);
void frame_push_icmp6(struct frame *f, const struct icmpv6_hdr *h, const struct ip_addr *src,
                      const struct ip_addr *dst);
void frame_push_udp(struct frame *f, uint16_t sport, uint16_t dport, const struct ip_addr *src,
                    const struct ip_addr *dst);
void frame_push_tcp(struct frame *f, const struct tcp_hdr *h, const struct ip_addr *src,
                    const struct ip_addr *dst);
void frame_push_ip4(struct frame *f, const struct ipv4_hdr *h);
void frame_push_ip6(struct frame *f, const struct ipv6_hdr *h);
void frame_push_frag6(struct frame *f, const struct ipv6_frag *h);
void frame_push_ether(struct frame *f, const struct mac_addr *dst, const struct mac_addr *src,
                      uint16_t type);
void frame_push_tagged(struct frame *f, const struct mac_addr *dst, const struct mac_addr *src,
                       uint16_t tci, uint16_t type);
/* Fills the checksum field at offset `field` of an ICMPv6 message that f is now. */
void frame_sum6(struct frame *f, uint32_t field, const struct ip_addr *src,
                const struct ip_addr *dst);

/* A frame taken apart. What of it is valid, `kind` says. */
enum frame_kind {
    FRAME_OTHER,
    FRAME_ARP,
    FRAME_ICMP,
    FRAME_ICMP6, /* neighbour discovery included */
    FRAME_UDP,
    FRAME_TCP,      /* its data is the upper_len - tcp.len bytes at upper + tcp.len */
    FRAME_FRAGMENT, /* of either family; nothing of the upper layer is looked at */
};

struct frame_seen {
    enum frame_kind kind;
    bool v4;
    struct ether_hdr eth;
    struct ip_addr src, dst; /* of the IP packet */
    struct arp_msg arp;
    struct ipv4_hdr ip4;
    struct ipv6_hdr ip6;
    struct icmp_hdr icmp;
    struct icmpv6_hdr icmp6;
    struct nd_msg nd; /* of a neighbour discovery message */
    struct udp_hdr udp;
    struct tcp_hdr tcp;
    const uint8_t *ip;    /* the IP header */
    const uint8_t *upper; /* what follows the IP headers */
    uint32_t upper_len;
};

/*
 * NULL, or what is wrong with it: an unsound header, length or checksum. no_ip_sum: the IPv4
 * header's checksum is left for the device to fill and must be zero.
 */
const char *frame_parse(const uint8_t *bytes, uint32_t len, bool no_ip_sum, struct frame_seen *s);

#endif
