/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_ENGINE_H
#define MILLRACE_APP_ENGINE_H

/*
 * The parts of a running appliance and the order in which they are put together: DPDK, devices,
 * packet pools, rings, workers. Control thread only; what other threads may see of it is in
 * app/runtime.h.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "app/access_log.h"
#include "app/answers.h"
#include "app/assets.h"
#include "app/capture.h"
#include "app/clock.h"
#include "app/config.h"
#include "app/drain.h"
#include "app/eal.h"
#include "app/mbuf.h"
#include "app/port.h"
#include "app/runtime.h"
#include "app/watchdog.h"
#include "app/worker.h"

#define ENGINE_POOLS_MAX 8 /* NUMA nodes */

struct runtime {
    const char *file;
    struct config *config;
    enum eal_memory memory;
    struct clock clock;
    struct steer steer;

    struct port *port; /* by interface */
    unsigned n_ports;
    struct mbuf_pool pool[ENGINE_POOLS_MAX];
    unsigned n_pools;
    uint32_t pool_packets; /* in each */

    struct worker *worker;
    unsigned n_workers;
    struct worker_pair *pairs;  /* [from * n_workers + to]; NULL with one worker */
    struct watchdog *watchdog;  /* by worker */
    struct stack_config *stack; /* by worker; all name `iface` and `listener` */
    struct iface_config *iface;
    struct stack_listener *listener;

    struct assets_store assets_store;
    struct assets *assets; /* of config */
    struct access_log access_log;
    _Atomic int64_t wall; /* nanoseconds of the Unix epoch at tick 0 */

    struct answers answers;
    struct capture capture;
    struct drain drain;
    _Atomic bool stop;
    bool no_hugepages;   /* from the command line */
    bool hugepages_gone; /* the start failed, but one with no_hugepages may not */
    bool eal;            /* DPDK is up */
    bool launched;       /* workers were */
};

/*
 * Puts everything together and starts the workers. rt is zeroed but for file, config and
 * no_hugepages, which are the caller's, and access_log.fd, -1. False: the log has said why;
 * engine_stop is due in either case.
 */
bool engine_start(struct runtime *rt);

/*
 * Stops the workers, which send what waits first, and takes everything apart. False: a worker did
 * not stop in time, and what it uses was left alone: then the process can only exit.
 */
bool engine_stop(struct runtime *rt);

/* The interfaces of a configuration with what their devices do; the caller frees. NULL: no memory.
 */
struct iface_config *engine_ifaces(const struct runtime *rt, const struct config *c);

/* The listeners of a configuration with its assets, which have to outlive them; the caller frees.
 * NULL: no memory. */
struct stack_listener *engine_listeners(const struct config *c, const struct assets *a);

/* Looks at the system's clock for rt->wall: when it is started, and about once a second. */
void engine_set_wall(struct runtime *rt);

/* What worker w's stack is told; iface and listener are the caller's. */
struct stack_config engine_stack_config(const struct runtime *rt, const struct config *c,
                                        const struct iface_config *iface,
                                        const struct stack_listener *listener, unsigned w);

/* Says in the log until when the certificates in force are good, and what the origins have. */
void engine_log_assets(const struct runtime *rt);

/* Opens the files of both logs again, under the names in force. False: the reason is on errors. */
bool engine_reopen_logs(struct runtime *rt, FILE *errors);

/* Writes down what the workers have noted. */
void engine_write_access_log(struct runtime *rt);

/* The tick of this moment. Any thread. */
tick_t engine_now(const struct runtime *rt);

#endif
