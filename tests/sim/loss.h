/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_LOSS_H
#define MILLRACE_SIM_LOSS_H

/* Loses frames, at random or by a pattern. */

#include "sim/node.h"

struct loss {
    struct node node;
    uint32_t millionths; /* may be changed at any time */
    bool spared[2];      /* from that side all pass */
    uint64_t pattern;    /* bit i: the i-th frame of each `period`, in each direction, is lost */
    unsigned period;     /* 1..64; 0: no pattern */
    uint64_t passed[2];  /* from that side */
    uint64_t lost[2];
};

struct loss *loss_create(struct sim *s, uint32_t millionths);
struct loss *loss_pattern_create(struct sim *s, uint64_t pattern, unsigned period);

#endif
