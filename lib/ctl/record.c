/* SPDX-License-Identifier: BSD-3-Clause */
#include "ctl/record.h"

#define READ_TRIES 1000

void record_publish(struct record *r, const _Atomic uint64_t *from)
{
    uint64_t seq = atomic_load_explicit(&r->seq, memory_order_relaxed);
    atomic_store_explicit(&r->seq, seq + 1, memory_order_relaxed);
    /* The odd count is seen before any word of the new record. */
    atomic_thread_fence(memory_order_release);
    for (uint32_t i = 0; i < r->words; i++)
        atomic_store_explicit(&r->word[i], atomic_load_explicit(&from[i], memory_order_relaxed),
                              memory_order_relaxed);
    atomic_store_explicit(&r->seq, seq + 2, memory_order_release);
}

bool record_read(const struct record *r, uint64_t *to)
{
    for (int i = 0; i < READ_TRIES; i++) {
        uint64_t before = atomic_load_explicit(&r->seq, memory_order_acquire);
        if (before & 1)
            continue;
        for (uint32_t w = 0; w < r->words; w++)
            to[w] = atomic_load_explicit(&r->word[w], memory_order_relaxed);
        /* Every word was read before the count is looked at again. */
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&r->seq, memory_order_relaxed) == before)
            return true;
    }
    return false;
}
