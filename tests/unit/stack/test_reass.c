/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/reass.h"

#include <string.h>

#include "base/bytes.h"
#include "support/heap.h"
#include "support/unit.h"
#include "wire/checksum.h"
#include "wire/proto.h"

static struct heap heap;
static struct heap_pool pool;
static struct wheel wheel;
static struct counters counters;
static struct reass *reass;
static tick_t now;

/* The last packet that was given up. */
static struct {
    unsigned n;
    enum drop why;
    struct pkt *pkt;
} given_up;

static void on_given_up(void *ctx, enum drop why, struct pkt *p, tick_t at)
{
    ck_assert_ptr_eq(ctx, &given_up);
    ck_assert_uint_eq(at, now);
    pkt_free(given_up.pkt);
    given_up.n++;
    given_up.why = why;
    given_up.pkt = p;
}

static void create(struct reass_limits limits)
{
    reass_destroy(reass);
    struct reass_args args = {
        .mem = &heap.mem,
        .wheel = &wheel,
        .pool = &pool.pool,
        .counters = &counters,
        .key = {1, 2},
        .limits = limits,
        .given_up = on_given_up,
        .ctx = &given_up,
    };
    reass = reass_create(&args);
    ck_assert_ptr_nonnull(reass);
}

static void setup(void)
{
    heap_init(&heap);
    heap_pool_init(&pool, 64, 2048);
    now = TICK_SEC;
    wheel_init(&wheel, now);
    create((struct reass_limits){0});
}

static void teardown(void)
{
    pkt_free(given_up.pkt);
    reass_destroy(reass);
    ck_assert_uint_eq(wheel.armed, 0);
    ck_assert_uint_eq(pool.held, 0);
    ck_assert_uint_eq(heap.blocks, 0);
}

static void pass(tick_t t)
{
    now += t;
    wheel_expire(&wheel, now);
}

static uint64_t drops(enum drop why)
{
    return counter_drops(&counters, why);
}

static uint64_t all_drops(void)
{
    uint64_t n = 0;
    for (int why = DROP_NONE + 1; why < DROP_END; why++)
        n += counter_drops(&counters, (enum drop)why);
    return n;
}

/* A fragment: bytes [start, end) of the datagram's payload. */
struct spec {
    uint32_t src;
    uint16_t id;
    uint32_t start, end;
    bool more;
    uint8_t tos;
    uint8_t options; /* bytes of IPv4 options or of an IPv6 hop-by-hop header */
    uint8_t view;    /* bytes in one view of the chain, headers apart; 0: all */
    uint8_t padding; /* bytes behind the packet */
};

static uint8_t payload_at(uint32_t i)
{
    return (uint8_t)(i * 7 + (i >> 8));
}

static void put_payload(uint8_t *dst, const struct spec *s)
{
    for (uint32_t i = s->start; i < s->end; i++)
        *dst++ = payload_at(i);
}

static uint8_t buffer[80 * 1024];

/* The packet in buffer, its headers in the head view. */
static struct pkt *packet(const struct spec *s, uint32_t header, uint32_t len)
{
    memset(buffer + len, 0xee, s->padding);
    len += s->padding;
    struct pkt *p = heap_pkt(&pool, buffer, s->view ? header : len, 0);
    if (s->view)
        pkt_append(p, heap_pkt(&pool, buffer + header, len - header, s->view));
    p->iface = 2;
    return p;
}

static struct pkt *send4(struct spec s)
{
    struct ipv4_hdr h = {
        .src = ip_from_v4(0x0a000001 + s.src),
        .dst = ip_from_v4(0x0a0000fe),
        .id = s.id,
        .frag_offset = (uint16_t)s.start,
        .more_fragments = s.more,
        .ttl = 60,
        .tos = s.tos,
        .proto = IP_PROTO_UDP,
        .options_len = s.options,
    };
    memset(h.options, 1, s.options); /* no operation */
    uint32_t header = (uint32_t)ipv4_len(&h);
    h.total_len = (uint16_t)(header + s.end - s.start);
    ipv4_emit(&h, false, buffer);
    put_payload(buffer + header, &s);
    struct pkt *p = packet(&s, header, h.total_len);
    ck_assert_int_eq(ipv4_parse(p->data, p->len, p->total, false, &h), (int)header);
    p->flags = PKT_RX_L4_CSUM_BAD | PKT_RX_IP_CSUM_OK | PKT_RX_HASH;
    return reass_input4(reass, &h, p, now);
}

static struct pkt *send6_of(struct spec s, uint8_t next)
{
    struct ipv6_hdr h = {
        .src = {{0x20, 1, [15] = (uint8_t)s.src}},
        .dst = {{0x20, 2}},
        .total_len = IPV6_LEN + s.options + IPV6_FRAG_LEN + s.end - s.start,
        .next = s.options ? IP_PROTO_HOP_BY_HOP : IP_PROTO_FRAGMENT,
        .traffic_class = s.tos,
        .hop_limit = 60,
    };
    struct ipv6_frag f = {.id = s.id, .offset = (uint16_t)s.start, .next = next, .more = s.more};
    uint32_t at = (uint32_t)ipv6_emit(&h, buffer);
    if (s.options) {
        memset(buffer + at, 0, s.options);
        buffer[at] = IP_PROTO_FRAGMENT;
        buffer[at + 1] = (uint8_t)(s.options / 8 - 1);
        buffer[at + 2] = 0x1e; /* an option to be skipped (RFC 4727 4.1) */
        buffer[at + 3] = (uint8_t)(s.options - 4);
        at += s.options;
    }
    ipv6_frag_emit(&f, buffer + at);
    at += IPV6_FRAG_LEN;
    put_payload(buffer + at, &s);
    struct pkt *p = packet(&s, at, h.total_len);
    ck_assert_int_gt(ipv6_parse(p->data, p->len, p->total, &h), 0);
    return reass_input6(reass, &h, p, now);
}

static struct pkt *send6(struct spec s)
{
    return send6_of(s, IP_PROTO_UDP);
}

static void assert_payload(const struct pkt *p, uint32_t header, uint32_t len)
{
    ck_assert(pkt_ok(p));
    ck_assert_uint_eq(p->total, header + len);
    pkt_copy_out(p, header, buffer, len);
    for (uint32_t i = 0; i < len; i++)
        ck_assert_uint_eq(buffer[i], payload_at(i));
}

/* A whole IPv4 packet of len bytes of payload; takes it. */
static void assert_whole4(struct pkt *p, uint32_t len)
{
    ck_assert_ptr_nonnull(p);
    struct ipv4_hdr h;
    int header = ipv4_parse(p->data, p->len, p->total, false, &h);
    ck_assert_int_gt(header, 0);
    ck_assert_uint_eq(h.total_len, p->total);
    ck_assert(!ipv4_is_fragment(&h));
    ck_assert_uint_eq(p->flags, PKT_REASSEMBLED | PKT_RX_IP_CSUM_OK);
    ck_assert_uint_eq(p->iface, 2);
    assert_payload(p, (uint32_t)header, len);
    pkt_free(p);
}

static void assert_whole6(struct pkt *p, uint32_t len)
{
    ck_assert_ptr_nonnull(p);
    struct ipv6_hdr h;
    int header = ipv6_parse(p->data, p->len, p->total, &h);
    ck_assert_int_gt(header, 0);
    ck_assert(!h.frag.present);
    ck_assert_uint_eq(h.total_len, p->total);
    ck_assert_uint_eq(h.next, IP_PROTO_UDP);
    ck_assert_uint_eq(p->flags, PKT_REASSEMBLED);
    assert_payload(p, (uint32_t)header, len);
    pkt_free(p);
}

static void assert_empty(void)
{
    ck_assert_uint_eq(reass_datagrams(reass), 0);
    ck_assert_uint_eq(reass_bytes(reass), 0);
    ck_assert_uint_eq(wheel.armed, 0);
}

START_TEST(joins_in_every_order)
{
    static const struct spec part[] = {{.start = 0, .end = 16, .more = true},
                                       {.start = 16, .end = 24, .more = true},
                                       {.start = 24, .end = 48, .more = true},
                                       {.start = 48, .end = 51}};
    for (unsigned order = 0; order < 256; order++) {
        unsigned used = 0;
        for (unsigned i = 0; i < 4; i++)
            used |= 1u << (order >> 2 * i & 3);
        if (used != 15)
            continue;
        for (unsigned i = 0; i < 3; i++) {
            ck_assert_ptr_null(send4(part[order >> 2 * i & 3]));
            ck_assert_ptr_null(send6(part[order >> 2 * i & 3]));
        }
        assert_whole4(send4(part[order >> 6]), 51);
        assert_whole6(send6(part[order >> 6]), 51);
        assert_empty();
    }
    ck_assert_uint_eq(all_drops(), 0);
}
END_TEST

START_TEST(takes_chains_padding_and_options)
{
    ck_assert_ptr_null(send4((struct spec){.start = 24, .end = 40, .view = 5, .padding = 9}));
    assert_whole4(
        send4((struct spec){.start = 0, .end = 24, .more = true, .options = 8, .view = 11}), 40);
    ck_assert_ptr_null(send6((struct spec){.start = 24, .end = 40, .view = 5, .options = 16}));
    struct pkt *p =
        send6((struct spec){.start = 0, .end = 24, .more = true, .options = 8, .padding = 3});
    ck_assert_uint_eq(p->data[6], IP_PROTO_HOP_BY_HOP);
    ck_assert_uint_eq(p->data[40], IP_PROTO_UDP);
    assert_whole6(p, 40);
    assert_empty();
}
END_TEST

START_TEST(ipv6_believes_the_first_fragments_next_header)
{
    ck_assert_ptr_null(send6_of((struct spec){.start = 8, .end = 16}, IP_PROTO_TCP));
    assert_whole6(send6((struct spec){.start = 0, .end = 8, .more = true}), 16);
}
END_TEST

START_TEST(keeps_datagrams_apart)
{
    struct spec first = {.start = 0, .end = 8, .more = true};
    struct spec last = {.start = 8, .end = 16};
    ck_assert_ptr_null(send4(first));
    last.id = 1;
    ck_assert_ptr_null(send4(last)); /* another identification */
    last.id = 0;
    last.src = 1;
    ck_assert_ptr_null(send4(last)); /* another source */
    last.src = 0;
    ck_assert_ptr_null(send6(last)); /* another family */
    ck_assert_uint_eq(reass_datagrams(reass), 4);
    assert_whole4(send4(last), 16);
    ck_assert_uint_eq(reass_datagrams(reass), 3);
}
END_TEST

START_TEST(an_exact_duplicate_is_dropped_alone)
{
    struct spec first = {.start = 0, .end = 16, .more = true};
    struct spec last = {.start = 24, .end = 30};
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_null(send4(first));
        ck_assert_ptr_null(send4(last));
    }
    ck_assert_uint_eq(drops(DROP_FRAG_DUPLICATE), 4);
    assert_whole4(send4((struct spec){.start = 16, .end = 24, .more = true}), 30);
    ck_assert_uint_eq(all_drops(), 4);
    ck_assert_uint_eq(given_up.n, 0);
}
END_TEST

/* Two fragments that do not go together, in both orders, then a third that would have been fine. */
static void assert_discarded(struct spec a, struct spec b, enum drop why)
{
    struct spec later = {.start = 800, .end = 808, .more = true};
    for (int order = 0; order < 2; order++) {
        for (int family = 0; family < 2; family++) {
            struct pkt *(*send)(struct spec) = family ? send6 : send4;
            uint64_t before = all_drops(), of_this = drops(why);
            ck_assert_ptr_null(send(order ? a : b));
            ck_assert_uint_eq(all_drops(), before);
            ck_assert_ptr_null(send(order ? b : a));
            ck_assert_uint_eq(drops(why), of_this + 2);
            ck_assert_uint_eq(reass_bytes(reass), 0);
            ck_assert_ptr_null(send(later));
            ck_assert_ptr_null(send(later));
            ck_assert_uint_eq(drops(why), of_this + 4);
            ck_assert_uint_eq(all_drops(), before + 4);
            ck_assert_uint_eq(reass_datagrams(reass), 1);
            pass(60 * TICK_SEC);
            assert_empty();
            ck_assert_uint_eq(all_drops(), before + 4);
        }
    }
}

START_TEST(an_overlap_discards_all)
{
    struct spec held = {.start = 16, .end = 40, .more = true};
    static const uint32_t range[][2] = {{16, 24}, {24, 32}, {32, 40}, {8, 24},
                                        {32, 48}, {8, 48},  {16, 48}, {8, 40}};
    for (size_t i = 0; i < sizeof(range) / sizeof(range[0]); i++)
        assert_discarded(held,
                         (struct spec){.start = range[i][0], .end = range[i][1], .more = true},
                         DROP_FRAG_OVERLAP);
}
END_TEST

START_TEST(disagreeing_ends_discard_all)
{
    struct spec last = {.start = 40, .end = 48};
    assert_discarded(last, (struct spec){.start = 40, .end = 52}, DROP_FRAG_OVERLAP);
    assert_discarded(last, (struct spec){.start = 48, .end = 56}, DROP_FRAG_OVERLAP);
    assert_discarded(last, (struct spec){.start = 8, .end = 16}, DROP_FRAG_OVERLAP);
    assert_discarded(last, (struct spec){.start = 48, .end = 56, .more = true}, DROP_FRAG_OVERLAP);
    assert_discarded(last, (struct spec){.start = 40, .end = 48, .more = true}, DROP_FRAG_OVERLAP);
}
END_TEST

START_TEST(a_gap_of_one_unit_is_filled_by_nothing_else)
{
    ck_assert_ptr_null(send4((struct spec){.start = 0, .end = 8, .more = true}));
    ck_assert_ptr_null(send4((struct spec){.start = 16, .end = 24}));
    ck_assert_ptr_null(send4((struct spec){.start = 8, .end = 24}));
    ck_assert_uint_eq(drops(DROP_FRAG_OVERLAP), 3);
}
END_TEST

START_TEST(the_longest_datagrams)
{
    uint32_t end = 65535 - IPV4_LEN;
    for (uint32_t at = 0; at + 8000 < end; at += 8000)
        ck_assert_ptr_null(send4((struct spec){.start = at, .end = at + 8000, .more = true}));
    assert_whole4(send4((struct spec){.start = 64000, .end = end}), end);
    end = 65535;
    for (uint32_t at = 0; at + 8000 < end; at += 8000)
        ck_assert_ptr_null(send6((struct spec){.start = at, .end = at + 8000, .more = true}));
    assert_whole6(send6((struct spec){.start = 64000, .end = end}), end);
    ck_assert_uint_eq(all_drops(), 0);
}
END_TEST

START_TEST(too_long_with_the_first_fragments_headers)
{
    struct spec last = {.start = 65000, .end = 65515};
    struct spec first = {.start = 0, .end = 64, .more = true, .options = 8};
    ck_assert_ptr_null(send4(last));
    ck_assert_ptr_null(send4(first));
    ck_assert_uint_eq(drops(DROP_FRAG_TOO_LONG), 2);
    ck_assert_uint_eq(given_up.n, 1);
    ck_assert_uint_eq(given_up.why, DROP_FRAG_TOO_LONG);
    ck_assert_uint_eq(given_up.pkt->total, 28 + 64);
    last.end = 65528; /* without the 8 bytes of options: 65,528 */
    ck_assert_ptr_null(send6(first));
    ck_assert_ptr_null(send6(last));
    ck_assert_uint_eq(drops(DROP_FRAG_TOO_LONG), 4);
    ck_assert_uint_eq(given_up.n, 2);
    ck_assert_uint_eq(given_up.pkt->total, 48 + 528);
    ck_assert_uint_eq(all_drops(), 4);
}
END_TEST

START_TEST(a_tiny_first_fragment_discards_all)
{
    ck_assert_ptr_null(send6_of((struct spec){.start = 24, .end = 32}, IP_PROTO_TCP));
    ck_assert_ptr_null(send6_of((struct spec){.start = 0, .end = 8, .more = true}, IP_PROTO_TCP));
    ck_assert_uint_eq(drops(DROP_FRAG_TINY), 2);
    ck_assert_uint_eq(given_up.why, DROP_FRAG_TINY);
    ck_assert_uint_eq(given_up.pkt->total, 56); /* as it came */
    ck_assert_ptr_null(send6_of((struct spec){.start = 8, .end = 24, .more = true}, IP_PROTO_TCP));
    ck_assert_uint_eq(drops(DROP_FRAG_TINY), 3);
    ck_assert_uint_eq(given_up.n, 1);
}
END_TEST

START_TEST(times_out_with_the_first_fragment_reported)
{
    ck_assert_ptr_null(send4((struct spec){.start = 0, .end = 8, .more = true}));
    pass(29 * TICK_SEC);
    ck_assert_ptr_null(send4((struct spec){.start = 16, .end = 24, .more = true}));
    ck_assert_uint_eq(all_drops(), 0);
    pass(TICK_SEC - 1);
    ck_assert_uint_eq(all_drops(), 0);
    pass(1);
    ck_assert_uint_eq(drops(DROP_FRAG_TIMEOUT), 2);
    ck_assert_uint_eq(given_up.n, 1);
    ck_assert_uint_eq(given_up.why, DROP_FRAG_TIMEOUT);
    ck_assert_uint_eq(given_up.pkt->total, 28);
    ck_assert_uint_eq(load_be16(given_up.pkt->data + 6), 0x2000); /* as it came */
    assert_empty();
    /* Later fragments begin anew. */
    ck_assert_ptr_null(send4((struct spec){.start = 8, .end = 16}));
    assert_whole4(send4((struct spec){.start = 0, .end = 8, .more = true}), 16);
}
END_TEST

START_TEST(times_out_silently_without_the_first)
{
    ck_assert_ptr_null(send6((struct spec){.start = 8, .end = 16, .more = true}));
    pass(60 * TICK_SEC - 1);
    ck_assert_uint_eq(all_drops(), 0);
    pass(1);
    ck_assert_uint_eq(drops(DROP_FRAG_TIMEOUT), 1);
    ck_assert_uint_eq(given_up.n, 0);
    assert_empty();
}
END_TEST

START_TEST(fragments_of_one_datagram_are_bounded)
{
    for (uint32_t i = 0; i < REASS_FRAGMENTS_MAX; i++)
        ck_assert_ptr_null(send4((struct spec){.start = 8 * i, .end = 8 * i + 8, .more = true}));
    ck_assert_uint_eq(all_drops(), 0);
    uint32_t at = 8 * REASS_FRAGMENTS_MAX;
    ck_assert_ptr_null(send4((struct spec){.start = at, .end = at + 8}));
    ck_assert_uint_eq(drops(DROP_FRAG_LIMIT), REASS_FRAGMENTS_MAX + 1);
    ck_assert_uint_eq(reass_bytes(reass), 0);
}
END_TEST

START_TEST(as_many_fragments_as_allowed_in_reverse)
{
    uint32_t n = REASS_FRAGMENTS_MAX;
    for (uint32_t i = n - 1; i > 0; i--)
        ck_assert_ptr_null(
            send4((struct spec){.start = 8 * i, .end = 8 * i + 8, .more = i < n - 1}));
    assert_whole4(send4((struct spec){.start = 0, .end = 8, .more = true}), 8 * n);
}
END_TEST

START_TEST(the_oldest_datagram_makes_room)
{
    create((struct reass_limits){.datagrams = 4, .per_source = 4});
    struct spec first = {.start = 0, .end = 8, .more = true};
    struct spec last = {.start = 8, .end = 16};
    for (first.src = 0; first.src < 6; first.src++) {
        first.id = (uint16_t)first.src;
        ck_assert_ptr_null(send4(first));
    }
    ck_assert_uint_eq(reass_datagrams(reass), 4);
    ck_assert_uint_eq(drops(DROP_FRAG_LIMIT), 2);
    last.src = last.id = 2; /* the oldest left */
    assert_whole4(send4(last), 16);
    last.src = last.id = 0; /* begins anew, in the room left */
    ck_assert_ptr_null(send4(last));
    ck_assert_uint_eq(all_drops(), 2);
    ck_assert_uint_eq(given_up.n, 0);
}
END_TEST

START_TEST(datagrams_given_up_make_room_first)
{
    create((struct reass_limits){.datagrams = 3, .per_source = 3});
    struct spec first = {.start = 0, .end = 8, .more = true};
    ck_assert_ptr_null(send4(first));
    ck_assert_ptr_null(send4((struct spec){.src = 1, .start = 8, .end = 24, .more = true}));
    ck_assert_ptr_null(send4((struct spec){.src = 1, .start = 16, .end = 24, .more = true}));
    ck_assert_uint_eq(drops(DROP_FRAG_OVERLAP), 2);
    ck_assert_ptr_null(send4((struct spec){.src = 2, .start = 8, .end = 16}));
    ck_assert_ptr_null(send4((struct spec){.src = 3, .start = 8, .end = 16}));
    ck_assert_uint_eq(all_drops(), 2);
    assert_whole4(send4((struct spec){.start = 8, .end = 16}), 16);
}
END_TEST

START_TEST(one_source_cannot_take_all)
{
    create((struct reass_limits){.datagrams = 16, .per_source = 3});
    ck_assert_ptr_null(send4((struct spec){.start = 0, .end = 8, .more = true}));
    for (uint16_t id = 0; id < 100; id++)
        ck_assert_ptr_null(
            send4((struct spec){.src = 1, .id = id, .start = 0, .end = 8, .more = true}));
    ck_assert_uint_eq(reass_datagrams(reass), 4);
    ck_assert_uint_eq(drops(DROP_FRAG_LIMIT), 97);
    assert_whole4(send4((struct spec){.start = 8, .end = 16}), 16);
    assert_whole4(send4((struct spec){.src = 1, .id = 97, .start = 8, .end = 16}), 16);
    ck_assert_uint_eq(all_drops(), 97);
}
END_TEST

START_TEST(bytes_are_of_whole_buffers)
{
    ck_assert_ptr_null(send4((struct spec){.start = 0, .end = 8, .more = true}));
    ck_assert_uint_eq(reass_bytes(reass), sizeof(struct pkt) + 64 + 28);
    ck_assert_ptr_null(send4((struct spec){.start = 8, .end = 16, .more = true, .view = 4}));
    /* 8 bytes of payload in two views and a header of its own, which is freed after counting. */
    ck_assert_uint_eq(reass_bytes(reass), 4 * (sizeof(struct pkt) + 64) + 28 + 28);
}
END_TEST

START_TEST(bytes_held_are_bounded)
{
    uint32_t each = (uint32_t)sizeof(struct pkt) + 64 + 20 + 1000;
    create((struct reass_limits){.bytes = 10 * each});
    for (uint16_t id = 0; id < 5; id++)
        for (uint32_t at = 0; at < 2000; at += 1000)
            ck_assert_ptr_null(
                send4((struct spec){.id = id, .start = at, .end = at + 1000, .more = true}));
    ck_assert_uint_eq(reass_bytes(reass), 10 * each);
    struct spec more = {.id = 4, .start = 2000, .end = 3000, .more = true};
    ck_assert_ptr_null(send4(more));
    ck_assert_uint_eq(drops(DROP_FRAG_LIMIT), 2);
    ck_assert_uint_eq(reass_datagrams(reass), 4);
    ck_assert_uint_eq(reass_bytes(reass), 9 * each);
    /* The oldest itself asks for more than there is. */
    more.id = 1;
    ck_assert_ptr_null(send4(more));
    more.start += 1000, more.end += 1000;
    ck_assert_ptr_null(send4(more));
    ck_assert_uint_eq(drops(DROP_FRAG_LIMIT), 2 + 4);
    ck_assert_uint_eq(reass_bytes(reass), 7 * each);
    ck_assert_uint_eq(all_drops(), 6);
}
END_TEST

START_TEST(a_fragment_beyond_the_bound_alone)
{
    create((struct reass_limits){.bytes = 500});
    ck_assert_ptr_null(send4((struct spec){.id = 1, .start = 0, .end = 8, .more = true}));
    ck_assert_ptr_null(send4((struct spec){.start = 0, .end = 800, .more = true}));
    ck_assert_uint_eq(drops(DROP_FRAG_LIMIT), 1);
    assert_whole4(send4((struct spec){.id = 1, .start = 8, .end = 16}), 16);
}
END_TEST

START_TEST(congestion_marks_survive)
{
    enum { NOT_ECT = 0, ECT1 = 1, ECT0 = 2, CE = 3 };
    struct spec first = {.start = 0, .end = 8, .more = true, .tos = 0xb8 | ECT0};
    struct spec last = {.start = 8, .end = 16, .tos = 0xb8 | CE};
    ck_assert_ptr_null(send4(first));
    struct pkt *p = send4(last);
    ck_assert_uint_eq(p->data[1], 0xb8 | CE);
    assert_whole4(p, 16);
    ck_assert_ptr_null(send6(first));
    p = send6(last);
    ck_assert_uint_eq(p->data[0], 0x6b);
    ck_assert_uint_eq(p->data[1], 0xb0);
    assert_whole6(p, 16);
    first.tos = NOT_ECT;
    last.tos = ECT1;
    ck_assert_ptr_null(send4(first));
    p = send4(last);
    ck_assert_uint_eq(p->data[1], NOT_ECT);
    assert_whole4(p, 16);
    last.tos = CE;
    ck_assert_ptr_null(send4(first));
    ck_assert_ptr_null(send4(last));
    ck_assert_uint_eq(drops(DROP_FRAG_ECN), 2);
    ck_assert_uint_eq(all_drops(), 2);
}
END_TEST

/* A first fragment of which somebody else holds a slice. */
static struct pkt *share_first(struct pkt **slice)
{
    struct ipv4_hdr h = {.src = ip_from_v4(0x0a000001),
                         .dst = ip_from_v4(0x0a0000fe),
                         .more_fragments = true,
                         .proto = IP_PROTO_UDP,
                         .total_len = 36};
    struct spec s = {.start = 0, .end = 16, .more = true};
    ipv4_emit(&h, false, buffer);
    put_payload(buffer + IPV4_LEN, &s);
    struct pkt *p = packet(&s, IPV4_LEN, 36);
    *slice = pkt_slice(&pool.pool, p, 0, 36);
    return reass_input4(reass, &h, p, now);
}

START_TEST(a_shared_header_is_copied)
{
    struct pkt *slice;
    ck_assert_ptr_null(share_first(&slice));
    assert_whole4(send4((struct spec){.start = 16, .end = 24}), 24);
    ck_assert_uint_eq(load_be16(slice->data + 6), 0x2000); /* still the fragment's */
    pkt_free(slice);
    ck_assert_ptr_null(share_first(&slice));
    pool.limit = pool.held + 1;
    ck_assert_ptr_null(send4((struct spec){.start = 16, .end = 24}));
    ck_assert_uint_eq(drops(DROP_NO_MEMORY), 2);
    ck_assert_uint_eq(all_drops(), 2);
    pkt_free(slice);
}
END_TEST

START_TEST(without_memory_there_is_no_table)
{
    struct reass_args args = {.mem = &heap.mem, .wheel = &wheel, .counters = &counters};
    size_t held = heap.bytes;
    for (size_t spare = 0; spare < 3; spare++) {
        static const size_t more[] = {0, 1000, 10000};
        heap.limit = held + more[spare];
        ck_assert_ptr_null(reass_create(&args));
        ck_assert_uint_eq(heap.bytes, held);
    }
    reass_destroy(NULL);
}
END_TEST

START_TEST(nobody_need_be_told)
{
    reass_destroy(reass);
    struct reass_args args = {
        .mem = &heap.mem, .wheel = &wheel, .pool = &pool.pool, .counters = &counters};
    reass = reass_create(&args);
    ck_assert_ptr_null(send4((struct spec){.start = 0, .end = 8, .more = true}));
    pass(30 * TICK_SEC);
    ck_assert_uint_eq(drops(DROP_FRAG_TIMEOUT), 1);
    assert_empty();
}
END_TEST

UNIT_MAIN("reass", setup, teardown, joins_in_every_order, takes_chains_padding_and_options,
          ipv6_believes_the_first_fragments_next_header, keeps_datagrams_apart,
          an_exact_duplicate_is_dropped_alone, an_overlap_discards_all,
          disagreeing_ends_discard_all, a_gap_of_one_unit_is_filled_by_nothing_else,
          the_longest_datagrams, too_long_with_the_first_fragments_headers,
          a_tiny_first_fragment_discards_all, times_out_with_the_first_fragment_reported,
          times_out_silently_without_the_first, fragments_of_one_datagram_are_bounded,
          as_many_fragments_as_allowed_in_reverse, the_oldest_datagram_makes_room,
          datagrams_given_up_make_room_first, one_source_cannot_take_all,
          bytes_are_of_whole_buffers, bytes_held_are_bounded, a_fragment_beyond_the_bound_alone,
          congestion_marks_survive, a_shared_header_is_copied, without_memory_there_is_no_table,
          nobody_need_be_told)
