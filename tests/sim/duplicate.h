/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_DUPLICATE_H
#define MILLRACE_SIM_DUPLICATE_H

/* Sends some frames twice, the second `later`. */

#include "sim/node.h"

struct duplicate {
    struct node node;
    uint32_t millionths;
    tick_t later;
    uint64_t doubled;
};

struct duplicate *duplicate_create(struct sim *s, uint32_t millionths, tick_t later);

#endif
