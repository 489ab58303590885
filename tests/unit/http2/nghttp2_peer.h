/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_NGHTTP2_PEER_H
#define MILLRACE_TESTS_NGHTTP2_PEER_H

/*
 * A connection of ours joined with a session of nghttp2, either of which may be the client. What a
 * stream carries is computed from its place and checked byte by byte on both sides.
 */

#include <nghttp2/nghttp2.h>

#include "base/rng.h"
#include "http2/internal.h"
#include "support/heap.h"
#include "support/unit.h"

#define PEER_STREAMS 256u

/* A stream, as both see it; its place is its identifier / 2. */
struct peer_talk {
    bool tunnel; /* CONNECT */
    /* Ours. */
    struct http_stream *s; /* NULL: not begun, or over */
    uint32_t our_written;
    uint32_t our_read;
    uint32_t our_heads;
    uint32_t our_fields; /* of the last head, and its bytes */
    uint32_t our_field_bytes;
    uint32_t our_trailers;
    uint16_t our_status;
    bool our_saw_end;
    bool our_finished; /* we ended it */
    bool our_early;    /* as a server, before the client had */
    bool our_ended;
    enum stream_code our_reset;
    /* nghttp2's. */
    int32_t id;
    uint32_t to_write;
    uint32_t written;
    uint32_t read;
    uint32_t unconsumed;
    uint32_t heads;
    uint32_t trailers;
    uint16_t status;
    bool responded;     /* as a server, with a final head */
    bool finished;      /* nothing more to write */
    bool with_trailers; /* behind that */
    bool saw_end;
    bool closed;
    uint32_t error; /* with closed */
};

extern struct peer {
    struct heap heap;
    struct heap_pool pool;
    bool client; /* ours is */
    bool late;   /* neither side consumes before peer_consume */
    uint32_t piece;
    size_t padding; /* of each frame of nghttp2's; as far as there is room */
    tick_t now;

    struct h2_settings settings;
    struct h2 h2;
    struct http_env env;
    struct counters counters;
    struct http_peer peer;
    struct h2_conn conn;

    nghttp2_session *session;
    struct peer_talk talk[PEER_STREAMS];
    unsigned pings;     /* acknowledged by ours */
    unsigned goaways;   /* received by nghttp2 */
    uint32_t goaway_at; /* the last identifier of the last of them */
    uint32_t goaway_error;
} peer;

void peer_setup(void); /* memory, our settings */
void peer_teardown(void);
/* Before peer_connect: no limit on what the other side does, and small windows. */
void peer_lenient(void);
/* Both ends, with settings of nghttp2's. */
void peer_connect(bool client, const nghttp2_settings_entry *entry, size_t n);
/* Moves everything until both are still. */
void peer_run(void);
/* One direction, once. False: there was nothing. */
bool peer_from_ours(void);
bool peer_from_theirs(void);
void peer_serve(void);

/* ---- ours ---- */

/* As a client. NULL: refused by h2_request. */
struct peer_talk *peer_our_request(enum http_method m, bool end);
void peer_our_respond(struct peer_talk *t, uint16_t status, bool end);
void peer_our_write(struct peer_talk *t, uint32_t n);
void peer_our_finish(struct peer_talk *t, bool trailers);

/* ---- nghttp2's ---- */

/* As a client; big: with a field of so many bytes. */
struct peer_talk *peer_their_request(const char *method, bool end, uint32_t big);
void peer_their_respond(struct peer_talk *t, const char *status, bool end, uint32_t big);
void peer_their_write(struct peer_talk *t, uint32_t n);
void peer_their_finish(struct peer_talk *t, bool trailers);

/* Consumes what has come, on both sides. */
void peer_consume(void);

/* So many things that either side may do, in an order of the seed's; then all streams come to
 * their end, and what was written has to have arrived. */
void peer_random(uint64_t seed, unsigned steps);

#endif
