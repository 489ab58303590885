/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_MLD_H
#define MILLRACE_WIRE_MLD_H

/*
 * Multicast listener discovery, versions 1 (RFC 2710) and 2 (RFC 3810), as a host speaks it: ICMPv6
 * messages under a hop-by-hop header with a router alert.
 *
 *         0              8               16                      31
 *        +---------------+---------------+-----------------------+
 *      0 |     type      |     code      |       checksum        |
 *        +---------------+---------------+-----------------------+
 *      4 |  max response delay (query)   |       reserved        |
 *        +-------------------------------+-----------------------+
 *      8 |               multicast address (16)                  |   130 query, 131 report of
 *        +-------------------------------+-----------------------+   version 1, 132 done: 24 bytes
 *     24 |  flags, QRV   |     QQIC      |   number of sources   |   version 2's query only
 *        +---------------+---------------+-----------------------+
 *     28 |               sources (16 each)                       |
 *        +-------------------------------------------------------+
 *
 *        +---------------+---------------+-----------------------+
 *      0 |     143       |   reserved    |       checksum        |   report of version 2
 *        +---------------+---------------+-----------------------+
 *      4 |           reserved            |   number of records   |
 *        +---------------+---------------+-----------------------+
 *      8 |  record type  |   aux words   |   number of sources   |   each record; without sources
 *        +---------------+---------------+-----------------------+   20 bytes
 *     12 |               multicast address (16)                  |
 *        +-------------------------------------------------------+
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"
#include "wire/addr.h"
#include "wire/ipv6.h"

#define MLD_HOP_LIMIT   1u /* RFC 3810 5 */
#define MLD1_LEN        24u
#define MLD2_RECORD_LEN 20u

enum mld_type {
    MLD_QUERY = 130,
    MLD1_REPORT = 131,
    MLD1_DONE = 132,
    MLD2_REPORT = 143,
};

/* Without sources, which we never have: to exclude none is to listen, to include none not to. */
enum mld_record_type {
    MLD_IS_EXCLUDE = 2, /* the state, asked for */
    MLD_TO_INCLUDE = 3, /* it has changed */
    MLD_TO_EXCLUDE = 4,
};

struct mld_query {
    struct ip_addr group; /* ::, a general query: all of them */
    tick_t max_delay;     /* of the answer */
    bool v1;
};

struct mld_record {
    enum mld_record_type type;
    struct ip_addr group;
};

/*
 * at: the ICMPv6 header of a message of type MLD_QUERY, whose checksum is good. ip: the header it
 * came under. Validates RFC 3810 5.1.14, 6.2 and 8.1. Returns the length of what was read. Errors:
 * MLD_SHORT, MLD_INVALID.
 */
int mld_query_parse(const uint8_t *at, size_t len, const struct ipv6_hdr *ip, struct mld_query *q);

/* Bytes that mld2_report_emit writes. */
static inline size_t mld2_report_len(unsigned n)
{
    return 8 + (size_t)n * MLD2_RECORD_LEN;
}

/* The ICMPv6 message, its checksum done. Returns mld2_report_len(n). */
size_t mld2_report_emit(const struct mld_record *r, unsigned n, const struct ip_addr *src,
                        const struct ip_addr *dst, uint8_t *out);

/* The same for MLD1_REPORT and MLD1_DONE. Returns MLD1_LEN. */
size_t mld1_emit(enum mld_type type, const struct ip_addr *group, const struct ip_addr *src,
                 const struct ip_addr *dst, uint8_t *out);

#endif
