/* SPDX-License-Identifier: BSD-3-Clause */
/* UDP (RFC 768): the picture is in wire/udp.h. */
#include "wire/udp.h"

#include <assert.h>

#include "base/bytes.h"
#include "wire/error.h"

int udp_parse(const uint8_t *at, size_t contiguous, size_t available, bool ipv6, struct udp_hdr *h)
{
    assert(contiguous <= available);
    if (contiguous < UDP_LEN)
        return -WIRE_UDP_SHORT;
    *h = (struct udp_hdr){
        .src_port = load_be16(at),
        .dst_port = load_be16(at + 2),
        .len = load_be16(at + 4),
        .has_checksum = load_be16(at + 6) != 0,
    };
    if (h->len < UDP_LEN || h->len > available)
        return -WIRE_UDP_LENGTH;
    if (ipv6 && !h->has_checksum)
        return -WIRE_UDP_CHECKSUM; /* RFC 8200 8.1 */
    return UDP_LEN;
}

static void put_fields(const struct udp_hdr *h, uint16_t checksum, uint8_t *dst)
{
    store_be16(dst, h->src_port);
    store_be16(dst + 2, h->dst_port);
    store_be16(dst + 4, h->len);
    store_be16(dst + 6, checksum);
}

size_t udp_emit(const struct udp_hdr *h, struct checksum rest, uint8_t *dst)
{
    put_fields(h, 0, dst);
    uint16_t checksum = checksum_finish(checksum_prepend(rest, dst, UDP_LEN));
    store_be16(dst + 6, checksum ? checksum : 0xffff); /* RFC 768: zero says that there is none */
    return UDP_LEN;
}

size_t udp_emit_offload(const struct udp_hdr *h, struct checksum pseudo, uint8_t *dst)
{
    put_fields(h, checksum_fold(pseudo), dst);
    return UDP_LEN;
}
