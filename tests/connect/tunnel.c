/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* struct linger */

#include "tunnel.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "options.h"

const char *tunnel_end_text(enum tunnel_end end)
{
    static const char *const texts[] = {
#define X(name, text) [name] = (text),
        TUNNEL_ENDS(X)
#undef X
    };
    return texts[end];
}

struct tunnel *tunnel_new(int fd, uint32_t index, uint32_t window, double now)
{
    struct tunnel *t = calloc(1, sizeof(*t));
    if (!t)
        fail(errno, "a tunnel");
    t->index = index;
    t->fd = fd;
    t->size = window;
    t->accepted = now;
    return t;
}

static void close_socket(struct tunnel *t)
{
    close(t->fd);
    t->fd = -1;
    t->n = 0;
    free(t->held);
    t->held = NULL;
}

void tunnel_free(struct tunnel *t)
{
    if (t->fd >= 0)
        close_socket(t);
    free(t);
}

void tunnel_ends(struct tunnel *t, enum tunnel_end end)
{
    if (t->end == TUNNEL_OPEN)
        t->end = end;
}

void tunnel_reset(struct tunnel *t)
{
    static const struct linger now = {.l_onoff = 1};
    if (t->fd < 0)
        return;
    setsockopt(t->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close_socket(t);
}

void tunnel_settle(struct tunnel *t)
{
    if (t->fd < 0 || t->n > 0)
        return;
    if (t->abort) {
        tunnel_reset(t);
        return;
    }
    if (t->down_ended && !t->shut) {
        shutdown(t->fd, SHUT_WR);
        t->shut = true;
    }
    if (t->closed)
        close_socket(t);
}

/* ---- what the socket has not taken ---- */

static void hold(struct tunnel *t, const uint8_t *data, uint32_t n)
{
    assert(n <= t->size - t->n && "the session lets in no more than the window");
    if (!t->held && !(t->held = malloc(t->size)))
        fail(errno, "a window's memory");
    uint32_t at = (t->first + t->n) % t->size;
    uint32_t before = n < t->size - at ? n : t->size - at;
    memcpy(t->held + at, data, before);
    memcpy(t->held, data + before, n - before);
    t->n += n;
}

static ssize_t sent(ssize_t n)
{
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? 0 : TUNNEL_GONE;
}

ssize_t tunnel_deliver(struct tunnel *t, const uint8_t *data, uint32_t n)
{
    ssize_t gone = 0;
    if (t->n == 0)
        gone = sent(send(t->fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT));
    if (gone >= 0 && (uint32_t)gone < n)
        hold(t, data + gone, n - (uint32_t)gone);
    return gone;
}

ssize_t tunnel_drain(struct tunnel *t)
{
    if (t->n == 0)
        return 0;
    uint32_t before = t->n < t->size - t->first ? t->n : t->size - t->first;
    struct iovec parts[] = {{t->held + t->first, before}, {t->held, t->n - before}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t gone = sent(sendmsg(t->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT));
    if (gone > 0) {
        t->first = (t->first + (uint32_t)gone) % t->size;
        t->n -= (uint32_t)gone;
    }
    return gone;
}
