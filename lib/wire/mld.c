/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast listener discovery (RFC 2710, RFC 3810): the pictures are in wire/mld.h. */
#include "wire/mld.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/checksum.h"
#include "wire/error.h"
#include "wire/proto.h"

#define MLD2_QUERY_LEN 28u

/* Milliseconds: up to 32,767 as they are, above as 1mmm'mmmm'mmmm shifted by the exponent and 3
 * (RFC 3810 5.1.3). */
static uint32_t response_delay(uint16_t code)
{
    if (code < 0x8000)
        return code;
    return ((code & 0xfffu) | 0x1000) << ((code >> 12 & 7) + 3);
}

/* RFC 3810 5.1.5, 6.2 */
static bool query_ok(const struct mld_query *q, const struct ipv6_hdr *ip)
{
    return ip_is_link_local(&ip->src) && ip->hop_limit == MLD_HOP_LIMIT && ip->router_alert &&
           !ip->frag.present && (ip_is_unspecified(&q->group) || ip_is_multicast(&q->group));
}

int mld_query_parse(const uint8_t *at, size_t len, const struct ipv6_hdr *ip, struct mld_query *q)
{
    if (len < MLD1_LEN)
        return -WIRE_MLD_SHORT;
    /* RFC 3810 8.1: the length tells the versions apart, and what is in between is neither. */
    if (len != MLD1_LEN && len < MLD2_QUERY_LEN)
        return -WIRE_MLD_SHORT;
    size_t read = MLD1_LEN;
    *q = (struct mld_query){.v1 = len == MLD1_LEN};
    memcpy(q->group.b, at + 8, sizeof(q->group.b));
    uint16_t delay = load_be16(at + 4);
    q->max_delay = (q->v1 ? delay : response_delay(delay)) * TICK_MS;
    if (!q->v1) {
        read = MLD2_QUERY_LEN + (size_t)load_be16(at + 26) * 16;
        if (read > len)
            return -WIRE_MLD_SHORT;
    }
    return query_ok(q, ip) ? (int)read : -WIRE_MLD_INVALID;
}

static void put_checksum(uint8_t *message, size_t len, const struct ip_addr *src,
                         const struct ip_addr *dst)
{
    struct checksum sum = checksum_pseudo(src, dst, IP_PROTO_ICMPV6, (uint32_t)len);
    store_be16(message + 2, checksum_finish(checksum_add(sum, message, len)));
}

size_t mld2_report_emit(const struct mld_record *r, unsigned n, const struct ip_addr *src,
                        const struct ip_addr *dst, uint8_t *out)
{
    assert(n > 0 && n <= UINT16_MAX);
    size_t len = mld2_report_len(n);
    memset(out, 0, len);
    out[0] = MLD2_REPORT;
    store_be16(out + 6, (uint16_t)n);
    for (uint8_t *at = out + 8; n > 0; n--, r++, at += MLD2_RECORD_LEN) {
        at[0] = (uint8_t)r->type;
        memcpy(at + 4, r->group.b, sizeof(r->group.b));
    }
    put_checksum(out, len, src, dst);
    return len;
}

size_t mld1_emit(enum mld_type type, const struct ip_addr *group, const struct ip_addr *src,
                 const struct ip_addr *dst, uint8_t *out)
{
    assert(type == MLD1_REPORT || type == MLD1_DONE);
    memset(out, 0, MLD1_LEN);
    out[0] = (uint8_t)type;
    memcpy(out + 8, group->b, sizeof(group->b));
    put_checksum(out, MLD1_LEN, src, dst);
    return MLD1_LEN;
}
