/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STREAM_HTTP_H
#define MILLRACE_STREAM_HTTP_H

/*
 * What HTTP adds to a stream (stream/stream.h): a request's or response's head before its content,
 * and trailers behind it (RFC 9110 6). A carrier of HTTP (an HTTP/2 stream, later an HTTP/3 one)
 * embeds struct http_stream; a service of HTTP is a struct http_service. Content goes the way of
 * all streams.
 *
 * At a server: `head` is told in place of `opened`, the service answers with http_respond (any
 * number of 1xx, then one final), writes content, ends. At a client `opened` is not told either,
 * who asked knows; `head` is told for each response that comes, informational ones too.
 *
 * Heads are told at once, while the carrier is consistent and at rest, and not by the ready list;
 * so the texts of a head are valid during the call only, and who needs one later copies it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/slab.h"
#include "base/tick.h"
#include "buf/pkt.h"
#include "stream/stream.h"
#include "wire/addr.h"

/* Bytes without a NUL behind them; p may be NULL where n is 0. */
struct http_text {
    const char *p;
    uint32_t n;
};

#define HTTP_TEXT(literal) ((struct http_text){(literal), sizeof(literal) - 1})

static inline bool http_text_eq(struct http_text a, struct http_text b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* A field (RFC 9110 5); names in lower case. */
struct http_field {
    struct http_text name;
    struct http_text value;
    bool sensitive; /* never to be indexed (RFC 7541 7.1.3) */
};

/* X(enumerator, name): the methods of RFC 9110 9.3 and RFC 5789; any other is OTHER. */
#define HTTP_METHODS(X)   \
    X(GET, "GET")         \
    X(HEAD, "HEAD")       \
    X(POST, "POST")       \
    X(PUT, "PUT")         \
    X(DELETE, "DELETE")   \
    X(CONNECT, "CONNECT") \
    X(OPTIONS, "OPTIONS") \
    X(TRACE, "TRACE")     \
    X(PATCH, "PATCH")

enum http_method {
    HTTP_OTHER,
#define X(id, name) HTTP_##id,
    HTTP_METHODS(X)
#undef X
        HTTP_METHOD_END
};

enum http_method http_method_of(struct http_text name);
/* "" of HTTP_OTHER. */
const char *http_method_name(enum http_method m);

#define HTTP_LENGTH_NONE UINT64_MAX /* no content-length */

/* Of a request: method to protocol. Of a response: status. Validated as RFC 9110 and the carrier's
 * own RFC ask, when it was received; when it is sent, the service's to get right. */
struct http_head {
    enum http_method method;
    uint16_t status; /* 100..599; 0: a request */
    struct http_text
        method_name; /* as it came, also of OTHER; to send: used where method is OTHER */
    struct http_text scheme;
    struct http_text authority; /* of :authority, or of host where that is missing */
    struct http_text path;      /* with the query; "*" of OPTIONS; empty of CONNECT */
    struct http_text protocol;  /* of an extended CONNECT (RFC 8441 4) */
    /* Received: of content-length. To send: content-length is written where it is not NONE. */
    uint64_t content_length;
    const struct http_field *field; /* without those above; crumbs of cookie joined */
    uint32_t n_fields;
    uint64_t same; /* to send: heads with one number are equal in all bytes; 0: nobody knows */
};

/* The first field of that name, in lower case; NULL: none. */
const struct http_field *http_field_find(const struct http_head *h, struct http_text name);

/* ---- what a worker's HTTP services live on ---- */

/* One request that is over, for the access log. Texts are cut at what the log keeps of them. */
struct http_record {
    tick_t began;      /* its head was told */
    tick_t took;       /* until its end */
    uint64_t sent;     /* bytes of content written by the service */
    uint64_t received; /* bytes of content consumed by it */
    uint16_t status;   /* 0: none was sent */
    uint8_t outcome;   /* enum stream_code: STREAM_OK where it ended in order */
    struct http_text method;
    struct http_text authority;
    struct http_text path;
    struct http_text user_agent;
    struct http_text referer;
};

struct http_peer;
struct connect;

/* A worker's, for all HTTP services in it. */
struct http_env {
    struct mem *mem;
    struct pkt_pool *pool;
    uint16_t worker;
    tick_t now;   /* of the present call */
    int64_t wall; /* nanoseconds of the Unix epoch when ticks were 0 (what now is added to); 0: not
                     known, and no date is sent */
    /* The access log: takes a copy of what it wants. NULL: off. */
    void (*log)(void *ctx, const struct http_peer *peer, const struct http_record *r);
    void *ctx;
    struct connect *connect; /* the worker's tunnels (service/connect.h); NULL: it has none */
    /* http_date's own. */
    uint64_t date_second;
    char date[32];
    struct slab *notes; /* the access log's own */
};

/* Nothing is known of the time, and nothing is logged, until that is set. */
void http_env_init(struct http_env *env, struct mem *mem, struct pkt_pool *pool, uint16_t worker);
/* After all streams of the worker are over. */
void http_env_fini(struct http_env *env);

/* The value of a `date` field for env->now (IMF-fixdate, RFC 9110 5.6.7), the same bytes for a
 * second; empty where the time is not known. */
struct http_text http_date(struct http_env *env);
/* The same for any second of the Unix epoch: 29 bytes and a NUL. */
#define HTTP_DATE_SIZE 30u
void http_date_write(char out[HTTP_DATE_SIZE], uint64_t second);
/* Seconds of the Unix epoch of an IMF-fixdate, RFC 850 or asctime date from 1970 on; false: it is
 * none. now, a second too, says in which century a year of two digits lies. */
bool http_date_read(struct http_text value, uint64_t now, uint64_t *second);

/* The other side of a connection, and what is known of the connection. Outlives its streams. */
struct http_peer {
    struct http_env *env;
    const void *context; /* of the listener: what its service is told to serve; see service.h */
    const char *listener;
    struct ip_addr addr;
    uint16_t port;
    const char *protocol; /* "h2" */
    const char *tls;      /* "TLSv1.3"; NULL: cleartext */
    const char *cipher;
    const char *user; /* whom the client's certificate, which was verified, names; NULL: nobody */
    uint64_t connection; /* ctl_id_t */
};

/* ---- streams ---- */

struct http_stream;

/* Why a service ends a stream, as the other side is to hear it. X(enumerator, name) */
#define HTTP_ABORTS(X)                                                                       \
    X(CANCEL, "cancel")               /* it is of no use any more; what stream_abort says */ \
    X(DONE, "done")                   /* it has all that there is */                         \
    X(CONNECT_ERROR, "connect_error") /* the target's connection was reset (RFC 9113 8.5) */ \
    X(INTERNAL, "internal")           /* our own fault */

enum http_abort {
#define X(id, name) HTTP_ABORT_##id,
    HTTP_ABORTS(X)
#undef X
};

/* The carrier's side, besides that of the stream. */
struct http_carrier {
    /* See http_abort. */
    void (*abort)(struct http_stream *s, enum http_abort why);
    /* See http_respond, http_trailers and http_received_trailers. */
    bool (*respond)(struct http_stream *s, const struct http_head *h, bool end);
    bool (*trailers)(struct http_stream *s, const struct http_field *field, uint32_t n);
    const struct http_field *(*received_trailers)(struct http_stream *s, uint32_t *n);
};

struct http_stream {
    struct stream stream;
    const struct http_carrier *http;
    const struct http_peer *peer;
    tick_t began;    /* when its head was told */
    uint64_t sent;   /* content written: the service's to count */
    uint16_t status; /* final one sent; 0: none yet */
    uint8_t method;  /* enum http_method of the request */
    uint8_t state;   /* the service's own */
    uint32_t note;   /* the access log's own; 0: it is not logged */
};

/* The service's side. `stream` comes first, so that a struct stream_service that belongs to HTTP is
 * told from others by its `http` flag. */
struct http_service {
    struct stream_service stream;
    /* A head has come; end: no content follows, data() will not say so again. The service may do
     * anything to its stream here, stream_abort included. */
    void (*head)(struct http_stream *s, const struct http_head *h, bool end);
};

static inline struct http_stream *http_of(struct stream *s)
{
    return container_of(s, struct http_stream, stream);
}

static inline const struct http_service *http_service_of(const struct stream_service *s)
{
    return s->http ? container_of(s, struct http_service, stream) : NULL;
}

/* ---- for services ---- */

/*
 * Sends a response's head: 1xx as often as one likes, then one final, and nothing of content before
 * it. end: no content follows (as after stream_end). The head's fields are the service's to get
 * right; names in lower case. False: no memory, or the head exceeds what the other side takes, and
 * the stream is aborted. Nothing happens, and true, where the stream is over or has failed.
 */
bool http_respond(struct http_stream *s, const struct http_head *h, bool end);
/* Sends trailers behind all that was written, and the end. As above. */
bool http_trailers(struct http_stream *s, const struct http_field *field, uint32_t n);

/* stream_abort, with a reason. */
void http_abort(struct http_stream *s, enum http_abort why);

/* Trailers that came behind the content: from the data() that says the end until the stream is
 * over. NULL: none. */
const struct http_field *http_received_trailers(struct http_stream *s, uint32_t *n);

/*
 * From here on the stream is another service's, which is told `opened` at once, and all that is to
 * come: so a byte service serves the content of a request whose response head was sent.
 */
void http_become(struct http_stream *s, const struct stream_service *service);

/*
 * The access log. A service begins in head(), notes what it consumes of the content, and ends where
 * it has its last callback or has aborted the stream; with a log that is off all three do nothing.
 * What is kept of a request's texts until then is bounded; beyond so many requests at a time, the
 * log does without texts.
 */
#define HTTP_NOTES_MAX 65536u
void http_log_begin(struct http_stream *s, const struct http_head *h);
void http_log_received(struct http_stream *s, uint32_t n);
void http_log_end(struct http_stream *s, enum stream_code outcome);

/* ---- for carriers ---- */

/* Tells a head; see above. The carrier may not be at work on s, which may be over afterwards. */
void http_tell_head(struct http_stream *s, const struct http_head *h, bool end, tick_t now);

#endif
