/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_APP_DOCUMENT_H
#define MILLRACE_TESTS_APP_DOCUMENT_H

/* Configurations written down in a test, loaded from a file "f" in a directory of the test's own.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/config.h"
#include "support/unit.h"

static char document_directory[] = "/tmp/millrace-config-XXXXXX";

static inline void document_setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(document_directory));
    ck_assert_int_eq(chdir(document_directory), 0);
}

static inline void document_teardown(void)
{
    unlink("f");
    ck_assert_int_eq(rmdir(document_directory), 0);
}

/* NULL where it is not valid; *errors, to be freed, is what was printed. */
static inline struct config *document_load_bytes(const void *bytes, size_t n, char **errors)
{
    size_t size;
    FILE *f = fopen("f", "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
    FILE *out = open_memstream(errors, &size);
    struct config *c = config_load("f", out);
    fclose(out);
    return c;
}

static inline struct config *document_valid(const char *text)
{
    char *errors;
    struct config *c = document_load_bytes(text, strlen(text), &errors);
    ck_assert_str_eq(errors, "");
    ck_assert_ptr_nonnull(c);
    free(errors);
    return c;
}

static inline void document_refused(const char *text, const char *expected)
{
    char *errors;
    struct config *c = document_load_bytes(text, strlen(text), &errors);
    ck_assert_str_eq(errors, expected);
    ck_assert_ptr_null(c);
    free(errors);
}

struct refusal {
    const char *text;
    const char *expected;
};

static inline void refuse_each(const struct refusal *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        document_refused(r[i].text, r[i].expected);
}

#define REFUSE_EACH(array) refuse_each(array, sizeof(array) / sizeof((array)[0]))

#endif
