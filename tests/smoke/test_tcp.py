#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Echo, discard and source with the kernel's TCP at the other end."""
import json
import random
import socket
import time
from functools import partial

import tap
from machine import poll
from tcp import (
    DISCARD,
    ECHO,
    SOURCE,
    V4,
    V6,
    TcpPair,
    exchange,
    read_all,
    read_exactly,
    same,
    send_until_full,
    source_bytes,
)

DRIVERS = ("af_xdp", "af_packet", "tap")
LARGE = random.Random(1).randbytes(10_000_000)
SMALL = LARGE[:300_000]
NODELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
FAMILIES = V4, V6


# ---- what each service does ----


def echoes_ten_megabytes(pair):
    with pair.connect(ECHO) as sock:
        same(exchange(sock, LARGE), LARGE)


def echoes_ten_megabytes6(pair):
    with pair.connect(ECHO, V6) as sock:
        same(exchange(sock, LARGE), LARGE)


def discards_ten_megabytes(pair):
    for address in FAMILIES:
        before = pair.app.snapshot()
        with pair.connect(DISCARD, address) as sock:
            assert exchange(sock, LARGE) == b""
        pair.app.after(before, tcp_rx_bytes=len(LARGE), tcp_closed=1)


def sends_the_pattern_until_it_is_told_to_end(pair):
    for address in FAMILIES:
        with pair.connect(SOURCE, address) as sock:
            n = len(LARGE)
            same(read_exactly(sock, n), source_bytes(0, n))
            sock.sendall(b"is ignored")
            sock.shutdown(socket.SHUT_WR)
            rest = read_all(sock)
            same(rest, source_bytes(n, len(rest)))


def echoes_what_comes_in_small_pieces(pair):
    for address in FAMILIES:
        with pair.connect(ECHO, address, [NODELAY]) as sock:
            same(exchange(sock, SMALL[:20_000], piece=1), SMALL[:20_000])


def sends_packets_of_odd_parts(pair):
    """Of which no driver gets a checksum wrong."""
    before = pair.app.snapshot()
    for address in FAMILIES:
        with pair.connect(ECHO, address, [NODELAY]) as sock:
            same(exchange(sock, SMALL, piece=777), SMALL)
    again = pair.app.snapshot().counted(before, "tcp_retransmits")
    assert again["tcp_retransmits"] < 20, again


def answers_the_end_alone(pair):
    for address in FAMILIES:
        for port in ECHO, DISCARD:
            with pair.connect(port, address) as sock:
                assert exchange(sock, b"") == b""


def refuses_where_nobody_listens(pair):
    for address in FAMILIES:
        before = pair.app.snapshot()
        try:
            pair.connect(4321, address).close()
        except ConnectionRefusedError:
            pass
        else:
            raise AssertionError("it was not refused")
        after = pair.app.after(before, tcp_resets_tx=1)
        assert after.dropped(before) == {"tcp_port": 1}, after.dropped(before)


def answers_on_its_link_local_address(pair):
    with pair.connect(ECHO, f"{pair.app.link_local()}%{pair.peer_if}") as sock:
        same(exchange(sock, SMALL), SMALL)


def leaves_nothing(pair):
    pair.nothing_is_left()


ON_EACH_DRIVER = (
    echoes_ten_megabytes,
    echoes_ten_megabytes6,
    discards_ten_megabytes,
    sends_the_pattern_until_it_is_told_to_end,
    echoes_what_comes_in_small_pieces,
    sends_packets_of_odd_parts,
    answers_the_end_alone,
    refuses_where_nobody_listens,
    answers_on_its_link_local_address,
    leaves_nothing,
)


# ---- peers that are slow, or do not read ----

SHORT = (socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)


def waits_for_a_reader_that_stops(pair):
    before = pair.app.snapshot()
    with pair.connect(SOURCE, options=[SHORT]) as sock:
        pair.app.after(before, tcp_window_probes=2)
        row = pair.connection_of(sock)
        assert row["send_window_bytes"] < 1448 and row["unsent_bytes"] > 0, row
        n = len(SMALL)
        same(read_exactly(sock, n), source_bytes(0, n))
        time.sleep(1)
        same(read_exactly(sock, n), source_bytes(n, n))


def stops_who_sends_and_does_not_read(pair):
    """What is under way fills both sides' buffers, then the sender stands; nothing is lost of it."""
    data = LARGE + LARGE + LARGE
    with pair.connect(ECHO) as sock:
        sent = send_until_full(sock, data)
        assert 100_000 < sent < len(data), sent
        assert pair.buffers() < pair.idle + 12_000
        sock.setblocking(True)
        sock.settimeout(20)
        same(read_exactly(sock, sent), data[:sent])
        same(exchange(sock, SMALL), SMALL)


def keeps_many_small_pieces_in_few_buffers(pair):
    """Of one byte each, from somebody who does not read them."""
    with pair.connect(ECHO, options=[NODELAY, SHORT]) as sock:
        sock.setblocking(False)
        sent = 0
        while sent < 100_000:
            try:
                sent += sock.send(SMALL[sent : sent + 1])
            except BlockingIOError:
                break
        row = pair.connection_of(sock)
        held = pair.buffers() - pair.idle
        assert row["rx_segments"] > 10 * held and held < 500, (row, held)
        sock.setblocking(True)
        same(read_exactly(sock, sent), SMALL[:sent])
        same(exchange(sock, SMALL), SMALL)


def reads_on_after_the_peer_has_half_closed(pair):
    """Its end comes while most of the answer has still to go."""
    with pair.connect(ECHO, options=[SHORT]) as sock:
        sock.sendall(SMALL[:100_000])
        sock.shutdown(socket.SHUT_WR)
        ended = ("close-wait", "last-ack")
        poll("the end has come", 10, lambda: pair.connection_of(sock)["state"] in ended)
        same(read_all(sock), SMALL[:100_000])


def takes_urgent_data_as_any_other(pair):
    with pair.connect(ECHO) as sock:
        sock.send(b"before ")
        sock.send(b"urgent!", socket.MSG_OOB)
        sock.send(b" after")
        assert read_exactly(sock, 20) == b"before urgent! after"
        same(exchange(sock, SMALL), SMALL)


def answers_keepalives(pair):
    probing = [
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 1),
    ]
    with pair.connect(ECHO, options=probing) as sock:
        time.sleep(3.5)
        same(exchange(sock, SMALL), SMALL)


# ---- peers that cannot, or will not, do all of TCP ----

LESS = {
    "net.ipv4.tcp_timestamps": (0, "timestamps"),
    "net.ipv4.tcp_sack": (0, "sack"),
    "net.ipv4.tcp_window_scaling": (0, "window_scaling"),
    "net.ipv4.tcp_ecn": (1, "ecn"),
}


def talks_to_a_peer_without(pair, key):
    with pair.peer.inside():
        with open("/proc/sys/" + key.replace(".", "/"), encoding="ascii") as file:
            usual = file.read().strip()
    value, flag = LESS[key]
    pair.peer.sysctl(key, value)
    try:
        with pair.connect(ECHO) as sock:
            assert pair.connection_of(sock)[flag] is (value == 1)
            same(exchange(sock, LARGE[:2_000_000]), LARGE[:2_000_000])
    finally:
        pair.peer.sysctl(key, usual)


def talks_to_a_peer_without_timestamps(pair):
    talks_to_a_peer_without(pair, "net.ipv4.tcp_timestamps")


def talks_to_a_peer_without_sack(pair):
    talks_to_a_peer_without(pair, "net.ipv4.tcp_sack")


def talks_to_a_peer_without_window_scaling(pair):
    talks_to_a_peer_without(pair, "net.ipv4.tcp_window_scaling")


def talks_to_a_peer_with_ecn(pair):
    talks_to_a_peer_without(pair, "net.ipv4.tcp_ecn")


# ---- what the operator sees and does ----


def shows_a_connection(pair):
    with pair.connect(ECHO) as sock:
        sock.sendall(b"hello")
        read_exactly(sock, 5)
        port = sock.getsockname()[1]
        [row] = pair.connections()
        assert (row["state"], row["listener"], row["service"]) == ("established", "echo", "echo")
        assert (row["local_address"], row["local_port"]) == (V4, ECHO), row
        assert (row["remote_address"], row["remote_port"]) == ("10.77.0.2", port), row
        assert row["rx_bytes"] == row["tx_bytes"] == 5, row
        assert row["passive"] and row["timestamps"] and row["sack"] and row["window_scaling"]
        assert 0 < row["srtt_seconds"] < 1 and row["mss_bytes"] == 1448, row
        assert len(pair.connections(state="established")) == 1
        assert len(pair.connections(listener="echo", protocol="tcp")) == 1
        assert not pair.connections(state="time-wait") and not pair.connections(listener="source")
        shown = pair.app.ctl("show", "conn").stdout
        assert f"10.77.0.2:{port}" in shown and "established" in shown, shown
        shown = json.loads(pair.app.ctl("show", "conn", row["id"], "--json").stdout)
        assert shown["connection"]["id"] == row["id"], shown
        assert "cwnd" in pair.app.ctl("show", "conn", "--long").stdout
    pair.nothing_is_left()
    assert pair.app.ctl("show", "conn", row["id"], check=False).returncode == 1


def resets_a_connection(pair):
    with pair.connect(ECHO) as sock, pair.connect(SOURCE) as other:
        pair.app.ctl("reset", "conn", pair.connection_of(sock)["id"])
        try:
            sock.recv(1)
        except ConnectionResetError:
            pass
        else:
            raise AssertionError("it goes on")
        same(read_exactly(other, 1_000_000), source_bytes(0, 1_000_000))


def counts_its_listeners(pair):
    def echo():
        rows = pair.app.get("/v1/listeners")["listeners"]
        assert [r["name"] for r in rows] == ["echo", "discard", "source"], rows
        return rows[0]

    before = echo()
    with pair.connect(ECHO), pair.connect(ECHO, V6):
        now = echo()
        assert now["connections"] == before["connections"] + 2, now
        assert now["accepted"] == before["accepted"] + 2, now
    poll("they go", 5, lambda: echo()["connections"] == 0)


def a_listener_comes_and_goes_with_a_reload(pair):
    usual = pair.config["listeners"]
    more = usual + [{"name": "late", "port": 4000, "service": "echo"}]
    pair.app.configure({**pair.config, "listeners": more})
    pair.app.ctl("reload")
    with pair.connect(4000) as sock:
        sock.sendall(b"hello")
        assert read_exactly(sock, 5) == b"hello"
        pair.app.configure({**pair.config, "listeners": usual})
        pair.app.ctl("reload")
        try:
            pair.connect(4000).close()
        except ConnectionRefusedError:
            pass
        else:
            raise AssertionError("it still listens")
        same(exchange(sock, SMALL), SMALL)  # who is there may stay


if __name__ == "__main__":
    tap.main(
        *(tap.Group(d, partial(TcpPair, d), *ON_EACH_DRIVER) for d in DRIVERS),
        tap.Group(
            "peers of all kinds",
            TcpPair,
            waits_for_a_reader_that_stops,
            stops_who_sends_and_does_not_read,
            keeps_many_small_pieces_in_few_buffers,
            reads_on_after_the_peer_has_half_closed,
            takes_urgent_data_as_any_other,
            answers_keepalives,
            talks_to_a_peer_without_timestamps,
            talks_to_a_peer_without_sack,
            talks_to_a_peer_without_window_scaling,
            talks_to_a_peer_with_ecn,
            leaves_nothing,
        ),
        tap.Group(
            "the operator",
            TcpPair,
            shows_a_connection,
            resets_a_connection,
            counts_its_listeners,
            a_listener_comes_and_goes_with_a_reload,
            leaves_nothing,
        ),
    )
