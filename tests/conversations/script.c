/* SPDX-License-Identifier: BSD-3-Clause */
#include "script.h"

#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 100000u

/* Where reading stands. The first error sticks, and what is read after it is of no matter. */
struct place {
    struct script *script;
    const char *at;
    uint32_t i; /* turn of the innermost repetition */
};

static void wrong(struct place *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void wrong(struct place *r, const char *format, ...)
{
    if (r->script->wrong[0])
        return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(r->script->wrong, sizeof(r->script->wrong), format, ap);
    va_end(ap);
}

/* Words and numbers */

static void skip_space(struct place *r)
{
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
}

static bool take(struct place *r, const char *word)
{
    skip_space(r);
    size_t n = strlen(word);
    if (strncmp(r->at, word, n) != 0)
        return false;
    bool letters = isalnum((unsigned char)word[n - 1]) != 0;
    if (letters && (isalnum((unsigned char)r->at[n]) || r->at[n] == '_'))
        return false;
    r->at += n;
    return true;
}

static void need(struct place *r, const char *word)
{
    if (!take(r, word))
        wrong(r, "\"%s\" is missing before \"%.20s\"", word, r->at);
}

static void take_word(struct place *r, char word[WORD_MAX])
{
    skip_space(r);
    unsigned n = 0;
    while (n < WORD_MAX - 1 && *r->at && !strchr(" \t<>,=!()", *r->at))
        word[n++] = *r->at++;
    word[n] = '\0';
}

static bool at_number(struct place *r)
{
    skip_space(r);
    return isdigit((unsigned char)*r->at) || *r->at == '-' ||
           (*r->at == 'i' && !isalnum((unsigned char)r->at[1]));
}

static uint32_t take_factor(struct place *r)
{
    if (*r->at == 'i') {
        r->at++;
        return r->i;
    }
    if (!isdigit((unsigned char)*r->at))
        wrong(r, "no number: \"%.20s\"", r->at);
    char *end;
    uint32_t n = (uint32_t)strtoull(r->at, &end, 10);
    r->at = end;
    return n;
}

static uint32_t take_product(struct place *r)
{
    uint32_t n = take_factor(r);
    while (*r->at == '*') {
        r->at++;
        n *= take_factor(r);
    }
    return n;
}

/* "1", "-4", "1+i*1460": without spaces. */
static uint32_t take_number(struct place *r)
{
    skip_space(r);
    bool minus = *r->at == '-';
    r->at += minus;
    uint32_t n = take_product(r);
    n = minus ? -n : n;
    while (*r->at == '+' || *r->at == '-') {
        minus = *r->at++ == '-';
        uint32_t m = take_product(r);
        n = minus ? n - m : n + m;
    }
    return n;
}

/* Seconds: "0.2" */
static tick_t take_time(struct place *r)
{
    char *end;
    tick_t t = strtoull(r->at, &end, 10) * TICK_SEC;
    if (end == r->at && *end != '.')
        wrong(r, "no time: \"%.20s\"", r->at);
    r->at = end;
    if (*r->at != '.')
        return t;
    r->at++;
    for (tick_t digit = TICK_SEC / 10; isdigit((unsigned char)*r->at) && digit > 0; digit /= 10)
        t += (tick_t)(*r->at++ - '0') * digit;
    return t;
}

/* Settings */

enum setting_type {
    SETTING_BOOL,
    SETTING_NOT,
    SETTING_U16,
    SETTING_U32,
    SETTING_U64,
    SETTING_TIME
};

struct setting {
    const char *name;
    enum setting_type type;
    size_t at;
};

#define TCP_SETTING(type, name)                                 \
    {                                                           \
#name, type, offsetof(struct script_settings, tcp.name) \
    }
#define LIMIT(type, name)                                          \
    {                                                              \
#name, type, offsetof(struct script_settings, limits.name) \
    }
#define OWN(type, name)                                     \
    {                                                       \
#name, type, offsetof(struct script_settings, name) \
    }

static const struct setting settings[] = {
    {"timestamps", SETTING_NOT, offsetof(struct script_settings, tcp.no_timestamps)},
    {"sack", SETTING_NOT, offsetof(struct script_settings, tcp.no_sack)},
    {"window_scaling", SETTING_NOT, offsetof(struct script_settings, tcp.no_window_scaling)},
    {"pacing", SETTING_NOT, offsetof(struct script_settings, tcp.no_pacing)},
    {"listen", SETTING_NOT, offsetof(struct script_settings, no_listener)},
    {"syn_cookies", SETTING_NOT, offsetof(struct script_settings, no_cookies)},
    TCP_SETTING(SETTING_BOOL, nagle),
    TCP_SETTING(SETTING_U16, initial_window),
    TCP_SETTING(SETTING_U32, receive_buffer),
    TCP_SETTING(SETTING_U32, receive_buffer_max),
    TCP_SETTING(SETTING_U32, send_buffer),
    TCP_SETTING(SETTING_U32, send_buffer_max),
    TCP_SETTING(SETTING_U32, promises),
    TCP_SETTING(SETTING_U32, challenge_rate),
    TCP_SETTING(SETTING_U32, reset_rate),
    TCP_SETTING(SETTING_TIME, rto_min),
    TCP_SETTING(SETTING_TIME, delayed_ack),
    TCP_SETTING(SETTING_TIME, connect_timeout),
    TCP_SETTING(SETTING_TIME, accept_timeout),
    TCP_SETTING(SETTING_TIME, user_timeout),
    TCP_SETTING(SETTING_TIME, fin_timeout),
    TCP_SETTING(SETTING_TIME, time_wait),
    TCP_SETTING(SETTING_TIME, keepalive),
    TCP_SETTING(SETTING_TIME, keepalive_interval),
    TCP_SETTING(SETTING_U16, keepalive_probes),
    LIMIT(SETTING_U32, flows),
    {"time_waits", SETTING_U32, offsetof(struct script_settings, limits.time_wait)},
    LIMIT(SETTING_U64, tcp_memory),
    OWN(SETTING_BOOL, tailroom),
    OWN(SETTING_U32, mtu),
    OWN(SETTING_U32, ip),
    OWN(SETTING_U32, isn),
    OWN(SETTING_U32, backlog),
    OWN(SETTING_TIME, tolerance),
};

static bool take_on(struct place *r)
{
    if (take(r, "on"))
        return true;
    need(r, "off");
    return false;
}

static void set(struct place *r, const struct setting *s)
{
    void *at = (char *)&r->script->settings + s->at;
    switch (s->type) {
    case SETTING_BOOL: *(bool *)at = take_on(r); break;
    case SETTING_NOT: *(bool *)at = !take_on(r); break;
    case SETTING_U16: *(uint16_t *)at = (uint16_t)take_number(r); break;
    case SETTING_U32: *(uint32_t *)at = take_number(r); break;
    case SETTING_U64: *(uint64_t *)at = take_number(r); break;
    case SETTING_TIME: *(tick_t *)at = take(r, "never") ? TICK_NEVER : take_time(r); break;
    }
}

static void take_congestion(struct place *r)
{
    struct tcp_settings *tcp = &r->script->settings.tcp;
    tcp->congestion = take(r, "newreno") ? TCP_NEWRENO : TCP_CUBIC;
    if (tcp->congestion == TCP_CUBIC)
        need(r, "cubic");
}

static void take_ecn_setting(struct place *r)
{
    struct tcp_settings *tcp = &r->script->settings.tcp;
    if (take(r, "request"))
        tcp->ecn = TCP_ECN_REQUEST;
    else
        tcp->ecn = take_on(r) ? TCP_ECN_ACCEPT : TCP_ECN_OFF;
}

/* "--name=value", of which the dashes have been read. */
static void take_setting(struct place *r)
{
    char name[WORD_MAX];
    take_word(r, name);
    need(r, "=");
    if (r->script->n > 0)
        wrong(r, "settings come before events");
    if (strcmp(name, "congestion") == 0) {
        take_congestion(r);
        return;
    }
    if (strcmp(name, "ecn") == 0) {
        take_ecn_setting(r);
        return;
    }
    if (strcmp(name, "read") == 0) {
        r->script->settings.manual = !take_on(r);
        return;
    }
    for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        if (strcmp(name, settings[i].name) == 0) {
            set(r, &settings[i]);
            return;
        }
    wrong(r, "no such setting: %s", name);
}

/* Segments */

static unsigned take_flow(struct place *r)
{
    skip_space(r);
    if (*r->at != '@')
        return 1;
    r->at++;
    return take_number(r);
}

static int take_ecn(struct place *r)
{
    static const char *const names[] = {"[noecn]", "[ect1]", "[ect0]", "[ce]"};
    for (int i = 0; i < 4; i++)
        if (take(r, names[i]))
            return i;
    return -1;
}

static unsigned take_flags(struct place *r)
{
    static const char letters[] = "FSRP.UEW";
    unsigned flags = 0;
    skip_space(r);
    if (*r->at == '-') {
        r->at++;
        return 0;
    }
    const char *letter;
    while (*r->at && (letter = strchr(letters, *r->at)) != NULL) {
        flags |= 1u << (letter - letters);
        r->at++;
    }
    if (!flags || (*r->at != ' ' && *r->at != '\t'))
        wrong(r, "no flags: \"%.20s\"", r->at);
    return flags;
}

/* "1:1001(1000)" */
static void take_range(struct place *r, struct segment *s)
{
    s->seq = take_number(r);
    need(r, ":");
    uint32_t end = take_number(r);
    need(r, "(");
    s->len = take_number(r);
    need(r, ")");
    if (end - s->seq != s->len)
        wrong(r, "%u bytes, not %u, are from one to the other", end - s->seq, s->len);
    if (s->len > 65000)
        wrong(r, "a segment of %u bytes", s->len);
}

static void take_hex(struct place *r, struct option *o)
{
    skip_space(r);
    o->kind = OPTION_HEX;
    while (isxdigit((unsigned char)r->at[0]) && isxdigit((unsigned char)r->at[1]) &&
           o->n < sizeof(o->hex)) {
        char digits[3] = {r->at[0], r->at[1], '\0'};
        o->hex[o->n++] = (uint8_t)strtoul(digits, NULL, 16);
        r->at += 2;
    }
}

static void take_timestamps(struct place *r, struct option *o)
{
    o->kind = OPTION_TS;
    need(r, "val");
    o->any_value = take(r, "?");
    if (!o->any_value)
        o->value = take_number(r);
    need(r, "ecr");
    o->any_echo = take(r, "?");
    if (!o->any_echo)
        o->echo = take_number(r);
}

static void take_sack(struct place *r, struct option *o)
{
    o->kind = OPTION_SACK;
    while (at_number(r) && o->n < 4) {
        o->sack[o->n].left = take_number(r);
        need(r, ":");
        o->sack[o->n++].right = take_number(r);
    }
}

static void take_option(struct place *r, struct option *o)
{
    *o = (struct option){.kind = OPTION_EOL};
    if (take(r, "nop")) {
        o->kind = OPTION_NOP;
    } else if (take(r, "mss")) {
        o->kind = OPTION_MSS;
        o->value = take_number(r);
    } else if (take(r, "wscale")) {
        o->kind = OPTION_WSCALE;
        o->any_value = take(r, "?");
        o->value = o->any_value ? 0 : take_number(r);
    } else if (take(r, "sackOK")) {
        o->kind = OPTION_SACK_OK;
    } else if (take(r, "sack")) {
        take_sack(r, o);
    } else if (take(r, "TS")) {
        take_timestamps(r, o);
    } else if (take(r, "hex")) {
        take_hex(r, o);
    } else if (!take(r, "eol")) {
        wrong(r, "no such option: \"%.20s\"", r->at);
    }
}

static void take_options(struct place *r, struct segment *s)
{
    if (!take(r, "<"))
        return;
    if (take(r, "...")) {
        s->any_options = true;
        need(r, ">");
        return;
    }
    do {
        if (s->n_options == SEGMENT_OPTIONS)
            wrong(r, "too many options");
        else
            take_option(r, &s->option[s->n_options++]);
    } while (take(r, ",") && !r->script->wrong[0]);
    need(r, ">");
}

static char take_content(struct place *r, char otherwise)
{
    if (!take(r, "content"))
        return otherwise;
    skip_space(r);
    return *r->at ? *r->at++ : otherwise;
}

static void take_segment(struct place *r, struct segment *s)
{
    s->flow = take_flow(r);
    s->ecn = take_ecn(r);
    s->flags = take_flags(r);
    take_range(r, s);
    if (take(r, "ack")) {
        s->has_ack = true;
        s->ack = take_number(r);
    }
    if (take(r, "win")) {
        s->has_window = true;
        s->window = take_number(r);
    }
    if (take(r, "urg"))
        s->urgent = take_number(r);
    take_options(r, s);
    s->content = take_content(r, 'A');
    s->bad_sum = take(r, "badsum");
}

/* Events */

/* "[1:1461(1460)] unreachable frag_needed mtu 1200" */
static void take_icmp(struct place *r, struct event *e)
{
    static const char *const unreachable[] = {"net", "host", "protocol", "port", "admin"};
    e->kind = EVENT_ICMP;
    e->segment.flow = take_flow(r);
    need(r, "[");
    take_range(r, &e->segment);
    need(r, "]");
    need(r, "icmp");
    if (take(r, "time_exceeded")) {
        e->news = NEWS_TIME_EXCEEDED;
        return;
    }
    if (take(r, "too_big") || (take(r, "unreachable") && take(r, "frag_needed"))) {
        e->news = NEWS_TOO_BIG;
        need(r, "mtu");
        e->mtu = take_number(r);
        return;
    }
    for (unsigned i = 0; i < 5; i++)
        if (take(r, unreachable[i])) {
            e->news = (enum icmp_news)i;
            return;
        }
    wrong(r, "no such ICMP message: \"%.20s\"", r->at);
}

static bool at_icmp(struct place *r)
{
    skip_space(r);
    const char *at = *r->at == '@' ? strchr(r->at, ' ') : r->at;
    while (at && *at == ' ')
        at++;
    return at && at[0] == '[' && (isdigit((unsigned char)at[1]) || at[1] == '-');
}

static void take_hear(struct place *r, struct event *e)
{
    e->kind = EVENT_HEAR;
    if (at_icmp(r)) {
        take_icmp(r, e);
        return;
    }
    take_segment(r, &e->segment);
    if (e->segment.any_options)
        wrong(r, "<...> is for what is expected");
}

static void take_assert(struct place *r, struct event *e)
{
    static const struct {
        const char *sign;
        enum relation relation;
    } relations[] = {{"==", IS},          {"!=", IS_NOT}, {"<=", IS_AT_MOST},
                     {">=", IS_AT_LEAST}, {"<", IS_LESS}, {">", IS_MORE}};
    e->kind = EVENT_ASSERT;
    e->flow = take_flow(r);
    take_word(r, e->name);
    for (unsigned i = 0; i < 6; i++)
        if (take(r, relations[i].sign)) {
            e->relation = relations[i].relation;
            take_word(r, e->value);
            return;
        }
    wrong(r, "\"==\" or the like is missing before \"%.20s\"", r->at);
}

struct verb_word {
    const char *word;
    enum event_kind kind;
    enum verb verb;
};

static const struct verb_word verbs[] = {
    {"write", EVENT_DO, DO_WRITE},       {"read", EVENT_DO, DO_READ},
    {"close", EVENT_DO, DO_CLOSE},       {"abort", EVENT_DO, DO_ABORT},
    {"connect", EVENT_DO, DO_CONNECT},   {"kill", EVENT_DO, DO_KILL},
    {"opened", EVENT_TOLD, TOLD_OPENED}, {"data", EVENT_TOLD, TOLD_DATA},
    {"end", EVENT_TOLD, TOLD_END},       {"writable", EVENT_TOLD, TOLD_WRITABLE},
    {"ended", EVENT_TOLD, TOLD_ENDED},   {"reset", EVENT_TOLD, TOLD_RESET},
};

static void take_verb_rest(struct place *r, struct event *e)
{
    e->content = 'A';
    if (e->verb == DO_WRITE || e->verb == DO_READ) {
        e->a = take_number(r);
    } else if (e->verb == TOLD_DATA) {
        e->a = take_number(r);
        need(r, ":");
        e->b = take_number(r);
        e->content = take_content(r, 'A');
    } else if (e->verb == TOLD_RESET) {
        take_word(r, e->name);
    }
}

static void take_verb(struct place *r, struct event *e)
{
    e->flow = take_flow(r);
    for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (take(r, verbs[i].word)) {
            e->kind = verbs[i].kind;
            e->verb = verbs[i].verb;
            take_verb_rest(r, e);
            return;
        }
    if (take(r, "again")) {
        e->kind = EVENT_AGAIN;
        e->a = take_number(r);
        return;
    }
    wrong(r, "nobody knows what this is: \"%.20s\"", r->at);
}

/* "+0.1", "+0.1~+0.2" or "*" */
static void take_when(struct place *r, struct event *e)
{
    if (take(r, "*")) {
        e->from = TICK_NEVER;
        return;
    }
    need(r, "+");
    e->from = e->to = take_time(r);
    if (*r->at != '~')
        return;
    r->at++;
    need(r, "+");
    e->to = take_time(r);
}

static struct event *add_event(struct place *r)
{
    struct script *s = r->script;
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->event = realloc(s->event, s->room * sizeof(*s->event));
    }
    if (!s->event || s->n == EVENTS_MAX)
        abort();
    struct event *e = &s->event[s->n++];
    *e = (struct event){.line = s->line, .flow = 1};
    return e;
}

static void take_event(struct place *r)
{
    struct event *e = add_event(r);
    take_when(r, e);
    if (take(r, "<")) {
        take_hear(r, e);
    } else if (take(r, ">")) {
        e->kind = take(r, "nothing") ? EVENT_NOTHING : EVENT_SAY;
        if (e->kind == EVENT_SAY)
            take_segment(r, &e->segment);
    } else if (take(r, "assert")) {
        take_assert(r, e);
    } else {
        take_verb(r, e);
    }
    if (e->from != e->to && e->kind != EVENT_SAY)
        wrong(r, "only what is expected may come at one time or another");
}

/* Lines */

static bool at_comment(struct place *r)
{
    skip_space(r);
    return *r->at == '\0' || *r->at == '#' || strncmp(r->at, "//", 2) == 0;
}

static void take_line(struct place *r)
{
    if (at_comment(r))
        return;
    if (take(r, "--"))
        take_setting(r);
    else
        take_event(r);
    if (!at_comment(r))
        wrong(r, "and what is this: \"%.20s\"", r->at);
}

static unsigned take_lines(struct place *r, char *const *lines, unsigned from, unsigned n,
                           bool inner);

/* "repeat 10 {" was line `from`; returns the one of its end. */
static unsigned take_repeat(struct place *r, char *const *lines, unsigned from, unsigned n)
{
    uint32_t times = take_number(r);
    need(r, "{");
    uint32_t outer = r->i;
    unsigned end = from;
    for (r->i = 0; r->i < times && !r->script->wrong[0]; r->i++)
        end = take_lines(r, lines, from + 1, n, true);
    r->i = outer;
    return end;
}

static unsigned take_lines(struct place *r, char *const *lines, unsigned from, unsigned n,
                           bool inner)
{
    unsigned at = from;
    for (; at < n && !r->script->wrong[0]; at++) {
        r->at = lines[at];
        r->script->line = at + 1;
        if (take(r, "}"))
            break;
        if (take(r, "repeat"))
            at = take_repeat(r, lines, at, n);
        else
            take_line(r);
    }
    if (inner != (at < n))
        wrong(r, inner ? "\"}\" is missing" : "\"}\" ends nothing");
    return at;
}

static char *load(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return NULL;
    char *text = calloc(1, 1 << 20);
    if (text && fread(text, 1, (1 << 20) - 1, f) == 0)
        text[0] = '\0';
    fclose(f);
    return text;
}

static unsigned cut_lines(char *text, char **lines, unsigned max)
{
    unsigned n = 0;
    while (*text && n < max) {
        lines[n++] = text;
        text += strcspn(text, "\n");
        if (*text)
            *text++ = '\0';
    }
    return n;
}

bool script_read(struct script *s, const char *path)
{
    *s = (struct script){.settings = {.mtu = 1500,
                                      .ip = 4,
                                      .isn = UINT32_MAX - 999,
                                      .tolerance = TICK_MS,
                                      .tcp = {.no_pacing = true}}};
    s->text = load(path);
    if (!s->text) {
        snprintf(s->wrong, sizeof(s->wrong), "cannot be read");
        return false;
    }
    static char *lines[20000];
    unsigned n = cut_lines(s->text, lines, sizeof(lines) / sizeof(lines[0]));
    struct place r = {.script = s};
    take_lines(&r, lines, 0, n, false);
    return !s->wrong[0];
}

void script_free(struct script *s)
{
    free(s->text);
    free(s->event);
}
