/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With many connections nearly every segment finds its own in no cache, and the wait for memory is
 * most of what it costs. So the connections of a burst are looked for first, all at once, without
 * believing anything: what is found here is only where to fetch from. Frames that look unusual are
 * left out, for they cost more elsewhere.
 */
#include "base/bytes.h"
#include "stack/conn.h"
#include "wire/ipv4.h"
#include "wire/proto.h"

#define PREFETCH_BURST 64u
/* Fewer connections than that stay in the cache by themselves. */
#define PREFETCH_FLOWS 512u

#define LINE 64u

static bool key_of4(const uint8_t *ip, struct flow_key *key)
{
    if (ip[0] != 0x45 || ip[9] != IP_PROTO_TCP)
        return false;
    struct ip_addr src = ip_from_v4(load_be32(ip + 12));
    struct ip_addr dst = ip_from_v4(load_be32(ip + 16));
    const uint8_t *ports = ip + IPV4_LEN;
    *key = flow_key_of(&dst, load_be16(ports + 2), &src, load_be16(ports), IP_PROTO_TCP);
    return true;
}

static bool key_of6(const uint8_t *ip, struct flow_key *key)
{
    if (ip[6] != IP_PROTO_TCP)
        return false;
    struct ip_addr src, dst;
    memcpy(src.b, ip + 8, sizeof(src.b));
    memcpy(dst.b, ip + 24, sizeof(dst.b));
    const uint8_t *ports = ip + IPV6_LEN;
    *key = flow_key_of(&dst, load_be16(ports + 2), &src, load_be16(ports), IP_PROTO_TCP);
    return true;
}

static bool key_of(const struct pkt *p, struct flow_key *key)
{
    if (p->len < ETHER_LEN + IPV4_LEN + 4)
        return false;
    uint16_t type = load_be16(p->data + 12);
    const uint8_t *ip = p->data + ETHER_LEN;
    if (type == ETHER_TYPE_IPV4)
        return key_of4(ip, key);
    return type == ETHER_TYPE_IPV6 && p->len >= ETHER_LEN + IPV6_LEN + 4 && key_of6(ip, key);
}

static void fetch(const struct flow *f)
{
    size_t size = f->kind == FLOW_CONN ? sizeof(struct conn) : sizeof(struct time_wait);
    for (size_t at = LINE; at < size; at += LINE) /* the first is here */
        __builtin_prefetch((const uint8_t *)f + at);
}

void segments_prefetch(const struct stack *s, struct pkt *const *burst, unsigned n)
{
    struct flow_key key[PREFETCH_BURST];
    struct flow *found[PREFETCH_BURST];
    unsigned keys = 0;
    if (n < 2 || flow_count(s->flows) < PREFETCH_FLOWS)
        return;
    for (unsigned i = 0; i < n && keys < PREFETCH_BURST; i++)
        keys += key_of(burst[i], &key[keys]);
    flow_find_burst(s->flows, key, keys, found);
    for (unsigned i = 0; i < keys; i++)
        if (found[i])
            fetch(found[i]);
}
