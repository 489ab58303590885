#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""The cable is out for 25 seconds. Connections go on afterwards, when the side that has something to
send tries again: by then the time between two tries has grown to 13 seconds."""
import random
import threading
import time
from functools import partial

import tap
from machine import poll
from tcp import DISCARD, ECHO, SOURCE, V4, V6, TcpPair, exchange, read_exactly, same, source_bytes

CUT = 25  # a try every 0.2, 0.4, 0.8, … s: the last in vain after 12.6 s, the next after 25.4 s
BACK = 60  # seconds: a retransmission timeout that has doubled meanwhile
DATA = random.Random(3).randbytes(3_000_000)
PIECES = 30
READ = 1_000_000


class Busy(threading.Thread):
    """Something that goes on in small steps, and what came of it."""

    def __init__(self, pair, port, address):
        super().__init__(daemon=True)
        self.sock = pair.connect(port, address)
        self.sock.settimeout(CUT + BACK + 10)
        self.port = port
        self.steps = 0
        self.error = None

    def run(self):
        try:
            {ECHO: self.echo, DISCARD: self.send, SOURCE: self.receive}[self.port]()
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def echo(self):
        size = len(DATA) // PIECES
        for n in range(PIECES):
            part = DATA[n * size : (n + 1) * size]
            self.sock.sendall(part)
            same(read_exactly(self.sock, size), part)
            self.steps += 1
            time.sleep(0.1)

    def send(self):
        for _ in range(PIECES):
            self.sock.sendall(DATA[: len(DATA) // PIECES])
            self.steps += 1
            time.sleep(0.1)
        assert exchange(self.sock, b"") == b""

    def receive(self):
        for n in range(PIECES):
            size = READ // 10
            same(read_exactly(self.sock, size), source_bytes(n * size, size))
            self.steps += 1
            time.sleep(0.1)


def go_on_after_a_cut(pair):
    busy = [Busy(pair, p, a) for p in (ECHO, DISCARD, SOURCE) for a in (V4, V6)]
    idle = pair.connect(ECHO)
    for b in busy:
        b.start()
    poll("all are at it", 10, lambda: all(b.steps >= 3 for b in busy))
    with pair.cut():
        time.sleep(1)
        echoes = [b.steps for b in busy if b.port == ECHO]
        time.sleep(CUT - 1)
        assert echoes == [b.steps for b in busy if b.port == ECHO], "the link was not cut"
    began = time.monotonic()
    for b in busy:
        b.join(BACK)
        assert not b.is_alive() and b.error is None, (b.port, b.steps, b.error)
        b.sock.close()
    tap.note(f"all done {time.monotonic() - began:.0f} s after")
    with idle:
        assert exchange(idle, b"still there") == b"still there"


def leaves_nothing(pair):
    pair.nothing_is_left()


if __name__ == "__main__":
    tap.main(tap.Group("af_xdp", partial(TcpPair), go_on_after_a_cut, leaves_nothing))
