/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_BYTES_H
#define MILLRACE_BASE_BYTES_H

/*
 * Bytes in network order. The plain loads and stores take a place that the caller has checked. The
 * reader and the writer check every step, and their failure sticks: after the first step past the
 * end every read gives 0 or NULL and every write does nothing, so a parser reads its whole header
 * and asks once whether it was there.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load_be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t load_be24(const uint8_t *p)
{
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t load_be64(const uint8_t *p)
{
    return (uint64_t)load_be32(p) << 32 | load_be32(p + 4);
}

static inline void store_be16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

/* The low 24 bits of v. */
static inline void store_be24(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 16);
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)v;
}

static inline void store_be32(uint8_t *p, uint32_t v)
{
    store_be16(p, (uint16_t)(v >> 16));
    store_be16(p + 2, (uint16_t)v);
}

static inline void store_be64(uint8_t *p, uint64_t v)
{
    store_be32(p, (uint32_t)(v >> 32));
    store_be32(p + 4, (uint32_t)v);
}

struct reader {
    const uint8_t *at; /* next byte */
    const uint8_t *end;
    bool failed; /* something past the end was asked for */
};

/* data may be NULL where len is 0. */
static inline struct reader reader_of(const void *data, size_t len)
{
    static const uint8_t nothing[1];
    const uint8_t *at = len ? data : nothing;
    return (struct reader){.at = at, .end = at + len};
}

/* Everything asked for so far was there. */
static inline bool reader_ok(const struct reader *r)
{
    return !r->failed;
}

/* Bytes not read yet; 0 after a failure. */
static inline size_t reader_left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

/* The next n bytes in place, or NULL where there are fewer; what is left is then skipped. */
static inline const uint8_t *reader_take(struct reader *r, size_t n)
{
    if (r->failed || n > reader_left(r)) {
        r->failed = true;
        r->at = r->end;
        return NULL;
    }
    const uint8_t *p = r->at;
    r->at += n;
    return p;
}

static inline void reader_skip(struct reader *r, size_t n)
{
    (void)reader_take(r, n);
}

static inline uint8_t reader_u8(struct reader *r)
{
    const uint8_t *p = reader_take(r, 1);
    return p ? *p : 0;
}

static inline uint16_t reader_u16(struct reader *r)
{
    const uint8_t *p = reader_take(r, 2);
    return p ? load_be16(p) : 0;
}

static inline uint32_t reader_u24(struct reader *r)
{
    const uint8_t *p = reader_take(r, 3);
    return p ? load_be24(p) : 0;
}

static inline uint32_t reader_u32(struct reader *r)
{
    const uint8_t *p = reader_take(r, 4);
    return p ? load_be32(p) : 0;
}

static inline uint64_t reader_u64(struct reader *r)
{
    const uint8_t *p = reader_take(r, 8);
    return p ? load_be64(p) : 0;
}

/* Copies n bytes to dst, or zeroes dst where there are fewer. */
static inline void reader_copy(struct reader *r, void *dst, size_t n)
{
    const uint8_t *p = reader_take(r, n);
    if (n == 0)
        return; /* dst may be NULL */
    if (p)
        memcpy(dst, p, n);
    else
        memset(dst, 0, n);
}

/* A reader of the next n bytes, which r is past from here on. Failed, like r, where there are
 * fewer. */
static inline struct reader reader_sub(struct reader *r, size_t n)
{
    const uint8_t *p = reader_take(r, n);
    struct reader sub = reader_of(p, p ? n : 0);
    sub.failed = r->failed;
    return sub;
}

struct writer {
    uint8_t *start;
    uint8_t *at; /* next byte */
    uint8_t *end;
    bool failed; /* something did not fit; it and all after it were left out */
};

static inline struct writer writer_of(void *data, size_t room)
{
    assert(data && "a writer has memory to write to");
    uint8_t *at = data;
    return (struct writer){.start = at, .at = at, .end = at + room};
}

/* Everything written so far has fitted. */
static inline bool writer_ok(const struct writer *w)
{
    return !w->failed;
}

/* Bytes written, counting only what has fitted. */
static inline size_t writer_len(const struct writer *w)
{
    return (size_t)(w->at - w->start);
}

/* Bytes that would still fit; 0 after a failure. */
static inline size_t writer_room(const struct writer *w)
{
    return w->failed ? 0 : (size_t)(w->end - w->at);
}

/* A place of n bytes for the caller to fill, now or later (a length, a checksum), or NULL where it
 * does not fit. */
static inline uint8_t *writer_take(struct writer *w, size_t n)
{
    if (w->failed || n > writer_room(w)) {
        w->failed = true;
        return NULL;
    }
    uint8_t *p = w->at;
    w->at += n;
    return p;
}

static inline void writer_u8(struct writer *w, uint8_t v)
{
    uint8_t *p = writer_take(w, 1);
    if (p)
        *p = v;
}

static inline void writer_u16(struct writer *w, uint16_t v)
{
    uint8_t *p = writer_take(w, 2);
    if (p)
        store_be16(p, v);
}

static inline void writer_u24(struct writer *w, uint32_t v)
{
    uint8_t *p = writer_take(w, 3);
    if (p)
        store_be24(p, v);
}

static inline void writer_u32(struct writer *w, uint32_t v)
{
    uint8_t *p = writer_take(w, 4);
    if (p)
        store_be32(p, v);
}

static inline void writer_u64(struct writer *w, uint64_t v)
{
    uint8_t *p = writer_take(w, 8);
    if (p)
        store_be64(p, v);
}

/* src may be NULL where n is 0. */
static inline void writer_copy(struct writer *w, const void *src, size_t n)
{
    uint8_t *p = writer_take(w, n);
    if (p && n > 0)
        memcpy(p, src, n);
}

/* n zero bytes: padding, fields that stay reserved. */
static inline void writer_zero(struct writer *w, size_t n)
{
    uint8_t *p = writer_take(w, n);
    if (p)
        memset(p, 0, n);
}

#endif
