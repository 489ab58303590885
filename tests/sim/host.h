/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_HOST_H
#define MILLRACE_SIM_HOST_H

/*
 * An appliance: one device, and behind it one whole stack (lib/stack) for each worker. Frames are
 * steered to their owners as the application does it. It takes no time to answer.
 *
 * Checked as it runs: a stack that wants to be called again and again at one time fails, and so
 * does a neighbour that changes its state as RFC 4861 does not let it.
 */

#include "sim/node.h"
#include "stack/stack.h"
#include "stack/steer.h"
#include "stats/counter.h"

#define SIM_WORKERS_MAX 4
/* A host with more neighbours than this is not watched for how their states change. */
#define SIM_NEIGHBOURS_WATCHED 64
#define SIM_LISTENERS_MAX      4

struct sim_host_config {
    struct iface_config iface;
    struct stack_limits limits;
    struct tcp_settings tcp;
    uint16_t n_listeners;
    struct stack_listener listener[SIM_LISTENERS_MAX];
    uint16_t n_workers; /* 0: 1 */
    size_t view;        /* received frames come in views of so many bytes; 0: of any length */
    bool no_icmp_errors;
};

struct sim_worker {
    struct sim_host *host;
    struct stack *stack;
    struct counters counters;
    struct timer timer;    /* the stack's deadline */
    uint64_t expires;      /* times that the stack was called for its timers */
    unsigned idle_expires; /* of these, at one time and without a packet */
    tick_t expired_at;
    struct pkt *inbox[64]; /* handed over by other workers */
    unsigned n_inbox;
    struct ctl_neighbour *neighbour; /* as last seen; NULL: not watched */
    uint32_t n_neighbours;
};

struct sim_host {
    struct node node;
    struct sim_host_config cfg;
    struct heap heap; /* the stacks' */
    struct heap_pool pool;
    struct steer steer;
    uint16_t n_workers;
    uint64_t handed_over;
    struct sim_worker worker[SIM_WORKERS_MAX];
};

struct sim_host *sim_host_create(struct sim *s, const struct sim_host_config *config);

/* Off and on again, with this device address, nothing remembered but the counters. */
void sim_host_reboot(struct sim_host *h, const struct mac_addr *mac);

/* Opens a connection from a worker; NULL: the stack could not. */
struct stream *sim_host_connect(struct sim_host *h, unsigned worker, const struct stack_connect *to,
                                enum stack_error *error);
/* A service did something outside of its callbacks: what follows from that happens. Not to be
 * called from a callback. */
void sim_host_turn(struct sim_host *h);

/* TCP connections that there are, TIME-WAIT included. */
uint32_t sim_host_connections(struct sim_host *h);

/* Sums over the workers. */
uint64_t sim_host_count(const struct sim_host *h, enum counter which);
uint64_t sim_host_drops(const struct sim_host *h, enum drop why);
uint64_t sim_host_all_drops(const struct sim_host *h);
uint64_t sim_host_expires(const struct sim_host *h);

/* False: no such address. */
bool sim_host_address(struct sim_host *h, unsigned worker, const struct ip_addr *a,
                      enum ctl_address_state *state);
/* Its row; false: none. */
bool sim_host_neighbour(struct sim_host *h, unsigned worker, const struct ip_addr *a,
                        struct ctl_neighbour *row);
uint32_t sim_host_neighbours(struct sim_host *h, unsigned worker);

#endif
