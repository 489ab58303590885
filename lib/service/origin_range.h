/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SERVICE_ORIGIN_RANGE_H
#define MILLRACE_SERVICE_ORIGIN_RANGE_H

/*
 * The Range field (RFC 9110 14.2), of bytes:
 *
 *   bytes=0-499            the first 500
 *   bytes=500-             all from there on
 *   bytes=-500             the last 500
 *   bytes=0-0, 500-, -1    several
 */

#include <stdint.h>

#include "stream/http.h"

enum origin_range_result {
    ORIGIN_RANGE_WHOLE, /* another unit, malformed, or not to be answered in one part: ignored */
    ORIGIN_RANGE_PART,  /* *range is it */
    ORIGIN_RANGE_NONE,  /* nothing of it is there: 416 */
};

struct origin_range {
    uint32_t first;
    uint32_t len; /* > 0 */
};

/* Of content of that length. range is written with ORIGIN_RANGE_PART only. */
enum origin_range_result origin_range_parse(struct http_text value, uint32_t length,
                                            struct origin_range *range);

#endif
