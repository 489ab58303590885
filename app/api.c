/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/api.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/config_fault.h"
#include "app/log.h"

#define LOGGED_BODY 200 /* bytes of a request's body in the log */

typedef void handler(struct api_call *c);

static const struct route {
    const char *path; /* up to a {name}, which stands for the rest */
    const char *text;
    const char *params; /* of GET, parted by spaces */
    const char *allow;
    handler *get, *post, *delete;
} routes[] = {
    {"/", "this list", "", "GET, HEAD", .get = api_index},
    {"/metrics", "everything as OpenMetrics", "", "GET, HEAD", .get = api_metrics},
    {"/v1/version", "versions of the program and its libraries", "", "GET, HEAD",
     .get = api_version},
    {"/v1/health", "200 when every worker turns and every address is ours alone, otherwise 503", "",
     "GET, HEAD", .get = api_health},
    {"/v1/workers", "workers and their counters", "worker", "GET, HEAD", .get = api_workers},
    {"/v1/ports", "devices, their queues and statistics", "iface xstats", "GET, HEAD",
     .get = api_ports},
    {"/v1/memory", "packet pools", "", "GET, HEAD", .get = api_memory},
    {"/v1/drops", "packets dropped, by reason", "nonzero", "GET, HEAD", .get = api_drops},
    {"/v1/neighbours", "ARP and ND entries, by pages (after, limit); DELETE forgets them",
     "worker iface after limit", "GET, HEAD, DELETE", .get = api_neighbours,
     .delete = api_neighbours_flush},
    {"/v1/addresses", "the appliance's own addresses", "worker iface", "GET, HEAD",
     .get = api_addresses},
    {"/v1/paths", "path MTU entries, by pages (after, limit)", "worker after limit", "GET, HEAD",
     .get = api_paths},
    {"/v1/connections", "connections, by pages (cursor, limit)",
     "worker protocol state listener cursor limit", "GET, HEAD", .get = api_connections},
    {"/v1/connections/{id}", "one connection; DELETE resets it, POST drains one of HTTP/2", "",
     "GET, HEAD, POST, DELETE", .get = api_connection, .post = api_connection_drain,
     .delete = api_connection_reset},
    {"/v1/listeners", "ports that services answer on", "worker", "GET, HEAD", .get = api_listeners},
    {"/v1/tunnels",
     "tunnels of CONNECT, by pages (cursor, limit); target is an address or a network",
     "worker state listener proxy user target cursor limit", "GET, HEAD", .get = api_tunnels},
    {"/v1/tunnels/{id}", "DELETE ends it", "", "DELETE", .delete = api_tunnel_kill},
    {"/v1/resolver", "what is asked of name servers, and names known, by pages (cursor, limit)",
     "cursor limit", "GET, HEAD", .get = api_resolver},
    {"/v1/config", "the configuration in force", "", "GET, HEAD", .get = api_config},
    {"/v1/reload", "POST: read the configuration file again", "", "POST", .post = api_reload},
    {"/v1/drain",
     "HTTP connections that are to end in order; POST {\"stop\": true|false, \"timeout_seconds\"} "
     "has all of them do so, and then the appliance stop",
     "", "GET, HEAD, POST", .get = api_drain, .post = api_drain_change},
    {"/v1/capture",
     "the packet capture; POST {\"action\": \"start\"|\"stop\", \"worker\", \"file\", "
     "\"max_bytes\", \"snaplen\"}",
     "", "GET, HEAD, POST", .get = api_capture, .post = api_capture_change},
};

#define N_ROUTES (sizeof(routes) / sizeof(routes[0]))

/* *item: where the path goes on with what the route leaves open. */
static bool leads_to(const struct route *r, const char *path, const char **item)
{
    size_t len = strlen(path);
    size_t fixed = strcspn(r->path, "{");
    *item = NULL;
    if (r->path[fixed]) {
        *item = path + fixed;
        return len > fixed && strncmp(r->path, path, fixed) == 0;
    }
    if (len > 1 && path[len - 1] == '/')
        len--;
    return fixed == len && strncmp(r->path, path, len) == 0;
}

static const struct route *route_of(struct api_call *c)
{
    for (size_t i = 0; i < N_ROUTES; i++)
        if (leads_to(&routes[i], c->path, &c->item))
            return &routes[i];
    return NULL;
}

static handler *handler_of(const struct route *r, const char *method)
{
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return r->get;
    if (strcmp(method, "POST") == 0)
        return r->post;
    return strcmp(method, "DELETE") == 0 ? r->delete : NULL;
}

/* Is name one of the words of list? */
static bool is_word(const char *list, const char *name)
{
    size_t len = strlen(name);
    while (*list) {
        size_t n = strcspn(list, " ");
        if (n == len && strncmp(list, name, n) == 0)
            return true;
        list += n + (list[n] == ' ');
    }
    return false;
}

static bool known_params(struct api_call *c, const struct route *r)
{
    for (unsigned i = 0; i < c->n_params; i++) {
        if (is_word(r->params, c->param[i].name))
            continue;
        api_fail(c, 400, "unknown parameter '%.64s'; %s takes: %s", c->param[i].name, r->path,
                 *r->params ? r->params : "none");
        return false;
    }
    return true;
}

/* The body as it may stand in a line of the log. */
static void log_change(const struct api_call *c)
{
    char body[LOGGED_BODY + 1];
    size_t n = c->body_len < LOGGED_BODY ? c->body_len : LOGGED_BODY;
    for (size_t i = 0; i < n; i++)
        body[i] = isprint((unsigned char)c->body[i]) ? c->body[i] : ' ';
    body[n] = '\0';
    log_notice("control: %s: %s %s%s%s: %u", c->peer, c->method, c->path, n ? " " : "", body,
               c->status);
}

static void answer(struct api_call *c)
{
    const struct route *r = route_of(c);
    if (!r) {
        api_fail(c, 404, "no such path; GET / lists all");
        return;
    }
    handler *h = handler_of(r, c->method);
    bool changes = h && h != r->get;
    if (!h) {
        c->allow = r->allow;
        api_fail(c, 405, "%s takes %s", r->path, r->allow);
    } else if (changes && c->read_only) {
        api_fail(c, 403, "the TCP port only reads; use the control socket");
    } else if (known_params(c, r)) {
        h(c);
    }
    if (changes)
        log_change(c);
}

void api_answer(struct api_call *c)
{
    answer(c);
    assert((c->status >= 200 || !c->text) && "each handler replies");
}

void api_index(struct api_call *c)
{
    json_t *paths = json_array();
    for (size_t i = 0; i < N_ROUTES; i++)
        json_array_append_new(paths, json_pack("{s:s, s:s, s:s}", "path", routes[i].path, "methods",
                                               routes[i].allow, "text", routes[i].text));
    api_json(c, 200, json_pack("{s:o}", "paths", paths));
}

void api_json(struct api_call *c, unsigned status, json_t *json)
{
    assert(!c->text && "one reply");
    c->status = status;
    c->type = API_TYPE_JSON;
    c->text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(json);
    if (!c->text) {
        c->status = 500;
        c->text = strdup("{\"error\":{\"status\":500,\"message\":\"no memory\"}}");
    }
    c->len = c->text ? strlen(c->text) : 0;
}

void api_fail(struct api_call *c, unsigned status, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    json_t *text = json_string(message);
    if (!text) /* an echo of what was asked that is no UTF-8 */
        text = json_string("the request is not valid UTF-8");
    api_json(c, status,
             json_pack("{s:{s:i, s:o}}", "error", "status", (int)status, "message", text));
}

void api_fail_worker(struct api_call *c, unsigned worker, int error)
{
    unsigned status = error == RUNTIME_E_TIMEOUT || error == RUNTIME_E_FULL ? 504 : 500;
    char *message = NULL;
    if (asprintf(&message, "worker %u: %s", worker, runtime_error_text(error)) < 0)
        message = NULL;
    api_json(c, status,
             json_pack("{s:{s:i, s:i, s:s?}}", "error", "status", (int)status, "worker",
                       (int)worker, "message", message));
    free(message);
}

const char *api_param(const struct api_call *c, const char *name)
{
    for (unsigned i = 0; i < c->n_params; i++)
        if (strcmp(c->param[i].name, name) == 0)
            return c->param[i].value;
    return NULL;
}

bool api_number(struct api_call *c, const char *name, uint64_t min, uint64_t max, uint64_t *to)
{
    const char *text = api_param(c, name);
    if (!text)
        return true;
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (isdigit((unsigned char)*text) && *end == '\0' && errno == 0 && n >= min && n <= max) {
        *to = n;
        return true;
    }
    api_fail(c, 400, "%s: '%.64s' is not a number from %llu to %llu", name, text,
             (unsigned long long)min, (unsigned long long)max);
    return false;
}

bool api_which_workers(struct api_call *c, unsigned *first, unsigned *last)
{
    unsigned n = runtime_workers(c->rt);
    uint64_t which = UINT64_MAX;
    if (!api_number(c, "worker", 0, n - 1, &which))
        return false;
    *first = which == UINT64_MAX ? 0 : (unsigned)which;
    *last = which == UINT64_MAX ? n - 1 : (unsigned)which;
    return true;
}

bool api_choice(struct api_call *c, const char *name, const char *const *names, size_t n,
                size_t *index)
{
    const char *text = api_param(c, name);
    char list[160];
    size_t used = 0;
    for (size_t i = 0; text && i < n; i++) {
        if (strcmp(names[i], text) == 0) {
            *index = i;
            return true;
        }
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
    }
    if (!text)
        return true;
    const char *near = config_nearest(text, names, (unsigned)n);
    if (near)
        api_fail(c, 400, "%s: unknown value '%.64s' (did you mean '%s'?)", name, text, near);
    else
        api_fail(c, 400, "%s: unknown value '%.64s' (one of %s)", name, text, list);
    return false;
}

char *api_mark(unsigned worker, uint64_t mark, char text[static API_MARK_MAX])
{
    snprintf(text, API_MARK_MAX, "%u-%" PRIx64, worker, mark);
    return text;
}

bool api_mark_parse(const char *text, unsigned *worker, uint64_t *mark)
{
    char again[API_MARK_MAX];
    return sscanf(text, "%3u-%16" SCNx64, worker, mark) == 2 &&
           strcmp(api_mark(*worker, *mark, again), text) == 0;
}

uint64_t api_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

json_t *api_text(const char *text)
{
    return *text ? json_string(text) : json_null();
}

json_t *api_ip(const struct ip_addr *a)
{
    char text[IP_ADDR_TEXT];
    return json_stringn(text, ip_format(a, text));
}

json_t *api_mac(const struct mac_addr *m)
{
    char text[MAC_ADDR_TEXT];
    return json_stringn(text, mac_format(m, text));
}

json_t *api_u64(uint64_t n)
{
    return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

json_t *api_seconds(tick_t t)
{
    return t == TICK_NEVER ? json_null() : json_real((double)t / (double)TICK_SEC);
}
