/* SPDX-License-Identifier: BSD-3-Clause */
#include "play.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "service.h"
#include "world.h"

#define ANY_TIME (4 * 3600 * TICK_SEC) /* for "*" */

static tick_t last; /* when the event before happened */

static double seconds(tick_t t)
{
    return (double)t / 1e9;
}

/* What waits to be expected, for a message. */
static const char *unexpected(void)
{
    static char text[SEGMENT_TEXT + 40];
    struct segment s;
    const struct said *w = world_said();
    if (!w)
        return "nothing";
    said_parse(w, &s);
    char segment[SEGMENT_TEXT];
    segment_print(&s, segment);
    snprintf(text, sizeof(text), "at +%.6f \"> %s\"", seconds(w->at - last), segment);
    return text;
}

static void nothing_waits(void)
{
    if (world_said())
        fail("sent what was not expected: %s", unexpected());
}

/* Time passes until the event is due; meanwhile all is silent. */
static void wait_for(const struct event *e)
{
    tick_t at = last + e->from;
    if (at > world_now()) {
        nothing_waits();
        world_pass(at, false);
        nothing_waits();
    }
    last = at;
}

/* Segments */

static void hear(const struct event *e)
{
    wait_for(e);
    nothing_waits();
    char text[SEGMENT_TEXT];
    segment_print(&e->segment, text);
    note("%11s< %s", "", text);
    world_hear(&e->segment);
    world_settle();
}

static void hear_icmp(const struct event *e)
{
    wait_for(e);
    nothing_waits();
    note("%11s< icmp", "");
    world_hear_icmp(e);
    world_settle();
}

static const struct option *timestamps_of(const struct segment *s)
{
    for (unsigned i = 0; i < s->n_options; i++)
        if (s->option[i].kind == OPTION_TS)
            return &s->option[i];
    return NULL;
}

/* Our timestamps count as the script does from the first that it names. */
static void learn_timestamps(const struct said *w, const struct segment *should)
{
    struct flow *f = flow_of(w->flow);
    struct segment is;
    said_parse(w, &is);
    const struct option *mine = timestamps_of(should);
    const struct option *sent = timestamps_of(&is);
    if (f->ts_known || !mine || !sent || mine->any_value)
        return;
    f->ts_base = sent->value - mine->value;
    f->ts_known = true;
}

static void expect_when(const struct event *e, const struct said *w)
{
    if (e->from == TICK_NEVER)
        return;
    tick_t tolerance = world_settings()->tolerance;
    tick_t after = w->at - last;
    if (after + tolerance < e->from || after > e->to + tolerance)
        fail("sent at another time, +%.6f: %s", seconds(after), unexpected());
}

static void expect(const struct event *e)
{
    tick_t to = e->from == TICK_NEVER ? ANY_TIME : e->to;
    world_pass(last + to + world_settings()->tolerance, true);
    const struct said *w = world_said();
    char should[SEGMENT_TEXT];
    segment_print(&e->segment, should);
    if (!w)
        fail("nothing was sent; expected \"> %s\"", should);
    learn_timestamps(w, &e->segment);
    struct segment is;
    said_parse(w, &is);
    const char *other = segment_differs(&is, &e->segment);
    if (other)
        fail("%s: expected \"> %s\", but sent %s", other, should, unexpected());
    expect_when(e, w);
    last = w->at;
    world_take_said();
}

/* The service */

static void act(const struct event *e)
{
    struct flow *f = flow_of(e->flow);
    wait_for(e);
    switch (e->verb) {
    case DO_WRITE: service_write(f, e->a); break;
    case DO_READ: service_read(f, e->a); break;
    case DO_CONNECT: world_connect(e->flow); break;
    case DO_KILL:
        if (!world_kill(e->flow))
            fail("there is no connection to kill");
        break;
    default:
        if (!f->stream)
            fail("there is no connection to close");
        if (e->verb == DO_CLOSE) {
            stream_end(f->stream);
            break;
        }
        stream_abort(f->stream);
        f->stream = NULL;
        break;
    }
    world_settle();
}

static void told_data(const struct event *e, struct flow *f, bool more)
{
    if (e->a != f->checked + 1)
        fail("the service has been asked for its data up to %zu", f->checked + 1);
    if (f->n_got + 1 < e->b)
        fail("the service has got data up to %zu only", f->n_got + 1);
    if (!more && f->n_got + 1 > e->b)
        fail("the service has got data up to %zu", f->n_got + 1);
    for (uint32_t n = e->a; n != e->b; n++)
        if (f->got[n - 1] != content_byte(e->content, n))
            fail("byte %u that the service got is 0x%02x, not 0x%02x", n, f->got[n - 1],
                 content_byte(e->content, n));
    f->checked = e->b - 1;
}

static void told(const struct event *e, const struct event *next)
{
    wait_for(e);
    struct flow *f = flow_of(e->flow);
    if (e->verb == TOLD_DATA) {
        bool more = next && next->kind == EVENT_TOLD && next->verb == TOLD_DATA &&
                    next->flow == e->flow && next->from == 0;
        told_data(e, f, more);
        return;
    }
    if (!(f->told & 1u << e->verb))
        fail("the service has not been told that");
    f->told &= ~(1u << e->verb);
    if (e->name[0] && strcmp(e->name, stream_code_name(f->code)) != 0)
        fail("it was told reset %s", stream_code_name(f->code));
}

/* Figures */

struct figure {
    const char *name;
    size_t at;
    size_t size; /* 0: a text; 9: a time, in milliseconds */
};

#define FIGURE(name)                                                                             \
    {                                                                                            \
#name, offsetof(struct ctl_connection, name), sizeof(((struct ctl_connection *)0)->name) \
    }
#define TEXT(name)                                      \
    {                                                   \
#name, offsetof(struct ctl_connection, name), 0 \
    }
#define TIME(name)                                      \
    {                                                   \
#name, offsetof(struct ctl_connection, name), 9 \
    }

static const struct figure figures[] = {
    TEXT(state),         TEXT(recovery),        TEXT(congestion),
    TIME(srtt),          TIME(rttvar),          TIME(min_rtt),
    TIME(rto),           TIME(timer),           FIGURE(cwnd),
    FIGURE(ssthresh),    FIGURE(mss),           FIGURE(mss_peer),
    FIGURE(path_mtu),    FIGURE(send_window),   FIGURE(receive_window),
    FIGURE(send_scale),  FIGURE(receive_scale), FIGURE(backoff),
    FIGURE(in_flight),   FIGURE(lost),          FIGURE(sacked),
    FIGURE(unsent),      FIGURE(unread),        FIGURE(reordered),
    FIGURE(rx_bytes),    FIGURE(tx_bytes),      FIGURE(retransmit_bytes),
    FIGURE(rx_segments), FIGURE(tx_segments),   FIGURE(memory),
    FIGURE(flags),
};

static uint64_t number_at(const void *at, size_t size)
{
    tick_t t;
    switch (size) {
    case 1: return *(const uint8_t *)at;
    case 2: return *(const uint16_t *)at;
    case 4: return *(const uint32_t *)at;
    case 9: memcpy(&t, at, sizeof(t)); return t == TICK_NEVER ? t : t / TICK_MS;
    default: return *(const uint64_t *)at;
    }
}

/* False: there is no figure of that name. */
static bool figure_text(const struct ctl_connection *row, const char *name, char *text, size_t n)
{
    for (unsigned i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        const struct figure *f = &figures[i];
        const char *at = (const char *)row + f->at;
        if (strcmp(f->name, name) != 0)
            continue;
        if (f->size == 0)
            snprintf(text, n, "%s", *(const char *const *)at);
        else
            snprintf(text, n, "%" PRIu64, number_at(at, f->size));
        return true;
    }
    return false;
}

static uint64_t counted(const char *name)
{
    for (enum counter c = 0; c < COUNTER_END; c++)
        if (strcmp(counter_name(c), name) == 0)
            return world_count(c);
    for (enum drop d = DROP_NONE + 1; d < DROP_END; d++)
        if (strncmp(name, "drop.", 5) == 0 && strcmp(drop_name(d), name + 5) == 0)
            return world_drops(d);
    return UINT64_MAX;
}

/* Its value, as a text. */
static void value_of(const struct event *e, char *text, size_t n)
{
    struct ctl_connection row = {.state = "closed", .recovery = "", .congestion = ""};
    uint32_t rows;
    bool there = world_row(e->flow, &row, &rows);
    if (strcmp(e->name, "connections") == 0) {
        snprintf(text, n, "%u", rows);
    } else if (strcmp(e->name, "iss") == 0) {
        snprintf(text, n, "%u", flow_of(e->flow)->iss);
    } else if (figure_text(&row, e->name, text, n)) {
        if (!there && strcmp(e->name, "state") != 0)
            fail("there is no connection");
    } else {
        uint64_t count = counted(e->name);
        if (count == UINT64_MAX)
            fail("there is no figure and no counter of the name %s", e->name);
        snprintf(text, n, "%" PRIu64, count);
    }
}

static bool holds(enum relation relation, const char *is, const char *should)
{
    uint64_t a = strtoull(is, NULL, 10);
    uint64_t b = strtoull(should, NULL, 10);
    switch (relation) {
    case IS: return strcmp(is, should) == 0;
    case IS_NOT: return strcmp(is, should) != 0;
    case IS_LESS: return a < b;
    case IS_MORE: return a > b;
    case IS_AT_MOST: return a <= b;
    case IS_AT_LEAST: return a >= b;
    }
    return false;
}

static void check(const struct event *e)
{
    wait_for(e);
    char is[WORD_MAX];
    value_of(e, is, sizeof(is));
    if (!holds(e->relation, is, e->value))
        fail("%s is %s", e->name, is);
}

/* A new connection between the same ports: the peer's numbers count from there on. */
static void again(const struct event *e)
{
    struct flow *f = flow_of(e->flow);
    wait_for(e);
    f->irs += e->a;
    f->ours_known = f->ts_known = false;
    f->iss = f->ts_base = 0;
    f->told &= ~(1u << TOLD_OPENED | 1u << TOLD_WRITABLE);
    f->n_got = f->checked = f->unread = 0;
    f->written = 0;
}

static void play_event(const struct event *e, const struct event *next)
{
    switch (e->kind) {
    case EVENT_HEAR: hear(e); break;
    case EVENT_SAY: expect(e); break;
    case EVENT_NOTHING: wait_for(e); break;
    case EVENT_ICMP: hear_icmp(e); break;
    case EVENT_DO: act(e); break;
    case EVENT_TOLD: told(e, next); break;
    case EVENT_ASSERT: check(e); break;
    case EVENT_AGAIN: again(e); break;
    }
}

/* Ends are not kept from the script, and all that came is right, asked for or not. */
static void check_rest(void)
{
    static const struct {
        enum verb verb;
        const char *name;
    } ends[] = {{TOLD_END, "end"}, {TOLD_ENDED, "ended"}, {TOLD_RESET, "reset"}};
    nothing_waits();
    for (unsigned n = 1; n < WORLD_FLOWS; n++) {
        struct flow *f = flow_of(n);
        for (unsigned i = 0; i < 3; i++)
            if (f->told & 1u << ends[i].verb)
                fail("the service of connection %u was told \"%s\" and the script does not say so",
                     n, ends[i].name);
        for (size_t at = f->checked; at < f->n_got; at++)
            if (f->got[at] != content_byte('A', (uint32_t)at + 1))
                fail("byte %zu that the service got is wrong", at + 1);
    }
}

void play(const struct script *s, const uint32_t *ours)
{
    world_begin(&s->settings, ours);
    last = world_now();
    for (unsigned i = 0; i < s->n; i++) {
        report->line = s->event[i].line;
        play_event(&s->event[i], i + 1 < s->n ? &s->event[i + 1] : NULL);
    }
    check_rest();
    world_end();
}
