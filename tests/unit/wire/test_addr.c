/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/addr.h"

#include <stdio.h>

#include "support/unit.h"

static struct ip_addr ip(const char *text)
{
    struct ip_addr a;
    ck_assert_msg(ip_parse(text, &a), "%s", text);
    return a;
}

static struct ip_prefix prefix(const char *text)
{
    struct ip_prefix p;
    ck_assert_msg(ip_prefix_parse(text, &p), "%s", text);
    return p;
}

static struct mac_addr mac(const char *text)
{
    struct mac_addr m;
    ck_assert_msg(mac_parse(text, &m), "%s", text);
    return m;
}

static void expect_text(const char *in, const char *out)
{
    char text[IP_ADDR_TEXT];
    struct ip_addr a = ip(in);
    ck_assert_uint_eq(ip_format(&a, text), strlen(out));
    ck_assert_str_eq(text, out);
}

START_TEST(formats_canonically)
{
    expect_text("192.0.2.1", "192.0.2.1");
    expect_text("0.0.0.0", "0.0.0.0");
    expect_text("255.255.255.255", "255.255.255.255");
    expect_text("10.100.9.99", "10.100.9.99");
    expect_text("::", "::");
    expect_text("::1", "::1");
    expect_text("1::", "1::");
    /* RFC 5952 4.1, 4.3 */
    expect_text("2001:0DB8:0000:0000:0000:0000:0000:0001", "2001:db8::1");
    /* RFC 5952 4.2.2: one group of zeros stays */
    expect_text("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1");
    expect_text("2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1");
    /* RFC 5952 4.2.3: the longest run, the first of equals */
    expect_text("2001:0:0:1:0:0:0:1", "2001:0:0:1::1");
    expect_text("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1");
    expect_text("1:2:3:4:5:6:0:0", "1:2:3:4:5:6::");
    expect_text("0:0:3:4:5:6:7:8", "::3:4:5:6:7:8");
    expect_text("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    expect_text("1020:304:50:6:7000:800:90:a", "1020:304:50:6:7000:800:90:a");
    /* RFC 4291 2.2: the last two groups as a dotted quad */
    expect_text("64:ff9b::192.0.2.33", "64:ff9b::c000:221");
    expect_text("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304");
}
END_TEST

START_TEST(refuses_what_is_not_an_address)
{
    static const char *const bad[] = {
        "",
        " ",
        "1",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.",
        ".1.2.3",
        "1.2.3.256",
        "1.2.3.04",
        "00.1.2.3",
        "1.2.3.4 ",
        " 1.2.3.4",
        "1.2.3.a",
        "1..2.3",
        "1.2.3.1000",
        "+1.2.3.4",
        "0x1.2.3.4",
        "1.2.3.4/24",
        ":",
        ":::",
        "1:",
        ":1",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7:8::",
        "::1:2:3:4:5:6:7:8",
        "1::2:3:4:5:6:7:8",
        "1::2::3",
        "12345::",
        "g::",
        "1:2:3:4:5:6:7:1.2.3.4",
        "1.2.3.4::",
        "::1.2.3.4:5",
        "::1.2.3",
        "::1.2.3.4.5",
        "fe80::1%eth0",
        "::1 ",
        "::ffff:1.2.3.4",
        "::ffff:102:304",
        "0:0:0:0:0:ffff:0:0",
        "::-1",
        "1:::2",
    };
    struct ip_addr before = ip("2001:db8::7");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ip_addr a = before;
        ck_assert_msg(!ip_parse(bad[i], &a), "%s", bad[i]);
        ck_assert_msg(ip_eq(&a, &before), "%s changed its result", bad[i]);
    }
}
END_TEST

START_TEST(parse_undoes_format)
{
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        struct ip_addr a;
        for (int i = 0; i < 16; i += 2) {
            seed = seed * 1664525 + 1013904223;
            /* Many zero groups, so that every place of "::" comes up. */
            bool zero = seed >> 30 != 0;
            a.b[i] = zero ? 0 : (uint8_t)(seed >> 8);
            a.b[i + 1] = zero ? 0 : (uint8_t)(seed >> 16);
        }
        char text[IP_ADDR_TEXT];
        size_t n = ip_format(&a, text);
        ck_assert_uint_lt(n, IP_ADDR_TEXT);
        struct ip_addr b;
        ck_assert_msg(ip_parse(text, &b), "%s", text);
        ck_assert_msg(ip_eq(&a, &b), "%s", text);
    }
}
END_TEST

START_TEST(mac_text)
{
    struct mac_addr m = mac("02:Ab:00:0c:ff:9e");
    char text[MAC_ADDR_TEXT];
    ck_assert_uint_eq(mac_format(&m, text), 17);
    ck_assert_str_eq(text, "02:ab:00:0c:ff:9e");
    static const char *const bad[] = {"",
                                      "02:ab:00:0c:ff",
                                      "02:ab:00:0c:ff:9e:",
                                      "2:ab:00:0c:ff:9e",
                                      "02-ab-00-0c-ff-9e",
                                      "02:ab:00:0c:ff:9g",
                                      "002:ab:00:0c:ff:9e",
                                      "02:ab:00:0c:ff:9e ",
                                      "02:ab:00:0c:ff:9"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(!mac_parse(bad[i], &m), "%s", bad[i]);
    ck_assert(!mac_is_multicast(&m));
}
END_TEST

START_TEST(prefix_text)
{
    struct ip_prefix p = prefix("192.0.2.77/24");
    ck_assert_uint_eq(p.len, 24);
    ck_assert_uint_eq(ip_v4(&p.addr), 0xc000024d);
    ck_assert_uint_eq(prefix("192.0.2.1").len, 32);
    ck_assert_uint_eq(prefix("2001:db8::1").len, 128);
    ck_assert_uint_eq(prefix("0.0.0.0/0").len, 0);
    ck_assert_uint_eq(prefix("::/128").len, 128);
    static const char *const bad[] = {"",       "/24",          "192.0.2.1/", "192.0.2.1/33",
                                      "::/129", "::/ 1",        "::/1 ",      "::/01",
                                      "::/1/2", "192.0.2.1/-1", "::/0064",    "x/8"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(!ip_prefix_parse(bad[i], &p), "%s", bad[i]);
}
END_TEST

static bool inside(const char *net, const char *addr)
{
    struct ip_prefix p = prefix(net);
    struct ip_addr a = ip(addr);
    return ip_in_prefix(&p, &a);
}

START_TEST(prefix_holds)
{
    ck_assert(inside("192.0.2.0/24", "192.0.2.255"));
    ck_assert(!inside("192.0.2.0/24", "192.0.3.0"));
    ck_assert(inside("192.0.2.129/25", "192.0.2.130"));
    ck_assert(!inside("192.0.2.129/25", "192.0.2.127"));
    ck_assert(inside("192.0.2.1/32", "192.0.2.1"));
    ck_assert(!inside("192.0.2.1/32", "192.0.2.0"));
    ck_assert(inside("0.0.0.0/0", "255.255.255.255"));
    ck_assert(inside("2001:db8::/32", "2001:db8:ffff::"));
    ck_assert(!inside("2001:db8::/33", "2001:db8:8000::"));
    ck_assert(inside("fe80::/10", "febf::1"));
    ck_assert(!inside("fe80::/10", "fec0::1"));
    ck_assert(inside("::/0", "2001:db8::1"));
    /* Never across families. */
    ck_assert(!inside("::/0", "192.0.2.1"));
    ck_assert(!inside("0.0.0.0/0", "::1"));
}
END_TEST

static bool broadcast(const char *net, const char *addr)
{
    struct ip_prefix p = prefix(net);
    struct ip_addr a = ip(addr);
    return ip_is_subnet_broadcast(&p, &a);
}

START_TEST(broadcast_of_a_subnet)
{
    ck_assert(broadcast("192.0.2.1/24", "192.0.2.255"));
    ck_assert(!broadcast("192.0.2.1/24", "192.0.2.254"));
    ck_assert(!broadcast("192.0.2.1/24", "192.0.3.255"));
    ck_assert(broadcast("192.0.2.1/30", "192.0.2.3"));
    ck_assert(!broadcast("192.0.2.0/31", "192.0.2.1"));
    ck_assert(!broadcast("192.0.2.1/32", "192.0.2.1"));
    ck_assert(!broadcast("2001:db8::/64", "2001:db8::ffff:ffff:ffff:ffff"));
}
END_TEST

enum kind { UNSPECIFIED = 1, LOOPBACK = 2, MULTICAST = 4, LINK_LOCAL = 8, BROADCAST = 16 };

static int kinds(const char *text)
{
    struct ip_addr a = ip(text);
    return (ip_is_unspecified(&a) ? UNSPECIFIED : 0) | (ip_is_loopback(&a) ? LOOPBACK : 0) |
           (ip_is_multicast(&a) ? MULTICAST : 0) | (ip_is_link_local(&a) ? LINK_LOCAL : 0) |
           (ip_is_limited_broadcast(&a) ? BROADCAST : 0);
}

START_TEST(kinds_of_address)
{
    ck_assert_int_eq(kinds("0.0.0.0"), UNSPECIFIED);
    ck_assert_int_eq(kinds("::"), UNSPECIFIED);
    ck_assert_int_eq(kinds("127.255.0.1"), LOOPBACK);
    ck_assert_int_eq(kinds("::1"), LOOPBACK);
    ck_assert_int_eq(kinds("224.0.0.1"), MULTICAST);
    ck_assert_int_eq(kinds("239.255.255.255"), MULTICAST);
    ck_assert_int_eq(kinds("240.0.0.1"), 0);
    ck_assert_int_eq(kinds("223.255.255.255"), 0);
    ck_assert_int_eq(kinds("ff02::1"), MULTICAST);
    ck_assert_int_eq(kinds("169.254.1.1"), LINK_LOCAL);
    ck_assert_int_eq(kinds("169.253.1.1"), 0);
    ck_assert_int_eq(kinds("fe80::1"), LINK_LOCAL);
    ck_assert_int_eq(kinds("febf::1"), LINK_LOCAL);
    ck_assert_int_eq(kinds("fec0::1"), 0);
    ck_assert_int_eq(kinds("255.255.255.255"), BROADCAST);
    ck_assert_int_eq(kinds("2001:db8::ffff:ffff"), 0);
}
END_TEST

START_TEST(derived_addresses)
{
    struct ip_addr a = ip("2001:db8::4a12:3456");
    struct ip_addr group = ip_solicited_node(&a);
    struct ip_addr expect = ip("ff02::1:ff12:3456");
    ck_assert(ip_eq(&group, &expect));

    struct mac_addr m = mac("52:54:00:12:34:56");
    struct ip_addr local = ip_link_local_of(&m);
    expect = ip("fe80::5054:ff:fe12:3456");
    expect.b[8] = 0x50; /* 0x52 with the universal/local bit inverted */
    ck_assert(ip_eq(&local, &expect));

    struct mac_addr group_mac = mac_of_multicast(&group);
    struct mac_addr expect_mac = mac("33:33:ff:12:34:56");
    ck_assert(mac_eq(&group_mac, &expect_mac));
    ck_assert(mac_is_multicast(&group_mac));

    struct ip_addr v4 = ip("239.129.2.3");
    group_mac = mac_of_multicast(&v4);
    expect_mac = mac("01:00:5e:01:02:03"); /* RFC 1112 6.4: the low 23 bits */
    ck_assert(mac_eq(&group_mac, &expect_mac));
}
END_TEST

UNIT_MAIN("addr", NULL, NULL, formats_canonically, refuses_what_is_not_an_address,
          parse_undoes_format, mac_text, prefix_text, prefix_holds, broadcast_of_a_subnet,
          kinds_of_address, derived_addresses)
