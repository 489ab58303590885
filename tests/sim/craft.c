/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/craft.h"

#include <string.h>

#include "sim/run.h"
#include "wire/checksum.h"
#include "wire/icmp.h"
#include "wire/icmpv6.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/proto.h"
#include "wire/udp.h"

struct pkt *craft_frame(struct sim *s, const struct mac_addr *dst, const struct mac_addr *src,
                        uint16_t vlan, uint16_t type, const struct pkt *p)
{
    uint8_t bytes[CRAFT_MAX];
    struct ether_hdr h = {.dst = *dst, .src = *src, .type = type, .tci = vlan, .tagged = vlan != 0};
    size_t n = ether_emit(&h, bytes);
    must(n + p->total <= sizeof(bytes));
    pkt_copy_out(p, 0, bytes + n, p->total);
    return frame_create(s, bytes, n + p->total);
}

uint32_t craft_head_emit(const struct craft_head *h, uint32_t len, uint8_t *dst)
{
    uint8_t hops = h->hop_limit ? h->hop_limit : 64;
    if (ip_is_v4(&h->dst)) {
        struct ipv4_hdr v4 = {.src = h->src,
                              .dst = h->dst,
                              .total_len = (uint16_t)(IPV4_LEN + len),
                              .id = h->id,
                              .dont_fragment = h->dont_fragment,
                              .ttl = hops,
                              .proto = h->proto};
        return (uint32_t)ipv4_emit(&v4, false, dst);
    }
    struct ipv6_hdr v6 = {.src = h->src,
                          .dst = h->dst,
                          .total_len = IPV6_LEN + len,
                          .hop_limit = hops,
                          .next = h->proto};
    return (uint32_t)ipv6_emit(&v6, dst);
}

/* A packet of this head with the len bytes of body behind it. */
static struct pkt *with_head(struct heap_pool *pool, const struct craft_head *h,
                             const uint8_t *body, uint32_t len)
{
    uint8_t bytes[IPV6_LEN + 1280];
    uint32_t n = craft_head_emit(h, len, bytes);
    memcpy(bytes + n, body, len);
    return heap_pkt(pool, bytes, n + len, 0);
}

static struct pkt *too_big4(struct heap_pool *pool, const struct ip_addr *from,
                            const uint8_t *packet, uint32_t len, uint16_t mtu)
{
    struct ipv4_hdr q;
    must(ipv4_parse_quoted(packet, len, &q) > 0);
    uint8_t body[ICMP_LEN + 64];
    uint32_t quote = len < 64 ? len : 64;
    struct icmp_hdr h = {.type = ICMP_UNREACHABLE, .code = ICMP_FRAG_NEEDED, .mtu = mtu};
    icmp_emit(&h, checksum_add(CHECKSUM_EMPTY, packet, quote), body);
    memcpy(body + ICMP_LEN, packet, quote);
    struct craft_head head = {.src = *from, .dst = q.src, .proto = IP_PROTO_ICMP};
    return with_head(pool, &head, body, ICMP_LEN + quote);
}

static struct pkt *too_big6(struct heap_pool *pool, const struct ip_addr *from,
                            const uint8_t *packet, uint32_t len, uint16_t mtu)
{
    struct ipv6_hdr q;
    must(ipv6_parse_quoted(packet, len, &q) > 0);
    uint8_t body[ICMPV6_ERROR_MAX - IPV6_LEN];
    uint32_t most = sizeof(body) - ICMPV6_LEN;
    uint32_t quote = len < most ? len : most;
    struct icmpv6_hdr h = {.type = ICMPV6_TOO_BIG, .mtu = mtu};
    struct checksum c = checksum_pseudo(from, &q.src, IP_PROTO_ICMPV6, ICMPV6_LEN + quote);
    icmpv6_emit(&h, checksum_add(c, packet, quote), body);
    memcpy(body + ICMPV6_LEN, packet, quote);
    struct craft_head head = {.src = *from, .dst = q.src, .proto = IP_PROTO_ICMPV6};
    return with_head(pool, &head, body, ICMPV6_LEN + quote);
}

struct pkt *craft_too_big(struct heap_pool *pool, const struct ip_addr *from, const uint8_t *packet,
                          uint32_t len, uint16_t mtu)
{
    return (ip_is_v4(from) ? too_big4 : too_big6)(pool, from, packet, len, mtu);
}

struct pkt *craft_udp(struct heap_pool *pool, const struct craft_head *h, uint16_t sport,
                      uint16_t dport, uint32_t len)
{
    uint8_t bytes[IPV6_LEN + 65535] = {0};
    uint32_t n = craft_head_emit(h, UDP_LEN + len, bytes);
    struct udp_hdr udp = {.src_port = sport, .dst_port = dport, .len = (uint16_t)(UDP_LEN + len)};
    struct checksum c = checksum_pseudo(&h->src, &h->dst, IP_PROTO_UDP, UDP_LEN + len);
    udp_emit(&udp, c, bytes + n); /* zeros add nothing */
    return heap_pkt(pool, bytes, n + UDP_LEN + len, 0);
}
