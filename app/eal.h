/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_EAL_H
#define MILLRACE_APP_EAL_H

/*
 * DPDK's environment from the configuration, so that nobody types its flags: lcore 0 is the control
 * core, lcores 1..n are the workers, only the configured PCI devices are probed, and memory comes
 * from hugepages where there are some.
 */

#include <stdbool.h>
#include <stdint.h>

#include "app/config.h"

enum eal_memory {
    EAL_HUGEPAGES, /* files in a mounted hugetlbfs: other DPDK processes can join */
    EAL_IN_MEMORY, /* hugepages, but no mount to be used */
    EAL_NO_HUGE,
};

const char *eal_memory_name(enum eal_memory m);

/*
 * Starts DPDK. megabytes is what the appliance will ask of it. False: lines in the log have said
 * why and what to do.
 */
bool eal_start(const struct config *c, uint32_t megabytes, enum eal_memory *memory);

/* Sends DPDK's messages of and above the configured level to our log: warnings at least. */
void eal_log(enum config_log_level level);

/* c and memory: as at its start. */
void eal_stop(const struct config *c, enum eal_memory memory);

#endif
