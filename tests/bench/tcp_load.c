/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A load of TCP connections from the kernel's side of a link: one thread, epoll, kernel sockets.
 *
 *     tcp_load MODE ADDRESS PORT FROM SOURCES CONNECTIONS SECONDS BYTES RATE
 *
 *   echo     each connection has one request of BYTES out, and sends the next when it is back
 *   conn     each opens, does one request, closes, and opens again. With a RATE, that many are
 *            opened each second, and one that has not got its reply within PATIENCE has failed
 *   idle     each does one request, and then nothing
 *   bulk-tx  each reads what the server sends
 *   bulk-rx  each sends as much as goes
 *
 * Connections come from SOURCES addresses, FROM and those after it, so that there are more of them
 * than ports. Replies are compared with what was sent. The server's names of the modes are used.
 *
 * Prints "begin" when all connections stand and some time has passed, and SECONDS later a JSON
 * object with what was done in between. Exits 1 where a connection fails (but for conn with a
 * RATE), and where they do not come to stand.
 */

#define _GNU_SOURCE /* clock_gettime */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/tick.h"
#include "load.h"

#define CONNECTIONS_MAX 1000000
#define SECONDS_MAX     600
#define BYTES_MAX       65536
#define RATE_MAX        1000000
#define OPENING_MAX     256 /* at a time */
#define EVENTS          256
#define CHUNK           (1 << 20)
#define WARM            (500 * TICK_MS)
#define PATIENCE        TICK_SEC
#define STANDING        (120 * TICK_SEC) /* that all connections may take to stand */
#define STEP            5                /* ms between looks at the clock, at most */

enum mode { ECHO, CONN, IDLE, BULK_TX, BULK_RX, MODES };
static const char *const mode_names[] = {"echo", "conn", "idle", "bulk-tx", "bulk-rx"};

struct connection {
    int fd; /* -1: none */
    bool open;
    uint32_t left; /* bytes of the reply that are still to come */
    tick_t since;  /* when it was opened */
};

struct counts {
    uint64_t requests;
    uint64_t bytes;
    uint64_t opened;
    uint64_t failed;
};

struct load {
    enum mode mode;
    struct load_target target;
    uint32_t connections, bytes, rate;
    tick_t duration;
    int epoll;
    tick_t now;
    struct connection *all;
    uint32_t *free; /* stack of indices of connections without a socket */
    uint32_t n_free;
    uint32_t opening;
    uint32_t standing; /* open, and have had their first reply where there is one */
    uint64_t begun;
    tick_t paced_from; /* with a rate: when begun was 0 */
    struct counts counts;
};

static uint8_t request[BYTES_MAX];
static uint8_t chunk[CHUNK];

/* ---- one connection ---- */

static void open_one(struct load *l)
{
    uint32_t i = l->free[--l->n_free];
    struct connection *c = &l->all[i];
    int fd = load_connect(&l->target, l->begun);
    *c = (struct connection){.fd = fd, .since = l->now};
    uint32_t level = l->mode == BULK_RX ? EPOLLOUT : l->mode == BULK_TX ? 0 : EPOLLET | EPOLLOUT;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | level, .data.u32 = i};
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        load_die("epoll");
    l->opening++;
    l->begun++;
}

static void close_one(struct load *l, struct connection *c)
{
    if (!c->open)
        l->opening--;
    close(c->fd);
    *c = (struct connection){.fd = -1};
    l->free[l->n_free++] = (uint32_t)(c - l->all);
}

static void fail(struct load *l, struct connection *c)
{
    if (!l->rate)
        load_die("a connection");
    l->counts.failed++;
    close_one(l, c);
}

static void ask(struct load *l, struct connection *c)
{
    if (send(c->fd, request, l->bytes, MSG_NOSIGNAL) != (ssize_t)l->bytes) {
        fail(l, c); /* so little always fits */
        return;
    }
    c->left = l->bytes;
}

static void replied(struct load *l, struct connection *c)
{
    l->counts.requests++;
    if (l->mode == ECHO)
        ask(l, c);
    else if (l->mode == CONN)
        close_one(l, c);
    else
        l->standing++;
}

static void read_reply(struct load *l, struct connection *c)
{
    ssize_t n = recv(c->fd, chunk, sizeof(chunk), 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0 || (size_t)n > c->left ||
        memcmp(chunk, request + (l->bytes - c->left), (size_t)n) != 0) {
        errno = n < 0 ? errno : EPROTO; /* the wrong bytes, or too few */
        fail(l, c);
        return;
    }
    c->left -= (uint32_t)n;
    l->counts.bytes += (uint64_t)n;
    if (c->left == 0)
        replied(l, c);
}

static void established(struct load *l, struct connection *c)
{
    int error = load_connected(c->fd);
    if (error) {
        errno = error;
        fail(l, c);
        return;
    }
    c->open = true;
    l->opening--;
    l->counts.opened++;
    if (l->mode != IDLE)
        l->standing++;
    if (l->mode == BULK_TX) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)(c - l->all)};
        epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &event);
    } else if (l->mode != BULK_RX) {
        ask(l, c);
    }
}

static void move_bulk(struct load *l, struct connection *c)
{
    ssize_t n = l->mode == BULK_TX ? recv(c->fd, NULL, CHUNK, MSG_TRUNC)
                                   : send(c->fd, chunk, CHUNK / 4, MSG_NOSIGNAL);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        fail(l, c);
    else if (n > 0)
        l->counts.bytes += (uint64_t)n;
}

static void serve(struct load *l, struct connection *c)
{
    if (c->fd < 0)
        return;
    if (!c->open)
        established(l, c);
    else if (l->mode == BULK_TX || l->mode == BULK_RX)
        move_bulk(l, c);
    else if (c->left > 0)
        read_reply(l, c);
}

/* ---- all of them ---- */

/* Opens as many as may be opened now. */
static void open_more(struct load *l)
{
    uint64_t due = UINT64_MAX;
    if (l->rate)
        due = tick_since(l->now, l->paced_from) * l->rate / TICK_SEC;
    while (l->n_free > 0 && l->opening < OPENING_MAX && l->begun < due)
        open_one(l);
    for (uint32_t i = 0; l->rate && i < l->connections; i++)
        if (l->all[i].fd >= 0 && tick_since(l->now, l->all[i].since) > PATIENCE)
            fail(l, &l->all[i]);
}

static void turn(struct load *l)
{
    struct epoll_event events[EVENTS];
    open_more(l);
    int n = epoll_wait(l->epoll, events, EVENTS, l->rate ? 1 : STEP);
    if (n < 0 && errno != EINTR)
        load_die("waiting");
    l->now = load_clock(CLOCK_MONOTONIC);
    for (int i = 0; i < n; i++)
        serve(l, &l->all[events[i].data.u32]);
}

/* Until all have stood for WARM. */
static void warm_up(struct load *l)
{
    tick_t start = l->now, stood = TICK_NEVER;
    l->paced_from = start;
    while (stood == TICK_NEVER || tick_since(l->now, stood) < WARM) {
        turn(l);
        if (stood == TICK_NEVER && (l->mode == CONN || l->standing == l->connections))
            stood = l->now;
        if (stood == TICK_NEVER && tick_since(l->now, start) > STANDING) {
            fprintf(stderr, "tcp_load: %u of %u connections stand\n", l->standing, l->connections);
            exit(1);
        }
    }
}

static void measure(struct load *l)
{
    puts("begin");
    fflush(stdout);
    struct counts from = l->counts;
    tick_t start = load_clock(CLOCK_MONOTONIC), cpu = load_clock(CLOCK_PROCESS_CPUTIME_ID);
    l->now = start;
    while (tick_since(l->now, start) < l->duration)
        turn(l);
    const struct counts *to = &l->counts;
    tick_t wall = tick_since(l->now, start);
    cpu = load_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("{\"seconds\":%.6f,\"requests\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"opened\":%" PRIu64
           ",\"failed\":%" PRIu64 ",\"cpu\":%.3f}\n",
           (double)wall / (double)TICK_SEC, to->requests - from.requests, to->bytes - from.bytes,
           to->opened - from.opened, to->failed - from.failed, (double)cpu / (double)wall);
}

/* ---- the command line ---- */

static void read_arguments(struct load *l, char **argv)
{
    for (l->mode = 0; l->mode < MODES && strcmp(argv[1], mode_names[l->mode]) != 0;)
        l->mode++;
    if (l->mode == MODES) {
        fprintf(stderr, "tcp_load: no mode %s\n", argv[1]);
        exit(2);
    }
    l->target = load_target(argv[2], argv[3], argv[4], argv[5]);
    l->connections = load_number(argv[6], 1, CONNECTIONS_MAX);
    l->duration = load_number(argv[7], 1, SECONDS_MAX) * TICK_SEC;
    l->bytes = load_number(argv[8], 1, BYTES_MAX);
    l->rate = load_number(argv[9], 0, RATE_MAX);
}

static void prepare(struct load *l)
{
    load_files(l->connections);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->all = calloc(l->connections, sizeof(*l->all));
    l->free = calloc(l->connections, sizeof(*l->free));
    if (l->epoll < 0 || !l->all || !l->free)
        load_die("starting");
    for (uint32_t i = 0; i < l->connections; i++) {
        l->all[i].fd = -1;
        l->free[l->n_free++] = l->connections - 1 - i;
    }
    for (uint32_t i = 0; i < BYTES_MAX; i++)
        request[i] = (uint8_t)(i * 7 + (i >> 8));
    l->now = load_clock(CLOCK_MONOTONIC);
}

int main(int argc, char **argv)
{
    struct load l = {0};
    if (argc != 10) {
        fputs("usage: tcp_load MODE ADDRESS PORT FROM SOURCES CONNECTIONS SECONDS BYTES RATE\n",
              stderr);
        return 2;
    }
    read_arguments(&l, argv);
    prepare(&l);
    warm_up(&l);
    measure(&l);
    return 0;
}
