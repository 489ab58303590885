/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/plan.h"

#include "sim/run.h"

struct mac_addr plan_mac(unsigned n)
{
    return (struct mac_addr){{0x02, 0, 0, 0, 0, (uint8_t)n}};
}

struct ip_addr plan_addr4(unsigned n)
{
    return ip_from_v4(0x0a000000u + n); /* 10.0.0.n */
}

struct ip_addr plan_addr6(unsigned n)
{
    struct ip_addr a;
    must(ip_parse("2001:db8::", &a));
    a.b[15] = (uint8_t)n;
    return a;
}

struct ip_addr plan_addr(unsigned n, unsigned family)
{
    return family % 2 == 0 ? plan_addr4(n) : plan_addr6(n);
}

struct sim_host_config plan_host(unsigned n)
{
    return (struct sim_host_config){
        .iface = {.name = "sim",
                  .mac = plan_mac(n),
                  .mtu = 1500,
                  .offload = IFACE_TX_MULTI_SEGS,
                  .n_addrs = 2,
                  .addr = {{plan_addr4(n), 24}, {plan_addr6(n), 64}},
                  .ipv6 = true},
        .limits = {.neighbours = 32, .paths = 32, .reass_datagrams = 32, .tx_queue = 1024}};
}

struct pinger_config plan_pinger(unsigned n)
{
    return (struct pinger_config){
        .mac = plan_mac(n), .addr4 = plan_addr4(n), .addr6 = plan_addr6(n)};
}
