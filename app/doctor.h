/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_DOCTOR_H
#define MILLRACE_APP_DOCTOR_H

/*
 * What is right and what is wrong with this machine for a given configuration, before a start: each
 * finding has a level, a text and, where something is wrong, what to type. Nothing is changed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "app/config.h"

#define DOCTOR_LEVELS(X)                                                     \
    X(OK, "ok")                                                              \
    X(WARN, "warn") /* starts, but slower or with less than was asked for */ \
    X(FAIL, "fail") /* does not start, or not with this device */

enum doctor_level {
#define X(id, name) DOCTOR_##id,
    DOCTOR_LEVELS(X)
#undef X
};

struct doctor_finding {
    enum doctor_level level;
    char subject[48]; /* "hugepages", "device wan0" */
    char *text;
    char *fix; /* what to type, or NULL */
};

struct doctor {
    const char *root; /* before each path under /sys, /proc, /dev and /usr: "" but in tests */
    const struct config *config;
    struct doctor_finding *finding;
    size_t n, room;
};

/* All findings of both families. */
void doctor_examine(struct doctor *d);
void doctor_clear(struct doctor *d);
enum doctor_level doctor_worst(const struct doctor *d);
void doctor_print(const struct doctor *d, bool json, FILE *out);

/* Adds a finding; fix may be NULL. */
void doctor_add(struct doctor *d, enum doctor_level level, const char *subject, const char *fix,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The families: doctor_host.c and doctor_device.c. */
void doctor_cpus(struct doctor *d);
void doctor_memory(struct doctor *d);
void doctor_clock(struct doctor *d);
void doctor_rights(struct doctor *d);
void doctor_plugins(struct doctor *d);
void doctor_device(struct doctor *d, const struct config_device *dev);

/* The first line of a file of the kernel's, without its end. False where there is none. */
bool doctor_read(const struct doctor *d, char *line, size_t room, const char *path, ...)
    __attribute__((format(printf, 4, 5)));
/* A whole number in a file, or missing. */
long doctor_read_number(const struct doctor *d, long missing, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
bool doctor_exists(const struct doctor *d, const char *path, ...)
    __attribute__((format(printf, 2, 3)));
/* Entries of a directory whose names begin with prefix. */
unsigned doctor_entries(const struct doctor *d, const char *prefix, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/* The last part of where a link points, "" where there is none. */
void doctor_link(const struct doctor *d, char *name, size_t room, const char *path, ...)
    __attribute__((format(printf, 4, 5)));

struct doctor_netlink {
    bool xdp;            /* an XDP program is attached */
    bool peer_elsewhere; /* its lower or other end is in another network namespace */
};

/* False: there is no such interface. doctor_link.c */
bool doctor_netlink(const char *interface, struct doctor_netlink *to);

/* Is n in a kernel list such as "0-3,8"? */
bool doctor_in_list(const char *list, unsigned n);

#endif
