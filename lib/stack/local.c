/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/internal.h"

struct local *local_on(struct iface *i, const struct ip_addr *a)
{
    if (!(i->local_bits & local_bit(a)))
        return NULL;
    for (unsigned k = 0; k < i->n_locals; k++)
        if (i->local[k].state != CTL_ADDRESS_DUPLICATE && ip_eq(&i->local[k].prefix.addr, a))
            return &i->local[k];
    return NULL;
}

const struct local *local_any(struct iface *i, const struct ip_addr *a)
{
    const struct local *l = local_on(i, a);
    struct stack *s = i->stack;
    if (ip_is_link_local(a))
        return l;
    for (unsigned k = 0; !l && k < s->n_ifaces; k++)
        l = local_on(&s->iface[k], a);
    return l;
}

bool local_is_broadcast(const struct iface *i, const struct ip_addr *a)
{
    if (ip_is_limited_broadcast(a))
        return true;
    for (unsigned k = 0; k < i->n_nets; k++)
        if (ip_is_subnet_broadcast(&i->net[k], a))
            return true;
    return false;
}

bool local_is_group(const struct iface *i, const struct ip_addr *a)
{
    static const struct ip_addr all_nodes = {{0xff, 2, [15] = 1}};
    if (ip_is_v4(a))
        return ip_v4(a) == 0xe0000001; /* 224.0.0.1, RFC 1112 4 */
    /* RFC 4291 2.8. ff01::1 never comes from another node (its erratum 3480). */
    if (ip_eq(a, &all_nodes))
        return i->cfg.ipv6;
    for (unsigned k = 0; k < i->n_locals; k++) {
        const struct local *l = &i->local[k];
        if (ip_is_v4(&l->prefix.addr) || l->state == CTL_ADDRESS_DUPLICATE)
            continue;
        struct ip_addr group = ip_solicited_node(&l->prefix.addr);
        if (ip_eq(a, &group))
            return true;
    }
    return false;
}

static unsigned common_bits(const struct ip_addr *a, const struct ip_addr *b)
{
    for (unsigned i = 0; i < sizeof(a->b); i++) {
        unsigned diff = a->b[i] ^ b->b[i];
        if (diff == 0)
            continue;
        unsigned bits = i * 8;
        for (unsigned m = 0x80; !(diff & m); m >>= 1)
            bits++;
        return bits;
    }
    return 128;
}

const struct local *local_source(const struct iface *i, const struct ip_addr *dst)
{
    const struct local *best = NULL;
    unsigned best_score = 0;
    bool v4 = ip_is_v4(dst);
    /* The scope of a multicast group stands in its low nibble: 2 is the link's (RFC 4291 2.7). */
    bool link_scope =
        ip_is_link_local(dst) || (!v4 && ip_is_multicast(dst) && (dst->b[1] & 0xf) <= 2);
    for (unsigned k = 0; k < i->n_locals; k++) {
        const struct local *l = &i->local[k];
        if (ip_is_v4(&l->prefix.addr) != v4 || !local_usable(l))
            continue;
        if (ip_eq(&l->prefix.addr, dst)) /* rule 1 */
            return l;
        bool same_scope = ip_is_link_local(&l->prefix.addr) == link_scope;            /* rule 2 */
        unsigned score = (same_scope ? 1001 : 1) + common_bits(&l->prefix.addr, dst); /* 8 */
        if (score > best_score) {
            best = l;
            best_score = score;
        }
    }
    return best;
}
