/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_SERVICE_WIRE_H
#define MILLRACE_TESTS_SERVICE_WIRE_H

/*
 * A stream with a service at its end, and a carrier that is the test: what the peer sends and
 * acknowledges, and how far its window lets it.
 */

#include <string.h>

#include "service/service.h"
#include "support/heap.h"
#include "support/unit.h"

struct wire {
    struct heap heap;
    struct heap_pool pool;
    struct stream_ready ready;
    struct stream stream;
    uint32_t consumed;
    unsigned woken;
    unsigned aborted;
};

static struct wire wire;

static void wire_consume(struct stream *s, uint32_t n)
{
    (void)s;
    wire.consumed += n;
}

static void wire_ready(struct stream *s)
{
    (void)s;
    wire.woken++;
}

static void wire_abort(struct stream *s)
{
    (void)s;
    wire.aborted++;
}

static const struct stream_carrier wire_carrier = {
    .consume = wire_consume,
    .ready = wire_ready,
    .abort = wire_abort,
};

/* Turns until there is nothing to tell. */
static inline void wire_run(void)
{
    for (unsigned i = 0; i < 100 && stream_ready_run(&wire.ready, 10, 10); i++)
        ;
    ck_assert(stream_ready_empty(&wire.ready));
}

/* Opened, with water marks at 1000 and 400. */
static inline void wire_open(const struct stream_service *service, uint32_t promises)
{
    wire = (struct wire){.consumed = 0};
    heap_init(&wire.heap);
    heap_pool_init(&wire.pool, 16, 300);
    stream_ready_init(&wire.ready);
    stream_init(&wire.stream, service, &wire_carrier, &wire.ready, &wire.heap.mem, promises);
    stream_set_marks(&wire.stream, 1000, 400);
    stream_opened(&wire.stream);
    wire_run();
}

static inline void wire_close(void)
{
    stream_fini(&wire.stream);
    ck_assert_uint_eq(wire.pool.held, 0);
    ck_assert_uint_eq(wire.heap.blocks, 0);
}

/* The peer sends these bytes. */
static inline void wire_arrived(const void *bytes, size_t len, size_t view)
{
    stream_arrived(&wire.stream, heap_pkt(&wire.pool, bytes, len, view));
    wire_run();
}

static inline void wire_arrived_end(void)
{
    stream_arrived_end(&wire.stream);
    wire_run();
}

static inline uint32_t wire_queued(void)
{
    return (uint32_t)vec_queue_bytes(&wire.stream.out);
}

/* The peer takes n bytes, into `to`. */
static inline void wire_taken(void *to, uint32_t n)
{
    vec_queue_flatten(&wire.stream.out, 0, to, n);
    stream_acked(&wire.stream, n);
    wire_run();
}

static inline bool wire_ended(void)
{
    return wire.stream.bits & STREAM_OUT_END;
}

/* Both directions are done in order. */
static inline void wire_finished(void)
{
    ck_assert_uint_eq(wire_queued(), 0);
    stream_finished(&wire.stream);
    wire_run();
    ck_assert(stream_over(&wire.stream));
    ck_assert_uint_eq(wire.aborted, 0);
}

#endif
