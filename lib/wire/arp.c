/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP (RFC 826): the picture is in wire/arp.h. */
#include "wire/arp.h"

#include <assert.h>

#include "base/bytes.h"
#include "wire/error.h"

/* Hardware type Ethernet, protocol IPv4, their address lengths: all that comes before the
 * operation. */
static const uint8_t format[6] = {0, 1, 8, 0, 6, 4};

int arp_parse(const uint8_t *at, size_t len, struct arp_msg *m)
{
    if (len < ARP_LEN)
        return -WIRE_ARP_SHORT;
    uint16_t op = load_be16(at + 6);
    if (memcmp(at, format, sizeof(format)) != 0 || (op != ARP_REQUEST && op != ARP_REPLY))
        return -WIRE_ARP_FORMAT;
    m->op = (enum arp_op)op;
    memcpy(m->sender_mac.b, at + 8, 6);
    m->sender_ip = ip_from_v4(load_be32(at + 14));
    memcpy(m->target_mac.b, at + 18, 6);
    m->target_ip = ip_from_v4(load_be32(at + 24));
    if (mac_is_multicast(&m->sender_mac))
        return -WIRE_ARP_SENDER; /* RFC 1812 3.3.2 */
    return ARP_LEN;
}

size_t arp_emit(const struct arp_msg *m, uint8_t *dst)
{
    assert(ip_is_v4(&m->sender_ip) && ip_is_v4(&m->target_ip));
    memcpy(dst, format, sizeof(format));
    store_be16(dst + 6, (uint16_t)m->op);
    memcpy(dst + 8, m->sender_mac.b, 6);
    store_be32(dst + 14, ip_v4(&m->sender_ip));
    memcpy(dst + 18, m->target_mac.b, 6);
    store_be32(dst + 24, ip_v4(&m->target_ip));
    return ARP_LEN;
}
