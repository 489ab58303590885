/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_WORKER_H
#define MILLRACE_APP_WORKER_H

/*
 * A worker core: one stack, the lanes it polls, the rings to its peers, and its turn. Set up by the
 * control thread before it runs and taken apart after it has stopped; in between, everything is the
 * worker's own but what says otherwise.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "app/access_log.h"
#include "app/capture_ring.h"
#include "app/clock.h"
#include "app/config.h"
#include "app/mailbox.h"
#include "app/mbuf.h"
#include "app/memory.h"
#include "app/port.h"
#include "app/runtime.h"
#include "app/tunnels.h"
#include "ctl/record.h"
#include "stack/stack.h"
#include "stack/steer.h"
#include "stats/counter.h"

struct rte_mbuf;
struct rte_ring;

#define WORKER_BURST_MAX   CONFIG_BURST_MAX
#define WORKER_DRAIN_TICKS (TICK_SEC * 9 / 10) /* to send what waits when told to stop */

/* Where the packets of one interface go. */
struct worker_tx {
    uint16_t dpdk;
    uint16_t queue;
    uint16_t via;      /* the worker whose lane it is; this one's index: our own */
    bool prepare;      /* the driver wants to see packets with offloads first */
    uint16_t n_held;   /* what the device has not taken yet, in order */
    tick_t held_since; /* valid with n_held: when it last took one */
    struct rte_mbuf *held[WORKER_BURST_MAX];
};

struct worker_rx {
    uint16_t dpdk;
    uint16_t queue;
    uint16_t iface;
};

/* Packets on their way to one peer, gathered within a turn. */
struct worker_batch {
    uint16_t n;
    void *pkt[WORKER_BURST_MAX];
};

/* Rings between two workers: `from` enqueues, `to` dequeues, nobody else. */
struct worker_pair {
    struct rte_ring *rx; /* struct pkt, for the owner's stack_input */
    struct rte_ring
        *tx; /* struct rte_mbuf of interface mbuf->port; NULL: each has lanes of its own */
};

struct worker {
    uint16_t index;
    uint16_t n_workers;
    uint16_t burst;
    uint16_t n_rx;
    uint16_t n_ifaces;
    struct worker_rx rx[IFACE_MAX * PORT_LANES_MAX];
    struct worker_tx *tx;            /* by interface */
    struct worker_batch *batch;      /* by peer; NULL with one worker */
    const struct worker_pair *pairs; /* [from * n_workers + to] */
    const struct steer *steer;
    const struct clock *clock;
    struct mbuf_pool *pool;

    struct stack *stack;
    tick_t now; /* of the present turn */
    struct memory memory;
    struct counters counters; /* written by the worker, read by any */
    struct record *record;    /* counters as last published, read by any */
    uint64_t publish_at;      /* TSC */

    _Atomic int idle; /* enum config_idle; written by mail */
    uint32_t max_sleep_us;
    uint32_t idle_turns;
    uint32_t sleep_us;

    struct capture_ring *capture; /* NULL: off. Set by mail */
    struct access_ring access;    /* its sample is set by mail */
    struct tunnels tunnels;
    struct mailbox mail;

    uint16_t core;
    uint16_t lcore;
    uint16_t numa;
    const struct stack_config *config; /* control thread's; read at start only */
    uint8_t seed[32];
    const _Atomic int64_t *wall;    /* written by the control thread: see stack_set_wall */
    int64_t wall_set;               /* what the stack was told */
    const _Atomic tick_t *drain_by; /* drain.stop_by, the control thread's, as is the next */
    const _Atomic bool *stop;
    tick_t drain_told; /* what of drain_by the stack was told */
    _Atomic int state; /* enum worker_state, as the worker says; never STUCK */
    _Atomic int error; /* enum stack_error with STOPPED before RUNNING */
};

/* The worker's life, on its lcore: for rte_eal_remote_launch. Returns 0. */
int worker_main(void *worker);

#endif
