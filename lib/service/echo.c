/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends back what it receives (RFC 862). A view received is the view sent. While the outbound queue
 * is at its high mark nothing is consumed, so that a peer that does not read is stopped by its own
 * window; when it has read, all that was held back is consumed at once.
 */
#include "service/service.h"

static void pass_credit(struct stream *s)
{
    if (stream_writable(s))
        stream_consume(s, stream_unconsumed(s));
}

static void echo_data(struct stream *s, struct pkt *view, bool end)
{
    if (view) {
        stream_write_pkt(s, view);
        pass_credit(s);
    }
    if (end)
        stream_end(s);
}

const struct stream_service service_echo = {
    .name = "echo",
    .data = echo_data,
    .writable = pass_credit,
};
