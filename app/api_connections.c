/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /v1/connections and /v1/listeners. There may be a million connections, so unlike the tables of
 * api_stack.c this one is never read whole: a page goes on where the one before stopped, in the
 * worker's own order, and what has come meanwhile may be missed. A worker gives a few rows at a
 * time and turns between.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "app/api.h"

#define ASK_ROWS   128 /* of one request to a worker: some ten microseconds of its time */
#define PAGE_MS    500 /* then a page ends, however short it is: a filter may let nothing through */
#define PAGE_LIMIT 1000                      /* rows of a reply */
#define PAGE_MAX   10000                     /* that a client may ask for */
#define NAMES_MAX  (2 * STACK_LISTENERS_MAX) /* workers may differ while a reload is on its way */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Of IP. */
static const uint8_t protocol_numbers[] = {6};
static const char *const protocol_names[] = {"tcp"};

/* RFC 9293 3.3.2, those that a connection can be seen in. */
static const char *const states[] = {"syn-sent",   "syn-received", "established",
                                     "fin-wait-1", "fin-wait-2",   "close-wait",
                                     "closing",    "last-ack",     "time-wait"};

/* ---- one connection as JSON ---- */

static void set(json_t *row, const char *name, json_t *value)
{
    json_object_set_new(row, name, value);
}

static const char *protocol_name(uint8_t number)
{
    for (size_t i = 0; i < COUNT(protocol_numbers); i++)
        if (protocol_numbers[i] == number)
            return protocol_names[i];
    return "?";
}

static void set_identity(json_t *row, unsigned worker, const struct ctl_connection *k)
{
    char id[API_MARK_MAX];
    set(row, "id", json_string(api_mark(worker, k->id, id)));
    set(row, "worker", json_integer((json_int_t)worker));
    set(row, "protocol", json_string(protocol_name(k->protocol)));
    set(row, "state", json_string(k->state));
    set(row, "local_address", api_ip(&k->local));
    set(row, "local_port", json_integer(k->local_port));
    set(row, "remote_address", api_ip(&k->remote));
    set(row, "remote_port", json_integer(k->remote_port));
    set(row, "service", api_text(k->service));
    set(row, "listener", api_text(k->listener));
    set(row, "congestion", api_text(k->congestion));
    set(row, "recovery", api_text(k->recovery));
}

/* X(name, flag) */
#define FLAGS(X)                \
    X("passive", PASSIVE)       \
    X("from_cookie", COOKIE)    \
    X("timestamps", TIMESTAMPS) \
    X("sack", SACK)             \
    X("ecn", ECN)               \
    X("window_scaling", SCALED)

static void set_flags(json_t *row, const struct ctl_connection *k)
{
#define X(name, flag) set(row, name, json_boolean(k->flags &CTL_CONNECTION_##flag));
    FLAGS(X)
#undef X
}

static json_t *measured(tick_t t)
{
    return t ? api_seconds(t) : json_null();
}

static void set_times(json_t *row, const struct ctl_connection *k)
{
    set(row, "age_seconds", api_seconds(k->age));
    set(row, "idle_seconds", api_seconds(k->idle));
    set(row, "srtt_seconds", measured(k->srtt));
    set(row, "rttvar_seconds", measured(k->rttvar));
    set(row, "min_rtt_seconds", measured(k->min_rtt));
    set(row, "rto_seconds", measured(k->rto));
    set(row, "timer_seconds", api_seconds(k->timer));
}

/* X(member) */
#define BYTES(X)      \
    X(cwnd)           \
    X(mss)            \
    X(mss_peer)       \
    X(path_mtu)       \
    X(send_window)    \
    X(receive_window) \
    X(in_flight)      \
    X(lost)           \
    X(sacked)         \
    X(unsent)         \
    X(unread)         \
    X(reordered)      \
    X(memory)
#define NUMBERS(X)      \
    X(rx_bytes)         \
    X(tx_bytes)         \
    X(retransmit_bytes) \
    X(rx_segments)      \
    X(tx_segments)      \
    X(send_scale)       \
    X(receive_scale)    \
    X(backoff)

static void set_sizes(json_t *row, const struct ctl_connection *k)
{
#define X(member) set(row, #member "_bytes", api_u64(k->member));
    BYTES(X)
#undef X
#define X(member) set(row, #member, api_u64(k->member));
    NUMBERS(X)
#undef X
    set(row, "ssthresh_bytes", k->ssthresh == UINT32_MAX ? json_null() : api_u64(k->ssthresh));
    set(row, "pacing_bytes_per_second", k->pacing_rate ? api_u64(k->pacing_rate) : json_null());
}

static json_t *tls_json(const struct ctl_tls *tls)
{
    if (!tls->version)
        return json_null();
    bool open = *tls->version;
    return json_pack("{s:b, s:o, s:o, s:o, s:o, s:b}", "open", open, "version",
                     api_text(tls->version), "cipher", api_text(tls->cipher), "group",
                     api_text(tls->group), "server_name", api_text(tls->server_name), "resumed",
                     tls->resumed);
}

static json_t *http2_json(const struct ctl_http2 *h)
{
    if (!h->goaway)
        return json_null();
    json_t *row = json_object();
    set(row, "goaway", json_string(h->goaway));
    set(row, "drain_seconds", api_seconds(h->drain));
    set(row, "streams", api_u64(h->streams));
    set(row, "streams_total", api_u64(h->total_streams));
    set(row, "requests", api_u64(h->requests));
    set(row, "send_window_bytes", json_integer(h->send_window));
    set(row, "receive_window_bytes", json_integer(h->receive_window));
    set(row, "glitches", api_u64(h->glitches));
    set(row, "rx_frames", api_u64(h->rx_frames));
    set(row, "tx_frames", api_u64(h->tx_frames));
    set(row, "memory_bytes", api_u64(h->memory));
    set(row, "rx_header_table_bytes", api_u64(h->rx_header_table));
    set(row, "tx_header_table_bytes", api_u64(h->tx_header_table));
    return row;
}

static json_t *connection_json(unsigned worker, const struct ctl_connection *k)
{
    json_t *row = json_object();
    set_identity(row, worker, k);
    set_flags(row, k);
    set_times(row, k);
    set_sizes(row, k);
    set(row, "tls", tls_json(&k->tls));
    set(row, "http2", http2_json(&k->http2));
    return row;
}

/* ---- the list ---- */

struct page {
    unsigned worker, last; /* the next one to be asked; the last one */
    uint64_t cursor;       /* in that worker's table */
    uint64_t limit;
    struct ctl_connection_filter filter;
};

static bool which_filter(struct api_call *c, struct ctl_connection_filter *f)
{
    size_t protocol = SIZE_MAX;
    size_t state = SIZE_MAX;
    const char *listener = api_param(c, "listener");
    if (!api_choice(c, "protocol", protocol_names, COUNT(protocol_names), &protocol) ||
        !api_choice(c, "state", states, COUNT(states), &state))
        return false;
    if (protocol != SIZE_MAX)
        f->protocol = protocol_numbers[protocol];
    if (state != SIZE_MAX)
        strcpy(f->state, states[state]);
    if (!listener)
        return true;
    /* It need not be in the configuration: connections outlive their listener. */
    if (*listener && strlen(listener) < sizeof(f->listener)) {
        strcpy(f->listener, listener);
        return true;
    }
    api_fail(c, 400, "listener: '%.64s' is not a listener's name (1 to %zu characters)", listener,
             sizeof(f->listener) - 1);
    return false;
}

static bool which_page(struct api_call *c, struct page *p)
{
    const char *cursor = api_param(c, "cursor");
    unsigned first;
    *p = (struct page){.limit = PAGE_LIMIT};
    if (!api_which_workers(c, &first, &p->last) ||
        !api_number(c, "limit", 1, PAGE_MAX, &p->limit) || !which_filter(c, &p->filter))
        return false;
    p->worker = first;
    if (!cursor || (api_mark_parse(cursor, &p->worker, &p->cursor) && p->worker >= first &&
                    p->worker <= p->last))
        return true;
    api_fail(c, 400, "cursor: '%.64s' is not what 'next' of another page said", cursor);
    return false;
}

/* Some rows more, from the worker that is next. 0 or a runtime_error. */
static int ask_some(struct runtime *rt, struct page *p, json_t *list)
{
    struct ctl_connection row[ASK_ROWS];
    uint64_t room = p->limit - json_array_size(list);
    struct ctl_request r = {.kind = CTL_CONNECTIONS,
                            .rows.connection = row,
                            .max = room < ASK_ROWS ? (uint32_t)room : ASK_ROWS,
                            .cursor = p->cursor,
                            .filter = p->filter};
    int error = runtime_control(rt, p->worker, &r, API_WORKER_TIMEOUT_MS);
    if (error)
        return error;
    for (uint32_t i = 0; i < r.n; i++)
        json_array_append_new(list, connection_json(p->worker, &row[i]));
    p->cursor = r.more ? r.cursor : 0;
    p->worker += !r.more;
    return 0;
}

void api_connections(struct api_call *c)
{
    struct page p;
    char next[API_MARK_MAX];
    if (!which_page(c, &p))
        return;
    json_t *list = json_array();
    uint64_t until = api_now_ms() + PAGE_MS;
    do {
        int error = ask_some(c->rt, &p, list);
        if (error) {
            json_decref(list);
            api_fail_worker(c, p.worker, error);
            return;
        }
    } while (p.worker <= p.last && json_array_size(list) < p.limit && api_now_ms() < until);
    bool more = p.worker <= p.last;
    api_json(c, 200,
             json_pack("{s:o, s:s?}", "connections", list, "next",
                       more ? api_mark(p.worker, p.cursor, next) : NULL));
}

/* ---- one connection ---- */

/* Sends r about the connection, of that kind, which the path names. False: the reply is there. */
static bool ask_one(struct api_call *c, struct ctl_request *r, const char *kind, unsigned *worker)
{
    int error = 0;
    if (api_mark_parse(c->item, worker, &r->id) && *worker < runtime_workers(c->rt))
        error = runtime_control(c->rt, *worker, r, API_WORKER_TIMEOUT_MS);
    if (error)
        api_fail_worker(c, *worker, error);
    else if (r->n == 0)
        api_fail(c, 404, "no connection '%.64s'%s (any more); GET /v1/connections lists all",
                 c->item, kind);
    return !error && r->n > 0;
}

void api_connection(struct api_call *c)
{
    struct ctl_connection row;
    struct ctl_request r = {.kind = CTL_CONNECTION, .rows.connection = &row, .max = 1};
    unsigned worker;
    if (ask_one(c, &r, "", &worker))
        api_json(c, 200, json_pack("{s:o}", "connection", connection_json(worker, &row)));
}

void api_connection_reset(struct api_call *c)
{
    struct ctl_request r = {.kind = CTL_CONNECTION_RESET};
    unsigned worker;
    if (ask_one(c, &r, "", &worker))
        api_json(c, 200, json_pack("{s:s}", "reset", c->item));
}

/* The other side is told to open no more streams; those that are open go on. */
void api_connection_drain(struct api_call *c)
{
    struct ctl_request r = {.kind = CTL_SESSION_SHUTDOWN};
    unsigned worker;
    if (ask_one(c, &r, " of HTTP/2", &worker))
        api_json(c, 200, json_pack("{s:s}", "draining", c->item));
}

/* ---- listeners ---- */

struct listeners {
    struct ctl_listener row[NAMES_MAX];
    unsigned n;
};

/* Each worker has a listener of its own; its owner has one. */
static void merge_listener(struct listeners *all, const struct ctl_listener *one)
{
    unsigned i = 0;
    while (i < all->n && strcmp(all->row[i].name, one->name) != 0)
        i++;
    if (i == NAMES_MAX)
        return;
    struct ctl_listener *to = &all->row[i];
    if (i == all->n) {
        *to = *one;
        all->n++;
        return;
    }
    to->connections += one->connections;
    to->half_open += one->half_open;
    to->accepted += one->accepted;
    to->cookies += one->cookies;
    to->refused += one->refused;
    to->handshakes += one->handshakes;
    to->handshakes_refused += one->handshakes_refused;
}

static int ask_listeners(struct runtime *rt, unsigned worker, struct listeners *all)
{
    struct ctl_listener row[STACK_LISTENERS_MAX];
    struct ctl_request r = {
        .kind = CTL_LISTENERS, .rows.listener = row, .max = STACK_LISTENERS_MAX};
    int error = runtime_control(rt, worker, &r, API_WORKER_TIMEOUT_MS);
    for (uint32_t i = 0; !error && i < r.n; i++)
        merge_listener(all, &row[i]);
    return error;
}

static json_t *listener_json(const struct ctl_listener *l)
{
    json_t *row = json_object();
    set(row, "name", json_string(l->name));
    set(row, "protocol", api_text(l->carrier));
    set(row, "address", api_ip(&l->addr));
    set(row, "port", json_integer(l->port));
    set(row, "tls", json_boolean(l->tls));
    set(row, "service", json_string(l->service));
    set(row, "connections", api_u64(l->connections));
    set(row, "half_open", api_u64(l->half_open));
    set(row, "backlog_per_worker", api_u64(l->backlog));
    set(row, "accepted", api_u64(l->accepted));
    set(row, "cookies", api_u64(l->cookies));
    set(row, "refused", api_u64(l->refused));
    set(row, "handshakes", api_u64(l->handshakes));
    set(row, "handshakes_refused", api_u64(l->handshakes_refused));
    return row;
}

void api_listeners(struct api_call *c)
{
    unsigned first, last;
    struct listeners all = {.n = 0};
    if (!api_which_workers(c, &first, &last))
        return;
    for (unsigned w = first; w <= last; w++) {
        int error = ask_listeners(c->rt, w, &all);
        if (error) {
            api_fail_worker(c, w, error);
            return;
        }
    }
    json_t *list = json_array();
    for (unsigned i = 0; i < all.n; i++)
        json_array_append_new(list, listener_json(&all.row[i]));
    api_json(c, 200, json_pack("{s:o}", "listeners", list));
}
