/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_OPENSSL_MEMORY_H
#define MILLRACE_APP_OPENSSL_MEMORY_H

/*
 * OpenSSL's memory: counted, and with a short way for what comes and goes. A connection that has
 * nothing to send gives its 16 KiB buffers back (SSL_MODE_RELEASE_BUFFERS) and takes others with
 * the next record; a handshake takes a thousand small blocks, and gives most of them back at once.
 * Each thread keeps some for the next, within a bound.
 */

#include <stdbool.h>
#include <stdint.h>

/* Before anything else of OpenSSL's runs. False: it is too late. */
bool openssl_memory_init(void);
/* Bytes that OpenSSL holds, those kept for it included. Any thread. */
uint64_t openssl_memory_bytes(void);
/* The calling thread gives back what it keeps: before it ends. */
void openssl_memory_trim(void);

#endif
