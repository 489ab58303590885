/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_SERIAL_H
#define MILLRACE_BASE_SERIAL_H

/*
 * Numbers that wrap: sequence numbers, TSNs (32 bits), stream sequence numbers (16 bits). Each is a
 * struct of one member, so that a bare < or == does not compile. Order is that of RFC 1982: a is
 * before b where b lies less than half the number space ahead of a. Of two numbers exactly half the
 * space apart neither is before the other, so callers keep what they compare closer together than
 * that (windows do).
 */

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t v;
} seq32_t;

typedef struct {
    uint16_t v;
} seq16_t;

static inline seq32_t seq32(uint32_t v)
{
    return (seq32_t){v};
}

static inline bool seq32_eq(seq32_t a, seq32_t b)
{
    return a.v == b.v;
}

static inline bool seq32_lt(seq32_t a, seq32_t b)
{
    uint32_t ahead = b.v - a.v;
    return ahead - 1 < UINT32_C(0x7fffffff); /* RFC 1982 3.2: 0 < ahead < 2^31 */
}

static inline bool seq32_le(seq32_t a, seq32_t b)
{
    return b.v - a.v < UINT32_C(0x80000000);
}

static inline bool seq32_gt(seq32_t a, seq32_t b)
{
    return seq32_lt(b, a);
}

static inline bool seq32_ge(seq32_t a, seq32_t b)
{
    return seq32_le(b, a);
}

/* n steps on. RFC 1982 3.1: the sum is after a only for n < 2^31. */
static inline seq32_t seq32_add(seq32_t a, uint32_t n)
{
    return seq32(a.v + n);
}

/* n steps back. */
static inline seq32_t seq32_sub(seq32_t a, uint32_t n)
{
    return seq32(a.v - n);
}

/* Steps from b to a: negative where a is before b, INT32_MIN where they are half the space apart.
 */
static inline int32_t seq32_diff(seq32_t a, seq32_t b)
{
    return (int32_t)(a.v - b.v);
}

/* b where a is before it, else a. */
static inline seq32_t seq32_max(seq32_t a, seq32_t b)
{
    return seq32_lt(a, b) ? b : a;
}

static inline seq32_t seq32_min(seq32_t a, seq32_t b)
{
    return seq32_lt(b, a) ? b : a;
}

/* Is s among the numbers from first up to, not including, end? Any span short of the whole space;
 * none where first is end. */
static inline bool seq32_between(seq32_t s, seq32_t first, seq32_t end)
{
    return s.v - first.v < end.v - first.v;
}

static inline seq16_t seq16(uint16_t v)
{
    return (seq16_t){v};
}

static inline bool seq16_eq(seq16_t a, seq16_t b)
{
    return a.v == b.v;
}

static inline bool seq16_lt(seq16_t a, seq16_t b)
{
    uint16_t ahead = (uint16_t)(b.v - a.v);
    return ahead > 0 && ahead < 0x8000; /* RFC 1982 3.2 */
}

static inline bool seq16_le(seq16_t a, seq16_t b)
{
    return (uint16_t)(b.v - a.v) < 0x8000;
}

static inline bool seq16_gt(seq16_t a, seq16_t b)
{
    return seq16_lt(b, a);
}

static inline bool seq16_ge(seq16_t a, seq16_t b)
{
    return seq16_le(b, a);
}

static inline seq16_t seq16_add(seq16_t a, uint16_t n)
{
    return seq16((uint16_t)(a.v + n));
}

static inline seq16_t seq16_sub(seq16_t a, uint16_t n)
{
    return seq16((uint16_t)(a.v - n));
}

/* As seq32_diff; INT16_MIN where they are half the space apart. */
static inline int16_t seq16_diff(seq16_t a, seq16_t b)
{
    return (int16_t)(uint16_t)(a.v - b.v);
}

static inline seq16_t seq16_max(seq16_t a, seq16_t b)
{
    return seq16_lt(a, b) ? b : a;
}

static inline seq16_t seq16_min(seq16_t a, seq16_t b)
{
    return seq16_lt(b, a) ? b : a;
}

static inline bool seq16_between(seq16_t s, seq16_t first, seq16_t end)
{
    return (uint16_t)(s.v - first.v) < (uint16_t)(end.v - first.v);
}

#endif
