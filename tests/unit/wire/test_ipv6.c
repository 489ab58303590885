/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/ipv6.h"

#include "base/bytes.h"
#include "support/exact.h"
#include "support/unit.h"
#include "wire/error.h"
#include "wire/icmpv6.h"
#include "wire/proto.h"

/* A packet under construction: each header is told what comes after it by the one that is added
 * next. */
struct packet {
    uint8_t bytes[8192];
    size_t len;
    size_t next_at;
};

static void end(struct packet *p)
{
    store_be16(p->bytes + 4, (uint16_t)(p->len - IPV6_LEN));
}

static struct packet begin(void)
{
    struct packet p = {.len = IPV6_LEN, .next_at = 6};
    struct ip_addr src;
    struct ip_addr dst;
    ck_assert(ip_parse("2001:db8::1", &src) && ip_parse("2001:db8::2", &dst));
    static const uint8_t start[] = {0x6a, 0xb1, 0x23, 0x45, 0, 0, 59, 64};
    memcpy(p.bytes, start, sizeof(start));
    memcpy(p.bytes + 8, src.b, 16);
    memcpy(p.bytes + 24, dst.b, 16);
    end(&p);
    return p;
}

/* Appends bytes that the header before names `proto`. */
static void add(struct packet *p, uint8_t proto, const void *bytes, size_t len)
{
    p->bytes[p->next_at] = proto;
    p->next_at = p->len;
    memcpy(p->bytes + p->len, bytes, len);
    p->len += len;
    end(p);
}

/* A hop-by-hop or destination options header with these options; the caller sees to the multiple
 * of 8. */
static void add_options(struct packet *p, uint8_t proto, const void *options, size_t len)
{
    uint8_t header[2048 + 2] = {59, (uint8_t)((len + 2) / 8 - 1)};
    ck_assert_uint_eq((len + 2) % 8, 0);
    memcpy(header + 2, options, len);
    add(p, proto, header, len + 2);
}

static void add_padding(struct packet *p, uint8_t proto)
{
    static const uint8_t padn[] = {1, 4, 0, 0, 0, 0};
    add_options(p, proto, padn, sizeof(padn));
}

static void add_fragment(struct packet *p, uint16_t offset_and_more)
{
    uint8_t header[8] = {
        59, 0, (uint8_t)(offset_and_more >> 8), (uint8_t)offset_and_more, 0xde, 0xad, 0xbe, 0xef};
    add(p, IP_PROTO_FRAGMENT, header, sizeof(header));
}

static void add_zeros(struct packet *p, uint8_t proto, size_t len)
{
    static const uint8_t zeros[2048];
    add(p, proto, zeros, len);
}

/* From a block of exactly the packet's size. */
static int parse(const struct packet *p, struct ipv6_hdr *h)
{
    uint8_t *bytes = exact(p->bytes, p->len);
    int got = ipv6_parse(bytes, p->len, p->len, h);
    free(bytes);
    return got;
}

static void expect_problem(const struct ipv6_hdr *h, int code, size_t pointer)
{
    ck_assert(h->problem.due);
    ck_assert_int_eq(h->problem.code, code);
    ck_assert_uint_eq(h->problem.pointer, pointer);
    /* What it takes to send it. */
    struct packet p = begin();
    ck_assert_mem_eq(h->src.b, p.bytes + 8, 16);
    ck_assert_mem_eq(h->dst.b, p.bytes + 24, 16);
}

START_TEST(reads_a_plain_header)
{
    struct packet p = begin();
    add_zeros(&p, IP_PROTO_UDP, 12);
    struct ipv6_hdr h;
    ck_assert_int_eq(parse(&p, &h), 40);
    ck_assert_uint_eq(h.traffic_class, 0xab);
    ck_assert_uint_eq(h.flow_label, 0x12345);
    ck_assert_uint_eq(h.total_len, 52);
    ck_assert_uint_eq(h.hop_limit, 64);
    ck_assert_uint_eq(h.next, IP_PROTO_UDP);
    ck_assert_uint_eq(h.next_at, 6);
    ck_assert_uint_eq(h.upper_at, 40);
    ck_assert(!h.frag.present && !h.problem.due);
    ck_assert_mem_eq(h.src.b, p.bytes + 8, 16);
    ck_assert_mem_eq(h.dst.b, p.bytes + 24, 16);
}
END_TEST

START_TEST(refuses_bad_fixed_headers)
{
    struct ipv6_hdr h;
    struct packet p = begin();
    for (size_t n = 0; n < IPV6_LEN; n++) {
        uint8_t *cut = exact(p.bytes, n);
        ck_assert_int_eq(ipv6_parse(cut, n, n, &h), -WIRE_IP6_SHORT);
        free(cut);
    }
    ck_assert_int_eq(parse(&p, &h), 40); /* no next header, no payload */
    ck_assert_uint_eq(h.next, IP_PROTO_NONE);
    p.bytes[0] = 0x4a;
    ck_assert_int_eq(parse(&p, &h), -WIRE_IP6_VERSION);
    p = begin();
    store_be16(p.bytes + 4, 1);
    ck_assert_int_eq(parse(&p, &h), -WIRE_IP6_PAYLOAD_LENGTH);
    ck_assert_int_eq(ipv6_parse(p.bytes, 40, 41, &h), 40); /* in a later view */
    p = begin();
    p.bytes[6] = IP_PROTO_HOP_BY_HOP; /* what a jumbogram looks like */
    ck_assert_int_eq(parse(&p, &h), -WIRE_IP6_PAYLOAD_LENGTH);
}
END_TEST

START_TEST(refuses_mapped_addresses)
{
    for (size_t at = 8; at <= 24; at += 16) {
        struct packet p = begin();
        struct ip_addr mapped = ip_from_v4(0xc0000201);
        memcpy(p.bytes + at, mapped.b, 16);
        struct ipv6_hdr h;
        ck_assert_int_eq(parse(&p, &h), -WIRE_IP6_MAPPED);
    }
}
END_TEST

START_TEST(link_padding_is_not_the_packets)
{
    struct packet p = begin();
    add_padding(&p, IP_PROTO_DEST_OPTIONS);
    store_be16(p.bytes + 4, 4); /* the header goes on into the padding */
    struct ipv6_hdr h;
    ck_assert_int_eq(parse(&p, &h), -WIRE_IP6_EXT_SHORT);
}
END_TEST

/* Every kind of header, in RFC 8200's order. */
static struct packet long_chain(void)
{
    static const uint8_t routing[] = {59, 2, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4,
                                      5,  6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8};
    struct packet p = begin();
    add_padding(&p, IP_PROTO_HOP_BY_HOP);
    add_padding(&p, IP_PROTO_DEST_OPTIONS);
    add(&p, IP_PROTO_ROUTING, routing, sizeof(routing));
    add_fragment(&p, 0); /* atomic */
    add_padding(&p, IP_PROTO_DEST_OPTIONS);
    add_zeros(&p, IP_PROTO_TCP, 20);
    return p;
}

START_TEST(walks_every_header)
{
    struct packet p = long_chain();
    struct ipv6_hdr h;
    ck_assert_int_eq(parse(&p, &h), 96);
    ck_assert_uint_eq(h.next, IP_PROTO_TCP);
    ck_assert_uint_eq(h.upper_at, 96);
    ck_assert_uint_eq(h.next_at, 88);
    ck_assert(h.frag.present && !ipv6_is_fragment(&h));
    ck_assert_uint_eq(h.frag.at, 80);
    ck_assert_uint_eq(h.frag.named_at, 56);
    ck_assert_uint_eq(h.frag.next, IP_PROTO_DEST_OPTIONS);
    ck_assert_uint_eq(h.frag.id, 0xdeadbeef);
    ck_assert(!h.frag.tiny);
}
END_TEST

START_TEST(cut_anywhere_is_an_error)
{
    struct packet whole = long_chain();
    struct ipv6_hdr h;
    for (size_t n = IPV6_LEN; n < 96; n++) {
        struct packet p = whole;
        p.len = n;
        ck_assert_int_eq(parse(&p, &h), -WIRE_IP6_PAYLOAD_LENGTH);
        end(&p);
        int expect = n == 40 ? -WIRE_IP6_PAYLOAD_LENGTH : -WIRE_IP6_EXT_SHORT;
        ck_assert_int_eq(parse(&p, &h), expect);
        /* The chain may not go on in a later view either. */
        uint8_t *cut = exact(whole.bytes, n);
        ck_assert_int_eq(ipv6_parse(cut, n, whole.len, &h), -WIRE_IP6_EXT_SHORT);
        free(cut);
    }
    uint8_t *cut = exact(whole.bytes, 96);
    ck_assert_int_eq(ipv6_parse(cut, 96, whole.len, &h), 96);
    free(cut);
}
END_TEST

START_TEST(hop_by_hop_only_first)
{
    struct packet p = begin();
    add_padding(&p, IP_PROTO_DEST_OPTIONS);
    add_padding(&p, IP_PROTO_HOP_BY_HOP);
    add_zeros(&p, IP_PROTO_UDP, 8);
    struct ipv6_hdr h;
    ck_assert_int_eq(parse(&p, &h), -WIRE_IP6_EXT_ORDER);
    expect_problem(&h, ICMPV6_BAD_NEXT_HEADER, 40);
    ck_assert(!h.problem.to_multicast);
}
END_TEST

START_TEST(no_end_of_headers)
{
    for (unsigned n = 1; n <= IPV6_EXT_MAX + 1; n++) {
        struct packet p = begin();
        for (unsigned i = 0; i < n; i++)
            add_padding(&p, IP_PROTO_DEST_OPTIONS);
        add_zeros(&p, IP_PROTO_UDP, 8);
        struct ipv6_hdr h;
        int expect = n <= IPV6_EXT_MAX ? (int)(40 + 8 * n) : -WIRE_IP6_EXT_COUNT;
        ck_assert_int_eq(parse(&p, &h), expect);
    }
}
END_TEST

START_TEST(stops_at_what_it_does_not_know)
{
    static const uint8_t protos[] = {IP_PROTO_AH, 50, 135, 253, IP_PROTO_NONE, IP_PROTO_ICMPV6};
    for (size_t i = 0; i < sizeof(protos); i++) {
        struct packet p = begin();
        add_padding(&p, IP_PROTO_DEST_OPTIONS);
        add_zeros(&p, protos[i], 16);
        struct ipv6_hdr h;
        ck_assert_int_eq(parse(&p, &h), 48);
        ck_assert_uint_eq(h.next, protos[i]);
        ck_assert_uint_eq(h.next_at, 40);
    }
}
END_TEST

START_TEST(routing_must_be_done)
{
    for (uint8_t type = 0; type < 6; type++) {
        uint8_t routing[] = {59, 0, type, 0, 0, 0, 0, 0};
        struct packet p = begin();
        add(&p, IP_PROTO_ROUTING, routing, sizeof(routing));
        add_zeros(&p, IP_PROTO_UDP, 8);
        struct ipv6_hdr h;
        ck_assert_int_eq(parse(&p, &h), 48);
        p.bytes[43] = 1;
        ck_assert_int_eq(parse(&p, &h), -WIRE_IP6_ROUTING);
        expect_problem(&h, ICMPV6_BAD_FIELD, 42);
    }
}
END_TEST

static int parse_options(const void *options, size_t len, uint8_t proto, struct ipv6_hdr *h)
{
    struct packet p = begin();
    add_options(&p, proto, options, len);
    add_zeros(&p, IP_PROTO_UDP, 8);
    return parse(&p, h);
}

START_TEST(unknown_options_say_what_to_do)
{
    static const uint8_t protos[] = {IP_PROTO_HOP_BY_HOP, IP_PROTO_DEST_OPTIONS};
    for (int i = 0; i < 2; i++) {
        /* Two bytes of padding, then the option at 44. */
        uint8_t options[] = {0, 0, 0x1e, 2, 7, 7};
        struct ipv6_hdr h;
        ck_assert_int_eq(parse_options(options, 6, protos[i], &h), 48);
        options[2] = 0x5e;
        ck_assert_int_eq(parse_options(options, 6, protos[i], &h), -WIRE_IP6_EXT_OPTION);
        ck_assert(!h.problem.due);
        options[2] = 0x9e;
        ck_assert_int_eq(parse_options(options, 6, protos[i], &h), -WIRE_IP6_EXT_OPTION);
        expect_problem(&h, ICMPV6_BAD_OPTION, 44);
        ck_assert(h.problem.to_multicast);
        options[2] = 0xde;
        ck_assert_int_eq(parse_options(options, 6, protos[i], &h), -WIRE_IP6_EXT_OPTION);
        expect_problem(&h, ICMPV6_BAD_OPTION, 44);
        ck_assert(!h.problem.to_multicast);
    }
}
END_TEST

START_TEST(a_router_alert_is_noted_where_mld_puts_it)
{
    uint8_t alert[] = {5, 2, 0, 0, 1, 0};
    uint8_t header[8];
    struct ipv6_hdr h;
    ck_assert_int_eq(parse_options(alert, 6, IP_PROTO_HOP_BY_HOP, &h), 48);
    ck_assert(h.router_alert);
    ck_assert_uint_eq(ipv6_alert_emit(IP_PROTO_ICMPV6, header), 8);
    ck_assert_uint_eq(header[0], IP_PROTO_ICMPV6);
    ck_assert_uint_eq(header[1], 0);
    ck_assert_mem_eq(header + 2, alert, 6);
    ck_assert_int_eq(parse_options(alert, 6, IP_PROTO_DEST_OPTIONS, &h), 48);
    ck_assert(!h.router_alert);
    alert[3] = 1; /* for RSVP */
    ck_assert_int_eq(parse_options(alert, 6, IP_PROTO_HOP_BY_HOP, &h), 48);
    ck_assert(!h.router_alert);
    alert[1] = 0; /* no value; what follows is padding */
    memset(alert + 2, 0, 4);
    ck_assert_int_eq(parse_options(alert, 6, IP_PROTO_HOP_BY_HOP, &h), 48);
    ck_assert(!h.router_alert);
}
END_TEST

START_TEST(options_beyond_their_header)
{
    static const uint8_t lengths[][6] = {
        {1, 5, 0, 0, 0, 0}, {0x1e, 255, 0, 0, 0, 0}, {1, 3, 0, 0, 0, 0x1e}, {1, 2, 0, 0, 1, 1}};
    for (int i = 0; i < 4; i++) {
        struct ipv6_hdr h;
        ck_assert_int_eq(parse_options(lengths[i], 6, IP_PROTO_DEST_OPTIONS, &h),
                         -WIRE_IP6_EXT_OPTION);
        ck_assert(!h.problem.due);
    }
}
END_TEST

START_TEST(bounds_options_and_padding)
{
    struct ipv6_hdr h;
    uint8_t options[2048] = {0};
    /* n options of 2 bytes; the rest of the header is one more, of 00 type too. */
    for (unsigned n = 1; n <= IPV6_OPTIONS_MAX + 1; n++) {
        for (unsigned i = 0; i < n; i++) {
            options[2 * i] = 0x1e;
            options[2 * i + 1] = i == n - 1 ? (uint8_t)(22 - 2 * n) : 0;
        }
        int expect = n <= IPV6_OPTIONS_MAX ? 64 : -WIRE_IP6_EXT_COUNT;
        ck_assert_int_eq(parse_options(options, 22, IP_PROTO_DEST_OPTIONS, &h), expect);
    }
    /* Seven bytes of padding in a row are the most that alignment asks for. */
    static const uint8_t seven[] = {0x1e, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    ck_assert_int_eq(parse_options(seven, 14, IP_PROTO_DEST_OPTIONS, &h), 56);
    static const uint8_t eight[] = {0x1e, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    ck_assert_int_eq(parse_options(eight, 14, IP_PROTO_DEST_OPTIONS, &h), -WIRE_IP6_EXT_COUNT);
    static const uint8_t padn[] = {1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    ck_assert_int_eq(parse_options(padn, 14, IP_PROTO_DEST_OPTIONS, &h), -WIRE_IP6_EXT_COUNT);
    memset(options, 0, sizeof(options));
    ck_assert_int_eq(parse_options(options, 2046, IP_PROTO_HOP_BY_HOP, &h), -WIRE_IP6_EXT_COUNT);
}
END_TEST

static int parse_fragment(uint16_t offset_and_more, size_t data, struct ipv6_hdr *h)
{
    struct packet p = begin();
    add_padding(&p, IP_PROTO_DEST_OPTIONS);
    add_fragment(&p, offset_and_more);
    add_zeros(&p, IP_PROTO_UDP, data);
    return parse(&p, h);
}

START_TEST(reads_fragments)
{
    struct ipv6_hdr h;
    ck_assert_int_eq(parse_fragment(1, 16, &h), 56);
    ck_assert(ipv6_is_fragment(&h) && h.frag.more && !h.frag.tiny);
    ck_assert_uint_eq(h.frag.offset, 0);
    ck_assert_uint_eq(h.frag.at, 48);
    ck_assert_uint_eq(h.frag.named_at, 40);
    ck_assert_uint_eq(h.frag.next, IP_PROTO_UDP);
    ck_assert_uint_eq(h.next, IP_PROTO_UDP);
    ck_assert_uint_eq(h.next_at, 48);
    ck_assert_int_eq(parse_fragment(1232 | 1, 8, &h), 56);
    ck_assert_uint_eq(h.frag.offset, 1232);
    ck_assert_int_eq(parse_fragment(1232, 3, &h), 56);
    ck_assert(ipv6_is_fragment(&h) && !h.frag.more);
    ck_assert_int_eq(parse_fragment(1232 | 7, 8, &h), 56); /* reserved bits mean nothing */
    ck_assert_uint_eq(h.frag.offset, 1232);
}
END_TEST

START_TEST(a_later_fragment_holds_data)
{
    /* It names destination options, but those were in the first fragment: these bytes are no
     * header. */
    struct packet p = begin();
    add_fragment(&p, 1232);
    add(&p, IP_PROTO_DEST_OPTIONS, "\xff\xff\xff", 3);
    struct ipv6_hdr h;
    ck_assert_int_eq(parse(&p, &h), 48);
    ck_assert_uint_eq(h.next, IP_PROTO_DEST_OPTIONS);
    ck_assert(!h.frag.tiny);
}
END_TEST

START_TEST(refuses_impossible_fragments)
{
    struct ipv6_hdr h;
    ck_assert_int_eq(parse_fragment(1, 12, &h), -WIRE_IP6_FRAGMENT);
    expect_problem(&h, ICMPV6_BAD_FIELD, 4);
    ck_assert_int_eq(parse_fragment(65528, 8, &h), -WIRE_IP6_FRAGMENT);
    expect_problem(&h, ICMPV6_BAD_FIELD, 50);
    /* 8 bytes of options are reassembled too: 65,520 + 7 + 8 is the most. */
    ck_assert_int_eq(parse_fragment(65520, 7, &h), 56);
    ck_assert_int_eq(parse_fragment(65520, 8, &h), -WIRE_IP6_FRAGMENT);
    expect_problem(&h, ICMPV6_BAD_FIELD, 50);
    ck_assert_int_eq(parse_fragment(1, 0, &h), -WIRE_IP6_FRAGMENT);
    ck_assert(!h.problem.due);
    ck_assert_int_eq(parse_fragment(8, 0, &h), -WIRE_IP6_FRAGMENT);
    ck_assert_int_eq(parse_fragment(0, 0, &h), 56); /* atomic: a packet without data */
}
END_TEST

START_TEST(one_fragment_header)
{
    struct packet p = begin();
    add_fragment(&p, 0);
    add_fragment(&p, 0);
    add_zeros(&p, IP_PROTO_UDP, 8);
    struct ipv6_hdr h;
    ck_assert_int_eq(parse(&p, &h), -WIRE_IP6_EXT_ORDER);
    ck_assert(!h.problem.due);
}
END_TEST

static bool tiny(uint8_t proto, size_t data)
{
    struct packet p = begin();
    add_fragment(&p, 1);
    add_zeros(&p, proto, data);
    struct ipv6_hdr h;
    ck_assert_int_eq(parse(&p, &h), 48);
    return h.frag.tiny;
}

START_TEST(knows_a_first_fragment_without_its_headers)
{
    ck_assert(tiny(IP_PROTO_TCP, 16) && !tiny(IP_PROTO_TCP, 24));
    ck_assert(tiny(IP_PROTO_SCTP, 8) && !tiny(IP_PROTO_SCTP, 16));
    ck_assert(!tiny(IP_PROTO_UDP, 8) && !tiny(IP_PROTO_ICMPV6, 8) && !tiny(253, 8));

    /* An extension header that goes on in the next fragment, with its length known and unknown. */
    static const uint8_t options[] = {59, 1, 1, 12, 0, 0, 0, 0};
    struct packet p = begin();
    add_fragment(&p, 1);
    add(&p, IP_PROTO_DEST_OPTIONS, options, sizeof(options));
    struct ipv6_hdr h;
    ck_assert_int_eq(parse(&p, &h), 48);
    ck_assert(h.frag.tiny);
    p = begin();
    add_fragment(&p, 1);
    add_padding(&p, IP_PROTO_DEST_OPTIONS);
    p.bytes[48] = IP_PROTO_ROUTING;
    ck_assert_int_eq(parse(&p, &h), 56);
    ck_assert(h.frag.tiny);
}
END_TEST

START_TEST(reads_a_quote_cut_short)
{
    struct packet p = long_chain();
    add_zeros(&p, IP_PROTO_TCP, 1000);
    struct ipv6_hdr h;
    uint8_t *quote = exact(p.bytes, 100);
    ck_assert_int_eq(ipv6_parse_quoted(quote, 100, &h), 96);
    ck_assert_uint_eq(h.next, IP_PROTO_TCP);
    ck_assert_int_eq(ipv6_parse_quoted(quote, 90, &h), -WIRE_IP6_EXT_SHORT);
    ck_assert_int_eq(ipv6_parse_quoted(quote, 39, &h), -WIRE_IP6_SHORT);
    free(quote);
}
END_TEST

START_TEST(emit_undoes_parse)
{
    struct packet p = begin();
    add_zeros(&p, IP_PROTO_UDP, 12);
    struct ipv6_hdr h;
    parse(&p, &h);
    uint8_t out[IPV6_LEN];
    ck_assert_uint_eq(ipv6_emit(&h, out), IPV6_LEN);
    ck_assert_mem_eq(out, p.bytes, IPV6_LEN);

    p = begin();
    add_fragment(&p, 1480 | 1);
    add_zeros(&p, IP_PROTO_UDP, 8);
    parse(&p, &h);
    ck_assert_uint_eq(ipv6_frag_emit(&h.frag, out), IPV6_FRAG_LEN);
    ck_assert_mem_eq(out, p.bytes + 40, IPV6_FRAG_LEN);
}
END_TEST

UNIT_MAIN("ipv6", NULL, NULL, reads_a_plain_header, refuses_bad_fixed_headers,
          refuses_mapped_addresses, link_padding_is_not_the_packets, walks_every_header,
          cut_anywhere_is_an_error, hop_by_hop_only_first, no_end_of_headers,
          stops_at_what_it_does_not_know, routing_must_be_done, unknown_options_say_what_to_do,
          a_router_alert_is_noted_where_mld_puts_it, options_beyond_their_header,
          bounds_options_and_padding, reads_fragments, a_later_fragment_holds_data,
          refuses_impossible_fragments, one_fragment_header,
          knows_a_first_fragment_without_its_headers, reads_a_quote_cut_short, emit_undoes_parse)
