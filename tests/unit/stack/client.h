/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_CLIENT_H
#define MILLRACE_TESTS_CLIENT_H

/*
 * Clients of a stack's HTTP/2 listeners: TCP by hand, TLS by OpenSSL, HTTP/2 by nghttp2, so that
 * nothing of ours is on their side.
 *
 *     struct client *c = connect_to_port(0, 443, true);
 *     request(c, "/100");
 *     talk();
 *     ck_assert_uint_eq(c->body, 100);
 */

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include "peer.h"
#include "tls/context.h"

#define CLIENTS 8

struct client {
    struct peer peer;
    bool fin, rst;
    uint8_t *out; /* bytes for the stack, from out_at on not sent */
    size_t out_at, out_n;
    seq32_t right; /* end of the stack's window */
    uint8_t *in;   /* bytes of the stack's, from at on not looked at */
    size_t at, n;
    SSL *ssl;
    bool open; /* TLS's handshake is over */
    BIO *to_ssl, *from_ssl;
    nghttp2_session *h2;
    /* What HTTP/2 brought. */
    int status;
    size_t body;
    unsigned closed; /* streams */
    uint32_t stream_error;
    unsigned goaways;
    uint32_t goaway_error;
};

extern struct client client[CLIENTS];
/* Content of responses, which has to be the beginning of this. */
extern uint8_t client_content[1u << 20];

void clients_setup(void);
void clients_teardown(void);
/* For a server: a certificate of its own, and h2. The caller's. */
struct tls_context *client_server_context(void);

/* TCP alone, from another port each. */
struct client *connect_bare(unsigned which, uint16_t port);
/* TLS to come. */
void connect_ssl(struct client *c);
/* HTTP/2 to come. */
void connect_h2(struct client *c);
/* All of it, greetings exchanged. */
struct client *connect_to_port(unsigned which, uint16_t port, bool tls);

void send_segment(struct client *c, const uint8_t *bytes, uint32_t n, uint16_t flags);
/* As far as the stack's window allows; the rest when it opens. */
void send_bytes(struct client *c, const uint8_t *bytes, size_t n);
/* What OpenSSL has made. */
void flush_ssl(struct client *c);
/* What the stack says now, acknowledged. True: there was something. */
bool hear_all(void);
/* What has come goes up to HTTP/2, what that says goes down. */
void client_turn(struct client *c);
/* All clients and the stack, until nobody says anything any more. */
void talk(void);

struct upload {
    size_t left; /* bytes */
};
void request(struct client *c, const char *path);
void post(struct client *c, struct upload *u);
/* In order, from HTTP/2 to TCP. */
void client_close(struct client *c);

#endif
