/* SPDX-License-Identifier: BSD-3-Clause */
#include "buf/pkt.h"

#include <string.h>

#include "base/invariant.h"

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint16_t clamp_u16(uint32_t n)
{
    return (uint16_t)min_u32(n, UINT16_MAX);
}

/* One reference to one view, whatever follows it. */
static void view_put(struct pkt *v)
{
    assert(v->refs > 0 && "each reference is given up once");
    if (--v->refs > 0)
        return;
    v->next = NULL;
    v->base = NULL;
    v->ops->free(v);
}

static void view_free(struct pkt *v)
{
    struct pkt *base = v->base;
    v->next = NULL; /* an owner that lives on for its slices stands in no chain */
    view_put(v);
    if (base)
        view_put(base);
}

void pkt_free(struct pkt *p)
{
    while (p) {
        struct pkt *next = p->next;
        view_free(p);
        p = next;
    }
}

static bool view_ok(const struct pkt *v)
{
    if (v->refs == 0 || !v->ops || (v->len > 0 && !v->data))
        return false;
    return !v->base || (v->refs == 1 && v->base->refs > 0 && !v->base->base);
}

bool pkt_ok(const struct pkt *p)
{
    uint64_t bytes = 0;
    for (const struct pkt *v = p; v; v = v->next) {
        if (!view_ok(v))
            return false;
        bytes += v->len;
    }
    return bytes == p->total;
}

/* All that is the head's only, but total. */
static void copy_metadata(struct pkt *to, const struct pkt *from)
{
    to->flags = from->flags;
    to->iface = from->iface;
    to->vlan = from->vlan;
    to->tso_mss = from->tso_mss;
    to->l2_len = from->l2_len;
    to->l3_len = from->l3_len;
    to->l4_len = from->l4_len;
    to->l4_proto = from->l4_proto;
    to->hash = from->hash;
    to->user = from->user;
}

static struct pkt *last_view(struct pkt *p)
{
    while (p->next)
        p = p->next;
    return p;
}

/* p without its head view, which is freed. */
static struct pkt *behead(struct pkt *p)
{
    struct pkt *head = p->next;
    copy_metadata(head, p);
    head->total = p->total - p->len;
    view_free(p);
    return head;
}

struct pkt *pkt_advance(struct pkt *p, uint32_t n)
{
    assert(n <= p->total && "only what is there can leave");
    while (n >= p->len && p->next) {
        n -= p->len;
        p = behead(p);
    }
    pkt_pull(p, n);
    invariant(pkt_ok(p));
    return p;
}

/* Gives the bytes of v from len on back to its tailroom. */
static void view_cut(struct pkt *v, uint32_t len)
{
    v->tailroom = clamp_u16(v->tailroom + (v->len - len));
    v->len = len;
}

void pkt_trim(struct pkt *p, uint32_t total)
{
    assert(total <= p->total && "trim does not extend");
    struct pkt *v = p;
    uint32_t left = total;
    while (left > v->len) {
        left -= v->len;
        v = v->next;
    }
    view_cut(v, left);
    pkt_free(v->next);
    v->next = NULL;
    p->total = total;
    invariant(pkt_ok(p));
}

void pkt_append(struct pkt *head, struct pkt *tail)
{
    assert(head != tail && tail->total <= UINT32_MAX - head->total);
    if (tail->total == 0) {
        pkt_free(tail);
        return;
    }
    last_view(head)->next = tail;
    head->total += tail->total;
    invariant(pkt_ok(head));
}

/* Moves n bytes from the front of v to dst. */
static void view_take(struct pkt *v, uint8_t *dst, uint32_t n)
{
    memcpy(dst, v->data, n);
    v->data += n;
    v->len -= n;
    v->headroom = clamp_u16(v->headroom + n);
}

bool pkt_pullup(struct pkt *p, uint32_t n)
{
    if (n <= p->len)
        return true;
    if (n > p->total || n - p->len > p->tailroom || !pkt_writable(p))
        return false;
    p->tailroom = (uint16_t)(p->tailroom - (n - p->len));
    while (p->len < n) {
        struct pkt *v = p->next;
        uint32_t take = min_u32(v->len, n - p->len);
        if (take > 0)
            view_take(v, p->data + p->len, take);
        p->len += take;
        if (v->len == 0) {
            p->next = v->next;
            view_free(v);
        }
    }
    invariant(pkt_ok(p));
    return true;
}

/* The view that holds the byte at *offset of the chain, which becomes the offset in that view. */
static const struct pkt *view_at(const struct pkt *p, uint32_t *offset)
{
    while (*offset >= p->len && p->next) {
        *offset -= p->len;
        p = p->next;
    }
    return p;
}

void pkt_copy_out(const struct pkt *p, uint32_t offset, void *dst, uint32_t len)
{
    assert(offset <= p->total && len <= p->total - offset && "the range lies in the packet");
    uint8_t *to = dst;
    for (const struct pkt *v = view_at(p, &offset); len > 0; v = v->next, offset = 0) {
        uint32_t n = min_u32(len, v->len - offset);
        if (n == 0)
            continue;
        memcpy(to, v->data + offset, n);
        to += n;
        len -= n;
    }
}

bool pkt_merge(struct pkt *v, struct pkt *p)
{
    uint32_t n = p->total;
    if (n > PKT_MERGE_MAX || n > v->tailroom || !pkt_writable(v))
        return false;
    pkt_copy_out(p, 0, v->data + v->len, n);
    v->len += n;
    v->tailroom = (uint16_t)(v->tailroom - n);
    pkt_free(p);
    return true;
}

static struct pkt *view_slice(struct pkt_pool *pool, struct pkt *v, uint32_t offset, uint32_t len)
{
    struct pkt *s = pool->alloc_view(pool);
    if (!s)
        return NULL;
    s->base = v->base ? v->base : v;
    s->base->refs++;
    s->data = v->data + offset;
    s->len = len;
    s->headroom = clamp_u16(v->headroom + offset);
    s->tailroom = clamp_u16(v->tailroom + (v->len - offset - len));
    return s;
}

struct pkt *pkt_slice(struct pkt_pool *pool, struct pkt *p, uint32_t offset, uint32_t len)
{
    assert(offset <= p->total && len <= p->total - offset && "the range lies in the packet");
    struct pkt *v = (struct pkt *)view_at(p, &offset); /* p is not const */
    struct pkt *head = NULL;
    struct pkt **end = &head;
    uint32_t left = len;
    do {
        uint32_t n = min_u32(left, v->len - offset);
        if (n > 0 || left == 0) {
            *end = view_slice(pool, v, offset, n);
            if (!*end)
                goto fail;
            end = &(*end)->next;
        }
        left -= n;
        offset = 0;
        v = v->next;
    } while (left > 0);
    head->total = len;
    copy_metadata(head, p);
    invariant(pkt_ok(head));
    return head;

fail:
    pkt_free(head);
    return NULL;
}

struct pkt *pkt_alloc_len(struct pkt_pool *pool, uint32_t len)
{
    struct pkt *head = NULL;
    struct pkt **end = &head;
    uint32_t left = len;
    do {
        struct pkt *v = pkt_alloc(pool);
        if (!v) {
            pkt_free(head);
            return NULL;
        }
        assert(v->tailroom > 0 && "a pool's packets have room");
        uint32_t n = min_u32(left, v->tailroom);
        pkt_put(v, n);
        *end = v;
        end = &v->next;
        left -= n;
    } while (left > 0);
    head->total = len;
    return head;
}

struct pkt *pkt_copy(struct pkt_pool *pool, const struct pkt *p)
{
    struct pkt *copy = pkt_alloc_len(pool, p->total);
    if (!copy)
        return NULL;
    uint32_t done = 0;
    pkt_for_each (v, copy) {
        pkt_copy_out(p, done, v->data, v->len);
        done += v->len;
    }
    copy_metadata(copy, p);
    return copy;
}

uint32_t pkt_cost(const struct pkt *p)
{
    uint32_t cost = 0;
    for (const struct pkt *v = p; v; v = v->next)
        cost += PKT_COST;
    return cost;
}
