/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets against flat byte arrays. A handful of packets are made, cut, joined, sliced, copied,
 * written and freed as the input says; after each step every packet must hold the bytes of its
 * array. A write that sharing should have refused shows as a change in another packet.
 */
#include <stdlib.h>
#include <string.h>

#include "buf/pkt.h"
#include "support/heap.h"

#define SLOTS    6
#define HEADROOM 24
#define ROOM     40
#define LONGEST  512

#define require(ok) ((ok) ? (void)0 : abort())

struct input {
    const uint8_t *at;
    size_t left;
};

static uint8_t take(struct input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

/* [0, n] */
static uint32_t take_upto(struct input *in, uint32_t n)
{
    uint32_t v = (uint32_t)take(in) << 8;
    v |= take(in);
    return v % (n + 1);
}

struct model {
    struct pkt *pkt; /* NULL: no packet in this slot */
    uint8_t bytes[LONGEST];
    uint32_t len;
};

struct world {
    struct heap_pool pool;
    struct model m[SLOTS];
    uint8_t next; /* bytes written are numbered on */
};

static void check(const struct model *m)
{
    uint8_t out[LONGEST];
    if (!m->pkt)
        return;
    require(pkt_ok(m->pkt));
    require(m->pkt->total == m->len);
    pkt_copy_out(m->pkt, 0, out, m->len);
    require(memcmp(out, m->bytes, m->len) == 0);
}

/* Fills bytes of a packet and of its model alike. */
static void fill(struct world *w, uint8_t *bytes, uint8_t *model, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        bytes[i] = model[i] = w->next++;
}

static void clear(struct model *m)
{
    pkt_free(m->pkt);
    m->pkt = NULL;
    m->len = 0;
}

static void make(struct world *w, struct model *m, struct input *in)
{
    clear(m);
    if (take(in) & 1) {
        m->pkt = pkt_alloc(&w->pool.pool);
        return;
    }
    uint8_t bytes[LONGEST];
    m->len = take_upto(in, 100);
    fill(w, bytes, m->bytes, m->len);
    m->pkt = heap_pkt(&w->pool, bytes, m->len, take_upto(in, 20));
    if (!m->pkt)
        m->len = 0;
}

static void push(struct world *w, struct model *m, struct input *in)
{
    uint16_t n = (uint16_t)take_upto(in, HEADROOM);
    if (m->len + n > LONGEST)
        return;
    bool may = n <= m->pkt->headroom && pkt_writable(m->pkt);
    uint8_t *at = pkt_push(m->pkt, n);
    require((at != NULL) == may);
    if (!at)
        return;
    memmove(m->bytes + n, m->bytes, m->len);
    m->len += n;
    fill(w, at, m->bytes, n);
}

static void put(struct world *w, struct model *m, struct input *in)
{
    uint32_t n = take_upto(in, ROOM);
    if (m->pkt->next || m->len + n > LONGEST)
        return;
    uint8_t *at = pkt_put(m->pkt, n);
    if (!at)
        return;
    fill(w, at, m->bytes + m->len, n);
    m->len += n;
}

static void pull(struct model *m, struct input *in)
{
    uint32_t n = take_upto(in, m->pkt->len);
    pkt_pull(m->pkt, n);
    m->len -= n;
    memmove(m->bytes, m->bytes + n, m->len);
}

static void advance(struct model *m, struct input *in)
{
    uint32_t n = take_upto(in, m->len);
    m->pkt = pkt_advance(m->pkt, n);
    m->len -= n;
    memmove(m->bytes, m->bytes + n, m->len);
}

static void append(struct model *m, struct model *tail)
{
    if (m == tail || !tail->pkt || m->len + tail->len > LONGEST)
        return;
    pkt_append(m->pkt, tail->pkt);
    memcpy(m->bytes + m->len, tail->bytes, tail->len);
    m->len += tail->len;
    tail->pkt = NULL;
    tail->len = 0;
}

static void pullup(struct model *m, struct input *in)
{
    uint32_t n = take_upto(in, m->len + 2);
    uint32_t before = m->pkt->len;
    bool may =
        n <= before || (n <= m->len && n - before <= m->pkt->tailroom && pkt_writable(m->pkt));
    bool did = pkt_pullup(m->pkt, n);
    require(did == may);
    require(m->pkt->len == (did && n > before ? n : before));
}

static void slice(struct world *w, struct model *m, struct model *to, struct input *in)
{
    if (m == to)
        return;
    clear(to);
    uint32_t offset = take_upto(in, m->len);
    uint32_t len = take_upto(in, m->len - offset);
    to->pkt = pkt_slice(&w->pool.pool, m->pkt, offset, len);
    if (!to->pkt)
        return;
    memcpy(to->bytes, m->bytes + offset, len);
    to->len = len;
}

static void copy(struct world *w, struct model *m, struct model *to)
{
    if (m == to)
        return;
    clear(to);
    to->pkt = pkt_copy(&w->pool.pool, m->pkt);
    if (!to->pkt)
        return;
    pkt_for_each (v, to->pkt)
        require(pkt_writable(v));
    memcpy(to->bytes, m->bytes, m->len);
    to->len = m->len;
}

/* Writes over each view that may be written. */
static void overwrite(struct world *w, struct model *m)
{
    uint32_t at = 0;
    pkt_for_each (v, m->pkt) {
        if (pkt_writable(v))
            fill(w, v->data, m->bytes + at, v->len);
        at += v->len;
    }
}

static void step(struct world *w, struct input *in)
{
    uint8_t op = take(in);
    uint8_t which = take(in);
    struct model *m = &w->m[which % SLOTS];
    struct model *other = &w->m[(which / SLOTS) % SLOTS];
    if (!m->pkt) {
        make(w, m, in);
        return;
    }
    switch (op % 13) {
    case 0: make(w, m, in); break;
    case 1: push(w, m, in); break;
    case 2: put(w, m, in); break;
    case 3: pull(m, in); break;
    case 4:
        m->len = take_upto(in, m->len);
        pkt_trim(m->pkt, m->len);
        break;
    case 5: append(m, other); break;
    case 6: pullup(m, in); break;
    case 7:
    case 8: slice(w, m, other, in); break;
    case 9: copy(w, m, other); break;
    case 10: overwrite(w, m); break;
    case 11: advance(m, in); break;
    default: clear(m); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct world w = {0};
    heap_pool_init(&w.pool, HEADROOM, ROOM);
    if (take(&in) & 1)
        w.pool.limit = take(&in);
    while (in.left > 0) {
        step(&w, &in);
        for (int i = 0; i < SLOTS; i++)
            check(&w.m[i]);
    }
    for (int i = 0; i < SLOTS; i++)
        clear(&w.m[i]);
    require(w.pool.held == 0);
    return 0;
}
