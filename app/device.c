/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/netdev.h"

#define L2_BYTES         22u /* Ethernet header, one VLAN tag, CRC */
#define TAP_QUEUES_MAX   4   /* DPDK 22.11's driver writes past its array of descriptors for more */
#define AF_PACKET_FRAMES 512u
#define AF_PACKET_HEADER 128u /* in front of a frame in the kernel's ring, rounded up */

/* Bytes of a frame of the kernel's ring: a power of two. */
static uint32_t af_packet_frame(const struct config_device *d)
{
    uint32_t frame = 2048;
    while (frame < d->iface.mtu + L2_BYTES + AF_PACKET_HEADER)
        frame *= 2;
    return frame;
}

/* What DPDK calls the driver; a virtual device's name starts with it. */
static const char *prefix(enum config_driver d)
{
    static const char *const names[] = {
        [CONFIG_DRIVER_PCI] = "",
        [CONFIG_DRIVER_AF_XDP] = "net_af_xdp",
        [CONFIG_DRIVER_AF_PACKET] = "net_af_packet",
        [CONFIG_DRIVER_TAP] = "net_tap",
        [CONFIG_DRIVER_VIRTIO_USER] = "net_virtio_user",
        [CONFIG_DRIVER_MEMIF] = "net_memif",
        [CONFIG_DRIVER_RING] = "net_ring",
        [CONFIG_DRIVER_NULL] = "net_null",
        [CONFIG_DRIVER_PCAP] = "net_pcap",
    };
    return names[d];
}

bool device_borrows(const struct config_device *d)
{
    return d->driver == CONFIG_DRIVER_AF_XDP || d->driver == CONFIG_DRIVER_AF_PACKET;
}

static uint16_t wanted(const struct config_device *d, unsigned n_workers)
{
    unsigned n = d->queues ? d->queues : n_workers;
    unsigned most = d->driver == CONFIG_DRIVER_TAP ? TAP_QUEUES_MAX : CONFIG_QUEUES_MAX;
    return (uint16_t)(n < most ? n : most);
}

/* The kernel spreads over all of the interface's queues: each needs a socket. */
static struct device_plan af_xdp_plan(const struct config_device *d)
{
    unsigned combined;
    unsigned n = netdev_queues(d->interface, &combined);
    if (d->queues)
        n = d->queues;
    if (n <= combined)
        return (struct device_plan){.n_dpdk = 1, .queues = (uint16_t)n};
    if (n > DEVICE_DPDK_MAX)
        n = DEVICE_DPDK_MAX;
    return (struct device_plan){.n_dpdk = (uint16_t)n, .queues = 1};
}

struct device_plan device_plan(const struct config_device *d, unsigned n_workers)
{
    switch (d->driver) {
    case CONFIG_DRIVER_AF_XDP: return af_xdp_plan(d);
    case CONFIG_DRIVER_PCAP: return (struct device_plan){.n_dpdk = 1, .queues = 1};
    default: return (struct device_plan){.n_dpdk = 1, .queues = wanted(d, n_workers)};
    }
}

void device_name(const struct config_device *d, unsigned index, unsigned i, char *name)
{
    if (d->driver == CONFIG_DRIVER_PCI)
        snprintf(name, DEVICE_NAME_MAX, "%s", d->pci);
    else if (i == 0)
        snprintf(name, DEVICE_NAME_MAX, "%s%u", prefix(d->driver), index);
    else
        snprintf(name, DEVICE_NAME_MAX, "%s%uq%u", prefix(d->driver), index, i);
}

/* Arguments as they grow. */
struct text {
    char *to;
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list list;
    if (t->n > 0 && t->n < DEVICE_ARGS_MAX - 1)
        t->to[t->n++] = ',';
    if (t->n >= DEVICE_ARGS_MAX)
        return;
    va_start(list, format);
    t->n += (size_t)vsnprintf(t->to + t->n, DEVICE_ARGS_MAX - t->n, format, list);
    va_end(list);
}

/* A block of the kernel's ring is a whole number of pages and of frames. */
static void add_af_packet(struct text *t, const struct config_device *d, unsigned queues)
{
    unsigned frame = af_packet_frame(d);
    unsigned count = AF_PACKET_FRAMES;
    if (d->rx_descriptors > count)
        count = d->rx_descriptors;
    unsigned block = frame > 65536 ? frame : 65536;
    unsigned frames_in_block = block / frame;
    count = (count + frames_in_block - 1) / frames_in_block * frames_in_block;
    add(t, "iface=%s", d->interface);
    add(t, "qpairs=%u", queues);
    add(t, "framesz=%u", frame);
    add(t, "blocksz=%u", block);
    add(t, "framecnt=%u", count);
}

static void add_memif(struct text *t, const struct config_device *d)
{
    unsigned buffer = 2048;
    while (buffer < d->iface.mtu + L2_BYTES && buffer < 32768)
        buffer *= 2;
    add(t, "role=%s", d->memif_server ? "server" : "client");
    add(t, "id=%u", d->memif_id);
    add(t, "socket=%s", d->path);
    add(t, "socket-abstract=no");
    if (!d->memif_server)
        add(t, "bsize=%u", buffer);
}

bool device_args(const struct config_device *d, struct device_plan plan, unsigned i, char *args)
{
    struct text t = {.to = args};
    args[0] = '\0';
    switch (d->driver) {
    case CONFIG_DRIVER_PCI: return true; /* went to DPDK's start, with its arguments */
    case CONFIG_DRIVER_AF_XDP:
        add(&t, "iface=%s", d->interface);
        add(&t, "start_queue=%u", i);
        add(&t, "queue_count=%u", plan.queues);
        break;
    case CONFIG_DRIVER_AF_PACKET: add_af_packet(&t, d, plan.queues); break;
    case CONFIG_DRIVER_TAP: add(&t, "iface=%s", d->interface ? d->interface : d->iface.name); break;
    case CONFIG_DRIVER_VIRTIO_USER:
        add(&t, "path=%s", d->path);
        add(&t, "queues=%u", plan.queues);
        if (d->interface)
            add(&t, "iface=%s", d->interface);
        break;
    case CONFIG_DRIVER_MEMIF: add_memif(&t, d); break;
    case CONFIG_DRIVER_RING: break;
    case CONFIG_DRIVER_NULL: add(&t, "no-rx=1"); break;
    case CONFIG_DRIVER_PCAP:
        if (d->rx_file)
            add(&t, "rx_pcap=%s", d->rx_file);
        if (d->tx_file)
            add(&t, "tx_pcap=%s", d->tx_file);
        break;
    }
    if (d->args && d->args[0])
        add(&t, "%s", d->args);
    return t.n < DEVICE_ARGS_MAX;
}

uint32_t device_queue_packets(const struct config_device *d)
{
    /* AF_XDP: 4096 in the fill ring, and the rings of both directions. */
    uint32_t own = d->driver == CONFIG_DRIVER_AF_XDP ? 4096 : 0;
    uint32_t rx = d->rx_descriptors ? d->rx_descriptors : 1024;
    uint32_t tx = d->tx_descriptors ? d->tx_descriptors : 1024;
    return own + rx + tx;
}

uint32_t device_room(const struct config_device *d)
{
    switch (d->driver) {
    case CONFIG_DRIVER_AF_XDP: return d->iface.mtu + L2_BYTES + DEVICE_HEADROOM;
    case CONFIG_DRIVER_AF_PACKET: return af_packet_frame(d); /* it copies what the ring holds */
    default: return d->iface.mtu + L2_BYTES;
    }
}
