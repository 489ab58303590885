/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/origin_range.h"

#include <stdbool.h>

struct rest {
    const char *p;
    const char *end;
};

static bool take(struct rest *r, char c)
{
    if (r->p == r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

/* OWS (RFC 9110 5.6.3). */
static void skip_space(struct rest *r)
{
    while (take(r, ' ') || take(r, '\t'))
        ;
}

/* Digits, of which there may be any number: beyond 64 bits, the largest one. */
static bool number(struct rest *r, uint64_t *v)
{
    const char *from = r->p;
    *v = 0;
    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++) {
        unsigned digit = (unsigned)(*r->p - '0');
        *v = *v > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *v * 10 + digit;
    }
    return r->p > from;
}

/* Range unit names are case-insensitive (RFC 9110 14.1). */
static bool unit(struct rest *r)
{
    static const char name[] = "bytes";
    for (unsigned i = 0; i < sizeof(name) - 1; i++)
        if (!take(r, name[i]) && !take(r, (char)(name[i] - 'a' + 'A')))
            return false;
    return take(r, '=');
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* One range-spec, as [*first, *end) of the content, which is empty where it is not there. False:
 * malformed. */
static bool spec(struct rest *r, uint32_t length, uint64_t *first, uint64_t *end)
{
    uint64_t n;
    *end = length;
    if (take(r, '-')) {
        if (!number(r, &n))
            return false;
        *first = length - min_u64(n, length);
        return true;
    }
    if (!number(r, first) || !take(r, '-'))
        return false;
    if (number(r, &n)) {
        if (n < *first)
            return false;
        *end = n < length ? n + 1 : length;
    }
    return true;
}

/* The specs of a set, which may be separated by more commas than needed (RFC 9110 5.6.1.2). *n: of
 * those that are there, the last of which is *range. False: malformed. */
static bool set(struct rest *r, uint32_t length, struct origin_range *range, uint32_t *n)
{
    bool any = false;
    for (;;) {
        skip_space(r);
        if (take(r, ','))
            continue;
        if (r->p == r->end)
            return any;
        uint64_t first;
        uint64_t end;
        if (!spec(r, length, &first, &end))
            return false;
        any = true;
        if (first < end) {
            *range = (struct origin_range){(uint32_t)first, (uint32_t)(end - first)};
            ++*n;
        }
        skip_space(r);
        if (r->p != r->end && *r->p != ',')
            return false;
    }
}

enum origin_range_result origin_range_parse(struct http_text value, uint32_t length,
                                            struct origin_range *range)
{
    if (value.n == 0 || length == 0) /* a suffix of nothing is all of it, and has no numbers */
        return ORIGIN_RANGE_WHOLE;
    struct rest r = {value.p, value.p + value.n};
    struct origin_range found;
    uint32_t n = 0;
    if (!unit(&r) || !set(&r, length, &found, &n) || n > 1)
        return ORIGIN_RANGE_WHOLE;
    if (n == 0)
        return ORIGIN_RANGE_NONE;
    *range = found;
    return ORIGIN_RANGE_PART;
}
