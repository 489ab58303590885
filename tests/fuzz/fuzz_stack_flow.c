/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flow table against an array of booleans: what is in, what is found alone and in bursts, that
 * a listing shows each flow that stays once and no flow twice, and that running out of memory
 * changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "stack/flow.h"
#include "support/heap.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define FLOWS 2048u
#define BOUND 1900u

struct world {
    struct heap heap;
    struct flow_table *table;
    struct flow flow[FLOWS];
    bool in[FLOWS];
    uint32_t count;
    /* The listing under way. */
    uint64_t cursor;
    bool stayed[FLOWS]; /* in ever since its start */
    bool seen[FLOWS];
};

static struct flow_key key_of(uint32_t n)
{
    struct ip_addr local = {{0x20, 1, 0xd, 0xb8}};
    struct ip_addr remote = {{0x20, 1, 0xd, 0xb8, [15] = 1}};
    if (n & 1) {
        local = ip_from_v4(UINT32_C(0x7f000001));
        remote = ip_from_v4(UINT32_C(0x0a000000) + n / 16);
    }
    return flow_key_of(&local, (uint16_t)(n & 7), &remote, (uint16_t)(n >> 3), 6);
}

static void start_listing(struct world *w)
{
    w->cursor = 0;
    memcpy(w->stayed, w->in, sizeof(w->stayed));
    memset(w->seen, 0, sizeof(w->seen));
}

static void list(struct world *w, uint32_t steps)
{
    while (steps-- > 0) {
        struct flow *f = flow_next(w->table, &w->cursor);
        if (!f) {
            for (uint32_t i = 0; i < FLOWS; i++)
                require(!w->stayed[i] || w->seen[i]);
            start_listing(w);
            return;
        }
        size_t i = (size_t)(f - w->flow);
        require(w->in[i] && !w->seen[i]);
        w->seen[i] = true;
    }
}

static void insert(struct world *w, uint32_t i)
{
    int error = flow_insert(w->table, &w->flow[i]);
    if (w->in[i]) {
        require(error == FLOW_E_EXISTS);
    } else if (w->count == BOUND) {
        require(error == FLOW_E_FULL);
    } else if (error == 0) {
        w->in[i] = true;
        w->count++;
    } else {
        require(error == FLOW_E_MEMORY && w->heap.limit != SIZE_MAX);
    }
}

static void take(struct world *w, uint32_t i)
{
    if (!w->in[i])
        return;
    flow_remove(w->table, &w->flow[i]);
    w->in[i] = false;
    w->stayed[i] = false;
    w->count--;
}

static void find(struct world *w, uint32_t from, uint32_t n)
{
    static struct flow_key keys[256];
    struct flow *found[256];
    for (uint32_t k = 0; k < n; k++)
        keys[k] = key_of((from + k * 7) % FLOWS);
    flow_find_burst(w->table, keys, n, found);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = (from + k * 7) % FLOWS;
        require(found[k] == (w->in[i] ? &w->flow[i] : NULL));
        require(flow_find(w->table, &keys[k]) == found[k]);
    }
}

/* One step: an operation, where it starts, how often. */
static void step(struct world *w, const uint8_t *b)
{
    uint32_t from = (uint32_t)(b[1] << 8 | b[0]) % FLOWS;
    uint32_t n = b[2];
    switch (b[1] >> 5) {
    case 0:
    case 1:
    case 2:
        for (uint32_t k = 0; k <= 4 * n; k++)
            insert(w, (from + k) % FLOWS);
        break;
    case 3:
    case 4:
        for (uint32_t k = 0; k <= 4 * n; k++)
            take(w, (from + k) % FLOWS);
        break;
    case 5: find(w, from, n); break;
    case 6: list(w, n); break;
    default: w->heap.limit = n & 1 ? SIZE_MAX : w->heap.bytes + 32u * n; break;
    }
    require(flow_count(w->table) == w->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world w;
    memset(&w, 0, sizeof(w));
    heap_init(&w.heap);
    const struct siphash_key secret = {size ? data[0] : 0, 1};
    w.table = flow_table_create(&w.heap.mem, &secret, BOUND);
    for (uint32_t i = 0; i < FLOWS; i++)
        w.flow[i].key = key_of(i);
    for (size_t i = 0; i + 3 <= size && i < 900; i += 3)
        step(&w, data + i);
    find(&w, 0, 255);
    flow_table_destroy(w.table);
    require(w.heap.blocks == 0);
    return 0;
}
