/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_DEVICE_H
#define MILLRACE_APP_DEVICE_H

/*
 * From a configured device to DPDK's ports: which devices DPDK is to make, with which arguments.
 * Most drivers need one DPDK port for a device; AF_XDP needs one for each queue where the interface
 * has no combined channels.
 */

#include <stdbool.h>
#include <stdint.h>

#include "app/config.h"

#define DEVICE_DPDK_MAX 32 /* DPDK is usually built for this many ports in all */
#define DEVICE_NAME_MAX 64
#define DEVICE_ARGS_MAX 1024
#define DEVICE_HEADROOM 256 /* the kernel's XDP_PACKET_HEADROOM in front of a frame */

struct device_plan {
    uint16_t n_dpdk; /* DPDK ports */
    uint16_t queues; /* in each of them */
};

/* How many ports and queues the device will have, before DPDK knows it. */
struct device_plan device_plan(const struct config_device *d, unsigned n_workers);

/* The name by which DPDK knows port i of device number `index`. */
void device_name(const struct config_device *d, unsigned index, unsigned i, char *name);

/* The driver arguments of that port. False: too long. */
bool device_args(const struct config_device *d, struct device_plan plan, unsigned i, char *args);

/* Packets that a queue may hold, rx and tx, with the driver's own rings. */
uint32_t device_queue_packets(const struct config_device *d);

/* Bytes of buffer that a frame of the device's MTU takes in one piece. */
uint32_t device_room(const struct config_device *d);

/* Whether the driver borrows an interface of the kernel that exists already. */
bool device_borrows(const struct config_device *d);

#endif
