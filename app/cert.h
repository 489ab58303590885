/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CERT_H
#define MILLRACE_APP_CERT_H

/* millrace cert: a self-signed certificate and its key, for a first run and for tests. */

#include <stdbool.h>
#include <stddef.h>

#define CERT_NAMES_MAX 32
#define CERT_FILE      "certificate.pem" /* in the directory */
#define CERT_KEY_FILE  "key.pem"
#define CERT_WHY_MAX   512

struct cert_options {
    const char *directory;            /* made where it is missing */
    const char *name[CERT_NAMES_MAX]; /* hosts and IP addresses */
    unsigned n_names;                 /* 0: localhost, 127.0.0.1 and ::1 */
    unsigned days;
    bool rsa; /* 2048 bits, in place of ECDSA on P-256 */
};

/* False, with the reason, and no file is left: one of them is there already, say. */
bool cert_make(const struct cert_options *o, char why[static CERT_WHY_MAX]);

/* The command; argv[0] is "millrace cert". Returns an exit code: 0, 1 could not, 2 wrong usage. */
int cert_main(int argc, char **argv);

#endif
