/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/file.h"

#include "document.h"

static void write_file(const char *name, size_t n)
{
    FILE *out = fopen(name, "w");
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < n; i++)
        fputc('a' + (int)(i % 26), out);
    fclose(out);
}

START_TEST(a_file_is_read_whole)
{
    static const size_t lengths[] = {0, 1, 4095, 4096, 100000};
    struct file f;
    char why[FILE_WHY_MAX];
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        write_file("f", lengths[i]);
        ck_assert_msg(file_load("f", 100000, &f, why), "%s", why);
        ck_assert_uint_eq(f.n, lengths[i]);
        ck_assert_uint_eq(strlen(f.bytes), lengths[i]);
        ck_assert_uint_gt(f.modified, 1000000000);
        file_free(&f);
        ck_assert_ptr_null(f.bytes);
        file_free(&f);
    }
}
END_TEST

/* Its length cannot be asked for. */
START_TEST(what_has_no_length_is_read_too)
{
    int fd[2];
    struct file f;
    char why[FILE_WHY_MAX];
    char sent[5000];
    memset(sent, 'x', sizeof(sent));
    for (size_t max = 4999; max <= 5001; max++) {
        ck_assert_int_eq(pipe(fd), 0);
        ck_assert_int_eq(write(fd[1], sent, sizeof(sent)), sizeof(sent));
        close(fd[1]);
        ck_assert_int_eq(file_load_fd(fd[0], max, &f, why), max >= 5000);
        ck_assert_uint_eq(f.n, max >= 5000 ? 5000 : 0);
        file_free(&f);
    }
}
END_TEST

START_TEST(says_why_it_cannot)
{
    struct file f;
    char why[FILE_WHY_MAX];
    write_file("f", 2000);
    ck_assert(!file_load("f", 1999, &f, why));
    ck_assert_str_eq(why, "larger than 1999 bytes");
    ck_assert(!file_load("f", 1024, &f, why));
    ck_assert_str_eq(why, "larger than 1 KiB");
    ck_assert(!file_load("missing", 1, &f, why));
    ck_assert_str_eq(why, "cannot open: No such file or directory");
    ck_assert(!file_load(".", 100000, &f, why));
    ck_assert_str_eq(why, "cannot read: Is a directory");
}
END_TEST

UNIT_MAIN("file", document_setup, document_teardown, a_file_is_read_whole,
          what_has_no_length_is_read_too, says_why_it_cannot)
