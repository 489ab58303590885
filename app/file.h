/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_FILE_H
#define MILLRACE_APP_FILE_H

/* A whole file in memory. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file {
    char *bytes; /* with a NUL behind them; NULL: none was read */
    size_t n;
    uint64_t modified; /* Unix seconds */
};

#define FILE_WHY_MAX 160

/* False, with the reason: it cannot be opened or read, or is larger than max bytes. */
bool file_load(const char *path, size_t max, struct file *f, char why[static FILE_WHY_MAX]);
/* The same of an open file, which is closed in either case. */
bool file_load_fd(int fd, size_t max, struct file *f, char why[static FILE_WHY_MAX]);
/* Wipes, for there are keys among them. Harmless on a zeroed one. */
void file_free(struct file *f);

#endif
