/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CERTIFICATES_H
#define MILLRACE_APP_CERTIFICATES_H

#include <stdbool.h>
#include <stdint.h>

#include "app/config.h"
#include "app/config_fault.h"

#define CERTIFICATES_FILE_MAX (1u << 20) /* bytes of a PEM file */

/*
 * The TLS context of c->listener[n], which names certificates, from their files. One reference, the
 * caller's. NULL, with faults, where a file cannot be read, or OpenSSL does not take what it holds.
 */
struct tls_context *certificates_load(const struct config *c, unsigned n, struct config_faults *f);

#define CERTIFICATES_TEXT_MAX 256
#define CERTIFICATES_SOON \
    14 /* days before its end, or a third of its life, when one is warned of */

/*
 * "own: EC P-256, until 2027-11-30, for www.example.org". now: Unix seconds. False: clients refuse
 * it, or will soon, and the text says so; such a certificate is served nevertheless.
 */
bool certificates_describe(const struct tls_identity_info *id, int64_t now,
                           char text[static CERTIFICATES_TEXT_MAX]);

#endif
