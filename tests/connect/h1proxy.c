/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The smallest HTTP/1.1 CONNECT proxy there is: what a proxy of HTTP/2 has behind it that can
 * itself only speak to another proxy. Bytes go by splice(2), from socket to socket, and are never
 * copied here.
 *
 *     connect_h1proxy PATH        listens on the UNIX socket, until SIGTERM
 *
 * A target is an IPv4 address and a port. One thread, epoll. A side that has failed resets the
 * other.
 */
#define _GNU_SOURCE /* splice, accept4, memmem */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TUNNELS_MAX 1024 /* at a time */
#define HEAD_MAX    4096
#define PIPE        (1 << 18)
#define EVENTS      64

/* One direction: what has left one socket and not arrived at the other is in the pipe. */
struct way {
    int in, out; /* of the pipe; 0: there is none */
    size_t held;
    bool ended; /* the source */
    bool shut;  /* and the sink has been told */
};

struct tunnel {
    int client, target; /* 0: none */
    bool connected;
    struct way up, down;
    char head[HEAD_MAX];
    size_t len;
    struct tunnel *next; /* in the list of those that have ended, freed after the turn */
    bool dead;
};

static int epoll, listener;
static unsigned live;
static struct tunnel *dead;
static volatile sig_atomic_t told;

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "connect_h1proxy: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void on_signal(int number)
{
    told = number;
}

static void watch(int fd, uint32_t events, void *what)
{
    struct epoll_event event = {.events = events, .data.ptr = what};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        die("epoll");
}

/* ---- the end ---- */

static void close_socket(int fd, bool reset)
{
    struct linger now = {.l_onoff = 1};
    if (fd <= 0)
        return;
    if (reset)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
}

static void close_way(struct way *way)
{
    if (way->in <= 0)
        return;
    close(way->in);
    close(way->out);
}

static void end(struct tunnel *t, bool reset)
{
    if (t->dead)
        return;
    close_socket(t->client, reset);
    close_socket(t->target, reset);
    close_way(&t->up);
    close_way(&t->down);
    t->dead = true;
    t->next = dead;
    dead = t;
    live--;
}

static void bury(void)
{
    while (dead) {
        struct tunnel *t = dead;
        dead = t->next;
        free(t);
    }
}

/* ---- bytes ---- */

static bool open_way(struct way *way)
{
    int ends[2];
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
        return false;
    way->in = ends[1];
    way->out = ends[0];
    fcntl(way->in, F_SETPIPE_SZ, PIPE);
    return true;
}

static ssize_t move(int from, int to, size_t n)
{
    ssize_t moved = splice(from, NULL, to, NULL, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    return moved < 0 && errno != EAGAIN && errno != EINTR ? -2 : moved;
}

/* As much as goes. Is all well? */
static bool relay(struct way *way, int from, int to)
{
    bool moving = true;
    while (moving && !way->shut) {
        moving = false;
        ssize_t n = way->ended ? -1 : move(from, way->in, PIPE);
        if (n == -2)
            return false;
        way->ended = way->ended || n == 0;
        way->held += n > 0 ? (size_t)n : 0;
        ssize_t gone = way->held > 0 ? move(way->out, to, way->held) : -1;
        if (gone == -2)
            return false;
        way->held -= gone > 0 ? (size_t)gone : 0;
        moving = gone > 0;
        if (way->ended && way->held == 0) {
            shutdown(to, SHUT_WR);
            way->shut = true;
        }
    }
    return true;
}

static void relay_both(struct tunnel *t)
{
    if (!relay(&t->up, t->client, t->target) || !relay(&t->down, t->target, t->client))
        end(t, true);
    else if (t->up.shut && t->down.shut)
        end(t, false);
}

/* ---- CONNECT ---- */

static void refuse(struct tunnel *t, const char *answer)
{
    (void)!send(t->client, answer, strlen(answer), MSG_NOSIGNAL);
    end(t, false);
}

static void dial(struct tunnel *t)
{
    char address[16];
    unsigned port;
    int yes = 1;
    struct sockaddr_in to = {.sin_family = AF_INET};
    if (sscanf(t->head, "CONNECT %15[0-9.]:%u HTTP/1.1\r\n", address, &port) != 2 || port > 65535 ||
        inet_pton(AF_INET, address, &to.sin_addr) != 1) {
        refuse(t, "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        return;
    }
    to.sin_port = htons((uint16_t)port);
    t->target = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (t->target < 0 || !open_way(&t->up) || !open_way(&t->down))
        die("a tunnel");
    setsockopt(t->target, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (connect(t->target, (struct sockaddr *)&to, sizeof(to)) != 0 && errno != EINPROGRESS) {
        refuse(t, "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
        return;
    }
    watch(t->target, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, t);
}

/* What comes behind the head goes into the pipe. */
static void read_head(struct tunnel *t)
{
    ssize_t n = recv(t->client, t->head + t->len, HEAD_MAX - 1 - t->len, 0);
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN)
            end(t, true);
        return;
    }
    t->len += (size_t)n;
    const char *tail = memmem(t->head, t->len, "\r\n\r\n", 4);
    if (!tail) {
        if (t->len == HEAD_MAX - 1)
            refuse(t, "HTTP/1.1 431 Too Long\r\ncontent-length: 0\r\n\r\n");
        return;
    }
    dial(t);
    size_t behind = t->len - (size_t)(tail + 4 - t->head);
    if (!t->dead && behind > 0 && write(t->up.in, tail + 4, behind) != (ssize_t)behind)
        die("a pipe");
    t->up.held = behind;
}

/* Has the target answered? */
static void finish_dialling(struct tunnel *t)
{
    static const char good[] = "HTTP/1.1 200 OK\r\n\r\n";
    int error = 0;
    struct tcp_info info;
    socklen_t len = sizeof(error), info_len = sizeof(info);
    getsockopt(t->target, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error) {
        refuse(t, "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
        return;
    }
    if (getsockopt(t->target, IPPROTO_TCP, TCP_INFO, &info, &info_len) != 0 ||
        info.tcpi_state == TCP_SYN_SENT)
        return;
    t->connected = true;
    if (send(t->client, good, sizeof(good) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(good) - 1)
        end(t, true);
}

static void serve(struct tunnel *t)
{
    if (!t->dead && t->target == 0)
        read_head(t);
    if (!t->dead && t->target > 0 && !t->connected)
        finish_dialling(t);
    if (!t->dead && t->connected)
        relay_both(t);
}

/* ---- all of them ---- */

static void take_connections(void)
{
    while (live < TUNNELS_MAX) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        struct tunnel *t = calloc(1, sizeof(*t));
        if (!t)
            die("a tunnel");
        t->client = fd;
        live++;
        watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, t);
    }
}

static void listen_at(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (snprintf(at.sun_path, sizeof(at.sun_path), "%s", path) >= (int)sizeof(at.sun_path)) {
        errno = ENAMETOOLONG;
        die(path);
    }
    unlink(path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (listener < 0 || epoll < 0 || bind(listener, (struct sockaddr *)&at, sizeof(at)) != 0 ||
        listen(listener, TUNNELS_MAX) != 0)
        die(path);
    watch(listener, EPOLLIN, NULL);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: epoll_wait returns */
    if (argc != 2) {
        fputs("usage: connect_h1proxy PATH\n", stderr);
        return 2;
    }
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    listen_at(argv[1]);
    puts("ready");
    fflush(stdout);
    while (!told) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                serve(events[i].data.ptr);
            else
                take_connections();
        }
        bury();
    }
    unlink(argv[1]);
    return 0;
}
