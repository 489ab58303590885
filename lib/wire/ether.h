/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_ETHER_H
#define MILLRACE_WIRE_ETHER_H

/*
 * Ethernet II with at most one 802.1Q tag:
 *
 *        0         6        12       14
 *        +---------+---------+--------+
 *        |   dst   |   src   |  type  |                      untagged, 14 bytes
 *        +---------+---------+--------+--------+--------+
 *        |   dst   |   src   | 0x8100 |  TCI   |  type  |    tagged, 18 bytes
 *        +---------+---------+--------+--------+--------+
 *        0         6        12       14       16       18
 *
 * TCI: priority (3 bits), drop eligible (1), VLAN identifier (12).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/addr.h"

enum ether_type {
    ETHER_TYPE_IPV4 = 0x0800,
    ETHER_TYPE_ARP = 0x0806,
    ETHER_TYPE_VLAN = 0x8100,
    ETHER_TYPE_IPV6 = 0x86dd,
};

#define ETHER_LEN        14
#define ETHER_TAGGED_LEN 18
#define ETHER_VLAN_MASK  0x0fffu /* the VLAN identifier within a TCI */

struct ether_hdr {
    struct mac_addr dst;
    struct mac_addr src;
    uint16_t type; /* of the payload; after the tag where there is one. Under 0x600 it is an 802.3
                      length */
    uint16_t tci;  /* valid where tagged */
    bool tagged;
};

extern const struct mac_addr MAC_BROADCAST;

/* Header length, 14 or 18. A second tag is left as the type ETHER_TYPE_VLAN. Errors: ETHER_SHORT.
 */
int ether_parse(const uint8_t *at, size_t len, struct ether_hdr *h);

static inline size_t ether_len(const struct ether_hdr *h)
{
    return h->tagged ? ETHER_TAGGED_LEN : ETHER_LEN;
}

/* dst holds ether_len(h) bytes, which is what is returned. */
size_t ether_emit(const struct ether_hdr *h, uint8_t *dst);

#endif
