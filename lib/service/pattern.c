/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/pattern.h"

#include <assert.h>
#include <string.h>

#define PERIOD SERVICE_SOURCE_PERIOD
_Static_assert(PERIOD <= UINT8_MAX, "a byte tells the place");

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

#define TEN(n)     (n), (n) + 1, (n) + 2, (n) + 3, (n) + 4, (n) + 5, (n) + 6, (n) + 7, (n) + 8, (n) + 9
#define FIFTY(n)   TEN(n), TEN((n) + 10), TEN((n) + 20), TEN((n) + 30), TEN((n) + 40)
#define ONE_PERIOD FIFTY(0), FIFTY(50), FIFTY(100), FIFTY(150), FIFTY(200), 250

/* A segment's worth from any place on, so that most are one copy. */
#define PERIODS 8u
static const uint8_t pattern_bytes[PERIODS * PERIOD] = {
    ONE_PERIOD, ONE_PERIOD, ONE_PERIOD, ONE_PERIOD, ONE_PERIOD, ONE_PERIOD, ONE_PERIOD, ONE_PERIOD};

static void pattern_flatten(const struct vec *v, uint32_t offset, uint8_t *dst, uint32_t len)
{
    uint32_t place = (v->arg + offset % PERIOD) % PERIOD;
    for (uint32_t n; len > 0; dst += n, len -= n, place = 0) {
        n = min_u32(len, PERIODS * PERIOD - place); /* ends with a period */
        memcpy(dst, pattern_bytes + place, n);
    }
}

struct vec pattern_vec(uint32_t place, uint32_t len)
{
    static const struct vec_ops ops = {.flatten = pattern_flatten};
    assert(place < PERIOD && "a place in the pattern, not a position");
    return (struct vec){.ops = &ops, .len = len, .arg = place};
}
