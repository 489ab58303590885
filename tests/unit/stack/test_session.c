/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack/session.h"

#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>

#include "peer.h"

/* A client: TCP by hand, then TLS by OpenSSL, then HTTP/2 by nghttp2. */

#define CLEAR_PORT  80
#define SECURE_PORT 443
#define IN_MAX      (4u << 20)

struct client {
    struct peer peer;
    bool fin, rst;
    uint8_t *out; /* bytes for the stack, from out_at on not sent */
    size_t out_at, out_n;
    seq32_t right; /* end of the stack's window */
    uint8_t *in;   /* bytes of the stack's, from at on not looked at */
    size_t at, n;
    SSL *ssl;
    bool open; /* TLS's handshake is over */
    BIO *to_ssl, *from_ssl;
    nghttp2_session *h2;
    /* What HTTP/2 brought. */
    int status;
    size_t body;
    unsigned closed; /* streams */
    uint32_t stream_error;
    unsigned goaways;
    uint32_t goaway_error;
};

static struct client client[8];
static struct tls_context *context;
static SSL_CTX *client_ctx;

/* ---- the service, and what it holds ---- */

static struct {
    unsigned heads, ended, reset;
    enum stream_code code;
    uint32_t bytes;
    struct http_stream *stream;
    const char *tls; /* of the last */
    int held;        /* contexts */
    bool silent;     /* does not answer */
} http;

static uint8_t content[1u << 20];

static void answer(struct http_stream *s, uint32_t n)
{
    struct http_head h = {.status = 200, .content_length = n};
    if (http_respond(s, &h, n == 0) && n > 0) {
        ck_assert(stream_write(&s->stream, vec_of_const(content, n)));
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

/* ---- certificates ---- */

static EVP_PKEY *make_key(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    ck_assert_ptr_nonnull(key);
    return key;
}

static X509 *make_certificate(EVP_PKEY *key)
{
    X509 *x = X509_new();
    X509_NAME *name = X509_get_subject_name(x);
    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const uint8_t *)"localhost", -1, -1, 0);
    X509_set_issuer_name(x, name);
    X509_set_pubkey(x, key);
    ck_assert_int_gt(X509_sign(x, key, EVP_sha256()), 0);
    return x;
}

static size_t pem(BIO *bio, char *to, size_t room)
{
    int n = BIO_read(bio, to, (int)room);
    ck_assert_int_gt(n, 0);
    BIO_free(bio);
    return (size_t)n;
}

static struct tls_context *make_context(void)
{
    static const char *const alpn[] = {"h2"};
    char chain[4096], key_text[4096], error[256];
    EVP_PKEY *key = make_key();
    X509 *x = make_certificate(key);
    BIO *cert_bio = BIO_new(BIO_s_mem()), *key_bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(cert_bio, x);
    PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL);
    struct tls_identity identity = {.name = "test", .chain = chain, .key = key_text};
    identity.chain_len = pem(cert_bio, chain, sizeof(chain));
    identity.key_len = pem(key_bio, key_text, sizeof(key_text));
    X509_free(x);
    EVP_PKEY_free(key);
    struct tls_config config = {.identity = &identity,
                                .n_identities = 1,
                                .tickets = 2,
                                .ticket_lifetime = 3600 * TICK_SEC,
                                .alpn = alpn,
                                .n_alpn = 1};
    struct tls_context *c = tls_context_create(&config, error, sizeof(error));
    ck_assert_msg(c != NULL, "%s", error);
    return c;
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
    memset(client, 0, sizeof(client));
    memset(&http, 0, sizeof(http));
    for (size_t i = 0; i < sizeof(content); i++)
        content[i] = (uint8_t)(i * 7 + i / 251);
    context = make_context();
    client_ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_alpn_protos(client_ctx, (const uint8_t *)"\2h2", 3);
    http_on("clear", CLEAR_PORT, NULL);
    http_on("secure", SECURE_PORT, context);
}

static void client_free(struct client *c)
{
    SSL_free(c->ssl);
    nghttp2_session_del(c->h2);
    free(c->in);
    free(c->out);
    memset(c, 0, sizeof(*c));
}

static void teardown(void)
{
    host_teardown();
    ck_assert_int_eq(http.held, 0);
    for (unsigned i = 0; i < 8; i++)
        client_free(&client[i]);
    tls_context_release(context);
    SSL_CTX_free(client_ctx);
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

/* ---- TCP ---- */

static void send_segment(struct client *c, const uint8_t *bytes, uint32_t n, uint16_t flags)
{
    struct tcp_hdr h = peer_header(&c->peer, flags);
    c->peer.seq = seq32_add(c->peer.seq, tcp_seq_len(&h, n));
    frame_bytes(&host.frame, bytes, n);
    frame_push_tcp(&host.frame, &h, &c->peer.addr, &c->peer.us);
    hear_ip4(&c->peer.addr, &c->peer.us, IP_PROTO_TCP);
}

/* As far as the stack's window allows. True: something. */
static bool send_waiting(struct client *c)
{
    size_t before = c->out_at;
    while (c->out_at < c->out_n) {
        int32_t window = seq32_diff(c->right, c->peer.seq);
        size_t n = c->out_n - c->out_at;
        uint32_t piece = n < 1400 ? (uint32_t)n : 1400;
        if (c->rst || window < (int32_t)piece)
            break;
        send_segment(c, c->out + c->out_at, piece, TCP_ACK | TCP_PSH);
        c->out_at += piece;
    }
    return c->out_at > before;
}

static void send_bytes(struct client *c, const uint8_t *bytes, size_t n)
{
    ck_assert(c->out_n + n <= IN_MAX);
    memcpy(c->out + c->out_n, bytes, n);
    c->out_n += n;
    send_waiting(c);
}

static struct client *client_of(uint16_t port)
{
    for (unsigned i = 0; i < 8; i++)
        if (client[i].peer.port == port)
            return &client[i];
    ck_abort_msg("to nobody: port %u", port);
}

/* Takes the next frame. False: there is none. */
static bool hear_segment(void)
{
    turn();
    if (host.out[0].first == host.out[0].end && stack_pending(host.stack, 0) == 0)
        return false;
    const struct frame_seen *s = said();
    if (s->kind == FRAME_ARP) {
        hear_arp(ARP_REPLY, &US_MAC, &PEER_MAC, &PEER4, &US4);
        return true;
    }
    ck_assert_int_eq(s->kind, FRAME_TCP);
    struct client *c = client_of(s->tcp.dst_port);
    uint32_t n = s->upper_len - s->tcp.len;
    if (s->tcp.flags & TCP_RST) {
        c->rst = true;
        return true;
    }
    c->right = seq32_add(s->tcp.ack, s->tcp.window);
    if (!seq32_eq(s->tcp.seq, c->peer.ack))
        return true; /* again */
    ck_assert(c->n + n <= IN_MAX);
    memcpy(c->in + c->n, s->upper + s->tcp.len, n);
    c->n += n;
    c->fin |= s->tcp.flags & TCP_FIN;
    c->peer.ack = seq32_add(c->peer.ack, tcp_seq_len(&s->tcp, n));
    return true;
}

/* What the stack says now, acknowledged. True: there was something. */
static bool hear_all(void)
{
    bool any = false;
    seq32_t before[8];
    for (unsigned i = 0; i < 8; i++)
        before[i] = client[i].peer.ack;
    while (hear_segment())
        any = true;
    for (unsigned i = 0; i < 8; i++)
        if (client[i].in && !client[i].rst && !seq32_eq(before[i], client[i].peer.ack))
            send_segment(&client[i], NULL, 0, TCP_ACK);
    for (unsigned i = 0; i < 8; i++)
        any |= send_waiting(&client[i]);
    return any;
}

/* Without a word of TLS or HTTP/2. */
static struct client *connect_bare(unsigned which, uint16_t port)
{
    struct client *c = &client[which];
    c->in = malloc(IN_MAX);
    c->out = malloc(IN_MAX);
    c->peer = peer4((uint16_t)(1024 + which), port);
    peer_says(&c->peer, TCP_SYN, 0);
    const struct tcp_hdr *h = peer_hears(&c->peer, TCP_SYN | TCP_ACK, NULL);
    c->right = seq32_add(h->ack, h->window);
    peer_says(&c->peer, TCP_ACK, 0);
    return c;
}

/* ---- TLS ---- */

static void connect_ssl(struct client *c)
{
    c->ssl = SSL_new(client_ctx);
    c->to_ssl = BIO_new(BIO_s_mem());
    c->from_ssl = BIO_new(BIO_s_mem());
    SSL_set_bio(c->ssl, c->to_ssl, c->from_ssl);
    SSL_set_connect_state(c->ssl);
    SSL_set_tlsext_host_name(c->ssl, "localhost");
}

static void flush_ssl(struct client *c)
{
    uint8_t bytes[4096];
    int n;
    while ((n = BIO_read(c->from_ssl, bytes, sizeof(bytes))) > 0)
        send_bytes(c, bytes, (size_t)n);
}

static void client_write(struct client *c, const uint8_t *bytes, size_t n)
{
    if (!c->ssl) {
        send_bytes(c, bytes, n);
        return;
    }
    ck_assert_int_eq(SSL_write(c->ssl, bytes, (int)n), (int)n);
    flush_ssl(c);
}

/* ---- HTTP/2 ---- */

static int on_header(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user)
{
    (void)s, (void)frame, (void)flags, (void)value_len;
    if (name_len == 7 && memcmp(name, ":status", 7) == 0)
        ((struct client *)user)->status = atoi((const char *)value);
    return 0;
}

static int on_chunk(nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *bytes, size_t n,
                    void *user)
{
    (void)s, (void)flags, (void)id;
    struct client *c = user;
    ck_assert(c->body + n <= sizeof(content));
    ck_assert_mem_eq(bytes, content + c->body, n);
    c->body += n;
    return 0;
}

static int on_close(nghttp2_session *s, int32_t id, uint32_t error, void *user)
{
    (void)s, (void)id;
    ((struct client *)user)->closed++;
    ((struct client *)user)->stream_error = error;
    return 0;
}

static int on_frame(nghttp2_session *s, const nghttp2_frame *frame, void *user)
{
    (void)s;
    struct client *c = user;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        c->goaways++;
        c->goaway_error = frame->goaway.error_code;
    }
    return 0;
}

static void connect_h2(struct client *c)
{
    nghttp2_session_callbacks *cb;
    nghttp2_session_callbacks_new(&cb);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_client_new(&c->h2, cb, c);
    nghttp2_session_callbacks_del(cb);
    nghttp2_submit_settings(c->h2, NGHTTP2_FLAG_NONE, NULL, 0);
}

static void feed_h2(struct client *c, const uint8_t *bytes, size_t n)
{
    ck_assert_int_eq(nghttp2_session_mem_recv(c->h2, bytes, n), (int)n);
}

static void flush_h2(struct client *c)
{
    const uint8_t *bytes;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(c->h2, &bytes)) > 0)
        client_write(c, bytes, (size_t)n);
    ck_assert_int_eq(n, 0);
}

static void read_ssl(struct client *c)
{
    uint8_t bytes[16384];
    if (c->n > c->at)
        BIO_write(c->to_ssl, c->in + c->at, (int)(c->n - c->at));
    c->at = c->n;
    if (!c->open)
        c->open = SSL_do_handshake(c->ssl) == 1;
    int n;
    while (c->open && (n = SSL_read(c->ssl, bytes, sizeof(bytes))) > 0)
        if (c->h2)
            feed_h2(c, bytes, (size_t)n);
    ERR_clear_error();
    flush_ssl(c);
}

/* What has come goes up, what is to be said goes down. */
static void client_turn(struct client *c)
{
    if (!c->in || c->rst)
        return;
    if (c->ssl)
        read_ssl(c);
    else if (c->h2 && c->n > c->at)
        feed_h2(c, c->in + c->at, c->n - c->at);
    if (!c->ssl)
        c->at = c->n;
    if (c->h2 && (!c->ssl || c->open))
        flush_h2(c);
}

/* Until nobody says anything any more. */
static void talk(void)
{
    unsigned rounds = 0;
    do {
        ck_assert_uint_lt(rounds++, 10000);
        for (unsigned i = 0; i < 8; i++)
            client_turn(&client[i]);
        turn();
    } while (hear_all());
}

/* With HTTP/2 on it, greetings exchanged. */
static struct client *connect_to_port(unsigned which, uint16_t port)
{
    struct client *c = connect_bare(which, port);
    if (port == SECURE_PORT)
        connect_ssl(c);
    connect_h2(c);
    talk();
    return c;
}

static nghttp2_nv nv(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

static void request(struct client *c, const char *path)
{
    nghttp2_nv head[] = {nv(":method", "GET"), nv(":scheme", "http"), nv(":path", path),
                         nv(":authority", "localhost")};
    ck_assert_int_gt(nghttp2_submit_request(c->h2, NULL, head, 4, NULL, NULL), 0);
}

static void client_close(struct client *c)
{
    nghttp2_session_terminate_session(c->h2, 0);
    flush_h2(c);
    if (c->ssl)
        SSL_shutdown(c->ssl);
    if (c->ssl)
        flush_ssl(c);
    send_segment(c, NULL, 0, TCP_FIN | TCP_ACK);
    talk();
}

struct upload {
    size_t left;
};

static ssize_t on_read(nghttp2_session *s, int32_t id, uint8_t *to, size_t room, uint32_t *flags,
                       nghttp2_data_source *source, void *user)
{
    (void)s, (void)id, (void)user;
    struct upload *u = source->ptr;
    size_t n = u->left < room ? u->left : room;
    memset(to, 'u', n);
    u->left -= n;
    if (u->left == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static void post(struct client *c, struct upload *u)
{
    nghttp2_nv head[] = {nv(":method", "POST"), nv(":scheme", "http"), nv(":path", "/"),
                         nv(":authority", "localhost")};
    nghttp2_data_provider from = {.source.ptr = u, .read_callback = on_read};
    ck_assert_int_gt(nghttp2_submit_request(c->h2, NULL, head, 4, &from, NULL), 0);
}

/* ---- tests ---- */

static void serve_one(uint16_t port, const char *tls)
{
    boot();
    struct client *c = connect_to_port(0, port);
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

static void serve_much(uint16_t port)
{
    boot();
    struct client *c = connect_to_port(0, port);
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
    struct client *c = connect_to_port(0, port);
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
    struct client *c = connect_to_port(0, SECURE_PORT);
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
    struct client *c = connect_to_port(0, port);
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
    struct client *c = connect_to_port(0, SECURE_PORT);
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

START_TEST(what_waits_in_tcp_is_little)
{
    boot();
    struct client *c = connect_bare(0, CLEAR_PORT);
    connect_h2(c);
    nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 30};
    nghttp2_submit_settings(c->h2, NGHTTP2_FLAG_NONE, &window, 1);
    nghttp2_submit_window_update(c->h2, NGHTTP2_FLAG_NONE, 0, 1 << 30);
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
    send_bytes(c, content, 5000);
    send_segment(c, NULL, 0, TCP_FIN | TCP_ACK);
    hear_all();
    ck_assert(!c->rst);
}
END_TEST

START_TEST(a_reset_is_told_to_the_service)
{
    boot();
    struct client *c = connect_to_port(0, SECURE_PORT);
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
    struct client *c = connect_to_port(0, SECURE_PORT);
    request(c, "/1");
    talk();
    struct ctl_connection row;
    ck_assert(connection(&c->peer, &row));
    ck_assert_str_eq(row.service, "answering");
    ck_assert_str_eq(row.tls.version, "TLSv1.3");
    ck_assert_str_eq(row.tls.server_name, "localhost");
    ck_assert(!row.tls.resumed);
    ck_assert_str_eq(row.http2.goaway, "none");
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
    struct client *c = connect_to_port(0, SECURE_PORT);
    struct ctl_connection row;
    ck_assert(connection(&c->peer, &row));
    struct ctl_request r = {.kind = CTL_SESSION_SHUTDOWN, .id = row.id};
    stack_control(host.stack, &r, host.now);
    ck_assert_uint_eq(r.n, 1);
    talk();
    ck_assert(connection(&c->peer, &row));
    ck_assert_str_eq(row.http2.goaway, "announced");
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
    connect_to_port(0, SECURE_PORT);
    connect_bare(1, SECURE_PORT);
    http.silent = true;
    request(&client[0], "/10");
    talk();
    stack_shutdown(host.stack, host.now);
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

START_TEST(a_reload_leaves_sessions_as_they_began)
{
    boot();
    struct client *c = connect_to_port(0, SECURE_PORT);
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
    struct client *c = connect_to_port(0, CLEAR_PORT);
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
    struct client *c = connect_to_port(0, SECURE_PORT);
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
    connect_to_port(1, SECURE_PORT);
    http.silent = true;
    request(&client[1], "/1");
    talk();
    struct client *c = connect_to_port(2, CLEAR_PORT);
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
          a_megabyte_in_cleartext, a_megabyte_over_tls, an_upload_in_cleartext, an_upload_over_tls,
          a_record_may_be_larger_than_the_window, handshakes_share_a_budget,
          who_is_idle_in_cleartext_is_told_to_go, who_is_idle_over_tls_is_told_to_go,
          an_end_without_a_word_is_one, nothing_at_all_ends_in_time, what_waits_in_tcp_is_little,
          a_handshake_that_does_not_end_is_reset, handshakes_of_a_listener_are_limited,
          handshakes_of_a_network_are_limited, what_is_no_tls_gets_an_alert,
          a_reset_is_told_to_the_service, a_reset_amid_much_is_told_too, the_control_core_sees_it,
          a_session_is_shut_down, a_stack_that_ends_drains, a_reload_leaves_sessions_as_they_began,
          a_reload_takes_settings_or_leaves_all, carriers_and_services_belong_together,
          without_packets_it_waits, whatever_waits_ends_with_the_stack)
