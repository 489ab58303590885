/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_MIN     1024
#define WINDOW_MAX     (16u << 20) /* so much memory a stream may need */
#define CONNECTION_MIN 65535
#define CONNECTION_MAX 0x7fffffffu /* RFC 9113 6.9.1 */
#define LIVE_MAX       4096
#define FRAME_MAX      16384
#define BUFFER_MAX     (64u << 20)
#define TARGET_MAX     300

enum kind { HELP, CLEAR, SET, TEXT, NUMBER, LIST, ENDPOINT };

struct row {
    const char *name;
    const char *value; /* NULL: takes none */
    const char *text;
    enum kind kind;
    size_t field;
    uint32_t min, max; /* of numbers */
};

#define AT(name) offsetof(struct options, name)

static const struct row rows[] = {
    {"proxy", "ADDR:PORT", "where the proxy is; an IPv6 address in brackets", ENDPOINT, AT(proxy),
     1, 65535},
    {"target", "HOST:PORT", "where each stream leads", TEXT, AT(target), 0, 0},
    {"listen", "ADDR:PORT", "where connections are taken (127.0.0.1:0, any free port)", ENDPOINT,
     AT(listen), 0, 65535},
    {"tls", NULL, "HTTP/2 over TLS; so it is anyway", CLEAR, AT(clear), 0, 0},
    {"clear", NULL, "HTTP/2 without TLS, by prior knowledge", SET, AT(clear), 0, 0},
    {"cafile", "FILE", "whom to trust, in place of those the system trusts", TEXT, AT(cafile), 0,
     0},
    {"insecure", NULL, "trust whatever certificate comes; -k is the same", SET, AT(insecure), 0, 0},
    {"name", "NAME", "the proxy's name in TLS (its address)", TEXT, AT(name), 0, 0},
    {"cert", "FILE", "a certificate of our own", TEXT, AT(certificate), 0, 0},
    {"key", "FILE", "its key", TEXT, AT(key), 0, 0},
    {"user", "USER:PASS", "for the proxy's Basic authentication", TEXT, AT(user), 0, 0},
    {"window", "N", "bytes of a stream's window (1048576)", NUMBER, AT(window), WINDOW_MIN,
     WINDOW_MAX},
    {"connection-window", "N", "bytes of the connection's window (67108864)", NUMBER,
     AT(connection_window), CONNECTION_MIN, CONNECTION_MAX},
    {"weights", "N,...", "RFC 7540 weights of the streams in turn, 1 to 256", LIST, AT(weights), 1,
     256},
    {"urgency", "N,...", "RFC 9218 urgencies of the streams in turn, 0 to 7", LIST, AT(urgencies),
     0, 7},
    {"frame", "N,...", "the most content of a DATA frame, of the streams in turn (16384)", LIST,
     AT(frames), 1, FRAME_MAX},
    {"early", NULL, "send content before the proxy has answered", SET, AT(early), 0, 0},
    {"max", "N", "tunnels at a time (256); more connections wait", NUMBER, AT(live), 1, LIVE_MAX},
    {"count", "N", "end after so many tunnels (at SIGTERM)", NUMBER, AT(count), 1, TUNNELS_MAX},
    {"skip", "N", "the first so many tunnels do not count for Jain's index (0)", NUMBER, AT(skip),
     0, TUNNELS_MAX},
    {"buffer", "N", "bytes of a local socket's buffers (what the kernel likes)", NUMBER, AT(buffer),
     4096, BUFFER_MAX},
    {"report", "FILE", "write there at the end, as JSON, what each stream had; -: standard output",
     TEXT, AT(report), 0, 0},
    {"help", NULL, "this text", HELP, 0, 0, 0},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

void fail(int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("connect_mux: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "%s%s\n", error ? ": " : "", error ? strerror(error) : "");
    exit(1);
}

uint32_t list_at(const struct list *list, uint32_t index, uint32_t none)
{
    return list->n > 0 ? list->value[index % list->n] : none;
}

_Noreturn static void help(void)
{
    puts("connect_mux --proxy ADDR:PORT --target HOST:PORT [OPTION...]\n\n"
         "Takes connections on a local port and brings each to the target, by a CONNECT stream of\n"
         "its own, all on one HTTP/2 connection to a proxy. Says \"ready PORT\" when it stands.\n");
    for (size_t i = 0; i < ROWS; i++)
        printf("  --%-17s %-9s  %s\n", rows[i].name, rows[i].value ? rows[i].value : "",
               rows[i].text);
    exit(0);
}

/* ---- values ---- */

/* Up to `end`, of which it returns the place. */
static const char *read_number(const struct row *row, const char *text, char end, uint32_t *number)
{
    char *rest;
    errno = 0;
    unsigned long long n = strtoull(text, &rest, 10);
    if (rest == text || *text == '-' || errno || (*rest != end && *rest != '\0') || n < row->min ||
        n > row->max)
        fail(0, "--%s %s: not a number from %u to %u", row->name, text, (unsigned)row->min,
             (unsigned)row->max);
    *number = (uint32_t)n;
    return rest;
}

static void read_list(const struct row *row, const char *text, struct list *list)
{
    list->n = 0;
    for (;;) {
        if (list->n == LIST_MAX)
            fail(0, "--%s: more than %d numbers", row->name, LIST_MAX);
        text = read_number(row, text, ',', &list->value[list->n++]);
        if (*text == '\0')
            return;
        text++;
    }
}

/* Is that an address of one family or the other? */
static bool read_address(const char *text, uint16_t port, struct endpoint *e)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&e->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&e->address;
    memset(&e->address, 0, sizeof(e->address));
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        e->len = sizeof(*v4);
        return true;
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    e->len = sizeof(*v6);
    return inet_pton(AF_INET6, text, &v6->sin6_addr) == 1;
}

static void read_endpoint(const struct row *row, const char *text, struct endpoint *e)
{
    char address[INET6_ADDRSTRLEN] = "";
    const char *colon = strrchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;
    bool brackets = len > 2 && text[0] == '[' && text[len - 1] == ']';
    uint32_t port = 0;
    if (colon)
        read_number(row, colon + 1, '\0', &port);
    if (len > 0 && len < sizeof(address) + 2)
        snprintf(address, sizeof(address), "%.*s", (int)(brackets ? len - 2 : len),
                 text + (brackets ? 1 : 0));
    if (!read_address(address, (uint16_t)port, e) || brackets != (e->address.ss_family == AF_INET6))
        fail(0, "--%s %s: not ADDRESS:PORT; IPv6 wants [ADDRESS]:PORT", row->name, text);
}

static void read_value(struct options *o, const struct row *row, const char *value)
{
    void *field = (char *)o + row->field;
    switch (row->kind) {
    case HELP: help();
    case CLEAR: *(bool *)field = false; return;
    case SET: *(bool *)field = true; return;
    case TEXT: *(const char **)field = value; return;
    case NUMBER: read_number(row, value, '\0', field); return;
    case LIST: read_list(row, value, field); return;
    case ENDPOINT: read_endpoint(row, value, field); return;
    }
}

/* ---- all of them ---- */

static const struct row *find(const char *name, size_t len)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
            return &rows[i];
    fail(0, "there is no option --%.*s; see --help", (int)len, name);
}

/* Its number of words. */
static int read_option(struct options *o, char **words)
{
    const char *name = words[0];
    if (strcmp(name, "-k") == 0)
        name = "--insecure";
    if (strncmp(name, "--", 2) != 0)
        fail(0, "%s: not an option; see --help", name);
    name += 2;
    size_t len = strcspn(name, "=");
    const struct row *row = find(name, len);
    bool joined = name[len] == '=';
    const char *value = joined ? name + len + 1 : words[1];
    if (!row->value && joined)
        fail(0, "--%s takes no value", row->name);
    if (row->value && (!value || *value == '\0'))
        fail(0, "--%s wants %s", row->name, row->value);
    read_value(o, row, value);
    return row->value && !joined ? 2 : 1;
}

static void check(const struct options *o)
{
    const char *colon = o->target ? strrchr(o->target, ':') : NULL;
    if (o->proxy.len == 0 || !o->target)
        fail(0, "--proxy and --target have to be given; see --help");
    if (!colon || colon == o->target || strlen(o->target) > TARGET_MAX)
        fail(0, "--target %s: not HOST:PORT", o->target);
    if (o->user && (!strchr(o->user, ':') || strlen(o->user) > TARGET_MAX))
        fail(0, "--user: not USER:PASS, or too long");
    if (!o->certificate != !o->key)
        fail(0, "--cert and --key belong together");
    if (o->clear && (o->certificate || o->cafile || o->insecure || o->name))
        fail(0, "--clear has no use for certificates and names");
}

void options_read(struct options *o, int argc, char **argv)
{
    *o = (struct options){.window = 1u << 20, .connection_window = 64u << 20, .live = 256};
    if (!read_address("127.0.0.1", 0, &o->listen))
        fail(0, "no address");
    for (int i = 1; i < argc;)
        i += read_option(o, argv + i);
    check(o);
}
