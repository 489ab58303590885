/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections that we open. The source port is chosen as RFC 6056 3.3.3 says: from a keyed hash of
 * the destination on, so that a stranger cannot guess it, counting up, so that none comes back
 * soon. Of the ports that come by this way the first serves that is free and whose answers the
 * devices bring to this worker.
 */
#include "stack/conn.h"
#include "tcp/isn.h"
#include "wire/proto.h"

static struct stream *fail(enum stack_error *error, enum stack_error why)
{
    if (error)
        *error = why;
    return NULL;
}

static bool is_somebody(struct stack *s, const struct ip_addr *a)
{
    if (ip_is_unspecified(a) || ip_is_multicast(a) || ip_is_loopback(a))
        return false;
    for (unsigned i = 0; i < s->n_ifaces; i++) /* nor ourselves: what we send does not come back */
        if (local_is_broadcast(&s->iface[i], a) || local_on(&s->iface[i], a))
            return false;
    return true;
}

/* The address of ours that was asked for. NULL: it is not there, or not usable. */
static const struct local *local_named(struct stack *s, const struct ip_addr *a)
{
    for (unsigned i = 0; i < s->n_ifaces; i++) {
        const struct local *l = local_on(&s->iface[i], a);
        if (l && local_usable(l))
            return l;
    }
    return NULL;
}

/* Whence and by which way: *local and *r. */
static enum stack_error find_way(struct stack *s, const struct stack_connect *to,
                                 struct ip_addr *local, struct route *r)
{
    bool any = ip_is_unspecified(&to->local);
    const struct local *l = any ? NULL : local_named(s, &to->local);
    if (!any && (!l || ip_is_v4(&to->local) != ip_is_v4(&to->remote)))
        return STACK_E_NO_SOURCE;
    if (!is_somebody(s, &to->remote) || !route_find(s, l ? l->iface : NULL, &to->remote, r))
        return STACK_E_NO_ROUTE;
    if (any)
        l = local_source(r->iface, &to->remote);
    if (!l)
        return STACK_E_NO_SOURCE;
    *local = l->prefix.addr;
    return 0;
}

bool stack_owns(const struct stack *s, const struct ip_addr *a)
{
    for (unsigned i = 0; i < s->n_ifaces; i++)
        for (unsigned k = 0; k < s->iface[i].n_locals; k++)
            if (ip_eq(&s->iface[i].local[k].prefix.addr, a))
                return true;
    return false;
}

bool stack_speaks(const struct stack *s, bool v6)
{
    for (unsigned i = 0; i < s->n_ifaces; i++)
        for (unsigned k = 0; k < s->iface[i].n_locals; k++) {
            const struct local *l = &s->iface[i].local[k];
            if (ip_is_v4(&l->prefix.addr) != v6 && local_usable(l) &&
                !ip_is_link_local(&l->prefix.addr))
                return true;
        }
    return false;
}

static bool port_free(const struct stack *s, const struct flow_key *key)
{
    uint32_t hash = steer_hash(&key->local, &key->remote, key->local_port, key->remote_port);
    return steer_worker(&s->steer, hash) == s->worker &&
           !listener_find(s, &key->local, key->local_port) && !flow_find(s->flows, key);
}

/* Fills key's local port. False: none is free. All are tried where it must be, as nobody outside
 * can make us want so many connections to one destination. */
static bool choose_port(struct stack *s, struct flow_key *key)
{
    uint32_t first = s->tcp_settings.port_min;
    uint32_t count = s->tcp_settings.port_max - first + 1u;
    key->local_port = 0;
    uint32_t offset = (uint32_t)siphash24(&s->port_key, key, sizeof(*key)) % count;
    for (uint32_t tries = 0; tries < count; tries++) {
        key->local_port = (uint16_t)(first + (offset + s->port_next++ % count) % count);
        if (port_free(s, key))
            return true;
    }
    return false;
}

static enum stack_error check_room(const struct stack *s)
{
    bool full = tcp_full(&s->tcp) || slab_live(s->conns) == slab_max(s->conns);
    return full ? STACK_E_LIMIT : 0;
}

struct stream *stack_connect(struct stack *s, const struct stack_connect *to, tick_t now,
                             enum stack_error *error)
{
    assert(to->port > 0 && to->service && "somewhere, and something to do there");
    struct ip_addr local;
    struct route r;
    enum stack_error bad = check_room(s);
    if (!bad)
        bad = find_way(s, to, &local, &r);
    if (bad)
        return fail(error, bad);
    struct flow_key key = flow_key_of(&local, 0, &to->remote, to->port, IP_PROTO_TCP);
    if (!choose_port(s, &key))
        return fail(error, STACK_E_NO_PORT);
    enum drop why;
    struct conn *c = conn_create(r.iface, &key, to->service, now, &why);
    if (!c)
        return fail(error, STACK_E_MEMORY);
    c->tcp.stream.user = to->user;
    tcp_connect(&c->tcp, tcp_isn(&s->tcp.secret, &key, now), now);
    conn_settle(c, now);
    return &c->tcp.stream;
}
