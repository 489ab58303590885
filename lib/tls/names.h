/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TLS_NAMES_H
#define MILLRACE_TLS_NAMES_H

/*
 * Which identities serve which name (RFC 6066 3, RFC 6125 6.4). Each name of any certificate has
 * the first identity of each kind of key that is for it; names with the same identities share a
 * set, which gets one SSL_CTX. For lib/tls only.
 */

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "tls/identity.h"

#define TLS_NAME_MAX       255u /* RFC 1035 2.3.4 */
#define TLS_IDENTITIES_MAX 4096u

struct tls_set {
    uint16_t identity[IDENTITY_KINDS]; /* index + 1; 0: none of that kind */
    SSL_CTX *ctx;                      /* the owner's to make and to free */
};

struct tls_name {
    const char *text; /* an identity's */
    uint16_t set;
};

struct tls_names {
    struct tls_name *name; /* sorted */
    unsigned n;
    struct tls_set *set; /* [0] is the first identity's, for all who ask for another name or none */
    unsigned n_sets;
    unsigned room; /* of name, and more than of set */
};

/* The identities outlive it. False: no memory. */
bool names_init(struct tls_names *n, const struct identity *id, unsigned n_ids);
void names_fini(struct tls_names *n);

/* The name itself, or else a wildcard in place of its first label. NULL: neither. */
const struct tls_set *names_find(const struct tls_names *n, const char *name);

#endif
