/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <string.h>

#define IN_MAX (4u << 20)

struct client client[CLIENTS];
uint8_t client_content[1u << 20];
static SSL_CTX *client_ctx;

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

struct tls_context *client_server_context(void)
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

void clients_setup(void)
{
    memset(client, 0, sizeof(client));
    for (size_t i = 0; i < sizeof(client_content); i++)
        client_content[i] = (uint8_t)(i * 7 + i / 251);
    client_ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_alpn_protos(client_ctx, (const uint8_t *)"\2h2", 3);
}

static void client_free(struct client *c)
{
    SSL_free(c->ssl);
    nghttp2_session_del(c->h2);
    free(c->in);
    free(c->out);
    memset(c, 0, sizeof(*c));
}

void clients_teardown(void)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        client_free(&client[i]);
    SSL_CTX_free(client_ctx);
}

/* ---- TCP ---- */

void send_segment(struct client *c, const uint8_t *bytes, uint32_t n, uint16_t flags)
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

void send_bytes(struct client *c, const uint8_t *bytes, size_t n)
{
    ck_assert(c->out_n + n <= IN_MAX);
    memcpy(c->out + c->out_n, bytes, n);
    c->out_n += n;
    send_waiting(c);
}

static struct client *client_of(uint16_t port)
{
    for (unsigned i = 0; i < CLIENTS; i++)
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
bool hear_all(void)
{
    bool any = false;
    seq32_t before[CLIENTS];
    for (unsigned i = 0; i < CLIENTS; i++)
        before[i] = client[i].peer.ack;
    while (hear_segment())
        any = true;
    for (unsigned i = 0; i < CLIENTS; i++)
        if (client[i].in && !client[i].rst && !seq32_eq(before[i], client[i].peer.ack))
            send_segment(&client[i], NULL, 0, TCP_ACK);
    for (unsigned i = 0; i < CLIENTS; i++)
        any |= send_waiting(&client[i]);
    return any;
}

/* Without a word of TLS or HTTP/2. */
struct client *connect_bare(unsigned which, uint16_t port)
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

void connect_ssl(struct client *c)
{
    c->ssl = SSL_new(client_ctx);
    c->to_ssl = BIO_new(BIO_s_mem());
    c->from_ssl = BIO_new(BIO_s_mem());
    SSL_set_bio(c->ssl, c->to_ssl, c->from_ssl);
    SSL_set_connect_state(c->ssl);
    SSL_set_tlsext_host_name(c->ssl, "localhost");
}

void flush_ssl(struct client *c)
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
    ck_assert(c->body + n <= sizeof(client_content));
    ck_assert_mem_eq(bytes, client_content + c->body, n);
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

void connect_h2(struct client *c)
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
void client_turn(struct client *c)
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
void talk(void)
{
    unsigned rounds = 0;
    do {
        ck_assert_uint_lt(rounds++, 10000);
        for (unsigned i = 0; i < CLIENTS; i++)
            client_turn(&client[i]);
        turn();
    } while (hear_all());
}

/* With HTTP/2 on it, greetings exchanged. */
struct client *connect_to_port(unsigned which, uint16_t port, bool tls)
{
    struct client *c = connect_bare(which, port);
    if (tls)
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

void request(struct client *c, const char *path)
{
    nghttp2_nv head[] = {nv(":method", "GET"), nv(":scheme", "http"), nv(":path", path),
                         nv(":authority", "localhost")};
    ck_assert_int_gt(nghttp2_submit_request(c->h2, NULL, head, 4, NULL, NULL), 0);
}

void client_close(struct client *c)
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

void post(struct client *c, struct upload *u)
{
    nghttp2_nv head[] = {nv(":method", "POST"), nv(":scheme", "http"), nv(":path", "/"),
                         nv(":authority", "localhost")};
    nghttp2_data_provider from = {.source.ptr = u, .read_callback = on_read};
    ck_assert_int_gt(nghttp2_submit_request(c->h2, NULL, head, 4, &from, NULL), 0);
}
