/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_LIMIT_H
#define MILLRACE_BASE_LIMIT_H

/*
 * A token bucket: so many events a second on average, so many at once. Exact over any time: what is
 * less than a token is kept.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

struct limit {
    uint64_t credit; /* in 1 / TICK_SEC of a token, up to burst tokens */
    tick_t counted;  /* credit is that of this time */
    uint32_t rate;
    uint32_t burst;
};

/* rate: tokens a second, 0: none after the first burst. burst: 0: nothing ever passes. Starts full.
 */
void limit_init(struct limit *l, uint32_t rate, uint32_t burst, tick_t now);

/* New numbers; tokens already earned stay, as far as the new burst holds them. */
void limit_change(struct limit *l, uint32_t rate, uint32_t burst, tick_t now);

/* Takes a token. False: there is none. A now before an earlier one counts as that one. */
bool limit_take(struct limit *l, tick_t now);
/* Takes n tokens, or, where there are fewer, none of them: false. */
bool limit_take_n(struct limit *l, uint32_t n, tick_t now);
/* Whole tokens that were there at the last look. */
uint32_t limit_left(const struct limit *l);

#endif
