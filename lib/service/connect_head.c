/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked for and by whom, and what is said to it: RFC 9110 9.3.6, RFC 9113 8.5, RFC 9209. */
#include <string.h>

#include "service/tunnel.h"

#define NAME_MAX   64u  /* of a proxy or a realm, in an answer */
#define VALUE_MAX  192u /* of a field with it */
#define FIELDS_MAX 3u

static const uint16_t end_status[] = {
#define X(id, name, error, status) status,
    TUNNEL_ENDS(X)
#undef X
};
static const char *const end_error[] = {
#define X(id, name, error, status) error,
    TUNNEL_ENDS(X)
#undef X
};

/* ---- answers ---- */

struct text {
    uint32_t n;
    char p[VALUE_MAX];
};

static void put(struct text *t, const char *s)
{
    size_t n = strlen(s);
    assert(t->n + n <= VALUE_MAX && "names are cut");
    memcpy(t->p + t->n, s, n);
    t->n += (uint32_t)n;
}

/* A quoted string of RFC 9651 3.3.3 and of RFC 9110 5.6.4 alike. */
static void put_quoted(struct text *t, const char *s)
{
    put(t, "\"");
    for (size_t i = 0; s[i] && i < NAME_MAX; i++) {
        char one[2] = {s[i] >= ' ' && s[i] <= '~' ? s[i] : '?', 0};
        if (one[0] == '"' || one[0] == '\\')
            put(t, "\\");
        put(t, one);
    }
    put(t, "\"");
}

static struct http_field field_of(struct http_text name, const struct text *value)
{
    return (struct http_field){.name = name, .value = {value->p, value->n}};
}

/* RFC 9209 2 */
static struct http_field status_field(struct text *v, const struct proxy_options *o,
                                      enum tunnel_end why)
{
    v->n = 0;
    put_quoted(v, o->name);
    put(v, "; error=");
    put(v, end_error[why]);
    return field_of(HTTP_TEXT("proxy-status"), v);
}

/* RFC 9110 11.7.1, RFC 7617 2, 2.1 */
static struct http_field challenge(struct text *v, const struct proxy_options *o)
{
    v->n = 0;
    put(v, "Basic realm=");
    put_quoted(v, o->realm ? o->realm : o->name);
    put(v, ", charset=\"UTF-8\"");
    return field_of(HTTP_TEXT("proxy-authenticate"), v);
}

/* Of a request that gets none, what it sends is thrown away. */
static void refused_data(struct stream *s, struct pkt *view, bool end)
{
    (void)end;
    pkt_free(view);
    stream_consume(s, stream_unconsumed(s));
}

static const struct stream_service refused = {.name = "connect", .data = refused_data};

static void answer(struct http_stream *s, const struct proxy_options *o, enum tunnel_end why)
{
    struct text status;
    struct text more;
    struct http_field field[FIELDS_MAX] = {
        {.name = HTTP_TEXT("date"), .value = http_date(s->peer->env)}};
    uint32_t n = field[0].value.n > 0 ? 1 : 0;
    field[n++] = status_field(&status, o, why);
    if (why == TUNNEL_UNKNOWN_USER)
        field[n++] = challenge(&more, o);
    else if (why == TUNNEL_NOT_CONNECT) /* RFC 9110 15.5.6 */
        field[n++] = (struct http_field){.name = HTTP_TEXT("allow"), .value = HTTP_TEXT("CONNECT")};
    assert(n <= FIELDS_MAX);
    struct http_head a = {.status = end_status[why],
                          .content_length = HTTP_LENGTH_NONE,
                          .field = field,
                          .n_fields = n};
    s->stream.user = NULL;
    http_become(s, &refused);
    stream_release(&s->stream);
    http_respond(s, &a, true);
}

void tunnel_refuse(struct tunnel *t, enum tunnel_end why)
{
    struct http_stream *s = t->client;
    tunnel_ends(t, why);
    search_end(t);
    if (!s)
        return;
    t->client = NULL;
    t->status = end_status[why];
    answer(s, tunnel_options(t), why);
}

/* ---- requests ---- */

/* There is no tunnel for it. */
static void refuse(struct connect *c, struct http_stream *s, const struct http_head *h,
                   enum tunnel_end why)
{
    const struct proxy_options *o = proxy_options(s->peer->context);
    if (c && c->env.ended)
        c->env.ended(c->env.ctx, &(struct tunnel_record){.peer = s->peer,
                                                         .proxy = o->name,
                                                         .user = "",
                                                         .authority = h->authority,
                                                         .end = (uint8_t)why,
                                                         .status = end_status[why],
                                                         .began = c->now});
    answer(s, o, why);
}

/* DONE: a tunnel is asked for. */
static enum tunnel_end look_at(const struct http_head *h, struct proxy_target *target)
{
    if (h->method != HTTP_CONNECT)
        return TUNNEL_NOT_CONNECT;
    if (h->protocol.n > 0) /* RFC 8441 4: of those there are, we know none */
        return TUNNEL_BAD_PROTOCOL;
    return proxy_target_of(h->authority, target) ? TUNNEL_DONE : TUNNEL_BAD_REQUEST;
}

/* Who is it? */
static void identify(struct tunnel *t, const struct http_head *h)
{
    const struct proxy_options *o = tunnel_options(t);
    const struct http_field *f = http_field_find(h, HTTP_TEXT("proxy-authorization"));
    const char *named = t->peer.user;
    t->peer.user = t->user; /* the other is the client's connection's */
    if (o->certificate && named) {
        tunnel_copy_text(t->user, named, sizeof(t->user));
        tunnel_go(t);
        return;
    }
    if (!o->basic) {
        if (o->certificate)
            tunnel_refuse(t, TUNNEL_DENIED);
        else
            tunnel_go(t);
        return;
    }
    switch (f ? login_check(t, f->value) : LOGIN_NONE) {
    case LOGIN_NONE: tunnel_refuse(t, TUNNEL_UNKNOWN_USER); break;
    case LOGIN_RIGHT: tunnel_go(t); break;
    case LOGIN_BUSY: tunnel_refuse(t, TUNNEL_LIMIT); break;
    case LOGIN_ASKED: break;
    }
}

void tunnel_go(struct tunnel *t)
{
    bool rate;
    const struct proxy_target *target = &t->search->target;
    if (!target->literal && proxy_check_name(t->proxy, t->user, target) == PROXY_DENY) {
        tunnel_refuse(t, TUNNEL_DENIED);
        return;
    }
    t->account = proxy_open(t->proxy, t->user, t->connect->now, &rate);
    if (!t->account) {
        tunnel_refuse(t, TUNNEL_USER_LIMIT);
        return;
    }
    search_begin(t);
}

static void on_head(struct http_stream *s, const struct http_head *h, bool end)
{
    struct connect *c = s->peer->env->connect;
    struct proxy_target target;
    enum tunnel_end why = look_at(h, &target);
    struct tunnel *t = NULL;
    assert(c && "a listener of this service is only where there is one");
    c->http = s->peer->env;
    c->now = c->http->now;
    if (why == TUNNEL_DONE) {
        why = TUNNEL_LIMIT;
        t = tunnel_create(c, s, h, &target);
    }
    if (!t) {
        refuse(c, s, h, why);
        return;
    }
    s->stream.user = t;
    t->client_ended = end;
    http_become(s, &connect_client);
    stream_hold(&s->stream);
    identify(t, h);
    tunnel_settle(t);
}

/* What comes for a stream that has no tunnel. */
const struct http_service service_connect = {
    .stream = {.name = "connect", .http = true, .data = refused_data},
    .head = on_head,
};
