/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_DEVICE_H
#define MILLRACE_SIM_DEVICE_H

/* What a device does to packets on their way out: it fills checksums, cuts segments, and holds the
 * stack to what those need. */

#include "sim/node.h"
#include "stack/iface.h"

/* p, which is taken, leaves as one frame or more, each given to `out`. offload: what the device can
 * do (enum iface_offload); a packet that asks for more fails the run. */
void device_send(struct sim *s, struct pkt *p, uint32_t offload,
                 void (*out)(void *ctx, struct pkt *frame), void *ctx);

#endif
