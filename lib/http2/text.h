/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_HTTP2_TEXT_H
#define MILLRACE_HTTP2_TEXT_H

/*
 * Which bytes the names and values of a head may consist of. All in one go over eight bytes at a
 * time where the bytes are the usual ones.
 */

#include <stdbool.h>
#include <stdint.h>

#include "stream/http.h"

/* A token (RFC 9110 5.6.2) without upper case (RFC 9113 8.2.1). */
bool h2_text_is_name(struct http_text t);
/* No control characters but HTAB, neither SP nor HTAB first or last (RFC 9113 8.2.1, RFC 9110 5.5);
 * may be empty. */
bool h2_text_is_value(struct http_text t);
bool h2_text_is_token(struct http_text t);
/* RFC 3986 3.1 */
bool h2_text_is_scheme(struct http_text t);
/* "/" and what may follow it, the query too: no control characters, SP or "#". Looser than RFC 3986
 * 3.3, since user agents leave other characters as they were typed. */
bool h2_text_is_path(struct http_text t);

/* host [":" port], without userinfo (RFC 3986 3.2, RFC 9110 4.2). port.p is NULL where there is no
 * colon. */
struct h2_authority {
    struct http_text host;
    struct http_text port;
};
/* False: it is none. port is empty or a number up to 65,535. An IPv6 address without its brackets
 * is all host, for h2load and Node's http2 send it so, though nobody can tell its port. */
bool h2_text_is_authority(struct http_text t, struct h2_authority *a);

/* ASCII letters of either case are equal. */
bool h2_text_eq_nocase(struct http_text a, struct http_text b);

#endif
