/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a user has open and may still take, counted by all workers at once without a lock.
 *
 * A limit of so many tokens a second is the generic cell rate algorithm (ITU-T I.371 annex A) with
 * tokens in the place of time. The clock's place on a line is how many tokens it has earned since
 * tick 0, rounded down, so that nothing is lost to rounding over any time. The meter's place is one
 * 64-bit word, which each token taken moves on; it is never left behind the clock's, nor gets more
 * than a burst before it. Places are compared modulo 2^64. A clock that goes back a little only
 * seems to have earned less.
 */
#include <assert.h>
#include <string.h>

#include "service/proxy_internal.h"

#define BYTES_MAX   (UINT64_C(1) << 56) /* a second; no machine's memory is as fast */
#define BURST_LEAST 65536u
/* A meter that is further before the clock than so many bursts stands where another rate left it.
 */
#define BURSTS_AHEAD 8u

/* ---- limits ---- */

void proxy_limits_store(struct proxy_live_limits *live, const struct proxy_limits *limits)
{
    uint64_t bytes = limits->bytes < BYTES_MAX ? limits->bytes : BYTES_MAX;
    atomic_store_explicit(&live->tunnels, limits->tunnels, memory_order_relaxed);
    atomic_store_explicit(&live->rate, limits->rate, memory_order_relaxed);
    atomic_store_explicit(&live->bytes, bytes, memory_order_relaxed);
}

struct proxy_limits proxy_limits_load(const struct proxy_live_limits *live)
{
    return (struct proxy_limits){.tunnels =
                                     atomic_load_explicit(&live->tunnels, memory_order_relaxed),
                                 .rate = atomic_load_explicit(&live->rate, memory_order_relaxed),
                                 .bytes = atomic_load_explicit(&live->bytes, memory_order_relaxed)};
}

static const struct proxy_live_limits *limits_of(const struct proxy_account *a)
{
    return atomic_load_explicit(&a->own, memory_order_acquire) ? &a->limits : &a->root->limits;
}

static void refill(struct proxy_meter *m)
{
    atomic_store_explicit(&m->at, 0, memory_order_relaxed);
}

void proxy_account_settle(struct proxy_account *a, const struct proxy_limits *own,
                          const struct proxy_limits *before)
{
    struct proxy_limits old = atomic_load_explicit(&a->own, memory_order_relaxed)
                                  ? proxy_limits_load(&a->limits)
                                  : *before;
    if (own)
        proxy_limits_store(&a->limits, own);
    atomic_store_explicit(&a->own, own != NULL, memory_order_release);
    struct proxy_limits now = proxy_limits_load(limits_of(a));
    if (now.rate != old.rate)
        refill(&a->opened);
    if (now.bytes != old.bytes)
        refill(&a->bytes);
}

/* ---- meters ---- */

struct take {
    uint64_t rate; /* tokens a second, > 0 */
    uint64_t burst;
    uint64_t least; /* none where there are fewer */
    uint64_t most;
};

/* Tokens earned since tick 0, modulo 2^64: rate * now / TICK_SEC, without a product of 128 bits. */
static uint64_t place_of(uint64_t rate, tick_t now)
{
    uint64_t ns = now % TICK_SEC;
    return now / TICK_SEC * rate + ns * (rate / TICK_SEC) + ns * (rate % TICK_SEC) / TICK_SEC;
}

/* Until that many tokens are earned; never too short. */
static tick_t time_of(uint64_t tokens, uint64_t rate)
{
    uint64_t rest = tokens % rate;
    tick_t ns = rest <= UINT64_MAX / TICK_SEC ? rest * TICK_SEC / rate : rest / (rate / TICK_SEC);
    return tokens / rate * TICK_SEC + ns + 1;
}

/* Tokens taken; 0: *wait is the time until there are enough. */
static uint64_t meter_take(struct proxy_meter *m, const struct take *t, tick_t now, tick_t *wait)
{
    uint64_t clock = place_of(t->rate, now);
    uint64_t at = atomic_load_explicit(&m->at, memory_order_relaxed);
    uint64_t ahead, n;
    do {
        ahead = at - clock;
        if (ahead > BURSTS_AHEAD * t->burst) /* or behind, modulo 2^64 */
            ahead = 0;
        if (ahead + t->least > t->burst) {
            *wait = time_of(ahead + t->least - t->burst, t->rate);
            return 0;
        }
        n = t->burst - ahead < t->most ? t->burst - ahead : t->most;
    } while (!atomic_compare_exchange_weak_explicit(&m->at, &at, clock + ahead + n,
                                                    memory_order_relaxed, memory_order_relaxed));
    return n;
}

/* ---- tunnels ---- */

/* False: at the limit (0: none). */
static bool count_tunnel(struct proxy_account *a, uint32_t limit)
{
    uint32_t n = atomic_load_explicit(&a->tunnels, memory_order_relaxed);
    do {
        if (limit > 0 && n >= limit)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&a->tunnels, &n, n + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

static bool take_opening(struct proxy_account *a, uint32_t rate, tick_t now)
{
    struct take t = {.rate = rate, .burst = rate, .least = 1, .most = 1};
    tick_t wait;
    return rate == 0 || meter_take(&a->opened, &t, now, &wait) > 0;
}

struct proxy_account *proxy_open(const struct proxy *p, const char *user, tick_t now, bool *rate)
{
    struct proxy_account *a = proxy_book_get(p->book, user ? user : "", user ? strlen(user) : 0);
    *rate = false;
    if (!a)
        return NULL;
    const struct proxy_live_limits *limits = limits_of(a);
    if (!count_tunnel(a, atomic_load_explicit(&limits->tunnels, memory_order_relaxed)))
        return NULL;
    if (take_opening(a, atomic_load_explicit(&limits->rate, memory_order_relaxed), now))
        return a;
    proxy_close(a);
    *rate = true;
    return NULL;
}

void proxy_close(struct proxy_account *a)
{
    uint32_t n = atomic_fetch_sub_explicit(&a->tunnels, 1, memory_order_release);
    assert(n > 0 && "as often as opened");
    (void)n;
}

/* ---- bytes ---- */

uint32_t proxy_take(struct proxy_account *a, uint32_t want, tick_t now, tick_t *again)
{
    assert(want > 0);
    uint64_t rate = atomic_load_explicit(&limits_of(a)->bytes, memory_order_relaxed);
    if (rate == 0)
        return want;
    struct take t = {.rate = rate,
                     .burst = rate / 4 > BURST_LEAST ? rate / 4 : BURST_LEAST,
                     .least = want < PROXY_TAKE_MIN ? want : PROXY_TAKE_MIN,
                     .most = want};
    tick_t wait;
    uint32_t n = (uint32_t)meter_take(&a->bytes, &t, now, &wait);
    if (n == 0)
        *again = tick_after(now, wait);
    return n;
}

void proxy_give_back(struct proxy_account *a, uint32_t n)
{
    /* Behind the clock it counts as at it; without a limit, a place means nothing. */
    atomic_fetch_sub_explicit(&a->bytes.at, n, memory_order_relaxed);
}
