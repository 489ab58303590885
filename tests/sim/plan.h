/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_PLAN_H
#define MILLRACE_SIM_PLAN_H

/* Addresses of hosts by number, 1..250, all on one network of each family. */

#include "sim/host.h"
#include "sim/pinger.h"

struct mac_addr plan_mac(unsigned n);
struct ip_addr plan_addr4(unsigned n);
struct ip_addr plan_addr6(unsigned n);
/* plan_addr4 for an even `family`, plan_addr6 for an odd one. */
struct ip_addr plan_addr(unsigned n, unsigned family);

struct sim_host_config plan_host(unsigned n);
struct pinger_config plan_pinger(unsigned n);

#endif
