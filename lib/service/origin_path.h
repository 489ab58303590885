/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SERVICE_ORIGIN_PATH_H
#define MILLRACE_SERVICE_ORIGIN_PATH_H

/* Paths of an origin: as they are asked for, and as they are looked up. */

#include <stdbool.h>
#include <stdint.h>

#include "stream/http.h"

#define ORIGIN_PATH_MAX 8192u /* bytes of a request's path, the query included */

/*
 * Undoes percent-encoding (RFC 3986 2.1): writes to out, which has room for path.n bytes, and
 * returns how many, or -1 where the path is refused: not absolute; a bad escape; a dot segment,
 * encoded or not; an encoded slash; a backslash, which some take for one; '#'; control characters.
 */
int origin_path_decode(char *out, struct http_text path);

/* May an entry have this decoded path? It is one that origin_path_decode gives, and has no empty
 * segment but the last. */
bool origin_path_ok(struct http_text path);

/* Is the path also asked for as it is, whatever client asks? */
bool origin_path_plain(struct http_text path);

#endif
