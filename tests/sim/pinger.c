/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/pinger.h"

#include <string.h>

#include "base/bytes.h"
#include "sim/craft.h"
#include "sim/run.h"
#include "stack/frag.h"
#include "wire/arp.h"
#include "wire/checksum.h"
#include "wire/icmp.h"
#include "wire/icmpv6.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/nd.h"
#include "wire/proto.h"

#define TRIES_MAX 3
#define RETRY     TICK_SEC
#define ICMP_MAX  (65535 + 40)

static bool is_ours(const struct pinger *p, const struct ip_addr *a)
{
    return ip_eq(a, &p->cfg.addr4) || ip_eq(a, &p->cfg.addr6) ||
           (!ip_is_unspecified(a) && (ip_eq(a, &p->cfg.behind4) || ip_eq(a, &p->cfg.behind6)));
}

static const struct ip_addr *source_for(const struct pinger *p, const struct ip_addr *dst)
{
    const struct pinger_config *c = &p->cfg;
    if (ip_is_v4(dst))
        return ip_is_unspecified(&c->behind4) ? &c->addr4 : &c->behind4;
    return ip_is_unspecified(&c->behind6) ? &c->addr6 : &c->behind6;
}

/* Out */

static void send_frame(struct pinger *p, const struct mac_addr *dst, uint16_t type,
                       const struct pkt *payload)
{
    struct sim *s = p->node.sim;
    struct pkt *frame = craft_frame(s, dst, &p->cfg.mac, p->cfg.vlan, type, payload);
    node_output_at(&p->node, 0, frame, s->now);
}

static void send_bytes(struct pinger *p, const struct mac_addr *dst, uint16_t type,
                       const void *bytes, size_t len)
{
    struct pkt *payload = heap_pkt(&p->pool, bytes, len, 0);
    send_frame(p, dst, type, payload);
    pkt_free(payload);
}

struct way {
    struct pinger *pinger;
    const struct mac_addr *mac;
    uint16_t type;
};

static void send_fragment(void *ctx, struct pkt *fragment)
{
    const struct way *w = ctx;
    send_frame(w->pinger, w->mac, w->type, fragment);
    pkt_free(fragment);
}

/* ip is a whole packet, and is taken. */
static void send_ip(struct pinger *p, const struct pinger_target *t, struct pkt *ip)
{
    uint16_t type = ip_is_v4(&t->addr) ? ETHER_TYPE_IPV4 : ETHER_TYPE_IPV6;
    uint16_t mtu = t->mtu && t->mtu < p->cfg.mtu ? t->mtu : p->cfg.mtu;
    if (ip->total <= mtu) {
        send_frame(p, &t->mac, type, ip);
    } else {
        struct way w = {.pinger = p, .mac = &t->mac, .type = type};
        int n = frag_cut(&p->pool.pool, ip, mtu, p->frag_id++, send_fragment, &w);
        must(n > 1);
    }
    pkt_free(ip);
}

/* The data of a ping: random, and the same each time it is asked for. */
static void fill(const struct pinger *p, uint32_t seq, uint8_t *at, uint32_t size)
{
    struct rng r;
    rng_seed(&r, p->node.sim->seed ^ (uint64_t)p->id << 32 ^ seq);
    for (uint32_t i = 0; i < size; i += 8) {
        uint64_t word = rng_u64(&r);
        memcpy(at + i, &word, size - i < 8 ? size - i : 8);
    }
}

/* Writes the message without its checksum; returns its length. */
static uint32_t echo_message(const struct pinger *p, uint32_t seq, uint8_t type, uint8_t *at)
{
    uint32_t size = p->ping[seq].size;
    memset(at, 0, ICMP_LEN);
    at[0] = type;
    store_be16(at + 4, p->id);
    store_be16(at + 6, (uint16_t)seq);
    fill(p, seq, at + ICMP_LEN, size);
    return ICMP_LEN + size;
}

static void send_ping(struct pinger *p, const struct pinger_target *t, uint32_t seq)
{
    bool v4 = ip_is_v4(&t->addr);
    const struct ip_addr *src = source_for(p, &t->addr);
    uint8_t bytes[IPV6_LEN + ICMP_MAX];
    uint8_t *at = bytes + (v4 ? IPV4_LEN : IPV6_LEN);
    uint8_t type = v4 ? (uint8_t)ICMP_ECHO : (uint8_t)ICMPV6_ECHO;
    uint32_t len = echo_message(p, seq, type, at);
    struct checksum c = v4 ? CHECKSUM_EMPTY : checksum_pseudo(src, &t->addr, IP_PROTO_ICMPV6, len);
    store_be16(at + 2, checksum_finish(checksum_add(c, at, len)));
    struct craft_head h = {.src = *src,
                           .dst = t->addr,
                           .proto = v4 ? IP_PROTO_ICMP : IP_PROTO_ICMPV6,
                           .id = (uint16_t)p->frag_id++};
    uint32_t head = craft_head_emit(&h, len, bytes);
    send_ip(p, t, heap_pkt(&p->pool, bytes, head + len, 0));
}

/* Resolution */

static void ask4(struct pinger *p, const struct ip_addr *target)
{
    struct arp_msg m = {.op = ARP_REQUEST,
                        .sender_mac = p->cfg.mac,
                        .sender_ip = p->cfg.addr4,
                        .target_ip = *target};
    uint8_t bytes[ARP_LEN];
    send_bytes(p, &MAC_BROADCAST, ETHER_TYPE_ARP, bytes, arp_emit(&m, bytes));
}

static void send_nd(struct pinger *p, const struct nd_msg *m, const struct ip_addr *dst,
                    const struct mac_addr *mac)
{
    uint8_t bytes[IPV6_LEN + ND_EMIT_MAX];
    size_t len = nd_emit(m, &p->cfg.addr6, dst, bytes + IPV6_LEN);
    struct craft_head h = {
        .src = p->cfg.addr6, .dst = *dst, .proto = IP_PROTO_ICMPV6, .hop_limit = ND_HOP_LIMIT};
    craft_head_emit(&h, (uint32_t)len, bytes);
    send_bytes(p, mac, ETHER_TYPE_IPV6, bytes, IPV6_LEN + len);
}

static void ask6(struct pinger *p, const struct ip_addr *target)
{
    struct nd_msg m = {.type = ICMPV6_NEIGH_SOLICIT,
                       .target = *target,
                       .has_source_link = true,
                       .source_link = p->cfg.mac};
    struct ip_addr group = ip_solicited_node(target);
    struct mac_addr mac = mac_of_multicast(&group);
    send_nd(p, &m, &group, &mac);
}

static void ask(struct pinger_target *t)
{
    struct pinger *p = t->pinger;
    t->tries++;
    (ip_is_v4(&t->addr) ? ask4 : ask6)(p, &t->addr);
    wheel_arm(&p->node.sim->wheel, &t->timer, p->node.sim->now + RETRY);
}

static void retry(struct timer *timer, tick_t now)
{
    (void)now;
    struct pinger_target *t = container_of(timer, struct pinger_target, timer);
    if (t->tries < TRIES_MAX)
        ask(t);
    else
        t->n_waiting = 0;
}

static struct pinger_target *find_target(struct pinger *p, const struct ip_addr *a)
{
    for (unsigned i = 0; i < p->n_targets; i++)
        if (ip_eq(&p->target[i].addr, a))
            return &p->target[i];
    return NULL;
}

static struct pinger_target *target_of(struct pinger *p, const struct ip_addr *a)
{
    struct pinger_target *t = find_target(p, a);
    if (t)
        return t;
    must(p->n_targets < PINGER_TARGETS);
    t = &p->target[p->n_targets++];
    t->addr = *a;
    t->pinger = p;
    timer_init(&t->timer, retry);
    return t;
}

static void learn(struct pinger *p, const struct ip_addr *a, const struct mac_addr *mac)
{
    struct pinger_target *t = find_target(p, a);
    if (!t || t->fixed)
        return;
    t->mac = *mac;
    t->known = true;
    t->heard = p->node.sim->now;
    wheel_cancel(&p->node.sim->wheel, &t->timer);
    for (unsigned i = 0; i < t->n_waiting; i++)
        send_ping(p, t, t->waiting[i]);
    t->n_waiting = 0;
}

static bool is_known(const struct pinger *p, const struct pinger_target *t)
{
    return t->known &&
           (t->fixed || p->cfg.remember == 0 || p->node.sim->now - t->heard < p->cfg.remember);
}

static struct ping *ping_new(struct pinger *p)
{
    if (p->n_pings == p->max_pings) {
        uint32_t max = p->max_pings ? p->max_pings * 2 : 64;
        struct ping *more = mem_alloc(&p->heap.mem, max * sizeof(*more), _Alignof(struct ping));
        if (p->ping)
            memcpy(more, p->ping, p->n_pings * sizeof(*more));
        mem_free(&p->heap.mem, p->ping, p->max_pings * sizeof(*more));
        p->ping = more;
        p->max_pings = max;
    }
    must(p->n_pings <= UINT16_MAX);
    return &p->ping[p->n_pings++];
}

uint32_t pinger_ping(struct pinger *p, const struct ip_addr *dst, uint32_t size)
{
    uint32_t seq = p->n_pings;
    *ping_new(p) =
        (struct ping){.dst = *dst, .size = size, .asked = p->node.sim->now, .answered = TICK_NEVER};
    struct pinger_target *t = target_of(p, dst);
    if (is_known(p, t)) {
        send_ping(p, t, seq);
        return seq;
    }
    must(t->n_waiting < PINGER_WAITING);
    t->waiting[t->n_waiting++] = (uint16_t)seq;
    if (!timer_armed(&t->timer)) {
        t->tries = 0;
        ask(t);
    }
    return seq;
}

uint32_t pinger_answered(const struct pinger *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_pings; i++)
        n += p->ping[i].replies > 0;
    return n;
}

tick_t pinger_rtt(const struct pinger *p, uint32_t ping)
{
    const struct ping *q = &p->ping[ping];
    return q->replies > 0 ? q->answered - q->asked : TICK_NEVER;
}

void pinger_fix(struct pinger *p, const struct ip_addr *dst, const struct mac_addr *mac)
{
    struct pinger_target *t = target_of(p, dst);
    t->mac = *mac;
    t->known = t->fixed = true;
}

void pinger_replace_mac(struct pinger *p, const struct mac_addr *mac)
{
    p->cfg.mac = *mac;
}

void pinger_reboot(struct pinger *p, const struct mac_addr *mac)
{
    pinger_replace_mac(p, mac);
    for (unsigned i = 0; i < p->n_targets; i++)
        p->target[i].known = p->target[i].fixed = false;
}

void pinger_udp(struct pinger *p, const struct ip_addr *dst, uint16_t sport, uint16_t dport,
                uint32_t size)
{
    const struct pinger_target *t = target_of(p, dst);
    must(t->known);
    struct craft_head h = {.src = *source_for(p, dst),
                           .dst = *dst,
                           .proto = IP_PROTO_UDP,
                           .id = (uint16_t)p->frag_id++};
    send_ip(p, t, craft_udp(&p->pool, &h, sport, dport, size));
}

/* In: echo */

/* at: the ICMP message of len bytes, of a good checksum. */
static void echo_reply(struct pinger *p, const struct ip_addr *from, const uint8_t *at,
                       uint32_t len, uint8_t type)
{
    must(load_be16(at + 4) == p->id);
    uint32_t seq = load_be16(at + 6);
    must(seq < p->n_pings);
    struct ping *q = &p->ping[seq];
    must_msg(ip_eq(from, &q->dst), "ping %u was answered by another", seq);
    uint8_t expected[ICMP_MAX];
    uint32_t expected_len = echo_message(p, seq, type, expected);
    memcpy(expected + 2, at + 2, 2); /* the checksum has been found good */
    must_msg(len == expected_len, "ping %u: %u bytes came back as %u", seq, expected_len, len);
    must_msg(memcmp(at, expected, len) == 0, "ping %u: its reply is not exact", seq);
    p->replies++;
    if (q->replies++ > 0)
        p->duplicates++;
    else
        q->answered = p->node.sim->now;
}

static void heard_too_big(struct pinger *p, const struct ip_addr *dst, uint32_t mtu)
{
    p->too_big++;
    struct pinger_target *t = find_target(p, dst);
    if (t && (t->mtu == 0 || mtu < t->mtu) && mtu >= 576)
        t->mtu = (uint16_t)mtu;
}

static void icmp4_input(struct pinger *p, const struct ipv4_hdr *ip, const uint8_t *at,
                        uint32_t len)
{
    struct icmp_hdr h;
    struct ipv4_hdr q;
    if (icmp_parse(at, len, &h) < 0 || !checksum_ok(checksum_add(CHECKSUM_EMPTY, at, len)))
        return;
    if (h.type == ICMP_ECHO_REPLY)
        echo_reply(p, &ip->src, at, len, ICMP_ECHO_REPLY);
    else if (!icmp_is_error(h.type) || ipv4_parse_quoted(at + ICMP_LEN, len - ICMP_LEN, &q) < 0)
        return;
    else if (h.type == ICMP_UNREACHABLE && h.code == ICMP_FRAG_NEEDED)
        heard_too_big(p, &q.dst, h.mtu);
    else if (h.type == ICMP_UNREACHABLE && h.code == ICMP_PORT_UNREACHABLE)
        p->port_unreachable++;
    else
        p->other_errors++;
}

/* In: neighbours */

static void answer6(struct pinger *p, const struct ipv6_hdr *ip, const struct nd_msg *asked)
{
    if (p->cfg.silent || !ip_eq(&asked->target, &p->cfg.addr6))
        return;
    struct ip_addr all_nodes;
    must(ip_parse("ff02::1", &all_nodes));
    bool probe = ip_is_unspecified(&ip->src);
    struct nd_msg m = {.type = ICMPV6_NEIGH_ADVERT,
                       .target = p->cfg.addr6,
                       .solicited = !probe,
                       .override = true,
                       .has_target_link = true,
                       .target_link = p->cfg.mac};
    struct mac_addr mac = probe ? mac_of_multicast(&all_nodes) : asked->source_link;
    send_nd(p, &m, probe ? &all_nodes : &ip->src, &mac);
}

static void nd_input(struct pinger *p, const struct ipv6_hdr *ip, const uint8_t *at, uint32_t len)
{
    struct nd_msg m;
    if (nd_parse(at, len, ip, &m) < 0)
        return;
    if (m.type == ICMPV6_NEIGH_SOLICIT) {
        if (m.has_source_link)
            learn(p, &ip->src, &m.source_link);
        answer6(p, ip, &m);
    } else if (m.type == ICMPV6_NEIGH_ADVERT) {
        p->adverts += !ip_is_multicast(&ip->dst);
        if (m.has_target_link)
            learn(p, &m.target, &m.target_link);
    }
}

static void arp_input(struct pinger *p, const struct ether_hdr *eth, const uint8_t *at,
                      uint32_t len)
{
    struct arp_msg m;
    if (arp_parse(at, len, &m) < 0)
        return;
    p->arp_replies += m.op == ARP_REPLY && !mac_is_multicast(&eth->dst);
    if (!ip_is_unspecified(&m.sender_ip))
        learn(p, &m.sender_ip, &m.sender_mac);
    if (m.op != ARP_REQUEST || p->cfg.silent || !ip_eq(&m.target_ip, &p->cfg.addr4))
        return;
    struct arp_msg r = {.op = ARP_REPLY,
                        .sender_mac = p->cfg.mac,
                        .sender_ip = p->cfg.addr4,
                        .target_mac = m.sender_mac,
                        .target_ip = m.sender_ip};
    uint8_t bytes[ARP_LEN];
    send_bytes(p, &m.sender_mac, ETHER_TYPE_ARP, bytes, arp_emit(&r, bytes));
}

/* In: IP */

static void icmp6_input(struct pinger *p, const struct ipv6_hdr *ip, const uint8_t *at,
                        uint32_t len)
{
    struct icmpv6_hdr h;
    struct ipv6_hdr q;
    struct checksum c = checksum_pseudo(&ip->src, &ip->dst, IP_PROTO_ICMPV6, len);
    if (icmpv6_parse(at, len, &h) < 0 || !checksum_ok(checksum_add(c, at, len)))
        return;
    if (h.type == ICMPV6_ECHO_REPLY)
        echo_reply(p, &ip->src, at, len, ICMPV6_ECHO_REPLY);
    else if (h.type >= ICMPV6_ROUTER_SOLICIT && h.type <= ICMPV6_REDIRECT)
        nd_input(p, ip, at, len);
    else if (!icmpv6_is_error(h.type) ||
             ipv6_parse_quoted(at + ICMPV6_LEN, len - ICMPV6_LEN, &q) < 0)
        return;
    else if (h.type == ICMPV6_TOO_BIG)
        heard_too_big(p, &q.dst, h.mtu);
    else if (h.type == ICMPV6_UNREACHABLE && h.code == ICMPV6_PORT_UNREACHABLE)
        p->port_unreachable++;
    else
        p->other_errors++;
}

static void ip4_input(struct pinger *p, struct pkt *ip)
{
    struct ipv4_hdr h;
    int n = ipv4_parse(ip->data, ip->len, ip->total, false, &h);
    if (n < 0 || !is_ours(p, &h.dst)) {
        pkt_free(ip);
        return;
    }
    pkt_trim(ip, h.total_len);
    if (ipv4_is_fragment(&h)) {
        ip = reass_input4(p->reass, &h, ip, p->node.sim->now);
        if (ip)
            ip4_input(p, ip);
        return;
    }
    static uint8_t bytes[CRAFT_MAX];
    uint32_t len = ip->total - (uint32_t)n;
    pkt_copy_out(ip, (uint32_t)n, bytes, len);
    if (h.proto == IP_PROTO_ICMP)
        icmp4_input(p, &h, bytes, len);
    pkt_free(ip);
}

static bool listens_to(const struct pinger *p, const struct ip_addr *dst)
{
    struct ip_addr all_nodes;
    struct ip_addr group = ip_solicited_node(&p->cfg.addr6);
    return is_ours(p, dst) || ip_eq(dst, &group) ||
           (ip_parse("ff02::1", &all_nodes) && ip_eq(dst, &all_nodes));
}

static void ip6_input(struct pinger *p, struct pkt *ip)
{
    struct ipv6_hdr h;
    int n = ipv6_parse(ip->data, ip->len, ip->total, &h);
    if (n < 0 || !listens_to(p, &h.dst)) {
        pkt_free(ip);
        return;
    }
    pkt_trim(ip, h.total_len);
    if (ipv6_is_fragment(&h)) {
        ip = reass_input6(p->reass, &h, ip, p->node.sim->now);
        if (ip)
            ip6_input(p, ip);
        return;
    }
    static uint8_t bytes[CRAFT_MAX];
    uint32_t len = ip->total - h.upper_at;
    pkt_copy_out(ip, h.upper_at, bytes, len);
    if (h.next == IP_PROTO_ICMPV6)
        icmp6_input(p, &h, bytes, len);
    pkt_free(ip);
}

static bool is_for_us(const struct pinger *p, const struct ether_hdr *h)
{
    uint16_t vlan = h->tagged ? h->tci & ETHER_VLAN_MASK : 0;
    return (mac_is_multicast(&h->dst) || mac_eq(&h->dst, &p->cfg.mac)) && vlan == p->cfg.vlan &&
           !mac_eq(&h->src, &p->cfg.mac);
}

static void input(struct node *n, unsigned side, struct pkt *frame)
{
    (void)side;
    struct pinger *p = (struct pinger *)n;
    struct ether_hdr h;
    int len = ether_parse(frame->data, frame->len, &h);
    if (len > 0 && is_for_us(p, &h)) {
        struct pkt *ip = heap_pkt(&p->pool, frame->data + len, frame->len - (uint32_t)len, 0);
        if (h.type == ETHER_TYPE_IPV4) {
            ip4_input(p, ip);
        } else if (h.type == ETHER_TYPE_IPV6) {
            ip6_input(p, ip);
        } else {
            if (h.type == ETHER_TYPE_ARP)
                arp_input(p, &h, ip->data, ip->len);
            pkt_free(ip);
        }
    }
    pkt_free(frame);
}

/* Life */

static void destroy(struct node *n)
{
    struct pinger *p = (struct pinger *)n;
    for (unsigned i = 0; i < p->n_targets; i++)
        wheel_cancel(&n->sim->wheel, &p->target[i].timer);
    reass_destroy(p->reass);
    mem_free(&p->heap.mem, p->ping, p->max_pings * sizeof(*p->ping));
    must(p->pool.held == 0);
    must(p->heap.blocks == 0);
}

static const struct node_ops ops = {.input = input, .destroy = destroy};

struct pinger *pinger_create(struct sim *s, const struct pinger_config *config)
{
    struct pinger *p = node_create(s, &ops, sizeof(*p), 1);
    p->cfg = *config;
    if (p->cfg.mtu == 0)
        p->cfg.mtu = 1500;
    heap_init(&p->heap);
    heap_pool_init(&p->pool, 128, 2048);
    p->id = (uint16_t)sim_between(s, 0, UINT16_MAX);
    p->frag_id = (uint32_t)sim_between(s, 0, UINT32_MAX);
    struct reass_args reass = {.mem = &p->heap.mem,
                               .wheel = &s->wheel,
                               .pool = &p->pool.pool,
                               .counters = &p->counters,
                               .limits = {.datagrams = 32, .per_source = 32}};
    p->reass = reass_create(&reass);
    must(p->reass != NULL);
    return p;
}
