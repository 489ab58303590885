#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Ping, the kernel's and iputils' own, over each driver that needs no hardware."""
import contextlib
import re
import subprocess
from functools import partial

import tap
from frames import ARP, BROADCAST, ICMP, IPV4, IPV6, arp, echo, neighbour_solicit
from lab import Pair
from machine import poll

V4, V6 = "10.77.0.1", "fd77::1"
# The last that fits one frame, the first that does not, several fragments, the most there is.
SIZES4 = (0, 1, 56, 1472, 1473, 8000, 65507)
SIZES6 = (0, 1, 56, 1452, 1453, 8000, 65507)
FLOOD = 2000
DRIVERS = ("af_xdp", "af_packet", "tap")


def replies(output):
    found = re.search(r"(\d+) packets transmitted, (\d+) received", output)
    assert found, output
    assert "wrong data" not in output and "truncated" not in output, output
    return int(found[1]), int(found[2])


def ping_all(pair, address, *words, count=2):
    """Each request has its reply, with the data that was sent. One after another: of several, ping
    waits for the last only as long as the others took."""
    for _ in range(count):
        output = pair.ping("-c", "1", "-W", "5", *words, address, check=False)
        assert replies(output) == (1, 1), output


def answers_ping_of_every_size(pair):
    for size in SIZES4:
        ping_all(pair, V4, "-s", str(size))


def answers_ping6_of_every_size(pair):
    pair.app.settle()
    for size in SIZES6:
        ping_all(pair, V6, "-s", str(size))


def flood(pair, address):
    before = pair.app.snapshot()
    output = pair.ping("-q", "-f", "-c", str(FLOOD), address, check=False, timeout=30)
    assert replies(output) == (FLOOD, FLOOD), output
    counted = pair.app.after(before, icmp_tx_echo=FLOOD).counted(
        before, "icmp_rx_echo", "icmp_tx_echo"
    )
    assert counted == {"icmp_rx_echo": FLOOD, "icmp_tx_echo": FLOOD}, counted


def loses_none_of_2000_flood_pings(pair):
    flood(pair, V4)


def loses_none_of_2000_flood_pings6(pair):
    pair.app.settle()
    flood(pair, V6)


def answers_on_its_link_local_address(pair):
    pair.app.settle()
    ping_all(pair, f"{pair.app.link_local()}%{pair.peer_if}")


def answers_a_ping_to_all_nodes(pair):
    pair.app.settle()
    output = pair.ping("-c", "2", "-i", "0.01", "-W", "5", "-L", f"ff02::1%{pair.peer_if}")
    assert pair.app.link_local() in output, output


def answers_on_each_of_its_addresses(pair):
    pair.app.settle()
    for address in pair.device["addresses"]:
        ping_all(pair, address.split("/")[0])


ON_EACH_DRIVER = (
    answers_ping_of_every_size,
    answers_ping6_of_every_size,
    loses_none_of_2000_flood_pings,
    loses_none_of_2000_flood_pings6,
    answers_on_its_link_local_address,
    answers_a_ping_to_all_nodes,
)


# ---- a VLAN: by hand, as not each kernel has the module for it ----

TAG = 7
STATION = "02:00:00:00:00:99"


def vlan(driver):
    return Pair(driver, device={"vlan": TAG}, silent=True)


def answers_with_the_tag(pair):
    pair.app.settle()
    pair.discard()
    ask = arp(1, STATION, "10.77.0.2", "00:00:00:00:00:00", V4)
    pair.send(ask, ARP, dst=BROADCAST, vlan=TAG)
    got = pair.receive("an ARP reply", lambda f: f.arp_operation == 2)
    assert (got.vlan, got.dst) == (TAG, STATION), vars(got)
    pair.send(echo("10.77.0.2", V4, 1, 1), IPV4, vlan=TAG)
    got = pair.receive("an echo reply", lambda f: f.proto == ICMP and f.icmp_type == 0)
    assert (got.vlan, got.dst) == (TAG, STATION), vars(got)
    pair.send(neighbour_solicit("fd77::2", V6, STATION), IPV6, vlan=TAG)
    got = pair.receive("an advertisement", lambda f: f.icmp_type == 136 and f.nd_target == V6)
    assert (got.vlan, got.dst) == (TAG, STATION), vars(got)


def does_not_answer_without_it(pair):
    before = pair.app.snapshot()
    for tag in None, 8:
        pair.send(echo("10.77.0.2", V4, 1, 2), IPV4, vlan=tag)
    after = pair.app.after(before, rx_packets=2)
    assert after.dropped(before) == {"vlan": 2}, after.dropped(before)
    assert after.count("tx_packets") == before.count("tx_packets")


# ---- larger frames, as far as the driver goes ----


def largest(driver):
    """An MTU of 9000, or what the refusal of it says is the most."""
    try:
        with Pair(driver, mtu=9000):
            return 9000
    except AssertionError as error:
        by = re.search(r"MTUs have to be lower by (\d+) bytes", str(error))
        most = re.search(r"MTU 9000 is outside the driver's \d+\.\.(\d+)", str(error))
        assert "ended with 1:" in str(error) and (by or most), error
        return 9000 - int(by[1]) if by else int(most[1])


@contextlib.contextmanager
def large(driver):
    mtu = largest(driver)
    with Pair(driver, mtu=mtu) as pair:
        tap.note(f"MTU {mtu}")
        yield pair


def answers_in_one_frame_of_that_size(pair):
    pair.app.settle()
    before = pair.app.snapshot()
    for address, header in (V4, 28), (V6, 48):
        ping_all(pair, address, "-s", str(pair.mtu - header), "-M", "do")
    counted = pair.app.after(before, icmp_tx_echo=4).counted(before, "frag_tx", "frag_rx")
    assert counted == {"frag_tx": 0, "frag_rx": 0}, counted


def answers_65507_in_such_frames(pair):
    pair.app.settle()
    ping_all(pair, V4, "-s", "65507")
    ping_all(pair, V6, "-s", "65507")


# ---- through a router ----


class Routed(Pair):
    """appliance -- router -- far, whose link has a smaller MTU."""

    def __init__(self):
        super().__init__(device={"gateways": ["10.77.0.2", "fd77::2"]})
        self.far = None

    def _build(self):
        super()._build()
        router = self.peer
        self.far = self.namespace("c")
        self.veth(router, "far0", self.far, "near0")
        router.sysctl("net.ipv4.ip_forward", 1)
        router.sysctl("net.ipv6.conf.all.forwarding", 1)
        router.up("far0", "10.88.0.1/24", "fd88::1/64", mtu=1400)
        self.far.up("near0", "10.88.0.2/24", "fd88::2/64", mtu=1400)
        self.far.ip("route", "add", "10.77.0.0/24", "via", "10.88.0.1")
        self.far.ip("route", "add", "fd77::/64", "via", "fd88::1")


def ping_far(lab, address, size):
    words = ("-n", "-c", "1", "-W", "5", "-s", str(size), address)
    return replies(lab.far.run("ping", *words, check=False).stdout)


def answers_by_its_gateway(lab):
    lab.app.settle()
    for address in V4, V6:
        assert ping_far(lab, address, 56) == (1, 1)


def learns_the_mtu_of_the_path(lab):
    """RFC 8201: the reply that is too big is lost, the next is cut to size."""
    lab.app.settle()
    before = lab.app.snapshot()
    lab.far.spawn("ping", "-n", "-c", "1", "-W", "1", "-s", "3000", V6, stdout=subprocess.DEVNULL)
    lab.app.after(before, pmtu_lowered=1)
    for _ in range(2):
        assert ping_far(lab, V6, 3000) == (1, 1)
    counted = lab.app.snapshot().counted(before, "pmtu_lowered")
    assert counted == {"pmtu_lowered": 1}, counted
    paths = lab.app.get("/v1/paths")["paths"]
    assert [(p["remote"], p["mtu"]) for p in paths] == [("fd88::2", 1400)], paths


def leaves_ipv4_to_the_router(lab):
    """Replies without "don't fragment": the router cuts them."""
    assert ping_far(lab, V4, 3000) == (1, 1)


def refuses_too_large_a_packet_with_dont_fragment(lab):
    """From the near side, whose link takes more than the appliance was told to."""
    lab.peer.ip("link", "set", "peer0", "mtu", "2000")
    lab.host.ip("link", "set", "mill0", "mtu", "2000")
    before = lab.app.snapshot()
    output = lab.ping("-c", "1", "-W", "1", "-M", "do", "-s", "1700", V4, check=False)
    assert replies(output)[1] == 0, output
    assert "mtu = 1500" in output or "mtu=1500" in output, output
    poll("too_big counts", 2, lambda: lab.app.snapshot().dropped(before).get("too_big"))


SEVERAL = ("10.77.0.1/24", "10.77.0.9/24", "10.78.0.1/16", "fd77::1/64", "fd78::1/48")


if __name__ == "__main__":
    tap.main(
        *(tap.Group(d, partial(Pair, d), *ON_EACH_DRIVER) for d in DRIVERS),
        tap.Group(
            "several addresses",
            partial(
                Pair,
                ours=SEVERAL,
                theirs=("10.77.0.2/24", "10.78.9.2/16", "fd77::2/64", "fd78::9:2/48"),
            ),
            answers_on_each_of_its_addresses,
        ),
        *(
            tap.Group(
                f"VLAN on {d}", partial(vlan, d), answers_with_the_tag, does_not_answer_without_it
            )
            for d in DRIVERS
        ),
        *(
            tap.Group(
                f"largest MTU of {d}",
                partial(large, d),
                answers_in_one_frame_of_that_size,
                answers_65507_in_such_frames,
            )
            for d in DRIVERS
        ),
        tap.Group(
            "through a router",
            Routed,
            answers_by_its_gateway,
            learns_the_mtu_of_the_path,
            leaves_ipv4_to_the_router,
            refuses_too_large_a_packet_with_dont_fragment,
        ),
    )
