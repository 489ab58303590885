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
#define RECORDS_KEPT 64 /* by a thread: what one turn of a worker may need */

/* Others: by classes of so many bytes, a block's what it has at least, a wish's what it takes. */
#define STEP       16u
#define OVERHEAD   8u /* the C library's, by which its blocks miss a multiple of STEP */
#define CLASSES    (8192u / STEP)
#define KEPT_BYTES (1u << 20) /* of them, by a thread */

/* By a thread, of each class. None under AddressSanitizer, which is to see who uses one afterwards.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CLASS_KEPT 0u
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CLASS_KEPT 0u
#endif
#ifndef CLASS_KEPT
#define CLASS_KEPT 32u
#endif

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

struct kept_list {
    struct kept *first;
    unsigned n;
};

static _Thread_local struct thread {
    struct slot *slot;
    struct kept_list records;
    struct kept_list class[CLASSES];
    size_t bytes; /* in class */
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

/* NULL: there is none. */
static void *pop(struct kept_list *l)
{
    struct kept *k = l->first;
    if (!k)
        return NULL;
    l->first = k->next;
    l->n--;
    return k;
}

static void push(struct kept_list *l, void *block)
{
    struct kept *k = block;
    k->next = l->first;
    l->first = k;
    l->n++;
}

static void *take_record(void)
{
    void *block = pop(&thread.records);
    return block ? block : count_in(malloc(RECORD_MOST));
}

static void *take(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    if (is_record(size))
        return take_record();
    size_t class = (size + OVERHEAD + STEP - 1) / STEP;
    void *block = class < CLASSES ? pop(&thread.class[class]) : NULL;
    if (block) {
        thread.bytes -= class * STEP;
        return block;
    }
    return size ? count_in(malloc(size)) : NULL;
}

/* Is it kept for the next that wants one? */
static bool keep(void *block, size_t size)
{
    size_t class = (size + OVERHEAD) / STEP;
    if (size >= RECORD_MOST && size < RECORD_MOST + 64 && thread.records.n < RECORDS_KEPT) {
        push(&thread.records, block);
        return true;
    }
    if (size < sizeof(struct kept) || class >= CLASSES || thread.class[class].n >= CLASS_KEPT ||
        thread.bytes + class * STEP > KEPT_BYTES)
        return false;
    push(&thread.class[class], block);
    thread.bytes += class * STEP;
    return true;
}

static void give(void *block, const char *file, int line)
{
    (void)file;
    (void)line;
    if (!block || keep(block, malloc_usable_size(block)))
        return;
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

static void free_all(struct kept_list *l)
{
    void *block;
    while ((block = pop(l))) {
        count_out(block);
        free(block);
    }
}

void openssl_memory_trim(void)
{
    free_all(&thread.records);
    for (unsigned i = 0; i < CLASSES; i++)
        free_all(&thread.class[i]);
    thread.bytes = 0;
}
