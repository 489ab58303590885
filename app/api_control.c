/* SPDX-License-Identifier: BSD-3-Clause */
/* /v1/reload, /v1/drain and /v1/capture. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "app/api.h"
#include "app/log.h"

#define DRAIN_MAX 86400 /* seconds */

/* The lines of a text, without empty ones. */
static json_t *lines_json(const char *text)
{
    json_t *lines = json_array();
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (n > 0)
            json_array_append_new(lines, json_stringn(text, n));
        text += n + (text[n] == '\n');
    }
    return lines;
}

void api_reload(struct api_call *c)
{
    char *text = NULL;
    size_t len = 0;
    FILE *errors = open_memstream(&text, &len);
    if (!errors) {
        api_fail(c, 500, "no memory");
        return;
    }
    int done = runtime_reload(c->rt, errors);
    fclose(errors);
    if (done == 0) {
        api_json(c, 200,
                 json_pack("{s:s, s:s}", "status", "reloaded", "file", runtime_config_file(c->rt)));
    } else if (done == RUNTIME_E_REFUSED) {
        api_json(c, 409,
                 json_pack("{s:{s:i, s:s, s:o}}", "error", "status", 409, "message",
                           "nothing was changed", "faults", lines_json(text)));
    } else {
        api_fail(c, 500, "nothing was changed: %s", runtime_error_text(done));
    }
    free(text);
}

/* ---- bodies ---- */

static bool is_one_of(const char *key, const char *const *known)
{
    while (*known && strcmp(key, *known) != 0)
        known++;
    return *known != NULL;
}

/* known: NULL at its end. False: 400. */
static bool known_keys(struct api_call *c, json_t *body, const char *const *known)
{
    char list[160] = "";
    size_t n = 0;
    const char *key;
    json_t *value;
    for (size_t i = 0; known[i] && n < sizeof(list); i++)
        n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", known[i]);
    json_object_foreach(body, key, value)
    {
        if (is_one_of(key, known))
            continue;
        api_fail(c, 400, "unknown key '%.64s'; known: %s", key, list);
        return false;
    }
    return true;
}

/* The body, an object, of the caller's to release. NULL: 400 is the reply. */
static json_t *read_body(struct api_call *c)
{
    json_error_t at;
    json_t *body = json_loadb(c->body, c->body_len, JSON_REJECT_DUPLICATES, &at);
    if (!body)
        api_fail(c, 400, "the body is not JSON: line %d, column %d: %s", at.line, at.column,
                 at.text);
    else if (!json_is_object(body))
        api_fail(c, 400, "the body is not a JSON object");
    if (json_is_object(body))
        return body;
    json_decref(body);
    return NULL;
}

/* A whole number in [min, max] under key; absent and null leave *to alone. False: 400. */
static bool body_number(struct api_call *c, const json_t *body, const char *key, json_int_t min,
                        json_int_t max, json_int_t *to)
{
    const json_t *v = json_object_get(body, key);
    if (!v || json_is_null(v))
        return true;
    if (json_is_integer(v) && json_integer_value(v) >= min && json_integer_value(v) <= max) {
        *to = json_integer_value(v);
        return true;
    }
    api_fail(c, 400, "%s: not a whole number from %lld to %lld", key, (long long)min,
             (long long)max);
    return false;
}

static bool body_string(struct api_call *c, const json_t *body, const char *key, const char **to)
{
    const json_t *v = json_object_get(body, key);
    if (!v || json_is_null(v))
        return true;
    *to = json_string_value(v);
    if (!*to)
        api_fail(c, 400, "%s: not a string", key);
    return *to != NULL;
}

static bool body_bool(struct api_call *c, const json_t *body, const char *key, bool *to)
{
    const json_t *v = json_object_get(body, key);
    if (!v || json_is_null(v))
        return true;
    *to = json_is_true(v);
    if (!json_is_boolean(v))
        api_fail(c, 400, "%s: neither true nor false", key);
    return json_is_boolean(v);
}

/* ---- /v1/drain ---- */

json_t *api_draining(struct runtime *rt)
{
    struct runtime_draining d;
    runtime_draining(rt, &d);
    if (!d.on)
        return json_null();
    return json_pack("{s:s, s:o, s:o}", "state", d.stop ? "stopping" : "draining", "connections",
                     api_u64(d.connections), "remaining_seconds", api_seconds(d.left));
}

void api_drain(struct api_call *c)
{
    api_json(c, 200, json_pack("{s:o}", "drain", api_draining(c->rt)));
}

static void drain(struct api_call *c, bool stop, json_int_t seconds)
{
    int error = runtime_drain(c->rt, stop, seconds ? (tick_t)seconds * TICK_SEC : TICK_NEVER);
    if (error == 0)
        api_drain(c);
    else if (error == RUNTIME_E_REFUSED)
        api_fail(c, 409, "the appliance is stopping already");
    else
        api_fail(c, 504, "some connections were not told: %s", runtime_error_text(error));
}

void api_drain_change(struct api_call *c)
{
    static const char *const known[] = {"stop", "timeout_seconds", NULL};
    json_t *body = c->body_len > 0 ? read_body(c) : json_object();
    bool stop = false;
    json_int_t seconds = 0;
    if (body && known_keys(c, body, known) && body_bool(c, body, "stop", &stop) &&
        body_number(c, body, "timeout_seconds", 1, DRAIN_MAX, &seconds))
        drain(c, stop, seconds);
    json_decref(body);
}

/* ---- /v1/capture ---- */

static json_t *capture_json(const struct runtime *rt)
{
    struct runtime_capture k;
    runtime_capture(rt, &k);
    return json_pack("{s:s, s:o, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:s?}", "state",
                     capture_state_name(k.state), "worker",
                     k.worker < 0 ? json_null() : json_integer(k.worker), "file", k.file,
                     "max_bytes", api_u64(k.max_bytes), "snaplen", api_u64(k.snaplen), "packets",
                     api_u64(k.packets), "bytes", api_u64(k.bytes), "lost", api_u64(k.lost),
                     "running_seconds", api_seconds(k.running), "error", k.error);
}

void api_capture(struct api_call *c)
{
    api_json(c, 200, json_pack("{s:o}", "capture", capture_json(c->rt)));
}

/* ---- POST /v1/capture ---- */

struct capture_wish {
    const char *action;
    struct runtime_capture_options options;
};

/* wish points into body. */
static bool read_wish(struct api_call *c, json_t *body, struct capture_wish *wish)
{
    static const char *const known[] = {"action", "worker", "file", "max_bytes", "snaplen", NULL};
    json_int_t worker = -1;
    json_int_t max_bytes = 0;
    json_int_t snaplen = 0;
    if (!known_keys(c, body, known) || !body_string(c, body, "action", &wish->action) ||
        !body_string(c, body, "file", &wish->options.file) ||
        !body_number(c, body, "worker", 0, (json_int_t)runtime_workers(c->rt) - 1, &worker) ||
        !body_number(c, body, "max_bytes", 0, INT64_MAX, &max_bytes) ||
        !body_number(c, body, "snaplen", CONFIG_SNAPLEN_MIN, CONFIG_SNAPLEN_MAX, &snaplen))
        return false;
    wish->options.worker = (int)worker;
    wish->options.max_bytes = (uint64_t)max_bytes;
    wish->options.snaplen = (uint32_t)snaplen;
    return true;
}

static void change_capture(struct api_call *c, const struct capture_wish *wish)
{
    char error[512] = "";
    int done;
    if (wish->action && strcmp(wish->action, "start") == 0) {
        done = runtime_capture_start(c->rt, &wish->options, error, sizeof(error));
    } else if (wish->action && strcmp(wish->action, "stop") == 0) {
        done = runtime_capture_stop(c->rt, error, sizeof(error));
    } else {
        api_fail(c, 400, "action: either \"start\" or \"stop\"");
        return;
    }
    if (done == 0)
        api_capture(c);
    else if (done == RUNTIME_E_REFUSED)
        api_fail(c, 409, "%s", error);
    else
        api_fail(c, done == RUNTIME_E_TIMEOUT ? 504 : 500, "capture: %s", runtime_error_text(done));
}

void api_capture_change(struct api_call *c)
{
    struct capture_wish wish = {0};
    json_t *body = read_body(c);
    if (body && read_wish(c, body, &wish))
        change_capture(c, &wish);
    json_decref(body);
}
