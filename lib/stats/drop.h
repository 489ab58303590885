/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STATS_DROP_H
#define MILLRACE_STATS_DROP_H

/*
 * Every packet that is not delivered, answered or forwarded is counted once, under one of these
 * names: the same in the counters, the command line, the JSON and the metrics. The parsers' errors
 * come first, so that `(enum drop)-error` is a parser's reason.
 *
 * X(enumerator, name, meaning)
 */

#include "wire/error.h"

#define DROP_REASONS(X)                                                                          \
    WIRE_ERRORS(X)                                                                               \
    X(ETHER_TYPE, "ether_type", "neither IPv4, IPv6 nor ARP")                                    \
    X(ETHER_DESTINATION, "ether_destination", "not for this device's address")                   \
    X(ETHER_SOURCE, "ether_source", "source is a group address")                                 \
    X(VLAN, "vlan", "tag (or its absence) does not match the device")                            \
    X(ARP_NOT_OURS, "arp_not_ours", "ARP about an address that is not ours")                     \
    X(ARP_CONFLICT, "arp_conflict", "ARP from another host that claims our address")             \
    X(IP_SOURCE, "ip_source", "source that a host may not send from, or :: where not allowed")   \
    X(IP_DESTINATION, "ip_destination", "destination is not one of our addresses")               \
    X(IP_SOURCE_ROUTE, "ip_source_route", "IPv4 packet with a source route")                     \
    X(IP_TENTATIVE, "ip_tentative", "destination is still under duplicate address detection")    \
    X(IP_PROTOCOL, "ip_protocol", "no such protocol here")                                       \
    X(FRAG_OVERLAP, "frag_overlap",                                                              \
      "fragments overlap or disagree on the end; all are discarded (RFC 5722)")                  \
    X(FRAG_DUPLICATE, "frag_duplicate", "fragment that was there already")                       \
    X(FRAG_ECN, "frag_ecn", "marked and unmarkable fragments of one datagram (RFC 3168 5.3)")    \
    X(FRAG_TOO_LONG, "frag_too_long", "fragments add up to more than 65,535 bytes")              \
    X(FRAG_TIMEOUT, "frag_timeout", "fragments not complete in time")                            \
    X(FRAG_LIMIT, "frag_limit", "memory or count bound of reassembly met")                       \
    X(FRAG_TINY, "frag_tiny", "first fragment without its whole header chain (RFC 7112)")        \
    X(ICMP_TYPE, "icmp_type", "ICMP message of no use here")                                     \
    X(ICMP_ECHO_OFF, "icmp_echo_off", "echo request while echo is off")                          \
    X(ICMP_ECHO_GROUP, "icmp_echo_group", "IPv4 echo request to a group (RFC 1122 3.2.2.6)")     \
    X(ICMP_ERROR_UNMATCHED, "icmp_error_unmatched", "ICMP error about a packet we did not send") \
    X(ICMP_MTU, "icmp_mtu", "packet too big whose MTU is under 1280 or no less than was sent")   \
    X(ND_NOT_OURS, "nd_not_ours", "neighbour discovery about an address that is not ours")       \
    X(ND_CONFLICT, "nd_conflict", "another host claims our address")                             \
    X(UDP_PORT, "udp_port", "no listener on that UDP port")                                      \
    X(TCP_PORT, "tcp_port", "TCP segment of no connection that opens none here")                 \
    X(TCP_DESTINATION, "tcp_destination", "TCP to a group address")                              \
    X(TCP_FLAGS, "tcp_flags", "TCP flags that no segment has together")                          \
    X(TCP_SEQUENCE, "tcp_sequence", "TCP segment outside of the receive window")                 \
    X(TCP_DUPLICATE, "tcp_duplicate", "TCP segment that was received before")                    \
    X(TCP_PAWS, "tcp_paws", "TCP timestamp older than the last one (RFC 7323 5)")                \
    X(TCP_ACK, "tcp_ack", "TCP acknowledgment of what was never sent, or far too old")           \
    X(TCP_RST, "tcp_rst", "TCP reset of no connection, or not exactly in sequence (RFC 5961 3)") \
    X(TCP_SYN, "tcp_syn", "TCP SYN within a connection (RFC 5961 4)")                            \
    X(TCP_STATE, "tcp_state", "TCP segment of no use in the connection's state")                 \
    X(TCP_CLOSED, "tcp_closed", "TCP data that came after we were done reading")                 \
    X(TCP_REORDER_LIMIT, "tcp_reorder_limit", "bound of TCP data received out of order")         \
    X(TCP_BACKLOG, "tcp_backlog", "TCP SYN while the backlog was full and cookies are off")      \
    X(TCP_COOKIE, "tcp_cookie", "TCP acknowledgment with an invalid SYN cookie")                 \
    X(TCP_LIMIT, "tcp_limit", "TCP connection refused at the bound of connections")              \
    X(TCP_MEMORY, "tcp_memory", "TCP refused at the bound of memory")                            \
    X(NEIGH_QUEUE_FULL, "neigh_queue_full", "oldest packet waiting for a neighbour made room")   \
    X(NEIGH_UNREACHABLE, "neigh_unreachable", "neighbour did not answer")                        \
    X(NEIGH_TABLE_FULL, "neigh_table_full", "no room for another neighbour")                     \
    X(NO_ROUTE, "no_route", "no route to the destination")                                       \
    X(NO_SOURCE, "no_source", "no usable source address")                                        \
    X(TOO_BIG, "too_big", "larger than the path and not to be fragmented")                       \
    X(NO_MEMORY, "no_memory", "packet pool empty")                                               \
    X(TX_QUEUE_FULL, "tx_queue_full", "the device's transmit queue was full")                    \
    X(TX_REFUSED, "tx_refused", "the driver cannot send such a packet")                          \
    X(RING_FULL, "ring_full", "the ring to the owning worker was full")                          \
    X(ADMIN_DOWN, "admin_down", "stopping, or the interface is down")

enum drop {
    DROP_NONE,
#define X(id, name, text) DROP_##id,
    DROP_REASONS(X)
#undef X
        DROP_END
};

/* "ip4_checksum"; d in (DROP_NONE, DROP_END) */
const char *drop_name(enum drop d);
const char *drop_text(enum drop d);

#endif
