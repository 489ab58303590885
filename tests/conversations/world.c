/* SPDX-License-Identifier: BSD-3-Clause */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "report.h"
#include "service.h"
#include "support/frame.h"
#include "support/heap.h"
#include "wire/checksum.h"
#include "wire/proto.h"

#define BEGIN       (1000 * TICK_SEC)
#define CALLS_MAX   20000u        /* of the stack, at one time */
#define ISN_TICK    (4 * TICK_US) /* RFC 6528 3 */
#define OURS_BEHIND 300u          /* our initial sequence number, from the peer's */

static const struct mac_addr us_mac = {{2, 0, 0, 0, 0, 1}};
static const struct mac_addr peer_mac = {{2, 0, 0, 0, 0, 2}};
static struct ip_addr us, peer;

static struct {
    struct script_settings settings;
    struct heap heap;
    struct heap_pool pool;
    struct counters counters, at_first;
    struct iface_config iface;
    struct stack *stack;
    tick_t now;
    tick_t begun;
    struct flow flow[WORLD_FLOWS];
    struct said said[WORLD_SAID];
    unsigned head, tail;
    struct frame frame;
} world;

tick_t world_now(void)
{
    return world.now;
}

const struct script_settings *world_settings(void)
{
    return &world.settings;
}

/* Flows */

struct flow *flow_of(unsigned n)
{
    if (n == 0 || n >= WORLD_FLOWS)
        fail("no connection has the number %u", n);
    struct flow *f = &world.flow[n];
    if (!f->used)
        *f = (struct flow){.used = true, .our_port = WORLD_LISTENER, .irs = world.settings.isn};
    return f;
}

unsigned flow_by_port(uint16_t port)
{
    if (port <= WORLD_PEER_PORT || port - WORLD_PEER_PORT >= WORLD_FLOWS)
        fail("a segment for the peer's port %u", port);
    return port - WORLD_PEER_PORT;
}

static uint16_t peer_port(unsigned flow)
{
    return (uint16_t)(WORLD_PEER_PORT + flow);
}

/* To the stack */

/* As long as the frame, so that a sanitizer sees a read beyond it; or in a whole buffer. */
static struct pkt *received(void)
{
    if (!world.settings.tailroom || world.frame.len > world.pool.pool.room)
        return heap_pkt(&world.pool, world.frame.at, world.frame.len, 0);
    struct pkt *p = pkt_alloc(&world.pool.pool);
    uint8_t *at = p ? pkt_put(p, world.frame.len) : NULL;
    if (at)
        memcpy(at, world.frame.at, world.frame.len);
    return at ? p : NULL;
}

static void give(void)
{
    struct pkt *p = received();
    if (!p)
        fail("no memory for a frame");
    stack_input(world.stack, &p, 1, world.now);
}

static void give_ip(uint8_t proto, uint8_t tos)
{
    if (ip_is_v4(&us)) {
        struct ipv4_hdr h = {.src = peer, .dst = us, .proto = proto, .tos = tos};
        frame_push_ip4(&world.frame, &h);
        frame_push_ether(&world.frame, &us_mac, &peer_mac, ETHER_TYPE_IPV4);
    } else {
        struct ipv6_hdr h = {.src = peer, .dst = us, .next = proto, .traffic_class = tos};
        frame_push_ip6(&world.frame, &h);
        frame_push_ether(&world.frame, &us_mac, &peer_mac, ETHER_TYPE_IPV6);
    }
    give();
}

static struct bases peers_bases(const struct flow *f)
{
    return (struct bases){.seq = f->irs, .ack = f->ours_known ? f->iss : 0, .ts_echo = f->ts_base};
}

/* The TCP header with its options, in front of world.frame, and the checksum. */
static void push_header(const struct segment *s)
{
    struct flow *f = flow_of(s->flow);
    struct bases b = peers_bases(f);
    uint8_t header[SEGMENT_HEADER_MAX];
    size_t n = segment_emit(s, &b, peer_port(s->flow), f->our_port, header);
    if (n == 0)
        fail("the options take more than %u bytes", SEGMENT_OPTIONS);
    uint32_t len = world.frame.len + (uint32_t)n;
    struct checksum c = checksum_pseudo(&peer, &us, IP_PROTO_TCP, len);
    c = checksum_add(c, header, n);
    c = checksum_add(c, world.frame.at, world.frame.len);
    store_be16(header + 16, (uint16_t)(checksum_finish(c) ^ (s->bad_sum ? 0x0100 : 0)));
    memcpy(frame_push(&world.frame, (uint32_t)n), header, n);
}

void world_hear(const struct segment *s)
{
    frame_payload(&world.frame, s->len);
    for (uint32_t i = 0; i < s->len; i++)
        world.frame.at[i] = content_byte(s->content, s->seq + i);
    push_header(s);
    give_ip(IP_PROTO_TCP, s->ecn > 0 ? (uint8_t)s->ecn : 0);
}

/* The packet that an ICMP error is about: ours, as far as it is quoted. */
static void put_quoted(const struct segment *s)
{
    struct flow *f = flow_of(s->flow);
    uint8_t header[20] = {0};
    store_be16(header, f->our_port);
    store_be16(header + 2, peer_port(s->flow));
    store_be32(header + 4, f->iss + s->seq);
    header[12] = 5 << 4;
    header[13] = FLAG_ACK;
    frame_bytes(&world.frame, header, sizeof(header));
    uint32_t total = s->len + 20; /* as it was */
    if (ip_is_v4(&us)) {
        struct ipv4_hdr h = {.src = us, .dst = peer, .proto = IP_PROTO_TCP, .dont_fragment = true};
        frame_push_ip4(&world.frame, &h);
        store_be16(world.frame.at + 2, (uint16_t)(total + IPV4_LEN));
        return;
    }
    frame_push_ip6(&world.frame, &(struct ipv6_hdr){.src = us, .dst = peer, .next = IP_PROTO_TCP});
    store_be16(world.frame.at + 4, (uint16_t)total);
}

static struct icmp_hdr news4(const struct event *e)
{
    static const uint8_t codes[] = {
        [NEWS_NET] = ICMP_NET_UNREACHABLE,        [NEWS_HOST] = ICMP_HOST_UNREACHABLE,
        [NEWS_PROTOCOL] = ICMP_PROTO_UNREACHABLE, [NEWS_PORT] = ICMP_PORT_UNREACHABLE,
        [NEWS_ADMIN] = ICMP_ADMIN_PROHIBITED,     [NEWS_TOO_BIG] = ICMP_FRAG_NEEDED,
    };
    if (e->news == NEWS_TIME_EXCEEDED)
        return (struct icmp_hdr){.type = ICMP_TIME_EXCEEDED};
    return (struct icmp_hdr){
        .type = ICMP_UNREACHABLE, .code = codes[e->news], .mtu = (uint16_t)e->mtu};
}

static struct icmpv6_hdr news6(const struct event *e)
{
    static const uint8_t codes[] = {
        [NEWS_NET] = ICMPV6_NO_ROUTE,
        [NEWS_HOST] = ICMPV6_ADDR_UNREACHABLE,
        [NEWS_PORT] = ICMPV6_PORT_UNREACHABLE,
        [NEWS_ADMIN] = ICMPV6_ADMIN_PROHIBITED,
    };
    switch (e->news) {
    case NEWS_TOO_BIG: return (struct icmpv6_hdr){.type = ICMPV6_TOO_BIG, .mtu = e->mtu};
    case NEWS_TIME_EXCEEDED: return (struct icmpv6_hdr){.type = ICMPV6_TIME_EXCEEDED};
    case NEWS_PROTOCOL:
        return (struct icmpv6_hdr){
            .type = ICMPV6_PARAM_PROBLEM, .code = ICMPV6_BAD_NEXT_HEADER, .pointer = 6};
    default: return (struct icmpv6_hdr){.type = ICMPV6_UNREACHABLE, .code = codes[e->news]};
    }
}

void world_hear_icmp(const struct event *e)
{
    put_quoted(&e->segment);
    if (ip_is_v4(&us)) {
        struct icmp_hdr h = news4(e);
        frame_push_icmp(&world.frame, &h);
        give_ip(IP_PROTO_ICMP, 0);
    } else {
        struct icmpv6_hdr h = news6(e);
        frame_push_icmp6(&world.frame, &h, &peer, &us);
        give_ip(IP_PROTO_ICMPV6, 0);
    }
}

/* From the stack */

static void answer_arp(const struct frame_seen *s)
{
    if (s->arp.op != ARP_REQUEST || !ip_eq(&s->arp.target_ip, &peer))
        return;
    struct arp_msg m = {.op = ARP_REPLY,
                        .sender_mac = peer_mac,
                        .sender_ip = peer,
                        .target_mac = us_mac,
                        .target_ip = us};
    uint8_t body[ARP_LEN];
    arp_emit(&m, body);
    frame_bytes(&world.frame, body, sizeof(body));
    frame_push_ether(&world.frame, &us_mac, &peer_mac, ETHER_TYPE_ARP);
    give();
}

static void answer_nd(const struct frame_seen *s)
{
    if (s->nd.type != ICMPV6_NEIGH_SOLICIT || !ip_eq(&s->nd.target, &peer))
        return;
    struct nd_msg m = {.type = ICMPV6_NEIGH_ADVERT,
                       .target = peer,
                       .has_target_link = true,
                       .target_link = peer_mac,
                       .solicited = true,
                       .override = true};
    uint8_t body[ND_EMIT_MAX];
    frame_bytes(&world.frame, body, (uint32_t)nd_emit(&m, &peer, &s->src, body));
    frame_push_ip6(&world.frame, &(struct ipv6_hdr){.src = peer,
                                                    .dst = s->src,
                                                    .next = IP_PROTO_ICMPV6,
                                                    .hop_limit = ND_HOP_LIMIT});
    frame_push_ether(&world.frame, &us_mac, &peer_mac, ETHER_TYPE_IPV6);
    give();
}

static struct bases our_bases(const struct flow *f)
{
    return (struct bases){.seq = f->ours_known ? f->iss : 0, .ack = f->irs, .ts_value = f->ts_base};
}

void said_parse(const struct said *w, struct segment *s)
{
    struct bases b = our_bases(flow_of(w->flow));
    size_t header;
    const char *wrong = segment_parse(w->bytes, w->len, &b, s, &header);
    if (wrong)
        fail("sent %s", wrong);
    s->flow = w->flow;
    s->ecn = w->ecn;
}

/* A SYN of ours tells where our numbers begin. */
static void learn(unsigned n, const uint8_t *tcp)
{
    struct flow *f = flow_of(n);
    if (!(tcp[13] & FLAG_S) || (f->ours_known && load_be32(tcp + 4) == f->iss))
        return;
    if (f->ours_known)
        fail("a second initial sequence number in one connection");
    f->our_port = load_be16(tcp);
    f->iss = load_be32(tcp + 4);
    f->ours_known = true;
    if (n == 1 && !report->ours_learnt) {
        report->ours_learnt = true;
        report->ours = f->iss;
    }
}

static void check_payload(const struct said *w)
{
    struct segment s;
    said_parse(w, &s);
    const uint8_t *at = w->bytes + w->len - s.len;
    for (uint32_t i = 0; i < s.len; i++)
        if (at[i] != content_byte('O', s.seq + i))
            fail("byte %u of what was sent at +%u is 0x%02x, not 0x%02x", s.seq + i, i, at[i],
                 content_byte('O', s.seq + i));
}

static void keep_said(const struct frame_seen *seen)
{
    if (seen->upper_len < 20)
        fail("sent a TCP segment of %u bytes", seen->upper_len);
    struct checksum c = checksum_pseudo(&seen->src, &seen->dst, IP_PROTO_TCP, seen->upper_len);
    if (!checksum_ok(checksum_add(c, seen->upper, seen->upper_len)))
        fail("sent a wrong TCP checksum");
    if (world.tail - world.head == WORLD_SAID)
        fail("sent %u segments, and on", WORLD_SAID);
    struct said *w = &world.said[world.tail % WORLD_SAID];
    *w = (struct said){.at = world.now,
                       .flow = flow_by_port(load_be16(seen->upper + 2)),
                       .ecn = seen->v4 ? seen->ip4.tos & 3 : seen->ip6.traffic_class & 3,
                       .len = seen->upper_len,
                       .bytes = malloc(seen->upper_len)};
    if (!w->bytes)
        fail("no memory");
    memcpy(w->bytes, seen->upper, w->len);
    world.tail++;
    learn(w->flow, w->bytes);
    struct segment s;
    said_parse(w, &s);
    char text[SEGMENT_TEXT];
    segment_print(&s, text);
    note("%11.6f  > %s", (double)(world.now - world.begun) / 1e9, text);
    check_payload(w);
}

/* A frame from the stack reaches the peer. */
static void take(struct pkt *p)
{
    static uint8_t bytes[FRAME_ROOM + FRAME_MAX];
    if (!pkt_ok(p) || p->total > sizeof(bytes))
        fail("sent a packet that is none");
    uint32_t n = p->total;
    pkt_copy_out(p, 0, bytes, n);
    if (p->flags & (PKT_TX_IP_CSUM | PKT_TX_L4_CSUM | PKT_TX_TSO | PKT_TX_VLAN))
        fail("asked the device for what it does not do");
    pkt_free(p);
    struct frame_seen seen;
    const char *wrong = frame_parse(bytes, n, false, &seen);
    if (wrong)
        fail("sent a frame with %s", wrong);
    if (n - ETHER_LEN > world.iface.mtu)
        fail("sent %u bytes at an MTU of %u", n - ETHER_LEN, world.iface.mtu);
    if (seen.kind == FRAME_ARP)
        answer_arp(&seen);
    else if (seen.kind == FRAME_ICMP6)
        answer_nd(&seen);
    else if ((seen.v4 ? seen.ip4.proto : seen.ip6.next) == IP_PROTO_TCP)
        keep_said(&seen);
}

void world_settle(void)
{
    struct pkt *burst[32];
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        unsigned n = stack_output(world.stack, 0, burst, 32, world.now);
        for (unsigned k = 0; k < n; k++)
            take(burst[k]);
        if (n == 0 && stack_pending(world.stack, 0) == 0)
            return;
    }
    fail("the stack has something to send, again and again, at one time");
}

void world_pass(tick_t until, bool waiting)
{
    unsigned calls = 0;
    while (!(waiting && world_said())) {
        tick_t next = stack_deadline(world.stack);
        if (next > until)
            break;
        calls = next > world.now ? 0 : calls + 1;
        if (calls > CALLS_MAX)
            fail("the stack's deadline stays where it is");
        world.now = next > world.now ? next : world.now;
        stack_expire(world.stack, world.now);
        world_settle();
    }
    if (!(waiting && world_said()) && until != TICK_NEVER)
        world.now = until;
}

const struct said *world_said(void)
{
    return world.head == world.tail ? NULL : &world.said[world.head % WORLD_SAID];
}

void world_take_said(void)
{
    free(world.said[world.head++ % WORLD_SAID].bytes);
}

/* Its management */

void world_connect(unsigned n)
{
    struct flow *f = flow_of(n);
    struct stack_connect to = {
        .remote = peer, .port = peer_port(n), .service = &conversation_service};
    enum stack_error error = 0;
    f->stream = stack_connect(world.stack, &to, world.now, &error);
    if (!f->stream)
        fail("stack_connect: %d", (int)error);
}

bool world_row(unsigned flow, struct ctl_connection *row, uint32_t *n)
{
    static struct ctl_connection rows[64];
    struct ctl_request r = {.kind = CTL_CONNECTIONS, .rows.connection = rows, .max = 64};
    bool found = false;
    *n = 0;
    do {
        stack_control(world.stack, &r, world.now);
        for (uint32_t i = 0; i < r.n; i++) {
            if (rows[i].remote_port == peer_port(flow)) {
                *row = rows[i];
                found = true;
            }
        }
        *n += r.n;
    } while (r.more);
    return found;
}

bool world_kill(unsigned flow)
{
    struct ctl_connection row;
    uint32_t n;
    if (!world_row(flow, &row, &n))
        return false;
    struct ctl_request r = {.kind = CTL_CONNECTION_RESET, .id = row.id};
    stack_control(world.stack, &r, world.now);
    return r.n == 1;
}

uint64_t world_count(enum counter c)
{
    return counter_get(&world.counters, c) - counter_get(&world.at_first, c);
}

uint64_t world_drops(enum drop d)
{
    return counter_drops(&world.counters, d) - counter_drops(&world.at_first, d);
}

/* Beginning and end */

static void choose_addresses(uint32_t ip)
{
    if (ip == 4) {
        us = ip_from_v4(0xc0000201);
        peer = ip_from_v4(0xc0000202);
    } else if (!ip_parse("2001:db8::1", &us) || !ip_parse("2001:db8::2", &peer)) {
        fail("no addresses");
    }
}

static void create(void)
{
    struct script_settings *s = &world.settings;
    world.iface = (struct iface_config){.name = "wire0",
                                        .mac = us_mac,
                                        .mtu = (uint16_t)s->mtu,
                                        .offload = IFACE_TX_MULTI_SEGS,
                                        .n_addrs = 1,
                                        .addr = {{us, s->ip == 4 ? 24 : 64}},
                                        .ipv6 = s->ip == 6};
    struct stack_listener listener = {.name = "conversation",
                                      .addr = IP_ADDR_ANY6,
                                      .port = WORLD_LISTENER,
                                      .service = &conversation_service,
                                      .backlog = s->backlog,
                                      .no_cookies = s->no_cookies};
    struct stack_config config = {.n_workers = 1,
                                  .n_ifaces = 1,
                                  .iface = &world.iface,
                                  .icmp = {.echo = true, .errors = true},
                                  .limits = s->limits,
                                  .tcp = s->tcp,
                                  .n_listeners = s->no_listener ? 0 : 1,
                                  .listener = &listener};
    struct stack_env env = {.mem = &world.heap.mem,
                            .pool = &world.pool.pool,
                            .counters = &world.counters,
                            .seed = {1, 2, 3}};
    enum stack_error error = 0;
    world.stack = stack_create(&config, &env, world.now, &error);
    if (!world.stack)
        fail("stack_create: %d", (int)error);
}

void world_begin(const struct script_settings *settings, const uint32_t *ours)
{
    memset(&world, 0, sizeof(world));
    world.settings = *settings;
    choose_addresses(settings->ip);
    heap_init(&world.heap);
    heap_pool_init(&world.pool, 128, 2048);
    world.now = BEGIN;
    if (ours)
        world.now += (tick_t)(settings->isn + OURS_BEHIND - *ours) * ISN_TICK;
    create();
    world_settle();
    world_pass(world.now + 10 * TICK_SEC, false);
    world.begun = world.now;
    memcpy(&world.at_first, &world.counters, sizeof(world.counters));
}

void world_end(void)
{
    stack_destroy(world.stack);
    if (world.pool.held > 0)
        fail("%zu packets are left", world.pool.held);
    if (world.heap.blocks > 0)
        fail("%zu blocks of memory are left", world.heap.blocks);
    while (world_said())
        world_take_said();
    for (unsigned i = 0; i < WORLD_FLOWS; i++)
        free(world.flow[i].got);
}
