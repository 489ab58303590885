/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/origin_path.h"

#include <string.h>

#include "support/unit.h"

static struct http_text text(const char *p)
{
    return (struct http_text){p, (uint32_t)strlen(p)};
}

static void becomes(const char *path, const char *expected)
{
    char out[64];
    int n = origin_path_decode(out, text(path));
    ck_assert_msg(n == (int)strlen(expected) && memcmp(out, expected, (size_t)n) == 0, "%s: %.*s",
                  path, n < 0 ? 0 : n, out);
    ck_assert(strstr(expected, "//") || origin_path_ok(text(expected)));
}

static void is_refused(const char *path)
{
    char out[64];
    ck_assert_msg(origin_path_decode(out, text(path)) == -1, "%s", path);
}

START_TEST(escapes_are_undone)
{
    becomes("/", "/");
    becomes("/a/b.c", "/a/b.c");
    becomes("/%61%2E%62", "/a.b");
    becomes("/a%20b", "/a b");
    becomes("/%C3%a9", "/\xc3\xa9");
    becomes("/\xc3\xa9", "/\xc3\xa9");
    becomes("/100%25", "/100%");
    becomes("/%2561", "/%61"); /* once only */
    becomes("/a+b", "/a+b");
    becomes("/%23%3f", "/#?");
    becomes("//a//", "//a//");
}
END_TEST

START_TEST(bad_escapes_are_refused)
{
    static const char *const path[] = {"/%", "/%4", "/%4g", "/%g4", "/%%41", "/% 41", "/a%2"};
    for (unsigned i = 0; i < sizeof(path) / sizeof(path[0]); i++)
        is_refused(path[i]);
}
END_TEST

START_TEST(dot_segments_are_refused)
{
    static const char *const path[] = {"/.",      "/..",      "/./a",       "/../a",  "/a/.",
                                       "/a/..",   "/a/./b",   "/a/../b",    "/%2e",   "/%2E%2e",
                                       "/.%2e/a", "/a/%2e./", "/a/b/../..", "//../a", "/..//"};
    for (unsigned i = 0; i < sizeof(path) / sizeof(path[0]); i++)
        is_refused(path[i]);
    becomes("/...", "/...");
    becomes("/.a", "/.a");
    becomes("/a.", "/a.");
    becomes("/..a/a..", "/..a/a..");
    becomes("/a/ ..", "/a/ ..");
}
END_TEST

START_TEST(what_may_be_taken_for_something_else_is_refused)
{
    static const char *const path[] = {"",      "a",      "%2fa",  "/%2f", "/a%2Fb", "/\\",
                                       "/%5c",  "/%00",   "/%0a",  "/%0D", "/%1f",   "/%7f",
                                       "/a\tb", "/a\x1f", "/\x7f", "/a#b", "*",      "http:/"};
    for (unsigned i = 0; i < sizeof(path) / sizeof(path[0]); i++)
        is_refused(path[i]);
    char out[8];
    ck_assert_int_eq(origin_path_decode(out, (struct http_text){"/a\0b", 4}), -1);
    ck_assert(!origin_path_ok((struct http_text){"/a\0b", 4}));
    ck_assert_int_eq(origin_path_decode(out, (struct http_text){NULL, 0}), -1);
}
END_TEST

START_TEST(length_has_a_bound)
{
    static char path[ORIGIN_PATH_MAX + 1];
    static char out[ORIGIN_PATH_MAX + 1];
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    ck_assert_int_eq(origin_path_decode(out, (struct http_text){path, ORIGIN_PATH_MAX}), 8192);
    ck_assert_int_eq(origin_path_decode(out, (struct http_text){path, ORIGIN_PATH_MAX + 1}), -1);
    ck_assert(origin_path_ok((struct http_text){path, ORIGIN_PATH_MAX}));
    ck_assert(!origin_path_ok((struct http_text){path, ORIGIN_PATH_MAX + 1}));
}
END_TEST

START_TEST(plain_paths_mean_themselves)
{
    ck_assert(origin_path_plain(text("/a b/c.html")));
    ck_assert(!origin_path_plain(text("/100%")));
    ck_assert(!origin_path_plain(text("/a?")));
    ck_assert(!origin_path_plain(text("/a#")));
}
END_TEST

UNIT_MAIN("origin_path", NULL, NULL, escapes_are_undone, bad_escapes_are_refused,
          dot_segments_are_refused, what_may_be_taken_for_something_else_is_refused,
          length_has_a_bound, plain_paths_mean_themselves)
