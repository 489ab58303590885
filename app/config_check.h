/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CONFIG_CHECK_H
#define MILLRACE_APP_CONFIG_CHECK_H

#include "app/config.h"
#include "app/config_fault.h"

/* The rules that join several keys. Each value by itself is good already. */
void config_check(const struct config *c, struct config_faults *f);
/* Those of HTTP: listeners, certificates, origins, responses; a part of the above. */
void config_check_http(const struct config *c, struct config_faults *f);

#endif
