/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_SLAB_MODEL_H
#define MILLRACE_TESTS_SLAB_MODEL_H

/*
 * Drives a slab by bytes, from a random generator or a fuzzer, beside an array of every handle that
 * is remembered, and asserts that the two agree: on what is live, on each object's bytes, on stale
 * handles, on the bound. The slab's source is included rather than linked, so that a slot can be
 * aged to the end of its generations, which would take 2^31 objects.
 */

#include "../../lib/base/slab.c"

#include "base/bytes.h"
#include "support/heap.h"

#define MODEL_HANDLES 96

struct slab_model {
    struct heap heap;
    struct slab *slab;
    struct reader in; /* zeroes when it has run out */
    size_t size;
    uint32_t live;
    uint32_t wraps; /* generations that came round */
    struct model_handle {
        handle_t handle;
        void *object; /* NULL: freed since, the handle is stale */
        uint8_t fill;
    } handle[MODEL_HANDLES];
};

static inline bool model_filled(const void *object, size_t size, uint8_t fill)
{
    const uint8_t *b = object;
    for (size_t i = 0; i < size; i++) {
        if (b[i] != fill)
            return false;
    }
    return true;
}

static inline void model_free(struct slab_model *m, struct model_handle *h)
{
    if (!h->object)
        return;
    assert(slab_handle(m->slab, h->object) == h->handle);
    slab_free(m->slab, h->object);
    h->object = NULL;
    m->live--;
}

static inline void model_alloc(struct slab_model *m, struct model_handle *h)
{
    model_free(m, h);
    handle_t handle = 1;
    void *object = slab_alloc(m->slab, &handle);
    if (!object) {
        assert(handle == HANDLE_NONE);
        assert((m->live == slab_max(m->slab) || m->heap.limit != SIZE_MAX) && "fails for a reason");
        return;
    }
    assert(handle != HANDLE_NONE && m->live < slab_max(m->slab));
    assert(model_filled(object, m->size, 0) && "objects come zeroed");
    for (int i = 0; i < MODEL_HANDLES; i++) {
        assert(m->handle[i].handle != handle && "a remembered handle is not given out again");
        assert(m->handle[i].object != object && "nor an object that is live");
    }
    h->handle = handle;
    h->object = object;
    h->fill = (uint8_t)(handle >> 32 ^ handle);
    memset(object, h->fill, m->size);
    m->live++;
}

/* Puts a freed slot to within two objects of the end of its generations. Handles of it are
 * forgotten, as they might come again. */
static inline void model_age(struct slab_model *m, struct model_handle *h)
{
    uint32_t index = (uint32_t)h->handle;
    if (h->object || !h->handle)
        return;
    struct trailer *t = trailer_of(m->slab, object_at(m->slab, index));
    if (is_live(t))
        return;
    for (int i = 0; i < MODEL_HANDLES; i++) {
        if ((uint32_t)m->handle[i].handle == index)
            m->handle[i].handle = HANDLE_NONE;
    }
    t->generation = UINT32_MAX - 3;
    m->wraps++;
}

static inline void model_check_handle(struct slab_model *m, struct model_handle *h)
{
    assert(slab_get(m->slab, h->handle) == h->object);
    if (h->object)
        assert(model_filled(h->object, m->size, h->fill) && "nobody else wrote to it");
    /* Handles nobody was given: an even generation, a slot beyond the last. */
    assert(!slab_get(m->slab, h->handle & ~(UINT64_C(1) << 32)));
    assert(!slab_get(m->slab, h->handle | UINT32_MAX));
    assert(!slab_get(m->slab, HANDLE_NONE));
}

static inline void model_check_walk(struct slab_model *m)
{
    uint32_t cursor = 0;
    uint32_t seen = 0;
    for (void *o = slab_next(m->slab, &cursor); o; o = slab_next(m->slab, &cursor)) {
        assert(slab_get(m->slab, slab_handle(m->slab, o)) == o);
        seen++;
    }
    assert(seen == m->live && slab_live(m->slab) == m->live);
}

static inline void model_step(struct slab_model *m)
{
    uint8_t what = reader_u8(&m->in);
    struct model_handle *h = &m->handle[reader_u8(&m->in) % MODEL_HANDLES];
    switch (what % 8) {
    case 0:
    case 1:
    case 2: model_alloc(m, h); break;
    case 3:
    case 4: model_free(m, h); break;
    case 5: model_age(m, h); break;
    case 6: m->heap.limit = what & 0x80 ? m->heap.bytes : SIZE_MAX; break;
    default: model_check_walk(m); break;
    }
    model_check_handle(m, h);
}

/* Returns how many slots were put to the end of their generations. */
static inline uint32_t slab_model_run(const uint8_t *bytes, size_t len)
{
    struct slab_model m = {.in = reader_of(bytes, len)};
    heap_init(&m.heap);
    m.size = 1 + reader_u16(&m.in) % 9000;
    size_t align = (size_t)1 << reader_u8(&m.in) % 8;
    m.slab = slab_create(&m.heap.mem, m.size, align, 1 + reader_u8(&m.in) % 120);
    assert(m.slab);
    while (reader_left(&m.in) > 0)
        model_step(&m);
    m.heap.limit = SIZE_MAX;
    for (int i = 0; i < MODEL_HANDLES; i++) {
        assert(((uintptr_t)m.handle[i].object & (align - 1)) == 0);
        model_check_handle(&m, &m.handle[i]);
        model_free(&m, &m.handle[i]);
    }
    model_check_walk(&m);
    slab_destroy(m.slab);
    assert(m.heap.blocks == 0 && m.heap.bytes == 0);
    return m.wraps;
}

#endif
