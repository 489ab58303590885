#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""What ends other than in order: peers that are killed or vanish, an appliance that starts again."""
import socket
import subprocess
import sys
from functools import partial

import tap
from machine import end, poll
from tcp import DISCARD, ECHO, RESET, SOURCE, V4, V6, TcpPair, exchange, read_exactly, source_bytes

# A client that holds a connection of each kind, busy and idle ones, until it is killed.
CLIENT = """
import socket, sys, threading
def connect(address, port):
    return socket.create_connection((address, port))
def pump(sock):
    while True:
        sock.sendall(bytes(65536))
held = []
for address in sys.argv[1:]:
    held += [connect(address, port) for port in (7, 9, 19, 7)]
    for sock in held[-4:-2]:
        threading.Thread(target=pump, args=(sock,), daemon=True).start()
print("up", flush=True)
while True:
    held[2].recv(65536)
"""
HELD = 8
SHORT = {"user-timeout-s": 3, "keepalive-s": 2, "keepalive-interval-s": 1, "keepalive-probes": 2}


def client(pair):
    """Runs, and has its connections."""
    process = pair.peer.spawn(
        sys.executable, "-c", CLIENT, V4, V6, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "up\n"
    poll("all are open", 5, lambda: pair.open_now() == HELD)
    return process


def a_client_that_is_killed(pair):
    before = pair.app.snapshot()
    end(client(pair))
    pair.nothing_is_left()
    after = pair.app.snapshot()
    assert after.count("tcp_resets_rx") > before.count("tcp_resets_rx")


def resets_of_busy_connections(pair):
    before = pair.app.snapshot()
    for n in range(30):
        with pair.connect((ECHO, SOURCE, DISCARD)[n % 3], (V4, V6)[n % 2]) as sock:
            if n % 3 != 1:
                sock.sendall(bytes(200_000))
            else:
                read_exactly(sock, 10_000)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    pair.app.after(before, tcp_closed=30, tcp_resets_rx=20)
    pair.nothing_is_left()


def a_peer_that_vanishes(pair):
    """Nobody says a word any more: what was sent times out, and idle ones are asked in vain."""
    before = pair.app.snapshot()
    process = client(pair)
    with pair.cut():
        end(process)  # its last words are not heard
        pair.app.after(before, seconds=30, tcp_timed_out=HELD)
        pair.nothing_is_left()
    with pair.connect(ECHO) as sock:
        assert exchange(sock, b"again") == b"again"


def a_peer_that_starts_again(pair):
    """It answers what we send on old connections with resets."""
    before = pair.app.snapshot()
    process = client(pair)
    with pair.cut():
        end(process)
    pair.app.after(before, seconds=30, tcp_closed=HELD)
    pair.nothing_is_left()


def who_is_idle_is_asked_and_stays(pair):
    before = pair.app.snapshot()
    with pair.connect(ECHO) as sock:
        pair.app.after(before, tcp_keepalives=2)
        sock.sendall(b"still here")
        assert read_exactly(sock, 10) == b"still here"


def an_appliance_that_starts_again(pair):
    """Its peers hear of it: those that send at once, at the latest."""
    with pair.connect(ECHO) as idle, pair.connect(SOURCE, V6) as busy:
        assert read_exactly(busy, 100_000) == source_bytes(0, 100_000)
        pair.app.check_stop()
        pair.app.start()
        pair.app.settle()
        for sock in idle, busy:
            try:
                while sock.recv(1 << 16):
                    sock.send(b"is anybody there")
            except (ConnectionResetError, BrokenPipeError):
                continue
            raise AssertionError("it ended in order")
    with pair.connect(ECHO) as sock:
        assert exchange(sock, b"again") == b"again"


if __name__ == "__main__":
    tap.main(
        *(
            tap.Group(
                driver,
                partial(TcpPair, driver, tcp=SHORT),
                a_client_that_is_killed,
                resets_of_busy_connections,
                a_peer_that_vanishes,
                a_peer_that_starts_again,
                who_is_idle_is_asked_and_stays,
                an_appliance_that_starts_again,
            )
            for driver in ("af_xdp", "af_packet")
        ),
    )
