/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <string.h>

#include "stack/internal.h"

/* A packet of n bytes of an unknown upper layer, with this much headroom. */
static struct pkt *payload(uint32_t n, uint16_t headroom)
{
    frame_payload(&host.frame, n);
    uint16_t was = host.pool.pool.headroom;
    host.pool.pool.headroom = headroom;
    struct pkt *p = heap_pkt(&host.pool, host.frame.at, n, 0);
    host.pool.pool.headroom = was;
    ck_assert_ptr_nonnull(p);
    return p;
}

static struct ip_tx to4(const struct ip_addr *dst)
{
    return (struct ip_tx){.src = US4, .dst = *dst, .proto = 253};
}

static struct ip_tx to6(const struct ip_addr *dst)
{
    return (struct ip_tx){.src = US6, .dst = *dst, .proto = 253};
}

static void output(uint32_t n, const struct ip_tx *tx)
{
    ip_output(host.stack, payload(n, 128), tx, host.now);
}

START_TEST(the_headers_of_a_packet)
{
    host_boot();
    meet4();
    meet6();
    struct ip_tx tx = to4(&PEER4);
    tx.traffic_class = 0xb8;
    output(100, &tx);
    const struct frame_seen *s = said();
    ck_assert_ip(s->src, US4);
    ck_assert_ip(s->dst, PEER4);
    ck_assert_uint_eq(s->ip4.ttl, 64);
    ck_assert_uint_eq(s->ip4.tos, 0xb8);
    ck_assert_uint_eq(s->ip4.proto, 253);
    ck_assert(!s->ip4.dont_fragment);
    ck_assert_uint_eq(s->upper_len, 100);
    ck_assert_uint_eq(host.meta.l3_len, 20);
    tx.hop_limit = 3;
    tx.dont_fragment = true;
    output(100, &tx);
    s = said();
    ck_assert_uint_eq(s->ip4.ttl, 3);
    ck_assert(s->ip4.dont_fragment);
    ck_assert_uint_eq(s->ip4.id, 0); /* RFC 6864 4.1 */
    tx = to6(&PEER6);
    tx.traffic_class = 0xb8;
    output(100, &tx);
    s = said();
    ck_assert_uint_eq(s->ip6.hop_limit, 64);
    ck_assert_uint_eq(s->ip6.traffic_class, 0xb8);
    ck_assert_uint_eq(s->ip6.next, 253);
    ck_assert(host.meta.flags & PKT_IPV6);
    ck_assert_uint_eq(host.meta.l3_len, 40);
    no_drops();
}
END_TEST

START_TEST(exactly_the_mtu_and_one_more)
{
    host_boot();
    meet4();
    meet6();
    struct ip_tx tx4 = to4(&PEER4), tx6 = to6(&PEER6);
    unsigned n;
    output(1480, &tx4);
    ck_assert_uint_eq(said()->upper_len, 1480);
    output(1481, &tx4);
    ck_assert_uint_eq(said_fragments(&n, 1500), 1481);
    ck_assert_uint_eq(n, 2);
    output(1460, &tx6);
    ck_assert_uint_eq(said()->upper_len, 1460);
    output(1461, &tx6);
    ck_assert_uint_eq(said_fragments(&n, 1500), 1461);
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(added(COUNTER_FRAG_TX), 4);
    silence();
    no_drops();
}
END_TEST

START_TEST(what_cannot_be_sent)
{
    host_boot();
    meet4();
    meet6();
    struct ip_tx tx = to4(&PEER4);
    tx.dont_fragment = true;
    output(1481, &tx);
    dropped(DROP_TOO_BIG);
    tx = to4(&FAR4);
    output(10, &tx);
    dropped(DROP_NO_ROUTE);
    tx = to6(&FAR6);
    output(10, &tx);
    dropped(DROP_NO_ROUTE);
    tx = to6(&PEER_LL); /* on which link? */
    output(10, &tx);
    dropped(DROP_NO_ROUTE);
    tx = to4(&PEER4);
    output(65516, &tx);
    dropped(DROP_TOO_BIG);
    tx = to6(&PEER6);
    output(65536, &tx);
    dropped(DROP_TOO_BIG);
    silence();
}
END_TEST

START_TEST(groups_need_no_neighbour)
{
    static const struct ip_addr all4 = {{[10] = 0xff, 0xff, 224, 0, 0, 1}};
    static const struct ip_addr everyone = {{[10] = 0xff, 0xff, 255, 255, 255, 255}};
    static const struct ip_addr net = {{[10] = 0xff, 0xff, 192, 0, 2, 255}};
    host_boot();
    struct ip_tx tx = to4(&all4);
    tx.iface = &host.stack->iface[0];
    output(10, &tx);
    ck_assert_mac(said()->eth.dst, ((struct mac_addr){{1, 0, 0x5e, 0, 0, 1}}));
    tx.dst = everyone;
    output(10, &tx);
    ck_assert_mac(said()->eth.dst, MAC_BROADCAST);
    tx.dst = net;
    output(10, &tx);
    ck_assert_mac(said()->eth.dst, MAC_BROADCAST);
    tx = to6(&ALL_NODES6);
    tx.iface = &host.stack->iface[0];
    output(10, &tx);
    ck_assert_mac(said()->eth.dst, mac_of_multicast(&ALL_NODES6));
    silence();
    no_drops();
}
END_TEST

/* Every way to be short of headroom, and memory that others read too. */
START_TEST(room_for_headers_is_made_where_there_is_none)
{
    host_boot();
    meet4();
    struct ip_tx tx = to4(&PEER4);
    for (uint16_t room = 0; room <= 40; room++) {
        struct pkt *p = payload(50, room);
        p->flags = PKT_TX_L4_CSUM;
        p->l4_len = 8;
        p->l4_proto = 253;
        ip_output(host.stack, p, &tx, host.now);
        const struct frame_seen *s = said();
        ck_assert_uint_eq(s->upper_len, 50);
        ck_assert_mem_eq(s->upper, host.frame.at, 50);
        ck_assert_uint_eq(host.views, room < 20 + ETHER_TAGGED_LEN ? 2 : 1);
        ck_assert_uint_eq(host.meta.flags, PKT_TX_L4_CSUM); /* what was asked for is not lost */
        ck_assert_uint_eq(host.meta.l4_len, 8);
        ck_assert_uint_eq(host.meta.l4_proto, 253);
    }
    struct pkt *p = payload(50, 128);
    struct pkt *slice = pkt_slice(&host.pool.pool, p, 0, 50);
    ip_output(host.stack, slice, &tx, host.now);
    ck_assert_mem_eq(said()->upper, host.frame.at, 50);
    ck_assert_mem_eq(p->data, host.frame.at, 50);
    pkt_free(p);

    p = payload(50, 0);
    host.pool.limit = host.pool.held;
    ip_output(host.stack, p, &tx, host.now);
    silence();
    dropped(DROP_NO_MEMORY);
}
END_TEST

START_TEST(what_was_true_when_it_came_in_is_forgotten)
{
    host_boot();
    meet4();
    struct ip_tx tx = to4(&PEER4);
    struct pkt *p = payload(50, 128);
    p->flags = PKT_RX_HASH | PKT_RX_IP_CSUM_OK | PKT_RX_VLAN | PKT_REASSEMBLED;
    ip_output(host.stack, p, &tx, host.now);
    said();
    ck_assert_uint_eq(host.meta.flags, 0);
}
END_TEST

START_TEST(a_device_that_sums_headers)
{
    host.iface[0].offload |= IFACE_TX_IP_CSUM;
    host_boot();
    meet4();
    struct ip_tx tx = to4(&PEER4);
    output(50, &tx);
    said(); /* whose parser wants the field zero, with the flag */
    ck_assert_uint_eq(host.meta.flags, PKT_TX_IP_CSUM);
    ck_assert_uint_eq(host.meta.l2_len, ETHER_LEN);
    ck_assert_uint_eq(host.meta.l3_len, 20);
    output(3000, &tx); /* fragments are done here */
    unsigned n;
    ck_assert_uint_eq(said_fragments(&n, 1500), 3000);
    ck_assert_uint_eq(host.meta.flags, 0);
}
END_TEST

START_TEST(a_path_that_takes_less)
{
    host_boot();
    meet6();
    meet4();
    struct ip_tx tx6 = to6(&PEER6), tx4 = to4(&PEER4);
    pmtu_lower(host.stack->pmtu, &PEER6, 1300, host.now);
    pmtu_lower(host.stack->pmtu, &PEER4, 600, host.now);
    unsigned n;
    output(1261, &tx6);
    ck_assert_uint_eq(said_fragments(&n, 1300), 1261);
    ck_assert_uint_eq(n, 2);
    output(1260, &tx6);
    ck_assert_uint_eq(said()->upper_len, 1260);
    output(581, &tx4);
    ck_assert_uint_eq(said_fragments(&n, 600), 581);
    tx4.dont_fragment = true;
    output(581, &tx4);
    dropped(DROP_TOO_BIG);
    pass(600 * TICK_SEC); /* RFC 8201 5.3 */
    ignore();
    mark();
    output(1460, &tx6);
    ck_assert_int_ne(said()->kind, FRAME_FRAGMENT);
}
END_TEST

START_TEST(fragments_wait_for_a_neighbour_too)
{
    host_boot();
    struct ip_tx tx = to4(&PEER4);
    output(4000, &tx); /* three fragments, as many as may wait */
    ck_assert_int_eq(said()->arp.op, ARP_REQUEST);
    hear_arp(ARP_REPLY, &US_MAC, &PEER_MAC, &PEER4, &US4);
    unsigned n;
    ck_assert_uint_eq(said_fragments(&n, 1500), 4000);
    ck_assert_uint_eq(n, 3);
    no_drops();
}
END_TEST

START_TEST(too_few_packets_for_all_fragments)
{
    host_boot();
    meet4();
    struct ip_tx tx = to4(&PEER4);
    struct pkt *p = payload(4000, 128);
    host.pool.limit = host.pool.held + 2;
    ip_output(host.stack, p, &tx, host.now);
    silence(); /* all or none */
    dropped(DROP_NO_MEMORY);
}
END_TEST

/* RFC 7739, RFC 8200 4.5: different for each packet, and another sequence for each peer. */
START_TEST(identifications_do_not_repeat)
{
    host_boot();
    meet6();
    struct ip_tx tx = to6(&PEER6);
    uint32_t first = 0, other = 0;
    for (uint32_t i = 0; i < 10; i++) {
        output(2000, &tx);
        const struct frame_seen *s = said();
        if (i == 0)
            first = s->ip6.frag.id;
        ck_assert_uint_eq(s->ip6.frag.id - first, i);
        ignore();
    }
    hear_solicit(&OTHER6, NULL, &US6, &OTHER_MAC);
    said();
    tx = to6(&OTHER6);
    output(2000, &tx);
    other = said()->ip6.frag.id;
    ck_assert_uint_gt(other - first, 1000);
    ck_assert_uint_gt(first - other, 1000);
    ignore();
    meet4();
    struct ip_tx tx4 = to4(&PEER4);
    uint32_t same = 0;
    uint16_t last = 0;
    for (int i = 0; i < 64; i++) { /* a router may cut these */
        output(10, &tx4);
        same += said()->ip4.id == last;
        last = host.seen.ip4.id;
    }
    ck_assert_uint_le(same, 1);
}
END_TEST

UNIT_MAIN("ip_out", host_setup, host_teardown, the_headers_of_a_packet,
          exactly_the_mtu_and_one_more, what_cannot_be_sent, groups_need_no_neighbour,
          room_for_headers_is_made_where_there_is_none, what_was_true_when_it_came_in_is_forgotten,
          a_device_that_sums_headers, a_path_that_takes_less, fragments_wait_for_a_neighbour_too,
          too_few_packets_for_all_fragments, identifications_do_not_repeat)
