/* SPDX-License-Identifier: BSD-3-Clause */
#include "exchange.h"

#define MODIFIED UINT64_C(784111777) /* Sun, 06 Nov 1994 08:49:37 GMT */

static void setup(void)
{
    struct origin_options o = {.bytes = true, .echo = true, .max_upload = 5000};
    ex_init(&o);
    ex_add("/", "home\n");
    ex_add("/hello", "hello world");
    ex_add("/empty", "");
    ex_add("/docs/index.html", "<p>docs");
    ex_add("/a b/100%.css", "a{}");
    ex_add("/what?", "a mark");
    struct origin_entry e = {
        .path = HTTP_TEXT("/old.txt"), .body = HTTP_TEXT("0123456789"), .modified = MODIFIED};
    ck_assert_int_eq(origin_add(ex.origin, &e), 0);
    struct http_field field = {HTTP_TEXT("x-why"), HTTP_TEXT("test"), false};
    e = (struct origin_entry){.path = HTTP_TEXT("/gone"),
                              .status = 410,
                              .type = HTTP_TEXT("text/plain"),
                              .body = HTTP_TEXT("gone\n"),
                              .field = &field,
                              .n_fields = 1};
    ck_assert_int_eq(origin_add(ex.origin, &e), 0);
    e = (struct origin_entry){.path = HTTP_TEXT("/nothing"), .status = 204};
    ck_assert_int_eq(origin_add(ex.origin, &e), 0);
    ck_assert(origin_seal(ex.origin));
}

/* ---- content ---- */

START_TEST(an_entry_is_sent)
{
    ex_get("/hello");
    ck_assert_uint_eq(ex.status, 200);
    ck_assert_uint_eq(ex.length, 11);
    ex_body_is("hello world");
    ck_assert_str_eq(ex_value("date"), "Tue, 14 Nov 2023 22:13:20 GMT");
    ck_assert_str_eq(ex_value("content-type"), "application/octet-stream");
    ck_assert_str_eq(ex_value("accept-ranges"), "bytes");
    ck_assert_str_eq(ex_value("last-modified"), "");
    ck_assert_uint_eq(strlen(ex_value("etag")), 18);
}
END_TEST

START_TEST(a_head_is_a_get_without_content)
{
    ex_get("/old.txt");
    char etag[32];
    snprintf(etag, sizeof(etag), "%s", ex_value("etag"));
    uint32_t n = ex.n_fields;
    ex_request("HEAD", "/old.txt");
    ck_assert_uint_eq(ex.status, 200);
    ck_assert_uint_eq(ex.length, 10);
    ck_assert_uint_eq(ex.body_len, 0);
    ck_assert(ex.head_ends);
    ck_assert_uint_eq(ex.n_fields, n);
    ck_assert_str_eq(ex_value("etag"), etag);
    ck_assert_str_eq(ex_value("last-modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
    ck_assert_str_eq(ex_value("content-type"), "text/plain; charset=utf-8");
}
END_TEST

START_TEST(an_empty_one_ends_with_its_head)
{
    ex_get("/empty");
    ck_assert_uint_eq(ex.status, 200);
    ck_assert_uint_eq(ex.length, 0);
    ck_assert(ex.head_ends);
}
END_TEST

START_TEST(without_the_time_there_is_no_date)
{
    ex.env.wall = 0;
    ex_get("/hello");
    ck_assert_str_eq(ex_value("date"), "");
    ck_assert_str_eq(ex_value("accept-ranges"), "bytes");
    ex_get("/missing");
    ck_assert_str_eq(ex_value("date"), "");
    ck_assert_uint_eq(ex.status, 404);
}
END_TEST

START_TEST(paths_are_decoded)
{
    ex_get("/a%20b/100%25.css");
    ex_body_is("a{}");
    ck_assert_str_eq(ex_value("content-type"), "text/css; charset=utf-8");
    ex_get("/%68ello?query=1");
    ex_body_is("hello world");
    ex_get("/?");
    ex_body_is("home\n");
    ex_get("/what%3F");
    ex_body_is("a mark");
    ex_get("/what?"); /* a query, though an entry has just these bytes */
    ck_assert_uint_eq(ex.status, 404);
    ex_get("/Hello");
    ck_assert_uint_eq(ex.status, 404);
}
END_TEST

START_TEST(what_is_not_there_is_404)
{
    ex_get("/missing");
    ck_assert_uint_eq(ex.status, 404);
    ex_body_is("404 Not Found\n");
    ck_assert_str_eq(ex_value("content-type"), "text/plain; charset=utf-8");
    ex_request("HEAD", "/missing");
    ck_assert_uint_eq(ex.status, 404);
    ck_assert_uint_eq(ex.length, 14);
    ck_assert_uint_eq(ex.body_len, 0);
    ex_request("POST", "/missing");
    ck_assert_uint_eq(ex.status, 404);
    ex_get("//hello");
    ck_assert_uint_eq(ex.status, 404);
    ex_get("/hello/");
    ck_assert_uint_eq(ex.status, 404);
}
END_TEST

START_TEST(other_methods_are_405)
{
    static const char *const method[] = {"POST", "PUT", "DELETE", "PATCH", "TRACE"};
    for (unsigned i = 0; i < 5; i++) {
        ex_request(method[i], "/hello");
        ck_assert_uint_eq(ex.status, 405);
        ck_assert_str_eq(ex_value("allow"), "GET, HEAD, OPTIONS");
        ex_request(method[i], "/bytes/7");
        ck_assert_uint_eq(ex.status, 405);
    }
    ex_get("/echo");
    ck_assert_uint_eq(ex.status, 405);
    ck_assert_str_eq(ex_value("allow"), "POST, PUT, OPTIONS");
}
END_TEST

UNIT_MAIN("origin_answer", setup, ex_fini, an_entry_is_sent, a_head_is_a_get_without_content,
          an_empty_one_ends_with_its_head, without_the_time_there_is_no_date, paths_are_decoded,
          what_is_not_there_is_404, other_methods_are_405)
