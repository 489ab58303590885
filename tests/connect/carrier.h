/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONNECT_CARRIER_H
#define CONNECT_CARRIER_H

/* The connection to the proxy: TCP, and TLS on it unless it is to be clear. */

#include <openssl/ssl.h>
#include <sys/types.h>

#include "options.h"

struct carrier {
    int fd;
    SSL_CTX *tls; /* NULL: clear */
    SSL *ssl;
};

/* The connection stands, `h2` is agreed on, and it blocks no more. Ends the program if that fails.
 */
void carrier_open(struct carrier *c, const struct options *o);

enum {
    CARRIER_WAIT = 0, /* nothing to be done until the socket is ready again */
    CARRIER_ENDED = -1,
    CARRIER_FAILED = -2,
};

/* Bytes, or one of those above. What is not written all may be offered at another place. */
ssize_t carrier_read(struct carrier *c, void *at, size_t n);
ssize_t carrier_write(struct carrier *c, const void *at, size_t n);

void carrier_close(struct carrier *c);

#endif
