/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a packet goes: the longest of our networks that holds the destination, else a gateway. A
 * handful of configured networks needs no trie.
 */
#include "stack/internal.h"

static bool needs_iface(const struct ip_addr *dst)
{
    return ip_is_multicast(dst) || ip_is_limited_broadcast(dst) ||
           (!ip_is_v4(dst) && ip_is_link_local(dst));
}

static const struct ip_addr *gateway_of(const struct iface *i, bool v4)
{
    const struct ip_addr *g = v4 ? &i->cfg.gateway4 : &i->cfg.gateway6;
    return ip_is_unspecified(g) ? NULL : g;
}

static struct iface *on_link(struct stack *s, struct iface *from, const struct ip_addr *dst)
{
    struct iface *best = NULL;
    int best_len = -1;
    for (unsigned i = 0; i < s->n_ifaces; i++)
        for (unsigned k = 0; k < s->iface[i].n_nets; k++) {
            const struct ip_prefix *net = &s->iface[i].net[k];
            /* Of two interfaces on one network the one that was asked for is as good. */
            int len = net->len * 2 + (&s->iface[i] == from);
            if (len > best_len && ip_in_prefix(net, dst)) {
                best = &s->iface[i];
                best_len = len;
            }
        }
    return best;
}

bool route_find(struct stack *s, struct iface *from, const struct ip_addr *dst, struct route *r)
{
    bool v4 = ip_is_v4(dst);
    if (needs_iface(dst)) {
        *r = (struct route){.iface = from, .next_hop = *dst};
        return from != NULL;
    }
    struct iface *i = on_link(s, from, dst);
    if (i) {
        *r = (struct route){.iface = i, .next_hop = *dst};
        return true;
    }
    const struct ip_addr *g = from ? gateway_of(from, v4) : NULL;
    for (unsigned k = 0; !g && k < s->n_ifaces; k++) {
        from = &s->iface[k];
        g = gateway_of(from, v4);
    }
    if (!g)
        return false;
    *r = (struct route){.iface = from, .next_hop = *g};
    return true;
}

bool route_is_gateway(const struct iface *i, const struct ip_addr *a)
{
    const struct ip_addr *g = gateway_of(i, ip_is_v4(a));
    return g && ip_eq(g, a);
}
