/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/hpack.h"

#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <stdalign.h>
#include <string.h>

#define BOMB         16u /* times the bounds: see HPACK_E_BOMB */
#define CHUNK        32u /* fields given to nghttp2 at a time */
#define DIGITS       20u /* of a content-length */
#define FIELD_EXTRA  32u /* RFC 7541 4.1 */
#define TABLE_FIRST  4096u
#define INTEGER_MOST 6u  /* bytes of one of 32 bits (RFC 7541 5.1) */
#define STATIC_LAST  61u /* RFC 7541 A; nghttp2's text of it outlives all */

/*
 * ---- memory ----
 *
 * nghttp2 frees without a size, so that stands in front of each block. It takes and frees a small
 * one for each literal that it decodes; those are kept for the next, so that at a packet's rate
 * nothing is asked of struct mem, and nothing cleared.
 */

#define ALIGN       alignof(uint64_t) /* nothing of nghttp2's needs more */
#define BLOCK_FRONT sizeof(uint64_t)
#define SMALL_STEP  32u
#define SMALL_SIZES 16u /* up to 512 bytes */
#define SMALL_KEPT  32u

struct front {
    uint64_t size;      /* all of the block */
    struct front *next; /* that is free: where the block's bytes are otherwise */
};
_Static_assert(offsetof(struct front, next) == BLOCK_FRONT && sizeof(struct front) <= SMALL_STEP,
               "only the size stands in front of bytes in use");

struct hpack_mem {
    struct mem *mem;
    nghttp2_mem calls;
    struct front *free[SMALL_SIZES]; /* by size, from SMALL_STEP on */
    uint32_t n_free[SMALL_SIZES];
};

static struct front *front_of(void *block)
{
    return (struct front *)(void *)((char *)block - BLOCK_FRONT);
}

/* SMALL_SIZES or more: not a small one. */
static size_t small_of(size_t size)
{
    return (size - 1) / SMALL_STEP;
}

static struct front *front_alloc(struct hpack_mem *m, size_t size)
{
    size_t small = small_of(size);
    if (small < SMALL_SIZES) {
        struct front *kept = m->free[small];
        if (kept) {
            m->free[small] = kept->next;
            m->n_free[small]--;
            return kept;
        }
        size = (small + 1) * SMALL_STEP;
    }
    struct front *f = mem_alloc(m->mem, size, ALIGN);
    if (f)
        f->size = size;
    return f;
}

static void *block_alloc(size_t size, void *user)
{
    if (size > SIZE_MAX - BLOCK_FRONT)
        return NULL;
    struct front *f = front_alloc(user, BLOCK_FRONT + size);
    return f ? (char *)f + BLOCK_FRONT : NULL;
}

static void block_free(void *block, void *user)
{
    if (!block)
        return;
    struct hpack_mem *m = user;
    struct front *f = front_of(block);
    size_t small = small_of(f->size);
    if (small < SMALL_SIZES && m->n_free[small] < SMALL_KEPT) {
        f->next = m->free[small];
        m->free[small] = f;
        m->n_free[small]++;
        return;
    }
    mem_free(m->mem, f, f->size);
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
    size_t old = block ? front_of(block)->size - BLOCK_FRONT : 0;
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
    if (!m)
        return;
    for (unsigned i = 0; i < SMALL_SIZES; i++)
        while (m->free[i]) {
            struct front *f = m->free[i];
            m->free[i] = f->next;
            mem_free(m->mem, f, f->size);
        }
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

static struct http_text fields_copy(struct h2_fields *f, const uint8_t *bytes, size_t n)
{
    char *to = f->text + f->text_used;
    memcpy(to, bytes, n);
    f->text_used += (uint32_t)n;
    return (struct http_text){to, (uint32_t)n};
}

static struct http_text text_of(const uint8_t *bytes, size_t n)
{
    return (struct http_text){(const char *)bytes, (uint32_t)n};
}

/* lasting: its text may be pointed into. */
static void fields_add(struct h2_fields *f, const nghttp2_nv *nv, bool lasting)
{
    struct http_field *to = &f->field[f->n++];
    if (lasting) {
        to->name = text_of(nv->name, nv->namelen);
        to->value = text_of(nv->value, nv->valuelen);
    } else {
        to->name = fields_copy(f, nv->name, nv->namelen);
        to->value = fields_copy(f, nv->value, nv->valuelen);
    }
    to->sensitive = nv->flags & NGHTTP2_NV_FLAG_NO_INDEX;
}

/* RFC 7541 5.1, below other bits of the first byte; at most INTEGER_MOST bytes. */
static uint8_t *put_integer(uint8_t *at, uint8_t first, uint8_t prefix, uint32_t value)
{
    if (value < prefix) {
        *at++ = (uint8_t)(first | value);
        return at;
    }
    *at++ = first | prefix;
    for (value -= prefix; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(0x80 | value);
    *at++ = (uint8_t)value;
    return at;
}

/* RFC 7541 5.2, not in Huffman's code, which takes longer than it saves. */
static uint8_t *put_string(uint8_t *at, const void *bytes, size_t n)
{
    at = put_integer(at, 0x00, 0x7f, (uint32_t)n);
    if (n > 0)
        memcpy(at, bytes, n);
    return at + n;
}

/* ---- decoding ---- */

static int error_of(ssize_t error)
{
    return error == NGHTTP2_ERR_NOMEM ? HPACK_E_MEMORY : HPACK_E_COMPRESSION;
}

/* With an empty table. NULL: no memory. */
static nghttp2_hd_inflater *make_inflater(const struct hpack_decoder *d)
{
    nghttp2_hd_inflater *inflater;
    if (nghttp2_hd_inflate_new2(&inflater, &d->mem->calls) != 0)
        return NULL;
    if (d->table == TABLE_FIRST || nghttp2_hd_inflate_change_table_size(inflater, d->table) == 0)
        return inflater;
    nghttp2_hd_inflate_del(inflater);
    return NULL;
}

bool hpack_decoder_init(struct hpack_decoder *d, struct hpack_mem *m, uint32_t table)
{
    *d = (struct hpack_decoder){.mem = m, .table = TABLE_FIRST};
    d->inflater = make_inflater(d);
    /* A smaller one holds from the ACK on: until then the other side knows only the first. */
    return d->inflater && (table <= TABLE_FIRST || hpack_decoder_acked(d, table));
}

void hpack_decoder_fini(struct hpack_decoder *d)
{
    if (d->n_kept > 0)
        block_free(d->kept, d->mem);
    else if (d->inflater)
        nghttp2_hd_inflate_del(d->inflater);
    d->inflater = NULL;
    d->n_kept = 0;
}

/* The size of the table, and each entry, the oldest first, as a literal to be indexed. */
static uint32_t table_room(nghttp2_hd_inflater *inflater)
{
    size_t n = INTEGER_MOST;
    for (size_t i = nghttp2_hd_inflate_get_num_table_entries(inflater); i > STATIC_LAST; i--) {
        const nghttp2_nv *nv = nghttp2_hd_inflate_get_table_entry(inflater, i);
        n += 1 + 2 * INTEGER_MOST + nv->namelen + nv->valuelen;
    }
    return (uint32_t)n;
}

static uint8_t *table_write(nghttp2_hd_inflater *inflater, uint8_t *at)
{
    size_t size = nghttp2_hd_inflate_get_max_dynamic_table_size(inflater);
    at = put_integer(at, 0x20, 0x1f, (uint32_t)size); /* RFC 7541 6.3 */
    for (size_t i = nghttp2_hd_inflate_get_num_table_entries(inflater); i > STATIC_LAST; i--) {
        const nghttp2_nv *nv = nghttp2_hd_inflate_get_table_entry(inflater, i);
        *at++ = 0x40; /* RFC 7541 6.2.1, with its name */
        at = put_string(at, nv->name, nv->namelen);
        at = put_string(at, nv->value, nv->valuelen);
    }
    return at;
}

void hpack_decoder_rest(struct hpack_decoder *d)
{
    if (d->n_kept > 0 || d->resized) /* what the next block has to begin with, nghttp2 knows */
        return;
    uint32_t room = table_room(d->inflater);
    uint8_t *kept = block_alloc(room, d->mem);
    if (!kept)
        return;
    d->n_kept = (uint32_t)(table_write(d->inflater, kept) - kept);
    assert(d->n_kept > 0 && d->n_kept <= room);
    nghttp2_hd_inflate_del(d->inflater);
    d->kept = kept;
}

/* Decodes what was kept. */
static bool read_kept(nghttp2_hd_inflater *inflater, const uint8_t *at, uint32_t n)
{
    const uint8_t *end = at + n;
    nghttp2_nv nv;
    int flags;
    do {
        flags = 0;
        ssize_t used = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, at, (size_t)(end - at), true);
        if (used < 0)
            return false;
        at += used;
    } while (!(flags & NGHTTP2_HD_INFLATE_FINAL));
    return nghttp2_hd_inflate_end_headers(inflater) == 0;
}

/* No rest any more. False: no memory, and it rests on. */
static bool decoder_wake(struct hpack_decoder *d)
{
    if (d->n_kept == 0)
        return true;
    nghttp2_hd_inflater *inflater = make_inflater(d);
    if (!inflater)
        return false;
    if (!read_kept(inflater, d->kept, d->n_kept)) {
        nghttp2_hd_inflate_del(inflater);
        return false;
    }
    block_free(d->kept, d->mem);
    d->inflater = inflater;
    d->n_kept = 0;
    return true;
}

bool hpack_decoder_acked(struct hpack_decoder *d, uint32_t table)
{
    if (!decoder_wake(d))
        return false;
    d->resized = true;
    d->table = table;
    return nghttp2_hd_inflate_change_table_size(d->inflater, table) == 0;
}

/* A block being decoded. */
struct piece {
    struct hpack_decoder *d;
    struct h2_fields *f;
    const uint8_t *at;
    const uint8_t *end;
    uint32_t max_fields;
    uint32_t max_size;
    bool last;
    bool done;
};

/* Keeps it, or notes that it was not kept. */
static int take_field(struct piece *p, const nghttp2_nv *nv, bool lasting)
{
    struct h2_fields *f = p->f;
    f->seen++;
    f->size += nv->namelen + nv->valuelen + FIELD_EXTRA;
    if (f->seen > p->max_fields || f->size > p->max_size)
        f->too_large = true;
    if (!f->too_large)
        fields_add(f, nv, lasting);
    return f->seen > (uint64_t)BOMB * p->max_fields || f->size > (uint64_t)BOMB * p->max_size
               ? HPACK_E_BOMB
               : 0;
}

/* Is the next byte all of an indexed field (RFC 7541 6.1)? */
static bool at_indexed(const struct piece *p)
{
    return p->d->between && p->at<p->end && * p->at> 0x80 && *p->at < 0xff;
}

/* By looking it up, which is what nghttp2 does with it, but within its state machine. */
static int take_indexed(struct piece *p)
{
    uint8_t index = *p->at++ & 0x7f;
    const nghttp2_nv *nv = nghttp2_hd_inflate_get_table_entry(p->d->inflater, index);
    return nv ? take_field(p, nv, index <= STATIC_LAST) : HPACK_E_COMPRESSION;
}

/* Any other field, or what there is of it. */
static int take_other(struct piece *p)
{
    struct hpack_decoder *d = p->d;
    /* RFC 7541 4.2: a table's size before all fields; of those that it did not see nghttp2 does not
     * know. */
    if (d->between && p->at < p->end && (*p->at & 0xe0) == 0x20 && p->f->seen > 0)
        return HPACK_E_COMPRESSION;
    nghttp2_nv nv;
    int flags = 0;
    ssize_t n =
        nghttp2_hd_inflate_hd2(d->inflater, &nv, &flags, p->at, (size_t)(p->end - p->at), p->last);
    if (n < 0)
        return error_of(n);
    p->at += n;
    d->used = true;
    d->between = flags & NGHTTP2_HD_INFLATE_EMIT;
    if (d->between)
        return take_field(p, &nv, false);
    assert(p->at == p->end && "it stops at a field or at the end");
    p->done = true;
    return 0;
}

/* Is there nothing left in it, and nothing to be told to nghttp2? */
static bool is_taken(const struct piece *p)
{
    return p->at == p->end && p->d->between && !(p->last && p->d->used);
}

int hpack_decode(struct hpack_decoder *d, struct h2_fields *f, const uint8_t *block, size_t len,
                 bool first, bool last, uint32_t max_fields, uint32_t max_size)
{
    assert(max_fields <= f->max_fields && max_size <= f->max_text / 2 && "there is room");
    if (!decoder_wake(d))
        return HPACK_E_MEMORY;
    static const uint8_t nothing[1];
    const uint8_t *at = len > 0 ? block : nothing;
    struct piece p = {d, f, at, at + len, max_fields, max_size, last, false};
    if (first) {
        fields_clear(f);
        d->between = !d->resized; /* nghttp2 waits for what has to be said first */
        d->resized = false;
        d->used = false;
    }
    int error = 0;
    while (!error && !p.done && !is_taken(&p))
        error = at_indexed(&p) ? take_indexed(&p) : take_other(&p);
    if (!error && last && d->used)
        nghttp2_hd_inflate_end_headers(d->inflater);
    return error;
}

/* ---- encoding ---- */

void hpack_encoder_init(struct hpack_encoder *e, struct hpack_mem *m, uint32_t table_max)
{
    *e = (struct hpack_encoder){.mem = m,
                                .most = table_max,
                                .size = TABLE_FIRST,
                                .least = TABLE_FIRST,
                                .resized = table_max < TABLE_FIRST};
}

static void drop_deflater(struct hpack_encoder *e)
{
    if (e->deflater)
        nghttp2_hd_deflate_del(e->deflater);
    e->deflater = NULL;
}

void hpack_encoder_fini(struct hpack_encoder *e)
{
    drop_deflater(e);
}

void hpack_encoder_rest(struct hpack_encoder *e)
{
    if (!e->deflater)
        return;
    drop_deflater(e);
    e->least = 0;
    e->resized = true;
}

/* False: no memory, and it rests on. */
static bool encoder_wake(struct hpack_encoder *e)
{
    if (e->deflater)
        return true;
    nghttp2_hd_deflater *deflater;
    if (nghttp2_hd_deflate_new2(&deflater, e->most, &e->mem->calls) != 0)
        return false;
    e->deflater = deflater;
    if ((e->least == TABLE_FIRST && e->size == TABLE_FIRST) ||
        (nghttp2_hd_deflate_change_table_size(deflater, e->least) == 0 &&
         nghttp2_hd_deflate_change_table_size(deflater, e->size) == 0))
        return true;
    drop_deflater(e);
    return false;
}

bool hpack_encoder_table(struct hpack_encoder *e, uint32_t size)
{
    e->resized = true;
    e->size = size;
    if (e->deflater)
        return nghttp2_hd_deflate_change_table_size(e->deflater, size) == 0;
    if (size < e->least)
        e->least = size;
    return true;
}

/*
 * A block being written. Fields for which the dynamic table is of no use are written at once, the
 * others wait to be given to nghttp2 together, behind them.
 */
struct block {
    struct hpack_encoder *encoder;
    uint8_t *at;
    uint8_t *end;
    int error;
    uint32_t n;
    nghttp2_nv nv[CHUNK];
};

static void block_flush(struct block *b)
{
    uint32_t waiting = b->n;
    b->n = 0;
    if (b->error)
        return;
    ssize_t n = nghttp2_hd_deflate_hd(b->encoder->deflater, b->at, (size_t)(b->end - b->at), b->nv,
                                      waiting);
    if (n < 0)
        b->error = error_of(n);
    else
        b->at += n;
}

/* Not by an initialiser, which would clear nv as well. */
static void block_begin(struct block *b, struct hpack_encoder *e, uint8_t *out, size_t room)
{
    b->encoder = e;
    b->at = out;
    b->end = out + room;
    b->error = encoder_wake(e) ? 0 : HPACK_E_MEMORY;
    b->n = 0;
    if (e->resized)
        block_flush(b); /* RFC 7541 4.2: a table's size before all fields */
    e->resized = false;
}

static int block_end(struct block *b, const uint8_t *out)
{
    if (b->n > 0)
        block_flush(b);
    return b->error ? b->error : (int)(b->at - out);
}

/* RFC 7541 6.2.2: a literal without indexing, its name by an index. */
static void put_plain(struct block *b, uint8_t index, struct http_text value)
{
    b->at = put_integer(b->at, 0x00, 0x0f, index);
    b->at = put_string(b->at, value.p, value.n);
}

static void put(struct block *b, struct http_text name, struct http_text value, bool sensitive)
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
static void put_pseudo(struct block *b, struct http_text name, struct http_text value)
{
    if (value.n > 0)
        put(b, name, value, false);
}

/* Indices of RFC 7541 A. */
enum {
    INDEX_STATUS = 8,
    INDEX_CONTENT_LENGTH = 28,
    INDEX_CONTENT_RANGE = 30,
    INDEX_ETAG = 34,
    INDEX_LAST_MODIFIED = 44,
};

/* Of fields whose values are seldom said twice, though nghttp2 would index some; 0: of others. */
static uint8_t plain_index(struct http_text name)
{
    switch (name.n) {
    case 4: return memcmp(name.p, "etag", 4) == 0 ? INDEX_ETAG : 0;
    case 13:
        if (memcmp(name.p, "last-modified", 13) == 0)
            return INDEX_LAST_MODIFIED;
        return memcmp(name.p, "content-range", 13) == 0 ? INDEX_CONTENT_RANGE : 0;
    default: return 0;
    }
}

static void put_fields(struct block *b, const struct http_field *field, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t index = field[i].sensitive ? 0 : plain_index(field[i].name);
        if (index)
            put_plain(b, index, field[i].value);
        else
            put(b, field[i].name, field[i].value, field[i].sensitive);
    }
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

static void put_status(struct block *b, uint16_t status)
{
    static const uint16_t known[] = {200, 204, 206, 304, 400, 404, 500}; /* RFC 7541 A, 8 to 14 */
    for (uint8_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i] == status) {
            *b->at++ = (uint8_t)(0x80 | (INDEX_STATUS + i));
            return;
        }
    char digits[DIGITS];
    put_plain(b, INDEX_STATUS, decimal(digits, status));
}

static void put_request(struct block *b, const struct http_head *h)
{
    put_pseudo(b, HTTP_TEXT(":method"), method_of(h));
    put_pseudo(b, HTTP_TEXT(":protocol"), h->protocol);
    put_pseudo(b, HTTP_TEXT(":scheme"), h->scheme);
    put_pseudo(b, HTTP_TEXT(":path"), h->path);
    put_pseudo(b, HTTP_TEXT(":authority"), h->authority);
    block_flush(b); /* RFC 9113 8.3: before all others */
}

int hpack_encode_head(struct hpack_encoder *e, const struct http_head *h, uint8_t *out, size_t room)
{
    if (room < hpack_list_size(h) + HPACK_SLACK)
        return HPACK_E_ROOM;
    struct block b;
    block_begin(&b, e, out, room);
    if (h->status)
        put_status(&b, h->status);
    else
        put_request(&b, h);
    char digits[DIGITS];
    if (h->content_length != HTTP_LENGTH_NONE)
        put_plain(&b, INDEX_CONTENT_LENGTH, decimal(digits, h->content_length));
    put_fields(&b, h->field, h->n_fields);
    return block_end(&b, out);
}

int hpack_encode_trailers(struct hpack_encoder *e, const struct http_field *field, uint32_t n,
                          uint8_t *out, size_t room)
{
    if (room < fields_size(field, n) + HPACK_SLACK)
        return HPACK_E_ROOM;
    struct block b;
    block_begin(&b, e, out, room);
    put_fields(&b, field, n);
    return block_end(&b, out);
}

/* ---- looking at blocks ---- */

/* Past an integer with so many bits in its first byte (RFC 7541 5.1), which is *value as far as
 * that byte tells, or all of it where it is short. NULL: cut off, or longer than what we look at.
 */
static const uint8_t *skip_integer(const uint8_t *at, const uint8_t *end, uint8_t mask,
                                   uint32_t *value)
{
    *value = *at++ & mask;
    if (*value < mask)
        return at;
    for (unsigned shift = 0; at < end && shift < 21; shift += 7) {
        *value += (uint32_t)(*at & 0x7f) << shift;
        if (!(*at++ & 0x80))
            return at;
    }
    return NULL;
}

static const uint8_t *skip_string(const uint8_t *at, const uint8_t *end)
{
    uint32_t len;
    if (!at || at == end)
        return NULL;
    at = skip_integer(at, end, 0x7f, &len);
    return at && len <= (size_t)(end - at) ? at + len : NULL;
}

/* Past a literal without indexing, or never indexed (RFC 7541 6.2.2, 6.2.3). */
static const uint8_t *skip_literal(const uint8_t *at, const uint8_t *end)
{
    uint32_t index;
    at = skip_integer(at, end, 0x0f, &index);
    if (index == 0)
        at = skip_string(at, end);
    return skip_string(at, end);
}

bool hpack_keeps_table(const uint8_t *block, size_t len)
{
    const uint8_t *at = block;
    const uint8_t *end = block + len;
    uint32_t index;
    while (at && at < end) {
        if (*at & 0x80)
            at = skip_integer(at, end, 0x7f, &index);
        else if (*at & 0x60) /* a literal with indexing, or a table's size */
            return false;
        else
            at = skip_literal(at, end);
    }
    return at;
}
