/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/tickets.h"

#include <string.h>

#include "support/unit.h"

#define LIFETIME (3600 * TICK_SEC)
#define PERIOD   (LIFETIME / 4)

static const uint8_t seed[32] = "a seed of just thirty-two bytes";
static struct tls_tickets a;
static struct tls_tickets b;

static void setup(void)
{
    ck_assert(tls_tickets_init(&a, seed, LIFETIME, 0));
}

static void teardown(void)
{
    static const struct tls_tickets nothing;
    tls_tickets_fini(&a);
    ck_assert_mem_eq(&a, &nothing, sizeof(a));
}

static struct tls_ticket_key key_at(struct tls_tickets *t, tick_t now)
{
    return *tls_tickets_current(t, now);
}

static bool same(const struct tls_ticket_key *x, const struct tls_ticket_key *y)
{
    return memcmp(x, y, sizeof(*x)) == 0;
}

START_TEST(keys_are_apart_and_change_with_the_period)
{
    struct tls_ticket_key first = key_at(&a, 0);
    ck_assert_mem_ne(first.cipher, first.mac, sizeof(first.mac));
    ck_assert_mem_ne(first.cipher, seed, sizeof(seed));
    struct tls_ticket_key same_period = key_at(&a, PERIOD - 1);
    ck_assert(same(&first, &same_period));
    struct tls_ticket_key second = key_at(&a, PERIOD);
    ck_assert_mem_ne(first.name, second.name, sizeof(first.name));
    ck_assert_mem_ne(first.cipher, second.cipher, sizeof(first.cipher));
    ck_assert_mem_ne(first.mac, second.mac, sizeof(first.mac));
}
END_TEST

START_TEST(workers_agree_whenever_they_began)
{
    for (unsigned period = 0; period < 30; period += 7) {
        tick_t now = period * PERIOD + 17;
        ck_assert(tls_tickets_init(&b, seed, LIFETIME, now));
        for (unsigned later = 0; later < 3; later++, now += PERIOD) {
            struct tls_ticket_key mine = key_at(&a, now);
            struct tls_ticket_key other = key_at(&b, now);
            ck_assert(same(&mine, &other));
        }
    }
}
END_TEST

START_TEST(another_seed_has_other_keys)
{
    uint8_t other_seed[32];
    memcpy(other_seed, seed, sizeof(seed));
    other_seed[31] ^= 1;
    ck_assert(tls_tickets_init(&b, other_seed, LIFETIME, 0));
    struct tls_ticket_key mine = key_at(&a, 0);
    struct tls_ticket_key other = key_at(&b, 0);
    ck_assert_mem_ne(mine.name, other.name, sizeof(mine.name));
    ck_assert_mem_ne(mine.cipher, other.cipher, sizeof(mine.cipher));
}
END_TEST

START_TEST(takes_a_ticket_for_its_lifetime_and_not_for_twice_that)
{
    struct tls_ticket_key made = key_at(&a, PERIOD - 1); /* at the end of its period */
    bool renew;
    const struct tls_ticket_key *found = tls_tickets_find(&a, made.name, PERIOD - 1, &renew);
    ck_assert(found && same(found, &made) && !renew);
    found = tls_tickets_find(&a, made.name, PERIOD, &renew);
    ck_assert(found && same(found, &made) && renew);
    ck_assert(tls_tickets_find(&a, made.name, PERIOD - 1 + LIFETIME, &renew) && renew);
    ck_assert_ptr_null(tls_tickets_find(&a, made.name, 2 * LIFETIME, &renew));
}
END_TEST

START_TEST(takes_a_ticket_of_a_worker_a_little_ahead)
{
    ck_assert(tls_tickets_init(&b, seed, LIFETIME, 0));
    struct tls_ticket_key ahead = key_at(&b, 3 * PERIOD);
    bool renew;
    const struct tls_ticket_key *found = tls_tickets_find(&a, ahead.name, 3 * PERIOD - 1, &renew);
    ck_assert(found && same(found, &ahead) && !renew);
    ck_assert_ptr_null(tls_tickets_find(&b, key_at(&a, 5 * PERIOD).name, 3 * PERIOD, &renew));
}
END_TEST

START_TEST(knows_no_name_that_was_never_made)
{
    static const uint8_t zero[TLS_TICKET_NAME];
    uint8_t near[TLS_TICKET_NAME];
    struct tls_ticket_key key = key_at(&a, 0);
    memcpy(near, key.name, sizeof(near));
    near[15] ^= 0x80;
    bool renew;
    ck_assert_ptr_null(tls_tickets_find(&a, zero, 0, &renew));
    ck_assert_ptr_null(tls_tickets_find(&a, near, 0, &renew));
}
END_TEST

/* What is in memory leads forward only. */
START_TEST(forgets_what_is_over)
{
    struct tls_ticket_key old = key_at(&a, 0);
    uint8_t secret[32];
    memcpy(secret, a.secret, sizeof(secret));
    key_at(&a, 9 * PERIOD);
    const uint8_t *all = (const uint8_t *)&a;
    for (size_t i = 0; i + 32 <= sizeof(a); i++) {
        ck_assert_mem_ne(all + i, old.cipher, 32);
        ck_assert_mem_ne(all + i, old.mac, 32);
        ck_assert_mem_ne(all + i, secret, 32);
        ck_assert_mem_ne(all + i, seed, 32);
    }
}
END_TEST

START_TEST(a_period_is_a_minute_at_least)
{
    ck_assert(tls_tickets_init(&b, seed, 10 * TICK_SEC, 0));
    struct tls_ticket_key first = key_at(&b, 0);
    struct tls_ticket_key still = key_at(&b, 60 * TICK_SEC - 1);
    struct tls_ticket_key next = key_at(&b, 60 * TICK_SEC);
    ck_assert(same(&first, &still));
    ck_assert(!same(&first, &next));
}
END_TEST

UNIT_MAIN("tls/tickets", setup, teardown, keys_are_apart_and_change_with_the_period,
          workers_agree_whenever_they_began, another_seed_has_other_keys,
          takes_a_ticket_for_its_lifetime_and_not_for_twice_that,
          takes_a_ticket_of_a_worker_a_little_ahead, knows_no_name_that_was_never_made,
          forgets_what_is_over, a_period_is_a_minute_at_least)
