/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/device.h"

#include <string.h>

#include "support/unit.h"

static struct config_device d;
static char interface[] = "eth1";
static char args[DEVICE_ARGS_MAX];

static void setup(void)
{
    d = (struct config_device){.driver = CONFIG_DRIVER_TAP, .interface = interface};
    d.iface.mtu = 1500;
}

static const char *args_of(unsigned workers)
{
    ck_assert(device_args(&d, device_plan(&d, workers), 0, args));
    return args;
}

START_TEST(one_queue_for_each_worker)
{
    d.driver = CONFIG_DRIVER_NULL;
    ck_assert_uint_eq(device_plan(&d, 3).queues, 3);
    ck_assert_uint_eq(device_plan(&d, 1000).queues, CONFIG_QUEUES_MAX);
    d.queues = 2;
    ck_assert_uint_eq(device_plan(&d, 3).queues, 2);
    ck_assert_uint_eq(device_plan(&d, 3).n_dpdk, 1);
}
END_TEST

/* DPDK's driver sends a descriptor for each direction of each queue in an array of eight. */
START_TEST(a_tap_has_four_queues_at_most)
{
    ck_assert_uint_eq(device_plan(&d, 4).queues, 4);
    ck_assert_uint_eq(device_plan(&d, 5).queues, 4);
    d.queues = 64;
    ck_assert_uint_eq(device_plan(&d, 1).queues, 4);
}
END_TEST

START_TEST(a_capture_file_has_one_queue)
{
    d.driver = CONFIG_DRIVER_PCAP;
    d.queues = 8;
    ck_assert_uint_eq(device_plan(&d, 4).queues, 1);
}
END_TEST

/* An interface that is not there has one queue and no channels. */
START_TEST(af_xdp_takes_a_port_for_each_queue)
{
    struct device_plan plan;
    char absent[] = "none0";
    d.driver = CONFIG_DRIVER_AF_XDP;
    d.interface = absent;
    d.queues = 3;
    plan = device_plan(&d, 1);
    ck_assert_uint_eq(plan.n_dpdk, 3);
    ck_assert_uint_eq(plan.queues, 1);
    ck_assert(device_args(&d, plan, 2, args));
    ck_assert_str_eq(args, "iface=none0,start_queue=2,queue_count=1");
}
END_TEST

START_TEST(names_are_the_drivers_and_apart)
{
    char name[DEVICE_NAME_MAX];
    char pci[] = "0000:03:00.0";
    device_name(&d, 1, 0, name);
    ck_assert_str_eq(name, "net_tap1");
    device_name(&d, 1, 2, name);
    ck_assert_str_eq(name, "net_tap1q2");
    d.driver = CONFIG_DRIVER_PCI;
    d.pci = pci;
    device_name(&d, 1, 0, name);
    ck_assert_str_eq(name, pci);
}
END_TEST

/* The kernel wants frames to be a power of two and blocks to hold whole ones. */
START_TEST(af_packet_frames_hold_the_mtu)
{
    d.driver = CONFIG_DRIVER_AF_PACKET;
    ck_assert_str_eq(args_of(2), "iface=eth1,qpairs=2,framesz=2048,blocksz=65536,framecnt=512");
    d.iface.mtu = 9000;
    d.rx_descriptors = 1001;
    ck_assert_str_eq(args_of(1), "iface=eth1,qpairs=1,framesz=16384,blocksz=65536,framecnt=1004");
    ck_assert_uint_eq(device_room(&d), 16384);
}
END_TEST

START_TEST(own_args_come_last_and_have_a_bound)
{
    static char more[DEVICE_ARGS_MAX + 8];
    d.args = more;
    strcpy(more, "mac=fixed");
    ck_assert_str_eq(args_of(1), "iface=eth1,mac=fixed");
    memset(more, 'x', sizeof(more) - 1);
    ck_assert(!device_args(&d, device_plan(&d, 1), 0, args));
}
END_TEST

UNIT_MAIN("device", setup, NULL, one_queue_for_each_worker, a_tap_has_four_queues_at_most,
          a_capture_file_has_one_queue, af_xdp_takes_a_port_for_each_queue,
          names_are_the_drivers_and_apart, af_packet_frames_hold_the_mtu,
          own_args_come_last_and_have_a_bound)
