/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <string.h>

#include "base/bytes.h"

START_TEST(configurations_that_are_refused)
{
    struct iface_config *c = &host.iface[0];
    const struct iface_config good = *c;
    const struct stack_config whole = host.config;
    struct stack_env env = {
        .mem = &host.heap.mem, .pool = &host.pool.pool, .counters = &host.counters};
    for (int k = 0; k < 20; k++) {
        *c = good;
        host.config = whole;
        switch (k) {
        case 0: host.config.n_ifaces = 0; break;
        case 1: host.config.n_ifaces = IFACE_MAX + 1; break;
        case 2: host.config.n_workers = 0; break;
        case 3: host.config.worker = 1; break;
        case 4: host.config.n_workers = 129; break;
        case 5: c->mtu = 67; break;
        case 6: c->mtu = 1279; break; /* with IPv6 */
        case 7: c->n_addrs = IFACE_ADDRS_MAX + 1; break;
        case 8: c->vlan = 4095; break;
        case 9: c->ipv6 = false; break; /* with an IPv6 address */
        case 10: c->addr[0].len = 33; break;
        case 11: c->addr[1].len = 129; break;
        case 12: c->addr[0].len = 0; break;
        case 13: c->addr[0].addr = IP_ADDR_ANY6; break;
        case 14: c->addr[1].addr = ALL_NODES6; break;
        case 15: c->addr[0].addr.b[15] = 255; break; /* the network's broadcast address */
        case 16: c->addr[0].addr.b[12] = 127; break;
        case 17: c->gateway4 = PEER6; break;
        case 18: c->gateway6 = PEER4; break;
        case 19: c->gateway6 = ALL_NODES6; break;
        }
        enum stack_error error = 0;
        ck_assert_msg(!stack_create(&host.config, &env, host.now, &error), "case %d", k);
        ck_assert_int_eq(error, STACK_E_CONFIG);
    }
    *c = good;
    host.config = whole;
    ck_assert_ptr_null(
        stack_create(&(struct stack_config){.iface = c}, &env, host.now, NULL)); /* no matter why */
    c->mtu = 68;
    c->ipv6 = false;
    c->n_addrs = 1;
    host_create(); /* the least */
}
END_TEST

START_TEST(memory_that_runs_out_while_it_is_created)
{
    host_create();
    size_t needed = host.heap.peak;
    host_destroy();
    struct stack_env env = {
        .mem = &host.heap.mem, .pool = &host.pool.pool, .counters = &host.counters};
    unsigned failed = 0;
    for (size_t limit = 0; limit < needed; limit += 512) {
        host.heap.limit = limit;
        enum stack_error error = 0;
        ck_assert_ptr_null(stack_create(&host.config, &env, host.now, &error));
        ck_assert_int_eq(error, STACK_E_MEMORY);
        ck_assert_uint_eq(host.heap.blocks, 0);
        failed++;
    }
    ck_assert_uint_gt(failed, 20);
    host.heap.limit = needed;
    host_create();
}
END_TEST

START_TEST(frames_for_others)
{
    static const struct mac_addr group = {{3, 0, 0, 0, 0, 9}};
    host_boot();
    frame_payload(&host.frame, 50);
    frame_push_ether(&host.frame, &OTHER_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
    hear();
    dropped(DROP_ETHER_DESTINATION);
    frame_payload(&host.frame, 50);
    frame_push_ether(&host.frame, &US_MAC, &group, ETHER_TYPE_IPV4);
    hear();
    dropped(DROP_ETHER_SOURCE);
    frame_payload(&host.frame, 50);
    frame_push_ether(&host.frame, &US_MAC, &US_MAC, ETHER_TYPE_IPV4);
    hear();
    dropped(DROP_ETHER_SOURCE);
    frame_payload(&host.frame, 50);
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, 0x88cc);
    hear();
    dropped(DROP_ETHER_TYPE);
    frame_payload(&host.frame, 50); /* 802.3: a length */
    frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, 50);
    hear();
    dropped(DROP_ETHER_TYPE);
    for (uint32_t n = 1; n < ETHER_LEN; n++) {
        frame_payload(&host.frame, n);
        hear();
        dropped(DROP_ETHER_SHORT);
    }
    silence();
}
END_TEST

START_TEST(a_burst_is_taken_in_order)
{
    host_boot();
    meet4();
    struct pkt *burst[32];
    for (uint16_t i = 0; i < 32; i++) {
        frame_payload(&host.frame, i);
        frame_push_echo(&host.frame, ICMP_ECHO, 1, i);
        frame_push_ip4(&host.frame,
                       &(struct ipv4_hdr){.src = PEER4, .dst = US4, .proto = IP_PROTO_ICMP});
        frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
        burst[i] = heap_pkt(&host.pool, host.frame.at, host.frame.len, 0);
    }
    stack_input(host.stack, burst, 32, host.now);
    ck_assert_uint_eq(stack_pending(host.stack, 0), 32);
    struct pkt *out[20];
    ck_assert_uint_eq(stack_output(host.stack, 0, out, 0, host.now), 0);
    for (uint16_t i = 0; i < 12; i++)
        ck_assert_uint_eq(said()->icmp.seq, i);
    ck_assert_uint_eq(stack_output(host.stack, 0, out, 20, host.now), 20);
    for (uint16_t i = 0; i < 20; i++) {
        ck_assert_uint_eq(out[i]->data[ETHER_LEN + 20 + 7], i + 12u);
        pkt_free(out[i]);
    }
    ck_assert_uint_eq(stack_output(host.stack, 0, out, 20, host.now), 0);
}
END_TEST

START_TEST(what_waits_goes_with_the_stack)
{
    host_boot();
    meet6();
    hear_echo4(8); /* waits for its neighbour */
    hear_echo6(8); /* waits for the device */
    frame_payload(&host.frame, 64);
    frame_push_frag6(&host.frame, &(struct ipv6_frag){.next = IP_PROTO_UDP, .more = true});
    hear_ip6(&PEER6, &US6, IP_PROTO_FRAGMENT); /* waits for the rest of its datagram */
    ck_assert_uint_ge(host.pool.held, 3);
    host_destroy(); /* asserts that all of it has gone */
}
END_TEST

/* Reconfiguration */

/* An ARP request for addr, as the worker that received it hands it to the others. */
static void hear_copy(const struct ip_addr *addr)
{
    struct arp_msg m = {
        .op = ARP_REQUEST, .sender_mac = PEER_MAC, .sender_ip = PEER4, .target_ip = *addr};
    uint8_t body[ARP_LEN];
    arp_emit(&m, body);
    frame_bytes(&host.frame, body, sizeof(body));
    frame_push_ether(&host.frame, &MAC_BROADCAST, &PEER_MAC, ETHER_TYPE_ARP);
    hear_on(0, 0, PKT_COPY, 0);
}

START_TEST(copies_teach_but_are_not_counted)
{
    host_boot();
    hear_copy(&US4);
    ck_assert_int_eq(neighbour_state(&PEER4), CTL_NEIGHBOUR_STALE);
    hear_copy(&OTHER4);
    ck_assert_uint_eq(added(COUNTER_RX_PACKETS), 0);
    ck_assert_uint_eq(added(COUNTER_ARP_RX_REQUESTS), 0);
    no_drops();
    ignore();
}
END_TEST

START_TEST(an_address_is_added_and_removed)
{
    host_boot();
    meet4();
    struct iface_config *c = &host.iface[0];
    c->addr[c->n_addrs++] = (struct ip_prefix){OTHER4, 24};
    ck_assert_int_eq(host_configure(), 0);
    ck_assert_int_eq(address_state(&OTHER4), CTL_ADDRESS_PREFERRED);
    ck_assert_int_eq(address_state(&US6), CTL_ADDRESS_PREFERRED); /* and not tried anew */
    ck_assert_ip(said_after(0)->arp.target_ip, OTHER4);           /* tried, and in use */
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &OTHER4);
    ck_assert_ip(said()->arp.sender_ip, OTHER4);
    ck_assert_ip(said_after(TICK_SEC)->arp.sender_ip, OTHER4); /* announced */
    ck_assert_ip(said_after(2 * TICK_SEC)->arp.sender_ip, OTHER4);
    c->n_addrs--;
    ck_assert_int_eq(host_configure(), 0);
    mark();
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &OTHER4);
    silence();
    no_drops(); /* we learnt from it, though it was not for us */
    hear_echo4(8);
    ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
}
END_TEST

START_TEST(what_was_going_on_goes_on)
{
    host.iface[0].n_addrs = 1;
    host.iface[0].ipv6 = false;
    host_create();
    said_after(0);        /* the probe */
    said_after(TICK_SEC); /* the first announcement */
    quiet(TICK_SEC);
    ck_assert_int_eq(host_configure(), 0);
    ck_assert_ip(said_after(TICK_SEC)->arp.sender_ip, US4); /* the second, in its time */
    quiet(60 * TICK_SEC);
}
END_TEST

START_TEST(a_trial_goes_on_too)
{
    host.iface[0].n_addrs = 0;
    host_create();
    tick_t start = host.now;
    while (added(COUNTER_DAD_PROBES) == 0)
        pass(stack_deadline(host.stack) - host.now);
    tick_t probed = host.now;
    ck_assert_uint_le(probed, start + TICK_SEC);
    ck_assert_int_eq(host_configure(), 0);
    pass(probed + TICK_SEC - host.now);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_PREFERRED);
    ck_assert_uint_eq(added(COUNTER_DAD_PROBES), 1);
}
END_TEST

START_TEST(a_duplicate_is_tried_again)
{
    host_create();
    hear_advert(&US6, &ALL_NODES6, &US6, &PEER_MAC, false, true);
    ck_assert_int_eq(address_state(&US6), CTL_ADDRESS_DUPLICATE);
    pass(4 * TICK_SEC);
    ck_assert_int_eq(host_configure(), 0);
    ck_assert_int_eq(address_state(&US6), CTL_ADDRESS_TENTATIVE);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_PREFERRED);
    pass(2 * TICK_SEC);
    ck_assert_int_eq(address_state(&US6), CTL_ADDRESS_PREFERRED);
}
END_TEST

START_TEST(an_address_named_twice_is_one)
{
    struct iface_config *c = &host.iface[0];
    c->addr[c->n_addrs++] = c->addr[0];
    c->addr[c->n_addrs++] = (struct ip_prefix){US_LL, 64};
    host_boot();
    struct ctl_address rows[8];
    struct ctl_request r = {.kind = CTL_ADDRESSES, .rows.address = rows, .max = 8};
    stack_control(host.stack, &r, host.now);
    ck_assert_uint_eq(r.n, 3);
}
END_TEST

START_TEST(other_gateways_make_other_neighbours)
{
    host.iface[0].gateway4 = PEER4;
    host_boot();
    meet4();
    meet6();
    struct ctl_neighbour row;
    ck_assert(neighbour(&PEER4, &row) && row.router);
    ck_assert_int_eq(host_configure(), 0); /* nothing is new */
    ck_assert(neighbour(&PEER4, &row));
    host.iface[0].gateway4 = OTHER4;
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &US4);
    ignore();
    ck_assert_int_eq(host_configure(), 0);
    ck_assert(!neighbour(&PEER4, &row));
    meet4();
    ck_assert(neighbour(&PEER4, &row) && !row.router);
    host.iface[0].gateway4 = IP_ADDR_ANY6;
    ck_assert_int_eq(host_configure(), 0);
}
END_TEST

START_TEST(another_vlan_is_another_link)
{
    host_boot();
    meet4();
    host.iface[0].vlan = 7;
    ck_assert_int_eq(host_configure(), 0);
    struct ctl_neighbour row;
    ck_assert(!neighbour(&PEER4, &row));
    ck_assert_int_eq(address_state(&US6), CTL_ADDRESS_TENTATIVE); /* is it free there? */
    pass(4 * TICK_SEC);
    ck_assert_int_eq(address_state(&US6), CTL_ADDRESS_PREFERRED);
    while (stack_pending(host.stack, 0) > 0)
        ck_assert_uint_eq(said()->eth.tci, 7);
}
END_TEST

START_TEST(what_may_not_change_leaves_all_as_it_was)
{
    host_boot();
    const struct iface_config good = host.iface[0];
    for (int k = 0; k < 5; k++) {
        host.iface[0] = good;
        host.config.n_ifaces = 1;
        host.iface[0].n_addrs = 1; /* would remove US6 */
        switch (k) {
        case 0: host.iface[0].name[0]++; break;
        case 1: host.iface[0].mac.b[5]++; break;
        case 2: host.config.n_ifaces = 2; break;
        case 3: host.iface[0].mtu = 10; break;
        case 4: host.iface[0].addr[0].len = 77; break;
        }
        ck_assert_int_eq(host_configure(), STACK_E_CONFIG);
        host.config.n_ifaces = 1;
        host.iface[0] = good;
        ck_assert_int_eq(address_state(&US6), CTL_ADDRESS_PREFERRED);
    }
    meet4();
}
END_TEST

START_TEST(a_reload_is_no_way_around_the_error_limit)
{
    host.config.icmp.error_rate = 1;
    host.config.icmp.error_burst = 2;
    host_boot();
    meet4();
    for (int i = 0; i < 6; i++) {
        frame_payload(&host.frame, 8);
        frame_push_udp(&host.frame, 1, 2, &PEER4, &US4);
        hear_ip4(&PEER4, &US4, IP_PROTO_UDP);
        ck_assert_int_eq(host_configure(), 0);
    }
    ck_assert_uint_eq(ignore(), 2);
    host.config.icmp.echo = false; /* the rest is new at once */
    ck_assert_int_eq(host_configure(), 0);
    mark();
    hear_echo4(8);
    dropped(DROP_ICMP_ECHO_OFF);
}
END_TEST

START_TEST(another_mtu_at_once)
{
    host_boot();
    meet4();
    hear_echo4(1400);
    ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
    host.iface[0].mtu = 1280;
    ck_assert_int_eq(host_configure(), 0);
    hear_echo4(1400);
    unsigned n;
    ck_assert_uint_eq(said_fragments(&n, 1280), 1408);
}
END_TEST

START_TEST(ipv6_off_and_on)
{
    host_boot();
    meet6();
    host.iface[0].ipv6 = false;
    host.iface[0].n_addrs = 1;
    ck_assert_int_eq(host_configure(), 0);
    ignore();
    hear_echo6(8);
    silence();
    dropped(DROP_ETHER_TYPE);
    host.iface[0].ipv6 = true;
    host.iface[0].n_addrs = 2;
    ck_assert_int_eq(host_configure(), 0);
    ck_assert_int_eq(address_state(&US_LL), CTL_ADDRESS_TENTATIVE);
    pass(4 * TICK_SEC);
    ignore();
    mark();
    hear_echo6(8);
    ck_assert_int_eq(said()->icmp6.type, ICMPV6_ECHO_REPLY);
}
END_TEST

/* Time */

START_TEST(a_quiet_stack_wants_nothing)
{
    host_create();
    pass(10 * TICK_SEC);
    ck_assert_uint_lt(host.wakes, 20);
    ck_assert_uint_eq(stack_deadline(host.stack), TICK_NEVER);
    ignore();
    meet4();
    hear_echo4(8);
    ignore();
    uint32_t wakes = host.wakes;
    pass(3600 * TICK_SEC); /* DELAY, three probes, gone */
    ck_assert_uint_lt(host.wakes - wakes, 12);
    ck_assert_uint_eq(stack_deadline(host.stack), TICK_NEVER);
    ignore();
}
END_TEST

START_TEST(waking_early_or_late_does_no_harm)
{
    host_create();
    stack_expire(host.stack, host.now - TICK_SEC);
    for (int i = 0; i < 300; i++)
        stack_expire(host.stack, host.now + (tick_t)i * 10 * TICK_MS);
    ck_assert_int_eq(address_state(&US6), CTL_ADDRESS_PREFERRED);
    host_destroy();
    host_create();
    host.now += 3600 * TICK_SEC;
    for (int i = 0; i < 4; i++) { /* one step of each timer a call */
        stack_expire(host.stack, host.now);
        host.now += 3600 * TICK_SEC;
    }
    ck_assert_int_eq(address_state(&US6), CTL_ADDRESS_PREFERRED);
    ignore();
}
END_TEST

/* Control */

START_TEST(addresses_are_paged)
{
    host.config.n_ifaces = 2;
    host_boot();
    struct ctl_address rows[2];
    struct ctl_request r = {.kind = CTL_ADDRESSES, .rows.address = rows, .max = 2};
    unsigned seen = 0, link_local = 0, second = 0;
    do {
        stack_control(host.stack, &r, host.now);
        for (uint32_t i = 0; i < r.n; i++) {
            seen++;
            link_local += rows[i].link_local;
            second += rows[i].iface == 1;
            ck_assert_int_eq(rows[i].state, CTL_ADDRESS_PREFERRED);
        }
        ck_assert_uint_eq(r.n, 2);
    } while (r.more);
    ck_assert_uint_eq(seen, 6);
    ck_assert_uint_eq(link_local, 2);
    ck_assert_uint_eq(second, 3);
}
END_TEST

START_TEST(neighbours_are_listed_and_flushed)
{
    host_boot();
    meet4();
    meet6();
    hear_echo4(8);
    ck_assert_int_eq(said()->icmp.type, ICMP_ECHO_REPLY);
    struct ctl_neighbour row;
    ck_assert(neighbour(&PEER4, &row));
    ck_assert_mac(row.mac, PEER_MAC);
    ck_assert_int_eq(row.state, CTL_NEIGHBOUR_DELAY);
    struct ctl_neighbour page[1];
    struct ctl_request r = {.kind = CTL_NEIGHBOURS, .rows.neighbour = page, .max = 1};
    unsigned seen = 0;
    do {
        stack_control(host.stack, &r, host.now);
        seen += r.n;
    } while (r.more);
    ck_assert_uint_eq(seen, 2);
    r = (struct ctl_request){.kind = CTL_NEIGHBOURS_FLUSH};
    stack_control(host.stack, &r, host.now);
    ck_assert_uint_eq(r.n, 2);
    ck_assert(!neighbour(&PEER4, &row));
    ck_assert_uint_eq(stack_deadline(host.stack), TICK_NEVER);
    hear_echo4(8); /* asked for anew */
    ck_assert_int_eq(said()->arp.op, ARP_REQUEST);
    r = (struct ctl_request){.kind = CTL_NEIGHBOURS_FLUSH};
    stack_control(host.stack, &r, host.now);
    dropped(DROP_ADMIN_DOWN); /* what waited */
}
END_TEST

/* Every allocation of a packet may fail, each alone: nothing crashes, nothing leaks. */
static void talk(void)
{
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &US4);
    hear_solicit(&PEER6, NULL, &US6, &PEER_MAC);
    hear_solicit(&OTHER6, &US6, &US6, NULL);
    hear_echo4(3000);
    hear_echo6(1400);
    frame_payload(&host.frame, 3000);
    frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO}, &PEER6, &US6);
    hear_fragments6(&PEER6, IP_PROTO_ICMPV6, 1448);
    frame_payload(&host.frame, 100);
    frame_push_udp(&host.frame, 1, 2, &PEER4, &US4);
    hear_ip4(&PEER4, &US4, IP_PROTO_UDP);
    frame_payload(&host.frame, 64);
    frame_push_frag6(&host.frame, &(struct ipv6_frag){.next = IP_PROTO_UDP, .more = true, .id = 9});
    hear_ip6(&PEER6, &US6, IP_PROTO_FRAGMENT);
    pass(100 * TICK_SEC);
    ignore();
}

static unsigned until_failure;
static struct pkt *(*true_alloc)(struct pkt_pool *pool);

static struct pkt *failing_alloc(struct pkt_pool *pool)
{
    return until_failure-- == 0 ? NULL : true_alloc(pool);
}

START_TEST(any_one_packet_that_cannot_be_had)
{
    unsigned failures = 0;
    host_destroy();
    for (unsigned k = 0; failures == k; k++) {
        host_setup();
        true_alloc = host.pool.pool.alloc;
        host.pool.pool.alloc = failing_alloc;
        host.iface[0].offload = k % 2 ? IFACE_TX_MULTI_SEGS : 0;
        until_failure = k;
        host_create();
        pass(4 * TICK_SEC);
        ignore();
        talk();
        failures += counter_drops(&host.counters, DROP_NO_MEMORY) > 0;
        host_destroy();
    }
    ck_assert_uint_gt(failures, 30);
}
END_TEST

START_TEST(a_pool_that_stays_empty)
{
    host_boot();
    meet4();
    meet6();
    for (size_t limit = 1; limit < 12; limit++) {
        frame_payload(&host.frame, 1472);
        frame_push_echo(&host.frame, ICMP_ECHO, 1, 1);
        hear_ip4(&PEER4, &US4, IP_PROTO_ICMP);
        ignore();
        frame_payload(&host.frame, 3000);
        frame_push_udp(&host.frame, 1, 2, &PEER4, &US4);
        frame_push_ip4(&host.frame,
                       &(struct ipv4_hdr){.src = PEER4, .dst = US4, .proto = IP_PROTO_UDP});
        frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
        struct pkt *p = heap_pkt(&host.pool, host.frame.at, host.frame.len, 0);
        host.pool.limit = host.pool.held + limit - 1;
        stack_input(host.stack, &p, 1, host.now);
        pass(TICK_SEC);
        host.pool.limit = SIZE_MAX;
        ignore();
    }
}
END_TEST

UNIT_MAIN("stack", host_setup, host_teardown, configurations_that_are_refused,
          memory_that_runs_out_while_it_is_created, frames_for_others, a_burst_is_taken_in_order,
          what_waits_goes_with_the_stack, copies_teach_but_are_not_counted,
          an_address_is_added_and_removed, what_was_going_on_goes_on, a_trial_goes_on_too,
          a_duplicate_is_tried_again, an_address_named_twice_is_one,
          other_gateways_make_other_neighbours, another_vlan_is_another_link,
          what_may_not_change_leaves_all_as_it_was, a_reload_is_no_way_around_the_error_limit,
          another_mtu_at_once, ipv6_off_and_on, a_quiet_stack_wants_nothing,
          waking_early_or_late_does_no_harm, addresses_are_paged, neighbours_are_listed_and_flushed,
          any_one_packet_that_cannot_be_had, a_pool_that_stays_empty)
