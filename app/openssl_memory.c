/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/openssl_memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include <openssl/crypto.h>

/* Buffers of records: 16 KiB and what a record has around it. All are given the largest size, so
 * that each fits the next one's wish. */
#define RECORD_LEAST ((size_t)16 << 10)
#define RECORD_MOST  ((size_t)20 << 10)
#define KEPT_MAX     64 /* by a thread: what one turn of a worker may need */

#define SLOTS 128 /* threads beyond share one */

/* Bytes that threads have taken, less those they have given back: each may be negative, for a block
 * may end on another thread; the sum is not. */
struct slot {
    _Alignas(64) _Atomic int64_t bytes;
};

/* The process has one OpenSSL, so this is its. */
static struct slot slots[SLOTS];
static _Atomic unsigned n_slots;

/* A block that is kept: its memory holds this. */
struct kept {
    struct kept *next;
};

static _Thread_local struct thread {
    struct slot *slot;
    struct kept *first;
    unsigned n;
} thread;

static struct slot *slot(void)
{
    if (!thread.slot) {
        unsigned n = atomic_fetch_add(&n_slots, 1);
        thread.slot = &slots[n < SLOTS ? n : SLOTS - 1];
    }
    return thread.slot;
}

static void *count_in(void *block)
{
    if (block)
        atomic_fetch_add_explicit(&slot()->bytes, (int64_t)malloc_usable_size(block),
                                  memory_order_relaxed);
    return block;
}

static void count_out(void *block)
{
    atomic_fetch_sub_explicit(&slot()->bytes, (int64_t)malloc_usable_size(block),
                              memory_order_relaxed);
}

static bool is_record(size_t size)
{
    return size >= RECORD_LEAST && size <= RECORD_MOST;
}

static void *take(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    if (!is_record(size))
        return size ? count_in(malloc(size)) : NULL;
    struct kept *k = thread.first;
    if (!k)
        return count_in(malloc(RECORD_MOST));
    thread.first = k->next;
    thread.n--;
    return k;
}

static void give(void *block, const char *file, int line)
{
    (void)file;
    (void)line;
    if (!block)
        return;
    size_t size = malloc_usable_size(block);
    if (size >= RECORD_MOST && size < RECORD_MOST + 64 && thread.n < KEPT_MAX) {
        struct kept *k = block;
        k->next = thread.first;
        thread.first = k;
        thread.n++;
        return;
    }
    count_out(block);
    free(block);
}

static void *change(void *block, size_t size, const char *file, int line)
{
    if (!block)
        return take(size, file, line);
    if (size == 0) {
        give(block, file, line);
        return NULL;
    }
    int64_t before = (int64_t)malloc_usable_size(block);
    void *to = realloc(block, size);
    if (to)
        atomic_fetch_add_explicit(&slot()->bytes, (int64_t)malloc_usable_size(to) - before,
                                  memory_order_relaxed);
    return to;
}

bool openssl_memory_init(void)
{
    return CRYPTO_set_mem_functions(take, change, give) == 1;
}

uint64_t openssl_memory_bytes(void)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < SLOTS; i++)
        sum += atomic_load_explicit(&slots[i].bytes, memory_order_relaxed);
    return sum > 0 ? (uint64_t)sum : 0;
}

void openssl_memory_trim(void)
{
    while (thread.first) {
        struct kept *k = thread.first;
        thread.first = k->next;
        count_out(k);
        free(k);
    }
    thread.n = 0;
}
