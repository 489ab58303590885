/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbour discovery (RFC 4861): the pictures are in wire/nd.h. */
#include "wire/nd.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/checksum.h"
#include "wire/error.h"
#include "wire/icmpv6.h"
#include "wire/proto.h"

enum {
    ADVERT_ROUTER = 0x80,
    ADVERT_SOLICITED = 0x40,
    ADVERT_OVERRIDE = 0x20,
    ROUTER_MANAGED = 0x80,
    ROUTER_OTHER = 0x40,
    PREFIX_ON_LINK = 0x80,
    PREFIX_AUTONOMOUS = 0x40,
    LINK_OPTION_LEN = 8, /* RFC 2464 6 */
    OPTION_UNIT = 8,
};

/* Bytes before the options; 0 for a type that is not neighbour discovery's. */
static size_t fixed_len(uint8_t type)
{
    switch (type) {
    case ICMPV6_ROUTER_SOLICIT: return 8;
    case ICMPV6_ROUTER_ADVERT: return 16;
    case ICMPV6_NEIGH_SOLICIT:
    case ICMPV6_NEIGH_ADVERT: return 24;
    case ICMPV6_REDIRECT: return 40;
    default: return 0;
    }
}

static struct ip_addr read_addr(const uint8_t *at)
{
    struct ip_addr a;
    memcpy(a.b, at, sizeof(a.b));
    return a;
}

static void read_router_advert(const uint8_t *at, struct nd_msg *m)
{
    m->hop_limit = at[4];
    m->managed = at[5] & ROUTER_MANAGED;
    m->other_config = at[5] & ROUTER_OTHER;
    m->lifetime_s = load_be16(at + 6);
    m->reachable_ms = load_be32(at + 8);
    m->retrans_ms = load_be32(at + 12);
}

static void read_neigh_advert(const uint8_t *at, struct nd_msg *m)
{
    m->router = at[4] & ADVERT_ROUTER;
    m->solicited = at[4] & ADVERT_SOLICITED;
    m->override = at[4] & ADVERT_OVERRIDE;
    m->target = read_addr(at + 8);
}

static void read_fixed(const uint8_t *at, struct nd_msg *m)
{
    switch (m->type) {
    case ICMPV6_ROUTER_ADVERT: read_router_advert(at, m); break;
    case ICMPV6_NEIGH_SOLICIT: m->target = read_addr(at + 8); break;
    case ICMPV6_NEIGH_ADVERT: read_neigh_advert(at, m); break;
    case ICMPV6_REDIRECT:
        m->target = read_addr(at + 8);
        m->destination = read_addr(at + 24);
        break;
    default: break;
    }
}

static bool read_prefix(const uint8_t *at, struct nd_prefix *p)
{
    *p = (struct nd_prefix){
        .prefix = {.addr = read_addr(at + 16), .len = at[2]},
        .on_link = at[3] & PREFIX_ON_LINK,
        .autonomous = at[3] & PREFIX_AUTONOMOUS,
        .valid_s = load_be32(at + 4),
        .preferred_s = load_be32(at + 8),
    };
    return p->prefix.len <= 128 && !ip_is_v4(&p->prefix.addr);
}

/* The option of `len` bytes at `at`. False where its length is not its type's, or its value is
 * none. */
static bool read_option(const uint8_t *at, size_t len, struct nd_option *o)
{
    *o = (struct nd_option){.type = at[0]};
    switch (o->type) {
    case ND_OPTION_SOURCE_LINK:
    case ND_OPTION_TARGET_LINK:
        memcpy(o->mac.b, at + 2, sizeof(o->mac.b));
        return len == LINK_OPTION_LEN && !mac_is_multicast(&o->mac);
    case ND_OPTION_PREFIX: return len == 32 && read_prefix(at, &o->prefix);
    case ND_OPTION_MTU:
        if (len != 8)
            return false;
        o->mtu = load_be32(at + 4);
        return true;
    default: return true; /* RFC 4861 6.1.2, 7.1.1: unknown options are ignored */
    }
}

/* 1: an option was read. 0: the end. -WIRE_ND_OPTION: malformed. */
static int next_option(struct nd_options *it, struct nd_option *o)
{
    if (it->left == 0)
        return 0;
    if (it->left < OPTION_UNIT)
        return -WIRE_ND_OPTION;
    size_t len = (size_t)it->at[1] * OPTION_UNIT;
    if (len == 0 || len > it->left) /* RFC 4861 4.6: length 0 condemns the packet */
        return -WIRE_ND_OPTION;
    if (!read_option(it->at, len, o))
        return -WIRE_ND_OPTION;
    it->at += len;
    it->left -= len;
    return 1;
}

bool nd_option_next(struct nd_options *it, struct nd_option *o)
{
    int got = next_option(it, o);
    assert(got >= 0 && "nd_parse accepted every option");
    return got > 0;
}

static void note_option(struct nd_msg *m, const struct nd_option *o)
{
    if (o->type == ND_OPTION_SOURCE_LINK && !m->has_source_link) {
        m->has_source_link = true;
        m->source_link = o->mac;
    } else if (o->type == ND_OPTION_TARGET_LINK && !m->has_target_link) {
        m->has_target_link = true;
        m->target_link = o->mac;
    } else if (o->type == ND_OPTION_MTU) {
        m->mtu = o->mtu;
    }
}

static int read_options(struct nd_msg *m)
{
    struct nd_options it = m->options;
    for (unsigned n = 0; it.left > 0; n++) {
        struct nd_option o;
        if (n == ND_OPTION_MAX || next_option(&it, &o) < 0)
            return -WIRE_ND_OPTION;
        note_option(m, &o);
    }
    return 0;
}

/* RFC 4861 7.1.1 and, with the same rule for an unspecified source, 6.1.1. */
static bool solicit_ok(const struct nd_msg *m, const struct ipv6_hdr *ip)
{
    bool neigh = m->type == ICMPV6_NEIGH_SOLICIT;
    if (neigh && ip_is_multicast(&m->target))
        return false;
    if (!ip_is_unspecified(&ip->src))
        return true;
    struct ip_addr group = ip_solicited_node(&ip->dst);
    return !m->has_source_link && (!neigh || ip_eq(&ip->dst, &group));
}

/* RFC 4861 7.1.2 */
static bool neigh_advert_ok(const struct nd_msg *m, const struct ipv6_hdr *ip)
{
    return !ip_is_multicast(&m->target) && !(m->solicited && ip_is_multicast(&ip->dst));
}

/* RFC 4861 8.1 */
static bool redirect_ok(const struct nd_msg *m, const struct ipv6_hdr *ip)
{
    return ip_is_link_local(&ip->src) && !ip_is_multicast(&m->destination) &&
           (ip_is_link_local(&m->target) || ip_eq(&m->target, &m->destination));
}

static bool message_ok(const struct nd_msg *m, const struct ipv6_hdr *ip)
{
    if (ip_is_v4(&m->target) || ip_is_v4(&m->destination))
        return false; /* the two families never mix (wire/addr.h) */
    switch (m->type) {
    case ICMPV6_ROUTER_ADVERT: return ip_is_link_local(&ip->src); /* RFC 4861 6.1.2 */
    case ICMPV6_NEIGH_ADVERT: return neigh_advert_ok(m, ip);
    case ICMPV6_REDIRECT: return redirect_ok(m, ip);
    default: return solicit_ok(m, ip);
    }
}

int nd_parse(const uint8_t *at, size_t len, const struct ipv6_hdr *ip, struct nd_msg *m)
{
    if (len < ICMPV6_LEN)
        return -WIRE_ND_SHORT;
    size_t fixed = fixed_len(at[0]);
    /* RFC 4861 7.1: hop limit and code; RFC 6980 5: not even an atomic fragment */
    if (fixed == 0 || at[1] != 0 || ip->hop_limit != ND_HOP_LIMIT || ip->frag.present)
        return -WIRE_ND_INVALID;
    if (len < fixed)
        return -WIRE_ND_SHORT;
    *m = (struct nd_msg){.type = at[0], .options = {.at = at + fixed, .left = len - fixed}};
    read_fixed(at, m);
    int error = read_options(m);
    if (error)
        return error;
    return message_ok(m, ip) ? (int)fixed : -WIRE_ND_INVALID;
}

static size_t put_link_option(uint8_t *at, enum nd_option_type type, const struct mac_addr *mac)
{
    at[0] = (uint8_t)type;
    at[1] = LINK_OPTION_LEN / OPTION_UNIT;
    memcpy(at + 2, mac->b, sizeof(mac->b));
    return LINK_OPTION_LEN;
}

static size_t put_options(const struct nd_msg *m, uint8_t *at)
{
    if (m->type == ICMPV6_NEIGH_ADVERT)
        return m->has_target_link ? put_link_option(at, ND_OPTION_TARGET_LINK, &m->target_link) : 0;
    return m->has_source_link ? put_link_option(at, ND_OPTION_SOURCE_LINK, &m->source_link) : 0;
}

static uint8_t advert_flags(const struct nd_msg *m)
{
    return (uint8_t)((m->router ? ADVERT_ROUTER : 0) | (m->solicited ? ADVERT_SOLICITED : 0) |
                     (m->override ? ADVERT_OVERRIDE : 0));
}

size_t nd_emit(const struct nd_msg *m, const struct ip_addr *src, const struct ip_addr *dst,
               uint8_t *out)
{
    assert(m->type == ICMPV6_NEIGH_SOLICIT || m->type == ICMPV6_NEIGH_ADVERT ||
           m->type == ICMPV6_ROUTER_SOLICIT);
    size_t len = fixed_len(m->type);
    memset(out, 0, len);
    out[0] = m->type;
    if (m->type == ICMPV6_NEIGH_ADVERT)
        out[4] = advert_flags(m);
    if (m->type != ICMPV6_ROUTER_SOLICIT)
        memcpy(out + 8, m->target.b, sizeof(m->target.b));
    len += put_options(m, out + len);
    struct checksum sum = checksum_pseudo(src, dst, IP_PROTO_ICMPV6, (uint32_t)len);
    store_be16(out + 2, checksum_finish(checksum_add(sum, out, len)));
    return len;
}
