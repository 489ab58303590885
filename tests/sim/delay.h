/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_DELAY_H
#define MILLRACE_SIM_DELAY_H

/* A long wire: frames arrive later, in order, by `delay` and up to `jitter` more. */

#include "sim/node.h"

struct node *delay_create(struct sim *s, tick_t delay, tick_t jitter);

#endif
