/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An origin's content: a table from path to item. An item is one block: the item, its fields, the
 * texts of those, its path and its body. It is made once, when its entry is added, with all that
 * its answers have in common.
 */
#include "service/origin.h"

#include <assert.h>
#include <stdio.h>

#include "base/siphash.h"
#include "service/origin_item.h"
#include "service/origin_path.h"

#define DEFAULT_ENTRIES 65536u
#define DEFAULT_BYTES   (UINT64_C(1) << 30)
#define FIRST_SLOTS     64u

/* ---- users ---- */

static void flatten(const struct vec *v, uint32_t offset, uint8_t *dst, uint32_t len)
{
    memcpy(dst, (const uint8_t *)v->of.bytes + offset, len);
}

/* Writer only, so no bus lock. What was read of the origin before comes before it. */
static void count(struct origin_cell *cell, uint64_t n)
{
    uint64_t users = atomic_load_explicit(&cell->users, memory_order_relaxed);
    atomic_store_explicit(&cell->users, users + n, memory_order_release);
}

static struct origin_cell *cell_of(const struct origin *o, uint16_t worker)
{
    assert(worker < ORIGIN_WORKERS_MAX);
    return &o->cell[worker];
}

void origin_hold(const struct origin *o, uint16_t worker)
{
    count(cell_of(o, worker), 1);
}

void origin_release(const struct origin *o, uint16_t worker)
{
    count(cell_of(o, worker), UINT64_MAX);
}

static void discard(struct vec *v)
{
    count(container_of(v->ops, struct origin_cell, ops), UINT64_MAX);
}

struct vec origin_promise(const struct origin *o, uint16_t worker, const struct origin_item *item,
                          uint32_t from, uint32_t len)
{
    assert(from <= item->body.n && len <= item->body.n - from);
    struct origin_cell *cell = cell_of(o, worker);
    count(cell, 1);
    return (struct vec){.ops = &cell->ops, .of.bytes = item->body.p + from, .len = len};
}

uint64_t origin_users(const struct origin *o)
{
    uint64_t users = 0;
    for (unsigned i = 0; i < ORIGIN_WORKERS_MAX; i++)
        users += atomic_load_explicit(&o->cell[i].users, memory_order_acquire);
    return users;
}

/* ---- table ---- */

static uint64_t load64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static uint32_t load32(const char *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

/* The last n < 8 bytes as a word that tells them apart. */
static uint64_t load_tail(const char *p, uint32_t n)
{
    if (n >= 4)
        return load32(p) | (uint64_t)load32(p + n - 4) << 32;
    if (n == 0)
        return 0;
    return (uint64_t)(uint8_t)p[0] | (uint64_t)(uint8_t)p[n / 2] << 8 |
           (uint64_t)(uint8_t)p[n - 1] << 16;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 by the golden ratio */
    return h ^ h >> 32;
}

/* Not keyed: what stands in the table is the operator's choice, not a client's. */
static uint32_t hash_of(struct http_text path)
{
    const char *p = path.p;
    uint32_t n = path.n;
    uint64_t h = n;
    for (; n >= 8; p += 8, n -= 8)
        h = mix(h, load64(p));
    return (uint32_t)mix(mix(h, load_tail(p, n)), 0);
}

const struct origin_item *origin_find(const struct origin *o, struct http_text path)
{
    if (path.n > o->longest)
        return NULL;
    uint32_t hash = hash_of(path);
    for (uint32_t i = hash & o->mask; o->slot[i].item; i = (i + 1) & o->mask) {
        const struct origin_slot *slot = &o->slot[i];
        if (slot->hash == hash && slot->len == path.n &&
            memcmp(slot->item->path.p, path.p, path.n) == 0)
            return slot->item;
    }
    return NULL;
}

static void put(struct origin_slot *slot, uint32_t mask, struct origin_slot entry)
{
    uint32_t i = entry.hash & mask;
    while (slot[i].item)
        i = (i + 1) & mask;
    slot[i] = entry;
}

static size_t slots_size(uint32_t mask)
{
    return ((size_t)mask + 1) * sizeof(struct origin_slot);
}

/* Room for one more. */
static bool reserve(struct origin *o)
{
    if (o->n_items < (o->mask + 1) / 2)
        return true;
    uint32_t mask = o->mask * 2 + 1;
    struct origin_slot *slot = mem_alloc(o->mem, slots_size(mask), _Alignof(struct origin_slot));
    if (!slot)
        return false;
    for (uint32_t i = 0; i <= o->mask; i++)
        if (o->slot[i].item)
            put(slot, mask, o->slot[i]);
    mem_free(o->mem, o->slot, slots_size(o->mask));
    o->slot = slot;
    o->mask = mask;
    return true;
}

static void insert(struct origin *o, struct origin_item *item)
{
    uint32_t n = item->path.n;
    put(o->slot, o->mask, (struct origin_slot){hash_of(item->path), n, item});
    o->n_items++;
    item->next = o->last;
    o->last = item;
    if (n > o->longest)
        o->longest = n;
}

/* ---- items ---- */

/* Texts that are put one after the other. */
static struct http_text put_text(char **at, struct http_text t)
{
    struct http_text copy = {*at, t.n};
    if (t.n > 0)
        memcpy(*at, t.p, t.n);
    *at += t.n;
    return copy;
}

static struct http_text put_etag(char **at, struct http_text body)
{
    /* The same on every host that serves the same bytes. */
    static const struct siphash_key key = {UINT64_C(0x6d696c6c72616365),
                                           UINT64_C(0x6f726967696e2e31)};
    char etag[ORIGIN_ETAG_SIZE + 1];
    unsigned long long hash = siphash13(&key, body.n > 0 ? body.p : "", body.n);
    snprintf(etag, sizeof(etag), "\"%016llx\"", hash);
    return put_text(at, (struct http_text){etag, ORIGIN_ETAG_SIZE});
}

static struct http_text put_date(char **at, uint64_t second)
{
    char date[HTTP_DATE_SIZE];
    http_date_write(date, second);
    return put_text(at, (struct http_text){date, HTTP_DATE_SIZE - 1});
}

static struct http_text type_of(const struct origin_entry *e)
{
    return e->type.n > 0 ? e->type : origin_type(e->path);
}

static size_t texts_size(const struct origin_entry *e)
{
    size_t n = (size_t)e->path.n + e->body.n + type_of(e).n + ORIGIN_ETAG_SIZE + HTTP_DATE_SIZE;
    for (uint32_t i = 0; i < e->n_fields; i++)
        n += (size_t)e->field[i].name.n + e->field[i].value.n;
    return n;
}

static void put_fields(struct origin_item *item, struct http_field *field, char **at,
                       const struct origin_entry *e)
{
    uint32_t n = 0;
    field[n++] = (struct http_field){.name = HTTP_TEXT("date")};
    if (item->selected)
        field[n++] = (struct http_field){HTTP_TEXT("etag"), item->etag, false};
    if (item->modified > 0)
        field[n++] =
            (struct http_field){HTTP_TEXT("last-modified"), put_date(at, item->modified), false};
    if (item->selected)
        field[n++] = (struct http_field){HTTP_TEXT("accept-ranges"), HTTP_TEXT("bytes"), false};
    for (uint32_t i = 0; i < e->n_fields; i++) {
        struct http_text name = put_text(at, e->field[i].name);
        field[n++] =
            (struct http_field){name, put_text(at, e->field[i].value), e->field[i].sensitive};
    }
    field[n++] = (struct http_field){HTTP_TEXT("content-type"), put_text(at, type_of(e)), false};
    item->field = field;
    item->n_fields = n;
}

static uint64_t hash_text(const struct siphash_key *key, struct http_text text)
{
    return siphash13(key, text.n > 0 ? text.p : "", text.n);
}

/* Of all that its answer says but the date; two items may say the same. */
static uint64_t hash_head(const struct origin_item *item)
{
    struct siphash_key key = {item->status, item->body.n};
    for (uint32_t i = 1; i < item->n_fields; i++) {
        key.k0 += hash_text(&key, item->field[i].name);
        key.k1 += hash_text(&key, item->field[i].value);
    }
    return key.k0 ^ key.k1;
}

static struct origin_item *make_item(struct mem *mem, const struct origin_entry *e)
{
    size_t fields =
        sizeof(struct http_field) * (e->n_fields + (ORIGIN_FIELDS_MAX - ORIGIN_ENTRY_FIELDS_MAX));
    size_t size = sizeof(struct origin_item) + fields + texts_size(e);
    struct origin_item *item = mem_alloc(mem, size, _Alignof(struct origin_item));
    if (!item)
        return NULL;
    struct http_field *field = (struct http_field *)(item + 1);
    char *at = (char *)field + fields;
    item->size = size;
    item->status = e->status ? e->status : 200;
    item->selected = item->status == 200;
    item->empty = item->status == 204 || item->status == 304;
    item->modified = e->modified;
    item->plain = origin_path_plain(e->path);
    item->path = put_text(&at, e->path);
    item->body = put_text(&at, e->body);
    if (item->selected)
        item->etag = put_etag(&at, e->body);
    put_fields(item, field, &at, e);
    item->same = hash_head(item);
    return item;
}

/* ---- making ---- */

struct origin *origin_create(struct mem *mem, const char *name,
                             const struct origin_options *options)
{
    size_t n = strlen(name);
    size_t size = sizeof(struct origin) + n + 1;
    struct origin *o = mem_alloc(mem, size, _Alignof(struct origin));
    if (!o)
        return NULL;
    *o = (struct origin){.mem = mem, .options = *options, .size = size, .mask = FIRST_SLOTS - 1};
    o->name = (struct http_text){(char *)(o + 1), (uint32_t)n};
    memcpy(o + 1, name, n + 1);
    if (o->options.max_entries == 0)
        o->options.max_entries = DEFAULT_ENTRIES;
    if (o->options.max_bytes == 0)
        o->options.max_bytes = DEFAULT_BYTES;
    o->slot = mem_alloc(mem, slots_size(o->mask), _Alignof(struct origin_slot));
    o->cell = mem_alloc(mem, sizeof(struct origin_cell) * ORIGIN_WORKERS_MAX,
                        _Alignof(struct origin_cell));
    if (!o->slot || !o->cell) {
        origin_destroy(o);
        return NULL;
    }
    for (unsigned i = 0; i < ORIGIN_WORKERS_MAX; i++)
        o->cell[i].ops = (struct vec_ops){.flatten = flatten, .discard = discard};
    return o;
}

void origin_destroy(struct origin *o)
{
    if (!o)
        return;
    assert((!o->cell || origin_users(o) == 0) && "nobody uses it");
    for (struct origin_item *item = o->last, *next; item; item = next) {
        next = item->next;
        mem_free(o->mem, item, item->size);
    }
    mem_free(o->mem, o->slot, slots_size(o->mask));
    mem_free(o->mem, o->cell, sizeof(struct origin_cell) * ORIGIN_WORKERS_MAX);
    mem_free(o->mem, o, o->size);
}

static bool status_ok(const struct origin_entry *e)
{
    if (e->status == 204 || e->status == 205 || e->status == 304)
        return e->body.n == 0;
    return e->status == 0 || (e->status >= 200 && e->status <= 599);
}

static int check(const struct origin *o, const struct origin_entry *e)
{
    if (!origin_path_ok(e->path))
        return ORIGIN_E_PATH;
    if (!status_ok(e))
        return ORIGIN_E_STATUS;
    if (e->n_fields > ORIGIN_ENTRY_FIELDS_MAX || o->n_entries >= o->options.max_entries ||
        e->body.n > o->options.max_bytes - o->n_bytes)
        return ORIGIN_E_LIMIT;
    return origin_find(o, e->path) ? ORIGIN_E_EXISTS : 0;
}

int origin_add(struct origin *o, const struct origin_entry *e)
{
    assert(!o->sealed && "workers read it");
    int error = check(o, e);
    if (error)
        return error;
    if (!reserve(o))
        return ORIGIN_E_MEMORY;
    struct origin_item *item = make_item(o->mem, e);
    if (!item)
        return ORIGIN_E_MEMORY;
    insert(o, item);
    o->n_entries++;
    o->n_bytes += e->body.n;
    return 0;
}

/* The item under a path of its own. Its bytes stay where they are. */
static bool add_alias(struct origin *o, const struct origin_item *item, struct http_text path,
                      bool slash)
{
    if (path.n == 0 || origin_find(o, path))
        return true;
    struct origin_item *alias =
        reserve(o) ? mem_alloc(o->mem, sizeof(*alias), _Alignof(struct origin_item)) : NULL;
    if (!alias)
        return false;
    *alias = *item;
    alias->path = path;
    alias->plain = origin_path_plain(path);
    alias->slash = slash;
    alias->size = sizeof(*alias);
    insert(o, alias);
    return true;
}

/* The directory of an index.html: the path up to its slash, and without it. */
static bool add_directory(struct origin *o, const struct origin_item *item)
{
    const struct http_text index = HTTP_TEXT("/index.html");
    struct http_text path = item->path;
    if (path.n < index.n || memcmp(path.p + path.n - index.n, index.p, index.n) != 0)
        return true;
    struct http_text directory = {path.p, path.n - index.n};
    return add_alias(o, item, (struct http_text){path.p, directory.n + 1}, false) &&
           add_alias(o, item, directory, true);
}

bool origin_seal(struct origin *o)
{
    for (const struct origin_item *item = o->last; item; item = item->next)
        if (!add_directory(o, item))
            return false;
    o->sealed = true;
    return true;
}

const char *origin_name(const struct origin *o)
{
    return o->name.p;
}

uint32_t origin_n_entries(const struct origin *o)
{
    return o->n_entries;
}

uint64_t origin_n_bytes(const struct origin *o)
{
    return o->n_bytes;
}
