/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SERVICE_ORIGIN_H
#define MILLRACE_SERVICE_ORIGIN_H

/*
 * An origin server's content (RFC 9110 3.6): what the service `origin` serves. Made on the control
 * core, from files that the application has read and from its configuration; sealed, and never
 * changed from then on; shared by all workers. A reload makes another.
 *
 * Ends: workers count their users of it, each its own (whoever's listener or http_peer names it, a
 * response that still has its bytes to send); the control core frees it when nobody names it any
 * more and all counts are 0.
 *
 * Besides its content an origin answers, where they are switched on:
 *   /bytes/N   N bytes of a repeating pattern (SERVICE_SOURCE_PERIOD), N up to 2^40
 *   /echo      the content of a POST or PUT, sent back as it comes
 * Methods: GET and HEAD of content, with If-Match, If-None-Match, If-Modified-Since,
 * If-Unmodified-Since, Range and If-Range (RFC 9110 13, 14), OPTIONS; any other that the RFC names
 * is 405 with `allow`, but CONNECT, which like one it does not name is 501. A path is looked up as
 * it is, percent-encoding undone (RFC 3986 2.1), dot segments and encoded slashes refused with 400;
 * the query is not looked at; a directory's path without its slash is 308 to the one with it, and
 * with it index.html, where there is one and no entry has those paths.
 *
 * Ranges: one is answered with 206. Where several are asked for, one of which can be satisfied, so
 * is that; where more can, all is sent, as RFC 9110 14.2 allows. Content of a request that is
 * answered without it is thrown away as it comes. An upload to /echo that was announced as too
 * large is 413; one that turns out to be has its stream reset.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "stream/http.h"

#define ORIGIN_WORKERS_MAX 64u

struct origin;

enum origin_error {
    ORIGIN_E_MEMORY = -1,
    ORIGIN_E_LIMIT = -2,  /* of entries or of bytes */
    ORIGIN_E_EXISTS = -3, /* that path is there already */
    ORIGIN_E_PATH = -4,   /* not absolute, or longer than 8 KiB; with empty or dot segments, a
                             backslash or control characters */
    ORIGIN_E_STATUS = -5, /* not 200..599, or one that has no content (204, 205, 304) with a body */
};

#define ORIGIN_ENTRY_FIELDS_MAX 16u

struct origin_options {
    bool bytes;           /* /bytes/N */
    bool echo;            /* /echo */
    uint32_t max_entries; /* 0: 65,536 */
    uint64_t max_bytes;   /* of all content; 0: 1 GiB */
    uint64_t max_upload;  /* of a request's content to /echo; beyond it 413; 0: no bound */
};

/* A fixed answer, or a file. Everything is copied. */
struct origin_entry {
    struct http_text path; /* decoded: "/a b/c.html"; for index.html also its directory's */
    uint16_t status;       /* 0: 200 */
    struct http_text type; /* content-type; empty: by the path's ending (origin_type) */
    struct http_text body;
    uint64_t modified;              /* Unix seconds for last-modified; 0: none is sent */
    const struct http_field *field; /* more fields, names in lower case */
    uint32_t n_fields;              /* 0..ORIGIN_ENTRY_FIELDS_MAX, else ORIGIN_E_LIMIT */
};

/* NULL: no memory. */
struct origin *origin_create(struct mem *mem, const char *name, const struct origin_options *o);
int origin_add(struct origin *o, const struct origin_entry *e);
/* Directories are made of their index.html; no origin_add after that. False: no memory. */
bool origin_seal(struct origin *o);
/* Nobody uses it. o may be NULL. */
void origin_destroy(struct origin *o);

const char *origin_name(const struct origin *o);
uint32_t origin_n_entries(const struct origin *o);
uint64_t origin_n_bytes(const struct origin *o);
/* Users in all workers; any thread. When it is 0 after no listener names the origin, it stays 0. */
uint64_t origin_users(const struct origin *o);

/* A worker's listener, or http_peer, begins or ceases to name it. */
void origin_hold(const struct origin *o, uint16_t worker);
void origin_release(const struct origin *o, uint16_t worker);

/* The content-type of a path's ending; "application/octet-stream" of one not known. */
struct http_text origin_type(struct http_text path);

/* The service; http_peer.context is a struct origin. */
extern const struct http_service service_origin;

#endif
