/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BUF_VEC_H
#define MILLRACE_BUF_VEC_H

/*
 * Lazy send vectors. What waits to be sent is a queue of promises of bytes, not bytes: each can
 * write any part of itself out (flatten), as often as a retransmission asks, and is told once that
 * it is needed no more (discard). So a file of zeroes costs no memory, a packet passed on costs no
 * copy until it is cut into segments, and what the other side acknowledged is dropped by moving one
 * position.
 *
 * The queue is a power-of-two ring of promises. Positions count bytes from the queue's creation in
 * 64 bits and never wrap; each promise knows where it ends, so that any position is found by
 * bisection.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "buf/pkt.h"

struct vec;

struct vec_ops {
    /* Writes the bytes [offset, offset + len) of the promise, 0 < len, offset + len <= v->len; the
     * same each time. */
    void (*flatten)(const struct vec *v, uint32_t offset, uint8_t *dst, uint32_t len);
    /*
     * Runs once, when the promise's last byte was dropped or the queue ended; may not call into the
     * queue. NULL: nothing to give up.
     */
    void (*discard)(struct vec *v);
    /*
     * Views of the bytes [offset, offset + len), without copying; NULL: pool empty. NULL in place
     * of the function: bytes of this kind lie in no packet, and have to be flattened.
     */
    struct pkt *(*slice)(const struct vec *v, struct pkt_pool *pool, uint32_t offset, uint32_t len);
    /* Memory that it holds, constant over its life (pkt_cost). NULL: none to speak of. */
    uint32_t (*cost)(const struct vec *v);
};

/* A promise of len bytes. */
struct vec {
    const struct vec_ops *ops;
    union {
        struct pkt *pkt;
        const void *bytes;
        void *context;
    } of; /* what ops understands */
    uint32_t len;
    uint32_t arg; /* for ops too */
};

/* The bytes of a packet, which it takes. */
struct vec vec_of_pkt(struct pkt *p);
/* Bytes that outlive the queue and do not change meanwhile. */
struct vec vec_of_const(const void *bytes, uint32_t len);

struct vec_slot {
    struct vec vec;
    uint64_t end; /* position after its last byte */
};

struct vec_queue {
    struct vec_slot *slot;
    uint32_t head;  /* free-running: first promise not wholly dropped */
    uint32_t tail;  /* one past the last */
    uint32_t mask;  /* capacity - 1; valid with slot */
    uint32_t max;   /* promises it may hold, a power of two */
    uint64_t front; /* position of the first byte not dropped */
    uint64_t back;  /* position after the last byte */
    uint32_t cost;  /* of the promises in it */
    bool lent;      /* slot is the owner's, see vec_queue_lend */
    struct mem *mem;
};

/* Empty; max (1 .. 2^31) is rounded up to a power of two. Memory is asked for from the first push
 * on. */
void vec_queue_init(struct vec_queue *q, struct mem *mem, uint32_t max);
/* One slot to start with, which outlives the queue: the first promise asks for no memory. Right
 * after vec_queue_init. */
void vec_queue_lend(struct vec_queue *q, struct vec_slot *slot);
/* Discards what is left. */
void vec_queue_fini(struct vec_queue *q);

/* Bytes not dropped. */
static inline uint64_t vec_queue_bytes(const struct vec_queue *q)
{
    return q->back - q->front;
}

/* Promises not wholly dropped. */
static inline uint32_t vec_queue_count(const struct vec_queue *q)
{
    return q->tail - q->head;
}

/* Takes v, of len > 0, at the end. False at the bound or without memory: v remains the caller's,
 * nothing has changed. */
bool vec_queue_push(struct vec_queue *q, struct vec v);

/*
 * The bytes of p, which is not empty, at the end: as a promise of their own, or, where they are few
 * and the last promise is a packet with room that nobody shares, copied behind its bytes; so many
 * small packets hold neither a buffer nor a promise each. p is taken. False as for vec_queue_push.
 */
bool vec_queue_push_pkt(struct vec_queue *q, struct pkt *p);

/* Writes the bytes [offset, offset + len), counted from the front. offset + len <= vec_queue_bytes.
 */
void vec_queue_flatten(const struct vec_queue *q, uint64_t offset, void *dst, uint32_t len);

/* The same as a new packet, with the pool's headroom before it. NULL: pool empty. */
struct pkt *vec_queue_pkt(const struct vec_queue *q, struct pkt_pool *pool, uint64_t offset,
                          uint32_t len);

/*
 * The same without copying what lies in packets, as a chain of at most max_views views: slices, and
 * packets of the pool for promises that have to be flattened. len > 0. No room for headers is
 * promised: put a packet with headroom before it. NULL: pool empty, or it takes more views.
 */
struct pkt *vec_queue_slice(const struct vec_queue *q, struct pkt_pool *pool, uint64_t offset,
                            uint32_t len, unsigned max_views);

/* Gives the ring's memory back; only while there are no promises. */
void vec_queue_tidy(struct vec_queue *q);

/* Drops the first n bytes, n <= vec_queue_bytes, and discards each promise of which none is left,
 * in order. */
void vec_queue_drop(struct vec_queue *q, uint64_t n);

#endif
