/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/telemetry.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "app/log.h"

/* A command's function is given no context: this is it, and the lock says who may touch it. */
static struct {
    pthread_mutex_t lock;
    const struct runtime *rt; /* NULL: nothing to show */
} shown = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void add_u64(struct rte_tel_data *d, const char *name, uint64_t n)
{
#ifdef HAVE_RTE_TEL_UINT
    rte_tel_data_add_dict_uint(d, name, n);
#else
    rte_tel_data_add_dict_u64(d, name, n);
#endif
}

/* As DPDK's own commands: without a parameter the list, with one its details. */
static bool has_params(const char *params)
{
    return params && *params;
}

/* A worker's number; false where it is none. */
static bool which_worker(const struct runtime *rt, const char *params, unsigned *worker)
{
    char *end;
    unsigned long n = strtoul(params, &end, 10);
    *worker = (unsigned)n;
    return isdigit((unsigned char)*params) && *end == '\0' && n < runtime_workers(rt);
}

/* ---- workers ---- */

static int list_workers(const struct runtime *rt, struct rte_tel_data *d)
{
    rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
    for (unsigned i = 0; i < runtime_workers(rt); i++)
        rte_tel_data_add_array_int(d, (int)i);
    return 0;
}

static int show_workers(const struct runtime *rt, const char *params, struct rte_tel_data *d)
{
    uint64_t word[COUNTERS_WORDS];
    struct runtime_worker w;
    unsigned i;
    if (!has_params(params))
        return list_workers(rt, d);
    if (!which_worker(rt, params, &i))
        return -EINVAL;
    if (!runtime_counters(rt, i, word))
        return -EAGAIN;
    runtime_worker(rt, i, &w);
    rte_tel_data_start_dict(d);
    add_u64(d, "worker", w.index);
    add_u64(d, "core", w.core);
    add_u64(d, "lcore", w.lcore);
    rte_tel_data_add_dict_string(d, "state", worker_state_name(w.state));
    for (int c = 0; c < COUNTER_END; c++)
        add_u64(d, counter_name((enum counter)c), word[c]);
    return 0;
}

/* ---- ports ---- */

static int list_ports(const struct runtime *rt, struct rte_tel_data *d)
{
    struct runtime_port p;
    rte_tel_data_start_array(d, RTE_TEL_STRING_VAL);
    for (unsigned i = 0; i < runtime_ports(rt); i++) {
        runtime_port(rt, i, &p);
        rte_tel_data_add_array_string(d, p.name);
    }
    return 0;
}

static void fill_port(const struct runtime *rt, unsigned i, const struct runtime_port *p,
                      struct rte_tel_data *d)
{
    struct runtime_port_stats s;
    char mac[MAC_ADDR_TEXT];
    runtime_port_stats(rt, i, &s);
    mac_format(&p->mac, mac);
    rte_tel_data_start_dict(d);
    rte_tel_data_add_dict_string(d, "device", p->name);
    rte_tel_data_add_dict_string(d, "driver", p->driver);
    rte_tel_data_add_dict_string(d, "mac", mac);
    add_u64(d, "mtu", p->mtu);
    rte_tel_data_add_dict_string(d, "link", p->link_up ? "up" : "down");
    add_u64(d, "rx_packets", s.rx_packets);
    add_u64(d, "rx_bytes", s.rx_bytes);
    add_u64(d, "rx_missed", s.rx_missed);
    add_u64(d, "rx_errors", s.rx_errors);
    add_u64(d, "rx_no_mbuf", s.rx_no_mbuf);
    add_u64(d, "tx_packets", s.tx_packets);
    add_u64(d, "tx_bytes", s.tx_bytes);
    add_u64(d, "tx_errors", s.tx_errors);
}

static int show_ports(const struct runtime *rt, const char *params, struct rte_tel_data *d)
{
    struct runtime_port p;
    if (!has_params(params))
        return list_ports(rt, d);
    for (unsigned i = 0; i < runtime_ports(rt); i++) {
        runtime_port(rt, i, &p);
        if (strcmp(p.name, params) == 0) {
            fill_port(rt, i, &p, d);
            return 0;
        }
    }
    return -EINVAL;
}

/* ---- sums over workers ---- */

/* Of the worker that params names, or of all. */
static int sum(const struct runtime *rt, const char *params, uint64_t total[COUNTERS_WORDS])
{
    uint64_t word[COUNTERS_WORDS];
    unsigned first = 0;
    unsigned last = runtime_workers(rt) - 1;
    if (has_params(params)) {
        if (!which_worker(rt, params, &first))
            return -EINVAL;
        last = first;
    }
    memset(total, 0, COUNTERS_WORDS * sizeof(*total));
    for (unsigned w = first; w <= last; w++) {
        if (!runtime_counters(rt, w, word))
            return -EAGAIN;
        for (unsigned i = 0; i < COUNTERS_WORDS; i++)
            total[i] += word[i];
    }
    return 0;
}

static int show_drops(const struct runtime *rt, const char *params, struct rte_tel_data *d)
{
    uint64_t total[COUNTERS_WORDS];
    int error = sum(rt, params, total);
    if (error)
        return error;
    rte_tel_data_start_dict(d);
    for (int i = DROP_NONE + 1; i < DROP_END; i++)
        add_u64(d, drop_name((enum drop)i), total[counters_drop_word((enum drop)i)]);
    return 0;
}

/* The table itself is known to the workers only, whom this thread may not ask: its counters. */
static int show_neighbours(const struct runtime *rt, const char *params, struct rte_tel_data *d)
{
    uint64_t total[COUNTERS_WORDS];
    int error = sum(rt, params, total);
    if (error)
        return error;
    rte_tel_data_start_dict(d);
    for (int i = COUNTER_ARP_RX_REQUESTS; i <= COUNTER_DAD_DUPLICATES; i++)
        add_u64(d, counter_name((enum counter)i), total[i]);
    add_u64(d, counter_name(COUNTER_NEIGH_CHANGES), total[COUNTER_NEIGH_CHANGES]);
    return 0;
}

/* Likewise. */
static int show_tcp(const struct runtime *rt, const char *params, struct rte_tel_data *d)
{
    uint64_t total[COUNTERS_WORDS];
    int error = sum(rt, params, total);
    if (error)
        return error;
    rte_tel_data_start_dict(d);
    add_u64(d, "tcp_connections", total[COUNTER_TCP_OPENED] - total[COUNTER_TCP_CLOSED]);
    for (int i = COUNTER_TCP_RX_SEGMENTS; i <= COUNTER_TCP_ECE_RX; i++)
        add_u64(d, counter_name((enum counter)i), total[i]);
    return 0;
}

/* ---- commands ---- */

/* X(name, what it shows) */
#define TELEMETRY_COMMANDS(X)                                                               \
    X(workers, "Workers; with a number, its counters. Parameters: worker (optional)")       \
    X(ports, "Devices; with a name, its statistics. Parameters: device (optional)")         \
    X(drops, "Packets dropped, by reason. Parameters: worker (optional)")                   \
    X(neighbours, "Counters of ARP and neighbour discovery. Parameters: worker (optional)") \
    X(tcp, "TCP connections that are open, and TCP's counters. Parameters: worker (optional)")

static int locked(int (*show)(const struct runtime *, const char *, struct rte_tel_data *),
                  const char *params, struct rte_tel_data *d)
{
    pthread_mutex_lock(&shown.lock);
    int result = shown.rt ? show(shown.rt, params, d) : -ENODEV;
    pthread_mutex_unlock(&shown.lock);
    return result;
}

#define X(name, help)                                                                     \
    static int on_##name(const char *command, const char *params, struct rte_tel_data *d) \
    {                                                                                     \
        (void)command;                                                                    \
        return locked(show_##name, params, d);                                            \
    }
TELEMETRY_COMMANDS(X)
#undef X

static void set_shown(const struct runtime *rt)
{
    pthread_mutex_lock(&shown.lock);
    shown.rt = rt;
    pthread_mutex_unlock(&shown.lock);
}

void telemetry_start(const struct runtime *rt)
{
    set_shown(rt);
    int failed = 0;
#define X(name, help) failed |= rte_telemetry_register_cmd("/millrace/" #name, on_##name, help);
    TELEMETRY_COMMANDS(X)
#undef X
    if (failed)
        log_warning("telemetry: not all commands under /millrace/ could be registered");
}

void telemetry_stop(void)
{
    set_shown(NULL);
}
