/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_ASSETS_H
#define MILLRACE_APP_ASSETS_H

/*
 * What a configuration names that lies in files: certificates, as a TLS context for each listener
 * that has some, users of proxies, and origins. Read whole off the workers, at start and at each
 * reload, and never changed. Control thread only; workers get pointers into it with their
 * listeners.
 *
 * The configuration in force and each letter about it hold a reference. When the last is given up,
 * no worker can begin to use it any more; those that still do count it themselves, and when they
 * have ended it is freed.
 */

#include <stdbool.h>

#include "app/config.h"
#include "app/config_fault.h"
#include "app/memory.h"

struct assets;

/* All that were loaded and are not freed; zeroed at first. */
struct assets_store {
    struct assets *first;
    struct memory memory; /* of all of them: accounts of a proxy's users go to the next one */
};

/* One reference. before: those in force, whose place it is to take; NULL: none are. NULL, with
 * faults: not all of it can be had, or there is no memory. */
struct assets *assets_load(struct assets_store *s, const struct config *c,
                           const struct assets *before, struct config_faults *f);
/* It has taken that place: what proxies allow their users holds from now on. */
void assets_enforce(struct assets *a);
/* What is allowed and yet hardly meant. */
void assets_warn(const struct assets *a, const struct config *c, struct config_faults *f);
struct assets *assets_hold(struct assets *a); /* a, which may be NULL, as below */
void assets_release(struct assets *a);
/* Frees what nobody holds or uses. Returns how many of those that nobody holds are still in use. */
unsigned assets_reap(struct assets_store *s);

/* Of a listener by its number; NULL: it has none. */
struct tls_context *assets_tls(const struct assets *a, unsigned listener);
const struct origin *assets_origin(const struct assets *a, unsigned listener);
const struct proxy *assets_proxy(const struct assets *a, unsigned listener);

/* Is that of some proxy that is loaded? */
bool assets_has_credentials(const struct assets_store *s, const void *credentials);

/* Of an origin by its number: itself, and how many files and links of its directory it left out. */
const struct origin *assets_site(const struct assets *a, unsigned origin, unsigned *left_out);

#endif
