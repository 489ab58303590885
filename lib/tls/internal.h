/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TLS_INTERNAL_H
#define MILLRACE_TLS_INTERNAL_H

/* What the files of lib/tls know of each other; nobody else includes it. */

#include <openssl/ssl.h>

#include "tls/conn.h"
#include "tls/context.h"

/* ---- bio.c ---- */

/* The kind of BIO that reads from c->in and writes to c->out. NULL: no memory. */
BIO_METHOD *tls_bio_method(void);
BIO *tls_bio_new(const BIO_METHOD *method, struct tls_conn *c);
/* Packets for c->spare, so that n bytes can be written, whatever else happens. False: none left,
 * nothing has changed. */
bool tls_bio_reserve(struct tls_conn *c, uint32_t n);
/* Gives back what was not needed of them. */
void tls_bio_unreserve(struct tls_conn *c);

/* ---- context.c ---- */

/* For a connection that is about to begin. NULL: no memory. */
SSL *tls_context_ssl(const struct tls_context *c);

/* ---- identity.c ---- */

/* On one line (RFC 4514), cut where it does not fit. */
void tls_name_text(const X509_NAME *name, char *buf, size_t size);

/* ---- resume.c ---- */

/* The keys of tickets are those of the connection's worker. */
int tls_ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                   EVP_MAC_CTX *mac, int make);

#endif
