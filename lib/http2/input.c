/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames in. A view is taken apart where it lies: the payload of a frame that it holds whole is
 * handled in place; what comes in pieces is gathered first, DATA excepted, whose content goes on to
 * its stream piece by piece.
 */
#include <string.h>

#include "http2/internal.h"

enum h2_phase {
    PHASE_PREFACE, /* RFC 9113 3.4; of a client's, not received by one */
    PHASE_HEADER,
    PHASE_PAYLOAD, /* whole */
    PHASE_PAD,     /* DATA: its first byte, the length of the padding */
    PHASE_CONTENT, /* DATA */
    PHASE_SKIP,    /* padding, and what is not known */
};

/* ---- what each type has to keep to ---- */

enum where { ON_CONNECTION = 1, ON_STREAM = 2 };

struct rule {
    uint32_t min; /* payload */
    uint32_t max;
    unsigned where; /* enum where */
    void (*handle)(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload);
};

static void headers(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload);
static void continuation(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload);

static void push_promise(struct h2_conn *c, const struct h2_frame *f, const uint8_t *payload)
{
    (void)f;
    (void)payload;
    h2_fail(c, H2_PROTOCOL_ERROR); /* 8.4: we allow none, and clients send none */
}

#define ANY H2_FRAME_SIZE_MAX
static const struct rule rules[] = {
    [H2_DATA] = {0, ANY, ON_STREAM, NULL}, /* by pieces */
    [H2_HEADERS] = {0, ANY, ON_STREAM, headers},
    [H2_PRIORITY] = {0, ANY, ON_STREAM, h2_priority_input},
    [H2_RST_STREAM] = {4, 4, ON_STREAM, h2_rst_stream_input},
    [H2_SETTINGS] = {0, ANY, ON_CONNECTION, h2_settings_input},
    [H2_PUSH_PROMISE] = {0, ANY, ON_STREAM, push_promise},
    [H2_PING] = {8, 8, ON_CONNECTION, h2_ping_input},
    [H2_GOAWAY] = {8, ANY, ON_CONNECTION, h2_goaway_input},
    [H2_WINDOW_UPDATE] = {4, 4, ON_CONNECTION | ON_STREAM, h2_window_update_input},
    [H2_CONTINUATION] = {0, ANY, ON_STREAM, continuation},
    [H2_PRIORITY_UPDATE] = {0, ANY, ON_CONNECTION, h2_priority_update_input},
};

static const struct rule *rule_of(uint8_t type)
{
    if (type >= sizeof(rules) / sizeof(rules[0]) || !rules[type].where)
        return NULL;
    return &rules[type];
}

static bool settings_length_ok(const struct h2_frame *f)
{
    return f->flags & H2_FLAG_ACK ? f->length == 0 : f->length % H2_SETTINGS_ENTRY == 0;
}

static enum h2_error check_frame(const struct h2_conn *c, const struct h2_frame *f,
                                 const struct rule *rule)
{
    bool first = !h2_has(c, H2_CONN_SETTINGS_DONE);
    if (first && (f->type != H2_SETTINGS || (f->flags & H2_FLAG_ACK))) /* 3.4 */
        return H2_PROTOCOL_ERROR;
    if (f->length > c->settings->max_frame) /* 4.2 */
        return H2_FRAME_SIZE_ERROR;
    bool goes_on = f->type == H2_CONTINUATION && f->stream == c->rx.block_stream;
    if (c->rx.block_stream ? !goes_on : f->type == H2_CONTINUATION) /* 6.10 */
        return H2_PROTOCOL_ERROR;
    if (!rule)
        return H2_NO_ERROR;
    if (!(rule->where & (f->stream ? ON_STREAM : ON_CONNECTION)))
        return H2_PROTOCOL_ERROR;
    if (f->length < rule->min || f->length > rule->max)
        return H2_FRAME_SIZE_ERROR;
    if (f->type == H2_SETTINGS && !settings_length_ok(f))
        return H2_FRAME_SIZE_ERROR;
    return H2_NO_ERROR;
}

/* ---- blocks of fields ---- */

static bool gather(struct h2_conn *c, const uint8_t *bytes, uint32_t n)
{
    struct h2_receiving *rx = &c->rx;
    uint64_t need = (uint64_t)rx->used + n;
    if (need > rx->room) {
        uint32_t room = rx->room ? rx->room : 512;
        while (room < need && room < UINT32_MAX / 2)
            room *= 2;
        if (room > c->settings->memory) {
            h2_calm(c, COUNTER_H2_LIMIT_MEMORY);
            return false;
        }
        uint8_t *to = mem_alloc(h2_mem(c), room, 1);
        if (!to) {
            h2_fail(c, H2_INTERNAL_ERROR);
            return false;
        }
        if (rx->used > 0)
            memcpy(to, rx->bytes, rx->used);
        mem_free(h2_mem(c), rx->bytes, rx->room);
        rx->bytes = to;
        rx->room = room;
    }
    if (n > 0)
        memcpy(rx->bytes + rx->used, bytes, n);
    rx->used += n;
    return true;
}

/* The block so far is rx->bytes up to rx->start; this is its next part, which may stand behind that
 * already. */
static void keep_fragment(struct h2_conn *c, const uint8_t *part, uint32_t n)
{
    struct h2_receiving *rx = &c->rx;
    if (rx->used > rx->start) { /* gathered with what stood around it */
        memmove(rx->bytes + rx->start, part, n);
        rx->used = rx->start + n;
    } else if (!gather(c, part, n)) {
        return;
    }
    rx->start = rx->used;
}

static void block_complete(struct h2_conn *c, const uint8_t *block, uint32_t len)
{
    uint32_t id = c->rx.frame.stream;
    c->rx.block_stream = 0;
    c->headers_at = TICK_NEVER;
    h2_block_input(c, id, c->rx.block_flags, block, len);
    c->rx.start = c->rx.used = 0;
    c->rx.self_dependent = false;
    c->rx.depends.weight = 0;
}

/* The length of padding, which is taken from n; -1: it is longer than the frame (6.1, 6.2). */
static int take_pad(const uint8_t **at, uint32_t *n)
{
    if (*n < 1 || (*at)[0] > *n - 1)
        return -1;
    int pad = *(*at)++;
    *n -= (uint32_t)pad + 1;
    return pad;
}

static void headers(struct h2_conn *c, const struct h2_frame *f, const uint8_t *at)
{
    uint32_t n = f->length;
    bool padded = f->flags & H2_FLAG_PADDED;
    int pad = padded ? take_pad(&at, &n) : 0;
    bool priority = f->flags & H2_FLAG_PRIORITY;
    if (pad < 0 || (priority && n < 5)) { /* what is missing may be what padding took */
        h2_fail(c, padded ? H2_PROTOCOL_ERROR : H2_FRAME_SIZE_ERROR);
        return;
    }
    if (priority) {
        c->rx.depends = h2_dependency_parse(at);
        c->rx.self_dependent = c->rx.depends.on == f->stream;
        at += H2_DEPENDENCY_SIZE;
        n -= H2_DEPENDENCY_SIZE;
    }
    if ((uint32_t)pad > n && !h2_glitched(c, H2_GLITCH_PADDING, 1))
        return;
    c->rx.block_flags = f->flags;
    if (f->flags & H2_FLAG_END_HEADERS) {
        block_complete(c, at, n);
        return;
    }
    c->rx.block_stream = f->stream;
    c->rx.continuations = 0;
    if (c->headers_at == TICK_NEVER)
        c->headers_at = h2_now(c) + c->settings->headers_timeout;
    keep_fragment(c, at, n);
}

static void continuation(struct h2_conn *c, const struct h2_frame *f, const uint8_t *at)
{
    if (++c->rx.continuations > c->settings->continuations) {
        h2_calm(c, COUNTER_H2_LIMIT_CONTINUATION);
        return;
    }
    if (!h2_glitched(c, H2_GLITCH_CONTINUATION, f->length == 0 ? 3 : 1))
        return;
    keep_fragment(c, at, f->length);
    if (!h2_has(c, H2_CONN_FAILED) && (f->flags & H2_FLAG_END_HEADERS))
        block_complete(c, c->rx.bytes, c->rx.used);
}

/* ---- DATA (6.1) ---- */

/* For a stream that takes none (5.1, "closed"). */
static void late_data(struct h2_conn *c, const struct h2_frame *f)
{
    switch (h2_closed_how(&c->closed, f->stream)) {
    case H2_CLOSED_IN_ORDER: h2_fail(c, H2_STREAM_CLOSED); break;
    case H2_CLOSED_BY_PEER:
    case H2_CLOSED_UNUSED: h2_stream_error(c, f->stream, NULL, H2_STREAM_CLOSED); break;
    case H2_CLOSED_BY_US: /* under way when it was reset */
        if (f->length < 512)
            h2_odd(c, H2_GLITCH_CLOSED_STREAM);
        break;
    case H2_CLOSED_FORGOTTEN: h2_glitched(c, H2_GLITCH_CLOSED_STREAM, 1); break;
    }
}

/* The stream that takes it, or NULL. */
static struct h2_stream *taker(struct h2_conn *c, const struct h2_frame *f)
{
    struct h2_stream *s = h2_streams_find(&c->streams, f->stream);
    if (!s) {
        late_data(c, f);
        return NULL;
    }
    enum h2_error error = H2_NO_ERROR;
    if (s->state == H2_HALF_CLOSED_REMOTE)
        error = H2_STREAM_CLOSED;
    else if (!(s->flags & H2_STREAM_ANSWERED)) /* 8.1: content before the head */
        error = H2_PROTOCOL_ERROR;
    else if (f->length > 0 && s->receive_window < (int64_t)f->length) /* 6.9.1 */
        error = H2_FLOW_CONTROL_ERROR;
    if (error != H2_NO_ERROR) {
        h2_stream_error(c, f->stream, s, error);
        return NULL;
    }
    if (!h2_stream_is_early(s))
        return s;
    s->surplus += f->length;
    if (s->surplus <= H2_EARLY_BYTES)
        return s;
    h2_stream_stop(s);
    return NULL;
}

/* The length of its content is known. */
static void content_begins(struct h2_conn *c, uint32_t content)
{
    struct h2_stream *s = c->rx.stream;
    bool end = c->rx.frame.flags & H2_FLAG_END_STREAM;
    if (content == 0 && !end && !h2_glitched(c, H2_GLITCH_EMPTY_DATA, 1))
        return;
    bool small = content < 16 && !end;
    if (small && c->rx.small && !h2_glitched(c, H2_GLITCH_SMALL_DATA, 1))
        return;
    c->rx.small = small;
    if (!s || s->length_left == HTTP_LENGTH_NONE)
        return;
    if (content > s->length_left || (end && content < s->length_left))
        h2_stream_malformed(c, s->id, s); /* 8.1.1 */
}

static void data_begins(struct h2_conn *c)
{
    struct h2_receiving *rx = &c->rx;
    const struct h2_frame *f = &rx->frame;
    if (h2_is_idle(c, f->stream)) {
        if (f->stream <= c->goaway_sent || !h2_is_peers(c, f->stream)) {
            h2_fail(c, H2_PROTOCOL_ERROR);
            return;
        }
    }
    if (c->receive_window < (int64_t)f->length) {
        h2_fail(c, H2_FLOW_CONTROL_ERROR);
        return;
    }
    c->receive_window -= f->length;
    rx->pad = 0;
    rx->stream = h2_is_idle(c, f->stream) ? NULL : taker(c, f);
    if (h2_has(c, H2_CONN_FAILED))
        return;
    if (!rx->stream)
        h2_credit(c, f->length);
    else
        rx->stream->receive_window -= f->length;
    rx->phase = f->flags & H2_FLAG_PADDED ? PHASE_PAD : PHASE_CONTENT;
    if (rx->phase == PHASE_PAD && f->length == 0)
        h2_fail(c, H2_FRAME_SIZE_ERROR);
    else if (rx->phase == PHASE_CONTENT)
        content_begins(c, f->length);
}

static void take_pad_length(struct h2_conn *c, uint8_t pad)
{
    struct h2_receiving *rx = &c->rx;
    rx->left--;
    if (pad > rx->left) {
        h2_fail(c, H2_PROTOCOL_ERROR);
        return;
    }
    rx->phase = PHASE_CONTENT;
    rx->pad = pad;
    if (rx->stream) {
        h2_credit(c, pad + 1u);
        h2_stream_credit(rx->stream, pad + 1u);
    }
    uint32_t content = rx->left - pad;
    if (pad > content && !h2_glitched(c, H2_GLITCH_PADDING, 1))
        return;
    content_begins(c, content);
}

/* The first n bytes of *view, which loses them or is taken whole. NULL: no packets. */
static struct pkt *piece(struct h2_conn *c, struct pkt **view, uint32_t n)
{
    struct pkt *v = *view;
    struct pkt *p;
    if (n == v->len) {
        *view = NULL;
        return v;
    }
    if (n > PKT_MERGE_MAX) {
        p = pkt_slice(c->h2->env->pool, v, 0, n);
    } else { /* a slice would keep the whole buffer, and nothing could be put behind it */
        p = pkt_alloc(c->h2->env->pool);
        uint8_t *to = p ? pkt_put(p, n) : NULL;
        if (to)
            memcpy(to, v->data, n);
    }
    pkt_pull(v, n);
    return p;
}

static void deliver(struct h2_conn *c, struct pkt **view, uint32_t n)
{
    struct h2_stream *s = c->rx.stream;
    struct pkt *p = piece(c, view, n);
    if (!p) {
        h2_credit(c, n);
        h2_stream_error(c, s->id, s, H2_INTERNAL_ERROR);
        return;
    }
    if (s->length_left != HTTP_LENGTH_NONE)
        s->length_left -= n;
    s->received += n;
    h2_count(c, COUNTER_H2_RX_CONTENT, n);
    h2_credit(c, n);
    stream_arrived(&s->http.stream, p);
    h2_stream_account(s);
    h2_look_at_memory(c);
}

static void drop(struct pkt **view, uint32_t n)
{
    if (n < (*view)->len) {
        pkt_pull(*view, n);
        return;
    }
    pkt_free(*view);
    *view = NULL;
}

static void content(struct h2_conn *c, struct pkt **view)
{
    struct h2_receiving *rx = &c->rx;
    uint32_t n = rx->left - rx->pad;
    if (n > (*view)->len)
        n = (*view)->len;
    rx->left -= n;
    if (n == 0)
        return;
    if (rx->stream)
        deliver(c, view, n);
    else
        drop(view, n);
}

/* ---- frames ---- */

static void frame_ends(struct h2_conn *c)
{
    struct h2_receiving *rx = &c->rx;
    struct h2_stream *s = rx->stream;
    rx->stream = NULL;
    rx->phase = PHASE_HEADER;
    rx->pad = 0;
    if (!s || !(rx->frame.flags & H2_FLAG_END_STREAM))
        return;
    h2_stream_ended(s);
}

static void frame_begins(struct h2_conn *c, const uint8_t *header)
{
    struct h2_receiving *rx = &c->rx;
    rx->frame = h2_frame_parse(header);
    rx->left = rx->frame.length;
    rx->n = 0;
    c->rx_frames++;
    const struct rule *rule = rule_of(rx->frame.type);
    enum h2_error error = check_frame(c, &rx->frame, rule);
    if (error != H2_NO_ERROR) {
        h2_fail(c, error);
        return;
    }
    if (!rule) { /* 5.5 */
        rx->phase = PHASE_SKIP;
        h2_odd(c, H2_GLITCH_UNKNOWN_FRAME);
    } else if (rx->frame.type == H2_DATA) {
        data_begins(c);
    } else {
        rx->phase = PHASE_PAYLOAD;
    }
}

static void frame_payload(struct h2_conn *c, const uint8_t *payload)
{
    struct h2_receiving *rx = &c->rx;
    rx->phase = PHASE_HEADER;
    rx->left = 0;
    rules[rx->frame.type].handle(c, &rx->frame, payload);
    if (!rx->block_stream)
        rx->used = rx->start = 0;
}

/* Bytes into rx->head until it has so many. */
static bool fill_head(struct h2_receiving *rx, struct pkt **view, uint32_t want)
{
    uint32_t n = want - rx->n;
    if (n > (*view)->len)
        n = (*view)->len;
    memcpy(rx->head + rx->n, (*view)->data, n);
    rx->n = (uint8_t)(rx->n + n);
    drop(view, n);
    return rx->n == want;
}

static void preface(struct h2_conn *c, struct pkt **view)
{
    struct h2_receiving *rx = &c->rx;
    bool whole = fill_head(rx, view, H2_PREFACE_SIZE);
    if (memcmp(rx->head, H2_PREFACE, rx->n) != 0) {
        h2_fail(c, H2_PROTOCOL_ERROR);
    } else if (whole) {
        rx->n = 0;
        rx->phase = PHASE_HEADER;
    }
}

static void header(struct h2_conn *c, struct pkt **view)
{
    uint8_t bytes[H2_FRAME_HEADER];
    if (c->rx.n == 0 && (*view)->len >= H2_FRAME_HEADER) {
        memcpy(bytes, (*view)->data, sizeof(bytes));
        drop(view, H2_FRAME_HEADER);
        frame_begins(c, bytes);
    } else if (fill_head(&c->rx, view, H2_FRAME_HEADER)) {
        frame_begins(c, c->rx.head);
    }
}

static void payload(struct h2_conn *c, struct pkt **view)
{
    struct h2_receiving *rx = &c->rx;
    uint32_t n = rx->left < (*view)->len ? rx->left : (*view)->len;
    if (n == rx->left && rx->used == rx->start) { /* all of it, here */
        frame_payload(c, (*view)->data);
        drop(view, n);
        return;
    }
    if (!gather(c, (*view)->data, n))
        return;
    rx->left -= n;
    drop(view, n);
    if (rx->left == 0)
        frame_payload(c, rx->bytes + rx->start);
}

/* What can be done without a byte more. */
static void finish_frame(struct h2_conn *c)
{
    struct h2_receiving *rx = &c->rx;
    if (rx->left > 0 || (c->flags & H2_CONN_FAILED))
        return;
    if (rx->phase == PHASE_PAYLOAD)
        frame_payload(c, rx->bytes);
    else if (rx->phase == PHASE_CONTENT || rx->phase == PHASE_SKIP)
        frame_ends(c);
}

static void step(struct h2_conn *c, struct pkt **view)
{
    switch ((enum h2_phase)c->rx.phase) {
    case PHASE_PREFACE: preface(c, view); break;
    case PHASE_HEADER: header(c, view); break;
    case PHASE_PAYLOAD: payload(c, view); break;
    case PHASE_PAD:
        take_pad_length(c, (*view)->data[0]);
        drop(view, 1);
        break;
    case PHASE_CONTENT:
        if (c->rx.left == c->rx.pad)
            c->rx.phase = PHASE_SKIP;
        else
            content(c, view);
        break;
    case PHASE_SKIP: {
        uint32_t n = c->rx.left < (*view)->len ? c->rx.left : (*view)->len;
        c->rx.left -= n;
        drop(view, n);
        break;
    }
    }
    finish_frame(c);
}

/* The input ends amid HEADERS. */
static void wait_for_headers(struct h2_conn *c)
{
    const struct h2_receiving *rx = &c->rx;
    if (rx->phase == PHASE_PAYLOAD && rx->frame.type == H2_HEADERS && c->headers_at == TICK_NEVER)
        c->headers_at = h2_now(c) + c->settings->headers_timeout;
}

void h2_input(struct h2_conn *c, struct pkt *p, tick_t now)
{
    uint64_t frames = c->rx_frames;
    c->h2->env->now = now;
    c->rx.small = false;
    if (c->rx.phase == PHASE_PREFACE && h2_has(c, H2_CONN_CLIENT))
        c->rx.phase = PHASE_HEADER;
    while (p) {
        struct pkt *view = p;
        p = p->next;
        view->next = NULL;
        view->total = view->len;
        while (view && view->len > 0 && !(c->flags & (H2_CONN_FAILED | H2_CONN_ENDED)))
            step(c, &view);
        pkt_free(view);
    }
    wait_for_headers(c);
    h2_count(c, COUNTER_H2_RX_FRAMES, c->rx_frames - frames);
    invariant(h2_conn_ok(c));
}
