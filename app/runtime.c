/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/runtime.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "app/engine.h"
#include "app/netdev.h"
#include "app/openssl_memory.h"

#define XSTATS_MAX 1024

const char *worker_state_name(enum worker_state s)
{
    static const char *const names[] = {
#define X(id, name) [WORKER_##id] = name,
        WORKER_STATES(X)
#undef X
    };
    return names[s];
}

const char *runtime_error_text(int error)
{
    switch (error) {
    case 0: return "done";
    case RUNTIME_E_TIMEOUT: return "it did not answer in time";
    case RUNTIME_E_FULL: return "its mailbox is full";
    case RUNTIME_E_MEMORY: return "no memory";
    default: return "refused";
    }
}

const struct config *runtime_config(const struct runtime *rt)
{
    return rt->config;
}

const char *runtime_config_file(const struct runtime *rt)
{
    return rt->file;
}

tick_t runtime_uptime(const struct runtime *rt)
{
    return engine_now(rt);
}

const char *runtime_memory_mode(const struct runtime *rt)
{
    return eal_memory_name(rt->memory);
}

uint64_t runtime_tsc_hz(const struct runtime *rt)
{
    return rt->clock.hz;
}

bool runtime_stopping(const struct runtime *rt)
{
    return drain_stops(rt) || atomic_load(&rt->stop);
}

/* ---- workers ---- */

unsigned runtime_workers(const struct runtime *rt)
{
    return rt->n_workers;
}

void runtime_worker(const struct runtime *rt, unsigned worker, struct runtime_worker *to)
{
    const struct worker *w = &rt->worker[worker];
    const struct watchdog *d = &rt->watchdog[worker];
    enum worker_state state = (enum worker_state)atomic_load(&w->state);
    *to = (struct runtime_worker){
        .index = w->index,
        .core = w->core,
        .lcore = w->lcore,
        .numa = w->numa,
        .idle = (enum config_idle)atomic_load_explicit(&w->idle, memory_order_relaxed),
        .state = state == WORKER_RUNNING && atomic_load(&d->stuck) ? WORKER_STUCK : state,
        .stalled = atomic_load(&d->stalled),
    };
}

bool runtime_counters(const struct runtime *rt, unsigned worker, uint64_t word[COUNTERS_WORDS])
{
    return record_read(rt->worker[worker].record, word);
}

/* ---- devices ---- */

unsigned runtime_ports(const struct runtime *rt)
{
    return rt->n_ports;
}

/* DPDK's drivers for the kernel's interfaces call each link up; the kernel knows better. */
static bool borrows(const struct port *p)
{
    return p->driver == CONFIG_DRIVER_AF_XDP || p->driver == CONFIG_DRIVER_AF_PACKET;
}

static void port_link(const struct port *p, struct runtime_port *to)
{
    to->gone = port_gone(p);
    to->link_up = !to->gone && (!borrows(p) || netdev_running(p->interface));
    for (unsigned i = 0; i < p->n_dpdk; i++) {
        struct rte_eth_link link;
        if (rte_eth_link_get_nowait(p->dpdk[i], &link) != 0 || !link.link_status) {
            to->link_up = false;
            continue;
        }
        to->link_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
        to->full_duplex = link.link_duplex;
    }
}

static void describe_offloads(const struct port *p, char *to, size_t room)
{
    static const struct {
        uint64_t bit;
        const char *word;
    } rx[] =
        {
            {RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, "rx-ipv4-checksum"},
            {RTE_ETH_RX_OFFLOAD_UDP_CKSUM, "rx-udp-checksum"},
            {RTE_ETH_RX_OFFLOAD_TCP_CKSUM, "rx-tcp-checksum"},
            {RTE_ETH_RX_OFFLOAD_SCATTER, "rx-scatter"},
            {RTE_ETH_RX_OFFLOAD_RSS_HASH, "rx-hash"},
        },
      tx[] = {
          {IFACE_TX_IP_CSUM, "tx-ipv4-checksum"},
          {IFACE_TX_UDP_CSUM, "tx-udp-checksum"},
          {IFACE_TX_TCP_CSUM, "tx-tcp-checksum"},
          {IFACE_TX_SCTP_CSUM, "tx-sctp-checksum"},
          {IFACE_TX_MULTI_SEGS, "tx-multi-segment"},
          {IFACE_TX_TSO, "tx-tso"},
          {IFACE_TX_VLAN, "tx-vlan"},
      };
    size_t n = 0;
    to[0] = '\0';
    for (unsigned i = 0; i < RTE_DIM(rx) && n < room; i++)
        if (p->rx_offloads & rx[i].bit)
            n += (size_t)snprintf(to + n, room - n, "%s%s", n ? " " : "", rx[i].word);
    for (unsigned i = 0; i < RTE_DIM(tx) && n < room; i++)
        if (p->offload & tx[i].bit)
            n += (size_t)snprintf(to + n, room - n, "%s%s", n ? " " : "", tx[i].word);
}

void runtime_port(const struct runtime *rt, unsigned port, struct runtime_port *to)
{
    const struct port *p = &rt->port[port];
    struct rte_eth_dev_info info;
    *to = (struct runtime_port){
        .name = p->name,
        .driver = config_driver_name(p->driver),
        .pmd = "",
        .interface = p->interface,
        .mac = p->mac,
        .mtu = p->mtu,
        .vlan = p->vlan,
        .numa = p->numa,
        .promiscuous = rte_eth_promiscuous_get(p->dpdk[0]) == 1,
        .promiscuous_why = p->promiscuous_why,
        .allmulticast = rte_eth_allmulticast_get(p->dpdk[0]) == 1,
        .rss = p->rss,
        .rx_queues = p->n_lanes,
        .tx_queues = p->n_lanes,
        .dpdk_ports = p->n_dpdk,
        .lanes = p->n_lanes,
        .offload = p->offload,
    };
    if (rte_eth_dev_info_get(p->dpdk[0], &info) == 0 && info.driver_name)
        to->pmd = info.driver_name;
    port_link(p, to);
    describe_offloads(p, to->offloads, sizeof(to->offloads));
}

void runtime_lane(const struct runtime *rt, unsigned port, unsigned lane, struct runtime_lane *to)
{
    const struct port_lane *l = &rt->port[port].lane[lane];
    *to = (struct runtime_lane){
        .worker = l->worker, .dpdk_port = l->dpdk, .rx_queue = l->queue, .tx_queue = l->queue};
}

void runtime_port_stats(const struct runtime *rt, unsigned port, struct runtime_port_stats *to)
{
    const struct port *p = &rt->port[port];
    *to = (struct runtime_port_stats){0};
    for (unsigned i = 0; i < p->n_dpdk; i++) {
        struct rte_eth_stats s;
        if (rte_eth_stats_get(p->dpdk[i], &s) != 0)
            continue;
        to->rx_packets += s.ipackets;
        to->rx_bytes += s.ibytes;
        to->rx_missed += s.imissed;
        to->rx_errors += s.ierrors;
        to->rx_no_mbuf += s.rx_nombuf;
        to->tx_packets += s.opackets;
        to->tx_bytes += s.obytes;
        to->tx_errors += s.oerrors;
    }
}

/* DPDK ports of one device have the same driver, so the same list in the same order. */
void runtime_port_xstats(const struct runtime *rt, unsigned port,
                         void (*each)(void *ctx, const char *name, uint64_t value), void *ctx)
{
    const struct port *p = &rt->port[port];
    int n = rte_eth_xstats_get_names(p->dpdk[0], NULL, 0);
    if (n <= 0 || n > XSTATS_MAX)
        return;
    unsigned count = (unsigned)n;
    struct rte_eth_xstat_name *names = calloc(count, sizeof(*names));
    struct rte_eth_xstat *stats = calloc(count, sizeof(*stats));
    uint64_t *sum = calloc(count, sizeof(*sum));
    if (names && stats && sum && rte_eth_xstats_get_names(p->dpdk[0], names, count) == n) {
        for (unsigned i = 0; i < p->n_dpdk; i++) {
            if (rte_eth_xstats_get(p->dpdk[i], stats, count) != n)
                continue;
            for (unsigned k = 0; k < count; k++)
                if (stats[k].id < count)
                    sum[stats[k].id] += stats[k].value;
        }
        for (unsigned k = 0; k < count; k++)
            each(ctx, names[k].name, sum[k]);
    }
    free(names);
    free(stats);
    free(sum);
}

/* ---- memory ---- */

/* Each packet pool has a pool of views beside it. */
unsigned runtime_pools(const struct runtime *rt)
{
    return 2 * rt->n_pools;
}

void runtime_pool(const struct runtime *rt, unsigned pool, struct runtime_pool *to)
{
    const struct mbuf_pool *p = &rt->pool[pool / 2];
    const struct rte_mempool *mp = pool % 2 ? p->views : p->packets;
    *to = (struct runtime_pool){
        .name = mp->name,
        .numa = (uint16_t)(p->numa > 0 ? p->numa : 0),
        .size = mp->size,
        .in_use = rte_mempool_in_use_count(mp),
        .object_bytes = mp->elt_size + mp->header_size + mp->trailer_size,
    };
}

uint64_t runtime_tls_memory(const struct runtime *rt)
{
    (void)rt; /* it is the process's */
    return openssl_memory_bytes();
}

int64_t runtime_certificates_end(const struct runtime *rt)
{
    int64_t first = 0;
    for (unsigned l = 0; l < rt->config->n_listeners; l++) {
        const struct tls_context *t = assets_tls(rt->assets, l);
        for (unsigned i = 0; t && i < tls_context_n_identities(t); i++) {
            int64_t end = tls_context_identity(t, i)->not_after;
            if (first == 0 || end < first)
                first = end;
        }
    }
    return first;
}

/* ---- access log ---- */

uint64_t runtime_access_log_written(const struct runtime *rt)
{
    return rt->access_log.written;
}

uint64_t runtime_access_log_lost(const struct runtime *rt, unsigned worker)
{
    return atomic_load_explicit(&rt->worker[worker].access.lost, memory_order_relaxed);
}

/* ---- names and passwords ---- */

void runtime_resolver(const struct runtime *rt, struct resolver_stats *to)
{
    resolver_stats(rt->answers.resolver, to);
}

void runtime_names(const struct runtime *rt, uint32_t *cursor,
                   bool (*each)(void *ctx, const struct resolver_row *row), void *ctx)
{
    resolver_list(rt->answers.resolver, cursor, each, ctx, engine_now(rt));
}

void runtime_verifier(const struct runtime *rt, struct verifier_stats *to)
{
    verifier_stats(rt->answers.verifier, to);
}

/* ---- requests ---- */

/* The rows are the letter's: a late answer writes to memory that still is. */
struct control_mail {
    struct mail mail;
    struct ctl_request request;
    _Alignas(8) uint8_t rows[];
};

static void control_run(struct worker *w, struct mail *m)
{
    struct control_mail *c = (struct control_mail *)m;
    if (!tunnels_control(w, &c->request))
        stack_control(w->stack, &c->request, w->now);
}

static void control_release(struct mail *m)
{
    free(m);
}

static size_t row_bytes(enum ctl_request_kind kind)
{
    switch (kind) {
    case CTL_NEIGHBOURS: return sizeof(struct ctl_neighbour);
    case CTL_ADDRESSES: return sizeof(struct ctl_address);
    case CTL_PATHS: return sizeof(struct ctl_path);
    case CTL_CONNECTIONS:
    case CTL_CONNECTION: return sizeof(struct ctl_connection);
    case CTL_LISTENERS: return sizeof(struct ctl_listener);
    case CTL_TUNNELS: return sizeof(struct ctl_tunnel);
    default: return 0;
    }
}

static void set_rows(struct ctl_request *r, void *rows)
{
    switch (r->kind) {
    case CTL_NEIGHBOURS: r->rows.neighbour = rows; break;
    case CTL_ADDRESSES: r->rows.address = rows; break;
    case CTL_PATHS: r->rows.path = rows; break;
    case CTL_CONNECTIONS:
    case CTL_CONNECTION: r->rows.connection = rows; break;
    case CTL_LISTENERS: r->rows.listener = rows; break;
    case CTL_TUNNELS: r->rows.tunnel = rows; break;
    default: break;
    }
}

static void *rows_of(const struct ctl_request *r)
{
    switch (r->kind) {
    case CTL_NEIGHBOURS: return r->rows.neighbour;
    case CTL_ADDRESSES: return r->rows.address;
    case CTL_PATHS: return r->rows.path;
    case CTL_CONNECTIONS:
    case CTL_CONNECTION: return r->rows.connection;
    case CTL_LISTENERS: return r->rows.listener;
    case CTL_TUNNELS: return r->rows.tunnel;
    default: return NULL;
    }
}

int runtime_control(struct runtime *rt, unsigned worker, struct ctl_request *r, unsigned timeout_ms)
{
    struct mailbox *box = &rt->worker[worker].mail;
    size_t row = row_bytes(r->kind);
    struct control_mail *m = calloc(1, sizeof(*m) + row * r->max);
    if (!m)
        return RUNTIME_E_MEMORY;
    m->mail = (struct mail){.run = control_run, .release = control_release};
    m->request = *r;
    set_rows(&m->request, m->rows);
    if (!mailbox_post(box, &m->mail)) {
        free(m);
        return RUNTIME_E_FULL;
    }
    if (mailbox_wait(box, &m->mail, timeout_ms) != MAIL_BACK)
        return RUNTIME_E_TIMEOUT;
    void *rows = rows_of(r);
    if (row > 0)
        memcpy(rows, m->rows, row * m->request.n);
    *r = m->request;
    set_rows(r, rows);
    free(m);
    return 0;
}
