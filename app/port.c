/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/port.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>

#include "app/log.h"
#include "app/netdev.h"

#define DEFAULT_DESCRIPTORS 1024
#define PCI_DEVICES         "/sys/bus/pci/devices"

/* ---- finding ---- */

static const char *hint(const struct config_device *d)
{
    switch (d->driver) {
    case CONFIG_DRIVER_PCI:
        return "is it bound to vfio-pci (drivers-cfg/bind.sh), or to its kernel driver if it is "
               "an mlx5?";
    case CONFIG_DRIVER_AF_XDP:
        return "AF_XDP needs root, or CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN and locked memory "
               "(CAP_IPC_LOCK), and no other XDP program on the interface; driver: af_packet works "
               "without XDP";
    case CONFIG_DRIVER_AF_PACKET: return "packet sockets need CAP_NET_RAW and CAP_NET_ADMIN";
    case CONFIG_DRIVER_TAP: return "TAP needs /dev/net/tun, CAP_NET_ADMIN and a name not in use";
    case CONFIG_DRIVER_VIRTIO_USER:
        return "the other side has to listen on that path; /dev/vhost-net needs: modprobe vhost_net";
    case CONFIG_DRIVER_MEMIF:
        return d->memif_server ? "is the socket's directory there and writable?"
                               : "the server has to be there first, and its socket writable";
    case CONFIG_DRIVER_PCAP: return "can rx-file be read, and tx-file be written?";
    default: return "see DPDK's messages above";
    }
}

/* error: negative. */
static bool fault(const struct port *p, const struct config_device *d, const char *what, int error)
{
    const char *driver = config_driver_name(d->driver);
    const char *why = rte_strerror(-error);
    if (d->args && d->args[0])
        log_error("device %s (%s): %s: %s; are its args right, '%s'? If so, %s", p->name, driver,
                  what, why, d->args, hint(d));
    else
        log_error("device %s (%s): %s: %s; %s", p->name, driver, what, why, hint(d));
    return false;
}

/* Interfaces of the kernel are ours for as long as we run; they have to be there and up. Two of us
 * on one would take each other's packets, and the end of one takes the XDP program of both. */
static bool borrow(struct port *p)
{
    p->claim = netdev_claim(p->interface);
    if (p->claim < 0) {
        log_error("device %s: interface '%s': %s", p->name, p->interface,
                  errno == EADDRINUSE ? "another millrace has it; stop that first"
                                      : strerror(errno));
        return false;
    }
    p->was_promiscuous = netdev_promiscuous(p->interface);
    p->was_mtu = netdev_mtu(p->interface);
    if (netdev_up(p->interface, &p->was_down)) {
        p->index = netdev_index(p->interface);
        return true;
    }
    if (errno == ENODEV)
        log_error("device %s: there is no interface '%s' in this network namespace", p->name,
                  p->interface);
    else
        log_error("device %s: interface '%s' is down: %s; type: ip link set %s up", p->name,
                  p->interface, strerror(errno), p->interface);
    return false;
}

/* An AF_XDP socket is bound to one of the interface's own queues. */
static bool has_queues(const struct port *p, const struct config_device *d)
{
    unsigned combined;
    unsigned n = d->driver == CONFIG_DRIVER_AF_XDP ? netdev_queues(p->interface, &combined)
                                                   : CONFIG_QUEUES_MAX;
    if (d->queues <= n)
        return true;
    log_error("device %s: interface '%s' has %u receive queue%s, not %u; lower queues, or type: "
              "ethtool -L %s combined %u",
              p->name, p->interface, n, n == 1 ? "" : "s", d->queues, p->interface, d->queues);
    return false;
}

/* The TAP driver calls it an error that a kernel has no multiq qdisc, which only rte_flow needs. */
static int hotplug(const struct config_device *d, const char *name, const char *args)
{
    bool quiet = d->driver == CONFIG_DRIVER_TAP && !log_enabled(CONFIG_LOG_DEBUG);
    if (quiet)
        rte_log_set_level_pattern("pmd.net.tap", RTE_LOG_CRIT);
    int ret = rte_eal_hotplug_add("vdev", name, args);
    if (quiet)
        rte_log_set_level_pattern("pmd.net.tap", RTE_LOG_NOTICE);
    return ret;
}

static bool plug(struct port *p, const struct config_device *d, unsigned index,
                 struct device_plan plan, unsigned i)
{
    char name[DEVICE_NAME_MAX], args[DEVICE_ARGS_MAX];
    uint16_t id;
    device_name(d, index, i, name);
    if (!device_args(d, plan, i, args)) {
        log_error("device %s: its args are too long", p->name);
        return false;
    }
    int ret = d->driver == CONFIG_DRIVER_PCI ? 0 : hotplug(d, name, args);
    if (ret < 0)
        return fault(p, d, "DPDK cannot make it", ret);
    if (rte_eth_dev_get_port_by_name(name, &id) != 0) {
        char path[DEVICE_NAME_MAX + sizeof(PCI_DEVICES)];
        snprintf(path, sizeof(path), PCI_DEVICES "/%s", name);
        bool missing = d->driver == CONFIG_DRIVER_PCI && access(path, F_OK) != 0;
        log_error("device %s: DPDK does not see %s; %s", p->name, name,
                  missing ? "this machine has no such PCI device (lspci -D lists them)" : hint(d));
        return false;
    }
    p->dpdk[p->n_dpdk++] = id;
    return true;
}

static uint16_t least(uint32_t a, uint32_t b)
{
    return (uint16_t)(a < b ? a : b);
}

/* Queues, as far as the device has them. */
static void count_queues(struct port *p, uint16_t plan)
{
    p->queues = plan;
    for (unsigned i = 0; i < p->n_dpdk; i++) {
        struct rte_eth_dev_info info;
        if (rte_eth_dev_info_get(p->dpdk[i], &info) != 0)
            continue;
        p->queues = least(p->queues, least(info.max_rx_queues, info.max_tx_queues));
    }
    if (p->queues == 0)
        p->queues = 1;
}

static void deal_lanes(struct port *p, unsigned n_workers)
{
    p->n_lanes = 0;
    for (unsigned i = 0; i < p->n_dpdk; i++)
        for (uint16_t q = 0; q < p->queues && p->n_lanes < PORT_LANES_MAX; q++) {
            p->lane[p->n_lanes] = (struct port_lane){
                .dpdk = p->dpdk[i], .queue = q, .worker = (uint16_t)(p->n_lanes % n_workers)};
            p->n_lanes++;
        }
}

bool port_open(struct port *p, const struct config_device *d, unsigned index, unsigned n_workers)
{
    *p =
        (struct port){.claim = -1, .driver = d->driver, .mtu = d->iface.mtu, .vlan = d->iface.vlan};
    snprintf(p->name, sizeof(p->name), "%s", d->iface.name);
    if (d->interface)
        snprintf(p->interface, sizeof(p->interface), "%s", d->interface);
    else if (d->driver == CONFIG_DRIVER_TAP)
        snprintf(p->interface, sizeof(p->interface), "%s", d->iface.name);
    if (device_borrows(d) && (!borrow(p) || !has_queues(p, d)))
        return false;
    struct device_plan plan = device_plan(d, n_workers);
    for (unsigned i = 0; i < plan.n_dpdk; i++)
        if (!plug(p, d, index, plan, i))
            return false;
    count_queues(p, plan.queues);
    deal_lanes(p, n_workers);
    return true;
}

uint32_t port_room(const struct port *p, const struct config_device *d)
{
    struct rte_eth_dev_info info;
    uint32_t room = device_room(d);
    if (rte_eth_dev_info_get(p->dpdk[0], &info) == 0 &&
        info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER)
        return least(room, RTE_MBUF_DEFAULT_DATAROOM);
    return room;
}

/* ---- starting ---- */

static uint64_t rx_offloads(const struct rte_eth_dev_info *info, bool scatter)
{
    uint64_t want = RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_RSS_HASH;
    if (scatter)
        want |= RTE_ETH_RX_OFFLOAD_SCATTER;
    return want & info->rx_offload_capa;
}

/*
 * TAP's driver cuts segments in software, so that nothing is won by it; and it takes the MTU for
 * the length of a frame, so that those of full length stop it for good (DPDK 22.11).
 */
static bool can_cut(const struct port *p, const struct rte_eth_dev_info *info)
{
    return p->driver != CONFIG_DRIVER_TAP && info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
}

static uint64_t tx_offloads(const struct port *p, const struct rte_eth_dev_info *info)
{
    uint64_t want = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                    RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_SCTP_CKSUM |
                    RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    if (can_cut(p, info))
        want |= RTE_ETH_TX_OFFLOAD_TCP_TSO;
    /* TAP's driver sums in software, and wrongly where a view of odd length is not the last (DPDK
     * 22.11). */
    if (p->driver == CONFIG_DRIVER_TAP)
        want &= ~(uint64_t)(RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM);
    if (p->vlan != 0)
        want |= RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
    return want & info->tx_offload_capa;
}

static uint32_t iface_offloads(uint64_t tx)
{
    static const struct {
        uint64_t dpdk;
        uint32_t ours;
    } table[] = {
        {RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, IFACE_TX_IP_CSUM},
        {RTE_ETH_TX_OFFLOAD_UDP_CKSUM, IFACE_TX_UDP_CSUM},
        {RTE_ETH_TX_OFFLOAD_TCP_CKSUM, IFACE_TX_TCP_CSUM},
        {RTE_ETH_TX_OFFLOAD_SCTP_CKSUM, IFACE_TX_SCTP_CSUM},
        {RTE_ETH_TX_OFFLOAD_MULTI_SEGS, IFACE_TX_MULTI_SEGS},
        {RTE_ETH_TX_OFFLOAD_TCP_TSO, IFACE_TX_TSO},
        {RTE_ETH_TX_OFFLOAD_VLAN_INSERT, IFACE_TX_VLAN},
    };
    uint32_t ours = 0;
    for (unsigned i = 0; i < RTE_DIM(table); i++)
        if (tx & table[i].dpdk)
            ours |= table[i].ours;
    return ours;
}

/* What of the tuple a device may hash: as steer_hash does. */
#define RSS_TYPES                                                                          \
    (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |             \
     RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_IPV6 |    \
     RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP | \
     RTE_ETH_RSS_NONFRAG_IPV6_OTHER | RTE_ETH_RSS_IPV6_EX | RTE_ETH_RSS_IPV6_TCP_EX |      \
     RTE_ETH_RSS_IPV6_UDP_EX)

/* Can the device be told how to spread, so that steer_owner agrees with it? */
static bool can_spread(const struct rte_eth_dev_info *info, uint16_t queues)
{
    return queues > 1 && info->reta_size > 0 && info->hash_key_size <= STEER_KEY_BYTES &&
           info->flow_type_rss_offloads & RSS_TYPES;
}

/* The device's table of slots: as steer's, so that a packet arrives where it belongs. */
static int program_reta(uint16_t dpdk, uint16_t size, uint16_t queues, const struct steer *steer)
{
    struct rte_eth_rss_reta_entry64 reta[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE];
    if (size > RTE_ETH_RSS_RETA_SIZE_512)
        return -ENOTSUP;
    memset(reta, 0, sizeof(reta));
    for (uint16_t i = 0; i < size; i++) {
        struct rte_eth_rss_reta_entry64 *e = &reta[i / RTE_ETH_RETA_GROUP_SIZE];
        e->mask |= UINT64_C(1) << (i % RTE_ETH_RETA_GROUP_SIZE);
        e->reta[i % RTE_ETH_RETA_GROUP_SIZE] = (uint16_t)(steer_worker(steer, i) % queues);
    }
    return rte_eth_dev_rss_reta_update(dpdk, reta, size);
}

static uint16_t descriptors(uint16_t configured, uint16_t drivers)
{
    if (configured)
        return configured;
    return drivers ? drivers : DEFAULT_DESCRIPTORS;
}

static int setup_queues(const struct port *p, const struct config_device *d, uint16_t dpdk,
                        const struct rte_eth_dev_info *info, struct mbuf_pool *const *pool)
{
    uint16_t n_rx = descriptors(d->rx_descriptors, info->default_rxportconf.ring_size);
    uint16_t n_tx = descriptors(d->tx_descriptors, info->default_txportconf.ring_size);
    int ret = rte_eth_dev_adjust_nb_rx_tx_desc(dpdk, &n_rx, &n_tx);
    for (unsigned i = 0; ret == 0 && i < p->n_lanes; i++) {
        const struct port_lane *l = &p->lane[i];
        if (l->dpdk != dpdk)
            continue;
        const struct mbuf_pool *mp = pool[l->worker];
        ret = rte_eth_rx_queue_setup(dpdk, l->queue, n_rx, (unsigned)mp->numa, NULL, mp->packets);
        if (ret == 0)
            ret = rte_eth_tx_queue_setup(dpdk, l->queue, n_tx, (unsigned)mp->numa, NULL);
    }
    return ret;
}

/* A device that cannot be told our address has to take every frame. */
static bool set_address(struct port *p, const struct config_device *d, uint16_t dpdk)
{
    if (!d->mac_set || p->driver == CONFIG_DRIVER_TAP)
        return true;
    struct rte_ether_addr mac;
    memcpy(mac.addr_bytes, d->iface.mac.b, sizeof(mac.addr_bytes));
    /* A borrowed interface's address is the kernel's to keep. */
    if (!device_borrows(d) && rte_eth_dev_default_mac_addr_set(dpdk, &mac) == 0)
        return true;
    int ret = rte_eth_promiscuous_enable(dpdk);
    if (ret == 0)
        p->promiscuous_why = "the device keeps a MAC address of its own";
    if (ret == 0 || ret == -ENOTSUP)
        return true;
    return fault(p, d, "it takes neither another MAC address nor promiscuous mode", ret);
}

/* Neighbour discovery is multicast: every group of ours, so simply all. */
static bool set_filters(struct port *p, const struct config_device *d, uint16_t dpdk)
{
    if (d->promiscuous) {
        int ret = rte_eth_promiscuous_enable(dpdk);
        if (ret < 0 && ret != -ENOTSUP)
            return fault(p, d, "promiscuous mode", ret);
        if (ret == 0)
            p->promiscuous_why = "configured";
    }
    if (rte_eth_allmulticast_enable(dpdk) == 0)
        return true;
    if (rte_eth_promiscuous_enable(dpdk) == 0) {
        if (!p->promiscuous_why)
            p->promiscuous_why = "the driver has no other way to multicast";
        return true;
    }
    log_info("device %s: neither multicast nor promiscuous mode can be set; IPv6 neighbours may "
             "not find it",
             p->name);
    return true;
}

/* Some drivers bound the frame and forget the MTU. */
static uint32_t largest_mtu(const struct rte_eth_dev_info *info)
{
    uint32_t around = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
    if (info->max_mtu != UINT16_MAX || info->max_rx_pktlen < around)
        return info->max_mtu;
    return RTE_MIN(info->max_mtu, info->max_rx_pktlen - around);
}

/*
 * What the driver is told. DPDK 22.11's AF_PACKET driver reports a plain Ethernet frame as its
 * limit, and then moves frames of whatever size its ring has: there we tell the interface
 * ourselves.
 */
static uint16_t driver_mtu(const struct port *p, const struct rte_eth_dev_info *info)
{
    return p->driver == CONFIG_DRIVER_AF_PACKET ? least(p->mtu, largest_mtu(info)) : p->mtu;
}

static bool set_mtu(const struct port *p, const struct config_device *d, uint16_t dpdk,
                    const struct rte_eth_dev_info *info)
{
    if (p->was_mtu == p->mtu) /* so no right to change it is needed */
        return true;
    if (p->driver == CONFIG_DRIVER_AF_PACKET) {
        if (netdev_set_mtu(p->interface, p->mtu))
            return true;
        log_error("device %s: interface '%s' refuses MTU %u: %s%s", p->name, p->interface, p->mtu,
                  strerror(errno), errno == EPERM ? "; to change it needs CAP_NET_ADMIN" : "");
        return false;
    }
    int ret = rte_eth_dev_set_mtu(dpdk, p->mtu);
    if (ret == 0 || ret == -ENOTSUP)
        return true;
    if (ret == -EPERM)
        return fault(p, d, "setting its MTU", ret);
    log_error("device %s: MTU %u: %s; the driver takes %u to %u", p->name, p->mtu,
              rte_strerror(-ret), info->min_mtu, largest_mtu(info));
    return false;
}

static bool configure(struct port *p, const struct config_device *d, uint16_t dpdk,
                      const struct rte_eth_dev_info *info, bool scatter)
{
    uint8_t key[STEER_KEY_BYTES];
    struct rte_eth_conf conf = {
        .rxmode = {.mtu = driver_mtu(p, info), .offloads = rx_offloads(info, scatter)},
        .txmode = {.offloads = tx_offloads(p, info)},
    };
    if (p->mtu < info->min_mtu || driver_mtu(p, info) > largest_mtu(info)) {
        log_error("device %s (%s): MTU %u is outside the driver's %u..%u", p->name,
                  config_driver_name(d->driver), p->mtu, info->min_mtu, largest_mtu(info));
        return false;
    }
    if (p->rss) {
        steer_key(key);
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf = (struct rte_eth_rss_conf){
            .rss_key = info->hash_key_size ? key : NULL,
            .rss_key_len = info->hash_key_size,
            .rss_hf = info->flow_type_rss_offloads & RSS_TYPES,
        };
    } else {
        conf.rxmode.offloads &= ~RTE_ETH_RX_OFFLOAD_RSS_HASH;
    }
    int ret = rte_eth_dev_configure(dpdk, p->queues, p->queues, &conf);
    if (ret < 0)
        return fault(p, d, "configuring it", ret);
    p->rx_offloads = conf.rxmode.offloads;
    p->offload = iface_offloads(conf.txmode.offloads);
    return true;
}

static bool start_one(struct port *p, const struct config_device *d, uint16_t dpdk,
                      const struct steer *steer, struct mbuf_pool *const *pool)
{
    struct rte_eth_dev_info info;
    int ret = rte_eth_dev_info_get(dpdk, &info);
    if (ret < 0)
        return fault(p, d, "asking what it can do", ret);
    p->rss = can_spread(&info, p->queues);
    bool scatter = device_room(d) > pool[0]->pkt.room;
    if (!configure(p, d, dpdk, &info, scatter) || !set_mtu(p, d, dpdk, &info))
        return false;
    ret = setup_queues(p, d, dpdk, &info, pool);
    if (ret < 0)
        return fault(p, d, "setting up its queues", ret);
    ret = rte_eth_dev_start(dpdk);
    if (ret < 0)
        return fault(p, d, "starting it", ret);
    if (p->rss && program_reta(dpdk, info.reta_size, p->queues, steer) < 0) {
        p->rss = false;
        log_info("device %s: its redirection table cannot be set; workers sort in software",
                 p->name);
    }
    return set_address(p, d, dpdk) && set_filters(p, d, dpdk);
}

/* The kernel's end of a TAP, and of virtio_user over /dev/vhost-net, has the address that DPDK
 * reports: ours has to differ. */
static bool shares_address(const struct config_device *d)
{
    return d->driver == CONFIG_DRIVER_TAP ||
           (d->driver == CONFIG_DRIVER_VIRTIO_USER && d->path && strncmp(d->path, "/dev/", 5) == 0);
}

static void choose_address(struct port *p, const struct config_device *d)
{
    struct rte_ether_addr mac;
    if (d->mac_set) {
        p->mac = d->iface.mac;
        return;
    }
    rte_eth_macaddr_get(p->dpdk[0], &mac);
    memcpy(p->mac.b, mac.addr_bytes, sizeof(p->mac.b));
    if (rte_is_zero_ether_addr(&mac))
        p->mac = (struct mac_addr){{0x02, 0, 0, 0, 0, (uint8_t)(p->dpdk[0] + 1)}};
    if (shares_address(d)) {
        p->mac.b[0] = (uint8_t)((p->mac.b[0] | 2u) & ~1u); /* locally administered, unicast */
        p->mac.b[5] ^= 1;
    }
}

static void describe(const struct port *p, const struct config_device *d)
{
    char mac[MAC_ADDR_TEXT];
    mac_format(&p->mac, mac);
    log_info("device %s: %s, MAC %s, MTU %u, %u queue%s%s", p->name, config_driver_name(d->driver),
             mac, p->mtu, p->n_lanes, p->n_lanes == 1 ? "" : "s",
             p->rss ? ", spread by the device" : "");
}

bool port_start(struct port *p, const struct config_device *d, const struct steer *steer,
                struct mbuf_pool *const *pool)
{
    for (unsigned i = 0; i < p->n_dpdk; i++)
        if (!start_one(p, d, p->dpdk[i], steer, pool))
            return false;
    choose_address(p, d);
    int numa = rte_eth_dev_socket_id(p->dpdk[0]);
    p->numa = (uint16_t)(numa > 0 ? numa : 0);
    describe(p, d);
    return true;
}

bool port_gone(const struct port *p)
{
    return p->index != 0 && !netdev_exists(p->index);
}

void port_close(struct port *p)
{
    if (port_gone(p)) { /* nothing to give back to another of its name */
        p->was_mtu = 0;
        p->was_down = false;
    }
    for (unsigned i = 0; i < p->n_dpdk; i++) {
        if (!p->was_promiscuous)
            rte_eth_promiscuous_disable(p->dpdk[i]); /* a borrowed interface outlives us */
        rte_eth_dev_stop(p->dpdk[i]);
        rte_eth_dev_close(p->dpdk[i]);
    }
    if (p->was_mtu && p->was_mtu != p->mtu)
        netdev_set_mtu(p->interface, p->was_mtu);
    if (p->was_down)
        netdev_down(p->interface);
    if (p->claim >= 0)
        close(p->claim);
    p->claim = -1;
    p->n_dpdk = 0;
    p->n_lanes = 0;
}

const struct port_lane *port_tx_lane(const struct port *p, unsigned worker)
{
    assert(p->n_lanes > 0 && "an open port has a lane");
    return &p->lane[worker % p->n_lanes];
}

struct iface_config port_iface(const struct port *p, const struct config_device *d)
{
    struct iface_config c = d->iface;
    c.mac = p->mac;
    c.offload = p->offload;
    return c;
}
