/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_DNS_ANSWER_H
#define MILLRACE_APP_DNS_ANSWER_H

/*
 * What a name server's message says about the addresses of a name, and for how long (RFC 1035 4,
 * RFC 2308): the chain of CNAMEs is followed within the message, in whatever order it is there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/connect.h"

#define DNS_CHAIN_MAX   16u  /* CNAMEs that are followed */
#define DNS_RECORDS_MAX 256u /* of a section that are looked at */

struct dns_answer {
    uint8_t n; /* 0: the name has no such address */
    struct ip_addr addr[CONNECT_ADDRS_MAX];
    bool has_ttl; /* always with addresses; without, where a SOA says it */
    uint32_t ttl; /* seconds, the least of all that was followed */
};

/*
 * name: lower case, without the last dot. The question is taken to be the one that was asked. Keeps
 * the first addresses of the family. False: the message is not well-formed, or its chain of CNAMEs
 * has no end; out is then not valid.
 */
bool dns_answer_parse(const uint8_t *message, size_t len, const char *name, bool v6,
                      struct dns_answer *out);

#endif
