/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_UDP_H
#define MILLRACE_WIRE_UDP_H

/*
 * UDP (RFC 768):
 *
 *         0                              16                      31
 *        +-------------------------------+-----------------------+
 *      0 |          source port          |   destination port    |
 *        +-------------------------------+-----------------------+
 *      4 |     length, header included   |       checksum        |
 *        +-------------------------------+-----------------------+
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/checksum.h"

#define UDP_LEN 8u

struct udp_hdr {
    uint16_t src_port; /* 0: no reply is expected */
    uint16_t dst_port;
    uint16_t len;      /* header and data; the IP payload may be longer */
    bool has_checksum; /* parse: there is one to verify. Only IPv4 may go without */
};

/*
 * contiguous: bytes that may be read at `at`. available: bytes of the IP payload, later views
 * included (>= contiguous). The checksum is the caller's to verify where has_checksum, over the
 * pseudo header and h->len bytes, counted as UDP_CHECKSUM. Returns UDP_LEN. Errors: UDP_SHORT,
 * UDP_LENGTH, UDP_CHECKSUM (none over IPv6, RFC 8200 8.1).
 */
int udp_parse(const uint8_t *at, size_t contiguous, size_t available, bool ipv6, struct udp_hdr *h);

/*
 * dst holds UDP_LEN bytes; rest is the sum of the pseudo header and of the data. A checksum that
 * comes out as zero is written as 0xffff (RFC 768). Returns UDP_LEN.
 */
size_t udp_emit(const struct udp_hdr *h, struct checksum rest, uint8_t *dst);
/* The same with the checksum left for the device (PKT_TX_L4_CSUM): the field holds the pseudo
 * header's sum. */
size_t udp_emit_offload(const struct udp_hdr *h, struct checksum pseudo, uint8_t *dst);

#endif
