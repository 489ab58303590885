#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Two workers on a device with one queue: worker 0 receives all, and each packet finds its owner."""
import errno
import socket
import struct
from functools import partial

import tap
from frames import checksum
from lab import Pair
from machine import poll

SOURCES = 48
PORTS = 400
EACH = 3  # pings of a source
CLOSED = 9
FRAGMENTED = 4000  # bytes of a datagram in several fragments


class Crowd(Pair):
    """A peer with many addresses."""

    def __init__(self, driver, queues=1):
        super().__init__(
            driver,
            device={"queues": queues},
            queues=queues,
            config={
                "workers": {"cores": [0, 1]},
                "icmp": {"error-rate": 1000000, "error-burst": 1000000},
            },
        )
        self.sources4 = [f"10.77.0.{100 + i}" for i in range(SOURCES)]
        self.sources6 = [f"fd77::{0x100 + i:x}" for i in range(SOURCES)]

    def _build(self):
        super()._build()
        for a in self.sources4:
            self.peer.ip("addr", "add", f"{a}/24", "dev", self.peer_if)
        for a in self.sources6:
            self.peer.ip("addr", "add", f"{a}/64", "dev", self.peer_if, "nodad")


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def ours(address):
    return "fd77::1" if ":" in address else "10.77.0.1"


def ping_from(lab, source):
    """By a ping socket: the kernel fills in the identifier."""
    v6 = ":" in source
    proto = socket.IPPROTO_ICMPV6 if v6 else socket.IPPROTO_ICMP
    with lab.peer.inside(), socket.socket(family(source), socket.SOCK_DGRAM, proto) as s:
        s.settimeout(10)
        s.bind((source, 0))
        for seq in range(EACH):
            body = struct.pack("!BBHHH", 128 if v6 else 8, 0, 0, 0, seq) + source.encode()
            body = body[:2] + struct.pack("!H", 0 if v6 else checksum(body)) + body[4:]
            s.sendto(body, (ours(source), 0))
            got = s.recv(100)
            assert got[8:] == source.encode() and got[6:8] == body[6:8], got


def refused(lab, source, payload):
    """A datagram to a closed port comes back as an error to the socket that sent it."""
    with lab.peer.inside(), socket.socket(family(source), socket.SOCK_DGRAM) as s:
        s.settimeout(10)
        s.bind((source, 0))
        s.connect((ours(source), CLOSED))
        s.send(payload)
        try:
            s.recv(1)
        except OSError as error:
            assert error.errno == errno.ECONNREFUSED, f"from {source}: {error}"


def by_worker(after, before, name):
    return [a - b for a, b in zip(after.counts[name], before.counts[name])]


def drops(after, before):
    """Without the peer's reports of its groups, which come when they like."""
    return {why: n for why, n in after.dropped(before).items() if why != "ip_destination"}


def check_hand_over(after, before):
    """What 1 was handed are the packets that are its own, and copies of what is everyone's, which
    only the worker that received it counts."""
    wrong = by_worker(after, before, "wrong_worker")
    handed = by_worker(after, before, "handed_in")
    everyones = sum(
        by_worker(after, before, name)[0]
        for name in ("arp_rx_requests", "arp_rx_replies", "nd_rx_solicits", "nd_rx_adverts")
    )
    assert wrong[1] == 0 and handed[0] == 0, (wrong, handed)
    assert wrong[0] > 0 and handed[1] == wrong[0] + everyones, (wrong, handed, everyones)


def shares_pings_by_address(lab):
    """At once when the address is announced: the workers agree on when that is."""
    poll("fd77::1 can be used", 10, lambda: lab.app.addresses()["fd77::1"] == "preferred")
    before = lab.app.snapshot()
    for source in lab.sources4 + lab.sources6:
        ping_from(lab, source)
    after = lab.app.snapshot()
    echo = by_worker(after, before, "icmp_rx_echo")
    assert sum(echo) == 2 * SOURCES * EACH and min(echo) > 0, echo
    assert by_worker(after, before, "icmp_tx_echo") == echo
    assert not drops(after, before), drops(after, before)
    check_hand_over(after, before)
    tap.note(f"pings by worker: {echo}")


def refuse_all(lab, payload):
    before = lab.app.snapshot()
    for _ in range(PORTS // 2):
        for source in "10.77.0.2", "fd77::2":
            refused(lab, source, payload)
    after = lab.app.snapshot()
    errors = by_worker(after, before, "icmp_tx_errors")
    assert sum(errors) == PORTS and min(errors) > 0, errors
    assert drops(after, before) == {"udp_port": PORTS}, drops(after, before)
    tap.note(f"datagrams by worker: {errors}")
    return before, after


def shares_datagrams_by_port(lab):
    before, after = refuse_all(lab, b"to nobody")
    check_hand_over(after, before)


def hands_over_what_it_put_together(lab):
    """Fragments go by address: one worker has them all, and hands each datagram to its owner."""
    before, after = refuse_all(lab, bytes(FRAGMENTED))
    whole = by_worker(after, before, "frag_reassembled")
    assert sum(whole) == PORTS, whole
    assert sum(by_worker(after, before, "wrong_worker")) > 0


def each_worker_knows_the_neighbours(lab):
    """ARP and discovery are everyone's; only worker 0 counts them and answers."""
    after = lab.app.snapshot()
    asked = after.counts["arp_rx_requests"]
    assert asked[0] > 0 and asked[1] == 0, asked
    assert after.counts["arp_tx_replies"][1] == 0 and after.counts["nd_tx_adverts"][1] == 0
    for worker in 0, 1:
        rows = lab.app.get(f"/v1/neighbours?worker={worker}")["neighbours"]
        assert {"10.77.0.2", "fd77::2"} <= {r["address"] for r in rows}, rows


if __name__ == "__main__":
    tap.main(
        *(
            tap.Group(
                driver,
                partial(Crowd, driver),
                shares_pings_by_address,
                shares_datagrams_by_port,
                hands_over_what_it_put_together,
                each_worker_knows_the_neighbours,
            )
            for driver in ("af_xdp", "tap")
        )
    )
