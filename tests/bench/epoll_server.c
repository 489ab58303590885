/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's side of tcp.py's comparisons: the services echo, discard and source over kernel
 * sockets, as a server that means to be fast does it: one thread, edge-triggered epoll, and no
 * system call that can be spared.
 *
 *     epoll_server ADDRESS ECHO DISCARD SOURCE SECONDS
 *
 * ADDRESS is IPv4; the next three are ports. Prints a line when it listens, and ends by a signal,
 * or after SECONDS.
 */

#define _GNU_SOURCE /* accept4 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS  512
#define CHUNK   65536
#define BACKLOG 4096
#define FILES   1100000 /* a million connections */

enum service { ECHO, DISCARD, SOURCE, SERVICES };

/* A listening socket or a connection. */
struct end {
    int fd;
    enum service service;
    bool listens;
    bool writes;   /* writable is news */
    size_t owed;   /* echo: bytes read and not yet sent */
    uint8_t *late; /* those; NULL: none */
};

static int epoll;
static uint8_t chunk[CHUNK];

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "epoll_server: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void set_events(int op, struct end *e)
{
    uint32_t in = e->service == SOURCE && !e->listens ? 0 : EPOLLIN;
    struct epoll_event event = {
        .events = in | EPOLLRDHUP | EPOLLET | (e->writes ? EPOLLOUT : 0),
        .data.ptr = e,
    };
    if (epoll_ctl(epoll, op, e->fd, &event) != 0)
        die("epoll");
}

static void watch(int fd, enum service service, bool listens)
{
    struct end *e = calloc(1, sizeof(*e));
    if (!e)
        die("memory");
    *e = (struct end){.fd = fd, .service = service, .listens = listens};
    e->writes = service == SOURCE && !listens;
    set_events(EPOLL_CTL_ADD, e);
}

static void listen_on(in_addr_t address, uint16_t port, enum service service)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = address};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), yes = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, BACKLOG) != 0)
        die("listening");
    watch(fd, service, true);
}

static void accept_all(const struct end *listener)
{
    int fd;
    while ((fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        watch(fd, listener->service, false);
    if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
        die("accepting");
}

static void end_connection(struct end *e)
{
    close(e->fd);
    free(e->late);
    free(e);
}

/* The rest is kept until the socket takes it. */
static bool send_back(struct end *e, const uint8_t *bytes, size_t n)
{
    ssize_t sent = send(e->fd, bytes, n, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        return false;
    size_t left = n - (sent > 0 ? (size_t)sent : 0);
    if (left == 0) {
        free(e->late);
        e->late = NULL;
    } else if (!e->late) {
        e->late = malloc(left);
        if (!e->late)
            die("memory");
        memcpy(e->late, bytes + (n - left), left);
    } else {
        memmove(e->late, e->late + (n - left), left);
    }
    e->owed = left;
    if (left > 0 && !e->writes) {
        e->writes = true;
        set_events(EPOLL_CTL_MOD, e);
    }
    return true;
}

/* False where the connection is over. A read that does not fill the buffer has taken all there was,
 * but for the end of the stream. */
static bool echo(struct end *e, bool ended)
{
    if (e->owed && !send_back(e, e->late, e->owed))
        return false;
    while (!e->owed) {
        ssize_t n = recv(e->fd, chunk, sizeof(chunk), 0);
        if (n <= 0)
            return n < 0 && errno == EAGAIN;
        if (!send_back(e, chunk, (size_t)n))
            return false;
        if (n < CHUNK && !ended)
            return true;
    }
    return true;
}

/* MSG_TRUNC: the bytes are not even copied. */
static bool discard(const struct end *e)
{
    ssize_t n;
    do
        n = recv(e->fd, NULL, 1 << 24, MSG_TRUNC);
    while (n > 0);
    return n < 0 && errno == EAGAIN;
}

static bool source(const struct end *e)
{
    while (send(e->fd, chunk, sizeof(chunk), MSG_NOSIGNAL) > 0)
        ;
    return errno == EAGAIN;
}

static void serve(struct end *e, uint32_t events)
{
    if (e->listens) {
        accept_all(e);
        return;
    }
    bool ended = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR), good;
    switch (e->service) {
    case ECHO: good = echo(e, ended); break;
    case DISCARD: good = discard(e); break;
    default: good = !ended && source(e); break;
    }
    if (!good)
        end_connection(e);
}

int main(int argc, char **argv)
{
    in_addr_t address;
    if (argc != 3 + SERVICES || inet_pton(AF_INET, argv[1], &address) != 1) {
        fputs("usage: epoll_server ADDRESS ECHO DISCARD SOURCE SECONDS\n", stderr);
        return 2;
    }
    if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){FILES, FILES}) != 0)
        errno = 0; /* what we have may be enough */
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        die("epoll");
    for (unsigned s = 0; s < SERVICES; s++)
        listen_on(address, (uint16_t)atoi(argv[2 + s]), (enum service)s);
    alarm((unsigned)atoi(argv[2 + SERVICES]));
    puts("listening");
    fflush(stdout);
    for (;;) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(epoll, events, EVENTS, -1);
        if (n < 0 && errno != EINTR)
            die("waiting");
        for (int i = 0; i < n; i++)
            serve(events[i].data.ptr, events[i].events);
    }
}
