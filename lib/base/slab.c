/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/slab.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "base/invariant.h"

/* Under AddressSanitizer a freed object is poisoned, as free() would: its slot's trailer stays
 * readable. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLAB_POISONS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SLAB_POISONS 1
#endif
#ifdef SLAB_POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

#define CHUNK_BYTES \
    65536 /* as many slots as fit, but at least one: zeroing a chunk must not hold up a worker */
#define NO_SLOT     UINT32_MAX
#define FIRST_TABLE 16 /* chunks before the table of chunks first grows */

/* Behind each object in its slot. */
struct trailer {
    union {
        uint32_t index;     /* while the object is live */
        uint32_t next_free; /* while it is not */
    };
    uint32_t generation; /* odd while live, so a live handle is never 0, wrap or no wrap */
};

struct slab {
    struct mem *mem;
    size_t size;    /* of an object, as asked for */
    size_t trailer; /* offset of the trailer in a slot */
    size_t stride;  /* from slot to slot */
    size_t align;
    uint32_t max;
    uint32_t live;
    uint32_t used;      /* slots given out at least once; those beyond have no trailer yet */
    uint32_t free_head; /* NO_SLOT: none */
    uint32_t shift;     /* log2 of the slots in a chunk */
    uint32_t chunks;
    uint32_t table_size;
    unsigned char **table; /* chunks, in order of index */
};

static unsigned char *object_at(const struct slab *s, uint32_t index)
{
    uint32_t in_chunk = index & ((UINT32_C(1) << s->shift) - 1);
    return s->table[index >> s->shift] + in_chunk * s->stride;
}

static struct trailer *trailer_of(const struct slab *s, const void *object)
{
    return (struct trailer *)(void *)((unsigned char *)(uintptr_t)object + s->trailer);
}

static bool is_live(const struct trailer *t)
{
    return t->generation & 1;
}

static size_t chunk_size(const struct slab *s)
{
    return s->stride << s->shift;
}

static bool slab_ok(const struct slab *s)
{
    uint32_t free_slots = 0;
    for (uint32_t i = s->free_head; i != NO_SLOT; i = trailer_of(s, object_at(s, i))->next_free) {
        const struct trailer *t = trailer_of(s, object_at(s, i));
        if (i >= s->used || is_live(t) || ++free_slots > s->used)
            return false;
    }
    return s->live + free_slots == s->used && s->used <= s->max &&
           s->used <= (uint64_t)s->chunks << s->shift;
}

struct slab *slab_create(struct mem *mem, size_t size, size_t align, uint32_t max)
{
    assert(size > 0 && size <= SIZE_MAX / 4 && max > 0 && max <= UINT32_C(1) << 31);
    assert(align > 0 && (align & (align - 1)) == 0 && "alignments are powers of two");
    struct slab *s = mem_alloc(mem, sizeof(*s), alignof(struct slab));
    if (!s)
        return NULL;
    if (align < alignof(struct trailer))
        align = alignof(struct trailer);
    size_t trailer = (size + alignof(struct trailer) - 1) & ~(alignof(struct trailer) - 1);
    size_t stride = (trailer + sizeof(struct trailer) + align - 1) & ~(align - 1);
    uint32_t shift = 0;
    while (stride << (shift + 1) <= CHUNK_BYTES && UINT64_C(1) << shift < max)
        shift++;
    *s = (struct slab){.mem = mem,
                       .size = size,
                       .trailer = trailer,
                       .stride = stride,
                       .align = align,
                       .max = max,
                       .free_head = NO_SLOT,
                       .shift = shift};
    return s;
}

static void free_table(struct slab *s)
{
    mem_free(s->mem, s->table, s->table_size * sizeof(*s->table));
}

void slab_destroy(struct slab *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->chunks; i++) {
        ASAN_UNPOISON_MEMORY_REGION(s->table[i], chunk_size(s));
        mem_free(s->mem, s->table[i], chunk_size(s));
    }
    free_table(s);
    mem_free(s->mem, s, sizeof(*s));
}

static bool grow_table(struct slab *s)
{
    uint32_t size = s->table_size ? 2 * s->table_size : FIRST_TABLE;
    unsigned char **table = mem_alloc(s->mem, size * sizeof(*table), alignof(unsigned char *));
    if (!table)
        return false;
    if (s->chunks > 0)
        memcpy(table, s->table, s->chunks * sizeof(*table));
    free_table(s);
    s->table = table;
    s->table_size = size;
    return true;
}

static bool add_chunk(struct slab *s)
{
    if (s->chunks == s->table_size && !grow_table(s))
        return false;
    unsigned char *chunk = mem_alloc(s->mem, chunk_size(s), s->align);
    if (!chunk)
        return false;
    s->table[s->chunks++] = chunk;
    return true;
}

/* A slot that was never used, with its trailer set up; NULL at the bound or without memory. */
static void *new_object(struct slab *s)
{
    if (s->used == s->max)
        return NULL;
    if (s->used >> s->shift == s->chunks && !add_chunk(s))
        return NULL;
    void *object = object_at(s, s->used);
    *trailer_of(s, object) = (struct trailer){.index = s->used++};
    return object; /* mem_alloc gave zeroed memory */
}

static void *reuse_object(struct slab *s)
{
    uint32_t index = s->free_head;
    void *object = object_at(s, index);
    s->free_head = trailer_of(s, object)->next_free;
    trailer_of(s, object)->index = index;
    ASAN_UNPOISON_MEMORY_REGION(object, s->size);
    return memset(object, 0, s->size);
}

void *slab_alloc(struct slab *s, handle_t *handle)
{
    void *object = s->free_head == NO_SLOT ? new_object(s) : reuse_object(s);
    if (!object) {
        *handle = HANDLE_NONE;
        return NULL;
    }
    struct trailer *t = trailer_of(s, object);
    t->generation++;
    assert(is_live(t) && "a free slot's generation is even");
    s->live++;
    *handle = slab_handle(s, object);
    invariant(slab_ok(s));
    return object;
}

void slab_free(struct slab *s, void *object)
{
    struct trailer *t = trailer_of(s, object);
    assert(is_live(t) && "an object is freed once");
    assert(t->index < s->used && object_at(s, t->index) == object && "and by its own slab");
    uint32_t index = t->index;
    t->generation++;
    t->next_free = s->free_head;
    s->free_head = index;
    s->live--;
    ASAN_POISON_MEMORY_REGION(object, s->size);
    invariant(slab_ok(s));
}

void *slab_get(const struct slab *s, handle_t handle)
{
    uint32_t index = (uint32_t)handle;
    if (index >= s->used)
        return NULL;
    void *object = object_at(s, index);
    const struct trailer *t = trailer_of(s, object);
    return is_live(t) && t->generation == handle >> 32 ? object : NULL;
}

handle_t slab_handle(const struct slab *s, const void *object)
{
    const struct trailer *t = trailer_of(s, object);
    assert(is_live(t) && "only a live object has a handle");
    return (handle_t)t->generation << 32 | t->index;
}

uint32_t slab_live(const struct slab *s)
{
    return s->live;
}

uint32_t slab_max(const struct slab *s)
{
    return s->max;
}

void *slab_at(const struct slab *s, uint32_t slot)
{
    assert(slot < s->used && "a slot that has been in use");
    void *object = object_at(s, slot);
    return is_live(trailer_of(s, object)) ? object : NULL;
}

uint32_t slab_slots(const struct slab *s)
{
    return s->used;
}

void *slab_next(const struct slab *s, uint32_t *cursor)
{
    while (*cursor < s->used) {
        void *object = object_at(s, (*cursor)++);
        if (is_live(trailer_of(s, object)))
            return object;
    }
    return NULL;
}
