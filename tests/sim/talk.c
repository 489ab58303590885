/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/talk.h"

#include <string.h>

#include "sim/plan.h"
#include "sim/run.h"
#include "tcp/conn.h"

static struct talks *only; /* where a stream that comes in is looked up */

/* Bytes */

static uint8_t byte_at(uint32_t salt, uint64_t at)
{
    return (uint8_t)(at * 7 + (at >> 8) * 31 + (at >> 16) * 59 + salt);
}

/* arg: the salt; context: the position of the first byte. */
static void flatten(const struct vec *v, uint32_t offset, uint8_t *dst, uint32_t len)
{
    uint64_t at = (uintptr_t)v->of.context + offset;
    for (uint32_t i = 0; i < len; i++)
        dst[i] = byte_at(v->arg, at + i);
}

static const struct vec_ops pattern = {.flatten = flatten};

static void check(const struct talk_end *e, const struct pkt *p)
{
    const struct talk_end *other = &e->talk->end[e == e->talk->end];
    must_msg(e->got + p->len <= other->written, "more came than was sent");
    for (uint32_t i = 0; i < p->len; i++)
        must_msg(p->data[i] == byte_at(other->salt, e->got + i), "byte %llu is wrong",
                 (unsigned long long)(e->got + i));
}

/* Sending */

static void write_packet(struct talk_end *e, uint32_t n)
{
    struct pkt *p = pkt_alloc_len(&e->host->pool.pool, n);
    must(p != NULL);
    uint64_t at = e->written;
    pkt_for_each (v, p)
        for (uint32_t i = 0; i < v->len; i++)
            v->data[i] = byte_at(e->salt, at++);
    stream_write_pkt(e->stream, p);
}

static bool write_some(struct talk_end *e, uint32_t n)
{
    struct vec v = {
        .ops = &pattern, .of.context = (void *)(uintptr_t)e->written, .len = n, .arg = e->salt};
    if (e->way.packets)
        write_packet(e, n);
    else if (!stream_write(e->stream, v))
        return false;
    e->written += n;
    return true;
}

/* Bytes that it may have sent in all by now. */
static uint64_t allowed(const struct talk_end *e)
{
    if (e->way.answer == 0)
        return e->way.bytes;
    bool asks = e == e->talk->end; /* the client begins */
    uint64_t n = (e->got / e->way.ask + asks) * e->way.answer;
    return n < e->way.bytes ? n : e->way.bytes;
}

static void pump(struct talk_end *e)
{
    uint32_t chunk = e->way.chunk ? e->way.chunk : 16384;
    while (e->written < allowed(e) && stream_writable(e->stream)) {
        uint64_t n = allowed(e) - e->written;
        if (!write_some(e, n < chunk ? (uint32_t)n : chunk))
            break;
    }
    if (e->written == e->way.bytes && (e->end || !e->way.last))
        stream_end(e->stream);
}

/* Service */

/* NULL: a connection that nobody opened. */
static struct talk_end *end_of(struct stream *s)
{
    if (s->user)
        return s->user;
    const struct tcp_conn *c = container_of(s, struct tcp_conn, stream);
    for (uint32_t i = only->n; i-- > 0;) {
        struct talk *k = only->talk[i];
        bool its = k->port == c->key->remote_port && ip_eq(&c->key->remote, &k->from);
        if (!its || k->end[1].opened)
            continue;
        s->user = &k->end[1];
        return s->user;
    }
    return NULL;
}

static void opened(struct stream *s)
{
    struct talk_end *e = end_of(s);
    if (!e) {
        /* An old segment may pass for the answer to a SYN cookie, which remembers nothing. */
        const struct tcp_conn *c = container_of(s, struct tcp_conn, stream);
        must_msg(c->flags & TCP_CONN_COOKIE, "a connection that nobody opened");
        stream_abort(s);
        return;
    }
    must(!e->opened && !e->ended && !e->reset);
    e->opened = true;
    e->opened_at = e->host->node.sim->now;
    e->stream = s;
    pump(e);
}

static void consume(struct talk_end *e)
{
    uint32_t n = e->unread;
    e->unread = 0;
    stream_consume(e->stream, n);
}

static void data(struct stream *s, struct pkt *view, bool end)
{
    struct talk_end *e = end_of(s);
    struct sim *sim = e->host->node.sim;
    must(e->opened && !e->end && e->stream == s && (view || end));
    if (view) {
        must(!view->next && view->len > 0);
        check(e, view);
        e->got += view->len;
        e->unread += view->len;
        pkt_free(view);
    }
    e->end = end;
    if (e->talk->talks->progress)
        e->talk->talks->progress(e);
    if (e->way.think == 0)
        consume(e);
    else if (!timer_armed(&e->timer))
        wheel_arm(&sim->wheel, &e->timer, sim->now + e->way.think);
    pump(e);
}

static void writable(struct stream *s)
{
    struct talk_end *e = end_of(s);
    must(e->opened && e->stream == s);
    pump(e);
}

static void leave(struct talk_end *e)
{
    struct sim *sim = e->host->node.sim;
    wheel_cancel(&sim->wheel, &e->timer);
    e->stream = NULL;
    e->over_at = sim->now;
}

static void ended(struct stream *s)
{
    struct talk_end *e = end_of(s);
    const struct talk_end *other = &e->talk->end[e == e->talk->end];
    must(e->opened && e->end && e->stream == s);
    must_msg(e->written == e->way.bytes && e->got == other->way.bytes, "ended too early");
    e->ended = true;
    leave(e);
}

static void reset(struct stream *s, enum stream_code code)
{
    struct talk_end *e = end_of(s);
    must(!e->ended && !e->reset);
    e->reset = true;
    e->code = code;
    leave(e);
}

static const struct stream_service service = {.name = "talk",
                                              .opened = opened,
                                              .data = data,
                                              .writable = writable,
                                              .ended = ended,
                                              .reset = reset};

static void thought(struct timer *t, tick_t now)
{
    (void)now;
    struct talk_end *e = container_of(t, struct talk_end, timer);
    consume(e);
    sim_host_turn(e->host);
}

/* Opening */

void talks_listen(struct sim_host_config *c)
{
    must(c->n_listeners < SIM_LISTENERS_MAX);
    c->listener[c->n_listeners++] = (struct stack_listener){
        .name = "talk", .addr = IP_ADDR_ANY6, .port = TALK_PORT, .service = &service};
}

static void prepare(struct talk *k, unsigned side, struct sim_host *h, const struct talk_way *way)
{
    struct talk_end *e = &k->end[side];
    e->talk = k;
    e->host = h;
    e->way = *way;
    e->salt = (uint32_t)sim_between(h->node.sim, 0, 255);
    timer_init(&e->timer, thought);
}

struct talk *talk_open(struct talks *t, struct sim_host *client, struct sim_host *server,
                       const struct talk_plan *plan)
{
    struct sim *s = t->node.sim;
    must(t->n < TALKS_MAX);
    struct talk *k = mem_alloc(&s->heap.mem, sizeof(*k), _Alignof(struct talk));
    must(k != NULL);
    t->talk[t->n++] = k;
    k->talks = t;
    k->asked = s->now;
    k->from = client->cfg.iface.addr[plan->family % 2].addr;
    prepare(k, 0, client, &plan->way[0]);
    prepare(k, 1, server, &plan->way[1]);
    struct stack_connect to = {.remote = server->cfg.iface.addr[plan->family % 2].addr,
                               .port = TALK_PORT,
                               .service = &service,
                               .user = &k->end[0]};
    enum stack_error error = 0;
    struct stream *stream = sim_host_connect(client, plan->worker, &to, &error);
    must_msg(stream != NULL, "stack_connect: %d", (int)error);
    k->port = container_of(stream, struct tcp_conn, stream)->key->local_port;
    k->end[0].stream = stream;
    return k;
}

bool talk_is_over(const struct talk *k)
{
    return k->end[0].ended && k->end[1].ended;
}

bool talks_are_over(const struct talks *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (!talk_is_over(t->talk[i]))
            return false;
    return true;
}

/* Their life */

void talks_forget(struct talks *t, const struct sim_host *h)
{
    for (uint32_t i = 0; i < t->n; i++)
        for (unsigned side = 0; side < 2; side++) {
            struct talk_end *e = &t->talk[i]->end[side];
            wheel_cancel(&t->node.sim->wheel, &e->timer);
            if (e->host == h)
                e->stream = NULL;
        }
}

static void destroy(struct node *n)
{
    struct talks *t = (struct talks *)n;
    for (uint32_t i = 0; i < t->n; i++) {
        struct talk *k = t->talk[i];
        for (unsigned side = 0; side < 2; side++)
            wheel_cancel(&n->sim->wheel, &k->end[side].timer);
        mem_free(&n->sim->heap.mem, k, sizeof(*k));
    }
    only = NULL;
}

static const struct node_ops ops = {.destroy = destroy};

struct talks *talks_create(struct sim *s)
{
    must(!only);
    only = node_create(s, &ops, sizeof(*only), 0);
    return only;
}
