/* SPDX-License-Identifier: BSD-3-Clause */
/* Whom the other side's certificate names. */
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "tls/internal.h"

/* A name that rules, logs and lines of text can hold as it is: no NUL within, which would make
 * another name of it, no quotes, no space. */
static bool fit(const unsigned char *text, int n)
{
    for (int i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~' || strchr("\"'`\\", text[i]))
            return false;
    return n > 0 && n <= (int)TLS_PEER_NAME_MAX;
}

static void take(const ASN1_STRING *from, char name[static TLS_PEER_NAME_MAX + 1])
{
    unsigned char *text;
    int n = ASN1_STRING_to_UTF8(&text, from);
    if (n < 0)
        return;
    if (fit(text, n)) {
        memcpy(name, text, (size_t)n);
        name[n] = '\0';
    }
    OPENSSL_free(text);
}

/* The last of them, which is the most specific (RFC 6125 1.8); NULL: none. */
static const ASN1_STRING *common_name(const X509 *cert)
{
    const X509_NAME *subject = X509_get_subject_name(cert);
    int at = -1;
    for (int i = -1; (i = X509_NAME_get_index_by_NID(subject, NID_commonName, i)) >= 0;)
        at = i;
    return at >= 0 ? X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)) : NULL;
}

/* The first of a kind, GEN_DNS or GEN_EMAIL; NULL: none. */
static const ASN1_STRING *first(const GENERAL_NAMES *all, int kind)
{
    for (int i = 0; all && i < sk_GENERAL_NAME_num(all); i++) {
        const GENERAL_NAME *g = sk_GENERAL_NAME_value(all, i);
        if (g->type == kind)
            return g->d.ia5;
    }
    return NULL;
}

static void name_of(const X509 *cert, char name[static TLS_PEER_NAME_MAX + 1])
{
    GENERAL_NAMES *all = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    const ASN1_STRING *from = common_name(cert);
    if (!from)
        from = first(all, GEN_DNS);
    if (!from)
        from = first(all, GEN_EMAIL);
    if (from)
        take(from, name);
    GENERAL_NAMES_free(all);
    ERR_clear_error();
}

const char *tls_peer_name(const struct tls_conn *c, char name[static TLS_PEER_NAME_MAX + 1])
{
    name[0] = '\0';
    X509 *cert = SSL_get1_peer_certificate(c->ssl);
    if (cert && SSL_get_verify_result(c->ssl) == X509_V_OK)
        name_of(cert, name);
    X509_free(cert);
    return name;
}
