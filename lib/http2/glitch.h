/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_HTTP2_GLITCH_H
#define MILLRACE_HTTP2_GLITCH_H

/*
 * What a peer may do, and no decent one does often. Each event is counted by name and adds its
 * weight to its connection's points; at 75 % of settings.glitches the connection is drained by
 * GOAWAY, at 100 % it ends with ENHANCE_YOUR_CALM. Points are forgiven slowly. What has a limit of
 * its own (PING, SETTINGS, RST_STREAM received) is none.
 *
 * X(enumerator, name, weight, text)
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/limit.h"
#include "http2/settings.h"
#include "stats/counter.h"

#define H2_GLITCHES(X)                                                                       \
    X(EMPTY_DATA, "empty_data", 2, "DATA without content and without the end")               \
    X(SMALL_DATA, "small_data", 1, "DATA of under 16 bytes that is not the last, in a row")  \
    X(PADDING, "padding", 1, "frames with more padding than content")                        \
    X(PRIORITY, "priority", 1, "PRIORITY and PRIORITY_UPDATE frames, many a stream")         \
    X(UNKNOWN_FRAME, "unknown_frame", 1, "frames of unknown types, many a stream")           \
    X(WINDOW_UPDATE, "window_update", 1, "WINDOW_UPDATE for windows nothing was taken from") \
    X(SMALL_WINDOW, "small_window", 2, "WINDOW_UPDATE of under 64 bytes that all waits for") \
    X(CONTINUATION, "continuation", 2, "CONTINUATION frames, empty ones thrice")             \
    X(CLOSED_STREAM, "closed_stream", 1, "frames for streams that are closed")               \
    X(STREAM_ERROR, "stream_error", 2, "streams reset by us for what the peer did")          \
    X(REFUSED, "refused", 4, "streams beyond the number allowed")                            \
    X(HEADER_LIST, "header_list", 20, "heads larger than allowed")                           \
    X(STALLED, "stalled", 100, "streams reset because the peer's windows stood still")

enum h2_glitch {
#define X(id, name, weight, text) H2_GLITCH_##id,
    H2_GLITCHES(X)
#undef X
        H2_GLITCH_END
};

enum h2_verdict { H2_VERDICT_FINE, H2_VERDICT_DRAIN, H2_VERDICT_END };

struct h2_glitches {
    struct limit points;
};

const char *h2_glitch_name(enum h2_glitch g);
void h2_glitches_init(struct h2_glitches *g, const struct h2_settings *s, tick_t now);
/* `times` events of a kind: counted, and weighed. */
enum h2_verdict h2_glitch(struct h2_glitches *g, struct counters *counters, enum h2_glitch kind,
                          uint32_t times, tick_t now);
/* Points used of those allowed. */
uint32_t h2_glitches_used(const struct h2_glitches *g);

#endif
