/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_HTTP2_CONN_H
#define MILLRACE_HTTP2_CONN_H

/*
 * An HTTP/2 connection (RFC 9113), server's or client's side, over any ordered byte transport:
 * bytes go in by h2_input and come out by h2_output; the owner carries them, through TLS or not.
 * Its streams are struct http_stream, served by the service of the connection.
 *
 * A worker's connections share a struct h2. Services of streams run in two places: heads are told
 * within h2_input, between frames; all else by stream_ready_run on h2->ready, which is the owner's
 * to call, when no connection is at work. What services do reaches a connection as notes, and its
 * owner by `wake`.
 *
 *   conn.c     life, errors, GOAWAY     input.c    frames in        output.c  frames out
 *   stream.c   a stream's states        headers.c  blocks in, out   control.c  SETTINGS and such
 *   timers.c   all timers               queue.c    bytes to send    streams.h  who is who
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slab.h"
#include "base/tick.h"
#include "buf/pkt.h"
#include "http2/glitch.h"
#include "http2/hpack.h"
#include "http2/memo.h"
#include "http2/priority.h"
#include "http2/settings.h"
#include "http2/streams.h"
#include "sched/sched.h"
#include "stats/counter.h"
#include "stream/http.h"
#include "wire/h2.h"

struct h2_conn;

/* A worker's. */
struct h2 {
    struct http_env *env;
    struct counters *counters;
    struct stream_ready ready; /* streams whose services are to be told something */
    struct hpack_mem *hpack_mem;
    struct slab *streams;
    struct h2_fields fields; /* the block being decoded */
    struct h2_memo memo;
    uint64_t spare; /* bytes that the worker could still let peers pin: the owner's to tell */
    /* A service did something, or the connection has: call h2_output soon. Many times is once. */
    void (*wake)(struct h2_conn *c);
};

/* env and counters outlive it; max_streams: of all connections together. settings: bounds of heads
 * for which there is to be room, filled. False: no memory. */
bool h2_init(struct h2 *h, struct http_env *env, struct counters *counters, uint32_t max_streams,
             const struct h2_settings *settings, void (*wake)(struct h2_conn *));
void h2_fini(struct h2 *h);

enum h2_conn_flag {
    H2_CONN_CLIENT = 1u << 0,
    H2_CONN_SETTINGS_DONE = 1u << 1, /* the other side's preface and first SETTINGS have come */
    H2_CONN_ACKED = 1u << 2,         /* our SETTINGS are acknowledged, and so in force */
    H2_CONN_DRAINING = 1u << 3,      /* GOAWAY was sent, at first with the largest identifier */
    H2_CONN_CLOSING = 1u << 4,       /* and with the true one */
    H2_CONN_GOAWAY_RECEIVED = 1u << 5,
    H2_CONN_FAILED = 1u << 6,     /* a connection error: nothing is read any more */
    H2_CONN_ENDED = 1u << 7,      /* the transport has */
    H2_CONN_WINDOW_DUE = 1u << 8, /* WINDOW_UPDATE of the connection */
};

/* What RFC 9113 6.5.2 lets the other side say. */
struct h2_peer_settings {
    uint32_t header_table;
    uint32_t max_streams;
    uint32_t initial_window;
    uint32_t max_frame;
    uint32_t header_list;  /* UINT32_MAX: no bound */
    bool connect_protocol; /* RFC 8441 3 */
    uint8_t no_priorities; /* RFC 9218 2.1; 2: not said */
};

/* Bytes that wait to be sent, in order: all frames but DATA (queue.c). */
struct h2_queue {
    uint8_t *bytes;
    uint32_t at;   /* first byte not sent */
    uint32_t used; /* one past the last */
    uint32_t room; /* of bytes */
};

/* The frame being received (input.c). */
struct h2_receiving {
    struct h2_frame frame;
    uint32_t left;                 /* bytes of its payload to come */
    uint8_t phase;                 /* enum h2_phase */
    uint8_t pad;                   /* bytes of padding at the end of DATA */
    uint8_t n;                     /* bytes in head */
    uint8_t head[H2_PREFACE_SIZE]; /* of a preface or a frame's header that comes in pieces */
    struct h2_stream *stream;      /* whose DATA it is; NULL: to be thrown away */
    /* A payload that comes in pieces, or a block of fields over several frames (headers.c). */
    uint8_t *bytes;
    uint32_t start; /* in bytes: of the present frame's payload, behind the block so far */
    uint32_t used;
    uint32_t room;
    uint32_t block_stream;        /* whose block is open: CONTINUATION and nothing else; 0: none */
    uint8_t block_flags;          /* of its HEADERS */
    uint8_t continuations;        /* of it */
    bool self_dependent;          /* its HEADERS named itself (RFC 7540 5.3.1) */
    struct h2_dependency depends; /* what else they said of that */
    bool small;                   /* the DATA before was */
};

struct h2_conn {
    struct h2 *h2;
    const struct h2_settings *settings;
    const struct http_service *service; /* a server's */
    const struct http_peer *peer;
    uint32_t flags; /* enum h2_conn_flag */
    uint32_t error; /* with FAILED: enum h2_error */
    struct h2_receiving rx;

    /* Streams. */
    struct h2_streams streams;
    struct h2_closed_ring closed;
    struct sched sched; /* have content to send, and a window of their own for it */
    struct h2_priorities priorities;
    struct list crediting; /* owe a WINDOW_UPDATE */
    struct list leaving;   /* closed, and their services are to hear of it */
    struct list done;      /* to be freed */
    uint32_t last_peer;    /* largest identifier that the other side has opened */
    uint32_t next_own;     /* of the next stream that we open */
    uint32_t n_peer;       /* open streams of the other side */
    uint32_t n_own;
    uint32_t n_objects;   /* struct h2_stream of it, until freed */
    uint32_t n_wanting;   /* have content to send */
    uint32_t n_awaiting;  /* of the other side: have content to come */
    uint32_t goaway_sent; /* the last identifier that we promise to serve */
    uint32_t goaway_last; /* the same of the other side */
    uint64_t total;       /* streams that the other side ever opened */

    /* Flow control (RFC 9113 5.2). */
    int64_t send_window;
    int64_t receive_window;
    uint32_t credit;     /* consumed and not yet told */
    uint32_t own_window; /* initial window of streams that the other side may count on */
    struct h2_peer_settings peers;

    struct h2_queue out;
    struct hpack_decoder decoder;
    struct hpack_encoder encoder;

    struct h2_glitches glitches;
    struct limit rst_limit;
    struct limit reset_limit;
    struct limit ping_limit;
    struct limit settings_limit;
    uint32_t updates_due; /* WINDOW_UPDATEs that are no glitch */
    uint32_t odd;         /* innocent frames that have no use, see h2_odd */

    /* Timers (timers.c); TICK_NEVER: not running. */
    tick_t preface_at;
    tick_t headers_at;
    tick_t idle_at;
    tick_t tidy_at;
    tick_t progress_at;
    tick_t settings_at;
    tick_t early_at;
    tick_t closing_at;
    tick_t drain_at;
    uint64_t sent; /* content bytes */

    uint64_t in_held;  /* memory of what has arrived for streams and waits */
    uint64_t out_held; /* and of what is to be sent of them */

    /* For those who look. */
    uint64_t rx_frames;
    uint64_t tx_frames;
    uint64_t requests;
};

/* ---- opening ---- */

/* settings, filled, and peer outlive the connection. False: no memory. */
bool h2_accept(struct h2_conn *c, struct h2 *h, const struct h2_settings *settings,
               const struct http_service *service, const struct http_peer *peer, tick_t now);
bool h2_connect(struct h2_conn *c, struct h2 *h, const struct h2_settings *settings,
                const struct http_peer *peer, tick_t now);
/* Which stream sends next; before anything comes or goes. DEFICIT if it is not said. */
void h2_schedule(struct h2_conn *c, enum sched_policy policy);
/* Frees all that it holds, streams too; nobody is told anything. */
void h2_conn_fini(struct h2_conn *c);

/* ---- running ---- */

/* Bytes of the transport, in order; p, a chain, is taken. */
void h2_input(struct h2_conn *c, struct pkt *p, tick_t now);
/* The transport's other side has ended its direction. */
void h2_input_end(struct h2_conn *c, tick_t now);
/* Is so much waiting to be sent, or to be told to services, that no input is to be given for now?
 * h2_output, which is due when services were told, changes that. */
bool h2_blocked(const struct h2_conn *c);
/* Writes up to room bytes (room >= 64) of frames to out; a DATA frame of 16,375 bytes and its
 * header fill 16 KiB, and no other frame is put behind it where it would be cut. Returns how many.
 */
uint32_t h2_output(struct h2_conn *c, uint8_t *out, uint32_t room, tick_t now);
bool h2_wants_output(const struct h2_conn *c);

tick_t h2_deadline(const struct h2_conn *c);
void h2_expire(struct h2_conn *c, tick_t now);

/* ---- ending ---- */

/* Graceful: GOAWAY in two steps (RFC 9113 6.8), streams go on to their end, at most drain_timeout.
 */
void h2_shutdown(struct h2_conn *c, tick_t now);
/* The same, with another end of streams that go on, also where it drains already. */
void h2_shutdown_by(struct h2_conn *c, tick_t by, tick_t now);
/* The transport is no more: streams that are open fail with that. Nothing is sent. */
void h2_failed(struct h2_conn *c, enum stream_code code, tick_t now);
/* Nothing will be read any more, and all that is to be sent was given out by h2_output: the
 * transport's own end is due. */
bool h2_is_done(const struct h2_conn *c);
/* Have all services heard of the end of their streams, so that h2_conn_fini tears nothing? */
bool h2_is_over(const struct h2_conn *c);

/* ---- of a client ---- */

/* Opens a stream and sends a request; end: without content. NULL: too many are open, it is going
 * away, or no memory. */
struct http_stream *h2_request(struct h2_conn *c, const struct http_head *head, bool end,
                               const struct http_service *service, void *user, tick_t now);

/* ---- for those who look ---- */

/* Memory pinned by it: packets that wait, promises, frames not sent, tables. */
uint32_t h2_cost(const struct h2_conn *c);
bool h2_conn_ok(const struct h2_conn *c);

#endif
