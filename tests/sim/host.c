/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/host.h"

#include <stdlib.h>
#include <string.h>

#include "sim/device.h"
#include "sim/run.h"

#define HEADROOM 128
#define ROOM     2048
/* Calls of one stack for its timers, at one time and without a packet in between, that may be
 * needed. */
#define IDLE_EXPIRES_MAX 16
/* Calls of one for its output, without any. */
#define IDLE_OUTPUTS_MAX 10000

/* Neighbours */

#define BIT(id) (1u << CTL_NEIGHBOUR_##id)

/*
 * What may follow a state within one call of the stack (RFC 4861 7.3, and stack/neigh.h). Any may
 * be absent: others needed the room.
 */
static const unsigned after[] = {
    /* Its queue holds what it was asked for, so an answer that proves nothing leads past STALE. */
    [CTL_NEIGHBOUR_INCOMPLETE] = BIT(REACHABLE) | BIT(DELAY) | BIT(FAILED),
    [CTL_NEIGHBOUR_REACHABLE] = BIT(STALE),
    [CTL_NEIGHBOUR_STALE] = BIT(REACHABLE) | BIT(DELAY),
    [CTL_NEIGHBOUR_DELAY] = BIT(REACHABLE) | BIT(STALE) | BIT(PROBE),
    /* Given up, and asked for anew by an error that fell due at the same time. */
    [CTL_NEIGHBOUR_PROBE] = BIT(REACHABLE) | BIT(STALE) | BIT(INCOMPLETE),
    /* Forgotten, and asked for anew by a connection that fell due at the same time. */
    [CTL_NEIGHBOUR_FAILED] = BIT(REACHABLE) | BIT(STALE) | BIT(INCOMPLETE),
};
/* Asked for, or heard of. */
static const unsigned after_absence = BIT(INCOMPLETE) | BIT(STALE);

static uint32_t list_neighbours(struct sim_host *h, unsigned worker, struct ctl_neighbour *rows,
                                uint32_t max)
{
    struct ctl_request r = {.kind = CTL_NEIGHBOURS, .rows.neighbour = rows, .max = max};
    stack_control(h->worker[worker].stack, &r, h->node.sim->now);
    must(!r.more);
    return r.n;
}

static void check_row(const struct sim_host *h, const struct ctl_neighbour *row)
{
    static const struct mac_addr none;
    bool known = row->state != CTL_NEIGHBOUR_INCOMPLETE && row->state != CTL_NEIGHBOUR_FAILED;
    must(known || mac_eq(&row->mac, &none));
    must(!mac_is_multicast(&row->mac));
    must(row->queued == 0 || row->state == CTL_NEIGHBOUR_INCOMPLETE);
    must(row->state != CTL_NEIGHBOUR_REACHABLE || row->confirmed <= 45 * TICK_SEC);
    for (unsigned i = 0; i < h->cfg.iface.n_addrs; i++)
        must_msg(!ip_eq(&row->addr, &h->cfg.iface.addr[i].addr), "its own neighbour");
}

static const struct ctl_neighbour *find_row(const struct ctl_neighbour *rows, uint32_t n,
                                            const struct ip_addr *a)
{
    for (uint32_t i = 0; i < n; i++)
        if (ip_eq(&rows[i].addr, a))
            return &rows[i];
    return NULL;
}

static void check_change(const struct ctl_neighbour *was, const struct ctl_neighbour *is)
{
    if (was && was->state == is->state)
        return;
    unsigned may = was ? after[was->state] : after_absence;
    char text[IP_ADDR_TEXT];
    ip_format(&is->addr, text);
    must_msg(may & 1u << is->state, "neighbour %s went from %s to %s", text,
             was ? ctl_neighbour_state_name(was->state) : "absent",
             ctl_neighbour_state_name(is->state));
}

static void watch_neighbours(struct sim_host *h, unsigned worker)
{
    struct sim_worker *w = &h->worker[worker];
    if (!w->neighbour)
        return;
    struct ctl_neighbour now[SIM_NEIGHBOURS_WATCHED];
    uint32_t n = list_neighbours(h, worker, now, SIM_NEIGHBOURS_WATCHED);
    for (uint32_t i = 0; i < n; i++) {
        check_row(h, &now[i]);
        check_change(find_row(w->neighbour, w->n_neighbours, &now[i].addr), &now[i]);
    }
    memcpy(w->neighbour, now, n * sizeof(*now));
    w->n_neighbours = n;
}

/* Out */

/* Not at once: whoever hears it may answer, and this stack is at work. */
static void on_wire(void *ctx, struct pkt *frame)
{
    struct sim_host *h = ctx;
    node_output_at(&h->node, 0, frame, h->node.sim->now);
}

static void drain(struct sim_worker *w)
{
    struct pkt *burst[32];
    unsigned idle = 0; /* calls in a row that gave nothing, for services alone or for neighbours */
    while (stack_pending(w->stack, 0) > 0) {
        unsigned n = stack_output(w->stack, 0, burst, 32, w->host->node.sim->now);
        for (unsigned i = 0; i < n; i++)
            device_send(w->host->node.sim, burst[i], w->host->cfg.iface.offload, on_wire, w->host);
        idle = n > 0 ? 0 : idle + 1;
        must_msg(idle <= IDLE_OUTPUTS_MAX, "something always wants to be done");
    }
}

static void handoff(void *ctx, uint16_t worker, struct pkt *p)
{
    struct sim_host *h = ctx;
    must(worker < h->n_workers);
    struct sim_worker *w = &h->worker[worker];
    must(w->n_inbox < sizeof(w->inbox) / sizeof(w->inbox[0]));
    w->inbox[w->n_inbox++] = p;
    h->handed_over++;
}

/* What follows each call of a stack: its packets leave, and those for other workers reach them. */
static void finish_turn(struct sim_host *h, unsigned worker)
{
    struct sim_worker *w = &h->worker[worker];
    drain(w);
    watch_neighbours(h, worker);
    wheel_arm(&h->node.sim->wheel, &w->timer, stack_deadline(w->stack));
}

static void empty_inboxes(struct sim_host *h)
{
    for (unsigned i = 0; i < h->n_workers; i++) {
        struct sim_worker *w = &h->worker[i];
        for (unsigned k = 0; k < w->n_inbox; k++) {
            stack_input(w->stack, &w->inbox[k], 1, h->node.sim->now);
            finish_turn(h, i);
        }
        w->n_inbox = 0;
    }
}

static void on_deadline(struct timer *t, tick_t now)
{
    struct sim_worker *w = container_of(t, struct sim_worker, timer);
    struct sim_host *h = w->host;
    w->expires++;
    w->idle_expires = w->expired_at == now ? w->idle_expires + 1 : 0;
    w->expired_at = now;
    must_msg(w->idle_expires <= IDLE_EXPIRES_MAX, "the deadline stays at %llu",
             (unsigned long long)stack_deadline(w->stack));
    stack_expire(w->stack, now);
    finish_turn(h, (unsigned)(w - h->worker));
    empty_inboxes(h);
}

/* In */

static void receive(struct sim_host *h, unsigned worker, const struct pkt *frame, uint16_t flags)
{
    struct sim_worker *w = &h->worker[worker];
    struct pkt *p = heap_pkt(&h->pool, frame->data, frame->len, h->cfg.view);
    must(p != NULL);
    p->flags |= flags;
    w->idle_expires = 0;
    stack_input(w->stack, &p, 1, h->node.sim->now);
    finish_turn(h, worker);
}

static void input(struct node *n, unsigned side, struct pkt *p)
{
    (void)side;
    struct sim_host *h = (struct sim_host *)n;
    uint16_t owner = steer_owner(&h->steer, p);
    must(owner == STEER_ALL || owner < h->n_workers);
    for (unsigned i = 0; i < h->n_workers; i++)
        if (owner == STEER_ALL || owner == i)
            receive(h, i, p, owner == STEER_ALL && i > 0 ? PKT_COPY : 0);
    pkt_free(p);
    empty_inboxes(h);
}

/* Life */

static void start(struct sim_host *h)
{
    struct sim *s = h->node.sim;
    struct stack_config config = {.n_workers = h->n_workers,
                                  .n_ifaces = 1,
                                  .iface = &h->cfg.iface,
                                  .icmp = {.echo = true, .errors = !h->cfg.no_icmp_errors},
                                  .limits = h->cfg.limits,
                                  .tcp = h->cfg.tcp,
                                  .n_listeners = h->cfg.n_listeners,
                                  .listener = h->cfg.listener};
    struct stack_env env = {
        .mem = &h->heap.mem, .pool = &h->pool.pool, .handoff = handoff, .ctx = h};
    for (unsigned i = 0; i < sizeof(env.seed); i++)
        env.seed[i] = (uint8_t)sim_between(s, 0, 255);
    for (unsigned i = 0; i < h->n_workers; i++) {
        struct sim_worker *w = &h->worker[i];
        config.worker = (uint16_t)i;
        env.counters = &w->counters;
        w->host = h;
        enum stack_error error;
        w->stack = stack_create(&config, &env, s->now, &error);
        must_msg(w->stack != NULL, "stack_create: %d", (int)error);
        timer_init(&w->timer, on_deadline);
        w->n_neighbours = 0;
        finish_turn(h, i);
    }
}

static void stop(struct sim_host *h)
{
    for (unsigned i = 0; i < h->n_workers; i++) {
        struct sim_worker *w = &h->worker[i];
        wheel_cancel(&h->node.sim->wheel, &w->timer);
        stack_destroy(w->stack);
    }
    must(h->pool.held == 0);
    must(h->heap.blocks == 0);
    must(h->heap.bytes == 0);
}

static void destroy(struct node *n)
{
    struct sim_host *h = (struct sim_host *)n;
    stop(h);
    for (unsigned i = 0; i < h->n_workers; i++)
        free(h->worker[i].neighbour);
}

static const struct node_ops ops = {.input = input, .destroy = destroy};

struct sim_host *sim_host_create(struct sim *s, const struct sim_host_config *config)
{
    struct sim_host *h = node_create(s, &ops, sizeof(*h), 1);
    h->cfg = *config;
    h->n_workers = config->n_workers ? config->n_workers : 1;
    must(h->n_workers <= SIM_WORKERS_MAX);
    heap_init(&h->heap);
    heap_pool_init(&h->pool, HEADROOM, ROOM);
    steer_init(&h->steer, h->n_workers);
    if (config->limits.neighbours && config->limits.neighbours <= SIM_NEIGHBOURS_WATCHED)
        for (unsigned i = 0; i < h->n_workers; i++)
            h->worker[i].neighbour = calloc(SIM_NEIGHBOURS_WATCHED, sizeof(struct ctl_neighbour));
    start(h);
    return h;
}

void sim_host_reboot(struct sim_host *h, const struct mac_addr *mac)
{
    stop(h);
    h->cfg.iface.mac = *mac;
    start(h);
}

/* Services */

struct stream *sim_host_connect(struct sim_host *h, unsigned worker, const struct stack_connect *to,
                                enum stack_error *error)
{
    struct stream *stream = stack_connect(h->worker[worker].stack, to, h->node.sim->now, error);
    finish_turn(h, worker);
    return stream;
}

void sim_host_turn(struct sim_host *h)
{
    for (unsigned i = 0; i < h->n_workers; i++)
        finish_turn(h, i);
    empty_inboxes(h);
}

/* To look at */

uint32_t sim_host_connections(struct sim_host *h)
{
    struct ctl_connection rows[64];
    uint32_t sum = 0;
    for (unsigned i = 0; i < h->n_workers; i++) {
        struct ctl_request r = {.kind = CTL_CONNECTIONS, .rows.connection = rows, .max = 64};
        do {
            stack_control(h->worker[i].stack, &r, h->node.sim->now);
            sum += r.n;
        } while (r.more);
    }
    return sum;
}

uint64_t sim_host_count(const struct sim_host *h, enum counter which)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < h->n_workers; i++)
        sum += counter_get(&h->worker[i].counters, which);
    return sum;
}

uint64_t sim_host_drops(const struct sim_host *h, enum drop why)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < h->n_workers; i++)
        sum += counter_drops(&h->worker[i].counters, why);
    return sum;
}

uint64_t sim_host_all_drops(const struct sim_host *h)
{
    uint64_t sum = 0;
    for (enum drop d = DROP_NONE; d < DROP_END; d++)
        sum += sim_host_drops(h, d);
    return sum;
}

uint64_t sim_host_expires(const struct sim_host *h)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < h->n_workers; i++)
        sum += h->worker[i].expires;
    return sum;
}

bool sim_host_address(struct sim_host *h, unsigned worker, const struct ip_addr *a,
                      enum ctl_address_state *state)
{
    struct ctl_address rows[IFACE_ADDRS_MAX + 1];
    struct ctl_request r = {
        .kind = CTL_ADDRESSES, .rows.address = rows, .max = IFACE_ADDRS_MAX + 1};
    stack_control(h->worker[worker].stack, &r, h->node.sim->now);
    for (uint32_t i = 0; i < r.n; i++) {
        if (!ip_eq(&rows[i].prefix.addr, a))
            continue;
        *state = rows[i].state;
        return true;
    }
    return false;
}

static uint32_t neighbours_max(const struct sim_host *h)
{
    return h->cfg.limits.neighbours ? h->cfg.limits.neighbours : 4096;
}

bool sim_host_neighbour(struct sim_host *h, unsigned worker, const struct ip_addr *a,
                        struct ctl_neighbour *row)
{
    uint32_t max = neighbours_max(h);
    struct ctl_neighbour *rows = calloc(max, sizeof(*rows));
    uint32_t n = list_neighbours(h, worker, rows, max);
    const struct ctl_neighbour *found = find_row(rows, n, a);
    if (found)
        *row = *found;
    bool there = found != NULL;
    free(rows);
    return there;
}

uint32_t sim_host_neighbours(struct sim_host *h, unsigned worker)
{
    uint32_t max = neighbours_max(h);
    struct ctl_neighbour *rows = calloc(max, sizeof(*rows));
    uint32_t n = list_neighbours(h, worker, rows, max);
    free(rows);
    return n;
}
