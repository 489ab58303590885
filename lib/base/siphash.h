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

#endif
