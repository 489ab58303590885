/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/origin.h"

static void origin_head(struct http_stream *s, const struct http_head *h, bool end)
{
    (void)h;
    (void)end;
    struct http_head answer = {.status = 404, .content_length = 0};
    http_respond(s, &answer, true);
}

static void origin_data(struct stream *s, struct pkt *view, bool end)
{
    (void)end;
    pkt_free(view);
    stream_consume(s, stream_unconsumed(s));
}

const struct http_service service_origin = {
    .stream = {.name = "origin", .http = true, .data = origin_data},
    .head = origin_head,
};
