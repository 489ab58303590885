/* SPDX-License-Identifier: BSD-3-Clause */
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <string.h>

#include "pair.h"

/* Whom a client's certificate names. */

#define X63 "0123456789012345678901234567890123456789012345678901234567890.x"

static const char *const h2[] = {"h2"};

static struct pair pair;
static struct pki ca;
static struct pki own;
static struct pki peer;
static struct tls_identity id;
static struct tls_config config;
static struct tls_context *server;
static struct tls_context *client;

static void setup(void)
{
    pair_init(&pair);
    ca = pki_make(PKI_P256, "authority", NULL, NULL, -1, 10);
    own = pki_make(PKI_P256, "own", "DNS:example.com", &ca, -1, 10);
    id = pair_identity(&own);
    config = (struct tls_config){.identity = &id,
                                 .n_identities = 1,
                                 .client_ca = ca.cert,
                                 .client_ca_len = strlen(ca.cert),
                                 .client_auth = TLS_CLIENT_AUTH_OPTIONAL,
                                 .tickets = 1,
                                 .ticket_lifetime = 3600 * TICK_SEC,
                                 .alpn = h2,
                                 .n_alpn = 1};
    server = pair_server(&config);
    client = pair_client(&ca);
}

static void teardown(void)
{
    pair_fini(&pair);
    tls_context_release(server);
    tls_context_release(client);
    pki_free(&ca);
    pki_free(&own);
    pki_free(&peer);
}

static X509 *cert_of(const struct pki *p)
{
    BIO *b = BIO_new_mem_buf(p->cert, -1);
    X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);
    BIO_free(b);
    ck_assert_ptr_nonnull(x);
    return x;
}

static EVP_PKEY *key_of(const struct pki *p)
{
    BIO *b = BIO_new_mem_buf(p->key, -1);
    EVP_PKEY *k = PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);
    BIO_free(b);
    ck_assert_ptr_nonnull(k);
    return k;
}

/* The client's certificate, with subject in place of its own; NULL: as it is. */
static void show(const X509_NAME *subject)
{
    X509 *x = cert_of(&peer);
    EVP_PKEY *k = key_of(&peer);
    EVP_PKEY *signer = key_of(&ca);
    if (subject) {
        ck_assert_int_eq(X509_set_subject_name(x, subject), 1);
        ck_assert_int_gt(X509_sign(x, signer, EVP_sha256()), 0);
    }
    ck_assert_int_eq(SSL_use_cert_and_key(pair.client.conn.ssl, x, k, NULL, 1), 1);
    X509_free(x);
    EVP_PKEY_free(k);
    EVP_PKEY_free(signer);
}

static void expect_name(const char *name)
{
    char text[TLS_PEER_NAME_MAX + 1];
    pair_run(&pair);
    pair_expect_open(&pair);
    ck_assert_ptr_eq(tls_peer_name(&pair.server.conn, text), text);
    ck_assert_str_eq(text, name);
}

static void named(const X509_NAME *subject, const char *san, const char *name)
{
    pki_free(&peer);
    peer = pki_make(PKI_P256, "x", san, &ca, -1, 10);
    pair_begin(&pair, client, server, "example.com", NULL, 0);
    show(subject);
    expect_name(name);
    pair_close(&pair);
}

/* A subject of one common name. */
static void cn_named(int type, const char *cn, int len, const char *name)
{
    X509_NAME *subject = X509_NAME_new();
    ck_assert_int_eq(X509_NAME_add_entry_by_NID(subject, NID_commonName, type,
                                                (const unsigned char *)cn, len, -1, 0),
                     1);
    named(subject, "DNS:other.example", name);
    X509_NAME_free(subject);
}

START_TEST(it_is_the_common_name)
{
    cn_named(MBSTRING_UTF8, "alice", -1, "alice");
    cn_named(MBSTRING_UTF8, "O=Home/CN=alice@example.com:443", -1,
             "O=Home/CN=alice@example.com:443");
    cn_named(V_ASN1_BMPSTRING, "\0b\0o\0b", 6, "bob");
    cn_named(V_ASN1_PRINTABLESTRING, "carol", -1, "carol");
    cn_named(MBSTRING_UTF8, X63, -1, X63);
}
END_TEST

START_TEST(or_a_name_that_it_is_for)
{
    X509_NAME *empty = X509_NAME_new();
    named(empty, "email:a@example.com,DNS:a.example,DNS:b.example", "a.example");
    named(empty, "URI:spiffe://x,email:a@example.com,email:b@example.com", "a@example.com");
    named(empty, "IP:192.0.2.1", "");
    named(empty, NULL, "");
    X509_NAME_add_entry_by_NID(empty, NID_organizationName, MBSTRING_UTF8,
                               (const unsigned char *)"Home", -1, -1, 0);
    named(empty, "DNS:a.example", "a.example");
    X509_NAME_free(empty);
}
END_TEST

START_TEST(the_most_specific_common_name_counts)
{
    X509_NAME *two = X509_NAME_new();
    X509_NAME_add_entry_by_NID(two, NID_commonName, MBSTRING_UTF8,
                               (const unsigned char *)"everybody", -1, -1, 0);
    X509_NAME_add_entry_by_NID(two, NID_commonName, MBSTRING_UTF8, (const unsigned char *)"alice",
                               -1, -1, 0);
    named(two, NULL, "alice");
    X509_NAME_free(two);
}
END_TEST

/* None at all, and not another one of the same certificate. */
START_TEST(what_is_not_fit_to_be_a_name_is_none)
{
    cn_named(MBSTRING_UTF8, "Alice Liddell", -1, "");
    cn_named(V_ASN1_UTF8STRING, "alice\0.evil.example", 19, "");
    cn_named(MBSTRING_UTF8, "al\nice", -1, "");
    cn_named(MBSTRING_UTF8, "al\"ice", -1, "");
    cn_named(MBSTRING_UTF8, "al'ice", -1, "");
    cn_named(MBSTRING_UTF8, "al\\ice", -1, "");
    cn_named(MBSTRING_UTF8, "al\x7fice", -1, "");
    cn_named(MBSTRING_UTF8, "al\xc3\xafs", -1, "");
    cn_named(MBSTRING_UTF8, X63 "x", -1, "");
}
END_TEST

START_TEST(without_a_certificate_it_is_nobody)
{
    pair_begin(&pair, client, server, "example.com", NULL, 0);
    expect_name("");
}
END_TEST

/* The ticket has the certificate in it. */
static void survives(int version)
{
    uint8_t session[8192];
    pair_begin(&pair, client, server, "example.com", NULL, 0);
    SSL_set_max_proto_version(pair.client.conn.ssl, version);
    show(NULL);
    expect_name("alice");
    pair_write(&pair, &pair.client, "x", 1);
    pair_run(&pair);
    pair_expect(&pair.server, "x", 1);
    size_t len = tls_session(&pair.client.conn, session, sizeof(session));
    ck_assert_uint_gt(len, 0);
    pair_close(&pair);
    pair_begin(&pair, client, server, "example.com", session, len);
    SSL_set_max_proto_version(pair.client.conn.ssl, version);
    expect_name("alice");
    ck_assert(pair.server.conn.flags & TLS_CONN_RESUMED);
    pair_close(&pair);
}

START_TEST(a_resumed_session_has_the_same_name)
{
    peer = pki_make(PKI_P256, "alice", NULL, &ca, -1, 10);
    survives(TLS1_3_VERSION);
    survives(TLS1_2_VERSION);
}
END_TEST

UNIT_MAIN("peer", setup, teardown, it_is_the_common_name, or_a_name_that_it_is_for,
          the_most_specific_common_name_counts, what_is_not_fit_to_be_a_name_is_none,
          without_a_certificate_it_is_nobody, a_resumed_session_has_the_same_name)
