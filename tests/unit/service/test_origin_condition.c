/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/origin_condition.h"

#include <string.h>

#include "support/unit.h"

#define MODIFIED   UINT64_C(784111777) /* Sun, 06 Nov 1994 08:49:37 GMT */
#define NOW        UINT64_C(1700000000)
#define LAST       "Sun, 06 Nov 1994 08:49:37 GMT"
#define BEFORE     "Sun, 06 Nov 1994 08:49:36 GMT"
#define AFTERWARDS "Sun, 06 Nov 1994 08:49:38 GMT"

static struct origin_item item = {.etag = {"\"abc\"", 5}, .modified = MODIFIED};
static struct http_field field[16];
static struct http_head head = {.field = field};

static void setup(void)
{
    head.n_fields = 0;
    item.modified = MODIFIED;
}

static struct http_text text(const char *p)
{
    return (struct http_text){p, (uint32_t)strlen(p)};
}

static void with(const char *name, const char *value)
{
    field[head.n_fields++] = (struct http_field){text(name), text(value), false};
}

/* The status for the conditions so far, which are then forgotten. */
static unsigned status(void)
{
    unsigned s = origin_conditions_met(&head, origin_conditions(&head), &item, NOW);
    head.n_fields = 0;
    return s;
}

static unsigned status_with(const char *name, const char *value)
{
    with(name, value);
    return status();
}

static bool applies(void)
{
    bool yes = origin_range_applies(&head, origin_conditions(&head), &item, NOW);
    head.n_fields = 0;
    return yes;
}

START_TEST(fields_are_found)
{
    ck_assert_uint_eq(origin_conditions(&head), 0);
    with("host", "x");
    with("if-macht", "x");
    with("range-", "x");
    ck_assert_uint_eq(origin_conditions(&head), 0);
    with("range", "x");
    with("if-none-match", "x");
    ck_assert_uint_eq(origin_conditions(&head), ORIGIN_RANGE | ORIGIN_IF_NONE_MATCH);
    with("if-match", "x");
    with("if-range", "x");
    with("if-modified-since", "x");
    with("if-unmodified-since", "x");
    ck_assert_uint_eq(origin_conditions(&head), 63);
}
END_TEST

START_TEST(if_none_match_compares_weakly)
{
    static const char *const known[] = {"\"abc\"",        "W/\"abc\"",          "*",
                                        "\"x\", \"abc\"", "\"x\",W/\"abc\"",    " , \"abc\" ,",
                                        "\"\",\"abc\"",   "\"a,b\"\t,\t\"abc\""};
    static const char *const other[] = {
        "\"abd\"", "\"abcd\"", "abc",       "\"abc", "abc\"",    "\"ABC\"",  "",
        "\"*\"",   "**",       "w/\"abc\"", "W/abc", "W\"abc\"", "x\"abc\"", "\"x, \"abc\""};
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        ck_assert_msg(status_with("if-none-match", known[i]) == 304, "%s", known[i]);
    for (unsigned i = 0; i < sizeof(other) / sizeof(other[0]); i++)
        ck_assert_msg(status_with("if-none-match", other[i]) == 200, "%s", other[i]);
}
END_TEST

START_TEST(lines_are_one_list)
{
    with("if-none-match", "\"x\"");
    with("if-none-match", "\"abc\"");
    ck_assert_uint_eq(status(), 304);
    with("if-match", "\"x\"");
    with("if-match", "\"abc\"");
    ck_assert_uint_eq(status(), 200);
}
END_TEST

START_TEST(if_match_compares_strongly)
{
    ck_assert_uint_eq(status_with("if-match", "\"abc\""), 200);
    ck_assert_uint_eq(status_with("if-match", "\"x\", \"abc\""), 200);
    ck_assert_uint_eq(status_with("if-match", "*"), 200);
    ck_assert_uint_eq(status_with("if-match", "W/\"abc\""), 412);
    ck_assert_uint_eq(status_with("if-match", "\"x\""), 412);
    ck_assert_uint_eq(status_with("if-match", ""), 412);
}
END_TEST

START_TEST(dates_are_compared)
{
    ck_assert_uint_eq(status_with("if-modified-since", LAST), 304);
    ck_assert_uint_eq(status_with("if-modified-since", AFTERWARDS), 304);
    ck_assert_uint_eq(status_with("if-modified-since", BEFORE), 200);
    ck_assert_uint_eq(status_with("if-modified-since", "Sunday, 06-Nov-94 08:49:37 GMT"), 304);
    ck_assert_uint_eq(status_with("if-unmodified-since", LAST), 200);
    ck_assert_uint_eq(status_with("if-unmodified-since", AFTERWARDS), 200);
    ck_assert_uint_eq(status_with("if-unmodified-since", BEFORE), 412);
}
END_TEST

START_TEST(dates_that_are_none_do_not_count)
{
    ck_assert_uint_eq(status_with("if-modified-since", "yesterday"), 200);
    ck_assert_uint_eq(status_with("if-unmodified-since", "yesterday"), 200);
    with("if-modified-since", LAST);
    with("if-modified-since", LAST);
    ck_assert_uint_eq(status(), 200);
    item.modified = 0;
    ck_assert_uint_eq(status_with("if-modified-since", LAST), 200);
    ck_assert_uint_eq(status_with("if-unmodified-since", BEFORE), 200);
}
END_TEST

/* RFC 9110 13.2.2 */
START_TEST(one_comes_before_the_other)
{
    with("if-modified-since", LAST);
    with("if-none-match", "\"x\"");
    ck_assert_uint_eq(status(), 200);
    with("if-modified-since", BEFORE);
    with("if-none-match", "\"abc\"");
    ck_assert_uint_eq(status(), 304);
    with("if-unmodified-since", BEFORE);
    with("if-match", "\"abc\"");
    ck_assert_uint_eq(status(), 200);
    with("if-none-match", "\"abc\"");
    with("if-match", "\"x\"");
    ck_assert_uint_eq(status(), 412);
    with("if-none-match", "\"abc\"");
    with("if-match", "\"abc\"");
    ck_assert_uint_eq(status(), 304);
}
END_TEST

START_TEST(a_range_is_asked_for_once)
{
    ck_assert(!applies());
    with("range", "bytes=0-1");
    ck_assert(applies());
    with("range", "bytes=0-1");
    with("range", "bytes=0-1");
    ck_assert(!applies());
    with("if-range", "\"abc\"");
    ck_assert(!applies());
}
END_TEST

static bool applies_if(const char *value)
{
    with("range", "bytes=0-1");
    with("if-range", value);
    return applies();
}

START_TEST(if_range_compares_strongly)
{
    ck_assert(applies_if("\"abc\""));
    ck_assert(!applies_if("W/\"abc\""));
    ck_assert(!applies_if("\"x\""));
    ck_assert(!applies_if("\"x\", \"abc\""));
    ck_assert(!applies_if("\"abc\", \"x\""));
    ck_assert(!applies_if("*"));
    ck_assert(!applies_if(""));
    ck_assert(applies_if(LAST));
    ck_assert(!applies_if(BEFORE));
    ck_assert(!applies_if(AFTERWARDS)); /* the very one, not a later one */
    item.modified = 0;
    ck_assert(!applies_if(LAST));
    with("if-range", "\"abc\"");
    ck_assert(!applies_if("\"abc\""));
}
END_TEST

UNIT_MAIN("origin_condition", setup, NULL, fields_are_found, if_none_match_compares_weakly,
          lines_are_one_list, if_match_compares_strongly, dates_are_compared,
          dates_that_are_none_do_not_count, one_comes_before_the_other, a_range_is_asked_for_once,
          if_range_compares_strongly)
