/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/origin_path.h"

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The byte that the escape at p[0..n) stands for; -1: it is none, or of a slash. */
static int unescape(const char *p, uint32_t n)
{
    if (n < 3)
        return -1;
    int high = hex(p[1]);
    int low = hex(p[2]);
    if (high < 0 || low < 0)
        return -1;
    int c = high << 4 | low;
    return c == '/' ? -1 : c;
}

static bool refused(int c)
{
    return c < 0x20 || c == 0x7f || c == '\\';
}

/* Is the segment of these n bytes "." or ".."? */
static bool is_dots(const char *p, uint32_t n)
{
    return n > 0 && n <= 2 && p[0] == '.' && p[n - 1] == '.';
}

/* No dot segments in a path that begins with a slash. */
static bool is_straight(const char *p, uint32_t n)
{
    uint32_t from = 1;
    for (uint32_t i = 1; i < n; i++) {
        if (p[i] != '/')
            continue;
        if (is_dots(p + from, i - from))
            return false;
        from = i + 1;
    }
    return !is_dots(p + from, n - from);
}

int origin_path_decode(char *out, struct http_text path)
{
    if (path.n == 0 || path.n > ORIGIN_PATH_MAX || path.p[0] != '/')
        return -1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < path.n; i++) {
        int c = (unsigned char)path.p[i];
        if (c == '#')
            return -1;
        if (c == '%') {
            c = unescape(path.p + i, path.n - i);
            i += 2;
        }
        if (refused(c))
            return -1;
        out[n++] = (char)c;
    }
    return is_straight(out, n) ? (int)n : -1;
}

bool origin_path_ok(struct http_text path)
{
    if (path.n == 0 || path.n > ORIGIN_PATH_MAX || path.p[0] != '/')
        return false;
    for (uint32_t i = 0; i < path.n; i++) {
        if (refused((unsigned char)path.p[i]))
            return false;
        if (i > 0 && path.p[i] == '/' && path.p[i - 1] == '/')
            return false;
    }
    return is_straight(path.p, path.n);
}

bool origin_path_plain(struct http_text path)
{
    for (uint32_t i = 0; i < path.n; i++)
        if (path.p[i] == '%' || path.p[i] == '?' || path.p[i] == '#')
            return false;
    return true;
}
