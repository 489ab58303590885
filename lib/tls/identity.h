/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TLS_IDENTITY_H
#define MILLRACE_TLS_IDENTITY_H

/* A certificate, its chain and its key, out of PEM, and what is said of them. For lib/tls only. */

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "tls/context.h"

/* A handshake chooses between certificates by the kind of their keys. */
enum identity_kind {
    IDENTITY_RSA,
    IDENTITY_EC,
    IDENTITY_EDWARDS, /* Ed25519, Ed448 */
    IDENTITY_RSA_PSS,
    IDENTITY_KINDS
};

struct identity {
    X509 *cert;
    EVP_PKEY *key;
    STACK_OF(X509) * chain; /* above cert */
    enum identity_kind kind;
    char **name; /* those of subjectAltName: lower case, without a dot at the end */
    unsigned n_names;
    struct tls_identity_info info; /* its strings are its own */
};

/* NULL, or what is wrong with it, constant text. identity_fini in either case. */
const char *identity_load(struct identity *id, const struct tls_identity *from);
void identity_fini(struct identity *id);

/* Of OpenSSL's last error, which is forgotten; constant text. */
const char *identity_error(void);

/* A callback for PEM: nobody is there to be asked. asked: a bool that becomes true, or NULL. */
int identity_no_password(char *buf, int size, int writing, void *asked);

/* name in lower case without a dot at the end, into dst, of room bytes. False: longer, or empty. */
bool identity_fold(const char *name, size_t len, char *dst, size_t room);

#endif
