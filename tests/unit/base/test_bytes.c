/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/bytes.h"

#include "support/unit.h"

static const uint8_t counting[18] = {0x81, 2,  3,  4,  5,  6,  7,  8,  9,
                                     10,   11, 12, 13, 14, 15, 16, 17, 18};

START_TEST(network_order_at_any_alignment)
{
    uint8_t b[16] = {0};
    for (size_t at = 0; at < 8; at++) {
        store_be64(b + at, UINT64_C(0xf1e2d3c4b5a69788));
        ck_assert_uint_eq(b[at], 0xf1);
        ck_assert_uint_eq(b[at + 7], 0x88);
        ck_assert_uint_eq(load_be64(b + at), UINT64_C(0xf1e2d3c4b5a69788));
        ck_assert_uint_eq(load_be32(b + at), 0xf1e2d3c4);
        ck_assert_uint_eq(load_be24(b + at), 0xf1e2d3);
        ck_assert_uint_eq(load_be16(b + at), 0xf1e2);
        store_be32(b + at, 0x80000001);
        ck_assert_uint_eq(load_be32(b + at), 0x80000001);
        store_be24(b + at, 0xff123456); /* the low 24 bits */
        ck_assert_uint_eq(load_be32(b + at), 0x12345601);
        store_be16(b + at, 0xfedc);
        ck_assert_uint_eq(load_be32(b + at), 0xfedc5601);
    }
}
END_TEST

START_TEST(reads_each_width_in_order)
{
    struct reader r = reader_of(counting, 18);
    ck_assert_uint_eq(reader_u8(&r), 0x81);
    ck_assert_uint_eq(reader_u16(&r), 0x0203);
    ck_assert_uint_eq(reader_u24(&r), 0x040506);
    ck_assert_uint_eq(reader_u32(&r), 0x0708090a);
    ck_assert_uint_eq(reader_left(&r), 8);
    ck_assert_uint_eq(reader_u64(&r), UINT64_C(0x0b0c0d0e0f101112));
    ck_assert_uint_eq(reader_left(&r), 0);
    ck_assert(reader_ok(&r));
    ck_assert_uint_eq(reader_u8(&r), 0);
    ck_assert(!reader_ok(&r));
}
END_TEST

START_TEST(takes_in_place_copies_and_skips)
{
    uint8_t out[4];
    struct reader r = reader_of(counting, 18);
    ck_assert_ptr_eq(reader_take(&r, 3), counting);
    reader_skip(&r, 2);
    reader_copy(&r, out, 4);
    ck_assert_mem_eq(out, counting + 5, 4);
    ck_assert_uint_eq(reader_left(&r), 9);
    reader_copy(&r, NULL, 0);
    ck_assert_ptr_eq(reader_take(&r, 9), counting + 9);
    ck_assert_ptr_nonnull(reader_take(&r, 0)); /* nothing is always there */
    ck_assert(reader_ok(&r));
}
END_TEST

/* Every step, on every length too short for it: from an exact heap block, so that a read past its
 * end is seen. */
START_TEST(a_short_read_fails_and_sticks)
{
    for (size_t len = 0; len < 8; len++) {
        uint8_t *exact = malloc(len ? len : 1);
        memset(exact, 0xff, len);
        for (size_t width = len + 1; width <= 9; width++) {
            struct reader r = reader_of(exact, len);
            uint8_t out[9];
            memset(out, 0xaa, sizeof(out));
            switch (width) {
            case 1: ck_assert_uint_eq(reader_u8(&r), 0); break;
            case 2: ck_assert_uint_eq(reader_u16(&r), 0); break;
            case 3: ck_assert_uint_eq(reader_u24(&r), 0); break;
            case 4: ck_assert_uint_eq(reader_u32(&r), 0); break;
            case 8: ck_assert_uint_eq(reader_u64(&r), 0); break;
            default:
                reader_copy(&r, out, width);
                ck_assert_mem_eq(out, "\0\0\0\0\0\0\0\0\0", width);
            }
            ck_assert(!reader_ok(&r));
            ck_assert_uint_eq(reader_left(&r), 0);
            ck_assert_uint_eq(reader_u8(&r), 0);
            ck_assert_ptr_null(reader_take(&r, 0));
            ck_assert(!reader_ok(&r));
        }
        free(exact);
    }
}
END_TEST

START_TEST(enormous_lengths_do_not_wrap)
{
    struct reader r = reader_of(counting, 18);
    reader_skip(&r, 1);
    ck_assert_ptr_null(reader_take(&r, SIZE_MAX));
    uint8_t b[4];
    struct writer w = writer_of(b, 4);
    ck_assert_ptr_null(writer_take(&w, SIZE_MAX));
    ck_assert_uint_eq(writer_len(&w), 0);
}
END_TEST

START_TEST(no_bytes_at_all)
{
    struct reader r = reader_of(NULL, 0);
    ck_assert(reader_ok(&r));
    ck_assert_uint_eq(reader_left(&r), 0);
    ck_assert_uint_eq(reader_u32(&r), 0);
    ck_assert(!reader_ok(&r));
}
END_TEST

START_TEST(a_reader_within_a_reader_keeps_to_its_part)
{
    struct reader r = reader_of(counting, 18);
    reader_u8(&r);
    struct reader sub = reader_sub(&r, 2);
    ck_assert_uint_eq(reader_left(&r), 15);
    ck_assert_uint_eq(reader_u16(&sub), 0x0203);
    ck_assert_uint_eq(reader_u8(&sub), 0);
    ck_assert(!reader_ok(&sub) && reader_ok(&r)); /* its failure is its own */
    ck_assert_uint_eq(reader_u8(&r), 4);
    struct reader none = reader_sub(&r, 0);
    ck_assert(reader_ok(&none) && reader_left(&none) == 0);
    struct reader beyond = reader_sub(&r, 15);
    ck_assert(!reader_ok(&beyond) && !reader_ok(&r));
    ck_assert_uint_eq(reader_left(&beyond), 0);
}
END_TEST

START_TEST(writes_each_width_in_order)
{
    uint8_t b[24];
    memset(b, 0xaa, sizeof(b));
    struct writer w = writer_of(b, 22);
    writer_u8(&w, 0x81);
    writer_u16(&w, 0x0203);
    writer_u24(&w, 0x040506);
    writer_u32(&w, 0x0708090a);
    writer_u64(&w, UINT64_C(0x0b0c0d0e0f101112));
    ck_assert_mem_eq(b, counting, 18);
    ck_assert_uint_eq(writer_len(&w), 18);
    writer_copy(&w, counting, 2);
    writer_copy(&w, NULL, 0);
    ck_assert_uint_eq(writer_room(&w), 2);
    writer_zero(&w, 2);
    ck_assert(writer_ok(&w));
    ck_assert_uint_eq(writer_room(&w), 0);
    ck_assert_mem_eq(b + 18, "\x81\x02\0\0\xaa\xaa", 6);
}
END_TEST

START_TEST(a_place_is_filled_in_later)
{
    uint8_t b[6];
    struct writer w = writer_of(b, 6);
    uint8_t *length = writer_take(&w, 2);
    writer_u32(&w, 0x01020304);
    store_be16(length, (uint16_t)writer_len(&w));
    ck_assert_mem_eq(b, "\0\x06\1\2\3\4", 6);
}
END_TEST

START_TEST(what_does_not_fit_is_left_out_and_so_is_all_after_it)
{
    for (size_t room = 0; room < 8; room++) {
        uint8_t *exact = malloc(room + 1);
        memset(exact, 0xaa, room + 1);
        struct writer w = writer_of(exact, room);
        for (size_t i = 0; i < room / 2; i++)
            writer_u16(&w, 0x1111);
        size_t len = writer_len(&w);
        writer_u64(&w, UINT64_MAX);
        ck_assert(!writer_ok(&w));
        ck_assert_uint_eq(writer_room(&w), 0);
        writer_u8(&w, 1); /* would fit where room is odd */
        writer_u16(&w, 1);
        writer_u24(&w, 1);
        writer_u32(&w, 1);
        writer_copy(&w, counting, 1);
        writer_zero(&w, 1);
        ck_assert_ptr_null(writer_take(&w, 0));
        ck_assert_uint_eq(writer_len(&w), len);
        for (size_t i = 0; i <= room; i++)
            ck_assert_uint_eq(exact[i], i < len ? 0x11 : 0xaa);
        free(exact);
    }
}
END_TEST

UNIT_MAIN("bytes", NULL, NULL, network_order_at_any_alignment, reads_each_width_in_order,
          takes_in_place_copies_and_skips, a_short_read_fails_and_sticks,
          enormous_lengths_do_not_wrap, no_bytes_at_all, a_reader_within_a_reader_keeps_to_its_part,
          writes_each_width_in_order, a_place_is_filled_in_later,
          what_does_not_fit_is_left_out_and_so_is_all_after_it)
