/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/site.h"

#include <sys/stat.h>

#include "document.h"
#include "service/origin_item.h"
#include "support/heap.h"

static struct heap heap;
static unsigned left_out;

static void setup(void)
{
    document_setup();
    ck_assert_int_eq(mkdir("www", 0755), 0);
    heap_init(&heap);
}

static void teardown(void)
{
    ck_assert_int_eq(system("rm -r www"), 0);
    ck_assert_uint_eq(heap.blocks, 0);
    document_teardown();
}

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

static struct origin *load(const char *text, const char *faults)
{
    char *errors;
    size_t size;
    FILE *out = open_memstream(&errors, &size);
    struct config *c = document_valid(text);
    struct config_faults f = {.file = "f", .tree = c->tree};
    struct origin *o = site_load(c, 0, &heap.mem, &left_out, &f);
    config_faults_flush(&f, out);
    fclose(out);
    ck_assert_str_eq(errors, faults);
    free(errors);
    config_free(c);
    return o;
}

static void expect(const char *text, unsigned entries, uint64_t bytes, unsigned out)
{
    struct origin *o = load(text, "");
    ck_assert_ptr_nonnull(o);
    ck_assert_uint_eq(origin_n_entries(o), entries);
    ck_assert_uint_eq(origin_n_bytes(o), bytes);
    ck_assert_uint_eq(left_out, out);
    origin_destroy(o);
}

#define SITE "origins: [{name: o, directory: www}]\n"

START_TEST(files_of_all_directories_are_served)
{
    struct origin *empty = load(SITE, "");
    uint32_t none = origin_n_entries(empty);
    origin_destroy(empty);
    mkdir("www/a", 0755);
    mkdir("www/a/b", 0755);
    mkdir("www/empty", 0755);
    write_file("www/x.txt", "12345");
    write_file("www/a/y.txt", "123");
    write_file("www/a/b/z.txt", "");
    struct origin *o = load(SITE, "");
    ck_assert_uint_eq(origin_n_entries(o), none + 3);
    ck_assert_uint_eq(origin_n_bytes(o), 8);
    ck_assert_str_eq(origin_name(o), "o");
    origin_destroy(o);
}
END_TEST

START_TEST(hidden_files_are_not)
{
    mkdir("www/.git", 0755);
    write_file("www/.git/config", "secret");
    write_file("www/.htpasswd", "secret");
    write_file("www/seen", "1");
    expect(SITE, 1, 1, 0);
}
END_TEST

START_TEST(links_are_followed_within_the_directory)
{
    mkdir("www/a", 0755);
    write_file("www/a/real", "1234");
    write_file("secret", "secret");
    ck_assert_int_eq(symlink("a/real", "www/same"), 0);
    ck_assert_int_eq(symlink("../a/real", "www/a/round"), 0);
    ck_assert_int_eq(symlink("../secret", "www/out"), 0);
    ck_assert_int_eq(symlink("/etc/passwd", "www/passwd"), 0);
    ck_assert_int_eq(symlink("nowhere", "www/broken"), 0);
    ck_assert_int_eq(symlink(".", "www/loop"), 0);
    ck_assert_int_eq(symlink("loop2", "www/loop2"), 0);
    expect(SITE, 3, 12, 5);
    unlink("secret");
}
END_TEST

START_TEST(what_is_no_file_is_left_out)
{
    ck_assert_int_eq(mkfifo("www/pipe", 0644), 0);
    write_file("www/file", "1");
    expect(SITE, 1, 1, 1);
}
END_TEST

START_TEST(responses_come_before_files)
{
    write_file("www/health", "of the directory");
    write_file("www/other", "12");
    expect(SITE "responses:\n"
                "- {origin: o, path: /health, body: fine}\n"
                "- {origin: o, path: /teapot, status: 418}\n"
                "- {origin: o, path: /copy, file: www/other}\n",
           4, 4 + 2 + 2, 0);
    expect("origins: [{name: o}]\nresponses: [{origin: o, path: /x, body: y}]\n", 1, 1, 0);
}
END_TEST

START_TEST(what_is_written_in_a_response_is_text)
{
    static const char *const is[][2] = {{"/a", "text/plain; charset=utf-8"},
                                        {"/b.html", "text/html; charset=utf-8"},
                                        {"/c", "image/x"},
                                        {"/d", "application/octet-stream"}};
    write_file("www/other", "12");
    struct origin *o = load("origins: [{name: o}]\nresponses:\n"
                            "- {origin: o, path: /a, body: x}\n"
                            "- {origin: o, path: /b.html, body: x}\n"
                            "- {origin: o, path: /c, body: x, type: image/x}\n"
                            "- {origin: o, path: /d, file: www/other}\n",
                            "");
    ck_assert_ptr_nonnull(o);
    for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
        const struct origin_item *item =
            origin_find(o, (struct http_text){is[i][0], (uint32_t)strlen(is[i][0])});
        ck_assert_ptr_nonnull(item);
        const struct http_field *type = &item->field[item->n_fields - 1];
        ck_assert_mem_eq(type->name.p, "content-type", type->name.n);
        ck_assert_uint_eq(type->value.n, strlen(is[i][1]));
        ck_assert_mem_eq(type->value.p, is[i][1], type->value.n);
    }
    origin_destroy(o);
}
END_TEST

START_TEST(what_cannot_be_had_is_named)
{
    ck_assert_ptr_null(load("origins: [{name: o, directory: nowhere}]\n",
                            "f:1: origins[0].directory: nowhere: No such file or directory\n"));
    ck_assert_ptr_null(load("origins: [{name: o, directory: f}]\n",
                            "f:1: origins[0].directory: f: Not a directory\n"));
    ck_assert_ptr_null(
        load(SITE "responses:\n- {origin: o, path: /a, file: nowhere}\n",
             "f:3: responses[0].file: nowhere: cannot open: No such file or directory\n"));
    ck_assert_ptr_null(load(SITE "responses:\n- {origin: o, path: /a/../b}\n",
                            "f:3: responses[0].path: /a/../b: is not a path that can be asked "
                            "for\n"));
    ck_assert_ptr_null(load(SITE "responses:\n- {origin: o, path: /a, status: 204, body: x}\n",
                            "f:3: responses[0].path: /a: an answer with that status has no "
                            "content\n"));
}
END_TEST

START_TEST(bounds_hold)
{
    write_file("www/a", "12345");
    write_file("www/b", "12345");
    expect("origins: [{name: o, directory: www, max-bytes: 10}]\n", 2, 10, 0);
    ck_assert_ptr_null(load("origins: [{name: o, directory: www, max-bytes: 9}]\n",
                            "f:1: origins[0].directory: www/b: more content than max-bytes "
                            "allows; raise it\n"));
    ck_assert_ptr_null(load("origins: [{name: o, directory: www, max-entries: 1}]\n",
                            "f:1: origins[0].directory: /b: more paths than max-entries allows; "
                            "raise it\n"));
    char path[256] = "www";
    for (int i = 0; i <= SITE_DEPTH_MAX; i++) {
        strcat(path, "/d");
        ck_assert_int_eq(mkdir(path, 0755), 0);
    }
    char *errors = NULL;
    struct origin *o = NULL;
    size_t size;
    FILE *out = open_memstream(&errors, &size);
    struct config *c = document_valid(SITE);
    struct config_faults f = {.file = "f", .tree = c->tree};
    o = site_load(c, 0, &heap.mem, &left_out, &f);
    config_faults_flush(&f, out);
    fclose(out);
    ck_assert_ptr_null(o);
    ck_assert_ptr_nonnull(strstr(errors, "too many directories in each other"));
    free(errors);
    config_free(c);
}
END_TEST

UNIT_MAIN("site", setup, teardown, files_of_all_directories_are_served, hidden_files_are_not,
          links_are_followed_within_the_directory, what_is_no_file_is_left_out,
          responses_come_before_files, what_is_written_in_a_response_is_text,
          what_cannot_be_had_is_named, bounds_hold)
