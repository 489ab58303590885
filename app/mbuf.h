/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_MBUF_H
#define MILLRACE_APP_MBUF_H

/*
 * Between DPDK's packets and ours: a struct pkt lives in its mbuf's private area, so that going
 * from one to the other is pointer arithmetic. mbuf.c is the only file that knows both.
 *
 * While a packet is ours, only its struct pkt counts: the mbuf's lengths, chain and flags are
 * stale. All references that our side holds to an owner's memory (pkt.refs) are one reference of
 * its mbuf. An mbuf given to a device is the device's; slices of it that we keep hold on by a
 * second mbuf reference, which is atomic, so a device may free on another core than ours.
 */

#include <stdbool.h>
#include <stdint.h>

#include "buf/pkt.h"

struct rte_mbuf;
struct rte_mempool;

/* One for each NUMA node with workers. */
struct mbuf_pool {
    struct pkt_pool pkt; /* first: what a stack is given */
    struct rte_mempool *packets;
    struct rte_mempool *views; /* mbufs without memory, for slices */
    int numa;
};

/* Bytes of one packet with all its headers, as a device that maps the pool sees it. */
uint32_t mbuf_object_bytes(uint16_t room);

/*
 * Any number of threads may use the pool. packed: in one piece without gaps, so that packets may
 * cross pages: AF_XDP registers a pool with the kernel as if it were so, while DPDK otherwise keeps
 * packets within pages, for devices that see physical addresses. False: rte_errno says why.
 */
bool mbuf_pool_create(struct mbuf_pool *p, int numa, uint32_t n, uint16_t room, bool packed);
void mbuf_pool_destroy(struct mbuf_pool *p);

/*
 * Takes n received mbufs and makes packets of them, in place. flags, hash and VLAN tag are carried
 * over; iface is set.
 */
void mbuf_receive(struct rte_mbuf *const *m, struct pkt **p, unsigned n, uint16_t iface);

/*
 * Takes a packet and makes an mbuf chain for a device of it. Nothing is copied: memory that slices
 * elsewhere still hold is shared with the device.
 */
struct rte_mbuf *mbuf_transmit(struct pkt *p);

#endif
