/* SPDX-License-Identifier: BSD-3-Clause */
/* What the control core sees of connections and listeners. */
#include <string.h>

#include "stack/session.h"
#include "wire/proto.h"

/*
 * A connection's id is its handle; that of one in TIME-WAIT, of which there is another slab, has
 * the bit set that no slot's number has (base/slab.h: at most 2^31 of them).
 */
#define ID_TIME_WAIT (UINT64_C(1) << 31)

/* Flows looked at for one page, whether the filter lets them through or not: a page may come back
 * with less than it could hold. */
#define LOOK_MAX 4096

/* Rows */

static uint8_t flags_of(const struct tcp_conn *c)
{
    static const struct {
        uint32_t has;
        uint8_t shows;
    } map[] = {{TCP_CONN_TIMESTAMPS, CTL_CONNECTION_TIMESTAMPS},
               {TCP_CONN_SACK, CTL_CONNECTION_SACK},
               {TCP_CONN_ECN, CTL_CONNECTION_ECN},
               {TCP_CONN_SCALED, CTL_CONNECTION_SCALED},
               {TCP_CONN_COOKIE, CTL_CONNECTION_COOKIE},
               {TCP_CONN_PASSIVE, CTL_CONNECTION_PASSIVE}};
    uint8_t flags = 0;
    for (unsigned i = 0; i < sizeof(map) / sizeof(map[0]); i++)
        if (c->flags & map[i].has)
            flags |= map[i].shows;
    return flags;
}

static uint32_t clip(uint64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static tick_t until(tick_t when, tick_t now)
{
    return when == TICK_NEVER ? TICK_NEVER : tick_since(when, now);
}

static tick_t backed_off(const struct tcp_sender *s)
{
    tick_t rto = s->rtt.rto;
    for (unsigned i = 0; i < s->backoff && rto < TCP_RTO_MAX; i++)
        rto *= 2;
    return tick_min(rto, TCP_RTO_MAX);
}

static void show_ends(struct ctl_connection *row, const struct flow_key *key)
{
    row->local = key->local;
    row->remote = key->remote;
    row->local_port = key->local_port;
    row->remote_port = key->remote_port;
    row->protocol = key->protocol;
}

static void show_sender(struct ctl_connection *row, const struct tcp_conn *c)
{
    const struct tcp_sender *s = &c->sender;
    row->recovery = sender_state_name(s->state);
    row->congestion = s->cc.ops->name;
    row->srtt = s->rtt.srtt;
    row->rttvar = s->rtt.rttvar;
    row->min_rtt = s->rtt.min == TICK_NEVER ? 0 : s->rtt.min;
    row->rto = backed_off(s);
    row->cwnd = s->cc.cwnd;
    row->ssthresh = s->cc.ssthresh;
    row->mss = s->mss;
    row->mss_peer = c->mss;
    row->path_mtu = c->path.mtu;
    row->send_window = c->snd_wnd;
    row->send_scale = c->snd_scale;
    row->backoff = s->backoff;
    row->in_flight = sender_in_flight(s);
    row->lost = s->inflight.lost;
    row->sacked = s->inflight.sacked;
    row->unsent = clip(tcp_unsent(c));
    row->tx_bytes = c->tx_bytes;
    row->retransmit_bytes = s->retransmitted;
    row->tx_segments = c->tx_segments;
    row->pacing_rate = c->tcp->settings->no_pacing ? 0 : tcp_cc_pacing_rate(&s->cc, s->rtt.srtt);
}

static void show_receiver(struct ctl_connection *row, const struct tcp_conn *c)
{
    const struct tcp_receiver *r = &c->receiver;
    int32_t window = seq32_diff(r->right, r->nxt);
    row->receive_window = window > 0 ? (uint32_t)window : 0;
    row->receive_scale = r->scale;
    row->unread = c->stream.unconsumed + (c->stream.in ? c->stream.in->total : 0);
    row->reordered = r->reorder.bytes;
    row->rx_bytes = c->rx_bytes;
    row->rx_segments = c->rx_segments;
}

static const char *goaway_of(const struct h2_conn *h2)
{
    bool received = h2->flags & H2_CONN_GOAWAY_RECEIVED;
    if (h2->flags & H2_CONN_FAILED)
        return "failed";
    if (h2->flags & H2_CONN_CLOSING)
        return received ? "both" : "sent";
    if (h2->flags & H2_CONN_DRAINING)
        return received ? "both" : "announced";
    return received ? "received" : "none";
}

static void show_tls(struct ctl_tls *row, const struct tls_conn *tls)
{
    const char *name = tls_server_name(tls);
    row->version = tls->flags & TLS_CONN_OPEN ? tls_version_name(tls) : "";
    row->cipher = tls->flags & TLS_CONN_OPEN ? tls_cipher_name(tls) : "";
    row->group = tls->flags & TLS_CONN_OPEN ? tls_group_name(tls) : "";
    row->resumed = tls->flags & TLS_CONN_RESUMED;
    size_t n = strlen(name);
    memcpy(row->server_name, name, n < CTL_SERVER_NAME_MAX ? n : CTL_SERVER_NAME_MAX - 1);
}

static void show_http2(struct ctl_http2 *row, const struct session *x, tick_t now)
{
    const struct h2_conn *h2 = &x->h2;
    *row = (struct ctl_http2){.goaway = goaway_of(h2),
                              .drain = until(h2->drain_at, now),
                              .streams = h2->n_peer + h2->n_own,
                              .total_streams = h2->total,
                              .requests = h2->requests,
                              .send_window = h2->send_window,
                              .receive_window = h2->receive_window,
                              .glitches = h2_glitches_used(&h2->glitches),
                              .rx_frames = h2->rx_frames,
                              .tx_frames = h2->tx_frames,
                              .memory = h2_cost(h2),
                              .rx_header_table = h2->settings->header_table,
                              .tx_header_table = h2->peers.header_table};
}

static void show_session(struct ctl_connection *row, const struct session *x, tick_t now)
{
    row->service = x->service->stream.name;
    if (x->secure)
        show_tls(&row->tls, &x->tls);
    if (x->begun)
        show_http2(&row->http2, x, now);
    row->memory += x->charged;
}

static void show_conn(struct ctl_connection *row, const struct conn *c, tick_t now)
{
    const struct tcp_conn *tcp = &c->tcp;
    *row = (struct ctl_connection){.id = slab_handle(stack_of(c)->conns, c),
                                   .flags = flags_of(tcp),
                                   .state = tcp_state_name(tcp->state),
                                   .service = tcp->stream.service->name,
                                   .age = tick_since(now, tcp->opened_at),
                                   .idle = tick_since(now, tcp->heard_at),
                                   .timer = until(tcp_deadline(tcp), now),
                                   .memory = tcp_cost(tcp)};
    if (c->listener)
        memcpy(row->listener, c->listener->cfg.name, sizeof(row->listener));
    show_ends(row, &c->flow.key);
    show_sender(row, tcp);
    show_receiver(row, tcp);
    const struct session *x = session_of(c);
    if (x)
        show_session(row, x, now);
}

static void show_time_wait(struct ctl_connection *row, const struct stack *s,
                           const struct time_wait *w, tick_t now)
{
    tick_t end = tick_after(w->since, s->tcp_settings.time_wait);
    *row = (struct ctl_connection){.id = slab_handle(s->waits, w) | ID_TIME_WAIT,
                                   .flags = w->tcp.timestamps ? CTL_CONNECTION_TIMESTAMPS : 0,
                                   .state = tcp_state_name(TCP_TIME_WAIT),
                                   .recovery = "",
                                   .congestion = "",
                                   .service = "",
                                   .age = tick_since(now, w->since),
                                   .idle = tick_since(now, w->since),
                                   .timer = until(end, now)};
    show_ends(row, &w->flow.key);
}

/* Requests */

static enum tcp_state state_of(struct flow *f)
{
    return f->kind == FLOW_CONN ? conn_of_flow(f)->tcp.state : TCP_TIME_WAIT;
}

static const char *listener_of(struct flow *f)
{
    const struct listener *l = f->kind == FLOW_CONN ? conn_of_flow(f)->listener : NULL;
    return l ? l->cfg.name : "";
}

static bool fits(const char *wanted, const char *is)
{
    return !wanted[0] || strncmp(wanted, is, CTL_NAME_MAX) == 0;
}

static bool passes(const struct ctl_connection_filter *filter, struct flow *f)
{
    return (!filter->protocol || filter->protocol == f->key.protocol) &&
           fits(filter->state, tcp_state_name(state_of(f))) &&
           fits(filter->listener, listener_of(f));
}

static void show_flow(struct ctl_connection *row, struct stack *s, struct flow *f, tick_t now)
{
    if (f->kind == FLOW_CONN)
        show_conn(row, conn_of_flow(f), now);
    else
        show_time_wait(row, s, time_wait_of_flow(f), now);
}

void list_connections(struct stack *s, struct ctl_request *r, tick_t now)
{
    r->more = true;
    for (unsigned looked = 0; looked < LOOK_MAX && r->n < r->max; looked++) {
        struct flow *f = flow_next(s->flows, &r->cursor);
        if (!f) {
            r->more = false;
            return;
        }
        if (passes(&r->filter, f))
            show_flow(&r->rows.connection[r->n++], s, f, now);
    }
}

static struct flow *find(const struct stack *s, ctl_id_t id)
{
    if (id & ID_TIME_WAIT) {
        struct time_wait *w = slab_get(s->waits, id & ~ID_TIME_WAIT);
        return w ? &w->flow : NULL;
    }
    struct conn *c = slab_get(s->conns, id);
    return c ? &c->flow : NULL;
}

void show_connection(struct stack *s, struct ctl_request *r, tick_t now)
{
    struct flow *f = find(s, r->id);
    if (f && r->max > 0)
        show_flow(&r->rows.connection[r->n++], s, f, now);
}

void reset_connection(struct stack *s, struct ctl_request *r, tick_t now)
{
    struct flow *f = find(s, r->id);
    if (!f)
        return;
    r->n = 1;
    if (f->kind == FLOW_CONN) {
        struct conn *c = conn_of_flow(f);
        tcp_kill(&c->tcp, now);
        conn_settle(c, now);
    } else {
        time_wait_end(s, time_wait_of_flow(f));
    }
}

void shutdown_session(struct stack *s, struct ctl_request *r, tick_t now)
{
    struct flow *f = find(s, r->id);
    struct session *x = f && f->kind == FLOW_CONN ? session_of(conn_of_flow(f)) : NULL;
    if (!x)
        return;
    r->n = 1;
    s->http.now = s->tcp.now = now;
    session_shutdown(x, TICK_NEVER, now);
}

static void show_listener(struct ctl_listener *row, const struct listener *l)
{
    *row = (struct ctl_listener){.addr = l->cfg.addr,
                                 .port = l->cfg.port,
                                 .service = l->cfg.service->name,
                                 .connections = l->connections,
                                 .half_open = l->half_open,
                                 .backlog = l->cfg.backlog,
                                 .accepted = l->accepted,
                                 .cookies = l->cookies,
                                 .refused = l->refused,
                                 .carrier = l->cfg.carrier == STACK_CARRIER_TCP ? "tcp" : "http2",
                                 .tls = l->cfg.tls,
                                 .handshakes = l->handshakes,
                                 .handshakes_refused = l->handshakes_refused};
    memcpy(row->name, l->cfg.name, sizeof(row->name));
}

void list_listeners(const struct stack *s, struct ctl_request *r)
{
    for (; r->cursor < s->n_listeners && r->n < r->max; r->cursor++)
        show_listener(&r->rows.listener[r->n++], s->listener[r->cursor]);
    r->more = r->cursor < s->n_listeners;
}
