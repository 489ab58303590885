/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_SIPHASH_H
#define MILLRACE_BASE_SIPHASH_H

/* SipHash-2-4 and SipHash-1-3 (Aumasson and Bernstein, 2012): keyed hashes that an outsider cannot
 * steer. */

#include <stddef.h>
#include <stdint.h>

struct siphash_key {
    uint64_t k0, k1;
};

/* From 16 bytes, little-endian as in the paper. */
struct siphash_key siphash_key_from(const uint8_t bytes[16]);

/* For what must not be guessed: cookies, sequence numbers. */
uint64_t siphash24(const struct siphash_key *key, const void *data, size_t len);

/* For tables, where only collisions matter. */
uint64_t siphash13(const struct siphash_key *key, const void *data, size_t len);

/*
 * The function itself, for keys of a fixed shape at packet rate: siphash13_words is siphash13 of
 * the len bytes that word[0 .. len / 8] hold in little-endian order, with zeroes behind them. Names
 * and steps are those of the paper's section 2: compression rounds for each word, then
 * finalization.
 */
struct siphash_state {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t siphash_rotate(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

static inline void siphash_round(struct siphash_state *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = siphash_rotate(s->v1, 13) ^ s->v0;
    s->v3 = siphash_rotate(s->v3, 16) ^ s->v2;
    s->v0 = siphash_rotate(s->v0, 32) + s->v3;
    s->v2 += s->v1;
    s->v3 = siphash_rotate(s->v3, 21) ^ s->v0;
    s->v1 = siphash_rotate(s->v1, 17) ^ s->v2;
    s->v2 = siphash_rotate(s->v2, 32);
}

static inline struct siphash_state siphash_start(const struct siphash_key *key)
{
    return (struct siphash_state){.v0 = key->k0 ^ UINT64_C(0x736f6d6570736575),
                                  .v1 = key->k1 ^ UINT64_C(0x646f72616e646f6d),
                                  .v2 = key->k0 ^ UINT64_C(0x6c7967656e657261),
                                  .v3 = key->k1 ^ UINT64_C(0x7465646279746573)};
}

static inline void siphash_compress(struct siphash_state *s, uint64_t word, int rounds)
{
    s->v3 ^= word;
    for (int i = 0; i < rounds; i++)
        siphash_round(s);
    s->v0 ^= word;
}

static inline uint64_t siphash_finish(struct siphash_state *s, int rounds)
{
    s->v2 ^= 0xff;
    for (int i = 0; i < rounds; i++)
        siphash_round(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

static inline uint64_t siphash13_words(const struct siphash_key *key, const uint64_t *word,
                                       size_t len)
{
    struct siphash_state s = siphash_start(key);
    for (size_t i = 0; i < len / 8; i++)
        siphash_compress(&s, word[i], 1);
    siphash_compress(&s, word[len / 8] | (uint64_t)(len & 0xff) << 56, 1);
    return siphash_finish(&s, 3);
}

#endif
