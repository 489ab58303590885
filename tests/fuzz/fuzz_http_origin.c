/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One request to an origin that has a few things. Input: method, how long the file /f is, then
 * lines: the path, and of each further one its first byte names the field and the rest is its
 * value. Whatever they are, there is one answer, whose content is as long as it says; an origin
 * counts no users afterwards; and paths and ranges are what a simple model makes of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "service/origin.h"
#include "support/heap.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define FIELDS_MAX 16u
#define BODY_MAX   600u
#define PATH_ROOM  65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the request is, and what became of it. */
struct talk {
    struct http_head request;
    struct http_field field[FIELDS_MAX];
    uint32_t length; /* of /f */
    unsigned responses;
    uint16_t status;
    uint64_t said;  /* content-length */
    char range[64]; /* content-range */
    uint64_t came;
    uint8_t content[BODY_MAX + 64];
};

static struct talk talk;

/* ---- the carrier ---- */

static void nothing(struct stream *s)
{
    (void)s;
}

static void consumed(struct stream *s, uint32_t n)
{
    (void)s;
    (void)n;
}

static bool respond(struct http_stream *s, const struct http_head *h, bool end)
{
    (void)s;
    (void)end;
    require(h->status >= 200);
    talk.responses++;
    talk.status = h->status;
    talk.said = h->content_length;
    const struct http_field *f = http_field_find(h, HTTP_TEXT("content-range"));
    if (f) {
        require(f->value.n < sizeof(talk.range));
        memcpy(talk.range, f->value.p, f->value.n);
    }
    return true;
}

static const struct stream_carrier carrier = {
    .consume = consumed, .ready = nothing, .abort = nothing};
static const struct http_carrier http_carrier = {.respond = respond};

/* Takes up to a little more than any file is long. */
static void take_content(struct http_stream *s, struct stream_ready *ready)
{
    struct vec_queue *q = &s->stream.out;
    while (vec_queue_bytes(q) > 0 && talk.came <= BODY_MAX) {
        uint32_t n = (uint32_t)(vec_queue_bytes(q) < 50 ? vec_queue_bytes(q) : 50);
        vec_queue_flatten(q, 0, talk.content + talk.came, n);
        talk.came += n;
        stream_acked(&s->stream, n);
        (void)stream_ready_run(ready, 10, 10);
    }
}

/* ---- the model: paths ---- */

static int digit(char c)
{
    const char *all = "0123456789abcdef0123456789ABCDEF";
    const char *at = c ? strchr(all, c) : NULL;
    return at ? (int)((at - all) % 16) : -1;
}

/* The path, decoded, as a string; NULL: it has an escape that is none, or of a slash, or a byte
 * that is not for paths. */
static const char *decoded(struct http_text path)
{
    static char out[PATH_ROOM];
    uint32_t n = 0;
    require(path.n < sizeof(out));
    for (uint32_t i = 0; i < path.n && path.p[i] != '?'; i++) {
        char c = path.p[i];
        if (c == '%') {
            if (i + 2 >= path.n || digit(path.p[i + 1]) < 0 || digit(path.p[i + 2]) < 0)
                return NULL;
            c = (char)(digit(path.p[i + 1]) * 16 + digit(path.p[i + 2]));
            i += 2;
            if (c == '/')
                return NULL;
        } else if (c == '#') {
            return NULL;
        }
        if (strchr("\\\x7f", c) || (uint8_t)c < ' ')
            return NULL;
        out[n++] = c;
    }
    out[n] = 0;
    return out;
}

/* Does the path climb? */
static bool has_dots(const char *path)
{
    char copy[PATH_ROOM];
    size_t n = strlen(path);
    memcpy(copy, path, n);
    memcpy(copy + n, "/", 2);
    return strstr(copy, "/../") || strstr(copy, "/./");
}

static void check_path(void)
{
    struct http_text raw = talk.request.path;
    if (raw.n > 8192) {
        require(talk.status == 414);
        return;
    }
    const char *path = decoded(raw);
    if (!path || path[0] != '/' || has_dots(path)) {
        require(talk.status == 400);
        return;
    }
    if (strcmp(path, "/f") == 0)
        require(talk.status == 200 || talk.status == 206 || talk.status == 304 ||
                talk.status == 412 || talk.status == 416);
    if (talk.status == 206 || talk.status == 416 || talk.status == 304)
        require(strcmp(path, "/f") == 0 || strcmp(path, "/d/") == 0 ||
                strcmp(path, "/d/index.html") == 0);
    if (talk.status == 308)
        require(strcmp(path, "/d") == 0);
}

/* ---- the model: ranges ---- */

/* One of a set: 0 where it is malformed, 1 where it is not there, 2 with *first and *last. */
static int spec_of(char *spec, uint64_t *first, uint64_t *last)
{
    size_t digits = strspn(spec, "0123456789");
    if (spec[digits] != '-')
        return 0;
    size_t more = strspn(spec + digits + 1, "0123456789");
    if (spec[digits + 1 + more] != 0 || digits + more == 0)
        return 0;
    uint64_t a = strtoull(spec, NULL, 10); /* ULLONG_MAX where it is more */
    uint64_t b = strtoull(spec + digits + 1, NULL, 10);
    if (digits == 0) {
        *first = b < talk.length ? talk.length - b : 0;
        *last = talk.length - 1;
        return b > 0 ? 2 : 1;
    }
    if (more > 0 && b < a)
        return 0;
    *first = a;
    *last = more > 0 && b < talk.length ? b : talk.length - 1;
    return a < talk.length ? 2 : 1;
}

/* The status for a Range field of that value, and what is sent. */
static unsigned range_of(const char *value, uint64_t *first, uint64_t *last)
{
    char copy[4096];
    unsigned there = 0;
    unsigned all = 0;
    size_t n = strlen(value);
    require(n < sizeof(copy));
    memcpy(copy, value, n + 1);
    for (unsigned i = 0; i < 6 && copy[i]; i++)
        copy[i] = (char)(copy[i] >= 'A' && copy[i] <= 'Z' ? copy[i] + 32 : copy[i]);
    if (strncmp(copy, "bytes=", 6) != 0 || talk.length == 0)
        return 200;
    for (char *spec = copy + 6, *next; spec; spec = next) {
        next = strchr(spec, ',');
        if (next)
            *next++ = 0;
        spec += strspn(spec, " \t");
        size_t end = strlen(spec);
        while (end > 0 && (spec[end - 1] == ' ' || spec[end - 1] == '\t'))
            spec[--end] = 0;
        if (!*spec)
            continue;
        uint64_t a;
        uint64_t b;
        int what = spec_of(spec, &a, &b);
        if (what == 0)
            return 200;
        all++;
        if (what == 2) {
            there++;
            *first = a;
            *last = b;
        }
    }
    if (all == 0 || there > 1)
        return 200;
    return there == 1 ? 206 : 416;
}

/* Of a GET of /f that has a Range field and no other. */
static void check_range(const char *value)
{
    uint64_t first = 0;
    uint64_t last = 0;
    char expected[64];
    unsigned status = range_of(value, &first, &last);
    require(talk.status == status);
    if (status == 416) {
        snprintf(expected, sizeof(expected), "bytes */%u", talk.length);
        require(strcmp(talk.range, expected) == 0);
    }
    if (status != 206)
        return;
    snprintf(expected, sizeof(expected), "bytes %llu-%llu/%u", (unsigned long long)first,
             (unsigned long long)last, talk.length);
    require(strcmp(talk.range, expected) == 0);
    require(talk.came == last - first + 1);
    for (uint64_t i = first; i <= last; i++)
        require(talk.content[i - first] == (uint8_t)(i * 7));
}

/* ---- one request ---- */

static struct origin *make_origin(struct mem *mem)
{
    static char body[BODY_MAX];
    for (unsigned i = 0; i < BODY_MAX; i++)
        body[i] = (char)(i * 7);
    struct origin_options options = {.bytes = true, .echo = true};
    struct origin *o = origin_create(mem, "fuzz", &options);
    struct origin_entry e = {
        .path = HTTP_TEXT("/f"), .body = {body, talk.length}, .modified = 784111777};
    require(o && origin_add(o, &e) == 0);
    e.path = HTTP_TEXT("/d/index.html");
    require(origin_add(o, &e) == 0);
    e = (struct origin_entry){.path = HTTP_TEXT("/gone"), .status = 410, .body = HTTP_TEXT("x")};
    require(origin_add(o, &e) == 0 && origin_seal(o));
    return o;
}

static struct http_text line(struct reader *r)
{
    const uint8_t *from = r->at;
    const uint8_t *end = reader_left(r) ? memchr(from, '\n', reader_left(r)) : NULL;
    uint32_t n = end ? (uint32_t)(end - from) : (uint32_t)reader_left(r);
    reader_skip(r, n + (end ? 1 : 0));
    return (struct http_text){(const char *)from, n};
}

static void read_request(struct reader *r)
{
    static const struct http_text names[] = {{"range", 5},
                                             {"if-range", 8},
                                             {"if-match", 8},
                                             {"if-none-match", 13},
                                             {"if-modified-since", 17},
                                             {"if-unmodified-since", 19},
                                             {"content-type", 12},
                                             {"expect", 6}};
    struct http_head *h = &talk.request;
    h->method = (enum http_method)(reader_u8(r) % HTTP_METHOD_END);
    const char *method = h->method == HTTP_OTHER ? "BREW" : http_method_name(h->method);
    h->method_name = (struct http_text){method, (uint32_t)strlen(method)};
    talk.length = reader_u16(r) % (BODY_MAX + 1);
    h->path = line(r);
    h->content_length = HTTP_LENGTH_NONE;
    h->field = talk.field;
    while (reader_left(r) > 0 && h->n_fields < FIELDS_MAX) {
        struct http_text name = names[reader_u8(r) % 8];
        talk.field[h->n_fields++] = (struct http_field){name, line(r), false};
    }
}

static void check(bool ended)
{
    bool get = talk.request.method == HTTP_GET || talk.request.method == HTTP_HEAD;
    require(talk.responses == 1 && talk.status >= 200);
    if (talk.request.method == HTTP_HEAD || talk.status == 304 || talk.status == 204)
        require(talk.came == 0);
    else if (ended && talk.came <= BODY_MAX && talk.said != HTTP_LENGTH_NONE)
        require(talk.came == talk.said);
    if (get)
        check_path();
    if (talk.request.method == HTTP_GET && http_text_eq(talk.request.path, HTTP_TEXT("/f")) &&
        talk.request.n_fields == 1 && talk.field[0].name.n == 5) {
        char value[4096] = {0};
        struct http_text v = talk.field[0].value;
        if (v.n < sizeof(value) && (v.n == 0 || !memchr(v.p, 0, v.n))) {
            if (v.n > 0)
                memcpy(value, v.p, v.n);
            check_range(value);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader r = reader_of(data, size);
    memset(&talk, 0, sizeof(talk));
    read_request(&r);

    struct heap heap;
    struct heap_pool pool;
    struct http_env env;
    struct stream_ready ready;
    heap_init(&heap);
    heap_pool_init(&pool, 16, 300);
    http_env_init(&env, &heap.mem, &pool.pool, 0);
    env.wall = INT64_C(1700000000) * (int64_t)TICK_SEC;
    stream_ready_init(&ready);
    struct origin *o = make_origin(&heap.mem);
    struct http_peer peer = {.env = &env, .context = o};
    struct http_stream s = {.http = &http_carrier, .peer = &peer};
    stream_init(&s.stream, &service_origin.stream, &carrier, &ready, &heap.mem, 8);
    stream_set_marks(&s.stream, 100, 40);
    http_tell_head(&s, &talk.request, true, 0);
    take_content(&s, &ready);
    check(s.stream.bits & STREAM_OUT_END);
    stream_fini(&s.stream);
    require(origin_users(o) == 0);
    origin_destroy(o);
    http_env_fini(&env);
    require(heap.blocks == 0 && pool.held == 0);
    return 0;
}
