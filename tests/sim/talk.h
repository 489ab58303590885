/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_TALK_H
#define MILLRACE_SIM_TALK_H

/*
 * Conversations between services on two hosts: so many bytes each way, each of which is held
 * against what was sent; then both directions end. A wrong byte, one too many, or a callback out of
 * turn fails the run.
 *
 *     struct talks *t = talks_create(&s);
 *     struct sim_host_config c = plan_host(2);
 *     talks_listen(&c);
 *     ...
 *     struct talk *k = talk_open(t, client, server, &(struct talk_plan){.family = 0, ...});
 *     sim_run(...);
 *     ck_assert(talk_is_over(k));
 */

#include "sim/host.h"
#include "sim/node.h"

#define TALKS_MAX 4096u
#define TALK_PORT 4242u

/* What one end does. All zero: sends nothing, reads at once, ends at once. */
struct talk_way {
    uint64_t bytes;  /* to send */
    uint32_t chunk;  /* bytes of a write, at most; 0: 16 KiB */
    tick_t think;    /* between the arrival of data and its consumption; 0: at once */
    bool packets;    /* writes packets, not promises of a pattern */
    bool last;       /* ends its direction only after the other has ended */
    uint64_t answer; /* sends so many bytes, of its `bytes`, for each `ask` that came; 0: all */
    uint64_t ask;
};

struct talk_plan {
    unsigned family;        /* even: IPv4 */
    unsigned worker;        /* of the client */
    struct talk_way way[2]; /* of the client, of the server */
};

struct talk_end {
    struct talk *talk;
    struct sim_host *host;
    struct stream *stream; /* NULL: not yet, or over */
    struct talk_way way;
    uint32_t salt; /* of the bytes that it sends */
    uint64_t written;
    uint64_t got;
    uint32_t unread;
    bool opened, end, ended, reset;
    enum stream_code code;
    tick_t opened_at;
    tick_t over_at;
    struct timer timer; /* think is over */
};

struct talk {
    struct talks *talks;
    struct ip_addr from; /* the client's */
    uint16_t port;
    tick_t asked; /* when it was opened */
    struct talk_end end[2];
};

struct talks {
    struct node node;
    void (*progress)(struct talk_end *e); /* more has come; NULL: nobody asks */
    uint32_t n;
    struct talk *talk[TALKS_MAX];
};

struct talks *talks_create(struct sim *s);
/* The host listens for them on TALK_PORT. One talks at a time. */
void talks_listen(struct sim_host_config *c);
/* The host is about to be switched off or rebooted: its ends are gone without a word. */
void talks_forget(struct talks *t, const struct sim_host *h);

struct talk *talk_open(struct talks *t, struct sim_host *client, struct sim_host *server,
                       const struct talk_plan *plan);
/* Both ends were told that all has ended in order. */
bool talk_is_over(const struct talk *k);
bool talks_are_over(const struct talks *t);

#endif
