/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONNECT_TUNNEL_H
#define CONNECT_TUNNEL_H

/* A local connection and what is known of the stream that carries it. Nothing is held on the way
 * up: the socket is read when a DATA frame is made. On the way down what the socket does not take
 * is held, at most the stream's window. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* X(name, text): who ended it first. */
#define TUNNEL_ENDS(X)                     \
    X(TUNNEL_OPEN, "nobody")               \
    X(TUNNEL_CLIENT_ENDED, "client")       \
    X(TUNNEL_TARGET_ENDED, "target")       \
    X(TUNNEL_CLIENT_RESET, "client reset") \
    X(TUNNEL_STREAM_RESET, "stream reset") \
    X(TUNNEL_REFUSED, "refused")           \
    X(TUNNEL_CONNECTION_LOST, "connection")

enum tunnel_end {
#define X(name, text) name,
    TUNNEL_ENDS(X)
#undef X
};

const char *tunnel_end_text(enum tunnel_end end);

struct tunnel {
    uint32_t index;
    int32_t id;                       /* of the stream */
    int status;                       /* of the answer; 0: none yet */
    char proxy_status[128];           /* RFC 9209, as much as fits; "": none */
    uint64_t up, down;                /* bytes taken from the socket; received for it */
    double accepted, answered, ended; /* seconds; 0: not yet */
    enum tunnel_end end;
    uint32_t code; /* the stream's at its end */

    int fd;          /* -1: closed */
    bool idle;       /* the stream has asked for content when there was none */
    bool up_ended;   /* the client's end has been seen */
    bool down_ended; /* the target's */
    bool shut;       /* and told */
    bool closed;     /* the stream */
    bool abort;      /* the socket ends with a reset */
    bool counted;    /* among those that have ended */
    uint8_t *held;   /* a ring, NULL until it is needed */
    uint32_t size, first, n;
};

/* May the stream carry content? */
static inline bool tunnel_stands(const struct tunnel *t)
{
    return t->status >= 200 && t->status <= 299;
}

struct tunnel *tunnel_new(int fd, uint32_t index, uint32_t window, double now);
void tunnel_free(struct tunnel *t);

#define TUNNEL_GONE (-1) /* the socket has been reset */

/* Bytes that the socket has taken, now or of those held, or TUNNEL_GONE. n: within the window. */
ssize_t tunnel_deliver(struct tunnel *t, const uint8_t *data, uint32_t n);
ssize_t tunnel_drain(struct tunnel *t);

/* Says the first reason only. */
void tunnel_ends(struct tunnel *t, enum tunnel_end end);

/* Shuts and closes what is due, when nothing is held any more. */
void tunnel_settle(struct tunnel *t);

/* At once: what is held is lost. */
void tunnel_reset(struct tunnel *t);

#endif
