/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/priority.h"

#include <string.h>

#include "http2/internal.h"
#include "http2/priority_field.h"

/* What PRIORITY_UPDATE said of a stream that is not open yet. */
struct h2_early {
    uint32_t id;
    uint8_t urgency;
    bool incremental;
};

/* Stands in the tree for a stream that is not open yet, or not any more. */
struct placeholder {
    struct sched_tree_node place;
    struct list kept;
    uint32_t id;
};

static struct placeholder *of_kept(struct list *l)
{
    return container_of(l, struct placeholder, kept);
}

static bool follows(const struct h2_conn *c, enum sched_policy policy)
{
    return c->sched.policy == policy && !h2_has(c, H2_CONN_CLIENT);
}

struct h2_dependency h2_dependency_parse(const uint8_t payload[H2_DEPENDENCY_SIZE])
{
    uint32_t on = h2_u32(payload);
    return (struct h2_dependency){.on = on & H2_STREAM_MAX,
                                  .exclusive = on > H2_STREAM_MAX,
                                  .weight = (uint16_t)(payload[4] + 1)};
}

/* ---- placeholders ---- */

static struct placeholder *find_kept(const struct h2_conn *c, uint32_t id)
{
    list_for_each (it, &c->priorities.kept) {
        if (of_kept(it)->id == id)
            return of_kept(it);
    }
    return NULL;
}

/* It is in the tree no more. */
static void forget(struct h2_conn *c, struct placeholder *p)
{
    list_remove(&p->kept);
    c->priorities.n_kept--;
    mem_free(h2_mem(c), p, sizeof(*p));
}

static void give_up(struct h2_conn *c, struct placeholder *p)
{
    sched_tree_close(&p->place);
    forget(c, p);
}

/* In no tree yet. NULL: no memory. */
static struct placeholder *keep(struct h2_conn *c, uint32_t id)
{
    struct h2_priorities *all = &c->priorities;
    if (all->n_kept >= c->settings->max_streams + H2_KEPT_MORE) {
        h2_count(c, COUNTER_H2_PRIORITIES_LOST, 1);
        give_up(c, of_kept(list_first(&all->kept)));
    }
    struct placeholder *p = mem_alloc(h2_mem(c), sizeof(*p), _Alignof(struct placeholder));
    if (!p)
        return NULL;
    p->id = id;
    sched_tree_node_init(&p->place);
    list_push_back(&all->kept, &p->kept);
    all->n_kept++;
    return p;
}

static struct sched_tree_node *find_place(const struct h2_conn *c, uint32_t id)
{
    struct h2_stream *s = h2_streams_find(&c->streams, id);
    struct placeholder *p = s ? NULL : find_kept(c, id);
    if (s)
        return &s->place;
    return p ? &p->place : NULL;
}

/* ---- the connection's ---- */

void h2_priorities_init(struct h2_conn *c)
{
    struct h2_priorities *all = &c->priorities;
    *all = (struct h2_priorities){0};
    sched_tree_node_init(&all->root);
    list_init(&all->kept);
    if (c->sched.policy == SCHED_TREE)
        c->sched.tree = &all->root;
}

static size_t early_room(const struct h2_conn *c)
{
    uint32_t n = c->settings->max_streams;
    return n < H2_EARLY_MOST ? n : H2_EARLY_MOST;
}

void h2_priorities_fini(struct h2_conn *c)
{
    struct h2_priorities *all = &c->priorities;
    list_for_each_safe (it, &all->kept)
        give_up(c, of_kept(it));
    if (all->early)
        mem_free(h2_mem(c), all->early, early_room(c) * sizeof(*all->early));
    assert(list_empty(&all->root.children) && all->n_kept == 0);
}

void h2_priorities_tidy(struct h2_conn *c)
{
    list_for_each_safe (it, &c->priorities.kept) {
        if (!h2_is_idle(c, of_kept(it)->id))
            give_up(c, of_kept(it));
    }
}

uint32_t h2_priorities_cost(const struct h2_conn *c)
{
    const struct h2_priorities *all = &c->priorities;
    size_t early = all->early ? early_room(c) * sizeof(*all->early) : 0;
    return (uint32_t)(all->n_kept * sizeof(struct placeholder) + early);
}

/* RFC 9218 2.1: it will send no signals of RFC 7540. */
void h2_priorities_settled(struct h2_conn *c)
{
    if (!follows(c, SCHED_TREE) || c->peers.no_priorities != 1)
        return;
    assert(c->n_objects == 0 && c->priorities.n_kept == 0 && "nothing comes before SETTINGS");
    sched_init(&c->sched, SCHED_URGENCY, &c->settings->sched, c->sched.seed);
    h2_priorities_init(c);
}

/* ---- RFC 7540 5.3 ---- */

static void depend(struct h2_conn *c, struct sched_tree_node *n, const struct h2_dependency *d)
{
    struct sched_tree_node *root = &c->priorities.root;
    struct sched_tree_node *on = d->on == 0 ? root : find_place(c, d->on);
    bool as_asked = true;
    if (on)
        as_asked = sched_tree_depend(n, on, d->weight, d->exclusive);
    else /* RFC 7540 5.3.1: on what is not in the tree */
        sched_tree_depend(n, root, SCHED_WEIGHT_DEFAULT, false);
    if (!as_asked)
        h2_count(c, COUNTER_H2_PRIORITIES_LOST, 1);
}

void h2_priority_depend(struct h2_conn *c, uint32_t id, const struct h2_dependency *d)
{
    if (!follows(c, SCHED_TREE) || !h2_is_peers(c, id))
        return;
    struct sched_tree_node *n = find_place(c, id);
    if (!n && h2_is_idle(c, id)) {
        struct placeholder *p = keep(c, id);
        n = p ? &p->place : NULL;
    }
    if (n)
        depend(c, n, d);
}

static void open_in_tree(struct h2_stream *s, const struct h2_dependency *d)
{
    static const struct h2_dependency otherwise = {.weight = SCHED_WEIGHT_DEFAULT};
    struct h2_conn *c = s->conn;
    struct placeholder *p = find_kept(c, s->id);
    if (p) {
        sched_tree_replace(&p->place, &s->place);
        forget(c, p);
    }
    if (d->weight > 0)
        depend(c, &s->place, d);
    else if (!p)
        depend(c, &s->place, &otherwise);
}

void h2_priority_close(struct h2_stream *s)
{
    struct h2_conn *c = s->conn;
    if (!s->place.parent) /* it was never told of, or there is no tree */
        return;
    struct placeholder *p = (c->flags & (H2_CONN_FAILED | H2_CONN_ENDED)) ? NULL : keep(c, s->id);
    if (p)
        sched_tree_replace(&s->place, &p->place);
    else
        sched_tree_close(&s->place);
}

/* ---- RFC 9218 ---- */

static void urge(struct h2_stream *s, struct sched_priority p)
{
    p.order = s->id;
    if (s->flags & H2_STREAM_TUNNEL) /* RFC 9218 11 */
        p.incremental = true;
    sched_prioritise(&s->conn->sched, &s->place.node, &p);
}

static void remove_early(struct h2_priorities *all, uint32_t i)
{
    all->n_early--;
    memmove(all->early + i, all->early + i + 1, (all->n_early - i) * sizeof(*all->early));
}

/* Those that were passed over are closed (RFC 9113 5.1.1). */
static void drop_passed(struct h2_conn *c)
{
    struct h2_priorities *all = &c->priorities;
    for (uint32_t i = all->n_early; i-- > 0;) {
        if (!h2_is_idle(c, all->early[i].id))
            remove_early(all, i);
    }
}

static bool take_early(struct h2_conn *c, uint32_t id, struct sched_priority *p)
{
    struct h2_priorities *all = &c->priorities;
    for (uint32_t i = 0; i < all->n_early; i++) {
        if (all->early[i].id != id)
            continue;
        p->urgency = all->early[i].urgency;
        p->incremental = all->early[i].incremental;
        remove_early(all, i);
        return true;
    }
    return false;
}

/* Room for one more, at the end. */
static struct h2_early *make_room(struct h2_conn *c)
{
    struct h2_priorities *all = &c->priorities;
    size_t room = early_room(c);
    if (!all->early)
        all->early = mem_alloc(h2_mem(c), room * sizeof(*all->early), _Alignof(struct h2_early));
    if (!all->early)
        return NULL;
    if (all->n_early == room) {
        h2_count(c, COUNTER_H2_PRIORITIES_LOST, 1);
        remove_early(all, 0);
    }
    return &all->early[all->n_early++];
}

/* The latest word holds. */
static bool update_early(struct h2_conn *c, uint32_t id, const struct sched_priority *p)
{
    struct sched_priority before;
    drop_passed(c);
    bool known = take_early(c, id, &before);
    /* RFC 9218 7.1 */
    if (!known && c->priorities.n_early + c->n_peer >= c->settings->max_streams)
        return false;
    struct h2_early *e = make_room(c);
    if (e)
        *e = (struct h2_early){.id = id, .urgency = p->urgency, .incremental = p->incremental};
    return true;
}

bool h2_priority_update(struct h2_conn *c, uint32_t id, struct http_text value)
{
    if (!follows(c, SCHED_URGENCY))
        return true;
    struct sched_priority p = sched_priority_default;
    h2_priority_field(value, &p);
    if (h2_is_idle(c, id))
        return update_early(c, id, &p);
    struct h2_stream *s = h2_streams_find(&c->streams, id);
    if (s)
        urge(s, p);
    return true;
}

/* RFC 9218 5: a dictionary over all fields of that name. */
static void read_fields(const struct http_head *h, struct sched_priority *p)
{
    struct sched_priority read = sched_priority_default;
    for (uint32_t i = 0; i < h->n_fields; i++) {
        if (http_text_eq(h->field[i].name, HTTP_TEXT("priority")) &&
            !h2_priority_field(h->field[i].value, &read))
            return;
    }
    *p = read;
}

static void open_urgent(struct h2_stream *s, const struct http_head *h)
{
    struct sched_priority p = sched_priority_default;
    if (!take_early(s->conn, s->id, &p)) /* RFC 9218 7: PRIORITY_UPDATE goes before the field */
        read_fields(h, &p);
    urge(s, p);
}

void h2_priority_open(struct h2_stream *s, const struct http_head *h, const struct h2_dependency *d)
{
    if (follows(s->conn, SCHED_TREE))
        open_in_tree(s, d);
    else if (follows(s->conn, SCHED_URGENCY))
        open_urgent(s, h);
}
