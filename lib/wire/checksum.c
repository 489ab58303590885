/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/checksum.h"

#include <assert.h>
#include <string.h>

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

static uint64_t sum_bytes(const uint8_t *at, size_t len)
{
    /* Two chains, so that one's carry does not wait for the other's. */
    uint64_t even = 0;
    uint64_t odd = 0;
    for (; len >= 32; at += 32, len -= 32) {
        even = add64(even, load64(at));
        odd = add64(odd, load64(at + 8));
        even = add64(even, load64(at + 16));
        odd = add64(odd, load64(at + 24));
    }
    for (; len >= 8; at += 8, len -= 8)
        even = add64(even, load64(at));
    return add64(add64(even, odd), sum_tail(at, len));
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

struct checksum checksum_pseudo(const struct ip_addr *src, const struct ip_addr *dst, uint8_t proto,
                                uint32_t len)
{
    /* RFC 8200 8.1; of the IPv4 form (RFC 768) only the place of the fields differs, which a sum
     * does not see. */
    uint8_t fields[8] = {0};
    store_be32(fields, len);
    fields[7] = proto;
    size_t skip = ip_is_v4(src) ? 12 : 0;
    struct checksum c = checksum_add(CHECKSUM_EMPTY, fields, sizeof(fields));
    c = checksum_add(c, src->b + skip, sizeof(src->b) - skip);
    return checksum_add(c, dst->b + skip, sizeof(dst->b) - skip);
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
