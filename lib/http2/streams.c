/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/streams.h"

#include <assert.h>

#include "http2/internal.h"

#define FIRST_CAPACITY 8u

/* Identifiers of one side are every other number, and rise: neighbours in time are neighbours here.
 */
static uint32_t home(const struct h2_streams *t, uint32_t id)
{
    return (id >> 1) & (t->capacity - 1);
}

static uint32_t next_slot(const struct h2_streams *t, uint32_t i)
{
    return (i + 1) & (t->capacity - 1);
}

struct h2_stream *h2_streams_find(const struct h2_streams *t, uint32_t id)
{
    if (t->n == 0)
        return NULL;
    for (uint32_t i = home(t, id); t->slot[i]; i = next_slot(t, i))
        if (t->slot[i]->id == id)
            return t->slot[i];
    return NULL;
}

static void place(struct h2_streams *t, struct h2_stream *s)
{
    uint32_t i = home(t, s->id);
    while (t->slot[i])
        i = next_slot(t, i);
    t->slot[i] = s;
}

static size_t slots_size(uint32_t capacity)
{
    return capacity * sizeof(struct h2_stream *);
}

static bool grow(struct h2_streams *t, struct mem *mem)
{
    struct h2_streams bigger = {.capacity = t->capacity ? t->capacity * 2 : FIRST_CAPACITY,
                                .n = t->n};
    bigger.slot = mem_alloc(mem, slots_size(bigger.capacity), _Alignof(struct h2_stream *));
    if (!bigger.slot)
        return false;
    for (uint32_t i = 0; i < t->capacity; i++)
        if (t->slot[i])
            place(&bigger, t->slot[i]);
    mem_free(mem, t->slot, slots_size(t->capacity));
    *t = bigger;
    return true;
}

bool h2_streams_add(struct h2_streams *t, struct mem *mem, struct h2_stream *s)
{
    assert(!h2_streams_find(t, s->id) && "an identifier is used once");
    if (2 * (t->n + 1) > t->capacity && !grow(t, mem))
        return false;
    place(t, s);
    t->n++;
    return true;
}

/* Slots between its home and where it stands are never empty, so what stands behind a gap moves
 * into it where its home is not behind the gap. */
static void close_gap(struct h2_streams *t, uint32_t gap)
{
    uint32_t mask = t->capacity - 1;
    for (uint32_t i = next_slot(t, gap); t->slot[i]; i = next_slot(t, i)) {
        uint32_t from_home = (i - home(t, t->slot[i]->id)) & mask;
        uint32_t from_gap = (i - gap) & mask;
        if (from_home < from_gap)
            continue;
        t->slot[gap] = t->slot[i];
        gap = i;
    }
    t->slot[gap] = NULL;
}

void h2_streams_remove(struct h2_streams *t, struct h2_stream *s)
{
    uint32_t i = home(t, s->id);
    while (t->slot[i] != s) {
        assert(t->slot[i] && "it stands in the table");
        i = next_slot(t, i);
    }
    close_gap(t, i);
    t->n--;
}

void h2_streams_tidy(struct h2_streams *t, struct mem *mem)
{
    if (t->n > 0)
        return;
    mem_free(mem, t->slot, slots_size(t->capacity));
    *t = (struct h2_streams){0};
}

struct h2_stream *h2_streams_next(const struct h2_streams *t, uint32_t *at)
{
    while (*at < t->capacity) {
        struct h2_stream *s = t->slot[(*at)++];
        if (s)
            return s;
    }
    return NULL;
}

void h2_streams_clear(struct h2_streams *t)
{
    for (uint32_t i = 0; i < t->capacity; i++)
        t->slot[i] = NULL;
    t->n = 0;
}

_Static_assert(2 * H2_CLOSED_KEPT == 64 && H2_CLOSED_BY_US < 4, "two bits each in h2_closed_ring");

void h2_closed_note(struct h2_closed_ring *r, uint32_t id, enum h2_closed how)
{
    uint32_t i = r->next++ % H2_CLOSED_KEPT;
    assert(how <= H2_CLOSED_BY_US && "the others are of streams that are not kept");
    r->id[i] = id;
    r->how &= ~(UINT64_C(3) << 2 * i);
    r->how |= (uint64_t)how << 2 * i;
}

/* The latest word counts. */
enum h2_closed h2_closed_how(const struct h2_closed_ring *r, uint32_t id)
{
    uint32_t n = r->next < H2_CLOSED_KEPT ? r->next : H2_CLOSED_KEPT;
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t at = (r->next - i) % H2_CLOSED_KEPT;
        if (r->id[at] == id)
            return (enum h2_closed)(r->how >> 2 * at & 3);
    }
    return r->next > H2_CLOSED_KEPT ? H2_CLOSED_FORGOTTEN : H2_CLOSED_UNUSED;
}
