/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/settings.h"

#include "support/unit.h"
#include "wire/h2.h"

#define KIB 1024u

START_TEST(takes_the_defaults_that_are_promised)
{
    struct h2_settings s = {0};
    ck_assert(h2_settings_fill(&s));
    ck_assert_uint_eq(s.max_streams, 128);
    ck_assert_uint_eq(s.stream_window, 256 * KIB);
    ck_assert_uint_eq(s.connection_window, 1024 * KIB);
    ck_assert_uint_eq(s.max_frame, 16384);
    ck_assert_uint_eq(s.header_table, 4096);
    ck_assert_uint_eq(s.header_list, 64 * KIB);
    ck_assert_uint_eq(s.header_fields, 100);
    ck_assert(!s.connect_protocol);
    ck_assert_uint_eq(s.glitches, 1000);
    ck_assert_uint_eq(s.glitches_recover, 1);
    ck_assert_uint_eq(s.rst_burst, 1000);
    ck_assert_uint_eq(s.rst_rate, 33);
    ck_assert_uint_eq(s.reset_burst, 200);
    ck_assert_uint_eq(s.reset_rate, 7);
    ck_assert_uint_eq(s.ping_burst, 200);
    ck_assert_uint_eq(s.ping_rate, 100);
    ck_assert_uint_eq(s.settings_burst, 20);
    ck_assert_uint_eq(s.settings_rate, 2);
    ck_assert_uint_eq(s.settings_entries, 32);
    ck_assert_uint_eq(s.continuations, 8);
    ck_assert_uint_eq(s.total_streams, 1u << 30);
    ck_assert_uint_eq(s.memory, 32 * 1024 * KIB);
    ck_assert_uint_eq(s.progress_bytes, 1024);
    ck_assert_uint_eq(s.preface_timeout, 10 * TICK_SEC);
    ck_assert_uint_eq(s.headers_timeout, 10 * TICK_SEC);
    ck_assert_uint_eq(s.idle_timeout, 300 * TICK_SEC);
    ck_assert_uint_eq(s.progress_timeout, 30 * TICK_SEC);
    ck_assert_uint_eq(s.settings_timeout, 10 * TICK_SEC);
    ck_assert_uint_eq(s.drain_timeout, 30 * TICK_SEC);
}
END_TEST

START_TEST(keeps_what_was_chosen)
{
    struct h2_settings s = {.max_streams = 1,
                            .stream_window = H2_WINDOW_MAX,
                            .max_frame = H2_FRAME_SIZE_MAX,
                            .header_table = 64 * KIB,
                            .connect_protocol = true,
                            .drain_timeout = TICK_SEC};
    ck_assert(h2_settings_fill(&s));
    ck_assert_uint_eq(s.max_streams, 1);
    ck_assert_uint_eq(s.stream_window, H2_WINDOW_MAX);
    ck_assert_uint_eq(s.max_frame, H2_FRAME_SIZE_MAX);
    ck_assert_uint_eq(s.header_table, 64 * KIB);
    ck_assert(s.connect_protocol);
    ck_assert_uint_eq(s.drain_timeout, TICK_SEC);
    ck_assert_uint_eq(s.header_fields, 100);
}
END_TEST

static bool good(struct h2_settings s)
{
    return h2_settings_fill(&s);
}

#define GOOD(...) ck_assert(good((struct h2_settings){__VA_ARGS__}))
#define BAD(...)  ck_assert(!good((struct h2_settings){__VA_ARGS__}))

/* RFC 9113 6.5.2 and 6.9.2, and what there is to be room for. */
START_TEST(refuses_what_the_protocol_cannot)
{
    BAD(.stream_window = H2_WINDOW_MAX + 1);
    GOOD(.connection_window = 65535);
    BAD(.connection_window = 65534);
    BAD(.connection_window = H2_WINDOW_MAX + 1);
    GOOD(.max_frame = 16384);
    BAD(.max_frame = 16383);
    BAD(.max_frame = 1u << 24);
    BAD(.header_table = 64 * KIB + 1);
    BAD(.header_list = 1024 * KIB + 1);
    BAD(.header_list = 1023);
    BAD(.header_fields = 7);
    BAD(.continuations = 129);
    GOOD(.total_streams = 1u << 30);
    BAD(.total_streams = (1u << 30) + 1);
    BAD(.preface_timeout = 1);
    BAD(.idle_timeout = TICK_NEVER);
}
END_TEST

UNIT_MAIN("settings", NULL, NULL, takes_the_defaults_that_are_promised, keeps_what_was_chosen,
          refuses_what_the_protocol_cannot)
