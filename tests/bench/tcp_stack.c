/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What TCP costs in the stack alone: two stacks in one process, a client and a server, joined by
 * memory; no device, no driver, no system call. Only the server's calls are timed: packets in,
 * services, packets out, timers. Checksums are its own, as on a device without offloads. Medians of
 * rounds. Cases:
 *
 *   echo/N         a request of 64 bytes and its reply, on N connections in turns
 *   bulk-tx        a segment of 1,448 bytes sent, its share of the acknowledgments with it
 *   bulk-rx        a segment of 1,448 bytes received and thrown away, as above
 *   conn           a connection from SYN to its end, with one request
 *   cookie         a SYN answered with a cookie
 *   idle-memory/N  bytes of an open connection that is silent, of N
 *
 * In cycles of the time stamp counter, where there is one; else in nanoseconds. The peer is the
 * least that any stack has to do: the same bytes summed, and copied where they are sent. Where
 * there are none to speak of there is no peer.
 */

#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "service/service.h"
#include "stack/stack.h"
#include "wire/checksum.h"
#include "wire/ether.h"
#include "wire/ipv4.h"
#include "wire/proto.h"
#include "wire/tcp.h"

#define ROUNDS   51 /* short ones: what else runs here spoils few */
#define BURST    32
#define PACKETS  4096 /* more than the second-level cache holds */
#define ROOM     2048
#define HEADROOM 128

#define REQUEST 64u
#define MSS     1448u
#define SYNS    1024u /* different ones */

#define ECHOES   2048u /* a round */
#define SEGMENTS 4096u
#define OPENS    512u
#define COOKIES  4096u

#define ADDR_SERVER 0xc0000201u /* 192.0.2.1 */
#define ADDR_CLIENT 0xc0000210u /* and those after it */
#define ADDR_NOBODY 0xc6330001u /* 198.51.0.1, and those after it: beyond the client */
#define CLIENTS     16u
#define PORT_ECHO   7
#define PORT_SINK   9
#define PORT_SOURCE 19
#define PORT_FULL   80 /* of which every SYN is answered with a cookie */

#if defined(__x86_64__)
#define CLOCK_UNIT "cycles"
#else
#define CLOCK_UNIT "ns"
#endif

struct packet {
    struct pkt pkt;
    uint8_t bytes[ROOM];
};

struct side {
    struct mem mem;
    size_t held; /* bytes of mem */
    struct counters counters;
    struct stack *stack;
};

struct bench {
    struct pkt_pool pool;
    struct packet *packet;
    struct pkt *free; /* the last one freed is given first, as pools with a cache do */
    struct side client, server;
    tick_t now;
    double spent; /* the server's */
    struct stream **conn;
    uint32_t n_conns;
    uint32_t next;   /* connection to be asked */
    uint32_t opened; /* so far */
    uint64_t heard;  /* bytes that the client has received */
};

static const struct mac_addr mac_server = {{2, 0, 0, 0, 0, 1}};
static const struct mac_addr mac_client = {{2, 0, 0, 0, 0, 2}};

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "tcp_stack: %s\n", what);
    exit(1);
}

static void check(bool ok, const char *what)
{
    if (!ok)
        die(what);
}

static double clock_read(void)
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
    struct side *s = (struct side *)(void *)((char *)m - offsetof(struct side, mem));
    s->held += size;
    size = (size + align - 1) & ~(align - 1);
    void *block = aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align, size);
    if (block)
        memset(block, 0, size);
    return block;
}

static void mem_put(struct mem *m, void *block, size_t size)
{
    struct side *s = (struct side *)(void *)((char *)m - offsetof(struct side, mem));
    s->held -= block ? size : 0;
    free(block);
}

static struct bench *bench; /* whose packets these are; pkt_ops.free has no other way to know */

static void pkt_back(struct pkt *p)
{
    p->next = bench->free;
    bench->free = p;
}

static const struct pkt_ops ops = {.free = pkt_back};

static struct pkt *alloc(struct pkt_pool *pool)
{
    (void)pool;
    struct pkt *p = bench->free;
    check(p, "out of packets");
    bench->free = p->next;
    uint8_t *bytes = ((struct packet *)(void *)p)->bytes;
    *p = (struct pkt){.data = bytes + HEADROOM,
                      .headroom = HEADROOM,
                      .tailroom = ROOM - HEADROOM,
                      .refs = 1,
                      .ops = &ops};
    return p;
}

/* A reply stays in the server until the next request acknowledges it. */
static void pool_open(struct bench *b)
{
    unsigned packets = PACKETS + b->n_conns;
    b->pool = (struct pkt_pool){.alloc = alloc, .headroom = HEADROOM, .room = ROOM - HEADROOM};
    b->packet = aligned_alloc(64, packets * sizeof(*b->packet));
    check(b->packet, "no memory");
    memset(b->packet, 0, packets * sizeof(*b->packet));
    for (unsigned i = 0; i < packets; i++)
        pkt_back(&b->packet[i].pkt);
}

/* ---- the wire ---- */

/* As drivers do it: the sender's packet is freed, the receiver's is another. */
static void carry(struct bench *b, struct pkt **burst, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct pkt *p = alloc(&b->pool);
        memcpy(pkt_put(p, burst[i]->total), burst[i]->data, burst[i]->total);
        pkt_free(burst[i]);
        burst[i] = p;
    }
}

static void expire(struct side *s, tick_t now)
{
    if (stack_deadline(s->stack) <= now)
        stack_expire(s->stack, now);
}

/* The server's turn, timed. burst comes from its device, and then goes there. */
static unsigned serve(struct bench *b, struct pkt **burst, unsigned n)
{
    double start = clock_read();
    stack_input(b->server.stack, burst, n, b->now);
    expire(&b->server, b->now);
    n = stack_output(b->server.stack, 0, burst, BURST, b->now);
    b->spent += clock_read() - start;
    return n;
}

static void turn(struct bench *b)
{
    struct pkt *burst[BURST];
    b->now += TICK_US;
    expire(&b->client, b->now);
    unsigned n = stack_output(b->client.stack, 0, burst, BURST, b->now);
    carry(b, burst, n);
    n = serve(b, burst, n);
    carry(b, burst, n);
    stack_input(b->client.stack, burst, n, b->now);
}

/* ---- the client's services ---- */

static void count_opened(struct stream *s)
{
    (void)s;
    bench->opened++;
}

static void take(struct stream *s, struct pkt *view, bool end)
{
    if (view) {
        bench->heard += view->len;
        stream_consume(s, view->len);
    }
    pkt_free(view);
    if (end)
        stream_end(s);
}

static void on_reset(struct stream *s, enum stream_code code)
{
    (void)s;
    die(stream_code_name(code));
}

/* Says nothing by itself. */
static const struct stream_service client_quiet = {
    .name = "quiet", .opened = count_opened, .data = take, .reset = on_reset};

static const uint8_t request[REQUEST];

static void ask(struct stream *s)
{
    check(stream_write(s, vec_of_const(request, REQUEST)), "no room for a request");
}

static void ask_once(struct stream *s)
{
    count_opened(s);
    ask(s);
}

static void take_once(struct stream *s, struct pkt *view, bool end)
{
    take(s, view, end);
    stream_end(s);
}

/* One request, and the end. */
static const struct stream_service client_once = {
    .name = "once", .opened = ask_once, .data = take_once, .reset = on_reset};

/* ---- life ---- */

static void side_open(struct bench *b, struct side *s, const struct stack_config *config)
{
    s->mem = (struct mem){.alloc = mem_get, .free = mem_put};
    struct stack_env env = {
        .mem = &s->mem, .pool = &b->pool, .counters = &s->counters, .seed = {1, 2, 3}};
    s->stack = stack_create(config, &env, b->now, NULL);
    check(s->stack, "no stack");
}

static void server_open(struct bench *b)
{
    struct iface_config iface = {.name = "server",
                                 .mac = mac_server,
                                 .mtu = 1500,
                                 .n_addrs = 1,
                                 .gateway4 = ip_from_v4(ADDR_CLIENT)};
    iface.addr[0] = (struct ip_prefix){.addr = ip_from_v4(ADDR_SERVER), .len = 24};
    const struct stack_listener listener[] = {
        {.name = "echo", .port = PORT_ECHO, .service = &service_echo},
        {.name = "discard", .port = PORT_SINK, .service = &service_discard},
        {.name = "source", .port = PORT_SOURCE, .service = &service_source},
        {.name = "full", .port = PORT_FULL, .service = &service_echo, .backlog = 1},
    };
    struct stack_config config = {.n_workers = 1,
                                  .n_ifaces = 1,
                                  .iface = &iface,
                                  .limits = {.tcp_memory = UINT64_C(1) << 30},
                                  .n_listeners = sizeof(listener) / sizeof(listener[0]),
                                  .listener = listener};
    side_open(b, &b->server, &config);
}

static void client_open(struct bench *b)
{
    struct iface_config iface = {.name = "client", .mac = mac_client, .mtu = 1500};
    for (uint32_t i = 0; i < CLIENTS; i++)
        iface.addr[iface.n_addrs++] =
            (struct ip_prefix){.addr = ip_from_v4(ADDR_CLIENT + i), .len = 24};
    struct stack_config config = {.n_workers = 1,
                                  .n_ifaces = 1,
                                  .iface = &iface,
                                  .limits = {.time_wait = 4096},
                                  .tcp = {.port_min = 1024, .port_max = 65535}};
    side_open(b, &b->client, &config);
}

/* Past duplicate address detection. */
static void bench_open(struct bench *b, uint32_t n_conns)
{
    *b = (struct bench){.now = TICK_SEC, .n_conns = n_conns};
    bench = b;
    pool_open(b);
    server_open(b);
    client_open(b);
    b->conn = calloc(n_conns, sizeof(struct stream *));
    check(b->conn, "no memory");
    for (tick_t end = b->now + 10 * TICK_SEC; b->now < end; b->now += 10 * TICK_MS)
        turn(b);
}

static void bench_close(struct bench *b)
{
    stack_destroy(b->client.stack);
    stack_destroy(b->server.stack);
    check(b->client.held == 0 && b->server.held == 0, "memory is left");
    free(b->conn);
    free(b->packet);
}

static struct stream *connect_to(struct bench *b, uint16_t port, uint32_t k,
                                 const struct stream_service *service)
{
    struct stack_connect to = {.remote = ip_from_v4(ADDR_SERVER),
                               .port = port,
                               .local = ip_from_v4(ADDR_CLIENT + k % CLIENTS),
                               .service = service};
    struct stream *s = stack_connect(b->client.stack, &to, b->now, NULL);
    check(s, "no connection");
    return s;
}

static void connect_all(struct bench *b, uint16_t port)
{
    for (uint32_t k = 0; k < b->n_conns; k++) {
        b->conn[k] = connect_to(b, port, k, &client_quiet);
        while (k + 1 - b->opened >= BURST / 2 || (k + 1 == b->n_conns && b->opened <= k))
            turn(b);
    }
    turn(b);
}

/* ---- work: each returns what one of them has cost ---- */

static double echo(struct bench *b)
{
    uint32_t at_once = b->n_conns < BURST ? b->n_conns : BURST;
    uint32_t done = 0;
    b->spent = 0;
    for (; done < ECHOES; done += at_once) {
        uint64_t want = b->heard + at_once * (uint64_t)REQUEST;
        for (uint32_t i = 0; i < at_once; i++) {
            ask(b->conn[b->next]);
            b->next = b->next + 1 < b->n_conns ? b->next + 1 : 0;
        }
        while (b->heard < want)
            turn(b);
    }
    return b->spent / done;
}

static double bulk_tx(struct bench *b)
{
    uint64_t from = b->heard;
    b->spent = 0;
    while (b->heard - from < SEGMENTS * (uint64_t)MSS)
        turn(b);
    return b->spent * MSS / (double)(b->heard - from);
}

static double bulk_rx(struct bench *b)
{
    const struct counters *c = &b->server.counters;
    uint64_t from = counter_get(c, COUNTER_TCP_RX_BYTES);
    b->spent = 0;
    while (counter_get(c, COUNTER_TCP_RX_BYTES) - from < SEGMENTS * (uint64_t)MSS)
        turn(b);
    return b->spent * MSS / (double)(counter_get(c, COUNTER_TCP_RX_BYTES) - from);
}

static double conn(struct bench *b)
{
    const struct counters *c = &b->server.counters;
    uint64_t from = counter_get(c, COUNTER_TCP_CLOSED);
    b->spent = 0;
    for (uint32_t k = 0; k < OPENS; k += BURST) {
        for (uint32_t i = 0; i < BURST; i++)
            connect_to(b, PORT_ECHO, k + i, &client_once);
        while (counter_get(c, COUNTER_TCP_CLOSED) - from < k + BURST)
            turn(b);
    }
    return b->spent / (double)(counter_get(c, COUNTER_TCP_CLOSED) - from);
}

static void put_syn(struct pkt *p, uint32_t k)
{
    struct ether_hdr eth = {.dst = mac_server, .src = mac_client, .type = ETHER_TYPE_IPV4};
    struct ipv4_hdr ip = {.src = ip_from_v4(ADDR_NOBODY + k % SYNS),
                          .dst = ip_from_v4(ADDR_SERVER),
                          .ttl = 64,
                          .proto = IP_PROTO_TCP};
    struct tcp_hdr tcp = {.src_port = (uint16_t)(1024 + k % 32768),
                          .dst_port = PORT_FULL,
                          .seq = seq32(k),
                          .flags = TCP_SYN,
                          .window = 65535,
                          .options = {.has_mss = true,
                                      .mss = 1460,
                                      .has_wscale = true,
                                      .wscale = 7,
                                      .sack_permitted = true,
                                      .has_timestamps = true,
                                      .ts_value = k}};
    uint32_t len = (uint32_t)tcp_header_len(&tcp.options);
    ip.total_len = (uint16_t)(IPV4_LEN + len);
    uint8_t *at = pkt_put(p, ETHER_LEN + IPV4_LEN + len);
    ether_emit(&eth, at);
    ipv4_emit(&ip, false, at + ETHER_LEN);
    tcp_emit(&tcp, checksum_pseudo(&ip.src, &ip.dst, IP_PROTO_TCP, len), at + ETHER_LEN + IPV4_LEN);
}

static double cookie(struct bench *b)
{
    const struct counters *c = &b->server.counters;
    uint64_t from = counter_get(c, COUNTER_TCP_COOKIES_TX);
    b->spent = 0;
    for (uint32_t k = 0; k < COOKIES; k += BURST) {
        struct pkt *burst[BURST];
        b->now += TICK_US;
        for (uint32_t i = 0; i < BURST; i++)
            put_syn(burst[i] = alloc(&b->pool), k + i);
        unsigned n = serve(b, burst, BURST);
        for (unsigned i = 0; i < n; i++)
            pkt_free(burst[i]);
    }
    check(counter_get(c, COUNTER_TCP_COOKIES_TX) - from + 1 >= COOKIES, "SYNs without cookies");
    return b->spent / COOKIES;
}

/* ---- the peer ---- */

/* Of n bytes: summed where they come in; copied, and summed, where they go out. */
static double least(struct bench *b, uint32_t in, uint32_t out)
{
    volatile uint16_t keep;
    uint64_t from = 0;
    double spent = 0;
    for (; from < SEGMENTS; from += BURST) {
        for (uint32_t i = 0; i < BURST; i++) /* as they come from a driver */
            memset(b->packet[(from + i) % PACKETS].bytes, (int)i, in);
        double start = clock_read();
        for (uint32_t i = 0; i < BURST; i++) {
            uint8_t *bytes = b->packet[(from + i) % PACKETS].bytes;
            struct checksum sum = checksum_add(CHECKSUM_EMPTY, bytes, in);
            keep = checksum_finish(sum);
            memcpy(bytes, b->packet[(from + i + PACKETS / 2) % PACKETS].bytes, out);
            keep = checksum_finish(checksum_add(CHECKSUM_EMPTY, bytes, out));
        }
        spent += clock_read() - start;
    }
    (void)keep;
    return spent / (double)from;
}

/* ---- figures ---- */

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

/* peer: 0: none. */
static void report(const char *name, const char *unit, double value, double peer)
{
    printf("{\"bench\":\"tcp_stack\",\"case\":\"%s\",\"unit\":\"%s\",\"value\":%.1f,", name, unit,
           value);
    if (peer > 0)
        printf("\"peer\":\"summing and copying the bytes\",\"peer_value\":%.1f,\"ratio\":%.2f}\n",
               peer, peer / value);
    else
        printf("\"peer\":null,\"peer_value\":null,\"ratio\":null}\n");
    fflush(stdout);
}

typedef double (*work_fn)(struct bench *b);

static void measure(struct bench *b, const char *name, const char *unit, work_fn work, uint32_t in,
                    uint32_t out)
{
    double ours[ROUNDS], peer[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = work(b);
        peer[i] = in + out > 0 ? least(b, in, out) : 0;
    }
    report(name, unit, median(ours), median(peer));
}

static void run_echo(uint32_t n)
{
    static struct bench b;
    char name[32];
    bench_open(&b, n);
    size_t before = b.server.held;
    connect_all(&b, PORT_ECHO);
    for (uint32_t k = 0; k < 2 * n; k += ECHOES) /* warm; each has been asked */
        echo(&b);
    snprintf(name, sizeof(name), "echo/%" PRIu32, n);
    measure(&b, name, CLOCK_UNIT "/request", echo, REQUEST, REQUEST);
    for (tick_t end = b.now + 3 * TICK_SEC; b.now < end; b.now += TICK_MS)
        turn(&b);
    snprintf(name, sizeof(name), "idle-memory/%" PRIu32, n);
    if (n >= 10000) /* memory is taken in chunks */
        report(name, "bytes/connection", (double)(b.server.held - before) / n, 0);
    bench_close(&b);
}

static void run_bulk_tx(void)
{
    static struct bench b;
    bench_open(&b, 1);
    connect_all(&b, PORT_SOURCE);
    bulk_tx(&b);
    measure(&b, "bulk-tx", CLOCK_UNIT "/segment", bulk_tx, 0, MSS);
    bench_close(&b);
}

static void run_bulk_rx(void)
{
    static struct bench b;
    static struct stream_service source;
    source = service_source;
    source.reset = on_reset;
    bench_open(&b, 1);
    connect_to(&b, PORT_SINK, 0, &source);
    bulk_rx(&b);
    measure(&b, "bulk-rx", CLOCK_UNIT "/segment", bulk_rx, MSS, 0);
    bench_close(&b);
}

static void run_conn(void)
{
    static struct bench b;
    bench_open(&b, 1);
    conn(&b);
    measure(&b, "conn", CLOCK_UNIT "/connection", conn, 0, 0);
    bench_close(&b);
}

static void run_cookie(void)
{
    static struct bench b;
    bench_open(&b, 1);
    cookie(&b);
    measure(&b, "cookie", CLOCK_UNIT "/SYN", cookie, 0, 0);
    bench_close(&b);
}

int main(void)
{
    static const uint32_t conns[] = {1, 100, 10000, 100000, 1000000};
    for (unsigned i = 0; i < sizeof(conns) / sizeof(conns[0]); i++)
        run_echo(conns[i]);
    run_bulk_tx();
    run_bulk_rx();
    run_conn();
    run_cookie();
    return 0;
}
