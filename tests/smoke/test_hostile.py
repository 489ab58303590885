#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Somebody on the same cable means harm. Whoever behaves is answered meanwhile, and no buffer is kept
for longer than it takes to give up on it."""
import itertools
import random
import subprocess
import time
from functools import partial

import tap
from corpus import MORE, corpus
from frames import (
    ARP,
    BROADCAST,
    ICMP,
    IPV4,
    IPV6,
    UDP,
    arp,
    echo,
    ether,
    icmp,
    ipv4,
    neighbour_advert,
    neighbour_solicit,
    udp,
)
from lab import Pair
from machine import poll

OUR4, OUR6 = "10.77.0.1", "fd77::1"
EVIL, NOBODY = "02:00:00:00:00:66", "00:00:00:00:00:00"
ANY4 = "0.0.0.0"
# Nobody in the corpus or here pretends to be these.
GOOD4, GOOD6 = "10.77.250.2", "fd77::250"
SEED = 77
PINGS = 50
BURST = 256  # frames between two looks at the clock
RATE = 20000  # a second: less than any build without invariants and any machine can take
MOST_LOST = 5  # of PINGS; a machine at its limit drops some in the kernel
NEIGHBOURS = 512


def host4(n):
    return f"10.77.{1 + n // 250 % 200}.{1 + n % 250}"


def host6(n):
    return f"fd77::9:{n & 0xFFFF:x}"


def out(pair, frames):
    """Sends, at a bounded rate. Returns how many."""
    began, n = time.monotonic(), 0
    for frame in frames:
        pair.raw.send(frame)
        n += 1
        if n % BURST == 0:
            time.sleep(max(0, began + n / RATE - time.monotonic()))
    return n


def pinging(pair):
    """Two of them that ping while something else goes on."""
    return [
        pair.peer.spawn(
            *("ping", "-n", "-q", "-i", "0.02", "-W", "1", "-c", str(PINGS), "-I", src, dst),
            stdout=subprocess.PIPE,
            text=True,
        )
        for src, dst in ((GOOD4, OUR4), (GOOD6, OUR6))
    ]


def answered(pings):
    """How many of the pings, of the worse of the two."""
    said = [p.communicate(timeout=30)[0] for p in pings]
    return min(int(s.split(" received")[0].split()[-1]) for s in said)


def in_use(pair):
    return sum(p["in_use"] for p in pair.app.get("/v1/memory")["pools"])


def attack(pair, frames):
    """Returns the snapshots around it."""
    pair.app.settle()
    before = pair.app.snapshot()
    pings = pinging(pair)
    out(pair, frames)
    got = answered(pings)
    assert got >= PINGS - MOST_LOST, f"{got} of {PINGS} pings were answered"
    health = pair.app.get("/v1/health")
    assert health["status"] == "ok" and not health["warnings"], health
    return before, pair.app.snapshot()


def frame(pair, kind, packet, dst=None):
    return ether(dst or pair.mac, EVIL, kind, packet)


# ---- who cannot be reached ----


def pings_from_nobody(pair):
    frames = [frame(pair, IPV4, echo(host4(n), OUR4, 1, 1, bytes(1000))) for n in range(3000)]
    frames += [frame(pair, IPV6, echo(host6(n), OUR6, 1, 1, bytes(1000))) for n in range(3000)]
    before, after = attack(pair, frames * 4)
    assert after.dropped(before).get("neigh_table_full", 0) > 0
    known = pair.app.get("/v1/neighbours?worker=0&limit=1000")["neighbours"]
    assert NEIGHBOURS / 4 < len(known) < NEIGHBOURS * 3 / 4  # half is kept for who answers


def pings_in_many_pieces_from_nobody(pair):
    """Each waits as one packet, but keeps as many buffers as it came in fragments."""

    def pieces(n):
        message = icmp(8, 0, b"\0\1\0\1", bytes(8 * 100 - 8))
        for at in range(0, len(message), 8):
            more = MORE if at + 8 < len(message) else 0
            packet = ipv4(host4(n), OUR4, ICMP, message[at : at + 8], n, more | at // 8)
            yield frame(pair, IPV4, packet)

    before, after = attack(pair, itertools.chain.from_iterable(pieces(n) for n in range(250)))
    assert after.count("frag_reassembled") - before.count("frag_reassembled") > 200
    assert after.dropped(before).get("neigh_queue_full", 0) > 0
    assert "no_memory" not in after.dropped(before)


def asks_from_thousands_of_senders(pair):
    random.seed(SEED)

    def one():
        mac = "02:" + ":".join(f"{random.randrange(256):02x}" for _ in range(5))
        if random.randrange(2):
            src = f"10.77.{random.randrange(1, 200)}.{random.randrange(1, 250)}"
            return ether(BROADCAST, mac, ARP, arp(1, mac, src, NOBODY, OUR4))
        src = f"fd77::{random.randrange(1, 65536):x}:{random.randrange(65536):x}"
        return ether(pair.mac, mac, IPV6, neighbour_solicit(src, OUR6, mac, dst=OUR6))

    some = [one() for _ in range(5000)]
    attack(pair, itertools.islice(itertools.cycle(some), 30000))


# ---- what never becomes whole ----


def fragments_without_the_rest(pair):
    def piece(n, at, size, more):
        packet = ipv4(host4(n), OUR4, UDP, bytes(size), n & 0xFFFF, (MORE if more else 0) | at // 8)
        return frame(pair, IPV4, packet)

    first = [piece(n, 0, 1400, True) for n in range(4000)]
    last = [piece(n, 1400, 16, False) for n in range(5000, 9000)]
    edge = [piece(n, 65512, 8 + n % 9, n % 2) for n in range(9000, 11000)]
    overlap = [piece(1, 8 * (n % 50), 24, True) for n in range(2000)]
    before, after = attack(pair, first + last + edge + overlap)
    assert after.dropped(before).get("frag_limit", 0) > 1000
    assert "no_memory" not in after.dropped(before)


# ---- what is not true ----


def claims_of_our_addresses(pair):
    lie = [
        ether(BROADCAST, EVIL, ARP, arp(2, EVIL, OUR4, BROADCAST, OUR4)),
        ether(BROADCAST, EVIL, ARP, arp(1, EVIL, ANY4, NOBODY, OUR4)),
        frame(pair, IPV6, neighbour_advert(OUR6, "ff02::1", OUR6, EVIL), "33:33:00:00:00:01"),
        frame(pair, IPV6, neighbour_advert(host6(1), OUR6, OUR6, EVIL)),
    ]
    attack(pair, lie * 3000)
    assert set(pair.app.addresses().values()) == {"preferred"}


def mutants(pair):
    """Of every kind of packet there is: any byte changed, cut off, or added."""
    random.seed(SEED)
    seeds = [f for s in corpus(pair.mac) for f in s.frames if len(f) > 20]
    seeds += [
        frame(pair, IPV4, echo(host4(1), OUR4, 1, 1, bytes(600))),
        frame(pair, IPV6, echo(host6(1), OUR6, 1, 1, bytes(600))),
        frame(pair, IPV4, udp(host4(1), OUR4, 1, 2, bytes(200))),
    ]

    def mutant():
        f = bytearray(random.choice(seeds))
        for _ in range(random.randrange(1, 5)):
            f[random.randrange(len(f))] = random.randrange(256)
        if random.randrange(4) == 0:
            del f[random.randrange(14, len(f)) :]
        return bytes(f) + bytes(random.randrange(16) if random.randrange(8) == 0 else 0)

    before, after = attack(pair, (mutant() for _ in range(40000)))
    assert len(after.dropped(before)) > 30, after.dropped(before)


def nothing_is_kept(pair):
    """Until the fragments of the shorter-lived family have timed out, but for the longer-lived."""
    poll("buffers come back", 45, lambda: in_use(pair) <= pair.idle + 256, step=0.2)


# ---- the cable itself ----


def an_interface_that_is_removed(pair):
    assert answered(pinging(pair)) == PINGS
    pair.peer.ip("link", "del", "peer0")
    poll("health says so", 5, lambda: pair.app.ask("/v1/health")[0] == 503, step=0.05)
    health = pair.app.get("/v1/health", status=503)
    assert health["status"] == "degraded" and "has been removed" in health["warnings"][0], health
    poll("and the log", 5, lambda: "has been removed" in pair.app.log_text(), step=0.05)
    pair.veth(pair.host, "mill0", pair.peer, "peer0")  # another of its name is no help
    for where, name in ((pair.host, "mill0"), (pair.peer, "peer0")):
        where.ip("link", "set", name, "up")
    pair.peer.connected("peer0")
    assert pair.app.get("/v1/health", status=503)["status"] == "degraded"


class Hostile(Pair):
    def __init__(self, driver, workers):
        super().__init__(
            driver,
            ours=(f"{OUR4}/16", f"{OUR6}/64"),
            theirs=(f"{GOOD4}/16", f"{GOOD6}/64"),
            config={
                "workers": {"cores": list(range(workers))},
                "limits": {"neighbours": NEIGHBOURS},
            },
        )
        self.idle = self.mac = None

    def __enter__(self):
        super().__enter__()
        self.mac = self.app.mac()
        self.app.settle()
        self.idle = in_use(self)
        return self


if __name__ == "__main__":
    tap.main(
        *(
            tap.Group(
                f"{driver}, {workers} worker{'s'[: workers > 1]}",
                partial(Hostile, driver, workers),
                pings_from_nobody,
                pings_in_many_pieces_from_nobody,
                asks_from_thousands_of_senders,
                fragments_without_the_rest,
                claims_of_our_addresses,
                mutants,
                *([nothing_is_kept] if driver == "af_packet" else []),
                an_interface_that_is_removed,
            )
            for driver, workers in (("af_packet", 1), ("af_xdp", 2))
        )
    )
