/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends back what it receives (RFC 862). A view received is the view sent, and is consumed at once.
 * While the outbound queue is at its high mark no more views are taken, so that a peer that does
 * not read is stopped by its own window.
 */
#include "service/service.h"

static void echo_data(struct stream *s, struct pkt *view, bool end)
{
    if (view) {
        uint32_t len = view->len;
        stream_write_pkt(s, view);
        stream_consume(s, len);
    }
    if (end)
        stream_end(s);
    else if (!stream_writable(s))
        stream_hold(s);
}

const struct stream_service service_echo = {
    .name = "echo",
    .data = echo_data,
    .writable = stream_release,
};
