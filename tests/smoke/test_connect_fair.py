#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Many tunnels in one TLS connection, and none of them starves: iperf3 with 32 streams through a client
that brings each into a tunnel of its own (tests/connect/mux.c). The figures are the bench's; here it
is seen that shares are equal, or as the weights say."""
import contextlib
import json
import os
import select
import socket
import subprocess
import time

import delay
import tap
import targets
from connectlab import OURS4, SECURE, TARGET4, V4, ConnectPair, listener
from h2lab import MIB
from machine import ROOT, end, poll
from tap import Missing

MUX = os.environ.get("CONNECT_MUX", f"{ROOT}/build/tests/connect/connect_mux")
STREAMS = 32
SECONDS = 2
EQUAL = 0.99  # Jain's index, at least
CLOSE = 0.05  # shares may differ from their weights by so much
WEIGHTS = 1, 2, 4
IPERF = 5201
TREE = 8447
FAR4, FAR_ROUTER = "10.99.0.2", "10.99.0.1"
DELAY = 0.025  # each way
WINDOW = 256 << 10
ENOUGH = 8 * WINDOW  # bytes of each stream
QUIET = 0.5  # seconds
# Buffers, at most: a receive window as far as it may have grown before (4 MiB), and a send queue.
HELD = 3500
AWAY = "away.test"


def jain(shares):
    """1: all have the same; 1/n: one has all."""
    return sum(shares) ** 2 / (len(shares) * sum(s * s for s in shares)) if any(shares) else 0


class Mux:
    def __init__(self, process, report):
        self.process = process
        self.report = report
        words = process.stdout.readline().split()
        assert words[:1] == ["ready"], f"mux: {words}"
        self.port = int(words[1])

    def end(self):
        """What it has to tell of each stream, in their order."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(10)
        with open(self.report, encoding="utf-8") as file:
            return json.load(file)


# ---- iperf3 ----


def iperf(given, port, seconds, *words):
    """Bytes of each of its streams, at who received them."""
    done = given.client(
        *("iperf3", "-c", "127.0.0.1", "-p", str(port), "-P", str(STREAMS), "-t", str(seconds)),
        *("-J", *words),
        check=False,
        timeout=seconds + 30,
    )
    told = json.loads(done.stdout)
    assert "error" not in told, told["error"]
    return [s["receiver"]["bytes"] for s in told["end"]["streams"]]


def show(title, shares, index):
    least, most = (x / MIB for x in (min(shares), max(shares)))
    tap.note(f"{title}: Jain {index:.6f}, each {least:.1f} to {most:.1f} MiB")


def through_iperf(given, *options, reverse=False):
    """Longer, where the machine is too busy for shares to be worth looking at: of a few windows."""
    words = ["-R"] if reverse else []
    for seconds in SECONDS, 4 * SECONDS:
        with given.iperf_server(), given.mux(IPERF, *options) as client:
            shares = iperf(given, client.port, seconds, *words)
        if sum(shares) >= STREAMS * ENOUGH:
            break
    assert len(shares) == STREAMS, len(shares)
    return shares


def equal(title, shares):
    index = jain(shares)
    show(title, shares, index)
    assert index >= EQUAL, f"Jain {index:.6f}: {sorted(shares)}"


def gives_each_the_same(given):
    equal("forward", through_iperf(given))


def takes_from_each_the_same(given):
    equal("reverse", through_iperf(given, reverse=True))


def does_not_look_at_frame_sizes(given):
    """Bytes count, not frames."""
    frames = ["--frame", "16384,1000,4000"]
    equal("forward, unequal frames", through_iperf(given, *frames))
    equal("reverse, unequal frames", through_iperf(given, *frames, reverse=True))


def goes_by_weights(given):
    """Of the tree of RFC 7540. The first of the streams is iperf3's own talk."""
    weights = ["--weights", ",".join(map(str, WEIGHTS))]
    with given.iperf_server(), given.mux(IPERF, *weights, port_of_proxy=TREE) as client:
        iperf(given, client.port, 2 * SECONDS, "-R")
        rows = client.end()["streams"][1:]
    assert len(rows) == STREAMS, len(rows)
    shares = [r["bytes_down"] / WEIGHTS[(i + 1) % len(WEIGHTS)] for i, r in enumerate(rows)]
    middle = sum(shares) / len(shares)
    worst = max(abs(s / middle - 1) for s in shares)
    tap.note(f"weights {WEIGHTS}: the farthest share is {worst:.1%} off; Jain {jain(shares):.6f}")
    assert worst <= CLOSE, [round(s / middle, 3) for s in shares]


# ---- readers of our own ----


def take_turns(socks, seconds):
    """Bytes that come on each within that time."""
    got, piece = dict.fromkeys(socks, 0), bytearray(MIB)
    waiter = select.poll()
    by_number = {sock.fileno(): sock for sock in socks}
    for sock in socks:
        sock.setblocking(False)
        waiter.register(sock, select.POLLIN)
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        for number, _ in waiter.poll(left * 1000):
            n = by_number[number].recv_into(piece)
            assert n, "a source has ended"
            got[by_number[number]] += n
    return got


def connect(given, port, stack):
    """To mux, from where it is."""
    with given.peer.inside():
        sock = socket.create_connection(("127.0.0.1", port), 20)
    stack.callback(sock.close)
    return sock


def count_tunnels(given):
    return given.app.snapshot().count("tunnels")


def connect_all(given, port, n, stack):
    """Sockets whose tunnels stand."""
    before = count_tunnels(given)
    socks = [connect(given, port, stack) for _ in range(n)]
    poll(f"{n} tunnels", 20, lambda: count_tunnels(given) == before + n, step=0.02)
    return socks


def stands(given):
    """What has gone to clients, when there is no more of it for a while."""
    seen = [-1, 0.0]

    def still():
        sent = given.app.snapshot().count("h2_tx_content")
        if sent != seen[0]:
            seen[:] = sent, time.monotonic()
        return time.monotonic() - seen[1] > QUIET and sent

    return poll("it stands", 20, still, step=0.05)


def goes_on_beside_a_stopped_reader(given):
    """Its tunnel holds a window's worth and stands; the others share the line."""
    idle = given.buffers()
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(given.mux(targets.SOURCE))
        [stopped] = connect_all(given, client.port, 1, stack)
        stands(given)
        [row] = given.tunnels()
        held = given.buffers() - idle
        others = connect_all(given, client.port, STREAMS - 1, stack)
        got = take_turns(others, SECONDS)
        equal("beside a stopped reader", list(got.values()))
        for sock in others:
            sock.close()
        poll("one tunnel", 20, lambda: count_tunnels(given) == 1, step=0.02)
        assert given.tunnels()[0]["to_client"] == row["to_client"], "it has moved"
        assert take_turns([stopped], 1)[stopped] > 2 * WINDOW, "it does not go on"
    tap.note(
        f"{row['to_client']} bytes went to the stopped reader's side, {held} buffers were held"
    )
    assert held < HELD, f"{held} buffers"


def goes_on_beside_a_far_target(given):
    """One tunnel leads over a line of 50 ms. It gets on; the others do not notice."""
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(given.mux(targets.SOURCE, host=AWAY))
        [far] = connect_all(given, client.port, 1, stack)
        given.leads_to(TARGET4)
        near = connect_all(given, client.port, STREAMS - 1, stack)
        got = take_turns([far, *near], SECONDS)
    share = got.pop(far)
    equal("beside a far target", list(got.values()))
    middle = sum(got.values()) / len(got)
    tap.note(f"over 50 ms: {share * 8 / SECONDS / 1e6:.1f} Mbit/s, {share / middle:.2f} shares")
    assert share > middle / 10, f"{share} bytes, others {middle:.0f}"
    ended = [given.far_targets.ended(targets.SOURCE)]
    assert ended[0]["peer"] == OURS4[0], ended


def leaves_nothing(given):
    given.nothing_is_left(30)


class Fair(ConnectPair):
    """With a listener that goes by weights, and a machine 50 ms away."""

    def __init__(self, **options):
        super().__init__(**options)
        self.outside["gateways"] = [TARGET4]
        self.far = self.far_targets = None

    def _build(self):
        super()._build()
        self.far = self.namespace("f")
        self.target.sysctl("net.ipv4.ip_forward", 1)
        delay.join(self, self.target, f"{FAR_ROUTER}/24", self.far, f"{FAR4}/24", DELAY)
        self.far.ip("route", "add", "10.88.0.0/24", "dev", "far")
        self.far_targets = targets.Targets(self.far)

    def _sections(self):
        sections = super()._sections()
        sections["listeners"].append(listener("tree", TREE, "open", ["first"], scheduler="tree"))
        sections["hosts"].append({"name": AWAY, "addresses": [FAR4]})
        return sections

    def leads_to(self, address):
        """The name of the far machine, from now on."""
        hosts = [h for h in self.app.config["hosts"] if h["name"] != AWAY]
        hosts.append({"name": AWAY, "addresses": [address]})
        self.app.configure({**self.app.config, "hosts": hosts})
        self.app.get("/v1/reload", "POST")

    @contextlib.contextmanager
    def mux(self, port, *words, host=TARGET4, port_of_proxy=SECURE):
        """Connections to its own port are tunnels to that one. Words are of mux.c."""
        if not os.path.exists(MUX):
            raise Missing(f"no {MUX}")
        report = self.new_path()
        process = self.peer.spawn(
            *(MUX, "--proxy", f"{V4}:{port_of_proxy}", "--insecure", "--target", f"{host}:{port}"),
            *("--window", str(WINDOW), "--report", report, *words),
            stdout=subprocess.PIPE,
            text=True,
        )
        made = Mux(process, report)
        try:
            yield made
        finally:
            made.end()

    @contextlib.contextmanager
    def iperf_server(self):
        process = self.target.spawn(
            *("iperf3", "-s", "-p", str(IPERF)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            poll("iperf3 listens", 10, lambda: self._listens(IPERF), step=0.02)
            yield
        finally:
            end(process)

    def _listens(self, port):
        """Without a connection, of which iperf3 would take care first."""
        return f":{port} " in self.target.run("ss", "-Hltn").stdout


if __name__ == "__main__":
    tap.main(
        tap.Group(
            "af_xdp",
            Fair,
            gives_each_the_same,
            takes_from_each_the_same,
            does_not_look_at_frame_sizes,
            goes_by_weights,
            goes_on_beside_a_stopped_reader,
            goes_on_beside_a_far_target,
            leaves_nothing,
        )
    )
