/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMP for IPv4 (RFC 792, RFC 1122 3.2.2): echo, and what routers say of our packets. */
#include "wire/icmp.h"

#include "base/bytes.h"
#include "stack/internal.h"
#include "wire/ipv4.h"
#include "wire/proto.h"

/* The packet itself goes back, its type changed and its checksum with it. */
static void echo(struct ip_rx *rx, const struct icmp_hdr *h, tick_t now)
{
    struct stack *s = rx->iface->stack;
    struct pkt *p = rx->p;
    counter_add(s->counters, COUNTER_ICMP_RX_ECHO, 1);
    if (!s->icmp.echo || rx->group) {
        stack_drop(s, p, rx->group ? DROP_ICMP_ECHO_GROUP : DROP_ICMP_ECHO_OFF);
        return;
    }
    pkt_pull(p, rx->upper_at);
    uint8_t *at = p->data;
    uint16_t sum = checksum_update16(load_be16(at + 2), (uint16_t)(ICMP_ECHO << 8 | h->code),
                                     (uint16_t)(ICMP_ECHO_REPLY << 8 | h->code));
    at[0] = ICMP_ECHO_REPLY;
    /* Without a pseudo header all of it can be zero, and only 0xffff is then right; it always is.
     */
    store_be16(at + 2, sum ? sum : 0xffff);
    counter_add(s->counters, COUNTER_ICMP_TX_ECHO, 1);
    struct ip_tx tx = {.iface = rx->iface,
                       .src = rx->dst,
                       .dst = rx->src,
                       .proto = IP_PROTO_ICMP,
                       .traffic_class = rx->traffic_class & IP_DSCP_MASK};
    ip_output(s, p, &tx, now);
}

/* RFC 1191 7.1: what a router that does not say its MTU most likely has. */
static uint16_t plateau_below(uint16_t total_len)
{
    static const uint16_t plateaus[] = {65535, 32000, 17914, 8166, 4352, 2002,
                                        1492,  1006,  508,   296,  68};
    for (unsigned i = 0; i < sizeof(plateaus) / sizeof(plateaus[0]); i++)
        if (plateaus[i] < total_len)
            return plateaus[i];
    return 68;
}

/*
 * Did we send what is quoted? For a connection its protocol knows (tcp.c); what we send without one
 * are echo replies, and of those only the address can be checked.
 */
static bool is_ours(const struct ip_rx *rx, const struct ipv4_hdr *q, const uint8_t *upper,
                    size_t len)
{
    return rx->local && ip_eq(&q->src, &rx->dst) && q->proto == IP_PROTO_ICMP &&
           (q->frag_offset > 0 || (len > 0 && upper[0] == ICMP_ECHO_REPLY));
}

void icmp_too_big(struct ip_rx *rx, const struct ip_addr *dst, uint32_t mtu, uint32_t sent,
                  tick_t now)
{
    struct stack *s = rx->iface->stack;
    /* RFC 8201 4; and what was sent is larger than the path, or the message is made up. */
    if ((!rx->v4 && mtu < PMTU_FLOOR6) || mtu >= sent) {
        stack_drop(s, rx->p, DROP_ICMP_MTU);
        return;
    }
    uint16_t most = mtu > UINT16_MAX ? UINT16_MAX : (uint16_t)mtu;
    if (pmtu_lower(s->pmtu, dst, most, now))
        counter_add(s->counters, COUNTER_PMTU_LOWERED, 1);
    stack_paths_changed(s);
    pkt_free(rx->p);
}

static bool is_too_big(const struct icmp_hdr *h)
{
    return h->type == ICMP_UNREACHABLE && h->code == ICMP_FRAG_NEEDED;
}

static enum segment_trouble trouble_of(const struct icmp_hdr *h)
{
    if (is_too_big(h))
        return SEGMENT_TOO_BIG;
    /* RFC 1122 4.2.3.9 */
    bool hard = h->type == ICMP_UNREACHABLE &&
                (h->code == ICMP_PROTO_UNREACHABLE || h->code == ICMP_PORT_UNREACHABLE);
    return hard ? SEGMENT_UNREACHABLE_HARD : SEGMENT_UNREACHABLE_SOFT;
}

static void error_input(struct ip_rx *rx, const struct icmp_hdr *h, tick_t now)
{
    struct stack *s = rx->iface->stack;
    struct pkt *p = rx->p;
    const uint8_t *at = p->data + rx->upper_at + ICMP_LEN;
    size_t len = p->len - rx->upper_at - ICMP_LEN;
    struct ipv4_hdr q;
    int n = ipv4_parse_quoted(at, len, &q);
    if (n < 0) {
        stack_drop(s, p, DROP_ICMP4_SHORT);
        return;
    }
    uint32_t mtu = h->mtu ? h->mtu : plateau_below(q.total_len);
    if (q.proto == IP_PROTO_TCP && q.frag_offset == 0) {
        struct segment_quote segment = {.src = &q.src,
                                        .dst = &q.dst,
                                        .upper = at + n,
                                        .len = len - (size_t)n,
                                        .trouble = trouble_of(h),
                                        .mtu = mtu,
                                        .sent = q.total_len};
        segment_error(rx, &segment, now);
        return;
    }
    if (!is_ours(rx, &q, at + n, len - (size_t)n)) {
        stack_drop(s, p, DROP_ICMP_ERROR_UNMATCHED);
        return;
    }
    counter_add(s->counters, COUNTER_ICMP_RX_ERRORS, 1);
    if (is_too_big(h))
        icmp_too_big(rx, &q.dst, mtu, q.total_len, now);
    else
        pkt_free(p);
}

void icmp4_input(struct ip_rx *rx, tick_t now)
{
    struct stack *s = rx->iface->stack;
    struct pkt *p = rx->p;
    struct icmp_hdr h;
    int n = icmp_parse(p->data + rx->upper_at, p->len - rx->upper_at, &h);
    if (n < 0) {
        stack_drop(s, p, drop_of(n));
        return;
    }
    if (!checksum_ok(checksum_pkt(p, rx->upper_at, p->total - rx->upper_at, CHECKSUM_EMPTY)))
        stack_drop(s, p, DROP_ICMP4_CHECKSUM);
    else if (h.type == ICMP_ECHO)
        echo(rx, &h, now);
    else if (icmp_is_error(h.type) && h.type != ICMP_REDIRECT)
        error_input(rx, &h, now);
    else
        stack_drop(s, p, DROP_ICMP_TYPE);
}
