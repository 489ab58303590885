/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The send queue against the sequence of all bytes ever promised: any range between front and back
 * reads as there, each promise is discarded once, in order, when its last byte goes.
 */
#include <stdlib.h>
#include <string.h>

#include "buf/vec.h"
#include "support/heap.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define LONGEST  60
#define PROMISES 2048 /* at most, of one input */

struct world {
    struct heap heap;
    struct heap_pool pool;
    struct vec_queue q;
    uint8_t all[PROMISES * LONGEST];
    uint32_t end[PROMISES]; /* of each promise, in all */
    uint32_t pushed;
    uint32_t front, back; /* in all */
};

struct own {
    uint32_t number;
    uint32_t *discarded;
    const uint8_t *bytes;
    struct heap *heap;
};

static void own_flatten(const struct vec *v, uint32_t offset, uint8_t *dst, uint32_t len)
{
    const struct own *own = v->of.context;
    require(len > 0 && offset < v->len && len <= v->len - offset);
    memcpy(dst, own->bytes + offset, len);
}

static void own_discard(struct vec *v)
{
    struct own *own = v->of.context;
    require(*own->discarded <= own->number);
    *own->discarded = own->number + 1;
    mem_free(&own->heap->mem, own, sizeof(*own));
}

static const struct vec_ops own_ops = {.flatten = own_flatten, .discard = own_discard};

static struct vec promise(struct world *w, uint8_t kind, uint32_t len, uint32_t *discarded)
{
    const uint8_t *bytes = w->all + w->back;
    if (kind % 3 == 0)
        return vec_of_const(bytes, len);
    if (kind % 3 == 1)
        return vec_of_pkt(heap_pkt(&w->pool, bytes, len, kind / 16));
    struct own *own = mem_alloc(&w->heap.mem, sizeof(*own), _Alignof(struct own));
    require(own != NULL);
    *own = (struct own){w->pushed, discarded, bytes, &w->heap};
    return (struct vec){.ops = &own_ops, .of.context = own, .len = len};
}

static void push(struct world *w, uint8_t kind, uint8_t size, uint32_t *discarded)
{
    uint32_t len = size % LONGEST + 1;
    if (w->pushed == PROMISES)
        return;
    for (uint32_t i = 0; i < len; i++)
        w->all[w->back + i] = (uint8_t)(w->pushed * 13 + i * 7 + kind);
    struct vec v = promise(w, kind, len, discarded);
    if (!vec_queue_push(&w->q, v)) {
        require(vec_queue_count(&w->q) == w->q.max);
        uint32_t before = *discarded;
        if (v.ops->discard)
            v.ops->discard(&v);
        *discarded = before; /* it never stood in the queue */
        return;
    }
    w->back += len;
    w->end[w->pushed++] = w->back;
}

static void compare(const struct world *w, uint8_t a, uint8_t b)
{
    uint32_t bytes = w->back - w->front;
    uint32_t offset = bytes * a / 255;
    uint32_t len = (bytes - offset) * b / 255;
    uint8_t *out = malloc(len + 1);
    require(out != NULL);
    vec_queue_flatten(&w->q, offset, out, len);
    require(memcmp(out, w->all + w->front + offset, len) == 0);
    struct pkt *p = vec_queue_pkt(&w->q, (struct pkt_pool *)&w->pool, offset, len);
    memset(out, 0, len);
    pkt_copy_out(p, 0, out, len);
    require(p->total == len && memcmp(out, w->all + w->front + offset, len) == 0);
    pkt_free(p);
    free(out);
}

static void drop(struct world *w, uint8_t a, uint8_t b)
{
    uint32_t n = (w->back - w->front) * a / 255;
    if (b < 128 && n > b)
        n = b;
    w->front += n;
    vec_queue_drop(&w->q, n);
}

static uint32_t live(const struct world *w)
{
    uint32_t n = 0;
    while (n < w->pushed && w->end[w->pushed - 1 - n] > w->front)
        n++;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct world *w = calloc(1, sizeof(*w));
    require(w != NULL);
    uint32_t discarded = 0;
    heap_init(&w->heap);
    heap_pool_init(&w->pool, 0, 100);
    vec_queue_init(&w->q, &w->heap.mem, data[0] % 64u + 1);
    for (size_t i = 1; i + 3 <= size; i += 3) {
        switch (data[i] % 4) {
        case 0:
        case 1: push(w, data[i + 1], data[i + 2], &discarded); break;
        case 2: compare(w, data[i + 1], data[i + 2]); break;
        default: drop(w, data[i + 1], data[i + 2]); break;
        }
        require(vec_queue_bytes(&w->q) == w->back - w->front);
        require(vec_queue_count(&w->q) == live(w));
    }
    vec_queue_fini(&w->q);
    require(w->heap.blocks == 0 && w->pool.held == 0);
    free(w);
    return 0;
}
