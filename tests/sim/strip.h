/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_STRIP_H
#define MILLRACE_SIM_STRIP_H

/* A middlebox that takes options out of TCP segments: no-operations take their place. */

#include "sim/node.h"

enum strip_option {
    STRIP_MSS = 1u << 2, /* by the option's kind */
    STRIP_WSCALE = 1u << 3,
    STRIP_SACK_PERMITTED = 1u << 4,
    STRIP_SACK = 1u << 5,
    STRIP_TIMESTAMPS = 1u << 8,
};

struct strip {
    struct node node;
    uint32_t options;  /* enum strip_option; may be changed at any time */
    bool one_way;      /* only from side 0 */
    uint64_t stripped; /* options */
};

struct strip *strip_create(struct sim *s, uint32_t options);

#endif
