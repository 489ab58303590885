/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/pki.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

static EVP_PKEY *make_key(enum pki_key kind)
{
    switch (kind) {
    case PKI_P256: return EVP_EC_gen("P-256");
    case PKI_P384: return EVP_EC_gen("P-384");
    case PKI_RSA2048: return EVP_RSA_gen(2048);
    case PKI_RSA1024: return EVP_RSA_gen(1024);
    default: return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    }
}

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    int added = e && X509_add_ext(cert, e, -1);
    assert(added);
    X509_EXTENSION_free(e);
}

static char *drain(BIO *b)
{
    char *bytes;
    long len = BIO_get_mem_data(b, &bytes);
    char *text = calloc(1, (size_t)len + 1);
    assert(text && len > 0);
    memcpy(text, bytes, (size_t)len);
    BIO_free(b);
    return text;
}

static X509 *read_cert(const char *pem)
{
    BIO *b = BIO_new_mem_buf(pem, -1);
    X509 *cert = PEM_read_bio_X509(b, NULL, NULL, NULL);
    BIO_free(b);
    return cert;
}

static EVP_PKEY *read_key(const char *pem)
{
    BIO *b = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);
    BIO_free(b);
    return key;
}

static void name_it(X509 *cert, const char *subject)
{
    X509_NAME *name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)subject, -1, -1,
                               0);
}

struct pki pki_make(enum pki_key kind, const char *subject, const char *san,
                    const struct pki *issuer, int from_day, int to_day)
{
    static long serial;
    EVP_PKEY *key = make_key(kind);
    X509 *cert = X509_new();
    X509 *above = issuer ? read_cert(issuer->cert) : cert;
    EVP_PKEY *signer = issuer ? read_key(issuer->key) : key;
    assert(key && cert && above && signer);
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    X509_time_adj_ex(X509_getm_notBefore(cert), from_day, 0, NULL);
    X509_time_adj_ex(X509_getm_notAfter(cert), to_day, 0, NULL);
    X509_set_pubkey(cert, key);
    name_it(cert, subject);
    X509_set_issuer_name(cert, X509_get_subject_name(above));
    add_extension(cert, above, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE");
    if (san)
        add_extension(cert, above, NID_subject_alt_name, san);
    bool edwards = EVP_PKEY_get_base_id(signer) == EVP_PKEY_ED25519;
    int signed_len = X509_sign(cert, signer, edwards ? NULL : EVP_sha256());
    assert(signed_len > 0);

    struct pki made;
    BIO *b = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(b, cert);
    made.cert = drain(b);
    b = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL);
    made.key = drain(b);
    if (issuer) {
        X509_free(above);
        EVP_PKEY_free(signer);
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    return made;
}

void pki_free(struct pki *p)
{
    free(p->cert);
    free(p->key);
    *p = (struct pki){.cert = NULL};
}
