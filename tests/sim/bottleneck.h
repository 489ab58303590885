/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_BOTTLENECK_H
#define MILLRACE_SIM_BOTTLENECK_H

/* A slow line with a queue before it, in each direction one; what does not fit in the queue is
 * lost. */

#include "sim/node.h"

struct bottleneck {
    struct node node;
    uint64_t rate;     /* bits a second */
    uint64_t depth;    /* bytes that may wait, that on the line included */
    tick_t idle_at[2]; /* when the line from that side has sent all */
    uint64_t lost[2];
};

struct bottleneck *bottleneck_create(struct sim *s, uint64_t rate, uint64_t depth);

#endif
