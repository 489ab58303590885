/* SPDX-License-Identifier: BSD-3-Clause */
/* Listeners: who answers on a port, and the first segments of connections that others open. */
#include <string.h>

#include "stack/session.h"
#include "tcp/cookie.h"
#include "tcp/isn.h"

#define BACKLOG_DEFAULT           1024
#define HANDSHAKES_DEFAULT        1024
#define PREFIX_HANDSHAKES_DEFAULT 512
#define HANDSHAKE_TIMEOUT_DEFAULT (10 * TICK_SEC)

/* A new connection's numbers start so far after those of the one before it on the same flow (RFC
 * 6191 2). */
#define ISS_STEP 65536

/* The table */

static bool is_any4(const struct ip_addr *a)
{
    return ip_is_unspecified(a) && ip_is_v4(a);
}

/* Of two listeners on a port the one that means fewer addresses comes first. */
static unsigned width(const struct ip_addr *a)
{
    return !ip_is_unspecified(a) ? 0 : ip_is_v4(a) ? 1 : 2;
}

static bool means(const struct listener *l, const struct ip_addr *addr)
{
    const struct ip_addr *a = &l->cfg.addr;
    if (!ip_is_unspecified(a))
        return ip_eq(a, addr);
    return !is_any4(a) || ip_is_v4(addr);
}

struct listener *listener_find(const struct stack *s, const struct ip_addr *addr, uint16_t port)
{
    unsigned low = 0;
    unsigned high = s->n_listeners;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (s->listener[middle]->cfg.port < port)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->n_listeners && s->listener[low]->cfg.port == port; low++)
        if (means(s->listener[low], addr))
            return s->listener[low];
    return NULL;
}

static bool carrier_ok(const struct stack_listener *l)
{
    bool held = l->context_hold && l->context_release;
    if (l->carrier == STACK_CARRIER_TCP)
        return !l->service->http && !l->tls && !l->context;
    return l->carrier == STACK_CARRIER_HTTP2 && l->service->http && (held || !l->context);
}

static bool listener_ok(const struct stack_listener *l)
{
    return l->name[0] && memchr(l->name, 0, sizeof(l->name)) && l->port > 0 && l->service &&
           carrier_ok(l) && !ip_is_multicast(&l->addr) && !ip_is_limited_broadcast(&l->addr);
}

static bool alike(const struct stack_listener *a, const struct stack_listener *b)
{
    return strncmp(a->name, b->name, sizeof(a->name)) == 0 ||
           (a->port == b->port && ip_eq(&a->addr, &b->addr));
}

bool listeners_ok(const struct stack_config *config)
{
    if (config->n_listeners > STACK_LISTENERS_MAX)
        return false;
    for (unsigned i = 0; i < config->n_listeners; i++) {
        if (!listener_ok(&config->listener[i]))
            return false;
        for (unsigned k = 0; k < i; k++)
            if (alike(&config->listener[i], &config->listener[k]))
                return false;
    }
    return true;
}

static struct listener *by_name(struct stack *s, const char *name)
{
    for (unsigned i = 0; i < s->n_listeners; i++)
        if (strncmp(s->listener[i]->cfg.name, name, STACK_LISTENER_NAME_MAX) == 0)
            return s->listener[i];
    return NULL;
}

static void hold(const struct stack *s, const struct stack_listener *cfg)
{
    if (cfg->tls)
        tls_context_hold(cfg->tls);
    if (cfg->context)
        cfg->context_hold(cfg->context, s->worker);
}

static void release(const struct stack *s, const struct stack_listener *cfg)
{
    tls_context_release(cfg->tls);
    if (cfg->context)
        cfg->context_release(cfg->context, s->worker);
}

static void listener_free(struct stack *s, struct listener *l)
{
    list_remove(&l->retired);
    release(s, &l->cfg);
    mem_free(s->env.mem, l, sizeof(*l));
}

/* No longer in the table; goes with its last connection. */
static void retire(struct stack *s, struct listener *l)
{
    list_push_back(&s->retired, &l->retired);
    listener_tidy(s, l);
}

void listener_tidy(struct stack *s, struct listener *l)
{
    if (list_linked(&l->retired) && l->connections == 0 && l->sessions == 0)
        listener_free(s, l);
}

void listener_leave(struct stack *s, struct listener *l)
{
    assert(l->connections > 0 && "each connection was counted");
    l->connections--;
    listener_tidy(s, l);
}

/* Of a listener that is there already, what it held is given up only when the new is held: they may
 * be the same. */
static void configure(struct stack *s, struct listener *l, const struct stack_listener *cfg)
{
    struct stack_listener old = l->cfg;
    hold(s, cfg);
    l->cfg = *cfg;
    if (l->cfg.backlog == 0)
        l->cfg.backlog = BACKLOG_DEFAULT;
    if (l->cfg.handshakes == 0)
        l->cfg.handshakes = HANDSHAKES_DEFAULT;
    if (l->cfg.prefix_handshakes == 0)
        l->cfg.prefix_handshakes = PREFIX_HANDSHAKES_DEFAULT;
    if (l->cfg.handshake_timeout == 0)
        l->cfg.handshake_timeout = HANDSHAKE_TIMEOUT_DEFAULT;
    release(s, &old);
}

static bool comes_before(const struct stack_listener *a, const struct stack_listener *b)
{
    return a->port != b->port ? a->port < b->port : width(&a->addr) < width(&b->addr);
}

static void insert(struct stack *s, struct listener *l)
{
    unsigned at = s->n_listeners++;
    for (; at > 0 && comes_before(&l->cfg, &s->listener[at - 1]->cfg); at--)
        s->listener[at] = s->listener[at - 1];
    s->listener[at] = l;
}

/* A listener for each that the configuration has new; NULL for the others. False: no memory. */
static bool make_new(struct stack *s, const struct stack_config *config, struct listener **made)
{
    for (unsigned i = 0; i < config->n_listeners; i++) {
        made[i] = NULL;
        if (by_name(s, config->listener[i].name))
            continue;
        made[i] = mem_alloc(s->env.mem, sizeof(struct listener), _Alignof(struct listener));
        if (!made[i]) {
            while (i-- > 0)
                mem_free(s->env.mem, made[i], sizeof(struct listener));
            return false;
        }
        list_init(&made[i]->retired);
        list_init(&made[i]->waiting);
    }
    return true;
}

bool listeners_set(struct stack *s, const struct stack_config *config)
{
    struct listener *next[STACK_LISTENERS_MAX];
    if (!make_new(s, config, next))
        return false;
    for (unsigned i = 0; i < config->n_listeners; i++) {
        if (!next[i])
            next[i] = by_name(s, config->listener[i].name);
    }
    unsigned n_old = s->n_listeners;
    struct listener *old[STACK_LISTENERS_MAX];
    memcpy(old, s->listener, n_old * sizeof(old[0]));
    s->n_listeners = 0;
    for (unsigned i = 0; i < config->n_listeners; i++) {
        configure(s, next[i], &config->listener[i]);
        insert(s, next[i]);
    }
    for (unsigned i = 0; i < n_old; i++)
        if (by_name(s, old[i]->cfg.name) != old[i])
            retire(s, old[i]);
    return true;
}

void listeners_fini(struct stack *s)
{
    while (s->n_listeners > 0)
        retire(s, s->listener[--s->n_listeners]);
    assert(list_empty(&s->retired) && "the connections went before");
}

/* SYNs */

static void refuse(struct listener *l, struct ip_rx *rx, enum drop why)
{
    l->refused++;
    stack_drop(rx->iface->stack, rx->p, why);
}

/* Room for one connection more, by the bounds of the worker? */
static enum drop check_room(struct stack *s)
{
    if (tcp_full(&s->tcp))
        conns_prune(s, tcp_full);
    if (tcp_full(&s->tcp))
        return DROP_TCP_MEMORY;
    return slab_live(s->conns) == slab_max(s->conns) ? DROP_TCP_LIMIT : DROP_NONE;
}

/* A connection of l, CLOSED; NULL: *why. */
static struct conn *make_conn(struct listener *l, const struct ip_rx *rx,
                              const struct flow_key *key, tick_t now, enum drop *why)
{
    struct stack *s = rx->iface->stack;
    struct route r;
    if (!route_find(s, rx->iface, &rx->src, &r)) {
        *why = DROP_NO_ROUTE;
        return NULL;
    }
    bool bytes = l->cfg.carrier == STACK_CARRIER_TCP;
    struct conn *c = conn_create(r.iface, key, bytes ? l->cfg.service : &session_service, now, why);
    if (!c)
        return NULL;
    c->listener = l;
    l->connections++;
    return c;
}

/* RFC 6528; and beyond all numbers of the connection that was there before (RFC 6191 2). */
static seq32_t first_number(const struct stack *s, const struct flow_key *key,
                            const struct time_wait *old, tick_t now)
{
    seq32_t iss = tcp_isn(&s->tcp.secret, key, now);
    if (!old || seq32_gt(iss, old->tcp.snd_nxt))
        return iss;
    return seq32_add(old->tcp.snd_nxt, ISS_STEP);
}

static void open_half(struct listener *l, struct ip_rx *rx, const struct flow_key *key,
                      const struct tcp_hdr *h, struct time_wait *old, tick_t now)
{
    struct stack *s = rx->iface->stack;
    seq32_t iss = first_number(s, key, old, now);
    if (old) {
        time_wait_end(s, old);
        counter_add(s->counters, COUNTER_TCP_TIME_WAIT_REUSED, 1);
    }
    enum drop why;
    struct conn *c = make_conn(l, rx, key, now, &why);
    if (!c) {
        refuse(l, rx, why);
        return;
    }
    c->half_open = true;
    l->half_open++;
    tcp_accept(&c->tcp, h, iss, rx->traffic_class & ECN_CE, now);
    pkt_free(rx->p);
    conn_settle(c, now);
}

/* Cookies */

/* The options of a SYN-ACK: what the SYN asks for and we want too. */
static struct tcp_options answer_options(const struct stack *s, const struct ip_rx *rx,
                                         const struct flow_key *key, const struct tcp_hdr *h,
                                         tick_t now)
{
    const struct tcp_settings *set = &s->tcp_settings;
    const struct tcp_options *o = &h->options;
    uint32_t headers = TCP_LEN + (rx->v4 ? 20 : 40);
    struct tcp_options answer = {
        .has_mss = true,
        .mss = (uint16_t)(rx->iface->cfg.mtu - headers),
        .has_wscale = o->has_wscale && !set->no_window_scaling,
        .sack_permitted = o->sack_permitted && !set->no_sack,
        .has_timestamps = o->has_timestamps && !set->no_timestamps,
        .wscale = receiver_scale_for(set->receive_buffer_max),
    };
    if (answer.has_timestamps) {
        answer.ts_value = tcp_ts_now(tcp_ts_offset(&s->tcp.secret, key), now);
        answer.ts_echo = o->ts_value;
    }
    return answer;
}

static void send_cookie(struct listener *l, struct ip_rx *rx, const struct flow_key *key,
                        const struct tcp_hdr *h, tick_t now)
{
    struct stack *s = rx->iface->stack;
    uint32_t window = s->tcp_settings.receive_buffer;
    uint16_t mss_default = rx->v4 ? TCP_MSS_DEFAULT4 : TCP_MSS_DEFAULT6;
    struct tcp_hdr answer = {.src_port = h->dst_port,
                             .dst_port = h->src_port,
                             .seq = tcp_cookie(&s->tcp.secret, key, h, mss_default, now),
                             .ack = seq32_add(h->seq, 1),
                             .flags = TCP_SYN | TCP_ACK,
                             .window = window > UINT16_MAX ? UINT16_MAX : (uint16_t)window,
                             .options = answer_options(s, rx, key, h, now)};
    l->cookies++;
    l->cookie_end = tick_after(now, 2 * TCP_COOKIE_PERIOD);
    counter_add(s->counters, COUNTER_TCP_COOKIES_TX, 1);
    segment_output(rx->iface, key, &answer, now);
    pkt_free(rx->p);
}

static void backlog_full(struct listener *l, struct ip_rx *rx, const struct flow_key *key,
                         const struct tcp_hdr *h, const struct time_wait *old, tick_t now)
{
    /* A TIME-WAIT stays until somebody is known to be there. */
    if (l->cfg.no_cookies || old)
        refuse(l, rx, DROP_TCP_BACKLOG);
    else
        send_cookie(l, rx, key, h, now);
}

/* RFC 9293 3.10.7.2, fourth step */
static void syn_input(struct listener *l, struct ip_rx *rx, const struct flow_key *key,
                      const struct tcp_hdr *h, struct time_wait *old, tick_t now)
{
    enum drop why = check_room(rx->iface->stack);
    if (why != DROP_NONE)
        refuse(l, rx, why);
    else if (l->half_open >= l->cfg.backlog)
        backlog_full(l, rx, key, h, old, now);
    else
        open_half(l, rx, key, h, old, now);
}

static void open_by_cookie(struct listener *l, struct ip_rx *rx, const struct flow_key *key,
                           const struct tcp_hdr *h, const struct tcp_hdr *syn, tick_t now)
{
    struct stack *s = rx->iface->stack;
    enum drop why = check_room(s);
    struct conn *c = why == DROP_NONE ? make_conn(l, rx, key, now, &why) : NULL;
    if (c && !tcp_accept_cookie(&c->tcp, syn, seq32_sub(h->ack, 1), now)) {
        conn_discard(c);
        c = NULL;
        why = DROP_TCP_MEMORY;
    }
    if (!c) {
        refuse(l, rx, why);
        return;
    }
    l->accepted++;
    counter_add(s->counters, COUNTER_TCP_COOKIES_RX, 1);
    tcp_input(&c->tcp, h, rx->p, rx->traffic_class & ECN_CE, now);
    conn_settle(c, now);
}

/* RFC 9293 3.10.7.2, second step: to a listener an ACK is wrong, but for one that answers a cookie.
 */
static void ack_input(struct listener *l, struct ip_rx *rx, const struct flow_key *key,
                      const struct tcp_hdr *h, tick_t now)
{
    const struct stack *s = rx->iface->stack;
    struct tcp_hdr syn;
    if (now >= l->cookie_end || (h->flags & TCP_SYN))
        segment_refuse(rx, key, h, DROP_TCP_PORT, now);
    else if (!tcp_cookie_check(&s->tcp.secret, key, h, now, &syn))
        segment_refuse(rx, key, h, DROP_TCP_COOKIE, now);
    else
        open_by_cookie(l, rx, key, h, &syn, now);
}

void listener_input(struct listener *l, struct ip_rx *rx, const struct flow_key *key,
                    const struct tcp_hdr *h, struct time_wait *old, tick_t now)
{
    struct stack *s = rx->iface->stack;
    if (h->flags & TCP_RST) /* first step */
        stack_drop(s, rx->p, DROP_TCP_RST);
    else if (h->flags & TCP_ACK)
        ack_input(l, rx, key, h, now);
    else if ((h->flags & (TCP_SYN | TCP_FIN)) == TCP_SYN)
        syn_input(l, rx, key, h, old, now);
    else
        stack_drop(s, rx->p, DROP_TCP_FLAGS);
}
