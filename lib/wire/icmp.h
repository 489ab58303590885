/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_ICMP_H
#define MILLRACE_WIRE_ICMP_H

/*
 * ICMP for IPv4 (RFC 792): 8 bytes, then the echo's data or the quoted packet.
 *
 *         0              8               16                      31
 *        +---------------+---------------+-----------------------+
 *      0 |     type      |     code      |       checksum        |
 *        +---------------+---------------+-----------------------+
 *      4 |      identifier (echo)        |    sequence number    |
 *        |      zero (frag needed)       |  MTU (RFC 1191 4)     |
 *        |  pointer      |     zero  (parameter problem)         |
 *        +-------------------------------+-----------------------+
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/checksum.h"

#define ICMP_LEN 8u
/* Longest IPv4 packet an error may make, quote included (RFC 1812 4.3.2.3). */
#define ICMP_ERROR_MAX 576u

enum icmp_type {
    ICMP_ECHO_REPLY = 0,
    ICMP_UNREACHABLE = 3,
    ICMP_SOURCE_QUENCH = 4,
    ICMP_REDIRECT = 5,
    ICMP_ECHO = 8,
    ICMP_TIME_EXCEEDED = 11,
    ICMP_PARAM_PROBLEM = 12,
};

enum icmp_unreachable_code {
    ICMP_NET_UNREACHABLE = 0,
    ICMP_HOST_UNREACHABLE = 1,
    ICMP_PROTO_UNREACHABLE = 2,
    ICMP_PORT_UNREACHABLE = 3,
    ICMP_FRAG_NEEDED = 4,
    ICMP_SOURCE_ROUTE_FAILED = 5,
    ICMP_ADMIN_PROHIBITED = 13,
};

enum icmp_time_exceeded_code {
    ICMP_TTL_EXCEEDED = 0,
    ICMP_REASSEMBLY_EXCEEDED = 1,
};

struct icmp_hdr {
    uint8_t type; /* enum icmp_type */
    uint8_t code;
    uint8_t pointer; /* PARAM_PROBLEM */
    uint16_t id;     /* ECHO, ECHO_REPLY */
    uint16_t seq;    /* ECHO, ECHO_REPLY */
    uint16_t mtu;    /* UNREACHABLE with FRAG_NEEDED; 0 from routers older than RFC 1191 */
};

/* Is this one of the types that quote a packet? No error is ever sent about one (RFC 1122 3.2.2).
 */
bool icmp_is_error(uint8_t type);

/*
 * ICMP_LEN. The fields that the type does not have are zero. The checksum is the caller's to
 * verify, over the whole message: checksum_ok(checksum_pkt(p, at, len, CHECKSUM_EMPTY)), counted as
 * ICMP4_CHECKSUM. Errors: ICMP4_SHORT.
 */
int icmp_parse(const uint8_t *at, size_t len, struct icmp_hdr *h);

/* dst holds ICMP_LEN bytes; body is the sum of what follows them. Returns ICMP_LEN. */
size_t icmp_emit(const struct icmp_hdr *h, struct checksum body, uint8_t *dst);

#endif
