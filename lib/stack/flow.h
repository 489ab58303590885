/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STACK_FLOW_H
#define MILLRACE_STACK_FLOW_H

/*
 * From a packet's addresses, ports and protocol to what it belongs to. A struct flow is embedded in
 * a connection, a socket or a path of an association, and the table points at it: the key is
 * compared where the connection lies, in memory that its packet is about to need anyway. One lookup
 * is one cache line of the table and the flow itself.
 *
 * Open addressing, hashed by SipHash-1-3 under a secret key, so that nobody outside can make flows
 * collide. The table is a directory of small segments, and grows and shrinks by splitting and
 * joining single segments (extendible hashing: Fagin, Nievergelt, Pippenger and Strong, 1979): no
 * call moves more than the flows of one segment.
 */

#include <stdint.h>

#include "base/mem.h"
#include "base/siphash.h"
#include "wire/flow_key.h"

/* Neither moves nor changes while it is in a table. Best placed at the start of a cache line. */
struct flow {
    struct flow_key key;
    uint64_t hash; /* the table's, valid from flow_insert on */
    uint8_t kind;  /* its owner's, to tell what the flow is embedded in */
};

enum flow_error {
    FLOW_E_EXISTS = -1, /* a flow with this key is there already */
    FLOW_E_FULL = -2,
    FLOW_E_MEMORY = -3,
};

#define FLOW_MAX (UINT32_C(1) << 28)

struct flow_table;

/* At most max flows (1 .. FLOW_MAX). secret comes from the system's random source. NULL: no memory.
 */
struct flow_table *flow_table_create(struct mem *mem, const struct siphash_key *secret,
                                     uint32_t max);
/* Flows still in it are forgotten; until then their memory has to be there. */
void flow_table_destroy(struct flow_table *t);

/* f->key is set by the caller. 0, or an error, and then nothing has changed. */
int flow_insert(struct flow_table *t, struct flow *f);

/* f must be in the table. */
void flow_remove(struct flow_table *t, struct flow *f);

/* NULL: no such flow. */
struct flow *flow_find(const struct flow_table *t, const struct flow_key *key);

/* found[i] is flow_find of key[i]. The memory of many lookups is fetched at once. */
void flow_find_burst(const struct flow_table *t, const struct flow_key *key, unsigned n,
                     struct flow **found);

uint32_t flow_count(const struct flow_table *t);

/*
 * The next flow of a listing that starts with *cursor = 0, or NULL at its end. Flows may come and
 * go between two calls: one that is there all the time is listed exactly once (but for a chance of
 * 2^-63 that two flows hash alike), one that comes or goes at most once.
 */
struct flow *flow_next(const struct flow_table *t, uint64_t *cursor);

#endif
