/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of HTTP/2 CONNECT: brings connections to a local port through one session with a proxy,
 * a stream for each. Nothing of it is the appliance's: nghttp2 and OpenSSL on kernel sockets, one
 * thread, epoll. `connect_mux --help` says what it can be told.
 *
 * Back-pressure goes from end to end: a local socket is read when its stream may send a DATA frame,
 * and a stream's window opens by what the local socket has taken. The end of one direction is the
 * end of that direction alone; a reset of one side is a reset of the other.
 *
 * SIGTERM and SIGINT end it, SIGUSR1 has it write its report and go on. Exits with 0, with 1 where
 * it could not begin, or with 3 where the connection to the proxy ended before its time.
 */
#define _GNU_SOURCE /* accept4 */

#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "report.h"

#define EVENTS  64
#define BACKLOG 1024

struct mux {
    struct options options;
    struct session session;
    int epoll;
    int listener; /* -1: it takes no more */
    int signals;
    bool paused; /* there are as many tunnels as there may be */
    bool told;   /* by a signal to end */
};

static void watch(const struct mux *m, int operation, int fd, uint32_t events, void *what)
{
    struct epoll_event event = {.events = events, .data.ptr = what};
    if (epoll_ctl(m->epoll, operation, fd, &event) != 0)
        fail(errno, "epoll");
}

/* ---- connections ---- */

static void prepare_socket(const struct mux *m, int fd)
{
    int yes = 1, size = (int)m->options.buffer;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (size > 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    }
}

static uint32_t most(const struct mux *m)
{
    return m->options.count > 0 ? m->options.count : TUNNELS_MAX;
}

static void take_connections(struct mux *m)
{
    struct session *s = &m->session;
    while (s->live < m->options.live && s->n < most(m)) {
        int fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE))
            fail(errno, "a connection");
        if (fd < 0)
            return;
        prepare_socket(m, fd);
        struct tunnel *t = session_connect(s, fd);
        watch(m, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, t);
    }
}

/* Is there room again, or none any more? */
static void mind_listener(struct mux *m)
{
    const struct session *s = &m->session;
    bool full = s->live >= m->options.live;
    if (m->listener < 0)
        return;
    if (s->goaway || s->over || s->n == most(m)) { /* those that wait are reset */
        close(m->listener);
        m->listener = -1;
    } else if (full != m->paused) {
        m->paused = full;
        watch(m, EPOLL_CTL_MOD, m->listener, full ? 0 : EPOLLIN, &m->listener);
    }
}

static uint16_t listen_there(struct mux *m)
{
    struct sockaddr_storage bound;
    socklen_t len = sizeof(bound);
    int yes = 1;
    const struct endpoint *e = &m->options.listen;
    m->listener = socket(e->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (m->listener < 0)
        fail(errno, "a socket");
    setsockopt(m->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    prepare_socket(m, m->listener); /* windows are scaled by what a listener has */
    if (bind(m->listener, (const struct sockaddr *)&e->address, e->len) != 0 ||
        listen(m->listener, BACKLOG) != 0 ||
        getsockname(m->listener, (struct sockaddr *)&bound, &len) != 0)
        fail(errno, "listening");
    return ntohs(bound.ss_family == AF_INET ? ((struct sockaddr_in *)&bound)->sin_port
                                            : ((struct sockaddr_in6 *)&bound)->sin6_port);
}

/* ---- the loop ---- */

static void take_signal(struct mux *m)
{
    struct signalfd_siginfo info;
    while (read(m->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGUSR1)
            report_write(&m->session);
        else
            m->told = true;
    }
}

static void handle(struct mux *m, const struct epoll_event *event)
{
    struct session *s = &m->session;
    if (event->data.ptr == &m->listener) {
        take_connections(m);
    } else if (event->data.ptr == &m->signals) {
        take_signal(m);
    } else if (event->data.ptr == s) {
        s->readable = s->writable = true; /* by an edge: to be tried */
    } else {
        session_local(s, event->data.ptr, event->events);
    }
}

/* Until it is told, all its tunnels have ended, or the connection has. */
static void serve(struct mux *m)
{
    struct session *s = &m->session;
    bool more = true;
    while (!m->told && !s->over && (s->live > 0 || s->n < most(m))) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(m->epoll, events, EVENTS, more ? 0 : -1);
        if (n < 0 && errno != EINTR)
            fail(errno, "epoll");
        for (int i = 0; i < n; i++)
            handle(m, &events[i]);
        more = session_turn(s);
        mind_listener(m);
    }
}

static void mind_signals(struct mux *m)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes */
    m->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (m->signals < 0)
        fail(errno, "signals");
}

static void raise_files(const struct options *o)
{
    struct rlimit files;
    rlim_t wanted = o->live + 64;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted)
        return;
    files.rlim_cur = wanted < files.rlim_max ? wanted : files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
    static struct mux m;
    options_read(&m.options, argc, argv);
    raise_files(&m.options);
    mind_signals(&m);
    m.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (m.epoll < 0)
        fail(errno, "epoll");
    session_open(&m.session, &m.options);
    uint16_t port = listen_there(&m);
    watch(&m, EPOLL_CTL_ADD, m.session.carrier.fd, EPOLLIN | EPOLLOUT | EPOLLET, &m.session);
    watch(&m, EPOLL_CTL_ADD, m.signals, EPOLLIN, &m.signals);
    watch(&m, EPOLL_CTL_ADD, m.listener, EPOLLIN, &m.listener);
    printf("ready %u\n", (unsigned)port);
    fflush(stdout);
    serve(&m);
    report_write(&m.session);
    session_end(&m.session);
    if (m.session.fault)
        fprintf(stderr, "connect_mux: %s\n", m.session.fault);
    int status = m.session.fault ? 3 : 0;
    session_close(&m.session);
    return status;
}
