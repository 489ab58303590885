/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit/app/fake_runtime.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "app/log.h"

struct runtime *fake_logging;

void fake_init(struct runtime *rt)
{
    memset(rt, 0, sizeof(*rt));
    rt->n_workers = 2;
    for (unsigned i = 0; i < FAKE_WORKERS; i++)
        rt->state[i] = WORKER_RUNNING;
    rt->config.device = rt->device;
    rt->config.n_devices = FAKE_PORTS;
    rt->config.workers.n = 2;
    rt->config.workers.core[1] = 1;
    rt->config.control.core = -1;
    rt->config.control.mode = 0660;
    rt->config.capture.max_bytes = 100u << 20;
    strcpy(rt->device[0].iface.name, "wan0");
    strcpy(rt->device[1].iface.name, "lan.0-x");
    for (unsigned i = 0; i < FAKE_PORTS; i++) {
        rt->device[i].driver = CONFIG_DRIVER_TAP;
        rt->device[i].iface.mtu = 1500;
        rt->link_up[i] = true;
    }
    fake_logging = rt;
}

struct ip_addr fake_ip(const char *text)
{
    struct ip_addr a;
    bool parsed = ip_parse(text, &a);
    assert(parsed && "the test's address is one");
    (void)parsed;
    return a;
}

void fake_neighbour(struct runtime *rt, unsigned worker, uint16_t iface, const char *addr,
                    uint8_t mac, tick_t confirmed)
{
    assert(rt->n_neighbours[worker] < FAKE_ROWS);
    rt->neighbour[worker][rt->n_neighbours[worker]++] =
        (struct ctl_neighbour){.addr = fake_ip(addr),
                               .mac = {{2, 0, 0, 0, 0, mac}},
                               .iface = iface,
                               .state = CTL_NEIGHBOUR_REACHABLE,
                               .queued = 1,
                               .confirmed = confirmed};
}

struct ctl_connection *fake_connection(struct runtime *rt, unsigned worker, const char *remote,
                                       uint16_t port)
{
    unsigned n = rt->n_connections[worker]++;
    assert(n < FAKE_ROWS);
    struct ctl_connection *k = &rt->connection[worker][n];
    *k = (struct ctl_connection){
        .id = 0x100 + n,
        .local = fake_ip("10.0.0.1"),
        .remote = fake_ip(remote),
        .local_port = 7,
        .remote_port = port,
        .protocol = 6,
        .flags = CTL_CONNECTION_TIMESTAMPS | CTL_CONNECTION_SACK | CTL_CONNECTION_SCALED |
                 CTL_CONNECTION_PASSIVE,
        .state = "established",
        .recovery = "open",
        .congestion = "cubic",
        .service = "echo",
        .listener = "echo",
        .age = 90 * TICK_SEC,
        .idle = 2 * TICK_SEC,
        .srtt = 40 * TICK_MS,
        .rttvar = 5 * TICK_MS,
        .min_rtt = 39 * TICK_MS,
        .rto = 240 * TICK_MS,
        .timer = TICK_NEVER,
        .cwnd = 14480,
        .ssthresh = UINT32_MAX,
        .mss = 1448,
        .mss_peer = 1460,
        .path_mtu = 1500,
        .send_window = 65536,
        .receive_window = 65535,
        .send_scale = 7,
        .receive_scale = 8,
        .in_flight = 2896,
        .unsent = 100,
        .unread = 64,
        .rx_bytes = 1 << 20,
        .tx_bytes = 3 << 20,
        .rx_segments = 1000,
        .tx_segments = 2000,
        .memory = 2304,
    };
    return k;
}

struct ctl_tunnel *fake_tunnel(struct runtime *rt, unsigned worker, uint16_t port)
{
    unsigned n = rt->n_tunnels[worker]++;
    assert(n < FAKE_ROWS);
    struct ctl_tunnel *t = &rt->tunnel[worker][n];
    *t = (struct ctl_tunnel){
        .id = 0x100 + n,
        .connection = 0x2a,
        .client = fake_ip("10.0.0.2"),
        .client_port = 40000,
        .target = fake_ip("192.0.2.7"),
        .target_port = port,
        .state = "open",
        .listener = "proxy",
        .proxy = "egress",
        .user = "alice",
        .authority = "www.example:443",
        .to_target = 1000,
        .to_client = 3 << 20,
        .age = 90 * TICK_SEC,
        .resolved = 5 * TICK_MS,
        .connected = 25 * TICK_MS,
    };
    return t;
}

/* ---- app/runtime.h ---- */

const char *worker_state_name(enum worker_state s)
{
    static const char *const names[] = {
#define X(id, name) [WORKER_##id] = name,
        WORKER_STATES(X)
#undef X
    };
    return names[s];
}

const char *capture_state_name(enum capture_state s)
{
    static const char *const names[] = {
#define X(id, name) [CAPTURE_##id] = name,
        CAPTURE_STATES(X)
#undef X
    };
    return names[s];
}

const char *runtime_error_text(int error)
{
    return error == RUNTIME_E_TIMEOUT ? "no answer in time" : "something else";
}

const struct config *runtime_config(const struct runtime *rt)
{
    return &rt->config;
}

const char *runtime_config_file(const struct runtime *rt)
{
    (void)rt;
    return "/etc/millrace/fake.yaml";
}

tick_t runtime_uptime(const struct runtime *rt)
{
    (void)rt;
    return 90 * TICK_SEC;
}

const char *runtime_memory_mode(const struct runtime *rt)
{
    (void)rt;
    return "no hugepages";
}

uint64_t runtime_tsc_hz(const struct runtime *rt)
{
    (void)rt;
    return 1000000000;
}

int runtime_drain(struct runtime *rt, bool stop, tick_t patience)
{
    if (rt->drain_error)
        return rt->drain_error;
    rt->patience = patience;
    rt->draining = (struct runtime_draining){
        .on = true, .stop = stop, .connections = 3, .left = 30 * TICK_SEC};
    return 0;
}

void runtime_draining(struct runtime *rt, struct runtime_draining *to)
{
    *to = rt->draining;
}

bool runtime_stopping(const struct runtime *rt)
{
    return rt->stopping;
}

int runtime_reload(struct runtime *rt, FILE *errors)
{
    rt->reloads++;
    if (!rt->refuse_reload)
        return 0;
    fputs(rt->refuse_reload, errors);
    return RUNTIME_E_REFUSED;
}

unsigned runtime_workers(const struct runtime *rt)
{
    return rt->n_workers;
}

void runtime_worker(const struct runtime *rt, unsigned worker, struct runtime_worker *to)
{
    *to = (struct runtime_worker){.index = (uint16_t)worker,
                                  .core = (uint16_t)(worker + 2),
                                  .lcore = (uint16_t)(worker + 1),
                                  .state = rt->state[worker]};
    if (to->state == WORKER_STUCK)
        to->stalled = 1500 * TICK_MS;
}

bool runtime_counters(const struct runtime *rt, unsigned worker, uint64_t word[COUNTERS_WORDS])
{
    memcpy(word, rt->word[worker], sizeof(rt->word[worker]));
    return !rt->torn[worker];
}

unsigned runtime_ports(const struct runtime *rt)
{
    return rt->config.n_devices;
}

void runtime_port(const struct runtime *rt, unsigned port, struct runtime_port *to)
{
    *to = (struct runtime_port){.name = rt->device[port].iface.name,
                                .driver = "tap",
                                .pmd = "net_tap",
                                .interface = "",
                                .mac = {{2, 0, 0, 0, 1, (uint8_t)port}},
                                .mtu = rt->device[port].iface.mtu,
                                .link_up = rt->link_up[port],
                                .gone = rt->gone[port],
                                .promiscuous = port == 1,
                                .promiscuous_why = port == 1 ? "configured" : NULL,
                                .link_mbps = 10000,
                                .rx_queues = 2,
                                .tx_queues = 2,
                                .dpdk_ports = 1,
                                .lanes = 2,
                                .offloads = "rx-checksum  tx-multi-segs "};
}

void runtime_lane(const struct runtime *rt, unsigned port, unsigned lane, struct runtime_lane *to)
{
    (void)rt;
    *to = (struct runtime_lane){(uint16_t)lane, (uint16_t)port, (uint16_t)lane, (uint16_t)lane};
}

void runtime_port_stats(const struct runtime *rt, unsigned port, struct runtime_port_stats *to)
{
    *to = rt->stats[port];
}

void runtime_port_xstats(const struct runtime *rt, unsigned port,
                         void (*each)(void *ctx, const char *name, uint64_t value), void *ctx)
{
    (void)rt;
    each(ctx, "rx_q0_packets", 7 + port);
}

uint64_t runtime_tls_memory(const struct runtime *rt)
{
    (void)rt;
    return 12345;
}

int64_t runtime_certificates_end(const struct runtime *rt)
{
    (void)rt;
    return 2000000001;
}

uint64_t runtime_access_log_written(const struct runtime *rt)
{
    (void)rt;
    return 17;
}

uint64_t runtime_access_log_lost(const struct runtime *rt, unsigned worker)
{
    (void)rt;
    return worker;
}

void runtime_resolver(const struct runtime *rt, struct resolver_stats *to)
{
    *to = rt->resolver;
}

void runtime_names(const struct runtime *rt, uint32_t *cursor,
                   bool (*each)(void *ctx, const struct resolver_row *row), void *ctx)
{
    while (*cursor < rt->n_names)
        if (!each(ctx, &rt->name[(*cursor)++]))
            return;
    *cursor = UINT32_MAX;
}

void runtime_verifier(const struct runtime *rt, struct verifier_stats *to)
{
    *to = rt->verifier;
}

unsigned runtime_pools(const struct runtime *rt)
{
    (void)rt;
    return 2;
}

void runtime_pool(const struct runtime *rt, unsigned pool, struct runtime_pool *to)
{
    (void)rt;
    *to = (struct runtime_pool){.name = pool ? "views_0" : "packets_0",
                                .size = 1000,
                                .in_use = 10 + pool,
                                .object_bytes = 2432};
}

static bool passes(const struct ctl_connection_filter *f, const struct ctl_connection *k)
{
    return (!f->protocol || f->protocol == k->protocol) &&
           (!f->state[0] || strcmp(f->state, k->state) == 0) &&
           (!f->listener[0] || strcmp(f->listener, k->listener) == 0);
}

/* As a stack does: it looks at a bounded number, whatever the filter lets through. */
static void connections(const struct ctl_connection *row, unsigned n, struct ctl_request *r)
{
    for (unsigned looked = 0; looked < 150 && r->n < r->max && r->cursor < n; looked++) {
        const struct ctl_connection *k = &row[r->cursor++];
        if (passes(&r->filter, k))
            r->rows.connection[r->n++] = *k;
    }
    r->more = r->cursor < n;
}

static struct ctl_connection *find(struct runtime *rt, unsigned worker, ctl_id_t id)
{
    for (unsigned i = 0; i < rt->n_connections[worker]; i++)
        if (rt->connection[worker][i].id == id)
            return &rt->connection[worker][i];
    return NULL;
}

static void connection(struct runtime *rt, unsigned worker, struct ctl_request *r)
{
    struct ctl_connection *k = find(rt, worker, r->id);
    if (!k)
        return;
    r->n = 1;
    if (r->kind == CTL_CONNECTION)
        *r->rows.connection = *k;
    else if (r->kind == CTL_SESSION_SHUTDOWN)
        r->n = k->http2.goaway != NULL;
    else
        *k = rt->connection[worker][--rt->n_connections[worker]];
}

/* One page of a table of n rows; true where another follows. */
static void page(struct ctl_request *r, const void *rows, size_t row, unsigned n, void *to)
{
    unsigned left = r->cursor < n ? n - (unsigned)r->cursor : 0;
    r->n = left < r->max ? left : r->max;
    memcpy(to, (const char *)rows + r->cursor * row, r->n * row);
    r->cursor += r->n;
    r->more = r->cursor < n;
}

static bool equal(const char *wanted, const char *is)
{
    return !*wanted || strcmp(wanted, is) == 0;
}

/* By so many at a time, as a worker. */
static void tunnels(const struct ctl_tunnel *row, unsigned n, struct ctl_request *r)
{
    const struct ctl_tunnel_filter *f = &r->tunnel_filter;
    for (unsigned looked = 0; looked < 150 && r->n < r->max && r->cursor < n; looked++) {
        const struct ctl_tunnel *t = &row[r->cursor++];
        if (equal(f->state, t->state) && equal(f->listener, t->listener) &&
            equal(f->proxy, t->proxy) && equal(f->user, t->user) &&
            (!f->by_target || ip_in_prefix(&f->target, &t->target)))
            r->rows.tunnel[r->n++] = *t;
    }
    r->more = r->cursor < n;
}

static void kill_tunnel(struct runtime *rt, unsigned worker, struct ctl_request *r)
{
    for (unsigned i = 0; i < rt->n_tunnels[worker]; i++) {
        if (rt->tunnel[worker][i].id != r->id)
            continue;
        rt->tunnel[worker][i] = rt->tunnel[worker][--rt->n_tunnels[worker]];
        r->n = 1;
        return;
    }
}

int runtime_control(struct runtime *rt, unsigned worker, struct ctl_request *r, unsigned timeout_ms)
{
    assert(timeout_ms > 0 && timeout_ms <= 1000 && "a client does not wait for long");
    rt->requests++;
    if (r->max > rt->most)
        rt->most = r->max;
    if (rt->mute[worker])
        return RUNTIME_E_TIMEOUT;
    switch (r->kind) {
    case CTL_NEIGHBOURS:
        page(r, rt->neighbour[worker], sizeof(rt->neighbour[0][0]), rt->n_neighbours[worker],
             r->rows.neighbour);
        break;
    case CTL_NEIGHBOURS_FLUSH:
        r->n = rt->n_neighbours[worker];
        rt->n_neighbours[worker] = 0;
        break;
    case CTL_ADDRESSES:
        page(r, rt->address[worker], sizeof(rt->address[0][0]), rt->n_addresses[worker],
             r->rows.address);
        break;
    case CTL_PATHS:
        page(r, rt->path[worker], sizeof(rt->path[0][0]), rt->n_paths[worker], r->rows.path);
        break;
    case CTL_CONNECTIONS: connections(rt->connection[worker], rt->n_connections[worker], r); break;
    case CTL_CONNECTION:
    case CTL_SESSION_SHUTDOWN:
    case CTL_CONNECTION_RESET: connection(rt, worker, r); break;
    case CTL_LISTENERS:
        page(r, rt->listener[worker], sizeof(rt->listener[0][0]), rt->n_listeners[worker],
             r->rows.listener);
        break;
    case CTL_TUNNELS: tunnels(rt->tunnel[worker], rt->n_tunnels[worker], r); break;
    case CTL_TUNNEL_KILL: kill_tunnel(rt, worker, r); break;
    default: assert(0 && "a request that there is");
    }
    return 0;
}

int runtime_capture_start(struct runtime *rt, const struct runtime_capture_options *options,
                          char *error, size_t room)
{
    if (rt->refuse_capture) {
        snprintf(error, room, "%s", rt->refuse_capture);
        return RUNTIME_E_REFUSED;
    }
    rt->started = *options;
    snprintf(rt->started_file, sizeof(rt->started_file), "%s",
             options->file ? options->file : "from-the-time.pcapng");
    rt->capture = (struct runtime_capture){.state = CAPTURE_RUNNING,
                                           .worker = options->worker,
                                           .file = rt->started_file,
                                           .max_bytes = options->max_bytes};
    return 0;
}

int runtime_capture_stop(struct runtime *rt, char *error, size_t room)
{
    if (rt->capture.state != CAPTURE_RUNNING) {
        snprintf(error, room, "no capture runs");
        return RUNTIME_E_REFUSED;
    }
    rt->capture.state = CAPTURE_STOPPED;
    return 0;
}

void runtime_capture(const struct runtime *rt, struct runtime_capture *to)
{
    *to = rt->capture;
}

/* ---- app/log.h ---- */

void log_line(enum config_log_level level, const char *format, ...)
{
    (void)level;
    if (!fake_logging)
        return;
    char *log = fake_logging->log;
    size_t used = strlen(log);
    va_list args;
    va_start(args, format);
    vsnprintf(log + used, sizeof(fake_logging->log) - used, format, args);
    va_end(args);
}
