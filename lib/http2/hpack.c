/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/hpack.h"

#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <stdalign.h>
#include <string.h>

#define BOMB        16u /* times the bounds: see HPACK_E_BOMB */
#define CHUNK       32u /* fields given to nghttp2 at a time */
#define DIGITS      20u /* of a content-length */
#define FIELD_EXTRA 32u /* RFC 7541 4.1 */
#define TABLE_FIRST 4096u

/* ---- memory: nghttp2 frees without a size, so that stands in front of each block ---- */

#define ALIGN       alignof(max_align_t)
#define BLOCK_FRONT ((sizeof(size_t) + ALIGN - 1) / ALIGN * ALIGN)

struct hpack_mem {
    struct mem *mem;
    nghttp2_mem calls;
};

static size_t *front_of(void *block)
{
    return (size_t *)(void *)((char *)block - BLOCK_FRONT);
}

static void *block_alloc(size_t size, void *user)
{
    struct hpack_mem *m = user;
    if (size > SIZE_MAX - BLOCK_FRONT)
        return NULL;
    size_t *front = mem_alloc(m->mem, BLOCK_FRONT + size, ALIGN);
    if (!front)
        return NULL;
    *front = size;
    return (char *)front + BLOCK_FRONT;
}

static void block_free(void *block, void *user)
{
    struct hpack_mem *m = user;
    if (block)
        mem_free(m->mem, front_of(block), BLOCK_FRONT + *front_of(block));
}

static void *block_calloc(size_t n, size_t size, void *user)
{
    if (size > 0 && n > SIZE_MAX / size)
        return NULL;
    void *block = block_alloc(n * size, user);
    if (block)
        memset(block, 0, n * size);
    return block;
}

static void *block_realloc(void *block, size_t size, void *user)
{
    size_t old = block ? *front_of(block) : 0;
    void *grown = block_alloc(size, user);
    if (!grown)
        return NULL;
    if (old > 0)
        memcpy(grown, block, old < size ? old : size);
    block_free(block, user);
    return grown;
}

struct hpack_mem *hpack_mem_create(struct mem *mem)
{
    struct hpack_mem *m = mem_alloc(mem, sizeof(*m), alignof(struct hpack_mem));
    if (!m)
        return NULL;
    m->mem = mem;
    m->calls = (nghttp2_mem){m, block_alloc, block_free, block_calloc, block_realloc};
    return m;
}

void hpack_mem_destroy(struct hpack_mem *m)
{
    if (m)
        mem_free(m->mem, m, sizeof(*m));
}

/* ---- fields ---- */

bool h2_fields_init(struct h2_fields *f, struct mem *mem, uint32_t fields, uint32_t size)
{
    assert(fields > 0 && size > 0 && size <= UINT32_MAX / 2);
    *f = (struct h2_fields){.max_fields = fields, .max_text = 2 * size};
    f->field = mem_alloc(mem, fields * sizeof(*f->field), alignof(struct http_field));
    f->text = mem_alloc(mem, f->max_text, 1);
    if (f->field && f->text)
        return true;
    h2_fields_fini(f, mem);
    return false;
}

void h2_fields_fini(struct h2_fields *f, struct mem *mem)
{
    mem_free(mem, f->field, f->max_fields * sizeof(*f->field));
    mem_free(mem, f->text, f->max_text);
    *f = (struct h2_fields){0};
}

static void fields_clear(struct h2_fields *f)
{
    f->n = 0;
    f->text_used = 0;
    f->seen = 0;
    f->size = 0;
    f->too_large = false;
}

static struct http_text fields_text(struct h2_fields *f, const uint8_t *bytes, size_t n)
{
    char *to = f->text + f->text_used;
    memcpy(to, bytes, n);
    f->text_used += (uint32_t)n;
    return (struct http_text){to, (uint32_t)n};
}

static void fields_add(struct h2_fields *f, const nghttp2_nv *nv)
{
    struct http_field *to = &f->field[f->n++];
    to->name = fields_text(f, nv->name, nv->namelen);
    to->value = fields_text(f, nv->value, nv->valuelen);
    to->sensitive = nv->flags & NGHTTP2_NV_FLAG_NO_INDEX;
}

/* ---- decoding ---- */

static int error_of(ssize_t error)
{
    return error == NGHTTP2_ERR_NOMEM ? HPACK_E_MEMORY : HPACK_E_COMPRESSION;
}

bool hpack_decoder_init(struct hpack_decoder *d, struct hpack_mem *m, uint32_t table)
{
    d->inflater = NULL;
    nghttp2_hd_inflater *inflater;
    if (nghttp2_hd_inflate_new2(&inflater, &m->calls) != 0)
        return false;
    d->inflater = inflater;
    /* A smaller one holds from the ACK on: until then the other side knows only the first. */
    return table <= TABLE_FIRST || hpack_decoder_acked(d, table);
}

void hpack_decoder_fini(struct hpack_decoder *d)
{
    if (d->inflater)
        nghttp2_hd_inflate_del(d->inflater);
    d->inflater = NULL;
}

bool hpack_decoder_acked(struct hpack_decoder *d, uint32_t table)
{
    return nghttp2_hd_inflate_change_table_size(d->inflater, table) == 0;
}

/* Keeps it, or notes that it was not kept. False: beyond all measure. */
static bool take_field(struct h2_fields *f, const nghttp2_nv *nv, uint32_t max_fields,
                       uint32_t max_size)
{
    f->seen++;
    f->size += nv->namelen + nv->valuelen + FIELD_EXTRA;
    if (f->seen > max_fields || f->size > max_size)
        f->too_large = true;
    if (!f->too_large)
        fields_add(f, nv);
    return f->seen <= (uint64_t)BOMB * max_fields && f->size <= (uint64_t)BOMB * max_size;
}

int hpack_decode(struct hpack_decoder *d, struct h2_fields *f, const uint8_t *block, size_t len,
                 bool first, bool last, uint32_t max_fields, uint32_t max_size)
{
    assert(max_fields <= f->max_fields && max_size <= f->max_text / 2 && "there is room");
    static const uint8_t nothing[1];
    const uint8_t *at = len > 0 ? block : nothing;
    const uint8_t *end = at + len;
    if (first)
        fields_clear(f);
    for (;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t n = nghttp2_hd_inflate_hd2(d->inflater, &nv, &flags, at, (size_t)(end - at), last);
        if (n < 0)
            return error_of(n);
        at += n;
        if (flags & NGHTTP2_HD_INFLATE_EMIT) {
            if (!take_field(f, &nv, max_fields, max_size))
                return HPACK_E_BOMB;
        } else if (flags & NGHTTP2_HD_INFLATE_FINAL) {
            nghttp2_hd_inflate_end_headers(d->inflater);
            return 0;
        } else if (at == end) {
            return 0;
        }
    }
}

/* ---- encoding ---- */

bool hpack_encoder_init(struct hpack_encoder *e, struct hpack_mem *m, uint32_t table_max)
{
    e->deflater = NULL;
    nghttp2_hd_deflater *deflater;
    if (nghttp2_hd_deflate_new2(&deflater, table_max, &m->calls) != 0)
        return false;
    e->deflater = deflater;
    return true;
}

void hpack_encoder_fini(struct hpack_encoder *e)
{
    if (e->deflater)
        nghttp2_hd_deflate_del(e->deflater);
    e->deflater = NULL;
}

bool hpack_encoder_table(struct hpack_encoder *e, uint32_t size)
{
    return nghttp2_hd_deflate_change_table_size(e->deflater, size) == 0;
}

/* A block being written, through a few fields that wait to be given to nghttp2. */
struct block {
    struct hpack_encoder *encoder;
    uint8_t *at;
    uint8_t *end;
    int error;
    uint32_t n;
    nghttp2_nv nv[CHUNK];
};

/* Not by an initialiser, which would clear nv as well. */
static void block_begin(struct block *b, struct hpack_encoder *e, uint8_t *out, size_t room)
{
    b->encoder = e;
    b->at = out;
    b->end = out + room;
    b->error = 0;
    b->n = 0;
}

static void block_flush(struct block *b)
{
    if (b->n == 0 || b->error)
        return;
    ssize_t n =
        nghttp2_hd_deflate_hd(b->encoder->deflater, b->at, (size_t)(b->end - b->at), b->nv, b->n);
    b->n = 0;
    if (n < 0)
        b->error = error_of(n);
    else
        b->at += n;
}

static void block_put(struct block *b, struct http_text name, struct http_text value,
                      bool sensitive)
{
    if (b->n == CHUNK)
        block_flush(b);
    b->nv[b->n++] = (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)name.p,
        .value = (uint8_t *)(uintptr_t)value.p,
        .namelen = name.n,
        .valuelen = value.n,
        .flags = sensitive ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE,
    };
}

/* One that is missing is empty. */
static void block_put_pseudo(struct block *b, struct http_text name, struct http_text value)
{
    if (value.n > 0)
        block_put(b, name, value, false);
}

static void block_put_fields(struct block *b, const struct http_field *field, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        block_put(b, field[i].name, field[i].value, field[i].sensitive);
}

static int block_end(struct block *b, const uint8_t *out)
{
    block_flush(b);
    return b->error ? b->error : (int)(b->at - out);
}

static struct http_text decimal(char digits[DIGITS], uint64_t v)
{
    uint32_t at = DIGITS;
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    return (struct http_text){digits + at, DIGITS - at};
}

static struct http_text method_of(const struct http_head *h)
{
    if (h->method == HTTP_OTHER)
        return h->method_name;
    const char *name = http_method_name(h->method);
    return (struct http_text){name, (uint32_t)strlen(name)};
}

static uint64_t field_size(struct http_text name, struct http_text value)
{
    return (uint64_t)name.n + value.n + FIELD_EXTRA;
}

static uint64_t fields_size(const struct http_field *field, uint32_t n)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < n; i++)
        size += field_size(field[i].name, field[i].value);
    return size;
}

static uint64_t pseudo_size(struct http_text name, struct http_text value)
{
    return value.n > 0 ? field_size(name, value) : 0;
}

uint64_t hpack_list_size(const struct http_head *h)
{
    char digits[DIGITS];
    uint64_t size = fields_size(h->field, h->n_fields);
    if (h->content_length != HTTP_LENGTH_NONE)
        size += field_size(HTTP_TEXT("content-length"), decimal(digits, h->content_length));
    if (h->status)
        return size + field_size(HTTP_TEXT(":status"), HTTP_TEXT("200"));
    size += pseudo_size(HTTP_TEXT(":method"), method_of(h));
    size += pseudo_size(HTTP_TEXT(":protocol"), h->protocol);
    size += pseudo_size(HTTP_TEXT(":scheme"), h->scheme);
    size += pseudo_size(HTTP_TEXT(":authority"), h->authority);
    return size + pseudo_size(HTTP_TEXT(":path"), h->path);
}

int hpack_encode_head(struct hpack_encoder *e, const struct http_head *h, uint8_t *out, size_t room)
{
    if (room < hpack_list_size(h) + HPACK_SLACK)
        return HPACK_E_ROOM;
    struct block b;
    block_begin(&b, e, out, room);
    char status[DIGITS];
    char length[DIGITS];
    if (h->status) {
        block_put(&b, HTTP_TEXT(":status"), decimal(status, h->status), false);
    } else {
        block_put_pseudo(&b, HTTP_TEXT(":method"), method_of(h));
        block_put_pseudo(&b, HTTP_TEXT(":protocol"), h->protocol);
        block_put_pseudo(&b, HTTP_TEXT(":scheme"), h->scheme);
        block_put_pseudo(&b, HTTP_TEXT(":path"), h->path);
        block_put_pseudo(&b, HTTP_TEXT(":authority"), h->authority);
    }
    if (h->content_length != HTTP_LENGTH_NONE)
        block_put(&b, HTTP_TEXT("content-length"), decimal(length, h->content_length), false);
    block_put_fields(&b, h->field, h->n_fields);
    return block_end(&b, out);
}

int hpack_encode_trailers(struct hpack_encoder *e, const struct http_field *field, uint32_t n,
                          uint8_t *out, size_t room)
{
    if (room < fields_size(field, n) + HPACK_SLACK)
        return HPACK_E_ROOM;
    struct block b;
    block_begin(&b, e, out, room);
    block_put_fields(&b, field, n);
    return block_end(&b, out);
}
