/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/context.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tls/identity.h"
#include "tls/internal.h"
#include "tls/names.h"

/*
 * What RFC 9113 9.2.2 leaves of TLS 1.2, and all of TLS 1.3. Those with SHA-256 come first: a
 * handshake derives a dozen keys, and processors have instructions for that hash, not for SHA-384.
 */
#define CIPHERS "ECDHE+AES128+AESGCM:ECDHE+AESGCM:ECDHE+CHACHA20"
#define SUITES  "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

struct tls_context {
    atomic_uint refs;
    struct identity *identity;
    unsigned n_identities;
    struct tls_names names;
    uint8_t *alpn; /* as on the wire: each with its length before it */
    unsigned alpn_len;
    SSL_CTX *client; /* NULL: for accepting, by names.set[].ctx */
};

/* ---- what a client asks for ---- */

static void count_no_alpn(SSL *ssl)
{
    const struct tls_conn *c = SSL_get_app_data(ssl);
    counter_add(c->tls->counters, COUNTER_TLS_NO_ALPN, 1);
}

/* A client that does not speak of ALPN: OpenSSL would not ask us (on_alpn). */
static int on_hello(SSL *ssl, int *alert, void *context)
{
    const struct tls_context *c = context;
    const unsigned char *data;
    size_t len;
    if (c->alpn_len == 0 ||
        SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &data,
                                  &len) == 1)
        return SSL_CLIENT_HELLO_SUCCESS;
    count_no_alpn(ssl);
    *alert = SSL_AD_NO_APPLICATION_PROTOCOL;
    return SSL_CLIENT_HELLO_ERROR;
}

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                   const unsigned char *in, unsigned in_len, void *context)
{
    const struct tls_context *c = context;
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, out_len, c->alpn, c->alpn_len, in, in_len) ==
        OPENSSL_NPN_NEGOTIATED) {
        *out = chosen;
        return SSL_TLSEXT_ERR_OK;
    }
    count_no_alpn(ssl); /* RFC 7301 3.2 */
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int on_server_name(SSL *ssl, int *alert, void *context)
{
    const struct tls_context *c = context;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    const struct tls_set *set = name ? names_find(&c->names, name) : NULL;
    if (!set)
        return SSL_TLSEXT_ERR_NOACK;
    *alert = SSL_AD_INTERNAL_ERROR;
    return SSL_set_SSL_CTX(ssl, set->ctx) ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* ---- settings ---- */

struct made {
    const struct tls_config *config;
    struct tls_context *context;
    X509_STORE *store;              /* of client_ca; NULL: none */
    STACK_OF(X509_NAME) * ca_names; /* the same, for the client to choose by */
    uint8_t session_context[32];
    char *error;
    size_t size;
};

static bool wrong(struct made *m, const char *what, const char *why)
{
    snprintf(m->error, m->size, "%s: %s", what, why);
    ERR_clear_error();
    return false;
}

static bool set_versions(SSL_CTX *ctx, enum tls_version least)
{
    return SSL_CTX_set_min_proto_version(ctx, least == TLS_VERSION_1_3 ? TLS1_3_VERSION
                                                                       : TLS1_2_VERSION) == 1;
}

/* What all of ours have in common, to whichever side. */
static SSL_CTX *new_ctx(const SSL_METHOD *method)
{
    SSL_CTX *ctx = SSL_CTX_new(method);
    if (!ctx)
        return NULL;
    SSL_CTX_set_security_level(ctx, 2);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    /* RFC 9113 9.2.1 */
    SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(ctx, 0);
    if (set_versions(ctx, TLS_VERSION_1_2) && SSL_CTX_set_cipher_list(ctx, CIPHERS) == 1 &&
        SSL_CTX_set_ciphersuites(ctx, SUITES) == 1)
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

/* RFC 9113 9.2.2: an ephemeral key exchange and AEAD. A tag of 8 bytes is too short to be worth it.
 */
static const char *bad_cipher(SSL_CTX *ctx)
{
    const STACK_OF(SSL_CIPHER) *all = SSL_CTX_get_ciphers(ctx);
    for (int i = 0; i < sk_SSL_CIPHER_num(all); i++) {
        const SSL_CIPHER *c = sk_SSL_CIPHER_value(all, i);
        int kx = SSL_CIPHER_get_kx_nid(c);
        if (!SSL_CIPHER_is_aead(c) || (kx != NID_kx_ecdhe && kx != NID_kx_any) ||
            strstr(SSL_CIPHER_get_name(c), "CCM8") || strstr(SSL_CIPHER_get_name(c), "CCM_8"))
            return SSL_CIPHER_get_name(c);
    }
    return NULL;
}

static bool set_ciphers(struct made *m, SSL_CTX *ctx)
{
    const struct tls_config *config = m->config;
    if (config->ciphers && SSL_CTX_set_cipher_list(ctx, config->ciphers) != 1)
        return wrong(m, config->ciphers, "no such ciphers");
    if (config->suites && SSL_CTX_set_ciphersuites(ctx, config->suites) != 1)
        return wrong(m, config->suites, "no such cipher suites");
    if (config->groups && SSL_CTX_set1_groups_list(ctx, config->groups) != 1)
        return wrong(m, config->groups, "no such groups");
    const char *bad = bad_cipher(ctx);
    return !bad || wrong(m, bad, "not ECDHE with AEAD and a whole tag");
}

static void set_callbacks(SSL_CTX *ctx, struct tls_context *c)
{
    SSL_CTX_set_client_hello_cb(ctx, on_hello, c);
    if (c->alpn_len > 0)
        SSL_CTX_set_alpn_select_cb(ctx, on_alpn, c);
    SSL_CTX_set_tlsext_servername_callback(ctx, on_server_name);
    SSL_CTX_set_tlsext_servername_arg(ctx, c);
}

static bool set_tickets(struct made *m, SSL_CTX *ctx)
{
    const struct tls_config *config = m->config;
    if (SSL_CTX_set_num_tickets(ctx, config->tickets) != 1 ||
        SSL_CTX_set_session_id_context(ctx, m->session_context, sizeof(m->session_context)) != 1)
        return wrong(m, "tickets", "no memory");
    SSL_CTX_set_timeout(ctx, (long)(config->ticket_lifetime / TICK_SEC));
    if (config->tickets == 0)
        SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    else
        SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, tls_ticket_key);
    return true;
}

static bool set_client_auth(struct made *m, SSL_CTX *ctx)
{
    if (m->config->client_auth == TLS_CLIENT_AUTH_OFF)
        return true;
    int mode = SSL_VERIFY_PEER;
    if (m->config->client_auth == TLS_CLIENT_AUTH_REQUIRED)
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(ctx, mode, NULL);
    SSL_CTX_set1_cert_store(ctx, m->store);
    STACK_OF(X509_NAME) *names = SSL_dup_CA_list(m->ca_names);
    if (!names)
        return wrong(m, "client-ca", "no memory");
    SSL_CTX_set_client_CA_list(ctx, names);
    return true;
}

static SSL_CTX *server_ctx(struct made *m)
{
    SSL_CTX *ctx = new_ctx(TLS_server_method());
    if (!ctx) {
        wrong(m, "TLS", "no memory");
        return NULL;
    }
    /* ChaCha20 where the client puts it first, for want of instructions for AES. */
    SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    set_callbacks(ctx, m->context);
    if (set_versions(ctx, m->config->min_version) && set_ciphers(m, ctx) && set_tickets(m, ctx) &&
        set_client_auth(m, ctx))
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

/* ---- making ---- */

static bool make_alpn(struct made *m, const char *const *alpn, unsigned n)
{
    struct tls_context *c = m->context;
    size_t len = 0;
    for (unsigned i = 0; i < n; i++) {
        if (alpn[i][0] == 0 || strlen(alpn[i]) > UINT8_MAX)
            return wrong(m, alpn[i], "not a protocol's name");
        len += 1 + strlen(alpn[i]);
    }
    if (len == 0)
        return true;
    c->alpn = OPENSSL_malloc(len);
    if (!c->alpn)
        return wrong(m, "ALPN", "no memory");
    for (unsigned i = 0; i < n; i++) {
        size_t one = strlen(alpn[i]);
        c->alpn[c->alpn_len] = (uint8_t)one;
        memcpy(c->alpn + c->alpn_len + 1, alpn[i], one);
        c->alpn_len += (unsigned)(1 + one);
    }
    return true;
}

/* All certificates of a PEM text, into a store. Returns how many, or -1. */
static int load_store(X509_STORE *store, STACK_OF(X509_NAME) * names, const char *pem, size_t len)
{
    BIO *b = BIO_new_mem_buf(pem, (int)len);
    int n = 0;
    X509 *cert;
    while (n >= 0 && (cert = PEM_read_bio_X509(b, NULL, identity_no_password, NULL))) {
        X509_NAME *name = names ? X509_NAME_dup(X509_get_subject_name(cert)) : NULL;
        bool ok = X509_STORE_add_cert(store, cert) == 1 &&
                  (!names || (name && sk_X509_NAME_push(names, name) > 0));
        if (!ok)
            X509_NAME_free(name);
        n = ok ? n + 1 : -1;
        X509_free(cert);
    }
    BIO_free(b);
    ERR_clear_error();
    return n;
}

static bool make_client_ca(struct made *m)
{
    const struct tls_config *config = m->config;
    if (config->client_auth == TLS_CLIENT_AUTH_OFF)
        return true;
    if (!config->client_ca)
        return wrong(m, "client-ca", "none, though clients are asked for a certificate");
    m->store = X509_STORE_new();
    m->ca_names = sk_X509_NAME_new_null();
    if (!m->store || !m->ca_names)
        return wrong(m, "client-ca", "no memory");
    return load_store(m->store, m->ca_names, config->client_ca, config->client_ca_len) > 0 ||
           wrong(m, "client-ca", "no certificate in it");
}

/*
 * Tickets are good for what they were made for: another listener of this host has the same keys,
 * but may ask for other certificates of clients, or stand for other names.
 */
static bool make_session_context(struct made *m)
{
    const struct tls_config *config = m->config;
    const struct tls_context *c = m->context;
    uint8_t auth = (uint8_t)config->client_auth;
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    bool ok = md && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
              EVP_DigestUpdate(md, &auth, 1) == 1 &&
              EVP_DigestUpdate(md, c->alpn, c->alpn_len) == 1;
    if (ok && config->client_auth != TLS_CLIENT_AUTH_OFF)
        ok = EVP_DigestUpdate(md, config->client_ca, config->client_ca_len) == 1;
    for (unsigned i = 0; ok && i < c->names.n; i++)
        ok = EVP_DigestUpdate(md, c->names.name[i].text, strlen(c->names.name[i].text) + 1) == 1;
    ok = ok && EVP_DigestFinal_ex(md, m->session_context, NULL) == 1;
    EVP_MD_CTX_free(md);
    return ok || wrong(m, "tickets", "no memory");
}

static bool make_identities(struct made *m)
{
    struct tls_context *c = m->context;
    const struct tls_config *config = m->config;
    if (config->n_identities == 0 || config->n_identities > TLS_IDENTITIES_MAX)
        return wrong(m, "identities", config->n_identities ? "too many" : "none");
    c->identity = OPENSSL_zalloc(config->n_identities * sizeof(*c->identity));
    if (!c->identity)
        return wrong(m, "identities", "no memory");
    for (unsigned i = 0; i < config->n_identities; i++) {
        const char *why = identity_load(&c->identity[i], &config->identity[i]);
        c->n_identities++;
        if (why)
            return wrong(m, config->identity[i].name, why);
    }
    return names_init(&c->names, c->identity, c->n_identities) ||
           wrong(m, "identities", "no memory");
}

static bool make_sets(struct made *m)
{
    struct tls_context *c = m->context;
    for (unsigned i = 0; i < c->names.n_sets; i++) {
        struct tls_set *set = &c->names.set[i];
        set->ctx = server_ctx(m);
        if (!set->ctx)
            return false;
        for (unsigned kind = 0; kind < IDENTITY_KINDS; kind++) {
            const struct identity *id =
                set->identity[kind] ? &c->identity[set->identity[kind] - 1] : NULL;
            if (id && SSL_CTX_use_cert_and_key(set->ctx, id->cert, id->key, id->chain, 0) != 1)
                return wrong(m, id->info.name, identity_error());
        }
    }
    return true;
}

struct tls_context *tls_context_create(const struct tls_config *config, char *error, size_t size)
{
    struct tls_context *c = OPENSSL_zalloc(sizeof(*c));
    struct made m = {.config = config, .context = c, .error = error, .size = size};
    if (!c) {
        wrong(&m, "TLS", "no memory");
        return NULL;
    }
    atomic_init(&c->refs, 1);
    bool ok = make_alpn(&m, config->alpn, config->n_alpn) && make_client_ca(&m) &&
              make_identities(&m) && make_session_context(&m) && make_sets(&m);
    X509_STORE_free(m.store);
    sk_X509_NAME_pop_free(m.ca_names, X509_NAME_free);
    ERR_clear_error();
    if (ok)
        return c;
    tls_context_release(c);
    return NULL;
}

struct tls_context *tls_context_create_client(const char *ca, size_t ca_len,
                                              const char *const *alpn, unsigned n_alpn)
{
    char error[64];
    struct tls_context *c = OPENSSL_zalloc(sizeof(*c));
    struct made m = {.context = c, .error = error, .size = sizeof(error)};
    if (!c)
        return NULL;
    atomic_init(&c->refs, 1);
    c->client = new_ctx(TLS_client_method());
    bool ok = c->client && make_alpn(&m, alpn, n_alpn) &&
              SSL_CTX_set_alpn_protos(c->client, c->alpn, c->alpn_len) == 0;
    if (ok && ca) {
        SSL_CTX_set_verify(c->client, SSL_VERIFY_PEER, NULL);
        ok = load_store(SSL_CTX_get_cert_store(c->client), NULL, ca, ca_len) > 0;
    }
    ERR_clear_error();
    if (ok)
        return c;
    tls_context_release(c);
    return NULL;
}

void tls_context_hold(struct tls_context *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void tls_context_release(struct tls_context *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (unsigned i = 0; i < c->names.n_sets; i++)
        SSL_CTX_free(c->names.set[i].ctx);
    names_fini(&c->names);
    for (unsigned i = 0; i < c->n_identities; i++)
        identity_fini(&c->identity[i]);
    SSL_CTX_free(c->client);
    OPENSSL_free(c->identity);
    OPENSSL_free(c->alpn);
    OPENSSL_free(c);
}

SSL *tls_context_ssl(const struct tls_context *c)
{
    return SSL_new(c->client ? c->client : c->names.set[0].ctx);
}

unsigned tls_context_n_identities(const struct tls_context *c)
{
    return c->n_identities;
}

const struct tls_identity_info *tls_context_identity(const struct tls_context *c, unsigned i)
{
    return &c->identity[i].info;
}
