/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *heap_alloc(struct mem *mem, size_t size, size_t align)
{
    struct heap *h = (struct heap *)mem;
    assert(size > 0 && (align & (align - 1)) == 0);
    if (size > h->limit || h->bytes > h->limit - size)
        return NULL;
    if (align < sizeof(void *))
        align = sizeof(void *);
    void *block = aligned_alloc(align, (size + align - 1) & ~(align - 1));
    if (!block)
        return NULL;
    memset(block, 0, size);
    h->bytes += size;
    h->blocks++;
    if (h->bytes > h->peak)
        h->peak = h->bytes;
    return block;
}

static void heap_free(struct mem *mem, void *block, size_t size)
{
    struct heap *h = (struct heap *)mem;
    assert(h->blocks > 0 && h->bytes >= size && "freed with the size it was asked for");
    h->blocks--;
    h->bytes -= size;
    free(block);
}

void heap_init(struct heap *h)
{
    *h = (struct heap){.mem = {.alloc = heap_alloc, .free = heap_free}, .limit = SIZE_MAX};
}

/* Each packet is one heap block, the view and then its memory: a read past either end is seen. */
struct block {
    struct pkt pkt;
    struct heap_pool *pool;
    uint8_t bytes[];
};

static void block_free(struct pkt *p)
{
    struct block *b = (struct block *)p;
    assert(b->pool->held > 0);
    b->pool->held--;
    free(b);
}

static const struct pkt_ops block_ops = {.free = block_free};

static struct pkt *block_alloc(struct heap_pool *pool, uint16_t headroom, size_t room)
{
    if (pool->held >= pool->limit)
        return NULL;
    struct block *b = malloc(sizeof(*b) + headroom + room);
    if (!b)
        return NULL;
    memset(b, 0, sizeof(*b));
    memset(b->bytes, 0xa5, headroom + room);
    b->pool = pool;
    b->pkt.refs = 1;
    b->pkt.ops = &block_ops;
    b->pkt.data = b->bytes + headroom;
    b->pkt.headroom = headroom;
    b->pkt.tailroom = (uint16_t)room;
    pool->held++;
    return &b->pkt;
}

static struct pkt *pool_alloc(struct pkt_pool *p)
{
    struct heap_pool *pool = (struct heap_pool *)p;
    return block_alloc(pool, p->headroom, p->room);
}

static struct pkt *pool_alloc_view(struct pkt_pool *p)
{
    struct pkt *v = block_alloc((struct heap_pool *)p, 0, 0);
    if (v)
        v->data = NULL;
    return v;
}

void heap_pool_init(struct heap_pool *p, uint16_t headroom, uint16_t room)
{
    *p = (struct heap_pool){.pool = {.alloc = pool_alloc,
                                     .alloc_view = pool_alloc_view,
                                     .headroom = headroom,
                                     .room = room},
                            .limit = SIZE_MAX};
}

struct pkt *heap_pkt(struct heap_pool *p, const void *bytes, size_t len, size_t view)
{
    struct pkt *head = NULL;
    struct pkt **end = &head;
    size_t done = 0;
    do {
        size_t n = len - done;
        if (view && n > view)
            n = view;
        /* No tailroom: the byte after the packet's last is outside the block. */
        struct pkt *v = block_alloc(p, p->pool.headroom, n);
        if (!v) {
            pkt_free(head);
            return NULL;
        }
        if (n > 0)
            memcpy(v->data, (const uint8_t *)bytes + done, n);
        v->len = (uint32_t)n;
        v->tailroom = 0;
        *end = v;
        end = &v->next;
        done += n;
    } while (done < len);
    head->total = (uint32_t)len;
    return head;
}
