/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/stack.h"

#include <string.h>

#include "base/invariant.h"
#include "stack/session.h"
#include "wire/ipv4.h"

#define NEIGH_WAITING 1024 /* buffers of what waits for all neighbours together */

static const struct stack_limits default_limits = {
    .neighbours = 4096,
    .neighbour_queue = NEIGH_QUEUE_MAX, /* the fragments of the largest datagram */
    .paths = 4096,
    .reass_datagrams = 256,
    .reass_bytes = 4 << 20,
    .flows = 1 << 20,
    .time_wait = 65536,
    .streams = 1 << 20,
    .tcp_memory = 64 << 20,
    .tx_queue = 4096,
};

static uint32_t or_default(uint32_t value, uint32_t otherwise)
{
    return value ? value : otherwise;
}

static struct stack_limits fill_limits(const struct stack_limits *l)
{
    const struct stack_limits *d = &default_limits;
    uint32_t queue = or_default(l->neighbour_queue, d->neighbour_queue);
    return (struct stack_limits){
        .neighbours = or_default(l->neighbours, d->neighbours),
        .neighbour_queue = queue < NEIGH_QUEUE_MAX ? queue : NEIGH_QUEUE_MAX,
        .paths = or_default(l->paths, d->paths),
        .reass_datagrams = or_default(l->reass_datagrams, d->reass_datagrams),
        .reass_bytes = or_default(l->reass_bytes, d->reass_bytes),
        .flows = or_default(l->flows, d->flows),
        .time_wait = or_default(l->time_wait, d->time_wait),
        .streams = or_default(l->streams, d->streams),
        .tcp_memory = l->tcp_memory ? l->tcp_memory : d->tcp_memory,
        .tx_queue = or_default(l->tx_queue, d->tx_queue),
    };
}

/* Configuration */

/* Can one host have this address? */
static bool is_unicast(const struct ip_addr *a)
{
    return !ip_is_unspecified(a) && !ip_is_multicast(a) && !ip_is_loopback(a) &&
           !ip_is_limited_broadcast(a);
}

static bool addr_ok(const struct ip_prefix *p)
{
    unsigned most = ip_is_v4(&p->addr) ? 32 : 128;
    return p->len > 0 && p->len <= most && is_unicast(&p->addr) &&
           !ip_is_subnet_broadcast(p, &p->addr);
}

static bool gateway_ok(const struct ip_addr *a, bool v4)
{
    return ip_is_unspecified(a) || (ip_is_v4(a) == v4 && is_unicast(a));
}

static bool iface_ok(const struct iface_config *c)
{
    if (c->mtu < 68 || c->n_addrs > IFACE_ADDRS_MAX || c->vlan > 4094)
        return false;
    if (c->ipv6 && c->mtu < IPV6_MTU_MIN)
        return false;
    if (!gateway_ok(&c->gateway4, true) || !gateway_ok(&c->gateway6, false))
        return false;
    for (unsigned i = 0; i < c->n_addrs; i++)
        if (!addr_ok(&c->addr[i]) || (!ip_is_v4(&c->addr[i].addr) && !c->ipv6))
            return false;
    return true;
}

static bool limits_ok(const struct stack_limits *given)
{
    struct stack_limits l = fill_limits(given);
    return l.flows <= FLOW_MAX && l.time_wait <= FLOW_MAX - l.flows;
}

/* *tcp, *http2: its settings, filled. */
static bool config_ok(const struct stack_config *c, struct tcp_settings *tcp,
                      struct h2_settings *http2)
{
    *tcp = c->tcp;
    *http2 = c->http2;
    if (!tcp_settings_fill(tcp) || !h2_settings_fill(http2) || !listeners_ok(c) ||
        !limits_ok(&c->limits))
        return false;
    if (c->n_ifaces < 1 || c->n_ifaces > IFACE_MAX || c->n_workers < 1 ||
        c->n_workers > STEER_SLOTS || c->worker >= c->n_workers)
        return false;
    for (unsigned i = 0; i < c->n_ifaces; i++)
        if (!iface_ok(&c->iface[i]))
            return false;
    return true;
}

/* With the log off nothing is written down of a request. */
static void set_log(struct stack *s, const struct stack_config *c)
{
    s->http.log = c->log ? s->env.log : NULL;
}

static void set_icmp(struct stack *s, const struct stack_icmp *c)
{
    s->icmp = *c;
    s->icmp.error_rate = or_default(c->error_rate, 100);
    s->icmp.error_burst = or_default(c->error_burst, 50);
}

/* The addresses that an interface had, whose timers are stopped; `when` says when they were due. */
struct olds {
    struct local local[LOCALS_MAX];
    unsigned n;
};

/* The address as it stood before. NULL: it is new, or another host's (who may be gone now). */
static const struct local *find_old(const struct olds *old, const struct ip_addr *a)
{
    for (unsigned k = 0; k < old->n; k++)
        if (ip_eq(&old->local[k].prefix.addr, a) && old->local[k].state != CTL_ADDRESS_DUPLICATE)
            return &old->local[k];
    return NULL;
}

static void add_net(struct iface *i, const struct ip_prefix *net)
{
    for (unsigned k = 0; k < i->n_nets; k++)
        if (i->net[k].len == net->len && ip_in_prefix(&i->net[k], &net->addr))
            return;
    i->net[i->n_nets++] = *net;
}

/* One address: as it stood where it was there before, else from the start. */
static void place_local(struct iface *i, const struct ip_prefix *prefix, bool link_local,
                        const struct olds *olds, tick_t now)
{
    if (local_on(i, &prefix->addr)) /* named twice */
        return;
    struct local *l = &i->local[i->n_locals++];
    *l = (struct local){.prefix = *prefix, .iface = i, .link_local = link_local};
    i->local_bits |= local_bit(&prefix->addr);
    add_net(i, prefix);
    dad_init(l);
    const struct local *old = find_old(olds, &prefix->addr);
    if (!old) {
        dad_start(l, now);
        return;
    }
    l->state = old->state;
    l->sent = old->sent;
    l->defended = old->defended;
    wheel_arm(&i->stack->wheel, &l->timer, old->timer.when);
}

static void take_olds(struct iface *i, bool same_link, struct olds *old)
{
    old->n = 0;
    for (unsigned k = 0; k < i->n_locals; k++) {
        struct local *l = &i->local[k];
        tick_t due = timer_armed(&l->timer) ? l->timer.when : TICK_NEVER;
        wheel_cancel(&i->stack->wheel, &l->timer);
        if (!same_link)
            continue;
        old->local[old->n] = *l;
        old->local[old->n++].timer.when = due;
    }
    i->n_locals = i->n_nets = 0;
    i->local_bits = 0;
}

static void apply_addrs(struct iface *i, const struct iface_config *c, tick_t now)
{
    struct olds old;
    take_olds(i, i->cfg.vlan == c->vlan, &old);
    i->cfg = *c;
    if (c->ipv6) {
        struct ip_prefix own = {.addr = ip_link_local_of(&c->mac), .len = 64};
        place_local(i, &own, true, &old, now);
    }
    for (unsigned k = 0; k < c->n_addrs; k++)
        place_local(i, &c->addr[k], false, &old, now);
    mld_update(i, now);
}

/* Do neighbours remain who they were? Their entries remember whether they are a gateway's. */
static bool neighbours_stay(const struct iface_config *a, const struct iface_config *b)
{
    return a->vlan == b->vlan && ip_eq(&a->gateway4, &b->gateway4) &&
           ip_eq(&a->gateway6, &b->gateway6);
}

static bool addresses_stay(const struct iface_config *a, const struct iface_config *b)
{
    if (a->vlan != b->vlan || a->ipv6 != b->ipv6 || a->n_addrs != b->n_addrs)
        return false;
    for (unsigned i = 0; i < a->n_addrs; i++)
        if (!ip_eq(&a->addr[i].addr, &b->addr[i].addr))
            return false;
    return true;
}

int stack_configure(struct stack *s, const struct stack_config *config, tick_t now)
{
    struct tcp_settings tcp;
    struct h2_settings http2;
    if (!config_ok(config, &tcp, &http2) || config->n_ifaces != s->n_ifaces)
        return STACK_E_CONFIG;
    for (unsigned i = 0; i < s->n_ifaces; i++) {
        const struct iface_config *was = &s->iface[i].cfg;
        const struct iface_config *is = &config->iface[i];
        if (strncmp(was->name, is->name, sizeof(is->name)) != 0 || !mac_eq(&was->mac, &is->mac))
            return STACK_E_CONFIG;
    }
    struct sessions_change change;
    if (!sessions_prepare(s, &http2, &change))
        return STACK_E_MEMORY;
    if (!listeners_set(s, config)) {
        sessions_cancel(s, &change);
        return STACK_E_MEMORY;
    }
    sessions_take(s, &change);
    sessions_see_contexts(s);
    set_log(s, config);
    bool at_home = true;
    for (unsigned i = 0; i < s->n_ifaces; i++) {
        bool stay = neighbours_stay(&s->iface[i].cfg, &config->iface[i]);
        at_home &= addresses_stay(&s->iface[i].cfg, &config->iface[i]);
        apply_addrs(&s->iface[i], &config->iface[i], now);
        if (!stay)
            neigh_flush(s->neigh, (uint16_t)i);
    }
    set_icmp(s, &config->icmp);
    limit_change(&s->error_limit, s->icmp.error_rate, s->icmp.error_burst, now);
    conns_set(s, &tcp, now);
    stack_paths_changed(s);
    if (!at_home)
        conns_check_addresses(s, now);
    return 0;
}

/* What the neighbour cache asks of us */

static void on_solicit(void *ctx, uint16_t iface, const struct ip_addr *addr,
                       const struct mac_addr *to, tick_t now)
{
    (void)now;
    struct stack *s = ctx;
    if (ip_is_v4(addr))
        arp_solicit(&s->iface[iface], addr, to);
    else
        nd_solicit(&s->iface[iface], addr, to);
}

static void on_transmit(void *ctx, uint16_t iface, struct pkt *p, const struct mac_addr *mac,
                        tick_t now)
{
    (void)now;
    struct stack *s = ctx;
    bool v4 = p->data[0] >> 4 == 4;
    link_output(&s->iface[iface], p, mac, v4 ? ETHER_TYPE_IPV4 : ETHER_TYPE_IPV6);
}

static bool on_is_router(void *ctx, uint16_t iface, const struct ip_addr *addr)
{
    const struct stack *s = ctx;
    return route_is_gateway(&s->iface[iface], addr);
}

/* Life */

static struct siphash_key derive_key(const struct stack_env *env, uint8_t purpose)
{
    struct siphash_key root = siphash_key_from(env->seed);
    uint8_t label[17] = {purpose};
    memcpy(label + 1, env->seed + 16, 16);
    struct siphash_key key = {siphash24(&root, label, sizeof(label)), 0};
    label[0] |= 0x80;
    key.k1 = siphash24(&root, label, sizeof(label));
    return key;
}

static bool create_parts(struct stack *s)
{
    struct neigh_args neigh = {.mem = s->env.mem,
                               .wheel = &s->wheel,
                               .counters = s->counters,
                               .key = derive_key(&s->env, 1),
                               .seed = rng_u64(&s->rng),
                               .max = s->limits.neighbours,
                               .queue = s->limits.neighbour_queue,
                               .waiting = NEIGH_WAITING,
                               .solicit = on_solicit,
                               .transmit = on_transmit,
                               .is_router = on_is_router,
                               .ctx = s};
    s->neigh = neigh_create(&neigh);
    struct reass_args reass = {
        .mem = s->env.mem,
        .wheel = &s->wheel,
        .pool = s->env.pool,
        .counters = s->counters,
        .key = derive_key(&s->env, 4),
        .limits = {.datagrams = s->limits.reass_datagrams, .bytes = s->limits.reass_bytes},
        .given_up = ip_given_up,
        .ctx = s};
    s->reass = reass_create(&reass);
    struct pmtu_args pmtu = {
        .mem = s->env.mem, .key = derive_key(&s->env, 5), .max = s->limits.paths};
    s->pmtu = pmtu_create(&pmtu);
    struct siphash_key flow_key = derive_key(&s->env, 8);
    s->flows = flow_table_create(s->env.mem, &flow_key, s->limits.flows + s->limits.time_wait);
    if (!s->neigh || !s->reass || !s->pmtu || !s->flows || !conns_create(s))
        return false;
    uint32_t queue = s->limits.tx_queue;
    for (unsigned i = 0; i < s->n_ifaces; i++)
        if (!ring_init(&s->iface[i].tx, s->env.mem, queue < 64 ? queue : 64, queue))
            return false;
    return true;
}

static void fail(enum stack_error *error, enum stack_error why)
{
    if (error)
        *error = why;
}

struct stack *stack_create(const struct stack_config *config, const struct stack_env *env,
                           tick_t now, enum stack_error *error)
{
    struct tcp_settings tcp;
    struct h2_settings http2;
    if (!config_ok(config, &tcp, &http2)) {
        fail(error, STACK_E_CONFIG);
        return NULL;
    }
    assert((env->handoff || config->n_workers == 1) &&
           "several workers hand packets to each other");
    struct stack *s = mem_alloc(env->mem, sizeof(*s), _Alignof(struct stack));
    if (!s) {
        fail(error, STACK_E_MEMORY);
        return NULL;
    }
    s->env = *env;
    s->counters = env->counters;
    s->limits = fill_limits(&config->limits);
    s->worker = config->worker;
    s->n_workers = config->n_workers;
    s->n_ifaces = config->n_ifaces;
    steer_init(&s->steer, config->n_workers);
    wheel_init(&s->wheel, now);
    s->frag_key = derive_key(env, 2);
    s->frag_key.k1 += s->worker; /* two workers may send fragments to one host */
    s->dad_key = derive_key(env, 6);
    rng_seed(&s->rng, derive_key(env, 3).k0 + s->worker);
    s->tcp.secret = derive_key(env, 7);
    s->port_key = derive_key(env, 9);
    s->sessions.prefix_key = derive_key(env, 10);
    conns_init(s, now);
    if (!create_parts(s) || !sessions_create(s, &http2, config->ticket_lifetime, now) ||
        !listeners_set(s, config)) {
        stack_destroy(s);
        fail(error, STACK_E_MEMORY);
        return NULL;
    }
    set_log(s, config);
    set_icmp(s, &config->icmp);
    limit_init(&s->error_limit, s->icmp.error_rate, s->icmp.error_burst, now);
    for (unsigned i = 0; i < s->n_ifaces; i++) {
        s->iface[i].stack = s;
        s->iface[i].index = (uint16_t)i;
        mld_init(&s->iface[i]);
    }
    for (unsigned i = 0; i < s->n_ifaces; i++)
        apply_addrs(&s->iface[i], &config->iface[i], now);
    conns_set(s, &tcp, now);
    return s;
}

void stack_destroy(struct stack *s)
{
    sessions_fini(s);
    conns_fini(s);
    for (unsigned i = 0; i < s->n_ifaces; i++) {
        struct ring *tx = &s->iface[i].tx;
        if (!tx->slot)
            continue;
        while (!ring_empty(tx))
            pkt_free(ring_pop_front(tx));
        ring_fini(tx);
    }
    if (s->neigh)
        neigh_destroy(s->neigh);
    if (s->reass)
        reass_destroy(s->reass);
    if (s->pmtu)
        pmtu_destroy(s->pmtu);
    mem_free(s->env.mem, s, sizeof(*s));
}

void stack_set_wall(struct stack *s, int64_t wall)
{
    s->http.wall = wall;
}

/* In */

static enum drop check_link(const struct iface *i, const struct pkt *p, const struct ether_hdr *h)
{
    if (mac_is_multicast(&h->src) ||
        mac_eq(&h->src, &i->cfg.mac)) /* the latter: our own, come back */
        return DROP_ETHER_SOURCE;
    if (!mac_is_multicast(&h->dst) && !mac_eq(&h->dst, &i->cfg.mac))
        return DROP_ETHER_DESTINATION;
    bool stripped = p->flags & PKT_RX_VLAN;
    if (h->tagged && stripped) /* one tag is all that a device of ours can have */
        return DROP_VLAN;
    uint16_t tci = h->tagged ? h->tci : stripped ? p->vlan : 0;
    /* Identifier 0 only carries a priority (802.1Q 9.6). */
    if ((tci & ETHER_VLAN_MASK) != i->cfg.vlan)
        return DROP_VLAN;
    return DROP_NONE;
}

static void frame_input(struct stack *s, struct pkt *p, tick_t now)
{
    assert(p->iface < s->n_ifaces && "the application knows our interfaces");
    struct iface *i = &s->iface[p->iface];
    if (!(p->flags & PKT_REASSEMBLED)) { /* else handed over, and its fragments were counted */
        stack_count(s, p, COUNTER_RX_PACKETS, 1);
        stack_count(s, p, COUNTER_RX_BYTES, p->total);
    }
    headers_together(p);
    struct ether_hdr h;
    int n = ether_parse(p->data, p->len, &h);
    enum drop why = n < 0 ? drop_of(n) : check_link(i, p, &h);
    if (why != DROP_NONE) {
        stack_drop(s, p, why);
        return;
    }
    pkt_pull(p, (uint32_t)n);
    bool group = mac_is_multicast(&h.dst);
    switch (h.type) {
    case ETHER_TYPE_IPV4: ip4_input(i, p, group, now); break;
    case ETHER_TYPE_IPV6: ip6_input(i, p, group, now); break;
    case ETHER_TYPE_ARP: arp_input(i, p, &h, now); break;
    default: stack_drop(s, p, DROP_ETHER_TYPE); break;
    }
}

void stack_input(struct stack *s, struct pkt *const *burst, unsigned n, tick_t now)
{
    sessions_next_turn(s);
    segments_prefetch(s, burst, n);
    for (unsigned i = 0; i < n; i++) {
        if (i + 4 < n)
            __builtin_prefetch(burst[i + 4]->data);
        frame_input(s, burst[i], now);
    }
}

/* Out */

unsigned stack_output(struct stack *s, uint16_t iface, struct pkt **burst, unsigned room,
                      tick_t now)
{
    assert(iface < s->n_ifaces);
    struct ring *tx = &s->iface[iface].tx;
    s->http.now = now;
    conns_serve(s, now);
    sessions_serve(s, now);
    unsigned most = room < tx->max ? room : tx->max;
    if (ring_count(tx) < most)
        conns_output(&s->iface[iface], most - ring_count(tx), now);
    unsigned n = 0;
    while (n < room && !ring_empty(tx))
        burst[n++] = ring_pop_front(tx);
    return n;
}

unsigned stack_pending(const struct stack *s, uint16_t iface)
{
    assert(iface < s->n_ifaces);
    const struct iface *i = &s->iface[iface];
    bool wants =
        !list_empty(&i->sending) || !stream_ready_empty(&s->tcp.ready) || sessions_pending(s);
    return ring_count(&i->tx) + wants;
}

tick_t stack_deadline(const struct stack *s)
{
    return sessions_wait(s) ? s->wheel.now : wheel_next(&s->wheel);
}

void stack_expire(struct stack *s, tick_t now)
{
    sessions_next_turn(s);
    wheel_expire(&s->wheel, now);
}

/* Control */

static void list_addresses(const struct stack *s, struct ctl_request *r)
{
    uint64_t at = 0;
    r->more = false;
    for (unsigned i = 0; i < s->n_ifaces; i++)
        for (unsigned k = 0; k < s->iface[i].n_locals; k++) {
            if (at++ < r->cursor)
                continue;
            if (r->n == r->max) {
                r->more = true;
                r->cursor = at - 1;
                return;
            }
            const struct local *l = &s->iface[i].local[k];
            r->rows.address[r->n++] = (struct ctl_address){.prefix = l->prefix,
                                                           .iface = (uint16_t)i,
                                                           .state = l->state,
                                                           .link_local = l->link_local};
        }
    r->cursor = at;
}

void stack_control(struct stack *s, struct ctl_request *r, tick_t now)
{
    r->n = 0;
    r->more = false;
    switch (r->kind) {
    case CTL_NEIGHBOURS:
        r->more = neigh_list(s->neigh, r->rows.neighbour, r->max, &r->cursor, &r->n, now);
        break;
    case CTL_NEIGHBOURS_FLUSH: r->n = neigh_flush(s->neigh, UINT16_MAX); break;
    case CTL_ADDRESSES: list_addresses(s, r); break;
    case CTL_PATHS:
        r->more = pmtu_list(s->pmtu, r->rows.path, r->max, &r->cursor, &r->n, now);
        break;
    case CTL_CONNECTIONS: list_connections(s, r, now); break;
    case CTL_CONNECTION: show_connection(s, r, now); break;
    case CTL_CONNECTION_RESET: reset_connection(s, r, now); break;
    case CTL_SESSION_SHUTDOWN: shutdown_session(s, r, now); break;
    case CTL_SESSIONS_SHUTDOWN: sessions_shutdown(s, r, now); break;
    case CTL_LISTENERS: list_listeners(s, r); break;
    case CTL_TUNNELS:
    case CTL_TUNNEL_KILL: assert(false && "of those the application knows"); break;
    case CTL_REQUEST_END: assert(false && "not a request"); break;
    }
}
