/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_TELEMETRY_H
#define MILLRACE_APP_TELEMETRY_H

/*
 * DPDK's telemetry: /millrace/workers, /millrace/ports, /millrace/drops, /millrace/neighbours for
 * dpdk-telemetry.py. Its callbacks run on DPDK's own thread and read published records only.
 */

#include "app/runtime.h"

/* Registers the commands. Once in a process, after rte_eal_init; rt then has to stay until
 * telemetry_stop. */
void telemetry_start(const struct runtime *rt);

/* From here on the commands answer nothing: no callback reads rt any more. */
void telemetry_stop(void);

#endif
