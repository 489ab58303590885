/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/mbuf.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

#define PRIVATE_BYTES 128
#define CACHE_PACKETS 256

_Static_assert(sizeof(struct pkt) <= PRIVATE_BYTES, "a packet fits its mbuf's private area");
_Static_assert(PRIVATE_BYTES % RTE_MBUF_PRIV_ALIGN == 0, "DPDK's rule for private areas");
_Static_assert(sizeof(struct rte_mbuf) % _Alignof(struct pkt) == 0, "a packet follows its mbuf");

static struct pkt *pkt_of(struct rte_mbuf *m)
{
    return (struct pkt *)(m + 1);
}

static struct rte_mbuf *mbuf_of(struct pkt *p)
{
    return (struct rte_mbuf *)(void *)p - 1;
}

/* ---- pools ---- */

static void view_release(struct pkt *p)
{
    rte_pktmbuf_free_seg(mbuf_of(p));
}

static const struct pkt_ops mbuf_ops = {.free = view_release};

static struct pkt *packet_alloc(struct pkt_pool *pool)
{
    const struct mbuf_pool *mp = (const struct mbuf_pool *)pool;
    struct rte_mbuf *m = rte_pktmbuf_alloc(mp->packets);
    if (!m)
        return NULL;
    struct pkt *p = pkt_of(m);
    *p = (struct pkt){
        .data = rte_pktmbuf_mtod(m, uint8_t *),
        .headroom = m->data_off,
        .tailroom = rte_pktmbuf_tailroom(m),
        .refs = 1,
        .ops = &mbuf_ops,
    };
    return p;
}

static struct pkt *view_alloc(struct pkt_pool *pool)
{
    const struct mbuf_pool *mp = (const struct mbuf_pool *)pool;
    struct rte_mbuf *m = rte_pktmbuf_alloc(mp->views);
    if (!m)
        return NULL;
    struct pkt *p = pkt_of(m);
    *p = (struct pkt){.refs = 1, .ops = &mbuf_ops};
    return p;
}

uint32_t mbuf_object_bytes(uint16_t room)
{
    uint32_t element =
        (uint32_t)sizeof(struct rte_mbuf) + PRIVATE_BYTES + RTE_PKTMBUF_HEADROOM + room;
    return rte_mempool_calc_obj_size(element, 0, NULL);
}

static void free_memzone(struct rte_mempool_memhdr *h, void *zone)
{
    (void)h;
    rte_memzone_free(zone);
}

/* DPDK's mempool of mbufs, but one piece of memory without gaps. */
static struct rte_mempool *populate_packed(struct rte_mempool *mp, int numa)
{
    char name[RTE_MEMZONE_NAMESIZE];
    snprintf(name, sizeof(name), "mz_%s", mp->name);
    size_t object = (size_t)mp->header_size + mp->elt_size + mp->trailer_size;
    const struct rte_memzone *zone =
        rte_memzone_reserve_aligned(name, mp->size * object, numa, 0, RTE_MEMPOOL_ALIGN);
    if (!zone)
        return NULL;
    rte_iova_t iova = rte_eal_iova_mode() == RTE_IOVA_VA ? (rte_iova_t)zone->addr : RTE_BAD_IOVA;
    int n = rte_mempool_populate_iova(mp, zone->addr, iova, mp->size * object, free_memzone,
                                      (void *)(uintptr_t)zone);
    if (n == (int)mp->size)
        return mp;
    if (n <= 0) /* otherwise the mempool has it */
        rte_memzone_free(zone);
    return NULL;
}

static struct rte_mempool *create_packed(const char *name, uint32_t n, uint16_t data_room, int numa)
{
    struct rte_pktmbuf_pool_private private = {
        .mbuf_data_room_size = data_room,
        .mbuf_priv_size = PRIVATE_BYTES,
    };
    uint32_t element = (uint32_t)sizeof(struct rte_mbuf) + PRIVATE_BYTES + data_room;
    struct rte_mempool *mp = rte_mempool_create_empty(
        name, n, element, CACHE_PACKETS, sizeof(private), numa, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    if (!mp)
        return NULL;
    if (rte_mempool_set_ops_byname(mp, rte_mbuf_best_mempool_ops(), NULL) == 0) {
        rte_pktmbuf_pool_init(mp, &private);
        if (populate_packed(mp, numa)) {
            rte_mempool_obj_iter(mp, rte_pktmbuf_init, NULL);
            return mp;
        }
    }
    rte_mempool_free(mp);
    return NULL;
}

static struct rte_mempool *create(const char *kind, uint32_t n, uint16_t data_room, int numa,
                                  bool packed)
{
    char name[RTE_MEMPOOL_NAMESIZE];
    snprintf(name, sizeof(name), "%s_%d", kind, numa < 0 ? 0 : numa);
    if (packed)
        return create_packed(name, n, data_room, numa);
    return rte_pktmbuf_pool_create(name, n, CACHE_PACKETS, PRIVATE_BYTES, data_room, numa);
}

bool mbuf_pool_create(struct mbuf_pool *p, int numa, uint32_t n, uint16_t room, bool packed)
{
    *p = (struct mbuf_pool){
        .pkt = {.alloc = packet_alloc,
                .alloc_view = view_alloc,
                .headroom = RTE_PKTMBUF_HEADROOM,
                .room = room},
        .numa = numa,
    };
    p->packets = create("packets", n, (uint16_t)(RTE_PKTMBUF_HEADROOM + room), numa, packed);
    if (p->packets)
        p->views = create("views", n, 0, numa, packed);
    if (p->views)
        return true;
    mbuf_pool_destroy(p);
    return false;
}

void mbuf_pool_destroy(struct mbuf_pool *p)
{
    rte_mempool_free(p->views);
    rte_mempool_free(p->packets);
    p->views = NULL;
    p->packets = NULL;
}

/* ---- receive ---- */

static uint16_t receive_flags(uint64_t ol)
{
    uint16_t f = 0;
    uint64_t ip = ol & RTE_MBUF_F_RX_IP_CKSUM_MASK;
    uint64_t l4 = ol & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    if (ip == RTE_MBUF_F_RX_IP_CKSUM_GOOD)
        f |= PKT_RX_IP_CSUM_OK;
    else if (ip == RTE_MBUF_F_RX_IP_CKSUM_BAD)
        f |= PKT_RX_IP_CSUM_BAD;
    if (l4 == RTE_MBUF_F_RX_L4_CKSUM_GOOD)
        f |= PKT_RX_L4_CSUM_OK;
    else if (l4 == RTE_MBUF_F_RX_L4_CKSUM_BAD)
        f |= PKT_RX_L4_CSUM_BAD;
    if (ol & RTE_MBUF_F_RX_RSS_HASH)
        f |= PKT_RX_HASH;
    if (ol & RTE_MBUF_F_RX_VLAN_STRIPPED)
        f |= PKT_RX_VLAN;
    return f;
}

static void receive_view(struct rte_mbuf *m, struct pkt *p)
{
    *p = (struct pkt){
        .data = rte_pktmbuf_mtod(m, uint8_t *),
        .len = m->data_len,
        .headroom = m->data_off,
        .tailroom = rte_pktmbuf_tailroom(m),
        .refs = 1,
        .ops = &mbuf_ops,
    };
}

static struct pkt *receive(struct rte_mbuf *m, uint16_t iface)
{
    struct pkt *head = pkt_of(m);
    receive_view(m, head);
    head->total = m->pkt_len;
    head->iface = iface;
    head->flags = receive_flags(m->ol_flags);
    head->hash = m->hash.rss;
    head->vlan = m->vlan_tci;
    for (struct pkt *last = head; m->next;) {
        struct rte_mbuf *next = m->next;
        m->next = NULL; /* each view is freed alone */
        m->nb_segs = 1;
        last->next = pkt_of(next);
        last = last->next;
        receive_view(next, last);
        m = next;
    }
    return head;
}

void mbuf_receive(struct rte_mbuf *const *m, struct pkt **p, unsigned n, uint16_t iface)
{
    for (unsigned i = 0; i < n && i < 4; i++)
        __builtin_prefetch(pkt_of(m[i]), 1);
    for (unsigned i = 0; i < n; i++) {
        if (i + 4 < n)
            __builtin_prefetch(pkt_of(m[i + 4]), 1);
        p[i] = receive(m[i], iface);
    }
}

/* ---- transmit ---- */

/* One of our references to an owner's memory ends; the last gives the mbuf's back. */
static void release(struct pkt *owner)
{
    if (--owner->refs == 0)
        owner->ops->free(owner);
}

static void set_bounds(struct rte_mbuf *m, const struct pkt *p)
{
    m->data_off = (uint16_t)(p->data - (uint8_t *)m->buf_addr);
    m->data_len = (uint16_t)p->len;
    m->pkt_len = p->len;
    m->next = NULL;
    m->nb_segs = 1;
}

/* A slice's own mbuf is made to point at the owner's memory. */
static struct rte_mbuf *transmit_slice(struct pkt *p)
{
    struct rte_mbuf *m = mbuf_of(p);
    struct pkt *owner = p->base;
    rte_pktmbuf_attach(m, mbuf_of(owner));
    set_bounds(m, p);
    release(owner);
    return m;
}

/*
 * Memory that slices of ours still hold: the mbuf gets a second reference. The device may write the
 * mbuf's fields, which mean nothing to the slices, and each side frees it once.
 */
static struct rte_mbuf *transmit_owner(struct pkt *p)
{
    struct rte_mbuf *m = mbuf_of(p);
    if (p->refs > 1) {
        rte_mbuf_refcnt_update(m, 1);
        p->next = NULL; /* it lives on for its slices and stands in no chain */
        p->refs--;
    }
    set_bounds(m, p);
    return m;
}

static uint64_t l4_flags(const struct pkt *p)
{
    switch (p->l4_proto) {
    case IPPROTO_TCP: return RTE_MBUF_F_TX_TCP_CKSUM;
    case IPPROTO_UDP: return RTE_MBUF_F_TX_UDP_CKSUM;
    case IPPROTO_SCTP: return RTE_MBUF_F_TX_SCTP_CKSUM;
    default: return 0;
    }
}

static uint64_t transmit_flags(const struct pkt *p)
{
    uint64_t f = 0;
    if (p->flags & PKT_TX_IP_CSUM)
        f |= RTE_MBUF_F_TX_IP_CKSUM;
    if (p->flags & PKT_TX_L4_CSUM)
        f |= l4_flags(p);
    if (p->flags & PKT_TX_TSO)
        f |= RTE_MBUF_F_TX_TCP_SEG;
    if (f)
        f |= p->flags & PKT_IPV6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4;
    if (p->flags & PKT_TX_VLAN)
        f |= RTE_MBUF_F_TX_VLAN;
    return f;
}

/* The head's requests to the device; from a packet whose mbuf is not yet the device's. */
static void transmit_metadata(struct rte_mbuf *m, const struct pkt *p, uint64_t flags)
{
    m->ol_flags = (m->ol_flags & RTE_MBUF_F_INDIRECT) | flags;
    m->pkt_len = p->total;
    m->vlan_tci = p->vlan;
    m->tx_offload = rte_mbuf_tx_offload(p->l2_len, p->l3_len, p->l4_len, p->tso_mss, 0, 0, 0);
}

struct rte_mbuf *mbuf_transmit(struct pkt *p)
{
    struct rte_mbuf *head = NULL, *last = NULL;
    uint16_t segments = 0;
    for (struct pkt *v = p, *next; v; v = next) {
        next = v->next;
        struct rte_mbuf *m = v->base ? transmit_slice(v) : transmit_owner(v);
        if (last)
            last->next = m;
        else
            head = m;
        if (v != p)
            m->ol_flags &= RTE_MBUF_F_INDIRECT;
        last = m;
        segments++;
    }
    head->nb_segs = segments;
    transmit_metadata(head, p, transmit_flags(p));
    return head;
}
