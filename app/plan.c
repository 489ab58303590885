/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/plan.h"

#include <stdio.h>

#include "app/device.h"

#define PACKETS_MIN    512u  /* DPDK wants a pool to be larger than a core's cache of it */
#define WAITING        1024u /* for neighbours of one stack */
#define WORKER_CACHE   1024u /* in the pool's caches of one core, and in its bursts */
#define EAL_MEGABYTES  64u   /* drivers, rings, DPDK's own */
#define PACKET_HEADERS 448u  /* DPDK's of the pool, mbuf, struct pkt, headroom */
#define VIEW_BYTES     320u  /* the same without headroom and data */
#define SPREAD_BYTES   192u  /* by which DPDK spreads both over memory channels; pointers to them */

#define TCP_BYTES (32u << 20) /* for the connections of a worker at least, unless configured */

/* What one stack may hold at its bounds: then there is still something to receive with. */
static uint64_t stack_packets(const struct config *c)
{
    const struct stack_limits *l = &c->limits;
    return WAITING + l->reass_bytes / PLAN_ROOM + (uint64_t)c->n_devices * l->tx_queue;
}

/* Everybody's but TCP's. */
static uint64_t other_packets(const struct config *c)
{
    uint64_t n = c->workers.n * stack_packets(c);
    for (unsigned i = 0; i < c->n_devices; i++) {
        struct device_plan plan = device_plan(&c->device[i], c->workers.n);
        n += (uint64_t)plan.n_dpdk * plan.queues * device_queue_packets(&c->device[i]);
    }
    n += c->workers.n * WORKER_CACHE;
    return n + (uint64_t)c->workers.n * (c->workers.n - 1) * PLAN_PAIR_PACKETS;
}

uint32_t plan_packets(const struct config *c)
{
    if (c->memory.packets)
        return c->memory.packets > PACKETS_MIN ? c->memory.packets : PACKETS_MIN;
    uint64_t tcp = c->limits.tcp_memory ? c->limits.tcp_memory : TCP_BYTES;
    uint64_t n = other_packets(c) + c->workers.n * (tcp / PKT_COST + 1);
    uint32_t power = 1024; /* a pool's ring is a power of two anyway */
    while (power < n && power < (1u << 24))
        power *= 2;
    return power - 1;
}

/* In a pool too small for all at their bounds a quarter is TCP's: they are not all there at once.
 */
uint64_t plan_tcp_memory_most(const struct config *c)
{
    uint64_t all = plan_packets(c);
    uint64_t others = other_packets(c);
    uint64_t left = all > others ? all - others : 0;
    return (left > all / 4 ? left : all / 4) / c->workers.n * PKT_COST;
}

uint64_t plan_tcp_memory(const struct config *c)
{
    return c->limits.tcp_memory ? c->limits.tcp_memory : plan_tcp_memory_most(c);
}

uint64_t plan_pool_bytes(uint32_t n, uint32_t room)
{
    return (uint64_t)n * (PACKET_HEADERS + room + VIEW_BYTES + SPREAD_BYTES);
}

static uint32_t room_of(const struct config *c)
{
    uint32_t room = PLAN_ROOM;
    for (unsigned i = 0; i < c->n_devices; i++)
        if (device_room(&c->device[i]) > room)
            room = device_room(&c->device[i]);
    return room < PLAN_ROOM_MAX ? room : PLAN_ROOM_MAX;
}

uint32_t plan_megabytes_wanted(const struct config *c)
{
    uint64_t bytes = plan_pool_bytes(plan_packets(c), room_of(c));
    return (uint32_t)(bytes >> 20) + EAL_MEGABYTES + 4 * c->n_devices * c->workers.n;
}

uint32_t plan_megabytes(const struct config *c)
{
    return c->memory.megabytes ? c->memory.megabytes : plan_megabytes_wanted(c);
}

/* Of a device that scatters, packets are as small as that. */
uint32_t plan_megabytes_least(const struct config *c)
{
    uint64_t bytes = (uint64_t)plan_packets(c) * (PACKET_HEADERS + PLAN_ROOM + VIEW_BYTES);
    return (uint32_t)(bytes >> 20) + 1;
}

char *plan_hugepages_fix(const struct config *c, uint64_t used, char dst[static PLAN_FIX_MAX])
{
    snprintf(dst, PLAN_FIX_MAX,
             "sysctl vm.nr_hugepages=%llu (by NUMA node: drivers-cfg/hugepages.sh)",
             (unsigned long long)(used + (plan_megabytes(c) + 1) / 2));
    return dst;
}
