/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_API_H
#define MILLRACE_APP_API_H

/*
 * What the control socket answers, without the socket: a request as text in, a reply as text out.
 * On the control thread only. Each path has its permitted methods and query parameters in one table
 * (api.c); handlers see only requests that fit it.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/runtime.h"

#define API_PARAMS_MAX 8
#define API_BODY_MAX   65536u

#define API_TYPE_JSON        "application/json"
#define API_TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* How long a worker may take over one request before the answer is 504. */
#define API_WORKER_TIMEOUT_MS 200

struct api_param {
    const char *name;
    const char *value; /* "" in `?name` */
};

struct api_call {
    struct runtime *rt;
    const char *method;
    const char *path;
    const char *item; /* what stands in it for {id}; NULL: nothing does */
    struct api_param param[API_PARAMS_MAX];
    unsigned n_params;
    const char *body; /* NUL-terminated */
    size_t body_len;
    bool read_only; /* came by the TCP port */
    char peer[64];  /* who asks, for the log: "uid 0 pid 42" */

    /* The reply. */
    unsigned status;
    const char *type;
    const char *allow; /* with 405, otherwise NULL */
    char *text;        /* malloc'd; NULL: no memory */
    size_t len;
};

/* Fills the reply in. */
void api_answer(struct api_call *c);

/* ---- for handlers ---- */

/* Replies with json, which is taken; NULL: no memory. */
void api_json(struct api_call *c, unsigned status, json_t *json);
/* Replies {"error": {"status": …, "message": …}}. */
void api_fail(struct api_call *c, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As api_fail, for a runtime_error about a worker: 504 where it did not answer. */
void api_fail_worker(struct api_call *c, unsigned worker, int error);

/* A query parameter, NULL where it is absent. */
const char *api_param(const struct api_call *c, const char *name);
/* The whole number in [min, max] in a parameter; *to is left alone where it is absent. False: 400
 * is the reply. */
bool api_number(struct api_call *c, const char *name, uint64_t min, uint64_t max, uint64_t *to);
/* How many addresses of ours another host has; one sentence for each is added to warnings. 0 also
 * where worker 0, who knows, does not answer. */
unsigned api_duplicates(struct api_call *c, json_t *warnings);
/* ?worker=: *first and *last of the workers asked for, one or all. False: 400 or 404. */
bool api_which_workers(struct api_call *c, unsigned *first, unsigned *last);

/* *index of the parameter's value in names; left alone where it is absent. False: 400. */
bool api_choice(struct api_call *c, const char *name, const char *const *names, size_t n,
                size_t *index);

/* Ids and cursors: a worker's number, and what that worker calls it. */
#define API_MARK_MAX 32
char *api_mark(unsigned worker, uint64_t mark, char text[static API_MARK_MAX]);
/* Only what api_mark has written. */
bool api_mark_parse(const char *text, unsigned *worker, uint64_t *mark);

/* Of a clock that only goes on: for how long pages take. */
uint64_t api_now_ms(void);

/* null for "". */
json_t *api_text(const char *text);
json_t *api_ip(const struct ip_addr *a);
json_t *api_mac(const struct mac_addr *m);
/* An integer that JSON can hold. */
json_t *api_u64(uint64_t n);
/* Seconds, null for TICK_NEVER. */
json_t *api_seconds(tick_t t);
/* Of HTTP connections that are to end; null where none are. */
json_t *api_draining(struct runtime *rt);
/* A section of the configuration in force, key by key. */
json_t *api_section(const struct runtime *rt, const char *name);

#define API_HANDLERS(X) \
    X(index)            \
    X(version)          \
    X(health)           \
    X(workers)          \
    X(drops)            \
    X(ports)            \
    X(memory)           \
    X(neighbours)       \
    X(neighbours_flush) \
    X(addresses)        \
    X(paths)            \
    X(connections)      \
    X(connection)       \
    X(connection_reset) \
    X(connection_drain) \
    X(listeners)        \
    X(tunnels)          \
    X(tunnel_kill)      \
    X(resolver)         \
    X(config)           \
    X(reload)           \
    X(capture)          \
    X(capture_change)   \
    X(drain)            \
    X(drain_change)     \
    X(metrics)

#define X(name) void api_##name(struct api_call *c);
API_HANDLERS(X)
#undef X

#endif
