/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a packet costs in the stack alone: no device, no driver, packets from an array. Rounds of
 * ours and of the peer take turns, and medians are printed. Cases:
 *
 *   echo         nanoseconds of an ICMP echo, from stack_input to stack_output
 *   echo/cycles  the same in cycles of the time stamp counter, where there is one
 *
 * Against the least that makes a reply of a request: addresses exchanged, the type changed, the
 * checksum with it; nothing is verified, looked up or counted. That is what dpdk-testpmd does in
 * its icmpecho mode, so the difference is the price of being a host.
 */

#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "stack/stack.h"
#include "wire/arp.h"
#include "wire/checksum.h"
#include "wire/ether.h"
#include "wire/icmp.h"
#include "wire/ipv4.h"
#include "wire/proto.h"

#define ROUNDS    15
#define PASSES    200  /* over all packets, in a round */
#define PACKETS   1024 /* more than the first-level cache holds, as a device's ring has */
#define BURST     32
#define FRAME_LEN 60
#define ROOM      2048
#define HEADROOM  128
#define SOURCES   8

static const struct mac_addr mac_ours = {{2, 0, 0, 0, 0, 1}};
static const struct mac_addr mac_peer = {{2, 0, 0, 0, 0, 2}};
#define ADDR_OURS 0xc0000201u /* 192.0.2.1 */
#define ADDR_PEER 0xc0000240u /* and those after it */

struct packet {
    struct pkt pkt;
    uint8_t bytes[ROOM];
};

struct bench {
    struct mem mem;
    struct pkt_pool pool;
    struct counters counters;
    struct stack *stack;
    struct packet *packet;
    unsigned spare; /* the next packet that the pool gives */
    tick_t now;
    uint8_t request[SOURCES][FRAME_LEN];
};

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "stack: %s\n", what);
    exit(1);
}

/* ---- what a stack lives on ---- */

static void *mem_get(struct mem *m, size_t size, size_t align)
{
    (void)m;
    size = (size + align - 1) & ~(align - 1);
    void *block = aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align, size);
    if (block)
        memset(block, 0, size);
    return block;
}

static void mem_put(struct mem *m, void *block, size_t size)
{
    (void)m;
    (void)size;
    free(block);
}

static void pkt_back(struct pkt *p)
{
    (void)p; /* all are in the array for good */
}

static const struct pkt_ops ops = {.free = pkt_back};

/* As a driver hands it over. */
static struct pkt *reset(struct packet *p, uint32_t len)
{
    p->pkt = (struct pkt){.data = p->bytes + HEADROOM,
                          .len = len,
                          .total = len,
                          .headroom = HEADROOM,
                          .tailroom = (uint16_t)(ROOM - HEADROOM - len),
                          .refs = 1,
                          .ops = &ops};
    return &p->pkt;
}

static struct pkt *alloc(struct pkt_pool *pool)
{
    struct bench *b = (struct bench *)(void *)((char *)pool - offsetof(struct bench, pool));
    return reset(&b->packet[b->spare++ % PACKETS], 0);
}

/* ---- frames ---- */

static void build_request(uint8_t *frame, uint32_t from)
{
    struct ether_hdr eth = {.dst = mac_ours, .src = mac_peer, .type = ETHER_TYPE_IPV4};
    struct ipv4_hdr ip = {.src = ip_from_v4(from),
                          .dst = ip_from_v4(ADDR_OURS),
                          .total_len = FRAME_LEN - ETHER_LEN,
                          .ttl = 64,
                          .proto = IP_PROTO_ICMP};
    struct icmp_hdr icmp = {.type = ICMP_ECHO, .id = 1, .seq = 1};
    uint8_t *at = frame + ETHER_LEN + IPV4_LEN;
    size_t len = FRAME_LEN - ETHER_LEN - IPV4_LEN - ICMP_LEN;
    ether_emit(&eth, frame);
    ipv4_emit(&ip, false, frame + ETHER_LEN);
    memset(at + ICMP_LEN, 0x5a, len);
    icmp_emit(&icmp, checksum_add(CHECKSUM_EMPTY, at + ICMP_LEN, len), at);
}

static void build_arp_reply(uint8_t *frame, uint32_t from)
{
    struct ether_hdr eth = {.dst = mac_ours, .src = mac_peer, .type = ETHER_TYPE_ARP};
    struct arp_msg m = {.op = ARP_REPLY,
                        .sender_mac = mac_peer,
                        .sender_ip = ip_from_v4(from),
                        .target_mac = mac_ours,
                        .target_ip = ip_from_v4(ADDR_OURS)};
    memset(frame, 0, FRAME_LEN);
    ether_emit(&eth, frame);
    arp_emit(&m, frame + ETHER_LEN);
}

static void input_one(struct bench *b, const uint8_t *frame)
{
    struct pkt *p = reset(&b->packet[b->spare++ % PACKETS], FRAME_LEN);
    memcpy(p->data, frame, FRAME_LEN);
    stack_input(b->stack, &p, 1, b->now);
}

static unsigned drain(struct bench *b)
{
    struct pkt *out[BURST];
    unsigned total = 0, n;
    while ((n = stack_output(b->stack, 0, out, BURST, b->now)) > 0)
        total += n;
    return total;
}

/* ---- life ---- */

/* Past duplicate address detection, with all neighbours known. */
static void settle(struct bench *b)
{
    for (tick_t end = b->now + 30 * TICK_SEC; b->now < end; b->now = stack_deadline(b->stack)) {
        if (stack_deadline(b->stack) == TICK_NEVER)
            break;
        stack_expire(b->stack, b->now);
        drain(b);
    }
    if (b->now == TICK_NEVER)
        b->now = 60 * TICK_SEC;
    for (uint32_t i = 0; i < SOURCES; i++) {
        uint8_t arp[FRAME_LEN];
        build_request(b->request[i], ADDR_PEER + i);
        build_arp_reply(arp, ADDR_PEER + i);
        input_one(b, b->request[i]); /* it asks who that is */
        input_one(b, arp);
        drain(b);
    }
}

static void bench_open(struct bench *b)
{
    struct iface_config iface = {.name = "bench", .mac = mac_ours, .mtu = 1500, .n_addrs = 1};
    iface.addr[0] = (struct ip_prefix){.addr = ip_from_v4(ADDR_OURS), .len = 24};
    struct stack_config config = {
        .n_workers = 1, .n_ifaces = 1, .iface = &iface, .icmp = {.echo = true, .errors = true}};
    *b = (struct bench){.mem = {.alloc = mem_get, .free = mem_put},
                        .pool = {.alloc = alloc, .headroom = HEADROOM, .room = ROOM - HEADROOM},
                        .now = TICK_SEC};
    b->packet = aligned_alloc(64, PACKETS * sizeof(*b->packet));
    if (!b->packet)
        die("no memory");
    memset(b->packet, 0, PACKETS * sizeof(*b->packet));
    struct stack_env env = {
        .mem = &b->mem, .pool = &b->pool, .counters = &b->counters, .seed = {1, 2, 3}};
    b->stack = stack_create(&config, &env, b->now, NULL);
    if (!b->stack)
        die("no stack");
    settle(b);
}

static void bench_close(struct bench *b)
{
    stack_destroy(b->stack);
    free(b->packet);
}

/* ---- work ---- */

/* Nanoseconds and cycles that the work itself took. */
struct cost {
    double ns;
    double cycles;
};

static double clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double clock_cycles(void)
{
#if defined(__x86_64__)
    return (double)__rdtsc();
#else
    return 0;
#endif
}

/* Echoes a burst. Returns how many replies there are. */
typedef unsigned (*work_fn)(struct bench *b, struct pkt **burst);

static unsigned by_stack(struct bench *b, struct pkt **burst)
{
    struct pkt *out[BURST];
    stack_input(b->stack, burst, BURST, b->now);
    return stack_output(b->stack, 0, out, BURST, b->now);
}

static void exchange(uint8_t *a, uint8_t *b, size_t len)
{
    uint8_t hold[6];
    memcpy(hold, a, len);
    memcpy(a, b, len);
    memcpy(b, hold, len);
}

static unsigned in_place(struct bench *b, struct pkt **burst)
{
    (void)b;
    for (unsigned i = 0; i < BURST; i++) {
        if (i + 4 < BURST)
            __builtin_prefetch(burst[i + 4]->data);
        uint8_t *at = burst[i]->data;
        uint8_t *icmp = at + ETHER_LEN + IPV4_LEN;
        exchange(at, at + 6, 6);
        exchange(at + ETHER_LEN + 12, at + ETHER_LEN + 16, 4);
        uint16_t sum = checksum_update16((uint16_t)(icmp[2] << 8 | icmp[3]), ICMP_ECHO << 8,
                                         ICMP_ECHO_REPLY << 8);
        icmp[0] = ICMP_ECHO_REPLY;
        icmp[2] = (uint8_t)(sum >> 8);
        icmp[3] = (uint8_t)sum;
    }
    return BURST;
}

/* One round. The clock of nanoseconds is read too seldom to be the work's alone, so it only says
 * what a cycle is worth; without a counter of cycles it is read for every burst. */
static struct cost run(struct bench *b, work_fn work)
{
    double cycles = 0, ns = 0;
    double from_ns = clock_ns(), from_cycles = clock_cycles();
    for (unsigned k = 0; k < PASSES * PACKETS / BURST; k++) {
        struct pkt *burst[BURST];
        for (unsigned i = 0; i < BURST; i++) {
            unsigned which = (k * BURST + i) % PACKETS;
            burst[i] = reset(&b->packet[which], FRAME_LEN);
            memcpy(burst[i]->data, b->request[which % SOURCES], FRAME_LEN);
        }
        double start_ns = from_cycles > 0 ? 0 : clock_ns();
        double start = clock_cycles();
        unsigned n = work(b, burst);
        cycles += clock_cycles() - start;
        ns += from_cycles > 0 ? 0 : clock_ns() - start_ns;
        if (n != BURST)
            die("a request was not answered");
    }
    if (from_cycles > 0)
        ns = cycles * (clock_ns() - from_ns) / (clock_cycles() - from_cycles);
    return (struct cost){.ns = ns / (PASSES * PACKETS), .cycles = cycles / (PASSES * PACKETS)};
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof(*v), compare);
    return v[ROUNDS / 2];
}

static void report(const char *name, const char *unit, double value, double peer)
{
    printf("{\"bench\":\"stack\",\"case\":\"%s\",\"unit\":\"%s\",\"value\":%.1f,"
           "\"peer\":\"echo in place, unchecked\",\"peer_value\":%.1f,\"ratio\":%.2f}\n",
           name, unit, value, peer, peer / value);
    fflush(stdout);
}

int main(void)
{
    struct bench b;
    double ours_ns[ROUNDS], ours_cycles[ROUNDS], peer_ns[ROUNDS], peer_cycles[ROUNDS];
    bench_open(&b);
    run(&b, by_stack); /* warm */
    run(&b, in_place);
    for (int i = 0; i < ROUNDS; i++) {
        struct cost ours = run(&b, by_stack);
        struct cost peer = run(&b, in_place);
        ours_ns[i] = ours.ns;
        ours_cycles[i] = ours.cycles;
        peer_ns[i] = peer.ns;
        peer_cycles[i] = peer.cycles;
    }
    report("echo", "ns/echo", median(ours_ns), median(peer_ns));
    if (clock_cycles() > 0)
        report("echo/cycles", "cycles/echo", median(ours_cycles), median(peer_cycles));
    bench_close(&b);
    return 0;
}
