/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/session.h"

/* What is done in one sessions_serve, so that others get their turn. */
#define READ_SESSIONS   64
#define WRITE_SESSIONS  64
#define SERVE_STREAMS   256
#define SERVE_VIEWS     16
#define HANDSHAKE_STEPS 4

#define TICKET_LIFETIME (3600 * TICK_SEC)

/* Of a stack and of the sessions that began with them. */
struct session_settings {
    struct h2_settings h2;
    uint32_t users;
};

static struct stream *stream_of(const struct session *x)
{
    return &x->conn->tcp.stream;
}

static struct session *user_of(const struct stream *s)
{
    return s->user;
}

struct session *session_of(const struct conn *c)
{
    return c->tcp.stream.service == &session_service ? user_of(&c->tcp.stream) : NULL;
}

/* Settings */

static void settings_leave(struct stack *s, struct session_settings *settings)
{
    if (settings && --settings->users == 0)
        mem_free(s->env.mem, settings, sizeof(*settings));
}

static struct session_settings *settings_make(struct stack *s, const struct h2_settings *h2)
{
    struct session_settings *settings =
        mem_alloc(s->env.mem, sizeof(*settings), _Alignof(struct session_settings));
    if (settings)
        *settings = (struct session_settings){.h2 = *h2, .users = 1};
    return settings;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

bool sessions_prepare(struct stack *s, const struct h2_settings *settings,
                      struct sessions_change *change)
{
    uint32_t fields = larger(settings->header_fields, s->sessions.header_fields);
    uint32_t list = larger(settings->header_list, s->sessions.header_list);
    *change = (struct sessions_change){.settings = settings_make(s, settings)};
    if (!change->settings)
        return false;
    if (fields == s->sessions.header_fields && list == s->sessions.header_list)
        return true;
    change->larger = h2_fields_init(&change->fields, s->env.mem, fields, list);
    if (!change->larger)
        settings_leave(s, change->settings);
    return change->larger;
}

void sessions_cancel(struct stack *s, struct sessions_change *change)
{
    if (change->larger)
        h2_fields_fini(&change->fields, s->env.mem);
    settings_leave(s, change->settings);
}

void sessions_take(struct stack *s, struct sessions_change *change)
{
    struct sessions *all = &s->sessions;
    const struct h2_settings *h2 = &change->settings->h2;
    if (change->larger) {
        h2_fields_fini(&s->h2.fields, s->env.mem);
        s->h2.fields = change->fields;
        s->h2.memo.from = NULL; /* its head was in those before */
        all->header_fields = larger(all->header_fields, h2->header_fields);
        all->header_list = larger(all->header_list, h2->header_list);
    }
    settings_leave(s, all->settings);
    all->settings = change->settings;
}

static void see_context(struct session *x)
{
    const struct stack_listener *cfg = &x->listener->cfg;
    if (x->peer.context == cfg->context || x->service != http_service_of(cfg->service))
        return;
    cfg->context_hold(cfg->context, x->stack->worker);
    x->context_release(x->peer.context, x->stack->worker);
    x->peer.context = cfg->context;
    x->context_release = cfg->context_release;
}

void sessions_see_contexts(struct stack *s)
{
    uint32_t cursor = 0;
    struct session *x;
    while ((x = slab_next(s->sessions.slab, &cursor)))
        if (x->peer.context && x->listener->cfg.context)
            see_context(x);
}

/* Lists */

void session_wants_reading(struct session *x)
{
    struct sessions *all = &x->stack->sessions;
    if (!list_linked(&x->reading))
        list_push_back(x->phase == SESSION_HANDSHAKE ? &all->handshakes : &all->reading,
                       &x->reading);
}

void session_wants_writing(struct session *x)
{
    if (!list_linked(&x->writing))
        list_push_back(&x->stack->sessions.writing, &x->writing);
}

static void on_wake(struct h2_conn *h2)
{
    session_wants_writing(container_of(h2, struct session, h2));
}

void session_sent(struct conn *c)
{
    struct session *x = session_of(c);
    if (x && !list_linked(&x->writing) && session_can_write(x))
        session_wants_writing(x);
}

/* Life */

/* What is free of references to the connection, or has none any more. */
static void session_free(struct session *x)
{
    struct stack *s = x->stack;
    struct listener *l = x->listener;
    handshake_leave(x);
    wheel_cancel(&s->wheel, &x->timer);
    list_remove(&x->reading);
    list_remove(&x->writing);
    if (x->begun)
        h2_conn_fini(&x->h2);
    if (x->secure)
        tls_conn_fini(&x->tls);
    session_drop_input(x);
    mem_free(s->env.mem, x->user, x->user ? strlen(x->user) + 1 : 0);
    mem_free(s->env.mem, x->held, x->held_len);
    s->tcp.memory -= x->charged;
    if (x->peer.context)
        x->context_release(x->peer.context, s->worker);
    settings_leave(s, x->settings);
    s->sessions.drained -= x->drain;
    slab_free(s->sessions.slab, x);
    l->sessions--;
    listener_tidy(s, l);
}

/* TCP is over for it. Whoever still has to hear of that is the only reason to live on. */
static void lose(struct session *x, enum stream_code code, tick_t now)
{
    x->conn->tcp.stream.user = NULL;
    x->conn = NULL;
    x->phase = SESSION_LOST;
    handshake_leave(x);
    wheel_cancel(&x->stack->wheel, &x->timer);
    list_remove(&x->reading);
    session_drop_input(x);
    if (x->begun)
        h2_failed(&x->h2, code, now);
    session_wants_writing(x);
}

void session_abort(struct session *x, enum stream_code code, tick_t now)
{
    struct stream *s = stream_of(x);
    lose(x, code, now);
    stream_abort(s);
}

bool session_begin(struct session *x, tick_t now)
{
    struct stack *s = x->stack;
    if (!h2_accept(&x->h2, &s->h2, &x->settings->h2, x->service, &x->peer, now))
        return false;
    h2_schedule(&x->h2, x->listener->cfg.scheduler);
    x->begun = true;
    x->phase = SESSION_OPEN;
    if (x->drain || s->sessions.draining)
        session_shutdown(x, s->sessions.drain_by, now);
    session_wants_writing(x);
    return true;
}

void session_shutdown(struct session *x, tick_t by, tick_t now)
{
    x->stack->sessions.drained += !x->drain;
    x->drain = true;
    if (x->phase != SESSION_OPEN)
        return;
    if (by == TICK_NEVER || by <= now)
        h2_shutdown(&x->h2, now);
    else
        h2_shutdown_by(&x->h2, by, now);
    session_wants_writing(x);
}

static bool start(struct session *x, tick_t now)
{
    const struct stack_listener *cfg = &x->listener->cfg;
    if (!cfg->tls)
        return session_begin(x, now);
    /* First what costs little, for a flood of them. */
    if (!handshake_enter(x, now) || !tls_accept(&x->tls, &x->stack->tls, cfg->tls, now))
        return false;
    x->secure = true;
    x->handshake_at = tick_after(now, cfg->handshake_timeout);
    wheel_arm(&x->stack->wheel, &x->timer, x->handshake_at);
    return true;
}

static void fire(struct timer *t, tick_t now);

/* NULL: no memory, or at the bound. */
static struct session *make(struct conn *c, const struct http_service *service)
{
    struct stack *s = stack_of(c);
    struct listener *l = c->listener;
    handle_t handle;
    struct session *x = slab_alloc(s->sessions.slab, &handle);
    if (!x)
        return NULL;
    x->stack = s;
    x->conn = c;
    x->listener = l;
    x->service = service;
    x->settings = s->sessions.settings;
    x->settings->users++;
    x->peer = (struct http_peer){.env = &s->http,
                                 .context = l->cfg.context,
                                 .listener = l->cfg.name,
                                 .addr = c->flow.key.remote,
                                 .port = c->flow.key.remote_port,
                                 .protocol = "h2",
                                 .connection = slab_handle(s->conns, c)};
    list_init(&x->reading);
    list_init(&x->writing);
    list_init(&x->place);
    timer_init(&x->timer, fire);
    if (l->cfg.context)
        l->cfg.context_hold(l->cfg.context, s->worker);
    x->context_release = l->cfg.context_release;
    l->sessions++;
    return x;
}

/* What TCP tells */

static void on_opened(struct stream *stream)
{
    struct conn *c = conn_of(container_of(stream, struct tcp_conn, stream));
    tick_t now = c->tcp.tcp->now;
    /* Its listener may have become another's since its SYN. */
    const struct http_service *service = http_service_of(c->listener->cfg.service);
    struct session *x = service ? make(c, service) : NULL;
    if (!x) {
        stream_abort(stream);
        return;
    }
    stream->user = x;
    if (!start(x, now))
        session_abort(x, STREAM_REFUSED, now);
}

static void on_data(struct stream *stream, struct pkt *view, bool end)
{
    session_arrived(user_of(stream), view, end);
}

static void on_writable(struct stream *stream)
{
    session_wants_writing(user_of(stream));
}

static void on_ended(struct stream *stream)
{
    struct session *x = user_of(stream);
    lose(x, STREAM_RESET, x->stack->tcp.now);
}

static void on_reset(struct stream *stream, enum stream_code code)
{
    struct session *x = user_of(stream);
    lose(x, code, x->stack->tcp.now);
}

const struct stream_service session_service = {.name = "session",
                                               .opened = on_opened,
                                               .data = on_data,
                                               .writable = on_writable,
                                               .ended = on_ended,
                                               .reset = on_reset};

/* A connection without its session waits for the other side's end. */

static void on_late_data(struct stream *stream, struct pkt *view, bool end)
{
    (void)end;
    pkt_free(view);
    stream_consume(stream, stream_unconsumed(stream));
}

static const struct stream_service closing_service = {.name = "closing", .data = on_late_data};

static void leave(struct conn *c)
{
    c->tcp.stream.service = &closing_service;
    c->tcp.stream.user = NULL;
}

/* Timers */

static void fire(struct timer *t, tick_t now)
{
    struct session *x = container_of(t, struct session, timer);
    x->stack->http.now = x->stack->tcp.now = now;
    assert(x->phase < SESSION_CLOSING && "what ends it stops the timer");
    if (x->phase == SESSION_HANDSHAKE) {
        counter_add(x->stack->counters, COUNTER_TLS_TIMED_OUT, 1);
        session_abort(x, STREAM_TIMEOUT, now);
        return;
    }
    h2_expire(&x->h2, now);
    if ((x->h2.flags & H2_CONN_FAILED) && (x->h2.flags & H2_CONN_ENDED))
        session_abort(x, STREAM_TIMEOUT, now); /* its last words did not leave in time */
    session_wants_writing(x);
}

static tick_t deadline(const struct session *x)
{
    switch (x->phase) {
    case SESSION_HANDSHAKE: return x->handshake_at;
    case SESSION_OPEN: return h2_deadline(&x->h2);
    default: return TICK_NEVER;
    }
}

/* Turns */

static void charge(struct session *x)
{
    uint32_t cost = x->held_len + pkt_cost(x->in);
    if (x->begun)
        cost += h2_cost(&x->h2);
    if (x->secure)
        cost += tls_cost(&x->tls);
    x->stack->tcp.memory += cost;
    x->stack->tcp.memory -= x->charged;
    x->charged = cost;
}

/* Has everybody heard that it is at its end? HTTP/2 frees those that have when it is asked for
 * output, of which there is none any more. */
static bool is_over(struct session *x, tick_t now)
{
    if (x->phase < SESSION_CLOSING)
        return false;
    if (!x->begun)
        return true;
    h2_output(&x->h2, x->stack->sessions.scratch, TLS_RECORD_MAX, now);
    return h2_is_over(&x->h2);
}

/* What follows from its state, after whatever was done to it. It may be gone afterwards. */
static void settle(struct session *x, tick_t now)
{
    if (x->phase == SESSION_OPEN && h2_is_done(&x->h2) && !x->held)
        session_end(x, now);
    if (is_over(x, now)) {
        if (x->conn)
            leave(x->conn);
        session_free(x);
        return;
    }
    charge(x);
    wheel_arm(&x->stack->wheel, &x->timer, deadline(x));
    if (session_can_read(x))
        session_wants_reading(x);
    /* One that is over for TCP has yet to be heard of. */
    if (x->phase >= SESSION_CLOSING || session_can_write(x))
        session_wants_writing(x);
}

static void read_some(struct list *from, unsigned most, tick_t now)
{
    for (; most > 0 && !list_empty(from); most--) {
        struct session *x = container_of(list_first(from), struct session, reading);
        list_remove(&x->reading);
        if (session_can_read(x))
            session_read(x, now);
        session_wants_writing(x);
    }
}

/* Those that join meanwhile have their turn in the next call. */
static void write_some(struct stack *s, tick_t now)
{
    struct list turn;
    list_init(&turn);
    list_splice_back(&turn, &s->sessions.writing);
    for (unsigned n = 0; n < WRITE_SESSIONS && !list_empty(&turn); n++) {
        struct session *x = container_of(list_first(&turn), struct session, writing);
        list_remove(&x->writing);
        if (x->conn && x->phase != SESSION_CLOSING)
            session_write(x, now);
        settle(x, now);
    }
    list_splice_back(&turn, &s->sessions.writing);
    list_splice_back(&s->sessions.writing, &turn);
}

/* What has come with the last step is read in this turn, too: one packet then carries tickets,
 * SETTINGS and the first answer. */
static void do_handshakes(struct stack *s, tick_t now)
{
    struct sessions *all = &s->sessions;
    for (; all->steps > 0 && !list_empty(&all->handshakes); all->steps--) {
        struct session *x = container_of(list_first(&all->handshakes), struct session, reading);
        read_some(&all->handshakes, 1, now);
        if (x->phase == SESSION_OPEN && session_can_read(x))
            session_wants_reading(x);
    }
}

/* Well before new connections are refused, see tcp_full. */
static uint64_t memory_to_spare(const struct tcp *t)
{
    uint64_t most = t->memory_max / 8 * 5;
    return t->memory < most ? most - t->memory : 0;
}

void sessions_serve(struct stack *s, tick_t now)
{
    if (!sessions_pending(s))
        return;
    s->http.now = now;
    s->h2.spare = memory_to_spare(&s->tcp);
    do_handshakes(s, now);
    read_some(&s->sessions.reading, READ_SESSIONS, now);
    if (!stream_ready_empty(&s->h2.ready))
        stream_ready_run(&s->h2.ready, SERVE_STREAMS, SERVE_VIEWS);
    write_some(s, now);
}

bool sessions_pending(const struct stack *s)
{
    const struct sessions *all = &s->sessions;
    return (all->steps > 0 && !list_empty(&all->handshakes)) || !list_empty(&all->reading) ||
           !list_empty(&all->writing) || !stream_ready_empty(&s->h2.ready);
}

void sessions_next_turn(struct stack *s)
{
    s->sessions.steps = HANDSHAKE_STEPS;
}

/* Of the stack */

static bool create_parts(struct stack *s, const struct h2_settings *settings)
{
    struct sessions *all = &s->sessions;
    all->slab = slab_create(s->env.mem, sizeof(struct session), 64, s->limits.flows);
    all->scratch = mem_alloc(s->env.mem, TLS_RECORD_MAX, 64);
    all->settings = settings_make(s, settings);
    return all->slab && all->scratch && all->settings;
}

bool sessions_create(struct stack *s, const struct h2_settings *settings, tick_t lifetime,
                     tick_t now)
{
    struct sessions *all = &s->sessions;
    s->http = (struct http_env){.mem = s->env.mem,
                                .pool = s->env.pool,
                                .worker = s->worker,
                                .now = now,
                                .ctx = s->env.ctx,
                                .connect = s->env.connect};
    list_init(&all->handshakes);
    list_init(&all->reading);
    list_init(&all->writing);
    sessions_next_turn(s);
    all->header_fields = settings->header_fields;
    all->header_list = settings->header_list;
    if (!create_parts(s, settings))
        return false;
    all->tls_ready = tls_init(&s->tls, s->env.pool, s->counters, s->env.seed,
                              lifetime ? lifetime : TICKET_LIFETIME, now);
    all->h2_ready = h2_init(&s->h2, &s->http, s->counters, s->limits.streams, settings, on_wake);
    return all->tls_ready && all->h2_ready;
}

void sessions_fini(struct stack *s)
{
    struct sessions *all = &s->sessions;
    uint32_t cursor = 0;
    struct session *x;
    while (all->slab && (x = slab_next(all->slab, &cursor)))
        session_free(x);
    if (all->h2_ready)
        h2_fini(&s->h2);
    if (all->tls_ready)
        tls_fini(&s->tls);
    settings_leave(s, all->settings);
    mem_free(s->env.mem, all->scratch, TLS_RECORD_MAX);
    slab_destroy(all->slab);
}

void sessions_shutdown(struct stack *s, struct ctl_request *r, tick_t now)
{
    uint32_t cursor = (uint32_t)r->cursor;
    struct session *x = NULL;
    s->http.now = s->tcp.now = now;
    if (r->max > 0)
        s->sessions.drain_by = tick_after(now, r->patience);
    for (uint32_t i = 0; i < r->max && (x = slab_next(s->sessions.slab, &cursor)); i++)
        session_shutdown(x, s->sessions.drain_by, now);
    r->cursor = cursor;
    r->more = x;
    r->n = s->sessions.drained;
}

void stack_shutdown(struct stack *s, tick_t by, tick_t now)
{
    uint32_t cursor = 0;
    struct session *x;
    s->http.now = s->tcp.now = now;
    s->sessions.draining = true;
    s->sessions.drain_by = by;
    while ((x = slab_next(s->sessions.slab, &cursor)))
        session_shutdown(x, by, now);
}
