/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TLS_CONN_H
#define MILLRACE_TLS_CONN_H

/*
 * A TLS connection, server's or client's side (RFC 8446, RFC 5246), by OpenSSL, over any ordered
 * byte transport: ciphertext goes in as packet views and comes out as packet views, by a BIO of our
 * own. OpenSSL reads records out of the views received and writes them into packets of the pool; no
 * buffer is between. What OpenSSL itself keeps for records is given back while nothing is under way
 * (SSL_MODE_RELEASE_BUFFERS).
 *
 * Nothing here calls back. After any call the owner takes what is to be sent (tls_take).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"
#include "buf/pkt.h"
#include "stats/counter.h"
#include "tls/context.h"
#include "tls/tickets.h"

/* A worker's, shared by its connections. */
struct tls {
    struct pkt_pool *pool;
    struct counters *counters;
    struct tls_tickets tickets;
    tick_t now; /* of the present call */
    void *bio_method;
    void *ticket_cipher; /* fetched once: OpenSSL 3.0 takes long to look one up */
};

/* seed: 32 bytes, the same for all workers of a host. False: no memory. */
bool tls_init(struct tls *t, struct pkt_pool *pool, struct counters *counters,
              const uint8_t seed[32], tick_t ticket_lifetime, tick_t now);
void tls_fini(struct tls *t);

/* The most of one write, which becomes one record (RFC 8446 5.1). */
#define TLS_RECORD_MAX 16384u

enum tls_conn_flag {
    TLS_CONN_CLIENT = 1u << 0,
    TLS_CONN_OPEN = 1u << 1,      /* the handshake is over */
    TLS_CONN_IN_END = 1u << 2,    /* close_notify has come */
    TLS_CONN_OUT_END = 1u << 3,   /* close_notify was sent */
    TLS_CONN_TRUNCATED = 1u << 4, /* the transport ended without close_notify */
    TLS_CONN_FAILED = 1u << 5,
    TLS_CONN_RESUMED = 1u << 6,
    TLS_CONN_BEGUN = 1u << 7, /* the other side's first record has come, or ours was made */
};

/* Stays where it is while it lives. */
struct tls_conn {
    struct tls *tls;
    struct tls_context *context;
    void *ssl;
    struct pkt *in; /* ciphertext not yet read by OpenSSL, a chain; its total is kept */
    struct pkt *in_last;
    struct pkt *out; /* ciphertext not yet taken */
    struct pkt *out_last;
    struct pkt *spare; /* packets put by for the write at work */
    uint32_t allowed;  /* bytes of `in` that OpenSSL may read: of one record, whole */
    uint32_t barren;   /* bytes of content that are wanting for its records without any */
    uint16_t flags;    /* enum tls_conn_flag */
    uint8_t alert;     /* with FAILED: the fatal alert sent or received; 0: none was */
    bool transport_end;
    bool due;          /* tls_read has something to do without input */
    bool starved;      /* a packet was asked for in vain during the present call */
    uint64_t written;  /* plaintext since the last silence; for the size of records */
    tick_t written_at; /* of the last write */
};

/* context is held. False: no memory. */
bool tls_accept(struct tls_conn *c, struct tls *t, struct tls_context *context, tick_t now);
/* name: of the server, for SNI and the certificate; NULL: none. session: DER of one to resume
 * (tls_session), NULL: none. */
bool tls_connect(struct tls_conn *c, struct tls *t, struct tls_context *context, const char *name,
                 const uint8_t *session, size_t session_len, tick_t now);
void tls_conn_fini(struct tls_conn *c);

/* p, a chain, is taken: ciphertext as the transport delivered it, in order. */
void tls_input(struct tls_conn *c, struct pkt *p);
void tls_input_end(struct tls_conn *c);

enum tls_result {
    TLS_AGAIN,     /* nothing more until there is more input */
    TLS_DATA,      /* *plain is the content of one record */
    TLS_PROGRESS,  /* a step of the handshake, or another message: call again */
    TLS_END,       /* close_notify has come, or the transport's end: nothing follows */
    TLS_STARVED,   /* no packets: nothing has changed, call again later */
    TLS_ERROR = -1 /* c->alert; what tls_take gives is to be sent, then the transport ends */
};

/*
 * Does one thing: a step of the handshake, or reads one record. *plain: the caller's, a chain of
 * packets of the pool, of at most 16 KiB.
 */
enum tls_result tls_read(struct tls_conn *c, struct pkt **plain, tick_t now);
/* Does tls_read have something to do? */
bool tls_readable(const struct tls_conn *c);

/* How many bytes the next record should have: few at the start of a connection and after a second
 * of silence, so that the first can be read after one round trip; then TLS_RECORD_MAX. */
uint32_t tls_record_size(const struct tls_conn *c, tick_t now);
/* One record of 1 to TLS_RECORD_MAX bytes; only while OPEN and before tls_end. False: no packets,
 * or, at a client, a message of the handshake has come in part; nothing was done. A failure shows
 * at the next tls_read. */
bool tls_write(struct tls_conn *c, const uint8_t *bytes, uint32_t len, tick_t now);
/* close_notify, once; none where the handshake is not over. False: no packets, nothing was done. */
bool tls_end(struct tls_conn *c, tick_t now);
/* Ciphertext to send, a chain, the caller's; NULL: none. */
struct pkt *tls_take(struct tls_conn *c);

/* ---- once open ---- */

const char *tls_version_name(const struct tls_conn *c); /* "TLSv1.3" */
const char *tls_cipher_name(const struct tls_conn *c);
const char *tls_group_name(const struct tls_conn *c);  /* "" where not known */
const char *tls_server_name(const struct tls_conn *c); /* as the client asked; "" */
/* Of the client's certificate, one line; "" where it has none. buf is filled. */
const char *tls_peer_subject(const struct tls_conn *c, char *buf, size_t size);
/* Whom it names, once verified: its subject's common name; where there is none, the first DNS name
 * or else the first address of mail that it is for. "": nobody, or by more than TLS_PEER_NAME_MAX
 * bytes, or by others than those of printable ASCII without space, quotes and backslash. */
#define TLS_PEER_NAME_MAX 63u
const char *tls_peer_name(const struct tls_conn *c, char name[static TLS_PEER_NAME_MAX + 1]);
/* A client's session to resume, DER; 0: none yet. */
size_t tls_session(const struct tls_conn *c, uint8_t *der, size_t room);

/* Packets that it holds (pkt_cost). */
uint32_t tls_cost(const struct tls_conn *c);

#endif
