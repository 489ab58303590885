/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMPv6 (RFC 4443): the picture is in wire/icmpv6.h. */
#include "wire/icmpv6.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/error.h"

int icmpv6_parse(const uint8_t *at, size_t len, struct icmpv6_hdr *h)
{
    if (len < ICMPV6_LEN)
        return -WIRE_ICMP6_SHORT;
    *h = (struct icmpv6_hdr){.type = at[0], .code = at[1]};
    switch (h->type) {
    case ICMPV6_ECHO:
    case ICMPV6_ECHO_REPLY:
        h->id = load_be16(at + 4);
        h->seq = load_be16(at + 6);
        break;
    case ICMPV6_TOO_BIG: h->mtu = load_be32(at + 4); break;
    case ICMPV6_PARAM_PROBLEM: h->pointer = load_be32(at + 4); break;
    default: break;
    }
    return ICMPV6_LEN;
}

size_t icmpv6_emit(const struct icmpv6_hdr *h, struct checksum rest, uint8_t *dst)
{
    memset(dst, 0, ICMPV6_LEN);
    dst[0] = h->type;
    dst[1] = h->code;
    switch (h->type) {
    case ICMPV6_ECHO:
    case ICMPV6_ECHO_REPLY:
        store_be16(dst + 4, h->id);
        store_be16(dst + 6, h->seq);
        break;
    case ICMPV6_TOO_BIG: store_be32(dst + 4, h->mtu); break;
    case ICMPV6_PARAM_PROBLEM: store_be32(dst + 4, h->pointer); break;
    default: break;
    }
    store_be16(dst + 2, checksum_finish(checksum_prepend(rest, dst, ICMPV6_LEN)));
    return ICMPV6_LEN;
}
