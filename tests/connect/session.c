/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* clock_gettime */

#include "session.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME_MAX 16384
#define READS     32 /* of a turn: what comes in may open windows of what goes out */
#define WRITES    32
#define NEVER     "nghttp2 fails for want of memory only"

double session_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void must(int result, const char *what)
{
    if (result != 0)
        fail(0, "%s: %s", what, nghttp2_strerror(result));
}

/* NULL: none of ours. Ids are given in the order of requests. */
static struct tunnel *tunnel_of(const struct session *s, int32_t id)
{
    uint32_t index = id > 0 ? (uint32_t)id / 2 : s->n;
    return index < s->n ? s->tunnels[index] : NULL;
}

static bool may_send(const struct session *s, const struct tunnel *t)
{
    return tunnel_stands(t) || (s->options->early && t->status == 0);
}

/* After anything that may have been the last of a tunnel. */
static void settle(struct session *s, struct tunnel *t)
{
    tunnel_settle(t);
    if (t->counted || t->fd >= 0 || !t->closed)
        return;
    t->counted = true;
    t->ended = session_clock();
    s->live--;
}

static void reset_stream(struct session *s, struct tunnel *t, uint32_t code)
{
    if (!t->closed)
        must(nghttp2_submit_rst_stream(s->h2, NGHTTP2_FLAG_NONE, t->id, code), "a reset");
}

static void client_is_gone(struct session *s, struct tunnel *t)
{
    tunnel_ends(t, TUNNEL_CLIENT_RESET);
    tunnel_reset(t);
    reset_stream(s, t, NGHTTP2_CANCEL);
    settle(s, t);
}

/* The socket has taken so many; the target may send as many more. */
static void taken(struct session *s, struct tunnel *t, ssize_t n)
{
    if (n == TUNNEL_GONE)
        client_is_gone(s, t);
    else if (n > 0 && !t->closed)
        must(nghttp2_session_consume_stream(s->h2, t->id, (size_t)n), "a window");
}

/* ---- up ---- */

static ssize_t read_local(nghttp2_session *h2, int32_t id, uint8_t *at, size_t room,
                          uint32_t *flags, nghttp2_data_source *source, void *user)
{
    (void)h2;
    (void)id;
    struct session *s = user;
    struct tunnel *t = source->ptr;
    ssize_t n = -1;
    if (t->fd >= 0 && may_send(s, t)) {
        n = recv(t->fd, at, room, MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            client_is_gone(s, t);
    }
    if (n < 0) {
        t->idle = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    if (n == 0) {
        t->up_ended = true;
        tunnel_ends(t, TUNNEL_CLIENT_ENDED);
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    t->up += (uint64_t)n;
    return n;
}

static void resume(struct session *s, struct tunnel *t)
{
    if (!t->idle || t->closed || !may_send(s, t))
        return;
    t->idle = false;
    must(nghttp2_session_resume_data(s->h2, t->id), "a stream");
}

static ssize_t frame_size(nghttp2_session *h2, uint8_t type, int32_t id, int32_t connection,
                          int32_t stream, uint32_t most, void *user)
{
    (void)h2;
    (void)type;
    (void)connection;
    (void)stream;
    struct session *s = user;
    uint32_t wanted = list_at(&s->options->frames, (uint32_t)id / 2, FRAME_MAX);
    return (ssize_t)(wanted < most ? wanted : most);
}

void session_local(struct session *s, struct tunnel *t, uint32_t events)
{
    int error = 0;
    socklen_t len = sizeof(error);
    if (t->fd < 0)
        return;
    if (events & EPOLLERR)
        getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error) {
        client_is_gone(s, t);
        return;
    }
    if (events & EPOLLOUT)
        taken(s, t, tunnel_drain(t));
    resume(s, t);
    settle(s, t);
}

/* ---- down ---- */

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data, size_t n,
                   void *user)
{
    (void)flags;
    struct session *s = user;
    struct tunnel *t = tunnel_of(s, id);
    assert(t && "nghttp2 knows the streams it has opened");
    /* The connection's window opens at once: a reader that stops has its stream's window only. */
    must(nghttp2_session_consume_connection(h2, n), "a window");
    if (!tunnel_stands(t) || t->fd < 0) { /* the content of an error, or nobody's */
        must(nghttp2_session_consume_stream(h2, id, n), "a window");
        return 0;
    }
    t->down += n;
    taken(s, t, tunnel_deliver(t, data, (uint32_t)n));
    return 0;
}

static bool is(const uint8_t *name, size_t len, const char *text)
{
    return len == strlen(text) && memcmp(name, text, len) == 0;
}

static int on_field(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
                    size_t name_len, const uint8_t *value, size_t len, uint8_t flags, void *user)
{
    (void)h2;
    (void)flags;
    struct tunnel *t = tunnel_of(user, frame->hd.stream_id);
    if (!t || frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    if (is(name, name_len, ":status"))
        t->status = atoi((const char *)value); /* nghttp2 ends it with a 0 */
    else if (is(name, name_len, "proxy-status"))
        snprintf(t->proxy_status, sizeof(t->proxy_status), "%.*s", (int)len, (const char *)value);
    return 0;
}

static void answered(struct session *s, struct tunnel *t)
{
    if (t->status < 200 || t->answered > 0)
        return;
    t->answered = session_clock();
    if (tunnel_stands(t)) {
        resume(s, t);
        return;
    }
    tunnel_ends(t, TUNNEL_REFUSED);
    t->abort = true;
    reset_stream(s, t, NGHTTP2_CANCEL);
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *user)
{
    (void)h2;
    struct session *s = user;
    struct tunnel *t = tunnel_of(s, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_GOAWAY)
        s->goaway = true;
    if (!t || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS)
        answered(s, t);
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        t->down_ended = true;
        tunnel_ends(t, TUNNEL_TARGET_ENDED);
    }
    settle(s, t);
    return 0;
}

static int on_close(nghttp2_session *h2, int32_t id, uint32_t code, void *user)
{
    (void)h2;
    struct session *s = user;
    struct tunnel *t = tunnel_of(s, id);
    if (!t || t->closed)
        return 0;
    t->closed = true;
    t->code = code;
    if (code != NGHTTP2_NO_ERROR || !t->down_ended) {
        tunnel_ends(t, TUNNEL_STREAM_RESET);
        t->abort = true;
    }
    settle(s, t);
    return 0;
}

/* A request that came too late, behind GOAWAY. */
static int on_not_sent(nghttp2_session *h2, const nghttp2_frame *frame, int error, void *user)
{
    (void)error;
    if (frame->hd.type == NGHTTP2_HEADERS)
        return on_close(h2, frame->hd.stream_id, NGHTTP2_REFUSED_STREAM, user);
    return 0;
}

/* ---- a request ---- */

static nghttp2_nv field(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

/* RFC 7617 2 */
static void make_credentials(char *at, size_t size, const char *user)
{
    unsigned char encoded[512];
    assert(strlen(user) <= sizeof(encoded) / 4 * 3 - 4 && "the command line has a bound");
    EVP_EncodeBlock(encoded, (const unsigned char *)user, (int)strlen(user));
    snprintf(at, size, "Basic %s", (const char *)encoded);
}

/* Returns the id. */
static int32_t request(struct session *s, struct tunnel *t)
{
    const struct options *o = s->options;
    char credentials[600], priority[16];
    nghttp2_nv fields[4] = {field(":method", "CONNECT"), field(":authority", o->target)};
    size_t n = 2;
    nghttp2_priority_spec tree;
    nghttp2_data_provider content = {.source.ptr = t, .read_callback = read_local};
    if (o->user) {
        make_credentials(credentials, sizeof(credentials), o->user);
        fields[n] = field("proxy-authorization", credentials);
        fields[n++].flags = NGHTTP2_NV_FLAG_NO_INDEX; /* RFC 7541 7.1.3 */
    }
    if (o->urgencies.n > 0) {
        snprintf(priority, sizeof(priority), "u=%u, i",
                 (unsigned)list_at(&o->urgencies, t->index, 0));
        fields[n++] = field("priority", priority);
    }
    int weight = (int)list_at(&o->weights, t->index, NGHTTP2_DEFAULT_WEIGHT);
    nghttp2_priority_spec_init(&tree, 0, weight, 0);
    return nghttp2_submit_request(s->h2, o->weights.n > 0 ? &tree : NULL, fields, n, &content, t);
}

struct tunnel *session_connect(struct session *s, int fd)
{
    struct tunnel *t = tunnel_new(fd, s->n, s->options->window, session_clock());
    assert(s->n < TUNNELS_MAX && "nobody takes connections after that");
    s->tunnels[s->n++] = t;
    s->live++;
    t->id = request(s, t);
    if (t->id != (int32_t)(2 * t->index + 1))
        fail(0, "a request: %s", t->id < 0 ? nghttp2_strerror(t->id) : "not the next stream");
    return t;
}

/* ---- the whole ---- */

static nghttp2_session *make_h2(struct session *s)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    nghttp2_session *h2;
    must(nghttp2_session_callbacks_new(&callbacks), NEVER);
    must(nghttp2_option_new(&option), NEVER);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_field);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_not_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks, frame_size);
    nghttp2_option_set_no_auto_window_update(option, 1);
    must(nghttp2_session_client_new2(&h2, callbacks, s, option), NEVER);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    return h2;
}

void session_open(struct session *s, const struct options *o)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, o->window},
    };
    s->options = o;
    s->readable = s->writable = true;
    s->tunnels = calloc(TUNNELS_MAX, sizeof(struct tunnel *));
    if (!s->tunnels)
        fail(errno, "memory");
    carrier_open(&s->carrier, o);
    s->h2 = make_h2(s);
    must(nghttp2_submit_settings(s->h2, NGHTTP2_FLAG_NONE, settings, 2), "SETTINGS");
    must(nghttp2_session_set_local_window_size(s->h2, NGHTTP2_FLAG_NONE, 0,
                                               (int32_t)o->connection_window),
         "the connection's window");
}

void session_close(struct session *s)
{
    nghttp2_session_del(s->h2);
    for (uint32_t i = 0; i < s->n; i++)
        tunnel_free(s->tunnels[i]);
    free(s->tunnels);
    carrier_close(&s->carrier);
}

/* The connection has ended; so has each tunnel, and its client hears of it. */
static void lose(struct session *s, const char *fault)
{
    s->over = true;
    if (s->live > 0 || !s->goaway)
        s->fault = fault;
    for (uint32_t i = 0; i < s->n; i++) {
        struct tunnel *t = s->tunnels[i];
        if (t->counted)
            continue;
        tunnel_ends(t, TUNNEL_CONNECTION_LOST);
        t->closed = t->abort = true;
        tunnel_reset(t);
        settle(s, t);
    }
}

/* Has it read all it may read in a turn? */
static bool read_some(struct session *s)
{
    for (int i = 0; i < READS && !s->over; i++) {
        ssize_t n = carrier_read(&s->carrier, s->in, sizeof(s->in));
        if (n == CARRIER_WAIT) {
            s->readable = false;
            return false;
        }
        if (n < 0)
            lose(s, n == CARRIER_ENDED ? "the proxy has closed" : "the connection has failed");
        else if (nghttp2_session_mem_recv(s->h2, s->in, (size_t)n) < 0)
            lose(s, "the proxy broke the protocol");
    }
    return !s->over;
}

/* Is there something to send? Frames are made to fill records. */
static bool fill(struct session *s)
{
    if (s->out_n > 0)
        return true;
    s->out_first = 0;
    while (s->out_n < sizeof(s->out)) {
        if (s->rest_n == 0) {
            ssize_t n = nghttp2_session_mem_send(s->h2, &s->rest);
            if (n < 0)
                fail(0, "%s", NEVER);
            if (n == 0)
                break;
            s->rest_n = (size_t)n;
        }
        size_t room = sizeof(s->out) - s->out_n, n = s->rest_n < room ? s->rest_n : room;
        memcpy(s->out + s->out_n, s->rest, n);
        s->out_n += n;
        s->rest += n;
        s->rest_n -= n;
    }
    return s->out_n > 0;
}

static bool write_some(struct session *s)
{
    for (int i = 0; i < WRITES && !s->over; i++) {
        if (!fill(s))
            return false;
        ssize_t n = carrier_write(&s->carrier, s->out + s->out_first, s->out_n);
        if (n == CARRIER_WAIT) {
            s->writable = false;
            return false;
        }
        if (n < 0) {
            lose(s, "the connection has failed");
        } else {
            s->out_first += (size_t)n;
            s->out_n -= (size_t)n;
        }
    }
    return !s->over;
}

bool session_turn(struct session *s)
{
    bool more = s->readable && read_some(s);
    if (s->writable)
        more = write_some(s) || more;
    if (!s->over && !nghttp2_session_want_read(s->h2) && !nghttp2_session_want_write(s->h2))
        lose(s, "nghttp2 wants no more of it"); /* behind GOAWAY, or its own fault was told */
    return more;
}

void session_end(struct session *s)
{
    if (s->over)
        return;
    must(nghttp2_session_terminate_session(s->h2, NGHTTP2_NO_ERROR), "GOAWAY");
    write_some(s);
}
