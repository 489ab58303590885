/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stack with listeners, and peers whose segments fit more or less, while services write, hold
 * back, end and abort, routers complain, time passes, the configuration changes and memory runs
 * out. Whatever service or peer reads is what the other side wrote at that place of its stream; a
 * segment is dropped for one reason at most; the clock always moves on; and when all is over
 * nothing is held.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "stack/stack.h"
#include "support/frame.h"
#include "support/heap.h"
#include "tcp/conn.h"
#include "wire/proto.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define STEPS   200u
#define PEERS   4u
#define STREAMS 64u

static const struct mac_addr us_mac = {{2, 0, 0, 0, 0, 1}};
static const struct mac_addr peer_mac = {{2, 0, 0, 0, 0, 2}};
static const struct ip_addr us4 = {{[10] = 0xff, 0xff, 192, 0, 2, 1}};
static const struct ip_addr peer4 = {{[10] = 0xff, 0xff, 192, 0, 2, 2}};
static const struct ip_addr us6 = {{0x20, 1, 0xd, 0xb8, [15] = 1}};
static const struct ip_addr peer6 = {{0x20, 1, 0xd, 0xb8, [15] = 2}};

/* The other end of a flow. */
struct peer {
    bool v4;
    uint16_t port;
    uint16_t us_port;
    /* Where the stack's numbers start: of its port 7, its 8, and the one it last opened from. */
    seq32_t iss[3];
    uint16_t opened_from;
    seq32_t seq; /* what the stack expects */
    seq32_t ack; /* what it sends next */
    uint32_t ts; /* its clock */
    uint32_t ts_echo;
    bool timestamps;
    bool asked; /* the stack has opened one and waits for an answer */
};

struct fuzz {
    struct reader in; /* zeroes when it has run out */
    struct heap heap;
    struct heap_pool pool;
    struct counters counters;
    struct iface_config iface;
    struct stack_config config;
    struct stack_listener listener[2];
    struct stack *stack;
    tick_t now;
    struct peer peer[PEERS];
    struct stream *live[STREAMS]; /* of services */
    unsigned n_live;
    bool hold;
    struct frame frame;
    uint8_t out[70000];
    uint32_t out_len; /* of the last segment said */
};

static struct fuzz f;

/* ---- bytes ---- */

/* Byte number n of the stream that a service sends. */
#define PERIOD 251u
static uint8_t pattern[PERIOD + 4096];

/* And what a peer sends under this number. */
static uint8_t byte_of(uint32_t seq)
{
    return (uint8_t)(seq * 7 + (seq >> 8));
}

/* ---- services: user counts bytes that came, and that went, by halves ---- */

static uint32_t came(const struct stream *s)
{
    return (uint32_t)(uintptr_t)s->user;
}

static uint32_t went(const struct stream *s)
{
    return (uint32_t)((uintptr_t)s->user >> 32);
}

static void count(struct stream *s, uint32_t in, uint32_t out)
{
    s->user = (void *)((uintptr_t)(came(s) + in) | (uintptr_t)(went(s) + out) << 32);
}

static unsigned find(const struct stream *s)
{
    unsigned i = 0;
    while (i < f.n_live && f.live[i] != s)
        i++;
    return i;
}

static void on_opened(struct stream *s)
{
    require(find(s) == f.n_live);
    if (f.n_live == STREAMS)
        stream_abort(s);
    else
        f.live[f.n_live++] = s;
}

static void forget(struct stream *s)
{
    unsigned i = find(s);
    if (i < f.n_live)
        f.live[i] = f.live[--f.n_live];
}

static void on_data(struct stream *s, struct pkt *view, bool end)
{
    const struct tcp_conn *c = container_of(s, struct tcp_conn, stream);
    require(find(s) < f.n_live && (view || end));
    uint32_t n = view ? view->len : 0;
    for (uint32_t i = 0; i < n; i++)
        require(view->data[i] == byte_of(c->irs.v + 1 + came(s) + i));
    count(s, n, 0);
    pkt_free(view);
    if (!f.hold)
        stream_consume(s, stream_unconsumed(s));
}

static void on_ended(struct stream *s)
{
    require(find(s) < f.n_live);
    forget(s);
}

static void on_reset(struct stream *s, enum stream_code code)
{
    require(code > STREAM_OK && code < STREAM_CODE_END);
    forget(s);
}

static const struct stream_service service = {
    .name = "fuzz", .opened = on_opened, .data = on_data, .ended = on_ended, .reset = on_reset};

static void write_some(struct stream *s, uint32_t n)
{
    if (s->bits & STREAM_OUT_END)
        return;
    n = n % 4096 + 1;
    if (stream_write(s, vec_of_const(pattern + went(s) % PERIOD, n)))
        count(s, 0, n);
}

/* ---- what it says ---- */

static const struct ip_addr *us_of(const struct peer *p)
{
    return p->v4 ? &us4 : &us6;
}

static const struct ip_addr *addr_of(const struct peer *p)
{
    return p->v4 ? &peer4 : &peer6;
}

static struct peer *peer_of(const struct frame_seen *s)
{
    for (unsigned i = 0; i < PEERS; i++)
        if (f.peer[i].v4 == s->v4 && f.peer[i].port == s->tcp.dst_port)
            return &f.peer[i];
    return NULL;
}

/* Where the numbers of this port of the stack's are. NULL: they are not known any more. */
static seq32_t *iss_of(struct peer *p, uint16_t us_port)
{
    if (us_port == 7 || us_port == 8)
        return &p->iss[us_port - 7];
    return us_port == p->opened_from ? &p->iss[2] : NULL;
}

static void look_at(const struct frame_seen *s)
{
    const struct tcp_hdr *h = &s->tcp;
    struct peer *p = peer_of(s);
    require(p);
    uint32_t n = s->upper_len - h->len;
    if (h->flags & TCP_RST)
        return;
    if (h->flags & TCP_SYN) {
        p->asked = !(h->flags & TCP_ACK);
        p->us_port = h->src_port;
        if (p->asked)
            p->opened_from = h->src_port;
    }
    seq32_t *iss = iss_of(p, h->src_port);
    if ((h->flags & TCP_SYN) && iss)
        *iss = h->seq;
    for (uint32_t i = 0; iss && i < n; i++)
        require(s->upper[h->len + i] == (h->seq.v + i - iss->v - 1) % PERIOD);
    if (p->us_port != h->src_port)
        return; /* of one before */
    p->ack = seq32_add(h->seq, tcp_seq_len(h, n));
    if (h->flags & TCP_ACK)
        p->seq = h->ack;
    if (h->options.has_timestamps)
        p->ts_echo = h->options.ts_value;
}

static void hear(void);

/* Neighbours answer whenever they are asked. */
static void introduce(bool v4)
{
    if (v4) {
        struct arp_msg m = {
            .op = ARP_REQUEST, .sender_mac = peer_mac, .sender_ip = peer4, .target_ip = us4};
        uint8_t body[ARP_LEN];
        arp_emit(&m, body);
        frame_bytes(&f.frame, body, sizeof(body));
        frame_push_ether(&f.frame, &MAC_BROADCAST, &peer_mac, ETHER_TYPE_ARP);
    } else {
        struct nd_msg m = {.type = ICMPV6_NEIGH_SOLICIT,
                           .target = us6,
                           .has_source_link = true,
                           .source_link = peer_mac};
        uint8_t body[ND_EMIT_MAX];
        frame_bytes(&f.frame, body, (uint32_t)nd_emit(&m, &peer6, &us6, body));
        frame_push_ip6(&f.frame, &(struct ipv6_hdr){.src = peer6,
                                                    .dst = us6,
                                                    .next = IP_PROTO_ICMPV6,
                                                    .hop_limit = ND_HOP_LIMIT});
        frame_push_ether(&f.frame, &us_mac, &peer_mac, ETHER_TYPE_IPV6);
    }
    hear();
}

static void take(struct pkt *p)
{
    struct frame_seen s;
    require(pkt_ok(p) && p->total <= sizeof(f.out));
    require(p->total - ETHER_LEN <= f.iface.mtu);
    require(!p->next || (f.iface.offload & IFACE_TX_MULTI_SEGS));
    pkt_copy_out(p, 0, f.out, p->total);
    f.out_len = p->total;
    pkt_free(p);
    require(!frame_parse(f.out, f.out_len, false, &s));
    if (s.kind == FRAME_TCP)
        look_at(&s);
}

static void drain(void)
{
    struct pkt *p;
    unsigned idle = 0;
    while (stack_pending(f.stack, 0) > 0 && idle < 1000) {
        idle++;
        while (stack_output(f.stack, 0, &p, 1, f.now) == 1) {
            take(p);
            idle = 0;
        }
    }
    require(idle < 1000 || f.pool.limit != SIZE_MAX || f.heap.limit != SIZE_MAX);
}

/* ---- what it hears ---- */

static uint64_t tcp_drops(void)
{
    uint64_t sum = 0;
    for (enum drop d = DROP_TCP_PORT; d <= DROP_TCP_MEMORY; d++)
        sum += counter_drops(&f.counters, d);
    return sum;
}

static void hear(void)
{
    struct pkt *p = heap_pkt(&f.pool, f.frame.at, f.frame.len, 0);
    if (!p)
        return;
    uint64_t before = tcp_drops();
    stack_input(f.stack, &p, 1, f.now);
    require(tcp_drops() - before <= 1);
}

static void send(const struct peer *p, const struct tcp_hdr *h, uint32_t n)
{
    static uint8_t data[2000];
    for (uint32_t i = 0; i < n; i++)
        data[i] = byte_of(h->seq.v + !!(h->flags & TCP_SYN) + i);
    frame_bytes(&f.frame, data, n);
    frame_push_tcp(&f.frame, h, addr_of(p), us_of(p));
    if (p->v4)
        frame_push_ip4(&f.frame, &(struct ipv4_hdr){.src = peer4,
                                                    .dst = us4,
                                                    .proto = IP_PROTO_TCP,
                                                    .tos = reader_u8(&f.in) & 3});
    else
        frame_push_ip6(&f.frame,
                       &(struct ipv6_hdr){.src = peer6, .dst = us6, .next = IP_PROTO_TCP});
    frame_push_ether(&f.frame, &us_mac, &peer_mac, p->v4 ? ETHER_TYPE_IPV4 : ETHER_TYPE_IPV6);
    hear();
}

static struct tcp_hdr header(struct peer *p, uint16_t flags)
{
    p->ts += reader_u8(&f.in) & 7;
    struct tcp_hdr h = {
        .src_port = p->port,
        .dst_port = p->us_port,
        .seq = p->seq,
        .ack = flags & TCP_ACK ? p->ack : seq32(0),
        .flags = flags,
        .window = 0xffff,
        .options = {.has_timestamps = p->timestamps, .ts_value = p->ts, .ts_echo = p->ts_echo}};
    return h;
}

static void syn(struct peer *p)
{
    uint8_t what = reader_u8(&f.in);
    p->us_port = what & 1 ? 7 : 8;
    p->timestamps = what & 2;
    p->seq = seq32_add(p->seq, reader_u16(&f.in) * 16u);
    struct tcp_hdr h = header(p, what & 4 ? TCP_SYN | TCP_ECE | TCP_CWR : TCP_SYN);
    h.options.has_mss = what & 8;
    h.options.mss = reader_u16(&f.in);
    h.options.sack_permitted = what & 16;
    h.options.has_wscale = what & 32;
    h.options.wscale = reader_u8(&f.in) % 15;
    send(p, &h, what & 64 ? 10 : 0);
    drain();
    h = header(p, TCP_ACK);
    if (what & 128)
        send(p, &h, 0);
}

/* What the connection waits for, most of the time. */
static void fitting(struct peer *p)
{
    uint8_t what = reader_u8(&f.in);
    uint16_t flags = p->asked ? TCP_SYN | TCP_ACK : TCP_ACK;
    if ((what & 0xf) == 0xf)
        flags |= TCP_FIN;
    if ((what & 0xf0) == 0xf0)
        flags |= TCP_RST;
    struct tcp_hdr h = header(p, flags);
    p->asked = false;
    send(p, &h, what & 0x10 ? reader_u16(&f.in) % 1400 : 0);
}

/* Near it. */
static void odd(struct peer *p)
{
    struct tcp_hdr h = header(p, reader_u8(&f.in));
    uint16_t off = reader_u16(&f.in);
    h.seq = off & 1 ? seq32_add(h.seq, off) : seq32_sub(h.seq, off);
    off = reader_u16(&f.in);
    if (off & 3)
        h.ack = off & 4 ? seq32_add(h.ack, off) : seq32_sub(h.ack, off);
    h.window = reader_u16(&f.in);
    h.urgent = reader_u8(&f.in);
    uint8_t n = reader_u8(&f.in);
    h.options.has_timestamps ^= (n & 0x40) != 0;
    h.options.ts_value += n & 0x20 ? 0u - reader_u16(&f.in) : 0;
    if (!(h.flags & TCP_SYN))
        h.options.n_sack = n % 4;
    for (unsigned i = 0; i < h.options.n_sack; i++) {
        seq32_t left = seq32_sub(p->ack, reader_u16(&f.in));
        h.options.sack[i] = (struct tcp_sack){left, seq32_add(left, reader_u16(&f.in))};
    }
    send(p, &h, n & 0x80 ? reader_u16(&f.in) % 1400 : 0);
}

/* The last frame that it said comes back in an error. */
static void complain(void)
{
    static uint8_t quoted[100];
    struct frame_seen s;
    if (f.out_len == 0 || frame_parse(f.out, f.out_len, false, &s) || s.kind != FRAME_TCP)
        return;
    uint32_t n = f.out_len - ETHER_LEN;
    n = n < sizeof(quoted) ? n : sizeof(quoted);
    memcpy(quoted, f.out + ETHER_LEN, n);
    frame_bytes(&f.frame, quoted, n);
    uint8_t what = reader_u8(&f.in);
    uint16_t mtu = reader_u16(&f.in);
    if (s.v4) {
        frame_push_icmp(&f.frame,
                        &(struct icmp_hdr){.type = ICMP_UNREACHABLE, .code = what & 7, .mtu = mtu});
        frame_push_ip4(&f.frame,
                       &(struct ipv4_hdr){.src = peer4, .dst = us4, .proto = IP_PROTO_ICMP});
    } else {
        struct icmpv6_hdr h = {.type = 1 + what % 4, .code = what >> 2 & 7};
        if (h.type == ICMPV6_TOO_BIG)
            h.mtu = mtu;
        frame_push_icmp6(&f.frame, &h, &peer6, &us6);
        frame_push_ip6(&f.frame,
                       &(struct ipv6_hdr){.src = peer6, .dst = us6, .next = IP_PROTO_ICMPV6});
    }
    frame_push_ether(&f.frame, &us_mac, &peer_mac, s.v4 ? ETHER_TYPE_IPV4 : ETHER_TYPE_IPV6);
    hear();
}

/* ---- what else happens ---- */

static void pass(tick_t d)
{
    tick_t end = f.now + d;
    for (unsigned wakes = 0;; wakes++) {
        require(wakes < 1000000); /* time moves on */
        tick_t next = stack_deadline(f.stack);
        if (next > end)
            break;
        f.now = next > f.now ? next : f.now;
        stack_expire(f.stack, f.now);
        drain();
    }
    f.now = end;
}

static void serve(void)
{
    uint8_t what = reader_u8(&f.in);
    if (f.n_live == 0)
        return;
    struct stream *s = f.live[reader_u8(&f.in) % f.n_live];
    switch (what % 6) {
    case 0: stream_end(s); break;
    case 1:
        forget(s);
        stream_abort(s);
        break;
    case 2: f.hold = !f.hold; break;
    case 3: stream_consume(s, stream_unconsumed(s) / 2); break;
    default: write_some(s, reader_u16(&f.in)); break;
    }
}

static void configure(void)
{
    uint8_t what = reader_u8(&f.in);
    f.iface.n_addrs = what & 1 ? 2 : 1;
    f.iface.mtu = what & 2 ? 1500 : 1280;
    f.config.n_listeners = what >> 2 & 1 ? 2 : 1;
    f.listener[0].backlog = what & 8 ? 1 : 0;
    f.listener[0].no_cookies = what & 16;
    f.config.tcp.nagle = what & 32;
    f.config.tcp.ecn = what & 64 ? TCP_ECN_REQUEST : TCP_ECN_ACCEPT;
    f.config.tcp.time_wait = what & 128 ? TICK_SEC : 0;
    stack_configure(f.stack, &f.config, f.now); /* memory may be out */
}

static void control(void)
{
    struct ctl_connection rows[3];
    struct ctl_listener listeners[1];
    uint8_t what = reader_u8(&f.in);
    struct ctl_request r = {.kind = CTL_CONNECTIONS, .rows.connection = rows, .max = 3};
    for (unsigned pages = 0; pages == 0 || r.more; pages++) {
        require(pages < 64);
        stack_control(f.stack, &r, f.now);
    }
    if (r.n > 0 && (what & 1)) {
        r = (struct ctl_request){.kind = CTL_CONNECTION_RESET, .id = rows[r.n - 1].id};
        stack_control(f.stack, &r, f.now);
        require(r.n == 1);
    }
    r = (struct ctl_request){.kind = CTL_LISTENERS, .rows.listener = listeners, .max = 1};
    do {
        stack_control(f.stack, &r, f.now);
        require(listeners[0].half_open <= listeners[0].connections);
    } while (r.more);
}

static void open_one(struct peer *p)
{
    struct stack_connect to = {.remote = *addr_of(p), .port = p->port, .service = &service};
    stack_connect(f.stack, &to, f.now, NULL);
}

static void step(void)
{
    uint8_t what = reader_u8(&f.in);
    struct peer *p = &f.peer[what >> 6 & (PEERS - 1)];
    switch (what & 0xf) {
    case 0:
    case 1: syn(p); break;
    case 2:
    case 3:
    case 4:
    case 5: fitting(p); break;
    case 6:
    case 7: odd(p); break;
    case 8: complain(); break;
    case 9: pass((tick_t)reader_u8(&f.in) * reader_u8(&f.in) * TICK_MS); break;
    case 10:
    case 11: serve(); break;
    case 12: configure(); break;
    case 13: control(); break;
    case 14: open_one(p); break;
    default:
        if (what & 16)
            f.pool.limit = f.pool.limit == SIZE_MAX ? f.pool.held + 2 : SIZE_MAX;
        else
            f.heap.limit = f.heap.limit == SIZE_MAX ? f.heap.bytes : SIZE_MAX;
        break;
    }
    if (what & 32 || f.n_live > STREAMS / 2)
        drain();
}

/* Nobody answers any more, and all that is open times out. */
static void settle(void)
{
    f.pool.limit = SIZE_MAX;
    f.heap.limit = SIZE_MAX;
    f.hold = false;
    for (unsigned i = 0; i < f.n_live; i++)
        stream_consume(f.live[i], stream_unconsumed(f.live[i]));
    introduce(true);
    introduce(false);
    drain();
    pass(24 * 3600 * TICK_SEC);
    require(f.n_live == 0 && f.pool.held == 0);
    require(counter_get(&f.counters, COUNTER_TCP_OPENED) ==
            counter_get(&f.counters, COUNTER_TCP_CLOSED));
    require(stack_deadline(f.stack) == TICK_NEVER);
}

static void start(void)
{
    uint8_t what = reader_u8(&f.in);
    for (uint32_t i = 0; i < sizeof(pattern); i++)
        pattern[i] = (uint8_t)(i % PERIOD);
    heap_init(&f.heap);
    heap_pool_init(&f.pool, 128, 2048);
    f.iface = (struct iface_config){.name = "p0",
                                    .mac = us_mac,
                                    .mtu = 1500,
                                    .offload = what & 1 ? IFACE_TX_MULTI_SEGS : 0,
                                    .n_addrs = 2,
                                    .addr = {{us6, 64}, {us4, 24}},
                                    .ipv6 = true};
    for (unsigned i = 0; i < 2; i++)
        f.listener[i] = (struct stack_listener){
            .name = {(char)('a' + i)}, .port = (uint16_t)(7 + i), .service = &service};
    f.listener[0].backlog = what & 2 ? 1 : 0;
    f.config = (struct stack_config){.n_workers = 1,
                                     .n_ifaces = 1,
                                     .iface = &f.iface,
                                     .icmp = {.echo = true, .errors = true},
                                     .limits = {.neighbours = 6,
                                                .paths = 4,
                                                .reass_datagrams = 1,
                                                .flows = what & 4 ? 3 : 32,
                                                .time_wait = 2},
                                     .n_listeners = 2,
                                     .listener = f.listener};
    f.config.tcp.keepalive = 7200 * TICK_SEC; /* or a peer that is silent would stay for ever */
    f.config.limits.tcp_memory = what & 8 ? 16 * PKT_COST : 0;
    for (unsigned i = 0; i < PEERS; i++)
        f.peer[i] = (struct peer){
            .v4 = i & 1, .port = (uint16_t)(1024 + i / 2), .us_port = 7, .seq = seq32(0xffffff00)};
    f.now = TICK_SEC;
    struct stack_env env = {
        .mem = &f.heap.mem, .pool = &f.pool.pool, .counters = &f.counters, .seed = {what}};
    f.stack = stack_create(&f.config, &env, f.now, NULL);
    require(f.stack);
    pass(4 * TICK_SEC);
    introduce(true);
    introduce(false);
    drain();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memset(&f, 0, offsetof(struct fuzz, frame));
    f.out_len = 0;
    f.in = reader_of(data, size);
    start();
    for (unsigned n = 0; n < STEPS && reader_left(&f.in) > 0; n++)
        step();
    settle();
    stack_destroy(f.stack);
    require(f.heap.blocks == 0 && f.pool.held == 0);
    return 0;
}
