/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SERVICE_ORIGIN_CONDITION_H
#define MILLRACE_SERVICE_ORIGIN_CONDITION_H

/* Conditional requests (RFC 9110 13) for what an origin has. */

#include <stdbool.h>
#include <stdint.h>

#include "service/origin_item.h"
#include "stream/http.h"

/* Which of the fields a request has, so that one that has none is told by one look. */
enum origin_condition {
    ORIGIN_IF_MATCH = 1u << 0,
    ORIGIN_IF_NONE_MATCH = 1u << 1,
    ORIGIN_IF_MODIFIED_SINCE = 1u << 2,
    ORIGIN_IF_UNMODIFIED_SINCE = 1u << 3,
    ORIGIN_RANGE = 1u << 4,
    ORIGIN_IF_RANGE = 1u << 5,
};

unsigned origin_conditions(const struct http_head *h);

/* 200: they hold, or there are none; 304 or 412. now: Unix seconds, 0 where they are not known. */
uint16_t origin_conditions_met(const struct http_head *h, unsigned conditions,
                               const struct origin_item *item, uint64_t now);

/* Is the Range field to be looked at? */
bool origin_range_applies(const struct http_head *h, unsigned conditions,
                          const struct origin_item *item, uint64_t now);

#endif
