/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_PKI_H
#define MILLRACE_TESTS_PKI_H

/* Certificates and keys as PEM, made in memory. */

#include <stdbool.h>

enum pki_key {
    PKI_P256,
    PKI_P384,
    PKI_RSA2048,
    PKI_RSA1024, /* weak */
    PKI_ED25519,
};

struct pki {
    char *cert; /* PEM, NUL-terminated, on the heap */
    char *key;
};

/*
 * subject: of CN. san: as OpenSSL writes it ("DNS:example.com,DNS:*.example.com"); NULL: none.
 * issuer: signs; NULL: itself, as an authority. Valid from from_day to to_day, counted from today.
 */
struct pki pki_make(enum pki_key kind, const char *subject, const char *san,
                    const struct pki *issuer, int from_day, int to_day);
void pki_free(struct pki *p);

#endif
