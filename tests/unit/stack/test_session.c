/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/session.h"

#include <string.h>

#include <openssl/pem.h>

#include "client.h"
#include "support/pki.h"

#define CLEAR_PORT  80
#define SECURE_PORT 443

static struct tls_context *context;

/* ---- the service, and what it holds ---- */

static struct {
    unsigned heads, ended, reset;
    enum stream_code code;
    uint32_t bytes;
    struct http_stream *stream;
    const char *tls; /* of the last */
    char user[64];   /* the same; "": NULL */
    int held;        /* contexts */
    bool silent;     /* does not answer */
} http;

static void answer(struct http_stream *s, uint32_t n)
{
    struct http_head h = {.status = 200, .content_length = n};
    if (http_respond(s, &h, n == 0) && n > 0) {
        ck_assert(stream_write(&s->stream, vec_of_const(client_content, n)));
        stream_end(&s->stream);
    }
}

/* "/123": so many bytes. */
static void on_head(struct http_stream *s, const struct http_head *h, bool end)
{
    uint32_t n = 0;
    http.heads++;
    http.stream = s;
    http.tls = s->peer->tls;
    snprintf(http.user, sizeof(http.user), "%s", s->peer->user ? s->peer->user : "");
    for (uint32_t i = 1; i < h->path.n; i++)
        n = n * 10 + (uint32_t)(h->path.p[i] - '0');
    if (end && !http.silent)
        answer(s, n);
}

static void on_data(struct stream *s, struct pkt *view, bool end)
{
    uint32_t n = view ? view->len : 0;
    http.bytes += n;
    pkt_free(view);
    stream_consume(s, n);
    if (end && !http.silent)
        answer(http_of(s), 2);
}

static void on_ended(struct stream *s)
{
    (void)s;
    http.ended++;
}

static void on_reset(struct stream *s, enum stream_code code)
{
    (void)s;
    http.reset++;
    http.code = code;
}

static const struct http_service answering = {.stream = {.name = "answering",
                                                         .http = true,
                                                         .data = on_data,
                                                         .ended = on_ended,
                                                         .reset = on_reset},
                                              .head = on_head};

static void context_hold(const void *ctx, uint16_t worker)
{
    ck_assert_ptr_eq(ctx, &http);
    ck_assert_uint_eq(worker, 0);
    http.held++;
}

static void context_release(const void *ctx, uint16_t worker)
{
    ck_assert_ptr_eq(ctx, &http);
    ck_assert_uint_eq(worker, 0);
    http.held--;
}

/* ---- the fixture ---- */

static struct stack_listener *http_on(const char *name, uint16_t port, struct tls_context *tls)
{
    struct stack_listener *l = listen_on(name, port);
    l->carrier = STACK_CARRIER_HTTP2;
    l->service = &answering.stream;
    l->tls = tls;
    l->context = &http;
    l->context_hold = context_hold;
    l->context_release = context_release;
    return l;
}

static void setup(void)
{
    host_setup();
    clients_setup();
    memset(&http, 0, sizeof(http));
    context = client_server_context();
    http_on("clear", CLEAR_PORT, NULL);
    http_on("secure", SECURE_PORT, context);
}

static void teardown(void)
{
    host_teardown();
    ck_assert_int_eq(http.held, 0);
    clients_teardown();
    tls_context_release(context);
}

static void boot(void)
{
    host_boot();
    meet4();
}

static unsigned sessions(void)
{
    return slab_live(host.stack->sessions.slab);
}

/* ---- tests ---- */

static void serve_one(uint16_t port, const char *tls)
{
    boot();
    struct client *c = connect_to_port(0, port, port == SECURE_PORT);
    request(c, "/100");
    talk();
    ck_assert_int_eq(c->status, 200);
    ck_assert_uint_eq(c->body, 100);
    ck_assert_uint_eq(http.heads, 1);
    ck_assert_uint_eq(http.ended, 1);
    ck_assert(tls ? strcmp(http.tls, tls) == 0 : !http.tls);
    ck_assert_uint_eq(sessions(), 1);
    client_close(c);
    ck_assert(c->fin);
    ck_assert_uint_eq(sessions(), 0);
    ck_assert_uint_eq(host.stack->tcp.memory, 0);
    no_drops();
}

START_TEST(a_request_in_cleartext)
{
    serve_one(CLEAR_PORT, NULL);
}
END_TEST

START_TEST(a_request_over_tls)
{
    serve_one(SECURE_PORT, "TLSv1.3");
    ck_assert_uint_eq(added(COUNTER_TLS_FULL), 1);
}
END_TEST

/* ---- certificates of clients ---- */

static struct tls_context *asking_context(const struct pki *ca)
{
    static const char *const alpn[] = {"h2"};
    char error[256];
    struct tls_identity own = {.name = "own",
                               .chain = ca->cert,
                               .chain_len = strlen(ca->cert),
                               .key = ca->key,
                               .key_len = strlen(ca->key)};
    struct tls_config config = {.identity = &own,
                                .n_identities = 1,
                                .client_ca = ca->cert,
                                .client_ca_len = strlen(ca->cert),
                                .client_auth = TLS_CLIENT_AUTH_OPTIONAL,
                                .alpn = alpn,
                                .n_alpn = 1};
    struct tls_context *c = tls_context_create(&config, error, sizeof(error));
    ck_assert_msg(c != NULL, "%s", error);
    return c;
}

static void show(struct client *c, const struct pki *p)
{
    BIO *cert = BIO_new_mem_buf(p->cert, -1);
    BIO *key = BIO_new_mem_buf(p->key, -1);
    X509 *x = PEM_read_bio_X509(cert, NULL, NULL, NULL);
    EVP_PKEY *k = PEM_read_bio_PrivateKey(key, NULL, NULL, NULL);
    ck_assert_int_eq(SSL_use_cert_and_key(c->ssl, x, k, NULL, 1), 1);
    X509_free(x);
    EVP_PKEY_free(k);
    BIO_free(cert);
    BIO_free(key);
}

/* One with a certificate, or with NULL. */
static void asks_as(unsigned which, uint16_t port, const struct pki *p, const char *user)
{
    struct client *c = connect_bare(which, port);
    connect_ssl(c);
    if (p)
        show(c, p);
    connect_h2(c);
    request(c, "/0");
    talk();
    ck_assert_int_eq(c->status, 200);
    ck_assert_str_eq(http.user, user);
}

START_TEST(the_service_knows_the_user)
{
    struct pki ca = pki_make(PKI_P256, "authority", NULL, NULL, -1, 10);
    struct pki alice = pki_make(PKI_P256, "alice", NULL, &ca, -1, 10);
    struct pki unfit = pki_make(PKI_P256, "not a name", NULL, &ca, -1, 10);
    struct tls_context *asking = asking_context(&ca);
    http_on("asking", 444, asking);
    boot();
    asks_as(0, 444, &alice, "alice");
    asks_as(1, 444, NULL, "");
    asks_as(2, 444, &unfit, "");
    asks_as(3, SECURE_PORT, &alice, "");
    request(&client[0], "/0");
    talk();
    ck_assert_str_eq(http.user, "alice");
    client_close(&client[0]);
    tls_context_release(asking);
    pki_free(&ca);
    pki_free(&alice);
    pki_free(&unfit);
}
END_TEST

static void serve_much(uint16_t port)
{
    boot();
    struct client *c = connect_to_port(0, port, port == SECURE_PORT);
    request(c, "/1000000");
    talk();
    ck_assert_uint_eq(c->body, 1000000);
    ck_assert_uint_eq(c->closed, 1);
    ck_assert_uint_eq(c->stream_error, 0);
    client_close(c);
    ck_assert_uint_eq(sessions(), 0);
}

START_TEST(a_megabyte_in_cleartext)
{
    serve_much(CLEAR_PORT);
}
END_TEST

START_TEST(a_megabyte_over_tls)
{
    serve_much(SECURE_PORT);
}
END_TEST

static void take_much(uint16_t port)
{
    boot();
    struct client *c = connect_to_port(0, port, port == SECURE_PORT);
    struct upload u = {1000000};
    post(c, &u);
    talk();
    ck_assert_uint_eq(http.bytes, 1000000);
    ck_assert_int_eq(c->status, 200);
    client_close(c);
    ck_assert_uint_eq(sessions(), 0);
    ck_assert_uint_eq(host.stack->tcp.memory, 0);
}

START_TEST(an_upload_in_cleartext)
{
    take_much(CLEAR_PORT);
}
END_TEST

START_TEST(an_upload_over_tls)
{
    take_much(SECURE_PORT);
}
END_TEST

START_TEST(a_record_may_be_larger_than_the_window)
{
    host.config.tcp.receive_buffer = host.config.tcp.receive_buffer_max = 4000;
    boot();
    struct client *c = connect_to_port(0, SECURE_PORT, true);
    struct upload u = {16000};
    post(c, &u);
    talk();
    for (unsigned i = 0; i < 20; i++) {
        pass(100 * TICK_MS); /* a delayed ACK opens the window */
        talk();
    }
    ck_assert_uint_eq(http.bytes, 16000);
    no_drops();
}
END_TEST

START_TEST(handshakes_share_a_budget)
{
    boot();
    for (unsigned i = 0; i < 8; i++) {
        connect_bare(i, SECURE_PORT);
        connect_ssl(&client[i]);
        SSL_do_handshake(client[i].ssl);
    }
    struct pkt *p;
    for (unsigned i = 0; i < 8; i++)
        flush_ssl(&client[i]);
    while (stack_pending(host.stack, 0) > 0)
        if (stack_output(host.stack, 0, &p, 1, host.now) == 1)
            host.out[0].p[host.out[0].end++] = p;
    ck_assert_uint_eq(added(COUNTER_TLS_ACCEPTED), 4);
    ck_assert_uint_le(stack_deadline(host.stack), host.now);
    stack_expire(host.stack, host.now);
    turn();
    ck_assert_uint_eq(added(COUNTER_TLS_ACCEPTED), 8);
    for (unsigned i = 0; i < 8; i++) {
        talk();
        stack_expire(host.stack, host.now);
    }
    for (unsigned i = 0; i < 8; i++)
        ck_assert(client[i].open);
    ck_assert_uint_eq(added(COUNTER_TLS_FULL), 8);
}
END_TEST

static void end_idle(uint16_t port)
{
    boot();
    struct client *c = connect_to_port(0, port, port == SECURE_PORT);
    pass(300 * TICK_SEC);
    talk();
    pass(2 * TICK_SEC);
    talk();
    ck_assert_uint_ge(c->goaways, 1);
    ck_assert(c->fin);
    ck_assert_uint_eq(sessions(), 0);
    send_segment(c, NULL, 0, TCP_FIN | TCP_ACK);
    pass(61 * TICK_SEC);
    ck_assert_uint_eq(connections(), 0);
}

START_TEST(who_is_idle_in_cleartext_is_told_to_go)
{
    end_idle(CLEAR_PORT);
}
END_TEST

START_TEST(who_is_idle_over_tls_is_told_to_go)
{
    end_idle(SECURE_PORT);
}
END_TEST

START_TEST(an_end_without_a_word_is_one)
{
    boot();
    struct client *c = connect_to_port(0, SECURE_PORT, true);
    http.silent = true;
    request(c, "/1");
    talk();
    send_segment(c, NULL, 0, TCP_FIN | TCP_ACK);
    talk();
    ck_assert_uint_eq(added(COUNTER_TLS_TRUNCATED), 1);
    ck_assert_uint_eq(http.reset, 1);
    ck_assert(c->fin);
    ck_assert_uint_eq(sessions(), 0);
}
END_TEST

START_TEST(nothing_at_all_ends_in_time)
{
    boot();
    struct client *c = connect_bare(0, CLEAR_PORT);
    pass(10 * TICK_SEC);
    hear_all();
    ck_assert(c->fin);
    ck_assert_uint_eq(sessions(), 0);
}
END_TEST

static struct client *downloader(uint8_t n)
{
    struct client *c = connect_bare(n, CLEAR_PORT);
    connect_h2(c);
    nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 30};
    nghttp2_submit_settings(c->h2, NGHTTP2_FLAG_NONE, &window, 1);
    nghttp2_submit_window_update(c->h2, NGHTTP2_FLAG_NONE, 0, 1 << 30);
    talk();
    return c;
}

START_TEST(what_waits_in_tcp_is_little)
{
    boot();
    struct client *c = downloader(0);
    request(c, "/1000000");
    client_turn(c);
    turn();
    struct ctl_connection row;
    ck_assert(connection(&c->peer, &row));
    ck_assert_uint_gt(row.in_flight, 0);
    ck_assert_uint_lt(row.unsent, 3 * TLS_RECORD_MAX);
    talk();
    ck_assert_uint_eq(c->body, 1000000);
}
END_TEST

/* Many that read nothing leave room for what arrives, and for new ones; read at last, each goes on.
 */
START_TEST(who_reads_nothing_keeps_nobody_out)
{
    struct client *c[8];
    host.config.limits.tcp_memory = 160 * PKT_COST;
    boot();
    for (unsigned i = 0; i < 8; i++)
        c[i] = downloader((uint8_t)i);
    for (unsigned i = 0; i < 8; i++) {
        request(c[i], "/100000");
        client_turn(c[i]);
        turn();
    }
    ck_assert_uint_gt(host.stack->tcp.memory, host.config.limits.tcp_memory / 4);
    ck_assert_uint_lt(host.stack->tcp.memory, host.config.limits.tcp_memory / 4 * 3);
    talk();
    for (unsigned i = 0; i < 8; i++)
        ck_assert_uint_eq(c[i]->body, 100000);
}
END_TEST

/* What is in TCP's queue may wait for ever at a window that is shut. */
START_TEST(who_takes_no_last_words_is_reset)
{
    static const uint8_t wrong[] = "\0\0\0\6\0\0\0\0\0"; /* PING of no bytes */
    boot();
    struct client *c = connect_bare(0, CLEAR_PORT);
    connect_h2(c);
    nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 30};
    nghttp2_submit_settings(c->h2, NGHTTP2_FLAG_NONE, &window, 1);
    nghttp2_submit_window_update(c->h2, NGHTTP2_FLAG_NONE, 0, 1 << 30);
    request(c, "/1000000");
    client_turn(c);
    turn();
    send_segment(c, wrong, sizeof(wrong) - 1, TCP_ACK);
    turn();
    ck_assert_uint_eq(http.reset, 1);
    ck_assert_uint_eq(sessions(), 1);
    host.now += 30 * TICK_SEC;
    stack_expire(host.stack, host.now);
    turn();
    hear_all();
    ck_assert(c->rst);
    ck_assert_uint_eq(added(COUNTER_H2_TIMED_OUT), 1);
    ck_assert_uint_eq(sessions(), 0);
}
END_TEST

START_TEST(a_handshake_that_does_not_end_is_reset)
{
    boot();
    struct client *c = connect_bare(0, SECURE_PORT);
    ck_assert_uint_eq(listener_row("secure").handshakes, 1);
    pass(10 * TICK_SEC - 1);
    ck_assert_uint_eq(sessions(), 1);
    pass(1);
    hear_all();
    ck_assert(c->rst);
    ck_assert_uint_eq(added(COUNTER_TLS_TIMED_OUT), 1);
    ck_assert_uint_eq(sessions(), 0);
    ck_assert_uint_eq(listener_row("secure").handshakes, 0);
    ck_assert_uint_eq(connections(), 0);
}
END_TEST

/* Between a turn's end and the next many others may stand before it. */
START_TEST(a_handshake_that_has_just_failed_is_not_timed)
{
    boot();
    uint32_t cursor = 0;
    connect_bare(0, SECURE_PORT);
    struct session *x = slab_next(host.stack->sessions.slab, &cursor);
    session_end(x, host.now);
    ck_assert_uint_eq(x->phase, SESSION_CLOSING);
    host.now += 10 * TICK_SEC;
    stack_expire(host.stack, host.now);
    turn();
    ck_assert_uint_eq(sessions(), 0);
    ck_assert_uint_eq(added(COUNTER_TLS_TIMED_OUT), 0);
}
END_TEST

/* As OpenSSL does where it gets no memory. */
START_TEST(what_tls_cannot_write_ends_the_session)
{
    boot();
    uint32_t cursor = 0;
    struct client *c = connect_to_port(0, SECURE_PORT, true);
    struct session *x = slab_next(host.stack->sessions.slab, &cursor);
    request(c, "/5000");
    x->tls.flags |= TLS_CONN_FAILED;
    session_wants_writing(x);
    turn();
    hear_all();
    ck_assert(c->fin);
    ck_assert_uint_eq(sessions(), 0);
}
END_TEST

START_TEST(handshakes_of_a_listener_are_limited)
{
    host.config.n_listeners = 1;
    http_on("secure", SECURE_PORT, context)->handshakes = 2;
    boot();
    connect_bare(0, SECURE_PORT);
    connect_bare(1, SECURE_PORT);
    connect_bare(2, SECURE_PORT);
    hear_all();
    ck_assert(!client[0].rst && !client[1].rst && client[2].rst);
    ck_assert_uint_eq(added(COUNTER_TLS_LIMITED), 1);
    ck_assert_uint_eq(listener_row("secure").handshakes_refused, 1);
    /* One that is through makes room. */
    connect_ssl(&client[0]);
    talk();
    ck_assert(client[0].open);
    ck_assert_uint_eq(listener_row("secure").handshakes, 1);
    connect_bare(3, SECURE_PORT);
    hear_all();
    ck_assert(!client[3].rst);
}
END_TEST

START_TEST(the_longest_handshake_makes_room_after_a_second)
{
    host.config.n_listeners = 1;
    http_on("secure", SECURE_PORT, context)->handshakes = 2;
    boot();
    connect_bare(0, SECURE_PORT);
    connect_bare(1, SECURE_PORT);
    hear_all();
    host.now += TICK_SEC;
    connect_bare(2, SECURE_PORT);
    hear_all();
    ck_assert(client[0].rst && !client[1].rst && !client[2].rst);
    ck_assert_uint_eq(listener_row("secure").handshakes, 2);
    ck_assert_uint_eq(listener_row("secure").handshakes_refused, 1);
    connect_ssl(&client[2]);
    talk();
    ck_assert(client[2].open);
}
END_TEST

START_TEST(handshakes_of_a_network_are_limited)
{
    host.config.n_listeners = 1;
    http_on("secure", SECURE_PORT, context)->prefix_handshakes = 1;
    boot();
    connect_bare(0, SECURE_PORT);
    connect_bare(1, SECURE_PORT);
    hear_all();
    ck_assert(client[1].rst);
    ck_assert_uint_eq(added(COUNTER_TLS_LIMITED), 1);
    pass(10 * TICK_SEC);
    hear_all();
    connect_bare(2, SECURE_PORT);
    hear_all();
    ck_assert(!client[2].rst);
}
END_TEST

START_TEST(what_is_no_tls_gets_an_alert)
{
    boot();
    struct client *c = connect_bare(0, SECURE_PORT);
    send_bytes(c, (const uint8_t *)"\x16\x03\x01\x00\x04\x63\x00\x00\x00", 9);
    hear_all();
    ck_assert(c->fin);
    ck_assert_uint_eq(c->n, 7);
    ck_assert_uint_eq(c->in[0], 21); /* RFC 8446 5.1: alert */
    ck_assert_uint_eq(added(COUNTER_TLS_FAILED), 1);
    ck_assert_uint_eq(sessions(), 0);
    /* What it still says is thrown away. */
    send_bytes(c, client_content, 5000);
    send_segment(c, NULL, 0, TCP_FIN | TCP_ACK);
    hear_all();
    ck_assert(!c->rst);
}
END_TEST

START_TEST(a_reset_is_told_to_the_service)
{
    boot();
    struct client *c = connect_to_port(0, SECURE_PORT, true);
    http.silent = true;
    request(c, "/1");
    talk();
    ck_assert_uint_eq(http.heads, 1);
    send_segment(c, NULL, 0, TCP_RST | TCP_ACK);
    c->rst = true;
    turn();
    ck_assert_uint_eq(http.reset, 1);
    ck_assert_int_eq(http.code, STREAM_RESET);
    ck_assert_uint_eq(sessions(), 0);
    ck_assert_uint_eq(host.stack->tcp.memory, 0);
}
END_TEST

START_TEST(a_reset_amid_much_is_told_too)
{
    boot();
    struct client *c = connect_bare(0, CLEAR_PORT);
    connect_h2(c);
    request(c, "/1000000");
    client_turn(c);
    turn();
    send_segment(c, NULL, 0, TCP_RST | TCP_ACK);
    c->rst = true;
    turn();
    ck_assert_uint_eq(http.reset, 1);
    ck_assert_uint_eq(sessions(), 0);
}
END_TEST

START_TEST(the_control_core_sees_it)
{
    boot();
    struct client *c = connect_to_port(0, SECURE_PORT, true);
    request(c, "/1");
    talk();
    struct ctl_connection row;
    ck_assert(connection(&c->peer, &row));
    ck_assert_str_eq(row.service, "answering");
    ck_assert_str_eq(row.tls.version, "TLSv1.3");
    ck_assert_str_eq(row.tls.server_name, "localhost");
    ck_assert(!row.tls.resumed);
    ck_assert_str_eq(row.http2.goaway, "none");
    ck_assert_uint_eq(row.http2.drain, TICK_NEVER);
    ck_assert_uint_eq(row.http2.requests, 1);
    ck_assert_uint_eq(row.http2.streams, 0);
    struct ctl_listener l = listener_row("secure");
    ck_assert_str_eq(l.carrier, "http2");
    ck_assert(l.tls);
    ck_assert(!listener_row("clear").tls);
}
END_TEST

START_TEST(a_session_is_shut_down)
{
    boot();
    struct client *c = connect_to_port(0, SECURE_PORT, true);
    struct ctl_connection row;
    ck_assert(connection(&c->peer, &row));
    struct ctl_request r = {.kind = CTL_SESSION_SHUTDOWN, .id = row.id};
    stack_control(host.stack, &r, host.now);
    ck_assert_uint_eq(r.n, 1);
    talk();
    ck_assert(connection(&c->peer, &row));
    ck_assert_str_eq(row.http2.goaway, "announced");
    ck_assert_uint_eq(row.http2.drain, 30 * TICK_SEC);
    pass(TICK_SEC); /* nghttp2 answers no PING after it */
    talk();
    ck_assert_uint_eq(added(COUNTER_H2_GOAWAY_TX), 2);
    ck_assert_uint_eq(c->goaway_error, 0);
    ck_assert(c->fin);
    ck_assert_uint_eq(sessions(), 0);
    r = (struct ctl_request){.kind = CTL_SESSION_SHUTDOWN, .id = row.id};
    stack_control(host.stack, &r, host.now);
    ck_assert_uint_eq(r.n, 0);
}
END_TEST

START_TEST(a_stack_that_ends_drains)
{
    boot();
    connect_to_port(0, SECURE_PORT, true);
    connect_bare(1, SECURE_PORT);
    http.silent = true;
    request(&client[0], "/10");
    talk();
    stack_shutdown(host.stack, TICK_NEVER, host.now);
    talk();
    ck_assert(!client[0].fin);
    answer(http.stream, 10);
    talk();
    ck_assert_uint_eq(client[0].body, 10);
    ck_assert(client[0].fin);
    /* One that comes through its handshake only now is told at once. */
    connect_ssl(&client[1]);
    connect_h2(&client[1]);
    talk();
    ck_assert_uint_ge(client[1].goaways, 1);
    ck_assert(client[1].fin);
}
END_TEST

static uint32_t told(void)
{
    struct ctl_request r = {.kind = CTL_SESSIONS_SHUTDOWN};
    stack_control(host.stack, &r, host.now);
    ck_assert(!r.more);
    return r.n;
}

/* By pages of one. Returns how many pages. */
static unsigned shut_all_down(tick_t patience)
{
    struct ctl_request r = {.kind = CTL_SESSIONS_SHUTDOWN, .max = 1, .patience = patience};
    unsigned pages = 0;
    do {
        stack_control(host.stack, &r, host.now);
        pages++;
    } while (r.more);
    return pages;
}

START_TEST(all_sessions_are_shut_down)
{
    boot();
    struct client *busy = connect_to_port(0, SECURE_PORT, true);
    struct client *idle = connect_to_port(1, CLEAR_PORT, false);
    struct client *late = connect_bare(2, SECURE_PORT);
    http.silent = true;
    request(busy, "/10");
    talk();
    ck_assert_uint_eq(told(), 0);
    ck_assert_uint_eq(shut_all_down(3 * TICK_SEC), 4);
    ck_assert_uint_eq(told(), 3);
    talk();
    pass(TICK_SEC);
    talk();
    ck_assert(idle->fin && !busy->fin);
    ck_assert_uint_eq(told(), 2);
    /* One that comes through its handshake only now is told at once, and a new one is not. */
    connect_ssl(late);
    connect_h2(late);
    talk();
    ck_assert_uint_ge(late->goaways, 1);
    struct client *new = connect_to_port(3, SECURE_PORT, true);
    ck_assert_uint_eq(new->goaways, 0);
    answer(http.stream, 10);
    talk();
    ck_assert_uint_eq(busy->body, 10);
    ck_assert(busy->fin && !new->fin);
    pass(TICK_SEC);
    talk();
    ck_assert_uint_eq(told(), 0);
    ck_assert_uint_eq(sessions(), 1);
}
END_TEST

START_TEST(their_streams_end_in_time)
{
    boot();
    struct client *c = connect_to_port(0, SECURE_PORT, true);
    http.silent = true;
    request(c, "/10");
    talk();
    shut_all_down(20 * TICK_SEC);
    talk();
    pass(4 * TICK_SEC);
    ck_assert_uint_eq(http.reset, 0);
    shut_all_down(3 * TICK_SEC); /* sooner */
    pass(2 * TICK_SEC);
    talk();
    ck_assert_uint_eq(http.reset, 0);
    pass(TICK_SEC);
    talk();
    ck_assert_uint_eq(http.reset, 1);
    ck_assert(c->fin);
    ck_assert_uint_eq(told(), 0);
}
END_TEST

START_TEST(a_reload_leaves_sessions_as_they_began)
{
    boot();
    struct client *c = connect_to_port(0, SECURE_PORT, true);
    ck_assert_int_eq(http.held, 3);
    host.config.http2.header_list = 1 << 20;
    host.config.n_listeners = 0;
    ck_assert_int_eq(host_configure(), 0);
    ck_assert_int_eq(http.held, 2); /* its listener's and its own */
    request(c, "/100");
    talk();
    ck_assert_uint_eq(c->body, 100);
    client_close(c);
    pass(120 * TICK_SEC);
    ck_assert_int_eq(http.held, 0);
}
END_TEST

START_TEST(a_reload_takes_settings_or_leaves_all)
{
    boot();
    host.config.http2.max_frame = 1;
    ck_assert_int_eq(host_configure(), STACK_E_CONFIG);
    host.config.http2.max_frame = 0;
    host.config.http2.header_list = 1 << 20;
    host.heap.limit = host.heap.bytes;
    ck_assert_int_eq(host_configure(), STACK_E_MEMORY);
    ck_assert_int_eq(http.held, 2);
    host.heap.limit = SIZE_MAX;
    ck_assert_int_eq(host_configure(), 0);
    ck_assert_int_eq(http.held, 2);
    struct client *c = connect_to_port(0, CLEAR_PORT, false);
    request(c, "/1");
    talk();
    ck_assert_int_eq(c->status, 200);
}
END_TEST

START_TEST(carriers_and_services_belong_together)
{
    host_create();
    struct stack_listener *l = (struct stack_listener *)(uintptr_t)&host.config.listener[0];
    l->carrier = STACK_CARRIER_TCP;
    ck_assert_int_eq(host_configure(), STACK_E_CONFIG);
    l->carrier = STACK_CARRIER_HTTP2;
    l->service = &noting;
    ck_assert_int_eq(host_configure(), STACK_E_CONFIG);
    l->service = &answering.stream;
    l->context_release = NULL;
    ck_assert_int_eq(host_configure(), STACK_E_CONFIG);
    l->context_release = context_release;
    ck_assert_int_eq(host_configure(), 0);
}
END_TEST

START_TEST(without_packets_it_waits)
{
    boot();
    struct client *c = connect_to_port(0, SECURE_PORT, true);
    request(c, "/100000");
    client_turn(c);
    host.pool.limit = host.pool.held + 1;
    for (unsigned i = 0; i < 10; i++) {
        struct pkt *p;
        if (stack_output(host.stack, 0, &p, 1, host.now) == 1) {
            ck_assert_uint_lt(host.out[0].end, HOST_OUT_MAX);
            host.out[0].p[host.out[0].end++] = p;
        }
    }
    host.pool.limit = SIZE_MAX;
    talk();
    for (unsigned i = 0; i < 50 && c->body < 100000; i++) {
        pass(100 * TICK_MS);
        talk();
    }
    ck_assert_uint_eq(c->body, 100000);
}
END_TEST

START_TEST(whatever_waits_ends_with_the_stack)
{
    boot();
    connect_bare(0, SECURE_PORT);
    connect_to_port(1, SECURE_PORT, true);
    http.silent = true;
    request(&client[1], "/1");
    talk();
    struct client *c = connect_to_port(2, CLEAR_PORT, false);
    http.silent = false;
    request(c, "/1000000");
    client_turn(c);
    turn();
    host_destroy();
    ck_assert_uint_eq(http.reset, 0);
    ck_assert_int_eq(http.held, 0);
}
END_TEST

UNIT_MAIN("session", setup, teardown, a_request_in_cleartext, a_request_over_tls,
          the_service_knows_the_user, a_megabyte_in_cleartext, a_megabyte_over_tls,
          an_upload_in_cleartext, an_upload_over_tls, a_record_may_be_larger_than_the_window,
          handshakes_share_a_budget, who_is_idle_in_cleartext_is_told_to_go,
          who_is_idle_over_tls_is_told_to_go, an_end_without_a_word_is_one,
          nothing_at_all_ends_in_time, what_waits_in_tcp_is_little,
          who_reads_nothing_keeps_nobody_out, who_takes_no_last_words_is_reset,
          a_handshake_that_does_not_end_is_reset, a_handshake_that_has_just_failed_is_not_timed,
          what_tls_cannot_write_ends_the_session, handshakes_of_a_listener_are_limited,
          the_longest_handshake_makes_room_after_a_second, handshakes_of_a_network_are_limited,
          what_is_no_tls_gets_an_alert, a_reset_is_told_to_the_service,
          a_reset_amid_much_is_told_too, the_control_core_sees_it, a_session_is_shut_down,
          a_stack_that_ends_drains, all_sessions_are_shut_down, their_streams_end_in_time,
          a_reload_leaves_sessions_as_they_began, a_reload_takes_settings_or_leaves_all,
          carriers_and_services_belong_together, without_packets_it_waits,
          whatever_waits_ends_with_the_stack)
