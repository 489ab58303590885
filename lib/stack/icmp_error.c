/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMP errors that we send (RFC 1122 3.2.2, RFC 4443 2.4): about few packets, quoting them, not too
 * often. */
#include "base/bytes.h"
#include "stack/internal.h"
#include "wire/icmp.h"
#include "wire/icmpv6.h"
#include "wire/ipv4.h"
#include "wire/proto.h"

/* Is it an error itself? Those get none (RFC 1122 3.2.2, RFC 4443 2.4 e). */
static bool about_icmp4_error(const struct ip_rx *rx)
{
    if (rx->proto != IP_PROTO_ICMP)
        return false;
    return rx->upper_at >= rx->p->len /* cannot tell */ || icmp_is_error(rx->p->data[rx->upper_at]);
}

static bool is_extension(uint8_t next)
{
    return next == IP_PROTO_HOP_BY_HOP || next == IP_PROTO_ROUTING || next == IP_PROTO_FRAGMENT ||
           next == IP_PROTO_DEST_OPTIONS;
}

/* As the fault may lie in a header on the way to the upper layer, this is a way of its own. */
static bool about_icmp6_error(const struct ip_rx *rx)
{
    const struct pkt *p = rx->p;
    uint8_t next = p->data[6];
    uint32_t at = IPV6_LEN;
    bool later_fragment = false;
    while (is_extension(next) && !later_fragment) {
        if (at + 8 > p->len)
            return false;
        bool fragment = next == IP_PROTO_FRAGMENT;
        later_fragment = fragment && (load_be16(p->data + at + 2) & 0xfff8);
        next = p->data[at];
        at += fragment ? IPV6_FRAG_LEN : 8 + 8u * p->data[at + 1];
    }
    if (next != IP_PROTO_ICMPV6)
        return false;
    if (later_fragment || at >= p->len)
        return true; /* cannot tell */
    return icmpv6_is_error(p->data[at]) || p->data[at] == ICMPV6_REDIRECT;
}

/* RFC 4443 2.4 e.3: two errors are sent about multicast too. */
static bool allowed_for_group(const struct ip_rx *rx, enum icmp_error_kind kind, uint32_t value)
{
    if (rx->v4)
        return false;
    return kind == ICMP_ERROR_TOO_BIG ||
           (kind == ICMP_ERROR_PARAMETER && value >> 16 == ICMPV6_BAD_OPTION);
}

static bool permitted(struct stack *s, const struct ip_rx *rx, enum icmp_error_kind kind,
                      uint32_t value, tick_t now)
{
    if (!s->icmp.errors || rx->later_fragment || ip_is_unspecified(&rx->src))
        return false;
    if (rx->v4 ? about_icmp4_error(rx) : about_icmp6_error(rx))
        return false;
    if ((rx->group || rx->link_group) && !allowed_for_group(rx, kind, value))
        return false;
    if (limit_take(&s->error_limit, now))
        return true;
    counter_add(s->counters, COUNTER_ICMP_ERRORS_LIMITED, 1);
    return false;
}

static struct icmp_hdr header4(enum icmp_error_kind kind, uint32_t value)
{
    switch (kind) {
    case ICMP_ERROR_PROTOCOL:
        return (struct icmp_hdr){.type = ICMP_UNREACHABLE, .code = ICMP_PROTO_UNREACHABLE};
    case ICMP_ERROR_PORT:
        return (struct icmp_hdr){.type = ICMP_UNREACHABLE, .code = ICMP_PORT_UNREACHABLE};
    case ICMP_ERROR_REASSEMBLY_TIME:
        return (struct icmp_hdr){.type = ICMP_TIME_EXCEEDED, .code = ICMP_REASSEMBLY_EXCEEDED};
    case ICMP_ERROR_PARAMETER:
        return (struct icmp_hdr){.type = ICMP_PARAM_PROBLEM, .pointer = (uint8_t)value};
    case ICMP_ERROR_TOO_BIG:
        return (struct icmp_hdr){
            .type = ICMP_UNREACHABLE, .code = ICMP_FRAG_NEEDED, .mtu = (uint16_t)value};
    }
    assert(false && "every kind has a message");
    return (struct icmp_hdr){0};
}

static struct icmpv6_hdr header6(enum icmp_error_kind kind, uint32_t value)
{
    switch (kind) {
    case ICMP_ERROR_PROTOCOL:
        return (struct icmpv6_hdr){
            .type = ICMPV6_PARAM_PROBLEM, .code = ICMPV6_BAD_NEXT_HEADER, .pointer = value};
    case ICMP_ERROR_PORT:
        return (struct icmpv6_hdr){.type = ICMPV6_UNREACHABLE, .code = ICMPV6_PORT_UNREACHABLE};
    case ICMP_ERROR_REASSEMBLY_TIME:
        return (struct icmpv6_hdr){.type = ICMPV6_TIME_EXCEEDED,
                                   .code = ICMPV6_REASSEMBLY_EXCEEDED};
    case ICMP_ERROR_PARAMETER:
        return (struct icmpv6_hdr){.type = ICMPV6_PARAM_PROBLEM,
                                   .code = (uint8_t)(value >> 16),
                                   .pointer = value & 0xffff};
    case ICMP_ERROR_TOO_BIG: return (struct icmpv6_hdr){.type = ICMPV6_TOO_BIG, .mtu = value};
    }
    assert(false && "every kind has a message");
    return (struct icmpv6_hdr){0};
}

/* The message: its header, then as much of the packet as the family allows and a packet of ours
 * holds. */
static struct pkt *message(struct stack *s, const struct ip_rx *rx, const struct ip_addr *src,
                           enum icmp_error_kind kind, uint32_t value)
{
    struct pkt *p = stack_alloc(s);
    if (!p)
        return NULL;
    uint32_t room =
        rx->v4 ? ICMP_ERROR_MAX - IPV4_LEN - ICMP_LEN : ICMPV6_ERROR_MAX - IPV6_LEN - ICMPV6_LEN;
    uint32_t quote = rx->p->total < room ? rx->p->total : room;
    uint8_t *at = pkt_put(p, ICMP_LEN + quote);
    assert(at && "a packet of the pool holds the smallest IPv6 MTU");
    pkt_copy_out(rx->p, 0, at + ICMP_LEN, quote);
    if (rx->v4) {
        struct icmp_hdr h = header4(kind, value);
        icmp_emit(&h, checksum_add(CHECKSUM_EMPTY, at + ICMP_LEN, quote), at);
    } else {
        struct icmpv6_hdr h = header6(kind, value);
        struct checksum c = checksum_pseudo(src, &rx->src, IP_PROTO_ICMPV6, p->total);
        icmpv6_emit(&h, checksum_add(c, at + ICMPV6_LEN, quote), at);
    }
    return p;
}

void icmp_error(struct stack *s, const struct ip_rx *rx, enum icmp_error_kind kind, uint32_t value,
                tick_t now)
{
    if (!permitted(s, rx, kind, value, now))
        return;
    /* The address that was written to, so that the sender can tell whom it is about. */
    const struct local *from = rx->local ? rx->local : local_source(rx->iface, &rx->src);
    if (!from)
        return;
    struct pkt *p = message(s, rx, &from->prefix.addr, kind, value);
    if (!p)
        return;
    counter_add(s->counters, COUNTER_ICMP_TX_ERRORS, 1);
    struct ip_tx tx = {.iface = rx->iface,
                       .src = from->prefix.addr,
                       .dst = rx->src,
                       .proto = rx->v4 ? IP_PROTO_ICMP : IP_PROTO_ICMPV6};
    ip_output(s, p, &tx, now);
}
