/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/h2.h"

#include <string.h>

#include "support/unit.h"

static uint8_t out[64];

static void expect(uint32_t size, const char *bytes, size_t n)
{
    ck_assert_uint_eq(size, n);
    ck_assert_mem_eq(out, bytes, n);
}
#define EXPECT(size, literal) expect(size, literal, sizeof(literal) - 1)

START_TEST(reads_a_header)
{
    struct h2_frame f = h2_frame_parse((const uint8_t *)"\x01\x02\x03\x09\x24\x00\x01\x02\x03");
    ck_assert_uint_eq(f.length, 0x010203);
    ck_assert_uint_eq(f.type, H2_CONTINUATION);
    ck_assert_uint_eq(f.flags, H2_FLAG_PRIORITY | H2_FLAG_END_HEADERS);
    ck_assert_uint_eq(f.stream, 0x010203);
}
END_TEST

/* RFC 9113 4.1: the reserved bit MUST be ignored. */
START_TEST(ignores_the_reserved_bit)
{
    struct h2_frame f = h2_frame_parse((const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    ck_assert_uint_eq(f.length, H2_FRAME_SIZE_MAX);
    ck_assert_uint_eq(f.type, 0xff);
    ck_assert_uint_eq(f.stream, H2_STREAM_MAX);
}
END_TEST

START_TEST(writes_what_it_reads)
{
    const struct h2_frame frames[] = {
        {0, 0, H2_SETTINGS, H2_FLAG_ACK},
        {H2_FRAME_SIZE_MIN, 1, H2_DATA, H2_FLAG_END_STREAM | H2_FLAG_PADDED},
        {H2_FRAME_SIZE_MAX, H2_STREAM_MAX, 0xfe, 0xff},
        {0x123456, 0x12345678, H2_HEADERS, 0},
    };
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        ck_assert_ptr_eq(h2_frame_write(out, &frames[i]), out + H2_FRAME_HEADER);
        struct h2_frame f = h2_frame_parse(out);
        ck_assert_uint_eq(f.length, frames[i].length);
        ck_assert_uint_eq(f.stream, frames[i].stream);
        ck_assert_uint_eq(f.type, frames[i].type);
        ck_assert_uint_eq(f.flags, frames[i].flags);
    }
}
END_TEST

START_TEST(writes_whole_frames)
{
    EXPECT(h2_rst_stream_write(out, 5, H2_CANCEL), "\0\0\x04\x03\0\0\0\0\x05\0\0\0\x08");
    EXPECT(h2_window_update_write(out, 0x01020304, H2_WINDOW_MAX),
           "\0\0\x04\x08\0\x01\x02\x03\x04\x7f\xff\xff\xff");
    EXPECT(h2_ping_write(out, false, (const uint8_t *)"abcdefgh"),
           "\0\0\x08\x06\0\0\0\0\0abcdefgh");
    EXPECT(h2_ping_write(out, true, (const uint8_t *)"abcdefgh"),
           "\0\0\x08\x06\x01\0\0\0\0abcdefgh");
    EXPECT(h2_goaway_write(out, H2_STREAM_MAX, H2_ENHANCE_YOUR_CALM),
           "\0\0\x08\x07\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\x0b");
    EXPECT(h2_settings_ack_write(out), "\0\0\0\x04\x01\0\0\0\0");
}
END_TEST

START_TEST(reads_and_writes_settings)
{
    EXPECT(h2_setting_write(out, H2_SETTINGS_INITIAL_WINDOW_SIZE, 0x89abcdef),
           "\0\x04\x89\xab\xcd\xef");
    ck_assert_uint_eq(h2_setting_id(out), H2_SETTINGS_INITIAL_WINDOW_SIZE);
    ck_assert_uint_eq(h2_setting_value(out), 0x89abcdef);
    h2_setting_write(out, 0xfedc, 0);
    ck_assert_uint_eq(h2_setting_id(out), 0xfedc);
}
END_TEST

START_TEST(sizes_are_those_of_the_rfc)
{
    ck_assert_uint_eq(sizeof(H2_PREFACE) - 1, H2_PREFACE_SIZE);
    ck_assert_uint_eq(H2_RST_STREAM_SIZE, 13);
    ck_assert_uint_eq(H2_WINDOW_UPDATE_SIZE, 13);
    ck_assert_uint_eq(H2_PING_SIZE, 17);
    ck_assert_uint_eq(H2_GOAWAY_SIZE, 17);
}
END_TEST

START_TEST(names_what_it_knows)
{
    ck_assert_str_eq(h2_frame_name(0), "DATA");
    ck_assert_str_eq(h2_frame_name(9), "CONTINUATION");
    ck_assert_str_eq(h2_frame_name(0x10), "PRIORITY_UPDATE");
    ck_assert_ptr_null(h2_frame_name(0xa));
    ck_assert_ptr_null(h2_frame_name(0xff));
    ck_assert_str_eq(h2_error_name(0), "NO_ERROR");
    ck_assert_str_eq(h2_error_name(0xd), "HTTP_1_1_REQUIRED");
    ck_assert_ptr_null(h2_error_name(0xe));
    ck_assert_ptr_null(h2_error_name(UINT32_MAX));
    ck_assert_str_eq(h2_settings_name(1), "HEADER_TABLE_SIZE");
    ck_assert_str_eq(h2_settings_name(8), "ENABLE_CONNECT_PROTOCOL");
    ck_assert_ptr_null(h2_settings_name(7));
    ck_assert_ptr_null(h2_settings_name(0));
}
END_TEST

UNIT_MAIN("h2", NULL, NULL, reads_a_header, ignores_the_reserved_bit, writes_what_it_reads,
          writes_whole_frames, reads_and_writes_settings, sizes_are_those_of_the_rfc,
          names_what_it_knows)
