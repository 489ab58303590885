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

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "service/service.h"
#include "wire/checksum.h"
#include "wire/ether.h"
#include "wire/ipv4.h"
#include "wire/proto.h"
#include "wire/tcp.h"

#define ROUNDS  51 /* short ones: what else runs here spoils few */
#define REQUEST 64u
#define MSS     1448u
#define SYNS    1024u /* different ones */

#define ECHOES   2048u /* a round */
#define SEGMENTS 4096u
#define OPENS    512u
#define COOKIES  4096u

#define ADDR_NOBODY 0xc6330001u /* 198.51.0.1, and those after it: beyond the client */
#define PORT_ECHO   7
#define PORT_SINK   9
#define PORT_SOURCE 19
#define PORT_FULL   80 /* of which every SYN is answered with a cookie */

struct bench {
    struct pair pair;
    struct stream **conn;
    uint32_t n_conns;
    uint32_t next;   /* connection to be asked */
    uint32_t opened; /* so far */
    uint64_t heard;  /* bytes that the client has received */
};

static struct bench *bench; /* the services' */

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

/* Says nothing by itself. */
static const struct stream_service client_quiet = {
    .name = "quiet", .opened = count_opened, .data = take, .reset = pair_on_reset};

static const uint8_t request[REQUEST];

static void ask(struct stream *s)
{
    pair_check(stream_write(s, vec_of_const(request, REQUEST)), "no room for a request");
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
    .name = "once", .opened = ask_once, .data = take_once, .reset = pair_on_reset};

/* ---- life ---- */

/* A packet more for each connection: a reply stays in the server until the next request
 * acknowledges it. */
static void bench_open(struct bench *b, uint32_t n_conns)
{
    static const struct stack_listener listener[] = {
        {.name = "echo", .port = PORT_ECHO, .service = &service_echo},
        {.name = "discard", .port = PORT_SINK, .service = &service_discard},
        {.name = "source", .port = PORT_SOURCE, .service = &service_source},
        {.name = "full", .port = PORT_FULL, .service = &service_echo, .backlog = 1},
    };
    *b = (struct bench){.n_conns = n_conns};
    bench = b;
    b->conn = calloc(n_conns, sizeof(struct stream *));
    pair_check(b->conn, "no memory");
    pair_open(&b->pair, n_conns, listener, sizeof(listener) / sizeof(listener[0]));
}

static void bench_close(struct bench *b)
{
    pair_close(&b->pair);
    free(b->conn);
}

static void connect_all(struct bench *b, uint16_t port)
{
    for (uint32_t k = 0; k < b->n_conns; k++) {
        b->conn[k] = pair_connect(&b->pair, port, k, &client_quiet, NULL);
        while (k + 1 - b->opened >= PAIR_BURST / 2 || (k + 1 == b->n_conns && b->opened <= k))
            pair_turn(&b->pair);
    }
    pair_turn(&b->pair);
}

/* ---- work: each returns what one of them has cost ---- */

static double echo(struct bench *b)
{
    uint32_t at_once = b->n_conns < PAIR_BURST ? b->n_conns : PAIR_BURST;
    uint32_t done = 0;
    b->pair.spent = 0;
    for (; done < ECHOES; done += at_once) {
        uint64_t want = b->heard + at_once * (uint64_t)REQUEST;
        for (uint32_t i = 0; i < at_once; i++) {
            ask(b->conn[b->next]);
            b->next = b->next + 1 < b->n_conns ? b->next + 1 : 0;
        }
        while (b->heard < want)
            pair_turn(&b->pair);
    }
    return b->pair.spent / done;
}

static double bulk_tx(struct bench *b)
{
    uint64_t from = b->heard;
    b->pair.spent = 0;
    while (b->heard - from < SEGMENTS * (uint64_t)MSS)
        pair_turn(&b->pair);
    return b->pair.spent * MSS / (double)(b->heard - from);
}

static double bulk_rx(struct bench *b)
{
    const struct counters *c = &b->pair.server.counters;
    uint64_t from = counter_get(c, COUNTER_TCP_RX_BYTES);
    b->pair.spent = 0;
    while (counter_get(c, COUNTER_TCP_RX_BYTES) - from < SEGMENTS * (uint64_t)MSS)
        pair_turn(&b->pair);
    return b->pair.spent * MSS / (double)(counter_get(c, COUNTER_TCP_RX_BYTES) - from);
}

static double conn(struct bench *b)
{
    const struct counters *c = &b->pair.server.counters;
    uint64_t from = counter_get(c, COUNTER_TCP_CLOSED);
    b->pair.spent = 0;
    for (uint32_t k = 0; k < OPENS; k += PAIR_BURST) {
        for (uint32_t i = 0; i < PAIR_BURST; i++)
            pair_connect(&b->pair, PORT_ECHO, k + i, &client_once, NULL);
        while (counter_get(c, COUNTER_TCP_CLOSED) - from < k + PAIR_BURST)
            pair_turn(&b->pair);
    }
    return b->pair.spent / (double)(counter_get(c, COUNTER_TCP_CLOSED) - from);
}

static void put_syn(struct pkt *p, uint32_t k)
{
    struct ether_hdr eth = {
        .dst = pair_mac_server, .src = pair_mac_client, .type = ETHER_TYPE_IPV4};
    struct ipv4_hdr ip = {.src = ip_from_v4(ADDR_NOBODY + k % SYNS),
                          .dst = ip_from_v4(PAIR_SERVER),
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
    const struct counters *c = &b->pair.server.counters;
    uint64_t from = counter_get(c, COUNTER_TCP_COOKIES_TX);
    b->pair.spent = 0;
    for (uint32_t k = 0; k < COOKIES; k += PAIR_BURST) {
        struct pkt *burst[PAIR_BURST];
        b->pair.now += TICK_US;
        for (uint32_t i = 0; i < PAIR_BURST; i++)
            put_syn(burst[i] = pair_packet(&b->pair), k + i);
        unsigned n = pair_serve(&b->pair, burst, PAIR_BURST);
        for (unsigned i = 0; i < n; i++)
            pkt_free(burst[i]);
    }
    pair_check(counter_get(c, COUNTER_TCP_COOKIES_TX) - from + 1 >= COOKIES,
               "SYNs without cookies");
    return b->pair.spent / COOKIES;
}

/* ---- the peer ---- */

/* Of n bytes: summed where they come in; copied, and summed, where they go out. */
static double least(struct bench *b, uint32_t in, uint32_t out)
{
    volatile uint16_t keep;
    uint64_t from = 0;
    double spent = 0;
    for (; from < SEGMENTS; from += PAIR_BURST) {
        for (uint32_t i = 0; i < PAIR_BURST; i++) /* as they come from a driver */
            memset(b->pair.packet[(from + i) % PAIR_PACKETS].bytes, (int)i, in);
        double start = pair_clock();
        for (uint32_t i = 0; i < PAIR_BURST; i++) {
            uint8_t *bytes = b->pair.packet[(from + i) % PAIR_PACKETS].bytes;
            struct checksum sum = checksum_add(CHECKSUM_EMPTY, bytes, in);
            keep = checksum_finish(sum);
            memcpy(bytes, b->pair.packet[(from + i + PAIR_PACKETS / 2) % PAIR_PACKETS].bytes, out);
            keep = checksum_finish(checksum_add(CHECKSUM_EMPTY, bytes, out));
        }
        spent += pair_clock() - start;
    }
    (void)keep;
    return spent / (double)from;
}

/* ---- figures ---- */

typedef double (*work_fn)(struct bench *b);

static void measure(struct bench *b, const char *name, const char *unit, work_fn work, uint32_t in,
                    uint32_t out)
{
    double ours[ROUNDS], peer[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = work(b);
        peer[i] = in + out > 0 ? least(b, in, out) : 0;
    }
    bool alone = in + out == 0;
    pair_report("tcp_stack", name, unit, pair_median(ours, ROUNDS),
                alone ? NULL : "summing and copying the bytes", pair_median(peer, ROUNDS));
}

static void run_echo(uint32_t n)
{
    static struct bench b;
    char name[32];
    bench_open(&b, n);
    size_t before = b.pair.server.held;
    connect_all(&b, PORT_ECHO);
    for (uint32_t k = 0; k < 2 * n; k += ECHOES) /* warm; each has been asked */
        echo(&b);
    snprintf(name, sizeof(name), "echo/%" PRIu32, n);
    measure(&b, name, PAIR_UNIT "/request", echo, REQUEST, REQUEST);
    pair_pass(&b.pair, 3 * TICK_SEC, TICK_MS);
    snprintf(name, sizeof(name), "idle-memory/%" PRIu32, n);
    if (n >= 10000) /* memory is taken in chunks */
        pair_report("tcp_stack", name, "bytes/connection",
                    (double)(b.pair.server.held - before) / n, NULL, 0);
    bench_close(&b);
}

static void run_bulk_tx(void)
{
    static struct bench b;
    bench_open(&b, 1);
    connect_all(&b, PORT_SOURCE);
    bulk_tx(&b);
    measure(&b, "bulk-tx", PAIR_UNIT "/segment", bulk_tx, 0, MSS);
    bench_close(&b);
}

static void run_bulk_rx(void)
{
    static struct bench b;
    static struct stream_service source;
    source = service_source;
    source.reset = pair_on_reset;
    bench_open(&b, 1);
    pair_connect(&b.pair, PORT_SINK, 0, &source, NULL);
    bulk_rx(&b);
    measure(&b, "bulk-rx", PAIR_UNIT "/segment", bulk_rx, MSS, 0);
    bench_close(&b);
}

static void run_conn(void)
{
    static struct bench b;
    bench_open(&b, 1);
    conn(&b);
    measure(&b, "conn", PAIR_UNIT "/connection", conn, 0, 0);
    bench_close(&b);
}

static void run_cookie(void)
{
    static struct bench b;
    bench_open(&b, 1);
    cookie(&b);
    measure(&b, "cookie", PAIR_UNIT "/SYN", cookie, 0, 0);
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
