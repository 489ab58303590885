/* SPDX-License-Identifier: BSD-3-Clause */
/* IP, in: is it well-formed, from somebody, for us, whole; then up. We do not forward. */
#include "base/bytes.h"
#include "stack/internal.h"
#include "wire/icmp.h"
#include "wire/icmpv6.h"
#include "wire/ipv4.h"
#include "wire/proto.h"

/* 0/8: "this network", which nobody outside is in (RFC 1122 3.2.1.3 b). */
static bool is_this_network(const struct ip_addr *a)
{
    return ip_is_v4(a) && ip_v4(a) >> 24 == 0;
}

/*
 * Could a host have sent this? Not from a group, from nowhere, from itself or from us. An address
 * that is still being tried may be another host's, who says so from it (RFC 4862 5.4.4).
 */
static bool source_ok(const struct ip_rx *rx)
{
    const struct ip_addr *src = &rx->src;
    if (ip_is_multicast(src) || ip_is_loopback(src) || is_this_network(src) ||
        local_is_broadcast(rx->iface, src))
        return false;
    const struct local *l = local_any(rx->iface, src);
    return !l || !local_usable(l);
}

/* Fills rx->local and rx->group. DROP_NONE: it is for us. */
static enum drop find_destination(struct ip_rx *rx)
{
    rx->local = local_any(rx->iface, &rx->dst);
    if (rx->local) {
        if (rx->link_group && rx->v4) /* RFC 1122 3.3.6 */
            return DROP_IP_DESTINATION;
        return local_usable(rx->local) ? DROP_NONE : DROP_IP_TENTATIVE;
    }
    rx->group =
        local_is_group(rx->iface, &rx->dst) || (rx->v4 && local_is_broadcast(rx->iface, &rx->dst));
    return rx->group ? DROP_NONE : DROP_IP_DESTINATION;
}

/* RFC 4862 5.4.3: the unspecified address asks only about addresses. */
static bool is_dad_solicit(const struct ip_rx *rx)
{
    return !rx->v4 && rx->proto == IP_PROTO_ICMPV6 && rx->upper_at < rx->p->len &&
           rx->p->data[rx->upper_at] == ICMPV6_NEIGH_SOLICIT;
}

static enum drop check(struct ip_rx *rx)
{
    if (!source_ok(rx))
        return DROP_IP_SOURCE;
    if (ip_is_unspecified(&rx->src) && !is_dad_solicit(rx))
        return DROP_IP_SOURCE;
    return find_destination(rx);
}

/* RFC 1122 3.2.2.1, RFC 4443 3.4 */
static void no_such_protocol(struct ip_rx *rx, tick_t now)
{
    struct stack *s = rx->iface->stack;
    if (rx->proto != IP_PROTO_NONE) /* RFC 8200 4.7: nothing follows, nothing is wrong */
        icmp_error(s, rx, ICMP_ERROR_PROTOCOL, rx->v4 ? 0 : rx->ip6->next_at, now);
    stack_drop(s, rx->p, DROP_IP_PROTOCOL);
}

static void deliver(struct ip_rx *rx, tick_t now)
{
    if (rx->proto == IP_PROTO_TCP)
        segment_input(rx, now);
    else if (rx->proto == IP_PROTO_UDP)
        udp_input(rx, now);
    else if (rx->v4 && rx->proto == IP_PROTO_ICMP)
        icmp4_input(rx, now);
    else if (!rx->v4 && rx->proto == IP_PROTO_ICMPV6)
        icmp6_input(rx, now);
    else
        no_such_protocol(rx, now);
}

/* A datagram put together here whose flow is another worker's: fragments are steered by address
 * alone. */
static bool hand_off(const struct ip_rx *rx)
{
    struct stack *s = rx->iface->stack;
    struct pkt *p = rx->p;
    bool ports =
        rx->proto == IP_PROTO_TCP || rx->proto == IP_PROTO_UDP || rx->proto == IP_PROTO_SCTP;
    if (!(p->flags & PKT_REASSEMBLED) || s->n_workers == 1 || !ports || rx->group ||
        p->len < rx->upper_at + 4u)
        return false;
    const uint8_t *at = p->data + rx->upper_at;
    uint32_t hash = steer_hash(&rx->src, &rx->dst, load_be16(at), load_be16(at + 2));
    uint16_t owner = steer_worker(&s->steer, hash);
    if (owner == s->worker)
        return false;
    struct ether_hdr eth = {.dst = rx->iface->cfg.mac,
                            .type = rx->v4 ? ETHER_TYPE_IPV4 : ETHER_TYPE_IPV6};
    uint8_t *hdr = pkt_push(p, ETHER_LEN);
    if (!hdr)
        return false;
    ether_emit(&eth, hdr);
    p->flags |= PKT_RX_VLAN;
    p->vlan = rx->iface->cfg.vlan;
    s->env.handoff(s->env.ctx, owner, p);
    return true;
}

static void reassemble4(struct ip_rx *rx, const struct ipv4_hdr *h, tick_t now)
{
    struct stack *s = rx->iface->stack;
    counter_add(s->counters, COUNTER_FRAG_RX, 1);
    struct pkt *whole = reass_input4(s->reass, h, rx->p, now);
    if (!whole)
        return;
    counter_add(s->counters, COUNTER_FRAG_REASSEMBLED, 1);
    ip4_input(rx->iface, whole, rx->link_group, now);
}

/* The rest, for a header that stands on its own. */
static void ip4_accept(struct ip_rx *rx, const struct ipv4_hdr *h, tick_t now)
{
    struct stack *s = rx->iface->stack;
    if (ipv4_is_fragment(h))
        reassemble4(rx, h, now);
    else if (rx->p->total > rx->iface->cfg.mtu && h->dont_fragment &&
             !(rx->p->flags & PKT_REASSEMBLED)) {
        /* The sender's link takes more than ours was told to: it learns of it as from a router. */
        icmp_error(s, rx, ICMP_ERROR_TOO_BIG, rx->iface->cfg.mtu, now);
        stack_drop(s, rx->p, DROP_TOO_BIG);
    } else if (!hand_off(rx))
        deliver(rx, now);
}

void ip4_input(struct iface *i, struct pkt *p, bool link_group, tick_t now)
{
    struct stack *s = i->stack;
    headers_together(p);
    struct ipv4_hdr h;
    int n = p->flags & PKT_RX_IP_CSUM_BAD
                ? -WIRE_IP4_CHECKSUM
                : ipv4_parse(p->data, p->len, p->total, p->flags & PKT_RX_IP_CSUM_OK, &h);
    if (n < 0 && n != -WIRE_IP4_OPTION) {
        stack_drop(s, p, drop_of(n));
        return;
    }
    pkt_trim(p, h.total_len);
    struct ip_rx rx = {.p = p,
                       .iface = i,
                       .src = h.src,
                       .dst = h.dst,
                       .upper_at = (uint16_t)ipv4_len(&h),
                       .proto = h.proto,
                       .traffic_class = h.tos,
                       .v4 = true,
                       .link_group = link_group,
                       .later_fragment = h.frag_offset > 0};
    enum drop why = check(&rx);
    if (why == DROP_NONE && n == -WIRE_IP4_OPTION) {
        icmp_error(s, &rx, ICMP_ERROR_PARAMETER, h.bad_option, now); /* RFC 1122 3.2.1.8 */
        why = DROP_IP4_OPTION;
    } else if (why == DROP_NONE && h.source_route) {
        why = DROP_IP_SOURCE_ROUTE;
    }
    if (why != DROP_NONE)
        stack_drop(s, p, why);
    else
        ip4_accept(&rx, &h, now);
}

static void reassemble6(struct ip_rx *rx, tick_t now)
{
    struct stack *s = rx->iface->stack;
    counter_add(s->counters, COUNTER_FRAG_RX, 1);
    struct pkt *whole = reass_input6(s->reass, rx->ip6, rx->p, now);
    if (!whole)
        return;
    counter_add(s->counters, COUNTER_FRAG_REASSEMBLED, 1);
    ip6_input(rx->iface, whole, rx->link_group, now);
}

static void ip6_accept(struct ip_rx *rx, tick_t now)
{
    struct stack *s = rx->iface->stack;
    if (ipv6_is_fragment(rx->ip6))
        reassemble6(rx, now);
    else if (rx->p->total > rx->iface->cfg.mtu && !(rx->p->flags & PKT_REASSEMBLED)) {
        icmp_error(s, rx, ICMP_ERROR_TOO_BIG, rx->iface->cfg.mtu, now);
        stack_drop(s, rx->p, DROP_TOO_BIG);
    } else if (!hand_off(rx))
        deliver(rx, now);
}

static void ip6_problem(struct ip_rx *rx, tick_t now)
{
    const struct ipv6_problem *pr = &rx->ip6->problem;
    if (!pr->due || check(rx) != DROP_NONE)
        return;
    if ((rx->group || rx->link_group) && !pr->to_multicast) /* RFC 4443 2.4 e.3 */
        return;
    icmp_error(rx->iface->stack, rx, ICMP_ERROR_PARAMETER, (uint32_t)pr->code << 16 | pr->pointer,
               now);
}

/* After these errors no field of the header can be relied on. */
static bool is_fixed_header_error(int n)
{
    return n == -WIRE_IP6_SHORT || n == -WIRE_IP6_VERSION || n == -WIRE_IP6_PAYLOAD_LENGTH ||
           n == -WIRE_IP6_MAPPED;
}

void ip6_input(struct iface *i, struct pkt *p, bool link_group, tick_t now)
{
    struct stack *s = i->stack;
    if (!i->cfg.ipv6) {
        stack_drop(s, p, DROP_ETHER_TYPE);
        return;
    }
    headers_together(p);
    struct ipv6_hdr h;
    int n = ipv6_parse(p->data, p->len, p->total, &h);
    if (is_fixed_header_error(n)) {
        stack_drop(s, p, drop_of(n));
        return;
    }
    pkt_trim(p, h.total_len);
    struct ip_rx rx = {.p = p,
                       .iface = i,
                       .src = h.src,
                       .dst = h.dst,
                       .ip6 = &h,
                       .upper_at = h.upper_at,
                       .proto = h.next,
                       .traffic_class = h.traffic_class,
                       .link_group = link_group};
    enum drop why;
    if (n < 0) {
        ip6_problem(&rx, now);
        why = drop_of(n);
    } else {
        why = check(&rx);
    }
    if (why != DROP_NONE)
        stack_drop(s, p, why);
    else
        ip6_accept(&rx, now);
}

/* Parses again what was parsed when it came in: it may have been held since. False: its header is
 * not what it was. */
static bool parse_again(struct ip_rx *rx, struct ipv6_hdr *h6)
{
    struct pkt *p = rx->p;
    rx->v4 = p->data[0] >> 4 == 4;
    if (rx->v4) {
        struct ipv4_hdr h;
        if (ipv4_parse(p->data, p->len, p->total, true, &h) < 0)
            return false;
        rx->src = h.src;
        rx->dst = h.dst;
        rx->upper_at = (uint16_t)ipv4_len(&h);
        rx->proto = h.proto;
        return true;
    }
    if (ipv6_parse(p->data, p->len, p->total, h6) < 0)
        return false;
    rx->src = h6->src;
    rx->dst = h6->dst;
    rx->ip6 = h6;
    rx->upper_at = h6->upper_at;
    rx->proto = h6->next;
    return true;
}

/* The error that a discarded fragment calls for. False: none. */
static bool error_for(const struct ip_rx *rx, enum drop why, enum icmp_error_kind *kind,
                      uint32_t *value)
{
    *value = 0;
    switch (why) {
    case DROP_FRAG_TIMEOUT: /* RFC 792, RFC 8200 4.5 */
        *kind = ICMP_ERROR_REASSEMBLY_TIME;
        return true;
    case DROP_FRAG_TINY: /* RFC 7112 5 */
        *kind = ICMP_ERROR_PARAMETER;
        *value = (uint32_t)ICMPV6_TINY_FRAGMENT << 16;
        return !rx->v4;
    case DROP_FRAG_TOO_LONG: /* RFC 8200 4.5: at the offset field */
        *kind = ICMP_ERROR_PARAMETER;
        *value = rx->v4 ? 0 : rx->ip6->frag.at + 2u;
        return !rx->v4;
    default: return false;
    }
}

void ip_given_up(void *ctx, enum drop why, struct pkt *p, tick_t now)
{
    struct stack *s = ctx;
    struct ip_rx rx = {.p = p, .iface = &s->iface[p->iface]};
    struct ipv6_hdr h6;
    enum icmp_error_kind kind;
    uint32_t value;
    if (parse_again(&rx, &h6) && find_destination(&rx) == DROP_NONE &&
        error_for(&rx, why, &kind, &value))
        icmp_error(s, &rx, kind, value, now);
    pkt_free(p);
}
