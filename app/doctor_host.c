/* SPDX-License-Identifier: BSD-3-Clause */
/* CPUs, memory, clock, rights and DPDK's drivers: what does not hang on one device. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/doctor.h"
#include "app/plan.h"

#define CPU      "/sys/devices/system/cpu"
#define NODE     "/sys/devices/system/node"
#define GRUB     "add it to GRUB_CMDLINE_LINUX in /etc/default/grub, update-grub, reboot"
#define LIST_MAX 512

/* ---- CPUs ---- */

/* Cores that are not online are config_probe's to report. */
static void check_online(struct doctor *d, const char *online)
{
    for (unsigned i = 0; i < d->config->workers.n; i++)
        if (!doctor_in_list(online, d->config->workers.core[i]))
            return;
    doctor_add(d, DOCTOR_OK, "cpus", NULL, "online: %s; workers: %u", online, d->config->workers.n);
}

/* A cgroup or taskset may keep this process from cores that are online. */
static void check_allowed(struct doctor *d)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    for (unsigned i = 0; i < d->config->workers.n; i++) {
        unsigned core = d->config->workers.core[i];
        if (core < CPU_SETSIZE && !CPU_ISSET(core, &allowed) &&
            doctor_exists(d, CPU "/cpu%u", core))
            doctor_add(d, DOCTOR_WARN, "cpus",
                       "widen the cpuset (systemd: AllowedCPUs=) that the appliance runs in",
                       "core %u is outside what this shell may use", core);
    }
}

/* Those of the workers' cores that the scheduler gives to others too: "1,2", "" for none. */
static void shared_cores(const struct doctor *d, char *list, size_t room)
{
    char isolated[LIST_MAX];
    size_t used = 0;
    *list = '\0';
    doctor_read(d, isolated, sizeof(isolated), CPU "/isolated");
    for (unsigned i = 0; i < d->config->workers.n && used < room; i++)
        if (!doctor_in_list(isolated, d->config->workers.core[i]))
            used += (size_t)snprintf(list + used, room - used, "%s%u", used ? "," : "",
                                     d->config->workers.core[i]);
}

static void check_isolated(struct doctor *d)
{
    char cores[LIST_MAX];
    char fix[4 * LIST_MAX];
    if (d->config->workers.idle == CONFIG_IDLE_SLEEP)
        return; /* gives its core up to others anyway */
    shared_cores(d, cores, sizeof(cores));
    if (!*cores)
        return;
    snprintf(fix, sizeof(fix), "kernel command line: isolcpus=%s nohz_full=%s rcu_nocbs=%s; " GRUB,
             cores, cores, cores);
    doctor_add(d, DOCTOR_WARN, "cpus", fix,
               "workers never rest (workers.idle), but their cores are not isolated: %s", cores);
}

static bool share_a_core(const struct doctor *d, unsigned a, unsigned b)
{
    char siblings[LIST_MAX];
    doctor_read(d, siblings, sizeof(siblings), CPU "/cpu%u/topology/thread_siblings_list", a);
    return a != b && doctor_in_list(siblings, b);
}

static void check_siblings(struct doctor *d)
{
    const struct config *c = d->config;
    for (unsigned i = 0; i < c->workers.n; i++) {
        for (unsigned j = i + 1; j < c->workers.n; j++)
            if (share_a_core(d, c->workers.core[i], c->workers.core[j]))
                doctor_add(d, DOCTOR_WARN, "cpus", "give each worker a physical core of its own",
                           "workers on %u and %u are hyperthreads of one core", c->workers.core[i],
                           c->workers.core[j]);
        if (c->control.core >= 0 && share_a_core(d, c->workers.core[i], (unsigned)c->control.core))
            doctor_add(d, DOCTOR_WARN, "cpus", "move control.core",
                       "control.core %d is a hyperthread of the worker's core %u", c->control.core,
                       c->workers.core[i]);
    }
}

static void check_governor(struct doctor *d)
{
    for (unsigned i = 0; i < d->config->workers.n; i++) {
        char governor[32];
        unsigned core = d->config->workers.core[i];
        if (doctor_read(d, governor, sizeof(governor), CPU "/cpu%u/cpufreq/scaling_governor",
                        core) &&
            strcmp(governor, "performance") != 0)
            doctor_add(d, DOCTOR_WARN, "cpus", "cpupower frequency-set -g performance",
                       "core %u runs with the frequency governor '%s'", core, governor);
    }
}

void doctor_cpus(struct doctor *d)
{
    char online[LIST_MAX];
    if (!doctor_read(d, online, sizeof(online), CPU "/online")) {
        doctor_add(d, DOCTOR_WARN, "cpus", "mount -t sysfs sysfs /sys",
                   CPU "/online cannot be read");
        return;
    }
    check_online(d, online);
    check_allowed(d);
    check_isolated(d);
    check_siblings(d);
    check_governor(d);
}

/* ---- clock ---- */

static bool cpu_flag(const char *flags, const char *flag)
{
    size_t n = strlen(flag);
    for (const char *at = flags; (at = strstr(at, flag)); at += n)
        if ((at == flags || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0' || at[n] == '\n'))
            return true;
    return false;
}

/* The line of /proc/cpuinfo that begins with "flags", "" where there is none (not an x86). */
static void read_flags(const struct doctor *d, char *flags, size_t room)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/proc/cpuinfo", d->root);
    FILE *f = fopen(path, "re");
    *flags = '\0';
    while (f && fgets(flags, (int)room, f) && strncmp(flags, "flags", 5) != 0)
        *flags = '\0';
    if (f)
        fclose(f);
}

void doctor_clock(struct doctor *d)
{
    char flags[8192];
    char source[64];
    read_flags(d, flags, sizeof(flags));
    doctor_read(d, source, sizeof(source),
                "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if (!*flags)
        return;
    if (cpu_flag(flags, "constant_tsc") && cpu_flag(flags, "nonstop_tsc"))
        doctor_add(d, DOCTOR_OK, "clock", NULL, "the TSC is constant; kernel clock: %s", source);
    else
        doctor_add(d, DOCTOR_WARN, "clock",
                   "in a virtual machine: pass the host's TSC through (CPU model 'host')",
                   "the TSC lacks constant_tsc or nonstop_tsc (kernel clock: %s): timers may drift",
                   source);
}

/* ---- hugepages ---- */

/* Free hugepages of a node in MiB, and the reserved ones by *reserved. */
static long node_hugepages(const struct doctor *d, const char *node, long *reserved)
{
    static const unsigned kib[] = {2048, 1048576, 32768, 65536, 524288, 16777216};
    long mib = 0;
    for (size_t i = 0; i < sizeof(kib) / sizeof(kib[0]); i++) {
        *reserved += doctor_read_number(d, 0, "%s/hugepages-%ukB/nr_hugepages", node, kib[i]) *
                     (long)(kib[i] / 1024);
        mib += doctor_read_number(d, 0, "%s/hugepages-%ukB/free_hugepages", node, kib[i]) *
               (long)(kib[i] / 1024);
    }
    return mib;
}

/* Is one mounted, and, for *writable, one that this user may put files in? */
static bool hugetlbfs_mounted(const struct doctor *d, bool *writable)
{
    char path[512];
    char line[1024];
    char where[256];
    snprintf(path, sizeof(path), "%s/proc/mounts", d->root);
    FILE *f = fopen(path, "re");
    bool found = false;
    *writable = false;
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%*s %255s hugetlbfs ", where) != 1 || !strstr(line, " hugetlbfs "))
            continue;
        snprintf(path, sizeof(path), "%s%s", d->root, where);
        *writable |= access(path, W_OK) == 0;
        found = true;
    }
    if (f)
        fclose(f);
    return found;
}

static void check_hugetlbfs(struct doctor *d)
{
    bool writable;
    if (!hugetlbfs_mounted(d, &writable))
        doctor_add(d, DOCTOR_WARN, "hugepages",
                   "mkdir -p /dev/hugepages && mount -t hugetlbfs nodev /dev/hugepages",
                   "no hugetlbfs is mounted: memory cannot be shared with dpdk-dumpcap");
    else if (!writable)
        doctor_add(d, DOCTOR_WARN, "hugepages",
                   "mount one with the option uid=, for the user it runs as",
                   "this user may not write to a hugetlbfs: memory cannot be shared with "
                   "dpdk-dumpcap");
}

static long count_hugepages(struct doctor *d, long *reserved, char *by_node, size_t room)
{
    char online[LIST_MAX];
    char node[128];
    long all = 0;
    *by_node = '\0';
    if (!doctor_read(d, online, sizeof(online), NODE "/online"))
        return node_hugepages(d, "/sys/kernel/mm/hugepages", reserved);
    for (unsigned n = 0; n < 64; n++) {
        if (!doctor_in_list(online, n))
            continue;
        snprintf(node, sizeof(node), NODE "/node%u/hugepages", n);
        long mib = node_hugepages(d, node, reserved);
        size_t used = strlen(by_node);
        snprintf(by_node + used, room - used, "%snode %u: %ld MiB free", used ? ", " : "", n, mib);
        all += mib;
    }
    return all;
}

/* The start says the same (eal.c). */
static void hugepages_fix(const struct doctor *d, char fix[static PLAN_FIX_MAX])
{
    static const char pages[] = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    long used = doctor_read_number(d, 0, "%s/nr_hugepages", pages) -
                doctor_read_number(d, 0, "%s/free_hugepages", pages);
    plan_hugepages_fix(d->config, used > 0 ? (uint64_t)used : 0, fix);
}

static bool has_pci(const struct config *c)
{
    for (unsigned i = 0; i < c->n_devices; i++)
        if (c->device[i].driver == CONFIG_DRIVER_PCI)
            return true;
    return false;
}

void doctor_memory(struct doctor *d)
{
    const struct config *c = d->config;
    char fix[PLAN_FIX_MAX];
    long reserved = 0;
    char by_node[1024];
    hugepages_fix(d, fix);
    if (c->memory.hugepages == CONFIG_HUGEPAGES_OFF && has_pci(c)) {
        doctor_add(d, DOCTOR_FAIL, "hugepages", "say memory.hugepages: auto",
                   "no PCI device works with memory.hugepages: off");
        return;
    }
    if (c->memory.hugepages == CONFIG_HUGEPAGES_OFF) {
        doctor_add(d, DOCTOR_OK, "hugepages", NULL, "not wanted (memory.hugepages: off)");
        return;
    }
    long mib = count_hugepages(d, &reserved, by_node, sizeof(by_node));
    bool on = c->memory.hugepages == CONFIG_HUGEPAGES_ON;
    enum doctor_level without = on || has_pci(c) ? DOCTOR_FAIL : DOCTOR_WARN;
    if ((uint64_t)mib < plan_megabytes(c))
        doctor_add(d, without, "hugepages", fix,
                   "%ld MiB reserved, %ld MiB free, %u MiB wanted: %s", reserved, mib,
                   plan_megabytes(c),
                   on           ? "memory.hugepages: on does not start without"
                   : has_pci(c) ? "no PCI device works without"
                                : "ordinary pages will do, with more TLB misses");
    else
        doctor_add(d, DOCTOR_OK, "hugepages", NULL, "%ld MiB free%s%s%s", mib, *by_node ? " (" : "",
                   by_node, *by_node ? ")" : "");
    if (reserved > 0)
        check_hugetlbfs(d);
}

/* ---- rights ---- */

/* linux/capability.h; X(number, name, drivers that need it) */
#define NETWORK_DRIVERS (1u << CONFIG_DRIVER_AF_XDP | 1u << CONFIG_DRIVER_AF_PACKET)
#define CAPABILITIES(X)                                               \
    X(12, "CAP_NET_ADMIN", NETWORK_DRIVERS | 1u << CONFIG_DRIVER_TAP) \
    X(13, "CAP_NET_RAW", NETWORK_DRIVERS)                             \
    X(21, "CAP_SYS_ADMIN", 1u << CONFIG_DRIVER_AF_XDP)

static uint64_t effective_capabilities(const struct doctor *d)
{
    char path[512];
    char line[256];
    unsigned long long caps = 0;
    snprintf(path, sizeof(path), "%s/proc/self/status", d->root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "CapEff: %llx", &caps) == 1)
            break;
    if (f)
        fclose(f);
    return caps;
}

static void check_capabilities(struct doctor *d, uint32_t drivers)
{
    static const struct {
        unsigned bit;
        const char *name;
        uint32_t drivers;
    } known[] = {
#define X(bit, name, drivers) {bit, name, drivers},
        CAPABILITIES(X)
#undef X
    };
    uint64_t caps = effective_capabilities(d);
    char missing[128] = "";
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t used = strlen(missing);
        if ((known[i].drivers & drivers) && !(caps >> known[i].bit & 1))
            snprintf(missing + used, sizeof(missing) - used, " %s", known[i].name);
    }
    if (*missing)
        doctor_add(
            d, DOCTOR_WARN, "rights",
            "start as root, or by drivers-cfg/millrace.service, which says how to grant them",
            "this user lacks%s", missing);
    else
        doctor_add(d, DOCTOR_OK, "rights", NULL, "this user has what the devices need");
}

static void check_memlock(struct doctor *d, uint32_t drivers)
{
    struct rlimit limit;
    bool locks = effective_capabilities(d) >> 14 & 1; /* CAP_IPC_LOCK: no limit */
    uint32_t need = 1u << CONFIG_DRIVER_AF_XDP | 1u << CONFIG_DRIVER_PCI;
    if (!(drivers & need) || locks || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return;
    doctor_add(d, DOCTOR_WARN, "memlock",
               "ulimit -l unlimited, or LimitMEMLOCK=infinity in the unit",
               "at most %llu KiB may be locked; AF_XDP and VFIO lock packet memory",
               (unsigned long long)limit.rlim_cur / 1024);
}

void doctor_rights(struct doctor *d)
{
    uint32_t drivers = 0;
    if (d->config->n_devices == 0)
        return; /* so nothing is needed */
    for (unsigned i = 0; i < d->config->n_devices; i++)
        drivers |= 1u << d->config->device[i].driver;
    check_capabilities(d, drivers);
    check_memlock(d, drivers);
}

/* ---- DPDK's drivers ---- */

/* The shared object of each driver; PCI ones are as many as there are NICs. */
static const char *const plugins[] = {
    [CONFIG_DRIVER_AF_XDP] = "librte_net_af_xdp.so",
    [CONFIG_DRIVER_AF_PACKET] = "librte_net_af_packet.so",
    [CONFIG_DRIVER_TAP] = "librte_net_tap.so",
    [CONFIG_DRIVER_VIRTIO_USER] = "librte_net_virtio.so",
    [CONFIG_DRIVER_MEMIF] = "librte_net_memif.so",
    [CONFIG_DRIVER_RING] = "librte_net_ring.so",
    [CONFIG_DRIVER_NULL] = "librte_net_null.so",
    [CONFIG_DRIVER_PCAP] = "librte_net_pcap.so",
    [CONFIG_DRIVER_PCI] = "librte_bus_pci.so",
};

void doctor_plugins(struct doctor *d)
{
    bool missing = false;
    if (!*MILLRACE_DPDK_DRIVERS) /* DPDK was built without loadable drivers */
        return;
    for (unsigned i = 0; i < d->config->n_devices; i++) {
        const char *file = plugins[d->config->device[i].driver];
        if (doctor_entries(d, file, MILLRACE_DPDK_DRIVERS) > 0)
            continue;
        missing = true;
        doctor_add(d, DOCTOR_FAIL, "dpdk", "apt install librte-meta-allpmds",
                   "no driver for '%s': %s is not in %s",
                   config_driver_name(d->config->device[i].driver), file, MILLRACE_DPDK_DRIVERS);
    }
    if (!missing)
        doctor_add(d, DOCTOR_OK, "dpdk", NULL, "drivers in %s", MILLRACE_DPDK_DRIVERS);
}
