/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_CHECKSUM_H
#define MILLRACE_WIRE_CHECKSUM_H

/*
 * The Internet checksum (RFC 1071): the one's-complement sum of 16-bit words. A running sum is a
 * small value that carries its parity, so that bytes may be added piece by piece, split anywhere
 * and at any alignment:
 *
 *     struct checksum c = checksum_pseudo(&src, &dst, IP_PROTO_UDP, len);
 *     c = checksum_pkt(p, offset, len, c);
 *     if (!checksum_ok(c)) ...
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/addr.h"

struct pkt;

struct checksum {
    uint64_t sum; /* of 16-bit words in memory order, not folded */
    bool odd;     /* an odd number of bytes so far */
};

#define CHECKSUM_EMPTY ((struct checksum){0})

struct checksum checksum_add(struct checksum c, const void *bytes, size_t len);

/* Adds a header that stands before what c covers; len is even. */
struct checksum checksum_prepend(struct checksum c, const void *header, size_t len);

/* The bytes [offset, offset + len) of a chain; offset + len <= p->total. */
struct checksum checksum_pkt(const struct pkt *p, uint32_t offset, uint32_t len,
                             struct checksum partial);

/*
 * Pseudo header for TCP, UDP and ICMPv6 (RFC 9293 3.1, RFC 768, RFC 8200 8.1). len is that of the
 * upper-layer header and data. Both addresses of the same family.
 */
struct checksum checksum_pseudo(const struct ip_addr *src, const struct ip_addr *dst, uint8_t proto,
                                uint32_t len);

/* The sum itself, host order. Of a pseudo header it is what a device that fills checksums wants in
 * the field. */
uint16_t checksum_fold(struct checksum c);

/* The value of the checksum field, host order, where c covers all else with the field as zero. */
static inline uint16_t checksum_finish(struct checksum c)
{
    return (uint16_t)~checksum_fold(c);
}

/* Is c, which covers the checksum field too, that of intact data? (RFC 1071 1) */
static inline bool checksum_ok(struct checksum c)
{
    return checksum_fold(c) == 0xffff;
}

/*
 * The field's new value after a word of the data changed (RFC 1624 3, equation 3); all host order.
 * Equal to summing anew unless all of the data becomes zero, where this gives 0 and that gives
 * 0xffff; no header with a pseudo header or an IPv4 version does.
 */
uint16_t checksum_update16(uint16_t field, uint16_t was, uint16_t is);
uint16_t checksum_update32(uint16_t field, uint32_t was, uint32_t is);

#endif
