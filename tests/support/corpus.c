/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/corpus.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "support/frame.h"
#include "wire/checksum.h"
#include "wire/mld.h"
#include "wire/proto.h"

#define FRAME_KEPT 2048

struct maker {
    struct corpus_ends e;
    corpus_take take;
    void *ctx;
    struct corpus_case c;
    uint8_t kept[CORPUS_FRAMES_MAX][FRAME_KEPT];
    struct frame f;
    uint16_t id; /* of the next datagram in fragments */
};

/* f becomes the next frame of the case. */
static void add(struct maker *m)
{
    unsigned k = m->c.n_frames++;
    assert(k < CORPUS_FRAMES_MAX && m->f.len <= FRAME_KEPT);
    memcpy(m->kept[k], m->f.at, m->f.len);
    m->c.frame[k] = m->kept[k];
    m->c.len[k] = m->f.len;
}

__attribute__((format(printf, 4, 5))) static void finish(struct maker *m, enum drop why, unsigned n,
                                                         const char *name, ...)
{
    va_list args;
    va_start(args, name);
    vsnprintf(m->c.name, sizeof(m->c.name), name, args);
    va_end(args);
    m->c.why = why;
    m->c.n = n;
    m->take(m->ctx, &m->c);
    m->c.n_frames = 0;
}

/* A case of one frame: f. */
#define one(m, why, ...) (add(m), finish(m, why, 1, __VA_ARGS__))

/* f is a whole frame. Cut to each length in [from, to) it is refused for `why`. */
static void cuts(struct maker *m, const char *kind, uint32_t from, uint32_t to, enum drop why)
{
    uint32_t whole = m->f.len;
    for (uint32_t n = from; n < to; n++) {
        m->f.len = n;
        one(m, why, "%s/cut/%u", kind, n);
    }
    m->f.len = whole;
}

/* f is a whole frame. With any one bit of [from, to) flipped it is refused for `why`. */
static void flips(struct maker *m, const char *kind, uint32_t from, uint32_t to, enum drop why)
{
    for (uint32_t bit = from * 8; bit < to * 8; bit++) {
        m->f.at[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        one(m, why, "%s/flip/%u.%u", kind, bit / 8, bit % 8);
        m->f.at[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
    }
}

/* n bytes of which none is zero, so that none can be lost unseen by a checksum. */
static void payload(struct maker *m, uint32_t n)
{
    frame_payload(&m->f, n);
    for (uint32_t i = 0; i < n; i++)
        m->f.at[i] |= 1;
}

static void ether4(struct maker *m)
{
    frame_push_ether(&m->f, &m->e.us_mac, &m->e.peer_mac, ETHER_TYPE_IPV4);
}

static void ether6(struct maker *m)
{
    frame_push_ether(&m->f, &m->e.us_mac, &m->e.peer_mac, ETHER_TYPE_IPV6);
}

static void ip4(struct maker *m, uint8_t proto)
{
    struct ipv4_hdr h = {.src = m->e.peer4, .dst = m->e.us4, .proto = proto};
    frame_push_ip4(&m->f, &h);
    ether4(m);
}

static void ip6(struct maker *m, uint8_t next)
{
    struct ipv6_hdr h = {.src = m->e.peer6, .dst = m->e.us6, .next = next};
    frame_push_ip6(&m->f, &h);
    ether6(m);
}

static void ip6_near(struct maker *m, uint8_t hop_limit)
{
    struct ipv6_hdr h = {
        .src = m->e.peer6, .dst = m->e.us6, .next = IP_PROTO_ICMPV6, .hop_limit = hop_limit};
    frame_push_ip6(&m->f, &h);
    ether6(m);
}

static void echo4(struct maker *m, uint32_t n)
{
    payload(m, n);
    frame_push_echo(&m->f, ICMP_ECHO, 0x1234, 1);
}

static void echo6(struct maker *m, uint32_t n)
{
    payload(m, n);
    frame_push_icmp6(&m->f, &(struct icmpv6_hdr){.type = ICMPV6_ECHO, .id = 0x1234}, &m->e.peer6,
                     &m->e.us6);
}

static void udp(struct maker *m, bool v4, uint32_t n)
{
    payload(m, n);
    frame_push_udp(&m->f, 9, 9, v4 ? &m->e.peer4 : &m->e.peer6, v4 ? &m->e.us4 : &m->e.us6);
}

/* ---- Ethernet ---- */

static void ethernet(struct maker *m)
{
    static const struct mac_addr other = {{2, 0xde, 0xad, 0xbe, 0xef, 1}};
    static const struct mac_addr group = {{3, 0, 0, 0, 0, 1}};
    echo4(m, 20);
    ip4(m, IP_PROTO_ICMP);
    cuts(m, "ether", 1, ETHER_LEN, DROP_ETHER_SHORT);
    payload(m, 50);
    frame_push_ether(&m->f, &other, &m->e.peer_mac, ETHER_TYPE_IPV4);
    one(m, DROP_ETHER_DESTINATION, "ether/other");
    payload(m, 50);
    frame_push_ether(&m->f, &m->e.us_mac, &group, ETHER_TYPE_IPV4);
    one(m, DROP_ETHER_SOURCE, "ether/from-group");
    payload(m, 50);
    frame_push_ether(&m->f, &m->e.us_mac, &m->e.us_mac, ETHER_TYPE_IPV4);
    one(m, DROP_ETHER_SOURCE, "ether/from-us");
    static const uint16_t types[] = {0, 46, 0x600, 0x806f, 0x8847, 0x88a8, 0x88cc, 0xffff};
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        payload(m, 50);
        frame_push_ether(&m->f, &m->e.us_mac, &m->e.peer_mac, types[i]);
        one(m, DROP_ETHER_TYPE, "ether/type/%04x", types[i]);
    }
    payload(m, 50);
    frame_push_tagged(&m->f, &m->e.us_mac, &m->e.peer_mac, 77, ETHER_TYPE_IPV4);
    one(m, DROP_VLAN, "ether/vlan");
    cuts(m, "ether/vlan", ETHER_LEN, ETHER_TAGGED_LEN, DROP_ETHER_SHORT);
    payload(m, 50);
    frame_push_tagged(&m->f, &m->e.us_mac, &m->e.peer_mac, 0, ETHER_TYPE_VLAN);
    one(m, DROP_ETHER_TYPE, "ether/two-tags");
}

/* ---- ARP ---- */

static void arp_message(struct maker *m, const struct arp_msg *msg)
{
    uint8_t body[ARP_LEN];
    arp_emit(msg, body);
    frame_bytes(&m->f, body, sizeof(body));
    frame_push_ether(&m->f, &MAC_BROADCAST, &m->e.peer_mac, ETHER_TYPE_ARP);
}

static void arp(struct maker *m)
{
    struct arp_msg ask = {.op = ARP_REQUEST,
                          .sender_mac = m->e.peer_mac,
                          .sender_ip = m->e.peer4,
                          .target_ip = m->e.us4};
    arp_message(m, &ask);
    cuts(m, "arp", ETHER_LEN, ETHER_LEN + ARP_LEN, DROP_ARP_SHORT);
    flips(m, "arp", ETHER_LEN, ETHER_LEN + 7,
          DROP_ARP_FORMAT); /* all but the operation's low byte */
    for (uint8_t op = 0; op < 16; op++) {
        if (op == ARP_REQUEST || op == ARP_REPLY)
            continue;
        m->f.at[ETHER_LEN + 7] = op;
        one(m, DROP_ARP_FORMAT, "arp/op/%u", op);
    }
    ask.sender_mac.b[0] |= 1;
    arp_message(m, &ask);
    one(m, DROP_ARP_SENDER, "arp/group-mac");
    ask.sender_mac = m->e.peer_mac;
    ask.sender_ip = ip_from_v4(0xe0000001);
    arp_message(m, &ask);
    one(m, DROP_IP_SOURCE, "arp/from-group");
    ask.sender_ip = ip_from_v4(0x7f000001);
    arp_message(m, &ask);
    one(m, DROP_IP_SOURCE, "arp/from-loopback");
    ask.sender_ip = ip_from_v4(0);
    ask.target_ip = m->e.peer4;
    arp_message(m, &ask);
    one(m, DROP_ARP_NOT_OURS, "arp/probe-for-another");
    ask.sender_mac = (struct mac_addr){{2, 0xde, 0xad, 0xbe, 0xef, 2}};
    ask.sender_ip = m->e.us4;
    arp_message(m, &ask);
    one(m, DROP_ARP_CONFLICT, "arp/conflict");
}

/* ---- IPv4 ---- */

/* The header of f, a frame, is summed again after a change. */
static void sum4(struct maker *m)
{
    uint8_t *at = m->f.at + ETHER_LEN;
    uint32_t header = (at[0] & 15u) * 4;
    store_be16(at + 10, 0);
    store_be16(at + 10, checksum_finish(checksum_add(CHECKSUM_EMPTY, at, header)));
}

static void ipv4_headers(struct maker *m)
{
    uint8_t *at;
    echo4(m, 20);
    ip4(m, IP_PROTO_ICMP);
    cuts(m, "ipv4", ETHER_LEN, ETHER_LEN + IPV4_LEN, DROP_IP4_SHORT);
    cuts(m, "ipv4", ETHER_LEN + IPV4_LEN, m->f.len, DROP_IP4_TOTAL_LENGTH);
    at = m->f.at + ETHER_LEN;
    for (unsigned v = 0; v < 16; v++) {
        at[0] = (uint8_t)(v << 4 | 5);
        if (v != 4)
            one(m, DROP_IP4_VERSION, "ipv4/version/%u", v);
    }
    for (unsigned words = 0; words < 16; words++) {
        at[0] = (uint8_t)(0x40 | words);
        if (words < 5 || words * 4 > m->f.len - ETHER_LEN)
            one(m, DROP_IP4_HEADER_LENGTH, "ipv4/header-length/%u", words);
    }
    at[0] = 0x45;
    for (uint16_t len = 0; len < IPV4_LEN; len++) {
        store_be16(at + 2, len);
        sum4(m);
        one(m, DROP_IP4_TOTAL_LENGTH, "ipv4/total-length/%u", len);
    }
    static const uint16_t beyond[] = {49, 50, 1500, 0x8000, 0xffff};
    for (unsigned i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
        store_be16(at + 2, beyond[i]);
        sum4(m);
        one(m, DROP_IP4_TOTAL_LENGTH, "ipv4/total-length/%u", beyond[i]);
    }
    echo4(m, 20);
    ip4(m, IP_PROTO_ICMP);
    flips(m, "ipv4", ETHER_LEN + 1, ETHER_LEN + 2, DROP_IP4_CHECKSUM);
    flips(m, "ipv4", ETHER_LEN + 4, ETHER_LEN + IPV4_LEN, DROP_IP4_CHECKSUM);
}

static void with_options(struct maker *m, const uint8_t *options, uint8_t len)
{
    struct ipv4_hdr h = {
        .src = m->e.peer4, .dst = m->e.us4, .proto = IP_PROTO_ICMP, .options_len = len};
    memcpy(h.options, options, len);
    echo4(m, 20);
    frame_push_ip4(&m->f, &h);
    ether4(m);
}

static void ipv4_options(struct maker *m)
{
    static const uint8_t bad[][4] = {{7, 0, 0, 0},   {7, 1, 0, 0}, {7, 5, 0, 0},
                                     {7, 255, 0, 0}, {1, 1, 1, 7}, {1, 68, 4, 0},
                                     {1, 1, 7, 0},   {1, 1, 7, 3}, {131, 5, 4, 0}};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        with_options(m, bad[i], 4);
        one(m, DROP_IP4_OPTION, "ipv4/option/%u", i);
    }
    uint8_t longest[40];
    memset(longest, 1, sizeof(longest));
    longest[39] = 7;
    with_options(m, longest, sizeof(longest));
    one(m, DROP_IP4_OPTION, "ipv4/option/last-byte");
    longest[39] = 1;
    with_options(m, longest, sizeof(longest));
    cuts(m, "ipv4/options", ETHER_LEN + IPV4_LEN, ETHER_LEN + 60, DROP_IP4_HEADER_LENGTH);
    cuts(m, "ipv4/options", ETHER_LEN + 60, m->f.len, DROP_IP4_TOTAL_LENGTH);
    static const uint8_t routes[][8] = {{131, 7, 4, 10, 0, 0, 1, 0}, {137, 7, 8, 10, 0, 0, 1, 0}};
    for (unsigned i = 0; i < 2; i++) {
        with_options(m, routes[i], 8);
        one(m, DROP_IP_SOURCE_ROUTE, "ipv4/source-route/%u", i);
    }
}

static void addressed4(struct maker *m, uint32_t src, uint32_t dst, enum drop why)
{
    struct ipv4_hdr h = {.src = src ? ip_from_v4(src) : m->e.peer4,
                         .dst = dst ? ip_from_v4(dst) : m->e.us4,
                         .proto = IP_PROTO_ICMP};
    echo4(m, 20);
    frame_push_ip4(&m->f, &h);
    ether4(m);
    one(m, why, "ipv4/%s/%08x", src ? "from" : "to", src ? src : dst);
}

static void ipv4_addresses(struct maker *m)
{
    const uint32_t from[] = {1, 0x7f000001, 0xe0000001, 0xefffffff, 0xffffffff, ip_v4(&m->e.us4)};
    const uint32_t to[] = {1, 0x7f000001, 0xe00000fb, 0xefffffff, ip_v4(&m->e.peer4)};
    for (unsigned i = 0; i < sizeof(from) / sizeof(from[0]); i++)
        addressed4(m, from[i], 0, DROP_IP_SOURCE);
    for (unsigned i = 0; i < sizeof(to) / sizeof(to[0]); i++)
        addressed4(m, 0, to[i], DROP_IP_DESTINATION);
    addressed4(m, 0, 0xe0000001, DROP_ICMP_ECHO_GROUP);
    addressed4(m, 0, 0xffffffff, DROP_ICMP_ECHO_GROUP);
    static const uint8_t protos[] = {0, 2, 4, 41, 47, 50, 58, 132, 255};
    for (unsigned i = 0; i < sizeof(protos); i++) {
        payload(m, 40);
        ip4(m, protos[i]);
        one(m, DROP_IP_PROTOCOL, "ipv4/protocol/%u", protos[i]);
    }
}

/* ---- fragments ---- */

struct piece {
    uint16_t at, len;
    bool more;
    uint8_t options; /* IPv4: bytes of options; IPv6: of a hop-by-hop header */
    uint8_t ecn;
};

static void fragment4(struct maker *m, const struct piece *p, const uint8_t *whole)
{
    struct ipv4_hdr h = {.src = m->e.peer4,
                         .dst = m->e.us4,
                         .id = m->id,
                         .proto = IP_PROTO_ICMP,
                         .frag_offset = p->at,
                         .more_fragments = p->more,
                         .tos = p->ecn,
                         .options_len = p->options};
    memset(h.options, 1, p->options);
    frame_bytes(&m->f, whole ? whole + p->at : NULL, whole ? p->len : 0);
    if (!whole)
        payload(m, p->len);
    frame_push_ip4(&m->f, &h);
    ether4(m);
}

static void fragment6(struct maker *m, const struct piece *p, const uint8_t *whole)
{
    static const uint8_t padding[8] = {IP_PROTO_FRAGMENT, 0, 1, 4};
    struct ipv6_frag h = {.next = IP_PROTO_ICMPV6, .id = m->id, .offset = p->at, .more = p->more};
    struct ipv6_hdr ip = {.src = m->e.peer6,
                          .dst = m->e.us6,
                          .next = p->options ? IP_PROTO_HOP_BY_HOP : IP_PROTO_FRAGMENT,
                          .traffic_class = p->ecn};
    frame_bytes(&m->f, whole ? whole + p->at : NULL, whole ? p->len : 0);
    if (!whole)
        payload(m, p->len);
    frame_push_frag6(&m->f, &h);
    if (p->options)
        memcpy(frame_push(&m->f, 8), padding, 8);
    frame_push_ip6(&m->f, &ip);
    ether6(m);
}

/* Fragments of an echo request of 32 bytes: if all of it came, it would be answered. */
static void datagram(struct maker *m, bool v4, const char *name, const struct piece *p, unsigned n,
                     enum drop why, unsigned drops)
{
    uint8_t whole[32];
    (v4 ? echo4 : echo6)(m, 24);
    memcpy(whole, m->f.at, sizeof(whole));
    for (unsigned i = 0; i < n; i++) {
        bool inside = p[i].at + p[i].len <= sizeof(whole);
        (v4 ? fragment4 : fragment6)(m, &p[i], inside ? whole : NULL);
        add(m);
    }
    m->id++;
    finish(m, why, drops, "%s/fragments/%s", v4 ? "ipv4" : "ipv6", name);
}

static void fragments(struct maker *m, bool v4)
{
    static const struct piece overlap[] = {{0, 16, true, 0, 0}, {8, 24, false, 0, 0}};
    static const struct piece inside[] = {{0, 24, true, 0, 0}, {8, 8, true, 0, 0}};
    static const struct piece around[] = {{16, 8, true, 0, 0}, {8, 24, false, 0, 0}};
    static const struct piece two_ends[] = {{16, 8, false, 0, 0}, {24, 8, false, 0, 0}};
    static const struct piece past_end[] = {{16, 8, false, 0, 0}, {24, 8, true, 0, 0}};
    static const struct piece early_end[] = {{16, 16, true, 0, 0}, {8, 8, false, 0, 0}};
    static const struct piece twice[] = {
        {0, 16, true, 0, 0}, {0, 16, true, 0, 0}, {16, 16, false, 0, 0}};
    static const struct piece ecn[] = {{0, 16, true, 0, 3}, {16, 16, false, 0, 0}};
    static const struct piece too_long4[] = {{65496, 16, false, 0, 0}, {0, 16, true, 40, 0}};
    static const struct piece too_long6[] = {{65520, 8, false, 0, 0}, {0, 16, true, 8, 0}};
    static const struct piece after[] = {
        {0, 16, true, 0, 0}, {8, 24, false, 0, 0}, {16, 16, false, 0, 0}};
    datagram(m, v4, "overlap", overlap, 2, DROP_FRAG_OVERLAP, 2);
    datagram(m, v4, "inside", inside, 2, DROP_FRAG_OVERLAP, 2);
    datagram(m, v4, "around", around, 2, DROP_FRAG_OVERLAP, 2);
    datagram(m, v4, "two-ends", two_ends, 2, DROP_FRAG_OVERLAP, 2);
    datagram(m, v4, "past-the-end", past_end, 2, DROP_FRAG_OVERLAP, 2);
    datagram(m, v4, "early-end", early_end, 2, DROP_FRAG_OVERLAP, 2);
    datagram(m, v4, "after-an-overlap", after, 3, DROP_FRAG_OVERLAP, 3);
    datagram(m, v4, "twice", twice, 3, DROP_FRAG_DUPLICATE, 1);
    datagram(m, v4, "ecn", ecn, 2, DROP_FRAG_ECN, 2);
    datagram(m, v4, "too-long", v4 ? too_long4 : too_long6, 2, DROP_FRAG_TOO_LONG, 2);
}

static void bad_fragments(struct maker *m)
{
    static const struct piece p4[] = {{0, 0, true, 0, 0},      {8, 0, false, 0, 0},
                                      {0, 15, true, 0, 0},     {8, 9, true, 0, 0},
                                      {65528, 8, false, 0, 0}, {65512, 16, false, 0, 0},
                                      {65472, 8, false, 40, 0}};
    for (unsigned i = 0; i < sizeof(p4) / sizeof(p4[0]); i++) {
        fragment4(m, &p4[i], NULL);
        one(m, DROP_IP4_FRAGMENT, "ipv4/fragment/%u", i);
    }
    static const struct piece p6[] = {{0, 0, true, 0, 0},      {8, 0, false, 0, 0},
                                      {0, 15, true, 0, 0},     {8, 9, true, 0, 0},
                                      {65528, 8, false, 0, 0}, {65520, 8, false, 8, 0}};
    for (unsigned i = 0; i < sizeof(p6) / sizeof(p6[0]); i++) {
        fragment6(m, &p6[i], NULL);
        one(m, DROP_IP6_FRAGMENT, "ipv6/fragment/%u", i);
    }
    static const uint8_t nexts[] = {IP_PROTO_ICMPV6, IP_PROTO_UDP,          IP_PROTO_TCP,
                                    IP_PROTO_SCTP,   IP_PROTO_DEST_OPTIONS, IP_PROTO_ROUTING};
    for (unsigned i = 0; i < sizeof(nexts); i++) { /* RFC 7112 5 */
        static const uint8_t options[8] = {IP_PROTO_UDP, 1, 1, 4};
        frame_bytes(&m->f, options,
                    nexts[i] == IP_PROTO_ICMPV6 || nexts[i] == IP_PROTO_UDP ? 0 : 8);
        if (m->f.len == 0)
            continue; /* eight bytes are their whole header */
        frame_push_frag6(&m->f, &(struct ipv6_frag){.next = nexts[i], .id = m->id++, .more = true});
        ip6(m, IP_PROTO_FRAGMENT);
        one(m, DROP_FRAG_TINY, "ipv6/fragment/tiny/%u", nexts[i]);
    }
}

/* ---- ICMP ---- */

static const struct ip_addr SOMEWHERE4 = {{[10] = 0xff, 0xff, 203, 0, 113, 77}};
static const struct ip_addr SOMEWHERE6 = {{0x20, 1, 0xd, 0xb8, 0xff, 0xff, [15] = 0x77}};

/* An error about a packet that src sent. */
static void error4(struct maker *m, const struct icmp_hdr *h, const struct ip_addr *src,
                   uint8_t proto, uint8_t type, uint32_t quoted)
{
    payload(m, 1000);
    m->f.at[0] = type;
    frame_push_ip4(&m->f, &(struct ipv4_hdr){.src = *src, .dst = SOMEWHERE4, .proto = proto});
    m->f.len = quoted;
    frame_push_icmp(&m->f, h);
    ip4(m, IP_PROTO_ICMP);
}

static void icmp(struct maker *m)
{
    uint8_t whole[64];
    echo4(m, 20);
    uint32_t len = m->f.len;
    memcpy(whole, m->f.at, len);
    for (uint32_t n = 0; n < len; n++) {
        frame_bytes(&m->f, whole, n);
        ip4(m, IP_PROTO_ICMP);
        one(m, n < ICMP_LEN ? DROP_ICMP4_SHORT : DROP_ICMP4_CHECKSUM, "icmp/cut/%u", n);
    }
    frame_bytes(&m->f, whole, len);
    ip4(m, IP_PROTO_ICMP);
    flips(m, "icmp", ETHER_LEN + IPV4_LEN, m->f.len, DROP_ICMP4_CHECKSUM);
    static const uint8_t types[] = {0, 1, 5, 9, 10, 13, 14, 15, 17, 40, 42, 255};
    for (unsigned i = 0; i < sizeof(types); i++) {
        payload(m, 40);
        frame_push_icmp(&m->f, &(struct icmp_hdr){.type = types[i]});
        ip4(m, IP_PROTO_ICMP);
        one(m, DROP_ICMP_TYPE, "icmp/type/%u", types[i]);
    }
    struct icmp_hdr needed = {.type = ICMP_UNREACHABLE, .code = ICMP_FRAG_NEEDED, .mtu = 600};
    for (uint32_t n = 0; n < IPV4_LEN; n++) {
        error4(m, &needed, &m->e.us4, IP_PROTO_ICMP, ICMP_ECHO_REPLY, n);
        one(m, DROP_ICMP4_SHORT, "icmp/quote/cut/%u", n);
    }
    error4(m, &needed, &m->e.us4, IP_PROTO_ICMP, ICMP_ECHO_REPLY, IPV4_LEN);
    one(m, DROP_ICMP_ERROR_UNMATCHED, "icmp/quote/no-type");
    error4(m, &needed, &m->e.us4, IP_PROTO_ICMP, ICMP_ECHO, 28);
    one(m, DROP_ICMP_ERROR_UNMATCHED, "icmp/quote/request");
    error4(m, &needed, &m->e.peer4, IP_PROTO_ICMP, ICMP_ECHO_REPLY, 28);
    one(m, DROP_ICMP_ERROR_UNMATCHED, "icmp/quote/from-another");
    error4(m, &needed, &m->e.us4, IP_PROTO_TCP, ICMP_ECHO_REPLY, 28);
    one(m, DROP_ICMP_ERROR_UNMATCHED, "icmp/quote/tcp");
    needed.mtu = 1020;
    error4(m, &needed, &m->e.us4, IP_PROTO_ICMP, ICMP_ECHO_REPLY, 28);
    one(m, DROP_ICMP_MTU, "icmp/mtu/no-less-than-sent");
}

/* ---- UDP ---- */

static void udp_of(struct maker *m, bool v4)
{
    const char *kind = v4 ? "udp4" : "udp6";
    uint32_t ip = ETHER_LEN + (v4 ? IPV4_LEN : IPV6_LEN);
    uint8_t whole[64];
    udp(m, v4, 20);
    uint32_t len = m->f.len;
    memcpy(whole, m->f.at, len);
    for (uint32_t n = 0; n < len; n++) {
        frame_bytes(&m->f, whole, n);
        (v4 ? ip4 : ip6)(m, IP_PROTO_UDP);
        one(m, n < UDP_LEN ? DROP_UDP_SHORT : DROP_UDP_LENGTH, "%s/cut/%u", kind, n);
    }
    frame_bytes(&m->f, whole, len);
    (v4 ? ip4 : ip6)(m, IP_PROTO_UDP);
    one(m, DROP_UDP_PORT, "%s/port", kind);
    flips(m, kind, ip, ip + 4, DROP_UDP_CHECKSUM);
    flips(m, kind, ip + 6, m->f.len, DROP_UDP_CHECKSUM);
    for (uint16_t n = 0; n < UDP_LEN; n++) {
        store_be16(m->f.at + ip + 4, n);
        one(m, DROP_UDP_LENGTH, "%s/length/%u", kind, n);
    }
    store_be16(m->f.at + ip + 4, 29);
    one(m, DROP_UDP_LENGTH, "%s/length/29", kind);
    if (v4)
        return;
    udp(m, v4, 20);
    store_be16(m->f.at + 6, 0);
    ip6(m, IP_PROTO_UDP);
    one(m, DROP_UDP_CHECKSUM, "udp6/no-checksum");
}

/* ---- TCP ---- */

/* A segment with an option of timestamps and 20 bytes of data, to a port where nobody listens. */
static void tcp(struct maker *m, bool v4, uint16_t flags)
{
    struct tcp_hdr h = {.src_port = 1024,
                        .dst_port = 9999,
                        .seq = seq32(0xfffffff0),
                        .ack = seq32(0xffffff00),
                        .flags = flags,
                        .window = 1000,
                        .options = {.has_timestamps = true, .ts_value = 1, .ts_echo = 2}};
    payload(m, 20);
    frame_push_tcp(&m->f, &h, v4 ? &m->e.peer4 : &m->e.peer6, v4 ? &m->e.us4 : &m->e.us6);
}

static void tcp_of(struct maker *m, bool v4)
{
    const char *kind = v4 ? "tcp4" : "tcp6";
    uint32_t ip = ETHER_LEN + (v4 ? IPV4_LEN : IPV6_LEN);
    uint32_t header = TCP_LEN + TCP_TIMESTAMPS_LEN;
    uint8_t whole[64];
    tcp(m, v4, TCP_ACK);
    uint32_t len = m->f.len;
    memcpy(whole, m->f.at, len);
    for (uint32_t n = 0; n < len; n++) {
        frame_bytes(&m->f, whole, n);
        (v4 ? ip4 : ip6)(m, IP_PROTO_TCP);
        one(m,
            n < TCP_LEN  ? DROP_TCP_SHORT
            : n < header ? DROP_TCP_OFFSET
                         : DROP_TCP_CHECKSUM,
            "%s/cut/%u", kind, n);
    }
    frame_bytes(&m->f, whole, len);
    (v4 ? ip4 : ip6)(m, IP_PROTO_TCP);
    one(m, DROP_TCP_PORT, "%s/port", kind);
    flips(m, kind, ip, ip + 12, DROP_TCP_CHECKSUM);
    flips(m, kind, ip + 13, ip + TCP_LEN, DROP_TCP_CHECKSUM);
    flips(m, kind, ip + header, m->f.len, DROP_TCP_CHECKSUM);
    for (unsigned words = 0; words < 5; words++) {
        m->f.at[ip + 12] = (uint8_t)(words << 4);
        one(m, DROP_TCP_OFFSET, "%s/offset/%u", kind, words);
    }
    m->f.at[ip + 12] = (uint8_t)(header / 4 << 4);
    for (uint8_t n = 0; n < 2; n++) { /* of the option behind the two that pad it */
        m->f.at[ip + TCP_LEN + 3] = n;
        one(m, DROP_TCP_OPTION, "%s/option/%u", kind, n);
    }
    static const uint8_t sized[][2] = {{2, 10}, {3, 4}, {4, 3}, {5, 9}, {8, 9}, {77, 40}};
    for (unsigned i = 0; i < sizeof(sized) / sizeof(sized[0]); i++) { /* kinds and lengths */
        memcpy(m->f.at + ip + TCP_LEN + 2, sized[i], 2);
        one(m, DROP_TCP_OPTION, "%s/option/%u/%u", kind, sized[i][0], sized[i][1]);
    }
    static const uint16_t flags[] = {0, TCP_SYN, TCP_RST, TCP_FIN, TCP_SYN | TCP_ACK, 0xff};
    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        tcp(m, v4, flags[i]);
        (v4 ? ip4 : ip6)(m, IP_PROTO_TCP);
        one(m, DROP_TCP_PORT, "%s/flags/%x", kind, flags[i]);
    }
}

/* ---- IPv6 ---- */

static void ipv6_headers(struct maker *m)
{
    echo6(m, 20);
    ip6(m, IP_PROTO_ICMPV6);
    uint8_t *at = m->f.at + ETHER_LEN;
    cuts(m, "ipv6", ETHER_LEN, ETHER_LEN + IPV6_LEN, DROP_IP6_SHORT);
    cuts(m, "ipv6", ETHER_LEN + IPV6_LEN, m->f.len, DROP_IP6_PAYLOAD_LENGTH);
    for (unsigned v = 0; v < 16; v++) {
        at[0] = (uint8_t)(v << 4);
        if (v != 6)
            one(m, DROP_IP6_VERSION, "ipv6/version/%u", v);
    }
    at[0] = 0x60;
    static const uint16_t beyond[] = {29, 1500, 0x8000, 0xffff};
    for (unsigned i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
        store_be16(at + 4, beyond[i]);
        one(m, DROP_IP6_PAYLOAD_LENGTH, "ipv6/payload-length/%u", beyond[i]);
    }
    store_be16(at + 4, 28);
    memcpy(at + 8, m->e.peer4.b, 16);
    one(m, DROP_IP6_MAPPED, "ipv6/mapped/source");
    memcpy(at + 8, m->e.peer6.b, 16);
    memcpy(at + 24, m->e.us4.b, 16);
    one(m, DROP_IP6_MAPPED, "ipv6/mapped/destination");
    echo6(m, 20);
    ip6(m, IP_PROTO_HOP_BY_HOP);
    store_be16(m->f.at + ETHER_LEN + 4, 0); /* RFC 2675 */
    one(m, DROP_IP6_PAYLOAD_LENGTH, "ipv6/jumbogram");
}

static void addressed6(struct maker *m, const char *src, const char *dst, enum drop why)
{
    struct ipv6_hdr h = {.src = m->e.peer6, .dst = m->e.us6, .next = IP_PROTO_ICMPV6};
    bool parsed = ip_parse(src ? src : dst, src ? &h.src : &h.dst);
    assert(parsed && "an address of this file");
    (void)parsed;
    payload(m, 20);
    frame_push_icmp6(&m->f, &(struct icmpv6_hdr){.type = ICMPV6_ECHO}, &h.src, &h.dst);
    frame_push_ip6(&m->f, &h);
    ether6(m);
    one(m, why, "ipv6/%s/%s", src ? "from" : "to", src ? src : dst);
}

static void ipv6_addresses(struct maker *m)
{
    static const char *const from[] = {"::", "::1", "ff02::1", "ff0e::1", "ff00::"};
    static const char *const to[] = {"::",       "::1",
                                     "ff01::1",  "ff02::2",
                                     "ff02::fb", "ff02::1:ffde:adbe",
                                     "ff0e::1",  "2001:db8:dead::1"};
    for (unsigned i = 0; i < sizeof(from) / sizeof(from[0]); i++)
        addressed6(m, from[i], NULL, DROP_IP_SOURCE);
    for (unsigned i = 0; i < sizeof(to) / sizeof(to[0]); i++)
        addressed6(m, NULL, to[i], DROP_IP_DESTINATION);
    echo6(m, 20);
    frame_push_ip6(&m->f,
                   &(struct ipv6_hdr){.src = m->e.us6, .dst = m->e.us6, .next = IP_PROTO_ICMPV6});
    ether6(m);
    one(m, DROP_IP_SOURCE, "ipv6/from-us");
    static const uint8_t nexts[] = {1, 2, 4, 41, 47, 50, 51, 59, 132, 255};
    for (unsigned i = 0; i < sizeof(nexts); i++) {
        payload(m, 40);
        ip6(m, nexts[i]);
        one(m, DROP_IP_PROTOCOL, "ipv6/next/%u", nexts[i]);
    }
}

/* Puts an extension header of 8 * (words + 1) bytes, filled with padding, before what f is. */
static void push_ext(struct maker *m, uint8_t next, uint8_t words)
{
    uint32_t len = 8u + 8u * words;
    uint8_t *at = frame_push(&m->f, len);
    memset(at, 0, len);
    at[0] = next;
    at[1] = words;
    for (uint32_t i = 2; i < len; i += 2)
        at[i] = 0x1e; /* options that are skipped, without a value: no more than eight */
}

static void ext_chains(struct maker *m)
{
    static const uint8_t exts[] = {IP_PROTO_HOP_BY_HOP, IP_PROTO_DEST_OPTIONS};
    for (unsigned e = 0; e < 2; e++) {
        uint8_t whole[64];
        udp(m, false, 8);
        push_ext(m, IP_PROTO_UDP, 1);
        memcpy(whole, m->f.at, 32);
        for (uint32_t n = e == 0 ? 1 : 0; n < 16; n++) {
            frame_bytes(&m->f, whole, n);
            ip6(m, exts[e]);
            one(m, DROP_IP6_EXT_SHORT, "ipv6/ext/%u/cut/%u", exts[e], n);
        }
        for (unsigned words = 4; words < 256; words += words < 8 ? 1 : 41) {
            frame_bytes(&m->f, whole, 32);
            m->f.at[1] = (uint8_t)words;
            ip6(m, exts[e]);
            one(m, DROP_IP6_EXT_SHORT, "ipv6/ext/%u/length/%u", exts[e], words);
        }
    }
    uint8_t frag[8] = {IP_PROTO_UDP};
    for (uint32_t n = 0; n < 8; n++) {
        frame_bytes(&m->f, frag, n);
        ip6(m, IP_PROTO_FRAGMENT);
        one(m, DROP_IP6_EXT_SHORT, "ipv6/ext/44/cut/%u", n);
    }
    for (unsigned n = IPV6_EXT_MAX + 1; n < 25; n += 5) { /* a loop of them */
        udp(m, false, 8);
        push_ext(m, IP_PROTO_UDP, 0);
        for (unsigned k = 1; k < n; k++)
            push_ext(m, IP_PROTO_DEST_OPTIONS, 0);
        ip6(m, IP_PROTO_DEST_OPTIONS);
        one(m, DROP_IP6_EXT_COUNT, "ipv6/ext/chain/%u", n);
    }
    for (unsigned n = 1; n < 8; n++) {
        udp(m, false, 8);
        push_ext(m, IP_PROTO_UDP, 0);
        push_ext(m, IP_PROTO_HOP_BY_HOP, 0);
        for (unsigned k = 1; k < n; k++)
            push_ext(m, IP_PROTO_DEST_OPTIONS, 0);
        ip6(m, IP_PROTO_DEST_OPTIONS);
        one(m, DROP_IP6_EXT_ORDER, "ipv6/ext/late-hop-by-hop/%u", n);
    }
    udp(m, false, 8);
    frame_push_frag6(&m->f, &(struct ipv6_frag){.next = IP_PROTO_UDP});
    frame_push_frag6(&m->f, &(struct ipv6_frag){.next = IP_PROTO_FRAGMENT});
    ip6(m, IP_PROTO_FRAGMENT);
    one(m, DROP_IP6_EXT_ORDER, "ipv6/ext/two-fragment-headers");
}

/* One extension header of 16 bytes, its 14 of options in place. */
static void options6(struct maker *m, uint8_t ext, const uint8_t options[14])
{
    udp(m, false, 8);
    uint8_t *at = frame_push(&m->f, 16);
    at[0] = IP_PROTO_UDP;
    at[1] = 1;
    memcpy(at + 2, options, 14);
    ip6(m, ext);
}

static void ext_options(struct maker *m)
{
    static const uint8_t exts[] = {IP_PROTO_HOP_BY_HOP, IP_PROTO_DEST_OPTIONS};
    static const uint8_t unknown[] = {0x40, 0x7f, 0x80, 0xbf, 0xc0, 0xc2 /* jumbo payload */, 0xff};
    static const uint8_t beyond[][14] = {{0x1e, 13},
                                         {0x1e, 255},
                                         {1, 13},
                                         {1, 4, 0, 0, 0, 0, 0x1e, 7},
                                         {[0] = 1, 4, [6] = 0x1e, 4, [12] = 0x1e, 1},
                                         {[0] = 0x1e, 11, [13] = 0x1e}};
    static const uint8_t many[14] = {0x1e, 0, 0x1e, 0, 0x1e, 0, 0x1e, 0, 0x1e, 0, 0x1e, 0, 0x1e, 0};
    static const uint8_t zeros[14] = {0};
    static const uint8_t padding[14] = {1, 12};
    for (unsigned e = 0; e < 2; e++) {
        for (unsigned i = 0; i < sizeof(unknown); i++) {
            uint8_t options[14] = {1, 2, 0, 0, unknown[i], 2, 0, 0, 1, 4};
            options6(m, exts[e], options);
            one(m, DROP_IP6_EXT_OPTION, "ipv6/ext/%u/option/%02x", exts[e], unknown[i]);
        }
        for (unsigned i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
            options6(m, exts[e], beyond[i]);
            one(m, DROP_IP6_EXT_OPTION, "ipv6/ext/%u/beyond/%u", exts[e], i);
        }
        options6(m, exts[e], zeros);
        one(m, DROP_IP6_EXT_COUNT, "ipv6/ext/%u/padding/zeros", exts[e]);
        options6(m, exts[e], padding);
        one(m, DROP_IP6_EXT_COUNT, "ipv6/ext/%u/padding/long", exts[e]);
        udp(m, false, 8);
        uint8_t *at = frame_push(&m->f, 24);
        memset(at, 0, 24);
        at[0] = IP_PROTO_UDP;
        at[1] = 2;
        memcpy(at + 2, many, 14);
        memcpy(at + 16, many, 8);
        ip6(m, exts[e]);
        one(m, DROP_IP6_EXT_COUNT, "ipv6/ext/%u/many", exts[e]);
    }
    static const uint8_t types[] = {0, 1, 2, 3, 4, 253};
    for (unsigned i = 0; i < sizeof(types); i++) {
        udp(m, false, 8);
        push_ext(m, IP_PROTO_UDP, 2);
        m->f.at[2] = types[i];
        m->f.at[3] = 1; /* segments left */
        ip6(m, IP_PROTO_ROUTING);
        one(m, DROP_IP6_ROUTING, "ipv6/ext/43/type/%u", types[i]);
    }
}

/* ---- ICMPv6 and what it carries ---- */

static void error6(struct maker *m, const struct icmpv6_hdr *h, const struct ip_addr *src,
                   uint8_t next, uint8_t type, uint32_t quoted)
{
    payload(m, 1300);
    m->f.at[0] = type;
    frame_push_ip6(&m->f, &(struct ipv6_hdr){.src = *src, .dst = SOMEWHERE6, .next = next});
    m->f.len = quoted;
    frame_push_icmp6(&m->f, h, &m->e.peer6, &m->e.us6);
    ip6(m, IP_PROTO_ICMPV6);
}

static void icmp6(struct maker *m)
{
    uint8_t whole[64];
    echo6(m, 20);
    uint32_t len = m->f.len;
    memcpy(whole, m->f.at, len);
    for (uint32_t n = 0; n < len; n++) {
        frame_bytes(&m->f, whole, n);
        ip6(m, IP_PROTO_ICMPV6);
        one(m, n < ICMPV6_LEN ? DROP_ICMP6_SHORT : DROP_ICMP6_CHECKSUM, "icmpv6/cut/%u", n);
    }
    frame_bytes(&m->f, whole, len);
    ip6(m, IP_PROTO_ICMPV6);
    flips(m, "icmpv6", ETHER_LEN + IPV6_LEN, m->f.len, DROP_ICMP6_CHECKSUM);
    static const uint8_t types[] = {0,   5,   100, 127, 129, 131, 132,
                                    138, 139, 140, 143, 151, 200, 255};
    for (unsigned i = 0; i < sizeof(types); i++) {
        payload(m, 40);
        frame_push_icmp6(&m->f, &(struct icmpv6_hdr){.type = types[i]}, &m->e.peer6, &m->e.us6);
        ip6(m, IP_PROTO_ICMPV6);
        one(m, DROP_ICMP_TYPE, "icmpv6/type/%u", types[i]);
    }
    struct icmpv6_hdr big = {.type = ICMPV6_TOO_BIG, .mtu = 1300};
    for (uint32_t n = 0; n < IPV6_LEN; n++) {
        error6(m, &big, &m->e.us6, IP_PROTO_ICMPV6, ICMPV6_ECHO_REPLY, n);
        one(m, DROP_ICMP6_SHORT, "icmpv6/quote/cut/%u", n);
    }
    error6(m, &big, &m->e.us6, IP_PROTO_ICMPV6, ICMPV6_ECHO_REPLY, IPV6_LEN);
    one(m, DROP_ICMP_ERROR_UNMATCHED, "icmpv6/quote/no-type");
    error6(m, &big, &m->e.us6, IP_PROTO_ICMPV6, ICMPV6_ECHO, 48);
    one(m, DROP_ICMP_ERROR_UNMATCHED, "icmpv6/quote/request");
    error6(m, &big, &m->e.peer6, IP_PROTO_ICMPV6, ICMPV6_ECHO_REPLY, 48);
    one(m, DROP_ICMP_ERROR_UNMATCHED, "icmpv6/quote/from-another");
    error6(m, &big, &m->e.us6, IP_PROTO_TCP, ICMPV6_ECHO_REPLY, 48);
    one(m, DROP_ICMP_ERROR_UNMATCHED, "icmpv6/quote/tcp");
    static const uint32_t mtus[] = {0, 68, 1279, 1340, 65535, 0xffffffff};
    for (unsigned i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
        big.mtu = mtus[i];
        error6(m, &big, &m->e.us6, IP_PROTO_ICMPV6, ICMPV6_ECHO_REPLY, 48);
        one(m, DROP_ICMP_MTU, "icmpv6/mtu/%u", mtus[i]);
    }
}

/* A neighbour discovery message of these bytes, its checksum right. */
static void nd_bytes(struct maker *m, const uint8_t *body, uint32_t n, uint8_t hop_limit)
{
    frame_bytes(&m->f, body, n);
    frame_sum6(&m->f, 2, &m->e.peer6, &m->e.us6);
    ip6_near(m, hop_limit);
}

static void solicitation(struct maker *m, uint8_t body[ND_EMIT_MAX])
{
    struct nd_msg msg = {.type = ICMPV6_NEIGH_SOLICIT,
                         .target = m->e.us6,
                         .has_source_link = true,
                         .source_link = m->e.peer_mac};
    nd_emit(&msg, &m->e.peer6, &m->e.us6, body);
}

static void nd_solicits(struct maker *m)
{
    uint8_t body[ND_EMIT_MAX];
    solicitation(m, body);
    for (uint32_t n = 8; n < ND_EMIT_MAX; n++) {
        nd_bytes(m, body, n, 255);
        if (n != 24) /* without its option it is whole */
            one(m, n < 24 ? DROP_ND_SHORT : DROP_ND_OPTION, "nd/cut/%u", n);
    }
    static const uint8_t hops[] = {0, 1, 64, 254};
    for (unsigned i = 0; i < sizeof(hops); i++) {
        nd_bytes(m, body, sizeof(body), 255);
        m->f.at[ETHER_LEN + 7] = hops[i];
        one(m, DROP_ND_INVALID, "nd/hop-limit/%u", hops[i]);
    }
    body[1] = 1;
    nd_bytes(m, body, sizeof(body), 255);
    one(m, DROP_ND_INVALID, "nd/code");
    solicitation(m, body);
    static const uint8_t lengths[] = {0, 2, 255};
    for (unsigned i = 0; i < sizeof(lengths); i++) {
        body[25] = lengths[i];
        nd_bytes(m, body, sizeof(body), 255);
        one(m, DROP_ND_OPTION, "nd/option/length/%u", lengths[i]);
    }
    solicitation(m, body);
    body[26] |= 1;
    nd_bytes(m, body, sizeof(body), 255);
    one(m, DROP_ND_OPTION, "nd/option/group-mac");
    solicitation(m, body);
    body[8] = 0xff;
    nd_bytes(m, body, sizeof(body), 255);
    one(m, DROP_ND_INVALID, "nd/target/group");
    solicitation(m, body);
    memcpy(body + 8, m->e.us4.b, 16);
    nd_bytes(m, body, sizeof(body), 255);
    one(m, DROP_ND_INVALID, "nd/target/mapped");
    memcpy(body + 8, SOMEWHERE6.b, 16);
    nd_bytes(m, body, sizeof(body), 255);
    one(m, DROP_ND_NOT_OURS, "nd/target/another");
    solicitation(m, body);
    frame_bytes(&m->f, body, sizeof(body)); /* RFC 6980 5 */
    frame_push_frag6(&m->f, &(struct ipv6_frag){.next = IP_PROTO_ICMPV6});
    frame_push_ip6(&m->f, &(struct ipv6_hdr){.src = m->e.peer6,
                                             .dst = m->e.us6,
                                             .next = IP_PROTO_FRAGMENT,
                                             .hop_limit = 255});
    ether6(m);
    one(m, DROP_ND_INVALID, "nd/fragment");
}

/* RFC 4861 7.1.1: who has no address sends to the group, without an option. */
static void nd_unspecified(struct maker *m)
{
    struct nd_msg msg = {.type = ICMPV6_NEIGH_SOLICIT,
                         .target = m->e.us6,
                         .has_source_link = true,
                         .source_link = m->e.peer_mac};
    struct ip_addr group = ip_solicited_node(&m->e.us6);
    uint8_t body[ND_EMIT_MAX];
    for (unsigned i = 0; i < 2; i++) {
        const struct ip_addr *dst = i == 0 ? &group : &m->e.us6;
        msg.has_source_link = i == 0;
        uint32_t n = (uint32_t)nd_emit(&msg, &IP_ADDR_ANY6, dst, body);
        frame_bytes(&m->f, body, n);
        frame_push_ip6(&m->f,
                       &(struct ipv6_hdr){.dst = *dst, .next = IP_PROTO_ICMPV6, .hop_limit = 255});
        ether6(m);
        one(m, DROP_ND_INVALID, i == 0 ? "nd/unspecified/option" : "nd/unspecified/unicast");
    }
}

static void nd_others(struct maker *m)
{
    uint8_t body[48] = {ICMPV6_NEIGH_ADVERT};
    memcpy(body + 8, m->e.us6.b, 16);
    nd_bytes(m, body, 24, 255);
    one(m, DROP_ND_CONFLICT, "nd/advert/conflict");
    for (uint32_t n = 8; n < 24; n++) {
        nd_bytes(m, body, n, 255);
        one(m, DROP_ND_SHORT, "nd/advert/cut/%u", n);
    }
    memset(body, 0, sizeof(body));
    for (uint8_t type = ICMPV6_ROUTER_SOLICIT; type <= ICMPV6_REDIRECT; type++) {
        body[0] = type;
        nd_bytes(m, body, 40, 64);
        one(m, DROP_ND_INVALID, "nd/type/%u/forwarded", type);
    }
    body[0] = ICMPV6_ROUTER_SOLICIT;
    nd_bytes(m, body, 8, 255);
    one(m, DROP_ICMP_TYPE, "nd/router-solicitation");
    body[0] = ICMPV6_ROUTER_ADVERT;
    nd_bytes(m, body, 16, 255);
    one(m, DROP_ND_INVALID, "nd/router-advertisement/global-source");
}

static void mld(struct maker *m)
{
    uint8_t body[44] = {MLD_QUERY};
    for (uint32_t n = ICMPV6_LEN; n < 28; n++) {
        nd_bytes(m, body, n, 1);
        one(m, n == MLD1_LEN ? DROP_MLD_INVALID : DROP_MLD_SHORT, "mld/cut/%u", n);
    }
    body[27] = 2;
    nd_bytes(m, body, sizeof(body), 1);
    one(m, DROP_MLD_SHORT, "mld/sources");
    body[27] = 0;
    nd_bytes(m, body, sizeof(body), 1);
    one(m, DROP_MLD_INVALID, "mld/no-alert");
}

void corpus_run(const struct corpus_ends *ends, corpus_take take, void *ctx)
{
    struct maker m = {.e = *ends, .take = take, .ctx = ctx, .id = 0x7000};
    ethernet(&m);
    arp(&m);
    ipv4_headers(&m);
    ipv4_options(&m);
    ipv4_addresses(&m);
    fragments(&m, true);
    fragments(&m, false);
    bad_fragments(&m);
    icmp(&m);
    udp_of(&m, true);
    udp_of(&m, false);
    tcp_of(&m, true);
    tcp_of(&m, false);
    ipv6_headers(&m);
    ipv6_addresses(&m);
    ext_chains(&m);
    ext_options(&m);
    icmp6(&m);
    nd_solicits(&m);
    nd_unspecified(&m);
    nd_others(&m);
    mld(&m);
}
