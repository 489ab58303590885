/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/checksum.h"

#include <assert.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "base/bytes.h"
#include "buf/pkt.h"

/*
 * Sums are kept in memory order: one's-complement addition does not care which byte of each word is
 * the high one, as long as all words agree (RFC 1071 2 B), so bytes are swapped once, in
 * checksum_fold.
 */

static uint64_t load64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof(v));
    return v;
}

/* One's-complement addition of 64-bit words: they are four 16-bit words whose carries run on (RFC
 * 1071 2 C). */
static uint64_t add64(uint64_t a, uint64_t b)
{
    a += b;
    return a + (a < b);
}

/* The words of fewer than 8 bytes, an odd last one as if a zero followed. Which 16 bits of the sum
 * they go to is all one. */
static uint64_t sum_tail(const uint8_t *at, size_t len)
{
    uint64_t sum = 0;
    if (len & 4) {
        uint32_t v;
        memcpy(&v, at, sizeof(v));
        sum += v;
        at += 4;
    }
    if (len & 2) {
        uint16_t v;
        memcpy(&v, at, sizeof(v));
        sum += v;
        at += 2;
    }
    if (len & 1) {
        const uint8_t padded[2] = {*at, 0};
        uint16_t v;
        memcpy(&v, padded, sizeof(v));
        sum += v;
    }
    return sum;
}

/* Each step adds a number's halves to each other in its upper half, with the carry out of the lower
 * one. */
static uint16_t fold16(uint64_t sum)
{
    uint32_t half = (uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32);
    return (uint16_t)((half + (half << 16 | half >> 16)) >> 16);
}

#if defined(__x86_64__)
/* len is a multiple of 32. Words of 32 bits: no packet has so many that 64 bits overflow. Four
 * sums, so that one does not wait for the other. */
static uint64_t sum_blocks(const uint8_t *at, size_t len)
{
    const __m128i zero = _mm_setzero_si128();
    __m128i a = zero, b = zero, c = zero, d = zero;
    for (const uint8_t *end = at + len; at != end; at += 32) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i w = _mm_loadu_si128((const __m128i *)(const void *)(at + 16));
        a = _mm_add_epi64(a, _mm_unpacklo_epi32(v, zero));
        b = _mm_add_epi64(b, _mm_unpackhi_epi32(v, zero));
        c = _mm_add_epi64(c, _mm_unpacklo_epi32(w, zero));
        d = _mm_add_epi64(d, _mm_unpackhi_epi32(w, zero));
    }
    a = _mm_add_epi64(_mm_add_epi64(a, b), _mm_add_epi64(c, d));
    return (uint64_t)_mm_cvtsi128_si64(a) + (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(a, a));
}
#else
static uint64_t sum_blocks(const uint8_t *at, size_t len)
{
    uint64_t even = 0;
    uint64_t odd = 0;
    for (const uint8_t *end = at + len; at != end; at += 16) {
        even = add64(even, load64(at));
        odd = add64(odd, load64(at + 8));
    }
    return add64(even, odd);
}
#endif

static uint64_t sum_bytes(const uint8_t *at, size_t len)
{
    size_t blocks = len & ~(size_t)31;
    uint64_t sum = blocks ? sum_blocks(at, blocks) : 0;
    at += blocks;
    len -= blocks;
    for (; len >= 8; at += 8, len -= 8)
        sum = add64(sum, load64(at));
    return add64(sum, sum_tail(at, len));
}

struct checksum checksum_add(struct checksum c, const void *bytes, size_t len)
{
    if (len == 0)
        return c; /* bytes may be NULL then */
    uint64_t sum = sum_bytes(bytes, len);
    if (c.odd) { /* RFC 1071 2 B: swapped words give the swapped sum */
        uint16_t words = fold16(sum);
        sum = (uint16_t)(words << 8 | words >> 8);
    }
    c.sum = add64(c.sum, sum);
    c.odd ^= (len & 1) != 0;
    return c;
}

struct checksum checksum_prepend(struct checksum c, const void *header, size_t len)
{
    assert(len % 2 == 0 && "what follows starts on a word");
    c.sum = add64(c.sum, sum_bytes(header, len));
    return c;
}

struct checksum checksum_pkt(const struct pkt *p, uint32_t offset, uint32_t len,
                             struct checksum partial)
{
    assert(offset <= p->total && len <= p->total - offset && "within the chain");
    while (offset >= p->len && p->next) {
        offset -= p->len;
        p = p->next;
    }
    for (; len > 0; p = p->next, offset = 0) {
        uint32_t n = p->len - offset < len ? p->len - offset : len;
        partial = checksum_add(partial, p->data + offset, n);
        len -= n;
    }
    return partial;
}

/* A number as the sum of its 16-bit words. To exchange the bytes of each is to multiply by 256 (RFC
 * 1071 2 B), modulo 65,535 as all here. */
static uint64_t sum_number(uint64_t n)
{
    const uint8_t first_high[2] = {0, 1};
    uint16_t one;
    memcpy(&one, first_high, sizeof(one));
    return n * one;
}

static uint64_t sum_addr(const struct ip_addr *a)
{
    uint32_t v4;
    if (!ip_is_v4(a))
        return add64(ip_half(a, 0), ip_half(a, 1));
    memcpy(&v4, a->b + 12, sizeof(v4));
    return v4;
}

/* Nothing of it goes through memory: to read back in other pieces what was just written waits for
 * all that was written before, which may be a segment's data. */
struct checksum checksum_pseudo(const struct ip_addr *src, const struct ip_addr *dst, uint8_t proto,
                                uint32_t len)
{
    /* RFC 8200 8.1; of the IPv4 form (RFC 768) only the place of the fields differs, which a sum
     * does not see. */
    uint64_t sum = sum_number((uint64_t)len + proto);
    return (struct checksum){.sum = add64(add64(sum, sum_addr(src)), sum_addr(dst))};
}

uint16_t checksum_fold(struct checksum c)
{
    uint16_t sum = fold16(c.sum);
    uint8_t bytes[2];
    memcpy(bytes, &sum, sizeof(bytes));
    return load_be16(bytes);
}

uint16_t checksum_update16(uint16_t field, uint16_t was, uint16_t is)
{
    /* RFC 1624 3: HC' = ~(~HC + ~m + m') */
    uint32_t sum = (uint32_t)(uint16_t)~field + (uint16_t)~was + is;
    return (uint16_t)~fold16(sum);
}

uint16_t checksum_update32(uint16_t field, uint32_t was, uint32_t is)
{
    field = checksum_update16(field, (uint16_t)(was >> 16), (uint16_t)(is >> 16));
    return checksum_update16(field, (uint16_t)was, (uint16_t)is);
}
