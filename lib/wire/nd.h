/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_ND_H
#define MILLRACE_WIRE_ND_H

/*
 * Neighbour discovery (RFC 4861 4): an ICMPv6 message of a fixed part, then options of a multiple
 * of 8 bytes each.
 *
 *        +------+------+----------+--------------------------------+
 *        | type | code | checksum |                                |
 *        +------+------+----------+--------------------------------+
 *    133 | reserved (4)           | options                     at 8   router solicitation
 *    134 | hops | MO   | lifetime | reachable ms | retrans ms   at 16   router advertisement
 *    135 | reserved (4)           | target (16)                 at 24   neighbour solicitation
 *    136 | RSO, reserved (4)      | target (16)                 at 24   neighbour advertisement
 *    137 | reserved (4)           | target (16) | dest (16)     at 40   redirect
 *        +------------------------+--------------------------------+
 *
 *        +------+---------+----------------------------------------+
 *        | type | len / 8 | ...                                    |   option
 *        +------+---------+----------------------------------------+
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/addr.h"
#include "wire/ipv6.h"

#define ND_HOP_LIMIT  255u /* RFC 4861 7.1.1: no router has forwarded it */
#define ND_OPTION_MAX 64u  /* options in one message. Beyond: ND_OPTION */
#define ND_EMIT_MAX   32u  /* longest message nd_emit writes */

enum nd_option_type {
    ND_OPTION_SOURCE_LINK = 1,
    ND_OPTION_TARGET_LINK = 2,
    ND_OPTION_PREFIX = 3,
    ND_OPTION_REDIRECTED = 4,
    ND_OPTION_MTU = 5,
};

struct nd_prefix {
    struct ip_prefix prefix;
    bool on_link;
    bool autonomous;
    uint32_t valid_s; /* UINT32_MAX: forever */
    uint32_t preferred_s;
};

/* One option; the member that type names is valid, none for other types. */
struct nd_option {
    uint8_t type; /* enum nd_option_type or another */
    union {
        struct mac_addr mac;
        uint32_t mtu;
        struct nd_prefix prefix;
    };
};

/* Walks the options of a message that nd_parse accepted. */
struct nd_options {
    const uint8_t *at;
    size_t left;
};

struct nd_msg {
    uint8_t type; /* enum icmpv6_type, ROUTER_SOLICIT to REDIRECT */

    struct ip_addr target;      /* NEIGH_SOLICIT, NEIGH_ADVERT, REDIRECT */
    struct ip_addr destination; /* REDIRECT */
    bool router;                /* NEIGH_ADVERT */
    bool solicited;
    bool override;

    uint8_t hop_limit; /* ROUTER_ADVERT; 0: unspecified, as in the three below */
    bool managed;
    bool other_config;
    uint16_t lifetime_s; /* 0: not a default router */
    uint32_t reachable_ms;
    uint32_t retrans_ms;

    bool has_source_link;
    bool has_target_link;
    struct mac_addr source_link; /* the first such option's */
    struct mac_addr target_link;
    uint32_t mtu; /* of the MTU option; 0: none */

    struct nd_options options; /* parse: points into the message */
};

/*
 * at: the ICMPv6 header; the whole message of len bytes is contiguous there and its checksum is
 * good. ip: the header it came under. Validates RFC 4861 6.1.1, 6.1.2, 7.1.1, 7.1.2, 8.1 and RFC
 * 6980 5 (no fragments), all options included. Returns the length of the fixed part. Errors:
 * ND_SHORT, ND_INVALID (also a type that is none of the five), ND_OPTION.
 */
int nd_parse(const uint8_t *at, size_t len, const struct ipv6_hdr *ip, struct nd_msg *m);

/* Steps to the next option; false at the end. */
bool nd_option_next(struct nd_options *it, struct nd_option *o);

/*
 * A solicitation or advertisement of a neighbour, or a router solicitation, with its link-layer
 * option where has_source_link (has_target_link in an advertisement) says so, and its checksum. out
 * holds ND_EMIT_MAX bytes. Returns the length.
 */
size_t nd_emit(const struct nd_msg *m, const struct ip_addr *src, const struct ip_addr *dst,
               uint8_t *out);

#endif
