/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_ACCESS_LOG_H
#define MILLRACE_APP_ACCESS_LOG_H

/*
 * The access log: one JSON object a line for each HTTP request that is over, or for one of so many.
 * A worker copies what is to be said into a ring of its own and never waits; what finds no room is
 * counted. The control thread writes it down.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/byte_ring.h"
#include "service/connect.h"
#include "stack/stack.h"

#define ACCESS_RING_BYTES (1u << 20) /* for each worker */

/* A worker's end. */
struct access_ring {
    struct byte_ring *ring;
    uint32_t sample;       /* one of so many is logged; 0: none. The worker's own, as the next */
    uint32_t passed;       /* over since the last that was logged */
    _Atomic uint64_t lost; /* written by the worker, read by any */
};

/* False: no memory. */
bool access_ring_init(struct access_ring *r, uint32_t bytes, uint32_t sample);
void access_ring_fini(struct access_ring *r);
/* Worker. */
void access_ring_put(struct access_ring *r, const struct http_peer *peer,
                     const struct http_record *record);
/* The same of a tunnel at its end; none is left out for the sample. */
void access_ring_put_tunnel(struct access_ring *r, const struct tunnel_record *record);

/* Where it is written; zeroed but for fd, -1, at first. Control thread only. */
struct access_log {
    int fd;           /* -1: nowhere */
    bool patient;     /* it is a file, which takes all at once */
    size_t n;         /* bytes of buffer that are not written yet */
    uint64_t written; /* lines */
    int error;        /* errno of the last write, to say once */
    char *buffer;
};

/*
 * From now on to file (NULL: standard output), which is appended to. False: errno says why, and all
 * is as it was.
 */
bool access_log_open(struct access_log *l, const char *file);
void access_log_close(struct access_log *l);

/* Takes what waits in a ring as far as the file takes it. wall: nanoseconds of the Unix epoch at
 * tick 0. */
void access_log_drain(struct access_log *l, struct access_ring *r, int64_t wall);
/* Writes out what was taken. */
void access_log_flush(struct access_log *l);

#endif
