/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_CTL_RECORD_H
#define MILLRACE_CTL_RECORD_H

/*
 * A record of 64-bit words that one core publishes and any other reads whole: a sequence counter,
 * odd while the writer is at work (Boehm, "Can Seqlocks Get Along with Programming Language Memory
 * Models?", 2012). The writer never waits; a reader that met a writer tries again.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct record {
    _Alignas(64) _Atomic uint64_t seq;
    uint32_t words;
    _Atomic uint64_t word[];
};

#define RECORD_SIZE(n) (sizeof(struct record) + (n) * sizeof(_Atomic uint64_t))

/* r points at RECORD_SIZE(words) zeroed bytes, aligned to 64. */
static inline void record_init(struct record *r, uint32_t words)
{
    r->words = words;
}

/* Writer only. from holds r->words words that nobody else writes. */
void record_publish(struct record *r, const _Atomic uint64_t *from);

/*
 * Copies the record as it stood at one moment to `to`. False where the writer was met at each of a
 * bounded number of tries; `to` is then undefined.
 */
bool record_read(const struct record *r, uint64_t *to);

#endif
