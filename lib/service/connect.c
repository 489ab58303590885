/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "service/tunnel.h"

#define TUNNELS_DEFAULT 65536u

const char *tunnel_end_name(enum tunnel_end e)
{
    static const char *const name[] = {
#define X(id, name, error, status) name,
        TUNNEL_ENDS(X)
#undef X
    };
    assert(e < TUNNEL_END_END);
    return name[e];
}

const char *tunnel_state_name(enum tunnel_state s)
{
    static const char *const name[] = {
#define X(id, name) name,
        TUNNEL_STATES(X)
#undef X
    };
    assert(s < TUNNEL_STATE_END);
    return name[s];
}

/* ---- the worker's ---- */

static void set_keys(struct connect *c)
{
    static const uint8_t which[2] = {1, 2};
    struct siphash_key seed;
    memcpy(&seed, c->env.seed, sizeof(seed));
    for (unsigned i = 0; i < 2; i++) {
        uint64_t half[2];
        for (uint8_t k = 0; k < 2; k++) {
            uint8_t text[2] = {which[i], k};
            half[k] = siphash24(&seed, text, sizeof(text));
        }
        memcpy(&c->key[i], half, sizeof(c->key[i]));
    }
}

struct connect *connect_create(const struct connect_env *env, tick_t now)
{
    struct connect *c = mem_alloc(env->mem, sizeof(*c), _Alignof(struct connect));
    if (!c)
        return NULL;
    c->env = *env;
    c->now = now;
    wheel_init(&c->wheel, now);
    set_keys(c);
    uint32_t max = env->max_tunnels ? env->max_tunnels : TUNNELS_DEFAULT;
    list_init(&c->checks);
    c->tunnels = slab_create(env->mem, sizeof(struct tunnel), _Alignof(struct tunnel), max);
    c->checking = slab_create(env->mem, sizeof(struct check), _Alignof(struct check), CHECKS);
    c->login = mem_alloc(env->mem, LOGINS * sizeof(*c->login), _Alignof(struct login));
    if (c->tunnels && c->checking && c->login)
        return c;
    connect_destroy(c);
    return NULL;
}

static void tunnel_free(struct tunnel *t)
{
    struct connect *c = t->connect;
    struct mem *mem = c->env.mem;
    wheel_cancel(&c->wheel, &t->timer);
    list_remove(&t->waiting);
    mem_free(mem, t->search, sizeof(*t->search));
    mem_free(mem, t->authority, t->authority_n);
    pkt_free(t->late);
    if (t->account) {
        if (t->allowance > 0)
            proxy_give_back(t->account, (uint32_t)t->allowance);
        proxy_close(t->account);
    }
    proxy_release(t->proxy, t->worker);
    slab_free(c->tunnels, t);
}

void connect_destroy(struct connect *c)
{
    if (!c)
        return;
    uint32_t cursor = 0;
    struct tunnel *t;
    while (c->tunnels && (t = slab_next(c->tunnels, &cursor)))
        tunnel_free(t);
    slab_destroy(c->tunnels);
    slab_destroy(c->checking);
    mem_free(c->env.mem, c->login, LOGINS * sizeof(*c->login));
    mem_free(c->env.mem, c, sizeof(*c));
}

void connect_forget(struct connect *c)
{
    memset(c->login, 0, LOGINS * sizeof(*c->login));
    c->forgotten++;
}

/* ---- a tunnel ---- */

static void on_timer(struct timer *timer, tick_t now);

/* False: no memory. */
static bool add_parts(struct tunnel *t, const struct http_head *h,
                      const struct proxy_target *target)
{
    struct mem *mem = tunnel_mem(t);
    t->authority_n = h->authority.n;
    t->search = mem_alloc(mem, sizeof(*t->search), _Alignof(struct search));
    t->authority = mem_alloc(mem, t->authority_n, 1);
    if (!t->search || !t->authority)
        return false;
    memcpy(t->authority, h->authority.p, t->authority_n);
    t->search->target = *target;
    t->search->next_at = TICK_NEVER;
    t->port = target->port;
    return true;
}

struct tunnel *tunnel_create(struct connect *c, struct http_stream *s, const struct http_head *h,
                             const struct proxy_target *target)
{
    handle_t handle;
    struct tunnel *t = slab_alloc(c->tunnels, &handle);
    if (!t)
        return NULL;
    t->connect = c;
    t->client = s;
    t->peer = *s->peer;
    tunnel_copy_text(t->listener, t->peer.listener, sizeof(t->listener));
    t->peer.listener = t->listener;
    t->proxy = t->peer.context;
    t->worker = t->peer.env->worker;
    proxy_hold(t->proxy, t->worker);
    t->began = t->active = c->now;
    timer_init(&t->timer, on_timer);
    list_init(&t->waiting);
    if (add_parts(t, h, target))
        return t;
    tunnel_free(t);
    return NULL;
}

void tunnel_ends(struct tunnel *t, enum tunnel_end why)
{
    if (t->end == TUNNEL_DONE)
        t->end = (uint8_t)why;
}

static tick_t after(tick_t from, tick_t span)
{
    return span ? tick_after(from, span) : TICK_NEVER;
}

/* One direction of two, for good. */
static bool is_half(const struct tunnel *t)
{
    return t->client_ended || t->target_ended || !t->client || !t->target;
}

static tick_t idle_at(const struct tunnel *t)
{
    const struct proxy_options *o = tunnel_options(t);
    return after(t->active, is_half(t) ? o->half_open_timeout : o->idle_timeout);
}

static tick_t deadline(const struct tunnel *t)
{
    const struct proxy_options *o = tunnel_options(t);
    if (t->state < TUNNEL_STATE_OPEN)
        return tick_min(after(t->began, o->connect_timeout),
                        t->search ? t->search->next_at : TICK_NEVER);
    tick_t first = tick_min(idle_at(t), after(t->began, o->lifetime));
    return t->paused ? tick_min(first, t->resume_at) : first;
}

static void fill(const struct tunnel *t, struct tunnel_record *r, tick_t now)
{
    *r = (struct tunnel_record){
        .id = slab_handle(t->connect->tunnels, t),
        .peer = &t->peer,
        .proxy = tunnel_options(t)->name,
        .user = t->user,
        .authority = {t->authority, t->authority_n},
        .target = t->addr,
        .port = t->port,
        .state = t->state,
        .end = t->end,
        .status = t->status,
        .to_target = t->to_target,
        .to_client = t->to_client,
        .began = t->began,
        .resolved = t->resolved,
        .connected = t->connected,
        .took = tick_since(now, t->began),
    };
}

static bool is_over(const struct tunnel *t)
{
    return !t->client && !t->target && !t->search;
}

void tunnel_settle(struct tunnel *t)
{
    struct connect *c = t->connect;
    if (!is_over(t)) {
        tick_t at = deadline(t);
        /* Put off when it fires; only what comes earlier is armed. */
        if (!timer_armed(&t->timer) || at < t->timer.when)
            wheel_arm(&c->wheel, &t->timer, at);
        return;
    }
    if (c->env.ended) {
        struct tunnel_record r;
        fill(t, &r, c->now);
        c->env.ended(c->env.ctx, &r);
    }
    tunnel_free(t);
}

/* ---- timers ---- */

/* What has taken too long? */
static enum tunnel_end late_end(const struct tunnel *t)
{
    if (t->state == TUNNEL_STATE_VERIFYING)
        return TUNNEL_LIMIT;
    return t->search && t->search->n_dials == 0 ? TUNNEL_DNS_TIMEOUT : TUNNEL_CONNECT_TIMEOUT;
}

static void expire_search(struct tunnel *t)
{
    if (tick_since(t->connect->now, t->began) >= tunnel_options(t)->connect_timeout)
        tunnel_refuse(t, late_end(t));
    else if (t->search)
        search_look(t);
}

static void expire_open(struct tunnel *t)
{
    tick_t now = t->connect->now;
    if (after(t->began, tunnel_options(t)->lifetime) <= now)
        relay_cut(t, TUNNEL_LIFETIME);
    else if (idle_at(t) <= now)
        relay_cut(t, is_half(t) ? TUNNEL_HALF_OPEN : TUNNEL_IDLE);
    else if (t->paused && t->resume_at <= now)
        relay_resume(t);
}

static void on_timer(struct timer *timer, tick_t now)
{
    struct tunnel *t = container_of(timer, struct tunnel, timer);
    (void)now; /* connect_expire has set it */
    if (t->state < TUNNEL_STATE_OPEN)
        expire_search(t);
    else
        expire_open(t);
    tunnel_settle(t);
}

tick_t connect_deadline(const struct connect *c)
{
    return wheel_next(&c->wheel);
}

void connect_expire(struct connect *c, tick_t now)
{
    c->now = now;
    wheel_expire(&c->wheel, now);
}

/* ---- answers ---- */

void connect_resolved(struct connect *c, handle_t id, const struct connect_answer *a, tick_t now)
{
    struct tunnel *t = slab_get(c->tunnels, id);
    c->now = now;
    if (!t || !t->search)
        return;
    search_hear(t, a);
    tunnel_settle(t);
}

/* ---- for those who look ---- */

uint32_t connect_tunnels(const struct connect *c)
{
    return slab_live(c->tunnels);
}

void connect_list(const struct connect *c, uint32_t *cursor,
                  bool (*each)(void *ctx, const struct tunnel_record *r), void *ctx, tick_t now)
{
    uint32_t at = *cursor;
    const struct tunnel *t;
    while ((t = slab_next(c->tunnels, cursor))) {
        struct tunnel_record r;
        fill(t, &r, now);
        if (!each(ctx, &r)) {
            *cursor = at;
            return;
        }
        at = *cursor;
    }
    *cursor = UINT32_MAX;
}

bool connect_kill(struct connect *c, uint64_t id, tick_t now)
{
    struct tunnel *t = slab_get(c->tunnels, id);
    c->now = now;
    if (!t)
        return false;
    relay_cut(t, TUNNEL_KILLED);
    tunnel_settle(t);
    return true;
}
