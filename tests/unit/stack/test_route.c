/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"
#include "stack/internal.h"

static struct ip_addr ip(const char *text)
{
    struct ip_addr a;
    ck_assert_msg(ip_parse(text, &a), "%s", text);
    return a;
}

static struct iface *iface(unsigned i)
{
    return &host.stack->iface[i];
}

#define NOWHERE 99u

/* From interface `from` (or NOWHERE: any) to `to`: by interface `by` (or NOWHERE) to `hop`. */
static void expect(unsigned from, const char *to, unsigned by, const char *hop)
{
    struct ip_addr dst = ip(to);
    struct route r = {0};
    bool found = route_find(host.stack, from == NOWHERE ? NULL : iface(from), &dst, &r);
    ck_assert_msg(found == (by != NOWHERE), "to %s", to);
    if (!found)
        return;
    struct ip_addr next = ip(hop);
    ck_assert_msg(r.iface == iface(by), "to %s", to);
    ck_assert_msg(ip_eq(&r.next_hop, &next), "to %s", to);
}

static void boot(void)
{
    host.config.n_ifaces = 2;
    host_boot();
}

START_TEST(neighbours_are_their_own_next_hop)
{
    boot();
    expect(NOWHERE, "192.0.2.77", 0, "192.0.2.77");
    expect(1, "192.0.2.77", 0, "192.0.2.77");
    expect(0, "203.0.113.9", 1, "203.0.113.9");
    expect(NOWHERE, "2001:db8::77", 0, "2001:db8::77");
    expect(NOWHERE, "2001:db8:b::77", 1, "2001:db8:b::77");
}
END_TEST

START_TEST(nothing_leads_outside_without_a_gateway)
{
    boot();
    expect(0, "198.51.100.9", NOWHERE, NULL);
    expect(NOWHERE, "2001:db8:ffff::9", NOWHERE, NULL);
}
END_TEST

START_TEST(the_gateway_of_the_interface_asked_for_comes_first)
{
    host.iface[0].gateway4 = ip("192.0.2.254");
    host.iface[0].gateway6 = ip("fe80::1");
    host.iface[1].gateway4 = ip("203.0.113.254");
    boot();
    expect(NOWHERE, "198.51.100.9", 0, "192.0.2.254");
    expect(0, "198.51.100.9", 0, "192.0.2.254");
    expect(1, "198.51.100.9", 1, "203.0.113.254");
    expect(1, "2001:db8:ffff::9", 0, "fe80::1"); /* the only one of its family */
    struct ip_addr g = ip("192.0.2.254"), g6 = ip("fe80::1");
    ck_assert(route_is_gateway(iface(0), &g));
    ck_assert(!route_is_gateway(iface(1), &g));
    ck_assert(route_is_gateway(iface(0), &g6));
    ck_assert(!route_is_gateway(iface(1), &g6));
    ck_assert(!route_is_gateway(iface(1), &IP_ADDR_ANY6)); /* none */
    struct ip_addr any4 = ip("0.0.0.0");
    ck_assert(!route_is_gateway(iface(1), &any4));
}
END_TEST

START_TEST(the_longest_network_wins)
{
    ck_assert(ip_prefix_parse("10.0.0.1/8", &host.iface[0].addr[0]));
    ck_assert(ip_prefix_parse("10.1.0.1/16", &host.iface[1].addr[0]));
    boot();
    expect(NOWHERE, "10.2.0.9", 0, "10.2.0.9");
    expect(NOWHERE, "10.1.0.9", 1, "10.1.0.9");
    expect(0, "10.1.0.9", 1, "10.1.0.9");
}
END_TEST

START_TEST(of_two_interfaces_on_one_network_the_one_asked_for)
{
    ck_assert(ip_prefix_parse("192.0.2.8/24", &host.iface[1].addr[0]));
    boot();
    expect(NOWHERE, "192.0.2.77", 0, "192.0.2.77");
    expect(0, "192.0.2.77", 0, "192.0.2.77");
    expect(1, "192.0.2.77", 1, "192.0.2.77");
}
END_TEST

START_TEST(groups_and_link_local_need_an_interface)
{
    static const char *const table[] = {"fe80::77", "ff02::1", "ff0e::1", "224.0.0.1",
                                        "255.255.255.255"};
    boot();
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        expect(NOWHERE, table[i], NOWHERE, NULL);
        expect(0, table[i], 0, table[i]);
        expect(1, table[i], 1, table[i]);
    }
}
END_TEST

START_TEST(an_address_without_a_network_has_no_neighbours)
{
    host.iface[0].addr[0].len = 32;
    host.iface[0].addr[1].len = 128;
    boot();
    expect(NOWHERE, "192.0.2.2", NOWHERE, NULL);
    expect(NOWHERE, "2001:db8::2", NOWHERE, NULL);
    expect(NOWHERE, "192.0.2.1", 0, "192.0.2.1");
}
END_TEST

/* The reply to one from outside goes by the gateway, and the gateway is what is resolved. */
START_TEST(a_reply_to_afar_goes_by_the_gateway)
{
    host.iface[0].gateway4 = PEER4;
    host.iface[0].gateway6 = PEER_LL;
    host_boot();
    frame_payload(&host.frame, 8);
    frame_push_echo(&host.frame, ICMP_ECHO, 1, 2);
    hear_ip4(&FAR4, &US4, IP_PROTO_ICMP);
    ck_assert_ip(said()->arp.target_ip, PEER4);
    hear_arp(ARP_REPLY, &US_MAC, &PEER_MAC, &PEER4, &US4);
    ck_assert_ip(said()->dst, FAR4);
    frame_payload(&host.frame, 8);
    frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO}, &FAR6, &US6);
    hear_ip6(&FAR6, &US6, IP_PROTO_ICMPV6);
    const struct frame_seen *s = said();
    ck_assert_ip(s->nd.target, PEER_LL);
    ck_assert_ip(s->src, US_LL);
    hear_advert(&PEER_LL, &US_LL, &PEER_LL, &PEER_MAC, true, true);
    s = said();
    ck_assert_ip(s->dst, FAR6);
    ck_assert_mac(s->eth.dst, PEER_MAC);
    struct ctl_neighbour row;
    ck_assert(neighbour(&PEER4, &row) && row.router);
    ck_assert(neighbour(&PEER_LL, &row) && row.router);
    no_drops();
}
END_TEST

UNIT_MAIN("route", host_setup, host_teardown, neighbours_are_their_own_next_hop,
          nothing_leads_outside_without_a_gateway,
          the_gateway_of_the_interface_asked_for_comes_first, the_longest_network_wins,
          of_two_interfaces_on_one_network_the_one_asked_for,
          groups_and_link_local_need_an_interface, an_address_without_a_network_has_no_neighbours,
          a_reply_to_afar_goes_by_the_gateway)
