/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMP for IPv4 (RFC 792): the picture is in wire/icmp.h. */
#include "wire/icmp.h"

#include <string.h>

#include "base/bytes.h"
#include "wire/error.h"

static bool is_echo(uint8_t type)
{
    return type == ICMP_ECHO || type == ICMP_ECHO_REPLY;
}

bool icmp_is_error(uint8_t type)
{
    switch (type) {
    case ICMP_UNREACHABLE:
    case ICMP_SOURCE_QUENCH:
    case ICMP_REDIRECT:
    case ICMP_TIME_EXCEEDED:
    case ICMP_PARAM_PROBLEM: return true;
    default: return false;
    }
}

int icmp_parse(const uint8_t *at, size_t len, struct icmp_hdr *h)
{
    if (len < ICMP_LEN)
        return -WIRE_ICMP4_SHORT;
    *h = (struct icmp_hdr){.type = at[0], .code = at[1]};
    if (is_echo(h->type)) {
        h->id = load_be16(at + 4);
        h->seq = load_be16(at + 6);
    } else if (h->type == ICMP_UNREACHABLE && h->code == ICMP_FRAG_NEEDED) {
        h->mtu = load_be16(at + 6); /* RFC 1191 4 */
    } else if (h->type == ICMP_PARAM_PROBLEM) {
        h->pointer = at[4];
    }
    return ICMP_LEN;
}

size_t icmp_emit(const struct icmp_hdr *h, struct checksum body, uint8_t *dst)
{
    memset(dst, 0, ICMP_LEN);
    dst[0] = h->type;
    dst[1] = h->code;
    if (is_echo(h->type)) {
        store_be16(dst + 4, h->id);
        store_be16(dst + 6, h->seq);
    } else if (h->type == ICMP_UNREACHABLE && h->code == ICMP_FRAG_NEEDED) {
        store_be16(dst + 6, h->mtu);
    } else if (h->type == ICMP_PARAM_PROBLEM) {
        dst[4] = h->pointer;
    }
    store_be16(dst + 2, checksum_finish(checksum_prepend(body, dst, ICMP_LEN)));
    return ICMP_LEN;
}
