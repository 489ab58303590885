/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CAPTURE_H
#define MILLRACE_APP_CAPTURE_H

/*
 * Packet capture: workers copy what they receive and send into a ring each; the control thread
 * merges the rings into one pcapng file. Off, it costs a worker one branch a burst. Control thread
 * only; start, stop and status are in app/runtime.h.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "app/capture_ring.h"
#include "app/config.h"
#include "app/pcapng.h"
#include "app/runtime.h"

#define CAPTURE_PATH_MAX 1024

struct capture {
    enum capture_state state;
    int worker; /* -1: all */
    char path[CAPTURE_PATH_MAX];
    uint64_t max_bytes;
    uint32_t snaplen;
    uint64_t lost[IFACE_MAX]; /* as last seen; the rings' own after they have gone */
    tick_t started;
    tick_t ended;
    uint64_t wall; /* nanoseconds since 1970 at tick 0 */
    char error[128];
    int fd;
    struct pcapng file;
    struct capture_ring *ring[CONFIG_WORKERS_MAX];
};

/* Writes what has been captured so far, and ends a capture that is full or failed. */
void capture_drain(struct runtime *rt);

/* Ends one that runs, for a stop of the whole appliance. */
void capture_end(struct runtime *rt);

#endif
