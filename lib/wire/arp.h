/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_ARP_H
#define MILLRACE_WIRE_ARP_H

/*
 * ARP for IPv4 over Ethernet (RFC 826), 28 bytes:
 *
 *        0        2        4    5    6        8
 *        +--------+--------+----+----+--------+
 *        | hw = 1 | 0x0800 |  6 |  4 |   op   |
 *        +--------+--------+----+----+--------+
 *      8 |   sender MAC (6)   |  sender IPv4 (4)  |
 *        +--------------------+-------------------+
 *     18 |   target MAC (6)   |  target IPv4 (4)  |
 *        +--------------------+-------------------+
 */

#include <stddef.h>
#include <stdint.h>

#include "wire/addr.h"

#define ARP_LEN 28

enum arp_op {
    ARP_REQUEST = 1,
    ARP_REPLY = 2,
};

struct arp_msg {
    enum arp_op op;
    struct mac_addr sender_mac; /* never a group address */
    struct mac_addr target_mac; /* means nothing in a request */
    struct ip_addr sender_ip;   /* 0.0.0.0 in a probe (RFC 5227 1.1) */
    struct ip_addr target_ip;
};

/* ARP_LEN; padding behind it is ignored. Errors: ARP_SHORT, ARP_FORMAT, ARP_SENDER. */
int arp_parse(const uint8_t *at, size_t len, struct arp_msg *m);
/* dst holds ARP_LEN bytes. Both addresses must be IPv4. */
size_t arp_emit(const struct arp_msg *m, uint8_t *dst);

#endif
