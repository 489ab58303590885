/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/openssl_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <string.h>

#include <openssl/crypto.h>

#include "support/unit.h"

#define RECORD 17000

static void setup(void)
{
    ck_assert(openssl_memory_init());
}

static void teardown(void)
{
    openssl_memory_trim();
}

START_TEST(blocks_are_counted)
{
    uint64_t before = openssl_memory_bytes();
    char *p = OPENSSL_malloc(100);
    uint64_t with = openssl_memory_bytes();
    ck_assert_uint_ge(with, before + 100);
    p = OPENSSL_realloc(p, 100000);
    ck_assert_uint_ge(openssl_memory_bytes(), before + 100000);
    p = OPENSSL_realloc(p, 10);
    OPENSSL_free(p);
    openssl_memory_trim();
    ck_assert_uint_eq(openssl_memory_bytes(), before);
    OPENSSL_free(NULL);
    ck_assert_ptr_null(OPENSSL_malloc(0));
    p = OPENSSL_realloc(NULL, 5);
    ck_assert_ptr_nonnull(p);
    OPENSSL_free(p);
    openssl_memory_trim();
    ck_assert_uint_eq(openssl_memory_bytes(), before);
}
END_TEST

/* Each is large enough for whoever gets it next. */
START_TEST(small_blocks_are_kept)
{
    for (size_t size = 1; size < 8300; size++) {
        char *p = OPENSSL_malloc(size);
        ck_assert_uint_ge(malloc_usable_size(p), size);
        memset(p, 1, size);
        OPENSSL_free(p);
    }
    openssl_memory_trim();
    uint64_t before = openssl_memory_bytes();
    OPENSSL_free(OPENSSL_malloc(100));
    uint64_t kept = openssl_memory_bytes();
    OPENSSL_free(OPENSSL_malloc(100));
    ck_assert_uint_eq(openssl_memory_bytes(), kept);
    openssl_memory_trim();
    ck_assert_uint_eq(openssl_memory_bytes(), before);
}
END_TEST

START_TEST(no_more_than_a_bound_is_kept)
{
    enum { N = 1000 };
    void *p[N];
    uint64_t before = openssl_memory_bytes();
    for (size_t size = 256; size <= 8192; size += 256) {
        for (int i = 0; i < N; i++)
            p[i] = OPENSSL_malloc(size);
        for (int i = 0; i < N; i++)
            OPENSSL_free(p[i]);
        ck_assert_uint_le(openssl_memory_bytes(), before + (1 << 20));
    }
    openssl_memory_trim();
    ck_assert_uint_eq(openssl_memory_bytes(), before);
}
END_TEST

/* The buffers of records, whatever size of those it was. */
START_TEST(buffers_of_records_are_kept)
{
    uint64_t before = openssl_memory_bytes();
    char *p = OPENSSL_malloc(RECORD);
    p[RECORD - 1] = 1;
    OPENSSL_free(p);
    uint64_t kept = openssl_memory_bytes();
    ck_assert_uint_ge(kept, before + RECORD);
    for (size_t size = 16384; size <= 20480; size += 512) {
        char *again = OPENSSL_malloc(size);
        ck_assert_ptr_eq(again, p);
        again[size - 1] = 1;
        OPENSSL_free(again);
    }
    ck_assert_uint_eq(openssl_memory_bytes(), kept);
    char *other = OPENSSL_malloc(24000);
    ck_assert_ptr_ne(other, p);
    OPENSSL_free(other);
    ck_assert_uint_eq(openssl_memory_bytes(), kept);
    openssl_memory_trim();
    ck_assert_uint_eq(openssl_memory_bytes(), before);
}
END_TEST

START_TEST(no_more_than_some_are_kept)
{
    enum { N = 200 };
    void *p[N];
    uint64_t before = openssl_memory_bytes();
    for (int i = 0; i < N; i++)
        p[i] = OPENSSL_malloc(RECORD);
    for (int i = 0; i < N; i++)
        OPENSSL_free(p[i]);
    ck_assert_uint_lt(openssl_memory_bytes(), before + 65 * 20600);
    openssl_memory_trim();
    ck_assert_uint_eq(openssl_memory_bytes(), before);
}
END_TEST

static void *end_there(void *block)
{
    OPENSSL_free(block);
    openssl_memory_trim();
    return NULL;
}

START_TEST(a_block_may_end_on_another_thread)
{
    uint64_t before = openssl_memory_bytes();
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, end_there, OPENSSL_malloc(RECORD)), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, end_there, OPENSSL_malloc(64)), 0);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(openssl_memory_bytes(), before);
}
END_TEST

UNIT_MAIN("openssl_memory", setup, teardown, blocks_are_counted, small_blocks_are_kept,
          no_more_than_a_bound_is_kept, buffers_of_records_are_kept, no_more_than_some_are_kept,
          a_block_may_end_on_another_thread)
