/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_CC_CUBIC_H
#define MILLRACE_TCP_CC_CUBIC_H

/* CUBIC's arithmetic (RFC 9438 4.1 and 4.2), in whole numbers. */

#include <stdint.h>

/* The largest number whose cube is no more than n. */
uint32_t tcp_cube_root(uint64_t n);

/* Bytes by which the window is above (or below) w_max, `us` microseconds after (or before) it is
 * there: C * t^3 segments of mss bytes. Saturates beyond 2^32. */
uint64_t tcp_cubic_rise(uint32_t mss, uint64_t us);

/* The inverse: microseconds until the window has risen by so many bytes. */
uint32_t tcp_cubic_time(uint32_t mss, uint32_t bytes);

#endif
