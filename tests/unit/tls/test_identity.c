/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/identity.h"

#include <openssl/pem.h>
#include <string.h>

#include "pair.h"

static struct identity id;
static struct pki ca;
static struct pki made;

static void setup(void)
{
    ca = pki_make(PKI_P256, "authority", NULL, NULL, -1, 10);
}

static void teardown(void)
{
    identity_fini(&id);
    id = (struct identity){.cert = NULL};
    pki_free(&ca);
    pki_free(&made);
}

static const char *load(const char *chain, const char *key)
{
    struct tls_identity from = {.name = "mine",
                                .chain = chain,
                                .chain_len = strlen(chain),
                                .key = key,
                                .key_len = strlen(key)};
    identity_fini(&id);
    return identity_load(&id, &from);
}

static void loads(void)
{
    const char *why = load(made.cert, made.key);
    ck_assert_msg(!why, "%s", why);
}

START_TEST(says_what_it_is)
{
    made = pki_make(PKI_P256, "example",
                    "DNS:Example.COM,IP:192.0.2.1,DNS:*.example.com,IP:2001:db8::1", &ca, -3, 30);
    loads();
    ck_assert_str_eq(id.info.name, "mine");
    ck_assert_str_eq(id.info.subject, "CN=example");
    ck_assert_str_eq(id.info.names, "example.com,192.0.2.1,*.example.com,2001:db8::1");
    ck_assert_str_eq(id.info.key, "EC P-256");
    ck_assert_uint_eq(strlen(id.info.fingerprint), 64);
    ck_assert_uint_eq(strspn(id.info.fingerprint, "0123456789abcdef"), 64);
    ck_assert_int_eq(id.info.not_after - id.info.not_before, 33 * 86400);
    ck_assert_int_gt(id.info.not_before, INT64_C(1600000000));
    ck_assert_uint_eq(id.n_names, 2);
    ck_assert_str_eq(id.name[0], "example.com");
    ck_assert_str_eq(id.name[1], "*.example.com");
}
END_TEST

START_TEST(tells_kinds_of_keys)
{
    static const struct {
        enum pki_key make;
        enum identity_kind kind;
        const char *text;
    } kinds[] = {{PKI_P256, IDENTITY_EC, "EC P-256"},
                 {PKI_P384, IDENTITY_EC, "EC P-384"},
                 {PKI_RSA2048, IDENTITY_RSA, "RSA 2048"},
                 {PKI_ED25519, IDENTITY_EDWARDS, "Ed25519"}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        pki_free(&made);
        made = pki_make(kinds[i].make, "x", NULL, NULL, -1, 10);
        loads();
        ck_assert_int_eq(id.kind, kinds[i].kind);
        ck_assert_str_eq(id.info.key, kinds[i].text);
        ck_assert_str_eq(id.info.names, "");
    }
}
END_TEST

START_TEST(one_that_has_expired_is_one)
{
    made = pki_make(PKI_P256, "old", "DNS:old.example", &ca, -30, -1);
    loads();
}
END_TEST

START_TEST(keeps_the_chain)
{
    made = pki_make(PKI_P256, "x", "DNS:x.example", &ca, -1, 10);
    char both[8192];
    snprintf(both, sizeof(both), "%s%s", made.cert, ca.cert);
    ck_assert_ptr_null(load(both, made.key));
    ck_assert_int_eq(sk_X509_num(id.chain), 1);
    ck_assert_str_eq(id.info.subject, "CN=x");
    snprintf(both, sizeof(both), "%s%.60s\n-----END CERTIFICATE-----\n", made.cert, ca.cert);
    ck_assert_str_eq(load(both, made.key), "a certificate of its chain is broken");
}
END_TEST

START_TEST(refuses_what_is_no_identity)
{
    struct pki other = pki_make(PKI_P256, "other", NULL, NULL, -1, 10);
    made = pki_make(PKI_P256, "x", NULL, &ca, -1, 10);
    ck_assert_str_eq(load("", made.key), "no certificate in it");
    ck_assert_str_eq(load("nonsense", made.key), "no certificate in it");
    ck_assert_str_eq(load(made.key, made.key), "no certificate in it");
    ck_assert_str_eq(load(made.cert, ""), "no private key in it that can be read");
    ck_assert_str_eq(load(made.cert, made.cert), "no private key in it that can be read");
    ck_assert_str_eq(load(made.cert, other.key), "the private key is not that of the certificate");
    ck_assert_str_eq(
        load(made.cert, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
        "no private key in it that can be read");
    pki_free(&other);
}
END_TEST

START_TEST(refuses_a_weak_key)
{
    made = pki_make(PKI_RSA1024, "weak", NULL, NULL, -1, 10);
    ck_assert_str_eq(load(made.cert, made.key), "the key is too weak");
}
END_TEST

START_TEST(refuses_an_encrypted_key)
{
    char text[4096];
    made = pki_make(PKI_P256, "x", NULL, NULL, -1, 10);
    BIO *in = BIO_new_mem_buf(made.key, -1);
    BIO *out = BIO_new(BIO_s_mem());
    EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL);
    ck_assert(key && PEM_write_bio_PKCS8PrivateKey(out, key, EVP_aes_128_cbc(), "sesame", 6, NULL,
                                                   NULL) == 1);
    int n = BIO_read(out, text, sizeof(text) - 1);
    ck_assert_int_gt(n, 0);
    text[n] = 0;
    EVP_PKEY_free(key);
    BIO_free(in);
    BIO_free(out);
    ck_assert_str_eq(load(made.cert, text), "the private key is encrypted");
}
END_TEST

START_TEST(folds_names)
{
    char name[8];
    ck_assert(identity_fold("AbC.", 4, name, sizeof(name)));
    ck_assert_str_eq(name, "abc");
    ck_assert(identity_fold("1234567", 7, name, sizeof(name)));
    ck_assert(!identity_fold("12345678", 8, name, sizeof(name)));
    ck_assert(identity_fold("1234567.", 8, name, sizeof(name)));
    ck_assert(!identity_fold("", 0, name, sizeof(name)));
    ck_assert(!identity_fold(".", 1, name, sizeof(name)));
}
END_TEST

UNIT_MAIN("tls/identity", setup, teardown, says_what_it_is, tells_kinds_of_keys,
          one_that_has_expired_is_one, keeps_the_chain, refuses_what_is_no_identity,
          refuses_a_weak_key, refuses_an_encrypted_key, folds_names)
