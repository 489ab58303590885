/* SPDX-License-Identifier: BSD-3-Clause */
/* /v1/resolver: how names are looked up, what came of it, and what is known. */
#include <jansson.h>
#include <stdio.h>

#include "app/api.h"

#define PAGE_LIMIT 1000  /* rows of a reply */
#define PAGE_MAX   10000 /* that a client may ask for */

struct page {
    json_t *list;
    uint64_t limit;
};

static const char *outcome_name(uint8_t outcome)
{
    static const char *const names[] = {
#define X(id, name) [CONNECT_##id] = name,
        CONNECT_OUTCOMES(X)
#undef X
    };
    return names[outcome];
}

static json_t *addresses_json(const struct connect_answer *a)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < a->n; i++)
        json_array_append_new(list, api_ip(&a->addr[i]));
    return list;
}

static bool add_name(void *ctx, const struct resolver_row *r)
{
    struct page *p = ctx;
    json_t *row =
        json_pack("{s:s, s:s}", "name", r->name, "family", r->answer->v6 ? "ipv6" : "ipv4");
    json_object_set_new(row, "outcome",
                        json_string(r->asking ? "asking" : outcome_name(r->answer->outcome)));
    json_object_set_new(row, "addresses", r->asking ? json_array() : addresses_json(r->answer));
    json_object_set_new(row, "left_seconds", r->asking ? json_null() : api_seconds(r->left));
    json_array_append_new(p->list, row);
    return json_array_size(p->list) < p->limit;
}

static json_t *counters_json(const struct resolver_stats *s)
{
    json_t *all = json_object();
#define X(id, name, text) json_object_set_new(all, name, api_u64(s->count[RESOLVER_##id]));
    RESOLVER_COUNTERS(X)
#undef X
    return all;
}

/* What another page's `next` said, or 0. False: 400. */
static bool which_cursor(struct api_call *c, uint32_t *cursor)
{
    uint64_t from = 0;
    if (!api_number(c, "cursor", 0, UINT32_MAX - 1, &from))
        return false;
    *cursor = (uint32_t)from;
    return true;
}

void api_resolver(struct api_call *c)
{
    struct page p = {.limit = PAGE_LIMIT};
    struct resolver_stats s;
    uint32_t cursor;
    if (!api_number(c, "limit", 1, PAGE_MAX, &p.limit) || !which_cursor(c, &cursor))
        return;
    p.list = json_array();
    runtime_resolver(c->rt, &s);
    runtime_names(c->rt, &cursor, add_name, &p);
    char next[16];
    snprintf(next, sizeof(next), "%lu", (unsigned long)cursor);
    api_json(c, 200,
             json_pack("{s:o, s:o, s:I, s:I, s:I, s:o, s:s?}", "settings",
                       api_section(c->rt, "resolver"), "counters", counters_json(&s), "cached",
                       (json_int_t)s.cached, "under_way", (json_int_t)s.under_way, "waiting",
                       (json_int_t)s.waiting, "names", p.list, "next",
                       cursor == UINT32_MAX ? NULL : next));
}
