/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An accepted header re-emits to the same ports and length with a checksum that covers the datagram
 * and is never zero. The first byte says which family, and how much of the datagram lies in later
 * views.
 */
#include <stdlib.h>
#include <string.h>

#include "wire/error.h"
#include "wire/proto.h"
#include "wire/udp.h"

#define require(ok) ((ok) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_emit(const uint8_t *at, const struct udp_hdr *h)
{
    struct ip_addr src = ip_from_v4(0xc0000201);
    struct ip_addr dst = ip_from_v4(0xc0000202);
    struct checksum pseudo = checksum_pseudo(&src, &dst, IP_PROTO_UDP, h->len);
    struct checksum rest = checksum_add(pseudo, at + UDP_LEN, h->len - UDP_LEN);
    uint8_t out[UDP_LEN];
    require(udp_emit(h, rest, out) == UDP_LEN);
    require(memcmp(out, at, 6) == 0 && (out[6] != 0 || out[7] != 0));
    struct checksum whole = checksum_add(pseudo, out, UDP_LEN);
    require(checksum_ok(checksum_add(whole, at + UDP_LEN, h->len - UDP_LEN)));

    /* What a device makes of the header that is left to it. */
    require(udp_emit_offload(h, pseudo, out) == UDP_LEN);
    whole = checksum_add(CHECKSUM_EMPTY, out, UDP_LEN);
    whole = checksum_add(whole, at + UDP_LEN, h->len - UDP_LEN);
    uint16_t device = checksum_finish(whole);
    require(udp_emit(h, rest, out) == UDP_LEN);
    uint16_t ours = (uint16_t)(out[6] << 8 | out[7]);
    require(device == ours || (device == 0 && ours == 0xffff));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool ipv6 = data[0] & 1;
    size_t later = (data[0] >> 1) * 512u;
    const uint8_t *at = data + 1;
    size_t len = size - 1;
    struct udp_hdr h;
    int n = udp_parse(at, len, len + later, ipv6, &h);
    require((n == -WIRE_UDP_SHORT) == (len < UDP_LEN));
    if (n < 0) {
        require(n == -WIRE_UDP_SHORT || n == -WIRE_UDP_LENGTH || (ipv6 && n == -WIRE_UDP_CHECKSUM));
        return 0;
    }
    require(n == UDP_LEN && h.len >= UDP_LEN && h.len <= len + later);
    require(h.has_checksum || !ipv6);
    if (h.len <= len)
        check_emit(at, &h);
    return 0;
}
