/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define HEADROOM 128

const struct mac_addr pair_mac_server = {{2, 0, 0, 0, 0, 1}};
const struct mac_addr pair_mac_client = {{2, 0, 0, 0, 0, 2}};

_Noreturn void pair_die(const char *what)
{
    fprintf(stderr, "pair: %s\n", what);
    exit(1);
}

void pair_check(bool ok, const char *what)
{
    if (!ok)
        pair_die(what);
}

double pair_clock(void)
{
#if defined(__x86_64__)
    return (double)__rdtsc();
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
#endif
}

/* ---- what stacks live on ---- */

static void *mem_get(struct mem *m, size_t size, size_t align)
{
    struct pair_side *s = (struct pair_side *)(void *)((char *)m - offsetof(struct pair_side, mem));
    s->held += size;
    size = (size + align - 1) & ~(align - 1);
    void *block = aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align, size);
    if (block)
        memset(block, 0, size);
    return block;
}

static void mem_put(struct mem *m, void *block, size_t size)
{
    struct pair_side *s = (struct pair_side *)(void *)((char *)m - offsetof(struct pair_side, mem));
    s->held -= block ? size : 0;
    free(block);
}

static struct pair *pair; /* whose packets these are; pkt_ops.free has no other way to know */

static void pkt_back(struct pkt *p)
{
    p->next = pair->free;
    pair->free = p;
}

static const struct pkt_ops ops = {.free = pkt_back};

static struct pkt *take_view(struct pkt_pool *pool)
{
    (void)pool;
    struct pkt *p = pair->free;
    pair_check(p, "out of packets");
    pair->free = p->next;
    *p = (struct pkt){.refs = 1, .ops = &ops};
    return p;
}

static struct pkt *alloc(struct pkt_pool *pool)
{
    struct pkt *p = take_view(pool);
    p->data = ((struct pair_packet *)(void *)p)->bytes + HEADROOM;
    p->headroom = HEADROOM;
    p->tailroom = PAIR_ROOM - HEADROOM;
    return p;
}

struct pkt *pair_packet(struct pair *p)
{
    return alloc(&p->pool);
}

static void pool_open(struct pair *p, unsigned packets)
{
    p->pool = (struct pkt_pool){.alloc = alloc,
                                .alloc_view = take_view,
                                .headroom = HEADROOM,
                                .room = PAIR_ROOM - HEADROOM};
    size_t size = (packets * sizeof(*p->packet) + 63) & ~(size_t)63;
    p->packet = aligned_alloc(64, size);
    pair_check(p->packet, "no memory");
    memset(p->packet, 0, size);
    for (unsigned i = 0; i < packets; i++)
        pkt_back(&p->packet[i].pkt);
}

/* ---- life ---- */

static void side_open(struct pair *p, struct pair_side *s, const struct stack_config *config)
{
    s->mem = (struct mem){.alloc = mem_get, .free = mem_put};
    struct stack_env env = {
        .mem = &s->mem, .pool = &p->pool, .counters = &s->counters, .seed = {1, 2, 3}};
    s->stack = stack_create(config, &env, p->now, NULL);
    pair_check(s->stack, "no stack");
}

static void server_open(struct pair *p, const struct stack_listener *listener, uint16_t n_listeners)
{
    struct iface_config iface = {.name = "server",
                                 .mac = pair_mac_server,
                                 .mtu = 1500,
                                 .n_addrs = 1,
                                 .gateway4 = ip_from_v4(PAIR_CLIENT)};
    iface.addr[0] = (struct ip_prefix){.addr = ip_from_v4(PAIR_SERVER), .len = 24};
    struct stack_config config = {.n_workers = 1,
                                  .n_ifaces = 1,
                                  .iface = &iface,
                                  .limits = {.tcp_memory = UINT64_C(1) << 30},
                                  .n_listeners = n_listeners,
                                  .listener = listener};
    side_open(p, &p->server, &config);
}

static void client_open(struct pair *p)
{
    struct iface_config iface = {.name = "client", .mac = pair_mac_client, .mtu = 1500};
    for (uint32_t i = 0; i < PAIR_CLIENTS; i++)
        iface.addr[iface.n_addrs++] =
            (struct ip_prefix){.addr = ip_from_v4(PAIR_CLIENT + i), .len = 24};
    struct stack_config config = {.n_workers = 1,
                                  .n_ifaces = 1,
                                  .iface = &iface,
                                  .limits = {.time_wait = 4096},
                                  .tcp = {.port_min = 1024, .port_max = 65535}};
    side_open(p, &p->client, &config);
}

void pair_open(struct pair *p, unsigned packets, const struct stack_listener *listener,
               uint16_t n_listeners)
{
    *p = (struct pair){.now = TICK_SEC};
    pair = p;
    pool_open(p, PAIR_PACKETS + packets);
    server_open(p, listener, n_listeners);
    client_open(p);
    pair_pass(p, 10 * TICK_SEC, 10 * TICK_MS);
}

void pair_close(struct pair *p)
{
    stack_destroy(p->client.stack);
    stack_destroy(p->server.stack);
    pair_check(p->client.held == 0 && p->server.held == 0, "memory is left");
    free(p->packet);
}

/* ---- the wire ---- */

/* As drivers do it: the sender's packet is freed, the receiver's is another. */
static void carry(struct pair *p, struct pkt **burst, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct pkt *to = alloc(&p->pool);
        uint32_t len = burst[i]->total;
        pkt_copy_out(burst[i], 0, pkt_put(to, len), len);
        pkt_free(burst[i]);
        burst[i] = to;
    }
}

static void expire(struct pair_side *s, tick_t now)
{
    if (stack_deadline(s->stack) <= now)
        stack_expire(s->stack, now);
}

unsigned pair_serve(struct pair *p, struct pkt **burst, unsigned n)
{
    double start = pair_clock();
    p->serving = true;
    stack_input(p->server.stack, burst, n, p->now);
    expire(&p->server, p->now);
    n = stack_output(p->server.stack, 0, burst, PAIR_BURST, p->now);
    p->serving = false;
    p->spent += pair_clock() - start;
    return n;
}

void pair_turn(struct pair *p)
{
    struct pkt *burst[PAIR_BURST];
    p->now += TICK_US;
    expire(&p->client, p->now);
    unsigned n = stack_output(p->client.stack, 0, burst, PAIR_BURST, p->now);
    carry(p, burst, n);
    n = pair_serve(p, burst, n);
    carry(p, burst, n);
    stack_input(p->client.stack, burst, n, p->now);
}

void pair_pass(struct pair *p, tick_t time, tick_t step)
{
    for (tick_t end = p->now + time; p->now < end; p->now += step)
        pair_turn(p);
}

/* ---- the client ---- */

struct stream *pair_connect(struct pair *p, uint16_t port, uint32_t k,
                            const struct stream_service *service, void *user)
{
    struct stack_connect to = {.remote = ip_from_v4(PAIR_SERVER),
                               .port = port,
                               .local = ip_from_v4(PAIR_CLIENT + k % PAIR_CLIENTS),
                               .service = service,
                               .user = user};
    struct stream *s = stack_connect(p->client.stack, &to, p->now, NULL);
    pair_check(s, "no connection");
    return s;
}

void pair_on_reset(struct stream *s, enum stream_code code)
{
    (void)s;
    pair_die(stream_code_name(code));
}

/* ---- figures ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double pair_median(double *v, unsigned n)
{
    qsort(v, n, sizeof(*v), compare);
    return v[n / 2];
}

void pair_report(const char *bench, const char *name, const char *unit, double value,
                 const char *peer, double peer_value)
{
    printf("{\"bench\":\"%s\",\"case\":\"%s\",\"unit\":\"%s\",\"value\":%.1f,", bench, name, unit,
           value);
    if (peer)
        printf("\"peer\":\"%s\",\"peer_value\":%.1f,\"ratio\":%.2f}\n", peer, peer_value,
               peer_value / value);
    else
        printf("\"peer\":null,\"peer_value\":null,\"ratio\":null}\n");
    fflush(stdout);
}
