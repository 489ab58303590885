#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Connections by the thousand: at once, one after the other, and those that never become whole.

SMOKE_CONNECTIONS is how many come one after the other in each group; 100000 takes some minutes."""
import contextlib
import os
import random
import selectors
import socket
import time
from functools import partial

import tap
from frames import ARP, IPV4, arp
from machine import poll
from tcp import (
    DISCARD,
    ECHO,
    RESET,
    SLACK,
    SOURCE,
    SYN,
    TcpPair,
    V4,
    V6,
    exchange,
    more_files,
    read_exactly,
    segment,
)

CROWD = 1000
SEQUENCE = int(os.environ.get("SMOKE_CONNECTIONS", 6500))
STATION, STRANGER = "02:00:00:00:00:99", "10.77.0.3"
SYNS = 5000
BACKLOG = 64
DATA = random.Random(2).randbytes(5000)


# ---- at once ----


def begin(pair, count):
    """That many sockets that are connecting."""
    socks = [pair.open(V6 if n % 2 else V4) for n in range(count)]
    for n, sock in enumerate(socks):
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            sock.connect((V6 if n % 2 else V4, ECHO))
    return socks


def talk(socks, seconds=60):
    """Each says something of its own and hears it."""
    waiter = selectors.DefaultSelector()
    got = {sock: b"" for sock in socks}
    for n, sock in enumerate(socks):
        waiter.register(sock, selectors.EVENT_WRITE, n)
    until, left = time.monotonic() + seconds, len(socks)
    while left:
        assert time.monotonic() < until, f"{left} of {len(socks)} are not done"
        for key, _ in waiter.select(1):
            sock, n = key.fileobj, key.data
            said = DATA[n % 1000 :]
            if key.events & selectors.EVENT_WRITE:
                assert sock.send(said) == len(said)
                waiter.modify(sock, selectors.EVENT_READ, n)
                continue
            got[sock] += sock.recv(1 << 16)
            if len(got[sock]) >= len(said):
                assert got[sock] == said, f"connection {n} heard something else"
                waiter.unregister(sock)
                left -= 1


def leave(sock, how):
    """In order, at once, or by a reset."""
    sock.setblocking(True)
    if how == 0:
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(1) == b""
    elif how == 1:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    sock.close()


def a_thousand_talk_at_once(pair):
    before = pair.app.snapshot()
    with contextlib.ExitStack() as stack:
        socks = begin(pair, CROWD)
        for sock in socks:
            stack.callback(sock.close)
        talk(socks)
        assert pair.open_now() == CROWD
        rows = pair.connections()
        assert len({r["id"] for r in rows}) == len(rows) == CROWD
        assert {r["worker"] for r in rows} == set(pair.config["workers"]["cores"])
        assert len(pair.connections(state="established", listener="echo")) == CROWD
        talk(socks)
        for n, sock in enumerate(socks):
            leave(sock, n % 3)
    after = pair.app.after(before, tcp_closed=CROWD)
    counted = after.counted(before, "tcp_accepted", "tcp_opened", "tcp_closed")
    assert set(counted.values()) == {CROWD}, counted


# ---- one after the other ----


def thousands_come_and_go(pair):
    """With a request each, on each service, and a leave of any kind."""
    pair.peer.sysctl("net.ipv4.tcp_tw_reuse", 1)
    pair.peer.sysctl("net.ipv4.ip_local_port_range", "2000 65000")
    before, began = pair.app.snapshot(), time.monotonic()
    with pair.peer.inside():
        for n in range(SEQUENCE):
            port = (ECHO, ECHO, DISCARD, SOURCE)[n % 4]
            with socket.create_connection((V6 if n % 3 else V4, port), 20) as sock:
                sock.sendall(b"request")
                if port != DISCARD:
                    assert len(read_exactly(sock, 7)) == 7
                if port != SOURCE:
                    leave(sock, n % 5)
    tap.note(f"{SEQUENCE / (time.monotonic() - began):.0f} connections a second")
    after = pair.app.after(before, tcp_closed=SEQUENCE)
    counted = after.counted(before, "tcp_accepted", "tcp_opened", "tcp_closed")
    assert set(counted.values()) == {SEQUENCE}, counted


def leaves_nothing(pair):
    pair.nothing_is_left()


# ---- that never become whole ----


def syns(pair, count):
    """From a stranger who answers nothing: he is known as a neighbour, so that he is sent to."""
    ask = arp(1, STATION, STRANGER, "00:00:00:00:00:00", V4)
    pair.send(ask, ARP, src=STATION)
    for n in range(count):
        syn = segment(STRANGER, V4, 1024 + n, ECHO, n * 12345, SYN)
        pair.send(syn, IPV4, src=STATION)
        if n % 100 == 99:
            time.sleep(0.005)


def half_open_ones_keep_nobody_out(pair):
    before = pair.app.snapshot()
    syns(pair, SYNS // 2)
    for _ in range(20):
        syns(pair, SYNS // 40)
        with pair.connect(ECHO) as sock:
            assert exchange(sock, DATA) == DATA
    after = pair.app.after(before, tcp_cookies_tx=SYNS // 2)
    assert after.count("tcp_cookies_rx") - before.count("tcp_cookies_rx") > 0
    listener = pair.app.get("/v1/listeners")["listeners"][0]
    assert listener["half_open"] == BACKLOG == listener["backlog_per_worker"], listener
    assert pair.buffers() < pair.idle + BACKLOG + SLACK


def and_are_forgotten(pair):
    pair.nothing_is_left(seconds=15)


def a_full_backlog_without_cookies_drops(pair):
    before = pair.app.snapshot()
    for n in range(2 * BACKLOG):
        syn = segment(STRANGER, V4, 1024 + n, DISCARD, n, SYN)
        pair.send(syn, IPV4, src=STATION)
    poll(
        "the rest is dropped",
        5,
        lambda: pair.app.snapshot().dropped(before).get("tcp_backlog", 0) == BACKLOG,
    )
    listener = pair.app.get("/v1/listeners")["listeners"][1]
    assert listener["refused"] == BACKLOG, listener


HALF_OPEN = [
    {"name": "echo", "port": ECHO, "service": "echo", "backlog": BACKLOG},
    {
        "name": "discard",
        "port": DISCARD,
        "service": "discard",
        "backlog": BACKLOG,
        "syn-cookies": False,
    },
]


def crowded(driver, workers):
    return TcpPair(
        driver,
        queues=workers,
        device={"queues": workers} if workers > 1 else None,
        config={"workers": {"cores": list(range(workers))}},
    )


if __name__ == "__main__":
    more_files()
    tap.main(
        *(
            tap.Group(
                f"{driver}, {workers} worker{'s'[: workers > 1]}",
                partial(crowded, driver, workers),
                a_thousand_talk_at_once,
                leaves_nothing,
                thousands_come_and_go,
                leaves_nothing,
            )
            for driver, workers in (("af_xdp", 2), ("af_packet", 1), ("tap", 1))
        ),
        tap.Group(
            "half-open ones",
            partial(TcpPair, tcp={"accept-timeout-s": 3}, config={"listeners": HALF_OPEN}),
            half_open_ones_keep_nobody_out,
            a_full_backlog_without_cookies_drops,
            and_are_forgotten,
        ),
    )
