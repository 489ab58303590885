/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/head.h"

#include <stdio.h>

#include "support/heap.h"
#include "support/unit.h"

/* A list is written as "name=value|name=value"; neither contains "=" first or "|". */
#define GET  ":method=GET|:scheme=https|:path=/|:authority=a.example|"
#define LIST 1024u
#define ROOM 64u

static struct heap heap;
static struct h2_fields f;
static struct http_head head;

static void setup(void)
{
    heap_init(&heap);
    ck_assert(h2_fields_init(&f, &heap.mem, ROOM, LIST));
}

static void teardown(void)
{
    h2_fields_fini(&f, &heap.mem);
    ck_assert_uint_eq(heap.blocks, 0);
    ck_assert_uint_eq(heap.bytes, 0);
}

static struct http_text put(const char *p, uint32_t n)
{
    ck_assert_uint_le(f.text_used + n, LIST);
    char *to = f.text + f.text_used;
    memcpy(to, p, n);
    f.text_used += n;
    return (struct http_text){to, n};
}

static void add(const char *p, uint32_t n)
{
    const char *equals = memchr(p, '=', n);
    ck_assert_ptr_nonnull(equals);
    uint32_t name = (uint32_t)(equals - p);
    ck_assert_uint_lt(f.n, ROOM);
    struct http_field *field = &f.field[f.n++];
    field->name = put(p, name);
    field->value = put(equals + 1, n - name - 1);
    field->sensitive = false;
}

static void list(const char *text)
{
    f.n = 0;
    f.text_used = 0;
    while (*text) {
        uint32_t n = (uint32_t)strcspn(text, "|");
        add(text, n);
        text += n + (text[n] == '|');
    }
}

static enum h2_head_fault parse(const char *text, enum h2_block kind, bool extended)
{
    list(text);
    return h2_head_parse(&f, kind, extended, &head);
}

static void expect(enum h2_head_fault got, enum h2_head_fault fault, const char *text)
{
    ck_assert_msg(got == fault, "\"%s\" in place of \"%s\": %s", h2_head_fault_name(got),
                  h2_head_fault_name(fault), text);
}

#define REQUEST(text, fault)  expect(parse(text, H2_BLOCK_REQUEST, false), H2_HEAD_##fault, text)
#define EXTENDED(text, fault) expect(parse(text, H2_BLOCK_REQUEST, true), H2_HEAD_##fault, text)
#define RESPONSE(text, fault) expect(parse(text, H2_BLOCK_RESPONSE, true), H2_HEAD_##fault, text)
#define TRAILERS(text, fault) expect(parse(text, H2_BLOCK_TRAILERS, true), H2_HEAD_##fault, text)

static void text_is(struct http_text t, const char *expected)
{
    ck_assert_uint_eq(t.n, strlen(expected));
    if (t.n > 0)
        ck_assert_mem_eq(t.p, expected, t.n);
}

/* What is left of the list, in order. */
static void left(const char *expected)
{
    char text[2 * LIST] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < head.n_fields; i++) {
        const struct http_field *field = &head.field[i];
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%.*s=%.*s|", (int)field->name.n,
                               field->name.p, (int)field->value.n, field->value.p);
    }
    ck_assert_str_eq(text, expected);
}

START_TEST(a_request)
{
    REQUEST(":method=POST|:scheme=https|:authority=a.example:8443|:path=/x?y=z|"
            "user-agent=curl/8.0|accept=*/*|content-length=12|te=trailers|priority=u=1, i",
            OK);
    ck_assert_int_eq(head.method, HTTP_POST);
    text_is(head.method_name, "POST");
    text_is(head.scheme, "https");
    text_is(head.authority, "a.example:8443");
    text_is(head.path, "/x?y=z");
    text_is(head.protocol, "");
    ck_assert_uint_eq(head.status, 0);
    ck_assert_uint_eq(head.content_length, 12);
    left("user-agent=curl/8.0|accept=*/*|te=trailers|priority=u=1, i|");
}
END_TEST

START_TEST(a_response)
{
    RESPONSE(":status=204|server=x|content-length=0|host=left.alone|cookie=a|cookie=b", OK);
    ck_assert_uint_eq(head.status, 204);
    ck_assert_uint_eq(head.content_length, 0);
    left("server=x|host=left.alone|cookie=a|cookie=b|");
    RESPONSE(":status=100", OK);
    ck_assert_uint_eq(head.status, 100);
    ck_assert_uint_eq(head.content_length, HTTP_LENGTH_NONE);
    ck_assert_uint_eq(head.n_fields, 0);
}
END_TEST

START_TEST(trailers)
{
    TRAILERS("grpc-status=0|content-length=nonsense|checksum=", OK);
    left("grpc-status=0|checksum=|");
    TRAILERS("host=a.example|x=y|host=b.example", OK); /* routes nothing (RFC 9110 6.5.1) */
    left("host=a.example|x=y|host=b.example|");
    TRAILERS("", OK);
    ck_assert_uint_eq(head.n_fields, 0);
}
END_TEST

/* RFC 9113 8.2.1 */
START_TEST(names)
{
    REQUEST(GET "x-1_~=y", OK);
    REQUEST(GET "=y", NAME);
    REQUEST(GET "Accept=*/*", NAME);
    REQUEST(GET "accepT=*/*", NAME);
    REQUEST(GET "acc ept=*/*", NAME);
    REQUEST(GET "acc:ept=*/*", NAME);
    REQUEST(GET "acc\x7f"
                "ept=*/*",
            NAME);
    REQUEST(GET "caf\xc3\xa9=x", NAME);
    RESPONSE(":status=200|X=y", NAME);
    TRAILERS("X=y", NAME);
}
END_TEST

START_TEST(values)
{
    REQUEST(GET "x=", OK);
    REQUEST(GET "x=a\tb c\xff", OK);
    REQUEST(GET "x= a", VALUE);
    REQUEST(GET "x=a ", VALUE);
    REQUEST(GET "x=\ta", VALUE);
    REQUEST(GET "x=a\t", VALUE);
    REQUEST(GET "x=a\rb", VALUE);
    REQUEST(GET "x=a\nb", VALUE);
    REQUEST(GET "x=a long enough one\r\ny: injected", VALUE);
    REQUEST(GET "x=a\x01", VALUE);
    RESPONSE(":status=200|x=a\n", VALUE);
    TRAILERS("x=a\n", VALUE);
    list(GET "x=a_b");
    f.field[4].value.n = 3;
    memcpy(f.text + f.text_used - 3, "a\0b", 3);
    expect(h2_head_parse(&f, H2_BLOCK_REQUEST, false, &head), H2_HEAD_VALUE, "a\\0b");
}
END_TEST

/* RFC 9113 8.2.2 */
START_TEST(connection_fields)
{
    REQUEST(GET "connection=keep-alive", CONNECTION_FIELD);
    REQUEST(GET "proxy-connection=keep-alive", CONNECTION_FIELD);
    REQUEST(GET "keep-alive=timeout=5", CONNECTION_FIELD);
    REQUEST(GET "transfer-encoding=chunked", CONNECTION_FIELD);
    REQUEST(GET "upgrade=h2c", CONNECTION_FIELD);
    REQUEST(GET "te=gzip", CONNECTION_FIELD);
    REQUEST(GET "te=trailers, deflate;q=0.5", CONNECTION_FIELD);
    REQUEST(GET "te=", CONNECTION_FIELD);
    REQUEST(GET "te=Trailers", OK);
    RESPONSE(":status=200|connection=close", CONNECTION_FIELD);
    RESPONSE(":status=200|transfer-encoding=chunked", CONNECTION_FIELD);
    TRAILERS("connection=close", CONNECTION_FIELD);
    REQUEST(GET "upgrade-insecure-requests=1|connections=2|te2=x", OK);
}
END_TEST

/* RFC 9113 8.2.3 */
START_TEST(crumbs_are_joined)
{
    REQUEST(GET "cookie=a=1", OK);
    left("cookie=a=1|");
    REQUEST(GET "x=1|cookie=a=1|y=2|cookie=b=2|cookie=|cookie=c=3; d=4|z=3", OK);
    left("x=1|cookie=a=1; b=2; c=3; d=4|y=2|z=3|");
    REQUEST(GET "cookie=|cookie=", OK);
    left("cookie=|");
    REQUEST(GET "cookie=|cookie=|x=y|cookie=a|cookie=", OK);
    left("cookie=a|x=y|");
}
END_TEST

START_TEST(a_sensitive_crumb_makes_all_sensitive)
{
    list(GET "cookie=a|cookie=b|x=y");
    f.field[5].sensitive = true;
    expect(h2_head_parse(&f, H2_BLOCK_REQUEST, false, &head), H2_HEAD_OK, "");
    ck_assert(head.field[0].sensitive);
    ck_assert(!head.field[1].sensitive);
}
END_TEST

/* As much text as a list may have, in crumbs that gain most by being joined. */
START_TEST(there_is_room_for_joining)
{
    list(GET);
    while (f.n < ROOM && f.text_used + 7 <= LIST)
        add("cookie=c", 8);
    ck_assert_uint_eq(f.n, ROOM);
    expect(h2_head_parse(&f, H2_BLOCK_REQUEST, false, &head), H2_HEAD_OK, "");
    ck_assert_uint_eq(head.n_fields, 1);
    ck_assert_uint_eq(head.field[0].value.n, 3 * (ROOM - 4) - 2);
}
END_TEST

/* RFC 9113 8.3 */
START_TEST(pseudo_header_fields)
{
    REQUEST(":method=GET|:scheme=https|:path=/|x=y|:authority=a.example", PSEUDO_ORDER);
    REQUEST(GET "x=y|:x=y", PSEUDO_ORDER);
    REQUEST(GET ":status=200", PSEUDO_UNKNOWN);
    REQUEST(GET ":foo=bar", PSEUDO_UNKNOWN);
    REQUEST(GET ":pathx=/", PSEUDO_UNKNOWN);
    REQUEST(GET ":Method=GET", PSEUDO_UNKNOWN);
    REQUEST(GET ":=", PSEUDO_UNKNOWN);
    REQUEST(GET ":protocol=websocket", PSEUDO_UNKNOWN); /* RFC 8441 3: was not announced */
    RESPONSE(":status=200|:method=GET", PSEUDO_UNKNOWN);
    RESPONSE(":status=200|:protocol=websocket", PSEUDO_UNKNOWN);
    TRAILERS(":status=200", PSEUDO_UNKNOWN);
    TRAILERS("x=y|:path=/", PSEUDO_ORDER);
    REQUEST(GET ":method=GET", PSEUDO_TWICE);
    REQUEST(GET ":path=/", PSEUDO_TWICE);
    REQUEST(GET ":scheme=https", PSEUDO_TWICE);
    REQUEST(GET ":authority=a.example", PSEUDO_TWICE);
    RESPONSE(":status=200|:status=200", PSEUDO_TWICE);
}
END_TEST

START_TEST(pseudo_header_fields_that_must_be)
{
    REQUEST("", PSEUDO_MISSING);
    REQUEST(":scheme=https|:path=/|:authority=a.example", PSEUDO_MISSING);
    REQUEST(":method=GET|:path=/|:authority=a.example", PSEUDO_MISSING);
    REQUEST(":method=GET|:scheme=https|:authority=a.example", PSEUDO_MISSING);
    REQUEST(":method=GET|:scheme=https|:path=/", PSEUDO_MISSING);
    RESPONSE("", PSEUDO_MISSING);
    RESPONSE("server=x", PSEUDO_MISSING);
}
END_TEST

START_TEST(methods)
{
    REQUEST(":method=PURGE|:scheme=https|:path=/|:authority=a.example", OK);
    ck_assert_int_eq(head.method, HTTP_OTHER);
    text_is(head.method_name, "PURGE");
    REQUEST(":method=get|:scheme=https|:path=/|:authority=a.example", OK);
    ck_assert_int_eq(head.method, HTTP_OTHER);
    REQUEST(":method=|:scheme=https|:path=/|:authority=a.example", METHOD);
    REQUEST(":method=GE T|:scheme=https|:path=/|:authority=a.example", METHOD);
    REQUEST(":method=GET\r|:scheme=https|:path=/|:authority=a.example", METHOD);
}
END_TEST

START_TEST(schemes)
{
    REQUEST(":method=GET|:scheme=coap+tcp|:path=/|:authority=a.example", OK);
    REQUEST(":method=GET|:scheme=|:path=/|:authority=a.example", SCHEME);
    REQUEST(":method=GET|:scheme=ht tp|:path=/|:authority=a.example", SCHEME);
    REQUEST(":method=GET|:scheme=https://x/|:path=/|:authority=a.example", SCHEME);
}
END_TEST

/* RFC 9113 8.3.1 */
START_TEST(paths)
{
    REQUEST(":method=GET|:scheme=https|:authority=a.example|:path=/%2e%2e/{a}\xc3\xa9?b|", OK);
    REQUEST(":method=OPTIONS|:scheme=https|:authority=a.example|:path=*", OK);
    text_is(head.path, "*");
    REQUEST(":method=OPTIONS|:scheme=https|:authority=a.example|:path=/", OK);
    REQUEST(":method=GET|:scheme=https|:authority=a.example|:path=", PATH);
    REQUEST(":method=OPTIONS|:scheme=https|:authority=a.example|:path=", PATH);
    REQUEST(":method=GET|:scheme=https|:authority=a.example|:path=*", PATH);
    REQUEST(":method=GET|:scheme=https|:authority=a.example|:path=x", PATH);
    REQUEST(":method=GET|:scheme=https|:authority=a.example|:path=https://a.example/", PATH);
    REQUEST(":method=GET|:scheme=https|:authority=a.example|:path=/a b", PATH);
    REQUEST(":method=GET|:scheme=https|:authority=a.example|:path=/a#b", PATH);
    REQUEST(":method=GET|:scheme=https|:authority=a.example|:path=/\x7f", PATH);
}
END_TEST

START_TEST(authorities)
{
    REQUEST(":method=GET|:scheme=https|:path=/|:authority=[::1]:80", OK);
    REQUEST(":method=GET|:scheme=https|:path=/|:authority=", AUTHORITY);
    REQUEST(":method=GET|:scheme=https|:path=/|:authority=u@a.example", AUTHORITY);
    REQUEST(":method=GET|:scheme=https|:path=/|:authority=a.example:99999", AUTHORITY);
    REQUEST(":method=GET|:scheme=https|:path=/|:authority=a.example/", AUTHORITY);
}
END_TEST

START_TEST(host_stands_for_a_missing_authority)
{
    REQUEST(":method=GET|:scheme=https|:path=/|x=1|host=a.example|y=2", OK);
    text_is(head.authority, "a.example");
    left("x=1|y=2|");
    REQUEST(":method=GET|:scheme=https|:path=/|host=", AUTHORITY);
    REQUEST(":method=GET|:scheme=https|:path=/|host=a@b", AUTHORITY);
}
END_TEST

START_TEST(host_names_the_same_as_authority)
{
    REQUEST(GET "host=a.example", OK);
    left("");
    REQUEST(GET "host=A.Example", OK);
    text_is(head.authority, "a.example");
    REQUEST(GET "host=a.example:443", OK);
    REQUEST(GET "host=a.example:", OK);
    REQUEST(":method=GET|:scheme=http|:path=/|:authority=a.example:80|host=a.example", OK);
    REQUEST(GET "host=b.example", AUTHORITY);
    REQUEST(GET "host=a.example:80", AUTHORITY);
    REQUEST(GET "host=", AUTHORITY);
    REQUEST(GET "host=a.example|host=a.example", AUTHORITY); /* RFC 9112 3.2 */
}
END_TEST

/* RFC 9113 8.5 */
START_TEST(connect)
{
    REQUEST(":method=CONNECT|:authority=a.example:443|content-length=5", OK);
    ck_assert_int_eq(head.method, HTTP_CONNECT);
    text_is(head.authority, "a.example:443");
    text_is(head.path, "");
    text_is(head.scheme, "");
    ck_assert_uint_eq(head.content_length, HTTP_LENGTH_NONE);
    REQUEST(":method=CONNECT|:authority=[2001:db8::1]:22|host=[2001:DB8::1]:22", OK);
    EXTENDED(":method=CONNECT|:authority=a.example:443", OK);
    REQUEST(":method=CONNECT|:authority=a.example:443|:scheme=https", SCHEME);
    REQUEST(":method=CONNECT|:authority=a.example:443|:path=/", PATH);
    REQUEST(":method=CONNECT|host=a.example:443", PSEUDO_MISSING);
    REQUEST(":method=CONNECT|:authority=a.example", AUTHORITY);
    REQUEST(":method=CONNECT|:authority=a.example:", AUTHORITY);
    REQUEST(":method=CONNECT|:authority=u@a.example:1", AUTHORITY);
    REQUEST(":method=CONNECT|:authority=a.example:443|host=a.example", AUTHORITY);
}
END_TEST

/* RFC 8441 4 */
START_TEST(extended_connect)
{
#define WEBSOCKET ":method=CONNECT|:protocol=websocket|"
    EXTENDED(WEBSOCKET ":scheme=https|:path=/chat|:authority=a.example", OK);
    text_is(head.protocol, "websocket");
    text_is(head.path, "/chat");
    EXTENDED(WEBSOCKET ":path=/chat|:authority=a.example", PSEUDO_MISSING);
    EXTENDED(WEBSOCKET ":scheme=https|:authority=a.example", PSEUDO_MISSING);
    EXTENDED(WEBSOCKET ":scheme=https|:path=/chat", PSEUDO_MISSING);
    EXTENDED(WEBSOCKET ":scheme=https|:path=*|:authority=a.example", PATH);
    EXTENDED(GET ":protocol=websocket", PROTOCOL);
    EXTENDED(":method=CONNECT|:protocol=|:scheme=https|:path=/|:authority=a.example", PROTOCOL);
    EXTENDED(":method=CONNECT|:protocol=a b|:scheme=https|:path=/|:authority=a.example", PROTOCOL);
}
END_TEST

START_TEST(statuses)
{
    RESPONSE(":status=599", OK);
    RESPONSE(":status=103", OK);
    RESPONSE(":status=101", STATUS); /* RFC 9113 8.6 */
    RESPONSE(":status=099", STATUS);
    RESPONSE(":status=600", STATUS);
    RESPONSE(":status=20", STATUS);
    RESPONSE(":status=2000", STATUS);
    RESPONSE(":status=", STATUS);
    RESPONSE(":status=2x0", STATUS);
    RESPONSE(":status=+20", STATUS);
}
END_TEST

/* RFC 9110 8.6 */
START_TEST(content_lengths)
{
    REQUEST(GET "content-length=0", OK);
    ck_assert_uint_eq(head.content_length, 0);
    REQUEST(GET "content-length=18446744073709551614", OK);
    ck_assert_uint_eq(head.content_length, UINT64_MAX - 1);
    REQUEST(GET "content-length=00000000000000000000000000000000005", OK);
    ck_assert_uint_eq(head.content_length, 5);
    REQUEST(GET "content-length=5|x=y|content-length=5", OK);
    ck_assert_uint_eq(head.content_length, 5);
    left("x=y|");
    REQUEST(GET "content-length=5|content-length=6", CONTENT_LENGTH);
    REQUEST(GET "content-length=18446744073709551615", CONTENT_LENGTH);
    REQUEST(GET "content-length=18446744073709551616", CONTENT_LENGTH);
    REQUEST(GET "content-length=99999999999999999999", CONTENT_LENGTH);
    REQUEST(GET "content-length=", CONTENT_LENGTH);
    REQUEST(GET "content-length=-1", CONTENT_LENGTH);
    REQUEST(GET "content-length=+1", CONTENT_LENGTH);
    REQUEST(GET "content-length=1a", CONTENT_LENGTH);
    REQUEST(GET "content-length=0x1", CONTENT_LENGTH);
    REQUEST(GET "content-length=5, 5", CONTENT_LENGTH);
    RESPONSE(":status=200|content-length=x", CONTENT_LENGTH);
}
END_TEST

START_TEST(faults_have_names)
{
    ck_assert_str_eq(h2_head_fault_name(H2_HEAD_OK), "");
    ck_assert_str_eq(h2_head_fault_name(H2_HEAD_NAME), "field name");
    for (unsigned i = 1; i < H2_HEAD_FAULT_END; i++)
        ck_assert_uint_gt(strlen(h2_head_fault_name((enum h2_head_fault)i)), 0);
}
END_TEST

UNIT_MAIN("head", setup, teardown, a_request, a_response, trailers, names, values,
          connection_fields, crumbs_are_joined, a_sensitive_crumb_makes_all_sensitive,
          there_is_room_for_joining, pseudo_header_fields, pseudo_header_fields_that_must_be,
          methods, schemes, paths, authorities, host_stands_for_a_missing_authority,
          host_names_the_same_as_authority, connect, extended_connect, statuses, content_lengths,
          faults_have_names)
