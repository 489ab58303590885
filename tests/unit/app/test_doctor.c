/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/doctor.h"

#include <ftw.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/unit.h"

/* A machine made of files below a directory. */
static char root[64];
static struct config config;
static struct config_device device;
static struct doctor d;

static void setup(void)
{
    strcpy(root, "/tmp/millrace-doctor-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    memset(&config, 0, sizeof(config));
    memset(&device, 0, sizeof(device));
    config.workers.n = 2;
    config.workers.core[0] = 1;
    config.workers.core[1] = 2;
    config.control.core = -1;
    strcpy(device.iface.name, "wan0");
    device.iface.mtu = 1500;
    config.device = &device;
    d = (struct doctor){.root = root, .config = &config};
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static void teardown(void)
{
    doctor_clear(&d);
    ck_assert_int_eq(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void make_parents(const char *path)
{
    char part[PATH_MAX];
    for (const char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
        mkdir(part, 0755);
    }
}

static void file(const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s%s", root, name);
    make_parents(path);
    FILE *f = fopen(path, "w");
    ck_assert_msg(f != NULL, "%s", path);
    fputs(text, f);
    fclose(f);
}

static void link_to(const char *name, const char *target)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s%s", root, name);
    make_parents(path);
    ck_assert_int_eq(symlink(target, path), 0);
}

/* The finding whose text has part; it has to be of that level, and say what to do if it is bad. */
static void expect(enum doctor_level level, const char *part)
{
    for (size_t i = 0; i < d.n; i++) {
        if (!strstr(d.finding[i].text, part))
            continue;
        ck_assert_msg(d.finding[i].level == level, "level %d: %s", (int)d.finding[i].level,
                      d.finding[i].text);
        ck_assert_msg(level == DOCTOR_OK || d.finding[i].fix, "no fix: %s", d.finding[i].text);
        return;
    }
    doctor_print(&d, false, stderr);
    ck_abort_msg("no finding says '%s'", part);
}

static void expect_nothing_about(const char *part)
{
    for (size_t i = 0; i < d.n; i++)
        ck_assert_msg(!strstr(d.finding[i].text, part), "%s", d.finding[i].text);
}

#define CPU "/sys/devices/system/cpu"

/* ---- files of the kernel ---- */

START_TEST(lists_of_the_kernel)
{
    ck_assert(doctor_in_list("0", 0));
    ck_assert(doctor_in_list("0-3,8", 3));
    ck_assert(doctor_in_list("0-3,8", 8));
    ck_assert(doctor_in_list("0-3,8-9,11\n", 11));
    ck_assert(!doctor_in_list("0-3,8", 4));
    ck_assert(!doctor_in_list("0-3,8", 80));
    ck_assert(!doctor_in_list("", 0));
    ck_assert(!doctor_in_list("x", 0));
    ck_assert(!doctor_in_list("1,,2", 2));
}
END_TEST

START_TEST(files_are_read_below_the_root)
{
    char line[8];
    file("/sys/a", "hello world\nsecond\n");
    ck_assert(doctor_read(&d, line, sizeof(line), "/sys/%s", "a"));
    ck_assert_str_eq(line, "hello w");
    ck_assert(!doctor_read(&d, line, sizeof(line), "/sys/b"));
    ck_assert_str_eq(line, "");
    file("/sys/n", "-1\n");
    file("/sys/x", "many\n");
    ck_assert_int_eq(doctor_read_number(&d, 7, "/sys/n"), -1);
    ck_assert_int_eq(doctor_read_number(&d, 7, "/sys/x"), 7);
    ck_assert_int_eq(doctor_read_number(&d, 7, "/sys/none"), 7);
    ck_assert(doctor_exists(&d, "/sys/%c", 'n'));
    ck_assert(!doctor_exists(&d, "/etc/passwd"));
    file("/sys/q/rx-0/x", "");
    file("/sys/q/rx-1/x", "");
    file("/sys/q/tx-0/x", "");
    ck_assert_uint_eq(doctor_entries(&d, "rx-", "/sys/q"), 2);
    ck_assert_uint_eq(doctor_entries(&d, "rx-", "/sys/nowhere"), 0);
    link_to("/sys/driver", "../../bus/pci/drivers/vfio-pci");
    doctor_link(&d, line, sizeof(line), "/sys/driver");
    ck_assert_str_eq(line, "vfio-pc");
    doctor_link(&d, line, sizeof(line), "/sys/n");
    ck_assert_str_eq(line, "");
}
END_TEST

/* ---- CPUs and clock ---- */

START_TEST(cores_that_never_rest_want_isolation)
{
    file(CPU "/online", "0-3\n");
    file(CPU "/isolated", "2\n");
    doctor_cpus(&d);
    expect(DOCTOR_OK, "online: 0-3; workers: 2");
    expect_nothing_about("isolated");
    config.workers.idle = CONFIG_IDLE_POLL;
    doctor_cpus(&d);
    expect(DOCTOR_WARN, "not isolated: 1");
    ck_assert_int_eq(doctor_worst(&d), DOCTOR_WARN);
}
END_TEST

START_TEST(hyperthreads_of_one_core_are_found)
{
    file(CPU "/online", "0-3\n");
    file(CPU "/cpu1/topology/thread_siblings_list", "1,3\n");
    file(CPU "/cpu2/topology/thread_siblings_list", "0,2\n");
    doctor_cpus(&d);
    expect_nothing_about("hyperthread");
    config.control.core = 0;
    config.workers.core[0] = 3;
    file(CPU "/cpu3/topology/thread_siblings_list", "1,3\n");
    config.workers.core[1] = 1;
    doctor_cpus(&d);
    expect(DOCTOR_WARN, "workers on 3 and 1 are hyperthreads");
    config.workers.core[1] = 2;
    doctor_cpus(&d);
    expect(DOCTOR_WARN, "control.core 0 is a hyperthread of the worker's core 2");
}
END_TEST

START_TEST(a_saving_governor_is_found)
{
    file(CPU "/online", "0-3\n");
    file(CPU "/cpu1/cpufreq/scaling_governor", "performance\n");
    file(CPU "/cpu2/cpufreq/scaling_governor", "powersave\n");
    doctor_cpus(&d);
    expect(DOCTOR_WARN, "core 2 runs with the frequency governor 'powersave'");
    expect_nothing_about("core 1 runs");
}
END_TEST

START_TEST(the_tsc_has_to_be_constant)
{
    file("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc_s3 sse\n");
    doctor_clock(&d);
    expect(DOCTOR_WARN, "lacks constant_tsc or nonstop_tsc");
    file("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu constant_tsc sse nonstop_tsc\n");
    doctor_clear(&d);
    doctor_clock(&d);
    expect(DOCTOR_OK, "the TSC is constant");
    file("/proc/cpuinfo", "Features\t: fp asimd\n");
    doctor_clear(&d);
    doctor_clock(&d);
    ck_assert_uint_eq(d.n, 0);
}
END_TEST

/* ---- hugepages ---- */

#define NODE "/sys/devices/system/node"

START_TEST(hugepages_are_counted_by_node)
{
    file(NODE "/online", "0-1\n");
    file(NODE "/node0/hugepages/hugepages-2048kB/nr_hugepages", "8\n");
    file(NODE "/node0/hugepages/hugepages-2048kB/free_hugepages", "6\n");
    file(NODE "/node1/hugepages/hugepages-1048576kB/nr_hugepages", "1\n");
    file(NODE "/node1/hugepages/hugepages-1048576kB/free_hugepages", "1\n");
    file("/proc/mounts", "tmpfs / tmpfs rw 0 0\nnodev /dev/hugepages hugetlbfs rw 0 0\n");
    doctor_memory(&d);
    expect(DOCTOR_WARN, "may not write to a hugetlbfs");
    file("/dev/hugepages/file", "");
    doctor_clear(&d);
    doctor_memory(&d);
    expect_nothing_about("may not write");
    expect(DOCTOR_OK, "1036 MiB free (node 0: 12 MiB free, node 1: 1024 MiB free)");
    expect_nothing_about("mounted");
    config.memory.megabytes = 2048;
    doctor_clear(&d);
    doctor_memory(&d);
    expect(DOCTOR_WARN, "1036 MiB free, 2048 MiB wanted: ordinary pages will do");
    config.memory.hugepages = CONFIG_HUGEPAGES_ON;
    doctor_clear(&d);
    doctor_memory(&d);
    expect(DOCTOR_FAIL, "1036 MiB free, 2048 MiB wanted: memory.hugepages: on");
}
END_TEST

START_TEST(without_hugepages_it_depends_on_the_wish)
{
    file(NODE "/online", "0\n");
    doctor_memory(&d);
    expect(DOCTOR_WARN, "0 MiB reserved, 0 MiB free, ");
    config.n_devices = 1;
    device.driver = CONFIG_DRIVER_PCI;
    doctor_clear(&d);
    doctor_memory(&d);
    expect(DOCTOR_FAIL, "no PCI device works without");
    config.memory.hugepages = CONFIG_HUGEPAGES_ON;
    doctor_clear(&d);
    doctor_memory(&d);
    expect(DOCTOR_FAIL, "memory.hugepages: on does not start without");
    config.memory.hugepages = CONFIG_HUGEPAGES_OFF;
    doctor_clear(&d);
    doctor_memory(&d);
    expect(DOCTOR_FAIL, "no PCI device works with memory.hugepages: off");
    device.driver = CONFIG_DRIVER_TAP;
    doctor_clear(&d);
    doctor_memory(&d);
    expect(DOCTOR_OK, "not wanted");
}
END_TEST

START_TEST(reserved_but_used_up_or_not_mounted)
{
    file("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "4\n");
    file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n");
    config.memory.megabytes = 200;
    doctor_memory(&d);
    expect(DOCTOR_WARN, "8 MiB reserved, 0 MiB free, 200 MiB wanted");
    ck_assert_ptr_nonnull(strstr(d.finding[0].fix, "sysctl vm.nr_hugepages=104 "));
    expect(DOCTOR_WARN, "no hugetlbfs is mounted");
}
END_TEST

/* ---- rights ---- */

START_TEST(missing_capabilities_are_named)
{
    config.n_devices = 1;
    device.driver = CONFIG_DRIVER_AF_XDP;
    file("/proc/self/status", "Name:\tx\nCapEff:\t0000000000002000\n"); /* CAP_NET_RAW */
    doctor_rights(&d);
    expect(DOCTOR_WARN, "lacks CAP_NET_ADMIN CAP_SYS_ADMIN");
    device.driver = CONFIG_DRIVER_NULL;
    doctor_clear(&d);
    doctor_rights(&d);
    expect(DOCTOR_OK, "what the devices need");
    device.driver = CONFIG_DRIVER_AF_XDP;
    file("/proc/self/status", "CapEff:\t000001ffffffffff\n");
    doctor_clear(&d);
    doctor_rights(&d);
    expect(DOCTOR_OK, "what the devices need");
}
END_TEST

/* ---- devices ---- */

#define PCI "/sys/bus/pci/devices/0000:03:00.0"

static void pci(const char *vendor, const char *driver)
{
    char name[] = "0000:03:00.0";
    static char address[sizeof(name)];
    strcpy(address, name);
    device.driver = CONFIG_DRIVER_PCI;
    device.pci = address;
    file(PCI "/vendor", vendor);
    if (driver)
        link_to(PCI "/driver", driver);
}

START_TEST(a_nic_has_to_be_bound_to_vfio)
{
    pci("0x8086\n", "../drivers/vfio-pci");
    file(PCI "/iommu_group/x", "");
    doctor_device(&d, &device);
    expect(DOCTOR_OK, "bound to vfio-pci");
    expect(DOCTOR_OK, "IOMMU group");
    ck_assert_int_eq(doctor_worst(&d), DOCTOR_OK);
}
END_TEST

START_TEST(a_nic_of_the_kernel_is_a_failure)
{
    pci("0x8086\n", "../drivers/ice");
    doctor_device(&d, &device);
    expect(DOCTOR_FAIL, "0000:03:00.0 is bound to ice");
    expect(DOCTOR_FAIL, "no IOMMU group");
    ck_assert_ptr_nonnull(strstr(d.finding[0].fix, "bind.sh bind 0000:03:00.0"));
}
END_TEST

START_TEST(a_nic_bound_to_nothing)
{
    pci("0x8086\n", NULL);
    file("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y\n");
    doctor_device(&d, &device);
    expect(DOCTOR_FAIL, "is bound to no driver");
    expect(DOCTOR_WARN, "unsafe mode");
}
END_TEST

START_TEST(a_device_that_is_no_nic)
{
    pci("0x8086\n", "../drivers/nvme");
    file(PCI "/class", "0x010802\n");
    doctor_device(&d, &device);
    expect(DOCTOR_FAIL, "0000:03:00.0 is none (PCI class 0x010802)");
    ck_assert_uint_eq(d.n, 1);
    file(PCI "/class", "0x020000\n");
    doctor_clear(&d);
    doctor_device(&d, &device);
    expect(DOCTOR_FAIL, "is bound to nvme");
}
END_TEST

START_TEST(mellanox_stays_with_the_kernel)
{
    pci("0x15b3\n", "../drivers/mlx5_core");
    doctor_device(&d, &device);
    expect(DOCTOR_OK, "stays with the kernel's mlx5_core");
    expect_nothing_about("IOMMU");
}
END_TEST

START_TEST(a_mellanox_on_vfio_is_a_failure)
{
    pci("0x15b3\n", "../drivers/vfio-pci");
    doctor_device(&d, &device);
    expect(DOCTOR_FAIL, "works through mlx5_core");
}
END_TEST

START_TEST(cores_far_from_the_nic_are_found)
{
    pci("0x15b3\n", "../drivers/mlx5_core");
    file(PCI "/numa_node", "1\n");
    file(CPU "/cpu1/node1/x", "");
    file(CPU "/cpu2/node0/x", "");
    doctor_device(&d, &device);
    expect(DOCTOR_WARN, "on NUMA node 1, the worker's core 2 is not");
    expect_nothing_about("core 1 is not");
}
END_TEST

START_TEST(a_missing_device_is_left_to_the_probe)
{
    char absent[] = "0000:04:00.0";
    device.driver = CONFIG_DRIVER_PCI;
    device.pci = absent;
    doctor_device(&d, &device);
    ck_assert_uint_eq(d.n, 0);
}
END_TEST

#define NET "/sys/class/net/no-such-if"

static void interface(void)
{
    static char name[] = "no-such-if";
    device.driver = CONFIG_DRIVER_AF_XDP;
    device.interface = name;
    file(NET "/operstate", "up\n");
    file(NET "/mtu", "1500\n");
    file(NET "/queues/rx-0/x", "");
}

START_TEST(an_interface_that_fits)
{
    interface();
    config.workers.n = 1;
    doctor_device(&d, &device);
    expect(DOCTOR_OK, "no-such-if is up");
    expect(DOCTOR_OK, "receive queues: 1");
    expect_nothing_about("MTU");
    expect_nothing_about("attached");
}
END_TEST

START_TEST(an_interface_that_does_not_fit)
{
    interface();
    file(NET "/operstate", "down\n");
    file(NET "/mtu", "1400\n");
    doctor_device(&d, &device);
    expect(DOCTOR_WARN, "has no link (operstate: down)");
    expect(DOCTOR_FAIL, "has an MTU of 1400");
    expect(DOCTOR_WARN, "receive queues: 1, workers: 2");
    device.queues = 4;
    doctor_device(&d, &device);
    expect(DOCTOR_FAIL, "asks for 4");
    doctor_clear(&d);
    device.driver = CONFIG_DRIVER_AF_PACKET; /* as many packet sockets as are asked for */
    doctor_device(&d, &device);
    expect_nothing_about("receive queues");
}
END_TEST

START_TEST(the_default_route_is_not_to_be_taken)
{
    interface();
    file("/proc/net/route",
         "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
         "eth7\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
         "no-such-if\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
    doctor_device(&d, &device);
    expect_nothing_about("default route");
    file("/proc/net/route",
         "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
         "no-such-if\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
    doctor_device(&d, &device);
    expect(DOCTOR_FAIL, "own default route");
}
END_TEST

START_TEST(tap_needs_its_module_and_a_free_name)
{
    device.driver = CONFIG_DRIVER_TAP;
    doctor_device(&d, &device);
    expect(DOCTOR_FAIL, "/dev/net/tun is missing");
    file("/dev/net/tun", "");
    doctor_clear(&d);
    doctor_device(&d, &device);
    expect(DOCTOR_OK, "the name wan0 is free");
    file("/sys/class/net/wan0/mtu", "1500\n");
    doctor_clear(&d);
    doctor_device(&d, &device);
    expect(DOCTOR_FAIL, "wan0 exists already");
}
END_TEST

START_TEST(a_memif_client_waits_for_its_server)
{
    char socket[] = "/run/m.sock";
    device.driver = CONFIG_DRIVER_MEMIF;
    device.path = socket;
    doctor_device(&d, &device);
    expect(DOCTOR_FAIL, "the memif server makes it");
    device.memif_server = true;
    doctor_clear(&d);
    doctor_device(&d, &device);
    ck_assert_uint_eq(d.n, 0);
}
END_TEST

/* ---- output ---- */

static char *printed(bool json)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    doctor_print(&d, json, out);
    fclose(out);
    return text;
}

START_TEST(findings_are_lines_with_what_to_type)
{
    doctor_add(&d, DOCTOR_OK, "a", NULL, "%d is right", 1);
    doctor_add(&d, DOCTOR_FAIL, "b", "type this", "is wrong");
    doctor_add(&d, DOCTOR_WARN, "c", "or this", "is odd");
    ck_assert_int_eq(doctor_worst(&d), DOCTOR_FAIL);
    char *text = printed(false);
    ck_assert_str_eq(text, "ok    a: 1 is right\n"
                           "fail  b: is wrong\n"
                           "      -> type this\n"
                           "warn  c: is odd\n"
                           "      -> or this\n"
                           "1 ok, 1 warning, 1 failure\n");
    free(text);
    text = printed(true);
    ck_assert_ptr_nonnull(strstr(text, "\"worst\": \"fail\""));
    ck_assert_ptr_nonnull(strstr(text, "\"fix\": \"type this\""));
    ck_assert_ptr_nonnull(strstr(text, "\"fix\": null"));
    free(text);
}
END_TEST

UNIT_MAIN("doctor", setup, teardown, lists_of_the_kernel, files_are_read_below_the_root,
          cores_that_never_rest_want_isolation, hyperthreads_of_one_core_are_found,
          a_saving_governor_is_found, the_tsc_has_to_be_constant, hugepages_are_counted_by_node,
          without_hugepages_it_depends_on_the_wish, reserved_but_used_up_or_not_mounted,
          missing_capabilities_are_named, a_nic_has_to_be_bound_to_vfio,
          a_nic_of_the_kernel_is_a_failure, a_nic_bound_to_nothing, a_device_that_is_no_nic,
          mellanox_stays_with_the_kernel, a_mellanox_on_vfio_is_a_failure,
          cores_far_from_the_nic_are_found, a_missing_device_is_left_to_the_probe,
          an_interface_that_fits, an_interface_that_does_not_fit,
          the_default_route_is_not_to_be_taken, tap_needs_its_module_and_a_free_name,
          a_memif_client_waits_for_its_server, findings_are_lines_with_what_to_type)
