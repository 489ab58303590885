/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/client.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/unit.h"

static struct client_reply reply;

static void teardown(void)
{
    client_reply_free(&reply);
}

static int parse(const char *text)
{
    char *copy = strdup(text);
    client_reply_free(&reply);
    int result = client_parse(copy, strlen(text), &reply);
    free(copy);
    return result;
}

START_TEST(reads_status_and_body)
{
    ck_assert_int_eq(parse("HTTP/1.1 404 Not Found\r\ncontent-LENGTH: 2\r\nX: y\r\n\r\n{}rest"), 0);
    ck_assert_int_eq(reply.status, 404);
    ck_assert_str_eq(reply.body, "{}");
    ck_assert_uint_eq(reply.len, 2);
}
END_TEST

START_TEST(without_a_length_the_body_ends_with_the_connection)
{
    ck_assert_int_eq(parse("HTTP/1.0 200 OK\r\nA: b\r\n\r\nall of it"), 0);
    ck_assert_str_eq(reply.body, "all of it");
    ck_assert_int_eq(parse("HTTP/1.1 200 OK\r\n\r\n"), 0);
    ck_assert_uint_eq(reply.len, 0);
}
END_TEST

START_TEST(refuses_what_is_not_whole_or_not_http)
{
    static const char *const bad[] = {
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\na",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\na",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\na",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 OK\r\n\r\n",
        "SSH-2.0-x\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(parse(bad[i]) == CLIENT_E_BROKEN, "%s", bad[i]);
}
END_TEST

/* Nobody is called where nobody is, and the text says what to do. */
START_TEST(a_missing_socket_is_explained)
{
    char error[CLIENT_ERROR_TEXT];
    ck_assert_int_eq(client_call("/nonexistent/s", "GET", "/", NULL, &reply, error),
                     CLIENT_E_UNREACHABLE);
    ck_assert_ptr_nonnull(strstr(error, "is millrace running?"));
    char longer[200];
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    ck_assert_int_eq(client_call(longer, "GET", "/", NULL, &reply, error), CLIENT_E_UNREACHABLE);
}
END_TEST

START_TEST(a_dead_socket_is_explained)
{
    char dir[] = "/tmp/millrace-client-XXXXXX";
    char error[CLIENT_ERROR_TEXT];
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", dir);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    close(fd);
    ck_assert_int_eq(client_call(at.sun_path, "GET", "/", NULL, &reply, error),
                     CLIENT_E_UNREACHABLE);
    ck_assert_ptr_nonnull(strstr(error, "nobody listens there"));
    unlink(at.sun_path);
    rmdir(dir);
}
END_TEST

UNIT_MAIN("client", NULL, teardown, reads_status_and_body,
          without_a_length_the_body_ends_with_the_connection, refuses_what_is_not_whole_or_not_http,
          a_missing_socket_is_explained, a_dead_socket_is_explained)
