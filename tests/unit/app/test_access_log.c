/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/access_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "document.h"

static struct access_ring ring;
static struct access_log out;
static struct http_env env = {.worker = 3};
static struct http_peer peer;
static struct http_record record;

/* 2026-11-30T12:34:56.789Z */
#define WALL INT64_C(1796042096789000000)

static void setup(void)
{
    document_setup();
    ck_assert(access_ring_init(&ring, 65536, 1));
    out = (struct access_log){.fd = -1};
    peer = (struct http_peer){.env = &env,
                              .listener = "web",
                              .port = 4711,
                              .protocol = "h2",
                              .tls = "TLSv1.3",
                              .cipher = "TLS_AES_128_GCM_SHA256",
                              .connection = 0x1a};
    ck_assert(ip_parse("192.0.2.7", &peer.addr));
    record = (struct http_record){.began = TICK_SEC,
                                  .took = 1234567,
                                  .sent = 5,
                                  .received = 6,
                                  .status = 200,
                                  .method = HTTP_TEXT("GET"),
                                  .authority = HTTP_TEXT("a.example"),
                                  .path = HTTP_TEXT("/x?y=1"),
                                  .user_agent = HTTP_TEXT("curl/8"),
                                  .referer = HTTP_TEXT("https://b.example/")};
}

static void teardown(void)
{
    access_log_close(&out);
    access_ring_fini(&ring);
    unlink("log");
    unlink("log.1");
    document_teardown();
}

static void put(void)
{
    access_ring_put(&ring, &peer, &record);
}

static void open_log(void)
{
    ck_assert(access_log_open(&out, "log"));
}

static void drain(void)
{
    access_log_drain(&out, &ring, WALL - (int64_t)TICK_SEC);
    access_log_flush(&out);
}

static void expect_file(const char *name, const char *expected)
{
    static char text[100000];
    FILE *in = fopen(name, "r");
    ck_assert_ptr_nonnull(in);
    text[fread(text, 1, sizeof(text) - 1, in)] = 0;
    fclose(in);
    ck_assert_str_eq(text, expected);
}

START_TEST(a_request_is_a_line)
{
    open_log();
    put();
    drain();
    expect_file("log",
                "{\"time\":\"2026-11-30T12:34:56.789Z\",\"peer\":\"192.0.2.7\",\"port\":4711,"
                "\"status\":200,\"bytes\":5,\"received\":6,\"duration_us\":1234,\"outcome\":\"ok\","
                "\"worker\":3,\"connection\":\"3-1a\",\"listener\":\"web\","
                "\"method\":\"GET\",\"authority\":\"a.example\",\"path\":\"/x?y=1\","
                "\"user_agent\":\"curl/8\",\"referer\":\"https://b.example/\",\"protocol\":\"h2\","
                "\"tls\":\"TLSv1.3\",\"cipher\":\"TLS_AES_128_GCM_SHA256\"}\n");
    ck_assert_uint_eq(out.written, 1);
}
END_TEST

START_TEST(what_is_not_known_is_left_out)
{
    open_log();
    peer.tls = peer.cipher = NULL;
    record = (struct http_record){.outcome = STREAM_RESET, .method = HTTP_TEXT("PUT")};
    put();
    access_log_drain(&out, &ring, 0);
    access_log_flush(&out);
    expect_file("log",
                "{\"time\":\"1970-01-01T00:00:00.000Z\",\"peer\":\"192.0.2.7\",\"port\":4711,"
                "\"status\":null,\"bytes\":0,\"received\":0,\"duration_us\":0,"
                "\"outcome\":\"reset\",\"worker\":3,\"connection\":\"3-1a\","
                "\"listener\":\"web\",\"method\":\"PUT\",\"protocol\":\"h2\"}\n");
}
END_TEST

/* As a client may send it. */
static void expect_path(const char *path, size_t n, const char *expected)
{
    char line[256];
    static char text[4096];
    open_log();
    record.path = (struct http_text){path, (uint32_t)n};
    put();
    drain();
    FILE *in = fopen("log", "r");
    text[fread(text, 1, sizeof(text) - 1, in)] = 0;
    fclose(in);
    unlink("log");
    snprintf(line, sizeof(line), "\"path\":\"%s\",\"user", expected);
    ck_assert_msg(strstr(text, line), "%s in %s", expected, text);
}

START_TEST(texts_are_json_whatever_their_bytes)
{
    expect_path("/\"\\", 3, "/\\\"\\\\");
    expect_path("\0\n\x1f\x7f", 4, "\\u0000\\u000a\\u001f\\u007f");
    expect_path("/\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10,
                "/\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    expect_path("\xff\xc3", 2, "\\u00ff\\u00c3");                       /* none, and half of one */
    expect_path("\xc0\xaf", 2, "\\u00c0\\u00af");                       /* overlong */
    expect_path("\xe0\x80\xaf", 3, "\\u00e0\\u0080\\u00af");            /* overlong */
    expect_path("\xed\xa0\x80", 3, "\\u00ed\\u00a0\\u0080");            /* half a surrogate pair */
    expect_path("\xf4\x90\x80\x80", 4, "\\u00f4\\u0090\\u0080\\u0080"); /* beyond U+10FFFF */
}
END_TEST

START_TEST(texts_are_cut)
{
    static char long_text[5000];
    open_log();
    record.path = record.authority = record.user_agent = record.referer = record.method =
        (struct http_text){long_text, sizeof(long_text)};
    memset(long_text, 1, sizeof(long_text)); /* the longest a line can be */
    put();
    drain();
    ck_assert_uint_eq(out.written, 1);
    ck_assert_uint_eq(ring.lost, 0);
}
END_TEST

START_TEST(a_sample_is_one_of_so_many)
{
    open_log();
    ring.sample = 10;
    for (int i = 0; i < 99; i++)
        put();
    drain();
    ck_assert_uint_eq(out.written, 9);
    put();
    drain();
    ck_assert_uint_eq(out.written, 10);
    ring.sample = 0;
    for (int i = 0; i < 99; i++)
        put();
    drain();
    ck_assert_uint_eq(out.written, 10);
}
END_TEST

START_TEST(a_full_ring_is_counted)
{
    open_log();
    unsigned n = 0;
    for (; ring.lost == 0; n++)
        put();
    put();
    ck_assert_uint_eq(ring.lost, 2);
    drain();
    ck_assert_uint_eq(out.written, n - 1);
    put();
    drain();
    ck_assert_uint_eq(out.written, n);
    ck_assert_uint_eq(ring.lost, 2);
}
END_TEST

/* As logrotate does it. */
START_TEST(a_renamed_file_is_left_and_a_new_one_made)
{
    open_log();
    put();
    access_log_drain(&out, &ring, WALL);
    ck_assert_int_eq(rename("log", "log.1"), 0);
    open_log(); /* what was not written yet belongs to the old one */
    ck_assert_uint_eq(out.written, 1);
    expect_file("log", "");
    put();
    drain();
    FILE *in = fopen("log.1", "r");
    char line[1000];
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), in));
    ck_assert_ptr_null(fgets(line, sizeof(line), in));
    fclose(in);
    ck_assert(!access_log_open(&out, "nowhere/log"));
    put();
    drain();
    ck_assert_uint_eq(out.written, 3);
}
END_TEST

/* It takes what its reader takes, nobody waits, and nothing is lost that had room. */
START_TEST(a_pipe_that_nobody_reads_holds_nobody_up)
{
    int fd[2];
    char bytes[4096];
    ck_assert_int_eq(pipe(fd), 0);
    open_log();
    ck_assert_int_ge(dup2(fd[1], out.fd), 0);
    close(fd[1]);
    out.patient = false;
    uint64_t before = 0;
    unsigned n = 0;
    for (; n < 5000; n++) {
        put();
        access_log_drain(&out, &ring, WALL);
        access_log_flush(&out);
    }
    ck_assert_uint_gt(ring.lost, 0);
    uint64_t kept = n - ring.lost;
    ck_assert_uint_lt(out.written, kept);
    ck_assert_int_eq(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
    uint64_t lines = 0;
    do {
        before = lines;
        for (ssize_t got; (got = read(fd[0], bytes, sizeof(bytes))) > 0;)
            for (ssize_t i = 0; i < got; i++)
                lines += bytes[i] == '\n';
        drain();
    } while (lines != before);
    ck_assert_uint_eq(lines, kept);
    close(fd[0]);
}
END_TEST

START_TEST(a_log_that_fails_says_so)
{
    open_log();
    close(out.fd);
    out.fd = open("log", O_RDONLY);
    put();
    drain();
    ck_assert_int_eq(out.error, EBADF);
    open_log();
    put();
    drain();
    ck_assert_int_eq(out.error, 0);
}
END_TEST

UNIT_MAIN("access_log", setup, teardown, a_request_is_a_line, what_is_not_known_is_left_out,
          texts_are_json_whatever_their_bytes, texts_are_cut, a_sample_is_one_of_so_many,
          a_full_ring_is_counted, a_renamed_file_is_left_and_a_new_one_made,
          a_pipe_that_nobody_reads_holds_nobody_up, a_log_that_fails_says_so)
