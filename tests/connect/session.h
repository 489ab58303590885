/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONNECT_SESSION_H
#define CONNECT_SESSION_H

/* The HTTP/2 session with the proxy, by nghttp2, and all tunnels on it. */

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdint.h>

#include "carrier.h"
#include "tunnel.h"

#define SESSION_CHUNK 65536

struct session {
    const struct options *options;
    struct carrier carrier;
    nghttp2_session *h2;
    struct tunnel **tunnels; /* by index: the stream's id is 2 * index + 1 */
    uint32_t n, live;
    bool goaway;       /* it takes no more */
    const char *fault; /* why the connection has ended, if it should not have */
    bool over;
    bool readable, writable;
    const uint8_t *rest; /* of a frame of nghttp2's */
    size_t rest_n;
    size_t out_first, out_n;
    uint8_t out[SESSION_CHUNK];
    uint8_t in[SESSION_CHUNK];
};

void session_open(struct session *s, const struct options *o);
void session_close(struct session *s);

/* A stream for a new connection. */
struct tunnel *session_connect(struct session *s, int fd);

/* Its socket is ready (EPOLLIN, ...). */
void session_local(struct session *s, struct tunnel *t, uint32_t events);

/* Reads and writes the carrier, so much a turn. Is there more to do at once? */
bool session_turn(struct session *s);

/* No more streams; what can be said at once is said. */
void session_end(struct session *s);

double session_clock(void);

#endif
