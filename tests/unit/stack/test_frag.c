/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/frag.h"

#include <string.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "stack/reass.h"
#include "support/heap.h"
#include "support/unit.h"
#include "wire/proto.h"

#define MOST 1400 /* fragments: 65,515 bytes at MTU 68 are 1,365 */

static struct heap heap;
static struct heap_pool pool;

static struct {
    struct pkt *pkt[2 * MOST];
    uint32_t n;
} out;

static void collect(void *ctx, struct pkt *fragment)
{
    ck_assert_ptr_eq(ctx, &out);
    ck_assert_uint_lt(out.n, MOST);
    out.pkt[out.n++] = fragment;
}

static void setup(void)
{
    heap_init(&heap);
    heap_pool_init(&pool, 64, 2048);
}

static void free_out(void)
{
    for (uint32_t i = 0; i < out.n; i++)
        pkt_free(out.pkt[i]);
    out.n = 0;
}

static void teardown(void)
{
    free_out();
    ck_assert_uint_eq(pool.held, 0);
    ck_assert_uint_eq(heap.blocks, 0);
}

static uint8_t bytes[70000];

static void put_payload(uint8_t *dst, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        dst[i] = (uint8_t)(i * 11 + (i >> 8));
}

/* An IPv4 packet with len bytes behind the header that h describes. */
static struct pkt *packet4(struct ipv4_hdr *h, uint32_t len)
{
    h->src = ip_from_v4(0x0a000001);
    h->dst = ip_from_v4(0x0a000002);
    h->ttl = 9;
    h->proto = IP_PROTO_ICMP;
    h->total_len = (uint16_t)(ipv4_len(h) + len);
    ipv4_emit(h, false, bytes);
    put_payload(bytes + ipv4_len(h), len);
    return heap_pkt(&pool, bytes, h->total_len, 0);
}

/* An IPv6 packet with len bytes behind n extension headers of 8 bytes each, of these types. */
static struct pkt *packet6(const uint8_t *ext, uint32_t n, uint32_t len)
{
    struct ipv6_hdr h = {.src = {{0x20, 1}},
                         .dst = {{0x20, 2}},
                         .total_len = IPV6_LEN + 8 * n + len,
                         .next = n ? ext[0] : IP_PROTO_UDP,
                         .hop_limit = 9};
    uint8_t *at = bytes + ipv6_emit(&h, bytes);
    for (uint32_t i = 0; i < n; i++, at += 8) {
        static const uint8_t options[8] = {0, 0, 1, 4}; /* PadN */
        memcpy(at, options, 8);
        if (ext[i] == IP_PROTO_ROUTING)
            memset(at, 0, 8);
        at[0] = i + 1 < n ? ext[i + 1] : IP_PROTO_UDP;
    }
    put_payload(at, len);
    return heap_pkt(&pool, bytes, h.total_len, 0);
}

static int cut(const struct pkt *p, uint16_t mtu)
{
    return frag_cut(&pool.pool, p, mtu, 0x12345678, collect, &out);
}

START_TEST(ipv4_fragments_tile_the_packet)
{
    struct ipv4_hdr h = {.id = 77, .tos = 0x2e};
    struct pkt *p = packet4(&h, 3000);
    p->iface = 4;
    p->vlan = 12;
    p->flags = PKT_TX_VLAN | PKT_RX_HASH;
    ck_assert_int_eq(cut(p, 1500), 3);
    uint32_t at = 0;
    for (uint32_t i = 0; i < 3; i++) {
        struct pkt *f = out.pkt[i];
        struct ipv4_hdr g;
        ck_assert_int_eq(ipv4_parse(f->data, f->len, f->total, false, &g), 20);
        ck_assert_uint_eq(g.total_len, f->total);
        ck_assert_uint_eq(g.frag_offset, at);
        ck_assert_uint_eq(g.more_fragments, i < 2);
        ck_assert_uint_eq(g.id, 77);
        ck_assert_uint_eq(g.tos, 0x2e);
        ck_assert_uint_eq(g.ttl, 9);
        ck_assert_uint_eq(f->headroom, 64);
        ck_assert_uint_eq(f->iface, 4);
        ck_assert_uint_eq(f->vlan, 12);
        ck_assert_uint_eq(f->flags, PKT_TX_VLAN);
        ck_assert_mem_eq(f->data + 20, bytes + 20 + at, f->len - 20);
        at += f->total - 20;
    }
    ck_assert_uint_eq(at, 3000);
    ck_assert_uint_eq(out.pkt[0]->total, 1500);
    pkt_free(p);
}
END_TEST

START_TEST(ipv4_options_with_the_copied_flag_alone_repeat)
{
    struct ipv4_hdr h = {.options = {7, 7, 4, 0, 0, 0, 0, 0x94, 4, 0, 0}, .options_len = 12};
    struct pkt *p = packet4(&h, 200); /* record route, then router alert */
    ck_assert_int_eq(cut(p, 100), 3); /* 64 72 64 */
    ck_assert_uint_eq(out.pkt[0]->total, 32 + 64);
    struct ipv4_hdr g;
    ck_assert_int_eq(ipv4_parse(out.pkt[0]->data, out.pkt[0]->len, out.pkt[0]->total, false, &g),
                     32);
    ck_assert_int_eq(ipv4_parse(out.pkt[1]->data, out.pkt[1]->len, out.pkt[1]->total, false, &g),
                     24);
    ck_assert_uint_eq(out.pkt[1]->total, 24 + 72);
    ck_assert_uint_eq(g.frag_offset, 64);
    ck_assert_uint_eq(g.options[0], 0x94);
    pkt_free(p);
}
END_TEST

START_TEST(an_ipv4_fragment_is_cut_further)
{
    struct ipv4_hdr h = {.frag_offset = 1480, .more_fragments = true};
    struct pkt *p = packet4(&h, 1480);
    ck_assert_int_eq(cut(p, 1000), 2);
    struct ipv4_hdr g;
    struct pkt *last = out.pkt[1];
    ck_assert_int_eq(ipv4_parse(last->data, last->len, last->total, false, &g), 20);
    ck_assert_uint_eq(g.frag_offset, 1480 + 976);
    ck_assert(g.more_fragments);
    ck_assert_uint_eq(g.total_len, 20 + 504);
    pkt_free(p);
}
END_TEST

START_TEST(refuses_with_a_reason)
{
    struct ipv4_hdr h = {.dont_fragment = true};
    struct pkt *p = packet4(&h, 3000);
    ck_assert_int_eq(cut(p, 1500), FRAG_E_DONT_FRAGMENT);
    p->data[0] = 0x50;
    ck_assert_int_eq(cut(p, 1500), FRAG_E_HEADER);
    pkt_free(p);
    h = (struct ipv4_hdr){.options_len = 40};
    p = packet4(&h, 3000);
    ck_assert_int_eq(cut(p, 67), FRAG_E_MTU);
    ck_assert_int_eq(cut(p, 68), 1 + (3000 - 8 + 47) / 48);
    pkt_free(p);
    static const uint8_t fragment[] = {IP_PROTO_FRAGMENT};
    p = packet6(fragment, 1, 3000);
    ck_assert_int_eq(cut(p, 1500), FRAG_E_HEADER);
    pkt_free(p);
    static const uint8_t long_chain[] = {60, 60, 60};
    p = packet6(long_chain, 3, 3000);
    ck_assert_int_eq(cut(p, 40 + 24 + 8 + 7), FRAG_E_MTU);
    pkt_free(p);
}
END_TEST

START_TEST(all_or_nothing)
{
    struct ipv4_hdr h = {0};
    struct pkt *p = packet4(&h, 9000);
    for (size_t spare = 0; spare < 7; spare++) {
        pool.limit = 1 + spare;
        ck_assert_int_eq(cut(p, 1500), FRAG_E_MEMORY);
        ck_assert_uint_eq(out.n, 0);
        ck_assert_uint_eq(pool.held, 1);
    }
    pool.limit = 1 + 7;
    ck_assert_int_eq(cut(p, 1500), 7);
    pkt_free(p);
}
END_TEST

START_TEST(ipv6_cuts_behind_the_headers_of_every_hop)
{
    static const struct {
        uint8_t ext[4];
        uint32_t n, kept;
    } row[] = {
        {{0}, 0, 0},      {{0}, 1, 1},         {{60}, 1, 0},        {{0, 60}, 2, 1},
        {{60, 43}, 2, 2}, {{0, 60, 43}, 3, 3}, {{0, 43, 60}, 3, 2}, {{0, 60, 43, 60}, 4, 3},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct pkt *p = packet6(row[i].ext, row[i].n, 3000);
        ck_assert_int_eq(cut(p, 1280), 3);
        uint32_t at = 0;
        for (uint32_t k = 0; k < 3; k++) {
            struct pkt *f = out.pkt[k];
            struct ipv6_hdr g;
            ck_assert_int_gt(ipv6_parse(f->data, f->len, f->total, &g), 0);
            ck_assert_uint_eq(g.total_len, f->total);
            ck_assert(g.frag.present);
            ck_assert_uint_eq(g.frag.at, 40 + 8 * row[i].kept);
            ck_assert_uint_eq(g.frag.offset, at);
            ck_assert_uint_eq(g.frag.more, k < 2);
            ck_assert_uint_eq(g.frag.id, 0x12345678);
            ck_assert_uint_eq(g.frag.next,
                              row[i].kept < row[i].n ? row[i].ext[row[i].kept] : IP_PROTO_UDP);
            ck_assert_uint_eq(g.hop_limit, 9);
            ck_assert_uint_le(f->total, 1280);
            at += f->total - g.frag.at - 8;
        }
        ck_assert_uint_eq(at, 3000 + 8 * (row[i].n - row[i].kept));
        free_out();
        pkt_free(p);
    }
}
END_TEST

START_TEST(a_fragment_larger_than_a_buffer_is_a_chain)
{
    struct ipv4_hdr h = {0};
    struct pkt *p = packet4(&h, 20000);
    ck_assert_int_eq(cut(p, 9000), 3);
    ck_assert_uint_eq(out.pkt[0]->total, 20 + 8976);
    ck_assert_uint_eq(out.pkt[0]->len, 2048);
    ck_assert_uint_eq(pool.held, 1 + 5 + 5 + 2);
    ck_assert(pkt_ok(out.pkt[0]));
    pkt_free(p);
}
END_TEST

/* Round trips */

static struct wheel wheel;
static struct counters counters;
static struct reass *reass;
static struct rng rng;

static void create_reass(void)
{
    wheel_init(&wheel, 1);
    rng_seed(&rng, 42);
    struct reass_args args = {.mem = &heap.mem,
                              .wheel = &wheel,
                              .pool = &pool.pool,
                              .counters = &counters,
                              .limits = {.bytes = UINT32_C(16) << 20}};
    reass = reass_create(&args);
}

/* Some fragments come twice, all in random order. */
static void duplicate_and_shuffle(void)
{
    uint32_t n = out.n;
    for (uint32_t i = 0; i < n; i++)
        if (rng_below(&rng, 4) == 0)
            out.pkt[out.n++] = pkt_copy(&pool.pool, out.pkt[i]);
    for (uint32_t i = out.n; i > 1; i--) {
        uint32_t j = (uint32_t)rng_below(&rng, i);
        struct pkt *swap = out.pkt[i - 1];
        out.pkt[i - 1] = out.pkt[j];
        out.pkt[j] = swap;
    }
}

static struct pkt *input(struct pkt *p)
{
    if (p->data[0] >> 4 == 4) {
        struct ipv4_hdr h;
        ck_assert_int_gt(ipv4_parse(p->data, p->len, p->total, false, &h), 0);
        return reass_input4(reass, &h, p, 1);
    }
    struct ipv6_hdr h;
    ck_assert_int_gt(ipv6_parse(p->data, p->len, p->total, &h), 0);
    return reass_input6(reass, &h, p, 1);
}

/* bytes is the packet that was cut. */
static void assert_reassembles(uint32_t total)
{
    static uint8_t again[70000];
    struct pkt *whole = NULL;

    for (uint32_t i = 0; i < out.n; i++) {
        if (whole) {
            pkt_free(out.pkt[i]);

        } else {
            whole = input(out.pkt[i]);
        }
    }
    out.n = 0;
    ck_assert_ptr_nonnull(whole);
    ck_assert_uint_eq(whole->total, total);
    pkt_copy_out(whole, 0, again, total);
    ck_assert_mem_eq(again, bytes, total);
    ck_assert_uint_eq(reass_datagrams(reass), 0);
    pkt_free(whole);
}

static void round_trip(struct pkt *p, uint16_t mtu)
{
    uint32_t total = p->total;
    if (total > mtu) {
        int n = cut(p, mtu);
        ck_assert_int_gt(n, 1);
        for (uint32_t i = 0; i < out.n; i++)
            ck_assert_uint_le(out.pkt[i]->total, mtu);
        if (n <= REASS_FRAGMENTS_MAX) {
            duplicate_and_shuffle();
            assert_reassembles(total);
        }
        free_out();
    }
    pkt_free(p);
}

static const uint32_t sizes[] = {0,    1,    47,    48,    49,    100,   548,   556,
                                 1232, 1233, 1472,  1480,  1481,  2960,  5000,  6135,
                                 8972, 9000, 20000, 65000, 65493, 65500, 65506, 65507};

START_TEST(ipv4_round_trips)
{
    static const uint16_t mtu[] = {68, 576, 1280, 1500, 9000};
    create_reass();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t k = 0; k < sizeof(mtu) / sizeof(mtu[0]); k++) {
            struct ipv4_hdr h = {.id = (uint16_t)i};
            round_trip(packet4(&h, sizes[i] + 8), mtu[k]);
        }
    }
    ck_assert_uint_gt(counter_drops(&counters, DROP_FRAG_DUPLICATE), 0);
    ck_assert_uint_eq(counter_drops(&counters, DROP_FRAG_OVERLAP), 0);
    ck_assert_uint_eq(counter_drops(&counters, DROP_FRAG_LIMIT), 0);
    reass_destroy(reass);
}
END_TEST

START_TEST(ipv6_round_trips)
{
    static const uint16_t mtu[] = {1280, 1500, 9000};
    static const uint8_t ext[] = {0, 43, 60};
    create_reass();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t k = 0; k < sizeof(mtu) / sizeof(mtu[0]); k++)
            for (uint32_t n = 0; n <= 3; n++)
                if (sizes[i] + 8 + 8 * n <= 65535)
                    round_trip(packet6(ext, n, sizes[i] + 8), mtu[k]);
    reass_destroy(reass);
}
END_TEST

UNIT_MAIN("frag", setup, teardown, ipv4_fragments_tile_the_packet,
          ipv4_options_with_the_copied_flag_alone_repeat, an_ipv4_fragment_is_cut_further,
          refuses_with_a_reason, all_or_nothing, ipv6_cuts_behind_the_headers_of_every_hop,
          a_fragment_larger_than_a_buffer_is_a_chain, ipv4_round_trips, ipv6_round_trips)
