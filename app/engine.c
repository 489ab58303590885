/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "app/certificates.h"
#include "app/log.h"
#include "app/plan.h"

_Static_assert(PLAN_ROOM == RTE_MBUF_DEFAULT_DATAROOM &&
                   PLAN_ROOM_MAX == UINT16_MAX - RTE_PKTMBUF_HEADROOM,
               "the plan knows DPDK's sizes");

#define START_MS 5000
#define STOP_MS  1500
#define STEP_MS  1

tick_t engine_now(const struct runtime *rt)
{
    return clock_tick(&rt->clock, rte_rdtsc());
}

/* A new value costs each worker a look: what the two clocks differ by within a reading is none. */
void engine_set_wall(struct runtime *rt)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    int64_t wall = (int64_t)t.tv_sec * (int64_t)TICK_SEC + t.tv_nsec - (int64_t)engine_now(rt);
    int64_t moved = wall - atomic_load(&rt->wall);
    if (moved > (int64_t)TICK_MS || moved < -(int64_t)TICK_MS)
        atomic_store(&rt->wall, wall);
}

/* ---- devices and pools ---- */

static bool open_ports(struct runtime *rt)
{
    const struct config *c = rt->config;
    rt->port = calloc(c->n_devices, sizeof(*rt->port));
    if (!rt->port)
        return false;
    for (unsigned i = 0; i < c->n_devices; i++) {
        rt->n_ports++;
        if (!port_open(&rt->port[i], &c->device[i], i, c->workers.n))
            return false;
    }
    return true;
}

static bool has_driver(const struct runtime *rt, enum config_driver driver)
{
    for (unsigned i = 0; i < rt->n_ports; i++)
        if (rt->port[i].driver == driver)
            return true;
    return false;
}

/* Room for the largest frame that some device cannot scatter over several buffers. */
static bool choose_room(const struct runtime *rt, uint16_t *room)
{
    uint32_t most = RTE_MBUF_DEFAULT_DATAROOM;
    for (unsigned i = 0; i < rt->n_ports; i++) {
        uint32_t need = port_room(&rt->port[i], &rt->config->device[i]);
        if (need > UINT16_MAX - RTE_PKTMBUF_HEADROOM) {
            log_error(
                "device %s: MTU %u needs a buffer of %u bytes, more than DPDK's %u; lower mtu",
                rt->port[i].name, rt->port[i].mtu, need, UINT16_MAX - RTE_PKTMBUF_HEADROOM);
            return false;
        }
        if (need > most)
            most = need;
    }
    *room = (uint16_t)most;
    uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
    uint32_t object = mbuf_object_bytes(*room);
    if (has_driver(rt, CONFIG_DRIVER_AF_XDP) && object > page) {
        log_error("AF_XDP wants a packet with its headers in one page: all MTUs have to be lower "
                  "by %u bytes",
                  object - page);
        return false;
    }
    return true;
}

static struct mbuf_pool *pool_of(struct runtime *rt, int numa)
{
    for (unsigned i = 0; i < rt->n_pools; i++)
        if (rt->pool[i].numa == numa)
            return &rt->pool[i];
    return NULL;
}

/* Without hugepages DPDK has one heap, of no node. */
static int numa_of_worker(const struct runtime *rt, unsigned w)
{
    return rt->memory == EAL_NO_HUGE ? SOCKET_ID_ANY : (int)rte_lcore_to_socket_id(w + 1);
}

/* Do no devices see memory by its physical address? Then packets may cross pages. */
static bool may_pack(const struct runtime *rt)
{
    return rte_eal_iova_mode() == RTE_IOVA_VA || !has_driver(rt, CONFIG_DRIVER_PCI);
}

static bool create_pools(struct runtime *rt)
{
    uint16_t room;
    bool packed = may_pack(rt);
    if (!packed && has_driver(rt, CONFIG_DRIVER_AF_XDP)) {
        log_error("AF_XDP beside a PCI device needs an IOMMU (vfio-pci with intel_iommu=on or "
                  "amd_iommu=on); driver: af_packet works without");
        return false;
    }
    if (!choose_room(rt, &room))
        return false;
    for (unsigned w = 0; w < rt->config->workers.n; w++) {
        int numa = numa_of_worker(rt, w);
        if (pool_of(rt, numa))
            continue;
        if (rt->n_pools == ENGINE_POOLS_MAX ||
            !mbuf_pool_create(&rt->pool[rt->n_pools], numa, rt->pool_packets, room, packed)) {
            rt->hugepages_gone = rte_errno == ENOMEM && eal_may_go_without(rt->config, rt->memory);
            if (!rt->hugepages_gone)
                log_error("no memory for %u packets of %u bytes on NUMA node %d: %s; lower "
                          "memory.packets, or raise memory.megabytes or the number of hugepages",
                          rt->pool_packets, room, numa, rte_strerror(rte_errno));
            return false;
        }
        rt->n_pools++;
    }
    return true;
}

static bool start_ports(struct runtime *rt)
{
    struct mbuf_pool *pool[CONFIG_WORKERS_MAX];
    for (unsigned w = 0; w < rt->config->workers.n; w++)
        pool[w] = pool_of(rt, numa_of_worker(rt, w));
    for (unsigned i = 0; i < rt->n_ports; i++)
        if (!port_start(&rt->port[i], &rt->config->device[i], &rt->steer, pool))
            return false;
    return true;
}

/* ---- workers ---- */

struct iface_config *engine_ifaces(const struct runtime *rt, const struct config *c)
{
    struct iface_config *iface = calloc(rt->n_ports, sizeof(*iface));
    for (unsigned i = 0; iface && i < rt->n_ports; i++)
        iface[i] = port_iface(&rt->port[i], &c->device[i]);
    return iface;
}

static void hold_origin(const void *context, uint16_t worker)
{
    origin_hold(context, worker);
}

static void release_origin(const void *context, uint16_t worker)
{
    origin_release(context, worker);
}

static void hold_proxy(const void *context, uint16_t worker)
{
    proxy_hold(context, worker);
}

static void release_proxy(const void *context, uint16_t worker)
{
    proxy_release(context, worker);
}

/* What its service serves. */
static void set_context(struct stack_listener *l, const struct assets *a, unsigned i)
{
    const struct proxy *proxy = assets_proxy(a, i);
    l->context = proxy ? (const void *)proxy : assets_origin(a, i);
    l->context_hold = proxy ? hold_proxy : hold_origin;
    l->context_release = proxy ? release_proxy : release_origin;
}

struct stack_listener *engine_listeners(const struct config *c, const struct assets *a)
{
    struct stack_listener *to = calloc(c->n_listeners + 1, sizeof(*to)); /* never of no bytes */
    for (unsigned i = 0; to && i < c->n_listeners; i++) {
        const struct config_listener *from = &c->listener[i];
        memcpy(to[i].name, from->name, sizeof(to[i].name));
        to[i].addr = from->addr;
        to[i].port = from->port;
        to[i].service = service_of(from->service);
        to[i].backlog = from->backlog;
        to[i].no_cookies = !from->syn_cookies;
        to[i].carrier = from->carrier;
        to[i].tls = assets_tls(a, i);
        to[i].scheduler = from->scheduler;
        set_context(&to[i], a, i);
        to[i].handshakes = from->handshakes;
        to[i].prefix_handshakes = from->prefix_handshakes;
        to[i].handshake_timeout = from->handshake_timeout;
    }
    return to;
}

struct stack_config engine_stack_config(const struct runtime *rt, const struct config *c,
                                        const struct iface_config *iface,
                                        const struct stack_listener *listener, unsigned w)
{
    struct stack_config to = {
        .worker = (uint16_t)w,
        .n_workers = (uint16_t)rt->n_workers,
        .n_ifaces = (uint16_t)rt->n_ports,
        .iface = iface,
        .icmp = c->icmp,
        .limits = c->limits,
        .tcp = c->tcp,
        .http2 = c->http2,
        .log = c->access_log.sample > 0,
        .ticket_lifetime = c->tls.ticket_lifetime,
        .n_listeners = (uint16_t)c->n_listeners,
        .listener = listener,
    };
    to.limits.tcp_memory = plan_tcp_memory(c);
    return to;
}

static struct rte_ring *pair_ring(const char *kind, unsigned from, unsigned to, int numa)
{
    char name[RTE_RING_NAMESIZE];
    snprintf(name, sizeof(name), "%s_%u_%u", kind, from, to);
    return rte_ring_create(name, PLAN_PAIR_PACKETS, numa, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

/* Does worker `from` send on some device by the lane of worker `to`? */
static bool sends_by(const struct runtime *rt, unsigned from, unsigned to)
{
    for (unsigned i = 0; i < rt->n_ports; i++)
        if (port_tx_lane(&rt->port[i], from)->worker == to)
            return true;
    return false;
}

static bool create_pairs(struct runtime *rt)
{
    unsigned n = rt->n_workers;
    if (n == 1)
        return true;
    rt->pairs = calloc((size_t)n * n, sizeof(*rt->pairs));
    for (unsigned from = 0; rt->pairs && from < n; from++)
        for (unsigned to = 0; to < n; to++) {
            struct worker_pair *p = &rt->pairs[from * n + to];
            int numa = numa_of_worker(rt, to);
            if (from == to)
                continue;
            p->rx = pair_ring("rx", from, to, numa);
            if (!p->rx)
                return false;
            if (!sends_by(rt, from, to))
                continue;
            p->tx = pair_ring("tx", from, to, numa);
            if (!p->tx)
                return false;
        }
    return rt->pairs;
}

static void set_lanes(struct worker *w, const struct port *port, unsigned n_ports)
{
    const uint32_t helped = IFACE_TX_IP_CSUM | IFACE_TX_UDP_CSUM | IFACE_TX_TCP_CSUM |
                            IFACE_TX_SCTP_CSUM | IFACE_TX_TSO;
    for (uint16_t i = 0; i < n_ports; i++) {
        const struct port *p = &port[i];
        const struct port_lane *tx = port_tx_lane(p, w->index);
        w->tx[i] = (struct worker_tx){
            .dpdk = tx->dpdk,
            .queue = tx->queue,
            .via = tx->worker,
            .prepare = p->offload & helped,
        };
        for (unsigned l = 0; l < p->n_lanes; l++)
            if (p->lane[l].worker == w->index)
                w->rx[w->n_rx++] = (struct worker_rx){
                    .dpdk = p->lane[l].dpdk, .queue = p->lane[l].queue, .iface = i};
    }
}

static struct record *new_record(void)
{
    size_t size = (RECORD_SIZE(COUNTERS_WORDS) + 63) & ~(size_t)63;
    struct record *r = aligned_alloc(64, size);
    if (r) {
        memset(r, 0, size);
        record_init(r, COUNTERS_WORDS);
    }
    return r;
}

static bool create_worker(struct runtime *rt, unsigned i)
{
    const struct config *c = rt->config;
    struct worker *w = &rt->worker[i];
    int numa = numa_of_worker(rt, i);
    w->index = (uint16_t)i;
    w->n_workers = (uint16_t)rt->n_workers;
    w->n_ifaces = (uint16_t)rt->n_ports;
    w->burst = c->workers.burst < WORKER_BURST_MAX ? c->workers.burst : WORKER_BURST_MAX;
    w->pairs = rt->pairs;
    w->steer = &rt->steer;
    w->clock = &rt->clock;
    w->pool = pool_of(rt, numa);
    w->core = c->workers.core[i];
    w->lcore = (uint16_t)(i + 1);
    w->numa = (uint16_t)rte_lcore_to_socket_id(w->lcore);
    w->max_sleep_us = c->workers.max_sleep_us;
    w->drain_by = &rt->drain.stop_by;
    w->stop = &rt->stop;
    w->config = &rt->stack[i];
    w->wall = &rt->wall;
    atomic_store(&w->idle, (int)c->workers.idle);
    memory_init(&w->memory);
    if (i > 0)
        memcpy(w->seed, rt->worker[0].seed, sizeof(w->seed)); /* one host, one seed (stack.h) */
    else if (getrandom(w->seed, sizeof(w->seed), 0) != sizeof(w->seed))
        return false;
    if (!access_ring_init(&w->access, ACCESS_RING_BYTES, c->access_log.sample))
        return false;
    w->tunnels.questions = &rt->answers.questions[i];
    w->tunnels.max = c->tunnels;
    w->record = new_record();
    w->tx = calloc(rt->n_ports, sizeof(*w->tx));
    if (rt->n_workers > 1)
        w->batch = calloc(rt->n_workers, sizeof(*w->batch));
    if (!w->record || !w->tx || (rt->n_workers > 1 && !w->batch))
        return false;
    set_lanes(w, rt->port, rt->n_ports);
    rt->stack[i] = engine_stack_config(rt, c, rt->iface, rt->listener, i);
    return mailbox_create(&w->mail, i, numa);
}

static bool create_workers(struct runtime *rt)
{
    rt->n_workers = rt->config->workers.n;
    size_t size = rt->n_workers * sizeof(*rt->worker);
    rt->worker = aligned_alloc(64, (size + 63) & ~(size_t)63);
    if (rt->worker)
        memset(rt->worker, 0, size);
    rt->watchdog = calloc(rt->n_workers, sizeof(*rt->watchdog));
    rt->stack = calloc(rt->n_workers, sizeof(*rt->stack));
    rt->iface = engine_ifaces(rt, rt->config);
    rt->listener = engine_listeners(rt->config, rt->assets);
    bool ok =
        rt->worker && rt->watchdog && rt->stack && rt->iface && rt->listener && create_pairs(rt);
    for (unsigned i = 0; ok && i < rt->n_workers; i++)
        ok = create_worker(rt, i);
    if (!ok)
        log_error("no memory for %u workers", rt->n_workers);
    return ok;
}

/* ---- running ---- */

static void wait_step(void)
{
    nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000}, NULL);
}

static enum worker_state state_of(const struct worker *w)
{
    return (enum worker_state)atomic_load(&w->state);
}

/* Waits until every worker has left STARTING. */
static bool all_running(const struct runtime *rt)
{
    for (unsigned i = 0; i < rt->n_workers; i++) {
        const struct worker *w = &rt->worker[i];
        for (int ms = 0; state_of(w) == WORKER_STARTING && ms < START_MS; ms += STEP_MS)
            wait_step();
        if (state_of(w) == WORKER_RUNNING)
            continue;
        int error = atomic_load(&w->error);
        log_error("worker %u did not start: %s", i,
                  error == STACK_E_MEMORY   ? "no memory; lower limits"
                  : error == STACK_E_CONFIG ? "its stack refuses the configuration of the devices"
                                            : "its core gave it no time");
        return false;
    }
    return true;
}

static bool launch(struct runtime *rt)
{
    clock_set(&rt->clock, rte_rdtsc(), rte_get_tsc_hz());
    engine_set_wall(rt);
    for (unsigned i = 0; i < rt->n_workers; i++) {
        int ret = rte_eal_remote_launch(worker_main, &rt->worker[i], rt->worker[i].lcore);
        if (ret < 0) {
            log_error("worker %u: %s", i, rte_strerror(-ret));
            /* Never started: nothing to wait for. */
            for (unsigned j = i; j < rt->n_workers; j++)
                atomic_store(&rt->worker[j].state, WORKER_STOPPED);
            return false;
        }
        rt->launched = true;
    }
    return all_running(rt);
}

/* Logs what was written to a stream of memory, which is closed, and its text freed. */
static void log_lines(enum config_log_level level, FILE *lines, char **text)
{
    fclose(lines);
    for (char *save, *line = *text ? strtok_r(*text, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save))
        log_line(level, "%s", line);
    free(*text);
}

/* Before DPDK starts, whose messages name other causes. */
static bool fits(const struct runtime *rt)
{
    char *text = NULL;
    size_t size;
    FILE *faults = open_memstream(&text, &size);
    if (!faults)
        return false;
    unsigned n = config_probe_start(rt->config, rt->file, faults);
    log_lines(CONFIG_LOG_ERROR, faults, &text);
    return n == 0;
}

static void log_certificates(const struct runtime *rt, unsigned listener)
{
    const struct tls_context *t = assets_tls(rt->assets, listener);
    for (unsigned i = 0; t && i < tls_context_n_identities(t); i++) {
        char text[CERTIFICATES_TEXT_MAX];
        const char *name = rt->config->listener[listener].name;
        if (certificates_describe(tls_context_identity(t, i), (int64_t)time(NULL), text))
            log_info("listener %s: certificate %s", name, text);
        else
            log_warning("listener %s: certificate %s", name, text);
    }
}

/* What is allowed and hardly meant. */
static void log_warnings(const struct runtime *rt)
{
    char *text = NULL;
    size_t size;
    FILE *warnings = open_memstream(&text, &size);
    if (!warnings)
        return;
    struct config_faults f = {.file = rt->file, .tree = rt->config->tree};
    assets_warn(rt->assets, rt->config, &f);
    config_faults_flush(&f, warnings);
    log_lines(CONFIG_LOG_WARNING, warnings, &text);
}

void engine_log_assets(const struct runtime *rt)
{
    log_warnings(rt);
    for (unsigned i = 0; i < rt->config->n_listeners; i++)
        log_certificates(rt, i);
    for (unsigned i = 0; i < rt->config->n_origins; i++) {
        unsigned left_out;
        const struct origin *o = assets_site(rt->assets, i, &left_out);
        log_info("origin %s: %u paths, %llu bytes", origin_name(o), origin_n_entries(o),
                 (unsigned long long)origin_n_bytes(o));
        if (left_out > 0)
            log_notice(
                "origin %s: not served of its directory, for being no file or leading out of "
                "it: %u",
                origin_name(o), left_out);
    }
}

/* Certificates, sites, and the access log's file. */
static bool load_assets(struct runtime *rt)
{
    const struct config *c = rt->config;
    char *text = NULL;
    size_t size;
    FILE *faults = open_memstream(&text, &size);
    if (!faults)
        return false;
    struct config_faults f = {.file = rt->file, .tree = c->tree};
    rt->assets = assets_load(&rt->assets_store, c, NULL, &f);
    config_faults_flush(&f, faults);
    log_lines(CONFIG_LOG_ERROR, faults, &text);
    if (rt->assets && c->access_log.sample &&
        !access_log_open(&rt->access_log, c->access_log.file)) {
        log_error("access-log.file %s: %s", c->access_log.file ? c->access_log.file : "stdout",
                  strerror(errno));
        return false;
    }
    if (rt->assets)
        engine_log_assets(rt);
    return rt->assets;
}

bool engine_start(struct runtime *rt)
{
    const struct config *c = rt->config;
    if (!fits(rt) || !load_assets(rt))
        return false;
    rt->pool_packets = plan_packets(c);
    steer_init(&rt->steer, (uint16_t)c->workers.n);
    enum eal_outcome eal = eal_start(c, rt->no_hugepages, &rt->memory);
    rt->eal = eal == EAL_UP;
    rt->hugepages_gone = eal == EAL_HUGEPAGES_GONE;
    return rt->eal && open_ports(rt) && create_pools(rt) && start_ports(rt) &&
           answers_init(&rt->answers, rt->config, &rt->assets_store, rt->config->workers.n) &&
           create_workers(rt) && launch(rt);
}

void engine_write_access_log(struct runtime *rt)
{
    int64_t wall = atomic_load(&rt->wall);
    for (unsigned i = 0; rt->worker && i < rt->n_workers; i++)
        if (rt->worker[i].access.ring)
            access_log_drain(&rt->access_log, &rt->worker[i].access, wall);
    access_log_flush(&rt->access_log);
}

/* ---- stopping ---- */

static bool wait_stopped(const struct runtime *rt)
{
    bool all = true;
    int ms = 0;
    for (unsigned i = 0; i < rt->n_workers; i++) {
        while (state_of(&rt->worker[i]) != WORKER_STOPPED && ms < STOP_MS) {
            wait_step();
            ms += STEP_MS;
        }
        if (state_of(&rt->worker[i]) == WORKER_STOPPED)
            continue;
        log_error("worker %u does not stop; leaving without it", i);
        all = false;
    }
    return all;
}

static void destroy_pairs(struct runtime *rt)
{
    void *got;
    for (unsigned i = 0; rt->pairs && i < rt->n_workers * rt->n_workers; i++) {
        struct worker_pair *p = &rt->pairs[i];
        while (p->rx && rte_ring_sc_dequeue(p->rx, &got) == 0)
            pkt_free(got);
        while (p->tx && rte_ring_sc_dequeue(p->tx, &got) == 0)
            rte_pktmbuf_free(got);
        rte_ring_free(p->rx);
        rte_ring_free(p->tx);
    }
    free(rt->pairs);
}

static void destroy_workers(struct runtime *rt)
{
    for (unsigned i = 0; rt->worker && i < rt->n_workers; i++) {
        struct worker *w = &rt->worker[i];
        mailbox_destroy(&w->mail);
        access_ring_fini(&w->access);
        free(w->record);
        free(w->batch);
        free(w->tx);
    }
    destroy_pairs(rt);
    free(rt->worker);
    free(rt->watchdog);
    free(rt->stack);
    free(rt->iface);
    free(rt->listener);
}

/* After the workers, whose last requests are in the access log too. */
static void drop_assets(struct runtime *rt)
{
    access_log_close(&rt->access_log);
    assets_release(rt->assets);
    if (assets_reap(&rt->assets_store) > 0)
        log_error("a stopped worker still uses an origin");
}

bool engine_stop(struct runtime *rt)
{
    atomic_store(&rt->stop, true);
    if (rt->launched && !wait_stopped(rt))
        return false;
    if (rt->launched)
        rte_eal_mp_wait_lcore();
    engine_write_access_log(rt);
    destroy_workers(rt);
    answers_fini(&rt->answers);
    drop_assets(rt);
    for (unsigned i = 0; i < rt->n_ports; i++)
        port_close(&rt->port[i]);
    free(rt->port);
    for (unsigned i = 0; i < rt->n_pools; i++)
        mbuf_pool_destroy(&rt->pool[i]);
    if (rt->eal)
        eal_stop(rt->config, rt->memory);
    return true;
}
