/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP (RFC 826) with the conflict detection of RFC 5227, feeding the neighbour cache. */
#include "wire/arp.h"

#include "stack/internal.h"

/* RFC 5227 1.1 */
#define DEFEND_INTERVAL (10 * TICK_SEC)

static void arp_output(struct iface *i, const struct arp_msg *m, const struct mac_addr *to)
{
    struct stack *s = i->stack;
    struct pkt *p = stack_alloc(s);
    if (!p)
        return;
    uint8_t *at = pkt_put(p, ARP_LEN);
    arp_emit(m, at);
    counter_add(s->counters,
                m->op == ARP_REQUEST ? COUNTER_ARP_TX_REQUESTS : COUNTER_ARP_TX_REPLIES, 1);
    link_output(i, p, to, ETHER_TYPE_ARP);
}

void arp_announce(struct local *l)
{
    struct arp_msg m = {.op = ARP_REQUEST,
                        .sender_mac = l->iface->cfg.mac,
                        .sender_ip = l->prefix.addr,
                        .target_ip = l->prefix.addr};
    arp_output(l->iface, &m, &MAC_BROADCAST);
}

void arp_probe(struct local *l)
{
    struct arp_msg m = {.op = ARP_REQUEST,
                        .sender_mac = l->iface->cfg.mac,
                        .sender_ip = ip_from_v4(0),
                        .target_ip = l->prefix.addr};
    counter_add(l->iface->stack->counters, COUNTER_DAD_PROBES, 1);
    arp_output(l->iface, &m, &MAC_BROADCAST);
}

void arp_solicit(struct iface *i, const struct ip_addr *target, const struct mac_addr *to)
{
    const struct local *from = local_source(i, target);
    if (!from) {
        counter_drop(i->stack->counters, DROP_NO_SOURCE);
        return;
    }
    struct arp_msg m = {.op = ARP_REQUEST,
                        .sender_mac = i->cfg.mac,
                        .sender_ip = from->prefix.addr,
                        .target_ip = *target};
    arp_output(i, &m, to ? to : &MAC_BROADCAST);
}

/* Another host sends with our address. If we have only begun to use it, we stop (RFC 5227 2.1.1);
 * else we say that it is ours, but not in a duel (2.4 c). */
static void defend(struct local *l, tick_t now)
{
    if (dad_probing4(l)) {
        dad_conflict(l, now);
        return;
    }
    if (!stack_is_primary(l->iface->stack))
        return;
    if (l->defended != 0 && tick_since(now, l->defended) < DEFEND_INTERVAL)
        return;
    l->defended = now;
    arp_announce(l);
}

/* Can a host have this address? */
static bool claimant_ok(const struct iface *i, const struct ip_addr *a)
{
    return !ip_is_multicast(a) && !ip_is_loopback(a) && !local_is_broadcast(i, a);
}

static void reply(struct local *l, const struct arp_msg *asked)
{
    struct arp_msg m = {.op = ARP_REPLY,
                        .sender_mac = l->iface->cfg.mac,
                        .sender_ip = l->prefix.addr,
                        .target_mac = asked->sender_mac,
                        .target_ip = asked->sender_ip};
    arp_output(l->iface, &m, &asked->sender_mac);
}

/* What another host was found to have is no more ours. */
static struct local *ours(struct iface *i, const struct ip_addr *a)
{
    struct local *l = local_on(i, a);
    return l && local_usable(l) ? l : NULL;
}

/* True where the message was of use. */
static bool learn(struct iface *i, const struct arp_msg *m, const struct local *target, bool for_us,
                  tick_t now)
{
    if (ip_is_unspecified(&m->sender_ip)) /* RFC 5227 1.1: a probe teaches nobody */
        return false;
    struct neigh_news news = {.mac = &m->sender_mac,
                              /* Only a reply sent to us alone can answer a question of ours. */
                              .solicited = m->op == ARP_REPLY && target && for_us,
                              .override = true,
                              .create = m->op == ARP_REQUEST && target};
    return neigh_learn(i->stack->neigh, i->index, &m->sender_ip, &news, now);
}

void arp_input(struct iface *i, struct pkt *p, const struct ether_hdr *eth, tick_t now)
{
    struct stack *s = i->stack;
    struct arp_msg m;
    int n = arp_parse(p->data, p->len, &m);
    if (n < 0) {
        stack_drop(s, p, drop_of(n));
        return;
    }
    if (!claimant_ok(i, &m.sender_ip)) {
        stack_drop(s, p, DROP_IP_SOURCE);
        return;
    }
    stack_count(s, p, m.op == ARP_REQUEST ? COUNTER_ARP_RX_REQUESTS : COUNTER_ARP_RX_REPLIES, 1);
    struct local *claimed = ours(i, &m.sender_ip);
    if (claimed) {
        if (!mac_eq(&m.sender_mac, &i->cfg.mac)) /* else it is our own, come back */
            defend(claimed, now);
        stack_drop(s, p, DROP_ARP_CONFLICT);
        return;
    }
    struct local *target = ours(i, &m.target_ip);
    bool learnt = learn(i, &m, target, !mac_is_multicast(&eth->dst), now);
    if (target && m.op == ARP_REQUEST && stack_is_primary(s))
        reply(target, &m);
    if (target || learnt)
        pkt_free(p);
    else
        stack_drop(s, p, DROP_ARP_NOT_OURS);
}
