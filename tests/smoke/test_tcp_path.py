#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Segments as large as the way allows: MTUs from the least to the most, a router that says what is too
big for it, and a link that drops it without a word."""
import contextlib
import random
import socket
from functools import partial

import tap
from tcp import (
    DISCARD,
    ECHO,
    LISTENERS,
    SOURCE,
    V4,
    V6,
    TcpPair,
    exchange,
    read_exactly,
    same,
    source_bytes,
)
from test_ping import Routed, largest

DRIVERS = ("af_xdp", "af_packet", "tap")
DATA = random.Random(4).randbytes(1_000_000)
SMALLEST = 1280
TIMESTAMPS = 12  # bytes of options in each segment


def headers(address):
    return TIMESTAMPS + 20 + (40 if ":" in address else 20)


# ---- a link of its own MTU ----


@contextlib.contextmanager
def link(driver, mtu=None):
    mtu = mtu or largest(driver)
    with TcpPair(driver, mtu=mtu) as pair:
        tap.note(f"MTU {mtu}")
        yield pair


def fills_its_packets(pair):
    for address in V4, V6:
        with pair.connect(ECHO, address) as sock:
            same(exchange(sock, DATA), DATA)
        with pair.connect(SOURCE, address) as sock:
            before = pair.app.snapshot()
            same(read_exactly(sock, len(DATA)), source_bytes(0, len(DATA)))
            row = pair.connection_of(sock)
            mss = pair.mtu - headers(address)
            assert (row["mss_bytes"], row["path_mtu_bytes"]) == (mss, pair.mtu), row
            more = pair.app.snapshot().counted(before, "tcp_tx_bytes", "tcp_tx_segments")
            assert more["tcp_tx_bytes"] / more["tcp_tx_segments"] > 0.7 * mss, more


def cuts_nothing(pair):
    now = pair.app.snapshot()
    fragments = [now.count(n) for n in ("frag_tx", "frag_rx")]
    assert fragments == [0, 0], fragments
    pair.nothing_is_left()


# ---- through a router, whose other link has a smaller one ----


class RoutedTcp(Routed):
    def __init__(self):
        super().__init__()
        self.config["listeners"] = LISTENERS


def widen(lab):
    """The far host believes in 1500, and so does who talks to it."""
    for near, far in (("10.88.0.1", "10.77.0.0/24"), ("fd88::1", "fd77::/64")):
        lab.far.ip("route", "replace", far, "via", near, "advmss", "1440")


def is_told_the_mtu_of_the_path(lab):
    lab.app.settle()
    widen(lab)
    for address in V4, V6:
        before = lab.app.snapshot()
        with lab.far.inside(), socket.create_connection((address, SOURCE), 20) as sock:
            same(read_exactly(sock, len(DATA)), source_bytes(0, len(DATA)))
            [row] = lab.app.get("/v1/connections")["connections"]
            assert row["path_mtu_bytes"] == 1400, row
            assert row["mss_bytes"] == 1400 - headers(address), row
        counted = lab.app.after(before, pmtu_lowered=1).counted(before, "pmtu_lowered", "tcp_rto")
        assert counted["pmtu_lowered"] == 1, counted


def knows_it_the_next_time(lab):
    for address in V4, V6:
        before = lab.app.snapshot()
        with lab.far.inside(), socket.create_connection((address, ECHO), 20) as sock:
            same(exchange(sock, DATA), DATA)
        counted = lab.app.snapshot().counted(before, "pmtu_lowered", "tcp_retransmits")
        assert counted == {"pmtu_lowered": 0, "tcp_retransmits": 0}, counted


# ---- a link that drops what is too big for it, and says nothing ----


def finds_out_what_gets_through(pair):
    """A veth drops what the other end's MTU does not allow."""
    for address in V4, V6:
        before = pair.app.snapshot()
        pair.peer.ip("link", "set", pair.peer_if, "mtu", "1500")
        with pair.connect(SOURCE, address) as sock:
            n = len(DATA)
            same(read_exactly(sock, n), source_bytes(0, n))
            pair.peer.ip("link", "set", pair.peer_if, "mtu", "1300")
            for at in n, 10 * n:
                same(read_exactly(sock, 9 * n), source_bytes(at, 9 * n))
            row = pair.connection_of(sock)
            assert row["mss_bytes"] <= 1300 - headers(address), row
        pair.app.after(before, tcp_black_holes=1)


def receives_through_it_as_ever(pair):
    for address in V4, V6:
        with pair.connect(DISCARD, address) as sock:
            assert exchange(sock, DATA) == b""
    pair.nothing_is_left()


if __name__ == "__main__":
    tap.main(
        *(
            tap.Group(
                f"{'least' if mtu else 'largest'} MTU of {driver}",
                partial(link, driver, mtu),
                fills_its_packets,
                cuts_nothing,
            )
            for driver in DRIVERS
            for mtu in (SMALLEST, None)
        ),
        tap.Group(
            "through a router", RoutedTcp, is_told_the_mtu_of_the_path, knows_it_the_next_time
        ),
        tap.Group(
            "a black hole", TcpPair, finds_out_what_gets_through, receives_through_it_as_ever
        ),
    )
