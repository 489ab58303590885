/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STACK_PMTU_H
#define MILLRACE_STACK_PMTU_H

/*
 * What "packet too big" messages told of the paths to other hosts: path MTU by destination, for
 * both families (RFC 8201, RFC 1191). The caller has checked that a message quotes a packet of
 * ours.
 *
 * Entries end after their lifetime, seen when they are next looked at: no timer. The number is
 * bounded; the least recently used makes room.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/siphash.h"
#include "base/tick.h"
#include "ctl/request.h"
#include "wire/addr.h"

#define PMTU_FLOOR6     1280u            /* RFC 8201 4 */
#define PMTU_FLOOR4     552u             /* only an attacker asks for less */
#define PMTU_FLOOR4_MIN 68u              /* RFC 1191 3 */
#define PMTU_LIFETIME   (600 * TICK_SEC) /* RFC 8201 5.3, RFC 1191 6.3 */

struct pmtu;

struct pmtu_args {
    struct mem *mem;
    struct siphash_key key; /* secret */
    uint32_t max;           /* entries, > 0 */
    uint16_t floor4;        /* the least an IPv4 path is taken to carry; 0: PMTU_FLOOR4 */
    tick_t lifetime;        /* 0: PMTU_LIFETIME */
};

/* All memory is taken here. NULL: there is not enough. */
struct pmtu *pmtu_create(const struct pmtu_args *args);
void pmtu_destroy(struct pmtu *p);

/* Bytes of the largest IP packet for addr on an interface of iface_mtu; never more than that. */
uint16_t pmtu_get(struct pmtu *p, const struct ip_addr *addr, uint16_t iface_mtu, tick_t now);

/*
 * A message says that the path to addr takes no more than mtu bytes. True where that is less than
 * what was known. It never raises, and a repeated one does not prolong. An IPv6 path below
 * PMTU_FLOOR6 is not believed; an IPv4 path below its floor counts as the floor.
 */
bool pmtu_lower(struct pmtu *p, const struct ip_addr *addr, uint16_t mtu, tick_t now);

/* Fills up to max rows from *cursor on, moving it, and sets *n; true where there are more. Entries
 * may come and go between two pages. */
bool pmtu_list(const struct pmtu *p, struct ctl_path *rows, uint32_t max, uint64_t *cursor,
               uint32_t *n, tick_t now);

/* Entries held, those included that have ended unseen. */
uint32_t pmtu_count(const struct pmtu *p);

#endif
