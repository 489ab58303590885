/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/device.h"

#include <string.h>

#include "base/bytes.h"
#include "sim/run.h"
#include "wire/checksum.h"
#include "wire/ipv4.h"
#include "wire/proto.h"
#include "wire/tcp.h"

#define FRAME_MAX     (65535 + 18)
#define IPV4_CHECKSUM 10u /* offset in the header */
#define TCP_CHECKSUM  16u

static uint8_t bytes[FRAME_MAX]; /* the packet as it was given */

static void check_asked(const struct pkt *p, uint32_t can)
{
    must(!p->next || (can & IFACE_TX_MULTI_SEGS));
    must(!(p->flags & PKT_TX_IP_CSUM) || (can & IFACE_TX_IP_CSUM));
    must(!(p->flags & PKT_TX_L4_CSUM) || (can & IFACE_TX_TCP_CSUM));
    must(!(p->flags & PKT_TX_L4_CSUM) || p->l4_proto == IP_PROTO_TCP);
    must(!(p->flags & PKT_TX_TSO) || (can & IFACE_TX_TSO));
    must(!(p->flags & PKT_TX_TSO) || (p->flags & PKT_TX_L4_CSUM));
    must(!(p->flags & PKT_TX_VLAN));
}

static struct checksum pseudo(const struct pkt *p, const uint8_t *frame, uint32_t len)
{
    const uint8_t *ip = frame + p->l2_len;
    struct ip_addr src, dst;
    if (p->flags & PKT_IPV6) {
        memcpy(src.b, ip + 8, 16);
        memcpy(dst.b, ip + 24, 16);
    } else {
        src = ip_from_v4(load_be32(ip + 12));
        dst = ip_from_v4(load_be32(ip + 16));
    }
    return checksum_pseudo(&src, &dst, IP_PROTO_TCP, len);
}

/* n bytes from the TCP header on. */
static void fill_tcp(const struct pkt *p, uint8_t *frame, uint32_t n)
{
    uint8_t *tcp = frame + p->l2_len + p->l3_len;
    store_be16(tcp + TCP_CHECKSUM, 0);
    struct checksum c = checksum_add(pseudo(p, frame, n), tcp, n);
    store_be16(tcp + TCP_CHECKSUM, checksum_finish(c));
}

static void fill_ip(const struct pkt *p, uint8_t *frame)
{
    uint8_t *ip = frame + p->l2_len;
    store_be16(ip + IPV4_CHECKSUM, 0);
    store_be16(ip + IPV4_CHECKSUM, checksum_finish(checksum_add(CHECKSUM_EMPTY, ip, p->l3_len)));
}

/* What the device finds in the fields that it fills. */
static void check_fields(const struct pkt *p, uint32_t len)
{
    uint32_t upper = p->l2_len + p->l3_len;
    if (p->flags & PKT_TX_IP_CSUM)
        must(load_be16(bytes + p->l2_len + IPV4_CHECKSUM) == 0);
    if (!(p->flags & PKT_TX_L4_CSUM))
        return;
    uint32_t summed = p->flags & PKT_TX_TSO ? 0 : len - upper;
    must(load_be16(bytes + upper + TCP_CHECKSUM) == checksum_fold(pseudo(p, bytes, summed)));
    must(p->l4_len == (uint32_t)(bytes[upper + 12] >> 4) * 4);
}

static void set_length(const struct pkt *p, uint8_t *frame, uint32_t len, unsigned nth)
{
    uint8_t *ip = frame + p->l2_len;
    if (p->flags & PKT_IPV6) {
        store_be16(ip + 4, (uint16_t)(len - p->l2_len - p->l3_len));
    } else {
        store_be16(ip + 2, (uint16_t)(len - p->l2_len));
        store_be16(ip + 4, (uint16_t)(load_be16(ip + 4) + nth));
    }
}

/* The n bytes of payload from `at` on, as a segment of its own. */
static struct pkt *cut_one(struct sim *s, const struct pkt *p, uint32_t head, uint32_t at,
                           uint32_t n, unsigned nth)
{
    static uint8_t frame[FRAME_MAX];
    bool last = head + at + n == p->total;
    memcpy(frame, bytes, head);
    memcpy(frame + head, bytes + head + at, n);
    uint8_t *tcp = frame + p->l2_len + p->l3_len;
    store_be32(tcp + 4, load_be32(tcp + 4) + at);
    tcp[13] &= (uint8_t)(last ? 0xff : ~(TCP_FIN | TCP_PSH));
    tcp[13] &= (uint8_t)(nth == 0 ? 0xff : ~TCP_CWR); /* RFC 3168 6.1.2 */
    set_length(p, frame, head + n, nth);
    if (!(p->flags & PKT_IPV6))
        fill_ip(p, frame);
    fill_tcp(p, frame, p->l4_len + n);
    return frame_create(s, frame, head + n);
}

static void cut(struct sim *s, const struct pkt *p, void (*out)(void *ctx, struct pkt *frame),
                void *ctx)
{
    uint32_t head = (uint32_t)p->l2_len + p->l3_len + p->l4_len;
    uint32_t payload = p->total - head;
    must(p->tso_mss > 0 && payload > p->tso_mss);
    unsigned nth = 0;
    for (uint32_t at = 0; at < payload; at += p->tso_mss) {
        uint32_t n = payload - at < p->tso_mss ? payload - at : p->tso_mss;
        out(ctx, cut_one(s, p, head, at, n, nth++));
    }
}

void device_send(struct sim *s, struct pkt *p, uint32_t offload,
                 void (*out)(void *ctx, struct pkt *frame), void *ctx)
{
    must(p->total <= sizeof(bytes));
    must(pkt_ok(p));
    check_asked(p, offload);
    pkt_copy_out(p, 0, bytes, p->total);
    check_fields(p, p->total);
    if (p->flags & PKT_TX_TSO) {
        cut(s, p, out, ctx);
    } else {
        if (p->flags & PKT_TX_IP_CSUM)
            fill_ip(p, bytes);
        if (p->flags & PKT_TX_L4_CSUM)
            fill_tcp(p, bytes, p->total - p->l2_len - p->l3_len);
        out(ctx, frame_create(s, bytes, p->total));
    }
    pkt_free(p);
}
