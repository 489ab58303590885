/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STACK_REASS_H
#define MILLRACE_STACK_REASS_H

/*
 * Reassembly of IPv4 and IPv6 datagrams (RFC 791 3.2, RFC 8200 4.5) without copying: fragments are
 * kept as they came and linked into one chain when none is missing.
 *
 * Outcomes. Each fragment put in ends in exactly one: it leaves as part of a reassembled packet, or
 * it is counted under one drop reason. A datagram that is given up counts each fragment it holds
 * under the reason it was given up for, and so each that comes later, until the time of the
 * datagram is over (RFC 5722 3):
 *
 *   FRAG_OVERLAP   one overlaps another, or two disagree on where the datagram ends
 *   FRAG_TOO_LONG  together more than 65,535 bytes
 *   FRAG_TINY      first fragment without the whole header chain (RFC 7112 5)
 *   FRAG_LIMIT     more than REASS_FRAGMENTS_MAX fragments, or others needed the room
 *   FRAG_ECN       some marked by a congested router, others not to be marked (RFC 3168 5.3)
 *   FRAG_TIMEOUT   not complete in time
 *   NO_MEMORY      the header had to be copied, and the packet pool was empty
 *
 * A fragment that was there already is counted as FRAG_DUPLICATE alone; its datagram goes on (RFC
 * 8200 4.5 permits it). What went in and what came out whole is the caller's to count.
 *
 * Bounds. Datagrams, datagrams of one source, fragments of one datagram, and the memory pinned by
 * what is held: whole buffers, so that small fragments in large buffers cannot drain the pool. At a
 * bound the oldest datagram makes room, of the same source where it is the source's bound. So a
 * flood costs other senders' datagrams their time to complete, never their entry. Those given up
 * make room before those that may still complete.
 *
 * Timers. One for each datagram, armed by the first fragment to arrive and never moved. It ends the
 * datagram, given up or not.
 */

#include <stdint.h>

#include "base/mem.h"
#include "base/siphash.h"
#include "base/tick.h"
#include "base/wheel.h"
#include "buf/pkt.h"
#include "stats/counter.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

struct reass;

/* 65,535 bytes at the smallest IPv4 MTU that RFC 791 lets a host count on (576) are 119. */
#define REASS_FRAGMENTS_MAX 128

/* Zero takes the default. */
struct reass_limits {
    uint32_t datagrams;  /* incomplete or given up, at once: 256 */
    uint32_t per_source; /* of one source address: an eighth of datagrams, at least 1 */
    uint32_t bytes;      /* of buffers held: 4 MiB */
    /*
     * 30 s. RFC 1122 3.3.2 recommends 60 to 120, of a time when 65,536 packets took longer than
     * that; today an identification comes round in less (RFC 4963), and 30 s is what other hosts
     * wait.
     */
    tick_t timeout4;
    tick_t timeout6; /* 60 s (RFC 8200 4.5) */
};

struct reass_args {
    struct mem *mem;
    struct wheel *wheel;
    struct pkt_pool *pool; /* for headers that are shared and have to be written */
    struct counters *counters;
    struct siphash_key key; /* secret */
    struct reass_limits limits;
    /*
     * An ICMP error may be due about p, which is taken, starts at its IP header and is counted
     * already: FRAG_TIMEOUT (p is the first fragment; RFC 792, RFC 4443 3.3), FRAG_TINY or
     * FRAG_TOO_LONG (p is the fragment at fault; RFC 7112 5, RFC 8200 4.5). Must not call back in.
     * NULL: nobody wants to know.
     */
    void (*given_up)(void *ctx, enum drop why, struct pkt *p, tick_t now);
    void *ctx;
};

/* NULL: no memory. All that args points at outlives the object. */
struct reass *reass_create(const struct reass_args *args);
/* What is held is freed uncounted. */
void reass_destroy(struct reass *r);

/*
 * Takes the fragment p, which starts at the IP header that h was parsed from. Returns NULL or the
 * whole packet, which reads as if it had never been cut: it starts at the first fragment's IP
 * header, lengths and IPv4 checksum are right, the IPv6 fragment header is gone. Its metadata is
 * the first fragment's, with PKT_REASSEMBLED and without what the device said of the fragment's
 * payload and hash. The head view holds all that it held before, headers included.
 */
struct pkt *reass_input4(struct reass *r, const struct ipv4_hdr *h, struct pkt *p, tick_t now);
struct pkt *reass_input6(struct reass *r, const struct ipv6_hdr *h, struct pkt *p, tick_t now);

/* Datagrams and bytes as the limits count them. */
uint32_t reass_datagrams(const struct reass *r);
uint32_t reass_bytes(const struct reass *r);

#endif
