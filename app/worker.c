/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/worker.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include "app/openssl_memory.h"

#define PUBLISH_HZ     100             /* times a second that the counters are published */
#define INPUT_ROUNDS   16              /* bursts of one queue in a turn */
#define OUTPUT_ROUNDS  2               /* bursts of one interface in a turn */
#define HELD_TICKS     (100 * TICK_MS) /* a device that takes nothing for so long is stuck */
#define RESETS         64              /* connections reset in a turn when stopping */
#define SPIN_TURNS     64              /* idle turns before the first sleep */
#define SLEEP_FIRST_US 16              /* it doubles up to max_sleep_us */

/* ---- to other workers ---- */

static const struct worker_pair *pair_to(const struct worker *w, unsigned to)
{
    return &w->pairs[w->index * w->n_workers + to];
}

static const struct worker_pair *pair_from(const struct worker *w, unsigned from)
{
    return &w->pairs[from * w->n_workers + w->index];
}

static void batch_flush(struct worker *w, unsigned to)
{
    struct worker_batch *b = &w->batch[to];
    unsigned done = rte_ring_sp_enqueue_burst(pair_to(w, to)->rx, b->pkt, b->n, NULL);
    for (unsigned i = done; i < b->n; i++) {
        counter_drop(&w->counters, DROP_RING_FULL);
        pkt_free(b->pkt[i]);
    }
    b->n = 0;
}

static void batch_add(struct worker *w, unsigned to, struct pkt *p)
{
    struct worker_batch *b = &w->batch[to];
    b->pkt[b->n++] = p;
    if (b->n == WORKER_BURST_MAX)
        batch_flush(w, to);
}

static void flush_batches(struct worker *w)
{
    for (unsigned to = 0; to < w->n_workers; to++)
        if (w->batch[to].n > 0)
            batch_flush(w, to);
}

/* The stack's: a reassembled datagram of another worker's flow. */
static void handoff(void *ctx, uint16_t to, struct pkt *p)
{
    struct worker *w = ctx;
    assert(to < w->n_workers && to != w->index && "handed to another worker");
    counter_add(&w->counters, COUNTER_WRONG_WORKER, 1);
    batch_add(w, to, p);
}

static void copy_to_all(struct worker *w, const struct pkt *p)
{
    for (unsigned to = 0; to < w->n_workers; to++) {
        if (to == w->index)
            continue;
        struct pkt *copy = pkt_copy(&w->pool->pkt, p);
        if (copy) {
            copy->flags |= PKT_COPY;
            batch_add(w, to, copy);
        } else {
            counter_drop(&w->counters, DROP_NO_MEMORY);
        }
    }
}

/* ---- receive ---- */

/* Keeps what is ours at the front of the burst; the rest goes to its owners. Returns how many. */
static unsigned sort_burst(struct worker *w, struct pkt **burst, unsigned n)
{
    unsigned own = 0;
    for (unsigned i = 0; i < n; i++) {
        uint16_t owner = steer_owner(w->steer, burst[i]);
        if (owner == w->index) {
            burst[own++] = burst[i];
        } else if (owner == STEER_ALL) {
            copy_to_all(w, burst[i]);
            burst[own++] = burst[i];
        } else {
            counter_add(&w->counters, COUNTER_WRONG_WORKER, 1);
            batch_add(w, owner, burst[i]);
        }
    }
    return own;
}

static void capture_burst(struct worker *w, struct pkt *const *burst, unsigned n, uint16_t iface,
                          enum capture_direction direction, tick_t now)
{
    for (unsigned i = 0; i < n; i++)
        capture_ring_put(w->capture, burst[i], iface, direction, now);
}

static unsigned receive(struct worker *w, const struct worker_rx *rx, tick_t now)
{
    struct rte_mbuf *mbuf[WORKER_BURST_MAX];
    struct pkt *burst[WORKER_BURST_MAX];
    unsigned n = rte_eth_rx_burst(rx->dpdk, rx->queue, mbuf, w->burst);
    if (n == 0)
        return 0;
    mbuf_receive(mbuf, burst, n, rx->iface);
    if (w->capture)
        capture_burst(w, burst, n, rx->iface, CAPTURE_IN, now);
    unsigned own = w->n_workers > 1 ? sort_burst(w, burst, n) : n;
    if (own > 0)
        stack_input(w->stack, burst, own, now);
    return n;
}

/*
 * As much as waits, within reason, and then as little output as is efficient (OUTPUT_ROUNDS): a
 * worker that is short of time lets what it has to do stand where windows see it and schedulers
 * decide, and not in a device's ring, which is first come, first served, and loses what it has no
 * room for.
 */
static unsigned receive_all(struct worker *w, const struct worker_rx *rx, tick_t now)
{
    unsigned total = 0;
    for (unsigned round = 0; round < INPUT_ROUNDS; round++) {
        unsigned n = receive(w, rx, now);
        total += n;
        if (n < w->burst)
            break;
    }
    return total;
}

static unsigned receive_handed(struct worker *w, unsigned from, tick_t now)
{
    struct pkt *burst[WORKER_BURST_MAX];
    unsigned n = rte_ring_sc_dequeue_burst(pair_from(w, from)->rx, (void **)burst, w->burst, NULL);
    if (n > 0) {
        counter_add(&w->counters, COUNTER_HANDED_IN, n);
        stack_input(w->stack, burst, n, now);
    }
    return n;
}

/* As receive_all: who hands them over may take in as much in one turn of its own. */
static unsigned receive_all_handed(struct worker *w, unsigned from, tick_t now)
{
    unsigned total = 0;
    for (unsigned round = 0; round < INPUT_ROUNDS; round++) {
        unsigned n = receive_handed(w, from, now);
        total += n;
        if (n < w->burst)
            break;
    }
    return total;
}

static unsigned input(struct worker *w, tick_t now)
{
    unsigned n = 0;
    for (unsigned i = 0; i < w->n_rx; i++)
        n += receive_all(w, &w->rx[i], now);
    if (w->n_workers == 1)
        return n;
    for (unsigned from = 0; from < w->n_workers; from++)
        if (from != w->index)
            n += receive_all_handed(w, from, now);
    flush_batches(w);
    return n;
}

/* ---- transmit ---- */

static void drop_held(struct worker *w, struct worker_tx *tx, enum drop why)
{
    for (unsigned i = 0; i < tx->n_held; i++)
        counter_drop(&w->counters, why);
    rte_pktmbuf_free_bulk(tx->held, tx->n_held);
    tx->n_held = 0;
}

/* The driver completes what its offloads need; a packet that it cannot send is dropped. */
static void prepare(struct worker *w, struct worker_tx *tx)
{
    unsigned ready = 0;
    while (ready < tx->n_held) {
        ready += rte_eth_tx_prepare(tx->dpdk, tx->queue, tx->held + ready,
                                    (uint16_t)(tx->n_held - ready));
        if (ready == tx->n_held)
            break;
        counter_drop(&w->counters, DROP_TX_REFUSED);
        rte_pktmbuf_free(tx->held[ready]);
        tx->n_held--;
        memmove(&tx->held[ready], &tx->held[ready + 1], (tx->n_held - ready) * sizeof(tx->held[0]));
    }
}

/*
 * Offers what is held to the device. What it does not take waits for the next turn, and the stack's
 * queue, which is bounded and counted, fills behind it; after HELD_TICKS without progress it is
 * dropped. True: nothing is held any more.
 */
static bool flush_device(struct worker *w, struct worker_tx *tx, tick_t now)
{
    unsigned n = rte_eth_tx_burst(tx->dpdk, tx->queue, tx->held, tx->n_held);
    tx->n_held = (uint16_t)(tx->n_held - n);
    if (tx->n_held == 0)
        return true;
    if (n > 0) {
        tx->held_since = now;
        memmove(tx->held, tx->held + n, tx->n_held * sizeof(tx->held[0]));
    } else if (tick_since(now, tx->held_since) >= HELD_TICKS) {
        drop_held(w, tx, DROP_TX_QUEUE_FULL);
        return true;
    }
    return false;
}

/* By the worker that has a lane: its ring is as good as a device's queue, but never waited for. */
static bool flush_peer(struct worker *w, struct worker_tx *tx, uint16_t iface)
{
    for (unsigned i = 0; i < tx->n_held; i++)
        tx->held[i]->port = iface;
    unsigned n =
        rte_ring_sp_enqueue_burst(pair_to(w, tx->via)->tx, (void **)tx->held, tx->n_held, NULL);
    for (unsigned i = n; i < tx->n_held; i++) {
        counter_drop(&w->counters, DROP_RING_FULL);
        rte_pktmbuf_free(tx->held[i]);
    }
    tx->n_held = 0;
    return true;
}

/* Takes a burst from the stack. Returns how many. */
static unsigned refill(struct worker *w, struct worker_tx *tx, uint16_t iface, tick_t now)
{
    struct pkt *burst[WORKER_BURST_MAX];
    assert(tx->n_held == 0 && "asked only when the device has taken all");
    unsigned n = stack_output(w->stack, iface, burst, w->burst, now);
    if (n == 0)
        return 0;
    if (w->capture)
        capture_burst(w, burst, n, iface, CAPTURE_OUT, now);
    for (unsigned i = 0; i < n; i++)
        tx->held[i] = mbuf_transmit(burst[i]);
    tx->n_held = (uint16_t)n;
    tx->held_since = now;
    if (tx->prepare)
        prepare(w, tx);
    return n;
}

/* One interface's waiting packets, up to OUTPUT_ROUNDS bursts. Returns how many left the stack. */
static unsigned output_iface(struct worker *w, uint16_t iface, tick_t now)
{
    struct worker_tx *tx = &w->tx[iface];
    unsigned total = 0;
    if (tx->n_held > 0 && !flush_device(w, tx, now))
        return 0;
    for (unsigned round = 0; round < OUTPUT_ROUNDS; round++) {
        unsigned n = refill(w, tx, iface, now);
        total += n;
        if (n == 0) {
            if (stack_pending(w->stack, iface) == 0)
                break;
            continue; /* services have run; what they caused is next */
        }
        bool gone = tx->via == w->index ? flush_device(w, tx, now) : flush_peer(w, tx, iface);
        if (!gone)
            break;
    }
    return total;
}

/* Sends for peers without a lane. A device that has not taken all of ours yet takes none of theirs.
 */
static unsigned output_for_peer(struct worker *w, unsigned from, tick_t now)
{
    struct rte_mbuf *burst[WORKER_BURST_MAX];
    struct rte_ring *ring = pair_from(w, from)->tx;
    if (!ring)
        return 0;
    unsigned n = rte_ring_sc_dequeue_burst(ring, (void **)burst, w->burst, NULL);
    for (unsigned i = 0; i < n; i++) {
        struct worker_tx *tx = &w->tx[burst[i]->port];
        if (tx->n_held == WORKER_BURST_MAX) {
            counter_drop(&w->counters, DROP_TX_QUEUE_FULL);
            rte_pktmbuf_free(burst[i]);
            continue;
        }
        if (tx->n_held == 0)
            tx->held_since = now;
        tx->held[tx->n_held++] = burst[i];
    }
    for (uint16_t i = 0; n > 0 && i < w->n_ifaces; i++)
        if (w->tx[i].n_held > 0 && w->tx[i].via == w->index)
            flush_device(w, &w->tx[i], now);
    return n;
}

static unsigned output(struct worker *w, tick_t now)
{
    unsigned n = 0;
    for (uint16_t i = 0; i < w->n_ifaces; i++)
        n += output_iface(w, i, now);
    for (unsigned from = 0; w->n_workers > 1 && from < w->n_workers; from++)
        if (from != w->index)
            n += output_for_peer(w, from, now);
    return n;
}

static bool anything_waits(const struct worker *w)
{
    for (uint16_t i = 0; i < w->n_ifaces; i++)
        if (w->tx[i].n_held > 0 || stack_pending(w->stack, i) > 0)
            return true;
    return false;
}

/* ---- resting ---- */

static void pause_until(tick_t ticks)
{
    struct timespec t = {.tv_sec = (time_t)(ticks / TICK_SEC), .tv_nsec = (long)(ticks % TICK_SEC)};
    nanosleep(&t, NULL); /* cut short by a signal: a turn too many */
}

/*
 * Sleeps longer the longer nothing happened, but never past the next deadline, and only shortly
 * where a device has yet to take what waits for it.
 */
static void sleep_a_little(struct worker *w, tick_t now)
{
    tick_t deadline = tick_min(stack_deadline(w->stack), tunnels_deadline(w));
    if (deadline <= now)
        return;
    w->sleep_us = w->sleep_us && !anything_waits(w) ? w->sleep_us * 2 : SLEEP_FIRST_US;
    if (w->sleep_us > w->max_sleep_us)
        w->sleep_us = w->max_sleep_us;
    counter_add(&w->counters, COUNTER_SLEEPS, 1);
    pause_until(tick_min(w->sleep_us * TICK_US, deadline - now));
}

static void rest(struct worker *w, tick_t now)
{
    int idle = atomic_load_explicit(&w->idle, memory_order_relaxed);
    if (idle == CONFIG_IDLE_POLL)
        return;
    if (idle == CONFIG_IDLE_PAUSE || w->idle_turns < SPIN_TURNS) {
        w->idle_turns++;
        rte_pause();
        return;
    }
    sleep_a_little(w, now);
}

/* ---- the turn ---- */

static void publish(struct worker *w)
{
    _Static_assert(offsetof(struct counters, count) == 0, "counters are an array of words");
    record_publish(w->record, w->counters.count);
}

static void set_wall(struct worker *w)
{
    int64_t wall = atomic_load_explicit(w->wall, memory_order_relaxed);
    if (wall == w->wall_set)
        return;
    w->wall_set = wall;
    stack_set_wall(w->stack, wall);
}

static void begin_drain(struct worker *w, tick_t now)
{
    tick_t by = atomic_load_explicit(w->drain_by, memory_order_relaxed);
    if (by == w->drain_told)
        return;
    w->drain_told = by;
    stack_shutdown(w->stack, by, now);
}

static void account(struct worker *w, bool worked, uint64_t cycles, uint64_t tsc)
{
    counter_add(&w->counters, COUNTER_TURNS, 1);
    counter_add(&w->counters, worked ? COUNTER_BUSY_CYCLES : COUNTER_IDLE_CYCLES, cycles);
    if (tsc >= w->publish_at) {
        publish(w);
        set_wall(w);
        begin_drain(w, clock_tick(w->clock, tsc));
        w->publish_at = tsc + w->clock->hz / PUBLISH_HZ;
    }
}

/* Returns whether there was anything to do. */
static bool turn(struct worker *w, tick_t now, bool receiving)
{
    w->now = now;
    unsigned work = receiving ? input(w, now) : 0;
    if (stack_deadline(w->stack) <= now) {
        stack_expire(w->stack, now);
        work++;
    }
    work += tunnels_turn(w, now);
    if (w->n_workers > 1)
        flush_batches(w);
    work += output(w, now);
    work += mailbox_run(&w->mail, w);
    return work > 0;
}

static void run(struct worker *w)
{
    uint64_t tsc = rte_rdtsc();
    while (!atomic_load_explicit(w->stop, memory_order_relaxed)) {
        tick_t now = clock_tick(w->clock, tsc);
        bool worked = turn(w, now, true);
        if (worked) {
            w->idle_turns = 0;
            w->sleep_us = 0;
        } else {
            rest(w, now);
        }
        uint64_t end = rte_rdtsc();
        account(w, worked, end - tsc, end);
        tsc = end;
    }
}

static bool time_left(const struct worker *w, tick_t end, tick_t *now)
{
    *now = clock_tick(w->clock, rte_rdtsc());
    return *now < end;
}

static void send_all(struct worker *w, tick_t end)
{
    tick_t now;
    while (anything_waits(w) && time_left(w, end, &now))
        turn(w, now, false);
}

/* Resets some connections, from *cursor on. True: there are more. */
static bool reset_some(struct worker *w, uint64_t *cursor, tick_t now)
{
    struct ctl_connection row[RESETS];
    struct ctl_request list = {
        .kind = CTL_CONNECTIONS, .rows.connection = row, .max = RESETS, .cursor = *cursor};
    stack_control(w->stack, &list, now);
    for (uint32_t i = 0; i < list.n; i++) {
        struct ctl_request reset = {.kind = CTL_CONNECTION_RESET, .id = row[i].id};
        stack_control(w->stack, &reset, now);
    }
    *cursor = list.cursor;
    return list.more;
}

/*
 * Sends what waits, as far as windows allow, and tells all peers, who would otherwise find out by
 * their own timeouts, that nobody is there any more. What the device does not take by then is given
 * up.
 */
static void drain(struct worker *w)
{
    tick_t now = clock_tick(w->clock, rte_rdtsc());
    tick_t end = tick_after(now, WORKER_DRAIN_TICKS);
    uint64_t cursor = 0;
    bool more = true;
    send_all(w, tick_after(now, WORKER_DRAIN_TICKS / 2));
    while (more && time_left(w, end, &now)) {
        more = reset_some(w, &cursor, now);
        turn(w, now, false);
    }
    send_all(w, end);
    for (unsigned i = 0; i < w->n_ifaces; i++)
        drop_held(w, &w->tx[i], DROP_ADMIN_DOWN);
}

static void log_request(void *ctx, const struct http_peer *peer, const struct http_record *r)
{
    access_ring_put(&((struct worker *)ctx)->access, peer, r);
}

static bool start(struct worker *w)
{
    atomic_store(&w->error, (int)STACK_E_MEMORY);
    if (!tunnels_start(w, 0))
        return false;
    struct stack_env env = {
        .mem = &w->memory.mem,
        .pool = &w->pool->pkt,
        .counters = &w->counters,
        .handoff = w->n_workers > 1 ? handoff : NULL,
        .log = log_request,
        .connect = w->tunnels.connect,
        .ctx = w,
    };
    memcpy(env.seed, w->seed, sizeof(env.seed));
    enum stack_error error = 0;
    /* All at tick 0, so that their trials of an address end at the same moment. */
    w->stack = stack_create(w->config, &env, 0, &error);
    atomic_store(&w->error, (int)error);
    return w->stack;
}

/*
 * Signals are the control thread's to handle. The TAP driver has the kernel send one for each
 * packet, which took more of a worker's time than all else.
 */
static void block_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

int worker_main(void *worker)
{
    struct worker *w = worker;
    block_signals();
    if (start(w)) {
        set_wall(w);
        atomic_store(&w->state, WORKER_RUNNING);
        run(w);
        drain(w);
        stack_destroy(w->stack);
        w->stack = NULL;
        publish(w);
    }
    tunnels_stop(w);
    openssl_memory_trim();
    atomic_store(&w->state, WORKER_STOPPED);
    return 0;
}
