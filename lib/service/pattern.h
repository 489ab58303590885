/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SERVICE_PATTERN_H
#define MILLRACE_SERVICE_PATTERN_H

/* A pattern that repeats each SERVICE_SOURCE_PERIOD bytes, as promises of it: any amount of it
 * waits without memory. */

#include <stdint.h>

#include "buf/vec.h"
#include "service/service.h"

/* len bytes of it (> 0) from that place on (< SERVICE_SOURCE_PERIOD). */
struct vec pattern_vec(uint32_t place, uint32_t len);

#endif
