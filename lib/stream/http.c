/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream/http.h"

#include <assert.h>

static const struct http_text method_names[HTTP_METHOD_END] = {
#define X(id, name) [HTTP_##id] = {name, sizeof(name) - 1},
    HTTP_METHODS(X)
#undef X
};

enum http_method http_method_of(struct http_text name)
{
    for (unsigned m = HTTP_OTHER + 1; m < HTTP_METHOD_END; m++)
        if (http_text_eq(method_names[m], name))
            return (enum http_method)m;
    return HTTP_OTHER;
}

const char *http_method_name(enum http_method m)
{
    assert(m < HTTP_METHOD_END);
    return m == HTTP_OTHER ? "" : method_names[m].p;
}

const struct http_field *http_field_find(const struct http_head *h, struct http_text name)
{
    for (uint32_t i = 0; i < h->n_fields; i++)
        if (http_text_eq(h->field[i].name, name))
            return &h->field[i];
    return NULL;
}

/* Is there nobody left to answer? */
static bool lost(const struct stream *s)
{
    return s->bits & (STREAM_OVER | STREAM_TELL_RESET);
}

bool http_respond(struct http_stream *s, const struct http_head *h, bool end)
{
    assert(h->status >= 100 && h->status <= 599);
    if (lost(&s->stream))
        return true;
    assert(s->status == 0 && "one final response");
    assert(!(end && h->status < 200) && "an informational response is never the last");
    if (!s->http->respond(s, h, end)) {
        stream_abort(&s->stream);
        return false;
    }
    if (h->status >= 200)
        s->status = h->status;
    if (end)
        stream_end(&s->stream);
    return true;
}

bool http_trailers(struct http_stream *s, const struct http_field *field, uint32_t n)
{
    if (lost(&s->stream))
        return true;
    if (!s->http->trailers(s, field, n)) {
        stream_abort(&s->stream);
        return false;
    }
    stream_end(&s->stream);
    return true;
}

const struct http_field *http_received_trailers(struct http_stream *s, uint32_t *n)
{
    return s->http->received_trailers(s, n);
}

void http_become(struct http_stream *s, const struct stream_service *service)
{
    s->stream.service = service;
    if (service->opened && !stream_over(&s->stream))
        service->opened(&s->stream);
}

void http_tell_head(struct http_stream *s, const struct http_head *h, bool end, tick_t now)
{
    const struct http_service *service = http_service_of(s->stream.service);
    assert(service && "the carrier has looked");
    if (h->status == 0) {
        s->began = now;
        s->method = (uint8_t)h->method;
        stream_opened_now(&s->stream, end);
    } else if (end) {
        stream_in_ended_now(&s->stream);
    }
    service->head(s, h, end);
}

void http_abort(struct http_stream *s, enum http_abort why)
{
    if (stream_over(&s->stream))
        return;
    if (!(s->stream.bits & STREAM_TELL_RESET))
        s->http->abort(s, why);
    stream_abort(&s->stream);
}
