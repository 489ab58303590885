/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "service/proxy_internal.h"
#include "support/heap.h"
#include "support/unit.h"

static struct heap heap;
static struct proxy *proxy;

static struct proxy *make(struct proxy_limits limits, const struct proxy *before)
{
    struct proxy_options o = {.name = "proxy", .basic = true, .limits = limits};
    enum proxy_error error = 0;
    struct proxy *p = proxy_create(&heap.mem, &o, before, &error);
    ck_assert_ptr_nonnull(p);
    return p;
}

static void setup(void)
{
    heap_init(&heap);
    proxy = NULL;
}

static void teardown(void)
{
    proxy_destroy(proxy);
    ck_assert_uint_eq(heap.blocks, 0);
}

static void limit(struct proxy_limits limits)
{
    struct proxy *p = make(limits, proxy);
    proxy_enforce(p);
    proxy_destroy(proxy);
    proxy = p;
}

static struct proxy_account *opens(const char *user, tick_t now)
{
    bool rate = true;
    struct proxy_account *a = proxy_open(proxy, user, now, &rate);
    ck_assert_ptr_nonnull(a);
    ck_assert(!rate);
    return a;
}

static void refuses(const char *user, tick_t now, bool expected)
{
    bool rate = !expected;
    ck_assert_ptr_null(proxy_open(proxy, user, now, &rate));
    ck_assert(rate == expected);
}

/* ---- tunnels ---- */

START_TEST(nothing_is_limited)
{
    limit((struct proxy_limits){0});
    struct proxy_account *a = NULL;
    tick_t again;
    for (int i = 0; i < 1000; i++)
        a = opens(NULL, 0);
    ck_assert_uint_eq(proxy_take(a, UINT32_MAX, 0, &again), UINT32_MAX);
    proxy_give_back(a, UINT32_MAX);
    ck_assert_uint_eq(proxy_take(a, UINT32_MAX, 0, &again), UINT32_MAX);
    for (int i = 0; i < 1000; i++)
        proxy_close(a);
}
END_TEST

START_TEST(tunnels_at_once)
{
    limit((struct proxy_limits){.tunnels = 2});
    struct proxy_account *a = opens("alice", 5);
    ck_assert_ptr_eq(opens("alice", 5), a);
    refuses("alice", 5, false);
    struct proxy_account *b = opens("bob", 5); /* each by himself */
    ck_assert_ptr_ne(a, b);
    struct proxy_account *n = opens(NULL, 5);
    ck_assert_ptr_eq(opens("", 5), n);
    refuses(NULL, 5, false);
    proxy_close(a);
    ck_assert_ptr_eq(opens("alice", 5), a);
    refuses("alice", 5, false);
    for (int i = 0; i < 2; i++) {
        proxy_close(a);
        proxy_close(n);
    }
    proxy_close(b);
}
END_TEST

START_TEST(too_long_a_name)
{
    char name[PROXY_USER_MAX + 2];
    memset(name, 'x', sizeof(name));
    name[PROXY_USER_MAX + 1] = '\0';
    limit((struct proxy_limits){0});
    refuses(name, 0, false);
    name[PROXY_USER_MAX] = '\0';
    proxy_close(opens(name, 0));
}
END_TEST

START_TEST(tunnels_a_second)
{
    limit((struct proxy_limits){.rate = 3});
    for (tick_t t = 0; t < 1000 * TICK_SEC; t += 100 * TICK_SEC) {
        for (int i = 0; i < 3; i++)
            proxy_close(opens("alice", t));
        refuses("alice", t, true);
        refuses("alice", t + TICK_SEC / 3, true);
        proxy_close(opens("alice", t + TICK_SEC / 3 + 1));
        refuses("alice", t + TICK_SEC / 3 + 1, true);
    }
}
END_TEST

/* Refused for its number, a tunnel costs no token; refused for the rate, it is not open. */
START_TEST(a_refusal_costs_nothing)
{
    limit((struct proxy_limits){.tunnels = 1, .rate = 2});
    struct proxy_account *a = opens("alice", 0);
    for (int i = 0; i < 10; i++)
        refuses("alice", 0, false);
    proxy_close(a);
    proxy_close(opens("alice", 0));
    for (int i = 0; i < 10; i++)
        refuses("alice", 0, true);
    proxy_close(opens("alice", TICK_SEC));
}
END_TEST

/* As many as are let through, asked for at odd times. */
START_TEST(the_rate_is_exact)
{
    static const uint32_t rate[] = {1, 3, 7, 999, 100003};
    const tick_t span = 20 * TICK_SEC;
    for (unsigned i = 0; i < sizeof(rate) / sizeof(rate[0]); i++) {
        limit((struct proxy_limits){.rate = rate[i]});
        uint64_t n = 0;
        bool limited;
        struct proxy_account *a;
        tick_t start = 1234567890123456789u;
        for (tick_t t = 0; t < span; t += 7919 * 1009)
            while ((a = proxy_open(proxy, "alice", start + t, &limited))) {
                proxy_close(a);
                n++;
            }
        while ((a = proxy_open(proxy, "alice", start + span, &limited))) {
            proxy_close(a);
            n++;
        }
        ck_assert_uint_ge(n, rate[i] + rate[i] * 20ull);
        ck_assert_uint_le(n, rate[i] + rate[i] * 20ull + 1); /* the start lies between two */
    }
}
END_TEST

/* ---- bytes ---- */

/* All that can be had now, in pieces of `want`. */
static uint64_t take_all(struct proxy_account *a, uint32_t want, tick_t now, tick_t *again)
{
    uint64_t sum = 0;
    for (uint32_t n; (n = proxy_take(a, want, now, again)) > 0; sum += n)
        ck_assert(n <= want && (n == want || n >= PROXY_TAKE_MIN));
    ck_assert_uint_gt(*again, now);
    return sum;
}

START_TEST(a_quarter_second_at_once)
{
    tick_t again;
    limit((struct proxy_limits){.bytes = 100 << 20});
    struct proxy_account *a = opens("alice", 0);
    ck_assert_uint_eq(take_all(a, 65536, 0, &again), 25 << 20);
    ck_assert_uint_eq(take_all(a, 65536, 3600 * TICK_SEC, &again), 25 << 20);
    limit((struct proxy_limits){.bytes = 1000});
    ck_assert_uint_eq(take_all(a, 1, 3600 * TICK_SEC, &again), 65536);
    ck_assert_uint_eq(again, 3600 * TICK_SEC + TICK_MS + 1);
    proxy_close(a);
}
END_TEST

/* Of the wait that he was told, all but a tenth and a token's time; has that passed, there is
 * nothing yet. */
static tick_t nearly(tick_t now, tick_t again, uint64_t rate)
{
    tick_t token = TICK_SEC / rate + 2;
    tick_t wait = (again - now) / 10 * 9;
    return now + (wait > token ? wait - token : 0);
}

static void comes_again(struct proxy_account *a, uint64_t rate, uint32_t want, tick_t now)
{
    for (int round = 0; round < 200; round++) {
        tick_t again = TICK_NEVER, later;
        if (proxy_take(a, want, now, &again) > 0)
            continue;
        ck_assert(again > now && again != TICK_NEVER);
        ck_assert_uint_eq(proxy_take(a, want, nearly(now, again, rate), &later), 0);
        ck_assert_uint_gt(proxy_take(a, want, again, &later), 0);
        now = again;
    }
}

START_TEST(again_is_the_time)
{
    static const uint64_t rate[] = {1,          3,           1000,       65537,      1000003,
                                    1ull << 30, 12500000000, 1ull << 40, 1ull << 56, UINT64_MAX};
    static const uint32_t want[] = {1, 4095, 4096, 65536, UINT32_MAX};
    for (unsigned i = 0; i < sizeof(rate) / sizeof(rate[0]); i++)
        for (unsigned k = 0; k < sizeof(want) / sizeof(want[0]); k++) {
            limit((struct proxy_limits){.bytes = rate[i]});
            struct proxy_account *a = opens("alice", 0);
            comes_again(a, rate[i], want[k], 987654321987654321u);
            proxy_close(a);
        }
}
END_TEST

START_TEST(bytes_are_exact)
{
    static const uint64_t rate[] = {1, 999, 131072, 1000003, 12500000007};
    for (unsigned i = 0; i < sizeof(rate) / sizeof(rate[0]); i++) {
        tick_t again;
        limit((struct proxy_limits){.bytes = rate[i]});
        uint64_t burst = rate[i] / 4 > 65536 ? rate[i] / 4 : 65536;
        const tick_t start = 86400 * 365 * TICK_SEC, span = 100 * TICK_SEC;
        struct proxy_account *a = opens("alice", start);
        uint64_t sum = 0;
        for (tick_t t = start; t < start + span; t += 99 * TICK_MS)
            sum += take_all(a, 1 << 30, t, &again);
        /* The last few in single bytes, as a piece has a least size. */
        while (proxy_take(a, PROXY_TAKE_MIN, start + span, &again))
            sum += PROXY_TAKE_MIN;
        while (proxy_take(a, 1, start + span, &again))
            sum++;
        ck_assert_uint_eq(sum, burst + 100 * rate[i]);
        proxy_close(a);
    }
}
END_TEST

START_TEST(what_is_given_back_can_be_taken)
{
    tick_t again;
    limit((struct proxy_limits){.bytes = 1000});
    struct proxy_account *a = opens("alice", 0);
    ck_assert_uint_eq(proxy_take(a, 65536, 0, &again), 65536);
    proxy_give_back(a, 65000);
    ck_assert_uint_eq(proxy_take(a, 65536, 0, &again), 65000);
    ck_assert_uint_eq(proxy_take(a, 1, 0, &again), 0);
    proxy_give_back(a, 65536);
    ck_assert_uint_eq(take_all(a, 1, TICK_SEC, &again), 65536); /* never more than a burst */
    proxy_close(a);
}
END_TEST

START_TEST(time_goes_back)
{
    tick_t again;
    limit((struct proxy_limits){.bytes = 1 << 20, .rate = 10});
    struct proxy_account *a = opens("alice", 100 * TICK_SEC);
    ck_assert_uint_eq(take_all(a, 65536, 100 * TICK_SEC, &again), 1 << 18);
    uint64_t sum = 0;
    unsigned opened = 0;
    for (unsigned i = 0; i < 1000; i++) {
        bool rate;
        tick_t back = 500 * TICK_MS * (i % 2);
        sum += take_all(a, 65536, 100 * TICK_SEC - back, &again);
        struct proxy_account *b = proxy_open(proxy, "alice", 100 * TICK_SEC - back, &rate);
        opened += b != NULL;
        if (b)
            proxy_close(b);
    }
    ck_assert_uint_eq(opened, 9);
    ck_assert_uint_eq(sum, 0);
    ck_assert_uint_eq(take_all(a, 65536, 100 * TICK_SEC + TICK_SEC / 4, &again), 1 << 18);
    proxy_close(a);
}
END_TEST

/* ---- limits that change ---- */

START_TEST(the_same_limit_goes_on)
{
    tick_t again;
    const struct proxy_limits limits = {.bytes = 1000, .rate = 1};
    limit(limits);
    struct proxy_account *a = opens("alice", 0);
    take_all(a, 1, 0, &again);
    limit(limits);
    ck_assert_uint_eq(proxy_take(a, 1, 0, &again), 0);
    refuses("alice", 0, true);
    proxy_close(a);
}
END_TEST

START_TEST(another_rate_starts_full)
{
    tick_t again, now = 100000 * TICK_SEC;
    limit((struct proxy_limits){.bytes = 1ull << 40, .rate = 1000000});
    struct proxy_account *a = opens("alice", now);
    take_all(a, 1 << 30, now, &again);
    limit((struct proxy_limits){.bytes = 1000, .rate = 1});
    ck_assert_uint_eq(take_all(a, 1, now, &again), 65536);
    proxy_close(opens("alice", now));
    refuses("alice", now, true);
    proxy_close(a);
}
END_TEST

/* A worker that still takes by the old rate leaves the meter where the new one does not get stuck.
 */
START_TEST(a_meter_far_ahead_counts_as_another_rates)
{
    tick_t again, now = 100000 * TICK_SEC;
    limit((struct proxy_limits){.bytes = 1000});
    struct proxy_account *a = opens("alice", now);
    atomic_store(&a->bytes.at, (1ull << 40) * 100000);
    ck_assert_uint_eq(take_all(a, 1, now, &again), 65536);
    ck_assert_uint_eq(again, now + TICK_MS + 1);
    proxy_close(a);
}
END_TEST

/* ---- threads ---- */

#define THREADS 4
#define ROUNDS  100000

struct hammer {
    pthread_t thread;
    unsigned number;
    uint64_t opened;
    uint64_t bytes;
};

static _Atomic uint32_t open_now, open_most;

static void *hammers(void *arg)
{
    struct hammer *h = arg;
    bool rate;
    tick_t again;
    for (unsigned i = 0; i < ROUNDS; i++) {
        tick_t now = TICK_SEC + i * TICK_US + h->number; /* never quite the same */
        struct proxy_account *a = proxy_open(proxy, "alice", now, &rate);
        if (!a)
            continue;
        uint32_t n = atomic_fetch_add(&open_now, 1) + 1;
        for (uint32_t most = open_most; n > most;)
            if (atomic_compare_exchange_weak(&open_most, &most, n))
                break;
        h->opened++;
        uint32_t got = proxy_take(a, 20000, now, &again);
        uint32_t back = got / 3;
        proxy_give_back(a, back);
        h->bytes += got - back;
        atomic_fetch_sub(&open_now, 1);
        proxy_close(a);
    }
    return NULL;
}

/* Whatever they do at once, what they had together is within what one alone may have, and nothing
 * is lost: what is left over makes up the sum. */
START_TEST(threads_share_an_account)
{
    struct hammer h[THREADS] = {{.number = 0}};
    const uint64_t bytes = 100000000;
    uint64_t opened = 0, sum = 0;
    limit((struct proxy_limits){.tunnels = 3, .rate = 1000000, .bytes = bytes});
    proxy_close(opens("alice", 0));
    for (unsigned i = 0; i < THREADS; i++) {
        h[i].number = i;
        ck_assert_int_eq(pthread_create(&h[i].thread, NULL, hammers, &h[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(h[i].thread, NULL);
        opened += h[i].opened;
        sum += h[i].bytes;
    }
    struct proxy_account *a = proxy_book_get(proxy->book, "alice", 5);
    ck_assert_uint_eq(atomic_load(&a->tunnels), 0);
    ck_assert_uint_le(open_most, 3);
    ck_assert_uint_gt(opened, 0);
    ck_assert_uint_le(sum, bytes / 4 + bytes * (ROUNDS + 1) / 1000000);
}
END_TEST

static void *takes(void *arg)
{
    struct hammer *h = arg;
    tick_t again;
    struct proxy_account *a = proxy_book_get(proxy->book, "alice", 5);
    for (uint32_t n; (n = proxy_take(a, 1 + h->number % 2, TICK_SEC, &again)) > 0;)
        h->bytes += n;
    return NULL;
}

/* At one moment: the burst to the byte. */
START_TEST(threads_take_all_there_is)
{
    struct hammer h[THREADS] = {{.number = 0}};
    uint64_t sum = 0;
    limit((struct proxy_limits){.bytes = 8000000});
    proxy_close(opens("alice", 0));
    for (unsigned i = 0; i < THREADS; i++) {
        h[i].number = i;
        ck_assert_int_eq(pthread_create(&h[i].thread, NULL, takes, &h[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(h[i].thread, NULL);
        sum += h[i].bytes;
    }
    tick_t again;
    struct proxy_account *a = proxy_book_get(proxy->book, "alice", 5);
    sum += proxy_take(a, 1, TICK_SEC, &again); /* where 2 were wanted by the last */
    ck_assert_uint_eq(sum, 2000000);
}
END_TEST

UNIT_MAIN("proxy_account", setup, teardown, nothing_is_limited, tunnels_at_once, too_long_a_name,
          tunnels_a_second, a_refusal_costs_nothing, the_rate_is_exact, a_quarter_second_at_once,
          again_is_the_time, bytes_are_exact, what_is_given_back_can_be_taken, time_goes_back,
          the_same_limit_goes_on, another_rate_starts_full,
          a_meter_far_ahead_counts_as_another_rates, threads_share_an_account,
          threads_take_all_there_is)
