/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_PORT_H
#define MILLRACE_APP_PORT_H

/*
 * A configured device as the workers use it: one to the user, whatever it is to DPDK. Its queue
 * pairs are lanes; lane i belongs to worker i modulo the number of workers. A device with fewer
 * lanes than there are workers leaves some without: those send through the owner of port_tx_lane.
 *
 * Set up and torn down by the control thread while no worker runs; in between nothing here changes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "app/config.h"
#include "app/device.h"
#include "app/mbuf.h"
#include "stack/iface.h"
#include "stack/steer.h"

#define PORT_LANES_MAX CONFIG_QUEUES_MAX

struct port_lane {
    uint16_t dpdk;  /* DPDK's port id */
    uint16_t queue; /* of receive and of transmit */
    uint16_t worker;
};

struct port {
    char name[IFACE_NAME_MAX];
    enum config_driver driver;
    char interface[64];
    uint16_t dpdk[DEVICE_DPDK_MAX];
    uint16_t n_dpdk;
    uint16_t queues; /* in each DPDK port */
    uint16_t n_lanes;
    struct port_lane lane[PORT_LANES_MAX];
    struct mac_addr mac;
    uint16_t mtu;
    uint16_t vlan;
    uint16_t numa;
    uint32_t offload;     /* transmit: enum iface_offload */
    uint64_t rx_offloads; /* DPDK's, as configured */
    bool rss;
    int claim;                   /* on a borrowed interface; -1: none */
    unsigned index;              /* the same; 0: none */
    bool was_down;               /* a borrowed interface, before us */
    bool was_promiscuous;        /* the same */
    const char *promiscuous_why; /* NULL: it is not */
    unsigned was_mtu;            /* the same; 0: unknown */
    bool told_down;              /* what the log has said of it; the control thread's */
    bool told_gone;              /* the same */
};

/*
 * Makes or finds the device's DPDK ports. False: the log has said why and what to do; port_close is
 * still due.
 */
bool port_open(struct port *p, const struct config_device *d, unsigned index, unsigned n_workers);

/* Buffer bytes a packet needs for this device to receive its MTU: less where it can scatter. */
uint32_t port_room(const struct port *p, const struct config_device *d);

/* Configures and starts. pool[w] is worker w's. False as above. */
bool port_start(struct port *p, const struct config_device *d, const struct steer *steer,
                struct mbuf_pool *const *pool);

/* Has the interface that it borrowed been removed? Its sockets do not find another of that name. */
bool port_gone(const struct port *p);

/* Stops and removes. */
void port_close(struct port *p);

/* The lane by which a worker sends: its own, or another's. */
const struct port_lane *port_tx_lane(const struct port *p, unsigned worker);

/* What the stack is told of it: the configuration's, with MAC and offloads of the device. */
struct iface_config port_iface(const struct port *p, const struct config_device *d);

#endif
