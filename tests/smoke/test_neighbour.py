#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""ARP and neighbour discovery: unanswered, answered, changed, announced; a peer that comes back as
another station; an address that is taken."""
import signal
import time
from functools import partial

import tap
from frames import (
    ARP,
    BROADCAST,
    ICMP,
    IPV4,
    IPV6,
    arp,
    echo,
    multicast_mac,
    neighbour_advert,
    neighbour_solicit,
)
from lab import Pair
from machine import poll

V4, V6 = "10.77.0.1", "fd77::1"
NOBODY = "00:00:00:00:00:00"
A, B, C = "02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0c"
RECOVERY = 10  # seconds


# ---- frames of stations that the test makes up ----


def ask_arp(pair, ip, mac, target=V4):
    pair.send(arp(1, mac, ip, NOBODY, target), ARP, src=mac, dst=BROADCAST)


def answer_arp(pair, ip, mac):
    pair.send(arp(2, mac, ip, pair.app.mac(), V4), ARP, src=mac)


def ask_nd(pair, ip, mac):
    packet = neighbour_solicit(ip, V6, mac)
    pair.send(packet, IPV6, src=mac, dst=multicast_mac("ff02::1:ff00:1"))


def advertise(pair, ip, mac, **flags):
    packet = neighbour_advert(ip, "ff02::1", ip, mac, **flags)
    pair.send(packet, IPV6, src=mac, dst=multicast_mac("ff02::1"))


def request(pair, ip, mac, seq):
    v6 = ":" in ip
    pair.send(echo(ip, V6 if v6 else V4, 7, seq), IPV6 if v6 else IPV4, src=mac)


def reply(pair, seq):
    def match(f):
        kind = 0 if f.proto == ICMP else 129
        return f.icmp_type == kind and (f.icmp_id, f.icmp_seq) == (7, seq)

    return pair.receive(f"echo reply {seq}", match)


def replies_go_to(pair, ip, mac, seq):
    """Whatever station the request came from."""
    request(pair, ip, "02:00:00:00:00:77", seq)
    got = reply(pair, seq)
    assert (got.dst, got.ip_dst) == (mac, ip), f"reply {seq} to {got.dst}, not {mac}"


def question(pair, ip):
    """The next ARP request or solicitation about ip."""
    return pair.receive(
        f"a question about {ip}",
        lambda f: (f.arp_operation == 1 and f.arp_target == ip)
        or (f.icmp_type == 135 and f.nd_target == ip),
    )


def state_of(pair, ip):
    rows = pair.app.get("/v1/neighbours")["neighbours"]
    return next((r["state"] for r in rows if r["address"] == ip), None)


# ---- cases ----


def gives_up_on_those_that_do_not_answer(pair):
    """Three questions, a second apart (RFC 4861 10); ARP does as ND."""
    pair.app.settle()
    pair.app.announced()
    pair.discard()
    before = pair.app.snapshot()
    for ip in "10.77.0.50", "fd77::50":
        request(pair, ip, A, 1)
        assert question(pair, ip).dst != A
        assert state_of(pair, ip) == "incomplete", state_of(pair, ip)
    after = poll(
        "two packets give up",
        5,
        lambda: (s := pair.app.published()).drops["neigh_unreachable"] == 2 and s,
        step=0.02,
    )
    assert after.dropped(before) == {"neigh_unreachable": 2}, after.dropped(before)
    asked = after.counted(before, "arp_tx_requests", "nd_tx_solicits", "icmp_rx_echo")
    assert asked == {"arp_tx_requests": 3, "nd_tx_solicits": 3, "icmp_rx_echo": 2}, asked


def asks_and_then_replies(pair):
    request(pair, "10.77.0.51", A, 2)
    question(pair, "10.77.0.51")
    answer_arp(pair, "10.77.0.51", B)
    assert reply(pair, 2).dst == B
    assert state_of(pair, "10.77.0.51") == "reachable"
    request(pair, "fd77::51", A, 3)
    question(pair, "fd77::51")
    packet = neighbour_advert("fd77::51", V6, "fd77::51", B, solicited=True)
    pair.send(packet, IPV6, src=B)
    assert reply(pair, 3).dst == B
    assert state_of(pair, "fd77::51") == "reachable"


def follows_a_neighbour_that_changed(pair):
    """It learns from a question to us, and from the next one of another station."""
    before = pair.app.snapshot()
    for ip, ask in ("10.77.0.52", ask_arp), ("fd77::52", ask_nd):
        ask(pair, ip, A)
        replies_go_to(pair, ip, A, 4)
        ask(pair, ip, B)
        replies_go_to(pair, ip, B, 5)
    counted = pair.app.snapshot().counted(before, "neigh_changes", "arp_tx_replies")
    assert counted == {"neigh_changes": 2, "arp_tx_replies": 2}, counted


def follows_a_gratuitous_announcement(pair):
    before = pair.app.snapshot()
    ask_arp(pair, "10.77.0.52", C, target="10.77.0.52")
    replies_go_to(pair, "10.77.0.52", C, 6)
    pair.send(arp(2, A, "10.77.0.52", BROADCAST, "10.77.0.52"), ARP, src=A, dst=BROADCAST)
    replies_go_to(pair, "10.77.0.52", A, 7)
    counted = pair.app.snapshot().counted(before, "neigh_changes", "arp_tx_replies")
    assert counted == {"neigh_changes": 2, "arp_tx_replies": 0}, counted


def follows_an_advertisement_that_overrides(pair):
    """RFC 4861 7.2.5: only with the override flag."""
    advertise(pair, "fd77::52", C, override=False)
    replies_go_to(pair, "fd77::52", B, 8)
    advertise(pair, "fd77::52", C)
    replies_go_to(pair, "fd77::52", C, 9)


def learns_nothing_from_strangers(pair):
    """An announcement of an address that nobody asked for makes no entry."""
    before = pair.app.snapshot()
    ask_arp(pair, "10.77.0.60", A, target="10.77.0.60")
    advertise(pair, "fd77::60", A)
    after = pair.app.after(before, rx_packets=2)
    assert after.dropped(before) == {"arp_not_ours": 1, "nd_not_ours": 1}, after.dropped(before)
    assert state_of(pair, "10.77.0.60") is None and state_of(pair, "fd77::60") is None


def defends_its_address_but_not_in_a_duel(pair):
    """RFC 5227 2.4 c: once in ten seconds."""
    before = pair.app.snapshot()
    pair.discard()
    ask_arp(pair, V4, A, target=V4)
    got = pair.receive("an announcement", lambda f: f.arp_operation == 1 and f.arp_target == V4)
    assert (got.ip_src, got.dst) == (V4, BROADCAST), vars(got)
    ask_arp(pair, V4, A, target=V4)
    after = pair.app.after(before, rx_packets=2)
    assert after.dropped(before) == {"arp_conflict": 2}, after.dropped(before)
    assert after.counted(before, "tx_packets") == {"tx_packets": 1}


# ---- a peer that boots again ----


def reboot(pair, name, mac):
    """The peer's namespace is another, its station too; the cable stays."""
    new = pair.namespace(name)
    pair.peer.ip("link", "set", "peer0", "netns", new.name)
    pair.peer = new
    new.plain("peer0")
    new.ip("link", "set", "peer0", "address", mac)
    new.up("peer0", *pair.theirs)


def seconds_until_answer(pair, address):
    start = time.monotonic()
    poll(
        f"{address} answers again",
        RECOVERY,
        lambda: " 1 received" in pair.ping("-c", "1", "-W", "0.5", address, check=False),
    )
    return time.monotonic() - start


def recovers_when_the_peer_boots_again(pair):
    pair.app.settle()
    for address in V4, V6:
        pair.ping("-c", "1", "-W", "5", address)
    for name, mac in ("b2", B), ("b3", C):
        reboot(pair, name, mac)
        for address in V4, V6:
            tap.note(f"{address} after {seconds_until_answer(pair, address):.2f} s")
        assert state_of(pair, "10.77.0.2") and state_of(pair, "fd77::2")
    rows = pair.app.get("/v1/neighbours")["neighbours"]
    assert {r["mac"] for r in rows} == {C}, rows


# ---- an address that is taken ----


def does_not_use_an_address_that_is_taken(pair):
    pair.app.settle()
    states = pair.app.addresses()
    assert states[V6] == "duplicate" and states["fd77::8"] == "preferred", states
    assert pair.app.snapshot().count("dad_duplicates") == 1
    pair.ping("-c", "1", "-W", "5", "fd77::8")


def takes_it_at_a_reload_once_it_is_free(pair):
    pair.peer.ip("addr", "del", f"{V6}/64", "dev", "peer0")
    pair.app.process.send_signal(signal.SIGHUP)
    poll("the address is tried again", 2, lambda: pair.app.addresses()[V6] != "duplicate")
    pair.app.settle()
    assert pair.app.addresses()[V6] == "preferred", pair.app.addresses()
    pair.ping("-c", "1", "-W", "5", V6)


if __name__ == "__main__":
    tap.main(
        tap.Group(
            "neighbours",
            partial(Pair, silent=True),
            gives_up_on_those_that_do_not_answer,
            asks_and_then_replies,
            follows_a_neighbour_that_changed,
            follows_a_gratuitous_announcement,
            follows_an_advertisement_that_overrides,
            learns_nothing_from_strangers,
            defends_its_address_but_not_in_a_duel,
        ),
        tap.Group("reboot", Pair, recovers_when_the_peer_boots_again),
        tap.Group(
            "duplicate",
            partial(
                Pair,
                ours=("10.77.0.1/24", "fd77::1/64", "fd77::8/64"),
                theirs=("fd77::1/64", "fd77::2/64"),
            ),
            does_not_use_an_address_that_is_taken,
            takes_it_at_a_reload_once_it_is_free,
        ),
    )
