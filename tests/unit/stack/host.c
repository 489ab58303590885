/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <string.h>

#include "base/bytes.h"
#include "stack/session.h"

#define V4(a, b, c, d)                    \
    {                                     \
        {                                 \
            [10] = 0xff, 0xff, a, b, c, d \
        }                                 \
    }

const struct mac_addr US_MAC = {{2, 0, 0, 0, 0, 1}};
const struct mac_addr PEER_MAC = {{2, 0, 0, 0, 0, 2}};
const struct mac_addr OTHER_MAC = {{2, 0, 0, 0, 0, 3}};
const struct ip_addr US4 = V4(192, 0, 2, 1);
const struct ip_addr PEER4 = V4(192, 0, 2, 2);
const struct ip_addr OTHER4 = V4(192, 0, 2, 3);
const struct ip_addr FAR4 = V4(198, 51, 100, 9);
const struct ip_addr US6 = {{0x20, 1, 0xd, 0xb8, [15] = 1}};
const struct ip_addr PEER6 = {{0x20, 1, 0xd, 0xb8, [15] = 2}};
const struct ip_addr OTHER6 = {{0x20, 1, 0xd, 0xb8, [15] = 3}};
const struct ip_addr FAR6 = {{0x20, 1, 0xd, 0xb8, 0xff, 0xff, [15] = 9}};
const struct ip_addr US_LL = {{0xfe, 0x80, [11] = 0xff, 0xfe, 0, 0, 1}};
const struct ip_addr PEER_LL = {{0xfe, 0x80, [15] = 2}};
const struct ip_addr US_B4 = V4(203, 0, 113, 1);
const struct ip_addr US_B6 = {{0x20, 1, 0xd, 0xb8, 0, 0xb, [15] = 1}};
const struct ip_addr ALL_NODES6 = {{0xff, 2, [15] = 1}};

struct host host;

static void on_handoff(void *ctx, uint16_t worker, struct pkt *p)
{
    ck_assert_ptr_eq(ctx, &host);
    pkt_free(host.handed_pkt);
    host.handed++;
    host.handed_to = worker;
    host.handed_pkt = p;
}

void host_setup(void)
{
    memset(&host, 0, sizeof(host));
    heap_init(&host.heap);
    heap_pool_init(&host.pool, 128, 2048);
    host.now = 1000 * TICK_SEC;
    host.iface[0] = (struct iface_config){.name = "lan0",
                                          .mac = US_MAC,
                                          .mtu = 1500,
                                          .offload = IFACE_TX_MULTI_SEGS,
                                          .n_addrs = 2,
                                          .addr = {{US4, 24}, {US6, 64}},
                                          .ipv6 = true};
    host.iface[1] = (struct iface_config){.name = "lan1",
                                          .mac = {{2, 0, 0, 0, 1, 1}},
                                          .mtu = 1500,
                                          .offload = IFACE_TX_MULTI_SEGS,
                                          .n_addrs = 2,
                                          .addr = {{US_B4, 24}, {US_B6, 64}},
                                          .ipv6 = true};
    host.config = (struct stack_config){.n_workers = 1,
                                        .n_ifaces = 1,
                                        .iface = host.iface,
                                        .icmp = {.echo = true, .errors = true},
                                        .limits = {.neighbours = 64,
                                                   .neighbour_queue = 3,
                                                   .paths = 16,
                                                   .reass_datagrams = 16,
                                                   .tx_queue = 128}};
}

void host_create(void)
{
    struct stack_env env = {.mem = &host.heap.mem,
                            .pool = &host.pool.pool,
                            .counters = &host.counters,
                            .handoff = on_handoff,
                            .ctx = &host,
                            .seed = {1, 2, 3}};
    enum stack_error error = 0;
    host.stack = stack_create(&host.config, &env, host.now, &error);
    ck_assert_msg(host.stack != NULL, "stack_create: %d", (int)error);
}

void host_boot(void)
{
    host_create();
    pass(4 * TICK_SEC);
    ignore();
    mark();
}

void host_destroy(void)
{
    if (host.stack)
        stack_destroy(host.stack);
    host.stack = NULL;
    for (unsigned i = 0; i < 2; i++)
        while (host.out[i].first < host.out[i].end)
            pkt_free(host.out[i].p[host.out[i].first++]);
    memset(host.out, 0, sizeof(host.out));
    pkt_free(host.handed_pkt);
    host.handed_pkt = NULL;
    ck_assert_uint_eq(host.pool.held, 0);
    ck_assert_uint_eq(host.heap.blocks, 0);
}

void host_teardown(void)
{
    host_destroy();
}

int host_configure(void)
{
    return stack_configure(host.stack, &host.config, host.now);
}

static bool connections_wait(uint16_t iface)
{
    return !list_empty(&host.stack->iface[iface].sending) ||
           !stream_ready_empty(&host.stack->tcp.ready) || sessions_pending(host.stack);
}

void turn(void)
{
    for (uint16_t i = 0; i < host.config.n_ifaces; i++)
        for (unsigned rounds = 0; connections_wait(i); rounds++) {
            ck_assert_msg(rounds < 1000, "connections always want something");
            ck_assert_uint_le(host.out[i].end + 32, HOST_OUT_MAX);
            host.out[i].end +=
                stack_output(host.stack, i, &host.out[i].p[host.out[i].end], 32, host.now);
        }
}

static unsigned take(uint16_t iface, struct pkt **p)
{
    turn();
    if (host.out[iface].first == host.out[iface].end)
        return stack_output(host.stack, iface, p, 1, host.now);
    *p = host.out[iface].p[host.out[iface].first++];
    if (host.out[iface].first == host.out[iface].end)
        host.out[iface].first = host.out[iface].end = 0;
    return 1;
}

static unsigned waiting(uint16_t iface)
{
    turn();
    return host.out[iface].end - host.out[iface].first + stack_pending(host.stack, iface);
}

static void wake(tick_t now)
{
    host.now = now;
    host.wakes++;
    stack_expire(host.stack, now);
    turn();
    ck_assert_msg(stack_deadline(host.stack) > now, "what was due is done");
}

/* False: nothing to do until then. */
static bool wake_next(tick_t end)
{
    tick_t next = stack_deadline(host.stack);
    if (next > end)
        return false;
    /* A time that has passed is one armed for at once. */
    wake(next > host.now ? next : host.now);
    return true;
}

void pass(tick_t d)
{
    tick_t end = host.now + d;
    turn();
    while (wake_next(end))
        ;
    host.now = end;
}

static bool has_said(void)
{
    for (uint16_t i = 0; i < host.config.n_ifaces; i++)
        if (waiting(i) > 0)
            return true;
    return false;
}

void quiet(tick_t d)
{
    pass(d);
    silence();
}

const struct frame_seen *said_within(tick_t d)
{
    tick_t end = host.now + d;
    while (!has_said() && wake_next(end))
        ;
    ck_assert_msg(has_said(), "nothing was said within the time");
    return said();
}

const struct frame_seen *said_after(tick_t d)
{
    tick_t end = host.now + d;
    const struct frame_seen *s = said_within(d);
    ck_assert_uint_eq(host.now, end);
    return s;
}

void hear_on(uint16_t iface, uint32_t view, uint16_t flags, uint16_t vlan)
{
    struct pkt *p = heap_pkt(&host.pool, host.frame.at, host.frame.len, view);
    ck_assert_ptr_nonnull(p);
    p->iface = iface;
    p->flags = flags;
    p->vlan = vlan;
    stack_input(host.stack, &p, 1, host.now);
}

void hear_split(uint32_t first)
{
    if (first >= host.frame.len) {
        hear();
        return;
    }
    struct pkt *head = pkt_alloc(&host.pool.pool);
    struct pkt *rest = heap_pkt(&host.pool, host.frame.at + first, host.frame.len - first, 0);
    ck_assert(head && rest);
    memcpy(pkt_put(head, first), host.frame.at, first);
    pkt_append(head, rest);
    stack_input(host.stack, &head, 1, host.now);
}

void hear(void)
{
    hear_on(0, 0, 0, 0);
}

void hear_arp(enum arp_op op, const struct mac_addr *to, const struct mac_addr *sender,
              const struct ip_addr *sender_ip, const struct ip_addr *target_ip)
{
    struct arp_msg m = {
        .op = op, .sender_mac = *sender, .sender_ip = *sender_ip, .target_ip = *target_ip};
    uint8_t body[ARP_LEN];
    arp_emit(&m, body);
    frame_bytes(&host.frame, body, sizeof(body));
    frame_push_ether(&host.frame, to, sender, ETHER_TYPE_ARP);
    hear();
}

/* The MAC address that a packet to dst goes to. */
static struct mac_addr mac_for(const struct ip_addr *dst)
{
    if (ip_is_multicast(dst))
        return mac_of_multicast(dst);
    return ip_is_limited_broadcast(dst) ? MAC_BROADCAST : US_MAC;
}

void hear_ip4(const struct ip_addr *src, const struct ip_addr *dst, uint8_t proto)
{
    struct mac_addr to = mac_for(dst);
    frame_push_ip4(&host.frame, &(struct ipv4_hdr){.src = *src, .dst = *dst, .proto = proto});
    frame_push_ether(&host.frame, &to, &PEER_MAC, ETHER_TYPE_IPV4);
    hear();
}

void hear_ip6(const struct ip_addr *src, const struct ip_addr *dst, uint8_t proto)
{
    struct mac_addr to = mac_for(dst);
    frame_push_ip6(&host.frame, &(struct ipv6_hdr){.src = *src, .dst = *dst, .next = proto});
    frame_push_ether(&host.frame, &to, &PEER_MAC, ETHER_TYPE_IPV6);
    hear();
}

void hear_echo4(uint32_t n)
{
    frame_payload(&host.frame, n);
    frame_push_echo(&host.frame, ICMP_ECHO, 7, 9);
    hear_ip4(&PEER4, &US4, IP_PROTO_ICMP);
}

void hear_echo6(uint32_t n)
{
    frame_payload(&host.frame, n);
    frame_push_icmp6(&host.frame, &(struct icmpv6_hdr){.type = ICMPV6_ECHO, .id = 7, .seq = 9},
                     &PEER6, &US6);
    hear_ip6(&PEER6, &US6, IP_PROTO_ICMPV6);
}

static uint8_t whole[FRAME_MAX];

void hear_fragments4(const struct ip_addr *src, uint8_t proto, uint32_t piece)
{
    uint32_t len = host.frame.len;
    memcpy(whole, host.frame.at, len);
    for (uint32_t at = 0; at < len; at += piece) {
        uint32_t n = len - at < piece ? len - at : piece;
        frame_bytes(&host.frame, whole + at, n);
        frame_push_ip4(&host.frame, &(struct ipv4_hdr){.src = *src,
                                                       .dst = US4,
                                                       .id = 77,
                                                       .proto = proto,
                                                       .frag_offset = (uint16_t)at,
                                                       .more_fragments = at + n < len});
        frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV4);
        hear();
    }
}

void hear_fragments6(const struct ip_addr *src, uint8_t proto, uint32_t piece)
{
    uint32_t len = host.frame.len;
    memcpy(whole, host.frame.at, len);
    for (uint32_t at = 0; at < len; at += piece) {
        uint32_t n = len - at < piece ? len - at : piece;
        frame_bytes(&host.frame, whole + at, n);
        frame_push_frag6(&host.frame, &(struct ipv6_frag){.id = 77,
                                                          .next = proto,
                                                          .offset = (uint16_t)at,
                                                          .more = at + n < len});
        frame_push_ip6(&host.frame,
                       &(struct ipv6_hdr){.src = *src, .dst = US6, .next = IP_PROTO_FRAGMENT});
        frame_push_ether(&host.frame, &US_MAC, &PEER_MAC, ETHER_TYPE_IPV6);
        hear();
    }
}

static void hear_nd(const struct nd_msg *m, const struct ip_addr *src, const struct ip_addr *dst,
                    const struct mac_addr *mac)
{
    uint8_t body[ND_EMIT_MAX];
    uint32_t n = (uint32_t)nd_emit(m, src, dst, body);
    struct mac_addr to = mac_for(dst);
    frame_bytes(&host.frame, body, n);
    frame_push_ip6(&host.frame, &(struct ipv6_hdr){.src = *src,
                                                   .dst = *dst,
                                                   .next = IP_PROTO_ICMPV6,
                                                   .hop_limit = ND_HOP_LIMIT});
    frame_push_ether(&host.frame, &to, mac ? mac : &PEER_MAC, ETHER_TYPE_IPV6);
    hear();
}

void hear_solicit(const struct ip_addr *src, const struct ip_addr *dst,
                  const struct ip_addr *target, const struct mac_addr *mac)
{
    struct nd_msg m = {.type = ICMPV6_NEIGH_SOLICIT, .target = *target, .has_source_link = mac};
    if (mac)
        m.source_link = *mac;
    struct ip_addr group = ip_solicited_node(target);
    hear_nd(&m, src, dst ? dst : &group, mac);
}

void hear_advert(const struct ip_addr *src, const struct ip_addr *dst, const struct ip_addr *target,
                 const struct mac_addr *mac, bool solicited, bool override)
{
    struct nd_msg m = {.type = ICMPV6_NEIGH_ADVERT,
                       .target = *target,
                       .has_target_link = mac,
                       .solicited = solicited,
                       .override = override};
    if (mac)
        m.target_link = *mac;
    hear_nd(&m, src, dst, mac);
}

void meet4(void)
{
    hear_arp(ARP_REQUEST, &MAC_BROADCAST, &PEER_MAC, &PEER4, &US4);
    ck_assert_int_eq(said()->arp.op, ARP_REPLY);
    mark();
}

void meet6(void)
{
    hear_solicit(&PEER6, NULL, &US6, &PEER_MAC);
    ck_assert_int_eq(said()->nd.type, ICMPV6_NEIGH_ADVERT);
    mark();
}

const struct frame_seen *said_on(uint16_t iface)
{
    struct pkt *p;
    ck_assert_msg(take(iface, &p) == 1, "nothing was said");
    ck_assert(pkt_ok(p));
    ck_assert_uint_eq(p->iface, iface);
    ck_assert_uint_le(p->total, sizeof(host.said));
    pkt_copy_out(p, 0, host.said, p->total);
    host.said_len = p->total;
    host.meta = *p;
    host.views = 0;
    pkt_for_each (v, p)
        host.views++;
    pkt_free(p);
    const char *wrong =
        frame_parse(host.said, host.said_len, host.meta.flags & PKT_TX_IP_CSUM, &host.seen);
    ck_assert_msg(!wrong, "said: %s", wrong ? wrong : "");
    ck_assert_mac(host.seen.eth.src, host.iface[iface].mac);
    ck_assert_uint_eq(host.meta.l2_len, ether_len(&host.seen.eth));
    return &host.seen;
}

const struct frame_seen *said(void)
{
    return said_on(0);
}

struct piece {
    uint32_t at, n;
    bool more;
};

static struct piece piece_of(const struct frame_seen *s)
{
    if (s->v4)
        return (struct piece){s->ip4.frag_offset, s->upper_len, s->ip4.more_fragments};
    return (struct piece){s->ip6.frag.offset, s->upper_len, s->ip6.frag.more};
}

uint32_t said_fragments(unsigned *n, uint32_t mtu)
{
    uint32_t end = 0;
    uint64_t id = 0;
    for (*n = 0;; ++*n) {
        const struct frame_seen *s = said();
        ck_assert_int_eq(s->kind, FRAME_FRAGMENT);
        ck_assert_uint_le(host.said_len - ETHER_LEN, mtu);
        struct piece p = piece_of(s);
        uint64_t this_id = s->v4 ? s->ip4.id : s->ip6.frag.id;
        ck_assert(*n == 0 || id == this_id);
        id = this_id;
        ck_assert_uint_eq(p.at, end);
        memcpy(whole + end, s->upper, p.n);
        end += p.n;
        if (!p.more)
            break;
        ck_assert_uint_eq(p.n % 8, 0);
    }
    ++*n;
    memcpy(host.said, whole, end);
    return end;
}

void silence(void)
{
    for (uint16_t i = 0; i < host.config.n_ifaces; i++)
        ck_assert_msg(waiting(i) == 0, "interface %u said something", i);
}

unsigned ignore(void)
{
    unsigned n = 0;
    struct pkt *p;
    for (uint16_t i = 0; i < host.config.n_ifaces; i++)
        while (take(i, &p) == 1) {
            pkt_free(p);
            n++;
        }
    return n;
}

void mark(void)
{
    host.mark = host.counters;
}

void dropped_n(enum drop why, unsigned n)
{
    for (enum drop d = DROP_NONE + 1; d < DROP_END; d++) {
        uint64_t grown = counter_drops(&host.counters, d) - counter_drops(&host.mark, d);
        ck_assert_msg(grown == (d == why ? n : 0), "%s grew by %u, not by %u", drop_name(d),
                      (unsigned)grown, d == why ? n : 0);
    }
    memcpy(host.mark.drop, host.counters.drop, sizeof(host.mark.drop));
}

void dropped(enum drop why)
{
    dropped_n(why, 1);
}

void no_drops(void)
{
    dropped_n(DROP_NONE, 0);
}

uint64_t added(enum counter c)
{
    return counter_get(&host.counters, c) - counter_get(&host.mark, c);
}

bool neighbour(const struct ip_addr *a, struct ctl_neighbour *row)
{
    struct ctl_neighbour rows[256];
    struct ctl_request r = {.kind = CTL_NEIGHBOURS, .rows.neighbour = rows, .max = 256};
    stack_control(host.stack, &r, host.now);
    ck_assert(!r.more);
    for (uint32_t i = 0; i < r.n; i++)
        if (ip_eq(&rows[i].addr, a)) {
            *row = rows[i];
            return true;
        }
    return false;
}

enum ctl_neighbour_state neighbour_state(const struct ip_addr *a)
{
    struct ctl_neighbour row;
    ck_assert_msg(neighbour(a, &row), "no such neighbour");
    return row.state;
}

enum ctl_address_state address_state(const struct ip_addr *a)
{
    struct ctl_address rows[128];
    struct ctl_request r = {.kind = CTL_ADDRESSES, .rows.address = rows, .max = 128};
    stack_control(host.stack, &r, host.now);
    ck_assert(!r.more);
    for (uint32_t i = 0; i < r.n; i++)
        if (ip_eq(&rows[i].prefix.addr, a))
            return rows[i].state;
    ck_abort_msg("no such address");
}

uint16_t path_mtu(const struct ip_addr *a)
{
    struct ctl_path rows[64];
    struct ctl_request r = {.kind = CTL_PATHS, .rows.path = rows, .max = 64};
    stack_control(host.stack, &r, host.now);
    ck_assert(!r.more);
    for (uint32_t i = 0; i < r.n; i++)
        if (ip_eq(&rows[i].remote, a))
            return rows[i].mtu;
    return 0;
}
