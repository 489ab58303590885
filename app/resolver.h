/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_RESOLVER_H
#define MILLRACE_APP_RESOLVER_H

/*
 * Addresses of names, for workers that cannot wait for them. c-ares asks the servers; what is here
 * is a cache with bounds (RFC 2308 for what is not there), the `hosts` of the configuration, which
 * win, and who may ask how much. Names are absolute: neither /etc/hosts nor a search list is looked
 * at.
 *
 * Control thread only. One descriptor stands for all sockets: when it can be read, and at the
 * deadline, resolver_run is called. Virtual time (now) is what entries live by; how long a server
 * may take is measured by c-ares, by the clock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "app/questions.h"

#define RESOLVER_SERVERS_MAX    8u
#define RESOLVER_HOSTS_MAX      4096u
#define RESOLVER_HOST_ADDRS_MAX (2 * CONNECT_ADDRS_MAX)
#define RESOLVER_CACHE_MAX      65536u
#define RESOLVER_QUERIES_MAX    4096u
/* Questions of one client that wait for an answer, their own query's or another's: half of what a
 * worker may have under way, so that the names of one never keep out those of all others. */
#define RESOLVER_WAITING_MAX (QUESTIONS_MAX / 2)

struct resolver_server {
    struct ip_addr addr;
    uint16_t port; /* 0: 53 */
};

/* What an operator may choose; each key of the section `resolver` is one of these. Zero takes the
 * default named in the comment. */
struct resolver_settings {
    struct resolver_server server[RESOLVER_SERVERS_MAX]; /* in the order to be asked */
    uint32_t n_servers;      /* 0: those of the system's resolv.conf, read at each configure */
    uint32_t timeout_ms;     /* of a server's first try, longer at the next: 2,000; 10..60,000 */
    uint32_t tries;          /* of each server: 2; 1..10 */
    uint32_t cache_entries;  /* names by family: 4,096; 1..RESOLVER_CACHE_MAX */
    uint32_t min_ttl_s;      /* an answer is kept at least so long: 0; ..86,400 */
    uint32_t max_ttl_s;      /* and at most so long: 3,600; 1..604,800 */
    uint32_t negative_ttl_s; /* that a name has no address, where no SOA says: 30; 1..86,400 */
    uint32_t queries;        /* under way: 512; 1..RESOLVER_QUERIES_MAX */
    uint32_t client_queries; /* under way for one /24 or /56: 64; 1..RESOLVER_QUERIES_MAX */
};

/* s with the defaults in place of zeroes. False: a value outside of its range, or min_ttl_s above
 * max_ttl_s. */
bool resolver_settings_fill(struct resolver_settings *s);

/* A name whose addresses the operator says. Of a family of which there is none, the name has none.
 */
struct resolver_host {
    char name[PROXY_NAME_MAX + 1];
    struct ip_addr addr[RESOLVER_HOST_ADDRS_MAX]; /* of each family in the order to be tried */
    uint32_t n_addrs;
};

/* X(enumerator, name, what is counted) */
#define RESOLVER_COUNTERS(X)                                                                    \
    X(QUESTIONS, "questions", "questions of workers")                                           \
    X(HOSTS, "hosts", "answered by the configuration's hosts")                                  \
    X(SPECIAL, "special", "answered without asking: a special-use name, or none at all")        \
    X(HITS, "hits", "answered from the cache, with addresses")                                  \
    X(NEGATIVE_HITS, "negative_hits", "answered from the cache: no address, or a failure")      \
    X(JOINED, "joined", "that waited for a query that was under way")                           \
    X(QUERIES, "queries", "queries begun")                                                      \
    X(RESOLVED, "resolved", "queries that brought addresses")                                   \
    X(NO_NAME, "no_name", "queries that found no name, or no address of it")                    \
    X(TIMEOUTS, "timeouts", "queries that no server answered in time")                          \
    X(ERRORS, "errors", "queries that servers refused or could not answer, or not in order")    \
    X(BUSY_QUERIES, "busy_queries", "questions refused: too many queries under way")            \
    X(BUSY_CLIENT, "busy_client", "questions refused: too many queries of the client's prefix") \
    X(BUSY_WAITING, "busy_waiting", "questions refused: too many of the client's prefix wait")  \
    X(BUSY_MEMORY, "busy_memory", "questions refused: no memory")                               \
    X(EVICTED, "evicted", "cached names that made room for others")                             \
    X(LATENCY_US, "latency_us", "microseconds that queries took, in sum")

enum resolver_counter {
#define X(id, name, text) RESOLVER_##id,
    RESOLVER_COUNTERS(X)
#undef X
        RESOLVER_COUNTER_END
};

struct resolver_stats {
    uint64_t count[RESOLVER_COUNTER_END];
    uint32_t cached;    /* now */
    uint32_t under_way; /* queries, now */
    uint32_t waiting;   /* questions, now */
};

/* A name that is cached or asked for. */
struct resolver_row {
    const char *name; /* lower case, without the last dot; valid during the call */
    bool asking;      /* a query is under way: what follows is not valid */
    tick_t left;      /* until it is forgotten */
    const struct connect_answer *answer;
};

struct resolver;

/* What it gives to whoever asked, within resolver_ask or resolver_run, or within
 * resolver_configure. Must not call back in. */
typedef void resolver_answer(void *ctx, unsigned worker, const struct question_answer *a);

/* settings: filled. host: of any order; copied, as settings are. NULL: no memory, or no sockets. */
struct resolver *resolver_create(struct mem *mem, const struct resolver_settings *settings,
                                 const struct resolver_host *host, uint32_t n_hosts,
                                 resolver_answer *answer, void *ctx);
/* Who waits is not answered. r may be NULL. */
void resolver_destroy(struct resolver *r);

/* Others from now on. What is under way is asked again of the servers there are now; where they
 * are others than before, nothing cached is kept. False: no memory, and all is as it was. */
bool resolver_configure(struct resolver *r, const struct resolver_settings *settings,
                        const struct resolver_host *host, uint32_t n_hosts, tick_t now);

/* q: of kind QUESTION_NAME, copied. Answered now or later, exactly once. */
void resolver_ask(struct resolver *r, unsigned worker, const struct question *q, tick_t now);

int resolver_fd(const struct resolver *r); /* to be watched for input, the same for ever */
tick_t resolver_deadline(const struct resolver *r, tick_t now);
void resolver_run(struct resolver *r, tick_t now);

void resolver_stats(const struct resolver *r, struct resolver_stats *s);
/* Tells of names from *cursor (0: the first) on, until `each` returns false; *cursor is where to go
 * on, UINT32_MAX after the last. */
void resolver_list(const struct resolver *r, uint32_t *cursor,
                   bool (*each)(void *ctx, const struct resolver_row *row), void *ctx, tick_t now);

#endif
