/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/lan.h"

#include "wire/ether.h"

static struct lan_entry *find(struct lan *l, const struct mac_addr *mac)
{
    for (unsigned i = 0; i < LAN_TABLE; i++)
        if (l->entry[i].used && mac_eq(&l->entry[i].mac, mac))
            return &l->entry[i];
    return NULL;
}

static void learn(struct lan *l, const struct mac_addr *mac, unsigned side)
{
    if (mac_is_multicast(mac))
        return;
    struct lan_entry *e = find(l, mac);
    if (!e) {
        e = &l->entry[l->next];
        l->next = (l->next + 1) % LAN_TABLE;
    }
    *e = (struct lan_entry){.mac = *mac, .side = side, .used = true};
}

static void flood(struct lan *l, unsigned from, struct pkt *p)
{
    l->flooded++;
    for (unsigned side = 0; side < l->node.n_sides; side++)
        if (side != from && l->node.peer[side].node)
            node_output(&l->node, side, frame_copy(l->node.sim, p));
    pkt_free(p);
}

static void input(struct node *n, unsigned side, struct pkt *p)
{
    struct lan *l = (struct lan *)n;
    struct ether_hdr h;
    if (ether_parse(p->data, p->len, &h) < 0) {
        pkt_free(p);
        return;
    }
    learn(l, &h.src, side);
    const struct lan_entry *to = mac_is_multicast(&h.dst) ? NULL : find(l, &h.dst);
    if (!to)
        flood(l, side, p);
    else if (to->side == side) /* its receiver has heard it */
        pkt_free(p);
    else
        node_output(n, to->side, p);
}

static const struct node_ops ops = {.input = input};

struct lan *lan_create(struct sim *s)
{
    return node_create(s, &ops, sizeof(struct lan), NODE_SIDES_MAX);
}
