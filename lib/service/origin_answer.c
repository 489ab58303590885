/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The service `origin`: from a request's head to its answer. Most requests ask for an item by just
 * its path and have no conditions; they are looked up as they are, and only what is not found so is
 * looked at closely.
 *
 * A stream goes one of three ways, each a service of its own from the head on: an answer that is
 * promised at once (service_origin, which throws content away), /bytes/N (bytes), /echo (echo).
 */
#include <assert.h>
#include <stdio.h>

#include "service/origin_condition.h"
#include "service/origin_item.h"
#include "service/origin_path.h"
#include "service/origin_range.h"
#include "service/pattern.h"
#include "service/service.h"

#define ALLOW_CONTENT "GET, HEAD, OPTIONS"
#define ALLOW_ECHO    "POST, PUT, OPTIONS"
#define ALLOW_ALL     "GET, HEAD, POST, PUT, OPTIONS"

#define BYTES_MAX (UINT64_C(1) << 40)

static const struct origin *origin_of(const struct http_stream *s)
{
    assert(s->peer->context && "the listener names an origin");
    return s->peer->context;
}

/* Unix seconds; 0: not known. */
static uint64_t now_of(const struct http_env *env)
{
    return env->wall ? ((uint64_t)env->wall + env->now) / TICK_SEC : 0;
}

static bool is_get(const struct http_head *h)
{
    return h->method == HTTP_GET || h->method == HTTP_HEAD;
}

/* ---- sending ---- */

/* Fields of an answer: the first is date, for which there may be no time. */
static void set_fields(struct http_head *a, struct http_stream *s, struct http_field *field,
                       uint32_t n)
{
    field[0].value = http_date(s->peer->env);
    bool dated = field[0].value.n > 0;
    a->field = dated ? field : field + 1;
    a->n_fields = dated ? n : n - 1;
}

/* False: it has come to nothing, and this is over. */
static bool respond(struct http_stream *s, const struct http_head *a, bool end)
{
    if (http_respond(s, a, end))
        return true;
    http_log_end(s, STREAM_NO_MEMORY);
    return false;
}

/* A promise, which is given up where there is no memory, and the stream with it. */
static bool promise(struct http_stream *s, struct vec v)
{
    if (stream_write(&s->stream, v)) {
        s->sent += v.len;
        return true;
    }
    if (v.ops->discard)
        v.ops->discard(&v);
    http_log_end(s, STREAM_NO_MEMORY);
    stream_abort(&s->stream);
    return false;
}

/* Of a HEAD and of nothing only the head is sent. */
static void send_part(struct http_stream *s, const struct origin_item *item,
                      const struct http_head *a, uint32_t from, uint32_t len)
{
    if (s->method == HTTP_HEAD || len == 0) {
        respond(s, a, true);
        return;
    }
    if (respond(s, a, false) &&
        promise(s, origin_promise(origin_of(s), s->peer->env->worker, item, from, len)))
        stream_end(&s->stream);
}

/* ---- short answers ---- */

struct reason {
    uint16_t status;
    struct http_text text;
};

#define REASON(status, text)                                         \
    {                                                                \
        status,                                                      \
        {                                                            \
#status " " text "\n", sizeof(#status " " text "\n") - 1 \
        }                                                            \
    }

static const struct reason reasons[] = {
    REASON(308, "Permanent Redirect"),  REASON(400, "Bad Request"),
    REASON(404, "Not Found"),           REASON(405, "Method Not Allowed"),
    REASON(412, "Precondition Failed"), REASON(413, "Content Too Large"),
    REASON(414, "URI Too Long"),        REASON(416, "Range Not Satisfiable"),
    REASON(501, "Not Implemented"),
};

static struct http_text reason_of(uint16_t status)
{
    for (unsigned i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    assert(false && "each that is sent has a text");
    return (struct http_text){0};
}

/* A status and a line that says so; more: one more field. */
static void send_short(struct http_stream *s, uint16_t status, const struct http_field *more)
{
    struct http_text text = reason_of(status);
    struct http_field field[3] = {{.name = HTTP_TEXT("date")}};
    field[1] = (struct http_field){HTTP_TEXT("content-type"),
                                   HTTP_TEXT("text/plain; charset=utf-8"), false};
    if (more)
        field[2] = *more;
    struct http_head a = {.status = status, .content_length = text.n};
    set_fields(&a, s, field, more ? 3 : 2);
    if (s->method == HTTP_HEAD) {
        respond(s, &a, true);
        return;
    }
    if (respond(s, &a, false) && promise(s, vec_of_const(text.p, text.n)))
        stream_end(&s->stream);
}

static struct http_field allow(const char *methods)
{
    return (struct http_field){HTTP_TEXT("allow"), {methods, (uint32_t)strlen(methods)}, false};
}

/* RFC 9110 9.3.7: what may be asked for. */
static void send_options(struct http_stream *s, const char *methods)
{
    struct http_field field[2] = {{.name = HTTP_TEXT("date")}, allow(methods)};
    struct http_head a = {.status = 204, .content_length = HTTP_LENGTH_NONE};
    set_fields(&a, s, field, 2);
    respond(s, &a, true);
}

/* Whatever the method is, it is not one for the target (RFC 9110 15.5.6). */
static void send_methods(struct http_stream *s, const struct http_head *h, const char *methods)
{
    struct http_field field = allow(methods);
    if (h->method == HTTP_OPTIONS)
        send_options(s, methods);
    else
        send_short(s, 405, &field);
}

/* ---- items ---- */

static uint32_t copy_fields(struct http_field *field, const struct origin_item *item)
{
    memcpy(field, item->field, item->n_fields * sizeof(*field));
    return item->n_fields;
}

/* Odd, so that each second makes another number of each. */
#define DATE_STEP UINT64_C(0x9e3779b97f4a7c15)

static void send_whole(struct http_stream *s, const struct origin_item *item)
{
    struct http_field field[ORIGIN_FIELDS_MAX];
    uint32_t n = copy_fields(field, item);
    struct http_head a = {.status = item->status, .content_length = item->body.n};
    if (item->empty) { /* RFC 9110 8.6 */
        a.content_length = HTTP_LENGTH_NONE;
        n--;
    }
    set_fields(&a, s, field, n);
    a.same = item->same + DATE_STEP * s->peer->env->date_second;
    send_part(s, item, &a, 0, item->body.n);
}

/* RFC 9110 15.4.5: all that a 200 would say of the representation but what its content is. */
static void send_not_modified(struct http_stream *s, const struct origin_item *item)
{
    struct http_field field[ORIGIN_FIELDS_MAX];
    uint32_t n = copy_fields(field, item);
    struct http_head a = {.status = 304, .content_length = HTTP_LENGTH_NONE};
    set_fields(&a, s, field, n - 1);
    respond(s, &a, true);
}

#define CONTENT_RANGE_SIZE 48u

static struct http_field content_range(const char *text, int n)
{
    assert(n > 0 && (unsigned)n < CONTENT_RANGE_SIZE);
    return (struct http_field){HTTP_TEXT("content-range"), {text, (uint32_t)n}, false};
}

static void send_range(struct http_stream *s, const struct origin_item *item,
                       const struct origin_range *r)
{
    char text[CONTENT_RANGE_SIZE];
    struct http_field field[ORIGIN_FIELDS_MAX];
    uint32_t n = copy_fields(field, item);
    int len = snprintf(text, sizeof(text), "bytes %u-%u/%u", r->first, r->first + r->len - 1,
                       item->body.n);
    field[n++] = content_range(text, len);
    struct http_head a = {.status = 206, .content_length = r->len};
    set_fields(&a, s, field, n);
    send_part(s, item, &a, r->first, r->len);
}

/* RFC 9110 15.5.17. */
static void send_no_range(struct http_stream *s, const struct origin_item *item)
{
    char text[CONTENT_RANGE_SIZE];
    struct http_field field =
        content_range(text, snprintf(text, sizeof(text), "bytes */%u", item->body.n));
    send_short(s, 416, &field);
}

/* What is to be sent of it: Range has no meaning but for GET (RFC 9110 14.2). */
static enum origin_range_result range_of(const struct http_head *h, unsigned conditions,
                                         const struct origin_item *item, uint64_t now,
                                         struct origin_range *r)
{
    if (h->method != HTTP_GET || !origin_range_applies(h, conditions, item, now))
        return ORIGIN_RANGE_WHOLE;
    return origin_range_parse(http_field_find(h, HTTP_TEXT("range"))->value, item->body.n, r);
}

static void send_conditional(struct http_stream *s, const struct http_head *h, unsigned conditions,
                             const struct origin_item *item)
{
    uint64_t now = now_of(s->peer->env);
    uint16_t status = origin_conditions_met(h, conditions, item, now);
    if (status == 304) {
        send_not_modified(s, item);
        return;
    }
    if (status != 200) {
        send_short(s, status, NULL);
        return;
    }
    struct origin_range r;
    switch (range_of(h, conditions, item, now, &r)) {
    case ORIGIN_RANGE_WHOLE: send_whole(s, item); break;
    case ORIGIN_RANGE_PART: send_range(s, item, &r); break;
    case ORIGIN_RANGE_NONE: send_no_range(s, item); break;
    }
}

/* The path as it came, for it is encoded, with a slash behind it, and the query. */
static void send_slash(struct http_stream *s, const struct http_head *h)
{
    char text[ORIGIN_PATH_MAX + 1];
    const char *query = memchr(h->path.p, '?', h->path.n);
    uint32_t n = query ? (uint32_t)(query - h->path.p) : h->path.n;
    memcpy(text, h->path.p, n);
    text[n] = '/';
    memcpy(text + n + 1, h->path.p + n, h->path.n - n);
    struct http_field field = {HTTP_TEXT("location"), {text, h->path.n + 1}, false};
    send_short(s, 308, &field);
}

/* A GET or HEAD of it. */
static inline void send_item(struct http_stream *s, const struct http_head *h,
                             const struct origin_item *item)
{
    unsigned conditions = item->selected ? origin_conditions(h) : 0; /* RFC 9110 13.2.1 */
    if (item->slash)
        send_slash(s, h);
    else if (conditions)
        send_conditional(s, h, conditions, item);
    else
        send_whole(s, item);
}

/* ---- content that comes ---- */

static void took(struct http_stream *s)
{
    uint32_t n = stream_unconsumed(&s->stream);
    http_log_received(s, n);
    stream_consume(&s->stream, n);
}

/* It was answered without it, or a GET has some: RFC 9110 9.3.1 gives that no meaning. */
static void discard_data(struct stream *stream, struct pkt *view, bool end)
{
    (void)end;
    pkt_free(view);
    took(http_of(stream));
}

static void log_ended(struct stream *stream)
{
    http_log_end(http_of(stream), STREAM_OK);
}

static void log_reset(struct stream *stream, enum stream_code code)
{
    http_log_end(http_of(stream), code);
}

/* ---- /bytes/N ---- */

/* A stream's user is what is left to be promised. */
static void fill(struct stream *stream)
{
    struct http_stream *s = http_of(stream);
    uint64_t left = (uintptr_t)stream->user;
    uint32_t room = stream_room(stream);
    uint32_t len = left < room ? (uint32_t)left : room;
    if (len == 0)
        return;
    stream->user = (void *)(uintptr_t)(left - len);
    if (promise(s, pattern_vec((uint32_t)(s->sent % SERVICE_SOURCE_PERIOD), len)) && len == left)
        stream_end(stream);
}
_Static_assert(UINTPTR_MAX > BYTES_MAX, "a stream's user holds it");

static const struct stream_service bytes = {
    .name = "origin",
    .opened = fill,
    .data = discard_data,
    .writable = fill,
    .ended = log_ended,
    .reset = log_reset,
};

static void send_bytes(struct http_stream *s, uint64_t n)
{
    struct http_field field[2] = {
        {.name = HTTP_TEXT("date")},
        {HTTP_TEXT("content-type"), HTTP_TEXT("application/octet-stream"), false}};
    struct http_head a = {.status = 200, .content_length = n};
    set_fields(&a, s, field, 2);
    if (s->method == HTTP_HEAD || n == 0) {
        respond(s, &a, true);
        return;
    }
    if (!respond(s, &a, false))
        return;
    s->stream.user = (void *)(uintptr_t)n;
    http_become(s, &bytes);
}

/* The N of /bytes/N. False: the path is another. */
static bool bytes_of(struct http_text path, uint64_t *n)
{
    static const char prefix[] = "/bytes/";
    uint32_t at = sizeof(prefix) - 1;
    if (path.n <= at || memcmp(path.p, prefix, at) != 0)
        return false;
    for (*n = 0; at < path.n; at++) {
        if (path.p[at] < '0' || path.p[at] > '9')
            return false;
        *n = *n * 10 + (uint64_t)(path.p[at] - '0');
        if (*n > BYTES_MAX)
            return false;
    }
    return true;
}

/* ---- /echo ---- */

/* A stream's user is how much has come. */
static bool is_too_large(struct stream *stream, uint32_t n)
{
    uint64_t max = origin_of(http_of(stream))->options.max_upload;
    uint64_t came = (uintptr_t)stream->user + (uint64_t)n;
    stream->user = (void *)(uintptr_t)came;
    return max > 0 && came > max;
}

/* As service_echo does it, with an account. Its answer has begun, so that one that is too large
 * ends in a reset. */
static void echo_data(struct stream *stream, struct pkt *view, bool end)
{
    struct http_stream *s = http_of(stream);
    uint32_t n = view ? view->len : 0;
    if (is_too_large(stream, n)) {
        pkt_free(view);
        http_log_end(s, STREAM_REFUSED);
        stream_abort(stream);
        return;
    }
    http_log_received(s, n);
    s->sent += n;
    service_echo.data(stream, view, end);
    if (stream_over(stream))
        http_log_end(s, STREAM_NO_MEMORY);
}

static const struct stream_service echo = {
    .name = "origin",
    .data = echo_data,
    .writable = stream_release,
    .ended = log_ended,
    .reset = log_reset,
};

/* The client may wait for leave to send (RFC 9110 10.1.1). */
static bool grant(struct http_stream *s, const struct http_head *h)
{
    const struct http_field *expect = http_field_find(h, HTTP_TEXT("expect"));
    struct http_head a = {.status = 100, .content_length = HTTP_LENGTH_NONE};
    if (!expect || !http_text_eq(expect->value, HTTP_TEXT("100-continue")))
        return true;
    return respond(s, &a, false);
}

static void send_echo(struct http_stream *s, const struct http_head *h, bool end)
{
    uint64_t max = origin_of(s)->options.max_upload;
    if (max > 0 && h->content_length != HTTP_LENGTH_NONE && h->content_length > max) {
        send_short(s, 413, NULL);
        return;
    }
    struct http_field field[2] = {{.name = HTTP_TEXT("date")}};
    const struct http_field *type = http_field_find(h, HTTP_TEXT("content-type"));
    if (type)
        field[1] = *type;
    struct http_head a = {.status = 200, .content_length = end ? 0 : h->content_length};
    set_fields(&a, s, field, type ? 2 : 1);
    if (!end && !grant(s, h))
        return;
    if (respond(s, &a, end) && !end)
        http_become(s, &echo);
}

/* ---- requests ---- */

/* What a path leads to, by its method. */
static void answer(struct http_stream *s, const struct http_head *h, struct http_text path,
                   bool end)
{
    const struct origin *o = origin_of(s);
    const struct origin_item *item = origin_find(o, path);
    uint64_t n = 0;
    if (item && is_get(h))
        send_item(s, h, item);
    else if (item)
        send_methods(s, h, ALLOW_CONTENT);
    else if (o->options.bytes && bytes_of(path, &n) && is_get(h))
        send_bytes(s, n);
    else if (o->options.bytes && bytes_of(path, &n))
        send_methods(s, h, ALLOW_CONTENT);
    else if (!o->options.echo || !http_text_eq(path, HTTP_TEXT("/echo")))
        send_short(s, 404, NULL);
    else if (h->method == HTTP_POST || h->method == HTTP_PUT)
        send_echo(s, h, end);
    else
        send_methods(s, h, ALLOW_ECHO);
}

static void answer_path(struct http_stream *s, const struct http_head *h, bool end)
{
    char decoded[ORIGIN_PATH_MAX];
    const char *query = memchr(h->path.p, '?', h->path.n);
    struct http_text path = {h->path.p, query ? (uint32_t)(query - h->path.p) : h->path.n};
    int n = origin_path_decode(decoded, path);
    if (n < 0)
        send_short(s, 400, NULL);
    else
        answer(s, h, (struct http_text){decoded, (uint32_t)n}, end);
}

/* A request that is not for an item by just its path. */
static void answer_other(struct http_stream *s, const struct http_head *h, bool end)
{
    bool echo_is_on = origin_of(s)->options.echo;
    if (h->method == HTTP_OTHER || h->method == HTTP_CONNECT)
        send_short(s, 501, NULL); /* RFC 9110 9.1 */
    else if (h->path.n > ORIGIN_PATH_MAX)
        send_short(s, 414, NULL);
    else if (h->method == HTTP_OPTIONS && http_text_eq(h->path, HTTP_TEXT("*")))
        send_options(s, echo_is_on ? ALLOW_ALL : ALLOW_CONTENT);
    else if (h->path.n == 0)
        send_short(s, 400, NULL);
    else
        answer_path(s, h, end);
}

static void origin_head(struct http_stream *s, const struct http_head *h, bool end)
{
    http_log_begin(s, h);
    const struct origin_item *item = is_get(h) ? origin_find(origin_of(s), h->path) : NULL;
    if (item && item->plain)
        send_item(s, h, item);
    else
        answer_other(s, h, end);
}

const struct http_service service_origin = {
    .stream = {.name = "origin",
               .http = true,
               .data = discard_data,
               .ended = log_ended,
               .reset = log_reset},
    .head = origin_head,
};
