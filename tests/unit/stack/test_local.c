/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"
#include "stack/internal.h"

static struct ip_addr ip(const char *text)
{
    struct ip_addr a;
    ck_assert_msg(ip_parse(text, &a), "%s", text);
    return a;
}

static void set(unsigned iface, unsigned n, const char *const *text)
{
    struct iface_config *c = &host.iface[iface];
    c->n_addrs = (uint16_t)n;
    for (unsigned i = 0; i < n; i++)
        ck_assert(ip_prefix_parse(text[i], &c->addr[i]));
}

static struct iface *iface(unsigned i)
{
    return &host.stack->iface[i];
}

START_TEST(an_address_is_of_its_interface)
{
    host.config.n_ifaces = 2;
    host_boot();
    ck_assert_ptr_eq(local_on(iface(0), &US4)->iface, iface(0));
    ck_assert_ptr_null(local_on(iface(1), &US4));
    ck_assert_ptr_null(local_on(iface(0), &PEER4));
    ck_assert_ptr_eq(local_any(iface(1), &US4), local_on(iface(0), &US4));
    ck_assert_ptr_eq(local_any(iface(1), &US6), local_on(iface(0), &US6));
    ck_assert_ptr_null(local_any(iface(1), &PEER4));
}
END_TEST

/* RFC 4007 5 */
START_TEST(a_link_local_one_means_nothing_elsewhere)
{
    host.config.n_ifaces = 2;
    set(1, 2, (const char *[]){"169.254.3.4/16", "fe80::77/64"});
    host_boot();
    struct ip_addr v4 = ip("169.254.3.4"), v6 = ip("fe80::77");
    ck_assert_ptr_nonnull(local_any(iface(1), &v4));
    ck_assert_ptr_nonnull(local_any(iface(1), &v6));
    ck_assert_ptr_null(local_any(iface(0), &v4));
    ck_assert_ptr_null(local_any(iface(0), &v6));
    ck_assert_ptr_null(local_any(iface(1), &US_LL));
}
END_TEST

START_TEST(one_found_to_be_another_host_s_is_not_ours)
{
    host_create();
    hear_advert(&US6, &ALL_NODES6, &US6, &PEER_MAC, false, true);
    ck_assert_int_eq(address_state(&US6), CTL_ADDRESS_DUPLICATE);
    ck_assert_ptr_null(local_on(iface(0), &US6));
    ck_assert_ptr_null(local_any(iface(0), &US6));
}
END_TEST

/* Also after a change, and where networks are shared, contain each other, or differ in length. */
START_TEST(many_are_told_from_their_neighbours)
{
    set(0, 4, (const char *[]){"192.0.2.1/24", "192.0.2.2/24", "192.0.2.130/25", "10.0.0.65/30"});
    host_boot();
    for (unsigned round = 0; round < 2; round++) {
        bool all = round == 0;
        struct ip_addr a = ip("192.0.2.1"), b = ip("192.0.2.65"), c = ip("192.0.2.130");
        ck_assert_ptr_nonnull(local_on(iface(0), &a));
        ck_assert_ptr_null(local_on(iface(0), &b));
        ck_assert(!local_on(iface(0), &c) == !all);
        a = ip("192.0.2.255");
        b = ip("10.0.0.67");
        ck_assert(local_is_broadcast(iface(0), &a));
        ck_assert(local_is_broadcast(iface(0), &b) == all);
        struct route r;
        ck_assert(route_find(host.stack, NULL, &a, &r));
        ck_assert(ip_eq(&r.next_hop, &a));
        set(0, 2, (const char *[]){"192.0.2.1/24", "192.0.2.2/24"});
        ck_assert_int_eq(host_configure(), 0);
    }
}
END_TEST

START_TEST(broadcast_addresses)
{
    set(0, 3, (const char *[]){"192.0.2.1/24", "10.1.2.3/31", "10.9.9.9/32"});
    host_boot();
    static const struct {
        const char *text;
        bool is;
    } table[] = {{"255.255.255.255", true}, {"192.0.2.255", true},   {"192.0.2.254", false},
                 {"192.0.3.255", false},    {"10.1.2.3", false},     {"10.9.9.9", false},
                 {"2001:db8::1", false},    {"255.255.255.0", false}};
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct ip_addr a = ip(table[i].text);
        ck_assert_msg(local_is_broadcast(iface(0), &a) == table[i].is, "%s", table[i].text);
    }
}
END_TEST

START_TEST(groups_we_listen_to)
{
    set(0, 2, (const char *[]){"192.0.2.1/24", "2001:db8::abc:1234/64"});
    host_boot();
    static const struct {
        const char *text;
        bool is;
    } table[] = {{"224.0.0.1", true},          {"224.0.0.2", false},
                 {"239.1.1.1", false},         {"ff02::1", true},
                 {"ff01::1", false}, /* never from another node */
                 {"ff05::1", false},           {"ff02::2", false},
                 {"ff02::1:ffbc:1234", true},  {"ff02::1:ffbc:1235", false},
                 {"ff02::1:ff00:1", true}, /* of the link-local address */
                 {"ff05::1:ffbc:1234", false}, {"2001:db8::abc:1234", false}};
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct ip_addr a = ip(table[i].text);
        ck_assert_msg(local_is_group(iface(0), &a) == table[i].is, "%s", table[i].text);
    }
}
END_TEST

START_TEST(no_ipv6_groups_without_ipv6)
{
    host.iface[0].n_addrs = 1;
    host.iface[0].ipv6 = false;
    host_boot();
    struct ip_addr a = ip("ff02::1");
    ck_assert(!local_is_group(iface(0), &a));
    a = ip("224.0.0.1");
    ck_assert(local_is_group(iface(0), &a));
}
END_TEST

/* RFC 6724 5, rules 1, 2 and 8 */
START_TEST(the_best_source_for_a_destination)
{
    set(0, 6,
        (const char *[]){"192.0.2.1/24", "10.0.0.1/8", "169.254.7.7/16", "2001:db8::1/64",
                         "2001:db8:1::1/64", "fd00::1/64"});
    host_boot();
    static const struct {
        const char *to, *from;
    } table[] = {{"192.0.2.9", "192.0.2.1"},
                 {"10.3.3.3", "10.0.0.1"},
                 {"169.254.1.1", "169.254.7.7"},
                 {"198.51.100.1", "192.0.2.1"},
                 {"8.8.8.8", "10.0.0.1"}, /* the longer match, six bits */
                 {"192.0.2.1", "192.0.2.1"},
                 {"2001:db8::99", "2001:db8::1"},
                 {"2001:db8:1::99", "2001:db8:1::1"},
                 {"fd00::99", "fd00::1"},
                 {"fe80::99", "fe80::ff:fe00:1"},
                 {"ff02::1", "fe80::ff:fe00:1"},
                 {"ff0e::1", "fd00::1"},
                 {"fd00::1", "fd00::1"}};
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct ip_addr to = ip(table[i].to), from = ip(table[i].from);
        const struct local *l = local_source(iface(0), &to);
        ck_assert_msg(l && ip_eq(&l->prefix.addr, &from), "to %s", table[i].to);
    }
}
END_TEST

START_TEST(a_link_local_source_is_better_than_none)
{
    set(0, 0, NULL);
    host_boot();
    ck_assert_ip(local_source(iface(0), &FAR6)->prefix.addr, US_LL);
    ck_assert_ptr_null(local_source(iface(0), &FAR4));
}
END_TEST

START_TEST(a_tentative_address_is_no_source)
{
    host_create();
    ck_assert_ptr_null(local_source(iface(0), &PEER6));
    ck_assert_ptr_null(local_source(iface(0), &US6));
    ck_assert_ip(local_source(iface(0), &PEER4)->prefix.addr, US4);
}
END_TEST

UNIT_MAIN("local", host_setup, host_teardown, an_address_is_of_its_interface,
          a_link_local_one_means_nothing_elsewhere, one_found_to_be_another_host_s_is_not_ours,
          many_are_told_from_their_neighbours, broadcast_addresses, groups_we_listen_to,
          no_ipv6_groups_without_ipv6, the_best_source_for_a_destination,
          a_link_local_source_is_better_than_none, a_tentative_address_is_no_source)
