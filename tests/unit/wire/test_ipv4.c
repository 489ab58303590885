/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/ipv4.h"

#include "base/bytes.h"
#include "support/exact.h"
#include "support/unit.h"
#include "wire/checksum.h"
#include "wire/error.h"
#include "wire/proto.h"

/* A UDP packet from 192.168.0.1 to 192.168.0.199, 115 bytes in all. */
static const uint8_t sample[IPV4_LEN] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40,
                                         0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
                                         0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};

/* A packet of a header with these options and payload bytes of zero, its checksum right. */
struct packet {
    uint8_t bytes[2048];
    size_t header;
    size_t len;
};

static void seal(struct packet *p)
{
    store_be16(p->bytes + 10, 0);
    store_be16(p->bytes + 10, checksum_finish(checksum_add(CHECKSUM_EMPTY, p->bytes, p->header)));
}

static struct packet packet_of(const uint8_t *options, size_t options_len, size_t payload)
{
    struct packet p = {.header = IPV4_LEN + options_len, .len = IPV4_LEN + options_len + payload};
    memcpy(p.bytes, sample, IPV4_LEN);
    if (options_len > 0)
        memcpy(p.bytes + IPV4_LEN, options, options_len);
    p.bytes[0] = (uint8_t)(0x40 | p.header / 4);
    store_be16(p.bytes + 2, (uint16_t)p.len);
    seal(&p);
    return p;
}

static int parse(const struct packet *p, struct ipv4_hdr *h)
{
    return ipv4_parse(p->bytes, p->len, p->len, false, h);
}

static int parse_options(const uint8_t *options, size_t len, struct ipv4_hdr *h)
{
    struct packet p = packet_of(options, len, 8);
    return parse(&p, h);
}

/* frag: the field with the flags, as on the wire. */
static int parse_fragment(uint16_t frag, size_t payload, struct ipv4_hdr *h)
{
    struct packet p = packet_of(NULL, 0, payload);
    store_be16(p.bytes + 6, frag);
    seal(&p);
    return parse(&p, h);
}

START_TEST(reads_a_header)
{
    uint8_t bytes[115] = {0};
    memcpy(bytes, sample, IPV4_LEN);
    struct ipv4_hdr h;
    ck_assert_int_eq(ipv4_parse(bytes, sizeof(bytes), sizeof(bytes), false, &h), 20);
    ck_assert_uint_eq(ip_v4(&h.src), 0xc0a80001);
    ck_assert_uint_eq(ip_v4(&h.dst), 0xc0a800c7);
    ck_assert_uint_eq(h.total_len, 115);
    ck_assert_uint_eq(h.id, 0);
    ck_assert_uint_eq(h.ttl, 64);
    ck_assert_uint_eq(h.proto, IP_PROTO_UDP);
    ck_assert(h.dont_fragment && !h.more_fragments && !ipv4_is_fragment(&h));
    ck_assert_uint_eq(h.options_len, 0);
    ck_assert(!h.source_route);
}
END_TEST

START_TEST(cut_anywhere_is_an_error)
{
    static const uint8_t nops[8] = {1, 1, 1, 1, 1, 1, 1, 0};
    struct packet p = packet_of(nops, sizeof(nops), 4);
    for (size_t n = 0; n < p.len; n++) {
        uint8_t *cut = exact(p.bytes, n);
        struct ipv4_hdr h;
        int expect = n < 20   ? -WIRE_IP4_SHORT
                     : n < 28 ? -WIRE_IP4_HEADER_LENGTH
                              : -WIRE_IP4_TOTAL_LENGTH;
        ck_assert_int_eq(ipv4_parse(cut, n, n, false, &h), expect);
        free(cut);
    }
    /* The rest may lie in later views, but the header may not. */
    struct ipv4_hdr h;
    ck_assert_int_eq(ipv4_parse(p.bytes, 28, p.len, false, &h), 28);
    ck_assert_int_eq(ipv4_parse(p.bytes, 27, p.len, false, &h), -WIRE_IP4_HEADER_LENGTH);
}
END_TEST

START_TEST(refuses_bad_lengths_and_versions)
{
    struct ipv4_hdr h;
    struct packet p = packet_of(NULL, 0, 8);
    p.bytes[0] = 0x65;
    ck_assert_int_eq(parse(&p, &h), -WIRE_IP4_VERSION);
    p.bytes[0] = 0x44;
    ck_assert_int_eq(parse(&p, &h), -WIRE_IP4_HEADER_LENGTH);
    p.bytes[0] = 0x4f;
    ck_assert_int_eq(parse(&p, &h), -WIRE_IP4_HEADER_LENGTH);

    p = packet_of(NULL, 0, 8);
    store_be16(p.bytes + 2, 19);
    seal(&p);
    ck_assert_int_eq(parse(&p, &h), -WIRE_IP4_TOTAL_LENGTH);
    store_be16(p.bytes + 2, 29);
    seal(&p);
    ck_assert_int_eq(parse(&p, &h), -WIRE_IP4_TOTAL_LENGTH);
    /* Less than there is: the rest is the link's padding. */
    store_be16(p.bytes + 2, 20);
    seal(&p);
    ck_assert_int_eq(parse(&p, &h), 20);
    ck_assert_uint_eq(h.total_len, 20);
}
END_TEST

START_TEST(checks_the_sum_unless_the_device_did)
{
    struct ipv4_hdr h;
    struct packet p = packet_of(NULL, 0, 8);
    for (size_t i = 12; i < 20; i++) {
        p.bytes[i] ^= 0x10;
        ck_assert_int_eq(parse(&p, &h), -WIRE_IP4_CHECKSUM);
        ck_assert_int_eq(ipv4_parse(p.bytes, p.len, p.len, true, &h), 20);
        p.bytes[i] ^= 0x10;
    }
    ck_assert_int_eq(parse(&p, &h), 20);
}
END_TEST

START_TEST(reads_options)
{
    struct ipv4_hdr h;
    static const uint8_t router_alert[] = {148, 4, 0, 0};
    ck_assert_int_eq(parse_options(router_alert, 4, &h), 24);
    ck_assert_uint_eq(h.options_len, 4);
    ck_assert_mem_eq(h.options, router_alert, 4);
    ck_assert(!h.source_route);
    /* Whatever follows the end of the options is padding. */
    static const uint8_t ended[] = {1, 0, 131, 77};
    ck_assert_int_eq(parse_options(ended, 4, &h), 24);
    ck_assert(!h.source_route);
    /* The shortest that has a length, up to the last byte. */
    static const uint8_t shortest[] = {1, 1, 30, 2};
    ck_assert_int_eq(parse_options(shortest, 4, &h), 24);
    uint8_t full[40];
    memset(full, 1, sizeof(full));
    ck_assert_int_eq(parse_options(full, 40, &h), 60);
    ck_assert_uint_eq(h.options_len, 40);
}
END_TEST

START_TEST(flags_source_routes)
{
    struct ipv4_hdr h;
    static const uint8_t loose[] = {1, 131, 7, 4, 192, 0, 2, 1};
    ck_assert_int_eq(parse_options(loose, 8, &h), 28);
    ck_assert(h.source_route);
    static const uint8_t strict[] = {137, 3, 4, 0};
    ck_assert_int_eq(parse_options(strict, 4, &h), 24);
    ck_assert(h.source_route);
    static const uint8_t record[] = {7, 3, 4, 0};
    ck_assert_int_eq(parse_options(record, 4, &h), 24);
    ck_assert(!h.source_route);
}
END_TEST

START_TEST(refuses_impossible_options)
{
    static const struct {
        uint8_t bytes[8];
        uint8_t at; /* the option at fault */
    } bad[] = {
        {{7, 0, 0, 0}, 0},
        {{7, 1, 0, 0}, 0},
        {{7, 9, 0, 0, 0, 0, 0, 0}, 0},
        {{1, 7, 8, 0, 0, 0, 0}, 1},
        {{1, 1, 1, 1, 1, 1, 1, 7}, 7},
        {{7, 4, 0, 0, 148, 5, 0, 0}, 4},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ipv4_hdr h;
        ck_assert_int_eq(parse_options(bad[i].bytes, 8, &h), -WIRE_IP4_OPTION);
        ck_assert_uint_eq(h.bad_option, 20u + bad[i].at);
        ck_assert_uint_eq(ip_v4(&h.src), 0xc0a80001);
    }
}
END_TEST

START_TEST(reads_fragments)
{
    struct ipv4_hdr h;
    ck_assert_int_eq(parse_fragment(0x2000, 16, &h), 20);
    ck_assert(h.more_fragments && !h.dont_fragment && ipv4_is_fragment(&h));
    ck_assert_uint_eq(h.frag_offset, 0);
    ck_assert_int_eq(parse_fragment(0x20b9, 8, &h), 20);
    ck_assert_uint_eq(h.frag_offset, 1480);
    ck_assert_int_eq(parse_fragment(0x00b9, 3, &h), 20);
    ck_assert(!h.more_fragments && ipv4_is_fragment(&h));
    ck_assert_int_eq(parse_fragment(0x0000, 0, &h), 20);
    ck_assert(!ipv4_is_fragment(&h));
}
END_TEST

START_TEST(refuses_impossible_fragments)
{
    struct ipv4_hdr h;
    ck_assert_int_eq(parse_fragment(0x2000, 12, &h), -WIRE_IP4_FRAGMENT);
    ck_assert_int_eq(parse_fragment(0x2001, 9, &h), -WIRE_IP4_FRAGMENT);
    ck_assert_int_eq(parse_fragment(0x2000, 0, &h), -WIRE_IP4_FRAGMENT);
    ck_assert_int_eq(parse_fragment(0x0001, 0, &h), -WIRE_IP4_FRAGMENT);
    /* 65,528 and its bytes beyond 65,535, the header included. */
    ck_assert_int_eq(parse_fragment(0x1fff, 1, &h), -WIRE_IP4_FRAGMENT);
    /* 20 + 65,512 + 3 is the last that fits. */
    ck_assert_int_eq(parse_fragment(0x1ffd, 3, &h), 20);
    ck_assert_int_eq(parse_fragment(0x1ffd, 4, &h), -WIRE_IP4_FRAGMENT);
}
END_TEST

START_TEST(reads_a_quote_cut_short)
{
    struct packet p = packet_of(NULL, 0, 400);
    p.bytes[8] = 1; /* and a time to live that the sum does not know of */
    uint8_t *quote = exact(p.bytes, 28);
    struct ipv4_hdr h;
    ck_assert_int_eq(ipv4_parse_quoted(quote, 28, &h), 20);
    ck_assert_uint_eq(h.total_len, 420);
    ck_assert_int_eq(ipv4_parse_quoted(quote, 19, &h), -WIRE_IP4_SHORT);
    quote[2] = quote[3] = 0;
    ck_assert_int_eq(ipv4_parse_quoted(quote, 28, &h), -WIRE_IP4_TOTAL_LENGTH);
    free(quote);
}
END_TEST

START_TEST(emit_undoes_parse)
{
    static const uint8_t options[] = {148, 4, 0, 0, 7, 7, 4, 192, 0, 2, 1, 0};
    struct packet p = packet_of(options, sizeof(options), 16);
    p.bytes[1] = 0xb8;
    store_be16(p.bytes + 4, 0xbeef);
    store_be16(p.bytes + 6, 0x6123);
    seal(&p);
    struct ipv4_hdr h;
    ck_assert_int_eq(parse(&p, &h), 32);
    uint8_t out[60];
    ck_assert_uint_eq(ipv4_emit(&h, false, out), 32);
    ck_assert_mem_eq(out, p.bytes, 32);
    ck_assert_uint_eq(ipv4_emit(&h, true, out), 32);
    ck_assert_uint_eq(load_be16(out + 10), 0);
    ck_assert_mem_eq(out + 12, p.bytes + 12, 20);
}
END_TEST

START_TEST(emits_the_sample)
{
    struct ipv4_hdr h = {
        .src = ip_from_v4(0xc0a80001),
        .dst = ip_from_v4(0xc0a800c7),
        .total_len = 115,
        .dont_fragment = true,
        .ttl = 64,
        .proto = IP_PROTO_UDP,
    };
    uint8_t out[IPV4_LEN];
    ck_assert_uint_eq(ipv4_emit(&h, false, out), 20);
    ck_assert_mem_eq(out, sample, 20);
}
END_TEST

START_TEST(options_of_later_fragments)
{
    uint8_t out[IPV4_OPTIONS_MAX];
    /* A no-op, record route (not copied), router alert (copied), loose route (copied), end,
     * rubbish. */
    static const uint8_t options[] = {1, 7, 3, 4, 148, 4, 0, 0, 131, 7, 4, 192, 0, 2, 1, 0};
    static const uint8_t expect[] = {148, 4, 0, 0, 131, 7, 4, 192, 0, 2, 1, 0};
    ck_assert_uint_eq(ipv4_options_copied(options, sizeof(options), out), sizeof(expect));
    ck_assert_mem_eq(out, expect, sizeof(expect));
    /* In place. */
    memcpy(out, options, sizeof(options));
    ck_assert_uint_eq(ipv4_options_copied(out, sizeof(options), out), sizeof(expect));
    ck_assert_mem_eq(out, expect, sizeof(expect));
    static const uint8_t none[] = {7, 3, 4, 0};
    ck_assert_uint_eq(ipv4_options_copied(none, sizeof(none), out), 0);
    ck_assert_uint_eq(ipv4_options_copied(NULL, 0, out), 0);
}
END_TEST

UNIT_MAIN("ipv4", NULL, NULL, reads_a_header, cut_anywhere_is_an_error,
          refuses_bad_lengths_and_versions, checks_the_sum_unless_the_device_did, reads_options,
          flags_source_routes, refuses_impossible_options, reads_fragments,
          refuses_impossible_fragments, reads_a_quote_cut_short, emit_undoes_parse,
          emits_the_sample, options_of_later_fragments)
