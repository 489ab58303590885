/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/nd.h"

#include "base/bytes.h"
#include "support/exact.h"
#include "support/unit.h"
#include "wire/checksum.h"
#include "wire/error.h"
#include "wire/icmpv6.h"
#include "wire/proto.h"

static const uint8_t source_link[] = {1, 1, 0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
static const uint8_t target_link[] = {2, 1, 0x52, 0x54, 0x00, 0x65, 0x43, 0x21};

struct message {
    uint8_t bytes[2048];
    size_t len;
    struct ipv6_hdr ip;
};

static struct ip_addr ip(const char *text)
{
    struct ip_addr a;
    ck_assert_msg(ip_parse(text, &a), "%s", text);
    return a;
}

static void put_addr(struct message *m, size_t at, const char *text)
{
    struct ip_addr a = ip(text);
    memcpy(m->bytes + at, a.b, 16);
}

/* A message of fixed bytes, all zero but for its type, from src to dst. */
static struct message message_of(uint8_t type, size_t fixed, const char *src, const char *dst)
{
    struct message m = {.len = fixed, .ip = {.hop_limit = 255, .src = ip(src), .dst = ip(dst)}};
    m.bytes[0] = type;
    return m;
}

static void add(struct message *m, const void *option, size_t len)
{
    memcpy(m->bytes + m->len, option, len);
    m->len += len;
}

/* From a block of exactly the message's size; m's options are not to be walked. */
static int parse(const struct message *msg, struct nd_msg *m)
{
    uint8_t *bytes = exact(msg->bytes, msg->len);
    int got = nd_parse(bytes, msg->len, &msg->ip, m);
    free(bytes);
    return got;
}

static int verdict(const struct message *msg)
{
    struct nd_msg m;
    return parse(msg, &m);
}

static struct message solicit(const char *src, const char *dst)
{
    struct message m = message_of(ICMPV6_NEIGH_SOLICIT, 24, src, dst);
    put_addr(&m, 8, "2001:db8::12:3456");
    return m;
}

static struct message advert(uint8_t flags, const char *dst)
{
    struct message m = message_of(ICMPV6_NEIGH_ADVERT, 24, "fe80::1", dst);
    m.bytes[4] = flags;
    put_addr(&m, 8, "2001:db8::12:3456");
    return m;
}

static struct message redirect(const char *target, const char *destination)
{
    struct message m = message_of(ICMPV6_REDIRECT, 40, "fe80::1", "2001:db8::9");
    put_addr(&m, 8, target);
    put_addr(&m, 24, destination);
    return m;
}

START_TEST(reads_a_solicitation)
{
    struct message msg = solicit("2001:db8::1", "ff02::1:ff12:3456");
    add(&msg, source_link, 8);
    struct nd_msg m;
    ck_assert_int_eq(parse(&msg, &m), 24);
    struct ip_addr target = ip("2001:db8::12:3456");
    ck_assert_uint_eq(m.type, ICMPV6_NEIGH_SOLICIT);
    ck_assert(ip_eq(&m.target, &target));
    ck_assert(m.has_source_link && !m.has_target_link);
    ck_assert_mem_eq(m.source_link.b, source_link + 2, 6);
    ck_assert_uint_eq(m.mtu, 0);
}
END_TEST

START_TEST(reads_an_advertisement)
{
    struct nd_msg m;
    struct message msg = advert(0xe0, "2001:db8::1");
    add(&msg, target_link, 8);
    ck_assert_int_eq(parse(&msg, &m), 24);
    ck_assert(m.router && m.solicited && m.override && m.has_target_link);
    ck_assert_mem_eq(m.target_link.b, target_link + 2, 6);
    msg = advert(0x20, "ff02::1");
    ck_assert_int_eq(parse(&msg, &m), 24);
    ck_assert(!m.router && !m.solicited && m.override && !m.has_target_link);
}
END_TEST

/* A router's advertisement with everything in it. */
static struct message router_advert(void)
{
    static const uint8_t fixed[] = {134, 0, 0,    0,    64, 0x80, 0x07, 0x08,
                                    0,   0, 0x75, 0x30, 0,  0,    3,    0xe8};
    static const uint8_t prefix[] = {3,    4, 64, 0xc0, 0, 0,    0x0e, 0x10, 0xff, 0xff, 0xff,
                                     0xff, 0, 0,  0,    0, 0x20, 0x01, 0x0d, 0xb8, 0,    0,
                                     0,    7, 0,  0,    0, 0,    0,    0,    0,    0};
    static const uint8_t mtu[] = {5, 1, 0, 0, 0, 0, 0x05, 0x14};
    static const uint8_t unknown[16] = {253, 2};
    struct message m = message_of(ICMPV6_ROUTER_ADVERT, 16, "fe80::1", "ff02::1");
    memcpy(m.bytes, fixed, sizeof(fixed));
    add(&m, unknown, sizeof(unknown));
    add(&m, source_link, 8);
    add(&m, mtu, sizeof(mtu));
    add(&m, prefix, sizeof(prefix));
    return m;
}

START_TEST(reads_a_routers_advertisement)
{
    struct message msg = router_advert();
    struct nd_msg m;
    ck_assert_int_eq(parse(&msg, &m), 16);
    ck_assert_uint_eq(m.hop_limit, 64);
    ck_assert(m.managed && !m.other_config);
    ck_assert_uint_eq(m.lifetime_s, 1800);
    ck_assert_uint_eq(m.reachable_ms, 30000);
    ck_assert_uint_eq(m.retrans_ms, 1000);
    ck_assert_uint_eq(m.mtu, 1300);
    ck_assert(m.has_source_link && !m.has_target_link);
}
END_TEST

START_TEST(walks_options)
{
    struct message msg = router_advert();
    struct nd_msg m;
    ck_assert_int_eq(nd_parse(msg.bytes, msg.len, &msg.ip, &m), 16);
    struct nd_options it = m.options;
    struct nd_option o;
    ck_assert(nd_option_next(&it, &o));
    ck_assert_uint_eq(o.type, 253);
    ck_assert(nd_option_next(&it, &o));
    ck_assert_uint_eq(o.type, ND_OPTION_SOURCE_LINK);
    ck_assert_mem_eq(o.mac.b, source_link + 2, 6);
    ck_assert(nd_option_next(&it, &o));
    ck_assert_uint_eq(o.type, ND_OPTION_MTU);
    ck_assert_uint_eq(o.mtu, 1300);
    ck_assert(nd_option_next(&it, &o));
    ck_assert_uint_eq(o.type, ND_OPTION_PREFIX);
    struct ip_addr net = ip("2001:db8:0:7::");
    ck_assert(ip_eq(&o.prefix.prefix.addr, &net));
    ck_assert_uint_eq(o.prefix.prefix.len, 64);
    ck_assert(o.prefix.on_link && o.prefix.autonomous);
    ck_assert_uint_eq(o.prefix.valid_s, 3600);
    ck_assert_uint_eq(o.prefix.preferred_s, UINT32_MAX);
    ck_assert(!nd_option_next(&it, &o));
    ck_assert(!nd_option_next(&it, &o));
}
END_TEST

START_TEST(cut_anywhere_is_an_error)
{
    struct message whole = router_advert();
    for (size_t n = 0; n < whole.len; n++) {
        struct message m = whole;
        m.len = n;
        bool between_options = n == 16 || n == 32 || n == 40 || n == 48;
        int expect = n < 16 ? -WIRE_ND_SHORT : between_options ? 16 : -WIRE_ND_OPTION;
        ck_assert_int_eq(verdict(&m), expect);
    }
    static const struct {
        uint8_t type;
        size_t fixed;
    } kinds[] = {{133, 8}, {135, 24}, {136, 24}, {137, 40}};
    for (int i = 0; i < 4; i++) {
        struct message m = message_of(kinds[i].type, kinds[i].fixed, "fe80::1", "2001:db8::1");
        ck_assert_int_eq(verdict(&m), (int)kinds[i].fixed);
        while (m.len-- > 0)
            ck_assert_int_eq(verdict(&m), -WIRE_ND_SHORT);
    }
}
END_TEST

START_TEST(what_every_message_needs)
{
    for (uint8_t type = ICMPV6_ROUTER_SOLICIT; type <= ICMPV6_REDIRECT; type++) {
        struct message good = message_of(type, 40, "fe80::1", "2001:db8::1");
        good.len = type == 133 ? 8 : type == 134 ? 16 : type == 137 ? 40 : 24;
        ck_assert_int_eq(verdict(&good), (int)good.len);
        struct message m = good;
        m.ip.hop_limit = 254;
        ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
        m = good;
        m.bytes[1] = 1;
        ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
        m = good;
        m.ip.frag.present = true; /* RFC 6980 5 */
        ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
    }
    struct message m = message_of(132, 40, "fe80::1", "2001:db8::1");
    ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
    m.bytes[0] = 138;
    ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
}
END_TEST

START_TEST(an_unspecified_source)
{
    /* Duplicate address detection: to the solicited-node group, and without a link-layer address.
     */
    struct message m = solicit("::", "ff02::1:ff12:3456");
    ck_assert_int_eq(verdict(&m), 24);
    add(&m, source_link, 8);
    ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
    m = solicit("::", "2001:db8::12:3456");
    ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
    m = solicit("::", "ff02::1");
    ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);

    m = message_of(ICMPV6_ROUTER_SOLICIT, 8, "::", "ff02::2");
    ck_assert_int_eq(verdict(&m), 8);
    add(&m, source_link, 8);
    ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
    m.ip.src = ip("fe80::1");
    ck_assert_int_eq(verdict(&m), 8);
}
END_TEST

START_TEST(forbidden_targets)
{
    struct message m = solicit("2001:db8::1", "2001:db8::2");
    put_addr(&m, 8, "ff02::1");
    ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
    m = advert(0x20, "2001:db8::2");
    put_addr(&m, 8, "ff02::1");
    ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
    /* An IPv4-mapped one would be taken for an IPv4 neighbour. */
    put_addr(&m, 8, "192.0.2.1");
    ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
}
END_TEST

START_TEST(no_solicited_flag_to_a_group)
{
    struct message m = advert(0x40, "ff02::1");
    ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
    m = advert(0xa0, "ff02::1");
    ck_assert_int_eq(verdict(&m), 24);
}
END_TEST

START_TEST(routers_speak_from_link_local)
{
    struct message m = router_advert();
    m.ip.src = ip("2001:db8::1");
    ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
    m = redirect("fe80::2", "2001:db8:1::1");
    ck_assert_int_eq(verdict(&m), 40);
    m.ip.src = ip("2001:db8::1");
    ck_assert_int_eq(verdict(&m), -WIRE_ND_INVALID);
}
END_TEST

START_TEST(redirects)
{
    struct message msg = redirect("2001:db8:1::1", "2001:db8:1::1");
    struct nd_msg m;
    ck_assert_int_eq(parse(&msg, &m), 40);
    struct ip_addr destination = ip("2001:db8:1::1");
    ck_assert(ip_eq(&m.destination, &destination));
    msg = redirect("2001:db8:1::2", "2001:db8:1::1");
    ck_assert_int_eq(verdict(&msg), -WIRE_ND_INVALID);
    msg = redirect("fe80::2", "ff05::1");
    ck_assert_int_eq(verdict(&msg), -WIRE_ND_INVALID);
}
END_TEST

START_TEST(impossible_options)
{
    static const uint8_t bad[][8] = {
        {1, 0},                /* length 0 */
        {253, 0},              /* of an unknown type too */
        {1, 2},                /* beyond the end */
        {5, 255},              /* far beyond */
        {253, 2},              /* of an unknown type too */
        {1, 1, 1, 0, 0, 0, 0}, /* a group's MAC address */
        {2, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
        {3, 1}, /* a prefix of 8 bytes */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct message m = solicit("2001:db8::1", "2001:db8::2");
        add(&m, bad[i], 8);
        ck_assert_int_eq(verdict(&m), -WIRE_ND_OPTION);
    }
    static const uint8_t long_link[16] = {1, 2};
    struct message m = solicit("2001:db8::1", "2001:db8::2");
    add(&m, long_link, 16);
    ck_assert_int_eq(verdict(&m), -WIRE_ND_OPTION);
    static const uint8_t long_mtu[16] = {5, 2};
    m = solicit("2001:db8::1", "2001:db8::2");
    add(&m, long_mtu, 16);
    ck_assert_int_eq(verdict(&m), -WIRE_ND_OPTION);
    m = router_advert();
    m.bytes[48 + 2] = 129; /* the prefix's length */
    ck_assert_int_eq(verdict(&m), -WIRE_ND_OPTION);
}
END_TEST

START_TEST(the_first_of_two_addresses_counts)
{
    uint8_t other[8];
    memcpy(other, target_link, 8);
    other[7] ^= 1;
    struct message msg = advert(0x20, "2001:db8::1");
    add(&msg, target_link, 8);
    add(&msg, other, 8);
    struct nd_msg m;
    ck_assert_int_eq(parse(&msg, &m), 24);
    ck_assert_mem_eq(m.target_link.b, target_link + 2, 6);
    other[0] = ND_OPTION_SOURCE_LINK;
    add(&msg, source_link, 8);
    add(&msg, other, 8);
    ck_assert_int_eq(parse(&msg, &m), 24);
    ck_assert_mem_eq(m.source_link.b, source_link + 2, 6);
}
END_TEST

START_TEST(bounds_options)
{
    static const uint8_t unknown[8] = {253, 1};
    struct message m = solicit("2001:db8::1", "2001:db8::2");
    for (unsigned i = 0; i < ND_OPTION_MAX; i++)
        add(&m, unknown, 8);
    ck_assert_int_eq(verdict(&m), 24);
    add(&m, unknown, 8);
    ck_assert_int_eq(verdict(&m), -WIRE_ND_OPTION);
}
END_TEST

static void expect_emitted(const struct message *expect)
{
    struct nd_msg m;
    ck_assert_int_gt(nd_parse(expect->bytes, expect->len, &expect->ip, &m), 0);
    uint8_t out[ND_EMIT_MAX];
    size_t n = nd_emit(&m, &expect->ip.src, &expect->ip.dst, out);
    ck_assert_uint_eq(n, expect->len);
    struct checksum sum =
        checksum_pseudo(&expect->ip.src, &expect->ip.dst, IP_PROTO_ICMPV6, (uint32_t)n);
    ck_assert(checksum_ok(checksum_add(sum, out, n)));
    store_be16(out + 2, 0);
    ck_assert_mem_eq(out, expect->bytes, n);
}

START_TEST(emit_undoes_parse)
{
    struct message m = solicit("2001:db8::1", "ff02::1:ff12:3456");
    expect_emitted(&m);
    add(&m, source_link, 8);
    expect_emitted(&m);
    m = solicit("::", "ff02::1:ff12:3456");
    expect_emitted(&m);
    for (unsigned flags = 0; flags < 8; flags++) {
        m = advert((uint8_t)(flags << 5), "2001:db8::1");
        expect_emitted(&m);
        add(&m, target_link, 8);
        expect_emitted(&m);
    }
    m = message_of(ICMPV6_ROUTER_SOLICIT, 8, "fe80::1", "ff02::2");
    expect_emitted(&m);
    add(&m, source_link, 8);
    expect_emitted(&m);
}
END_TEST

UNIT_MAIN("nd", NULL, NULL, reads_a_solicitation, reads_an_advertisement,
          reads_a_routers_advertisement, walks_options, cut_anywhere_is_an_error,
          what_every_message_needs, an_unspecified_source, forbidden_targets,
          no_solicited_flag_to_a_group, routers_speak_from_link_local, redirects,
          impossible_options, the_first_of_two_addresses_counts, bounds_options, emit_undoes_parse)
