/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/internal.h"

#include <assert.h>

struct pkt *stack_alloc(struct stack *s)
{
    struct pkt *p = pkt_alloc(s->env.pool);
    if (!p)
        counter_drop(s->counters, DROP_NO_MEMORY);
    return p;
}

/* A device that takes single views only gets a copy of a chain. NULL, counted, where that fails. */
static struct pkt *flatten(struct stack *s, struct pkt *p)
{
    struct pkt *flat = pkt_copy(s->env.pool, p);
    if (flat && flat->next) {
        /* Longer than a packet of the pool: the device could not have sent it either. */
        pkt_free(flat);
        stack_drop(s, p, DROP_TOO_BIG);
        return NULL;
    }
    if (!flat)
        counter_drop(s->counters, DROP_NO_MEMORY);
    pkt_free(p);
    return flat;
}

static void enqueue(struct iface *i, struct pkt *p)
{
    struct stack *s = i->stack;
    if (p->next && !(i->cfg.offload & IFACE_TX_MULTI_SEGS)) {
        p = flatten(s, p);
        if (!p)
            return;
    }
    uint32_t bytes = p->total;
    if (!ring_push_back(&i->tx, p)) {
        stack_drop(s, p, DROP_TX_QUEUE_FULL);
        return;
    }
    counter_add(s->counters, COUNTER_TX_PACKETS, 1);
    counter_add(s->counters, COUNTER_TX_BYTES, bytes);
}

void link_output(struct iface *i, struct pkt *p, const struct mac_addr *dst, uint16_t type)
{
    bool by_device = i->cfg.vlan != 0 && (i->cfg.offload & IFACE_TX_VLAN);
    struct ether_hdr h = {.dst = *dst,
                          .src = i->cfg.mac,
                          .type = type,
                          .tci = i->cfg.vlan,
                          .tagged = i->cfg.vlan != 0 && !by_device};
    uint16_t len = (uint16_t)ether_len(&h);
    uint8_t *at = pkt_push(p, len);
    assert(at && "every packet of the stack keeps headroom for its headers");
    ether_emit(&h, at);
    if (by_device) {
        p->flags |= PKT_TX_VLAN;
        p->vlan = i->cfg.vlan;
    }
    p->l2_len = len;
    p->iface = i->index;
    enqueue(i, p);
}
