/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A proxy as its workers share it: one block with its options, rules and texts, which never change,
 * and a book of accounts, which may be that of the proxy before.
 */
#include "service/proxy.h"

#include <assert.h>
#include <string.h>

#include "service/proxy_internal.h"

#define CONNECT_TIMEOUT   (10 * TICK_SEC)
#define IDLE_TIMEOUT      (300 * TICK_SEC)
#define HALF_OPEN_TIMEOUT (60 * TICK_SEC)

/* ---- its block ---- */

void *proxy_space_take(struct proxy_space *s, size_t size, size_t align)
{
    size_t at = (s->used + align - 1) & ~(align - 1);
    s->used = at + size;
    return s->base ? s->base + at : NULL;
}

struct http_text proxy_space_text(struct proxy_space *s, const char *text, size_t n)
{
    char *p = proxy_space_take(s, n + 1, 1);
    if (p) {
        memcpy(p, text, n);
        p[n] = '\0';
    }
    return (struct http_text){p, (uint32_t)n};
}

static const char *copy_text(struct proxy_space *s, const char *text)
{
    return proxy_space_text(s, text, strlen(text)).p;
}

/* IPv4 first. *n_v4: how many those are. */
static const struct ip_addr *copy_egress(struct proxy_space *s, const struct proxy_options *o,
                                         unsigned *n_v4)
{
    struct ip_addr *to = proxy_space_take(s, o->n_egress * sizeof(*to), _Alignof(struct ip_addr));
    unsigned n = 0;
    for (int v4 = 1; to && v4 >= 0; v4--) {
        for (unsigned i = 0; i < o->n_egress; i++)
            if (ip_is_v4(&o->egress[i]) == (v4 == 1))
                to[n++] = o->egress[i];
        if (v4 == 1)
            *n_v4 = n;
    }
    return to;
}

static tick_t or_default(tick_t given, tick_t otherwise)
{
    return given ? given : otherwise;
}

static struct proxy_options copy_options(struct proxy_space *s, const struct proxy_options *given,
                                         unsigned *n_v4)
{
    struct proxy_options o = *given;
    o.name = copy_text(s, given->name);
    o.realm = given->realm ? copy_text(s, given->realm) : o.name;
    o.rule = NULL;
    o.n_rules = 0;
    o.user = NULL;
    o.n_users = 0;
    o.egress = copy_egress(s, given, n_v4);
    o.connect_timeout = or_default(given->connect_timeout, CONNECT_TIMEOUT);
    o.idle_timeout = or_default(given->idle_timeout, IDLE_TIMEOUT);
    o.half_open_timeout = or_default(given->half_open_timeout, HALF_OPEN_TIMEOUT);
    return o;
}

/* NULL while measuring. */
static struct proxy *build(struct proxy_space *s, const struct proxy_options *o)
{
    struct proxy *p = proxy_space_take(s, sizeof(*p), _Alignof(struct proxy));
    struct proxy made = {.n_known = o->n_users};
    made.cell =
        proxy_space_take(s, PROXY_WORKERS_MAX * sizeof(*made.cell), _Alignof(struct proxy_cell));
    made.known =
        proxy_space_take(s, o->n_users * sizeof(*made.known), _Alignof(struct proxy_known));
    made.options = copy_options(s, o, &made.n_egress_v4);
    made.rules = proxy_rules_make(s, o->rule, o->n_rules);
    if (p)
        *p = made;
    return p;
}

static struct proxy *make(struct mem *mem, const struct proxy_options *o)
{
    struct proxy_space s = {.base = NULL};
    build(&s, o);
    size_t size = s.used;
    s = (struct proxy_space){.base = mem_alloc(mem, size, _Alignof(struct proxy_cell))};
    if (!s.base)
        return NULL;
    struct proxy *p = build(&s, o);
    assert(s.used == size && "both passes take the same");
    p->mem = mem;
    p->size = size;
    return p;
}

/* ---- its accounts ---- */

/* Where nobody shows who he is, all but those of the configuration is one account. */
static uint32_t accounts_max(const struct proxy_options *o)
{
    return o->basic || o->certificate ? PROXY_USERS_MAX + 1 : 2 * (o->n_users + 1);
}

static bool open_book(struct proxy *p, const struct proxy_options *o, const struct proxy *before)
{
    p->book = proxy_book_join(p->mem, accounts_max(o), o->n_users, before ? before->book : NULL);
    if (!p->book || !proxy_book_get(p->book, "", 0))
        return false;
    for (unsigned i = 0; i < o->n_users; i++) {
        const struct proxy_user *user = &o->user[i];
        p->known[i].limits = user->limits;
        p->known[i].account = proxy_book_get(p->book, user->name, strlen(user->name));
        if (!p->known[i].account)
            return false;
    }
    return true;
}

void proxy_enforce(struct proxy *p)
{
    struct proxy_root *root = p->book->root;
    struct proxy_limits before = proxy_limits_load(&root->limits);
    proxy_limits_store(&root->limits, &p->options.limits);
    root->round++;
    for (unsigned i = 0; i < p->n_known; i++) {
        p->known[i].account->round = root->round;
        proxy_account_settle(p->known[i].account, &p->known[i].limits, &before);
    }
    for (uint32_t i = 0; i <= p->book->mask; i++) {
        struct proxy_account *a = atomic_load_explicit(&p->book->slot[i], memory_order_acquire);
        if (a && a->round != root->round)
            proxy_account_settle(a, NULL, &before);
    }
}

/* ---- its life ---- */

static int check(const struct proxy_options *o)
{
    if (o->n_users > PROXY_USERS_MAX || o->n_egress > PROXY_EGRESS_MAX)
        return PROXY_E_LIMIT;
    for (unsigned i = 0; i < o->n_users; i++)
        if (strlen(o->user[i].name) > PROXY_USER_MAX)
            return PROXY_E_LIMIT;
    return proxy_rules_check(o->rule, o->n_rules);
}

struct proxy *proxy_create(struct mem *mem, const struct proxy_options *o,
                           const struct proxy *before, enum proxy_error *error)
{
    int bad = check(o);
    if (bad) {
        *error = (enum proxy_error)bad;
        return NULL;
    }
    struct proxy *p = make(mem, o);
    if (!p || !open_book(p, o, before)) {
        proxy_destroy(p);
        *error = PROXY_E_MEMORY;
        return NULL;
    }
    if (!before)
        proxy_enforce(p);
    return p;
}

void proxy_destroy(struct proxy *p)
{
    if (!p)
        return;
    assert(proxy_users(p) == 0 && "nobody uses it");
    proxy_book_leave(p->book);
    mem_free(p->mem, p, p->size);
}

static struct proxy_cell *cell_of(const struct proxy *p, uint16_t worker)
{
    assert(worker < PROXY_WORKERS_MAX);
    return &p->cell[worker];
}

/* Writer only, so no bus lock. What was read of the proxy before comes before it. */
static void count(struct proxy_cell *cell, uint64_t n)
{
    uint64_t users = atomic_load_explicit(&cell->users, memory_order_relaxed);
    atomic_store_explicit(&cell->users, users + n, memory_order_release);
}

void proxy_hold(const struct proxy *p, uint16_t worker)
{
    count(cell_of(p, worker), 1);
}

void proxy_release(const struct proxy *p, uint16_t worker)
{
    count(cell_of(p, worker), UINT64_MAX);
}

uint64_t proxy_users(const struct proxy *p)
{
    uint64_t users = 0;
    for (unsigned i = 0; i < PROXY_WORKERS_MAX; i++)
        users += atomic_load_explicit(&p->cell[i].users, memory_order_acquire);
    return users;
}

/* ---- what it says of itself ---- */

const struct proxy_options *proxy_options(const struct proxy *p)
{
    return &p->options;
}

bool proxy_egress(const struct proxy *p, const struct ip_addr *target, uint64_t hash,
                  struct ip_addr *to)
{
    unsigned n_v4 = p->n_egress_v4;
    unsigned first = ip_is_v4(target) ? 0 : n_v4;
    unsigned n = ip_is_v4(target) ? n_v4 : p->options.n_egress - n_v4;
    if (n == 0)
        return false;
    *to = p->options.egress[first + hash % n];
    return true;
}
