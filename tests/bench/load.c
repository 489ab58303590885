/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* clock_gettime */

#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

_Noreturn void load_die(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

tick_t load_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (tick_t)t.tv_sec * TICK_SEC + (tick_t)t.tv_nsec;
}

uint32_t load_number(const char *text, uint32_t least, uint32_t most)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*end || n < least || n > most) {
        fprintf(stderr, "load: %s is not a number from %u to %u\n", text, least, most);
        exit(2);
    }
    return (uint32_t)n;
}

static struct in_addr address_of(const char *text)
{
    struct in_addr a;
    if (inet_pton(AF_INET, text, &a) != 1) {
        fprintf(stderr, "load: %s is not an IPv4 address\n", text);
        exit(2);
    }
    return a;
}

struct load_target load_target(const char *address, const char *port, const char *from,
                               const char *sources)
{
    return (struct load_target){
        .to = {.sin_family = AF_INET,
               .sin_addr = address_of(address),
               .sin_port = htons((uint16_t)load_number(port, 1, UINT16_MAX))},
        .from = ntohl(address_of(from).s_addr),
        .sources = load_number(sources, 1, UINT16_MAX)};
}

void load_files(uint32_t connections)
{
    rlim_t files = connections + 64;
    if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){files, files}) != 0)
        errno = 0; /* what we have may be enough */
}

int load_connect(const struct load_target *t, uint64_t k)
{
    int yes = 1;
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(t->from + (uint32_t)(k % t->sources));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        load_die("opening a socket");
    if (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes)) != 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
        load_die("binding");
    if (connect(fd, (const struct sockaddr *)&t->to, sizeof(t->to)) != 0 && errno != EINPROGRESS)
        load_die("connecting");
    return fd;
}

int load_connected(int fd)
{
    int error = 0;
    socklen_t len = sizeof(error);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
    return error;
}
