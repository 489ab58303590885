/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks, cut into pieces, are decoded by us and by nghttp2 alone, which have to agree on each
 * field and on which block is in error; some of the blocks change the size of the table on both
 * sides. A list that makes a head is encoded, decoded and made a head again, which has to be the
 * same.
 *
 *   input: { control, length, block }...
 *   control: bits 0-3 size of pieces, 4-5 what kind of head, 6 RFC 8441, 7 the table changes
 */
#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "http2/head.h"
#include "http2/hpack.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define FIELDS 100u
#define SIZE   16384u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *plain_alloc(struct mem *m, size_t size, size_t align)
{
    (void)m;
    (void)align; /* none here needs more than calloc gives */
    return calloc(1, size);
}

static void plain_free(struct mem *m, void *block, size_t size)
{
    (void)m;
    (void)size;
    free(block);
}

static struct mem mem = {.alloc = plain_alloc, .free = plain_free};

struct side {
    struct hpack_decoder decoder;
    struct hpack_encoder encoder;
    struct h2_fields fields;
    struct h2_fields again;
    struct hpack_decoder back;
    nghttp2_hd_inflater *other;
};

/* The same block by nghttp2 alone; whether it is one. */
static bool other_agrees(struct side *s, const uint8_t *block, size_t len)
{
    static const uint8_t nothing[1];
    const uint8_t *at = len > 0 ? block : nothing;
    const uint8_t *end = at + len;
    const struct http_field *field = s->fields.field;
    for (uint32_t n = 0;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t used = nghttp2_hd_inflate_hd2(s->other, &nv, &flags, at, (size_t)(end - at), 1);
        if (used < 0)
            return false;
        at += used;
        if (flags & NGHTTP2_HD_INFLATE_FINAL) {
            require(n == s->fields.seen);
            nghttp2_hd_inflate_end_headers(s->other);
            return true;
        }
        if (n++ >= s->fields.n)
            continue;
        require(field->name.n == nv.namelen && memcmp(field->name.p, nv.name, nv.namelen) == 0);
        require(field->value.n == nv.valuelen &&
                memcmp(field->value.p, nv.value, nv.valuelen) == 0);
        require(field->sensitive == (nv.flags & NGHTTP2_NV_FLAG_NO_INDEX));
        field++;
    }
}

/* In pieces that are gone when the next one comes. */
static int decode(struct side *s, const uint8_t *block, size_t len, size_t piece)
{
    size_t at = 0;
    for (;;) {
        size_t n = piece > 0 && len - at > piece ? piece : len - at;
        uint8_t *copy = malloc(n + 1);
        require(copy);
        memcpy(copy, block + at, n);
        int error =
            hpack_decode(&s->decoder, &s->fields, copy, n, at == 0, at + n == len, FIELDS, SIZE);
        free(copy);
        at += n;
        if (error || at == len)
            return error;
    }
}

static void same_text(struct http_text a, struct http_text b)
{
    require(http_text_eq(a, b));
}

static void same_head(const struct http_head *a, const struct http_head *b)
{
    require(a->method == b->method && a->status == b->status);
    require(a->content_length == b->content_length && a->n_fields == b->n_fields);
    same_text(a->method_name, b->method_name);
    same_text(a->scheme, b->scheme);
    same_text(a->authority, b->authority);
    same_text(a->path, b->path);
    same_text(a->protocol, b->protocol);
}

/* Of its fields, those that the encoder writes at once have changed places. */
static void same_fields(const struct http_head *a, const struct http_head *b)
{
    for (uint32_t i = 0; i < a->n_fields; i++) {
        const struct http_field *x = &a->field[i];
        uint32_t j = 0;
        while (j < b->n_fields && !(http_text_eq(b->field[j].name, x->name) &&
                                    http_text_eq(b->field[j].value, x->value)))
            j++;
        require(j < b->n_fields && b->field[j].sensitive >= x->sensitive);
    }
}

static void there_and_back(struct side *s, enum h2_block kind, bool extended)
{
    struct http_head head, again;
    if (h2_head_parse(&s->fields, kind, extended, &head) != H2_HEAD_OK)
        return;
    static uint8_t out[4 * SIZE];
    size_t room = hpack_list_size(&head) + HPACK_SLACK;
    require(room <= sizeof(out));
    int n = kind == H2_BLOCK_TRAILERS
                ? hpack_encode_trailers(&s->encoder, head.field, head.n_fields, out, room)
                : hpack_encode_head(&s->encoder, &head, out, room);
    require(n >= 0);
    require(hpack_decode(&s->back, &s->again, out, (size_t)n, true, true, FIELDS, 2 * SIZE) == 0);
    require(!s->again.too_large);
    require(h2_head_parse(&s->again, kind, extended, &again) == H2_HEAD_OK);
    same_head(&head, &again);
    same_fields(&head, &again);
}

static bool block(struct side *s, struct reader *r)
{
    uint8_t control = reader_u8(r);
    size_t len = reader_u8(r);
    if (len > reader_left(r))
        len = reader_left(r);
    if (control & 0x80) {
        uint32_t table = control & 1 ? 4096 : 64;
        require(hpack_decoder_acked(&s->decoder, table));
        require(nghttp2_hd_inflate_change_table_size(s->other, table) == 0);
        require(hpack_encoder_table(&s->encoder, table));
    }
    if (control & 8) {
        hpack_decoder_rest(&s->decoder);
        hpack_encoder_rest(&s->encoder);
        hpack_decoder_rest(&s->back);
    }
    const uint8_t *bytes = reader_take(r, len);
    int error = decode(s, bytes, len, control & 15);
    if (error == HPACK_E_BOMB)
        return false;
    require(error == 0 || error == HPACK_E_COMPRESSION);
    require(other_agrees(s, bytes, len) == (error == 0));
    if (error)
        return false;
    there_and_back(s, (enum h2_block)((control >> 4 & 3) % 3), control & 0x40);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct side s;
    struct hpack_mem *m = hpack_mem_create(&mem);
    require(m && hpack_decoder_init(&s.decoder, m, 4096));
    require(hpack_decoder_init(&s.back, m, 4096));
    hpack_encoder_init(&s.encoder, m, 4096);
    require(h2_fields_init(&s.fields, &mem, FIELDS, SIZE));
    require(h2_fields_init(&s.again, &mem, FIELDS, 2 * SIZE));
    require(nghttp2_hd_inflate_new(&s.other) == 0);
    struct reader r = reader_of(data, size);
    while (reader_left(&r) >= 2 && block(&s, &r))
        ;
    nghttp2_hd_inflate_del(s.other);
    h2_fields_fini(&s.again, &mem);
    h2_fields_fini(&s.fields, &mem);
    hpack_encoder_fini(&s.encoder);
    hpack_decoder_fini(&s.back);
    hpack_decoder_fini(&s.decoder);
    hpack_mem_destroy(m);
    return 0;
}
