/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_TLS_PAIR_H
#define MILLRACE_TESTS_TLS_PAIR_H

/*
 * A client and a server, joined by a transport that keeps the order of bytes and nothing else:
 * what one sends reaches the other in chains and views of random sizes.
 */

#include "base/rng.h"
#include "support/heap.h"
#include "support/pki.h"
#include "support/unit.h"
#include "tls/conn.h"

struct pair_end {
    struct heap heap;
    struct heap_pool pool;
    struct counters counters;
    struct tls tls;
    struct tls_conn conn;
    bool lives;
    enum tls_result last; /* what tls_read said last */
    uint8_t *got;         /* content, on the heap */
    size_t got_len;
    unsigned records; /* of content */
    uint64_t sent;    /* bytes that left */
};

struct pair {
    struct pair_end client;
    struct pair_end server;
    struct rng rng;
    uint32_t view; /* most bytes of a view, 0: whole */
    tick_t now;
};

/* An identity named "test", and contexts that are made or the test fails. */
struct tls_identity pair_identity(const struct pki *p);
struct tls_context *pair_server(const struct tls_config *config);
struct tls_context *pair_client(const struct pki *ca);

/* Workers without connections. */
void pair_init(struct pair *p);
/* Checks that nothing is left. */
void pair_fini(struct pair *p);

/* Begins; session as for tls_connect. */
void pair_begin(struct pair *p, struct tls_context *client, struct tls_context *server,
                const char *name, const uint8_t *session, size_t session_len);
void pair_close(struct pair *p);

/* What `from` has to send reaches `to`. True: there was something. */
bool pair_move(struct pair *p, struct pair_end *from, struct pair_end *to);
/* Reads until there is nothing more; what comes is kept. */
void pair_read(struct pair *p, struct pair_end *e);
/* Both, until neither has anything to say. */
void pair_run(struct pair *p);
/* Bytes of our own choosing. */
void pair_feed(struct pair_end *e, const void *bytes, size_t len);

/* Writes as one record and asserts that there was room. */
void pair_write(struct pair *p, struct pair_end *e, const void *bytes, size_t len);
/* e got exactly these, and forgets them. */
void pair_expect(struct pair_end *e, const void *bytes, size_t len);

/* The handshake is over at both ends; or has failed at the server's, and then in both. */
void pair_expect_open(const struct pair *p);
void pair_expect_refused(const struct pair *p, uint8_t alert);

uint64_t pair_count(const struct pair_end *e, enum counter which);

#endif
