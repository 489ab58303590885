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

/* Devices bound the segments of a packet; Intel's to 8, and they stop a queue that is given more.
 */
#define VIEWS_MAX 8

/* Did p come in many small fragments? Then copies of it are fewer. */
static bool is_shredded(const struct stack *s, const struct pkt *p)
{
    uint32_t most = p->total / s->env.pool->room + 2;
    uint32_t n = 0;
    for (const struct pkt *v = p; v; v = v->next)
        n++;
    return n > VIEWS_MAX && n > most;
}

/* A copy of the chain p in as few views as hold it. NULL, counted, where that fails, or is not the
 * one view that the device takes. */
static struct pkt *flatten(struct stack *s, struct pkt *p, bool single)
{
    struct pkt *flat = pkt_copy(s->env.pool, p);
    if (flat && flat->next && single) {
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
    bool single = !(i->cfg.offload & IFACE_TX_MULTI_SEGS);
    if (p->next && (single || is_shredded(s, p))) {
        p = flatten(s, p, single);
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
