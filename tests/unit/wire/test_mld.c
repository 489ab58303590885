/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/mld.h"

#include <string.h>

#include "base/bytes.h"
#include "support/exact.h"
#include "support/unit.h"
#include "wire/checksum.h"
#include "wire/error.h"
#include "wire/proto.h"

static const struct ip_addr group = {{0xff, 2, [11] = 1, 0xff, 1, 2, 3}};
static const struct ip_addr router = {{0xfe, 0x80, [15] = 1}};
static const struct ip_addr reporters = {{0xff, 2, [15] = 0x16}};

static struct ipv6_hdr ip;

static void setup(void)
{
    ip = (struct ipv6_hdr){.src = router, .hop_limit = 1, .router_alert = true};
}

static int parse(const uint8_t *bytes, size_t len, struct mld_query *q)
{
    uint8_t *copy = exact(bytes, len);
    int n = mld_query_parse(copy, len, &ip, q);
    free(copy);
    return n;
}

static void query(uint8_t *at, uint16_t delay, const struct ip_addr *g)
{
    memset(at, 0, 28);
    at[0] = MLD_QUERY;
    store_be16(at + 4, delay);
    memcpy(at + 8, g->b, 16);
}

START_TEST(the_length_tells_the_versions_apart)
{
    uint8_t at[64];
    struct mld_query q;
    query(at, 10000, &group);
    ck_assert_int_eq(parse(at, 24, &q), 24);
    ck_assert(q.v1);
    ck_assert_mem_eq(q.group.b, group.b, 16);
    ck_assert_uint_eq(q.max_delay, 10 * TICK_SEC);
    ck_assert_int_eq(parse(at, 28, &q), 28);
    ck_assert(!q.v1);
    ck_assert_int_eq(parse(at, 40, &q), 28); /* what is behind it is for later versions */
    for (size_t len = 0; len < 28; len++)
        if (len != 24)
            ck_assert_int_eq(parse(at, len, &q), -WIRE_MLD_SHORT);
}
END_TEST

/* RFC 3810 5.1.3 */
START_TEST(long_delays_have_an_exponent)
{
    static const struct {
        uint16_t code;
        uint32_t ms;
    } table[] = {{0, 0},
                 {1, 1},
                 {0x7fff, 32767},
                 {0x8000, 0x1000 << 3},
                 {0x8001, 0x1001 << 3},
                 {0x9fff, 0x1fff << 4},
                 {0xffff, 0x1fff << 10}};
    uint8_t at[28];
    struct mld_query q;
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        query(at, table[i].code, &IP_ADDR_ANY6);
        ck_assert_int_eq(parse(at, 28, &q), 28);
        ck_assert_uint_eq(q.max_delay, table[i].ms * TICK_MS);
        ck_assert_int_eq(parse(at, 24, &q), 24); /* version 1 knows milliseconds alone */
        ck_assert_uint_eq(q.max_delay, table[i].code * TICK_MS);
    }
}
END_TEST

START_TEST(sources_are_counted)
{
    uint8_t at[28 + 48] = {0};
    struct mld_query q;
    query(at, 1, &group);
    store_be16(at + 26, 3);
    ck_assert_int_eq(parse(at, 28 + 48, &q), 28 + 48);
    ck_assert_int_eq(parse(at, 28 + 47, &q), -WIRE_MLD_SHORT);
    store_be16(at + 26, 0xffff);
    ck_assert_int_eq(parse(at, 28 + 48, &q), -WIRE_MLD_SHORT);
}
END_TEST

/* RFC 3810 6.2 */
START_TEST(what_a_query_must_come_under)
{
    uint8_t at[28];
    struct mld_query q;
    query(at, 1, &group);
    ip.hop_limit = 2;
    ck_assert_int_eq(parse(at, 28, &q), -WIRE_MLD_INVALID);
    setup();
    ip.router_alert = false;
    ck_assert_int_eq(parse(at, 28, &q), -WIRE_MLD_INVALID);
    setup();
    ip.src.b[0] = 0x20;
    ck_assert_int_eq(parse(at, 28, &q), -WIRE_MLD_INVALID);
    setup();
    ip.src = IP_ADDR_ANY6;
    ck_assert_int_eq(parse(at, 28, &q), -WIRE_MLD_INVALID);
    setup();
    ip.frag.present = true;
    ck_assert_int_eq(parse(at, 28, &q), -WIRE_MLD_INVALID);
    setup();
    query(at, 1, &router); /* not a group */
    ck_assert_int_eq(parse(at, 28, &q), -WIRE_MLD_INVALID);
}
END_TEST

static bool sum_ok(const uint8_t *at, size_t len, const struct ip_addr *src,
                   const struct ip_addr *dst)
{
    struct checksum c = checksum_pseudo(src, dst, IP_PROTO_ICMPV6, (uint32_t)len);
    return checksum_ok(checksum_add(c, at, len));
}

START_TEST(a_report_of_two_groups)
{
    struct mld_record r[] = {{MLD_TO_EXCLUDE, group}, {MLD_TO_INCLUDE, reporters}};
    ck_assert_uint_eq(mld2_report_len(2), 48);
    uint8_t *at = exact(&(uint8_t[48]){0xaa}, 48);
    ck_assert_uint_eq(mld2_report_emit(r, 2, &router, &reporters, at), 48);
    static const uint8_t head[8] = {143, 0, 0, 0, 0, 0, 0, 2};
    ck_assert_mem_eq(at, head, 2);
    ck_assert_mem_eq(at + 4, head + 4, 4);
    static const uint8_t record[2][4] = {{4, 0, 0, 0}, {3, 0, 0, 0}};
    ck_assert_mem_eq(at + 8, record[0], 4);
    ck_assert_mem_eq(at + 12, group.b, 16);
    ck_assert_mem_eq(at + 28, record[1], 4);
    ck_assert_mem_eq(at + 32, reporters.b, 16);
    ck_assert(sum_ok(at, 48, &router, &reporters));
    free(at);
}
END_TEST

START_TEST(a_report_of_version_1)
{
    uint8_t *at = exact(&(uint8_t[24]){0xaa}, 24);
    ck_assert_uint_eq(mld1_emit(MLD1_REPORT, &group, &router, &group, at), 24);
    ck_assert_uint_eq(at[0], 131);
    ck_assert_mem_eq(at + 8, group.b, 16);
    ck_assert(sum_ok(at, 24, &router, &group));
    ck_assert_uint_eq(mld1_emit(MLD1_DONE, &group, &router, &reporters, at), 24);
    ck_assert_uint_eq(at[0], 132);
    ck_assert(sum_ok(at, 24, &router, &reporters));
    free(at);
}
END_TEST

UNIT_MAIN("mld", setup, NULL, the_length_tells_the_versions_apart, long_delays_have_an_exponent,
          sources_are_counted, what_a_query_must_come_under, a_report_of_two_groups,
          a_report_of_version_1)
