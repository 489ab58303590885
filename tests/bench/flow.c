/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow/<entries>: looking up the connections of received packets, in bursts and in random order,
 * against DPDK's rte_hash with its default function. Both end by counting a packet in the
 * connection found, as a lookup that touches nothing helps nobody; both use the same connections,
 * keys and kind of memory, and run in turns. /one is a lookup at a time, /miss a burst of keys that
 * are not there.
 */

#define _GNU_SOURCE /* sched_getcpu */

#include "bench_flow.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/rng.h"
#include "stack/flow.h"

#define BURST       32u
#define ROUNDS      9
#define LOOKUPS     (1u << 20) /* a round, at least */
#define ENTRIES_MAX 1000000u

struct connection {
    _Alignas(64) struct flow flow;
    uint64_t packets;
};

struct bench {
    uint32_t entries;
    uint32_t queries; /* a multiple of BURST */
    struct connection *connection;
    struct flow_key *hit; /* queries keys, in random order */
    struct flow_key *miss;
    struct flow_table *ours;
    struct rte_hash *peer;
};

static void *bench_alloc(struct mem *mem, size_t size, size_t align)
{
    (void)mem;
    return rte_zmalloc(NULL, size, (unsigned)align);
}

static void bench_free(struct mem *mem, void *block, size_t size)
{
    (void)mem;
    (void)size;
    rte_free(block);
}

static struct mem memory = {.alloc = bench_alloc, .free = bench_free};

static void *must(void *p, const char *what)
{
    if (!p) {
        fprintf(stderr, "flow: no memory for %s\n", what);
        exit(1);
    }
    return p;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* what others do meanwhile does not count */
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Clients of one IPv4 service. */
static struct flow_key key_of(struct rng *r, uint16_t local_port)
{
    struct ip_addr local = ip_from_v4(UINT32_C(0xc6336401));
    struct ip_addr remote = ip_from_v4(UINT32_C(0x0a000000) | (uint32_t)rng_below(r, 1u << 24));
    return flow_key_of(&local, local_port, &remote, (uint16_t)rng_below(r, 65536), 6);
}

static void bench_fill(struct bench *b)
{
    for (uint32_t i = 0; i < b->entries; i++) {
        struct connection *c = &b->connection[i];
        if (flow_insert(b->ours, &c->flow) != 0 ||
            rte_hash_add_key_data(b->peer, &c->flow.key, c) != 0) {
            fprintf(stderr, "flow: %u of %u entries fit\n", i, b->entries);
            exit(1);
        }
    }
}

static void bench_open(struct bench *b, uint32_t entries)
{
    struct rng r;
    rng_seed(&r, entries);
    b->entries = entries;
    b->queries = entries < LOOKUPS ? LOOKUPS : (entries + BURST - 1) / BURST * BURST;
    b->connection = must(rte_zmalloc(NULL, entries * sizeof(struct connection), 64), "connections");
    b->hit = must(rte_zmalloc(NULL, b->queries * sizeof(struct flow_key), 64), "keys");
    b->miss = must(rte_zmalloc(NULL, b->queries * sizeof(struct flow_key), 64), "keys");
    for (uint32_t i = 0; i < entries; i++) {
        struct flow_key *key = &b->connection[i].flow.key;
        *key = key_of(&r, 443);
        key->local.b[15] = (uint8_t)i; /* different, whatever the dice say */
        key->local.b[14] = (uint8_t)(i >> 8);
        key->local.b[13] = (uint8_t)(i >> 16);
    }
    for (uint32_t i = 0; i < b->queries; i++) {
        b->hit[i] = b->connection[rng_below(&r, entries)].flow.key;
        b->miss[i] = key_of(&r, 444);
    }
    const struct siphash_key secret = {rng_u64(&r), rng_u64(&r)};
    b->ours = must(flow_table_create(&memory, &secret, ENTRIES_MAX), "the table");
    /* Room to spare, so that the peer need not move entries about to fit the last ones. */
    const struct rte_hash_parameters peer = {.name = "flow",
                                             .entries = entries / 4 * 5 + 8,
                                             .key_len = sizeof(struct flow_key),
                                             .socket_id = SOCKET_ID_ANY};
    b->peer = must(rte_hash_create(&peer), "rte_hash");
    bench_fill(b);
}

static void bench_close(struct bench *b)
{
    rte_hash_free(b->peer);
    flow_table_destroy(b->ours);
    rte_free(b->miss);
    rte_free(b->hit);
    rte_free(b->connection);
}

/* Each of these looks up all keys and returns how many were found. */
typedef uint64_t (*lookup_fn)(const struct bench *b, const struct flow_key *key);

static uint64_t ours_burst(const struct bench *b, const struct flow_key *key)
{
    uint64_t hits = 0;
    for (uint32_t i = 0; i < b->queries; i += BURST) {
        struct flow *found[BURST];
        flow_find_burst(b->ours, key + i, BURST, found);
        for (uint32_t k = 0; k < BURST; k++) {
            if (!found[k])
                continue;
            ((struct connection *)found[k])->packets++;
            hits++;
        }
    }
    return hits;
}

static uint64_t peer_burst(const struct bench *b, const struct flow_key *key)
{
    uint64_t hits = 0;
    for (uint32_t i = 0; i < b->queries; i += BURST) {
        const void *keys[BURST];
        void *found[BURST];
        uint64_t mask = 0;
        for (uint32_t k = 0; k < BURST; k++)
            keys[k] = key + i + k;
        rte_hash_lookup_bulk_data(b->peer, keys, BURST, &mask, found);
        for (; mask; mask &= mask - 1) {
            ((struct connection *)found[__builtin_ctzll(mask)])->packets++;
            hits++;
        }
    }
    return hits;
}

static uint64_t ours_one(const struct bench *b, const struct flow_key *key)
{
    uint64_t hits = 0;
    for (uint32_t i = 0; i < b->queries; i++) {
        struct flow *f = flow_find(b->ours, key + i);
        if (!f)
            continue;
        ((struct connection *)f)->packets++;
        hits++;
    }
    return hits;
}

static uint64_t peer_one(const struct bench *b, const struct flow_key *key)
{
    uint64_t hits = 0;
    for (uint32_t i = 0; i < b->queries; i++) {
        void *found;
        if (rte_hash_lookup_data(b->peer, key + i, &found) < 0)
            continue;
        ((struct connection *)found)->packets++;
        hits++;
    }
    return hits;
}

static double ns_each(const struct bench *b, lookup_fn lookup, const struct flow_key *key)
{
    double start = now_ns();
    uint64_t hits = lookup(b, key);
    double ns = now_ns() - start;
    if (hits != (key == b->hit ? b->queries : 0)) {
        fprintf(stderr, "flow: %lu lookups found something\n", (unsigned long)hits);
        exit(1);
    }
    return ns / b->queries;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof(*v), by_value);
    return v[ROUNDS / 2];
}

static void bench_case(const struct bench *b, const char *suffix, lookup_fn ours, lookup_fn peer,
                       const struct flow_key *key)
{
    double mine[ROUNDS];
    double theirs[ROUNDS];
    ns_each(b, ours, key);
    ns_each(b, peer, key);
    for (int i = 0; i < ROUNDS; i++) {
        mine[i] = ns_each(b, ours, key);
        theirs[i] = ns_each(b, peer, key);
    }
    double value = median(mine);
    double peer_value = median(theirs);
    printf("{\"bench\":\"base\",\"case\":\"flow/%u%s\",\"unit\":\"ns/lookup\",\"value\":%.2f,"
           "\"peer\":\"rte_hash\",\"peer_value\":%.2f,\"ratio\":%.2f}\n",
           b->entries, suffix, value, peer_value, peer_value / value);
    fflush(stdout);
}

/* Memory of 4 KiB pages, and nothing left behind. */
static void eal_start(void)
{
    char name[] = "bench_base";
    char flags[][16] = {"--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "-m", "512"};
    char on[] = "-l";
    char core[16];
    snprintf(core, sizeof(core), "%d", sched_getcpu());
    char *args[] = {name,     flags[0], flags[1], flags[2], flags[3],
                    flags[4], flags[5], on,       core,     NULL};
    rte_openlog_stream(stderr); /* stdout is for figures */
    rte_log_set_global_level(RTE_LOG_ERR);
    if (rte_eal_init((int)(sizeof(args) / sizeof(args[0])) - 1, args) < 0) {
        fprintf(stderr, "flow: EAL does not start: %s\n", rte_strerror(rte_errno));
        exit(1);
    }
}

void bench_flow(void)
{
    eal_start();
    for (uint32_t entries = 10; entries <= ENTRIES_MAX; entries *= 10) {
        struct bench b;
        bench_open(&b, entries);
        bench_case(&b, "", ours_burst, peer_burst, b.hit);
        bench_case(&b, "/one", ours_one, peer_one, b.hit);
        bench_case(&b, "/miss", ours_burst, peer_burst, b.miss);
        bench_close(&b);
    }
    rte_eal_cleanup();
}
