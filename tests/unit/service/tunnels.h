/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_SERVICE_TUNNELS_H
#define MILLRACE_TESTS_SERVICE_TUNNELS_H

/*
 * The service `connect` between clients and targets that are the test, in virtual time: carriers
 * that keep what they are told, dials, questions and checks of passwords that wait for an answer.
 * For unit tests and for fuzzing, so what has to be true is said by need(), which the file that
 * includes this one defines first.
 */

#include <stdio.h>
#include <string.h>

#include "service/connect.h"
#include "support/heap.h"

#ifndef GOT_MAX
#define GOT_MAX (1u << 18) /* bytes that a party takes */
#endif
#define PARTIES   48u
#define QUESTIONS 32u
#define HIGH      1000u /* the marks of each stream */
#define LOW       400u

/* One side of a tunnel, client or target, and what it was told. */
struct party {
    struct http_stream http; /* of a target only its stream is used */
    bool live;               /* the stream is initialised */
    bool client;
    bool refuses; /* takes no head */
    uint32_t consumed;
    unsigned aborted;
    bool says_why; /* it was http_abort: */
    enum http_abort why;
    unsigned responses;
    uint16_t status;
    bool head_ends;
    char field[1024]; /* "name: value\n" ... */
    struct ip_addr to;
    struct ip_addr local;
    uint16_t port;
    uint32_t got;
    uint8_t bytes[GOT_MAX];
};

struct question {
    handle_t id;
    bool v6;
    char name[256];
    char password[256];
    struct ip_addr client;
};

/* What the log was told. */
struct last {
    unsigned n;
    struct tunnel_record r;
    char user[80];
    char authority[300];
    char listener[64];
};

struct tunnels {
    struct heap heap;
    struct mem mem;   /* the heap, until `chances` are used up */
    uint64_t chances; /* allocations that succeed */
    struct heap_pool pool;
    struct stream_ready ready;
    struct http_env env;
    struct http_peer peer;
    struct proxy *proxy;
    struct connect *connect;
    struct party party[PARTIES];
    unsigned n_parties;
    struct question asked[QUESTIONS]; /* names */
    unsigned n_asked;
    struct question verify[QUESTIONS]; /* passwords; name is the user's */
    unsigned n_verify;
    enum stream_code no_dial; /* a dial fails so; OK: it does not */
    bool busy;                /* no question is taken */
    bool no_v6;
    bool no_v4;
    struct ip_addr own;
    unsigned opened;
    struct last last;
    void (*connected)(void); /* runs when a target is; NULL: nobody asks */
};

static struct tunnels tn;

/* ---- memory ---- */

static void *tn_alloc(struct mem *mem, size_t size, size_t align)
{
    (void)mem;
    if (tn.chances == 0)
        return NULL;
    tn.chances--;
    return mem_alloc(&tn.heap.mem, size, align);
}

static void tn_free(struct mem *mem, void *block, size_t size)
{
    (void)mem;
    mem_free(&tn.heap.mem, block, size);
}

/* ---- carriers ---- */

static struct party *party_of(struct stream *s)
{
    return container_of(http_of(s), struct party, http);
}

static void party_consume(struct stream *s, uint32_t n)
{
    party_of(s)->consumed += n;
}

static void party_ready(struct stream *s)
{
    need(party_of(s)->live);
}

static void party_abort(struct stream *s)
{
    party_of(s)->aborted++;
}

static void party_abort_why(struct http_stream *s, enum http_abort why)
{
    struct party *p = party_of(&s->stream);
    p->says_why = true;
    p->why = why;
}

static bool party_respond(struct http_stream *s, const struct http_head *h, bool end)
{
    struct party *p = party_of(&s->stream);
    if (p->refuses)
        return false;
    p->responses++;
    p->status = h->status;
    p->head_ends = end;
    p->field[0] = 0;
    need(h->content_length == HTTP_LENGTH_NONE);
    for (uint32_t i = 0; i < h->n_fields; i++) {
        size_t used = strlen(p->field);
        const struct http_field *f = &h->field[i];
        snprintf(p->field + used, sizeof(p->field) - used, "%.*s: %.*s\n", (int)f->name.n,
                 f->name.p, (int)f->value.n, f->value.p);
    }
    return true;
}

static const struct stream_carrier party_carrier = {
    .consume = party_consume, .ready = party_ready, .abort = party_abort};
static const struct http_carrier party_http = {.abort = party_abort_why, .respond = party_respond};

static struct party *party_new(const struct stream_service *service)
{
    need(tn.n_parties < PARTIES);
    struct party *p = &tn.party[tn.n_parties++];
    memset(p, 0, offsetof(struct party, bytes));
    p->http = (struct http_stream){.http = &party_http, .peer = &tn.peer};
    stream_init(&p->http.stream, service, &party_carrier, &tn.ready, &tn.mem, 64);
    stream_set_marks(&p->http.stream, HIGH, LOW);
    p->live = true;
    return p;
}

/* ---- the environment ---- */

static struct stream *tn_dial(void *ctx, const struct ip_addr *to, uint16_t port,
                              const struct ip_addr *local, const struct stream_service *service,
                              void *user, tick_t now, enum stream_code *why)
{
    need(ctx == &tn && now == tn.env.now);
    *why = tn.no_dial;
    if (tn.no_dial)
        return NULL;
    struct party *p = party_new(service);
    p->http.stream.user = user;
    p->to = *to;
    p->port = port;
    p->local = *local;
    return &p->http.stream;
}

static bool tn_resolve(void *ctx, handle_t id, const char *name, bool v6,
                       const struct ip_addr *client)
{
    need(ctx == &tn && tn.n_asked < QUESTIONS);
    if (tn.busy)
        return false;
    struct question *q = &tn.asked[tn.n_asked++];
    *q = (struct question){.id = id, .v6 = v6, .client = *client};
    snprintf(q->name, sizeof(q->name), "%s", name);
    return true;
}

static bool tn_verify(void *ctx, handle_t id, const void *credentials, const char *user,
                      const char *password, const struct ip_addr *client)
{
    need(ctx == &tn && tn.n_verify < QUESTIONS);
    need(credentials == proxy_options(tn.peer.context)->credentials);
    if (tn.busy)
        return false;
    struct question *q = &tn.verify[tn.n_verify++];
    *q = (struct question){.id = id, .client = *client};
    snprintf(q->name, sizeof(q->name), "%s", user);
    snprintf(q->password, sizeof(q->password), "%s", password);
    return true;
}

static bool tn_own(void *ctx, const struct ip_addr *a)
{
    need(ctx == &tn);
    return ip_eq(a, &tn.own);
}

static bool tn_has_v6(void *ctx)
{
    need(ctx == &tn);
    return !tn.no_v6;
}

static bool tn_has_v4(void *ctx)
{
    need(ctx == &tn);
    return !tn.no_v4;
}

static void tn_opened(void *ctx)
{
    need(ctx == &tn);
    tn.opened++;
    if (tn.connected)
        tn.connected();
}

static void tn_ended(void *ctx, const struct tunnel_record *r)
{
    need(ctx == &tn);
    tn.last.n++;
    tn.last.r = *r;
    snprintf(tn.last.user, sizeof(tn.last.user), "%s", r->user);
    snprintf(tn.last.authority, sizeof(tn.last.authority), "%.*s", (int)r->authority.n,
             r->authority.p);
    snprintf(tn.last.listener, sizeof(tn.last.listener), "%s", r->peer->listener);
    tn.last.r.peer = NULL;
}

/* ---- the world ---- */

/* Whoever asks may go anywhere. */
static inline const struct proxy_rule *tn_any(void)
{
    static const struct proxy_rule any = {.allow = true};
    return &any;
}

static inline void tn_proxy(const struct proxy_options *o)
{
    enum proxy_error error;
    struct proxy_options with = *o;
    if (!with.name)
        with.name = "mill";
    if (!with.rule) {
        with.rule = tn_any();
        with.n_rules = 1;
    }
    tn.proxy = proxy_create(&tn.heap.mem, &with, NULL, &error);
    need(tn.proxy);
    proxy_enforce(tn.proxy);
    tn.peer.context = tn.proxy;
}

static inline void tn_connect(uint32_t max)
{
    struct connect_env e = {.mem = &tn.mem,
                            .max_tunnels = max,
                            .dial = tn_dial,
                            .resolve = tn_resolve,
                            .verify = tn_verify,
                            .own = tn_own,
                            .has_v6 = tn_has_v6,
                            .has_v4 = tn_has_v4,
                            .opened = tn_opened,
                            .ended = tn_ended,
                            .ctx = &tn,
                            .seed = "as it comes"};
    tn.connect = connect_create(&e, tn.env.now);
    tn.env.connect = tn.connect;
}

/* A worker without a proxy yet; time is not 0. */
static inline void tn_init(void)
{
    memset(&tn, 0, sizeof(tn));
    heap_init(&tn.heap);
    tn.mem = (struct mem){.alloc = tn_alloc, .free = tn_free};
    tn.chances = UINT64_MAX;
    heap_pool_init(&tn.pool, 16, 300);
    stream_ready_init(&tn.ready);
    http_env_init(&tn.env, &tn.heap.mem, &tn.pool.pool, 3);
    tn.env.now = 1000 * TICK_SEC;
    tn.peer = (struct http_peer){.env = &tn.env,
                                 .listener = "front",
                                 .addr = ip_from_v4(0x0b000001),
                                 .port = 5000,
                                 .protocol = "h2"};
}

static inline void tn_start(const struct proxy_options *o)
{
    tn_init();
    tn_proxy(o);
    tn_connect(0);
    need(tn.connect);
}

/* Services hear all that is new. */
static inline void tn_run(void)
{
    for (unsigned i = 0; i < 10000 && stream_ready_run(&tn.ready, 10, 3); i++)
        ;
    need(stream_ready_empty(&tn.ready));
}

/* Time goes on to `at`; timers fire when they are due. */
static inline void tn_until(tick_t at)
{
    need(at >= tn.env.now);
    tick_t due;
    unsigned fired = 0;
    while ((due = connect_deadline(tn.connect)) <= at) {
        need(++fired < 10000);
        if (due > tn.env.now)
            tn.env.now = due;
        connect_expire(tn.connect, tn.env.now);
        tn_run();
    }
    tn.env.now = at;
}

static inline void tn_later(tick_t span)
{
    tn_until(tn.env.now + span);
}

/* All is over, whatever its state was. */
static inline void tn_stop(void)
{
    for (unsigned i = 0; i < tn.n_parties; i++)
        if (tn.party[i].live)
            stream_fini(&tn.party[i].http.stream);
    connect_destroy(tn.connect);
    need(!tn.proxy || proxy_users(tn.proxy) == 0);
    proxy_destroy(tn.proxy);
    http_env_fini(&tn.env);
    need(tn.heap.blocks == 0 && tn.pool.held == 0);
}

/* ---- clients ---- */

static inline struct http_text tn_text(const char *p)
{
    return (struct http_text){p, (uint32_t)strlen(p)};
}

/* A request; login: the value of proxy-authorization, or NULL. Of what follows nobody hears yet. */
static inline struct party *tn_tell(const char *authority, struct http_text login, bool end)
{
    struct party *p = party_new(&service_connect.stream);
    p->client = true;
    struct http_field f = {.name = HTTP_TEXT("proxy-authorization"), .value = login};
    struct http_head h = {.method = HTTP_CONNECT,
                          .method_name = HTTP_TEXT("CONNECT"),
                          .authority = tn_text(authority),
                          .content_length = HTTP_LENGTH_NONE,
                          .field = &f,
                          .n_fields = login.p ? 1 : 0};
    http_tell_head(&p->http, &h, end, tn.env.now);
    return p;
}

static inline struct party *tn_ask(const char *authority, struct http_text login, bool end)
{
    struct party *p = tn_tell(authority, login, end);
    tn_run();
    return p;
}

static inline struct party *tn_client(const char *authority)
{
    return tn_ask(authority, (struct http_text){NULL, 0}, false);
}

/* ---- either ---- */

static inline bool party_over(const struct party *p)
{
    return stream_over(&p->http.stream);
}

static inline uint32_t party_queued(const struct party *p)
{
    return (uint32_t)vec_queue_bytes(&p->http.stream.out);
}

/* Has the service ended its direction towards p? */
static inline bool party_told_end(const struct party *p)
{
    return p->http.stream.bits & STREAM_OUT_END;
}

/* Services do not hear of it yet. */
static inline void party_puts(struct party *p, const void *bytes, size_t n, size_t view)
{
    stream_arrived(&p->http.stream, heap_pkt(&tn.pool, bytes, n, view));
}

static inline void party_sends(struct party *p, const char *text)
{
    party_puts(p, text, strlen(text), 0);
    tn_run();
}

static inline void party_ends(struct party *p)
{
    stream_arrived_end(&p->http.stream);
    tn_run();
}

static inline void party_opens(struct party *p)
{
    stream_opened(&p->http.stream);
    tn_run();
}

static inline void party_fails(struct party *p, enum stream_code why)
{
    stream_failed(&p->http.stream, why);
    tn_run();
}

/* p takes n bytes of what waits for it. */
static inline void party_takes(struct party *p, uint32_t n)
{
    need(n <= party_queued(p) && p->got + n <= GOT_MAX);
    vec_queue_flatten(&p->http.stream.out, 0, p->bytes + p->got, n);
    p->got += n;
    stream_acked(&p->http.stream, n);
    tn_run();
}

static inline void party_takes_all(struct party *p)
{
    for (unsigned i = 0; i < 10000 && party_queued(p) > 0; i++)
        party_takes(p, party_queued(p));
}

/* Both directions are done in order. */
static inline void party_finishes(struct party *p)
{
    party_takes_all(p);
    stream_finished(&p->http.stream);
    tn_run();
    need(party_over(p));
}

/* ---- answers ---- */

static inline struct ip_addr tn_v6(uint8_t last)
{
    return (struct ip_addr){{0x26, 0, [15] = last}};
}

static inline struct ip_addr tn_v4(uint8_t last)
{
    return ip_from_v4(0x0b000100u + last);
}

/* The newest question of that family. */
static inline const struct question *tn_question(bool v6)
{
    for (unsigned i = tn.n_asked; i-- > 0;)
        if (tn.asked[i].v6 == v6)
            return &tn.asked[i];
    need(false);
    return NULL;
}

/* It is answered with n addresses, ...1, ...2. */
static inline void tn_answers(bool v6, uint8_t n)
{
    struct connect_answer a = {.outcome = CONNECT_OK, .v6 = v6, .n = n};
    for (uint8_t i = 0; i < n; i++)
        a.addr[i] = v6 ? tn_v6((uint8_t)(i + 1)) : tn_v4((uint8_t)(i + 1));
    connect_resolved(tn.connect, tn_question(v6)->id, &a, tn.env.now);
    tn_run();
}

static inline void tn_answers_no(bool v6, enum connect_outcome o)
{
    struct connect_answer a = {.outcome = (uint8_t)o, .v6 = v6};
    connect_resolved(tn.connect, tn_question(v6)->id, &a, tn.env.now);
    tn_run();
}

static inline void tn_verified(enum connect_outcome o)
{
    need(tn.n_verify > 0);
    connect_verified(tn.connect, tn.verify[tn.n_verify - 1].id, o, tn.env.now);
    tn_run();
}

/* The newest party. */
static inline struct party *tn_newest(void)
{
    need(tn.n_parties > 0);
    return &tn.party[tn.n_parties - 1];
}

#endif
