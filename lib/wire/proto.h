/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_PROTO_H
#define MILLRACE_WIRE_PROTO_H

/* IP protocol numbers, which are IPv6 next-header values too (IANA, "Assigned Internet Protocol
 * Numbers"). */
enum ip_proto {
    IP_PROTO_HOP_BY_HOP = 0,
    IP_PROTO_ICMP = 1,
    IP_PROTO_TCP = 6,
    IP_PROTO_UDP = 17,
    IP_PROTO_ROUTING = 43,
    IP_PROTO_FRAGMENT = 44,
    IP_PROTO_AH = 51,
    IP_PROTO_ICMPV6 = 58,
    IP_PROTO_NONE = 59, /* RFC 8200 4.7 */
    IP_PROTO_DEST_OPTIONS = 60,
    IP_PROTO_SCTP = 132,
};

#endif
