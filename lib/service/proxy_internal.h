/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SERVICE_PROXY_INTERNAL_H
#define MILLRACE_SERVICE_PROXY_INTERNAL_H

/* What the files of a proxy know of each other: proxy.c makes it, proxy_rule.c judges by its rules,
 * proxy_group.c knows addresses, proxy_target.c names, proxy_book.c keeps accounts, proxy_account.c
 * counts on them. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "service/proxy.h"

/* ---- names and addresses ---- */

/* In lower case, without the dot of the root; false: it is none. name is written in any case. */
bool proxy_name_of(struct http_text text, char name[PROXY_NAME_MAX + 1]);

/* An address, and the IPv4 addresses that may be meant by it. */
#define PROXY_FORMS_MAX 5u
unsigned proxy_forms(const struct ip_addr *a, struct ip_addr form[PROXY_FORMS_MAX]);
/* Bits 1 << enum proxy_group of n forms; 0: none of them is special. */
uint32_t proxy_groups(const struct ip_addr *form, unsigned n);
/* The one to name: METADATA, or the lowest; NONE of 0. */
enum proxy_group proxy_groups_first(uint32_t groups);

/* ---- a block made in two passes: measured, then filled ---- */

struct proxy_space {
    char *base; /* NULL: measuring */
    size_t used;
};

/* Room for it, or NULL while measuring. */
void *proxy_space_take(struct proxy_space *s, size_t size, size_t align);
/* A copy with a NUL behind it. */
struct http_text proxy_space_text(struct proxy_space *s, const char *text, size_t n);

/* ---- rules ---- */

struct proxy_rules {
    const struct proxy_made_rule *rule;
    unsigned n;
};

/* 0, or PROXY_E_LIMIT, PROXY_E_NAME. */
int proxy_rules_check(const struct proxy_rule *rule, unsigned n);
/* Of rules that were checked. */
struct proxy_rules proxy_rules_make(struct proxy_space *s, const struct proxy_rule *rule,
                                    unsigned n);

/* ---- accounts ---- */

/* Limits that change while workers look at them. Each is what it is; together they need not have
 * been given together for a moment. */
struct proxy_live_limits {
    _Atomic uint32_t tunnels;
    _Atomic uint32_t rate;
    _Atomic uint64_t bytes;
};

void proxy_limits_store(struct proxy_live_limits *live, const struct proxy_limits *limits);
struct proxy_limits proxy_limits_load(const struct proxy_live_limits *live);

/* What all books of a proxy and of those that took its place have in common. */
struct proxy_root {
    struct proxy_live_limits limits; /* of accounts that have none of their own */
    unsigned books;                  /* that name it; control core */
    uint32_t round;                  /* of proxy_enforce; control core */
};

/* How far tokens are spent: a place on a line along which time runs at `rate` tokens a second. */
struct proxy_meter {
    _Atomic uint64_t at;
};

struct proxy_account {
    _Alignas(64) struct proxy_meter opened;
    struct proxy_meter bytes;
    _Atomic uint32_t tunnels; /* open */
    _Atomic bool own;         /* limits are; else root's hold */
    struct proxy_live_limits limits;
    const struct proxy_root *root;
    /* Control core: */
    unsigned books; /* that name it */
    uint32_t round; /* of proxy_enforce that gave it limits of its own */
    uint8_t n;      /* bytes of its name */
    char name[PROXY_USER_MAX + 1];
};

/* Limits of its own, or NULL: root's. Tokens of a limit that changes are all there. before: root's
 * limits until now. */
void proxy_account_settle(struct proxy_account *a, const struct proxy_limits *own,
                          const struct proxy_limits *before);

/* A table of accounts by name that any thread adds to and nobody takes from. */
struct proxy_book {
    struct mem *mem;
    struct proxy_root *root;
    _Atomic(struct proxy_account *) *slot; /* open addressing, at most half full */
    uint32_t mask;                         /* slots - 1 */
    uint32_t max;                          /* accounts */
    _Atomic uint32_t n;                    /* accounts, and such about to be */
    unsigned proxies;                      /* that name it; control core */
};

/* One for max accounts or more, `known` of which, and nobody's, its caller is about to ask for, and
 * which its caller then names: before's (or NULL) where that has room, else a new one with before's
 * accounts, but for idle ones that nobody configured where there are many. NULL: no memory. Control
 * core. */
struct proxy_book *proxy_book_join(struct mem *mem, uint32_t max, uint32_t known,
                                   struct proxy_book *before);
/* Its caller names it no more. b may be NULL. Control core. */
void proxy_book_leave(struct proxy_book *b);
/* The account of that name, made where there is none; NULL: no room or no memory. */
struct proxy_account *proxy_book_get(struct proxy_book *b, const char *name, size_t n);

/* ---- the proxy ---- */

/* A worker's users of a proxy. */
struct proxy_cell {
    _Alignas(64) _Atomic uint64_t users; /* written by the worker, read by any */
};

/* A user that the configuration names. */
struct proxy_known {
    struct proxy_account *account;
    struct proxy_limits limits;
};

struct proxy {
    struct mem *mem;
    size_t size; /* of the block that begins with it */
    struct proxy_options options;
    struct proxy_rules rules;
    unsigned n_egress_v4; /* addresses of options.egress, which come first */
    struct proxy_known *known;
    unsigned n_known;
    struct proxy_cell *cell; /* by worker */
    struct proxy_book *book;
};

#endif
