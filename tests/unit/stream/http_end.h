/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_STREAM_HTTP_END_H
#define MILLRACE_TESTS_STREAM_HTTP_END_H

/* A stream of HTTP whose carrier is the test, and what it was asked for, in one text. */

#include <stdio.h>
#include <string.h>

#include "stream/http.h"
#include "support/heap.h"
#include "support/unit.h"

struct http_end {
    struct heap heap;
    struct stream_ready ready;
    struct http_env env;
    struct http_peer peer;
    struct http_stream http;
    bool refuse; /* the carrier takes no head */
    unsigned aborted;
    char said[256];
};

static struct http_end end;

static void end_say(const char *what, unsigned n, bool last)
{
    size_t used = strlen(end.said);
    snprintf(end.said + used, sizeof(end.said) - used, "%s%u%s ", what, n, last ? "|end" : "");
}

static void end_consume(struct stream *s, uint32_t n)
{
    (void)s;
    (void)n;
}

static void end_ready(struct stream *s)
{
    (void)s;
}

static void end_abort(struct stream *s)
{
    (void)s;
    end.aborted++;
}

static bool end_respond(struct http_stream *s, const struct http_head *h, bool last)
{
    (void)s;
    if (!end.refuse)
        end_say("", h->status, last);
    return !end.refuse;
}

static bool end_trailers(struct http_stream *s, const struct http_field *field, uint32_t n)
{
    (void)s;
    (void)field;
    if (!end.refuse)
        end_say("trailers ", n, false);
    return !end.refuse;
}

static const struct http_field end_field = {{"t", 1}, {"v", 1}, false};

static const struct http_field *end_received(struct http_stream *s, uint32_t *n)
{
    (void)s;
    *n = 1;
    return &end_field;
}

static const struct stream_carrier end_carrier = {
    .consume = end_consume, .ready = end_ready, .abort = end_abort};
static const struct http_carrier end_http = {
    .respond = end_respond, .trailers = end_trailers, .received_trailers = end_received};

static inline void end_open(const struct stream_service *service)
{
    end.http = (struct http_stream){.http = &end_http, .peer = &end.peer};
    stream_init(&end.http.stream, service, &end_carrier, &end.ready, &end.heap.mem, 8);
    stream_set_marks(&end.http.stream, 1000, 400);
}

static inline void end_init(const struct stream_service *service)
{
    memset(&end, 0, sizeof(end));
    heap_init(&end.heap);
    stream_ready_init(&end.ready);
    http_env_init(&end.env, &end.heap.mem, NULL, 0);
    end.peer = (struct http_peer){.env = &end.env};
    end_open(service);
}

static inline void end_fini(void)
{
    stream_fini(&end.http.stream);
    http_env_fini(&end.env);
    ck_assert_uint_eq(end.heap.blocks, 0);
}

#endif
