/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A load of TLS 1.3 connections with one HTTP/2 request each, which h2load has no way to make with
 * resumption: one thread, epoll, kernel sockets, OpenSSL.
 *
 *     tls_load MODE ADDRESS PORT FROM SOURCES CONNECTIONS SECONDS PATH LENGTH
 *
 *   full     each connection shakes hands, does its request, closes, and opens again
 *   resumed  the same with a ticket that an earlier one has got (PSK with ECDHE)
 *   idle     each does its request, and then nothing
 *
 * TLS_AES_128_GCM_SHA256 and P-256, which all servers can. The server's certificate is not looked
 * at, but its signature is verified. The request is the same bytes each time, without HPACK state;
 * the reply has to be 200 with LENGTH bytes of content.
 *
 * Prints "begin" and, SECONDS later, a JSON object, as tcp_load does. Exits 1 where a connection
 * fails, or one with a ticket is not resumed.
 */

#define _GNU_SOURCE /* clock_gettime */

#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/tick.h"
#include "load.h"
#include "wire/h2.h"

#define CONNECTIONS_MAX 100000
#define SECONDS_MAX     600
#define LENGTH_MAX      (1u << 30)
#define PATH_SIZE_MAX   100u
#define OPENING_MAX     64 /* at a time, in mode idle */
#define EVENTS          64
#define CHUNK           16384
#define WARM            (500 * TICK_MS)
#define STANDING        (60 * TICK_SEC) /* that all connections may take to stand */
#define STEP            5               /* ms between looks at the clock, at most */

enum mode { FULL, RESUMED, IDLE, MODES };
static const char *const mode_names[] = {"full", "resumed", "idle"};

struct connection {
    SSL *ssl; /* NULL: none */
    int fd;
    bool connected;
    bool answered;
    uint8_t head[H2_FRAME_HEADER]; /* of the frame being received */
    uint32_t have;                 /* bytes of head */
    uint32_t left;                 /* of its payload */
    bool judge;                    /* the next byte is the first of the reply's field block */
    uint32_t content;
};

struct counts {
    uint64_t requests;
    uint64_t opened;
    uint64_t resumed;
};

struct load {
    enum mode mode;
    struct load_target target;
    uint32_t connections, length;
    tick_t duration;
    int epoll;
    tick_t now;
    SSL_CTX *tls;
    struct connection *all;
    uint32_t *free; /* stack of indices of connections without a socket */
    uint32_t n_free;
    uint32_t opening;
    uint32_t standing; /* answered; they stay in mode idle */
    uint64_t begun;
    struct counts counts;
    uint8_t request[512];
    int request_len;
};

static SSL_SESSION *ticket; /* the latest; OpenSSL's callback knows no other place */

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "tls_load: %s\n", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

/* ---- HTTP/2 ---- */

/* A field of the static table's name k, its value as it is (RFC 7541 6.2.2). */
static uint8_t *put_field(uint8_t *at, uint8_t k, const char *value)
{
    uint8_t len = (uint8_t)strlen(value);
    *at++ = k;
    *at++ = len;
    memcpy(at, value, len);
    return at + len;
}

/* Preface, SETTINGS, and a GET in HEADERS. */
static void make_request(struct load *l, const char *authority, const char *path)
{
    uint8_t *at = l->request;
    memcpy(at, H2_PREFACE, H2_PREFACE_SIZE);
    at = h2_frame_write(at + H2_PREFACE_SIZE, &(struct h2_frame){.type = H2_SETTINGS});
    uint8_t *frame = at, *block = frame + H2_FRAME_HEADER;
    at = block;
    *at++ = 0x82; /* :method: GET */
    *at++ = 0x87; /* :scheme: https */
    at = put_field(at, 1, authority);
    at = put_field(at, 4, path);
    h2_frame_write(frame, &(struct h2_frame){.type = H2_HEADERS,
                                             .flags = H2_FLAG_END_HEADERS | H2_FLAG_END_STREAM,
                                             .stream = 1,
                                             .length = (uint32_t)(at - block)});
    l->request_len = (int)(at - l->request);
}

static void acknowledge(struct connection *c)
{
    uint8_t ack[H2_FRAME_HEADER];
    h2_frame_write(ack, &(struct h2_frame){.type = H2_SETTINGS, .flags = H2_FLAG_ACK});
    if (SSL_write(c->ssl, ack, sizeof(ack)) != (int)sizeof(ack))
        die("a connection took no SETTINGS");
}

static void frame_begins(struct load *l, struct connection *c, const struct h2_frame *f)
{
    c->left = f->length;
    if (f->type == H2_SETTINGS && !(f->flags & H2_FLAG_ACK))
        acknowledge(c);
    if (f->type == H2_RST_STREAM || f->type == H2_GOAWAY)
        die("RST_STREAM or GOAWAY came");
    if (f->type != H2_HEADERS && f->type != H2_DATA)
        return;
    if (f->stream != 1 || f->flags & (H2_FLAG_PADDED | H2_FLAG_PRIORITY))
        die("a reply came on another stream, or padded");
    c->judge = f->type == H2_HEADERS;
    c->content += f->type == H2_DATA ? f->length : 0;
    c->answered = f->flags & H2_FLAG_END_STREAM;
    if (c->answered && c->content != l->length)
        die("a reply has the wrong length");
}

/* The field block begins with ":status: 200" of the static table, perhaps behind changes of the
 * table's size (RFC 7541 4.2). */
static void judge(struct connection *c, uint8_t byte)
{
    if ((byte & 0xe0) == 0x20)
        return;
    if (byte != 0x88)
        die("a reply is not 200");
    c->judge = false;
}

static void parse(struct load *l, struct connection *c, const uint8_t *at, uint32_t n)
{
    while (n > 0) {
        uint32_t take = c->left;
        if (take == 0) {
            c->head[c->have++] = *at;
            take = 1;
            if (c->have == H2_FRAME_HEADER) {
                struct h2_frame f = h2_frame_parse(c->head);
                c->have = 0;
                frame_begins(l, c, &f);
            }
        } else {
            take = c->judge ? 1 : take < n ? take : n;
            if (c->judge)
                judge(c, *at);
            c->left -= take;
        }
        at += take;
        n -= take;
    }
}

/* ---- one connection ---- */

static int keep_ticket(SSL *ssl, SSL_SESSION *session)
{
    (void)ssl;
    SSL_SESSION_free(ticket);
    ticket = session;
    return 1;
}

/* A copy, for OpenSSL lets no other connection use what one has resumed. */
static void resume(SSL *ssl)
{
    SSL_SESSION *copy = SSL_SESSION_dup(ticket);
    if (!copy || SSL_set_session(ssl, copy) != 1)
        die("a ticket is not taken");
    SSL_SESSION_free(copy);
}

static void open_one(struct load *l)
{
    uint32_t i = l->free[--l->n_free];
    struct connection *c = &l->all[i];
    *c = (struct connection){.ssl = SSL_new(l->tls), .fd = load_connect(&l->target, l->begun)};
    int yes = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (!c->ssl || SSL_set_fd(c->ssl, c->fd) != 1)
        die("no connection");
    if (l->mode == RESUMED && ticket)
        resume(c->ssl);
    SSL_set_connect_state(c->ssl);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u32 = i};
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
        load_die("epoll");
    l->opening++;
    l->begun++;
}

static void close_one(struct load *l, struct connection *c)
{
    SSL_shutdown(c->ssl);
    SSL_free(c->ssl);
    close(c->fd);
    *c = (struct connection){.fd = -1};
    l->free[l->n_free++] = (uint32_t)(c - l->all);
}

/* Is there no more to do until something comes? */
static bool waits(struct connection *c, int result)
{
    int error = SSL_get_error(c->ssl, result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
        die(error == SSL_ERROR_ZERO_RETURN ? "a connection was closed" : "a connection failed");
    return true;
}

static bool shake(struct load *l, struct connection *c)
{
    int result = SSL_do_handshake(c->ssl);
    if (result != 1)
        return !waits(c, result);
    l->counts.opened++;
    l->counts.resumed += SSL_session_reused(c->ssl) ? 1 : 0;
    if (SSL_write(c->ssl, l->request, l->request_len) != l->request_len)
        die("a connection took no request");
    return true;
}

static void answered(struct load *l, struct connection *c)
{
    l->counts.requests++;
    l->standing++;
    l->opening--;
    if (l->mode != IDLE)
        close_one(l, c);
}

static void read_reply(struct load *l, struct connection *c)
{
    static uint8_t chunk[CHUNK];
    bool before = c->answered;
    int n;
    while ((n = SSL_read(c->ssl, chunk, sizeof(chunk))) > 0)
        parse(l, c, chunk, (uint32_t)n);
    waits(c, n);
    if (c->answered && !before)
        answered(l, c);
}

static void serve(struct load *l, struct connection *c)
{
    if (!c->ssl)
        return;
    if (!c->connected) {
        errno = load_connected(c->fd);
        if (errno)
            load_die("connecting");
        c->connected = true;
    }
    if (SSL_is_init_finished(c->ssl) || shake(l, c))
        read_reply(l, c);
}

/* ---- all of them ---- */

/* The first one alone, that the others may resume. */
static uint32_t opening_max(const struct load *l)
{
    if (l->mode == RESUMED && !ticket)
        return 1;
    return l->mode == IDLE ? OPENING_MAX : l->connections;
}

static void turn(struct load *l)
{
    struct epoll_event events[EVENTS];
    while (l->n_free > 0 && l->opening < opening_max(l))
        open_one(l);
    int n = epoll_wait(l->epoll, events, EVENTS, STEP);
    if (n < 0 && errno != EINTR)
        load_die("waiting");
    l->now = load_clock(CLOCK_MONOTONIC);
    for (int i = 0; i < n; i++)
        serve(l, &l->all[events[i].data.u32]);
}

/* Until all have stood, or as many were served, for WARM. */
static void warm_up(struct load *l)
{
    tick_t start = l->now, stood = TICK_NEVER;
    while (stood == TICK_NEVER || tick_since(l->now, stood) < WARM) {
        turn(l);
        if (stood == TICK_NEVER && l->standing >= l->connections)
            stood = l->now;
        if (stood == TICK_NEVER && tick_since(l->now, start) > STANDING)
            die("not all connections stand");
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
    if (l->mode == RESUMED && to->resumed - from.resumed != to->opened - from.opened)
        die("connections were not resumed");
    printf("{\"seconds\":%.6f,\"requests\":%" PRIu64 ",\"opened\":%" PRIu64 ",\"cpu\":%.3f}\n",
           (double)wall / (double)TICK_SEC, to->requests - from.requests, to->opened - from.opened,
           (double)cpu / (double)wall);
}

/* ---- the command line ---- */

static void read_arguments(struct load *l, char **argv)
{
    for (l->mode = 0; l->mode < MODES && strcmp(argv[1], mode_names[l->mode]) != 0;)
        l->mode++;
    if (l->mode == MODES || strlen(argv[8]) > PATH_SIZE_MAX) {
        fprintf(stderr, "tls_load: no mode %s, or a path too long\n", argv[1]);
        exit(2);
    }
    l->target = load_target(argv[2], argv[3], argv[4], argv[5]);
    l->connections = load_number(argv[6], 1, CONNECTIONS_MAX);
    l->duration = load_number(argv[7], 1, SECONDS_MAX) * TICK_SEC;
    l->length = load_number(argv[9], 0, LENGTH_MAX);
    make_request(l, argv[2], argv[8]);
}

static SSL_CTX *tls_context(void)
{
    static const uint8_t alpn[] = {2, 'h', '2'};
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    if (!tls || SSL_CTX_set_min_proto_version(tls, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(tls, "TLS_AES_128_GCM_SHA256") != 1 ||
        SSL_CTX_set1_groups_list(tls, "P-256") != 1 ||
        SSL_CTX_set_alpn_protos(tls, alpn, sizeof(alpn)) != 0)
        die("no TLS");
    SSL_CTX_set_verify(tls, SSL_VERIFY_NONE, NULL);
    SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(tls, keep_ticket);
    return tls;
}

static void prepare(struct load *l)
{
    load_files(l->connections);
    l->tls = tls_context();
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->all = calloc(l->connections, sizeof(*l->all));
    l->free = calloc(l->connections, sizeof(*l->free));
    if (l->epoll < 0 || !l->all || !l->free)
        load_die("starting");
    while (l->n_free < l->connections) {
        uint32_t i = l->connections - 1 - l->n_free;
        l->free[l->n_free++] = i;
    }
    l->now = load_clock(CLOCK_MONOTONIC);
}

static void finish(struct load *l)
{
    for (uint32_t i = 0; i < l->connections; i++)
        if (l->all[i].ssl)
            close_one(l, &l->all[i]);
    SSL_SESSION_free(ticket);
    SSL_CTX_free(l->tls);
    free(l->all);
    free(l->free);
}

int main(int argc, char **argv)
{
    struct load l = {0};
    if (argc != 10) {
        fputs("usage: tls_load MODE ADDRESS PORT FROM SOURCES CONNECTIONS SECONDS PATH LENGTH\n",
              stderr);
        return 2;
    }
    read_arguments(&l, argv);
    prepare(&l);
    warm_up(&l);
    measure(&l);
    finish(&l);
    return 0;
}
