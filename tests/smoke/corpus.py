# SPDX-License-Identifier: BSD-3-Clause
"""Malformed packets, each with the one reason it has to be dropped for.

corpus(mac) yields Sample(name, reason, frames, also): all frames are dropped for the reason, and
`also` counts besides (a fragment that was received, a question that was understood)."""
import itertools
import struct
from collections import namedtuple

from frames import (
    ARP,
    BROADCAST,
    ICMP,
    ICMPV6,
    IPV4,
    IPV6,
    UDP,
    VLAN,
    arp,
    checksum,
    echo,
    icmp,
    icmpv6,
    ipv4,
    ipv6,
    mac_bytes,
    multicast_mac,
    neighbour_advert,
    neighbour_solicit,
    pseudo,
    udp,
)

OUR4, OUR6 = "10.77.0.1", "fd77::1"
SRC4, SRC6 = "10.77.0.2", "fd77::2"
PEER = "02:00:00:00:00:99"
NOBODY = "00:00:00:00:00:00"
HOP_BY_HOP, ROUTING, FRAGMENT, NONE, DEST, TCP = 0, 43, 44, 59, 60, 6
MORE = 0x2000

Sample = namedtuple("Sample", "name reason frames also")


def sample(name, reason, *frames, **also):
    return Sample(name, reason, frames, also)


# ---- pieces ----


def frame(mac, kind, packet, src=PEER):
    """As short as it is: a veth does not pad."""
    return mac_bytes(mac) + mac_bytes(src) + struct.pack("!H", kind) + packet


def with_bytes(packet, at, new):
    return packet[:at] + new + packet[at + len(new) :]


def with_sum4(packet):
    """The header's checksum, once more."""
    header = (packet[0] & 15) * 4
    packet = with_bytes(packet, 10, b"\0\0")
    return with_bytes(packet, 10, struct.pack("!H", checksum(packet[:header])))


def with_sum6(packet, src=SRC6, dst=OUR6):
    """That of an ICMPv6 message right behind the fixed header."""
    body = with_bytes(packet[40:], 2, b"\0\0")
    total = checksum(pseudo(src, dst, ICMPV6, len(body)) + body)
    return packet[:40] + with_bytes(body, 2, struct.pack("!H", total))


def cut4(packet, n):
    """Only n bytes behind the header, which says so."""
    return with_sum4(with_bytes(packet[: 20 + n], 2, struct.pack("!H", 20 + n)))


def cut6(packet, n):
    return with_bytes(packet[: 40 + n], 4, struct.pack("!H", n))


def fragment4(ident, start, data, more, proto=UDP, tos=0):
    packet = ipv4(SRC4, OUR4, proto, data, ident, (MORE if more else 0) | start // 8)
    return with_sum4(with_bytes(packet, 1, bytes([tos])))


def fragment6(ident, start, data, more, proto=UDP):
    head = struct.pack("!BxHI", proto, start | more, ident)
    return ipv6(SRC6, OUR6, FRAGMENT, head + data)


def extension(following, options=b"\1\4\0\0\0\0"):
    """Hop-by-hop or destination options, a whole number of eight bytes."""
    assert len(options) % 8 == 6
    return bytes([following, (len(options) + 2) // 8 - 1]) + options


# ---- cut at every byte ----


def cut_frames(mac):
    """What arrives is shorter than its headers say."""
    solicit = neighbour_solicit(SRC6, OUR6, PEER, dst=OUR6)
    kinds = {
        "echo4": echo(SRC4, OUR4, 1, 1),
        "udp4": udp(SRC4, OUR4, 1000, 9),
        "fragment4": fragment4(1, 8, bytes(16), False),
        "echo6": echo(SRC6, OUR6, 1, 1),
        "udp6": udp(SRC6, OUR6, 1000, 9),
        "solicit": solicit,
        "fragment6": fragment6(1, 8, bytes(16), 0),
    }
    for name, packet in kinds.items():
        v6 = packet[0] >> 4 == 6
        header, family = (40, "ip6") if v6 else (20, "ip4")
        kind, length = (IPV6, "ip6_payload_length") if v6 else (IPV4, "ip4_total_length")
        for n in range(len(packet)):
            reason = f"{family}_short" if n < header else length
            yield sample(f"{name} frame cut at {n}", reason, frame(mac, kind, packet[:n]))
    whole = arp(1, PEER, SRC4, NOBODY, OUR4)
    for n in range(len(whole)):
        yield sample(f"ARP cut at {n}", "arp_short", frame(BROADCAST, ARP, whole[:n]))
    for n in range(4):
        yield sample(f"tag cut at {n}", "ether_short", frame(mac, VLAN, b"\0\7\x08\0"[:n]))


def cut_messages(mac):
    """The IP header agrees that it is so short; what it carries does not."""
    echo4, udp4 = echo(SRC4, OUR4, 1, 1), udp(SRC4, OUR4, 1000, 9)
    echo6, udp6 = echo(SRC6, OUR6, 1, 1), udp(SRC6, OUR6, 1000, 9)
    for n in range(16):
        four = [("icmp4", echo4, "checksum"), ("udp", udp4, "length")]
        six = [("icmp6", echo6, "checksum"), ("udp", udp6, "length")]
        for family, packet, longer in four:
            reason = f"{family}_{'short' if n < 8 else longer}"
            yield sample(f"{family} over IPv4 of {n}", reason, frame(mac, IPV4, cut4(packet, n)))
        for family, packet, longer in six:
            reason = f"{family}_{'short' if n < 8 else longer}"
            yield sample(f"{family} over IPv6 of {n}", reason, frame(mac, IPV6, cut6(packet, n)))
    solicit = neighbour_solicit(SRC6, OUR6, PEER, dst=OUR6)
    for n in itertools.chain(range(24), range(25, 32)):
        reason = "icmp6_short" if n < 8 else "nd_short" if n < 24 else "nd_option"
        packet = cut6(solicit, n)
        packet = with_sum6(packet) if n >= 4 else packet
        yield sample(f"solicitation of {n}", reason, frame(mac, IPV6, packet))
    chain = ipv6(SRC6, OUR6, DEST, extension(UDP, b"\x1e\14" + bytes(12)) + udp6[40:])
    for n in range(24):
        reason = "ip6_ext_short" if n < 16 else "udp_short"
        yield sample(f"options and UDP of {n}", reason, frame(mac, IPV6, cut6(chain, n)))


# ---- checksums ----


def bad_checksums(mac):
    """Each bit of each checksum, flipped."""
    places = (
        ("ip4_checksum", echo(SRC4, OUR4, 1, 1), 10),
        ("icmp4_checksum", echo(SRC4, OUR4, 1, 1), 22),
        ("udp_checksum", udp(SRC4, OUR4, 1000, 9), 26),
        ("icmp6_checksum", echo(SRC6, OUR6, 1, 1), 42),
        ("icmp6_checksum", neighbour_solicit(SRC6, OUR6, PEER, dst=OUR6), 42),
        ("udp_checksum", udp(SRC6, OUR6, 1000, 9), 46),
    )
    for reason, packet, at in places:
        kind = IPV6 if packet[0] >> 4 == 6 else IPV4
        right = struct.unpack("!H", packet[at : at + 2])[0]
        for bit in range(16):
            wrong = with_bytes(packet, at, struct.pack("!H", right ^ 1 << bit))
            yield sample(f"{reason} bit {bit} at {at}", reason, frame(mac, kind, wrong))
    none = with_bytes(udp(SRC6, OUR6, 1000, 9), 46, b"\0\0")
    yield sample("UDP over IPv6 without checksum", "udp_checksum", frame(mac, IPV6, none))


# ---- IPv4 headers ----


def bad_ipv4(mac):
    good = echo(SRC4, OUR4, 1, 1)

    def one(name, reason, packet, **also):
        return sample(name, reason, frame(mac, IPV4, packet), **also)

    for version in (0, 3, 5, 6, 15):
        yield one(f"IPv4 version {version}", "ip4_version", bytes([version << 4 | 5]) + good[1:])
    for words in itertools.chain(range(5), range(10, 16)):
        packet = bytes([0x40 | words]) + good[1:]
        yield one(f"header of {words} words", "ip4_header_length", packet)
    for total in (0, 19, len(good) + 1, 65535):
        packet = with_sum4(with_bytes(good, 2, struct.pack("!H", total)))
        yield one(f"total length {total}", "ip4_total_length", packet)
    for name, reason, options in (
        ("option of length 0", "ip4_option", b"\x44\0\0\0"),
        ("option of length 1", "ip4_option", b"\x44\1\0\0"),
        ("option longer than the header", "ip4_option", b"\x44\5\0\0"),
        ("option without its length", "ip4_option", b"\1\1\1\x44"),
        ("loose source route", "ip_source_route", b"\x83\7\4" + bytes([10, 0, 0, 1]) + b"\0"),
        ("strict source route", "ip_source_route", b"\x89\7\4" + bytes([10, 0, 0, 1]) + b"\0"),
    ):
        words = 5 + len(options) // 4
        packet = bytes([0x40 | words]) + good[1:20] + options + good[20:]
        packet = with_sum4(with_bytes(packet, 2, struct.pack("!H", len(packet))))
        yield one(name, reason, packet)
    for proto in (0, 41, 132, 255):
        yield one(f"IPv4 protocol {proto}", "ip_protocol", ipv4(SRC4, OUR4, proto, bytes(40)))


# ---- IPv6 headers ----


def bad_ipv6(mac):
    good = echo(SRC6, OUR6, 1, 1)
    message = good[40:]
    some_udp = udp(SRC6, OUR6, 1000, 9)[40:]

    def one(name, reason, packet, **also):
        return sample(name, reason, frame(mac, IPV6, packet), **also)

    for version in (0, 4, 5, 7, 15):
        yield one(f"IPv6 version {version}", "ip6_version", bytes([version << 4]) + good[1:])
    for length in (len(message) + 1, 65535):
        packet = with_bytes(good, 4, struct.pack("!H", length))
        yield one(f"payload length {length}", "ip6_payload_length", packet)
    jumbo = extension(UDP, b"\xc2\4\0\1\0\0") + some_udp
    yield one("jumbogram", "ip6_payload_length", with_bytes(ipv6(SRC6, OUR6, 0, jumbo), 4, b"\0\0"))
    for name, at in ("source", 8), ("destination", 24):
        packet = with_bytes(good, at, b"\0" * 10 + b"\xff\xff" + bytes([10, 77, 0, 9]))
        yield one(f"mapped {name}", "ip6_mapped", packet)

    # Chains that never end, or come back to where they were.
    long = b"".join(extension(DEST) for _ in range(60)) + extension(UDP) + some_udp
    yield one("sixty destination options", "ip6_ext_count", ipv6(SRC6, OUR6, DEST, long))
    loop = extension(HOP_BY_HOP) + extension(DEST) * 20
    yield one("hop-by-hop behind options", "ip6_ext_order", ipv6(SRC6, OUR6, DEST, loop))
    twice = extension(HOP_BY_HOP) + extension(UDP) + some_udp
    yield one("hop-by-hop twice", "ip6_ext_order", ipv6(SRC6, OUR6, HOP_BY_HOP, twice))
    atomic = struct.pack("!BxHI", FRAGMENT, 0, 1) + struct.pack("!BxHI", UDP, 0, 2) + some_udp
    yield one("fragment header twice", "ip6_ext_order", ipv6(SRC6, OUR6, FRAGMENT, atomic))

    for name, reason, options in (
        ("option over the end", "ip6_ext_option", b"\1\7\0\0\0\0"),
        ("option without its length", "ip6_ext_option", b"\1\3\0\0\0\5"),
        ("unknown option 01", "ip6_ext_option", b"\x4e\4\0\0\0\0"),
        ("unknown option 10", "ip6_ext_option", b"\x8e\4\0\0\0\0"),
        ("unknown option 11", "ip6_ext_option", b"\xce\4\0\0\0\0"),
        ("much padding", "ip6_ext_count", b"\1\24" + bytes(20)),
        ("many options", "ip6_ext_count", b"\x1e\0" * 15),
    ):
        for header in HOP_BY_HOP, DEST:
            packet = ipv6(SRC6, OUR6, header, extension(UDP, options) + some_udp)
            yield one(f"{name} in header {header}", reason, packet)
    for segments in (1, 255):
        route = struct.pack("!BBBB", UDP, 0, 0, segments) + b"\0" * 4
        packet = ipv6(SRC6, OUR6, ROUTING, route + some_udp)
        yield one(f"routing with {segments} left", "ip6_routing", packet)
    for header in HOP_BY_HOP, ROUTING, DEST:
        packet = ipv6(SRC6, OUR6, header, bytes([UDP, 255]) + bytes(6) + some_udp)
        yield one(f"header {header} over the end", "ip6_ext_short", packet)
    for proto in (4, 50, 132, NONE, 255):
        yield one(f"next header {proto}", "ip_protocol", ipv6(SRC6, OUR6, proto, bytes(40)))


# ---- fragments ----


def bad_fragments(mac):
    def four(name, reason, *pieces, **also):
        frames = [frame(mac, IPV4, fragment4(*p)) for p in pieces]
        return sample(f"IPv4 {name}", reason, *frames, **also)

    def six(name, reason, *pieces, **also):
        frames = [frame(mac, IPV6, fragment6(*p)) for p in pieces]
        return sample(f"IPv6 {name}", reason, *frames, **also)

    for make, family in (four, "ip4"), (six, "ip6"):
        yield make("odd length in the middle", f"{family}_fragment", (10, 0, bytes(15), 1))
        yield make("past 65,535", f"{family}_fragment", (11, 65528, bytes(40), 0))
        yield make("without data", f"{family}_fragment", (12, 8, b"", 0))
        overlaps = {
            "tail over head": ((0, 16, 1), (8, 16, 0)),
            "head over tail": ((8, 16, 0), (0, 16, 1)),
            "inside another": ((0, 32, 1), (8, 8, 1)),
            "around another": ((8, 8, 1), (0, 32, 1)),
            "same start, longer": ((0, 16, 1), (0, 24, 1)),
            "same end, longer": ((8, 16, 1), (16, 8, 1)),
            "two ends": ((16, 8, 0), (32, 8, 0)),
            "past the end": ((16, 8, 0), (24, 8, 1)),
            "end before what came": ((32, 8, 1), (16, 8, 0)),
        }
        for number, (name, pieces) in enumerate(overlaps.items()):
            cut = [(20 + number, at, bytes(n), more) for at, n, more in pieces]
            yield make(f"fragments: {name}", "frag_overlap", *cut, frag_rx=2)
        late = [(40, 0, bytes(16), 1), (40, 8, bytes(16), 1), (40, 24, bytes(8), 0)]
        yield make("fragment after an overlap", "frag_overlap", *late, frag_rx=3)
    mixed = [(41, 0, bytes(16), 1, UDP, 0), (41, 16, bytes(16), 0, UDP, 3)]
    yield four("congestion on one that cannot know", "frag_ecn", *mixed, frag_rx=2)
    yield six("first without its TCP header", "frag_tiny", (42, 0, bytes(16), 1, TCP), frag_rx=1)
    cut_chain = bytes([UDP, 4]) + bytes(6)
    yield six("first with a chain cut short", "frag_tiny", (43, 0, cut_chain, 1, DEST), frag_rx=1)
    chain = extension(FRAGMENT) + struct.pack("!BxHI", UDP, 65520, 44)
    packet = ipv6(SRC6, OUR6, DEST, chain + bytes(8))
    yield sample("fragment whose chain makes it too long", "ip6_fragment", frame(mac, IPV6, packet))


# ---- who, to whom ----


def bad_addresses(mac):
    for src in "224.0.0.1", "255.255.255.255", "10.77.0.255", "127.0.0.1", "0.0.0.0", "0.1.2.3":
        yield sample(f"from {src}", "ip_source", frame(mac, IPV4, echo(src, OUR4, 1, 1)))
    yield sample("from ourselves", "ip_source", frame(mac, IPV4, echo(OUR4, OUR4, 1, 1)))
    for src in "ff02::1", "::1", "::", OUR6:
        yield sample(f"from {src}", "ip_source", frame(mac, IPV6, echo(src, OUR6, 1, 1)))
    for dst in "10.77.0.77", "10.99.0.1", "224.0.0.251":
        yield sample(f"to {dst}", "ip_destination", frame(mac, IPV4, echo(SRC4, dst, 1, 1)))
    for dst in "fd77::77", "ff02::fb", "::1", "fe80::1":
        yield sample(f"to {dst}", "ip_destination", frame(mac, IPV6, echo(SRC6, dst, 1, 1)))
    group = frame(BROADCAST, IPV4, echo(SRC4, OUR4, 1, 1))
    yield sample("to us in a broadcast frame", "ip_destination", group)
    for other in "02:00:00:00:00:55", "ba:ad:00:00:00:01":
        yield sample(f"to {other}", "ether_destination", frame(other, IPV4, echo(SRC4, OUR4, 1, 1)))
    for group in BROADCAST, "01:00:5e:00:00:01":
        packet = frame(mac, IPV4, echo(SRC4, OUR4, 1, 1), src=group)
        yield sample(f"from {group}", "ether_source", packet)
    yield sample("from our own station", "ether_source", frame(mac, ARP, bytes(28), src=mac))
    for kind in 0x0600, 0x88CC, 0x8847, 0xFFFF:
        yield sample(f"EtherType {kind:#06x}", "ether_type", frame(mac, kind, bytes(46)))
    tagged = struct.pack("!HH", 5, IPV4) + echo(SRC4, OUR4, 1, 1)
    yield sample("tag that is not ours", "vlan", frame(mac, VLAN, tagged))


# ---- ARP, ICMP, neighbour discovery, UDP ----


def bad_arp():
    good = arp(1, PEER, SRC4, NOBODY, OUR4)

    def one(name, reason, packet, **also):
        return sample(f"ARP {name}", reason, frame(BROADCAST, ARP, packet), **also)

    for at, value, name in (
        (0, b"\0\6", "hardware"),
        (2, b"\x86\xdd", "protocol"),
        (4, b"\x08", "hardware length"),
        (5, b"\x10", "protocol length"),
        (6, b"\0\0", "operation 0"),
        (6, b"\0\3", "operation 3"),
    ):
        yield one(name, "arp_format", with_bytes(good, at, value))
    for station in BROADCAST, "01:00:5e:00:00:01":
        yield one(f"from {station}", "arp_sender", arp(1, station, SRC4, NOBODY, OUR4))
    for sender in "224.0.0.1", "127.0.0.1", "10.77.0.255":
        yield one(f"from {sender}", "ip_source", arp(1, PEER, sender, NOBODY, OUR4))
    other = arp(1, PEER, "10.77.0.60", NOBODY, "10.77.0.77")
    yield one("about another", "arp_not_ours", other, arp_rx_requests=1)


def bad_icmp(mac):
    def four(name, reason, message, **also):
        return sample(name, reason, frame(mac, IPV4, ipv4(SRC4, OUR4, ICMP, message)), **also)

    def six(name, reason, kind, code, rest, payload=b"", **also):
        body = icmpv6(SRC6, OUR6, kind, code, rest, payload)
        return sample(name, reason, frame(mac, IPV6, ipv6(SRC6, OUR6, ICMPV6, body)), **also)

    for kind in (0, 1, 5, 9, 10, 13, 15, 17, 40, 255):
        yield four(f"ICMP type {kind}", "icmp_type", icmp(kind, 0, bytes(4), bytes(20)))
    for kind in (0, 5, 100, 129, 138, 144, 200, 255):
        yield six(f"ICMPv6 type {kind}", "icmp_type", kind, 0, bytes(4), bytes(20))
    for dst in "10.77.0.255", "255.255.255.255", "224.0.0.1":
        group = frame(BROADCAST, IPV4, echo(SRC4, dst, 1, 1))
        yield sample(f"echo to {dst}", "icmp_echo_group", group, icmp_rx_echo=1)

    # Errors about what we did not send.
    theirs4 = udp("10.77.0.1", SRC4, 1, 2)
    theirs6 = udp(OUR6, SRC6, 1, 2)
    for kind in (3, 4, 11, 12):
        message = icmp(kind, 0, bytes(4), theirs4)
        yield four(f"ICMP error {kind} about UDP", "icmp_error_unmatched", message)
        other = icmp(kind, 0, bytes(4), udp("10.9.9.9", SRC4, 1, 2))
        yield four(f"ICMP error {kind} about others", "icmp_error_unmatched", other)
    for kind in (1, 2, 3, 4):
        name = f"ICMPv6 error {kind} about UDP"
        yield six(name, "icmp_error_unmatched", kind, 0, bytes(4), theirs6)
    for n in range(20):
        message = icmp(3, 4, bytes(4), theirs4[:n])
        yield four(f"ICMP error that quotes {n}", "icmp4_short", message)
    for n in range(0, 40, 3):
        name = f"ICMPv6 error that quotes {n}"
        yield six(name, "icmp6_short", 2, 0, struct.pack("!I", 1400), theirs6[:n])
    reply = with_bytes(echo(OUR6, SRC6, 1, 1, bytes(1400)), 40, b"\x81")
    for mtu in (0, 68, 1279):
        name = f"packet too big of {mtu}"
        rest = struct.pack("!I", mtu)
        yield six(name, "icmp_mtu", 2, 0, rest, reply[:200], icmp_rx_errors=1)


def bad_discovery(mac):
    good = neighbour_solicit(SRC6, OUR6, PEER, dst=OUR6)

    def one(name, reason, packet, to=mac, **also):
        return sample(f"discovery: {name}", reason, frame(to, IPV6, packet), **also)

    for hops in (0, 64, 254):
        yield one(f"hop limit {hops}", "nd_invalid", with_bytes(good, 7, bytes([hops])))
    yield one("code 1", "nd_invalid", with_sum6(with_bytes(good, 41, b"\1")))
    group = with_bytes(good, 48, b"\xff\2" + bytes(13) + b"\1")
    yield one("about a group", "nd_invalid", with_sum6(group))
    zero = with_bytes(good, 64, b"\1\0")
    yield one("option of length 0", "nd_option", with_sum6(zero))
    yield one("option over the end", "nd_option", with_sum6(with_bytes(good, 64, b"\1\2")))
    station = with_bytes(good, 66, b"\xff" * 6)
    yield one("from a group's station", "nd_option", with_sum6(station))
    yield one(
        "about another",
        "nd_not_ours",
        neighbour_solicit(SRC6, "fd77::77", PEER, dst=OUR6),
        nd_rx_solicits=1,
    )
    solicited = neighbour_advert(SRC6, "ff02::1", SRC6, PEER, solicited=True)
    to = multicast_mac("ff02::1")
    yield one("solicited, but to a group", "nd_invalid", solicited, to=to)
    stranger = neighbour_advert("fd77::60", "ff02::1", "fd77::60", PEER)
    yield one("of a stranger", "nd_not_ours", stranger, to=to, nd_rx_adverts=1)
    body = with_sum6(good)[40:]
    atomic = struct.pack("!BxHI", ICMPV6, 0, 9)
    packet = with_bytes(ipv6(SRC6, OUR6, FRAGMENT, atomic + body), 7, b"\xff")
    yield one("in an atomic fragment", "nd_invalid", packet)


def bad_udp(mac):
    for name, src, dst, kind, at in ("4", SRC4, OUR4, IPV4, 24), ("6", SRC6, OUR6, IPV6, 44):
        good = udp(src, dst, 1000, 9)
        for length in (0, 7, 17, 65535):
            packet = with_bytes(good, at, struct.pack("!H", length))
            reason = "udp_length"
            yield sample(f"UDP over IPv{name} says {length}", reason, frame(mac, kind, packet))
        yield sample(f"UDP over IPv{name}", "udp_port", frame(mac, kind, good))


def corpus(mac):
    """For an appliance with this station address, OUR4/24 and OUR6/64."""
    return itertools.chain(
        cut_frames(mac),
        cut_messages(mac),
        bad_checksums(mac),
        bad_ipv4(mac),
        bad_ipv6(mac),
        bad_fragments(mac),
        bad_addresses(mac),
        bad_arp(),
        bad_icmp(mac),
        bad_discovery(mac),
        bad_udp(mac),
    )
