/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accounts by user's name. Any thread looks up and adds, without a lock: a slot goes from empty to
 * an account once and stays so, and whoever loses the race for it takes what the winner has put.
 * What grows or drops accounts is a new table, at a reload, of the same accounts.
 */
#include <assert.h>
#include <string.h>

#include "base/siphash.h"
#include "service/proxy_internal.h"

typedef _Atomic(struct proxy_account *) slot_t;

static size_t slots_size(const struct proxy_book *b)
{
    return ((size_t)b->mask + 1) * sizeof(slot_t);
}

/* Not keyed: names are those of users who have proved theirs. */
static uint32_t hash_of(const char *name, size_t n)
{
    static const struct siphash_key key = {0};
    return (uint32_t)siphash13(&key, name, n);
}

static bool is_named(const struct proxy_account *a, const char *name, size_t n)
{
    return a->n == n && memcmp(a->name, name, n) == 0;
}

static struct proxy_account *make_account(struct proxy_book *b, const char *name, size_t n)
{
    struct proxy_account *a =
        mem_alloc(b->mem, sizeof(struct proxy_account), _Alignof(struct proxy_account));
    if (!a)
        return NULL;
    a->root = b->root;
    a->books = 1;
    a->n = (uint8_t)n;
    memcpy(a->name, name, n);
    return a;
}

/* A place in the count comes first, so that it is never more than max. */
static bool reserve(struct proxy_book *b)
{
    uint32_t n = atomic_load_explicit(&b->n, memory_order_relaxed);
    do {
        if (n >= b->max)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&b->n, &n, n + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

static void unreserve(struct proxy_book *b)
{
    atomic_fetch_sub_explicit(&b->n, 1, memory_order_relaxed);
}

/* The slot of that name, or the first empty one of those where it might be; *a is what is there. */
static slot_t *find(struct proxy_book *b, const char *name, size_t n, struct proxy_account **a)
{
    for (uint32_t i = hash_of(name, n) & b->mask;; i = (i + 1) & b->mask) {
        *a = atomic_load_explicit(&b->slot[i], memory_order_acquire);
        if (!*a || is_named(*a, name, n))
            return &b->slot[i];
    }
}

/* Into the table, unless one of its name has come first: that is returned. */
static struct proxy_account *put(struct proxy_book *b, struct proxy_account *a)
{
    for (;;) {
        struct proxy_account *there;
        slot_t *slot = find(b, a->name, a->n, &there);
        if (there)
            return there;
        if (atomic_compare_exchange_strong_explicit(slot, &there, a, memory_order_acq_rel,
                                                    memory_order_relaxed))
            return a;
    }
}

struct proxy_account *proxy_book_get(struct proxy_book *b, const char *name, size_t n)
{
    struct proxy_account *a;
    if (n > PROXY_USER_MAX)
        return NULL;
    find(b, name, n, &a);
    if (a)
        return a;
    if (!reserve(b))
        return NULL;
    struct proxy_account *mine = make_account(b, name, n);
    a = mine ? put(b, mine) : NULL;
    if (a != mine)
        mem_free(b->mem, mine, sizeof(*mine));
    if (!a || a != mine)
        unreserve(b);
    return a;
}

/* ---- the control core's ---- */

static struct proxy_book *book_create(struct mem *mem, uint32_t max)
{
    struct proxy_book *b = mem_alloc(mem, sizeof(*b), _Alignof(struct proxy_book));
    if (!b)
        return NULL;
    *b = (struct proxy_book){.mem = mem, .max = max, .mask = 1};
    while (b->mask < 2 * max)
        b->mask = 2 * b->mask + 1;
    b->slot = mem_alloc(mem, slots_size(b), _Alignof(slot_t));
    if (!b->slot) {
        mem_free(mem, b, sizeof(*b));
        return NULL;
    }
    return b;
}

static void account_leave(struct mem *mem, struct proxy_account *a)
{
    assert(a->books > 0);
    if (--a->books > 0)
        return;
    assert(atomic_load(&a->tunnels) == 0 && "whoever has a tunnel holds the proxy");
    mem_free(mem, a, sizeof(*a));
}

static void book_destroy(struct proxy_book *b)
{
    for (uint32_t i = 0; i <= b->mask; i++) {
        struct proxy_account *a = atomic_load_explicit(&b->slot[i], memory_order_acquire);
        if (a)
            account_leave(b->mem, a);
    }
    if (b->root && --b->root->books == 0)
        mem_free(b->mem, b->root, sizeof(*b->root));
    mem_free(b->mem, b->slot, slots_size(b));
    mem_free(b->mem, b, sizeof(*b));
}

void proxy_book_leave(struct proxy_book *b)
{
    if (b && --b->proxies == 0)
        book_destroy(b);
}

/* Nobody in particular is there from the beginning, so that no worker makes it. */
static bool idle(const struct proxy_account *a)
{
    return atomic_load(&a->tunnels) == 0 && !atomic_load(&a->own) && a->n > 0;
}

/* Into b, where that is not NULL; all, or those that matter. How many. */
static uint32_t copy_accounts(struct proxy_book *b, struct proxy_book *before, bool every)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i <= before->mask; i++) {
        struct proxy_account *a = atomic_load_explicit(&before->slot[i], memory_order_acquire);
        if (!a || (!every && idle(a)) || (b && !reserve(b)))
            continue;
        n++;
        if (!b)
            continue;
        a->books++;
        put(b, a);
    }
    return n;
}

/* With places for those that are not in before yet. */
static struct proxy_book *book_after(struct mem *mem, uint32_t max, uint32_t known,
                                     struct proxy_book *before)
{
    bool every = before->max < max;
    uint32_t n = copy_accounts(NULL, before, every) + known;
    struct proxy_book *b = book_create(mem, n > max ? n : max);
    if (!b)
        return NULL;
    b->root = before->root;
    b->root->books++;
    copy_accounts(b, before, every);
    return b;
}

static struct proxy_book *book_first(struct mem *mem, uint32_t max)
{
    struct proxy_book *b = book_create(mem, max);
    if (!b)
        return NULL;
    b->root = mem_alloc(mem, sizeof(struct proxy_root), _Alignof(struct proxy_root));
    if (!b->root) {
        book_destroy(b);
        return NULL;
    }
    b->root->books = 1;
    return b;
}

static bool has_room(struct proxy_book *b, uint32_t max, uint32_t known)
{
    uint32_t n = atomic_load_explicit(&b->n, memory_order_relaxed);
    return b->max >= max && n <= b->max / 2 && known <= b->max - n;
}

struct proxy_book *proxy_book_join(struct mem *mem, uint32_t max, uint32_t known,
                                   struct proxy_book *before)
{
    struct proxy_book *b = before;
    if (!before)
        b = book_first(mem, max);
    else if (!has_room(before, max, known))
        b = book_after(mem, max, known, before);
    if (b)
        b->proxies++;
    return b;
}
