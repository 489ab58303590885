/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/context.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <string.h>

#include "pair.h"

/* Alerts (RFC 8446 6). */
#define HANDSHAKE_FAILURE       40
#define UNKNOWN_CA              48
#define PROTOCOL_VERSION        70
#define CERTIFICATE_REQUIRED    116
#define NO_APPLICATION_PROTOCOL 120

static const char *const h2[] = {"h2"};
static const char *const both[] = {"h2", "http/1.1"};

static struct pair pair;
static struct pki ca;
static struct pki ec;
static struct pki rsa;
static struct pki other;
static struct tls_identity id[3];
static struct tls_config config;
static struct tls_context *server;
static struct tls_context *client;
static char error[256];

static void setup(void)
{
    pair_init(&pair);
    ca = pki_make(PKI_P256, "authority", NULL, NULL, -1, 10);
    ec = pki_make(PKI_P256, "ec", "DNS:example.com,DNS:*.example.com", &ca, -1, 10);
    other = pki_make(PKI_ED25519, "other", "DNS:other.example", &ca, -1, 10);
    id[0] = pair_identity(&ec);
    config = (struct tls_config){.identity = id,
                                 .n_identities = 1,
                                 .tickets = 1,
                                 .ticket_lifetime = 3600 * TICK_SEC,
                                 .alpn = h2,
                                 .n_alpn = 1};
    client = pair_client(&ca);
}

static void teardown(void)
{
    pair_fini(&pair);
    tls_context_release(server);
    tls_context_release(client);
    server = client = NULL;
    pki_free(&ca);
    pki_free(&ec);
    pki_free(&rsa);
    pki_free(&other);
}

static SSL *client_ssl(void)
{
    return pair.client.conn.ssl;
}

static void begin(const char *name)
{
    if (!server)
        server = pair_server(&config);
    pair_begin(&pair, client, server, name, NULL, 0);
}

static void again(void)
{
    pair_close(&pair);
    pair.server.counters = (struct counters){0};
}

static void only_tls12(void)
{
    SSL_set_max_proto_version(client_ssl(), TLS1_2_VERSION);
}

/* The subject of the certificate that the client was shown. */
static void shown(const char *subject)
{
    char text[256];
    pair_expect_open(&pair);
    ck_assert_str_eq(tls_peer_subject(&pair.client.conn, text, sizeof(text)), subject);
}

static void refused_config(const char *says)
{
    ck_assert_ptr_null(tls_context_create(&config, error, sizeof(error)));
    ck_assert_str_eq(error, says);
}

/* ---- what is no configuration ---- */

START_TEST(names_the_identity_that_is_wrong)
{
    id[1] = pair_identity(&other);
    id[1].name = "second";
    id[1].key = ec.key;
    id[1].key_len = strlen(ec.key);
    config.n_identities = 2;
    refused_config("second: the private key is not that of the certificate");
    config.n_identities = 0;
    refused_config("identities: none");
}
END_TEST

START_TEST(takes_ephemeral_aead_only)
{
    config.ciphers = "AES128-SHA";
    refused_config("AES128-SHA: not ECDHE with AEAD and a whole tag");
    config.ciphers = "ECDHE-ECDSA-AES128-SHA256";
    refused_config("ECDHE-ECDSA-AES128-SHA256: not ECDHE with AEAD and a whole tag");
    config.ciphers = "DHE-RSA-AES128-GCM-SHA256";
    refused_config("DHE-RSA-AES128-GCM-SHA256: not ECDHE with AEAD and a whole tag");
    config.ciphers = "ECDHE-ECDSA-AES128-CCM8";
    refused_config("ECDHE-ECDSA-AES128-CCM8: not ECDHE with AEAD and a whole tag");
    config.ciphers = "nonsense";
    refused_config("nonsense: no such ciphers");
    config.ciphers = NULL;
    config.suites = "TLS_AES_128_CCM_8_SHA256";
    refused_config("TLS_AES_128_CCM_8_SHA256: not ECDHE with AEAD and a whole tag");
    config.suites = "nonsense";
    refused_config("nonsense: no such cipher suites");
    config.suites = NULL;
    config.groups = "nonsense";
    refused_config("nonsense: no such groups");
}
END_TEST

START_TEST(asks_clients_for_certificates_by_an_authority_only)
{
    config.client_auth = TLS_CLIENT_AUTH_OPTIONAL;
    refused_config("client-ca: none, though clients are asked for a certificate");
    config.client_ca = "nonsense";
    config.client_ca_len = strlen("nonsense");
    refused_config("client-ca: no certificate in it");
}
END_TEST

START_TEST(names_of_protocols_have_a_length)
{
    const char *empty[] = {"h2", ""};
    config.alpn = empty;
    config.n_alpn = 2;
    refused_config(": not a protocol's name");
}
END_TEST

START_TEST(tells_of_its_identities)
{
    id[1] = pair_identity(&other);
    config.n_identities = 2;
    server = pair_server(&config);
    ck_assert_uint_eq(tls_context_n_identities(server), 2);
    ck_assert_str_eq(tls_context_identity(server, 0)->subject, "CN=ec");
    ck_assert_str_eq(tls_context_identity(server, 1)->key, "Ed25519");
}
END_TEST

/* ---- which identity ---- */

START_TEST(chooses_by_the_name_asked_for)
{
    static const struct {
        const char *name;
        const char *subject;
    } cases[] = {{"example.com", "CN=ec"},
                 {"WWW.Example.com", "CN=ec"},
                 {"other.example", "CN=other"},
                 {"nobody.example", "CN=ec"},
                 {NULL, "CN=ec"}};
    id[1] = pair_identity(&other);
    config.n_identities = 2;
    tls_context_release(client);
    client = pair_client(NULL);
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        begin(cases[i / 2].name);
        if (i % 2)
            only_tls12();
        pair_run(&pair);
        shown(cases[i / 2].subject);
        ck_assert_str_eq(tls_server_name(&pair.server.conn),
                         cases[i / 2].name ? cases[i / 2].name : "");
        again();
    }
}
END_TEST

START_TEST(chooses_the_kind_of_key_that_the_client_takes)
{
    rsa = pki_make(PKI_RSA2048, "rsa", "DNS:example.com", &ca, -1, 10);
    id[0] = pair_identity(&rsa);
    id[1] = pair_identity(&ec);
    id[2] = pair_identity(&other);
    config.n_identities = 3;
    for (unsigned tls12 = 0; tls12 < 2; tls12++) {
        begin("example.com");
        if (tls12)
            only_tls12();
        pair_run(&pair);
        shown("CN=ec"); /* cheaper */
        again();
        begin("example.com");
        if (tls12)
            only_tls12();
        SSL_set1_sigalgs_list(client_ssl(), "RSA-PSS+SHA256:RSA+SHA256:ECDSA+SHA384");
        pair_run(&pair);
        shown(tls12 ? "CN=ec" : "CN=rsa");
        again();
        begin("example.com");
        if (tls12)
            only_tls12();
        SSL_set1_sigalgs_list(client_ssl(), "RSA-PSS+SHA256");
        if (tls12)
            SSL_set_cipher_list(client_ssl(), "ECDHE-RSA-AES256-GCM-SHA384");
        pair_run(&pair);
        shown("CN=rsa");
        again();
    }
}
END_TEST

START_TEST(without_a_common_signature_there_is_no_handshake)
{
    begin("example.com");
    SSL_set1_sigalgs_list(client_ssl(), "RSA-PSS+SHA256");
    pair_run(&pair);
    pair_expect_refused(&pair, HANDSHAKE_FAILURE);
}
END_TEST

START_TEST(shows_the_whole_chain)
{
    struct pki middle = pki_make(PKI_P256, "middle", NULL, NULL, -1, 10);
    char chain[8192];
    snprintf(chain, sizeof(chain), "%s%s", ec.cert, middle.cert);
    id[0].chain = chain;
    id[0].chain_len = strlen(chain);
    begin("example.com");
    pair_run(&pair);
    ck_assert_int_eq(sk_X509_num(SSL_get_peer_cert_chain(client_ssl())), 2);
    pki_free(&middle);
}
END_TEST

/* ---- ALPN ---- */

START_TEST(refuses_a_client_without_a_common_protocol)
{
    for (unsigned tls12 = 0; tls12 < 2; tls12++) {
        begin("example.com");
        SSL_set_alpn_protos(client_ssl(), (const unsigned char *)"\010http/1.1", 9);
        if (tls12)
            only_tls12();
        pair_run(&pair);
        pair_expect_refused(&pair, NO_APPLICATION_PROTOCOL);
        ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_NO_ALPN), 1);
        ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_ALERTS_TX), 1);
        again();
    }
}
END_TEST

START_TEST(refuses_a_client_that_says_nothing_of_protocols)
{
    for (unsigned tls12 = 0; tls12 < 2; tls12++) {
        begin("example.com");
        SSL_set_alpn_protos(client_ssl(), NULL, 0);
        if (tls12)
            only_tls12();
        pair_run(&pair);
        pair_expect_refused(&pair, NO_APPLICATION_PROTOCOL);
        ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_NO_ALPN), 1);
        again();
    }
}
END_TEST

START_TEST(takes_the_best_protocol_of_ours)
{
    const unsigned char *chosen;
    unsigned len;
    config.alpn = both;
    config.n_alpn = 2;
    begin("example.com");
    SSL_set_alpn_protos(client_ssl(), (const unsigned char *)"\010http/1.1\002h2", 12);
    pair_run(&pair);
    pair_expect_open(&pair);
    SSL_get0_alpn_selected(client_ssl(), &chosen, &len);
    ck_assert_uint_eq(len, 2);
    ck_assert_mem_eq(chosen, "h2", 2);
}
END_TEST

START_TEST(may_not_look_at_protocols_at_all)
{
    config.n_alpn = 0;
    begin("example.com");
    SSL_set_alpn_protos(client_ssl(), NULL, 0);
    pair_run(&pair);
    pair_expect_open(&pair);
    again();
    begin("example.com");
    pair_run(&pair);
    pair_expect_open(&pair);
}
END_TEST

/* ---- versions and ciphers ---- */

START_TEST(speaks_1_2_and_1_3)
{
    begin("example.com");
    only_tls12();
    pair_run(&pair);
    pair_expect_open(&pair);
    ck_assert_str_eq(tls_version_name(&pair.server.conn), "TLSv1.2");
    ck_assert_str_eq(tls_cipher_name(&pair.server.conn), "ECDHE-ECDSA-AES128-GCM-SHA256");
    ck_assert_str_eq(tls_group_name(&pair.server.conn), "x25519");
    again();
    begin("example.com");
    pair_run(&pair);
    pair_expect_open(&pair);
    ck_assert_str_eq(tls_version_name(&pair.server.conn), "TLSv1.3");
    ck_assert_str_eq(tls_cipher_name(&pair.server.conn), "TLS_AES_128_GCM_SHA256");
    ck_assert_uint_gt(strlen(tls_group_name(&pair.server.conn)), 0);
}
END_TEST

START_TEST(may_be_told_to_speak_1_3_only)
{
    config.min_version = TLS_VERSION_1_3;
    begin("example.com");
    only_tls12();
    pair_run(&pair);
    pair_expect_refused(&pair, PROTOCOL_VERSION);
}
END_TEST

START_TEST(refuses_what_is_older)
{
    static const int old[] = {TLS1_VERSION, TLS1_1_VERSION};
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        begin("example.com");
        SSL_set_security_level(client_ssl(), 0);
        SSL_set_min_proto_version(client_ssl(), old[i]);
        SSL_set_max_proto_version(client_ssl(), old[i]);
        SSL_set_cipher_list(client_ssl(), "ALL:@SECLEVEL=0");
        pair_run(&pair);
        pair_expect_refused(&pair, PROTOCOL_VERSION);
        again();
    }
}
END_TEST

START_TEST(refuses_ciphers_that_http2_forbids)
{
    static const char *const weak[] = {"ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA",
                                       "ECDHE-ECDSA-AES256-CCM8"};
    for (size_t i = 0; i < sizeof(weak) / sizeof(weak[0]); i++) {
        begin("example.com");
        only_tls12();
        SSL_set_security_level(client_ssl(), 0); /* or OpenSSL 3.2 would not offer CCM8 */
        ck_assert(SSL_set_cipher_list(client_ssl(), weak[i]));
        pair_run(&pair);
        pair_expect_refused(&pair, HANDSHAKE_FAILURE);
        again();
    }
}
END_TEST

START_TEST(prefers_chacha_where_the_client_does)
{
    begin("example.com");
    SSL_set_ciphersuites(client_ssl(), "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256");
    pair_run(&pair);
    ck_assert_str_eq(tls_cipher_name(&pair.server.conn), "TLS_CHACHA20_POLY1305_SHA256");
    again();
    begin("example.com");
    SSL_set_ciphersuites(client_ssl(), "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
    pair_run(&pair);
    ck_assert_str_eq(tls_cipher_name(&pair.server.conn), "TLS_AES_256_GCM_SHA384");
}
END_TEST

START_TEST(takes_ciphers_and_groups_of_the_configuration)
{
    config.suites = "TLS_AES_256_GCM_SHA384";
    config.ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305";
    config.groups = "P-384";
    begin("example.com");
    pair_run(&pair);
    ck_assert_str_eq(tls_cipher_name(&pair.server.conn), "TLS_AES_256_GCM_SHA384");
    ck_assert_str_eq(tls_group_name(&pair.server.conn), "secp384r1");
    again();
    begin("example.com");
    only_tls12();
    pair_run(&pair);
    ck_assert_str_eq(tls_cipher_name(&pair.server.conn), "ECDHE-ECDSA-CHACHA20-POLY1305");
}
END_TEST

/* ---- certificates of clients ---- */

static void ask_clients(enum tls_client_auth how)
{
    config.client_auth = how;
    config.client_ca = ca.cert;
    config.client_ca_len = strlen(ca.cert);
}

/* The client has this to show. */
static void show(const struct pki *p)
{
    BIO *cert = BIO_new_mem_buf(p->cert, -1);
    BIO *key = BIO_new_mem_buf(p->key, -1);
    X509 *x = PEM_read_bio_X509(cert, NULL, NULL, NULL);
    EVP_PKEY *k = PEM_read_bio_PrivateKey(key, NULL, NULL, NULL);
    ck_assert_int_eq(SSL_use_cert_and_key(client_ssl(), x, k, NULL, 1), 1);
    X509_free(x);
    EVP_PKEY_free(k);
    BIO_free(cert);
    BIO_free(key);
}

static void expect_subject(const char *subject)
{
    char text[64];
    pair_expect_open(&pair);
    ck_assert_str_eq(tls_peer_subject(&pair.server.conn, text, sizeof(text)), subject);
}

START_TEST(a_client_may_show_a_certificate)
{
    ask_clients(TLS_CLIENT_AUTH_OPTIONAL);
    begin("example.com");
    pair_run(&pair);
    expect_subject("");
    again();
    begin("example.com");
    show(&other);
    pair_run(&pair);
    expect_subject("CN=other");
    char little[4];
    ck_assert_str_eq(tls_peer_subject(&pair.server.conn, little, sizeof(little)), "CN=");
}
END_TEST

START_TEST(nobody_is_asked_by_default)
{
    begin("example.com");
    show(&other);
    pair_run(&pair);
    expect_subject("");
}
END_TEST

START_TEST(a_certificate_of_another_authority_is_refused)
{
    struct pki stranger = pki_make(PKI_P256, "stranger", NULL, NULL, -1, 10);
    ask_clients(TLS_CLIENT_AUTH_OPTIONAL);
    for (unsigned tls12 = 0; tls12 < 2; tls12++) {
        begin("example.com");
        show(&stranger);
        if (tls12)
            only_tls12();
        pair_run(&pair);
        pair_expect_refused(&pair, UNKNOWN_CA);
        again();
    }
    pki_free(&stranger);
}
END_TEST

START_TEST(a_certificate_may_be_required)
{
    ask_clients(TLS_CLIENT_AUTH_REQUIRED);
    begin("example.com");
    pair_run(&pair);
    pair_expect_refused(&pair, CERTIFICATE_REQUIRED);
    again();
    begin("example.com");
    only_tls12();
    pair_run(&pair);
    pair_expect_refused(&pair, HANDSHAKE_FAILURE);
    again();
    begin("example.com");
    show(&other);
    pair_run(&pair);
    expect_subject("CN=other");
}
END_TEST

START_TEST(every_name_asks_alike)
{
    id[1] = pair_identity(&other);
    config.n_identities = 2;
    ask_clients(TLS_CLIENT_AUTH_REQUIRED);
    begin("other.example");
    pair_run(&pair);
    pair_expect_refused(&pair, CERTIFICATE_REQUIRED);
    again();
    begin("other.example");
    show(&ec);
    pair_run(&pair);
    expect_subject("CN=ec");
}
END_TEST

/* ---- as a client ---- */

START_TEST(a_client_checks_the_name_and_the_authority)
{
    begin("wrong.example");
    pair_run(&pair);
    ck_assert(pair.client.conn.flags & TLS_CONN_FAILED);
    ck_assert(pair.server.conn.flags & TLS_CONN_FAILED);
    ck_assert_uint_eq(pair_count(&pair.server, COUNTER_TLS_ALERTS_RX), 1);
    again();
    begin("192.0.2.1");
    pair_run(&pair);
    ck_assert(pair.client.conn.flags & TLS_CONN_FAILED);
    again();
    tls_context_release(client);
    client = pair_client(&other);
    begin("example.com");
    pair_run(&pair);
    ck_assert(pair.client.conn.flags & TLS_CONN_FAILED);
}
END_TEST

START_TEST(an_address_is_no_name_to_ask_for)
{
    struct pki host = pki_make(PKI_P256, "host", "IP:192.0.2.1", &ca, -1, 10);
    id[0] = pair_identity(&host);
    begin("192.0.2.1");
    pair_run(&pair);
    pair_expect_open(&pair);
    ck_assert_str_eq(tls_server_name(&pair.server.conn), "");
    pki_free(&host);
}
END_TEST

START_TEST(connections_keep_their_context)
{
    begin("example.com");
    tls_context_release(server);
    server = NULL;
    pair_run(&pair);
    pair_expect_open(&pair);
}
END_TEST

UNIT_MAIN("tls/context", setup, teardown, names_the_identity_that_is_wrong,
          takes_ephemeral_aead_only, asks_clients_for_certificates_by_an_authority_only,
          names_of_protocols_have_a_length, tells_of_its_identities, chooses_by_the_name_asked_for,
          chooses_the_kind_of_key_that_the_client_takes,
          without_a_common_signature_there_is_no_handshake, shows_the_whole_chain,
          refuses_a_client_without_a_common_protocol,
          refuses_a_client_that_says_nothing_of_protocols, takes_the_best_protocol_of_ours,
          may_not_look_at_protocols_at_all, speaks_1_2_and_1_3, may_be_told_to_speak_1_3_only,
          refuses_what_is_older, refuses_ciphers_that_http2_forbids,
          prefers_chacha_where_the_client_does, takes_ciphers_and_groups_of_the_configuration,
          a_client_may_show_a_certificate, nobody_is_asked_by_default,
          a_certificate_of_another_authority_is_refused, a_certificate_may_be_required,
          every_name_asks_alike, a_client_checks_the_name_and_the_authority,
          an_address_is_no_name_to_ask_for, connections_keep_their_context)
