/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding an address that answers (RFC 8305): both families are asked for at once; where the IPv4
 * answer comes first, IPv6 has RESOLUTION_DELAY to come, too (clause 3); addresses are dialled by
 * turns of the families, IPv6 first (clause 4), one each ATTEMPT_DELAY, or at once where the one
 * before has failed (clause 5). The first connection that opens is taken, the others are reset.
 */
#include "service/tunnel.h"

#define RESOLUTION_DELAY (50 * TICK_MS)
#define ATTEMPT_DELAY    (250 * TICK_MS)

/* Of two reasons why there is nothing to dial, the one that says more. */
static void note_why(struct search *f, enum tunnel_end why)
{
    static const uint8_t weight[TUNNEL_END_END] = {
        [TUNNEL_NO_NAME] = 1,    [TUNNEL_DNS_TIMEOUT] = 2,  [TUNNEL_DNS_ERROR] = 2,
        [TUNNEL_LIMIT] = 3,      [TUNNEL_NO_MEMORY] = 3,    [TUNNEL_DENIED] = 4,
        [TUNNEL_PROHIBITED] = 5, [TUNNEL_UNREACHABLE] = 6,  [TUNNEL_CONNECT_TIMEOUT] = 7,
        [TUNNEL_REFUSED] = 8,    [TUNNEL_TARGET_RESET] = 8,
    };
    if (weight[why] > weight[f->why])
        f->why = (uint8_t)why;
}

static struct dial *dial_of(struct search *f, const struct stream *s)
{
    for (unsigned i = 0; i < 2 * CONNECT_ADDRS_MAX; i++)
        if (f->dial[i].stream == s)
            return &f->dial[i];
    return NULL;
}

void search_end(struct tunnel *t)
{
    struct search *f = t->search;
    if (!f)
        return;
    for (unsigned i = 0; i < 2 * CONNECT_ADDRS_MAX; i++)
        if (f->dial[i].stream)
            stream_abort(f->dial[i].stream);
    mem_free(tunnel_mem(t), f, sizeof(*f));
    t->search = NULL;
}

/* ---- addresses ---- */

static void add(struct tunnel *t, const struct ip_addr *a, bool v6)
{
    struct connect *c = t->connect;
    struct search *f = t->search;
    bool own = proxy_stands_for(a, c->env.own, c->env.ctx); /* or a translator leads back to us */
    switch (proxy_check(t->proxy, t->user, &f->target, a, own, NULL)) {
    case PROXY_ALLOW:
        if (f->n[v6] < CONNECT_ADDRS_MAX)
            f->addr[v6][f->n[v6]++] = *a;
        break;
    case PROXY_PROHIBITED: note_why(f, TUNNEL_PROHIBITED); break;
    case PROXY_DENY: note_why(f, TUNNEL_DENIED); break;
    case PROXY_DEPENDS: assert(false && "the address is known"); break;
    }
}

static void ask(struct tunnel *t, bool v6)
{
    struct connect *c = t->connect;
    struct search *f = t->search;
    bool (*has)(void *ctx) = v6 ? c->env.has_v6 : c->env.has_v4;
    if (!has(c->env.ctx)) {
        note_why(f, TUNNEL_NO_NAME);
        return;
    }
    f->waits[v6] =
        c->env.resolve(c->env.ctx, slab_handle(c->tunnels, t), f->target.name, v6, &t->peer.addr);
    if (!f->waits[v6])
        note_why(f, TUNNEL_LIMIT);
}

void search_begin(struct tunnel *t)
{
    struct search *f = t->search;
    t->state = TUNNEL_STATE_RESOLVING;
    if (f->target.literal) {
        add(t, &f->target.addr, !ip_is_v4(&f->target.addr));
    } else {
        ask(t, true);
        ask(t, false);
    }
    search_look(t);
}

static enum tunnel_end end_of(enum connect_outcome o)
{
    switch (o) {
    case CONNECT_DNS_TIMEOUT: return TUNNEL_DNS_TIMEOUT;
    case CONNECT_DNS_ERROR: return TUNNEL_DNS_ERROR;
    case CONNECT_BUSY: return TUNNEL_LIMIT;
    default: return TUNNEL_NO_NAME;
    }
}

void search_hear(struct tunnel *t, const struct connect_answer *a)
{
    struct search *f = t->search;
    if (!f->waits[a->v6])
        return;
    f->waits[a->v6] = false;
    if (t->resolved == 0)
        t->resolved = tick_since(t->connect->now, t->began);
    if (a->outcome != CONNECT_OK || a->n == 0)
        note_why(f, end_of((enum connect_outcome)a->outcome));
    for (unsigned i = 0; i < a->n; i++)
        add(t, &a->addr[i], a->v6);
    f->heard_at = t->connect->now;
    search_look(t);
}

/* ---- dialling ---- */

static bool is_left(const struct search *f, bool v6)
{
    return f->tried[v6] < f->n[v6];
}

/* One is left. */
static const struct ip_addr *next_addr(struct search *f)
{
    bool v6 = f->begun ? !f->last : true;
    if (!is_left(f, v6))
        v6 = !v6;
    f->last = v6;
    f->begun = true;
    return &f->addr[v6][f->tried[v6]++];
}

static void dial(struct tunnel *t, const struct ip_addr *to)
{
    struct connect *c = t->connect;
    struct search *f = t->search;
    struct ip_addr local = IP_ADDR_ANY6;
    enum stream_code why = STREAM_NO_MEMORY;
    uint64_t hash = siphash24(&c->key[0], t->user, sizeof(t->user));
    proxy_egress(t->proxy, to, hash ^ slab_handle(c->tunnels, t), &local);
    struct dial *d = dial_of(f, NULL);
    assert(d && "as many as there are addresses");
    t->state = TUNNEL_STATE_CONNECTING;
    d->stream = c->env.dial(c->env.ctx, to, t->port, &local, &connect_dialled, t, c->now, &why);
    d->to = *to;
    if (d->stream)
        f->n_dials++;
    else
        note_why(f, why == STREAM_UNREACHABLE ? TUNNEL_UNREACHABLE : TUNNEL_LIMIT);
}

static bool is_any_left(const struct search *f)
{
    return is_left(f, false) || is_left(f, true);
}

/* When the next address is due. */
static tick_t next_at(const struct search *f, tick_t now)
{
    if (!is_any_left(f))
        return TICK_NEVER;
    if (f->begun)
        return f->n_dials == 0 ? now : tick_after(f->dialled_at, ATTEMPT_DELAY);
    bool wait = f->waits[1] && !is_left(f, true);
    return wait ? tick_after(f->heard_at, RESOLUTION_DELAY) : now;
}

void search_look(struct tunnel *t)
{
    struct search *f = t->search;
    tick_t now = t->connect->now;
    while ((f->next_at = next_at(f, now)) <= now) {
        f->dialled_at = now;
        dial(t, next_addr(f));
    }
    bool under_way = f->n_dials > 0 || f->waits[0] || f->waits[1];
    if (!under_way && !is_any_left(f))
        tunnel_refuse(t, f->why ? f->why : TUNNEL_NO_NAME);
}

/* ---- connections under way ---- */

static void dialled_opened(struct stream *s)
{
    struct tunnel *t = s->user;
    struct dial *d = dial_of(t->search, s);
    assert(d && "one of its own");
    tunnel_enter(t);
    t->addr = d->to;
    d->stream = NULL;
    search_end(t);
    relay_begin(t, s);
    tunnel_settle(t);
}

static void dialled_reset(struct stream *s, enum stream_code code)
{
    static const uint8_t end[STREAM_CODE_END] = {
        [STREAM_RESET] = TUNNEL_REFUSED,           [STREAM_REFUSED] = TUNNEL_REFUSED,
        [STREAM_UNREACHABLE] = TUNNEL_UNREACHABLE, [STREAM_TIMEOUT] = TUNNEL_CONNECT_TIMEOUT,
        [STREAM_KILLED] = TUNNEL_TARGET_RESET,     [STREAM_NO_MEMORY] = TUNNEL_NO_MEMORY};
    struct tunnel *t = s->user;
    struct dial *d = dial_of(t->search, s);
    assert(d && "one of its own");
    tunnel_enter(t);
    d->stream = NULL;
    t->search->n_dials--;
    note_why(t->search, end[code]);
    t->search->dialled_at = 0; /* the next is due at once */
    search_look(t);
    tunnel_settle(t);
}

static void dialled_data(struct stream *s, struct pkt *view, bool end)
{
    (void)s;
    (void)end;
    pkt_free(view);
    assert(false && "it opens before anything else is told, and has another service then");
}

const struct stream_service connect_dialled = {
    .name = "connect", .opened = dialled_opened, .data = dialled_data, .reset = dialled_reset};
