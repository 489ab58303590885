# SPDX-License-Identifier: BSD-3-Clause
"""Ethernet frames as bytes, made and taken apart. Addresses are text, as people write them."""
import socket
import struct

IPV4, ARP, IPV6, VLAN = 0x0800, 0x0806, 0x86DD, 0x8100
ICMP, UDP, ICMPV6 = 1, 17, 58
BROADCAST = "ff:ff:ff:ff:ff:ff"
SHORTEST = 60  # without CRC


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def mac_text(raw):
    return ":".join(f"{b:02x}" for b in raw)


def ip_bytes(text):
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


def ip_text(raw):
    return socket.inet_ntop(socket.AF_INET6 if len(raw) == 16 else socket.AF_INET, raw)


def checksum(data):
    """RFC 1071"""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def pseudo(src, dst, proto, length):
    if ":" in src:
        return ip_bytes(src) + ip_bytes(dst) + struct.pack("!IxxxB", length, proto)
    return ip_bytes(src) + ip_bytes(dst) + struct.pack("!xBH", proto, length)


def ether(dst, src, kind, payload, vlan=None):
    tag = b"" if vlan is None else struct.pack("!HH", VLAN, vlan)
    frame = mac_bytes(dst) + mac_bytes(src) + tag + struct.pack("!H", kind) + payload
    return frame + b"\0" * (SHORTEST - len(frame))


def arp(operation, sender_mac, sender_ip, target_mac, target_ip):
    return (
        struct.pack("!HHBBH", 1, IPV4, 6, 4, operation)
        + mac_bytes(sender_mac)
        + ip_bytes(sender_ip)
        + mac_bytes(target_mac)
        + ip_bytes(target_ip)
    )


def ipv4(src, dst, proto, payload, ident=0, fragment=0, ttl=64):
    """fragment: flags and offset as they stand in the header."""
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), ident, fragment, ttl, proto, 0)
    head += ip_bytes(src) + ip_bytes(dst)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def ipv6(src, dst, proto, payload, hops=64):
    head = struct.pack("!IHBB", 6 << 28, len(payload), proto, hops)
    return head + ip_bytes(src) + ip_bytes(dst) + payload


def icmp(kind, code, rest, payload=b""):
    body = struct.pack("!BBH", kind, code, 0) + rest + payload
    return body[:2] + struct.pack("!H", checksum(body)) + body[4:]


def icmpv6(src, dst, kind, code, rest, payload=b""):
    body = struct.pack("!BBH", kind, code, 0) + rest + payload
    total = checksum(pseudo(src, dst, ICMPV6, len(body)) + body)
    return body[:2] + struct.pack("!H", total) + body[4:]


def echo(src, dst, ident, seq, payload=b"millrace"):
    """An echo request with its IP header."""
    rest = struct.pack("!HH", ident, seq)
    if ":" in src:
        return ipv6(src, dst, ICMPV6, icmpv6(src, dst, 128, 0, rest, payload))
    return ipv4(src, dst, ICMP, icmp(8, 0, rest, payload))


def udp(src, dst, sport, dport, payload=b"millrace"):
    """A datagram with its IP header."""
    head = struct.pack("!HHHH", sport, dport, 8 + len(payload), 0) + payload
    total = checksum(pseudo(src, dst, UDP, len(head)) + head) or 0xFFFF
    body = head[:6] + struct.pack("!H", total) + head[8:]
    return ipv6(src, dst, UDP, body) if ":" in src else ipv4(src, dst, UDP, body)


def solicited_node(ip):
    return "ff02::1:ff" + ip_bytes(ip)[13:].hex()[:2] + ":" + ip_bytes(ip)[14:].hex()


def multicast_mac(ip):
    """RFC 2464 7"""
    return "33:33:" + mac_text(ip_bytes(ip)[12:])


def neighbour_solicit(src, target, mac, dst=None):
    """RFC 4861 4.3, with its IP header; to the solicited-node group unless dst is given."""
    dst = dst or solicited_node(target)
    rest = b"\0" * 4 + ip_bytes(target) + b"\1\1" + mac_bytes(mac)
    return ipv6(src, dst, ICMPV6, icmpv6(src, dst, 135, 0, rest), hops=255)


def neighbour_advert(src, dst, target, mac, solicited=False, override=True):
    """RFC 4861 4.4, with its IP header."""
    flags = (0x40 if solicited else 0) | (0x20 if override else 0)
    rest = bytes([flags, 0, 0, 0]) + ip_bytes(target) + b"\2\1" + mac_bytes(mac)
    return ipv6(src, dst, ICMPV6, icmpv6(src, dst, 136, 0, rest), hops=255)


class Parsed:
    """The fields of a frame that tests look at; None where it has no such field."""

    def __init__(self, frame):
        self.dst, self.src = mac_text(frame[:6]), mac_text(frame[6:12])
        self.kind = struct.unpack("!H", frame[12:14])[0]
        self.ip_src = self.ip_dst = self.proto = None
        self.arp_operation = self.arp_target = None
        self.icmp_type = self.icmp_code = self.icmp_id = self.icmp_seq = self.nd_target = None
        self.ports = None
        self.vlan = None  # as the kernel took it out
        if self.kind == ARP:
            self._arp(frame[14:42])
        elif self.kind == IPV4:
            self._ipv4(frame[14:])
        elif self.kind == IPV6:
            self._ipv6(frame[14:])

    def _arp(self, raw):
        self.arp_operation = struct.unpack("!H", raw[6:8])[0]
        self.ip_src, self.arp_target = ip_text(raw[14:18]), ip_text(raw[24:28])

    def _ipv4(self, raw):
        self.proto = raw[9]
        self.ip_src, self.ip_dst = ip_text(raw[12:16]), ip_text(raw[16:20])
        self._upper(raw[(raw[0] & 15) * 4 :])

    def _ipv6(self, raw):
        self.proto = raw[6]
        self.ip_src, self.ip_dst = ip_text(raw[8:24]), ip_text(raw[24:40])
        self._upper(raw[40:])

    def _upper(self, raw):
        if self.proto in (ICMP, ICMPV6):
            self.icmp_type, self.icmp_code = raw[0], raw[1]
            self.icmp_id, self.icmp_seq = struct.unpack("!HH", raw[4:8])
            if self.proto == ICMPV6 and self.icmp_type in (135, 136):
                self.nd_target = ip_text(raw[8:24])
        elif self.proto == UDP:
            self.ports = struct.unpack("!HH", raw[:4])
