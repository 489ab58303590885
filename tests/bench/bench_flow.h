/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_BENCH_BENCH_FLOW_H
#define MILLRACE_TESTS_BENCH_BENCH_FLOW_H

/* Prints the cases flow/<entries>; a part of bench_base where the build has found DPDK, the peer.
 */
void bench_flow(void);

#endif
