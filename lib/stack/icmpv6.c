/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMPv6 (RFC 4443): echo, what routers say of our packets, and the door to neighbour discovery. */
#include "wire/icmpv6.h"

#include "base/bytes.h"
#include "stack/internal.h"
#include "wire/mld.h"
#include "wire/proto.h"

/* The source of an answer: the address asked, or for a group the interface's best. */
static const struct local *answer_from(const struct ip_rx *rx)
{
    return rx->local ? rx->local : local_source(rx->iface, &rx->src);
}

static void echo(struct ip_rx *rx, const struct icmpv6_hdr *h, tick_t now)
{
    struct stack *s = rx->iface->stack;
    struct pkt *p = rx->p;
    counter_add(s->counters, COUNTER_ICMP_RX_ECHO, 1);
    if (!s->icmp.echo) {
        stack_drop(s, p, DROP_ICMP_ECHO_OFF);
        return;
    }
    const struct local *from = answer_from(rx);
    if (!from) {
        stack_drop(s, p, DROP_NO_SOURCE);
        return;
    }
    pkt_pull(p, rx->upper_at);
    uint8_t *at = p->data;
    uint16_t sum = checksum_update16(load_be16(at + 2), (uint16_t)(ICMPV6_ECHO << 8 | h->code),
                                     (uint16_t)(ICMPV6_ECHO_REPLY << 8 | h->code));
    /* The pseudo header only changes where a group was asked: from its address to ours. */
    const struct ip_addr *src = &from->prefix.addr;
    for (unsigned i = 0; i < 16; i += 2)
        sum = checksum_update16(sum, load_be16(rx->dst.b + i), load_be16(src->b + i));
    at[0] = ICMPV6_ECHO_REPLY;
    store_be16(at + 2, sum);
    counter_add(s->counters, COUNTER_ICMP_TX_ECHO, 1);
    struct ip_tx tx = {.iface = rx->iface,
                       .src = *src,
                       .dst = rx->src,
                       .proto = IP_PROTO_ICMPV6,
                       .traffic_class = rx->traffic_class & IP_DSCP_MASK};
    ip_output(s, p, &tx, now);
}

/* As for IPv4 (icmp.c): of what we send without a connection only the address can be checked. */
static bool is_ours(const struct ip_rx *rx, const struct ipv6_hdr *q, const uint8_t *upper,
                    size_t len)
{
    return rx->local && ip_eq(&q->src, &rx->dst) && q->next == IP_PROTO_ICMPV6 &&
           (q->frag.offset > 0 || (len > 0 && upper[0] == ICMPV6_ECHO_REPLY));
}

static enum segment_trouble trouble_of(const struct icmpv6_hdr *h)
{
    if (h->type == ICMPV6_TOO_BIG)
        return SEGMENT_TOO_BIG;
    /* No such port, no such protocol (RFC 4443 3.1, 3.4): what RFC 1122 4.2.3.9 calls hard. */
    bool hard = (h->type == ICMPV6_UNREACHABLE && h->code == ICMPV6_PORT_UNREACHABLE) ||
                (h->type == ICMPV6_PARAM_PROBLEM && h->code == ICMPV6_BAD_NEXT_HEADER);
    return hard ? SEGMENT_UNREACHABLE_HARD : SEGMENT_UNREACHABLE_SOFT;
}

static void error_input(struct ip_rx *rx, const struct icmpv6_hdr *h, tick_t now)
{
    struct stack *s = rx->iface->stack;
    struct pkt *p = rx->p;
    const uint8_t *at = p->data + rx->upper_at + ICMPV6_LEN;
    size_t len = p->len - rx->upper_at - ICMPV6_LEN;
    struct ipv6_hdr q;
    int n = ipv6_parse_quoted(at, len, &q);
    if (n < 0) {
        stack_drop(s, p, DROP_ICMP6_SHORT);
        return;
    }
    if (q.next == IP_PROTO_TCP && q.frag.offset == 0) {
        struct segment_quote segment = {.src = &q.src,
                                        .dst = &q.dst,
                                        .upper = at + n,
                                        .len = len - (size_t)n,
                                        .trouble = trouble_of(h),
                                        .mtu = h->mtu,
                                        .sent = q.total_len};
        segment_error(rx, &segment, now);
        return;
    }
    if (!is_ours(rx, &q, at + n, len - (size_t)n)) {
        stack_drop(s, p, DROP_ICMP_ERROR_UNMATCHED);
        return;
    }
    counter_add(s->counters, COUNTER_ICMP_RX_ERRORS, 1);
    if (h->type == ICMPV6_TOO_BIG)
        icmp_too_big(rx, &q.dst, h->mtu, q.total_len, now);
    else
        pkt_free(p);
}

static bool checksum_bad(const struct ip_rx *rx)
{
    uint32_t len = rx->p->total - rx->upper_at;
    struct checksum c = checksum_pseudo(&rx->src, &rx->dst, IP_PROTO_ICMPV6, len);
    return !checksum_ok(checksum_pkt(rx->p, rx->upper_at, len, c));
}

void icmp6_input(struct ip_rx *rx, tick_t now)
{
    struct stack *s = rx->iface->stack;
    struct pkt *p = rx->p;
    struct icmpv6_hdr h;
    int n = icmpv6_parse(p->data + rx->upper_at, p->len - rx->upper_at, &h);
    if (n < 0)
        stack_drop(s, p, drop_of(n));
    else if (checksum_bad(rx))
        stack_drop(s, p, DROP_ICMP6_CHECKSUM);
    else if (h.type == ICMPV6_ECHO)
        echo(rx, &h, now);
    else if (h.type >= ICMPV6_ROUTER_SOLICIT && h.type <= ICMPV6_REDIRECT)
        nd_input(rx, now);
    else if (h.type == MLD_QUERY)
        mld_input(rx, now);
    else if (h.type >= ICMPV6_UNREACHABLE && h.type <= ICMPV6_PARAM_PROBLEM)
        error_input(rx, &h, now);
    else
        stack_drop(s, p, DROP_ICMP_TYPE);
}
