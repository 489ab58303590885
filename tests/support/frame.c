/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/frame.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/checksum.h"
#include "wire/error.h"
#include "wire/proto.h"

void frame_bytes(struct frame *f, const void *bytes, uint32_t n)
{
    assert(n <= FRAME_MAX);
    f->at = f->bytes + FRAME_ROOM;
    f->len = n;
    if (n > 0)
        memcpy(f->at, bytes, n);
}

void frame_payload(struct frame *f, uint32_t n)
{
    frame_bytes(f, NULL, 0);
    assert(n <= FRAME_MAX);
    f->len = n;
    for (uint32_t i = 0; i < n; i++)
        f->at[i] = (uint8_t)(i * 7 + (i >> 8));
}

uint8_t *frame_push(struct frame *f, uint32_t n)
{
    assert((size_t)(f->at - f->bytes) >= n);
    f->at -= n;
    f->len += n;
    return f->at;
}

void frame_push_icmp(struct frame *f, const struct icmp_hdr *h)
{
    struct checksum body = checksum_add(CHECKSUM_EMPTY, f->at, f->len);
    icmp_emit(h, body, frame_push(f, ICMP_LEN));
}

void frame_push_echo(struct frame *f, uint8_t icmp_type, uint16_t id, uint16_t seq)
{
    frame_push_icmp(f, &(struct icmp_hdr){.type = icmp_type, .id = id, .seq = seq});
}

void frame_push_icmp6(struct frame *f, const struct icmpv6_hdr *h, const struct ip_addr *src,
                      const struct ip_addr *dst)
{
    struct checksum c = checksum_pseudo(src, dst, IP_PROTO_ICMPV6, f->len + ICMPV6_LEN);
    c = checksum_add(c, f->at, f->len);
    icmpv6_emit(h, c, frame_push(f, ICMPV6_LEN));
}

void frame_push_udp(struct frame *f, uint16_t sport, uint16_t dport, const struct ip_addr *src,
                    const struct ip_addr *dst)
{
    struct udp_hdr h = {.src_port = sport, .dst_port = dport, .len = (uint16_t)(f->len + UDP_LEN)};
    struct checksum c = checksum_pseudo(src, dst, IP_PROTO_UDP, h.len);
    c = checksum_add(c, f->at, f->len);
    udp_emit(&h, c, frame_push(f, UDP_LEN));
}

void frame_push_tcp(struct frame *f, const struct tcp_hdr *h, const struct ip_addr *src,
                    const struct ip_addr *dst)
{
    uint32_t len = (uint32_t)tcp_header_len(&h->options);
    struct checksum c = checksum_pseudo(src, dst, IP_PROTO_TCP, f->len + len);
    c = checksum_add(c, f->at, f->len);
    tcp_emit(h, c, frame_push(f, len));
}

void frame_push_ip4(struct frame *f, const struct ipv4_hdr *header)
{
    struct ipv4_hdr h = *header;
    uint32_t len = (uint32_t)ipv4_len(&h);
    h.total_len = (uint16_t)(f->len + len);
    if (h.ttl == 0)
        h.ttl = 64;
    ipv4_emit(&h, false, frame_push(f, len));
}

void frame_push_ip6(struct frame *f, const struct ipv6_hdr *header)
{
    struct ipv6_hdr h = *header;
    h.total_len = f->len + IPV6_LEN;
    if (h.hop_limit == 0)
        h.hop_limit = 64;
    ipv6_emit(&h, frame_push(f, IPV6_LEN));
}

void frame_push_frag6(struct frame *f, const struct ipv6_frag *h)
{
    ipv6_frag_emit(h, frame_push(f, IPV6_FRAG_LEN));
}

void frame_push_ether(struct frame *f, const struct mac_addr *dst, const struct mac_addr *src,
                      uint16_t type)
{
    struct ether_hdr h = {.dst = *dst, .src = *src, .type = type};
    ether_emit(&h, frame_push(f, ETHER_LEN));
}

void frame_push_tagged(struct frame *f, const struct mac_addr *dst, const struct mac_addr *src,
                       uint16_t tci, uint16_t type)
{
    struct ether_hdr h = {.dst = *dst, .src = *src, .type = type, .tci = tci, .tagged = true};
    ether_emit(&h, frame_push(f, ETHER_TAGGED_LEN));
}

void frame_sum6(struct frame *f, uint32_t field, const struct ip_addr *src,
                const struct ip_addr *dst)
{
    store_be16(f->at + field, 0);
    struct checksum c = checksum_pseudo(src, dst, IP_PROTO_ICMPV6, f->len);
    store_be16(f->at + field, checksum_finish(checksum_add(c, f->at, f->len)));
}

static const char *parse_icmp(struct frame_seen *s)
{
    s->kind = FRAME_ICMP;
    if (icmp_parse(s->upper, s->upper_len, &s->icmp) < 0)
        return "short ICMP message";
    if (!checksum_ok(checksum_add(CHECKSUM_EMPTY, s->upper, s->upper_len)))
        return "wrong ICMP checksum";
    return NULL;
}

static const char *parse_icmp6(struct frame_seen *s)
{
    s->kind = FRAME_ICMP6;
    if (icmpv6_parse(s->upper, s->upper_len, &s->icmp6) < 0)
        return "short ICMPv6 message";
    struct checksum c = checksum_pseudo(&s->src, &s->dst, IP_PROTO_ICMPV6, s->upper_len);
    if (!checksum_ok(checksum_add(c, s->upper, s->upper_len)))
        return "wrong ICMPv6 checksum";
    bool nd = s->icmp6.type >= ICMPV6_ROUTER_SOLICIT && s->icmp6.type <= ICMPV6_REDIRECT;
    if (nd && nd_parse(s->upper, s->upper_len, &s->ip6, &s->nd) < 0)
        return "unsound neighbour discovery";
    return NULL;
}

static const char *parse_udp(struct frame_seen *s)
{
    s->kind = FRAME_UDP;
    if (udp_parse(s->upper, s->upper_len, s->upper_len, !s->v4, &s->udp) < 0)
        return "unsound UDP header";
    struct checksum c = checksum_pseudo(&s->src, &s->dst, IP_PROTO_UDP, s->udp.len);
    if (s->udp.has_checksum && !checksum_ok(checksum_add(c, s->upper, s->udp.len)))
        return "wrong UDP checksum";
    return NULL;
}

static const char *parse_tcp(struct frame_seen *s)
{
    s->kind = FRAME_TCP;
    if (tcp_parse(s->upper, s->upper_len, s->upper_len, &s->tcp) < 0)
        return "unsound TCP header";
    struct checksum c = checksum_pseudo(&s->src, &s->dst, IP_PROTO_TCP, s->upper_len);
    if (!checksum_ok(checksum_add(c, s->upper, s->upper_len)))
        return "wrong TCP checksum";
    return NULL;
}

static const char *parse_upper(struct frame_seen *s, uint8_t proto)
{
    if (proto == IP_PROTO_UDP)
        return parse_udp(s);
    if (proto == IP_PROTO_TCP)
        return parse_tcp(s);
    if (proto == IP_PROTO_ICMP && s->v4)
        return parse_icmp(s);
    if (proto == IP_PROTO_ICMPV6 && !s->v4)
        return parse_icmp6(s);
    return NULL;
}

static const char *parse_ip4(const uint8_t *at, uint32_t len, bool no_ip_sum, struct frame_seen *s)
{
    int n = ipv4_parse(at, len, len, no_ip_sum, &s->ip4);
    if (n < 0)
        return n == -WIRE_IP4_CHECKSUM ? "wrong IPv4 checksum" : "unsound IPv4 header";
    if (no_ip_sum && load_be16(at + 10) != 0)
        return "IPv4 checksum that is the device's to fill";
    if (s->ip4.total_len != len)
        return "IPv4 length is not the frame's";
    s->v4 = true;
    s->src = s->ip4.src;
    s->dst = s->ip4.dst;
    s->upper = at + n;
    s->upper_len = len - (uint32_t)n;
    s->kind = ipv4_is_fragment(&s->ip4) ? FRAME_FRAGMENT : FRAME_OTHER;
    return s->kind == FRAME_FRAGMENT ? NULL : parse_upper(s, s->ip4.proto);
}

static const char *parse_ip6(const uint8_t *at, uint32_t len, struct frame_seen *s)
{
    int n = ipv6_parse(at, len, len, &s->ip6);
    if (n < 0)
        return "unsound IPv6 header";
    if (s->ip6.total_len != len)
        return "IPv6 length is not the frame's";
    s->src = s->ip6.src;
    s->dst = s->ip6.dst;
    s->upper = at + n;
    s->upper_len = len - (uint32_t)n;
    s->kind = ipv6_is_fragment(&s->ip6) ? FRAME_FRAGMENT : FRAME_OTHER;
    return s->kind == FRAME_FRAGMENT ? NULL : parse_upper(s, s->ip6.next);
}

const char *frame_parse(const uint8_t *bytes, uint32_t len, bool no_ip_sum, struct frame_seen *s)
{
    *s = (struct frame_seen){.kind = FRAME_OTHER};
    int n = ether_parse(bytes, len, &s->eth);
    if (n < 0)
        return "short Ethernet header";
    s->ip = bytes + n;
    len -= (uint32_t)n;
    switch (s->eth.type) {
    case ETHER_TYPE_ARP:
        s->kind = FRAME_ARP;
        return arp_parse(s->ip, len, &s->arp) == (int)len ? NULL : "unsound ARP message";
    case ETHER_TYPE_IPV4: return parse_ip4(s->ip, len, no_ip_sum, s);
    case ETHER_TYPE_IPV6: return parse_ip6(s->ip, len, s);
    default: return "unknown Ethernet type";
    }
}
