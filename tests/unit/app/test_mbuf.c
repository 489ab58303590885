/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/mbuf.h"

#include <netinet/in.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "support/unit.h"
#include "unit/app/eal.h"

#define PACKETS 1023

static struct mbuf_pool pool;

static void setup(void)
{
    start_eal();
    ck_assert(mbuf_pool_create(&pool, SOCKET_ID_ANY, PACKETS, 2048, true));
}

static void teardown(void)
{
    ck_assert_uint_eq(rte_mempool_in_use_count(pool.packets), 0);
    ck_assert_uint_eq(rte_mempool_in_use_count(pool.views), 0);
    mbuf_pool_destroy(&pool);
    rte_eal_cleanup();
}

static struct pkt *fill(uint32_t len)
{
    struct pkt *p = pkt_alloc_len(&pool.pkt, len);
    ck_assert_ptr_nonnull(p);
    uint32_t at = 0;
    pkt_for_each (v, p)
        for (uint32_t i = 0; i < v->len; i++)
            v->data[i] = (uint8_t)at++;
    return p;
}

/* What a device would send. */
static void expect_bytes(const struct rte_mbuf *m, uint32_t from, uint32_t len)
{
    uint32_t at = from;
    unsigned segments = 0;
    ck_assert_uint_eq(m->pkt_len, len);
    for (const struct rte_mbuf *s = m; s; s = s->next, segments++)
        for (uint16_t i = 0; i < s->data_len; i++)
            ck_assert_uint_eq(rte_pktmbuf_mtod(s, uint8_t *)[i], (uint8_t)at++);
    ck_assert_uint_eq(segments, m->nb_segs);
    ck_assert_uint_eq(at - from, len);
}

START_TEST(a_packet_has_room_where_it_says)
{
    struct pkt *p = pkt_alloc(&pool.pkt);
    ck_assert_uint_eq(p->len, 0);
    ck_assert_uint_ge(p->headroom, pool.pkt.headroom);
    ck_assert_uint_ge(p->tailroom, pool.pkt.room);
    memset(pkt_put(p, 2048), 1, 2048);
    memset(pkt_push(p, 128), 2, 128);
    ck_assert_uint_eq(p->total, 2176);
    pkt_free(p);
}
END_TEST

START_TEST(a_received_chain_keeps_its_metadata)
{
    struct rte_mbuf *a = rte_pktmbuf_alloc(pool.packets), *b = rte_pktmbuf_alloc(pool.packets);
    rte_pktmbuf_append(a, 100);
    rte_pktmbuf_append(b, 50);
    ck_assert_int_eq(rte_pktmbuf_chain(a, b), 0);
    a->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD |
                  RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    a->hash.rss = 0x12345678;
    a->vlan_tci = 77;
    struct pkt *p;
    mbuf_receive(&a, &p, 1, 3);
    ck_assert_uint_eq(p->flags, PKT_RX_IP_CSUM_OK | PKT_RX_L4_CSUM_BAD | PKT_RX_HASH | PKT_RX_VLAN);
    ck_assert_uint_eq(p->hash, 0x12345678);
    ck_assert_uint_eq(p->vlan, 77);
    ck_assert_uint_eq(p->iface, 3);
    ck_assert_uint_eq(p->total, 150);
    ck_assert_uint_eq(p->len, 100);
    ck_assert_uint_eq(p->next->len, 50);
    ck_assert(pkt_ok(p));
    /* Each view alone goes back to the pool. */
    struct pkt *second = p->next;
    p->next = NULL;
    p->total = 100;
    second->total = 50;
    pkt_free(p);
    ck_assert_uint_eq(rte_mempool_in_use_count(pool.packets), 1);
    pkt_free(second);
}
END_TEST

START_TEST(a_packet_goes_out_with_its_requests)
{
    struct pkt *p = fill(5000);
    p->flags = PKT_TX_IP_CSUM | PKT_TX_L4_CSUM | PKT_TX_TSO | PKT_TX_VLAN;
    p->l4_proto = IPPROTO_TCP;
    p->l2_len = 14;
    p->l3_len = 20;
    p->l4_len = 32;
    p->tso_mss = 1400;
    p->vlan = 5;
    struct rte_mbuf *m = mbuf_transmit(p);
    ck_assert_uint_eq(m->ol_flags, RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM |
                                       RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 |
                                       RTE_MBUF_F_TX_VLAN);
    ck_assert_uint_eq(m->l2_len, 14);
    ck_assert_uint_eq(m->l3_len, 20);
    ck_assert_uint_eq(m->l4_len, 32);
    ck_assert_uint_eq(m->tso_segsz, 1400);
    ck_assert_uint_eq(m->vlan_tci, 5);
    expect_bytes(m, 0, 5000);
    rte_pktmbuf_free(m);
}
END_TEST

START_TEST(moved_bounds_are_sent)
{
    struct pkt *p = fill(200);
    pkt_pull(p, 30);
    pkt_trim(p, 100);
    struct rte_mbuf *m = mbuf_transmit(p);
    expect_bytes(m, 30, 100);
    rte_pktmbuf_free(m);
}
END_TEST

/* The packet leaves while a slice of it waits, for a retransmission say, and the other way about.
 */
START_TEST(shared_memory_outlives_whoever_is_first)
{
    for (int slice_first = 0; slice_first < 2; slice_first++) {
        struct pkt *p = fill(1000);
        struct pkt *s = pkt_slice(&pool.pkt, p, 100, 300);
        struct rte_mbuf *whole = mbuf_transmit(p);
        expect_bytes(whole, 0, 1000);
        struct rte_mbuf *part = NULL;
        if (slice_first)
            part = mbuf_transmit(s);
        else
            rte_pktmbuf_free(whole);
        if (!part)
            part = mbuf_transmit(s);
        expect_bytes(part, 100, 300);
        ck_assert_uint_eq(rte_mempool_in_use_count(pool.packets), 1);
        rte_pktmbuf_free(part);
        if (slice_first)
            rte_pktmbuf_free(whole);
        ck_assert_uint_eq(rte_mempool_in_use_count(pool.packets), 0);
    }
}
END_TEST

START_TEST(a_slice_waits_after_the_device_is_done)
{
    struct pkt *p = fill(1000);
    struct pkt *s = pkt_slice(&pool.pkt, p, 0, 1000);
    rte_pktmbuf_free(mbuf_transmit(p));
    ck_assert_uint_eq(rte_mempool_in_use_count(pool.packets), 1);
    for (uint32_t i = 0; i < s->len; i++)
        ck_assert_uint_eq(s->data[i], (uint8_t)i);
    pkt_free(s);
}
END_TEST

/* Headers of its own before a slice of somebody else's bytes: how a segment is sent. */
START_TEST(headers_and_slices_make_a_chain)
{
    struct pkt *data = fill(4000);
    for (int again = 0; again < 3; again++) {
        struct pkt *head = pkt_alloc(&pool.pkt);
        uint8_t *h = pkt_put(head, 2);
        h[0] = 10 - 2;
        h[1] = 10 - 1;
        pkt_append(head, pkt_slice(&pool.pkt, data, 10, 3500));
        struct rte_mbuf *m = mbuf_transmit(head);
        expect_bytes(m, 8, 3502);
        rte_pktmbuf_free(m);
    }
    pkt_free(data);
}
END_TEST

START_TEST(a_slice_of_a_slice_keeps_the_owner)
{
    struct pkt *p = fill(500);
    struct pkt *a = pkt_slice(&pool.pkt, p, 50, 400);
    struct pkt *b = pkt_slice(&pool.pkt, a, 50, 300);
    pkt_free(p);
    struct rte_mbuf *ma = mbuf_transmit(a);
    rte_pktmbuf_free(ma);
    struct rte_mbuf *mb = mbuf_transmit(b);
    expect_bytes(mb, 100, 300);
    rte_pktmbuf_free(mb);
}
END_TEST

START_TEST(an_empty_pool_says_so)
{
    struct pkt *held[PACKETS];
    for (unsigned i = 0; i < PACKETS; i++) {
        held[i] = pkt_alloc(&pool.pkt);
        ck_assert_ptr_nonnull(held[i]);
    }
    ck_assert_ptr_null(pkt_alloc(&pool.pkt));
    ck_assert_ptr_null(pkt_copy(&pool.pkt, held[0]));
    for (unsigned i = 0; i < PACKETS; i++)
        pkt_free(held[i]);
}
END_TEST

/* AF_XDP registers a pool as objects side by side from the first one on. */
START_TEST(a_packed_pool_has_no_gaps)
{
    ck_assert_uint_eq(pool.packets->nb_mem_chunks, 1);
    struct rte_mempool_memhdr *chunk = STAILQ_FIRST(&pool.packets->mem_list);
    uintptr_t start = (uintptr_t)chunk->addr;
    uintptr_t end = start + (uintptr_t)PACKETS * mbuf_object_bytes(2048);
    struct pkt *held[PACKETS];
    for (unsigned i = 0; i < PACKETS; i++) {
        held[i] = pkt_alloc(&pool.pkt);
        uintptr_t at = (uintptr_t)held[i]->data;
        ck_assert(at > start && at + 2048 <= end);
    }
    for (unsigned i = 0; i < PACKETS; i++)
        pkt_free(held[i]);
}
END_TEST

UNIT_MAIN("mbuf", setup, teardown, a_packet_has_room_where_it_says,
          a_received_chain_keeps_its_metadata, a_packet_goes_out_with_its_requests,
          moved_bounds_are_sent, shared_memory_outlives_whoever_is_first,
          a_slice_waits_after_the_device_is_done, headers_and_slices_make_a_chain,
          a_slice_of_a_slice_keeps_the_owner, an_empty_pool_says_so, a_packed_pool_has_no_gaps)
