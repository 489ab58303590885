/* SPDX-License-Identifier: BSD-3-Clause */
/* Ethernet II and one 802.1Q tag: the picture is in wire/ether.h. */
#include "wire/ether.h"

#include "base/bytes.h"
#include "wire/error.h"

const struct mac_addr MAC_BROADCAST = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

int ether_parse(const uint8_t *at, size_t len, struct ether_hdr *h)
{
    if (len < ETHER_LEN)
        return -WIRE_ETHER_SHORT;
    *h = (struct ether_hdr){.type = load_be16(at + 12)};
    memcpy(h->dst.b, at, 6);
    memcpy(h->src.b, at + 6, 6);
    if (h->type != ETHER_TYPE_VLAN)
        return ETHER_LEN;
    if (len < ETHER_TAGGED_LEN)
        return -WIRE_ETHER_SHORT;
    h->tagged = true;
    h->tci = load_be16(at + 14);
    h->type = load_be16(at + 16);
    return ETHER_TAGGED_LEN;
}

size_t ether_emit(const struct ether_hdr *h, uint8_t *dst)
{
    memcpy(dst, h->dst.b, 6);
    memcpy(dst + 6, h->src.b, 6);
    if (h->tagged) {
        store_be16(dst + 12, ETHER_TYPE_VLAN);
        store_be16(dst + 14, h->tci);
    }
    size_t len = ether_len(h);
    store_be16(dst + len - 2, h->type);
    return len;
}
