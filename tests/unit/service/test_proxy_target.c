/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "service/proxy_internal.h"
#include "support/unit.h"

static struct proxy_target t;

static bool reads(const char *text)
{
    return proxy_target_of((struct http_text){text, (uint32_t)strlen(text)}, &t);
}

static void is(const char *text, const char *name, uint16_t port)
{
    ck_assert_msg(reads(text), "%s", text);
    ck_assert(!t.literal);
    ck_assert_str_eq(t.name, name);
    ck_assert_uint_eq(t.port, port);
}

static void is_literal(const char *text, const char *name, const char *addr, uint16_t port)
{
    struct ip_addr a;
    ck_assert_msg(reads(text), "%s", text);
    ck_assert(t.literal);
    ck_assert_str_eq(t.name, name);
    ck_assert(ip_parse(addr, &a) && ip_eq(&a, &t.addr));
    ck_assert_uint_eq(t.port, port);
}

START_TEST(names)
{
    is("example.com:443", "example.com", 443);
    is("EXAMPLE.Com:443", "example.com", 443);
    is("example.com.:443", "example.com", 443);
    is("localhost:1", "localhost", 1);
    is("a:65535", "a", 65535);
    is("_dmarc.ex_ample.com:80", "_dmarc.ex_ample.com", 80);
    is("xn--bcher-kva.example:80", "xn--bcher-kva.example", 80);
    is("3com.com:80", "3com.com", 80);
    is("1.2.3.com:80", "1.2.3.com", 80);
    is("a.0xyz:80", "a.0xyz", 80);
    is("a.1a:80", "a.1a", 80);
}
END_TEST

START_TEST(addresses)
{
    is_literal("192.0.2.1:80", "192.0.2.1", "192.0.2.1", 80);
    is_literal("[2001:DB8::1]:443", "2001:DB8::1", "2001:db8::1", 443);
    is_literal("[::]:1", "::", "::", 1);
    is_literal("[64:ff9b::1.2.3.4]:1", "64:ff9b::1.2.3.4", "64:ff9b::102:304", 1);
    is_literal("255.255.255.255:9", "255.255.255.255", "255.255.255.255", 9);
}
END_TEST

START_TEST(what_is_none)
{
    static const char *const text[] = {
        "", ":", ":80", "a", "a:", "example.com", "192.0.2.1", "[::1]", "[::1]:", "::1", "::1:80",
        /* ports */
        "a:0", "a:65536", "a:99999", "a:100000", "a:080", "a:00080", "a:+80", "a:-80", "a: 80",
        "a:80 ", "a:8a", "a:0x50", "a:80:90", "a:80/", "a:http",
        /* more than host and port */
        "user@a:80", "user:pass@a:80", "@a:80", "a@:80", "http://a:80", "//a:80", "a/b:80",
        "a?b:80", "a#b:80", "a\\b:80", "a b:80", " a:80", "a\t:80", "%61:80", "a%2eb:80", "a,b:80",
        "*:80", "*.a:80", "a'b:80", "a\x7f:80", "\xc3\xa9.com:80",
        /* labels */
        ".:80", "..:80", ".a:80", "a..:80", "a..b:80", "-a:80", "a-:80", "a.-b:80", "a-.b:80",
        "-:80",
        /* addresses in forms of old */
        "1:80", "1.2:80", "127.1:80", "1.2.3:80", "1.2.3.4.:80", "1.2.3.4.5:80", "1.2.3.256:80",
        "010.0.0.1:80", "1.2.3.04:80", "0x7f.1:80", "0x7f000001:80", "0x:80", "2130706433:80",
        "127.0.0.0x1:80", "127.0.0.0X1:80", "a.1:80", "a.0xff:80", "a.0x.:80", "00:80",
        /* IPv6 */
        "[]:80", "[:]:80", "[::1:80", "::1]:80", "[::1]80", "[::1]x:80", "x[::1]:80",
        "[fe80::1%eth0]:80", "[fe80::1%25eth0]:80", "[::ffff:1.2.3.4]:80", "[1.2.3.4]:80",
        "[example.com]:80", "[v1.a]:80", "[::1/128]:80", "[[::1]]:80", "[::1]]:80", "[1:2]:80",
        "[2001:db8:0000:0000:0000:0000:0000:0000000000000000001]:80", "2001:db8::1:80"};
    for (unsigned i = 0; i < sizeof(text) / sizeof(text[0]); i++)
        ck_assert_msg(!reads(text[i]), "%s", text[i]);
}
END_TEST

START_TEST(a_nul_ends_nothing)
{
    ck_assert(!proxy_target_of(HTTP_TEXT("a\0:80"), &t));
    ck_assert(!proxy_target_of(HTTP_TEXT("127.0.0.1\0:80"), &t));
    ck_assert(!proxy_target_of(HTTP_TEXT("[::1\0]:80"), &t));
    ck_assert(!proxy_target_of(HTTP_TEXT("a:80\0"), &t));
}
END_TEST

/* Labels of these many bytes, then ":80". */
static bool reads_labels(const unsigned *len, unsigned n, const char *end)
{
    char text[512];
    size_t at = 0;
    for (unsigned i = 0; i < n; i++) {
        if (i > 0)
            text[at++] = '.';
        memset(text + at, 'a', len[i]);
        at += len[i];
    }
    snprintf(text + at, sizeof(text) - at, "%s:80", end);
    return reads(text);
}

START_TEST(lengths)
{
    ck_assert(reads_labels((unsigned[]){63}, 1, ""));
    ck_assert(!reads_labels((unsigned[]){64}, 1, ""));
    ck_assert(reads_labels((unsigned[]){63, 63, 63, 61}, 4, "")); /* 253 */
    ck_assert_uint_eq(strlen(t.name), PROXY_NAME_MAX);
    ck_assert(reads_labels((unsigned[]){63, 63, 63, 61}, 4, "."));
    ck_assert_uint_eq(strlen(t.name), PROXY_NAME_MAX);
    ck_assert(!reads_labels((unsigned[]){63, 63, 63, 62}, 4, ""));
    ck_assert(!reads_labels((unsigned[]){63, 63, 63, 63, 63}, 5, ""));
    ck_assert(!proxy_target_of((struct http_text){NULL, 0}, &t));
}
END_TEST

UNIT_MAIN("proxy_target", NULL, NULL, names, addresses, what_is_none, a_nul_ends_nothing, lengths)
