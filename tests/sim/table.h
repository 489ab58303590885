/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_TABLE_H
#define MILLRACE_SIM_TABLE_H

/* The text of a golden table, put together bit by bit. */

#include <stddef.h>

#define TABLE_MAX 16384

struct table {
    char text[TABLE_MAX];
    size_t len;
};

void table_print(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
