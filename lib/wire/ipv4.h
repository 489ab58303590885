/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_IPV4_H
#define MILLRACE_WIRE_IPV4_H

/*
 * IPv4 (RFC 791 3.1), 20 bytes and up to 40 of options:
 *
 *         0       4       8              16  19                  31
 *        +-------+-------+---------------+---+-------------------+
 *      0 | ver 4 | words |  DSCP, ECN    |      total length     |
 *        +-------+-------+---------------+-+-+-+-----------------+
 *      4 |        identification         |0|D|M| offset (8s)     |
 *        +---------------+---------------+-+-+-+-----------------+
 *      8 | time to live  |   protocol    |    header checksum    |
 *        +---------------+---------------+-----------------------+
 *     12 |                      source address                   |
 *        +-------------------------------------------------------+
 *     16 |                   destination address                 |
 *        +-------------------------------------------------------+
 *     20 |              options, padded to a word                |
 *        +-------------------------------------------------------+
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/addr.h"

#define IPV4_LEN         20u
#define IPV4_OPTIONS_MAX 40u
#define IPV4_TOTAL_MAX   65535u

struct ipv4_hdr {
    struct ip_addr src;
    struct ip_addr dst;
    uint16_t total_len; /* header and payload; bytes behind it are link padding */
    uint16_t id;
    uint16_t frag_offset; /* bytes, a multiple of 8 */
    bool dont_fragment;
    bool more_fragments;
    uint8_t tos; /* DSCP and ECN */
    uint8_t ttl;
    uint8_t proto;     /* enum ip_proto */
    bool source_route; /* parse: carries a loose or strict source route; a host that does not
                          forward refuses it */
    uint8_t
        bad_option; /* after IP4_OPTION: offset of the octet at fault, for a parameter problem */
    uint8_t options_len;               /* multiple of 4, up to IPV4_OPTIONS_MAX */
    uint8_t options[IPV4_OPTIONS_MAX]; /* options_len bytes as on the wire, padding included */
};

static inline size_t ipv4_len(const struct ipv4_hdr *h)
{
    return IPV4_LEN + h->options_len;
}

static inline bool ipv4_is_fragment(const struct ipv4_hdr *h)
{
    return h->more_fragments || h->frag_offset > 0;
}

/*
 * contiguous: bytes that may be read at `at`. available: bytes of the whole packet, later views of
 * its chain included
 * (>= contiguous). checksum_verified: the device did it. Returns the header's length.
 * Errors: IP4_SHORT, IP4_VERSION, IP4_HEADER_LENGTH, IP4_TOTAL_LENGTH, IP4_CHECKSUM, IP4_OPTION,
 * IP4_FRAGMENT, tested in that order; with the last two all fields of h are valid.
 */
int ipv4_parse(const uint8_t *at, size_t contiguous, size_t available, bool checksum_verified,
               struct ipv4_hdr *h);

/*
 * The header of a packet quoted in an ICMP error: cut short behind its header, and the checksum may
 * be anyone's (routers change the time to live). Same errors but for IP4_CHECKSUM; IP4_TOTAL_LENGTH
 * only under the header's length.
 */
int ipv4_parse_quoted(const uint8_t *at, size_t len, struct ipv4_hdr *h);

/* dst holds ipv4_len(h) bytes. offload: leave the checksum zero for the device to fill
 * (PKT_TX_IP_CSUM). */
size_t ipv4_emit(const struct ipv4_hdr *h, bool offload, uint8_t *dst);

/*
 * The options that go into every fragment (RFC 791 3.1, copied flag), padded to a word, from
 * options that ipv4_parse accepted. dst holds IPV4_OPTIONS_MAX bytes and may be the same array.
 * Returns their length.
 */
size_t ipv4_options_copied(const uint8_t *options, size_t len, uint8_t *dst);

#endif
