# SPDX-License-Identifier: BSD-3-Clause
"""The kernel's TCP as the peer: sockets in its namespace, to services of the appliance."""
import contextlib
import resource
import select
import socket
import struct
import time

from frames import checksum, ipv4, ipv6, pseudo
from lab import Pair
from machine import poll

V4, V6 = "10.77.0.1", "fd77::1"
ECHO, DISCARD, SOURCE = 7, 9, 19
LISTENERS = [
    {"name": name, "port": port, "service": name}
    for name, port in (("echo", ECHO), ("discard", DISCARD), ("source", SOURCE))
]
PERIOD = bytes(range(251))  # of what source sends
PROTO_TCP = 6
SYN = 2
STALL = 20  # seconds without a byte
SLACK = 64  # buffers that are on their way at any time
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close sends RST


def source_bytes(at, n):
    """Bytes [at, at + n) of what source sends."""
    at %= len(PERIOD)
    return (PERIOD * ((at + n) // len(PERIOD) + 1))[at : at + n]


def segment(src, dst, sport, dport, seq, flags, options=b""):
    """A segment without data, with its IP header."""
    size = 20 + len(options)
    head = struct.pack("!HHIIBBHHH", sport, dport, seq, 0, size // 4 << 4, flags, 65535, 0, 0)
    head += options
    total = checksum(pseudo(src, dst, PROTO_TCP, size) + head)
    head = head[:16] + struct.pack("!H", total) + head[18:]
    return ipv6(src, dst, PROTO_TCP, head) if ":" in src else ipv4(src, dst, PROTO_TCP, head)


def ready(sock, read, write):
    """Waits until it may be read or written. Two booleans."""
    waiter = select.poll()
    waiter.register(sock, (select.POLLIN if read else 0) | (select.POLLOUT if write else 0))
    got = waiter.poll(STALL * 1000)
    assert got, f"nothing moves for {STALL} s"
    bits = got[0][1]
    return bool(bits & ~select.POLLOUT), bool(bits & select.POLLOUT)


def read_exactly(sock, n):
    got = bytearray()
    while len(got) < n:
        part = sock.recv(min(n - len(got), 1 << 18))
        assert part, f"the end after {len(got)} of {n} bytes"
        got += part
    return bytes(got)


def read_all(sock):
    """Until the other side ends."""
    got = bytearray()
    while part := sock.recv(1 << 18):
        got += part
    return bytes(got)


def exchange(sock, data, piece=1 << 16):
    """Sends all in pieces, then the end; returns all that comes until the other side ends."""
    sock.setblocking(False)
    left, got = memoryview(data), bytearray()
    if not left:
        sock.shutdown(socket.SHUT_WR)
    while True:
        readable, writable = ready(sock, True, bool(left))
        if writable and left:
            left = left[sock.send(left[:piece]) :]
            if not left:
                sock.shutdown(socket.SHUT_WR)
        if readable:
            part = sock.recv(1 << 18)
            if not part:
                return bytes(got)
            got += part


def send_until_full(sock, data):
    """As much of it as is taken, at least once, until nothing was for a second. How much."""
    sock.setblocking(False)
    sent, since = 0, time.monotonic()
    while time.monotonic() - since < 1:
        try:
            sent += sock.send(data[sent : sent + (1 << 16)])
            since = time.monotonic()
        except BlockingIOError:
            time.sleep(0.01)
    return sent


def same(got, expected):
    """Without printing megabytes."""
    if got == expected:
        return
    n = next((i for i, (a, b) in enumerate(zip(got, expected)) if a != b), None)
    where = "as far as it goes" if n is None else f"up to byte {n}"
    raise AssertionError(f"{len(got)} bytes of {len(expected)}, right {where}")


def more_files():
    """As many open ones as this process may have."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class TcpPair(Pair):
    """With listeners, and a peer to connect to them."""

    def __init__(self, driver="af_xdp", tcp=None, config=None, **options):
        more = {"listeners": LISTENERS, "tcp": tcp or {}, **(config or {})}
        super().__init__(driver, config=more, **options)
        self.since = self.idle = None

    def __enter__(self):
        super().__enter__()
        with contextlib.ExitStack() as undo:
            undo.callback(self.__exit__)
            self.app.settle()
            self.since, self.idle = self.app.snapshot(), self.buffers()
            undo.pop_all()
        return self

    def open(self, address=V4):
        """A socket of the peer's."""
        with self.peer.inside():
            return socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)

    def connect(self, port, address=V4, options=()):
        sock = self.open(address)
        try:
            sock.settimeout(STALL)
            for level, name, value in options:
                sock.setsockopt(level, name, value)
            with self.peer.inside():  # where a scope has a meaning
                sock.connect(socket.getaddrinfo(address, port)[0][4])
        except OSError:
            sock.close()
            raise
        return sock

    @contextlib.contextmanager
    def cut(self):
        """No link, but the peer keeps its addresses."""
        self.peer.sysctl(f"net.ipv6.conf.{self.peer_if}.keep_addr_on_down", 1)
        self.peer.ip("link", "set", self.peer_if, "down")
        try:
            yield
        finally:
            self.peer.ip("link", "set", self.peer_if, "up")
            self.peer.connected(self.peer_if)

    def buffers(self):
        return sum(p["in_use"] for p in self.app.get("/v1/memory")["pools"])

    def connections(self, **filters):
        """All of them, page by page."""
        query = "".join(f"&{key}={value}" for key, value in filters.items())
        rows, cursor = [], ""
        while True:
            page = self.app.get(f"/v1/connections?limit=300{query}{cursor}")
            rows += page["connections"]
            if not page.get("next"):
                return rows
            cursor = f"&cursor={page['next']}"

    def connection_of(self, sock):
        port = sock.getsockname()[1]
        return next(c for c in self.connections() if c["remote_port"] == port)

    def open_now(self):
        now = self.app.snapshot()
        return now.count("tcp_opened") - now.count("tcp_closed")

    def nothing_is_left(self, seconds=10):
        """Every connection has ended, and has given its buffers back."""
        poll("all connections end", seconds, lambda: self.open_now() == 0, step=0.02)
        assert not self.connections(), self.connections()[0]
        poll("their buffers come back", 10, lambda: self.buffers() <= self.idle + SLACK, step=0.02)
