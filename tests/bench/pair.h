/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BENCH_PAIR_H
#define MILLRACE_BENCH_PAIR_H

/*
 * Two stacks in one process, a client and a server, joined by memory; no device, no driver, no
 * system call. Only the server's calls are timed: packets in, services, packets out, timers.
 * Checksums are its own, as on a device without offloads. One pair at a time. Whatever fails ends
 * the program.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/stack.h"

#define PAIR_BURST   32u
#define PAIR_PACKETS 4096u /* more than the second-level cache holds */
#define PAIR_ROOM    2048u
#define PAIR_CLIENTS 16u         /* addresses of the client's */
#define PAIR_SERVER  0xc0000201u /* 192.0.2.1 */
#define PAIR_CLIENT  0xc0000210u /* and those after it */

#if defined(__x86_64__)
#define PAIR_UNIT "cycles" /* of the time stamp counter */
#else
#define PAIR_UNIT "ns"
#endif

extern const struct mac_addr pair_mac_server;
extern const struct mac_addr pair_mac_client;

struct pair_packet {
    struct pkt pkt;
    uint8_t bytes[PAIR_ROOM];
};

struct pair_side {
    struct mem mem;
    size_t held; /* bytes of mem */
    struct counters counters;
    struct stack *stack;
};

struct pair {
    struct pkt_pool pool;
    struct pair_packet *packet;
    struct pkt *free; /* the last one freed is given first, as pools with a cache do */
    struct pair_side client, server;
    tick_t now;
    double spent; /* the server's, in PAIR_UNIT */
    bool serving; /* the server is at work */
};

_Noreturn void pair_die(const char *what);
void pair_check(bool ok, const char *what);
double pair_clock(void);

/* The server listens; duplicate address detection is over. packets: besides PAIR_PACKETS. */
void pair_open(struct pair *p, unsigned packets, const struct stack_listener *listener,
               uint16_t n_listeners);
/* Everything is given back. */
void pair_close(struct pair *p);

struct pkt *pair_packet(struct pair *p);
/* The server's turn, timed. burst, of n, comes from its device; what is returned goes there. */
unsigned pair_serve(struct pair *p, struct pkt **burst, unsigned n);
/* A microsecond: the client's packets to the server, its answers to the client. */
void pair_turn(struct pair *p);
/* Turns with so much between them. */
void pair_pass(struct pair *p, tick_t time, tick_t step);

/* From the client's k-th address. */
struct stream *pair_connect(struct pair *p, uint16_t port, uint32_t k,
                            const struct stream_service *service, void *user);
/* For services of the client: a reset is a failure. */
void pair_on_reset(struct stream *s, enum stream_code code);

/* v is sorted. */
double pair_median(double *v, unsigned n);
/* A line for tests/bench/run. Less is better. peer: NULL: none. */
void pair_report(const char *bench, const char *name, const char *unit, double value,
                 const char *peer, double peer_value);

#endif
