/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that carry neither heads nor content: RFC 9113 6.3 to 6.9, RFC 9218 7.1. */
#include <string.h>

#include "http2/internal.h"

/* Any eight bytes; sent by us alone. */
const uint8_t h2_close_ping[8] = {'m', 'i', 'l', 'l', 'r', 'a', 'c', 'e'};

void h2_rst_output(struct h2_conn *c, uint32_t id, enum h2_error error)
{
    uint8_t *to = h2_queue_room(c, H2_RST_STREAM_SIZE);
    if (!to)
        return;
    h2_queue_push(c, h2_rst_stream_write(to, id, error));
    h2_count(c, COUNTER_H2_RESETS_TX, 1);
    h2_wake(c);
}

/* ---- SETTINGS (6.5) ---- */

static uint8_t *add_setting(uint8_t *at, uint16_t id, uint32_t value, uint32_t otherwise)
{
    return value == otherwise ? at : at + h2_setting_write(at, id, value);
}

/* What differs from the first values. */
static uint32_t write_settings(const struct h2_conn *c, uint8_t *at)
{
    const struct h2_settings *s = c->settings;
    const uint8_t *from = at;
    bool client = h2_has(c, H2_CONN_CLIENT);
    at = add_setting(at, H2_SETTINGS_HEADER_TABLE_SIZE, s->header_table, H2_HEADER_TABLE_SIZE);
    at = add_setting(at, H2_SETTINGS_ENABLE_PUSH, client ? 0 : 1, 1);
    at = add_setting(at, H2_SETTINGS_MAX_CONCURRENT_STREAMS, client ? 0 : s->max_streams,
                     UINT32_MAX);
    at = add_setting(at, H2_SETTINGS_INITIAL_WINDOW_SIZE, s->stream_window, H2_WINDOW_FIRST);
    at = add_setting(at, H2_SETTINGS_MAX_FRAME_SIZE, s->max_frame, H2_FRAME_SIZE_MIN);
    at = add_setting(at, H2_SETTINGS_MAX_HEADER_LIST_SIZE, s->header_list, UINT32_MAX);
    at = add_setting(at, H2_SETTINGS_ENABLE_CONNECT_PROTOCOL, !client && s->connect_protocol, 0);
    at = add_setting(at, H2_SETTINGS_NO_RFC7540_PRIORITIES, c->sched.policy != SCHED_TREE,
                     0); /* RFC 9218 2.1 */
    return (uint32_t)(at - from);
}

#define SETTINGS_MOST (8 * H2_SETTINGS_ENTRY)

bool h2_greet(struct h2_conn *c)
{
    uint8_t *to =
        h2_queue_room(c, H2_PREFACE_SIZE + H2_FRAME_HEADER + SETTINGS_MOST + H2_WINDOW_UPDATE_SIZE);
    if (!to)
        return false;
    uint32_t n = 0;
    if (h2_has(c, H2_CONN_CLIENT)) {
        memcpy(to, H2_PREFACE, H2_PREFACE_SIZE);
        n = H2_PREFACE_SIZE;
    }
    struct h2_frame f = {.type = H2_SETTINGS};
    f.length = write_settings(c, to + n + H2_FRAME_HEADER);
    h2_frame_write(to + n, &f);
    n += H2_FRAME_HEADER + f.length;
    uint32_t window = c->settings->connection_window;
    if (window > H2_WINDOW_FIRST) {
        n += h2_window_update_write(to + n, 0, window - H2_WINDOW_FIRST);
        c->receive_window = window;
    }
    h2_queue_push(c, n);
    return true;
}

/* What we announced is in force. */
static void settings_acked(struct h2_conn *c)
{
    if (h2_has(c, H2_CONN_ACKED)) {
        h2_odd(c, H2_GLITCH_UNKNOWN_FRAME);
        return;
    }
    h2_set(c, H2_CONN_ACKED);
    c->settings_at = TICK_NEVER;
    int64_t delta = (int64_t)c->settings->stream_window - c->own_window;
    uint32_t at = 0;
    c->own_window = c->settings->stream_window;
    for (struct h2_stream *s; (s = h2_streams_next(&c->streams, &at));) {
        s->receive_window += delta;
        if (s->state !=
            H2_HALF_CLOSED_REMOTE) /* little of the first window is much of a small one */
            h2_stream_credit(s, 0);
    }
    uint32_t table = c->settings->header_table;
    h2_memo_forget(&c->h2->memo, c);
    if (table < H2_HEADER_TABLE_SIZE && !hpack_decoder_acked(&c->decoder, table))
        h2_fail(c, H2_INTERNAL_ERROR);
}

/* One entry into *p. H2_NO_ERROR, or what is wrong with it. */
static enum h2_error take_setting(const struct h2_conn *c, uint16_t id, uint32_t v,
                                  struct h2_peer_settings *p)
{
    switch (id) {
    case H2_SETTINGS_HEADER_TABLE_SIZE: p->header_table = v; return H2_NO_ERROR;
    case H2_SETTINGS_ENABLE_PUSH: /* a server's may only be 0 */
        return v > (h2_has(c, H2_CONN_CLIENT) ? 0 : 1) ? H2_PROTOCOL_ERROR : H2_NO_ERROR;
    case H2_SETTINGS_MAX_CONCURRENT_STREAMS: p->max_streams = v; return H2_NO_ERROR;
    case H2_SETTINGS_INITIAL_WINDOW_SIZE:
        p->initial_window = v;
        return v > H2_WINDOW_MAX ? H2_FLOW_CONTROL_ERROR : H2_NO_ERROR;
    case H2_SETTINGS_MAX_FRAME_SIZE:
        p->max_frame = v;
        return v < H2_FRAME_SIZE_MIN || v > H2_FRAME_SIZE_MAX ? H2_PROTOCOL_ERROR : H2_NO_ERROR;
    case H2_SETTINGS_MAX_HEADER_LIST_SIZE: p->header_list = v; return H2_NO_ERROR;
    case H2_SETTINGS_ENABLE_CONNECT_PROTOCOL: /* RFC 8441 3: never taken back */
        if (v > 1 || (v == 0 && p->connect_protocol))
            return H2_PROTOCOL_ERROR;
        p->connect_protocol = v;
        return H2_NO_ERROR;
    case H2_SETTINGS_NO_RFC7540_PRIORITIES: /* RFC 9218 2.1: never changed */
        if (v > 1 || (h2_has(c, H2_CONN_SETTINGS_DONE) && c->peers.no_priorities != v))
            return H2_PROTOCOL_ERROR;
        p->no_priorities = (uint8_t)v;
        return H2_NO_ERROR;
    default: /* RFC 9113 6.5.2: ignored */ return H2_NO_ERROR;
    }
}

/* RFC 9113 6.9.2. Would the window of a stream exceed what there is? */
static bool overflows(const struct h2_conn *c, int64_t delta)
{
    uint32_t at = 0;
    if (delta <= 0)
        return false;
    for (const struct h2_stream *s; (s = h2_streams_next(&c->streams, &at));)
        if (s->send_window + delta > (int64_t)H2_WINDOW_MAX)
            return true;
    return false;
}

static void move_windows(struct h2_conn *c, int64_t delta)
{
    uint32_t at = 0;
    if (delta == 0)
        return;
    /* No stream closes by it: an end without content does not wait for windows. */
    for (struct h2_stream *s; (s = h2_streams_next(&c->streams, &at));) {
        s->send_window += delta;
        if (vec_queue_bytes(&s->http.stream.out) > 0)
            h2_stream_look(s);
    }
}

/* RFC 7541 4.2: the encoder is to say the smallest size that the table had meanwhile, too. */
static bool resize_table(struct h2_conn *c, uint32_t least, uint32_t size)
{
    if (least == c->peers.header_table && size == least)
        return true;
    return hpack_encoder_table(&c->encoder, least) && hpack_encoder_table(&c->encoder, size);
}

/* least: of all values that header_table has had in the frame. */
static void apply(struct h2_conn *c, const struct h2_peer_settings *p, uint32_t least)
{
    int64_t delta = (int64_t)p->initial_window - c->peers.initial_window;
    if (overflows(c, delta)) {
        h2_fail(c, H2_FLOW_CONTROL_ERROR);
        return;
    }
    h2_memo_forget(&c->h2->memo, c); /* another table, or heads that may be too large now */
    if (!resize_table(c, least, p->header_table)) {
        h2_fail(c, H2_INTERNAL_ERROR);
        return;
    }
    c->peers = *p;
    move_windows(c, delta);
    uint8_t *to = h2_queue_room(c, H2_FRAME_HEADER);
    if (to)
        h2_queue_push(c, h2_settings_ack_write(to));
}

void h2_settings_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload)
{
    if (f->flags & H2_FLAG_ACK) {
        settings_acked(c);
        return;
    }
    uint32_t n = f->length / H2_SETTINGS_ENTRY;
    if (n > c->settings->settings_entries || !limit_take(&c->settings_limit, h2_now(c))) {
        h2_calm(c, COUNTER_H2_LIMIT_SETTINGS);
        return;
    }
    struct h2_peer_settings next = c->peers;
    uint32_t least = next.header_table;
    for (uint32_t i = 0; i < n; i++, payload += H2_SETTINGS_ENTRY) {
        enum h2_error e = take_setting(c, h2_setting_id(payload), h2_setting_value(payload), &next);
        if (e != H2_NO_ERROR) {
            h2_fail(c, e);
            return;
        }
        if (next.header_table < least)
            least = next.header_table;
    }
    if (next.no_priorities == 2)
        next.no_priorities = 0;
    apply(c, &next, least);
    if (!h2_has(c, H2_CONN_SETTINGS_DONE))
        h2_priorities_settled(c);
    h2_set(c, H2_CONN_SETTINGS_DONE);
    c->preface_at = TICK_NEVER;
}

/* ---- PING, GOAWAY (6.7, 6.8) ---- */

void h2_ping_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload)
{
    if (f->flags & H2_FLAG_ACK) {
        bool ours = memcmp(payload, h2_close_ping, sizeof(h2_close_ping)) == 0;
        if (ours && h2_has(c, H2_CONN_DRAINING))
            h2_close(c);
        else
            h2_odd(c, H2_GLITCH_UNKNOWN_FRAME);
        return;
    }
    if (!limit_take(&c->ping_limit, h2_now(c))) {
        h2_calm(c, COUNTER_H2_LIMIT_PING);
        return;
    }
    uint8_t *to = h2_queue_room(c, H2_PING_SIZE);
    if (to)
        h2_queue_push(c, h2_ping_write(to, true, payload));
}

/* Streams of ours that the other side will not serve: they may be tried again elsewhere. */
static void refuse_beyond(struct h2_conn *c, uint32_t last)
{
    if (c->n_own == 0)
        return;
    for (uint32_t at = 0, n = c->streams.n; n > 0; n--) {
        struct h2_stream *s = h2_streams_next(&c->streams, &at);
        if (!s)
            break;
        if (!(s->flags & H2_STREAM_OWN) || s->id <= last)
            continue;
        h2_stream_fail(s, STREAM_REFUSED, H2_CLOSED_BY_PEER);
        at = 0; /* the table has changed */
        n = c->streams.n + 1;
    }
}

void h2_goaway_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload)
{
    (void)f;
    uint32_t last = h2_u32(payload) & H2_STREAM_MAX;
    if (last > c->goaway_last) { /* 6.8: it never rises */
        h2_fail(c, H2_PROTOCOL_ERROR);
        return;
    }
    h2_count(c, COUNTER_H2_GOAWAY_RX, 1);
    if (h2_has(c, H2_CONN_GOAWAY_RECEIVED) && !h2_odd(c, H2_GLITCH_UNKNOWN_FRAME))
        return;
    h2_set(c, H2_CONN_GOAWAY_RECEIVED);
    c->goaway_last = last;
    refuse_beyond(c, last);
    if (c->streams.n == 0)
        h2_streams_changed(c);
    h2_wake(c);
}

/* ---- WINDOW_UPDATE (6.9) ---- */

/* A decent side says no more than two for each DATA frame, of the stream and of the connection, and
 * a few for what it begins with. */
static bool update_is_sane(struct h2_conn *c, int64_t window, uint32_t increment)
{
    if (c->updates_due == 0)
        return h2_glitched(c, H2_GLITCH_WINDOW_UPDATE, 1);
    c->updates_due--;
    if (window <= 0 && increment < 64 && c->n_wanting > 0)
        return h2_glitched(c, H2_GLITCH_SMALL_WINDOW, 1);
    return true;
}

static void update_connection(struct h2_conn *c, uint32_t increment)
{
    if (increment == 0) {
        h2_fail(c, H2_PROTOCOL_ERROR);
        return;
    }
    if (c->send_window + increment > (int64_t)H2_WINDOW_MAX) {
        h2_fail(c, H2_FLOW_CONTROL_ERROR);
        return;
    }
    bool sane = update_is_sane(c, c->send_window, increment);
    c->send_window += increment;
    if (sane)
        h2_wake(c);
}

static void update_stream(struct h2_conn *c, struct h2_stream *s, uint32_t increment)
{
    if (increment == 0) {
        h2_stream_error(c, s->id, s, H2_PROTOCOL_ERROR);
        return;
    }
    if (s->send_window + increment > (int64_t)H2_WINDOW_MAX) {
        h2_stream_error(c, s->id, s, H2_FLOW_CONTROL_ERROR);
        return;
    }
    if (!update_is_sane(c, s->send_window, increment))
        return;
    s->send_window += increment;
    if (vec_queue_bytes(&s->http.stream.out) > 0) {
        h2_stream_look(s);
        h2_wake(c);
    }
}

void h2_window_update_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload)
{
    uint32_t increment = h2_u32(payload) & H2_WINDOW_MAX;
    if (f->stream == 0) {
        update_connection(c, increment);
        return;
    }
    if (h2_is_idle(c, f->stream)) {
        h2_fail(c, H2_PROTOCOL_ERROR);
        return;
    }
    struct h2_stream *s = h2_streams_find(&c->streams, f->stream);
    if (s)
        update_stream(c, s, increment);
    else if (increment == 0)
        h2_stream_error(c, f->stream, NULL, H2_PROTOCOL_ERROR);
    else /* 6.9: may come after the end */
        h2_odd(c, H2_GLITCH_CLOSED_STREAM);
}

/* ---- RST_STREAM (6.4) ---- */

void h2_rst_stream_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload)
{
    if (h2_is_idle(c, f->stream)) {
        h2_fail(c, H2_PROTOCOL_ERROR);
        return;
    }
    h2_count(c, COUNTER_H2_RESETS_RX, 1);
    if (!limit_take(&c->rst_limit, h2_now(c))) {
        h2_calm(c, COUNTER_H2_LIMIT_RST);
        return;
    }
    struct h2_stream *s = h2_streams_find(&c->streams, f->stream);
    if (s)
        h2_stream_fail(s, h2_u32(payload) == H2_REFUSED_STREAM ? STREAM_REFUSED : STREAM_RESET,
                       H2_CLOSED_BY_PEER);
    else /* from here on nothing more of it is under way */
        h2_closed_note(&c->closed, f->stream, H2_CLOSED_BY_PEER);
}

/* ---- priorities ---- */

static void take_priority(struct h2_conn *c, uint32_t id, const uint8_t *payload)
{
    struct h2_dependency d = h2_dependency_parse(payload);
    h2_priority_depend(c, id, &d);
}

void h2_priority_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload)
{
    bool idle = h2_is_idle(c, f->stream);
    enum h2_error error = H2_NO_ERROR;
    if (f->length != 5) /* RFC 9113 6.3 */
        error = H2_FRAME_SIZE_ERROR;
    else if ((h2_u32(payload) & H2_STREAM_MAX) == f->stream) /* RFC 7540 5.3.1 */
        error = H2_PROTOCOL_ERROR;
    bool good = error == H2_NO_ERROR;
    if (good && h2_odd(c, H2_GLITCH_PRIORITY))
        take_priority(c, f->stream, payload);
    if (good)
        return;
    if (idle) /* there is nothing to reset */
        h2_fail(c, error);
    else
        h2_stream_error(c, f->stream, h2_streams_find(&c->streams, f->stream), error);
}

void h2_priority_update_input(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload)
{
    if (f->length < 4) {
        h2_fail(c, H2_FRAME_SIZE_ERROR);
        return;
    }
    uint32_t id = h2_u32(payload) & H2_STREAM_MAX;
    if (id == 0 || !h2_is_peers(c, id) || h2_has(c, H2_CONN_CLIENT)) /* RFC 9218 7.1 */
        h2_fail(c, H2_PROTOCOL_ERROR);
    else if (h2_odd(c, H2_GLITCH_PRIORITY) &&
             !h2_priority_update(c, id,
                                 (struct http_text){(const char *)payload + 4, f->length - 4}))
        h2_fail(c, H2_PROTOCOL_ERROR);
}
