/* SPDX-License-Identifier: BSD-3-Clause */
/* /v1/version, /v1/health, /v1/workers, /v1/drops: what needs no answer from a worker. */
#include <jansson.h>
#include <microhttpd.h>

#include "app/api.h"

void api_version(struct api_call *c)
{
    api_json(c, 200,
             json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", "millrace", "version", MILLRACE_VERSION,
                       "dpdk", MILLRACE_DPDK_VERSION, "libmicrohttpd", MHD_get_version(), "jansson",
                       JANSSON_VERSION));
}

static const char *idle_name(enum config_idle idle)
{
    static const char *const names[] = {
        [CONFIG_IDLE_SLEEP] = "sleep", [CONFIG_IDLE_PAUSE] = "pause", [CONFIG_IDLE_POLL] = "poll"};
    return names[idle];
}

/* ---- health ---- */

static json_t *worker_health(const struct runtime_worker *w)
{
    return json_pack("{s:i, s:s, s:o}", "worker", w->index, "state", worker_state_name(w->state),
                     "stalled_seconds", api_seconds(w->stalled));
}

/* What a person should look at, though packets flow. */
static json_t *warnings_of(const struct runtime *rt)
{
    json_t *warnings = json_array();
    for (unsigned i = 0; i < runtime_ports(rt); i++) {
        struct runtime_port p;
        runtime_port(rt, i, &p);
        if (p.gone)
            json_array_append_new(
                warnings, json_sprintf("device %s: interface %s has been removed; restart once "
                                       "there is one again",
                                       p.name, p.interface));
        else if (!p.link_up)
            json_array_append_new(warnings, json_sprintf("device %s: no link", p.name));
    }
    struct runtime_capture capture;
    runtime_capture(rt, &capture);
    if (capture.state == CAPTURE_FAILED)
        json_array_append_new(warnings, json_sprintf("capture: %s", capture.error));
    return warnings;
}

/* The state of the whole is that of its worst worker. */
static const char *status_of(const struct runtime *rt)
{
    bool starting = false;
    for (unsigned i = 0; i < runtime_workers(rt); i++) {
        struct runtime_worker w;
        runtime_worker(rt, i, &w);
        if (w.state == WORKER_STUCK || (w.state == WORKER_STOPPED && !runtime_stopping(rt)))
            return "failing";
        starting |= w.state == WORKER_STARTING;
    }
    if (runtime_stopping(rt))
        return "stopping";
    return starting ? "starting" : "ok";
}

/* A device whose interface is gone carries nothing any more. */
static bool lacks_device(const struct runtime *rt)
{
    for (unsigned i = 0; i < runtime_ports(rt); i++) {
        struct runtime_port p;
        runtime_port(rt, i, &p);
        if (p.gone)
            return true;
    }
    return false;
}

/* Whether a worker has ever found one: only then is it worth asking whether it still is. */
static bool had_duplicates(const struct runtime *rt)
{
    uint64_t word[COUNTERS_WORDS];
    return runtime_workers(rt) > 0 && runtime_counters(rt, 0, word) &&
           word[COUNTER_DAD_DUPLICATES] > 0;
}

void api_health(struct api_call *c)
{
    json_t *workers = json_array();
    for (unsigned i = 0; i < runtime_workers(c->rt); i++) {
        struct runtime_worker w;
        runtime_worker(c->rt, i, &w);
        json_array_append_new(workers, worker_health(&w));
    }
    const char *status = status_of(c->rt);
    json_t *warnings = warnings_of(c->rt);
    if (status[0] == 'o' && had_duplicates(c->rt) && api_duplicates(c, warnings) > 0)
        status = "degraded";
    if (status[0] == 'o' && lacks_device(c->rt))
        status = "degraded";
    api_json(c, status[0] == 'o' ? 200 : 503,
             json_pack("{s:s, s:o, s:s, s:s, s:o, s:o, s:o}", "status", status, "uptime_seconds",
                       api_seconds(runtime_uptime(c->rt)), "memory", runtime_memory_mode(c->rt),
                       "config_file", runtime_config_file(c->rt), "drain", api_draining(c->rt),
                       "warnings", warnings, "workers", workers));
}

/* ---- workers ---- */

static json_t *counters_json(const uint64_t *word)
{
    json_t *all = json_object();
    for (int i = 0; i < COUNTER_END; i++)
        json_object_set_new(all, counter_name((enum counter)i), api_u64(word[i]));
    return all;
}

static uint64_t drops_of(const uint64_t *word)
{
    uint64_t sum = 0;
    for (int i = DROP_NONE + 1; i < DROP_END; i++)
        sum += word[counters_drop_word((enum drop)i)];
    return sum;
}

static json_t *worker_json(const struct runtime *rt, unsigned i)
{
    struct runtime_worker w;
    uint64_t word[COUNTERS_WORDS];
    runtime_worker(rt, i, &w);
    json_t *row =
        json_pack("{s:i, s:i, s:i, s:i, s:s, s:s, s:o}", "worker", w.index, "core", w.core, "lcore",
                  w.lcore, "numa", w.numa, "idle", idle_name(w.idle), "state",
                  worker_state_name(w.state), "stalled_seconds", api_seconds(w.stalled));
    if (!runtime_counters(rt, i, word))
        return row; /* without counters this once: its record was being written at each try */
    json_object_set_new(row, "dropped", api_u64(drops_of(word)));
    json_object_set_new(row, "counters", counters_json(word));
    return row;
}

void api_workers(struct api_call *c)
{
    unsigned first, last;
    if (!api_which_workers(c, &first, &last))
        return;
    json_t *rows = json_array();
    for (unsigned i = first; i <= last; i++)
        json_array_append_new(rows, worker_json(c->rt, i));
    api_json(c, 200,
             json_pack("{s:o, s:o, s:o}", "uptime_seconds", api_seconds(runtime_uptime(c->rt)),
                       "tsc_hz", api_u64(runtime_tsc_hz(c->rt)), "workers", rows));
}

/* ---- drops ---- */

static json_t *drop_json(unsigned workers, const uint64_t (*word)[COUNTERS_WORDS], enum drop why,
                         uint64_t *total)
{
    json_t *each = json_array();
    *total = 0;
    for (unsigned w = 0; w < workers; w++) {
        json_array_append_new(each, api_u64(word[w][counters_drop_word(why)]));
        *total += word[w][counters_drop_word(why)];
    }
    return json_pack("{s:s, s:s, s:o, s:o}", "reason", drop_name(why), "text", drop_text(why),
                     "total", api_u64(*total), "workers", each);
}

void api_drops(struct api_call *c)
{
    uint64_t word[CONFIG_WORKERS_MAX][COUNTERS_WORDS];
    uint64_t nonzero = 0;
    uint64_t sum = 0;
    if (!api_number(c, "nonzero", 0, 1, &nonzero))
        return;
    unsigned workers = runtime_workers(c->rt);
    for (unsigned w = 0; w < workers; w++) {
        if (!runtime_counters(c->rt, w, word[w])) {
            api_fail_worker(c, w, RUNTIME_E_TIMEOUT);
            return;
        }
    }
    json_t *rows = json_array();
    for (int i = DROP_NONE + 1; i < DROP_END; i++) {
        uint64_t total;
        json_t *row =
            drop_json(workers, (const uint64_t(*)[COUNTERS_WORDS])word, (enum drop)i, &total);
        sum += total;
        if (total > 0 || !nonzero)
            json_array_append_new(rows, row);
        else
            json_decref(row);
    }
    api_json(c, 200, json_pack("{s:o, s:o}", "total", api_u64(sum), "drops", rows));
}
