/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection's life: how it begins, goes wrong, drains and ends. */
#include "http2/conn.h"

#include <string.h>

#include "http2/internal.h"

/* Frames of no use that anybody may send, and so many more for each stream opened. */
#define ODD_FREE       16u
#define ODD_FOR_STREAM 4u

/* WINDOW_UPDATEs that anybody may send before anything else. */
#define UPDATES_FIRST 16u

/* ---- a worker's ---- */

bool h2_init(struct h2 *h, struct http_env *env, struct counters *counters, uint32_t max_streams,
             const struct h2_settings *settings, void (*wake)(struct h2_conn *))
{
    *h = (struct h2){.env = env, .counters = counters, .wake = wake};
    stream_ready_init(&h->ready);
    h->hpack_mem = hpack_mem_create(env->mem);
    h->streams = slab_create(env->mem, sizeof(struct h2_stream), 64, max_streams);
    if (h->hpack_mem && h->streams &&
        h2_fields_init(&h->fields, env->mem, settings->header_fields, settings->header_list))
        return true;
    h2_fini(h);
    return false;
}

void h2_fini(struct h2 *h)
{
    assert(stream_ready_empty(&h->ready) && "its connections went before");
    h2_fields_fini(&h->fields, h->env->mem);
    slab_destroy(h->streams);
    if (h->hpack_mem)
        hpack_mem_destroy(h->hpack_mem);
}

/* ---- beginning and end ---- */

static const struct h2_peer_settings first_settings = {.header_table = H2_HEADER_TABLE_SIZE,
                                                       .max_streams = UINT32_MAX,
                                                       .initial_window = H2_WINDOW_FIRST,
                                                       .max_frame = H2_FRAME_SIZE_MIN,
                                                       .header_list = UINT32_MAX,
                                                       .no_priorities = 2};

static void init_limits(struct h2_conn *c, const struct h2_settings *s, tick_t now)
{
    h2_glitches_init(&c->glitches, s, now);
    limit_init(&c->rst_limit, s->rst_rate, s->rst_burst, now);
    limit_init(&c->reset_limit, s->reset_rate, s->reset_burst, now);
    limit_init(&c->ping_limit, s->ping_rate, s->ping_burst, now);
    limit_init(&c->settings_limit, s->settings_rate, s->settings_burst, now);
}

static bool init(struct h2_conn *c, struct h2 *h, const struct h2_settings *s,
                 const struct http_peer *peer, uint32_t flags, tick_t now)
{
    h->env->now = now;
    *c = (struct h2_conn){.h2 = h, .settings = s, .peer = peer, .flags = flags};
    sched_init(&c->sched, SCHED_DEFICIT, &s->sched, 0);
    h2_priorities_init(c);
    list_init(&c->crediting);
    list_init(&c->leaving);
    list_init(&c->done);
    c->send_window = c->receive_window = H2_WINDOW_FIRST;
    c->own_window = H2_WINDOW_FIRST;
    c->goaway_sent = c->goaway_last = H2_STREAM_MAX;
    c->updates_due = UPDATES_FIRST;
    c->peers = first_settings;
    c->next_own = flags & H2_CONN_CLIENT ? 1 : 2;
    init_limits(c, s, now);
    h2_count(c, COUNTER_H2_OPENED, 1);
    hpack_encoder_init(&c->encoder, h->hpack_mem, s->header_table);
    if (!hpack_decoder_init(&c->decoder, h->hpack_mem, s->header_table) || !h2_greet(c)) {
        h2_conn_fini(c);
        return false;
    }
    h2_timers_start(c, now);
    return true;
}

bool h2_accept(struct h2_conn *c, struct h2 *h, const struct h2_settings *settings,
               const struct http_service *service, const struct http_peer *peer, tick_t now)
{
    if (!init(c, h, settings, peer, 0, now))
        return false;
    c->service = service;
    return true;
}

bool h2_connect(struct h2_conn *c, struct h2 *h, const struct h2_settings *settings,
                const struct http_peer *peer, tick_t now)
{
    return init(c, h, settings, peer, H2_CONN_CLIENT, now);
}

void h2_schedule(struct h2_conn *c, enum sched_policy policy)
{
    assert(c->n_objects == 0 && c->out.at == 0 && c->tx_frames == 1);
    sched_init(&c->sched, policy, &c->settings->sched, (uintptr_t)c);
    h2_priorities_init(c);
    c->out.used = 0; /* our SETTINGS are others by it */
    c->tx_frames = 0;
    bool greeted = h2_greet(c);
    assert(greeted && "there was room for it before");
    (void)greeted;
}

void h2_conn_fini(struct h2_conn *c)
{
    uint32_t at = 0;
    for (struct h2_stream *s; (s = h2_streams_next(&c->streams, &at));)
        h2_stream_free(s);
    h2_streams_clear(&c->streams);
    list_splice_back(&c->done, &c->leaving);
    h2_streams_reap(c);
    assert(c->n_objects == 0 && "in the table, or closed");
    h2_priorities_fini(c);
    h2_streams_tidy(&c->streams, h2_mem(c));
    c->out.at = c->out.used = 0;
    h2_queue_tidy(&c->out, h2_mem(c));
    mem_free(h2_mem(c), c->rx.bytes, c->rx.room);
    h2_memo_forget(&c->h2->memo, c);
    hpack_decoder_fini(&c->decoder);
    hpack_encoder_fini(&c->encoder);
    h2_count(c, COUNTER_H2_CLOSED, 1);
}

void h2_wake(struct h2_conn *c)
{
    c->h2->wake(c);
}

/* ---- going wrong ---- */

static void stop(struct h2_conn *c, enum h2_conn_flag why, enum stream_code code)
{
    h2_set(c, why);
    h2_streams_fail(c, code);
    h2_wake(c);
}

void h2_fail(struct h2_conn *c, enum h2_error error)
{
    if (h2_has(c, H2_CONN_FAILED) || h2_has(c, H2_CONN_ENDED))
        return;
    c->error = error;
    c->drain_at = h2_now(c) + c->settings->drain_timeout;
    stop(c, H2_CONN_FAILED, STREAM_RESET);
    if (error != H2_NO_ERROR)
        h2_count(c, COUNTER_H2_ERRORS, 1);
    if (error == H2_ENHANCE_YOUR_CALM)
        h2_count(c, COUNTER_H2_CALM, 1);
    uint8_t *to = h2_queue_room(c, H2_GOAWAY_SIZE);
    if (to) {
        h2_queue_push(c, h2_goaway_write(to, c->last_peer, error));
        h2_count(c, COUNTER_H2_GOAWAY_TX, 1);
    }
}

void h2_calm(struct h2_conn *c, enum counter limit)
{
    if (h2_has(c, H2_CONN_FAILED))
        return;
    h2_count(c, limit, 1);
    h2_fail(c, H2_ENHANCE_YOUR_CALM);
}

bool h2_glitched(struct h2_conn *c, enum h2_glitch kind, uint32_t times)
{
    enum h2_verdict verdict = h2_glitch(&c->glitches, c->h2->counters, kind, times, h2_now(c));
    if (verdict == H2_VERDICT_END) {
        h2_fail(c, H2_ENHANCE_YOUR_CALM);
    } else if (verdict == H2_VERDICT_DRAIN && !h2_has(c, H2_CONN_DRAINING)) {
        h2_count(c, COUNTER_H2_DRAINED, 1);
        h2_shutdown(c, h2_now(c));
    }
    return !h2_has(c, H2_CONN_FAILED);
}

bool h2_odd(struct h2_conn *c, enum h2_glitch kind)
{
    if (c->odd++ < ODD_FREE + ODD_FOR_STREAM * c->total)
        return true;
    return h2_glitched(c, kind, 1);
}

void h2_failed(struct h2_conn *c, enum stream_code code, tick_t now)
{
    c->h2->env->now = now;
    if (h2_has(c, H2_CONN_ENDED))
        return;
    stop(c, H2_CONN_ENDED, code);
    c->out.at = c->out.used = 0;
}

void h2_input_end(struct h2_conn *c, tick_t now)
{
    h2_failed(c, STREAM_RESET, now);
}

/* ---- draining ---- */

static void goaway(struct h2_conn *c, uint32_t last)
{
    uint8_t *to = h2_queue_room(c, H2_GOAWAY_SIZE);
    if (!to)
        return;
    h2_queue_push(c, h2_goaway_write(to, last, H2_NO_ERROR));
    h2_count(c, COUNTER_H2_GOAWAY_TX, 1);
    c->goaway_sent = last;
}

/* RFC 9113 6.8: first the largest identifier, so that streams which the other side opens meanwhile
 * are served; after a round trip, which a PING measures, the true one. */
void h2_shutdown(struct h2_conn *c, tick_t now)
{
    c->h2->env->now = now;
    if (c->flags & (H2_CONN_DRAINING | H2_CONN_FAILED | H2_CONN_ENDED))
        return;
    h2_set(c, H2_CONN_DRAINING);
    goaway(c, H2_STREAM_MAX);
    uint8_t *to = h2_queue_room(c, H2_PING_SIZE);
    if (to)
        h2_queue_push(c, h2_ping_write(to, false, h2_close_ping));
    c->closing_at = now + TICK_SEC;
    c->drain_at = now + c->settings->drain_timeout;
    h2_wake(c);
}

void h2_shutdown_by(struct h2_conn *c, tick_t by, tick_t now)
{
    h2_shutdown(c, now);
    if (!(c->flags & (H2_CONN_FAILED | H2_CONN_ENDED)))
        c->drain_at = by;
}

void h2_close(struct h2_conn *c)
{
    if (h2_has(c, H2_CONN_CLOSING))
        return;
    h2_set(c, H2_CONN_DRAINING); /* where that step was passed over, it is not for later */
    h2_set(c, H2_CONN_CLOSING);
    c->closing_at = TICK_NEVER;
    goaway(c, c->last_peer);
    h2_wake(c);
}

void h2_streams_changed(struct h2_conn *c)
{
    bool idle = c->streams.n == 0;
    bool over = c->flags & (H2_CONN_FAILED | H2_CONN_ENDED);
    if (idle && !over && h2_has(c, H2_CONN_GOAWAY_RECEIVED))
        h2_close(c); /* RFC 9113 6.8: no end without GOAWAY of ours */
    c->idle_at = idle ? h2_now(c) + c->settings->idle_timeout : TICK_NEVER;
    c->tidy_at = idle ? h2_now(c) + TICK_SEC : TICK_NEVER;
}

static bool nothing_follows(const struct h2_conn *c)
{
    if (c->flags & (H2_CONN_FAILED | H2_CONN_ENDED))
        return true;
    return c->streams.n == 0 && h2_has(c, H2_CONN_CLOSING);
}

bool h2_is_done(const struct h2_conn *c)
{
    return nothing_follows(c) && h2_queue_bytes(&c->out) == 0;
}

bool h2_is_over(const struct h2_conn *c)
{
    return c->n_objects == 0;
}

bool h2_blocked(const struct h2_conn *c)
{
    return h2_queue_bytes(&c->out) > H2_QUEUE_HIGH || c->n_objects - c->streams.n > H2_LEAVING_HIGH;
}

uint32_t h2_cost(const struct h2_conn *c)
{
    uint64_t held = c->in_held + c->out_held;
    uint32_t streams = held < UINT32_MAX / 2 ? (uint32_t)held : UINT32_MAX / 2;
    return streams + c->out.room + c->rx.room + h2_priorities_cost(c);
}

/* Of so many streams each is looked at; of more only the sums, for the sake of long tests. */
#define LOOK_STREAMS 32u

static bool streams_ok(const struct h2_conn *c)
{
    uint32_t at = 0;
    uint32_t n = 0;
    uint32_t wanting = 0;
    if (c->streams.n > LOOK_STREAMS)
        return true;
    for (const struct h2_stream *s; (s = h2_streams_next(&c->streams, &at)); n++) {
        if (!h2_stream_ok(s) || s->conn != c || s->state == H2_CLOSED)
            return false;
        wanting += (s->flags & H2_STREAM_WANTING) != 0;
    }
    return n == c->streams.n && wanting == c->n_wanting;
}

bool h2_conn_ok(const struct h2_conn *c)
{
    return streams_ok(c) && c->streams.n == c->n_peer + c->n_own && c->streams.n <= c->n_objects &&
           c->send_window <= (int64_t)H2_WINDOW_MAX;
}
