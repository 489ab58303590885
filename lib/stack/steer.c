/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/steer.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "wire/ether.h"
#include "wire/icmp.h"
#include "wire/icmpv6.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/proto.h"

/*
 * Toeplitz exclusive-ors, for each bit that is set in the input, the 32 bits of the key that start
 * at its place. A key of period 16 shows the same 32 bits at places 16 apart, so the input may be
 * folded to 16 bits first; and as those 32 bits are a half twice, so is the hash.
 */
#define KEY 0x6d5au

#define MALFORMED 0u /* the worker that counts it */

void steer_init(struct steer *s, uint16_t n_workers)
{
    assert(n_workers > 0 && n_workers <= STEER_SLOTS && "each worker has a slot");
    s->n_workers = n_workers;
    for (unsigned i = 0; i < STEER_SLOTS; i++)
        s->slot[i] = (uint8_t)(i % n_workers);
}

void steer_key(uint8_t key[STEER_KEY_BYTES])
{
    for (unsigned i = 0; i < STEER_KEY_BYTES; i += 2)
        store_be16(key + i, KEY);
}

/* The 16-bit words of 32 or 64 bits, exclusive-ored. */
static inline uint32_t fold32(uint32_t x)
{
    return (x ^ x >> 16) & 0xffff;
}

static inline uint32_t fold64(uint64_t x)
{
    return fold32((uint32_t)(x ^ x >> 32));
}

static inline uint32_t fold_addr(const uint8_t *a)
{
    return fold64(load_be64(a) ^ load_be64(a + 8));
}

/* The low 16 bits in the opposite order. */
static inline uint32_t reverse16(uint32_t x)
{
    x = (x & 0x5555) << 1 | (x >> 1 & 0x5555);
    x = (x & 0x3333) << 2 | (x >> 2 & 0x3333);
    x = (x & 0x0f0f) << 4 | (x >> 4 & 0x0f0f);
    return (x & 0x00ff) << 8 | x >> 8;
}

/*
 * The hash of input that folds to x. Bit p of it, counted from the left, is the sum of x's bit i
 * times the key's bit p + i over all i: put the other way round, the sum over the key's nine set
 * bits j of x's bit j - p, which is x reversed and rotated by j. Two copies side by side make a
 * rotation of a shift.
 */
static inline uint32_t toeplitz(uint32_t x)
{
    uint32_t r = reverse16(x);
    r |= r << 16;
    uint32_t h = r >> 2 ^ r >> 3 ^ r >> 5 ^ r >> 6 ^ r >> 8 ^ r >> 10 ^ r >> 12 ^ r >> 13 ^ r >> 15;
    h &= 0xffff;
    return h << 16 | h;
}

uint32_t steer_hash(const struct ip_addr *src, const struct ip_addr *dst, uint16_t sport,
                    uint16_t dport)
{
    /* IPv4's mapped prefix is in both addresses, and folds away. */
    return toeplitz(fold_addr(src->b) ^ fold_addr(dst->b) ^ sport ^ dport);
}

/* Reads a packet's headers in order, wherever its views are cut. As with a reader (base/bytes.h),
 * failure sticks. */
struct cursor {
    const struct pkt *p;
    uint32_t at;
    bool failed; /* something past the end was asked for */
    uint8_t copy[IPV6_LEN];
};

static inline void skip(struct cursor *c, uint32_t n)
{
    c->failed |= n > c->p->total - c->at;
    c->at = c->failed ? c->p->total : c->at + n;
}

/* The next n bytes (<= IPV6_LEN), valid until the next take; NULL where there are fewer. */
static inline const uint8_t *take(struct cursor *c, uint32_t n)
{
    uint32_t at = c->at;
    skip(c, n);
    if (c->failed)
        return NULL;
    if (c->at <= c->p->len)
        return c->p->data + at;
    pkt_copy_out(c->p, at, c->copy, n);
    return c->copy;
}

/* What an IP header at hand says: received, or quoted in an ICMP error. */
struct packet {
    uint32_t fold; /* of the addresses */
    uint8_t proto; /* of what stands at the cursor */
    bool v4;
    bool fragment; /* has no upper-layer header, or is a part of a packet that has */
    bool group;    /* its destination is multicast or broadcast */
    bool extended; /* there are extension headers */
};

/* The upper layer of f is for c to read. False: malformed. */
static bool read_ipv4(struct cursor *c, bool quoted, struct packet *f)
{
    const uint8_t *h = take(c, IPV4_LEN);
    if (!h || h[0] >> 4 != 4 || (h[0] & 0xf) < 5)
        return false;
    skip(c, (uint32_t)(h[0] & 0xf) * 4 - IPV4_LEN);
    uint32_t dst = load_be32(h + 16);
    /* All of a packet's fragments belong to one worker, so only a quoted first one shows its ports:
     * it is about a packet that we cut. */
    uint16_t frag = load_be16(h + 6) & (quoted ? 0x1fff : 0x3fff);
    *f = (struct packet){.fold = fold64(load_be64(h + 12)),
                         .proto = h[9],
                         .v4 = true,
                         .fragment = frag != 0,
                         .group = dst >> 28 == 0xe || dst == UINT32_MAX};
    return !c->failed;
}

static bool is_extension(uint8_t proto)
{
    return proto == IP_PROTO_HOP_BY_HOP || proto == IP_PROTO_ROUTING ||
           proto == IP_PROTO_DEST_OPTIONS || proto == IP_PROTO_FRAGMENT;
}

/* One extension header. */
static void read_extension(struct cursor *c, bool quoted, struct packet *f)
{
    const uint8_t *h = take(c, 8);
    if (!h)
        return;
    if (f->proto == IP_PROTO_FRAGMENT)
        f->fragment = load_be16(h + 2) & (quoted ? 0xfff8 : 0xfff9);
    else
        skip(c, (uint32_t)h[1] * 8);
    f->proto = h[0];
    f->extended = true;
}

static bool read_ipv6(struct cursor *c, bool quoted, struct packet *f)
{
    const uint8_t *h = take(c, IPV6_LEN);
    if (!h || h[0] >> 4 != 6)
        return false;
    *f = (struct packet){
        .fold = fold_addr(h + 8) ^ fold_addr(h + 24), .proto = h[6], .group = h[24] == 0xff};
    for (unsigned n = 0; is_extension(f->proto) && !f->fragment; n++) {
        if (n == IPV6_EXT_MAX)
            return false;
        read_extension(c, quoted, f);
        if (!!c->failed)
            return false;
    }
    return true;
}

static bool has_ports(uint8_t proto)
{
    return proto == IP_PROTO_TCP || proto == IP_PROTO_UDP || proto == IP_PROTO_SCTP;
}

static uint16_t worker_of(const struct steer *s, uint32_t fold)
{
    return steer_worker(s, toeplitz(fold));
}

/* By addresses, and ports where there are some. */
static uint16_t flow_owner(const struct steer *s, struct cursor *c, const struct packet *f)
{
    if (f->fragment || !has_ports(f->proto))
        return worker_of(s, f->fold);
    const uint8_t *ports = take(c, 4);
    return ports ? worker_of(s, f->fold ^ fold32(load_be32(ports))) : MALFORMED;
}

/* An ICMP error belongs to the flow that it is about. Which end of it is ours does not matter, as
 * both directions hash alike. */
static uint16_t quoted_owner(const struct steer *s, struct cursor *c, bool v4)
{
    struct packet f;
    skip(c, 4); /* unused, MTU or pointer */
    bool ok = v4 ? read_ipv4(c, true, &f) : read_ipv6(c, true, &f);
    return ok ? flow_owner(s, c, &f) : MALFORMED;
}

static bool is_discovery(uint8_t type)
{
    return type >= ICMPV6_ROUTER_SOLICIT && type <= ICMPV6_REDIRECT;
}

static bool is_error(const struct packet *f, uint8_t type)
{
    if (!f->v4)
        return type < 128; /* RFC 4443 2.1 */
    return type == ICMP_UNREACHABLE || type == ICMP_SOURCE_QUENCH || type == ICMP_REDIRECT ||
           type == ICMP_TIME_EXCEEDED || type == ICMP_PARAM_PROBLEM;
}

static uint16_t icmp_owner(const struct steer *s, struct cursor *c, const struct packet *f)
{
    const uint8_t *h = take(c, 4); /* type, code, checksum */
    if (!h)
        return MALFORMED;
    if (!f->v4 && is_discovery(h[0]))
        return STEER_ALL;
    if (f->group)
        return 0;
    return is_error(f, h[0]) ? quoted_owner(s, c, f->v4) : worker_of(s, f->fold);
}

static uint16_t ip_owner(const struct steer *s, const struct pkt *p, struct cursor *c, bool v4)
{
    struct packet f;
    if (!(v4 ? read_ipv4(c, false, &f) : read_ipv6(c, false, &f)))
        return MALFORMED;
    if (!f.fragment && f.proto == (v4 ? IP_PROTO_ICMP : IP_PROTO_ICMPV6))
        return icmp_owner(s, c, &f);
    if (f.group)
        return 0; /* the host's affair, not a flow's */
    if ((p->flags & PKT_RX_HASH) && !f.fragment && !f.extended &&
        (f.proto == IP_PROTO_TCP || f.proto == IP_PROTO_UDP))
        return steer_worker(s, p->hash);
    return flow_owner(s, c, &f);
}

uint16_t steer_owner(const struct steer *s, const struct pkt *p)
{
    struct cursor c;
    c.p = p;
    c.at = 0;
    c.failed = false; /* copy is left alone: this is per packet */
    const uint8_t *h = take(&c, ETHER_LEN);
    if (!h)
        return MALFORMED;
    uint16_t type = load_be16(h + 12);
    if (type == ETHER_TYPE_VLAN) {
        h = take(&c, ETHER_TAGGED_LEN - ETHER_LEN);
        type = h ? load_be16(h + 2) : 0;
    }
    switch (type) {
    case ETHER_TYPE_ARP: return STEER_ALL;
    case ETHER_TYPE_IPV4: return ip_owner(s, p, &c, true);
    case ETHER_TYPE_IPV6: return ip_owner(s, p, &c, false);
    default: return MALFORMED;
    }
}
