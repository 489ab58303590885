/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/crc32c.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "support/unit.h"

static uint8_t bytes[70000];

static void setup(void)
{
    struct rng rng;
    rng_seed(&rng, 3720);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)rng_u64(&rng);
}

/* The definition: one bit at a time. */
static uint32_t by_bits(uint32_t crc, const uint8_t *p, size_t len)
{
    crc = ~crc;
    for (; len > 0; len--) {
        crc ^= *p++;
        for (int i = 0; i < 8; i++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

/* Every implementation that this CPU has. */
static void each(void (*check)(crc32c_fn fn))
{
    for (int kind = 0; kind < CRC32C_KINDS; kind++) {
        crc32c_fn fn = crc32c_get((enum crc32c_kind)kind);
        if (fn)
            check(fn);
        else
            printf("# crc32c: this CPU has no implementation %d\n", kind);
    }
}

static void published(crc32c_fn fn)
{
    uint8_t b[48];
    ck_assert_uint_eq(fn(0, "123456789", 9), 0xe3069283);
    ck_assert_uint_eq(fn(0, NULL, 0), 0);
    ck_assert_uint_eq(fn(0x12345678, NULL, 0), 0x12345678);
    /* RFC 3720 B.4, there as bytes on the wire, least significant first */
    memset(b, 0, 32);
    ck_assert_uint_eq(fn(0, b, 32), 0x8a9136aa);
    memset(b, 0xff, 32);
    ck_assert_uint_eq(fn(0, b, 32), 0x62a8ab43);
    for (uint8_t i = 0; i < 32; i++)
        b[i] = i;
    ck_assert_uint_eq(fn(0, b, 32), 0x46dd794e);
    for (uint8_t i = 0; i < 32; i++)
        b[i] = (uint8_t)(31 - i);
    ck_assert_uint_eq(fn(0, b, 32), 0x113fdb5c);
    static const uint8_t read_pdu[48] = {[0] = 0x01,  [1] = 0xc0,  [16] = 0x14, [22] = 0x04,
                                         [27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02};
    ck_assert_uint_eq(fn(0, read_pdu, 48), 0xd9963a56);
}

START_TEST(published_vectors)
{
    each(published);
}
END_TEST

static void every_length(crc32c_fn fn)
{
    uint32_t expect = 0; /* grows by a byte at a time */
    for (size_t len = 0; len <= 5000; len++) {
        ck_assert_uint_eq(fn(0, bytes, len), expect);
        expect = by_bits(expect, bytes + len, 1);
    }
}

START_TEST(equal_on_every_length)
{
    each(every_length);
}
END_TEST

static void every_alignment(crc32c_fn fn)
{
    static const uint32_t starts[] = {0, 1, 0xffffffff, 0x8a9136aa};
    for (size_t at = 0; at < 64; at++) {
        for (size_t i = 0; i < 4; i++) {
            uint32_t expect = starts[i];
            for (size_t len = 0; len <= 700; len++) {
                ck_assert_uint_eq(fn(starts[i], bytes + at, len), expect);
                expect = by_bits(expect, bytes + at + len, 1);
            }
        }
    }
}

START_TEST(equal_at_every_alignment_and_from_every_start)
{
    each(every_alignment);
}
END_TEST

static void large(crc32c_fn fn)
{
    ck_assert_uint_eq(fn(7, bytes, sizeof(bytes)), by_bits(7, bytes, sizeof(bytes)));
    ck_assert_uint_eq(fn(0, bytes + 3, 65536), by_bits(0, bytes + 3, 65536));
}

START_TEST(equal_on_large_inputs)
{
    each(large);
}
END_TEST

static void pieces(crc32c_fn fn)
{
    struct rng rng;
    rng_seed(&rng, 4);
    uint32_t whole = fn(0, bytes, 20000);
    for (int round = 0; round < 50; round++) {
        uint32_t crc = 0;
        for (size_t at = 0, n; at < 20000; at += n) {
            n = (size_t)rng_below(&rng, 3000);
            if (n > 20000 - at)
                n = 20000 - at;
            crc = fn(crc, bytes + at, n);
        }
        ck_assert_uint_eq(crc, whole);
    }
}

START_TEST(pieces_in_turn_give_the_whole)
{
    each(pieces);
}
END_TEST

/* Blocks of exact size, so that a read past either end is seen. */
static void exact(crc32c_fn fn)
{
    for (size_t len = 1; len <= 600; len++) {
        uint8_t *block = malloc(len);
        memcpy(block, bytes, len);
        ck_assert_uint_eq(fn(0, block, len), by_bits(0, bytes, len));
        free(block);
    }
}

START_TEST(reads_within_its_input)
{
    each(exact);
}
END_TEST

START_TEST(selects_one_that_is_there)
{
    crc32c_fn best = crc32c_select();
    ck_assert_ptr_nonnull(best);
    int found = 0;
    for (int kind = 0; kind < CRC32C_KINDS; kind++)
        found += crc32c_get((enum crc32c_kind)kind) == best;
    ck_assert_int_eq(found, 1);
    ck_assert_ptr_nonnull(crc32c_get(CRC32C_PORTABLE));
    ck_assert_ptr_null(crc32c_get(CRC32C_KINDS));
}
END_TEST

START_TEST(combines_without_the_bytes)
{
    crc32c_fn fn = crc32c_get(CRC32C_PORTABLE);
    static const size_t cuts[] = {0, 1, 7, 8, 100, 1500, 4095, 4096, 65536, 69999, 70000};
    uint32_t whole = fn(0, bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        uint32_t a = fn(0, bytes, cuts[i]);
        uint32_t b = fn(0, bytes + cuts[i], sizeof(bytes) - cuts[i]);
        ck_assert_uint_eq(crc32c_combine(a, b, sizeof(bytes) - cuts[i]), whole);
    }
    /* x has order 2^31 - 1 modulo this polynomial: so many bytes bring every CRC back. */
    ck_assert_uint_eq(crc32c_combine(0xdeadbeef, 0, UINT64_C(0x7fffffff)), 0xdeadbeef);
    ck_assert_uint_eq(crc32c_combine(0xdeadbeef, 0, UINT64_C(0x7fffffff) << 32), 0xdeadbeef);
    ck_assert_uint_ne(crc32c_combine(0xdeadbeef, 0, UINT64_C(0x7ffffffe)), 0xdeadbeef);
}
END_TEST

UNIT_MAIN("crc32c", setup, NULL, published_vectors, equal_on_every_length,
          equal_at_every_alignment_and_from_every_start, equal_on_large_inputs,
          pieces_in_turn_give_the_whole, reads_within_its_input, selects_one_that_is_there,
          combines_without_the_bytes)
