#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Where tunnels lead: TCP servers that misbehave each in its own way, a port each. As a program it
prints "ready", then one JSON object a line for each connection that begins, and for each that is over. `Targets` is the test's
end of it."""
import collections
import contextlib
import fcntl
import hashlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

ECHO = 7001  # also what the other side's end leaves
GREET = 7002  # speaks first, then echoes
REFUSE = 7003  # nobody listens
SILENT = 7004  # answers no SYN
HALF_SILENT = 7005  # the same by IPv6; echoes by IPv4
RESET = 7006  # reads a byte, sends CONTENT, resets when all of it was acknowledged
ENDS_FIRST = 7007  # sends CONTENT and the end, then reads to the end
BURST = 7008  # sends HUGE bytes and closes at once
STUCK = 7009  # never reads
COUNT = 7010  # reads to the end, then says how much it was
CLOSES = 7011  # reads ENOUGH bytes, then closes, whatever else comes
SOURCE = 7012  # sends as fast as it can, as long as it can

GREETING = b"220 who are you?\r\n"
CONTENT = bytes(i * 7 % 253 for i in range(100_000))
HUGE = 16 << 20
ENOUGH = 10_000
PERIOD = bytes(range(251))  # of BURST and SOURCE
PIECE = PERIOD * 261
LINGER_NONE = struct.pack("ii", 1, 0)  # close sends RST
CONNECTIONS = 4096
PATIENCE = 60  # seconds without anything
WAIT = 20  # seconds that a test waits for the end of a connection


def pattern(n):
    """What BURST and SOURCE send, up to n bytes."""
    return (PERIOD * (n // len(PERIOD) + 1))[:n]


# ---- the program ----


class Visit:
    """A connection, and what is to be said of it."""

    def __init__(self, sock, peer):
        self.sock = sock
        self.peer = peer
        self.local = sock.getsockname()
        self.got = self.sent = 0
        self.digest = hashlib.sha256()
        self.fin = False  # the other side has ended
        sock.settimeout(PATIENCE)

    def recv(self, n=1 << 16):
        part = self.sock.recv(n)
        self.got += len(part)
        self.digest.update(part)
        self.fin = self.fin or not part
        return part

    def send(self, data):
        view = memoryview(data)
        while view:
            n = self.sock.send(view)
            self.sent += n
            view = view[n:]

    def end(self):
        self.sock.shutdown(socket.SHUT_WR)

    def acknowledged(self):
        """Until all that was sent is."""
        left = struct.pack("i", 0)
        until = time.monotonic() + PATIENCE
        while struct.unpack("i", fcntl.ioctl(self.sock, termios.TIOCOUTQ, left))[0]:
            if time.monotonic() > until:
                raise TimeoutError
            time.sleep(0.002)

    def report(self, end):
        plain = [a.removeprefix("::ffff:") for a in (self.local[0], self.peer[0])]
        return {
            "port": self.local[1],
            "local": plain[0],
            "peer": plain[1],
            "peer_port": self.peer[1],
            "got": self.got,
            "sent": self.sent,
            "sha256": self.digest.hexdigest(),
            "end": end,
        }


def echo(visit):
    while part := visit.recv():
        visit.send(part)
    visit.end()


def greet(visit):
    visit.send(GREETING)
    echo(visit)


def reset(visit):
    visit.recv(1)
    visit.send(CONTENT)
    visit.acknowledged()
    visit.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NONE)
    visit.sock.close()


def ends_first(visit):
    visit.send(CONTENT)
    visit.end()
    while visit.recv():
        pass


def burst(visit):
    visit.send(pattern(HUGE))
    visit.sock.close()


def stuck(visit):
    """Only a reset or the test's end comes through."""
    waiter = select.poll()
    waiter.register(visit.sock, 0)
    waiter.poll(PATIENCE * 1000)
    error = visit.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))


def count(visit):
    while visit.recv():
        pass
    visit.send(f"{visit.got} {visit.digest.hexdigest()}\n".encode())


def closes(visit):
    while visit.got < ENOUGH and visit.recv(ENOUGH - visit.got):
        pass
    visit.sock.close()


def source(visit):
    while True:
        visit.send(PIECE)


BEHAVIOUR = {
    ECHO: echo,
    GREET: greet,
    RESET: reset,
    ENDS_FIRST: ends_first,
    BURST: burst,
    STUCK: stuck,
    COUNT: count,
    CLOSES: closes,
    SOURCE: source,
}


def attend(sock, peer, behaviour, say):
    visit = Visit(sock, peer)
    say({"begins": True})
    with sock:
        try:
            behaviour(visit)
            end = "fin" if visit.fin else "ours"
        except TimeoutError:
            end = "timeout"
        except OSError:  # ECONNRESET, EPIPE
            end = "rst"
    say(visit.report(end))


def listen(port, family=socket.AF_INET6, only=False, backlog=CONNECTIONS):
    sock = socket.socket(family)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(only))
    sock.bind(("", port))
    sock.listen(backlog)
    return sock


def mute(port, only=False):
    """Its queue is full: of one. To further SYNs the kernel says nothing."""
    sock = listen(port, only=only, backlog=0)
    return sock, socket.create_connection(("::1" if only else "127.0.0.1", port))


def serve(sock, behaviour, say):
    while True:
        made, peer = sock.accept()
        threading.Thread(target=attend, args=(made, peer, behaviour, say), daemon=True).start()


def main():
    threading.stack_size(256 << 10)
    lock = threading.Lock()

    def say(row):
        with lock:
            print(json.dumps(row), flush=True)

    listeners = [(listen(port), behaviour) for port, behaviour in BEHAVIOUR.items()]
    listeners.append((listen(HALF_SILENT, socket.AF_INET), echo))
    silent = [mute(SILENT), mute(HALF_SILENT, True)]
    for each in listeners:
        threading.Thread(target=serve, args=(*each, say), daemon=True).start()
    print("ready", flush=True)
    signal.pause()
    return silent  # and not sooner


# ---- the test's end ----


class Targets:
    """Runs in a namespace, and ends with the lab."""

    def __init__(self, namespace):
        self.changed = threading.Condition()
        self.rows = collections.deque()
        self.open = 0
        program = [sys.executable, "-B", os.path.abspath(__file__)]
        self.process = namespace.spawn(*program, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n", "the targets do not start"
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with contextlib.suppress(ValueError):  # closed at the end
            for line in self.process.stdout:
                row = json.loads(line)
                with self.changed:
                    if "begins" in row:
                        self.open += 1
                    else:
                        self.open -= 1
                        self.rows.append(row)
                    self.changed.notify_all()

    def _next(self, port):
        found = next((r for r in self.rows if r["port"] == port), None)
        if found:
            self.rows.remove(found)
        return found

    def ended(self, port):
        """What it saw of the next connection to this port that is over; waits for it."""
        with self.changed:
            row = self.changed.wait_for(lambda: self._next(port), WAIT)
            assert row, f"no connection to port {port} has ended within {WAIT} s"
        return row

    def forget(self):
        """What is over; what should be, is waited for."""
        with self.changed:
            self.changed.wait_for(lambda: self.open == 0, WAIT)
            self.rows.clear()


if __name__ == "__main__":
    main()
