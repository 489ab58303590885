/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CERTIFICATES_H
#define MILLRACE_APP_CERTIFICATES_H

#include "app/config.h"
#include "app/config_fault.h"

#define CERTIFICATES_FILE_MAX (1u << 20) /* bytes of a PEM file */

/*
 * The TLS context of c->listener[n], which names certificates, from their files. One reference, the
 * caller's. NULL, with faults, where a file cannot be read, or OpenSSL does not take what it holds.
 */
struct tls_context *certificates_load(const struct config *c, unsigned n, struct config_faults *f);

#endif
