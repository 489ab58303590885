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

START_TEST(methods_nobody_knows_are_501)
{
    ex_request("BREW", "/hello");
    ck_assert_uint_eq(ex.status, 501);
    ex_request("BREW", "/missing");
    ck_assert_uint_eq(ex.status, 501);
    ex_request("get", "/hello"); /* methods are case-sensitive */
    ck_assert_uint_eq(ex.status, 501);
    ex_request("CONNECT", "");
    ck_assert_uint_eq(ex.status, 501);
}
END_TEST

START_TEST(options_say_what_is_allowed)
{
    static const char *const asked[][2] = {{"/hello", "GET, HEAD, OPTIONS"},
                                           {"/bytes/1", "GET, HEAD, OPTIONS"},
                                           {"/echo", "POST, PUT, OPTIONS"},
                                           {"*", "GET, HEAD, POST, PUT, OPTIONS"}};
    for (unsigned i = 0; i < 4; i++) {
        ex_request("OPTIONS", asked[i][0]);
        ck_assert_uint_eq(ex.status, 204);
        ck_assert_str_eq(ex_value("allow"), asked[i][1]);
        ck_assert(ex.head_ends);
        ck_assert_uint_eq(ex.length, HTTP_LENGTH_NONE);
    }
    ex_request("OPTIONS", "/missing");
    ck_assert_uint_eq(ex.status, 404);
    ex_get("*");
    ck_assert_uint_eq(ex.status, 400);
}
END_TEST

START_TEST(paths_that_lead_out_are_400)
{
    static const char *const path[] = {
        "",         "hello",     "/../x",      "/%2e%2e/",   "/%2E./etc",  "/a/..",    "/./hello",
        "/a/%2f..", "/%2Fhello", "/..\\x",     "/%5c..%5c",  "/a%00",      "/a%0d%0a", "/%",
        "/%4",      "/%zz",      "/hello\x7f", "/hello#top", "/\x01hello", "/.",       "/..?/hello",
        "*?",       "http://a/", "/a/%2e",     "\\hello"};
    for (unsigned i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
        ex_get(path[i]);
        ck_assert_msg(ex.status == 400, "%s: %u", path[i], ex.status);
    }
    ex_begin("GET", (struct http_text){"/\0hello", 7}, true);
    ex_finish();
    ck_assert_uint_eq(ex.status, 400);
}
END_TEST

START_TEST(paths_may_be_so_long_and_no_longer)
{
    static char path[8194];
    memset(path, 'a', sizeof(path) - 1);
    path[0] = '/';
    ex_get(path);
    ck_assert_uint_eq(ex.status, 414);
    path[8192] = 0;
    ex_get(path);
    ck_assert_uint_eq(ex.status, 404);
    memcpy(path, "/docs?", 6); /* a redirection as long as can be */
    ex_get(path);
    ck_assert_uint_eq(ex.status, 308);
    ck_assert_uint_eq(strlen(ex_value("location")), 8193);
}
END_TEST

START_TEST(a_directory_has_a_slash)
{
    ex_get("/docs/");
    ck_assert_uint_eq(ex.status, 200);
    ex_body_is("<p>docs");
    ck_assert_str_eq(ex_value("content-type"), "text/html; charset=utf-8");
    ex_get("/docs/index.html");
    ex_body_is("<p>docs");
    ex_get("/docs");
    ck_assert_uint_eq(ex.status, 308);
    ck_assert_str_eq(ex_value("location"), "/docs/");
    ex_get("/d%6fcs?a=1?/b");
    ck_assert_uint_eq(ex.status, 308);
    ck_assert_str_eq(ex_value("location"), "/d%6fcs/?a=1?/b");
    ex_request("POST", "/docs");
    ck_assert_uint_eq(ex.status, 405);
}
END_TEST

START_TEST(a_fixed_answer_has_its_status_and_fields)
{
    ex_with("if-none-match", "*"); /* of no account: it would not be a 2xx (RFC 9110 13.2.1) */
    ex_with("range", "bytes=0-0");
    ex_get("/gone");
    ck_assert_uint_eq(ex.status, 410);
    ex_body_is("gone\n");
    ck_assert_str_eq(ex_value("x-why"), "test");
    ck_assert_str_eq(ex_value("content-type"), "text/plain");
    ck_assert_str_eq(ex_value("etag"), "");
    ck_assert_str_eq(ex_value("accept-ranges"), "");
    ex_get("/nothing");
    ck_assert_uint_eq(ex.status, 204);
    ck_assert_uint_eq(ex.length, HTTP_LENGTH_NONE);
    ck_assert_str_eq(ex_value("content-type"), "");
    ck_assert_str_ne(ex_value("date"), "");
    ck_assert(ex.head_ends);
}
END_TEST

/* ---- conditions and ranges ---- */

START_TEST(what_is_known_is_not_sent_again)
{
    ex_get("/old.txt");
    char etag[32];
    snprintf(etag, sizeof(etag), "%s", ex_value("etag"));
    ex_with("if-none-match", etag);
    ex_get("/old.txt");
    ck_assert_uint_eq(ex.status, 304);
    ck_assert(ex.head_ends);
    ck_assert_uint_eq(ex.length, HTTP_LENGTH_NONE);
    ck_assert_str_eq(ex_value("etag"), etag);
    ck_assert_str_eq(ex_value("last-modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
    ck_assert_str_ne(ex_value("date"), "");
    ck_assert_str_eq(ex_value("content-type"), "");
    ex_with("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT");
    ex_request("HEAD", "/old.txt");
    ck_assert_uint_eq(ex.status, 304);
    ex_with("if-match", "\"other\"");
    ex_get("/old.txt");
    ck_assert_uint_eq(ex.status, 412);
    ex_with("if-none-match", etag);
    ex_get("/hello"); /* other bytes, another tag */
    ck_assert_uint_eq(ex.status, 200);
}
END_TEST

START_TEST(a_range_is_sent_alone)
{
    ex_with("range", "bytes=2-4");
    ex_get("/old.txt");
    ck_assert_uint_eq(ex.status, 206);
    ex_body_is("234");
    ck_assert_uint_eq(ex.length, 3);
    ck_assert_str_eq(ex_value("content-range"), "bytes 2-4/10");
    ck_assert_str_eq(ex_value("content-type"), "text/plain; charset=utf-8");
    ck_assert_str_ne(ex_value("etag"), "");
    ex_with("range", "bytes=-3");
    ex_get("/old.txt");
    ex_body_is("789");
    ck_assert_str_eq(ex_value("content-range"), "bytes 7-9/10");
}
END_TEST

START_TEST(a_range_that_is_not_there_is_416)
{
    ex_with("range", "bytes=10-");
    ex_get("/old.txt");
    ck_assert_uint_eq(ex.status, 416);
    ck_assert_str_eq(ex_value("content-range"), "bytes */10");
    ck_assert_str_eq(ex_value("content-type"), "text/plain; charset=utf-8");
}
END_TEST

START_TEST(several_ranges_are_the_whole)
{
    ex_with("range", "bytes=0-1,4-5");
    ex_get("/old.txt");
    ck_assert_uint_eq(ex.status, 200);
    ex_body_is("0123456789");
    ex_with("range", "bytes=20-, 4-5");
    ex_get("/old.txt");
    ck_assert_uint_eq(ex.status, 206);
    ex_body_is("45");
}
END_TEST

START_TEST(a_range_means_nothing_but_to_a_get)
{
    ex_with("range", "bytes=2-4");
    ex_request("HEAD", "/old.txt");
    ck_assert_uint_eq(ex.status, 200);
    ck_assert_uint_eq(ex.length, 10);
    ex_with("range", "bytes=0-0");
    ex_get("/empty");
    ck_assert_uint_eq(ex.status, 200);
}
END_TEST

START_TEST(a_part_of_something_else_is_not_asked_for)
{
    ex_get("/old.txt");
    char etag[32];
    snprintf(etag, sizeof(etag), "%s", ex_value("etag"));
    ex_with("range", "bytes=2-4");
    ex_with("if-range", etag);
    ex_get("/old.txt");
    ck_assert_uint_eq(ex.status, 206);
    ex_with("range", "bytes=2-4");
    ex_with("if-range", "\"0123456789abcdef\"");
    ex_get("/old.txt");
    ck_assert_uint_eq(ex.status, 200);
    ex_with("range", "bytes=2-4");
    ex_with("if-none-match", etag); /* comes first (RFC 9110 13.2.2) */
    ex_get("/old.txt");
    ck_assert_uint_eq(ex.status, 304);
}
END_TEST

/* ---- generated ---- */

static void is_pattern(uint32_t n)
{
    ck_assert_uint_eq(ex.body_len, n);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_uint_eq(ex.body[i], i % 251);
}

START_TEST(bytes_are_made_as_they_are_taken)
{
    ex_begin("GET", HTTP_TEXT("/bytes/100000?x"), true);
    ck_assert_uint_eq(ex.length, 100000);
    ck_assert_uint_eq(vec_queue_bytes(&ex.http.stream.out), 1000);
    ck_assert_uint_eq(stream_cost(&ex.http.stream), 0);
    ex_finish();
    is_pattern(100000);
}
END_TEST

START_TEST(bytes_are_just_as_many)
{
    static const unsigned n[] = {1, 250, 251, 999, 1000, 1001, 2000};
    for (unsigned i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
        char path[32];
        snprintf(path, sizeof(path), "/bytes/%u", n[i]);
        ex_get(path);
        ck_assert_uint_eq(ex.status, 200);
        is_pattern(n[i]);
    }
    ex_get("/bytes/0");
    ck_assert_uint_eq(ex.length, 0);
    ck_assert(ex.head_ends);
}
END_TEST

START_TEST(bytes_have_a_bound)
{
    ex_request("HEAD", "/bytes/1099511627776");
    ck_assert_uint_eq(ex.status, 200);
    ck_assert_uint_eq(ex.length, UINT64_C(1) << 40);
    static const char *const path[] = {
        "/bytes/1099511627777",          "/bytes/", "/bytes", "/bytes/-1", "/bytes/1x", "/bytes/1/",
        "/bytes/99999999999999999999999"};
    for (unsigned i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
        ex_get(path[i]);
        ck_assert_uint_eq(ex.status, 404);
    }
}
END_TEST

START_TEST(a_reset_in_the_middle_leaves_nothing)
{
    ex_begin("GET", HTTP_TEXT("/bytes/1099511627776"), true);
    ex_take(100000);
    is_pattern(100000);
    stream_failed(&ex.http.stream, STREAM_RESET);
    ex_run();
    ck_assert(stream_over(&ex.http.stream));
    ex_begin("GET", HTTP_TEXT("/hello"), true);
    ck_assert_uint_eq(origin_users(ex.origin), 1);
    stream_failed(&ex.http.stream, STREAM_RESET);
    ex_run();
    ck_assert_uint_eq(origin_users(ex.origin), 0);
}
END_TEST

/* ---- content that comes ---- */

START_TEST(an_upload_comes_back)
{
    ex.request_length = 3000;
    ex_with("content-type", "text/x-test");
    ex_begin("POST", HTTP_TEXT("/echo"), false);
    ck_assert_uint_eq(ex.status, 200);
    ck_assert_uint_eq(ex.length, 3000);
    ck_assert_str_eq(ex_value("content-type"), "text/x-test");
    static char bytes[3000];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7);
    ex_send(bytes, 3000, 300);
    ck_assert_uint_lt(ex.consumed, 1400); /* no more than it has room for */
    ex_send_end();
    ex_finish();
    ck_assert_uint_eq(ex.consumed, 3000);
    ck_assert(memcmp(ex.body, bytes, 3000) == 0);
}
END_TEST

START_TEST(an_upload_of_nothing_is_answered)
{
    ex_request("PUT", "/echo");
    ck_assert_uint_eq(ex.status, 200);
    ck_assert_uint_eq(ex.length, 0);
    ck_assert_str_eq(ex_value("content-type"), "");
    ex_begin("POST", HTTP_TEXT("/echo"), false);
    ck_assert_uint_eq(ex.length, HTTP_LENGTH_NONE);
    ex_send_end();
    ex_finish();
}
END_TEST

START_TEST(an_upload_that_waits_is_let_in)
{
    ex_with("expect", "100-continue");
    ex_begin("POST", HTTP_TEXT("/echo"), false);
    ck_assert_uint_eq(ex.interim, 1);
    ex_send("x", 1, 0);
    ex_send_end();
    ex_finish();
    ex.request_length = 5001;
    ex_with("expect", "100-continue");
    ex_begin("POST", HTTP_TEXT("/echo"), false);
    ck_assert_uint_eq(ex.interim, 0);
    ck_assert_uint_eq(ex.status, 413);
}
END_TEST

START_TEST(an_upload_too_large_is_413)
{
    static char bytes[5001];
    ex.request_length = 5001;
    ex_begin("POST", HTTP_TEXT("/echo"), false);
    ck_assert_uint_eq(ex.status, 413);
    ck_assert(ex_ended());
    ex_send(bytes, 5001, 300);
    ck_assert_uint_eq(ex.consumed, 5001);
    ex_send_end();
    ex_finish();
    ex_body_is("413 Content Too Large\n");
}
END_TEST

START_TEST(an_upload_that_proves_too_large_is_reset)
{
    static char bytes[5001];
    ex_begin("POST", HTTP_TEXT("/echo"), false);
    for (unsigned i = 0; i < 5; i++) {
        ex_send(bytes, 1000, 0);
        ex_take(1000);
    }
    ck_assert_uint_eq(ex.aborted, 0);
    ex_send(bytes, 1, 0);
    ck_assert_uint_eq(ex.aborted, 1);
    ck_assert(stream_over(&ex.http.stream));
    ck_assert_uint_eq(ex.consumed, 5001);
}
END_TEST

START_TEST(content_that_nobody_wants_is_thrown_away)
{
    ex_begin("GET", HTTP_TEXT("/hello"), false);
    ex_send("body", 4, 2);
    ck_assert_uint_eq(ex.consumed, 4);
    ex_send_end();
    ex_finish();
    ex_body_is("hello world");
    ex_begin("POST", HTTP_TEXT("/hello"), false);
    ck_assert_uint_eq(ex.status, 405);
    ck_assert(ex_ended());
    ex_send("body", 4, 2);
    ck_assert_uint_eq(ex.consumed, 4);
    ex_send_end();
    ex_finish();
    ex_begin("GET", HTTP_TEXT("/bytes/5000"), false);
    ex_send("body", 4, 2);
    ck_assert_uint_eq(ex.consumed, 4);
    ex_send_end();
    ex_finish();
    is_pattern(5000);
}
END_TEST

/* ---- without memory, without a carrier ---- */

START_TEST(without_memory_it_gives_up)
{
    static const char *const path[] = {"/hello", "/bytes/5", "/missing"};
    ex.env.log = ex_log;
    ex_get("/hello"); /* the log's notes have their memory */
    for (unsigned i = 0; i < 3; i++) {
        ex.logged = 0;
        ex.heap.limit = 0;
        ex_begin("GET", ex_text(path[i]), true);
        ck_assert_uint_eq(ex.aborted, 1);
        ck_assert(stream_over(&ex.http.stream));
        ck_assert_uint_eq(origin_users(ex.origin), 0);
        ck_assert_uint_eq(ex.logged, 1);
        ck_assert_uint_eq(ex.record.outcome, STREAM_NO_MEMORY);
    }
    ex_begin("POST", HTTP_TEXT("/echo"), false);
    ex_send("x", 1, 0);
    ck_assert_uint_eq(ex.aborted, 1);
    ck_assert_uint_eq(ex.logged, 2);
}
END_TEST

START_TEST(a_carrier_that_takes_no_head_ends_it)
{
    static const char *const asked[][2] = {{"GET", "/hello"},   {"HEAD", "/hello"},
                                           {"GET", "/bytes/5"}, {"GET", "/missing"},
                                           {"OPTIONS", "*"},    {"POST", "/echo"}};
    ex.env.log = ex_log;
    ex.refuse = true;
    for (unsigned i = 0; i < 6; i++) {
        ex_with("expect", "100-continue");
        ex_begin(asked[i][0], ex_text(asked[i][1]), false);
        ck_assert_uint_eq(ex.aborted, 1);
        ck_assert_uint_eq(ex.logged, i + 1);
    }
}
END_TEST

/* ---- the access log ---- */

START_TEST(each_request_is_logged_once)
{
    ex.env.log = ex_log;
    ex.env.now = 7 * TICK_SEC;
    ex_with("user-agent", "curl/8");
    ex_with("referer", "https://example.net/");
    ex_begin("GET", HTTP_TEXT("/hello?x=1"), true);
    ck_assert_uint_eq(ex.logged, 0);
    ex.env.now += 5 * TICK_MS;
    ex_finish();
    ck_assert_uint_eq(ex.logged, 1);
    ck_assert_str_eq(ex.record_text, "GET example.org /hello?x=1 (curl/8) <https://example.net/>");
    ck_assert_uint_eq(ex.record.began, 7 * TICK_SEC);
    ck_assert_uint_eq(ex.record.took, 5 * TICK_MS);
    ck_assert_uint_eq(ex.record.sent, 11);
    ck_assert_uint_eq(ex.record.received, 0);
    ck_assert_uint_eq(ex.record.status, 200);
    ck_assert_uint_eq(ex.record.outcome, STREAM_OK);
}
END_TEST

START_TEST(generated_and_echoed_are_logged_too)
{
    ex.env.log = ex_log;
    ex_get("/bytes/5000");
    ck_assert_uint_eq(ex.logged, 1);
    ck_assert_uint_eq(ex.record.sent, 5000);
    ex_begin("POST", HTTP_TEXT("/echo"), false);
    ex_send("12345", 5, 2);
    ex_send_end();
    ex_finish();
    ck_assert_uint_eq(ex.logged, 2);
    ck_assert_uint_eq(ex.record.sent, 5);
    ck_assert_uint_eq(ex.record.received, 5);
    ex_begin("POST", HTTP_TEXT("/hello"), false);
    ex_send("12345", 5, 2);
    ex_send_end();
    ex_finish();
    ck_assert_uint_eq(ex.logged, 3);
    ck_assert_uint_eq(ex.record.status, 405);
    ck_assert_uint_eq(ex.record.received, 5);
}
END_TEST

START_TEST(a_reset_is_logged_with_its_reason)
{
    static char bytes[6000];
    ex.env.log = ex_log;
    ex_begin("GET", HTTP_TEXT("/bytes/5000"), true);
    stream_failed(&ex.http.stream, STREAM_RESET);
    ex_run();
    ck_assert_uint_eq(ex.logged, 1);
    ck_assert_uint_eq(ex.record.outcome, STREAM_RESET);
    ck_assert_uint_eq(ex.record.status, 200);
    ex_begin("POST", HTTP_TEXT("/echo"), false);
    ex_send(bytes, 6000, 0);
    ck_assert_uint_eq(ex.logged, 2);
    ck_assert_uint_eq(ex.record.outcome, STREAM_REFUSED);
}
END_TEST

UNIT_MAIN("origin_answer", setup, ex_fini, an_entry_is_sent, a_head_is_a_get_without_content,
          an_empty_one_ends_with_its_head, without_the_time_there_is_no_date, paths_are_decoded,
          what_is_not_there_is_404, other_methods_are_405, methods_nobody_knows_are_501,
          options_say_what_is_allowed, paths_that_lead_out_are_400,
          paths_may_be_so_long_and_no_longer, a_directory_has_a_slash,
          a_fixed_answer_has_its_status_and_fields, what_is_known_is_not_sent_again,
          a_range_is_sent_alone, a_range_that_is_not_there_is_416, several_ranges_are_the_whole,
          a_range_means_nothing_but_to_a_get, a_part_of_something_else_is_not_asked_for,
          bytes_are_made_as_they_are_taken, bytes_are_just_as_many, bytes_have_a_bound,
          a_reset_in_the_middle_leaves_nothing, an_upload_comes_back,
          an_upload_of_nothing_is_answered, an_upload_that_waits_is_let_in,
          an_upload_too_large_is_413, an_upload_that_proves_too_large_is_reset,
          content_that_nobody_wants_is_thrown_away, without_memory_it_gives_up,
          a_carrier_that_takes_no_head_ends_it, each_request_is_logged_once,
          generated_and_echoed_are_logged_too, a_reset_is_logged_with_its_reason)
