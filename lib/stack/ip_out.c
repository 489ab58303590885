/* SPDX-License-Identifier: BSD-3-Clause */
/* IP, out: route, path MTU, header, fragments where it must be, then the neighbour. */
#include "stack/frag.h"
#include "stack/internal.h"
#include "wire/ipv4.h"
#include "wire/proto.h"

#define HOP_LIMIT 64 /* RFC 1700: the recommended default */

/* What the headers in front of the upper layer may take. */
#define LINK_ROOM ETHER_TAGGED_LEN

/* Room for headers in front of p: where p has none, or shares its memory, a new head goes before
 * it. NULL: counted. */
static struct pkt *with_headroom(struct stack *s, struct pkt *p, uint16_t n)
{
    if (p->headroom >= n && pkt_writable(p))
        return p;
    struct pkt *head = stack_alloc(s);
    if (!head) {
        pkt_free(p);
        return NULL;
    }
    assert(head->headroom >= n && "the pool leaves room for every header of ours");
    head->flags = p->flags;
    head->tso_mss = p->tso_mss;
    head->l4_len = p->l4_len;
    head->l4_proto = p->l4_proto;
    pkt_append(head, p);
    return head;
}

static void to_next_hop(struct iface *i, struct pkt *p, const struct ip_addr *hop, tick_t now)
{
    uint16_t type = ip_is_v4(hop) ? ETHER_TYPE_IPV4 : ETHER_TYPE_IPV6;
    if (ip_is_multicast(hop)) {
        struct mac_addr mac = mac_of_multicast(hop);
        link_output(i, p, &mac, type);
    } else if (ip_is_v4(hop) && local_is_broadcast(i, hop)) {
        link_output(i, p, &MAC_BROADCAST, type);
    } else {
        neigh_send(i->stack->neigh, i->index, hop, p, now);
    }
}

/*
 * Identifications of one pair of addresses do not repeat soon, and tell one peer next to nothing of
 * what others are sent (RFC 7739 5.3).
 */
static uint32_t next_id(struct stack *s, const struct ip_tx *tx)
{
    struct ip_addr pair[2] = {tx->src, tx->dst};
    uint64_t hash = siphash13(&s->frag_key, pair, sizeof(pair));
    return (uint32_t)hash + s->frag_id[hash >> 32 & (FRAG_IDS - 1)]++;
}

struct way {
    const struct route *route;
    tick_t now;
};

static void fragment_output(void *ctx, struct pkt *fragment)
{
    const struct way *w = ctx;
    counter_add(w->route->iface->stack->counters, COUNTER_FRAG_TX, 1);
    to_next_hop(w->route->iface, fragment, &w->route->next_hop, w->now);
}

static void fragments_output(struct stack *s, struct pkt *p, uint32_t id, const struct route *r,
                             uint16_t mtu, tick_t now)
{
    struct way w = {.route = r, .now = now};
    int n = frag_cut(s->env.pool, p, mtu, id, fragment_output, &w);
    if (n < 0)
        counter_drop(s->counters, n == FRAG_E_MEMORY ? DROP_NO_MEMORY : DROP_TOO_BIG);
    pkt_free(p);
}

static void header4(struct pkt *p, const struct ip_tx *tx, const struct iface *i, uint16_t id,
                    bool whole)
{
    bool by_device = whole && (i->cfg.offload & IFACE_TX_IP_CSUM);
    struct ipv4_hdr h = {.src = tx->src,
                         .dst = tx->dst,
                         .total_len = (uint16_t)(p->total + IPV4_LEN),
                         .id = id,
                         .dont_fragment = tx->dont_fragment,
                         .tos = tx->traffic_class,
                         .ttl = tx->hop_limit ? tx->hop_limit : HOP_LIMIT,
                         .proto = tx->proto};
    ipv4_emit(&h, by_device, pkt_push(p, IPV4_LEN));
    p->l3_len = IPV4_LEN;
    if (by_device)
        p->flags |= PKT_TX_IP_CSUM;
}

static void header6(struct pkt *p, const struct ip_tx *tx)
{
    struct ipv6_hdr h = {.src = tx->src,
                         .dst = tx->dst,
                         .total_len = IPV6_LEN + p->total,
                         .traffic_class = tx->traffic_class,
                         .hop_limit = tx->hop_limit ? tx->hop_limit : HOP_LIMIT,
                         .next = tx->proto};
    ipv6_emit(&h, pkt_push(p, IPV6_LEN));
    p->l3_len = IPV6_LEN;
    p->flags |= PKT_IPV6;
}

/* Bytes of the largest packet that becomes of p: a device may be asked to cut it. */
static uint32_t largest(const struct pkt *p, uint32_t header)
{
    uint32_t cut = (uint32_t)p->l4_len + p->tso_mss;
    return header + (((p->flags & PKT_TX_TSO) && cut < p->total) ? cut : p->total);
}

void ip_output(struct stack *s, struct pkt *p, const struct ip_tx *tx, tick_t now)
{
    bool v4 = ip_is_v4(&tx->dst);
    struct route r;
    if (!route_find(s, tx->iface, &tx->dst, &r)) {
        stack_drop(s, p, DROP_NO_ROUTE);
        return;
    }
    uint16_t mtu = pmtu_get(s->pmtu, &tx->dst, r.iface->cfg.mtu, now);
    uint32_t header = v4 ? IPV4_LEN : IPV6_LEN;
    uint32_t total = p->total + header;
    bool whole = largest(p, header) <= mtu;
    uint32_t most = v4 ? IPV4_TOTAL_MAX : IPV6_LEN + IPV6_PAYLOAD_MAX;
    if (total > most || (!whole && tx->dont_fragment)) {
        stack_drop(s, p, DROP_TOO_BIG);
        return;
    }
    p = with_headroom(s, p, (uint16_t)(header + LINK_ROOM));
    if (!p)
        return;
    p->flags =
        p->flags & (PKT_TX_L4_CSUM | PKT_TX_TSO); /* what was true of it when it came in is over */
    /* RFC 6864 4.1: without meaning where nobody may fragment. Where only a router might, random
     * will do. */
    uint32_t id = !whole ? next_id(s, tx) : tx->dont_fragment ? 0 : rng_u32(&s->rng);
    if (v4)
        header4(p, tx, r.iface, (uint16_t)id, whole);
    else
        header6(p, tx);
    if (whole)
        to_next_hop(r.iface, p, &r.next_hop, now);
    else
        fragments_output(s, p, id, &r, mtu, now);
}
