/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_IPV6_H
#define MILLRACE_WIRE_IPV6_H

/*
 * IPv6 (RFC 8200 3), 40 bytes, then extension headers:
 *
 *         0       4              12                    24       31
 *        +-------+---------------+-----------------------+-------+
 *      0 | ver 6 | traffic class |          flow label           |
 *        +-------+---------------+-------+---------------+-------+
 *      4 |        payload length         |  next header  |  hops |
 *        +-------------------------------+---------------+-------+
 *      8 |                    source address (16)                |
 *     24 |                 destination address (16)              |
 *        +-------------------------------------------------------+
 *
 * Hop-by-hop, destination options and routing (RFC 8200 4.3, 4.4, 4.6) begin with the next header
 * and their length in units of 8 bytes after the first 8; the fragment header (4.5) is 8 bytes:
 *
 *        +-------------+-------------+---------------------------+
 *        | next header |  length / 8 | options, or type and      |
 *        +-------------+-------------+ segments left ...         |
 *        +-------------+-------------+-----------------------+-+-+
 *        | next header |  reserved   |  offset (8s)      | 0 |M| |
 *        +-------------+-------------+-----------------------+-+-+
 *        |                    identification                     |
 *        +-------------------------------------------------------+
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/addr.h"

#define IPV6_LEN         40u
#define IPV6_FRAG_LEN    8u
#define IPV6_ALERT_LEN   8u
#define IPV6_PAYLOAD_MAX 65535u
#define IPV6_MTU_MIN     1280u /* RFC 8200 5 */

/* Bounds on what one packet may make us walk (RFC 8504 5.3). Beyond: IP6_EXT_COUNT. */
#define IPV6_EXT_MAX     8u /* extension headers */
#define IPV6_OPTIONS_MAX 8u /* options in one header, padding not counted */
#define IPV6_PAD_MAX     7u /* bytes of padding in a row */

struct ipv6_frag {
    uint32_t id;
    uint16_t offset;   /* bytes, a multiple of 8 */
    uint16_t at;       /* offset of the fragment header in the packet */
    uint16_t named_at; /* offset of the next-header field that names the fragment header */
    uint8_t next;      /* what the fragment header names */
    bool present;
    bool more;
    bool tiny; /* first fragment, more to come, that does not hold the whole header chain (RFC 7112
                  5) */
};

/* The ICMPv6 parameter problem that an error calls for, if any. */
struct ipv6_problem {
    uint16_t pointer; /* offset in the packet */
    uint8_t code;     /* enum icmpv6_param_code */
    bool due;
    bool to_multicast; /* due even where the packet was sent to a group (RFC 8200 4.2, option bits
                          10) */
};

struct ipv6_hdr {
    struct ip_addr src; /* neither is ever IPv4-mapped */
    struct ip_addr dst;
    uint32_t flow_label; /* 20 bits */
    uint32_t total_len;  /* IPV6_LEN and the payload; bytes behind it are link padding */
    uint16_t
        upper_at; /* parse: offset of the upper-layer header (of the data, in a later fragment) */
    uint16_t next_at; /* parse: offset of the field that holds `next` */
    uint8_t traffic_class;
    uint8_t hop_limit;
    uint8_t next; /* enum ip_proto: what stands at upper_at; emit: what follows the fixed header */
    bool router_alert; /* parse: a hop-by-hop option asks for it on behalf of MLD (RFC 2711 2.1) */
    struct ipv6_frag frag;       /* parse only */
    struct ipv6_problem problem; /* parse only: valid with an error */
};

/* Needs reassembly? An atomic fragment (RFC 6946) does not: it is a whole packet whose upper_at is
 * right. */
static inline bool ipv6_is_fragment(const struct ipv6_hdr *h)
{
    return h->frag.present && (h->frag.more || h->frag.offset > 0);
}

/*
 * contiguous: bytes that may be read at `at`; the header chain has to lie within them. available:
 * bytes of the whole packet, later views of its chain included (>= contiguous). Walks hop-by-hop,
 * routing, destination options and one fragment header; whatever else comes is the upper layer, AH
 * and "no next header" included. In a fragment with an offset the walk ends at its data. Returns
 * upper_at. Errors: IP6_SHORT, IP6_VERSION, IP6_PAYLOAD_LENGTH, IP6_MAPPED; then, with src, dst,
 * total_len, hop_limit and problem valid, IP6_EXT_SHORT, IP6_EXT_ORDER, IP6_EXT_COUNT,
 * IP6_EXT_OPTION, IP6_ROUTING, IP6_FRAGMENT.
 */
int ipv6_parse(const uint8_t *at, size_t contiguous, size_t available, struct ipv6_hdr *h);

/* The headers of a packet quoted in an ICMPv6 error, which is cut short somewhere. Same errors. */
int ipv6_parse_quoted(const uint8_t *at, size_t len, struct ipv6_hdr *h);

/* The fixed header. dst holds IPV6_LEN bytes. */
size_t ipv6_emit(const struct ipv6_hdr *h, uint8_t *dst);
/* A hop-by-hop header with a router alert for MLD, before `next`. dst holds IPV6_ALERT_LEN bytes.
 */
size_t ipv6_alert_emit(uint8_t next, uint8_t *dst);
/* A fragment header from next, offset, more and id. dst holds IPV6_FRAG_LEN bytes. */
size_t ipv6_frag_emit(const struct ipv6_frag *f, uint8_t *dst);

#endif
