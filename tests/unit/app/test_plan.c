/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/plan.h"

#include "app/mbuf.h"
#include "support/unit.h"

static struct config c;
static struct config_device device[2];

static void setup(void)
{
    c = (struct config){.device = device, .n_devices = 1, .workers.n = 1};
    c.limits.reass_bytes = 4 << 20;
    c.limits.tx_queue = 4096;
    for (unsigned i = 0; i < 2; i++)
        device[i] = (struct config_device){.driver = CONFIG_DRIVER_TAP, .iface.mtu = 1500};
}

START_TEST(packets_are_enough_for_all_queues)
{
    /* A worker: 1,024 of two kinds, 2,048, 4,096, TCP's 14,564; a queue: 2,048. */
    ck_assert_uint_eq(plan_packets(&c), 32767);
    c.n_devices = 2;
    ck_assert_uint_eq(plan_packets(&c), 32767);
    device[0].rx_descriptors = 8192;
    ck_assert_uint_eq(plan_packets(&c), 65535);
    c.workers.n = 4; /* with rings between all of them */
    ck_assert_uint_eq(plan_packets(&c), 262143);
    c.memory.packets = 1;
    ck_assert_uint_eq(plan_packets(&c), 512);
    c.memory.packets = 100000;
    ck_assert_uint_eq(plan_packets(&c), 100000);
}
END_TEST

START_TEST(stacks_at_their_bounds_leave_something_to_receive_with)
{
    c.n_devices = 2;
    c.limits.tx_queue = 20000; /* of either device */
    ck_assert_uint_gt(plan_packets(&c), 40000);
    c.limits.tx_queue = 64;
    c.limits.reass_bytes = 128 << 20;
    ck_assert_uint_gt(plan_packets(&c), (128 << 20) / 2048);
    c.workers.n = 2;
    ck_assert_uint_gt(plan_packets(&c), 2 * (128 << 20) / 2048);
}
END_TEST

START_TEST(tcp_has_what_is_left_of_the_pool)
{
    uint64_t others = 10240;
    ck_assert_uint_eq(plan_tcp_memory(&c), (32767 - others) * PKT_COST);
    c.limits.tcp_memory = 100 << 20;
    ck_assert_uint_eq(plan_tcp_memory(&c), 100 << 20);
    ck_assert_uint_gt(plan_packets(&c), others + (100 << 20) / PKT_COST);
    ck_assert_uint_ge(plan_tcp_memory_most(&c), 100 << 20);
}
END_TEST

START_TEST(tcp_has_its_part_of_a_small_pool)
{
    c.memory.packets = 20000;
    ck_assert_uint_eq(plan_tcp_memory(&c), (20000 - 10240) * PKT_COST);
    c.memory.packets = 8000; /* less than all others at their bounds */
    ck_assert_uint_eq(plan_tcp_memory(&c), 2000 * PKT_COST);
    c.workers.n = 2;
    ck_assert_uint_eq(plan_tcp_memory(&c), 1000 * PKT_COST);
}
END_TEST

START_TEST(a_pool_is_no_larger_than_planned)
{
    static const uint16_t rooms[] = {2048, 2049, 4096, 9000, PLAN_ROOM_MAX};
    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        uint64_t one = mbuf_object_bytes(rooms[i]) + 320;
        uint64_t planned = plan_pool_bytes(1000, rooms[i]);
        ck_assert_uint_ge(planned, 1000 * one);
        ck_assert_uint_le(planned, 1100 * one);
    }
}
END_TEST

START_TEST(megabytes_follow_packets_unless_given)
{
    ck_assert_uint_eq(plan_megabytes(&c), plan_megabytes_wanted(&c));
    ck_assert_uint_ge(plan_megabytes(&c), 150);
    ck_assert_uint_le(plan_megabytes(&c), 170);
    ck_assert_uint_lt(plan_megabytes_least(&c), plan_megabytes_wanted(&c));
    uint32_t wanted = plan_megabytes_wanted(&c);
    device[0].iface.mtu = 9000;
    ck_assert_uint_gt(plan_megabytes_wanted(&c), wanted + 100);
    c.memory.megabytes = 7;
    ck_assert_uint_eq(plan_megabytes(&c), 7);
}
END_TEST

START_TEST(hugepages_come_on_top_of_those_in_use)
{
    char fix[PLAN_FIX_MAX];
    c.memory.megabytes = 111;
    ck_assert_str_eq(plan_hugepages_fix(&c, 0, fix),
                     "sysctl vm.nr_hugepages=56 (by NUMA node: drivers-cfg/hugepages.sh)");
    ck_assert_str_eq(plan_hugepages_fix(&c, 100, fix),
                     "sysctl vm.nr_hugepages=156 (by NUMA node: drivers-cfg/hugepages.sh)");
}
END_TEST

UNIT_MAIN("plan", setup, NULL, packets_are_enough_for_all_queues,
          stacks_at_their_bounds_leave_something_to_receive_with, tcp_has_what_is_left_of_the_pool,
          tcp_has_its_part_of_a_small_pool, a_pool_is_no_larger_than_planned,
          megabytes_follow_packets_unless_given, hugepages_come_on_top_of_those_in_use)
