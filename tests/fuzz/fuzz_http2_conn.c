/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same frames to a session of nghttp2 and to a connection of ours, as a server or as a client,
 * whose services do the same. After each frame both have to have told and sent the same: heads with
 * their fields, content, ends, answers, resets, acknowledgments, window updates, and GOAWAY with
 * the class of its error. What nghttp2 does otherwise, with reason, is in known_difference() below.
 *
 *   input: control, then frames
 *   control: bit 0 client, 1 frames as they are in the input (else made of it), 2 answers, 3 views
 *            are short
 */
#define _GNU_SOURCE
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "http2/internal.h"
#include "support/h2_maker.h"
#include "support/heap.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define FRAMES_MAX  100u
#define FIELDS_MAX  64u
#define STREAMS_MAX 256u /* identifiers below this are followed */
#define WINDOW      2000u

/* ---- what one of both did in a step ---- */

struct text {
    uint32_t n;
    char bytes[8192];
};

struct reaction {
    struct text told; /* heads, content, ends */
    struct text sent; /* HEADERS, DATA, RST_STREAM, in their order */
    struct text acks; /* of PING and SETTINGS */
    struct text updates;
    uint32_t resets;     /* sent */
    uint32_t reset_code; /* of the last */
    int64_t goaway;      /* its code; -1: none */
    uint32_t content;
    uint32_t content_sum;
};

static void put(struct text *t, const void *bytes, size_t n)
{
    if (n > sizeof(t->bytes) - t->n)
        n = sizeof(t->bytes) - t->n;
    if (n > 0) /* or bytes may be NULL */
        memcpy(t->bytes + t->n, bytes, n);
    t->n += (uint32_t)n;
}

static void put_words(struct text *t, const char *what, uint32_t a, uint32_t b)
{
    uint32_t words[2] = {a, b};
    put(t, what, strlen(what));
    put(t, words, sizeof(words));
}

static void put_field(struct text *t, struct http_text name, struct http_text value)
{
    put(t, "|", 1);
    put(t, name.p, name.n);
    put(t, "=", 1);
    put(t, value.p, value.n);
}

static bool same_text(const struct text *a, const struct text *b)
{
    return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

static void take_content(struct reaction *r, const uint8_t *p, size_t n)
{
    r->content += (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        r->content_sum = r->content_sum * 31 + p[i];
}

/* What was sent, frame by frame. */
static void note_output(struct reaction *r, const uint8_t *p, size_t n, bool *greeted)
{
    while (n >= H2_FRAME_HEADER) {
        struct h2_frame f = h2_frame_parse(p);
        const uint8_t *payload = p + H2_FRAME_HEADER;
        require(n >= H2_FRAME_HEADER + f.length);
        p += H2_FRAME_HEADER + f.length;
        n -= H2_FRAME_HEADER + f.length;
        switch (f.type) {
        case H2_HEADERS:
            put_words(&r->sent, "HEADERS", f.stream, f.flags & H2_FLAG_END_STREAM);
            break;
        case H2_DATA: put_words(&r->sent, "DATA", f.stream, f.length); break;
        case H2_RST_STREAM:
            r->resets++;
            r->reset_code = h2_u32(payload);
            put_words(&r->sent, "RST_STREAM", f.stream, r->reset_code);
            break;
        case H2_GOAWAY: r->goaway = h2_u32(payload + 4); break;
        case H2_PING: put_words(&r->acks, "PING", h2_u32(payload), h2_u32(payload + 4)); break;
        case H2_SETTINGS:
            if (f.flags & H2_FLAG_ACK)
                put(&r->acks, "SETTINGS", 8);
            break;
        case H2_WINDOW_UPDATE:
            if (*greeted)
                put_words(&r->updates, "UPDATE", f.stream, h2_u32(payload));
            break;
        default: require(false);
        }
    }
    *greeted = true;
    require(n == 0);
}

/* ---- a head in a form that both have ---- */

struct list_of_fields {
    struct http_field field[FIELDS_MAX];
    uint32_t n;
    struct text texts;
};

static void keep(struct list_of_fields *l, const uint8_t *name, size_t n, const uint8_t *value,
                 size_t m)
{
    if (l->n == FIELDS_MAX || n + m > sizeof(l->texts.bytes) - l->texts.n)
        return;
    struct http_field *f = &l->field[l->n++];
    f->name = (struct http_text){l->texts.bytes + l->texts.n, (uint32_t)n};
    put(&l->texts, name, n);
    f->value = (struct http_text){l->texts.bytes + l->texts.n, (uint32_t)m};
    put(&l->texts, value, m);
}

static const struct http_text cookie = HTTP_TEXT("cookie");
static const struct http_text host = HTTP_TEXT("host");
static const struct http_text content_length = HTTP_TEXT("content-length");

static struct http_text find(const struct list_of_fields *l, struct http_text name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (http_text_eq(l->field[i].name, name))
            return l->field[i].value;
    return (struct http_text){NULL, 0};
}

/* Crumbs of cookie, joined as RFC 9113 8.2.3 has it. */
static void put_cookie(struct text *t, const struct list_of_fields *l)
{
    struct text joined = {0};
    for (uint32_t i = 0; i < l->n; i++) {
        if (!http_text_eq(l->field[i].name, cookie) || l->field[i].value.n == 0)
            continue;
        if (joined.n > 0)
            put(&joined, "; ", 2);
        put(&joined, l->field[i].value.p, l->field[i].value.n);
    }
    if (joined.n > 0)
        put_field(t, cookie, (struct http_text){joined.bytes, joined.n});
}

static uint64_t number(struct http_text t)
{
    uint64_t n = 0;
    if (!t.p)
        return HTTP_LENGTH_NONE;
    for (uint32_t i = 0; i < t.n; i++)
        n = n * 10 + (uint64_t)(t.p[i] - '0');
    return n;
}

/* From a list as nghttp2 tells it. */
static void put_list(struct text *t, uint32_t id, const struct list_of_fields *l, bool client)
{
    struct http_text authority = find(l, HTTP_TEXT(":authority"));
    struct http_text status = find(l, HTTP_TEXT(":status"));
    bool trailers = !find(l, HTTP_TEXT(":method")).p && !status.p;
    put_words(t, trailers ? "trailers" : "head", id, (uint32_t)(status.p ? number(status) : 0));
    if (!trailers && !client) {
        put_field(t, HTTP_TEXT("m"), find(l, HTTP_TEXT(":method")));
        put_field(t, HTTP_TEXT("s"), find(l, HTTP_TEXT(":scheme")));
        put_field(t, HTTP_TEXT("a"), authority.p ? authority : find(l, host));
        put_field(t, HTTP_TEXT("p"), find(l, HTTP_TEXT(":path")));
        put_field(t, HTTP_TEXT("x"), find(l, HTTP_TEXT(":protocol")));
    }
    if (!trailers) {
        uint64_t length = number(find(l, content_length));
        put_words(t, "length", (uint32_t)length, (uint32_t)(length >> 32));
    }
    if (!client && !trailers)
        put_cookie(t, l);
    for (uint32_t i = 0; i < l->n; i++) {
        const struct http_field *f = &l->field[i];
        bool moved = http_text_eq(f->name, content_length) ||
                     (!client && (http_text_eq(f->name, host) || http_text_eq(f->name, cookie)));
        if (f->name.n == 0 || f->name.p[0] == ':' || (moved && !trailers))
            continue;
        put_field(t, f->name, f->value);
    }
}

/* From a head as ours tells it. */
static void put_head(struct text *t, uint32_t id, const struct http_head *h)
{
    put_words(t, "head", id, h->status);
    if (h->status == 0) {
        put_field(t, HTTP_TEXT("m"), h->method_name);
        put_field(t, HTTP_TEXT("s"), h->scheme);
        put_field(t, HTTP_TEXT("a"), h->authority);
        put_field(t, HTTP_TEXT("p"), h->path);
        put_field(t, HTTP_TEXT("x"), h->protocol);
    }
    /* RFC 9110 8.6: there should be none of 204, and nghttp2 leaves it out. */
    uint64_t length = h->status == 204 ? HTTP_LENGTH_NONE : h->content_length;
    put_words(t, "length", (uint32_t)length, (uint32_t)(length >> 32));
    const struct http_field *c = h->status == 0 ? http_field_find(h, cookie) : NULL;
    if (c && c->value.n > 0)
        put_field(t, cookie, c->value);
    for (uint32_t i = 0; i < h->n_fields; i++)
        if (h->status || !http_text_eq(h->field[i].name, cookie))
            put_field(t, h->field[i].name, h->field[i].value);
}

/* ---- both ---- */

static struct {
    struct heap heap;
    struct heap_pool pool;
    bool client;
    bool answers;
    uint32_t view;

    struct h2 h2;
    struct http_env env;
    struct counters counters;
    struct h2_settings settings;
    struct http_peer peer;
    struct h2_conn conn;
    struct reaction ours;
    bool ours_greeted;

    nghttp2_session *session;
    struct reaction theirs;
    bool theirs_greeted;
    struct list_of_fields list;
    bool fatal;

    /* The frame of the step, and what its stream was to us before. */
    struct h2_frame frame;
    struct h2_stream *stream;
    uint8_t state; /* enum h2_state, with stream */
    bool tunnel;
    bool answered; /* HEADERS would be trailers */
    enum h2_closed how;
    bool idle;
    struct text block;    /* of the last HEADERS and CONTINUATION, as they came */
    uint32_t word;        /* the first of its payload */
    uint32_t padded_word; /* and behind the length of padding */
} both;

static const tick_t now = 5 * TICK_SEC;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- ours ---- */

static uint32_t id_of(struct stream *s)
{
    return h2_stream_of(s)->id;
}

static void our_end(struct stream *s)
{
    struct http_head answer = {.status = 200, .content_length = HTTP_LENGTH_NONE};
    put_words(&both.ours.told, "end", id_of(s), 0);
    if (!both.client && both.answers)
        http_respond(http_of(s), &answer, true);
}

static void our_head(struct http_stream *s, const struct http_head *h, bool end)
{
    put_head(&both.ours.told, id_of(&s->stream), h);
    if (end)
        our_end(&s->stream);
}

static void our_data(struct stream *s, struct pkt *view, bool end)
{
    if (view) {
        take_content(&both.ours, view->data, view->len);
        stream_consume(s, view->len);
        pkt_free(view);
    }
    if (!end)
        return;
    uint32_t n;
    const struct http_field *f = http_received_trailers(http_of(s), &n);
    if (f)
        put_words(&both.ours.told, "trailers", id_of(s), 0);
    for (uint32_t i = 0; i < n; i++)
        put_field(&both.ours.told, f[i].name, f[i].value);
    our_end(s);
}

static const struct http_service service = {
    .stream = {.name = "fuzz", .http = true, .data = our_data},
    .head = our_head,
};

static void wake(struct h2_conn *c)
{
    (void)c;
}

static void our_output(void)
{
    static uint8_t out[65536];
    uint32_t used = 0;
    while (stream_ready_run(&both.h2.ready, 64, 64))
        ;
    for (uint32_t n; (n = h2_output(&both.conn, out + used, 16384, now)) > 0;) {
        used += n;
        require(used <= sizeof(out) - 16384);
        while (stream_ready_run(&both.h2.ready, 64, 64))
            ;
    }
    bool magic = both.client && !both.ours_greeted && used > 0;
    note_output(&both.ours, out + (magic ? H2_PREFACE_SIZE : 0),
                used - (magic ? H2_PREFACE_SIZE : 0), &both.ours_greeted);
}

static void our_input(const uint8_t *bytes, size_t n)
{
    h2_input(&both.conn, heap_pkt(&both.pool, bytes, n, both.view), now);
}

/* ---- nghttp2's ---- */

static int their_begin(nghttp2_session *s, const nghttp2_frame *f, void *u)
{
    (void)s;
    (void)f;
    (void)u;
    both.list.n = both.list.texts.n = 0;
    return 0;
}

static int their_header(nghttp2_session *s, const nghttp2_frame *f, const uint8_t *name, size_t n,
                        const uint8_t *value, size_t m, uint8_t flags, void *u)
{
    (void)s;
    (void)f;
    (void)flags;
    (void)u;
    keep(&both.list, name, n, value, m);
    return 0;
}

/* It would leave fields out that are malformed; RFC 9113 8.2.1 asks for more. */
static int their_bad_header(nghttp2_session *s, const nghttp2_frame *f, const uint8_t *name,
                            size_t n, const uint8_t *value, size_t m, uint8_t flags, void *u)
{
    (void)s;
    (void)f;
    (void)name;
    (void)n;
    (void)value;
    (void)m;
    (void)flags;
    (void)u;
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void their_end(int32_t id)
{
    static const nghttp2_nv ok = {(uint8_t *)":status", (uint8_t *)"200", 7, 3, 0};
    put_words(&both.theirs.told, "end", (uint32_t)id, 0);
    if (!both.client && both.answers)
        nghttp2_submit_response(both.session, id, &ok, 1, NULL);
}

static int their_frame(nghttp2_session *s, const nghttp2_frame *f, void *u)
{
    (void)s;
    (void)u;
    bool content = f->hd.type == NGHTTP2_HEADERS || f->hd.type == NGHTTP2_DATA;
    if (f->hd.type == NGHTTP2_HEADERS)
        put_list(&both.theirs.told, (uint32_t)f->hd.stream_id, &both.list, both.client);
    if (content && (f->hd.flags & NGHTTP2_FLAG_END_STREAM))
        their_end(f->hd.stream_id);
    return 0;
}

static int their_data(nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                      void *u)
{
    (void)s;
    (void)flags;
    (void)id;
    (void)u;
    take_content(&both.theirs, p, n);
    return 0;
}

static void their_output(void)
{
    static uint8_t out[65536];
    size_t used = 0;
    const uint8_t *p;
    for (ssize_t n; (n = nghttp2_session_mem_send(both.session, &p)) > 0;) {
        require((size_t)n <= sizeof(out) - used);
        memcpy(out + used, p, (size_t)n);
        used += (size_t)n;
    }
    bool magic = both.client && !both.theirs_greeted && used > 0;
    note_output(&both.theirs, out + (magic ? H2_PREFACE_SIZE : 0),
                used - (magic ? H2_PREFACE_SIZE : 0), &both.theirs_greeted);
}

static void their_input(const uint8_t *bytes, size_t n)
{
    ssize_t taken = nghttp2_session_mem_recv(both.session, bytes, n);
    both.fatal = taken < 0;
}

/* ---- what nghttp2 does otherwise ---- */

/* A frame may be wrong in two ways, of which either may be told. */
static bool same_error(int64_t a, int64_t b)
{
    bool frame = a == H2_FRAME_SIZE_ERROR || b == H2_FRAME_SIZE_ERROR;
    return a == b || (frame && (a == H2_PROTOCOL_ERROR || b == H2_PROTOCOL_ERROR));
}

static bool gone(const struct reaction *r)
{
    return r->goaway > 0;
}

static bool reset_only(const struct reaction *r, uint32_t code)
{
    return !gone(r) && r->resets == 1 && r->reset_code == code;
}

static bool silent(const struct reaction *r)
{
    return !gone(r) && r->resets == 0 && r->told.n == 0 && r->sent.n == 0 && r->content == 0;
}

/* One stream of ours is reset where nghttp2 ends the connection, for the same. */
static bool milder(uint32_t code)
{
    return reset_only(&both.ours, code) && same_error(both.theirs.goaway, code);
}

static bool depends_on_itself(void)
{
    bool padded = both.frame.flags & H2_FLAG_PADDED;
    return (padded ? both.padded_word : both.word) == both.frame.stream;
}

static bool contains(const struct text *t, const char *what)
{
    return memmem(t->bytes, t->n, what, strlen(what));
}

static bool is_message(void)
{
    uint8_t type = both.frame.type;
    return type == H2_DATA || type == H2_HEADERS || type == H2_CONTINUATION;
}

/* Streams that are half-closed or closed. */
static bool differs_by_state(void)
{
    const struct reaction *o = &both.ours;
    const struct reaction *t = &both.theirs;
    bool closed = !both.stream && !both.idle;
    if (!is_message())
        return false;
    /* RFC 9113 5.1, half-closed (remote): a stream error. */
    if (both.stream && both.state == H2_HALF_CLOSED_REMOTE && milder(H2_STREAM_CLOSED))
        return true;
    if (!closed || !silent(t))
        return false;
    /* 6.1: the padding of DATA that is thrown away is looked at, too. */
    if (both.frame.type == H2_DATA && (both.frame.flags & H2_FLAG_PADDED) && gone(o))
        return true;
    /* 5.1, closed: nghttp2 has forgotten the stream and ignores all that comes for it; ours knows
     * for a while that it ended in order, or was reset by the other side. */
    if (both.how == H2_CLOSED_IN_ORDER)
        return o->goaway == H2_STREAM_CLOSED;
    if (both.how == H2_CLOSED_BY_PEER && reset_only(o, H2_STREAM_CLOSED))
        return true;
    /* 5.1.1: a stream that was passed over cannot be opened, and takes nothing. */
    if (both.how == H2_CLOSED_UNUSED)
        return o->goaway == H2_PROTOCOL_ERROR || reset_only(o, H2_STREAM_CLOSED);
    return false;
}

/* Which of two errors is told, and when. */
static bool differs_by_order(void)
{
    const struct reaction *o = &both.ours;
    const struct reaction *t = &both.theirs;
    const struct h2_frame *f = &both.frame;
    bool whole = f->flags & H2_FLAG_END_HEADERS;
    /* 6.2: nghttp2 looks whose stream it is before the block is whole, ours when it is, for the
     * block has to be decoded in any case (4.3). */
    if (f->type == H2_HEADERS && (both.idle || both.state == H2_HALF_CLOSED_REMOTE) &&
        (t->goaway == H2_PROTOCOL_ERROR || t->goaway == H2_STREAM_CLOSED) &&
        (o->goaway == H2_COMPRESSION_ERROR || !whole))
        return true;
    /* nghttp2 resets a stream at the first field that is malformed, ours as above. */
    if (is_message() && !whole && reset_only(t, H2_PROTOCOL_ERROR) && silent(o))
        return true;
    /* Padding that does not fit, and DATA for a stream that has ended; a push that is not allowed,
     * of fields that do not decode; several settings that are wrong, each in its way. */
    bool several = f->type == H2_SETTINGS && f->length > H2_SETTINGS_ENTRY;
    return gone(o) && gone(t) && (f->type == H2_DATA || f->type == H2_PUSH_PROMISE || several);
}

/* What trailers may be. */
static bool differs_by_trailers(void)
{
    const struct reaction *o = &both.ours;
    const struct reaction *t = &both.theirs;
    if (!is_message() || !both.answered || gone(o) || gone(t))
        return false;
    /* RFC 9113 8.5: HEADERS on a connected stream are a stream error. nghttp2 lets trailers pass.
     */
    if (both.tunnel && both.frame.type != H2_DATA)
        return reset_only(o, H2_PROTOCOL_ERROR) && t->resets == 0;
    /* RFC 9110 6.5.1 and 7.2: in trailers host routes nothing and is a field like others, told
     * apart from the head. nghttp2 counts it with the head's, of which one at most is allowed. */
    return !both.client && reset_only(t, H2_PROTOCOL_ERROR) && o->resets == 0 &&
           contains(&o->told, "trailers") && contains(&o->told, "|host=");
}

/* What makes a message malformed. */
static bool differs_by_message(void)
{
    const struct reaction *o = &both.ours;
    const struct reaction *t = &both.theirs;
    if (!is_message() || gone(o))
        return false;
    /* 8.1.1: content before a response's head makes it malformed, which is a stream error. */
    if (both.frame.type == H2_DATA && both.client && both.stream &&
        (milder(H2_PROTOCOL_ERROR) || (reset_only(o, H2_PROTOCOL_ERROR) && silent(t))))
        return true;
    if (gone(t))
        return false;
    /* 8.1.1: ours knows by the header of DATA that it is not what content-length says, nghttp2
     * when it has told the content. */
    if (both.frame.type == H2_DATA && reset_only(o, H2_PROTOCOL_ERROR) &&
        reset_only(t, H2_PROTOCOL_ERROR))
        return true;
    /* RFC 9110 9.3.6: any 2xx makes a tunnel of CONNECT, while nghttp2 lets 204 have no content. */
    if (both.frame.type == H2_DATA && both.client && both.tunnel &&
        reset_only(t, H2_PROTOCOL_ERROR))
        return true;
    /* RFC 9113 10.5.1: ours sends no head that is larger than what the other side says it takes. */
    if (reset_only(o, H2_CANCEL) && both.conn.peers.header_list < 1000)
        return true;
    /* 8.3.1: neither userinfo in :authority nor a fragment in :path; host is the same as
     * :authority. */
    if (reset_only(o, H2_PROTOCOL_ERROR) && t->resets == 0)
        if (contains(&t->told, "|a=u@h") || contains(&t->told, "|p=/#") ||
            (contains(&both.block, "host") && contains(&both.block, ":authority")))
            return true;
    if (!contains(&both.block, "content-length"))
        return false;
    /* RFC 9110 8.6 and 9.3.6: a response's content-length where it should not be: nghttp2 finds it
     * malformed (1xx, 204), or leaves it out (CONNECT). 8.6: the same one twice may count as one.
     * 6.5.1: in trailers ours leaves it out. */
    return both.client || (reset_only(t, H2_PROTOCOL_ERROR) && contains(&o->told, "head")) ||
           contains(&o->told, "trailers");
}

/* Priorities, which both read and ours does not follow. */
static bool differs_by_priority(void)
{
    const struct reaction *o = &both.ours;
    const struct reaction *t = &both.theirs;
    const struct h2_frame *f = &both.frame;
    /* RFC 9113 6.3: what is wrong with PRIORITY is told, and is a stream's error. nghttp2 does not
     * look at it after it has sent SETTINGS_NO_RFC7540_PRIORITIES. */
    if (f->type == H2_PRIORITY)
        return silent(t) || milder(H2_FRAME_SIZE_ERROR) || milder(H2_PROTOCOL_ERROR);
    /* RFC 7540 5.3.1: that a stream depends on itself is a stream's error. nghttp2 ends the
     * connection, or does not look. */
    if (f->type == H2_HEADERS && (f->flags & H2_FLAG_PRIORITY) && depends_on_itself())
        return reset_only(o, H2_PROTOCOL_ERROR);
    /* RFC 9218 7.1: errors that nghttp2 lets pass, of whom it comes from and of stream 0. */
    return f->type == H2_PRIORITY_UPDATE && (both.client || both.word == 0) &&
           o->goaway == H2_PROTOCOL_ERROR && silent(t);
}

static bool differs_by_control(void)
{
    const struct reaction *o = &both.ours;
    const struct reaction *t = &both.theirs;
    const struct h2_frame *f = &both.frame;
    /* RFC 9113 8.4: nghttp2 refuses a push that comes before the ACK of ENABLE_PUSH. No server can
     * have made one, for our SETTINGS come before the request that it belongs to. */
    if (f->type == H2_PUSH_PROMISE)
        return both.client && o->goaway == H2_PROTOCOL_ERROR && !gone(t);
    /* 6.9: an increment of 0 is a stream's error, on a stream. */
    if (f->type == H2_WINDOW_UPDATE)
        return both.word == 0 && !both.idle && reset_only(o, H2_PROTOCOL_ERROR) &&
               (silent(t) || t->goaway == H2_PROTOCOL_ERROR);
    /* 6.9.2: windows that overflow by a change of the first one end the connection; nghttp2 resets
     * their streams. */
    if (f->type == H2_SETTINGS && o->goaway == H2_FLOW_CONTROL_ERROR && !gone(t) && t->resets > 0)
        return true;
    /* 6.5.3: of values for the same setting nghttp2 sees the last only. */
    if (f->type == H2_SETTINGS && silent(t) && gone(o) && f->length > H2_SETTINGS_ENTRY)
        return true;
    /* RFC 8441 3: a client must not take it back, and it has no impact on a server: so nghttp2 as a
     * server does not look. */
    if (f->type == H2_SETTINGS && !both.client && silent(t) && o->goaway == H2_PROTOCOL_ERROR)
        return both.word >> 16 == H2_SETTINGS_ENABLE_CONNECT_PROTOCOL;
    /* 6.5.3 and 6.8 do not ask to end a connection for an ACK of nothing, or for a GOAWAY that
     * names a stream which only the other side could open. */
    return ((f->type == H2_SETTINGS && f->flags == H2_FLAG_ACK) || f->type == H2_GOAWAY) &&
           silent(o) && t->goaway == H2_PROTOCOL_ERROR;
}

/* Does one of these explain the step? The case ends there, for both go on from different states. */
static bool known_difference(void)
{
    return differs_by_state() || differs_by_order() || differs_by_message() ||
           differs_by_trailers() || differs_by_priority() || differs_by_control();
}

/* ---- a step ---- */

static void begin_step(const uint8_t *frame, size_t n)
{
    struct h2_conn *c = &both.conn;
    both.ours.told.n = both.ours.sent.n = both.ours.acks.n = both.ours.updates.n = 0;
    both.ours.resets = both.ours.content = both.ours.content_sum = 0;
    both.ours.goaway = -1;
    both.theirs.told.n = both.theirs.sent.n = both.theirs.acks.n = both.theirs.updates.n = 0;
    both.theirs.resets = both.theirs.content = both.theirs.content_sum = 0;
    both.theirs.goaway = -1;
    both.frame = h2_frame_parse(frame);
    if (both.frame.type == H2_HEADERS)
        both.block.n = 0;
    if (both.frame.type == H2_HEADERS || both.frame.type == H2_CONTINUATION)
        put(&both.block, frame + H2_FRAME_HEADER, n - H2_FRAME_HEADER);
    both.word = n >= H2_FRAME_HEADER + 4 ? h2_u32(frame + H2_FRAME_HEADER) & H2_STREAM_MAX : 0;
    both.padded_word =
        n >= H2_FRAME_HEADER + 5 ? h2_u32(frame + H2_FRAME_HEADER + 1) & H2_STREAM_MAX : 0;
    both.stream = h2_streams_find(&c->streams, both.frame.stream);
    both.tunnel = both.stream && (both.stream->flags & H2_STREAM_TUNNEL);
    both.answered = both.stream && (both.stream->flags & H2_STREAM_ANSWERED);
    both.state = both.stream ? both.stream->state : H2_CLOSED;
    both.how = h2_closed_how(&c->closed, both.frame.stream);
    both.idle = h2_is_idle(c, both.frame.stream);
}

static bool agree(void)
{
    const struct reaction *o = &both.ours;
    const struct reaction *t = &both.theirs;
    if (gone(o) || gone(t))
        return gone(o) && gone(t) && same_error(o->goaway, t->goaway);
    return same_text(&o->told, &t->told) && same_text(&o->sent, &t->sent) &&
           same_text(&o->acks, &t->acks) && same_text(&o->updates, &t->updates) &&
           o->content == t->content && o->content_sum == t->content_sum;
}

static void show_text(const char *what, const struct text *t)
{
    fprintf(stderr, "  %s:", what);
    for (uint32_t i = 0; i < t->n; i++)
        fprintf(stderr, t->bytes[i] >= 32 ? "%c" : "<%d>", t->bytes[i]);
    fprintf(stderr, "\n");
}

static void show(const char *who, const struct reaction *r)
{
    fprintf(stderr, "%s: goaway %d, %u resets, content %u\n", who, (int)r->goaway, r->resets,
            r->content);
    show_text("told", &r->told);
    show_text("sent", &r->sent);
    show_text("acks", &r->acks);
    show_text("updates", &r->updates);
}

/* False: the case ends. */
static bool step(const uint8_t *bytes, size_t n)
{
    begin_step(bytes, n);
    our_input(bytes, n);
    their_input(bytes, n);
    our_output();
    their_output();
    if (both.fatal || !agree()) {
        if (known_difference())
            return false;
        fprintf(stderr,
                "type %u flags %x stream %u length %u: known %d state %u closed %u idle %d\n",
                both.frame.type, both.frame.flags, both.frame.stream, both.frame.length,
                both.stream != NULL, both.state, both.how, both.idle);
        struct text frame = {0};
        put(&frame, bytes + H2_FRAME_HEADER, n - H2_FRAME_HEADER);
        show_text("payload", &frame);
        show("ours", &both.ours);
        show("theirs", &both.theirs);
        abort();
    }
    return !gone(&both.ours) && !h2_is_done(&both.conn);
}

/* ---- where frames come from ---- */

static void made(struct reader *in)
{
    static uint8_t out[H2_MAKER_ROOM];
    struct h2_maker m = {.in = in, .client = both.client, .next = both.client ? 2 : 1};
    static const uint8_t settings[9] = {0, 0, 0, H2_SETTINGS};
    if (!step(settings, sizeof(settings)))
        return;
    for (unsigned n = 0; n < FRAMES_MAX && reader_left(in) > 0; n++)
        if (!step(out, h2_make_frame(&m, out)))
            return;
}

static void as_they_are(struct reader *in)
{
    for (unsigned n = 0; n < FRAMES_MAX && reader_left(in) >= H2_FRAME_HEADER; n++) {
        size_t size = H2_FRAME_HEADER + load_be24(in->at);
        if (size > reader_left(in) || !step(reader_take(in, size), size))
            return;
    }
}

/* ---- life ---- */

static void our_init(void)
{
    heap_init(&both.heap);
    heap_pool_init(&both.pool, 64, 2048);
    both.settings = (struct h2_settings){.stream_window = WINDOW,
                                         .connection_window = 65535,
                                         .connect_protocol = true,
                                         .glitches = UINT32_MAX,
                                         .rst_burst = 100000,
                                         .reset_burst = 100000,
                                         .settings_burst = 100000,
                                         .continuations = 100,
                                         .memory = 1u << 30};
    require(h2_settings_fill(&both.settings));
    both.env = (struct http_env){.mem = &both.heap.mem, .pool = &both.pool.pool};
    both.peer = (struct http_peer){.env = &both.env};
    require(h2_init(&both.h2, &both.env, &both.counters, 1024, &both.settings, wake));
    if (both.client)
        require(h2_connect(&both.conn, &both.h2, &both.settings, &both.peer, now));
    else
        require(h2_accept(&both.conn, &both.h2, &both.settings, &service, &both.peer, now));
}

static void our_fini(void)
{
    h2_failed(&both.conn, STREAM_RESET, now);
    while (stream_ready_run(&both.h2.ready, 64, 64))
        ;
    h2_conn_fini(&both.conn);
    h2_fini(&both.h2);
    require(both.heap.blocks == 0 && both.pool.held == 0);
}

static nghttp2_session_callbacks *their_callbacks(void)
{
    nghttp2_session_callbacks *c;
    require(nghttp2_session_callbacks_new(&c) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, their_begin);
    nghttp2_session_callbacks_set_on_header_callback(c, their_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(c, their_bad_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, their_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, their_data);
    return c;
}

static void their_init(void)
{
    static const nghttp2_settings_entry server[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 128},
                                                    {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
                                                    {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
                                                    {NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1}};
    static const nghttp2_settings_entry client[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                                    {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW}};
    nghttp2_session_callbacks *c = their_callbacks();
    nghttp2_option *o;
    require(nghttp2_option_new(&o) == 0);
    nghttp2_option_set_max_continuations(o, 100);
    nghttp2_option_set_stream_reset_rate_limit(o, 100000, 100000);
    nghttp2_option_set_builtin_recv_extension_type(o, NGHTTP2_PRIORITY_UPDATE);
    nghttp2_option_set_no_closed_streams(o, 1);
    int e = both.client ? nghttp2_session_client_new2(&both.session, c, NULL, o)
                        : nghttp2_session_server_new2(&both.session, c, NULL, o);
    require(e == 0);
    nghttp2_option_del(o);
    nghttp2_session_callbacks_del(c);
    require(nghttp2_submit_settings(both.session, 0, both.client ? client : server,
                                    both.client ? 2 : 4) == 0);
}

/* A client's requests: GET, HEAD, a POST that goes on, CONNECT. */
static void request(const char *method, bool end)
{
    bool tunnel = strcmp(method, "CONNECT") == 0;
    struct http_text name = {method, (uint32_t)strlen(method)};
    struct http_head h = {.method = http_method_of(name),
                          .authority = HTTP_TEXT("a.example"),
                          .content_length = HTTP_LENGTH_NONE};
    nghttp2_nv nv[4] = {{(uint8_t *)":method", (uint8_t *)method, 7, name.n, 0},
                        {(uint8_t *)":authority", (uint8_t *)"a.example", 10, 9, 0},
                        {(uint8_t *)":scheme", (uint8_t *)"https", 7, 5, 0},
                        {(uint8_t *)":path", (uint8_t *)"/", 5, 1, 0}};
    if (!tunnel) {
        h.scheme = HTTP_TEXT("https");
        h.path = HTTP_TEXT("/");
    }
    require(h2_request(&both.conn, &h, end, &service, NULL, now));
    require(nghttp2_submit_headers(both.session, end ? NGHTTP2_FLAG_END_STREAM : 0, -1, NULL, nv,
                                   tunnel ? 2 : 4, NULL) > 0);
}

static void greet(void)
{
    static const uint8_t nothing[H2_FRAME_HEADER];
    begin_step(nothing, sizeof(nothing));
    if (both.client) {
        request("GET", true);
        request("HEAD", true);
        request("POST", false);
        request("CONNECT", false);
    } else {
        our_input((const uint8_t *)H2_PREFACE, H2_PREFACE_SIZE);
        their_input((const uint8_t *)H2_PREFACE, H2_PREFACE_SIZE);
    }
    our_output();
    their_output();
    require(agree());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader in = reader_of(data, size);
    uint8_t control = reader_u8(&in);
    memset(&both, 0, sizeof(both));
    both.client = control & 1;
    both.answers = control & 4;
    both.view = control & 8 ? 3 : 0;
    our_init();
    their_init();
    greet();
    if (control & 2)
        as_they_are(&in);
    else
        made(&in);
    our_fini();
    nghttp2_session_del(both.session);
    return 0;
}
