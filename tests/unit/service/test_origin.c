/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/origin.h"

#include <stdio.h>
#include <string.h>

#include "service/origin_item.h"
#include "support/heap.h"
#include "support/unit.h"

static struct heap heap;
static struct origin *origin;

static void open_with(const struct origin_options *o)
{
    heap_init(&heap);
    origin = origin_create(&heap.mem, "site", o);
    ck_assert_ptr_nonnull(origin);
}

static void setup(void)
{
    struct origin_options o = {.bytes = false};
    open_with(&o);
}

static void teardown(void)
{
    origin_destroy(origin);
    ck_assert_uint_eq(heap.blocks, 0);
}

static void reopen(const struct origin_options *o)
{
    teardown();
    open_with(o);
}

static struct http_text text(const char *p)
{
    return (struct http_text){p, (uint32_t)strlen(p)};
}

static int add(const char *path, const char *body)
{
    struct origin_entry e = {.path = text(path), .body = text(body)};
    return origin_add(origin, &e);
}

static void finds(const char *path, const char *body)
{
    const struct origin_item *item = origin_find(origin, text(path));
    ck_assert_ptr_nonnull(item);
    ck_assert(http_text_eq(item->body, text(body)));
    ck_assert(http_text_eq(item->path, text(path)));
}

START_TEST(finds_what_was_added)
{
    ck_assert_int_eq(add("/a", "A"), 0);
    ck_assert_int_eq(add("/b/c", "BC"), 0);
    ck_assert(origin_seal(origin));
    finds("/a", "A");
    finds("/b/c", "BC");
    ck_assert_ptr_null(origin_find(origin, text("/b")));
    ck_assert_ptr_null(origin_find(origin, text("")));
    ck_assert_ptr_null(origin_find(origin, text("/b/c/much/longer/than/any")));
    ck_assert_str_eq(origin_name(origin), "site");
    ck_assert_uint_eq(origin_n_entries(origin), 2);
    ck_assert_uint_eq(origin_n_bytes(origin), 3);
}
END_TEST

/* Paths of all lengths, also such that differ in one byte anywhere. */
START_TEST(finds_each_of_many)
{
    char path[64];
    char body[64];
    for (unsigned i = 0; i < 5000; i++) {
        snprintf(path, sizeof(path), "/%.*s%u", (int)(i % 40),
                 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", i);
        snprintf(body, sizeof(body), "%u", i);
        ck_assert_int_eq(add(path, body), 0);
    }
    ck_assert(origin_seal(origin));
    for (unsigned i = 0; i < 5000; i++) {
        snprintf(path, sizeof(path), "/%.*s%u", (int)(i % 40),
                 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", i);
        snprintf(body, sizeof(body), "%u", i);
        finds(path, body);
        path[i % strlen(path)] ^= 1;
        const struct origin_item *other = origin_find(origin, text(path));
        ck_assert(!other || http_text_eq(other->path, text(path)));
    }
}
END_TEST

START_TEST(everything_is_copied)
{
    char path[] = "/x.js";
    char body[] = "body";
    char type[] = "text/x";
    char name[] = "x-name";
    char value[] = "value";
    struct http_field field = {text(name), text(value), true};
    struct origin_entry e = {.path = text(path),
                             .type = text(type),
                             .body = text(body),
                             .modified = 784111777,
                             .field = &field,
                             .n_fields = 1};
    ck_assert_int_eq(origin_add(origin, &e), 0);
    memset(path, '#', sizeof(path) - 1);
    memset(body, '#', sizeof(body) - 1);
    memset(type, '#', sizeof(type) - 1);
    memset(name, '#', sizeof(name) - 1);
    memset(value, '#', sizeof(value) - 1);
    ck_assert(origin_seal(origin));
    finds("/x.js", "body");
    const struct origin_item *item = origin_find(origin, HTTP_TEXT("/x.js"));
    ck_assert_uint_eq(item->n_fields, 6);
    struct http_head h = {.field = item->field, .n_fields = 6};
    const struct http_field *found = http_field_find(&h, HTTP_TEXT("x-name"));
    ck_assert(found && found->sensitive && http_text_eq(found->value, HTTP_TEXT("value")));
    found = http_field_find(&h, HTTP_TEXT("content-type"));
    ck_assert(found && http_text_eq(found->value, HTTP_TEXT("text/x")));
    found = http_field_find(&h, HTTP_TEXT("last-modified"));
    ck_assert(found && http_text_eq(found->value, HTTP_TEXT("Sun, 06 Nov 1994 08:49:37 GMT")));
}
END_TEST

START_TEST(tags_tell_bytes_apart)
{
    ck_assert_int_eq(add("/a", "one"), 0);
    ck_assert_int_eq(add("/b", "two"), 0);
    ck_assert_int_eq(add("/c", "one"), 0);
    ck_assert_int_eq(add("/d", ""), 0);
    const struct origin_item *a = origin_find(origin, HTTP_TEXT("/a"));
    ck_assert_uint_eq(a->etag.n, 18);
    ck_assert(a->etag.p[0] == '"' && a->etag.p[17] == '"');
    ck_assert(!http_text_eq(a->etag, origin_find(origin, HTTP_TEXT("/b"))->etag));
    ck_assert(http_text_eq(a->etag, origin_find(origin, HTTP_TEXT("/c"))->etag));
    ck_assert(!http_text_eq(a->etag, origin_find(origin, HTTP_TEXT("/d"))->etag));
}
END_TEST

START_TEST(a_path_is_there_once)
{
    ck_assert_int_eq(add("/a", "1"), 0);
    ck_assert_int_eq(add("/a", "2"), ORIGIN_E_EXISTS);
    finds("/a", "1");
    ck_assert_uint_eq(origin_n_entries(origin), 1);
    ck_assert_uint_eq(origin_n_bytes(origin), 1);
}
END_TEST

START_TEST(bad_paths_are_refused)
{
    static const char *const path[] = {"",    "a",     "/../a", "/a/..", "/.", "/./", "/a//b",
                                       "//a", "/a\\b", "/a\n",  "/\x7f", "*",  "/a//"};
    for (unsigned i = 0; i < sizeof(path) / sizeof(path[0]); i++)
        ck_assert_msg(add(path[i], "") == ORIGIN_E_PATH, "%s", path[i]);
    ck_assert_int_eq(add("/...", ""), 0);
    ck_assert_int_eq(add("/.a/..b/c./", ""), 0);
    ck_assert_int_eq(add("/\xc3\xa9t\xc3\xa9", ""), 0);
    ck_assert_int_eq(add("/", ""), 0);
}
END_TEST

START_TEST(bad_statuses_are_refused)
{
    static const uint16_t none[] = {204, 205, 304};
    struct origin_entry e = {.path = HTTP_TEXT("/a"), .status = 100};
    ck_assert_int_eq(origin_add(origin, &e), ORIGIN_E_STATUS);
    e.status = 600;
    ck_assert_int_eq(origin_add(origin, &e), ORIGIN_E_STATUS);
    e.body = HTTP_TEXT("x");
    for (unsigned i = 0; i < 3; i++) {
        e.status = none[i];
        ck_assert_int_eq(origin_add(origin, &e), ORIGIN_E_STATUS);
    }
    e.body.n = 0;
    ck_assert_int_eq(origin_add(origin, &e), 0);
}
END_TEST

START_TEST(bounds_are_kept)
{
    struct origin_options o = {.max_entries = 2, .max_bytes = 5};
    reopen(&o);
    ck_assert_int_eq(add("/a", "123456"), ORIGIN_E_LIMIT);
    ck_assert_int_eq(add("/a", "123"), 0);
    ck_assert_int_eq(add("/b", "123"), ORIGIN_E_LIMIT);
    ck_assert_int_eq(add("/b", "12"), 0);
    ck_assert_int_eq(add("/c", ""), ORIGIN_E_LIMIT);
    struct http_field field[17] = {{{0}, {0}, false}};
    o = (struct origin_options){.max_entries = 0};
    reopen(&o);
    struct origin_entry e = {.path = HTTP_TEXT("/a"), .field = field, .n_fields = 17};
    ck_assert_int_eq(origin_add(origin, &e), ORIGIN_E_LIMIT);
    e.n_fields = 16;
    ck_assert_int_eq(origin_add(origin, &e), 0);
    ck_assert_uint_eq(origin_find(origin, e.path)->n_fields, 20);
}
END_TEST

START_TEST(directories_are_made_of_their_index)
{
    ck_assert_int_eq(add("/index.html", "root"), 0);
    ck_assert_int_eq(add("/a/b/index.html", "ab"), 0);
    ck_assert_int_eq(add("/c/index.html", "c"), 0);
    ck_assert_int_eq(add("/c", "a file of that name"), 0);
    ck_assert_int_eq(add("/d/", "an answer of that name"), 0);
    ck_assert_int_eq(add("/d/index.html", "d"), 0);
    ck_assert_int_eq(add("/e-index.html", "e"), 0);
    ck_assert(origin_seal(origin));
    finds("/", "root");
    finds("/a/b/", "ab");
    ck_assert(origin_find(origin, HTTP_TEXT("/a/b"))->slash);
    ck_assert(!origin_find(origin, HTTP_TEXT("/a/b/"))->slash);
    ck_assert_ptr_null(origin_find(origin, HTTP_TEXT("/a/")));
    finds("/c", "a file of that name");
    ck_assert(!origin_find(origin, HTTP_TEXT("/c"))->slash);
    finds("/c/", "c");
    finds("/d/", "an answer of that name");
    ck_assert(origin_find(origin, HTTP_TEXT("/d"))->slash);
    ck_assert_uint_eq(origin_n_entries(origin), 7);
}
END_TEST

START_TEST(many_directories_are_all_made)
{
    char path[64];
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(path, sizeof(path), "/%u/index.html", i);
        ck_assert_int_eq(add(path, "x"), 0);
    }
    ck_assert(origin_seal(origin));
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(path, sizeof(path), "/%u/", i);
        finds(path, "x");
        path[strlen(path) - 1] = 0;
        ck_assert(origin_find(origin, text(path))->slash);
    }
}
END_TEST

START_TEST(users_are_counted_by_worker)
{
    ck_assert_int_eq(add("/a", "0123456789"), 0);
    ck_assert(origin_seal(origin));
    ck_assert_uint_eq(origin_users(origin), 0);
    origin_hold(origin, 0);
    origin_hold(origin, 63);
    struct vec v = origin_promise(origin, 63, origin_find(origin, HTTP_TEXT("/a")), 2, 5);
    ck_assert_uint_eq(origin_users(origin), 3);
    origin_release(origin, 63);
    origin_release(origin, 0);
    ck_assert_uint_eq(origin_users(origin), 1);
    uint8_t out[3];
    v.ops->flatten(&v, 1, out, 3);
    ck_assert(memcmp(out, "345", 3) == 0);
    v.ops->discard(&v);
    ck_assert_uint_eq(origin_users(origin), 0);
}
END_TEST

/* With each bound of memory up to where it is enough, nothing breaks and nothing is lost. */
START_TEST(out_of_memory_at_any_moment)
{
    bool done = false;
    teardown();
    for (size_t limit = 0; !done; limit += 512) {
        heap_init(&heap);
        heap.limit = limit;
        struct origin_options o = {.bytes = true};
        origin = origin_create(&heap.mem, "site", &o);
        done = origin;
        for (unsigned i = 0; origin && i < 40; i++) {
            char path[64];
            snprintf(path, sizeof(path), "/%u/index.html", i);
            int error = add(path, "x");
            ck_assert(error == 0 || error == ORIGIN_E_MEMORY);
            done = done && error == 0;
        }
        done = done && origin_seal(origin);
        origin_destroy(origin);
        ck_assert_uint_eq(heap.blocks, 0);
        ck_assert_uint_lt(limit, 1000000);
    }
    setup();
}
END_TEST

UNIT_MAIN("origin", setup, teardown, finds_what_was_added, finds_each_of_many, everything_is_copied,
          tags_tell_bytes_apart, a_path_is_there_once, bad_paths_are_refused,
          bad_statuses_are_refused, bounds_are_kept, directories_are_made_of_their_index,
          many_directories_are_all_made, users_are_counted_by_worker, out_of_memory_at_any_moment)
