/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/siphash.h"

/* Names and steps are those of the paper's section 2: compression rounds a word, then finalization
 * rounds. */

struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

/* The n <= 8 bytes at p as a little-endian word; compilers make one load of n = 8. */
static inline uint64_t load(const uint8_t *p, size_t n)
{
    uint64_t w = 0;
    for (size_t i = 0; i < n; i++)
        w |= (uint64_t)p[i] << (8 * i);
    return w;
}

static inline void round_once(struct state *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 = rotate(s->v0, 32) + s->v3;
    s->v2 += s->v1;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

static inline void rounds(struct state *s, int n)
{
    while (n-- > 0)
        round_once(s);
}

static inline void compress(struct state *s, uint64_t word, int c)
{
    s->v3 ^= word;
    rounds(s, c);
    s->v0 ^= word;
}

static inline uint64_t siphash(const struct siphash_key *key, const uint8_t *p, size_t len, int c,
                               int d)
{
    struct state s = {.v0 = key->k0 ^ UINT64_C(0x736f6d6570736575),
                      .v1 = key->k1 ^ UINT64_C(0x646f72616e646f6d),
                      .v2 = key->k0 ^ UINT64_C(0x6c7967656e657261),
                      .v3 = key->k1 ^ UINT64_C(0x7465646279746573)};
    size_t left = len;
    for (; left >= 8; left -= 8, p += 8)
        compress(&s, load(p, 8), c);
    compress(&s, load(p, left) | (uint64_t)(len & 0xff) << 56, c);
    s.v2 ^= 0xff;
    rounds(&s, d);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

struct siphash_key siphash_key_from(const uint8_t bytes[16])
{
    return (struct siphash_key){.k0 = load(bytes, 8), .k1 = load(bytes + 8, 8)};
}

uint64_t siphash24(const struct siphash_key *key, const void *data, size_t len)
{
    return siphash(key, data, len, 2, 4);
}

uint64_t siphash13(const struct siphash_key *key, const void *data, size_t len)
{
    return siphash(key, data, len, 1, 3);
}
