/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_PEER_H
#define MILLRACE_TESTS_PEER_H

/*
 * The other end of a TCP connection, as far as tests of the stack need one: it knows its numbers
 * and says what it is told to. And a service that notes what it is told.
 *
 *     struct peer p = peer4(1024, 7);
 *     peer_open(&p);
 *     peer_says(&p, TCP_ACK, 100);
 *     ck_assert_uint_eq(service.bytes, 100);
 */

#include "host.h"
#include "stream/stream.h"

#define PEER_ISS UINT32_C(0xfffffff0)

struct peer {
    struct ip_addr addr;
    struct ip_addr us;
    uint16_t port;
    uint16_t us_port;
    seq32_t seq;                /* of what it says next */
    seq32_t ack;                /* what it expects next */
    struct tcp_options options; /* of its SYN; with timestamps, of everything */
    uint16_t window;
};

/* From this port of the peer's to this one of ours. */
struct peer peer4(uint16_t port, uint16_t us_port);
struct peer peer6(uint16_t port, uint16_t us_port);

/* A segment with n bytes of data; the numbers move on. */
void peer_says(struct peer *p, uint16_t flags, uint32_t n);
/* Any segment at all, with n bytes of data. */
void peer_sends(const struct peer *p, const struct tcp_hdr *h, uint32_t n);
/* Its next header, for peer_sends. */
struct tcp_hdr peer_header(const struct peer *p, uint16_t flags);
/* The next segment to leave the stack, which must be for it, of these flags, and in sequence.
 * *n, if not NULL: bytes of data. */
const struct tcp_hdr *peer_hears(struct peer *p, uint16_t flags, uint32_t *n);
/* SYN, SYN-ACK, ACK. */
void peer_open(struct peer *p);
/* The stack opens one to it: its SYN is heard, from whatever port. */
void peer_asked(struct peer *p);
/* And answered: SYN-ACK, ACK. */
void peer_accepts(struct peer *p);
/* The stack opens a connection to p. Returns what stack_connect does. */
struct stream *connect_to(const struct peer *p, enum stack_error *error);
/* All of it is said and done: the service ends first, and p is in TIME-WAIT at the stack. */
void peer_parts(struct peer *p);

/* What the service of all listeners was told. */
struct service {
    unsigned opened, ended, reset, writable;
    uint32_t bytes;
    bool end;
    enum stream_code code;
    struct stream *stream; /* the last that opened or was reset */
    bool hold;             /* do not consume */
    bool echo;             /* send it back */
};
extern struct service service;
extern const struct stream_service noting;

/* A listener at this port of every address, with that service; to be called before host_boot or
 * host_configure. */
struct stack_listener *listen_on(const char *name, uint16_t port);

/* The row of this connection. False: there is none. */
bool connection(const struct peer *p, struct ctl_connection *row);
struct ctl_listener listener_row(const char *name);
/* Connections and TIME-WAITs. */
unsigned connections(void);

#endif
