/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /metrics: OpenMetrics 1.0 text. Labels are worker, device, reason, kind and end and no other, so
 * that their number is bounded by the configuration and the registries. Names carry base units;
 * what only counts cycles is there in seconds too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/api.h"

/* One moment of everything, so that a family's samples stand together. */
struct scrape {
    const struct runtime *rt;
    FILE *out;
    unsigned workers;
    bool known[CONFIG_WORKERS_MAX]; /* the worker's counters could be read */
    uint64_t word[CONFIG_WORKERS_MAX][COUNTERS_WORDS];
};

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name);
    size_t m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* The unit has to be the end of the name (OpenMetrics 1.0, "Unit"). */
static const char *unit_of(const char *name)
{
    static const char *const units[] = {"seconds", "bytes", "cycles", "packets"};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (ends_with(name, units[i]))
            return units[i];
    return NULL;
}

/* Backslash, quote and line end (OpenMetrics 1.0, ABNF `escaped-string`). */
static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '\\' || *text == '"')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void family(const struct scrape *s, const char *name, const char *type, const char *help)
{
    const char *unit = unit_of(name);
    fprintf(s->out, "# TYPE millrace_%s %s\n", name, type);
    if (unit)
        fprintf(s->out, "# UNIT millrace_%s %s\n", name, unit);
    fprintf(s->out, "# HELP millrace_%s ", name);
    put_escaped(s->out, help);
    fputs(".\n", s->out);
}

static void gauge(const struct scrape *s, const char *name, double value, const char *help)
{
    family(s, name, "gauge", help);
    fprintf(s->out, "millrace_%s %.15g\n", name, value);
}

/* ---- workers ---- */

static void counter_family(const struct scrape *s, enum counter which)
{
    const char *name = counter_name(which);
    family(s, name, "counter", counter_text(which));
    for (unsigned w = 0; w < s->workers; w++)
        if (s->known[w])
            fprintf(s->out, "millrace_%s_total{worker=\"%u\"} %" PRIu64 "\n", name, w,
                    s->word[w][which]);
}

static void cycles_in_seconds(const struct scrape *s, enum counter which, const char *name,
                              const char *help)
{
    double hz = (double)runtime_tsc_hz(s->rt);
    family(s, name, "counter", help);
    for (unsigned w = 0; w < s->workers; w++)
        if (s->known[w] && hz > 0)
            fprintf(s->out, "millrace_%s_total{worker=\"%u\"} %.6f\n", name, w,
                    (double)s->word[w][which] / hz);
}

/* What was opened is there until it is closed. */
static void open_family(const struct scrape *s, const char *name, enum counter opened,
                        enum counter closed, const char *help)
{
    family(s, name, "gauge", help);
    for (unsigned w = 0; w < s->workers; w++) {
        const uint64_t *word = s->word[w];
        uint64_t n = word[opened] > word[closed] ? word[opened] - word[closed] : 0;
        if (s->known[w])
            fprintf(s->out, "millrace_%s{worker=\"%u\"} %" PRIu64 "\n", name, w, n);
    }
}

static void open_families(const struct scrape *s)
{
    open_family(s, "tcp_connections", COUNTER_TCP_OPENED, COUNTER_TCP_CLOSED,
                "TCP connections that are open");
    open_family(s, "h2_connections", COUNTER_H2_OPENED, COUNTER_H2_CLOSED,
                "HTTP/2 connections that are open");
    open_family(s, "h2_streams", COUNTER_H2_STREAMS_OPENED, COUNTER_H2_STREAMS_CLOSED,
                "HTTP/2 streams that are open");
    open_family(s, "tunnels", COUNTER_TUNNELS_OPENED, COUNTER_TUNNELS_CLOSED,
                "CONNECT tunnels that are open");
}

/* Of all counters, those whose names begin alike are one family, with the rest as a label. */
static const struct kinds {
    const char *prefix;
    const char *family;
    const char *label;
    const char *help;
} kinds[] = {
    {"h2_glitch_", "h2_glitches", "kind",
     "What an HTTP/2 client may do and no decent one does often, by kind"},
    {"tunnel_end_", "tunnels_ended", "end", "CONNECT requests and tunnels that are over, by why"},
};

static const struct kinds *kinds_of(enum counter which)
{
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(counter_name(which), kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
            return &kinds[i];
    return NULL;
}

static void kinds_family(const struct scrape *s, const struct kinds *k)
{
    family(s, k->family, "counter", k->help);
    for (unsigned w = 0; w < s->workers; w++)
        for (int i = 0; s->known[w] && i < COUNTER_END; i++)
            if (kinds_of((enum counter)i) == k)
                fprintf(s->out, "millrace_%s_total{worker=\"%u\",%s=\"%s\"} %" PRIu64 "\n",
                        k->family, w, k->label, counter_name((enum counter)i) + strlen(k->prefix),
                        s->word[w][i]);
}

static void access_log_families(const struct scrape *s)
{
    family(s, "access_log_lost", "counter",
           "Requests not in the access log, because the ring to the control core was full");
    for (unsigned w = 0; w < s->workers; w++)
        fprintf(s->out, "millrace_access_log_lost_total{worker=\"%u\"} %" PRIu64 "\n", w,
                runtime_access_log_lost(s->rt, w));
    family(s, "access_log_written", "counter", "Lines of the access log");
    fprintf(s->out, "millrace_access_log_written_total %" PRIu64 "\n",
            runtime_access_log_written(s->rt));
}

static void drop_family(const struct scrape *s)
{
    family(s, "drops", "counter", "Packets not delivered, answered or forwarded, by reason");
    for (unsigned w = 0; w < s->workers; w++)
        for (int d = DROP_NONE + 1; s->known[w] && d < DROP_END; d++)
            fprintf(s->out, "millrace_drops_total{worker=\"%u\",reason=\"%s\"} %" PRIu64 "\n", w,
                    drop_name((enum drop)d), s->word[w][counters_drop_word((enum drop)d)]);
}

static void worker_families(const struct scrape *s)
{
    struct runtime_worker info;
    family(s, "worker_up", "gauge", "1 while the worker turns, 0 otherwise");
    for (unsigned w = 0; w < s->workers; w++) {
        runtime_worker(s->rt, w, &info);
        fprintf(s->out, "millrace_worker_up{worker=\"%u\"} %d\n", w, info.state == WORKER_RUNNING);
    }
    family(s, "worker_stalled_seconds", "gauge", "How long the worker's loop has stood still");
    for (unsigned w = 0; w < s->workers; w++) {
        runtime_worker(s->rt, w, &info);
        fprintf(s->out, "millrace_worker_stalled_seconds{worker=\"%u\"} %.3f\n", w,
                (double)info.stalled / (double)TICK_SEC);
    }
    for (int i = 0; i < COUNTER_END; i++)
        if (!kinds_of((enum counter)i))
            counter_family(s, (enum counter)i);
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        kinds_family(s, &kinds[i]);
    cycles_in_seconds(s, COUNTER_BUSY_CYCLES, "busy_seconds", "Time of turns that did work");
    cycles_in_seconds(s, COUNTER_IDLE_CYCLES, "idle_seconds",
                      "Time of turns that found none, sleep included");
    open_families(s);
    drop_family(s);
    access_log_families(s);
}

/* ---- names and passwords ---- */

static void count(const struct scrape *s, const char *name, uint64_t value, const char *help)
{
    family(s, name, "counter", help);
    fprintf(s->out, "millrace_%s_total %" PRIu64 "\n", name, value);
}

static void microseconds(const struct scrape *s, const char *name, uint64_t us, const char *help)
{
    family(s, name, "counter", help);
    fprintf(s->out, "millrace_%s_total %.6f\n", name, (double)us / 1e6);
}

struct kind {
    const char *name;
    uint64_t value;
};

#define KINDS_MAX 4

/* One family of what came to one of several ends; name NULL ends the list. */
static void kinds_of_one(const struct scrape *s, const char *name, const char *help,
                         const struct kind kind[static KINDS_MAX])
{
    family(s, name, "counter", help);
    for (unsigned i = 0; i < KINDS_MAX && kind[i].name; i++)
        fprintf(s->out, "millrace_%s_total{kind=\"%s\"} %" PRIu64 "\n", name, kind[i].name,
                kind[i].value);
}

static void resolver_families(const struct scrape *s)
{
    struct resolver_stats r;
    runtime_resolver(s->rt, &r);
    const uint64_t *n = r.count;
    count(s, "resolver_questions", n[RESOLVER_QUESTIONS], "Names that workers asked for");
    kinds_of_one(s, "resolver_answers", "Names answered without a query, by from where",
                 (struct kind[KINDS_MAX]){{"hosts", n[RESOLVER_HOSTS]},
                                          {"special", n[RESOLVER_SPECIAL]},
                                          {"cache", n[RESOLVER_HITS]},
                                          {"negative_cache", n[RESOLVER_NEGATIVE_HITS]}});
    count(s, "resolver_joined", n[RESOLVER_JOINED], "Names whose query was under way already");
    count(s, "resolver_queries", n[RESOLVER_QUERIES], "Queries to name servers begun");
    kinds_of_one(s, "resolver_query_ends", "Queries to name servers that are over, by how",
                 (struct kind[KINDS_MAX]){{"resolved", n[RESOLVER_RESOLVED]},
                                          {"no_name", n[RESOLVER_NO_NAME]},
                                          {"timeout", n[RESOLVER_TIMEOUTS]},
                                          {"error", n[RESOLVER_ERRORS]}});
    microseconds(s, "resolver_query_seconds", n[RESOLVER_LATENCY_US], "Time those took, in sum");
    kinds_of_one(s, "resolver_busy", "Names not looked up because a bound was met, by which",
                 (struct kind[KINDS_MAX]){{"queries", n[RESOLVER_BUSY_QUERIES]},
                                          {"client", n[RESOLVER_BUSY_CLIENT]},
                                          {"waiting", n[RESOLVER_BUSY_WAITING]},
                                          {"memory", n[RESOLVER_BUSY_MEMORY]}});
    count(s, "resolver_evicted", n[RESOLVER_EVICTED], "Names in the cache that made room");
    gauge(s, "resolver_cached", r.cached, "Names in the cache, each family by itself");
    gauge(s, "resolver_queries_under_way", r.under_way, "Queries that are not over");
    gauge(s, "resolver_waiting", r.waiting, "Questions of workers that wait for one");
}

static void verifier_families(const struct scrape *s)
{
    struct verifier_stats v;
    runtime_verifier(s->rt, &v);
    const uint64_t *n = v.count;
    count(s, "verifier_questions", n[VERIFIER_QUESTIONS], "Passwords that workers asked about");
    kinds_of_one(
        s, "verifier_checks", "Passwords checked, by whether they were right",
        (struct kind[KINDS_MAX]){{"right", n[VERIFIER_RIGHT]}, {"wrong", n[VERIFIER_WRONG]}});
    microseconds(s, "verifier_check_seconds", n[VERIFIER_TIME_US], "Time those took, in sum");
    kinds_of_one(s, "verifier_busy", "Passwords not checked because a bound was met, by which",
                 (struct kind[KINDS_MAX]){{"queue", n[VERIFIER_BUSY_QUEUE]},
                                          {"client", n[VERIFIER_BUSY_CLIENT]}});
    gauge(s, "verifier_waiting", v.waiting, "Passwords that wait to be checked");
}

/* ---- devices ---- */

/* X(field of struct runtime_port_stats, meaning) */
#define DEVICE_COUNTERS(X)                                   \
    X(rx_packets, "Packets the device received")             \
    X(rx_bytes, "Bytes of those")                            \
    X(rx_missed, "Packets the device had no descriptor for") \
    X(rx_errors, "Packets the device found damaged")         \
    X(rx_no_mbuf, "Packets the driver had no buffer for")    \
    X(tx_packets, "Packets the device sent")                 \
    X(tx_bytes, "Bytes of those")                            \
    X(tx_errors, "Packets the device failed to send")

static void device_counters(const struct scrape *s, const struct runtime_port *port,
                            const struct runtime_port_stats *stats, unsigned n)
{
#define X(field, text)                                                                   \
    family(s, "device_" #field, "counter", text);                                        \
    for (unsigned i = 0; i < n; i++)                                                     \
        fprintf(s->out, "millrace_device_" #field "_total{device=\"%s\"} %" PRIu64 "\n", \
                port[i].name, stats[i].field);
    DEVICE_COUNTERS(X)
#undef X
}

/* X(name, value of struct runtime_port *p, meaning). A device's name needs no escape: config_load
 * refuses all but [a-z0-9_.-]. */
#define DEVICE_GAUGES(X)                                                                \
    X("device_link_up", p->link_up, "1 while the device has a link")                    \
    X("device_link_speed_bytes", p->link_mbps * 125000.0, "Bytes a second; 0: unknown") \
    X("device_mtu_bytes", p->mtu, "Largest IP packet")                                  \
    X("device_rx_queues", p->rx_queues, "Receive queues")                               \
    X("device_tx_queues", p->tx_queues, "Transmit queues")

static void device_gauges(const struct scrape *s, const struct runtime_port *port, unsigned n)
{
#define X(metric, value, text)                                   \
    family(s, metric, "gauge", text);                            \
    for (const struct runtime_port *p = port; p < port + n; p++) \
        fprintf(s->out, "millrace_" metric "{device=\"%s\"} %.0f\n", p->name, (double)(value));
    DEVICE_GAUGES(X)
#undef X
}

static void device_families(const struct scrape *s)
{
    struct runtime_port port[IFACE_MAX];
    struct runtime_port_stats stats[IFACE_MAX];
    unsigned n = runtime_ports(s->rt);
    if (n > IFACE_MAX)
        n = IFACE_MAX;
    for (unsigned i = 0; i < n; i++) {
        runtime_port(s->rt, i, &port[i]);
        runtime_port_stats(s->rt, i, &stats[i]);
    }
    device_gauges(s, port, n);
    device_counters(s, port, stats, n);
}

/* ---- the appliance ---- */

static void appliance_families(const struct scrape *s)
{
    double size = 0;
    double in_use = 0;
    struct runtime_capture k;
    for (unsigned i = 0; i < runtime_pools(s->rt); i++) {
        struct runtime_pool p;
        runtime_pool(s->rt, i, &p);
        size += p.size;
        in_use += p.in_use;
    }
    runtime_capture(s->rt, &k);
    gauge(s, "uptime_seconds", (double)runtime_uptime(s->rt) / (double)TICK_SEC,
          "Time since the workers started");
    gauge(s, "packet_buffers", size, "Packet buffers in all pools");
    gauge(s, "packet_buffers_in_use", in_use, "Those in use, queued in devices included");
    gauge(s, "tls_memory_bytes", (double)runtime_tls_memory(s->rt), "Memory that OpenSSL holds");
    int64_t end = runtime_certificates_end(s->rt);
    if (end > 0)
        gauge(s, "tls_certificates_end_timestamp_seconds", (double)end,
              "When the first of the certificates in force ends, in Unix time");
    gauge(s, "capture_running", k.state == CAPTURE_RUNNING, "1 while a capture runs");
    gauge(s, "capture_written_packets", (double)k.packets, "Packets in the last capture's file");
    gauge(s, "capture_lost_packets", (double)k.lost, "Packets that did not get into it");
}

void api_metrics(struct api_call *c)
{
    struct scrape *s = calloc(1, sizeof(*s));
    FILE *out = s ? open_memstream(&c->text, &c->len) : NULL;
    if (!out) {
        free(s);
        api_fail(c, 500, "no memory");
        return;
    }
    s->rt = c->rt;
    s->out = out;
    s->workers = runtime_workers(c->rt);
    for (unsigned w = 0; w < s->workers; w++)
        s->known[w] = runtime_counters(c->rt, w, s->word[w]);
    appliance_families(s);
    worker_families(s);
    resolver_families(s);
    verifier_families(s);
    device_families(s);
    fputs("# EOF\n", out);
    fclose(out);
    free(s);
    c->status = 200;
    c->type = API_TYPE_OPENMETRICS;
}
