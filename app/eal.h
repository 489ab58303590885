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

enum eal_outcome {
    EAL_UP,
    EAL_REFUSED,        /* lines in the log have said why and what to do */
    EAL_HUGEPAGES_GONE, /* it goes without them, but in a new process: DPDK starts once in each */
};

/* Starts DPDK. no_hugepages: whatever the configuration says. */
enum eal_outcome eal_start(const struct config *c, bool no_hugepages, enum eal_memory *memory);

/* Whether what is short of hugepages may do without. */
bool eal_may_go_without(const struct config *c, enum eal_memory memory);

/* Sends DPDK's messages of and above the configured level to our log: warnings at least. */
void eal_log(enum config_log_level level);

/* c and memory: as at its start. */
void eal_stop(const struct config *c, enum eal_memory memory);

#endif
