/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STACK_IFACE_H
#define MILLRACE_STACK_IFACE_H

/*
 * An interface as the stack sees it: addresses, gateways, MTU, and what its device does for us.
 * What a user calls a device; how many ports and queues the device needs is the application's
 * affair.
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/addr.h"

#define IFACE_MAX       16
#define IFACE_ADDRS_MAX 32
#define IFACE_NAME_MAX  32

/* What the device does on transmit; the stack does the rest in software. */
enum iface_offload {
    IFACE_TX_IP_CSUM = 1u << 0,
    IFACE_TX_UDP_CSUM = 1u << 1,
    IFACE_TX_TCP_CSUM = 1u << 2,
    IFACE_TX_SCTP_CSUM = 1u << 3,
    IFACE_TX_MULTI_SEGS = 1u << 4, /* takes chains; otherwise the stack hands over single views */
    IFACE_TX_TSO = 1u << 5,
    IFACE_TX_VLAN = 1u << 6,
};

struct iface_config {
    char name[IFACE_NAME_MAX];
    struct mac_addr mac;
    uint16_t mtu;     /* bytes of an IP packet, 68..65535; IPv6 is off below 1280 (RFC 8200 5) */
    uint16_t vlan;    /* 802.1Q id of its traffic, 0: untagged */
    uint32_t offload; /* enum iface_offload */
    uint16_t n_addrs;
    struct ip_prefix addr[IFACE_ADDRS_MAX]; /* both families; link-local is added by the stack */
    struct ip_addr gateway4;                /* all zero bytes (::): none */
    struct ip_addr gateway6;                /* :: : none */
    bool ipv6; /* false: no link-local address, no neighbour discovery */
};

#endif
