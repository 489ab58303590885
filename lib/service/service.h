/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SERVICE_SERVICE_H
#define MILLRACE_SERVICE_SERVICE_H

/*
 * Applications over streams, by the name that a listener gives. They know streams only, so the same
 * ones run over TCP and over whatever carries streams later.
 *
 * X(enumerator, name in the configuration, meaning)
 */

#include "stream/stream.h"

#define SERVICES(X)                                                                               \
    X(ECHO, "echo", "sends back what it receives (RFC 862)")                                      \
    X(DISCARD, "discard", "throws away what it receives (RFC 863)")                               \
    X(SOURCE, "source", "sends as fast as it may until the other side ends; a repeating pattern") \
    X(ORIGIN, "origin", "an HTTP server of files and fixed answers, see `origins`")               \
    X(CONNECT, "connect", "tunnels of HTTP CONNECT, see `proxies`")

enum service {
#define X(id, name, text) SERVICE_##id,
    SERVICES(X)
#undef X
        SERVICE_END
};

const char *service_name(enum service s);
const char *service_text(enum service s);
/* What a carrier calls. Those of HTTP (stream_service.http) want a carrier of HTTP, and what they
 * serve as the listener's context; the others want any that carries bytes. */
const struct stream_service *service_of(enum service s);

/* Byte n of what `source` sends: n modulo 251, so that a receiver can tell where it is. */
#define SERVICE_SOURCE_PERIOD 251u

extern const struct stream_service service_echo;
extern const struct stream_service service_discard;
extern const struct stream_service service_source;

#endif
