#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""The kernel's TCP at the other end of a line that delays, loses, reorders, duplicates and corrupts:
netem in a user-mode Linux between the two. Whether it is fast is `make bench T=tcp_netem`'s matter."""
import random
import time
from functools import partial

import tap
from machine import poll
from tap import note
from tcp import DISCARD, ECHO, SOURCE, V4, V6, TcpPair, exchange, read_exactly, same, source_bytes
from uml import Cable

TRIES = 3  # a pause of the machine's may have been a timeout's cause, but not each time
DATA = random.Random(1).randbytes(4_000_000)


class Line:
    """What netem does each way, and how much is sent over it, in a second or two."""

    def __init__(self, name, netem, size, timeouts=True):
        self.name = name
        self.netem = netem
        self.size = size
        self.timeouts = timeouts  # are they due?


LINES = (
    Line("20 ms", "delay 10ms", 4_000_000, timeouts=False),
    Line("20 ms, 5 % reordered", "delay 10ms reorder 5%", 2_000_000, timeouts=False),
    Line("20 ms, 1 % duplicated", "delay 10ms duplicate 1%", 4_000_000, timeouts=False),
    Line("20 ms, 1 % lost", "delay 10ms loss 1%", 1_000_000),
    Line("50 ms, 3 % lost", "delay 25ms loss 3%", 300_000),
    Line("20 ms, 20 Mbit/s and a short queue", "delay 10ms rate 20mbit limit 50", 2_000_000),
    Line(
        "all of it",
        "delay 10ms 3ms loss 1% duplicate 1% corrupt 0.3% reorder 5%",
        500_000,
    ),
)


class Rough(TcpPair):
    """A pair with netem in between."""

    def __init__(self):
        super().__init__("af_packet")
        self.cable = None

    def veth(self, one, one_name, other, other_name, queues=1):
        self.cable = Cable(self, one, one_name, other, other_name)

    def explain(self, since):
        return super().explain(since) + self.cable.explain()


def fetches(pair, n, address):
    with pair.connect(SOURCE, address) as sock:
        same(read_exactly(sock, n), source_bytes(0, n))


def delivers(pair, n, address):
    before = pair.app.snapshot()
    with pair.connect(DISCARD, address) as sock:
        assert exchange(sock, DATA[:n]) == b""
    pair.app.after(before, tcp_rx_bytes=n)


def gets_back(pair, n, address):
    with pair.connect(ECHO, address) as sock:
        same(exchange(sock, DATA[:n]), DATA[:n])


def figures(before, after, lost):
    names = ("retransmits", "rto", "tlp", "recoveries", "spurious", "reordered")
    counted = after.counted(before, *(f"tcp_{n}" for n in names))
    texts = [f"{n.removeprefix('tcp_')} {k}" for n, k in counted.items() if k]
    return ", ".join(texts + [f"{lost} packets lost on the way to netem"] * bool(lost))


def measured(pair, line, transfer, address):
    """Was every timeout one that was due?"""
    before, lost, start = pair.app.snapshot(), pair.cable.lost(), time.monotonic()
    transfer(pair, line.size, address)
    rate = line.size * 8e-6 / (time.monotonic() - start)
    after, lost = pair.app.snapshot(), pair.cable.lost() - lost
    assert after.count("tcp_timed_out") == before.count("tcp_timed_out")
    note(f"{rate:.1f} Mbit/s; {figures(before, after, lost)}")
    return line.timeouts or lost or after.count("tcp_rto") == before.count("tcp_rto")


def ends_well(pair):
    """However long that takes with what gets lost on the way."""
    poll("all connections end", 30, lambda: pair.open_now() == 0, step=0.02)
    pair.nothing_is_left()


def run(line, transfer, address, pair):
    pair.cable.shape(line.netem)
    assert any(measured(pair, line, transfer, address) for _ in range(TRIES)), "needless timeouts"
    ends_well(pair)


def cases():
    for line in LINES:
        for transfer, address in (fetches, V4), (delivers, V4), (gets_back, V4), (gets_back, V6):
            case = partial(run, line, transfer, address)
            case.__name__ = f"{line.name}: {transfer.__name__} ({'IPv6' if address == V6 else 'IPv4'})"
            yield case


if __name__ == "__main__":
    tap.main(tap.Group("netem", Rough, *cases()))
