/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STACK_STEER_H
#define MILLRACE_STACK_STEER_H

/*
 * Which worker owns a packet. One function for the device and for software: Toeplitz over addresses
 * and ports with a key of period 16 bits, so that both directions of a flow hash alike (Woo and
 * Park, "Scalable TCP Session Monitoring with Symmetric Receive-side Scaling", 2012). With such a
 * key the hash of a tuple is the hash of the exclusive or of its 16-bit words.
 */

#include <stdint.h>

#include "buf/pkt.h"
#include "wire/addr.h"

#define STEER_KEY_BYTES 52 /* the longest that current devices take; shorter ones take a prefix */
#define STEER_SLOTS     128
#define STEER_ALL       UINT16_MAX /* ARP and neighbour discovery: each worker needs to hear it */

struct steer {
    uint16_t n_workers;
    uint8_t
        slot[STEER_SLOTS]; /* worker by the low bits of the hash: the device's redirection table */
};

/* Slots are dealt out in turn to workers 0..n-1; 1 <= n <= STEER_SLOTS. */
void steer_init(struct steer *s, uint16_t n_workers);

/* The key to program into a device: 0x6d5a repeated. */
void steer_key(uint8_t key[STEER_KEY_BYTES]);

/* The device's hash of this tuple; ports 0 where the protocol has none (then it is the hash of the
 * addresses alone). */
uint32_t steer_hash(const struct ip_addr *src, const struct ip_addr *dst, uint16_t sport,
                    uint16_t dport);

static inline uint16_t steer_worker(const struct steer *s, uint32_t hash)
{
    return s->slot[hash & (STEER_SLOTS - 1)];
}

/*
 * The owner of a received frame, or STEER_ALL. Reads the frame only; anything malformed belongs to
 * worker 0, whose stack will count it, and so does what was sent to a group. Fragments and
 * protocols without ports are owned by addresses alone, ICMP errors by the flow they quote. A
 * device's hash (PKT_RX_HASH) is believed only for packets whose headers it certainly covered: TCP
 * and UDP over IPv4 or IPv6 without fragments; the rest is hashed here.
 */
uint16_t steer_owner(const struct steer *s, const struct pkt *p);

#endif
