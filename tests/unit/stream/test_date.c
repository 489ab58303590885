/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "stream/http.h"
#include "support/unit.h"

#define NOW UINT64_C(1700000000) /* 2023 */

static bool reads_at(const char *text, uint64_t now, uint64_t *second)
{
    return http_date_read((struct http_text){text, (uint32_t)strlen(text)}, now, second);
}

static uint64_t second_of(const char *text)
{
    uint64_t second = UINT64_MAX;
    ck_assert_msg(reads_at(text, NOW, &second), "%s", text);
    return second;
}

START_TEST(the_three_forms)
{
    ck_assert_uint_eq(second_of("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
    ck_assert_uint_eq(second_of("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777);
    ck_assert_uint_eq(second_of("Sun Nov  6 08:49:37 1994"), 784111777);
    ck_assert_uint_eq(second_of("Wed Nov 16 08:49:37 1994"), 784975777);
    ck_assert_uint_eq(second_of("Wednesday, 16-Nov-94 08:49:37 GMT"), 784975777);
}
END_TEST

START_TEST(ends_of_the_calendar)
{
    char out[HTTP_DATE_SIZE];
    http_date_write(out, 0);
    ck_assert_str_eq(out, "Thu, 01 Jan 1970 00:00:00 GMT");
    ck_assert_uint_eq(second_of(out), 0);
    http_date_write(out, 253402300799);
    ck_assert_str_eq(out, "Fri, 31 Dec 9999 23:59:59 GMT");
    ck_assert_uint_eq(second_of(out), 253402300799);
    http_date_write(out, 253402300800);
    ck_assert_str_eq(out, "Fri, 31 Dec 9999 23:59:59 GMT");
    http_date_write(out, UINT64_MAX);
    ck_assert_str_eq(out, "Fri, 31 Dec 9999 23:59:59 GMT");
}
END_TEST

START_TEST(leap_years)
{
    uint64_t second;
    ck_assert_uint_eq(second_of("Tue, 29 Feb 2000 00:00:00 GMT"), 951782400);
    ck_assert_uint_eq(second_of("Thu, 29 Feb 2024 12:00:00 GMT"), 1709208000);
    ck_assert(!reads_at("Wed, 29 Feb 2023 00:00:00 GMT", NOW, &second));
    ck_assert(!reads_at("Mon, 29 Feb 2100 00:00:00 GMT", NOW, &second));
    ck_assert(reads_at("Mon, 28 Feb 2100 00:00:00 GMT", NOW, &second));
    ck_assert_uint_eq(second_of("Sat, 31 Dec 2016 23:59:60 GMT"), 1483228800); /* a leap second */
}
END_TEST

/* Against the C library's calendar. */
static void is_right(uint64_t second)
{
    char ours[HTTP_DATE_SIZE];
    char theirs[64];
    time_t t = (time_t)second;
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(theirs, sizeof(theirs), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    http_date_write(ours, second);
    ck_assert_str_eq(ours, theirs);
    ck_assert_uint_eq(second_of(ours), second);
    strftime(theirs, sizeof(theirs), "%a %b %e %H:%M:%S %Y", &tm);
    ck_assert_uint_eq(second_of(theirs), second);
}

START_TEST(each_day_to_the_year_9999)
{
    struct rng rng;
    rng_seed(&rng, 1);
    for (uint64_t day = 0; day < UINT64_C(253402300800) / 86400; day += 1 + day / 40000)
        is_right(day * 86400 + rng_below(&rng, 86400));
}
END_TEST

START_TEST(years_of_two_digits)
{
    uint64_t second;
    /* Not more than 50 years from 2023. */
    ck_assert_uint_eq(second_of("Friday, 01-Jan-73 00:00:00 GMT"), 3250454400); /* 2073 */
    ck_assert_uint_eq(second_of("Tuesday, 01-Jan-74 00:00:00 GMT"), 126230400); /* 1974 */
    ck_assert_uint_eq(second_of("Friday, 01-Jan-99 00:00:00 GMT"), 915148800);
    ck_assert_uint_eq(second_of("Saturday, 01-Jan-00 00:00:00 GMT"), 946684800);
    ck_assert(reads_at("Sunday, 06-Nov-94 08:49:37 GMT", 0, &second)); /* no time is known */
    ck_assert_uint_eq(second, 784111777);
    ck_assert(!reads_at("Sunday, 06-Nov-23 08:49:37 GMT", 0, &second));         /* 1923 */
    ck_assert(reads_at("Sunday, 06-Nov-94 08:49:37 GMT", UINT64_MAX, &second)); /* 9994 */
}
END_TEST

START_TEST(garbage_is_no_date)
{
    static const char *const text[] = {
        "",
        "0",
        "784111777",
        "Sun",
        "Sun,",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 ",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 gmt",
        "sun, 06 Nov 1994 08:49:37 GMT",
        "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 32 Dec 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 08-49-37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT",
        "Sun, 01 Jan 0000 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday 06-Nov-94 08:49:37 GMT",
        "Funday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov 06 08:49:37 94",
        "Sun Nov  6 08:49:37 1994 GMT",
        "Sun Nov  0 08:49:37 1994",
        "Sun Feb 30 08:49:37 1994",
    };
    uint64_t second;
    for (unsigned i = 0; i < sizeof(text) / sizeof(text[0]); i++)
        ck_assert_msg(!reads_at(text[i], NOW, &second), "%s", text[i]);
}
END_TEST

/* One byte changed or cut off: another date, or none, and nothing is read past the end. */
START_TEST(bent_dates)
{
    static const char *const form[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                       "Sunday, 06-Nov-94 08:49:37 GMT",
                                       "Sun Nov  6 08:49:37 1994"};
    for (unsigned f = 0; f < 3; f++) {
        uint32_t n = (uint32_t)strlen(form[f]);
        for (uint32_t i = 0; i < n; i++) {
            char *copy = malloc(n);
            uint64_t second = 0;
            memcpy(copy, form[f], n);
            copy[i] = '\0';
            ck_assert(!http_date_read((struct http_text){copy, n}, NOW, &second));
            free(copy);
            copy = malloc(i + 1);
            memcpy(copy, form[f], i);
            ck_assert(!http_date_read((struct http_text){copy, i}, NOW, &second));
            free(copy);
        }
    }
}
END_TEST

START_TEST(the_present_is_the_same_for_a_second)
{
    struct http_env env = {.wall = 0, .now = 5 * TICK_SEC};
    ck_assert_uint_eq(http_date(&env).n, 0);
    env.wall = INT64_C(784111770) * (int64_t)TICK_SEC;
    env.now = 7 * TICK_SEC;
    struct http_text date = http_date(&env);
    ck_assert(http_text_eq(date, HTTP_TEXT("Sun, 06 Nov 1994 08:49:37 GMT")));
    env.now += TICK_SEC - 1;
    ck_assert(http_text_eq(http_date(&env), HTTP_TEXT("Sun, 06 Nov 1994 08:49:37 GMT")));
    env.now += 1;
    ck_assert(http_text_eq(http_date(&env), HTTP_TEXT("Sun, 06 Nov 1994 08:49:38 GMT")));
    env.now -= 1;
    ck_assert(http_text_eq(http_date(&env), HTTP_TEXT("Sun, 06 Nov 1994 08:49:37 GMT")));
}
END_TEST

UNIT_MAIN("date", NULL, NULL, the_three_forms, ends_of_the_calendar, leap_years,
          each_day_to_the_year_9999, years_of_two_digits, garbage_is_no_date, bent_dates,
          the_present_is_the_same_for_a_second)
