/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_TABLE_H
#define MILLRACE_APP_TABLE_H

/*
 * Text for people: columns as wide as their widest cell, numbers to the right, and figures short
 * enough to read.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 12
#define TABLE_CELL        32 /* bytes of a short figure with its NUL */

struct table;

/* `NAME` is aligned to the left, `>NAME` to the right; columns are parted by one space. NULL: no
 * memory. */
struct table *table_new(const char *columns);
/* One cell more, row by row. Control characters are printed as '?'. No effect on NULL. */
void table_cell(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t table_rows(const struct table *t);
/*
 * Prints, unless out is NULL, and frees. In `room` columns (0: any number), text in the last column
 * goes on in more lines; where that column holds figures, a long cell of the first column has a
 * line of its own.
 */
void table_print(struct table *t, FILE *out, int room);

/* "999", "12.3k", "4.5M": at most five characters */
const char *table_count(char cell[TABLE_CELL], double n);
/* "512 B", "1.5 KiB" */
const char *table_bytes(char cell[TABLE_CELL], double n);
/* "850ms", "12s", "3m20s", "5h12m", "3d4h" */
const char *table_seconds(char cell[TABLE_CELL], double s);

#endif
