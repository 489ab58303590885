/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <string.h>

/* Whether a request tagged so, or with its tag stripped by
 * the device, is for an interface on this VLAN. */
static const struct {
    uint16_t vlan;
    bool tagged, stripped;
    uint16_t tci;
    bool ours;
} matrix[] = {
    {0, false, false, 0, true}, {0, true, false, 0x6000, true}, /* a priority is no VLAN */
    {0, true, false, 5, false}, {0, false, true, 0x6000, true},
    {0, false, true, 5, false}, {5, false, false, 0, false},
    {5, true, false, 5, true},  {5, true, false, 0xe005, true},
    {5, true, false, 6, false}, {5, true, false, 0, false},
    {5, false, true, 5, true},  {5, false, true, 0xb005, true},
    {5, false, true, 6, false}, {5, true, true, 5, false}, /* two tags: another network's */
    {0, true, true, 0, false},
};

static void ask(bool tagged, bool stripped, uint16_t tci)
{
    struct arp_msg m = {
        .op = ARP_REQUEST, .sender_mac = PEER_MAC, .sender_ip = PEER4, .target_ip = US4};
    uint8_t body[ARP_LEN];
    arp_emit(&m, body);
    frame_bytes(&host.frame, body, sizeof(body));
    if (tagged)
        frame_push_tagged(&host.frame, &MAC_BROADCAST, &PEER_MAC, tci, ETHER_TYPE_ARP);
    else
        frame_push_ether(&host.frame, &MAC_BROADCAST, &PEER_MAC, ETHER_TYPE_ARP);
    hear_on(0, 0, stripped ? PKT_RX_VLAN : 0, stripped ? tci : 0);
}

START_TEST(tags_and_their_absence)
{
    for (int device = 0; device < 2; device++)
        for (unsigned i = 0; i < sizeof(matrix) / sizeof(matrix[0]); i++) {
            host_destroy();
            host_setup();
            host.iface[0].vlan = matrix[i].vlan;
            host.iface[0].offload |= device ? IFACE_TX_VLAN : 0;
            host_boot();
            ask(matrix[i].tagged, matrix[i].stripped, matrix[i].tci);
            if (!matrix[i].ours) {
                silence();
                dropped(DROP_VLAN);
                continue;
            }
            const struct frame_seen *s = said();
            no_drops();
            bool vlan = matrix[i].vlan != 0;
            ck_assert_uint_eq(s->eth.tagged, vlan && !device);
            ck_assert_uint_eq(s->eth.tagged ? s->eth.tci : 0, device ? 0 : matrix[i].vlan);
            ck_assert_uint_eq(!!(host.meta.flags & PKT_TX_VLAN), vlan && device);
            if (vlan && device)
                ck_assert_uint_eq(host.meta.vlan, 5);
        }
}
END_TEST

START_TEST(an_inner_tag_is_no_protocol_of_ours)
{
    host.iface[0].vlan = 5;
    host_boot();
    frame_payload(&host.frame, 50);
    frame_push_tagged(&host.frame, &US_MAC, &PEER_MAC, 5, ETHER_TYPE_VLAN);
    hear();
    silence();
    dropped(DROP_ETHER_TYPE);
}
END_TEST

START_TEST(echoes_on_a_vlan_large_and_small)
{
    host.iface[0].vlan = 100;
    host_boot();
    static const uint32_t sizes[] = {0, 1472, 1473, 5000};
    ask(true, false, 100);
    ck_assert(said()->eth.tagged);
    for (unsigned i = 0; i < 4; i++) {
        frame_payload(&host.frame, sizes[i]);
        frame_push_echo(&host.frame, ICMP_ECHO, 1, 1);
        frame_push_ip4(&host.frame,
                       &(struct ipv4_hdr){.src = PEER4, .dst = US4, .proto = IP_PROTO_ICMP});
        frame_push_tagged(&host.frame, &US_MAC, &PEER_MAC, 100, ETHER_TYPE_IPV4);
        hear();
        uint32_t data = 0;
        do {
            const struct frame_seen *s = said();
            ck_assert_uint_eq(s->eth.tci, 100);
            ck_assert_uint_le(host.said_len, ETHER_TAGGED_LEN + 1500);
            data += s->upper_len;
        } while (stack_pending(host.stack, 0) > 0);
        ck_assert_uint_eq(data, sizes[i] + ICMP_LEN);
    }
    no_drops();
}
END_TEST

START_TEST(a_device_that_takes_no_chains_gets_one_view)
{
    host.iface[0].offload = 0;
    host_boot();
    meet4();
    frame_payload(&host.frame, 1200);
    frame_push_echo(&host.frame, ICMP_ECHO, 1, 1);
    frame_push_ip4(&host.frame,
                   &(struct ipv4_hdr){.src = PEER4, .dst = US4, .proto = IP_PROTO_ICMP});
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
    hear_on(0, 300, 0, 0);
    ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
    ck_assert_uint_eq(host.views, 1);
    no_drops();
    host.iface[0].offload = IFACE_TX_MULTI_SEGS;
    ck_assert_int_eq(host_configure(), 0);
    hear_on(0, 300, 0, 0);
    ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
    ck_assert_uint_gt(host.views, 1);
    no_drops();
    hear_on(0, 64, 0, 0); /* more than a device takes */
    ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
    ck_assert_uint_eq(host.views, 1);
    no_drops();
}
END_TEST

START_TEST(one_view_may_be_too_small)
{
    host.iface[0].offload = 0;
    host.iface[0].mtu = 9000;
    host_boot();
    meet4();
    hear_echo4(4000); /* of the pool's 2,048 bytes a packet */
    ck_assert_uint_eq(host.frame.len, 4042);
    ck_assert_uint_eq(stack_pending(host.stack, 0), 1); /* it came in one, so it goes in one */
    ignore();
    frame_payload(&host.frame, 4000);
    frame_push_echo(&host.frame, ICMP_ECHO, 1, 1);
    frame_push_ip4(&host.frame,
                   &(struct ipv4_hdr){.src = PEER4, .dst = US4, .proto = IP_PROTO_ICMP});
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
    hear_on(0, 2000, 0, 0);
    silence();
    dropped(DROP_TOO_BIG);
}
END_TEST

START_TEST(a_full_queue_drops_what_comes_last)
{
    host.config.limits.tx_queue = 4;
    host.iface[0].n_addrs = 1;
    host.iface[0].ipv6 = false;
    host_boot();
    meet4();
    for (int i = 0; i < 6; i++)
        hear_echo4(8);
    ck_assert_uint_eq(stack_pending(host.stack, 0), 4);
    dropped_n(DROP_TX_QUEUE_FULL, 2);
    ck_assert_uint_eq(added(COUNTER_TX_PACKETS), 4);
    said();
    hear_echo4(8);
    no_drops();
    ck_assert_uint_eq(ignore(), 4);
}
END_TEST

START_TEST(a_queue_grows_only_while_there_is_memory)
{
    host_boot(); /* bound 128, starts with 64 */
    meet4();
    host.heap.limit = host.heap.bytes;
    for (int i = 0; i < 65; i++)
        hear_echo4(8);
    dropped(DROP_TX_QUEUE_FULL);
    host.heap.limit = SIZE_MAX;
    hear_echo4(8);
    no_drops();
    ck_assert_uint_eq(ignore(), 65);
}
END_TEST

START_TEST(packets_and_bytes_are_counted)
{
    host_boot();
    meet4();
    hear_echo4(100);
    ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
    ck_assert_uint_eq(added(COUNTER_RX_PACKETS), 1);
    ck_assert_uint_eq(added(COUNTER_RX_BYTES), 142);
    ck_assert_uint_eq(added(COUNTER_TX_PACKETS), 1);
    ck_assert_uint_eq(added(COUNTER_TX_BYTES), 142);
}
END_TEST

UNIT_MAIN("link", host_setup, host_teardown, tags_and_their_absence,
          an_inner_tag_is_no_protocol_of_ours, echoes_on_a_vlan_large_and_small,
          a_device_that_takes_no_chains_gets_one_view, one_view_may_be_too_small,
          a_full_queue_drops_what_comes_last, a_queue_grows_only_while_there_is_memory,
          packets_and_bytes_are_counted)
