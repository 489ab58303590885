/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/udp.h"

#include "stack/internal.h"
#include "wire/proto.h"

static bool checksum_bad(const struct ip_rx *rx, const struct udp_hdr *h)
{
    const struct pkt *p = rx->p;
    if (!h->has_checksum || (p->flags & PKT_RX_L4_CSUM_OK))
        return false;
    struct checksum c = checksum_pseudo(&rx->src, &rx->dst, IP_PROTO_UDP, h->len);
    return !checksum_ok(checksum_pkt(p, rx->upper_at, h->len, c));
}

/* Nothing listens on UDP yet, so that whatever is well-formed meets a closed port (RFC
 * 1122 4.1.3.1). */
void udp_input(struct ip_rx *rx, tick_t now)
{
    struct stack *s = rx->iface->stack;
    struct pkt *p = rx->p;
    struct udp_hdr h;
    int n = p->len < rx->upper_at ? -WIRE_UDP_SHORT
                                  : udp_parse(p->data + rx->upper_at, p->len - rx->upper_at,
                                              p->total - rx->upper_at, !rx->v4, &h);
    if (n < 0) {
        stack_drop(s, p, drop_of(n));
        return;
    }
    if (checksum_bad(rx, &h)) {
        stack_drop(s, p, DROP_UDP_CHECKSUM);
        return;
    }
    icmp_error(s, rx, ICMP_ERROR_PORT, 0, now);
    stack_drop(s, p, DROP_UDP_PORT);
}
