/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_EAL_H
#define MILLRACE_TESTS_EAL_H

/* DPDK's memory and rings for a test, without devices, hugepages or files. */

#include <rte_eal.h>

#include "support/unit.h"

static inline void start_eal(void)
{
    static char text[][24] = {"test",        "--no-huge",  "-m32",           "--no-pci",
                              "--no-shconf", "--lcores=0", "--no-telemetry", "--log-level=*:error"};
    char *args[sizeof(text) / sizeof(text[0])];
    int n = 0;
    for (; n < (int)(sizeof(text) / sizeof(text[0])); n++)
        args[n] = text[n];
    ck_assert_int_ge(rte_eal_init(n, args), 0);
}

#endif
