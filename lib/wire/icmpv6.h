/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_ICMPV6_H
#define MILLRACE_WIRE_ICMPV6_H

/*
 * ICMPv6 (RFC 4443): 8 bytes, then the echo's data or the quoted packet. The checksum covers the
 * pseudo header too (2.3).
 *
 *         0              8               16                      31
 *        +---------------+---------------+-----------------------+
 *      0 |     type      |     code      |       checksum        |
 *        +---------------+---------------+-----------------------+
 *      4 |      identifier (echo)        |    sequence number    |
 *        |      MTU (packet too big), pointer (param problem)    |
 *        +-------------------------------------------------------+
 *
 * Neighbour discovery shares the first 4 bytes (wire/nd.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/checksum.h"

#define ICMPV6_LEN 8u
/* Longest IPv6 packet an error may make, quote included (RFC 4443 2.4 c). */
#define ICMPV6_ERROR_MAX 1280u

enum icmpv6_type {
    ICMPV6_UNREACHABLE = 1,
    ICMPV6_TOO_BIG = 2,
    ICMPV6_TIME_EXCEEDED = 3,
    ICMPV6_PARAM_PROBLEM = 4,
    ICMPV6_ECHO = 128,
    ICMPV6_ECHO_REPLY = 129,
    ICMPV6_ROUTER_SOLICIT = 133,
    ICMPV6_ROUTER_ADVERT = 134,
    ICMPV6_NEIGH_SOLICIT = 135,
    ICMPV6_NEIGH_ADVERT = 136,
    ICMPV6_REDIRECT = 137,
};

enum icmpv6_unreachable_code {
    ICMPV6_NO_ROUTE = 0,
    ICMPV6_ADMIN_PROHIBITED = 1,
    ICMPV6_BEYOND_SCOPE = 2,
    ICMPV6_ADDR_UNREACHABLE = 3,
    ICMPV6_PORT_UNREACHABLE = 4,
};

enum icmpv6_time_exceeded_code {
    ICMPV6_HOPS_EXCEEDED = 0,
    ICMPV6_REASSEMBLY_EXCEEDED = 1,
};

enum icmpv6_param_code {
    ICMPV6_BAD_FIELD = 0,
    ICMPV6_BAD_NEXT_HEADER = 1,
    ICMPV6_BAD_OPTION = 2,
    ICMPV6_TINY_FRAGMENT = 3, /* RFC 7112 5 */
};

struct icmpv6_hdr {
    uint8_t type; /* enum icmpv6_type */
    uint8_t code;
    uint16_t id;      /* ECHO, ECHO_REPLY */
    uint16_t seq;     /* ECHO, ECHO_REPLY */
    uint32_t mtu;     /* TOO_BIG */
    uint32_t pointer; /* PARAM_PROBLEM */
};

/* RFC 4443 2.1. No error is ever sent about one (2.4 e.1). */
static inline bool icmpv6_is_error(uint8_t type)
{
    return type < 128;
}

/*
 * ICMPV6_LEN. The fields that the type does not have are zero. The checksum is the caller's to
 * verify, over the pseudo header and the whole message, counted as ICMP6_CHECKSUM. Errors:
 * ICMP6_SHORT.
 */
int icmpv6_parse(const uint8_t *at, size_t len, struct icmpv6_hdr *h);

/* dst holds ICMPV6_LEN bytes; rest is the sum of the pseudo header and of what follows them.
 * Returns ICMPV6_LEN. */
size_t icmpv6_emit(const struct icmpv6_hdr *h, struct checksum rest, uint8_t *dst);

#endif
