/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/tcp.h"

#include "base/bytes.h"
#include "base/rng.h"
#include "support/exact.h"
#include "support/unit.h"
#include "wire/error.h"
#include "wire/proto.h"

/* Sequence numbers just below the wrap. */
#define SEQ 0xfffffff0u

/* 192.0.2.2:40000 to 192.0.2.1:7, ACK and PSH, with timestamps, "hi!". */
static const uint8_t segment[] = {0x9c, 0x40, 0x00, 0x07, 0xff, 0xff, 0xff, 0xf0, 0x00,
                                  0x00, 0x00, 0x05, 0x80, 0x18, 0x01, 0xf6, 0xcb, 0x10,
                                  0x00, 0x00, 0x01, 0x01, 0x08, 0x0a, 0x80, 0x00, 0x00,
                                  0x01, 0x7f, 0xff, 0xff, 0xff, 'h',  'i',  '!'};

/* The SYN of a common client: MSS 1460, SACK permitted, timestamps, NOP, window scale 7. */
static const uint8_t syn_options[] = {2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0,
                                      0, 9, 0,    0,    0, 0, 1, 3,  3, 7};

static struct checksum pseudo(uint32_t len)
{
    struct ip_addr src = ip_from_v4(0xc0000202);
    struct ip_addr dst = ip_from_v4(0xc0000201);
    return checksum_pseudo(&src, &dst, IP_PROTO_TCP, len);
}

/* Word by word as RFC 1071 1 says it, over the pseudo header of the addresses above too. */
static uint16_t slow_sum(const uint8_t *at, size_t len)
{
    uint32_t sum = 0xc000 + 0x0202 + 0xc000 + 0x0201 + IP_PROTO_TCP + (uint32_t)len;
    for (size_t i = 0; i < len; i += 2)
        sum += (uint32_t)at[i] << 8 | (i + 1 < len ? at[i + 1] : 0u);
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* A header with these option bytes, whose number is a multiple of four, in exactly its memory. */
static int parse_options(uint8_t flags, const uint8_t *options, size_t n, struct tcp_hdr *h)
{
    uint8_t bytes[TCP_HEADER_MAX] = {0};
    ck_assert(n % 4 == 0 && n <= 40);
    bytes[12] = (uint8_t)((TCP_LEN + n) / 4 << 4);
    bytes[13] = flags;
    if (n > 0)
        memcpy(bytes + TCP_LEN, options, n);
    uint8_t *at = exact(bytes, TCP_LEN + n);
    int got = tcp_parse(at, TCP_LEN + n, TCP_LEN + n, h);
    free(at);
    return got;
}

#define OPTIONS(flags, h, ...)                                                                     \
    parse_options((flags), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), \
                  (h))

static void assert_no_options(const struct tcp_options *o)
{
    ck_assert(!o->has_mss && !o->has_wscale && !o->sack_permitted && !o->has_timestamps);
    ck_assert_uint_eq(o->n_sack, 0);
}

static void assert_same_options(const struct tcp_options *a, const struct tcp_options *b)
{
    ck_assert_int_eq(a->has_mss, b->has_mss);
    ck_assert_uint_eq(a->mss, b->mss);
    ck_assert_int_eq(a->has_wscale, b->has_wscale);
    ck_assert_uint_eq(a->wscale, b->wscale);
    ck_assert_int_eq(a->sack_permitted, b->sack_permitted);
    ck_assert_int_eq(a->has_timestamps, b->has_timestamps);
    ck_assert_uint_eq(a->ts_value, b->ts_value);
    ck_assert_uint_eq(a->ts_echo, b->ts_echo);
    ck_assert_uint_eq(a->n_sack, b->n_sack);
    for (unsigned i = 0; i < a->n_sack; i++) {
        ck_assert_uint_eq(a->sack[i].left.v, b->sack[i].left.v);
        ck_assert_uint_eq(a->sack[i].right.v, b->sack[i].right.v);
    }
}

static void assert_same(const struct tcp_hdr *a, const struct tcp_hdr *b)
{
    ck_assert_uint_eq(a->src_port, b->src_port);
    ck_assert_uint_eq(a->dst_port, b->dst_port);
    ck_assert_uint_eq(a->seq.v, b->seq.v);
    ck_assert_uint_eq(a->ack.v, b->ack.v);
    ck_assert_uint_eq(a->flags, b->flags);
    ck_assert_uint_eq(a->window, b->window);
    ck_assert_uint_eq(a->urgent, b->urgent);
    assert_same_options(&a->options, &b->options);
}

START_TEST(reads_a_header)
{
    struct tcp_hdr h;
    ck_assert_int_eq(tcp_parse(segment, sizeof(segment), sizeof(segment), &h), 32);
    ck_assert_uint_eq(h.src_port, 40000);
    ck_assert_uint_eq(h.dst_port, 7);
    ck_assert_uint_eq(h.seq.v, SEQ);
    ck_assert_uint_eq(h.ack.v, 5);
    ck_assert_uint_eq(h.flags, TCP_ACK | TCP_PSH);
    ck_assert_uint_eq(h.window, 502);
    ck_assert_uint_eq(h.urgent, 0);
    ck_assert_uint_eq(h.len, 32);
    ck_assert(h.options.has_timestamps);
    ck_assert_uint_eq(h.options.ts_value, 0x80000001);
    ck_assert_uint_eq(h.options.ts_echo, 0x7fffffff);
    ck_assert(!h.options.has_mss && !h.options.has_wscale && !h.options.sack_permitted);
    ck_assert_uint_eq(slow_sum(segment, sizeof(segment)), 0xffff);
}
END_TEST

START_TEST(reads_a_header_without_options)
{
    struct tcp_hdr h;
    ck_assert_int_eq(parse_options(TCP_ACK, NULL, 0, &h), 20);
    ck_assert_uint_eq(h.len, 20);
    assert_no_options(&h.options);
}
END_TEST

START_TEST(reads_every_flag_and_no_reserved_bit)
{
    static const struct {
        uint8_t byte12, byte13;
        uint16_t flag;
    } bits[] = {{0, 0x01, TCP_FIN}, {0, 0x02, TCP_SYN}, {0, 0x04, TCP_RST}, {0, 0x08, TCP_PSH},
                {0, 0x10, TCP_ACK}, {0, 0x20, TCP_URG}, {0, 0x40, TCP_ECE}, {0, 0x80, TCP_CWR},
                {1, 0, TCP_AE},     {2, 0, 0},          {4, 0, 0},          {8, 0, 0}};
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        uint8_t bytes[TCP_LEN] = {[12] = (uint8_t)(0x50 | bits[i].byte12), [13] = bits[i].byte13};
        struct tcp_hdr h;
        ck_assert_int_eq(tcp_parse(bytes, 20, 20, &h), 20);
        ck_assert_uint_eq(h.flags, bits[i].flag);
    }
}
END_TEST

START_TEST(reads_the_urgent_pointer)
{
    uint8_t bytes[TCP_LEN] = {[12] = 0x50, [13] = TCP_URG, [18] = 0x12, [19] = 0x34};
    struct tcp_hdr h;
    ck_assert_int_eq(tcp_parse(bytes, 20, 20, &h), 20);
    ck_assert_uint_eq(h.urgent, 0x1234);
}
END_TEST

START_TEST(cut_anywhere_is_an_error)
{
    struct tcp_hdr h;
    for (size_t n = 0; n < 32; n++) {
        uint8_t *cut = exact(segment, n);
        ck_assert_int_eq(tcp_parse(cut, n, n, &h), n < 20 ? -WIRE_TCP_SHORT : -WIRE_TCP_OFFSET);
        free(cut);
    }
    uint8_t *whole = exact(segment, 32);
    ck_assert_int_eq(tcp_parse(whole, 32, 32, &h), 32);
    free(whole);
}
END_TEST

START_TEST(a_header_in_two_views_is_short)
{
    struct tcp_hdr h;
    for (size_t n = 0; n < 32; n++) {
        uint8_t *cut = exact(segment, n);
        ck_assert_int_eq(tcp_parse(cut, n, sizeof(segment), &h), -WIRE_TCP_SHORT);
        free(cut);
    }
    /* Data may be elsewhere. */
    uint8_t *cut = exact(segment, 32);
    ck_assert_int_eq(tcp_parse(cut, 32, 65535, &h), 32);
    free(cut);
}
END_TEST

START_TEST(refuses_impossible_offsets)
{
    uint8_t bytes[64] = {0};
    memset(bytes + TCP_LEN, 1, 40);
    struct tcp_hdr h;
    for (unsigned words = 0; words < 16; words++) {
        bytes[12] = (uint8_t)(words << 4);
        int len = (int)words * 4;
        ck_assert_int_eq(tcp_parse(bytes, 64, 64, &h), words < 5 ? -WIRE_TCP_OFFSET : len);
        ck_assert_int_eq(tcp_parse(bytes, 40, 40, &h),
                         words < 5 || words > 10 ? -WIRE_TCP_OFFSET : len);
    }
}
END_TEST

START_TEST(reads_the_options_of_a_syn)
{
    struct tcp_hdr h;
    ck_assert_int_eq(parse_options(TCP_SYN, syn_options, 20, &h), 40);
    ck_assert(h.options.has_mss && h.options.has_wscale && h.options.sack_permitted);
    ck_assert_uint_eq(h.options.mss, 1460);
    ck_assert_uint_eq(h.options.wscale, 7);
    ck_assert(h.options.has_timestamps);
    ck_assert_uint_eq(h.options.ts_value, 9);
    ck_assert_uint_eq(h.options.ts_echo, 0);
    ck_assert_int_eq(parse_options(TCP_SYN | TCP_ACK, syn_options, 20, &h), 40);
    ck_assert_uint_eq(h.options.mss, 1460);
}
END_TEST

START_TEST(skips_what_only_a_syn_may_say)
{
    struct tcp_hdr h;
    static const uint8_t flags[] = {0, TCP_ACK, TCP_FIN | TCP_ACK, TCP_RST};
    for (size_t i = 0; i < sizeof(flags); i++) {
        ck_assert_int_eq(parse_options(flags[i], syn_options, 20, &h), 40);
        ck_assert(!h.options.has_mss && !h.options.has_wscale && !h.options.sack_permitted);
        ck_assert(h.options.has_timestamps);
    }
}
END_TEST

START_TEST(reads_selective_acknowledgments)
{
    struct tcp_hdr h;
    int n = OPTIONS(TCP_ACK, &h, 5, 34, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 4,
                    0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 2, 1, 0);
    ck_assert_int_eq(n, 56);
    ck_assert_uint_eq(h.options.n_sack, 4);
    ck_assert_uint_eq(h.options.sack[0].left.v, SEQ);
    ck_assert_uint_eq(h.options.sack[0].right.v, 1);
    ck_assert_uint_eq(h.options.sack[1].left.v, 3);
    ck_assert_uint_eq(h.options.sack[2].right.v, 7);
    /* What is nonsense, the scoreboard has to say. */
    ck_assert_uint_eq(h.options.sack[3].left.v, 9);
    ck_assert_uint_eq(h.options.sack[3].right.v, 2);

    ck_assert_int_eq(OPTIONS(TCP_ACK, &h, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1), 32);
    ck_assert_uint_eq(h.options.n_sack, 1);
    ck_assert_int_eq(OPTIONS(TCP_SYN | TCP_ACK, &h, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1), 32);
    ck_assert_uint_eq(h.options.n_sack, 0);
    ck_assert_int_eq(OPTIONS(TCP_ACK, &h, 5, 2, 1, 1), 24);
    ck_assert_uint_eq(h.options.n_sack, 0);
}
END_TEST

START_TEST(the_usual_layout_reads_as_any_other)
{
    struct tcp_hdr usual, other;
    ck_assert_int_eq(OPTIONS(TCP_ACK, &usual, 1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8), 32);
    ck_assert_int_eq(OPTIONS(TCP_ACK, &other, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1), 32);
    assert_same(&usual, &other);
    ck_assert_uint_eq(usual.options.ts_value, 0x01020304);
    ck_assert_uint_eq(usual.options.ts_echo, 0x05060708);
    /* Something behind them is not missed. */
    ck_assert_int_eq(OPTIONS(TCP_SYN, &other, 1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 2, 4, 1, 0), 36);
    ck_assert(other.options.has_timestamps && other.options.has_mss);
}
END_TEST

START_TEST(of_two_options_the_first_counts)
{
    struct tcp_hdr h;
    OPTIONS(TCP_SYN, &h, 2, 4, 1, 0, 2, 4, 2, 0, 3, 3, 1, 3, 3, 2, 4, 2, 4, 2, 1, 1);
    ck_assert_uint_eq(h.options.mss, 256);
    ck_assert_uint_eq(h.options.wscale, 1);
    ck_assert(h.options.sack_permitted);
    OPTIONS(TCP_ACK, &h, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4);
    ck_assert_uint_eq(h.options.ts_value, 1);
    ck_assert_uint_eq(h.options.ts_echo, 2);
    OPTIONS(TCP_ACK, &h, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 5, 10, 0, 0, 0, 3, 0, 0, 0, 4);
    ck_assert_uint_eq(h.options.n_sack, 1);
    ck_assert_uint_eq(h.options.sack[0].left.v, 1);
}
END_TEST

START_TEST(an_mss_of_zero_is_none)
{
    struct tcp_hdr h;
    ck_assert_int_eq(OPTIONS(TCP_SYN, &h, 2, 4, 0, 0), 24);
    ck_assert(!h.options.has_mss);
    OPTIONS(TCP_SYN, &h, 2, 4, 0, 1);
    ck_assert(h.options.has_mss);
    ck_assert_uint_eq(h.options.mss, 1);
}
END_TEST

START_TEST(a_window_scale_has_a_bound)
{
    struct tcp_hdr h;
    for (unsigned scale = 0; scale < 256; scale++) {
        OPTIONS(TCP_SYN, &h, 3, 3, (uint8_t)scale, 1);
        ck_assert(h.options.has_wscale);
        ck_assert_uint_eq(h.options.wscale, scale < 14 ? scale : 14);
    }
}
END_TEST

START_TEST(skips_unknown_options)
{
    struct tcp_hdr h;
    for (unsigned kind = 2; kind < 256; kind++) {
        if (kind <= 5 || kind == 8)
            continue;
        ck_assert_int_eq(OPTIONS(TCP_SYN, &h, (uint8_t)kind, 5, 9, 9, 9, 2, 4, 5, 0xb4, 1, 1, 1),
                         32);
        ck_assert_uint_eq(h.options.mss, 1460);
        ck_assert_int_eq(OPTIONS(TCP_SYN, &h, (uint8_t)kind, 2, 1, 1), 24);
        assert_no_options(&h.options);
    }
}
END_TEST

START_TEST(ends_where_the_options_end)
{
    struct tcp_hdr h;
    ck_assert_int_eq(OPTIONS(TCP_SYN, &h, 0, 2, 0, 99, 2, 4, 5, 0xb4), 28);
    assert_no_options(&h.options);
    ck_assert_int_eq(OPTIONS(TCP_SYN, &h, 2, 4, 5, 0xb4, 0, 0, 0, 0), 28);
    ck_assert_uint_eq(h.options.mss, 1460);
    uint8_t nops[40];
    memset(nops, 1, sizeof(nops));
    ck_assert_int_eq(parse_options(TCP_SYN, nops, 40, &h), 60);
    assert_no_options(&h.options);
}
END_TEST

START_TEST(refuses_impossible_options)
{
    static const uint8_t bad[][12] = {
        {2, 0},       {2, 1},          {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2},
        {77, 0},      {77, 1},         {77, 13},
        {77, 255},    {1, 77, 12},     {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 77, 3},
        {2, 3, 9},    {2, 5, 9, 9, 9}, {3, 2},
        {3, 4, 7, 7}, {4, 3, 0},       {5, 9},
        {5, 11},      {5, 3},          {8, 9},
        {8, 11},      {8, 2},          {2, 4, 5, 0xb4, 4, 2, 1, 1, 3, 0, 0, 0},
    };
    struct tcp_hdr h;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(parse_options(TCP_SYN, bad[i], 12, &h), -WIRE_TCP_OPTION);
        ck_assert_int_eq(parse_options(TCP_ACK, bad[i], 12, &h), -WIRE_TCP_OPTION);
    }
    /* Timestamps as usual but for their length, and cut off by the header's end. */
    ck_assert_int_eq(OPTIONS(TCP_ACK, &h, 1, 1, 8, 9, 0, 0, 0, 0, 0, 0, 0, 0), -WIRE_TCP_OPTION);
    ck_assert_int_eq(OPTIONS(TCP_ACK, &h, 1, 1, 8, 10, 0, 0, 0, 0), -WIRE_TCP_OPTION);
}
END_TEST

START_TEST(emit_undoes_parse)
{
    struct tcp_hdr h;
    tcp_parse(segment, sizeof(segment), sizeof(segment), &h);
    uint8_t out[32];
    struct checksum rest = checksum_add(pseudo(sizeof(segment)), segment + 32, 3);
    ck_assert_uint_eq(tcp_emit(&h, rest, out), 32);
    ck_assert_mem_eq(out, segment, 32);
}
END_TEST

START_TEST(lays_out_a_syn)
{
    struct tcp_hdr h = {.seq = seq32(SEQ), .flags = TCP_SYN};
    h.options = (struct tcp_options){.has_mss = true,
                                     .mss = 1460,
                                     .sack_permitted = true,
                                     .has_timestamps = true,
                                     .ts_value = 9,
                                     .has_wscale = true,
                                     .wscale = 7};
    uint8_t out[TCP_HEADER_MAX];
    ck_assert_uint_eq(tcp_emit(&h, pseudo(40), out), 40);
    ck_assert_mem_eq(out + TCP_LEN, syn_options, 20);

    h.options.has_timestamps = false;
    static const uint8_t plain[] = {2, 4, 5, 0xb4, 1, 1, 4, 2, 1, 3, 3, 7};
    ck_assert_uint_eq(tcp_emit(&h, pseudo(32), out), 32);
    ck_assert_mem_eq(out + TCP_LEN, plain, 12);
}
END_TEST

START_TEST(lays_out_selective_acknowledgments)
{
    struct tcp_hdr h = {.flags = TCP_ACK};
    h.options = (struct tcp_options){.has_timestamps = true, .ts_value = 1, .ts_echo = 2};
    h.options.n_sack = 1;
    h.options.sack[0] = (struct tcp_sack){seq32(SEQ), seq32(4)};
    static const uint8_t expect[] = {1, 1, 8, 10, 0,    0,    0,    1,    0, 0, 0, 2,
                                     1, 1, 5, 10, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 4};
    uint8_t out[TCP_HEADER_MAX];
    ck_assert_uint_eq(tcp_emit(&h, pseudo(44), out), 44);
    ck_assert_mem_eq(out + TCP_LEN, expect, sizeof(expect));
}
END_TEST

START_TEST(knows_its_length)
{
    struct tcp_options o = {0};
    ck_assert_uint_eq(tcp_header_len(&o), 20);
    o.has_mss = true;
    ck_assert_uint_eq(tcp_header_len(&o), 24);
    o.sack_permitted = true;
    ck_assert_uint_eq(tcp_header_len(&o), 28);
    o.has_wscale = true;
    ck_assert_uint_eq(tcp_header_len(&o), 32);
    o.has_timestamps = true; /* SACK-permitted moves into its padding */
    ck_assert_uint_eq(tcp_header_len(&o), 40);
    o = (struct tcp_options){.n_sack = 4};
    ck_assert_uint_eq(tcp_header_len(&o), 56);
    o = (struct tcp_options){.has_timestamps = true, .n_sack = 3};
    ck_assert_uint_eq(tcp_header_len(&o), 60);
}
END_TEST

START_TEST(knows_the_room_for_blocks)
{
    struct tcp_options o = {0};
    ck_assert_uint_eq(tcp_sack_room(&o), 4);
    o.has_timestamps = true;
    ck_assert_uint_eq(tcp_sack_room(&o), 3);
    /* Not what is already there counts, but what could be. */
    o.n_sack = 2;
    ck_assert_uint_eq(tcp_sack_room(&o), 3);
    o.n_sack = (uint8_t)tcp_sack_room(&o);
    ck_assert_uint_eq(tcp_header_len(&o), TCP_HEADER_MAX);
}
END_TEST

/* Any header that may be sent. */
static struct tcp_hdr random_header(struct rng *r)
{
    struct tcp_hdr h = {
        .src_port = (uint16_t)rng_u32(r),
        .dst_port = (uint16_t)rng_u32(r),
        .seq = seq32(SEQ + (uint32_t)rng_below(r, 32)),
        .ack = seq32(rng_u32(r)),
        .flags = (uint16_t)rng_below(r, 256),
        .window = (uint16_t)rng_u32(r),
        .urgent = (uint16_t)rng_u32(r),
    };
    struct tcp_options *o = &h.options;
    if ((o->has_timestamps = rng_below(r, 2))) {
        o->ts_value = rng_u32(r);
        o->ts_echo = rng_u32(r);
    }
    if (h.flags & TCP_SYN) {
        if ((o->has_mss = rng_below(r, 2)))
            o->mss = (uint16_t)(1 + rng_below(r, 65535));
        if ((o->has_wscale = rng_below(r, 2)))
            o->wscale = (uint8_t)rng_below(r, TCP_WSCALE_MAX + 1);
        o->sack_permitted = rng_below(r, 2);
    } else {
        o->n_sack = (uint8_t)rng_below(r, tcp_sack_room(o) + 1);
        for (unsigned i = 0; i < o->n_sack; i++)
            o->sack[i] = (struct tcp_sack){seq32(rng_u32(r)), seq32(rng_u32(r))};
    }
    return h;
}

START_TEST(reads_what_it_writes)
{
    struct rng r;
    rng_seed(&r, 9293);
    for (int round = 0; round < 20000; round++) {
        struct tcp_hdr h = random_header(&r);
        size_t data = rng_below(&r, 40);
        size_t header = tcp_header_len(&h.options);
        size_t len = header + data;
        uint8_t out[TCP_HEADER_MAX + 40];
        for (size_t i = 0; i < data; i++)
            out[header + i] = (uint8_t)rng_u32(&r);
        struct checksum rest = checksum_add(pseudo((uint32_t)len), out + header, data);
        ck_assert_uint_eq(tcp_emit(&h, rest, out), header);
        ck_assert_uint_eq(slow_sum(out, len), 0xffff);

        uint8_t *at = exact(out, len);
        struct tcp_hdr again;
        ck_assert_int_eq(tcp_parse(at, len, len, &again), (int)header);
        ck_assert_uint_eq(again.len, header);
        assert_same(&h, &again);
        free(at);
    }
}
END_TEST

START_TEST(carries_come_round)
{
    /* What is in front of the header, sums up to as much as 64 bits hold. */
    struct tcp_hdr h = {.src_port = 0xffff, .seq = seq32(SEQ), .flags = TCP_ACK};
    struct checksum full = {.sum = UINT64_MAX};
    uint8_t with[TCP_LEN], without[TCP_LEN];
    tcp_emit(&h, full, with); /* minus zero */
    tcp_emit(&h, CHECKSUM_EMPTY, without);
    ck_assert_mem_eq(with, without, TCP_LEN);
}
END_TEST

START_TEST(leaves_the_sum_to_the_device)
{
    struct tcp_hdr h;
    tcp_parse(segment, sizeof(segment), sizeof(segment), &h);
    uint8_t out[sizeof(segment)];
    memcpy(out, segment, sizeof(out));
    ck_assert_uint_eq(tcp_emit_offload(&h, pseudo(sizeof(segment)), out), 32);
    ck_assert_mem_eq(out, segment, 16);
    ck_assert_mem_eq(out + 18, segment + 18, sizeof(segment) - 18);
    ck_assert_uint_eq(load_be16(out + 16), checksum_fold(pseudo(sizeof(segment))));
    /* What the device does: sum the segment as it stands and put the complement in its place. */
    struct checksum c = checksum_add(CHECKSUM_EMPTY, out, sizeof(out));
    ck_assert_uint_eq(checksum_finish(c), load_be16(segment + 16));
}
END_TEST

START_TEST(syn_and_fin_take_a_number_each)
{
    struct tcp_hdr h = {.flags = TCP_ACK | TCP_PSH};
    ck_assert_uint_eq(tcp_seq_len(&h, 0), 0);
    ck_assert_uint_eq(tcp_seq_len(&h, 1460), 1460);
    h.flags = TCP_SYN;
    ck_assert_uint_eq(tcp_seq_len(&h, 0), 1);
    h.flags = TCP_SYN | TCP_FIN;
    ck_assert_uint_eq(tcp_seq_len(&h, 10), 12);
}
END_TEST

UNIT_MAIN("tcp", NULL, NULL, reads_a_header, reads_a_header_without_options,
          reads_every_flag_and_no_reserved_bit, reads_the_urgent_pointer, cut_anywhere_is_an_error,
          a_header_in_two_views_is_short, refuses_impossible_offsets, reads_the_options_of_a_syn,
          skips_what_only_a_syn_may_say, reads_selective_acknowledgments,
          the_usual_layout_reads_as_any_other, of_two_options_the_first_counts,
          an_mss_of_zero_is_none, a_window_scale_has_a_bound, skips_unknown_options,
          ends_where_the_options_end, refuses_impossible_options, emit_undoes_parse, lays_out_a_syn,
          lays_out_selective_acknowledgments, knows_its_length, knows_the_room_for_blocks,
          reads_what_it_writes, carries_come_round, leaves_the_sum_to_the_device,
          syn_and_fin_take_a_number_each)
