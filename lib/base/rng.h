/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_RNG_H
#define MILLRACE_BASE_RNG_H

/*
 * Seeded random numbers: xoshiro256** (Blackman and Vigna, 2018). The same seed gives the same
 * sequence. Not for secrets: those come from siphash24 under a key that the caller took from the
 * system.
 */

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

/* Any seed will do, zero included (expanded by SplitMix64). */
void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_u64(struct rng *r);
uint32_t rng_u32(struct rng *r);
/* Uniform in [0, n), without modulo bias; n > 0. */
uint64_t rng_below(struct rng *r, uint64_t n);

#endif
