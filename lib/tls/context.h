/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TLS_CONTEXT_H
#define MILLRACE_TLS_CONTEXT_H

/*
 * What a listener's TLS connections have in common: certificates and keys, versions, cipher suites,
 * by OpenSSL. Made whole on the control core from bytes (files are the application's affair),
 * shared by all workers, and never changed: a reload makes another, and connections keep the one
 * they began with. References are counted atomically.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"

struct tls_context;

/* A certificate with its chain and its key, PEM. */
struct tls_identity {
    const char *name; /* for error messages */
    const char *chain;
    size_t chain_len;
    const char *key;
    size_t key_len;
};

enum tls_version { TLS_VERSION_1_2, TLS_VERSION_1_3 };

enum tls_client_auth {
    TLS_CLIENT_AUTH_OFF,
    TLS_CLIENT_AUTH_OPTIONAL, /* asked for; one that is sent must be good */
    TLS_CLIENT_AUTH_REQUIRED,
};

struct tls_config {
    /* The first is for clients that name no host, or none of ours. RSA and ECDSA ones for the same
     * names stand side by side, and the client's offer decides. Names are those of the certificate
     * (RFC 6125 6.4: subjectAltName, wildcards in the leftmost label). */
    const struct tls_identity *identity;
    unsigned n_identities; /* at least 1 */
    enum tls_version min_version;
    const char *ciphers;   /* of TLS 1.2, OpenSSL's syntax; NULL: ECDHE with AEAD only, none of
                              RFC 9113 appendix A */
    const char *suites;    /* of TLS 1.3; NULL: all but CCM, AES with 128 bits first */
    const char *groups;    /* NULL: OpenSSL's */
    const char *client_ca; /* PEM; NULL: none */
    size_t client_ca_len;
    enum tls_client_auth client_auth;
    unsigned tickets;        /* sent after a full handshake of TLS 1.3; 0: no resumption at all */
    tick_t ticket_lifetime;  /* whole seconds; at most 7 days (RFC 8446 4.6.1) */
    const char *const *alpn; /* protocols, the best first; a client that offers ALPN without one of
                                them, or no ALPN, is refused with no_application_protocol */
    unsigned n_alpn;         /* 0: ALPN is not looked at */
};

/*
 * One reference, the caller's. NULL: *error (of size bytes) says what is wrong, naming the
 * identity: no such PEM, key and certificate that do not belong together, a weak key, an expired
 * certificate is not an error.
 */
struct tls_context *tls_context_create(const struct tls_config *config, char *error, size_t size);
/* For connections of ours to others: checks the certificate against name and ca (PEM); ca NULL:
 * nothing is checked. */
struct tls_context *tls_context_create_client(const char *ca, size_t ca_len,
                                              const char *const *alpn, unsigned n_alpn);
void tls_context_hold(struct tls_context *c);
void tls_context_release(struct tls_context *c); /* c may be NULL */

/* What the control plane shows of an identity. */
struct tls_identity_info {
    const char *name;
    const char *subject;
    const char *names;  /* of subjectAltName, comma separated */
    const char *key;    /* "RSA 2048", "EC P-256" */
    int64_t not_before; /* Unix seconds */
    int64_t not_after;
    char fingerprint[65]; /* SHA-256 of the certificate, hexadecimal */
};
unsigned tls_context_n_identities(const struct tls_context *c);
const struct tls_identity_info *tls_context_identity(const struct tls_context *c, unsigned i);

#endif
