/* SPDX-License-Identifier: BSD-3-Clause */
/* The frames that wait to be sent, as bytes. */
#include <string.h>

#include "http2/internal.h"

#define FIRST_ROOM 512u

static bool grow(struct h2_queue *q, struct mem *mem, uint32_t n)
{
    uint32_t bytes = h2_queue_bytes(q);
    uint32_t room = q->room ? q->room : FIRST_ROOM;
    while (room - bytes < n)
        room *= 2;
    uint8_t *to = mem_alloc(mem, room, 1);
    if (!to)
        return false;
    if (bytes > 0)
        memcpy(to, q->bytes + q->at, bytes);
    mem_free(mem, q->bytes, q->room);
    *q = (struct h2_queue){.bytes = to, .used = bytes, .room = room};
    return true;
}

uint8_t *h2_queue_room(struct h2_conn *c, uint32_t n)
{
    struct h2_queue *q = &c->out;
    assert(n <= H2_FRAME_SIZE_MAX && "one frame, so that room cannot overflow");
    if (q->room - q->used < n && !grow(q, h2_mem(c), n)) {
        if (!h2_has(c, H2_CONN_FAILED))
            h2_fail(c, H2_INTERNAL_ERROR);
        return NULL;
    }
    return q->bytes + q->used;
}

uint32_t h2_queue_take(struct h2_queue *q, uint8_t *out, uint32_t room)
{
    uint32_t n = h2_queue_bytes(q);
    if (n > room)
        n = room;
    if (n > 0)
        memcpy(out, q->bytes + q->at, n);
    q->at += n;
    if (q->at == q->used)
        q->at = q->used = 0;
    return n;
}

void h2_queue_tidy(struct h2_queue *q, struct mem *mem)
{
    assert(h2_queue_bytes(q) == 0);
    mem_free(mem, q->bytes, q->room);
    *q = (struct h2_queue){0};
}
