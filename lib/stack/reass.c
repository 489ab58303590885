/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/reass.h"

#include <string.h>

#include "base/bytes.h"
#include "base/invariant.h"
#include "base/list.h"
#include "wire/checksum.h"

#define LENGTH_MAX 65535u /* what a total length (IPv4) or payload length (IPv6) can say */

enum {
    ECN_MASK = 3, /* of the traffic class; RFC 3168 5 */
    ECN_NOT_ECT = 0,
    ECN_CE = 3,
};

/* RFC 791 3.2, RFC 8200 4.5. The interface too: link-local addresses mean something on one link
 * only. */
struct key {
    struct ip_addr src, dst;
    uint32_t id;
    uint16_t iface;
    uint8_t proto; /* 0 in IPv6, where the fragment header's next header is the first fragment's to
                      say */
};

/* What is known of an arriving fragment. Positions count bytes of the fragmentable part. */
struct fragment {
    struct key key;
    uint32_t start, end;  /* start < end */
    uint16_t header;      /* bytes before the fragmentable part */
    uint16_t counted;     /* bytes that the length field counts beside the fragmentable part */
    uint16_t counted_min; /* the least that it can be in a first fragment */
    uint16_t named_at;    /* IPv6: offset of the field that names the fragment header */
    uint8_t next;         /* IPv6: what the fragment header names */
    uint8_t ecn;
    bool more;
    bool tiny;
    tick_t timeout;
};

struct held {
    struct pkt
        *pkt; /* the first fragment's begins at its IP header, the others' behind their headers */
    uint32_t start, end;
};

struct datagram {
    struct list in_bucket; /* youngest first */
    struct list in_age;    /* of r->live, r->dead or r->unused */
    struct timer timer;
    struct reass *reass;
    struct key key;
    enum drop dead;            /* why it was given up, or DROP_NONE; then it holds nothing */
    uint32_t bytes;            /* of buffers held */
    uint32_t got;              /* bytes of the fragmentable part held */
    uint32_t end;              /* of the fragmentable part; 0: last fragment not seen */
    uint32_t counted;          /* as in struct fragment; the first fragment's, once it is there */
    uint16_t header, named_at; /* the first fragment's, once it is there */
    uint8_t next;
    uint8_t ecn_seen; /* a bit for each codepoint */
    uint32_t n;
    struct held held[REASS_FRAGMENTS_MAX]; /* sorted, disjoint */
};

struct reass {
    struct reass_args args;
    struct list live, dead; /* oldest first */
    struct list unused;
    uint32_t datagrams; /* live and dead */
    uint32_t bytes;
    uint32_t mask; /* of bucket */
    struct list *bucket;
    struct datagram *all;
};

static bool datagram_ok(const struct datagram *d)
{
    uint32_t at = 0, got = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        const struct held *h = &d->held[i];
        if (h->start < at || h->end <= h->start || !pkt_ok(h->pkt))
            return false;
        at = h->end;
        got += h->end - h->start;
    }
    return got == d->got && (d->end == 0 || at <= d->end) && !(d->dead && (d->n || d->bytes));
}

static bool reass_ok(const struct reass *r)
{
    uint32_t datagrams = 0, bytes = 0;
    for (uint32_t i = 0; i < r->args.limits.datagrams; i++) {
        const struct datagram *d = &r->all[i];
        if (!datagram_ok(d) || timer_armed(&d->timer) != list_linked(&d->in_bucket))
            return false;
        datagrams += list_linked(&d->in_bucket);
        bytes += d->bytes;
    }
    return datagrams == r->datagrams && bytes == r->bytes && bytes <= r->args.limits.bytes;
}

static void take_defaults(struct reass_limits *l)
{
    if (l->datagrams == 0)
        l->datagrams = 256;
    if (l->per_source == 0)
        l->per_source = l->datagrams < 8 ? 1 : l->datagrams / 8;
    if (l->bytes == 0)
        l->bytes = UINT32_C(4) << 20;
    if (l->timeout4 == 0)
        l->timeout4 = 30 * TICK_SEC;
    if (l->timeout6 == 0)
        l->timeout6 = 60 * TICK_SEC;
}

static size_t buckets_size(const struct reass *r)
{
    return ((size_t)r->mask + 1) * sizeof(struct list);
}

static size_t datagrams_size(const struct reass *r)
{
    return (size_t)r->args.limits.datagrams * sizeof(struct datagram);
}

static void on_timeout(struct timer *t, tick_t now);

struct reass *reass_create(const struct reass_args *args)
{
    struct reass *r = mem_alloc(args->mem, sizeof(*r), _Alignof(struct reass));
    if (!r)
        return NULL;
    r->args = *args;
    take_defaults(&r->args.limits);
    uint32_t buckets = 1;
    while (buckets < r->args.limits.datagrams)
        buckets <<= 1;
    r->mask = buckets - 1;
    r->bucket = mem_alloc(args->mem, buckets_size(r), _Alignof(struct list));
    if (!r->bucket)
        goto no_buckets;
    r->all = mem_alloc(args->mem, datagrams_size(r), _Alignof(struct datagram));
    if (!r->all)
        goto no_datagrams;
    list_init(&r->live);
    list_init(&r->dead);
    list_init(&r->unused);
    for (uint32_t i = 0; i < buckets; i++)
        list_init(&r->bucket[i]);
    for (uint32_t i = 0; i < r->args.limits.datagrams; i++) {
        struct datagram *d = &r->all[i];
        d->reass = r;
        timer_init(&d->timer, on_timeout);
        list_init(&d->in_bucket);
        list_push_back(&r->unused, &d->in_age);
    }
    return r;

no_datagrams:
    mem_free(args->mem, r->bucket, buckets_size(r));
no_buckets:
    mem_free(args->mem, r, sizeof(*r));
    return NULL;
}

static struct datagram *of_age(struct list *node)
{
    return container_of(node, struct datagram, in_age);
}

/* Lets go of what d holds, the first `keep` fragments uncounted and not freed. */
static void drop_held(struct datagram *d, uint32_t keep, enum drop why)
{
    struct reass *r = d->reass;
    for (uint32_t i = 0; i < d->n; i++) {
        if (why)
            counter_drop(r->args.counters, why);
        if (i >= keep)
            pkt_free(d->held[i].pkt);
    }
    r->bytes -= d->bytes;
    d->bytes = 0;
    d->got = 0;
    d->n = 0;
}

/* d, which holds nothing any more, is free for another. */
static void retire(struct datagram *d)
{
    assert(d->n == 0 && d->bytes == 0);
    struct reass *r = d->reass;
    wheel_cancel(r->args.wheel, &d->timer);
    list_remove(&d->in_bucket);
    list_remove(&d->in_age);
    list_push_front(&r->unused, &d->in_age);
    r->datagrams--;
}

static void evict(struct datagram *d)
{
    drop_held(d, 0, DROP_FRAG_LIMIT);
    retire(d);
}

/* Nothing can come of d. Its entry stays to tell its later fragments from a new datagram's. */
static void give_up(struct datagram *d, enum drop why)
{
    drop_held(d, 0, why);
    d->dead = why;
    list_remove(&d->in_age);
    list_push_back(&d->reass->dead, &d->in_age);
}

void reass_destroy(struct reass *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->args.limits.datagrams; i++) {
        drop_held(&r->all[i], 0, DROP_NONE);
        wheel_cancel(r->args.wheel, &r->all[i].timer);
    }
    struct mem *mem = r->args.mem;
    mem_free(mem, r->all, datagrams_size(r));
    mem_free(mem, r->bucket, buckets_size(r));
    mem_free(mem, r, sizeof(*r));
}

/* The counted packet p may call for an ICMP error. */
static void report(const struct reass *r, enum drop why, struct pkt *p, tick_t now)
{
    if (r->args.given_up)
        r->args.given_up(r->args.ctx, why, p, now);
    else
        pkt_free(p);
}

static bool has_first(const struct datagram *d)
{
    return d->n > 0 && d->held[0].start == 0;
}

static void on_timeout(struct timer *t, tick_t now)
{
    struct datagram *d = container_of(t, struct datagram, timer);
    struct reass *r = d->reass;
    struct pkt *first = has_first(d) ? d->held[0].pkt : NULL;
    drop_held(d, first != NULL, DROP_FRAG_TIMEOUT);
    retire(d);
    invariant(reass_ok(r));
    if (first)
        report(r, DROP_FRAG_TIMEOUT, first, now); /* RFC 1122 3.3.2, RFC 8200 4.5 */
}

static bool key_eq(const struct key *a, const struct key *b)
{
    return a->id == b->id && a->iface == b->iface && a->proto == b->proto &&
           ip_eq(&a->src, &b->src) && ip_eq(&a->dst, &b->dst);
}

/*
 * Buckets go by the source alone, so that one walk finds the datagram, or how many others the
 * source has and which of them is the oldest. The bound per source is what keeps that walk short.
 */
static struct list *bucket_of(const struct reass *r, const struct ip_addr *src)
{
    return &r->bucket[siphash13(&r->args.key, src->b, sizeof(src->b)) & r->mask];
}

struct found {
    struct datagram *datagram; /* NULL: a new one */
    struct datagram *oldest;   /* of the same source */
    uint32_t n;                /* of the same source; right only without a datagram */
};

static struct found find(struct list *bucket, const struct key *k)
{
    struct found found = {0};
    list_for_each (it, bucket) {
        struct datagram *d = container_of(it, struct datagram, in_bucket);
        if (key_eq(&d->key, k)) {
            found.datagram = d;
            break;
        }
        if (ip_eq(&d->key.src, &k->src)) {
            found.oldest = d;
            found.n++;
        }
    }
    return found;
}

static struct datagram *start(struct reass *r, struct list *bucket, const struct fragment *f,
                              tick_t now)
{
    if (list_empty(&r->unused))
        evict(of_age(list_first(list_empty(&r->dead) ? &r->live : &r->dead)));
    struct datagram *d = of_age(list_first(&r->unused));
    list_remove(&d->in_age);
    list_push_back(&r->live, &d->in_age);
    list_push_front(bucket, &d->in_bucket);
    d->key = f->key;
    d->dead = DROP_NONE;
    d->end = 0;
    d->counted = f->counted_min;
    d->ecn_seen = 0;
    r->datagrams++;
    wheel_arm(r->args.wheel, &d->timer, tick_after(now, f->timeout));
    return d;
}

static struct datagram *find_or_start(struct reass *r, const struct fragment *f, tick_t now)
{
    struct list *bucket = bucket_of(r, &f->key.src);
    struct found found = find(bucket, &f->key);
    if (found.datagram)
        return found.datagram;
    if (found.n >= r->args.limits.per_source)
        evict(found.oldest);
    return start(r, bucket, f, now);
}

/* The end of what is held. */
static uint32_t highest(const struct datagram *d)
{
    return d->n ? d->held[d->n - 1].end : 0;
}

static bool too_long(const struct datagram *d, const struct fragment *f)
{
    uint32_t counted = f->start == 0 ? f->counted : d->counted;
    uint32_t end = f->end > highest(d) ? f->end : highest(d);
    return counted + end > LENGTH_MAX;
}

/* Does f deny the end that others gave the datagram, or they the end that it gives? */
static bool ends_disagree(const struct datagram *d, const struct fragment *f)
{
    if (f->more)
        return d->end > 0 && f->end >= d->end;
    return d->end > 0 ? f->end != d->end : f->end <= highest(d);
}

/* Where f belongs: the first place whose fragment does not lie wholly before it. */
static uint32_t place_of(const struct datagram *d, const struct fragment *f)
{
    if (f->start >= highest(d))
        return d->n; /* in order, the common case */
    uint32_t low = 0;
    uint32_t high = d->n - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (d->held[middle].end <= f->start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Memory that p keeps from others: whole buffers, however few bytes of them it uses. */
static uint32_t pinned(const struct pkt *p)
{
    uint32_t bytes = 0;
    for (const struct pkt *v = p; v; v = v->next)
        bytes += (uint32_t)sizeof(*v) + v->headroom + v->len + v->tailroom;
    return bytes;
}

/* Makes room for so many bytes more by what is older than d. False where d itself is the oldest. */
static bool make_room(struct datagram *d, uint32_t bytes)
{
    struct reass *r = d->reass;
    if (bytes > r->args.limits.bytes)
        return false;
    while (r->bytes > r->args.limits.bytes - bytes) {
        struct datagram *oldest = of_age(list_first(&r->live));
        if (oldest == d)
            return false;
        evict(oldest);
    }
    return true;
}

/* What is wrong with f as the next fragment of d? *place: where it goes, if nothing is. */
static enum drop judge(struct datagram *d, const struct fragment *f, const struct pkt *p,
                       uint32_t *place)
{
    if (d->dead)
        return d->dead; /* RFC 5722 3, RFC 8200 4.5 */
    if (f->tiny)
        return DROP_FRAG_TINY;
    if (too_long(d, f))
        return DROP_FRAG_TOO_LONG;
    if (ends_disagree(d, f))
        return DROP_FRAG_OVERLAP;
    *place = place_of(d, f);
    if (*place < d->n) {
        const struct held *h = &d->held[*place];
        if (h->start == f->start && h->end == f->end)
            return DROP_FRAG_DUPLICATE;
        if (h->start < f->end)
            return DROP_FRAG_OVERLAP;
    }
    if (d->n == REASS_FRAGMENTS_MAX || !make_room(d, pinned(p)))
        return DROP_FRAG_LIMIT;
    return DROP_NONE;
}

/* p comes to nothing, and with it d unless p is only one too many. */
static void refuse(struct datagram *d, enum drop why, struct pkt *p, tick_t now)
{
    struct reass *r = d->reass;
    bool news = !d->dead && why != DROP_FRAG_DUPLICATE;
    counter_drop(r->args.counters, why);
    if (news)
        give_up(d, why);
    invariant(reass_ok(r));
    if (news && (why == DROP_FRAG_TINY || why == DROP_FRAG_TOO_LONG))
        report(r, why, p, now);
    else
        pkt_free(p);
}

static void insert(struct datagram *d, uint32_t place, const struct fragment *f, struct pkt *p)
{
    uint32_t bytes = pinned(p);
    d->bytes += bytes;
    d->reass->bytes += bytes;
    d->got += f->end - f->start;
    d->ecn_seen |= (uint8_t)(1u << f->ecn);
    if (!f->more)
        d->end = f->end;
    if (f->start == 0) {
        d->counted = f->counted;
        d->header = f->header;
        d->named_at = f->named_at;
        d->next = f->next;
    } else {
        p = pkt_advance(p, f->header);
    }
    struct held *at = &d->held[place];
    memmove(at + 1, at, (d->n - place) * sizeof(*at));
    *at = (struct held){.pkt = p, .start = f->start, .end = f->end};
    d->n++;
}

/* RFC 3168 5.3: a mark may not be lost, nor put on what some sender said not to mark. */
static bool ecn_ok(const struct datagram *d)
{
    return !(d->ecn_seen & 1u << ECN_CE) || !(d->ecn_seen & 1u << ECN_NOT_ECT);
}

/* The first fragment's header will be written: were its memory shared, by a copy of it. */
static bool own_first(struct datagram *d)
{
    struct held *first = &d->held[0];
    if (pkt_writable(first->pkt))
        return true;
    struct pkt *copy = pkt_copy(d->reass->args.pool, first->pkt);
    if (!copy)
        return false;
    if (copy->len < d->header) { /* a pool of very small packets */
        pkt_free(copy);
        return false;
    }
    pkt_free(first->pkt);
    first->pkt = copy;
    return true;
}

/* One chain of all that d holds. */
static struct pkt *join(const struct datagram *d)
{
    struct pkt *head = d->held[0].pkt;
    struct pkt *tail = head;
    for (uint32_t i = 1; i < d->n; i++) {
        while (tail->next)
            tail = tail->next;
        tail->next = d->held[i].pkt;
        head->total += d->held[i].pkt->total;
    }
    head->flags |= PKT_REASSEMBLED;
    /* What a device says of a fragment's payload or hashes of it is not true of the whole. */
    head->flags &= (uint16_t) ~(PKT_RX_L4_CSUM_OK | PKT_RX_L4_CSUM_BAD | PKT_RX_HASH);
    return head;
}

/* The header of a packet that was never cut. */
static void rewrite4(const struct datagram *d, struct pkt *p)
{
    uint8_t *ip = p->data;
    if (d->ecn_seen & 1u << ECN_CE)
        ip[1] |= ECN_CE;
    store_be16(ip + 2, (uint16_t)p->total);
    store_be16(ip + 6, 0); /* no flags, no offset */
    store_be16(ip + 10, 0);
    store_be16(ip + 10, checksum_finish(checksum_add(CHECKSUM_EMPTY, ip, d->header)));
    p->flags |= PKT_RX_IP_CSUM_OK;
    p->flags &= (uint16_t)~PKT_RX_IP_CSUM_BAD;
}

/* RFC 8200 4.5: the fragment header goes, and what named it names what it named. */
static void rewrite6(const struct datagram *d, struct pkt *p)
{
    p->data[d->named_at] = d->next;
    memmove(p->data + IPV6_FRAG_LEN, p->data, d->header - IPV6_FRAG_LEN);
    pkt_pull(p, IPV6_FRAG_LEN);
    if (d->ecn_seen & 1u << ECN_CE)
        p->data[1] |= ECN_CE << 4;
    store_be16(p->data + 4, (uint16_t)(p->total - IPV6_LEN));
}

/* d is complete. */
static struct pkt *finish(struct datagram *d)
{
    struct reass *r = d->reass;
    enum drop why = !ecn_ok(d) ? DROP_FRAG_ECN : !own_first(d) ? DROP_NO_MEMORY : DROP_NONE;
    struct pkt *whole = NULL;
    if (why) {
        give_up(d, why);
    } else {
        whole = join(d);
        (ip_is_v4(&d->key.src) ? rewrite4 : rewrite6)(d, whole);
        drop_held(d, d->n, DROP_NONE);
        retire(d);
    }
    invariant(reass_ok(r));
    return whole;
}

static struct pkt *input(struct reass *r, const struct fragment *f, struct pkt *p, tick_t now)
{
    assert(f->start < f->end && "the parser refuses empty fragments");
    assert(p->len >= f->header && "the parser read the headers where they are");
    struct datagram *d = find_or_start(r, f, now);
    uint32_t place = 0;
    enum drop why = judge(d, f, p, &place);
    if (why) {
        refuse(d, why, p, now);
        return NULL;
    }
    insert(d, place, f, p);
    if (d->end > 0 && d->got == d->end)
        return finish(d);
    invariant(reass_ok(r));
    return NULL;
}

struct pkt *reass_input4(struct reass *r, const struct ipv4_hdr *h, struct pkt *p, tick_t now)
{
    assert(ipv4_is_fragment(h) && "identifications of others mean nothing"); /* RFC 6864 4.1 */
    uint16_t header = (uint16_t)ipv4_len(h);
    pkt_trim(p, h->total_len);
    struct fragment f = {
        .key = {.src = h->src, .dst = h->dst, .id = h->id, .iface = p->iface, .proto = h->proto},
        .start = h->frag_offset,
        .end = h->frag_offset + (uint32_t)h->total_len - header,
        .header = header,
        .counted = header,
        .counted_min = IPV4_LEN,
        .ecn = h->tos & ECN_MASK,
        .more = h->more_fragments,
        .timeout = r->args.limits.timeout4,
    };
    return input(r, &f, p, now);
}

struct pkt *reass_input6(struct reass *r, const struct ipv6_hdr *h, struct pkt *p, tick_t now)
{
    assert(ipv6_is_fragment(h) && "an atomic fragment is whole"); /* RFC 6946 4 */
    uint16_t header = (uint16_t)(h->frag.at + IPV6_FRAG_LEN);
    pkt_trim(p, h->total_len);
    struct fragment f = {
        .key = {.src = h->src, .dst = h->dst, .id = h->frag.id, .iface = p->iface},
        .start = h->frag.offset,
        .end = h->frag.offset + h->total_len - header,
        .header = header,
        .counted = (uint16_t)(h->frag.at - IPV6_LEN),
        .named_at = h->frag.named_at,
        .next = h->frag.next,
        .ecn = h->traffic_class & ECN_MASK,
        .more = h->frag.more,
        .tiny = h->frag.tiny,
        .timeout = r->args.limits.timeout6,
    };
    return input(r, &f, p, now);
}

uint32_t reass_datagrams(const struct reass *r)
{
    return r->datagrams;
}

uint32_t reass_bytes(const struct reass *r)
{
    return r->bytes;
}
