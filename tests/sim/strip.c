/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/strip.h"

#include <string.h>

#include "base/bytes.h"
#include "sim/run.h"
#include "wire/checksum.h"
#include "wire/ether.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/proto.h"

#define TCP_HEADER_MIN 20u

/* The TCP header within the frame and the bytes from there on; NULL: it is none. */
static uint8_t *find_tcp(struct pkt *p, uint32_t *len)
{
    struct ether_hdr eth;
    struct ipv4_hdr v4;
    struct ipv6_hdr v6;
    int at = ether_parse(p->data, p->len, &eth);
    if (at < 0)
        return NULL;
    uint8_t *ip = p->data + at;
    uint32_t n = p->len - (uint32_t)at;
    int head = -1;
    if (eth.type == ETHER_TYPE_IPV4 && (head = ipv4_parse(ip, n, n, true, &v4)) > 0 &&
        (v4.proto != IP_PROTO_TCP || ipv4_is_fragment(&v4)))
        return NULL;
    if (eth.type == ETHER_TYPE_IPV6 && (head = ipv6_parse(ip, n, n, &v6)) > 0 &&
        (v6.next != IP_PROTO_TCP || ipv6_is_fragment(&v6)))
        return NULL;
    if (head < 0 || n - (uint32_t)head < TCP_HEADER_MIN)
        return NULL;
    *len = n - (uint32_t)head;
    return ip + head;
}

/* No-operations in place of n bytes at tcp[at]; the checksum stays what it was, right or wrong. */
static void blank(uint8_t *tcp, uint32_t at, uint32_t n)
{
    for (uint32_t i = at; i < at + n; i++) {
        uint32_t even = i & ~1u;
        uint16_t was = load_be16(tcp + even);
        tcp[i] = 1;
        store_be16(tcp + 16, checksum_update16(load_be16(tcp + 16), was, load_be16(tcp + even)));
    }
}

static void strip_options(struct strip *s, uint8_t *tcp, uint32_t end)
{
    uint32_t at = TCP_HEADER_MIN;
    while (at + 1 < end && tcp[at] != 0) {
        uint8_t kind = tcp[at], n = tcp[at + 1];
        if (kind == 1) {
            at++;
            continue;
        }
        if (n < 2 || at + n > end)
            return; /* spoilt on its way */
        if (kind < 32 && (s->options & 1u << kind)) {
            blank(tcp, at, n);
            s->stripped++;
        }
        at += n;
    }
}

static void input(struct node *n, unsigned side, struct pkt *p)
{
    struct strip *s = (struct strip *)n;
    uint32_t len = 0;
    uint8_t *tcp = s->one_way && side == 1 ? NULL : find_tcp(p, &len);
    uint32_t end = tcp ? (uint32_t)(tcp[12] >> 4) * 4 : 0;
    if (tcp && end <= len)
        strip_options(s, tcp, end);
    node_output(n, node_across(side), p);
}

static const struct node_ops ops = {.input = input};

struct strip *strip_create(struct sim *s, uint32_t options)
{
    struct strip *b = node_create(s, &ops, sizeof(*b), 2);
    b->options = options;
    return b;
}
