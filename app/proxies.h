/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_PROXIES_H
#define MILLRACE_APP_PROXIES_H

#include "app/config.h"
#include "app/config_fault.h"
#include "app/credentials.h"

/* Whether it asks for passwords, which credentials are for. */
bool proxies_ask_password(const struct config_proxy *p);

/*
 * c->proxy[n] with its rules and limits of users. before: the one that it is to take the place of,
 * or NULL. credentials: what passwords are compared with, or NULL; they outlive it. NULL, with a
 * fault: no memory, or more of something than lib/service allows.
 */
struct proxy *proxies_make(const struct config *c, unsigned n, struct mem *mem,
                           const struct proxy *before, const struct credentials *credentials,
                           struct config_faults *f);

/*
 * What is allowed and yet hardly meant, of c->proxy[n] and of listeners that name it: added to f.
 * credentials: as above.
 */
void proxies_warn(const struct config *c, unsigned n, const struct credentials *credentials,
                  struct config_faults *f);

#endif
