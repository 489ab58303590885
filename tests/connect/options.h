/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONNECT_OPTIONS_H
#define CONNECT_OPTIONS_H

/* What the command line of connect_mux asks for. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define LIST_MAX    64 /* entries of a list; the streams take them in turn */
#define TUNNELS_MAX 100000u

struct list {
    uint32_t value[LIST_MAX];
    uint32_t n; /* 0: not given */
};

struct endpoint {
    struct sockaddr_storage address;
    socklen_t len;
};

struct options {
    struct endpoint proxy;
    struct endpoint listen;
    const char *target; /* HOST:PORT, as :authority has it */
    bool clear;         /* no TLS */
    bool insecure;
    const char *name; /* of the proxy in TLS; NULL: its address */
    const char *cafile;
    const char *certificate;
    const char *key;
    const char *user; /* USER:PASSWORD */
    const char *report;
    uint32_t window;
    uint32_t connection_window;
    uint32_t live;   /* tunnels at a time */
    uint32_t count;  /* tunnels after which it ends; 0: at SIGTERM only */
    uint32_t skip;   /* the first so many do not count for the index */
    uint32_t buffer; /* of local sockets; 0: the kernel's choice */
    bool early;      /* data before the answer */
    struct list weights;
    struct list urgencies;
    struct list frames;
};

/* Ends the program where they are wrong, or only help is asked for. */
void options_read(struct options *o, int argc, char **argv);

/* The list's entry for the stream of that index; `none` if the list was not given. */
uint32_t list_at(const struct list *list, uint32_t index, uint32_t none);

/* Prints the text, with errno's meaning if that is not 0, and exits with 1. */
_Noreturn void fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
