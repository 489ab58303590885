/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/rng.h"

#include <assert.h>

static uint64_t rotate(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

/* SplitMix64 (Steele, Lea and Flood, 2014): spreads a seed, and never gives four zero words in a
 * row. */
static uint64_t split_mix(uint64_t *x)
{
    uint64_t z = *x += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void rng_seed(struct rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->s[i] = split_mix(&seed);
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint32_t rng_u32(struct rng *r)
{
    return (uint32_t)(rng_u64(r) >> 32);
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    assert(n > 0 && "an empty range holds no number");
    /* Drops the 2^64 mod n lowest numbers, so that what is left is a whole number of ranges. */
    uint64_t surplus = -n % n;
    uint64_t x;
    do
        x = rng_u64(r);
    while (x < surplus);
    return x % n;
}
