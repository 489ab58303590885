/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/flow.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/invariant.h"

/*
 * A flow's tag is the upper half of its hash. The tag's first bits choose the segment, its last the
 * home bucket within it, and all 32 are held beside the pointer, so that splitting a segment reads
 * no flow, and a lookup reads one that it does not want once in 2^32 comparisons.
 *
 *      tag  | directory: `depth` bits ->             <- home: BUCKET_BITS |
 *
 * A flow whose home is full goes to the next bucket of the segment that is not. Each bucket counts
 * the flows that had to pass it: where that is 0, a search is over. Removing one flow takes its
 * passes back, so there are no tombstones and nothing is ever cleaned up.
 */

#define BUCKET_BITS  6
#define BUCKETS      (1u << BUCKET_BITS)
#define BUCKET_SLOTS 5u
#define SEGMENT_CAP  (BUCKETS * BUCKET_SLOTS)

/* Flows of a segment: split when it holds SPLIT_AT; without memory to split, go on to FULL_AT; join
 * two that hold no more than JOIN_AT each. */
#define SPLIT_AT (SEGMENT_CAP / 2)
#define FULL_AT  (SEGMENT_CAP * 9 / 10)
#define JOIN_AT  (SPLIT_AT / 6)

/* The directory may choose by all bits of the tag but the home's. */
#define DEPTH_MAX (32 - BUCKET_BITS)

#define BURST 32u /* lookups under way at once */

struct bucket {
    uint32_t tag[BUCKET_SLOTS];
    uint32_t passed;                 /* flows in later buckets that found this one full */
    struct flow *flow[BUCKET_SLOTS]; /* NULL: free, and then tag says nothing */
};

_Static_assert(sizeof(struct bucket) == 64 && BUCKET_SLOTS == 5, "a cache line; bucket_match");

/* All flows whose tag starts with the depth bits of prefix. */
struct segment {
    _Alignas(64) uint32_t count;
    uint32_t prefix; /* in the low `depth` bits */
    unsigned depth;
    struct bucket bucket[BUCKETS];
};

struct flow_table {
    struct segment *
        *dir; /* 1 << depth; a segment with a shorter prefix stands in it several times */
    unsigned depth;
    unsigned depth_max;
    uint32_t count;
    uint32_t max;
    struct siphash_key secret;
    struct mem *mem;
};

/* Hashing and comparing */

/* Word i of a key as it lies in memory: tables do not travel, so byte order does not matter. */
static inline uint64_t word_of(const struct flow_key *key, unsigned i)
{
    uint64_t w;
    memcpy(&w, (const uint8_t *)key + (size_t)8 * i, sizeof(w));
    return w;
}

static inline uint32_t v4_bits(const struct ip_addr *a)
{
    uint32_t w;
    memcpy(&w, a->b + 12, sizeof(w));
    return w;
}

static uint64_t hash_of_v6(const struct flow_table *t, const struct flow_key *key)
{
    const uint64_t w[] = {word_of(key, 0), word_of(key, 1), word_of(key, 2), word_of(key, 3),
                          word_of(key, 4)};
    return siphash13_words(&t->secret, w, offsetof(struct flow_key, zero));
}

/* IPv4 has 13 bytes that differ and is most of the traffic. The length is part of the hash, so the
 * two forms do not meet. */
static inline uint64_t hash_of(const struct flow_table *t, const struct flow_key *key)
{
    if (!ip_is_v4(&key->local) || !ip_is_v4(&key->remote))
        return hash_of_v6(t, key);
    const uint64_t w[] = {(uint64_t)v4_bits(&key->local) << 32 | v4_bits(&key->remote),
                          word_of(key, 4)};
    return siphash13_words(&t->secret, w, 13);
}

static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

static inline bool key_eq(const struct flow_key *a, const struct flow_key *b)
{
    uint64_t diff = word_of(a, 0) ^ word_of(b, 0);
    diff |= word_of(a, 1) ^ word_of(b, 1);
    diff |= word_of(a, 2) ^ word_of(b, 2);
    diff |= word_of(a, 3) ^ word_of(b, 3);
    diff |= word_of(a, 4) ^ word_of(b, 4);
    return diff == 0;
}

static struct segment *segment_of(const struct flow_table *t, uint32_t tag)
{
    return t->dir[(uint64_t)tag >> (32 - t->depth)];
}

/* Segments */

static unsigned home_of(uint32_t tag)
{
    return tag & (BUCKETS - 1);
}

static unsigned next_bucket(unsigned b)
{
    return (b + 1) & (BUCKETS - 1);
}

/* A bit for each slot that may hold this tag. No branches: which slot it is cannot be foretold, and
 * the wrong guess would cost more than all of them. */
static inline unsigned bucket_match(const struct bucket *b, uint32_t tag)
{
    unsigned match = (unsigned)(b->tag[4] == tag) << 4;
#if defined(__SSE2__)
    __m128i four = _mm_load_si128((const __m128i *)(const void *)b->tag);
    __m128i same = _mm_cmpeq_epi32(four, _mm_set1_epi32((int)tag));
    match |= (unsigned)_mm_movemask_ps(_mm_castsi128_ps(same));
#else
    for (unsigned i = 0; i < 4; i++)
        match |= (unsigned)(b->tag[i] == tag) << i;
#endif
    return match;
}

static inline struct flow *bucket_find(const struct bucket *b, const struct flow_key *key,
                                       uint32_t tag)
{
    for (unsigned m = bucket_match(b, tag); m; m &= m - 1) {
        struct flow *f = b->flow[__builtin_ctz(m)];
        if (f && key_eq(&f->key, key))
            return f;
    }
    return NULL;
}

static inline struct flow *segment_find(const struct segment *s, const struct flow_key *key,
                                        uint32_t tag)
{
    unsigned at = home_of(tag);
    for (unsigned n = 0; n < BUCKETS; n++, at = next_bucket(at)) {
        const struct bucket *b = &s->bucket[at];
        struct flow *f = bucket_find(b, key, tag);
        if (f || b->passed == 0)
            return f;
    }
    return NULL;
}

/* Where f stands in b; BUCKET_SLOTS: nowhere. f may be NULL, for a free slot. */
static unsigned bucket_slot(const struct bucket *b, const struct flow *f)
{
    unsigned i = 0;
    while (i < BUCKET_SLOTS && b->flow[i] != f)
        i++;
    return i;
}

static void segment_put(struct segment *s, struct flow *f, uint32_t tag)
{
    assert(s->count < SEGMENT_CAP && "a segment is split or refuses before it is full");
    unsigned at = home_of(tag);
    unsigned i;
    while ((i = bucket_slot(&s->bucket[at], NULL)) == BUCKET_SLOTS) {
        s->bucket[at].passed++;
        at = next_bucket(at);
    }
    s->bucket[at].tag[i] = tag;
    s->bucket[at].flow[i] = f;
    s->count++;
}

static void segment_take(struct segment *s, const struct flow *f, uint32_t tag)
{
    unsigned at = home_of(tag);
    unsigned i;
    while ((i = bucket_slot(&s->bucket[at], f)) == BUCKET_SLOTS) {
        assert(s->bucket[at].passed > 0 && "only a flow that is in the table is removed");
        s->bucket[at].passed--;
        at = next_bucket(at);
    }
    s->bucket[at].flow[i] = NULL;
    s->count--;
}

/* Puts the flows of these buckets anew: to high where their tag has this bit, else to low. */
static void segment_deal(const struct bucket *from, uint32_t bit, struct segment *low,
                         struct segment *high)
{
    for (const struct bucket *b = from; b < from + BUCKETS; b++)
        for (unsigned i = 0; i < BUCKET_SLOTS; i++)
            if (b->flow[i])
                segment_put(b->tag[i] & bit ? high : low, b->flow[i], b->tag[i]);
}

static bool segment_ok(const struct segment *s)
{
    uint32_t passed[BUCKETS] = {0};
    uint32_t count = 0;
    for (unsigned at = 0; at < BUCKETS; at++) {
        const struct bucket *b = &s->bucket[at];
        for (unsigned i = 0; i < BUCKET_SLOTS; i++) {
            if (!b->flow[i])
                continue;
            uint32_t tag = b->tag[i];
            if (tag != tag_of(b->flow[i]->hash) || (uint64_t)tag >> (32 - s->depth) != s->prefix)
                return false;
            for (unsigned p = home_of(tag); p != at; p = next_bucket(p))
                passed[p]++;
            count++;
        }
    }
    for (unsigned at = 0; at < BUCKETS; at++)
        if (passed[at] != s->bucket[at].passed)
            return false;
    return count == s->count;
}

/* The directory */

static size_t dir_bytes(unsigned depth)
{
    return sizeof(struct segment *) << depth;
}

/* A segment's places in the directory follow each other. */
static void dir_set(struct flow_table *t, uint32_t prefix, unsigned depth, struct segment *s)
{
    size_t n = (size_t)1 << (t->depth - depth);
    struct segment **place = t->dir + prefix * n;
    for (size_t i = 0; i < n; i++)
        place[i] = s;
}

/* Every segment stands where its prefix says, and together they hold the table's flows. */
static bool flow_table_ok(const struct flow_table *t)
{
    uint32_t count = 0;
    size_t end = (size_t)1 << t->depth;
    for (size_t i = 0; i < end;) {
        const struct segment *s = t->dir[i];
        size_t n = (size_t)1 << (t->depth - s->depth);
        if (s->prefix * n != i || !segment_ok(s))
            return false;
        for (size_t k = 0; k < n; k++)
            if (t->dir[i + k] != s)
                return false;
        count += s->count;
        i += n;
    }
    return count == t->count && count <= t->max;
}

static bool dir_double(struct flow_table *t)
{
    struct segment **dir = mem_alloc(t->mem, dir_bytes(t->depth + 1), 64);
    if (!dir)
        return false;
    size_t n = (size_t)1 << t->depth;
    for (size_t i = 0; i < n; i++) {
        dir[2 * i] = t->dir[i];
        dir[2 * i + 1] = t->dir[i];
    }
    mem_free(t->mem, t->dir, dir_bytes(t->depth));
    t->dir = dir;
    t->depth++;
    invariant(flow_table_ok(t));
    return true;
}

static struct segment *segment_create(struct flow_table *t)
{
    return mem_alloc(t->mem, sizeof(struct segment), _Alignof(struct segment));
}

/* Gives half of s to a new segment. False, and nothing has changed: no memory, or s is as deep as
 * they get. */
static bool segment_split(struct flow_table *t, struct segment *s)
{
    if (s->depth == t->depth_max || (s->depth == t->depth && !dir_double(t)))
        return false;
    struct segment *upper = segment_create(t);
    if (!upper)
        return false;
    s->depth++;
    s->prefix <<= 1;
    upper->depth = s->depth;
    upper->prefix = s->prefix | 1;
    struct bucket was[BUCKETS];
    memcpy(was, s->bucket, sizeof(was));
    memset(s->bucket, 0, sizeof(was));
    s->count = 0;
    segment_deal(was, UINT32_C(1) << (32 - s->depth), s, upper);
    dir_set(t, upper->prefix, upper->depth, upper);
    invariant(segment_ok(s) && segment_ok(upper));
    return true;
}

/* Joins s to the other half of what was split, where both are nearly empty. The directory keeps its
 * size. */
static void segment_join(struct flow_table *t, struct segment *s)
{
    if (s->depth == 0 || s->count > JOIN_AT)
        return;
    struct segment *other = t->dir[(size_t)(s->prefix ^ 1) << (t->depth - s->depth)];
    if (other->depth != s->depth || other->count > JOIN_AT)
        return;
    s->depth--;
    s->prefix >>= 1;
    segment_deal(other->bucket, 0, s, s);
    dir_set(t, s->prefix, s->depth, s);
    mem_free(t->mem, other, sizeof(*other));
    invariant(segment_ok(s));
}

/* The depth at which max flows fill the segments evenly, and then some: no chance leads deeper. */
static unsigned depth_for(uint32_t max)
{
    unsigned depth = 3;
    while (depth < DEPTH_MAX && max / SPLIT_AT >> (depth - 3))
        depth++;
    return depth;
}

struct flow_table *flow_table_create(struct mem *mem, const struct siphash_key *secret,
                                     uint32_t max)
{
    assert(max > 0 && max <= FLOW_MAX && "the caller checks its configuration");
    struct flow_table *t = mem_alloc(mem, sizeof(*t), _Alignof(struct flow_table));
    if (!t)
        return NULL;
    *t =
        (struct flow_table){.depth_max = depth_for(max), .max = max, .secret = *secret, .mem = mem};
    t->dir = mem_alloc(mem, dir_bytes(0), 64);
    if (t->dir)
        t->dir[0] = segment_create(t);
    if (t->dir && t->dir[0])
        return t;
    mem_free(mem, t->dir, dir_bytes(0));
    mem_free(mem, t, sizeof(*t));
    return NULL;
}

void flow_table_destroy(struct flow_table *t)
{
    invariant(flow_table_ok(t));
    size_t end = (size_t)1 << t->depth;
    for (size_t i = 0; i < end;) {
        struct segment *s = t->dir[i];
        i += (size_t)1 << (t->depth - s->depth);
        mem_free(t->mem, s, sizeof(*s));
    }
    mem_free(t->mem, t->dir, dir_bytes(t->depth));
    mem_free(t->mem, t, sizeof(*t));
}

int flow_insert(struct flow_table *t, struct flow *f)
{
    assert(!f->key.zero[0] && !f->key.zero[1] && !f->key.zero[2] && "they are compared");
    uint64_t hash = hash_of(t, &f->key);
    uint32_t tag = tag_of(hash);
    struct segment *s = segment_of(t, tag);
    if (segment_find(s, &f->key, tag))
        return FLOW_E_EXISTS;
    if (t->count == t->max)
        return FLOW_E_FULL;
    if (s->count >= SPLIT_AT && segment_split(t, s))
        s = segment_of(t, tag);
    if (s->count >= FULL_AT)
        return s->depth == t->depth_max ? FLOW_E_FULL : FLOW_E_MEMORY;
    f->hash = hash;
    segment_put(s, f, tag);
    t->count++;
    invariant(segment_ok(s));
    return 0;
}

void flow_remove(struct flow_table *t, struct flow *f)
{
    uint32_t tag = tag_of(f->hash);
    struct segment *s = segment_of(t, tag);
    segment_take(s, f, tag);
    t->count--;
    invariant(segment_ok(s));
    segment_join(t, s);
}

struct flow *flow_find(const struct flow_table *t, const struct flow_key *key)
{
    uint32_t tag = tag_of(hash_of(t, key));
    return segment_find(segment_of(t, tag), key, tag);
}

/* Three passes: each asks for the memory of the next, which has come by then. Nearly always the
 * flow is the first in its home bucket with that tag, or not there at all. */
static void find_some(const struct flow_table *t, const struct flow_key *key, unsigned n,
                      struct flow **found)
{
    uint32_t tag[BURST];
    const struct segment *s[BURST];
    bool over[BURST]; /* not there, as far as the home bucket tells */
    for (unsigned i = 0; i < n; i++) {
        tag[i] = tag_of(hash_of(t, &key[i]));
        s[i] = segment_of(t, tag[i]);
        __builtin_prefetch(&s[i]->bucket[home_of(tag[i])]);
    }
    for (unsigned i = 0; i < n; i++) {
        const struct bucket *b = &s[i]->bucket[home_of(tag[i])];
        unsigned m = bucket_match(b, tag[i]);
        found[i] = b->flow[m ? __builtin_ctz(m) : 0];
        over[i] = !m && b->passed == 0;
        __builtin_prefetch(m ? (const void *)found[i] : b); /* a stranger's memory helps nobody */
    }
    for (unsigned i = 0; i < n; i++) {
        if (over[i])
            found[i] = NULL;
        else if (!found[i] || !key_eq(&found[i]->key, &key[i]))
            found[i] = segment_find(s[i], &key[i], tag[i]);
    }
}

void flow_find_burst(const struct flow_table *t, const struct flow_key *key, unsigned n,
                     struct flow **found)
{
    for (unsigned i = 0; i < n; i += BURST)
        find_some(t, key + i, n - i < BURST ? n - i : BURST, found + i);
}

uint32_t flow_count(const struct flow_table *t)
{
    return t->count;
}

/*
 * Listing: in the order of home bucket, then the rest of the tag, then the rest of the hash, which
 * growing and shrinking do not change. 63 bits, so that the place after the last is one too.
 *
 *      | home: BUCKET_BITS | tag without home: DEPTH_MAX | the hash's low half, without its last |
 */
#define ORDER_REST (DEPTH_MAX + 31)
#define ORDER_END  (UINT64_C(1) << (BUCKET_BITS + ORDER_REST))

static uint64_t order_of(uint64_t hash)
{
    uint32_t tag = tag_of(hash);
    return (uint64_t)home_of(tag) << ORDER_REST | (uint64_t)(tag >> BUCKET_BITS) << 31 |
           (uint32_t)hash >> 1;
}

/* The first flow of this segment with this home that stands at or after `at`. */
static struct flow *segment_next(const struct segment *s, unsigned home, uint64_t at)
{
    struct flow *best = NULL;
    const struct bucket *b = &s->bucket[home];
    for (unsigned n = 0; n < BUCKETS; n++) {
        for (unsigned i = 0; i < BUCKET_SLOTS; i++) {
            struct flow *f = b->flow[i];
            if (!f || home_of(b->tag[i]) != home || order_of(f->hash) < at)
                continue;
            if (!best || order_of(f->hash) < order_of(best->hash))
                best = f;
        }
        if (b->passed == 0)
            break;
        b = &s->bucket[next_bucket((unsigned)(b - s->bucket))];
    }
    return best;
}

struct flow *flow_next(const struct flow_table *t, uint64_t *cursor)
{
    uint64_t at = *cursor;
    while (at < ORDER_END) {
        unsigned home = (unsigned)(at >> ORDER_REST);
        uint32_t tag = (uint32_t)(at >> 31) << BUCKET_BITS;
        const struct segment *s = segment_of(t, tag);
        struct flow *f = segment_next(s, home, at);
        if (f) {
            *cursor = order_of(f->hash) + 1;
            return f;
        }
        /* Past all that this segment could hold for this home. */
        at = (at | ((UINT64_C(1) << (ORDER_REST - s->depth)) - 1)) + 1;
    }
    *cursor = at;
    return NULL;
}
