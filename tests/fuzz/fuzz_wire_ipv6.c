/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The walk against a second, simpler one: from the fixed header to `upper_at` by lengths alone, in
 * a bounded number of steps, each header named where the parser says. The fixed and the fragment
 * header re-emit to what they were read from. The first byte says how much of the packet lies in
 * later views.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "wire/error.h"
#include "wire/icmpv6.h"
#include "wire/ipv6.h"
#include "wire/proto.h"

#define require(ok) ((ok) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_walk(const uint8_t *at, const struct ipv6_hdr *h)
{
    size_t here = IPV6_LEN;
    size_t named = 6;
    unsigned steps = 0;
    bool fragment = false;
    while (here < h->upper_at) {
        uint8_t next = at[named];
        require(next != IP_PROTO_HOP_BY_HOP || here == IPV6_LEN);
        if (next == IP_PROTO_FRAGMENT) {
            require(!fragment && h->frag.at == here && h->frag.named_at == named);
            require(h->frag.next == at[here] && h->frag.id == load_be32(at + here + 4));
            fragment = true;
        } else {
            require(next == IP_PROTO_HOP_BY_HOP || next == IP_PROTO_ROUTING ||
                    next == IP_PROTO_DEST_OPTIONS);
            require(next != IP_PROTO_ROUTING || at[here + 3] == 0);
        }
        named = here;
        here += next == IP_PROTO_FRAGMENT ? 8 : 8 * (1u + at[here + 1]);
        require(++steps <= IPV6_EXT_MAX);
    }
    require(here == h->upper_at && named == h->next_at && h->next == at[named]);
    require(fragment == h->frag.present);
}

static void check_fragment(const uint8_t *at, const struct ipv6_hdr *h)
{
    if (!h->frag.present)
        return;
    const struct ipv6_frag *f = &h->frag;
    size_t data = h->total_len - f->at - IPV6_FRAG_LEN;
    uint8_t out[IPV6_FRAG_LEN];
    uint8_t expect[IPV6_FRAG_LEN];
    memcpy(expect, at + f->at, sizeof(expect));
    expect[1] = 0;
    expect[3] &= 0xf9;
    require(ipv6_frag_emit(f, out) == sizeof(out));
    require(memcmp(out, expect, sizeof(out)) == 0);
    if (!ipv6_is_fragment(h))
        return;
    require(data > 0 && (!f->more || data % 8 == 0));
    require(f->at - IPV6_LEN + f->offset + data <= IPV6_PAYLOAD_MAX);
    require(f->offset == 0 || (!f->tiny && h->upper_at == f->at + IPV6_FRAG_LEN));
}

static void check_emit(const uint8_t *at, struct ipv6_hdr h)
{
    uint8_t out[IPV6_LEN];
    h.next = at[6];
    require(ipv6_emit(&h, out) == IPV6_LEN);
    require(memcmp(out, at, IPV6_LEN) == 0);
}

static void check_error(int error, size_t end, const struct ipv6_hdr *h)
{
    require(error >= -WIRE_IP6_FRAGMENT && error <= -WIRE_IP6_SHORT);
    if (error > -WIRE_IP6_EXT_SHORT || !h->problem.due)
        return;
    require(h->problem.pointer < end && h->problem.code <= ICMPV6_BAD_OPTION);
    require(!h->problem.to_multicast || h->problem.code == ICMPV6_BAD_OPTION);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t later = data[0] * 257u;
    const uint8_t *at = data + 1;
    size_t len = size - 1;
    struct ipv6_hdr h;
    int n = ipv6_parse(at, len, len + later, &h);
    if (n < 0) {
        check_error(n, len, &h);
        return 0;
    }
    require((size_t)n == h.upper_at && h.upper_at <= len && h.upper_at <= h.total_len);
    require(h.total_len <= len + later && !ip_is_v4(&h.src) && !ip_is_v4(&h.dst));
    check_walk(at, &h);
    check_fragment(at, &h);
    check_emit(at, h);
    struct ipv6_hdr quoted;
    require(ipv6_parse_quoted(at, len, &quoted) == n && quoted.next_at == h.next_at);
    return 0;
}
