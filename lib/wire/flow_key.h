/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_FLOW_KEY_H
#define MILLRACE_WIRE_FLOW_KEY_H

/*
 * The two ends of a flow and its protocol, as one value that is hashed and compared by words: what
 * a connection is known by on the wire (RFC 9293 3.4.1 calls it the pair of sockets).
 */

#include <stdint.h>

#include "wire/addr.h"

struct flow_key {
    struct ip_addr local;
    struct ip_addr remote;
    uint16_t local_port;
    uint16_t remote_port;
    uint8_t protocol; /* enum ip_proto */
    uint8_t zero[3];
};

_Static_assert(sizeof(struct flow_key) == 40, "compared as five words, without padding");

static inline struct flow_key flow_key_of(const struct ip_addr *local, uint16_t local_port,
                                          const struct ip_addr *remote, uint16_t remote_port,
                                          uint8_t protocol)
{
    return (struct flow_key){.local = *local,
                             .remote = *remote,
                             .local_port = local_port,
                             .remote_port = remote_port,
                             .protocol = protocol};
}

#endif
