/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_RUNTIME_H
#define MILLRACE_APP_RUNTIME_H

/*
 * The running appliance as the control plane's faces (HTTP, telemetry) see it. Everything here is
 * called on the control thread, except what says "any thread": that only reads published records
 * and fields that do not change while the appliance runs. No function waits longer than the
 * timeout it is given.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "app/config.h"
#include "app/resolver.h"
#include "app/verifier.h"
#include "ctl/request.h"
#include "stack/iface.h"
#include "stats/counter.h"

struct runtime;

/* X(enumerator, name) */
#define WORKER_STATES(X)                                                            \
    X(STARTING, "starting")                                                         \
    X(RUNNING, "running")                                                           \
    X(STUCK, "stuck") /* its loop stood still for longer than health.watchdog-ms */ \
    X(STOPPED, "stopped")

enum worker_state {
#define X(id, name) WORKER_##id,
    WORKER_STATES(X)
#undef X
};

/* Negative, from the functions below that return int. */
enum runtime_error {
    RUNTIME_E_TIMEOUT = -1, /* the worker did not answer in time */
    RUNTIME_E_FULL = -2,    /* its mailbox is full */
    RUNTIME_E_MEMORY = -3,
    RUNTIME_E_REFUSED = -4, /* the reason was written to the caller's stream or buffer */
};

const char *worker_state_name(enum worker_state s);
const char *runtime_error_text(int error);

/* ---- the appliance ---- */

/* The configuration in force; replaced as a whole by runtime_reload, so do not keep it. */
const struct config *runtime_config(const struct runtime *rt);
/* The file it came from. */
const char *runtime_config_file(const struct runtime *rt);
/* Any thread. Nanoseconds since the workers started. */
tick_t runtime_uptime(const struct runtime *rt);
/* "hugepages", "hugepages without a mount" or "no hugepages". Any thread. */
const char *runtime_memory_mode(const struct runtime *rt);
/* Cycles of the TSC in a second: what the unit of busy_cycles is. Any thread. */
uint64_t runtime_tsc_hz(const struct runtime *rt);
/* SIGTERM has come, or its like by the control socket: workers drain and stop. Any thread. */
bool runtime_stopping(const struct runtime *rt);

/*
 * Reads the configuration file again and puts in force what can be without a restart. All or
 * nothing: RUNTIME_E_REFUSED, and the faults are lines on errors.
 */
int runtime_reload(struct runtime *rt, FILE *errors);

/* ---- HTTP connections that are to end in order: control thread only ---- */

/*
 * Tells those that there are to end when what is under way on them has (GOAWAY, RFC 9113 6.8), and
 * ends those that are left after `patience`; TICK_NEVER: after http2.drain-timeout-s. With stop,
 * new ones are told, too, and then the appliance stops, as by SIGTERM. Once more: another patience.
 * 0 or a runtime_error: RUNTIME_E_REFUSED where the appliance stops already, and is not to.
 */
int runtime_drain(struct runtime *rt, bool stop, tick_t patience);

struct runtime_draining {
    bool on; /* otherwise the rest is not valid */
    bool stop;
    uint64_t connections; /* that were told and have not ended */
    tick_t left;          /* of the patience */
};

void runtime_draining(struct runtime *rt, struct runtime_draining *to);

/* ---- workers: any thread ---- */

struct runtime_worker {
    uint16_t index;
    uint16_t core; /* the CPU it is pinned to */
    uint16_t lcore;
    uint16_t numa;
    enum config_idle idle;
    enum worker_state state;
    tick_t stalled; /* how long its heartbeat has stood still, as the watchdog last saw it */
};

unsigned runtime_workers(const struct runtime *rt);
void runtime_worker(const struct runtime *rt, unsigned worker, struct runtime_worker *to);

/*
 * The worker's counters as it last published them (every 10 ms or so, and after its last turn), all
 * from one moment: word[c] is counter c, word[counters_drop_word(d)] is drop reason d. False where
 * the writer was met at each try.
 */
bool runtime_counters(const struct runtime *rt, unsigned worker, uint64_t word[COUNTERS_WORDS]);

/* ---- devices, one to the user whatever DPDK makes of them: any thread ---- */

#define RUNTIME_OFFLOADS_MAX 256

struct runtime_port {
    const char *name;      /* the device's, from the configuration */
    const char *driver;    /* as in the configuration */
    const char *pmd;       /* DPDK's driver */
    const char *interface; /* of the kernel, "" where it has none */
    struct mac_addr mac;
    uint16_t mtu;
    uint16_t vlan; /* 0: untagged */
    uint16_t numa;
    bool promiscuous;
    const char *promiscuous_why; /* NULL: nobody asked for it */
    bool allmulticast;
    bool rss; /* the device spreads by steer's key; otherwise workers sort in software */
    bool link_up;
    bool gone;          /* the kernel's interface has been removed: it takes a new start */
    uint32_t link_mbps; /* 0: unknown */
    bool full_duplex;
    uint16_t rx_queues; /* over all DPDK ports of this device */
    uint16_t tx_queues;
    uint16_t dpdk_ports;
    uint16_t lanes;
    uint32_t offload;                    /* transmit: enum iface_offload */
    char offloads[RUNTIME_OFFLOADS_MAX]; /* both ways, in words: "rx-checksum tx-ipv4-checksum …" */
};

/* One pair of queues and the worker that polls it. */
struct runtime_lane {
    uint16_t worker;
    uint16_t dpdk_port;
    uint16_t rx_queue;
    uint16_t tx_queue;
};

/* Sums over the device's DPDK ports. */
struct runtime_port_stats {
    uint64_t rx_packets;
    uint64_t rx_bytes;
    uint64_t rx_missed; /* the device had no descriptor free */
    uint64_t rx_errors;
    uint64_t rx_no_mbuf; /* the driver had no packet buffer */
    uint64_t tx_packets;
    uint64_t tx_bytes;
    uint64_t tx_errors;
};

unsigned runtime_ports(const struct runtime *rt);
void runtime_port(const struct runtime *rt, unsigned port, struct runtime_port *to);
void runtime_lane(const struct runtime *rt, unsigned port, unsigned lane, struct runtime_lane *to);
void runtime_port_stats(const struct runtime *rt, unsigned port, struct runtime_port_stats *to);
/* The driver's own statistics, those of the same name summed over the device's DPDK ports. */
void runtime_port_xstats(const struct runtime *rt, unsigned port,
                         void (*each)(void *ctx, const char *name, uint64_t value), void *ctx);

/* ---- memory: any thread ---- */

struct runtime_pool {
    const char *name;
    uint16_t numa;
    uint32_t size;         /* objects */
    uint32_t in_use;       /* queued in devices included; approximate while workers run */
    uint32_t object_bytes; /* of one, with its headers */
};

unsigned runtime_pools(const struct runtime *rt);
void runtime_pool(const struct runtime *rt, unsigned pool, struct runtime_pool *to);

/* Bytes that OpenSSL holds for all workers. */
uint64_t runtime_tls_memory(const struct runtime *rt);

/* When the first of the certificates in force ends, in Unix seconds; 0: there is none. */
int64_t runtime_certificates_end(const struct runtime *rt);

/* ---- access log ---- */

/* Lines written since the start. Control thread only. */
uint64_t runtime_access_log_written(const struct runtime *rt);
/* Any thread: a worker's requests that did not get in, because its ring to the control core was
 * full. */
uint64_t runtime_access_log_lost(const struct runtime *rt, unsigned worker);

/* ---- names and passwords of tunnels: control thread only ---- */

void runtime_resolver(const struct runtime *rt, struct resolver_stats *to);
/* As resolver_list. */
void runtime_names(const struct runtime *rt, uint32_t *cursor,
                   bool (*each)(void *ctx, const struct resolver_row *row), void *ctx);
void runtime_verifier(const struct runtime *rt, struct verifier_stats *to);

/* ---- requests to a worker's stack, or about its tunnels ---- */

/*
 * Asks one worker and waits for the answer, which it writes to r (rows included). A request that
 * the worker has not begun with when the timeout comes is never done; the answer to another is
 * thrown away. 0 or an error, and r is unchanged then.
 */
int runtime_control(struct runtime *rt, unsigned worker, struct ctl_request *r,
                    unsigned timeout_ms);

/* ---- capture ---- */

struct runtime_capture_options {
    int worker;         /* -1: all */
    const char *file;   /* a name within capture.directory; NULL: one made from the time */
    uint64_t max_bytes; /* CONFIG_CAPTURE_MIN to the configuration's; 0: that */
    uint32_t snaplen;   /* CONFIG_SNAPLEN_MIN to _MAX; 0: the configuration's */
};

/* X(enumerator, name) */
#define CAPTURE_STATES(X)                                            \
    X(OFF, "off") /* none was started */                             \
    X(RUNNING, "running")                                            \
    X(STOPPED, "stopped") /* on request */                           \
    X(FULL, "full")       /* max_bytes reached; the file is whole */ \
    X(FAILED, "failed")   /* writing failed; error says how */

enum capture_state {
#define X(id, name) CAPTURE_##id,
    CAPTURE_STATES(X)
#undef X
};

const char *capture_state_name(enum capture_state s);

/* Of the capture that runs or, after it, of the last one. */
struct runtime_capture {
    enum capture_state state;
    int worker;       /* -1: all */
    const char *file; /* whole path; NULL while OFF. Valid until the next start */
    uint64_t max_bytes;
    uint32_t snaplen;
    uint64_t packets;  /* written */
    uint64_t bytes;    /* of the file */
    uint64_t lost;     /* packets that did not get in: the ring to the control core was full */
    tick_t running;    /* how long it ran */
    const char *error; /* with FAILED, otherwise NULL */
};

/* RUNTIME_E_REFUSED (one runs, no such worker, bad name, file cannot be made): why is in error, as
 * a sentence. */
int runtime_capture_start(struct runtime *rt, const struct runtime_capture_options *options,
                          char *error, size_t room);
/* Writes out what was captured and closes the file. RUNTIME_E_REFUSED: none runs. */
int runtime_capture_stop(struct runtime *rt, char *error, size_t room);
void runtime_capture(const struct runtime *rt, struct runtime_capture *to);

#endif
