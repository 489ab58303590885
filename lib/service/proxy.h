/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SERVICE_PROXY_H
#define MILLRACE_SERVICE_PROXY_H

/*
 * What a proxy (service/connect.h) may do and for whom: rules, addresses that nobody reaches, users
 * and their limits, addresses to speak from, timeouts. Made on the control core from the
 * configuration, never changed from then on, shared by all workers; a reload makes another, which
 * takes over the accounts of users of the same name, so that what they have open still counts.
 *
 * Ends as an origin does (service/origin.h): workers count their users of it; the control core
 * frees it when nobody names it any more and all counts are 0.
 *
 * Who may go where. The rules are looked through in order for each address that a name leads to,
 * and the first that matches decides; where none does, the answer is no. A rule matches where each
 * of its lists that is not empty holds something that matches. Before the rules come the groups of
 * addresses below, which no rule opens but `permit` does. A network that a rule denies is denied in
 * every form of its addresses (see proxy_group_of); one that a rule allows is allowed as written.
 *
 * Rules are looked through one after the other: a few nanoseconds each, and the longer its lists.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/tick.h"
#include "stream/http.h"
#include "wire/addr.h"

#define PROXY_NAME_MAX    253u /* RFC 1035 2.3.4, as text */
#define PROXY_WORKERS_MAX 64u
#define PROXY_RULES_MAX   4096u
#define PROXY_EGRESS_MAX  64u
#define PROXY_USERS_MAX   65536u
#define PROXY_USER_MAX    63u /* bytes of a user's name */

/* Addresses that are not dialled unless permitted by this name. X(enumerator, name, meaning) */
#define PROXY_GROUPS(X)                                                                         \
    X(LOOPBACK, "loopback", "127.0.0.0/8, ::1")                                                 \
    X(PRIVATE, "private", "10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7, fec0::/10")        \
    X(LINK_LOCAL, "link-local", "169.254/16, fe80::/10")                                        \
    X(METADATA, "metadata", "169.254.169.254, fd00:ec2::254 and such of cloud providers")       \
    X(MULTICAST, "multicast", "224/4, ff00::/8, 255.255.255.255")                               \
    X(RESERVED, "reserved", "0/8, 192.0.0/24, 192.0.2/24, 198.18/15, 240/4, 2001:db8::/32 ...") \
    X(OWN, "own", "the appliance's own addresses")

enum proxy_group {
#define X(id, name, text) PROXY_GROUP_##id,
    PROXY_GROUPS(X)
#undef X
        PROXY_GROUP_END,
    PROXY_GROUP_NONE = PROXY_GROUP_END /* an address like any other */
};

const char *proxy_group_name(enum proxy_group g);
/* The group of a, never OWN. An IPv4 address that is written as an IPv6 one (mapped ::ffff:0:0/96,
 * compatible ::/96, NAT64 64:ff9b::/96 and 64:ff9b:1::/48, 6to4 2002::/16, Teredo's) is judged by
 * both. METADATA comes before LINK_LOCAL and PRIVATE. */
enum proxy_group proxy_group_of(const struct ip_addr *a);
/* Is a, or an IPv4 address that it is written for, one of those? */
bool proxy_stands_for(const struct ip_addr *a, bool (*those)(void *ctx, const struct ip_addr *a),
                      void *ctx);

/* ---- the target ---- */

/* Of an :authority (RFC 9113 8.5, RFC 3986 3.2): where a tunnel is to lead. */
struct proxy_target {
    char name[PROXY_NAME_MAX + 1]; /* lower case, no dot at the end; as it came where literal */
    bool literal;                  /* addr is it */
    struct ip_addr addr;
    uint16_t port;
};

/* False: no port or 0, user information, a name that is none (RFC 952, RFC 1123 2.1, underscores
 * allowed; one whose last label is a number or 0x... is none, so that no resolver takes it for an
 * address), an address that is none, a zone. */
bool proxy_target_of(struct http_text authority, struct proxy_target *t);

/* ---- making one ---- */

struct proxy_port_range {
    uint16_t first;
    uint16_t last;
};

/* Texts are copied. */
struct proxy_rule {
    bool allow;
    const char *const *user; /* "*": any that is known; "-": nobody in particular */
    unsigned n_users;
    const char *const *name; /* "example.com": it and all below it; "=example.com": only it */
    unsigned n_names;        /* a target that was given as an address matches none */
    const struct ip_prefix *prefix; /* of the address that is dialled */
    unsigned n_prefixes;
    const struct proxy_port_range *port;
    unsigned n_ports;
};

/* Zero: no limit. */
struct proxy_limits {
    uint32_t tunnels; /* at once */
    uint32_t rate;    /* new ones a second, as many at once */
    uint64_t bytes;   /* a second, both ways together */
};

struct proxy_user {
    const char *name;
    struct proxy_limits limits;
};

struct proxy_options {
    const char *name;  /* in proxy-status (RFC 9209 2) and logs */
    const char *realm; /* of Basic (RFC 7617); NULL: `name` */
    bool basic;        /* users show a name and a password */
    bool certificate;  /* users are known by their certificate: http_peer.user */
    /* With neither, all are nobody in particular. With both, a certificate will do. */
    uint32_t permit; /* bits 1 << enum proxy_group */
    const struct proxy_rule *rule;
    unsigned n_rules;
    const struct ip_addr *egress; /* addresses of ours to dial from; none of a family: any */
    unsigned n_egress;
    struct proxy_limits limits; /* of each user that has none of its own */
    const struct proxy_user *user;
    unsigned n_users;
    tick_t connect_timeout;   /* from the request to the connection; 0: 10 s */
    tick_t idle_timeout;      /* no byte either way; 0: 5 min */
    tick_t half_open_timeout; /* the same with one direction ended; 0: 1 min */
    tick_t lifetime;          /* of a tunnel; 0: none */
    const void *credentials;  /* what connect_env.verify is given */
};

struct proxy;

enum proxy_error {
    PROXY_E_MEMORY = -1,
    PROXY_E_LIMIT =
        -2, /* more rules, users or addresses than the bounds above, or too long a name */
    PROXY_E_NAME = -3, /* a name in a rule that is none */
};

/* before: the one that it takes the place of, or NULL. NULL: *error. mem: any thread's, as workers
 * make accounts for users that they see first. */
struct proxy *proxy_create(struct mem *mem, const struct proxy_options *o,
                           const struct proxy *before, enum proxy_error *error);
/* It has taken the place of the one before: its limits hold for all accounts from now on, also for
 * tunnels that are open. Until then those of the one before do, so that a reload that fails behind
 * proxy_create changes nothing. Control core. */
void proxy_enforce(struct proxy *p);
void proxy_destroy(struct proxy *p);         /* p may be NULL */
uint64_t proxy_users(const struct proxy *p); /* any thread */
void proxy_hold(const struct proxy *p, uint16_t worker);
void proxy_release(const struct proxy *p, uint16_t worker);

/* As given, with the defaults. Its texts are the proxy's; its rules and users are not in it. */
const struct proxy_options *proxy_options(const struct proxy *p);

/* ---- asking it ---- */

enum proxy_verdict {
    PROXY_ALLOW,
    PROXY_DENY,       /* by a rule, or none matched */
    PROXY_PROHIBITED, /* the address is of a group that is not permitted: *group says which */
    PROXY_DEPENDS,    /* on the address */
};

/* What can be said before the address is known. user: NULL or "" is nobody in particular. */
enum proxy_verdict proxy_check_name(const struct proxy *p, const char *user,
                                    const struct proxy_target *t);
/* own: does addr stand for one of the appliance's? group may be NULL. Never DEPENDS. */
enum proxy_verdict proxy_check(const struct proxy *p, const char *user,
                               const struct proxy_target *t, const struct ip_addr *addr, bool own,
                               enum proxy_group *group);

/* Sets *to an address of the family of `target` from the egress pool, the same for the same hash as
 * long as the pool is; false: there is none, so any will do. */
bool proxy_egress(const struct proxy *p, const struct ip_addr *target, uint64_t hash,
                  struct ip_addr *to);

/* ---- users' accounts: any thread ---- */

struct proxy_account;

/* Opens a tunnel of the user on its account, which stays until proxy_close as long as the worker
 * holds p. NULL: at its limit of tunnels or of new ones (*rate), or no memory for one more account,
 * or no room, or too long a name (as *rate false). now: of one clock in all workers. */
struct proxy_account *proxy_open(const struct proxy *p, const char *user, tick_t now, bool *rate);
void proxy_close(struct proxy_account *a);
#define PROXY_TAKE_MIN 4096u
/* So many bytes may pass now: takes up to `want` (> 0) of them from the account, but no fewer than
 * PROXY_TAKE_MIN, where that many are wanted; without a limit, all. 0: ask again at *again. A
 * quarter of a second's bytes, or 64 KiB, may pass at once. */
uint32_t proxy_take(struct proxy_account *a, uint32_t want, tick_t now, tick_t *again);
/* Bytes that were taken and not used. */
void proxy_give_back(struct proxy_account *a, uint32_t n);

#endif
