/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/show.h"

#include <ctype.h>
#include <stdbool.h>
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

void show_health(const struct show *s)
{
    char cell[TABLE_CELL];
    struct table *t = table_new(">WORKER STATE >STALLED");
    size_t i;
    json_t *row;
    fprintf(s->out, "%s, up %s, %s, configured by %s\n", text_of(s->now, "status"),
            table_seconds(cell, number_of(s->now, "uptime_seconds")), text_of(s->now, "memory"),
            text_of(s->now, "config_file"));
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
