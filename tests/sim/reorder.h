/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_REORDER_H
#define MILLRACE_SIM_REORDER_H

/* Holds some frames back, so that those sent up to `by` later overtake them. */

#include "sim/node.h"

struct reorder {
    struct node node;
    uint32_t millionths;
    tick_t by;
    uint64_t held;
};

struct reorder *reorder_create(struct sim *s, uint32_t millionths, tick_t by);

#endif
