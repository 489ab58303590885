/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbour discovery of a host (RFC 4861 7.2), feeding the neighbour cache, and the wire side of
 * duplicate address detection (RFC 4862 5.4). Routers are configured: advertisements and redirects
 * are of no use here, and refusing them closes a door.
 */
#include "wire/nd.h"

#include "stack/internal.h"
#include "wire/icmpv6.h"
#include "wire/proto.h"

static const struct ip_addr ALL_NODES = {{0xff, 2, [15] = 1}};

/* The message with its IPv6 header, to mac. */
static void nd_output(struct iface *i, const struct nd_msg *m, const struct ip_addr *src,
                      const struct ip_addr *dst, const struct mac_addr *mac)
{
    struct stack *s = i->stack;
    struct pkt *p = stack_alloc(s);
    if (!p)
        return;
    uint8_t *body = pkt_put(p, ND_EMIT_MAX);
    uint32_t len = (uint32_t)nd_emit(m, src, dst, body);
    pkt_trim(p, len);
    struct ipv6_hdr ip = {.src = *src,
                          .dst = *dst,
                          .total_len = IPV6_LEN + len,
                          .hop_limit = ND_HOP_LIMIT,
                          .next = IP_PROTO_ICMPV6};
    ipv6_emit(&ip, pkt_push(p, IPV6_LEN));
    bool solicit = m->type == ICMPV6_NEIGH_SOLICIT;
    counter_add(s->counters, solicit ? COUNTER_ND_TX_SOLICITS : COUNTER_ND_TX_ADVERTS, 1);
    link_output(i, p, mac, ETHER_TYPE_IPV6);
}

void nd_solicit(struct iface *i, const struct ip_addr *target, const struct mac_addr *to)
{
    const struct local *from = local_source(i, target);
    if (!from) {
        counter_drop(i->stack->counters, DROP_NO_SOURCE);
        return;
    }
    struct nd_msg m = {.type = ICMPV6_NEIGH_SOLICIT,
                       .target = *target,
                       .has_source_link = true,
                       .source_link = i->cfg.mac};
    struct ip_addr dst = to ? *target : ip_solicited_node(target);
    struct mac_addr mac = to ? *to : mac_of_multicast(&dst);
    nd_output(i, &m, &from->prefix.addr, &dst, &mac);
}

void nd_probe(struct local *l)
{
    struct nd_msg m = {.type = ICMPV6_NEIGH_SOLICIT, .target = l->prefix.addr};
    struct ip_addr dst = ip_solicited_node(&l->prefix.addr);
    struct mac_addr mac = mac_of_multicast(&dst);
    counter_add(l->iface->stack->counters, COUNTER_DAD_PROBES, 1);
    nd_output(l->iface, &m, &IP_ADDR_ANY6, &dst, &mac);
}

static struct nd_msg advert_of(const struct local *l, bool solicited)
{
    return (struct nd_msg){.type = ICMPV6_NEIGH_ADVERT,
                           .target = l->prefix.addr,
                           .solicited = solicited,
                           .override = true,
                           .has_target_link = true,
                           .target_link = l->iface->cfg.mac};
}

void nd_announce(struct local *l)
{
    struct nd_msg m = advert_of(l, false);
    struct mac_addr mac = mac_of_multicast(&ALL_NODES);
    nd_output(l->iface, &m, &l->prefix.addr, &ALL_NODES, &mac);
}

/* Through the neighbour cache, for one that did not say where it is. */
static void advertise_by_cache(const struct local *l, const struct ip_addr *to, tick_t now)
{
    struct stack *s = l->iface->stack;
    struct nd_msg m = advert_of(l, true);
    struct pkt *p = stack_alloc(s);
    if (!p)
        return;
    uint8_t *body = pkt_put(p, ND_EMIT_MAX);
    pkt_trim(p, (uint32_t)nd_emit(&m, &l->prefix.addr, to, body));
    counter_add(s->counters, COUNTER_ND_TX_ADVERTS, 1);
    struct ip_tx tx = {.iface = l->iface,
                       .src = l->prefix.addr,
                       .dst = *to,
                       .proto = IP_PROTO_ICMPV6,
                       .hop_limit = ND_HOP_LIMIT};
    ip_output(s, p, &tx, now);
}

/* RFC 4861 7.2.4 */
static void answer(struct local *l, const struct ip_rx *rx, const struct nd_msg *asked, tick_t now)
{
    if (!stack_is_primary(l->iface->stack))
        return;
    if (ip_is_unspecified(&rx->src)) {
        nd_announce(l);
    } else if (asked->has_source_link) {
        struct nd_msg m = advert_of(l, true);
        nd_output(l->iface, &m, &l->prefix.addr, &rx->src, &asked->source_link);
    } else {
        advertise_by_cache(l, &rx->src, now);
    }
}

/* RFC 4862 5.4.3: somebody else asks about an address that we are still trying. */
static void solicit_for_tentative(struct ip_rx *rx, struct local *l, tick_t now)
{
    struct stack *s = rx->iface->stack;
    if (ip_is_unspecified(&rx->src)) {
        dad_conflict(l, now);
        stack_drop(s, rx->p, DROP_ND_CONFLICT);
    } else {
        stack_drop(s, rx->p, DROP_IP_TENTATIVE);
    }
}

static void solicit_input(struct ip_rx *rx, const struct nd_msg *m, tick_t now)
{
    struct iface *i = rx->iface;
    struct stack *s = i->stack;
    stack_count(s, rx->p, COUNTER_ND_RX_SOLICITS, 1);
    struct local *l = local_on(i, &m->target);
    if (!l) {
        stack_drop(s, rx->p, DROP_ND_NOT_OURS);
        return;
    }
    if (!local_usable(l)) {
        solicit_for_tentative(rx, l, now);
        return;
    }
    if (m->has_source_link && !ip_is_unspecified(&rx->src)) {
        struct neigh_news news = {.mac = &m->source_link, .override = true, .create = true};
        neigh_learn(s->neigh, i->index, &rx->src, &news, now);
    }
    answer(l, rx, m, now);
    pkt_free(rx->p);
}

static void advert_input(struct ip_rx *rx, const struct nd_msg *m, tick_t now)
{
    struct iface *i = rx->iface;
    struct stack *s = i->stack;
    stack_count(s, rx->p, COUNTER_ND_RX_ADVERTS, 1);
    struct local *l = local_on(i, &m->target);
    if (l) {
        if (l->state == CTL_ADDRESS_TENTATIVE) /* RFC 4862 5.4.4 */
            dad_conflict(l, now);
        stack_drop(s, rx->p, DROP_ND_CONFLICT);
        return;
    }
    struct neigh_news news = {.mac = m->has_target_link ? &m->target_link : NULL,
                              .solicited = m->solicited,
                              .override = m->override};
    /* One to us alone answered a question of ours, or of another worker's. */
    if (neigh_learn(s->neigh, i->index, &m->target, &news, now) || rx->local)
        pkt_free(rx->p);
    else
        stack_drop(s, rx->p, DROP_ND_NOT_OURS);
}

void nd_input(struct ip_rx *rx, tick_t now)
{
    struct stack *s = rx->iface->stack;
    struct pkt *p = rx->p;
    if (p->flags & PKT_REASSEMBLED) { /* RFC 6980 5 */
        stack_drop(s, p, DROP_ND_INVALID);
        return;
    }
    if (p->len < p->total && !pkt_pullup(p, p->total)) {
        stack_drop(s, p, DROP_ND_SHORT);
        return;
    }
    struct nd_msg m;
    int n = nd_parse(p->data + rx->upper_at, p->len - rx->upper_at, rx->ip6, &m);
    if (n < 0) {
        stack_drop(s, p, drop_of(n));
        return;
    }
    switch (m.type) {
    case ICMPV6_NEIGH_SOLICIT: solicit_input(rx, &m, now); break;
    case ICMPV6_NEIGH_ADVERT: advert_input(rx, &m, now); break;
    default: stack_drop(s, p, DROP_ICMP_TYPE); break;
    }
}
