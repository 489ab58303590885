/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/origin_range.h"

#include <stdio.h>
#include <string.h>

#include "support/unit.h"

/* "first+len" of a part, "whole" or "none". */
static const char *of(const char *value, uint32_t length)
{
    static char text[32];
    struct origin_range r = {0};
    struct http_text t = {value, (uint32_t)strlen(value)};
    switch (origin_range_parse(t, length, &r)) {
    case ORIGIN_RANGE_WHOLE: return "whole";
    case ORIGIN_RANGE_NONE: return "none";
    case ORIGIN_RANGE_PART: break;
    }
    snprintf(text, sizeof(text), "%u+%u", r.first, r.len);
    return text;
}

START_TEST(one_range)
{
    ck_assert_str_eq(of("bytes=0-499", 1000), "0+500");
    ck_assert_str_eq(of("bytes=500-999", 1000), "500+500");
    ck_assert_str_eq(of("bytes=500-", 1000), "500+500");
    ck_assert_str_eq(of("bytes=-500", 1000), "500+500");
    ck_assert_str_eq(of("bytes=0-", 1000), "0+1000");
    ck_assert_str_eq(of("bytes=0-0", 1000), "0+1");
    ck_assert_str_eq(of("bytes=-1", 1000), "999+1");
    ck_assert_str_eq(of("bytes=999-999", 1000), "999+1");
    ck_assert_str_eq(of("bytes=0-0", 1), "0+1");
    ck_assert_str_eq(of("bytes=007-08", 1000), "7+2");
}
END_TEST

START_TEST(what_exceeds_the_content_is_cut)
{
    ck_assert_str_eq(of("bytes=500-1000", 1000), "500+500");
    ck_assert_str_eq(of("bytes=500-4294967295", 1000), "500+500");
    ck_assert_str_eq(of("bytes=-1001", 1000), "0+1000");
    ck_assert_str_eq(of("bytes=0-4294967294", UINT32_MAX), "0+4294967295");
    ck_assert_str_eq(of("bytes=4294967294-", UINT32_MAX), "4294967294+1");
}
END_TEST

START_TEST(numbers_have_no_bound)
{
    ck_assert_str_eq(of("bytes=0-18446744073709551615", 1000), "0+1000");
    ck_assert_str_eq(of("bytes=0-18446744073709551616", 1000), "0+1000");
    ck_assert_str_eq(of("bytes=0-99999999999999999999999999999", 1000), "0+1000");
    ck_assert_str_eq(of("bytes=-99999999999999999999999999999", 1000), "0+1000");
    ck_assert_str_eq(of("bytes=18446744073709551616-", 1000), "none");
    ck_assert_str_eq(of("bytes=4294967296-4294967297", 1000), "none");
    ck_assert_str_eq(of("bytes=00000000000000000000000000001-1", 1000), "1+1");
}
END_TEST

START_TEST(nothing_of_it_is_there)
{
    ck_assert_str_eq(of("bytes=1000-", 1000), "none");
    ck_assert_str_eq(of("bytes=1000-1000", 1000), "none");
    ck_assert_str_eq(of("bytes=-0", 1000), "none");
    ck_assert_str_eq(of("bytes=1000-,-0,5000-6000", 1000), "none");
    ck_assert_str_eq(of("bytes=0-0", 0), "whole");
    ck_assert_str_eq(of("bytes=-5", 0), "whole");
}
END_TEST

START_TEST(several_ranges)
{
    ck_assert_str_eq(of("bytes=0-0,-1", 1000), "whole");
    ck_assert_str_eq(of("bytes=0-0,1-1", 1000), "whole");
    ck_assert_str_eq(of("bytes=0-0, 2000-", 1000), "0+1");
    ck_assert_str_eq(of("bytes=2000-\t , 5-6 ,-0", 1000), "5+2");
    ck_assert_str_eq(of("bytes=,,5-6,", 1000), "5+2");
}
END_TEST

START_TEST(what_is_malformed_is_ignored)
{
    static const char *const value[] = {
        "",           "bytes",       "bytes=",       "bytes=,",     "bytes=-",     "bytes=a-b",
        "bytes=1",    "bytes=5-4",   "bytes=--1",    "bytes=1--2",  "bytes=1-2-3", "bytes=1-2 3-4",
        "bytes 1-2",  "bytes = 1-2", " bytes=1-2",   "bytes=1 -2",  "bytes=1- 2",  "bytes=0x1-2",
        "bytes=+1-2", "bytes=1-2;",  "bytes=1-2,x",  "bytes=x,1-2", "items=0-1",   "byte=0-1",
        "bytess=0-1", "bytes==0-1",  "bytes=1-2,9-8"};
    for (unsigned i = 0; i < sizeof(value) / sizeof(value[0]); i++)
        ck_assert_msg(strcmp(of(value[i], 1000), "whole") == 0, "%s", value[i]);
}
END_TEST

START_TEST(the_unit_in_any_case)
{
    ck_assert_str_eq(of("BYTES=1-2", 1000), "1+2");
    ck_assert_str_eq(of("Bytes=1-2", 1000), "1+2");
}
END_TEST

UNIT_MAIN("origin_range", NULL, NULL, one_range, what_exceeds_the_content_is_cut,
          numbers_have_no_bound, nothing_of_it_is_there, several_ranges,
          what_is_malformed_is_ignored, the_unit_in_any_case)
