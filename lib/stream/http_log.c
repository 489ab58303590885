/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The access log's side of a request: its texts are valid in head() only, so they are copied there,
 * cut, into a note that waits for the request's end. Notes are a worker's; the first one that is
 * asked for makes their slab.
 */
#include "stream/http.h"

#define METHOD_MAX    16u
#define AUTHORITY_MAX 64u
#define TARGET_MAX    256u
#define AGENT_MAX     128u
#define REFERER_MAX   128u
#define TEXTS_MAX     (METHOD_MAX + AUTHORITY_MAX + TARGET_MAX + AGENT_MAX + REFERER_MAX)

/* In place of a note's number: it is logged, but there was no room for texts. */
#define BARE UINT32_MAX

struct note {
    uint64_t received;
    uint16_t method; /* lengths of the texts, which follow each other */
    uint16_t authority;
    uint16_t path;
    uint16_t agent;
    uint16_t referer;
    char text[TEXTS_MAX];
};

/* The slot's index in the low half of its handle, and 1 more, for 0 stands for none. */
static uint32_t number_of(handle_t handle)
{
    return (uint32_t)handle + 1;
}

static struct note *note_of(const struct http_stream *s)
{
    if (s->note == 0 || s->note == BARE)
        return NULL;
    return slab_at(s->peer->env->notes, s->note - 1);
}

static struct note *make_note(struct http_env *env, handle_t *handle)
{
    if (!env->notes)
        env->notes =
            slab_create(env->mem, sizeof(struct note), _Alignof(struct note), HTTP_NOTES_MAX);
    return env->notes ? slab_alloc(env->notes, handle) : NULL;
}

/* Copies what is kept of t to *at, which moves on. */
static uint16_t keep(char **at, struct http_text t, uint32_t max)
{
    uint32_t n = t.n < max ? t.n : max;
    if (n > 0)
        memcpy(*at, t.p, n);
    *at += n;
    return (uint16_t)n;
}

static struct http_text value_of(const struct http_head *h, struct http_text name)
{
    const struct http_field *f = http_field_find(h, name);
    return f ? f->value : (struct http_text){0};
}

void http_log_begin(struct http_stream *s, const struct http_head *h)
{
    if (!s->peer->env->log)
        return;
    handle_t handle;
    struct note *note = make_note(s->peer->env, &handle);
    s->note = note ? number_of(handle) : BARE;
    if (!note)
        return;
    char *at = note->text;
    note->method = keep(&at, h->method_name, METHOD_MAX);
    note->authority = keep(&at, h->authority, AUTHORITY_MAX);
    note->path = keep(&at, h->path, TARGET_MAX);
    note->agent = keep(&at, value_of(h, HTTP_TEXT("user-agent")), AGENT_MAX);
    note->referer = keep(&at, value_of(h, HTTP_TEXT("referer")), REFERER_MAX);
}

void http_log_received(struct http_stream *s, uint32_t n)
{
    struct note *note = note_of(s);
    if (note)
        note->received += n;
}

/* The next n bytes of the texts. */
static struct http_text next(const char **at, uint16_t n)
{
    struct http_text t = {*at, n};
    *at += n;
    return t;
}

static void fill(struct http_record *r, const struct note *note)
{
    const char *at = note->text;
    r->received = note->received;
    r->method = next(&at, note->method);
    r->authority = next(&at, note->authority);
    r->path = next(&at, note->path);
    r->user_agent = next(&at, note->agent);
    r->referer = next(&at, note->referer);
}

static struct http_text name_of(uint8_t method)
{
    const char *name = http_method_name(method);
    return (struct http_text){name, (uint32_t)strlen(name)};
}

void http_log_end(struct http_stream *s, enum stream_code outcome)
{
    if (s->note == 0)
        return;
    struct http_env *env = s->peer->env;
    struct note *note = note_of(s);
    struct http_record r = {.began = s->began,
                            .took = tick_since(env->now, s->began),
                            .sent = s->sent,
                            .status = s->status,
                            .outcome = (uint8_t)outcome,
                            .method = name_of(s->method)};
    if (note)
        fill(&r, note);
    if (env->log)
        env->log(env->ctx, s->peer, &r);
    if (note)
        slab_free(env->notes, note);
    s->note = 0;
}
