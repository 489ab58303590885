/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void say_larger(size_t max, char why[static FILE_WHY_MAX])
{
    if (max % 1024)
        snprintf(why, FILE_WHY_MAX, "larger than %zu bytes", max);
    else
        snprintf(why, FILE_WHY_MAX, "larger than %zu KiB", max / 1024);
}

/* What may be of any length: st_size is no more than a guess, of files that grow and of pipes. */
static bool read_all(int fd, size_t guess, size_t max, struct file *f,
                     char why[static FILE_WHY_MAX])
{
    size_t room = (guess < max ? guess : max) + 2; /* a byte to see the end with, and the NUL */
    for (;;) {
        char *more = realloc(f->bytes, room);
        if (!more) {
            snprintf(why, FILE_WHY_MAX, "out of memory");
            return false;
        }
        f->bytes = more;
        ssize_t n = read(fd, f->bytes + f->n, room - 1 - f->n);
        if (n < 0) {
            snprintf(why, FILE_WHY_MAX, "cannot read: %s", strerror(errno));
            return false;
        }
        f->n += (size_t)n;
        if (f->n > max) {
            say_larger(max, why);
            return false;
        }
        if (n == 0)
            break;
        if (f->n == room - 1)
            room = (room < max / 2 ? 2 * room : max) + 2;
    }
    f->bytes[f->n] = 0;
    return true;
}

bool file_load_fd(int fd, size_t max, struct file *f, char why[static FILE_WHY_MAX])
{
    struct stat st;
    *f = (struct file){0};
    bool good = false;
    if (fstat(fd, &st) < 0) {
        snprintf(why, FILE_WHY_MAX, "cannot read: %s", strerror(errno));
    } else if (st.st_size > 0 && (uintmax_t)st.st_size > max) {
        say_larger(max, why);
    } else {
        f->modified = st.st_mtime > 0 ? (uint64_t)st.st_mtime : 0;
        good = read_all(fd, (size_t)st.st_size, max, f, why);
    }
    close(fd);
    if (!good)
        file_free(f);
    return good;
}

bool file_load(const char *path, size_t max, struct file *f, char why[static FILE_WHY_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *f = (struct file){0};
    if (fd >= 0)
        return file_load_fd(fd, max, f, why);
    snprintf(why, FILE_WHY_MAX, "cannot open: %s", strerror(errno));
    return false;
}

void file_free(struct file *f)
{
    if (f->bytes)
        explicit_bzero(f->bytes, f->n);
    free(f->bytes);
    *f = (struct file){0};
}
