/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /v1/neighbours, /v1/addresses, /v1/paths: what only the workers' stacks know. Their tables are
 * read whole, sorted and merged, so that a page begins behind a key, not at a position, and does
 * not repeat or miss a row because another came or went.
 */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "app/api.h"

#define ASK_ROWS    512   /* a worker fills in one go */
#define ASK_ALL_MS  2000  /* all questions for one reply together */
#define PAGE_LIMIT  1000  /* rows of a reply */
#define PAGE_MAX    10000 /* that a client may ask for */
#define IFACE_OTHER UINT16_MAX

/* A row of any of the three tables. */
struct row {
    uint16_t worker;
    union {
        struct ctl_neighbour neighbour;
        struct ctl_address address;
        struct ctl_path path;
    } is;
};

struct rows {
    enum ctl_request_kind kind;
    struct row *row;
    size_t n, room;
};

/* ---- asking ---- */

/* Room for what one request brings. */
struct ask {
    struct ctl_request r;
    union {
        struct ctl_neighbour neighbour[ASK_ROWS];
        struct ctl_address address[ASK_ROWS];
        struct ctl_path path[ASK_ROWS];
    } rows;
};

static bool reserve(struct rows *rows, size_t more)
{
    size_t room = rows->room ? rows->room : ASK_ROWS;
    while (room < rows->n + more)
        room *= 2;
    if (room == rows->room)
        return true;
    struct row *grown = realloc(rows->row, room * sizeof(*grown));
    if (!grown)
        return false;
    rows->row = grown;
    rows->room = room;
    return true;
}

static void keep(struct rows *rows, unsigned worker, const struct ask *a)
{
    for (uint32_t i = 0; i < a->r.n; i++) {
        struct row *to = &rows->row[rows->n++];
        to->worker = (uint16_t)worker;
        if (rows->kind == CTL_NEIGHBOURS)
            to->is.neighbour = a->rows.neighbour[i];
        else if (rows->kind == CTL_ADDRESSES)
            to->is.address = a->rows.address[i];
        else
            to->is.path = a->rows.path[i];
    }
}

static void aim(struct ask *a, enum ctl_request_kind kind)
{
    a->r = (struct ctl_request){.kind = kind, .max = ASK_ROWS};
    if (kind == CTL_NEIGHBOURS)
        a->r.rows.neighbour = a->rows.neighbour;
    else if (kind == CTL_ADDRESSES)
        a->r.rows.address = a->rows.address;
    else
        a->r.rows.path = a->rows.path;
}

/* One worker's whole table. 0 or a runtime_error. */
static int ask_worker(struct runtime *rt, unsigned worker, struct rows *rows, struct ask *a,
                      uint64_t until)
{
    aim(a, rows->kind);
    do {
        if (api_now_ms() >= until)
            return RUNTIME_E_TIMEOUT;
        int error = runtime_control(rt, worker, &a->r, API_WORKER_TIMEOUT_MS);
        if (error)
            return error;
        assert(a->r.n <= ASK_ROWS);
        if (!reserve(rows, a->r.n))
            return RUNTIME_E_MEMORY;
        keep(rows, worker, a);
    } while (a->r.more);
    return 0;
}

/* The tables of workers first..last. False: the reply says whose is missing. */
static bool ask(struct api_call *c, unsigned first, unsigned last, struct rows *rows)
{
    struct ask *a = malloc(sizeof(*a));
    uint64_t until = api_now_ms() + ASK_ALL_MS;
    int error = a ? 0 : RUNTIME_E_MEMORY;
    unsigned w = first;
    for (; !error && w <= last; w++)
        error = ask_worker(c->rt, w, rows, a, until);
    free(a);
    if (error)
        api_fail_worker(c, w > first ? w - 1 : w, error);
    return !error;
}

/* ---- order ---- */

/* What tells rows apart: interface and address. */
struct key {
    uint16_t iface; /* paths: 0 */
    struct ip_addr addr;
};

static struct key key_of(enum ctl_request_kind kind, const struct row *row)
{
    if (kind == CTL_NEIGHBOURS)
        return (struct key){row->is.neighbour.iface, row->is.neighbour.addr};
    if (kind == CTL_ADDRESSES)
        return (struct key){row->is.address.iface, row->is.address.prefix.addr};
    return (struct key){0, row->is.path.remote};
}

static int compare_keys(const struct key *a, const struct key *b)
{
    if (a->iface != b->iface)
        return a->iface < b->iface ? -1 : 1;
    return memcmp(&a->addr, &b->addr, sizeof(a->addr));
}

static int compare_rows(enum ctl_request_kind kind, const struct row *a, const struct row *b)
{
    struct key ka = key_of(kind, a);
    struct key kb = key_of(kind, b);
    int order = compare_keys(&ka, &kb);
    return order ? order : (a->worker > b->worker) - (a->worker < b->worker);
}

static int compare_neighbours(const void *a, const void *b)
{
    return compare_rows(CTL_NEIGHBOURS, a, b);
}

static int compare_addresses(const void *a, const void *b)
{
    return compare_rows(CTL_ADDRESSES, a, b);
}

static int compare_paths(const void *a, const void *b)
{
    return compare_rows(CTL_PATHS, a, b);
}

static void sort(struct rows *rows)
{
    int (*compare)(const void *, const void *) = compare_paths;
    if (rows->kind == CTL_NEIGHBOURS)
        compare = compare_neighbours;
    else if (rows->kind == CTL_ADDRESSES)
        compare = compare_addresses;
    if (rows->n > 0)
        qsort(rows->row, rows->n, sizeof(*rows->row), compare);
}

/* ---- interfaces by name ---- */

static const char *device_name(const struct api_call *c, uint16_t iface)
{
    const struct config *config = runtime_config(c->rt);
    return iface < config->n_devices ? config->device[iface].iface.name : "?";
}

static uint16_t device_index(const struct api_call *c, const char *name, size_t len)
{
    const struct config *config = runtime_config(c->rt);
    for (unsigned i = 0; i < config->n_devices; i++) {
        const char *its = config->device[i].iface.name;
        if (strlen(its) == len && memcmp(its, name, len) == 0)
            return (uint16_t)i;
    }
    return IFACE_OTHER;
}

/* ?iface=: IFACE_OTHER where all are asked for. False: 404. */
static bool which_iface(struct api_call *c, uint16_t *iface)
{
    const char *name = api_param(c, "iface");
    *iface = IFACE_OTHER;
    if (!name)
        return true;
    *iface = device_index(c, name, strlen(name));
    if (*iface == IFACE_OTHER)
        api_fail(c, 404, "no device '%.64s'", name);
    return *iface != IFACE_OTHER;
}

/* ---- pages ---- */

struct page {
    struct key after;
    bool from_start;
    uint64_t limit;
};

static bool which_page(struct api_call *c, bool with_device, struct page *page)
{
    const char *after = api_param(c, "after");
    const char *addr = after;
    *page = (struct page){.from_start = !after, .limit = PAGE_LIMIT};
    if (!api_number(c, "limit", 1, PAGE_MAX, &page->limit))
        return false;
    if (!after)
        return true;
    if (with_device) {
        const char *slash = strchr(after, '/');
        page->after.iface = slash ? device_index(c, after, (size_t)(slash - after)) : IFACE_OTHER;
        addr = slash ? slash + 1 : "";
    }
    if (page->after.iface != IFACE_OTHER && ip_parse(addr, &page->after.addr))
        return true;
    api_fail(c, 400, "after: '%.100s' is not what 'next' of another page said", after);
    return false;
}

static json_t *next_json(const struct api_call *c, enum ctl_request_kind kind,
                         const struct row *last)
{
    char text[IP_ADDR_TEXT];
    struct key k = key_of(kind, last);
    ip_format(&k.addr, text);
    if (kind == CTL_NEIGHBOURS)
        return json_sprintf("%s/%s", device_name(c, k.iface), text);
    return json_string(text);
}

static bool wanted(const struct rows *rows, size_t i, uint16_t iface, const struct page *page)
{
    struct key k = key_of(rows->kind, &rows->row[i]);
    return (iface == IFACE_OTHER || k.iface == iface) &&
           (page->from_start || compare_keys(&k, &page->after) > 0);
}

/* How many rows from i on have its key: one of each worker. */
static size_t same_key(const struct rows *rows, size_t i)
{
    struct key first = key_of(rows->kind, &rows->row[i]);
    size_t n = 1;
    for (; i + n < rows->n; n++) {
        struct key k = key_of(rows->kind, &rows->row[i + n]);
        if (compare_keys(&first, &k) != 0)
            break;
    }
    return n;
}

static json_t *workers_json(const struct row *row, size_t n)
{
    json_t *workers = json_array();
    for (size_t i = 0; i < n; i++)
        if (i == 0 || row[i].worker != row[i - 1].worker)
            json_array_append_new(workers, json_integer(row[i].worker));
    return workers;
}

typedef json_t *merge(const struct api_call *c, const struct row *row, size_t n);

/* The page of what was asked; *next is null behind the last one. */
static json_t *page_json(const struct api_call *c, struct rows *rows, uint16_t iface,
                         const struct page *page, merge *merged, json_t **next)
{
    json_t *list = json_array();
    const struct row *last = NULL;
    *next = json_null();
    sort(rows);
    for (size_t i = 0, n; i < rows->n; i += n) {
        n = same_key(rows, i);
        if (!wanted(rows, i, iface, page))
            continue;
        if (json_array_size(list) == page->limit) {
            *next = next_json(c, rows->kind, last);
            break;
        }
        json_array_append_new(list, merged(c, &rows->row[i], n));
        last = &rows->row[i];
    }
    return list;
}

/* ---- neighbours ---- */

/* Each worker keeps its own state of a neighbour: the one confirmed last is what is shown. */
static json_t *merge_neighbour(const struct api_call *c, const struct row *row, size_t n)
{
    const struct ctl_neighbour *best = &row[0].is.neighbour;
    uint64_t queued = 0;
    for (size_t i = 0; i < n; i++) {
        const struct ctl_neighbour *one = &row[i].is.neighbour;
        queued += one->queued;
        if (one->confirmed < best->confirmed)
            best = one;
    }
    bool known = best->state != CTL_NEIGHBOUR_INCOMPLETE && best->state != CTL_NEIGHBOUR_FAILED;
    return json_pack("{s:o, s:o, s:s, s:s, s:b, s:o, s:o, s:o}", "address", api_ip(&best->addr),
                     "mac", known ? api_mac(&best->mac) : json_null(), "device",
                     device_name(c, best->iface), "state", ctl_neighbour_state_name(best->state),
                     "router", best->router, "queued", api_u64(queued), "confirmed_seconds",
                     api_seconds(best->confirmed), "workers", workers_json(row, n));
}

void api_neighbours(struct api_call *c)
{
    unsigned first, last;
    uint16_t iface;
    struct page page;
    struct rows rows = {.kind = CTL_NEIGHBOURS};
    if (!api_which_workers(c, &first, &last) || !which_iface(c, &iface) ||
        !which_page(c, true, &page))
        return;
    if (ask(c, first, last, &rows)) {
        json_t *next;
        json_t *list = page_json(c, &rows, iface, &page, merge_neighbour, &next);
        api_json(c, 200, json_pack("{s:o, s:o}", "neighbours", list, "next", next));
    }
    free(rows.row);
}

void api_neighbours_flush(struct api_call *c)
{
    unsigned first, last;
    uint64_t flushed = 0;
    if (!api_which_workers(c, &first, &last))
        return;
    for (unsigned w = first; w <= last; w++) {
        struct ctl_request r = {.kind = CTL_NEIGHBOURS_FLUSH};
        int error = runtime_control(c->rt, w, &r, API_WORKER_TIMEOUT_MS);
        if (error) {
            api_fail_worker(c, w, error);
            return;
        }
        flushed += r.n;
    }
    api_json(c, 200, json_pack("{s:o}", "flushed", api_u64(flushed)));
}

/* ---- addresses ---- */

static json_t *merge_address(const struct api_call *c, const struct row *row, size_t n)
{
    (void)n;
    const struct ctl_address *a = &row->is.address;
    char text[IP_ADDR_TEXT];
    ip_format(&a->prefix.addr, text);
    return json_pack("{s:o, s:s, s:s, s:b}", "address", json_sprintf("%s/%d", text, a->prefix.len),
                     "device", device_name(c, a->iface), "state", ctl_address_state_name(a->state),
                     "link_local", a->link_local);
}

void api_addresses(struct api_call *c)
{
    unsigned first, last;
    uint16_t iface;
    struct page all = {.from_start = true, .limit = UINT64_MAX};
    struct rows rows = {.kind = CTL_ADDRESSES};
    if (!api_which_workers(c, &first, &last) || !which_iface(c, &iface))
        return;
    /* Worker 0 speaks for the host (stack/stack.h): its state of an address is the one. */
    if (!api_param(c, "worker"))
        last = first;
    if (ask(c, first, last, &rows)) {
        json_t *next;
        json_t *list = page_json(c, &rows, iface, &all, merge_address, &next);
        json_decref(next);
        api_json(c, 200, json_pack("{s:i, s:o}", "worker", (int)first, "addresses", list));
    }
    free(rows.row);
}

unsigned api_duplicates(struct api_call *c, json_t *warnings)
{
    struct ask *a = malloc(sizeof(*a));
    struct rows rows = {.kind = CTL_ADDRESSES};
    unsigned n = 0;
    if (a && ask_worker(c->rt, 0, &rows, a, api_now_ms() + API_WORKER_TIMEOUT_MS) == 0)
        sort(&rows);
    else
        rows.n = 0;
    free(a);
    for (size_t i = 0; i < rows.n; i++) {
        const struct ctl_address *is = &rows.row[i].is.address;
        char text[IP_ADDR_TEXT];
        if (is->state != CTL_ADDRESS_DUPLICATE)
            continue;
        ip_format(&is->prefix.addr, text);
        json_array_append_new(warnings, json_sprintf("device %s: another host has %s",
                                                     device_name(c, is->iface), text));
        n++;
    }
    free(rows.row);
    return n;
}

/* ---- paths ---- */

/* Each worker learns of a path by its own flows: the smallest is what packets are sure to fit. */
static json_t *merge_path(const struct api_call *c, const struct row *row, size_t n)
{
    (void)c;
    const struct ctl_path *best = &row[0].is.path;
    for (size_t i = 1; i < n; i++)
        if (row[i].is.path.mtu < best->mtu)
            best = &row[i].is.path;
    return json_pack("{s:o, s:i, s:o, s:o}", "remote", api_ip(&best->remote), "mtu", best->mtu,
                     "expires_seconds", api_seconds(best->expires), "workers",
                     workers_json(row, n));
}

void api_paths(struct api_call *c)
{
    unsigned first, last;
    struct page page;
    struct rows rows = {.kind = CTL_PATHS};
    if (!api_which_workers(c, &first, &last) || !which_page(c, false, &page))
        return;
    if (ask(c, first, last, &rows)) {
        json_t *next;
        json_t *list = page_json(c, &rows, IFACE_OTHER, &page, merge_path, &next);
        api_json(c, 200, json_pack("{s:o, s:o}", "paths", list, "next", next));
    }
    free(rows.row);
}
