/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_HTTP2_HPACK_H
#define MILLRACE_HTTP2_HPACK_H

/*
 * Header compression (RFC 7541), by nghttp2's nghttp2_hd_*, with our memory and our bounds. A
 * connection has a decoder and an encoder; what a block is decoded into is a worker's scratch.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "stream/http.h"

/* nghttp2's allocator over a struct mem; one a worker, outlives what was made with it. */
struct hpack_mem;
struct hpack_mem *hpack_mem_create(struct mem *mem); /* NULL: no memory */
void hpack_mem_destroy(struct hpack_mem *m);

/* Fields of one block, in order, with room for so many and for so much text. */
struct h2_fields {
    struct http_field *field;
    char *text; /* of those that are not of the static table */
    uint32_t max_fields;
    uint32_t max_text; /* with room left for joining (head.h): twice what the list may have */
    uint32_t n;        /* kept */
    uint32_t text_used;
    uint32_t seen;  /* fields of the block, kept or not; each crumb of cookie is one */
    uint64_t size;  /* of the list, as RFC 9113 6.5.2 counts: 32 and its bytes for each */
    bool too_large; /* more than the bounds: what was beyond was decoded and not kept */
};

/* Room for `fields` fields and a list of `size` bytes. False: no memory. */
bool h2_fields_init(struct h2_fields *f, struct mem *mem, uint32_t fields, uint32_t size);
void h2_fields_fini(struct h2_fields *f, struct mem *mem);

/*
 * What is at rest has given back most of its memory. A decoder at rest keeps its table as the block
 * that would make it; an encoder forgets its own, and says so in its next block (RFC 7541 4.2). The
 * next block ends the rest.
 */

struct hpack_decoder {
    struct hpack_mem *mem;
    union {
        void *inflater;
        uint8_t *kept; /* at rest: the block */
    };
    uint32_t n_kept; /* 0: not at rest */
    uint32_t table;  /* the size agreed last */
    bool resized;    /* since the last block */
    bool between;    /* two fields, with nothing begun by nghttp2 */
    bool used;       /* nghttp2 was, in this block */
};

enum hpack_error {
    HPACK_E_COMPRESSION = -1, /* RFC 9113 4.3: COMPRESSION_ERROR */
    HPACK_E_MEMORY = -2,
    HPACK_E_BOMB = -3, /* beyond all measure (fields or size over 16 times the bounds) */
    HPACK_E_ROOM = -4, /* of an encoder: the block may not fit; nothing was encoded */
};

/* Room of hpack_list_size and so much more is enough for a block. */
#define HPACK_SLACK 16u

/* table: the size that we announce (SETTINGS_HEADER_TABLE_SIZE). One that is smaller than the first
 * value of RFC 9113 6.5.2 holds only from hpack_decoder_acked on. False: no memory, and to be
 * finished all the same. */
bool hpack_decoder_init(struct hpack_decoder *d, struct hpack_mem *m, uint32_t table);
/* The other side has acknowledged that size: where it is smaller than before, its next block begins
 * by saying so (RFC 7541 4.2), or is in error. Not within a block. False: no memory. */
bool hpack_decoder_acked(struct hpack_decoder *d, uint32_t table);
void hpack_decoder_fini(struct hpack_decoder *d);
/* Not within a block. Nothing happens where memory is short. */
void hpack_decoder_rest(struct hpack_decoder *d);
/*
 * The next piece of a block. first: f is emptied before. last: the block ends with it. max_fields
 * and max_size bound what is kept. 0 or an error, after which the decoder is of no use (but
 * HPACK_E_ROOM does not occur). A string of over 64 KiB is an error of compression, by nghttp2.
 */
int hpack_decode(struct hpack_decoder *d, struct h2_fields *f, const uint8_t *block, size_t len,
                 bool first, bool last, uint32_t max_fields, uint32_t max_size);

struct hpack_encoder {
    struct hpack_mem *mem;
    void *deflater; /* NULL: at rest, as at first */
    uint32_t most;  /* what we are willing to keep */
    uint32_t size;  /* what the other side allows */
    uint32_t least; /* at rest: the least since the last block, 0 where a table was forgotten */
    bool resized;   /* since the last block */
};

/* table_max: what we are willing to keep (SETTINGS_HEADER_TABLE_SIZE of the peer may ask for less).
 * Memory is asked for by the first block. */
void hpack_encoder_init(struct hpack_encoder *e, struct hpack_mem *m, uint32_t table_max);
void hpack_encoder_fini(struct hpack_encoder *e);
void hpack_encoder_rest(struct hpack_encoder *e);
/* The peer's SETTINGS_HEADER_TABLE_SIZE. False: no memory. */
bool hpack_encoder_table(struct hpack_encoder *e, uint32_t size);
/*
 * A whole block: h's pseudo-header fields (a response's where h->status is set, else a request's),
 * content-length, h's fields; or trailers. Size, or an error: nothing changed at HPACK_E_ROOM, the
 * encoder is of no use after another. Fields of different names may change places.
 *
 * Fields that are sensitive are never indexed. Neither are, by nghttp2's own choice, authorization
 * and short cookies; as literals without indexing, which leaves it to others, go content-length,
 * content-range, etag and last-modified, by nghttp2's choice also :path, age, if-modified-since,
 * if-none-match, location and set-cookie, and what would fill most of the table. A date is indexed:
 * it is the same for all responses of a second.
 */
int hpack_encode_head(struct hpack_encoder *e, const struct http_head *h, uint8_t *out,
                      size_t room);
int hpack_encode_trailers(struct hpack_encoder *e, const struct http_field *field, uint32_t n,
                          uint8_t *out, size_t room);
/* Does this whole block, well-formed, leave the dynamic table as it is (RFC 7541 6)? */
bool hpack_keeps_table(const uint8_t *block, size_t len);
/* Bytes of h as RFC 9113 6.5.2 counts a list. */
uint64_t hpack_list_size(const struct http_head *h);

#endif
