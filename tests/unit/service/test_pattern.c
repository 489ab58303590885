/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/pattern.h"
#include "support/unit.h"

START_TEST(any_part_is_what_it_was)
{
    static uint8_t out[6000];
    static const uint32_t place[] = {0, 1, 100, 250};
    static const uint32_t offset[] = {0, 1, 250, 251, 1757, 2007, 2008, 4294000000u};
    for (unsigned i = 0; i < 4; i++) {
        struct vec v = pattern_vec(place[i], UINT32_MAX);
        ck_assert_uint_eq(v.len, UINT32_MAX);
        ck_assert_ptr_null(v.ops->discard);
        for (unsigned k = 0; k < 8; k++) {
            v.ops->flatten(&v, offset[k], out, sizeof(out));
            for (uint32_t n = 0; n < sizeof(out); n++)
                ck_assert_uint_eq(out[n], ((uint64_t)place[i] + offset[k] + n) % 251);
        }
    }
}
END_TEST

UNIT_MAIN("pattern", NULL, NULL, any_part_is_what_it_was)
