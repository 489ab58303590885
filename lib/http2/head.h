/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_HTTP2_HEAD_H
#define MILLRACE_HTTP2_HEAD_H

/*
 * From a list of fields to a head, by the rules of RFC 9113 8.1 to 8.5 and RFC 8441 4: names and
 * values (8.2.1), connection-specific fields (8.2.2), crumbs of cookie (8.2.3), pseudo-header
 * fields and their order (8.3), CONNECT (8.5), content-length, :authority and host. What is wrong
 * makes a message malformed (8.1.1), for which the caller resets the stream.
 */

#include <stdbool.h>
#include <stdint.h>

#include "http2/hpack.h"
#include "stream/http.h"

enum h2_block { H2_BLOCK_REQUEST, H2_BLOCK_RESPONSE, H2_BLOCK_TRAILERS };

/* X(enumerator, name): why a list of fields is malformed. */
#define H2_HEAD_FAULTS(X)                                \
    X(NAME, "field name")                                \
    X(VALUE, "field value")                              \
    X(CONNECTION_FIELD, "connection-specific field")     \
    X(PSEUDO_ORDER, "pseudo-header field after another") \
    X(PSEUDO_UNKNOWN, "unknown pseudo-header field")     \
    X(PSEUDO_TWICE, "pseudo-header field twice")         \
    X(PSEUDO_MISSING, "pseudo-header field missing")     \
    X(METHOD, "method")                                  \
    X(SCHEME, "scheme")                                  \
    X(AUTHORITY, "authority")                            \
    X(PATH, "path")                                      \
    X(PROTOCOL, "protocol")                              \
    X(STATUS, "status")                                  \
    X(CONTENT_LENGTH, "content-length")

enum h2_head_fault {
    H2_HEAD_OK,
#define X(id, name) H2_HEAD_##id,
    H2_HEAD_FAULTS(X)
#undef X
        H2_HEAD_FAULT_END
};

/* "" of H2_HEAD_OK. */
const char *h2_head_fault_name(enum h2_head_fault f);

/*
 * *head points into f, which may be rearranged: pseudo-header fields, host and content-length leave
 * the list, crumbs of cookie become one field. extended: we have sent
 * SETTINGS_ENABLE_CONNECT_PROTOCOL. Of trailers only head->field and n_fields are set. A list that
 * is f->too_large is looked at as far as it was kept.
 */
enum h2_head_fault h2_head_parse(struct h2_fields *f, enum h2_block kind, bool extended,
                                 struct http_head *head);

#endif
