/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_BE_H
#define MILLRACE_WIRE_BE_H

/* Numbers in network order at any alignment. The caller has checked the bounds. */

#include <stdint.h>

static inline uint16_t be16_get(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t be32_get(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline void be16_put(uint8_t *at, uint16_t v)
{
    at[0] = (uint8_t)(v >> 8);
    at[1] = (uint8_t)v;
}

static inline void be32_put(uint8_t *at, uint32_t v)
{
    be16_put(at, (uint16_t)(v >> 16));
    be16_put(at + 2, (uint16_t)v);
}

#endif
