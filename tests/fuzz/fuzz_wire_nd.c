/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of an accepted message are all walked, each once and to the end; a solicitation or
 * advertisement re-emits to a message of the same meaning. The first bytes choose the IPv6 header
 * that the message comes under.
 */
#include <stdlib.h>
#include <string.h>

#include "wire/checksum.h"
#include "wire/error.h"
#include "wire/icmpv6.h"
#include "wire/nd.h"
#include "wire/proto.h"

#define require(ok) ((ok) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const addresses[] = {"fe80::1", "2001:db8::1", "::", "ff02::1",
                                        "ff02::1:ff00:1"};

static struct ip_addr pick(uint8_t which)
{
    struct ip_addr a;
    require(ip_parse(addresses[which % 5], &a));
    return a;
}

static void check_options(const struct nd_msg *m, size_t len)
{
    struct nd_options it = m->options;
    struct nd_option o;
    bool source = false;
    bool target = false;
    size_t options = 0;
    while (nd_option_next(&it, &o)) {
        source |= o.type == ND_OPTION_SOURCE_LINK;
        target |= o.type == ND_OPTION_TARGET_LINK;
        require(o.type != ND_OPTION_PREFIX || o.prefix.prefix.len <= 128);
        options++;
    }
    require(it.left == 0 && options <= ND_OPTION_MAX && 8 * options <= len);
    require(source == m->has_source_link && target == m->has_target_link);
}

static bool same(const struct nd_msg *a, const struct nd_msg *b)
{
    return a->type == b->type && ip_eq(&a->target, &b->target) && a->router == b->router &&
           a->solicited == b->solicited && a->override == b->override;
}

static void check_emit(const struct nd_msg *m, const struct ipv6_hdr *ip)
{
    if (m->type == ICMPV6_ROUTER_ADVERT || m->type == ICMPV6_REDIRECT)
        return;
    uint8_t out[ND_EMIT_MAX];
    size_t n = nd_emit(m, &ip->src, &ip->dst, out);
    require(n <= sizeof(out));
    struct checksum sum = checksum_pseudo(&ip->src, &ip->dst, IP_PROTO_ICMPV6, (uint32_t)n);
    require(checksum_ok(checksum_add(sum, out, n)));
    struct nd_msg again;
    require(nd_parse(out, n, ip, &again) > 0 && same(m, &again));
    if (m->type == ICMPV6_NEIGH_ADVERT)
        require(again.has_target_link == m->has_target_link &&
                mac_eq(&again.target_link, &m->target_link));
    else
        require(again.has_source_link == m->has_source_link &&
                mac_eq(&again.source_link, &m->source_link));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct ipv6_hdr ip = {.src = pick(data[0]), .dst = pick(data[1]), .hop_limit = ND_HOP_LIMIT};
    const uint8_t *at = data + 2;
    size_t len = size - 2;
    struct nd_msg m;
    int n = nd_parse(at, len, &ip, &m);
    if (n < 0) {
        require(n == -WIRE_ND_SHORT || n == -WIRE_ND_INVALID || n == -WIRE_ND_OPTION);
        return 0;
    }
    require((size_t)n <= len && (size_t)n + m.options.left == len);
    require(at[1] == 0);
    check_options(&m, len);
    check_emit(&m, &ip);
    return 0;
}
