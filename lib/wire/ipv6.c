/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 and its extension headers (RFC 8200): the pictures are in wire/ipv6.h. */
#include "wire/ipv6.h"

#include <assert.h>

#include "base/bytes.h"
#include "wire/error.h"
#include "wire/icmpv6.h"
#include "wire/proto.h"

enum {
    NEXT_HEADER_AT = 6, /* in the fixed header */
    PAYLOAD_LENGTH_AT = 4,
    OPTION_PAD1 = 0,
    OPTION_PADN = 1,
    OPTION_ROUTER_ALERT = 5,
    ALERT_MLD = 0, /* its value; RFC 2711 2.1 */
};

/* What an unknown option's two high bits ask for (RFC 8200 4.2). */
enum {
    UNKNOWN_SKIP = 0,
    UNKNOWN_DISCARD = 1,
    UNKNOWN_REPORT = 2,
    UNKNOWN_REPORT_UNLESS_GROUP = 3,
};

/* A walk along the header chain. All offsets are from the fixed header. */
struct walk {
    const uint8_t *packet;
    size_t end; /* of what may be read and belongs to the packet */
    size_t at;  /* the header that h->next names */
    struct ipv6_hdr *h;
};

static int problem(struct ipv6_hdr *h, int error, enum icmpv6_param_code code, size_t pointer)
{
    h->problem =
        (struct ipv6_problem){.due = true, .code = (uint8_t)code, .pointer = (uint16_t)pointer};
    return -error;
}

/* The chain leaves what can be read: no fault of a first fragment's parser, but of its sender. */
static int cut_short(struct walk *w)
{
    if (!ipv6_is_fragment(w->h))
        return -WIRE_IP6_EXT_SHORT;
    w->h->frag.tiny = true; /* RFC 7112 5 */
    return 0;
}

static int unknown_option(struct ipv6_hdr *h, uint8_t type, size_t at)
{
    int error = WIRE_IP6_EXT_OPTION;
    switch (type >> 6) {
    case UNKNOWN_SKIP: return 0;
    case UNKNOWN_REPORT:
        error = problem(h, error, ICMPV6_BAD_OPTION, at);
        h->problem.to_multicast = true;
        return error;
    case UNKNOWN_REPORT_UNLESS_GROUP: return problem(h, error, ICMPV6_BAD_OPTION, at);
    default: assert(type >> 6 == UNKNOWN_DISCARD); return -error;
    }
}

/* The option at `at` is there whole. */
static bool is_mld_alert(const uint8_t *packet, size_t at, const struct ipv6_hdr *h)
{
    return h->next == IP_PROTO_HOP_BY_HOP && packet[at] == OPTION_ROUTER_ALERT &&
           packet[at + 1] == 2 && load_be16(packet + at + 2) == ALERT_MLD;
}

/*
 * The options in [at, end) of the packet. But for padding, and the router alert that MLD insists
 * on, none means anything to an end system, so each is treated as its type tells those who do not
 * know it.
 */
static int walk_options(const uint8_t *packet, size_t at, size_t end, struct ipv6_hdr *h)
{
    unsigned options = 0;
    unsigned padding = 0; /* bytes in a row */
    while (at < end) {
        uint8_t type = packet[at];
        size_t n = 1;
        if (type != OPTION_PAD1) {
            if (end - at < 2 || packet[at + 1] > end - at - 2)
                return -WIRE_IP6_EXT_OPTION;
            n = 2u + packet[at + 1];
        }
        if (type == OPTION_PAD1 || type == OPTION_PADN) {
            padding += (unsigned)n;
            if (padding > IPV6_PAD_MAX)
                return -WIRE_IP6_EXT_COUNT; /* RFC 8504 5.3 */
        } else {
            padding = 0;
            h->router_alert |= is_mld_alert(packet, at, h);
            if (++options > IPV6_OPTIONS_MAX)
                return -WIRE_IP6_EXT_COUNT; /* RFC 8504 5.3 */
            int error = unknown_option(h, type, at);
            if (error)
                return error;
        }
        at += n;
    }
    return 0;
}

/* Routing: none is known, so it must have been travelled to its end (RFC 8200 4.4, RFC 5095 3). */
static int check_routing(const uint8_t *packet, size_t at, struct ipv6_hdr *h)
{
    if (packet[at + 3] != 0)
        return problem(h, WIRE_IP6_ROUTING, ICMPV6_BAD_FIELD, at + 2);
    return 0;
}

/* Steps over the extension header at w->at, `len` bytes long, which names what comes behind it. */
static void step(struct walk *w, size_t len)
{
    w->h->next = w->packet[w->at];
    w->h->next_at = (uint16_t)w->at;
    w->at += len;
}

/* Hop-by-hop, destination options or routing, whichever h->next says. */
static int walk_sized(struct walk *w)
{
    if (w->end - w->at < 8)
        return cut_short(w);
    size_t len = 8 + 8 * (size_t)w->packet[w->at + 1];
    if (len > w->end - w->at)
        return cut_short(w);
    int error = w->h->next == IP_PROTO_ROUTING
                    ? check_routing(w->packet, w->at, w->h)
                    : walk_options(w->packet, w->at + 2, w->at + len, w->h);
    if (error == 0)
        step(w, len);
    return error;
}

static int check_fragment(struct ipv6_hdr *h)
{
    const struct ipv6_frag *f = &h->frag;
    if (!ipv6_is_fragment(h))
        return 0;
    size_t data = h->total_len - f->at - IPV6_FRAG_LEN;
    size_t before = f->at - IPV6_LEN;
    if (f->more && data % 8 != 0) /* RFC 8200 4.5 */
        return problem(h, WIRE_IP6_FRAGMENT, ICMPV6_BAD_FIELD, PAYLOAD_LENGTH_AT);
    if (before + f->offset + data > IPV6_PAYLOAD_MAX) /* RFC 8200 4.5 */
        return problem(h, WIRE_IP6_FRAGMENT, ICMPV6_BAD_FIELD, f->at + 2u);
    return data == 0 ? -WIRE_IP6_FRAGMENT : 0;
}

static int walk_fragment(struct walk *w)
{
    if (w->h->frag.present)
        return -WIRE_IP6_EXT_ORDER; /* a fragment of a fragment: RFC 8200 4.5 makes none */
    if (w->end - w->at < IPV6_FRAG_LEN)
        return -WIRE_IP6_EXT_SHORT;
    const uint8_t *f = w->packet + w->at;
    uint16_t offset = load_be16(f + 2);
    w->h->frag = (struct ipv6_frag){
        .present = true,
        .next = f[0],
        .offset = offset & 0xfff8,
        .more = offset & 1,
        .id = load_be32(f + 4),
        .at = (uint16_t)w->at,
        .named_at = w->h->next_at,
    };
    step(w, IPV6_FRAG_LEN);
    return check_fragment(w->h);
}

/* Shortest upper-layer headers, of which a first fragment holds a whole one (RFC 7112 5). */
static size_t upper_min(uint8_t proto)
{
    switch (proto) {
    case IP_PROTO_TCP: return 20;
    case IP_PROTO_SCTP: return 12;
    case IP_PROTO_UDP:
    case IP_PROTO_ICMPV6: return 8;
    default: return 0;
    }
}

static bool is_extension(uint8_t next)
{
    return next == IP_PROTO_HOP_BY_HOP || next == IP_PROTO_ROUTING || next == IP_PROTO_FRAGMENT ||
           next == IP_PROTO_DEST_OPTIONS;
}

/* More headers to walk? What a later fragment holds is data, whatever its fragment header names. */
static bool walking(const struct walk *w)
{
    return is_extension(w->h->next) && w->h->frag.offset == 0 && !w->h->frag.tiny;
}

static int walk_chain(struct walk *w)
{
    for (unsigned n = 0; walking(w); n++) {
        if (n == IPV6_EXT_MAX)
            return -WIRE_IP6_EXT_COUNT;
        if (w->h->next == IP_PROTO_HOP_BY_HOP && n > 0) /* RFC 8200 4.1, 4 */
            return problem(w->h, WIRE_IP6_EXT_ORDER, ICMPV6_BAD_NEXT_HEADER, w->h->next_at);
        int error = w->h->next == IP_PROTO_FRAGMENT ? walk_fragment(w) : walk_sized(w);
        if (error)
            return error;
    }
    if (ipv6_is_fragment(w->h) && w->h->frag.offset == 0 && w->end - w->at < upper_min(w->h->next))
        w->h->frag.tiny = true;
    w->h->upper_at = (uint16_t)w->at;
    return 0;
}

static void read_fields(const uint8_t *at, struct ipv6_hdr *h)
{
    uint32_t first = load_be32(at);
    *h = (struct ipv6_hdr){
        .traffic_class = (uint8_t)(first >> 20),
        .flow_label = first & 0xfffff,
        .total_len = IPV6_LEN + load_be16(at + PAYLOAD_LENGTH_AT),
        .next = at[NEXT_HEADER_AT],
        .next_at = NEXT_HEADER_AT,
        .hop_limit = at[7],
    };
    memcpy(h->src.b, at + 8, 16);
    memcpy(h->dst.b, at + 24, 16);
}

static int parse(const uint8_t *at, size_t contiguous, size_t available, struct ipv6_hdr *h)
{
    if (contiguous < IPV6_LEN)
        return -WIRE_IP6_SHORT;
    if (at[0] >> 4 != 6)
        return -WIRE_IP6_VERSION;
    read_fields(at, h);
    /* RFC 2675 3: a jumbogram says 0 and has a hop-by-hop header; it is refused here. */
    bool jumbo = h->total_len == IPV6_LEN && h->next == IP_PROTO_HOP_BY_HOP;
    if (h->total_len > available || jumbo)
        return -WIRE_IP6_PAYLOAD_LENGTH;
    if (ip_is_v4(&h->src) || ip_is_v4(&h->dst))
        return -WIRE_IP6_MAPPED;
    struct walk w = {.packet = at,
                     .end = h->total_len < contiguous ? h->total_len : contiguous,
                     .at = IPV6_LEN,
                     .h = h};
    int error = walk_chain(&w);
    return error ? error : (int)w.at;
}

int ipv6_parse(const uint8_t *at, size_t contiguous, size_t available, struct ipv6_hdr *h)
{
    assert(contiguous <= available);
    return parse(at, contiguous, available, h);
}

int ipv6_parse_quoted(const uint8_t *at, size_t len, struct ipv6_hdr *h)
{
    return parse(at, len, IPV6_LEN + IPV6_PAYLOAD_MAX, h);
}

size_t ipv6_emit(const struct ipv6_hdr *h, uint8_t *dst)
{
    assert(h->total_len >= IPV6_LEN && h->total_len - IPV6_LEN <= IPV6_PAYLOAD_MAX);
    assert(h->flow_label <= 0xfffff && !ip_is_v4(&h->src) && !ip_is_v4(&h->dst));
    store_be32(dst, 6u << 28 | (uint32_t)h->traffic_class << 20 | h->flow_label);
    store_be16(dst + PAYLOAD_LENGTH_AT, (uint16_t)(h->total_len - IPV6_LEN));
    dst[NEXT_HEADER_AT] = h->next;
    dst[7] = h->hop_limit;
    memcpy(dst + 8, h->src.b, 16);
    memcpy(dst + 24, h->dst.b, 16);
    return IPV6_LEN;
}

size_t ipv6_alert_emit(uint8_t next, uint8_t *dst)
{
    static const uint8_t options[] = {OPTION_ROUTER_ALERT, 2, 0, ALERT_MLD, OPTION_PADN, 0};
    dst[0] = next;
    dst[1] = 0;
    memcpy(dst + 2, options, sizeof(options));
    return IPV6_ALERT_LEN;
}

size_t ipv6_frag_emit(const struct ipv6_frag *f, uint8_t *dst)
{
    assert(f->offset % 8 == 0);
    dst[0] = f->next;
    dst[1] = 0;
    store_be16(dst + 2, (uint16_t)(f->offset | (f->more ? 1 : 0)));
    store_be32(dst + 4, f->id);
    return IPV6_FRAG_LEN;
}
