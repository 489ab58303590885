/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_HTTP2_PRIORITY_FIELD_H
#define MILLRACE_HTTP2_PRIORITY_FIELD_H

/* The value of a `priority` field or of PRIORITY_UPDATE (RFC 9218 4): a dictionary of structured
 * fields (RFC 8941 3.2), of which u and i mean something to us. */

#include <stdbool.h>

#include "sched/sched.h"
#include "stream/http.h"

/* Sets p->urgency and p->incremental where it says them; what it says else, out of range, or of
 * another type, is ignored. False: it is no dictionary, and p as it was. */
bool h2_priority_field(struct http_text value, struct sched_priority *p);

#endif
