/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/priority_field.h"

#include <stdio.h>
#include <string.h>

#include "support/unit.h"

/* "3", "3 i", or "none". */
static const char *read_field(const char *value)
{
    static char text[8];
    struct sched_priority p = sched_priority_default;
    struct http_text t = {.p = value, .n = (uint32_t)strlen(value)};
    char *copy = malloc(t.n + 1); /* a sanitizer sees what is read behind it */
    memcpy(copy, value, t.n);
    copy = realloc(copy, t.n ? t.n : 1);
    t.p = copy;
    bool is = h2_priority_field(t, &p);
    free(copy);
    if (!is) {
        ck_assert_uint_eq(p.urgency, SCHED_URGENCY_DEFAULT);
        ck_assert(!p.incremental);
        return "none";
    }
    snprintf(text, sizeof(text), "%u%s", p.urgency, p.incremental ? " i" : "");
    return text;
}

START_TEST(urgency_and_incremental)
{
    ck_assert_str_eq(read_field(""), "3");
    ck_assert_str_eq(read_field("u=0"), "0");
    ck_assert_str_eq(read_field("u=7, i"), "7 i");
    ck_assert_str_eq(read_field("i,u=5"), "5 i");
    ck_assert_str_eq(read_field("  i=?1 \t,\t u=5  "), "5 i");
    ck_assert_str_eq(read_field("i=?0"), "3");
    ck_assert_str_eq(read_field("u=1, i, u=2, i=?0"), "2"); /* the last one counts */
}
END_TEST

/* RFC 9218 4 */
START_TEST(what_means_nothing_is_ignored)
{
    static const char *const values[] = {
        "u=8",
        "u=-1",
        "u=1.0",
        "u=\"1\"",
        "u=one",
        "u",
        "u=?1",
        "i=1",
        "i=yes",
        "i=\"\\\"\"",
        "a=1",
        "*x=:YWJj:",
        "a;b;c=1.5",
        "a=(1 2;q)",
        "a=()",
        "a=( \"x\" )",
        "x=999999999999999",
        "u=:MQ==:",
        "i=(?1)",
        "u=(1)",
        "a-b_c.*d",
        "x=a/b:c",
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        ck_assert_msg(strcmp(read_field(values[i]), "3") == 0, "%s", values[i]);
    ck_assert_str_eq(read_field("x=\"a, u=0\", u=1;u=2, y=(a b), i;x"), "1 i");
}
END_TEST

/* RFC 8941 4.2 */
START_TEST(what_is_no_dictionary_is_ignored_as_a_whole)
{
    static const char *const values[] = {
        "u=0,",
        "u=0 i",
        ",u=0",
        "u=0,,i",
        "u=0, U=1",
        "u=0, =1",
        "u=0, a=",
        "u=0;",
        "u=0, a=\"",
        "u=0; =1",
        "u=0, a=(1",
        "u=0, a=(1,2)",
        "u=0, a=-",
        "u=0, a=1.",
        "u=0, a=:x",
        "u=0, ?!",
        "u=0, a=1.2345",
        "u=0, a=\"\\n\"",
        "u=0, a=?2",
        "u=0, a=@1",
        "\xff=?;;",
        "u=0, a=1234567890123456",
        "u=0, a=1234567890123.1",
        "u=0, a=(1 \"2\"\"3\")",
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        ck_assert_msg(strcmp(read_field(values[i]), "none") == 0, "%s", values[i]);
}
END_TEST

UNIT_MAIN("priority_field", NULL, NULL, urgency_and_incremental, what_means_nothing_is_ignored,
          what_is_no_dictionary_is_ignored_as_a_whole)
