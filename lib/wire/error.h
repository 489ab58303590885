/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_WIRE_ERROR_H
#define MILLRACE_WIRE_ERROR_H

/*
 * Why a parser refused its input. Parsers return the header's length (> 0) or the negative of one
 * of these. The table is also the first part of the drop registry (stats/drop.h), so that the
 * reason a parser gives is the name an operator reads.
 *
 * X(enumerator, name as in the counters, meaning)
 */
#define WIRE_ERRORS(X)                                                                            \
    X(ETHER_SHORT, "ether_short", "frame shorter than its Ethernet header or VLAN tag")           \
    X(ARP_SHORT, "arp_short", "ARP packet cut short")                                             \
    X(ARP_FORMAT, "arp_format", "ARP for other than IPv4 over Ethernet, or an unknown operation") \
    X(ARP_SENDER, "arp_sender", "ARP whose sender claims a group MAC address")                    \
    X(IP4_SHORT, "ip4_short", "fewer bytes than an IPv4 header")                                  \
    X(IP4_VERSION, "ip4_version", "version is not 4")                                             \
    X(IP4_HEADER_LENGTH, "ip4_header_length", "header length under 20 or beyond the packet")      \
    X(IP4_TOTAL_LENGTH, "ip4_total_length",                                                       \
      "total length under the header's or beyond the packet")                                     \
    X(IP4_CHECKSUM, "ip4_checksum", "wrong IPv4 header checksum")                                 \
    X(IP4_OPTION, "ip4_option", "malformed IPv4 option")                                          \
    X(IP4_FRAGMENT, "ip4_fragment", "fragment with an impossible offset or length")               \
    X(IP6_SHORT, "ip6_short", "fewer bytes than an IPv6 header")                                  \
    X(IP6_VERSION, "ip6_version", "version is not 6")                                             \
    X(IP6_PAYLOAD_LENGTH, "ip6_payload_length",                                                   \
      "payload length beyond the packet, or a jumbogram")                                         \
    X(IP6_MAPPED, "ip6_mapped", "IPv4-mapped address on the wire")                                \
    X(IP6_EXT_SHORT, "ip6_ext_short", "extension header cut short")                               \
    X(IP6_EXT_ORDER, "ip6_ext_order",                                                             \
      "hop-by-hop header not first, or a header that may not repeat")                             \
    X(IP6_EXT_COUNT, "ip6_ext_count", "too many extension headers or options")                    \
    X(IP6_EXT_OPTION, "ip6_ext_option", "malformed option, or unknown and to be discarded")       \
    X(IP6_ROUTING, "ip6_routing", "routing header with segments left")                            \
    X(IP6_FRAGMENT, "ip6_fragment", "fragment with an impossible offset or length")               \
    X(ICMP4_SHORT, "icmp4_short", "ICMP message cut short")                                       \
    X(ICMP4_CHECKSUM, "icmp4_checksum", "wrong ICMP checksum")                                    \
    X(ICMP6_SHORT, "icmp6_short", "ICMPv6 message cut short")                                     \
    X(ICMP6_CHECKSUM, "icmp6_checksum", "wrong ICMPv6 checksum")                                  \
    X(ND_SHORT, "nd_short", "neighbour discovery message cut short")                              \
    X(ND_INVALID, "nd_invalid", "hop limit, code, target or source forbidden by RFC 4861 7.1")    \
    X(ND_OPTION, "nd_option", "neighbour discovery option of impossible length or value")         \
    X(MLD_SHORT, "mld_short", "multicast listener query cut short")                               \
    X(MLD_INVALID, "mld_invalid",                                                                 \
      "hop limit, source, group or missing router alert forbidden by RFC 3810 6.2")               \
    X(UDP_SHORT, "udp_short", "fewer bytes than a UDP header")                                    \
    X(UDP_LENGTH, "udp_length", "UDP length under 8 or beyond the packet")                        \
    X(UDP_CHECKSUM, "udp_checksum", "wrong UDP checksum, or none over IPv6")                      \
    X(TCP_SHORT, "tcp_short", "fewer bytes than a TCP header")                                    \
    X(TCP_OFFSET, "tcp_offset", "TCP data offset under 5 or beyond the packet")                   \
    X(TCP_OPTION, "tcp_option", "TCP option of impossible length")                                \
    X(TCP_CHECKSUM, "tcp_checksum", "wrong TCP checksum")

enum wire_error {
    WIRE_OK,
#define X(id, name, text) WIRE_##id,
    WIRE_ERRORS(X)
#undef X
        WIRE_ERROR_END
};

#endif
