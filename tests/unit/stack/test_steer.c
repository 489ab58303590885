/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/steer.h"

#include <string.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "support/heap.h"
#include "support/unit.h"

enum { ICMP = 1, TCP = 6, UDP = 17, HOP = 0, ROUTING = 43, FRAGMENT = 44, ESP = 50, V6ICMP = 58 };
enum { OPTIONS = 60, SCTP = 132, NONE = 59 };

static struct heap_pool pool;
static struct rng rng;
static struct steer steer; /* 128 workers: the owner is the hash's low 7 bits */

/* A tuple in the ends that all frames here are made of, unless said otherwise. */
static struct ip_addr a4, b4, a6, b6;
#define A_PORT 50123
#define B_PORT 443

static void setup(void)
{
    heap_pool_init(&pool, 0, 2048);
    rng_seed(&rng, 7);
    steer_init(&steer, STEER_SLOTS);
    a4 = ip_from_v4(UINT32_C(0xc0000207));
    b4 = ip_from_v4(UINT32_C(0xc6336411));
    a6 = (struct ip_addr){{0x20, 0x01, 0x0d, 0xb8, [7] = 9, [15] = 7}};
    b6 = (struct ip_addr){{0x20, 0x01, 0x0d, 0xb8, [6] = 1, [13] = 5, [15] = 0x11}};
}

static void teardown(void)
{
    ck_assert_uint_eq(pool.held, 0);
}

/* Toeplitz as Microsoft's "RSS hashing functions" has it, bit by bit. */
static uint32_t reference(const uint8_t *key, const uint8_t *input, size_t len)
{
    uint32_t hash = 0;
    for (size_t bit = 0; bit < len * 8; bit++) {
        if (!(input[bit / 8] & 0x80 >> bit % 8))
            continue;
        uint32_t window = 0;
        for (size_t k = bit; k < bit + 32; k++)
            window = window << 1 | (key[k / 8] >> (7 - k % 8) & 1);
        hash ^= window;
    }
    return hash;
}

/* The bytes that a device hashes. Returns how many. */
static size_t tuple(uint8_t *dst, const struct ip_addr *src, const struct ip_addr *to,
                    uint16_t sport, uint16_t dport, bool ports)
{
    size_t skip = ip_is_v4(src) ? 12 : 0;
    size_t n = 16 - skip;
    memcpy(dst, src->b + skip, n);
    memcpy(dst + n, to->b + skip, n);
    if (!ports)
        return 2 * n;
    store_be16(dst + 2 * n, sport);
    store_be16(dst + 2 * n + 2, dport);
    return 2 * n + 4;
}

static const uint8_t microsoft_key[40] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/* "Verifying the RSS hash calculation". */
static const struct vector {
    const char *src, *dst;
    uint16_t sport, dport;
    uint32_t addresses, all;
} vectors[] = {
    {"66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178},
    {"199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea},
    {"24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a},
    {"38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f},
    {"153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2},
    {"3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d},
    {"3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf},
    {"3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024, 0x4b61e985,
     0x02d1feef},
};

START_TEST(the_reference_is_right)
{
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        const struct vector *v = &vectors[i];
        struct ip_addr src, dst;
        ck_assert(ip_parse(v->src, &src) && ip_parse(v->dst, &dst));
        uint8_t input[36];
        size_t n = tuple(input, &src, &dst, v->sport, v->dport, false);
        ck_assert_uint_eq(reference(microsoft_key, input, n), v->addresses);
        n = tuple(input, &src, &dst, v->sport, v->dport, true);
        ck_assert_uint_eq(reference(microsoft_key, input, n), v->all);
    }
}
END_TEST

static struct ip_addr random_addr(bool v4)
{
    struct ip_addr a = ip_from_v4(rng_u32(&rng));
    for (unsigned i = 0; !v4 && i < 16; i++)
        a.b[i] = (uint8_t)rng_u32(&rng);
    return a;
}

START_TEST(the_hash_is_the_devices)
{
    uint8_t key[STEER_KEY_BYTES];
    steer_key(key);
    ck_assert_uint_eq(key[0], 0x6d);
    ck_assert_uint_eq(key[STEER_KEY_BYTES - 1], 0x5a);
    for (int i = 0; i < 5000; i++) {
        struct ip_addr src = random_addr(i & 1);
        struct ip_addr dst = random_addr(i & 1);
        uint16_t sport = (uint16_t)rng_u32(&rng);
        uint16_t dport = (uint16_t)rng_u32(&rng);
        uint8_t input[36];
        size_t n = tuple(input, &src, &dst, sport, dport, true);
        uint32_t hash = steer_hash(&src, &dst, sport, dport);
        ck_assert_uint_eq(hash, reference(key, input, n));
        ck_assert_uint_eq(hash, steer_hash(&dst, &src, dport, sport));
        n = tuple(input, &src, &dst, 0, 0, false);
        ck_assert_uint_eq(steer_hash(&src, &dst, 0, 0), reference(key, input, n));
    }
}
END_TEST

START_TEST(slots_are_dealt_in_turn)
{
    struct steer s;
    steer_init(&s, 3);
    ck_assert_uint_eq(s.n_workers, 3);
    for (uint32_t i = 0; i < 2 * STEER_SLOTS; i++)
        ck_assert_uint_eq(steer_worker(&s, i), i % STEER_SLOTS % 3);
    steer_init(&s, 1);
    ck_assert_uint_eq(steer_worker(&s, UINT32_MAX), 0);
}
END_TEST

START_TEST(clients_spread_evenly)
{
    struct steer s;
    steer_init(&s, 4);
    uint32_t got[4] = {0};
    for (uint32_t i = 0; i < 40000; i++) {
        struct ip_addr client = ip_from_v4(UINT32_C(0x0a000000) + i / 100);
        got[steer_worker(&s, steer_hash(&client, &b4, (uint16_t)(32768 + i % 100), 443))]++;
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_gt(got[i], 9000);
        ck_assert_uint_lt(got[i], 11000);
    }
}
END_TEST

/* Frames, built up byte by byte. */
struct frame {
    uint8_t b[1024];
    size_t len;
    uint16_t flags;
    uint32_t hash;
};

static uint8_t *more(struct frame *f, size_t n)
{
    uint8_t *at = f->b + f->len;
    ck_assert_uint_le(f->len + n, sizeof(f->b));
    memset(at, 0, n);
    f->len += n;
    return at;
}

static struct frame ether(uint16_t type)
{
    struct frame f = {.len = 0};
    store_be16(more(&f, 14) + 12, type);
    return f;
}

static struct frame tagged(uint16_t type)
{
    struct frame f = ether(0x8100);
    uint8_t *at = more(&f, 4);
    store_be16(at, 0x2005);
    store_be16(at + 2, type);
    return f;
}

/* words: header length in 32-bit words; frag: the flags and offset field. */
static void ip4(struct frame *f, uint8_t proto, const struct ip_addr *src,
                const struct ip_addr *dst, unsigned words, uint16_t frag)
{
    uint8_t *h = more(f, words * 4);
    h[0] = (uint8_t)(0x40 | words);
    store_be16(h + 6, frag);
    h[8] = 64;
    h[9] = proto;
    memcpy(h + 12, src->b + 12, 4);
    memcpy(h + 16, dst->b + 12, 4);
}

static void ip6(struct frame *f, uint8_t next, const struct ip_addr *src, const struct ip_addr *dst)
{
    uint8_t *h = more(f, 40);
    h[0] = 0x60;
    h[6] = next;
    h[7] = 64;
    memcpy(h + 8, src->b, 16);
    memcpy(h + 24, dst->b, 16);
}

/* An extension header of 8 * (1 + units) bytes. */
static uint8_t *ext(struct frame *f, uint8_t next, uint8_t units)
{
    uint8_t *h = more(f, 8 + 8u * units);
    h[0] = next;
    h[1] = units;
    return h;
}

static void frag6(struct frame *f, uint8_t next, uint16_t offset_and_more)
{
    store_be16(ext(f, next, 0) + 2, offset_and_more);
}

/* The start of a TCP, UDP or SCTP header. */
static void ports(struct frame *f, uint16_t sport, uint16_t dport)
{
    uint8_t *h = more(f, 8);
    store_be16(h, sport);
    store_be16(h + 2, dport);
}

static void icmp(struct frame *f, uint8_t type)
{
    more(f, 8)[0] = type;
}

static uint16_t owner_cut(const struct frame *f, size_t len, size_t view)
{
    struct pkt *p = heap_pkt(&pool, f->b, len, view);
    p->flags = f->flags;
    p->hash = f->hash;
    uint16_t owner = steer_owner(&steer, p);
    pkt_free(p);
    return owner;
}

/* The same however the frame lies in memory. */
static uint16_t owner(const struct frame *f)
{
    static const size_t views[] = {1, 7, 13, 20, 34, 61};
    uint16_t whole = owner_cut(f, f->len, 0);
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
        ck_assert_uint_eq(owner_cut(f, f->len, views[i]), whole);
    return whole;
}

static uint16_t by_flow(const struct ip_addr *src, const struct ip_addr *dst)
{
    uint16_t w = steer_worker(&steer, steer_hash(src, dst, A_PORT, B_PORT));
    ck_assert_uint_ne(w, 0); /* or the tests would not tell it from "malformed" */
    return w;
}

static uint16_t by_addresses(const struct ip_addr *src, const struct ip_addr *dst)
{
    uint16_t w = steer_worker(&steer, steer_hash(src, dst, 0, 0));
    ck_assert_uint_ne(w, 0);
    ck_assert_uint_ne(w, by_flow(src, dst));
    return w;
}

static const uint8_t with_ports[] = {TCP, UDP, SCTP};

START_TEST(flows_belong_to_their_tuples_worker)
{
    for (unsigned i = 0; i < sizeof(with_ports); i++) {
        for (unsigned words = 5; words <= 15; words += 5) {
            struct frame f = ether(0x0800);
            ip4(&f, with_ports[i], &a4, &b4, words, 0x4000);
            ports(&f, A_PORT, B_PORT);
            ck_assert_uint_eq(owner(&f), by_flow(&a4, &b4));
        }
        struct frame f = tagged(0x0800);
        ip4(&f, with_ports[i], &b4, &a4, 5, 0);
        ports(&f, B_PORT, A_PORT);
        ck_assert_uint_eq(owner(&f), by_flow(&a4, &b4));
        f = tagged(0x86dd);
        ip6(&f, with_ports[i], &a6, &b6);
        ports(&f, A_PORT, B_PORT);
        ck_assert_uint_eq(owner(&f), by_flow(&a6, &b6));
        f = ether(0x86dd);
        ip6(&f, HOP, &b6, &a6);
        ext(&f, ROUTING, 0);
        ext(&f, OPTIONS, 2);
        ext(&f, with_ports[i], 5);
        ports(&f, B_PORT, A_PORT);
        ck_assert_uint_eq(owner(&f), by_flow(&a6, &b6));
    }
}
END_TEST

START_TEST(protocols_without_ports_belong_by_addresses)
{
    struct frame f = ether(0x0800);
    ip4(&f, ESP, &a4, &b4, 5, 0);
    ports(&f, A_PORT, B_PORT);
    ck_assert_uint_eq(owner(&f), by_addresses(&a4, &b4));
    static const uint8_t protos[] = {ESP, NONE, 51};
    for (size_t i = 0; i < sizeof(protos); i++) {
        f = ether(0x86dd);
        ip6(&f, OPTIONS, &a6, &b6);
        ext(&f, protos[i], 0);
        ports(&f, A_PORT, B_PORT);
        ck_assert_uint_eq(owner(&f), by_addresses(&a6, &b6));
    }
}
END_TEST

START_TEST(all_fragments_belong_by_addresses)
{
    static const uint16_t frag4[] = {0x2000, 0x2001, 0x0001, 0x1fff};
    for (unsigned i = 0; i < 4; i++) {
        struct frame f = ether(0x0800);
        ip4(&f, i % 2 ? UDP : ICMP, &a4, &b4, 5, frag4[i]);
        ports(&f, A_PORT, B_PORT);
        ck_assert_uint_eq(owner(&f), by_addresses(&a4, &b4));
    }
    static const uint16_t six[] = {0x0001, 0x0009, 0x0008, 0xfff8};
    for (unsigned i = 0; i < 4; i++) {
        struct frame f = ether(0x86dd);
        ip6(&f, OPTIONS, &a6, &b6);
        ext(&f, FRAGMENT, 0);
        frag6(&f, i % 2 ? UDP : V6ICMP, six[i]);
        ports(&f, A_PORT, B_PORT);
        ck_assert_uint_eq(owner(&f), by_addresses(&a6, &b6));
    }
    /* An atomic fragment is a whole packet (RFC 6946); reserved bits say nothing. */
    struct frame f = ether(0x86dd);
    ip6(&f, FRAGMENT, &a6, &b6);
    frag6(&f, UDP, 0x0006);
    ports(&f, A_PORT, B_PORT);
    ck_assert_uint_eq(owner(&f), by_flow(&a6, &b6));
}
END_TEST

START_TEST(echo_belongs_by_addresses)
{
    for (uint8_t type = 0; type <= 8; type += 8) {
        struct frame f = ether(0x0800);
        ip4(&f, ICMP, &a4, &b4, 5, 0);
        icmp(&f, type);
        ck_assert_uint_eq(owner(&f), by_addresses(&a4, &b4));
    }
    for (uint8_t type = 128; type <= 129; type++) {
        struct frame f = ether(0x86dd);
        ip6(&f, V6ICMP, &a6, &b6);
        icmp(&f, type);
        ck_assert_uint_eq(owner(&f), by_addresses(&a6, &b6));
    }
}
END_TEST

/* From a router r about what a sent to b. */
START_TEST(icmp4_errors_follow_the_flow_they_quote)
{
    struct ip_addr r = ip_from_v4(UINT32_C(0xcb007101));
    static const uint8_t types[] = {3, 4, 5, 11, 12};
    for (size_t i = 0; i < sizeof(types); i++) {
        struct frame f = ether(0x0800);
        ip4(&f, ICMP, &r, &a4, 5, 0);
        icmp(&f, types[i]);
        struct frame quote = f;
        ip4(&quote, with_ports[i % 3], &a4, &b4, 6, 0x4000);
        ports(&quote, A_PORT, B_PORT);
        ck_assert_uint_eq(owner(&quote), by_flow(&a4, &b4));
        quote = f;
        ip4(&quote, UDP, &a4, &b4, 5, 0x2000); /* the first of our own fragments */
        ports(&quote, A_PORT, B_PORT);
        ck_assert_uint_eq(owner(&quote), by_flow(&a4, &b4));
        quote = f;
        ip4(&quote, UDP, &a4, &b4, 5, 0x0010);
        ports(&quote, A_PORT, B_PORT);
        ck_assert_uint_eq(owner(&quote), by_addresses(&a4, &b4));
        quote = f;
        ip4(&quote, ICMP, &a4, &b4, 5, 0);
        icmp(&quote, 3); /* quotes in quotes are not followed */
        ck_assert_uint_eq(owner(&quote), by_addresses(&a4, &b4));
    }
}
END_TEST

START_TEST(icmp6_errors_follow_the_flow_they_quote)
{
    struct ip_addr r = {{0x20, 1, 0xd, 0xb8, [9] = 8}};
    static const uint8_t types[] = {1, 2, 3, 4, 100, 127};
    for (size_t i = 0; i < sizeof(types); i++) {
        struct frame f = ether(0x86dd);
        ip6(&f, HOP, &r, &a6);
        ext(&f, V6ICMP, 0);
        icmp(&f, types[i]);
        struct frame quote = f;
        ip6(&quote, with_ports[i % 3], &a6, &b6);
        ports(&quote, A_PORT, B_PORT);
        ck_assert_uint_eq(owner(&quote), by_flow(&a6, &b6));
        quote = f;
        ip6(&quote, FRAGMENT, &a6, &b6);
        frag6(&quote, UDP, 1);
        ports(&quote, A_PORT, B_PORT);
        ck_assert_uint_eq(owner(&quote), by_flow(&a6, &b6));
        quote = f;
        ip6(&quote, FRAGMENT, &a6, &b6);
        frag6(&quote, UDP, 0x0108);
        ports(&quote, A_PORT, B_PORT);
        ck_assert_uint_eq(owner(&quote), by_addresses(&a6, &b6));
        quote = f;
        ip6(&quote, V6ICMP, &a6, &b6);
        icmp(&quote, 128);
        ck_assert_uint_eq(owner(&quote), by_addresses(&a6, &b6));
    }
}
END_TEST

START_TEST(discovery_is_for_everyone)
{
    struct frame f = ether(0x0806);
    ck_assert_uint_eq(owner(&f), STEER_ALL);
    f = tagged(0x0806);
    ck_assert_uint_eq(owner(&f), STEER_ALL);
    struct ip_addr group = {{0xff, 2, [15] = 1}};
    for (uint8_t type = 130; type <= 140; type++)
        for (int multicast = 0; multicast < 2; multicast++) {
            f = ether(0x86dd);
            ip6(&f, V6ICMP, &a6, multicast ? &group : &b6);
            icmp(&f, type);
            bool nd = type >= 133 && type <= 137;
            uint16_t other = multicast ? 0 : by_addresses(&a6, &b6);
            ck_assert_uint_eq(owner(&f), nd ? STEER_ALL : other);
        }
}
END_TEST

START_TEST(groups_belong_to_the_first_worker)
{
    static const uint32_t groups[] = {0xe0000001, 0xefffffff, 0xffffffff};
    static const uint8_t protos[] = {ICMP, 2, UDP, SCTP};
    for (size_t g = 0; g < 3; g++)
        for (size_t i = 0; i < sizeof(protos); i++) {
            struct ip_addr group = ip_from_v4(groups[g]);
            struct frame f = ether(0x0800);
            ip4(&f, protos[i], &a4, &group, 5, 0);
            ports(&f, A_PORT, B_PORT);
            ck_assert_uint_eq(owner(&f), 0);
        }
    struct ip_addr group = {{0xff, 2, [15] = 0x16}};
    struct frame f = ether(0x86dd);
    ip6(&f, HOP, &a6, &group);
    ext(&f, V6ICMP, 0);
    icmp(&f, 143); /* MLDv2 */
    ck_assert_uint_eq(owner(&f), 0);
    f = ether(0x86dd);
    ip6(&f, UDP, &a6, &group);
    ports(&f, A_PORT, B_PORT);
    f.flags = PKT_RX_HASH;
    f.hash = 5;
    ck_assert_uint_eq(owner(&f), 0);
}
END_TEST

START_TEST(a_devices_hash_is_believed_where_it_covered_the_ports)
{
    for (unsigned i = 0; i < sizeof(with_ports); i++) {
        bool believed = with_ports[i] != SCTP;
        struct frame f = ether(0x0800);
        ip4(&f, with_ports[i], &a4, &b4, 5, 0);
        ports(&f, A_PORT, B_PORT);
        f.hash = 0xabcdef05;
        f.flags = PKT_RX_HASH;
        ck_assert_uint_eq(owner(&f), believed ? 5 : by_flow(&a4, &b4));
        f.flags = 0;
        ck_assert_uint_eq(owner(&f), by_flow(&a4, &b4));

        f = ether(0x86dd);
        ip6(&f, with_ports[i], &a6, &b6);
        ports(&f, A_PORT, B_PORT);
        f.hash = 5;
        f.flags = PKT_RX_HASH;
        ck_assert_uint_eq(owner(&f), believed ? 5 : by_flow(&a6, &b6));

        f = ether(0x86dd);
        ip6(&f, OPTIONS, &a6, &b6);
        ext(&f, with_ports[i], 0);
        ports(&f, A_PORT, B_PORT);
        f.hash = 5;
        f.flags = PKT_RX_HASH;
        ck_assert_uint_eq(owner(&f), by_flow(&a6, &b6));
    }
    struct frame f = ether(0x0800);
    ip4(&f, UDP, &a4, &b4, 5, 0x2000);
    ports(&f, A_PORT, B_PORT);
    f.hash = 5;
    f.flags = PKT_RX_HASH;
    ck_assert_uint_eq(owner(&f), by_addresses(&a4, &b4));
    f = ether(0x0800);
    ip4(&f, ICMP, &a4, &b4, 5, 0);
    icmp(&f, 8);
    f.hash = 5;
    f.flags = PKT_RX_HASH;
    ck_assert_uint_eq(owner(&f), by_addresses(&a4, &b4));
}
END_TEST

START_TEST(what_is_malformed_belongs_to_the_first_worker)
{
    static const uint16_t types[] = {0, 0x0600, 0x88a8, 0x8847, 0xffff};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct frame f = ether(types[i]);
        more(&f, 60);
        ck_assert_uint_eq(owner(&f), 0);
    }
    struct frame f = tagged(0x8100);
    more(&f, 60);
    ck_assert_uint_eq(owner(&f), 0);
    for (unsigned b = 0; b < 256; b++) { /* version and header length */
        f = ether(0x0800);
        ip4(&f, UDP, &a4, &b4, 5, 0);
        more(&f, 60);
        f.b[14] = (uint8_t)b;
        if (b >> 4 != 4 || (b & 15) < 5)
            ck_assert_uint_eq(owner(&f), 0);
        f = ether(0x86dd);
        ip6(&f, UDP, &a6, &b6);
        ports(&f, A_PORT, B_PORT);
        f.b[14] = (uint8_t)b;
        ck_assert_uint_eq(owner(&f), b >> 4 == 6 ? by_flow(&a6, &b6) : 0);
    }
}
END_TEST

START_TEST(extension_headers_are_followed_within_a_bound)
{
    for (unsigned n = 7; n <= 10; n++) {
        struct frame f = ether(0x86dd);
        ip6(&f, OPTIONS, &a6, &b6);
        for (unsigned i = 1; i < n; i++)
            ext(&f, OPTIONS, 0);
        ext(&f, TCP, 0);
        ports(&f, A_PORT, B_PORT);
        ck_assert_uint_eq(owner(&f), n <= 8 ? by_flow(&a6, &b6) : 0);
    }
}
END_TEST

/* Cut at every byte: nothing past the end is read (the packets are of exactly that size), and
 * before the ports are there the owner is the first worker. */
static void cut_everywhere(const struct frame *f, size_t needed, uint16_t whole)
{
    for (size_t len = 0; len <= f->len; len++)
        for (size_t view = 0; view < 9; view += 4)
            ck_assert_uint_eq(owner_cut(f, len, view), len < needed ? 0 : whole);
}

START_TEST(survives_cuts)
{
    struct frame f = tagged(0x0800);
    ip4(&f, TCP, &a4, &b4, 7, 0);
    ports(&f, A_PORT, B_PORT);
    cut_everywhere(&f, 18 + 28 + 4, by_flow(&a4, &b4));

    f = ether(0x86dd);
    ip6(&f, HOP, &a6, &b6);
    ext(&f, FRAGMENT, 1);
    frag6(&f, SCTP, 0);
    ports(&f, A_PORT, B_PORT);
    cut_everywhere(&f, 14 + 40 + 16 + 8 + 4, by_flow(&a6, &b6));

    f = ether(0x0800);
    ip4(&f, ICMP, &b4, &a4, 5, 0);
    icmp(&f, 3);
    ip4(&f, UDP, &a4, &b4, 5, 0);
    ports(&f, A_PORT, B_PORT);
    cut_everywhere(&f, 14 + 20 + 8 + 20 + 4, by_flow(&a4, &b4));

    f = ether(0x86dd);
    ip6(&f, V6ICMP, &b6, &a6);
    icmp(&f, 2);
    ip6(&f, OPTIONS, &a6, &b6);
    ext(&f, UDP, 0);
    ports(&f, A_PORT, B_PORT);
    cut_everywhere(&f, 14 + 40 + 8 + 40 + 8 + 4, by_flow(&a6, &b6));
}
END_TEST

UNIT_MAIN("steer", setup, teardown, the_reference_is_right, the_hash_is_the_devices,
          slots_are_dealt_in_turn, clients_spread_evenly, flows_belong_to_their_tuples_worker,
          protocols_without_ports_belong_by_addresses, all_fragments_belong_by_addresses,
          echo_belongs_by_addresses, icmp4_errors_follow_the_flow_they_quote,
          icmp6_errors_follow_the_flow_they_quote, discovery_is_for_everyone,
          groups_belong_to_the_first_worker, a_devices_hash_is_believed_where_it_covered_the_ports,
          what_is_malformed_belongs_to_the_first_worker,
          extension_headers_are_followed_within_a_bound, survives_cuts)
