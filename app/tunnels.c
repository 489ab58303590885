/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/tunnels.h"

#include <string.h>

#include "app/worker.h"

#define LOOKED 256 /* tunnels, by one request: some ten microseconds */

static struct stream *dial(void *ctx, const struct ip_addr *to, uint16_t port,
                           const struct ip_addr *local, const struct stream_service *service,
                           void *user, tick_t now, enum stream_code *why)
{
    struct worker *w = ctx;
    enum stack_error error = 0;
    struct stack_connect c = {
        .remote = *to, .port = port, .local = *local, .service = service, .user = user};
    struct stream *s = stack_connect(w->stack, &c, now, &error);
    if (!s)
        *why = error == STACK_E_NO_ROUTE || error == STACK_E_NO_SOURCE ? STREAM_UNREACHABLE
                                                                       : STREAM_NO_MEMORY;
    return s;
}

static bool resolve(void *ctx, handle_t id, const char *name, bool v6, const struct ip_addr *client)
{
    struct worker *w = ctx;
    return questions_ask_name(w->tunnels.questions, id, name, v6, client);
}

static bool verify(void *ctx, handle_t id, const void *credentials, const char *user,
                   const char *password, const struct ip_addr *client)
{
    struct worker *w = ctx;
    return questions_ask_password(w->tunnels.questions, id, credentials, user, password, client);
}

static bool own(void *ctx, const struct ip_addr *a)
{
    return stack_owns(((struct worker *)ctx)->stack, a);
}

static bool has_v6(void *ctx)
{
    return stack_speaks(((struct worker *)ctx)->stack, true);
}

static bool has_v4(void *ctx)
{
    return stack_speaks(((struct worker *)ctx)->stack, false);
}

static void ended(void *ctx, const struct tunnel_record *r)
{
    static const uint16_t counter[] = {
#define X(id, name, error, status) COUNTER_TUNNEL_END_##id,
        TUNNEL_ENDS(X)
#undef X
    };
    struct worker *w = ctx;
    counter_add(&w->counters, counter[r->end], 1);
    counter_add(&w->counters, COUNTER_TUNNEL_TO_TARGET, r->to_target);
    counter_add(&w->counters, COUNTER_TUNNEL_TO_CLIENT, r->to_client);
    if (r->connected)
        counter_add(&w->counters, COUNTER_TUNNELS_CLOSED, 1);
    access_ring_put_tunnel(&w->access, r);
}

static void opened(void *ctx)
{
    counter_add(&((struct worker *)ctx)->counters, COUNTER_TUNNELS_OPENED, 1);
}

bool tunnels_start(struct worker *w, tick_t now)
{
    struct connect_env env = {
        .mem = &w->memory.mem,
        .max_tunnels = w->tunnels.max,
        .dial = dial,
        .resolve = resolve,
        .verify = verify,
        .own = own,
        .has_v6 = has_v6,
        .has_v4 = has_v4,
        .opened = opened,
        .ended = ended,
        .ctx = w,
    };
    memcpy(env.seed, w->seed, sizeof(env.seed));
    w->tunnels.connect = connect_create(&env, now);
    return w->tunnels.connect;
}

void tunnels_stop(struct worker *w)
{
    connect_destroy(w->tunnels.connect);
    w->tunnels.connect = NULL;
}

unsigned tunnels_turn(struct worker *w, tick_t now)
{
    struct connect *c = w->tunnels.connect;
    unsigned n = questions_hear(w->tunnels.questions, c, now);
    if (connect_deadline(c) <= now) {
        connect_expire(c, now);
        n++;
    }
    return n;
}

tick_t tunnels_deadline(const struct worker *w)
{
    return connect_deadline(w->tunnels.connect);
}

/* ---- requests of the control core ---- */

_Static_assert(CTL_USER_MAX > PROXY_USER_MAX, "a row has room for a user");
_Static_assert(CTL_AUTHORITY_MAX > PROXY_NAME_MAX + sizeof("[]:65535"), "and for whom he wants");

struct listing {
    struct ctl_request *request;
    unsigned looked;
};

static bool same(const char *wanted, const char *is)
{
    return !*wanted || strcmp(wanted, is) == 0;
}

static bool passes(const struct ctl_tunnel_filter *f, const struct tunnel_record *r)
{
    return same(f->state, tunnel_state_name((enum tunnel_state)r->state)) &&
           same(f->listener, r->peer->listener) && same(f->proxy, r->proxy) &&
           same(f->user, r->user) &&
           (!f->by_target ||
            (!ip_is_unspecified(&r->target) && ip_in_prefix(&f->target, &r->target)));
}

static void copy_text(char *to, size_t room, const char *text, size_t n)
{
    size_t kept = n < room ? n : room - 1;
    memcpy(to, text, kept);
    to[kept] = '\0';
}

static void fill(struct ctl_tunnel *row, const struct tunnel_record *r)
{
    *row = (struct ctl_tunnel){
        .id = r->id,
        .connection = r->peer->connection,
        .client = r->peer->addr,
        .client_port = r->peer->port,
        .target = r->target,
        .target_port = r->port,
        .state = tunnel_state_name((enum tunnel_state)r->state),
        .to_target = r->to_target,
        .to_client = r->to_client,
        .age = r->took,
        .resolved = r->resolved,
        .connected = r->connected,
    };
    copy_text(row->listener, sizeof(row->listener), r->peer->listener, strlen(r->peer->listener));
    copy_text(row->proxy, sizeof(row->proxy), r->proxy, strlen(r->proxy));
    copy_text(row->user, sizeof(row->user), r->user, strlen(r->user));
    copy_text(row->authority, sizeof(row->authority), r->authority.p, r->authority.n);
}

/* False: this one and those behind it are another page's. */
static bool list_one(void *ctx, const struct tunnel_record *t)
{
    struct listing *l = ctx;
    struct ctl_request *r = l->request;
    if (r->n == r->max || l->looked == LOOKED)
        return false;
    l->looked++;
    if (passes(&r->tunnel_filter, t))
        fill(&r->rows.tunnel[r->n++], t);
    return true;
}

static void list(struct worker *w, struct ctl_request *r)
{
    struct listing l = {.request = r};
    uint32_t cursor = r->cursor < UINT32_MAX ? (uint32_t)r->cursor : UINT32_MAX;
    r->n = 0;
    connect_list(w->tunnels.connect, &cursor, list_one, &l, w->now);
    r->cursor = cursor;
    r->more = cursor != UINT32_MAX;
}

bool tunnels_control(struct worker *w, struct ctl_request *r)
{
    if (r->kind == CTL_TUNNELS)
        list(w, r);
    else if (r->kind == CTL_TUNNEL_KILL)
        r->n = connect_kill(w->tunnels.connect, r->id, w->now);
    else
        return false;
    return true;
}
