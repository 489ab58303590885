/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SERVICE_CONNECT_H
#define MILLRACE_SERVICE_CONNECT_H

/*
 * The service `connect`: tunnels of CONNECT (RFC 9110 9.3.6, RFC 9113 8.5) from a stream of HTTP to
 * a TCP connection. A worker has one struct connect for all its proxies; http_env.connect names it.
 * What is allowed says the listener's context, a struct proxy (service/proxy.h).
 *
 * A tunnel's way: the user is known, or is asked for (407); the name is looked up, both families at
 * once; the addresses that the proxy allows are tried by turns of the families (RFC 8305); the
 * first that answers is the target, and 200 goes out. Until then what the client sends waits in its
 * stream, within its window. From then on bytes pass without a copy, and credit goes back to
 * whoever sent them when they have left for the other side.
 *
 * Ends: END_STREAM and FIN are passed on as what they are, each direction by itself. A reset of the
 * target's becomes RST_STREAM(CONNECT_ERROR) behind the last byte that came before it; a client's
 * reset, or the end of its connection, becomes RST.
 *
 * What fails before the 200 is answered with a status and proxy-status (RFC 9209).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/slab.h"
#include "base/tick.h"
#include "service/proxy.h"
#include "stream/http.h"
#include "stream/stream.h"
#include "wire/addr.h"

struct connect;

/* How a lookup or a check of credentials ended. X(enumerator, name) */
#define CONNECT_OUTCOMES(X)                                                    \
    X(OK, "ok")                                                                \
    X(NO_NAME, "no_name") /* there is no such name, or it has no address */    \
    X(DNS_TIMEOUT, "dns_timeout")                                              \
    X(DNS_ERROR, "dns_error") /* servers say that they cannot or will not */   \
    X(BUSY, "busy")           /* a bound was met: of questions, of a client */ \
    X(WRONG, "wrong")         /* name or password is */

enum connect_outcome {
#define X(id, name) CONNECT_##id,
    CONNECT_OUTCOMES(X)
#undef X
        CONNECT_OUTCOME_END
};

#define CONNECT_ADDRS_MAX 8u /* of an answer */

struct connect_answer {
    uint8_t outcome; /* enum connect_outcome, but WRONG */
    bool v6;         /* the family that was asked for */
    uint8_t n;
    struct ip_addr addr[CONNECT_ADDRS_MAX]; /* in the order to be tried */
};

/* Who closed a tunnel, and why. X(enumerator, name, proxy-status error type or "", status) */
#define TUNNEL_ENDS(X)                                                            \
    X(DONE, "done", "", 200)                 /* both directions ended in order */ \
    X(CLIENT_RESET, "client_reset", "", 200) /* or its connection ended */        \
    X(TARGET_RESET, "target_reset", "connection_terminated", 502)                 \
    X(TARGET_TIMEOUT, "target_timeout", "connection_timeout", 504)                \
    X(IDLE, "idle_timeout", "", 200)                                              \
    X(HALF_OPEN, "half_open_timeout", "", 200)                                    \
    X(LIFETIME, "lifetime", "", 200)                                              \
    X(KILLED, "killed", "", 200)                                                  \
    X(NO_MEMORY, "no_memory", "proxy_internal_error", 503)                        \
    X(BAD_REQUEST, "bad_request", "http_request_error", 400)                      \
    X(NOT_CONNECT, "not_connect", "http_request_error", 405)                      \
    X(BAD_PROTOCOL, "bad_protocol", "http_request_error", 501)                    \
    X(UNKNOWN_USER, "unknown_user", "http_request_denied", 407)                   \
    X(DENIED, "denied", "http_request_denied", 403)                               \
    X(PROHIBITED, "prohibited", "destination_ip_prohibited", 403)                 \
    X(USER_LIMIT, "user_limit", "connection_limit_reached", 429)                  \
    X(LIMIT, "limit", "connection_limit_reached", 503)                            \
    X(NO_NAME, "no_name", "dns_error", 502)                                       \
    X(DNS_ERROR, "dns_error", "dns_error", 502)                                   \
    X(DNS_TIMEOUT, "dns_timeout", "dns_timeout", 504)                             \
    X(REFUSED, "refused", "connection_refused", 502)                              \
    X(UNREACHABLE, "unreachable", "destination_ip_unroutable", 502)               \
    X(CONNECT_TIMEOUT, "connect_timeout", "connection_timeout", 504)

enum tunnel_end {
#define X(id, name, error, status) TUNNEL_##id,
    TUNNEL_ENDS(X)
#undef X
        TUNNEL_END_END
};

const char *tunnel_end_name(enum tunnel_end e);

/* X(enumerator, name): what a tunnel is at. */
#define TUNNEL_STATES(X)        \
    X(VERIFYING, "verifying")   \
    X(RESOLVING, "resolving")   \
    X(CONNECTING, "connecting") \
    X(OPEN, "open")             \
    X(HALF_CLOSED, "half-closed") /* one direction has ended */

enum tunnel_state {
#define X(id, name) TUNNEL_STATE_##id,
    TUNNEL_STATES(X)
#undef X
        TUNNEL_STATE_END
};

const char *tunnel_state_name(enum tunnel_state s);

/* A tunnel as it is, or at its end. Texts are valid during the call. */
struct tunnel_record {
    uint64_t id;
    const struct http_peer *peer; /* the client */
    const char *proxy;
    const char *user; /* "": nobody in particular */
    struct http_text authority;
    struct ip_addr target; /* that was dialled and answered; :: none was */
    struct ip_addr local;  /* unused yet: :: */
    uint16_t port;
    uint8_t state; /* enum tunnel_state; of one that has ended, the last */
    uint8_t end;   /* enum tunnel_end; of one that lives DONE */
    uint16_t status;
    uint64_t to_target; /* bytes taken from the client and given to the target's connection */
    uint64_t to_client;
    tick_t began;
    tick_t resolved;  /* after began; 0: was not, or was given as an address */
    tick_t connected; /* after began; 0: was not */
    tick_t took;      /* until its end, or now */
};

/* What the application gives. All of it outlives the struct connect. */
struct connect_env {
    struct mem *mem;
    uint32_t max_tunnels; /* 0: 65,536 */
    /* Opens a TCP connection from `local` (:: any of ours); its service hears opened or reset.
     * NULL: *why is NO_MEMORY (a bound, no port) or UNREACHABLE. */
    struct stream *(*dial)(void *ctx, const struct ip_addr *to, uint16_t port,
                           const struct ip_addr *local, const struct stream_service *service,
                           void *user, tick_t now, enum stream_code *why);
    /* Asks for the addresses of one family; connect_resolved brings the answer, never within the
     * call. client: whose question it is, for bounds. False: there is no room for questions now. */
    bool (*resolve)(void *ctx, handle_t id, const char *name, bool v6,
                    const struct ip_addr *client);
    /* Asks, once for all tunnels that wait for the same, whether that is user's password by these
     * credentials (proxy_options.credentials; the proxy lives as long as one of them does);
     * connect_verified brings the answer, never within the call. False: no room. */
    bool (*verify)(void *ctx, handle_t id, const void *credentials, const char *user,
                   const char *password, const struct ip_addr *client);
    bool (*own)(void *ctx, const struct ip_addr *a); /* is it one of the appliance's addresses? */
    bool (*has_v6)(void *ctx); /* can IPv6 be dialled at all: is there an address to speak from? */
    bool (*has_v4)(void *ctx);
    void (*opened)(void *ctx); /* a target is connected. NULL, as the next: nobody asks */
    void (*ended)(void *ctx, const struct tunnel_record *r); /* a tunnel's end. NULL: nobody asks */
    void *ctx;
    uint8_t seed[16]; /* random: keys what is remembered of passwords */
};

/* NULL: no memory. */
struct connect *connect_create(const struct connect_env *env, tick_t now);
/* After all streams of the worker are over. c may be NULL. */
void connect_destroy(struct connect *c);

tick_t connect_deadline(const struct connect *c);
void connect_expire(struct connect *c, tick_t now);

/* Answers; one for a tunnel that is no more is nothing. */
void connect_resolved(struct connect *c, handle_t id, const struct connect_answer *a, tick_t now);
void connect_verified(struct connect *c, handle_t id, enum connect_outcome o, tick_t now);
/* Passwords may have changed: none is remembered. */
void connect_forget(struct connect *c);

/* ---- for those who look ---- */

uint32_t connect_tunnels(const struct connect *c);
/* Tells of tunnels from *cursor (0: the first) on, until `each` returns false; *cursor is where to
 * go on, UINT32_MAX after the last. */
void connect_list(const struct connect *c, uint32_t *cursor,
                  bool (*each)(void *ctx, const struct tunnel_record *r), void *ctx, tick_t now);
/* Ends one; false: there is none of that id. */
bool connect_kill(struct connect *c, uint64_t id, tick_t now);

/* The service; http_peer.context is a struct proxy. */
extern const struct http_service service_connect;

#endif
