/* SPDX-License-Identifier: BSD-3-Clause */
#include "nghttp2_peer.h"

#include <string.h>

struct peer peer;

static uint8_t content(bool ours, uint32_t place, uint32_t at)
{
    return (uint8_t)(at * 13 + (at >> 8) * 7 + place * 3 + (ours ? 5 : 9));
}

/* Are these the next bytes? One assertion for all, since each is a system call. */
static bool is_content(bool ours, uint32_t place, uint32_t *at, const uint8_t *p, size_t n)
{
    bool same = true;
    for (size_t i = 0; i < n; i++)
        same &= p[i] == content(ours, place, (*at)++);
    return same;
}

static uint32_t place_of(const struct peer_talk *t)
{
    return (uint32_t)(t - peer.talk);
}

static struct peer_talk *talk_at(uint32_t id)
{
    ck_assert_uint_lt(id / 2, PEER_STREAMS);
    return &peer.talk[id / 2];
}

static struct peer_talk *talk_of(struct stream *s)
{
    return talk_at(h2_stream_of(s)->id);
}

/* ---- our service ---- */

static void flatten(const struct vec *v, uint32_t offset, uint8_t *dst, uint32_t len)
{
    const struct peer_talk *t = v->of.context;
    for (uint32_t i = 0; i < len; i++)
        dst[i] = content(true, place_of(t), v->arg + offset + i);
}

static const struct vec_ops writing = {.flatten = flatten};

static void our_head(struct http_stream *s, const struct http_head *h, bool end)
{
    struct peer_talk *t = talk_of(&s->stream);
    t->s = s;
    t->our_heads++;
    t->our_status = h->status;
    t->tunnel |= h->method == HTTP_CONNECT;
    t->our_fields = h->n_fields;
    t->our_field_bytes = 0;
    for (uint32_t i = 0; i < h->n_fields; i++)
        t->our_field_bytes += h->field[i].value.n;
    t->our_saw_end |= end;
}

static void our_data(struct stream *s, struct pkt *view, bool end)
{
    struct peer_talk *t = talk_of(s);
    ck_assert(!t->our_saw_end);
    t->our_saw_end = end;
    if (end)
        http_received_trailers(http_of(s), &t->our_trailers);
    if (!view)
        return;
    ck_assert(is_content(false, place_of(t), &t->our_read, view->data, view->len));
    if (!peer.late)
        stream_consume(s, view->len);
    pkt_free(view);
}

static void our_ended(struct stream *s)
{
    struct peer_talk *t = talk_of(s);
    t->our_ended = true;
    t->s = NULL;
}

static void our_reset(struct stream *s, enum stream_code code)
{
    struct peer_talk *t = talk_of(s);
    t->our_reset = code;
    t->s = NULL;
}

static const struct http_service service = {
    .stream =
        {.name = "peer", .http = true, .data = our_data, .ended = our_ended, .reset = our_reset},
    .head = our_head,
};

static const struct http_field trailer = {HTTP_TEXT("x-sum"), HTTP_TEXT("12"), false};

struct peer_talk *peer_our_request(enum http_method m, bool end)
{
    struct http_head h = {.method = m,
                          .authority = HTTP_TEXT("a.example:443"),
                          .content_length = HTTP_LENGTH_NONE,
                          .field = &trailer,
                          .n_fields = 1};
    if (m != HTTP_CONNECT) {
        h.scheme = HTTP_TEXT("https");
        h.path = HTTP_TEXT("/a/path");
    }
    struct peer_talk *t = talk_at(peer.conn.next_own);
    t->our_finished = end;
    t->tunnel = m == HTTP_CONNECT;
    t->s = h2_request(&peer.conn, &h, end, &service, NULL, peer.now);
    return t->s ? t : NULL;
}

void peer_our_respond(struct peer_talk *t, uint16_t status, bool end)
{
    struct http_head h = {
        .status = status, .content_length = HTTP_LENGTH_NONE, .field = &trailer, .n_fields = 1};
    t->our_finished |= end;
    ck_assert(http_respond(t->s, &h, end));
}

void peer_our_write(struct peer_talk *t, uint32_t n)
{
    struct vec v = {.ops = &writing, .of.context = t, .len = n, .arg = t->our_written};
    if (n > 0 && t->s && stream_write(&t->s->stream, v))
        t->our_written += n;
}

void peer_our_finish(struct peer_talk *t, bool trailers)
{
    t->our_finished = true;
    t->our_early = !peer.client && !t->our_saw_end && !t->tunnel;
    if (trailers)
        http_trailers(t->s, &trailer, 1);
    else
        stream_end(&t->s->stream);
}

/* ---- nghttp2's ---- */

#define NV(name, value)                                                                      \
    ((nghttp2_nv){(uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), strlen(name), \
                  strlen(value), NGHTTP2_NV_FLAG_NONE})

static ssize_t their_read(nghttp2_session *s, int32_t id, uint8_t *buf, size_t room,
                          uint32_t *flags, nghttp2_data_source *source, void *user)
{
    (void)user;
    struct peer_talk *t = source->ptr;
    size_t n = t->to_write < room ? t->to_write : room;
    for (size_t i = 0; i < n; i++)
        buf[i] = content(false, place_of(t), t->written++);
    t->to_write -= (uint32_t)n;
    if (t->to_write > 0 || !t->finished)
        return n > 0 ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (t->with_trailers) {
        nghttp2_nv nv = NV("x-sum", "34");
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        ck_assert_int_eq(nghttp2_submit_trailer(s, id, &nv, 1), 0);
    }
    return (ssize_t)n;
}

/* A field of n bytes, in text that outlives the call (nghttp2 copies it). */
static nghttp2_nv big_field(uint32_t n)
{
    static uint8_t value[1u << 16];
    memset(value, 'v', sizeof(value));
    ck_assert_uint_le(n, sizeof(value));
    return (nghttp2_nv){(uint8_t *)(uintptr_t) "x-big", value, 5, n, NGHTTP2_NV_FLAG_NO_INDEX};
}

struct peer_talk *peer_their_request(const char *method, bool end, uint32_t big)
{
    bool tunnel = strcmp(method, "CONNECT") == 0;
    nghttp2_nv nv[5] = {NV(":method", method), NV(":authority", "a.example:443")};
    size_t n = 2;
    if (!tunnel) {
        nv[n++] = NV(":scheme", "https");
        nv[n++] = NV(":path", "/a/path");
    }
    if (big > 0)
        nv[n++] = big_field(big);
    uint32_t next = nghttp2_session_get_next_stream_id(peer.session);
    struct peer_talk *t = talk_at(next);
    nghttp2_data_provider from = {.source.ptr = t, .read_callback = their_read};
    t->finished = end;
    t->tunnel = tunnel;
    t->id = nghttp2_submit_request(peer.session, NULL, nv, n, end ? NULL : &from, NULL);
    ck_assert_int_eq(t->id, (int32_t)next);
    return t;
}

void peer_their_respond(struct peer_talk *t, const char *status, bool end, uint32_t big)
{
    nghttp2_nv nv[2] = {NV(":status", status), big_field(big)};
    nghttp2_data_provider from = {.source.ptr = t, .read_callback = their_read};
    size_t n = big > 0 ? 2 : 1;
    t->finished |= end;
    if (status[0] == '1')
        nghttp2_submit_headers(peer.session, 0, t->id, NULL, nv, n, NULL);
    else
        t->responded = nghttp2_submit_response(peer.session, t->id, nv, n, end ? NULL : &from) == 0;
}

void peer_their_write(struct peer_talk *t, uint32_t n)
{
    t->to_write += n;
    nghttp2_session_resume_data(peer.session, t->id);
}

void peer_their_finish(struct peer_talk *t, bool trailers)
{
    t->finished = true;
    t->with_trailers = trailers;
    nghttp2_session_resume_data(peer.session, t->id);
}

static int on_begin(nghttp2_session *s, const nghttp2_frame *f, void *user)
{
    (void)s;
    (void)user;
    struct peer_talk *t = talk_at((uint32_t)f->hd.stream_id);
    t->id = f->hd.stream_id;
    t->status = 0;
    return 0;
}

static int on_header(nghttp2_session *s, const nghttp2_frame *f, const uint8_t *name, size_t n,
                     const uint8_t *value, size_t len, uint8_t flags, void *user)
{
    (void)s;
    (void)flags;
    (void)user;
    struct peer_talk *t = talk_at((uint32_t)f->hd.stream_id);
    if (n == 7 && memcmp(name, ":status", 7) == 0 && len == 3)
        t->status = (uint16_t)((value[0] - '0') * 100 + (value[1] - '0') * 10 + value[2] - '0');
    return 0;
}

static int on_frame(nghttp2_session *s, const nghttp2_frame *f, void *user)
{
    (void)s;
    (void)user;
    bool message = f->hd.type == NGHTTP2_HEADERS || f->hd.type == NGHTTP2_DATA;
    if (f->hd.type == NGHTTP2_HEADERS) {
        struct peer_talk *t = talk_at((uint32_t)f->hd.stream_id);
        bool first = f->headers.cat == NGHTTP2_HCAT_REQUEST || t->status > 0;
        t->heads += first;
        t->trailers += !first;
    }
    if (message && (f->hd.flags & NGHTTP2_FLAG_END_STREAM))
        talk_at((uint32_t)f->hd.stream_id)->saw_end = true;
    if (f->hd.type == NGHTTP2_PING && (f->hd.flags & NGHTTP2_FLAG_ACK))
        peer.pings++;
    if (f->hd.type == NGHTTP2_GOAWAY) {
        peer.goaways++;
        peer.goaway_at = (uint32_t)f->goaway.last_stream_id;
        peer.goaway_error = f->goaway.error_code;
    }
    return 0;
}

static int on_data(nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                   void *user)
{
    (void)flags;
    (void)user;
    struct peer_talk *t = talk_at((uint32_t)id);
    ck_assert(is_content(true, place_of(t), &t->read, p, n));
    if (peer.late)
        t->unconsumed += (uint32_t)n;
    else
        nghttp2_session_consume(s, id, n);
    return 0;
}

static int on_close(nghttp2_session *s, int32_t id, uint32_t error, void *user)
{
    (void)s;
    (void)user;
    struct peer_talk *t = talk_at((uint32_t)id);
    t->closed = true;
    t->error = error;
    return 0;
}

static ssize_t on_padding(nghttp2_session *s, const nghttp2_frame *f, size_t max, void *user)
{
    (void)s;
    (void)user;
    size_t padded = f->hd.length + peer.padding;
    return (ssize_t)(padded < max ? padded : max);
}

void peer_consume(void)
{
    for (uint32_t i = 0; i < PEER_STREAMS; i++) {
        struct peer_talk *t = &peer.talk[i];
        if (t->s)
            stream_consume(&t->s->stream, stream_unconsumed(&t->s->stream));
        if (t->unconsumed > 0)
            nghttp2_session_consume(peer.session, t->id, t->unconsumed);
        t->unconsumed = 0;
    }
}

/* ---- both ---- */

static void wake(struct h2_conn *c)
{
    (void)c;
}

void peer_setup(void)
{
    memset(&peer, 0, sizeof(peer));
    peer.now = TICK_SEC;
    heap_init(&peer.heap);
    heap_pool_init(&peer.pool, 64, 2048);
    ck_assert(h2_settings_fill(&peer.settings));
}

void peer_lenient(void)
{
    struct h2_settings *s = &peer.settings;
    s->glitches = s->ping_burst = s->settings_burst = s->rst_burst = s->reset_burst = 1u << 20;
    s->memory = 1u << 30;
    s->stream_window = 20000;
    s->connection_window = 100000;
}

static void make_session(void)
{
    nghttp2_session_callbacks *c;
    nghttp2_option *o;
    ck_assert_int_eq(nghttp2_session_callbacks_new(&c), 0);
    ck_assert_int_eq(nghttp2_option_new(&o), 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(c, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_close);
    nghttp2_session_callbacks_set_select_padding_callback(c, on_padding);
    nghttp2_option_set_no_auto_window_update(o, 1);
    ck_assert_int_eq(peer.client ? nghttp2_session_server_new2(&peer.session, c, NULL, o)
                                 : nghttp2_session_client_new2(&peer.session, c, NULL, o),
                     0);
    nghttp2_option_del(o);
    nghttp2_session_callbacks_del(c);
}

void peer_connect(bool client, const nghttp2_settings_entry *entry, size_t n)
{
    peer.client = client;
    peer.env = (struct http_env){.mem = &peer.heap.mem, .pool = &peer.pool.pool};
    peer.peer = (struct http_peer){.env = &peer.env, .listener = "peer", .protocol = "h2"};
    ck_assert(h2_init(&peer.h2, &peer.env, &peer.counters, 1024, &peer.settings, wake));
    if (client)
        ck_assert(h2_connect(&peer.conn, &peer.h2, &peer.settings, &peer.peer, peer.now));
    else
        ck_assert(h2_accept(&peer.conn, &peer.h2, &peer.settings, &service, &peer.peer, peer.now));
    make_session();
    ck_assert_int_eq(nghttp2_submit_settings(peer.session, 0, entry, n), 0);
}

void peer_teardown(void)
{
    if (peer.session) {
        nghttp2_session_del(peer.session);
        h2_failed(&peer.conn, STREAM_RESET, peer.now);
        peer_serve();
        h2_conn_fini(&peer.conn);
        h2_fini(&peer.h2);
    }
    ck_assert_uint_eq(counter_get(&peer.counters, COUNTER_H2_STREAMS_OPENED),
                      counter_get(&peer.counters, COUNTER_H2_STREAMS_CLOSED));
    ck_assert_uint_eq(peer.pool.held, 0);
    ck_assert_uint_eq(peer.heap.bytes, 0);
}

void peer_serve(void)
{
    peer.env.now = peer.now;
    while (stream_ready_run(&peer.h2.ready, 64, 16))
        ;
}

bool peer_from_ours(void)
{
    static uint8_t out[16384];
    uint32_t n = h2_output(&peer.conn, out, sizeof(out), peer.now);
    for (uint32_t at = 0; at < n;) {
        uint32_t len = peer.piece > 0 && n - at > peer.piece ? peer.piece : n - at;
        ck_assert_int_eq(nghttp2_session_mem_recv(peer.session, out + at, len), len);
        at += len;
    }
    return n > 0;
}

bool peer_from_theirs(void)
{
    const uint8_t *bytes;
    ssize_t n = nghttp2_session_mem_send(peer.session, &bytes);
    ck_assert_int_ge(n, 0);
    if (n > 0)
        h2_input(&peer.conn, heap_pkt(&peer.pool, bytes, (size_t)n, peer.piece), peer.now);
    return n > 0;
}

void peer_run(void)
{
    bool moved = true;
    for (unsigned rounds = 0; moved; rounds++) {
        ck_assert_uint_lt(rounds, 100000);
        moved = peer_from_theirs();
        peer_serve();
        moved |= peer_from_ours();
        peer_serve();
    }
}

/* ---- anything, in any order ---- */

static struct rng rng;

static uint32_t below(uint32_t n)
{
    return (uint32_t)rng_below(&rng, n);
}

static uint32_t some_bytes(void)
{
    static const uint32_t sizes[] = {1, 9, 100, 1000, 16375, 16384, 16385, 40000};
    return sizes[below(8)];
}

static void begin(void)
{
    static const enum http_method ours[] = {HTTP_GET, HTTP_POST, HTTP_CONNECT};
    static const char *const theirs[] = {"GET", "POST", "CONNECT"};
    unsigned m = below(3);
    uint32_t next =
        peer.client ? peer.conn.next_own : nghttp2_session_get_next_stream_id(peer.session);
    if (next / 2 >= PEER_STREAMS)
        return;
    if (peer.client)
        peer_our_request(ours[m], m == 0);
    else
        peer_their_request(theirs[m], m == 0, below(5) == 0 ? below(30000) : 0);
}

static void act_ours(struct peer_talk *t)
{
    bool may_write = !t->our_finished && (peer.client || t->s->status > 0);
    switch (below(8)) {
    case 0:
    case 1:
        if (!peer.client && t->s->status == 0)
            peer_our_respond(t, below(3) ? 200 : 103, false);
        break;
    case 2:
    case 3:
    case 4:
        if (may_write && t->our_written < 200000)
            peer_our_write(t, some_bytes());
        break;
    case 5:
        if (may_write)
            peer_our_finish(t, below(2) && !t->tunnel);
        break;
    case 6:
        if (below(8) == 0) {
            stream_abort(&t->s->stream);
            t->s = NULL;
            t->our_reset = STREAM_KILLED; /* as good as any */
        }
        break;
    default: break;
    }
}

static void act_theirs(struct peer_talk *t)
{
    switch (below(8)) {
    case 0:
    case 1:
        if (peer.client && !t->responded)
            peer_their_respond(t, below(3) ? "200" : "103", false, below(4) ? 0 : below(30000));
        break;
    case 2:
    case 3:
    case 4:
        if (!t->finished && t->written < 200000 && (t->responded || !peer.client))
            peer_their_write(t, some_bytes());
        break;
    case 5:
        if (!t->finished && (t->responded || !peer.client))
            peer_their_finish(t, below(2) && !t->tunnel);
        break;
    case 6:
        if (below(8) == 0)
            nghttp2_submit_rst_stream(peer.session, 0, t->id, NGHTTP2_CANCEL);
        break;
    default: break;
    }
}

static void change_settings(void)
{
    static const uint32_t windows[] = {0, 1, 100, 10000, 65535, 200000};
    static const uint32_t tables[] = {0, 64, 4096, 100};
    nghttp2_settings_entry e[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, windows[below(6)]},
                                  {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, tables[below(4)]},
                                  {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 16384 + below(3) * 1000}};
    ck_assert_int_eq(nghttp2_submit_settings(peer.session, 0, e, 1 + below(3)), 0);
}

static void act_on_session(void)
{
    static const uint8_t priority[] = "u=1, i";
    switch (below(10)) {
    case 0: change_settings(); break;
    case 1: nghttp2_submit_ping(peer.session, 0, NULL); break;
    case 2: peer.padding = below(3) ? 0 : below(256); break;
    case 3: peer.late = below(2); break;
    case 4:
        if (!peer.client)
            nghttp2_submit_priority_update(peer.session, 0, 1 + 2 * (int32_t)below(20), priority,
                                           sizeof(priority) - 1);
        break;
    case 5: peer_consume(); break;
    case 6: peer.piece = below(2) ? 0 : 1 + below(3000); break;
    default: begin(); break;
    }
}

static struct peer_talk *some_talk(void)
{
    uint32_t n = peer.client ? peer.conn.next_own / 2
                             : (nghttp2_session_get_next_stream_id(peer.session)) / 2;
    return n > 0 ? &peer.talk[below(n)] : &peer.talk[0];
}

static void act(void)
{
    struct peer_talk *t = some_talk();
    switch (below(8)) {
    case 0:
    case 1: act_on_session(); break;
    case 2:
    case 3:
        if (t->s)
            act_ours(t);
        break;
    case 4:
        if (t->id && !t->closed)
            act_theirs(t);
        break;
    case 5: peer_from_ours(); break;
    case 6: peer_from_theirs(); break;
    default: peer_serve(); break;
    }
    ck_assert(h2_conn_ok(&peer.conn));
}

static void finish_ours(struct peer_talk *t)
{
    if (!t->s)
        return;
    if (!peer.client && t->s->status == 0)
        peer_our_respond(t, 200, false);
    if (!t->our_finished)
        peer_our_finish(t, false);
}

static void finish_theirs(struct peer_talk *t)
{
    if (!t->id || t->closed)
        return;
    if (peer.client && !t->responded)
        peer_their_respond(t, "200", true, 0);
    else if (!t->finished)
        peer_their_finish(t, false);
}

static void settle(void)
{
    for (unsigned i = 0; i < 50; i++) {
        peer_run();
        peer_consume();
    }
}

/* The client's streams end first, so that no server answers early. */
static void finish_all(void)
{
    nghttp2_settings_entry e = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1u << 20};
    ck_assert_int_eq(nghttp2_submit_settings(peer.session, 0, &e, 1), 0);
    peer.late = false;
    settle();
    for (unsigned ours = 0; ours < 2; ours++) {
        for (uint32_t i = 0; i < PEER_STREAMS; i++)
            if (peer.client == (ours == 0))
                finish_ours(&peer.talk[i]);
            else
                finish_theirs(&peer.talk[i]);
        settle();
    }
}

static void check_talk(const struct peer_talk *t)
{
    ck_assert_ptr_null(t->s);
    if (!t->id || !t->closed || t->error || t->our_reset)
        return;
    ck_assert(t->our_ended && t->our_saw_end && t->saw_end);
    if (!t->our_early) /* or RST_STREAM(NO_ERROR) may have cut it off */
        ck_assert_uint_eq(t->our_read, t->written);
    ck_assert_uint_eq(t->read, t->our_written);
}

void peer_random(uint64_t seed, unsigned steps)
{
    rng_seed(&rng, seed);
    for (unsigned i = 0; i < steps; i++)
        act();
    finish_all();
    ck_assert(!h2_has(&peer.conn, H2_CONN_FAILED));
    ck_assert_uint_eq(peer.conn.streams.n, 0);
    ck_assert_int_eq(peer.conn.receive_window + peer.conn.credit, peer.settings.connection_window);
    for (uint32_t i = 0; i < PEER_STREAMS; i++)
        check_talk(&peer.talk[i]);
}
