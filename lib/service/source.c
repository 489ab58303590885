/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends a repeating pattern as fast as it may, until the other side ends. What waits is a promise
 * that knows only where in the pattern it starts, so a full queue costs no memory. A stream's user
 * is where the next promise starts: a place in the pattern, which unlike a position has no end.
 */
#include "service/pattern.h"
#include "service/service.h"

static void fill(struct stream *s)
{
    uint32_t len = stream_room(s);
    if (len == 0)
        return;
    uint32_t place = (uint32_t)(uintptr_t)s->user;
    s->user = (void *)(uintptr_t)((place + (uint64_t)len) % SERVICE_SOURCE_PERIOD);
    if (!stream_write(s, pattern_vec(place, len)))
        stream_abort(s); /* nothing queued would ever become writable again */
}

static void source_data(struct stream *s, struct pkt *view, bool end)
{
    pkt_free(view);
    stream_consume(s, stream_unconsumed(s));
    if (end)
        stream_end(s);
}

const struct stream_service service_source = {
    .name = "source",
    .opened = fill,
    .data = source_data,
    .writable = fill,
};
