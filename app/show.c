/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/show.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "app/table.h"

/* ---- reading replies: a missing value reads as nothing ---- */

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "-";
}

static double number_of(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static bool is_true(const json_t *row, const char *key)
{
    return json_is_true(json_object_get(row, key));
}

/* The row of the same id in an earlier reply; NULL where there is none. */
static const json_t *earlier(const struct show *s, const char *list, const char *id,
                             const json_t *row)
{
    const json_t *rows = json_object_get(s->before, list);
    size_t i;
    json_t *other;
    json_array_foreach(rows, i, other)
    {
        if (json_equal(json_object_get(other, id), json_object_get(row, id)))
            return other;
    }
    return NULL;
}

static double growth(const struct show *s, const json_t *now, const json_t *before, const char *key)
{
    double n = number_of(now, key);
    if (!s->before)
        return n;
    double grown = n - number_of(before, key);
    return grown > 0 && s->seconds > 0 ? grown / s->seconds : 0;
}

static void count_cell(struct table *t, double n)
{
    char cell[TABLE_CELL];
    table_cell(t, "%s", table_count(cell, n));
}

static void bytes_cell(struct table *t, double n)
{
    char cell[TABLE_CELL];
    table_cell(t, "%s", table_bytes(cell, n));
}

/* Prints t, or one line in its place. */
static void finish(const struct show *s, struct table *t, const char *empty)
{
    bool rows = table_rows(t) > 0;
    table_print(t, rows ? s->out : NULL, s->columns);
    if (!rows)
        fprintf(s->out, "%s\n", empty);
}

/* ---- workers ---- */

/* Share of its time that a worker did work, in the interval or since its start. */
static double busy_percent(const json_t *now, const json_t *before)
{
    double busy = number_of(now, "busy_cycles") - number_of(before, "busy_cycles");
    double idle = number_of(now, "idle_cycles") - number_of(before, "idle_cycles");
    return busy + idle > 0 ? 100 * busy / (busy + idle) : 0;
}

void show_workers(const struct show *s)
{
    struct table *t =
        table_new(s->before ? ">WORKER >CORE STATE IDLE >BUSY >RX/s >RX-B/s >TX/s >TX-B/s >DROPS/s"
                            : ">WORKER >CORE STATE IDLE >BUSY >RX >RX-BYTES >TX >TX-BYTES >DROPS");
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(s->now, "workers"), i, row)
    {
        const json_t *old = earlier(s, "workers", "worker", row);
        const json_t *now = json_object_get(row, "counters");
        const json_t *before = json_object_get(old, "counters");
        table_cell(t, "%.0f", number_of(row, "worker"));
        table_cell(t, "%.0f", number_of(row, "core"));
        table_cell(t, "%s", text_of(row, "state"));
        table_cell(t, "%s", text_of(row, "idle"));
        table_cell(t, "%.1f%%", busy_percent(now, before));
        count_cell(t, growth(s, now, before, "rx_packets"));
        bytes_cell(t, growth(s, now, before, "rx_bytes"));
        count_cell(t, growth(s, now, before, "tx_packets"));
        bytes_cell(t, growth(s, now, before, "tx_bytes"));
        count_cell(t, growth(s, row, old, "dropped"));
    }
    finish(s, t, "no workers");
}

/* ---- ports ---- */

static void link_cell(struct table *t, const json_t *link)
{
    double mbps = number_of(link, "mbps");
    if (!is_true(link, "up"))
        table_cell(t, "down");
    else if (mbps >= 1000)
        table_cell(t, "up %.3gG", mbps / 1000);
    else if (mbps > 0)
        table_cell(t, "up %.0fM", mbps);
    else
        table_cell(t, "up");
}

static double lost(const struct show *s, const json_t *now, const json_t *before)
{
    return growth(s, now, before, "rx_missed") + growth(s, now, before, "rx_errors") +
           growth(s, now, before, "rx_no_mbuf") + growth(s, now, before, "tx_errors");
}

void show_ports(const struct show *s)
{
    struct table *t =
        table_new(s->before ? "DEVICE DRIVER MAC >MTU LINK >QUEUES >RX/s >TX/s >LOST/s"
                            : "DEVICE DRIVER MAC >MTU LINK >QUEUES >RX >TX >LOST");
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(s->now, "ports"), i, row)
    {
        const json_t *now = json_object_get(row, "stats");
        const json_t *before = json_object_get(earlier(s, "ports", "device", row), "stats");
        table_cell(t, "%s", text_of(row, "device"));
        table_cell(t, "%s", text_of(row, "driver"));
        table_cell(t, "%s", text_of(row, "mac"));
        table_cell(t, "%.0f", number_of(row, "mtu"));
        link_cell(t, json_object_get(row, "link"));
        table_cell(t, "%.0f", number_of(row, "rx_queues"));
        count_cell(t, growth(s, now, before, "rx_packets"));
        count_cell(t, growth(s, now, before, "tx_packets"));
        count_cell(t, lost(s, now, before));
    }
    finish(s, t, "no devices are configured");
}

/* ---- what the stacks know ---- */

static void seconds_cell(struct table *t, const json_t *row, const char *key)
{
    char cell[TABLE_CELL];
    const json_t *value = json_object_get(row, key);
    if (json_is_number(value))
        table_cell(t, "%s", table_seconds(cell, json_number_value(value)));
    else
        table_cell(t, "never");
}

void show_neighbours(const struct show *s)
{
    struct table *t = table_new("ADDRESS MAC DEVICE STATE >AGE >WAIT");
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(s->now, "neighbours"), i, row)
    {
        table_cell(t, "%s", text_of(row, "address"));
        table_cell(t, "%s", text_of(row, "mac"));
        table_cell(t, "%s", text_of(row, "device"));
        table_cell(t, "%s%s", text_of(row, "state"), is_true(row, "router") ? ",gw" : "");
        seconds_cell(t, row, "confirmed_seconds");
        count_cell(t, number_of(row, "queued"));
    }
    finish(s, t, "no neighbours: nobody has been spoken to yet");
}

void show_addresses(const struct show *s)
{
    struct table *t = table_new("ADDRESS DEVICE STATE ORIGIN");
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(s->now, "addresses"), i, row)
    {
        table_cell(t, "%s", text_of(row, "address"));
        table_cell(t, "%s", text_of(row, "device"));
        table_cell(t, "%s", text_of(row, "state"));
        table_cell(t, is_true(row, "link_local") ? "link-local" : "configured");
    }
    finish(s, t, "no addresses are configured");
}

void show_paths(const struct show *s)
{
    struct table *t = table_new("REMOTE >MTU >EXPIRES");
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(s->now, "paths"), i, row)
    {
        table_cell(t, "%s", text_of(row, "remote"));
        table_cell(t, "%.0f", number_of(row, "mtu"));
        seconds_cell(t, row, "expires_seconds");
    }
    finish(s, t, "no path has been found narrower than its device");
}

/* ---- connections and listeners ---- */

#define END_TEXT 64

/* "10.0.0.1:7", "[fd00::1]:7", "any:7" */
static const char *end_text(char text[static END_TEXT], const json_t *row, const char *address,
                            const char *port)
{
    const char *a = text_of(row, address);
    double number = number_of(row, port);
    if (strcmp(a, "::") == 0)
        snprintf(text, END_TEXT, "any:%.0f", number);
    else if (strchr(a, ':'))
        snprintf(text, END_TEXT, "[%s]:%.0f", a, number);
    else
        snprintf(text, END_TEXT, "%s:%.0f", a, number);
    return text;
}

/* "350us", "40.2ms", "12s"; "-" where it was never measured. */
static const char *time_text(char cell[static TABLE_CELL], const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    double s = json_number_value(value);
    if (!json_is_number(value))
        snprintf(cell, TABLE_CELL, "-");
    else if (s < 0.001)
        snprintf(cell, TABLE_CELL, "%.0fus", s * 1e6);
    else if (s < 1)
        snprintf(cell, TABLE_CELL, "%.3gms", s * 1e3);
    else
        table_seconds(cell, s);
    return cell;
}

/* Words of an entry, in lines that fit. */
struct words {
    FILE *out;
    int room, used;
};

static void word(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void word(struct words *w, const char *format, ...)
{
    char text[128];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (w->room && w->used && w->used + 1 + n > w->room)
        w->used = 0;
    fprintf(w->out, w->used ? " %s" : "\n    %s", text);
    w->used = (w->used ? w->used + 1 : 4) + n;
}

static void flag_word(struct words *w, const json_t *row, const char *key, const char *text)
{
    if (is_true(row, key))
        word(w, "%s", text);
}

static void time_word(struct words *w, const json_t *row, const char *key, const char *text)
{
    char cell[TABLE_CELL];
    if (json_is_number(json_object_get(row, key)))
        word(w, "%s:%s", text, time_text(cell, row, key));
}

/* A figure that is mostly 0 is worth its place only when it is not. */
static void number_word(struct words *w, const json_t *row, const char *key, const char *text)
{
    if (number_of(row, key) > 0)
        word(w, "%s:%.0f", text, number_of(row, key));
}

static void sender_words(struct words *w, const json_t *row)
{
    char cell[2][TABLE_CELL];
    word(w, "%s", text_of(row, "congestion"));
    word(w, "%s", text_of(row, "recovery"));
    time_word(w, row, "rto_seconds", "rto");
    number_word(w, row, "backoff", "backoff");
    if (json_is_number(json_object_get(row, "srtt_seconds")))
        word(w, "rtt:%s/%s", time_text(cell[0], row, "srtt_seconds"),
             time_text(cell[1], row, "rttvar_seconds"));
    time_word(w, row, "min_rtt_seconds", "minrtt");
    number_word(w, row, "mss_bytes", "mss");
    number_word(w, row, "mss_peer_bytes", "peer-mss");
    number_word(w, row, "path_mtu_bytes", "pmtu");
    number_word(w, row, "cwnd_bytes", "cwnd");
    number_word(w, row, "ssthresh_bytes", "ssthresh");
    if (number_of(row, "pacing_bytes_per_second") > 0)
        word(w, "pacing:%s/s", table_bytes(cell[0], number_of(row, "pacing_bytes_per_second")));
}

static void queue_words(struct words *w, const json_t *row)
{
    word(w, "snd-wnd:%.0f", number_of(row, "send_window_bytes"));
    word(w, "rcv-wnd:%.0f", number_of(row, "receive_window_bytes"));
    number_word(w, row, "in_flight_bytes", "in-flight");
    number_word(w, row, "unsent_bytes", "unsent");
    number_word(w, row, "lost_bytes", "lost");
    number_word(w, row, "sacked_bytes", "sacked");
    number_word(w, row, "unread_bytes", "unread");
    number_word(w, row, "reordered_bytes", "reordered");
    number_word(w, row, "tx_bytes", "bytes-sent");
    number_word(w, row, "retransmit_bytes", "bytes-retrans");
    number_word(w, row, "rx_bytes", "bytes-received");
    number_word(w, row, "tx_segments", "segs-out");
    number_word(w, row, "rx_segments", "segs-in");
    number_word(w, row, "memory_bytes", "mem");
}

static void tls_words(struct words *w, const json_t *tls)
{
    if (!json_is_object(tls))
        return;
    if (!is_true(tls, "open")) {
        word(w, "tls:handshake");
        return;
    }
    word(w, "tls:%s", text_of(tls, "version"));
    word(w, "cipher:%s", text_of(tls, "cipher"));
    word(w, "group:%s", text_of(tls, "group"));
    word(w, "sni:%s", text_of(tls, "server_name"));
    flag_word(w, tls, "resumed", "resumed");
}

static void http2_words(struct words *w, const json_t *h)
{
    if (!json_is_object(h))
        return;
    word(w, "h2-streams:%.0f", number_of(h, "streams"));
    number_word(w, h, "requests", "requests");
    word(w, "h2-snd-wnd:%.0f", number_of(h, "send_window_bytes"));
    word(w, "h2-rcv-wnd:%.0f", number_of(h, "receive_window_bytes"));
    number_word(w, h, "glitches", "glitches");
    number_word(w, h, "tx_frames", "frames-out");
    number_word(w, h, "rx_frames", "frames-in");
    word(w, "hpack:%.0f,%.0f", number_of(h, "tx_header_table_bytes"),
         number_of(h, "rx_header_table_bytes"));
    number_word(w, h, "memory_bytes", "h2-mem");
    if (strcmp(text_of(h, "goaway"), "none") != 0)
        word(w, "goaway:%s", text_of(h, "goaway"));
    time_word(w, h, "drain_seconds", "drain");
}

/* In the manner of `ss -ti`. */
static void print_connection(const struct show *s, const json_t *row)
{
    char local[END_TEXT];
    char remote[END_TEXT];
    struct words w = {.out = s->out, .room = s->columns};
    fprintf(s->out, "%s %s %s %s %s", text_of(row, "id"), text_of(row, "state"),
            text_of(row, "service"), end_text(local, row, "local_address", "local_port"),
            end_text(remote, row, "remote_address", "remote_port"));
    word(&w, "listener:%s", text_of(row, "listener"));
    word(&w, "worker:%.0f", number_of(row, "worker"));
    time_word(&w, row, "age_seconds", "age");
    time_word(&w, row, "idle_seconds", "idle");
    time_word(&w, row, "timer_seconds", "timer");
    if (json_is_string(json_object_get(row, "congestion"))) { /* not in TIME-WAIT */
        flag_word(&w, row, "passive", "passive");
        flag_word(&w, row, "from_cookie", "cookie");
        flag_word(&w, row, "timestamps", "ts");
        flag_word(&w, row, "sack", "sack");
        flag_word(&w, row, "ecn", "ecn");
        if (is_true(row, "window_scaling"))
            word(&w, "wscale:%.0f,%.0f", number_of(row, "send_scale"),
                 number_of(row, "receive_scale"));
        tls_words(&w, json_object_get(row, "tls"));
        http2_words(&w, json_object_get(row, "http2"));
        sender_words(&w, row);
        queue_words(&w, row);
    }
    fputc('\n', s->out);
}

static void print_connections(const struct show *s, const json_t *rows)
{
    struct table *t = table_new("ID STATE SERVICE >UNREAD >UNACKED >RTT LOCAL REMOTE");
    char cell[TABLE_CELL];
    char end[END_TEXT];
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        table_cell(t, "%s", text_of(row, "id"));
        table_cell(t, "%s", text_of(row, "state"));
        table_cell(t, "%s", text_of(row, "service"));
        bytes_cell(t, number_of(row, "unread_bytes"));
        bytes_cell(t, number_of(row, "in_flight_bytes") + number_of(row, "unsent_bytes"));
        table_cell(t, "%s", time_text(cell, row, "srtt_seconds"));
        table_cell(t, "%s", end_text(end, row, "local_address", "local_port"));
        table_cell(t, "%s", end_text(end, row, "remote_address", "remote_port"));
    }
    finish(s, t, "no connections");
}

void show_connections(const struct show *s)
{
    const json_t *one = json_object_get(s->now, "connection");
    const json_t *rows = json_object_get(s->now, "connections");
    size_t i;
    json_t *row;
    if (one)
        print_connection(s, one);
    else if (s->detail && json_array_size(rows) > 0)
        json_array_foreach(rows, i, row) print_connection(s, row);
    else
        print_connections(s, rows);
}

/* What comes to nothing at a bound: SYNs, and connections whose handshake there is no place for. */
static double refused(const struct show *s, const json_t *row, const json_t *before)
{
    return growth(s, row, before, "refused") + growth(s, row, before, "handshakes_refused");
}

void show_listeners(const struct show *s)
{
    struct table *t = table_new(
        s->before ? "NAME PROTOCOL LOCAL SERVICE >OPEN >HALF >ACCEPTED/s >COOKIES/s >REFUSED/s"
                  : "NAME PROTOCOL LOCAL SERVICE >OPEN >HALF >ACCEPTED >COOKIES >REFUSED");
    char end[END_TEXT];
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(s->now, "listeners"), i, row)
    {
        const json_t *before = earlier(s, "listeners", "name", row);
        table_cell(t, "%s", text_of(row, "name"));
        table_cell(t, "%s%s", text_of(row, "protocol"), is_true(row, "tls") ? "+tls" : "");
        table_cell(t, "%s", end_text(end, row, "address", "port"));
        table_cell(t, "%s", text_of(row, "service"));
        count_cell(t, number_of(row, "connections"));
        count_cell(t, number_of(row, "half_open") + number_of(row, "handshakes"));
        count_cell(t, growth(s, row, before, "accepted"));
        count_cell(t, growth(s, row, before, "cookies"));
        count_cell(t, refused(s, row, before));
    }
    finish(s, t, "no listeners are configured");
}

/* ---- tunnels, and the names they lead to ---- */

static void print_tunnels(const struct show *s, const json_t *rows)
{
    struct table *t = table_new("ID STATE USER >AGE >TO-TARGET >TO-CLIENT AUTHORITY");
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        table_cell(t, "%s", text_of(row, "id"));
        table_cell(t, "%s", text_of(row, "state"));
        table_cell(t, "%s", text_of(row, "user"));
        seconds_cell(t, row, "age_seconds");
        bytes_cell(t, number_of(row, "to_target"));
        bytes_cell(t, number_of(row, "to_client"));
        table_cell(t, "%s", text_of(row, "authority"));
    }
    finish(s, t, "no tunnels");
}

static void print_tunnel(const struct show *s, const json_t *row)
{
    char end[END_TEXT];
    struct words w = {.out = s->out, .room = s->columns};
    fprintf(s->out, "%s %s %s", text_of(row, "id"), text_of(row, "state"),
            text_of(row, "authority"));
    if (json_is_string(json_object_get(row, "target")))
        fprintf(s->out, " %s", end_text(end, row, "target", "target_port"));
    word(&w, "client:%s", end_text(end, row, "client_address", "client_port"));
    word(&w, "conn:%s", text_of(row, "connection"));
    word(&w, "listener:%s", text_of(row, "listener"));
    word(&w, "proxy:%s", text_of(row, "proxy"));
    word(&w, "user:%s", text_of(row, "user"));
    time_word(&w, row, "age_seconds", "age");
    time_word(&w, row, "resolved_seconds", "resolved");
    time_word(&w, row, "connected_seconds", "connected");
    word(&w, "to-target:%.0f", number_of(row, "to_target"));
    word(&w, "to-client:%.0f", number_of(row, "to_client"));
    fputc('\n', s->out);
}

void show_tunnels(const struct show *s)
{
    const json_t *rows = json_object_get(s->now, "tunnels");
    size_t i;
    json_t *row;
    if (s->detail && json_array_size(rows) > 0)
        json_array_foreach(rows, i, row) print_tunnel(s, row);
    else
        print_tunnels(s, rows);
}

/* In the last column, which may go on in more lines. */
static void addresses_cell(struct table *t, const json_t *list)
{
    char text[512] = "-";
    size_t used = 0;
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        const char *a = json_string_value(item);
        if (a && used + strlen(a) + 2 < sizeof(text))
            used += (size_t)sprintf(text + used, "%s%s", used ? " " : "", a);
    }
    table_cell(t, "%s", text);
}

/* Counters, but for those that have counted nothing. */
static void counter_words(const struct show *s)
{
    const json_t *now = json_object_get(s->now, "counters");
    const json_t *before = json_object_get(s->before, "counters");
    struct words w = {.out = s->out, .room = s->columns};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)now, key, value)
    {
        double n = growth(s, now, before, key);
        if (n > 0)
            word(&w, s->before ? "%s:%.1f/s" : "%s:%.0f", key, n);
    }
    fputc('\n', s->out);
}

void show_resolver(const struct show *s)
{
    struct table *t = table_new("NAME FAMILY OUTCOME >LEFT ADDRESSES");
    size_t i;
    json_t *row;
    fprintf(s->out, "names cached %.0f, queries under way %.0f, questions that wait %.0f",
            number_of(s->now, "cached"), number_of(s->now, "under_way"),
            number_of(s->now, "waiting"));
    counter_words(s);
    json_array_foreach(json_object_get(s->now, "names"), i, row)
    {
        table_cell(t, "%s", text_of(row, "name"));
        table_cell(t, "%s", text_of(row, "family"));
        table_cell(t, "%s", text_of(row, "outcome"));
        seconds_cell(t, row, "left_seconds");
        addresses_cell(t, json_object_get(row, "addresses"));
    }
    finish(s, t, "no name is known");
}

/* ---- drops ---- */

void show_drops(const struct show *s)
{
    struct table *t = table_new(s->before ? "REASON >DROPS/s MEANING" : "REASON >DROPS MEANING");
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(s->now, "drops"), i, row)
    {
        double n = growth(s, row, earlier(s, "drops", "reason", row), "total");
        table_cell(t, "%s", text_of(row, "reason"));
        count_cell(t, n);
        table_cell(t, "%s", text_of(row, "text"));
    }
    finish(s, t, "no packet has been dropped");
}

/* ---- the appliance ---- */

static void print_list(const struct show *s, const json_t *list, const char *before)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item) fprintf(s->out, "%s%s\n", before, json_string_value(item));
}

static void print_draining(const struct show *s, const json_t *drain)
{
    char cell[TABLE_CELL];
    if (json_is_object(drain))
        fprintf(s->out, "%s: HTTP connections that have not ended %.0f, for at most %s more\n",
                text_of(drain, "state"), number_of(drain, "connections"),
                table_seconds(cell, number_of(drain, "remaining_seconds")));
}

void show_drain(const struct show *s)
{
    const json_t *drain = json_object_get(s->now, "drain");
    print_draining(s, drain);
    if (!json_is_object(drain))
        fprintf(s->out, "no connections are being drained\n");
}

void show_health(const struct show *s)
{
    char cell[TABLE_CELL];
    struct table *t = table_new(">WORKER STATE >STALLED");
    size_t i;
    json_t *row;
    fprintf(s->out, "%s, up %s, %s, configured by %s\n", text_of(s->now, "status"),
            table_seconds(cell, number_of(s->now, "uptime_seconds")), text_of(s->now, "memory"),
            text_of(s->now, "config_file"));
    print_draining(s, json_object_get(s->now, "drain"));
    print_list(s, json_object_get(s->now, "warnings"), "warning: ");
    json_array_foreach(json_object_get(s->now, "workers"), i, row)
    {
        table_cell(t, "%.0f", number_of(row, "worker"));
        table_cell(t, "%s", text_of(row, "state"));
        seconds_cell(t, row, "stalled_seconds");
    }
    finish(s, t, "no workers");
}

void show_memory(const struct show *s)
{
    struct table *t = table_new("POOL >NODE >BUFFERS >IN-USE >USED >SIZE");
    char bound[TABLE_CELL];
    size_t i;
    json_t *row;
    fprintf(s->out, "%s\n", text_of(s->now, "mode"));
    json_array_foreach(json_object_get(s->now, "pools"), i, row)
    {
        double size = number_of(row, "size");
        double in_use = number_of(row, "in_use");
        table_cell(t, "%s", text_of(row, "name"));
        table_cell(t, "%.0f", number_of(row, "numa"));
        table_cell(t, "%.0f", size);
        table_cell(t, "%.0f", in_use);
        table_cell(t, "%.0f%%", size > 0 ? 100 * in_use / size : 0);
        bytes_cell(t, number_of(row, "bytes"));
    }
    finish(s, t, "no pools");
    if (number_of(s->now, "tcp_bytes_per_worker") > 0)
        fprintf(s->out, "of which TCP may hold %s in each worker\n",
                table_bytes(bound, number_of(s->now, "tcp_bytes_per_worker")));
}

void show_capture(const struct show *s)
{
    const json_t *k = json_object_get(s->now, "capture");
    const json_t *worker = json_object_get(k, "worker");
    char written[TABLE_CELL];
    char limit[TABLE_CELL];
    char time[TABLE_CELL];
    if (!json_is_string(json_object_get(k, "file"))) {
        fprintf(s->out, "no capture runs; start one with: millracectl capture start\n");
        return;
    }
    fprintf(s->out, "%s: %s\n", text_of(k, "state"), text_of(k, "file"));
    if (json_is_integer(worker))
        fprintf(s->out, "worker %d", (int)json_integer_value(worker));
    else
        fprintf(s->out, "all workers");
    fprintf(s->out, ", %.0f packets, %s of at most %s, %s\n", number_of(k, "packets"),
            table_bytes(written, number_of(k, "bytes")),
            table_bytes(limit, number_of(k, "max_bytes")),
            table_seconds(time, number_of(k, "running_seconds")));
    if (number_of(k, "lost") > 0)
        fprintf(s->out, "%.0f packets did not get in: they came too fast\n", number_of(k, "lost"));
    if (json_is_string(json_object_get(k, "error")))
        fprintf(s->out, "error: %s\n", text_of(k, "error"));
}

void show_version(const struct show *s)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)s->now, key, value)
        fprintf(s->out, "%s: %s\n", key, json_string_value(value));
}

/* ---- the configuration, as YAML ---- */

/* Words that YAML reads as something else than themselves. */
static bool is_yaml_word(const char *text)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no",
                                        "on",   "off",  "y",     "n"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/* JSON's scalars are YAML's; a string goes without quotes where nothing else could be meant. */
static void put_scalar(FILE *out, const json_t *value)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/.0123456789-";
    const char *text = json_string_value(value);
    if (text && (isalpha((unsigned char)*text) || *text == '/') &&
        strspn(text, plain) == strlen(text) && !is_yaml_word(text))
        fputs(text, out);
    else
        json_dumpf(value, out, JSON_ENCODE_ANY | JSON_COMPACT);
}

static void put_list(FILE *out, const json_t *list)
{
    size_t i;
    json_t *item;
    fputc('[', out);
    json_array_foreach(list, i, item)
    {
        fputs(i ? ", " : "", out);
        put_scalar(out, item);
    }
    fputc(']', out);
}

/* first stands before the first key, rest before the others. Keys that are not set are left out. */
static void put_keys(FILE *out, const json_t *keys, const char *first, const char *rest)
{
    const char *key;
    json_t *value;
    const char *before = first;
    json_object_foreach((json_t *)keys, key, value)
    {
        if (json_is_null(value))
            continue;
        fprintf(out, "%s%s: ", before, key);
        if (json_is_array(value))
            put_list(out, value);
        else
            put_scalar(out, value);
        fputc('\n', out);
        before = rest;
    }
}

void show_config(const struct show *s)
{
    const char *section;
    json_t *value;
    json_t *item;
    size_t i;
    fprintf(s->out, "# %s\n", text_of(s->now, "file"));
    json_object_foreach(json_object_get(s->now, "config"), section, value)
    {
        bool empty = json_is_array(value) && json_array_size(value) == 0;
        fprintf(s->out, "%s:%s\n", section, empty ? " []" : "");
        if (json_is_object(value))
            put_keys(s->out, value, "  ", "  ");
        json_array_foreach(value, i, item) put_keys(s->out, item, "  - ", "    ");
    }
}
