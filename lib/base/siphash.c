/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/siphash.h"

/* The n <= 8 bytes at p as a little-endian word; compilers make one load of n = 8. */
static inline uint64_t load(const uint8_t *p, size_t n)
{
    uint64_t w = 0;
    for (size_t i = 0; i < n; i++)
        w |= (uint64_t)p[i] << (8 * i);
    return w;
}

static inline uint64_t siphash(const struct siphash_key *key, const uint8_t *p, size_t len, int c,
                               int d)
{
    struct siphash_state s = siphash_start(key);
    size_t left = len;
    for (; left >= 8; left -= 8, p += 8)
        siphash_compress(&s, load(p, 8), c);
    siphash_compress(&s, load(p, left) | (uint64_t)(len & 0xff) << 56, c);
    return siphash_finish(&s, d);
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
