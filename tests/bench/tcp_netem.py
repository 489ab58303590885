#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""TCP against the kernel's on lines that delay, lose and reorder: tcp_netem.py BUILD [LINE...]. Needs
root and the package user-mode-linux.

One end of the line is the kernel's, in both cases; at the other the kernel (epoll_server.c) and our
appliance take turns. The line is netem in a user-mode Linux (tests/smoke/uml.py), one guest for a line,
the same each way. Both use CUBIC, and the kernel remembers nothing of earlier connections. What a
figure says is how well each gets along with what the line does, so lines are slow enough for that
processors hardly matter.

  tx/LINE  the server sends as much as goes; Mbit/s that its clients read
  rx/LINE  the clients send as much as goes; Mbit/s of it that were acknowledged

from the first SYN on, for SECONDS, over FLOWS connections where they do not compete and only make
figures steadier. Medians of the rounds; `runs` and `peer_runs` are each round's."""
import contextlib
import json
import os
import selectors
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "build-release"
os.environ["MILLRACE"] = f"{BUILD}/app/millrace"
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "smoke"))
import echo  # noqa: E402
import machine  # noqa: E402
from lab import Lab  # noqa: E402
from tap import Missing  # noqa: E402
from uml import Cable  # noqa: E402

EPOLL_SERVER = f"{BUILD}/tests/bench/epoll_server"
ROUNDS = 3
SECONDS = 5
FLOWS = 8
ADDRESS, CLIENT, NET = "10.77.0.1", "10.77.0.2", "10.77.0.0/24"
PORTS = {"echo": 7, "discard": 9, "source": 19}
CHUNK = bytes(1 << 16)
BYTES_ACKED = 120  # where struct tcp_info of linux/tcp.h has it, 64 bits
READ = 1 << 20

# By name: netem's words for each direction, and how many connections.
LINES = {
    "20ms": ("delay 10ms rate 100mbit", 1),
    "20ms-loss1": ("delay 10ms loss 1%", FLOWS),
    "20ms-reorder5": ("delay 10ms reorder 5%", 2),
    "20ms-duplicate1": ("delay 10ms rate 100mbit duplicate 1%", 1),
    "50ms-loss3": ("delay 25ms loss 3%", FLOWS),
    "20ms-20mbit-queue33": ("delay 10ms rate 20mbit limit 50", 1),
    "20ms-jitter": ("delay 10ms 1ms loss 0.1%", FLOWS),
}


def say(text):
    print(f"tcp_netem: {text}", file=sys.stderr, flush=True)


class Line:
    """The two ends, and what is between them."""

    def __init__(self, lab, netem, flows):
        self.lab = lab
        self.flows = flows
        self.here, self.there = lab.namespace("a"), lab.namespace("b")
        self.cable = Cable(lab, self.here, "mill0", self.there, "peer0")
        self.cable.shape(netem)
        for namespace in self.here, self.there:
            namespace.sysctl("net.ipv4.tcp_no_metrics_save", 1)
        self.here.sysctl("net.ipv6.conf.mill0.disable_ipv6", 1)
        self.there.up("peer0", f"{CLIENT}/24")
        cubic(self.there, "peer0")

    def connect(self, port):
        with self.there.inside():
            sock = socket.socket()
        sock.settimeout(20)
        sock.connect((ADDRESS, port))
        sock.setblocking(False)
        return sock


def cubic(namespace, interface):
    namespace.ip("route", "replace", NET, "dev", interface, "congctl", "cubic")


@contextlib.contextmanager
def kernel(line):
    here = line.here
    here.ip("link", "set", "mill0", "arp", "on")
    here.ip("addr", "add", f"{ADDRESS}/24", "dev", "mill0")
    cubic(here, "mill0")
    ports = [str(PORTS[p]) for p in ("echo", "discard", "source")]
    server = here.spawn(
        *(EPOLL_SERVER, ADDRESS, *ports, "600"), stdout=subprocess.PIPE, text=True
    )
    if "listening" not in server.stdout.readline():
        raise AssertionError("epoll_server does not listen")
    yield
    machine.end(server)
    here.ip("addr", "flush", "dev", "mill0")


@contextlib.contextmanager
def millrace(line):
    line.here.ip("link", "set", "mill0", "arp", "off")
    config = {
        "devices": [
            {
                "name": "mill0",
                "driver": "af_packet",
                "interface": "mill0",
                "addresses": [f"{ADDRESS}/24"],
                "ipv6": False,
            }
        ],
        "listeners": [{"name": p, "port": n, "service": p} for p, n in PORTS.items()],
        "memory": {"hugepages": "off"},
    }
    app = line.lab.appliance(line.here, config)
    app.settle(seconds=20)
    before = app.snapshot()
    yield
    after = app.snapshot()
    say("  " + ", ".join(f"{n[4:]} {k}" for n, k in after.counted(before, *COUNTED).items() if k))
    app.stop()


COUNTED = [
    f"tcp_{n}"
    for n in ("retransmits", "rto", "tlp", "recoveries", "spurious", "dsack_rx", "reordered")
]


def acked(sock):
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("=Q", info, BYTES_ACKED)[0]


def read(sock):
    """How many bytes; they are not copied."""
    try:
        return sock.recv_into(memoryview(BUFFER), READ)
    except BlockingIOError:
        return 0


BUFFER = bytearray(READ)


def transfer(line, direction):
    """Mbit/s of all connections together."""
    sending = direction == "rx"
    port = PORTS["discard" if sending else "source"]
    start = time.monotonic()
    socks = [line.connect(port) for _ in range(line.flows)]
    got = 0
    with selectors.DefaultSelector() as waiter, contextlib.ExitStack() as stack:
        for sock in socks:
            stack.enter_context(sock)
            waiter.register(sock, selectors.EVENT_WRITE if sending else selectors.EVENT_READ)
        while (left := start + SECONDS - time.monotonic()) > 0:
            for key, _ in waiter.select(left):
                if not sending:
                    got += read(key.fileobj)
                    continue
                with contextlib.suppress(BlockingIOError):
                    key.fileobj.send(CHUNK)
        seconds = time.monotonic() - start
        got = sum(map(acked, socks)) if sending else got
    return got * 8e-6 / seconds


def measure(name):
    runs = {}
    netem, flows = LINES[name]
    with Lab() as lab:
        line = Line(lab, netem, flows)
        for i in range(ROUNDS):
            for server in kernel, millrace:
                lost = line.cable.lost()
                with server(line):
                    for direction in "tx", "rx":
                        rate = transfer(line, direction)
                        runs.setdefault((server, direction), []).append(rate)
                        say(f"{direction}/{name}, round {i + 1}: {server.__name__} {rate:.1f} Mbit/s")
                if line.cable.lost() != lost:
                    say(f"{line.cable.lost() - lost} packets were lost on the way to netem")
    return runs


def report(name, runs):
    for direction in "tx", "rx":
        ours, peers = (runs[server, direction] for server in (millrace, kernel))
        value, peer = statistics.median(ours), statistics.median(peers)
        figure = {
            "bench": "tcp_netem",
            "case": f"{direction}/{name}",
            "unit": "Mbit/s",
            "value": round(value, 1),
            "peer": "the kernel's TCP, CUBIC",
            "peer_value": round(peer, 1),
            "ratio": round(value / peer, 2),
            "runs": [round(r, 1) for r in ours],
            "peer_runs": [round(r, 1) for r in peers],
            "flows": LINES[name][1],
        }
        print(json.dumps(figure), flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        with echo.undisturbed():
            for name in sys.argv[2:] or LINES:
                report(name, measure(name))
    except Missing as why:
        sys.exit(f"tcp_netem: {why}")


if __name__ == "__main__":
    main()
