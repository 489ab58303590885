/* SPDX-License-Identifier: BSD-3-Clause */
/* /v1/tunnels: by pages in the order of each worker's table, as /v1/connections are. */
#include <jansson.h>
#include <string.h>

#include "app/api.h"
#include "service/connect.h"

#define ASK_ROWS   128 /* of one request to a worker */
#define PAGE_MS    500 /* then a page ends, however short it is: a filter may let nothing through */
#define PAGE_LIMIT 1000  /* rows of a reply */
#define PAGE_MAX   10000 /* that a client may ask for */

static const char *const states[] = {
#define X(id, name) name,
    TUNNEL_STATES(X)
#undef X
};

static void set(json_t *row, const char *name, json_t *value)
{
    json_object_set_new(row, name, value);
}

static json_t *when(tick_t t)
{
    return t ? api_seconds(t) : json_null();
}

/* What a client sent need not be UTF-8. */
static json_t *client_text(const char *text)
{
    json_t *string = json_string(text);
    return string ? string : json_null();
}

static json_t *tunnel_json(unsigned worker, const struct ctl_tunnel *t)
{
    char id[API_MARK_MAX];
    json_t *row = json_object();
    set(row, "id", json_string(api_mark(worker, t->id, id)));
    set(row, "worker", json_integer((json_int_t)worker));
    set(row, "state", json_string(t->state));
    set(row, "listener", api_text(t->listener));
    set(row, "proxy", api_text(t->proxy));
    set(row, "user", *t->user ? client_text(t->user) : json_null());
    set(row, "client_address", api_ip(&t->client));
    set(row, "client_port", json_integer(t->client_port));
    set(row, "connection", json_string(api_mark(worker, t->connection, id)));
    set(row, "authority", client_text(t->authority));
    set(row, "target", ip_is_unspecified(&t->target) ? json_null() : api_ip(&t->target));
    set(row, "target_port", json_integer(t->target_port));
    set(row, "to_target", api_u64(t->to_target));
    set(row, "to_client", api_u64(t->to_client));
    set(row, "age_seconds", api_seconds(t->age));
    set(row, "resolved_seconds", when(t->resolved));
    set(row, "connected_seconds", when(t->connected));
    return row;
}

/* ---- the list ---- */

struct page {
    unsigned worker, last; /* the next one to be asked; the last one */
    uint64_t cursor;       /* in that worker's table */
    uint64_t limit;
    struct ctl_tunnel_filter filter;
};

/* Copies a parameter, whose value need not be in the configuration: tunnels outlive what they came
 * by. False: 400. */
static bool name_param(struct api_call *c, const char *name, char *to, size_t room)
{
    const char *text = api_param(c, name);
    if (!text)
        return true;
    if (*text && strlen(text) < room) {
        strcpy(to, text);
        return true;
    }
    api_fail(c, 400, "%s: '%.64s' is not a name of 1 to %zu bytes", name, text, room - 1);
    return false;
}

static bool which_target(struct api_call *c, struct ctl_tunnel_filter *f)
{
    const char *text = api_param(c, "target");
    f->by_target = text != NULL;
    if (!text || ip_prefix_parse(text, &f->target))
        return true;
    api_fail(c, 400, "target: '%.64s' is neither an address nor a network", text);
    return false;
}

static bool which_filter(struct api_call *c, struct ctl_tunnel_filter *f)
{
    size_t state = SIZE_MAX;
    if (!api_choice(c, "state", states, TUNNEL_STATE_END, &state))
        return false;
    if (state != SIZE_MAX)
        strcpy(f->state, states[state]);
    return name_param(c, "listener", f->listener, sizeof(f->listener)) &&
           name_param(c, "proxy", f->proxy, sizeof(f->proxy)) &&
           name_param(c, "user", f->user, sizeof(f->user)) && which_target(c, f);
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
    struct ctl_tunnel row[ASK_ROWS];
    uint64_t room = p->limit - json_array_size(list);
    struct ctl_request r = {.kind = CTL_TUNNELS,
                            .rows.tunnel = row,
                            .max = room < ASK_ROWS ? (uint32_t)room : ASK_ROWS,
                            .cursor = p->cursor,
                            .tunnel_filter = p->filter};
    int error = runtime_control(rt, p->worker, &r, API_WORKER_TIMEOUT_MS);
    if (error)
        return error;
    for (uint32_t i = 0; i < r.n; i++)
        json_array_append_new(list, tunnel_json(p->worker, &row[i]));
    p->cursor = r.more ? r.cursor : 0;
    p->worker += !r.more;
    return 0;
}

void api_tunnels(struct api_call *c)
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
             json_pack("{s:o, s:s?}", "tunnels", list, "next",
                       more ? api_mark(p.worker, p.cursor, next) : NULL));
}

/* ---- one tunnel ---- */

void api_tunnel_kill(struct api_call *c)
{
    struct ctl_request r = {.kind = CTL_TUNNEL_KILL};
    unsigned worker;
    int error = 0;
    if (api_mark_parse(c->item, &worker, &r.id) && worker < runtime_workers(c->rt))
        error = runtime_control(c->rt, worker, &r, API_WORKER_TIMEOUT_MS);
    if (error)
        api_fail_worker(c, worker, error);
    else if (r.n == 0)
        api_fail(c, 404, "no tunnel '%.64s' (any more); GET /v1/tunnels lists all", c->item);
    else
        api_json(c, 200, json_pack("{s:s}", "killed", c->item));
}
