/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stack with two interfaces hears anything, for any time, while it is reconfigured, listed and
 * short of packets. Whatever it says is sound and comes from an address of its own; a frame that it
 * hears is dropped for one reason at most; its clock always moves on; and when all is over it holds
 * nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "stack/stack.h"
#include "support/frame.h"
#include "support/heap.h"
#include "wire/checksum.h"
#include "wire/mld.h"
#include "wire/proto.h"

#define require(ok) ((ok) ? (void)0 : abort())

#define FRAME_BYTES 1600u
#define STEPS       64u
#define V4(d)                               \
    {                                       \
        {                                   \
            [10] = 0xff, 0xff, 192, 0, 2, d \
        }                                   \
    }
#define V6(d)                            \
    {                                    \
        {                                \
            0x20, 1, 0xd, 0xb8, [15] = d \
        }                                \
    }

static const struct mac_addr us_mac = {{2, 0, 0, 0, 0, 1}};
static const struct ip_addr us4 = V4(1);
static const struct ip_addr us6 = V6(1);
static const struct ip_addr all_nodes = {{0xff, 2, [15] = 1}};

struct fuzz {
    struct reader in; /* zeroes when it has run out */
    struct heap heap;
    struct heap_pool pool;
    struct counters counters;
    struct iface_config iface[2];
    struct stack_config config;
    struct stack *stack;
    tick_t now;
    struct frame frame;
    uint8_t out[70000];
};

/* ---- what it says ---- */

/* Only the primary speaks for the host. */
static void check_silence(const struct fuzz *f, const struct frame_seen *s)
{
    if (f->config.worker == 0)
        return;
    require(!(s->kind == FRAME_ARP && s->arp.op == ARP_REPLY));
    require(!(s->kind == FRAME_ICMP6 && s->icmp6.type == ICMPV6_NEIGH_ADVERT));
    require(!(s->kind == FRAME_ICMP6 && s->icmp6.type >= MLD_QUERY && s->icmp6.type <= MLD1_DONE));
    require(!(s->kind != FRAME_ARP && ip_is_unspecified(&s->src)));
}

static void check_source(const struct frame_seen *s)
{
    if (s->kind == FRAME_ARP)
        return;
    require(!ip_is_multicast(&s->src) && !ip_is_limited_broadcast(&s->src));
    if (ip_is_unspecified(&s->src)) /* asks about an address, or reports a group */
        require(!s->v4 && s->kind == FRAME_ICMP6 && ip_is_multicast(&s->dst));
}

static void drain(struct fuzz *f)
{
    for (uint16_t i = 0; i < 2; i++) {
        struct pkt *p;
        while (stack_output(f->stack, i, &p, 1, f->now) == 1) {
            require(pkt_ok(p) && p->iface == i && p->total <= sizeof(f->out));
            require(!p->next || (f->iface[i].offload & IFACE_TX_MULTI_SEGS));
            pkt_copy_out(p, 0, f->out, p->total);
            struct frame_seen s;
            require(!frame_parse(f->out, p->total, p->flags & PKT_TX_IP_CSUM, &s));
            require(mac_eq(&s.eth.src, &f->iface[i].mac) && !s.eth.tagged);
            require(p->total - ETHER_LEN <= f->iface[i].mtu);
            check_source(&s);
            check_silence(f, &s);
            pkt_free(p);
        }
    }
}

/* ---- what it hears ---- */

/* Is this the reason why a received frame went, and not a loss of what we say? Fragments are
 * counted for each that a datagram holds. */
static bool is_rx_reason(enum drop d)
{
    if (d >= DROP_FRAG_OVERLAP && d <= DROP_FRAG_TINY)
        return false;
    return d <= DROP_TCP_MEMORY;
}

static uint64_t rx_drops(const struct fuzz *f)
{
    uint64_t sum = 0;
    for (enum drop d = DROP_NONE + 1; d < DROP_END; d++)
        if (is_rx_reason(d))
            sum += counter_drops(&f->counters, d);
    return sum;
}

static void hear(struct fuzz *f)
{
    if (f->frame.len == 0)
        return;
    uint8_t how = reader_u8(&f->in);
    static const uint16_t flags[] = {0,
                                     0,
                                     PKT_RX_IP_CSUM_OK,
                                     PKT_RX_L4_CSUM_OK,
                                     PKT_RX_IP_CSUM_BAD,
                                     PKT_RX_VLAN,
                                     PKT_RX_IP_CSUM_OK | PKT_RX_L4_CSUM_OK,
                                     0};
    struct pkt *p = heap_pkt(&f->pool, f->frame.at, f->frame.len, how & 0x40 ? 200 : 0);
    if (!p)
        return;
    p->iface = how & 1;
    p->flags = flags[how >> 1 & 7];
    uint64_t before = rx_drops(f);
    uint64_t packets = counter_get(&f->counters, COUNTER_RX_PACKETS);
    stack_input(f->stack, &p, 1, f->now);
    require(rx_drops(f) - before <= 1);
    require(counter_get(&f->counters, COUNTER_RX_PACKETS) == packets + 1);
    if (how & 0x80)
        drain(f);
}

static struct ip_addr peer4(struct fuzz *f)
{
    struct ip_addr a = V4(0);
    a.b[15] = reader_u8(&f->in);
    if (a.b[15] > 250)
        a.b[12] = 0xff; /* 255.0.2.x: some other class */
    return a;
}

static struct ip_addr peer6(struct fuzz *f)
{
    struct ip_addr a = V6(0);
    uint8_t what = reader_u8(&f->in);
    a.b[15] = what & 0x3f;
    if (what & 0x40) {
        a.b[0] = 0xfe;
        a.b[1] = 0x80;
        memset(a.b + 2, 0, 2);
    }
    return what == 0x80 ? IP_ADDR_ANY6 : a;
}

static struct mac_addr peer_mac(struct fuzz *f)
{
    struct mac_addr m = {{2, 0, 0, 0, 0, 2}};
    m.b[5] = (uint8_t)(2 + reader_u8(&f->in) % 8);
    return m;
}

static void to_us(struct fuzz *f, uint16_t type, bool group)
{
    struct mac_addr from = peer_mac(f);
    frame_push_ether(&f->frame, group ? &MAC_BROADCAST : &us_mac, &from, type);
}

static void ip4(struct fuzz *f, const struct ip_addr *src, uint8_t proto)
{
    uint16_t frag = reader_u16(&f->in);
    struct ipv4_hdr h = {.src = *src, .dst = us4, .proto = proto, .id = frag & 3};
    if (frag & 0x8000) {
        h.frag_offset = (uint16_t)((frag >> 2 & 0xf) * 8);
        h.more_fragments = frag & 0x4000;
        h.tos = frag >> 12 & 3;
    }
    if ((frag & 0xf000) == 0x1000) {
        h.options_len = 8;
        for (int i = 0; i < 8; i++)
            h.options[i] = reader_u8(&f->in);
    }
    frame_push_ip4(&f->frame, &h);
    to_us(f, ETHER_TYPE_IPV4, false);
}

static void ip6(struct fuzz *f, const struct ip_addr *src, const struct ip_addr *dst, uint8_t next,
                uint8_t hops)
{
    uint16_t frag = reader_u16(&f->in);
    if (frag & 0x8000) {
        struct ipv6_frag h = {.next = next,
                              .id = frag & 3,
                              .offset = (uint16_t)((frag >> 2 & 0xf) * 8),
                              .more = frag & 0x4000};
        frame_push_frag6(&f->frame, &h);
        next = IP_PROTO_FRAGMENT;
    }
    if ((frag & 0x3000) == 0x1000) {
        uint8_t *at = frame_push(&f->frame, 8);
        at[0] = next;
        at[1] = 0;
        for (int i = 2; i < 8; i++)
            at[i] = reader_u8(&f->in);
        next = frag & 0x800 ? IP_PROTO_HOP_BY_HOP : IP_PROTO_DEST_OPTIONS;
    }
    frame_push_ip6(&f->frame,
                   &(struct ipv6_hdr){.src = *src, .dst = *dst, .next = next, .hop_limit = hops});
    to_us(f, ETHER_TYPE_IPV6, ip_is_multicast(dst));
}

static void arp(struct fuzz *f)
{
    uint8_t what = reader_u8(&f->in);
    struct arp_msg m = {.op = what & 1 ? ARP_REQUEST : ARP_REPLY,
                        .sender_mac = peer_mac(f),
                        .sender_ip = peer4(f),
                        .target_ip = what & 2 ? us4 : peer4(f)};
    uint8_t body[ARP_LEN];
    arp_emit(&m, body);
    frame_bytes(&f->frame, body, sizeof(body));
    to_us(f, ETHER_TYPE_ARP, what & 4);
}

static void discovery(struct fuzz *f)
{
    uint8_t what = reader_u8(&f->in);
    struct ip_addr src = peer6(f);
    struct nd_msg m = {.type = what & 1 ? ICMPV6_NEIGH_SOLICIT : ICMPV6_NEIGH_ADVERT,
                       .target = what & 2 ? us6 : peer6(f),
                       .solicited = what & 4,
                       .override = what & 8,
                       .has_source_link = what & 16,
                       .has_target_link = what & 16,
                       .source_link = peer_mac(f)};
    m.target_link = m.source_link;
    struct ip_addr dst = what & 32 ? all_nodes : ip_solicited_node(&m.target);
    if (what & 64)
        dst = us6;
    uint8_t body[ND_EMIT_MAX];
    frame_bytes(&f->frame, body, (uint32_t)nd_emit(&m, &src, &dst, body));
    ip6(f, &src, &dst, IP_PROTO_ICMPV6, 255);
}

static void query(struct fuzz *f)
{
    uint8_t body[28] = {MLD_QUERY};
    struct ip_addr src = peer6(f);
    store_be16(body + 4, reader_u16(&f->in));
    uint8_t what = reader_u8(&f->in);
    struct ip_addr group = ip_solicited_node(&us6);
    if (what & 1)
        memcpy(body + 8, group.b, 16);
    const struct ip_addr *dst = what & 1 ? &group : &all_nodes;
    frame_bytes(&f->frame, body, what & 2 ? 24 : 28);
    frame_sum6(&f->frame, 2, &src, dst);
    ipv6_alert_emit(IP_PROTO_ICMPV6, frame_push(&f->frame, IPV6_ALERT_LEN));
    frame_push_ip6(&f->frame, &(struct ipv6_hdr){.src = src,
                                                 .dst = *dst,
                                                 .next = IP_PROTO_HOP_BY_HOP,
                                                 .hop_limit = MLD_HOP_LIMIT});
    to_us(f, ETHER_TYPE_IPV6, true);
}

static void upper4(struct fuzz *f)
{
    struct ip_addr src = peer4(f);
    uint8_t what = reader_u8(&f->in);
    frame_payload(&f->frame, reader_u16(&f->in) % 1400);
    if (what & 1) {
        frame_push_echo(&f->frame, ICMP_ECHO, 1, 1);
    } else if (what & 2) {
        frame_push_udp(&f->frame, 5, 6, &src, &us4);
    } else {
        f->frame.len = what % 40;
        frame_push_echo(&f->frame, ICMP_ECHO_REPLY, 1, 1);
        frame_push_ip4(&f->frame,
                       &(struct ipv4_hdr){.src = us4, .dst = peer4(f), .proto = IP_PROTO_ICMP});
        store_be16(f->frame.at + 2, 1500); /* it was longer than what is quoted */
        frame_push_icmp(&f->frame, &(struct icmp_hdr){.type = ICMP_UNREACHABLE,
                                                      .code = ICMP_FRAG_NEEDED,
                                                      .mtu = reader_u16(&f->in)});
        ip4(f, &src, IP_PROTO_ICMP);
        return;
    }
    ip4(f, &src, what & 1 ? IP_PROTO_ICMP : IP_PROTO_UDP);
}

static void upper6(struct fuzz *f)
{
    struct ip_addr src = peer6(f);
    uint8_t what = reader_u8(&f->in);
    const struct ip_addr *dst = what & 4 ? &all_nodes : &us6;
    frame_payload(&f->frame, reader_u16(&f->in) % 1400);
    if (what & 1) {
        frame_push_icmp6(&f->frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO}, &src, dst);
    } else if (what & 2) {
        frame_push_udp(&f->frame, 5, 6, &src, dst);
    } else {
        struct ip_addr to = peer6(f);
        f->frame.len = what % 40;
        frame_push_icmp6(&f->frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO_REPLY}, &us6, &to);
        frame_push_ip6(&f->frame,
                       &(struct ipv6_hdr){.src = us6, .dst = to, .next = IP_PROTO_ICMPV6});
        store_be16(f->frame.at + 4, 1460);
        frame_push_icmp6(&f->frame,
                         &(struct icmpv6_hdr){.type = ICMPV6_TOO_BIG, .mtu = reader_u16(&f->in)},
                         &src, dst);
        ip6(f, &src, dst, IP_PROTO_ICMPV6, 64);
        return;
    }
    ip6(f, &src, dst, what & 1 ? IP_PROTO_ICMPV6 : IP_PROTO_UDP, 64);
}

static void anything(struct fuzz *f)
{
    uint32_t n = reader_u16(&f->in) % FRAME_BYTES;
    if (n > reader_left(&f->in))
        n = (uint32_t)reader_left(&f->in);
    frame_bytes(&f->frame, reader_take(&f->in, n), n);
}

/* Some bytes of the frame become others; or it ends early. */
static void spoil(struct fuzz *f)
{
    for (uint8_t n = reader_u8(&f->in) & 3; n > 0; n--) {
        uint16_t at = reader_u16(&f->in);
        if (at & 0x8000)
            f->frame.len = at % (f->frame.len + 1);
        else if (f->frame.len > 0)
            f->frame.at[at % f->frame.len] ^= reader_u8(&f->in);
    }
}

/* ---- what else happens ---- */

static void pass(struct fuzz *f, tick_t d)
{
    tick_t end = f->now + d;
    for (unsigned wakes = 0;; wakes++) {
        require(wakes < 100000); /* time moves on */
        tick_t next = stack_deadline(f->stack);
        if (next > end)
            break;
        f->now = next > f->now ? next : f->now;
        stack_expire(f->stack, f->now);
        require(stack_deadline(f->stack) >= f->now);
    }
    f->now = end;
}

static void configure(struct fuzz *f)
{
    uint8_t what = reader_u8(&f->in);
    struct iface_config *c = &f->iface[0];
    c->ipv6 = what & 1;
    c->n_addrs = what & 1 ? 2 : 1;
    c->addr[0] = (struct ip_prefix){us4, 24};
    c->addr[1] = (struct ip_prefix){us6, 64};
    if (what & 2)
        c->addr[c->n_addrs++] = (struct ip_prefix){V4(77), 24};
    if (what & 4 && what & 1)
        c->addr[c->n_addrs++] = (struct ip_prefix){V6(77), 64};
    c->gateway4 = what & 8 ? (struct ip_addr)V4(3) : IP_ADDR_ANY6;
    c->gateway6 = what & 16 ? (struct ip_addr)V6(3) : IP_ADDR_ANY6;
    f->config.icmp = (struct stack_icmp){.echo = !(what & 32), .errors = !(what & 64)};
    require(stack_configure(f->stack, &f->config, f->now) == 0);
}

static void control(struct fuzz *f)
{
    struct ctl_neighbour neighbours[3];
    struct ctl_address addresses[3];
    struct ctl_path paths[3];
    struct ctl_connection connections[3];
    struct ctl_listener listeners[3];
    uint8_t kind = reader_u8(&f->in) % CTL_REQUEST_END;
    if (kind == CTL_TUNNELS || kind == CTL_TUNNEL_KILL) /* never the stack's: ctl/request.h */
        return;
    struct ctl_request r = {.kind = kind, .max = 3};
    switch (r.kind) {
    case CTL_NEIGHBOURS: r.rows.neighbour = neighbours; break;
    case CTL_ADDRESSES: r.rows.address = addresses; break;
    case CTL_PATHS: r.rows.path = paths; break;
    case CTL_CONNECTIONS:
    case CTL_CONNECTION: r.rows.connection = connections; break;
    case CTL_LISTENERS: r.rows.listener = listeners; break;
    default: break;
    }
    for (unsigned pages = 0; pages == 0 || r.more; pages++) {
        require(pages < 64);
        stack_control(f->stack, &r, f->now);
        require(r.n <= 3 || r.kind == CTL_NEIGHBOURS_FLUSH);
    }
}

static void step(struct fuzz *f)
{
    switch (reader_u8(&f->in) % 12) {
    case 0: anything(f); break;
    case 1: arp(f); break;
    case 2: discovery(f); break;
    case 3: query(f); break;
    case 4:
    case 5: upper4(f); break;
    case 6:
    case 7: upper6(f); break;
    case 8: pass(f, (tick_t)reader_u8(&f->in) * 100 * TICK_MS); return;
    case 9: configure(f); return;
    case 10: control(f); return;
    default: f->pool.limit = f->pool.limit == SIZE_MAX ? f->pool.held + 1 : SIZE_MAX; return;
    }
    spoil(f);
    hear(f);
}

/* All that waits is answered, given up or forgotten. */
static void settle(struct fuzz *f)
{
    f->pool.limit = SIZE_MAX;
    drain(f);
    pass(f, 10000 * TICK_SEC); /* a listener may be given hours to answer */
    drain(f);
    require(f->pool.held == 0);
    require(stack_deadline(f->stack) == TICK_NEVER);
}

static void on_handoff(void *ctx, uint16_t worker, struct pkt *p)
{
    struct fuzz *f = ctx;
    require(worker < f->config.n_workers && worker != f->config.worker && pkt_ok(p));
    pkt_free(p);
}

static void start(struct fuzz *f)
{
    uint8_t what = reader_u8(&f->in);
    heap_init(&f->heap);
    heap_pool_init(&f->pool, 128, 2048);
    for (uint8_t i = 0; i < 2; i++)
        f->iface[i] = (struct iface_config){.name = {'p', (char)('0' + i)},
                                            .mac = {{2, 0, 0, 0, i, 1}},
                                            .mtu = 1500,
                                            .offload = what & 1 ? IFACE_TX_MULTI_SEGS : 0,
                                            .n_addrs = i ? 0 : 2,
                                            .addr = {{us4, 24}, {us6, 64}},
                                            .ipv6 = true};
    f->iface[0].offload |= what & 2 ? IFACE_TX_IP_CSUM : 0;
    f->config = (struct stack_config){.n_workers = what & 4 ? 2 : 1,
                                      .worker = what & 4 && what & 8,
                                      .n_ifaces = 2,
                                      .iface = f->iface,
                                      .icmp = {.echo = true, .errors = true},
                                      .limits = {.neighbours = 6,
                                                 .neighbour_queue = 2,
                                                 .paths = 4,
                                                 .reass_datagrams = 8,
                                                 .tx_queue = 16}};
    f->now = TICK_SEC;
    struct stack_env env = {.mem = &f->heap.mem,
                            .pool = &f->pool.pool,
                            .counters = &f->counters,
                            .handoff = on_handoff,
                            .ctx = f,
                            .seed = {what}};
    f->stack = stack_create(&f->config, &env, f->now, NULL);
    require(f->stack);
    if (what & 16)
        pass(f, 4 * TICK_SEC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz f;
    memset(&f, 0, offsetof(struct fuzz, frame));
    f.in = reader_of(data, size);
    start(&f);
    for (unsigned n = 0; n < STEPS && reader_left(&f.in) > 0; n++)
        step(&f);
    settle(&f);
    stack_destroy(f.stack);
    require(f.heap.blocks == 0 && f.pool.held == 0);
    return 0;
}
