/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An accepted header re-emits to one of the same meaning, whatever follows it, and the checksum
 * that emit writes is that of the whole message.
 */
#include <stdlib.h>
#include <string.h>

#include "wire/error.h"
#include "wire/icmpv6.h"
#include "wire/proto.h"

#define require(ok) ((ok) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const struct icmpv6_hdr *a, const struct icmpv6_hdr *b)
{
    return a->type == b->type && a->code == b->code && a->pointer == b->pointer && a->id == b->id &&
           a->seq == b->seq && a->mtu == b->mtu;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct icmpv6_hdr h;
    int n = icmpv6_parse(data, size, &h);
    require((n == -WIRE_ICMP6_SHORT) == (size < ICMPV6_LEN));
    if (n < 0)
        return 0;
    require(n == ICMPV6_LEN);

    struct ip_addr src = ip_link_local_of(&(struct mac_addr){{2, 0, 0, 0, 0, 1}});
    struct ip_addr dst = ip_link_local_of(&(struct mac_addr){{2, 0, 0, 0, 0, 2}});
    struct checksum pseudo = checksum_pseudo(&src, &dst, IP_PROTO_ICMPV6, (uint32_t)size);
    struct checksum rest = checksum_add(pseudo, data + n, size - (size_t)n);
    uint8_t out[ICMPV6_LEN];
    require(icmpv6_emit(&h, rest, out) == ICMPV6_LEN);
    struct checksum whole = checksum_add(pseudo, out, sizeof(out));
    require(checksum_ok(checksum_add(whole, data + n, size - (size_t)n)));

    struct icmpv6_hdr again;
    require(icmpv6_parse(out, sizeof(out), &again) == n && same(&h, &again));
    return 0;
}
