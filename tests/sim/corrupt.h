/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_CORRUPT_H
#define MILLRACE_SIM_CORRUPT_H

/*
 * Sets one bit that was clear in some frames. Only ever sets: what is added to a one's-complement
 * sum by errors in several fragments of one datagram then cannot cancel out, unless there are
 * sixteen of them, and whoever checks sums must find all of them.
 */

#include "sim/node.h"

struct corrupt {
    struct node node;
    uint32_t millionths;
    uint64_t spoilt;
};

struct corrupt *corrupt_create(struct sim *s, uint32_t millionths);

#endif
