/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/conn.h"

#include "stack/session.h"
#include "wire/proto.h"

/* What services and connections may do in one stack_output, so that others get their turn. */
#define SERVE_STREAMS 64
#define SERVE_VIEWS   16
#define OUTPUT_BYTES  (64u << 10)

/* Places looked at for connections that may be pruned, at once. */
#define PRUNE_SLOTS 128

/* The neighbour of a connection that goes on hears of it this often, in seconds: well within the
 * time that it is taken to be reachable (RFC 4861 6.3.2). */
#define CONFIRM_EVERY 5

/* The way out */

static struct tcp_path path_on(const struct iface *i, const struct ip_addr *remote, tick_t now)
{
    uint32_t can = i->cfg.offload;
    bool checksum = can & IFACE_TX_TCP_CSUM;
    bool multi = can & IFACE_TX_MULTI_SEGS;
    /* A device that cuts segments writes each one's checksums. */
    bool tso = (can & IFACE_TX_TSO) && checksum && multi &&
               (!ip_is_v4(remote) || (can & IFACE_TX_IP_CSUM));
    return (struct tcp_path){.mtu = pmtu_get(i->stack->pmtu, remote, i->cfg.mtu, now),
                             .iface_mtu = i->cfg.mtu,
                             .checksum = checksum,
                             .multi = multi,
                             .tso = tso};
}

static bool path_eq(const struct tcp_path *a, const struct tcp_path *b)
{
    return a->mtu == b->mtu && a->iface_mtu == b->iface_mtu && a->checksum == b->checksum &&
           a->multi == b->multi && a->tso == b->tso;
}

static struct iface *iface_of(const struct conn *c)
{
    return &stack_of(c)->iface[c->iface];
}

static void join(struct conn *c)
{
    if (!list_linked(&c->sending))
        list_push_back(&iface_of(c)->sending, &c->sending);
}

void conn_refresh(struct conn *c, tick_t now)
{
    struct stack *s = stack_of(c);
    const struct ip_addr *remote = &c->flow.key.remote;
    struct route r;
    c->path_generation = s->path_generation;
    if (!route_find(s, iface_of(c), remote, &r))
        return; /* what it sends will be counted */
    if (r.iface->index != c->iface) {
        bool waits = list_linked(&c->sending);
        list_remove(&c->sending);
        c->iface = (uint8_t)r.iface->index;
        if (waits)
            join(c);
    }
    struct tcp_path path = path_on(r.iface, remote, now);
    if (!path_eq(&path, &c->tcp.path))
        tcp_path_changed(&c->tcp, &path, now);
}

/* Might its path be another than it knows? A lowered path MTU ends in silence (stack/pmtu.h). */
static bool is_stale(const struct conn *c)
{
    return c->path_generation != stack_of(c)->path_generation ||
           c->tcp.path.mtu < c->tcp.path.iface_mtu;
}

void conn_progress(struct conn *c, tick_t now)
{
    struct stack *s = stack_of(c);
    uint32_t second = (uint32_t)(now / TICK_SEC);
    struct route r;
    if (second - c->confirmed < CONFIRM_EVERY)
        return;
    c->confirmed = second;
    if (route_find(s, iface_of(c), &c->flow.key.remote, &r))
        neigh_confirm(s->neigh, r.iface->index, &r.next_hop, now);
}

/* What connections ask of us */

static void on_transmit(struct tcp_conn *tcp, struct pkt *p, uint8_t ecn, tick_t now)
{
    struct conn *c = conn_of(tcp);
    struct stack *s = stack_of(c);
    if (c->homeless) {
        stack_drop(s, p, DROP_NO_SOURCE);
        return;
    }
    struct ip_tx tx = {.iface = iface_of(c),
                       .src = c->flow.key.local,
                       .dst = c->flow.key.remote,
                       .proto = IP_PROTO_TCP,
                       .traffic_class = ecn,
                       .dont_fragment = true};
    ip_output(s, p, &tx, now);
}

static void on_wake(struct tcp_conn *tcp)
{
    join(conn_of(tcp));
}

/* Life */

/* Its flow has left the table. */
static void conn_free(struct conn *c)
{
    struct stack *s = stack_of(c);
    wheel_cancel(&s->wheel, &c->timer);
    list_remove(&c->sending);
    if (c->half_open)
        c->listener->half_open--;
    if (c->listener)
        listener_leave(s, c->listener);
    tcp_conn_fini(&c->tcp);
    slab_free(s->conns, c);
}

void conn_discard(struct conn *c)
{
    flow_remove(stack_of(c)->flows, &c->flow);
    conn_free(c);
}

static void end(struct conn *c, tick_t now)
{
    struct stack *s = stack_of(c);
    flow_remove(s->flows, &c->flow);
    if (c->tcp.state == TCP_TIME_WAIT)
        time_wait_enter(s, &c->flow.key, &c->tcp, now);
    conn_free(c);
}

static void leave_backlog(struct conn *c)
{
    if (!c->half_open || c->tcp.state == TCP_SYN_RECEIVED)
        return;
    c->half_open = false;
    c->listener->half_open--;
    if (c->tcp.state != TCP_CLOSED)
        c->listener->accepted++;
}

/* Does it wait for its turn to send, or its service for its own? Then it will be settled again in
 * this very turn, and what it says of its deadline now does not hold: data is not acknowledged
 * after a delay, but with the answer. So the timer stays where it is in the wheel. */
static bool is_busy(const struct conn *c)
{
    return list_linked(&c->sending) || list_linked(&c->tcp.stream.node);
}

void conn_settle(struct conn *c, tick_t now)
{
    struct stack *s = stack_of(c);
    leave_backlog(c);
    if (tcp_is_over(&c->tcp)) {
        end(c, now);
        return;
    }
    if (tcp_wants_output(&c->tcp, now))
        join(c);
    if (!timer_armed(&c->timer) || !is_busy(c))
        wheel_arm(&s->wheel, &c->timer, tcp_deadline(&c->tcp));
}

static void fire(struct timer *t, tick_t now)
{
    struct conn *c = container_of(t, struct conn, timer);
    tcp_expire(&c->tcp, now);
    conn_settle(c, now);
}

struct conn *conn_create(struct iface *i, const struct flow_key *key,
                         const struct stream_service *service, tick_t now, enum drop *why)
{
    struct stack *s = i->stack;
    handle_t handle;
    *why = slab_live(s->conns) == slab_max(s->conns) ? DROP_TCP_LIMIT : DROP_TCP_MEMORY;
    struct conn *c = slab_alloc(s->conns, &handle);
    if (!c)
        return NULL;
    c->flow.key = *key;
    c->flow.kind = FLOW_CONN;
    int n = flow_insert(s->flows, &c->flow);
    assert(n != FLOW_E_EXISTS && n != FLOW_E_FULL &&
           "the caller has looked; there is room for all");
    if (n < 0) {
        slab_free(s->conns, c);
        return NULL;
    }
    timer_init(&c->timer, fire);
    list_init(&c->sending);
    c->iface = (uint8_t)i->index;
    c->path_generation = s->path_generation;
    c->confirmed = (uint32_t)(now / TICK_SEC);
    struct tcp_path path = path_on(i, &key->remote, now);
    tcp_conn_init(&c->tcp, &s->tcp, &c->flow.key, &path, service);
    return c;
}

/* Memory */

void conns_prune(struct stack *s, bool (*needed)(const struct tcp *))
{
    uint32_t slots = slab_slots(s->conns);
    for (unsigned n = 0; n < PRUNE_SLOTS && n < slots && needed(&s->tcp); n++) {
        if (s->prune_at >= slots)
            s->prune_at = 0;
        struct conn *c = slab_at(s->conns, s->prune_at++);
        if (c)
            tcp_prune(&c->tcp);
    }
}

/* Turns */

/*
 * Whose service is told something joins the list: it will most likely send, what it holds is less
 * (tcp->memory), or it is over. All streams of the ready list are TCP connections'.
 */
void conns_serve(struct stack *s, tick_t now)
{
    unsigned n = 0;
    if (s->tcp.starved) {
        s->tcp.starved = false;
        conns_prune(s, tcp_lean);
    }
    list_for_each (it, &s->tcp.ready.list) {
        if (n++ == SERVE_STREAMS)
            break;
        struct stream *stream = container_of(it, struct stream, node);
        join(conn_of(container_of(stream, struct tcp_conn, stream)));
    }
    s->tcp.now = now;
    if (n > 0)
        stream_ready_run(&s->tcp.ready, SERVE_STREAMS, SERVE_VIEWS);
}

/* c, the first of the list, sends up to room segments: *sent. False: it could not for want of
 * memory. */
static bool output_first(struct conn *c, unsigned room, unsigned *sent, tick_t now)
{
    struct list *sending = &iface_of(c)->sending;
    list_remove(&c->sending);
    *sent = tcp_output(&c->tcp, room, OUTPUT_BYTES, now);
    if (*sent == 0 && tcp_wants_output(&c->tcp, now)) {
        list_push_back(sending, &c->sending);
        return false;
    }
    if (*sent > 0)
        session_sent(c);
    conn_settle(c, now);
    return true;
}

void conns_output(struct iface *i, unsigned room, tick_t now)
{
    while (room > 0 && !list_empty(&i->sending)) {
        struct conn *c = container_of(list_first(&i->sending), struct conn, sending);
        if (is_stale(c))
            conn_refresh(c, now);
        if (c->iface != i->index)
            continue; /* it has gone to the other's list */
        unsigned sent;
        if (!output_first(c, room, &sent, now))
            break; /* no memory for packets, for nobody */
        /* A last ACK may go beyond it. */
        room -= sent < room ? sent : room;
    }
}

void conns_check_addresses(struct stack *s, tick_t now)
{
    uint32_t cursor = 0;
    struct conn *c;
    while ((c = slab_next(s->conns, &cursor))) {
        const struct local *l = local_any(iface_of(c), &c->flow.key.local);
        if (l && local_usable(l))
            continue;
        c->homeless = true;
        tcp_kill(&c->tcp, now);
        conn_settle(c, now);
    }
}

/* Of the stack */

void conns_set(struct stack *s, const struct tcp_settings *settings, tick_t now)
{
    s->tcp_settings = *settings;
    time_waits_arm(s);
    s->tcp.challenge_round = 0;
    uint32_t resets = settings->reset_rate; /* bursts of a tenth of a second's */
    limit_change(&s->reset_limit, resets, resets / 10 + 1, now);
}

void conns_init(struct stack *s, tick_t now)
{
    s->tcp.mem = s->env.mem;
    s->tcp.pool = s->env.pool;
    s->tcp.counters = s->counters;
    s->tcp.rng = &s->rng;
    s->tcp.settings = &s->tcp_settings;
    s->tcp.memory_max = s->limits.tcp_memory;
    s->tcp.transmit = on_transmit;
    s->tcp.wake = on_wake;
    stream_ready_init(&s->tcp.ready);
    limit_init(&s->tcp.challenges, 0, 0, now);
    limit_init(&s->reset_limit, 0, 0, now);
    list_init(&s->retired);
    time_waits_init(s);
    for (unsigned i = 0; i < s->n_ifaces; i++)
        list_init(&s->iface[i].sending);
}

bool conns_create(struct stack *s)
{
    uint32_t conns = s->limits.flows;
    uint32_t waits = s->limits.time_wait;
    s->conns = slab_create(s->env.mem, sizeof(struct conn), 64, conns);
    s->waits = slab_create(s->env.mem, sizeof(struct time_wait), 64, waits);
    return s->conns && s->waits;
}

void conns_fini(struct stack *s)
{
    uint32_t cursor = 0;
    struct conn *c;
    if (s->flows)
        flow_table_destroy(s->flows);
    while (s->conns && (c = slab_next(s->conns, &cursor)))
        conn_free(c);
    listeners_fini(s);
    slab_destroy(s->conns);
    slab_destroy(s->waits);
}
