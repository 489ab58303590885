/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CONFIG_CHECK_H
#define MILLRACE_APP_CONFIG_CHECK_H

#include "app/config.h"
#include "app/config_fault.h"

/* The rules that join several keys. Each value by itself is good already. */
void config_check(const struct config *c, struct config_faults *f);
/* Those of HTTP: listeners, certificates, origins, responses; a part of the above. */
void config_check_http(const struct config *c, struct config_faults *f);
/* Those of CONNECT: listeners, proxies, rules, limits of users; names; another part. */
void config_check_proxy(const struct config *c, struct config_faults *f);

/* An address of a device, a link-local one, which the stack makes, or the unspecified one. */
bool config_is_ours(const struct config *c, const struct ip_addr *a);

/* "there is no origin 'sit' (did you mean 'site'?)", or "in the section 'origins'" */
void config_fault_unknown(struct config_faults *f, const struct config_place *place,
                          const char *noun, const char *section, const char *name,
                          const char *const *known, unsigned n);

#endif
