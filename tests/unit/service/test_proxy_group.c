/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "service/proxy_internal.h"
#include "support/unit.h"

#define NONE     PROXY_GROUP_NONE
#define LOOP     PROXY_GROUP_LOOPBACK
#define PRIVATE  PROXY_GROUP_PRIVATE
#define LINK     PROXY_GROUP_LINK_LOCAL
#define METADATA PROXY_GROUP_METADATA
#define MULTI    PROXY_GROUP_MULTICAST
#define RESERVED PROXY_GROUP_RESERVED

static void is(const char *text, enum proxy_group expected)
{
    struct ip_addr a;
    ck_assert_msg(ip_parse(text, &a), "%s", text);
    enum proxy_group g = proxy_group_of(&a);
    ck_assert_msg(g == expected, "%s: %s, not %s", text, proxy_group_name(g),
                  proxy_group_name(expected));
}

/* The borders of a block: what is before its first address, in it, and behind its last. */
struct border {
    const char *before;
    enum proxy_group group_before;
    const char *first;
    const char *last;
    enum proxy_group group;
    const char *after;
    enum proxy_group group_after;
};

static void check(const struct border *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (b[i].before)
            is(b[i].before, b[i].group_before);
        is(b[i].first, b[i].group);
        is(b[i].last, b[i].group);
        if (b[i].after)
            is(b[i].after, b[i].group_after);
    }
}

START_TEST(borders_of_ipv4)
{
    static const struct border border[] = {
        {NULL, 0, "0.0.0.0", "0.255.255.255", RESERVED, "1.0.0.0", NONE},
        {"9.255.255.255", NONE, "10.0.0.0", "10.255.255.255", PRIVATE, "11.0.0.0", NONE},
        {"100.63.255.255", NONE, "100.64.0.0", "100.127.255.255", PRIVATE, "100.128.0.0", NONE},
        {"126.255.255.255", NONE, "127.0.0.0", "127.255.255.255", LOOP, "128.0.0.0", NONE},
        {"169.253.255.255", NONE, "169.254.0.0", "169.254.255.255", LINK, "169.255.0.0", NONE},
        {"172.15.255.255", NONE, "172.16.0.0", "172.31.255.255", PRIVATE, "172.32.0.0", NONE},
        {"191.255.255.255", NONE, "192.0.0.0", "192.0.0.255", RESERVED, "192.0.1.0", NONE},
        {"192.0.1.255", NONE, "192.0.2.0", "192.0.2.255", RESERVED, "192.0.3.0", NONE},
        {"192.88.98.255", NONE, "192.88.99.0", "192.88.99.255", RESERVED, "192.88.100.0", NONE},
        {"192.167.255.255", NONE, "192.168.0.0", "192.168.255.255", PRIVATE, "192.169.0.0", NONE},
        {"198.17.255.255", NONE, "198.18.0.0", "198.19.255.255", RESERVED, "198.20.0.0", NONE},
        {"198.51.99.255", NONE, "198.51.100.0", "198.51.100.255", RESERVED, "198.51.101.0", NONE},
        {"203.0.112.255", NONE, "203.0.113.0", "203.0.113.255", RESERVED, "203.0.114.0", NONE},
        {"223.255.255.255", NONE, "224.0.0.0", "239.255.255.255", MULTI, "240.0.0.0", RESERVED},
        {"239.255.255.255", MULTI, "240.0.0.0", "255.255.255.254", RESERVED, "255.255.255.255",
         MULTI},
    };
    check(border, sizeof(border) / sizeof(border[0]));
}
END_TEST

START_TEST(borders_of_ipv6)
{
    static const struct border border[] = {
        {NULL, 0, "::", "::", RESERVED, "::1", LOOP},
        {"::", RESERVED, "::1", "::1", LOOP, "::2", RESERVED},
        {"ff:ffff::", RESERVED, "100::", "100::ffff:ffff:ffff:ffff", RESERVED,
         "100:0:0:1::", RESERVED},
        {"1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", RESERVED,
         "2000::", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NONE, NULL, 0},
        {"2001:0:808:808:ffff:ffff:f7f7:f7f7", NONE,
         "2001:1::", "2001:2:ffff:ffff:ffff:ffff:ffff:ffff", RESERVED, "2001:3::", NONE},
        {"2001:3:ffff:ffff:ffff:ffff:ffff:ffff", NONE,
         "2001:4::", "2001:4:111:ffff:ffff:ffff:ffff:ffff", RESERVED, "2001:4:112::", NONE},
        {"2001:4:112:ffff:ffff:ffff:ffff:ffff", NONE,
         "2001:4:113::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", RESERVED, "2001:20::", NONE},
        {"2001:3f:ffff:ffff:ffff:ffff:ffff:ffff", NONE,
         "2001:40::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", RESERVED, "2001:200::", NONE},
        {"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", NONE,
         "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", RESERVED, "2001:db9::", NONE},
        {"3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NONE,
         "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", RESERVED, "3fff:1000::", NONE},
        {"3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NONE,
         "4000::", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", RESERVED, "5f00::", RESERVED},
        {"fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", RESERVED,
         "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", PRIVATE, "fe00::", RESERVED},
        {"fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", RESERVED,
         "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", LINK, "fec0::", PRIVATE},
        {"febf::", LINK, "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", PRIVATE,
         "ff00::", MULTI},
        {"feff::", PRIVATE, "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", MULTI, NULL, 0},
    };
    check(border, sizeof(border) / sizeof(border[0]));
    is("64:ff9b::ffff:ffff", MULTI); /* what is in it says */
    is("64:ff9b:0:ffff:ffff:ffff:ffff:ffff", RESERVED);
    is("64:ff9b:1::", RESERVED);
    is("64:ff9b:1:ffff:ffff:ffff:ffff:ffff", MULTI);
    is("64:ff9b:2::", RESERVED);
}
END_TEST

/* What the registries call globally reachable stays so. */
START_TEST(special_but_reachable)
{
    static const char *const text[] = {"192.31.196.1", "192.52.193.1",   "192.175.48.1",
                                       "2001:3::1",    "2001:4:112::1",  "2001:20::1",
                                       "2001:30::1",   "2620:4f:8000::1"};
    for (unsigned i = 0; i < sizeof(text) / sizeof(text[0]); i++)
        is(text[i], NONE);
    is("192.0.0.9", RESERVED);
    is("2001:1::1", RESERVED);
}
END_TEST

START_TEST(metadata_comes_first)
{
    static const char *const text[] = {
        "169.254.169.254",    "169.254.170.2", "169.254.170.23", "169.254.42.42", "100.100.100.200",
        "168.63.129.16",      "192.0.0.192",   "fd00:ec2::254",  "fd00:ec2::23",  "fd20:ce::254",
        "fd00:c1::a9fe:a9fe", "fd00:42::42",   "fe80::a9fe:a9fe"};
    for (unsigned i = 0; i < sizeof(text) / sizeof(text[0]); i++)
        is(text[i], METADATA);
    is("169.254.169.253", LINK);
    is("169.254.169.255", LINK);
    is("100.100.100.199", PRIVATE);
    is("168.63.129.15", NONE);
    is("168.63.129.17", NONE);
    is("fd00:ec2::253", PRIVATE);
    is("fd20:ce::255", PRIVATE);
    is("64:ff9b::169.254.169.254", METADATA);
    is("::169.254.169.254", METADATA);
}
END_TEST

/* Each form with an address of each kind in it. */
START_TEST(ipv4_within_ipv6)
{
    is("64:ff9b::8.8.8.8", NONE);
    is("64:ff9b::127.0.0.1", LOOP);
    is("64:ff9b::10.1.2.3", PRIVATE);
    is("64:ff9b::0.0.0.0", RESERVED);
    is("64:ff9b::255.255.255.255", MULTI);
    is("64:ff9b::1:a00:1", RESERVED); /* next to it: /96 only */
    is("2002:808:808::1", NONE);
    is("2002:7f00:1::1", LOOP);
    is("2002:c0a8:101::", PRIVATE);
    is("2002:a9fe:a9fe::", METADATA);
    is("2002:e000:1::", MULTI);
    is("2003:7f00:1::1", NONE);
    is("2001:0:808:808:0:0:f7f7:f7f7", NONE);  /* Teredo: 8.8.8.8 and 8.8.8.8 */
    is("2001:0:a00:1:0:0:f7f7:f7f7", PRIVATE); /* the server is 10.0.0.1 */
    is("2001:0:808:808:0:0:80ff:fffe", LOOP);  /* the client is 127.0.0.1 */
    is("2001:0:808:808:0:0:5601:5601", METADATA);
    is("2001:0:808:808:0:0:7f00:1", NONE); /* not inverted: 128.255.255.254 */
    is("::8.8.8.8", RESERVED);             /* of a block that is given up */
    is("::127.0.0.1", LOOP);
    is("::192.168.0.1", PRIVATE);
    is("::ffff:0:10.0.0.1", PRIVATE);
    is("::ffff:0:8.8.8.8", RESERVED);
}
END_TEST

/* RFC 6052 2.2: for a prefix of 48, 56, 64 and 96 bits, the byte of bits 64 to 71 left out. */
START_TEST(local_nat64_in_each_form)
{
    is("64:ff9b:1:7f00:0:100::", LOOP);
    is("64:ff9b:1:aa7f:0:1::", LOOP);
    is("64:ff9b:1:aaaa:7f:0:100:0", LOOP);
    is("64:ff9b:1:aaaa::127.0.0.1", LOOP);
    is("64:ff9b:1::169.254.169.254", METADATA);
    is("64:ff9b:1:808:8:800::", RESERVED); /* always by itself */
}
END_TEST

START_TEST(groups_have_names)
{
    ck_assert_str_eq(proxy_group_name(PROXY_GROUP_LOOPBACK), "loopback");
    ck_assert_str_eq(proxy_group_name(PROXY_GROUP_OWN), "own");
    ck_assert_str_eq(proxy_group_name(PROXY_GROUP_NONE), "none");
}
END_TEST

START_TEST(forms_begin_with_the_address)
{
    struct ip_addr a, form[PROXY_FORMS_MAX];
    ck_assert(ip_parse("2001:0:808:404:0:0:f7f7:f7f5", &a));
    ck_assert_uint_eq(proxy_forms(&a, form), 3);
    ck_assert(ip_eq(&form[0], &a));
    ck_assert(ip_is_v4(&form[1]) && ip_v4(&form[1]) == 0x08080404);
    ck_assert(ip_is_v4(&form[2]) && ip_v4(&form[2]) == 0x0808080a);
    ck_assert(ip_parse("192.0.2.1", &a));
    ck_assert_uint_eq(proxy_forms(&a, form), 1);
    ck_assert(ip_parse("64:ff9b:1::", &a));
    ck_assert_uint_eq(proxy_forms(&a, form), PROXY_FORMS_MAX);
    ck_assert(ip_parse("::1", &a));
    ck_assert_uint_eq(proxy_forms(&a, form), 1);
}
END_TEST

static bool is_ours(void *ctx, const struct ip_addr *a)
{
    return ip_eq(ctx, a);
}

START_TEST(an_address_stands_for_those_within)
{
    struct ip_addr a, ours = ip_from_v4(0x08080404);
    ck_assert(ip_parse("2001:0:808:404:0:0:f7f7:f7f5", &a));
    ck_assert(proxy_stands_for(&a, is_ours, &ours));
    ck_assert(proxy_stands_for(&a, is_ours, &a));
    ours = ip_from_v4(0x08080405);
    ck_assert(!proxy_stands_for(&a, is_ours, &ours));
}
END_TEST

UNIT_MAIN("proxy_group", NULL, NULL, borders_of_ipv4, borders_of_ipv6, special_but_reachable,
          metadata_comes_first, ipv4_within_ipv6, local_nat64_in_each_form, groups_have_names,
          forms_begin_with_the_address, an_address_stands_for_those_within)
