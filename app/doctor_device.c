/* SPDX-License-Identifier: BSD-3-Clause */
/* One configured device: is it there, is it ours to take, and does what is behind it fit? */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>

#include "app/doctor.h"

#define NET "/sys/class/net"
#define PCI "/sys/bus/pci/devices"

#define VENDOR_MELLANOX   0x15b3
#define PCI_CLASS_NETWORK 0x02 /* its first byte */

struct subject {
    struct doctor *d;
    const struct config_device *dev;
    char name[48]; /* "device wan0" */
};

#define ok(s, ...)        doctor_add((s)->d, DOCTOR_OK, (s)->name, NULL, __VA_ARGS__)
#define warn(s, fix, ...) doctor_add((s)->d, DOCTOR_WARN, (s)->name, (fix), __VA_ARGS__)
#define fail(s, fix, ...) doctor_add((s)->d, DOCTOR_FAIL, (s)->name, (fix), __VA_ARGS__)
#define FIX_MAX           256

/* ---- both kinds of NIC ---- */

/* Far memory costs each packet two trips over the interconnect. node < 0: the machine has one. */
static void check_locality(struct subject *s, long node)
{
    const struct config *c = s->d->config;
    for (unsigned i = 0; node >= 0 && i < c->workers.n; i++) {
        unsigned core = c->workers.core[i];
        if (doctor_exists(s->d, "/sys/devices/system/cpu/cpu%u", core) &&
            !doctor_exists(s->d, "/sys/devices/system/cpu/cpu%u/node%ld", core, node))
            warn(s, "choose workers.cores from the device's node (lscpu -e)",
                 "is on NUMA node %ld, the worker's core %u is not", node, core);
    }
}

static void check_queues(struct subject *s, unsigned queues, const char *fix)
{
    const struct config *c = s->d->config;
    if (s->dev->queues > queues)
        fail(s, fix, "receive queues: %u; the configuration asks for %u", queues, s->dev->queues);
    else if (queues < c->workers.n && s->dev->queues == 0)
        warn(s, fix, "receive queues: %u, workers: %u; packets cross to the others in software",
             queues, c->workers.n);
    else
        ok(s, "receive queues: %u", queues);
}

/* ---- interfaces of the kernel ---- */

static int interface_ioctl(const char *interface, unsigned long what, struct ifreq *r)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    snprintf(r->ifr_name, sizeof(r->ifr_name), "%s", interface);
    int result = ioctl(fd, what, r);
    close(fd);
    return result;
}

/* ETHTOOL_GTXCSUM and its like: 0 or 1, -1 unknown. */
static int ethtool_flag(const char *interface, uint32_t cmd)
{
    struct ethtool_value value = {.cmd = cmd};
    struct ifreq r = {.ifr_data = (void *)&value};
    return interface_ioctl(interface, SIOCETHTOOL, &r) == 0 ? value.data != 0 : -1;
}

static bool is_veth(const char *interface)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    struct ifreq r = {.ifr_data = (void *)&info};
    return interface_ioctl(interface, SIOCETHTOOL, &r) == 0 && strcmp(info.driver, "veth") == 0;
}

/* The other end's name, where it is in this network namespace. */
static bool veth_peer(const struct doctor *d, const char *interface, char peer[IF_NAMESIZE])
{
    struct doctor_netlink link;
    long index = doctor_read_number(d, 0, NET "/%s/iflink", interface);
    return doctor_netlink(interface, &link) && !link.peer_elsewhere && index > 0 &&
           if_indextoname((unsigned)index, peer);
}

/*
 * A veth carries packets as their sender left them: with checksum offload on at the other end the
 * checksum is not there yet, and with segmentation offload packets are larger than the MTU.
 */
static void check_veth(struct subject *s)
{
    char peer[IF_NAMESIZE];
    char fix[FIX_MAX];
    if (!is_veth(s->dev->interface))
        return;
    if (!veth_peer(s->d, s->dev->interface, peer)) {
        warn(s, "in the namespace of the other end: ethtool -K PEER tx off",
             "is a veth whose other end is elsewhere: its checksum offload has to be off");
        return;
    }
    snprintf(fix, sizeof(fix), "ethtool -K %s tx off", peer);
    if (ethtool_flag(peer, ETHTOOL_GTXCSUM) == 1)
        warn(s, fix, "the veth's other end, %s, leaves checksums to hardware that is not there",
             peer);
    else
        ok(s, "the veth's other end, %s, computes its checksums", peer);
}

/* Does the machine's way to everywhere else go through it? /proc/net/route lists IPv4 in hex. */
static bool has_default_route(const struct doctor *d, const char *interface)
{
    char path[FIX_MAX];
    char line[256];
    char name[IF_NAMESIZE];
    unsigned destination, mask;
    bool found = false;
    snprintf(path, sizeof(path), "%s/proc/net/route", d->root);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof(line), f))
        found = sscanf(line, "%15s %x %*x %*x %*d %*d %*d %x", name, &destination, &mask) == 3 &&
                destination == 0 && mask == 0 && strcmp(name, interface) == 0;
    if (f)
        fclose(f);
    return found;
}

/* The kernel would answer as well, with resets and unreachables. */
static void check_kernel_addresses(struct subject *s)
{
    struct ifaddrs *all;
    char fix[FIX_MAX];
    bool has = false;
    if (has_default_route(s->d, s->dev->interface)) {
        fail(s, "choose another interface", "%s carries this machine's own default route",
             s->dev->interface);
        return;
    }
    if (getifaddrs(&all) != 0)
        return;
    for (struct ifaddrs *a = all; a; a = a->ifa_next)
        has |= a->ifa_addr && a->ifa_addr->sa_family == AF_INET &&
               strcmp(a->ifa_name, s->dev->interface) == 0;
    freeifaddrs(all);
    snprintf(fix, sizeof(fix), "ip address flush dev %s", s->dev->interface);
    if (has)
        warn(s, fix, "the kernel has IPv4 addresses on %s and would answer too", s->dev->interface);
}

static void check_link(struct subject *s)
{
    char state[32];
    char fix[FIX_MAX];
    const char *interface = s->dev->interface;
    doctor_read(s->d, state, sizeof(state), NET "/%s/operstate", interface);
    snprintf(fix, sizeof(fix), "ip link set %s up; then look at the cable or the other end",
             interface);
    if (strcmp(state, "up") == 0 || strcmp(state, "unknown") == 0)
        ok(s, "%s is up", interface);
    else
        warn(s, fix, "%s has no link (operstate: %s)", interface, *state ? state : "?");

    long mtu = doctor_read_number(s->d, 65535, NET "/%s/mtu", interface);
    snprintf(fix, sizeof(fix), "ip link set %s mtu %u, or lower mtu", interface, s->dev->iface.mtu);
    if (mtu < s->dev->iface.mtu)
        fail(s, fix, "%s has an MTU of %ld, the configuration one of %u", interface, mtu,
             s->dev->iface.mtu);
}

static void check_interface(struct subject *s)
{
    char fix[FIX_MAX];
    const char *interface = s->dev->interface;
    if (!doctor_exists(s->d, NET "/%s", interface))
        return; /* config_probe says so */
    check_link(s);
    snprintf(fix, sizeof(fix), "ethtool -L %s combined %u", interface, s->d->config->workers.n);
    if (s->dev->driver == CONFIG_DRIVER_AF_XDP) /* packet sockets share any number of queues */
        check_queues(s, doctor_entries(s->d, "rx-", NET "/%s/queues", interface), fix);
    check_locality(s, doctor_read_number(s->d, -1, NET "/%s/device/numa_node", interface));
    check_kernel_addresses(s);
    check_veth(s);
}

/* ---- AF_XDP ---- */

/* Loads `return XDP_PASS;`: 0, or the errno that said no. */
static int try_xdp_program(void)
{
    struct bpf_insn pass[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr load = {.prog_type = BPF_PROG_TYPE_XDP,
                           .insn_cnt = sizeof(pass) / sizeof(pass[0]),
                           .insns = (uintptr_t)pass,
                           .license = (uintptr_t) "BSD"};
    long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));
    if (fd < 0)
        return errno;
    close((int)fd);
    return 0;
}

/* A program that a killed process left, or somebody else's. */
static void check_attached(struct subject *s)
{
    struct doctor_netlink link;
    char fix[FIX_MAX];
    snprintf(fix, sizeof(fix), "ip link set dev %s xdp off", s->dev->interface);
    if (doctor_netlink(s->dev->interface, &link) && link.xdp)
        warn(s, fix, "an XDP program is attached to %s already: is it in use?", s->dev->interface);
}

static void check_xdp(struct subject *s)
{
    struct utsname kernel;
    int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    int why = fd < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    uname(&kernel);
    if (why == EAFNOSUPPORT)
        fail(s, "use driver af_packet, or a kernel with CONFIG_XDP_SOCKETS",
             "kernel %s has no AF_XDP sockets", kernel.release);
    else if (why)
        warn(s, "run as root", "an AF_XDP socket cannot be made here: %s", strerror(why));
    else if ((why = try_xdp_program()) != 0)
        warn(s,
             why == EPERM ? "run as root, or grant CAP_SYS_ADMIN and CAP_NET_ADMIN"
                          : "use driver af_packet, or a kernel with CONFIG_BPF_SYSCALL",
             "an XDP program cannot be loaded here: %s", strerror(why));
    else
        ok(s, "AF_XDP sockets and XDP programs work (kernel %s)", kernel.release);
    if (doctor_read_number(s->d, 1, "/proc/sys/net/core/bpf_jit_enable") == 0)
        warn(s, "sysctl net.core.bpf_jit_enable=1", "XDP programs are interpreted, not compiled");
}

/* ---- PCI ---- */

static void check_bound(struct subject *s, const char *driver, bool mellanox)
{
    char fix[FIX_MAX];
    const char *pci = s->dev->pci;
    snprintf(fix, sizeof(fix), "drivers-cfg/bind.sh bind %s", pci);
    if (mellanox && strncmp(driver, "mlx", 3) == 0)
        ok(s, "%s stays with the kernel's %s, as it should", pci, driver);
    else if (mellanox)
        fail(s, "drivers-cfg/bind.sh unbind, modprobe mlx5_core; it needs rdma-core too",
             "%s is bound to '%s'; this NIC works through mlx5_core", pci, driver);
    else if (strcmp(driver, "vfio-pci") == 0)
        ok(s, "%s is bound to vfio-pci", pci);
    else if (strcmp(driver, "uio_pci_generic") == 0 || strcmp(driver, "igb_uio") == 0)
        warn(s, fix, "%s is bound to %s: no IOMMU protects the machine's memory", pci, driver);
    else
        fail(s, fix, "%s is bound to %s", pci, *driver ? driver : "no driver");
}

static void check_iommu(struct subject *s)
{
    char unsafe[8];
    if (doctor_exists(s->d, PCI "/%s/iommu_group", s->dev->pci)) {
        ok(s, "is in an IOMMU group");
        return;
    }
    doctor_read(s->d, unsafe, sizeof(unsafe),
                "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
    if (*unsafe == 'Y')
        warn(s, "kernel command line: intel_iommu=on (or amd_iommu=on) iommu=pt",
             "no IOMMU; VFIO runs in its unsafe mode");
    else
        fail(s,
             "turn VT-d/AMD-Vi on in the firmware and add intel_iommu=on iommu=pt to the kernel "
             "command line; in a virtual machine: echo 1 > "
             "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode",
             "no IOMMU group: VFIO cannot use %s", s->dev->pci);
}

static void check_pci(struct subject *s)
{
    char driver[64];
    char vendor[16];
    char class[16];
    const char *pci = s->dev->pci;
    if (!doctor_exists(s->d, PCI "/%s", pci))
        return; /* config_probe says so */
    if (doctor_read(s->d, class, sizeof(class), PCI "/%s/class", pci) &&
        strtoul(class, NULL, 16) >> 16 != PCI_CLASS_NETWORK) {
        fail(s, "name a network device: lspci -D lists all", "%s is none (PCI class %s)", pci,
             class);
        return;
    }
    doctor_link(s->d, driver, sizeof(driver), PCI "/%s/driver", pci);
    doctor_read(s->d, vendor, sizeof(vendor), PCI "/%s/vendor", pci);
    bool mellanox = strtoul(vendor, NULL, 16) == VENDOR_MELLANOX;
    check_bound(s, driver, mellanox);
    if (!mellanox)
        check_iommu(s);
    check_locality(s, doctor_read_number(s->d, -1, PCI "/%s/numa_node", pci));
}

/* ---- devices of software ---- */

static void check_tap(struct subject *s)
{
    char whole[256];
    const char *name = s->dev->interface ? s->dev->interface : s->dev->iface.name;
    snprintf(whole, sizeof(whole), "%s/dev/net/tun", s->d->root);
    if (access(whole, F_OK) != 0)
        fail(s, "modprobe tun", "/dev/net/tun is missing");
    else if (access(whole, R_OK | W_OK) != 0)
        fail(s, "run as root", "/dev/net/tun: %s", strerror(errno));
    else if (doctor_exists(s->d, NET "/%s", name))
        fail(s, "name another interface, or 'ip link del' that one", "%s exists already", name);
    else
        ok(s, "/dev/net/tun is there, and the name %s is free", name);
}

static void check_socket(struct subject *s, const char *other)
{
    struct stat st;
    char whole[512];
    snprintf(whole, sizeof(whole), "%s%s", s->d->root, s->dev->path);
    if (stat(whole, &st) == 0 && (S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode)))
        ok(s, "%s is there", s->dev->path);
    else
        fail(s, "start the other side first, or give it the same path",
             "%s is not there yet: %s makes it", s->dev->path, other);
}

void doctor_device(struct doctor *d, const struct config_device *dev)
{
    struct subject s = {.d = d, .dev = dev};
    snprintf(s.name, sizeof(s.name), "device %s", dev->iface.name);
    switch (dev->driver) {
    case CONFIG_DRIVER_PCI: check_pci(&s); break;
    case CONFIG_DRIVER_AF_XDP:
        check_xdp(&s);
        check_attached(&s);
        check_interface(&s);
        break;
    case CONFIG_DRIVER_AF_PACKET: check_interface(&s); break;
    case CONFIG_DRIVER_TAP: check_tap(&s); break;
    case CONFIG_DRIVER_VIRTIO_USER: check_socket(&s, "the vhost backend"); break;
    case CONFIG_DRIVER_MEMIF:
        if (!dev->memif_server)
            check_socket(&s, "the memif server");
        break;
    case CONFIG_DRIVER_RING:
    case CONFIG_DRIVER_NULL:
    case CONFIG_DRIVER_PCAP: break; /* nothing but files, which config_probe looks at */
    }
}
