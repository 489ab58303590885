/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The person's view of the control socket, and the doctor, which needs no running appliance. One
 * table holds the commands; help, the options each takes and what it asks for come from there.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "app/client.h"
#include "app/config.h"
#include "app/config_fault.h"
#include "app/config_keys.h"
#include "app/config_value.h"
#include "app/doctor.h"
#include "app/show.h"

#define DEFAULT_SOCKET "/run/millrace/control.sock"
#define DEFAULT_CONFIG "/etc/millrace/millrace.yaml"

#define TARGET_MAX 512
#define DRAIN_MAX  86400 /* seconds */

enum exit_code {
    DONE = 0,
    REFUSED = 1, /* the appliance said no, or is not well; the doctor found a failure */
    USAGE = 2,
    UNREACHABLE = 3, /* nobody answers on the socket */
};

/* X(enumerator, letter, long name, argument or NULL, what it does) */
#define OPTIONS(X)                                                                        \
    X(SOCKET, 's', "socket", "PATH", "the appliance's control.socket")                    \
    X(JSON, 'j', "json", NULL, "print the reply as JSON")                                 \
    X(HELP, 'h', "help", NULL, "print help, of the command where one is named")           \
    X(VERSION, 'V', "version", NULL, "print the version")                                 \
    X(WORKER, 'w', "worker", "N", "this worker only")                                     \
    X(IFACE, 'i', "iface", "DEVICE", "this device only")                                  \
    X(ALL, 'a', "all", NULL, "those that never happened too")                             \
    X(WATCH, 'n', "watch", "SECONDS", "again and again, with rates, until Ctrl-C")        \
    X(FILE, 'f', "file", "NAME", "name within capture.directory; default: from the time") \
    X(MAX_SIZE, 'm', "max-size", "SIZE", "end at this size: \"100 MiB\"")                 \
    X(SNAPLEN, 'l', "snaplen", "BYTES", "bytes kept of each packet")                      \
    X(STATE, 't', "state", "STATE", "those in this state only: established, open")        \
    X(LISTENER, 'L', "listener", "NAME", "those of this listener only")                   \
    X(PROTOCOL, 'p', "protocol", "NAME", "connections of this protocol only: tcp")        \
    X(PROXY, 'P', "proxy", "NAME", "tunnels of this proxy only")                          \
    X(USER, 'u', "user", "NAME", "tunnels of this user only")                             \
    X(TARGET, 'd', "target", "ADDRESS", "tunnels to this address or network only")        \
    X(LONG, 'e', "long", NULL, "all that is known of each")                               \
    X(STOP, 'S', "stop", NULL, "then the appliance stops, as by SIGTERM")                 \
    X(TIMEOUT, 'T', "timeout", "SECONDS", "for what goes on; http2.drain-timeout-s")      \
    X(CONFIG, 'c', "config", "FILE", "configuration; default: " DEFAULT_CONFIG)

enum option_id {
#define X(id, letter, name, argument, text) OPT_##id,
    OPTIONS(X)
#undef X
        OPT_END
};

static const struct {
    char letter;
    const char *name;
    const char *argument;
    const char *text;
} option_table[] = {
#define X(id, letter, name, argument, text) {letter, name, argument, text},
    OPTIONS(X)
#undef X
};

#define BIT(id) (1u << OPT_##id)
#define ALWAYS  (BIT(HELP) | BIT(VERSION))
#define ASKS    (BIT(SOCKET) | BIT(JSON))
#define SHOWS   (ASKS | BIT(WATCH))
#define OPERAND (1u << OPT_END) /* takes a word more */
#define FILTERS (BIT(WORKER) | BIT(STATE) | BIT(LISTENER) | BIT(PROTOCOL))
#define TUNNELS (BIT(WORKER) | BIT(STATE) | BIT(LISTENER) | BIT(PROXY) | BIT(USER) | BIT(TARGET))

struct options {
    uint32_t given;
    const char *value[OPT_END];
    const char *operand; /* behind the command's words; NULL: none */
    double watch;
    unsigned long worker;
    unsigned long snaplen;
    unsigned long timeout;
    uint64_t max_bytes;
};

struct command;
typedef int run_function(const struct command *c, const struct options *o);

static run_function run_show, run_metrics, run_capture, run_reload, run_flush, run_reset, run_kill,
    run_drain, run_drain_all, run_doctor;

static const struct command {
    const char *words;
    uint32_t options;
    run_function *run;
    const char *path; /* of the HTTP request */
    const char *list; /* paged replies: the key of the rows */
    show_function *show;
    const char *text;
} commands[] = {
    {"show health", SHOWS, run_show, "/v1/health", NULL, show_health,
     "is it well? exits with 1 if not"},
    {"show workers", SHOWS | BIT(WORKER), run_show, "/v1/workers", NULL, show_workers,
     "workers, their load and traffic"},
    {"show ports", SHOWS | BIT(IFACE), run_show, "/v1/ports", NULL, show_ports,
     "devices, links and traffic"},
    {"show drops", SHOWS | BIT(ALL), run_show, "/v1/drops", NULL, show_drops,
     "packets dropped, by reason"},
    {"show neighbours", SHOWS | BIT(WORKER) | BIT(IFACE), run_show, "/v1/neighbours", "neighbours",
     show_neighbours, "ARP and neighbour discovery entries"},
    {"show addresses", SHOWS | BIT(WORKER) | BIT(IFACE), run_show, "/v1/addresses", NULL,
     show_addresses, "the appliance's own addresses"},
    {"show paths", SHOWS | BIT(WORKER), run_show, "/v1/paths", "paths", show_paths,
     "destinations with a path MTU"},
    {"show conn", SHOWS | FILTERS | BIT(LONG) | OPERAND, run_show, "/v1/connections", "connections",
     show_connections, "connections; with an ID, all of one"},
    {"show listeners", SHOWS | BIT(WORKER), run_show, "/v1/listeners", NULL, show_listeners,
     "ports that services answer on"},
    {"show tunnels", SHOWS | TUNNELS | BIT(LONG), run_show, "/v1/tunnels", "tunnels", show_tunnels,
     "tunnels of CONNECT proxies"},
    {"show resolver", SHOWS, run_show, "/v1/resolver", "names", show_resolver,
     "names that were looked up for tunnels"},
    {"show memory", SHOWS, run_show, "/v1/memory", NULL, show_memory, "packet pools"},
    {"show capture", SHOWS, run_show, "/v1/capture", NULL, show_capture,
     "the capture that runs, or the last one"},
    {"show drain", SHOWS, run_show, "/v1/drain", NULL, show_drain,
     "HTTP/2 connections that are to end, and until when"},
    {"show config", ASKS, run_show, "/v1/config", NULL, show_config, "the configuration in force"},
    {"show version", ASKS, run_show, "/v1/version", NULL, show_version,
     "versions of the running appliance"},
    {"capture start", ASKS | BIT(WORKER) | BIT(FILE) | BIT(MAX_SIZE) | BIT(SNAPLEN), run_capture,
     "/v1/capture", "start", show_capture, "write packets to a pcapng file"},
    {"capture stop", ASKS, run_capture, "/v1/capture", "stop", show_capture, "end the capture"},
    {"flush neighbours", ASKS | BIT(WORKER), run_flush, "/v1/neighbours", NULL, NULL,
     "forget all neighbours; they are asked for again"},
    {"reset conn", ASKS | OPERAND, run_reset, "/v1/connections", NULL, NULL,
     "end the connection of an ID that 'show conn' shows"},
    {"kill tunnel", ASKS | OPERAND, run_kill, "/v1/tunnels", NULL, NULL,
     "end the tunnel of an ID that 'show tunnels' shows"},
    {"drain conn", ASKS | OPERAND, run_drain, "/v1/connections", NULL, NULL,
     "let the HTTP/2 connection of an ID finish its requests, and end"},
    {"drain all", ASKS | BIT(STOP) | BIT(TIMEOUT), run_drain_all, "/v1/drain", NULL, show_drain,
     "let all HTTP/2 connections do so"},
    {"reload", ASKS, run_reload, "/v1/reload", NULL, NULL,
     "read the configuration file again, as SIGHUP does"},
    {"metrics", BIT(SOCKET), run_metrics, "/metrics", NULL, NULL, "print OpenMetrics text"},
    {"doctor", BIT(CONFIG) | BIT(JSON) | OPERAND, run_doctor, NULL, NULL, NULL,
     "before a start: is this machine fit for a configuration? exits with 1 if not"},
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* ---- help ---- */

static void print_options(uint32_t which)
{
    for (int i = 0; i < OPT_END; i++) {
        char left[40];
        if (!(which & 1u << i))
            continue;
        snprintf(left, sizeof(left), "-%c, --%s%s%s", option_table[i].letter, option_table[i].name,
                 option_table[i].argument ? " " : "",
                 option_table[i].argument ? option_table[i].argument : "");
        printf("  %-22s %s\n", left, option_table[i].text);
    }
}

static bool begins_with(const char *text, const char *words)
{
    size_t n = strlen(words);
    return strncmp(text, words, n) == 0 && (n == 0 || text[n] == '\0' || text[n] == ' ');
}

static const struct command *find_command(const char *words)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].words, words) == 0)
            return &commands[i];
    return NULL;
}

/* What stands behind the command's words. */
static const char *operand_text(const struct command *c)
{
    if (!c || !(c->options & OPERAND))
        return "";
    if (c->run == run_doctor)
        return " [FILE]";
    return c->run == run_show ? " [ID]" : " ID";
}

/* Of all commands that begin with words. */
static void print_help(const char *words)
{
    uint32_t options = ALWAYS;
    unsigned n = 0;
    printf("Usage: millracectl [OPTION…] %s%s\n\n", *words ? words : "COMMAND",
           operand_text(find_command(words)));
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (!begins_with(commands[i].words, words))
            continue;
        printf("  %-22s %s\n", commands[i].words, commands[i].text);
        options |= commands[i].options;
        n++;
    }
    printf("\n");
    print_options(options);
    printf("\nExit status: 0 done, 1 refused or not well, 2 usage, 3 nobody answers.\n");
    if (n == N_COMMANDS)
        printf("The socket is -s, or $MILLRACE_SOCKET, or %s.\n", DEFAULT_SOCKET);
}

static int usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int usage(const char *format, ...)
{
    va_list args;
    fputs("millracectl: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs(" (millracectl --help)\n", stderr);
    return USAGE;
}

/* ---- asking ---- */

static const char *socket_of(const struct options *o)
{
    const char *from_environment = getenv("MILLRACE_SOCKET");
    if (o->value[OPT_SOCKET])
        return o->value[OPT_SOCKET];
    return from_environment && *from_environment ? from_environment : DEFAULT_SOCKET;
}

/* What the appliance said when it refused. */
static void print_refusal(const json_t *reply, int status)
{
    const json_t *error = json_object_get(reply, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    size_t i;
    json_t *fault;
    json_array_foreach(json_object_get(error, "faults"), i, fault)
        fprintf(stderr, "%s\n", json_string_value(fault));
    if (message)
        fprintf(stderr, "millracectl: %s\n", message);
    else
        fprintf(stderr, "millracectl: the appliance answered with status %d\n", status);
}

static int call(const struct options *o, const char *method, const char *target, const char *body,
                struct client_reply *reply)
{
    char error[CLIENT_ERROR_TEXT];
    if (client_call(socket_of(o), method, target, body, reply, error) == 0)
        return DONE;
    fprintf(stderr, "millracectl: %s\n", error);
    return UNREACHABLE;
}

/* *json is the reply, to be released, or NULL: then why has been printed. /v1/health has a reply
 * with REFUSED as well. */
static int call_json(const struct options *o, const char *method, const char *target,
                     const char *body, json_t **json)
{
    struct client_reply reply;
    json_error_t at;
    *json = NULL;
    int code = call(o, method, target, body, &reply);
    if (code != DONE)
        return code;
    *json = json_loadb(reply.body, reply.len, 0, &at);
    if (reply.status >= 400)
        code = REFUSED;
    if (code == REFUSED && (!*json || json_object_get(*json, "error"))) {
        print_refusal(*json, reply.status);
        json_decref(*json);
        *json = NULL;
    } else if (!*json) {
        fprintf(stderr, "millracectl: the reply is not JSON: %s\n", at.text);
        code = REFUSED;
    }
    client_reply_free(&reply);
    return code;
}

/* Behind what target holds, with what a URL does not let pass as it is escaped. */
static void add_escaped(char target[TARGET_MAX], const char *value)
{
    size_t n = strlen(target);
    for (; *value && n + 4 < TARGET_MAX; value++) {
        bool plain = isalnum((unsigned char)*value) || strchr("-_.~", *value);
        n += (size_t)snprintf(target + n, TARGET_MAX - n, plain ? "%c" : "%%%02X",
                              (unsigned char)*value);
    }
}

static void add_query(char target[TARGET_MAX], const char *name, const char *value)
{
    size_t n = strlen(target);
    snprintf(target + n, TARGET_MAX - n, "%c%s=", strchr(target, '?') ? '&' : '?', name);
    add_escaped(target, value);
}

static void first_target(const struct command *c, const struct options *o, char target[TARGET_MAX])
{
    static const enum option_id filters[] = {OPT_WORKER,   OPT_IFACE, OPT_STATE, OPT_LISTENER,
                                             OPT_PROTOCOL, OPT_PROXY, OPT_USER,  OPT_TARGET};
    snprintf(target, TARGET_MAX, "%s%s", c->path, o->operand ? "/" : "");
    if (o->operand)
        add_escaped(target, o->operand);
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
        if (o->value[filters[i]])
            add_query(target, option_table[filters[i]].name, o->value[filters[i]]);
    /* While watching, a reason that stands still is worth its line once it has counted. */
    if (c->show == show_drops && !(o->given & BIT(ALL)))
        add_query(target, "nonzero", "1");
}

/* The page that follows one, or the first where page is NULL. */
static int fetch_page(const struct command *c, const struct options *o, const json_t *page,
                      json_t **next)
{
    char target[TARGET_MAX];
    first_target(c, o, target);
    if (page)
        add_query(target, c->show == show_neighbours || c->show == show_paths ? "after" : "cursor",
                  json_string_value(json_object_get(page, "next")));
    return call_json(o, "GET", target, NULL, next);
}

static bool has_next(const json_t *page)
{
    return json_is_string(json_object_get(page, "next"));
}

/* The pages after the first, appended to its rows. */
static int fetch_rest(const struct command *c, const struct options *o, json_t *whole)
{
    json_t *rows = json_object_get(whole, c->list);
    int code = DONE;
    while (code == DONE && has_next(whole)) {
        json_t *page;
        code = fetch_page(c, o, whole, &page);
        json_array_extend(rows, json_object_get(page, c->list));
        json_t *next = json_object_get(page, "next");
        json_object_set(whole, "next", next ? next : json_null());
        json_decref(page);
    }
    return code;
}

static int fetch(const struct command *c, const struct options *o, json_t **reply)
{
    int code = fetch_page(c, o, NULL, reply);
    if (code == DONE && c->list && !o->operand)
        code = fetch_rest(c, o, *reply);
    return code;
}

/* ---- show ---- */

static void print_json(const json_t *json, size_t flags)
{
    json_dumpf(json, stdout, flags | JSON_REAL_PRECISION(9));
    putchar('\n');
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int terminal_columns(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO))
        return 0;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* There may be more of them than anybody wants to wait for, or to hold. */
static bool by_pages(const struct command *c, const struct options *o)
{
    bool many = c->show == show_connections || c->show == show_tunnels;
    return many && !o->operand && !(o->given & BIT(JSON));
}

/* Each page as soon as it is there. */
static int show_pages(const struct command *c, const struct options *o)
{
    json_t *page = NULL;
    bool any = false;
    bool more = true;
    int code = DONE;
    while (more) {
        json_t *next;
        code = fetch_page(c, o, page, &next);
        json_decref(page);
        page = next;
        more = code == DONE && has_next(page);
        bool rows = json_array_size(json_object_get(page, c->list)) > 0;
        if (page && (rows || (!any && !more)))
            c->show(&(struct show){.now = page,
                                   .out = stdout,
                                   .columns = terminal_columns(),
                                   .detail = o->given & BIT(LONG)});
        any |= rows;
    }
    json_decref(page);
    return code;
}

static int show_once(const struct command *c, const struct options *o)
{
    if (by_pages(c, o))
        return show_pages(c, o);
    json_t *reply;
    int code = fetch(c, o, &reply);
    if (reply && o->given & BIT(JSON))
        print_json(reply, JSON_INDENT(2));
    else if (reply)
        c->show(&(struct show){.now = reply, .out = stdout, .columns = terminal_columns()});
    json_decref(reply);
    return code;
}

static void clear_screen(void)
{
    fputs(isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "", stdout);
}

static int watch_pages(const struct command *c, const struct options *o)
{
    for (;;) {
        clear_screen();
        int code = show_pages(c, o);
        if (code != DONE)
            return code;
        puts("");
        fflush(stdout);
        usleep((useconds_t)(o->watch * 1e6));
    }
}

/* As text, each time on a cleared screen; as JSON, a line each time. */
static int watch(const struct command *c, const struct options *o)
{
    json_t *before = NULL;
    double then = 0;
    for (;;) {
        json_t *now;
        int code = fetch(c, o, &now);
        double at = now_s();
        if (!now) {
            json_decref(before);
            return code;
        }
        if (o->given & BIT(JSON)) {
            print_json(now, JSON_COMPACT);
        } else {
            clear_screen();
            c->show(&(struct show){now, before, at - then, stdout, terminal_columns(), false});
            puts("");
        }
        fflush(stdout);
        json_decref(before);
        before = now;
        then = at;
        usleep((useconds_t)(o->watch * 1e6));
    }
}

static int run_show(const struct command *c, const struct options *o)
{
    if (o->operand && o->given & FILTERS)
        return usage("an ID or a filter, not both");
    if (!(o->given & BIT(WATCH)))
        return show_once(c, o);
    return by_pages(c, o) ? watch_pages(c, o) : watch(c, o);
}

/* ---- the others ---- */

static int run_metrics(const struct command *c, const struct options *o)
{
    struct client_reply reply;
    int code = call(o, "GET", c->path, NULL, &reply);
    if (code != DONE)
        return code;
    fwrite(reply.body, 1, reply.len, reply.status == 200 ? stdout : stderr);
    code = reply.status == 200 ? DONE : REFUSED;
    client_reply_free(&reply);
    return code;
}

/* The reply is shown. */
static int post(const struct command *c, const struct options *o, const json_t *wish)
{
    char *body = json_dumps(wish, JSON_COMPACT);
    json_t *reply;
    int code = call_json(o, "POST", c->path, body, &reply);
    if (reply && o->given & BIT(JSON))
        print_json(reply, JSON_INDENT(2));
    else if (reply)
        c->show(&(struct show){.now = reply, .out = stdout});
    free(body);
    json_decref(reply);
    return code;
}

static int run_capture(const struct command *c, const struct options *o)
{
    json_t *wish = json_pack("{s:s}", "action", c->list);
    if (o->given & BIT(FILE))
        json_object_set_new(wish, "file", json_string(o->value[OPT_FILE]));
    if (o->given & BIT(WORKER))
        json_object_set_new(wish, "worker", json_integer((json_int_t)o->worker));
    if (o->given & BIT(MAX_SIZE))
        json_object_set_new(wish, "max_bytes", json_integer((json_int_t)o->max_bytes));
    if (o->given & BIT(SNAPLEN))
        json_object_set_new(wish, "snaplen", json_integer((json_int_t)o->snaplen));
    int code = post(c, o, wish);
    json_decref(wish);
    return code;
}

static int run_reload(const struct command *c, const struct options *o)
{
    json_t *reply;
    int code = call_json(o, "POST", c->path, NULL, &reply);
    if (reply && o->given & BIT(JSON))
        print_json(reply, JSON_INDENT(2));
    else if (reply)
        printf("reloaded %s\n", json_string_value(json_object_get(reply, "file")));
    json_decref(reply);
    return code;
}

static int run_flush(const struct command *c, const struct options *o)
{
    char target[TARGET_MAX];
    json_t *reply;
    first_target(c, o, target);
    int code = call_json(o, "DELETE", target, NULL, &reply);
    if (reply && o->given & BIT(JSON))
        print_json(reply, JSON_INDENT(2));
    else if (reply)
        printf("%lld entries forgotten\n",
               (long long)json_integer_value(json_object_get(reply, "flushed")));
    json_decref(reply);
    return code;
}

/* Of one connection or tunnel; the reply names it under key. */
static int change_one(const struct command *c, const struct options *o, const char *method,
                      const char *key, const char *what)
{
    char target[TARGET_MAX];
    json_t *reply;
    if (!o->operand)
        return usage("%s takes the ID of one; 'millracectl show %s' shows it", c->words,
                     c->run == run_kill ? "tunnels" : "conn");
    first_target(c, o, target);
    int code = call_json(o, method, target, NULL, &reply);
    if (reply && o->given & BIT(JSON))
        print_json(reply, JSON_INDENT(2));
    else if (reply)
        printf("%s %s\n", json_string_value(json_object_get(reply, key)), what);
    json_decref(reply);
    return code;
}

static int run_reset(const struct command *c, const struct options *o)
{
    return change_one(c, o, "DELETE", "reset", "is reset");
}

static int run_kill(const struct command *c, const struct options *o)
{
    return change_one(c, o, "DELETE", "killed", "has ended");
}

static int run_drain(const struct command *c, const struct options *o)
{
    return change_one(c, o, "POST", "draining", "is draining");
}

static int run_drain_all(const struct command *c, const struct options *o)
{
    json_t *wish = json_pack("{s:b}", "stop", o->given & BIT(STOP) ? 1 : 0);
    if (o->given & BIT(TIMEOUT))
        json_object_set_new(wish, "timeout_seconds", json_integer((json_int_t)o->timeout));
    int code = post(c, o, wish);
    json_decref(wish);
    return code;
}

/* ---- doctor ---- */

/* A finding for each line of text. */
static void add_lines(struct doctor *d, enum doctor_level level, char *text, const char *fix)
{
    for (char *line; (line = strsep(&text, "\n"));)
        if (*line)
            doctor_add(d, level, "config", fix, "%s", line);
}

/* What the file allows and hardly means. */
static void add_warnings(struct doctor *d, const struct config *config, const char *file)
{
    char *text = NULL;
    size_t len = 0;
    FILE *warnings = open_memstream(&text, &len);
    if (!warnings)
        return;
    config_warn(config, file, warnings);
    fclose(warnings);
    add_lines(d, DOCTOR_WARN, text, "change it, unless it is meant");
    free(text);
}

/* What a running appliance holds looks taken to the other checks. */
static void check_running(struct doctor *d)
{
    struct client_reply reply;
    char error[CLIENT_ERROR_TEXT];
    const char *path = d->config->control.socket;
    if (client_call(path, "GET", "/v1/version", NULL, &reply, error) == 0)
        doctor_add(d, DOCTOR_WARN, "millrace", "stop it first, or ask it: millracectl show health",
                   "runs already on %s: what it holds looks taken here", path);
    client_reply_free(&reply);
}

/* NULL, and why is found, where it is not valid. */
static struct config *read_config(struct doctor *d, const char *file)
{
    char *text = NULL;
    size_t len = 0;
    FILE *errors = open_memstream(&text, &len);
    if (!errors)
        return NULL;
    struct config *config = config_load(file, errors);
    if (config)
        config_probe(config, file, errors);
    fclose(errors);
    if (config && len == 0)
        doctor_add(d, DOCTOR_OK, "config", NULL, "%s is valid, and what it names is here", file);
    add_lines(d, DOCTOR_FAIL, text,
              config ? "change it, or give this machine what it names"
                     : "millrace --example prints a commented configuration");
    free(text);
    if (config)
        add_warnings(d, config, file);
    return config;
}

/* asked: the file was named. */
static void examine(struct doctor *d, const char *file, bool asked)
{
    bool none = !asked && access(file, F_OK) != 0;
    struct config *config = none ? NULL : read_config(d, file);
    if (none)
        doctor_add(d, DOCTOR_WARN, "config", "millracectl doctor FILE",
                   "none was looked at, for there is no %s; the rest is for the defaults", file);
    else if (!config)
        doctor_add(d, DOCTOR_WARN, "config", "correct the file, then ask again",
                   "the rest is for the defaults, without devices");
    if (!config)
        config = config_load("/dev/null", stderr); /* an empty document is valid */
    if (config) {
        d->config = config;
        check_running(d);
        doctor_examine(d);
    }
    config_free(config);
}

static int run_doctor(const struct command *c, const struct options *o)
{
    (void)c;
    struct doctor d = {.root = ""};
    const char *file = o->operand ? o->operand : o->value[OPT_CONFIG];
    if (o->operand && o->given & BIT(CONFIG))
        return usage("doctor looks at one file");
    examine(&d, file ? file : DEFAULT_CONFIG, file != NULL);
    int code = doctor_worst(&d) == DOCTOR_FAIL ? REFUSED : DONE;
    doctor_print(&d, o->given & BIT(JSON), stdout);
    doctor_clear(&d);
    return code;
}

/* ---- the command line ---- */

static bool whole_number(const char *text, unsigned long max, unsigned long *to)
{
    char *end;
    errno = 0;
    *to = strtoul(text, &end, 10);
    return isdigit((unsigned char)*text) && *end == '\0' && errno == 0 && *to <= max;
}

/* A size is what the configuration takes for capture.max-size. */
static int read_size(const char *text, uint64_t *to)
{
    const struct config_section *s = config_section_find("capture");
    struct config config;
    struct config_why why;
    if (!config_value_read(config_key_find(s, "max-size"), &config, text, &why))
        return usage("--max-size: %s", why.text);
    *to = config.capture.max_bytes;
    return DONE;
}

static int read_values(struct options *o)
{
    char *end;
    if (o->given & BIT(WORKER) &&
        !whole_number(o->value[OPT_WORKER], CONFIG_WORKERS_MAX - 1, &o->worker))
        return usage("--worker: '%s' is not a worker's number", o->value[OPT_WORKER]);
    if (o->given & BIT(SNAPLEN) &&
        (!whole_number(o->value[OPT_SNAPLEN], CONFIG_SNAPLEN_MAX, &o->snaplen) ||
         o->snaplen < CONFIG_SNAPLEN_MIN))
        return usage("--snaplen: '%s' is not a number from %u to %u", o->value[OPT_SNAPLEN],
                     CONFIG_SNAPLEN_MIN, CONFIG_SNAPLEN_MAX);
    if (o->given & BIT(TIMEOUT) &&
        (!whole_number(o->value[OPT_TIMEOUT], DRAIN_MAX, &o->timeout) || o->timeout == 0))
        return usage("--timeout: '%s' is not a number of seconds from 1 to %d",
                     o->value[OPT_TIMEOUT], DRAIN_MAX);
    if (o->given & BIT(WATCH)) {
        o->watch = strtod(o->value[OPT_WATCH], &end);
        if (*end || end == o->value[OPT_WATCH] || !(o->watch >= 0.1 && o->watch <= 3600))
            return usage("--watch: '%s' is not a number of seconds from 0.1 to 3600",
                         o->value[OPT_WATCH]);
    }
    return o->given & BIT(MAX_SIZE) ? read_size(o->value[OPT_MAX_SIZE], &o->max_bytes) : DONE;
}

static int parse_options(int argc, char **argv, struct options *o)
{
    struct option all[OPT_END + 1] = {0};
    char letters[2 * OPT_END + 2] = ":";
    size_t n = 1;
    for (int i = 0; i < OPT_END; i++) {
        int has = option_table[i].argument ? required_argument : no_argument;
        all[i] = (struct option){option_table[i].name, has, NULL, option_table[i].letter};
        letters[n++] = option_table[i].letter;
        if (has)
            letters[n++] = ':';
    }
    for (int got; (got = getopt_long(argc, argv, letters, all, NULL)) != -1;) {
        if (got == ':')
            return usage("%s needs a value", argv[optind - 1]);
        if (got == '?')
            return usage("no option %s", argv[optind - 1]);
        for (int i = 0; i < OPT_END; i++) {
            if (option_table[i].letter != got)
                continue;
            o->given |= 1u << i;
            o->value[i] = optarg;
        }
    }
    return DONE;
}

static void join_words(int n, char **word, char *text, size_t room)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < n && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? " " : "", word[i]);
}

static int no_command(const char *words)
{
    const char *known[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++) {
        known[i] = commands[i].words;
        if (begins_with(words, known[i]))
            return usage("too much for '%s':%s", known[i], words + strlen(known[i]));
    }
    const char *near = config_nearest(words, known, N_COMMANDS);
    return near ? usage("no command '%s'; did you mean '%s'?", words, near)
                : usage("no command '%s'", words);
}

static bool any_begins_with(const char *words)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (begins_with(commands[i].words, words))
            return true;
    return false;
}

static int run(const char *words, struct options *o)
{
    const struct command *c = find_command(words);
    if (!c && *words && any_begins_with(words))
        return usage("'%s' what?", words);
    if (!c)
        return *words ? no_command(words) : usage("which command?");
    for (int i = 0; i < OPT_END; i++)
        if (o->given & ~c->options & 1u << i)
            return usage("--%s means nothing to '%s'", option_table[i].name, words);
    int code = read_values(o);
    return code == DONE ? c->run(c, o) : code;
}

/* Returns how many words are the command's. */
static int take_operand(int n, char **word, struct options *o)
{
    char words[128];
    join_words(n - 1, word, words, sizeof(words));
    const struct command *c = find_command(words);
    if (!c || !(c->options & OPERAND))
        return n;
    o->operand = word[n - 1];
    return n - 1;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    char words[128];
    int code = parse_options(argc, argv, &o);
    if (code != DONE)
        return code;
    char **word = argv + optind;
    join_words(take_operand(argc - optind, word, &o), word, words, sizeof(words));
    if (o.given & BIT(VERSION)) {
        printf("millracectl %s\n", MILLRACE_VERSION);
    } else if (o.given & BIT(HELP)) {
        if (!any_begins_with(words))
            return no_command(words);
        print_help(words);
    } else {
        code = run(words, &o);
    }
    /* A full disk or a closed pipe is a failure too. */
    return fflush(stdout) == 0 ? code : REFUSED;
}
