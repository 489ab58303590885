/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/unit.h"

static char path[64];
static char text[8192];

static void setup(void)
{
    snprintf(path, sizeof(path), "/tmp/millrace-log-%d", (int)getpid());
    unlink(path);
}

static void teardown(void)
{
    log_close();
    unlink(path);
}

static const char *written(void)
{
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    return text;
}

START_TEST(a_line_has_time_level_and_text)
{
    ck_assert(log_open(CONFIG_LOG_INFO, path, false));
    log_info("hello %d", 7);
    int y, mo, d, h, mi, s, ms, used = 0;
    sscanf(written(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ info: hello 7\n%n", &y, &mo, &d, &h, &mi, &s,
           &ms, &used);
    ck_assert_int_eq(used, (int)strlen(text));
}
END_TEST

START_TEST(the_level_bounds_what_is_written)
{
    ck_assert(log_open(CONFIG_LOG_WARNING, path, false));
    log_notice("not this");
    log_warning("but this");
    ck_assert(!log_enabled(CONFIG_LOG_NOTICE));
    ck_assert_ptr_null(strstr(written(), "not this"));
    ck_assert_ptr_nonnull(strstr(text, "warning: but this\n"));
}
END_TEST

START_TEST(a_message_is_one_line)
{
    ck_assert(log_open(CONFIG_LOG_INFO, path, false));
    log_info("one\ntwo\r\nthree\n\n");
    ck_assert_ptr_nonnull(strstr(written(), "info: one two  three\n"));
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
}
END_TEST

START_TEST(json_is_escaped)
{
    ck_assert(log_open(CONFIG_LOG_INFO, path, true));
    log_info("a \"b\" \\ \t\x01");
    ck_assert_ptr_nonnull(
        strstr(written(), "\"level\":\"info\",\"message\":\"a \\\"b\\\" \\\\ \\u0009\\u0001\"}\n"));
    ck_assert_int_eq(text[0], '{');
}
END_TEST

/* Whatever its length, a line ends as a line and JSON stays whole. */
START_TEST(a_long_message_is_cut)
{
    static char longer[5000];
    memset(longer, '"', sizeof(longer) - 1);
    ck_assert(log_open(CONFIG_LOG_INFO, path, true));
    log_info("%s", longer);
    const char *end = written() + strlen(text) - 3;
    ck_assert_str_eq(end, "\"}\n");
    ck_assert_int_ne(end[-1], '\\' /* an escape cut in two */ * (end[-2] != '\\'));
    ck_assert_uint_lt(strlen(text), 2049);
}
END_TEST

START_TEST(a_bad_file_changes_nothing)
{
    ck_assert(log_open(CONFIG_LOG_INFO, path, false));
    ck_assert(!log_open(CONFIG_LOG_ERROR, "/nowhere/at/all", true));
    log_info("still here");
    ck_assert_ptr_nonnull(strstr(written(), "info: still here\n"));
}
END_TEST

START_TEST(a_rotated_file_is_opened_again)
{
    char moved[80];
    snprintf(moved, sizeof(moved), "%s.1", path);
    ck_assert(log_open(CONFIG_LOG_INFO, path, false));
    log_info("before");
    ck_assert_int_eq(rename(path, moved), 0);
    ck_assert(log_open(CONFIG_LOG_INFO, path, false));
    log_info("after");
    ck_assert_ptr_null(strstr(written(), "before"));
    ck_assert_ptr_nonnull(strstr(text, "after"));
    unlink(moved);
}
END_TEST

static unsigned descriptors(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 100; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

START_TEST(there_and_back_leaves_no_descriptor)
{
    ck_assert(log_open(CONFIG_LOG_ERROR, path, false));
    unsigned before = descriptors();
    for (int i = 0; i < 5; i++) {
        ck_assert(log_open(CONFIG_LOG_ERROR, NULL, false));
        ck_assert(log_open(CONFIG_LOG_ERROR, path, false));
    }
    ck_assert_uint_eq(descriptors(), before);
    log_error("here");
    ck_assert_ptr_nonnull(strstr(written(), "here"));
    log_close();
    ck_assert_uint_eq(descriptors(), before - 1);
}
END_TEST

START_TEST(the_limit_counts_what_it_holds_back)
{
    struct log_limit l = {0};
    ck_assert(log_open(CONFIG_LOG_INFO, path, false));
    ck_assert(log_allow(&l, 2, TICK_SEC));
    ck_assert(log_allow(&l, 2, TICK_SEC + 1));
    ck_assert(!log_allow(&l, 2, TICK_SEC + 2));
    ck_assert(!log_allow(&l, 2, 2 * TICK_SEC - 1));
    ck_assert(log_allow(&l, 2, 2 * TICK_SEC));
    ck_assert_ptr_nonnull(strstr(written(), "2 more lines"));
}
END_TEST

UNIT_MAIN("log", setup, teardown, a_line_has_time_level_and_text, the_level_bounds_what_is_written,
          a_message_is_one_line, json_is_escaped, a_long_message_is_cut, a_bad_file_changes_nothing,
          a_rotated_file_is_opened_again, there_and_back_leaves_no_descriptor,
          the_limit_counts_what_it_holds_back)
