/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/access_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES (64u * 1024)
#define NUMBERS_MAX  512u /* of a line: all but texts, with names and punctuation */
#define ESCAPE_MAX   6u   /* \u00ff */

/* X(enumerator, name in the log, bytes kept) */
#define TEXTS(X)                     \
    X(LISTENER, "listener", 32)      \
    X(METHOD, "method", 16)          \
    X(AUTHORITY, "authority", 256)   \
    X(PATH, "path", 1024)            \
    X(USER_AGENT, "user_agent", 256) \
    X(REFERER, "referer", 256)       \
    X(PROTOCOL, "protocol", 8)       \
    X(TLS, "tls", 16)                \
    X(CIPHER, "cipher", 48)          \
    X(PROXY, "proxy", 64)            \
    X(USER, "user", 64)

enum text {
#define X(id, name, max) TEXT_##id,
    TEXTS(X)
#undef X
        TEXT_END
};

enum {
#define X(id, name, max) MOST_##id = (max),
    TEXTS(X)
#undef X
        MOST_ALL = 0
#define X(id, name, max) +(max)
    TEXTS(X)
#undef X
};

#define LINE_MAX_BYTES (NUMBERS_MAX + ESCAPE_MAX * MOST_ALL)
_Static_assert(LINE_MAX_BYTES < BUFFER_BYTES, "a line fits the buffer");

/* What crosses. */
struct access_record {
    tick_t began;
    tick_t took;
    uint64_t sent;
    uint64_t received;
    uint64_t connection;
    struct ip_addr addr;
    uint16_t port;
    uint16_t status;
    uint16_t worker;
    uint8_t outcome; /* enum stream_code; of a tunnel enum tunnel_end */
    bool is_tunnel;  /* then the next are valid */
    uint16_t target_port;
    struct ip_addr target; /* ::: none answered */
    tick_t resolved;
    tick_t connected;
    uint16_t n[TEXT_END]; /* bytes of each text, which follow each other */
    char text[];
};

/* ---- worker ---- */

bool access_ring_init(struct access_ring *r, uint32_t bytes, uint32_t sample)
{
    *r = (struct access_ring){.ring = byte_ring_create(bytes), .sample = sample};
    return r->ring;
}

void access_ring_fini(struct access_ring *r)
{
    byte_ring_destroy(r->ring);
    r->ring = NULL;
}

static struct http_text string(const char *p)
{
    return (struct http_text){p, p ? (uint32_t)strlen(p) : 0};
}

static void gather_peer(const struct http_peer *peer, struct http_text text[TEXT_END])
{
    text[TEXT_LISTENER] = string(peer->listener);
    text[TEXT_PROTOCOL] = string(peer->protocol);
    text[TEXT_TLS] = string(peer->tls);
    text[TEXT_CIPHER] = string(peer->cipher);
}

static uint32_t cut(struct http_text text[TEXT_END])
{
    static const uint16_t most[] = {
#define X(id, name, max) [TEXT_##id] = MOST_##id,
        TEXTS(X)
#undef X
    };
    uint32_t n = 0;
    for (unsigned i = 0; i < TEXT_END; i++) {
        if (text[i].n > most[i])
            text[i].n = most[i];
        n += text[i].n;
    }
    return n;
}

static void put_record(struct access_ring *r, const struct access_record *record,
                       struct http_text text[TEXT_END])
{
    uint32_t size = (uint32_t)sizeof(*record) + cut(text);
    struct access_record *to = byte_ring_reserve(r->ring, size);
    if (!to) {
        uint64_t lost = atomic_load_explicit(&r->lost, memory_order_relaxed);
        atomic_store_explicit(&r->lost, lost + 1, memory_order_relaxed);
        return;
    }
    *to = *record;
    char *at = to->text;
    for (unsigned i = 0; i < TEXT_END; i++) {
        to->n[i] = (uint16_t)text[i].n;
        if (text[i].n > 0)
            memcpy(at, text[i].p, text[i].n);
        at += text[i].n;
    }
    byte_ring_commit(r->ring);
}

void access_ring_put(struct access_ring *r, const struct http_peer *peer,
                     const struct http_record *from)
{
    struct http_text text[TEXT_END] = {0};
    if (r->sample == 0 || ++r->passed < r->sample)
        return;
    r->passed = 0;
    gather_peer(peer, text);
    text[TEXT_METHOD] = from->method;
    text[TEXT_AUTHORITY] = from->authority;
    text[TEXT_PATH] = from->path;
    text[TEXT_USER_AGENT] = from->user_agent;
    text[TEXT_REFERER] = from->referer;
    struct access_record record = {
        .began = from->began,
        .took = from->took,
        .sent = from->sent,
        .received = from->received,
        .connection = peer->connection,
        .addr = peer->addr,
        .port = peer->port,
        .status = from->status,
        .worker = peer->env->worker,
        .outcome = from->outcome,
    };
    put_record(r, &record, text);
}

void access_ring_put_tunnel(struct access_ring *r, const struct tunnel_record *from)
{
    const struct http_peer *peer = from->peer;
    struct http_text text[TEXT_END] = {0};
    if (r->sample == 0)
        return;
    gather_peer(peer, text);
    text[TEXT_METHOD] = HTTP_TEXT("CONNECT");
    text[TEXT_AUTHORITY] = from->authority;
    text[TEXT_PROXY] = string(from->proxy);
    text[TEXT_USER] = string(from->user);
    struct access_record record = {
        .began = from->began,
        .took = from->took,
        .sent = from->to_client,
        .received = from->to_target,
        .connection = peer->connection,
        .addr = peer->addr,
        .port = peer->port,
        .status = from->status,
        .worker = peer->env->worker,
        .outcome = from->end,
        .is_tunnel = true,
        .target_port = from->port,
        .target = from->target,
        .resolved = from->resolved,
        .connected = from->connected,
    };
    put_record(r, &record, text);
}

/* ---- control thread: lines ---- */

/* Bytes of the UTF-8 sequence at p (RFC 3629 4), of at most n; 0: it is none. */
static unsigned utf8(const unsigned char *p, unsigned n)
{
    unsigned length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || length > n)
        return 0;
    for (unsigned i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool low = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90); /* overlong */
    bool high = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    return low || high ? 0 : length;
}

/* A JSON string's inside (RFC 8259 7); a byte that is no UTF-8 is the character of that number. */
static char *escape(char *to, const char *text, unsigned n)
{
    const unsigned char *p = (const unsigned char *)text;
    for (unsigned i = 0, step; i < n; i += step) {
        step = p[i] < 0x80 ? 1 : utf8(p + i, n - i);
        if (step == 0 || p[i] < 0x20 || p[i] == 0x7f) {
            to += sprintf(to, "\\u%04x", p[i]);
            step = 1;
            continue;
        }
        if (p[i] == '"' || p[i] == '\\')
            *to++ = '\\';
        memcpy(to, p + i, step);
        to += step;
    }
    return to;
}

/* RFC 3339, in milliseconds. */
static char *put_time(char *to, int64_t ns)
{
    struct tm tm;
    time_t second = (time_t)(ns / (int64_t)TICK_SEC);
    gmtime_r(&second, &tm);
    to += strftime(to, 32, "%Y-%m-%dT%H:%M:%S", &tm);
    return to + sprintf(to, ".%03dZ", (int)(ns % (int64_t)TICK_SEC / (int64_t)TICK_MS));
}

static char *put_texts(char *to, const struct access_record *r)
{
    static const char *const names[] = {
#define X(id, name, max) [TEXT_##id] = name,
        TEXTS(X)
#undef X
    };
    const char *text = r->text;
    for (unsigned i = 0; i < TEXT_END; text += r->n[i++]) {
        if (r->n[i] == 0)
            continue;
        to += sprintf(to, ",\"%s\":\"", names[i]);
        to = escape(to, text, r->n[i]);
        *to++ = '"';
    }
    return to;
}

/* Where a tunnel led, and how long that took to find out. */
static char *put_target(char *to, const struct access_record *r)
{
    char addr[IP_ADDR_TEXT];
    if (!r->is_tunnel)
        return to;
    if (r->resolved)
        to += sprintf(to, ",\"resolved_us\":%" PRIu64, r->resolved / TICK_US);
    if (!r->connected)
        return to;
    ip_format(&r->target, addr);
    return to + sprintf(to, ",\"connected_us\":%" PRIu64 ",\"target\":\"%s\",\"target_port\":%u",
                        r->connected / TICK_US, addr, r->target_port);
}

static const char *outcome_of(const struct access_record *r)
{
    if (r->is_tunnel)
        return tunnel_end_name((enum tunnel_end)r->outcome);
    return r->outcome == STREAM_OK ? "ok" : stream_code_name((enum stream_code)r->outcome);
}

/* Writes at most LINE_MAX_BYTES. Returns the end. */
static char *put_line(char *to, const struct access_record *r, int64_t wall)
{
    char addr[IP_ADDR_TEXT];
    ip_format(&r->addr, addr);
    to = put_time(to + sprintf(to, "{\"time\":\""), wall + (int64_t)r->began);
    to += sprintf(to, "\",\"peer\":\"%s\",\"port\":%u,\"status\":", addr, r->port);
    to += r->status ? sprintf(to, "%u", r->status) : sprintf(to, "null");
    to += sprintf(to, ",\"bytes\":%" PRIu64 ",\"received\":%" PRIu64 ",\"duration_us\":%" PRIu64,
                  r->sent, r->received, r->took / TICK_US);
    to += sprintf(to, ",\"outcome\":\"%s\",\"worker\":%u,\"connection\":\"%u-%" PRIx64 "\"",
                  outcome_of(r), r->worker, r->worker, r->connection); /* as in /v1/connections */
    to = put_target(to, r);
    to = put_texts(to, r);
    return to + sprintf(to, "}\n");
}

/* ---- control thread: the file ---- */

bool access_log_open(struct access_log *l, const char *file)
{
    struct stat st;
    char *buffer = l->buffer ? l->buffer : malloc(BUFFER_BYTES);
    int fd = !buffer ? -1
             : file  ? open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0640)
                     : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (buffer)
        l->buffer = buffer;
    if (fd < 0)
        return false;
    access_log_flush(l);
    if (l->fd >= 0)
        close(l->fd);
    l->fd = fd;
    l->patient = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    l->error = 0;
    return true;
}

void access_log_close(struct access_log *l)
{
    access_log_flush(l);
    if (l->fd >= 0)
        close(l->fd);
    free(l->buffer);
    *l = (struct access_log){.fd = -1};
}

/* A pipe that says it is ready takes this much without a wait (pipe(7)). */
static size_t portion(const struct access_log *l)
{
    struct pollfd p = {.fd = l->fd, .events = POLLOUT};
    if (l->patient)
        return l->n;
    if (poll(&p, 1, 0) != 1 || !(p.revents & (POLLOUT | POLLERR)))
        return 0;
    return l->n < PIPE_BUF ? l->n : PIPE_BUF;
}

/* What cannot be written for another reason than a full pipe is given up. */
void access_log_flush(struct access_log *l)
{
    size_t n;
    while (l->n > 0 && l->fd >= 0 && (n = portion(l)) > 0) {
        ssize_t done = write(l->fd, l->buffer, n);
        if (done < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        l->error = done < 0 ? errno : 0;
        l->n = done < 0 ? 0 : l->n - (size_t)done;
        if (done > 0)
            memmove(l->buffer, l->buffer + done, l->n);
    }
    if (l->fd < 0)
        l->n = 0;
}

/* At most a ring's worth, so that a worker that goes on writing does not keep the thread here. */
void access_log_drain(struct access_log *l, struct access_ring *r, int64_t wall)
{
    const struct access_record *record;
    uint64_t end = atomic_load_explicit(&r->ring->tail, memory_order_acquire);
    while (l->fd >= 0 && (record = byte_ring_peek(r->ring)) &&
           atomic_load_explicit(&r->ring->head, memory_order_relaxed) < end) {
        if (BUFFER_BYTES - l->n < LINE_MAX_BYTES)
            access_log_flush(l);
        if (BUFFER_BYTES - l->n < LINE_MAX_BYTES)
            return;
        char *line = l->buffer + l->n;
        l->n += (size_t)(put_line(line, record, wall) - line);
        l->written++;
        byte_ring_pop(r->ring);
    }
}
