/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/text.h"

#include "support/unit.h"

#define LOWER   "abcdefghijklmnopqrstuvwxyz"
#define UPPER   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"
#define SYMBOLS "!#$%&'*+-.^_`|~" /* RFC 9110 5.6.2, tchar */
#define LONGEST 26u

static char *heap; /* a sanitizer sees a read past its end */

static struct http_text on_heap(const char *p, uint32_t n)
{
    heap = malloc(n);
    ck_assert_ptr_nonnull(heap);
    memcpy(heap, p, n);
    return (struct http_text){heap, n};
}

static bool is_in(const char *set, int byte)
{
    return byte != 0 && strchr(set, byte);
}

/* Each byte, at each place, of texts of each length. */
static void each(bool (*check)(struct http_text), const char *filler, bool (*allowed)(int byte))
{
    for (uint32_t n = 3; n <= LONGEST; n++)
        for (uint32_t at = 1; at + 1 < n; at++)
            for (int byte = 0; byte < 256; byte++) {
                char bytes[LONGEST];
                memcpy(bytes, filler, n);
                bytes[at] = (char)byte;
                struct http_text t = on_heap(bytes, n);
                bool ok = check(t);
                free(heap);
                ck_assert_msg(ok == allowed(byte), "byte %#x at %u of %u", (unsigned)byte, at, n);
            }
}

static bool in_name(int byte)
{
    return is_in(LOWER DIGITS SYMBOLS, byte);
}

static bool in_token(int byte)
{
    return is_in(LOWER UPPER DIGITS SYMBOLS, byte);
}

static bool in_value(int byte)
{
    return byte == '\t' || (byte >= ' ' && byte != 0x7f);
}

static bool in_path(int byte)
{
    return byte > ' ' && byte != 0x7f && byte != '#';
}

static bool in_scheme(int byte)
{
    return is_in(LOWER UPPER DIGITS "+-.", byte);
}

START_TEST(names)
{
    each(h2_text_is_name, "abc-defghijklmnopqrstuvwxyz", in_name);
    ck_assert(!h2_text_is_name(HTTP_TEXT("")));
    ck_assert(h2_text_is_name(HTTP_TEXT("x")));
    ck_assert(!h2_text_is_name(HTTP_TEXT("X")));
    ck_assert(!h2_text_is_name(HTTP_TEXT("content-typE")));
    ck_assert(!h2_text_is_name(HTTP_TEXT("Content-type")));
    ck_assert(!h2_text_is_name(HTTP_TEXT(":path")));
}
END_TEST

START_TEST(tokens)
{
    each(h2_text_is_token, "GET-MKCALENDAR-x0123456789", in_token);
    ck_assert(!h2_text_is_token(HTTP_TEXT("")));
    ck_assert(!h2_text_is_token(HTTP_TEXT("GET ")));
}
END_TEST

START_TEST(values)
{
    each(h2_text_is_value, "text/html;charset=utf-8,and-more", in_value);
    ck_assert(h2_text_is_value((struct http_text){NULL, 0}));
    ck_assert(h2_text_is_value(HTTP_TEXT("a")));
    ck_assert(!h2_text_is_value(HTTP_TEXT(" ")));
    ck_assert(!h2_text_is_value(HTTP_TEXT("\t")));
    ck_assert(!h2_text_is_value(HTTP_TEXT(" a")));
    ck_assert(!h2_text_is_value(HTTP_TEXT("a\t")));
    ck_assert(!h2_text_is_value(HTTP_TEXT("twelve bytes ")));
    ck_assert(h2_text_is_value(HTTP_TEXT("twelve\tbytes")));
    ck_assert(!h2_text_is_value(HTTP_TEXT("0123456\n")));
    ck_assert(!h2_text_is_value(HTTP_TEXT("\r0123456")));
}
END_TEST

START_TEST(schemes)
{
    each(h2_text_is_scheme, "https+and.many-others012345", in_scheme);
    ck_assert(!h2_text_is_scheme(HTTP_TEXT("")));
    ck_assert(!h2_text_is_scheme(HTTP_TEXT("1http")));
    ck_assert(!h2_text_is_scheme(HTTP_TEXT("-")));
    ck_assert(h2_text_is_scheme(HTTP_TEXT("x")));
}
END_TEST

START_TEST(paths)
{
    each(h2_text_is_path, "/index.html?query=of/many&more", in_path);
    ck_assert(!h2_text_is_path(HTTP_TEXT("")));
    ck_assert(h2_text_is_path(HTTP_TEXT("/")));
    ck_assert(!h2_text_is_path(HTTP_TEXT("*")));
    ck_assert(!h2_text_is_path(HTTP_TEXT("index.html")));
    ck_assert(!h2_text_is_path(HTTP_TEXT("http://host/")));
    ck_assert(!h2_text_is_path(HTTP_TEXT("/#")));
}
END_TEST

static void authority(const char *text, const char *host, const char *port)
{
    struct h2_authority a;
    struct http_text t = on_heap(text, (uint32_t)strlen(text));
    bool ok = h2_text_is_authority(t, &a);
    ck_assert_msg(ok == (host != NULL), "%s", text);
    if (host) {
        ck_assert_uint_eq(a.host.n, strlen(host));
        ck_assert_mem_eq(a.host.p, host, a.host.n);
        ck_assert_int_eq(a.port.p != NULL, port != NULL);
        ck_assert_uint_eq(a.port.n, port ? strlen(port) : 0);
        if (a.port.n > 0)
            ck_assert_mem_eq(a.port.p, port, a.port.n);
    }
    free(heap);
}

START_TEST(authorities)
{
    authority("example.com", "example.com", NULL);
    authority("example.com:443", "example.com", "443");
    authority("example.com:", "example.com", "");
    authority("example.com:65535", "example.com", "65535");
    authority("192.0.2.1:8080", "192.0.2.1", "8080");
    authority("[2001:db8::1]", "[2001:db8::1]", NULL);
    authority("[::ffff:192.0.2.1]:80", "[::ffff:192.0.2.1]", "80");
    authority("2001:db8::1:8080", "2001:db8::1:8080", NULL);
    authority("x_y~!$&'()*+,;=%20-z", "x_y~!$&'()*+,;=%20-z", NULL);
    authority("example.com:65536", NULL, NULL);
    authority("example.com:99999999999999999999", NULL, NULL);
    authority("example.com:80a", NULL, NULL);
    authority("example.com:80:80", NULL, NULL);
    authority("user@example.com", NULL, NULL);
    authority("user:1@example.com", NULL, NULL);
    authority(":443", NULL, NULL);
    authority("[]", NULL, NULL);
    authority("[::1", NULL, NULL);
    authority("[::1]x", NULL, NULL);
    authority("[::g]", NULL, NULL);
    authority("a b", NULL, NULL);
    authority("a/b", NULL, NULL);
    authority("a?b", NULL, NULL);
    authority("a#b", NULL, NULL);
    authority("a\\b", NULL, NULL);
    authority("caf\xc3\xa9", NULL, NULL);
    struct h2_authority a;
    ck_assert(!h2_text_is_authority((struct http_text){NULL, 0}, &a));
}
END_TEST

START_TEST(equal_but_for_case)
{
    ck_assert(h2_text_eq_nocase(HTTP_TEXT("Example.COM"), HTTP_TEXT("eXAMPLE.com")));
    ck_assert(h2_text_eq_nocase(HTTP_TEXT(""), (struct http_text){NULL, 0}));
    ck_assert(!h2_text_eq_nocase(HTTP_TEXT("a"), HTTP_TEXT("ab")));
    ck_assert(!h2_text_eq_nocase(HTTP_TEXT("[@"), HTTP_TEXT("{`")));
}
END_TEST

UNIT_MAIN("text", NULL, NULL, names, tokens, values, schemes, paths, authorities,
          equal_but_for_case)
