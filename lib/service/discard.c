/* SPDX-License-Identifier: BSD-3-Clause */
/* Throws away what it receives (RFC 863). */
#include "service/service.h"

static void discard_data(struct stream *s, struct pkt *view, bool end)
{
    pkt_free(view);
    stream_consume(s, stream_unconsumed(s));
    if (end)
        stream_end(s);
}

const struct stream_service service_discard = {
    .name = "discard",
    .data = discard_data,
};
