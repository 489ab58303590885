/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_HTTP2_SETTINGS_H
#define MILLRACE_HTTP2_SETTINGS_H

/*
 * What an operator may choose about HTTP/2. Zero takes the default named in the comment. Each key
 * of the configuration's section `http2` is one of these.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"
#include "sched/sched.h"

struct h2_settings {
    /* Announced (RFC 9113 6.5.2). */
    uint32_t max_streams;       /* open at once, by the other side: 128 */
    uint32_t stream_window;     /* bytes a stream may receive ahead of its service: 256 KiB */
    uint32_t connection_window; /* and all streams together: 1 MiB */
    uint32_t max_frame;         /* largest payload received: 16,384 */
    uint32_t header_table;      /* of the decoder: 4,096; also the most of the encoder */
    uint32_t header_list;       /* bytes of a head, as RFC 9113 counts: 64 KiB */
    uint32_t header_fields;     /* of a head, each crumb of cookie one: 100 */
    bool connect_protocol;      /* SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441) */

    /* Bounds on what the other side may do to us. A rate is refilled each second, after a burst. */
    uint32_t glitches;         /* points (http2/glitch.h) until the end: 1,000 */
    uint32_t glitches_recover; /* points forgiven a second: 1 */
    uint32_t rst_burst;        /* RST_STREAM received: 1,000 */
    uint32_t rst_rate;         /* 33 */
    uint32_t reset_burst;      /* streams reset by us because of the other side: 200 */
    uint32_t reset_rate;       /* 7, which is 200 in 30 s */
    uint32_t ping_burst;       /* PING: 200 */
    uint32_t ping_rate;        /* 100 */
    uint32_t settings_burst;   /* SETTINGS frames: 20 */
    uint32_t settings_rate;    /* 2 */
    uint32_t settings_entries; /* in one frame: 32 */
    uint32_t continuations;    /* CONTINUATION frames of one block: 8 */
    uint64_t total_streams;    /* opened in a connection's life, then GOAWAY: 2^30 */
    uint32_t memory;           /* bytes pinned by one connection (h2_cost): 32 MiB */
    uint32_t progress_bytes;   /* content that must leave in progress_timeout: 1,024 */
    tick_t preface_timeout;    /* to the preface and SETTINGS: 10 s */
    tick_t headers_timeout;    /* to END_HEADERS: 10 s */
    tick_t idle_timeout;       /* without streams: 5 min */
    tick_t progress_timeout;   /* windows that keep content from leaving: 30 s */
    tick_t settings_timeout;   /* to the ACK of SETTINGS: 10 s */
    tick_t drain_timeout;      /* from the first GOAWAY to the end of streams: 30 s */
    struct sched_settings sched;
};

/* s with the defaults in place of zeroes. False: a value outside of what the protocol can do. */
bool h2_settings_fill(struct h2_settings *s);

#endif
