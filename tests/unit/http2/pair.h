/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_H2_PAIR_H
#define MILLRACE_TESTS_H2_PAIR_H

/*
 * A client's and a server's connection, joined. The server's service answers by path: "/empty" 204,
 * "/echo" its content, "/N" N bytes, CONNECT to "tunnel:1" 200, else 501; the client's notes what
 * it is told.
 */

#include "http2/internal.h"
#include "support/heap.h"
#include "support/unit.h"

struct h2_side {
    struct h2 h2;
    struct http_env env;
    struct counters counters;
    struct h2_conn conn;
    struct http_peer peer;
    bool woken;
};

struct h2_answer {
    struct http_stream *stream; /* NULL once over */
    unsigned heads;
    uint16_t status; /* of the last */
    bool head_end;
    uint64_t bytes;
    uint32_t sum; /* of the bytes */
    bool end;
    bool ended;
    enum stream_code reset; /* STREAM_OK: it was not */
    unsigned trailers;
};

extern struct h2_pair {
    struct heap heap;
    struct heap_pool pool;
    struct h2_settings settings[2]; /* client's, server's; filled by h2_pair_setup */
    struct h2_side client, server;
    tick_t now;
    uint32_t piece; /* what crosses goes in views of so many bytes; 0: whole */
    unsigned requests;
} pair;

void h2_pair_setup(void);   /* memory and settings */
void h2_pair_connect(void); /* both ends */
void h2_pair_teardown(void);

/* Moves everything until both are still. */
void h2_pair_run(void);
/* The same of one direction, once: what the client has to say, or the server. */
void h2_pair_flush(struct h2_side *from, struct h2_side *to);
/* Services of both sides. */
void h2_pair_serve(void);
/* Gives the server (or client) bytes. */
void h2_pair_inject(struct h2_side *to, const void *bytes, size_t n);

/* A request with method and path; *a is what comes of it. */
struct http_stream *h2_pair_request(enum http_method m, const char *path, bool end,
                                    struct h2_answer *a);

#endif
