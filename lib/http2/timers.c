/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All timers of a connection; its owner asks for the earliest (h2_deadline).
 *
 *   preface   armed at the start, stopped by the other side's first SETTINGS. The connection ends.
 *   settings  armed at the start, stopped by the ACK of ours. SETTINGS_TIMEOUT (RFC 9113 6.5.3).
 *   headers   armed where input ends amid HEADERS or its block, stopped at the end of that.
 *             ENHANCE_YOUR_CALM.
 *   idle      armed when no stream is left, stopped by one. A graceful end begins.
 *   tidy      armed with it: a second later buffers are given back.
 *   progress  armed when a stream has content to send, whatever keeps it, or awaits its request's;
 *             again while there is one. Streams are reset of which less than progress_bytes have
 *             left from one look to the next, or for idle_timeout less than that has come in each
 *             time. Window updates alone do not move it. Tunnels may be silent.
 *   early     armed by an answer that ends before its request, where it does not run. All such
 *             streams are reset with NO_ERROR.
 *   closing   armed by the first GOAWAY of a graceful end, stopped by the answer to the PING behind
 *             it. The second GOAWAY is sent.
 *   drain     armed by the first GOAWAY. Streams that are left fail, and the connection ends. Armed
 *             by every connection error, too: what could not leave until then is given up.
 */
#include "http2/internal.h"

void h2_timers_start(struct h2_conn *c, tick_t now)
{
    c->preface_at = now + c->settings->preface_timeout;
    c->settings_at = now + c->settings->settings_timeout;
    c->headers_at = c->progress_at = c->early_at = TICK_NEVER;
    c->closing_at = c->drain_at = TICK_NEVER;
    h2_streams_changed(c);
}

bool h2_timer_progress(struct h2_conn *c)
{
    bool needed = c->n_wanting > 0 || c->n_awaiting > 0;
    bool starts = needed && c->progress_at == TICK_NEVER;
    if (!needed)
        c->progress_at = TICK_NEVER;
    else if (starts)
        c->progress_at = h2_now(c) + c->settings->progress_timeout;
    return starts;
}

static tick_t earlier(tick_t a, tick_t b)
{
    return a < b ? a : b;
}

tick_t h2_deadline(const struct h2_conn *c)
{
    if (h2_has(c, H2_CONN_ENDED))
        return TICK_NEVER;
    if (h2_has(c, H2_CONN_FAILED))
        return c->drain_at;
    tick_t first = earlier(c->preface_at, c->settings_at);
    first = earlier(first, earlier(c->headers_at, earlier(c->idle_at, c->tidy_at)));
    first = earlier(first, earlier(c->progress_at, c->early_at));
    return earlier(first, earlier(c->closing_at, c->drain_at));
}

/* Is the timer due? It is stopped. */
static bool fires(tick_t *at, tick_t now)
{
    if (now < *at)
        return false;
    *at = TICK_NEVER;
    return true;
}

static void tidy(struct h2_conn *c)
{
    struct mem *mem = h2_mem(c);
    h2_streams_tidy(&c->streams, mem);
    h2_priorities_tidy(c);
    if (h2_queue_bytes(&c->out) == 0)
        h2_queue_tidy(&c->out, mem);
    if (c->rx.used == 0) {
        mem_free(mem, c->rx.bytes, c->rx.room);
        c->rx.bytes = NULL;
        c->rx.room = 0;
    }
    h2_memo_forget(&c->h2->memo, c);
    hpack_decoder_rest(&c->decoder);
    hpack_encoder_rest(&c->encoder);
}

/* So many streams are dealt with at once; those behind them have their turn the next time. */
#define STREAMS_MAX 128u

/* The streams of which something is true: those that it is done to leave the table. */
static unsigned collect(const struct h2_conn *c, bool (*is)(const struct h2_stream *),
                        struct h2_stream *found[STREAMS_MAX])
{
    unsigned n = 0;
    uint32_t at = 0;
    for (struct h2_stream *s; n < STREAMS_MAX && (s = h2_streams_next(&c->streams, &at));)
        if (is(s))
            found[n++] = s;
    return n;
}

/* A tunnel may, its service has timeouts of its own; but not while memory is short. */
static bool may_not_rest(const struct h2_stream *s)
{
    return !(s->flags & H2_STREAM_TUNNEL) || s->conn->h2->spare == 0;
}

static bool sends_too_little(const struct h2_stream *s)
{
    uint8_t both = H2_STREAM_WANTING | H2_STREAM_MARKED;
    return (s->flags & both) == both && may_not_rest(s) &&
           s->sent - s->sent_mark < s->conn->settings->progress_bytes;
}

static bool receives_too_little(const struct h2_stream *s)
{
    const struct h2_settings *settings = s->conn->settings;
    return (s->flags & H2_STREAM_AWAITING) &&
           s->looks * settings->progress_timeout >= settings->idle_timeout;
}

static bool is_stalled(const struct h2_stream *s)
{
    return sends_too_little(s) || receives_too_little(s);
}

/* Takes note of what has come in since the last look. */
static void note_received(struct h2_stream *s)
{
    bool little = s->received - s->received_mark < s->conn->settings->progress_bytes;
    s->received_mark = s->received;
    if (!little || !(s->flags & H2_STREAM_AWAITING))
        s->looks = 0;
    else if (s->looks < UINT8_MAX)
        s->looks++;
}

static void each_stream(struct h2_conn *c, void (*see)(struct h2_stream *))
{
    uint32_t at = 0;
    for (struct h2_stream *s; (s = h2_streams_next(&c->streams, &at));)
        see(s);
}

static void mark_sent(struct h2_stream *s)
{
    s->sent_mark = s->sent;
    s->flags |= H2_STREAM_MARKED;
}

/* The streams that have waited in vain, or made us wait. */
static void reset_stalled(struct h2_conn *c)
{
    struct h2_stream *stalled[STREAMS_MAX];
    unsigned n = collect(c, is_stalled, stalled);
    h2_count(c, COUNTER_H2_TIMED_OUT, n);
    for (unsigned i = 0; i < n && !h2_has(c, H2_CONN_FAILED); i++)
        h2_stream_error(c, stalled[i]->id, stalled[i], H2_CANCEL);
    if (n > 0 && !h2_has(c, H2_CONN_FAILED))
        h2_glitched(c, H2_GLITCH_STALLED, n);
}

static void stop_early(struct h2_conn *c)
{
    struct h2_stream *early[STREAMS_MAX];
    unsigned n = collect(c, h2_stream_is_early, early);
    for (unsigned i = 0; i < n && !h2_has(c, H2_CONN_FAILED); i++)
        h2_stream_stop(early[i]);
    if (n == STREAMS_MAX)
        c->early_at = h2_now(c) + H2_EARLY_TIME;
}

static void look_at_progress(struct h2_conn *c)
{
    each_stream(c, note_received);
    reset_stalled(c);
    each_stream(c, mark_sent);
    h2_timer_progress(c);
}

/* The other side does not even take our GOAWAY. */
static void give_up(struct h2_conn *c, tick_t now)
{
    if (h2_has(c, H2_CONN_ENDED) || !fires(&c->drain_at, now))
        return;
    h2_count(c, COUNTER_H2_TIMED_OUT, 1);
    h2_failed(c, STREAM_TIMEOUT, now);
}

void h2_expire(struct h2_conn *c, tick_t now)
{
    c->h2->env->now = now;
    if (c->flags & (H2_CONN_FAILED | H2_CONN_ENDED)) {
        give_up(c, now);
        return;
    }
    if (fires(&c->preface_at, now) || fires(&c->headers_at, now)) {
        h2_count(c, COUNTER_H2_TIMED_OUT, 1);
        h2_fail(c, H2_ENHANCE_YOUR_CALM);
        return;
    }
    if (fires(&c->settings_at, now)) {
        h2_count(c, COUNTER_H2_TIMED_OUT, 1);
        h2_fail(c, H2_SETTINGS_TIMEOUT);
        return;
    }
    if (fires(&c->progress_at, now))
        look_at_progress(c);
    if (fires(&c->early_at, now))
        stop_early(c);
    if (fires(&c->tidy_at, now))
        tidy(c);
    if (fires(&c->idle_at, now))
        h2_shutdown(c, now);
    if (fires(&c->closing_at, now))
        h2_close(c);
    if (fires(&c->drain_at, now))
        h2_fail(c, H2_NO_ERROR);
    invariant(h2_conn_ok(c));
}
