/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STREAM_STREAM_H
#define MILLRACE_STREAM_STREAM_H

/*
 * Where a protocol and a service meet: a byte stream each way. struct stream is embedded in what
 * carries it (a TCP connection, later an HTTP/2 or SCTP stream); a service knows this file only.
 *
 * Inbound. The carrier appends views in order (stream_arrived); they stand in one chain until the
 * service is given them, by stream_ready_run, one view at a time. Bytes that arrived count against
 * the carrier's window until the service says stream_consume for them, which it does when they have
 * left for the other side. So a service that does not consume stops its peer, and what waits is
 * bounded by the window. A service that has no room for views either says stream_hold, and they
 * wait in the chain.
 *
 * Outbound. The service appends promises (buf/vec.h) with stream_write; the carrier reads them at
 * any offset as often as it has to and drops what the peer has acknowledged (stream_acked). Water
 * marks: from `high` bytes on stream_writable is false; when no more than `low` are left after
 * that, the service's writable runs. Half and a quarter of the bound of promises are marks too.
 * stream_write itself is refused only at the bound.
 *
 * Events. Nothing of a service runs while a protocol is at work. What happened is noted in the
 * stream, which joins its worker's ready list if it does not stand there already; stream_ready_run
 * serves that list, each stream in turn. A stream that ends leaves the list at once, so there is no
 * stale entry to skip.
 *
 * The end of a stream. The carrier says stream_finished or stream_failed, and stays until the
 * service has heard of it, or the service says stream_abort. Then stream_over is true, both queues
 * are empty, all that arrived counts as consumed, and the carrier is woken a last time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/mem.h"
#include "buf/pkt.h"
#include "buf/vec.h"

struct stream;

/* Why a stream ended other than in order. X(enumerator, name, meaning) */
#define STREAM_CODES(X)                                                    \
    X(RESET, "reset", "the other side reset it")                           \
    X(REFUSED, "refused", "the other side refuses to open it")             \
    X(UNREACHABLE, "unreachable", "the network says that nobody is there") \
    X(TIMEOUT, "timeout", "the other side does not answer")                \
    X(KILLED, "killed", "reset by the operator")                           \
    X(NO_MEMORY, "no_memory", "out of memory")

enum stream_code {
    STREAM_OK, /* never given to reset() */
#define X(id, name, text) STREAM_##id,
    STREAM_CODES(X)
#undef X
        STREAM_CODE_END
};

const char *stream_code_name(enum stream_code code);

/*
 * The service's side. Any may be NULL but data. All may call any of the service's functions below,
 * stream_abort included, after which none runs any more for that stream. In this order: opened;
 * data and writable as they come; ended or reset, once, last.
 */
struct stream_service {
    const char *name;
    bool http; /* it is in a struct http_service (stream/http.h) and understands heads */
    /* It may be written to, and will be read from. */
    void (*opened)(struct stream *s);
    /* The next view, which is taken, or NULL where only the end is new. end: nothing follows. */
    void (*data)(struct stream *s, struct pkt *view, bool end);
    /* The outbound queue has fallen to the low mark after it was at the high one. Not after
     * stream_end. */
    void (*writable)(struct stream *s);
    /* Both directions have ended in order, and all that was written is acknowledged. */
    void (*ended)(struct stream *s);
    /* It is over: what was written and not acknowledged is lost, what arrived was delivered.
     * Without opened before it, it could not be opened. */
    void (*reset)(struct stream *s, enum stream_code code);
};

/* The protocol's side; called by the functions below, also after stream_failed until the service
 * has heard of that. None calls back into a service or ends the life of a stream: it makes a note
 * for later. */
struct stream_carrier {
    /* n more bytes of what arrived are dealt with. */
    void (*consume)(struct stream *s, uint32_t n);
    /* There is something to send, or the end; or the service has had its last callback. */
    void (*ready)(struct stream *s);
    /* The service wants no more of it: tell the other side and forget. Not after stream_finished
     * or stream_failed; then ready is called instead. */
    void (*abort)(struct stream *s);
};

/* A worker's streams that have something to tell their services. */
struct stream_ready {
    struct list list;
};

/* What is noted and not told yet, and what is over. Bits of struct stream's state. */
enum stream_bit {
    STREAM_TELL_OPENED = 1u << 0,
    STREAM_TELL_END = 1u << 1, /* behind the inbound chain */
    STREAM_TELL_WRITABLE = 1u << 2,
    STREAM_TELL_ENDED = 1u << 3,
    STREAM_TELL_RESET = 1u << 4,
    STREAM_FULL = 1u << 5,    /* was at the high mark, writable is owed */
    STREAM_IN_END = 1u << 6,  /* the service was told the end */
    STREAM_OUT_END = 1u << 7, /* the service has ended its direction */
    STREAM_OPENED = 1u << 8,  /* opened was told */
    STREAM_OVER = 1u << 9,    /* the service has had its last callback, or has aborted */
    STREAM_HELD = 1u << 10,   /* the service wants no data now */
};

struct stream {
    const struct stream_service *service;
    const struct stream_carrier *carrier;
    void *user; /* the service's own */
    struct stream_ready *ready;
    struct list node; /* in ready->list */
    struct vec_queue out;
    struct pkt *in; /* arrived and not yet given to the service; its total is kept */
    struct pkt *in_last;
    uint32_t in_cost;    /* of the views of in, see pkt_cost */
    uint32_t unconsumed; /* bytes given to the service and not consumed */
    uint32_t high;       /* water marks of out, in bytes */
    uint32_t low;
    uint16_t bits; /* enum stream_bit */
    uint8_t code;  /* with TELL_RESET: enum stream_code */
};

/* ---- for services ---- */

/* Appends v, which is taken, and discarded at once where the stream is over or has failed. False:
 * the bound of promises is met or memory is out; v remains the caller's. Not after stream_end. */
bool stream_write(struct stream *s, struct vec v);
/* The bytes of p, which is taken in any case: where it finds no room the stream is aborted. Small
 * ones share a promise. */
void stream_write_pkt(struct stream *s, struct pkt *p);
/* Should the service write now? */
static inline bool stream_writable(const struct stream *s);
/* Bytes up to the high mark; 0 where not writable. */
static inline uint32_t stream_room(const struct stream *s);
/* Nothing will be written any more: the end follows what was. Twice is once. */
void stream_end(struct stream *s);
/* n bytes of what data() gave are dealt with, n <= stream_unconsumed. */
void stream_consume(struct stream *s, uint32_t n);
/* Bytes that data() gave and that stream_consume has not been said for. */
static inline uint32_t stream_unconsumed(const struct stream *s)
{
    return s->unconsumed;
}
/* No data is given, and no end of it, until stream_release; or until the stream fails, so that a
 * reset comes through. Within data() it holds for the next view. */
void stream_hold(struct stream *s);
void stream_release(struct stream *s);
/* Ends both directions now. No callback follows. */
void stream_abort(struct stream *s);

/* ---- for carriers ---- */

/* max_promises: bound of the outbound queue. Its marks come next, see stream_set_marks. */
void stream_init(struct stream *s, const struct stream_service *service,
                 const struct stream_carrier *carrier, struct stream_ready *ready, struct mem *mem,
                 uint32_t max_promises);
/* Frees what waits in both directions and leaves the ready list. */
void stream_fini(struct stream *s);
/* low < high; at any time. */
void stream_set_marks(struct stream *s, uint32_t high, uint32_t low);

void stream_opened(struct stream *s);
/* The carrier tells its service of the opening itself, now. end: nothing will arrive, and the
 * service knows. */
void stream_opened_now(struct stream *s, bool end);
/* Nothing will arrive, nothing has, and the carrier tells its service so itself. */
void stream_in_ended_now(struct stream *s);
/* p, which is taken, and is not empty, follows what has arrived. After stream_over it is freed and
 * counts as consumed. */
void stream_arrived(struct stream *s, struct pkt *p);
/* Nothing follows what has arrived. */
void stream_arrived_end(struct stream *s);
/* The first n bytes of the outbound queue are acknowledged and dropped. */
void stream_acked(struct stream *s, uint64_t n);
/* Both directions are done: `ended` is owed. */
void stream_finished(struct stream *s);
/* It ended before its service heard of it, which is told nothing. */
void stream_withdraw(struct stream *s);
/* It was reset: what has arrived is delivered before the service hears of it; what was written is
 * dropped at once. The first code counts. */
void stream_failed(struct stream *s, enum stream_code code);

/* Is there nothing left to tell, so that the carrier may go? */
static inline bool stream_over(const struct stream *s)
{
    return s->bits & STREAM_OVER;
}

/* Memory that waits in it: packets inbound, promises outbound. */
uint32_t stream_cost(const struct stream *s);

static inline void stream_ready_init(struct stream_ready *r)
{
    list_init(&r->list);
}

/*
 * Tells the services of up to `max` streams what is new, each stream once; what they cause in
 * streams that have had their turn, or were not in the list, waits for the next call. Of one stream
 * at most `views` views are delivered, then it goes to the end of the list. Returns whether
 * something is left.
 */
bool stream_ready_run(struct stream_ready *r, unsigned max, unsigned views);

static inline bool stream_ready_empty(const struct stream_ready *r)
{
    return list_empty(&r->list);
}

static inline bool stream_writable(const struct stream *s)
{
    return !(s->bits & (STREAM_OVER | STREAM_OUT_END | STREAM_TELL_RESET)) &&
           vec_queue_bytes(&s->out) < s->high && vec_queue_count(&s->out) < s->out.max / 2;
}

static inline uint32_t stream_room(const struct stream *s)
{
    return stream_writable(s) ? s->high - (uint32_t)vec_queue_bytes(&s->out) : 0;
}

#endif
