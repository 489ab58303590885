/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SERVICE_ORIGIN_ITEM_H
#define MILLRACE_SERVICE_ORIGIN_ITEM_H

/* What an origin has under a path, between its table (origin.c) and its answers (origin_answer.c).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "buf/vec.h"
#include "service/origin.h"
#include "stream/http.h"

/* Fields of an item besides those of its entry: date, etag, last-modified, accept-ranges,
 * content-type; and of an answer: content-range. */
#define ORIGIN_FIELDS_MAX (ORIGIN_ENTRY_FIELDS_MAX + 5u)

#define ORIGIN_ETAG_SIZE 18u /* 16 digits in quotes; a strong one (RFC 9110 8.8.3) */

struct origin_item {
    struct origin_item *next; /* the one added before */
    struct http_text path;    /* decoded */
    struct http_text body;
    const struct http_field *field; /* date first, its value to be filled in; content-type last */
    uint32_t n_fields;
    uint16_t status;
    bool plain;        /* its path is asked for as it is: nothing in it needs percent-encoding */
    bool selected;     /* a 200 of its own: conditions and ranges apply */
    bool empty;        /* a status without content, and without content-length and content-type */
    bool slash;        /* 308 to the path with a slash behind it; nothing else is valid but path */
    uint64_t modified; /* 0: not known */
    uint64_t same;     /* of its head but for the date, see struct http_head */
    struct http_text etag; /* of what is selected */
    size_t size;           /* of the block that begins with it */
};

/* A worker's users of an origin. Its ops are what promises of the origin's bytes are made of, so
 * that a promise knows whose count it is part of; `of.bytes` is its first byte. */
struct origin_cell {
    _Alignas(64) struct vec_ops ops;
    _Atomic uint64_t users; /* written by the worker, read by any */
};

struct origin_slot {
    uint32_t hash;
    uint32_t len; /* of the path, to see early that it is another */
    struct origin_item *item;
};

struct origin {
    struct mem *mem;
    struct origin_options options;
    struct origin_item *last;
    struct origin_slot *slot; /* open addressing, at most half full */
    uint32_t mask;            /* slots - 1 */
    uint32_t n_items;         /* in the table, with those that seal made */
    uint32_t n_entries;
    uint32_t longest; /* path */
    uint64_t n_bytes;
    struct origin_cell *cell; /* by worker */
    bool sealed;
    struct http_text name;
    size_t size; /* of the block that begins with it */
};

/* NULL: nothing is there. */
const struct origin_item *origin_find(const struct origin *o, struct http_text path);

/* A promise of that part of an item's body (> 0 bytes), counted as one user of the origin until it
 * is discarded. */
struct vec origin_promise(const struct origin *o, uint16_t worker, const struct origin_item *item,
                          uint32_t from, uint32_t len);

#endif
