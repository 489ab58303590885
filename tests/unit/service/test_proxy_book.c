/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/proxy_internal.h"
#include "support/heap.h"
#include "support/unit.h"

static struct heap heap;

/* The heap for more than one thread. */
static struct mem mem;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *alloc_locked(struct mem *m, size_t size, size_t align)
{
    (void)m;
    pthread_mutex_lock(&lock);
    void *block = mem_alloc(&heap.mem, size, align);
    pthread_mutex_unlock(&lock);
    return block;
}

static void free_locked(struct mem *m, void *block, size_t size)
{
    (void)m;
    pthread_mutex_lock(&lock);
    mem_free(&heap.mem, block, size);
    pthread_mutex_unlock(&lock);
}

static void setup(void)
{
    heap_init(&heap);
    mem = (struct mem){.alloc = alloc_locked, .free = free_locked};
}

static void teardown(void)
{
    ck_assert_uint_eq(heap.blocks, 0);
}

static struct proxy_account *get(struct proxy_book *b, const char *name)
{
    return proxy_book_get(b, name, strlen(name));
}

START_TEST(one_account_a_name)
{
    struct proxy_book *b = proxy_book_join(&mem, 3, 0, NULL);
    struct proxy_account *nobody = get(b, "");
    struct proxy_account *a = get(b, "a");
    struct proxy_account *ab = get(b, "ab");
    ck_assert(nobody && a && ab && a != ab && a != nobody);
    ck_assert_ptr_eq(get(b, "a"), a);
    ck_assert_ptr_eq(get(b, ""), nobody);
    ck_assert_ptr_null(get(b, "abc")); /* it is full */
    ck_assert_ptr_eq(get(b, "ab"), ab);
    proxy_book_leave(b);
    proxy_book_leave(NULL);
}
END_TEST

START_TEST(joined_while_there_is_room)
{
    struct proxy_book *b = proxy_book_join(&mem, 4, 0, NULL);
    get(b, "a");
    ck_assert_ptr_eq(proxy_book_join(&mem, 4, 3, b), b);
    struct proxy_book *next = proxy_book_join(&mem, 4, 4, b);
    ck_assert_ptr_ne(next, b);
    ck_assert_ptr_eq(next->root, b->root);
    struct proxy_account *a = get(next, "a"); /* was idle */
    ck_assert_ptr_ne(a, get(b, "a"));
    struct proxy_book *large = proxy_book_join(&mem, 8, 4, next);
    ck_assert_ptr_eq(get(large, "a"), a); /* goes on, as there is room for it */
    proxy_book_leave(b);
    proxy_book_leave(b);
    proxy_book_leave(next);
    ck_assert_ptr_eq(get(large, "a"), a);
    proxy_book_leave(large);
}
END_TEST

START_TEST(no_memory)
{
    struct proxy_book *b = NULL;
    for (size_t limit = 0; !b; limit += 16) {
        heap.limit = limit;
        b = proxy_book_join(&mem, 100, 0, NULL);
        ck_assert(b || heap.blocks == 0);
    }
    heap.limit = heap.bytes;
    ck_assert_ptr_null(get(b, "a"));
    ck_assert_uint_eq(atomic_load(&b->n), 0);
    heap.limit = SIZE_MAX;
    ck_assert_ptr_nonnull(get(b, "a"));
    heap.limit = heap.bytes;
    ck_assert_ptr_null(proxy_book_join(&mem, 200, 0, b));
    ck_assert_uint_eq(b->root->books, 1);
    proxy_book_leave(b);
}
END_TEST

#define THREADS 4
#define NAMES   2000

struct caller {
    pthread_t thread;
    struct proxy_book *book;
    unsigned step;
    unsigned missing;
    struct proxy_account *account[NAMES];
};

static void *calls(void *arg)
{
    struct caller *c = arg;
    for (unsigned i = 0; i < NAMES; i++) {
        unsigned k = i * c->step % NAMES; /* each in an order of its own */
        char name[16];
        snprintf(name, sizeof(name), "%u", k);
        c->account[k] = get(c->book, name);
        c->missing += !c->account[k];
    }
    return NULL;
}

static struct caller *call_all(struct proxy_book *b)
{
    static const unsigned step[THREADS] = {1, 1999, 3, 1997};
    struct caller *c = calloc(THREADS, sizeof(*c));
    ck_assert_ptr_nonnull(c);
    for (unsigned i = 0; i < THREADS; i++) {
        c[i].book = b;
        c[i].step = step[i];
        ck_assert_int_eq(pthread_create(&c[i].thread, NULL, calls, &c[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(c[i].thread, NULL);
    return c;
}

START_TEST(threads_find_the_same)
{
    struct proxy_book *b = proxy_book_join(&mem, NAMES + THREADS, 0, NULL);
    struct caller *c = call_all(b);
    for (unsigned k = 0; k < NAMES; k++)
        for (unsigned i = 0; i < THREADS; i++)
            ck_assert(c[i].account[k] && c[i].account[k] == c[0].account[k]);
    ck_assert_uint_eq(atomic_load(&b->n), NAMES);
    free(c);
    proxy_book_leave(b);
}
END_TEST

START_TEST(threads_keep_the_bound)
{
    struct proxy_book *b = proxy_book_join(&mem, NAMES / 2, 0, NULL);
    struct caller *c = call_all(b);
    unsigned there = 0;
    for (unsigned k = 0; k < NAMES; k++) {
        struct proxy_account *a = NULL;
        for (unsigned i = 0; i < THREADS; i++) {
            ck_assert(!a || !c[i].account[k] || a == c[i].account[k]);
            a = a ? a : c[i].account[k];
        }
        there += a != NULL;
    }
    ck_assert_uint_eq(there, atomic_load(&b->n));
    ck_assert_uint_le(there, NAMES / 2);
    free(c);
    proxy_book_leave(b);
}
END_TEST

UNIT_MAIN("proxy_book", setup, teardown, one_account_a_name, joined_while_there_is_room, no_memory,
          threads_find_the_same, threads_keep_the_bound)
