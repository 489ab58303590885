/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STACK_FRAG_H
#define MILLRACE_STACK_FRAG_H

/*
 * Fragmentation of IPv4 and IPv6 packets (RFC 791 3.2, RFC 8200 4.5), by copying. The fragments
 * come from the pool, so each has the pool's headroom for the link's header, and views of at most
 * the pool's room.
 */

#include <stdint.h>

#include "buf/pkt.h"

enum frag_error {
    FRAG_E_MEMORY = -1,        /* pool empty */
    FRAG_E_DONT_FRAGMENT = -2, /* IPv4 with DF set */
    FRAG_E_MTU =
        -3, /* no room for the headers and eight bytes, or IPv6 headers that would be cut */
    FRAG_E_HEADER = -4, /* not an IP packet, or an IPv6 packet with a fragment header */
};

/* Takes one fragment. They come in order. */
typedef void (*frag_emit)(void *ctx, struct pkt *fragment);

/*
 * Cuts p, of more than mtu bytes, which starts at its IP header and remains the caller's, to
 * fragments of at most mtu bytes, and hands each to emit. Checksums of p above IP must be final,
 * nothing may be left to the device. The IPv4 identification is p's (RFC 6864 4.3: the caller has
 * made it unique); id is IPv6's. An IPv4 fragment may be cut further. Each fragment has p's iface,
 * vlan and PKT_TX_VLAN; IPv4 header checksums are filled in.
 *
 * Returns how many there were, or an error, and then emit has not run.
 */
int frag_cut(struct pkt_pool *pool, const struct pkt *p, uint16_t mtu, uint32_t id, frag_emit emit,
             void *ctx);

#endif
