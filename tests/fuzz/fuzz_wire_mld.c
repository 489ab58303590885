/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries of multicast listener discovery: what is accepted is what RFC 3810 8.1 and 6.2 say. */
#include <stdlib.h>

#include "base/bytes.h"
#include "support/exact.h"
#include "wire/mld.h"

#define require(ok) ((ok) ? (void)0 : abort())

static void check(const struct ipv6_hdr *ip, const struct mld_query *q, const uint8_t *at,
                  size_t len, size_t read)
{
    require(ip->hop_limit == 1 && ip->router_alert && ip_is_link_local(&ip->src));
    require(ip_is_unspecified(&q->group) || ip_is_multicast(&q->group));
    require(q->v1 == (len == 24));
    require(read == (q->v1 ? 24 : 28 + load_be16(at + 26) * (size_t)16) && read <= len);
    /* Both versions read short delays alike, and the exponent's are longer than all of those. */
    uint16_t code = load_be16(at + 4);
    if (q->v1 || code < 0x8000)
        require(q->max_delay == code * TICK_MS);
    else
        require(q->max_delay >= 0x8000 * TICK_MS && q->max_delay <= 8387584 * TICK_MS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct ipv6_hdr ip = {.src = {{0xfe, 0x80, [15] = 1}},
                          .hop_limit = data[0],
                          .router_alert = data[1] & 1,
                          .frag.present = data[1] & 2};
    if (data[1] & 4)
        ip.src.b[0] = 0x20;
    size_t len = size - 2;
    uint8_t *at = exact(data + 2, len);
    struct mld_query q;
    int n = mld_query_parse(at, len, &ip, &q);
    if (n > 0)
        check(&ip, &q, at, len, (size_t)n);
    free(at);
    return 0;
}
