/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reassembly against a map of bytes. The input chooses fragments of a few datagrams of both
 * families, with any overlap, repetition, end and length, and lets time pass. For each the model,
 * which looks at every byte, says whether the fragment is kept, completes its datagram (then every
 * byte and the header are compared), or is dropped and why, and how many fragments go with it.
 */
#include <stdlib.h>
#include <string.h>

#include "stack/reass.h"
#include "support/heap.h"
#include "wire/proto.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define KEYS    4 /* two IPv4 datagrams, two IPv6 */
#define LONGEST 65536u
#define UNIT    8u

struct datagram {
    bool known;
    enum drop dead;
    tick_t until;
    uint8_t bytes[LONGEST];
    uint8_t owner[LONGEST]; /* fragment that brought the byte, from 1; 0: missing */
    uint32_t start[REASS_FRAGMENTS_MAX], end[REASS_FRAGMENTS_MAX];
    uint32_t n;
    uint32_t last; /* end of the datagram; 0: not known */
    uint32_t high;
    uint32_t headers; /* bytes of header that the length counts, of the first fragment */
    bool first;
    uint8_t ecn_seen;
};

struct world {
    struct heap heap;
    struct heap_pool pool;
    struct wheel wheel;
    struct counters counters;
    struct reass *reass;
    struct datagram d[KEYS];
    uint64_t expected[DROP_END];
    tick_t now;
    uint64_t given_up;
    uint64_t expected_given_up;
};

/* A fragment as the input asks for it. */
struct ask {
    uint32_t start, end;
    uint8_t key, seed, ecn, options, view;
    bool more;
};

static bool is_v6(uint8_t key)
{
    return key >= 2;
}

static uint8_t proto_of(uint8_t key)
{
    return key % 2 ? IP_PROTO_TCP : IP_PROTO_UDP;
}

static void on_given_up(void *ctx, enum drop why, struct pkt *p, tick_t now)
{
    struct world *w = ctx;
    require(why == DROP_FRAG_TIMEOUT || why == DROP_FRAG_TINY || why == DROP_FRAG_TOO_LONG);
    require(now == w->now && (p->data[0] >> 4 == 4 || p->data[0] >> 4 == 6));
    w->given_up++;
    pkt_free(p);
}

/* The model */

static void forget(struct datagram *d)
{
    memset(d, 0, sizeof(*d));
}

static void discard(struct world *w, struct datagram *d, enum drop why)
{
    tick_t until = d->until;
    w->expected[why] += d->n + 1;
    if (why == DROP_FRAG_TINY || why == DROP_FRAG_TOO_LONG)
        w->expected_given_up++;
    forget(d);
    d->known = true;
    d->until = until;
    d->dead = why;
}

static bool touches(const struct datagram *d, const struct ask *a)
{
    for (uint32_t i = a->start; i < a->end; i++)
        if (d->owner[i])
            return true;
    return false;
}

static bool repeats(const struct datagram *d, const struct ask *a)
{
    uint8_t owner = d->owner[a->start];
    return owner && d->start[owner - 1] == a->start && d->end[owner - 1] == a->end;
}

static bool ends_contradict(const struct datagram *d, const struct ask *a)
{
    if (d->last && (a->more ? a->end >= d->last : a->end != d->last))
        return true;
    return !d->last && !a->more && d->high >= a->end;
}

static enum drop verdict(const struct datagram *d, const struct ask *a, uint32_t headers)
{
    if (is_v6(a->key) && a->start == 0 && a->end < (proto_of(a->key) == IP_PROTO_TCP ? 20u : 8u))
        return DROP_FRAG_TINY;
    uint32_t least = a->start == 0 ? headers : d->first ? d->headers : is_v6(a->key) ? 0 : IPV4_LEN;
    if (least + (a->end > d->high ? a->end : d->high) > 65535)
        return DROP_FRAG_TOO_LONG;
    if (ends_contradict(d, a))
        return DROP_FRAG_OVERLAP;
    if (repeats(d, a))
        return DROP_FRAG_DUPLICATE;
    if (touches(d, a))
        return DROP_FRAG_OVERLAP;
    return d->n == REASS_FRAGMENTS_MAX ? DROP_FRAG_LIMIT : DROP_NONE;
}

static uint8_t byte_of(const struct ask *a, uint32_t i)
{
    return (uint8_t)(a->seed * 29 + i * 3);
}

static void keep(struct datagram *d, const struct ask *a, uint32_t headers)
{
    d->start[d->n] = a->start;
    d->end[d->n] = a->end;
    d->n++;
    for (uint32_t i = a->start; i < a->end; i++) {
        d->owner[i] = (uint8_t)d->n;
        d->bytes[i] = byte_of(a, i);
    }
    if (a->end > d->high)
        d->high = a->end;
    if (!a->more)
        d->last = a->end;
    if (a->start == 0) {
        d->first = true;
        d->headers = headers;
    }
    d->ecn_seen |= (uint8_t)(1u << a->ecn);
}

static bool complete(const struct datagram *d)
{
    return d->last && !memchr(d->owner, 0, d->last);
}

/* Is a whole packet due? */
static bool expect(struct world *w, const struct ask *a, uint32_t headers)
{
    struct datagram *d = &w->d[a->key];
    if (!d->known) {
        d->known = true;
        d->until = w->now + (is_v6(a->key) ? 60 : 30) * TICK_SEC;
    }
    if (d->dead) {
        w->expected[d->dead]++;
        return false;
    }
    enum drop why = verdict(d, a, headers);
    if (why == DROP_FRAG_DUPLICATE) {
        w->expected[why]++;
        return false;
    }
    if (why) {
        discard(w, d, why);
        return false;
    }
    keep(d, a, headers);
    if (!complete(d))
        return false;
    if ((d->ecn_seen & 9) == 9) { /* Not-ECT and CE */
        d->n--;                   /* discard counts the last one as arriving */
        discard(w, d, DROP_FRAG_ECN);
        return false;
    }
    return true;
}

static void expect_timeouts(struct world *w)
{
    for (int i = 0; i < KEYS; i++) {
        struct datagram *d = &w->d[i];
        if (!d->known || d->until > w->now)
            continue;
        w->expected[DROP_FRAG_TIMEOUT] += d->n;
        w->expected_given_up += d->first;
        forget(d);
    }
}

/* The real thing */

static uint32_t headers4(const struct ask *a, uint8_t *dst)
{
    struct ipv4_hdr h = {.src = ip_from_v4(0x0a000001),
                         .dst = ip_from_v4(0x0a000002),
                         .id = a->key,
                         .frag_offset = (uint16_t)a->start,
                         .more_fragments = a->more,
                         .tos = a->ecn,
                         .ttl = 1,
                         .proto = proto_of(a->key),
                         .options_len = (uint8_t)(a->options % 11 * 4)};
    memset(h.options, 1, h.options_len);
    h.total_len = (uint16_t)(ipv4_len(&h) + a->end - a->start);
    return (uint32_t)ipv4_emit(&h, false, dst);
}

static uint32_t headers6(const struct ask *a, uint8_t *dst)
{
    bool hop_by_hop = a->options & 1;
    struct ipv6_hdr h = {.src = {{0x20, 1}},
                         .dst = {{0x20, 2}},
                         .total_len =
                             IPV6_LEN + hop_by_hop * 8u + IPV6_FRAG_LEN + a->end - a->start,
                         .traffic_class = a->ecn,
                         .next = hop_by_hop ? IP_PROTO_HOP_BY_HOP : IP_PROTO_FRAGMENT};
    uint8_t *at = dst + ipv6_emit(&h, dst);
    if (hop_by_hop) {
        static const uint8_t ext[8] = {IP_PROTO_FRAGMENT, 0, 1, 4};
        memcpy(at, ext, 8);
        at += 8;
    }
    struct ipv6_frag f = {
        .id = a->key, .offset = (uint16_t)a->start, .more = a->more, .next = proto_of(a->key)};
    at += ipv6_frag_emit(&f, at);
    return (uint32_t)(at - dst);
}

static struct pkt *make(struct world *w, const struct ask *a, uint32_t *header)
{
    uint8_t bytes[128 + 512];
    *header = is_v6(a->key) ? headers6(a, bytes) : headers4(a, bytes);
    uint32_t len = a->end - a->start;
    for (uint32_t i = 0; i < len; i++)
        bytes[*header + i] = byte_of(a, a->start + i);
    uint32_t head = *header + (len < 20 ? len : 20); /* the parser wants all headers in one view */
    if (a->view == 0 || head == *header + len)
        return heap_pkt(&w->pool, bytes, *header + len, 0);
    struct pkt *p = heap_pkt(&w->pool, bytes, head, 0);
    pkt_append(p, heap_pkt(&w->pool, bytes + head, *header + len - head, a->view));
    return p;
}

static void compare(const struct world *w, const struct ask *a, const struct pkt *p)
{
    const struct datagram *d = &w->d[a->key];
    static uint8_t bytes[LONGEST + 128];
    require(pkt_ok(p) && p->flags & PKT_REASSEMBLED);
    int header;
    if (is_v6(a->key)) {
        struct ipv6_hdr h;
        header = ipv6_parse(p->data, p->len, p->total, &h);
        require(header > 0 && !h.frag.present && h.next == proto_of(a->key));
        require(h.total_len == p->total && header == (int)(IPV6_LEN + d->headers));
        require((h.traffic_class == 3) == ((d->ecn_seen & 8) != 0));
    } else {
        struct ipv4_hdr h;
        header = ipv4_parse(p->data, p->len, p->total, false, &h);
        require(header > 0 && !ipv4_is_fragment(&h) && h.proto == proto_of(a->key));
        require(h.total_len == p->total && header == (int)d->headers);
        require((h.tos == 3) == ((d->ecn_seen & 8) != 0));
    }
    require(p->total == (uint32_t)header + d->last);
    pkt_copy_out(p, (uint32_t)header, bytes, d->last);
    require(memcmp(bytes, d->bytes, d->last) == 0);
}

static struct pkt *give(struct world *w, const struct ask *a, struct pkt *p)
{
    if (is_v6(a->key)) {
        struct ipv6_hdr h;
        return ipv6_parse(p->data, p->len, p->total, &h) > 0 ? reass_input6(w->reass, &h, p, w->now)
                                                             : (pkt_free(p), NULL);
    }
    struct ipv4_hdr h;
    return ipv4_parse(p->data, p->len, p->total, false, &h) > 0
               ? reass_input4(w->reass, &h, p, w->now)
               : (pkt_free(p), NULL);
}

/* Would the parser let it through? */
static bool fits(const struct ask *a, uint32_t counted)
{
    return a->end + counted <= 65535;
}

static void fragment(struct world *w, const struct ask *a)
{
    uint32_t header;
    struct pkt *p = make(w, a, &header);
    uint32_t counted = is_v6(a->key) ? header - IPV6_LEN - IPV6_FRAG_LEN : header;
    if (!fits(a, counted)) {
        require(give(w, a, p) == NULL);
        return;
    }
    bool due = expect(w, a, counted);
    struct pkt *whole = give(w, a, p);
    require((whole != NULL) == due);
    if (!whole)
        return;
    compare(w, a, whole);
    pkt_free(whole);
    forget(&w->d[a->key]);
}

static void check(const struct world *w)
{
    uint32_t known = 0;
    for (int i = 0; i < KEYS; i++)
        known += w->d[i].known;
    require(reass_datagrams(w->reass) == known);
    for (int why = DROP_NONE + 1; why < DROP_END; why++)
        require(counter_drops(&w->counters, (enum drop)why) == w->expected[why]);
    require(w->given_up == w->expected_given_up);
}

/* Six bytes of input are a fragment or a wait. */
static void step(struct world *w, const uint8_t *in)
{
    if (in[0] >= 0xf8) {
        w->now += in[1] % 64u * TICK_SEC;
        wheel_expire(&w->wheel, w->now);
        expect_timeouts(w);
        return;
    }
    struct ask a = {.key = in[0] % KEYS,
                    .more = in[0] & 4,
                    .options = in[0] & 8 ? in[4] : 0,
                    .seed = in[3],
                    .ecn = in[4] >> 6,
                    .view = in[5] % 32};
    uint32_t at = in[1];
    if (in[0] & 16)
        at = in[0] & 32 ? 8191 - at / 4 : at * 32;
    a.start = at * UNIT;
    uint32_t len = in[2] + 1u;
    a.end = a.start + (a.more ? (len + 7) / 8 * UNIT : len);
    if (!a.more && a.start == 0)
        return; /* not a fragment */
    fragment(w, &a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = calloc(1, sizeof(*w));
    require(w != NULL);
    heap_init(&w->heap);
    heap_pool_init(&w->pool, 16, 2048);
    wheel_init(&w->wheel, 0);
    struct reass_args args = {.mem = &w->heap.mem,
                              .wheel = &w->wheel,
                              .pool = &w->pool.pool,
                              .counters = &w->counters,
                              .limits = {.datagrams = KEYS, .per_source = KEYS},
                              .given_up = on_given_up,
                              .ctx = w};
    w->reass = reass_create(&args);
    require(w->reass != NULL);
    for (; size >= 6; data += 6, size -= 6) {
        step(w, data);
        check(w);
    }
    reass_destroy(w->reass);
    require(w->wheel.armed == 0 && w->pool.held == 0 && w->heap.blocks == 0);
    free(w);
    return 0;
}
