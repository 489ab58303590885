/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_HTTP2_INTERNAL_H
#define MILLRACE_HTTP2_INTERNAL_H

/* What the files of the HTTP/2 connection share and nobody else sees. */

#include <assert.h>

#include "base/invariant.h"
#include "http2/conn.h"

/* RFC 9113 5.1, without those of a push, which we refuse. A stream that is idle or closed has no
 * object in the table; one whose service has not heard of the end lives on outside of it. */
enum h2_state {
    H2_OPEN,
    H2_HALF_CLOSED_LOCAL,  /* we have sent END_STREAM */
    H2_HALF_CLOSED_REMOTE, /* the other side has */
    H2_CLOSED,
    H2_STATE_END
};

enum h2_stream_flag {
    H2_STREAM_OWN = 1u << 0,      /* opened by us */
    H2_STREAM_SENDS = 1u << 1,    /* our head was sent, content may follow */
    H2_STREAM_WANTING = 1u << 2,  /* counts in n_wanting */
    H2_STREAM_ANSWERED = 1u << 3, /* the other side's head has come (a client: the final one) */
    H2_STREAM_TUNNEL = 1u << 4,   /* CONNECT: half-closed for real, no content-length */
    H2_STREAM_END_SAID = 1u << 5, /* a frame of ours had END_STREAM */
    H2_STREAM_AWAITING = 1u << 6, /* a server: counts in n_awaiting, its content is to come */
    H2_STREAM_MARKED = 1u << 7,   /* it has wanted since the last look at progress */
};

/* Fields kept for later: trailers in either direction. In one piece of memory, texts behind. */
struct h2_trailers {
    size_t size; /* of it all */
    uint32_t n;
    struct http_field field[];
};

struct h2_stream {
    struct http_stream http;
    struct h2_conn *conn;
    struct sched_tree_node place; /* its node is in conn->sched, all of it in the tree of TREE */
    struct list crediting;        /* in conn->crediting */
    struct list leaving;          /* closed: in conn->leaving, then in conn->done */
    uint32_t id;
    uint8_t state; /* enum h2_state */
    uint8_t flags; /* enum h2_stream_flag */
    uint8_t code;  /* for an abort by the service: 1 + enum h2_error; 0: it has not said */
    int64_t send_window;
    int64_t receive_window;
    uint32_t credit;    /* consumed and not yet told */
    uint32_t sent;      /* content bytes, as all here modulo 2^32 */
    uint32_t sent_mark; /* the same when it was MARKED */
    uint32_t received;  /* content bytes */
    uint32_t received_mark;
    uint8_t looks;        /* in a row at which too little had been received */
    uint32_t surplus;     /* content that came after our end, which nobody waits for */
    uint64_t length_left; /* of content-length; HTTP_LENGTH_NONE: not said */
    uint32_t in_cost;     /* what it has of conn->in_held, */
    uint32_t out_cost;    /* and of out_held */
    struct h2_trailers *out;
    struct h2_trailers *in;
    struct vec_slot slot; /* of its outbound queue */
};

/* Promises that may wait in one stream, and bytes of them. */
#define H2_PROMISES    256u
#define H2_STREAM_HIGH (64u << 10)
#define H2_STREAM_LOW  (32u << 10)

/* So much a connection's streams may hold whatever the worker has to spare. */
#define H2_PRESSED_LEAST (2u << 20)

/* Frames that wait to be sent beyond this keep input from being read. */
#define H2_QUEUE_HIGH (64u << 10)
/* And so do so many streams that are closed, and whose services have yet to hear of it: a peer that
 * opens streams faster than they are served would else have any number of them. */
#define H2_LEAVING_HIGH 256u

/* A request that is answered before it has come whole may go on for so long, and bring so much:
 * what is under way then comes to its end, and what is wrong with it is still said. */
#define H2_EARLY_TIME  (5 * TICK_SEC)
#define H2_EARLY_BYTES (64u << 10)

static inline struct h2_stream *h2_stream_of(struct stream *s)
{
    return container_of(s, struct h2_stream, http.stream);
}

static inline struct h2_stream *h2_stream_of_node(struct sched_node *n)
{
    return container_of(n, struct h2_stream, place.node);
}

static inline bool h2_has(const struct h2_conn *c, enum h2_conn_flag f)
{
    return c->flags & (uint32_t)f;
}

static inline void h2_set(struct h2_conn *c, enum h2_conn_flag f)
{
    c->flags |= (uint32_t)f;
}

static inline void h2_clear(struct h2_conn *c, enum h2_conn_flag f)
{
    c->flags &= ~(uint32_t)f;
}

static inline void h2_count(const struct h2_conn *c, enum counter which, uint64_t n)
{
    counter_add(c->h2->counters, which, n);
}

static inline tick_t h2_now(const struct h2_conn *c)
{
    return c->h2->env->now;
}

static inline struct mem *h2_mem(const struct h2_conn *c)
{
    return c->h2->env->mem;
}

/* Did the other side choose this identifier? */
static inline bool h2_is_peers(const struct h2_conn *c, uint32_t id)
{
    return (id & 1) == (h2_has(c, H2_CONN_CLIENT) ? 0 : 1);
}

/* RFC 9113 5.1: was it never used? */
static inline bool h2_is_idle(const struct h2_conn *c, uint32_t id)
{
    return h2_is_peers(c, id) ? id > c->last_peer : id >= c->next_own;
}

/* A stream was opened, or a DATA frame sent: the other side may send two more WINDOW_UPDATEs. */
static inline void h2_expect_updates(struct h2_conn *c)
{
    if (c->updates_due < UINT16_MAX)
        c->updates_due += 2;
}

/* conn.c */
/* A connection error (RFC 9113 5.4.1): GOAWAY, all streams fail, nothing is read any more. */
void h2_fail(struct h2_conn *c, enum h2_error error);
/* The same for a limit that was met, which has a counter. */
void h2_calm(struct h2_conn *c, enum counter limit);
void h2_wake(struct h2_conn *c);
/* Counts a glitch, and draws the consequences. False: the connection has failed. */
bool h2_glitched(struct h2_conn *c, enum h2_glitch kind, uint32_t times);
/* A frame that is of no use and no harm: so many are expected of anybody, and more a stream. */
bool h2_odd(struct h2_conn *c, enum h2_glitch kind);
/* The last stream may have gone, or the first come. */
void h2_streams_changed(struct h2_conn *c);
/* The second step of a graceful end. */
void h2_close(struct h2_conn *c);

/* stream.c */
/* An object for id, in the table, without service yet. NULL: no memory. */
struct h2_stream *h2_stream_open(struct h2_conn *c, uint32_t id,
                                 const struct stream_service *service);
/* Its request's content is to come (a server). */
void h2_stream_awaits(struct h2_stream *s);
/* END_STREAM has come; behind content (told by data()), or with a head (told by that). */
void h2_stream_ended(struct h2_stream *s);
/* RFC 9110 9.3.6: only a 2xx makes a tunnel of CONNECT. */
static inline void h2_stream_no_tunnel(struct h2_stream *s)
{
    s->flags = (uint8_t)(s->flags & ~(unsigned)H2_STREAM_TUNNEL);
}
/* Has it been answered to the end, by us as a server, before its request has come whole? */
bool h2_stream_is_early(const struct h2_stream *s);
/* RFC 9113 8.1: RST_STREAM(NO_ERROR) asks for no more of the request. */
void h2_stream_stop(struct h2_stream *s);
/* END_STREAM was put in the way out. */
void h2_stream_sent_end(struct h2_stream *s);
/* RST_STREAM (RFC 9113 5.4.2) for what the other side did. s may be NULL. */
void h2_stream_error(struct h2_conn *c, uint32_t id, struct h2_stream *s, enum h2_error error);
/* It fails without a word to the other side. */
void h2_stream_fail(struct h2_stream *s, enum stream_code code, enum h2_closed how);
/* The same of all; the table is emptied. */
void h2_streams_fail(struct h2_conn *c, enum stream_code code);
/* A message that is malformed (RFC 9113 8.1.1). */
void h2_stream_malformed(struct h2_conn *c, uint32_t id, struct h2_stream *s);
/* What it holds may have changed. */
void h2_stream_account(struct h2_stream *s);
/* Ends the connection where too much waits that has arrived. */
void h2_look_at_memory(struct h2_conn *c);
/* Does so much wait that nothing more is to be invited? Then the window of the connection stays
 * shut, so that a decent other side never meets the bound. */
bool h2_is_pressed(struct h2_conn *c);
/* Frees those that are over. */
void h2_streams_reap(struct h2_conn *c);
/* Does it have content to send and a window for it? Puts it in the list, or takes it out. */
void h2_stream_look(struct h2_stream *s);
/* Frees s whatever its state; nobody is told. */
void h2_stream_free(struct h2_stream *s);
/* Frees one of which the other side never heard; nobody is told. */
void h2_stream_forget(struct h2_stream *s);
/* An allocated copy; NULL: no memory. n may be 0. */
struct h2_trailers *h2_trailers_copy(struct mem *mem, const struct http_field *field, uint32_t n);
void h2_trailers_free(struct mem *mem, struct h2_trailers *t);
bool h2_stream_ok(const struct h2_stream *s);

/* headers.c */
/* A whole block for stream id, from HEADERS with those flags. */
void h2_block_input(struct h2_conn *c, uint32_t id, uint8_t flags, const uint8_t *block,
                    uint32_t len);
/* Queues HEADERS, and CONTINUATION where it takes them. False: no memory or too large. */
bool h2_head_output(struct h2_conn *c, uint32_t id, const struct http_head *h, bool end);
bool h2_trailers_output(struct h2_conn *c, uint32_t id, const struct h2_trailers *t);

/* control.c: payloads of frames that are about the connection, whole. */
void h2_settings_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload);
void h2_ping_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload);
void h2_goaway_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload);
void h2_window_update_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload);
void h2_rst_stream_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload);
void h2_priority_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload);
void h2_priority_update_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload);
/* Our preface: SETTINGS, and the connection's window where it is larger than the first. */
bool h2_greet(struct h2_conn *c);
/* The opaque data of the PING that stands between the two GOAWAYs. */
extern const uint8_t h2_close_ping[8];

/* control.c */
void h2_rst_output(struct h2_conn *c, uint32_t id, enum h2_error error);

/*
 * output.c: n bytes of a window are free. The connection's are when they have arrived, a stream's
 * when its service has consumed them: so streams that are not read keep no other from being sent
 * to, and what all of them hold is bounded by h2_is_pressed.
 */
void h2_credit(struct h2_conn *c, uint32_t n);
/* s can receive. */
void h2_stream_credit(struct h2_stream *s, uint32_t n);

/* queue.c */
/* Room for n more bytes, which h2_queue_push then counts. NULL: no memory; the connection fails. */
uint8_t *h2_queue_room(struct h2_conn *c, uint32_t n);
static inline void h2_queue_push(struct h2_conn *c, uint32_t n)
{
    c->out.used += n;
    assert(c->out.used <= c->out.room);
    c->tx_frames++;
}
static inline uint32_t h2_queue_bytes(const struct h2_queue *q)
{
    return q->used - q->at;
}
/* Moves up to room bytes out. */
uint32_t h2_queue_take(struct h2_queue *q, uint8_t *out, uint32_t room);
/* Gives its memory back; only while it is empty. */
void h2_queue_tidy(struct h2_queue *q, struct mem *mem);

/* timers.c */
void h2_timers_start(struct h2_conn *c, tick_t now);
/* A stream wants to send content or awaits some, or does not any more. True: it runs from now. */
bool h2_timer_progress(struct h2_conn *c);

#endif
