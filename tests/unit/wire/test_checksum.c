/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/checksum.h"

#include "support/exact.h"
#include "support/heap.h"
#include "support/unit.h"

static struct heap_pool pool;

static void setup(void)
{
    heap_pool_init(&pool, 64, 2048);
}

static void teardown(void)
{
    ck_assert_uint_eq(pool.held, 0);
}

/* The definition: words of two bytes, high byte first, carries added back at once. */
static uint16_t naive(const uint8_t *bytes, size_t len)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < len; i++) {
        sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)sum;
}

static void fill(uint8_t *bytes, size_t len, uint32_t seed)
{
    for (size_t i = 0; i < len; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

/* Both are sums modulo 0xffff, of which zero has two forms; only zero data has the form 0. */
static uint16_t sum_of(const void *bytes, size_t len)
{
    return checksum_fold(checksum_add(CHECKSUM_EMPTY, bytes, len));
}

START_TEST(the_rfcs_example)
{
    /* RFC 1071 3 */
    static const uint8_t bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    ck_assert_uint_eq(sum_of(bytes, 8), 0xddf2);
    ck_assert_uint_eq(checksum_finish(checksum_add(CHECKSUM_EMPTY, bytes, 8)), 0x220d);
    ck_assert_uint_eq(sum_of(bytes, 7), 0xddf2 - 0xf7);
    ck_assert_uint_eq(sum_of(NULL, 0), 0);
}
END_TEST

START_TEST(every_length_and_alignment)
{
    uint8_t bytes[300 + 16];
    fill(bytes, sizeof(bytes), 7);
    for (size_t len = 0; len <= 300; len++) {
        for (size_t shift = 0; shift < 16; shift++)
            ck_assert_uint_eq(sum_of(bytes + shift, len), naive(bytes + shift, len));
        uint8_t *copy = exact(bytes, len);
        ck_assert_uint_eq(sum_of(copy, len), naive(bytes, len));
        free(copy);
    }
}
END_TEST

START_TEST(carries_run_all_the_way)
{
    static uint8_t ones[65535];
    memset(ones, 0xff, sizeof(ones));
    for (size_t len = 1; len < 200; len++)
        ck_assert_uint_eq(sum_of(ones, len), naive(ones, len));
    ck_assert_uint_eq(sum_of(ones, 65534), 0xffff);
    ck_assert_uint_eq(sum_of(ones, 65535), 0xff00);
    struct checksum c = CHECKSUM_EMPTY;
    for (int i = 0; i < 1000; i++)
        c = checksum_add(c, ones, 65534);
    ck_assert_uint_eq(checksum_fold(c), 0xffff);
}
END_TEST

START_TEST(pieces_split_anywhere)
{
    uint8_t bytes[97];
    fill(bytes, sizeof(bytes), 3);
    uint16_t whole = naive(bytes, sizeof(bytes));
    for (size_t i = 0; i <= sizeof(bytes); i++) {
        for (size_t j = i; j <= sizeof(bytes); j++) {
            struct checksum c = checksum_add(CHECKSUM_EMPTY, bytes, i);
            c = checksum_add(c, bytes + i, j - i);
            c = checksum_add(c, bytes + j, sizeof(bytes) - j);
            ck_assert_uint_eq(checksum_fold(c), whole);
        }
    }
}
END_TEST

START_TEST(a_header_summed_last)
{
    uint8_t bytes[61];
    fill(bytes, sizeof(bytes), 9);
    for (size_t header = 0; header <= 60; header += 2) {
        for (size_t len = header; len <= 61; len++) {
            struct checksum c = checksum_add(CHECKSUM_EMPTY, bytes + header, len - header);
            c = checksum_prepend(c, bytes, header);
            ck_assert_uint_eq(checksum_fold(c), naive(bytes, len));
            /* The parity is still that of the end. */
            c = checksum_add(c, bytes, 3);
            ck_assert_uint_eq(c.odd, (len + 3) % 2);
        }
    }
}
END_TEST

START_TEST(chains_of_any_views)
{
    uint8_t bytes[257];
    fill(bytes, sizeof(bytes), 11);
    for (size_t view = 0; view < 40; view++) {
        struct pkt *p = heap_pkt(&pool, bytes, sizeof(bytes), view);
        ck_assert_ptr_nonnull(p);
        for (uint32_t offset = 0; offset <= 257; offset += 5) {
            for (uint32_t len = 0; len <= 257 - offset; len += 7) {
                struct checksum c = checksum_pkt(p, offset, len, CHECKSUM_EMPTY);
                ck_assert_uint_eq(checksum_fold(c), naive(bytes + offset, len));
            }
        }
        /* What came before an odd boundary counts too. */
        struct checksum c = checksum_pkt(p, 0, 33, CHECKSUM_EMPTY);
        c = checksum_pkt(p, 33, 257 - 33, c);
        ck_assert_uint_eq(checksum_fold(c), naive(bytes, 257));
        pkt_free(p);
    }
}
END_TEST

START_TEST(empty_packet)
{
    struct pkt *p = heap_pkt(&pool, NULL, 0, 0);
    ck_assert_uint_eq(checksum_fold(checksum_pkt(p, 0, 0, CHECKSUM_EMPTY)), 0);
    pkt_free(p);
}
END_TEST

START_TEST(pseudo_headers)
{
    struct ip_addr src;
    struct ip_addr dst;
    ck_assert(ip_parse("192.0.2.1", &src) && ip_parse("198.51.100.200", &dst));
    static const uint8_t v4[] = {192, 0, 2, 1, 198, 51, 100, 200, 0, 17, 0x12, 0x34};
    ck_assert_uint_eq(checksum_fold(checksum_pseudo(&src, &dst, 17, 0x1234)),
                      naive(v4, sizeof(v4)));

    ck_assert(ip_parse("2001:db8::1", &src) && ip_parse("fe80::abcd:1", &dst));
    uint8_t v6[40];
    memcpy(v6, src.b, 16);
    memcpy(v6 + 16, dst.b, 16);
    static const uint8_t rest[] = {0, 1, 0x23, 0x45, 0, 0, 0, 58};
    memcpy(v6 + 32, rest, 8);
    ck_assert_uint_eq(checksum_fold(checksum_pseudo(&src, &dst, 58, 0x12345)),
                      naive(v6, sizeof(v6)));
}
END_TEST

START_TEST(verifies_what_it_made)
{
    uint8_t bytes[64];
    fill(bytes, sizeof(bytes), 5);
    bytes[10] = bytes[11] = 0;
    uint16_t field = checksum_finish(checksum_add(CHECKSUM_EMPTY, bytes, sizeof(bytes)));
    bytes[10] = (uint8_t)(field >> 8);
    bytes[11] = (uint8_t)field;
    ck_assert(checksum_ok(checksum_add(CHECKSUM_EMPTY, bytes, sizeof(bytes))));
    for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert(!checksum_ok(checksum_add(CHECKSUM_EMPTY, bytes, sizeof(bytes))));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    static const uint8_t zeros[8];
    ck_assert(!checksum_ok(checksum_add(CHECKSUM_EMPTY, zeros, sizeof(zeros))));
}
END_TEST

START_TEST(the_corner_of_rfc_1624)
{
    /* RFC 1624 4: equation 2 would give 0xffff here, and the right answer is 0. */
    ck_assert_uint_eq(checksum_update16(0xdd2f, 0x5555, 0x3285), 0x0000);
}
END_TEST

/* A message of three words whose first is the checksum: make, change a word, compare with making it
 * anew. */
static void expect_update(uint16_t other, uint16_t was, uint16_t is)
{
    uint8_t bytes[4] = {(uint8_t)(other >> 8), (uint8_t)other, (uint8_t)(was >> 8), (uint8_t)was};
    uint16_t before = (uint16_t)~naive(bytes, 4);
    bytes[2] = (uint8_t)(is >> 8);
    bytes[3] = (uint8_t)is;
    uint16_t after = (uint16_t)~naive(bytes, 4);
    if (other == 0 && is == 0)
        after = was == 0 ? 0xffff : 0; /* the documented exception */
    if (other == 0 && was == 0 && is == 0)
        after = 0; /* ~0xffff + ~0 + 0 */
    ck_assert_msg(checksum_update16(before, was, is) == after, "%04x: %04x -> %04x", other, was,
                  is);
}

START_TEST(update_equals_summing_anew)
{
    static const uint16_t edge[] = {0x0000, 0x0001, 0x00ff, 0x0100, 0x7fff, 0x8000, 0xfffe, 0xffff};
    for (int o = 0; o < 8; o++)
        for (int was = 0; was < 8; was++)
            for (int is = 0; is < 8; is++)
                expect_update(edge[o], edge[was], edge[is]);
    for (uint32_t v = 0; v <= 0xffff; v++) {
        expect_update(0x4500, (uint16_t)v, (uint16_t)~v);
        expect_update(0x4500, 0, (uint16_t)v);
        expect_update(0x4500, (uint16_t)v, 0xffff);
    }
}
END_TEST

START_TEST(update_of_32_bits)
{
    static const uint32_t edge[] = {0,          1,          0xffff,     0x10000,
                                    0xffff0000, 0xfffffffe, 0xffffffff, 0xc0000201};
    for (int was = 0; was < 8; was++) {
        for (int is = 0; is < 8; is++) {
            uint16_t step =
                checksum_update16(0x1234, (uint16_t)(edge[was] >> 16), (uint16_t)(edge[is] >> 16));
            step = checksum_update16(step, (uint16_t)edge[was], (uint16_t)edge[is]);
            ck_assert_uint_eq(checksum_update32(0x1234, edge[was], edge[is]), step);
            /* And back again. */
            ck_assert_uint_eq(checksum_update32(step, edge[is], edge[was]), 0x1234);
        }
    }
}
END_TEST

UNIT_MAIN("checksum", setup, teardown, the_rfcs_example, every_length_and_alignment,
          carries_run_all_the_way, pieces_split_anywhere, a_header_summed_last, chains_of_any_views,
          empty_packet, pseudo_headers, verifies_what_it_made, the_corner_of_rfc_1624,
          update_equals_summing_anew, update_of_32_bits)
