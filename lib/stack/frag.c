/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/frag.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/proto.h"

/* A packet and how it is cut. */
struct cut {
    const struct pkt *p;
    struct pkt_pool *pool;
    uint32_t mtu;
    uint32_t from;                       /* offset in p of what is cut */
    uint32_t len;                        /* bytes of it */
    uint32_t header_first, header_later; /* bytes of header in each fragment */
    void (*header)(const struct cut *c, uint32_t done, uint32_t n, uint8_t *dst);
    struct ipv4_hdr v4, v4_later; /* v4_later: with the options that go into every fragment */
    struct ipv6_hdr v6;
    uint32_t v6_id;
    uint16_t v6_named_at; /* the next-header field that comes to name the fragment header */
};

static uint32_t header_len(const struct cut *c, uint32_t done)
{
    return done == 0 ? c->header_first : c->header_later;
}

/* Bytes of the fragment that begins at `done`. All but the last hold a multiple of 8: RFC 791 3.2,
 * RFC 8200 4.5 */
static uint32_t piece(const struct cut *c, uint32_t done)
{
    uint32_t room = c->mtu - header_len(c, done);
    uint32_t left = c->len - done;
    return left <= room ? left : room & ~UINT32_C(7);
}

static uint32_t views_for(const struct cut *c, uint32_t bytes)
{
    return (bytes + c->pool->room - 1) / c->pool->room;
}

static uint32_t count_views(const struct cut *c)
{
    uint32_t views = 0;
    for (uint32_t done = 0; done < c->len; done += piece(c, done))
        views += views_for(c, header_len(c, done) + piece(c, done));
    return views;
}

/* So many empty packets, linked by next. NULL: the pool has fewer. */
static struct pkt *reserve(struct pkt_pool *pool, uint32_t n)
{
    struct pkt *stock = NULL;
    while (n-- > 0) {
        struct pkt *v = pkt_alloc(pool);
        if (!v) {
            pkt_free(stock);
            return NULL;
        }
        v->next = stock;
        stock = v;
    }
    return stock;
}

static void copy_payload(const struct cut *c, uint32_t done, uint32_t n, struct pkt *v)
{
    pkt_copy_out(c->p, c->from + done, pkt_put(v, n), n);
}

/* One fragment of the n bytes at `done`, from as many views of the stock as it needs. */
static struct pkt *build(const struct cut *c, uint32_t done, uint32_t n, struct pkt **stock)
{
    uint32_t header = header_len(c, done);
    struct pkt *head = NULL;
    struct pkt **end = &head;
    uint32_t room = c->pool->room - header;
    for (uint32_t at = 0; at < n; room = c->pool->room) {
        struct pkt *v = *stock;
        *stock = v->next;
        v->next = NULL;
        if (!head)
            c->header(c, done, n, pkt_put(v, header));
        uint32_t part = n - at < room ? n - at : room;
        copy_payload(c, done + at, part, v);
        at += part;
        *end = v;
        end = &v->next;
    }
    head->total = header + n;
    head->iface = c->p->iface;
    head->vlan = c->p->vlan;
    head->flags = c->p->flags & PKT_TX_VLAN;
    return head;
}

static int cut(const struct cut *c, frag_emit emit, void *ctx)
{
    uint32_t longest = c->header_first > c->header_later ? c->header_first : c->header_later;
    if (longest + 8 > c->mtu || longest >= c->pool->room)
        return FRAG_E_MTU;
    struct pkt *stock = reserve(c->pool, count_views(c));
    if (!stock)
        return FRAG_E_MEMORY;
    int fragments = 0;
    for (uint32_t done = 0; done < c->len; fragments++) {
        uint32_t n = piece(c, done);
        emit(ctx, build(c, done, n, &stock));
        done += n;
    }
    assert(!stock && "as many views as were counted");
    return fragments;
}

static void header4(const struct cut *c, uint32_t done, uint32_t n, uint8_t *dst)
{
    struct ipv4_hdr h = done == 0 ? c->v4 : c->v4_later;
    h.total_len = (uint16_t)(header_len(c, done) + n);
    h.frag_offset = (uint16_t)(h.frag_offset + done);
    h.more_fragments = h.more_fragments || done + n < c->len;
    ipv4_emit(&h, false, dst);
}

static int plan4(struct cut *c)
{
    int header = ipv4_parse(c->p->data, c->p->len, c->p->total, true, &c->v4);
    if (header < 0 || c->v4.total_len != c->p->total)
        return FRAG_E_HEADER;
    if (c->v4.dont_fragment)
        return FRAG_E_DONT_FRAGMENT;
    c->header = header4;
    c->from = c->header_first = (uint32_t)header;
    c->v4_later = c->v4;
    c->v4_later.options_len =
        (uint8_t)ipv4_options_copied(c->v4.options, c->v4.options_len, c->v4_later.options);
    c->header_later = (uint32_t)ipv4_len(&c->v4_later);
    return 0;
}

static void header6(const struct cut *c, uint32_t done, uint32_t n, uint8_t *dst)
{
    pkt_copy_out(c->p, 0, dst, c->from);
    struct ipv6_frag f = {
        .id = c->v6_id,
        .offset = (uint16_t)done,
        .next = dst[c->v6_named_at],
        .more = done + n < c->len,
    };
    dst[c->v6_named_at] = IP_PROTO_FRAGMENT;
    store_be16(dst + 4, (uint16_t)(header_len(c, done) + n - IPV6_LEN));
    ipv6_frag_emit(&f, dst + c->from);
}

/*
 * Finds the end of the headers that go into every fragment: up to and with the routing header, else
 * the hop-by-hop header, else the fixed one (RFC 8200 4.5). The parser has accepted the chain.
 */
static void find_cut6(struct cut *c)
{
    const uint8_t *ip = c->p->data;
    uint32_t at = IPV6_LEN;
    uint32_t field = 6; /* of the next header, in the fixed header */
    c->from = at;
    c->v6_named_at = (uint16_t)field;
    while (at < c->v6.upper_at) {
        uint8_t type = ip[field];
        field = at;
        at += 8 + 8u * ip[at + 1];
        if (type == IP_PROTO_HOP_BY_HOP || type == IP_PROTO_ROUTING) {
            c->from = at;
            c->v6_named_at = (uint16_t)field;
        }
    }
}

static int plan6(struct cut *c)
{
    int upper = ipv6_parse(c->p->data, c->p->len, c->p->total, &c->v6);
    if (upper < 0 || c->v6.total_len != c->p->total || c->v6.frag.present)
        return FRAG_E_HEADER;
    find_cut6(c);
    c->header = header6;
    c->header_first = c->header_later = c->from + IPV6_FRAG_LEN;
    /* RFC 7112 5: the first fragment holds all headers, and eight bytes of the upper layer's at
     * least. */
    return (uint32_t)upper + IPV6_FRAG_LEN + 8 > c->mtu ? FRAG_E_MTU : 0;
}

int frag_cut(struct pkt_pool *pool, const struct pkt *p, uint16_t mtu, uint32_t id, frag_emit emit,
             void *ctx)
{
    assert(!(p->flags & (PKT_TX_L4_CSUM | PKT_TX_TSO)) && "no device can finish a fragment");
    assert(p->total > mtu && "what fits is not cut");
    struct cut c = {.p = p, .pool = pool, .mtu = mtu, .v6_id = id};
    if (p->len == 0)
        return FRAG_E_HEADER;
    int error = p->data[0] >> 4 == 4 ? plan4(&c) : plan6(&c);
    c.len = p->total - c.from;
    return error ? error : cut(&c, emit, ctx);
}
