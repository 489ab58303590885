/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_CORPUS_H
#define MILLRACE_TESTS_CORPUS_H

/*
 * Frames that a host must not accept, each with the one drop reason that counts it. The unit tests
 * feed them to a stack; the program `corpus` prints them for whoever feeds them to the real thing.
 */

#include <stdint.h>

#include "stats/drop.h"
#include "wire/addr.h"

#define CORPUS_FRAMES_MAX 4
#define CORPUS_NAME_MAX   64

/* Who is who: the stack's preferred addresses, and a neighbour's, which answers for them. */
struct corpus_ends {
    struct mac_addr us_mac, peer_mac;
    struct ip_addr us4, peer4;
    struct ip_addr us6, peer6;
};

/* Most have one frame. Those about fragments have more, of which all before the last are held. */
struct corpus_case {
    char name[CORPUS_NAME_MAX]; /* "ipv4/cut/17" */
    enum drop why;
    unsigned n; /* by how much the reason grows; no other does */
    unsigned n_frames;
    const uint8_t *frame[CORPUS_FRAMES_MAX];
    uint32_t len[CORPUS_FRAMES_MAX];
};

typedef void (*corpus_take)(void *ctx, const struct corpus_case *c);

/* The cases in order. What a case points at is valid until take returns. */
void corpus_run(const struct corpus_ends *ends, corpus_take take, void *ctx);

#endif
