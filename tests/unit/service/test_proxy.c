/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/proxy.h"

#include <stdio.h>
#include <string.h>

#include "service/proxy_internal.h"
#include "support/heap.h"
#include "support/unit.h"

static struct heap heap;
static struct proxy *proxy;

static struct proxy *make(const struct proxy_options *o, const struct proxy *before)
{
    enum proxy_error error = 0;
    struct proxy *p = proxy_create(&heap.mem, o, before, &error);
    ck_assert(p && error == 0);
    return p;
}

static void setup(void)
{
    struct proxy_options o = {.name = "proxy"};
    heap_init(&heap);
    proxy = make(&o, NULL);
}

static void teardown(void)
{
    proxy_destroy(proxy);
    ck_assert_uint_eq(heap.blocks, 0);
}

/* As at a reload: the new one is in place, then the old one goes. */
static void reload(const struct proxy_options *o)
{
    struct proxy *p = make(o, proxy);
    proxy_enforce(p);
    proxy_destroy(proxy);
    proxy = p;
}

START_TEST(options_have_defaults)
{
    const struct proxy_options *o = proxy_options(proxy);
    ck_assert_str_eq(o->name, "proxy");
    ck_assert_str_eq(o->realm, "proxy");
    ck_assert_uint_eq(o->connect_timeout, 10 * TICK_SEC);
    ck_assert_uint_eq(o->idle_timeout, 300 * TICK_SEC);
    ck_assert_uint_eq(o->half_open_timeout, 60 * TICK_SEC);
    ck_assert_uint_eq(o->lifetime, 0);
    ck_assert_ptr_null(o->rule);
    ck_assert_ptr_null(o->user);
}
END_TEST

START_TEST(options_are_copied)
{
    char name[] = "name";
    char realm[] = "realm";
    struct proxy_options given = {.name = name,
                                  .realm = realm,
                                  .connect_timeout = 1,
                                  .idle_timeout = 2,
                                  .half_open_timeout = 3,
                                  .lifetime = 4,
                                  .credentials = name};
    reload(&given);
    memset(name, 'x', 4);
    memset(realm, 'x', 5);
    const struct proxy_options *o = proxy_options(proxy);
    ck_assert_str_eq(o->name, "name");
    ck_assert_str_eq(o->realm, "realm");
    ck_assert_uint_eq(o->connect_timeout, 1);
    ck_assert_uint_eq(o->idle_timeout, 2);
    ck_assert_uint_eq(o->half_open_timeout, 3);
    ck_assert_uint_eq(o->lifetime, 4);
    ck_assert_ptr_eq(o->credentials, name);
}
END_TEST

START_TEST(users_are_counted_by_worker)
{
    ck_assert_uint_eq(proxy_users(proxy), 0);
    proxy_hold(proxy, 0);
    proxy_hold(proxy, PROXY_WORKERS_MAX - 1);
    proxy_hold(proxy, 0);
    ck_assert_uint_eq(proxy_users(proxy), 3);
    proxy_release(proxy, 0);
    proxy_release(proxy, 0);
    ck_assert_uint_eq(proxy_users(proxy), 1);
    proxy_release(proxy, PROXY_WORKERS_MAX - 1);
    ck_assert_uint_eq(proxy_users(proxy), 0);
}
END_TEST

START_TEST(egress_is_of_the_family)
{
    struct ip_addr egress[5], to, again;
    for (unsigned i = 0; i < 5; i++) {
        char text[32];
        snprintf(text, sizeof(text), i % 2 ? "198.51.100.%u" : "2001:db8::%u", i);
        ck_assert(ip_parse(text, &egress[i]));
    }
    struct proxy_options o = {.name = "p", .egress = egress, .n_egress = 5};
    ck_assert(!proxy_egress(proxy, &egress[0], 0, &to));
    reload(&o);
    unsigned seen4 = 0, seen6 = 0;
    for (uint64_t hash = 0; hash < 60; hash++) {
        ck_assert(proxy_egress(proxy, &egress[1], hash, &to) && ip_is_v4(&to));
        seen4 |= 1u << to.b[15];
        ck_assert(proxy_egress(proxy, &egress[1], hash, &again) && ip_eq(&to, &again));
        ck_assert(proxy_egress(proxy, &egress[0], hash, &to) && !ip_is_v4(&to));
        seen6 |= 1u << to.b[15];
    }
    ck_assert_uint_eq(seen4, 1u << 1 | 1u << 3);
    ck_assert_uint_eq(seen6, 1u << 0 | 1u << 2 | 1u << 4);
    o.n_egress = 1; /* IPv6 only */
    reload(&o);
    ck_assert(!proxy_egress(proxy, &egress[1], 7, &to));
    ck_assert(proxy_egress(proxy, &egress[2], 7, &to) && ip_eq(&to, &egress[0]));
}
END_TEST

START_TEST(bounds_are_kept)
{
    static struct ip_addr egress[PROXY_EGRESS_MAX + 1];
    static struct proxy_user user[PROXY_USERS_MAX + 1];
    static char name[PROXY_USERS_MAX + 1][16];
    enum proxy_error error = 0;
    struct proxy_options o = {.name = "p", .egress = egress, .n_egress = PROXY_EGRESS_MAX + 1};
    ck_assert_ptr_null(proxy_create(&heap.mem, &o, NULL, &error));
    ck_assert_int_eq(error, PROXY_E_LIMIT);
    for (unsigned i = 0; i <= PROXY_USERS_MAX; i++) {
        snprintf(name[i], sizeof(name[i]), "user%u", i);
        user[i].name = name[i];
    }
    o = (struct proxy_options){.name = "p", .user = user, .n_users = PROXY_USERS_MAX + 1};
    error = 0;
    ck_assert_ptr_null(proxy_create(&heap.mem, &o, NULL, &error));
    ck_assert_int_eq(error, PROXY_E_LIMIT);
    o.n_users--;
    o.n_egress = 0;
    o.basic = true;
    reload(&o);
    bool rate;
    struct proxy_account *a = proxy_open(proxy, "user65535", 0, &rate);
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_null(proxy_open(proxy, "user65536", 0, &rate)); /* the table is full */
    ck_assert(!rate);
    proxy_close(a);
    char long_name[PROXY_USER_MAX + 2];
    memset(long_name, 'x', sizeof(long_name));
    long_name[PROXY_USER_MAX + 1] = '\0';
    user[0].name = long_name;
    o.n_users = 1;
    ck_assert_ptr_null(proxy_create(&heap.mem, &o, NULL, &error));
    ck_assert_int_eq(error, PROXY_E_LIMIT);
}
END_TEST

/* ---- reloads ---- */

START_TEST(an_account_goes_on)
{
    bool rate;
    struct proxy_user user = {.name = "alice", .limits = {.tunnels = 2}};
    struct proxy_options o = {.name = "p", .basic = true, .limits = {.tunnels = 1}};
    reload(&o);
    struct proxy_account *alice = proxy_open(proxy, "alice", 0, &rate);
    struct proxy_account *bob = proxy_open(proxy, "bob", 0, &rate);
    ck_assert(alice && bob && alice != bob);
    ck_assert_ptr_null(proxy_open(proxy, "alice", 0, &rate));
    o.user = &user;
    o.n_users = 1;
    reload(&o);
    ck_assert_ptr_eq(proxy_open(proxy, "alice", 0, &rate), alice);
    ck_assert_ptr_null(proxy_open(proxy, "alice", 0, &rate));
    ck_assert_ptr_null(proxy_open(proxy, "bob", 0, &rate));
    o.n_users = 0; /* back to what everybody has */
    o.limits.tunnels = 3;
    reload(&o);
    ck_assert_ptr_eq(proxy_open(proxy, "alice", 0, &rate), alice);
    ck_assert_ptr_null(proxy_open(proxy, "alice", 0, &rate));
    ck_assert_ptr_eq(proxy_open(proxy, "bob", 0, &rate), bob);
    for (int i = 0; i < 3; i++)
        proxy_close(alice);
    proxy_close(bob);
    proxy_close(bob);
}
END_TEST

START_TEST(both_count_on_the_same)
{
    bool rate;
    struct proxy_options o = {.name = "p", .basic = true, .limits = {.tunnels = 2}};
    reload(&o);
    struct proxy *next = make(&o, proxy);
    proxy_enforce(next);
    struct proxy_account *a = proxy_open(proxy, "new", 0, &rate); /* after next was made */
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_eq(proxy_open(next, "new", 0, &rate), a);
    ck_assert_ptr_null(proxy_open(proxy, "new", 0, &rate));
    ck_assert_ptr_null(proxy_open(next, "new", 0, &rate));
    proxy_close(a);
    proxy_close(a);
    proxy_destroy(proxy);
    proxy = next;
}
END_TEST

START_TEST(limits_change_once_in_place)
{
    bool rate;
    struct proxy_options o = {.name = "p", .limits = {.tunnels = 1}};
    reload(&o);
    struct proxy_account *a = proxy_open(proxy, NULL, 0, &rate);
    o.limits.tunnels = 5;
    struct proxy *failed = make(&o, proxy);
    ck_assert_ptr_null(proxy_open(proxy, NULL, 0, &rate));
    ck_assert_ptr_null(proxy_open(failed, NULL, 0, &rate));
    proxy_destroy(failed);
    ck_assert_ptr_null(proxy_open(proxy, NULL, 0, &rate));
    reload(&o);
    ck_assert_ptr_eq(proxy_open(proxy, "", 0, &rate), a);
    proxy_close(a);
    proxy_close(a);
}
END_TEST

/* From one account for everybody to one for each user, and back. */
START_TEST(the_book_grows)
{
    bool rate;
    struct proxy_options o = {.name = "p", .limits = {.tunnels = 1}};
    reload(&o);
    struct proxy_account *nobody = proxy_open(proxy, NULL, 0, &rate);
    ck_assert_ptr_nonnull(proxy_open(proxy, "one", 0, &rate));
    ck_assert_ptr_null(proxy_open(proxy, "two", 0, &rate)); /* no room */
    proxy_close(proxy_book_get(proxy->book, "one", 3));
    o.certificate = true;
    struct proxy *next = make(&o, proxy);
    proxy_enforce(next);
    ck_assert_ptr_null(proxy_open(next, NULL, 0, &rate));
    ck_assert_ptr_null(proxy_open(proxy, NULL, 0, &rate));
    proxy_destroy(proxy);
    proxy = next;
    struct proxy_account *two = proxy_open(proxy, "two", 0, &rate);
    ck_assert_ptr_nonnull(two);
    o.certificate = false;
    reload(&o);
    ck_assert_ptr_null(proxy_open(proxy, "two", 0, &rate));
    proxy_close(two);
    proxy_close(nobody);
}
END_TEST

/* More than half full: only those go on that have something to go on with. */
START_TEST(the_idle_are_dropped)
{
    bool rate;
    char name[16];
    struct proxy_user user = {.name = "user7", .limits = {.tunnels = 1}};
    struct proxy_options o = {.name = "p", .basic = true, .user = &user, .n_users = 1};
    reload(&o);
    struct proxy_account *busy = NULL;
    for (unsigned i = 0; i < PROXY_USERS_MAX; i++) {
        snprintf(name, sizeof(name), "user%u", i);
        struct proxy_account *a = proxy_open(proxy, name, 0, &rate);
        ck_assert_ptr_nonnull(a);
        if (i == 1000)
            busy = a;
        else
            proxy_close(a);
    }
    ck_assert_uint_eq(atomic_load(&proxy->book->n), PROXY_USERS_MAX + 1);
    ck_assert_ptr_null(proxy_open(proxy, "late", 0, &rate));
    struct proxy_account *known = proxy_book_get(proxy->book, "user7", 5);
    size_t bytes = heap.bytes;
    reload(&o);
    ck_assert_uint_eq(atomic_load(&proxy->book->n), 3);
    ck_assert_uint_lt(heap.bytes, bytes);
    ck_assert_ptr_eq(proxy_book_get(proxy->book, "user7", 5), known);
    ck_assert_ptr_eq(proxy_book_get(proxy->book, "user1000", 8), busy);
    proxy_close(busy);
    proxy_close(proxy_open(proxy, "late", 0, &rate));
}
END_TEST

START_TEST(many_reloads_keep_nothing)
{
    struct proxy_user user[20];
    char name[20][16];
    struct proxy_options o = {.name = "p", .user = user, .n_users = 20};
    size_t peak = 0;
    for (unsigned i = 0; i < 200; i++) {
        for (unsigned k = 0; k < 20; k++) {
            snprintf(name[k], sizeof(name[k]), "%u", i * 20 + k);
            user[k] = (struct proxy_user){.name = name[k], .limits = {.tunnels = 1}};
        }
        reload(&o);
        if (i == 10)
            peak = heap.bytes;
        ck_assert(peak == 0 || heap.bytes < 2 * peak);
    }
}
END_TEST

START_TEST(out_of_memory_at_any_moment)
{
    const char *const name[] = {"example.com"};
    struct proxy_rule rule = {.allow = true, .name = name, .n_names = 1};
    struct proxy_user user[] = {{.name = "a"}, {.name = "b"}};
    struct proxy_options o = {.name = "p", .rule = &rule, .n_rules = 1, .user = user, .n_users = 2};
    size_t held = heap.bytes;
    struct proxy *p = NULL;
    for (size_t more = 0; !p; more += 64) {
        enum proxy_error error = 0;
        heap.limit = held + more;
        p = proxy_create(&heap.mem, &o, more % 128 ? proxy : NULL, &error);
        ck_assert(p || error == PROXY_E_MEMORY);
        ck_assert(p || heap.bytes == held);
        ck_assert_uint_lt(more, 1000000);
    }
    bool rate = true;
    heap.limit = heap.bytes;
    ck_assert_ptr_null(proxy_open(p, "c", 0, &rate)); /* none for one more account */
    ck_assert(!rate);
    proxy_destroy(p);
}
END_TEST

UNIT_MAIN("proxy", setup, teardown, options_have_defaults, options_are_copied,
          users_are_counted_by_worker, egress_is_of_the_family, bounds_are_kept, an_account_goes_on,
          both_count_on_the_same, limits_change_once_in_place, the_book_grows, the_idle_are_dropped,
          many_reloads_keep_nothing, out_of_memory_at_any_moment)
