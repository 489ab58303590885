/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/api.h"
#include "app/client.h"
#include "support/unit.h"
#include "unit/app/fake_runtime.h"

#define LIMIT_MS 10000 /* nothing here takes this long, unless it never ends */

static struct runtime rt;
static char dir[64];
static char path[100];
static struct http *http;
static struct client_reply reply;

/* The control thread of the appliance, in one loop with the server's descriptor. */
static pthread_t thread;
static bool threaded;
static int stop_fd;

static void *control_thread(void *arg)
{
    (void)arg;
    struct pollfd wait[] = {{.fd = http_fd(http), .events = POLLIN},
                            {.fd = stop_fd, .events = POLLIN}};
    while (!(wait[1].revents & POLLIN)) {
        poll(wait, 2, http_timeout(http));
        http_run(http);
    }
    return NULL;
}

static void serve(void)
{
    http = http_open(&rt.config);
    ck_assert_msg(http && http_start(http, &rt), "%s", rt.log);
    stop_fd = eventfd(0, EFD_CLOEXEC);
    ck_assert_int_eq(pthread_create(&thread, NULL, control_thread, NULL), 0);
    threaded = true;
}

static void stop(void)
{
    if (threaded) {
        ck_assert_int_eq(eventfd_write(stop_fd, 1), 0);
        pthread_join(thread, NULL);
        close(stop_fd);
        threaded = false;
    }
    http_stop(http);
    http = NULL;
}

static void setup(void)
{
    fake_init(&rt);
    strcpy(dir, "/tmp/millrace-http-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/sub/control.sock", dir);
    rt.config.control.socket = path;
}

static void teardown(void)
{
    stop();
    client_reply_free(&reply);
    unlink(path);
    char sub[100];
    snprintf(sub, sizeof(sub), "%s/sub", dir);
    rmdir(sub);
    ck_assert_int_eq(rmdir(dir), 0);
}

static int call(const char *method, const char *target, const char *body)
{
    char error[CLIENT_ERROR_TEXT] = "";
    client_reply_free(&reply);
    int result = client_call(path, method, target, body, &reply, error);
    return result ? result : reply.status;
}

/* ---- bare connections ---- */

static void limit(int fd)
{
    struct timeval t = {.tv_sec = LIMIT_MS / 1000};
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)), 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)), 0);
}

static int dial(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strcpy(to.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    limit(fd);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static int dial_tcp(uint16_t port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    limit(fd);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* All that the server says until it closes; fd is closed too. */
static const char *hear(int fd)
{
    static char text[65536];
    size_t n = 0;
    for (ssize_t got; (got = recv(fd, text + n, sizeof(text) - n - 1, 0)) != 0;) {
        ck_assert_msg(got > 0 || errno == ECONNRESET, "%s", strerror(errno));
        if (got < 0)
            break;
        n += (size_t)got;
    }
    text[n] = '\0';
    close(fd);
    return text;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* ---- the socket ---- */

START_TEST(serves_on_a_socket_with_the_configured_mode)
{
    struct stat st;
    rt.config.control.mode = 0640;
    serve();
    ck_assert_int_eq(call("GET", "/v1/health", NULL), 200);
    ck_assert_ptr_nonnull(strstr(reply.body, "\"status\":\"ok\""));
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert(S_ISSOCK(st.st_mode));
    ck_assert_uint_eq(st.st_mode & 0777, 0640);
    stop();
    ck_assert_int_eq(stat(path, &st), -1);
}
END_TEST

START_TEST(gives_the_socket_to_the_configured_group)
{
    struct stat st;
    char group[] = "daemon"; /* gid 1 on every Debian */
    if (geteuid() != 0)
        return;
    rt.config.control.group = group;
    serve();
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_gid, 1);
}
END_TEST

START_TEST(an_unknown_group_is_an_error_and_leaves_nothing)
{
    struct stat st;
    char group[] = "no-such-group-here";
    rt.config.control.group = group;
    ck_assert_ptr_null(http_open(&rt.config));
    ck_assert_ptr_nonnull(strstr(rt.log, "no group 'no-such-group-here'"));
    ck_assert_int_eq(stat(path, &st), -1);
}
END_TEST

START_TEST(a_socket_left_by_the_dead_is_replaced)
{
    serve();
    stop();
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strcpy(at.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    close(fd); /* as after kill -9: the file stays */
    serve();
    ck_assert_int_eq(call("GET", "/", NULL), 200);
    ck_assert_ptr_nonnull(strstr(rt.log, "left by a process that is gone"));
}
END_TEST

START_TEST(a_socket_in_use_is_left_alone)
{
    serve();
    ck_assert_ptr_null(http_open(&rt.config));
    char who[64];
    snprintf(who, sizeof(who), "process %d is already running", (int)getpid());
    ck_assert_ptr_nonnull(strstr(rt.log, who));
    ck_assert_int_eq(call("GET", "/", NULL), 200);
}
END_TEST

/* While DPDK starts. */
START_TEST(an_early_client_waits)
{
    static const char ask[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    char got[16];
    http = http_open(&rt.config);
    ck_assert_ptr_nonnull(http);
    int fd = dial();
    ck_assert_int_eq(send(fd, ask, sizeof(ask) - 1, 0), sizeof(ask) - 1);
    ck_assert_int_eq(recv(fd, got, sizeof(got), MSG_DONTWAIT), -1);
    http_stop(http);
    ck_assert_int_eq(recv(fd, got, sizeof(got), 0), -1); /* it did not start after all */
    close(fd);
    serve();
    ck_assert_int_eq(call("GET", "/", NULL), 200);
}
END_TEST

START_TEST(a_file_that_is_no_socket_is_left_alone)
{
    serve();
    stop();
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs("precious", f);
    fclose(f);
    ck_assert_ptr_null(http_open(&rt.config));
    ck_assert_ptr_nonnull(strstr(rt.log, "is not a socket"));
    f = fopen(path, "r");
    char text[16];
    ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
    fclose(f);
    ck_assert_str_eq(text, "precious");
}
END_TEST

START_TEST(stopping_leaves_a_successors_socket)
{
    struct stat st;
    serve();
    unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strcpy(at.sun_path, path);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    stop();
    ck_assert_int_eq(stat(path, &st), 0);
    close(fd);
}
END_TEST

START_TEST(stopping_ends_connections)
{
    serve();
    int idle = dial();
    int half = dial();
    say(half, "POST /v1/capture HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{");
    ck_assert_int_eq(call("GET", "/", NULL), 200); /* so they have been accepted */
    stop();
    hear(idle);
    hear(half);
}
END_TEST

/* ---- requests over the wire ---- */

START_TEST(a_capture_is_started_over_the_wire)
{
    serve();
    ck_assert_int_eq(call("POST", "/v1/capture", "{\"action\":\"start\",\"worker\":1}"), 200);
    ck_assert_int_eq(call("POST", "/v1/capture", "{"), 400);
    ck_assert_int_eq(call("GET", "/v1/workers?worker=1", NULL), 200);
    ck_assert_int_eq(call("GET", "/v1/workers?worker=9", NULL), 400);
    ck_assert_int_eq(call("GET", "/v1/workers?wörker", NULL), 400);
    ck_assert_int_eq(call("GET", "/v1/neighbours?iface=wan%30", NULL), 200);
    ck_assert_int_eq(call("GET", "/v1/drops?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1", NULL), 400);
    ck_assert_ptr_nonnull(strstr(reply.body, "more than 8 parameters"));
    stop();
    ck_assert_int_eq(rt.started.worker, 1);
    char who[64];
    snprintf(who, sizeof(who), "uid %u pid %d: POST /v1/capture", geteuid(), getpid());
    ck_assert_ptr_nonnull(strstr(rt.log, who));
}
END_TEST

START_TEST(headers_say_what_it_is)
{
    serve();
    int fd = dial();
    say(fd, "PUT /v1/reload HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    const char *text = hear(fd);
    ck_assert(begins(text, "HTTP/1.1 405 "));
    ck_assert_ptr_nonnull(strstr(text, "\r\nAllow: POST\r\n"));
    ck_assert_ptr_nonnull(strstr(text, "\r\nContent-Type: application/json\r\n"));
    fd = dial();
    say(fd, "HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    text = hear(fd);
    ck_assert(begins(text, "HTTP/1.1 200 "));
    ck_assert_ptr_nonnull(strstr(text, "\r\nContent-Type: application/openmetrics-text;"));
    ck_assert_str_eq(strstr(text, "\r\n\r\n"), "\r\n\r\n");
}
END_TEST

START_TEST(requests_follow_on_one_connection)
{
    serve();
    int fd = dial();
    say(fd, "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/memory HTTP/1.1\r\nHost: x\r\n"
            "Connection: close\r\n\r\n");
    const char *text = hear(fd);
    ck_assert_ptr_nonnull(strstr(text, "\"status\":\"ok\""));
    ck_assert_ptr_nonnull(strstr(text, "\"pools\""));
}
END_TEST

START_TEST(garbage_is_refused)
{
    serve();
    int fd = dial();
    say(fd, "\x16\x03\x01\x02 hello\r\n\r\n");
    hear(fd);
    ck_assert_int_eq(call("GET", "/", NULL), 200);
}
END_TEST

/* ---- bounds ---- */

START_TEST(a_body_may_have_64_kib)
{
    char *body = malloc(API_BODY_MAX + 2);
    memset(body, ' ', API_BODY_MAX + 1);
    memcpy(body, "{\"action\":\"start\"}", 18);
    body[API_BODY_MAX] = '\0';
    serve();
    ck_assert_int_eq(call("POST", "/v1/capture", body), 200);
    body[API_BODY_MAX] = ' ';
    body[API_BODY_MAX + 1] = '\0';
    ck_assert_int_eq(call("POST", "/v1/capture", body), 413);
    free(body);
}
END_TEST

/* n chunks of 4,096 bytes. False where the server closed in the middle. */
static bool send_chunks(int fd, unsigned n)
{
    char chunk[6 + 4096 + 2];
    memset(chunk, 'x', sizeof(chunk));
    memcpy(chunk, "1000\r\n", 6);
    memcpy(chunk + sizeof(chunk) - 2, "\r\n", 2);
    for (unsigned i = 0; i < n; i++)
        if (send(fd, chunk, sizeof(chunk), MSG_NOSIGNAL) != (ssize_t)sizeof(chunk))
            return false;
    return true;
}

#define CHUNKED "POST /v1/capture HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

START_TEST(a_body_of_no_stated_length_is_bounded_too)
{
    serve();
    int fd = dial();
    say(fd, CHUNKED);
    ck_assert(send_chunks(fd, 17));
    say(fd, "0\r\n\r\n");
    shutdown(fd, SHUT_WR);
    ck_assert(begins(hear(fd), "HTTP/1.1 413 "));
}
END_TEST

START_TEST(a_body_without_end_is_cut_off)
{
    serve();
    int fd = dial();
    say(fd, CHUNKED);
    ck_assert(!send_chunks(fd, 4096));
    close(fd);
    ck_assert_int_eq(call("GET", "/", NULL), 200);
}
END_TEST

START_TEST(slow_clients_do_not_hold_up_others)
{
    static const char request[] = "GET /v1/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    int slow[8];
    serve();
    for (unsigned i = 0; i < 8; i++)
        slow[i] = dial();
    /* A byte of each, and in between the others are served whole. */
    for (size_t at = 0; request[at]; at++) {
        char byte[2] = {request[at], '\0'};
        for (unsigned i = 0; i < 8; i++)
            say(slow[i], byte);
        ck_assert_int_eq(call("GET", "/v1/health", NULL), 200);
    }
    for (unsigned i = 0; i < 8; i++)
        ck_assert(begins(hear(slow[i]), "HTTP/1.1 200 "));
}
END_TEST

/* A reader that does not read: the reply waits in the server, which serves the others. */
START_TEST(a_reader_that_stands_still_does_not_hold_up_others)
{
    serve();
    int fd = dial();
    for (unsigned i = 0; i < 100; i++) /* MSG_DONTWAIT: until the socket is full */
        if (send(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 34, MSG_NOSIGNAL | MSG_DONTWAIT) <
            0)
            break;
    for (unsigned i = 0; i < 20; i++)
        ck_assert_int_eq(call("GET", "/metrics", NULL), 200);
    close(fd);
}
END_TEST

static void *many_calls(void *failed)
{
    for (unsigned i = 0; i < 50; i++) {
        struct client_reply mine;
        char error[CLIENT_ERROR_TEXT];
        if (client_call(path, "GET", i & 1 ? "/metrics" : "/v1/workers", NULL, &mine, error) != 0 ||
            mine.status != 200)
            atomic_fetch_add((_Atomic unsigned *)failed, 1);
        client_reply_free(&mine);
    }
    return NULL;
}

START_TEST(clients_are_served_at_once)
{
    pthread_t client[8];
    _Atomic unsigned failed = 0;
    serve();
    for (unsigned i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&client[i], NULL, many_calls, &failed), 0);
    for (unsigned i = 0; i < 8; i++)
        pthread_join(client[i], NULL);
    ck_assert_uint_eq(failed, 0);
}
END_TEST

/* As many as there may be are open and silent: others wait, and are served when one has gone. */
START_TEST(connections_are_bounded)
{
    int open[32];
    struct pollfd one;
    serve();
    for (unsigned i = 0; i < 32; i++)
        open[i] = dial();
    int late = dial();
    say(late, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    one = (struct pollfd){.fd = late, .events = POLLIN};
    ck_assert_int_eq(poll(&one, 1, 50), 0);
    for (unsigned i = 0; i < 32; i++)
        close(open[i]);
    ck_assert(begins(hear(late), "HTTP/1.1 200 "));
}
END_TEST

/* ---- TCP ---- */

/* A port that is free now. */
static uint16_t free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static const char *over_tcp(const char *line, const char *host)
{
    char text[512];
    int fd = dial_tcp(rt.config.control.port);
    snprintf(text, sizeof(text),
             "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", line,
             host);
    say(fd, text);
    return hear(fd);
}

START_TEST(the_tcp_port_reads_and_does_not_change)
{
    rt.config.control.port = free_port();
    serve();
    ck_assert(begins(over_tcp("GET /metrics", "localhost:9"), "HTTP/1.1 200 "));
    ck_assert(begins(over_tcp("GET /metrics", "127.0.0.1"), "HTTP/1.1 200 "));
    ck_assert(begins(over_tcp("POST /v1/reload", "localhost"), "HTTP/1.1 403 "));
    ck_assert(begins(over_tcp("DELETE /v1/neighbours", "localhost"), "HTTP/1.1 403 "));
    stop();
    ck_assert_uint_eq(rt.reloads, 0);
}
END_TEST

/* A web page whose name points to 127.0.0.1 may not read it. */
START_TEST(the_tcp_port_serves_loopback_names_only)
{
    rt.config.control.port = free_port();
    serve();
    ck_assert(begins(over_tcp("GET /metrics", "evil.example"), "HTTP/1.1 403 "));
    ck_assert(begins(over_tcp("GET /metrics", "localhost.evil.example"), "HTTP/1.1 403 "));
    ck_assert(begins(over_tcp("GET /metrics", "[::1]:80"), "HTTP/1.1 200 "));
}
END_TEST

START_TEST(a_port_in_use_is_an_error_and_leaves_nothing)
{
    struct stat st;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    rt.config.control.port = free_port();
    at.sin_port = htons(rt.config.control.port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_ptr_null(http_open(&rt.config));
    ck_assert_ptr_nonnull(strstr(rt.log, "change control.port"));
    ck_assert_int_eq(stat(path, &st), -1);
    close(fd);
}
END_TEST

UNIT_MAIN("http", setup, teardown, serves_on_a_socket_with_the_configured_mode,
          gives_the_socket_to_the_configured_group, an_unknown_group_is_an_error_and_leaves_nothing,
          a_socket_left_by_the_dead_is_replaced, a_socket_in_use_is_left_alone,
          an_early_client_waits, a_file_that_is_no_socket_is_left_alone,
          stopping_leaves_a_successors_socket, stopping_ends_connections,
          a_capture_is_started_over_the_wire, headers_say_what_it_is,
          requests_follow_on_one_connection, garbage_is_refused, a_body_may_have_64_kib,
          a_body_of_no_stated_length_is_bounded_too, a_body_without_end_is_cut_off,
          slow_clients_do_not_hold_up_others, a_reader_that_stands_still_does_not_hold_up_others,
          clients_are_served_at_once, connections_are_bounded,
          the_tcp_port_reads_and_does_not_change, the_tcp_port_serves_loopback_names_only,
          a_port_in_use_is_an_error_and_leaves_nothing)
