/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/mtu.h"

#include "sim/craft.h"
#include "sim/run.h"
#include "stack/frag.h"
#include "wire/ipv4.h"

static void tell(struct mtu *m, unsigned side, const struct ether_hdr *eth, const struct pkt *ip)
{
    m->refused[side]++;
    if (m->mute)
        return;
    bool v4 = eth->type == ETHER_TYPE_IPV4;
    struct pkt *news =
        craft_too_big(&m->pool, v4 ? &m->addr4 : &m->addr6, ip->data, ip->len, m->mtu);
    uint16_t vlan = eth->tagged ? eth->tci : 0;
    node_output(&m->node, side,
                craft_frame(m->node.sim, &eth->src, &eth->dst, vlan, eth->type, news));
    pkt_free(news);
}

struct way {
    struct mtu *mtu;
    unsigned side;
    const struct ether_hdr *eth;
};

static void pass_fragment(void *ctx, struct pkt *fragment)
{
    const struct way *w = ctx;
    const struct ether_hdr *eth = w->eth;
    uint16_t vlan = eth->tagged ? eth->tci : 0;
    node_output(&w->mtu->node, w->side,
                craft_frame(w->mtu->node.sim, &eth->dst, &eth->src, vlan, eth->type, fragment));
    pkt_free(fragment);
}

/* ip is longer than the link takes. */
static void narrow(struct mtu *m, unsigned side, const struct ether_hdr *eth, struct pkt *ip)
{
    struct way w = {.mtu = m, .side = node_across(side), .eth = eth};
    struct ipv4_hdr h;
    if (eth->type == ETHER_TYPE_IPV4) {
        if (ipv4_parse(ip->data, ip->len, ip->total, false, &h) < 0)
            return; /* no router forwards that (RFC 1812 5.2.2) */
        if (!h.dont_fragment) {
            int n = frag_cut(&m->pool.pool, ip, m->mtu, 0, pass_fragment, &w);
            must(n > 0);
            m->cut++;
            return;
        }
    }
    tell(m, side, eth, ip);
}

static void input(struct node *n, unsigned side, struct pkt *p)
{
    struct mtu *m = (struct mtu *)n;
    struct ether_hdr eth;
    int len = ether_parse(p->data, p->len, &eth);
    bool ip = len > 0 && (eth.type == ETHER_TYPE_IPV4 || eth.type == ETHER_TYPE_IPV6);
    if (!ip || p->len - (uint32_t)len <= m->mtu) {
        node_output(n, node_across(side), p);
        return;
    }
    pkt_pull(p, (uint32_t)len);
    narrow(m, side, &eth, p);
    pkt_free(p);
}

static void destroy(struct node *n)
{
    must(((struct mtu *)n)->pool.held == 0);
}

static const struct node_ops ops = {.input = input, .destroy = destroy};

struct mtu *mtu_create(struct sim *s, uint16_t mtu)
{
    struct mtu *m = node_create(s, &ops, sizeof(*m), 2);
    m->mtu = mtu;
    m->addr4 = ip_from_v4(0xc0000201); /* 192.0.2.1 */
    must(ip_parse("2001:db8:ffff::1", &m->addr6));
    heap_pool_init(&m->pool, 128, 2048);
    return m;
}
