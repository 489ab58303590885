/* SPDX-License-Identifier: BSD-3-Clause */
#include "buf/pkt.h"

#include <string.h>

/* One view, whatever follows it. */
static void view_put(struct pkt *v)
{
    assert(v->refs > 0 && "each holder gives up its reference once");
    if (--v->refs > 0)
        return;
    struct pkt *base = v->base;
    v->next = NULL;
    v->base = NULL;
    v->ops->free(v);
    if (base)
        view_put(base);
}

void pkt_free(struct pkt *p)
{
    while (p) {
        struct pkt *next = p->next;
        view_put(p);
        p = next;
    }
}

bool pkt_writable(const struct pkt *p)
{
    return p->refs == 1 && (!p->base || p->base->refs == 1);
}
