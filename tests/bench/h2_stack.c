/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What HTTP/2 costs in the stack alone, TCP and IP included: see pair.h for what is timed. The
 * client replays canned bytes, with the dynamic table of HPACK at work as in any client that asks
 * for one thing over and over. Medians of rounds. Cases:
 *
 *   h2c/N, tls/N      a request with 11 bytes of content in its reply, N at once on one connection
 *   h2c-16k, tls-16k  one with 16 KiB, 10 at once
 *   handshake-full    a TLS connection from SYN to its end, with one request
 *   handshake-resumed the same with a ticket
 *   idle-memory       bytes of a TLS connection that has had a request and is silent: the stack's
 *   idle-memory-tls   and OpenSSL's
 *
 * TLS is 1.3 with TLS_AES_128_GCM_SHA256, X25519 and an ECDSA certificate (P-256). The peer of
 * h2c/N is a session of nghttp2, without TCP or anything else below, which is given the same bytes
 * and answers the same.
 *
 *     bench_h2_stack [CASE]   a part of their names
 */

#include <inttypes.h>
#include <nghttp2/nghttp2.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "service/origin.h"
#include "support/pki.h"
#include "tls/conn.h"
#include "wire/h2.h"

#define ROUNDS   31
#define REQUESTS 2000u /* a round */
#define LARGE    200u
#define OPENS    32u
#define IDLE     2000u
#define CONTENT  "hello world"
#define TYPE     "text/plain"
#define PORT_H2C 80
#define PORT_TLS 443
#define BATCH    100u
#define ASK_MAX  100u /* bytes of a request */

struct client {
    struct stream *stream;
    struct tls_conn tls;
    bool secure;
    bool open;
    bool once; /* ends with the first reply */
    bool shut; /* tls is no more */
    const char *path;
    uint32_t asked; /* requests, ever */
    uint64_t answered;
    uint8_t head[H2_FRAME_HEADER]; /* of the frame being received */
    uint32_t have;                 /* bytes of head */
    uint32_t left;                 /* of its payload */
};

struct bench {
    struct pair pair;
    struct origin *origin;
    struct tls_context *server, *context; /* context: the client's */
    struct tls tls;                       /* the client's */
    struct pki pki;
    uint32_t opened;
    uint32_t ended;
    uint8_t session[4096];
    size_t session_len;
    bool resume;
};

static struct bench bench;

/* ---- OpenSSL's memory ---- */

union block {
    struct {
        size_t size;
        bool server; /* was asked for by the server */
    } of;
    max_align_t align;
};

static size_t tls_held; /* by the server */

static void *tls_alloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    union block *b = malloc(sizeof(*b) + size);
    if (!b)
        return NULL;
    b->of.size = size;
    b->of.server = bench.pair.serving;
    tls_held += b->of.server ? size : 0;
    return b + 1;
}

static void tls_free(void *at, const char *file, int line)
{
    (void)file;
    (void)line;
    union block *b = at;
    if (!b)
        return;
    b--;
    tls_held -= b->of.server ? b->of.size : 0;
    free(b);
}

static void *tls_realloc(void *at, size_t size, const char *file, int line)
{
    void *to = tls_alloc(size, file, line);
    if (to && at) {
        size_t had = ((union block *)at - 1)->of.size;
        memcpy(to, at, had < size ? had : size);
        tls_free(at, file, line);
    }
    return to;
}

/* ---- what the client says ---- */

/* A field whose name is of the static table; it goes into the dynamic one (RFC 7541 6.2.1). */
static uint8_t *put_field(uint8_t *at, uint8_t name, const char *value)
{
    uint8_t len = (uint8_t)strlen(value);
    *at++ = (uint8_t)(0x40 | name);
    *at++ = len;
    memcpy(at, value, len);
    return at + len;
}

/* The k-th request of a connection; from the second on its own fields are in the dynamic table. */
static uint8_t *put_request(uint8_t *at, uint32_t k, const char *path, bool secure)
{
    uint8_t *frame = at, *block = frame + H2_FRAME_HEADER;
    at = block;
    *at++ = 0x82;                 /* :method: GET */
    *at++ = secure ? 0x87 : 0x86; /* :scheme */
    if (k == 0) {
        at = put_field(at, 1, "192.0.2.1");
        at = put_field(at, 4, path);
        at = put_field(at, 58, "bench/1.0");
    } else {
        *at++ = 0xc0;
        *at++ = 0xbf;
        *at++ = 0xbe;
    }
    h2_frame_write(frame, &(struct h2_frame){.type = H2_HEADERS,
                                             .flags = H2_FLAG_END_HEADERS | H2_FLAG_END_STREAM,
                                             .stream = 2 * k + 1,
                                             .length = (uint32_t)(at - block)});
    return at;
}

/* Preface, SETTINGS, and windows as large as they can be. */
static uint8_t *put_opening(uint8_t *at)
{
    static const uint8_t window[] = {0, H2_SETTINGS_INITIAL_WINDOW_SIZE, 0x7f, 0xff, 0xff, 0xff};
    memcpy(at, H2_PREFACE, H2_PREFACE_SIZE);
    at = h2_frame_write(at + H2_PREFACE_SIZE,
                        &(struct h2_frame){.type = H2_SETTINGS, .length = sizeof(window)});
    memcpy(at, window, sizeof(window));
    at += sizeof(window);
    return at + h2_window_update_write(at, 0, H2_WINDOW_MAX - H2_WINDOW_FIRST);
}

static void send_out(struct client *c)
{
    struct pkt *p = tls_take(&c->tls);
    if (p)
        stream_write_pkt(c->stream, p);
}

static void say(struct client *c, const uint8_t *bytes, size_t len)
{
    if (c->secure) {
        pair_check(tls_write(&c->tls, bytes, (uint32_t)len, bench.pair.now), "no record");
        send_out(c);
        return;
    }
    while (len > 0) {
        struct pkt *p = pair_packet(&bench.pair);
        uint32_t n = len < p->tailroom ? (uint32_t)len : p->tailroom;
        memcpy(pkt_put(p, n), bytes, n);
        stream_write_pkt(c->stream, p);
        bytes += n;
        len -= n;
    }
}

static void ask(struct client *c, uint32_t n)
{
    uint8_t bytes[BATCH * ASK_MAX], *at = bytes;
    if (c->asked == 0)
        at = put_opening(at);
    for (uint32_t i = 0; i < n; i++)
        at = put_request(at, c->asked++, c->path, c->secure);
    say(c, bytes, (size_t)(at - bytes));
}

/* ---- what it hears ---- */

static void frame_begins(struct client *c, const struct h2_frame *f)
{
    c->left = f->length;
    pair_check(f->type != H2_RST_STREAM && f->type != H2_GOAWAY, "RST_STREAM or GOAWAY");
    if (f->type == H2_SETTINGS && !(f->flags & H2_FLAG_ACK)) {
        uint8_t ack[H2_FRAME_HEADER];
        h2_frame_write(ack, &(struct h2_frame){.type = H2_SETTINGS, .flags = H2_FLAG_ACK});
        say(c, ack, sizeof(ack));
    }
    if ((f->type == H2_HEADERS || f->type == H2_DATA) && f->flags & H2_FLAG_END_STREAM)
        c->answered++;
}

static void parse(struct client *c, const uint8_t *at, uint32_t n)
{
    while (n > 0) {
        uint32_t part = c->left > 0 ? c->left : H2_FRAME_HEADER - c->have;
        uint32_t take = part < n ? part : n;
        if (c->left > 0) {
            c->left -= take;
        } else {
            memcpy(c->head + c->have, at, take);
            c->have += take;
            if (c->have == H2_FRAME_HEADER) {
                struct h2_frame f = h2_frame_parse(c->head);
                c->have = 0;
                frame_begins(c, &f);
            }
        }
        at += take;
        n -= take;
    }
}

static void parse_all(struct client *c, struct pkt *p)
{
    pkt_for_each (v, p)
        parse(c, v->data, v->len);
    pkt_free(p);
}

static void opened(struct client *c)
{
    c->open = true;
    bench.opened++;
    if (c->once)
        ask(c, 1);
}

static void shut(struct client *c)
{
    if (c->secure && !c->shut)
        tls_conn_fini(&c->tls);
    c->shut = true;
}

static void finish(struct client *c)
{
    if (c->secure) {
        bench.session_len = tls_session(&c->tls, bench.session, sizeof(bench.session));
        pair_check(bench.session_len > 0, "no ticket");
        pair_check(!bench.resume || c->tls.flags & TLS_CONN_RESUMED, "not resumed");
        tls_end(&c->tls, bench.pair.now);
        send_out(c);
    }
    stream_end(c->stream);
    shut(c);
}

static void read_tls(struct client *c)
{
    enum tls_result result;
    do {
        struct pkt *plain = NULL;
        result = tls_read(&c->tls, &plain, bench.pair.now);
        pair_check(result != TLS_ERROR && result != TLS_STARVED, "TLS");
        parse_all(c, plain);
        if (!c->open && c->tls.flags & TLS_CONN_OPEN)
            opened(c);
    } while (result == TLS_DATA || result == TLS_PROGRESS);
    send_out(c);
}

static void on_opened(struct stream *s)
{
    struct client *c = s->user;
    c->stream = s;
    if (!c->secure) {
        opened(c);
        return;
    }
    const uint8_t *session = bench.resume ? bench.session : NULL;
    pair_check(tls_connect(&c->tls, &bench.tls, bench.context, NULL, session,
                           session ? bench.session_len : 0, bench.pair.now),
               "no TLS");
    read_tls(c);
}

static void on_data(struct stream *s, struct pkt *view, bool end)
{
    struct client *c = s->user;
    (void)end;
    if (!view)
        return;
    uint64_t before = c->answered;
    stream_consume(s, view->len);
    if (c->shut) {
        pkt_free(view);
    } else if (c->secure) {
        tls_input(&c->tls, view);
        read_tls(c);
    } else {
        parse_all(c, view);
    }
    if (c->once && before == 0 && c->answered == 1)
        finish(c);
}

static void on_ended(struct stream *s)
{
    (void)s;
    bench.ended++;
}

static const struct stream_service replay = {.name = "replay",
                                             .opened = on_opened,
                                             .data = on_data,
                                             .ended = on_ended,
                                             .reset = pair_on_reset};

/* ---- life ---- */

static void hold(const void *origin, uint16_t worker)
{
    origin_hold(origin, worker);
}

static void release(const void *origin, uint16_t worker)
{
    origin_release(origin, worker);
}

static void *plain_get(struct mem *m, size_t size, size_t align)
{
    (void)m;
    size = (size + align - 1) & ~(align - 1);
    void *block = aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align, size);
    return block ? memset(block, 0, size) : NULL;
}

static void plain_put(struct mem *m, void *block, size_t size)
{
    (void)m;
    (void)size;
    free(block);
}

static struct mem plain = {.alloc = plain_get, .free = plain_put};

static struct http_text text(const char *chars, size_t len)
{
    return (struct http_text){.p = chars, .n = (uint32_t)len};
}

static void origin_open(struct bench *b)
{
    static char large[1 << 14];
    b->origin = origin_create(&plain, "bench", &(struct origin_options){0});
    const struct origin_entry entry[] = {
        {.path = text("/small", 6), .type = text(TYPE, 10), .body = text(CONTENT, 11)},
        {.path = text("/16k", 4), .type = text(TYPE, 10), .body = text(large, sizeof(large))}};
    pair_check(b->origin && origin_add(b->origin, &entry[0]) == 0 &&
                   origin_add(b->origin, &entry[1]) == 0 && origin_seal(b->origin),
               "no origin");
}

static void contexts_open(struct bench *b)
{
    static const char *const alpn[] = {"h2"};
    char error[256] = "";
    b->pki = pki_make(PKI_P256, "bench", NULL, NULL, -1, 30);
    const struct tls_identity identity = {.name = "bench",
                                          .chain = b->pki.cert,
                                          .chain_len = strlen(b->pki.cert),
                                          .key = b->pki.key,
                                          .key_len = strlen(b->pki.key)};
    const struct tls_config config = {.identity = &identity,
                                      .n_identities = 1,
                                      .min_version = TLS_VERSION_1_3,
                                      .suites = "TLS_AES_128_GCM_SHA256",
                                      .groups = "X25519",
                                      .tickets = 1,
                                      .ticket_lifetime = 3600 * TICK_SEC,
                                      .alpn = alpn,
                                      .n_alpn = 1};
    b->server = tls_context_create(&config, error, sizeof(error));
    pair_check(b->server, error);
    b->context = tls_context_create_client(NULL, 0, alpn, 1);
    pair_check(b->context, "no context");
}

static void bench_open(struct bench *b, unsigned packets)
{
    *b = (struct bench){0};
    origin_open(b);
    contexts_open(b);
    const struct stack_listener common = {.service = &service_origin.stream,
                                          .carrier = STACK_CARRIER_HTTP2,
                                          .context = b->origin,
                                          .context_hold = hold,
                                          .context_release = release,
                                          .prefix_handshakes = 1024};
    struct stack_listener listener[] = {common, common};
    strcpy(listener[0].name, "h2c");
    listener[0].port = PORT_H2C;
    strcpy(listener[1].name, "tls");
    listener[1].port = PORT_TLS;
    listener[1].tls = b->server;
    pair_open(&b->pair, packets, listener, 2);
    pair_check(tls_init(&b->tls, &b->pair.pool, &b->pair.client.counters, (const uint8_t[32]){1},
                        3600 * TICK_SEC, b->pair.now),
               "no TLS");
}

static void bench_close(struct bench *b)
{
    tls_fini(&b->tls);
    pair_close(&b->pair);
    tls_context_release(b->server);
    tls_context_release(b->context);
    pki_free(&b->pki);
    origin_destroy(b->origin);
}

static void connect_one(struct client *c, uint32_t k)
{
    pair_connect(&bench.pair, c->secure ? PORT_TLS : PORT_H2C, k, &replay, c);
}

/* Bounded, where something has gone wrong. */
static void turn_until(const uint32_t *count, uint32_t least)
{
    for (unsigned i = 0; *count < least; i++) {
        pair_check(i < 1000000, "nothing happens any more");
        pair_turn(&bench.pair);
    }
}

/* ---- the peer ---- */

struct rival {
    nghttp2_session *session;
    uint32_t asked;
    uint64_t answered;
};

static ssize_t rival_content(nghttp2_session *session, int32_t stream, uint8_t *buf, size_t len,
                             uint32_t *flags, nghttp2_data_source *source, void *user)
{
    (void)session;
    (void)stream;
    (void)source;
    (void)user;
    pair_check(len >= strlen(CONTENT), "no room");
    memcpy(buf, CONTENT, strlen(CONTENT));
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)strlen(CONTENT);
}

#define FIELD(name, value)                                                                  \
    {                                                                                       \
        (uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), sizeof(name) - 1,      \
            sizeof(value) - 1, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE \
    }

static int rival_answer(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    static const nghttp2_nv field[] = {FIELD(":status", "200"), FIELD("content-type", TYPE),
                                       FIELD("content-length", "11"),
                                       FIELD("etag", "\"0123456789abcdef0123456789abcdef\"")};
    struct rival *r = user;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    r->answered++;
    nghttp2_data_provider content = {.read_callback = rival_content};
    return nghttp2_submit_response(session, frame->hd.stream_id, field,
                                   sizeof(field) / sizeof(field[0]), &content);
}

static int rival_field(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                       size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                       void *user)
{
    (void)session;
    (void)frame;
    (void)name;
    (void)name_len;
    (void)value;
    (void)value_len;
    (void)flags;
    (void)user;
    return 0;
}

/* Bytes in, bytes out. */
static void rival_turn(struct rival *r, const uint8_t *bytes, size_t len)
{
    static uint8_t sent[1 << 16];
    const uint8_t *out;
    ssize_t n;
    pair_check(nghttp2_session_mem_recv(r->session, bytes, len) == (ssize_t)len, "nghttp2");
    while ((n = nghttp2_session_mem_send(r->session, &out)) > 0) {
        pair_check((size_t)n <= sizeof(sent), "no room");
        memcpy(sent, out, (size_t)n);
    }
}

static void rival_open(struct rival *r)
{
    uint8_t bytes[100];
    nghttp2_session_callbacks *callbacks;
    pair_check(nghttp2_session_callbacks_new(&callbacks) == 0, "no memory");
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, rival_answer);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, rival_field);
    *r = (struct rival){0};
    pair_check(nghttp2_session_server_new(&r->session, callbacks, r) == 0, "no memory");
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(r->session, NGHTTP2_FLAG_NONE, NULL, 0);
    uint8_t *at = put_opening(bytes);
    at = h2_frame_write(at, &(struct h2_frame){.type = H2_SETTINGS, .flags = H2_FLAG_ACK});
    rival_turn(r, bytes, (size_t)(at - bytes));
}

static double rival_small(struct rival *r, uint32_t n)
{
    uint8_t bytes[BATCH * ASK_MAX];
    double spent = 0;
    uint64_t from = r->answered;
    while (r->answered - from < REQUESTS) {
        uint8_t *at = bytes;
        for (uint32_t i = 0; i < n; i++)
            at = put_request(at, r->asked++, "/small", false);
        double start = pair_clock();
        rival_turn(r, bytes, (size_t)(at - bytes));
        spent += pair_clock() - start;
    }
    return spent / (double)(r->answered - from);
}

/* ---- work ---- */

struct request_case {
    const char *name;
    const char *path;
    bool secure;
    uint32_t at_once;
    uint32_t most; /* a round */
    bool beside;   /* the peer */
};

/* What a request costs, n at once. */
static double requests(struct client *c, uint32_t n, uint32_t most)
{
    uint64_t from = c->answered;
    bench.pair.spent = 0;
    while (c->answered - from < most) {
        ask(c, n);
        for (unsigned i = 0; c->answered < c->asked; i++) {
            pair_check(i < 100000, "no reply");
            pair_turn(&bench.pair);
        }
    }
    return bench.pair.spent / (double)(c->answered - from);
}

static void run_requests(const struct request_case *k)
{
    static struct client c;
    struct rival r;
    double ours[ROUNDS], peers[ROUNDS];
    bench_open(&bench, 0);
    c = (struct client){.secure = k->secure, .path = k->path};
    connect_one(&c, 0);
    turn_until(&bench.opened, 1);
    requests(&c, k->at_once, k->most);
    rival_open(&r);
    for (unsigned i = 0; i < ROUNDS; i++) {
        ours[i] = requests(&c, k->at_once, k->most);
        peers[i] = k->beside ? rival_small(&r, k->at_once) : 0;
    }
    pair_report("h2_stack", k->name, PAIR_UNIT "/request", pair_median(ours, ROUNDS),
                k->beside ? "nghttp2's session alone" : NULL, pair_median(peers, ROUNDS));
    nghttp2_session_del(r.session);
    shut(&c);
    bench_close(&bench);
}

static double handshakes(struct client *all)
{
    bench.pair.spent = 0;
    bench.ended = 0;
    for (uint32_t i = 0; i < OPENS; i++) {
        all[i] = (struct client){.secure = true, .once = true, .path = "/small"};
        connect_one(&all[i], i);
        turn_until(&bench.ended, i);
    }
    turn_until(&bench.ended, OPENS);
    return bench.pair.spent / OPENS;
}

static void run_handshakes(void)
{
    static struct client all[OPENS];
    static const char *const name[] = {"handshake-full", "handshake-resumed"};
    double ours[ROUNDS];
    bench_open(&bench, 0);
    for (unsigned how = 0; how < 2; how++) {
        bench.resume = how == 1;
        handshakes(all);
        for (unsigned i = 0; i < ROUNDS; i++)
            ours[i] = handshakes(all);
        pair_report("h2_stack", name[how], PAIR_UNIT "/connection", pair_median(ours, ROUNDS), NULL,
                    0);
    }
    bench_close(&bench);
}

static void idle_one(struct client *c, uint32_t k)
{
    *c = (struct client){.secure = true, .path = "/small"};
    connect_one(c, k);
    turn_until(&bench.opened, k + 1);
    requests(c, 1, 1);
}

/* The first few are for what does not belong to one. */
static void run_idle(void)
{
    enum { FEW = 100 };
    struct client *all = calloc(FEW + IDLE, sizeof(*all));
    pair_check(all, "no memory");
    bench_open(&bench, FEW + IDLE);
    for (uint32_t k = 0; k < FEW; k++)
        idle_one(&all[k], k);
    pair_pass(&bench.pair, 3 * TICK_SEC, TICK_MS);
    size_t held = bench.pair.server.held, tls = tls_held;
    for (uint32_t k = FEW; k < FEW + IDLE; k++)
        idle_one(&all[k], k);
    pair_pass(&bench.pair, 3 * TICK_SEC, TICK_MS);
    pair_report("h2_stack", "idle-memory", "bytes/connection",
                (double)(bench.pair.server.held - held) / IDLE, NULL, 0);
    pair_report("h2_stack", "idle-memory-tls", "bytes/connection", (double)(tls_held - tls) / IDLE,
                NULL, 0);
    for (uint32_t k = 0; k < FEW + IDLE; k++)
        shut(&all[k]);
    bench_close(&bench);
    free(all);
}

int main(int argc, char **argv)
{
    static const struct request_case request_case[] = {
        {"h2c/1", "/small", false, 1, REQUESTS, true},
        {"h2c/10", "/small", false, 10, REQUESTS, true},
        {"h2c/100", "/small", false, 100, REQUESTS, true},
        {"tls/1", "/small", true, 1, REQUESTS, false},
        {"tls/10", "/small", true, 10, REQUESTS, false},
        {"tls/100", "/small", true, 100, REQUESTS, false},
        {"h2c-16k", "/16k", false, 10, LARGE, false},
        {"tls-16k", "/16k", true, 10, LARGE, false},
    };
    const char *only = argc > 1 ? argv[1] : "";
    pair_check(CRYPTO_set_mem_functions(tls_alloc, tls_realloc, tls_free) == 1,
               "OpenSSL has begun already");
    for (unsigned i = 0; i < sizeof(request_case) / sizeof(request_case[0]); i++)
        if (strstr(request_case[i].name, only))
            run_requests(&request_case[i]);
    if (strstr("handshake-full handshake-resumed", only))
        run_handshakes();
    if (strstr("idle-memory-tls", only))
        run_idle();
    return 0;
}
