/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_MTU_H
#define MILLRACE_SIM_MTU_H

/*
 * A narrow link behind a router: an IPv4 packet that is too long is cut, unless it must not be;
 * then, and for IPv6, it is lost and its sender told (RFC 1191 4, RFC 4443 3.2). The router is seen
 * by its addresses alone; time to live and device addresses pass as they are.
 */

#include "sim/node.h"
#include "wire/addr.h"

struct mtu {
    struct node node;
    uint16_t mtu; /* of an IP packet; may be changed at any time */
    bool mute;    /* tells nobody: a black hole */
    struct ip_addr addr4;
    struct ip_addr addr6;
    struct heap_pool pool;
    uint64_t cut;
    uint64_t refused[2]; /* that came in at that side */
};

struct mtu *mtu_create(struct sim *s, uint16_t mtu);

#endif
