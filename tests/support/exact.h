/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_EXACT_H
#define MILLRACE_TESTS_EXACT_H

/* Bytes in a heap block of exactly their size, so that AddressSanitizer sees a parser that reads
 * past the end. */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* To be freed with free(). */
static inline uint8_t *exact(const void *bytes, size_t len)
{
    uint8_t *copy = malloc(len);
    assert((copy || len == 0) && "the heap is not under test");
    if (len > 0)
        memcpy(copy, bytes, len);
    return copy;
}

#endif
