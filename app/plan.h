/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_PLAN_H
#define MILLRACE_APP_PLAN_H

/*
 * How much memory a configuration takes, known before DPDK is there: the start asks for it, --check
 * and the doctor say whether it can be had.
 */

#include <stdint.h>

#include "app/config.h"

#define PLAN_ROOM     2048u               /* DPDK's usual bytes of data in a packet */
#define PLAN_ROOM_MAX (UINT16_MAX - 128u) /* the most, without DPDK's headroom */

#define PLAN_PAIR_PACKETS 1024u /* on a ring between two workers; a power of two */

/* Packets in a pool. */
uint32_t plan_packets(const struct config *c);

/*
 * Bytes, as PKT_COST counts them, that the connections of one worker may hold: limits.tcp-memory,
 * or what the pool has beside all that it is otherwise for. So TCP at its bound leaves enough to
 * receive with.
 */
uint64_t plan_tcp_memory(const struct config *c);
/* The same whatever limits.tcp-memory says. */
uint64_t plan_tcp_memory_most(const struct config *c);

/* Bytes of a pool of n packets of `room` bytes, and as many views. Rather too many. */
uint64_t plan_pool_bytes(uint32_t n, uint32_t room);

/* What DPDK is to have: memory.megabytes, or what devices and workers want. */
uint32_t plan_megabytes(const struct config *c);
/* The same whatever memory.megabytes says. */
uint32_t plan_megabytes_wanted(const struct config *c);
/* With less than this there is no room for the packets alone. */
uint32_t plan_megabytes_least(const struct config *c);

/* What to type for hugepages enough, of which `used` (of 2 MiB) are others'. Returns dst. */
#define PLAN_FIX_MAX 128
char *plan_hugepages_fix(const struct config *c, uint64_t used, char dst[static PLAN_FIX_MAX]);

#endif
