/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats/counter.h"

#include <string.h>

#include "support/unit.h"

static struct counters c;

START_TEST(counts_each_name_apart)
{
    counter_add(&c, COUNTER_RX_PACKETS, 3);
    counter_add(&c, COUNTER_RX_PACKETS, 4);
    counter_drop(&c, DROP_IP4_CHECKSUM);
    ck_assert_uint_eq(counter_get(&c, COUNTER_RX_PACKETS), 7);
    ck_assert_uint_eq(counter_get(&c, COUNTER_RX_BYTES), 0);
    ck_assert_uint_eq(counter_drops(&c, DROP_IP4_CHECKSUM), 1);
    ck_assert_uint_eq(counter_drops(&c, DROP_IP4_SHORT), 0);
}
END_TEST

START_TEST(a_parsers_error_is_a_drop_reason)
{
    ck_assert_int_eq((int)WIRE_IP4_CHECKSUM, (int)DROP_IP4_CHECKSUM);
    ck_assert_int_eq((int)WIRE_UDP_CHECKSUM, (int)DROP_UDP_CHECKSUM);
    ck_assert_str_eq(drop_name(DROP_IP4_CHECKSUM), "ip4_checksum");
}
END_TEST

START_TEST(names_are_unique_and_fit_a_metric)
{
    for (int i = DROP_NONE + 1; i < DROP_END; i++) {
        const char *name = drop_name((enum drop)i);
        ck_assert_uint_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(name));
        ck_assert_uint_gt(strlen(drop_text((enum drop)i)), 0);
        for (int j = i + 1; j < DROP_END; j++)
            ck_assert_str_ne(name, drop_name((enum drop)j));
    }
    for (int i = 0; i < COUNTER_END; i++) {
        ck_assert_uint_gt(strlen(counter_text((enum counter)i)), 0);
        for (int j = i + 1; j < COUNTER_END; j++)
            ck_assert_str_ne(counter_name((enum counter)i), counter_name((enum counter)j));
    }
}
END_TEST

UNIT_MAIN("counter", NULL, NULL, counts_each_name_apart, a_parsers_error_is_a_drop_reason,
          names_are_unique_and_fit_a_metric)
