/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BENCH_LOAD_H
#define MILLRACE_BENCH_LOAD_H

/* What tcp_load.c and tls_load.c share. Whatever fails here ends the program with a word about it:
 * status 2 where the command line is wrong, else 1. */

#include <netinet/in.h>
#include <stdint.h>
#include <time.h>

#include "base/tick.h"

/* Where connections go, and the addresses that they come from: `from` (host order) and those after
 * it, so that there are more connections than ports. */
struct load_target {
    struct sockaddr_in to;
    uint32_t from;
    uint32_t sources;
};

/* With what errno says. */
_Noreturn void load_die(const char *what);

tick_t load_clock(clockid_t clock);

/* Words of the command line. */
uint32_t load_number(const char *text, uint32_t least, uint32_t most);
struct load_target load_target(const char *address, const char *port, const char *from,
                               const char *sources);

/* So many connections at once, and some files besides. */
void load_files(uint32_t connections);

/* A socket that connects without blocking; k: which connection, for its source. */
int load_connect(const struct load_target *t, uint64_t k);
/* errno of a socket that may have connected, 0: it has. */
int load_connected(int fd);

#endif
