/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/dns_answer.h"

#include <stdio.h>

#include "support/exact.h"
#include "support/unit.h"
#include "unit/app/dns_message.h"

static struct dns_message m;
static struct dns_answer got;

static void begin(const char *name, enum dns_type type)
{
    dns_begin(&m, 1, DNS_NOERROR);
    dns_question(&m, name, type);
}

static bool parse(const char *name, bool v6)
{
    uint8_t *copy = exact(m.b, m.n);
    bool ok = dns_answer_parse(copy, m.n, name, v6, &got);
    free(copy);
    return ok;
}

START_TEST(addresses_are_kept_in_order)
{
    begin("a.example", DNS_A);
    for (uint32_t i = 1; i <= CONNECT_ADDRS_MAX + 2; i++)
        dns_a(&m, "a.example", 100 - i, 0xc0000200 + i);
    ck_assert(parse("a.example", false));
    ck_assert_uint_eq(got.n, CONNECT_ADDRS_MAX);
    for (uint32_t i = 0; i < got.n; i++)
        ck_assert_uint_eq(ip_v4(&got.addr[i]), 0xc0000201 + i);
    ck_assert(got.has_ttl);
    ck_assert_uint_eq(got.ttl, 100 - CONNECT_ADDRS_MAX);
}
END_TEST

START_TEST(only_the_family_that_was_asked_for)
{
    begin("a.example", DNS_AAAA);
    dns_a(&m, "a.example", 1, 0xc0000201);
    dns_aaaa(&m, "a.example", 9, 7);
    ck_assert(parse("a.example", true));
    ck_assert_uint_eq(got.n, 1);
    ck_assert_uint_eq(got.addr[0].b[15], 7);
    ck_assert_uint_eq(got.ttl, 9);
    ck_assert(parse("a.example", false));
    ck_assert_uint_eq(ip_v4(&got.addr[0]), 0xc0000201);
}
END_TEST

START_TEST(a_mapped_address_is_none)
{
    begin("a.example", DNS_AAAA);
    dns_aaaa(&m, "a.example", 9, 7);
    memcpy(m.b + m.n - 16, ip_from_v4(0x7f000001).b, 16);
    ck_assert(parse("a.example", true));
    ck_assert_uint_eq(got.n, 0);
}
END_TEST

START_TEST(names_are_compared_without_case)
{
    begin("A.Example", DNS_A);
    dns_a(&m, "a.EXAMPLE", 5, 1);
    ck_assert(parse("a.example", false));
    ck_assert_uint_eq(got.n, 1);
}
END_TEST

START_TEST(what_belongs_to_another_name_is_not_taken)
{
    begin("a.example", DNS_A);
    dns_a(&m, "b.example", 5, 1);
    dns_a(&m, "example", 5, 2);
    ck_assert(parse("a.example", false));
    ck_assert_uint_eq(got.n, 0);
    ck_assert(!got.has_ttl);
}
END_TEST

START_TEST(a_chain_is_followed_in_any_order)
{
    begin("a.example", DNS_A);
    dns_a(&m, "c.example", 300, 3);
    dns_cname(&m, "b.example", 20, "c.example");
    dns_cname(&m, "a.example", 100, "b.example");
    ck_assert(parse("a.example", false));
    ck_assert_uint_eq(got.n, 1);
    ck_assert_uint_eq(got.ttl, 20);
}
END_TEST

START_TEST(a_chain_without_end_is_refused)
{
    begin("a.example", DNS_A);
    dns_cname(&m, "a.example", 9, "b.example");
    dns_cname(&m, "b.example", 9, "a.example");
    ck_assert(!parse("a.example", false));
}
END_TEST

static void chain(unsigned links)
{
    char from[32], to[32];
    begin("n0.example", DNS_A);
    for (unsigned i = 0; i < links; i++) {
        snprintf(from, sizeof(from), "n%u.example", i);
        snprintf(to, sizeof(to), "n%u.example", i + 1);
        dns_cname(&m, from, 9, to);
    }
    snprintf(to, sizeof(to), "n%u.example", links);
    dns_a(&m, to, 9, 1);
}

START_TEST(a_chain_has_a_bound)
{
    chain(DNS_CHAIN_MAX);
    ck_assert(parse("n0.example", false));
    ck_assert_uint_eq(got.n, 1);
    chain(DNS_CHAIN_MAX + 1);
    ck_assert(!parse("n0.example", false));
}
END_TEST

/* The lesser of the SOA's two, and of the aliases that led there. */
START_TEST(an_soa_says_how_long_there_is_nothing)
{
    begin("a.example", DNS_A);
    dns_soa(&m, 100, 20);
    ck_assert(parse("a.example", false));
    ck_assert_uint_eq(got.n, 0);
    ck_assert(got.has_ttl);
    ck_assert_uint_eq(got.ttl, 20);
    begin("a.example", DNS_A);
    dns_soa(&m, 10, 20);
    ck_assert(parse("a.example", false));
    ck_assert_uint_eq(got.ttl, 10);
    begin("a.example", DNS_A);
    dns_cname(&m, "a.example", 5, "b.example");
    dns_soa(&m, 10, 20);
    ck_assert(parse("a.example", false));
    ck_assert(got.has_ttl);
    ck_assert_uint_eq(got.ttl, 5);
}
END_TEST

START_TEST(an_alias_of_nothing_says_no_time)
{
    begin("a.example", DNS_A);
    dns_cname(&m, "a.example", 5, "b.example");
    ck_assert(parse("a.example", false));
    ck_assert_uint_eq(got.n, 0);
    ck_assert(!got.has_ttl);
}
END_TEST

/* RFC 2181 8 */
START_TEST(a_negative_ttl_is_zero)
{
    begin("a.example", DNS_A);
    dns_a(&m, "a.example", 0x80000000, 1);
    ck_assert(parse("a.example", false));
    ck_assert_uint_eq(got.ttl, 0);
}
END_TEST

/* A pointer from where the answer's name would be to `to`. */
static void pointer(unsigned to)
{
    begin("a.example", DNS_A);
    dns_count(&m, 6);
    dns_put16(&m, 0xc000 | to);
    dns_fixed(&m, DNS_A, 9, 4);
    dns_put32(&m, 1);
}

START_TEST(pointers_lead_back)
{
    pointer(DNS_HEADER);
    ck_assert(parse("a.example", false));
    ck_assert_uint_eq(got.n, 1);
    unsigned here = DNS_HEADER + 11 + 4;
    pointer(here); /* to itself */
    ck_assert(!parse("a.example", false));
    pointer(here + 2);
    ck_assert(!parse("a.example", false));
    pointer(0x3fff);
    ck_assert(!parse("a.example", false));
}
END_TEST

START_TEST(a_dot_in_a_label_is_none_of_ours)
{
    begin("a.example", DNS_A);
    dns_count(&m, 6);
    dns_put(&m, "\11a.example", 11);
    dns_fixed(&m, DNS_A, 9, 4);
    dns_put32(&m, 1);
    ck_assert(parse("a.example", false));
    ck_assert_uint_eq(got.n, 0);
}
END_TEST

START_TEST(a_name_that_is_too_long_is_refused)
{
    begin("a.example", DNS_A);
    dns_count(&m, 6);
    for (unsigned i = 0; i < 5; i++) {
        dns_put(&m, "\77", 1);
        dns_put(&m, "123456789012345678901234567890123456789012345678901234567890123", 63);
    }
    dns_put(&m, "", 1);
    dns_fixed(&m, DNS_A, 9, 4);
    dns_put32(&m, 1);
    ck_assert(!parse("a.example", false));
}
END_TEST

/* Wherever a message ends, it is not read beyond; and what is cut off is missed. */
START_TEST(a_message_cut_anywhere_is_refused)
{
    begin("a.example", DNS_A);
    dns_cname(&m, "a.example", 5, "b.example");
    dns_soa(&m, 10, 20);
    size_t whole = m.n;
    for (m.n = 0; m.n < whole; m.n++)
        ck_assert(!parse("a.example", false));
    ck_assert(parse("a.example", false));
}
END_TEST

/* Each byte made each other value: the sanitizers look on. */
START_TEST(a_message_changed_anywhere_does_no_harm)
{
    begin("a.example", DNS_A);
    dns_cname(&m, "a.example", 5, "b.example");
    dns_a(&m, "b.example", 5, 1);
    dns_soa(&m, 10, 20);
    for (size_t i = 0; i < m.n; i++)
        for (unsigned x = 1; x < 256; x++) {
            m.b[i] ^= (uint8_t)x;
            if (parse("a.example", false))
                ck_assert_uint_le(got.n, 1);
            m.b[i] ^= (uint8_t)x;
        }
}
END_TEST

/* Beyond the bound nothing is looked at, however much there is. */
START_TEST(records_have_a_bound)
{
    begin("a.example", DNS_A);
    for (unsigned i = 0; i < DNS_RECORDS_MAX; i++)
        dns_a(&m, "b", 5, i);
    dns_a(&m, "a.example", 5, 1);
    ck_assert(parse("a.example", false));
    ck_assert_uint_eq(got.n, 0);
}
END_TEST

UNIT_MAIN("dns_answer", NULL, NULL, addresses_are_kept_in_order, only_the_family_that_was_asked_for,
          a_mapped_address_is_none, names_are_compared_without_case,
          what_belongs_to_another_name_is_not_taken, a_chain_is_followed_in_any_order,
          a_chain_without_end_is_refused, a_chain_has_a_bound,
          an_soa_says_how_long_there_is_nothing, an_alias_of_nothing_says_no_time,
          a_negative_ttl_is_zero, pointers_lead_back, a_dot_in_a_label_is_none_of_ours,
          a_name_that_is_too_long_is_refused, a_message_cut_anywhere_is_refused,
          a_message_changed_anywhere_does_no_harm, records_have_a_bound)
