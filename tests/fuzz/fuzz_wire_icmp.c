/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An accepted header re-emits to one of the same meaning, whatever follows it, and the checksum
 * that emit writes is that of the whole message.
 */
#include <stdlib.h>
#include <string.h>

#include "wire/error.h"
#include "wire/icmp.h"

#define require(ok) ((ok) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const struct icmp_hdr *a, const struct icmp_hdr *b)
{
    return a->type == b->type && a->code == b->code && a->pointer == b->pointer && a->id == b->id &&
           a->seq == b->seq && a->mtu == b->mtu;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct icmp_hdr h;
    int n = icmp_parse(data, size, &h);
    require((n == -WIRE_ICMP4_SHORT) == (size < ICMP_LEN));
    if (n < 0)
        return 0;
    require(n == ICMP_LEN);

    struct checksum rest = checksum_add(CHECKSUM_EMPTY, data + n, size - (size_t)n);
    uint8_t out[ICMP_LEN];
    require(icmp_emit(&h, rest, out) == ICMP_LEN);
    struct checksum whole = checksum_add(CHECKSUM_EMPTY, out, sizeof(out));
    require(checksum_ok(checksum_add(whole, data + n, size - (size_t)n)));

    struct icmp_hdr again;
    require(icmp_parse(out, sizeof(out), &again) == n && same(&h, &again));
    return 0;
}
