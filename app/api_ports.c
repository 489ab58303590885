/* SPDX-License-Identifier: BSD-3-Clause */
/* /v1/ports and /v1/memory. */
#include <jansson.h>
#include <string.h>

#include "app/api.h"
#include "app/plan.h"

static void add_xstat(void *ctx, const char *name, uint64_t value)
{
    json_object_set_new(ctx, name, api_u64(value));
}

static json_t *words_json(const char *words)
{
    json_t *list = json_array();
    while (*words) {
        size_t n = strcspn(words, " ");
        if (n > 0)
            json_array_append_new(list, json_stringn(words, n));
        words += n + (words[n] == ' ');
    }
    return list;
}

static json_t *stats_json(const struct runtime *rt, unsigned i)
{
    struct runtime_port_stats s;
    runtime_port_stats(rt, i, &s);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "rx_packets",
                     api_u64(s.rx_packets), "rx_bytes", api_u64(s.rx_bytes), "rx_missed",
                     api_u64(s.rx_missed), "rx_errors", api_u64(s.rx_errors), "rx_no_mbuf",
                     api_u64(s.rx_no_mbuf), "tx_packets", api_u64(s.tx_packets), "tx_bytes",
                     api_u64(s.tx_bytes), "tx_errors", api_u64(s.tx_errors));
}

static json_t *lanes_json(const struct runtime *rt, unsigned port, unsigned n)
{
    json_t *lanes = json_array();
    for (unsigned i = 0; i < n; i++) {
        struct runtime_lane l;
        runtime_lane(rt, port, i, &l);
        json_array_append_new(lanes, json_pack("{s:i, s:i, s:i, s:i}", "worker", l.worker,
                                               "dpdk_port", l.dpdk_port, "rx_queue", l.rx_queue,
                                               "tx_queue", l.tx_queue));
    }
    return lanes;
}

static json_t *link_json(const struct runtime_port *p)
{
    return json_pack("{s:b, s:i, s:b}", "up", p->link_up, "mbps", (int)p->link_mbps, "full_duplex",
                     p->full_duplex);
}

static json_t *port_json(const struct runtime *rt, unsigned i, const struct runtime_port *p,
                         bool xstats)
{
    json_t *row = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:i, s:i, s:i, s:o, s:b, s:s?, s:b, s:b, s:i, s:i, s:i, s:o, "
        "s:o, s:o}",
        "device", p->name, "driver", p->driver, "pmd", p->pmd, "interface", p->interface, "mac",
        api_mac(&p->mac), "mtu", p->mtu, "vlan", p->vlan, "numa", p->numa, "link", link_json(p),
        "promiscuous", p->promiscuous, "promiscuous_why", p->promiscuous_why, "allmulticast",
        p->allmulticast, "rss", p->rss, "rx_queues", p->rx_queues, "tx_queues", p->tx_queues,
        "dpdk_ports", p->dpdk_ports, "lanes", lanes_json(rt, i, p->lanes), "offloads",
        words_json(p->offloads), "stats", stats_json(rt, i));
    if (row && xstats) {
        json_t *all = json_object();
        runtime_port_xstats(rt, i, add_xstat, all);
        json_object_set_new(row, "xstats", all);
    }
    return row;
}

void api_ports(struct api_call *c)
{
    uint64_t xstats = 0;
    const char *device = api_param(c, "iface");
    if (!api_number(c, "xstats", 0, 1, &xstats))
        return;
    json_t *rows = json_array();
    for (unsigned i = 0; i < runtime_ports(c->rt); i++) {
        struct runtime_port p;
        runtime_port(c->rt, i, &p);
        if (!device || strcmp(device, p.name) == 0)
            json_array_append_new(rows, port_json(c->rt, i, &p, xstats));
    }
    if (device && json_array_size(rows) == 0) {
        json_decref(rows);
        api_fail(c, 404, "no device '%.64s'", device);
        return;
    }
    api_json(c, 200, json_pack("{s:o}", "ports", rows));
}

void api_memory(struct api_call *c)
{
    json_t *pools = json_array();
    for (unsigned i = 0; i < runtime_pools(c->rt); i++) {
        struct runtime_pool p;
        runtime_pool(c->rt, i, &p);
        json_array_append_new(pools,
                              json_pack("{s:s, s:i, s:o, s:o, s:o, s:o}", "name", p.name, "numa",
                                        p.numa, "size", api_u64(p.size), "in_use",
                                        api_u64(p.in_use), "object_bytes", api_u64(p.object_bytes),
                                        "bytes", api_u64((uint64_t)p.size * p.object_bytes)));
    }
    api_json(c, 200,
             json_pack("{s:s, s:o, s:o, s:o}", "mode", runtime_memory_mode(c->rt), "pools", pools,
                       "tcp_bytes_per_worker", api_u64(plan_tcp_memory(runtime_config(c->rt))),
                       "tls_bytes", api_u64(runtime_tls_memory(c->rt))));
}
